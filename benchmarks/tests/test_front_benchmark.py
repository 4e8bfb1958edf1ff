"""The problems and the table of the comparison of searches for a front."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import front, outcomes
from kernelbandits.policies.hypervolume import find_front, hypervolume


@pytest.mark.parametrize("name", ["zdt1", "dtlz2", "branin-currin", "vlmop2", "synthetic"])
def test_no_point_exceeds_the_greatest_hypervolume(name):
    problem = front.find_problem(name)
    rows = problem.rows
    points = np.random.default_rng(0).random((500, problem.dimension)) if rows is None else rows
    values = problem.evaluate(points)
    values = values[find_front(values)]
    assert 0 <= hypervolume(values, problem.reference) <= problem.greatest * (1 + 1e-9)


def test_the_front_of_the_sphere_is_an_eighth_of_it():
    problem = front.find_problem("dtlz2")
    points = np.full((400, 5), 0.5)
    points[:, :2] = np.random.default_rng(1).random((400, 2))
    np.testing.assert_allclose(np.linalg.norm(problem.evaluate(points), axis=1), 1.0)
    found = hypervolume(problem.evaluate(points), problem.reference)
    assert 0.9 * problem.greatest < found < problem.greatest


def test_a_rival_measures_the_nearest_row_that_is_free():
    rows, free = np.array([[0.0], [1.0]]), np.ones(2, dtype=bool)
    found = [outcomes.nearest_row(rows, np.array([0.1]), free).item() for _ in range(2)]
    assert found == [0.0, 1.0]


def test_the_table_names_the_least_mean():
    rows = {
        (player, seed): {
            "problem": "zdt1",
            "noise": 0.0,
            "player": player,
            "seed": seed,
            "regrets": [0.2, regret + 0.01 * seed],
            "seconds": 1.0,
        }
        for player, regret in (("auto", 0.1), ("random", 0.5))
        for seed in range(2)
    }
    text = front.summarise(rows)
    assert "| zdt1 | 0 | **10.5** ± 0.5 |  | 50.5 ± 0.5 |  |  |  |" in text
