"""Rules for rewards whose noise differs and is known: each is weighed by its variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import as_trusted
from kernelbandits.policies.about import CONFIDENCE, ELIMINATION, About
from kernelbandits.policies.acquisition import StandardDeviation
from kernelbandits.policies.base import LEAST_RIDGE, Policy, noise_ridge
from kernelbandits.policies.elimination import BPE, Elimination, cut_lengths, doublings
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round
from kernelbandits.posterior import RefitPosterior

PAPER = (
    "Iwazaki & Takeno, Improved regret analysis in Gaussian process bandits: optimality for "
    "noiseless reward, RKHS norm, and non-stationary variance, 2025"
)
OURS = "a reward without a standard error has R; no variance is taken for less than 1e-8"


class VarianceAware(Policy[Array]):
    """A rule that is told how noisy each reward was.

    A reward told as `kb.calibration.Measurement(reward, sem)` has noise of variance sem^2, and any
    other one R^2. The posterior is that of the noise Sigma = diag(variances):

    mean = k' (K + Sigma)^-1 y,   L = log det(I + Sigma^-1/2 K Sigma^-1/2).
    """

    learns_errors = True
    posterior: RefitPosterior

    def _weigh(self, reward: float) -> float:
        """Return R^2 / (the variance of the reward)."""
        sem = getattr(reward, "sem", None)
        return 1.0 if sem is None else self.posterior.ridge / max(sem**2, LEAST_RIDGE)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        self.posterior.record(arm, reward, self._weigh(reward))

    def _settle(self) -> None:
        """Fit the posterior once after many rewards: it depends on weights and sums alone."""
        if self.posterior.events:
            self.posterior.fit()


class VAGPUCB(VarianceAware, IndexPolicy):
    """Play the highest upper confidence bound, every reward weighed by the variance of its noise.

    index_t(x) = mean(x) + (D + sqrt(2 ln(1/delta) + L)) sd(x); `VarianceAware` has mean, sd and L.
    Where all rewards are alike it is `WhitehouseUCB` at ridge R^2.

    Parameters
    ----------
    noise_scale
        R: the noise of a reward without a standard error is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.VAGPUCB(arms, kb.RBF(0.3), noise_scale=0.5, norm_bound=1.0)
    >>> for sem in (0.5, 0.01):
    ...     policy.tell(policy.choice(1), kb.calibration.Measurement(0.8, sem))
    >>> policy.estimates()[1].round(2)
    array([0.97, 0.01, 0.97])
    """

    about = About(
        name="va-gp-ucb",
        title="VA-GP-UCB",
        family=CONFIDENCE,
        paper=f"{PAPER}; the width is that of Kirschner & Krause, Information directed sampling "
        "and bandits with heteroscedastic noise, 2018",
        guarantee="f lies in the band in all rounds with probability 1 - delta, if the noise of "
        "each reward is sem-sub-Gaussian; the paper proves less for its regret than for VA-PE",
        ours=OURS,
    )
    plays_boxes = False
    imagines_pending = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ties: str = "random",
    ) -> None:
        ridge = noise_ridge("VAGPUCB", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=RefitPosterior)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        # In units of the square root of its variance every noise is 1-sub-Gaussian.
        width = widths.self_normalised(math.sqrt(ridge), norm_bound, ridge, chance)
        self._set_rule(width, PointMass(1.0), gain="realised")


class VAMVR(VarianceAware):
    """Play the arm of the greatest sd, every reward weighed by the variance of its noise.

    It explores only; the answer is the arm with the highest estimate after the last round
    (`recommend`). `VarianceAware` has mean and sd.

    Parameters
    ----------
    noise_scale
        R: the noise of a reward without a standard error is R-sub-Gaussian.
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.VAMVR(kb.Arms([[0.0], [1.0]]), kb.RBF(0.2), noise_scale=1.0)
    >>> policy.tell(policy.choice(0), kb.calibration.Measurement(0.8, 0.1))
    >>> policy.tell(policy.choice(1), kb.calibration.Measurement(0.8, 1.0))
    >>> policy.score_arms(3).round(2), policy.ask(3, kb.Streams(0)).arm
    (array([0.1 , 0.71]), 1)
    """

    about = About(
        name="va-mvr",
        title="VA-MVR",
        family=ELIMINATION,
        paper=PAPER,
        guarantee="simple regret O~(sqrt(V_T) / T) for RBF, V_T the sum of the variances, if the "
        "noise of each reward is sem-sub-Gaussian; none for the regret of its plays",
        ours=OURS,
    )
    restricts_arms = True

    def __init__(
        self, domain: Any, kernel: Any, *, noise_scale: float, ties: str = "random"
    ) -> None:
        ridge = noise_ridge("VAMVR", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=RefitPosterior)
        self._check_kernel()
        self.settings |= {"noise_scale": noise_scale, "exploration": "the greatest sd"}
        self.settings["gain"] = "none"

    def acquisition(self, now: Round) -> StandardDeviation:
        return StandardDeviation()

    def score_arms(self, t: int) -> Any:
        """Return the sd of every arm."""
        return self.posterior.sd


class VAPE(VarianceAware, Elimination):
    """Play and drop arms in phases, every reward weighed by the variance of its noise.

    Batches of N_1, 2 N_1, 4 N_1, ... rounds play the remaining arm of the greatest sd; after each
    the arms that cannot be the best are dropped (`Elimination`). `VarianceAware` has mean and sd,
    from the rewards of the batch alone, and the width is

    D + sqrt(2 ln(2 |X| (1 + log2 T) / delta)).

    Parameters
    ----------
    noise_scale
        R: the noise of a reward without a standard error is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    first_batch
        N_1, any number.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms, settings = kb.Arms([[0.0], [1.0]]), {"noise_scale": 1.0, "norm_bound": 1.0}
    >>> policy = kb.policies.VAPE(arms, kb.RBF(0.2), horizon=20, **settings)
    >>> policy.lengths
    (1, 2, 4, 8, 5)
    >>> for t in range(1, 4):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, kb.calibration.Measurement(choice.x[0], 0.01))
    >>> policy.survivors
    array([1])
    """

    about = About(
        name="va-pe",
        title="VA-PE",
        family=ELIMINATION,
        paper=PAPER,
        guarantee="regret O~(sqrt(V_T)) for RBF, V_T the sum of the variances, with probability "
        "1 - delta, if the noise of each reward is sem-sub-Gaussian",
        ours=f"first_batch = 1; {OURS}",
    )
    batch_posterior: RefitPosterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        first_batch: int = 1,
        ties: str = "random",
    ) -> None:
        rounds, ridge = checks.whole("VAPE", "horizon", horizon), noise_ridge("VAPE", noise_scale)
        super().__init__(
            domain, kernel, ridge=ridge, ties=ties, horizon=horizon, form=RefitPosterior
        )
        first = checks.whole("VAPE", "first_batch", first_batch)
        self._set_batches(cut_lengths(doublings(first), rounds), noise_scale, norm_bound, delta)
        claims = len(self.domain) * (1 + math.log2(rounds))
        # In units of the square root of its variance every noise is 1-sub-Gaussian.
        self._set_width(widths.fixed_design(math.sqrt(ridge), norm_bound, ridge, delta, claims))
        self.settings |= {"first_batch": first}
        self.settings["exploration"] = "the greatest sd among the survivors"

    _pick_survivor = BPE._pick_survivor

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        ends, weight = self.posterior.events + 1 in self._ends, self._weigh(reward)
        # What evaluates the kernel comes first: if that fails, the reward has changed nothing.
        following = self._begin_batch() if ends else None
        self.posterior.record(arm, reward, weight)
        if self.batch_posterior is not self.posterior:
            self.batch_posterior.record(arm, reward, weight)
        if following is not None:
            self.batch_posterior.fit()
            self.survivors = self._eliminate(self.batch_posterior)
            self.batch_posterior = following

    def _begin_batch(self) -> RefitPosterior:
        """Return the posterior of a batch without rewards, with the kernels computed so far."""
        kernel, ridge = as_trusted(self.posterior.kernel), self.posterior.ridge
        fresh = RefitPosterior(kernel, self.domain, ridge)
        fresh.columns = self.posterior.columns
        return fresh

    def _settle(self) -> None:
        super()._settle()
        if self.batch_posterior is not self.posterior and self.batch_posterior.events:
            self.batch_posterior.fit()
