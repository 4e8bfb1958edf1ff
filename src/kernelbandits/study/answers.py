"""What the results so far say: which row is likely best, and what is left to gain."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices
from kernelbandits.policies.explanation import COMPARED, draw_functions, select_contenders
from kernelbandits.runtime import single_threaded
from kernelbandits.study.belief import Belief, calibrated
from kernelbandits.study.player import Player
from kernelbandits.study.state import State
from kernelbandits.study.values import Best, Untested

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
        """The arm of the greatest estimate among all that are allowed, measured or not."""
        return self._greatest(self.allowed)

    @cached_property
    def recommended(self) -> int | None:
        """The arm of the greatest estimate among those allowed whose candidate has a value.

        Rows that were never measured are not recommended, however promising: nobody has seen them
        work. None while no allowed candidate has a value.
        """
        measured = self.allowed[self.measured[self.player.rows[self.allowed]]]
        return self._greatest(measured) if len(measured) else None

    @cached_property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Which rows describe a candidate that has a value."""
        kinds = self.player.kinds
        return np.isin(kinds, kinds[list(self.state.counts)])

    def _greatest(self, arms: Indices) -> int:
        """Of some arms that of the greatest estimate.

        Of equal ones the first whose row was measured, or else whose candidate was, in another row.
        """
        mean = self.belief.mean[arms]
        equal = arms[mean >= mean.max() - TIE * max(1.0, abs(float(mean.max())))]
        itself = [arm for arm in equal if self.state.counts.get(self.row(arm))]
        copies = [arm for arm in equal if self.measured[self.row(arm)]]
        return int((itself or copies or list(equal))[0])

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
        """How many candidates were compared, in words, if not all of them."""
        n = len(np.unique(self.player.kinds[self.player.rows][self.allowed]))
        return f" (of the {COMPARED} most promising)" if n > COMPARED else ""

    def best(self) -> Best | None:
        """The row to recommend: of those measured, that of the best estimate."""
        arm = self.recommended
        if arm is None:
            return None
        row, (low, high), chance = self.row(arm), self.interval(arm), self.chances(arm, arm)[0]
        alike = np.flatnonzero(self.player.kinds == self.player.kinds[row])
        results = sum(self.state.counts.get(int(one), 0) for one in alike)
        label = self.candidates.label(row)
        return Best(
            row=row,
            x=self.candidates.x(row),
            mean=self.mean(arm),
            low=low,
            high=high,
            probability=chance,
            results=results,
            label=label,
            untested=self.untested(),
        )

    def untested(self) -> Untested | None:
        """The row of the best estimate of all, where that was never measured."""
        arm, row = self.greedy, self.row(self.greedy)
        if self.recommended is None or self.measured[row]:
            return None
        low, high = self.interval(arm)
        above = "higher" if self.scale.sign > 0 else "lower"
        sentence = f"Row {row} has a {above} estimate but was never measured."
        return Untested(row, self.candidates.x(row), self.mean(arm), low, high, sentence)

    def chances(self, here: int, other: int) -> tuple[float, float]:
        """Of two arms to be the best candidate."""
        kept, draws = self.drawn(here)
        kinds = self.player.kinds[self.player.rows]
        best = kinds[kept[draws.argmax(1)]]
        return float((best == kinds[here]).mean()), float((best == kinds[other]).mean())

    def improvement(self, arm: int) -> float:
        """E[max f - f(arm)]: what stopping now with this arm loses on average."""
        kept, draws = self.drawn(arm)
        best = draws[:, np.flatnonzero(kept == arm)[0]]
        return float(self.scale.length((draws.max(1) - best).mean()))
