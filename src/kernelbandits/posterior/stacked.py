"""Several posteriors at the same points, evaluated together: what a search on a box calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from kernelbandits.checks import Array
from kernelbandits.kernels import KernelParts, split_kernel
from kernelbandits.posterior.points import PointPosterior

CHUNK = 128
"""Rows evaluated at a time: few enough for all arrays to stay in the cache of the processor."""


class StackedPosteriors:
    """Mean, sd and gradients of M posteriors, in arrays with a row for each posterior.

    All have the same points played z and kernels variance * k + level with lengthscales of their
    own. Then everything is a few products of arrays, whatever M is. With w_j = 1 / l_j^2 and
    slopes s(x, z) = -2 variance k'(r^2),

        d k(x, z) / d x_j = -s(x, z) w_j (x_j - z_j),

    so a gradient sum_z c_z dk(x, z)/dx_j = -w_j (x_j sum_z c_z s - sum_z c_z s z_j) is a product of
    two matrices, and no array of all (x, z, j) is needed.
    """

    def __init__(self, members: Sequence[PointPosterior], parts: Sequence[KernelParts]) -> None:
        self.points = members[0].points
        d = members[0].dimension
        # Distances are computed by |x|^2 - 2 x.z + |z|^2, which loses digits far from the origin.
        self.origin = self.points.mean(0)
        lengths = [np.broadcast_to(part.smooth.lengthscale, (d,)) for part in parts]
        self.weights = 1 / np.square(np.array(lengths))
        self.variances = np.array([part.signal for part in parts])[:, None, None]
        self.levels = np.array([part.level for part in parts])[:, None, None]
        self.profile = parts[0].profile
        self.roots = np.array([dtrtri(m.lower_factor, lower=1)[0] for m in members])
        self.coefficients = np.array([member.coefficients for member in members])[:, :, None]
        centred = self.points - self.origin
        self.scaled = np.sqrt(self.weights)[:, None, :] * centred
        self.norms = np.square(self.scaled).sum(-1)[:, None, :]

    @classmethod
    def of(cls, members: Sequence[Any]) -> StackedPosteriors | None:
        """Stack posteriors, or return None if one has another form or nothing was played."""
        if not all(isinstance(member, PointPosterior) for member in members):
            return None
        parts = [split_kernel(member.kernel) for member in members]
        smooth = [part for part in parts if part is not None and not part.additive + part.nugget]
        same = len({part.profile for part in smooth}) == 1
        if len(smooth) < len(parts) or not same or not len(members[0].points):
            return None
        return cls(members, smooth)

    def at(self, rows: Array) -> tuple[Array, Array]:
        """Return mean and sd, (M, n) arrays."""
        parts = [self._at(rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]
        means, sds = zip(*parts, strict=True)
        return np.hstack(means), np.hstack(sds)

    def _at(self, rows: Array) -> tuple[Array, Array]:
        cross, _ = self._kernels(rows)
        return self._mean(cross), self._sd(cross @ self._transposed_roots)

    def gradients(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean, sd and their gradients, (M, n) and (M, n, d) arrays."""
        cross, slopes = self._kernels(rows)
        white = cross @ self._transposed_roots
        sd = self._sd(white)
        mean_slope = self._sum_of_gradients(rows, slopes * self.coefficients.transpose(0, 2, 1))
        variance_slope = self._sum_of_gradients(rows, slopes * (white @ self.roots))
        sd_slope = np.divide(
            -variance_slope,
            sd[..., None],
            out=np.zeros_like(variance_slope),
            where=sd[..., None] > 0,
        )
        return self._mean(cross), sd, mean_slope, sd_slope

    @property
    def _transposed_roots(self) -> Array:
        return self.roots.transpose(0, 2, 1)

    def _kernels(self, rows: Array) -> tuple[Array, Array]:
        """k(x, z) and s(x, z), (M, n, m) arrays."""
        here = np.sqrt(self.weights)[:, None, :] * (rows - self.origin)
        squares = np.square(here).sum(-1)[..., None] + self.norms
        squares -= 2 * (here @ self.scaled.transpose(0, 2, 1))
        np.maximum(squares, 0.0, out=squares)
        k, slope = self.profile(squares)
        return self.variances * k + self.levels, self.variances * slope

    def _mean(self, cross: Array) -> Array:
        return np.asarray((cross @ self.coefficients)[..., 0])

    def _sd(self, white: Array) -> Array:
        prior = (self.variances + self.levels)[..., 0]
        return np.asarray(np.sqrt(np.maximum(prior - np.square(white).sum(-1), 0.0)))

    def _sum_of_gradients(self, rows: Array, weighted: Array) -> Array:
        """sum_z c_z dk(x, z)/dx_j, for c_z s(x, z) in an (M, n, m) array."""
        centred = rows - self.origin
        sums = weighted.sum(-1)[..., None] * centred
        sums -= weighted @ (self.points - self.origin)
        return np.asarray(-self.weights[:, None, :] * sums)

