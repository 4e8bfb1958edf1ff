"""LinUCB, and SupLinUCB, which keeps separate data for each level of precision."""

from __future__ import annotations

from typing import Any

from kernelbandits import checks, widths
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import LINEAR, About
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.linear import LinearRule
from kernelbandits.policies.sup_kernel_ucb import PrecisionLevels
from kernelbandits.posterior import LinearPosterior
from kernelbandits.widths import Width

PAPER = "Chu, Li, Reyzin & Schapire, Contextual bandits with linear payoff functions, 2011"


class LinUCB(LinearRule, IndexPolicy):
    """Play the greatest x . thetahat + alpha |x|_{A^-1}, with A = I + sum x x'.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on |theta|.
    horizon
        T, how many rounds will be played.
    alpha
        By default D + R sqrt(2 ln(2 T |X| / delta)) on |X| arms.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 30}
    >>> policy = kb.policies.LinUCB(arms, kb.Linear(), **settings)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[1]))
    >>> policy.recommend()
    1
    """

    about = About(
        name="lin-ucb",
        title="LinUCB",
        family=LINEAR,
        paper=PAPER,
        guarantee="none for this rule: the theorem is for SupLinUCB",
        ours="alpha = D + R sqrt(2 ln(2 T |X| / delta)) unless given, which at R = 1/2 and D = 1 "
        "is 1 + sqrt(ln(2 T |X| / delta) / 2) of SupLinUCB; the kernel is not used: x . z "
        "whatever is given",
    )

    plays_boxes = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        alpha: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("LinUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        claims = len(self.domain) * rounds
        width = choose_width("LinUCB", noise_scale, norm_bound, chance, claims, alpha)
        self._set_rule(width, PointMass(1.0), alpha=width(1, 0.0), gain="none")


class SupLinUCB(LinearRule, PrecisionLevels):
    """Go through levels of precision, each with a LinUCB of its own data.

    `PrecisionLevels` has the levels. At each of them the width of an arm is alpha |x|_{A^-1}, with
    A = I + sum x x' over the rewards of the level.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on |theta|.
    horizon
        T, how many rounds will be played.
    alpha
        By default D + R sqrt(2 ln(2 T |X| S / delta)) on |X| arms and S levels.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> settings = {"noise_scale": 0.01, "norm_bound": 0.3, "horizon": 100}
    >>> policy = kb.policies.SupLinUCB(arms, kb.Linear(), **settings)
    >>> for t in range(1, 101):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=0.3 * choice.x[1])
    >>> choice.note["level"], policy.recommend()
    (0.0, 1)
    """

    about = About(
        name="sup-lin-ucb",
        title="SupLinUCB",
        family=LINEAR,
        paper=PAPER,
        guarantee="regret O~(sqrt(d T)) with probability 1 - delta, for f = x . theta, |x| <= 1; "
        "stated for rewards in [0, 1]",
        ours="alpha for any R and D, the original's at R = 1/2 and D = 1 with delta divided by the "
        "levels; an exploring round plays the widest arm where the original plays any that is "
        "wide enough; the kernel is not used: x . z whatever is given",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        alpha: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("SupLinUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self._set_levels(rounds)
        claims = len(self.domain) * rounds * self.top
        self._set_scale(choose_width("SupLinUCB", noise_scale, norm_bound, chance, claims, alpha))
        self.settings["alpha"] = self._scale

    def _fresh_posterior(self, points: Any = None) -> LinearPosterior:
        return LinearPosterior(self.posterior.kernel, self.domain, 1.0)


def choose_width(
    owner: str,
    noise_scale: float,
    norm_bound: float,
    delta: float,
    claims: int,
    alpha: float | None,
) -> Width:
    """Return the width alpha, if it is given, or the one that makes all claims right at ridge 1."""
    if alpha is None:
        return widths.fixed_design(noise_scale, norm_bound, 1.0, delta, claims)
    return widths.kernel_ucb(checks.scale(owner, "alpha", alpha), 1.0)
