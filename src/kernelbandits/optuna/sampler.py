"""The sampler for Optuna's own search spaces: numbers, choices, conditions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from kernelbandits import checks
from kernelbandits.optuna.attributes import internal_values, read_attribute, write_attribute
from kernelbandits.optuna.distributions import (
    ParameterGroup,
    Space,
    draw_value,
    find_space,
    group_parameters,
    group_seed,
    is_modelled,
)
from kernelbandits.optuna.trial_policy import (
    StudyReader,
    TrialPolicy,
    check_study,
    check_trials,
)
from kernelbandits.policies import Auto

MOST_SEED = 2**63
MOST_POLICIES = 16
"""Policies that are kept; a study with more groups of parameters builds some of them again."""


class KernelBanditSampler(BaseSampler):
    """An Optuna sampler that suggests what `kb.Auto(goal="find")` would measure next.

    It models the objective by a Gaussian process with fitted lengthscales, signal and noise, and
    suggests the parameters with the greatest expected improvement. Numbers on log scales and in
    steps, categories, conditional and changing spaces, running trials (n_jobs, several processes)
    and failed trials are taken into account. What a pruned trial has reported is not learnt: its
    parameters count as pending, so that others are tried.

    Equal seeds give equal studies if trials run one after the other; a study that is loaded again
    with a sampler of the same seed continues exactly as if it had not been interrupted. With
    several workers the order in which trials are completed decides.

    Parameters
    ----------
    seed
        Of all random choices. None: a new one for each sampler.
    noise
        The standard deviation of one value of the objective, if it is known; 0 if equal parameters
        always give the same value. None: it is fitted.
    n_trials
        How many trials there will be, if that is known: in the last tenth of them nothing is drawn
        at random.
    constraints_func
        Not supported: the sampler has no model of constraints, and says so.

    Examples
    --------
    >>> import optuna
    >>> from kernelbandits.optuna import KernelBanditSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def loss(trial):
    ...     rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    ...     layers = trial.suggest_int("layers", 1, 4)
    ...     return (rate - 0.01) ** 2 + abs(layers - 2)
    >>> study = optuna.create_study(sampler=KernelBanditSampler(seed=1))
    >>> study.optimize(loss, n_trials=20)
    >>> study.best_params["layers"]
    2
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        noise: float | None = None,
        n_trials: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        owner = "KernelBanditSampler"
        self.seed = check_seed(owner, seed)
        self.noise = None if noise is None else checks.nonnegative(owner, "noise", noise)
        self.n_trials = None if n_trials is None else checks.whole(owner, "n_trials", n_trials)
        checks.needs(
            constraints_func is None,
            owner,
            "no constraints_func (optuna.samplers.TPESampler and GPSampler take constraints)",
            constraints_func,
        )
        self._reader = StudyReader(owner)
        self._policies: dict[str, TrialPolicy] = {}
        """Group of parameters -> the policy that suggests them."""
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be sent to another process, and policies are built again from the trials.
        return {**self.__dict__, "_lock": None, "_policies": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    def reseed_rng(self) -> None:
        """Do nothing: random numbers belong to the trial, so workers never draw the same ones."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        """Return the parameters of the trials so far, each with its latest range."""
        check_study(self._reader.owner, study)
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        space, changing = find_space(completed)
        for name in changing:
            text = f"the range of {name!r} has changed; it is drawn at random until it stays"
            self._reader.notice(f"changing {name}", text)
        modelled = {name: one for name, one in space.items() if is_modelled(one)}
        for name in space.keys() - modelled.keys():
            text = (
                f"the range of {name!r} is too long or too short for a model; it is drawn at random"
            )
            self._reader.notice(f"extreme {name}", text)
        return modelled

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Space
    ) -> dict[str, Any]:
        """Return the parameters that the policies suggest for this trial."""
        check_study(self._reader.owner, study)
        with self._lock:
            trials = study.get_trials(deepcopy=False)
            check_trials(self._reader.owner, trials)
            space = {name: one for name, one in search_space.items() if not one.single()}
            if not space:
                return {}
            finished = self._reader.list_finished(trials)
            completed = [one for one in finished if one.state == TrialState.COMPLETE]
            suggested: dict[str, Any] = {}
            for group in group_parameters(space, completed):
                suggested |= self._suggest(study, trial, group, trials, finished)
            # A worker in another process sees the parameters of a running trial when the objective
            # asks for them, one by one. This tells it at once.
            write_attribute(study, trial, "asked", internal_values(suggested, space))
            return suggested

    def _suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        group: ParameterGroup,
        trials: list[FrozenTrial],
        finished: list[FrozenTrial],
    ) -> dict[str, Any]:
        """Return the parameters of one group."""
        policy = self._policies.pop(group.key, None)
        if policy is None:
            policy = TrialPolicy(partial(self._make_policy, group))
        # At the end again: the first of the dictionary is the one that was not used for longest.
        self._policies[group.key] = policy
        while len(self._policies) > MOST_POLICIES:
            del self._policies[next(iter(self._policies))]
        results = self._reader.results(finished, study.direction, group.point, policy.places)
        having = sum(group.distributions.keys() <= one.params.keys() for one in finished)
        if having > len(results):
            count = having - len(results)
            text = f"trials outside the range of {', '.join(group.names)} are not used: {count}"
            self._reader.notice(f"outside {group.names}", text)
        policy.learn(results, trials)
        policy.store_fit(study, trial)
        awaited = [
            group.point(suggested_parameters(one, group))
            for one in self._reader.list_awaited(trials, trial)
        ]
        choice = policy.ask(trial, [point for point in awaited if point is not None])
        return group.parameters(choice.x)

    def _make_policy(self, group: ParameterGroup) -> Auto[dict[str, Any]]:
        return Auto(
            group.box,
            goal="find",
            noise=self.noise,
            rounds=self.n_trials,
            seed=group_seed(self.seed, group),
        )

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw a parameter that is not modelled yet: at first all, later those that change."""
        check_study(self._reader.owner, study)
        return draw_value(self.seed, trial.number, param_name, param_distribution)


def suggested_parameters(trial: FrozenTrial, group: ParameterGroup) -> dict[str, Any]:
    """Return the parameters of a trial: those it has taken, else those suggested to it."""
    asked = read_attribute(trial, "asked") or {}
    known: dict[str, Any] = {
        name: group.distributions[name].to_external_repr(value)
        for name, value in asked.items()
        if name in group.distributions
    }
    known.update(trial.params)
    return known


def check_seed(owner: str, seed: int | None) -> int:
    """Return the seed, or a new one."""
    return secrets.randbelow(MOST_SEED) if seed is None else checks.whole(owner, "seed", seed, 0)
