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
    damping: float = DAMPING,
    settled: float = SETTLED,
) -> tuple[Array, Array]:
    """Return value and variance of the measurement that each limit counts as.

    prior: the covariance of f at the points, or several of them, for each of which the limits count
    as other measurements. precisions, weighted: of the rewards that are known, by point:
    sum 1 / s^2 and sum value / s^2. slots, sides, limits: the point of each limit, -1 if the reward
    is below it and 1 if above, and the limit. noise: the variance of one reward. damping: the share
    of a new measurement that a pass takes. settled: passes end when no precision changes by more,
    beside what is known without it.

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
    tau, nu = np.zeros((2, *prior.shape[:-2], len(limits)))
    least = LEAST_PRECISION / diagonal_of(prior)[..., slots]
    for _ in range(PASSES):
        m, v = find_cavities(prior, precisions, weighted, slots, tau, nu)
        m = turned * m
        s = np.sqrt(v + noise)
        z = (turned * limits - m) / s
        # phi / Phi without an underflow of either.
        h = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        shrink = h * (z + h)
        fresh_tau = shrink / np.maximum(s**2 - v * shrink, noise)
        fresh_tau = np.maximum(fresh_tau, least)
        fresh_nu = fresh_tau * turned * (m - s / np.maximum(z + h, 1e-300))
        change = (np.abs(fresh_tau - tau) / (tau + 1 / v)).max()
        tau = (1 - damping) * tau + damping * fresh_tau
        nu = (1 - damping) * nu + damping * fresh_nu
        if change < settled:
            break
    return nu / tau, 1 / tau


def find_cavities(
    prior: Array, precisions: Array, weighted: Array, slots: Indices, tau: Array, nu: Array
) -> tuple[Array, Array]:
    """Return mean and variance of f at the point of each limit, by all that is known but it."""
    mean, variance = find_marginals(prior, precisions, weighted, slots, tau, nu)
    mean, variance = mean[..., slots], variance[..., slots]
    left = 1 / variance - tau
    return (mean / variance - nu) / left, 1 / left


def find_marginals(
    prior: Array, precisions: Array, weighted: Array, slots: Indices, tau: Array, nu: Array
) -> tuple[Array, Array]:
    """Return mean and variance of f at each point, by the known rewards and the sites."""
    # A matrix with a row for each limit adds those of the same point.
    at_slots = slots[:, None] == np.arange(prior.shape[-1])
    every, right = precisions + tau @ at_slots, weighted + nu @ at_slots
    root = np.sqrt(every)
    rooted = root[..., None] * prior
    # B = I + root K root has eigenvalues of at least 1.
    solved = np.linalg.solve(np.eye(prior.shape[-1]) + rooted * root[..., None, :], rooted)
    mean = np.einsum("...ij,...j->...i", prior, right)
    mean -= np.einsum("...ij,...i->...j", solved, root * mean)
    diagonal = diagonal_of(prior)
    variance = diagonal - np.einsum("...ij,...ij->...j", rooted, solved)
    return mean, np.maximum(variance, 1e-12 * diagonal)


def diagonal_of(prior: Array) -> Array:
    return np.asarray(np.diagonal(prior, axis1=-2, axis2=-1))


def log_evidence(
    prior: Array,
    slots: Indices,
    sides: Array,
    limits: Array,
    values: Array,
    variances: Array,
    noise: float,
) -> Array:
    r"""Return ln p(the limits) as expectation propagation estimates it, all known being limits.

    values, variances: of the measurements that the limits count as. With C their covariance, m_i
    and v_i of f by all others, and z_i = (m_i - limit_i) / sqrt(v_i + noise), upside down for a
    limit below, it is

    ln N(values; 0, C) + sum_i (ln Phi(z_i) - ln N(value_i; m_i, v_i + variance_i)).
    """
    covariance = prior[..., slots[:, None], slots] + variances[..., None] * np.eye(len(slots))
    half = 0.5 * np.linalg.slogdet(covariance)[1]
    half += 0.5 * (values * np.linalg.solve(covariance, values[..., None])[..., 0]).sum(-1)
    none, tau = np.zeros(prior.shape[-1]), 1 / variances
    m, v = find_cavities(prior, none, none, slots, tau, tau * values)
    total = v + variances
    chances = log_ndtr(sides * (m - limits) / np.sqrt(v + noise))
    single = 0.5 * np.log(total) + 0.5 * (values - m) ** 2 / total
    return np.asarray((chances + single).sum(-1) - half)
