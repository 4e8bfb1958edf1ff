"""What the results so far say: which row is likely best, and what is left to gain."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.policies.explanation import COMPARED, draw_functions, select_contenders
from kernelbandits.runtime import single_threaded
from kernelbandits.study.belief import Belief, calibrated
from kernelbandits.study.player import Player
from kernelbandits.study.state import State
from kernelbandits.study.values import Best

TIE = 1e-12
INTERVAL = 1.959963984540054
"""Half of the 95 % interval of a normal, in sd."""


class Answers:
    """By a belief about f after the results of a state; all numbers in the target's own units."""

    def __init__(self, player: Player, state: State, belief: Belief | None = None) -> None:
        self.player, self.state, self.candidates = player, state, player.candidates
        self.scale = state.scale
        self.belief = calibrated(player) if belief is None else belief

    @cached_property
    def allowed(self) -> Indices:
        """The arms that may be the answer."""
        return np.flatnonzero(self.candidates.allowed_rows[self.player.rows])

    @property
    def known(self) -> bool:
        """Whether there is any value."""
        return any(self.state.counts.values())

    @cached_property
    def greedy(self) -> int:
        """The arm of the greatest estimate among those allowed; of equal ones the first that was measured."""
        mean = self.belief.mean[self.allowed]
        equal = self.allowed[mean >= mean.max() - TIE * max(1.0, abs(float(mean.max())))]
        measured = [arm for arm in equal if self.state.counts.get(self.row(arm))]
        return int(measured[0] if measured else equal[0])

    def row(self, arm: int) -> int:
        return int(self.player.rows[arm])

    def mean(self, arm: int) -> float:
        return float(self.scale.outward(self.belief.mean[arm]))

    def sd(self, arm: int) -> float:
        return float(self.scale.length(self.belief.sd[arm]))

    def interval(self, arm: int) -> tuple[float, float]:
        """95 % of the posterior of f there."""
        reach = INTERVAL * self.sd(arm)
        return self.mean(arm) - reach, self.mean(arm) + reach

    @single_threaded
    def drawn(self, here: int) -> tuple[Indices, Array]:
        """The arms that may be best, different candidates all, with arm `here` among them; and draws of f at them."""
        others = self._different(here)
        place = int(np.flatnonzero(others == here)[0])
        kept = others[select_contenders(self.belief.mean[others], self.belief.sd[others], place)]
        return kept, draw_functions(self.belief.mean[kept], self.belief.covariance(kept))

    def _different(self, here: int) -> Indices:
        """One arm for each candidate allowed, and `here` for its own."""
        kinds = self.player.kinds[self.player.rows]
        rest = self.allowed[kinds[self.allowed] != kinds[here]]
        _, first = np.unique(kinds[rest], return_index=True)
        return np.sort(np.append(rest[first], here))

    @property
    def comparison(self) -> str:
        """Among how many candidates the best was sought, where these were not all."""
        n = len(np.unique(self.player.kinds[self.player.rows][self.allowed]))
        return f", among the {COMPARED} most promising" if n > COMPARED else ""

    def best(self) -> Best | None:
        """The row of the best estimate."""
        if not self.known:
            return None
        arm = self.greedy
        row, (low, high), chance = self.row(arm), self.interval(arm), self.chances(arm, arm)[0]
        alike = np.flatnonzero(self.player.kinds == self.player.kinds[row])
        results = sum(self.state.counts.get(int(one), 0) for one in alike)
        label = self.candidates.label(row)
        return Best(row, self.candidates.x(row), self.mean(arm), low, high, chance, results, label)

    def chances(self, here: int, other: int) -> tuple[float, float]:
        """Of two arms to be the best candidate."""
        kept, draws = self.drawn(here)
        kinds = self.player.kinds[self.player.rows]
        best = kinds[kept[draws.argmax(1)]]
        return float((best == kinds[here]).mean()), float((best == kinds[other]).mean())

    def improvement(self) -> float:
        """E[max f - f(likely best)]: what stopping now loses on average."""
        kept, draws = self.drawn(self.greedy)
        best = draws[:, np.flatnonzero(kept == self.greedy)[0]]
        return float(self.scale.length((draws.max(1) - best).mean()))
