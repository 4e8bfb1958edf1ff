"""Telling results: checked against the state and written in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Indices, StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.reconciliation import Step
from kernelbandits.study.state import State, Trial
from kernelbandits.study.values import AlreadyTold, Told
from kernelbandits.study.writer import Writer
from kernelbandits.tables.results import MADE, Result


@dataclass(frozen=True)
class Keyed:
    """A result with the key of the call that brings it."""

    result: Result
    key: str
    given: bool
    """Whether the key came with it; otherwise it only serves to find the event again."""
    table: str | None = None
    """The call, if it brings a table: a line that is already stored is skipped, not refused."""
    named: bool = False
    """Whether the user gave the key, so that a new key is a new result."""


def check_result(trial: Any, value: Any, row: Any, failed: Any, rows: int) -> Result:
    """One result: a trial or a row, and a value or that it failed."""
    checks.needs(
        (trial is None) != (row is None), "tell", "a trial or row=, one of them", (trial, row)
    )
    checks.needs(isinstance(failed, bool), "tell", "failed true or false", failed)
    if failed:
        checks.needs(value is None, "tell", "no value for a measurement that failed", value)
    else:
        checks.needs(value is not None, "tell", "a value, or failed=True", value)
    number = None if trial is None else checks.whole("tell", "trial", trial)
    place = None if row is None else check_row(row, rows)
    reward = None if failed else checks.reward(value) + 0.0
    return Result(trial=number, row=place, value=reward, failed=failed, key=None, line=0)


def check_row(row: Any, rows: int) -> int:
    place = checks.whole("tell", "row", row, least=0)
    checks.needs(place < rows, "tell", f"a row below {rows}", row)
    return place


def with_key(result: Result, prefix: str | None, number: int, fresh: str) -> Keyed:
    """Give a line of a table its key: that of the call with its number, its own, or a new one."""
    if prefix is not None:
        return Keyed(result, f"{prefix}/{number}", True, fresh, named=True)
    if result.key is not None:
        return Keyed(result, result.key, True, fresh, named=not result.key.startswith(MADE))
    return Keyed(result, f"{fresh}/{number}", False, fresh)


def tell(
    writer: Writer, state: State, kinds: Indices, steps: Sequence[Step], worker: str | None
) -> list[Told]:
    """Write all results, or raise for the first that cannot be stored."""
    teller = Teller(writer, state, kinds, worker)
    told = [teller.take(step) for step in steps]
    rescale(writer, state)
    return told


class Teller:
    """Writes several results in one transaction; each one sees those before it."""

    def __init__(self, writer: Writer, state: State, kinds: Indices, worker: str | None) -> None:
        self.writer, self.state, self.worker = writer, state, worker
        self.kinds = kinds
        """Equal for rows of the same candidate."""
        self.next = state.last_trial
        self.keys: dict[str, Event] = {}
        self.trials: dict[int, Event] = {}

    def take(self, step: Step) -> Told:
        """Tell a line, correct a stored result by it, or leave it out."""
        if step.stored is None:
            return self.tell(step.line)
        return self._correct(step.line, step.stored) if step.corrects else known(step.stored)

    def _correct(self, one: Keyed, trial: Trial) -> Told:
        # The key of an earlier value of the same line is taken.
        key = one.key if one.key not in self.state.keys else f"{one.key}/{one.table}"
        body = {"was": trial.value, "reason": f"corrected in {one.result.place}"}
        event = self.writer.append(
            Draft(
                kind="corrected",
                trial=trial.number,
                row=trial.row,
                value=one.result.value,
                key=key,
                worker=self.worker,
                body=body | {"table": one.table},
            )
        )
        return Told(trial.number, trial.row, one.result.value, True, key, event.seq)

    def tell(self, one: Keyed) -> Told:
        before = self.keys.get(one.key) or self.state.keys.get(one.key)
        if before is not None:
            return self._again(before, one)
        trial, row = self._place(one.result)
        stored = self._stored_result(trial)
        if stored is not None:
            return self._repeat_or_refuse(one, stored)
        kind, value = ("failed", None) if one.result.failed else ("told", one.result.value)
        said: dict[str, Any] = {
            "kind": kind,
            "trial": trial,
            "row": row,
            "value": value,
            "key": one.key,
        }
        event = self.writer.append(
            Draft(**said, worker=self.worker, body={"table": one.table} if one.table else {})
        )
        self.keys[one.key] = self.trials[trial] = event
        key = one.key if one.given else None
        return Told(
            trial, row, value, True, key, event.seq, *self._pending_trials_of(one.result, trial)
        )

    def _place(self, result: Result) -> tuple[int, int]:
        """Trial and row; a row that nobody asked for makes a trial of its own."""
        if result.trial is None:
            assert result.row is not None
            return self._open(result.row) or self._new_trial(result.row)
        known = self.state.trials.get(result.trial)
        if known is None:
            raise StudyConflict(
                f"tell needs a trial that was asked for, got trial {result.trial}{where(result)}. "
                "To store a result of a row that nobody asked for, tell the row instead of a trial."
            )
        if result.row is not None and self.kinds[result.row] != self.kinds[known.row]:
            raise StudyConflict(
                f"tell needs row {known.row} for trial {known.number}, "
                f"got row {result.row}{where(result)}"
            )
        if known.state == "withdrawn":
            raise StudyConflict(
                f"tell needs a trial that was not withdrawn, got trial {known.number}. "
                "To store a new result of its row, tell the row instead of the trial."
            )
        return known.number, known.row

    def _open(self, row: int) -> tuple[int, int] | None:
        """Return the oldest pending trial of this candidate that has no worker.

        The result of a row is taken as the result of that trial.
        """
        for trial in self.state.pending.values():
            free = trial.worker is None and trial.number not in self.trials
            if free and self.kinds[trial.row] == self.kinds[row]:
                return trial.number, trial.row
        return None

    def _new_trial(self, row: int) -> tuple[int, int]:
        self.next += 1
        return self.next, row

    def _pending_trials_of(self, result: Result, trial: int) -> tuple[int | None, tuple[int, ...]]:
        """Return the pending trial that the result of a row settles, and those that stay pending.

        Of a result that names its trial there is nothing to say.
        """
        if result.row is None or result.trial is not None:
            return None, ()
        known = self.state.trials.get(trial)
        waiting = tuple(
            one.number
            for one in self.state.pending.values()
            if one.number not in self.trials and self.kinds[one.row] == self.kinds[result.row]
        )
        return (trial if known and known.asked else None), waiting

    def _stored_result(self, trial: int) -> Event | None:
        """The result that a trial has."""
        known = self.state.trials.get(trial)
        return self.trials.get(trial) or (
            known.told if known and known.state in ("told", "failed") else None
        )

    def _repeat_or_refuse(self, one: Keyed, stored: Event) -> Told:
        """A second result: no news if it is the same and came with a table, else refused."""
        trial = self.state.trials.get(stored.trial or 0)
        value = trial.value if trial and trial.told is stored else stored.value
        if one.table and value == one.result.value:
            return Told(stored.trial or 0, stored.row or 0, value, False, None, stored.seq)
        raise AlreadyTold(stored.trial or 0, value, where(one.result))

    def _again(self, event: Event, one: Keyed) -> Told:
        """The same call again counts once; the same key for something else is refused."""
        result = one.result
        same = (
            event.kind in ("told", "failed", "corrected")
            and event.value == result.value
            and result.trial in (None, event.trial)
        )
        if not same or not (
            result.row is None or self.kinds[result.row] == self.kinds[event.row or 0]
        ):
            raise StudyConflict(
                f"tell needs a new key for a new result, got {one.key!r}, "
                f"the key of {describe_event(event)}{where(result)}"
            )
        key = one.key if one.given else None
        accepted = one.table is None or event.body.get("table") == one.table
        return Told(
            event.trial or 0,
            event.row or 0,
            event.value,
            accepted,
            key,
            event.seq,
            *self._pending_trials_of(result, event.trial or 0),
        )


def known(trial: Trial) -> Told:
    """The stored result of a trial, which a line of a table says again."""
    seq = trial.told.seq if trial.told else 0
    return Told(trial.number, trial.row, trial.value, False, None, seq)


def describe_event(event: Event) -> str:
    value = "a failure" if event.value is None else f"{event.value:g}"
    return f"{value} for trial {event.trial}"


def where(result: Result) -> str:
    return f" ({result.place})" if result.place else ""


def rescale(writer: Writer, state: State) -> None:
    """Write centre and spread if the new events change them.

    The first results and corrections of them do; later results do not, unless all before them
    were equal.
    """
    results = all(event.kind in ("told", "failed") for event in writer.written)
    if (results and state.scale_settled) or not writer.written:
        return
    after = State.of([*state.events, *writer.written])
    if after.due_scale != after.scaled:
        centre, spread = after.due_scale
        writer.append(
            Draft(kind="settings", body={"auto": True, "centre": centre, "spread": spread})
        )
