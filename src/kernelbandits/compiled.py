"""The equations of a round compiled with numba, and the loops that play many rounds with them.

A loop receives as arrays the numbers that `ask` and `tell` would look up, so it chooses the same
arms. It works on the arrays of an `ArmPosterior` (`lend`, `take_back`) and stops where an audit is
due, so both engines audit after the same rewards, by the same code.

The order of the arithmetic matters: results of the paper's run are compared bit by bit, and the
loop is written once more in C in `benchmarks/loop.c`. Change neither order nor grouping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kernelbandits.domains import TIE_TOLERANCE

# "contract" allows a * b + c in one instruction, which is faster and rounds once instead of twice.
# The other freedoms of fastmath would reorder sums or assume that there is no NaN. With
# error_model="numpy" a division by zero is infinite, as in the numpy engine, and raises no error.
compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@compiled
def fill_index(index: Any, mean: Any, cov: Any, scale: float) -> None:
    """index = mean + scale * sd."""
    for i in range(len(mean)):
        index[i] = mean[i] + scale * np.sqrt(max(cov[i, i], 0.0))


@compiled
def best_arm(index: Any, lowest: bool, u: float) -> int:
    """Return the arm with the largest index, or -1 if the indices are NaN.

    Arms within 1e-12 max(1, |best|) of the best are tied: the uniform u or the lowest number
    decides. This is `domains.argmax`.
    """
    best = index[0]
    for i in range(1, len(index)):
        best = max(best, index[i])
    threshold = best - TIE_TOLERANCE * max(1.0, abs(best))
    count = 0
    for i in range(len(index)):
        count += index[i] >= threshold
    wanted = 0 if lowest else int(u * count)
    for i in range(len(index)):
        if index[i] >= threshold:
            if wanted == 0:
                return i
            wanted -= 1
    return -1


@compiled
def condition(mean: Any, cov: Any, column: Any, arm: int, reward: float, ridge: float) -> Any:
    """mean += c (y - mean[arm]) / e, cov -= c c' / e, with c = cov[arm] and e = c[arm] + ridge.

    Return the increase of the log-determinant. `column` is memory for c / sqrt(e).
    """
    n = len(mean)
    variance = cov[arm, arm]
    if not variance > 0:
        return 0.0
    evidence = variance + ridge
    step, root = (reward - mean[arm]) / evidence, 1.0 / np.sqrt(evidence)
    for i in range(n):
        mean[i] += cov[arm, i] * step
        column[i] = cov[arm, i] * root
    for i in range(n):
        scaled = column[i]
        for j in range(n):
            cov[i, j] -= scaled * column[j]
    return np.log1p(variance / ridge)


@compiled
def add_reward(
    counts: Any, sums: Any, lost: Any, ceiling: Any, arm: int, reward: float, ridge: float
) -> None:
    """Count a reward, add it by Neumaier's sum, and lower the ceiling ridge / n of the variance.

    This is `Tally.add` with the last lines of `Posterior.update`.
    """
    before = sums[arm]
    after = before + reward
    sums[arm] = after
    lost[arm] += (
        (before - after) + reward if abs(before) >= abs(reward) else (reward - after) + before
    )
    counts[arm] += 1
    ceiling[arm] = min(ceiling[arm], (1 + 1e-6) * ridge / counts[arm])


@compiled
def largest_mean(mean: Any) -> int:
    """Return the first arm with the largest mean: the arm recommended after this round."""
    best = 0
    for i in range(1, len(mean)):
        if mean[i] > mean[best]:
            best = i
    return best


@compiled
def play_arm(
    state: Any, problem: Any, record: Any, column: Any, t: int, arm: int, ridge: float
) -> Any:
    """Play an arm, learn its reward and record the round.

    `problem` is (value of each arm, noise of each round) and `record` is (arms, recommended arms).
    Return False if the variance of the arm was impossible, so that an audit is needed.
    """
    mean, cov, counts, sums, lost, ceiling, totals = state
    reward = problem[0][arm] + problem[1][t]
    variance = cov[arm, arm]
    sound = 0.0 <= variance <= ceiling[arm]
    totals[0] += condition(mean, cov, column, arm, reward, ridge)
    totals[1] = max(totals[1], abs(reward))
    totals[2] += variance < 0
    add_reward(counts, sums, lost, ceiling, arm, reward, ridge)
    record[0][t], record[1][t] = arm, largest_mean(mean)
    return sound


@compiled
def play_index(
    state: Any,
    problem: Any,
    tables: Any,
    record: Any,
    ridge: float,
    lowest: bool,
    first: int,
    last: int,
) -> Any:
    """Play rounds first..last of an index policy, mean + w_t (a_t + sqrt(b_t + c_t L)) sd.

    `tables` is (a, b and c of each round, weights, uniforms for ties). Return the last round played
    and whether all variances were possible; if not, the loop stopped there for an audit.
    """
    mean, cov, log_det = state[0], state[1], state[6]
    widths, weights, ties = tables
    index, column = np.empty(len(mean)), np.empty(len(mean))
    for t in range(first - 1, last):
        width = widths[t, 0] + np.sqrt(widths[t, 1] + widths[t, 2] * log_det[0])
        fill_index(index, mean, cov, weights[t] * width)
        arm = best_arm(index, lowest, ties[t])
        if arm < 0:
            return t, False
        if not play_arm(state, problem, record, column, t, arm, ridge):
            return t + 1, False
    return last, True


@compiled
def fill_sample(
    sample: Any, mean: Any, cov: Any, counts: Any, ridge: float, scale: float, g: Any, e: Any
) -> None:
    """sample = mean + scale [g - cov ((n / ridge) g + sqrt(n / ridge) e)], by Matheron's rule."""
    n = len(mean)
    for i in range(n):
        sample[i] = g[i]
    for j in range(n):
        if counts[j] > 0:
            precision = counts[j] / ridge
            pull = precision * g[j] + np.sqrt(precision) * e[j]
            for i in range(n):
                sample[i] -= cov[j, i] * pull
    for i in range(n):
        sample[i] = mean[i] + scale * sample[i]


@compiled
def play_samples(
    state: Any,
    problem: Any,
    tables: Any,
    record: Any,
    ridge: float,
    lowest: bool,
    first: int,
    last: int,
) -> Any:
    """Play rounds first..last of Thompson sampling; return as `play_index` does.

    `tables` is (a, b and c, uniforms for ties, draws from the prior, normals), each beginning with
    round `first`: tables for all rounds would be too large.
    """
    mean, cov, counts, log_det = state[0], state[1], state[2], state[6]
    widths, ties, prior, normals = tables
    sample, column = np.empty(len(mean)), np.empty(len(mean))
    for t in range(first - 1, last):
        row = t + 1 - first
        width = widths[row, 0] + np.sqrt(widths[row, 1] + widths[row, 2] * log_det[0])
        fill_sample(sample, mean, cov, counts, ridge, width, prior[row], normals[row])
        arm = best_arm(sample, lowest, ties[row])
        if arm < 0:
            return t, False
        if not play_arm(state, problem, record, column, t, arm, ridge):
            return t + 1, False
    return last, True
