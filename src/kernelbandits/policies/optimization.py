"""The whole loop in one call: ask, measure, tell, until the rounds are over."""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, SupportsFloat, TypeVar, overload

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Direction
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, as_arms, as_domain
from kernelbandits.formatting import format_count, format_share
from kernelbandits.markup import html_card, html_pairs
from kernelbandits.measuring import (
    Attempt,
    Mapper,
    MapperMeasurer,
    Measurer,
    OutOfTime,
    ProcessMeasurer,
    SerialMeasurer,
)
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
from kernelbandits.runtime import MOST_WORKERS
from kernelbandits.streams import Streams

Point = TypeVar("Point")
"""What the objective gets: an array, or on a `kb.MixedBox` a dict."""
Catch = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions that mean a failed measurement."""

ENOUGH = 0.9
"""The probability of being within the tolerance that ends a run, as in a study."""
FEWEST = 5
"""With fewer rewards the scale of the objective is unknown, and no tolerance ends a run."""
SURE = 2.0
"""The noise of one result is rarely larger than this many of its standard deviations."""

log = logging.getLogger("kernelbandits.optimize")


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


@overload
def optimize(
    objective: Callable[[dict[str, Any]], SupportsFloat],
    domain: MixedBox | Mapping[str, Any],
    rounds: int,
    *,
    direction: Direction = "maximize",
    seed: int = 0,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    timeout: float | None = None,
    tolerance: float | None = None,
    mapper: Mapper | None = None,
    each: Callable[[OptimizationTrial[dict[str, Any]]], object] | None = None,
    catch: Catch = (),
    progress: bool | None = None,
) -> Outcome[dict[str, Any]]: ...


@overload
def optimize(
    objective: Callable[[Array], SupportsFloat],
    domain: Box | Arms | npt.ArrayLike,
    rounds: int,
    *,
    direction: Direction = "maximize",
    seed: int = 0,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    timeout: float | None = None,
    tolerance: float | None = None,
    mapper: Mapper | None = None,
    each: Callable[[OptimizationTrial[Array]], object] | None = None,
    catch: Catch = (),
    progress: bool | None = None,
) -> Outcome[Array]: ...


def optimize(
    objective: Callable[[Any], Any],
    domain: Any,
    rounds: int,
    *,
    direction: str = "maximize",
    seed: int = 0,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    timeout: float | None = None,
    tolerance: float | None = None,
    mapper: Mapper | None = None,
    each: Callable[[OptimizationTrial[Any]], object] | None = None,
    catch: Catch = (),
    progress: bool | None = None,
) -> Outcome[Any]:
    """Maximise or minimise a function that is measured with noise; return the likely best point.

    Each round asks the policy for a point, measures it and tells the policy the result. Equal seeds
    and batch sizes give equal runs, whatever the number of workers. Ctrl-C ends the run, and what
    was done is returned. The logger "kernelbandits.optimize" reports every trial.

    Parameters
    ----------
    objective
        A function of a point x (an array, or a dict on a `kb.MixedBox`) that returns a number. A
        result that is no finite number, such as NaN, is a failure: it is counted, it is no
        observation, and the run goes on. An exception ends the run, unless `catch` names it.
    domain
        Where to search: a `kb.Box`, a `kb.MixedBox`, `kb.Arms` or an (n, d) array of candidates. A
        list of pairs [(low, high), ...] is a box, a dictionary of variables a mixed box.
    rounds
        How many measurements are made.
    direction
        "maximize" ("max") or "minimize" ("min").
    seed
        Of the randomness of the policy.
    policy
        Any `kb.Policy` of this domain; without one it is `kb.Auto(domain, goal="find",
        rounds=rounds)`, which looks for the best point in the end and claims nothing about the
        rewards on the way. The policy goes on from where it is. A policy with randomness of its own
        (`policy.streams`, as `kb.Auto` has) uses that in place of `seed`.
    batch
        How many points are measured at a time; by default as many as there are workers.
    workers
        How many processes measure. The objective is then sent to them, so it must be a function at
        the top level of a module or script. A process that dies has failed to measure its point.
    timeout
        Seconds after which no further point is measured. Processes are ended in the middle of a
        measurement; one worker finishes the one that it has begun.
    tolerance
        End the run when the recommended point is within this much of the best with probability
        0.9 under the model of `kb.Auto`. This is the rule of `kb.Study`; it is no guarantee.
    mapper
        In place of workers: how the points of a batch are measured, for instance the map of a pool.
    each
        A function that is called with every `OptimizationTrial`; it ends the run by returning True.
    catch
        An exception class, or a tuple of them, that means a failed measurement when the objective
        raises it. Any other exception is raised, so that a mistake in the program is not taken for
        a failed measurement.
    progress
        Whether a progress bar is shown on standard error; by default if that is a terminal.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), [(0, 1)], 15)
    >>> bool(abs(outcome.x[0] - 0.3) < 0.05)
    True

    The least value, in the units of the function, with failed measurements:

    >>> def cost(x):
    ...     if x["flow"] > 0.9:
    ...         raise RuntimeError("the pump stopped")
    ...     return 5 + (x["flow"] - 0.3) ** 2
    >>> space = {"flow": kb.Real(0, 1), "valve": kb.Category(("open", "closed"))}
    >>> outcome = kb.optimize(cost, space, 15, direction="minimize", catch=RuntimeError)
    >>> bool(abs(outcome.mean - 5) < 0.05)
    True

    With a policy of your choice:

    >>> arms = kb.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]])
    >>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> kb.optimize(lambda x: 1 - (x[0] - 0.7) ** 2, arms, 20, policy=policy).arm
    3
    """
    checks.needs(callable(objective), "optimize", "an objective to call", objective)
    sign = 1.0 if checks.direction("optimize", direction) == "maximize" else -1.0
    attempt = Attempt(objective, check_exceptions(catch))
    n_rounds = checks.whole("optimize", "rounds", rounds)
    measurer = choose_measurer(attempt, workers, mapper)
    size = checks.whole("optimize", "batch", workers if batch is None else batch)
    seconds = math.inf if timeout is None else checks.positive("optimize", "timeout", timeout)
    deadline = time.monotonic() + seconds
    checks.needs(each is None or callable(each), "optimize", "a function each", each)
    shown = progress is None or isinstance(progress, bool)
    checks.needs(shown, "optimize", "progress True, False or None", progress)
    if policy is None:
        policy = Auto(as_domain("optimize", domain), goal="find", rounds=n_rounds, seed=seed)
    else:
        checks.needs(isinstance(policy, Policy), "optimize", "a kb.Policy as policy", policy)
        fits = same_domain(policy.domain, domain)
        checks.needs(fits, "optimize", "a policy of the same domain", policy.domain)
    if tolerance is not None:
        checks.positive("optimize", "tolerance", tolerance)
        checks.needs(isinstance(policy, Auto), "optimize", "kb.Auto for a tolerance", policy)
    with measurer, show_progress(n_rounds, sign, progress) as advance:
        run = Run(policy, getattr(policy, "streams", Streams(seed)), sign, measurer, deadline)
        try:
            for trial in run.play(n_rounds, size, tolerance):
                log.info("trial %d: %s", trial.t, trial.record())
                advance(trial)
                if each is not None and each(trial) is True:
                    run.ended = "callback"
                    break
        except KeyboardInterrupt:
            run.ended = "interrupted"
    log.info("%s%s", format_count(len(run.trials), "trial"), ENDS[run.ended])
    return summarise(run)


def choose_measurer(attempt: Attempt, workers: Any, mapper: Mapper | None) -> Measurer:
    """How the points of a batch are measured."""
    count = checks.whole("optimize", "workers", workers)
    checks.needs(count <= MOST_WORKERS, "optimize", f"workers <= {MOST_WORKERS}", workers)
    if mapper is not None:
        checks.needs(callable(mapper), "optimize", "a mapper to call", mapper)
        checks.needs(count == 1, "optimize", "workers or a mapper, not both", workers)
        return MapperMeasurer(attempt, mapper)
    return SerialMeasurer(attempt) if count == 1 else ProcessMeasurer(attempt, count)


def check_exceptions(catch: Any) -> tuple[type[BaseException], ...]:
    """An exception class or several, as a tuple."""
    classes = tuple(catch) if isinstance(catch, (tuple, list)) else (catch,)
    known = all(isinstance(one, type) and issubclass(one, BaseException) for one in classes)
    checks.needs(known, "optimize", "an exception class or a tuple of them as catch", catch)
    return classes


def same_domain(one: Any, other: Any) -> bool:
    """Whether the points are the same, in the same order where there is one.

    A rule that plays on a finite cover of a box has the cover as its domain: it is one of that box.
    """
    if isinstance(other, dict) or (isinstance(other, (list, tuple)) and not isinstance(one, Arms)):
        other = as_domain("optimize", other)
    given = other if isinstance(other, (Box, MixedBox, Contextual)) else as_arms(other)
    if isinstance(one, Arms) and one.origin and isinstance(given, (Box, MixedBox)):
        given = given.cover()
    if isinstance(one, Arms) and isinstance(given, Arms):
        return np.array_equal(one.points, given.points)
    return bool(one == given)


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
                for number, (reward, failure) in self.measurer.measure(points, self.deadline):
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


def is_exhausted(policy: Policy) -> bool:
    """Whether every point of a finite domain has a reward."""
    if not isinstance(policy, Auto):
        return False
    if policy.finite:
        return len(policy.rewards) >= len(policy.domain)
    count = policy.domain.count if isinstance(policy.domain, MixedBox) else math.inf
    return len(policy.rewards) >= count


def is_within(policy: Policy, tolerance: float) -> bool:
    """Whether the recommended point is within a tolerance of the best with probability 0.9.

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


@contextmanager
def show_progress(
    rounds: int, sign: float, wanted: bool | None
) -> Iterator[Callable[[OptimizationTrial[Any]], None]]:
    """Show a bar on standard error; call what it yields with every trial."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda trial: None
        return
    # Imported here: most runs have no terminal, and it takes a tenth of a second.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    best_so_far = TextColumn("{task.fields[best]}")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), best_so_far)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("optimize", total=rounds, best="")
        best = -math.inf

        def advance(trial: OptimizationTrial[Any]) -> None:
            nonlocal best
            if trial.reward is not None:
                best = max(best, sign * trial.reward)
            text = f"best {sign * best:.4g}" if math.isfinite(best) else ""
            bar.update(task, advance=1, best=text)

        yield advance


def summarise(run: Run) -> Outcome[Any]:
    """The recommended point and its estimate; without any reward there is none."""
    policy = run.policy
    if not policy.n_rewards:
        if run.ended == "interrupted":
            raise KeyboardInterrupt
        failed = f"{len(run.trials)} failures"
        if run.trials:
            failed += f", the last of them {run.trials[-1].failure}"
        raise ValueError(f"optimize needs one reward at least, got {failed}{ENDS[run.ended]}")
    choice = recommend_measured(policy)
    why: Explanation = policy.explain(choice)
    return Outcome(
        x=run.point_of(choice),
        arm=choice.arm,
        mean=run.sign * why.mean,
        sd=why.sd,
        chance=why.chance,
        trials=tuple(run.trials),
        policy=policy,
        direction="maximize" if run.sign > 0 else "minimize",
        ended=run.ended,
    )


def recommend_measured(policy: Policy) -> Choice:
    """Of the points that `Auto` has measured, that with the best estimate.

    On a box the greatest estimate of all is mostly at a point that nobody has measured. Other
    policies recommend by their own rules.
    """
    if not isinstance(policy, Auto) or policy.finite or isinstance(policy.domain, Contextual):
        return policy.recommended()
    points = policy.rewards.points
    mean, _ = policy.posterior.at(points)
    return policy.choice(policy.domain.decode(points[int(mean.argmax())]))
