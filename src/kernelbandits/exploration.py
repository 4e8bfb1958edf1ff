"""Laws of the weight w_t, the paper's exploration distributions, and schedules of laws.

One uniform becomes one weight, `law.draw(u)`; a law knows its optimism C1 = P(w >= 1), atoms included.
An exploration argument is a law, a schedule t -> law, or a schedule (t, posterior) -> law.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, overload

import numpy as np
from scipy.special import ndtr, ndtri

from kernelbandits import checks
from kernelbandits.checks import Array

LEAST_UNIFORM = 2.0**-54
"""A uniform of exactly 0 is taken as this, so that no weight is infinite."""
GREATEST_UNIFORM = 1 - 2.0**-53
"""The last number below 1."""


class Law:
    """The law of a weight w."""

    @overload
    def draw(self, u: float) -> float: ...
    @overload
    def draw(self, u: Array) -> Array: ...
    def draw(self, u: Any) -> Any:
        """The weight that belongs to a uniform u in [0, 1): the quantile function."""
        raise NotImplementedError

    def sample(self, rng: np.random.Generator) -> float:
        return self.draw(rng.random())

    def cdf(self, x: float) -> float:
        """P(w <= x)."""
        raise NotImplementedError

    @property
    def mean_abs(self) -> float:
        """E|w|."""
        raise NotImplementedError

    @property
    def atoms(self) -> tuple[float, ...]:
        """The values w takes with positive chance, in order."""
        return ()

    @property
    def optimism(self) -> float:
        """C1 = P(w >= 1) = 1 - P(w < 1)."""
        return 1.0 - self.cdf(math.nextafter(1.0, 0.0))

    def cdf_abs(self, u: float) -> float:
        """P(|w| <= u) = P(w <= u) - P(w < -u)."""
        return self.cdf(u) - self.cdf(math.nextafter(-u, -math.inf)) if u >= 0 else 0.0


class Discrete(Law):
    """Finitely many values, `support` in increasing order, with `chances`."""

    @property
    def support(self) -> tuple[float, ...]:
        raise NotImplementedError

    @property
    def chances(self) -> tuple[float, ...]:
        raise NotImplementedError

    def draw(self, u: Any) -> Any:
        shares = np.cumsum(self.chances)
        values = np.asarray(self.support)[np.searchsorted(shares[:-1] / shares[-1], u, side="right")]
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
        return math.fsum(abs(value) * p for value, p in zip(self.support, self.chances, strict=True))

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(value for value, p in zip(self.support, self.chances, strict=True) if p > 0)

    def _total(self, chosen: Callable[[float], bool]) -> float:
        chances = [p for value, p in zip(self.support, self.chances, strict=True) if chosen(value)]
        return 1.0 if len(chances) == len(self.chances) else math.fsum(chances)


@dataclass(frozen=True)
class PointMass(Discrete):
    """w = c, always: c = 1 is UCB, c = 0 pure exploitation."""

    c: float = 1.0

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
    """Explore fully with chance p, not at all otherwise: w is 1 or 0."""

    p: float

    def __post_init__(self) -> None:
        checks.chance("Bernoulli", "p", self.p)

    def draw(self, u: Any) -> Any:
        return np.where(u >= 1 - self.p, 1.0, 0.0) if isinstance(u, np.ndarray) else float(u >= 1 - self.p)

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
    """w = support[i] with chance weights[i]; without a support the paper's i/K, i = 1..K."""

    weights: tuple[float, ...]
    values: tuple[float, ...]

    def __init__(self, weights: Iterable[float], support: Sequence[float] | None = None) -> None:
        chances = checks.weights("Categorical", weights)
        count = len(chances)
        raw = tuple((i + 1) / count for i in range(count)) if support is None else tuple(support)
        checks.needs(len(raw) == count, "Categorical", f"a support of {count} values", raw)
        values = tuple(checks.number("Categorical", f"support[{i}]", value) for i, value in enumerate(raw))
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
    """w ~ N(mean, scale^2); a negative weight plays the greatest lower confidence bound."""

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        checks.number("Gaussian", "mean", self.mean)
        checks.nonnegative("Gaussian", "scale", self.scale)

    def draw(self, u: Any) -> Any:
        if isinstance(u, np.ndarray):
            return self.mean + self.scale * ndtri(np.maximum(u, LEAST_UNIFORM))
        return float(self.mean + self.scale * ndtri(max(u, LEAST_UNIFORM)))

    def cdf(self, x: float) -> float:
        """Phi((x - mean) / scale)."""
        return float(ndtr((x - self.mean) / self.scale)) if self.scale else float(x >= self.mean)

    @property
    def optimism(self) -> float:
        """Phi((mean - 1) / scale)."""
        return float(ndtr((self.mean - 1) / self.scale)) if self.scale else float(self.mean >= 1)

    @property
    def mean_abs(self) -> float:
        """Folded normal: scale sqrt(2/pi) exp(-m^2 / (2 scale^2)) + m (1 - 2 Phi(-m / scale)), m = mean."""
        if not self.scale:
            return abs(self.mean)
        z = self.mean / self.scale
        tail = self.scale * math.sqrt(2 / math.pi) * math.exp(-0.5 * z * z)
        return float(tail + self.mean * (1 - 2 * ndtr(-z)))

    @property
    def atoms(self) -> tuple[float, ...]:
        return () if self.scale else (float(self.mean),)


@dataclass(frozen=True)
class Mixture(Law):
    """Draw a law, then the weight from it; one uniform serves for both."""

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    def __init__(self, weights: Iterable[float], laws: Iterable[Any]) -> None:
        parts = tuple(as_law(law) for law in laws)
        chances = checks.weights("Mixture", weights)
        checks.needs(len(parts) == len(chances), "Mixture", f"{len(chances)} laws", len(parts))
        object.__setattr__(self, "weights", chances)
        object.__setattr__(self, "laws", parts)

    def draw(self, u: Any) -> Any:
        """Law j where u falls in its share [s_j, s_j + p_j), then its weight at the rescaled (u - s_j) / p_j."""
        if np.ndim(u):
            return np.array([self.draw(float(item)) for item in u])
        live = [(chance, law) for chance, law in zip(self.weights, self.laws, strict=True) if chance > 0]
        start = 0.0
        for chance, law in live[:-1]:
            if u < start + chance:
                break
            start += chance
        else:
            chance, law = live[-1]
        return law.draw(min(max((u - start) / chance, 0.0), GREATEST_UNIFORM))

    def cdf(self, x: float) -> float:
        return self._average(law.cdf(x) for law in self.laws)

    @property
    def optimism(self) -> float:
        return self._average(law.optimism for law in self.laws)

    @property
    def mean_abs(self) -> float:
        return self._average(law.mean_abs for law in self.laws)

    def cdf_abs(self, u: float) -> float:
        return self._average(law.cdf_abs(u) for law in self.laws)

    @property
    def atoms(self) -> tuple[float, ...]:
        live = (law for chance, law in zip(self.weights, self.laws, strict=True) if chance > 0)
        return tuple(sorted({value for law in live for value in law.atoms}))

    def _average(self, values: Iterable[float]) -> float:
        return math.fsum(p * value for p, value in zip(self.weights, values, strict=True))


@dataclass(frozen=True)
class Frozen(Law):
    """Any object with `cdf` and `ppf`, such as a frozen scipy.stats law; a mixed law must name its atoms."""

    law: Any
    given_atoms: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        name = type(self.law).__name__
        for u in (0.25, 0.5, 0.75):
            first, again = self.law.ppf(u), self.law.ppf(u)
            one = np.ndim(first) == 0 and checks.is_number(np.asarray(first)[()])
            checks.needs(one, name, "one finite weight", first)
            checks.needs(first == again, name, "ppf to give the same weight twice", (first, again))

    def draw(self, u: Any) -> Any:
        weights = np.asarray(self.law.ppf(np.maximum(u, LEAST_UNIFORM)), dtype=float)
        bad = ~np.isfinite(weights)
        checks.needs(not bad.any(), type(self.law).__name__, "finite weights", weights)
        return weights if np.ndim(u) else float(weights)

    def cdf(self, x: float) -> float:
        return float(self.law.cdf(x))

    @property
    def atoms(self) -> tuple[float, ...]:
        """As given; for a law with `pmf`, the values that carry all but 1e-12 of the chance."""
        if self.given_atoms or not hasattr(self.law, "pmf"):
            return self.given_atoms
        least, most = float(self.law.ppf(1e-12)), float(self.law.ppf(1 - 1e-12))
        return tuple(float(value) for value in np.arange(least, most + 1) if self.law.pmf(value) > 0)

    @property
    def mean_abs(self) -> float:
        """E|w| = integral of P(|w| > u), split where the law has atoms."""
        from scipy.integrate import quad

        breaks = sorted({0.0, 1.0, *(abs(value) for value in self.atoms)})
        pieces = [
            quad(lambda u: 1 - self.cdf_abs(u), a, b, limit=200)[0] for a, b in zip(breaks, breaks[1:], strict=False)
        ]
        return math.fsum(pieces) + float(quad(lambda u: 1 - self.cdf_abs(u), breaks[-1], np.inf, limit=200)[0])


def as_law(law: Any) -> Law:
    if isinstance(law, Law):
        return law
    if hasattr(law, "ppf") and hasattr(law, "cdf") and not isinstance(law, type):
        return Frozen(law)
    raise ValueError(f"an exploration law needs cdf and ppf, or one of kernelbandits' own laws, got {law!r}")


@dataclass(frozen=True)
class Step:
    """The paper's schedule: one law up to a round, another after it; with Ber(1/2), Ber(1/4) and T//2 its Section 5."""

    first: Law
    second: Law
    last: int
    """The last round of the first law."""

    def __post_init__(self) -> None:
        checks.whole("Step", "last", self.last, least=0)
        object.__setattr__(self, "first", as_law(self.first))
        object.__setattr__(self, "second", as_law(self.second))

    def __call__(self, t: int) -> Law:
        return self.first if t <= self.last else self.second

    def weights(self, uniforms: Array) -> Array:
        """w_1..w_T at once."""
        early, late = uniforms[: self.last], uniforms[self.last :]
        return np.concatenate([self.first.draw(early), self.second.draw(late)])


@dataclass(frozen=True)
class Decay:
    """Ber(p_t), p_t = max(floor, first t^-power): less exploration in later rounds, never less than the floor."""

    first: float = 1.0
    power: float = 0.5
    floor: float = 0.05

    def __post_init__(self) -> None:
        checks.chance("Decay", "first", self.first)
        checks.nonnegative("Decay", "power", self.power)
        checks.chance("Decay", "floor", self.floor)

    def __call__(self, t: int) -> Law:
        return Bernoulli(max(self.floor, self.first * t**-self.power))


@dataclass(frozen=True)
class Certainty:
    """Ber(p_t), p_t = floor + (first - floor) max_x sd(x) / max_x sqrt(k(x, x)): explore as long as anything is unknown.

    p_t is fixed by the history, as the paper allows; C1 never falls below the floor.
    """

    first: float = 0.5
    floor: float = 0.05

    def __post_init__(self) -> None:
        checks.chance("Certainty", "first", self.first)
        checks.chance("Certainty", "floor", self.floor)
        checks.needs(self.floor <= self.first, "Certainty", "floor <= first", (self.floor, self.first))

    def __call__(self, t: int, posterior: Any) -> Law:
        unknown = min(1.0, float(posterior.sd.max()) / math.sqrt(float(posterior.prior.max())))
        return Bernoulli(self.floor + (self.first - self.floor) * unknown)


@dataclass(frozen=True)
class Exploration:
    """A law or schedule, told apart once: `law(t, posterior)` is the law of round t."""

    source: Any
    arguments: int
    """0 for a law, 1 for t -> law, 2 for (t, posterior) -> law."""

    @classmethod
    def of(cls, source: Any) -> Exploration:
        if isinstance(source, Exploration):
            return source
        if isinstance(source, (Law, type)) or hasattr(source, "ppf") or not callable(source):
            return cls(as_law(source), 0)
        return cls(source, required_arguments(source))

    def law(self, t: int, posterior: Any) -> Law:
        if self.arguments == 0:
            return self.source  # type: ignore[no-any-return]
        return as_law(self.source(t) if self.arguments == 1 else self.source(t, posterior))

    @property
    def uses_history(self) -> bool:
        return self.arguments == 2

    def weights(self, uniforms: Array) -> Array:
        """w_1..w_T from the uniforms of rounds 1..T, for a law or schedule that does not look at the history."""
        if self.arguments == 0:
            return as_law(self.source).draw(uniforms)
        if hasattr(self.source, "weights"):
            return np.asarray(self.source.weights(uniforms), dtype=float)
        laws = [self.source(t) for t in range(1, len(uniforms) + 1)]
        weights, start = np.empty(len(uniforms)), 0
        for _, run in groupby(laws, key=id):
            stop = start + len(list(run))
            weights[start:stop] = as_law(laws[start]).draw(uniforms[start:stop])
            start = stop
        return weights


def required_arguments(schedule: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(schedule).parameters.values()
    count = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    checks.needs(count in (1, 2), "a schedule", "the arguments (t) or (t, posterior)", f"{count} arguments")
    return count
