"""Exponential weights: rewards fade, so that a drifting function is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import widths
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import CHANGING, About
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import RefitPosterior

UCB = PointMass(1.0)


class WGPUCB(IndexPolicy):
    """Play the highest upper confidence bound, with older rewards weighted down exponentially.

    index_t(x) = mean(x) + (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + Lbar)) sd(x), with the reward
    of round s weighted eta^(t-s) and

    Lbar = log det(I + W^2 K W^2 / ridge), W^2 = diag(eta^(t-s)).

    The weights are squared in Lbar because they multiply the noise twice.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of every f_t in the space of the kernel.
    forgetting
        eta in (0, 1]; 1 forgets nothing.
    exploration
        The law of a weight w_t of the width, or a schedule of laws, as for `GenericGP`. By default
        w = 1, the rule of the paper; for other laws nothing is proved.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "forgetting": 0.5}
    >>> policy = kb.policies.WGPUCB(arms, kb.RBF(0.2), **settings)
    >>> policy.tell(policy.choice(0), 1.0)
    >>> for _ in range(5):
    ...     policy.tell(policy.choice(2), 0.0)
    >>> policy.posterior.mean.round(2)
    array([0.03, 0.  , 0.  ])
    """

    about = About(
        name="wgp-ucb",
        title="WGP-UCB",
        family=CHANGING,
        paper="Deng, Zhou, Kim, Tewari, Gupta & Shroff, Weighted Gaussian process bandits for non-"
        "stationary environments, 2022",
        guarantee="sublinear dynamic regret at a forgetting tuned to the drift; a still f is in "
        "the band of a round (1 - delta)",
        ours="forgetting 0.99 by default (the original tunes it to drift and horizon); the width's"
        " constants, derived here; exploration laws other than w = 1",
    )

    plays_boxes = False
    imagines_pending = False

    posterior: RefitPosterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        forgetting: float = 0.99,
        exploration: Any = UCB,
        ties: str = "random",
    ) -> None:
        def form(kernel: Any, arms: Any, ridge: float) -> RefitPosterior:
            return RefitPosterior(kernel, arms, ridge, forgetting)

        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=form)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self.double_weights = np.zeros(len(self.domain))
        self.double_log_det = 0.0
        width = replace(
            widths.self_normalised(noise_scale, norm_bound, ridge, chance),
            rule="D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + Lbar)",
        )
        self._set_rule(width, exploration, forgetting=forgetting, gain="realised")

    def width_at(self, t: int) -> float:
        """Return a + sqrt(b + c Lbar)."""
        return self.width(t, self.double_log_det)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        """Record a reward, and update the double weights: c2 <- eta^2 c2, then c2_i += 1."""
        self.posterior.record(arm, reward)
        self.double_weights *= self.posterior.forgetting**2
        self.double_weights[arm] += 1

    def _settle(self) -> None:
        """Fit the posterior once after many rewards: it depends on weights and sums alone."""
        if self.posterior.events:
            self.posterior.fit()
            self.double_log_det = self.posterior.log_det_of(
                self.double_weights, self.posterior.ridge
            )
