"""Generic-GP and every rule of its form: play the maximiser of mean + w_t width_t sd, w_t drawn afresh each round."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration import (
    Bernoulli,
    Categorical,
    Exploration,
    Gaussian,
    Law,
    Mixture,
    PointMass,
    as_law,
)
from kernelbandits.kernels import Matern, as_kernel
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.streams import Streams, as_randomness
from kernelbandits.theory.gains import gain_name, gain_term
from kernelbandits.widths import Width


@dataclass(frozen=True)
class Tables:
    """All that an index policy draws or looks up in rounds 1..T, as arrays for the compiled loop."""

    widths: Array
    """(T, 3): a_t, b_t, c_t"""
    weights: Array
    ties: Array


class IndexPolicy(Policy):
    """index_t(x) = mean(x) + w_t (a_t + sqrt(b_t + c_t L)) sd(x): a value (ridge, width, exploration) plays it."""

    width: Width
    exploration: Exploration

    def _set(self, width: Width, exploration: Any, **settings: Any) -> None:
        self.width = width
        self.exploration = Exploration.of(exploration)
        self.settings |= {"width": width.rule, "exploration": repr(self.exploration.source), **settings}
        if self.exploration.arguments == 0:
            self._check_optimism(self.exploration.source)

    def index(self, t: int, weight: float = 1.0) -> Array:
        """mean + weight * width_t * sd, over all arms."""
        self._check_round(t)
        checks.number("index", "weight", weight)
        width = self.width(t, self.posterior.log_det)
        return self.posterior.mean + (weight * width) * self.posterior.sd

    def ask(self, t: int, rng: Any) -> Choice:
        """Algorithm 1, lines 3-5: draw w_t, play the maximiser of the index."""
        self._check_round(t)
        randomness = as_randomness(rng)
        law = self.exploration.law(t, self.posterior)
        if self.exploration.arguments:
            self._check_optimism(law)
        weight = law.draw(randomness.uniform("weight", t))
        if not math.isfinite(weight):
            raise ValueError(f"{law} needs a finite weight, got {weight!r}")
        tie = randomness.uniform("tie", t)
        posterior = self.posterior
        width, sd = self.width(t, posterior.log_det), posterior.sd
        arm = argmax(posterior.mean + (weight * width) * sd, self.ties, tie)
        note = {"weight": weight, "width": width, "mean": float(posterior.mean[arm]), "sd": float(sd[arm])}
        return Choice(self.domain.points[arm], arm, note)

    def tables(self, horizon: int, streams: Streams) -> Tables:
        """The numbers `ask` would use in rounds 1..horizon."""
        weights = self.exploration.weights(streams.uniforms("weight", horizon))
        checks.needs(bool(abs(weights).max(initial=0.0) < math.inf), "exploration", "finite weights", weights)
        for law, _, _ in self.exploration.runs(horizon):
            self._check_optimism(law)
        return Tables(self.width.table(horizon), weights, streams.uniforms("tie", horizon))

    def _check_optimism(self, law: Law) -> None:
        if law.optimism <= 0:
            text = f"the optimism condition P(w >= 1) > 0 fails for {law}: no regret guarantee holds"
            self._say_once(text, "optimism")


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
        self._check_theory(noise_scale, norm_bound)
        width = widths.self_normalised(noise_scale, norm_bound, ridge, checks.inside("GenericGP", "delta", delta))
        self._set(width, exploration, noise_scale=noise_scale, norm_bound=norm_bound, delta=delta, gain="realised")


class SimpleUCB(GenericGP):
    """w = 1 in every round: the deterministic upper-confidence rule."""

    def __init__(self, domain: Any, kernel: Any, **settings: Unpack[GenericSettings]) -> None:
        super().__init__(domain, kernel, PointMass(1.0), **settings)


class SimpleBernoulli(GenericGP):
    """w ~ Ber(p_t): a step of Simple-UCB with chance p_t, pure exploitation otherwise; p may be a schedule of laws."""

    def __init__(self, domain: Any, kernel: Any, *, p: Any = 0.5, **settings: Unpack[GenericSettings]) -> None:
        law = Bernoulli(p) if checks.is_number(p) else p
        right = isinstance(law, Bernoulli) or (callable(law) and not isinstance(law, Law))
        checks.needs(right, "SimpleBernoulli", "a chance p or a schedule", p)
        super().__init__(domain, kernel, law, **settings)


class SimpleGaussian(GenericGP):
    """w ~ N(0, scale^2): one normal a round where Thompson sampling draws a whole function."""

    def __init__(self, domain: Any, kernel: Any, *, scale: float = 1.0, **settings: Unpack[GenericSettings]) -> None:
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


class IGPUCB(IndexPolicy):
    """Chowdhury & Gopalan (2017): mean + beta_t sd at ridge 1 + 2/T,

    beta_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(1/delta))).
    """

    def __init__(
        self,
        domain: Any,
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
        self._check_theory(noise_scale, norm_bound)
        term = gain_term(gain, self.posterior.kernel, self.domain, ridge)
        width = widths.improved(noise_scale, norm_bound, checks.inside("IGPUCB", "delta", delta), term)
        self._set(
            width, PointMass(1.0), noise_scale=noise_scale, norm_bound=norm_bound, delta=delta, gain=gain_name(gain)
        )


class GPUCB(IndexPolicy):
    """Srinivas et al. (2010): mean + sqrt(beta_t) sd at ridge R^2, R the noise's standard deviation.

    schedule "finite": beta_t = 2 ln(|X| t^2 pi^2 / (6 delta)), for f ~ GP(0, k);
    schedule "rkhs": beta_t = 2 D^2 + 300 gamma_t ln^3(t / delta), for |f| <= D and noise bounded by R.
    """

    def __init__(
        self,
        domain: Any,
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
        confidence, scale = (
            checks.inside("GPUCB", "delta", delta),
            checks.positive("GPUCB", "beta_scale", beta_scale),
        )
        if schedule == "finite":
            checks.scale("GPUCB", "norm_bound", norm_bound or 0.0)
            self._check_kernel()
            gain, width = "none", widths.srinivas_finite(len(self.domain), confidence, scale)
        else:
            checks.needs(norm_bound is not None, "GPUCB", "norm_bound for the rkhs schedule", norm_bound)
            self._check_theory(noise_scale, norm_bound or 0.0)
            term = gain_term(gain, self.posterior.kernel, self.domain, ridge)
            width = widths.srinivas_rkhs(norm_bound or 0.0, confidence, term, scale)
        stated = {"noise_scale": noise_scale, "norm_bound": norm_bound, "delta": delta, "gain": gain_name(gain)}
        self._set(width, PointMass(1.0), schedule=schedule, beta_scale=beta_scale, **stated)


class WhitehouseUCB(IndexPolicy):
    """Whitehouse, Ramdas & Wu (2023): mean + (D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)) sd.

    ridge is a number, or "matern": T^(d / (2 nu + 2 d)) from the kernel's eigendecay and the horizon.
    """

    def __init__(
        self,
        domain: Any,
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
        value = ridge
        super().__init__(domain, kernel, ridge=value, ties=ties, horizon=horizon)
        self._check_theory(noise_scale, norm_bound)
        width = widths.self_normalised(noise_scale, norm_bound, value, checks.inside("WhitehouseUCB", "delta", delta))
        stated = {"noise_scale": noise_scale, "norm_bound": norm_bound, "delta": delta, "gain": "realised"}
        self._set(width, PointMass(1.0), **stated)


def matern_ridge(kernel: Any, domain: Any, horizon: int | None) -> float:
    """ridge = T^(d / (2 nu + 2 d)), which balances a Matern kernel's eigendecay; the constant 1 before it is ours."""
    checks.needs(isinstance(kernel, Matern), "the ridge of a Matern eigendecay", "a Matern kernel", kernel)
    points = getattr(domain, "points", domain)
    d, rounds = (
        checks.points("WhitehouseUCB", points).shape[1],
        checks.whole("WhitehouseUCB", "horizon", horizon),
    )
    return float(rounds ** (d / (2 * kernel.nu + 2 * d)))
