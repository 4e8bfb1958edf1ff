"""The interface of an exploration law; laws with finitely many values; the Gaussian law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from scipy.special import ndtr, ndtri

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.tails import UNKNOWN, area, evaluate_at_all, least_trusted_tail
from kernelbandits.streams import LEAST_UNIFORM

GREATEST_UNIFORM = 1 - 2.0**-53
"""The largest number below 1."""
MIDDLES = (np.arange(1 << 16) + 0.5) / (1 << 16)
"""Evenly spaced uniforms. Weights drawn at these give the mean of a law whose tail cannot be
integrated."""


Masses = tuple[Sequence[float], Sequence[float]]
"""The values of a law, and the probability of each."""


class Law:
    """The distribution of a weight w.

    A law of your own defines `draw`, the quantile function, and `cdf`. Everything else follows from
    these two; override what has a formula. `as_law` accepts frozen laws of scipy.stats as well.

    A law that is a frozen dataclass with a `spelling` and is imported in `exploration/__init__.py`
    has a name on the command line, in studies and in files. So has a schedule.

    >>> import kernelbandits as kb
    >>> class Uniform(kb.exploration.Law):
    ...     '''w uniform on [0, 2].'''
    ...
    ...     def draw(self, u):
    ...         return 2 * u
    ...
    ...     def cdf(self, w):
    ...         return min(max(w / 2, 0.0), 1.0)
    >>> law = Uniform()
    >>> law.optimism, law.draw(0.75), round(law.mean_abs, 3)
    (0.5, 1.5, 1.0)
    """

    spelling: ClassVar[str] = ""
    """The name that the command line knows the law by; "" for a law without one."""

    @overload
    def draw(self, u: float) -> float: ...
    @overload
    def draw(self, u: Array) -> Array: ...
    def draw(self, u: Any) -> Any:
        """Return the weight for a uniform number u in [0, 1): the quantile function at u."""
        raise NotImplementedError

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one weight with a numpy generator."""
        return self.draw(rng.random())

    def cdf(self, x: Any) -> Any:
        """Return P(w <= x) of a number x.

        A law may take arrays too. Integrals then call it once for many numbers, otherwise once for
        each.
        """
        raise NotImplementedError

    @property
    def mean_abs(self) -> float:
        """E|w|, the integral of P(|w| > u) over u > 0; infinite if it diverges."""
        found = area(self.tail_abs, map(abs, self.atoms), least_trusted_tail(self.tail))
        return (
            float(np.abs(evaluate_at_all(self.draw, MIDDLES)).mean())
            if found is UNKNOWN
            else found.value
        )

    @property
    def atoms(self) -> tuple[float, ...]:
        """The values that w takes with positive probability, in increasing order."""
        return ()

    @property
    def masses(self) -> Masses | None:
        """All values of w and their probabilities, or None if they cannot be listed."""
        return None

    @property
    def optimism(self) -> float:
        """C1 = P(w >= 1) = 1 - P(w < 1)."""
        return float(1.0 - self.cdf(math.nextafter(1.0, 0.0)))

    def cdf_abs(self, u: float) -> float:
        """Return P(|w| <= u) = P(w <= u) - P(w < -u)."""
        return self.cdf(u) - self.cdf(math.nextafter(-u, -math.inf)) if u >= 0 else 0.0

    @property
    def expectation(self) -> float:
        """E w, the integral of P(w > u) - P(w < -u) over u > 0."""
        above = area(
            self.tail, (value for value in self.atoms if value > 0), least_trusted_tail(self.tail)
        )
        below = area(lambda u: self.below(-u), (-value for value in self.atoms if value < 0))
        if UNKNOWN in (above, below):
            return float(evaluate_at_all(self.draw, MIDDLES).mean())
        return above.value - below.value

    def below(self, x: Any) -> Any:
        """Return P(w < x) of a number or an array x."""
        return self._cdf_at(np.nextafter(x, -math.inf))

    def tail(self, x: Any) -> Any:
        """Return P(w > x) of a number or an array x."""
        return 1.0 - self._cdf_at(x)

    def tail_abs(self, u: Any) -> Any:
        """Return P(|w| > u) = P(w > u) + P(w < -u) of a number or an array u."""
        return match_shape(u, np.where(np.less(u, 0), 1.0, self.tail(u) + self.below(-u)))

    def _cdf_at(self, x: Any) -> Any:
        """Return P(w <= x) of a number or an array x, also if `cdf` takes numbers only."""
        return evaluate_at_all(self.cdf, x) if np.ndim(x) else self.cdf(x)


class Discrete(Law):
    """A law with finitely many values: `support`, in increasing order, with their `chances`.

    >>> import kernelbandits as kb
    >>> law = kb.Categorical((0.2, 0.3, 0.5))
    >>> isinstance(law, kb.exploration.Discrete), law.support, law.chances
    (True, (0.3333333333333333, 0.6666666666666666, 1.0), (0.2, 0.3, 0.5))
    >>> law.optimism, [law.draw(u) for u in (0.1, 0.4, 0.9)]
    (0.5, [0.3333333333333333, 0.6666666666666666, 1.0])
    """

    @property
    def support(self) -> tuple[float, ...]:
        """The values, in increasing order."""
        raise NotImplementedError

    @property
    def chances(self) -> tuple[float, ...]:
        """The probability of each value."""
        raise NotImplementedError

    def draw(self, u: Any) -> Any:
        shares = np.cumsum(self.chances)
        values = np.asarray(self.support)[
            np.searchsorted(shares[:-1] / shares[-1], u, side="right")
        ]
        return values if np.ndim(u) else float(values)

    def cdf(self, x: float) -> float:
        return self._total(lambda value: value <= x)

    @property
    def optimism(self) -> float:
        return self._total(lambda value: value >= 1)

    def cdf_abs(self, u: float) -> float:
        return self._total(lambda value: abs(value) <= u)

    @property
    def mean_abs(self) -> float:
        return math.fsum(
            abs(value) * p for value, p in zip(self.support, self.chances, strict=True)
        )

    @property
    def expectation(self) -> float:
        return math.fsum(value * p for value, p in zip(self.support, self.chances, strict=True))

    @property
    def masses(self) -> Masses:
        return self.support, self.chances

    def below(self, x: Any) -> Any:
        return match_shape(x, np.greater.outer(x, self.support) @ np.array(self.chances))

    def tail(self, x: Any) -> Any:
        return match_shape(x, np.less.outer(x, self.support) @ np.array(self.chances))

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(
            dict.fromkeys(
                value for value, p in zip(self.support, self.chances, strict=True) if p > 0
            )
        )

    def _total(self, chosen: Callable[[float], bool]) -> float:
        """Return the probability of the chosen values; exactly 1 if all are chosen."""
        chances = [p for value, p in zip(self.support, self.chances, strict=True) if chosen(value)]
        return 1.0 if len(chances) == len(self.chances) else math.fsum(chances)


@dataclass(frozen=True)
class PointMass(Discrete):
    """The weight is always c. c = 1 is UCB, c = 0 is pure exploitation.

    >>> from kernelbandits import PointMass
    >>> PointMass(1.0).draw(0.3), PointMass(1.0).optimism
    (1.0, 1.0)
    """

    spelling: ClassVar[str] = "point-mass"

    c: float = 1.0
    """The weight."""

    def __post_init__(self) -> None:
        checks.number("PointMass", "c", self.c)

    def draw(self, u: Any) -> Any:
        return np.full(u.shape, float(self.c)) if isinstance(u, np.ndarray) else float(self.c)

    @property
    def support(self) -> tuple[float, ...]:
        return (float(self.c),)

    @property
    def chances(self) -> tuple[float, ...]:
        return (1.0,)


@dataclass(frozen=True)
class Bernoulli(Discrete):
    """The weight is 1 with probability p and 0 otherwise: explore as UCB does, or not at all.

    >>> from kernelbandits import Bernoulli
    >>> law = Bernoulli(0.25)
    >>> [law.draw(u) for u in (0.1, 0.74, 0.75, 0.99)]
    [0.0, 0.0, 1.0, 1.0]
    >>> law.optimism, law.mean_abs
    (0.25, 0.25)
    """

    spelling: ClassVar[str] = "bernoulli"

    p: float
    """The probability of exploring, in [0, 1]."""

    def __post_init__(self) -> None:
        # A schedule such as Decay makes a law in every round, so the usual case is decided here.
        if type(self.p) is not float or not 0.0 <= self.p <= 1.0:
            checks.chance("Bernoulli", "p", self.p)

    def draw(self, u: Any) -> Any:
        return (
            np.where(u >= 1 - self.p, 1.0, 0.0)
            if isinstance(u, np.ndarray)
            else float(u >= 1 - self.p)
        )

    @property
    def support(self) -> tuple[float, ...]:
        return (0.0, 1.0)

    @property
    def chances(self) -> tuple[float, ...]:
        return (1 - self.p, self.p)

    @property
    def optimism(self) -> float:
        return self.p


@dataclass(frozen=True)
class Categorical(Discrete):
    """The weight is support[i] with probability weights[i].

    Without a support the values are those of the paper, i/K for i = 1..K.

    >>> from kernelbandits import Categorical
    >>> law = Categorical((0.2, 0.3, 0.5))
    >>> law.support
    (0.3333333333333333, 0.6666666666666666, 1.0)
    >>> law.optimism
    0.5
    >>> Categorical((0.5, 0.5), support=(0.0, 2.0)).draw(0.6)
    2.0
    """

    spelling: ClassVar[str] = "categorical"

    weights: tuple[float, ...]
    """The probabilities, in the order of the values."""
    values: tuple[float, ...]
    """The values, in increasing order."""

    def __init__(self, weights: Iterable[float], support: Sequence[float] | None = None) -> None:
        chances = checks.weights("Categorical", weights)
        count = len(chances)
        raw = tuple((i + 1) / count for i in range(count)) if support is None else tuple(support)
        checks.needs(len(raw) == count, "Categorical", f"a support of {count} values", raw)
        values = tuple(
            checks.number("Categorical", f"support[{i}]", value) for i, value in enumerate(raw)
        )
        order = sorted(range(count), key=values.__getitem__)
        object.__setattr__(self, "weights", tuple(chances[i] for i in order))
        object.__setattr__(self, "values", tuple(values[i] for i in order))

    @property
    def support(self) -> tuple[float, ...]:
        return self.values

    @property
    def chances(self) -> tuple[float, ...]:
        return self.weights


@dataclass(frozen=True)
class Gaussian(Law):
    """The weight is normal, w ~ N(mean, scale^2).

    A negative weight chooses the point with the highest lower confidence bound.

    >>> from kernelbandits import Gaussian
    >>> law = Gaussian(mean=0.0, scale=1.0)
    >>> law.draw(0.5), round(law.optimism, 4)
    (0.0, 0.1587)
    """

    spelling: ClassVar[str] = "gaussian"

    mean: float = 0.0
    """The mean of the weight."""
    scale: float = 1.0
    """The standard deviation of the weight; 0 gives the weight `mean` in every round."""

    def __post_init__(self) -> None:
        checks.number("Gaussian", "mean", self.mean)
        checks.nonnegative("Gaussian", "scale", self.scale)

    def draw(self, u: Any) -> Any:
        if isinstance(u, np.ndarray):
            return self.mean + self.scale * ndtri(np.maximum(u, LEAST_UNIFORM))
        return float(self.mean + self.scale * ndtri(max(u, LEAST_UNIFORM)))

    def cdf(self, x: float) -> float:
        """Return P(w <= x) = Phi((x - mean) / scale)."""
        return float(ndtr((x - self.mean) / self.scale)) if self.scale else float(x >= self.mean)

    @property
    def optimism(self) -> float:
        """Phi((mean - 1) / scale)."""
        return float(ndtr((self.mean - 1) / self.scale)) if self.scale else float(self.mean >= 1)

    @property
    def mean_abs(self) -> float:
        """scale sqrt(2/pi) exp(-m^2 / (2 scale^2)) + m (1 - 2 Phi(-m / scale)), m = mean.

        This is the mean of the folded normal law.
        """
        if not self.scale:
            return abs(self.mean)
        z = self.mean / self.scale
        tail = self.scale * math.sqrt(2 / math.pi) * math.exp(-0.5 * z * z)
        return float(tail + self.mean * (1 - 2 * ndtr(-z)))

    @property
    def expectation(self) -> float:
        return float(self.mean)

    def tail(self, x: Any) -> Any:
        """Return P(w > x) = Phi((mean - x) / scale)."""
        return match_shape(
            x, ndtr((self.mean - x) / self.scale) if self.scale else 1.0 * np.less(x, self.mean)
        )

    def below(self, x: Any) -> Any:
        """Return P(w < x) = Phi((x - mean) / scale)."""
        return match_shape(
            x, ndtr((x - self.mean) / self.scale) if self.scale else 1.0 * np.greater(x, self.mean)
        )

    @property
    def atoms(self) -> tuple[float, ...]:
        return () if self.scale else (float(self.mean),)

    @property
    def masses(self) -> Masses | None:
        return None if self.scale else ((float(self.mean),), (1.0,))


def match_shape(x: Any, values: Any) -> Any:
    """Return the values as a number if x is a number, and as an array if x is an array."""
    return values if np.ndim(x) else float(values)
