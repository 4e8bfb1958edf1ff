"""Expected improvement and probability of improvement over the best estimate so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.policies.about import IMPROVEMENT, About
from kernelbandits.policies.acquisition import (
    Acquisition,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
)
from kernelbandits.policies.base import Policy, noise_ridge
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.round import PendingView, Round, view_pending

LEAST_MARGIN = 0.01
"""Of the prior standard deviation."""
OURS = (
    "the incumbent is the highest estimate among the points played, not the luckiest reward; "
    "ridge R^2, no less than 1e-8"
)


class ExpectedImprovement(Policy[Point]):
    """Play the greatest expected improvement over the best so far, E[max(f(x) - best, 0)].

    The best so far is the *noisy incumbent*: the highest posterior mean among the points played (0,
    the prior mean, before the first reward). The logarithm of the improvement is maximised: it has
    the same maximiser and does not vanish where nothing is left to gain (Ament et al., 2023).
    The ridge is R^2, with R the standard deviation of the noise (`noise_scale`).

    Parameters
    ----------
    domain, kernel, ties
        As for `Policy`.

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
        self, domain: Playable[Point], kernel: Any, *, noise_scale: float, ties: str = "random"
    ) -> None:
        ridge = noise_ridge("ExpectedImprovement", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        rule = "expected improvement over the best estimate"
        self.settings |= {"noise_scale": noise_scale, "exploration": rule, "gain": "none"}

    def acquisition(self, now: Round | None = None) -> LogExpectedImprovement:
        return LogExpectedImprovement(self.posterior.best_estimates())

    def score_arms(self, t: int) -> Array:
        """Return ln E[max(f - best, 0)] of every arm."""
        return score_all_arms(self, self.acquisition())

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        return view_without_width(self, pending)


class ProbabilityOfImprovement(Policy[Point]):
    """Play the greatest probability to improve on the best so far, P(f(x) > best + margin).

    The best so far is the highest posterior mean among the points played (0, the prior mean, before
    the first reward). The ridge is R^2, with R the standard deviation of the noise (`noise_scale`).

    `margin` says how much better counts as an improvement, in the units of the rewards. With 0 no
    other point is more likely to improve than the best one itself, and the rule never explores. So
    the default is R, and at least a hundredth of the prior standard deviation.

    Parameters
    ----------
    domain, kernel, ties
        As for `Policy`.

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
        ours=f"{OURS}; the margin R",
    )
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        margin: float | None = None,
        ties: str = "random",
    ) -> None:
        ridge = noise_ridge("ProbabilityOfImprovement", noise_scale)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        if margin is None:
            margin = max(
                noise_scale, LEAST_MARGIN * math.sqrt(float(self._prior_variances().max()))
            )
        self.margin = checks.nonnegative("ProbabilityOfImprovement", "margin", margin)
        rule = "probability of improvement over the best estimate"
        self.settings |= {"noise_scale": noise_scale, "exploration": rule, "gain": "none"}
        self.settings["margin"] = margin

    def acquisition(self, now: Round | None = None) -> LogProbabilityOfImprovement:
        return LogProbabilityOfImprovement(float(self.posterior.best_estimates()[0]) + self.margin)

    def score_arms(self, t: int) -> Array:
        """Return ln P(f > best + margin) of every arm."""
        return score_all_arms(self, self.acquisition())

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        return view_without_width(self, pending)


def score_all_arms(policy: Policy, acquisition: Acquisition) -> Array:
    """Return the score of every arm of a finite domain."""
    checks.needs(policy.finite, "index", "a finite set of arms", policy.domain)
    posterior = policy.posterior
    return acquisition.score(posterior.means, np.sqrt(np.maximum(posterior.variances, 0.0)))


def view_without_width(policy: Policy, pending: Sequence[Choice]) -> PendingView:
    """Imagine the pending rewards; there is no confidence width that would have to grow."""
    places = [policy._place_of(choice) for choice in pending]
    return view_pending(policy.posterior, places, inflate=False)
