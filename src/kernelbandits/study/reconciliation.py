"""A table of results compared with the results that are stored.

A file may grow and be told again: lines that were told before are known by their key, their trial
or their value. A line that has another value than the stored result of its candidate is either a
correction or a further measurement. Nobody but the user can know, so the table is refused as a
whole, unless it was told as `corrected` or as `replicates`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.study.calls import show_key
from kernelbandits.study.values import AlreadyTold
from kernelbandits.study.words import describe_values, format_result
from kernelbandits.tables.results import MADE, is_close

if TYPE_CHECKING:
    from kernelbandits.study.decisions import Keyed
    from kernelbandits.study.events import State, Trial
    from kernelbandits.study.place import Place
    from kernelbandits.study.values import Told
    from kernelbandits.tables.results import Result

CORRECTED, REPLICATES = "corrected", "replicates"
LISTED = 5
"""How many differences a message lists."""


@dataclass(frozen=True)
class TellStep:
    """What becomes of one line of a table."""

    line: Keyed
    stored: Trial | None = None
    """The trial whose result it is already, or which it corrects; None if it is to be told."""
    corrects: bool = False
    other_error: bool = False
    """Whether it has the stored value and another standard error, which is not stored."""


class ResultsDiffer(AlreadyTold):
    """A table has other values than those stored; nothing was stored."""

    def __init__(self, differences: Sequence[tuple[Keyed, Sequence[Trial]]], place: Place) -> None:
        stored = differences[0][1]
        self.trial, self.value = stored[0].number, stored[0].value
        listed = "; ".join(describe_difference(*one, place) for one in differences[:LISTED])
        more = len(differences) - LISTED
        rest = f"; and {more} more" if more > 0 else ""
        # The message of AlreadyTold speaks of one trial.
        Exception.__init__(
            self,
            f"tell needs results that are new or stored already, got other values in "
            f"{format_count(len(differences), 'line')}: {listed}{rest}. Nothing was stored. If the "
            "table is right and what is stored is wrong, tell it with --corrected "
            "(corrected=True); if these are further measurements, with --replicates "
            "(replicates=True).",
        )


def describe_difference(line: Keyed, stored: Sequence[Trial], place: Place) -> str:
    """Say what differs: row 3, trial 1 (results.csv, line 2): stored 0.5, now 0.9."""
    trials = "trial" if len(stored) == 1 else "trials"
    numbers = ", ".join(str(trial.number) for trial in stored)
    values = ", ".join(format_result(trial.value) for trial in stored)
    where = f" ({line.result.place})" if line.result.place else ""
    return (
        f"{place.name(stored[0].row)}, {trials} {numbers}{where}: stored {values}, "
        f"now {format_result(line.result.value)}"
    )


def reconcile(
    state: State, place: Place, lines: Sequence[Keyed], repeats: str | None = None
) -> list[TellStep]:
    """Decide what becomes of each line, or raise an error that lists all differences.

    Parameters
    ----------
    state
        The results that are stored.
    place
        The candidates: by it rows of the same candidate are known.
    lines
        The results of one call. One that was told by itself, without a table, is taken as it is.
    repeats
        "corrected", "replicates" or None: how values that differ are taken.
    """
    lines = [with_own_trial(state, place, line) for line in lines]
    found = ResultComparison(state, place, repeats)
    rows: dict[Alike, list[int]] = defaultdict(list)
    steps: dict[int, TellStep] = {}
    for i, line in enumerate(lines):
        known = None if line.table is None else stored_trial(state, line)
        if known is not None:
            steps[i] = found.compare_trial(line, known)
        elif line.table is None or line.named or line.result.trial is not None:
            steps[i] = TellStep(line)
        else:
            rows[found.find_alike(line.result.any_sample, line.result.row)].append(i)
    there: dict[Alike, list[Trial]] = defaultdict(list)
    for any_sample in {alike[0] for alike in rows}:
        for trial in find_results(state, lines[0].call):
            there[found.find_alike(any_sample, trial.row)].append(trial)
    # Lines that name a sample come first: of its candidate they leave the other results.
    for alike in sorted(rows, key=lambda one: one[0]):
        places = rows[alike]
        stored = [trial for trial in there[alike] if trial.number not in found.matched]
        given = found.compare_rows([lines[i] for i in places], alike, stored)
        steps |= dict(zip(places, given, strict=True))
    if found.differences:
        raise ResultsDiffer(found.differences, place)
    return [found.compare_error(steps[i]) for i in range(len(lines))]


Alike = tuple[bool, int]
"""Rows that are compared: whether any sample of a candidate is meant, and the first of them."""


class ResultComparison:
    """Lines of one table beside the results that are stored."""

    def __init__(self, state: State, place: Place, repeats: str | None) -> None:
        self.state, self.place, self.repeats = state, place, repeats
        self.first_rows, self.samples = place.first_rows, place.samples
        self.matched: set[int] = set()
        """Trials that lines name, or are known to belong to."""
        self.differences: list[tuple[Keyed, Sequence[Trial]]] = []

    def find_alike(self, any_sample: bool, row: int | None) -> Alike:
        """Return the group in which a row is compared: its candidate, or its sample."""
        return any_sample, int((self.first_rows if any_sample else self.samples)[row or 0])

    def compare_trial(self, line: Keyed, stored: Trial) -> TellStep:
        """Decide what becomes of a line whose trial is known, by its number or by its key."""
        check_candidate(line.result, stored, self.place)
        self.matched.add(stored.number)
        before, value = self.state.keys.get(line.key), line.result.value
        if stored.state in ("told", "failed"):
            values = {stored.value} if before is None else {stored.value, before.value}
            if value not in values:
                return self._take_other_value(line, stored)
            if before is not None and value != before.value:
                # The value of this key was corrected since, to the one that the line has now.
                return TellStep(line, stored)
        if before is None or line.named:
            return TellStep(line)
        # The same line again. Its result may have been stored as a trial of its own.
        return TellStep(replace(line, result=replace(line.result, trial=None, row=stored.row)))

    def _take_other_value(self, line: Keyed, stored: Trial) -> TellStep:
        if self.repeats == REPLICATES and line.key not in self.state.keys:
            again = replace(line.result, trial=None, row=stored.row)
            return TellStep(replace(line, result=again))
        if self.repeats != CORRECTED:
            self.differences.append((line, [stored]))
        return TellStep(line, stored, corrects=True)

    def compare_rows(
        self, lines: Sequence[Keyed], alike: Alike, stored: list[Trial]
    ) -> list[TellStep]:
        """Decide what becomes of the lines of a candidate or sample that name no trial.

        A line with the value of a stored result is that result. Others settle trials that are
        pending. If then both lines and stored results are left, they differ.
        """
        if not stored or self.repeats == REPLICATES:
            return [TellStep(line) for line in lines]
        steps: dict[int, TellStep] = {}
        for i, line in enumerate(lines):
            same = next((one for one in stored if one.value == line.result.value), None)
            if same is not None:
                stored.remove(same)
                self.matched.add(same.number)
                steps[i] = TellStep(line, same)
        left = [i for i in range(len(lines)) if i not in steps]
        # A table of corrections brings no results of pending trials.
        waiting = 0 if self.repeats == CORRECTED else self._count_pending(alike)
        other = left[waiting:] if stored else []
        if self.repeats == CORRECTED and other:
            check_pairs([lines[i] for i in other], stored, self.place)
            pairs = zip(other, stored, strict=True)
            steps |= {i: TellStep(lines[i], trial, corrects=True) for i, trial in pairs}
            self.matched |= {trial.number for trial in stored}
        else:
            self.differences += [(lines[i], tuple(stored)) for i in other]
        return [steps.get(i, TellStep(line)) for i, line in enumerate(lines)]

    def compare_error(self, step: TellStep) -> TellStep:
        """Return the step; if the standard error of its line alone is new, it says so.

        Where corrections are told, the line then corrects the stored result.
        """
        line, error = step.line, step.line.remark.get("sem")
        known = step.stored or (None if line.table is None else stored_trial(self.state, line))
        if step.corrects or known is None or error is None:
            return step
        same = known.state == "told" and known.value == line.result.value
        if not same or known.sem == error or self.repeats == REPLICATES:
            return step
        if self.repeats == CORRECTED:
            return TellStep(line, known, corrects=True)
        return replace(step, other_error=True)

    def _count_pending(self, alike: Alike) -> int:
        """Count the pending trials of a candidate that a result may settle by its row alone."""
        return sum(
            trial.worker is None
            and trial.number not in self.matched
            and self.find_alike(alike[0], trial.row) == alike
            for trial in self.state.pending.values()
        )


def with_own_trial(state: State, place: Place, line: Keyed) -> Keyed:
    """Return a line of an export without its trial, if that is a trial of another study."""
    result = line.result
    if result.exported is None or result.trial is None or result.row is None:
        return line
    known = state.trials.get(result.trial)
    began = None if known is None else known.asked or known.told
    if (
        known is not None
        and began is not None
        and result.exported.is_of(began.at)
        and is_close(place.x(known.row), place.x(result.row))
    ):
        return replace(line, result=replace(result, row=known.row))
    return replace(line, result=replace(result, trial=None))


def stored_trial(state: State, line: Keyed) -> Trial | None:
    """Return the trial that a line is known to belong to, by its key or by its number."""
    event = state.keys.get(line.key)
    number = line.result.trial if event is None else event.trial
    return None if number is None else state.trials.get(number)


def find_results(state: State, call: str | None) -> list[Trial]:
    """Return the results that count: all, or those told by tables under the key of a call."""
    if call is None:
        return state.results
    start = f"{call}/{MADE}"
    told = {event.trial for key, event in state.keys.items() if key.startswith(start)}
    return [trial for trial in state.results if trial.number in told]


def check_call(
    state: State, place: Place, lines: Sequence[Keyed], told: Sequence[Told], repeats: str | None
) -> None:
    """Refuse the key of a table for another table: one without results that it has brought.

    What the key has brought is skipped in a table that has grown. In another table the same line
    may be a new measurement.
    """
    call = lines[0].call if lines else None
    if call is None or repeats == REPLICATES:
        return
    there = {one.trial for one in told}
    left = [trial for trial in find_results(state, call) if trial.number not in there]
    if left:
        listed = "; ".join(
            f"{place.name(trial.row)}, trial {trial.number}: "
            f"{describe_values(trial.values) if trial.values else format_result(trial.value)}"
            for trial in left[:LISTED]
        )
        rest = f"; and {len(left) - LISTED} more" if len(left) > LISTED else ""
        raise StudyConflict(
            f"tell needs a new key for another table, got {show_key(call)!r}, under which results "
            f"were told that this one does not have: {listed}{rest}. Nothing was stored"
        )


def check_candidate(result: Result, trial: Trial, place: Place) -> None:
    """Check that a result that names a trial and a candidate has the candidate of that trial."""
    if result.trial is None or result.row is None:
        return
    alike = place.first_rows if result.any_sample else place.samples
    if alike[result.row] != alike[trial.row]:
        where = f" ({result.place})" if result.place else ""
        raise StudyConflict(
            f"tell needs {place.name(trial.row)} for trial {trial.number}, "
            f"got {place.name(result.row)}{where}"
        )


def check_pairs(lines: Sequence[Keyed], stored: Sequence[Trial], place: Place) -> None:
    """Check that corrections have one stored result for each new value."""
    if len(lines) != len(stored):
        raise StudyConflict(
            f"corrected needs as many new values as stored ones for each candidate, got "
            f"{len(lines)} for {len(stored)}: {describe_difference(lines[0], stored, place)}; "
            "correct these trials by their number"
        )


def remark_stored(steps: Sequence[TellStep]) -> list[str]:
    """Say which lines were not counted because their value is stored already."""
    known = [step for step in steps if step.stored is not None and not step.corrects]
    errors = [step for step in steps if step.other_error]
    remarks = []
    if errors:
        number = format_count(len(errors), "line")
        remarks.append(
            f"{number} with a stored value and another standard error: the stored error stays; to "
            "store the new one, tell them with --corrected (corrected=True)"
        )
    if len(known) <= len(errors):
        return remarks
    return [
        *remarks,
        f"{format_count(len(known), 'line')} with the value of a stored result of the same "
        "candidate were not counted again; if they are further measurements, tell them with "
        "--replicates (replicates=True)",
    ]


def check_repeats(corrected: Any, replicates: Any) -> str | None:
    """Check and return the way in which values that differ are taken."""
    for name, given in ((CORRECTED, corrected), (REPLICATES, replicates)):
        if not isinstance(given, bool):
            raise ValueError(f"tell needs {name} true or false, got {given!r}")
    if corrected and replicates:
        raise ValueError("tell needs corrected or replicates, got both")
    return CORRECTED if corrected else REPLICATES if replicates else None
