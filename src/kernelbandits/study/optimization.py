"""A run of `optimize` that is stored as a study, and goes on where an earlier run ended."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import Measurement
from kernelbandits.calibration.unfinished import Curve
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.domains import Arms, Box, MixedBox
from kernelbandits.formatting import format_count
from kernelbandits.measuring import Measured, Measurer, ObjectiveResult, single_reward
from kernelbandits.policies import Choice, OptimizationTrial, Outcome
from kernelbandits.policies.optimization import (
    Loop,
    Plan,
    check_values,
    raise_without_rewards,
)
from kernelbandits.storage import Draft, StudyExists
from kernelbandits.study import tells
from kernelbandits.study.asks import Asker
from kernelbandits.study.calls import make_call
from kernelbandits.study.events import IN_ORDER, REPORTS, STOPPED, State, Trial
from kernelbandits.study.places import read_place
from kernelbandits.study.reconciliation import TellStep
from kernelbandits.study.settings import AUTO
from kernelbandits.study.study import Study
from kernelbandits.study.targets import Target
from kernelbandits.study.values import AlreadyTold

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
    results: Any = None,
) -> Iterator[StudyRun]:
    """Open a run on the study at this place, which is created if there is none.

    A study that is there must have the same space or table and the same direction, and the target
    and the seed if they are given. `results` are known when it is created.
    """
    if isinstance(where, Study):
        needed = "results when the study is created (Study.create), or told to it"
        checks.needs(results is None, "optimize", needed, "them beside an open study")
        check_same(where, domain, direction, target, seed, targets)
        yield StudyRun(where, domain, measurer, deadline)
        return
    named = isinstance(where, (str, PathLike)) and str(where) != ""
    checks.needs(named, "optimize", "the place of a study, such as 'tune.db'", where)
    given = domain, rounds, direction, target, seed, targets, results
    with create_or_open(where, *given) as study:
        yield StudyRun(study, domain, measurer, deadline)


def create_or_open(
    where: Any,
    domain: Any,
    rounds: int,
    direction: str,
    target: str | None,
    seed: int | None,
    targets: Sequence[Target] = (),
    results: Any = None,
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
            results=results,
            **aim,
        )
    except StudyExists:
        study = Study.open(where)
        if results is not None:
            text = "it goes on with the results that it began with, and results= is not read again"
            warnings.warn(f"optimize: the study {where} exists; {text}", DataNotice, stacklevel=2)
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


class StudyRun(Loop[Trial]):
    """A run of `optimize` that asks and tells a study.

    Each result is stored as soon as it is there. The results of a batch count in the order of its
    trials whichever of them comes first, so the run is the same with any number of workers, and
    after any interruption. Asynchronous results count in the order in which they come.
    """

    def __init__(self, study: Study, domain: Any, measurer: Measurer, deadline: float) -> None:
        """`domain` says what the objective gets.

        That is an array on a box, a dict on a space with names or a table.
        """
        super().__init__(measurer, deadline)
        self.study, self.domain = study, domain
        self.asked: set[int] = set()
        """The trials that this run has asked for or taken over."""

    @property
    def sign(self) -> float:
        return self._state.settings.sign

    @property
    def _state(self) -> State:
        return self.study._session.state

    @property
    def rewards(self) -> list[float | None]:
        """What this run and earlier ones have measured, in the order in which it counts.

        None stands for what cannot be the best.
        """
        settings = self._state.settings
        return [
            None
            if trial.stopped is not None or settings.meets_limits(trial.values) is False
            else trial.value
            for trial in self._find_measured()
        ]

    def _find_measured(self) -> list[Trial]:
        """Return the trials with a result that this run or earlier ones have measured."""
        return [trial for trial in self._state.results if trial.worker == WORKER]

    def find_pending(self) -> list[Trial]:
        """Return the trials without a result that this run or earlier ones have asked for."""
        # Whether their lease has ended does not matter while nobody else was given their points.
        return [trial for trial in self._state.pending.values() if trial.worker == WORKER]

    def count_left(self, plan: Plan) -> int:
        return plan.rounds - len(self.rewards) - len(self.waiting)

    def play(self, plan: Plan) -> Iterator[OptimizationTrial[Any]]:
        """Yield the trials until so many are done, those of earlier runs counted.

        What was interrupted is finished first. Batch by batch, the choices that follow are those of
        a run without interruption.
        """
        settings = self._state.settings
        if settings.shows_targets:
            self.measurer.attempt.refuse_trial([one.name for one in settings.wanted])
        self.study._session.refresh()
        if self.count_left(plan) > 0:
            self._adopt(plan)
            self._report_pending()
        yield from super().play(plan)

    def may_stop(self, tolerance: float) -> bool:
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

    def find_unmeasured(self) -> list[Trial]:
        """Take over the trials of an interrupted run; refuse if another run works on it now."""
        mine = {trial.number for trial in self.waiting.values()}
        found = [trial for trial in self.find_pending() if trial.number not in mine]
        if self.asked and found:
            raise self._conflict(found[0].number)
        self.asked.update(trial.number for trial in found)
        return found

    def ask(self, n: int) -> list[Trial]:
        running = frozenset(trial.number for trial in self.waiting.values())
        call = make_call("ask", None)
        events, _ = self.study._ask(Asker(n, WORKER, None, call, running=running))
        numbers = [event.trial or 0 for event in events]
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

    def curves_before(self, asked: Trial) -> list[Curve]:
        earlier = [
            trial
            for trial in self._state.results
            if trial.reports and trial.told and trial.told.seq <= asked.decision_event
        ]
        return [
            Curve(trial.reports, trial.value if trial.stopped is None else None)
            for trial in earlier
        ]

    def store(self, asked: Trial, result: ObjectiveResult) -> None:
        """Store a result, also if Ctrl-C comes meanwhile: its key makes it count once."""
        measured = result.measured
        remark: dict[str, Any] = {IN_ORDER: True} if not self.asynchronous else {}
        value = None if measured is None else self._check_values(measured)
        if measured is None:
            remark["reason"] = result.failure
        if result.reports:
            remark[REPORTS] = [list(report) for report in result.reports]
        if result.stopped and measured is not None:
            step = result.reports[-1][0]
            remark |= {STOPPED: step, "note": f"stopped at step {step:g}, end predicted"}
        targets, place = self._state.settings.wanted, self.study.candidates
        failed = measured is None
        sem = measured.sem if isinstance(measured, Measurement) else None
        told = tells.check_result(targets, place, asked.number, value=value, failed=failed, sem=sem)
        keyed = tells.Keyed(told, uuid.uuid4().hex, given=False, remark=remark)
        try:
            self._write(keyed)
        except KeyboardInterrupt:
            self._write(keyed)
            raise

    def learn(self, number: int, asked: Trial, result: ObjectiveResult) -> OptimizationTrial[Any]:
        """Return the trial, whose result is stored already."""
        return self.show_trial(self._state.trials[asked.number])

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

    def point_of(self, asked: Trial) -> Any:
        """Return the candidate of a trial as the objective gets it."""
        return self.point_of_row(asked.row)

    def point_of_row(self, row: int) -> Any:
        x = self.study.candidates.x(row)
        if isinstance(self.domain, Box):
            return np.array(list(x.values()))
        if isinstance(self.domain, MixedBox):
            return x if self.domain.names else tuple(map(x.get, self.study.candidates.chosen))
        if isinstance(self.domain, Arms):
            return self.domain.values[row] if self.domain.values else self.domain.points[row]
        return {**self.study.candidates.label(row), **x}

    def show_trial(self, trial: Trial) -> OptimizationTrial[Any]:
        x = self.point_of_row(trial.row)
        choice = Choice(x, self.study.candidates.number(trial.row), trial.note)
        failure = ""
        if trial.value is None and trial.told is not None:
            failure = str(trial.told.body.get("reason", "failed"))
        settings, reward = self._state.settings, trial.value
        if reward is not None and trial.stopped is not None and trial.sem is not None:
            reward = Measurement(reward, trial.sem)
        shown = dict(trial.values) if settings.several else {}
        feasible = settings.meets_limits(trial.values) if settings.outcomes and shown else None
        return OptimizationTrial(
            trial.number,
            choice,
            reward,
            failure,
            x,
            shown,
            feasible,
            trial.reports,
            trial.stopped,
        )

    def summarise(self) -> Outcome[Any]:
        """Return the recommended point and its estimate; an error if there is no result."""
        session = self.study._session
        with session.lock:
            answers = session.answers()
            finished = sorted(self._find_measured(), key=lambda trial: trial.number)
            trials = tuple(self.show_trial(trial) for trial in finished)
            arm = answers.recommended_arm
            if arm is None:
                raise_without_rewards(trials, self.ended)
            best, row = answers.best(), answers.row(arm)
            assert best is not None
            return Outcome(
                x=self.point_of_row(row),
                arm=self.study.candidates.number(row),
                mean=answers.mean(arm),
                sd=answers.sd(arm),
                chance=best.probability,
                trials=trials,
                policy=session.driver.policy,
                direction=self.study.direction,
                ended=self.ended,
                study=self.study.place,
                asynchronous=self.asynchronous,
                pending=len(self.find_pending()),
                limits=best.limits,
                feasibility=best.feasibility,
            )
