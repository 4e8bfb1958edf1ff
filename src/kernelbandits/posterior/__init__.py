"""The estimate after t rewards: mean, sd and log-determinant over a finite set of arms.

    mean(x) = k_t(x)' (K_t + ridge I)^-1 y
    cov(x, z) = k(x, z) - k_t(x)' (K_t + ridge I)^-1 k_t(z),    sd(x)^2 = cov(x, x)
    log_det = log det(I + K_t / ridge)

Rewards are never centred. The working state moves by rank-one updates; counts and reward sums are the truth,
and a refactorisation from them audits the state at fixed event numbers.
"""

from __future__ import annotations

from typing import Any

from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.posterior.arms import ArmPosterior, State
from kernelbandits.posterior.base import Health, Posterior
from kernelbandits.posterior.columns import Columns
from kernelbandits.posterior.drifting import DriftingPosterior
from kernelbandits.posterior.linear import LinearPosterior
from kernelbandits.posterior.pool import PoolPosterior
from kernelbandits.posterior.proved import proved
from kernelbandits.posterior.refit import RefitPosterior
from kernelbandits.posterior.spectrum import Spectrum
from kernelbandits.posterior.truth import Factorisation, Tally

__all__ = [
    "LARGEST_COVARIANCE",
    "ArmPosterior",
    "Columns",
    "DriftingPosterior",
    "Factorisation",
    "Health",
    "LinearPosterior",
    "PoolPosterior",
    "Posterior",
    "RefitPosterior",
    "Spectrum",
    "State",
    "Tally",
    "posterior_on",
    "proved",
]

LARGEST_COVARIANCE = 2000
"""Up to this many arms the n x n covariance is held; beyond, only the rows of the arms played."""


def posterior_on(kernel: Any, arms: Arms | Array, ridge: float) -> Posterior:
    """The posterior whose memory fits: n x n up to 2000 arms, columns of the arms played beyond."""
    form = ArmPosterior if len(arms) <= LARGEST_COVARIANCE else PoolPosterior
    return form(kernel, arms, ridge)
