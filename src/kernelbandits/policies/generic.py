"""Generic-GP, Algorithm 1 of the paper, and its members by their exploration law."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Gaussian,
    Law,
    Mixture,
    PointMass,
    as_law,
)
from kernelbandits.policies.about import EXPLORATION, About
from kernelbandits.policies.index import IndexPolicy


def describe(name: str, title: str, rate: str) -> About:
    """What is known of a member of the family."""
    gap = "its printed proof has a gap at delta = 1/2 (docs/algorithms.md)"
    return About(
        name=name,
        title=title,
        family=EXPLORATION,
        paper="Hu, He & Sutherland, "
        "Efficient kernelized bandit algorithms via exploration distributions",
        guarantee=f"expected regret {rate}; {gap}",
        ours="ridge and delta as options; the paper's are 1 and 1/2",
        by_name_only=("delta",),
    )


class GenericGP(IndexPolicy):
    """Algorithm 1 of the paper: X_t = argmax f_hat_{t-1} + w_t g_{t-1}, w_t ~ P_{w,t}, with

    g = (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd,

    the paper's eq. (g3) at ridge 1 and delta 1/2.

    Parameters
    ----------
    domain
        What may be played: `kb.Arms`, an (n, d) array, a `kb.Box`, ...
    kernel
        How alike rewards are, for instance `kb.RBF(0.2)`.
    exploration
        The law of the weight w_t (`kb.Bernoulli(0.5)`), a schedule t -> law, or a function
        (t, posterior) -> law.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.GenericGP(arms, kb.RBF(0.3), kb.Gaussian(), noise_scale=0.1, norm_bound=1.0)
    >>> sorted(policy.ask(1, kb.Streams(0)).note)
    ['mean', 'sd', 'weight', 'width']
    """

    about = describe("generic-gp", "Generic-GP", "O((C2 + C3) gamma_T sqrt(T)) if P(w >= 1) > 0")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        exploration: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, exploration)


class SimpleUCB(IndexPolicy):
    """w = 1 in every round: the deterministic upper-confidence rule.

    R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> policy.ask(1, kb.Streams(0)).note["weight"]
    1.0
    """

    about = describe("simple-ucb", "Simple-UCB", "O~(gamma_T sqrt(T))")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, PointMass(1.0))


class SimpleBernoulli(IndexPolicy):
    """w ~ Ber(p_t): a step of Simple-UCB with chance p_t, pure exploitation otherwise.

    `p` is a chance, or a schedule of Bernoulli laws such as `kb.Decay()`. R is `noise_scale` and D
    is `norm_bound`; see `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleBernoulli(arms, kb.RBF(0.3), p=0.25, noise_scale=0.1, norm_bound=1.0)
    >>> {policy.ask(t, kb.Streams(0)).note["weight"] for t in range(1, 30)} == {0.0, 1.0}
    True
    """

    about = describe("simple-bernoulli", "Simple-Bernoulli", "O~(gamma_T sqrt(T) / min p_t)")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        p: Any = 0.5,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        law = Bernoulli(p) if checks.is_number(p) else p
        schedule = callable(law) and not isinstance(law, Law)
        right = isinstance(law, Bernoulli) or schedule
        checks.needs(right, "SimpleBernoulli", "a chance p or a schedule", p)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class SimpleGaussian(IndexPolicy):
    """w ~ N(0, scale^2): one normal number a round where Thompson sampling draws a whole function.

    R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.
    """

    about = describe("simple-gaussian", "Simple-Gaussian", "O~(gamma_T sqrt(T))")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        scale: float = 1.0,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, Gaussian(0.0, scale))


class SimpleCategorical(IndexPolicy):
    """w = i/K with chance weights[i - 1], i = 1..K.

    R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.
    """

    about = describe("simple-categorical", "Simple-Categorical", "O~(gamma_T sqrt(T) / min p_K)")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        weights: Iterable[float] = (1 / 4,) * 4,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, Categorical(weights))


class SimpleMixture(IndexPolicy):
    """w = 1 with chance rho, else drawn from a sub-Gaussian law.

    These are the paper's mixtures, which raise P(w >= 1). R is `noise_scale` and D is `norm_bound`;
    see `GenericGP` for the width.
    """

    about = describe("simple-mixture", "Simple-Mixture", "O~(gamma_T sqrt(T) / min rho_t)")

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        rho: float = 0.5,
        law: Any = Gaussian(0.0, 1.0),  # noqa: B008
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        share = checks.chance("SimpleMixture", "rho", rho)
        mixture = Mixture((share, 1 - share), (PointMass(1.0), as_law(law)))
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, mixture)
