"""The posterior at points as a search on a box evaluates it: all members, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import KernelParts
from kernelbandits.posterior.points import PointPosterior

Score = Callable[[Array, Array], tuple[Array, Array, Array]]
"""Means and sds of the members, (M, n) arrays -> a score (n,), and its derivatives by each mean and
by each sd, (M, n) arrays."""
Kernels = tuple[Array, Callable[[Array], Array]]
"""k_i(x, z) of all members, an (M, n, m) array, and a function: weights c of that shape -> the
gradient of sum_i sum_z c_iz k_i(x, z) by x, an (n, d) array."""

NUMBERS_AT_ONCE, LEAST_ROWS = 16384, 16
"""Kernels computed at a time, few enough to stay in the cache of the processor."""
FARTHEST_SQUARE = 1e4
"""The greatest squared distance of a point played from the middle of all, in lengthscales. Squared
distances are exact to 1e-16 of it."""
SHORTEST_LENGTH = 1e-50
"""The shortest lengthscale. A side of a box may be 1e100 long, and the square of so many
lengthscales must not overflow: infinity times 0 is no number."""
ROUNDING = 1e-12
"""The error of a difference of variances, as a share of the prior variance."""


class Reference(NamedTuple):
    """The point played of the best estimate, x*, under each member."""

    means: Array
    """(M, 1): the estimates at x*."""
    weights: Array
    """(M, m, 1): u with cov(x, x*) = k(x)' u."""
    rounding: Array
    """(M, 1): a difference v(x) - c(x, x*) below it is what the subtraction leaves of rounding."""


class SearchForm:
    """Mean, sd and the gradient of a score of both, under all members of a posterior.

    With L^-1 of a member (`PointMember.inverse_factor`), v = L^-1 k(x) and w = L^-1' v are products
    of matrices, and so is the gradient of a score f(means, sds),

        sum_i sum_z c_iz d k_i(x, z) / d x,   c_i = (df/dmean_i) A^-1 ybar - (df/dsd_i) / sd_i w.

    With `from_best` the sd is that of what one reward at x changes in mean(x) - mean(x*), with x*
    the point played of the best estimate (`among` some of them, by their positions):

        |v(x) - c(x, x*)| / sqrt(v(x) + ridge),   c(x, x*) = (ridge / n*) k(x)' A^-1 e*.

    It is 0 at x* and small close to it, where v(x) alone is not: a reward there moves both
    estimates alike. It is small too at points that were played, where v(x) is small against the
    noise.

    Kernels of one smooth form are products of matrices too (`ProductKernels`), which takes a fifth
    to a third of the time of `PointPosterior.at`. Others are evaluated by their own methods.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> from kernelbandits.posterior import SearchForm
    >>> posterior = kb.posterior.PointPosterior(kb.RBF(0.5), kb.Box((0.0,), (1.0,)), 0.1)
    >>> posterior.update([0.5], 2.0)
    >>> means, sds = SearchForm(posterior).at(np.array([[0.0], [0.5]]))
    >>> means.round(3), sds.round(3)
    (array([[1.103, 1.818]]), array([[0.816, 0.302]]))
    """

    def __init__(
        self, posterior: PointPosterior, from_best: bool = False, among: Indices | None = None
    ) -> None:
        self.posterior = posterior
        self.coefficients = posterior.coefficients
        self.roots = [member.inverse_factor for member in posterior.members]
        products = ProductKernels.of(posterior)
        self.kernels: ProductKernels | OwnKernels = products or OwnKernels(posterior)
        self.reference = refer_to_best(posterior, among) if from_best else None
        self._ridges = posterior.ridges[:, None]

    def at(self, rows: Array, sds: bool = True) -> tuple[Array, Array]:
        """Return means and sds at the rows, (M, n) arrays; without `sds` these are 0."""
        shape = len(self.roots), len(rows)
        means, spreads = np.empty(shape), np.zeros(shape)
        size = max(LEAST_ROWS, NUMBERS_AT_ONCE // max(1, self.coefficients.size))
        for first in range(0, len(rows), size):
            some = slice(first, first + size)
            cross = self.kernels.values(rows[some])
            means[:, some] = (cross @ self.coefficients[..., None])[..., 0]
            if sds:
                # The transposes are stored by columns, as BLAS needs it to multiply in place.
                variances = self.kernels.diagonal(rows[some])
                shared = None if self.reference is None else cross @ self.reference.weights
                for root, values, left in zip(self.roots, cross, variances, strict=True):
                    white = root.multiply(values.T, overwrite=True)
                    left -= np.einsum("zx,zx->x", white, white)
                spread = means[:, some], np.maximum(variances, 0.0), shared
                means[:, some], spreads[:, some] = self._spread(*spread)
        return means, spreads

    def slopes(self, rows: Array, score: Score, sds: bool = True) -> tuple[Array, Array]:
        """Return a score of means and sds at the rows, and its gradient."""
        cross, gradient_of = self.kernels(rows)
        means = (cross @ self.coefficients[..., None])[..., 0]
        if not sds:
            value, by_mean, _ = score(means, np.zeros(means.shape))
            weights = by_mean[..., None] * self.coefficients[:, None]
            return value, gradient_of(weights)
        weights, variances = np.empty(cross.shape), self.kernels.diagonal(rows)
        for i, root in enumerate(self.roots):
            white = root.multiply(cross[i].T)
            variances[i] -= np.einsum("zx,zx->x", white, white)
            weights[i] = root.multiply(white, transposed=True, overwrite=True).T
        variances = np.maximum(variances, 0.0)
        shared = None if self.reference is None else cross @ self.reference.weights
        means, spreads = self._spread(means, variances, shared)
        value, by_mean, by_sd = score(means, spreads)
        # An sd of 0 is the least possible: its gradient counts as 0.
        share = by_sd / np.where(spreads > 0, spreads, np.inf)
        if self.reference is not None:
            share, by_shared = self._follow_change(share, variances, shared)
            weights *= -share[..., None]
            weights += by_shared[..., None] * self.reference.weights.transpose(0, 2, 1)
        else:
            weights *= -share[..., None]
        weights += by_mean[..., None] * self.coefficients[:, None]
        return value, gradient_of(weights) + self.kernels.diagonal_slopes(rows, share)

    def _spread(self, means: Array, variances: Array, shared: Array | None) -> tuple[Array, Array]:
        """Return means and sds, or those of the change: where that is 0 nothing is to gain."""
        if self.reference is None:
            return means, np.sqrt(variances)
        assert shared is not None
        moved = np.abs(variances - shared[..., 0])
        known = moved > self.reference.rounding
        spread = np.where(known, moved, 0.0) / np.sqrt(variances + self._ridges)
        return np.where(known, means, self.reference.means), spread

    def _follow_change(
        self, share: Array, variances: Array, shared: Array | None
    ) -> tuple[Array, Array]:
        """Return twice the derivative of a score by v(x), and that by c(x, x*).

        `share` is the derivative by s = |v - c| / sqrt(v + ridge), divided by s.
        """
        assert shared is not None
        moved, total = variances - shared[..., 0], variances + self._ridges
        by_shared = -share * moved / total
        return -2 * by_shared - share * moved**2 / total**2, by_shared

    def central_member(self) -> int | None:
        """Return the number of the most central member; None if their kernels do not compare."""
        return self.kernels.central_member()


def refer_to_best(posterior: PointPosterior, among: Indices | None = None) -> Reference:
    """Return the point played of the best estimate under each member, among these if any."""
    played = posterior.played_means if among is None else posterior.played_means[:, among]
    slots = played.argmax(1) if among is None else among[played.argmax(1)]
    largest = [float(member.prior.max()) for member in posterior.members]
    return Reference(
        means=played.max(1)[:, None],
        weights=posterior.covariance_weights(slots.tolist())[..., None],
        rounding=ROUNDING * np.array(largest)[:, None],
    )


class ProductKernels:
    """Kernels signal * k + level with lengthscales of their own, evaluated by products of matrices.

    With x and the points played z in lengthscales, squared distances are |x|^2 - 2 x.z + |z|^2, one
    product of matrices. Since d k(x, z) / d x_j = -s(x, z) (x_j - z_j) / l_j, so is a gradient.
    """

    def __init__(self, posterior: PointPosterior, parts: Sequence[KernelParts]) -> None:
        points, d = posterior.points, posterior.dimension
        lengths = [np.broadcast_to(part.lengthscale, (d,)) for part in parts]
        self.lengths = np.array(lengths)[:, None]
        # Distances lose digits far from the origin.
        self.origin = points.mean(0)
        self.signals = np.array([part.signal for part in parts])[:, None, None]
        self.levels = np.array([part.level for part in parts])[:, None, None]
        self.profile = parts[0].profile
        places = (points - self.origin) / self.lengths
        squares = np.square(places).sum(2)[:, None]
        self.farthest_square = float(squares.max())
        ones = np.ones(squares.shape)
        # The squared distance is the product of (x, |x|^2, 1) and (-2 z, 1, |z|^2).
        self.right = np.concatenate([-2 * places.transpose(0, 2, 1), ones, squares], axis=1)
        self.extended = np.concatenate([places, ones.transpose(0, 2, 1)], axis=2)
        """(M, m, d + 1): the points with a 1, by which a product gives the sum too."""

    @classmethod
    def of(cls, posterior: PointPosterior) -> ProductKernels | None:
        """Return the form of a posterior; None if it has none or would lose too many digits."""
        parts = posterior.stack.parts
        if not len(posterior.points) or parts is None or len({part.nu for part in parts}) > 1:
            return None
        for part in parts:
            if part.additive + part.nugget or np.min(part.lengthscale) < SHORTEST_LENGTH:
                return None
        form = cls(posterior, parts)
        return form if form.farthest_square <= FARTHEST_SQUARE else None

    def __call__(self, rows: Array) -> Kernels:
        left = np.empty((len(self.lengths), len(rows), self.right.shape[1]))
        here = left[..., :-2]
        np.subtract(rows, self.origin, out=here)
        here /= self.lengths
        np.einsum("inj,inj->in", here, here, out=left[..., -2])
        left[..., -1] = 1.0
        squares = left @ self.right
        np.maximum(squares, 0.0, out=squares)
        k, slopes = self.profile(squares)
        # A new array, because both are the same for RBF.
        values = self.signals * k
        values += self.levels

        def gradient_of(weights: Array) -> Array:
            sums = (weights * slopes) @ self.extended
            gradients = sums[..., :-1] - sums[..., -1:] * here
            gradients *= self.signals / self.lengths
            return np.asarray(gradients.sum(0))

        return values, gradient_of

    def values(self, rows: Array) -> Array:
        """Return k_i(x, z) alone."""
        return self(rows)[0]

    def diagonal(self, rows: Array) -> Array:
        """Return k_i(x, x), an (M, n) array."""
        return np.repeat((self.signals + self.levels)[..., 0], len(rows), axis=1)

    def diagonal_slopes(self, rows: Array, share: Array) -> float:
        """Return what k(x, x) adds to the gradient: nothing, it is the same everywhere."""
        return 0.0

    def central_member(self) -> int:
        """Return the number of the member whose kernel is nearest to the average, in logarithms."""
        logs = np.hstack([-2 * np.log(self.lengths[:, 0]), np.log(self.signals[:, 0])])
        return int(np.square(logs - logs.mean(0)).sum(1).argmin())


class OwnKernels:
    """Any kernels, by their own methods."""

    def __init__(self, posterior: PointPosterior) -> None:
        self.stack, self.points = posterior.stack, posterior.points

    def __call__(self, rows: Array) -> Kernels:
        if not len(self.points):
            empty = np.empty((self.stack.size, len(rows), 0))
            return empty, lambda weights: np.zeros(rows.shape)
        parts = [kernel.value_and_gradient(rows, self.points) for kernel in self.stack.kernels]
        values, gradients = zip(*parts, strict=True)

        def gradient_of(weights: Array) -> Array:
            pairs = zip(weights, gradients, strict=True)
            each = [np.einsum("nm,nmd->nd", weight, gradient) for weight, gradient in pairs]
            return np.asarray(np.sum(each, axis=0))

        return np.array(values), gradient_of

    def values(self, rows: Array) -> Array:
        """Return k_i(x, z) alone."""
        if not len(self.points):
            return np.empty((self.stack.size, len(rows), 0))
        return self.stack(rows, self.points)

    def diagonal(self, rows: Array) -> Array:
        """Return k_i(x, x), an (M, n) array."""
        return self.stack.diagonal(rows)

    def diagonal_slopes(self, rows: Array, share: Array) -> Any:
        """Return what k(x, x) adds to the gradient, half of its own times df/dsd / sd."""
        slopes = np.array([kernel.diagonal_gradient(rows) for kernel in self.stack.kernels])
        return (share[..., None] * slopes / 2).sum(0)

    def central_member(self) -> None:
        """Return None: kernels of any form do not compare."""
        return
