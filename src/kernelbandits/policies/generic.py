"""Generic-GP, Algorithm 1 of the paper, and its members by their exploration law."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
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
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy


def describe(name: str, title: str, rate: str) -> About:
    """Return what is known of a member of the family."""
    gap = "at delta = 1/2 proved if R is small against D, else the proof has a gap (docs/theory)"
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


@dataclass(frozen=True)
class LawsOfSetting:
    """A schedule of laws from a schedule of their setting: t -> p_t becomes t -> Ber(p_t)."""

    schedule: Callable[..., Any]
    """(t), (t, posterior) or (t, posterior, width) -> the setting of the round, or its law."""
    make_law: Callable[[Any], Law]

    def __post_init__(self) -> None:
        # `Exploration` counts the arguments of a schedule by its signature.
        object.__setattr__(self, "__signature__", inspect.signature(self.schedule))

    def __call__(self, *seen: Any) -> Law:
        value = self.schedule(*seen)
        return value if is_law(value) else self.make_law(value)


def is_law(value: Any) -> bool:
    return isinstance(value, Law) or hasattr(value, "ppf")


def is_schedule(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not is_law(value)


def as_exploration(value: Any, make_law: Callable[[Any], Law]) -> Any:
    """Return the law of a setting, or the schedule of laws of a schedule.

    A schedule may return the setting of the round or the law itself. One that returns laws is kept
    as it is: the package's own know more of themselves than the laws they return.
    """
    if is_law(value) or not callable(value):
        return value if is_law(value) else make_law(value)
    states_range = hasattr(value, "chance_range") or hasattr(value, "runs")
    return value if states_range else LawsOfSetting(value, make_law)


class GenericGP(IndexPolicy[Point]):
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
    ridge, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.GenericGP(arms, kb.RBF(0.3), kb.Gaussian(), noise_scale=0.1, norm_bound=1.0)
    >>> sorted(policy.ask(1, kb.Streams(0)).note)
    ['index', 'mean', 'sd', 'weight', 'width']
    """

    about = describe("generic-gp", "Generic-GP", "O((C2 + C3) gamma_T sqrt(T)) if P(w >= 1) > 0")
    is_generic = True

    def __init__(
        self,
        domain: Playable[Point],
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


class SimpleUCB(IndexPolicy[Point]):
    """Play the highest upper confidence bound: Generic-GP with w = 1 in every round.

    R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Parameters
    ----------
    domain, kernel, ridge, delta, ties
        As for `Policy`.

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
        domain: Playable[Point],
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


class SimpleBernoulli(IndexPolicy[Point]):
    """Play as Simple-UCB with probability p_t, and the highest estimate otherwise: w ~ Ber(p_t).

    `p` is a probability, or a schedule of probabilities or of Bernoulli laws such as `kb.Decay()`.
    R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Parameters
    ----------
    domain, kernel, ridge, delta, ties
        As for `Policy`.

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
        domain: Playable[Point],
        kernel: Any,
        *,
        p: Any = 0.5,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        right = checks.is_number(p) or isinstance(p, Bernoulli) or is_schedule(p)
        checks.needs(right, "SimpleBernoulli", "a probability p or a schedule", p)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        law = as_exploration(p, Bernoulli)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class SimpleGaussian(IndexPolicy[Point]):
    """Play mean + w width sd with one normal number w ~ N(0, scale^2) in each round.

    `scale` is a number, or a schedule of numbers or of laws. Thompson sampling draws a whole
    function in place of w. R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Parameters
    ----------
    domain, kernel, ridge, delta, ties
        As for `Policy`.

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
        domain: Playable[Point],
        kernel: Any,
        *,
        scale: Any = 1.0,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        law = as_exploration(scale, lambda size: Gaussian(0.0, size))
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class SimpleCategorical(IndexPolicy[Point]):
    """Play mean + w width sd with a weight w from the levels 1/K, 2/K, ..., 1.

    w = i/K with probability weights[i - 1], i = 1..K. `weights` are probabilities, or a schedule of
    them or of laws. R is `noise_scale` and D is `norm_bound`; see `GenericGP` for the width.

    Parameters
    ----------
    domain, kernel, ridge, delta, ties
        As for `Policy`.

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
        domain: Playable[Point],
        kernel: Any,
        *,
        weights: Any = (1 / 4,) * 4,
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        law = as_exploration(weights, Categorical)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class SimpleMixture(IndexPolicy[Point]):
    """Play mean + w width sd, where w = 1 with probability rho and is drawn from a law otherwise.

    These are the paper's mixtures, which raise P(w >= 1). `rho` is a probability, or a schedule of
    probabilities or of laws. `law` is any sub-Gaussian law. R is `noise_scale` and D is
    `norm_bound`; see `GenericGP` for the width.

    Parameters
    ----------
    domain, kernel, ridge, delta, ties
        As for `Policy`.

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
        domain: Playable[Point],
        kernel: Any,
        *,
        rho: Any = 0.5,
        law: Any = Gaussian(0.0, 1.0),  # noqa: B008
        noise_scale: float,
        norm_bound: float,
        ridge: float = 1.0,
        delta: float = 0.5,
        ties: str = "random",
    ) -> None:
        other = as_law(law)

        def mix(chance: Any) -> Mixture:
            share = checks.chance("SimpleMixture", "rho", chance)
            return Mixture((share, 1 - share), (PointMass(1.0), other))

        mixture = as_exploration(rho, mix)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, mixture)
