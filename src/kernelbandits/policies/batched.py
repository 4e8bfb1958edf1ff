"""GP-BUCB: rewards come back in batches, and the uncertainty follows every choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import LARGE, About
from kernelbandits.policies.acquisition import UpperConfidence
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round


class GPBUCB(IndexPolicy):
    """Play batches: the mean knows the rewards of whole batches, the sd every choice so far.

    index_t(x) = mean_b(x) + exp(I) sqrt(beta_b) sd(x) at ridge R^2, with mean_b from the rewards of
    the batches that are complete, sd from all choices, beta_b = 2 ln(|X| b^2 pi^2 / (6 delta)) for
    the first round b of the batch, and I the information of the choices since then.

    Rewards are told as they come, and are used for choices when their batch is complete.
    `batch=1` is `GPUCB`. With pending choices every index policy plays by this rule.

    Parameters
    ----------
    noise_scale
        R, the standard deviation of the noise.
    batch
        How many choices a batch has.
    beta_scale
        A factor before beta_b; below 1 it explores less.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.GPBUCB(arms, kb.RBF(0.3), noise_scale=0.1, batch=4)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="gp-bucb",
        title="GP-BUCB",
        family=LARGE,
        paper="Desautels, Krause & Burdick, Parallelizing exploration-exploitation tradeoffs in "
        "Gaussian process bandit optimization, 2014",
        guarantee="with probability 1 - delta regret at most that of GP-UCB times the largest "
        "exp(I), for f ~ GP(0, k)",
        ours="the realised information I of the choices, not a bound C on it, so that the width is "
        "smaller; no initial round of uncertainty sampling; batch 10 unless given",
    )

    plays_boxes = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        batch: int = 10,
        delta: float = 0.1,
        beta_scale: float = 1.0,
        ties: str = "random",
    ) -> None:
        checks.positive("GPBUCB", "noise_scale", noise_scale)
        ridge = checks.scale("GPBUCB", "noise_scale", noise_scale) ** 2
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._check_kernel()
        self.batch_size = checks.whole("GPBUCB", "batch", batch)
        confidence = checks.inside("GPBUCB", "delta", delta)
        scale = checks.positive("GPBUCB", "beta_scale", beta_scale)
        self._begin_batch()
        width = widths.srinivas_finite(len(self.domain), confidence, scale)
        stated = {"noise_scale": noise_scale, "delta": delta, "beta_scale": beta_scale}
        self._set_rule(width, PointMass(1.0), batch=batch, gain="realised", **stated)

    def _begin_batch(self) -> None:
        """Take all rewards so far as known from now on."""
        self.known_mean: Array = self.posterior.mean.copy()
        self.known_log_det = self.posterior.log_det
        self.known_rewards = self.posterior.events

    def width_at(self, t: int) -> float:
        """Return exp(I) sqrt(beta_b)."""
        information = (self.posterior.log_det - self.known_log_det) / 2
        return math.exp(information) * self.width(self.known_rewards + 1, 0.0)

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """Return mean_b + weight width sd over all arms."""
        self._check_round(t)
        checks.needs(points is None, "index", f"no points on {self.domain}", points)
        acquisition = UpperConfidence(checks.number("index", "weight", weight), self.width_at(t))
        return acquisition.score_mixture(self.known_mean, self.posterior.sd)

    def choose(self, now: Round) -> Choice:
        acquisition = self.acquisition(now)
        scores = acquisition.score_mixture(self.known_mean, now.sd)
        arm = now.best_arm(scores, self.known_mean, now.draw_tie(), acquisition.worth)
        note = acquisition.note(scores.item(arm), self.known_mean.item(arm), self.units)
        return self._choice_of_arm(arm, now.sd, now, note)

    def _note_arm(self, arm: int, sd: Array) -> dict[str, float]:
        return {"mean": float(self.known_mean[arm]), "sd": float(np.float64(sd[arm]))}

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        if self.posterior.events - self.known_rewards >= self.batch_size:
            self._begin_batch()
