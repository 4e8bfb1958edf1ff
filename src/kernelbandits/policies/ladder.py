"""KernelUCB, and its ladder of precision levels with separate data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import argmax
from kernelbandits.exploration import PointMass
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import Posterior
from kernelbandits.streams import as_randomness


class KernelUCB(IndexPolicy):
    """Valko et al. (2013): mean + (eta / sqrt(ridge)) sd, eta = sqrt(2 ln(2 T |X| / delta)) unless it is given."""

    searches = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        horizon: int,
        delta: float = 0.1,
        ridge: float = 1.0,
        eta: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("KernelUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = checks.inside("KernelUCB", "delta", delta)
        factor = (
            math.sqrt(2 * math.log(2 * rounds * len(self.domain) / chance)) if eta is None else eta
        )
        width = widths.kernel_ucb(checks.scale("KernelUCB", "eta", factor), self.posterior.ridge)
        self._set(width, PointMass(1.0), delta=delta, eta=factor, gain="none")


@dataclass(frozen=True, eq=False, slots=True)
class Rung:
    """Where the ladder stops in a round; mean, sd and width are those of the arms alive, by the data of the level."""

    level: int
    explores: bool
    """Whether some arm is wider than 2^-level; if not, none is wider than 1 / sqrt(T)."""
    alive: Indices
    mean: Array
    sd: Array
    width: Array
    """What is added to the mean: the constant times sd."""

    @property
    def index(self) -> Array:
        """What the round maximises over the arms alive: the width of those wider than 2^-level, or mean + width."""
        if self.explores:
            return np.where(self.width > 2.0**-self.level, self.width, -np.inf)
        return self.mean + self.width


class SupKernelUCB(Policy):
    """Valko et al. (2013): every round climbs S = ceil(ln T) levels from (level 1, all arms), each with its own data.

    With mean and w = width sd of level s over the arms alive, and ucb = mean + w:
    all w <= 1 / sqrt(T): play the greatest ucb; its reward enters no level;
    all w <= 2^-s: keep the arms with ucb >= max ucb - 2^(1-s) and climb to level s + 1;
    else play the greatest w; its reward enters level s.

    width is D + (R / sqrt(ridge)) sqrt(2 ln(2 |X| T S / delta)), or eta / sqrt(ridge) where eta is given.
    """

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        ridge: float = 1.0,
        eta: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("SupKernelUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = self._bounded(noise_scale, norm_bound, delta)
        self.top = max(1, math.ceil(math.log(rounds)))
        claims = len(self.domain) * rounds * self.top
        if eta is None:
            self.width = widths.fixed_design(
                noise_scale, norm_bound, self.posterior.ridge, chance, claims
            )
        else:
            self.width = widths.kernel_ucb(
                checks.scale("SupKernelUCB", "eta", eta), self.posterior.ridge
            )
        self._scale = checks.number("SupKernelUCB", "width", self.width(1, 0.0))
        self.finest = 1 / math.sqrt(rounds)
        self.levels: dict[int, Posterior] = {}
        self.settings |= {"width": self.width.rule, "eta": eta, "levels": self.top, "gain": "none"}
        self.settings["exploration"] = "the greatest width of a level, or the greatest upper bound"

    def ladder(self) -> Rung:
        """The level at which the round stops, and the arms that reached it.

        It stops at level S at the latest: 2^-S <= T^(-ln 2) <= 1 / sqrt(T).
        """
        level, alive = 1, np.arange(len(self.domain))
        while True:
            mean, sd = self._estimates(level, alive)
            width = self._scale * sd
            widest = float(width.max())
            if widest <= self.finest or widest > 2.0**-level:
                return Rung(level, widest > self.finest, alive, mean, sd, width)
            upper = mean + width
            alive = alive[upper >= upper.max() - 2.0 ** (1 - level)]
            level += 1

    def _estimates(self, level: int, alive: Indices) -> tuple[Array, Array]:
        """Mean and sd of the arms alive by the data of one level; the prior's where it has none."""
        if level not in self.levels:
            return np.zeros(len(alive)), np.sqrt(self.posterior.prior[alive])
        posterior = self.levels[level]
        return posterior.mean[alive], posterior.sd[alive]

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        tie, rung = as_randomness(rng).uniform("tie", t), self.ladder()
        place = argmax(rung.index, self.ties, tie)
        arm = int(rung.alive[place])
        note = {"mean": float(rung.mean[place]), "sd": float(rung.sd[place]), "width": self._scale}
        note |= {
            "level": float(rung.level if rung.explores else 0),
            "alive": float(len(rung.alive)),
        }
        return Choice(self.domain.points[arm], arm, note)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        level = self._noted(note["level"]) if "level" in note else self._level_of(arm)
        known = (self.levels.get(level) or self._fresh()) if level else None
        self.posterior.update(arm, reward)
        if known:
            known.update(arm, reward)
            self.levels[level] = known

    def _noted(self, level: float) -> int:
        known = checks.is_number(level) and level in range(self.top + 1)
        checks.needs(known, "tell", f"a note with a level in 0..{self.top}", level)
        return int(level)

    def _level_of(self, arm: int) -> int:
        """The level that the reward of an arm enters by the state alone: where the ladder may explore it now, or 0."""
        rung = self.ladder()
        explored = rung.alive[rung.index > -np.inf] if rung.explores else ()
        return rung.level if arm in explored else 0
