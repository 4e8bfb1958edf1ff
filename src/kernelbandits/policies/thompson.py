"""Thompson sampling: draw one function from the inflated posterior and play its maximiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box, MixedBox, argmax
from kernelbandits.policies.base import Choice
from kernelbandits.policies.fields import Field, field_of
from kernelbandits.policies.pathwise import Path, normals_needed, path, waves
from kernelbandits.policies.searching import Ahead, Circumstances, Searching
from kernelbandits.policies.stationary import terms_of
from kernelbandits.posterior import LARGEST_COVARIANCE, ArmPosterior, posterior_on
from kernelbandits.streams import Randomness, Streams, as_randomness


@dataclass(frozen=True)
class SampleTables:
    """What GP-TS looks up in rounds first..last: scales, ties, prior draws g = S z and normals e."""

    widths: Array
    ties: Array
    prior: Array
    """(rounds, n): g"""
    noise: Array
    """(rounds, n): e"""


class GPTS(Searching):
    """Chowdhury & Gopalan (2017): play the maximiser of f_t ~ GP(mean, v_t^2 cov) at ridge 1 + 2/T,

    v_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(2/delta))).

    On arms the draw is joint and exact, by Matheron's rule: mean + v_t [g - cov ((n/ridge) g + sqrt(n/ridge) e)],
    g = S z. On a box `grid` makes arms of so many points of its cover; without it f_t is a path by random features,
    which is approximate (Gaussian in the limit of many `features` only), and its maximiser is searched for.
    """

    posterior: ArmPosterior
    weighs_costs = True

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
        grid: int | None = None,
        features: int = 256,
    ) -> None:
        ridge = 1 + 2 / checks.whole("GPTS", "horizon", horizon)
        super().__init__(
            gridded(domain, grid), kernel, ridge=ridge, ties=ties, horizon=horizon, form=drawn_from
        )
        confidence = self._bounded(noise_scale, norm_bound, delta)
        term, name = self._gain(gain)
        self.width = widths.improved(noise_scale, norm_bound, confidence, term, chance=2)
        self.settings |= {
            "width": self.width.rule,
            "gain": name,
            "exploration": "a joint posterior draw",
        }
        if self.finite:
            self.root = self.posterior.root()
        else:
            self._set_features(features)

    def _set_features(self, features: int) -> None:
        self.features = checks.whole("GPTS", "features", features)
        self.terms = terms_of(self.posterior.kernel, range(self.domain.dimension))
        parts = "a kernel of RBF, Matern and RationalQuadratic parts for a path (grid=n draws exactly on a cover)"
        checks.needs(len(self.terms) > 0, "GPTS", parts, self.posterior.kernel)
        self.settings["exploration"] = (
            f"a posterior path by {features} random features (approximate)"
        )

    def sample(self, t: int, z: Array, e: Array) -> Array:
        """f_t over all arms, from 2 n standard normals."""
        return self._sample(t, z, e, self._ahead(()))

    def _sample(self, t: int, z: Array, e: Array, ahead: Ahead) -> Array:
        deviation: Array = ahead.posterior.deviation(self.root @ z, e)
        return self.posterior.mean + self._scale(t, ahead) * deviation

    def _scale(self, t: int, ahead: Ahead) -> float:
        """v_t, times exp(I) of what is pending."""
        return self.width(t, self.posterior.log_det) * ahead.inflation

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        ahead, offer = self._ahead(given.pending), self._offer(given.arms, given.costs)
        if not self.finite or given.context is not None:
            return self._search(
                t, randomness, ahead, field_of(self.domain, given.context, given.arms)
            )
        tie, n, posterior = randomness.uniform("tie", t), len(self.domain), ahead.posterior
        normals = randomness.normal("sample", t, 2 * n)
        sample = self._sample(t, normals[:n], normals[n:], ahead)
        arm = (
            offer.best(sample, self.posterior.mean, self.ties, tie)
            if offer
            else argmax(sample, self.ties, tie)
        )
        note = {
            "sample": float(sample[arm]),
            "width": self._scale(t, ahead),
            "mean": float(self.posterior.mean[arm]),
            "sd": float(posterior.sd[arm]),
        }
        if offer:
            note |= offer.cost(arm)
        return Choice(self.domain.points[arm], arm, note | ahead.note)

    def _search(self, t: int, randomness: Randomness, ahead: Ahead, field: Field) -> Choice:
        """The maximiser of a path."""
        tie = randomness.uniform("tie", t)
        drawn = self._path(t, randomness, ahead)
        spot = self._best(drawn, field, self.ties, tie)
        note = {"sample": spot.found["index"], "width": drawn.scale}
        return self._choice(spot, field, ahead.posterior, note | ahead.note)

    def path(self, t: int, rng: Any, *, pending: Sequence[Choice] = ()) -> Path:
        """f_t on a box: `values(rows)`, and `slopes(rows)` with the gradients."""
        self._check_round(t)
        checks.needs(not self.finite, "path", "a box (sample is the draw over arms)", self.domain)
        return self._path(t, as_randomness(rng), self._ahead(pending))

    def _path(self, t: int, randomness: Randomness, ahead: Ahead) -> Path:
        """From normals for the waves and the noise of the points, for which room is made in powers of two."""
        needed, room = (
            normals_needed(self.terms, self.features),
            room_for(len(ahead.posterior.points)),
        )
        normals = randomness.normal("sample", t, needed + room)
        prior = waves(self.terms, self.domain.dimension, self.features, normals[:needed])
        return path(ahead.posterior, prior, self._scale(t, ahead), normals[needed:])

    def sample_tables(self, first: int, last: int, streams: Streams) -> SampleTables:
        """The numbers `ask` would use in rounds first..last."""
        n = len(self.domain)
        normals = streams.normals("sample", first, last, 2 * n)
        table = self.width.table(last)[first - 1 :]
        return SampleTables(
            table,
            streams.uniforms("tie", last)[first - 1 :],
            normals[:, :n] @ self.root.T,
            normals[:, n:],
        )


def gridded(domain: Any, grid: int | None) -> Any:
    """The cover of a box by so many points, where that is asked for."""
    if grid is None:
        return domain
    checks.needs(isinstance(domain, (Box, MixedBox)), "GPTS", "a box for its grid", domain)
    return domain.cover(checks.whole("GPTS", "grid", grid))


def drawn_from(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior of arms that are few enough for joint draws, or of points."""
    if isinstance(domain, Arms):
        arms, memory = len(domain), f"joint draws over at most {LARGEST_COVARIANCE} arms"
        wanted = f"{arms} arms, a covariance of {8e-9 * arms**2:.1f} GB"
        checks.needs(arms <= LARGEST_COVARIANCE, "GPTS", memory, wanted)
    return posterior_on(kernel, domain, ridge)


def room_for(points: int) -> int:
    """The power of two that holds them, at least 64: streams draw blocks of one size until it is outgrown."""
    return max(64, 1 << (points - 1).bit_length())
