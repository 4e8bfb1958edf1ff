"""BayBE: a campaign over the rows of the table with its default recommender.

The columns are given as they are: numbers as discrete numerical parameters, text as categorical
parameters with its default encoding. It names no recommendation: without noise the best result is
taken, with noise the best posterior mean at a measured row.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
from baybe import Campaign, Settings
from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget

from benchmarks.opponents.history import History
from benchmarks.pools import PoolInstance
from benchmarks.search.tables import Table

RESULT = "result"

torch.set_num_threads(1)


class Recommended:
    def __init__(self, instance: PoolInstance) -> None:
        assert instance.table is not None
        self.instance = instance
        self.history = History(instance)
        self.frame = instance.table.frame
        space = SearchSpace.from_dataframe(self.frame, parameters_of(instance.table))
        self.campaign = Campaign(space, NumericalTarget(RESULT))
        # Its first rows come from numpy's global generator, the rest from torch's.
        Settings(random_seed=instance.seed).activate()

    def ask(self, t: int, pending: Sequence[Any]) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = self.frame.iloc[list(pending)] if pending else None
            return int(self.campaign.recommend(1, pending_experiments=waiting).index[0])

    def tell(self, move: int, result: float) -> None:
        self.history.add(move, result)
        self.campaign.add_measurements(self.frame.iloc[[move]].assign(**{RESULT: result}))

    def recommend(self) -> Any:
        if self.instance.noise == 0:
            return self.history.best_mean()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stats = self.campaign.posterior_stats(self.frame.iloc[self.history.moves], ["mean"])
        return self.history.moves[int(stats.to_numpy().argmax())]


def parameters_of(table: Table) -> list[Any]:
    numbers = [
        NumericalDiscreteParameter(name, sorted(set(table.frame[name]))) for name in table.numbers
    ]
    categories = [
        CategoricalParameter(name, tuple(pd.unique(table.frame[name]))) for name in table.categories
    ]
    return [*numbers, *categories]


def make(instance: PoolInstance) -> Recommended:
    return Recommended(instance)
