"""The benchmark of constrained spaces: its own arithmetic agrees with what is true."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks import constrained


@pytest.mark.parametrize("name", constrained.TASKS)
def test_points_drawn_without_the_package_are_points_of_the_space(name):
    task = constrained.TASKS[name]
    space = kb.MixedBox(task.variables, constraints=task.constraints)
    for row in constrained.draw_rows(task, space, 20):
        x = space.decode(row)
        assert constrained.is_inside(task, x)
        np.testing.assert_allclose(space.encode(x), row, rtol=1e-9)


def test_a_point_outside_is_seen():
    task = constrained.TASKS["percent"]
    inside = {"A": 50.0, "B": 25.0, "C": 25.0, "D": 0.0}
    assert constrained.is_inside(task, inside)
    for change in ({"A": 52.5}, {"C": 26.0, "D": -1.0}, {"A": 40.0, "D": 10.0}):
        assert not constrained.is_inside(task, inside | change)


def test_a_random_space_contains_the_point_that_it_was_drawn_around():
    for seed in range(20):
        drawn = constrained.RandomSpace(seed)
        assert drawn.why_outside(drawn.point) is None
        for factors, relation, bound in drawn.linear:
            name, factor = next(iter(factors.items()))
            moved = drawn.point | {name: drawn.point[name] + (2 + abs(bound)) * 1e3 / factor}
            wrong = drawn.why_outside(moved) is not None
            assert wrong or relation == ">="


def test_versions_are_compared_in_pairs():
    def row(answer, ask):
        return {"answer": answer, "best": 1.0, "ask": ask, "built": 0.1, "outside": 0}

    games = [constrained.Game("logs", 0.0, seed) for seed in (0, 1)]
    old = {game: row(0.5, 0.02) for game in games}
    new = dict(zip(games, (row(0.5, 0.01), row(0.7, 0.01)), strict=True))
    (line,) = [one for one in constrained.compare(old, new) if one.startswith("| logs")]
    assert line == "| logs | 0 | 0.5000 | 0.4000 | -0.1000 ± 0.1000 | 0.50 | 1.00 | 0 |"
