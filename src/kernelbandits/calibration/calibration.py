"""The result of a fit: kernel, noise and mean, their units, and the R and D that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from kernelbandits import checks
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.calibration.standard import Standard, check_counts, check_vector
from kernelbandits.checks import Array
from kernelbandits.formatting import format_count
from kernelbandits.kernels import (
    RBF,
    Constant,
    Kernel,
    KernelParts,
    Linear,
    Matern,
    SamePoint,
    Scaled,
)
from kernelbandits.posterior.sufficient import lower_root

SMOOTHNESS = (1.5, 2.5, math.inf)
"""The kernels that can be fitted: Matern of nu = 1.5 or 2.5, and RBF (infinite)."""


def check_smoothness(owner: str, nu: Any) -> None:
    """Raise an error unless nu is one of the smoothnesses that can be fitted."""
    checks.needs(isinstance(nu, Real) and nu in SMOOTHNESS, owner, f"nu in {SMOOTHNESS}", nu)


@dataclass(frozen=True)
class Calibration:
    """The fitted model z = mean + f(x) + noise of the standardised reward z.

    f ~ GP(0, signal_variance k + additive_variance k_1 + nugget_variance [x = x']), with k a Matern
    or RBF kernel and k_1 the mean of such kernels of one column each; noise ~ N(0, noise_variance)
    and z = (y - centre) / spread. There are three kinds of units: those of the rewards y,
    standardised units z (`standard`), and signal units u = (z - mean) / sqrt(signal_variance), in
    which f has k(x, x) = 1 (`signal_standard` converts y to u). D and the ridge R^2 that belongs to
    k are in signal units.

    `calibrate` makes it; see there for an example.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Arms(np.linspace(0, 1, 12)[:, None]), seed=0)
    >>> for arm in range(12):
    ...     auto.tell(auto.choice(arm), float(np.sin(6 * arm / 11)))
    >>> fit = auto.calibration
    >>> fit.ok, fit.noise_scale < 0.1, fit.standard.centre == fit.standard.original(0.0)
    (True, True, True)
    """

    lengthscales: tuple[float, ...]
    """One for each dimension, for points in the unit cube; none of features."""
    signal_variance: float
    """The variance of f at a point, in standardised units."""
    noise_variance: float
    """The variance of the noise, in standardised units."""
    mean: float
    """The constant mean, E[mu | rewards], in standardised units."""
    standard: Standard
    """How rewards were standardised."""
    nu: float = 2.5
    """The smoothness of the Matern kernel; infinite for RBF."""
    additive_variance: float = 0.0
    """The variance of the sum of the functions of one column each, in standardised units."""
    nugget_variance: float = 0.0
    """The variance of the deviations of single points, in standardised units."""
    blocks: Blocks = ()
    """The coordinates of each column; by default every coordinate is a column."""
    evidence: float = -math.inf
    """ln p(standardised rewards | fit); minus infinity if nothing was fitted."""
    evaluations: int = 0
    """How often the likelihood was computed."""
    rewards: int = 0
    points: int = 0
    """The numbers of rewards and of distinct points that it was fitted to."""
    message: str = "not fitted: the prior's mode"
    """How the fit ended."""
    ok: bool = False
    """Whether the fit succeeded. If not, the scales are the last good ones or the prior's mode."""
    features: bool = False
    """Whether the points are features: then the kernel is their inner product, without scales."""
    sample: int = 0
    """How many of the points the scales were fitted to, and the evidence is of; 0 for all."""

    def __post_init__(self) -> None:
        if self.features:
            none = self.lengthscales == ()
            checks.needs(none, "Calibration", "no lengthscales of features", self.lengthscales)
        else:
            scales = checks.lengthscales("Calibration", self.lengthscales)
            listed = isinstance(scales, tuple)
            checks.needs(listed, "Calibration", "a tuple of lengthscales", self.lengthscales)
        checks.positive("Calibration", "signal_variance", self.signal_variance)
        checks.positive("Calibration", "noise_variance", self.noise_variance)
        checks.nonnegative("Calibration", "additive_variance", self.additive_variance)
        checks.nonnegative("Calibration", "nugget_variance", self.nugget_variance)
        checks.number("Calibration", "mean", self.mean)
        checks.needs(
            isinstance(self.standard, Standard), "Calibration", "a Standard", self.standard
        )
        check_smoothness("Calibration", self.nu)

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return len(self.lengthscales)

    @property
    def kernel(self) -> Kernel:
        """The kernel k, with k(x, x) = 1; of features their inner product."""
        if self.features:
            return Linear()
        lengths = self.lengthscales
        return RBF(lengths) if math.isinf(self.nu) else Matern(lengths, self.nu)

    @property
    def posterior_kernel(self) -> Kernel:
        """signal_variance * k, for standardised rewards minus the mean, with the ridge `ridge`."""
        return Scaled(self.kernel, self.signal_variance)

    def whole_kernel(self, sides: Array) -> Kernel:
        """Return the covariance of mean + f for standardised rewards, with the ridge `ridge`.

        The mean is unknown, with variance 1. The lengthscales, of the unit cube, are multiplied by
        the sides of the domain.
        """
        if not self.features:
            return self.parts(sides).compose()
        kernel: Kernel = self.posterior_kernel + Constant()
        if self.nugget_variance:
            kernel += Scaled(SamePoint(), self.nugget_variance)
        return kernel

    def parts(self, sides: Array) -> KernelParts:
        """Return the parts of `whole_kernel`, unless the points are features."""
        blocks = self.blocks or tuple((j,) for j in range(self.dimension))
        return KernelParts(
            lengthscale=tuple((np.array(self.lengthscales) * sides).tolist()),
            nu=self.nu,
            signal=self.signal_variance,
            level=1.0,
            additive=self.additive_variance,
            nugget=self.nugget_variance,
            blocks=blocks if self.additive_variance else (),
        )

    @property
    def total_variance(self) -> float:
        """The prior variance of mean + f at a point, in standardised units."""
        return 1.0 + self.signal_variance + self.additive_variance + self.nugget_variance

    @property
    def ridge(self) -> float:
        """The ridge that belongs to `posterior_kernel`: noise_variance."""
        return self.noise_variance

    @property
    def signal_ridge(self) -> float:
        """The ridge that belongs to `kernel`: noise_variance / signal_variance = R^2."""
        return self.noise_variance / self.signal_variance

    @cached_property
    def signal_standard(self) -> Standard:
        """Converts rewards to signal units."""
        return Standard(
            self.standard.original(self.mean),
            self.standard.spread * math.sqrt(self.signal_variance),
        )

    @property
    def noise_scale(self) -> float:
        """R = sqrt(noise_variance) * spread, in the units of the rewards.

        Where rewards were transformed, it is the noise in the middle of the rewards.

        This is an estimate. The true R may be larger, because the fit assumes Gaussian noise and
        may take signal for noise or noise for signal. A guarantee that uses it is conditional on
        the noise being R-sub-Gaussian for this R. Durand et al. (2018) bound R with a stated
        probability from the rewards alone; `StreamingUCB` uses their bounds.
        """
        return float(self.standard.original_sd(0.0, math.sqrt(self.noise_variance)))

    @property
    def signal_noise_scale(self) -> float:
        """R = sqrt(noise_variance / signal_variance), in signal units; an estimate."""
        return math.sqrt(self.signal_ridge)

    def norm_bound(self, points: Any, counts: Any, sums: Any, safety: float = 2.0) -> float:
        """Return D = safety * max(|fhat|, beyond, 1) in signal units.

        With u_i the mean reward at point i,

            alpha = (K + ridge N^-1)^-1 u,   |fhat|^2 = alpha' K alpha,
            beyond = max_i |u_i| - 2 sqrt(ridge / n_i).

        |fhat| is the RKHS norm of the estimate. Since |f(x)| <= |f|, a mean reward minus two
        standard errors is a lower bound of the norm, and so is 1, the fitted sd of f at a point.

        This is an estimate, because no data bound the norm of the true function: the estimate is
        the smoothest function near the rewards, and the true one may differ between them. A
        guarantee that uses D is conditional on |f| <= D in the space of the fitted kernel. The
        safety factor is a margin, not a proof.
        """
        n = check_counts("norm_bound", counts)
        u = self._signal_means(n, check_vector("norm_bound", "sums", sums, len(n)))
        x = checks.points("norm_bound", points)
        shape = (len(n), self.dimension)
        checks.needs(x.shape == shape, "norm_bound", f"points of shape {shape}", x.shape)
        checks.positive("norm_bound", "safety", safety)
        return float(safety) * max(self._estimate_norm(x, n, u), self._beyond(n, u), 1.0)

    def _signal_means(self, n: Array, sums: Array) -> Array:
        """Return u_i = (s_i / n_i - centre) / spread."""
        with np.errstate(over="ignore"):
            u: Array = self.signal_standard.standardise(sums / n)
        largest = float(np.abs(u).max())
        checks.needs(
            largest <= checks.LARGEST_REWARD, "norm_bound", "rewards of the size fitted to", largest
        )
        return u

    def _estimate_norm(self, x: Array, n: Array, u: Array) -> float:
        """Return sqrt(alpha' K alpha)."""
        k = self.kernel(x, x)
        alpha = cho_solve(
            (lower_root(k + np.diag(self.signal_ridge / n), self.signal_ridge / n.max()), True), u
        )
        return math.sqrt(max(float(alpha @ (k @ alpha)), 0.0))

    def _beyond(self, n: Array, u: Array) -> float:
        """Return max_i |u_i| - 2 sqrt(ridge / n_i)."""
        return float((np.abs(u) - 2 * np.sqrt(self.signal_ridge / n)).max())

    @property
    def is_fitted(self) -> bool:
        """Whether the scales come from rewards, these or earlier ones, and not from the prior."""
        return self.evidence > -math.inf

    def shift_rewards(self, by: float) -> Calibration:
        """Return the same fit for rewards that are all larger by this number."""
        return replace(self, standard=self.standard.shift(by))

    def sentence(self) -> str:
        """Return the fit in one sentence, in the units of the rewards."""
        lengths = ", ".join(f"{length:.3g}" for length in self.lengthscales)
        signal = self.standard.original_sd(self.mean, math.sqrt(self.signal_variance))
        scales = (
            f"signal sd {signal:.3g} about {self.standard.original(self.mean):.4g}, "
            f"noise sd {self.noise_scale:.3g}"
        )
        if not self.standard.is_linear:
            scales += f", results transformed by the power {self.standard.shape:g}"
        shape = f"Lengthscales {lengths} (of the unit cube)"
        if self.features:
            shape = "The kernel as given"
        return f"{shape}, {scales}; {self._origin()}."

    def _origin(self) -> str:
        """Say where the numbers come from."""
        if not self.rewards:
            return "not fitted: no rewards yet"
        if not self.is_fitted:
            return f"not fitted to the {format_count(self.rewards, 'reward')} given: {self.message}"
        points = format_count(self.points, "point")
        origin = f"fitted to {format_count(self.rewards, 'reward')} at {points}"
        if self.sample:
            origin += f", the scales to {self.sample} of these points"
        return origin if self.ok else f"{origin}, but the refit after these failed: {self.message}"
