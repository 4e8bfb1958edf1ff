"""The sampler for a list of candidates: rows of a table, or a similarity and no coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optuna.distributions import BaseDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.kernels import graph_matern
from kernelbandits.optuna.attributes import Attributes, slot_of
from kernelbandits.optuna.base import ConstraintsFunction, StudySampler
from kernelbandits.optuna.distributions import Space
from kernelbandits.optuna.study_reader import check_study
from kernelbandits.optuna.trial_policy import OBJECTIVE, StudyPolicy
from kernelbandits.policies import Auto
from kernelbandits.study.candidates import read_candidates


class PoolSampler(StudySampler):
    """An Optuna sampler that suggests which of n candidates to measure next.

    The objective asks for a whole number from 0 to n - 1, the parameter `name`; `suggest` does it
    and returns the candidate. A candidate may be suggested again, if measuring it once more is
    expected to gain more than measuring another one. Other parameters are refused.

    Exactly one of these describes the candidates:

    Parameters
    ----------
    kernel
        An (n, n) Gram matrix, the similarity of all pairs. The posterior is that of this kernel;
        its variance, noise and mean are fitted.
    graph
        An (n, n) matrix of the weights of the edges of a graph. The kernel is
        `kb.kernels.graph_matern(graph)`.
    candidates
        A DataFrame, a CSV file or an (n, d) array with a row for each candidate.
    name
        The name of the parameter.
    seed, noise, n_trials, constraints_func
        As for `KernelBanditSampler`.

    Examples
    --------
    >>> import numpy as np, optuna
    >>> from kernelbandits.optuna import PoolSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> ring = np.roll(np.eye(40), 1, axis=0) + np.roll(np.eye(40), -1, axis=0)
    >>> sampler = PoolSampler(graph=ring, seed=1)
    >>> study = optuna.create_study(direction="maximize", sampler=sampler)
    >>> study.optimize(lambda trial: np.cos((sampler.suggest(trial) - 12) / 40 * 6.28), n_trials=15)
    >>> abs(study.best_params["candidate"] - 12) <= 1
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = None,
        graph: Any = None,
        candidates: Any = None,
        name: str = "candidate",
        seed: int | None = None,
        noise: float | None = None,
        n_trials: int | None = None,
        constraints_func: ConstraintsFunction | None = None,
    ) -> None:
        super().__init__(seed, noise, n_trials, constraints_func)
        owner = "PoolSampler"
        given = [one is not None for one in (kernel, graph, candidates)]
        checks.needs(sum(given) == 1, owner, "one of kernel, graph and candidates", sum(given))
        checks.needs(isinstance(name, str) and name != "", owner, "a name of the parameter", name)
        self.name = name
        self.rows: Sequence[Any] = ()
        """The candidates of a table, each as a dictionary; empty for a kernel or a graph."""
        if candidates is not None:
            table = read_candidates(candidates)
            self.arms = Arms(table.points, blocks=table.blocks)
            self.rows = [table.x(row) for row in range(len(table))]
        else:
            self.arms = Arms.from_gram(graph_matern(graph) if kernel is None else kernel)
        self._policy = StudyPolicy(name, self._make_policy)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_policy": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._policy = StudyPolicy(self.name, self._make_policy)

    def _make_policy(self, outcome: str) -> Auto:
        return Auto(
            self.arms,
            goal="find",
            noise=self.noise if outcome.startswith(OBJECTIVE) else None,
            rounds=self.n_trials,
            seed=self.seed,
        )

    @property
    def distribution(self) -> IntDistribution:
        """The distribution of the parameter: the numbers of the candidates."""
        return IntDistribution(0, len(self.arms) - 1)

    def suggest(self, trial: Trial) -> Any:
        """Return the candidate of a trial: its number, or the row of a table as a dictionary."""
        number = trial.suggest_int(self.name, 0, len(self.arms) - 1)
        return self.rows[number] if self.rows else number

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Space:
        """Return the parameter, which is known before the first trial."""
        check_study(self._reader.owner, study, self.noise)
        return {self.name: self.distribution}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Space
    ) -> dict[str, Any]:
        """Return the number of the candidate that the policy suggests for this trial."""
        check_study(self._reader.owner, study, self.noise)
        if self.name not in search_space:
            return {}
        with self._lock:
            trials = study.get_trials(deepcopy=False)
            outcomes = self._reader.read(trials, study.directions)
            attributes = Attributes(study)
            self._policy.learn(outcomes, self._arm, attributes)
            awaited = []
            for one in self._reader.list_awaited(trials, trial, outcomes):
                asked = attributes.read(slot_of("asked", one.number), str(one.number))
                awaited.append(self._arm({self.name: asked, **one.params}))
            choice = self._policy.ask(trial, [arm for arm in awaited if arm is not None])
            attributes.write(slot_of("asked", trial.number), str(trial.number), choice.arm)
            return {self.name: choice.arm}

    def _arm(self, parameters: dict[str, Any]) -> int | None:
        """Return the number of the candidate of a trial; None if it has none of these."""
        number = parameters.get(self.name)
        known = checks.is_whole(number) and 0 <= int(number or 0) < len(self.arms)
        return int(number or 0) if known else None

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Refuse other parameters, and other numbers of candidates."""
        check_study(self._reader.owner, study, self.noise)
        raise ValueError(
            f"PoolSampler needs the parameter {self.name!r} from 0 to {len(self.arms) - 1}, "
            f"got {param_name!r} with {param_distribution!r}"
        )
