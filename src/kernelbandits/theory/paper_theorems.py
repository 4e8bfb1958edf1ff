"""The paper's theorems one by one.

Each theorem bounds C1 from below and C2 and C3 from above for one family of laws; Theorem 1 turns
these constants into a regret bound. The orders are the paper's. The exact constants of `constants`
give smaller numbers, because the proofs use inequalities.
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
from kernelbandits.theory.law_constants import Constants, constants, count_laws

CENTRED = 1e-12
"""A mean below this share of the values of a law counts as zero: it is rounding."""
ROOT = math.sqrt(2 * math.log(2))
"""E|w| <= sigma sqrt(2 ln 2) for a sub-Gaussian w."""

METHOD = "bounded by the theorem"

Found = TypeVar("Found")
Bounded = tuple[float, float, float]
"""A lower bound of C1 and upper bounds of C2 and C3."""


@dataclass(frozen=True)
class Theorem:
    """What a theorem states for a law or schedule over T rounds.

    `theorems` lists those that apply.

    >>> import kernelbandits as kb
    >>> theorem = kb.theory.theorems(kb.Bernoulli(0.5), 10_000)[-1]
    >>> theorem.name, theorem.constants.c1, theorem.holds
    ('Simple-Bernoulli', 0.5, True)
    >>> bound = theorem.bound(10_000, 20.0, noise_scale=0.1, norm_bound=1.0)
    >>> round(bound.repaired)
    7932
    """

    name: str
    """How the theorem is called: "generic", "linear", or after the policy."""
    statement: str
    """The order of the regret, and the errata of the printed theorem."""
    constants: Constants
    """C1 from below, C2 and C3 from above, as the theorem bounds them."""
    holds: bool = True
    """Whether its bounds of the constants are true for every law of the family."""
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
        """Return the regret bounds of Theorem 1 with the constants of this theorem.

        The linear theorem uses its own information gain instead of the one given.
        """
        gain = information_gain
        if self.dimension is not None:
            gain = linear_gain(self.dimension, horizon, ridge, largest)
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
    """Return the theorems that apply to a law or schedule over T rounds.

    With a dimension the linear theorem is among them. For a schedule that depends on the history,
    only the theorems that hold for any law are returned.

    Examples
    --------
    >>> from kernelbandits import Bernoulli
    >>> from kernelbandits.theory import theorems
    >>> for theorem in theorems(Bernoulli(0.5), 1000, dimension=3):
    ...     print(theorem.name, theorem.constants.c3)
    generic 3.0
    linear 3.0
    Simple-Bernoulli 3.0
    """
    rounds = checks.whole("theorems", "horizon", horizon)
    exact = constants(exploration, rounds)
    found = [Theorem("generic", GENERIC, exact)]
    if dimension is not None:
        d = checks.whole("theorems", "dimension", dimension)
        found.append(Theorem("linear", LINEAR, exact, dimension=d))
    if Exploration.of(exploration).uses_history:
        return tuple(found)
    return (*found, *special_theorems(count_laws(exploration, rounds).keys(), rounds))


def special_theorems(laws: Collection[Law], horizon: int) -> Iterator[Theorem]:
    """Yield the theorems on families that contain all these laws."""
    for name, statement, holds, bounded in SPECIAL:
        numbers = bounded(laws, horizon)
        if numbers is not None:
            c1, c2, c3 = numbers
            method = METHOD if holds else f"{METHOD}, which is false (E5)"
            yield Theorem(name, statement, Constants(c1, c2, c3, c3, horizon, method=method), holds)


def linear_gain(dimension: int, horizon: int, ridge: float = 1.0, largest: float = 1.0) -> float:
    """Return an upper bound of gamma_T for the linear kernel in d dimensions.

    gamma_T <= (d / 2) ln(1 + T sup k / (d ridge))

    Of all matrices with this trace, the one with equal eigenvalues has the largest determinant.

    Examples
    --------
    >>> from kernelbandits.theory import linear_gain
    >>> round(linear_gain(3, 1000), 3)
    8.718
    """
    d = checks.whole("linear_gain", "dimension", dimension)
    rounds = checks.whole("linear_gain", "horizon", horizon)
    top = checks.positive("linear_gain", "largest", largest)
    ratio = top / checks.positive("linear_gain", "ridge", ridge)
    return d / 2 * math.log1p(rounds / d * ratio)


def sub_gaussian_scale(law: Law) -> float | None:
    """Return the sub-Gaussian scale sigma of a law; None where it is unknown.

    E exp(s w) <= exp(s^2 sigma^2 / 2) for all s

    Such laws have mean zero. For N(0, scale^2) sigma is the scale, for a law on [a, b] (b - a) / 2
    (Hoeffding), for a mixture the largest sigma of its parts.
    """
    if isinstance(law, Gaussian):
        return law.scale if law.mean == 0 else None
    if isinstance(law, Mixture):
        return largest_scale(
            apply_to_all(sub_gaussian_scale, [part for _, part in drawn_parts(law)])
        )
    if not isinstance(law, Discrete):
        return None
    low, high = law.atoms[0], law.atoms[-1]
    return (high - low) / 2 if abs(law.expectation) <= CENTRED * max(abs(low), abs(high)) else None


def drawn_parts(law: Mixture) -> list[tuple[float, Law]]:
    """Return the laws of a mixture of positive probability, each with its probability."""
    return [
        (chance, part) for chance, part in zip(law.weights, law.laws, strict=True) if chance > 0
    ]


def apply_to_all(rule: Callable[[Law], Found | None], laws: Iterable[Law]) -> list[Found] | None:
    """Apply the rule to each law; return None if the rule gives None for one of them."""
    found: list[Found] = []
    for law in laws:
        one = rule(law)
        if one is None:
            return None
        found.append(one)
    return found


def largest_scale(scales: list[float] | None) -> float | None:
    return None if scales is None else max(scales)


def share_and_scale(law: Law) -> tuple[float, float] | None:
    """Return (rho, sigma) of a law that is 1 with probability rho and else sigma-sub-Gaussian.

    For any other law return None.
    """
    if is_one(law) or isinstance(law, Bernoulli):
        return law.optimism, 0.0
    if isinstance(law, Mixture):
        chances, drawn = zip(*drawn_parts(law), strict=True)
        return average_shares(chances, apply_to_all(share_and_scale, drawn))
    scale = sub_gaussian_scale(law)
    return None if scale is None else (0.0, scale)


def average_shares(
    chances: Sequence[float], pairs: list[tuple[float, float]] | None
) -> tuple[float, float] | None:
    """Return (rho, sigma) of a mixture of such laws: the mean of all rho and the largest sigma."""
    if pairs is None:
        return None
    rho = math.fsum(chance * pair[0] for chance, pair in zip(chances, pairs, strict=True))
    return rho, max(sigma for _, sigma in pairs)


def is_one(law: Law) -> bool:
    return isinstance(law, PointMass) and law.c == 1


def bound_maximum(scale: float, horizon: int) -> float:
    """Return an upper bound of E max_t |w_t| for sub-Gaussian w_t.

    sigma sqrt(2 ln 2T)
    """
    return scale * math.sqrt(2 * math.log(2 * horizon))


def bound_sub_gaussian(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of sub-Gaussian laws.

    C2 <= max sigma sqrt(2 ln 2T),  C3 <= (max sigma / min C1) (sqrt(2 ln 2T) + sqrt(2 ln 2))
    """
    scale = largest_scale(apply_to_all(sub_gaussian_scale, laws))
    return (
        None
        if scale is None
        else bound_from_scale(scale, min(law.optimism for law in laws), horizon)
    )


def bound_from_scale(scale: float, optimism: float, horizon: int) -> Bounded:
    most = bound_maximum(scale, horizon)
    return optimism, most, (most + scale * ROOT) / optimism


def shares_of_schedule(laws: Collection[Law]) -> list[tuple[float, float]] | None:
    """Return (rho_t, sigma_t) of all laws, if one is a mixture and every rho_t > 0; else None."""
    pairs = (
        apply_to_all(share_and_scale, laws)
        if any(isinstance(law, Mixture) for law in laws)
        else None
    )
    return pairs if pairs and min(rho for rho, _ in pairs) > 0 else None


def bound_mixture_as_printed(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of mixtures as the paper prints it.

    C3 <= (1 / min rho) (1 + max sigma (sqrt(2 ln 2T) + sqrt(2 ln 2)))

    This is false (E5): the proof omits that E|w| >= rho.
    """
    pairs = shares_of_schedule(laws)
    if pairs is None:
        return None
    least, scale = min(rho for rho, _ in pairs), max(sigma for _, sigma in pairs)
    return (
        least,
        1 + bound_maximum(scale, horizon),
        (1 + bound_maximum(scale, horizon) + scale * ROOT) / least,
    )


def bound_mixture(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of mixtures, with the omitted term.

    C3 <= (1 / min rho) (1 + max sigma sqrt(2 ln 2T))
    + max_t (rho_t + (1 - rho_t) sigma_t sqrt(2 ln 2)) / rho_t
    """
    pairs = shares_of_schedule(laws)
    if pairs is None:
        return None
    least = min(rho for rho, _ in pairs)
    most = 1 + bound_maximum(max(sigma for _, sigma in pairs), horizon)
    largest_share = max(1 + (1 - rho) / rho * sigma * ROOT for rho, sigma in pairs)
    return least, most, most / least + largest_share


def bound_simple_ucb(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of UCB, whose weight is always 1.

    C1 = 1, C2 <= 1, C3 <= 2
    """
    certain = all(is_one(law) or (isinstance(law, Bernoulli) and law.p == 1) for law in laws)
    return (1.0, 1.0, 2.0) if certain else None


def bound_simple_bernoulli(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of Bernoulli laws.

    C2 <= 1, C3 <= 1 / min p + 1
    """
    if not all(is_one(law) or isinstance(law, Bernoulli) for law in laws):
        return None
    least = min(law.optimism for law in laws)
    return (least, 1.0, 1 / least + 1) if least < 1 else None


def bound_simple_gaussian(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of N(0, sigma^2), C1 by a lower bound of the normal tail.

    C1 >= z / (z^2 + 1) exp(-z^2 / 2) / sqrt(2 pi),  z = 1 / sigma

    For N(0, 1) the bound is 0.120985 and the exact value 0.158655.
    """
    scales = apply_to_all(
        lambda law: law.scale if isinstance(law, Gaussian) and law.mean == 0 else None, laws
    )
    least = lower_tail(1 / min(scales)) if scales else 0.0
    return bound_from_scale(max(scales), least, horizon) if scales and least > 0 else None


def lower_tail(z: float) -> float:
    """Return a lower bound of P(Z > z), Z standard normal.

    z / (z^2 + 1) phi(z) <= P(Z > z)
    """
    return z / (z * z + 1) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def bound_simple_categorical(laws: Collection[Law], horizon: int) -> Bounded | None:
    """Bound the constants of laws on 1/K, 2/K, ..., 1 with all probabilities positive.

    C2 <= 1, C3 <= 2 / min p^(K)
    """
    chances = apply_to_all(top_chance, laws)
    return None if chances is None else (min(chances), 1.0, 2 / min(chances))


def top_chance(law: Law) -> float | None:
    """Return p^(K) of a law on 1/K, ..., K/K with all probabilities positive; else None."""
    if not isinstance(law, Categorical) or min(law.weights) == 0:
        return None
    return law.weights[-1] if law.values == Categorical(law.weights).values else None


GENERIC = (
    "O((C2 + C3) sqrt(T gamma) (R sqrt(gamma) + D) "
    "+ sqrt(T gamma) (R sqrt(gamma + ln TD) + D)), any law with C1 > 0; "
    "its proof has a gap at delta = 1/2 (E1-E3)"
)
LINEAR = (
    "O((C2 + C3) sqrt(T d log T) (R sqrt(d log T) + D)) for the linear kernel, "
    "by gamma_T <= (d/2) ln(1 + T/d)"
)
SUB_GAUSSIAN = (
    "O(max sigma / min C1 sqrt(T log T gamma) (R sqrt(gamma) + D)) "
    "for sub-Gaussian laws of mean zero; "
    "the appendix prints log T for sqrt(log T) (E4)"
)
MIXTURE = (
    "O(1 / min rho (1 + sqrt(log T) max sigma) sqrt(T gamma) (R sqrt(gamma) + D)) "
    "for 1 with probability rho, else SG"
)
SIMPLE_GAUSSIAN = (
    "O(max sigma / min C1 sqrt(T log T gamma) (R sqrt(gamma) + D)), "
    "by C1 >= z phi(z)/(z^2 + 1), z = 1/sigma; "
    "0.121 for N(0, 1), the paper's law"
)
BY_LEAST = "O(1 / {} sqrt(T gamma) (R sqrt(gamma) + D + R sqrt(ln TD)))"

Rule = Callable[[Collection[Law], int], Bounded | None]
SPECIAL: tuple[tuple[str, str, bool, Rule], ...] = (
    ("sub-Gaussian", SUB_GAUSSIAN, True, bound_sub_gaussian),
    (
        "mixture, as printed",
        f"{MIXTURE}; the bound of C3 in its proof is false (E5)",
        False,
        bound_mixture_as_printed,
    ),
    (
        "mixture",
        f"{MIXTURE}; C3 bounded with the part of E|w| that the proof omits (E5)",
        True,
        bound_mixture,
    ),
    ("Simple-UCB", "O(sqrt(T gamma) (R sqrt(gamma) + D + R sqrt(ln TD)))", True, bound_simple_ucb),
    ("Simple-Bernoulli", BY_LEAST.format("min p"), True, bound_simple_bernoulli),
    ("Simple-Gaussian", SIMPLE_GAUSSIAN, True, bound_simple_gaussian),
    ("Simple-Categorical", BY_LEAST.format("min p^(K)"), True, bound_simple_categorical),
)
"""Name, statement, whether its bounds of the constants are true, and the bounds."""
