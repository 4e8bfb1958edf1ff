"""The deterministic upper-confidence rules: a ridge, a width and w = 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.domains import Arms
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import Matern, as_kernel
from kernelbandits.policies.index import IndexPolicy


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
        chance = self._bounded(noise_scale, norm_bound, delta)
        term, name = self._gain(gain)
        self._set(widths.improved(noise_scale, norm_bound, chance, term), PointMass(1.0), gain=name)


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
            name, width = "none", widths.srinivas_finite(self._arms(), confidence, scale)
        else:
            checks.needs(
                norm_bound is not None, "GPUCB", "norm_bound for the rkhs schedule", norm_bound
            )
            self._check_theory(noise_scale, norm_bound or 0.0)
            term, name = self._gain(gain)
            width = widths.srinivas_rkhs(norm_bound or 0.0, confidence, term, scale)
        stated = {
            "noise_scale": noise_scale,
            "norm_bound": norm_bound,
            "delta": delta,
            "gain": name,
        }
        self._set(width, PointMass(1.0), schedule=schedule, beta_scale=beta_scale, **stated)

    def _arms(self) -> int:
        """|X|"""
        other = 'domain.cover(n) has one, schedule="rkhs" needs none'
        checks.needs(
            self.finite, "GPUCB", f"a finite set for its finite schedule ({other})", self.domain
        )
        return len(self.domain)


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
        chance = self._bounded(noise_scale, norm_bound, delta)
        self._set(
            widths.self_normalised(noise_scale, norm_bound, value, chance),
            PointMass(1.0),
            gain="realised",
        )


def matern_ridge(kernel: Any, domain: Any, horizon: int | None) -> float:
    """ridge = T^(d / (2 nu + 2 d)), which balances a Matern kernel's eigendecay; the constant 1 before it is ours."""
    checks.needs(
        isinstance(kernel, Matern), "the ridge of a Matern eigendecay", "a Matern kernel", kernel
    )
    d = domain.dimension if hasattr(domain, "dimension") else Arms(domain).dimension
    rounds = checks.whole("WhitehouseUCB", "horizon", horizon)
    return float(rounds ** (d / (2 * kernel.nu + 2 * d)))
