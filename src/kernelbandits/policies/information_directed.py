"""Information-directed sampling: the best ratio of what is lost to what is learnt."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration.adaptive import TwoChoices
from kernelbandits.policies.about import CONFIDENCE, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.place import ArmList
from kernelbandits.policies.round import Round


class SamplingPair(NamedTuple):
    """Two arms, and the probability of the second."""

    first: int
    second: int
    chance: float
    ratio: float
    """(expected loss)^2 / (expected information) of the pair."""


class InformationDirectedSampling(Policy[Array]):
    """Draw an arm from the law that minimises (expected loss)^2 / (expected information).

    With the band mean -+ width sd, width = D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L),

    loss(x) = max (mean + width sd) - (mean - width sd)(x),   information(x) = ln(1 + sd^2/ridge)/2.

    A law on two arms attains the minimum. It is found exactly, at the convex hull of the points
    (information, loss). `deterministic=True` takes the best single arm.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    deterministic
        Whether to play the arm with the smallest loss^2 / information.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> policy = kb.policies.InformationDirectedSampling(arms, kb.RBF(0.3), **settings)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="ids",
        title="IDS",
        family=CONFIDENCE,
        paper="Kirschner & Krause, Information directed sampling and bandits with heteroscedastic "
        "noise, 2018",
        guarantee="regret O~(gamma_T sqrt(T)) with probability 1 - delta, because the ratio is "
        "never above that of UCB",
        ours="noise that is alike everywhere; the width; the exact minimiser over all laws",
    )
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        deterministic: bool = False,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self.width = widths.self_normalised(noise_scale, norm_bound, ridge, chance)
        known = isinstance(deterministic, bool)
        checks.needs(known, type(self).__name__, "deterministic True or False", deterministic)
        self.deterministic = deterministic
        self.settings |= {"width": self.width.rule, "deterministic": deterministic}
        self.settings |= {"exploration": "the least loss^2 / information", "gain": "realised"}

    def choose(self, now: Round) -> Choice:
        mean, sd = self.posterior.mean, now.sd
        numbers = now.place.numbers if isinstance(now.place, ArmList) else None
        allowed = np.arange(len(mean)) if numbers is None else numbers
        width = self.width(now.t, self.posterior.log_det) * now.inflation
        losses, gains = self.losses_and_gains(mean[allowed], sd[allowed], width)
        place, note = self._pick(losses, gains, now)
        arm = int(allowed[place])
        return self._choice_of_arm(arm, sd, now, note | {"width": width})

    def losses_and_gains(self, mean: Array, sd: Array, width: float) -> tuple[Array, Array]:
        """Return what each arm may lose by the band, and the information of its reward."""
        spread = width * sd
        losses = (mean + spread).max() - mean + spread
        return losses, 0.5 * np.log1p(sd * sd / self.posterior.ridge)

    def _pick(self, losses: Array, gains: Array, now: Round) -> tuple[int, dict[str, float]]:
        """Return the place of the arm to play, and what the note says of it."""
        u, tie = now.draw_weight(), now.draw_tie()
        if self.deterministic or not gains.max() > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(gains > 0, losses**2 / gains, np.inf)
            # Where no reward tells anything, the least loss is the highest estimate.
            scores = -ratios if np.isfinite(ratios).any() else -losses
            place = argmax(scores, self.ties, tie)
            return place, {"ratio": float(ratios[place])} if gains[place] > 0 else {}
        pair = best_pair(losses, gains)
        place = pair.second if u >= 1 - pair.chance else pair.first
        # Arms that cannot be told apart share the probability.
        alike = (losses == losses[place]) & (gains == gains[place])
        place = argmax(np.where(alike, 0.0, -np.inf), self.ties, tie)
        return place, {"ratio": pair.ratio, "chance": pair.chance}


def best_pair(losses: Array, gains: Array) -> SamplingPair:
    """Return the law on two arms that minimises (expected loss)^2 / (expected information).

    Over all laws the pairs (expected information, expected loss) fill the convex hull of the
    points of the arms. The ratio falls with the information and rises with the loss, and it is
    convex. So its minimum lies on the lower edge of the hull, which is followed from the least loss
    towards more information, from corner to corner, as long as the ratio falls.
    """
    first = int(np.lexsort((-gains, losses))[0])
    while True:
        ahead = gains > gains[first]
        if not ahead.any():
            return pair_of(first, first, losses, gains)
        slopes = np.full(len(gains), math.inf)
        slopes[ahead] = (losses[ahead] - losses[first]) / (gains[ahead] - gains[first])
        second = int(slopes.argmin())
        pair = pair_of(first, second, losses, gains)
        if pair.chance < 1:
            return pair
        first = second


def pair_of(first: int, second: int, losses: Array, gains: Array) -> SamplingPair:
    """Return two arms with the probability of the second that minimises their ratio."""
    both = TwoChoices(losses[second], losses[first], gains[second], gains[first])
    chance = float(both.best_chance())
    loss = losses[first] + chance * (losses[second] - losses[first])
    gain = gains[first] + chance * (gains[second] - gains[first])
    return SamplingPair(first, second, chance, float(loss**2 / gain) if gain > 0 else math.inf)
