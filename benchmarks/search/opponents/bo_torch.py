"""BoTorch: SingleTaskGP with its default priors, fitted every round, and LogEI or its noisy form.

LogEI improves on the best result where there is no noise, and on the best posterior mean at a
measured place where there is. The noisy form (qLogNoisyExpectedImprovement) needs no such number.
In batches both are the Monte Carlo forms with the pending places. BoTorch names no recommendation:
without noise the best result is taken, with noise the best posterior mean, among measured rows on
tables and in the whole box on boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, PosteriorMean
from botorch.acquisition.logei import (
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
)
from botorch.models import SingleTaskGP

from benchmarks.opponents.bo_torch import fit_model, maximise_on_cube, tensor
from benchmarks.opponents.history import History
from benchmarks.pools import Array, PoolInstance


class Acquired:
    def __init__(self, instance: PoolInstance, noisy: bool, repeats: bool, first: int) -> None:
        self.instance = instance
        self.noisy = noisy
        self.repeats = repeats
        self.history = History(instance)
        self.first = (
            instance.different_arms(first) if instance.finite else instance.random_moves(first)
        )
        self.model: SingleTaskGP | None = None
        torch.manual_seed(instance.seed)

    def ask(self, t: int, pending: Sequence[Any]) -> Any:
        if t <= len(self.first):
            return self.first[t - 1]
        # Within a batch there is no new result, and the model stays as it is.
        if self.model is None or not pending:
            self.model = self.fit()
        function = self.acquisition(self.model, pending)
        if not self.instance.finite:
            return self.instance.natural(maximise_on_cube(function, self.instance.domain.dimension))
        rows = self.allowed_rows(pending)
        with torch.no_grad():
            scores = function(tensor(self.instance.domain.points[rows]).unsqueeze(1))
        return rows[int(scores.argmax())]

    def tell(self, move: Any, result: float) -> None:
        self.history.add(move, result)

    def recommend(self) -> Any:
        if self.instance.noise == 0:
            return self.history.best_mean()
        model = self.fit()
        if not self.instance.finite:
            mean = PosteriorMean(model)
            return self.instance.natural(maximise_on_cube(mean, self.instance.domain.dimension))
        return self.history.moves[int(posterior_means(model, self.history.rows).argmax())]

    def fit(self) -> SingleTaskGP:
        return fit_model(self.history.rows, self.history.rewards)

    def acquisition(self, model: SingleTaskGP, pending: Sequence[Any]) -> AcquisitionFunction:
        waiting = tensor(self.unit_rows(pending)) if pending else None
        if self.noisy:
            return qLogNoisyExpectedImprovement(
                model, tensor(self.history.rows), X_pending=waiting, prune_baseline=True
            )
        best = (
            max(self.history.rewards)
            if self.instance.noise == 0
            else float(posterior_means(model, self.history.rows).max())
        )
        if waiting is None:
            return LogExpectedImprovement(model, best_f=best)
        return qLogExpectedImprovement(model, best_f=best, X_pending=waiting)

    def unit_rows(self, moves: Sequence[Any]) -> Array:
        waiting = History(self.instance)
        for move in moves:
            waiting.add(move, 0.0)
        return waiting.rows

    def allowed_rows(self, pending: Sequence[int]) -> list[int]:
        everything = list(range(len(self.instance.domain)))
        taken = set(pending) if self.repeats else {*self.history.moves, *pending}
        return [row for row in everything if row not in taken] or everything


def posterior_means(model: SingleTaskGP, rows: Array) -> torch.Tensor:
    with torch.no_grad():
        means: torch.Tensor = model.posterior(tensor(rows)).mean.squeeze(-1)
    return means


def make(
    instance: PoolInstance, noisy: bool = False, repeats: bool = False, first: int = 5
) -> Acquired:
    return Acquired(instance, noisy, repeats, first)
