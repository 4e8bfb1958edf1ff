"""Close relatives of Generic-GP: one random weight in each round, from a law of their own."""

from __future__ import annotations

import math
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import DiscretisedGaussian, RootExponential
from kernelbandits.policies.about import RANDOMISED, About
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.widths import Width


class RandUCB(IndexPolicy):
    """Play mean + w_t width sd with a weight w_t from a discretised half of a Gaussian law.

    width = D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L). One weight serves all arms (the paper's
    coupled rule).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    points
        How many values the weight can take, equally spaced in [0, upper].
    scale
        The standard deviation of the Gaussian law.
    upper
        The greatest weight.
    top
        The probability of the greatest weight.
    """

    about = About(
        name="rand-ucb",
        title="RandUCB",
        family=RANDOMISED,
        paper="Vaswani, Mehrabian, Durand & Kveton, Old dog learns new tricks: randomized UCB for "
        "bandit problems, 2020",
        guarantee="regret O~(d sqrt(T)) for linear rewards; for a kernel that of Generic-GP, whose "
        "constants grow like 1 / top",
        ours="the kernel form, with Whitehouse's width; 20 points and scale 1/8 are the authors' "
        "code's, whose top is 9e-8",
    )

    is_generic = True

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        points: int = 20,
        scale: float = 1 / 8,
        upper: float = 1.0,
        top: float = 1e-7,
        ridge: float = 1.0,
        delta: float = 0.1,
        ties: str = "random",
    ) -> None:
        law = DiscretisedGaussian(points, scale, upper, top)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class IRGPUCB(IndexPolicy):
    """Play mean + sqrt(zeta_t) sd with a random zeta_t in each round.

    zeta_t = 2 ln(|X| / 2) + an exponential number of mean 2, on |X| arms; the first part is zero
    for one arm. The ridge is R^2, with R (`noise_scale`) the standard deviation of the noise.
    """

    about = About(
        name="irgp-ucb",
        title="IRGP-UCB",
        family=RANDOMISED,
        paper="Takeno, Inatsu & Karasuyama, Randomized Gaussian process upper confidence bound with"
        " tighter Bayesian regret bounds, 2023",
        guarantee="expected regret O(sqrt(T gamma_T ln|X|)) for f ~ GP(0, k) and Gaussian noise of "
        "variance R^2",
        ours="shift zero where 2 ln(|X|/2) is negative (one arm)",
    )

    plays_boxes = False

    def __init__(
        self, domain: Any, kernel: Any, *, noise_scale: float, ties: str = "random"
    ) -> None:
        checks.positive("IRGPUCB", "noise_scale", noise_scale)
        ridge = checks.scale("IRGPUCB", "noise_scale", noise_scale) ** 2
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._check_kernel()
        law = RootExponential(shift=max(0.0, 2 * math.log(len(self.domain) / 2)), mean=2.0)
        self._set_rule(
            Width("1", lambda t: (1.0, 0.0, 0.0)), law, noise_scale=noise_scale, gain="none"
        )
