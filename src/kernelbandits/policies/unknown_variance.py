"""Unknown variance: the rule learns bounds on the noise and moves its ridge with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import TIGHTER, About
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import RefitPosterior

LEAST_RIDGE = 1e-300
"""Below it the inverse is no number."""
SHARES = 4
"""The bounds on the noise hold with probability 1 - 3 delta', all with 1 - 4 delta'."""


class StreamingUCB(IndexPolicy):
    """Play the highest upper confidence bound, with the noise learnt from the residuals.

    Bounds s_- <= sigma <= s_+ on the standard deviation of the noise follow the residuals, and

    index_t(x) = mean(x) + D (1 + sqrt(2 ln(1/delta') + L_-)) sd(x) at ridge s_+^2 / D^2,

    L_- = log det(I + K D^2 / s_-^2). It is the index for a known noise s_+ (where
    s_+ / sqrt(ridge) = D) with the log-determinant of s_-.

    Parameters
    ----------
    noise_scale
        An upper bound on the standard deviation of the noise, where s_+ starts.
    least_noise
        A lower bound, where s_- starts; by default noise_scale / 100.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [1.0]])
    >>> policy = kb.policies.StreamingUCB(arms, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0)
    >>> for t in range(1, 51):
    ...     policy.tell(policy.choice(t % 2), 0.5 * (-1) ** (t // 2))
    >>> [round(sd, 3) for sd in policy.noise_bounds]
    [0.261, 1.0]
    """

    about = About(
        name="streaming-ucb",
        title="Streaming kernel UCB (Durand)",
        family=TIGHTER,
        paper="Durand, Maillard & Pineau, Streaming kernel regression with provably adaptive mean, "
        "variance, and regularization, 2018",
        guarantee="noise bounds and f's band hold in all rounds with probability 1 - delta, for "
        "Gaussian noise of unknown variance",
        ours="delta / 4 for each of four statements (the original's split may differ); least_noise"
        " = noise_scale / 100; k(x, x) for the variances in e; with least_noise = noise_scale"
        " the variance is known and delta is not split",
    )

    plays_boxes = False

    posterior: RefitPosterior
    noise_bounds: tuple[float, float]
    """(s_-, s_+)"""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        least_noise: float | None = None,
        delta: float = 0.1,
        ties: str = "random",
    ) -> None:
        for name, value in (("noise_scale", noise_scale), ("norm_bound", norm_bound)):
            checks.positive("StreamingUCB", name, checks.scale("StreamingUCB", name, value))
        least = (
            noise_scale / 100
            if least_noise is None
            else checks.number("StreamingUCB", "least_noise", least_noise)
        )
        bounds = f"0 < least_noise <= noise_scale {noise_scale}"
        sound = 0 < least <= noise_scale and ridge_of(least, norm_bound) >= LEAST_RIDGE
        checks.needs(sound, "StreamingUCB", bounds, least)
        super().__init__(
            domain, kernel, ridge=ridge_of(noise_scale, norm_bound), ties=ties, form=RefitPosterior
        )
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self.norm_bound, self.noise_bounds = float(norm_bound), (float(least), float(noise_scale))
        self.delta = chance / (1 if least == noise_scale else SHARES)
        self.least_log_det = self._scatter = 0.0
        self._centres = np.zeros(len(self.domain))
        width = widths.unknown_variance(norm_bound, self.delta)
        self._set_rule(width, PointMass(1.0), least_noise=least, gain="realised")

    def width_at(self, t: int) -> float:
        """Return D (1 + sqrt(2 ln(1/delta') + L_-))."""
        return self.width(t, self.least_log_det)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        """Learn a reward, and follow the noise.

        Residuals at the ridge so far give s_-, then L_-, then s_+; the ridge follows s_+.
        """
        super()._learn(arm, reward, note)
        self._centre(arm, reward)
        (least, most), spread = self.noise_bounds, self.residual_spread
        lower = max(least, min(most, self._lower(spread))) if least < most else least
        self.least_log_det = self.posterior.log_det_of(
            self.posterior.weights, ridge_of(lower, self.norm_bound)
        )
        upper = min(most, max(lower, self._upper(spread))) if least < most else most
        self.noise_bounds = (lower, upper)
        if upper < most:
            self.posterior.refit(ridge_of(upper, self.norm_bound))

    def _lower(self, spread: float) -> float:
        """Return (spread - D sqrt(ridge e / t)) / (1 + sqrt(2 c_t / t))."""
        t, ridge = self.posterior.events, self.posterior.ridge
        bias = self.norm_bound * math.sqrt(ridge * self.leverage / t)
        lower = (spread - bias) / (1 + math.sqrt(2 * deviation_at(t, self.delta) / t))
        if lower > self.noise_bounds[1]:
            self._warn_once("the rewards vary more than noise_scale and norm_bound allow", "noise")
        return lower

    def _upper(self, spread: float) -> float:
        """Return the s with a s = spread + 2 sqrt(b s).

        That is (sqrt(b) + sqrt(b + a spread))^2 / a^2.

        a is `slope_at`, b = D sqrt(ridge d_t) / (2 t), d_t = 2 ln(1/delta') + L_-.
        """
        t, price = self.posterior.events, 2 * math.log(1 / self.delta) + self.least_log_det
        slope = slope_at(t, deviation_at(t, self.delta), price)
        if slope <= 0:
            return math.inf
        bias = self.norm_bound * math.sqrt(self.posterior.ridge * price) / (2 * t)
        upper = ((math.sqrt(bias) + math.sqrt(bias + slope * spread)) / slope) ** 2
        if upper < self.noise_bounds[0]:
            self._warn_once("the rewards vary less than least_noise allows", "noise")
        return upper

    def _centre(self, arm: int, reward: float) -> None:
        """Update the mean reward of the arm, and the sum of squares about the means of all arms.

        The update is Welford's, which does not subtract large squares.
        """
        before = float(self._centres[arm])
        after = before + (reward - before) / int(self.posterior.counts[arm])
        self._centres[arm] = after
        self._scatter += (reward - before) * (reward - after)

    @property
    def residual_spread(self) -> float:
        """sqrt(mean of (y_s - mean(x_s))^2) over the rewards the mean was fitted to."""
        between = float(self.posterior.counts @ (self._centres - self.posterior.mean) ** 2)
        return math.sqrt((self._scatter + between) / self.posterior.events)

    @property
    def leverage(self) -> float:
        """e = 1 - 1 / max_s (1 + var_{s-1}(x_s) / ridge), with k(x, x) for the variance.

        It is exact where k(x, x) is constant, since the first variance is the largest.
        """
        largest = float(self.posterior.prior[self.posterior.support].max())
        return largest / (largest + self.posterior.ridge)


def ridge_of(noise: float, norm_bound: float) -> float:
    """Return (s / D)^2."""
    ratio = noise / norm_bound
    return ratio * ratio


def deviation_at(t: int, delta: float) -> float:
    """Return c_t = ln(e/delta) (1 + ln(pi^2 ln(t) / 6) / ln(1/delta)).

    It is infinite before t = 3, so that the bounds on the noise stay where they start.
    """
    if t < 3:
        return math.inf
    return math.log(math.e / delta) * (
        1 + math.log(math.pi**2 * math.log(t) / 6) / math.log(1 / delta)
    )


def slope_at(t: int, deviation: float, price: float) -> float:
    """Return a = 1 - sqrt(c_t / t) - sqrt((c_t + 2 d_t) / t)."""
    return 1 - math.sqrt(deviation / t) - math.sqrt((deviation + 2 * price) / t)
