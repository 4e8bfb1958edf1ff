"""Decisions of a study with several targets: a tell brings some of the values of a trial.

Each value is stored under the name of its target. The trial is pending until all values are there,
and its lease does not end once there is one. A line of a table that was told before is known by its
values, so a table may be filled in and told again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, StudyConflict
from kernelbandits.storage import Draft, Event
from kernelbandits.study.calls import key_conflict
from kernelbandits.study.decisions import Keyed, Teller, check_details, describe_source
from kernelbandits.study.events import RESULTS, State, Trial
from kernelbandits.study.plausibility import LATEST, intended_value, is_unusual
from kernelbandits.study.reconciliation import CORRECTED, REPLICATES, with_own_trial
from kernelbandits.study.targets import Target, check_names
from kernelbandits.study.values import AlreadyTold, Told
from kernelbandits.study.words import describe_values

if TYPE_CHECKING:
    from kernelbandits.study.place import Place
    from kernelbandits.tables.results import Result


def check_values(
    targets: Sequence[Target], values: Any, sem: Any, missing: Any, note: Any, by: Any
) -> dict[str, Any]:
    """Check and return what an event says of the values of several targets."""
    names = [one.name for one in targets]
    given = {} if values is None else values
    checks.needs(
        isinstance(given, Mapping),
        "tell",
        f"a value for each target by its name ({', '.join(names)})",
        values,
    )
    sems = {} if sem is None else sem
    checks.needs(isinstance(sems, Mapping), "tell", "sem by the names of targets", sem)
    absent = names if missing is True else [missing] if isinstance(missing, str) else missing
    absent = [name for name in absent or () if missing is not True or name not in given]
    check_names("tell", targets, [*given, *sems, *absent])
    for name in absent:
        checks.needs(name not in given, "tell", "a target measured or missing, not both", name)
    for name in sems:
        checks.needs(name in given, "tell", "sem only for a target that has a value", name)
    checks.needs(bool(given or absent), "tell", "a value of at least one target", values)
    body: dict[str, Any] = {"values": {n: checks.reward(y) + 0.0 for n, y in given.items()}}
    errors = {name: checks.positive("tell", f"sem of {name}", one) for name, one in sems.items()}
    for name, one in errors.items():
        checks.needs(one <= LARGEST_REWARD, "tell", f"a smaller sem of {name}", one)
    body |= {"sems": errors} if errors else {}
    body |= {"missing": absent} if absent else {}
    return body | check_details(None, note, by)


def tell_values(
    state: State,
    place: Place,
    lines: Sequence[Keyed],
    worker: str | None,
    before: Sequence[Draft] = (),
    repeats: str | None = None,
) -> tuple[list[Draft], list[Told]]:
    """Turn all values into events, or raise an error for the first that cannot be stored."""
    teller = TargetTeller(state, place, worker, before, repeats)
    told = [teller.tell(with_own_trial(state, place, line)) for line in lines]
    return teller.drafts, told


class TargetTeller(Teller):
    """Checks values of several targets; each tell sees those before it."""

    def __init__(
        self,
        state: State,
        place: Place,
        worker: str | None,
        before: Sequence[Draft] = (),
        repeats: str | None = None,
    ) -> None:
        super().__init__(state, place, worker, before)
        self.repeats = repeats
        self.values: dict[int, dict[str, float]] = {
            number: dict(trial.values) for number, trial in state.trials.items()
        }

    def tell(self, line: Keyed) -> Told:
        """Store values, a failure, or nothing if a table says again what is stored."""
        if "values" not in line.remark:
            return super().tell(line)
        before = self.keys.get(line.key) or self.state.keys.get(line.key)
        if before is not None and line.named and before.body.get("values") != line.remark["values"]:
            # The line of this key was filled in, or changed: its trial has what is new of it.
            again = replace(line.result, trial=before.trial)
            line = replace(line, key=f"{line.key}/{line.table}", result=again)
        elif before is not None:
            return self._answer_repeated_values(line, before)
        stored = self._stored_trial(line)
        trial, row = stored or self._place_values(line)
        known = self.values.setdefault(trial, {})
        fresh = {name: y for name, y in line.remark["values"].items() if known.get(name) != y}
        others = {name: known[name] for name in fresh if name in known}
        errors = self._new_errors(line, trial) if line.table else {}
        if line.table and not (fresh or errors or self._new_missing(line, trial)):
            return Told(trial, row, None, False, None, self._seq_of(trial))
        kind = self._check_free(line, trial, others, fresh)
        if errors and not fresh:
            # Only a correction makes the policy learn a stored result again.
            kind = "corrected"
            line = replace(line, remark={**line.remark, "was": {}, "reason": "its standard error"})
        body = {**line.remark, "values": fresh if line.table else line.remark["values"]}
        body |= {"table": line.table} if line.table else {}
        body |= {"was": others, "reason": f"corrected in {line.result.place}"} if others else {}
        event = self._add(kind=kind, trial=trial, row=row, key=line.key, body=body)
        self.keys[line.key] = self.trials[trial] = event
        known |= fresh
        concerned = self._pending_trials_of(line.result, trial)
        said = (trial, row, None, True, line.given_key, event.seq)
        return Told(*said, *concerned, corrected=kind == "corrected")

    def _new_errors(self, line: Keyed, trial: int) -> dict[str, float]:
        """Return the standard errors that a line adds to stored values; others are refused."""
        known = self.state.trials.get(trial)
        stored = {} if known is None else known.sems
        told: Mapping[str, float] = line.remark.get("sems", {})
        changed = [name for name, sem in told.items() if stored.get(name, sem) != sem]
        if changed and self.repeats != CORRECTED:
            name = changed[0]
            raise StudyConflict(
                f"tell needs the standard error {stored[name]:g} of {name}, which trial {trial} "
                f"has, got {told[name]:g}{describe_source(line.result)}; tell the table with "
                "--corrected (corrected=True) if it is right"
            )
        return {name: sem for name, sem in told.items() if stored.get(name) != sem}

    def _new_missing(self, line: Keyed, trial: int) -> set[str]:
        """Return the targets that a line calls missing, and that were not before."""
        known = self.state.trials.get(trial)
        return {*line.remark.get("missing", ())} - (known.missing if known else set())

    def _check_free(
        self, line: Keyed, trial: int, others: Mapping[str, float], fresh: Mapping[str, float]
    ) -> str:
        """Return the kind of event that these values make; refuse them if the trial has others."""
        state = self.state.trials.get(trial)
        if state is not None and state.state == "failed":
            raise AlreadyTold(trial, None, describe_source(line.result))
        told = {**line.remark["values"]}
        if not line.table and len(fresh) < len(told):
            # A single tell of what is stored already is a second result, as with one target.
            others = {name: y for name, y in self.values[trial].items() if name in told}
        if not others:
            return "told"
        if self.repeats == CORRECTED and line.table:
            return "corrected"
        raise TargetsDiffer(trial, others, describe_source(line.result), bool(line.table))

    def _stored_trial(self, line: Keyed) -> tuple[int, int] | None:
        """Return the trial that has the values of a line already, some or all of them.

        Only lines of a table that name a candidate and no trial are looked for.
        """
        result, told = line.result, line.remark["values"]
        if not line.table or result.trial is not None or result.row is None:
            return None
        alike = [
            trial
            for trial in self.state.trials.values()
            if self._may_mean(result, trial.row) and self.values[trial.number]
        ]
        for trial in alike:
            known = self.values[trial.number]
            shared = [name for name in told if name in known]
            if shared and all(known[name] == told[name] for name in shared):
                return trial.number, trial.row
        complete = [trial for trial in alike if trial.state in RESULTS]
        waiting = self._find_trial_without(result, told) is not None
        if not complete or waiting or self.repeats == REPLICATES:
            return None
        if self.repeats == CORRECTED and len(complete) == 1:
            return complete[0].number, complete[0].row
        other = {name: y for name, y in complete[0].values.items() if name in told}
        raise TargetsDiffer(complete[0].number, other, describe_source(result), True)

    def _place_values(self, line: Keyed) -> tuple[int, int]:
        """Return trial and row of a line; an unasked row makes a trial of its own."""
        result = line.result
        if result.trial is None and result.row is not None:
            opened = self._find_trial_without(result, line.remark["values"])
            return opened or self._new_trial(result.row)
        return self._place(result)

    def _find_trial_without(
        self, result: Result, told: Mapping[str, float]
    ) -> tuple[int, int] | None:
        """Return the oldest pending trial of a candidate that lacks these targets.

        Trials that a worker has asked for are left out.
        """
        for trial in self.state.pending.values():
            same = trial.worker is None and self._may_mean(result, trial.row)
            if same and not {*told} & {*self.values[trial.number]}:
                return trial.number, trial.row
        return None

    def _answer_repeated_values(self, line: Keyed, event: Event) -> Told:
        """Answer a repeated call, which counts once; refuse its key for something else."""
        trial, row = event.trial or 0, event.row or 0
        # A line of a table without a key of its own has one that is made of its values.
        same = line.table is not None or event.body.get("values") == line.remark["values"]
        same = same and (line.result.row is None or self._may_mean(line.result, row))
        if not same or line.result.trial not in (None, trial):
            raise key_conflict("tell", line.given_key, event, describe_source(line.result))
        accepted = line.table is None or event.body.get("table") == line.table
        return Told(trial, row, None, accepted, line.given_key, event.seq)

    def _seq_of(self, trial: int) -> int:
        told = self.state.trials[trial].told if trial in self.state.trials else None
        return told.seq if told else 0


class TargetsDiffer(AlreadyTold):
    """A trial has other values of some targets; the stored ones are kept."""

    def __init__(self, trial: int, stored: Mapping[str, float], where: str, of_table: bool) -> None:
        self.trial, self.value = trial, None
        self.values = dict(stored)
        ways = (
            "tell the table with --corrected (corrected=True) if it is right, or with --replicates "
            "(replicates=True) if these are further measurements"
            if of_table
            else "correct the trial if that is wrong; if the candidate was measured again, tell "
            "the candidate instead of the trial"
        )
        Exception.__init__(
            self,
            f"tell needs targets without a value, got trial {trial}{where}, which already has "
            f"{describe_values(stored)}; {ways}",
        )

    @property
    def stored(self) -> Mapping[str, float]:
        return self.values


def correct_values(
    state: State, trial: int, body: Mapping[str, Any], reason: str, key: str
) -> Draft:
    """Replace values of some targets of a trial that has them."""
    known = find_measured(state, trial)
    values: Mapping[str, float] = body["values"]
    names = {one.name for one in state.settings.several}
    unknown = [name for name in values if name not in known.values]
    if unknown and not (known.state == "failed" and names == {*values}):
        raise StudyConflict(
            f"correct needs targets that have a value, got {unknown[0]!r} of trial {trial}, which "
            "has none; tell it"
        )
    was = {name: known.values.get(name) for name in values}
    said = {**body, "was": was, "reason": reason}
    return Draft(kind="corrected", trial=trial, row=known.row, key=key, body=said)


def find_measured(state: State, trial: int) -> Trial:
    known = state.trials.get(trial)
    if known is None or not (known.values or known.state in RESULTS):
        there = "which does not exist" if known is None else "which has none"
        raise StudyConflict(f"correct needs a trial with a value, got trial {trial}, {there}")
    return known


def latest_targets(state: State) -> list[tuple[int, dict[str, float]]]:
    """Return the last trials with values of targets, as they are now."""
    measured = [trial for trial in state.trials.values() if trial.values]
    return [(trial.number, dict(trial.values)) for trial in measured[-LATEST:]]


def remark_values(
    before: Sequence[tuple[int, Mapping[str, float]]], told: Sequence[Told], place: Place
) -> list[str]:
    """Name values just told that are far from the other values of their target."""
    notices = []
    for one in told:
        for name, value in (one.values or {}).items() if one.accepted else ():
            if (one.trial, value) in [(number, known.get(name)) for number, known in before]:
                continue
            others = [known for number, known in before if number != one.trial]
            known = [values[name] for values in others if name in values]
            if not is_unusual(value, known):
                continue
            meant = intended_value(value, known)
            question = "." if meant is None else f"; did you mean {meant:g}?"
            right = "VALUE" if meant is None else f"{meant:g}"
            notices.append(
                f"trial {one.trial} ({place.name(one.row or 0)}): {name} {value:g} is far from the "
                f"other results ({min(known):g} to {max(known):g}){question} It counts as it is. "
                f"If it was mistyped: kernelbandits study correct PLACE {one.trial} "
                f"--value {name}={right}"
            )
    return notices
