"""Candidates, results and what happened to a study, in words: the same wherever it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kernelbandits.censored import Censored, join_sides
from kernelbandits.formatting import (
    format_age,
    format_cell,
    format_count,
    format_duration,
    format_number,
    format_share,
)
from kernelbandits.storage import Event
from kernelbandits.study.settings import LEARN_FROM, Settings
from kernelbandits.study.targets import Target
from kernelbandits.tables.cells import is_number

if TYPE_CHECKING:
    from kernelbandits.study.values import Told, Waiting

CHANCES = (
    (0.95, "almost certainly the best"),
    (0.75, "probably the best"),
    (0.4, "perhaps the best"),
    (0.0, "one of several that may be the best"),
)
"""From which probability of being the best a candidate is called what."""
Namer = Callable[[int], str]
"""What puts a row into words."""
RESULT_DIGITS = 8
"""Digits of a result: those that were typed, for all results that people type."""
MOST_NAMED = 8
"""How many columns of a candidate a sentence names."""
MOST_ROWS = 8
"""How many rows a sentence names."""
MOST_CORRECTIONS = 5
"""How many corrections an answer lists."""
MOST_EVENTS = 4
"""How many events the sentence about one command names."""
FEWEST_SUMMARISED = 3
"""From so many results or suggestions on, those that were undone are counted."""


def format_result(value: float | str | Mapping[str, float] | None) -> str:
    """Write a measured value, or those of several targets, as typed; a failure has none.

    >>> format_result(140.0), format_result(None)
    ('140', 'a failure')
    """
    if isinstance(value, Mapping):
        return describe_values(value)
    return "a failure" if value is None else format_number(value, RESULT_DIGITS, thousands=False)


def result_of(event: Event) -> Any:
    """Return the value of an event, as `Censored` if it is a limit; None without one."""
    sides = [*event.body.get("beyond", {}).values()]
    return Censored(event.value, *sides) if sides and event.value is not None else event.value


def describe_values(
    values: Mapping[str, Any], intervals: Mapping[str, tuple[float, float]] | None = None
) -> str:
    """Return values of targets in words, with their intervals if there are any.

    >>> describe_values({"gain": 12.0, "waste": 0.5}, {"gain": (11.5, 12.6)})
    'gain 12 [11.5, 12.6], waste 0.5'
    """
    parts = []
    for name, value in values.items():
        ends = (intervals or {}).get(name)
        shown = f" [{format_number(ends[0], 3)}, {format_number(ends[1], 3)}]" if ends else ""
        parts.append(f"{name} {format_result(value)}{shown}")
    return ", ".join(parts)


# ---------------------------------------------------------------------- candidates


def describe_point(x: Mapping[str, Any]) -> str:
    """Return a candidate by its values: Cs = 0.25, FA = 0.75.

    >>> describe_point({"heat": 30.0, "solvent": "DMF"})
    'heat = 30, solvent = DMF'
    """
    return ", ".join(f"{name} = {format_cell(value)}" for name, value in x.items())


def name_row(row: int, label: Mapping[str, str]) -> str:
    """Name a row in short: by what the table calls it, or by its number if it has no name.

    >>> name_row(3, {"film": "A7"}), name_row(3, {"line": "5"}), name_row(3, {})
    ('A7', 'line 5', 'row 3')
    """
    column = find_name(label)
    if column is None:
        return f"row {row}"
    text = label[column]
    return f"{column} {text}" if is_number(text) else text


def find_name(label: Mapping[str, str]) -> str | None:
    """Return the column of the name by which a row is called: words rather than a number."""
    named = [one for one, text in label.items() if text]
    return min(named, key=lambda one: is_number(label[one]), default=None)


def name_sample(row: int | None, label: Mapping[str, str], x: Mapping[str, Any]) -> str:
    """Return what a lab calls a candidate: the name of its row, or a point by its values.

    >>> name_sample(3, {"film": "A7"}, {"Cs": 0.25}), name_sample(3, {}, {"Cs": 0.25})
    ('A7', 'row 3')
    """
    return describe_point(x) if row is None else name_row(row, label)


def describe_chance(share: float) -> str:
    """Say how sure it is that a candidate is the best one.

    >>> describe_chance(0.97), describe_chance(0.2)
    ('almost certainly the best (97 %)', 'one of several that may be the best (20 %)')
    """
    words = next(words for least, words in CHANCES if share >= least)
    return f"{words} ({format_share(share)})"


def row_cell(row: int | None) -> dict[str, int]:
    """Return the number of a row by its heading, for a table; nothing for a point, without one.

    >>> row_cell(3), row_cell(None)
    ({'row': 3}, {})
    """
    return {} if row is None else {"row": row}


def name_cells(row: int | None, label: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a table that say which row it is: its names, or else its number.

    >>> name_cells(3, {"film": "A7"}), name_cells(3, {"line": ""}), name_cells(3, {})
    ({'film': 'A7'}, {'line': 'row 3'}, {'row': '3'})
    """
    if row is None or any(label.values()):
        return dict(label)
    return {**label, next(iter(label)): name_row(row, {})} if label else {"row": str(row)}


def describe_candidate(row: int | None, label: Mapping[str, str], x: Mapping[str, Any]) -> str:
    """Name a candidate in full, with its labels and values; a point by its values alone.

    >>> describe_candidate(3, {"film": "A7"}, {"Cs": 0.25})
    'A7 (Cs 0.25)'
    >>> describe_candidate(3, {}, {"Cs": 0.25})
    'row 3 (Cs 0.25)'
    """
    if row is None:
        return describe_point(x)
    called = find_name(label)
    rest = ((one, value) for one, value in {**label, **x}.items() if one != called)
    named = [f"{one} {format_cell(value)}" for one, value in rest if value != ""]
    more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    name = name_row(row, label)
    return f"{name} ({', '.join([*named[:MOST_NAMED], *more])})" if named else name


def describe_waiting(one: Waiting, label: Mapping[str, str]) -> str:
    """Say which candidate a pending trial has, who asked for it and when, and what has come.

    `label` is what the table calls its row.
    """
    who = f" by {one.worker}" if one.worker else ""
    noun = "point" if one.row is None else "row"
    late = f"; its lease has ended, so its {noun} can be suggested again" if one.overdue else ""
    has = f"; has {describe_values(one.values)}" if one.values else ""
    named = f"trial {one.trial}, {describe_candidate(one.row, label, one.x)}"
    drawn = ", at random" if one.drawn else ""
    return f"{named}: asked for{who}{drawn} {format_age(one.since)}{late}{has}"


# ---------------------------------------------------------------------- results


def describe_told(told: Told) -> str:
    """Say what was stored, and what it means for pending trials of the same candidate."""
    where = "" if told.row is None else f", row {told.row}"
    if told.x is not None:
        where = f", {describe_candidate(told.row, told.label, told.x)}"
    if told.asked is not None:
        where += f" (asked for: {describe_point(told.asked)})"
    what = describe_outcome(told)
    if told.replicates:
        noun = "replicate as trial" if len(told.replicates) == 1 else "replicates as trials"
        what += f", its {noun} {', '.join(map(str, told.replicates))}"
    what += "" if told.accepted else " by an earlier call, which this one repeats"
    settled = f" Trial {told.settles} was pending for this candidate; this is its result."
    return (
        f"Trial {told.trial}{where}: {what}.{'' if told.settles is None else settled}"
        f"{describe_still_pending(told.waiting)}"
    )


def describe_outcome(told: Told) -> str:
    """Say what became of a trial: 0.83 recorded; corrected from 0.8 to 0.83; recorded as failed."""
    named = told.values is not None
    single = Censored(told.value, told.beyond) if told.beyond else told.value
    result = format_result(told.values or single) + describe_error(None if named else told.sem)
    rest = ""
    if told.missing:
        rest = "; the rest is missing"
    elif told.needs:
        rest = f"; {', '.join(told.needs)} still to come"
    elif told.combined and told.value is not None:
        rest = f"; desirability {told.value:.3g}"
    if told.broken:
        rest += f"; not feasible: {', '.join(told.broken)} is not met"
    if told.corrected:
        before = ", now" if named else f" from {format_result(told.was)} to"
        return f"corrected{before} {result}{rest}"
    if told.failed:
        kept = f" ({result} stays in the history)" if told.values else ""
        return f"recorded as failed{kept}"
    if told.missing and not told.values:
        return "recorded as missing, not as failed"
    return f"{result} recorded{rest}"


def describe_still_pending(trials: Sequence[int]) -> str:
    """Say which trials of a candidate are pending after a result of its row; "" if none is."""
    if not trials:
        return ""
    if len(trials) == 1:
        return (
            f" Trial {trials[0]} of the same candidate is still pending: tell its own result, or "
            "release it."
        )
    return (
        f" Trials {', '.join(map(str, trials))} of the same candidate are still pending: tell "
        "their own results, or release them."
    )


def describe_stored(stored: float | Mapping[str, float] | None) -> str:
    """Say which result a trial has already; several targets are named.

    >>> describe_stored(0.5), describe_stored({"pH": 6.6}), describe_stored(None)
    ('already has the result 0.5', 'already has pH 6.6', 'is already stored as failed')
    """
    if stored is None:
        return "is already stored as failed"
    noun = "" if isinstance(stored, Mapping) else "the result "
    return f"already has {noun}{format_result(stored)}"


def describe_results(told: Sequence[Told]) -> str:
    """Count the results of a file, and name the trials that it corrects or that stay pending."""
    new = [one for one in told if one.accepted]
    corrections = [one for one in new if one.corrected]
    recorded, known = len(new) - len(corrections), len(told) - len(new)
    counted = [f"{format_count(len(corrections), 'result')} corrected"] if corrections else []
    if recorded or not corrections:
        counted.append(f"{format_count(recorded, 'result')} recorded")
    if known:
        counted.append(f"{known} already stored")
    settled = [one.settles for one in new if one.settles is not None]
    # A later line may have settled a trial that was pending when an earlier line was stored.
    done = {one.trial for one in told}
    waiting = {number for one in told for number in one.waiting} - done
    return (
        ", ".join(counted)
        + "."
        + list_corrections(corrections)
        + list_trials("Pending trials that got the result of a row", settled)
        + list_trials("Trials still pending for the candidate of such a row", waiting)
    )


def list_corrections(corrections: Sequence[Told]) -> str:
    """List old and new value of each trial that was corrected, as far as a line has room."""
    shown = [describe_told(one).removesuffix(".") for one in corrections[:MOST_CORRECTIONS]]
    more = len(corrections) - len(shown)
    shown += [f"and {more} more, which `history` lists"] if more else []
    return f" {'; '.join(shown)}." if shown else ""


def list_trials(what: str, numbers: Iterable[int]) -> str:
    """Return a sentence that lists the trials, or nothing if there are none."""
    listed = ", ".join(map(str, sorted(numbers)))
    return f" {what}: {listed}." if listed else ""


# ---------------------------------------------------------------------- events


def name_event(event: Event) -> str:
    """Name an event, where another sentence refers to it.

    >>> name_event(Event(kind="told", trial=4, row=3, value=0.83, body={}, seq=9, at=0, check=""))
    'event 9 (told, trial 4, 0.83)'
    """
    trial = "" if event.trial is None else f", trial {event.trial}"
    value = "" if event.value is None else f", {format_result(result_of(event))}"
    return f"event {event.seq} ({event.kind}{trial}{value})"


def number_row(row: int) -> str:
    """Name a row of which nothing but its number is known."""
    return name_row(row, {})


def describe_event(event: Event, name: Namer = number_row) -> str:
    """Say what happened: trial 4 (A7): result 0.83 ± 0.02 (second batch), by AB.

    `name` puts a row into words.

    >>> told = {"values": {"stability": 0.83}}
    >>> event = Event(kind="told", trial=4, row=3, value=0.83, body=told, seq=9, at=0.0, check="")
    >>> describe_event(event)
    'trial 4 (row 3): result 0.83'
    """
    body = event.body
    # The note of an ask is what the policy noted, in numbers.
    note = body.get("note")
    remarks = [body.get("reason"), note if isinstance(note, str) else ""]
    more = "".join(f" ({remark})" for remark in remarks if remark)
    by = f", by {body['by']}" if body.get("by") else ""
    return f"{describe_kind(event, name)}{more}{by}"


def describe_kind(event: Event, name: Namer) -> str:
    """Say what an event of its kind does, without remarks."""
    body, trial, result = event.body, describe_trial(event, name), describe_result(event)
    if event.kind in ("forbidden", "allowed"):
        return f"{name_rows(body['rows'], name)} {event.kind}"
    if event.kind in OF_THE_STUDY:
        return OF_THE_STUDY[event.kind](body)
    drawn = ", at random" if "drawn" in (body.get("note") or ()) else ""
    ended = ", because its lease had ended" if body.get("overdue") else ""
    if event.kind == "undone":
        undone = replace(event, seq=body["of"], kind=body["kind"], value=body["value"])
        return f"{name_event(undone)} undone"
    return {
        "asked": f"{trial} suggested{drawn}",
        "told": f"{trial}: result {result}",
        "failed": f"{trial}: failed",
        "corrected": f"{trial}: corrected to {result}",
        "withdrawn": f"{trial}: result withdrawn",
        "released": f"{trial} released{ended}",
        "missing": f"{trial}: no value",
    }.get(event.kind, event.kind)


def describe_trial(event: Event, name: Namer) -> str:
    """Name the trial of an event, with its row or its point."""
    if "x" in event.body:
        return f"trial {event.trial} ({describe_point(event.body['x'])})"
    return f"trial {event.trial}" + ("" if event.row is None else f" ({name(event.row)})")


def describe_result(event: Event) -> str:
    """Return the values of an event with their standard errors; a single target has no name."""
    body = event.body
    errors = body.get("sems", {})
    if event.value is not None or "values" not in body:
        return format_result(result_of(event)) + "".join(map(describe_error, errors.values()))
    parts = [
        f"{name} {format_result(value)}{describe_error(errors.get(name))}"
        for name, value in join_sides(body.get("values", {}), body.get("beyond", {})).items()
    ]
    return ", ".join([*parts, *(f"{name} missing" for name in body.get("missing", ()))])


def describe_error(sem: float | None) -> str:
    """Return the standard error of a result, to stand behind it."""
    return "" if sem is None else f" ± {format_result(sem)}"


def describe_creation(body: Mapping[str, Any]) -> str:
    """Say what was created: the aim, the policy, and the columns taken by their logarithms."""
    # A space has no table of candidates.
    settings, log = Settings.of(body["settings"]), body.get("candidates", {}).get("log")
    scales = f", log10 of {', '.join(log)}" if log else ""
    aim = f"{settings.direction} {settings.target}"
    known = settings.learn_from
    learnt = f", learns from {spell_setting(LEARN_FROM, known)}" if known else ""
    return f"study created: {aim}, policy {settings.policy}{scales}{learnt}"


def describe_settings(body: Mapping[str, Any]) -> str:
    """Say which units were computed from the results, or which settings were changed to what."""
    if body.get("auto"):
        centre, spread = format_number(body["centre"]), format_number(body["spread"])
        source = "from the results" if body["results"] else "as before any result"
        return f"units of the model {source}: centre {centre}, spread {spread}"
    settings = body["settings"]
    if "revised_from" in body:
        return f"revision {settings['revision']} of {settings['policy']} chooses from now on"
    changed = (f"{name} {spell_setting(name, settings[name])}" for name in body["changed"])
    return f"settings changed: {', '.join(changed)}"


def spell_setting(name: str, value: Any) -> str:
    """Return the value of a setting in words.

    >>> spell_setting("tolerance", 0.1), spell_setting("lease", 7200), spell_setting("noise", None)
    ('0.1', '2 hours', 'not given')
    >>> spell_setting("kernel", {"type": "RBF", "lengthscale": 0.2})
    'type RBF, lengthscale 0.2'
    """
    if value is None:
        return "not given"
    if name == "targets":
        wanted = [Target(**body) for body in value]
        return ", ".join(f"{one.name} ({one.sentence})" for one in wanted)
    if name == LEARN_FROM:
        return ", ".join(one["name"] for one in value)
    if name == "lease":
        return format_duration(value)
    if isinstance(value, Mapping):
        parts = (f"{part} {spell_setting(part, one)}" for part, one in value.items())
        return ", ".join(parts) or "none"
    return format_cell(value)


def describe_addition(body: Mapping[str, Any]) -> str:
    """Say which rows and columns were added to the table."""
    if body.get("off_table"):
        return f"a point off the table (row {body['first']}), never suggested"
    count = format_count(len(next(iter(body["columns"].values()))), "row")
    fresh = f", with the new columns {', '.join(body['new'])}" if body["new"] else ""
    return f"{count} added, from row {body['first']} on{fresh}"


def describe_ranges(body: Mapping[str, Any]) -> str:
    """Say which ranges have other ends.

    >>> describe_ranges({"ranges": {"heat": [20.0, 120.0]}, "before": {"heat": [20.0, 90.0]}})
    'ranges changed: heat 20 to 120 (before: 20 to 90)'
    """
    changed = (
        f"{name} {format_cell(low)} to {format_cell(high)} "
        f"(before: {' to '.join(map(format_cell, body['before'][name]))})"
        for name, (low, high) in body["ranges"].items()
    )
    return f"ranges changed: {', '.join(changed)}"


def describe_remark(body: Mapping[str, Any]) -> str:
    """Say what a salvage left in place of an event, or that there was one."""
    return "an event that was lost" if "lost" in body else str(body.get("salvaged", "noted"))


def describe_permission(event: Event, name: Namer) -> str:
    """Say which rows may be suggested from now on, or may not; `name` puts a row into words."""
    rows = event.body["rows"]
    more = f" and {format_count(len(rows) - MOST_ROWS, 'more row')}" if rows[MOST_ROWS:] else ""
    named = ", ".join(map(name, rows[:MOST_ROWS])) + more
    again = (
        "can be suggested again" if event.kind == "allowed" else "will not be suggested any more"
    )
    return f"{named[0].upper()}{named[1:]} {again}."


def name_rows(rows: Sequence[int], name: Namer) -> str:
    """Name the first few of some rows, and count the others."""
    more = f" and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
    return f"{', '.join(map(name, rows[:MOST_ROWS]))}{more}"


def describe_fit(body: Mapping[str, Any]) -> str:
    """Say to how many results a model was fitted, and of which target if it has its own."""
    if "target" in body:
        return f"model of {body['target']} fitted to {format_count(body['results'], 'value')}"
    return f"model fitted to {format_count(body['results'], 'result')}"


OF_THE_STUDY: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "created": describe_creation,
    "settings": describe_settings,
    "added": describe_addition,
    "ranges": describe_ranges,
    "noted": describe_remark,
    "fitted": describe_fit,
}
"""Kind of an event that belongs to no trial -> its body in words."""


def describe_step(events: Sequence[Event], name: Namer = number_row) -> str:
    """Say what one command wrote, the last event first."""
    shown = [describe_event(event, name) for event in events[:MOST_EVENTS]]
    more = [f"{len(events) - MOST_EVENTS} more"] if len(events) > MOST_EVENTS else []
    return "; ".join([*shown, *more])


STANDS_ALONE = (
    "it leads by a single result, which may be luck or a slip: measure it again, or correct it if "
    "it was mistyped"
)
"""What is said of a row that `stands_alone`."""
AFTER_UNDO = {
    "told": "The trial has no result now.",
    "missing": "The trial is pending again.",
    "failed": "The trial has no result now.",
    "settings": "The settings before it apply again.",
    "ranges": "The ranges before it apply again.",
    "added": "What was added is not in the table any more.",
    "forbidden": "What was forbidden can be suggested again.",
    "allowed": "What was allowed is not suggested any more.",
}
"""Kind of an event that was undone -> what holds now."""
AFTER_MANY = {
    "told": ("result", "The trials have no result now."),
    "failed": ("failure", "The trials have no result now."),
    "corrected": ("correction", "Their results before apply again."),
    "asked": ("suggestion", "Their candidates can be suggested again."),
}
"""Kind of many events that were undone -> what one is called, and what holds now."""


def describe_undo(event: Event, name: Namer) -> str:
    """Say which event was undone, and what holds now."""
    if event.kind == "asked":
        x = event.body.get("x")
        candidate = name(event.row or 0) if x is None else f"the point {describe_point(x)}"
        candidate = f"{candidate[:1].upper()}{candidate[1:]}"
        return f"Undone: the ask of trial {event.trial}. {candidate} can be suggested again."
    if event.body.get("off_table"):
        return f"Undone: the point off the table (row {event.body['first']}), which had no result."
    return f"Undone: {describe_event(event, name)}. {describe_state_before(event)}"


def describe_state_before(event: Event) -> str:
    """Say what holds once an event is undone."""
    if event.kind not in ("corrected", "withdrawn"):
        if event.kind == "told" and event.value is None:
            return "The trial has only those of its values that were told before."
        return AFTER_UNDO[event.kind]
    before, several = event.body.get("was"), event.value is None and "values" in event.body
    if before is None:
        return "It counts as failed again."
    if several or len(before) != 1:
        return "Its values before apply again."
    return f"Its result is {format_result(*before.values())} again."


def describe_undos(undone: Sequence[Event], name: Namer = number_row) -> list[str]:
    """Say which events were undone, the last first; many of a kind are counted."""
    sentences: list[str] = []
    for kind, group in groupby(undone, key=lambda event: event.kind):
        alike = [*group]
        if kind not in AFTER_MANY or len(alike) < FEWEST_SUMMARISED:
            sentences += [describe_undo(event, name) for event in alike]
            continue
        noun, now = AFTER_MANY[kind]
        trials = write_numbers(sorted({event.trial or 0 for event in alike}))
        sentences.append(f"Undone: {format_count(len(alike), noun)} (trials {trials}). {now}")
    return sentences


def write_numbers(numbers: Sequence[int]) -> str:
    """Write numbers in increasing order, 3, 5, 6, 7 as 3, 5-7.

    >>> write_numbers([3, 5, 6, 7])
    '3, 5-7'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    texts = [f"{span[0]}-{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans]
    return ", ".join(texts)


def describe_correction(trial: int | None, value: Any, label: str | None = None) -> str:
    """Say which result a trial has after a correction: a number, one for each target, or none."""
    named = f"Trial {trial}{bracket_label(label)}"
    if value is None:
        return f"{named} now counts as failed"
    results = value.items() if isinstance(value, Mapping) else [("", value)]
    texts = (f"{name} {format_result(one)}".strip() for name, one in results)
    return f"{named} now has the result {', '.join(texts)}"


def describe_unchanged(trial: int | None, value: Any) -> str:
    """Say that a trial has a result, or failed, already.

    >>> describe_unchanged(4, 0.83)
    'nothing was changed: trial 4 already has the result 0.83'
    """
    return f"nothing was changed: trial {trial} {describe_stored(value)}"


def describe_withdrawal(trial: int | None, label: str | None = None) -> str:
    """Say what withdrawing the result of a trial means."""
    return (
        f"The result of trial {trial}{bracket_label(label)} no longer counts; the history keeps it"
    )


def bracket_label(label: str | None) -> str:
    """Return the label of a row in brackets, to stand behind the number of its trial."""
    return "" if label is None else f" ({label})"


def describe_release(trials: Sequence[int], worker: str | None = None) -> str:
    """Say which trials are no longer pending; those of a worker, if only these were meant."""
    if not trials:
        whose = f" of {worker}" if worker else ""
        return f"No trial{whose} is pending, so none was released."
    if len(trials) == 1:
        return f"Trial {trials[0]} is released: its candidate can be suggested again."
    return f"{format_count(len(trials), 'trial')} are released: {write_numbers(sorted(trials))}."
