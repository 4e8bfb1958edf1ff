"""A run of `optimize` in memory: ask, measure, tell, until the rounds are over; and its outcome."""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from kernelbandits import checks
from kernelbandits.calibration import Measurement
from kernelbandits.calibration.unfinished import Curve, predict_final
from kernelbandits.checks import DataNotice
from kernelbandits.domains import MixedBox
from kernelbandits.formatting import (
    format_count,
    format_point,
    format_share,
    name_coordinates,
)
from kernelbandits.markup import html_card, html_pairs
from kernelbandits.measuring import (
    INTERRUPTS,
    Measured,
    Measurer,
    ObjectiveResult,
    OutOfTime,
    Watched,
    single_reward,
)
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.comparison import compare_choice, recommend_measured
from kernelbandits.processes import put_in_order
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.canvas import Figure

Point = TypeVar("Point")
"""What the objective gets: an array, or on a `kb.MixedBox` a dict."""


@dataclass(frozen=True, eq=False)
class OptimizationTrial(Generic[Point]):
    """One round of `optimize`: the point that was measured, and its reward or its failure.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [1.0], [2.0]])
    >>> outcome = kb.optimize(lambda x: float(x[0] ** 2), arms, 3)
    >>> [(trial.t, trial.choice.arm, trial.reward) for trial in outcome.trials]
    [(1, 1, 1.0), (2, 0, 0.0), (3, 2, 4.0)]
    """

    t: int
    """The number of the round, counted from 1."""
    choice: Choice
    """What the policy chose."""
    reward: float | None
    """What the objective returned; None for a failure. Of a trial that was stopped it is the final
    value that was predicted, and `reward.sem` is the standard error of the prediction."""
    failure: str = ""
    """Why there is no reward."""
    point: Any = None
    """The point as the objective got it, where that is not the point of the choice."""
    values: Mapping[str, float] = field(default_factory=dict)
    """The values of several targets by their names; {} for one."""
    feasible: bool | None = None
    """Whether the values meet the limits on outcomes; None without any."""
    reports: Mapping[float, float] = field(default_factory=dict)
    """Step -> the value that the objective reported there, if it takes a trial."""
    stopped: float | None = None
    """The step at which it was stopped; None for a trial that came to its end."""

    @property
    def x(self) -> Point:
        """The point as the objective got it."""
        x: Point = self.choice.x if self.point is None else self.point
        return x

    @property
    def counts(self) -> float | None:
        """The reward, if it may be the best: not of a failure, nor stopped, nor infeasible."""
        return None if self.stopped is not None or self.feasible is False else self.reward

    def record(self) -> dict[str, Any]:
        """Return the round as a row of a table; an objective that takes a trial adds a column."""
        x: Any = self.x
        point = x if isinstance(x, dict) else {f"x{j + 1}": value for j, value in enumerate(x)}
        return {
            "t": self.t,
            "arm": self.choice.arm,
            **point,
            "reward": None if self.reward is None else float(self.reward),
            **self.values,
            **({} if self.feasible is None else {"feasible": self.feasible}),
            "failure": self.failure,
            **({"stopped": self.stopped} if self.reports else {}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Generic[Point]):
    """What `optimize` returns: the recommended point, its estimate, and all rounds.

    >>> import kernelbandits as kb
    >>> outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), kb.Box((0.0,), (1.0,)), 10)
    >>> outcome.records()[0].keys()
    dict_keys(['t', 'arm', 'x1', 'reward', 'failure'])
    """

    x: Point
    """The measured point with the best estimate: the likely best, not the luckiest.

    A named policy on a box recommends by its own rule, and may name a point that was not measured.
    """
    arm: int | None
    """Its number on a list of arms; None on a box."""
    mean: float
    """The estimate at x, in the units of what the objective returns."""
    sd: float
    """The standard deviation of the estimate."""
    chance: float
    """The probability that x is the best of the points compared, under the posterior."""
    trials: tuple[OptimizationTrial[Point], ...]
    """All rounds, in order: what `optimize` has measured, and no results that were told to it."""
    policy: Policy
    """The policy after the last round; give it to `optimize` again to go on in the same direction.

    A policy maximises: when y is minimised, it has learnt the rewards -y.
    """
    direction: str = "maximize"
    """Whether y was maximised or minimised."""
    ended: str = "rounds"
    """Why the run ended: "rounds", "timeout", "tolerance", "patience", "callback" or "interrupted".
    """
    study: str = ""
    """Where the study of the run is stored, if it has one."""
    asynchronous: bool = False
    """Whether each worker began its next point when it was free. The same call may then choose
    otherwise, as it depends on which worker is faster."""
    pending: int = 0
    """How many points of the study were asked for by the run and have no result yet. The next call
    of `optimize` with the same study measures them first."""
    limits: str = ""
    """The limits on outcomes in words; "" without any."""
    feasibility: float | None = None
    """The probability that x meets all of them; None without any. Where no measured point does so
    with probability 0.9, x is the one that most probably does."""

    @property
    def failures(self) -> int:
        return sum(trial.reward is None for trial in self.trials)

    @property
    def stopped(self) -> int:
        """How many trials were stopped before their end."""
        return sum(trial.stopped is not None for trial in self.trials)

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite domain has a reward."""
        return is_exhausted(self.policy)

    def records(self) -> list[dict[str, Any]]:
        """Return the rounds as rows of a table, as for `pandas.DataFrame(outcome.records())`."""
        return [trial.record() for trial in self.trials]

    def plot(self) -> Figure:
        """Return a figure of the run: its results, the best so far, the estimate of the outcome.

        The estimate of the recommended point stands at the right of the last trial, with its 95 %
        interval: the interval of the estimate, not of a new measurement. Failed trials are marked
        at the bottom. Positive results over two powers of ten or more are drawn on a logarithmic
        axis. The figure is one of matplotlib, from the extra `experiments`.

        >>> import kernelbandits as kb
        >>> outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), [(0, 1)], 10)
        >>> figure = outcome.plot()
        >>> figure.axes[0].get_ylabel()
        'result'

        `figure.savefig("progress.png")` writes it to a file.
        """
        # Imported here, because most runs draw nothing, and figures import much.
        from kernelbandits.policies.progress import draw_outcome

        numbers = [trial.t for trial in self.trials]
        rewards = [None if trial.stopped is not None else trial.reward for trial in self.trials]
        sign = 1.0 if self.direction == "maximize" else -1.0
        predicted = [trial.reward if trial.stopped is not None else None for trial in self.trials]
        return draw_outcome(numbers, rewards, predicted, sign, self.mean, self.sd)

    def __str__(self) -> str:
        estimate = (
            f"estimate {self.mean:.4g} with sd {self.sd:.2g}, "
            f"best with probability {format_share(self.chance)}"
        )
        if self.feasibility is not None:
            share = format_share(self.feasibility)
            estimate += f", meets {self.limits} with probability {share}"
        pending = f"; {format_count(self.pending, 'point')} pending" if self.pending else ""
        return f"{format_point(self.x)}: {estimate}; {self._describe_rounds('round')}{pending}"

    def _describe_rounds(self, noun: str = "") -> str:
        """Say how many rounds there were, what became of them, and how they ended."""
        count = format_count(len(self.trials), noun) if noun else str(len(self.trials))
        stopped = f", {self.stopped} stopped early" if self.stopped else ""
        free = ", asynchronous" if self.asynchronous else ""
        return f"{count}, {self.failures} failed{stopped}{free}{ENDS[self.ended]}"

    def __repr__(self) -> str:
        return f"<Outcome: {self}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the recommended point, its estimate, how the run ended."""
        arm = [] if self.arm is None else [("arm", self.arm)]
        known = [
            *arm,
            *name_coordinates(self.x),
            ("estimate", f"{self.mean:.4g}, sd {self.sd:.2g}"),
            ("the best with probability", format_share(self.chance)),
            *self._name_feasibility(),
            ("rounds", self._describe_rounds()),
        ]
        return html_card(f"Outcome: {self.direction}", html_pairs(known))

    def _name_feasibility(self) -> list[tuple[str, str]]:
        """Return the probability of meeting the limits with its name; [] without limits."""
        if self.feasibility is None:
            return []
        return [(f"meets {self.limits}", format_share(self.feasibility))]


ENDS = {
    "rounds": "",
    "timeout": "; ended by the timeout",
    "tolerance": "; ended within the tolerance",
    "patience": "; ended without improvement",
    "callback": "; ended by the callback",
    "interrupted": "; ended by Ctrl-C",
}
"""Why a run ended -> how its outcome says so."""


@dataclass(frozen=True)
class Plan:
    """How long a run of `optimize` lasts, and how it asks."""

    rounds: int
    batch: int
    """How many points are asked for at a time."""
    tolerance: float | None = None
    """The run ends when the recommended point is within this much of the best."""
    patience: int | None = None
    """The run ends when so many results in succession are no better than the best before them."""
    asynchronous: bool = False
    """Whether a point is asked for as soon as another one is measured, and not batch by batch."""

    def count_due(self, waiting: int, left: int) -> int:
        """Return how many points to ask for while so many are measured and so many are left.

        A batch waits for all results of the one before it.

        >>> Plan(9, 3).count_due(0, 9), Plan(9, 3).count_due(1, 9)
        (3, 0)
        >>> Plan(9, 3, asynchronous=True).count_due(1, 9)
        2
        """
        free = self.batch - waiting if self.asynchronous or not waiting else 0
        return max(min(free, left), 0)

    def is_stale(self, rewards: Sequence[float | None], sign: float) -> bool:
        """Tell whether the patience is over; a failure, None, is no improvement.

        >>> Plan(9, 1, patience=2).is_stale([3.0, 4.0, 4.0, None], sign=1.0)
        True
        >>> Plan(9, 1, patience=2).is_stale([3.0, 4.0, 4.0, None], sign=-1.0)
        True
        >>> Plan(9, 1, patience=2).is_stale([3.0, 4.0, None, 2.0], sign=-1.0)
        False
        """
        best, at = -math.inf, 0
        for number, reward in enumerate(rewards, start=1):
            if reward is not None and sign * reward > best:
                best, at = sign * reward, number
        return self.patience is not None and len(rewards) - at >= self.patience


Asked = TypeVar("Asked")
"""What was asked for: a choice of a policy, or a trial of a study."""


EARLIER = 5
"""So many measurements must have reported at a step before one is stopped there."""


def find_bars(curves: Sequence[Curve], sign: float) -> dict[float, float]:
    """Return for each step the median reward that was reported there, where stopping makes sense.

    That is so where five measurements have reported, and where two that came to their end have
    reported later: the final value of what is stopped can then be predicted, and time is saved.

    >>> whole = [Curve({1: 0.5, 2: 0.4, 3: 0.3}, 0.3), Curve({1: 0.6, 2: 0.5, 3: 0.2}, 0.2)]
    >>> find_bars([*whole, *[Curve({1: 0.9 + k / 10}) for k in range(3)]], sign=-1.0)
    {1: -0.9}
    """
    ends = sorted(max(one.reports) for one in curves if one.reports and one.final is not None)
    reported: dict[float, list[float]] = {}
    for curve in curves:
        for step, value in curve.reports.items():
            reported.setdefault(step, []).append(sign * value)
    last = ends[-2] if len(ends) > 1 else -math.inf
    found = {step: rewards for step, rewards in reported.items() if len(rewards) >= EARLIER}
    return {step: median(rewards) for step, rewards in sorted(found.items()) if step < last}


class Loop(ABC, Generic[Asked]):
    """A run of `optimize` on its way: it yields the trials, and knows why it has ended.

    Points are asked for when they can be measured. Batch by batch is the case in which that is so
    when all results before are learnt; results then count in the order of their points.
    """

    def __init__(self, measurer: Measurer, deadline: float) -> None:
        self.measurer, self.deadline, self.ended = measurer, deadline, "rounds"
        self.asynchronous = False
        self._queue: deque[Asked] = deque()
        self._begun: list[Asked] = []
        self.waiting: dict[int, Asked] = {}
        """What is being measured, by its number in this run."""

    @property
    @abstractmethod
    def sign(self) -> float:
        """1 to maximise, -1 to minimise."""

    @property
    @abstractmethod
    def rewards(self) -> Sequence[float | None]:
        """What was measured, in the order in which it counts; None for a failure."""

    @abstractmethod
    def count_left(self, plan: Plan) -> int:
        """Return how many results are still to come."""

    def find_unmeasured(self) -> Sequence[Asked]:
        """Return what an earlier run has asked for and not measured."""
        return ()

    @abstractmethod
    def may_stop(self, tolerance: float) -> bool:
        """Tell whether the recommended point is within the tolerance of the best."""

    @abstractmethod
    def ask(self, n: int) -> Sequence[Asked]:
        """Ask for so many points."""

    @abstractmethod
    def point_of(self, asked: Asked) -> Any:
        """Return the point as the objective gets it."""

    @abstractmethod
    def curves_before(self, asked: Asked) -> Sequence[Curve]:
        """Return what measurements had reported that were learnt before this point was asked for.

        What others of its batch report does not count: they may be faster or slower.
        """

    def store(self, asked: Asked, result: ObjectiveResult) -> None:
        """Keep a result that has come, whether or not it is its turn to be learnt."""

    @abstractmethod
    def learn(self, number: int, asked: Asked, result: ObjectiveResult) -> OptimizationTrial[Any]:
        """Learn a result, and return the trial."""

    def play(self, plan: Plan) -> Iterator[OptimizationTrial[Any]]:
        """Yield the trials of the next rounds."""
        self.asynchronous = plan.asynchronous
        results = self._store_each(self.measurer.measure(lambda: self._supply(plan), self.deadline))
        try:
            # What is learnt must not depend on which worker of a batch is faster.
            ordered = results if plan.asynchronous else put_in_order(results, INTERRUPTS)
            for number, result in ordered:
                asked = self.waiting[number]
                trial = self.learn(number, asked, result)
                del self.waiting[number]
                yield trial
        except OutOfTime:
            self.ended = "timeout"

    def _store_each(
        self, results: Iterator[tuple[int, ObjectiveResult]]
    ) -> Iterator[tuple[int, ObjectiveResult]]:
        for number, result in results:
            asked = self.waiting[number]
            if result.stopped:
                result = self._predict_end(asked, result)
            self.store(asked, result)
            yield number, result

    def _predict_end(self, asked: Asked, result: ObjectiveResult) -> ObjectiveResult:
        """Return the result of a measurement that was stopped: its predicted end."""
        found = predict_final(Curve(dict(result.reports)), self.curves_before(asked))
        if found is None:
            step = result.reports[-1][0]
            return ObjectiveResult(
                failure=f"stopped at step {step:g}, and its end cannot be predicted"
            )
        return result._replace(measured=found)

    def _supply(self, plan: Plan) -> tuple[int, Any] | None:
        """Return the next point with its number; None while there is none."""
        if not self._queue and self.ended == "rounds":
            self._fill_queue(plan)
        if not self._queue:
            return None
        asked, number = self._queue.popleft(), len(self._begun)
        self._begun.append(asked)
        self.waiting[number] = asked
        x = self.point_of(asked)
        if not self.measurer.attempt.watched:
            return number, x
        return number, Watched(x, find_bars(self.curves_before(asked), self.sign))

    def _fill_queue(self, plan: Plan) -> None:
        """Ask for what may be measured now, or end the run."""
        left = self.count_left(plan)
        due = plan.count_due(len(self.waiting), left)
        if not due:
            return
        self._queue.extend(self.find_unmeasured()[:left])
        if self._queue:
            return
        if plan.is_stale(self.rewards, self.sign):
            self.ended = "patience"
        elif plan.tolerance is not None and self.may_stop(plan.tolerance):
            self.ended = "tolerance"
        elif time.monotonic() >= self.deadline:
            self.ended = "timeout"
        else:
            self._queue.extend(self.ask(due))


class AskedChoice(NamedTuple):
    """A choice, and how many trials were learnt when it was made."""

    choice: Choice
    learnt: int


class Run(Loop[AskedChoice]):
    """A run of `optimize` in memory."""

    def __init__(
        self,
        policy: Policy,
        streams: Streams,
        sign: float,
        measurer: Measurer,
        deadline: float,
        is_within: Callable[[Any, float, Sequence[Choice]], bool],
        target: str = "",
        limits: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`is_within` tells whether the recommended point is near enough to the best.

        `target` is the one of several targets that has a direction; "" where one number is
        measured. `limits` are the targets within limits by name, in the order of the limited
        outcomes of the policy.
        """
        super().__init__(measurer, deadline)
        self.policy, self.streams, self._sign, self.is_within = policy, streams, sign, is_within
        self.start, self.reported = policy.turn, False
        self.target, self.limits = target, limits
        self.trials: list[OptimizationTrial[Any]] = []

    @property
    def sign(self) -> float:
        return self._sign

    @property
    def rewards(self) -> list[float | None]:
        return [trial.counts for trial in self.trials]

    @property
    def unfinished(self) -> list[Choice]:
        """The choices that were stopped, and at whose points no trial came to its end.

        They are not recommended.
        """
        stopped = [trial.choice for trial in self.trials if trial.stopped is not None]
        if not stopped:
            return []
        ends = [one for one in self.trials if one.stopped is None and one.reward is not None]
        finished = {self._name_place(trial.choice) for trial in ends}
        return [choice for choice in stopped if self._name_place(choice) not in finished]

    def _name_place(self, choice: Choice) -> Any:
        """Return what is equal for choices of the same arm, or of the same point."""
        place = self.policy._place_of(choice)
        return place if self.policy.finite else place.tobytes()

    def count_left(self, plan: Plan) -> int:
        return plan.rounds - len(self.trials) - len(self.waiting)

    def may_stop(self, tolerance: float) -> bool:
        return bool(self.trials) and self.is_within(self.policy, tolerance, self.unfinished)

    def ask(self, n: int) -> Sequence[AskedChoice]:
        self.report_exhaustion()
        turn = self.start + len(self._begun)
        pending = tuple(one.choice for one in self.waiting.values())
        choices = self.policy.batch(n, turn, self.streams, pending=pending)
        return [AskedChoice(choice, len(self.trials)) for choice in choices]

    def point_of(self, asked: AskedChoice) -> Any:
        return self._point_of_choice(asked.choice)

    def _point_of_choice(self, choice: Choice) -> Any:
        """Return the point as the objective gets it: in the user's own values if arms have them."""
        values = self.policy.domain.values if self.policy.finite else ()
        return choice.x if not values or choice.arm is None else values[choice.arm]

    def curves_before(self, asked: AskedChoice) -> list[Curve]:
        earlier = self.trials[: asked.learnt]
        return [
            Curve(one.reports, None if one.stopped is not None else one.reward)
            for one in earlier
            if one.reports
        ]

    def learn(
        self, number: int, asked: AskedChoice, result: ObjectiveResult
    ) -> OptimizationTrial[Any]:
        """Tell the policy the result of a trial, -y when y is minimised, and return the trial."""
        trial = self.make_trial(self.start + number, asked, result)
        if trial.reward is None:
            self.policy.fail(trial.choice)
        elif isinstance(trial.reward, Measurement):
            self.policy.tell(trial.choice, Measurement(self.sign * trial.reward, trial.reward.sem))
        else:
            self.policy.tell(trial.choice, self.sign * trial.reward)
            for name, outcome in zip(self.limits, self.policy.outcomes, strict=True):
                outcome.policy.tell(trial.choice, trial.values[name])
        self.trials.append(trial)
        return trial

    def make_trial(
        self, t: int, asked: AskedChoice, result: ObjectiveResult
    ) -> OptimizationTrial[Any]:
        """Return a trial; of several targets with all values, and whether these are feasible."""
        measured, reward, feasible = result.measured, None, None
        values: Mapping[str, float] = {}
        if measured is not None and self.target:
            values = check_values(measured, [self.target, *self.limits])
            broken = [one for name, one in self.limits.items() if one.breaks_limit(values[name])]
            reward, feasible = values[self.target], not broken
        elif measured is not None:
            reward = single_reward(measured)
        return OptimizationTrial(
            t,
            asked.choice,
            reward,
            result.failure,
            self.point_of(asked),
            values,
            feasible,
            dict(result.reports),
            result.reports[-1][0] if result.stopped else None,
        )

    def report_exhaustion(self) -> None:
        """Say once that every point of a finite space is measured."""
        space = isinstance(self.policy.domain, MixedBox)
        if self.trials and space and not self.reported and is_exhausted(self.policy):
            self.reported = True
            count = format_count(int(self.policy.domain.count), "point")
            text = f"optimize: all {count} of the space are measured; further rounds repeat them"
            warnings.warn(text, DataNotice, stacklevel=4)

    def summarise(self) -> Outcome[Any]:
        """Return the recommended point and its estimate; without any reward there is none."""
        policy = self.policy
        if not policy.n_rewards:
            raise_without_rewards(self.trials, self.ended)
        choice = recommend_measured(policy, self.unfinished)
        compared = compare_choice(policy, choice)
        mean, sd = compared.estimate(compared.here)
        return Outcome(
            x=self._point_of_choice(choice),
            arm=choice.arm,
            mean=self.sign * mean,
            sd=sd,
            chance=compared.chance(compared.here),
            trials=tuple(sorted(self.trials, key=lambda trial: trial.t)),
            policy=policy,
            direction="maximize" if self.sign > 0 else "minimize",
            ended=self.ended,
            asynchronous=self.asynchronous,
            limits=", ".join(f"{name} {one.sentence}" for name, one in self.limits.items()),
            feasibility=policy.feasibility(choice) if self.limits else None,
        )


def check_values(measured: Measured, names: Sequence[str]) -> dict[str, float]:
    """Return the values of several targets by their names: one of each is needed."""
    told = list(measured) if isinstance(measured, dict) else []
    if not isinstance(measured, dict) or {*told} != {*names}:
        got = f"values of {told}" if told else checks.describe_value(measured)
        raise checks.NoNumber(
            "optimize needs an objective that returns a dictionary with a number for each of the "
            f"targets {[*names]}, got {got}"
        )
    return measured


def is_exhausted(policy: Policy) -> bool:
    """Tell whether every point of a finite domain has a reward.

    Of a policy that fits no scales it is not told: many do not know their rewards by point.
    """
    observations, domain = policy.observations(), policy.domain
    if policy.fits is None or observations is None:
        return False
    if policy.finite:
        return len(observations) >= len(domain)
    return isinstance(domain, MixedBox) and len(observations) >= domain.count


def raise_without_rewards(trials: Sequence[OptimizationTrial[Any]], ended: str) -> NoReturn:
    """Say that there is no reward, and so no outcome; an interrupt stays one."""
    if ended == "interrupted":
        raise KeyboardInterrupt
    failed = f"{len(trials)} failures"
    if trials:
        failed += f", the last of them {trials[-1].failure}"
    raise ValueError(f"optimize needs one reward at least, got {failed}{ENDS[ended]}")
