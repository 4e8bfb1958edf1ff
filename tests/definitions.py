"""The formulas of the package, written a second time by their definitions in dense linear algebra.

The tests `test_*_by_definition.py` compare the package with them. Nothing here uses the kernels,
posteriors, widths or policies of the package, so that an error there cannot hide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.verification.laws import WeightLaw, WeightSchedule

# Kernels

KernelFormula = Callable[[Array, Array], Array]
"""Two sets of points -> the matrix of k(x_i, z_j)."""


def distances(x: Array, z: Array) -> Array:
    """|x_i - z_j|."""
    return np.linalg.norm(x[:, None] - z[None], axis=2)


def rbf(lengthscale: float) -> KernelFormula:
    """exp(-r^2 / (2 l^2))."""
    return lambda x, z: np.exp(-((distances(x, z) / lengthscale) ** 2) / 2)


def matern(lengthscale: float) -> KernelFormula:
    """(1 + s + s^2 / 3) exp(-s), s = sqrt(5) r / l: nu = 5/2."""

    def formula(x: Array, z: Array) -> Array:
        s = math.sqrt(5) * distances(x, z) / lengthscale
        return (1 + s + s**2 / 3) * np.exp(-s)

    return formula


def linear(x: Array, z: Array) -> Array:
    """x . z"""
    return x @ z.T


def function_of_norm(
    norm: float, kernel: KernelFormula, points: Array, centres: Array, coefficients: Array
) -> Array:
    """D f / ||f|| at the points, f = sum_i a_i k(., z_i), ||f||^2 = a' K a."""
    size = math.sqrt(coefficients @ kernel(centres, centres) @ coefficients)
    return kernel(points, centres) @ coefficients * (norm / size)


# The posterior


@dataclass(frozen=True)
class ExactPosterior:
    """What is known of f on all arms."""

    mean: Array
    cov: Array
    log_det: float
    """L = log det(I + K_t / ridge)"""

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.cov), 0.0))


def posterior(gram: Array, arms: Sequence[int], rewards: Array, ridge: float) -> ExactPosterior:
    """mean = k_t' (K_t + ridge I)^-1 y,   cov = k - k_t' (K_t + ridge I)^-1 k_t."""
    cross, played = gram[list(arms)], gram[np.ix_(arms, arms)]
    weights = np.linalg.solve(played + ridge * np.eye(len(arms)), cross)
    return ExactPosterior(weights.T @ rewards, gram - cross.T @ weights, log_det(gram, arms, ridge))


def posterior_from_counts(
    gram: Array, arms: Sequence[int], rewards: Array, ridge: float
) -> ExactPosterior:
    """The same from the distinct arms u, their counts n and mean rewards.

    K_t + ridge I becomes K_u + ridge / n, a much smaller matrix after many rounds.
    """
    counts = np.bincount(np.asarray(arms, dtype=int), minlength=len(gram))
    distinct = np.flatnonzero(counts)
    n, cross = counts[distinct], gram[distinct]
    averages = np.bincount(np.asarray(arms, dtype=int), rewards, len(gram))[distinct] / n
    weights = np.linalg.solve(cross[:, distinct] + np.diag(ridge / n), cross)
    stretched = np.sqrt(n)[:, None] * cross[:, distinct] * np.sqrt(n) / ridge
    size = float(np.linalg.slogdet(np.eye(len(n)) + stretched)[1])
    return ExactPosterior(weights.T @ averages, gram - cross.T @ weights, size)


def log_det(gram: Array, arms: Sequence[int], ridge: float) -> float:
    """log det(I + K_t / ridge)."""
    return float(np.linalg.slogdet(np.eye(len(arms)) + gram[np.ix_(arms, arms)] / ridge)[1])


def self_normalised_square(gram: Array, arms: Sequence[int], noise: Array, ridge: float) -> float:
    """||(V + ridge I)^-1/2 S||^2 = e' K (K + ridge I)^-1 e, S = sum_s e_s k(., x_s)."""
    played = gram[np.ix_(arms, arms)]
    return float(noise @ played @ np.linalg.solve(played + ridge * np.eye(len(arms)), noise))


def least_loss(gram: Array, arms: Sequence[int], rewards: Array, ridge: float) -> float:
    """ridge y' (K_t + ridge I)^-1 y = min over f of |y - f(x)|^2 + ridge ||f||^2."""
    played = gram[np.ix_(arms, arms)]
    return ridge * float(rewards @ np.linalg.solve(played + ridge * np.eye(len(arms)), rewards))


def sample_deviation(
    gram: Array, arms: Sequence[int], ridge: float, prior: Array, normals: Array
) -> Array:
    """g - K_u (K_u + ridge / n)^-1 (g_u + sqrt(ridge / n) e_u): a sample of f - mean (Matheron).

    g is a sample of the prior, u are the distinct arms played, n their counts, e normals.
    """
    distinct, counts = np.unique(np.asarray(arms, dtype=int), return_counts=True)
    noisy = prior[distinct] + np.sqrt(ridge / counts) * normals[distinct]
    matrix = gram[np.ix_(distinct, distinct)] + np.diag(ridge / counts)
    return prior - gram[:, distinct] @ np.linalg.solve(matrix, noisy)


def greedy_gains(gram: Array, ridge: float, rounds: int) -> list[float]:
    """Upper bounds of gamma_t for t = 0..rounds from greedy points, by `bound_from_points`.

    Each point is the one with the largest variance after those before it.
    """
    arms: list[int] = []
    for _ in range(rounds):
        known = posterior_from_counts(gram, arms, np.zeros(len(arms)), ridge)
        arms.append(int(known.cov.diagonal().argmax()))
    return [bound_from_points(gram, arms[:t], ridge) for t in range(rounds + 1)]


def bound_from_points(gram: Array, arms: list[int], ridge: float) -> float:
    """The least of four bounds of gamma_t; G = (1/2) log det(I + K / ridge) of t greedy points.

    G / (1 - 1/e),  (t/2) ln(1 + max k / ridge),  (n/2) ln(1 + t max k / (n ridge)),
    and the tangent of the concave gain at these points, at its highest corner.
    """
    t, top = len(arms), float(gram.diagonal().max()) / ridge
    known = posterior_from_counts(gram, arms, np.zeros(t), ridge)
    slopes, gain = known.cov.diagonal() / ridge / 2, known.log_det / 2
    tangent = gain + t * slopes.max() - slopes[arms].sum() if t else 0.0
    ranks = len(gram) / 2 * math.log1p(t * top / len(gram))
    return float(min(gain / (1 - math.exp(-1)), tangent, t / 2 * math.log1p(top), ranks))


# Confidence widths

WidthFormula = Callable[[float], float]
"""L -> the factor of the sd."""
TimedWidthFormula = Callable[[int, float], float]
"""(t, L) -> the same, for a rule that depends on the round."""


def every_round(width: WidthFormula) -> TimedWidthFormula:
    return lambda t, log_det: width(log_det)


def noise_part(noise_scale: float, ridge: float, delta: float, log_det: float) -> float:
    """(R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)."""
    return noise_scale / math.sqrt(ridge) * math.sqrt(2 * math.log(1 / delta) + log_det)


def self_normalised(
    noise_scale: float, norm_bound: float, ridge: float, delta: float
) -> WidthFormula:
    """D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)."""
    return lambda log_det: norm_bound + noise_part(noise_scale, ridge, delta, log_det)


def improved(noise_scale: float, norm_bound: float, delta: float) -> WidthFormula:
    """D + R sqrt(2 (L/2 + 1 + ln(1/delta)))."""
    inverse = 1 + math.log(1 / delta)
    return lambda log_det: norm_bound + noise_scale * math.sqrt(2 * (log_det / 2 + inverse))


def mixture(noise_scale: float, norm_bound: float, ridge: float, delta: float) -> WidthFormula:
    """sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2)."""
    return lambda log_det: math.hypot(noise_part(noise_scale, ridge, delta, log_det), norm_bound)


def finite_arms(arms: int, delta: float) -> TimedWidthFormula:
    """sqrt(2 ln(n t^2 pi^2 / (6 delta))), whatever L."""
    return lambda t, log_det: math.sqrt(2 * math.log(arms * t**2 * math.pi**2 / (6 * delta)))


def agnostic(
    norm_bound: float, delta: float, gains: Sequence[float], scale: float
) -> TimedWidthFormula:
    """sqrt(scale (2 D^2 + 300 gamma_t ln^3(t/delta))), gains = gamma_0, gamma_1, ..."""
    return lambda t, log_det: math.sqrt(
        scale * (2 * norm_bound**2 + 300 * gains[t] * math.log(t / delta) ** 3)
    )


def improved_by_gain(
    noise_scale: float, norm_bound: float, delta: float, gains: Sequence[float]
) -> TimedWidthFormula:
    """D + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta)))."""
    inverse = 1 + math.log(1 / delta)
    return lambda t, log_det: norm_bound + noise_scale * math.sqrt(2 * (gains[t - 1] + inverse))


# The rule


def best_arm(index: Array, tie: float | None = None) -> int:
    """The arm with the largest index; arms within 1e-12 max(1, |largest|) of it are tied.

    Of tied arms the lowest is taken, or with a uniform number `tie` the one where it falls.
    """
    largest = float(index.max())
    tied = np.flatnonzero(index >= largest - 1e-12 * max(1.0, abs(largest)))
    return int(tied[0 if tie is None else int(tie * len(tied))])


@dataclass(frozen=True)
class IndexRule:
    """Play the maximiser of mean + w_t width(t, L) sd, all from the rounds before t."""

    ridge: float
    width: TimedWidthFormula
    law: Callable[[int], WeightLaw]


@dataclass(frozen=True)
class ExactRound:
    """One round by the definition, after whatever was played before."""

    known: ExactPosterior
    weight: float
    width: float

    def index(self, weight: float | None = None) -> Array:
        """mean + w width sd, for the weight of the round or another one."""
        weight = self.weight if weight is None else weight
        return self.known.mean + weight * self.width * self.known.sd


def replay_rounds(
    rule: IndexRule, gram: Array, arms: Sequence[int], rewards: Array, uniforms: Iterable[float]
) -> Iterator[ExactRound]:
    """Rounds 1..T by the definition, each after the history that was played."""
    for t, u in enumerate(uniforms, start=1):
        known = posterior_from_counts(gram, arms[: t - 1], rewards[: t - 1], rule.ridge)
        yield ExactRound(known, rule.law(t).quantile(float(u)), rule.width(t, known.log_det))


# Constants and bounds by quadrature

NODES = 50_000
Tail = tuple[Callable[[Array], Array], tuple[float, ...]]
"""u -> P(Z > u), and where it jumps."""


def tail_of_size(law: WeightLaw, scale: float) -> Tail:
    """Z = |w| / scale."""
    jumps = tuple(abs(mean) / scale for _, mean, sd in law.parts if not sd)
    return lambda u: 1 - law.at_most(scale * u) + law.below(-scale * u), jumps


def tail_of_excess(law: WeightLaw, scale: float) -> Tail:
    """Z = (w - E w)^+ / scale."""
    jumps = tuple(max(mean - law.mean, 0.0) / scale for _, mean, sd in law.parts if not sd)
    return lambda u: 1 - law.at_most(law.mean + scale * u), jumps


def expected_maximum(groups: Sequence[tuple[int, Tail]]) -> float:
    """int 1 - prod P(Z <= u)^n du, by the midpoint rule between the jumps, up to u = 100."""
    breaks = sorted({0.0, 100.0, *(place for _, (_, jumps) in groups for place in jumps)})
    total = 0.0
    for low, high in pairwise(breaks):
        u = low + (high - low) * (np.arange(NODES) + 0.5) / NODES
        logs = [n * np.log1p(-np.minimum(tail(u), 1 - 1e-15)) for n, (tail, _) in groups]
        total += float(-np.expm1(np.sum(logs, axis=0)).mean() * (high - low))
    return total


@cache
def constants(schedule: WeightSchedule, horizon: int) -> tuple[float, float, float]:
    """C2 = E max|w|, C3 = E max|w| / C1 + max E|w| / C1, C3' = E max (w - E w)^+ / C1."""
    groups = [(round(share * horizon), law) for share, law in schedule.parts]
    c2 = expected_maximum([(n, tail_of_size(law, 1.0)) for n, law in groups])
    scaled = expected_maximum([(n, tail_of_size(law, law.optimism)) for n, law in groups])
    mean = max(expected_maximum([(1, tail_of_size(law, law.optimism))]) for _, law in groups)
    excess = expected_maximum([(n, tail_of_excess(law, law.optimism)) for n, law in groups])
    return c2, scaled + mean, excess


def regret_bounds(
    schedule: WeightSchedule, horizon: int, gain: float, noise_scale: float, norm_bound: float
) -> tuple[float, float]:
    """The repaired bound (1 + C2 + C3) g sqrt(4 T gamma) + 2 D T delta, and the tightened one.

    The tightened bound has C3' for C3 and 2 / ln 2 for 4.
    """
    c2, c3, c3_tight = constants(schedule, horizon)
    delta = min(1.0, 1 / (2 * norm_bound * horizon))
    width = norm_bound + noise_scale * math.sqrt(2 * gain + 2 * math.log(1 / delta))
    leftover = 2 * norm_bound * horizon * delta
    repaired = (1 + c2 + c3) * width * math.sqrt(4 * horizon * gain) + leftover
    tight = (1 + c2 + c3_tight) * width * math.sqrt(2 * horizon * gain / math.log(2)) + leftover
    return repaired, tight


def lower_bound_pulls(weights: Iterable[float], d: int, gap: float) -> Array:
    """The pulls of every arm on the instance of Theorem 2, without posterior, kernel or matrix.

    index_i = gap n_1 1{i = 1} / (1 + n_1)
              + w (sqrt(2 ln 2 + sum_j ln(1 + n_j)) + 1) / sqrt(1 + n_i)
    """
    n, first = np.zeros(d), np.eye(d)[0]
    for weight in weights:
        width = math.sqrt(2 * math.log(2) + float(np.log1p(n).sum())) + 1
        n[best_arm(first * gap * n / (1 + n) + weight * width / np.sqrt(1 + n))] += 1
    return n
