"""A run of `optimize` in memory: ask, measure, tell, until the rounds are over; and its outcome."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from kernelbandits import checks
from kernelbandits.checks import DataNotice
from kernelbandits.domains import MixedBox
from kernelbandits.formatting import (
    format_count,
    format_point,
    format_share,
    name_coordinates,
)
from kernelbandits.markup import html_card, html_pairs
from kernelbandits.measuring import INTERRUPTS, Measured, Measurer, OutOfTime, single_reward
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
    """What the objective returned; None for a failure."""
    failure: str = ""
    """Why there is no reward."""
    point: Any = None
    """The point as the objective got it, where that is not the point of the choice."""
    values: Mapping[str, float] = field(default_factory=dict)
    """The values of several targets by their names; {} for one."""
    feasible: bool | None = None
    """Whether the values meet the limits on outcomes; None without any."""

    @property
    def counts(self) -> float | None:
        """The reward, if it may be the best: None for a failure and for what is not feasible."""
        return None if self.feasible is False else self.reward

    @property
    def x(self) -> Point:
        """The point as the objective got it."""
        x: Point = self.choice.x if self.point is None else self.point
        return x

    def record(self) -> dict[str, Any]:
        """Return the round as a row of a table."""
        x: Any = self.x
        point = x if isinstance(x, dict) else {f"x{j + 1}": value for j, value in enumerate(x)}
        return {
            "t": self.t,
            "arm": self.choice.arm,
            **point,
            "reward": self.reward,
            **self.values,
            **({} if self.feasible is None else {"feasible": self.feasible}),
            "failure": self.failure,
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
    """All rounds, in order."""
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
        rewards = [trial.reward for trial in self.trials]
        sign = 1.0 if self.direction == "maximize" else -1.0
        return draw_outcome(numbers, rewards, sign, self.mean, self.sd)

    def __str__(self) -> str:
        estimate = (
            f"estimate {self.mean:.4g} with sd {self.sd:.2g}, "
            f"best with probability {self.chance:.2g}"
        )
        if self.feasibility is not None:
            estimate += f", meets {self.limits} with probability {self.feasibility:.2g}"
        return (
            f"{format_point(self.x)}: {estimate}; {format_count(len(self.trials), 'round')}, "
            f"{self.failures} failed{ENDS[self.ended]}"
            + (f"; {format_count(self.pending, 'point')} pending" if self.pending else "")
        )

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
            ("rounds", f"{len(self.trials)}, {self.failures} failed{ENDS[self.ended]}"),
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


@dataclass
class Run:
    """A run of `optimize` on its way: it yields the trials, and knows why it has ended."""

    policy: Policy
    streams: Streams
    sign: float
    """1 to maximise, -1 to minimise."""
    measurer: Measurer
    deadline: float
    is_within: Callable[[Any, float], bool]
    """Whether the point that the policy recommends is within a tolerance of the best."""
    target: str = ""
    """Of several targets the one that has a direction; "" where one number is measured."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Name -> target within limits, in the order of the limited outcomes of the policy."""

    def __post_init__(self) -> None:
        self.trials: list[OptimizationTrial[Any]] = []
        self.ended = "rounds"
        self.reported = False

    @property
    def rewards(self) -> list[float | None]:
        """What was measured, in the order in which it counts; None for what cannot be the best."""
        return [trial.counts for trial in self.trials]

    def play(self, plan: Plan) -> Iterator[OptimizationTrial[Any]]:
        """Yield the trials of the next rounds; a batch is told before the next one is asked for."""
        left = plan.rounds
        try:
            while left and self.ended == "rounds":
                start = self.policy.turn
                choices = self.policy.batch(min(plan.batch, left), start, self.streams)
                points = [self.point_of(choice) for choice in choices]
                results = put_in_order(self.measurer.measure(points, self.deadline), INTERRUPTS)
                for number, (measured, failure) in results:
                    choice, x = choices[number], points[number]
                    yield self.tell(self.make_trial(start + number, choice, measured, failure, x))
                left -= len(choices)
                if left:
                    self.look(plan)
        except OutOfTime:
            self.ended = "timeout"

    def look(self, plan: Plan) -> None:
        """End the run if the plan says so; say that all points of a finite space are measured."""
        if plan.is_stale(self.rewards, self.sign):
            self.ended = "patience"
        elif plan.tolerance is not None and self.is_within(self.policy, plan.tolerance):
            self.ended = "tolerance"
        self.report_exhaustion()

    def point_of(self, choice: Choice) -> Any:
        """Return the point as the objective gets it: in the user's own values if arms have them."""
        values = self.policy.domain.values if self.policy.finite else ()
        return choice.x if not values or choice.arm is None else values[choice.arm]

    def make_trial(
        self, t: int, choice: Choice, measured: Measured | None, failure: str, x: Any
    ) -> OptimizationTrial[Any]:
        """Return a trial; of several targets with all values, and whether these are feasible."""
        if measured is None or not self.target:
            reward = None if measured is None else single_reward(measured)
            return OptimizationTrial(t, choice, reward, failure, x)
        values = check_values(measured, [self.target, *self.limits])
        broken = [one for name, one in self.limits.items() if one.breaks_limit(values[name])]
        return OptimizationTrial(t, choice, values[self.target], failure, x, values, not broken)

    def tell(self, trial: OptimizationTrial[Any]) -> OptimizationTrial[Any]:
        """Tell the policy the result of a trial, -y when y is minimised, and return the trial."""
        if trial.reward is None:
            self.policy.fail(trial.choice)
        else:
            self.policy.tell(trial.choice, self.sign * trial.reward)
            for name, outcome in zip(self.limits, self.policy.outcomes, strict=True):
                outcome.policy.tell(trial.choice, trial.values[name])
        self.trials.append(trial)
        return trial

    def report_exhaustion(self) -> None:
        """Say once that every point of a finite space is measured."""
        space = isinstance(self.policy.domain, MixedBox)
        if space and not self.reported and is_exhausted(self.policy):
            self.reported = True
            count = format_count(int(self.policy.domain.count), "point")
            text = f"optimize: all {count} of the space are measured; further rounds repeat them"
            warnings.warn(text, DataNotice, stacklevel=4)

    def summarise(self) -> Outcome[Any]:
        """Return the recommended point and its estimate; without any reward there is none."""
        policy = self.policy
        if not policy.n_rewards:
            raise_without_rewards(self.trials, self.ended)
        choice = recommend_measured(policy)
        compared = compare_choice(policy, choice)
        mean, sd = compared.estimate(compared.here)
        return Outcome(
            x=self.point_of(choice),
            arm=choice.arm,
            mean=self.sign * mean,
            sd=sd,
            chance=compared.chance(compared.here),
            trials=tuple(self.trials),
            policy=policy,
            direction="maximize" if self.sign > 0 else "minimize",
            ended=self.ended,
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
