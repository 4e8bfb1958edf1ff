"""Asking for rows: chosen and written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.policies import Auto
from kernelbandits.storage import Draft, Event
from kernelbandits.study.driver import Driver
from kernelbandits.study.explaining import Reasons
from kernelbandits.study.state import OFFERS, RESULTS, REVISED, State, Trial
from kernelbandits.study.units import Scale
from kernelbandits.study.values import Suggestion, plain
from kernelbandits.study.writer import Writer
from kernelbandits.tables.candidates import Candidates

OWN_UNITS = ("mean", "index", "sample")
LENGTHS = ("sd", "noise_scale", "improvement", "gain")


@dataclass(frozen=True)
class Asker:
    """Who asks, for how many rows and for how long."""

    n: int
    worker: str | None
    lease: float | None
    """Seconds; those of the study unless given."""
    key: str
    """Of this call, which finds its events by it if the connection was cut in between."""

    def names(self) -> Iterator[str]:
        return (f"{self.key}/{number}" for number in range(1, self.n + 1))

    @property
    def settings_key(self) -> str:
        """Of the settings event that this call wrote, if the policy had a new revision."""
        return f"{self.key}/settings"


def ask(writer: Writer, state: State, driver: Driver, asker: Asker) -> list[Event]:
    """Return the asks: pending ones of the worker, then abandoned rows, then new choices."""
    written = [state.keys[key] for key in asker.names() if key in state.keys]
    held = [
        trial for trial in state.pending.values() if asker.worker and trial.worker == asker.worker
    ]
    kept = [
        trial.asked
        for trial in held
        if trial.asked and trial.asked not in written and trial.until >= writer.now
    ]
    mine = [*kept, *written][: asker.n]
    if written:
        return mine
    waiting, abandoned = release_overdue(writer, state)
    keys = asker.names()
    while len(mine) < asker.n:
        try:
            draft = draft_ask(driver, state, waiting, abandoned, asker, next(keys))
        except StudyConflict:
            if not mine:
                raise
            needed = f"{asker.n} rows that have no result and are not pending"
            raise StudyConflict(
                f"ask needs {needed}, got {len(mine)} (repeats are off). No row was asked for"
            ) from None
        if "again" not in draft.body:
            write_revision(writer, state, driver, asker)
        event = writer.append(draft)
        waiting.append(Trial(event.trial or 0, event.row or 0, "pending", asked=event))
        mine.append(event)
    return mine


def write_revision(writer: Writer, state: State, driver: Driver, asker: Asker) -> None:
    """Write, before its first choice, that another revision of the policy chooses from now on."""
    before, now = state.settings, driver.policy.revision
    written = any(event.key == asker.settings_key for event in writer.written)
    if before.revision != now and not written:
        body = {"settings": replace(before, revision=now).body, REVISED: before.revision}
        writer.append(Draft(kind="settings", key=asker.settings_key, body=body))


def revision_notice(event: Event) -> str:
    """What a settings event written by `revise` means, in words."""
    policy, now = (event.body["settings"][name] for name in ("policy", "revision"))
    return (
        f"this release has revision {now} of {policy}, and the rows so far were chosen by revision "
        f"{event.body[REVISED]}; from now on revision {now} chooses, with the settings of this "
        f"study (event {event.seq})"
    )


def follows_new_fit(state: State, driver: Driver, asker: Asker) -> bool:
    """Whether no other ask came between the last fit of the policy and this one.

    What a fit says of the settings is said with the first ask after it, and not with every ask.
    The events tell, so it holds for asks of other processes too.
    """
    policy, told = driver.policy, 0
    for event in reversed(state.events):
        if (event.key or "").startswith(asker.key):
            continue
        if event.kind == "asked":
            return isinstance(policy, Auto) and policy.n_rewards - told < policy.calibration.rewards
        if event.kind not in (*RESULTS, "released"):
            # A correction or a change of settings: everything was learnt and fitted again.
            return True
        told += event.kind == "told"
    return True


def count_notices(events: Sequence[Event], candidates: Candidates) -> list[str]:
    """Say so if there were not enough different candidates for all rows asked for."""
    kinds = len({tuple(candidates.x(event.row or 0).items()) for event in events})
    if kinds == len(events):
        return []
    available = f"only {format_count(kinds, 'different candidate')} could be suggested"
    return [f"{len(events)} rows were asked for, but {available}; some come more than once"]


def release_overdue(writer: Writer, state: State) -> tuple[list[Trial], list[Trial]]:
    """Write which leases ended; return the pending trials and those to suggest again."""
    overdue = [trial for trial in state.pending.values() if trial.until < writer.now]
    for trial in overdue:
        writer.append(
            Draft(kind="released", trial=trial.number, row=trial.row, body={"overdue": True})
        )
    waiting = [trial for trial in state.pending.values() if trial not in overdue]
    return waiting, [
        *state.abandoned.values(),
        *(trial for trial in overdue if trial.offers < OFFERS),
    ]


def draft_ask(
    driver: Driver,
    state: State,
    waiting: list[Trial],
    abandoned: list[Trial],
    asker: Asker,
    key: str,
) -> Draft:
    """The next row: one that was abandoned, the asker's own first, or the policy's choice."""
    number = max(state.last_trial, *(trial.number for trial in waiting), 0) + 1
    row, body = reoffer_row(driver, state, waiting, abandoned, asker) or choose_row(
        driver, state, waiting, number
    )
    body |= {"lease": asker.lease or state.settings.lease} | (
        {"crowd": len(waiting)} if waiting else {}
    )
    return Draft(kind="asked", trial=number, row=row, worker=asker.worker, key=key, body=body)


def reoffer_row(
    driver: Driver, state: State, waiting: list[Trial], abandoned: list[Trial], asker: Asker
) -> tuple[int, dict[str, Any]] | None:
    """A row that was abandoned, with what was noted and said of it."""
    abandoned.sort(key=lambda trial: (trial.worker != asker.worker, trial.number))
    while abandoned:
        trial = abandoned.pop(0)
        if trial.asked and driver.may_offer(trial, waiting, state):
            before = {name: trial.asked.body[name] for name in ("note", "scale", "greedy")}
            why = (
                f"Suggested again, because trial {trial.number} got no result in time. "
                f"{trial.asked.body['why']}"
            )
            return trial.row, {
                **before,
                "why": why,
                "revision": trial.revision,
                "again": trial.number,
            }
    return None


def choose_row(
    driver: Driver, state: State, waiting: list[Trial], number: int
) -> tuple[int, dict[str, Any]]:
    """The policy's choice, and why, in the units of now."""
    row, choice = driver.choose(number, waiting, state)
    reasons, note = (
        Reasons(driver, state),
        {name: float(value) for name, value in choice.note.items()},
    )
    body: dict[str, Any] = {
        "note": {name: plain(value) for name, value in note.items()},
        "greedy": reasons.greedy,
    }
    return row, {
        **body,
        "scale": [state.scale.centre, state.scale.spread],
        "why": reasons.why(row, note),
        "revision": driver.policy.revision,
    }


def suggestion(
    event: Event, candidates: Candidates, sign: float, notices: tuple[str, ...] = ()
) -> Suggestion:
    """Return an ask as a suggestion, with the units of that time."""
    trial = Trial(event.trial or 0, event.row or 0, "pending", asked=event)
    x, body, scale = candidates.x(trial.row), event.body, trial.scale(sign)
    told = {name: in_own_units(name, value, scale) for name, value in trial.note.items()}
    return Suggestion(
        trial.number,
        trial.row,
        x,
        body["why"],
        told,
        body["greedy"],
        trial.until,
        event.worker,
        trial.again,
        candidates.label(trial.row),
        trial.revision,
        notices,
    )


def in_own_units(name: str, value: float, scale: Scale) -> float:
    if name in OWN_UNITS:
        return float(scale.outward(value))
    return float(scale.length(value)) if name in LENGTHS else value
