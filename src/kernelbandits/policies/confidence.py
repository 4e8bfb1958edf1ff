"""The deterministic upper-confidence rules: a ridge, a width and w = 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.domains import Arms
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.policies.about import CONFIDENCE, About
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy


class IGPUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound, with a width that grows with the information gain.

    index_t(x) = mean(x) + beta_t sd(x) at ridge 1 + 2/T, with

    beta_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta))).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    delta
        The band holds in all rounds with probability 1 - delta.
    gain
        What stands for gamma_{t-1}: "realised" (half the log-determinant of what was played),
        "greedy", "analytic", or a function of t.
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.IGPUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, horizon=20)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="igp-ucb",
        title="IGP-UCB",
        family=CONFIDENCE,
        paper="Chowdhury & Gopalan, On kernelized multi-armed bandits, 2017",
        guarantee="regret O(sqrt(T) (D sqrt(gamma_T) + gamma_T)) with probability 1 - delta",
        ours="gain: realised L/2 by default, which the underlying inequality allows",
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
        gain: str | Callable[[int], float] = "realised",
        ties: str = "random",
    ) -> None:
        ridge = 1 + 2 / checks.whole("IGPUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        term, name = self._gain(gain)
        self._set_rule(
            widths.chowdhury_gopalan(noise_scale, norm_bound, chance, term),
            PointMass(1.0),
            gain=name,
        )


class GPUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound, with a width that grows with the round.

    index_t(x) = mean(x) + sqrt(beta_t) sd(x) at ridge R^2.

    Parameters
    ----------
    noise_scale
        R, the standard deviation of the noise (schedule "rkhs": the noise is bounded by R).
    schedule
        "finite": beta_t = 2 ln(|X| t^2 pi^2 / (6 delta)) on |X| arms, for f drawn from GP(0, k).
        "rkhs": beta_t = 2 D^2 + 300 gamma_t ln^3(t / delta), for |f| <= D.
    norm_bound
        D, a bound on the norm of f in the space of the kernel; the schedule "rkhs" needs it.
    gain
        What stands for gamma_t in the schedule "rkhs", as for `IGPUCB`.
    beta_scale
        A factor before beta_t; below 1 it explores less.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.GPUCB(arms, kb.RBF(0.3), noise_scale=0.1)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="gp-ucb",
        title="GP-UCB (Srinivas)",
        family=CONFIDENCE,
        paper="Srinivas, Krause, Kakade & Seeger, Gaussian process optimization in the bandit "
        "setting: no regret and experimental design, 2010",
        guarantee="regret O~(sqrt(T gamma_T)) for f ~ GP (finite), O~(gamma_T sqrt(T)) for "
        "|f| <= D (rkhs)",
        ours="beta_scale (1; the authors' experiments use 1/5); gain realised is ours for the rkhs"
        " schedule",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        delta: float = 0.1,
        schedule: str = "finite",
        norm_bound: float | None = None,
        gain: str | Callable[[int], float] = "greedy",
        beta_scale: float = 1.0,
        ties: str = "random",
    ) -> None:
        checks.positive("GPUCB", "noise_scale", noise_scale)
        ridge = checks.scale("GPUCB", "noise_scale", noise_scale) ** 2
        checks.one_of("GPUCB", "schedule", schedule, ("finite", "rkhs"))
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        confidence = checks.inside("GPUCB", "delta", delta)
        scale = checks.positive("GPUCB", "beta_scale", beta_scale)
        if schedule == "finite":
            checks.scale("GPUCB", "norm_bound", norm_bound or 0.0)
            self._check_kernel()
            other = 'domain.cover(n) has one, schedule="rkhs" needs none'
            needed = f"a finite set for its finite schedule ({other})"
            checks.needs(self.finite, "GPUCB", needed, self.domain)
            name, width = "none", widths.srinivas_finite(len(self.domain), confidence, scale)
        else:
            needed = "norm_bound for the rkhs schedule"
            checks.needs(norm_bound is not None, "GPUCB", needed, norm_bound)
            self._check_theory(noise_scale, norm_bound or 0.0)
            term, name = self._gain(gain)
            width = widths.srinivas_rkhs(norm_bound or 0.0, confidence, term, scale)
        stated = {
            "noise_scale": noise_scale,
            "norm_bound": norm_bound,
            "delta": delta,
            "gain": name,
        }
        self._set_rule(width, PointMass(1.0), schedule=schedule, beta_scale=beta_scale, **stated)


class WhitehouseUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound, with a width that holds at every ridge.

    index_t(x) = mean(x) + (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd(x),

    with L = log det(I + K / ridge) of what was played.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    ridge
        A number, or "matern": T^(d / (2 nu + 2 d)) for a kernel of smoothness nu, such as Matern,
        and a horizon T.
    horizon
        T, how many rounds will be played; only the ridge "matern" needs it.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.WhitehouseUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, ridge=0.1)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="whitehouse-ucb",
        title="GP-UCB (Whitehouse)",
        family=CONFIDENCE,
        paper="Whitehouse, Ramdas & Wu, On the sublinear regret of GP-UCB, 2023",
        guarantee="regret O~(gamma_T(ridge) sqrt(T)) with probability 1 - delta, sublinear for "
        "Matern at the tuned ridge",
        ours="the constant 1 before T^(d / (2 nu + 2 d)) in the ridge 'matern'",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float | str = 1.0,
        horizon: int | None = None,
        ties: str = "random",
    ) -> None:
        if isinstance(ridge, str):
            checks.one_of("WhitehouseUCB", "a ridge > 0 or", ridge, ("matern",))
            ridge = matern_ridge(as_kernel(kernel), domain, horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        self._set_self_normalised(noise_scale, norm_bound, delta, PointMass(1.0))


def matern_ridge(kernel: Kernel, domain: Any, horizon: int | None) -> float:
    """Return T^(d / (2 nu + 2 d)), the ridge that balances the eigendecay of a Matern kernel.

    The constant 1 before it is ours.
    """
    d = domain.dimension if hasattr(domain, "dimension") else Arms(domain).dimension
    decay = kernel.eigendecay(d)
    nu = math.inf if decay is None else decay.smoothness(d)
    needed = "a kernel of finite smoothness, such as kb.Matern (else give a number)"
    checks.needs(math.isfinite(nu), "the ridge 'matern'", needed, kernel)
    rounds = checks.whole("WhitehouseUCB", "horizon", horizon)
    return float(rounds ** (d / (2 * nu + 2 * d)))
