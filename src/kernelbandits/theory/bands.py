"""Confidence bands for f from the data of any policy.

A band answers four questions: which arms may be the best, how much an arm loses at most, whether
one may stop, and how much all rounds so far have lost at most. All answers rest on one confidence
set,

    S_t = { f : |y - f(x)|^2 <= y' (I + K / ridge)^-1 y + R^2 (L + 2 ln(1/delta)),  ||f|| <= D }.

For R-sub-Gaussian noise and ||f|| <= D, f lies in S_t for all t at once with probability 1 - delta,
however the arms were chosen (Ville's inequality for a Gaussian mixture of scale R^2 / ridge; Flynn
& Reeb 2024). So everything a band states holds on that one event: for every arm, for every pair of
arms, in every round, and therefore also at a stopping time that depends on the data.
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
from kernelbandits.posterior import PointPosterior, Posterior, Spectrum
from kernelbandits.theory.duality import Dual, noise_radius

METHODS = ("auto", "cmm", "amm", "whitehouse")
LARGEST_EXACT = 1_000_000
"""`auto` uses the exact set up to this product of arms and distinct arms played: about 0.3 s."""
FEW_ARMS = 1000
"""Up to so many arms, nearly all bands are exact sets."""
LEAST_RIDGE = 1e-8
"""The least ridge of `narrow_ridge`; smaller ones cost digits and gain nothing."""
PAIRS = 1_000_000
"""At most this many pairs of arms are compared.

Beyond it, only the arms with the largest lower bounds are compared with all that may be best.
"""
ROUNDING = 1e-9
"""Differences below this share of D sqrt(k) count as rounding."""
NAMED = 10
"""A sentence names at most this many arms."""


Bounds = tuple[Array, Array, Array, Indices]
"""lower, upper, regrets, candidates"""


@dataclass(frozen=True, eq=False)
class Band:
    """A band for f on all arms, in all rounds at once, with probability at least 1 - delta.

    lower <= f <= upper; `confidence_band` computes it.

    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.RBF(0.2), [[0.0], [0.5], [1.0]], ridge=0.05)
    >>> for arm in 5 * [0, 1, 2]:
    ...     posterior.update(arm, [0.1, 0.9, 0.2][arm])
    >>> band = kb.theory.confidence_band(posterior, noise_scale=0.1, norm_bound=1.5)
    >>> band.lower.round(2), band.upper.round(2)
    (array([-0.11,  0.69, -0.01]), array([0.31, 1.11, 0.41]))
    >>> band.candidates, band.recommended_arm, band.covers([0.1, 0.9, 0.2])
    (array([1]), 1, True)
    """

    lower: Array
    """For each arm a lower bound of f."""
    upper: Array
    """For each arm an upper bound of f."""
    regrets: Array
    """For each arm an upper bound of max f - f(arm)."""
    candidates: Indices
    """The arms that may be best; the best arm is one of them."""
    regret_certificate: float
    """An upper bound of the regret of all rounds so far, sum_t max f - f(x_t).

    It holds however the arms were chosen.
    """
    method: str
    """"cmm", "amm" or "whitehouse"."""
    delta: float
    """The probability with which f may leave the band."""
    noise_scale: float
    """R, as it was given."""
    norm_bound: float
    """D, as it was given."""
    contradiction: bool = False
    """Whether no f fits the rewards, so that noise_scale or norm_bound is too small for them.

    If both are right, this has probability at most delta. The band is then |f| <= D sqrt(k), which
    holds without any data, and one may not stop.
    """

    @property
    def recommended_arm(self) -> int:
        """The arm with the smallest bound on its loss, the first of them on ties."""
        return int(self.regrets.argmin())

    def simple_regret(self, arm: int) -> float:
        """Return an upper bound of max f - f(arm)."""
        number = checks.whole("simple_regret", "arm", arm, least=0)
        checks.needs(
            number < len(self.regrets), "simple_regret", f"an arm below {len(self.regrets)}", arm
        )
        return float(self.regrets[number])

    def may_stop(self, tolerance: float) -> bool:
        """Tell whether the recommended arm is proved to lose at most the tolerance."""
        allowed = checks.nonnegative("may_stop", "tolerance", tolerance)
        return not self.contradiction and self.simple_regret(self.recommended_arm) <= allowed

    def covers(self, values: Any) -> bool:
        """Tell whether these values of f, one for each arm, lie between the bounds on all arms."""
        given = checks.points("covers", [values])[0]
        checks.needs(
            len(given) == len(self.lower), "covers", f"{len(self.lower)} values", len(given)
        )
        slack = ROUNDING * np.abs((self.lower, self.upper)).max()
        return bool(((self.lower - slack <= given) & (given <= self.upper + slack)).all())

    def sentence(self, names: Iterable[Any] | None = None) -> str:
        """Say in words what the band proves. Arms are numbered, unless names are given."""
        numbers = [str(arm) for arm in range(len(self.lower))]
        called = numbers if names is None else self._read_names(names)
        if self.contradiction:
            return self._describe_contradiction()
        arm = self.recommended_arm
        best = f"arm {arm}" if names is None else called[arm]
        loss = format_rounded_up(self.simple_regret(arm))
        return (
            f"With probability at least {self._format_chance()}: {self._describe_best(called)}; "
            f"playing {best} loses at most {loss}."
        )

    def _read_names(self, names: Any) -> list[str]:
        listed = isinstance(names, Iterable) and not isinstance(names, str)
        called = [str(name) for name in names] if listed else []
        checks.needs(len(called) == len(self.lower), "sentence", f"{len(self.lower)} names", names)
        return called

    def _format_chance(self) -> str:
        return f"{1 - self.delta:.6g}" if self.delta >= 1e-6 else f"1 - {self.delta:g}"

    def _describe_best(self, called: list[str]) -> str:
        candidates = [called[arm] for arm in self.candidates]
        n = len(self.lower)
        if len(candidates) == 1:
            return f"the best arm is {candidates[0]}"
        if len(candidates) == n:
            return f"any of the {n} arms may be the best"
        listed = f" ({', '.join(candidates)})" if len(candidates) <= NAMED else ""
        return f"the best arm is among {len(candidates)} of {n}{listed}"

    def _describe_contradiction(self) -> str:
        stated = f"noise_scale {self.noise_scale:g} or norm_bound {self.norm_bound:g}"
        return (
            f"The rewards contradict {stated}: no function fits them. If both were right, this "
            f"would have probability at most {self.delta:g}. Only |f| <= D sqrt(k) remains; use a "
            "larger noise_scale or norm_bound."
        )


def format_rounded_up(value: float) -> str:
    """Write three digits of a number, rounded up, so that "loses at most" stays true."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2) if value > 0 else 1.0
    return f"{math.ceil(value / unit) * unit:.3g}"


def confidence_band(
    posterior: Posterior,
    noise_scale: float,
    norm_bound: float,
    delta: float = 0.1,
    method: str = "auto",
) -> Band:
    """Return the band that follows from the rewards told to a posterior.

    It does not matter which policy chose the arms, or when you stop. The methods are

        whitehouse   mean +- (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd
        amm          mean +- sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2) sd, always narrower
        cmm          the smallest and the largest f(x) over the set S_t, narrower still
        auto         cmm where it takes at most about 0.3 s, else amm

    and each is cut at |f| <= D sqrt(k).

    Parameters
    ----------
    posterior
        `policy.posterior`, or a `kb.posterior.ArmPosterior` to which you told the rewards. Every
        reward must have been told as it was measured. The posteriors of TGP-UCB, which truncates
        rewards, and of R-GP-UCB, which forgets them, are refused. Its ridge may be any number that
        was fixed beforehand; R^2 / D^2 to 10 R^2 / D^2 gave narrow bands in our trials.
    noise_scale
        R: the noise is R-sub-Gaussian, for instance Gaussian with standard deviation R.
    norm_bound
        D: the RKHS norm of f is at most D.
    delta
        The probability that the band may be wrong.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.theory import confidence_band
    >>> posterior = kb.posterior.ArmPosterior(kb.RBF(0.2), [[0.0], [0.5], [1.0]], ridge=0.05)
    >>> for arm, reward in 8 * [(0, 0.1), (1, 0.9), (2, 0.2)]:
    ...     posterior.update(arm, reward)
    >>> band = confidence_band(posterior, noise_scale=0.1, norm_bound=1.5)
    >>> print(band.sentence())
    With probability at least 0.9: the best arm is 1; playing arm 1 loses at most 0.
    >>> band.may_stop(0.01)
    True

    The 24 rounds have lost 8 (0.9 - 0.1) + 8 (0.9 - 0.2) = 12, and this much is proved:

    >>> round(band.regret_certificate, 1)
    15.4
    """
    owner = "confidence_band"
    noise = checks.scale(owner, "noise_scale", noise_scale)
    norm = checks.scale(owner, "norm_bound", norm_bound)
    chance = checks.inside(owner, "delta", delta)
    chosen = checks.one_of(owner, "method", method, METHODS)
    check_posterior(posterior)
    if chosen == "auto":
        chosen = "cmm" if len(posterior.mean) * len(posterior.support) <= LARGEST_EXACT else "amm"
    confidence_set = ConfidenceSet.of(posterior, noise, norm, chance, chosen)
    prior_limit = norm * np.sqrt(posterior.prior)
    found = derive_bounds(confidence_set, prior_limit)
    if found is None:
        everything = np.arange(len(prior_limit))
        losses = prior_limit + prior_limit.max()
        regret = float(posterior.counts @ losses)
        found = (-prior_limit, prior_limit, losses, everything)
        band = Band(*found, regret, chosen, chance, noise, norm, contradiction=True)
        warnings.warn(band.sentence(), TheoryWarning, stacklevel=2)
        return band
    regret = confidence_set.bound_regret(*found)
    return Band(*found, regret, chosen, chance, noise, norm)


def narrow_ridge(noise_scale: float, norm_bound: float, arms: int) -> float:
    """Return a ridge at which bands were narrow in trials; it is fixed before the first reward.

    It is 10 R^2 / D^2 for the exact set. For many arms, where the exact set takes too long, it is
    100 R^2 / D^2: at a small ridge the ellipsoid of "amm" is wide on arms that were never played.
    """
    factor = 10.0 if arms <= FEW_ARMS else 100.0
    return max(LEAST_RIDGE, factor * (noise_scale / norm_bound) ** 2)


def derive_bounds(confidence_set: ConfidenceSet, prior_limit: Array) -> Bounds | None:
    """Return lower, upper, regrets and candidates, or None if no f is left in the set.

    Each of these bounds holds for every f of the set, so bounds that cross prove it empty.
    """
    low, high = confidence_set.band()
    lower = np.maximum(low, -prior_limit)
    upper = np.minimum(high, prior_limit)
    slack = ROUNDING * float(prior_limit.max())
    if (lower > upper + slack).any():
        return None
    regrets, candidates = compare_arms(confidence_set, lower, upper, slack)
    return (np.minimum(lower, upper), upper, regrets, candidates) if len(candidates) else None


def compare_arms(
    confidence_set: ConfidenceSet, lower: Array, upper: Array, slack: float
) -> tuple[Array, Indices]:
    """Return how much each arm loses at most, and the arms that no other arm beats for certain.

    The best arm is one of the latter, so only differences to them count as losses.
    """
    rivals = (upper >= lower.max() - slack).nonzero()[0]
    arms = np.argsort(-lower, kind="stable")[: max(1, PAIRS // len(rivals))]
    gaps = np.minimum(confidence_set.gaps(arms, rivals), upper[rivals] - lower[arms, None])
    gaps[arms[:, None] == rivals] = 0.0
    # The exact differences cost a minimisation for each rival, so they are computed only for the
    # arm that will be recommended.
    row = int(gaps.max(1).argmin())
    gaps[row] = np.minimum(gaps[row], confidence_set.exact_gaps(int(arms[row]), rivals))
    best = (gaps >= -slack).all(0)
    regrets = upper[rivals[best]].max(initial=-math.inf) - lower
    regrets[arms] = gaps[:, best].max(1, initial=0.0)
    return regrets, rivals[best]


def check_posterior(posterior: Any) -> None:
    """Refuse posteriors for which S_t is not proved.

    The proof needs rewards of weight one, a fixed f, and a ridge that does not depend on the
    rewards.
    """
    on_box = "a posterior over a list of arms (a maximum over points of a box is not one over the "
    on_box += "box; tell the rewards to a kb.posterior.ArmPosterior on the points to be compared)"
    checks.needs(
        not isinstance(posterior, PointPosterior),
        "confidence_band",
        on_box,
        type(posterior).__name__,
    )
    proved = getattr(posterior, "has_bands", False) and posterior.complete
    needed = (
        "a posterior of all rewards, none faded, of an f that does not drift, at a fixed ridge "
        "(policy.posterior)"
    )
    checks.needs(proved, "confidence_band", needed, type(posterior).__name__)


@dataclass(frozen=True)
class ConfidenceSet:
    """{ f : |f - mean|^2_V + ridge ||f - mean||^2 <= ridge width^2 }.

    V f = sum of f(x) k(., x) over the arms played. By Cauchy-Schwarz |f - mean| <= width sd, for
    values of f and for differences of two values.
    """

    posterior: Posterior
    width: float
    exact: Dual | None = None
    """S_t, which is a subset."""

    @classmethod
    def of(
        cls, posterior: Posterior, noise_scale: float, norm_bound: float, delta: float, method: str
    ) -> ConfidenceSet:
        radius = noise_radius(posterior.log_det, noise_scale, delta)
        share = radius / math.sqrt(posterior.ridge)
        width = norm_bound + share if method == "whitehouse" else math.hypot(norm_bound, share)
        if method != "cmm":
            return cls(posterior, width)
        exact = Dual.of(Spectrum.of_posterior(posterior), posterior, radius, norm_bound)
        return cls(posterior, width, exact)

    def band(self) -> tuple[Array, Array]:
        """Return the smallest and the largest f(x) on each arm."""
        if self.exact is not None:
            return self.exact.band()
        reach = self.width * self.posterior.sd
        return self.posterior.mean - reach, self.posterior.mean + reach

    def gaps(self, arms: Indices, rivals: Indices) -> Array:
        """Return upper bounds of the differences f(j) - f(i), an array (arms, rivals).

        f(j) - f(i) <= mean_j - mean_i + width sqrt(var_i + var_j - 2 cov_ij)
        """
        mean, variance = self.posterior.mean, self.posterior.variance
        between = self.posterior.arm_covariance(arms, rivals)
        square = variance[arms, None] + variance[rivals] - 2 * between
        gaps: Array = (
            mean[rivals] - mean[arms, None] + self.width * np.sqrt(np.maximum(square, 0.0))
        )
        return gaps

    def exact_gaps(self, arm: int, rivals: Indices) -> Array:
        """Return the largest f(j) - f(arm) over S_t; infinite where S_t is not used."""
        if self.exact is None:
            return np.full(len(rivals), math.inf)
        played, share = np.array([arm]), np.ones(1)
        return self._lead_over(self.exact, played, share).upper()[rivals]

    def bound_regret(
        self, lower: Array, upper: Array, regrets: Array, candidates: Indices
    ) -> float:
        """Return an upper bound of the regret of all T rounds, the least of those that hold.

        max_x T mean(x) - sum_i n_i mean(x_i) + width sd(T f(x) - sum_i n_i f(x_i))

        x runs through the candidates, of which the best arm is one. Where the band is cut,
        T upper(x) - sum_i n_i lower(x_i) and the sum of the losses of each round may be smaller.
        The exact maximum over S_t is mostly smaller still.
        """
        posterior, counts = self.posterior, self.posterior.counts
        rounds = int(counts.sum())
        if not rounds:
            return 0.0
        shared = posterior.history_covariance()
        lead = rounds * posterior.mean - counts @ posterior.mean
        square = rounds**2 * posterior.variance - 2 * rounds * shared + counts @ shared
        most = lead + self.width * np.sqrt(np.maximum(square, 0.0))
        most = np.minimum(most, rounds * upper - counts @ lower)
        if self.exact is not None:
            played = posterior.tally.played_arms
            dual = self._lead_over(self.exact, played, counts[played] / rounds)
            most = np.minimum(most, rounds * dual.upper_near_maximum())
        return max(0.0, float(min(most[candidates].max(), counts @ regrets)))

    def _lead_over(self, exact: Dual, arms: Indices, shares: Array) -> Dual:
        """Return the problem for f(x) - sum_i p_i f(x_i), the shares p adding up to 1."""
        return exact.against(arms, shares, squared_distances(self.posterior, arms, shares))


def squared_distances(posterior: Posterior, arms: Indices, shares: Array) -> Array:
    """Return the squared distance of each arm x to a mean of arms in the space of functions.

    |k(., x) - sum_i p_i k(., x_i)|^2
    """
    points = posterior.points
    between = posterior.kernel(points, points[arms]) @ shares
    return np.asarray(np.maximum(posterior.prior + shares @ between[arms] - 2 * between, 0.0))
