"""Rules for independent arms, which learn nothing about an arm from the rewards of the others.

They show how much a kernel helps. What they play depends on the count and the reward sum of each
arm; the kernel serves only the posterior, which says what to recommend.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.policies.about import INDEPENDENT, About
from kernelbandits.policies.base import IF_ZERO, Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.round import Round


class IndependentArms(Policy[Array]):
    """Counts n_i and reward sums S_i of R-sub-Gaussian arms."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        ridge: float = 1.0,
        ties: str = "random",
        horizon: int | None = None,
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        self.noise_scale = checks.scale(type(self).__name__, "noise_scale", noise_scale)
        if self.noise_scale == 0:
            self._warn_once(IF_ZERO["noise_scale"])
        self.settings |= {
            "noise_scale": noise_scale,
            "kernel": "for the recommendation only",
            "gain": "none",
        }


class UCB1(IndependentArms):
    """Play every arm once, then the arm with the highest upper confidence bound of its own rewards.

    index(i) = ybar_i + R sqrt(8 ln(n) / n_i), with n rewards so far, n_i of them of arm i. With
    R = 1/2 (`noise_scale`), for rewards in [0, 1], it is the original sqrt(2 ln(n) / n_i).

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.UCB1(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), noise_scale=0.5)
    >>> for t in range(1, 7):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.arm == 2))
    >>> policy.posterior.counts
    array([1, 1, 4])
    """

    about = About(
        name="ucb1",
        title="UCB1",
        family=INDEPENDENT,
        paper="Auer, Cesa-Bianchi & Fischer, Finite-time analysis of the multiarmed bandit problem,"
        " 2002",
        guarantee="expected regret O(sum_i ln(T) / gap_i), for rewards in [0, 1]",
        ours="R sqrt(8 ln(n) / n_i) for R-sub-Gaussian noise, the original's at R = 1/2; the "
        "kernel serves the recommendation only",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, noise_scale=noise_scale, ridge=ridge, ties=ties)
        self.settings |= {
            "width": "R sqrt(8 ln(n) / n_i)",
            "exploration": "upper confidence, arm by arm",
        }

    def score_arms(self, t: int) -> Array:
        """Return the upper confidence bounds.

        While some arms are unplayed, they score 0 and the others minus infinity.
        """
        counts, n = self.posterior.counts, self.posterior.events
        if not counts.all():
            return np.where(counts == 0, 0.0, -math.inf)
        radius = self.noise_scale * np.sqrt(8 * math.log(n) / counts)
        return np.asarray(self.posterior.tally.sums / counts + radius)


class GaussianTS(IndependentArms):
    """Draw a value for each arm from its own posterior, and play the arm with the greatest draw.

    theta_i ~ N(S_i / (n_i + 1), R^2 / (n_i + 1)), with S_i the sum of the n_i rewards of arm i.
    R = 1 (`noise_scale`) is the original, for rewards in [0, 1].

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.GaussianTS(kb.Arms([[0.0], [1.0]]), kb.RBF(0.3), noise_scale=1.0)
    >>> for _ in range(3):
    ...     policy.tell(policy.choice(1), 0.8)
    >>> policy.estimates()[0].round(2)
    array([0. , 0.6])
    >>> [policy.ask(t, kb.Streams(0)).arm for t in range(4, 10)]
    [0, 1, 1, 1, 1, 1]
    """

    about = About(
        name="gaussian-ts",
        title="Gaussian TS",
        family=INDEPENDENT,
        paper="Agrawal & Goyal, Further optimal regret bounds for Thompson sampling, 2013",
        guarantee="expected regret O(sqrt(n T ln n)) on n arms, for rewards in [0, 1]",
        ours="the variance R^2 / (n_i + 1), the original's at R = 1: R must cover the size of the "
        "rewards too; the kernel serves the recommendation only",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, noise_scale=noise_scale, ridge=ridge, ties=ties)
        self.settings |= {
            "width": "R / sqrt(n_i + 1)",
            "exploration": "an independent draw for each arm",
        }

    def sample(self, z: Array) -> Array:
        """Return theta over all arms, from n standard normals."""
        held = self.posterior.counts + 1
        return np.asarray(self.posterior.tally.sums / held + self.noise_scale * z / np.sqrt(held))

    def choose(self, now: Round) -> Choice:
        tie, normals = now.draw_tie(), now.draw_normals(len(self.domain))
        sample = self.sample(normals)
        arm = now.best_arm(sample, self.posterior.mean, tie)
        return self._choice_of_arm(arm, now.sd, now, {"sample": float(sample[arm])})


class MaillardSampling(IndependentArms):
    """Play every arm once, then arm i with a probability in closed form.

    P(i) is proportional to exp(-n_i (max ybar - ybar_i)^2 / (2 R^2)), with n_i the number and
    ybar_i the mean of the rewards of arm i, and R (`noise_scale`) their noise.

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.MaillardSampling(arms, kb.RBF(0.3), noise_scale=0.5)
    >>> for arm, reward in enumerate((0.2, 0.5, 0.9)):
    ...     policy.tell(policy.choice(arm), reward)
    >>> choice = policy.ask(4, kb.Streams(0))
    >>> choice.arm, round(choice.note["chance"], 3)
    (2, 0.476)
    """

    about = About(
        name="maillard-sampling",
        title="Maillard sampling",
        family=INDEPENDENT,
        paper="Bian & Jun, Maillard sampling: Boltzmann exploration done optimally, 2022",
        guarantee="expected regret O(sqrt(n T ln T)) on n arms, and asymptotically optimal for "
        "normal rewards",
        ours="the kernel serves the recommendation only",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, noise_scale=noise_scale, ridge=ridge, ties=ties)
        self.settings |= {
            "width": "none",
            "exploration": "P(i) proportional to exp(-n_i gap_i^2 / (2 R^2))",
        }

    def chances(self) -> Array:
        """Return the probability of every arm; arms that were never played come first, evenly."""
        counts = self.posterior.counts
        if not counts.all():
            weights = (counts == 0).astype(float)
        else:
            means = self.posterior.tally.sums / counts
            gaps = means.max() - means
            # Without noise only the highest mean is left.
            with np.errstate(divide="ignore", over="ignore"):
                z = np.divide(gaps, self.noise_scale, out=np.zeros_like(gaps), where=gaps > 0)
                weights = np.exp(-counts * z**2 / 2)
        chances: Array = weights / weights.sum()
        return chances

    def choose(self, now: Round) -> Choice:
        chances = self.chances()
        if not self.posterior.counts.all():
            arm = now.best_arm(chances, self.posterior.mean, now.draw_tie())
        else:
            # The uniform number of the round picks an arm by the cumulative probabilities.
            arm = int(np.searchsorted(np.cumsum(chances), now.draw_weight(), side="right"))
            arm = min(arm, int(chances.nonzero()[0][-1]))
        return self._choice_of_arm(arm, now.sd, now, {"chance": float(chances[arm])})


class UCBRevisited(IndependentArms):
    """Play all remaining arms evenly, and drop those that are clearly worse in several phases.

    In phase m = 0, 1, ..., floor(log2(T / e) / 2) the gap between arms is guessed as g = 2^-m.
    Every arm left is played until it has n_m = ceil(8 R^2 ln(T g^2) / g^2) rewards. Then the arms
    with ybar + r < max (ybar - r) are dropped, r = R sqrt(2 ln(T g^2) / n_m). Arms left after the
    last phase are played evenly.

    With R = 1/2 (`noise_scale`), for rewards in [0, 1], it is the original:
    n_m = ceil(2 ln(T g^2) / g^2), r = sqrt(ln(T g^2) / (2 n_m)).

    Parameters
    ----------
    domain, kernel, horizon, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [1.0]])
    >>> policy = kb.policies.UCBRevisited(arms, kb.RBF(0.3), noise_scale=0.1, horizon=100)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.arm == 1))
    >>> policy.posterior.counts
    array([ 1, 19])
    """

    about = About(
        name="ucb-revisited",
        title="UCB revisited",
        family=INDEPENDENT,
        paper="Auer & Ortner, UCB revisited: improved regret bounds for the stochastic multi-armed "
        "bandit problem, 2010",
        guarantee="expected regret O(sum_i ln(T gap_i^2) / gap_i), for rewards in [0, 1]",
        ours="8 R^2 for 2 in n_m, the original's at R = 1/2; arms left after the last stage are "
        "played evenly; the kernel serves the recommendation only",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        horizon: int,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("UCBRevisited", "horizon", horizon)
        super().__init__(
            domain, kernel, noise_scale=noise_scale, ridge=ridge, ties=ties, horizon=rounds
        )
        self.log_horizon = math.log(rounds)
        self.stages = 1 + math.floor((self.log_horizon - 1) / math.log(4))
        self.stage = 0
        self.left: Indices = np.arange(len(self.domain))
        """The arms not dropped, in order."""
        self.settings |= {
            "width": "R sqrt(2 ln(T g^2) / n_m)",
            "exploration": "every arm left, evenly",
        }

    def plays(self, stage: int) -> int:
        """Return n_m, at least 1."""
        return max(1, math.ceil(8 * self.noise_scale**2 * self._confidence(stage) * 4.0**stage))

    def radius(self, stage: int) -> float:
        """Return r = R sqrt(2 ln(T g^2) / n_m)."""
        return self.noise_scale * math.sqrt(2 * self._confidence(stage) / self.plays(stage))

    def _confidence(self, stage: int) -> float:
        """Return ln(T g^2)."""
        return self.log_horizon - stage * math.log(4)

    def score_arms(self, t: int) -> Array:
        """Return minus the count of an arm that is left, minus infinity for one that is not."""
        index = np.full(len(self.domain), -math.inf)
        index[self.left] = -self.posterior.counts[self.left]
        return index

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        while self._stage_is_over():
            self._drop()

    def _stage_is_over(self) -> bool:
        undecided = self.stage < self.stages and len(self.left) > 1
        return undecided and int(self.posterior.counts[self.left].min()) >= self.plays(self.stage)

    def _drop(self) -> None:
        mean = self.posterior.tally.sums[self.left] / self.posterior.counts[self.left]
        radius = self.radius(self.stage)
        self.left = self.left[mean + radius >= mean.max() - radius]
        self.stage += 1
