"""Moves by whole steps that keep equalities."""

from __future__ import annotations

import numpy as np
import pytest

from constrained_spaces import SPACES
from kernelbandits.domains.lattice import elementary_moves, whole_number_kernel


def test_whole_number_moves_keep_the_equalities():
    matrix = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 3.0]])
    moves = elementary_moves(whole_number_kernel(matrix))
    assert [1, 0, -1, 0] in moves
    assert len(whole_number_kernel(matrix)) == 2
    for move in moves:
        np.testing.assert_array_equal(matrix @ np.array(move), 0.0)


@pytest.mark.parametrize("name", ["percent", "two sums", "grids and reals"])
def test_moves_of_a_space_keep_its_equalities_and_its_grids(name):
    feasible = SPACES[name].feasible
    coordinates, moves = feasible.coordinates, feasible.walks.lattice
    assert len(moves)
    np.testing.assert_allclose(moves @ feasible.system.equalities.T, 0.0, atol=1e-12)
    steps = moves[:, coordinates.is_grid] / coordinates.step[coordinates.is_grid]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-12)


def test_any_two_components_of_a_mixture_exchange_steps():
    moves = elementary_moves(whole_number_kernel(np.ones((1, 4))))
    pairs = {tuple(np.flatnonzero(move)) for move in moves}
    assert pairs == {(i, j) for i in range(4) for j in range(i + 1, 4)}
