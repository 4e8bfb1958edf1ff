"""Time a round and memory against the number of arms and of rounds, beside C, scikit-learn and
BoTorch.

Each measurement is a process of its own, so that its peak of memory is its own. Times are processor
times of one thread; the C loops of loop.c play the same arms, and the memory bandwidth is measured
in the same run.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks import box, game, machine, native, scale_figure, tables
from benchmarks.processes import python
from benchmarks.rows import Goal, Row
from kernelbandits.experiment import engines
from kernelbandits.posterior import ArmPosterior, RowPosterior
from kernelbandits.problems import GaussianNoise, Instance

DIMENSION, LENGTHSCALE, NOISE = 3, 0.3, 0.1
BANDWIDTH_NUMBERS = 1 << 25
ARMS = {100: 1000, 1000: 1000, 10_000: 500, 100_000: 200, 1_000_000: 200}
"""Arms -> rounds."""
QUICK_ARMS = {100: 1000, 1000: 500, 10_000: 200, 100_000: 50}
ROUNDS = (1000, 10_000, 100_000, 1_000_000)
FIGURE = Path(__file__).parent / "results" / "scale.svg"
REFIT_ROUNDS = 20
"""Others compute everything again in each round: so many are enough to see their time."""
POSTERIOR_ROWS = 1000
"""BoTorch gets so many arms at a time: it computes their joint covariance."""
SMALL_ARMS, SMALL_REPEATS = 50, 41
BOX_ROUNDS = 200

Measurement = dict[str, Any]


# ---------------------------------------------------------------- one measurement, in its process


def new_instance(arms: int, dimension: int = DIMENSION) -> Instance:
    """A smooth function on random points of a cube, with a planted optimum."""
    points = np.random.default_rng(arms).random((arms, dimension))
    planted = np.exp(-20 * ((points - 0.7) ** 2).sum(1))
    values = 0.5 * np.sin(5 * points[:, 0]) * np.cos(4 * points[:, 1]) + planted
    return Instance("pool", kb.Arms(points), values, GaussianNoise(NOISE))


def new_policy(name: str, instance: Instance, horizon: int) -> Any:
    settings: dict[str, Any] = {"noise_scale": NOISE, "norm_bound": 1.0}
    if name == "auto":
        return kb.Auto(instance.domain, goal="earn", seed=0)
    if name == "gp-ts":
        settings["horizon"] = horizon
    return kb.policy(name, instance.domain, kb.Matern(LENGTHSCALE), **settings)


def peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_play(
    policy: str,
    arms: int,
    rounds: int,
    repeats: int = 1,
    lists: bool = True,
    form: str = "",
    dimension: int = DIMENSION,
) -> Measurement:
    """Seconds of `kb.play` and the peak of memory of the process."""
    engines.load_loops()
    if not lists:
        engines.LEAST_POOL = sys.maxsize
    instance, streams = new_instance(arms, dimension), kb.Streams(1)
    if arms <= 100_000:
        few = new_instance(min(arms, 100))
        kb.play(new_policy(policy, few, 20), few, 20, streams)
    seconds = []
    for _ in range(repeats):
        rule = new_policy(policy, instance, rounds)
        if form:
            shape = {"covariance": ArmPosterior, "rows": RowPosterior}[form]
            rule.posterior = shape(rule.posterior.kernel, instance.domain, rule.posterior.ridge)
        start = time.process_time()
        record = kb.play(rule, instance, rounds, streams)
        seconds.append(time.process_time() - start)
    return {
        "us": 1e6 * median(seconds) / rounds,
        "seconds": median(seconds),
        "peak_gb": peak_bytes() / 1e9,
        "distinct": len(np.unique(record.arms)),
        "gap": float(instance.gaps[record.recommended[-1]]),
        "arms_played": checksum(record.arms),
    }


def measure_allocation(policy: str, arms: int, rounds: int) -> Measurement:
    """The peak of the memory that `kb.play` asks for, and what is left of it at the end.

    The peak of the process would hide it: loading the compiled loops takes more.
    """
    engines.load_loops()
    instance, streams = new_instance(arms), kb.Streams(1)
    rule = new_policy(policy, instance, rounds)
    tracemalloc.start()
    record = kb.play(rule, instance, rounds, streams)
    left, peak = tracemalloc.get_traced_memory()
    return {"peak": peak, "left": left, "returned": record.arms.nbytes + record.recommended.nbytes}


def checksum(arms: Any) -> int:
    """A number by which two runs are compared."""
    return int((np.asarray(arms, dtype=np.int64) * np.arange(1, len(arms) + 1)).sum())


def measure_c(arms: int, rounds: int, repeats: int = 1, dimension: int = DIMENSION) -> Measurement:
    """Seconds of the C loop over distinct arms for SimpleUCB."""
    play = native.build_distinct()
    instance, streams = new_instance(arms, dimension), kb.Streams(1)
    drawn = new_policy("simple-ucb", instance, rounds).tables(rounds, streams)
    noise = instance.noise.draw(streams.uniforms("noise", rounds))
    numbers = drawn.widths, drawn.weights, drawn.ties
    points, room = instance.domain.points, min(rounds, arms)
    played = [
        play(points, LENGTHSCALE, instance.values, noise, numbers, room) for _ in range(repeats)
    ]
    seconds = median(outcome.seconds for outcome in played)
    return {"us": 1e6 * seconds / rounds, "arms_played": checksum(played[0].arms)}


def measure_sklearn(arms: int) -> Measurement:
    """Seconds a round of scikit-learn with fixed hyperparameters: fit, mean and sd of all arms."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    instance = new_instance(arms)
    points, rng = instance.domain.points, np.random.default_rng(0)
    played = rng.integers(arms, size=50).tolist()
    rewards = instance.values[played].tolist()
    start = time.process_time()
    for _ in range(REFIT_ROUNDS):
        model = GaussianProcessRegressor(Matern(LENGTHSCALE, nu=2.5), alpha=1.0, optimizer=None)
        mean, sd = model.fit(points[played], rewards).predict(points, return_std=True)
        played.append(int((mean + sd).argmax()))
        rewards.append(float(instance.values[played[-1]]))
    return {"us": 1e6 * (time.process_time() - start) / REFIT_ROUNDS}


def measure_botorch(arms: int) -> Measurement:
    """The same for a SingleTaskGP of BoTorch with everything given, in float64 on one thread."""
    torch, gpytorch, models = map(import_module, ("torch", "gpytorch", "botorch.models"))
    torch.set_num_threads(1)
    kernel = gpytorch.kernels.MaternKernel(nu=2.5).double()
    kernel.lengthscale = LENGTHSCALE
    kernel.requires_grad_(False)
    instance = new_instance(arms)
    rows = torch.tensor(np.array(instance.domain.points))
    played = np.random.default_rng(0).integers(arms, size=50).tolist()
    parts = {
        "covar_module": kernel,
        "mean_module": gpytorch.means.ZeroMean(),
        "outcome_transform": None,
    }
    start = time.process_time()
    for _ in range(REFIT_ROUNDS):
        y = torch.tensor(instance.values[played])[:, None]
        model = models.SingleTaskGP(rows[played], y, torch.ones_like(y), **parts).eval()
        with torch.no_grad():
            found = [model.posterior(some) for some in rows.split(POSTERIOR_ROWS)]
            index = torch.cat([one.mean[:, 0] + one.variance[:, 0].sqrt() for one in found])
        played.append(int(index.argmax()))
    return {"us": 1e6 * (time.process_time() - start) / REFIT_ROUNDS}


def measure_small(policy: str, rounds: int) -> Measurement:
    """Microseconds a round of `kb.play` and of the C loop at 50 arms, in turn (A B A B ...).

    `kb.play` draws its tables and audits the posterior; the C loop gets its tables for nothing.
    """
    engines.load_loops()
    contest = game.new_game(policy, rounds)
    play_c = native.build(clock=time.process_time)
    ours, theirs = [], []
    for _ in range(SMALL_REPEATS + 1):
        expected = play_c(contest)
        rule, streams = contest.policy(), kb.Streams(game.SEED)
        start = time.process_time()
        played = kb.play(rule, contest.instance, rounds, streams)
        ours.append(time.process_time() - start)
        theirs.append(expected.seconds)
        assert np.array_equal(played.arms, expected.arms)
    return {name: 1e6 * median(of[1:]) / rounds for name, of in (("us", ours), ("c_us", theirs))}


def measure_box(rounds: int) -> Measurement:
    """SimpleUCB on a box of six variables beside a compiled multi-start (`benchmarks.box`)."""
    return box.play_beside(rounds)


def measure_bandwidth() -> Measurement:
    """Bytes a second at which one thread reads 256 MB."""
    numbers, taken = np.ones(BANDWIDTH_NUMBERS), []
    for _ in range(7):
        start = time.process_time()
        numbers.sum()
        taken.append(time.process_time() - start)
    return {"gb_s": 8e-9 * BANDWIDTH_NUMBERS / median(taken)}


MEASURES: dict[str, Callable[..., Measurement]] = {
    "play": measure_play,
    "allocation": measure_allocation,
    "c": measure_c,
    "sklearn": measure_sklearn,
    "botorch": measure_botorch,
    "small": measure_small,
    "box": measure_box,
    "bandwidth": measure_bandwidth,
}


def measure(name: str, *, executable: str = sys.executable, **settings: Any) -> Measurement:
    """Take one measurement in a process of its own."""
    task = json.dumps([name, settings])
    answer = python("-m", "benchmarks.scale", task, executable=executable)
    measured: Measurement = json.loads(answer.splitlines()[-1])
    return measured


# ---------------------------------------------------------------- sections


def bandwidth_rows() -> list[Row]:
    found = measure("bandwidth")["gb_s"]
    return [Row("memory bandwidth, one thread", found, "GB/s", None, "sum of 256 MB")]


def arms_rows(quick: bool) -> list[Row]:
    """SimpleUCB from 10^2 to 10^6 arms beside C, and the slope of the time a round."""
    rows, ours = [], {}
    for arms, rounds in (QUICK_ARMS if quick else ARMS).items():
        repeats = 5 if arms <= 10_000 else 1
        found = measure("play", policy="simple-ucb", arms=arms, rounds=rounds, repeats=repeats)
        c = measure("c", arms=arms, rounds=rounds, repeats=repeats)
        ours[arms] = found["us"]
        same = "same arms" if c["arms_played"] == found["arms_played"] else "OTHER ARMS"
        memory = f"peak {found['peak_gb']:.2f} GB"
        note = f"T = {rounds}, {found['distinct']} distinct; {memory}; C {c['us']:.3g} us, {same}"
        details = {name: value for name, value in found.items() if name != "arms_played"}
        details |= {"arms": arms, "rounds": rounds, "c_us": c["us"]}
        rows.append(Row(f"SimpleUCB, {arms} arms", found["us"], "us", None, note, details))
        goal = Goal("<=", 2.0) if arms == 10_000 else None
        rows.append(Row(f"SimpleUCB / C, {arms} arms", found["us"] / c["us"], "x", goal, same))
        if arms == 1_000_000:
            rows.append(Row("SimpleUCB, 10^6 arms", found["seconds"], "s", Goal("<=", 15), note))
    rows.append(Row("slope in the arms, from 1000 on", log_slope(ours, 1000), "", None, "log-log"))
    return rows


def dimensions_rows(quick: bool) -> list[Row]:
    """10 000 arms in two and in six dimensions beside C: in six almost every play is a first."""
    rows = []
    rounds, repeats = (200, 3) if quick else (500, 5)
    for dimension in (2, 6):
        size = {"arms": 10_000, "rounds": rounds, "repeats": repeats, "dimension": dimension}
        found, c = measure("play", policy="simple-ucb", **size), measure("c", **size)
        same = "same arms" if c["arms_played"] == found["arms_played"] else "OTHER ARMS"
        times = f"{found['us']:.3g} us a round, C {c['us']:.3g} us"
        note = f"T = {rounds}, {found['distinct']} distinct; {times}; {same}"
        what = f"SimpleUCB / C, 10000 arms, d = {dimension}"
        rows.append(Row(what, found["us"] / c["us"], "x", Goal("<=", 2.0), note))
    return rows


def small_rows(quick: bool) -> list[Row]:
    """`kb.play` at 50 arms beside C, with its tables and audits."""
    rows = []
    for policy in game.POLICIES:
        for rounds in (1000, 10_000):
            found = measure("small", policy=policy, rounds=rounds)
            note = f"T = {rounds}; {found['us']:.3g} us a round, C {found['c_us']:.3g} us"
            what = f"kb.play / C, {SMALL_ARMS} arms, {policy}, T = {rounds}"
            rows.append(Row(what, found["us"] / found["c_us"], "x", Goal("<=", 1.5), note))
    return rows


def box_rows(quick: bool) -> list[Row]:
    """Asks on a box of six variables beside a compiled multi-start."""
    rounds = 60 if quick else BOX_ROUNDS
    found = measure("box", rounds=rounds)
    each = {name: 1e3 * found[name] / rounds for name in ("ours", "theirs")}
    note = (
        f"{each['ours']:.3g} ms a round, C {each['theirs']:.3g} ms; maximum higher by more than "
        f"1e-6 in {found['higher']:.0f} rounds, lower in {found['lower']:.0f}; gradients evaluated "
        f"{found['evaluations']:.0f} a round, C {found['rival_evaluations']:.0f}"
    )
    what = f"SimpleUCB on a box / C multi-start, d = 6, T = {rounds}"
    return [Row(what, found["ours"] / found["theirs"], "x", Goal("<=", 1.0), note)]


def log_slope(times: dict[int, float], least: int) -> float:
    """The slope of log time in log size, by least squares, from some size on."""
    sizes = [size for size in times if size >= least]
    logs = [[math.log(value) for value in of] for of in (sizes, [times[s] for s in sizes])]
    return float(np.polyfit(logs[0], logs[1], 1)[0])


def policies_rows(quick: bool) -> list[Row]:
    """GP-TS and Auto on large pools."""
    goals = {"gp-ts": Goal("<=", 60), "auto": Goal("<=", 60)}
    sizes = (1000, 10_000, 100_000, 1_000_000)
    order = sorted((arms, policy) for policy in goals for arms in sizes)
    rows = []
    for arms, policy in order:
        if quick and arms > 10_000:
            continue
        # Up to 100 000 arms Auto keeps a posterior of all of them, which takes longer.
        rounds = 40 if policy == "auto" and arms < 1_000_000 else 200
        found = measure("play", policy=policy, arms=arms, rounds=rounds)
        note = f"T = {rounds}, {found['distinct']} distinct, peak {found['peak_gb']:.2f} GB"
        goal = goals[policy] if arms == 1_000_000 else None
        details = {"arms": arms, "rounds": rounds, "peak_gb": found["peak_gb"]}
        rows.append(Row(f"{policy}, {arms} arms", found["seconds"], "s", goal, note, details))
    return rows


def rounds_rows(quick: bool) -> list[Row]:
    """Runs of 10^3 to 10^6 rounds: time a round, and memory that is not returned."""
    rows = []
    for policy, arms in (("simple-ucb", 50), ("gp-ts", 50), ("simple-ucb", 1000)):
        times = {}
        most = 10_000 if quick else 1_000_000 if arms == 50 else 100_000
        for rounds in (number for number in ROUNDS if number <= most):
            found = measure("play", policy=policy, arms=arms, rounds=rounds)
            times[rounds] = found["us"]
            note = f"{found['seconds']:.3g} s, {found['distinct']} distinct arms"
            details = {"arms": arms, "rounds": rounds, "seconds": found["seconds"]}
            goal = Goal("<=", 10) if arms == 1000 and rounds >= 100_000 else None
            what = f"{policy}, {arms} arms, {rounds} rounds"
            rows.append(Row(what, found["us"], "us", goal, note, details))
        asked = measure("allocation", policy=policy, arms=arms, rounds=max(times))
        each, left = asked["peak"] / max(times), asked["left"] / max(times)
        note = f"{1e-6 * asked['peak']:.1f} MB at the peak; {left:.1f} are left at the end"
        what = f"{policy}, {arms} arms, {max(times)} rounds: bytes a round"
        rows.append(Row(what, each, "bytes", Goal("<=", 24) if arms == 50 else None, note))
        slope = 1 + log_slope(times, 1000)
        rows.append(Row(f"{policy}, {arms} arms: slope in the rounds", slope, "", None, "log-log"))
    return rows


def lists_rows(quick: bool) -> list[Row]:
    """What the short list saves: little in short runs, where almost every play is a first."""
    rows = []
    games = [("simple-ucb", 100_000, 400), ("simple-bernoulli", 100_000, 400)]
    if not quick:
        games += [("simple-bernoulli", 100_000, 2000), ("simple-ucb", 1_000_000, 200)]
    for policy, arms, rounds in games:
        take = partial(measure, "play", policy=policy, arms=arms, rounds=rounds)
        short, whole = take(), take(lists=False)
        same = "same" if short["arms_played"] == whole["arms_played"] else "OTHER"
        note = f"{whole['seconds']:.3g} s without, {short['seconds']:.3g} s; {same} arms"
        what = f"speed-up by the short list, {policy}, {arms} arms, T = {rounds}"
        rows.append(Row(what, whole["us"] / short["us"], "x", None, note))
    return rows


def forms_rows(quick: bool) -> list[Row]:
    """Where the rows of distinct arms overtake the n x n covariance."""
    rows = []
    for arms in (100, 200, 400, 1000):
        take = partial(measure, "play", policy="simple-ucb", arms=arms, rounds=1000, repeats=5)
        us = {form: take(form=form)["us"] for form in ("covariance", "rows")}
        note = f"covariance {us['covariance']:.3g} us, rows {us['rows']:.3g} us"
        what = f"covariance / rows, {arms} arms"
        rows.append(Row(what, us["covariance"] / us["rows"], "x", None, note))
    return rows


def sklearn_rows(quick: bool) -> list[Row]:
    """scikit-learn, which computes everything again in every round, at 50 to 70 rewards."""
    if find_spec("sklearn") is None:
        return [Row("scikit-learn a round", None, "us", None, "not installed")]
    sizes = (1000, 10_000) if quick else (1000, 10_000, 100_000)
    times = {arms: measure("sklearn", arms=arms)["us"] for arms in sizes}
    return [
        Row(f"scikit-learn, {arms} arms", us, "us", None, "fixed hyperparameters, 50 to 70 rewards")
        for arms, us in times.items()
    ]


def botorch_rows(quick: bool, executable: str = sys.executable) -> list[Row]:
    """BoTorch, which computes everything again as well."""
    try:
        python("-c", "import torch, gpytorch, botorch", executable=executable)
    except (OSError, subprocess.CalledProcessError):
        note = "not installed; --rivals names a Python that has it"
        return [Row("BoTorch a round", None, "us", None, note)]
    sizes = (1000, 10_000) if quick else (1000, 10_000, 100_000)
    times = {arms: measure("botorch", executable=executable, arms=arms)["us"] for arms in sizes}
    note = f"fixed hyperparameters, 50 to 70 rewards, {POSTERIOR_ROWS} arms at a time"
    return [Row(f"BoTorch, {arms} arms", us, "us", None, note) for arms, us in times.items()]


SECTIONS: dict[str, Callable[[bool], list[Row]]] = {
    "bandwidth": lambda quick: bandwidth_rows(),
    "arms": arms_rows,
    "dimensions": dimensions_rows,
    "small": small_rows,
    "box": box_rows,
    "rounds": rounds_rows,
    "lists": lists_rows,
    "forms": forms_rows,
    "sklearn": sklearn_rows,
    "botorch": botorch_rows,
    "policies": policies_rows,
}


def run(quick: bool = False, skip: Sequence[str] = (), rivals: str = sys.executable) -> None:
    """Measure section by section; each is written to results/scale.json and results/scale.md.

    Sections that are skipped keep the rows of an earlier run, with the circumstances of their own.
    `rivals` is a Python that has BoTorch, which needs much that nothing else does.
    """
    place = tables.RESULTS / "scale.json"
    kept: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    sections = SECTIONS | {"botorch": partial(botorch_rows, executable=rivals)}
    with machine.threads.threadpool_limits(1):
        for name, section in sections.items():
            if name in skip:
                continue
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            facts = machine.facts() | {"quick": quick}
            rows = [row.plain() for row in section(quick)]
            kept[name] = {"circumstances": facts, "rows": rows}
            place.write_text(json.dumps(kept, indent=2) + "\n")
            place.with_suffix(".md").write_text(as_markdown(kept))
    scale_figure.draw(kept, FIGURE)


def as_markdown(kept: dict[str, Any]) -> str:
    """The rows of all sections, and where and when each was measured."""
    lines = ["# Scale: arms, rounds and memory", ""]
    for name in SECTIONS:
        if name not in kept:
            continue
        facts = kept[name]["circumstances"]
        lines += [f"## {name}", "", f"| {' | '.join(tables.COLUMNS)} |", "| --- " * 5 + "|"]
        lines += [f"| {' | '.join(read_row(row).cells)} |" for row in kept[name]["rows"]]
        shown = ("date", "processor", "load average", "quick")
        lines += ["", "- " + "; ".join(f"{fact}: {facts[fact]}" for fact in shown), ""]
    facts = kept[next(iter(kept))]["circumstances"]
    versions = ("python", "numpy", "scipy", "numba", "scikit-learn", "cc", "blas (one thread)")
    return "\n".join([*lines, *(f"- {name}: {facts[name]}" for name in versions), ""])


def read_row(row: dict[str, Any]) -> Row:
    goal = Goal(**row["goal"]) if row["goal"] else None
    return Row(row["what"], row["value"], row["unit"], goal, row["note"], row["details"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen, given = json.loads(sys.argv[1])
    with machine.threads.threadpool_limits(1):
        print(json.dumps(MEASURES[chosen](**given)))
