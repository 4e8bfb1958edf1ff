"""Rows moved into a constrained set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from constrained_spaces import RULES, SPACES, every_space


@pytest.mark.parametrize("name", ["percent", "two sums"])
def test_a_row_is_rounded_to_the_nearest_of_all_points(name):
    """The distance is the sum of absolute distances in sides."""
    space, rng = SPACES[name], np.random.default_rng(5)
    inside = space.from_unit(rng.random((40, space.sides)))
    # Averages of points satisfy the sums, but are not on the grids.
    target = (inside[:20] + inside[20:]) / 2
    sides = np.subtract(space.upper, space.lower)
    every = np.abs((space.all_rows() - target[:, None]) / sides).sum(2)
    rounded = np.abs((space.feasible.settle(target) - target) / sides).sum(1)
    np.testing.assert_allclose(rounded, every.min(1), atol=1e-9)


@every_space
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_row_has_a_nearest_point(name, seed):
    space = SPACES[name]
    row = np.random.default_rng(seed).uniform(space.lower, space.upper)
    x = space.decode(row)
    assert RULES[name](**x)
    assert x in space


def test_a_point_at_a_corner_satisfies_inequalities_as_computed():
    """A value within rounding of its bound is set to it; that must not break a sum."""
    space = kb.MixedBox(
        dict.fromkeys("ABCDEF", kb.Real(0, 1)),
        constraints=["A + B + C + D + E + F == 1", "A + B >= 0.2", "C <= 2*D"],
    )
    rng = np.random.default_rng(0)
    corner = np.array([0.2, 0.0, 0.0, 0.8, 0.0, 0.0])
    rows = corner + rng.normal(size=(300, 6)) * 10.0 ** rng.uniform(-16, -9, (300, 1))
    for row in space.feasible.settle(rows):
        x = space.decode(row)
        assert x["A"] + x["B"] >= 0.2
        assert x["C"] <= 2 * x["D"]
        assert abs(sum(x.values()) - 1) <= 1e-9
        assert all(0 <= value <= 1 for value in x.values())
