"""The benchmark of planted optima: the optimum is where it is said to be, the table is right."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks import planted


@pytest.mark.parametrize("name", planted.TASKS)
def test_the_function_of_a_seed_is_the_same_for_every_size(name):
    task = planted.TASKS[name]
    small, large = (planted.make_pool(task, 3, arms) for arms in (500, 2000))
    assert (small.points[small.planted] == large.points[large.planted]).all()
    assert small.values[small.planted] == pytest.approx(large.values[large.planted], rel=1e-12)
    assert (small.points[:5] != large.points[:5]).all()
    assert small.gaps[small.planted] < 0.05


@pytest.mark.parametrize("player", planted.PLAYERS)
def test_a_game_says_what_was_found(monkeypatch, player):
    monkeypatch.setattr(planted, "ROUNDS", 12)
    row = planted.play(planted.Game(400, "3 variables", player, 1))
    assert 0 <= row["best_played"] <= row["recommended"] <= 1.5
    assert row["distinct"] <= 12
    assert (row["first"] is None) == (row["best_played"] > 0)


def test_the_table_counts_games_of_the_present_revision():
    def row(seed, gap, first, revision=kb.Auto.revision):
        game = {"arms": 10_000, "task": "3 variables", "player": "auto", "seed": seed}
        found = {"recommended": gap, "first": first, "distinct": 9, "seconds": 1.0}
        return {**game, "revision": revision, **found}

    rows = [row(0, 0.0, 20), row(1, 0.05, 40), row(2, 0.5, None), row(3, 0.0, 7, revision=0)]
    names = (*planted.Game._fields, "revision")
    games = {tuple(one[name] for name in names): one for one in rows}
    (line,) = [one for one in planted.document(games).splitlines() if one.startswith("| 3 var")]
    expected = "| 3 variables | auto | 10000 | 3 | 2 of 3 | 0.050 | 2 of 3, round 30 | 9 | 1.0 |"
    assert line == expected


def test_the_pool_is_random_but_for_the_planted_arm():
    pool = planted.make_pool(planted.TASKS["6 variables"], 0, 3000)
    assert pool.points.shape == (3000, 6)
    assert np.abs(pool.points.mean(0) - 0.5).max() < 0.05
