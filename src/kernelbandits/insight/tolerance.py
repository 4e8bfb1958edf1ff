"""Whether the point that a policy recommends is near enough to the best one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits.insight.left_out import leave_one_out
from kernelbandits.insight.unmeasured import limit_leads, mix_with_hat
from kernelbandits.policies import Auto
from kernelbandits.policies.comparison import compare_choice, recommend_measured
from kernelbandits.policies.lone_results import results_at, stands_alone
from kernelbandits.policies.outcomes import LIKELY

ENOUGH = 0.95
"""The probability of being within the tolerance that is enough to stop. An expected loss within the
tolerance is not: a row that loses nothing in most cases, and much in the others, has one too. Who
asks again after every few results stops at the first yes, which is more often wrong than one answer
alone: on 14 real tables the first yes at 0.9 was right in 75 to 94 % of the studies, at 0.95 in 91
to 100 %, by tolerance and noise (docs/decisions/0012)."""
SURE = 2.0
"""The noise of one result is rarely larger than this many of its standard deviations."""


def is_within(policy: Auto[Any], tolerance: float) -> bool:
    """Tell whether the recommended point is so near the best with probability 0.95.

    A single reward that may be luck is not enough, unless the noise is small against the tolerance,
    and neither is one by which the point leads all others. Where points are left that nobody has
    measured, the model must predict rewards that it did not see. Where outcomes are limited, the
    point must be feasible with probability 0.9.

    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Arms([[arm / 20] for arm in range(21)]), noise=0.0)
    >>> for arm in range(0, 21, 2):
    ...     auto.tell(auto.choice(arm), -((arm / 20 - 0.4) ** 2))
    >>> is_within(auto, 0.1), is_within(auto, 1e-9)
    (True, False)
    """
    left_out = leave_one_out(policy)
    if left_out is None:
        return False
    choice = recommend_measured(policy)
    if policy.feasibility(choice) < LIKELY:
        return False
    compared = compare_choice(policy, choice)
    played = {row.tobytes() for row in policy.rewards.points}
    here = compared.rows[compared.here]
    slot = int((policy.rewards.points == here).all(1).argmax())
    doubtful = SURE * policy.calibration.noise_scale > tolerance
    if policy.rewards.count_in(slot) == 1 and doubtful:
        return False
    measured = np.array([row.tobytes() in played for row in compared.rows])
    if stands_alone(*results_at(policy.rewards, slot)):
        return False
    if not (measured.all() or left_out.predicts):
        return False
    mean = np.asarray(compared.units.original(compared.mean))
    draws, among = compared.units.original(compared.draws), measured[compared.contenders]
    if policy.finite:
        draws = limit_leads(draws, among, mean[compared.contenders], mean[measured])
    draws = mix_with_hat(draws, among, left_out, int((~measured).sum()))
    own = int(np.flatnonzero(compared.contenders == compared.here)[0])
    # Where outcomes are limited, the functions count in which the point is feasible.
    feasible = compared.draws[:, own] > -np.inf
    losses = draws[feasible].max(1) - draws[feasible, own]
    return bool((losses <= tolerance).mean() >= ENOUGH)
