"""Thompson sampling: draw one function from the inflated posterior and play its maximiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box, MixedBox
from kernelbandits.policies.about import CONFIDENCE, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.paths import (
    Path,
    PoolDraws,
    condition_path,
    count_normals,
    draw_noise,
    draw_waves,
    noise_numbers,
)
from kernelbandits.policies.place import Region
from kernelbandits.policies.round import Round, check_pending
from kernelbandits.posterior import LARGEST_JOINT, ArmPosterior, RowPosterior, posterior_on
from kernelbandits.streams import Streams, as_randomness


@dataclass(frozen=True)
class SampleTables:
    """The numbers of GP-TS in rounds first..last, as arrays for the compiled loop."""

    widths: Array
    ties: Array
    prior: Array
    """(rounds, n): the draws from the prior, g = S z"""
    noise: Array
    """(rounds, n): the standard normal numbers e"""


class GPTS(Policy[Point]):
    """Draw one function from the posterior and play its maximiser: Thompson sampling.

    f_t ~ GP(mean, v_t^2 cov) at ridge 1 + 2/T, with

    v_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(2/delta))).

    On up to 2000 arms the draw is joint and exact, by Matheron's rule: with g = S z a draw from the
    prior and e standard normal, f_t = mean + v_t [g - cov ((n/ridge) g + sqrt(n/ridge) e)]. On more
    arms and on a box g is a sum of random waves (features), which is conditioned exactly on what
    was played. Its law is Gaussian only in the limit of many features. On a box the maximiser of
    f_t is found by search.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    gain
        What stands for gamma_{t-1}, as for `IGPUCB`.
    grid
        On a box: play exactly on a cover of this many points instead.
    features
        On a box and on more than 2000 arms: how many random features a draw has.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.GPTS(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, horizon=20)
    >>> for t in range(1, 21):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    about = About(
        name="gp-ts",
        title="GP-TS",
        family=CONFIDENCE,
        paper="Chowdhury & Gopalan, On kernelized multi-armed bandits, 2017",
        guarantee="regret O~(gamma_T sqrt(d T)) with probability 1 - delta",
        ours="gain: realised L/2 by default; all arms are the discretisation; on more than 2000 "
        "arms draws from the prior are sums of random features",
    )

    posterior: Any
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True
    weighs_costs = True
    compiled_loop = "samples"

    def __init__(
        self,
        domain: Playable[Point],
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
            grid_of(domain, grid),
            kernel,
            ridge=ridge,
            ties=ties,
            horizon=horizon,
            form=joint_posterior,
        )
        confidence = self._check_bounds(noise_scale, norm_bound, delta)
        term, name = self._gain(gain)
        self.width = widths.chowdhury_gopalan(noise_scale, norm_bound, confidence, term, chance=2)
        self.settings |= {
            "width": self.width.rule,
            "gain": name,
            "exploration": "a joint posterior draw",
        }
        self.joint = self.posterior.holds_covariance
        if self.joint:
            self.root = self.posterior.root()
        else:
            self._set_features(features)
        if self.finite and not self.joint:
            self.draws = PoolDraws(self.terms, self.domain.points, self.features, horizon)

    def _set_features(self, features: int) -> None:
        self.features = checks.whole(type(self).__name__, "features", features)
        self.terms = self.posterior.kernel.spectral_terms(range(self.domain.dimension))
        kernels = "a kernel of RBF, Matern or other parts with `frequencies` for a path"
        parts = f"{kernels} (grid=n draws exactly on a cover)"
        if self.finite:
            parts = f"{kernels} over more than {LARGEST_JOINT} arms"
        checks.needs(len(self.terms) > 0, self.about.name, parts, self.posterior.kernel)
        self.settings["exploration"] = (
            f"a posterior path by {features} random features (approximate)"
        )

    def sample(self, t: int, z: Array, e: Array) -> Array:
        """Return f_t over at most 2000 arms, from 2 n standard normals."""
        checks.needs(self.joint, "sample", f"at most {LARGEST_JOINT} arms", self.domain)
        deviation: Array = self.posterior.deviation(self.root @ z, e)
        mean: Array = self.posterior.mean
        return mean + self._scale(t) * deviation

    def _scale(self, t: int, inflation: float = 1.0) -> float:
        """Return v_t, times exp(I) of what is pending."""
        return self.width(t, self.posterior.log_det) * inflation

    def choose(self, now: Round) -> Choice:
        """Play the maximiser of a function drawn from the inflated posterior."""
        tie = now.draw_tie()
        if not self.finite:
            path = self._draw_path(now)
            location = self._search(path, now.place, self.ties, tie)
            note = {"sample": location.search["index"], "width": path.scale}
            return self._choice_at(location, now, note)
        scale = self._scale(now.t, now.inflation)
        sample = self._draw_deviation(now)
        sample *= scale
        sample += self.posterior.mean
        arm = now.best_arm(sample, self.posterior.mean, tie)
        note = {"sample": float(sample[arm]), "width": scale}
        return self._choice_of_arm(arm, now.sd, now, note)

    def _draw_deviation(self, now: Round) -> Array:
        """Draw f - mean over all arms."""
        if self.joint:
            n = len(self.domain)
            normals = now.draw_normals(2 * n)
            drawn: Array = now.posterior.deviation(self.root @ normals[:n], normals[n:])
            return drawn
        prior = self.draws.draw(now.randomness, now.t)
        noise = draw_noise(now.randomness, now.t, now.posterior.distinct)
        conditioned: Array = now.posterior.deviation(prior, noise)
        return conditioned

    def path(self, t: int, rng: Any, *, pending: Sequence[Choice] = ()) -> Path:
        """Return f_t on a box: `values(rows)`, and `slopes(rows)` with the gradients."""
        self._check_round(t)
        checks.needs(not self.finite, "path", "a box (sample is the draw over arms)", self.domain)
        view = self._view_pending(check_pending(pending)) if pending else None
        everywhere = Region(self.domain, None)
        now = Round(t, as_randomness(rng), self.ties, self.posterior, everywhere, view)
        return self._draw_path(now)

    def _draw_path(self, now: Round) -> Path:
        """Draw a path from normal numbers: those of the waves, then one for each point played."""
        needed = count_normals(self.terms, self.features)
        normals = now.draw_normals(needed + noise_numbers(len(now.posterior.points)))
        prior = draw_waves(self.terms, self.domain.dimension, self.features, normals[:needed])
        scale = self._scale(now.t, now.inflation)
        return condition_path(now.posterior, prior, scale, normals[needed:])

    def sample_tables(self, first: int, last: int, streams: Streams) -> SampleTables:
        """Return the numbers `ask` would use in rounds first..last."""
        n = len(self.domain)
        normals = streams.normals("sample", first, last, 2 * n)
        return SampleTables(
            self.width.table(last, first),
            streams.uniforms("tie", last, first),
            normals[:, :n] @ self.root.T,
            # A copy, because numba compiles the loop for the layout it is given.
            np.ascontiguousarray(normals[:, n:]),
        )


def grid_of(domain: Any, grid: int | None) -> Any:
    """Return the domain, or the cover of a box by `grid` points."""
    if grid is None:
        return domain
    checks.needs(isinstance(domain, (Box, MixedBox)), "GPTS", "a box for its grid", domain)
    return domain.cover(checks.whole("GPTS", "grid", grid))


def joint_posterior(kernel: Any, domain: Any, ridge: float) -> Any:
    """Return the posterior of arms few enough for joint draws, of a pool, or of points."""
    if not isinstance(domain, Arms):
        return posterior_on(kernel, domain, ridge)
    form = ArmPosterior if len(domain) <= LARGEST_JOINT else RowPosterior
    return form(kernel, domain, ridge)
