"""The sampler for Optuna's own search spaces: numbers, choices, conditions."""

from __future__ import annotations

from functools import partial
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from kernelbandits.optuna.attributes import Attributes, internal_values, slot_of
from kernelbandits.optuna.base import ConstraintsFunction, StudySampler
from kernelbandits.optuna.distributions import (
    ParameterGroup,
    Space,
    draw_value,
    find_space,
    group_parameters,
    group_seed,
    is_modelled,
)
from kernelbandits.optuna.study_reader import Outcomes, check_study
from kernelbandits.optuna.trial_policy import OBJECTIVE, StudyPolicy
from kernelbandits.policies import Auto

MOST_POLICIES = 16
"""Policies that are kept; a study with more groups of parameters builds some of them again."""


class KernelBanditSampler(StudySampler):
    """An Optuna sampler that suggests what `kb.Auto(goal="find")` would measure next.

    It models the objective by a Gaussian process with fitted lengthscales, signal and noise, and
    suggests the parameters with the greatest expected improvement. Numbers on log scales and in
    steps, categories, conditional and changing spaces, running trials (n_jobs, several processes)
    and failed trials are taken into account. A pruned trial counts as what it would have given in
    the end, as far as completed trials that reported their values foretell it. In a study of two to
    four objectives each has a model of its own, and it suggests the parameters that are expected to
    raise the hypervolume of the front most.

    Equal seeds give equal studies if trials run one after the other; a study that is loaded again
    with a sampler of the same seed continues exactly as if it had not been interrupted. With
    several workers the order in which trials are completed decides.

    Parameters
    ----------
    seed
        Of all random choices. None: a new one for each sampler.
    noise
        The standard deviation of one value of the objective, if it is known; 0 if equal parameters
        always give the same value. None: it is fitted. With several objectives None or 0.
    n_trials
        How many trials there will be, if that is known: in the last tenth of them nothing is drawn
        at random.
    constraints_func
        Gives the values of all constraints of a trial that has ended, as for Optuna's samplers: a
        value of at most 0 meets its constraint. Each constraint has a model of its own; those that
        were set in another way (`Trial.set_constraint`, another sampler) are learnt, too.

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
        constraints_func: ConstraintsFunction | None = None,
    ) -> None:
        super().__init__(seed, noise, n_trials, constraints_func)
        self._policies: dict[str, StudyPolicy] = {}
        """Group of parameters -> the policy that suggests them."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_policies": {}}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        """Return the parameters of the trials so far, each with its latest range."""
        check_study(self._reader.owner, study, self.noise)
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
        check_study(self._reader.owner, study, self.noise)
        with self._lock:
            trials = study.get_trials(deepcopy=False)
            space = {name: one for name, one in search_space.items() if not one.single()}
            if not space:
                return {}
            outcomes = self._reader.read(trials, study.directions)
            awaited = self._reader.list_awaited(trials, trial, outcomes)
            completed = [one for one in trials if one.state == TrialState.COMPLETE]
            attributes = Attributes(study)
            suggested: dict[str, Any] = {}
            for group in group_parameters(space, completed):
                suggested |= self._suggest(trial, group, outcomes, awaited, attributes)
            # A worker in another process sees the parameters of a running trial when the objective
            # asks for them, one by one. This tells it at once.
            asked = internal_values(suggested, space)
            attributes.write(slot_of("asked", trial.number), str(trial.number), asked)
            return suggested

    def _suggest(
        self,
        trial: FrozenTrial,
        group: ParameterGroup,
        outcomes: Outcomes,
        awaited: list[FrozenTrial],
        attributes: Attributes,
    ) -> dict[str, Any]:
        """Return the parameters of one group."""
        policy = self._policies.pop(group.key, None)
        if policy is None:
            policy = StudyPolicy(group.key, partial(self._make_policy, group))
        # At the end again: the first of the dictionary is the one that was not used for longest.
        self._policies[group.key] = policy
        while len(self._policies) > MOST_POLICIES:
            del self._policies[next(iter(self._policies))]
        used = policy.learn(outcomes, group.point, attributes)
        having = sum(group.distributions.keys() <= one.params.keys() for one in outcomes.ended)
        if having > used:
            names, count = ", ".join(group.names), having - used
            text = f"trials outside the range of {names} are not used: {count}"
            self._reader.notice(f"outside {group.names}", text)
        pending = [group.point(suggested_parameters(one, group, attributes)) for one in awaited]
        choice = policy.ask(trial, [point for point in pending if point is not None])
        return group.parameters(choice.x)

    def _make_policy(self, group: ParameterGroup, outcome: str) -> Auto[dict[str, Any]]:
        return Auto(
            group.box,
            goal="find",
            noise=self.noise if outcome.startswith(OBJECTIVE) else None,
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
        check_study(self._reader.owner, study, self.noise)
        return draw_value(self.seed, trial.number, param_name, param_distribution)


def suggested_parameters(
    trial: FrozenTrial, group: ParameterGroup, attributes: Attributes
) -> dict[str, Any]:
    """Return the parameters of a trial: those it has taken, else those suggested to it."""
    asked = attributes.read(slot_of("asked", trial.number), str(trial.number)) or {}
    known: dict[str, Any] = {
        name: group.distributions[name].to_external_repr(value)
        for name, value in asked.items()
        if name in group.distributions
    }
    known.update(trial.params)
    return known
