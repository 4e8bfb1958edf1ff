"""Why this choice: the estimate there, what greed would do, and the chance that each is the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.truth import lower_root
from kernelbandits.streams import Streams

COMPARED = 200
"""The chance of being the best is that among so many rows of the greatest mean + 2 sd."""
DRAWS = 2000
OPTIMISM = 2.0


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a choice was made, in the units of the rewards."""

    x: Any
    mean: float
    sd: float
    weight: float | None
    """w_t as drawn; None where none was."""
    width: float | None
    """What multiplies w_t sd."""
    greedy: Any
    """The point of the greatest estimate."""
    greedy_mean: float
    greedy_sd: float
    chance: float
    """That this choice is the best of those compared, under the posterior; on a box, to within a tenth of R."""
    greedy_chance: float
    compared: int
    """How many points were compared: those that may yet be the best."""
    first: bool = False
    """Whether it was made before anything was known."""

    @property
    def bonus(self) -> float | None:
        """w_t width_t sd: what was added to the estimate."""
        return None if self.weight is None or self.width is None else self.weight * self.width * self.sd

    def sentence(self) -> str:
        """The same in words."""
        if self.first:
            return f"{show(self.x)} is one of the first choices: too little is known for anything better."
        return f"{show(self.x)}: {self._estimate()}{self._index()}. {self._rival()}"

    __str__ = sentence

    def _estimate(self) -> str:
        return f"estimate {self.mean:.4g} with sd {self.sd:.2g}, best with chance {self.chance:.2g}"

    def _index(self) -> str:
        if self.weight is None or self.width is None or self.bonus is None:
            return ""
        index = f"{self.mean + self.bonus:.4g}"
        return f", index {index} = estimate + weight {self.weight:.3g} x width {self.width:.3g} x sd"

    def _rival(self) -> str:
        """What greed would have done."""
        if same(self.x, self.greedy):
            return "It is the greedy choice as well."
        told = f"estimate {self.greedy_mean:.4g}, sd {self.greedy_sd:.2g}, best with chance {self.greedy_chance:.2g}"
        return f"Greed would take {show(self.greedy)} ({told})."


def same(x: Any, z: Any) -> bool:
    return bool(x == z) if isinstance(x, dict) else bool(np.array_equal(np.asarray(x), np.asarray(z)))


def show(x: Any) -> str:
    """A point in few digits."""
    if isinstance(x, dict):
        return ", ".join(f"{name} = {short(value)}" for name, value in x.items())
    return "(" + ", ".join(short(value) for value in x) + ")"


def short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def chances(mean: Array, covariance: Array, margin: float) -> Array:
    """P(f(x_i) >= max f - margin), f ~ N(mean, covariance), by simulation with numbers that are always the same."""
    n = len(mean)
    root = lower_root(covariance + np.eye(n) * 1e-10 * max(float(covariance.diagonal().max()), 1e-300), least=0.0)
    draws = mean + Streams(0).generator(0, 0, n).standard_normal((DRAWS, n)) @ root.T
    shares: Array = (draws >= draws.max(1, keepdims=True) - margin).mean(0)
    return shares


def contenders(mean: Array, sd: Array) -> Indices:
    """The rows of the greatest mean + 2 sd."""
    return np.argsort(-(mean + OPTIMISM * sd), kind="stable")[:COMPARED]
