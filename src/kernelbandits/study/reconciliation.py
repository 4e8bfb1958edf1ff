"""A table of results compared with the results that are stored.

A file may grow and be told again: lines that were told before are known by their key, their trial
or their value. A line that has another value than the stored result of its candidate is either a
correction or a further measurement. Nobody but the user can know, so the table is refused as a
whole, unless it was told as `corrected` or as `replicates`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernelbandits.checks import Indices, StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.study.values import AlreadyTold

if TYPE_CHECKING:
    from kernelbandits.study.state import State, Trial
    from kernelbandits.study.telling import Keyed

CORRECTED, REPLICATES = "corrected", "replicates"
LISTED = 5
"""How many differences a message lists."""


@dataclass(frozen=True)
class Step:
    """What becomes of one line of a table."""

    line: Keyed
    stored: Trial | None = None
    """The trial whose result it is already, or which it corrects; None if it is to be told."""
    corrects: bool = False


class ResultsDiffer(AlreadyTold):
    """A table has other values than those stored; nothing was stored."""

    def __init__(self, differences: Sequence[tuple[Keyed, Sequence[Trial]]]) -> None:
        stored = differences[0][1]
        self.trial, self.value = stored[0].number, stored[0].value
        listed = "; ".join(describe_difference(*one) for one in differences[:LISTED])
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


def describe_difference(line: Keyed, stored: Sequence[Trial]) -> str:
    """row 3, trial 1 (results.csv, line 2): stored 0.5, now 0.9."""
    trials = "trial" if len(stored) == 1 else "trials"
    numbers = ", ".join(str(trial.number) for trial in stored)
    values = ", ".join(write_value(trial.value) for trial in stored)
    place = f" ({line.result.place})" if line.result.place else ""
    return (
        f"row {stored[0].row}, {trials} {numbers}{place}: stored {values}, "
        f"now {write_value(line.result.value)}"
    )


def write_value(value: float | None) -> str:
    return "a failure" if value is None else repr(value)


def reconcile(
    state: State, kinds: Indices, lines: Sequence[Keyed], repeats: str | None = None
) -> list[Step]:
    """What becomes of each line, or an error that lists all differences.

    A result that was told by itself, without a table, is taken as it is. kinds: equal for rows of the same candidate. repeats: "corrected", "replicates" or None.
    """
    steps: dict[int, Step] = {}
    differences: list[tuple[Keyed, Sequence[Trial]]] = []
    rows: dict[int, list[int]] = defaultdict(list)
    matched: set[int] = set()
    for i, line in enumerate(lines):
        if line.table is None:
            steps[i] = Step(line)
            continue
        known = stored_trial(state, line)
        if known is not None:
            matched.add(known.number)
        has_result = known is not None and known.state in ("told", "failed")
        if known is not None and has_result and differs(state, line, known):
            steps[i] = Step(line, known, corrects=True)
            if repeats == REPLICATES and line.key not in state.keys:
                again = replace(line.result, trial=None, row=known.row)
                steps[i] = Step(replace(line, result=again))
            elif repeats != CORRECTED:
                differences.append((line, [known]))
        elif known is None and line.result.trial is None and not line.named:
            assert line.result.row is not None
            rows[int(kinds[line.result.row])].append(i)
        elif has_result and state.keys.get(line.key, line.result).value != line.result.value:
            # The value of this key was corrected since, to the one that the line has now.
            steps[i] = Step(line, known)
        elif known is not None and line.key in state.keys and not line.named:
            # The same line again. Its result may have been stored as a trial of its own.
            steps[i] = Step(replace(line, result=replace(line.result, trial=None, row=known.row)))
        else:
            steps[i] = Step(line)
    there: dict[int, list[Trial]] = defaultdict(list)
    for trial in state.results if rows else ():
        if trial.number not in matched:
            there[int(kinds[trial.row])].append(trial)
    for kind, places in rows.items():
        stored = there[kind]
        if not stored or repeats == REPLICATES:
            steps |= {i: Step(lines[i]) for i in places}
            continue
        new = match_values(lines, places, stored, steps)
        waiting = count_pending(state, kinds, kind, matched)
        steps |= {i: Step(lines[i]) for i in new[:waiting]}
        left = new[waiting:]
        if not left or not stored:
            steps |= {i: Step(lines[i]) for i in left}
        elif repeats == CORRECTED:
            check_pairs(lines, left, stored)
            for i, trial in zip(left, stored, strict=True):
                steps[i] = Step(lines[i], trial, corrects=True)
        else:
            differences += [(lines[i], tuple(stored)) for i in left]
    if differences:
        raise ResultsDiffer(differences)
    return [steps[i] for i in range(len(lines))]


def stored_trial(state: State, line: Keyed) -> Trial | None:
    """The trial that a line is known to belong to, by its key or by its number."""
    event = state.keys.get(line.key)
    number = line.result.trial if event is None else event.trial
    return None if number is None else state.trials.get(number)


def differs(state: State, line: Keyed, known: Trial) -> bool:
    """Whether the value of a line is neither the one that its trial has nor the one told with its
    key."""
    event = state.keys.get(line.key)
    values = {known.value} if event is None else {known.value, event.value}
    return line.result.value not in values


def match_values(
    lines: Sequence[Keyed], places: Iterable[int], stored: list[Trial], steps: dict[int, Step]
) -> list[int]:
    """Match lines with stored results of the same value; return the lines that are left.

    What was matched is taken out of `stored`.
    """
    left = []
    for i in places:
        found = next((one for one in stored if one.value == lines[i].result.value), None)
        if found is None:
            left.append(i)
        else:
            stored.remove(found)
            steps[i] = Step(lines[i], found)
    return left


def count_pending(state: State, kinds: Indices, kind: int, matched: set[int]) -> int:
    """How many pending trials of a candidate wait for a result that names its row only."""
    return sum(
        trial.worker is None and trial.number not in matched and kinds[trial.row] == kind
        for trial in state.pending.values()
    )


def check_pairs(lines: Sequence[Keyed], left: Sequence[int], stored: Sequence[Trial]) -> None:
    """Corrections need one stored result for each new value."""
    if len(left) != len(stored):
        raise StudyConflict(
            f"corrected needs as many new values as stored ones for each candidate, got "
            f"{len(left)} for {len(stored)}: {describe_difference(lines[left[0]], stored)}; "
            "correct these trials by their number"
        )


def remark_stored(steps: Sequence[Step]) -> list[str]:
    """Say which lines were not counted because their value is stored already."""
    known = [step for step in steps if step.stored is not None and not step.corrects]
    if not known:
        return []
    return [
        f"{format_count(len(known), 'line')} with the value of a stored result of the same "
        "candidate were not counted again; if they are further measurements, tell them with "
        "--replicates (replicates=True)"
    ]


def check_repeats(corrected: Any, replicates: Any) -> str | None:
    """The way in which values that differ are taken."""
    for name, given in ((CORRECTED, corrected), (REPLICATES, replicates)):
        if not isinstance(given, bool):
            raise ValueError(f"tell needs {name} true or false, got {given!r}")
    if corrected and replicates:
        raise ValueError("tell needs corrected or replicates, got both")
    return CORRECTED if corrected else REPLICATES if replicates else None
