"""The whole loop in one call: ask, measure, tell, until the rounds are over."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, as_arms
from kernelbandits.policies.auto import Auto
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.explanation import Explanation, show_point

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class OptimizationTrial:
    """One round: what was tried, and what came of it."""

    t: int
    choice: Choice
    reward: float | None
    """None for a failure."""
    failure: str = ""
    """Why there is no reward."""

    @property
    def x(self) -> Any:
        return self.choice.x

    def record(self) -> dict[str, Any]:
        """One row of a table."""
        point = (
            self.x
            if isinstance(self.x, dict)
            else {f"x{j + 1}": value for j, value in enumerate(self.x)}
        )
        return {
            "t": self.t,
            "arm": self.choice.arm,
            **point,
            "reward": self.reward,
            "failure": self.failure,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an optimisation found."""

    x: Any
    """The point of the greatest estimate: the likely best, not the luckiest."""
    arm: int | None
    mean: float
    sd: float
    chance: float
    """Of being the best of the points compared, under the posterior."""
    trials: tuple[OptimizationTrial, ...]
    policy: Auto

    @property
    def failures(self) -> int:
        return sum(trial.reward is None for trial in self.trials)

    def records(self) -> list[dict[str, Any]]:
        """The rounds as rows: pandas.DataFrame(outcome.records())."""
        return [trial.record() for trial in self.trials]

    def __str__(self) -> str:
        estimate = (
            f"estimate {self.mean:.4g} with sd {self.sd:.2g}, best with chance {self.chance:.2g}"
        )
        return (
            f"{show_point(self.x)}: {estimate}; {len(self.trials)} rounds, {self.failures} failed"
        )


def optimize(
    objective: Callable[[Any], Any],
    domain: Any,
    rounds: int,
    *,
    seed: int = 0,
    policy: Auto | None = None,
    batch: int = 1,
    mapper: Mapper = map,
    each: Callable[[OptimizationTrial], object] | None = None,
) -> Outcome:
    """Maximise an objective measured with noise: kb.optimize(f, kb.Box((0, 0), (1, 1)), 50); return -y to minimise.

    The objective gets a point x and returns a number. What is no finite number, and an exception, is a failure: it is
    counted, is no observation, and the run goes on. `batch` points at a time are measured by `mapper`, for instance the
    map of a process pool. `each` is called with every trial. Equal seeds give equal runs. A `policy` of this domain
    goes on from where it is, with the seed that it has.
    """
    checks.needs(callable(objective), "optimize", "an objective to call", objective)
    checks.needs(callable(mapper), "optimize", "a mapper to call", mapper)
    checks.needs(
        policy is None or isinstance(policy, Auto), "optimize", "a kb.Auto as policy", policy
    )
    fits = policy is None or same_domain(policy.domain, domain)
    checks.needs(fits, "optimize", "a policy of the same domain", getattr(policy, "domain", None))
    player = Auto(domain, seed=seed) if policy is None else policy
    sizes = checks.whole("optimize", "rounds", rounds), checks.whole("optimize", "batch", batch)
    trials: list[OptimizationTrial] = []
    for trial in play_rounds(objective, player, *sizes, mapper):
        trials.append(trial)
        if each is not None:
            each(trial)
    return summarise(player, trials)


def same_domain(one: Any, other: Any) -> bool:
    """Whether the points are the same, in the same order where there is one."""
    given = other if isinstance(other, (Box, MixedBox, Contextual)) else as_arms(other)
    if isinstance(one, Arms) and isinstance(given, Arms):
        return np.array_equal(one.points, given.points)
    return bool(one == given)


def play_rounds(
    objective: Callable[[Any], Any], policy: Auto, rounds: int, batch: int, mapper: Mapper
) -> Iterator[OptimizationTrial]:
    """The trials of the next rounds, those of a batch told before the next one is asked for."""
    left = rounds
    while left:
        start = policy.turn
        choices = policy.batch(min(batch, left))
        for t, (choice, (reward, failure)) in enumerate(
            measure(Attempt(objective), choices, mapper), start
        ):
            yield tell_trial(policy, OptimizationTrial(t, choice, reward, failure))
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


def tell_trial(policy: Auto, trial: OptimizationTrial) -> OptimizationTrial:
    """The trial, after the policy has heard of it."""
    if trial.reward is None:
        policy.fail(trial.choice)
    else:
        policy.tell(trial.choice, trial.reward)
    return trial


@dataclass(frozen=True)
class Attempt:
    """x -> (reward, "") or (None, why there is none)."""

    objective: Callable[[Any], Any]

    def __call__(self, x: Any) -> tuple[float | None, str]:
        try:
            value = self.objective(copy.copy(x))
        except Exception as error:
            return None, describe_error(error)
        try:
            return checks.reward(value), ""
        except ValueError:
            return None, f"no finite number: {reprlib.repr(value)}"


def describe_error(error: Exception) -> str:
    """What an error says, if it can say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def summarise(policy: Auto, trials: Sequence[OptimizationTrial]) -> Outcome:
    """The recommended point and what is believed of it; before any reward there is none."""
    if not policy.rewards.events:
        failed = f"{len(trials)} failures, the last of them {trials[-1].failure}"
        raise ValueError(f"optimize needs one reward at least, got {failed}")
    choice = policy.recommended()
    why: Explanation = policy.explain(choice)
    return Outcome(choice.x, choice.arm, why.mean, why.sd, why.chance, tuple(trials), policy)
