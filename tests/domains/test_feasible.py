"""Searches and policies on constrained boxes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from constrained_spaces import RULES, SPACES, every_space
from kernelbandits.domains import maximise

APART = 1 / math.sqrt(2)


@every_space
def test_the_cover_and_the_neighbours_satisfy_the_constraints(name):
    space = SPACES[name]
    arms = space.cover(60)
    assert len(arms) == min(60, space.count)
    for row in arms.points[:20]:
        assert RULES[name](**space.decode(row))
        tried = space.neighbours(row)
        assert all(RULES[name](**space.decode(other)) for other in tried[:30])
        assert not (tried == row).all(1).any()


# ---------------------------------------------------------------- the search


def bumps(dimension, seed, width=0.25, number=30):
    """A sum of positive and negative bumps, with its gradient."""
    rng = np.random.default_rng(seed)
    centres, weights = rng.random((number, dimension)), rng.normal(size=number)

    def function(rows):
        away = rows[:, None] - centres
        heights = weights * np.exp(-(away**2).sum(2) / (2 * width**2))
        return heights.sum(1), -(heights[:, :, None] * away).sum(1) / width**2

    return function


def lattice(*columns):
    return np.stack(np.meshgrid(*columns, indexing="ij"), -1).reshape(-1, len(columns))


def mixture_grid():
    rows = lattice(np.linspace(0, 0.6, 61), np.linspace(0, 1, 101))
    rows = rows[rows.sum(1) <= 1 + 1e-12]
    return np.column_stack([rows, 1 - rows.sum(1)])


def inequality_grid():
    rows = lattice(*[np.linspace(0, 1, 51)] * 3)
    return rows[(2 * rows[:, 0] + rows[:, 1] <= 1.2) & (rows[:, 0] + rows[:, 2] >= 0.7)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("name", "grid"), [("mixture", mixture_grid), ("inequalities", inequality_grid)]
)
def test_the_search_finds_what_a_dense_grid_finds(name, grid, seed):
    space, function = SPACES[name], bumps(3, seed)
    found = maximise(function, space, scale=0.25)
    assert found.value >= function(grid())[0].max() - 1e-9
    assert RULES[name](**space.decode(found.row))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_search_on_a_fine_mixture_finds_its_best_point(seed):
    """176 851 points, of which all are evaluated here."""
    space = kb.MixedBox(
        {name: kb.Real(0, 1, step=0.01) for name in "ABCD"}, constraints=["A + B + C + D == 1"]
    )
    assert space.count == math.inf
    numbers = lattice(*[np.arange(101)] * 3)
    numbers = numbers[numbers.sum(1) <= 100]
    every = np.column_stack([numbers, 100 - numbers.sum(1)]) / 100
    function = bumps(4, seed, width=0.4, number=12)
    best = max(function(part)[0].max() for part in np.array_split(every, 20))
    found = maximise(function, space, scale=0.25)
    assert found.value >= best - 1e-9
    x = space.decode(found.row)
    assert round(sum(round(100 * value) for value in x.values())) == 100
    assert all(value == round(value, 2) for value in x.values())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_choice_beside_a_forbidden_one(seed):
    space = kb.MixedBox(
        {"s": kb.Category(("a", "b")), "x": kb.Real(0, 1), "y": kb.Real(0, 1)},
        constraints=["not (s == 'a' and x > 0.6)", "not (x > 0.5 and y > 0.5)"],
    )
    rows = lattice(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    rows = rows[~((rows[:, 0] > 0.5) & (rows[:, 1] > 0.5))]
    first = rows[rows[:, 0] <= 0.6]
    every = np.vstack(
        [
            np.column_stack([np.tile([APART, 0], (len(first), 1)), first]),
            np.column_stack([np.tile([0, APART], (len(rows), 1)), rows]),
        ]
    )
    function = bumps(4, seed, number=60)
    found = maximise(function, space, scale=0.25)
    assert found.value >= function(every)[0].max() - 1e-9


def test_a_search_on_a_log_scale_stays_below_a_sum():
    """On the line lr + wd = 0.5 the function is largest at lr = wd = 0.25, and it wants more."""

    def function(rows):
        return rows.sum(1), np.ones_like(rows)

    space = kb.MixedBox(
        {"lr": kb.Real(1e-6, 1, log=True), "wd": kb.Real(1e-6, 1, log=True)},
        constraints=["lr + wd <= 0.5"],
    )
    x = space.decode(maximise(function, space).row)
    assert x["lr"] + x["wd"] <= 0.5
    assert x["lr"] == pytest.approx(0.25, rel=1e-3)


def test_a_search_at_a_corner_of_a_mixture_ends_there():
    def function(rows):
        return rows @ np.array([3.0, 1.0, 2.0]), np.tile([3.0, 1.0, 2.0], (len(rows), 1))

    x = SPACES["mixture"].decode(maximise(function, SPACES["mixture"]).row)
    assert x == pytest.approx({"A": 0.6, "B": 0.0, "C": 0.4}, abs=1e-9)
    assert (x["A"], x["B"]) == (0.6, 0.0)


# ---------------------------------------------------------------- policies


@every_space
def test_a_policy_asks_batches_and_recommends_within_the_constraints(name):
    space = SPACES[name]
    auto = kb.Auto(space, goal="find", seed=3, opening="middle")
    for number in range(3):
        choices = auto.batch(3)
        for choice in choices:
            assert RULES[name](**choice.x)
            row = space.encode(choice.x)
            auto.tell(
                choice,
                float(-np.abs(row / np.maximum(np.abs(space.upper), 1) - 0.3).sum())
                + 0.01 * number,
            )
    assert RULES[name](**auto.recommend())


@pytest.mark.parametrize(("name", "more"), [("simple-ucb", {}), ("gp-ts", {"horizon": 5})])
def test_other_policies_play_within_the_constraints_too(name, more):
    space = SPACES["mixture"]
    policy = kb.policy(name, space, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, **more)
    for t in range(1, 6):
        choice = policy.ask(t, kb.Streams(0))
        assert RULES["mixture"](**choice.x)
        policy.tell(choice, choice.x["A"])


def test_a_point_outside_the_constraints_is_refused_and_changes_nothing():
    auto = kb.Auto(SPACES["mixture"], goal="find")
    with pytest.raises(ValueError, match=r"^encode needs a point with A \+ B \+ C == 1"):
        auto.tell(kb.Choice({"A": 0.5, "B": 0.5, "C": 0.5}), 1.0)
    assert auto.n_rewards == 0


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_best_mixture_is_found(seed):
    """The maximum on the face A = 0.6 is at B = 0.1, C = 0.3."""

    def strength(x):
        return 2 * x["A"] - 4 * (x["B"] - 0.1) ** 2 - 4 * (x["C"] - 0.3) ** 2

    found = kb.optimize(strength, SPACES["mixture"], 25, seed=seed)
    assert strength(found.x) > 1.2 - 0.02
    assert RULES["mixture"](**found.x)
