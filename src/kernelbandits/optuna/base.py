"""What the samplers have in common: settings, constraints, and how they travel to processes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from kernelbandits import checks
from kernelbandits.optuna.attributes import write_constraints
from kernelbandits.optuna.study_reader import StudyReader

MOST_SEED = 2**63

ConstraintsFunction = Callable[[FrozenTrial], Sequence[float]]
"""Gives the values of all constraints of a trial; a value of at most 0 meets its constraint."""


class StudySampler(BaseSampler):
    """A sampler that learns the trials of a study; its children say what they suggest."""

    def __init__(
        self,
        seed: int | None,
        noise: float | None,
        n_trials: int | None,
        constraints_func: ConstraintsFunction | None,
    ) -> None:
        owner = type(self).__name__
        self.seed = (
            secrets.randbelow(MOST_SEED) if seed is None else checks.whole(owner, "seed", seed, 0)
        )
        self.noise = None if noise is None else checks.nonnegative(owner, "noise", noise)
        self.n_trials = None if n_trials is None else checks.whole(owner, "n_trials", n_trials)
        given = constraints_func is None or callable(constraints_func)
        checks.needs(given, owner, "a function as constraints_func", constraints_func)
        self.constraints_func = constraints_func
        self._reader = StudyReader(owner)
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be sent to another process, and policies are built again from the trials.
        reader = StudyReader(self._reader.owner)
        return {**self.__dict__, "_lock": None, "_reader": reader}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    def reseed_rng(self) -> None:
        """Do nothing: random numbers belong to the trial, so workers never draw the same ones."""

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Store the constraints of a trial that was completed or pruned."""
        ended = state in (TrialState.COMPLETE, TrialState.PRUNED)
        if self.constraints_func is not None and ended:
            write_constraints(study, trial, self.constraints_func)
