"""The benchmark of working sets: its games are what they are said to be, its table is right."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks import working_sets
from kernelbandits.policies import working_set


@pytest.fixture
def few_rounds(monkeypatch):
    """Games of four rounds; the limits of working sets are as before afterwards."""
    for name in ("LARGEST_POOL", "LARGEST_SET", "SAMPLE", "NEIGHBOURS"):
        monkeypatch.setattr(working_set, name, getattr(working_set, name))
    monkeypatch.setattr(working_sets, "ROUNDS", 4)


@pytest.mark.parametrize("pool", working_sets.POOLS)
def test_a_game_has_its_losses_and_its_set(few_rounds, pool):
    for compared in working_sets.SETS:
        row = working_sets.play(working_sets.Game(900, pool, "find", 1, compared))
        assert 0 <= row["recommended"] <= 8
        assert row["distinct"] <= 4
        auto = kb.Auto(kb.Arms(np.random.default_rng(0).random((900, 2))))
        size = None if auto.working_set is None else len(auto.working_set)
        assert size == {"all arms": None, "1/6": 150, "1/50": 18}[compared]


def test_a_planted_pool_has_its_best_arm_at_the_peak():
    for seed in range(5):
        pool = working_sets.planted_pool(np.random.default_rng(seed), 2000)
        assert pool.values.max() > 2
        assert pool.gaps.min() == 0


def test_the_table_pairs_games_of_one_seed():
    def row(compared, seed, loss):
        fields = {"arms": 24_000, "pool": "smooth", "goal": "find", "seed": seed}
        known = {"revision": kb.Auto.revision, "regret": 9.0, "seconds": 1.0}
        return {**fields, "compared": compared, "recommended": loss, **known}

    rows = [row("all arms", 0, 0.1), row("all arms", 1, 0.3), row("1/6", 0, 0.2)]
    rows += [row("1/6", 1, 0.6), row("1/6", 2, 5.0)]
    games = {
        (*(one[name] for name in working_sets.Game._fields), kb.Auto.revision): one for one in rows
    }
    (line,) = [
        line for line in working_sets.document(games).splitlines() if line.startswith("| 24")
    ]
    assert "| 2 | 0.400 | 0.200 | +0.200 ± 0.100 | 1, 1 |" in line
