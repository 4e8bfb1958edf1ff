"""Rules for heavy-tailed rewards: rewards, or what they contribute, are truncated to zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import HEAVY_TAILS, About
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import TruncatedPosterior
from kernelbandits.widths import EqualTerms, Width


class TGPUCB(IndexPolicy[Point]):
    """Play IGP-UCB, with very large rewards learnt as zero.

    index_t(x) = mean(x) + beta_t sd(x) at ridge 1 + 2/T, for rewards with E|Y|^(1 + a) <= v, with

    beta_t = D + 3 b_{t-1} sqrt(gamma_{t-1} + 1 + ln(1/delta)),

    b_n = v^(1 / (1 + a)) n^(1 / (2 (1 + a))).

    The n-th reward is learnt as 0 where |y| > b_n.

    Parameters
    ----------
    excess
        a in (0, 1]: moments of order 1 + a are finite. 1 stands for a finite variance.
    moment_bound
        v; by default (D^2 + R^2)^((1 + a) / 2), which holds for |f| <= D (`norm_bound`) and noise
        of variance at most R^2 (`noise_scale`).
    gain
        What stands for gamma_{t-1}, as for `IGPUCB`.
    domain, kernel, horizon, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> settings = {"noise_scale": 1.0, "norm_bound": 1.0, "horizon": 100}
    >>> policy = kb.policies.TGPUCB(kb.Arms([[0.0], [1.0]]), kb.RBF(0.2), **settings)
    >>> policy.tell(policy.choice(0), 0.9)
    >>> policy.tell(policy.choice(1), 1000.0)
    >>> policy.posterior.mean.round(2)
    array([0.45, 0.  ])
    """

    about = About(
        name="tgp-ucb",
        title="TGP-UCB",
        family=HEAVY_TAILS,
        paper="Ray Chowdhury & Gopalan, Bayesian optimization under heavy-tailed payoffs, 2019",
        guarantee="regret O~(gamma_T T^((2 + a) / (2 (1 + a)))) with probability 1 - delta, if "
        "E|Y|^(1 + a) <= v",
        ours="the constant 3 is re-derived; moment_bound v = (D^2 + R^2)^((1 + a) / 2) unless "
        "given, R the noise's standard deviation; gain: realised L/2 by default",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        excess: float = 1.0,
        moment_bound: float | None = None,
        gain: str | Callable[[int], float] = "realised",
        ties: str = "random",
    ) -> None:
        ridge = 1 + 2 / checks.whole("TGPUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        in_range = checks.is_number(excess) and 0 < excess <= 1
        checks.needs(in_range, "TGPUCB", "excess in (0, 1]", excess)
        bound = moment_bound
        if bound is None:
            bound = second_moment(noise_scale, norm_bound, excess)
        moment = checks.positive("TGPUCB", "moment_bound", bound)
        self.level = widths.truncation_level(moment, excess)
        checks.scale("TGPUCB", "moment_bound^(1 / (1 + excess))", self.level(1))
        # The posterior has not learnt the rewards as they came, so nobody may rebuild them from it.
        self.posterior.complete = False
        term, name = self._gain(gain)
        width = widths.truncated_rewards(self.level, norm_bound, chance, term)
        self._set_rule(width, PointMass(1.0), excess=excess, moment_bound=bound, gain=name)

    def _learn(self, arm: Any, reward: float, note: Mapping[str, float]) -> None:
        beyond = abs(reward) > self.level(self.posterior.events + 1)
        self.posterior.update(arm, 0.0 if beyond else reward)


class ATAGPUCB(IndexPolicy):
    """Play an upper confidence bound of a posterior that leaves out very large contributions.

    The posterior lies in the span of m of the arms played and truncates what a reward contributes
    to each coordinate at b_t (`kb.posterior.TruncatedPosterior`). With a of `excess`, v of
    `moment_bound` and t rewards so far,

    b_t = (v / ln((m + 1) T))^(1 / (1 + a)) t^((1 - a) / (2 (1 + a))),

    width = D + sqrt(m / ridge) b_t ln((m + 1) T).

    Parameters
    ----------
    excess
        a in (0, 1]: moments of order 1 + a are finite. 1 stands for a finite variance.
    moment_bound
        v >= E|Y|^(1 + a); by default (D^2 + R^2)^((1 + a) / 2), as for `TGPUCB`.
    accuracy
        An arm that was played is in the dictionary with probability
        min(1, ln(T) sd^2 / (accuracy^2 ridge)).
    seed
        From which the dictionaries are drawn.
    domain, kernel, noise_scale, norm_bound, horizon, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 40}
    >>> policy = kb.policies.ATAGPUCB(arms, kb.RBF(0.3), **settings)
    >>> for t in range(1, 41):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]) + 100 * (t == 5))
    >>> policy.recommend()
    2
    """

    about = About(
        name="ata-gp-ucb",
        title="ATA-GP-UCB",
        family=HEAVY_TAILS,
        paper="Ray Chowdhury & Gopalan, Bayesian optimization under heavy-tailed payoffs, 2019",
        guarantee="regret O~(gamma_T T^(1 / (1 + a))) with the constants of the paper's theorem; "
        "none with those of its experiments, which are played",
        ours="the rule of the authors' code (with Nystrom features), whose level and width have no "
        "delta; the dictionary is drawn from `seed`; moment_bound unless given",
    )
    plays_boxes = False
    imagines_pending = False
    posterior: TruncatedPosterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        excess: float = 1.0,
        moment_bound: float | None = None,
        accuracy: float = 0.1,
        seed: int = 0,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("ATAGPUCB", "horizon", horizon)
        fineness = checks.positive("ATAGPUCB", "accuracy", accuracy)
        in_range = checks.is_number(excess) and 0 < excess <= 1
        checks.needs(in_range, "ATAGPUCB", "excess in (0, 1]", excess)
        for name, value in (("noise_scale", noise_scale), ("norm_bound", norm_bound)):
            checks.scale("ATAGPUCB", name, value)
        bound = moment_bound
        if bound is None:
            bound = second_moment(noise_scale, norm_bound, excess)
        self.moment = checks.positive("ATAGPUCB", "moment_bound", bound)
        self.excess, self._rounds = float(excess), rounds
        # With T = 1 nothing would be drawn: ln(T) is taken as that of two rounds.
        budget = math.log(max(rounds, 2)) / fineness**2
        form: Any = partial(TruncatedPosterior, level=self.level, budget=budget, seed=seed)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon, form=form)
        self._check_theory(noise_scale, norm_bound)
        rule = "D + sqrt(m/ridge) b_t ln((m+1) T)"
        given = {"noise_scale": noise_scale, "norm_bound": norm_bound, "gain": "none"}
        given |= {"excess": excess, "moment_bound": bound, "accuracy": accuracy, "seed": seed}
        width = Width(rule, EqualTerms((float(norm_bound), 0.0, 0.0)))
        self._set_rule(width, PointMass(1.0), **given)

    def level(self, rewards: int, size: int) -> float:
        """Return b_t of so many rewards and a dictionary of so many arms."""
        order = 1 + self.excess
        growth = rewards ** ((1 - self.excess) / (2 * order))
        return float(growth * (self.moment / self._log(size)) ** (1 / order))

    def width_at(self, t: int) -> float:
        """Return the width with the dictionary of the last reward."""
        size, rewards = len(self.posterior.dictionary), self.posterior.events
        noise = math.sqrt(size / self.posterior.ridge) * self.level(rewards, size)
        return self.width(t, 0.0) + noise * self._log(size)

    def _log(self, size: int) -> float:
        return math.log((size + 1) * max(self._rounds, 2))


def second_moment(noise_scale: float, norm_bound: float, excess: float) -> float:
    """Return a bound on E|Y|^(1 + a).

    E|Y|^(1 + a) <= (E Y^2)^((1 + a) / 2) <= (D^2 + R^2)^((1 + a) / 2).
    """
    return float((norm_bound**2 + noise_scale**2) ** ((1 + excess) / 2))
