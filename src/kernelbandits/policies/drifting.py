"""Rules for a function that changes over time (Bogunovic, Scarlett & Cevher, 2016).

TV-GP-UCB lets old rewards count less and less; R-GP-UCB starts again after every block of rewards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.domains import Arms
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import CHANGING, About
from kernelbandits.policies.base import Form
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.place import place_of
from kernelbandits.posterior import LARGEST_JOINT, DriftingPosterior, Posterior
from kernelbandits.widths import Width

SCHEDULES = ("finite", "practical")
UCB = PointMass(1.0)


class TVGPUCB(IndexPolicy):
    """Play the highest upper confidence bound, with old rewards counting less as f drifts.

    index_t(x) = mean(x) + sqrt(beta_t) sd(x) at ridge R^2, under the prior
    k(x, z) (1 - rate)^(|s - t| / 2) between rounds s and t. Time goes on by one with every reward.

    Parameters
    ----------
    noise_scale
        R, the standard deviation of the noise.
    rate
        How fast f changes: f_{t+1} = sqrt(1 - rate) f_t + sqrt(rate) g_{t+1}, with g a new draw
        from the prior. At 0 the function does not change.
    schedule
        "finite": beta_t = 2 ln(|X| pi^2 t^2 / (6 delta)) on |X| arms; "practical":
        beta_t = 0.8 ln(4 t), that of the authors' experiments.
    exploration
        The law of a weight w_t of sqrt(beta_t), or a schedule of laws, as for `GenericGP`. By
        default w = 1, the rule of the paper; for other laws nothing is proved.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [1.0]])
    >>> policy = kb.policies.TVGPUCB(arms, kb.RBF(0.2), noise_scale=0.1, rate=0.2)
    >>> policy.tell(policy.choice(0), 1.0)
    >>> for _ in range(5):
    ...     policy.tell(policy.choice(1), 0.0)
    >>> policy.posterior.sd.round(2)
    array([0.86, 0.46])
    """

    about = About(
        name="tv-gp-ucb",
        title="TV-GP-UCB",
        family=CHANGING,
        paper="Bogunovic, Scarlett & Cevher, Time-varying Gaussian process bandit optimization, "
        "2016",
        guarantee="for f_t a Markov chain of GPs, regret against the best of each round: linear in "
        "T, its slope falls with rate",
        ours="rate (0.01); finite sets of at most 2000 arms; a round is a reward told; beta_t is "
        "as remembered; exploration laws other than w = 1",
    )

    plays_boxes = False
    imagines_pending = False

    posterior: DriftingPosterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        rate: float = 0.01,
        delta: float = 0.1,
        schedule: str = "finite",
        exploration: Any = UCB,
        ties: str = "random",
    ) -> None:
        ridge = noise_variance("TVGPUCB", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=drifting_at(rate))
        self._check_kernel()
        width = bayesian_width("TVGPUCB", schedule, len(self.domain), delta)
        stated = {"noise_scale": noise_scale, "delta": delta, "gain": "none", "schedule": schedule}
        self._set_rule(width, exploration, rate=self.posterior.rate, **stated)


class RGPUCB(IndexPolicy):
    """Play GP-UCB and forget all rewards after every `period` of them.

    index_t(x) = mean(x) + sqrt(beta_t) sd(x) at ridge R^2, with the posterior of the current block
    of rewards alone; beta_t goes on with the round t. `latest` is the posterior that learnt the
    last reward: it answers which arm is best until the new block has a reward of its own.

    Parameters
    ----------
    rate
        How fast f changes, as for `TVGPUCB`.
    period
        After how many rewards all is forgotten; by default ceil(min(T, 12 rate^(-1/4))).
    schedule, exploration
        As for `TVGPUCB`.
    domain, kernel, noise_scale, horizon, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.RGPUCB(arms, kb.RBF(0.2), noise_scale=0.1, horizon=100, period=3)
    >>> for reward in (0.7, 0.8, 0.9):
    ...     policy.tell(policy.choice(1), reward)
    >>> policy.n_rewards, policy.posterior.events, policy.recommend()
    (3, 0, 1)
    """

    about = About(
        name="r-gp-ucb",
        title="R-GP-UCB",
        family=CHANGING,
        paper="Bogunovic, Scarlett & Cevher, Time-varying Gaussian process bandit optimization, "
        "2016",
        guarantee="for f_t a Markov chain of GPs, regret against the best of each round: linear in "
        "T, its slope falls with rate",
        ours="rate (0.01); beta_t by the round, not by the block; period 12 rate^(-1/4) and beta_t"
        " are as remembered; exploration laws other than w = 1",
    )

    plays_boxes = False
    imagines_pending = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        horizon: int,
        rate: float = 0.01,
        period: int | None = None,
        delta: float = 0.1,
        schedule: str = "finite",
        exploration: Any = UCB,
        ties: str = "random",
    ) -> None:
        ridge = noise_variance("RGPUCB", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        self._check_kernel()
        drift = checks.chance("RGPUCB", "rate", rate)
        self.period = (
            block_length(horizon, drift)
            if period is None
            else checks.whole("RGPUCB", "period", period)
        )
        self.latest = self.posterior
        self._forgotten_rewards = 0
        self._forgotten_log_det = 0.0
        width = bayesian_width("RGPUCB", schedule, len(self.domain), delta)
        stated = {"noise_scale": noise_scale, "delta": delta, "gain": "none", "schedule": schedule}
        self._set_rule(width, exploration, rate=drift, period=self.period, **stated)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        block_ends = self.posterior.events + 1 >= self.period
        # The new posterior is built first: if that fails, the reward has changed nothing.
        following = self._fresh_posterior() if block_ends else self.posterior
        self.posterior.update(arm, reward)
        self.latest = self.posterior
        if block_ends:
            self._forgotten_rewards += self.posterior.events
            self._forgotten_log_det += self.posterior.log_det
            self.posterior = following
            self.posterior.complete = False

    @property
    def played_log_det(self) -> float:
        """The sum over the blocks."""
        return float(self._forgotten_log_det + self.posterior.log_det)

    @property
    def n_rewards(self) -> int:
        """How many rewards the policy has learnt, in all blocks."""
        return self._forgotten_rewards + int(self.posterior.events)

    def recommend(self, *, context: Any = None, arms: Any = None) -> Any:
        """Return the best arm by the block that learnt the last reward."""
        place: Any = place_of(self.domain, context, arms)
        return place.greatest(self.latest.mean)


def noise_variance(owner: str, noise_scale: float) -> float:
    """Return R^2, for a noise scale R > 0."""
    checks.positive(owner, "noise_scale", noise_scale)
    return checks.scale(owner, "noise_scale", noise_scale) ** 2


def bayesian_width(owner: str, schedule: str, arms: int, delta: float) -> Width:
    """Return sqrt(beta_t) by the name of its schedule."""
    confidence = checks.inside(owner, "delta", delta)
    finite = checks.one_of(owner, "schedule", schedule, SCHEDULES) == "finite"
    return widths.srinivas_finite(arms, confidence, 1.0) if finite else widths.bogunovic_practical()


def block_length(horizon: int, rate: float) -> int:
    """Return ceil(min(T, 12 rate^(-1/4)))."""
    return horizon if rate == 0 else math.ceil(min(horizon, 12 * rate**-0.25))


def drifting_at(rate: float) -> Form:
    """Return the form of the posterior of a function that drifts at this rate.

    It keeps the covariance of all arms, so their number is limited.
    """

    def form(kernel: Any, arms: Arms, ridge: float) -> Posterior:
        n = len(arms)
        memory = f"{n} arms, a covariance of {8e-9 * n**2:.1f} GB"
        checks.needs(n <= LARGEST_JOINT, "TVGPUCB", f"at most {LARGEST_JOINT} arms", memory)
        return DriftingPosterior(kernel, arms, ridge, checks.chance("TVGPUCB", "rate", rate))

    return form
