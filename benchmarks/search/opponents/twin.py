"""BoTorch's LogEI again, in numpy: SingleTaskGP with its default priors, fitted every round.

The model is that of BoTorch 0.18.1. With results y brought to mean 0 and variance 1,

    y = c + f(x) + e,  f ~ GP(0, k),  e ~ N(0, s),  k(x, z) = exp(-sum_j (x_j - z_j)^2 / (2 l_j^2))

    ln l_j ~ N(sqrt 2 + ln(d) / 2, 3),  l_j >= 0.025;  ln s ~ N(-4, 1),  s >= 1e-4

and c has no prior. The hyperparameters are those of the greatest posterior density, found by
L-BFGS-B from the modes of the priors and c = 0. `python -m benchmarks search --check-twin` compares
it with BoTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize
from scipy.special import erfcx, ndtr

from benchmarks.opponents.history import History
from benchmarks.pools import Array, PoolInstance

MIN_LENGTHSCALE, MIN_NOISE = 2.5e-2, 1e-4
LENGTHSCALE_SCALE = math.sqrt(3)
"""Of the logarithm of a lengthscale, a standard deviation."""
NOISE_LOCATION, NOISE_SCALE = -4.0, 1.0
LEAST_DEVIATION = 1e-8
"""Results with a smaller standard deviation are centred and not scaled."""
LEAST_VARIANCE = 1e-12
ATTEMPTS = 5
"""After a failed fit BoTorch starts from hyperparameters drawn from the priors."""
PRIOR_DRAWS = 80
"""The column of the streams from which those come."""
LOG_SQRT_2_PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class LogNormal:
    """The prior of a positive number: its logarithm is N(location, scale^2).

    BoTorch makes its priors and their modes in single precision, and computes in double precision
    from there. The posterior density of the hyperparameters has several maxima, and from a start
    that differs in the eighth digit a fit can end at another one.
    """

    location: float
    scale: float

    def __post_init__(self) -> None:
        for name in ("location", "scale"):
            object.__setattr__(self, name, float(np.float32(getattr(self, name))))

    @property
    def mode(self) -> float:
        logarithm = np.float32(self.location) - np.float32(self.scale) ** 2
        return float(np.float32(math.exp(float(logarithm))))

    def log_density(self, x: Array) -> Array:
        gap = (np.log(x) - self.location) / self.scale
        value: Array = -np.log(x) - math.log(self.scale) - LOG_SQRT_2_PI - gap**2 / 2
        return value

    def slope(self, x: Array) -> Array:
        """Return the derivative of the log density."""
        value: Array = -(1 + (np.log(x) - self.location) / self.scale**2) / x
        return value


NOISE_PRIOR = LogNormal(NOISE_LOCATION, NOISE_SCALE)


def lengthscale_prior(dimension: int) -> LogNormal:
    return LogNormal(math.sqrt(2) + math.log(dimension) / 2, LENGTHSCALE_SCALE)


class MarginalLikelihood:
    """The quantity that a fit minimises, at hyperparameters (s, c, l_1, ..., l_d).

    -(ln N(y; c, K + s I) + ln p(l) + ln p(s)) / n
    """

    def __init__(self, rows: Array, targets: Array) -> None:
        self.rows, self.targets = rows, targets
        n, d = rows.shape
        # One line for each column of the table: then all derivatives are one product.
        self.squares = ((rows[:, None, :] - rows[None, :, :]) ** 2).reshape(n * n, d).T.copy()
        self.identity = np.eye(n)
        self.prior = lengthscale_prior(d)

    @property
    def start(self) -> Array:
        return np.array([NOISE_PRIOR.mode, 0.0, *[self.prior.mode] * self.rows.shape[1]])

    @property
    def bounds(self) -> list[tuple[float | None, float | None]]:
        lengths: list[tuple[float | None, float | None]]
        lengths = [(MIN_LENGTHSCALE, None)] * self.rows.shape[1]
        return [(MIN_NOISE, None), (None, None), *lengths]

    def value_and_gradient(self, at: Array) -> tuple[float, Array]:
        noise, constant, lengths = at[0], at[1], at[2:]
        n = len(self.targets)
        kernel = np.exp(-0.5 * (lengths**-2) @ self.squares).reshape(n, n)
        covariance = kernel.copy()
        # With s >= 1e-4 on the diagonal the Cholesky factor needs no jitter.
        covariance.flat[:: n + 1] += noise
        # LAPACK itself: the checks of scipy.linalg take longer than matrices of this size.
        factor, _ = dpotrf(covariance, lower=1)
        residual = self.targets - constant
        weights, _ = dpotrs(factor, residual, lower=1)
        inverse, _ = dpotrs(factor, self.identity, lower=1)
        log_det = 2 * np.log(factor.diagonal()).sum()
        density = -(residual @ weights + log_det) / 2 - n * LOG_SQRT_2_PI
        density += self.prior.log_density(lengths).sum() + NOISE_PRIOR.log_density(noise)
        # d ln N / d theta = tr((w w' - (K + s I)^-1) dK / d theta) / 2
        outer = weights[:, None] * weights - inverse
        of_noise = outer.diagonal().sum() / 2 + NOISE_PRIOR.slope(noise)
        of_lengths = self.squares @ (outer * kernel).ravel() / (2 * lengths**3)
        of_lengths += self.prior.slope(lengths)
        gradient = np.array([of_noise, weights.sum(), *of_lengths])
        return -density / n, -gradient / n


class TwinModel:
    """The posterior at some hyperparameters."""

    def __init__(
        self, rows: Array, results: Array, noise: float, constant: float, lengthscales: Array
    ) -> None:
        self.rows, self.constant, self.lengthscales = rows, constant, lengthscales
        self.shift, self.deviation = standardisation(results)
        covariance = self.kernel(rows) + noise * np.eye(len(rows))
        self.factor = cho_factor(covariance, lower=True, check_finite=False)
        residual = (results - self.shift) / self.deviation - constant
        self.weights = cho_solve(self.factor, residual, check_finite=False)

    def kernel(self, points: Array) -> Array:
        """Return k of the rows, a line each, and some points, a column each."""
        left, right = self.rows / self.lengthscales, points / self.lengthscales
        squares = (left**2).sum(1)[:, None] + (right**2).sum(1) - 2 * left @ right.T
        value: Array = np.exp(-0.5 * np.maximum(squares, 0))
        return value

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Return the posterior mean and standard deviation of f in the units of the results."""
        cross = self.kernel(points)
        mean = self.constant + cross.T @ self.weights
        inner = solve_triangular(self.factor[0], cross, lower=True, check_finite=False)
        variance = (1 - (inner**2).sum(0)) * self.deviation**2
        sd = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        return self.shift + self.deviation * mean, sd


def standardisation(results: Array) -> tuple[float, float]:
    """Return what is subtracted from the results, and what they are divided by."""
    deviation = float(results.std(ddof=1)) if len(results) > 1 else 1.0
    return float(results.mean()), deviation if deviation >= LEAST_DEVIATION else 1.0


def fit_twin(rows: Array, results: Array, generator: np.random.Generator) -> TwinModel:
    """Return the model at the most probable hyperparameters."""
    shift, deviation = standardisation(results)
    likelihood = MarginalLikelihood(rows, (results - shift) / deviation)
    start = likelihood.start
    for _ in range(ATTEMPTS):
        fit = minimize(
            likelihood.value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=likelihood.bounds,
        )
        # Status 1 is the limit of iterations, which BoTorch takes for a success.
        if fit.status in (0, 1):
            break
        logs = generator.standard_normal(len(start))
        start = np.exp(likelihood.prior.location + likelihood.prior.scale * logs)
        start[0] = math.exp(NOISE_LOCATION + NOISE_SCALE * logs[0])
        start[1] = 0.0
    return TwinModel(rows, results, float(fit.x[0]), float(fit.x[1]), fit.x[2:])


def log_expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Return ln E max(f - best, 0) of f ~ N(mean, sd^2).

    ln sd + ln(phi(u) + u Phi(u)),  u = (mean - best) / sd
    """
    u = (mean - best) / sd
    upper = np.maximum(u, -1.0)
    near = np.log(np.exp(-(upper**2) / 2 - LOG_SQRT_2_PI) + upper * ndtr(upper))
    # Far below the best both terms nearly cancel: phi(u) (1 - exp(w)) with w < 0 does not.
    lower = np.clip(u, -1e6, -1.0)
    w = np.log(erfcx(-lower / math.sqrt(2)) * -lower) + math.log(math.pi / 2) / 2
    far = np.where(u > -1e6, np.log(-np.expm1(w)), -2 * np.log(np.maximum(-u, 1.0)))
    value: Array = np.log(sd) + np.where(u > -1, near, far - u**2 / 2 - LOG_SQRT_2_PI)
    return value


class Twin:
    """LogEI over unmeasured rows, after some random ones."""

    def __init__(self, instance: PoolInstance, first: int) -> None:
        self.instance = instance
        self.history = History(instance)
        self.first = instance.different_arms(first)
        self.generator = instance.streams.generator(PRIOR_DRAWS)
        self.model: TwinModel | None = None

    def ask(self, t: int, pending: Sequence[Any]) -> int:
        if t <= len(self.first):
            return self.first[t - 1]
        rows = self.unmeasured(pending)
        return rows[int(self.scores(rows).argmax())]

    def unmeasured(self, pending: Sequence[Any] = ()) -> list[int]:
        taken = {*self.history.moves, *pending}
        everything = range(len(self.instance.domain))
        return [row for row in everything if row not in taken] or list(everything)

    def scores(self, rows: Sequence[int]) -> Array:
        """Return the logarithm of the expected improvement of some rows."""
        model = self.fit()
        best = (
            max(self.history.rewards)
            if self.instance.noise == 0
            else float(model.predict(self.history.rows)[0].max())
        )
        return log_expected_improvement(*model.predict(self.instance.domain.points[rows]), best)

    def tell(self, move: int, result: float) -> None:
        self.history.add(move, result)
        self.model = None

    def recommend(self) -> Any:
        if self.instance.noise == 0:
            return self.history.best_mean()
        return self.history.moves[int(self.fit().predict(self.history.rows)[0].argmax())]

    def fit(self) -> TwinModel:
        """Return the model of all results so far; it is fitted once for each result."""
        if self.model is None:
            results = np.array(self.history.rewards)
            self.model = fit_twin(self.history.rows, results, self.generator)
        return self.model


def make(instance: PoolInstance, first: int) -> Twin:
    return Twin(instance, first)
