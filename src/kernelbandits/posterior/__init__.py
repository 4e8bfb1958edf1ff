"""The estimate after t rewards: mean, sd and log-determinant, over a finite set of arms or at any points.

    mean(x) = k_t(x)' (K_t + ridge I)^-1 y
    cov(x, z) = k(x, z) - k_t(x)' (K_t + ridge I)^-1 k_t(z),    sd(x)^2 = cov(x, x)
    log_det = log det(I + K_t / ridge)

Rewards are never centred. The working state moves by rank-one updates; counts and reward sums are the truth,
and a refactorisation from them audits the state at fixed event numbers.
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
from kernelbandits.posterior.points import PointPosterior
from kernelbandits.posterior.pool import PoolPosterior
from kernelbandits.posterior.refit import RefitPosterior
from kernelbandits.posterior.spectrum import Spectrum
from kernelbandits.posterior.sufficient import Factorisation, Tally
from kernelbandits.posterior.trusted import as_trusted

__all__ = [
    "LARGEST_COVARIANCE",
    "ArmPosterior",
    "Columns",
    "DriftingPosterior",
    "Factorisation",
    "Health",
    "LinearPosterior",
    "PointPosterior",
    "PoolPosterior",
    "Posterior",
    "RefitPosterior",
    "Spectrum",
    "State",
    "Tally",
    "as_trusted",
    "posterior_on",
]

LARGEST_COVARIANCE = 2000
"""Up to this many arms the n x n covariance is held; beyond, only the rows of the arms played."""


@overload
def posterior_on(kernel: Any, domain: Arms | Array, ridge: float) -> Posterior: ...
@overload
def posterior_on(kernel: Any, domain: Any, ridge: float) -> Posterior | PointPosterior: ...


def posterior_on(kernel: Any, domain: Any, ridge: float) -> Posterior | PointPosterior:
    """The posterior whose memory fits: n x n up to 2000 arms, columns of the arms played beyond; on a box, points."""
    if not isinstance(domain, (Arms, np.ndarray, Sequence)):
        return PointPosterior(kernel, domain, ridge)
    form = ArmPosterior if len(domain) <= LARGEST_COVARIANCE else PoolPosterior
    return form(kernel, domain, ridge)
