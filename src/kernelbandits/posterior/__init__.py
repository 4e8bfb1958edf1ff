"""The posterior after t rewards: mean, standard deviation and log-determinant.

    mean(x) = k_t(x)' (K_t + ridge I)^-1 y
    cov(x, z) = k(x, z) - k_t(x)' (K_t + ridge I)^-1 k_t(z),    sd(x)^2 = cov(x, x)
    log_det = log det(I + K_t / ridge)

Rewards are never centred. The state follows every reward by a rank-one update. The counts and sums
of the rewards (`sufficient`) determine the posterior exactly, and at fixed numbers of rewards an
audit compares the state with a factorisation from them.

The forms differ in what they hold in memory, not in the result: `ArmPosterior` (n x n covariance),
`RowPosterior` (large pools), `PointPosterior` (any points of a box), `LinearPosterior` (d x d),
`RefitPosterior` (the ridge may change, old rewards may fade) and `DriftingPosterior` (f changes).
`PartialPosterior` keeps some arms of a pool up to date.
`SketchedPosterior` is an approximation in the span of some of the arms, and `TruncatedPosterior`
one that leaves out what heavy tails contribute.

A posterior has M >= 1 members, which differ in kernel and ridge, and is their mixture with equal
weights. `RowPosterior` and `PointPosterior` may have several; M = 1 is the ordinary case.

>>> import numpy as np
>>> import kernelbandits as kb
>>> posterior = kb.posterior.posterior_on(kb.RBF(0.5), np.array([[0.0], [0.5], [1.0]]), ridge=0.1)
>>> posterior.update(1, 2.0)
>>> posterior.mean.round(3), posterior.sd.round(3)
(array([1.103, 1.818, 1.103]), array([0.816, 0.302, 0.816]))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.posterior.arms import ArmPosterior, State
from kernelbandits.posterior.base import Health, Posterior
from kernelbandits.posterior.columns import Columns
from kernelbandits.posterior.drifting import DriftingPosterior
from kernelbandits.posterior.linear import LinearPosterior
from kernelbandits.posterior.partial import PartialPosterior
from kernelbandits.posterior.points import PointPosterior
from kernelbandits.posterior.refit import RefitPosterior
from kernelbandits.posterior.rows import NO_ARM, LentPool, RowPosterior
from kernelbandits.posterior.search_form import SearchForm
from kernelbandits.posterior.short_list import NO_BOUNDS, ShortList
from kernelbandits.posterior.sketched import SketchedPosterior
from kernelbandits.posterior.spectrum import Spectrum
from kernelbandits.posterior.sufficient import Factorisation, Tally
from kernelbandits.posterior.truncated import TruncatedPosterior

__all__ = [
    "LARGEST_COVARIANCE",
    "LARGEST_JOINT",
    "NO_ARM",
    "NO_BOUNDS",
    "ArmPosterior",
    "Columns",
    "DriftingPosterior",
    "Factorisation",
    "Health",
    "LentPool",
    "LinearPosterior",
    "PartialPosterior",
    "PointPosterior",
    "Posterior",
    "RefitPosterior",
    "RowPosterior",
    "SearchForm",
    "ShortList",
    "SketchedPosterior",
    "Spectrum",
    "State",
    "Tally",
    "TruncatedPosterior",
    "posterior_on",
]

LARGEST_COVARIANCE = 200
"""Up to this many arms the n x n covariance is held; beyond, only the rows of the arms played."""
LARGEST_JOINT = 2000
"""Up to this many arms a rule that needs the n x n covariance may hold it."""


@overload
def posterior_on(kernel: Any, domain: Arms | Array, ridge: float) -> Posterior: ...
@overload
def posterior_on(kernel: Any, domain: Any, ridge: float) -> Posterior | PointPosterior: ...


def posterior_on(kernel: Any, domain: Any, ridge: float) -> Posterior | PointPosterior:
    """Return the posterior whose memory fits the domain.

    Up to 200 arms it is an `ArmPosterior`, for more arms a `RowPosterior`, and on a box a
    `PointPosterior`. Kernel and ridge are those of `Posterior`.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> few, many = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 500)[:, None]
    >>> for domain in (few, many, kb.Box((0.0,), (1.0,))):
    ...     print(type(kb.posterior.posterior_on(kb.RBF(0.2), domain, ridge=0.1)).__name__)
    ArmPosterior
    RowPosterior
    PointPosterior
    """
    if not isinstance(domain, (Arms, np.ndarray, Sequence)):
        return PointPosterior(kernel, domain, ridge)
    form = ArmPosterior if len(domain) <= LARGEST_COVARIANCE else RowPosterior
    return form(kernel, domain, ridge)
