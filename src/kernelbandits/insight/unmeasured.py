"""What places without a result may be, in functions that are drawn from a posterior.

A posterior says too much of places that nobody has measured. A normal law has no upper limit, and a
model that predicts nothing may be sure of itself. Every statement about the best place rests on
functions that were corrected here for both.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array
from kernelbandits.insight.left_out import LeaveOneOut

Mask = npt.NDArray[np.bool_]

LEAD_FACTOR = 0.2
"""By what the lead of an unmeasured row over the best measured one is multiplied in each function
drawn. A normal law has no upper limit, and the largest of some hundred unmeasured rows is then far
above all results. Real targets end somewhere: yields at 100 %, errors at 0. With the functions as
from a hat beside them, stated and true probabilities agreed best at 0.2, whichever of 32 tables was
left out of the choice (docs/decisions/0029)."""
LARGEST_LEAD = 1.0
"""The largest lead, in ranges of the measured rows: the tail of a transformed law may be far above,
and would decide the average alone."""
R2 = np.array([0.7548776662466927, 0.5698402909980532])
"""Multiples of these two numbers, modulo 1, are spread evenly over the unit square."""


def limit_leads(draws: Array, measured: Mask, mean: Array, known: Array) -> Array:
    """Return functions with smaller leads of unmeasured places over the best measured one.

    An estimate that is better than the best measured place counts in full: only what a draw adds to
    both is limited. Whether a measured place is the best in a function stays as it was.

    draws: (functions, places). measured: which of the places have a result. mean: their estimates.
    known: the estimates of all places with a result.
    """
    most = LARGEST_LEAD * float(np.ptp(known)) if len(known) else 0.0
    if not measured.any() or measured.all() or not most > 0:
        return draws
    best = np.maximum(draws[:, measured].max(1, keepdims=True), mean)
    # tanh keeps the order of leads, where a plain limit would make the largest ones equal.
    leads = most * np.tanh(LEAD_FACTOR * (draws - best) / most)
    return np.where(~measured & (draws > best), best + leads, draws)


def mix_with_hat(
    draws: Array, measured: Mask, left_out: LeaveOneOut | None, unmeasured: int
) -> Array:
    """Return the functions, some of them as if places were drawn from a hat.

    Those are a share of 1 - `LeaveOneOut.trust`: the less the model predicts, the more. In them a
    place without a result leads the best measured one by more than x with the probability

        m exp(-x/s) / (n + m exp(-x/s)),

    for n measured places, m others and the scale s of the upper tail of the results. At x = 0 it is
    m / (n + m), the probability that the best of n + m different places drawn from a hat is not
    among the first n.

    draws: (functions, places), in the units of the results. measured: which of the places have a
    result. unmeasured: m, which may be more than those in the draws.
    """
    if left_out is None or math.isnan(left_out.skill) or measured.all() or not measured.any():
        return draws
    share = np.floor((1 - left_out.trust) * np.arange(len(draws) + 1))
    chosen = np.flatnonzero(np.diff(share))
    uniform, position = ((np.arange(len(chosen)) + 0.5) * R2[:, None]) % 1
    odds = len(left_out) / unmeasured
    leads = -left_out.upper_spread * np.log(odds * (1 / uniform - 1))
    others, best = np.flatnonzero(~measured), draws[chosen][:, measured].max(1)
    mixed = draws.copy()
    mixed[np.ix_(chosen, others)] = np.minimum(draws[np.ix_(chosen, others)], best[:, None])
    leaders = others[(position * len(others)).astype(np.intp)]
    ahead = leads > 0
    mixed[chosen[ahead], leaders[ahead]] = (best + leads)[ahead]
    return mixed
