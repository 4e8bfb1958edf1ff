"""Several posteriors at the same points, evaluated together: what a search on a box calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrmm

from kernelbandits.checks import Array
from kernelbandits.kernels import KernelParts, split_kernel
from kernelbandits.posterior.points import PointPosterior

CHUNK, BLOCK = 16384, 256
"""Kernels computed at a time, few enough to stay in the cache of the processor, and rows multiplied
at a time."""


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
        # L^-1 transposed: each is stored by columns, as BLAS needs it.
        self.roots = np.array([member.inverse_factor.T for member in members])
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
        means, sds = np.empty((2, len(self.roots), len(rows)))
        for first in range(0, len(rows), BLOCK):
            block = slice(first, first + BLOCK)
            for member in range(len(self.roots)):
                means[member, block], sds[member, block] = self._at(member, rows[block])
        return means, sds

    def _at(self, member: int, rows: Array) -> tuple[Array, Array]:
        """Return mean and sd of one member."""
        one = slice(member, member + 1)
        # By columns, so that BLAS multiplies by the triangular root in place.
        cross = np.empty((len(self.points), len(rows)), order="F")
        width = max(1, CHUNK // len(self.points))
        for first in range(0, len(rows), width):
            piece = slice(first, first + width)
            cross[:, piece] = self._kernels(one, rows[piece])[0][0].T
        mean = self.coefficients[member, :, 0] @ cross
        white = dtrmm(1.0, self.roots[member].T, cross, lower=1, overwrite_b=1)
        return mean, self._sd(one, np.square(white, out=white).sum(0)[None])[0]

    def gradients(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean, sd and their gradients, (M, n) and (M, n, d) arrays."""
        together = max(1, CHUNK // (len(rows) * len(self.points)))
        starts = range(0, len(self.roots), together)
        parts = [self._gradients(slice(first, first + together), rows) for first in starts]
        mean, sd, mean_slope, sd_slope = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, sd, mean_slope, sd_slope

    def _gradients(self, some: slice, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return the same of some members."""
        cross, slopes = self._kernels(some, rows)
        white = cross @ self.roots[some]
        sd = self._sd(some, np.square(white).sum(-1))
        coefficients = self.coefficients[some]
        mean_slope = self._sum_of_gradients(some, rows, slopes * coefficients.transpose(0, 2, 1))
        weights = white @ self.roots[some].transpose(0, 2, 1)
        variance_slope = self._sum_of_gradients(some, rows, slopes * weights)
        sd_slope = np.divide(
            -variance_slope,
            sd[..., None],
            out=np.zeros_like(variance_slope),
            where=sd[..., None] > 0,
        )
        return (cross @ coefficients)[..., 0], sd, mean_slope, sd_slope

    def _kernels(self, some: slice, rows: Array) -> tuple[Array, Array]:
        """k(x, z) and s(x, z) of some members, (M, n, m) arrays."""
        here = np.sqrt(self.weights[some])[:, None, :] * (rows - self.origin)
        squares = here @ self.scaled[some].transpose(0, 2, 1)
        squares *= -2.0
        squares += np.square(here).sum(-1)[..., None]
        squares += self.norms[some]
        np.maximum(squares, 0.0, out=squares)
        k, slope = self.profile(squares)
        k = self.variances[some] * k
        k += self.levels[some]
        return k, self.variances[some] * slope

    def _sd(self, some: slice, explained: Array) -> Array:
        """sqrt(k(x, x) - explained)"""
        prior = (self.variances[some] + self.levels[some])[..., 0]
        return np.asarray(np.sqrt(np.maximum(prior - explained, 0.0)))

    def _sum_of_gradients(self, some: slice, rows: Array, weighted: Array) -> Array:
        """sum_z c_z dk(x, z)/dx_j, for c_z s(x, z) in an (M, n, m) array."""
        sums = weighted.sum(-1)[..., None] * (rows - self.origin)
        sums -= weighted @ (self.points - self.origin)
        return np.asarray(-self.weights[some, None, :] * sums)
