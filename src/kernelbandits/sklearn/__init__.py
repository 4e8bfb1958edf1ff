"""Estimators for scikit-learn: a search over hyperparameters, and the posterior as a regressor.

>>> from sklearn.datasets import load_iris
>>> from sklearn.svm import SVC
>>> import kernelbandits as kb
>>> space = {"C": kb.Real(1e-2, 1e3, log=True), "gamma": kb.Real(1e-4, 1, log=True)}
>>> search = kb.sklearn.KernelBanditSearchCV(SVC(), space, n_iter=10, random_state=1)
>>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.96)
True

`pip install ".[sklearn]"` brings scikit-learn (1.6 or newer).
"""

from kernelbandits import runtime

runtime.require("sklearn", extra="sklearn", owner="kernelbandits.sklearn")

from kernelbandits.sklearn.posterior import KernelRidgePosterior  # noqa: E402
from kernelbandits.sklearn.search import KernelBanditSearchCV  # noqa: E402

__all__ = ["KernelBanditSearchCV", "KernelRidgePosterior"]
