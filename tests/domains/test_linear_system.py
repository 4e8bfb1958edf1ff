"""Constraints as linear rows: which points satisfy them, and to what precision."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from constrained_spaces import SPACES


def test_a_given_point_may_miss_a_sum_by_a_billionth_and_no_more():
    space = SPACES["mixture"]
    assert {"A": 0.1, "B": 0.2, "C": 0.7 + 1e-10} in space
    assert space.why_not({"A": 0.1, "B": 0.2, "C": 0.7001}) == (
        "a point with A + B + C == 1, got {'A': 0.1, 'B': 0.2, 'C': 0.7001}"
    )


@pytest.mark.thorough
def test_a_single_value_may_be_forbidden_on_a_grid():
    space = kb.MixedBox(
        {"n": kb.Integer(0, 10), "x": kb.Real(0, 1)},
        constraints=["not (n == 3)", "not (x >= 0.5 and n <= 4)"],
    )
    points = [
        space.decode(row) for row in space.from_unit(np.random.default_rng(0).random((300, 2)))
    ]
    assert {x["n"] for x in points} == set(range(11)) - {3}
    assert not any(x["x"] >= 0.5 and x["n"] <= 4 for x in points)


def test_the_bound_of_a_forbidden_range_belongs_to_it_or_not_as_it_is_written():
    variables = {"s": kb.Category(("a", "b")), "t": kb.Real(0, 90)}
    open_, closed = (
        kb.MixedBox(variables, constraints=[f"not (s == 'a' and t {sign} 60)"])
        for sign in (">", ">=")
    )
    assert {"s": "a", "t": 60.0} in open_
    assert {"s": "a", "t": 60.0} not in closed
    assert {"s": "a", "t": 59.99} in closed
