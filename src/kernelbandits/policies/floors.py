"""Floors: what any policy should beat."""

from __future__ import annotations

from typing import Any

from kernelbandits import widths
from kernelbandits.exploration import Law, PointMass
from kernelbandits.policies.base import Choice
from kernelbandits.policies.fields import field_of
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.searching import Circumstances, Searching, checked_choices
from kernelbandits.streams import Randomness


class Greedy(IndexPolicy):
    """w = 0 in every round: play the greatest estimate, never explore. No guarantee, and none expected."""

    def __init__(
        self, domain: Any, kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set(widths.self_normalised(0.0, 1.0, ridge, 0.5), PointMass(0.0), gain="none")

    def _check_optimism(self, law: Law) -> None:
        """A floor does not nag."""


class UniformRandom(Searching):
    """Every arm with the same chance in every round; the tie's uniform chooses it, the sample's normals a point."""

    def __init__(
        self, domain: Any, kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self.settings |= {
            "exploration": f"uniform over the {'arms' if self.finite else 'domain'}",
            "gain": "none",
        }

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        """What is pending does not matter, but it must be choices."""
        self._check_costs(given.costs)
        checked_choices(given.pending)
        field = field_of(self.domain, given.context, given.arms)
        spot = field.drawn(randomness, t)
        return Choice(spot.x, spot.arm, {}, field.context)
