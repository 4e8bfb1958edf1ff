"""Games on ten constrained spaces, and points of random spaces checked one by one.

The spaces are mixtures, grids with a sum, equalities among whole numbers, forbidden combinations,
log scales and a thin polytope. On each, `kb.Auto` looks for the maximum of a sum of smooth bumps in
25 measurements, at noise 0 and 0.05 of the spread of the function. Kept are the simple regret of
the recommended point in the same unit, processor seconds of building the space and of an ask, and
how many of the points asked lie outside by the arithmetic of this file, which does not use the
package: inequalities hold as computed, equalities to 1e-9 of their terms, grid values exactly.

    PYTHONPATH=old/src python -m benchmarks constrained --label old
    python -m benchmarks constrained --label new --against old

plays both versions on the same seeds and compares them in pairs. `--random N` draws N spaces with
random equalities, inequalities and forbidden combinations around a point that satisfies them, and
checks samples, nearest points, neighbours and maxima by exact fractions.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kernelbandits as kb
from benchmarks import machine, tables
from benchmarks.json_lines import append_object, read_objects
from kernelbandits.checks import Array
from kernelbandits.domains import maximise

MEASUREMENTS, SEEDS, NOISE = 25, 6, (0.0, 0.05)
EXACT = 1e-9
"""How far an equality may be missed, relative to the size of its terms."""
UNIT = kb.Real(0, 1)


class Task(NamedTuple):
    """A space, and a rule in plain arithmetic that its points satisfy."""

    variables: Mapping[str, Any]
    constraints: tuple[str, ...]
    holds: Callable[..., bool]
    draw: Callable[[np.random.Generator], tuple[Any, ...]]
    """Random values, which need not all satisfy the rule."""


def near(left: float, right: float) -> bool:
    return abs(left - right) <= EXACT * max(abs(left), abs(right))


def two_sums(a: int, b: int, d: int) -> tuple[int, ...]:
    return a, b, 60 - a - b, d, 2 * b + 3 * d - 60


def thin(x: float, z: float) -> tuple[float, ...]:
    return x, 0.5 - x, z


def grids_and_reals(a: float, c: float, d: float) -> tuple[float, ...]:
    return a, 1 - a - c, c, d


TASKS: Mapping[str, Task] = {
    "mixture of 3": Task(
        dict.fromkeys("ABC", UNIT),
        ("A + B + C == 1", "A <= 0.6"),
        lambda A, B, C: near(A + B + C, 1) and A <= 0.6,
        lambda rng: tuple(rng.dirichlet(np.ones(3))),
    ),
    "mixture of 6": Task(
        dict.fromkeys("ABCDEF", UNIT),
        ("A + B + C + D + E + F == 1", "A + B >= 0.2", "C <= 2*D"),
        lambda A, B, C, D, E, F: near(A + B + C + D + E + F, 1) and A + B >= 0.2 and C <= 2 * D,
        lambda rng: tuple(rng.dirichlet(np.ones(6))),
    ),
    "percent": Task(
        dict.fromkeys("ABCD", kb.Real(0, 100, step=2.5)),
        ("A + B + C + D == 100", "A >= 2*B"),
        lambda A, B, C, D: A + B + C + D == 100 and A >= 2 * B,
        lambda rng: tuple(2.5 * rng.multinomial(40, rng.dirichlet(np.ones(4)))),
    ),
    "fine mixture": Task(
        dict.fromkeys("ABCD", kb.Real(0, 1, step=0.01)),
        ("A + B + C + D == 1",),
        lambda A, B, C, D: sum(round(100 * value) for value in (A, B, C, D)) == 100,
        lambda rng: tuple(rng.multinomial(100, rng.dirichlet(np.ones(4))) / 100),
    ),
    "two sums": Task(
        dict.fromkeys("abcde", kb.Integer(0, 60)),
        ("a + b + c == 60", "2*b + 3*d - e == 60"),
        lambda a, b, c, d, e: (
            a + b + c == 60 and 2 * b + 3 * d - e == 60 and min(a, b, c, e) >= 0 and e <= 60
        ),
        lambda rng: two_sums(*rng.integers(61, size=3).tolist()),
    ),
    "grids and reals": Task(
        {"A": kb.Real(0, 1, step=0.05), "B": UNIT, "C": kb.Real(0, 1, step=0.02), "D": UNIT},
        ("A + B + C == 1", "B + D <= 1.2"),
        lambda A, B, C, D: near(A + B + C, 1) and B + D <= 1.2 and B >= 0,
        lambda rng: grids_and_reals(0.05 * rng.integers(21), 0.02 * rng.integers(51), rng.random()),
    ),
    "forbidden": Task(
        {
            "s": kb.Category(("DMF", "DMSO", "water")),
            "t": kb.Real(20, 90),
            "n": kb.Integer(1, 30),
            "x": UNIT,
        },
        (
            "not (s == 'DMF' and t > 60)",
            "not (s == 'water' and t <= 50 and n > 3)",
            "not (x > 0.5 and t > 70)",
        ),
        lambda s, t, n, x: (
            not (
                (s == "DMF" and t > 60)
                or (s == "water" and t <= 50 and n > 3)
                or (x > 0.5 and t > 70)
            )
        ),
        lambda rng: (
            ("DMF", "DMSO", "water")[rng.integers(3)],
            rng.uniform(20, 90),
            rng.integers(1, 31),
            rng.random(),
        ),
    ),
    "logs": Task(
        {"lr": kb.Real(1e-6, 1, log=True), "wd": kb.Real(1e-6, 1, log=True), "m": UNIT},
        ("lr + wd <= 0.5", "wd <= lr"),
        lambda lr, wd, m: lr + wd <= 0.5 and wd <= lr,
        lambda rng: (*10 ** rng.uniform(-6, 0, 2), rng.random()),
    ),
    "thin": Task(
        dict.fromkeys("xyz", UNIT),
        ("0.499 <= x + y <= 0.501", "x - z >= 0.1"),
        lambda x, y, z: 0.499 <= x + y <= 0.501 and x - z >= 0.1,
        lambda rng: thin(rng.uniform(0, 0.5), rng.random()),
    ),
    "mixed": Task(
        {
            "rate": kb.Real(1e-5, 1e-1, log=True),
            "heat": kb.Real(20, 90, step=0.5),
            "A": UNIT,
            "B": UNIT,
            "cups": kb.Integer(1, 8),
            "solvent": kb.Category(("DMF", "DMSO", "water")),
        },
        ("A + B <= 1", "not (solvent == 'DMF' and heat > 60)", "heat + 5*cups <= 110"),
        lambda rate, heat, A, B, cups, solvent: (
            A + B <= 1 and not (solvent == "DMF" and heat > 60) and heat + 5 * cups <= 110
        ),
        lambda rng: (
            10 ** rng.uniform(-5, -1),
            20 + 0.5 * rng.integers(141),
            *rng.random(2),
            rng.integers(1, 9),
            ("DMF", "DMSO", "water")[rng.integers(3)],
        ),
    ),
}


def in_range(variable: Any, value: Any) -> bool:
    """Tell whether a value lies in the range of a variable and on its grid, in exact fractions."""
    if not hasattr(variable, "low"):
        return value in variable.values
    if not variable.low <= value <= variable.high:
        return False
    if variable.step is None:
        return True
    steps = (written(value) - written(variable.low)) / written(variable.step)
    return steps.denominator == 1


def written(number: float) -> Fraction:
    """Return a number exactly as it is written in decimals."""
    return Fraction(repr(number))


# ---------------------------------------------------------------- games


class Bumps:
    """A sum of smooth bumps at some rows of a space, with its gradient; its sd over all is 1."""

    def __init__(self, space: kb.MixedBox, rows: Array, seed: int) -> None:
        rng = np.random.default_rng([seed, space.dimension])
        self.low, self.side = np.array(space.lower), np.subtract(space.upper, space.lower)
        self.centres = (rows[rng.integers(len(rows), size=12)] - self.low) / self.side
        self.weights, self.width = rng.normal(size=12), 0.2 * math.sqrt(space.sides / 2)
        self.weights /= self(rows)[0].std() or 1.0

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        away = ((rows - self.low) / self.side)[:, None] - self.centres
        heights = self.weights * np.exp(-(away**2).sum(2) / (2 * self.width**2))
        slopes = -(heights[:, :, None] * away).sum(1) / self.width**2 / self.side
        return heights.sum(1), slopes


def draw_rows(task: Task, space: kb.MixedBox, count: int = 200) -> Array:
    """Return rows of random points, drawn and checked without the package."""
    rng, rows = np.random.default_rng(7), []
    while len(rows) < count:
        values = task.draw(rng)
        if task.holds(*values):
            blocks = zip(values, space.blocks, strict=True)
            rows.append([number for value, (one, _) in blocks for number in one.encode(value)])
    return np.array(rows)


class Game(NamedTuple):
    task: str
    noise: float
    seed: int


def play(game: Game) -> dict[str, Any]:
    """Play one game: what was found, how long it took, and how many points lay outside."""
    task = TASKS[game.task]
    began = time.process_time()
    space = kb.MixedBox(task.variables, constraints=task.constraints)
    space.from_unit(np.full((1, space.sides), 0.9))
    built = time.process_time() - began
    function = Bumps(space, draw_rows(task, space), game.seed)
    auto = kb.Auto(space, goal="find", seed=game.seed)
    noise = game.noise * np.random.default_rng([game.seed, 1]).standard_normal(MEASUREMENTS)
    seconds, outside = 0.0, 0
    for t in range(MEASUREMENTS):
        began = time.process_time()
        choice = auto.ask()
        seconds += time.process_time() - began
        outside += not is_inside(task, choice.x)
        auto.tell(choice, measure(function, space, choice.x) + float(noise[t]))
    answer = auto.recommend()
    outside += not is_inside(task, answer)
    searched = [maximise(function, space, effort=4, u=u).value for u in (0.1, 0.5, 0.9)]
    return {
        **game._asdict(),
        "answer": measure(function, space, answer),
        "best": max(searched),
        "built": round(built, 4),
        "ask": round(seconds / MEASUREMENTS, 5),
        "outside": outside,
    }


def measure(function: Bumps, space: kb.MixedBox, x: Any) -> float:
    return float(function(space.encode(x)[None])[0][0])


def is_inside(task: Task, x: Mapping[str, Any]) -> bool:
    within = all(in_range(task.variables[name], value) for name, value in x.items())
    return within and task.holds(**x)


# ---------------------------------------------------------------- random spaces


class RandomSpace:
    """Variables and constraints drawn around a point that satisfies them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 7])
        self.variables: dict[str, Any] = {}
        self.point: dict[str, Any] = {}
        for name in "abcdefg"[: self.rng.integers(2, 7)]:
            self.variables[name], self.point[name] = self.draw_variable()
        self.numbers = [name for name, one in self.variables.items() if hasattr(one, "low")]
        self.linear: list[tuple[dict[str, int], str, float]] = []
        self.forbidden: list[dict[str, Any]] = []
        if len(self.numbers) > 1:
            for _ in range(self.rng.integers(0, 4)):
                self.draw_linear()
        for _ in range(self.rng.integers(0 if self.linear else 1, 4)):
            self.draw_forbidden()

    def draw_variable(self) -> tuple[Any, Any]:
        kind, u = self.rng.integers(7), self.rng.random()
        if kind < 2:
            return UNIT, round(0.1 + 0.8 * u, 6)
        if kind == 2:
            return kb.Real(1e-4, 1, log=True), round(10 ** (-3.9 + 3.8 * u), 6)
        if kind == 3:
            return kb.Real(0, 1, step=0.05), round(round(20 * u) * 0.05, 2)
        if kind == 4:
            return kb.Integer(-5, 40), round(-5 + 45 * u)
        if kind == 5:
            return kb.Ordered((1, 2, 4, 8)), (1, 2, 4, 8)[int(4 * u)]
        return kb.Category(("p", "q", "r")), "pqr"[int(3 * u)]

    def draw_linear(self) -> None:
        count = self.rng.integers(2, len(self.numbers) + 1)
        names = self.rng.choice(self.numbers, size=count, replace=False).tolist()
        factors = {name: int(self.rng.choice([-2, -1, 1, 1, 1, 2, 3])) for name in names}
        total = sum((factors[name] * written(self.point[name]) for name in names), Fraction())
        relation = str(self.rng.choice(["<=", ">=", "=="]))
        if relation == "==" and sum(one[1] == "==" for one in self.linear) >= 2:
            relation = "<="
        slack = {"<=": 1, ">=": -1, "==": 0}[relation] * Fraction(int(self.rng.integers(1, 40)), 50)
        self.linear.append((factors, relation, float(total + slack)))

    def draw_forbidden(self) -> None:
        names = list(self.variables)
        count = min(len(names), int(self.rng.integers(1, 4)))
        conditions: dict[str, Any] = {}
        for name in self.rng.choice(names, size=count, replace=False).tolist():
            variable, here = self.variables[name], self.point[name]
            if name in self.numbers:
                sign = str(self.rng.choice(["<", "<=", ">", ">="]))
                u = float(self.rng.random())
                bound = round(variable.low + u * (variable.high - variable.low), 3)
                conditions[name] = f"{sign} {bound}"
            else:
                conditions[name] = [v for v in variable.values if self.rng.random() < 0.5] or [here]
        if not all(self.meets(name, one, self.point[name]) for name, one in conditions.items()):
            self.forbidden.append(conditions)

    def meets(self, name: str, condition: Any, value: Any) -> bool:
        if name not in self.numbers:
            return value in condition
        sign, bound = condition.split()
        left, right = written(value), written(float(bound))
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[
            sign
        ]

    def build(self) -> kb.MixedBox:
        linear = [kb.domains.LinearConstraint(*one) for one in self.linear]
        return kb.MixedBox(self.variables, constraints=[*linear, *self.forbidden])

    def why_outside(self, x: Mapping[str, Any]) -> str | None:
        """Say what a point breaks, by fractions; rounding of a sum is granted to inequalities."""
        for name, value in x.items():
            if not in_range(self.variables[name], value):
                return f"{name} = {value!r}"
        for factors, relation, bound in self.linear:
            terms = [factor * Fraction(x[name]) for name, factor in factors.items()]
            size = max(float(sum(map(abs, terms))), abs(bound))
            over = float(sum(terms) - Fraction(bound))
            over = {"<=": over, ">=": -over, "==": abs(over)}[relation]
            if over > (EXACT if relation == "==" else 1e-15) * size:
                return f"{factors} {relation} {bound} by {over:.3g}"
        for conditions in self.forbidden:
            if all(self.meets(name, one, x[name]) for name, one in conditions.items()):
                return f"not {conditions}"
        return None


def check_random(seed: int) -> dict[str, Any]:
    """Check samples, nearest points, neighbours and maxima of one random space."""
    drawn = RandomSpace(seed)
    row: dict[str, Any] = {"seed": seed, "points": 0, "outside": [], "refused": None}
    if not drawn.linear and not drawn.forbidden:
        return row
    began = time.process_time()
    try:
        space = drawn.build()
    except ValueError as error:
        return row | {"refused": str(error)}
    rng = np.random.default_rng([seed, 8])
    rows = [space.from_unit(rng.random((60, space.sides)))]
    rows.append(space.nearest(rng.uniform(space.lower, space.upper, (20, space.dimension))))
    rows += [space.neighbours(one)[:20] for one in rows[0][:3]]
    try:
        free = space.without_constraints
        function = Bumps(free, free.from_unit(rng.random((200, free.sides))), seed)
        for u in (0.2, 0.7):
            found = maximise(function, space, effort=0.2, steps=30, u=u)
            rows.append(found.row[None])
            row[f"value {u}"] = found.value
    except Exception as error:  # What a search raises is what is looked for.
        row["outside"].append(repr(error))
    for one in np.vstack(rows):
        x = space.decode(one)
        row["points"] += 1
        reason = drawn.why_outside(x) or (None if x in space else "refused at the door")
        if reason:
            row["outside"].append(reason)
    return row | {"seconds": round(time.process_time() - began, 3)}


# ---------------------------------------------------------------- files and comparison


def path_of(label: str) -> Path:
    return tables.RESULTS / f"constrained-{label}.jsonl"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--label", default="now", help="the name of the version that plays")
    command.add_argument("--against", help="the name of the version to compare with")
    command.add_argument("--first", type=int, default=0, help="the first seed")
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    command.add_argument("--random", type=int, default=0, help="check so many random spaces")


def run(given: argparse.Namespace) -> None:
    seeds = range(given.first, given.first + given.seeds)
    if given.random:
        print_random([check_random(seed) for seed in range(given.first, given.random)])
        return
    path = path_of(given.label)
    stored = read_stored(path)
    with machine.threads.threadpool_limits(1):
        for seed, noise, task in itertools.product(seeds, NOISE, given.tasks):
            if (task, noise, seed) not in stored:
                append_object(path, play(Game(task, noise, seed)))
    if given.against:
        print("\n".join(compare(read_stored(path_of(given.against)), read_stored(path))))


def read_stored(path: Path) -> dict[Game, dict[str, Any]]:
    return {Game(row["task"], row["noise"], row["seed"]): row for row in read_objects(path)}


def compare(
    old: Mapping[Game, dict[str, Any]], new: Mapping[Game, dict[str, Any]]
) -> Iterator[str]:
    """Yield the lines of a table: regret of both, difference in pairs, ratio of times, outside."""
    yield "| task | noise | regret old | new | difference | ask | build | outside |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for task, noise in [*itertools.product(TASKS, NOISE), *(("all", noise) for noise in NOISE)]:
        games = [one for one in new if one in old and one.noise == noise]
        games = [one for one in games if task in ("all", one.task)]
        if not games:
            continue
        best = [max(old[one]["best"], new[one]["best"]) for one in games]
        regrets = np.array([[top - side[one]["answer"] for side in (old, new)]
                            for one, top in zip(games, best, strict=True)])  # fmt: skip
        gap = regrets[:, 1] - regrets[:, 0]
        error = gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        ask, built = (
            sum(new[one][name] for one in games) / sum(old[one][name] for one in games)
            for name in ("ask", "built")
        )
        outside = sum(new[one]["outside"] for one in games)
        means = regrets.mean(0)
        yield (
            f"| {task} | {noise:g} | {means[0]:.4f} | {means[1]:.4f} | "
            f"{gap.mean():+.4f} ± {error:.4f} | {ask:.2f} | {built:.2f} | {outside} |"
        )


def print_random(rows: list[dict[str, Any]]) -> None:
    refused = [row for row in rows if row["refused"]]
    wrong = [row for row in refused if "no point satisfies" in row["refused"]]
    wrong += [row for row in rows if row["outside"]]
    points = sum(row["points"] for row in rows)
    print(f"{len(rows)} spaces, {len(refused)} refused, {points} points, {len(wrong)} wrong")
    for row in wrong:
        print(row["seed"], row["refused"] or row["outside"][:3])
    values = [row[name] for row in rows for name in row if name.startswith("value")]
    seconds = sum(row.get("seconds", 0.0) for row in rows)
    print(f"mean of the maxima {np.mean(values):.5f}, {seconds:.1f} s")
