"""The finished games as results/regret.json, .md and .svg, and the goals they reach or miss."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from benchmarks import machine, regret_figure, tables
from benchmarks.opponents import CONTESTANTS, OURS
from benchmarks.pools import (
    BOX,
    CANDIDATES,
    DEVELOPMENT,
    FUNCTIONS,
    HELD_OUT,
    NOISE,
    PEROVSKITE,
    POOLS,
    SAMPLE,
)
from benchmarks.regret_growth import HORIZONS, Growth, PlayedPools, growth_of, regrets_at
from benchmarks.regret_pairs import Games, Pair, games_of, mean_and_error, pair
from benchmarks.regret_rows import LONG, MARKS, ROUNDS, latest, read
from benchmarks.rows import Goal, Row
from benchmarks.search import tables as real_tables

RANDOM = "random"
LOGEI = "botorch-logei"
ABOUT = f"""\
Cumulative regret is the sum of max f - f(x_t) over {ROUNDS} rounds. Rewards are
f + N(0, {NOISE}^2), with f scaled to [0, 1]. Of a real table (`python -m benchmarks fetch-tables`)
repeated measurements are averaged; `{PEROVSKITE}` is one of 94 measured films. A function stands for
{CANDIDATES} points drawn uniformly from its box, new ones in each seed, with features in the unit
cube. `name{BOX}` is the whole box in its own units, scaled so that the known optimum of the function
is 1 and the worst of {SAMPLE} Sobol points is 0. The noise of a problem, seed and round is the same
for all contestants. Two contestants are compared on the seeds that both have played. Intervals are
95 % bootstrap intervals over the seeds of each problem."""
TUNED = """\
The settings of kb.Auto were chosen on the problems of the second group, so its ratios there flatter
it. On those that chose nothing they do not. The settings of the rivals were improved where that was
easy, on problems of the second group."""
GROWTH = f"""\
Mean and standard error after {HORIZONS[0]}, {HORIZONS[1]} and {LONG} rounds of one game. No contestant
is told how long it lasts. The exponent is the slope of the logarithm of the mean regret in that of the
number of rounds, from {HORIZONS[1]} to {LONG}: 1 where every round costs the same, 0 where the regret
stands still. That of a group of problems is their mean."""
BELOW = "A ratio below 1 is in favour of kb.Auto."
GROUPS = {"problems that chose nothing": HELD_OUT, "problems of the choice": DEVELOPMENT}


def write(path: Path) -> None:
    played = latest(read(path))
    games, long = games_of(played), games_of(played, LONG)
    rows = [*goals(games), *growth_goals(long)]
    Console().print(tables.as_table(rows))
    tables.RESULTS.mkdir(exist_ok=True)
    (tables.RESULTS / "regret.json").write_text(
        json.dumps(content(games, long, rows), indent=1) + "\n"
    )
    (tables.RESULTS / "regret.md").write_text(document(games, long, rows))
    print(regret_figure.write(games, tables.RESULTS / "regret.svg"))


def growth_goals(long: Games) -> list[Row]:
    """Whether the regret of ours grows more slowly than the number of rounds."""
    rows = []
    for title, pools in GROUPS.items():
        for kind, chosen in kinds_of(pools).items():
            played = restrict(long, chosen).get(OURS)
            if played:
                growth = growth_of(played)
                note = f"{growth.low:.2f} to {growth.high:.2f}; {coverage(growth)}"
                what = f"growth exponent, rounds {HORIZONS[1]} to {LONG}, {kind}, {title}"
                rows.append(goal_row(what, growth.exponent, "", Goal("<=", 0.9), note))
    return rows


def growth_cells(long: Games) -> list[tuple[str, ...]]:
    """The regret after each of the three horizons, and its growth, problem by problem."""
    head = ("contestant", "pool", *(f"after {rounds}" for rounds in HORIZONS), "exponent", "95 %")
    return [
        (*head, "seeds"),
        *(
            (f"{CONTESTANTS[name].title} ({version_played(long, name)})", pool, *cells)
            for name in CONTESTANTS
            if name in long
            for pool, cells in growth_of_pools(long[name])
        ),
    ]


def growth_of_pools(played: PlayedPools) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each problem played, and its cells of the table."""
    for pool in POOLS:
        if pool in played:
            growth = growth_of({pool: played[pool]})
            means = (mean_and_error(list(one)) for one in regrets_at(played[pool]))
            interval = f"{growth.low:.2f} to {growth.high:.2f}"
            cells = *(text_of(*mean) for mean in means), f"{growth.exponent:.2f}", interval
            yield pool, (*cells, str(len(played[pool])))


def text_of(mean: float, error: float) -> str:
    return f"{mean:.2f}" + ("" if math.isnan(error) else f" ± {error:.2f}")


def rivals(games: Games) -> list[str]:
    return [name for name in CONTESTANTS if name in games and name not in (OURS, RANDOM)]


def restrict(games: Games, pools: Sequence[str]) -> Games:
    """The games on some of the problems."""
    some = {
        name: {pool: rows for pool, rows in played.items() if pool in pools}
        for name, played in games.items()
    }
    return {name: played for name, played in some.items() if played}


def pairs(games: Games) -> list[Pair]:
    """Ours against everyone with whom it has games in common."""
    if OURS not in games:
        return []
    others = (*rivals(games), RANDOM)
    return [found for rival in others if rival in games and (found := pair(games, OURS, rival))]


def goals(games: Games) -> list[Row]:
    """The goals of the default policy, and whether it reaches them."""
    against = [one for one in pairs(games) if one.rival != RANDOM]
    if not against:
        return [Row("kb.Auto against its rivals", None, "x", None, "no game of both yet")]
    rows = [row for title, pools in GROUPS.items() for row in logei_goals(games, title, pools)]
    for title, pools in GROUPS.items():
        some = [one for one in pairs(restrict(games, pools)) if one.rival != RANDOM]
        if some:
            rows += [overall_goal(some, f"regret / best rival's, {title}"), worst_goal(some, title)]
    return [*rows, *time_goals(games, [one.rival for one in against])]


def logei_goals(games: Games, title: str, pools: Sequence[str]) -> list[Row]:
    """The upper limit of the ratio to LogEI, on real tables and on functions."""
    rows = []
    for kind, chosen in kinds_of(pools).items():
        some = restrict(games, chosen)
        one = pair(some, OURS, LOGEI) if OURS in some and LOGEI in some else None
        if one:
            note = f"ratio {one.ratio.value:.2f}, from {one.ratio.low:.2f}; {coverage(one)}"
            what = f"regret / LogEI's, upper limit, {kind}, {title}"
            rows.append(goal_row(what, one.ratio.high, "x", Goal("<=", 1.0), note))
    return rows


def kinds_of(pools: Sequence[str]) -> dict[str, list[str]]:
    """The real tables among some problems, and the functions."""
    return {
        "real tables": [pool for pool in pools if pool in real_tables.NAMES],
        "functions": [pool for pool in pools if pool not in real_tables.NAMES],
    }


def overall_goal(against: Sequence[Pair], what: str) -> Row:
    best = max(against, key=lambda one: one.ratio.value)
    note = f"{CONTESTANTS[best.rival].title}, {interval_text(best)}, {coverage(best)}"
    return goal_row(what, best.ratio.value, "x", Goal("<=", 0.8), note)


def worst_goal(against: Sequence[Pair], group: str) -> Row:
    worst = max(against, key=lambda one: one.worst[1].value)
    pool, ratio = worst.worst
    title = CONTESTANTS[worst.rival].title
    interval = f"({ratio.low:.2f} to {ratio.high:.2f})"
    note = f"{title} on {pool} {interval}, {worst.seeds[pool]} seeds"
    what = f"worst regret / a rival's, {group}"
    return goal_row(what, ratio.value, "x", Goal("<=", 1.1), note)


def time_goals(games: Games, names: Sequence[str]) -> list[Row]:
    """Mean seconds of ask + tell with 500 candidates, and the ratio to the fastest rival."""
    own = seconds(games, OURS, arms_of(POOLS))
    rows = (
        []
        if own is None
        else [goal_row("ask + tell, mean, 500 candidates", 1e3 * own, "ms", Goal("<=", 5.0), "")]
    )
    shares = {name: share for name in names if (share := time_share(games, name)) is not None}
    quickest = max(shares, key=lambda name: shares[name])
    note = CONTESTANTS[quickest].title + ", mean over the pools both play"
    return [
        *rows,
        goal_row(
            "seconds a suggestion / quickest rival's", shares[quickest], "x", Goal("<", 1.0), note
        ),
    ]


def goal_row(what: str, value: float, unit: str, goal: Goal, note: str) -> Row:
    """A missed goal says by how much."""
    missed = "" if goal.is_reached(value) else f"missed by {100 * (value / goal.bound - 1):.0f} %; "
    return Row(what, value, unit, goal, missed + note)


def arms_of(pools: Sequence[str]) -> list[str]:
    """The pools of 500 candidates."""
    return [pool for pool in pools if pool in FUNCTIONS]


def boxes_of(pools: Sequence[str]) -> list[str]:
    return [pool for pool in pools if pool.endswith(BOX)]


def seconds(games: Games, name: str, pools: Sequence[str], which: int = 1) -> float | None:
    """Mean over pools and seeds of the mean seconds of a round (which = 0: of the median)."""
    taken = [row.seconds[which] for pool in pools for row in games[name].get(pool, {}).values()]
    return fmean(taken) if taken else None


def time_share(games: Games, rival: str) -> float | None:
    shared = [pool for pool in POOLS if pool in games[OURS] and pool in games[rival]]
    ours, theirs = seconds(games, OURS, shared), seconds(games, rival, shared)
    return ours / theirs if ours is not None and theirs else None


def coverage(one: Pair | Growth) -> str:
    counts = sorted(set(one.seeds.values()))
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{len(one.seeds)} pool{'s' * (len(one.seeds) > 1)}, {span} seed{'s' * (counts[-1] > 1)}"


def interval_text(one: Pair) -> str:
    return f"{one.ratio.low:.2f} to {one.ratio.high:.2f}"


def content(games: Games, long: Games, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "about": f"{ABOUT}\n{TUNED}",
        "circumstances": circumstances(),
        "goals": [row.plain() for row in rows],
        "pairs": {
            title: [asdict(one) for one in pairs(restrict(games, pools))]
            for title, pools in GROUPS.items()
        },
        "contestants": {name: describe_contestant(games, name) for name in CONTESTANTS},
        "growth": {
            name: {
                "version": version_played(long, name),
                "pools": {pool: asdict(growth_of({pool: rows})) for pool, rows in played.items()},
            }
            for name, played in long.items()
        },
    }


def circumstances() -> dict[str, Any]:
    wanted = ("date", "processor", "cores", "system")
    return {name: fact for name, fact in machine.facts().items() if name in wanted}


def describe_contestant(games: Games, name: str) -> dict[str, Any]:
    contestant = CONTESTANTS[name]
    if name not in games:
        return {"title": contestant.title, "left out": left_out(name)}
    return {
        "title": contestant.title,
        "version": version_played(games, name),
        "used": contestant.used,
        "pools": measure_pools(games, name),
    }


def version_played(games: Games, name: str) -> str:
    """Return the version of a contestant in these games, which is one (`latest`)."""
    return next(iter(next(iter(games[name].values())).values())).version


def left_out(name: str) -> str:
    return CONTESTANTS[name].missing or "no game played"


def measure_pools(games: Games, name: str) -> dict[str, Any]:
    return {pool: of_pool(games, name, pool) for pool in POOLS if pool in games[name]}


def of_pool(games: Games, name: str, pool: str) -> dict[str, Any]:
    rows = games[name][pool].values()
    regret, error = mean_and_error([row.regret[-1] for row in rows])
    simple, simple_error = mean_and_error([row.simple for row in rows])
    at = {
        mark: round(fmean(row.regret[place] for row in rows), 3)
        for place, mark in enumerate(MARKS)
        if mark <= ROUNDS
    }
    return {
        "seeds": len(rows),
        "regret": round(regret, 3),
        "standard error": round_or_none(error, 3),
        "regret after": at,
        "simple regret": round(simple, 5),
        "its standard error": round_or_none(simple_error, 5),
        "seconds": {
            "median": seconds(games, name, [pool], 0),
            "mean": seconds(games, name, [pool]),
        },
    }


def round_or_none(number: float, digits: int) -> float | None:
    return None if math.isnan(number) else round(number, digits)


def document(games: Games, long: Games, rows: Sequence[Row]) -> str:
    played = [name for name in CONTESTANTS if name in games]
    absent = [
        f"- {CONTESTANTS[name].title} is left out: {left_out(name)}"
        for name in CONTESTANTS
        if name not in games
    ]
    parts = [
        [
            "# Regret, side by side",
            ABOUT,
            TUNED,
            "![Mean regret relative to kb.Auto](regret.svg)",
        ],
        ["## Goals", lines([tables.COLUMNS, *(row.cells for row in rows)])],
        *(
            [f"## Pair by pair, {title}", lines(pair_cells(some)), BELOW]
            for title, pools in GROUPS.items()
            if len(pair_cells(some := restrict(games, pools))) > 1
        ),
        [
            "## Cumulative regret",
            lines(pool_cells(games, played, regret_cell)),
            "Mean, standard error, seeds.",
        ],
        *([["## Growth of the regret", lines(growth_cells(long)), GROWTH]] if long else []),
        ["## Simple regret of the recommendation", lines(pool_cells(games, played, simple_cell))],
        [
            "## Seconds a suggestion",
            lines(time_cells(games, played)),
            "Milliseconds of the processor for ask + tell, on one thread.",
        ],
        ["## How each was used", "\n".join([*(usage(games, name) for name in played), *absent])],
        [
            "## Circumstances",
            "\n".join(f"- {name}: {fact}" for name, fact in circumstances().items()),
        ],
    ]
    return "\n\n".join(text for part in parts for text in part) + "\n"


def lines(cells: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""
    head, *rest = cells
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *rest))


def pair_cells(games: Games) -> list[tuple[str, ...]]:
    head = (
        "rival",
        "on",
        "kb.Auto",
        "rival's",
        "ratio",
        "95 %",
        "worst pool",
        "ratio there",
        "time ratio",
    )
    return [head, *(pair_line(games, one) for one in pairs(games))]


def pair_line(games: Games, one: Pair) -> tuple[str, ...]:
    pool, ratio = one.worst
    there = f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    numbers = (f"{one.ours:.2f}", f"{one.theirs:.2f}", f"{one.ratio.value:.2f}", interval_text(one))
    share = time_share(games, one.rival)
    return (
        CONTESTANTS[one.rival].title,
        coverage(one),
        *numbers,
        pool,
        there,
        "-" if share is None else f"{share:.3g}",
    )


def pool_cells(games: Games, played: Sequence[str], cell: Any) -> list[tuple[str, ...]]:
    head = ("pool", *(CONTESTANTS[name].title for name in played))
    there = [pool for pool in POOLS if any(pool in games[name] for name in played)]
    return [head, *((pool, *(cell(games[name].get(pool)) for name in played)) for pool in there)]


def regret_cell(rows: Mapping[int, Any] | None) -> str:
    if not rows:
        return "-"
    mean, error = mean_and_error([row.regret[-1] for row in rows.values()])
    return f"{text_of(mean, error)} ({len(rows)})"


def simple_cell(rows: Mapping[int, Any] | None) -> str:
    return f"{fmean(row.simple for row in rows.values()):.4f}" if rows else "-"


def time_cells(games: Games, played: Sequence[str]) -> list[tuple[str, ...]]:
    head = ("contestant", "500 candidates: median", "mean", "boxes: median", "mean")
    return [head, *((CONTESTANTS[name].title, *milliseconds(games, name)) for name in played)]


def milliseconds(games: Games, name: str) -> list[str]:
    taken = [
        seconds(games, name, pools, which)
        for pools in (arms_of(POOLS), boxes_of(POOLS))
        for which in (0, 1)
    ]
    return ["-" if one is None else f"{1e3 * one:.3g}" for one in taken]


def usage(games: Games, name: str) -> str:
    about = describe_contestant(games, name)
    return f"- {about['title']} ({CONTESTANTS[name].package} {about['version']}): {about['used']}"
