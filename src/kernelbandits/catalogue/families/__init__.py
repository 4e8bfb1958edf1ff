"""The policies of each family with their paper, what is guaranteed, and what is ours; a module is a family."""

from __future__ import annotations

from collections.abc import Mapping

from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.catalogue.families import (
    changing,
    confidence,
    elimination,
    exploration,
    floors,
    heavy,
    independent,
    linear,
    partitions,
    random_queries,
    relatives,
    tighter,
)

FAMILIES: Mapping[str, tuple[PolicyEntry, ...]] = {
    "exploration distributions (the paper)": exploration.ENTRIES,
    "close relatives": relatives.ENTRIES,
    "upper confidence and posterior sampling": confidence.ENTRIES,
    "tighter confidence sets": tighter.ENTRIES,
    "elimination and precision ladders": elimination.ENTRIES,
    "partitions": partitions.ENTRIES,
    "random exploration": random_queries.ENTRIES,
    "changing worlds": changing.ENTRIES,
    "heavy tails": heavy.ENTRIES,
    "linear bandits": linear.ENTRIES,
    "independent arms": independent.ENTRIES,
    "floors": floors.ENTRIES,
}
"""Title of the family -> its members, in the order they are listed."""

NOT_IMPLEMENTED: Mapping[str, str] = {
    "LP-GP-UCB": "Lee, Shekhar & Javidi, multi-scale zero-order optimization of smooth functions in an RKHS, 2022",
    "ATA-GP-UCB": "Ray Chowdhury & Gopalan, Bayesian optimization under heavy-tailed payoffs, 2019",
    "RIPS": "Camilleri, Jamieson & Katz-Samuels, high-dimensional experimental design and kernel bandits, 2021",
}
"""Named in the literature and left out rather than approximated -> their paper."""
