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
    """Play the greatest estimate plus a random multiple of its uncertainty (Algorithm 1).

    X_t = argmax f_hat_{t-1} + w_t g_{t-1}, with w_t drawn from the exploration law of the round and

    g = (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd,

    the paper's eq. (g3) at ridge 1 and delta 1/2. L = log det(I + K / ridge) of what was played.

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
    is_generic = True

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
    """Play the highest upper confidence bound: Generic-GP with w = 1 in every round.

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
    is_generic = True

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
    """Play as Simple-UCB with probability p_t, and the highest estimate otherwise: w ~ Ber(p_t).

    `p` is a probability, or a schedule of Bernoulli laws such as `kb.Decay()`. R is `noise_scale`
    and D is `norm_bound`; see `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleBernoulli(arms, kb.RBF(0.3), p=0.25, noise_scale=0.1, norm_bound=1.0)
    >>> {policy.ask(t, kb.Streams(0)).note["weight"] for t in range(1, 30)} == {0.0, 1.0}
    True
    """

    about = describe("simple-bernoulli", "Simple-Bernoulli", "O~(gamma_T sqrt(T) / min p_t)")
    is_generic = True

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
        checks.needs(right, "SimpleBernoulli", "a probability p or a schedule", p)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class SimpleGaussian(IndexPolicy):
    """Play mean + w width sd with one normal number w ~ N(0, scale^2) in each round.

    Thompson sampling draws a whole function in its place. R is `noise_scale` and D is `norm_bound`;
    see `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleGaussian(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> weights = [policy.ask(t, kb.Streams(0)).note["weight"] for t in range(1, 30)]
    >>> min(weights) < 0 < max(weights)
    True
    """

    about = describe("simple-gaussian", "Simple-Gaussian", "O~(gamma_T sqrt(T))")
    is_generic = True

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
    """Play mean + w width sd with a weight w from the levels 1/K, 2/K, ..., 1.

    w = i/K with probability weights[i - 1], i = 1..K. R is `noise_scale` and D is `norm_bound`; see
    `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleCategorical(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> sorted({policy.ask(t, kb.Streams(0)).note["weight"] for t in range(1, 50)})
    [0.25, 0.5, 0.75, 1.0]
    """

    about = describe("simple-categorical", "Simple-Categorical", "O~(gamma_T sqrt(T) / min p_K)")
    is_generic = True

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
    """Play mean + w width sd, where w = 1 with probability rho and is drawn from a law otherwise.

    These are the paper's mixtures, which raise P(w >= 1). `law` is any sub-Gaussian law. R is
    `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.SimpleMixture(arms, kb.RBF(0.3), rho=1.0, noise_scale=0.1, norm_bound=1.0)
    >>> policy.ask(1, kb.Streams(0)).note["weight"]
    1.0
    """

    about = describe("simple-mixture", "Simple-Mixture", "O~(gamma_T sqrt(T) / min rho_t)")
    is_generic = True

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
