"""Floors: what any policy should beat."""

from __future__ import annotations

from typing import Any

from kernelbandits import widths
from kernelbandits.exploration import Law, PointMass
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.streams import as_randomness


class Greedy(IndexPolicy):
    """w = 0 in every round: play the greatest estimate, never explore. No guarantee, and none expected."""

    def __init__(self, domain: Any, kernel: Any, *, ridge: float = 1.0, ties: str = "random") -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set(widths.self_normalised(0.0, 1.0, ridge, 0.5), PointMass(0.0), gain="none")

    def _check_optimism(self, law: Law) -> None:
        """A floor does not nag."""


class UniformRandom(Policy):
    """Every arm with the same chance in every round; the tie's uniform chooses it."""

    def __init__(self, domain: Any, kernel: Any, *, ridge: float = 1.0, ties: str = "random") -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self.settings |= {"exploration": "uniform over the arms", "gain": "none"}

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        arm = int(as_randomness(rng).uniform("tie", t) * len(self.domain))
        return Choice(self.domain.points[arm], arm)
