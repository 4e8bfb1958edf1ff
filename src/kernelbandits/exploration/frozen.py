"""Objects with `cdf` and `ppf` as exploration laws, above all the frozen laws of scipy.stats."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.laws import Law, Masses, match_shape
from kernelbandits.exploration.tails import evaluate_at_all
from kernelbandits.streams import LEAST_UNIFORM

MANY = 10_000
"""The most values of a discrete law that are listed as its atoms."""
NO_CHANCE = 1e-60
"""A value of a discrete law with a smaller probability may be left out."""
LEAST_ATOM = 1e-12
"""A smaller jump of P(w > x) at 1 is the slope of a density and not an atom."""


@dataclass(frozen=True, eq=False, repr=False)
class Frozen(Law):
    """An object with `cdf` and `ppf` as a law, such as a frozen law of scipy.stats.

    Policies accept such objects directly. Use this class for a law that has a density and atoms as
    well: the atoms must be named, because no number of calls of `cdf` would find them all.

    >>> import scipy.stats
    >>> from kernelbandits.exploration import Frozen
    >>> law = Frozen(scipy.stats.expon(scale=0.5))
    >>> round(law.optimism, 4), round(law.mean_abs, 4)
    (0.1353, 0.5)
    """

    law: Any
    """The object; it needs `cdf` and `ppf`, and may have `sf`, `pmf` and `mean`."""
    given_atoms: tuple[float, ...] = ()
    """The values of positive probability of a law that also has a density."""

    def __post_init__(self) -> None:
        name = type(self.law).__name__
        listed = isinstance(self.given_atoms, Iterable) and not isinstance(self.given_atoms, str)
        known = listed and all(map(checks.is_number, self.given_atoms))
        checks.needs(known, "Frozen", "atoms that are finite numbers", self.given_atoms)
        object.__setattr__(self, "given_atoms", tuple(self.given_atoms))
        for u in (0.25, 0.5, 0.75):
            first, again = self.law.ppf(u), self.law.ppf(u)
            one = np.ndim(first) == 0 and checks.is_number(np.asarray(first)[()])
            checks.needs(one, name, "one finite weight", first)
            checks.needs(first == again, name, "ppf to give the same weight twice", (first, again))

    def __repr__(self) -> str:
        return (
            f"Frozen({describe_law(self.law)}{f', {self.given_atoms}' if self.given_atoms else ''})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Hashable, ...]:
        """Family and parameters of a law of scipy, so that equal laws compare equal."""
        family = type(getattr(self.law, "dist", None))
        if family.__module__.startswith("scipy.stats.") and family.__name__.endswith("_gen"):
            return family, *self.law.args, *sorted(self.law.kwds.items()), self.given_atoms
        return self.law if isinstance(self.law, Hashable) else id(self.law), self.given_atoms

    def draw(self, u: Any) -> Any:
        weights = np.asarray(
            self.law.ppf(np.maximum(u, LEAST_UNIFORM) if np.ndim(u) else max(u, LEAST_UNIFORM)),
            float,
        )
        checks.needs(
            bool(np.isfinite(weights).all()), type(self.law).__name__, "finite weights", weights
        )
        return weights if np.ndim(u) else float(weights)

    def cdf(self, x: Any) -> Any:
        return match_shape(x, self.law.cdf(x))

    def tail(self, x: Any) -> Any:
        return match_shape(x, self.law.sf(x)) if hasattr(self.law, "sf") else 1.0 - self.cdf(x)

    def below(self, x: Any) -> Any:
        return (
            match_shape(x, self.law.cdf(x) - self.law.pmf(x))
            if hasattr(self.law, "pmf")
            else super().below(x)
        )

    @property
    def optimism(self) -> float:
        """P(w >= 1) = P(w > 1) + P(w = 1)."""
        if hasattr(self.law, "pmf"):
            return float(self.tail(1.0) + self.law.pmf(1.0))
        above, upwards = float(self.tail(1.0)), float(self.tail(math.nextafter(1.0, 0.0)))
        return upwards if upwards - above > LEAST_ATOM else above

    def cdf_abs(self, u: float) -> float:
        """Return P(|w| <= u) = P(w <= u) - P(w < -u)."""
        return float(self.cdf(u) - self.below(-u)) if u >= 0 else 0.0

    @property
    def atoms(self) -> tuple[float, ...]:
        """The atoms given, or the values of a law with `pmf`.

        At most 10 000 values are listed, which have all but 1e-12 of the probability.
        """
        if self.given_atoms or not hasattr(self.law, "pmf"):
            return self.given_atoms
        if hasattr(self.law, "xk"):
            return tuple(sorted(float(value) for value in self.law.xk))
        least, most = float(self.law.ppf(1e-12)), float(self.law.ppf(1 - 1e-12))
        values = np.arange(least, min(most, least + MANY) + 1)
        return tuple(values[np.asarray(self.law.pmf(values)) > 0].tolist())

    @property
    def masses(self) -> Masses | None:
        """Values and probabilities of a law with `pmf`, or None if they do not sum to 1.

        The values are those given, or whole steps from the median.
        """
        if not hasattr(self.law, "pmf"):
            return None
        named = self.given_atoms or getattr(self.law, "xk", ())
        values = np.array(named, dtype=float) if len(named) else lattice(self.law)
        chances = evaluate_at_all(self.law.pmf, values)
        return (values.tolist(), chances.tolist()) if abs(chances.sum() - 1) <= 1e-9 else None

    @property
    def mean_abs(self) -> float:
        """E|w|: a sum over the values of a discrete law, otherwise the integral of P(|w| > u)."""
        masses = self.masses
        return (
            math.fsum(abs(v) * p for v, p in zip(*masses, strict=True))
            if masses
            else super().mean_abs
        )

    @property
    def expectation(self) -> float:
        """E w: the object's own `mean()` if it has one, otherwise a sum or an integral."""
        known = self.law.mean() if callable(getattr(self.law, "mean", None)) else math.nan
        if checks.is_number(known):
            return float(known)
        masses = self.masses
        return (
            math.fsum(v * p for v, p in zip(*masses, strict=True))
            if masses
            else super().expectation
        )


def describe_law(law: Any) -> str:
    """Return name and parameters of a law of scipy, and the repr of any other object."""
    if not hasattr(getattr(law, "dist", None), "name"):
        return repr(law)
    arguments = [*map(str, law.args), *(f"{key}={value}" for key, value in law.kwds.items())]
    return f"{law.dist.name}({', '.join(arguments)})"


def lattice(law: Any) -> Array:
    """Return the values of a discrete law, in steps of one up and down from its median."""
    middle = float(law.ppf(0.5))
    return np.concatenate([lattice_side(law, middle - 1, -1)[::-1], lattice_side(law, middle, 1)])


def lattice_side(law: Any, start: float, step: int) -> Array:
    """Return start, start + step, ...: doubled until the farther half has no probability."""
    for size in (1024 << doubling for doubling in range(11)):
        values = start + step * np.arange(size, dtype=float)
        if not (evaluate_at_all(law.pmf, values[size // 2 :]) > NO_CHANCE).any():
            return values
    raise ValueError(
        f"a discrete law needs at most {size} values of a probability above {NO_CHANCE:g}, "
        f"got {describe_law(law)}"
    )


def as_law(law: Any) -> Law:
    """Return a law unchanged, and wrap any other object that has `cdf` and `ppf`.

    >>> from scipy.stats import norm
    >>> from kernelbandits.exploration import Bernoulli, as_law
    >>> as_law(Bernoulli(0.3))
    Bernoulli(p=0.3)
    >>> law = as_law(norm(0.0, 1.0))
    >>> round(law.optimism, 4), round(law.draw(0.975), 2)
    (0.1587, 1.96)
    """
    if isinstance(law, Law):
        return law
    if hasattr(law, "ppf") and hasattr(law, "cdf") and not isinstance(law, type):
        return Frozen(law)
    hint = (
        "; give a law such as kb.Bernoulli(0.5) (kb.policy(...), kb.run_experiment and studies "
        "also take text such as 'bernoulli:0.5')"
    )
    raise ValueError(
        f"an exploration law needs cdf and ppf, or one of kernelbandits' own laws, got {law!r}"
        f"{hint if isinstance(law, str) else ''}"
    )
