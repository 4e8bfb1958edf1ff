"""Moves within polytopes, beside slow solutions of the same problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from kernelbandits.domains.polytope import PolytopeLimits, null_basis


def random_limits(seed, count=7, dimension=3):
    """Limits that contain the origin."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(count, dimension))
    normals /= np.sqrt((normals**2).sum(1))[:, None]
    offsets = rng.uniform(0.1, 1.0, (1, count))
    ones = np.ones(dimension)
    return PolytopeLimits(normals, offsets, ones, np.eye(dimension)), rng


def solve_slowly(objective, gradient, start, normals, offsets):
    constraint = {"type": "ineq", "fun": lambda p: offsets - normals @ p, "jac": lambda p: -normals}
    found = minimize(
        objective, start, jac=gradient, constraints=[constraint], method="SLSQP", tol=1e-12
    )
    return found.x


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_point_inside_is_that_of_a_quadratic_programme(seed):
    limits, rng = random_limits(seed)
    row = 3 * rng.normal(size=3)
    expected = solve_slowly(
        lambda p: ((p - row) ** 2).sum(),
        lambda p: 2 * (p - row),
        np.zeros(3),
        limits.normals,
        limits.offsets[0],
    )
    found = limits.nearest_inside(row[None])[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (limits.normals @ found <= limits.offsets[0] + 1e-12).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_direction_at_a_corner_is_that_of_a_quadratic_programme(seed):
    """All limits touch the row, so the direction must not cross any of them."""
    limits, rng = random_limits(seed, count=2)
    limits = PolytopeLimits(limits.normals, np.zeros((1, 2)), limits.units, limits.projector)
    root = rng.normal(size=(3, 3))
    hessian, slope = root @ root.T + np.eye(3), rng.normal(size=3)
    expected = solve_slowly(
        lambda p: p @ hessian @ p / 2 - slope @ p,
        lambda p: hessian @ p - slope,
        np.zeros(3),
        limits.normals,
        np.zeros(2),
    )
    found = limits.directions(np.zeros((1, 3)), slope[None], np.linalg.inv(hessian)[None])[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_step_ends_at_the_first_limit():
    limits = PolytopeLimits(np.eye(2), np.array([[0.5, 2.0]]), np.ones(2), np.eye(2))
    np.testing.assert_allclose(limits.shorten(np.zeros((1, 2)), np.ones((1, 2))), [[0.5, 0.5]])


def test_a_basis_keeps_the_equalities_and_the_fixed_coordinates():
    equalities = np.array([[1.0, 1.0, 1.0, 0.0], [2.0, 2.0, 2.0, 0.0]])
    scale = np.array([1.0, 2.0, 0.0, 3.0])
    basis = null_basis(equalities, scale)
    assert basis.shape == (4, 2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(equalities @ (scale[:, None] * basis), 0.0, atol=1e-12)
    np.testing.assert_array_equal(basis[2], 0.0)
