"""Expected improvement and probability of improvement over the best estimate so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.policies.about import IMPROVEMENT, About
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    posterior_mean,
)
from kernelbandits.policies.base import Policy, noise_ridge
from kernelbandits.policies.round import Round

OURS = (
    "the incumbent is the highest estimate among the points played, not the luckiest reward; "
    "ridge R^2, no less than 1e-8"
)


class ExpectedImprovement(Policy):
    """Play the greatest expected improvement over the best so far, E[max(f(x) - best, 0)].

    The best so far is the *noisy incumbent*: the highest posterior mean among the points played (0,
    the prior mean, before the first reward). The logarithm of the improvement is maximised: it has
    the same maximiser and does not vanish where nothing is left to gain (Ament et al., 2023).
    The ridge is R^2, with R the standard deviation of the noise (`noise_scale`).

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.ExpectedImprovement(arms, kb.RBF(0.3), noise_scale=0.1)
    >>> for t in range(1, 20):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="expected-improvement",
        title="Expected improvement",
        family=IMPROVEMENT,
        paper="Mockus, Tiesis & Zilinskas, The application of Bayesian methods for seeking the "
        "extremum, 1978; in logarithms: Ament, Daulton, Eriksson, Balandat & Bakshy, Unexpected "
        "improvements to expected improvement for Bayesian optimization, 2023",
        guarantee="none for this form: it seeks the best answer, not a small regret while playing",
        ours=OURS,
    )
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self, domain: Any, kernel: Any, *, noise_scale: float, ties: str = "random"
    ) -> None:
        ridge = noise_ridge("ExpectedImprovement", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        rule = "expected improvement over the best estimate"
        self.settings |= {"noise_scale": noise_scale, "exploration": rule, "gain": "none"}

    def acquisition(self, now: Round | None = None) -> LogExpectedImprovement:
        return LogExpectedImprovement(best_estimate(self))

    def score_arms(self, t: int) -> Array:
        """ln E[max(f - best, 0)] of every arm."""
        return self.acquisition().score(self.posterior.mean, self.posterior.sd)


class ProbabilityOfImprovement(Policy):
    """Play the greatest chance to improve on the best so far, P(f(x) > best + margin).

    The best so far is the highest posterior mean among the points played (0, the prior mean, before
    the first reward). With `margin` 0 the rule stays close to what is known; a margin of a few
    hundredths of the range of f makes it explore. The ridge is R^2, with R the standard deviation
    of the noise (`noise_scale`).

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.ProbabilityOfImprovement(arms, kb.RBF(0.3), noise_scale=0.1)
    >>> policy.ask(1, kb.Streams(0)).arm in (0, 1, 2)
    True
    """

    about = About(
        name="probability-of-improvement",
        title="Probability of improvement",
        family=IMPROVEMENT,
        paper="Kushner, A new method of locating the maximum point of an arbitrary multipeak curve "
        "in the presence of noise, 1964",
        guarantee="none: it may stay at a local optimum",
        ours=OURS,
    )
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        margin: float = 0.0,
        ties: str = "random",
    ) -> None:
        ridge = noise_ridge("ProbabilityOfImprovement", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self.margin = checks.nonnegative("ProbabilityOfImprovement", "margin", margin)
        rule = "probability of improvement over the best estimate"
        self.settings |= {"noise_scale": noise_scale, "exploration": rule, "gain": "none"}
        self.settings["margin"] = margin

    def acquisition(self, now: Round | None = None) -> LogProbabilityOfImprovement:
        return LogProbabilityOfImprovement(best_estimate(self) + self.margin)

    def score_arms(self, t: int) -> Array:
        """ln P(f > best + margin) of every arm."""
        return self.acquisition().score(self.posterior.mean, self.posterior.sd)


def best_estimate(policy: Policy) -> float:
    """The noisy incumbent: the highest posterior mean among the points played, or 0 before."""
    posterior = policy.posterior
    if not posterior.events:
        return 0.0
    if policy.finite:
        return float(posterior.mean[posterior.support].max())
    means = posterior_mean(posterior).values(posterior.points)
    return float(np.max(means))
