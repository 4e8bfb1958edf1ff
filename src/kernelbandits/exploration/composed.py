"""Laws made of others: mixtures, and any object with `cdf` and `ppf`."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration.laws import GREATEST_UNIFORM, Law, Masses, like
from kernelbandits.exploration.tails import at_all
from kernelbandits.streams import LEAST_UNIFORM

MANY = 10_000
NO_CHANCE = 1e-60
"""What a value of a discrete law may have and yet be left out."""


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
            return self._draw_all(u)
        starts = [0.0, *accumulate(self.weights)]
        which = max(j for j, chance in enumerate(self.weights) if chance > 0 and starts[j] <= u)
        inner = (u - starts[which]) / self.weights[which]
        return self.laws[which].draw(min(max(inner, 0.0), GREATEST_UNIFORM))

    def _draw_all(self, u: Array) -> Array:
        """The same, one law after the other."""
        starts, live = np.array([0.0, *accumulate(self.weights)]), np.flatnonzero(self.weights)
        which = live[np.searchsorted(starts[live], u, side="right") - 1]
        inner = np.clip((u - starts[which]) / np.array(self.weights)[which], 0.0, GREATEST_UNIFORM)
        drawn = np.empty(len(u))
        for j in live:
            drawn[which == j] = at_all(self.laws[j].draw, inner[which == j])
        return drawn

    def cdf(self, x: float) -> float:
        return self._average(lambda law: law.cdf(x))

    @property
    def optimism(self) -> float:
        return self._average(lambda law: law.optimism)

    @property
    def mean_abs(self) -> float:
        return self._average(lambda law: law.mean_abs)

    def cdf_abs(self, u: float) -> float:
        return self._average(lambda law: law.cdf_abs(u))

    @property
    def expectation(self) -> float:
        return self._average(lambda law: law.expectation)

    def tail(self, x: Any) -> Any:
        return sum(p * law.tail(x) for p, law in self._parts())

    def below(self, x: Any) -> Any:
        return sum(p * law.below(x) for p, law in self._parts())

    @property
    def masses(self) -> Masses | None:
        """Those of the parts, where all can be listed."""
        listed = [(p, law.masses) for p, law in self._parts()]
        if any(masses is None for _, masses in listed):
            return None
        found = [
            (value, p * chance)
            for p, masses in listed
            if masses
            for value, chance in zip(*masses, strict=True)
        ]
        return [value for value, _ in found], [chance for _, chance in found]

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(sorted({value for _, law in self._parts() for value in law.atoms}))

    def _parts(self) -> list[tuple[float, Law]]:
        """The laws that are ever drawn, and how often."""
        return [
            (chance, law) for chance, law in zip(self.weights, self.laws, strict=True) if chance > 0
        ]

    def _average(self, of: Callable[[Law], float]) -> float:
        return math.fsum(p * of(law) for p, law in self._parts())


LEAST_ATOM = 1e-12
"""A jump of P(w > x) at 1 below this is the slope of a density, not an atom."""


@dataclass(frozen=True, eq=False, repr=False)
class Frozen(Law):
    """Any object with `cdf` and `ppf`, such as a frozen scipy.stats law; a mixed law must name its atoms."""

    law: Any
    given_atoms: tuple[float, ...] = ()

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
        return f"Frozen({described(self.law)}{f', {self.given_atoms}' if self.given_atoms else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Hashable, ...]:
        """Family and parameters of scipy's own laws, so that equal ones are one; else the object."""
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
        return like(x, self.law.cdf(x))

    def tail(self, x: Any) -> Any:
        return like(x, self.law.sf(x)) if hasattr(self.law, "sf") else 1.0 - self.cdf(x)

    def below(self, x: Any) -> Any:
        return (
            like(x, self.law.cdf(x) - self.law.pmf(x))
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
        """P(|w| <= u) = P(w <= u) - P(w < -u)."""
        return float(self.cdf(u) - self.below(-u)) if u >= 0 else 0.0

    @property
    def atoms(self) -> tuple[float, ...]:
        """As given; for a law with `pmf`, its values, up to 10 000 of them that carry all but 1e-12 of the chance."""
        if self.given_atoms or not hasattr(self.law, "pmf"):
            return self.given_atoms
        if hasattr(self.law, "xk"):
            return tuple(sorted(float(value) for value in self.law.xk))
        least, most = float(self.law.ppf(1e-12)), float(self.law.ppf(1 - 1e-12))
        values = np.arange(least, min(most, least + MANY) + 1)
        return tuple(values[np.asarray(self.law.pmf(values)) > 0].tolist())

    @property
    def masses(self) -> Masses | None:
        """The values of a law with `pmf`, as given or in steps of one, if that is all of them."""
        if not hasattr(self.law, "pmf"):
            return None
        named = self.given_atoms or getattr(self.law, "xk", ())
        values = np.array(named, dtype=float) if len(named) else lattice(self.law)
        chances = at_all(self.law.pmf, values)
        return (values.tolist(), chances.tolist()) if abs(chances.sum() - 1) <= 1e-9 else None

    @property
    def mean_abs(self) -> float:
        """E|w|, the sum over the values of a discrete law, else the integral of P(|w| > u)."""
        masses = self.masses
        return (
            math.fsum(abs(v) * p for v, p in zip(*masses, strict=True))
            if masses
            else super().mean_abs
        )

    @property
    def expectation(self) -> float:
        """E w: what the object calls its `mean()`, the sum over the values of a discrete law, else by integrals."""
        known = self.law.mean() if callable(getattr(self.law, "mean", None)) else math.nan
        if checks.is_number(known):
            return float(known)
        masses = self.masses
        return (
            math.fsum(v * p for v, p in zip(*masses, strict=True))
            if masses
            else super().expectation
        )


def described(law: Any) -> str:
    """Name and parameters of a scipy law, else what the object says of itself."""
    if not hasattr(getattr(law, "dist", None), "name"):
        return repr(law)
    return f"{law.dist.name}({', '.join([*map(str, law.args), *(f'{key}={law.kwds[key]}' for key in law.kwds)])})"


def lattice(law: Any) -> Array:
    """The values of a discrete law, in steps of one up and down from its median."""
    middle = float(law.ppf(0.5))
    return np.concatenate([walk(law, middle - 1, -1)[::-1], walk(law, middle, 1)])


def walk(law: Any, start: float, step: int) -> Array:
    """start, start + step, ..., twice as far until the farther half carries nothing."""
    for size in (1024 << doubling for doubling in range(11)):
        values = start + step * np.arange(size, dtype=float)
        if not (at_all(law.pmf, values[size // 2 :]) > NO_CHANCE).any():
            return values
    raise ValueError(
        f"a discrete law needs at most {size} values of a chance above {NO_CHANCE:g}, got {described(law)}"
    )


def as_law(law: Any) -> Law:
    if isinstance(law, Law):
        return law
    if hasattr(law, "ppf") and hasattr(law, "cdf") and not isinstance(law, type):
        return Frozen(law)
    raise ValueError(
        f"an exploration law needs cdf and ppf, or one of kernelbandits' own laws, got {law!r}"
    )
