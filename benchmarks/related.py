"""Games with and without an earlier study of a related table, and of an unrelated one.

A pair is an earlier table and a new one, with the same columns: rows of one real table that differ
in a reagent or a condition, random halves of one table as two plates, or two tables that have
nothing in common but the number of their columns. The earlier target comes in units of its own, a
monotone function of it. 40 of the earlier rows have results: 30 random ones, and the best ten of 50
others, as of a search. In `permuted` pairs they are in another order.

`kb.Auto` measures 30 rows of the new table, with the earlier results (as `learn_from` of a study
places them) and without, with the same seeds. The noise is 0.02 of the range. The score is the mean
simple regret of the rows measured, after 5, 10, 20 and 30 results.

    python -m benchmarks related --seeds 20 --groups unrelated permuted
    python -m benchmarks related --minutes 0

It continues where it stopped; 0 minutes print the table of what was played. On the pairs of the
group `development` the rule was chosen.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

import kernelbandits as kb
from benchmarks import machine
from benchmarks.json_lines import append_object, read_objects
from benchmarks.search.play import play_games
from benchmarks.search.tables import load_table
from kernelbandits.checks import Array
from kernelbandits.study.candidates import read_candidates
from kernelbandits.study.sources import Source

ROWS = Path(__file__).parent / "results" / "related.jsonl"
ROUNDS, MARKS, NOISE = 30, (5, 10, 20, 30), 0.02
RANDOM_ROWS, OFFERED, BEST = 30, 50, 10
UPPER = 0.9
NEW, LEARNT = "new", "learnt"


@dataclass(frozen=True)
class Pair:
    """Which rows are the earlier study's, and which the new one's."""

    earlier: str
    new: str = ""
    """The other table of two that have nothing in common; "" for rows of one table."""
    column: str = ""
    values: tuple[int, int] = (0, 1)
    """The column that tells the studies apart, and its values by their order; "" for halves."""
    permuted: bool = False

    @property
    def name(self) -> str:
        parts = [
            self.earlier,
            self.new,
            self.column,
            *(map(str, self.values) if self.column else ""),
        ]
        return " ".join(filter(None, parts)) + (" permuted" if self.permuted else "")


BASE, SOLVENT, LIGAND = "Base_SMILES", "Solvent_SMILES", "Ligand_SMILES"
BUCHWALD, ARYLATION = "buchwald_a", "direct_arylation"
PLAIN = ("snar", "suzuki", "alkox", "benzylation", "photo_pce10", "AutoAM")
"""Tables of four columns of numbers."""
RELATED = (
    *(Pair(ARYLATION, column=BASE, values=pair) for pair in ((1, 2), (2, 3), (3, 0))),
    *(Pair(ARYLATION, column=SOLVENT, values=pair) for pair in ((0, 1), (2, 3), (3, 0))),
    *(Pair(ARYLATION, column="Temp_C", values=pair) for pair in ((0, 1), (1, 2))),
    Pair(ARYLATION, column="Concentration", values=(0, 2)),
    Pair(BUCHWALD, column="ligand", values=(0, 1)),
    Pair(BUCHWALD, column="base", values=(1, 2)),
    *(Pair(name) for name in ("P3HT", "colors_bob", "oer_plate_3496", "fullerenes")),
)
GROUPS: dict[str, tuple[Pair, ...]] = {
    "development": (
        Pair(BUCHWALD, column="aryl_halide", values=(0, 1)),
        Pair(ARYLATION, column=BASE, values=(0, 1)),
        Pair(ARYLATION, column=SOLVENT, values=(1, 2)),
    ),
    "related": RELATED,
    "unrelated": tuple(Pair(one, two) for one, two in pairwise(PLAIN)),
    "permuted": tuple(
        Pair(one.earlier, column=one.column, values=one.values, permuted=True)
        for one in (RELATED[1], RELATED[5], RELATED[9], RELATED[11], RELATED[12])
    ),
}


class Studies(NamedTuple):
    """The tables of a pair in one seed, with values between 0 and 1."""

    earlier: pd.DataFrame
    earlier_values: Array
    new: pd.DataFrame
    values: Array


def unit(values: Array) -> Array:
    return (values - values.min()) / np.ptp(values)


def split(pair: Pair, rng: np.random.Generator) -> Studies:
    """Return the two tables; halves are drawn."""
    table = load_table(pair.earlier)
    if pair.new:
        other = load_table(pair.new)
        same = table.frame.set_axis(list(other.frame.columns), axis=1)
        return Studies(same, table.values, other.frame, other.values)
    if pair.column:
        levels = sorted(table.frame[pair.column].unique())
        masks = [(table.frame[pair.column] == levels[one]).to_numpy() for one in pair.values]
        frame = table.frame.drop(columns=pair.column)
    else:
        first = rng.permutation(len(table.values)) < len(table.values) // 2
        masks, frame = [first, ~first], table.frame
    parts = [(frame[mask].reset_index(drop=True), table.values[mask]) for mask in masks]
    return Studies(parts[0][0], unit(parts[0][1]), parts[1][0], unit(parts[1][1]))


def earlier_source(pair: Pair, studies: Studies, rng: np.random.Generator) -> Source:
    """Return 40 results of the earlier study, in units of its own."""
    order = rng.permutation(len(studies.earlier_values))
    measured = studies.earlier_values + NOISE * rng.standard_normal(len(order))
    offered = order[RANDOM_ROWS : RANDOM_ROWS + OFFERED]
    best = offered[np.argsort(-measured[offered])[:BEST]]
    rows = np.concatenate([order[:RANDOM_ROWS], best])
    values = 273 + 40 * np.expm1(1.5 * measured[rows])
    values = rng.permutation(values) if pair.permuted else values
    frame = studies.earlier.iloc[rows]
    columns = tuple((name, tuple(frame[name].tolist())) for name in frame.columns)
    return Source("earlier", "", "y", "maximize", len(rows), columns, tuple(values.tolist()))


@dataclass(frozen=True)
class Game:
    group: str
    pair: Pair
    contestant: str
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.pair.name, self.contestant, self.seed


def play_game(game: Game) -> dict[str, Any]:
    """Play one game and return the simple regret after each mark."""
    rng = np.random.default_rng([zlib.crc32(game.pair.name.encode()), game.seed])
    began = time.process_time()
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studies = split(game.pair, rng)
        place = read_candidates(studies.new, target="y")
        source = earlier_source(game.pair, studies, rng)
        noise = NOISE * rng.standard_normal(ROUNDS)
        earlier = [source.place_in(place)] if game.contestant == LEARNT else []
        policy = kb.Auto(place.domain(), goal="find", seed=game.seed, earlier=earlier)
        regrets = []
        for t in range(min(ROUNDS, len(studies.values))):
            choice = policy.ask()
            value = float(studies.values[choice.arm])
            policy.tell(choice, value + float(noise[t]))
            regrets.append(1.0 - value)
    best = np.minimum.accumulate(regrets)
    marks = [round(float(best[min(mark, len(best)) - 1]), 6) for mark in MARKS]
    return {
        "group": game.group,
        "pair": game.pair.name,
        "contestant": game.contestant,
        "seed": game.seed,
        "regret": marks,
        "seconds": round(time.process_time() - began, 2),
    }


# ---------------------------------------------------------------- what was found


class Compared(NamedTuple):
    """The ratio of scores with earlier results and without, over some pairs and their seeds."""

    ratio: float
    error: float
    """The standard error over seeds."""
    upper: float
    """The upper 90 % limit over seeds."""
    scores: tuple[float, float]
    seeds: int


def compare(games: list[dict[str, Any]]) -> Compared:
    """Compare the two contestants on the seeds that both have played, each pair with one weight."""
    scores = {
        (one["pair"], one["contestant"], one["seed"]): np.mean(one["regret"]) for one in games
    }
    means, variances, number = np.zeros(2), np.zeros((2, 2)), []
    for pair in {one["pair"] for one in games}:
        seeds = [s for p, c, s in scores if p == pair and c == NEW and (p, LEARNT, s) in scores]
        both = np.array([[scores[pair, c, seed] for c in (LEARNT, NEW)] for seed in seeds])
        means += both.mean(0)
        variances += np.cov(both.T) / len(seeds) if len(seeds) > 1 else np.nan
        number.append(len(seeds))
    ratio = float(means[0] / means[1])
    # The delta method for a ratio of sums.
    slopes = np.array([1.0, -ratio]) / means[1]
    error = float(np.sqrt(slopes @ variances @ slopes))
    upper = ratio + float(norm.ppf(UPPER)) * error
    count = len(number)
    return Compared(ratio, error, upper, (means[0] / count, means[1] / count), min(number))


def print_table(path: Path) -> None:
    games = read_objects(path)
    print(
        f"{'pair':52} {'seeds':>5} {'learnt':>7} {'new':>6} {'ratio':>6} {'error':>6} {'upper':>6}"
    )
    for group in GROUPS:
        own = [one for one in games if one["group"] == group]
        names = list(dict.fromkeys(one["pair"] for one in own))
        for title, some in [
            *((name, [one for one in own if one["pair"] == name]) for name in names),
            (f"all {group}", own),
        ]:
            if {one["contestant"] for one in some} == {NEW, LEARNT}:
                found = compare(some)
                with_, without = found.scores
                numbers = f"{found.ratio:6.2f} {found.error:6.2f} {found.upper:6.2f}"
                print(f"{title:52} {found.seeds:5} {with_:7.3f} {without:6.3f} {numbers}")


def schedule(groups: list[str], seeds: int) -> Iterator[Game]:
    for seed in range(seeds):
        for group in groups:
            for pair in GROUPS[group]:
                for contestant in (NEW, LEARNT):
                    yield Game(group, pair, contestant, seed)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=ROWS)


def run(given: argparse.Namespace) -> None:
    done = {(one["pair"], one["contestant"], one["seed"]) for one in read_objects(given.rows)}
    games = [game for game in schedule(given.groups, given.seeds) if game.key not in done]
    until = time.monotonic() + 60 * given.minutes
    for row in play_games(games, until, given.workers, play_game):
        append_object(given.rows, row)
    print_table(given.rows)
