"""A choice: what to play, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """What to play: the point, its number among the arms, and why.

    `policy.ask` returns one and `policy.tell` takes it back with the reward. A choice that nobody
    asked for is made by `policy.choice(arm)`, or directly:

    >>> Choice(x=[0.2, 0.7], arm=3).arm
    3
    """

    x: Any
    arm: int | None = None
    """The number of the arm; None off a list of arms."""
    note: Mapping[str, float] = field(default_factory=dict)
    """What `tell` and the reader will want to know, e.g. the weight drawn; may be empty."""
    context: Any = None
    """What was given in the round beside the choice."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choice):
            return NotImplemented
        same = self.arm == other.arm and self.note == other.note and np.array_equal(self.x, other.x)
        return same and np.array_equal(self.context, other.context)

    __hash__ = None  # type: ignore[assignment]
