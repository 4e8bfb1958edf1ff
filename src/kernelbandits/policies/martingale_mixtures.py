"""Tighter confidence sets (Flynn & Reeb, 2024).

f lies in a set that bounds its residuals and its norm; the upper bound of f(x) is its greatest
value over that set. AMM-UCB bounds it in closed form, DMM-UCB on a grid of dual numbers, and
CMM-UCB computes it exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import TIGHTER, About
from kernelbandits.policies.acquisition import ArmScores
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round
from kernelbandits.posterior import Columns, Posterior, Spectrum, posterior_on
from kernelbandits.theory.duality import Dual, noise_radius


class AMMUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound, with a width in closed form.

    index_t(x) = mean(x) + sqrt((R^2 / ridge) (2 ln(1/delta) + L) + D^2) sd(x).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    ridge
        It fixes the scale of the paper's Gaussian mixture, c = R^2 / ridge.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms, settings = kb.Arms([[0.0], [1.0]]), {"noise_scale": 0.5, "norm_bound": 1.0}
    >>> policy = kb.policies.AMMUCB(arms, kb.RBF(0.3), **settings)
    >>> rival = kb.WhitehouseUCB(arms, kb.RBF(0.3), **settings)
    >>> round(policy.width_at(1), 3), round(rival.width_at(1), 3)
    (1.467, 2.073)
    """

    about = About(
        name="amm-ucb",
        title="AMM-UCB",
        family=TIGHTER,
        paper="Flynn & Reeb, Tighter confidence bounds for sequential kernel regression, 2024",
        guarantee="f in its band in all rounds with probability 1 - delta; regret "
        "O~(gamma_T sqrt(T)), never wider than Whitehouse",
        ours="the mixture scale is c = R^2 / ridge, ridge 1 by default",
    )

    compiled_loop = "index"

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self._set_rule(
            widths.mixture(noise_scale, norm_bound, ridge, chance), PointMass(1.0), gain="realised"
        )

    def band(self, t: int, points: Any = None) -> tuple[Array, Array]:
        """Return lower and upper bounds of f on all arms, or at points.

        They hold in all rounds at once with probability 1 - delta.
        """
        return self.index(t, -1.0, points), self.index(t, 1.0, points)


class ResidualBall(Policy[Array]):
    """A confidence set that bounds the residuals and the norm of f.

    f lies in {f : |y - f(x)| <= R_t, ||f|| <= D} in all rounds at once with probability 1 - delta,

    R_t^2 = y' (I + K / ridge)^-1 y + R^2 (L + 2 ln(1/delta)).

    For every a > 0 and f in the set, with q_a = y' (K + a I)^-1 y and the posterior at ridge a,

    f(x) <= mean_a(x) + sqrt((R_t^2 - a q_a) / a + D^2) sd_a(x).
    """

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self.delta = self._check_bounds(noise_scale, norm_bound, delta)
        self.noise_scale, self.norm_bound = float(noise_scale), float(norm_bound)
        self.settings |= {"gain": "realised", "exploration": "none"}

    def band(self, t: int) -> tuple[Array, Array]:
        """Return lower and upper bounds of f on all arms.

        They hold in all rounds at once with probability 1 - delta.
        """
        raise NotImplementedError

    @property
    def noise_radius(self) -> float:
        """R sqrt(L + 2 ln(1/delta))"""
        return noise_radius(self.posterior.log_det, self.noise_scale, self.delta)

    def _warn_empty(self) -> None:
        self._warn_once(
            "its confidence set is empty: noise_scale or norm_bound is too small for these rewards"
        )


class DMMUCB(ResidualBall):
    """Play the highest upper bound, the least of the bounds of `ResidualBall` over some numbers a.

    Parameters
    ----------
    alphas
        The numbers a, by default ridge 8^k for k = -2, ..., 2; the ridge itself is always added.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "alphas": [0.1, 10.0]}
    >>> policy = kb.policies.DMMUCB(arms, kb.RBF(0.3), **settings)
    >>> policy.settings["alphas"]
    (0.1, 1.0, 10.0)
    >>> policy.tell(policy.choice(0), 0.9)
    >>> policy.score_arms(2).round(2)
    array([1.02, 1.  , 0.99])
    """

    about = About(
        name="dmm-ucb",
        title="DMM-UCB",
        family=TIGHTER,
        paper="Flynn & Reeb, Tighter confidence bounds for sequential kernel regression, 2024",
        guarantee="f in its band in all rounds with probability 1 - delta; never wider than "
        "AMM-UCB",
        ours="the mixture scale is c = R^2 / ridge, ridge 1 by default; alphas: ridge 8^k, k = "
        "-2..2",
    )

    levels: tuple[Posterior, ...]
    """One posterior for each a."""
    losses: Array
    """a q_a = min over f of |y - f(x)|^2 + a ||f||^2, for each a."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        alphas: Iterable[float] | float | None = None,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(
            domain,
            kernel,
            noise_scale=noise_scale,
            norm_bound=norm_bound,
            delta=delta,
            ridge=ridge,
            ties=ties,
        )
        self.alphas: Array = np.array(sorted({*ridges(alphas, ridge), ridge}))
        self.levels = tuple(
            self.posterior
            if a == ridge
            else posterior_on(self.posterior.kernel, self.domain, float(a))
            for a in self.alphas
        )
        self.losses = np.zeros(len(self.alphas))
        self._own = int((self.alphas == ridge).argmax())
        self.settings |= {"alphas": tuple(self.alphas.tolist()), "width": "the least over alphas"}

    def score_arms(self, t: int) -> Array:
        mean, reach = self._bounds()
        return np.asarray((mean + reach).min(0))

    def band(self, t: int) -> tuple[Array, Array]:
        mean, reach = self._bounds()
        return (mean - reach).max(0), self.index(t)

    def _bounds(self) -> tuple[Array, Array]:
        """Return mean_a and sqrt((R_t^2 - a q_a) / a + D^2) sd_a as arrays (alphas, arms)."""
        radius = self.losses[self._own] + self.noise_radius**2
        square = radius - self.losses + self.alphas * self.norm_bound**2
        if (square < -1e-9 * radius).any():
            self._warn_empty()
        width = np.sqrt(np.maximum(square, 0.0)) / np.sqrt(self.alphas)
        variance = np.array([posterior.variance for posterior in self.levels])
        mean = np.array([posterior.mean for posterior in self.levels])
        return mean, width[:, None] * np.sqrt(np.maximum(variance, 0.0))

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        """Learn a reward: a q_a grows by a (reward - mean)^2 / (a + variance), both of before."""
        for place, posterior in enumerate(self.levels):
            surprise = reward - float(posterior.mean[arm])
            share = posterior.ridge / (posterior.ridge + max(float(posterior.variance[arm]), 0.0))
            self.losses[place] += share * surprise * surprise
            posterior.update(arm, reward)


def ridges(alphas: Iterable[float] | float | None, ridge: float) -> list[float]:
    """Return the alphas given, or ridge 8^k, k = -2..2."""
    if alphas is None:
        return [ridge * 8.0**k for k in range(-2, 3)]
    chosen: Any = [alphas] if checks.is_number(alphas) else alphas
    many = isinstance(chosen, Iterable) and not isinstance(chosen, str)
    checks.needs(many, "DMMUCB", "alphas > 0, as in 0.25/1/4", alphas)
    return [checks.positive("DMMUCB", "alphas", a) for a in chosen]


class CMMUCB(ResidualBall):
    """Play the highest upper bound, the exact maximum of f(x) over the set of `ResidualBall`.

    By duality it is the least of the bounds over all a > 0.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms, settings = kb.Arms([[0.0], [0.5], [1.0]]), {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> exact = kb.policies.CMMUCB(arms, kb.RBF(0.3), **settings)
    >>> closed = kb.policies.AMMUCB(arms, kb.RBF(0.3), **settings)
    >>> for policy in (exact, closed):
    ...     policy.tell(policy.choice(0), 0.9)
    >>> exact.score_arms(2).round(2), closed.index(2).round(2)
    (array([1.  , 1.  , 0.98]), array([1.18, 1.12, 1.03]))
    """

    about = About(
        name="cmm-ucb",
        title="CMM-UCB",
        family=TIGHTER,
        paper="Flynn & Reeb, Tighter confidence bounds for sequential kernel regression, 2024",
        guarantee="f in its band in all rounds with probability 1 - delta; no wider than DMM-UCB "
        "while some f fits, or D sqrt(k)",
        ours="the mixture scale is c = R^2 / ridge, ridge 1 by default; the exact maximum by its "
        "dual in one number instead of a conic solver",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(
            domain,
            kernel,
            noise_scale=noise_scale,
            norm_bound=norm_bound,
            delta=delta,
            ridge=ridge,
            ties=ties,
        )
        self.columns = Columns(self.posterior.kernel, self.domain.points)
        self._settle()
        self.settings |= {"width": "the least over all alpha > 0"}

    def score_arms(self, t: int) -> Array:
        return self._dual().upper()

    def band(self, t: int) -> tuple[Array, Array]:
        self._check_round(t)
        return self._dual().band()

    def acquisition(self, now: Round) -> ArmScores:
        # A maximum needs exact bounds only for the arms that can be best.
        return ArmScores(self._dual().upper_near_maximum())

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        self.columns.add(arm)
        super()._learn(arm, reward, note)

    def _settle(self) -> None:
        self.spectrum = Spectrum.of(self.posterior, self.columns.arms, self.columns.cross)

    def _dual(self) -> Dual:
        dual = Dual.of(self.spectrum, self.posterior, self.noise_radius, self.norm_bound)
        if dual.empty:
            self._warn_empty()
        return dual
