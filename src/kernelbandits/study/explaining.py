"""Why a row was suggested, by what the policy knew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kernelbandits.study.answers import Answers
from kernelbandits.study.belief import own
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.player import Player
from kernelbandits.study.state import State, Trial
from kernelbandits.study.units import Scale
from kernelbandits.study.values import Explained, shown


class Index(NamedTuple):
    """What decided, in the target's own units."""

    weight: float | None
    width: float | None
    bonus: float | None
    value: float | None


def index_of(note: Mapping[str, float], scale: Scale) -> Index:
    """By what the policy noted with its choice, in the units of that time."""
    weight, width = note.get("weight"), note.get("width")
    if weight is None or width is None or "mean" not in note:
        value = note.get("index")
        return Index(weight, width, None, None if value is None else float(scale.outward(value)))
    reach = weight * width * note["sd"]
    bonus, value = float(scale.length(reach)), float(scale.outward(note["mean"] + reach))
    return Index(weight, width, bonus, value)


class Reasons:
    """The words of a choice, by the estimate that the policy chose by."""

    def __init__(self, player: Player, state: State) -> None:
        self.player, self.state = player, state
        self.answers = Answers(player, state, own(player))
        self.scale = state.scale

    @property
    def greedy(self) -> int | None:
        """The row of the greatest estimate; none before there is any value."""
        return self.answers.row(self.answers.greedy) if self.answers.known else None

    def sentence(self, row: int, note: Mapping[str, float]) -> str:
        """The choice in words, with what greed would have done."""
        if note.get("first"):
            return "One of the first choices: too little is known for anything better."
        if not self.answers.known:
            return "No value is known yet: the policy goes by what it takes for granted."
        if "mean" not in note:
            return "Chosen by chance alone."
        mean, sd = self.scale.outward(note["mean"]), self.scale.length(note["sd"])
        waiting = f" with {int(note['pending'])} pending" if note.get("pending") else ""
        chosen = f"{self._bonus(note)}{self._worth(note)}{self._instead(note)}"
        return f"Estimate {mean:.4g}, sd {sd:.2g}{waiting}{chosen}. {self._rival(row)}"

    def _bonus(self, note: Mapping[str, float]) -> str:
        index = index_of(note, self.scale)
        if index.bonus is None:
            return "" if index.value is None else f", index {index.value:.4g}"
        sign = "-" if self.scale.sign < 0 else "+"
        parts = f"estimate {sign} weight {index.weight:.3g} x width {index.width:.3g} x sd"
        return f"; index {index.value:.4g} = {parts}"

    def _worth(self, note: Mapping[str, float]) -> str:
        """Where costs count, the index alone does not decide."""
        value = index_of(note, self.scale).value
        if "cost" not in note or value is None:
            return ""
        gain = abs(value - self.answers.mean(self.answers.greedy))
        return f"; {gain:.3g} more than the best estimate at cost {note['cost']:.3g} is the most for its cost"

    def _instead(self, note: Mapping[str, float]) -> str:
        if not note.get("instead"):
            return ""
        return "; the policy's own choice was not free, and of those free this has the most to hope for"

    def _rival(self, row: int) -> str:
        arm = self.answers.greedy
        rival, kinds = self.answers.row(arm), self.player.kinds
        if kinds[rival] == kinds[row]:
            return "It is the greedy choice as well."
        estimate = f"estimate {self.answers.mean(arm):.4g}, sd {self.answers.sd(arm):.2g}"
        return (
            f"Greed would take row {rival} ({shown(self.answers.candidates.x(rival))}; {estimate})."
        )

    def explained(self, trial: Trial, pending: int) -> Explained:
        """All of it; the chances are those at the noise that the policy was told of."""
        answers, note, arm, best = (
            self.answers,
            trial.note,
            self.player.arm(trial.row),
            self.answers.greedy,
        )
        row, rival, index = trial.row, answers.row(best), index_of(note, self.scale)
        chance, rival_chance = Answers(self.player, self.state).chances(arm, best)
        beside = self._beside(row, chance, rival, rival_chance)
        return Explained(
            trial.number, row, answers.candidates.x(row), answers.mean(arm), answers.sd(arm), *index, chance,
            rival, answers.candidates.x(rival), answers.mean(best), answers.sd(best), rival_chance,
            sum(self.state.counts.values()), pending, f"{self.sentence(row, note)} {beside}",
            trial.revision,
        )  # fmt: skip

    def _beside(self, row: int, chance: float, rival: int, rival_chance: float) -> str:
        if not self.answers.known:
            return "Nothing was known yet."
        if self.player.kinds[row] == self.player.kinds[rival]:
            return f"It was best with chance {chance:.2g}."
        return f"It was best with chance {chance:.2g}, row {rival} with chance {rival_chance:.2g}."


def stored_explanation(
    trial: Trial, before: State, candidates: Candidates, sentence: str
) -> Explained:
    """What was stored with the ask of a trial, of which nothing is recomputed."""
    assert trial.asked is not None
    note, body, scale = trial.note, trial.asked.body, trial.scale(before.settings.sign)
    greedy = body["greedy"]
    index = index_of(note, scale)
    return Explained(
        trial=trial.number,
        row=trial.row,
        x=candidates.x(trial.row),
        mean=float(scale.outward(note["mean"])) if "mean" in note else None,
        sd=float(scale.length(note["sd"])) if "sd" in note else None,
        weight=index.weight,
        width=index.width,
        bonus=index.bonus,
        index=index.value,
        chance=None,
        greedy=greedy,
        greedy_x=None if greedy is None else candidates.x(greedy),
        greedy_mean=None,
        greedy_sd=None,
        greedy_chance=None,
        results=sum(before.counts.values()),
        pending=len(before.pending),
        sentence=f"{body['why']} {sentence}",
        revision=trial.revision,
        stored=True,
    )
