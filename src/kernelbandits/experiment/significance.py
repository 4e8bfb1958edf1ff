"""Tests of differences over the seeds, and the levels of several tests at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtr

from kernelbandits.checks import Array

FAMILY_LEVEL = 0.05


def t_p_value(gap: float, error: float, n: int) -> float:
    """Return the two-sided p value of a mean of n numbers at a distance from what is tested.

    P(|t_{n-1}| >= gap / error), with the standard error of the mean
    """
    if n < 2:
        return 1.0
    if error == 0:
        return float(gap == 0)
    return float(2 * stdtr(n - 1, -gap / error))


def paired_p_value(first: Array, second: Array) -> float:
    """Return the two-sided p value of a paired t test."""
    gaps = first - second
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.inf
    return t_p_value(abs(float(gaps.mean())), error, len(gaps))


def holm_levels(
    p_values: Sequence[float], level: float = FAMILY_LEVEL, size: int | None = None
) -> list[float]:
    """Return the level at which each hypothesis is tested, with ranks by p value.

    level / (m - rank)

    From the first hypothesis on that is not rejected, the level stays the same. `size` is m, the
    number of hypotheses of the family, if it has more than those of the p values: the others count
    as not rejected.
    """
    m = len(p_values) if size is None else size
    order = np.argsort(p_values, kind="stable")
    levels, current, stopped = [0.0] * len(p_values), 0.0, False
    for rank, which in enumerate(order):
        if not stopped:
            current = level / (m - rank)
            stopped = p_values[which] > current
        levels[which] = current
    return levels


def find_worse(columns: Mapping[str, Mapping[str, Array]]) -> set[tuple[str, str]]:
    """Return (problem, policy) of those shown to be worse than the least mean on their problem.

    Every other policy is compared with the least mean by a paired t test. Holm's procedure at 5 %
    holds over all comparisons of all problems.
    """
    tests = {}
    for problem, samples in columns.items():
        best = min(samples, key=lambda label: float(samples[label].mean()))
        for label, values in samples.items():
            if label != best:
                tests[problem, label] = paired_p_value(values, samples[best])
    levels = holm_levels(list(tests.values()))
    return {pair for (pair, p), level in zip(tests.items(), levels, strict=True) if p <= level}
