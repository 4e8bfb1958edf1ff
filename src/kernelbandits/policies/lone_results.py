"""A place that leads all others by a single result, which nothing confirms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kernelbandits.calibration.rewards import Rewards
from kernelbandits.calibration.standard import scatters
from kernelbandits.checks import Array

LONE_LEAD = 0.25
"""By how much a single result leads, in ranges of all other places. In campaigns on 12 real tables
with one result raised by 0.8 of the range, it was named in 98 of the 104 games in which its row was
recommended. Without false results it named one row in two campaigns of 40 measurements
(docs/decisions/0029)."""
EXPLAINED = 3.0
"""A lead of no more than this many standard deviations of one result is explained by noise."""
FEWEST_REPEATS = 3
"""With fewer repeats at other places they say little of the noise."""
FEWEST_OTHERS = 7
"""With fewer other places their range says little."""


def stands_alone(own: Sequence[float], others: Array, noise: float = 0.0) -> bool:
    """Tell whether a place leads all others by one of its results, and by that one alone.

    Such a result may be a slip, a stroke of luck, or a discovery: one more measurement tells. A
    place with several results stands alone if the rest of them, without the best, lead nothing. A
    lead that the noise of repeats elsewhere explains is nothing unusual.

    own: the results of the place. others: the mean result of each other place. noise: the standard
    deviation of their repeats (`deviation_of_repeats`).

    >>> import numpy as np
    >>> others = np.linspace(0.0, 1.0, 11)
    >>> stands_alone([1.6], others), stands_alone([1.6, 1.5], others)
    (True, False)
    >>> stands_alone([1.6, 0.3], others), stands_alone([1.2], others)
    (True, False)
    """
    if len(others) < FEWEST_OTHERS or not own:
        return False
    low, high = float(others.min()), float(others.max())
    best, *rest = sorted(own, reverse=True)
    confirmed = bool(rest) and sum(rest) / len(rest) > high
    lead = max(LONE_LEAD * (high - low), EXPLAINED * noise)
    return best - high > lead > 0 and not confirmed


def is_contradicted(own: Sequence[float], others: Array, noise: float = 0.0) -> bool:
    """Tell whether a place leads by one result that its other results contradict.

    It is not recommended then, however high its mean is.

    >>> import numpy as np
    >>> others = np.linspace(0.0, 1.0, 11)
    >>> is_contradicted([1.6], others), is_contradicted([1.6, 0.3], others)
    (False, True)
    """
    return len(own) > 1 and stands_alone(own, others, noise)


def results_at(rewards: Rewards, slot: int) -> tuple[list[float], Array, float]:
    """Return the rewards of a point, the mean reward of each other one, and the noise there.

    These are what `stands_alone` and `is_contradicted` ask for.
    """
    parts = (rewards.counts, rewards.sums, rewards.squares)
    counts, sums, squares = (np.delete(part, slot) for part in parts)
    means = rewards.origin + sums / counts
    return rewards.values_in(slot), means, deviation_of_repeats(counts, sums, squares)


def deviation_of_repeats(counts: Array, sums: Array, squares: Array) -> float:
    """Return the pooled standard deviation of repeated results; 0 where there are too few.

    counts, sums, squares: of the results of each place.

    >>> import numpy as np
    >>> values = [[1.0, 3.0], [0.0, 2.0], [5.0], [1.0, 3.0]]
    >>> counts, sums = (np.array([f(one) for one in values]) for f in (len, sum))
    >>> squares = np.array([sum(y * y for y in one) for one in values])
    >>> round(deviation_of_repeats(counts, sums, squares), 3)
    1.414
    """
    freedom = float((counts - 1).sum())
    if freedom < FEWEST_REPEATS:
        return 0.0
    scatter = float(scatters("Auto", counts, sums, squares).sum())
    return math.sqrt(scatter / freedom)
