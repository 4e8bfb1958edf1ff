"""The whole loop in one call: ask, measure, tell, until the rounds are over."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.policies.auto import Auto
from kernelbandits.policies.base import Choice
from kernelbandits.policies.explanation import Explanation, show

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class Trial:
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
        point = self.x if isinstance(self.x, dict) else {f"x{j + 1}": value for j, value in enumerate(self.x)}
        return {"t": self.t, "arm": self.choice.arm, **point, "reward": self.reward, "failure": self.failure}


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
    trials: tuple[Trial, ...]
    policy: Auto

    @property
    def failures(self) -> int:
        return sum(trial.reward is None for trial in self.trials)

    def records(self) -> list[dict[str, Any]]:
        """The rounds as rows: pandas.DataFrame(outcome.records())."""
        return [trial.record() for trial in self.trials]

    def __str__(self) -> str:
        estimate = f"estimate {self.mean:.4g} with sd {self.sd:.2g}, best with chance {self.chance:.2g}"
        return f"{show(self.x)}: {estimate}; {len(self.trials)} rounds, {self.failures} failed"


def optimize(
    objective: Callable[[Any], Any],
    domain: Any,
    rounds: int,
    *,
    seed: int = 0,
    policy: Auto | None = None,
    batch: int = 1,
    mapper: Mapper = map,
    each: Callable[[Trial], object] | None = None,
) -> Outcome:
    """Maximise an objective measured with noise: kb.optimize(f, kb.Box((0, 0), (1, 1)), 50).

    The objective gets a point x and returns a number. What is no finite number, and an exception, is a failure: it is
    counted, is no observation, and the run goes on. `batch` points at a time are measured by `mapper`, for instance the
    map of a process pool. `each` is called with every trial. Equal seeds give equal runs.
    """
    checks.needs(callable(objective), "optimize", "an objective to call", objective)
    checks.needs(policy is None or isinstance(policy, Auto), "optimize", "a kb.Auto as policy", policy)
    player = Auto(domain, seed=seed) if policy is None else policy
    sizes = checks.whole("optimize", "rounds", rounds), checks.whole("optimize", "batch", batch)
    trials: list[Trial] = []
    for trial in played(objective, player, *sizes, mapper):
        trials.append(trial)
        if each is not None:
            each(trial)
    return outcome(player, trials)


def played(objective: Callable[[Any], Any], policy: Auto, rounds: int, batch: int, mapper: Mapper) -> Iterator[Trial]:
    """The trials of the next rounds, those of a batch told before the next one is asked for."""
    left = rounds
    while left:
        start = policy.turn
        choices = policy.batch(min(batch, left))
        results = mapper(Attempt(objective), [choice.x for choice in choices])
        for t, (choice, (reward, failure)) in enumerate(zip(choices, results, strict=True), start):
            yield told(policy, Trial(t, choice, reward, failure))
        left -= len(choices)


def told(policy: Auto, trial: Trial) -> Trial:
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
            return checks.reward(self.objective(copy.copy(x))), ""
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


def outcome(policy: Auto, trials: Sequence[Trial]) -> Outcome:
    """The recommended point and what is believed of it; before any reward there is none."""
    if not policy.rewards.events:
        failed = f"{len(trials)} failures, the last of them {trials[-1].failure}"
        raise ValueError(f"optimize needs one reward at least, got {failed}")
    choice = policy.recommended()
    why: Explanation = policy.explain(choice)
    return Outcome(choice.x, choice.arm, why.mean, why.sd, why.chance, tuple(trials), policy)
