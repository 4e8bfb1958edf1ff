"""The regret of an upper-confidence rule without noise: it hardly grows with the horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import as_arms
from kernelbandits.kernels import as_kernel
from kernelbandits.theory.information import growth

RIDGES = 10
"""How many ridges are tried."""
NUMBERS = 12
"""For about how many numbers of points the gain is computed; between two of them the bound of the
smaller one is used."""


@dataclass(frozen=True)
class NoiseFreeBound:
    """An upper bound of the regret after T rounds of the rule mean + D sd, without noise.

    `noise_free_bound` returns it.

    >>> import kernelbandits as kb
    >>> bound = kb.theory.noise_free_bound(kb.RBF(0.2), [[0.0], [1.0]], 5, norm_bound=1.0)
    >>> round(bound.value, 2), bound.trivial, bound.largest_sds.round(2)
    (4.0, 10.0, array([1., 1., 0., 0., 0.]))
    """

    regret: float
    """2 D sum s_N over N = 1..T."""
    trivial: float
    """2 D T sqrt(sup k): the largest regret that is possible at all."""
    largest_sds: Array
    """s_N: the N-th largest of the sds at which the rule plays is at most so large."""

    @property
    def value(self) -> float:
        """The smaller of both bounds."""
        return min(self.regret, self.trivial)


def noise_free_bound(
    kernel: Any, domain: Any, horizon: int, *, norm_bound: float, ridge: float = 1e-8
) -> NoiseFreeBound:
    """Return an upper bound of the regret of mean + D sd where rewards have no noise.

    R(T) <= 2 D sum over N <= T of s_N,   s_N^2 = min over lambda >= ridge of
    lambda (exp(2 gamma_N(lambda) / N) - 1),

    and s_N^2 is at most sup k, and at most the ridge for N beyond the number of arms. It holds
    always, not with some probability, for |f| <= D and the posterior at this ridge.

    Parameters
    ----------
    kernel
        A kernel, or a function k(x, z).
    domain
        Arms, or an (n, d) array.
    horizon
        Number of rounds T.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    ridge
        That of the policy, for instance `kb.WhitehouseUCB(..., noise_scale=0, ridge=1e-8)`.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> from kernelbandits.theory import noise_free_bound
    >>> arms = np.linspace(0, 1, 12)[:, None]
    >>> noise_free = [noise_free_bound(kb.RBF(0.2), arms, T, norm_bound=1.0) for T in (100, 1000)]
    >>> [round(bound.value, 1) for bound in noise_free]
    [17.0, 17.1]
    """
    owner = "noise_free_bound"
    rounds = checks.whole(owner, "horizon", horizon)
    norm = checks.nonnegative(owner, "norm_bound", norm_bound)
    least = checks.positive(owner, "ridge", ridge)
    arms, trusted = as_arms(domain), as_kernel(kernel)
    largest = float(trusted.diagonal(arms.points).max())
    distinct = min(rounds, len(arms))
    numbers = np.unique(np.geomspace(1, distinct, min(NUMBERS, distinct)).astype(int))
    squares = np.full(len(numbers), largest)
    for one in np.geomspace(least, max(least, largest), RIDGES).tolist():
        gains = growth(trusted, arms, tuple(numbers.tolist()), one)
        exponents = 2 * np.array([gain.upper for gain in gains]) / numbers
        # Beyond the exponent 700 there is no float, and the bound says nothing.
        squares = np.minimum(squares, one * np.expm1(np.minimum(exponents, 700.0)))
    # The N-th largest sd is no larger than that of a smaller number.
    steps = np.minimum.accumulate(squares)
    places = np.searchsorted(numbers, np.arange(1, distinct + 1), side="right") - 1
    sds = np.full(rounds, math.sqrt(min(least, float(steps[-1]))))
    sds[:distinct] = np.sqrt(steps[places])
    return NoiseFreeBound(
        regret=2 * norm * float(sds.sum()),
        trivial=2 * norm * rounds * math.sqrt(largest),
        largest_sds=sds,
    )
