"""Generic-GP, Algorithm 1 of the paper, and its members by their exploration law."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict, Unpack

from kernelbandits import checks, widths
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Gaussian,
    Law,
    Mixture,
    PointMass,
    as_law,
)
from kernelbandits.policies.index import IndexPolicy


class GenericSettings(TypedDict, total=False):
    noise_scale: float
    norm_bound: float
    ridge: float
    delta: float
    ties: str


class GenericGP(IndexPolicy):
    """Algorithm 1 of the paper: X_t = argmax f_hat_{t-1} + w_t g_{t-1}, w_t ~ P_{w,t}, with

    g = (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd, the paper's eq. (g3) at ridge 1 and delta 1/2.
    """

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
        chance = self._bounded(noise_scale, norm_bound, delta)
        self._set(
            widths.self_normalised(noise_scale, norm_bound, ridge, chance),
            exploration,
            gain="realised",
        )


class SimpleUCB(GenericGP):
    """w = 1 in every round: the deterministic upper-confidence rule."""

    def __init__(self, domain: Any, kernel: Any, **settings: Unpack[GenericSettings]) -> None:
        super().__init__(domain, kernel, PointMass(1.0), **settings)


class SimpleBernoulli(GenericGP):
    """w ~ Ber(p_t): a step of Simple-UCB with chance p_t, pure exploitation otherwise; p may be a schedule of laws."""

    def __init__(
        self, domain: Any, kernel: Any, *, p: Any = 0.5, **settings: Unpack[GenericSettings]
    ) -> None:
        law = Bernoulli(p) if checks.is_number(p) else p
        right = isinstance(law, Bernoulli) or (callable(law) and not isinstance(law, Law))
        checks.needs(right, "SimpleBernoulli", "a chance p or a schedule", p)
        super().__init__(domain, kernel, law, **settings)


class SimpleGaussian(GenericGP):
    """w ~ N(0, scale^2): one normal a round where Thompson sampling draws a whole function."""

    def __init__(
        self, domain: Any, kernel: Any, *, scale: float = 1.0, **settings: Unpack[GenericSettings]
    ) -> None:
        super().__init__(domain, kernel, Gaussian(0.0, scale), **settings)


class SimpleCategorical(GenericGP):
    """w = i/K with chance weights[i - 1], i = 1..K."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        weights: Iterable[float] = (1 / 4,) * 4,
        **settings: Unpack[GenericSettings],
    ) -> None:
        super().__init__(domain, kernel, Categorical(weights), **settings)


class SimpleMixture(GenericGP):
    """w = 1 with chance rho, else drawn from a sub-Gaussian law: the paper's mixtures, which lift P(w >= 1)."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        rho: float = 0.5,
        law: Any = Gaussian(0.0, 1.0),  # noqa: B008
        **settings: Unpack[GenericSettings],
    ) -> None:
        share = checks.chance("SimpleMixture", "rho", rho)
        mixture = Mixture((share, 1 - share), (PointMass(1.0), as_law(law)))
        super().__init__(domain, kernel, mixture, **settings)
