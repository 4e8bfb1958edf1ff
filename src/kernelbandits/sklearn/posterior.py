"""The posterior of the policies as a regressor of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelbandits.calibration import Prior, Rewards, Standard, calibrate
from kernelbandits.checks import Array
from kernelbandits.posterior import PointPosterior


class KernelRidgePosterior(RegressorMixin, BaseEstimator):
    """Kernel ridge regression with the standard deviation of its estimate:

    mean(x) = k(x)' (K + ridge I)^-1 y,   sd(x)^2 = k(x, x) - k(x)' (K + ridge I)^-1 k(x).

    This is the posterior that the policies explore by. Without a kernel, lengthscales, signal,
    noise and mean are fitted to the data; with one, y is taken as it is, as in the paper.

    Parameters
    ----------
    kernel
        A kernel such as `kb.RBF(0.3)`, any callable k(x, z), or None: a Matern kernel is fitted.
    ridge
        The ridge that belongs to `kernel`: the variance of the noise. Not used without a kernel.
    nu
        The smoothness of the fitted kernel: 1.5, 2.5, or infinite for an RBF kernel.

    Attributes
    ----------
    posterior_ : kb.posterior.PointPosterior
        The posterior, in the units of `units_`.
    calibration_ : kb.calibration.Calibration or None
        The fitted scales.
    units_ : kb.calibration.Standard
        From the units of y to those of the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbandits.sklearn import KernelRidgePosterior
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> model = KernelRidgePosterior().fit(X, 40 + np.sin(6 * X[:, 0]))
    >>> mean, sd = model.predict([[0.5], [3.0]], return_std=True)
    >>> bool(abs(mean[0] - 40 - np.sin(3)) < 0.05), bool(sd[1] > 3 * sd[0])
    (True, True)
    """

    def __init__(self, kernel: Any = None, ridge: float = 1.0, nu: float = 2.5) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.nu = nu

    def fit(self, X: Any, y: Any) -> KernelRidgePosterior:
        """Learn from all rows; what was learnt before is forgotten."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        rewards = Rewards()
        for row, value in zip(X, y.tolist(), strict=True):
            rewards.add(row, value)
        self.calibration_ = None
        kernel, ridge = self.kernel, self.ridge
        self.units_ = Standard(0.0, 1.0)
        if kernel is None:
            sides = np.ptp(X, axis=0)
            sides = np.where(sides > 0, sides, 1.0)
            points = (rewards.points - rewards.points[0]) / sides
            prior = Prior(additive=None, nugget=None)
            totals = rewards.counts, rewards.sums, rewards.squares
            fit = calibrate(points, *totals, prior=prior, nu=self.nu)
            self.calibration_ = fit.shift_rewards(rewards.origin)
            self.units_ = self.calibration_.standard
            kernel, ridge = self.calibration_.whole_kernel(sides), self.calibration_.ridge
        self.posterior_ = PointPosterior(kernel, X.shape[1], ridge)
        self.posterior_.learn(rewards.points, rewards.counts, self._sums(rewards))
        return self

    def _sums(self, rewards: Rewards) -> Array:
        """Return the sum of the rewards at each point, in the units of the posterior."""
        sums = rewards.sums + rewards.counts * (rewards.origin - self.units_.centre)
        return np.asarray(sums / self.units_.spread)

    def partial_fit(self, X: Any, y: Any) -> KernelRidgePosterior:
        """Learn from further rows, with the kernel, the ridge and the units of the first ones."""
        if not hasattr(self, "posterior_"):
            return self.fit(X, y)
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, reset=False)
        for row, value in zip(X, self.units_.standardise(y).tolist(), strict=True):
            self.posterior_.update(row, value)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the estimates, and with `return_std` the standard deviations of f.

        The noise of a further observation is not part of them.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean, sd = self.posterior_.at(X)
        estimate = np.asarray(self.units_.original(mean))
        if not return_std:
            return estimate
        return estimate, sd * self.units_.spread
