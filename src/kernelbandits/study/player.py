"""The policy of a study: rebuilt from results, asked for rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, DataNotice, Indices, NumericsWarning, Refusal, TheoryWarning
from kernelbandits.domains import Arms
from kernelbandits.policies import Auto, Choice, Policy
from kernelbandits.policies.searching import Searching
from kernelbandits.streams import Streams
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.settings import Settings
from kernelbandits.study.state import State, Trial
from kernelbandits.study.units import Scale

Mask = npt.NDArray[np.bool_]

INTERRUPTED = -1
"""The version of a policy that may have learnt a part of something only: it starts anew."""
TRIES = 50
"""Of a rule that cannot be told which rows are free."""


class Player:
    """A policy that knows the results of a study, in their order, and nothing else.

    Rules that can choose among some of the arms play on all rows and choose among those free; the others play on the
    rows allowed. Failures are told to auto, which knows what to do with them. Other rules hear of values only; a
    candidate that failed more often than it gave values is not suggested to them while there are others.
    """

    policy: Policy

    def __init__(self, candidates: Candidates, settings: Settings) -> None:
        self.candidates = candidates
        self.notices: list[str] = []
        self._points, self._costs = candidates.points, candidates.costs
        self.kinds = kinds_of(candidates, self._points)
        self._begin(settings)

    def _begin(self, settings: Settings) -> None:
        self.settings, self.version, self.learnt = settings, INTERRUPTED, 0
        self.streams = Streams(settings.seed)
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
            self._learn(fresh, state.scale)
        self.version, self.learnt = state.version, len(state.results)

    def behind(self, state: State) -> bool:
        """Whether to follow would take long: all anew, or a fit."""
        if state.version != self.version:
            return bool(state.results)
        fresh = len(state.results) - self.learnt
        return (
            isinstance(self.policy, Auto)
            and self.policy.rewards.events + fresh >= self.policy.next_fit
        )

    def _learn(self, fresh: Sequence[Trial], scale: Scale) -> None:
        with self._listening():
            if isinstance(self.policy, Auto) and any(trial.value is None for trial in fresh):
                for trial in fresh:
                    self._hear(self.policy, trial, scale)
            else:
                self.policy.learn_all([*self.pairs(fresh, scale)])

    def _hear(self, policy: Auto, trial: Trial, scale: Scale) -> None:
        if trial.value is None:
            policy.fail(self.choice(trial))
        else:
            policy.tell(self.choice(trial), scale.inward(trial.value))

    def pairs(self, trials: Iterable[Trial], scale: Scale) -> Iterable[tuple[Choice, float]]:
        """The values among some results, as the policy learns them."""
        for trial in trials:
            if trial.value is not None and trial.row in self._arm:
                yield self.choice(trial), scale.inward(trial.value)

    def arm(self, row: int) -> int:
        return self._arm[row]

    def choice(self, trial: Trial) -> Choice:
        """The choice that the policy made, or would have to make, for this trial."""
        arm = self._arm[trial.row]
        return Choice(self.policy.domain.points[arm], arm, trial.note)

    def choose(self, t: int, pending: Sequence[Trial], state: State) -> tuple[int, Choice]:
        """Row and choice of round t, with these results pending."""
        free = self._free(pending, state)
        waiting = [self.choice(trial) for trial in pending if trial.row in self._arm]
        with self._listening():
            choice = (
                self._among(t, waiting, free) if self.chooses else self._elsewhere(t, waiting, free)
            )
        assert choice.arm is not None
        return int(self.rows[choice.arm]), choice

    def _free(self, pending: Sequence[Trial], state: State) -> Indices:
        """The arms that may be suggested: allowed, neither pending nor failing while there are others."""
        open_, busy = self._open(state), self._alike([trial.row for trial in pending])
        idle = open_ & ~busy
        if not idle.any() and not self.settings.repeats:
            raise Refusal(
                "ask needs a row without a result and not pending, got none left (repeats are off)"
            )
        sound = idle if isinstance(self.policy, Auto) else idle & ~self._failing(state)
        return np.flatnonzero(next((mask for mask in (sound, idle) if mask.any()), open_))

    def _open(self, state: State) -> Mask:
        """Which arms are allowed, and without a value where rows are not repeated."""
        allowed = self.candidates.allowed_rows[self.rows]
        return allowed if self.settings.repeats else allowed & ~self._alike(list(state.counts))

    def _failing(self, state: State) -> Mask:
        """Which arms are of candidates that failed more often than they gave values."""
        balance = dict[int, int]()
        for row, count in (
            *state.failures.items(),
            *((row, -count) for row, count in state.counts.items()),
        ):
            balance[int(self.kinds[row])] = balance.get(int(self.kinds[row]), 0) + count
        return np.isin(
            self.kinds[self.rows], [kind for kind, surplus in balance.items() if surplus > 0]
        )

    def _alike(self, rows: list[int]) -> Mask:
        """Which arms are the same candidate as one of these rows."""
        named = np.zeros(len(self.kinds), dtype=np.bool_)
        named[self.kinds[rows]] = True
        return named[self.kinds[self.rows]]

    def may_offer(self, trial: Trial, pending: Sequence[Trial], state: State) -> bool:
        """Whether the row of a trial that was abandoned may be suggested again."""
        arm = self._arm.get(trial.row)
        return arm is not None and bool(
            self._open(state)[arm] and not self._alike([one.row for one in pending])[arm]
        )

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

    def _elsewhere(self, t: int, waiting: list[Choice], free: Indices) -> Choice:
        """By a copy of any other rule, told the estimate in place of each result that is missing."""
        if not waiting and len(free) == len(self.rows):
            return self.policy.ask(t, self.streams)
        imagined = copy.deepcopy(self.policy)
        for choice in waiting:
            imagined.tell(choice, estimate(imagined, choice))
        for _ in range(TRIES):
            choice = imagined.ask(t, self.streams)
            if choice.arm in free:
                return choice
            imagined.tell(choice, estimate(imagined, choice))
        return self._instead(free)

    def _instead(self, free: Indices) -> Choice:
        """Where a rule wants none of the arms that are free: that of the greatest mean + sd."""
        mean, sd = self.estimates()
        arm = int(free[(mean + sd)[free].argmax()])
        note = {"mean": float(mean[arm]), "sd": float(sd[arm]), "instead": 1.0}
        return Choice(self.policy.domain.points[arm], arm, note)

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


def estimate(policy: Policy, choice: Choice) -> float:
    return float(policy.posterior.mean[choice.arm])


def kinds_of(candidates: Candidates, points: Array) -> Indices:
    """A number for each row, the same for rows that describe the same candidate."""
    if candidates.distinct == len(candidates):
        return np.arange(len(candidates))
    kinds: Indices = np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)
    return kinds


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
