"""Corrections, withdrawals, releases, changes and undo: the history keeps everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelbandits.checks import StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.state import RESULTS, State, Trial
from kernelbandits.study.writer import Writer


@dataclass(frozen=True)
class Editor:
    """Checks one change against the state and writes its event, under the key of the call."""

    writer: Writer
    state: State
    key: str

    def _write(self, **said: Any) -> Event:
        return self.writer.append(Draft(key=self.key, **said))

    def correct(self, trial: int | None, value: float | None, reason: str) -> Event:
        """Replace the result of a trial by another value, or by a failure (None)."""
        known = self._with_result("correct", trial or 0)
        body = {"was": known.value, "reason": reason}
        return self._write(
            kind="corrected", trial=known.number, row=known.row, value=value, body=body
        )

    def withdraw(self, trial: int, reason: str) -> Event:
        known = self._with_result("withdraw", trial)
        body = {"was": known.value, "reason": reason}
        return self._write(kind="withdrawn", trial=trial, row=known.row, body=body)

    def _with_result(self, owner: str, trial: int) -> Trial:
        known = self.state.trials.get(trial)
        if known is None or known.state not in RESULTS:
            there = "which does not exist" if known is None else f"which is {known.state}"
            raise StudyConflict(f"{owner} needs a trial with a result, got trial {trial}, {there}")
        return known

    def release(self, trial: int) -> Event:
        known = self.state.pending.get(trial)
        if known is None:
            raise StudyConflict(f"release needs a trial that is pending, got trial {trial}")
        return self._write(kind="released", trial=trial, row=known.row)

    def undo(self) -> Event:
        """Undo the last event that can be undone; an ask only while its trial is pending."""
        for event in reversed(self.state.standing):
            if event.kind != "asked" or event.trial in self.state.pending:
                body = {"of": event.seq, "kind": event.kind, "value": event.value}
                return self._write(kind="undone", trial=event.trial, row=event.row, body=body)
        raise StudyConflict(
            "undo needs an event that can be undone, got none: nothing is left to undo"
        )

    def change(self, settings: Mapping[str, Any]) -> Event:
        changed = self.state.settings.with_changes(settings)
        return self._write(kind="settings", body={"settings": changed.body})
