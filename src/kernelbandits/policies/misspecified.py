"""Rules for a kernel that is not quite right: EC-GP-UCB and A-GP-UCB."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.exploration import PointMass
from kernelbandits.formatting import format_count
from kernelbandits.kernels import Kernel, as_trusted
from kernelbandits.policies.about import MISSPECIFIED, About
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import posterior_on
from kernelbandits.widths import Width

STEP = 1.1
"""Lengthscales shrink by this factor at a time. Between two steps rewards are learnt one by one."""


class ECGPUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound of a band that allows for an error of the model.

    f is within `error` of a function of norm at most D. Then

    index_t(x) = mean(x) + (S + error sqrt((t - 1) / ridge)) sd(x),
    S = D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L).

    The last term bounds what the errors of t - 1 rewards do to the mean.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of the function near f in the space of the kernel.
    error
        By how much f may differ from that function; by default D / 10.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "error": 0.05}
    >>> policy = kb.policies.ECGPUCB(arms, kb.RBF(0.3), **settings)
    >>> [round(policy.width_at(t), 3) for t in (1, 101)]
    [1.215, 1.715]
    """

    about = About(
        name="ec-gp-ucb",
        title="EC-GP-UCB",
        family=MISSPECIFIED,
        paper="Bogunovic & Krause, Misspecified Gaussian process bandit optimization, 2021",
        guarantee="regret O~(gamma_T sqrt(T) + error T sqrt(gamma_T)) with probability 1 - delta, "
        "if some function of norm at most D is within error of f everywhere",
        ours="sqrt(t - 1), the number of rewards so far; error = D / 10 unless given",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        error: float | None = None,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        allowed = norm_bound / 10 if error is None else checks.scale("ECGPUCB", "error", error)
        width = widths.bogunovic_krause(noise_scale, norm_bound, ridge, chance, allowed)
        self._set_rule(width, PointMass(1.0), error=allowed, gain="realised")


class AGPUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound while the lengthscale shrinks and the norm grows.

    In round t the lengthscale is l / g(t) and the norm bound is b(t) g(t)^(d/2) D, with
    g(t) = t^shrinkage in steps of a factor 1.1 and b(t) = t^norm_growth. A function of norm D at
    some lengthscale has at most norm g^(d/2) D at one that is g times shorter. So if the
    lengthscale or the norm given are wrong, f lies in the band from some round on. j - 1 is the
    number of steps so far and delta_j = 6 delta / (pi j)^2 in

    index_t(x) = mean(x) + (b g^(d/2) D + (R / sqrt(ridge)) sqrt(2 ln(1/delta_j) + L)) sd(x).

    Parameters
    ----------
    kernel
        With a lengthscale that is as long as it may be.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a first guess of the norm of f in the space of the kernel.
    shrinkage
        The power of t by which the lengthscale shrinks.
    norm_growth
        The power of t by which the norm bound grows besides.
    domain, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "shrinkage": 0.5}
    >>> policy = kb.policies.AGPUCB(arms, kb.RBF(0.3), **settings)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend(), round(policy.posterior.kernel.lengthscale, 3)
    (2, 0.054)
    """

    about = About(
        name="a-gp-ucb",
        title="A-GP-UCB",
        family=MISSPECIFIED,
        paper="Berkenkamp, Schoellig & Krause, No-regret Bayesian optimization with unknown "
        "hyperparameters, 2019",
        guarantee="with probability 1 - delta f lies in the band in every round in which its norm "
        "at the lengthscale of the round is at most the bound of the round (RBF, Matern); then "
        "regret is that of GP-UCB times powers of b and g",
        ours="both growth functions, which the paper leaves open (shrinkage 0.1, norm_growth 0); "
        "the norm factor g^(d/2); steps of 1.1 with delta divided among them",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        shrinkage: float = 0.1,
        norm_growth: float = 0.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        kernel = self.posterior.kernel
        scales = self.finite or kernel.lengthscales(self.domain.dimension) is not None
        space = f"a space of {format_count(self.domain.dimension, 'coordinate')}"
        needed = f"a kernel with a lengthscale on {space}, such as kb.RBF or kb.Matern"
        checks.needs(scales, self.about.name, needed, kernel)
        self.delta = self._check_bounds(noise_scale, norm_bound, delta)
        self.shrinkage = checks.nonnegative("AGPUCB", "shrinkage", shrinkage)
        self.norm_growth = checks.nonnegative("AGPUCB", "norm_growth", norm_growth)
        self.noise_scale, self.norm_bound = float(noise_scale), float(norm_bound)
        self.steps = 0
        """How often the lengthscale has shrunk."""
        self._first_kernel: Kernel = self.posterior.kernel
        growth = {"shrinkage": shrinkage, "norm_growth": norm_growth}
        self._set_rule(self._width(0), PointMass(1.0), gain="realised", **growth)

    def _width(self, steps: int) -> Width:
        """Return the width after so many steps.

        It is b(t) g^(d/2) D + (R / sqrt(ridge)) sqrt(2 ln(1/delta_j) + L), with g = 1.1^steps.
        """
        norm = self.norm_bound * STEP ** (steps * self.domain.dimension / 2)
        share = self.noise_scale**2 / self.posterior.ridge
        chance = 6 * self.delta / (math.pi * (steps + 1)) ** 2
        square, power = 2 * share * math.log(1 / chance), self.norm_growth
        return Width(
            "b(t) g(t)^(d/2) D + (R/sqrt(ridge)) sqrt(2 ln(1/delta_j) + L)",
            lambda t: (norm * np.float64(t) ** power, square, share),
        )

    def _learn(self, place: Any, reward: float, note: Mapping[str, float]) -> None:
        steps = count_steps(self.posterior.events + 2, self.shrinkage)
        if steps == self.steps:
            super()._learn(place, reward, note)
            return
        kernel = self._first_kernel.shrink(STEP**steps)
        fresh: Any = posterior_on(as_trusted(kernel), self.domain, self.posterior.ridge)
        # On arms the kernel may be a function of the user's, which may fail: all that it is asked
        # for comes before anything changes.
        if self.finite:
            tally = copy.deepcopy(self.posterior.tally)
            tally.add(place, reward)
            fresh.learn(tally.counts, tally.sums)
        else:
            self.posterior.update(place, reward)
            old = self.posterior
            fresh.learn(old.points, old.counts, old.sums)
        self.posterior, self.steps, self.width = fresh, steps, self._width(steps)


def count_steps(t: int, shrinkage: float) -> int:
    """Return how often the lengthscale of round t has shrunk.

    It is the largest j with 1.1^j <= t^shrinkage.
    """
    # 1e-9 keeps a power that is a step but for rounding from being taken as less.
    return math.floor(shrinkage * math.log(t) / math.log(STEP) + 1e-9)
