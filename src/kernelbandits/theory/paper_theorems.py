"""The paper's theorems one by one: each bounds C1 from below, C2 and C3 from above, and Theorem 1 does the rest.

What they lose against the exact constants of `constants` is what their proofs give away; the orders are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kernelbandits import checks
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Discrete,
    Exploration,
    Gaussian,
    Law,
    Mixture,
    PointMass,
)
from kernelbandits.theory.bounds import RegretBound, regret_bound
from kernelbandits.theory.information import InformationGain
from kernelbandits.theory.law_constants import Constants, constants, counted_laws

CENTRED = 1e-12
"""A mean so small beside the values of a law is zero up to rounding."""
ROOT = math.sqrt(2 * math.log(2))
"""E|w| <= sigma sqrt(2 ln 2) for a sub-Gaussian w."""

METHOD = "bounded by the theorem"

Found = TypeVar("Found")
Bounded = tuple[float, float, float]
"""A lower bound of C1 and upper bounds of C2 and C3."""


@dataclass(frozen=True)
class Theorem:
    """What a theorem says of a law or schedule over T rounds."""

    name: str
    statement: str
    """The order of the regret, and where the print is wrong."""
    constants: Constants
    """C1 from below, C2 and C3 from above, as the theorem bounds them."""
    holds: bool = True
    """Whether its bounds of the constants are true of every law it speaks of."""
    dimension: int | None = None
    """d of the linear theorem, which brings its own information gain."""

    def bound(
        self,
        horizon: int,
        information_gain: float | InformationGain | None = None,
        *,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        largest: float = 1.0,
        delta: float | None = None,
    ) -> RegretBound:
        """Theorem 1 with the constants of this one; the linear theorem puts its own gain in the place of that given."""
        gain = (
            information_gain
            if self.dimension is None
            else linear_gain(self.dimension, horizon, ridge, largest)
        )
        checks.needs(gain is not None, f"theorem {self.name}", "an information gain", gain)
        return regret_bound(
            self.constants,
            horizon,
            gain,  # type: ignore[arg-type]
            noise_scale=noise_scale,
            norm_bound=norm_bound,
            ridge=ridge,
            largest=largest,
            delta=delta,
        )


def theorems(exploration: Any, horizon: int, dimension: int | None = None) -> tuple[Theorem, ...]:
    """Those that apply to a law or schedule over T rounds; with a dimension, the linear one too.

    Of a schedule that looks at the history only those that hold for any law.
    """
    rounds = checks.whole("theorems", "horizon", horizon)
    exact = constants(exploration, rounds)
    found = [Theorem("generic", GENERIC, exact)]
    if dimension is not None:
        found.append(
            Theorem(
                "linear", LINEAR, exact, dimension=checks.whole("theorems", "dimension", dimension)
            )
        )
    if Exploration.of(exploration).uses_history:
        return tuple(found)
    return (*found, *special(counted_laws(exploration, rounds).keys(), rounds))


def special(laws: Collection[Law], horizon: int) -> Iterator[Theorem]:
    """The theorems on families of laws, where all the laws belong to one."""
    for name, statement, holds, bounded in SPECIAL:
        numbers = bounded(laws, horizon)
        if numbers is not None:
            c1, c2, c3 = numbers
            method = METHOD if holds else f"{METHOD}, which is false (E5)"
            yield Theorem(name, statement, Constants(c1, c2, c3, c3, horizon, method=method), holds)


def linear_gain(dimension: int, horizon: int, ridge: float = 1.0, largest: float = 1.0) -> float:
    """gamma_T <= (d / 2) ln(1 + T sup k / (d ridge)), for the determinant is greatest with equal eigenvalues."""
    d, rounds = (
        checks.whole("linear_gain", "dimension", dimension),
        checks.whole("linear_gain", "horizon", horizon),
    )
    ratio = checks.positive("linear_gain", "largest", largest) / checks.positive(
        "linear_gain", "ridge", ridge
    )
    return d / 2 * math.log1p(rounds / d * ratio)


def sub_gaussian_scale(law: Law) -> float | None:
    """sigma with E exp(s w) <= exp(s^2 sigma^2 / 2) for all s, where it is known; then the mean is zero.

    N(0, scale^2) has its scale, a law on [a, b] at most (b - a) / 2 (Hoeffding), a mixture the greatest of its parts.
    """
    if isinstance(law, Gaussian):
        return law.scale if law.mean == 0 else None
    if isinstance(law, Mixture):
        return greatest(every(sub_gaussian_scale, [part for _, part in parts(law)]))
    if not isinstance(law, Discrete):
        return None
    low, high = law.atoms[0], law.atoms[-1]
    return (high - low) / 2 if abs(law.expectation) <= CENTRED * max(abs(low), abs(high)) else None


def parts(law: Mixture) -> list[tuple[float, Law]]:
    """The laws that are drawn at all, each with its chance."""
    return [
        (chance, part) for chance, part in zip(law.weights, law.laws, strict=True) if chance > 0
    ]


def every(rule: Callable[[Law], Found | None], laws: Iterable[Law]) -> list[Found] | None:
    """What the rule finds for each law; None as soon as it finds nothing for one."""
    found: list[Found] = []
    for law in laws:
        one = rule(law)
        if one is None:
            return None
        found.append(one)
    return found


def greatest(scales: list[float] | None) -> float | None:
    return None if scales is None else max(scales)


def shares(law: Law) -> tuple[float, float] | None:
    """(rho, sigma) of a law that is 1 with chance rho and else drawn from a sub-Gaussian one; None for others."""
    if is_one(law) or isinstance(law, Bernoulli):
        return law.optimism, 0.0
    if isinstance(law, Mixture):
        chances, drawn = zip(*parts(law), strict=True)
        return averaged(chances, every(shares, drawn))
    scale = sub_gaussian_scale(law)
    return None if scale is None else (0.0, scale)


def averaged(
    chances: Sequence[float], pairs: list[tuple[float, float]] | None
) -> tuple[float, float] | None:
    """Of a mixture of such laws: the mean of their rho, the greatest sigma."""
    if pairs is None:
        return None
    rho = math.fsum(chance * pair[0] for chance, pair in zip(chances, pairs, strict=True))
    return rho, max(sigma for _, sigma in pairs)


def is_one(law: Law) -> bool:
    return isinstance(law, PointMass) and law.c == 1


def maximal(scale: float, horizon: int) -> float:
    """sigma sqrt(2 ln 2T) >= E max_t |w_t| for w_t sub-Gaussian."""
    return scale * math.sqrt(2 * math.log(2 * horizon))


def sub_gaussian(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C2 <= max sigma sqrt(2 ln 2T),  C3 <= (max sigma / min C1) (sqrt(2 ln 2T) + sqrt(2 ln 2))"""
    scale = greatest(every(sub_gaussian_scale, laws))
    return None if scale is None else from_scale(scale, min(law.optimism for law in laws), horizon)


def from_scale(scale: float, optimism: float, horizon: int) -> Bounded:
    most = maximal(scale, horizon)
    return optimism, most, (most + scale * ROOT) / optimism


def mixture_parts(laws: Collection[Law]) -> list[tuple[float, float]] | None:
    """(rho_t, sigma_t) of all rounds, where one is a mixture and every rho_t > 0."""
    pairs = every(shares, laws) if any(isinstance(law, Mixture) for law in laws) else None
    return pairs if pairs and min(rho for rho, _ in pairs) > 0 else None


def mixture_printed(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C3 <= (1 / min rho) (1 + max sigma (sqrt(2 ln 2T) + sqrt(2 ln 2))), which forgets that E|w| >= rho."""
    pairs = mixture_parts(laws)
    if pairs is None:
        return None
    least, scale = min(rho for rho, _ in pairs), max(sigma for _, sigma in pairs)
    return least, 1 + maximal(scale, horizon), (1 + maximal(scale, horizon) + scale * ROOT) / least


def mixture(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C3 <= (1 / min rho) (1 + max sigma sqrt(2 ln 2T)) + max_t (rho_t + (1 - rho_t) sigma_t sqrt(2 ln 2)) / rho_t"""
    pairs = mixture_parts(laws)
    if pairs is None:
        return None
    least, most = (
        min(rho for rho, _ in pairs),
        1 + maximal(max(sigma for _, sigma in pairs), horizon),
    )
    return (
        least,
        most,
        most / least + max(1 + (1 - rho) / rho * sigma * ROOT for rho, sigma in pairs),
    )


def simple_ucb(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C1 = 1, C2 <= 1, C3 <= 2"""
    certain = all(is_one(law) or (isinstance(law, Bernoulli) and law.p == 1) for law in laws)
    return (1.0, 1.0, 2.0) if certain else None


def simple_bernoulli(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C2 <= 1, C3 <= 1 / min p + 1"""
    if not all(is_one(law) or isinstance(law, Bernoulli) for law in laws):
        return None
    least = min(law.optimism for law in laws)
    return (least, 1.0, 1 / least + 1) if least < 1 else None


def simple_gaussian(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C1 >= z / (z^2 + 1) exp(-z^2 / 2) / sqrt(2 pi), z = 1 / sigma: 0.120985 for N(0, 1), where C1 = 0.158655."""
    scales = every(
        lambda law: law.scale if isinstance(law, Gaussian) and law.mean == 0 else None, laws
    )
    least = lower_tail(1 / min(scales)) if scales else 0.0
    return from_scale(max(scales), least, horizon) if scales and least > 0 else None


def lower_tail(z: float) -> float:
    """z / (z^2 + 1) phi(z) <= P(Z > z), Z standard normal."""
    return z / (z * z + 1) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def simple_categorical(laws: Collection[Law], horizon: int) -> Bounded | None:
    """C2 <= 1, C3 <= 2 / min p^(K), for the values i/K, each of them possible"""
    chances = every(last_chance, laws)
    return None if chances is None else (min(chances), 1.0, 2 / min(chances))


def last_chance(law: Law) -> float | None:
    """p^(K) of a categorical law on 1/K, ..., K/K with all chances positive; None for any other law."""
    if not isinstance(law, Categorical) or min(law.weights) == 0:
        return None
    return law.weights[-1] if law.values == Categorical(law.weights).values else None


GENERIC = (
    "O((C2 + C3) sqrt(T gamma) (R sqrt(gamma) + D) + sqrt(T gamma) (R sqrt(gamma + ln TD) + D)), any law with C1 > 0; "
    "its proof has a gap at delta = 1/2 (E1-E3)"
)
LINEAR = "O((C2 + C3) sqrt(T d log T) (R sqrt(d log T) + D)) for the linear kernel, by gamma_T <= (d/2) ln(1 + T/d)"
SUB_GAUSSIAN = (
    "O(max sigma / min C1 sqrt(T log T gamma) (R sqrt(gamma) + D)) for sub-Gaussian laws of mean zero; "
    "the appendix prints log T for sqrt(log T) (E4)"
)
MIXTURE = "O(1 / min rho (1 + sqrt(log T) max sigma) sqrt(T gamma) (R sqrt(gamma) + D)) for 1 with chance rho, else SG"
SIMPLE_GAUSSIAN = (
    "O(max sigma / min C1 sqrt(T log T gamma) (R sqrt(gamma) + D)), by C1 >= z phi(z)/(z^2 + 1), z = 1/sigma; "
    "0.121 for N(0, 1), the paper's law"
)
BY_LEAST = "O(1 / {} sqrt(T gamma) (R sqrt(gamma) + D + R sqrt(ln TD)))"

Rule = Callable[[Collection[Law], int], Bounded | None]
SPECIAL: tuple[tuple[str, str, bool, Rule], ...] = (
    ("sub-Gaussian", SUB_GAUSSIAN, True, sub_gaussian),
    (
        "mixture, as printed",
        f"{MIXTURE}; the bound of C3 in its proof is false (E5)",
        False,
        mixture_printed,
    ),
    (
        "mixture",
        f"{MIXTURE}; C3 bounded with the part of E|w| that the proof forgets (E5)",
        True,
        mixture,
    ),
    ("Simple-UCB", "O(sqrt(T gamma) (R sqrt(gamma) + D + R sqrt(ln TD)))", True, simple_ucb),
    ("Simple-Bernoulli", BY_LEAST.format("min p"), True, simple_bernoulli),
    ("Simple-Gaussian", SIMPLE_GAUSSIAN, True, simple_gaussian),
    ("Simple-Categorical", BY_LEAST.format("min p^(K)"), True, simple_categorical),
)
"""Name, statement, whether its constants are true, and the constants."""
