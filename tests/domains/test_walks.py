"""Random points of a constrained set."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from constrained_spaces import RULES, SPACES, every_space


@every_space
def test_every_point_drawn_satisfies_the_constraints_exactly(name):
    space, rng = SPACES[name], np.random.default_rng(0)
    rows = space.from_unit(rng.random((300, space.sides)))
    np.testing.assert_array_equal(
        rows, space.from_unit(np.random.default_rng(0).random((300, space.sides)))
    )
    points = [space.decode(row) for row in rows]
    assert all(RULES[name](**x) for x in points)
    assert all(x in space for x in points)


def test_samples_of_a_mixture_are_uniform():
    """Each of three components of a mixture has mean 1/3 and variance 1/18."""
    space = kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"])
    rows = space.feasible.sample(4000, np.random.default_rng(1), moves=12)
    error = math.sqrt(1 / 18 / 4000)
    # The pool of 512 points that samples start from adds its own error.
    assert np.abs(rows.mean(0) - 1 / 3).max() < 4 * error + 2 * math.sqrt(1 / 18 / 512)
    assert np.abs(rows.var(0) - 1 / 18).max() < 0.01


def test_samples_reach_all_parts_of_a_set():
    space = SPACES["parts"]
    rows = space.from_unit(np.random.default_rng(0).random((400, 2)))
    assert 100 < (rows[:, 0] > 0).sum() < 300


@pytest.mark.thorough
def test_samples_beside_forbidden_combinations_are_uniform():
    """They have the means of points drawn in the whole box of which the forbidden are left out."""
    space = kb.MixedBox(
        {
            "s": kb.Category(("DMF", "DMSO", "water")),
            "t": kb.Real(20, 90),
            "n": kb.Integer(1, 30),
            "x": kb.Real(0, 1),
        },
        constraints=[
            "not (s == 'DMF' and t > 60)",
            "not (s == 'water' and t <= 50 and n > 3)",
            "not (x > 0.5 and t > 70)",
        ],
    )
    rng = np.random.default_rng(0)
    drawn = space.without_constraints.from_unit(rng.random((40_000, space.sides)))
    expected = drawn[space.feasible.holds(drawn)]
    rows = space.feasible.sample(4000, rng, moves=12)
    shift = np.abs(rows.mean(0) - expected.mean(0)) / expected.std(0)
    # The pool of 512 points that samples start from adds its own error.
    assert shift.max() < 4 * math.sqrt(1 / 4000) + 2 * math.sqrt(1 / 512)
