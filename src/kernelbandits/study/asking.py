"""Which rows next: decided and written in one turn at the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelbandits.policies import Choice
from kernelbandits.storage import Draft, Event
from kernelbandits.study.answers import Answers
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.pen import Pen
from kernelbandits.study.player import Player
from kernelbandits.study.state import OFFERS, State, Trial
from kernelbandits.study.units import Scale
from kernelbandits.study.values import Suggestion, plain

OWN_UNITS = ("mean", "index", "sample")
LENGTHS = ("sd",)


@dataclass(frozen=True)
class Asker:
    """Who asks, for how many rows and for how long."""

    n: int
    worker: str | None
    lease: float
    key: str
    """Of this call: by it the call finds its own events again if the connection was cut while they were written."""

    def names(self) -> Iterator[str]:
        return (f"{self.key}/{number}" for number in range(1, self.n + 1))


def ask(pen: Pen, state: State, player: Player, asker: Asker) -> list[Event]:
    """The asks of the trials to measure: those that the worker has, rows that were abandoned, then new ones."""
    written = [state.keys[key] for key in asker.names() if key in state.keys]
    if written:
        return written
    held = [trial for trial in state.pending.values() if asker.worker and trial.worker == asker.worker]
    mine = [trial.asked for trial in held if trial.asked and trial.until >= pen.now][: asker.n]
    waiting, abandoned = released(pen, state)
    keys = asker.names()
    while len(mine) < asker.n:
        draft = offered(player, state, waiting, abandoned, asker, next(keys))
        event = pen.append(draft)
        waiting.append(Trial(event.trial or 0, event.row or 0, "pending", asked=event))
        mine.append(event)
    return mine


def released(pen: Pen, state: State) -> tuple[list[Trial], list[Trial]]:
    """Who still waits, and whose rows may be offered again; that a lease ran out is written."""
    overdue = [trial for trial in state.pending.values() if trial.until < pen.now]
    for trial in overdue:
        pen.append(Draft(kind="released", trial=trial.number, row=trial.row, body={"overdue": True}))
    waiting = [trial for trial in state.pending.values() if trial not in overdue]
    return waiting, [*state.abandoned.values(), *(trial for trial in overdue if trial.offers < OFFERS)]


def offered(
    player: Player, state: State, waiting: list[Trial], abandoned: list[Trial], asker: Asker, key: str
) -> Draft:
    """The next row: one that was abandoned, the asker's own first, or the policy's choice."""
    number = max(state.last_trial, *(trial.number for trial in waiting), 0) + 1
    answers = Answers(player, state)
    abandoned.sort(key=lambda trial: (trial.worker != asker.worker, trial.number))
    while abandoned:
        trial = abandoned.pop(0)
        if player.may_offer(trial, waiting, state.counts):
            return drafted(answers, number, trial.row, trial.note, asker, key, trial.number)
    row, choice = player.choose(number, waiting, state.counts)
    return drafted(answers, number, row, noted(choice), asker, key)


def drafted(
    answers: Answers, number: int, row: int, note: Mapping[str, float], asker: Asker, key: str, again: int | None = None
) -> Draft:
    known = bool(answers.state.results)
    body: dict[str, Any] = {"note": {name: plain(value) for name, value in note.items()}, "lease": asker.lease}
    body["why"] = answers.sentence(row, note, first=bool(note.get("first")), again=again)
    body["scale"] = [answers.scale.centre, answers.scale.spread]
    body["greedy"] = int(answers.player.rows[answers.greedy]) if known else None
    if again is not None:
        body["again"] = again
    return Draft(kind="asked", trial=number, row=row, worker=asker.worker, key=key, body=body)


def noted(choice: Choice) -> dict[str, float]:
    return {name: float(value) for name, value in choice.note.items()}


def suggestion(event: Event, candidates: Candidates, sign: float) -> Suggestion:
    """What an asker is told of an ask, in the units of then."""
    trial = Trial(event.trial or 0, event.row or 0, "pending", asked=event)
    x, body, scale = candidates.x(trial.row), event.body, trial.scale(sign)
    told = {name: in_own_units(name, value, scale) for name, value in trial.note.items()}
    return Suggestion(
        trial.number, trial.row, x, body["why"], told, body["greedy"], trial.until, event.worker, trial.again
    )


def in_own_units(name: str, value: float, scale: Scale) -> float:
    if name in OWN_UNITS:
        return float(scale.outward(value))
    return float(scale.length(value)) if name in LENGTHS else value
