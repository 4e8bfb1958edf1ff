"""A certified upper bound of the maximum information gain: the D-optimal design with real-valued repeats.

    gamma_T <= max_pi F(pi),   F(pi) = (1/2) log det(I + (T / ridge) sum_i pi_i phi_i phi_i'),   pi on the simplex

F is concave, so F(pi) + max_i g_i - sum_i pi_i g_i bounds its maximum for any pi, g the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelbandits.checks import Array

STEPS = 20_000


@dataclass(frozen=True)
class Design:
    """Shares of the rounds, the gain they would reach if they were whole, and how far from the best they may be."""

    shares: Array
    gain: float
    gap: float

    @property
    def bound(self) -> float:
        """No T points have more gain."""
        return self.gain + self.gap


def optimal_design(matrix: Array, rounds: int, ridge: float, tolerance: float = 1e-3) -> Design:
    """Pairwise Frank-Wolfe: move rounds from the least informative arm played to the most informative one.

    With v_i = var(x_i) / ridge, v_ij likewise and a mass m moved, det grows by 1 + m (v_i - v_j) - m^2 (v_i v_j - v_ij^2),
    whose maximum is at m = (v_i - v_j) / (2 (v_i v_j - v_ij^2)), or where arm j has nothing left.
    """
    n = len(matrix)
    masses = np.full(n, rounds / n)
    cov = posterior(matrix, masses, ridge)[0]
    for step in range(STEPS):
        relative = cov.diagonal() / ridge
        best, worst = int(relative.argmax()), int(np.where(masses > 0, relative, np.inf).argmin())
        gap = (rounds * relative[best] - masses @ relative) / 2
        if step % 100 == 0:
            cov, gain = posterior(matrix, masses, ridge)
        if gap <= tolerance * max(gain, 1e-12) or best == worst:
            break
        moved = pairwise_step(cov[best, best] / ridge, cov[worst, worst] / ridge, cov[best, worst] / ridge)
        moved = min(moved, masses[worst])
        masses[best] += moved
        masses[worst] = masses[worst] - moved if moved < masses[worst] else 0.0
        condition(cov, best, moved, ridge)
        condition(cov, worst, -moved, ridge)
    cov, gain = posterior(matrix, masses, ridge)
    relative = np.maximum(cov.diagonal(), 0.0) / ridge
    return Design(masses / rounds, gain, float((rounds * relative.max() - masses @ relative) / 2))


def pairwise_step(best: float, worst: float, between: float) -> float:
    curvature = best * worst - between**2
    return (best - worst) / (2 * curvature) if curvature > 0 else np.inf


def condition(cov: Array, arm: int, mass: float, ridge: float) -> None:
    """cov -= c c' m / (ridge + m c_arm): `mass` rounds of an arm more, or fewer."""
    column = cov[:, arm].copy()
    cov -= np.outer(column, column * (mass / (ridge + mass * column[arm])))


def posterior(matrix: Array, masses: Array, ridge: float) -> tuple[Array, float]:
    """Covariance and gain of real-valued repeats, from B = I + M^1/2 K M^1/2 / ridge."""
    root = np.sqrt(masses)
    factor = cho_factor(np.eye(len(root)) + root[:, None] * matrix * root / ridge, lower=True)
    cross = root[:, None] * matrix
    cov = matrix - cross.T @ cho_solve(factor, cross) / ridge
    return cov, float(np.log(factor[0].diagonal()).sum())
