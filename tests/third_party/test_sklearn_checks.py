"""All checks that scikit-learn has for estimators, without an exception."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelbandits as kb
from kernelbandits.sklearn import KernelBanditSearchCV, KernelRidgePosterior

# Some checks give data that cannot be fitted; that scikit-learn warns of it is no failure.
pytestmark = pytest.mark.filterwarnings("default::RuntimeWarning")

SMOOTH = {"alpha": kb.Real(1e-3, 1e3, log=True)}


@parametrize_with_checks(
    [
        KernelBanditSearchCV(Ridge(), SMOOTH, n_iter=2, cv=2),
        KernelBanditSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, n_iter=2, cv=2),
        KernelRidgePosterior(),
        KernelRidgePosterior(kb.RBF(1.0), 0.1),
    ]
)
def test_an_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
