"""Linear bandits: f(x) = x . theta, learnt in d x d form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import Linear
from kernelbandits.policies.base import Choice, Maximiser, Policy
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import LinearPosterior
from kernelbandits.streams import as_randomness
from kernelbandits.widths import Width


class LinearRule(Policy):
    """A policy that takes rewards as linear in x, whatever kernel it is given, and says so."""

    posterior: LinearPosterior

    def __init__(
        self, domain: Any, kernel: Any, *, ridge: float, ties: str, horizon: int | None = None
    ) -> None:
        super().__init__(
            domain, kernel, ridge=ridge, ties=ties, horizon=horizon, form=LinearPosterior
        )
        self.settings |= {"kernel": repr(self.posterior.kernel)}
        if not isinstance(kernel, Linear):
            self._say_once("takes rewards as linear in x; the kernel is not used")

    def _check_kernel(self) -> None:
        largest = float(self.posterior.prior.max())
        if largest > 1 + 1e-9:
            self._say_once(f"its guarantee needs |x|^2 <= 1, got {largest:g}; scale the points")


class OFUL(LinearRule, IndexPolicy):
    """Abbasi-Yadkori, Pal & Szepesvari (2011): the greatest x . theta over the confidence ellipsoid,

    x . thetahat + (R sqrt(2 ln(1/delta) + L) + sqrt(ridge) S) |x|_{Vbar^-1},   L = ln(det Vbar / det(ridge I)).

    |x|_{Vbar^-1} = sd / sqrt(ridge), so it is the rule of Whitehouse et al. on the linear kernel; S is `norm_bound`.
    """

    searches = False

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
        chance = self._bounded(noise_scale, norm_bound, delta)
        self._set(
            widths.self_normalised(noise_scale, norm_bound, ridge, chance),
            PointMass(1.0),
            gain="realised",
        )


class RarelySwitchingOFUL(LinearRule, Maximiser):
    """OFUL that looks again only when det Vbar_t > (1 + C) det Vbar_tau, L > L_tau + ln(1 + C), tau its last look.

    In between it holds the index of round tau and plays the same arm; `switch` is C. After t rewards it has looked
    again at most L / ln(1 + C) times.
    """

    width: Width
    held: Array
    """The index of round tau."""
    tau: int
    """The round of the last switch; its uniform settles a tie until the next."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        switch: float = 1.0,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        chance = self._bounded(noise_scale, norm_bound, delta)
        self.growth = math.log1p(checks.positive(type(self).__name__, "switch", switch))
        self.width = widths.self_normalised(noise_scale, norm_bound, ridge, chance)
        self.settings |= {"width": self.width.rule, "switch": switch, "gain": "realised"}
        self.settings |= {"exploration": "held between switches"}
        self._switch()

    def _index(self) -> Array:
        """mean + width sd as they were in round tau."""
        return self.held

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        arm = argmax(self.held, self.ties, as_randomness(rng).uniform("tie", self.tau))
        note = {"index": float(self.held[arm]), "tau": float(self.tau), **self._why(arm)}
        return Choice(self.domain.points[arm], arm, note)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        if self.posterior.log_det > self.log_det + self.growth:
            self._switch()

    def _switch(self) -> None:
        self.tau, self.log_det = self.posterior.events + 1, self.posterior.log_det
        self.held = self.posterior.mean + self.width(self.tau, self.log_det) * self.posterior.sd
        self.held.flags.writeable = False


class LinTS(LinearRule):
    """Agrawal & Goyal (2013): draw theta ~ N(thetahat, v_t^2 B^-1), B = I + sum x x', and play the greatest x . theta.

    schedule "anytime": v_t = R sqrt(9 d ln(t / delta));
    schedule "icml": v = R sqrt((24 / eps) d ln(1 / delta)), eps = 1 / ln T.
    """

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        delta: float = 0.1,
        schedule: str = "anytime",
        horizon: int | None = None,
        ties: str = "random",
    ) -> None:
        checks.one_of("LinTS", "schedule", schedule, WIDTHS)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        long = schedule != "icml" or (self.horizon or 0) >= 3
        checks.needs(long, "LinTS", "a horizon >= 3 for the icml schedule", horizon)
        self._check_theory(noise_scale, 1.0)
        self.noise_scale, self.delta = float(noise_scale), checks.inside("LinTS", "delta", delta)
        self.schedule = schedule
        self.settings |= {
            "width": WIDTHS[schedule],
            "noise_scale": noise_scale,
            "delta": delta,
            "schedule": schedule,
        }
        self.settings |= {"exploration": "a posterior draw of the parameter", "gain": "none"}

    def width_at(self, t: int) -> float:
        """v_t"""
        d = self.domain.dimension
        if self.schedule == "icml":
            return self.noise_scale * math.sqrt(
                24 * math.log(self.horizon or 0) * d * math.log(1 / self.delta)
            )
        return self.noise_scale * math.sqrt(9 * d * math.log(t / self.delta))

    def parameter(self, t: int, z: Array) -> Array:
        """thetahat + v_t S z, S S' = B^-1, from d standard normals: the draw itself."""
        return self.posterior.theta + self.width_at(t) * (self.posterior.root @ z)

    def sample(self, t: int, z: Array) -> Array:
        """x . theta of the draw, over all arms."""
        points: Array = self.domain.points
        return self.posterior.mean + points @ (self.width_at(t) * (self.posterior.root @ z))

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        randomness = as_randomness(rng)
        tie, normals = (
            randomness.uniform("tie", t),
            randomness.normal("sample", t, self.domain.dimension),
        )
        sample = self.sample(t, normals)
        arm = argmax(sample, self.ties, tie)
        note = {"sample": float(sample[arm]), "width": self.width_at(t), **self._why(arm)}
        return Choice(self.domain.points[arm], arm, note)


WIDTHS = {"anytime": "R sqrt(9 d ln(t/delta))", "icml": "R sqrt(24 ln(T) d ln(1/delta))"}
"""Schedules of LinTS -> the scale of its draw."""
