"""Several posteriors at the same points, evaluated together: what a search on a box calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.kernels import KernelParts, split_kernel
from kernelbandits.posterior.points import PointPosterior

CHUNK, BLOCK = 16384, 256
"""Kernels computed at a time, few enough to stay in the cache of the processor, and rows multiplied
at a time."""


class StackedPosteriors:
    """Mean, sd and gradients of M posteriors, in arrays with a row for each posterior.

    All have the same points played z and kernels variance * k + level with lengthscales of their
    own. Then everything is a few products of arrays. With w_j = 1 / l_j^2 and slopes
    s(x, z) = -2 variance k'(r^2),

        d k(x, z) / d x_j = -s(x, z) w_j (x_j - z_j),

    so a gradient sum_z c_z dk(x, z)/dx_j = -w_j (x_j sum_z c_z s - sum_z c_z s z_j) is a product of
    two matrices, and no array of all (x, z, j) is needed. With many points most of the time goes
    into reading the triangular matrices L^-1 of the posteriors: they are not copied, and only their
    lower halves are read.
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
        self.roots = [member.inverse_factor for member in members]
        self.coefficients = np.array([member.coefficients for member in members])[:, :, None]
        centred = self.points - self.origin
        ones = np.ones((len(centred), 1))
        self.extended = np.hstack([centred, ones])
        """(m, d + 1): the points with a 1, by which a product gives the sum too."""
        # The squared distance is the product of (-2 x, |x|^2, 1) and (z, 1, |z|^2).
        scaled = np.sqrt(self.weights)[:, None, :] * centred
        norms = np.square(scaled).sum(-1)[..., None]
        columns = [scaled, np.broadcast_to(ones, norms.shape), norms]
        self.places = np.ascontiguousarray(np.concatenate(columns, axis=-1).transpose(0, 2, 1))

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

    @property
    def central_member(self) -> int:
        """The number of the member whose kernel is nearest to the average, in logarithms."""
        logs = np.log(np.hstack([self.weights, self.variances[:, 0]]))
        return int(np.square(logs - logs.mean(0)).sum(1).argmin())

    def at(self, rows: Array) -> tuple[Array, Array]:
        """Return mean and sd, (M, n) arrays."""
        means, explained = np.empty((2, len(self.roots), len(rows)))
        for first in range(0, len(rows), BLOCK):
            block = slice(first, first + BLOCK)
            for member in range(len(self.roots)):
                cross = self._cross(member, rows[block])
                means[member, block] = cross @ self.coefficients[member, :, 0]
                # The transpose is stored by columns, as BLAS needs it to multiply in place.
                white = self.roots[member].multiply(cross.T, overwrite=True)
                explained[member, block] = np.einsum("zx,zx->x", white, white)
        return means, self._sd(explained)

    def gradients(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean, sd and their gradients, (M, n) and (M, n, d) arrays.

        The gradient of the variance is that of -k(x)' A^-1 k(x), so its c is -2 A^-1 k(x).
        """
        members, n = len(self.roots), len(rows)
        means, explained = np.empty((2, members, n))
        sums = np.empty((members, 2, n, self.extended.shape[1]))
        for some in self._groups(n):
            cross, slopes = self._kernels(some, rows)
            means[some] = (cross @ self.coefficients[some])[..., 0]
            weighted = np.empty((len(cross), 2, *cross.shape[1:]))
            np.multiply(slopes, self.coefficients[some].transpose(0, 2, 1), out=weighted[:, 0])
            for place, member in enumerate(range(members)[some]):
                root = self.roots[member]
                white = root.multiply(cross[place].T)
                explained[member] = np.einsum("zx,zx->x", white, white)
                solved = root.multiply(white, transposed=True, overwrite=True)
                np.multiply(slopes[place], solved.T, out=weighted[place, 1])
            sums[some] = weighted @ self.extended
        slopes = sums[..., -1:] * (rows - self.origin)
        slopes -= sums[..., :-1]
        slopes *= -self.weights[:, None, None, :]
        sd = self._sd(explained)
        inverse = np.divide(-1.0, sd, out=np.zeros_like(sd), where=sd > 0)
        return means, sd, slopes[:, 0], inverse[..., None] * slopes[:, 1]

    def _groups(self, n: int) -> Iterator[slice]:
        """Return the members in groups, of which all kernels at n rows stay in the cache."""
        together = max(1, CHUNK // (n * len(self.points)))
        for first in range(0, len(self.roots), together):
            yield slice(first, first + together)

    def _cross(self, member: int, rows: Array) -> Array:
        """k(x, z) of one member, an (n, m) array."""
        one = slice(member, member + 1)
        cross = np.empty((len(rows), len(self.points)))
        width = max(1, CHUNK // len(self.points))
        for first in range(0, len(rows), width):
            piece = slice(first, first + width)
            cross[piece] = self._kernels(one, rows[piece])[0][0]
        return cross

    def _kernels(self, some: slice, rows: Array) -> tuple[Array, Array]:
        """k(x, z) and s(x, z) of some members, (M, n, m) arrays."""
        here = np.sqrt(self.weights[some])[:, None, :] * (rows - self.origin)
        left = np.empty((*here.shape[:2], here.shape[2] + 2))
        np.multiply(here, -2.0, out=left[..., :-2])
        np.einsum("inj,inj->in", here, here, out=left[..., -2])
        left[..., -1] = 1.0
        squares = left @ self.places[some]
        np.maximum(squares, 0.0, out=squares)
        k, slope = self.profile(squares)
        # A new array, because both are the same for RBF.
        slope = self.variances[some] * slope
        k *= self.variances[some]
        k += self.levels[some]
        return k, slope

    def _sd(self, explained: Array) -> Array:
        """sqrt(k(x, x) - explained)"""
        prior = (self.variances + self.levels)[..., 0]
        return np.asarray(np.sqrt(np.maximum(prior - explained, 0.0)))
