"""How closely the estimates of a policy follow what earlier studies predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.insight.model import fitted_model
from kernelbandits.insight.slices import select_rows
from kernelbandits.policies import Policy
from kernelbandits.runtime import single_threaded

FEWEST = 5
"""From so many different points on the results themselves are compared with the predictions."""
LOW, HIGH = 0.1, 0.9
"""The quantiles of the members between which a correlation is stated."""


@dataclass(frozen=True)
class Followed:
    """How closely a policy follows the predictions of one earlier study.

    >>> from kernelbandits.insight import Followed
    >>> followed = Followed(correlation=0.8, low=0.6, high=0.9, agreement=0.7, points=12)
    >>> followed.low <= followed.correlation <= followed.high
    True
    """

    correlation: float
    """Of its estimates with the predictions, over the candidates: the mean of the members."""
    low: float
    high: float
    """Between which eight of ten members have it."""
    agreement: float | None
    """The rank correlation of the rewards with the predictions, over the points with rewards; None
    with fewer than five. It does not depend on the model."""
    points: int
    """How many points with rewards there are."""


@single_threaded
def follow_earlier(policy: Policy) -> tuple[Followed, ...]:
    """Return how closely a policy follows the predictions of each earlier study it learnt from.

    () before the first reward, and for a policy that learnt from none.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.linspace(0, 1, 11)[:, None]
    >>> old = kb.calibration.EarlierResults(points, np.sin(3 * points))
    >>> policy = kb.Auto(kb.Arms(points), earlier=[old], seed=1)
    >>> for arm in (0, 3, 5, 8, 10):
    ...     policy.tell(policy.choice(arm), 20 * np.sin(3 * points[arm, 0]))
    >>> (one,) = kb.insight.follow_earlier(policy)
    >>> one.correlation > 0.9, round(one.agreement, 2)
    (True, 1.0)
    """
    model = fitted_model(policy) if policy.predictions else None
    if model is None:
        return ()
    rows = policy.domain.points if policy.finite else policy.domain.cover().points
    rows = rows[select_rows(len(rows))]
    means, measured = model.posterior.member_means(rows), model.observations
    found = []
    for predict in policy.predictions:
        predicted = predict(rows)
        each = np.array([correlate(one, predicted) for one in means])
        enough = len(measured.points) >= FEWEST
        agreement = None
        if enough:
            agreement = correlate(rank(measured.means), rank(predict(measured.points)))
        low, high = np.quantile(each, [LOW, HIGH]).tolist()
        found.append(Followed(float(each.mean()), low, high, agreement, len(measured.points)))
    return tuple(found)


def correlate(one: Array, other: Array) -> float:
    """Return the correlation of two columns; 0 if one of them does not vary."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def rank(values: Array) -> Array:
    """Return the ranks of some numbers; equal ones share the mean of theirs.

    >>> rank(np.array([3.0, 1.0, 3.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return np.asarray((last - (counts - 1) / 2)[places])
