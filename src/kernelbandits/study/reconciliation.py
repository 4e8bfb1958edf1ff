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
from kernelbandits.study.events import RESULTS
from kernelbandits.study.values import AlreadyTold
from kernelbandits.study.words import format_result
from kernelbandits.tables.results import MADE, is_close

if TYPE_CHECKING:
    from kernelbandits.study.events import State, Trial
    from kernelbandits.study.place import Place
    from kernelbandits.study.settings import Settings
    from kernelbandits.study.tells import Keyed
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
    by_value: bool = False
    """Whether it is known as a stored result by its values alone, which is said."""
    other_error: bool = False
    """Whether it has the stored value and another standard error, which is not stored."""


class ResultsDiffer(AlreadyTold):
    """A table has other values than those stored; nothing was stored.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("differ.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> told = study.tell_all([{"row": 0, "yield": 0.3}, {"row": 1, "yield": 0.7}])
    >>> try:
    ...     study.tell_all([{"row": 0, "yield": 0.3}, {"row": 1, "yield": 0.8}])
    ... except kb.study.ResultsDiffer as error:
    ...     print(error.trial, error.stored)
    2 0.7
    >>> study.close()
    """

    def __init__(
        self,
        differences: Sequence[tuple[Keyed, Sequence[Trial]]],
        place: Place,
        settings: Settings,
    ) -> None:
        first = differences[0][1][0]
        listed = "; ".join(
            describe_difference(*one, place, settings) for one in differences[:LISTED]
        )
        more = len(differences) - LISTED
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(
            first.number,
            settings.result(first.values),
            message=f"tell needs results that are new or stored already, got other values in "
            f"{format_count(len(differences), 'line')}: {listed}{rest}. Nothing was stored. If the "
            "table is right and what is stored is wrong, tell it with --corrected "
            "(corrected=True); if these are further measurements, with --replicates "
            "(replicates=True).",
        )


def describe_difference(
    line: Keyed, stored: Sequence[Trial], place: Place, settings: Settings
) -> str:
    """Say what differs: row 3, trial 1 (results.csv, line 2): stored 0.5, now 0.9."""
    trials = "trial" if len(stored) == 1 else "trials"
    numbers = ", ".join(str(trial.number) for trial in stored)
    told = line.result.values
    results = [
        {name: y for name, y in trial.values.items() if name in told or not told}
        for trial in stored
    ]
    before = ", ".join(format_result(settings.result(values)) for values in results)
    where = f" ({line.result.place})" if line.result.place else ""
    return (
        f"{place.name(stored[0].row)}, {trials} {numbers}{where}: stored {before}, "
        f"now {format_result(settings.result(told))}"
    )


def differs(result: Result, trial: Trial) -> bool:
    """Tell whether a trial has another result: another value of a target, or a failure, or none."""
    if trial.state in RESULTS and (result.failed or trial.state == "failed"):
        return result.failed != (trial.state == "failed")
    return any(trial.values.get(name, y) != y for name, y in result.values.items())


def overlaps(result: Result, trial: Trial) -> bool:
    """Tell whether a result says something of which a trial has a result too."""
    if result.failed or trial.state == "failed":
        return trial.state in RESULTS
    return any(name in trial.values for name in result.values)


def adds(result: Result, trial: Trial) -> bool:
    """Tell whether a result that does not differ has something that a trial lacks."""
    if result.failed:
        return trial.state not in RESULTS
    lacking = {*result.values, *result.missing} - {*trial.values}
    return any(name in result.values or name not in trial.missing for name in lacking)


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
        raise ResultsDiffer(found.differences, place, state.settings)
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
        result, before = line.result, self.state.keys.get(line.key)
        check_candidate(result, stored, self.place)
        self.matched.add(stored.number)
        values = None if result.failed else result.values
        if before is not None and before.body.get("values") == values:
            # The same line again. Its result may have been stored as a trial of its own.
            again = result if line.named else replace(result, trial=None, row=stored.row)
            return TellStep(replace(line, result=again))
        if differs(result, stored):
            return self._take_other_value(line, stored)
        if not adds(result, stored):
            return TellStep(line, stored)
        if before is None or not overlaps(result, stored):
            return TellStep(line)
        # The line of this key was filled in, and its trial has what is new of it.
        again = replace(result, trial=stored.number)
        return TellStep(replace(line, key=f"{line.key}/{line.table}", result=again))

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

        A line with the values of a stored result is that result, and may fill in what it lacks.
        Others settle trials that are pending. If then both lines and stored results are left, they
        differ.
        """
        if not stored or self.repeats == REPLICATES:
            return [TellStep(line) for line in lines]
        steps: dict[int, TellStep] = {}
        for i, line in enumerate(lines):
            result = line.result
            same = next(
                (one for one in stored if overlaps(result, one) and not differs(result, one)), None
            )
            if same is None:
                continue
            stored.remove(same)
            self.matched.add(same.number)
            steps[i] = TellStep(line, same, by_value=True)
            if adds(result, same):
                steps[i] = TellStep(replace(line, result=replace(result, trial=same.number)))
        other: list[int] = []
        # A table of corrections brings no results of pending trials.
        pending = [] if self.repeats == CORRECTED else self._list_pending(alike)
        for i in (i for i in range(len(lines)) if i not in steps):
            told = {*lines[i].result.values}
            settled = next((one for one in pending if not told & {*one.values}), None)
            if settled is not None:
                pending.remove(settled)
            elif any(overlaps(lines[i].result, one) for one in stored):
                other.append(i)
        if self.repeats == CORRECTED and other:
            self._check_pairs([lines[i] for i in other], stored)
            pairs = zip(other, stored, strict=True)
            steps |= {i: TellStep(lines[i], trial, corrects=True) for i, trial in pairs}
            self.matched |= {trial.number for trial in stored}
        else:
            self.differences += [(lines[i], tuple(stored)) for i in other]
        return [steps.get(i, TellStep(line)) for i, line in enumerate(lines)]

    def compare_error(self, step: TellStep) -> TellStep:
        """Return the step; if standard errors of its line alone are new, it says so.

        They are stored by a correction, which lets the policy learn the result again: where
        corrections are told, and where several targets are filled in one after the other.
        """
        line, result = step.line, step.line.result
        known = step.stored or (None if line.table is None else stored_trial(self.state, line))
        if step.corrects or known is None or differs(result, known) or adds(result, known):
            return step
        errors = {name: sem for name, sem in result.sems.items() if known.sems.get(name) != sem}
        if not errors or self.repeats == REPLICATES:
            return step
        several = self.state.settings.several
        late = several and not {*errors} & {*known.sems}
        if self.repeats == CORRECTED or late:
            return TellStep(line, known, corrects=True)
        if several:
            name = next(name for name in errors if name in known.sems)
            where = f" ({result.place})" if result.place else ""
            raise StudyConflict(
                f"tell needs the standard error {known.sems[name]:g} of {name}, which trial "
                f"{known.number} has, got {errors[name]:g}{where}; tell the table with "
                "--corrected (corrected=True) if it is right"
            )
        return replace(step, other_error=True)

    def _list_pending(self, alike: Alike) -> list[Trial]:
        """List the pending trials of a candidate that a result may settle by its row alone."""
        return [
            trial
            for trial in self.state.pending.values()
            if trial.worker is None
            and trial.number not in self.matched
            and self.find_alike(alike[0], trial.row) == alike
        ]

    def _check_pairs(self, lines: Sequence[Keyed], stored: Sequence[Trial]) -> None:
        """Check that corrections have one stored result for each new value."""
        if len(lines) != len(stored):
            difference = describe_difference(lines[0], stored, self.place, self.state.settings)
            raise StudyConflict(
                f"corrected needs as many new values as stored ones for each candidate, got "
                f"{len(lines)} for {len(stored)}: {difference}; correct these trials by their "
                "number"
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
    """Return the trials with values or a failure: all, or those told under the key of a call."""
    begun = [trial for trial in state.trials.values() if trial.values]
    found = [*state.results, *(trial for trial in begun if trial.state not in RESULTS)]
    if call is None:
        return found
    start = f"{call}/{MADE}"
    told = {event.trial for key, event in state.keys.items() if key.startswith(start)}
    return [trial for trial in found if trial.number in told]


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
            f"{format_result(state.settings.result(trial.values))}"
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


def remark_stored(steps: Sequence[TellStep]) -> list[str]:
    """Say which lines were not counted because their value is stored already."""
    known = [step for step in steps if step.by_value]
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
        f"not counted again: {format_count(len(known), 'line')} with the value of a stored result "
        "of the same candidate; to store further measurements, tell them with --replicates "
        "(replicates=True)",
    ]


def check_repeats(corrected: Any, replicates: Any) -> str | None:
    """Check and return the way in which values that differ are taken."""
    for name, given in ((CORRECTED, corrected), (REPLICATES, replicates)):
        if not isinstance(given, bool):
            raise ValueError(f"tell needs {name} true or false, got {given!r}")
    if corrected and replicates:
        raise ValueError("tell needs corrected or replicates, got both")
    return CORRECTED if corrected else REPLICATES if replicates else None
