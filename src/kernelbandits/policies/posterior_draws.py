"""Rules that draw a function from the posterior and are no Thompson sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.domains import Arms
from kernelbandits.policies.about import CONFIDENCE, IMPROVEMENT, About
from kernelbandits.policies.acquisition import (
    Acquisition,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
)
from kernelbandits.policies.base import Form, Policy, noise_ridge
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.improvement import view_without_width
from kernelbandits.policies.place import ArmList
from kernelbandits.policies.round import PendingView, Round
from kernelbandits.policies.thompson import GPTS, grid_of
from kernelbandits.posterior import ArmPosterior, posterior_on

MOST_ARMS = 2000
"""A joint draw over n arms needs their n x n covariance: 32 MB for this many."""


class EVILL(GPTS[Point]):
    """Play the maximiser of a fit to a loss with a random linear term.

    f_t minimises  sum_s (y_s - f(x_s))^2 / 2 + (ridge / 2) |f|^2 - <W, f>  over the space of the
    kernel, W = a (sum_s z_s k(x_s, .) + sqrt(ridge) z') with z_s and z' standard normal. This is
    the same as perturbed rewards y_s + a z_s and a perturbed centre of the penalty, and
    f_t ~ GP(mean, (a^2 / ridge) cov). On a box the draw is a path by random features, as for
    `GPTS`.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    perturbation
        a, the size of the perturbations; by default sqrt(ridge) D + R sqrt(2 ln(1/delta) + L).
    grid
        On a box: play exactly on a cover of this many points instead.
    features
        On a box: how many random features a path has.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.EVILL(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="evill",
        title="EVILL",
        family=CONFIDENCE,
        paper="Janz, Liu, Ayoub & Szepesvari, Exploration via linearly perturbed loss minimisation,"
        " 2024",
        guarantee="regret O~(d^(3/2) sqrt(T)) for generalised linear bandits (paper); none with a "
        "kernel, where it is Thompson sampling at another scale",
        ours="squared loss with a kernel; a = sqrt(ridge) D + R sqrt(2 ln(1/delta) + L) unless "
        "given; one perturbation for all rewards of an arm, which has the same law",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        perturbation: float | None = None,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
        grid: int | None = None,
        features: int = 256,
    ) -> None:
        place = grid_of(domain, grid)
        # The constructor of GP-TS sets its own ridge and width; only its draws are shared.
        form = joint_form(type(self).__name__)
        Policy.__init__(self, place, kernel, ridge=ridge, ties=ties, form=form)
        confidence = self._check_bounds(noise_scale, norm_bound, delta)
        if perturbation is None:
            self.width = widths.self_normalised(noise_scale, norm_bound, ridge, confidence)
        else:
            size = checks.scale("EVILL", "perturbation", perturbation)
            self.width = widths.kernel_ucb(size, ridge)
        self.settings |= {"width": self.width.rule, "perturbation": perturbation}
        self.settings |= {"gain": "realised", "exploration": "a fit to a perturbed loss"}
        set_draws(self, features)


class PIMS(GPTS[Point]):
    """Play the arm that most probably exceeds the maximum of a function drawn from the posterior.

    Draw f_t ~ GP(mean, cov) at ridge R^2, and play the greatest P(f(x) > max f_t), which is the
    greatest (mean(x) - max f_t) / sd(x). On a box the draw is a path by random features, as for
    `GPTS`, and its maximum and the choice are found by search.

    Parameters
    ----------
    noise_scale
        R, the standard deviation of the noise.
    grid
        On a box: play exactly on a cover of this many points instead.
    features
        On a box: how many random features a path has.
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.PIMS(arms, kb.RBF(0.3), noise_scale=0.1)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="pims",
        title="PIMS",
        family=IMPROVEMENT,
        paper="Takeno, Inatsu, Karasuyama & Takeuchi, Posterior sampling-based Bayesian "
        "optimization with tighter Bayesian regret bounds, 2024",
        guarantee="expected regret O(sqrt(T gamma_T ln n)) on n arms for f ~ GP(0, k) and normal "
        "noise",
        ours="ridge R^2, no less than 1e-8",
    )
    weighs_costs = False

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        ties: str = "random",
        grid: int | None = None,
        features: int = 256,
    ) -> None:
        start_posterior_draws(self, grid_of(domain, grid), kernel, noise_scale, ties, features)
        self.settings["exploration"] = "probability of exceeding the maximum of a posterior draw"

    def _scale(self, t: int, inflation: float = 1.0) -> float:
        """Return 1: the draw is from the posterior itself."""
        return 1.0

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        return view_without_width(self, pending)

    def choose(self, now: Round) -> Choice:
        """Play the greatest probability to exceed the maximum of the draw."""
        return improve_on_draw(self, now, LogProbabilityOfImprovement)


class GPEIMS(GPTS[Point]):
    """Play the greatest expected improvement on the maximum of a function drawn from the posterior.

    Draw f_t ~ GP(mean, cov) at ridge R^2, and play the greatest E[max(f(x) - max f_t, 0)]. It is
    `PIMS` with the size of the improvement in place of its probability.

    Parameters
    ----------
    noise_scale
        R, the standard deviation of the noise.
    grid
        On a box: play exactly on a cover of this many points instead.
    features
        On a box: how many random features a path has.
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.GPEIMS(arms, kb.RBF(0.3), noise_scale=0.1)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="gp-eims",
        title="GP-EIMS",
        family=IMPROVEMENT,
        paper="Takeno, Inatsu, Karasuyama & Takeuchi, Regret analysis of posterior sampling-based "
        "expected improvement for Bayesian optimization, 2025",
        guarantee="sublinear expected regret for f ~ GP(0, k) and normal noise (paper)",
        ours="ridge R^2, no less than 1e-8; the logarithm is maximised, which has the same "
        "maximiser",
    )
    weighs_costs = False

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        ties: str = "random",
        grid: int | None = None,
        features: int = 256,
    ) -> None:
        start_posterior_draws(self, grid_of(domain, grid), kernel, noise_scale, ties, features)
        self.settings["exploration"] = "expected improvement on the maximum of a posterior draw"

    def _scale(self, t: int, inflation: float = 1.0) -> float:
        """Return 1: the draw is from the posterior itself."""
        return 1.0

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        return view_without_width(self, pending)

    def choose(self, now: Round) -> Choice:
        """Play the greatest expected improvement on the maximum of the draw."""
        return improve_on_draw(self, now, LogExpectedImprovement)


def improve_on_draw(
    policy: GPTS[Any], now: Round, improvement: Callable[[float], Acquisition]
) -> Choice:
    """Return the choice of the greatest improvement on the maximum of a posterior draw."""
    tie = now.draw_tie()
    best = highest_value(policy, now, tie)
    acquisition = improvement(best)
    if not policy.finite:
        surface = policy._surface(acquisition, now)
        location = policy._search(surface, now.place, policy.ties, tie)
        return policy._choice_at(location, now, {"best": best})
    scores = acquisition.score(policy.posterior.means, now.sd[None])
    arm = now.best_arm(scores, policy.posterior.mean, tie)
    return policy._choice_of_arm(arm, now.sd, now, {"best": best})


def highest_value(policy: GPTS[Any], now: Round, tie: float) -> float:
    """Return max f_t, over the arms that may be played or over the box."""
    if not isinstance(now.place, ArmList) or not policy.finite:
        path = policy._draw_path(now)
        found: float = policy._search(path, now.place, policy.ties, tie).search["index"]
        return found
    sample = policy.posterior.mean + policy._draw_deviation(now)
    return float(sample[now.place.greatest(sample)])


def start_posterior_draws(
    policy: GPTS[Any], domain: Any, kernel: Any, noise_scale: float, ties: str, features: int
) -> None:
    """Begin a policy that draws from the posterior at ridge R^2 itself, without a width.

    The constructor of GP-TS sets its own ridge and width; only its draws are shared.
    """
    name = type(policy).__name__
    form, ridge = joint_form(name), noise_ridge(name, noise_scale)
    Policy.__init__(policy, domain, kernel, ridge=ridge, ties=ties, form=form)
    policy._check_kernel()
    policy.width = widths.kernel_ucb(1.0, 1.0)
    policy.settings |= {"noise_scale": noise_scale, "gain": "none"}
    set_draws(policy, features)


def joint_form(owner: str) -> Form:
    """Return the form of the posterior with the covariance of all arms, or that of a box."""

    def form(kernel: Any, domain: Any, ridge: float) -> Any:
        if not isinstance(domain, Arms):
            return posterior_on(kernel, domain, ridge)
        needed = f"joint draws over at most {MOST_ARMS} arms"
        checks.needs(len(domain) <= MOST_ARMS, owner, needed, f"{len(domain)} arms")
        return ArmPosterior(kernel, domain, ridge)

    return form


def set_draws(policy: GPTS[Any], features: int) -> None:
    """Prepare joint draws over the arms, or paths on a box."""
    policy.joint = policy.finite
    if policy.finite:
        policy.root = policy.posterior.root()
    else:
        policy._set_features(features)
