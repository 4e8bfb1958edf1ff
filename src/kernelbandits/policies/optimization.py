"""The whole loop in one call: ask, measure, tell, until the rounds are over."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, SupportsFloat, TypeVar, overload

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Direction
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, as_arms
from kernelbandits.formatting import format_count
from kernelbandits.policies.auto import Auto
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.explanation import Explanation, show_point
from kernelbandits.streams import Streams

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or a function with its arguments, such as the map of a process pool."""
Point = TypeVar("Point")
"""What the objective gets: an array, or on a `kb.MixedBox` a dict."""
Catch = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions that mean a failed measurement."""


@dataclass(frozen=True, eq=False)
class OptimizationTrial(Generic[Point]):
    """One round of `optimize`: the point that was measured, and its reward or its failure."""

    t: int
    choice: Choice
    reward: float | None
    """What the objective returned; None for a failure."""
    failure: str = ""
    """Why there is no reward."""

    @property
    def x(self) -> Point:
        point: Point = self.choice.x
        return point

    def record(self) -> dict[str, Any]:
        """One row of a table."""
        x: Any = self.choice.x
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

    @property
    def failures(self) -> int:
        return sum(trial.reward is None for trial in self.trials)

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
            f"{self.failures} failed"
        )

    def __repr__(self) -> str:
        return f"<Outcome: {self}>"


@overload
def optimize(
    objective: Callable[[dict[str, Any]], SupportsFloat],
    domain: MixedBox,
    rounds: int,
    *,
    direction: Direction = "maximize",
    seed: int = 0,
    policy: Policy | None = None,
    batch: int = 1,
    mapper: Mapper = map,
    each: Callable[[OptimizationTrial[dict[str, Any]]], object] | None = None,
    catch: Catch = (),
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
    batch: int = 1,
    mapper: Mapper = map,
    each: Callable[[OptimizationTrial[Array]], object] | None = None,
    catch: Catch = (),
) -> Outcome[Array]: ...


def optimize(
    objective: Callable[[Any], Any],
    domain: Any,
    rounds: int,
    *,
    direction: str = "maximize",
    seed: int = 0,
    policy: Policy | None = None,
    batch: int = 1,
    mapper: Mapper = map,
    each: Callable[[OptimizationTrial[Any]], object] | None = None,
    catch: Catch = (),
) -> Outcome[Any]:
    """Maximise or minimise a function that is measured with noise; return the likely best point.

    Each round asks the policy for a point, measures it and tells the policy the result. Equal seeds
    give equal runs.

    Parameters
    ----------
    objective
        A function of a point x (an array, or a dict on a `kb.MixedBox`) that returns a number. A
        result that is no finite number, such as NaN, is a failure: it is counted, it is no
        observation, and the run goes on. An exception ends the run, unless `catch` names it.
    domain
        Where to search: a `kb.Box`, a `kb.MixedBox`, `kb.Arms` or an (n, d) array of candidates.
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
        How many points are measured at a time.
    mapper
        How the points of a batch are measured: `map`, or for instance the map of a process pool.
    each
        A function that is called with every `OptimizationTrial`, for instance to print it.
    catch
        An exception class, or a tuple of them, that means a failed measurement when the objective
        raises it. Any other exception is raised, so that a mistake in the program is not taken for
        a failed measurement.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), kb.Box((0.0,), (1.0,)), 15)
    >>> bool(abs(outcome.x[0] - 0.3) < 0.05)
    True

    The least value, in the units of the function, with failed measurements:

    >>> def cost(x):
    ...     if x[0] > 0.9:
    ...         raise RuntimeError("the pump stopped")
    ...     return 5 + (x[0] - 0.3) ** 2
    >>> box = kb.Box((0.0,), (1.0,))
    >>> outcome = kb.optimize(cost, box, 15, direction="minimize", catch=RuntimeError)
    >>> bool(abs(outcome.mean - 5) < 0.05)
    True

    With a policy of your choice:

    >>> arms = kb.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]])
    >>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> kb.optimize(lambda x: 1 - (x[0] - 0.7) ** 2, arms, 20, policy=policy).arm
    3
    """
    checks.needs(callable(objective), "optimize", "an objective to call", objective)
    checks.needs(callable(mapper), "optimize", "a mapper to call", mapper)
    sign = 1.0 if checks.direction("optimize", direction) == "maximize" else -1.0
    attempt = Attempt(objective, check_exceptions(catch))
    n_rounds = checks.whole("optimize", "rounds", rounds)
    batch_size = checks.whole("optimize", "batch", batch)
    if policy is None:
        policy = Auto(domain, goal="find", rounds=n_rounds, seed=seed)
    else:
        checks.needs(isinstance(policy, Policy), "optimize", "a kb.Policy as policy", policy)
        fits = same_domain(policy.domain, domain)
        checks.needs(fits, "optimize", "a policy of the same domain", policy.domain)
    streams = getattr(policy, "streams", Streams(seed))
    trials: list[OptimizationTrial[Any]] = []
    for trial in play_rounds(attempt, policy, streams, n_rounds, batch_size, mapper, sign):
        trials.append(trial)
        if each is not None:
            each(trial)
    return summarise(policy, trials, sign)


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
    given = other if isinstance(other, (Box, MixedBox, Contextual)) else as_arms(other)
    if isinstance(one, Arms) and one.origin and isinstance(given, (Box, MixedBox)):
        given = given.cover()
    if isinstance(one, Arms) and isinstance(given, Arms):
        return np.array_equal(one.points, given.points)
    return bool(one == given)


def play_rounds(
    attempt: Attempt,
    policy: Policy,
    streams: Streams,
    rounds: int,
    batch: int,
    mapper: Mapper,
    sign: float,
) -> Iterator[OptimizationTrial[Any]]:
    """Yield the trials of the next rounds; a batch is told before the next one is asked for."""
    left = rounds
    while left:
        start = policy.turn
        choices = policy.batch(min(batch, left), start, streams)
        for t, (choice, (reward, failure)) in enumerate(measure(attempt, choices, mapper), start):
            yield tell_trial(policy, OptimizationTrial(t, choice, reward, failure), sign)
        left -= len(choices)


def measure(
    attempt: Attempt, choices: Sequence[Choice], mapper: Mapper
) -> Iterator[tuple[Choice, tuple[float | None, str]]]:
    """Each choice with its result, as the results come."""
    needed = f"a mapper that gives one result for each of {len(choices)} points, in their order"
    results = mapper(attempt, [choice.x for choice in choices])
    checks.needs(isinstance(results, Iterable), "optimize", needed, results)
    number = 0
    for number, result in enumerate(results, 1):
        checks.needs(number <= len(choices), "optimize", needed, f"{number} or more")
        checks.needs(isinstance(result, tuple) and len(result) == 2, "optimize", needed, result)
        yield choices[number - 1], result
    checks.needs(number == len(choices), "optimize", needed, number)


def tell_trial(
    policy: Policy, trial: OptimizationTrial[Any], sign: float
) -> OptimizationTrial[Any]:
    """Tell the policy the result of a trial, -y when y is minimised, and return the trial."""
    if trial.reward is None:
        policy.fail(trial.choice)
    else:
        policy.tell(trial.choice, sign * trial.reward)
    return trial


@dataclass(frozen=True)
class Attempt:
    """x -> (reward, "") or (None, why there is none).

    It is a class and no inner function, so that a process pool can send it to its workers.
    """

    objective: Callable[[Any], Any]
    catch: tuple[type[BaseException], ...] = ()
    """Exceptions that mean a failed measurement; others are raised."""

    def __call__(self, x: Any) -> tuple[float | None, str]:
        try:
            # An objective that changes x in place must not change the point of the choice.
            value = self.objective(copy.copy(x))
        except self.catch as error:
            return None, describe_error(error)
        try:
            return checks.reward(value), ""
        except ValueError:
            return None, f"no finite number: {reprlib.repr(value)}"


def describe_error(error: BaseException) -> str:
    """The type and the message of an error."""
    # The message comes from the user's class, whose __str__ may raise as well.
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def summarise(
    policy: Policy, trials: Sequence[OptimizationTrial[Any]], sign: float
) -> Outcome[Any]:
    """The recommended point and its estimate; without any reward there is none."""
    if not policy.n_rewards:
        failed = f"{len(trials)} failures, the last of them {trials[-1].failure}"
        raise ValueError(f"optimize needs one reward at least, got {failed}")
    choice = recommend_measured(policy)
    why: Explanation = policy.explain(choice)
    return Outcome(
        x=choice.x,
        arm=choice.arm,
        mean=sign * why.mean,
        sd=why.sd,
        chance=why.chance,
        trials=tuple(trials),
        policy=policy,
        direction="maximize" if sign > 0 else "minimize",
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
