"""The estimators for scikit-learn; all of its own checks run in `make test-versions`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid, RandomizedSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import (
    check_dict_unchanged,
    check_estimators_overwrite_params,
    check_fit_idempotent,
    check_regressors_no_decision_function,
)

import kernelbandits as kb
from kernelbandits.sklearn import KernelBanditSearchCV, KernelRidgePosterior
from kernelbandits.sklearn.spaces import read_parameters

SPACE = {"C": kb.Real(1e-2, 1e3, log=True), "kernel": ["rbf", "linear"]}


@pytest.mark.parametrize(
    "check",
    [
        check_dict_unchanged,
        check_estimators_overwrite_params,
        check_fit_idempotent,
        check_regressors_no_decision_function,
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        KernelBanditSearchCV(Ridge(), {"alpha": kb.Real(1e-3, 1e3, log=True)}, n_iter=2, cv=2),
        KernelRidgePosterior(),
    ],
)
def test_some_checks_of_scikit_learn(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.thorough
def test_a_search_is_repeated_by_its_random_state():
    x, y = load_iris(return_X_y=True)
    searches = [
        KernelBanditSearchCV(SVC(), SPACE, n_iter=6, cv=3, random_state=state).fit(x, y)
        for state in (1, 1, 2)
    ]
    tried = [search.cv_results_["params"] for search in searches]
    assert tried[0] == tried[1] != tried[2]
    assert searches[0].best_score_ == max(searches[0].cv_results_["mean_test_score"])
    assert searches[0].predict(x[:3]).tolist() == [0, 0, 0]


def test_several_scores_and_batches():
    x, y = load_iris(return_X_y=True)
    scores = ["accuracy", "f1_macro"]
    search = KernelBanditSearchCV(
        SVC(), SPACE, n_iter=5, batch_size=2, cv=2, scoring=scores, refit="f1_macro", random_state=1
    ).fit(x, y)
    assert len(search.cv_results_["mean_test_f1_macro"]) == 5
    with pytest.raises(ValueError, match="needs the name of the score"):
        KernelBanditSearchCV(SVC(), SPACE, n_iter=2, cv=2, scoring=scores, refit=False).fit(x, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_candidate_that_cannot_be_fitted_has_failed():
    x, y = load_iris(return_X_y=True)
    space = {"kernel": ["rbf", "wrong"], "C": (0.1, 10.0)}
    search = KernelBanditSearchCV(SVC(), space, n_iter=8, cv=2, random_state=0)
    with pytest.warns(kb.DataNotice, match="failed in every fold"):
        search.fit(x, y)
    assert search.best_params_["kernel"] == "rbf"
    # The rows are those of a search in which scikit-learn keeps failed candidates itself.
    known = search.cv_results_
    at_once = KernelBanditSearchCV(SVC(), space, n_iter=8, cv=2, random_state=0, batch_size=8)
    with pytest.warns(UserWarning, match="non-finite"):
        at_once.fit(x, y)
    assert known.keys() == at_once.cv_results_.keys()
    wrong = np.array([one["kernel"] == "wrong" for one in known["params"]])
    assert len(wrong) == 8
    assert wrong.any()
    for name in ("mean_test_score", "std_test_score", "split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(np.isnan(known[name]), wrong)
    assert (known["rank_test_score"][wrong] == 9 - wrong.sum()).all()
    assert known["params"][search.best_index_] == search.best_params_
    assert search.best_score_ == np.nanmax(known["mean_test_score"])
    assert not {"_failed", "_formatted"} & {*vars(search)}
    with pytest.raises(ValueError, match="fits failed"):
        KernelBanditSearchCV(SVC(), {"kernel": ["wrong", "worse"]}, n_iter=2, cv=2).fit(x, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_candidate_that_fails_last_has_a_row_too(monkeypatch):
    x, y = load_iris(return_X_y=True)
    monkeypatch.setattr(CountedSVC, "fits", 0)
    monkeypatch.setattr(CountedSVC, "failing", (9, 10))
    search = KernelBanditSearchCV(
        CountedSVC(), SPACE, n_iter=5, cv=2, refit="accuracy", error_score=-1.0, random_state=0,
        scoring=["accuracy", "f1_macro"], return_train_score=True,
    )  # fmt: skip
    with pytest.warns(kb.DataNotice, match="1 candidate failed in every fold"):
        search.fit(x, y)
    for name in ("mean_test_accuracy", "mean_train_f1_macro", "split1_test_f1_macro"):
        assert search.cv_results_[name][-1] == -1.0
        assert (search.cv_results_[name][:-1] > 0.5).all()


def test_a_list_of_dictionaries_is_searched_as_one_space():
    x, y = load_iris(return_X_y=True)
    cost = kb.Real(1e-2, 1e3, log=True)
    given = [
        {"kernel": ["linear"], "C": cost},
        {"kernel": ["rbf"], "C": cost, "gamma": loguniform(1e-4, 1)},
        {"kernel": ["poly"], "C": (0.5, 2.0), "degree": randint(2, 4)},
    ]
    search = KernelBanditSearchCV(SVC(), given, n_iter=12, cv=2, random_state=1).fit(x, y)
    tried = search.cv_results_["params"]
    for one in tried:
        needed = {"linear": set(), "rbf": {"gamma"}, "poly": {"degree"}}[one["kernel"]]
        assert set(one) == {"kernel", "C"} | needed
        assert one["kernel"] != "poly" or 0.5 <= one["C"] <= 2.0
    assert {one["kernel"] for one in tried} == {"linear", "rbf", "poly"}
    box = read_parameters(given).box
    assert box.names == (
        *("dict", "kernel", "kernel (1)", "kernel (2)", "C", "C (2)", "gamma", "degree"),
    )
    # C is one variable of the two dictionaries that have it in the same way.
    assert box.variables[4].when == "dict in (0, 1)"


def test_finite_dictionaries_have_the_candidates_of_scikit_learn():
    given = [
        {"kernel": ["linear"], "C": [1, 10]},
        {"kernel": ["rbf"], "C": [1, 10], "gamma": [0.1, 0.2, "scale"]},
        {"dict": [None], "C": [3]},
    ]
    space = read_parameters(given)
    ours = {repr(sorted(one.items())) for one in space.candidates()}
    assert ours == {repr(sorted(one.items())) for one in ParameterGrid(given)}
    assert space.count == len(ParameterGrid(given)) == 9


def test_a_finite_space_is_not_searched_at_the_same_candidate_twice():
    x, y = load_diabetes(return_X_y=True)
    given = [{"alpha": [0.01, 0.1, 1.0, 10.0]}, {"alpha": [0.2, 0.3, 0.4], "tol": [1e-3, 1e-2]}]
    found = KernelBanditSearchCV(Ridge(), given, n_iter=9, cv=2, random_state=1).fit(x, y)
    tried = [tuple(sorted(one.items())) for one in found.cv_results_["params"]]
    assert len(tried) == len(set(tried)) == 9


@pytest.mark.parametrize("given", [[], [{}], ["C"], [{"C": [1]}, 3]])
def test_a_list_of_something_else_is_refused(given):
    with pytest.raises(ValueError, match="a list of such dictionaries"):
        read_parameters(given)


class CountedSVC(SVC):
    """Counts how often it is fitted."""

    fits = 0
    failing = ()
    """Which fits fail."""

    def fit(self, X, y):
        CountedSVC.fits += 1
        if CountedSVC.fits in self.failing:
            raise OSError
        return super().fit(X, y)


def test_a_space_with_fewer_candidates_than_iterations_is_evaluated_whole_and_once(monkeypatch):
    x, y = load_iris(return_X_y=True)
    space = {"kernel": ["rbf", "linear"]}
    monkeypatch.setattr(CountedSVC, "fits", 0)
    search = KernelBanditSearchCV(CountedSVC(), space, n_iter=10, cv=3)
    with pytest.warns(kb.DataNotice, match="the space has 2 candidates, n_iter is 10; each is eva"):
        search.fit(x, y)
    assert CountedSVC.fits == 2 * 3 + 1
    with pytest.warns(UserWarning, match="space of parameters 2 is smaller than n_iter=10"):
        at_random = RandomizedSearchCV(SVC(), space, n_iter=10, cv=3).fit(x, y)
    scores = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    for params, score in scores:
        other = at_random.cv_results_["params"].index(params)
        assert score == at_random.cv_results_["mean_test_score"][other]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        allowed = kb.MixedBox(
            {"kernel": ["rbf", "poly"], "degree": kb.Integer(2, 4)},
            constraints=["not (kernel == 'rbf' and degree > 2)"],
        )
        found = KernelBanditSearchCV(SVC(), allowed, n_iter=4, cv=2).fit(x, y).cv_results_["params"]
    assert len(found) == len({tuple(params.values()) for params in found}) == 4


@pytest.mark.parametrize(
    "space",
    [
        {"alpha": [0.1]},
        {"alpha": kb.Real(0.1, 0.1), "fit_intercept": [True]},
        {"alpha": 0.1 * np.ones(1), "solver": ["lsqr"], "max_iter": kb.Integer(9, 9)},
    ],
)
def test_a_space_with_one_candidate_is_evaluated_with_a_warning(space):
    x, y = load_diabetes(return_X_y=True)
    search = KernelBanditSearchCV(Ridge(), space, n_iter=10, cv=3)
    with pytest.warns(kb.DataNotice, match="the space has 1 candidate, n_iter is 10; each is eval"):
        search.fit(x, y)
    assert search.best_params_.keys() == space.keys()
    assert search.best_params_["alpha"] == 0.1
    assert len(search.cv_results_["params"]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelBanditSearchCV(Ridge(), space, n_iter=1, cv=3).fit(x, y)


def test_lists_pairs_and_distributions_are_variables():
    space = read_parameters(
        {
            "a": loguniform(1e-3, 10),
            "b": randint(2, 9),
            "c": uniform(1, 2),
            "d": [3, 1, 2],
            "e": [None, "auto"],
            "f": (0.0, 1.0),
        }
    )
    assert space.box.variables == (
        kb.Real(1e-3, 10, log=True),
        kb.Integer(2, 8),
        kb.Real(1, 3),
        kb.Ordered((0, 1, 2)),
        kb.Category((0, 1)),
        kb.Real(0, 1),
    )
    assert space.parameters({"d": 2, "e": 1, "f": 0.5}) == {"d": 3, "e": "auto", "f": 0.5}
    with pytest.raises(ValueError, match="uniform, loguniform or randint"):
        read_parameters({"a": norm(0, 1)})


def test_the_posterior_is_kernel_ridge_regression_and_grows():
    rng = np.random.default_rng(0)
    x, y = rng.random((20, 2)), rng.random(20)
    kernel, ridge = kb.RBF(0.5), 0.1
    mean, sd = KernelRidgePosterior(kernel, ridge).fit(x, y).predict(x, return_std=True)
    gram = kernel(x, x)
    weights = np.linalg.solve(gram + ridge * np.eye(20), gram)
    np.testing.assert_allclose(mean, y @ weights, atol=1e-10)
    np.testing.assert_allclose(sd**2, 1 - (gram * weights).sum(0), atol=1e-10)
    parts = KernelRidgePosterior(kernel, ridge).fit(x[:9], y[:9]).partial_fit(x[9:], y[9:])
    np.testing.assert_allclose(parts.predict(x), mean, atol=1e-10)


def test_a_fitted_kernel_knows_the_units():
    x = np.linspace(0, 1, 15)[:, None]
    y = 300 + 5 * np.sin(6 * x[:, 0])
    mean, sd = KernelRidgePosterior().fit(x, y).predict([[0.52], [9.0]], return_std=True)
    assert abs(mean[0] - 300 - 5 * np.sin(6 * 0.52)) < 0.5
    assert sd[1] > 5 * sd[0]
