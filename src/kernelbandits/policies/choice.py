"""A choice: what to play, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Contextual

if TYPE_CHECKING:
    # Defaults of type variables are for type checkers only; typing has them from Python 3.13 on.
    from typing_extensions import TypeVar

    AnyPoint = TypeVar("AnyPoint", default=Any)
    Point = TypeVar("Point", default=Array)
    Decoded = TypeVar("Decoded", covariant=True)
else:
    from typing import TypeVar

    AnyPoint = TypeVar("AnyPoint")
    """The point of a choice or a policy that is not further known: an array or a dict."""
    Point = TypeVar("Point")
    """What is played: an array, or on a `kb.MixedBox` a dict."""
    Decoded = TypeVar("Decoded", covariant=True)


class Searched(Protocol[Decoded]):
    """A domain that is searched, by what its points are: a `kb.Box` or a `kb.MixedBox`."""

    def decode(self, row: Any) -> Decoded:
        """Return the point nearest to a row."""
        ...


Playable = Searched[Point] | Arms | Contextual | npt.ArrayLike | Mapping[str, Any]
"""What a policy that plays boxes may play; a type checker reads from it what the points are."""


@dataclass(frozen=True, eq=False, slots=True)
class Choice(Generic[AnyPoint]):
    """What to play: the point, its number among the arms, and why.

    `policy.ask` returns one and `policy.tell` takes it back with the reward. A choice that nobody
    asked for is made by `policy.choice(arm)`, or directly:

    >>> from kernelbandits import Choice
    >>> Choice(x=[0.2, 0.7], arm=3).arm
    3
    """

    x: AnyPoint
    """The point: a row of the arms, or a dictionary of a mixed box."""
    arm: int | None = None
    """The number of the arm; None off a list of arms."""
    note: Mapping[str, float] = field(default_factory=dict)
    """What `tell` and the reader will want to know, e.g. the weight drawn; may be empty."""
    context: Any = None
    """What was given in the round beside the choice."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choice):
            return NotImplemented
        x: Any = self.x
        same = self.arm == other.arm and self.note == other.note and np.array_equal(x, other.x)
        return same and np.array_equal(self.context, other.context)

    __hash__ = None  # type: ignore[assignment]
