"""The trials of an Optuna study as outcomes: values to learn, and places that are pending."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from kernelbandits import checks
from kernelbandits.calibration.unfinished import Curve, RunResults, is_usable
from kernelbandits.checks import DataNotice
from kernelbandits.optuna.attributes import read_constraints
from kernelbandits.policies.front import MOST_OBJECTIVES

Completion = tuple[float, int]
"""When a trial ended, and its number."""
Directions = Sequence[StudyDirection]
Told = list[tuple[FrozenTrial, float | None]]
"""Trials and their values of one outcome, in the order in which they are known; None: it failed."""


class Outcomes(NamedTuple):
    """What the trials of a study gave."""

    objectives: list[Told]
    """What is maximised. That of a pruned trial is predicted from what it reported."""
    constraints: dict[str, Told]
    """Values that should be at most 0, by the names of the constraints."""

    @property
    def ended(self) -> list[FrozenTrial]:
        """The trials whose objectives are known, or failed."""
        return [trial for trial, _ in self.objectives[0]]


class StudyReader:
    """The trials of a study as outcomes and pending trials, with notices about what is unusual.

    A notice is given once for each kind. What earlier trials gave never changes, so it is kept.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._noticed: set[str] = set()
        self._restart()

    def _restart(self) -> None:
        self._read: list[tuple[Completion, list[float] | None, Directions]] = []
        """The trials that were read, in order, by what tells them from those of another study."""
        self._objectives: list[Told] = []
        self._runs = RunResults()

    def notice(self, kind: str, text: str) -> None:
        """Say something that the user would want to know, once."""
        if kind not in self._noticed:
            self._noticed.add(kind)
            warnings.warn(f"{self.owner}: {text}", DataNotice, stacklevel=2)

    def read(self, trials: Sequence[FrozenTrial], directions: Directions) -> Outcomes:
        """Return the outcomes of the trials that ended, in the order in which they are known."""
        ended = sorted((one for one in trials if one.state.is_finished()), key=completion)
        wanted: Directions = tuple(directions)
        keys = [(completion(one), one.values, wanted) for one in ended]
        if keys[: len(self._read)] != self._read:
            self._restart()
        if len(self._objectives) != len(directions):
            self._objectives = [[] for _ in directions]
        for trial in ended[len(self._read) :]:
            known = self._follow(trial, directions)
            for told, more in zip(self._objectives, known, strict=True):
                told += more
        self._read = keys
        return Outcomes([list(one) for one in self._objectives], self._list_constraints(ended))

    def _follow(self, trial: FrozenTrial, directions: Directions) -> Sequence[Told]:
        """Return what becomes known by the end of a trial, of each objective."""
        if len(directions) == 1:
            return [self._follow_run(trial, directions[0])]
        failed: list[Told] = [[(trial, None)] for _ in directions]
        if trial.state == TrialState.PRUNED:
            # With several objectives nothing is reported: a pruned trial tells nothing.
            return [[] for _ in directions]
        if trial.state == TrialState.FAIL or trial.values is None:
            return failed
        values = [*trial.values, *read_constraints(trial).values()]
        if not all(is_usable(one) for one in values):
            text = f"trial {trial.number} has the values {values}; it counts as failed"
            self.notice("infinite", text)
            return failed
        pairs = zip(trial.values, directions, strict=True)
        return [[(trial, sign_of(direction) * float(value))] for value, direction in pairs]

    def _follow_run(self, trial: FrozenTrial, direction: StudyDirection) -> Told:
        """Return what becomes known by the end of a trial: its value, and perhaps others."""
        final = trial.value if trial.state == TrialState.COMPLETE else None
        sign = sign_of(direction)
        reports = {step: sign * value for step, value in trial.intermediate_values.items()}
        if trial.state == TrialState.FAIL:
            return [(trial, None)]
        if final is not None and not is_usable(final):
            fault = f"has the value {final}"
        elif final is None and Curve(reports).diverged:
            fault = f"was pruned at the value {trial.intermediate_values[max(reports)]}"
        elif not all(is_usable(one) for one in read_constraints(trial).values()):
            fault = "has an infinite constraint"
        else:
            signed = None if final is None else sign * float(final)
            return [*self._runs.add(trial, Curve(reports, signed))]
        self.notice("infinite", f"trial {trial.number} {fault}; it counts as failed")
        return [(trial, None)]

    @staticmethod
    def _list_constraints(ended: Sequence[FrozenTrial]) -> dict[str, Told]:
        """Return the values of the constraints of completed and pruned trials, by name."""
        found: dict[str, Told] = {}
        for trial in ended:
            if trial.system_attrs and trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
                for name, value in read_constraints(trial).items():
                    if is_usable(value):
                        found.setdefault(name, []).append((trial, value))
        return dict(sorted(found.items()))

    def list_awaited(
        self, trials: Sequence[FrozenTrial], own: FrozenTrial, outcomes: Outcomes
    ) -> list[FrozenTrial]:
        """Return the other trials that count as pending.

        These are the trials that run, and those pruned of which nothing is known: they reported
        nothing, or too few others were completed. A policy that knew nothing of them would suggest
        their parameters again, and they would be pruned again.
        """
        known = {trial.number for trial in outcomes.ended}
        waiting = {TrialState.RUNNING, TrialState.PRUNED}
        found = [
            one
            for one in trials
            if one.state in waiting and one.number != own.number and one.number not in known
        ]
        if any(one.state == TrialState.PRUNED and not one.intermediate_values for one in found):
            self.notice(
                "silent",
                "a pruned trial that reported nothing teaches nothing; its parameters count as "
                "pending, so that others are tried",
            )
        return found


def completion(trial: FrozenTrial) -> Completion:
    """Return when a trial ended, and its number."""
    when = trial.datetime_complete
    return (when.timestamp() if when is not None else 0.0), trial.number


def sign_of(direction: StudyDirection) -> float:
    """Return the sign by which values of this direction are maximised."""
    return 1.0 if direction == StudyDirection.MAXIMIZE else -1.0


def check_study(owner: str, study: Study, noise: float | None) -> None:
    """Refuse a study with more objectives than a front has, and one noise for several."""
    count = len(study.directions)
    if count > MOST_OBJECTIVES:
        raise ValueError(
            f"{owner} needs a study with at most {MOST_OBJECTIVES} objectives, got {count}; "
            "optuna.samplers.NSGAIISampler takes more"
        )
    checks.needs(
        count == 1 or not noise, owner, "noise=0 or None for a study of several objectives", noise
    )
