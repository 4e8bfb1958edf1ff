"""A search over the hyperparameters of an estimator, with the conventions of scikit-learn."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval

from kernelbandits.checks import DataNotice
from kernelbandits.domains import MixedBox
from kernelbandits.formatting import format_count
from kernelbandits.policies import Auto, Choice
from kernelbandits.sklearn.spaces import ParameterSpace, read_parameters


class Failed(NamedTuple):
    """A candidate that failed in every fold."""

    place: int
    """Which of all candidates it was."""
    parameters: dict[str, Any]
    seconds: float


class KernelBanditSearchCV(BaseSearchCV):
    """Search hyperparameters by cross-validation: each candidate is chosen from all scores so far.

    It is used as `RandomizedSearchCV` is, and has the same attributes after `fit`: `cv_results_`,
    `best_params_`, `best_score_`, `best_index_`, `best_estimator_` and so on. The candidates are
    those of `kb.Auto(goal="find")`.

    Parameters
    ----------
    estimator
        The estimator to tune.
    param_distributions
        Name -> variable (`kb.Real(1e-4, 1, log=True)`, `kb.Integer(1, 8)`, ...), a tuple of two
        numbers that are not both whole (a range of real numbers), a list of values (numbers in a
        list have an order), or `uniform`, `loguniform` and `randint` of scipy.stats. A list of such
        dictionaries searches all of them: which one is meant is a choice, and what is not in all
        of them is a variable under a condition. Or a `kb.MixedBox`, which may have constraints and
        variables with `when=`.
    n_iter
        How many candidates are evaluated. A space with fewer candidates is evaluated whole, each of
        them once, with a warning.
    batch_size
        How many of them are chosen and evaluated at a time. With one, folds alone run in parallel.
    noise
        The standard deviation of a mean score, if it is known; None: it is fitted.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, random_state, error_score, return_train_score
        As for `RandomizedSearchCV`. With several scores, `refit` names the one that is searched.
        A candidate without a score counts as failed, and the search goes on. It has a row in
        `cv_results_` with `error_score` for each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> import kernelbandits as kb
    >>> search = kb.sklearn.KernelBanditSearchCV(
    ...     Ridge(), {"alpha": kb.Real(1e-3, 1e3, log=True)}, n_iter=8, random_state=1
    ... )
    >>> search = search.fit(*load_diabetes(return_X_y=True))
    >>> len(search.cv_results_["params"]), search.best_params_["alpha"] < 1
    (8, True)

    Two dictionaries, of which one has a parameter more:

    >>> from sklearn.svm import SVR
    >>> cost = kb.Real(1, 1e4, log=True)
    >>> either = [{"kernel": ["linear"], "C": cost},
    ...           {"kernel": ["rbf"], "C": cost, "gamma": kb.Real(1e-2, 1e2, log=True)}]
    >>> search = kb.sklearn.KernelBanditSearchCV(SVR(), either, n_iter=6, cv=2, random_state=1)
    >>> tried = search.fit(*load_diabetes(return_X_y=True)).cv_results_["params"]
    >>> all(("gamma" in one) == (one["kernel"] == "rbf") for one in tried)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list, MixedBox],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 30,
        batch_size: int = 1,
        noise: float | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.noise = noise
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The base class passes most tags of the estimator on, but not what targets it takes.
        tags.target_tags = deepcopy(get_tags(self.estimator).target_tags)
        # Arrays of other libraries (torch, cupy) are not tried, so nothing is promised of them.
        tags.array_api_support = False
        return tags

    def fit(self, X: Any, y: Any = None, **params: Any) -> KernelBanditSearchCV:
        """Evaluate `n_iter` candidates by cross-validation, and fit the best to all data."""
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(
                "KernelBanditSearchCV requires y to be passed, but the target y is None: "
                f"{type(self.estimator).__name__} learns from targets"
            )
        self._failed: list[Failed] = []
        self._formatted: Any = None
        """Makes `cv_results_` once more of what was made last."""
        try:
            super().fit(X, y, **params)
            if self._failed and self._formatted is not None:
                # Those that failed after the last candidate with a score are missing so far.
                self.cv_results_ = self._formatted(more_results=None)
        finally:
            del self._failed, self._formatted
        return self

    def _format_results(
        self, candidate_params: Any, n_splits: int, out: Any, more_results: Any = None
    ) -> Any:
        """Return `cv_results_` with a row for each candidate that failed in every fold.

        scikit-learn forgets a candidate if no fold of it could be fitted, unless others are
        evaluated with it.
        """
        self._formatted = partial(self._format_results, candidate_params, n_splits, out)
        params, rows = list(candidate_params), list(out)
        scored = next((row for row in out if row["fit_error"] is None), out[0])
        for place, one, seconds in self._failed:
            params.insert(place, one)
            empty = {
                **scored,
                **{
                    name: fill_scores(scored[name], self.error_score)
                    for name in ("test_scores", "train_scores")
                    if name in scored
                },
                "fit_time": seconds / n_splits,
                "score_time": 0.0,
            }
            rows[place * n_splits : place * n_splits] = [empty] * n_splits
        with warnings.catch_warnings():
            if self._failed:
                # It would be said again for each further candidate; fit says it once.
                warnings.filterwarnings("ignore", "One or more of the", UserWarning)
            return super()._format_results(params, n_splits, rows, more_results)

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        """Ask, evaluate, tell, until `n_iter` candidates are evaluated; or all, if they are few."""
        space = read_parameters(self.param_distributions)
        if space.box is None or space.count <= self.n_iter:
            self._evaluate_all(space, evaluate_candidates)
            return
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        policy = Auto(space.box, goal="find", noise=self.noise, rounds=self.n_iter, seed=seed)
        done = 0
        failure: ValueError | None = None
        while done < self.n_iter:
            choices = policy.batch(min(self.batch_size, self.n_iter - done))
            began = time.monotonic()
            try:
                self._evaluate(policy, choices, space, evaluate_candidates)
            except ValueError as error:
                # scikit-learn raises this if no fold of any candidate could be fitted.
                if self.error_score == "raise":
                    raise
                failure, seconds = error, (time.monotonic() - began) / len(choices)
                for place, choice in enumerate(choices, done):
                    policy.fail(choice)
                    self._failed.append(Failed(place, space.parameters(choice.x), seconds))
            done += len(choices)
        if failure is not None and not policy.n_rewards:
            raise failure
        if failure is not None:
            count = format_count(len(self._failed), "candidate")
            text = f"{count} failed in every fold: the scores in cv_results_ are error_score"
            warnings.warn(f"KernelBanditSearchCV: {text}", DataNotice, stacklevel=3)

    def _evaluate_all(self, space: ParameterSpace, evaluate_candidates: Callable[..., Any]) -> None:
        """Evaluate every candidate of a finite space once: there is nothing to choose."""
        candidates = space.candidates()
        if len(candidates) < self.n_iter:
            count = format_count(len(candidates), "candidate")
            text = f"the space has {count}, n_iter is {self.n_iter}; each is evaluated once"
            warnings.warn(f"KernelBanditSearchCV: {text}", DataNotice, stacklevel=4)
        evaluate_candidates(candidates)

    def _evaluate(
        self,
        policy: Auto[dict[str, Any]],
        choices: tuple[Choice[dict[str, Any]], ...],
        space: ParameterSpace,
        evaluate_candidates: Callable[..., Any],
    ) -> None:
        """Evaluate candidates, and tell the policy their mean scores."""
        results = evaluate_candidates([space.parameters(choice.x) for choice in choices])
        scores = results[self._score_name(results)][-len(choices) :]
        for choice, score in zip(choices, scores.tolist(), strict=True):
            if math.isfinite(score):
                policy.tell(choice, score)
            else:
                policy.fail(choice)

    def _score_name(self, results: Any) -> str:
        """Return the column of results that is searched."""
        if "mean_test_score" in results:
            return "mean_test_score"
        if not isinstance(self.refit, str):
            raise ValueError(
                "KernelBanditSearchCV needs the name of the score to search as refit, such as "
                f"refit='accuracy', with several scores, got {self.refit!r}"
            )
        return f"mean_test_{self.refit}"


def fill_scores(scores: Any, value: Any) -> Any:
    """Return a value in place of a score, or of each of several scores by name."""
    return dict.fromkeys(scores, value) if isinstance(scores, dict) else value
