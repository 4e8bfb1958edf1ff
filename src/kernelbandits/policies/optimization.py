"""A run of `optimize` in memory: ask, measure, tell, until the rounds are over; and its outcome."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from kernelbandits.checks import DataNotice
from kernelbandits.domains import Contextual, MixedBox
from kernelbandits.formatting import format_count, format_share
from kernelbandits.markup import html_card, html_pairs
from kernelbandits.measuring import Measurer, OutOfTime, put_in_order
from kernelbandits.policies.auto import Auto
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.explanation import (
    Explanation,
    compared_rows,
    draw_from_posterior,
    name_values,
    place_of_choice,
    select_contenders,
    show_point,
)
from kernelbandits.streams import Streams

Point = TypeVar("Point")
"""What the objective gets: an array, or on a `kb.MixedBox` a dict."""

ENOUGH = 0.95
"""The probability of being within the tolerance that ends a run, as in a study."""
FEWEST = 5
"""With fewer rewards the scale of the objective is unknown, and no tolerance ends a run."""
SURE = 2.0
"""The noise of one result is rarely larger than this many of its standard deviations."""


@dataclass(frozen=True, eq=False)
class OptimizationTrial(Generic[Point]):
    """One round of `optimize`: the point that was measured, and its reward or its failure."""

    t: int
    choice: Choice
    reward: float | None
    """What the objective returned; None for a failure."""
    failure: str = ""
    """Why there is no reward."""
    point: Any = None
    """The point as the objective got it, where that is not the point of the choice."""

    @property
    def x(self) -> Point:
        """The point as the objective got it."""
        x: Point = self.choice.x if self.point is None else self.point
        return x

    def record(self) -> dict[str, Any]:
        """One row of a table."""
        x: Any = self.x
        point = x if isinstance(x, dict) else {f"x{j + 1}": value for j, value in enumerate(x)}
        return {
            "t": self.t,
            "arm": self.choice.arm,
            **point,
            "reward": self.reward,
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
    """Why the run ended: "rounds", "timeout", "tolerance", "callback" or "interrupted"."""
    study: str = ""
    """Where the study of the run is stored, if it has one."""
    pending: int = 0
    """How many points of the study were asked for by the run and have no result yet. The next call
    of `optimize` with the same study measures them first."""

    @property
    def failures(self) -> int:
        return sum(trial.reward is None for trial in self.trials)

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite domain has a reward."""
        return is_exhausted(self.policy)

    def records(self) -> list[dict[str, Any]]:
        """The rounds as rows of a table, for instance for `pandas.DataFrame(outcome.records())`."""
        return [trial.record() for trial in self.trials]

    def __str__(self) -> str:
        estimate = (
            f"estimate {self.mean:.4g} with sd {self.sd:.2g}, "
            f"best with probability {self.chance:.2g}"
        )
        return (
            f"{show_point(self.x)}: {estimate}; {format_count(len(self.trials), 'round')}, "
            f"{self.failures} failed{ENDS[self.ended]}"
            + (f"; {format_count(self.pending, 'point')} pending" if self.pending else "")
        )

    def __repr__(self) -> str:
        return f"<Outcome: {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the recommended point, its estimate, and how the run ended."""
        arm = [] if self.arm is None else [("arm", self.arm)]
        known = [
            *arm,
            *name_values(self.x),
            ("estimate", f"{self.mean:.4g}, sd {self.sd:.2g}"),
            ("the best with probability", format_share(self.chance)),
            ("rounds", f"{len(self.trials)}, {self.failures} failed{ENDS[self.ended]}"),
        ]
        return html_card(f"Outcome: {self.direction}", html_pairs(known))


ENDS = {
    "rounds": "",
    "timeout": "; ended by the timeout",
    "tolerance": "; ended within the tolerance",
    "callback": "; ended by the callback",
    "interrupted": "; ended by Ctrl-C",
}
"""Why a run ended -> how its outcome says so."""


@dataclass
class Run:
    """A run of `optimize` on its way: it yields the trials, and knows why it has ended."""

    policy: Policy
    streams: Streams
    sign: float
    """1 to maximise, -1 to minimise."""
    measurer: Measurer
    deadline: float

    def __post_init__(self) -> None:
        self.trials: list[OptimizationTrial[Any]] = []
        self.ended = "rounds"
        self.reported = False

    @property
    def done(self) -> int:
        """How many trials have a result."""
        return len(self.trials)

    def play(
        self, rounds: int, batch: int, tolerance: float | None
    ) -> Iterator[OptimizationTrial[Any]]:
        """Yield the trials of the next rounds; a batch is told before the next one is asked for."""
        left = rounds
        try:
            while left and self.ended == "rounds":
                start = self.policy.turn
                choices = self.policy.batch(min(batch, left), start, self.streams)
                points = [self.point_of(choice) for choice in choices]
                results = put_in_order(self.measurer.measure(points, self.deadline))
                for number, (reward, failure) in results:
                    choice, x = choices[number], points[number]
                    trial: OptimizationTrial[Any] = OptimizationTrial(
                        start + number, choice, reward, failure, x
                    )
                    yield self.tell(trial)
                left -= len(choices)
                if tolerance is not None and left and is_within(self.policy, tolerance):
                    self.ended = "tolerance"
                self.report_exhaustion(left)
        except OutOfTime:
            self.ended = "timeout"

    def point_of(self, choice: Choice) -> Any:
        """The point as the objective gets it: in the user's own values where arms have them."""
        values = self.policy.domain.values if self.policy.finite else ()
        return choice.x if not values or choice.arm is None else values[choice.arm]

    def tell(self, trial: OptimizationTrial[Any]) -> OptimizationTrial[Any]:
        """Tell the policy the result of a trial, -y when y is minimised, and return the trial."""
        if trial.reward is None:
            self.policy.fail(trial.choice)
        else:
            self.policy.tell(trial.choice, self.sign * trial.reward)
        self.trials.append(trial)
        return trial

    def report_exhaustion(self, left: int) -> None:
        """Say once that every point of a finite space is measured, if there are rounds left."""
        space = isinstance(self.policy.domain, MixedBox)
        if left and space and not self.reported and is_exhausted(self.policy):
            self.reported = True
            count = format_count(int(self.policy.domain.count), "point")
            text = f"optimize: all {count} of the space are measured; further rounds repeat them"
            warnings.warn(text, DataNotice, stacklevel=4)

    def summarise(self) -> Outcome[Any]:
        """The recommended point and its estimate; without any reward there is none."""
        policy = self.policy
        if not policy.n_rewards:
            raise_without_rewards(self.trials, self.ended)
        choice = recommend_measured(policy)
        why: Explanation = policy.explain(choice)
        return Outcome(
            x=self.point_of(choice),
            arm=choice.arm,
            mean=self.sign * why.mean,
            sd=why.sd,
            chance=why.chance,
            trials=tuple(self.trials),
            policy=policy,
            direction="maximize" if self.sign > 0 else "minimize",
            ended=self.ended,
        )


def raise_without_rewards(trials: Sequence[OptimizationTrial[Any]], ended: str) -> NoReturn:
    """Say that there is no reward, and so no outcome; an interrupt stays one."""
    if ended == "interrupted":
        raise KeyboardInterrupt
    failed = f"{len(trials)} failures"
    if trials:
        failed += f", the last of them {trials[-1].failure}"
    raise ValueError(f"optimize needs one reward at least, got {failed}{ENDS[ended]}")


def is_exhausted(policy: Policy) -> bool:
    """Whether every point of a finite domain has a reward."""
    if not isinstance(policy, Auto):
        return False
    if policy.finite:
        return len(policy.rewards) >= len(policy.domain)
    count = policy.domain.count if isinstance(policy.domain, MixedBox) else math.inf
    return len(policy.rewards) >= count


def is_within(policy: Policy, tolerance: float) -> bool:
    """Whether the recommended point is within a tolerance of the best with probability 0.95.

    A single reward that may be luck is not enough, unless the noise is small against the tolerance.
    """
    if not isinstance(policy, Auto) or policy.n_rewards < FEWEST:
        return False
    choice = recommend_measured(policy)
    where = policy._place_of(choice)
    row = policy.domain.points[where] if policy.finite else where
    noise = policy.calibration.noise_scale
    if policy.rewards.count_at(row) == 1 and SURE * noise > tolerance:
        return False
    rows = compared_rows(policy, row, place_of_choice(policy, choice, None))
    mean, sd = policy.posterior.at(rows)
    here = int((rows == row).all(1).argmax())
    kept = select_contenders(mean, sd, here)
    draws = policy.units.original(draw_from_posterior(policy.posterior, rows[kept]))
    losses = draws.max(1) - draws[:, int((kept == here).argmax())]
    return bool((losses <= tolerance).mean() >= ENOUGH)


def recommend_measured(policy: Policy) -> Choice:
    """Of the points that `Auto` has measured, that with the best estimate.

    On a box the greatest estimate of all is mostly at a point that nobody has measured. Other
    policies recommend by their own rules.
    """
    if not isinstance(policy, Auto) or policy.finite or isinstance(policy.domain, Contextual):
        return policy.recommend_choice()
    points = policy.rewards.points
    mean, _ = policy.posterior.at(points)
    return policy.choice(policy.domain.decode(points[int(mean.argmax())]))
