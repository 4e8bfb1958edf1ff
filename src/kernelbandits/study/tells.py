"""Tells: from the state of a study and results to the events that store them.

Values are stored under the names of their targets. A trial is pending until all of them are there,
and its lease does not end once there is one. Each result is checked against the state; nothing is
written here. A command that is repeated because its connection was cut finds its events by their
keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.censored import BELOW, NOT_DETECTED, Censored, side_of, split_sides
from kernelbandits.checks import LARGEST_REWARD, StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.calls import Call, escape_key, key_conflict, show_key
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.events import RESULTS, State, Trial
from kernelbandits.study.growing import draft_point, grow_candidates
from kernelbandits.study.limits import UNLIMITED, check_inside
from kernelbandits.study.names import check_name
from kernelbandits.study.place import as_list, is_list
from kernelbandits.study.reconciliation import (
    TellStep,
    adds,
    check_call,
    check_candidate,
    differs,
    overlaps,
    reconcile,
    remark_stored,
)
from kernelbandits.study.targets import Range, Target, check_names
from kernelbandits.study.values import AlreadyTold, Told
from kernelbandits.study.words import describe_point
from kernelbandits.tables.cells import parse_result
from kernelbandits.tables.results import MADE, Result

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

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

    @property
    def body(self) -> dict[str, Any]:
        """What its event says: values, standard errors, what is missing, and remarks.

        A failure has no values.
        """
        result = self.result
        values, sides = split_sides(result.values)
        body: dict[str, Any] = {} if result.failed else {"values": values}
        body |= {"beyond": sides} if sides else {}
        body |= {"sems": dict(result.sems)} if result.sems else {}
        body |= {"missing": list(result.missing)} if result.missing else {}
        return body | dict(self.remark) | ({"table": self.table} if self.table else {})


def check_result(
    targets: Sequence[Target],
    place: Place,
    trial: Any = None,
    row: Any = None,
    x: Any = None,
    value: Any = None,
    failed: Any = False,
    sem: Any = None,
    missing: Any = False,
    owner: str = "tell",
) -> Result:
    """Check and return one result: a trial, a row or a point, and its values or that it failed.

    `owner` is the operation that an error names.
    """
    where = None if row is None else place.check_row(row, owner)
    given, by_hand = row if x is None else x, trial is not None and x is not None
    single = (trial is None) != (given is None) or (by_hand and row is None)
    checks.needs(single, owner, f"a trial or {place.argument}=, one of them", (trial, given))
    checks.needs(isinstance(failed, bool), owner, "failed true or false", failed)
    known: dict[str, Any] = {}
    if failed:
        checks.needs(value is None, owner, "no value for a measurement that failed", value)
        checks.needs(sem is None, owner, "no sem for a failure", sem)
        checks.needs(not missing, owner, "a measurement failed or missing, not both", missing)
    else:
        known = check_values(owner, targets, value, sem, missing)
        ends = not known["values"]
        needed = "a trial or a row of which all values are missing"
        checks.needs(not ends or x is None, owner, needed, x)
    number = None if trial is None else checks.whole(owner, "trial", trial)
    if x is not None:
        where = place.check_point(x, by_hand)
    return Result(trial=number, row=where, failed=failed, line=0, by_hand=by_hand, **known)


def fill_conditions(
    state: State, place: Place, trial: Any, x: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the conditions of a trial that were really set; those not named are as asked for."""
    number = checks.whole("tell", "trial", trial)
    if number not in state.trials:
        raise StudyConflict(f"tell needs a trial that was asked for, got trial {number}")
    checks.needs(isinstance(x, Mapping) and len(x) > 0, "tell", "conditions by their names", x)
    asked = place.x(state.trials[number].asked_row)
    return place.parse_point({**asked, **place.name_columns(x)})


def check_values(
    owner: str, targets: Sequence[Target], value: Any, sem: Any, missing: Any
) -> dict[str, dict[str, float] | tuple[str, ...]]:
    """Check and return values, standard errors and missing targets, as a `Result` has them.

    A number is the value of the only target.
    """
    names = [one.name for one in targets]
    by_name = f"a value for each target by its name ({', '.join(names)})"
    values = name_numbers(owner, names, value, by_name)
    sems = name_numbers(owner, names, sem, "sem by the names of targets")
    listed = isinstance(missing, (bool, str, list, tuple))
    checks.needs(listed, owner, "missing true or false, or the names of targets", missing)
    absent: Iterable[str] = [missing] if isinstance(missing, str) else missing or ()
    if missing is True:
        absent = [name for name in names if name not in values]
        needed = "no value, sem or failed for a missing one, and a trial or row"
        checks.needs(bool(absent), owner, needed, value)
    check_names(owner, targets, [*values, *sems, *absent])
    for name in absent:
        checks.needs(name not in values, owner, "a target measured or missing, not both", name)
    rewards = {name: check_value(owner, name, given) for name, given in values.items()}
    for name in sems:
        known = name in values and side_of(rewards[name]) is None
        checks.needs(known, owner, "sem only for a target that has a value", name)
    needed = "a value, or failed=True" if len(names) == 1 else "a value of at least one target"
    checks.needs(bool(values or absent), owner, needed, value)
    for name, error in sems.items():
        of_name = "sem" if len(names) == 1 else f"sem of {name}"
        sems[name] = checks.positive(owner, of_name, error)
        checks.needs(sems[name] <= LARGEST_REWARD, owner, f"a smaller {of_name}", error)
    return {"values": rewards, "sems": sems, "missing": tuple(absent)}


def check_value(owner: str, name: str, given: Any) -> float:
    """Return a value as a number, or as `Censored` if it is a limit, such as "<0.5" or "n.d."."""
    limit = parse_result(given.strip()) if isinstance(given, str) else given
    if not isinstance(limit, Censored):
        needed = f'{name} as a number, or as the text of a limit such as "<0.5"'
        checks.needs(not isinstance(given, str), owner, needed, given)
        return checks.reward(given) + 0.0
    if limit != NOT_DETECTED:
        checks.reward(float(limit))
    return limit


def place_limits(ranges: Mapping[str, Range], result: Result) -> Result:
    """Return a result in which n.d. has a number: the lower limit of its target."""
    lacking = [name for name, y in result.values.items() if y == NOT_DETECTED]
    if not lacking:
        return result
    ends = {name: ranges.get(name, UNLIMITED)[0] for name in lacking}
    for name, least in ends.items():
        if math.isinf(least):
            raise ValueError(
                f"tell needs the detection limit of {name} in place of n.d., such as <0.5"
                f"{describe_source(result)}; or set the lower limit of {name} once, for instance "
                "study change --limits 0.., and n.d. is taken for <0"
            )
    fresh = {name: Censored(least, BELOW) for name, least in ends.items()}
    return replace(result, values={**result.values, **fresh})


def name_numbers(owner: str, names: Sequence[str], given: Any, needed: str) -> dict[str, Any]:
    """Return numbers by target: those of a mapping, or the number of the only target."""
    if isinstance(given, Mapping):
        return dict(given)
    checks.needs(given is None or len(names) == 1, owner, needed, given)
    one_value = checks.is_number(given) or isinstance(given, str)
    several = isinstance(given, Sequence) and not one_value
    single = "one number as value; several are replicates of a new result"
    checks.needs(not several, owner, single, given)
    return {} if given is None else {names[0]: given}


def split_replicates(targets: Sequence[Target], value: Any, sem: Any) -> list[Any]:
    """Return the values of one tell: several of a single target are replicates."""
    if not is_list(value) or len(targets) > 1:
        return [value]
    values = as_list(value)
    checks.needs(len(values) > 0, "tell", "at least one value", value)
    single = sem is None or len(values) == 1
    checks.needs(single, "tell", "sem with one value, not with replicates", sem)
    return values


def list_replicates(state: State, first: Result, values: Sequence[Any]) -> list[Result]:
    """Return further values of the candidate of a first result, each as a result of its row."""
    row = first.row
    if first.trial is not None and not first.by_hand:
        # A trial that does not exist is refused with the first value.
        known = state.trials.get(first.trial)
        row = None if known is None else known.row
    [name] = first.values if values else [""]
    rewards = [check_value("tell", name, value) for value in values]
    again = replace(first, trial=None, row=row, by_hand=False)
    return [replace(again, values={name: reward}) for reward in rewards]


def with_call(results: Sequence[Result], call: Call, details: Mapping[str, Any]) -> list[Keyed]:
    """Give the result and the replicates of a call their keys; `details` are said of each."""
    names = (f"{call.key}/{i}" if i else call.key for i in range(len(results)))
    return [
        Keyed(one, own, call.given is not None, remark=details)
        for one, own in zip(results, names, strict=True)
    ]


def check_details(note: Any, by: Any) -> dict[str, Any]:
    """Check and return what else an event says of a result: a note, and who measured it."""
    details: dict[str, Any] = {}
    if note:
        right = isinstance(note, str) and len(note) <= LONGEST_NOTE and note.isprintable()
        checks.needs(right, "tell", f"a note of one line, at most {LONGEST_NOTE} letters", note)
        details["note"] = note
    name = check_name("name of who measured it", by)
    return details | ({} if name is None else {"by": name})


def with_key(result: Result, call: str | None, number: int, fresh: str) -> Keyed:
    """Give a line of a table its key: its own, behind that of the call if it has one, or a new one.

    The number of a line is no part of it. It changes when a gap before the line is filled in.
    """
    details = check_details(result.details.get("note"), result.details.get("by"))
    if result.key is not None:
        named = not result.key.startswith(MADE)
        own = escape_key(result.key) if named else result.key
        key = own if call is None else f"{call}/{own}"
        return Keyed(result, key, True, fresh, named=named, call=call, remark=details)
    return Keyed(result, f"{fresh}/{number}", False, fresh, remark=details)


def plan_tell(
    state: State,
    place: Place,
    results: Sequence[Keyed],
    worker: str | None,
    call: Call,
    repeats: str | None,
    x: Mapping[str, Any] | None,
) -> tuple[list[Draft], list[Told], list[str]]:
    """Return the events of a call, its answers, and what is to be said with them.

    `x` is the candidate of a single result, by its values. A candidate that is no row becomes a
    point off the table. `repeats` is that of `reconcile`.
    """
    # A key of another call is refused; a line that is stored already is known by its key.
    call.find_written(state)
    lines, before, remarks = list[Keyed](), list[Draft](), list[str]()
    for given_line in results:
        one = replace(given_line, result=place_limits(state.settings.ranges, given_line.result))
        given = one.result.x if x is None else x
        if one.result.by_hand and given is not None:
            one = replace(one, result=keep_row(state, place, one.result, given))
            remarks += place.remark_conditions(one.result.trial or 0, one.result.row)
        if given is not None and one.result.row is None:
            place, row, drafts, notices = add_point(place.table, given, one.key)
            before += drafts
            remarks += notices
            result = replace(one.result, row=row, any_sample=bool(place.labels), x=None)
            one = replace(one, result=result)
        lines.append(one)
    steps = reconcile(state, place, lines, repeats)
    drafts, told = tell(state, place, steps, worker, before)
    check_call(state, place, lines, told, repeats)
    return call.sign(drafts), told, [*remarks, *remark_stored(steps)]


def keep_row(state: State, place: Place, result: Result, x: Mapping[str, Any]) -> Result:
    """Return a result with the row of its trial, if the conditions are those asked for."""
    known = state.trials.get(result.trial or 0)
    if known is None or place.x(known.asked_row) != place.parse_point(x):
        return result
    return replace(result, row=known.asked_row)


def with_values(state: State, told: Told) -> Told:
    """Return a tell with the values that its trial has now, where they are shown by target."""
    if not state.settings.shows_targets:
        return told
    trial = state.trials[told.trial]
    left = [one.name for one in state.settings.wanted if one.name not in trial.values]
    needs = tuple(name for name in left if name not in trial.missing)
    failed = trial.state == "failed"
    return replace(
        told,
        value=trial.value,
        sem=trial.sem,
        values=dict(trial.values),
        combined=state.settings.combined,
        broken=tuple(
            f"{one.name} {one.sentence}"
            for one in state.settings.outcomes
            if one.name in trial.values and one.breaks_limit(trial.values[one.name])
        ),
        needs=() if failed else needs,
        missing=trial.state == "missing",
        failed=failed,
    )


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
        self.trials: dict[int, Trial] = {}
        """Trials that got results in this transaction, as they will be."""

    def take(self, step: TellStep) -> Told:
        """Tell a line, correct a stored result by it, or leave it out."""
        if step.stored is None:
            return self._tell(step.line)
        if step.corrects:
            return self._correct(step.line, step.stored)
        return self._repeat(step.stored)

    def _tell(self, line: Keyed) -> Told:
        before = self.keys.get(line.key) or self.state.keys.get(line.key)
        result = line.result
        if before is not None:
            self._check_repeated(before, line)
            accepted = line.table is None or before.body.get("table") == line.table
            return self._answer(before, line, accepted)
        known = self._place(result)
        if self._is_stored(line, known):
            return self._repeat(known)
        check_inside("tell", self.state.settings.ranges, result.values, describe_source(result))
        absent = len(result.missing) == len(self.state.settings.wanted)
        kind = "failed" if result.failed else "missing" if absent else "told"
        event = self._add(kind, known, line.key, line.body)
        state = "failed" if result.failed else "told"
        values = {**known.values, **result.values}
        self.trials[known.number] = replace(known, state=state, values=values, told=event)
        return self._answer(event, line, True)

    def _correct(self, line: Keyed, trial: Trial) -> Told:
        where = describe_source(line.result)
        check_inside("corrected", self.state.settings.ranges, line.result.values, where)
        check_complete("corrected", self.state, trial, line.result)
        # The key of an earlier value of the same line is taken.
        key = line.key if line.key not in self.state.keys else f"{line.key}/{line.table}"
        told = line.result.values
        changed = {name: y for name, y in told.items() if trial.values.get(name) != y}
        result = replace(line.result, trial=trial.number, values=changed or told)
        line = replace(line, key=key, given=True, result=result)
        reason = f"corrected in {result.place}"
        body = {**line.body, **describe_replaced(trial, result.values), "reason": reason}
        return self._answer(self._add("corrected", trial, key, body), line, True)

    def _add(self, kind: str, trial: Trial, key: str, body: Mapping[str, Any]) -> Event:
        """Add an event; return it as it will be stored, without time and checksum."""
        fields: dict[str, Any] = {
            "kind": kind,
            "trial": trial.number,
            "row": trial.row,
            "value": self.state.settings.single_value(body.get("values", {})),
            "key": key,
            "worker": self.worker,
            "body": body,
        }
        self.drafts.append(Draft(**fields))
        seq = len(self.state.events) + len(self.drafts)
        event = self.keys[key] = Event(**fields, seq=seq, at=0.0, check="")
        return event

    def _answer(self, event: Event, line: Keyed, accepted: bool) -> Told:
        """Return the answer to a line that an event stores, written now or by an earlier call."""
        body, settings = event.body, self.state.settings
        settles, waiting = self._pending_trials_of(line.result, event.trial or 0)
        return Told(
            trial=event.trial or 0,
            row=event.row or 0,
            value=event.value,
            beyond=body.get("beyond", {}).get(settings.wanted[0].name, ""),
            accepted=accepted,
            key=line.given_key,
            seq=event.seq,
            settles=settles,
            waiting=waiting,
            sem=None if event.value is None else body.get("sems", {}).get(settings.wanted[0].name),
            missing=event.kind == "missing",
            failed=event.kind == "failed" or (event.kind == "corrected" and "values" not in body),
            corrected=accepted and event.kind == "corrected",
            was=settings.single_value(body.get("was") or {}) if accepted else None,
        )

    def _repeat(self, trial: Trial) -> Told:
        """Return the stored result of a trial, which a line of a table says again."""
        seq = trial.told.seq if trial.told else 0
        value, failed = self.state.settings.single_value(trial.values), trial.state == "failed"
        value, side = None if value is None else float(value), side_of(value) or ""
        return Told(trial.number, trial.row, value, False, None, seq, failed=failed, beyond=side)

    def _place(self, result: Result) -> Trial:
        """Return the trial of a result; an unasked row makes a trial of its own."""
        ends = not (result.failed or result.values)
        known: Trial | None
        if result.trial is None:
            known = self._find_open_trial(result, any_worker=ends)
        else:
            known = self.trials.get(result.trial) or self.state.trials.get(result.trial)
        if ends and (known is None or known.number not in self.state.pending):
            got = self._name(result) if result.trial is None else f"trial {result.trial}"
            source = describe_source(result)
            raise StudyConflict(f"missing needs a trial that is pending, got {got}{source}")
        if result.trial is None:
            assert result.row is not None
            self.next += known is None
            return known or Trial(self.next, result.row, "pending")
        if known is None:
            raise StudyConflict(
                f"tell needs a trial that was asked for, got trial {result.trial}"
                f"{describe_source(result)}. To store a result of a {self.place.noun} that nobody "
                f"asked for, tell the {self.place.noun} instead of a trial."
            )
        if not result.by_hand:
            check_candidate(result, known, self.place)
        if known.state == "withdrawn":
            raise StudyConflict(
                f"tell needs a trial that was not withdrawn, got trial {known.number}. "
                f"To store a new result of its {self.place.noun}, tell the {self.place.noun} "
                "instead of the trial."
            )
        return self._set_by_hand(result, known) if result.by_hand else known

    def _set_by_hand(self, result: Result, known: Trial) -> Trial:
        """Return a trial at the conditions that were really set, which its first values settle."""
        row = known.row if result.row is None else result.row
        if known.values and row != known.row:
            raise StudyConflict(
                f"tell needs the conditions of trial {known.number} with its first value, "
                f"{self.place.name(known.row)}, got {self.place.name(row)}"
            )
        return replace(known, row=row)

    def _name(self, result: Result) -> str:
        """Return how people call the candidate of a result that names its row."""
        return "" if result.row is None else self.place.name(result.row)

    def _find_open_trial(self, result: Result, any_worker: bool) -> Trial | None:
        """Return the oldest pending trial to which the result of a row belongs; None if none does.

        It lacks these values. Trials that a worker has asked for are left out, unless a trial is to
        end without a value.
        """
        for trial in self.state.pending.values():
            free = trial.worker is None or any_worker
            if not free or not self._may_mean(result, trial.row):
                continue
            known = self.trials.get(trial.number, trial)
            # A failure concerns the whole measurement, and not what this transaction has told.
            open_ = known is trial or (bool(result.values) and known.state != "failed")
            if open_ and not {*result.values} & {*known.values}:
                return known
        return None

    def _may_mean(self, result: Result, row: int | None) -> bool:
        """Tell whether a result may belong to a row.

        The row must be of its sample or, if it names no sample, of its candidate.
        """
        alike = self.first_rows if result.any_sample else self.samples
        return bool(alike[result.row or 0] == alike[row or 0])

    def _is_stored(self, line: Keyed, trial: Trial) -> bool:
        """Tell whether a line of a table says again what its trial has; refuse other values.

        A single tell of what is stored already is a second result, and refused too.
        """
        result = line.result
        if not overlaps(result, trial):
            return False
        if line.table and not differs(result, trial):
            return not adds(result, trial)
        values = {name: y for name, y in trial.values.items() if name in result.values}
        stored = self.state.settings.result(values or trial.values)
        raise AlreadyTold(
            trial.number, None if trial.state == "failed" else stored, describe_source(result)
        )

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
            if one.number != trial
            and one.number not in self.trials
            and self.first_rows[one.row] == self.first_rows[result.row]
        )
        return (trial if known and known.asked else None), waiting

    def _check_repeated(self, event: Event, line: Keyed) -> None:
        """Check that a repeated call says the same as the first time; it counts once."""
        result = line.result
        values, sides = split_sides(result.values)
        same = event.body.get("values") == (None if result.failed else values)
        same = same and event.body.get("beyond", {}) == sides
        same = same and result.trial in (None, event.trial)
        if not same or not (result.row is None or self._may_mean(result, event.row)):
            raise key_conflict("tell", line.given_key, event, describe_source(result))


def check_complete(owner: str, state: State, trial: Trial, right: Result) -> None:
    """Refuse a correction after which a trial that failed would lack a value, and stay failed."""
    names = [one.name for one in state.settings.wanted]
    if trial.state == "failed" and not right.failed and {*right.values} != {*names}:
        raise StudyConflict(
            f"{owner} needs all targets of a failed trial ({', '.join(names)}), got "
            f"{', '.join(right.values)} of trial {trial.number}{describe_source(right)}"
        )


def describe_replaced(trial: Trial, values: Mapping[str, float]) -> dict[str, Any]:
    """Return what the event of a correction says of the values before; None for a failure."""
    failed = trial.state == "failed"
    was = {
        name: y if side_of(y) is None else str(y)
        for name, y in trial.values.items()
        if name in values or not values
    }
    return {"was": None if failed else was}


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
    body = {"auto": True, "centre": centre, "spread": spread, "results": len(after.first_values)}
    return [Draft(kind="settings", body=body)]


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
    point = draft_point(place, x)
    draft = Draft(kind="added", key=f"{key}/point", body=point.body)
    row = len(place)
    draft = replace(draft, body={**draft.body, "first": row})
    told = (
        f"no row of the table has {describe_point(place.parse_point(x))}: its result is "
        f"learnt as a point off the table (row {row}), which is never suggested"
    )
    return grow_candidates(place, point.body), row, [draft], [told, *point.notices]
