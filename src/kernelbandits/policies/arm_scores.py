"""Scores of a list of arms: what measuring one of them is expected to bring.

On a box an acquisition is a function of the mean and sd at a point. On a list of arms it can say
more: an arm that was measured is told from one that was not, and an arm may have a nugget, a
deviation of its own. So these are functions of all arms at once. Means and variances are (M, n)
arrays, a row for each member of the posterior; each member has a nugget and a noise of its own.
"""

from __future__ import annotations

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.policies.acquisition import (
    NO_CHANCE,
    knowledge_gain,
    log_expected_improvement,
    log_mean_exp,
    reward_step,
)

UNSEEN = 1.5
"""The factor of what the first reward of an arm may change, by `score_lookahead` (decision 12)."""
NOISELESS = 1e-6
"""A noise variance of less, in squared spreads of the rewards, counts as none."""


def score_improvement(
    means: Array, variances: Array, noises: Array, seen: Indices, feasible: Indices
) -> Array:
    """Return ln of what measuring an arm is expected to add to the best estimate, over all members.

    A reward moves the estimate of an arm by a normal amount of variance s^2 = v^2 / (v + noise). An
    arm that was not seen then adds s h(z), z = (mean - best) / s, h(z) = phi(z) + z Phi(z), to the
    best estimate so far. For an arm that was seen (measured or pending) see `score_repeats`. Both
    are what one measurement adds to the row that will be recommended, and both variances contain
    the nugget: otherwise, where neighbours say little, only repeats seem to have anything to add.
    The best is that of the arms seen that are feasible, which are all where nothing is limited.
    The numbers of both are in order.
    """
    best, new = means[:, feasible].max(1, keepdims=True), np.ones(means.shape[1], dtype=np.bool_)
    new[seen] = False
    scores = np.empty(means.shape)
    if new.any():
        steps = reward_step(np.maximum(variances[:, new], 0.0), noises[:, None])
        scores[:, new] = log_expected_improvement(means[:, new], steps, best)
    rivals = best_of_others(means[:, seen], np.searchsorted(seen, feasible))
    scores[:, seen] = score_repeats(means[:, seen], variances[:, seen], noises, rivals)
    return log_mean_exp(scores)


def score_lookahead(
    means: Array, variances: Array, noises: Array, seen: Indices, horizon: float
) -> Array:
    """Return mean + horizon * gain of each arm, averaged over the members (`Lookahead`).

    The gain of the best arm seen is that of finding it to be worse than the second. An arm without
    a reward may surprise more than the model says, which was fitted to the others: without a margin
    for that, one of ten games of 400 rounds ended on a wrong arm.
    """
    margins = np.full(means.shape[1], UNSEEN)
    margins[seen] = 1.0
    steps = margins * reward_step(np.maximum(variances, 0.0), noises[:, None])
    gains = knowledge_gain(np.abs(means - best_of_others(means, seen)), steps)[0].mean(0)
    return np.asarray(means.mean(0) + horizon * gains)


def score_repeats(means: Array, variances: Array, noises: Array, rivals: Array) -> Array:
    """Return ln of what one more measurement of each of these arms is expected to add to the best.

    A further reward moves the estimate of an arm by a normal amount of variance s^2 = v^2 / (v +
    noise). It adds s h(-|gap| / s), with the gap to the best of the other arms, its rival, and h(z)
    = phi(z) + z Phi(z): another arm may overtake the best, or the best may turn out to be worse
    than the second. That is the knowledge gradient of the arm alone. Without noise nothing is
    added, and the score says so even where rounding leaves a variance. Means and variances have a
    row for each member, which has a noise of its own.
    """
    steps = reward_step(np.maximum(variances, 0.0), noises[:, None])
    scores = log_expected_improvement(-np.abs(means - rivals), steps, 0.0)
    scores[noises <= NOISELESS] = NO_CHANCE
    return scores


def best_of_others(means: Array, seen: Indices) -> Array:
    """Return for each arm the highest estimate among the arms seen, without the arm itself.

    The estimates have a row for each member.
    """
    among = means[:, seen]
    best, every = among.argmax(1), np.arange(len(means))
    others = np.tile(among[every, best][:, None], means.shape[1])
    if len(seen) > 1:
        among[every, best] = -np.inf
        others[every, seen[best]] = among.max(1)
    return others
