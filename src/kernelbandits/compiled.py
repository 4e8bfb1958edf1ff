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
def fill_index(index: Any, mean: Any, variance: Any, scale: float) -> None:
    """Fill the index of all arms.

    index = mean + scale * sd
    """
    for i in range(len(mean)):
        index[i] = mean[i] + scale * np.sqrt(max(variance[i], 0.0))


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
    """Condition mean and covariance on a reward y; return the increase of the log-determinant.

    mean += c (y - mean[arm]) / e,  cov -= c c' / e,  with c = cov[arm] and e = c[arm] + ridge

    `column` is memory for c / sqrt(e).
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
def learn(state: Any, record: Any, t: int, arm: int, reward: float, ridge: float) -> None:
    """Count a reward and record the round: the arm, and the arm recommended after it."""
    mean, _, counts, sums, lost, ceiling, totals = state
    totals[1] = max(totals[1], abs(reward))
    add_reward(counts, sums, lost, ceiling, arm, reward, ridge)
    record[0][t], record[1][t] = arm, largest_mean(mean)


@compiled
def play_arm(
    state: Any, problem: Any, record: Any, column: Any, t: int, arm: int, ridge: float
) -> Any:
    """Play an arm, learn its reward and record the round.

    `problem` is (value of each arm, noise of each round) and `record` is (arms, recommended arms).
    Return False if the variance of the arm was impossible, so that an audit is needed.
    """
    mean, cov, ceiling, totals = state[0], state[1], state[5], state[6]
    reward = problem[0][arm] + problem[1][t]
    variance = cov[arm, arm]
    sound = 0.0 <= variance <= ceiling[arm]
    totals[0] += condition(mean, cov, column, arm, reward, ridge)
    totals[2] += variance < 0
    learn(state, record, t, arm, reward, ridge)
    return sound


WAITING = 8
"""After so many rewards the covariance is brought up to date in one pass (`play_index`)."""


@compiled
def subtract_products(row: Any, columns: Any, place: int) -> None:
    """Subtract c[place] c from a row, for each of the columns c, one after the other."""
    for i in range(len(columns)):
        column = columns[i]
        factor = column[place]
        for j in range(len(row)):
            row[j] -= factor * column[j]


@compiled
def subtract_waiting(cov: Any, waiting: Any) -> None:
    """Subtract c c' from the covariance, for each of the `WAITING` columns c.

    Each number is read and written once. It is rounded as if one column had been subtracted from
    the whole covariance before the next.
    """
    c1, c2, c3, c4 = waiting[0], waiting[1], waiting[2], waiting[3]
    c5, c6, c7, c8 = waiting[4], waiting[5], waiting[6], waiting[7]
    for i in range(len(cov)):
        row = cov[i]
        a1, a2, a3, a4, a5, a6, a7, a8 = c1[i], c2[i], c3[i], c4[i], c5[i], c6[i], c7[i], c8[i]
        for j in range(len(row)):
            value = row[j] - a1 * c1[j]
            value = value - a2 * c2[j]
            value = value - a3 * c3[j]
            value = value - a4 * c4[j]
            value = value - a5 * c5[j]
            value = value - a6 * c6[j]
            value = value - a7 * c7[j]
            row[j] = value - a8 * c8[j]


@compiled
def align_rows(height: int, width: int) -> Any:
    """Return zeros whose rows begin at multiples of 64 bytes and are as long or longer.

    Where rows begin elsewhere, a load or store of 64 bytes touches two lines of the cache.
    """
    wide = (width + 7) // 8 * 8
    memory = np.zeros(height * wide + 7)
    start = (-(memory.ctypes.data // 8)) % 8
    return memory[start : start + height * wide].reshape(height, wide)


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

    `tables` is (a, b and c of each round, weights, uniforms for ties). These, the noise and the
    record begin with round `first`: for all rounds they would be too large. Return the last round
    played and whether all variances were possible; if not, the loop stopped there for an audit.

    A round needs the variances and one row of the covariance. So the other rows wait: the columns
    c / sqrt(e) of up to `WAITING` rewards are kept, and subtracted from all rows in one pass. This
    gives the same numbers to the last bit as the update in every round (`condition`).
    """
    mean, cov, ceiling, totals = state[0], state[1], state[5], state[6]
    widths, weights, ties = tables
    n, waits = len(mean), 0
    rows, waiting = align_rows(n, n), align_rows(WAITING, n)
    index, variance, row = np.empty(n), np.empty(n), np.empty(waiting.shape[1])
    for i in range(n):
        variance[i] = cov[i, i]
        for j in range(n):
            rows[i, j] = cov[i, j]
    t, sound = 0, True
    while t <= last - first and sound:
        width = widths[t, 0] + np.sqrt(widths[t, 1] + widths[t, 2] * totals[0])
        fill_index(index, mean, variance, weights[t] * width)
        arm = best_arm(index, lowest, ties[t])
        if arm < 0:
            sound = False
            break
        reward, left = problem[0][arm] + problem[1][t], variance[arm]
        sound = 0.0 <= left <= ceiling[arm]
        if left > 0:
            for i in range(len(row)):
                row[i] = rows[arm, i]
            subtract_products(row, waiting[:waits], arm)
            totals[0] += learn_row(mean, variance, row, waiting[waits], arm, reward, ridge)
            waits += 1
            if waits == WAITING:
                subtract_waiting(rows, waiting)
                waits = 0
        totals[2] += left < 0
        learn(state, record, t, arm, reward, ridge)
        t += 1
    for i in range(n):
        subtract_products(rows[i], waiting[:waits], i)
        for j in range(n):
            cov[i, j] = rows[i, j]
    return first + t - 1, sound


@compiled
def learn_row(
    mean: Any, variance: Any, row: Any, column: Any, arm: int, reward: float, ridge: float
) -> Any:
    """Do `condition` for means and variances, where row = cov[arm], and fill the column."""
    evidence = variance[arm] + ridge
    step, root = (reward - mean[arm]) / evidence, 1.0 / np.sqrt(evidence)
    gain = np.log1p(variance[arm] / ridge)
    for i in range(len(mean)):
        mean[i] += row[i] * step
        column[i] = row[i] * root
    for i in range(len(mean)):
        variance[i] -= column[i] * column[i]
    return gain


@compiled
def fill_sample(
    sample: Any, mean: Any, cov: Any, counts: Any, ridge: float, scale: float, g: Any, e: Any
) -> None:
    """Draw a sample of the posterior by Matheron's rule.

    sample = mean + scale [g - cov ((n / ridge) g + sqrt(n / ridge) e)]

    Here g is a draw of the prior, e is standard normal, and n are the counts.
    """
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

    `tables` is (a, b and c, uniforms for ties, draws from the prior, normals).
    """
    mean, cov, counts, log_det = state[0], state[1], state[2], state[6]
    widths, ties, prior, normals = tables
    sample, column = np.empty(len(mean)), np.empty(len(mean))
    for t in range(last - first + 1):
        width = widths[t, 0] + np.sqrt(widths[t, 1] + widths[t, 2] * log_det[0])
        fill_sample(sample, mean, cov, counts, ridge, width, prior[t], normals[t])
        arm = best_arm(sample, lowest, ties[t])
        if arm < 0:
            return first + t - 1, False
        if not play_arm(state, problem, record, column, t, arm, ridge):
            return first + t, False
    return last, True


# ---------------------------------------------------------------- pools: a row for each arm played

ARMS_AT_ONCE = 512
"""The arms of a block: the pieces of all arrays that belong to one stay in the fastest cache."""
LONG_BLOCKS, MANY_ARMS = 8, 65536
"""From MANY_ARMS on rows are combined for so many blocks at a time. The rows then come from memory,
where longer pieces are read faster, because each begins on another page."""


@compiled
def combine_rows(out: Any, rows: Any, weights: Any, start: int) -> None:
    """Add a weighted sum of rows to `out`, for as many arms from `start` on.

    out[j] += sum_i weights[i] rows[i, start + j]
    """
    m, size = len(weights), len(out)
    i = 0
    # Eight rows at a time, so that `out` is read and written an eighth as often.
    while i + 8 <= m:
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        e, f, g, h = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        r1, r2 = rows[i, start : start + size], rows[i + 1, start : start + size]
        r3, r4 = rows[i + 2, start : start + size], rows[i + 3, start : start + size]
        r5, r6 = rows[i + 4, start : start + size], rows[i + 5, start : start + size]
        r7, r8 = rows[i + 6, start : start + size], rows[i + 7, start : start + size]
        for j in range(size):
            left = (a * r1[j] + b * r2[j]) + (c * r3[j] + d * r4[j])
            out[j] += left + ((e * r5[j] + f * r6[j]) + (g * r7[j] + h * r8[j]))
        i += 8
    while i < m:
        a, r1 = weights[i], rows[i, start : start + size]
        for j in range(size):
            out[j] += a * r1[j]
        i += 1


@compiled
def combine_rows_twice(
    out: Any, other: Any, rows: Any, weights: Any, other_weights: Any, start: int
) -> None:
    """Do `combine_rows` for two lists of weights, and read the rows once."""
    m, size = len(weights), len(out)
    i = 0
    while i + 4 <= m:
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        e, f = other_weights[i], other_weights[i + 1]
        g, h = other_weights[i + 2], other_weights[i + 3]
        r1, r2 = rows[i, start : start + size], rows[i + 1, start : start + size]
        r3, r4 = rows[i + 2, start : start + size], rows[i + 3, start : start + size]
        for j in range(size):
            out[j] += (a * r1[j] + b * r2[j]) + (c * r3[j] + d * r4[j])
            other[j] += (e * r1[j] + f * r2[j]) + (g * r3[j] + h * r4[j])
        i += 4
    while i < m:
        a, e, r1 = weights[i], other_weights[i], rows[i, start : start + size]
        for j in range(size):
            out[j] += a * r1[j]
            other[j] += e * r1[j]
        i += 1


@compiled
def largest_of(values: Any) -> Any:
    """Return the largest of some numbers; four at a time, because each comparison waits."""
    n = len(values)
    a = b = c = d = values[0]
    i = 0
    while i + 4 <= n:
        a, b = max(a, values[i]), max(b, values[i + 1])
        c, d = max(c, values[i + 2]), max(d, values[i + 3])
        i += 4
    while i < n:
        a = max(a, values[i])
        i += 1
    return max(max(a, b), max(c, d))


@compiled
def learn_block(
    mean: Any, variance: Any, index: Any, column: Any, step: float, root: float, scale: float
) -> Any:
    """Learn a reward on some arms and compute their index; return the least variance after it.

    mean += c step, variance -= (c root)^2, index = mean + scale sd, with c = cov(., arm).
    """
    for j in range(len(mean)):
        mean[j] += column[j] * step
        scaled = column[j] * root
        variance[j] -= scaled * scaled
        index[j] = mean[j] + scale * np.sqrt(max(variance[j], 0.0))
    least = variance[0]
    for j in range(1, len(mean)):
        least = min(least, variance[j])
    return least


@compiled
def best_of_blocks(index: Any, largest: Any, lowest: bool, u: float) -> int:
    """Return the arm with the largest index, as `best_arm` does; `largest` has that of each block.

    Only blocks that contain tied arms are looked at.
    """
    n = len(index)
    best = largest_of(largest)
    threshold = best - TIE_TOLERANCE * max(1.0, abs(best))
    count = 0
    for block in range(len(largest)):
        if largest[block] >= threshold:
            for i in range(block * ARMS_AT_ONCE, min(n, (block + 1) * ARMS_AT_ONCE)):
                count += index[i] >= threshold
    wanted = 0 if lowest else int(u * count)
    for block in range(len(largest)):
        if largest[block] >= threshold:
            for i in range(block * ARMS_AT_ONCE, min(n, (block + 1) * ARMS_AT_ONCE)):
                if index[i] >= threshold:
                    if wanted == 0:
                        return i
                    wanted -= 1
    return -1


@compiled
def first_largest(values: Any, largest: Any) -> int:
    """Return the first of the largest values; `largest` has that of each block."""
    n, best = len(values), largest_of(largest)
    for block in range(len(largest)):
        if largest[block] == best:
            for i in range(block * ARMS_AT_ONCE, min(n, (block + 1) * ARMS_AT_ONCE)):
                if values[i] == best:
                    return i
    return 0


@compiled
def find_slot(arms: Any, arm: int) -> int:
    """Return the row that belongs to an arm, or -1."""
    for slot in range(len(arms)):
        if arms[slot] == arm:
            return slot
    return -1


@compiled
def explain_projection(out: Any, core: Any, projection: Any) -> None:
    """Write S p, the core times the projection, into `out`."""
    m = len(projection)
    for i in range(m):
        out[i] = 0.0
    for j in range(m):
        for i in range(m):
            out[i] += core[j, i] * projection[j]


@compiled
def fill_coordinates(state: Any, rise: Any, slot: int, arm: int) -> Any:
    """Fill q, for which cov(., arm) = V' q, and return the variance of the arm.

    q = (row of L) - S V(arm)
    """
    rows, factor, core = state[2], state[3], state[4]
    q, projection, explained = rise
    for i in range(len(q)):
        projection[i] = rows[i, arm]
    explain_projection(explained, core, projection)
    variance = 0.0
    for i in range(len(q)):
        q[i] = factor[slot, i] - explained[i]
        variance += q[i] * projection[i]
    return variance


@compiled
def add_arm(state: Any, rise: Any, prior: Any, arm: int, ridge: float) -> Any:
    """Begin the row of a new arm; return the variance of the arm.

    With p = V(arm), the last row of L is (p, l) with l^2 = ridge + k(arm, arm) - p' p. The
    coordinates of cov(., arm) are q = (p - S p, l), and its variance is k(arm, arm) - p' S p.
    """
    rows, factor, core = state[2], state[3], state[4]
    q, projection, explained = rise
    m = len(q) - 1
    for i in range(m):
        projection[i] = rows[i, arm]
    explain_projection(explained, core, projection[:m])
    own = covered = 0.0
    for i in range(m):
        factor[m, i] = projection[i]
        q[i] = projection[i] - explained[i]
        own += projection[i] * projection[i]
        covered += projection[i] * explained[i]
    factor[m, m] = q[m] = np.sqrt(ridge + max(prior[arm] - own, 0.0))
    return prior[arm] - covered


@compiled
def fill_column(state: Any, column: Any, rise: Any, prior: Any, start: int) -> None:
    """Fill the column with cov(., arm) = V' q on some arms from `start` on.

    For the first play of an arm, with k = k(., arm) as `prior`, column = k - V' S p and the new row
    (k - V' p) / l are computed in one pass over the other rows.
    """
    rows, size = state[2], len(column)
    q, projection, explained = rise
    for j in range(size):
        column[j] = 0.0
    if len(prior) == 0:
        combine_rows(column, rows, q, start)
        return
    m = len(q) - 1
    row = rows[m, start : start + size]
    for j in range(size):
        row[j] = 0.0
    combine_rows_twice(row, column, rows, projection[:m], explained[:m], start)
    for j in range(size):
        row[j] = (prior[start + j] - row[j]) / q[m]
        column[j] = prior[start + j] - column[j]


@compiled
def pass_over_rows(
    state: Any,
    work: Any,
    rise: Any,
    prior: Any,
    keep: float,
    step: float,
    root: float,
    scale: float,
) -> Any:
    """Learn a reward on all arms and compute the index of the next round, block by block.

    The column cov(., arm) is the last column times `keep`, or that of `fill_column` if `keep` is 0.
    `work` is memory for the index, the column, and the largest index and mean of each block. Return
    the least variance.
    """
    mean, variance = state[0], state[1]
    index, column, top_index, top_mean = work
    n, least = len(mean), np.inf
    together = LONG_BLOCKS if n >= MANY_ARMS else 1
    for block in range(len(top_index)):
        begin = block * ARMS_AT_ONCE
        end = min(n, begin + ARMS_AT_ONCE)
        piece = column[begin:end]
        if keep != 0.0:
            for j in range(len(piece)):
                piece[j] *= keep
        elif block % together == 0:
            long = column[begin : min(n, begin + together * ARMS_AT_ONCE)]
            fill_column(state, long, rise, prior, begin)
        lowest_here = learn_block(
            mean[begin:end], variance[begin:end], index[begin:end], piece, step, root, scale
        )
        least = min(least, lowest_here)
        top_index[block] = largest_of(index[begin:end])
        top_mean[block] = largest_of(mean[begin:end])
    return least


@compiled
def add_to_core(core: Any, q: Any, weight: float) -> None:
    """Add weight q q' to the core S."""
    for i in range(len(q)):
        scaled = weight * q[i]
        for j in range(len(q)):
            core[i, j] += scaled * q[j]


@compiled
def bound_outside(outside: Any, theta: float) -> Any:
    """Return a bound on mean + theta sd over the arms outside a short list, as it was made.

    The greatest mean + theta sd is convex in theta, so chords between known values lie above it.
    """
    places, values = outside[0], outside[1]
    for i in range(1, len(places)):
        if theta <= places[i]:
            share = (theta - places[i - 1]) / (places[i] - places[i - 1])
            return values[i - 1] + share * (values[i] - values[i - 1]) + 1e-9
    return np.inf


@compiled
def bound_change(state: Any, outside: Any, ridge: float) -> Any:
    """Return D: since the short list was made, no mean has moved by more than D sd(x).

    D^2 = sum_j (s_j - n_j m(a_j)) (m(a_j) - m_0(a_j)) / ridge over the arms played since then.
    """
    mean, arms, counts, sums, lost = state[0], state[5], state[6], state[7], state[8]
    means_then, counts_then, sums_then = outside[2], outside[3], outside[4]
    square = 0.0
    for slot in range(len(arms)):
        plays = counts[slot] - counts_then[slot]
        if plays > 0:
            now = mean[arms[slot]]
            gained = (sums[slot] + lost[slot]) - sums_then[slot]
            square += (gained - plays * now) * (now - means_then[slot])
    return np.sqrt(max(square, 0.0) / ridge) + 1e-9


NO_STOP, OUTSIDE, UNKNOWN_BEST = -1, -2, -3
"""Why the loop for pools stopped, if not for an arm without a row: for the last round, for an arm
outside the short list that may be better, or because the arm to recommend may be outside."""


@compiled
def play_pool(
    state: Any,
    work: Any,
    problem: Any,
    tables: Any,
    record: Any,
    ridge: float,
    lowest: bool,
    first: int,
    last: int,
    outside: Any,
    fresh: Any,
) -> Any:
    """Play rounds first..last of an index policy on the state of a `RowPosterior`.

    It stops before a round whose arm has no row yet. The caller evaluates the kernel and calls
    again with `fresh`, the arm and its column k(., arm); the last row of the state is then for this
    arm, which is played first. Otherwise `fresh` is (-1, empty).

    If the arms are a short list, `outside` has what bounds all others
    (`posterior.ShortList.bounds`), and the loop stops where one of them may be better. `work` is
    memory for `pass_over_rows`. Return the last round played, whether all variances were possible,
    and the arm without a row or why the loop stopped.
    """
    arms, counts, sums, lost, ceiling, totals = state[5:]
    values, noise = problem
    widths, weights, ties = tables
    index, column = work[0], work[1]
    short, nothing = len(outside[0]) > 0, fresh[1][:0]
    rise = np.zeros(len(arms)), np.empty(len(arms)), np.empty(len(arms))
    width = widths[0, 0] + np.sqrt(widths[0, 1] + widths[0, 2] * totals[0])
    scale = weights[0] * width
    change = 0.0
    if fresh[0] < 0:
        totals[4] = pass_over_rows(state, work, rise, nothing, 1.0, 0.0, 0.0, scale)
        change = bound_change(state, outside, ridge) if short else 0.0
    # Plays of the same arm in succession have the same q up to a factor: their sum
    # (1/e + factor^2/e' + ...) q q' is added to S when another arm is played.
    played, keep, factor, weight = -1, 0.0, 1.0, 0.0
    stop = NO_STOP
    t, end, sound = 0, last - first + 1, True
    while t < end and sound and stop == NO_STOP:
        prior = fresh[1] if t == 0 else nothing
        if t == 0 and fresh[0] >= 0:
            arm, slot = fresh[0], len(arms) - 1
        else:
            if short:
                best = largest_of(work[2])
                threshold = best - TIE_TOLERANCE * max(1.0, abs(best))
                if not bound_outside(outside, max(scale, 0.0) + change) < threshold:
                    stop = OUTSIDE
                    break
            arm = best_of_blocks(index, work[2], lowest, ties[t])
            if arm < 0:
                sound = False
                break
            slot = find_slot(arms, arm)
            if slot < 0:
                stop = arm
                break
        if arm == played:
            factor *= keep
            variance = column[arm] * keep
        else:
            if weight > 0.0:
                add_to_core(state[4], rise[0], weight)
            factor, weight, keep = 1.0, 0.0, 0.0
            if len(prior) > 0:
                variance = add_arm(state, rise, prior, arm, ridge)
            else:
                variance = fill_coordinates(state, rise, slot, arm)
        reward = values[arm] + noise[t]
        sound = 0.0 <= variance <= ceiling[slot] and totals[4] >= totals[3]
        possible = variance > 0.0
        evidence = ridge + (variance if possible else 0.0)
        step = (reward - state[0][arm]) / evidence if possible else 0.0
        root = 1.0 / np.sqrt(evidence) if possible else 0.0
        if possible:
            weight += factor * factor / evidence
            totals[0] += np.log1p(variance / ridge)
        totals[1] = max(totals[1], abs(reward))
        totals[2] += variance < 0
        add_reward(counts, sums, lost, ceiling, slot, reward, ridge)
        scale = 0.0
        if first + t < last:
            width = widths[t + 1, 0] + np.sqrt(widths[t + 1, 1] + widths[t + 1, 2] * totals[0])
            scale = weights[t + 1] * width
        totals[4] = pass_over_rows(state, work, rise, prior, keep, step, root, scale)
        record[0][t], record[1][t] = arm, first_largest(state[0], work[3])
        # The next column of this arm is this one times ridge / e.
        played, keep = (arm, ridge / evidence) if possible else (-1, 0.0)
        t += 1
        if short:
            change = bound_change(state, outside, ridge)
            if not bound_outside(outside, change) < largest_of(work[3]):
                stop = UNKNOWN_BEST
    if weight > 0.0:
        add_to_core(state[4], rise[0], weight)
    return first + t - 1, sound, stop
