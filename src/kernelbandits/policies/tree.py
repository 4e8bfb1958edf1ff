"""Adaptive discretisation: a tree of cells of arms that is refined where f may be high."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelbandits import widths
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import tied_arms
from kernelbandits.policies.about import PARTITIONS, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.cubes import Cube, unit_cube

LARGEST_MEDOID = 2000
"""Cells of more arms are represented by the arm nearest to their mean point."""


class AdaptiveTree(Policy[Array]):
    """Play the centre of the cell with the highest upper bound, and divide well-known cells.

    The arms are divided into cells, each with a centre c. The value of a cell bounds f on it:

    I = min(UCB(c), UCB(c') + V') + V,

    UCB = mean + width sd, width = D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L),

    where V = D max d_k(x, c) over the arms of the cell bounds |f(x) - f(c)|,
    d_k(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z), and c', V' are those of its parent. A cell of the
    greatest I is divided into cubes of half the side while width sd(c) <= V: then its value comes
    from its size, not from the noise at its centre.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> arms = kb.Arms(np.linspace(0, 1, 9)[:, None])
    >>> policy = kb.policies.AdaptiveTree(arms, kb.RBF(0.5), noise_scale=0.1, norm_bound=1.0)
    >>> for t in range(1, 13):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=choice.x[0])
    >>> {centre: cell.arms.tolist() for centre, cell in policy.leaves.items()}
    {1: [0, 1, 2, 3], 4: [4, 5], 7: [6, 7, 8]}
    """

    about = About(
        name="adaptive-tree",
        title="Adaptive discretisation",
        family=PARTITIONS,
        paper="Shekhar & Javidi, Gaussian process bandits with adaptive discretization, 2018",
        guarantee="the value of a cell bounds f on it with probability 1 - delta; the original's "
        "regret is for f ~ GP(0, k)",
        ours="the RKHS form: V = D max d_k over the arms of a cell, Whitehouse's width, medoids "
        "(above 2000 arms the arm nearest to the mean), no greatest depth; none of the "
        "original's constants",
    )

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
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self.width = widths.self_normalised(noise_scale, norm_bound, ridge, chance)
        self.norm_bound = norm_bound
        self.unit, root, geometry = unit_cube(self.domain.points)
        everyone = np.arange(len(self.domain))
        self._metric = (
            self._distances(everyone, everyone) if len(everyone) <= LARGEST_MEDOID else None
        )
        self.leaves: dict[int, Cube] = {}
        """centre -> cell"""
        n = len(self.domain)
        self._spread, self._parent_spread = np.full((2, n), -math.inf)
        self._parent = np.zeros(n, dtype=np.int64)
        self._add_leaf(root, 0, math.inf)
        self._settle()
        self.settings |= {
            "width": self.width.rule,
            "exploration": "PointMass(c=1.0)",
            "gain": "realised",
        }
        self.settings["cells"] = geometry

    _metric: Array | None = None
    """d_k of all arms, where they are not too many to compute it once for all."""

    def score_arms(self, t: int) -> Array:
        return self._values()

    def _values(self) -> Array:
        """Return I of the leaf an arm is the centre of, minus infinity for all other arms."""
        upper = self.posterior.mean + self._width() * self.posterior.sd
        values: Array = np.minimum(upper, upper[self._parent] + self._parent_spread) + self._spread
        return values

    def _width(self) -> float:
        return self.width(1, self.posterior.log_det)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        self._settle()

    def _settle(self) -> None:
        """Divide leaves of the greatest index until none of them is to be divided."""
        while ripe := self._find_divisible():
            for centre in ripe:
                self._divide(centre)

    def _find_divisible(self) -> list[int]:
        """Return the centres of the best leaves with width sd(c) <= V and more than one arm."""
        best = tied_arms(self._values())
        band = self._width() * np.sqrt(np.maximum(self.posterior.variance[best], 0.0))
        return [
            int(c)
            for c in best[band <= self._spread[best]]
            if self.leaves[int(c)].divides(self.unit)
        ]

    def _divide(self, centre: int) -> None:
        cell, spread = self.leaves.pop(centre), float(self._spread[centre])
        self._spread[centre] = -math.inf
        for part in cell.parts(self.unit):
            self._add_leaf(part, centre, spread)

    def _add_leaf(self, cell: Cube, parent: int, parent_spread: float) -> None:
        """Add a new leaf below the parent."""
        centre, distance = self._centre(cell.arms)
        self.leaves[centre] = cell
        self._spread[centre] = self.norm_bound * distance if cell.divides(self.unit) else 0.0
        self._parent[centre], self._parent_spread[centre] = parent, parent_spread

    def _centre(self, arms: Indices) -> tuple[int, float]:
        """Return the medoid in d_k and the greatest distance from it.

        Of several medoids it is the lexicographically least, so that the order of the arms does
        not matter.
        """
        if len(arms) == 1:
            return int(arms[0]), 0.0
        if len(arms) > LARGEST_MEDOID:
            offsets = self.unit[arms] - self.unit[arms].mean(0)
            centre = self._least(arms, (offsets**2).sum(1))
            return int(arms[centre]), float(self._distances(arms, arms[[centre]]).max())
        distances = self._distances(arms, arms)
        np.fill_diagonal(distances, 0.0)
        centre = self._least(arms, distances.sum(1))
        return int(arms[centre]), float(distances[centre].max())

    def _least(self, arms: Indices, costs: Array) -> int:
        rows = tied_arms(-costs)
        return int(rows[np.lexsort(self.unit[arms[rows]].T[::-1])[0]])

    def _distances(self, arms: Indices, others: Indices) -> Array:
        """Return the distances d_k(x, z), x of the arms and z of the others.

        d_k(x, z) = sqrt(k(x, x) + k(z, z) - 2 k(x, z)).
        """
        if self._metric is not None:
            return self._metric[np.ix_(arms, others)]
        points, prior = self.domain.points, self.posterior.prior
        squares = (
            prior[arms, None]
            + prior[others]
            - 2 * self.posterior.kernel(points[arms], points[others])
        )
        distances: Array = np.sqrt(np.maximum(squares, 0.0))
        return distances
