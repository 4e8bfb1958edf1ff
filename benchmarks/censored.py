"""What a study knows of results that are limits: campaigns on real tables with a detector that ends.

A result beyond the end of the detector is told as it is (truth), as the limit, not at all
(dropped), or as a limit (tails). Each game is played with the same seed in all four ways. The
protocol is that of docs/decisions/0036.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks import tables as results
from benchmarks.search.tables import DEVELOPMENT, PEROVSKITE, ROUGH, load_table
from kernelbandits.censored import ABOVE, BELOW, Censored
from kernelbandits.checks import Array
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.study.candidates import read_candidates

ROUNDS, SEEDS = 30, 2
LOW, HIGH = "lowest 30 %", "best 10 %"
ENDS = {LOW: (0.3, BELOW), HIGH: (0.9, ABOVE)}
"""The quantile of the rewards at which the detector ends, and the side that it does not see."""
TRUTH, LIMIT, DROPPED, TAILS = WAYS = ("truth", "limit", "dropped", "tails")
LEAST_ROWS, MOST_ROWS = 60, 4000
ROWS = results.RESULTS / "censored.jsonl"
TABLE = results.RESULTS / "censored.md"


def names() -> list[str]:
    """Return the tables of the protocol, in alphabetical order."""
    known = sorted(name for name in (*DEVELOPMENT, *ROUGH) if name != PEROVSKITE)
    return [name for name in known if LEAST_ROWS <= len(load_table(name).values) <= MOST_ROWS]


def play(name: str, end: str, way: str, seed: int) -> dict[str, Any]:
    """Play one campaign; return its regret and the coverage of its intervals."""
    table = load_table(name)
    domain, values = read_candidates(table.frame).domain(), table.values
    quantile, side = ENDS[end]
    limit = float(np.quantile(values, quantile))
    beyond = values < limit if side == BELOW else values > limit
    auto, dropped = kb.Auto(domain, goal="find", seed=seed), set[int]()
    start = time.process_time()
    for _ in range(ROUNDS):
        arms = [arm for arm in range(len(values)) if arm not in dropped] if dropped else None
        choice = auto.ask(arms=arms)
        arm = int(choice.arm or 0)
        if not beyond[arm] or way == TRUTH:
            auto.tell(choice, float(values[arm]))
        elif way == DROPPED:
            dropped.add(arm)
        else:
            auto.tell(choice, Censored(limit, side) if way == TAILS else limit)
    best = int(auto.recommend())
    low, high = find_intervals(auto, domain.points)
    covered = (low - 1e-9 <= values) & (values <= high + 1e-9)
    return {
        "table": name,
        "end": end,
        "way": way,
        "seed": seed,
        "regret": float(values.max() - values[best]),
        "coverage": float(covered.mean()),
        "coverage beyond": float(covered[beyond].mean()),
        "width beyond": float((high - low)[beyond].mean()),
        "seconds": round(time.process_time() - start, 2),
    }


def find_intervals(auto: kb.Auto[Any], points: Array) -> tuple[Array, Array]:
    """Return the ends of the 95 % intervals from which questions are answered."""
    posterior, units = auto.answer_model()
    mean, sd = posterior.at(points)
    reach = HALF_INTERVAL * sd
    return np.asarray(units.original(mean - reach)), np.asarray(units.original(mean + reach))


def read_rows() -> Iterator[dict[str, Any]]:
    if ROWS.exists():
        yield from map(json.loads, ROWS.read_text("utf-8").splitlines())


def run(seeds: int = SEEDS, minutes: float = 15.0) -> None:
    """Play what is missing, table by table, until the minutes of CPU are used; write the table."""
    known = {(one["table"], one["end"], one["way"], one["seed"]) for one in read_rows()}
    used = sum(one["seconds"] for one in read_rows())
    for name in names():
        for seed in range(seeds):
            for end in ENDS:
                for way in WAYS:
                    if (name, end, way, seed) in known or used > 60 * minutes:
                        continue
                    row = play(name, end, way, seed)
                    used += row["seconds"]
                    with ROWS.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
    TABLE.write_text(summarise(list(read_rows())), "utf-8")


def summarise(rows: list[dict[str, Any]]) -> str:
    """Return the means of all ways, over the games that were played in every way."""
    games = defaultdict[tuple[Any, ...], dict[str, dict[str, Any]]](dict)
    for row in rows:
        games[row["table"], row["seed"], row["end"]][row["way"]] = row
    whole = {key: ways for key, ways in games.items() if len(ways) == len(WAYS)}
    lines = [f"# {__doc__.splitlines()[0]}", "", f"{ROUNDS} results, no noise, goal find."]
    for end in ENDS:
        chosen = [ways for key, ways in whole.items() if key[2] == end]
        tables = {key[0] for key in whole if key[2] == end}
        if not chosen:
            continue
        lines += ["", f"## {end} of the rewards unseen ({len(tables)} tables, {len(chosen)} games)"]
        lines += ["", "| way | regret | regret beside limit | coverage | beyond | width beyond |"]
        lines += ["|---|--:|--:|--:|--:|--:|"]
        for way in WAYS:
            got = {part: np.array([ways[way][part] for ways in chosen]) for part in PARTS}
            gap = got["regret"] - np.array([ways[LIMIT]["regret"] for ways in chosen])
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            cells = [f"{got['regret'].mean():.3f}", f"{gap.mean():+.3f} ± {error:.3f}"]
            cells += [f"{100 * got[part].mean():.0f} %" for part in PARTS[1:3]]
            lines.append(f"| {way} | {' | '.join(cells)} | {got['width beyond'].mean():.2f} |")
    return "\n".join(lines) + "\n"


PARTS = ("regret", "coverage", "coverage beyond", "width beyond")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--minutes", type=float, default=15.0, help="of CPU time, in all")
