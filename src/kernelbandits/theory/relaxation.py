"""The D-optimal design with real-valued repeats: an upper bound of the maximum information gain.

    gamma_T <= max F(m) over masses m >= 0 of sum T,    F(m) = (1/2) log det(I + sum_i m_i phi_i
    phi_i' / ridge)

F is concave and its gradient is v / 2, v(x) = var(x) / ridge under the masses, so for *any* masses

    gamma_T <= F(m) + (T sup_x v(x) - sum_i m_i v(x_i)) / 2

A better design gives a smaller bound. The bound is computed from the masses alone, so it holds
wherever the search for a design stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dtrtri

from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import CHECKED_POINTS, Kernel, gram
from kernelbandits.posterior.sufficient import lower_root

EPS = float(np.finfo(float).eps)
TOLERANCE = 1e-3
"""The search ends when the duality gap is below this share of the gain."""
STARTS = 300
"""Number of steps of the greedy design with which the search starts."""
SWEEPS = 60
STEPS = 500
"""Exchanges in a sweep; between two sweeps the variances of all places are computed."""
WORK = 6e8
"""The largest number of operations of all exchanges."""
DENSE = 2000
"""With at most this many arms, all of them may carry mass from the beginning."""
LARGEST_ROWS = 20_000_000
"""How many numbers greedy steps may store."""
ROWS = 4096
"""Variances are computed for this many places at a time."""


class Places:
    """Points that may carry mass; their kernel matrix is stored if it is small enough."""

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.points = kernel, points
        self.prior: Array = kernel.diagonal(points)
        self._held: Array | None = gram(kernel, points) if len(points) <= DENSE else None
        gram(kernel, points[:CHECKED_POINTS])

    def __len__(self) -> int:
        return len(self.points)

    def matrix(self, rows: Indices, columns: Indices) -> Array:
        """Return k of some places with some others."""
        if self._held is not None:
            return np.asarray(self._held[np.ix_(rows, columns)])
        return self.kernel(self.points[rows], self.points[columns])

    def row(self, place: int) -> Array:
        """Return k of one place with all."""
        if self._held is not None:
            return np.asarray(self._held[place])
        return np.asarray(self.kernel(self.points[place][None], self.points)[0])


@dataclass(frozen=True, eq=False)
class Design:
    """Masses on places: real-valued repeats with sum T."""

    places: Places
    masses: Array
    rounds: float
    ridge: float

    @cached_property
    def support(self) -> Indices:
        return self.masses.nonzero()[0]

    @cached_property
    def root(self) -> Array:
        """M^1/2 of the places that carry mass."""
        return np.sqrt(self.masses[self.support])

    @cached_property
    def factor(self) -> Array:
        """The Cholesky factor of B = I + M^1/2 K M^1/2 / ridge."""
        matrix = self.places.matrix(self.support, self.support)
        return lower_root(
            np.eye(len(matrix)) + self.root[:, None] * matrix * self.root / self.ridge, least=1.0
        )

    @cached_property
    def gain(self) -> float:
        """F(m) = (1/2) log det B"""
        return float(np.log(self.factor.diagonal()).sum())

    @cached_property
    def leverages(self) -> Array:
        """m_i v(x_i) = 1 - [B^-1]_ii of the places that carry mass."""
        inverse, _ = dtrtri(self.factor, lower=1)
        return np.asarray(np.maximum(1 - (inverse**2).sum(0), 0.0))

    def explained_factor(self, cross: Array) -> Array:
        """Return W, the part of the covariance that the design explains, for cross = k(support, .).

        cov(x, z) / ridge = k(x, z) / ridge - W(x)' W(z)
        """
        return (
            np.asarray(solve_triangular(self.factor, self.root[:, None] * cross, lower=True))
            / self.ridge
        )

    def explained_factor_at(self, chosen: Indices) -> Array:
        """Return W of some of the places."""
        return self.explained_factor(self.places.matrix(self.support, chosen))

    def covariance(self, chosen: Indices) -> Array:
        """Return cov / ridge among some of the places."""
        rows = self.explained_factor_at(chosen)
        return np.asfortranarray(self.places.matrix(chosen, chosen) / self.ridge - rows.T @ rows)

    def relative_variance(self, points: Array) -> Array:
        """Return v(x) = var(x) / ridge at any points."""
        carried = self.places.points[self.support]
        rows = self.explained_factor(self.places.kernel(carried, points))
        return np.asarray(
            np.maximum(self.places.kernel.diagonal(points) / self.ridge - (rows**2).sum(0), 0.0)
        )

    @cached_property
    def variances(self) -> Array:
        """v at all places."""
        some = np.array_split(np.arange(len(self.places)), 1 + len(self.places) // ROWS)
        left = [
            self.places.prior[part] / self.ridge - (self.explained_factor_at(part) ** 2).sum(0)
            for part in some
        ]
        return np.asarray(np.maximum(np.concatenate(left), 0.0))

    @cached_property
    def gap(self) -> float:
        """The duality gap: by how much the best design on these places can exceed this one."""
        return float(self.rounds * self.variances.max() - self.masses @ self.variances) / 2

    def rounding_allowance(self, largest: float) -> float:
        """Return an allowance for rounding errors of the gain.

        4 s eps (1 + T sup k / ridge)

        s is the number of places with mass. The allowance was measured, not proved.
        """
        return 4 * len(self.support) * EPS * (1 + self.rounds * largest / self.ridge)

    def bound(self, peak: float, largest: float) -> float:
        """Return an upper bound of the gain of any T points, with peak = sup v, largest = sup k."""
        return (
            self.gain
            + max(self.rounds * peak - float(self.leverages.sum()), 0.0) / 2
            + self.rounding_allowance(largest)
        )

    def rescale(self, rounds: float, ridge: float) -> Design:
        """Return the design with the same shares for other numbers of rounds and another ridge."""
        return replace(
            self, masses=self.masses * (rounds / self.rounds), rounds=rounds, ridge=ridge
        )


def optimal_design(
    places: Places, rounds: float, ridge: float, near: Design | None = None
) -> Design:
    """Return the best design found on the places.

    Sweeps of exchanges improve a greedy design, or the design `near` if that has a larger gain.
    """
    design = start_design(places, rounds, ridge)
    if near is not None:
        design = max(design, near.rescale(rounds, ridge), key=lambda found: found.gain)
    best, work = design, 0.0
    for _ in range(SWEEPS):
        if design.gap <= TOLERANCE * design.gain or work >= WORK:
            break
        design, touched = sweep(design, WORK - work)
        best, work = min(best, design, key=lambda found: found.gain + found.gap), work + touched
    return best


def start_design(places: Places, rounds: float, ridge: float) -> Design:
    """Return a greedy design with steps of T / 300 rounds each.

    If nearly every greedy step chooses another place, many places will carry mass; then the masses
    start from equal shares on all places.
    """
    steps = max(1, min(STARTS, LARGEST_ROWS // len(places)))
    counts = greedy_counts(
        Design(places, np.zeros(len(places)), 0.0, ridge * steps / rounds), steps
    )
    greedy = Design(places, counts * (rounds / steps), rounds, ridge)
    crowded = len(greedy.support) < 0.9 * steps or len(places) > DENSE
    if crowded:
        return greedy
    return spread_masses(replace(greedy, masses=np.full(len(places), rounds / len(places))))


def greedy_counts(begun: Design, steps: int) -> Array:
    """Return the counts of a design with `steps` more rounds, each at the largest variance."""
    places, held, counts = begun.places, len(begun.support), begun.masses.copy()
    rows = np.empty((held + steps, len(places)))
    rows[:held] = begun.explained_factor_at(np.arange(len(places)))
    left = places.prior / begun.ridge - (rows[:held] ** 2).sum(0)
    for step in range(held, held + steps):
        place = int(left.argmax())
        column = places.row(place) / begun.ridge - rows[:step, place] @ rows[:step]
        rows[step] = column / math.sqrt(1 + max(float(left[place]), 0.0))
        left -= rows[step] ** 2
        counts[place] += 1
    return counts


def spread_masses(design: Design) -> Design:
    """Move all masses at once, by steps that never lower F; an exchange moves two.

    m_i <- T m_i v_i / sum_j m_j v_j
    """
    for _ in range(3 if len(design.places) > DENSE // 2 else 10):
        leverages = design.leverages
        total = leverages.sum()
        if not total > 0:
            break
        largest = (leverages / design.masses[design.support]).max()
        if largest * design.rounds <= 1.01 * total:
            break
        masses = np.zeros(len(design.masses))
        masses[design.support] = leverages * (design.rounds / total)
        design = replace(design, masses=masses)
    return design


def sweep(design: Design, work: float) -> tuple[Design, float]:
    """Exchange mass among the places that carry some and the most informative others.

    Returns the new design and the number of operations.
    """
    taking = np.concatenate([design.support, entering_places(design)])
    cov, masses = design.covariance(taking), design.masses[taking]
    steps = int(min(STEPS, max(1.0, work / len(taking) ** 2)))
    exchange(
        cov, masses, design.rounds, max(0.3 * TOLERANCE * design.gain, 0.2 * design.gap), steps
    )
    moved = np.zeros(len(design.masses))
    moved[taking] = masses
    looked = len(design.masses) * len(taking) ** 2 / 10
    return replace(design, masses=moved), float(steps * len(taking) ** 2) + looked


def entering_places(design: Design) -> Indices:
    """Return places without mass and with large variance.

    Each is chosen as if those before it had T / s rounds, s the number of places with mass. So two
    places close to each other are not both chosen.
    """
    count = max(10, len(design.support) // 5)
    level = float(design.masses @ design.variances) / design.rounds
    outside = np.setdiff1d((-design.variances).argsort()[: 4 * count], design.support)
    cov, chosen = design.covariance(outside), set[int]()
    for _ in range(min(count, len(outside))):
        place = int(cov.diagonal().argmax())
        if not cov[place, place] > level:
            break
        chosen.add(place)
        condition(cov, place, design.rounds / len(design.support))
    return outside[sorted(chosen)]


def exchange(cov: Array, masses: Array, rounds: float, goal: float, steps: int) -> None:
    """Move mass in place by pairwise Frank-Wolfe steps.

    Each step moves mass from the least informative place with mass to the most informative place.
    cov is relative to the ridge. A mass m moved from j to i multiplies the determinant by
    1 + m (v_i - v_j) - m^2 (v_i v_j - v_ij^2). This is largest at m = (v_i - v_j) / (2 (v_i v_j -
    v_ij^2)), or at the whole mass of j if that is less.
    """
    relative = cov.ravel(order="K")[:: len(cov) + 1]
    for _ in range(steps):
        best, worst = int(relative.argmax()), int(np.where(masses > 0, relative, np.inf).argmin())
        high, low = float(relative[best]), float(relative[worst])
        if not high > low or (rounds * high - masses @ relative) / 2 <= goal:
            break
        curvature = high * low - float(cov[best, worst]) ** 2
        moved = min(
            (high - low) / (2 * curvature) if curvature > 0 else np.inf, float(masses[worst])
        )
        condition(cov, best, moved)
        # Without this check the next update would divide by nearly zero. The mass stays where it
        # was; cov, which is not used after the loop, does not.
        if not 1 - moved * relative[worst] > 1e-9:
            break
        condition(cov, worst, -moved)
        masses[best] += moved
        masses[worst] -= moved


def condition(cov: Array, place: int, mass: float) -> None:
    """Add `mass` rounds of a place to cov, or remove them.

    cov -= c c' m / (1 + m c_place)
    """
    column = cov[:, place].copy()
    dger(-mass / (1 + mass * column[place]), column, column, a=cov, overwrite_a=1)
