"""Which columns matter: shares of the variance of the posterior mean, against exact formulas."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.insight import Relevance
from kernelbandits.insight.slices import select_rows
from kernelbandits.insight.variance_shares import (
    column_relevance,
    select_values,
    share_variance,
)

GRID = np.array(list(itertools.product(range(6), range(5), range(3))), dtype=float)


def shares(f, rows=GRID, blocks=((0,), (1,), (2,))):
    return [column_relevance(lambda x: f(x)[None], rows, block) for block in blocks]


def test_shares_of_a_sum_are_the_variances_of_its_terms():
    found = shares(lambda x: 2 * x[:, 0] + x[:, 1])
    first, second = 4 * np.var(range(6)), np.var(range(5))
    # 64 of the 90 rows stand for the table, so the variance of the other column is not exact.
    assert found[0].share == pytest.approx(first / (first + second), abs=0.02)
    assert found[1].share == pytest.approx(second / (first + second), abs=0.02)
    assert all(one.alone == pytest.approx(one.share) for one in found)
    assert found[2] == Relevance(0.0, 0.0, 0.0, 0.0)


def test_a_pure_interaction_explains_nothing_alone():
    rows = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    found = shares(lambda x: x[:, 0] * x[:, 1], rows)
    for one in found[:2]:
        assert one.alone == pytest.approx(0.0, abs=1e-12)
        assert one.share == pytest.approx(1.0)
    assert found[2].share == 0.0


def test_coordinates_of_a_category_move_together():
    solvents = np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]] / np.sqrt(2)
    rows = np.column_stack([solvents, np.linspace(0, 1, 8)])
    seen = []

    def f(x):
        seen.append(x)
        return x[:, 0] * 3.0 - x[:, 2]

    category, number = shares(f, rows, ((0, 1, 2), (3,)))
    assert category.share == pytest.approx(1.0)
    assert number.share == 0.0
    assert all(np.allclose((x[:, :3] > 0).sum(1), 1) for x in seen)


def test_intervals_span_the_members_and_weigh_them_by_what_they_explain():
    def means(x):
        return np.array([10 * x[:, 0], 0.1 * x[:, 1], 0 * x[:, 0] + 7])

    first = column_relevance(means, GRID, (0,))
    assert (first.low, first.high) == (0.0, 1.0)
    assert first.share > 0.99


def test_a_flat_estimate_has_no_relevant_column():
    for level in (0.0, 1e-300, 5.0, 1e9):
        found = shares(lambda x, level=level: np.full(len(x), level))
        assert found == [Relevance(0.0, 0.0, 0.0, 0.0)] * 3


def test_values_are_all_or_at_evenly_spaced_ranks():
    values, weights = select_values(np.array([[1.0], [3.0], [3.0], [2.0]]))
    assert values[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert weights.tolist() == [0.25, 0.25, 0.5]
    values, weights = select_values(np.arange(1600.0)[::-1, None])
    np.testing.assert_allclose(values[:, 0], np.arange(16) * 100 + 50)
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("sizes", [(10, 100), (100, 10), (64, 64), (2, 500)])
def test_rows_of_a_grid_show_every_column(sizes):
    """Evenly spaced rows of a grid would all have the same value of its fast column."""
    rows = np.array(list(itertools.product(*map(range, sizes))))
    chosen = rows[select_rows(len(rows))]
    assert len(chosen) >= 60
    for column, size in zip(chosen.T, sizes, strict=True):
        spread = np.sqrt((size**2 - 1) / 12)
        # The mean of 64 independent draws would have the standard error spread / 8.
        assert abs(column.mean() - (size - 1) / 2) < spread / 2
        assert column.std() > 0.7 * spread


def test_auto_finds_the_column_without_influence():
    points = np.random.default_rng(0).random((30, 3))
    auto = kb.Auto(kb.Arms(points))
    for arm in range(25):
        auto.tell(auto.choice(arm), np.sin(5 * points[arm, 0]) + 0.4 * points[arm, 1])
    first, second, third = share_variance(kb.insight.fitted_model(auto), points)
    assert first.share > 0.7
    assert 0.02 < second.share < 0.3
    assert third.share < 0.02
    assert first.low <= first.share <= first.high


def test_a_named_policy_has_relevance_by_its_kernel():
    points = np.random.default_rng(0).random((30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = kb.RBF((0.3, 3.0))
        policy = kb.SimpleUCB(points, kernel, noise_scale=0.05, norm_bound=2)
        for arm in range(20):
            policy.tell(policy.choice(arm), np.sin(5 * points[arm, 0]))
        model = kb.insight.fitted_model(policy)
    first, second = share_variance(model, points)
    assert first.share > 0.95
    assert second.share < 0.05
    np.testing.assert_array_equal(model.hyperparameters.lengthscales, [[0.3, 3.0]])


def test_relevance_is_the_same_every_time():
    points = np.random.default_rng(1).random((200, 2))
    auto = kb.Auto(kb.Arms(points))
    for arm in range(8):
        auto.tell(auto.choice(arm), float(points[arm].sum()))
    model = kb.insight.fitted_model(auto)
    assert share_variance(model, points) == share_variance(model, points)


def test_numbers_out_of_order_are_refused():
    with pytest.raises(ValueError, match="Relevance needs 0 <= alone"):
        Relevance(alone=0.5, share=0.4, low=0.4, high=0.4)
