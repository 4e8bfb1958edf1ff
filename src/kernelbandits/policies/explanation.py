"""Why this choice: the estimate there, what greed would do, and the chance that each is the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.posterior.truth import lower_root
from kernelbandits.streams import Streams

COMPARED = 200
"""The chance of being the best is that among so many rows: the greedy one, those of the greatest mean + 2 sd, and the
choice in place of the last of them if it is not there."""
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
    """What multiplied w_t sd when the choice was made."""
    greedy: Any
    """The point of the greatest estimate."""
    greedy_mean: float
    greedy_sd: float
    chance: float
    """That this choice is the best of those compared, under the posterior; on a box, to within a tenth of R.

    R is the noise scale that a policy was given or has fitted, or sqrt(ridge) where it has none.
    """
    greedy_chance: float
    compared: int
    """How many points were compared: those that may yet be the best."""
    first: bool = False
    """Whether it was made before anything was known."""
    pending: int = 0
    """How many rewards were pending when it was made."""
    pending_sd: float | None = None
    """The sd with these imagined, by which it was chosen; None where none were."""

    @property
    def bonus(self) -> float | None:
        """w_t width_t sd: what was added to the estimate, with the sd that the choice was made by."""
        sd = self.sd if self.pending_sd is None else self.pending_sd
        return None if self.weight is None or self.width is None else self.weight * self.width * sd

    def sentence(self) -> str:
        """The same in words."""
        if self.first:
            return f"{show(self.x)} is one of the first choices: too little is known for anything better."
        return f"{show(self.x)}: {self._estimate()}{self._index()}. {self._rival()}"

    __str__ = sentence

    def _estimate(self) -> str:
        best = f"best of the {self.compared} compared with chance {self.chance:.2g}"
        return f"estimate {self.mean:.4g} with sd {self.sd:.2g}, {best}"

    def _index(self) -> str:
        if self.weight is None or self.width is None or self.bonus is None:
            return ""
        index = f"{self.mean + self.bonus:.4g}"
        sd = (
            "sd"
            if self.pending_sd is None
            else f"sd {self.pending_sd:.2g} with {self.pending} pending"
        )
        return (
            f", index {index} = estimate + weight {self.weight:.3g} x width {self.width:.3g} x {sd}"
        )

    def _rival(self) -> str:
        """What greed would have done."""
        if same(self.x, self.greedy):
            return "It is the greedy choice as well."
        told = f"estimate {self.greedy_mean:.4g}, sd {self.greedy_sd:.2g}, best with chance {self.greedy_chance:.2g}"
        return f"Greed would take {show(self.greedy)} ({told})."


def same(x: Any, z: Any) -> bool:
    return (
        bool(x == z) if isinstance(x, dict) else bool(np.array_equal(np.asarray(x), np.asarray(z)))
    )


def show(x: Any) -> str:
    """A point in few digits."""
    if isinstance(x, dict):
        return ", ".join(f"{name} = {short(value)}" for name, value in x.items())
    return "(" + ", ".join(short(value) for value in x) + ")"


def short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def chances(mean: Array, covariance: Array, margin: float) -> Array:
    """P(f(x_i) >= max f - margin), f ~ N(mean, covariance), by simulation."""
    draws = simulated(mean, covariance)
    shares: Array = (draws >= draws.max(1, keepdims=True) - margin).mean(0)
    return shares


def simulated(mean: Array, covariance: Array) -> Array:
    """(DRAWS, n): f ~ N(mean, covariance), with numbers that are always the same.

    Those of a row do not depend on the rows after it.
    """
    n = len(mean)
    root = lower_root(
        covariance + np.eye(n) * 1e-10 * max(float(covariance.diagonal().max()), 1e-300), least=0.0
    )
    draws: Array = mean + (root @ Streams(0).generator(0, 0, 0).standard_normal((n, DRAWS))).T
    return draws


def contenders(mean: Array, sd: Array, here: int) -> Indices:
    """The greedy row and those of the greatest mean + 2 sd in their order, the last of them or else row `here` last."""
    hope = mean + OPTIMISM * sd
    hope[mean.argmax()] = np.inf
    ranked = np.argsort(-hope, kind="stable")[:COMPARED]
    last = ranked[-1] if here in ranked else here
    return np.append(np.sort(ranked[:-1]), last) if len(hope) > COMPARED else np.arange(len(hope))
