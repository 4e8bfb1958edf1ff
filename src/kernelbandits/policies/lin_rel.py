"""LinRel, and SupLinRel: linear estimates from the directions that were played often enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.policies.about import LINEAR, About
from kernelbandits.policies.linear import LinearRule
from kernelbandits.policies.sup_kernel_ucb import LevelView, PrecisionLevels

PAPER = "Auer, Using confidence bounds for exploitation-exploration trade-offs, 2002"
LEAST_EIGENVALUE = 1.0
"""A direction counts as known if sum (u . x_s)^2 over the rewards is at least this."""
WIDTH = "R sqrt(2 ln(2 m/delta)) |a| + D |v|"


class SpectralLevel:
    """Rewards, and what LinRel makes of them: an estimate and a width for each arm.

    With the eigenvectors u_j and eigenvalues l_j of V = sum x x' over the rewards, b = sum y x, and
    the sums below over the eigenvalues of at least 1,

        estimate(x) = sum_j (u_j . x) (u_j . b) / l_j,   |a|^2 = sum_j (u_j . x)^2 / l_j,

    and |v|^2 is the sum of (u_j . x)^2 over all other eigenvalues: what is not known of x.
    For f = x . theta with |theta| <= D the bias of the estimate is at most D |v|.
    """

    def __init__(self, points: Array, noise: float, norm_bound: float) -> None:
        self.points, self.noise, self.norm_bound = points, noise, norm_bound
        d = points.shape[1]
        self.moments, self.rewards = np.zeros((d, d)), np.zeros(d)
        self._estimate()

    def update(self, arm: int, reward: float) -> None:
        """Learn a reward."""
        x = self.points[arm]
        self.moments += np.outer(x, x)
        self.rewards += reward * x
        self._estimate()

    def _estimate(self) -> None:
        values, vectors = np.linalg.eigh(self.moments)
        known = values >= LEAST_EIGENVALUE
        along = self.points @ vectors
        inverse = np.divide(1.0, values, out=np.zeros(len(values)), where=known)
        self.mean: Array = along @ (inverse * (vectors.T @ self.rewards))
        self.spread: Array = np.sqrt(along**2 @ inverse)
        """|a| of each arm."""
        self.unknown: Array = np.sqrt(along**2 @ (~known).astype(float))
        """|v| of each arm."""
        self.width: Array = self.noise * self.spread + self.norm_bound * self.unknown
        self.sd: Array = np.hypot(self.spread, self.unknown)
        """|a| and |v| together, as one standard deviation at R = D = 1."""


class LinRel(LinearRule):
    """Play the greatest upper bound of a linear estimate from the directions that are known.

    `SpectralLevel` has the estimate. Its width is R sqrt(2 ln(2 T |X| / delta)) |a| + D |v| on |X|
    arms: the noise of the estimate, and what the unknown directions may hide.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on |theta|.
    horizon
        T, how many rounds will be played.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 30}
    >>> policy = kb.policies.LinRel(arms, kb.Linear(), **settings)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[1]))
    >>> policy.recommend()
    1
    """

    about = About(
        name="lin-rel",
        title="LinRel",
        family=LINEAR,
        paper=PAPER,
        guarantee="none for this rule: the theorem is for SupLinRel",
        ours="the width for R and D, derived for data chosen without their rewards; the "
        "recommendation is that of ridge regression; the kernel is not used: x . z whatever is "
        "given",
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
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("LinRel", "horizon", horizon)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        noise = noise_factor(noise_scale, chance, len(self.domain) * rounds)
        self.known = SpectralLevel(self.domain.points, noise, float(norm_bound))
        self.settings |= {"width": WIDTH, "exploration": "the greatest upper bound"}
        self.settings["gain"] = "none"

    def score_arms(self, t: int) -> Array:
        """Return the estimate plus its width."""
        return self.known.mean + self.known.width

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        self.known.update(arm, reward)


class SupLinRel(LinearRule, PrecisionLevels):
    """Go through levels of precision, each with a LinRel of its own data.

    `PrecisionLevels` has the levels and `SpectralLevel` the estimate of each. Its width is
    R sqrt(2 ln(2 T |X| S / delta)) |a| + D |v| on |X| arms and S levels.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on |theta|.
    horizon
        T, how many rounds will be played.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 30}
    >>> policy = kb.policies.SupLinRel(arms, kb.Linear(), **settings)
    >>> policy.top
    4
    >>> note = policy.ask(1, kb.Streams(0)).note
    >>> note["level"], note["alive"]
    (1.0, 3.0)
    """

    about = About(
        name="sup-lin-rel",
        title="SupLinRel",
        family=LINEAR,
        paper=PAPER,
        guarantee="regret O~(sqrt(d T)) with probability 1 - delta, for f = x . theta, |x| <= 1; "
        "stated for rewards in [0, 1]",
        ours="the width for R and D; an exploring round plays the widest arm where the original "
        "plays any that is wide enough; the recommendation is that of ridge regression; the "
        "kernel is not used: x . z whatever is given",
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
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("SupLinRel", "horizon", horizon)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self._set_levels(rounds)
        claims = len(self.domain) * rounds * self.top
        self.noise, self.norm_bound = noise_factor(noise_scale, chance, claims), float(norm_bound)
        self._nothing_known = self._fresh_posterior()
        self.settings["width"] = WIDTH

    def _fresh_posterior(self, points: Any = None) -> Any:
        return SpectralLevel(self.domain.points, self.noise, self.norm_bound)

    def _level_estimates(self, level: int, alive: Indices) -> tuple[Array, Array, Array]:
        """Return the estimate, its sd and its width by the data of one level."""
        known = self.levels.get(level, self._nothing_known)
        return known.mean[alive], known.sd[alive], known.width[alive]

    def _width_in_sds(self, view: LevelView, place: int) -> float:
        sd = float(view.sd[place])
        return float(view.width[place]) / sd if sd > 0 else 0.0


def noise_factor(noise_scale: float, delta: float, claims: int) -> float:
    """Return R sqrt(2 ln(2 claims / delta))."""
    return noise_scale * math.sqrt(2 * math.log(2 * claims / delta))
