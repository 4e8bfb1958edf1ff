"""What the results so far say: which row is likely best, why a row was suggested, whether one may stop."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits.checks import Array, Indices, TheoryWarning
from kernelbandits.policies.explanation import contenders, simulated
from kernelbandits.study.player import Player
from kernelbandits.study.settings import AUTO
from kernelbandits.study.state import State, Trial
from kernelbandits.study.values import Best, Explained, Stop, shown
from kernelbandits.theory import confidence_band
from kernelbandits.threads import single_threaded

INTERVAL = 1.959963984540054
"""Half of the 95 % interval of a normal, in sd."""


class Answers:
    """Of a policy that has learnt what a state has; all numbers in the target's own units."""

    def __init__(self, player: Player, state: State) -> None:
        self.player, self.state, self.candidates = player, state, player.candidates
        self.scale = state.scale
        self._mean, self._sd = player.estimates()

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
        """The arm of the greatest estimate among those allowed, the lowest on ties."""
        return int(self.allowed[self._mean[self.allowed].argmax()])

    def mean(self, arm: int) -> float:
        return float(self.scale.outward(self._mean[arm]))

    def sd(self, arm: int) -> float:
        return float(self.scale.length(self._sd[arm]))

    def interval(self, arm: int) -> tuple[float, float]:
        """95 % of the posterior of f there."""
        reach = INTERVAL * self.sd(arm)
        return self.mean(arm) - reach, self.mean(arm) + reach

    @single_threaded
    def drawn(self, here: int) -> tuple[Indices, Array]:
        """The arms that may be best and arm `here`, and draws of f at them."""
        others = self.allowed if here in self.allowed else np.append(self.allowed, here)
        place = int(np.flatnonzero(others == here)[0])
        kept = others[contenders(self._mean[others], self._sd[others], place)]
        return kept, simulated(self._mean[kept], self.player.covariance(kept))

    def best(self) -> Best | None:
        """The row of the best estimate."""
        if not self.known:
            return None
        arm = self.greedy
        row, (low, high) = int(self.player.rows[arm]), self.interval(arm)
        chance = self._chance(arm, arm)
        return Best(row, self.candidates.x(row), self.mean(arm), low, high, chance, self.state.counts.get(row, 0))

    def _chance(self, arm: int, here: int) -> float:
        kept, draws = self.drawn(here)
        place = int(np.flatnonzero(kept == arm)[0])
        return float((draws[:, place] >= draws.max(1)).mean())

    def improvement(self) -> float:
        """E[max f - f(likely best)]: what stopping now loses on average."""
        kept, draws = self.drawn(self.greedy)
        best = draws[:, np.flatnonzero(kept == self.greedy)[0]]
        return float(self.scale.length((draws.max(1) - best).mean()))

    def explained(self, trial: Trial, pending: int) -> Explained:
        """Why this row."""
        arm, best, note = self.player.choice(trial).arm, self.greedy, trial.note
        assert arm is not None
        told = self._index(note)
        row, rival = trial.row, int(self.player.rows[best])
        chance, rival_chance = (self._chance(one, arm) for one in (arm, best))
        why = self.sentence(trial.row, note, first=bool(note.get("first")), again=trial.again)
        beside = self._beside(row, chance, rival, rival_chance)
        return Explained(
            trial.number, row, self.candidates.x(row), self.mean(arm), self.sd(arm), *told, chance,
            rival, self.candidates.x(rival), self.mean(best), self.sd(best), rival_chance,
            len(self.state.results), pending, f"{why} {beside}",
        )  # fmt: skip

    def _beside(self, row: int, chance: float, rival: int, rival_chance: float) -> str:
        if not self.known:
            return "Nothing was known yet."
        if row == rival:
            return f"It was best with chance {chance:.2g}."
        return f"It was best with chance {chance:.2g}, row {rival} with chance {rival_chance:.2g}."

    def _index(self, note: Mapping[str, float]) -> tuple[float | None, float | None, float | None, float | None]:
        """Weight, width, bonus and index of a note, in the target's units."""
        weight, width = note.get("weight"), note.get("width")
        if weight is None or width is None or "mean" not in note:
            index = note.get("index")
            return weight, width, None, None if index is None else float(self.scale.outward(index))
        reach = weight * width * note["sd"]
        return weight, width, float(self.scale.length(reach)), float(self.scale.outward(note["mean"] + reach))

    def sentence(self, row: int, note: Mapping[str, float], first: bool = False, again: int | None = None) -> str:
        """The choice in words, with what greed would have done."""
        offered = f"Offered again, since trial {again} was not heard of. " if again is not None else ""
        if first or not self.state.results:
            return f"{offered}One of the first choices: too little is known for anything better."
        if "mean" not in note:
            return f"{offered}Chosen by chance alone."
        mean, sd = self.scale.outward(note["mean"]), self.scale.length(note["sd"])
        waiting = f" with {int(note['pending'])} pending" if note.get("pending") else ""
        return f"{offered}Estimate {mean:.4g}, sd {sd:.2g}{waiting}{self._bonus(note)}. {self._rival(row)}"

    def _bonus(self, note: Mapping[str, float]) -> str:
        weight, width, bonus, index = self._index(note)
        if bonus is None:
            return "" if index is None else f", index {index:.4g}"
        sign = "-" if self.scale.sign < 0 else "+"
        return f"; index {index:.4g} = estimate {sign} weight {weight:.3g} x width {width:.3g} x sd"

    def _rival(self, row: int) -> str:
        rival = int(self.player.rows[self.greedy])
        if rival == row:
            return "It is the greedy choice as well."
        x = shown(self.candidates.x(rival))
        return (
            f"Greed would take row {rival} ({x}; estimate {self.mean(self.greedy):.4g}, sd {self.sd(self.greedy):.2g})."
        )

    def stop(self) -> Stop:
        """A confidence statement where the theory has one, else the improvement expected."""
        if not self.known:
            return Stop("none", "No: nothing is known yet.", False, None)
        return self._proved() or self._expected()

    def _proved(self) -> Stop | None:
        """Where R, D, centre and spread were fixed beforehand and every result counts as it came."""
        settings, tolerance = self.player.policy.settings, self.state.settings.tolerance
        given: Any = [settings.get(name) for name in ("noise_scale", "norm_bound")]
        whole = self.candidates.allowed_rows[self.player.rows].all()
        if self.state.settings.policy == AUTO or self.doubts or None in given or not whole:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TheoryWarning)
                band = confidence_band(self.player.policy.posterior, given[0], given[1], self.state.settings.delta)
        except ValueError:
            return None
        loss = float(self.scale.length(band.simple_regret(band.recommended)))
        done = None if tolerance is None else band.may_stop(tolerance / self.scale.spread)
        return Stop("theory", f"{self._verdict(done)}{self._in_words(band, loss)}", done, loss)

    @property
    def doubts(self) -> list[str]:
        """Why the theory does not speak here: what it takes as given was chosen by the results."""
        state = self.state
        reasons = {
            "centre and spread are fitted to the results": state.settings.centre is None,
            "results failed": any(trial.value is None for trial in state.results),
            "results were withdrawn": any(trial.state == "withdrawn" for trial in state.trials.values()),
            "settings were changed when results were known": state.meddled,
        }
        return [reason for reason, holds in reasons.items() if holds]

    def _in_words(self, band: Any, loss: float) -> str:
        names = [f"row {row}" for row in self.player.rows]
        target = self.state.settings.target
        if band.contradiction:
            return str(band.sentence(names))
        known = band.sentence(names).rsplit("; playing", 1)[0].replace("arm", "row")
        return f"{known}; row {self.player.rows[band.recommended]} loses at most {loss:.3g} of {target}."

    def _expected(self) -> Stop:
        left, tolerance = self.improvement(), self.state.settings.tolerance
        done = None if tolerance is None else left <= tolerance
        row = int(self.player.rows[self.greedy])
        what = f"stopping with row {row} loses {left:.3g} of {self.state.settings.target} on average, by the model"
        return Stop("improvement", f"{self._verdict(done)}{what[0].upper()}{what[1:]} (no guarantee).", done, left)

    def _verdict(self, done: bool | None) -> str:
        tolerance = self.state.settings.tolerance
        if done is None:
            return ""
        return f"Yes, within the tolerance {tolerance:g}: " if done else f"Not yet, the tolerance is {tolerance:g}: "
