"""Fronts, hypervolumes and the cells that no place dominates, against the slow definitions."""

from __future__ import annotations

import numpy as np
import pytest

from kernelbandits.policies.hypervolume import (
    add_to_front,
    choose_reference,
    cut_above,
    find_front,
    hypervolume,
    hypervolume_share,
)


def draw_values(k, n=12, seed=0):
    return np.random.default_rng(seed).normal(size=(n, k))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_front_is_what_no_other_place_dominates(k):
    values = np.round(draw_values(k, 40), 1)
    values[7] = values[3]
    expected = [
        i
        for i, one in enumerate(values)
        if not any((other >= one).all() and (other > one).any() for other in values)
    ]
    assert find_front(values).tolist() == expected


@pytest.mark.parametrize("k", [2, 3, 4])
def test_cells_fill_what_no_place_dominates_without_overlap(k):
    values, reference = draw_values(k), np.full(k, -2.0)
    cells = cut_above(values, reference)
    points = np.random.default_rng(1).uniform(-2, 3, (4000, k))
    dominated = (points[:, None] < values[None]).all(2).any(1)
    inside = (points[:, None] > cells.lower) & (points[:, None] < cells.upper)
    np.testing.assert_array_equal(inside.all(2).sum(1), ~dominated)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_hypervolume_is_that_of_random_points(k):
    values, reference = draw_values(k), np.full(k, -2.0)
    sides = values.max(0) - reference
    points = reference + sides * np.random.default_rng(2).random((20_000, k))
    share = (points[:, None] < values[None]).all(2).any(1).mean()
    error = np.sqrt(share * (1 - share) / len(points))
    found = hypervolume(values, reference) / sides.prod()
    assert abs(found - share) < 4 * error
    assert hypervolume_share(values, reference, values.max(0)) == pytest.approx(found)


def test_one_place_more_raises_the_hypervolume_by_what_it_adds():
    values, reference = draw_values(3), np.full(3, -2.0)
    for place in draw_values(3, seed=5):
        more = hypervolume(np.vstack([values, place]), reference)
        added = add_to_front(place, cut_above(values, reference))
        assert added == pytest.approx(more - hypervolume(values, reference), abs=1e-9)


def test_order_copies_and_dominated_places_change_nothing():
    values, reference = draw_values(4), np.full(4, -3.0)
    volume = hypervolume(values, reference)
    others = [values[::-1], np.vstack([values, values]), values[find_front(values)]]
    for same in others:
        assert hypervolume(same, reference) == pytest.approx(volume)
    assert hypervolume(values[:, ::-1], reference) == pytest.approx(volume)


def test_scale_and_shift_multiply_the_hypervolume():
    values = draw_values(3)
    scale, shift = np.array([2.0, 0.1, 30.0]), np.array([5.0, -1.0, 100.0])
    moved = values * scale + shift
    reference = choose_reference(values)
    np.testing.assert_allclose(choose_reference(moved), reference * scale + shift)
    volume = hypervolume(moved, choose_reference(moved))
    assert volume == pytest.approx(hypervolume(values, reference) * scale.prod())


def test_what_is_below_the_reference_counts_for_nothing():
    assert hypervolume(np.array([[1.0, -1.0], [-1.0, 5.0]]), np.zeros(2)) == 0.0
    assert hypervolume(np.empty((0, 2)), np.zeros(2)) == 0.0


def test_an_objective_that_is_the_same_everywhere_has_a_range():
    values = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(choose_reference(values), [0.8, 4.9])
    assert hypervolume(values, choose_reference(values)) == pytest.approx(2.2 * 0.1)
