"""Where a round may be played: among listed rows or anywhere in a box, beside a context; and the best of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, argmax, maximise
from kernelbandits.domains.box import one_row as point_of
from kernelbandits.kernels import Kernel
from kernelbandits.policies.offer import numbers_of
from kernelbandits.streams import Randomness

MIDDLE = 0.5
"""The shift of a search that no chance enters."""


class Surface(Protocol):
    """What is maximised, over rows that kernels see."""

    def values(self, rows: Array) -> Array: ...
    def slopes(self, rows: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Expansion:
    """k(x)' c over some points: an estimate, or what data add to a draw from the prior."""

    kernel: Kernel
    points: Array
    coefficients: Array
    """c"""

    def values(self, rows: Array) -> Array:
        if not len(self.points):
            return np.zeros(len(rows))
        return self.kernel(rows, self.points) @ self.coefficients

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """k(x)' c and its gradient."""
        if not len(self.points):
            return np.zeros(len(rows)), np.zeros(rows.shape)
        gradients = self.kernel.gradient(rows, self.points)
        return self.values(rows), np.einsum("nmd,m->nd", gradients, self.coefficients)


@dataclass(frozen=True)
class Index:
    """mean + reach sd"""

    posterior: Any
    reach: float
    """weight * width"""

    def values(self, rows: Array) -> Array:
        mean, sd = self.posterior.at(rows)
        index: Array = mean + self.reach * sd
        return index

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """The index and its gradient."""
        mean, sd, mean_slope, sd_slope = self.posterior.gradients(rows)
        return mean + self.reach * sd, mean_slope + self.reach * sd_slope


def index_of(posterior: Any, reach: float) -> Surface:
    """mean + reach sd, without the sd where it does not count."""
    if reach:
        return Index(posterior, reach)
    return Expansion(posterior.kernel, posterior.points, posterior.coefficients)


@dataclass(frozen=True)
class Spread:
    """sd"""

    posterior: Any

    def values(self, rows: Array) -> Array:
        sd: Array = self.posterior.at(rows)[1]
        return sd

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        _, sd, _, slope = self.posterior.gradients(rows)
        return sd, slope


@dataclass(frozen=True)
class Spot:
    """A place to play."""

    x: Any
    arm: int | None
    row: Array
    """What kernels see: x encoded, and the context."""
    found: dict[str, float]
    """How it was found."""


@dataclass(frozen=True)
class Listed:
    """Finitely many rows to play among."""

    rows: Array
    context: Array | None
    numbers: Indices | None = None
    """Which arms of the domain they are, where they are not all of them."""

    @property
    def survey(self) -> Array:
        """Rows by which the whole of it is judged: all of them."""
        return beside(self.rows, self.context)

    def best(self, surface: Surface, ties: str, u: float, near: Array, scale: Array | None) -> Spot:
        """The exact maximiser, ties by the declared rule."""
        values = surface.values(self.survey)
        arm = argmax(values, ties, u)
        return self.spot(arm, {"index": float(values[arm])})

    def greatest(self, values: Array) -> int:
        """The number of the arm of the greatest value, the lowest on ties; the values are those of the whole domain."""
        if self.numbers is None:
            return int(values.argmax())
        return int(self.numbers[values[self.numbers].argmax()])

    def drawn(self, randomness: Randomness, t: int) -> Spot:
        """Every row with the same chance."""
        return self.spot(int(randomness.uniform("tie", t) * len(self.rows)))

    def spot(self, place: int, found: dict[str, float] | None = None) -> Spot:
        """The arm in this place."""
        arm = place if self.numbers is None else int(self.numbers[place])
        return Spot(self.rows[place], arm, self.survey[place], found or {})


@dataclass(frozen=True)
class Region:
    """All of a box."""

    box: Box | MixedBox
    context: Array | None

    @property
    def survey(self) -> Array:
        """Rows by which the whole of it is judged: those of its cover."""
        return beside(self.box.cover().points, self.context)

    def best(self, surface: Surface, ties: str, u: float, near: Array, scale: Array | None) -> Spot:
        """The best that a search finds, shifted by u where ties are settled by chance."""
        d = self.box.dimension

        def values(rows: Array) -> Array:
            return surface.values(beside(rows, self.context))

        def slopes(rows: Array) -> tuple[Array, Array]:
            heights, gradients = surface.slopes(beside(rows, self.context))
            return heights, gradients[:, :d]

        shift = u if ties == "random" else MIDDLE
        lengths = None if scale is None else within(scale[:d], self.box)
        found = maximise(slopes, self.box, near=near[:, :d], scale=lengths, u=shift, values=values)
        search = {
            "starts": found.starts,
            "reached": found.reached,
            "evaluations": found.evaluations,
        }
        return self.spot(
            found.row,
            {"index": found.value, **{name: float(number) for name, number in search.items()}},
        )

    def drawn(self, randomness: Randomness, t: int) -> Spot:
        """Every point with the same chance."""
        unit = ndtr(randomness.normal("sample", t, self.box.sides))
        return self.spot(self.box.place(unit[None])[0])

    def spot(self, row: Array, found: dict[str, float] | None = None) -> Spot:
        """The point of this row."""
        return Spot(self.box.decode(row), None, beside(row[None], self.context)[0], found or {})


Field = Listed | Region


def beside(rows: Array, context: Array | None) -> Array:
    """The rows (x, context)."""
    if context is None:
        return rows
    joint: Array = np.hstack([rows, np.broadcast_to(context, (len(rows), len(context)))])
    return joint


def within(lengths: Array, box: Box | MixedBox) -> Array:
    """Lengths no longer than the sides of the box."""
    return np.asarray(np.minimum(lengths, np.subtract(box.upper, box.lower)))


def field_of(domain: Any, context: Any, arms: Any) -> Field:
    """Where the round is played: in all of the domain, among those of its arms, or among arms that came with it."""
    if not isinstance(domain, Contextual):
        checks.needs(
            context is None,
            "ask",
            f"no context on {domain}; kb.Contextual(domain, size) has one",
            context,
        )
        if isinstance(domain, Arms):
            return (
                Listed(domain.points, None)
                if arms is None
                else among(domain, numbers_of(arms, len(domain)))
            )
        checks.needs(
            arms is None, "ask", f"no arms on {domain}; they come to kb.Contextual(d, size)", arms
        )
        return Region(domain, None)
    given = domain.context(context)
    if checks.is_whole(domain.domain):
        checks.needs(
            arms is not None, "ask", f"the arms of the round, an (n, {domain.domain}) array", arms
        )
        return Listed(domain.arms(arms), given)
    checks.needs(
        arms is None, "ask", f"no arms on {domain}; they come to kb.Contextual(d, size)", arms
    )
    inner = domain.domain
    return Listed(inner.points, given) if isinstance(inner, Arms) else Region(inner, given)


def among(domain: Arms, numbers: Indices) -> Listed:
    """Some of the arms."""
    return Listed(domain.points[numbers], None, numbers)


def is_open(owner: str, domain: Any, searches: bool) -> bool:
    """Whether a policy plays anywhere in the domain; one that does not search needs finitely many arms."""
    listed = not isinstance(domain, Contextual) or searches
    checks.needs(listed, owner, "a finite set of arms or a box", domain)
    return searches and isinstance(domain, (Box, MixedBox, Contextual))


def picked(domain: Any, arm: Any) -> tuple[Any, int | None]:
    """The point and the number of an arm, or a point of a box as it is, which has none."""
    if isinstance(domain, Arms):
        number = checks.whole("choice", "arm", arm, least=0)
        checks.needs(number < len(domain), "choice", f"an arm below {len(domain)}", arm)
        return domain.points[number], number
    if checks.is_whole(domain):
        return point_of("choice", arm, domain), None
    return domain.decode(domain.encode(arm)), None


def row_of(domain: Any, x: Any, context: Any) -> Array:
    """What kernels see of a choice, if it may be made."""
    if isinstance(domain, Contextual):
        return domain.encode(x, context)
    checks.needs(context is None, "tell", f"no context on {domain}", context)
    row: Array = domain.encode(x)
    return row
