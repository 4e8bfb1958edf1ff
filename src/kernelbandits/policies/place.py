"""Where a round may be played: a list of arms (`ArmList`) or all of a box (`Region`).

Both find the point with the greatest value of a function. A context, where there is one, is joined
to every point: kernels see rows (x, context).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, Part, argmax, maximise
from kernelbandits.domains.bfgs import PATIENT, STEPS
from kernelbandits.domains.box import as_row
from kernelbandits.domains.search import SearchedFunction
from kernelbandits.policies.acquisition import Searchable
from kernelbandits.streams import Randomness

MIDDLE = 0.5
"""The random shift of the starting points of a search, where the search must not be random."""


@dataclass(frozen=True)
class Location:
    """One point that may be played."""

    x: Any
    arm: int | None
    row: Array
    """What kernels see: x encoded, and the context."""
    search: dict[str, float] = field(default_factory=dict)
    """How it was found, for the note of the choice."""


@dataclass(frozen=True)
class ArmList:
    """Finitely many points to play among."""

    points: Array
    """All arms of the domain, or of the round."""
    context: Array | None
    numbers: Indices | None = None
    """Which of these arms may be played, where not all of them may."""

    @property
    def rows(self) -> Array:
        """The points of the arms that may be played."""
        return self.points if self.numbers is None else self._some_rows

    @cached_property
    def _some_rows(self) -> Array:
        # Gathered when they are first needed: few rules need those of a million arms.
        rows: Array = self.points[self.numbers]
        return rows

    @property
    def survey(self) -> Array:
        """The rows of all arms, with the context of the round."""
        return add_context(self.rows, self.context)

    def best(
        self,
        surface: Searchable,
        ties: str,
        u: float,
        near: Array,
        scale: Array | None,
        effort: float = 1.0,
        steps: int = STEPS,
    ) -> Location:
        """Return the exact maximiser, ties by the declared rule."""
        values = surface.values(self.survey)
        arm = argmax(values, ties, u)
        return self.location(arm, {"index": float(values[arm])})

    def greatest(self, values: Array) -> int:
        """Return the number of the arm with the greatest value, the lowest on ties.

        The values are those of all arms of the domain.
        """
        if self.numbers is None:
            return int(values.argmax())
        return int(self.numbers[values[self.numbers].argmax()])

    def draw(self, randomness: Randomness, t: int) -> Location:
        """Draw an arm, every one with the same probability."""
        return self.location(int(randomness.uniform("tie", t) * len(self.rows)))

    def location(self, place: int, search: dict[str, float] | None = None) -> Location:
        """Return the arm in this place of the list."""
        arm = place if self.numbers is None else int(self.numbers[place])
        x: Array = self.points[arm]
        return Location(x, arm, add_context(x[None], self.context)[0], search or {})


@dataclass(frozen=True)
class Region:
    """All of a box, or a part of it."""

    box: Box | MixedBox
    """What is searched; of a part, the box with single values of the variables that are fixed."""
    context: Array | None
    part: Part | None = None

    @property
    def survey(self) -> Array:
        """The rows of a finite cover of the box, with the context of the round."""
        return self.complete(self.box.cover().points)

    def complete(self, rows: Array) -> Array:
        """Return rows of the box as kernels see them: with fixed values, and the context."""
        return add_context(rows, self.context) if self.part is None else self.part.expand(rows)

    @property
    def columns(self) -> slice | Indices:
        """Which coordinates of what kernels see are those of the box."""
        return slice(self.box.dimension) if self.part is None else self.part.columns

    def best(
        self,
        surface: Searchable,
        ties: str,
        u: float,
        near: Array,
        scale: Array | None,
        effort: float = 1.0,
        steps: int = STEPS,
    ) -> Location:
        """Return the best that a search finds, shifted by u where ties are settled by chance."""
        own = self.columns
        exact, rough = self._in_box(surface), getattr(surface, "sketch", None)
        shift = u if ties == "random" else MIDDLE
        sides = np.subtract(self.box.upper, self.box.lower)
        lengths = None if scale is None else np.minimum(scale[own], sides)
        found = maximise(
            exact.function,
            self.box,
            near=near[:, own],
            scale=lengths,
            effort=effort,
            steps=steps,
            u=shift,
            values=exact.values,
            quick=True,
            sketch=None if rough is None else self._in_box(rough),
            halving=PATIENT,
        )
        search = {
            "index": found.value,
            "starts": float(found.starts),
            "reached": float(found.reached),
            "evaluations": float(found.evaluations),
        }
        return self.location(found.row, search)

    def _in_box(self, surface: Searchable) -> SearchedFunction:
        """Return the surface as a function of the rows of the box."""
        own = self.columns

        def values(rows: Array) -> Array:
            return surface.values(self.complete(rows))

        def slopes(rows: Array) -> tuple[Array, Array]:
            heights, gradients = surface.slopes(self.complete(rows))
            return heights, gradients[:, own]

        return SearchedFunction(slopes, values)

    def draw(self, randomness: Randomness, t: int) -> Location:
        """Draw a point, every one with the same probability."""
        unit = ndtr(randomness.normal("sample", t, self.box.sides))
        return self.location(self.box.from_unit(unit[None])[0])

    def location(self, row: Array, search: dict[str, float] | None = None) -> Location:
        """Return the point of this row."""
        x: Any = self.box.decode(row)
        if isinstance(self.box, MixedBox):
            # The values of a point are rounded, so its row may differ in the last digits.
            row = self.box.encode(x)
        return Location(x, None, self.complete(row[None])[0], search or {})


Place = ArmList | Region


def place_of(domain: Any, context: Any, arms: Any) -> Place:
    """Return where the round is played: in all of the domain, or among the arms given."""
    if not isinstance(domain, Contextual):
        refuse_context("ask", domain, context)
        if isinstance(domain, Arms):
            if arms is None:
                return ArmList(domain.points, None)
            return list_arms(domain, arm_numbers(arms, len(domain)))
        if isinstance(arms, Part):
            checks.needs(arms.whole == domain, "ask", f"a part of {domain}", arms)
            return Region(arms.box, None, arms)
        refuse_arms(domain, arms)
        return Region(domain, None)
    given = domain.check_context(context)
    if checks.is_whole(domain.domain):
        needed = f"the arms of the round, an (n, {domain.domain}) array"
        checks.needs(arms is not None, "ask", needed, arms)
        return ArmList(domain.check_arms(arms), given)
    refuse_arms(domain, arms)
    inner = domain.domain
    return ArmList(inner.points, given) if isinstance(inner, Arms) else Region(inner, given)


def refuse_arms(domain: Any, arms: Any) -> None:
    """Refuse arms that come with the round on a domain that has its own."""
    if arms is not None:
        hint = f"no arms on {domain}; they come to kb.Contextual(d, size)"
        raise ValueError(f"ask needs {hint}, got {checks.quote_given(arms)}")


def refuse_context(owner: str, domain: Any, context: Any) -> None:
    """Refuse a context on a domain that has none."""
    # The text of a domain takes longer to write than the check, which each choice goes through.
    if context is not None:
        hint = f"no context on {domain}; kb.Contextual(domain, size) has one"
        raise ValueError(f"{owner} needs {hint}, got {checks.quote_given(context)}")


def list_arms(domain: Arms, numbers: Indices) -> ArmList:
    """Return the list of the arms with these numbers."""
    return ArmList(domain.points, None, numbers)


def add_context(rows: Array, context: Array | None) -> Array:
    """Return the rows (x, context)."""
    if context is None:
        return rows
    joint: Array = np.hstack([rows, np.broadcast_to(context, (len(rows), len(context)))])
    return joint


def plays_anywhere(owner: str, domain: Any, plays_boxes: bool) -> bool:
    """Tell whether a policy plays anywhere in the domain.

    One that does not needs finitely many arms.
    """
    listed = not isinstance(domain, Contextual) or plays_boxes
    checks.needs(listed, owner, "a finite set of arms or a box", domain)
    return plays_boxes and isinstance(domain, (Box, MixedBox, Contextual))


def pick_point(domain: Any, arm: Any) -> tuple[Any, int | None]:
    """Return the point and the number of an arm, or a point of a box as it is, which has none."""
    if isinstance(domain, Arms):
        number = checks.whole("choice", "arm", arm, least=0)
        checks.needs(number < len(domain), "choice", f"an arm below {len(domain)}", arm)
        return domain.points[number], number
    if checks.is_whole(domain):
        return as_row("choice", arm, domain), None
    return domain.decode(domain.encode(arm)), None


def encode_choice(domain: Any, x: Any, context: Any) -> Array:
    """Return what kernels see of a choice, if it may be made."""
    if isinstance(domain, Contextual):
        return domain.encode(x, context)
    refuse_context("tell", domain, context)
    row: Array = domain.encode(x)
    return row


def arm_numbers(arms: Any, n: int) -> Indices:
    """Return numbers of arms below n, at least one, none twice; in order."""
    if isinstance(arms, np.ndarray):
        whole = arms.dtype.kind in "iu" and arms.ndim == 1
    else:
        listed = isinstance(arms, Sequence) and not isinstance(arms, (str, bytes))
        whole = listed and all(type(arm) is int or checks.is_whole(arm) for arm in arms)
    needed = "a list of arms by their whole numbers, at least one"
    checks.needs(whole and len(arms) > 0, "ask", needed, arms)
    given = np.asarray(arms)
    bad = given[(given < 0) | (given >= n)]
    checks.needs(not len(bad), "ask", f"arms in 0..{n - 1}", next(iter(bad.tolist()), None))
    numbers = given.astype(np.int64)
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    numbers.sort()
    twice = numbers[1:][numbers[1:] == numbers[:-1]]
    repeated = f"{next(iter(twice.tolist()), None)} twice"
    checks.needs(not len(twice), "ask", "arms that differ", repeated)
    return numbers
