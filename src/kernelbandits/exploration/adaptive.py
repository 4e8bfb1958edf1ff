"""Exploration chances chosen from the data, with the regret bound of UCB up to a factor.

In each round Ber(p) plays what UCB would play with probability p, and the highest estimate
otherwise. If f lies in the band mean -+ width sd, either choice x loses at most

    loss(x) = max (mean + width sd) - (mean - width sd)(x),

and reveals information(x) = (1/2) ln(1 + sd(x)^2 / ridge). UCB's choice has

    loss^2 / information <= 8 width^2 ridge M / ln(1 + M),   M = sup k / ridge.

If the mixture of both choices keeps (p loss_u + (1 - p) loss_g)^2 / (p info_u + (1 - p) info_g)
within (1 + slack)^2 of this number in every round, its expected regret is at most 1 + slack times
the bound of UCB (docs/theory). Nothing is asked of the p_t beyond that, so they may follow the
data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from kernelbandits import checks
from kernelbandits.exploration.laws import Bernoulli, Law

FEWEST_ARMS = 3
"""The scale of f is estimated from the rewards of at least this many arms."""


class ArmChoice(NamedTuple):
    """An arm that may be played: what is known of it."""

    mean: float
    sd: float
    information: float

    @classmethod
    def of(cls, posterior: Any, arm: int) -> ArmChoice:
        sd = float(posterior.sd[arm])
        return cls(float(posterior.mean[arm]), sd, 0.5 * math.log1p(sd * sd / posterior.ridge))

    def loss(self, top: float, width: float) -> float:
        """Return how much it loses at most if no value exceeds `top`."""
        return top - self.mean + width * self.sd


class TwoChoices(NamedTuple):
    """UCB's choice with probability p, else the greedy one: loss and information of either."""

    loss: float
    greedy_loss: float
    information: float
    greedy_information: float

    @classmethod
    def of(cls, optimistic: ArmChoice, greedy: ArmChoice, top: float, width: float) -> TwoChoices:
        losses = optimistic.loss(top, width), greedy.loss(top, width)
        return cls(*losses, optimistic.information, greedy.information)

    def best_chance(self) -> float:
        """Return the p in [0, 1] that minimises loss(p)^2 / information(p), convex in p."""
        more, gain = self.loss - self.greedy_loss, self.information - self.greedy_information
        if not (more > 0 and gain > 0):
            return 0.0
        free = self.greedy_loss / more - 2 * self.greedy_information / gain
        return min(1.0, max(0.0, free))

    def least_chance(self, limit: float) -> float:
        """Return the smallest p with loss(p)^2 <= limit information(p), if p = 1 satisfies it."""
        more, gain = self.loss - self.greedy_loss, self.information - self.greedy_information
        constant = self.greedy_loss**2 - limit * self.greedy_information
        if constant <= 0:
            return 0.0
        slope = limit * gain - 2 * more * self.greedy_loss
        root = math.sqrt(max(0.0, slope**2 - 4 * more**2 * constant))
        return min(1.0, 2 * constant / (slope + root)) if slope + root > 0 else 1.0


def choices(posterior: Any, width: float) -> tuple[ArmChoice, ArmChoice]:
    """Return what UCB and what the greedy rule would play."""
    upper = posterior.mean + width * posterior.sd
    return (
        ArmChoice.of(posterior, int(upper.argmax())),
        ArmChoice.of(posterior, int(posterior.mean.argmax())),
    )


def largest_ratio(posterior: Any, width: float) -> float:
    """Return the largest loss^2 / information that a choice of UCB can have.

    8 width^2 ridge M / ln(1 + M)
    """
    most = float(posterior.prior.max()) / posterior.ridge
    return 8 * width**2 * float(posterior.prior.max()) / math.log1p(most)


@dataclass(frozen=True)
class InformationDirected:
    """Ber(p_t) with the p_t that minimises (loss)^2 / information between greedy and UCB.

    This is information-directed sampling (Kirschner & Krause 2018) restricted to the two choices.
    Its regret bound is that of UCB, for p = 1 is among the choices. The losses are those of the
    band, so that it explores nearly as much as UCB where the band is wide.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.Linear(), np.eye(2))
    >>> for arm, reward in 20 * [(0, 0.9), (1, 0.1)]:
    ...     posterior.update(arm, reward)
    >>> kb.InformationDirected()(41, posterior, 1.0).p
    0.01
    """

    spelling: ClassVar[str] = "information-directed"

    floor: float = 0.01
    """p_t never falls below this."""

    def __post_init__(self) -> None:
        checks.chance("InformationDirected", "floor", self.floor)

    @property
    def chance_range(self) -> tuple[float, float]:
        """The smallest and the largest p_t over all histories."""
        return self.floor, 1.0

    @property
    def bonuses_per_round(self) -> float:
        """Its bound is that of a rule that loses this many widths sd a round; UCB loses 2."""
        return 2.0

    def __call__(self, t: int, posterior: Any, width: float) -> Law:
        optimistic, greedy = choices(posterior, width)
        top = optimistic.mean + width * optimistic.sd
        p = TwoChoices.of(optimistic, greedy, top, width).best_chance()
        return Bernoulli(max(self.floor, p))


@dataclass(frozen=True)
class AdaptiveBernoulli:
    """Ber(p_t) with p_t from the data, and at most 1 + slack times the regret bound of UCB.

    The band is often far too wide. So p_t minimises loss^2 / information for an estimated band,
    mean -+ min(width, scale s) sd, where s is the standard deviation of the mean rewards of the
    arms played so far, relative to the prior. It is then raised, if need be, to the smallest p with
    which the true band keeps the bound.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> posterior = kb.posterior.ArmPosterior(kb.Linear(), np.eye(4))
    >>> for arm, reward in [(0, 0.9), (1, 0.1), (2, 0.2)]:
    ...     posterior.update(arm, reward)
    >>> [round(kb.AdaptiveBernoulli(slack)(4, posterior, 3.0).p, 3) for slack in (0, 1)]
    [0.432, 0.01]
    """

    spelling: ClassVar[str] = "adaptive-bernoulli"

    slack: float = 0.0
    """The regret bound is 1 + slack times that of UCB.

    0 keeps UCB's own bound. Where R is generous, 1 explores much less (docs/theory).
    """
    scale: float = 3.0
    """How many estimated standard deviations of f the estimated band has on either side."""
    floor: float = 0.01
    """p_t never falls below this."""

    def __post_init__(self) -> None:
        checks.nonnegative("AdaptiveBernoulli", "slack", self.slack)
        checks.nonnegative("AdaptiveBernoulli", "scale", self.scale)
        checks.chance("AdaptiveBernoulli", "floor", self.floor)

    @property
    def chance_range(self) -> tuple[float, float]:
        """The smallest and the largest p_t over all histories."""
        return self.floor, 1.0

    @property
    def bonuses_per_round(self) -> float:
        """Its bound is that of a rule that loses this many widths sd a round; UCB loses 2."""
        return 2.0 * (1 + self.slack)

    def __call__(self, t: int, posterior: Any, width: float) -> Law:
        optimistic, greedy = choices(posterior, width)
        top = optimistic.mean + width * optimistic.sd
        limit = (1 + self.slack) ** 2 * largest_ratio(posterior, width)
        least = TwoChoices.of(optimistic, greedy, top, width).least_chance(limit)
        estimated = min(width, self.scale * signal_scale(posterior))
        top = float((posterior.mean + estimated * posterior.sd).max())
        wanted = TwoChoices.of(optimistic, greedy, top, estimated).best_chance()
        return Bernoulli(max(self.floor, least, wanted))


def signal_scale(posterior: Any) -> float:
    """Return the size of f's variation relative to its prior.

    It is the standard deviation of the mean rewards of the arms played, and infinite while fewer
    than three arms were played.
    """
    played = posterior.counts.nonzero()[0]
    if len(played) < FEWEST_ARMS:
        return math.inf
    means = posterior.tally.sums[played] / posterior.counts[played]
    return float(means.std(ddof=1)) / math.sqrt(float(posterior.prior.max()))
