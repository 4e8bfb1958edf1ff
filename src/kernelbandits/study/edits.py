"""Edits: corrections, withdrawals, releases, changes of settings and table, and undoing them.

Each function checks a command against the state and returns drafts of events; nothing is written
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.storage import Draft, Event
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.events import RESULTS, State, Trial
from kernelbandits.study.growing import Additions, check_permission
from kernelbandits.study.limits import check_inside, find_outside
from kernelbandits.study.settings import REVISION, Settings
from kernelbandits.study.tells import Keyed, check_complete, describe_replaced, place_limits
from kernelbandits.study.words import name_event
from kernelbandits.tables.results import Result

if TYPE_CHECKING:
    from kernelbandits.study.place import Place


def add(place: Candidates, rows: Additions, key: str) -> Draft:
    """Add rows at the end of the table."""
    return Draft(kind="added", key=key, body={**rows.body, "first": len(place)})


def permit(place: Candidates, rows: Sequence[int], permitted: bool, reason: str, key: str) -> Draft:
    """Forbid rows, or allow them again."""
    check_permission(place, rows, permitted)
    body = {"rows": list(rows), "reason": reason}
    return Draft(kind="allowed" if permitted else "forbidden", key=key, body=body)


def change_ranges(place: Place, ranges: Mapping[str, Any], key: str) -> list[Draft]:
    """Give ranges of a space other ends; no event if all have them already."""
    changed = place.with_ranges(ranges)
    before, after = dict(place.columns), dict(changed.columns)
    named = [name for name in ranges if after[name] != before[name]]
    body = {
        "ranges": {name: [after[name].low, after[name].high] for name in named},
        "before": {name: [before[name].low, before[name].high] for name in named},
    }
    return [Draft(kind="ranges", key=key, body=body)] if named else []


def check_unused(state: State, added: Event, undone: Collection[int]) -> None:
    """Refuse to undo an addition whose rows are used, or that is not the last one."""
    event = find_use(state, added, undone)
    if event is not None:
        raise StudyConflict(
            f"undo needs rows that nobody used since they were added, got {name_event(added)}, "
            f"whose rows {name_event(event)} needs. Nothing was undone; "
            "forbid the rows if they are not to be measured"
        )


def find_use(state: State, added: Event, undone: Collection[int]) -> Event | None:
    """Return the first event that needs the rows of an addition once some events are undone."""
    gone = {event.body["of"] for event in state.events if event.kind == "undone"} | {*undone}
    for event in state.events[added.seq :]:
        if event.seq in gone or event.kind in ("fitted", "settings", "undone"):
            continue
        used = event.row is not None and event.row >= added.body["first"]
        listed = any(row >= added.body["first"] for row in event.body.get("rows", ()))
        if used or listed or event.kind == "added":
            return event
    return None


def find_unused_points(state: State, undone: Collection[int]) -> list[Event]:
    """Return the points off the table that no result needs when some events are undone.

    The last one comes first. A point was added with its result, so it goes with the result. A point
    before rows that stay has to stay too, because it would change their numbers.
    """
    found: list[Event] = []
    for event in reversed([one for one in state.changes if one.kind == "added"]):
        if event.seq in undone:
            continue
        gone = {*undone, *(point.seq for point in found)}
        if not event.body.get("off_table") or find_use(state, event, gone) is not None:
            break
        found.append(event)
    return found


def correct(state: State, right: Result, reason: str, key: str) -> list[Draft]:
    """Replace the result of a trial, or values of some of its targets, or let it be a failure.

    No event if all of this is stored already.
    """
    known = trial_with_result("correct", state, right.trial or 0, begun=not right.failed)
    check_complete("correct", state, known, right)
    right = place_limits(state.settings.ranges, right)
    check_inside("correct", state.settings.ranges, right.values)
    lacking = [name for name in right.values if name not in known.values]
    if lacking and known.state != "failed":
        raise StudyConflict(
            f"correct needs targets that have a value, got {lacking[0]!r} of trial {known.number}, "
            "which has none; tell it"
        )
    if has_stored(known, right):
        return []
    line = Keyed(right, key, False)
    body = {**line.body, **describe_replaced(known, right.values), "reason": reason}
    value = state.settings.single_value(line.body.get("values", {}))
    draft = Draft(
        kind="corrected", trial=known.number, row=known.row, value=value, key=key, body=body
    )
    return [draft]


def has_stored(known: Trial, right: Result) -> bool:
    """Tell whether a trial has all values and standard errors of a result, or failed like it."""
    if right.failed or known.state == "failed":
        return right.failed and known.state == "failed"
    values = all(known.values.get(name) == value for name, value in right.values.items())
    return values and all(known.sems.get(name) == sem for name, sem in right.sems.items())


def find_last_result(state: State, trial: int) -> Event:
    """Return the last event that brought a result of a trial."""
    kinds = (*RESULTS, "corrected")
    own = (one for one in reversed(state.standing) if one.trial == trial and one.kind in kinds)
    return next(own)


def withdraw(state: State, trial: int, reason: str, key: str) -> Draft:
    """Let the result of a trial no longer count."""
    known = trial_with_result("withdraw", state, trial)
    body = {**describe_replaced(known, {}), "reason": reason}
    return Draft(kind="withdrawn", trial=trial, row=known.row, key=key, body=body)


def trial_with_result(owner: str, state: State, trial: int, begun: bool = False) -> Trial:
    """Return a trial that has a result or, if it may be `begun`, some of its values."""
    known = state.trials.get(trial)
    if known is None or not (known.state in RESULTS or (begun and known.values)):
        there = "which does not exist" if known is None else f"which is {known.state}"
        raise StudyConflict(f"{owner} needs a trial with a result, got trial {trial}, {there}")
    return known


def find_trial(owner: str, state: State, place: Place, trial: Any, label: Any) -> int:
    """Return the trial that is given by its number, or by the label of its row."""
    single = (trial is None) != (label is None)
    checks.needs(single, owner, "a trial or a label, one of them", (trial, label))
    if label is None:
        return checks.whole(owner, "trial", trial)
    return find_trial_of_row(owner, state, place, place.resolve_row(owner, label=label))


def find_trial_of_row(owner: str, state: State, place: Place, row: int) -> int:
    """Return the trial that is meant by the label of its row.

    It is the only one that was asked for, if it is to be explained, or the only one with a result.
    """
    asked, needed = owner == "explain", "a result"
    if asked:
        needed = "an ask"
    found = [
        trial.number
        for trial in state.trials.values()
        if row in (trial.row, trial.asked_row)
        and (trial.asked is not None if asked else trial.state in RESULTS)
    ]
    if len(found) != 1:
        there = "which has none" if not found else f"which has trials {', '.join(map(str, found))}"
        more = "" if not found else "; give the number of the trial"
        raise StudyConflict(
            f"{owner} needs the label of a row with {needed}, got {place.name(row)}, {there}{more}"
        )
    return found[0]


def release(state: State, spans: Iterable[range], key: str) -> list[Draft]:
    """Give up the pending trials in some ranges of numbers, all of them or none.

    A range without any pending trial is refused.
    """
    trials: set[int] = set()
    for span in spans:
        found = [trial for trial in state.pending if trial in span]
        if not found:
            raise StudyConflict(
                f"release needs trials that are pending, got trial {span[0]}. Nothing was released"
            )
        trials.update(found)
    return [
        Draft(kind="released", trial=trial, row=state.pending[trial].row, key=f"{key}/{number}")
        for number, trial in enumerate(sorted(trials))
    ]


def choose_undone(state: State, n: int) -> list[Event]:
    """Return the events of the last n steps that can be undone, the last first.

    A step is what one command wrote: all rows of an ask, all lines of a file.
    """
    steps: list[list[Event]] = []
    last: str | None = None
    for event in state.undoable():
        command = command_of(event)
        if steps and command is not None and command == last:
            steps[-1].append(event)
        else:
            steps.append([event])
        last = command
        if len(steps) > n:
            break
    if not steps:
        raise StudyConflict(
            "undo needs an event that can be undone, got none: nothing is left to undo"
        )
    if len(steps) < n:
        raise StudyConflict(
            f"undo needs at most {format_count(len(steps), 'step')}, because no more can be "
            f"undone, got {n}"
        )
    return [event for step in steps[:n] for event in step]


def check_last_step(state: State, event: int) -> None:
    """Refuse to undo another step than the last one that somebody saw.

    It is named by one of its events, or by a later event of that moment, such as the number of the
    last event in `status`. If a step was undone since then, another one is the last now.
    """
    last = choose_undone(state, 1)
    step = [one.seq for one in last]
    unchanged = all(one.kind != "undone" for one in state.events[event:])
    seen = max(step) <= event <= len(state.events) and unchanged
    if event not in step and not seen:
        raise StudyConflict(
            f"undo needs the last step, got event {event}; the last step is now "
            f"{name_event(last[0])}. Nothing was undone"
        )


def command_of(event: Event) -> str | None:
    """Return what all events of one command, and no others, have in common; None if nothing."""
    if event.key is None or "table" in event.body:
        return event.body.get("table")
    return event.key.partition("/")[0]


def undo(state: State, chosen: Sequence[Event], key: str) -> list[Draft]:
    """Undo some events, all of them or none.

    They were chosen on an earlier state. Others may have written since, and their events stay: if
    one of them needs an event that is to be undone, nothing is. Points off the table that have no
    result then are undone too.
    """
    numbers = {event.seq for event in chosen}
    points = find_unused_points(state, numbers)
    gone = numbers | {point.seq for point in points}
    standing = {event.seq: event.trial for event in state.undoable()}
    latest: dict[int | None, int] = {}
    for seq, trial in standing.items():
        if trial is not None and seq not in numbers:
            latest[trial] = max(seq, latest.get(trial, 0))
    for event in chosen:
        if event.kind == "added":
            check_unused(state, event, gone)
        # A later event of the same trial that stays, such as a correction, needs the earlier ones.
        if event.seq not in standing or latest.get(event.trial, 0) > event.seq:
            raise StudyConflict(
                f"undo needs events that nobody changed meanwhile, got {name_event(event)}. "
                "Nothing was undone"
            )
    return [
        Draft(
            kind="undone",
            trial=event.trial,
            row=event.row,
            key=f"{key}/{number}",
            body={"of": event.seq, "kind": event.kind, "value": event.value},
        )
        for number, event in enumerate([*chosen, *points])
    ]


def change(state: State, after: Settings, key: str) -> list[Draft]:
    """Replace the settings, and say which are others; no event if none is.

    Limits that exclude a stored result are refused.
    """
    old, new = state.settings.body, after.body
    if new["limits"] != old["limits"]:
        for trial in state.trials.values():
            if name := find_outside(after.ranges, trial.values):
                raise StudyConflict(
                    f"change needs limits that hold every result, got {after.limits} beside the "
                    f"{name} {trial.values[name]:.6g} of trial {trial.number}; use wider limits, "
                    "or correct the result if it is wrong"
                )
    changed = [name for name in new if name != REVISION and new[name] != old[name]]
    body = {"settings": new, "changed": changed}
    return [Draft(kind="settings", key=key, body=body)] if changed else []


def find_last_change(state: State) -> Event:
    """Return the event since which the settings and ranges are what they are."""
    changes = (event for event in reversed(state.standing) if event.kind in ("settings", "ranges"))
    return next(changes, state.events[0])
