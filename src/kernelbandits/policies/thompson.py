"""Thompson sampling: draw one function from the inflated posterior and play its maximiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box, MixedBox
from kernelbandits.policies.about import CONFIDENCE, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.paths import Path, condition_path, count_normals, draw_waves
from kernelbandits.policies.place import Region
from kernelbandits.policies.round import Round, check_pending
from kernelbandits.policies.spectral import terms_of
from kernelbandits.posterior import LARGEST_COVARIANCE, ArmPosterior, posterior_on
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


class GPTS(Policy):
    """Thompson sampling: draw one function from the posterior and play its maximiser.

    f_t ~ GP(mean, v_t^2 cov) at ridge 1 + 2/T, with

    v_t = D + R sqrt(2 (gamma_{t-1} + 1 + ln(2/delta))).

    On arms the draw is joint and exact, by Matheron's rule: with g = S z a draw from the prior and
    e standard normal, f_t = mean + v_t [g - cov ((n/ridge) g + sqrt(n/ridge) e)]. On a box f_t is a
    path by random features. Its law is Gaussian only in the limit of many features, and its
    maximiser is found by search.

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
        On a box: how many random features a path has.

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
        ours="gain: realised L/2 by default; all arms are the discretisation, at most 2000",
    )

    posterior: ArmPosterior
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True
    weighs_costs = True
    compiled_loop = "samples"

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
        if self.finite:
            self.root = self.posterior.root()
        else:
            self._set_features(features)

    def _set_features(self, features: int) -> None:
        self.features = checks.whole("GPTS", "features", features)
        self.terms = terms_of(self.posterior.kernel, range(self.domain.dimension))
        kernels = "a kernel of RBF, Matern and RationalQuadratic parts for a path"
        parts = f"{kernels} (grid=n draws exactly on a cover)"
        checks.needs(len(self.terms) > 0, "GPTS", parts, self.posterior.kernel)
        self.settings["exploration"] = (
            f"a posterior path by {features} random features (approximate)"
        )

    def sample(self, t: int, z: Array, e: Array) -> Array:
        """f_t over all arms, from 2 n standard normals."""
        deviation: Array = self.posterior.deviation(self.root @ z, e)
        return self.posterior.mean + self._scale(t) * deviation

    def _scale(self, t: int, inflation: float = 1.0) -> float:
        """v_t, times exp(I) of what is pending."""
        return self.width(t, self.posterior.log_det) * inflation

    def choose(self, now: Round) -> Choice:
        """The maximiser of a function drawn from the inflated posterior."""
        tie = now.draw_tie()
        if not self.finite:
            path = self._draw_path(now)
            location = self._search(path, now.place, self.ties, tie)
            note = {"sample": location.search["index"], "width": path.scale}
            return self._choice_at(location, now, note)
        n, scale = len(self.domain), self._scale(now.t, now.inflation)
        normals = now.draw_normals(2 * n)
        deviation = now.posterior.deviation(self.root @ normals[:n], normals[n:])
        sample = self.posterior.mean + scale * deviation
        arm = now.best_arm(sample, self.posterior.mean, tie)
        note = {"sample": float(sample[arm]), "width": scale}
        return self._choice_of_arm(arm, now.sd, now, note)

    def path(self, t: int, rng: Any, *, pending: Sequence[Choice] = ()) -> Path:
        """f_t on a box: `values(rows)`, and `slopes(rows)` with the gradients."""
        self._check_round(t)
        checks.needs(not self.finite, "path", "a box (sample is the draw over arms)", self.domain)
        view = self._view_pending(check_pending(pending)) if pending else None
        everywhere = Region(self.domain, None)
        now = Round(t, as_randomness(rng), self.ties, self.posterior, everywhere, view)
        return self._draw_path(now)

    def _draw_path(self, now: Round) -> Path:
        """A path from normal numbers: first those of the waves, then one for each point played."""
        needed = count_normals(self.terms, self.features)
        normals = now.draw_normals(needed + noise_numbers(len(now.posterior.points)))
        prior = draw_waves(self.terms, self.domain.dimension, self.features, normals[:needed])
        scale = self._scale(now.t, now.inflation)
        return condition_path(now.posterior, prior, scale, normals[needed:])

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


def grid_of(domain: Any, grid: int | None) -> Any:
    """The domain, or the cover of a box by `grid` points."""
    if grid is None:
        return domain
    checks.needs(isinstance(domain, (Box, MixedBox)), "GPTS", "a box for its grid", domain)
    return domain.cover(checks.whole("GPTS", "grid", grid))


def joint_posterior(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior of arms that are few enough for joint draws, or of points."""
    if isinstance(domain, Arms):
        arms, memory = len(domain), f"joint draws over at most {LARGEST_COVARIANCE} arms"
        wanted = f"{arms} arms, a covariance of {8e-9 * arms**2:.1f} GB"
        checks.needs(arms <= LARGEST_COVARIANCE, "GPTS", memory, wanted)
    return posterior_on(kernel, domain, ridge)


def noise_numbers(points: int) -> int:
    """How many normal numbers are drawn for the noise at some points: a power of two, at least 64.

    The numbers of a round depend on how many are drawn, and Streams draw them in blocks. With a
    power of two the size of a block changes rarely.
    """
    return max(64, 1 << (points - 1).bit_length())
