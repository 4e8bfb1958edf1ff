"""A run of `optimize` that is stored as a study, and goes on where an earlier run ended."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.domains import Arms, Box, MixedBox
from kernelbandits.formatting import format_count
from kernelbandits.measuring import (
    INTERRUPTS,
    Measured,
    Measurer,
    OutOfTime,
    Result,
    single_reward,
)
from kernelbandits.policies import Choice, OptimizationTrial, Outcome
from kernelbandits.policies.optimization import Plan, check_values, raise_without_rewards
from kernelbandits.processes import put_in_order
from kernelbandits.storage import Draft, StudyExists
from kernelbandits.study import tells
from kernelbandits.study.events import IN_ORDER, State, Trial
from kernelbandits.study.places import read_place
from kernelbandits.study.reconciliation import TellStep
from kernelbandits.study.settings import AUTO
from kernelbandits.study.study import Study
from kernelbandits.study.targets import Target
from kernelbandits.study.values import AlreadyTold

if TYPE_CHECKING:
    pass

WORKER = "optimize"
"""The name under which a run asks. A later run knows by it which pending trials it has to finish.
"""


@contextmanager
def open_run(
    where: Any,
    domain: Any,
    rounds: int,
    direction: str,
    target: str | None,
    seed: int | None,
    measurer: Measurer,
    deadline: float,
    targets: Sequence[Target] = (),
) -> Iterator[StudyRun]:
    """Open a run on the study at this place, which is created if there is none.

    A study that is there must have the same space or table and the same direction, and the target
    and the seed if they are given.
    """
    if isinstance(where, Study):
        check_same(where, domain, direction, target, seed, targets)
        yield StudyRun(where, domain, measurer, deadline)
        return
    named = isinstance(where, (str, PathLike)) and str(where) != ""
    checks.needs(named, "optimize", "the place of a study, such as 'tune.db'", where)
    with create_or_open(where, domain, rounds, direction, target, seed, targets) as study:
        yield StudyRun(study, domain, measurer, deadline)


def create_or_open(
    where: Any,
    domain: Any,
    rounds: int,
    direction: str,
    target: str | None,
    seed: int | None,
    targets: Sequence[Target] = (),
) -> Study:
    aim: dict[str, Any] = {"target": target, "direction": direction}
    if targets:
        aim = {"targets": targets}
    try:
        return Study.create(
            where,
            listed_points(domain),
            seed=0 if seed is None else seed,
            rounds=rounds,
            **aim,
        )
    except StudyExists:
        study = Study.open(where)
    try:
        check_same(study, domain, direction, target, seed, targets)
    except BaseException:
        study.close()
        raise
    return study


def check_same(
    study: Study,
    domain: Any,
    direction: str,
    target: str | None,
    seed: int | None,
    targets: Sequence[Target] = (),
) -> None:
    """Refuse to go on with a study of something else."""
    there = {"direction": study.direction, "target": study.target, "seed": study.settings["seed"]}
    given: dict[str, Any] = {"direction": direction, "target": target, "seed": seed}
    if targets:
        there = {"targets": spell_targets(study.targets), "seed": study.settings["seed"]}
        given = {"targets": spell_targets(targets), "seed": seed}
    other = [
        f"the {name} {given[name]!r} of this call (it has {there[name]!r})"
        for name in there
        if given[name] is not None and given[name] != there[name]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        given_place = read_place(listed_points(domain), [one.name for one in study.targets], {})
    if given_place.fingerprint != study.candidates.fingerprint:
        place = study.candidates
        kind = "table" if place.row_columns else f"space ({place.describe()})"
        other.append(f"the space or table of this call (it has another {kind})")
    if other:
        raise StudyConflict(
            f"optimize needs a study with {' and '.join(other)}, got {study.place}. "
            "Nothing was measured"
        )


def spell_targets(targets: Sequence[Target]) -> str:
    """Return targets in words, the same for the same ones."""
    return ", ".join(f"{one.name} ({one.sentence})" for one in targets)


def listed_points(domain: Any) -> Any:
    """Return what a study takes for a domain: points, unless arms are known by similarity."""
    return domain.points if isinstance(domain, Arms) and not domain.features else domain


@dataclass
class StudyRun:
    """A run on its way: it asks and tells a study, and knows why it has ended.

    Each result is stored as soon as it is there. The results of a batch count in the order of its
    trials whichever of them comes first, so the run is the same with any number of workers, and
    after any interruption.
    """

    study: Study
    domain: Any
    """Says what the objective gets: an array on a box, a dict on a space with names or a table."""
    measurer: Measurer
    deadline: float
    ended: str = "rounds"
    asked: set[int] = field(default_factory=set)
    """The trials that this run has asked for or taken over."""

    @property
    def sign(self) -> float:
        return self._state.settings.sign

    @property
    def _state(self) -> State:
        return self.study._session.state

    @property
    def rewards(self) -> list[float | None]:
        """What this run and earlier ones have measured, in the order in which it counts; None for
        what cannot be the best.
        """
        settings = self._state.settings
        return [
            None if settings.meets_limits(trial.values) is False else trial.value
            for trial in self._state.results
            if trial.worker == WORKER
        ]

    @property
    def done(self) -> int:
        """How many trials that this run or earlier ones have asked for have a result."""
        return len(self.rewards)

    def find_pending(self) -> list[Trial]:
        """Return the trials without a result that this run or earlier ones have asked for."""
        # Whether their lease has ended does not matter while nobody else was given their points.
        return [trial for trial in self._state.pending.values() if trial.worker == WORKER]

    def play(self, plan: Plan) -> Iterator[OptimizationTrial[Any]]:
        """Yield the trials until so many are done, those of earlier runs counted.

        A batch that was interrupted is finished first: so the choices that follow are those of a
        run without interruption.
        """
        self.study._session.refresh()
        if self.done < plan.rounds:
            self._adopt(plan)
            self._report_pending()
        try:
            while self.done < plan.rounds and self.ended == "rounds":
                left = plan.rounds - self.done
                trials = self._take_over()[:left]
                if not trials and plan.is_stale(self.rewards, self.sign):
                    self.ended = "patience"
                elif not trials and plan.tolerance is not None and self._may_stop():
                    self.ended = "tolerance"
                elif not trials and time.monotonic() >= self.deadline:
                    self.ended = "timeout"
                else:
                    trials = trials or self._ask(min(plan.batch, left))
                    yield from self._measure(trials)
        except OutOfTime:
            self.ended = "timeout"

    def _may_stop(self) -> bool:
        return bool(self.study.status().stop.may_stop)

    def _adopt(self, plan: Plan) -> None:
        """Let the study know how many rounds are planned, and what may be lost."""
        changes: dict[str, Any] = {}
        settings = self._state.settings
        if settings.policy == AUTO and settings.rounds != plan.rounds:
            changes["rounds"] = plan.rounds
        if plan.tolerance is not None and settings.tolerance != plan.tolerance:
            changes["tolerance"] = plan.tolerance
        if changes:
            self.study.change(**changes)

    def _report_pending(self) -> None:
        mine = len(self.find_pending())
        if mine:
            text = (
                f"optimize: {format_count(mine, 'trial')} of an interrupted run had no result; "
                "measured first"
            )
            warnings.warn(text, DataNotice, stacklevel=4)
        others = len(self._state.pending) - mine
        if others:
            text = (
                f"optimize: {format_count(others, 'pending trial')} of others in this study: taken "
                "into account, but not measured here"
            )
            warnings.warn(text, DataNotice, stacklevel=4)

    def _take_over(self) -> list[Trial]:
        """Take over the trials of an interrupted run; refuse if another run works on it now."""
        found = self.find_pending()
        if self.asked and found:
            raise self._conflict(found[0].number)
        self.asked.update(trial.number for trial in found)
        return found

    def _ask(self, n: int) -> list[Trial]:
        numbers = [one.trial for one in self.study.ask(n, worker=WORKER)]
        if self.asked.intersection(numbers):
            raise self._conflict(numbers[0])
        self.asked.update(numbers)
        return [self._state.trials[number] for number in numbers]

    def _conflict(self, trial: int) -> StudyConflict:
        return StudyConflict(
            f"optimize needs a study on which no other run of optimize works, got "
            f"{self.study.place}, where another one has trial {trial}. All results are kept. Use "
            "workers= for several processes, or study.ask and study.tell for several machines"
        )

    def _measure(self, trials: Sequence[Trial]) -> Iterator[OptimizationTrial[Any]]:
        """Measure the points of some trials; each result is stored at once, and shown in order."""
        points = [self.point_of(trial.row) for trial in trials]
        results = self.measurer.measure(points, self.deadline)
        for number, _ in put_in_order(self._store_each(trials, results), INTERRUPTS):
            yield self.show_trial(self._state.trials[trials[number].number])

    def _store_each(
        self, trials: Sequence[Trial], results: Iterator[tuple[int, Result]]
    ) -> Iterator[tuple[int, Result]]:
        for number, result in results:
            self._store(trials[number].number, result)
            yield number, result

    def _store(self, trial: int, result: Result) -> None:
        """Store a result, also if Ctrl-C comes meanwhile: its key makes it count once."""
        measured, failure = result
        remark: dict[str, Any] = {IN_ORDER: True}
        value = None if measured is None else self._check_values(measured)
        if measured is None:
            remark["reason"] = failure
        targets, place = self._state.settings.wanted, self.study.candidates
        told = tells.check_result(targets, place, trial, value=value, failed=measured is None)
        keyed = tells.Keyed(told, uuid.uuid4().hex, given=False, remark=remark)
        try:
            self._write(keyed)
        except KeyboardInterrupt:
            self._write(keyed)
            raise

    def _check_values(self, measured: Measured) -> Any:
        """Return a reward, or the values of several targets: one of each is needed."""
        if not self._state.settings.shows_targets:
            return single_reward(measured)
        return check_values(measured, [one.name for one in self._state.settings.wanted])

    def _write(self, keyed: tells.Keyed) -> None:
        def decide(state: State, now: float) -> tuple[list[Draft], None]:
            return tells.tell(state, self.study.candidates, [TellStep(keyed)], WORKER)[0], None

        try:
            self.study._session.write(decide)
        except AlreadyTold as error:
            raise self._conflict(error.trial) from None

    def point_of(self, row: int) -> Any:
        """Return the candidate of a row as the objective gets it."""
        x = self.study.candidates.x(row)
        if isinstance(self.domain, Box):
            return np.array(list(x.values()))
        if isinstance(self.domain, MixedBox):
            return x if self.domain.names else tuple(x.values())
        if isinstance(self.domain, Arms):
            return self.domain.values[row] if self.domain.values else self.domain.points[row]
        return {**self.study.candidates.label(row), **x}

    def show_trial(self, trial: Trial) -> OptimizationTrial[Any]:
        x = self.point_of(trial.row)
        choice = Choice(x, self.study.candidates.number(trial.row), trial.note)
        failure = ""
        if trial.value is None and trial.told is not None:
            failure = str(trial.told.body.get("reason", "failed"))
        settings = self._state.settings
        shown = dict(trial.values) if settings.several else {}
        feasible = settings.meets_limits(trial.values) if settings.outcomes and shown else None
        return OptimizationTrial(trial.number, choice, trial.value, failure, x, shown, feasible)

    def summarise(self) -> Outcome[Any]:
        """Return the recommended point and its estimate; an error if there is no result."""
        session = self.study._session
        with session.lock:
            answers = session.answers()
            finished = sorted(
                (trial for trial in self._state.results), key=lambda trial: trial.number
            )
            trials = tuple(self.show_trial(trial) for trial in finished)
            arm = answers.recommended_arm
            if arm is None:
                raise_without_rewards(trials, self.ended)
            best, row = answers.best(), answers.row(arm)
            assert best is not None
            return Outcome(
                x=self.point_of(row),
                arm=self.study.candidates.number(row),
                mean=answers.mean(arm),
                sd=answers.sd(arm),
                chance=best.probability,
                trials=trials,
                policy=session.driver.policy,
                direction=self.study.direction,
                ended=self.ended,
                study=self.study.place,
                pending=len(self.find_pending()),
                limits=best.limits,
                feasibility=best.feasibility,
            )
