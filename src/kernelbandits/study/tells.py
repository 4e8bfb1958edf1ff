"""Tells: from the state of a study and results to the events that store them.

Each result is checked against the state; nothing is written here. A command that is repeated
because its connection was cut finds its events by their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Indices, StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.calls import escape_key, key_conflict, show_key
from kernelbandits.study.events import RESULTS, State, Trial
from kernelbandits.study.names import check_name
from kernelbandits.study.reconciliation import TellStep, check_candidate
from kernelbandits.study.values import AlreadyTold, Told, describe_candidate
from kernelbandits.tables.candidates import Candidates
from kernelbandits.tables.export import DETAILS
from kernelbandits.tables.growing import describe_point, grow_candidates
from kernelbandits.tables.results import MADE, Result

if TYPE_CHECKING:
    from kernelbandits.study.places import Place

LONGEST_NOTE = 2000


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
    """Whether the user gave the key of this line, so that a new key is a new result."""
    call: str | None = None
    """The key that the user gave to the call: its lines are compared with those told under it."""
    remark: Mapping[str, Any] = field(default_factory=dict)
    """What else the event says, such as why a measurement failed."""

    @property
    def given_key(self) -> str | None:
        """The key as the user wrote it; None if it was made here."""
        return show_key(self.key) if self.given else None


def check_result(
    trial: Any, value: Any, row: Any, failed: Any, place: Place, x: Any = None
) -> Result:
    """Check and return one result: a trial, a row or a point, and a value or that it failed."""
    other = "row=" if place.space is None else "x="
    checks.needs(
        place.space is None or row is None,
        "tell",
        "a point (x= in Python, --at in a command) in a study over a space",
        row,
    )
    given = row if x is None else x
    checks.needs(
        (trial is None) != (given is None),
        "tell",
        f"a trial or {other}, one of them",
        (trial, given),
    )
    checks.needs(isinstance(failed, bool), "tell", "failed true or false", failed)
    if failed:
        checks.needs(value is None, "tell", "no value for a measurement that failed", value)
    else:
        checks.needs(value is not None, "tell", "a value, or failed=True", value)
    number = None if trial is None else checks.whole("tell", "trial", trial)
    needed = "one number as value; several are replicates of a new result"
    single = value is None or checks.is_number(value) or not isinstance(value, Sequence)
    checks.needs(single, "tell", needed, value)
    reward = None if failed else checks.reward(value) + 0.0
    where = None if row is None else check_row(row, len(place))
    if x is not None and place.space is not None:
        where = place.add(x, "tell")
    elif isinstance(place, Candidates) and x is not None:
        place.parse_point(x)
    return Result(trial=number, row=where, value=reward, failed=failed, key=None, line=0)


def check_details(sem: Any, note: Any, by: Any, values: int = 1) -> dict[str, Any]:
    """Check and return what else an event says of a result: its standard error, a note, by whom."""
    details: dict[str, Any] = {}
    if sem is not None:
        checks.needs(values == 1, "tell", "sem with one value, not with replicates", sem)
        details["sem"] = checks.positive("tell", "sem", sem)
        checks.needs(details["sem"] <= LARGEST_REWARD, "tell", "a smaller sem", sem)
    if note:
        right = isinstance(note, str) and len(note) <= LONGEST_NOTE and note.isprintable()
        checks.needs(right, "tell", f"a note of one line, at most {LONGEST_NOTE} letters", note)
        details["note"] = note
    name = check_name("name of who measured it", by)
    return details | ({} if name is None else {"by": name})


def find_pending_trial(state: State, samples: Indices, trial: int | None, row: int | None) -> Trial:
    """Return the pending trial that ends without a value: by its number, or the oldest of a row."""
    for one in state.pending.values():
        if one.number == trial or (row is not None and samples[one.row] == samples[row]):
            return one
    got = f"trial {trial}" if row is None else f"row {row}"
    raise StudyConflict(f"missing needs a trial that is pending, got {got}")


def check_row(row: Any, rows: int, owner: str = "tell") -> int:
    place = checks.whole(owner, "row", row, least=0)
    checks.needs(place < rows, owner, f"a row below {rows}", row)
    return place


def with_key(result: Result, call: str | None, number: int, fresh: str) -> Keyed:
    """Give a line of a table its key: its own, behind that of the call if it has one, or a new one.

    The number of a line is no part of it. It changes when a gap before the line is filled in.
    """
    sem, note, by = (result.details.get(name) for name in DETAILS)
    # Values of several targets were checked when they were read.
    values = {name: part for name, part in result.details.items() if name not in DETAILS}
    details = check_details(sem, note, by) | values
    if result.key is not None:
        named = not result.key.startswith(MADE)
        own = escape_key(result.key) if named else result.key
        key = own if call is None else f"{call}/{own}"
        return Keyed(result, key, True, fresh, named=named, call=call, remark=details)
    return Keyed(result, f"{fresh}/{number}", False, fresh, remark=details)


def tell(
    state: State,
    place: Place,
    steps: Sequence[TellStep],
    worker: str | None,
    before: Sequence[Draft] = (),
) -> tuple[list[Draft], list[Told]]:
    """Turn all results into events, or raise an error for the first that cannot be stored.

    before: events that are written first, such as a point off the table.
    """
    teller = Teller(state, place, worker, before)
    told = [teller.take(step) for step in steps]
    return teller.drafts, told


class Teller:
    """Checks several results of one transaction; each one sees those before it."""

    def __init__(
        self, state: State, place: Place, worker: str | None, before: Sequence[Draft] = ()
    ) -> None:
        self.state, self.place, self.worker = state, place, worker
        self.first_rows, self.samples = place.first_rows, place.samples
        """Equal for rows of the same candidate, and for rows of the same sample of it."""
        self.drafts: list[Draft] = [*before]
        self.next = state.last_trial
        self.keys: dict[str, Event] = {}
        self.trials: dict[int, Event] = {}

    def take(self, step: TellStep) -> Told:
        """Tell a line, correct a stored result by it, or leave it out."""
        if step.stored is None:
            return self.tell(step.line)
        return (
            self._correct(step.line, step.stored) if step.corrects else repeat_stored(step.stored)
        )

    def _correct(self, line: Keyed, trial: Trial) -> Told:
        # The key of an earlier value of the same line is taken.
        key = line.key if line.key not in self.state.keys else f"{line.key}/{line.table}"
        reason, value = f"corrected in {line.result.place}", line.result.value
        body = {**line.remark, "was": trial.value, "reason": reason, "table": line.table}
        event = self._add(
            kind="corrected", trial=trial.number, row=trial.row, value=value, key=key, body=body
        )
        shown = show_key(key)
        return Told(
            trial.number, trial.row, value, True, shown, event.seq, corrected=True, was=trial.value
        )

    def _add(self, **fields: Any) -> Event:
        """Add an event; return it as it will be stored, without time and checksum."""
        self.drafts.append(Draft(**fields, worker=self.worker))
        seq = len(self.state.events) + len(self.drafts)
        return Event(**fields, worker=self.worker, seq=seq, at=0.0, check="")

    def tell(self, line: Keyed) -> Told:
        before = self.keys.get(line.key) or self.state.keys.get(line.key)
        if before is not None:
            return self._answer_repeated(before, line)
        trial, row = self._place(line.result)
        stored = self._stored_result(trial)
        if stored is not None:
            return self._repeat_or_refuse(line, stored)
        missing = bool(line.remark.get("missing"))
        kind = "missing" if missing else "failed" if line.result.failed else "told"
        value = line.result.value
        body = {**line.remark, **({"table": line.table} if line.table else {})}
        event = self._add(kind=kind, trial=trial, row=row, value=value, key=line.key, body=body)
        self.keys[line.key] = self.trials[trial] = event
        said = (trial, row, value, True, line.given_key, event.seq)
        concerned = self._pending_trials_of(line.result, trial)
        error = None if value is None else body.get("sem")
        return Told(*said, *concerned, sem=error, missing=missing)

    def _place(self, result: Result) -> tuple[int, int]:
        """Return trial and row of a result; an unasked row makes a trial of its own."""
        if result.trial is None:
            assert result.row is not None
            return self._find_open_trial(result) or self._new_trial(result.row)
        known = self.state.trials.get(result.trial)
        if known is None:
            raise StudyConflict(
                f"tell needs a trial that was asked for, got trial {result.trial}"
                f"{describe_source(result)}. To store a result of a {self.place.noun} that nobody "
                f"asked for, tell the {self.place.noun} instead of a trial."
            )
        check_candidate(result, known, self.place)
        if known.state == "withdrawn":
            raise StudyConflict(
                f"tell needs a trial that was not withdrawn, got trial {known.number}. "
                f"To store a new result of its {self.place.noun}, tell the {self.place.noun} "
                "instead of the trial."
            )
        return known.number, known.row

    def _may_mean(self, result: Result, row: int | None) -> bool:
        """Tell whether a result may belong to a row.

        The row must be of its sample or, if it names no sample, of its candidate.
        """
        alike = self.first_rows if result.any_sample else self.samples
        return bool(alike[result.row or 0] == alike[row or 0])

    def _find_open_trial(self, result: Result) -> tuple[int, int] | None:
        """Return the oldest pending trial without a worker to which the result of a row belongs.

        The result is taken as the result of that trial.
        """
        for trial in self.state.pending.values():
            free = trial.worker is None and trial.number not in self.trials
            if free and self._may_mean(result, trial.row):
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
            if one.number not in self.trials
            and self.first_rows[one.row] == self.first_rows[result.row]
        )
        return (trial if known and known.asked else None), waiting

    def _stored_result(self, trial: int) -> Event | None:
        """Return the result that a trial has; None if it has none."""
        known = self.state.trials.get(trial)
        return self.trials.get(trial) or (
            known.told if known and known.state in ("told", "failed") else None
        )

    def _repeat_or_refuse(self, line: Keyed, stored: Event) -> Told:
        """Take a second result that is the same and came with a table as no news; refuse others."""
        trial = self.state.trials.get(stored.trial or 0)
        value = trial.value if trial and trial.told is stored else stored.value
        if line.table and value == line.result.value:
            return Told(stored.trial or 0, stored.row or 0, value, False, None, stored.seq)
        raise AlreadyTold(stored.trial or 0, value, describe_source(line.result))

    def _answer_repeated(self, event: Event, line: Keyed) -> Told:
        """Answer a repeated call, which counts once; refuse its key for something else."""
        result = line.result
        same = (
            event.kind in ("told", "failed", "corrected")
            and event.value == result.value
            and result.trial in (None, event.trial)
        )
        if not same or not (result.row is None or self._may_mean(result, event.row)):
            raise key_conflict("tell", line.given_key, event, describe_source(result))
        accepted = line.table is None or event.body.get("table") == line.table
        corrected = accepted and event.kind == "corrected"
        return Told(
            event.trial or 0,
            event.row or 0,
            event.value,
            accepted,
            line.given_key,
            event.seq,
            *self._pending_trials_of(result, event.trial or 0),
            corrected=corrected,
            was=event.body["was"] if corrected else None,
        )


def repeat_stored(trial: Trial) -> Told:
    """Return the stored result of a trial, which a line of a table says again."""
    seq = trial.told.seq if trial.told else 0
    return Told(trial.number, trial.row, trial.value, False, None, seq)


def describe_source(result: Result) -> str:
    return f" ({result.place})" if result.place else ""


def rescale(state: State, written: Sequence[Event]) -> list[Draft]:
    """Return the event of a new centre and spread, if events that were written change them.

    The first results and corrections of them do; later results do not, unless all before them
    were equal.
    """
    changing = [event for event in written if event.kind in CHANGING]
    later = all(one.kind in RESULTS and not state.precedes_first_values(one) for one in changing)
    if not changing or (state.scale_settled and later):
        return []
    after = State.of([*state.events, *written])
    if after.due_scale == after.scaled:
        return []
    centre, spread = after.due_scale
    return [Draft(kind="settings", body={"auto": True, "centre": centre, "spread": spread})]


CHANGING = (*RESULTS, "corrected", "withdrawn", "undone", "settings")
"""Events that may change centre and spread."""


def add_point(
    place: Candidates, x: Mapping[str, Any], key: str
) -> tuple[Candidates, int, list[Draft], list[str]]:
    """Return the table with a candidate, its row, the event of a point off the table, and notices.

    There is no event if a row of the table is this candidate.
    """
    row = place.find_row(x)
    if row is not None:
        return place, row, [], []
    point = describe_point(place, x)
    draft = Draft(kind="added", key=f"{key}/point", body=point.body)
    row = len(place)
    draft = replace(draft, body={**draft.body, "first": row})
    told = (
        f"no row of the table has {describe_candidate(place.parse_point(x))}: its result is "
        f"learnt as a point off the table (row {row}), which is never suggested"
    )
    return grow_candidates(place, point.body), row, [draft], [told, *point.notices]
