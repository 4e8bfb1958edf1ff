"""Rewards of which only a limit is known, as measurements that say about as much.

A reward y <= c of a point with f ~ N(m, v) given all other rewards has the likelihood
Phi((c - f) / r), with the noise r^2. Expectation propagation replaces it by a normal law of f, with
the mean and variance that f then has (Minka 2001; Rasmussen and Williams 2006, section 3.6). With

    s^2 = v + r^2,   z = (c - m) / s,   h = phi(z) / Phi(z),

it is that of a measurement of the value m - s / (z + h), with the variance s^2 / (h (z + h)) - v.
A limit far above what is expected has a large variance: it says little. One far below says c.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr

from kernelbandits.calibration.rewards import Rewards
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices

PASSES = 20
"""Each limit sees the others as the pass before left them. Some five passes settle all numbers."""
DAMPING = 0.8
"""The share of a new site that a pass takes; all limits change at once, and could overshoot."""
SETTLED = 1e-9
"""Passes end when no precision changes by more, beside what is known without it."""
LEAST_PRECISION = 1e-6
"""The least precision of a limit beside that of the prior: one that says nothing has one too."""


def replace_limits(
    rewards: Rewards, units: Standard, prior: Array, ridge: float, least: float
) -> Rewards:
    """Return the rewards with each limit replaced by a measurement.

    prior: the covariance of f at the points, in the units given. ridge: the variance of one reward.
    least: no variance of a known reward is less.
    """
    counts, sums = rewards.known_precisions(units, ridge, least)
    slots, sides, limits = rewards.limits
    standardised = np.asarray(units.standardise(limits))
    known = counts / ridge, sums / ridge
    values, variances = propagate(prior, *known, slots, sides, standardised, ridge)
    sds = np.sqrt(variances)
    return rewards.with_measurements(
        np.asarray(units.original(values)), np.asarray(units.original_sd(values, sds))
    )


def propagate(
    prior: Array,
    precisions: Array,
    weighted: Array,
    slots: Indices,
    sides: Array,
    limits: Array,
    noise: float,
) -> tuple[Array, Array]:
    """Return value and variance of the measurement that each limit counts as.

    prior: the covariance of f at the points. precisions, weighted: of the rewards that are known,
    by point: sum 1 / s^2 and sum value / s^2. slots, sides, limits: the point of each limit, -1 if
    the reward is below it and 1 if above, and the limit. noise: the variance of one reward.

    >>> import numpy as np
    >>> none = np.zeros(1)
    >>> at = np.zeros(1, dtype=int)
    >>> low = propagate(np.eye(1), none, none, at, np.array([-1.0]), np.array([-3.0]), 0.01)
    >>> high = propagate(np.eye(1), none, none, at, np.array([-1.0]), np.array([3.0]), 0.01)
    >>> bool(low[0][0] < -3.0), bool(low[1][0] < 1.0), bool(high[1][0] > 50.0)
    (True, True, True)
    """
    # A reward above its limit is one below it upside down.
    turned = -sides
    tau, nu = np.zeros((2, len(limits)))
    least = LEAST_PRECISION / np.diag(prior)[slots]
    for _ in range(PASSES):
        mean, variance = find_marginals(prior, precisions, weighted, slots, tau, nu)
        left = 1 / variance[slots] - tau
        m = turned * (mean[slots] / variance[slots] - nu) / left
        v = 1 / left
        s = np.sqrt(v + noise)
        z = (turned * limits - m) / s
        # phi / Phi without an underflow of either.
        h = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        shrink = h * (z + h)
        fresh_tau = shrink / np.maximum(s**2 - v * shrink, noise)
        fresh_tau = np.maximum(fresh_tau, least)
        fresh_nu = fresh_tau * turned * (m - s / np.maximum(z + h, 1e-300))
        change = (np.abs(fresh_tau - tau) / (tau + left)).max()
        tau = (1 - DAMPING) * tau + DAMPING * fresh_tau
        nu = (1 - DAMPING) * nu + DAMPING * fresh_nu
        if change < SETTLED:
            break
    return nu / tau, 1 / tau


def find_marginals(
    prior: Array, precisions: Array, weighted: Array, slots: Indices, tau: Array, nu: Array
) -> tuple[Array, Array]:
    """Return mean and variance of f at each point, by the known rewards and the sites."""
    every, right = precisions.copy(), weighted.copy()
    np.add.at(every, slots, tau)
    np.add.at(right, slots, nu)
    root = np.sqrt(every)
    lower = cholesky(np.eye(len(prior)) + root[:, None] * prior * root, lower=True)
    half = solve_triangular(lower, root[:, None] * prior, lower=True)
    covariance_right = prior @ right - half.T @ (half @ right)
    variance = np.diag(prior) - np.einsum("ij,ij->j", half, half)
    return covariance_right, np.maximum(variance, 1e-12 * np.diag(prior))
