"""The problems, the regret and the table of the comparison of searches with limits on outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks import limited
from benchmarks.outcomes import Game

SHARES = {
    "gardner-1": 0.67,
    "gardner-2": 0.018,
    "branin-disc": 0.70,
    "gramacy": 0.46,
    "hartmann6-sphere": 0.08,
    "table": 0.30,
}


@pytest.mark.parametrize("name", list(SHARES))
def test_the_share_of_feasible_places_is_the_one_stated(name):
    values = limited.find_problem(name).sample
    assert values.shape[1] == 1 + limited.find_problem(name).limits
    assert limited.find_feasible(values).mean() == pytest.approx(SHARES[name], abs=0.01)


@pytest.mark.parametrize("name", list(SHARES))
def test_no_feasible_place_exceeds_the_best_and_one_reaches_it(name):
    problem = limited.find_problem(name)
    if problem.rows is not None:
        values = problem.sample
        assert values[limited.find_feasible(values), 0].max() == problem.best
        return
    points = np.random.default_rng(0).random((20000, problem.dimension))
    values = problem.evaluate(points)
    points = points[limited.find_feasible(values)]
    values = values[limited.find_feasible(values), 0]
    assert values.max() <= problem.best
    limits = {"type": "ineq", "fun": lambda x: -problem.evaluate(x[None])[0, 1:]}
    found = [
        minimize(
            lambda x: -problem.evaluate(x[None])[0, 0],
            point,
            bounds=[(0, 1)] * problem.dimension,
            constraints=[limits],
            options={"ftol": 1e-12},
        )
        for point in points[np.argsort(-values)[:60:6]]
    ]
    reached = max(-one.fun for one in found if limits["fun"](one.x).min() > -1e-9)
    assert reached == pytest.approx(problem.best, abs=1e-6)


def test_the_regret_is_that_of_the_best_feasible_place_and_none_counts_twice_the_mean():
    problem = limited.find_problem("gardner-1")
    values = np.array([[1.9, 0.1], [1.0, 0.0], [0.5, -1.0]])
    assert problem.regret(values) == pytest.approx((2.0 - 1.0) / problem.unit)
    sample = problem.sample
    mean = sample[limited.find_feasible(sample), 0].mean()
    assert problem.regret(values[:1]) == pytest.approx(2 * (2.0 - mean) / problem.unit)


def test_one_game_of_random_rows_stores_what_the_table_needs():
    stored = limited.play(Game("table", 0.0, "random", 0))
    assert stored["player"] == "random"
    assert 0 < stored["feasible"] < limited.MEASUREMENTS
    text = limited.summarise({0: stored})
    assert f"| table |  | {stored['regret']:.4f} (1 seed) |  |  |" in text
    assert "| table |  | 0 of 1 |  |  |" in text


def test_the_table_names_the_least_mean():
    rows = {
        (player, seed): {
            "problem": "gramacy",
            "noise": 0.0,
            "player": player,
            "seed": seed,
            "regret": regret + 0.01 * seed,
            "feasible": seed,
            "seconds": 1.0,
        }
        for player, regret in (("auto", 0.1), ("log-nei", 0.5))
        for seed in range(2)
    }
    text = limited.summarise(rows)
    assert "| gramacy | **0.1050** ± 0.0050 |  |  | 0.5050 ± 0.0050 |" in text
    assert "| gramacy | 1 of 2 |  |  | 1 of 2 |" in text
