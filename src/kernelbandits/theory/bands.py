"""Confidence bands of f from the data of any policy: which arms may be best, what an arm loses, whether one may stop.

    S_t = { f : |y - f(x)|^2 <= y' (I + K / ridge)^-1 y + R^2 (L + 2 ln(1/delta)),  ||f|| <= D }

For R-sub-Gaussian noise and ||f|| <= D, f lies in S_t for all t at once with chance 1 - delta, however the arms were
chosen (Ville's inequality for a Gaussian mixture of scale R^2 / ridge; Flynn & Reeb 2024). All that is said here holds
on that one event: of every arm, of every pair, in every round, and so at a time of stopping that looks at the data.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, TheoryWarning
from kernelbandits.posterior import (
    ArmPosterior,
    DriftingPosterior,
    Factorisation,
    LinearPosterior,
    PoolPosterior,
    Posterior,
    Spectrum,
)
from kernelbandits.theory.duality import Dual, noise_radius

METHODS = ("auto", "cmm", "amm", "whitehouse")
LARGEST_EXACT = 1_000_000
"""Arms times distinct arms played, up to which `auto` takes the exact set: some 0.3 s."""
PAIRS = 1_000_000
"""So many pairs of arms are compared at most; beyond, those of the greatest lower bounds with all that may be best."""
ROUNDING = 1e-9
"""Of D sqrt(k): differences that are rounding."""
NAMED = 10
"""A sentence names so many arms at most."""


Bounds = tuple[Array, Array, Array, Indices]
"""lower, upper, regrets, candidates"""


@dataclass(frozen=True, eq=False)
class Band:
    """lower <= f <= upper on all arms, with chance at least 1 - delta in all rounds at once, and what follows of it."""

    lower: Array
    upper: Array
    regrets: Array
    """For each arm an upper bound of max f - f(arm)."""
    candidates: Indices
    """The arms that may be best; the best one is among them."""
    method: str
    """cmm | amm | whitehouse"""
    delta: float
    noise_scale: float
    norm_bound: float
    contradiction: bool = False
    """No f fits: noise_scale or norm_bound is too small for these rewards (chance at most delta if both are right).

    Nothing is said then but |f| <= D sqrt(k), and one may not stop.
    """

    @property
    def recommended(self) -> int:
        """The arm that loses least at worst, the lowest on ties."""
        return int(self.regrets.argmin())

    def simple_regret(self, arm: int) -> float:
        """An upper bound of max f - f(arm)."""
        number = checks.whole("simple_regret", "arm", arm, least=0)
        checks.needs(
            number < len(self.regrets), "simple_regret", f"an arm below {len(self.regrets)}", arm
        )
        return float(self.regrets[number])

    def may_stop(self, tolerance: float) -> bool:
        """Whether the recommended arm is proved to lose at most this."""
        allowed = checks.nonnegative("may_stop", "tolerance", tolerance)
        return not self.contradiction and self.simple_regret(self.recommended) <= allowed

    def covers(self, values: Any) -> bool:
        """Whether these values of f lie between the bounds on all arms."""
        given = checks.points("covers", [values])[0]
        checks.needs(
            len(given) == len(self.lower), "covers", f"{len(self.lower)} values", len(given)
        )
        slack = ROUNDING * np.abs((self.lower, self.upper)).max()
        return bool(((self.lower - slack <= given) & (given <= self.upper + slack)).all())

    def sentence(self, names: Iterable[Any] | None = None) -> str:
        """What is known, in words; arms are called by their numbers unless names are given."""
        numbers = [str(arm) for arm in range(len(self.lower))]
        called = numbers if names is None else self._names(names)
        if self.contradiction:
            return self._refusal()
        best = called[self.recommended] if names is not None else f"arm {self.recommended}"
        loss = rounded_up(self.simple_regret(self.recommended))
        return f"With chance at least {self._chance()}: {self._best(called)}; playing {best} loses at most {loss}."

    def _names(self, names: Any) -> list[str]:
        listed = isinstance(names, Iterable) and not isinstance(names, str)
        called = [str(name) for name in names] if listed else []
        checks.needs(len(called) == len(self.lower), "sentence", f"{len(self.lower)} names", names)
        return called

    def _chance(self) -> str:
        return f"{1 - self.delta:.6g}" if self.delta >= 1e-6 else f"1 - {self.delta:g}"

    def _best(self, called: list[str]) -> str:
        found, n = [called[arm] for arm in self.candidates], len(self.lower)
        if len(found) == 1:
            return f"the best arm is {found[0]}"
        if len(found) == n:
            return f"any of the {n} arms may be the best"
        listed = f" ({', '.join(found)})" if len(found) <= NAMED else ""
        return f"the best arm is among {len(found)} of {n}{listed}"

    def _refusal(self) -> str:
        stated = f"noise_scale {self.noise_scale:g} or norm_bound {self.norm_bound:g}"
        return (
            f"The rewards contradict {stated}: no function fits, which would have chance at most {self.delta:g} "
            "if both were right; nothing is said beyond |f| <= D sqrt(k)."
        )


def rounded_up(value: float) -> str:
    """Three digits, and no less."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2) if value > 0 else 1.0
    return f"{math.ceil(value / unit) * unit:.3g}"


def confidence_band(
    posterior: Posterior,
    noise_scale: float,
    norm_bound: float,
    delta: float = 0.1,
    method: str = "auto",
) -> Band:
    """The band after the rewards that a posterior has learnt, whoever chose the arms (`policy.posterior`).

    whitehouse   mean +- (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd
    amm          mean +- sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2) sd, always narrower
    cmm          the least and the greatest f(x) over the set S_t, narrower still
    auto         cmm where it takes some 0.3 s at most, else amm

    each met with |f| <= D sqrt(k). The posterior must have learnt every reward as it came: that of TGP-UCB, which knows
    truncated ones, and that of R-GP-UCB, which forgets, are refused; tell the rewards to a
    `kb.posterior.ArmPosterior` of your own.
    Its ridge may be any number fixed beforehand; R^2 / D^2 to 10 R^2 / D^2 gave narrow bands where it was tried.
    """
    owner = "confidence_band"
    noise, norm = (
        checks.scale(owner, "noise_scale", noise_scale),
        checks.scale(owner, "norm_bound", norm_bound),
    )
    chance, chosen = (
        checks.inside(owner, "delta", delta),
        checks.one_of(owner, "method", method, METHODS),
    )
    check_posterior(posterior)
    if chosen == "auto":
        chosen = "cmm" if len(posterior.mean) * len(posterior.support) <= LARGEST_EXACT else "amm"
    known, sure = (
        ConfidenceSet.of(posterior, noise, norm, chance, chosen),
        norm * np.sqrt(posterior.prior),
    )
    found = concluded(known, sure)
    lower, upper, regrets, candidates = found or (
        -sure,
        sure,
        sure + sure.max(),
        np.arange(len(sure)),
    )
    band = Band(
        lower, upper, regrets, candidates, chosen, chance, noise, norm, contradiction=found is None
    )
    if band.contradiction:
        warnings.warn(band.sentence(), TheoryWarning, stacklevel=2)
    return band


def concluded(known: ConfidenceSet, sure: Array) -> Bounds | None:
    """lower, upper, regrets and candidates; nothing where no f is left, for each of these bounds holds of every f."""
    low, high = known.band()
    lower, upper, slack = (
        np.maximum(low, -sure),
        np.minimum(high, sure),
        ROUNDING * float(sure.max()),
    )
    if (lower > upper + slack).any():
        return None
    regrets, candidates = compared(known, lower, upper, slack)
    return (np.minimum(lower, upper), upper, regrets, candidates) if len(candidates) else None


def compared(
    known: ConfidenceSet, lower: Array, upper: Array, slack: float
) -> tuple[Array, Indices]:
    """What each arm loses at most, and the arms that may be best: none of them is beaten by another for certain.

    The best arm is one of those, so that only they count for what an arm loses.
    """
    rivals = (upper >= lower.max() - slack).nonzero()[0]
    arms = np.argsort(-lower, kind="stable")[: max(1, PAIRS // len(rivals))]
    gaps = np.minimum(known.gaps(arms, rivals), upper[rivals] - lower[arms, None])
    gaps[arms[:, None] == rivals] = 0.0
    row = int(gaps.max(1).argmin())
    gaps[row] = np.minimum(gaps[row], known.exact_gaps(int(arms[row]), rivals))
    best = (gaps >= -slack).all(0)
    regrets = upper[rivals[best]].max(initial=-math.inf) - lower
    regrets[arms] = gaps[:, best].max(1, initial=0.0)
    return regrets, rivals[best]


def check_posterior(posterior: Any) -> None:
    """The set S_t is proved for rewards of weight one, a fixed f and a ridge that does not look at the rewards."""
    still = not isinstance(posterior, DriftingPosterior) or posterior.rate == 0
    proved = (
        isinstance(posterior, (ArmPosterior, PoolPosterior, LinearPosterior))
        and still
        and posterior.complete
    )
    needed = "a posterior of all rewards, none faded, of an f that does not drift, at a fixed ridge (policy.posterior)"
    checks.needs(proved, "confidence_band", needed, type(posterior).__name__)


@dataclass(frozen=True)
class ConfidenceSet:
    """{ f : |f - mean|^2_V + ridge ||f - mean||^2 <= ridge width^2 }, V f = sum of f(x) k(., x) over the arms played;

    hence |f - mean| <= width sd, of values and of differences of two values (Cauchy-Schwarz).
    """

    posterior: Posterior
    width: float
    exact: Dual | None = None
    """S_t, which lies inside."""

    @classmethod
    def of(
        cls, posterior: Posterior, noise_scale: float, norm_bound: float, delta: float, method: str
    ) -> ConfidenceSet:
        radius = noise_radius(posterior.log_det, noise_scale, delta)
        share = radius / math.sqrt(posterior.ridge)
        width = norm_bound + share if method == "whitehouse" else math.hypot(norm_bound, share)
        exact = (
            Dual.of(Spectrum.of_posterior(posterior), posterior, radius, norm_bound)
            if method == "cmm"
            else None
        )
        return cls(posterior, width, exact)

    def band(self) -> tuple[Array, Array]:
        """The least and the greatest f(x)."""
        if self.exact is not None:
            return self.exact.band()
        reach = self.width * self.posterior.sd
        return self.posterior.mean - reach, self.posterior.mean + reach

    def gaps(self, arms: Indices, rivals: Indices) -> Array:
        """(arms, rivals): f(j) - f(i) <= mean_j - mean_i + width sqrt(var_i + var_j - 2 cov_ij)."""
        mean, variance = self.posterior.mean, self.posterior.variance
        square = (
            variance[arms, None] + variance[rivals] - 2 * covariance(self.posterior, arms, rivals)
        )
        gaps: Array = (
            mean[rivals] - mean[arms, None] + self.width * np.sqrt(np.maximum(square, 0.0))
        )
        return gaps

    def exact_gaps(self, arm: int, rivals: Indices) -> Array:
        """The greatest f(j) - f(arm) over S_t; infinite where S_t is not asked."""
        if self.exact is None:
            return np.full(len(rivals), math.inf)
        return self.exact.against(arm, squared_distances(self.posterior, arm)).upper()[rivals]


def covariance(posterior: Posterior, arms: Indices, others: Indices) -> Array:
    """cov(x, z) = k(x, z) - V(x)' V(z), from the counts where it is not held."""
    if isinstance(posterior, ArmPosterior):
        return posterior.cov[np.ix_(arms, others)]
    points, played, kernel = posterior.points, posterior.support, posterior.kernel
    known = points[played]
    if not len(played):
        return kernel(points[arms], points[others])
    exact = Factorisation.of(
        kernel(known, known),
        posterior.counts[played],
        posterior.tally.sums[played],
        posterior.ridge,
    )
    left, right = (exact.explained_root(kernel(points[some], known)) for some in (arms, others))
    return kernel(points[arms], points[others]) - left.T @ right


def squared_distances(posterior: Posterior, arm: int) -> Array:
    """|k(., x) - k(., arm)|^2 = k(x, x) + k(arm, arm) - 2 k(x, arm)"""
    prior, points = posterior.prior, posterior.points
    between = posterior.kernel(points, points[[arm]])[:, 0]
    return np.asarray(np.maximum(prior + prior[arm] - 2 * between, 0.0))
