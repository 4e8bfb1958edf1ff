"""Random exploration beside a rule: every second round plays an arm drawn evenly from all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration import Law, PointMass
from kernelbandits.policies.base import LEAST_RIDGE, Choice
from kernelbandits.policies.fields import field_of
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.searching import Circumstances
from kernelbandits.streams import Randomness
from kernelbandits.widths import Width


class EverySecondRandom(IndexPolicy):
    """Odd rounds play the greatest index, even rounds any arm with the same chance; both are rounds of the game.

    What arms cost counts in odd rounds only.
    """

    def __init__(self, domain: Any, kernel: Any, *, noise_scale: float, ties: str) -> None:
        scale = checks.scale(type(self).__name__, "noise_scale", noise_scale)
        super().__init__(domain, kernel, ridge=max(scale**2, LEAST_RIDGE), ties=ties)
        if scale:
            self._say_once(
                f"its guarantee is for rewards without noise; with R = {scale:g} it is a heuristic"
            )

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """mean + weight width sd in odd rounds; in even rounds all arms are alike."""
        index = super().index(t, weight, points)
        return index if t % 2 else np.zeros_like(index)

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        if t % 2:
            return super()._ask(t, randomness, given)
        offer, ahead = self._offer(None, given.costs), self._ahead(given.pending)
        field = field_of(self.domain, given.context, given.arms)
        spot, note = field.drawn(randomness, t), {"random": 1.0, "weight": 0.0} | ahead.note
        cost = offer.cost(spot.arm) if offer else {}
        return self._choice(spot, field, ahead.posterior, note | cost)


class GPUCBPlus(EverySecondRandom):
    """Kim & Sanz-Alonso (2024), GP-UCB+: odd rounds play argmax mean + D sd, even rounds a random arm.

    Without noise |f - mean| <= D sd always. The ridge is R^2 and no less than 1e-8.
    """

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        norm_bound: float,
        noise_scale: float = 0.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, noise_scale=noise_scale, ties=ties)
        if checks.scale("GPUCBPlus", "norm_bound", norm_bound) == 0:
            self._say_once("norm_bound D = 0 makes its width degenerate")
        width = Width("D", lambda t: (norm_bound, 0.0, 0.0))
        self._set(
            width, PointMass(1.0), noise_scale=noise_scale, norm_bound=norm_bound, gain="none"
        )


class ExploitPlus(EverySecondRandom):
    """Kim & Sanz-Alonso (2024), EXPLOIT+: odd rounds play argmax mean, even rounds a random arm."""

    def __init__(
        self, domain: Any, kernel: Any, *, noise_scale: float = 0.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, noise_scale=noise_scale, ties=ties)
        self._set(
            Width("none", lambda t: (1.0, 0.0, 0.0)),
            PointMass(0.0),
            noise_scale=noise_scale,
            gain="none",
        )

    def _check_optimism(self, law: Law) -> None:
        """Its exploration is the random rounds, not the weight."""
