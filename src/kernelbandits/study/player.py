"""The policy of a study: rebuilt from results, asked for rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelbandits.checks import Array, DataNotice, Indices, NumericsWarning, Refusal, TheoryWarning
from kernelbandits.domains import Arms
from kernelbandits.policies import Auto, Choice, Policy
from kernelbandits.policies.searching import Searching
from kernelbandits.streams import Streams
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.settings import Settings
from kernelbandits.study.state import State, Trial

INTERRUPTED = -1
"""The version of a policy that may have learnt a part of something only: it starts anew."""
TRIES = 50
"""Of a rule that cannot be told which rows are free."""


class Player:
    """A policy that knows the results of a study, in their order, and nothing else.

    Rules that can choose among some of the arms play on all rows and choose among those free; the others play on the
    rows allowed. A failure is a failure for rules that know them; the others learn, for each failure beyond the results
    of its row, the least value so far.
    """

    policy: Policy

    def __init__(self, candidates: Candidates, settings: Settings) -> None:
        self.candidates = candidates
        self.notices: list[str] = []
        self._points, self._costs = candidates.points, candidates.costs
        self._begin(settings)

    def _begin(self, settings: Settings) -> None:
        self.settings, self.version, self.learnt = settings, -1, 0
        self.streams = Streams(settings.seed)
        self._least, self._surplus = np.inf, dict[int, int]()
        with self._listening():
            self.policy = settings.built(Arms(self._points))
            self.chooses = isinstance(self.policy, Searching)
            self.rows = np.arange(len(self.candidates))
            if not self.chooses and not self.candidates.allowed_rows.all():
                self.rows = self.candidates.allowed_rows.nonzero()[0]
                self.policy = settings.built(Arms(self._points[self.rows]))
        self._arm = {int(row): arm for arm, row in enumerate(self.rows)}
        if self._costs is not None and not getattr(self.policy, "weighs_costs", False):
            needed = "a policy that weighs costs (auto does, and all rules with an index)"
            raise ValueError(f"a cost column needs {needed}, got {settings.policy!r}")

    def follow(self, state: State) -> None:
        """Learn the results that came since, or all of them where something else changed."""
        if state.version != self.version:
            self._begin(state.settings)
        fresh = state.results[self.learnt :]
        self.version = INTERRUPTED
        if fresh:
            self._learn(fresh, state)
        self.version, self.learnt = state.version, len(state.results)

    def _learn(self, fresh: Sequence[Trial], state: State) -> None:
        with self._listening():
            if any(trial.value is None for trial in fresh):
                for trial in fresh:
                    self._hear(trial, state)
            else:
                self.policy.learn_all([*self._pairs(fresh, state)])

    def _pairs(self, trials: Iterable[Trial], state: State) -> Iterable[tuple[Choice, float]]:
        scale = state.scale
        for trial in trials:
            assert trial.value is not None
            if trial.row in self._arm:
                yield self._learnable(trial, scale.inward(trial.value))

    def _learnable(self, trial: Trial, reward: float) -> tuple[Choice, float]:
        """Least and surplus are kept for failures to come."""
        self._least = min(self._least, reward)
        self._surplus[trial.row] = self._surplus.get(trial.row, 0) + 1
        return self.choice(trial), reward

    def _hear(self, trial: Trial, state: State) -> None:
        if trial.row not in self._arm:
            return
        if trial.value is not None:
            self.policy.tell(*self._learnable(trial, state.scale.inward(trial.value)))
        elif isinstance(self.policy, Auto):
            self.policy.fail(self.choice(trial))
        else:
            self._surplus[trial.row] = self._surplus.get(trial.row, 0) - 1
            if self._surplus[trial.row] < 0 and np.isfinite(self._least):
                self.policy.tell(self.choice(trial), float(self._least))

    def choice(self, trial: Trial) -> Choice:
        """The choice that the policy made, or would have to make, for this trial."""
        arm = self._arm[trial.row]
        return Choice(self.policy.domain.points[arm], arm, trial.note)

    def choose(self, t: int, pending: Sequence[Trial], counts: Mapping[int, int]) -> tuple[int, Choice]:
        """Row and choice of round t, with these results pending and so many values at the rows."""
        free = self._free(pending, counts)
        waiting = [self.choice(trial) for trial in pending if trial.row in self._arm]
        with self._listening():
            choice = self._among(t, waiting, free) if self.chooses else self._elsewhere(t, waiting, set(free.tolist()))
        assert choice.arm is not None
        return int(self.rows[choice.arm]), choice

    def _free(self, pending: Sequence[Trial], counts: Mapping[int, int]) -> Indices:
        """The arms that may be suggested: allowed, and not pending while there are others."""
        allowed = self.candidates.allowed_rows[self.rows].copy()
        if not self.settings.repeats:
            allowed[[self._arm[row] for row, count in counts.items() if count and row in self._arm]] = False
        busy = np.zeros_like(allowed)
        busy[[self._arm[trial.row] for trial in pending if trial.row in self._arm]] = True
        if not self.settings.repeats and not (allowed & ~busy).any():
            raise Refusal("ask needs a row without a result and not pending, got none left (repeats are off)")
        return np.flatnonzero(allowed & ~busy if (allowed & ~busy).any() else allowed)

    def may_offer(self, trial: Trial, pending: Sequence[Trial], counts: Mapping[int, int]) -> bool:
        """Whether the row of a trial that was abandoned may be suggested again."""
        allowed = trial.row in self._arm and self.candidates.allowed_rows[trial.row]
        wanted = self.settings.repeats or not counts.get(trial.row)
        return bool(allowed and wanted and all(other.row != trial.row for other in pending))

    def _among(self, t: int, waiting: list[Choice], free: Indices) -> Choice:
        """By a rule that takes pending choices and the arms that are free."""
        policy: Any = self.policy
        given: dict[str, Any] = {"pending": waiting} if policy.foresees and waiting else {}
        if len(free) < len(self.rows):
            given["arms"] = free
        if self._costs is not None:
            given["costs"] = self._costs
        choice: Choice = policy.ask(t, self.streams, **given)
        return choice

    def _elsewhere(self, t: int, waiting: list[Choice], free: set[int]) -> Choice:
        """By a copy of any other rule, told the estimate in place of each result that is missing."""
        if not waiting and len(free) == len(self.rows):
            return self.policy.ask(t, self.streams)
        imagined = copy.deepcopy(self.policy)
        for choice in waiting:
            imagined.tell(choice, self._estimate(imagined, choice))
        choice = imagined.ask(t, self.streams)
        for _ in range(TRIES):
            if choice.arm in free:
                break
            imagined.tell(choice, self._estimate(imagined, choice))
            choice = imagined.ask(t, self.streams)
        return choice

    def _estimate(self, policy: Policy, choice: Choice) -> float:
        return float(policy.posterior.mean[choice.arm])

    def estimates(self) -> tuple[Array, Array]:
        """Mean and sd of every arm, in the policy's units."""
        if isinstance(self.policy, Auto):
            return self.policy.estimates()
        return self.policy.posterior.mean, self.policy.posterior.sd

    def covariance(self, arms: Indices) -> Array:
        """Of f at some arms, in the policy's units squared."""
        found: Array = self.policy.posterior.covariance(self.policy.domain.points[arms])
        return found * self.policy.units.spread**2 if isinstance(self.policy, Auto) else found

    def _listening(self) -> Any:
        return Listening(self.notices)


class Listening(warnings.catch_warnings):
    """What a policy warns of is kept as notices of the study, each once."""

    def __init__(self, notices: list[str]) -> None:
        super().__init__(record=True)
        self._notices = notices

    def __enter__(self) -> Any:
        self._heard = super().__enter__()
        warnings.simplefilter("always")
        return self._heard

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for one in self._heard or ():
            if not issubclass(one.category, (TheoryWarning, NumericsWarning, DataNotice)):
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
            elif one.category is not DataNotice and str(one.message) not in self._notices:
                self._notices.append(str(one.message))
