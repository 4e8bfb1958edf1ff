"""Rivals that look for a front: two samplers of Optuna, and BoTorch's qLogNEHVI.

Optuna's samplers are used with their defaults. A suggestion that was moved to a row of a table is
told as a trial of its own, at that row. qLogNEHVI follows BoTorch's tutorial: a SingleTaskGP for
each objective, 2 (d + 1) Sobol points first, the reference of the problem, which our search is not
told, 128 Sobol draws, 10 restarts from 256 points.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from benchmarks.front import Problem
from kernelbandits.checks import Array

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Studied:
    """A study of Optuna with several directions."""

    def __init__(self, problem: Problem, seed: int, sampler: str) -> None:
        warnings.simplefilter("ignore")
        made = getattr(optuna.samplers, sampler)(seed=seed)
        directions = ["maximize"] * len(problem.reference)
        self.study = optuna.create_study(directions=directions, sampler=made)
        self.space = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(problem.dimension)}
        self.trial: Any = None

    def ask(self) -> Array:
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.space])

    def tell(self, row: Array, values: Array) -> None:
        if all(self.trial.params[name] == x for name, x in zip(self.space, row, strict=True)):
            self.study.tell(self.trial, values.tolist())
            return
        self.study.tell(self.trial, state=TrialState.FAIL)
        params = dict(zip(self.space, row.tolist(), strict=True))
        moved = create_trial(params=params, distributions=self.space, values=values.tolist())
        self.study.add_trial(moved)


class LogNEHVI:
    """BoTorch's noisy expected hypervolume improvement."""

    def __init__(self, problem: Problem, seed: int) -> None:
        import torch
        from torch.quasirandom import SobolEngine

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.problem = problem
        self.first = SobolEngine(problem.dimension, scramble=True, seed=seed).draw(
            2 * (problem.dimension + 1), dtype=torch.double
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

    def acquire(self) -> Any:
        import torch
        from botorch.acquisition.multi_objective.logei import (
            qLogNoisyExpectedHypervolumeImprovement,
        )
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.sampling import SobolQMCNormalSampler
        from gpytorch.mlls import SumMarginalLogLikelihood

        x, y = torch.tensor(np.array(self.rows)), torch.tensor(np.array(self.values))
        models = [
            SingleTaskGP(x, y[:, [i]], outcome_transform=Standardize(1)) for i in range(y.shape[1])
        ]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        return qLogNoisyExpectedHypervolumeImprovement(
            model,
            ref_point=self.problem.reference.tolist(),
            X_baseline=x,
            prune_baseline=True,
            sampler=SobolQMCNormalSampler(torch.Size([128])),
        )

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


MAKERS = {
    "gp-sampler": lambda problem, seed: Studied(problem, seed, "GPSampler"),
    "nsga-ii": lambda problem, seed: Studied(problem, seed, "NSGAIISampler"),
    "log-nehvi": LogNEHVI,
}
