"""The same game with a Gaussian process of another library, fitted to all rewards afresh in every
round."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.game import LENGTHSCALE, RIDGE, Array, Game, Outcome
from kernelbandits.domains import argmax

Predict = Callable[[Array, Array, Array], tuple[Array, Array]]
"""(points played, rewards, all points) -> mean, sd"""


def play(game: Game, predict: Predict, name: str) -> Outcome:
    """mean + w_t (a_t + sqrt(b_t + c_t L)) sd, with mean and sd of the other library."""
    points, (arms, recommended) = game.instance.domain.points, game.record()
    widths, weights, ties = game.tables
    rewards, log_det = np.empty(game.horizon), 0.0
    mean, sd = np.zeros(len(points)), np.ones(len(points))
    start = time.perf_counter()
    for t in rounds(game.horizon, name):
        a, b, c = widths[t]
        arm = arms[t] = argmax(
            mean + weights[t] * (a + math.sqrt(b + c * log_det)) * sd, "random", ties[t]
        )
        rewards[t] = game.instance.values[arm] + game.noise[t]
        log_det += math.log1p(sd[arm] ** 2 / RIDGE)
        mean, sd = predict(points[arms[: t + 1]], rewards[: t + 1], points)
        recommended[t] = mean.argmax()
    return Outcome(time.perf_counter() - start, arms, recommended)


def rounds(horizon: int, name: str) -> Iterable[int]:
    """0..T-1, with a progress bar on a terminal."""
    hidden = not sys.stderr.isatty()
    return track(range(horizon), name, console=Console(stderr=True), transient=True, disable=hidden)


def scikit_learn() -> Predict:
    gaussian_process = import_module("sklearn.gaussian_process")
    kernel = gaussian_process.kernels.RBF(LENGTHSCALE)

    def predict(played: Array, rewards: Array, points: Array) -> tuple[Array, Array]:
        model = gaussian_process.GaussianProcessRegressor(kernel, alpha=RIDGE, optimizer=None)
        mean, sd = model.fit(played, rewards).predict(points, return_std=True)
        return mean, sd

    return predict


def botorch() -> Predict:
    """SingleTaskGP with everything given, in float64 on one thread, by Cholesky factors at every
    size."""
    torch, gpytorch, models = (
        import_module(name) for name in ("torch", "gpytorch", "botorch.models")
    )
    warnings.filterwarnings("ignore", module="(botorch|gpytorch|linear_operator)")
    torch.set_num_threads(1)
    kernel = gpytorch.kernels.RBFKernel().double()
    kernel.lengthscale = LENGTHSCALE
    kernel.requires_grad_(False)

    def predict(played: Array, rewards: Array, points: Array) -> tuple[Array, Array]:
        x, y = torch.tensor(played), torch.tensor(rewards)[:, None]
        given = {
            "covar_module": kernel,
            "mean_module": gpytorch.means.ZeroMean(),
            "outcome_transform": None,
        }
        model = models.SingleTaskGP(x, y, torch.full_like(y, RIDGE), **given).eval()
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(1_000_000):
            found = model.posterior(torch.tensor(points))
            return found.mean[:, 0].numpy(), found.variance[:, 0].clamp_min(0).sqrt().numpy()

    return predict
