"""The equations of a round compiled with numba, and the loops that play many rounds with them.

The same numbers as `ask` and `tell` go in as arrays, so the same arms come out; a loop stops early where the
posterior asks for an audit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kernelbandits.domains import TIE_TOLERANCE

compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@compiled
def fill_index(index: Any, mean: Any, cov: Any, scale: float) -> None:
    """index = mean + scale * sd."""
    for i in range(len(mean)):
        index[i] = mean[i] + scale * np.sqrt(max(cov[i, i], 0.0))


@compiled
def best_arm(index: Any, lowest: bool, u: float) -> int:
    """The arm of the greatest index, ties within 1e-12 max(1, |best|) settled by u or the lowest number; -1 for NaN."""
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
    """mean += c (y - mean[arm]) / e, cov -= c c' / e with e = c[arm] + ridge; the step of the log-determinant."""
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
def tally(
    counts: Any, sums: Any, lost: Any, ceiling: Any, arm: int, reward: float, ridge: float
) -> None:
    """Count the reward, add it up by Neumaier's sum, and lower the ceiling ridge / n of the arm's variance."""
    before = sums[arm]
    after = before + reward
    sums[arm] = after
    lost[arm] += (
        (before - after) + reward if abs(before) >= abs(reward) else (reward - after) + before
    )
    counts[arm] += 1
    ceiling[arm] = min(ceiling[arm], (1 + 1e-6) * ridge / counts[arm])


@compiled
def greatest(mean: Any) -> int:
    best = 0
    for i in range(1, len(mean)):
        if mean[i] > mean[best]:
            best = i
    return best


@compiled
def learn(state: Any, world: Any, record: Any, column: Any, t: int, arm: int, ridge: float) -> Any:
    """Play the arm, `tell` its reward, write the round down; False if the variance before it was impossible."""
    mean, cov, counts, sums, lost, ceiling, totals = state
    reward = world[0][arm] + world[1][t]
    variance = cov[arm, arm]
    sound = 0.0 <= variance <= ceiling[arm]
    totals[0] += condition(mean, cov, column, arm, reward, ridge)
    totals[1] = max(totals[1], abs(reward))
    totals[2] += variance < 0
    tally(counts, sums, lost, ceiling, arm, reward, ridge)
    record[0][t], record[1][t] = arm, greatest(mean)
    return sound


@compiled
def play_index(
    state: Any,
    world: Any,
    tables: Any,
    record: Any,
    ridge: float,
    lowest: bool,
    first: int,
    last: int,
) -> Any:
    """Rounds first..last of mean + w_t (a_t + sqrt(b_t + c_t L)) sd: the round reached, and whether all was sound."""
    mean, cov, log_det = state[0], state[1], state[6]
    widths, weights, ties = tables
    index, column = np.empty(len(mean)), np.empty(len(mean))
    for t in range(first - 1, last):
        width = widths[t, 0] + np.sqrt(widths[t, 1] + widths[t, 2] * log_det[0])
        fill_index(index, mean, cov, weights[t] * width)
        arm = best_arm(index, lowest, ties[t])
        if arm < 0:
            return t, False
        if not learn(state, world, record, column, t, arm, ridge):
            return t + 1, False
    return last, True


@compiled
def fill_sample(
    sample: Any, mean: Any, cov: Any, counts: Any, ridge: float, scale: float, g: Any, e: Any
) -> None:
    """sample = mean + scale [g - cov ((n / ridge) g + sqrt(n / ridge) e)]."""
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
    world: Any,
    tables: Any,
    record: Any,
    ridge: float,
    lowest: bool,
    first: int,
    last: int,
) -> Any:
    """Rounds first..last of Thompson sampling: the round reached, and whether all was sound."""
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
        if not learn(state, world, record, column, t, arm, ridge):
            return t + 1, False
    return last, True
