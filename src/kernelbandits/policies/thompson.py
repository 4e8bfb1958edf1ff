"""Thompson sampling: draw one function from the inflated posterior and play its maximiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import argmax, as_arms
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.posterior import LARGEST_COVARIANCE, ArmPosterior
from kernelbandits.streams import Streams, as_randomness
from kernelbandits.theory.gains import gain_name, gain_term


@dataclass(frozen=True)
class SampleTables:
    """What GP-TS looks up in rounds first..last: scales, ties, prior draws g = S z and normals e."""

    widths: Array
    ties: Array
    prior: Array
    """(rounds, n): g"""
    noise: Array
    """(rounds, n): e"""


class GPTS(Policy):
    """Chowdhury & Gopalan (2017): play the maximiser of f_t ~ GP(mean, v_t^2 cov) at ridge 1 + 2/T,

    v_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(2/delta))).

    The draw is joint over the arms, by Matheron's rule: mean + v_t [g - cov ((n/ridge) g + sqrt(n/ridge) e)], g = S z.
    """

    posterior: ArmPosterior

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
        ridge = 1 + 2 / checks.whole("GPTS", "horizon", horizon)
        domain = as_arms(domain)
        arms = len(domain)
        memory = f"joint draws over at most {LARGEST_COVARIANCE} arms"
        checks.needs(
            arms <= LARGEST_COVARIANCE,
            "GPTS",
            memory,
            f"{arms} arms, a covariance of {8e-9 * arms**2:.1f} GB",
        )
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        confidence = self._bounded(noise_scale, norm_bound, delta)
        term = gain_term(gain, self.posterior.kernel, self.domain, ridge)
        self.width = widths.improved(noise_scale, norm_bound, confidence, term, chance=2)
        self.root = self.posterior.root()
        self.settings |= {"width": self.width.rule, "gain": gain_name(gain), "exploration": "a joint posterior draw"}

    def sample(self, t: int, z: Array, e: Array) -> Array:
        """f_t over all arms, from 2 n standard normals."""
        scale = self.width(t, self.posterior.log_det)
        return self.posterior.mean + scale * self.posterior.deviation(self.root @ z, e)

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        randomness, n = as_randomness(rng), len(self.domain)
        tie, normals = randomness.uniform("tie", t), randomness.normal("sample", t, 2 * n)
        sample = self.sample(t, normals[:n], normals[n:])
        arm = argmax(sample, self.ties, tie)
        posterior = self.posterior
        note = {
            "sample": float(sample[arm]),
            "width": self.width(t, posterior.log_det),
            "mean": float(posterior.mean[arm]),
            "sd": float(posterior.sd[arm]),
        }
        return Choice(self.domain.points[arm], arm, note)

    def sample_tables(self, first: int, last: int, streams: Streams) -> SampleTables:
        """The numbers `ask` would use in rounds first..last."""
        n = len(self.domain)
        normals = streams.normals("sample", first, last, 2 * n)
        table = self.width.table(last)[first - 1 :]
        return SampleTables(
            table, streams.uniforms("tie", last)[first - 1 :], normals[:, :n] @ self.root.T, normals[:, n:]
        )
