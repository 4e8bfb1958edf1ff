"""The definitions in dense linear algebra: what the judges predict with, and nothing of the engine in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erfc, erfcinv

from kernelbandits.checks import Array

Alike = Callable[[Array, Array], Array]
"""k: two sets of points -> the array of k(x_i, z_j)."""
Arms = Sequence[int]


def distances(x: Array, z: Array) -> Array:
    """|x_i - z_j|."""
    lengths: Array = np.linalg.norm(x[:, None] - z[None], axis=2)
    return lengths


def rbf(lengthscale: float) -> Alike:
    """exp(-r^2 / (2 l^2))."""
    return lambda x, z: np.exp(-((distances(x, z) / lengthscale) ** 2) / 2)


def matern(lengthscale: float) -> Alike:
    """(1 + s + s^2 / 3) exp(-s), s = sqrt(5) r / l: nu = 5/2."""

    def alike(x: Array, z: Array) -> Array:
        s = math.sqrt(5) * distances(x, z) / lengthscale
        return (1 + s + s**2 / 3) * np.exp(-s)

    return alike


def linear(x: Array, z: Array) -> Array:
    """x . z"""
    return x @ z.T


def function_of_norm(
    norm: float, alike: Alike, points: Array, centres: Array, coefficients: Array
) -> Array:
    """D f / ||f|| at the points, f = sum_i a_i k(., z_i), ||f||^2 = a' K a."""
    size = math.sqrt(coefficients @ alike(centres, centres) @ coefficients)
    return alike(points, centres) @ coefficients * (norm / size)


@dataclass(frozen=True)
class Estimate:
    """What is known of f on all arms."""

    mean: Array
    cov: Array
    log_det: float
    """L = log det(I + K_t / ridge)"""

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.cov), 0.0))


def estimate(gram: Array, arms: Arms, rewards: Array, ridge: float) -> Estimate:
    """mean = k_t' (K_t + ridge I)^-1 y and cov = k - k_t' (K_t + ridge I)^-1 k_t, from the arms played."""
    cross, played = gram[list(arms)], gram[np.ix_(arms, arms)]
    weights = np.linalg.solve(played + ridge * np.eye(len(arms)), cross)
    return Estimate(weights.T @ rewards, gram - cross.T @ weights, log_det(gram, arms, ridge))


def collapsed(gram: Array, arms: Arms, rewards: Array, ridge: float) -> Estimate:
    """The same from the distinct arms u, their counts n and mean rewards: K_t + ridge I becomes K_u + ridge / n."""
    counts = np.bincount(np.asarray(arms, dtype=int), minlength=len(gram))
    distinct = np.flatnonzero(counts)
    n, cross = counts[distinct], gram[distinct]
    averages = np.bincount(np.asarray(arms, dtype=int), rewards, len(gram))[distinct] / n
    weights = np.linalg.solve(cross[:, distinct] + np.diag(ridge / n), cross)
    stretched = np.sqrt(n)[:, None] * cross[:, distinct] * np.sqrt(n) / ridge
    size = float(np.linalg.slogdet(np.eye(len(n)) + stretched)[1])
    return Estimate(weights.T @ averages, gram - cross.T @ weights, size)


def log_det(gram: Array, arms: Arms, ridge: float) -> float:
    """log det(I + K_t / ridge)."""
    return float(np.linalg.slogdet(np.eye(len(arms)) + gram[np.ix_(arms, arms)] / ridge)[1])


def self_normalised_square(gram: Array, arms: Arms, noise: Array, ridge: float) -> float:
    """||(V + ridge I)^-1/2 S||^2 = e' K (K + ridge I)^-1 e, S = sum_s e_s k(., x_s)."""
    played = gram[np.ix_(arms, arms)]
    return float(noise @ played @ np.linalg.solve(played + ridge * np.eye(len(arms)), noise))


def noise_part(noise_scale: float, ridge: float, delta: float, log_det: float) -> float:
    """(R / sqrt(ridge)) sqrt(2 ln(1/delta) + L): what the noise adds to a width."""
    return noise_scale / math.sqrt(ridge) * math.sqrt(2 * math.log(1 / delta) + log_det)


Width = Callable[[float], float]
"""L -> what multiplies the sd."""
TimedWidth = Callable[[int, float], float]
"""t, L -> the same, of a rule that looks at the round."""


def steady(width: Width) -> TimedWidth:
    """The same in every round."""
    return lambda t, log_det: width(log_det)


def self_normalised(noise_scale: float, norm_bound: float, ridge: float, delta: float) -> Width:
    """D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)."""
    return lambda log_det: norm_bound + noise_part(noise_scale, ridge, delta, log_det)


def improved(noise_scale: float, norm_bound: float, delta: float) -> Width:
    """D + R sqrt(2 (L/2 + 1 + ln(1/delta)))."""
    return lambda log_det: (
        norm_bound + noise_scale * math.sqrt(2 * (log_det / 2 + 1 + math.log(1 / delta)))
    )


def mixed(noise_scale: float, norm_bound: float, ridge: float, delta: float) -> Width:
    """sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2)."""
    return lambda log_det: math.hypot(noise_part(noise_scale, ridge, delta, log_det), norm_bound)


def finite(arms: int, delta: float) -> TimedWidth:
    """sqrt(2 ln(n t^2 pi^2 / (6 delta))), whatever L."""
    return lambda t, log_det: math.sqrt(2 * math.log(arms * t**2 * math.pi**2 / (6 * delta)))


def agnostic(norm_bound: float, delta: float, gains: Sequence[float], scale: float) -> TimedWidth:
    """sqrt(scale (2 D^2 + 300 gamma_t ln^3(t/delta))), gains = gamma_0, gamma_1, ..."""
    return lambda t, log_det: math.sqrt(
        scale * (2 * norm_bound**2 + 300 * gains[t] * math.log(t / delta) ** 3)
    )


def improved_by(
    noise_scale: float, norm_bound: float, delta: float, gains: Sequence[float]
) -> TimedWidth:
    """D + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta)))."""
    inverse = 1 + math.log(1 / delta)
    return lambda t, log_det: norm_bound + noise_scale * math.sqrt(2 * (gains[t - 1] + inverse))


def greedy_gains(gram: Array, ridge: float, rounds: int) -> list[float]:
    """G_t / (1 - 1/e), G_t = (1/2) log det(I + K / ridge) of t points, each of the greatest variance: t = 0..rounds."""
    arms: list[int] = []
    for _ in range(rounds):
        arms.append(int(collapsed(gram, arms, np.zeros(len(arms)), ridge).cov.diagonal().argmax()))
    halves = [collapsed(gram, arms[:t], np.zeros(t), ridge).log_det / 2 for t in range(rounds + 1)]
    return [half / (1 - math.exp(-1)) for half in halves]


def loss(gram: Array, arms: Arms, rewards: Array, ridge: float) -> float:
    """ridge y' (K_t + ridge I)^-1 y = min over f of |y - f(x)|^2 + ridge ||f||^2."""
    played = gram[np.ix_(arms, arms)]
    return ridge * float(rewards @ np.linalg.solve(played + ridge * np.eye(len(arms)), rewards))


@dataclass(frozen=True)
class Weights:
    """A law of w made of normal parts: (p, m, s) is N(m, s^2) with chance p, the number m itself where s = 0."""

    parts: tuple[tuple[float, float, float], ...]

    def quantile(self, u: float) -> float:
        """The part in whose share of [0, 1) u falls, at the place of u in that share."""
        for chance, middle, scale in self.parts[:-1]:
            if u < chance:
                return placed(middle, scale, u / chance)
            u -= chance
        chance, middle, scale = self.parts[-1]
        return placed(middle, scale, u / chance)

    def at_most(self, x: Array) -> Array:
        """P(w <= x)."""
        return np.asarray(
            sum(p * (normal_cdf((x - m) / s) if s else x >= m) for p, m, s in self.parts)
        )

    def below(self, x: Array) -> Array:
        """P(w < x)."""
        return np.asarray(
            sum(p * (normal_cdf((x - m) / s) if s else x > m) for p, m, s in self.parts)
        )

    @property
    def optimism(self) -> float:
        """C1 = P(w >= 1)."""
        return 1 - float(self.below(np.array(1.0)))

    @property
    def negative(self) -> float:
        """P(w < 0)."""
        return float(self.below(np.array(0.0)))

    @property
    def mean(self) -> float:
        return sum(p * m for p, m, _ in self.parts)

    @property
    def mean_abs(self) -> float:
        """E|w|, of N(m, s^2) s sqrt(2/pi) exp(-m^2 / (2 s^2)) + m (1 - 2 Phi(-m/s))."""
        return sum(p * (folded(m, s) if s else abs(m)) for p, m, s in self.parts)

    @property
    def variance(self) -> float:
        return sum(p * (m**2 + s**2) for p, m, s in self.parts) - self.mean**2


def folded(middle: float, scale: float) -> float:
    """E|N(m, s^2)|."""
    bell = scale * math.sqrt(2 / math.pi) * math.exp(-((middle / scale) ** 2) / 2)
    return bell + middle * (1 - 2 * float(normal_cdf(np.array(-middle / scale))))


def placed(middle: float, scale: float, u: float) -> float:
    """m + s Phi^-1(u)."""
    return middle - scale * math.sqrt(2) * float(erfcinv(2 * u)) if scale else middle


def normal_cdf(z: Array) -> Array:
    """Phi(z)."""
    return np.asarray(erfc(-z / math.sqrt(2)) / 2)


def atoms(chances: Sequence[float], values: Sequence[float]) -> Weights:
    """w = values[i] with chances[i]."""
    return Weights(tuple((p, value, 0.0) for p, value in zip(chances, values, strict=True)))


def normal(mean: float = 0.0, scale: float = 1.0) -> Weights:
    return Weights(((1.0, mean, scale),))


def best(index: Array, tie: float | None = None) -> int:
    """The arm of the greatest index; of those within 1e-12 max(1, |best|) the lowest, or the one where u falls."""
    greatest = float(index.max())
    tied = np.flatnonzero(index >= greatest - 1e-12 * max(1.0, abs(greatest)))
    return int(tied[0 if tie is None else int(tie * len(tied))])


@dataclass(frozen=True)
class Rule:
    """Play the maximiser of mean + w_t width(t, L) sd, all from the rounds before t."""

    ridge: float
    width: TimedWidth
    law: Callable[[int], Weights]


@dataclass(frozen=True)
class Moment:
    """One round as the definition has it, after whatever was played before."""

    estimate: Estimate
    weight: float
    width: float

    def index(self, weight: float | None = None) -> Array:
        """mean + w width sd, for the weight drawn or another one."""
        return (
            self.estimate.mean
            + (self.weight if weight is None else weight) * self.width * self.estimate.sd
        )


def replay(
    rule: Rule, gram: Array, arms: Arms, rewards: Array, uniforms: Array
) -> Iterator[Moment]:
    """Rounds 1..T by the definition, each after the history that was played."""
    for t, u in enumerate(uniforms, start=1):
        known = collapsed(gram, arms[: t - 1], rewards[: t - 1], rule.ridge)
        yield Moment(known, rule.law(t).quantile(float(u)), rule.width(t, known.log_det))


def deviation(gram: Array, arms: Arms, ridge: float, prior: Array, normals: Array) -> Array:
    """g - K_u (K_u + ridge / n)^-1 (g_u + sqrt(ridge / n) e_u): a draw of f - mean from one of the prior, g.

    u are the distinct arms played, n how often.
    """
    distinct, counts = np.unique(np.asarray(arms, dtype=int), return_counts=True)
    noisy = prior[distinct] + np.sqrt(ridge / counts) * normals[distinct]
    matrix = gram[np.ix_(distinct, distinct)] + np.diag(ridge / counts)
    return prior - gram[:, distinct] @ np.linalg.solve(matrix, noisy)
