"""Rivals where a measurement has several outcomes: samplers of Optuna, and BoTorch.

Optuna's samplers (version 5) have their defaults; limits are constraints of the trial. A suggestion that
was moved to a row of a table is told as a trial of its own, at that row. BoTorch's qLogNEHVI and
qLogNEI follow its tutorials: a SingleTaskGP for each outcome, 128 Sobol draws, 10 restarts from 256
points. qLogNEHVI is told the reference of the problem, which our search is not, and starts with
2 (d + 1) Sobol points; qLogNEI, with constraints, with five.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from benchmarks import front
from benchmarks.outcomes import Problem
from kernelbandits.checks import Array

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Studied:
    """A study of Optuna. The outcomes are objectives, and after these, constraints."""

    def __init__(self, problem: Problem, seed: int, sampler: str, objectives: int) -> None:
        warnings.simplefilter("ignore")
        made = getattr(optuna.samplers, sampler)(seed=seed)
        self.objectives = objectives
        self.study = optuna.create_study(directions=["maximize"] * objectives, sampler=made)
        self.space = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(problem.dimension)}
        self.trial: Any = None

    def ask(self) -> Array:
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.space])

    def tell(self, row: Array, values: Array) -> None:
        goals = values[: self.objectives].tolist()
        limits = {f"c{j}": value for j, value in enumerate(values[self.objectives :].tolist())}
        if all(self.trial.params[name] == x for name, x in zip(self.space, row, strict=True)):
            for name, value in limits.items():
                self.trial.set_constraint(name, value)
            self.study.tell(self.trial, goals)
            return
        self.study.tell(self.trial, state=TrialState.FAIL)
        params = dict(zip(self.space, row.tolist(), strict=True))
        moved = create_trial(
            params=params, distributions=self.space, values=goals, constraints=limits
        )
        self.study.add_trial(moved)


class Modelled(ABC):
    """A player with BoTorch's models: a SingleTaskGP for each outcome."""

    def __init__(self, problem: Problem, seed: int, first: int) -> None:
        import torch
        from torch.quasirandom import SobolEngine

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.problem = problem
        self.first = SobolEngine(problem.dimension, scramble=True, seed=seed).draw(
            first, dtype=torch.double
        )
        self.rows: list[Array] = []
        self.values: list[Array] = []

    def ask(self) -> Array:
        if len(self.rows) < len(self.first):
            return np.asarray(self.first[len(self.rows)].numpy())
        return self.best_of(self.acquire())

    def tell(self, row: Array, values: Array) -> None:
        self.rows.append(row)
        self.values.append(values)

    @abstractmethod
    def acquire(self) -> Any:
        """Return the acquisition function."""

    def fit(self) -> tuple[Any, Any]:
        """Return the places measured and the model of their outcomes."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import SumMarginalLogLikelihood

        x, y = torch.tensor(np.array(self.rows)), torch.tensor(np.array(self.values))
        models = [
            SingleTaskGP(x, y[:, [i]], outcome_transform=Standardize(1)) for i in range(y.shape[1])
        ]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        return x, model

    def draws(self) -> Any:
        """Return 128 Sobol draws of the outcomes."""
        import torch
        from botorch.sampling import SobolQMCNormalSampler

        return SobolQMCNormalSampler(torch.Size([128]))

    def best_of(self, acquisition: Any) -> Array:
        import torch
        from botorch.optim import optimize_acqf

        if self.problem.rows is not None:
            known = {row.tobytes() for row in self.rows}
            rows = np.array([row for row in self.problem.rows if row.tobytes() not in known])
            with torch.no_grad():
                return np.asarray(rows[int(acquisition(torch.tensor(rows)[:, None]).argmax())])
        d = self.problem.dimension
        cube = torch.stack([torch.zeros(d), torch.ones(d)]).double()
        row, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=10, raw_samples=256)
        return np.asarray(row.detach().numpy()[0])


class LogNEHVI(Modelled):
    """BoTorch's noisy expected hypervolume improvement."""

    def __init__(self, problem: front.Problem, seed: int) -> None:
        super().__init__(problem, seed, 2 * (problem.dimension + 1))
        self.reference = problem.reference.tolist()

    def acquire(self) -> Any:
        from botorch.acquisition.multi_objective.logei import (
            qLogNoisyExpectedHypervolumeImprovement,
        )

        x, model = self.fit()
        return qLogNoisyExpectedHypervolumeImprovement(
            model,
            ref_point=self.reference,
            X_baseline=x,
            prune_baseline=True,
            sampler=self.draws(),
        )


class LimitedLogNEI(Modelled):
    """BoTorch's noisy expected improvement of the first outcome, where the others are negative."""

    FIRST = 5

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, self.FIRST)

    def acquire(self) -> Any:
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective

        x, model = self.fit()
        limits = range(1, len(self.values[0]))
        return qLogNoisyExpectedImprovement(
            model,
            X_baseline=x,
            prune_baseline=True,
            sampler=self.draws(),
            objective=GenericMCObjective(lambda drawn, X=None: drawn[..., 0]),
            constraints=[partial(take_outcome, limit) for limit in limits],
        )


def take_outcome(number: int, drawn: Any) -> Any:
    return drawn[..., number]


def study_front(sampler: str) -> Any:
    """Return the maker of a study with an objective for each outcome."""
    return lambda problem, seed: Studied(problem, seed, sampler, len(problem.reference))


FRONT_MAKERS = {
    "gp-sampler": study_front("GPSampler"),
    "nsga-ii": study_front("NSGAIISampler"),
    "log-nehvi": LogNEHVI,
}
LIMIT_MAKERS = {
    "gp-sampler": lambda problem, seed: Studied(problem, seed, "GPSampler", 1),
    "log-nei": LimitedLogNEI,
}
