from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kernelbandits as kb
from kernelbandits.domains import argmax, tied_arms

INDEX = arrays(float, st.integers(1, 8), elements=st.floats(-1e9, 1e9))


@given(INDEX)
def test_without_near_ties_the_greatest_index_wins(index):
    best = index.max()
    others = np.delete(index, index.argmax())
    if len(others) == 0 or others.max() < best - 1e-9 * max(1.0, abs(best)):
        assert argmax(index, "random", 0.999) == argmax(index, "lowest", 0.0) == index.argmax()


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-9])
def test_ties_are_within_one_part_in_1e12_of_the_best_or_of_one(scale):
    """1e-12 max(1, |best|), no more and no less, and relative to the best index once that exceeds one."""
    width = 1e-12 * max(1.0, scale)
    index = np.array([scale - 1.5 * width, scale - 0.75 * width, scale, scale - 0.5 * width])
    assert tied_arms(index).tolist() == [1, 2, 3]


def test_the_tolerance_grows_with_the_size_of_a_negative_best_index():
    assert tied_arms(np.array([-1e6, -1e6 - 5e-7, -1e6 - 2e-6])).tolist() == [0, 1]


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_the_uniform_chooses_evenly_among_tied_arms(n, u):
    assert argmax(np.zeros(n), "random", u) == int(u * n)
    assert argmax(np.zeros(n), "lowest", u) == 0


def test_only_tied_arms_are_chosen_and_each_can_be():
    index = np.array([0.0, 1.0, 1.0, 0.5, 1.0])
    chosen = [argmax(index, "random", u) for u in (0.0, 0.4, 0.999)]
    assert chosen == [1, 2, 4]
    assert argmax(index, "lowest", 0.999) == 1


def test_every_tied_arm_has_the_same_chance():
    u = kb.Streams(0).uniforms("tie", 30_000)
    counts = np.bincount(
        [argmax(np.array([1.0, 1.0, 0.0, 1.0]), "random", item) for item in u], minlength=4
    )
    assert counts[2] == 0
    assert np.abs(counts[[0, 1, 3]] - 10_000).max() < 4 * np.sqrt(30_000 * (1 / 3) * (2 / 3))


def test_arms_are_a_copy_that_cannot_be_changed():
    points = np.random.default_rng(0).random((3, 2))
    arms = kb.Arms(points)
    points[0, 0] = 99.0
    assert arms.points[0, 0] != 99.0
    with pytest.raises(ValueError):
        arms.points[0, 0] = 1.0
    assert (len(arms), arms.dimension) == (3, 2)
    assert repr(arms) == "Arms(3 points in 2 dimensions)"


def test_repeated_points_are_accepted_with_a_notice_that_counts_them():
    with pytest.warns(kb.DataNotice, match="2 of 5 points repeat another"):
        arms = kb.Arms([[0.0], [1.0], [-0.0], [1.0], [2.0]])
    assert len(arms) == 5


@pytest.mark.parametrize(
    "points", [[], [[]], np.empty((0, 2)), np.empty((3, 0)), 5, None, "points", [[["1"]]]]
)
def test_arms_need_at_least_one_point_and_one_column(points):
    with pytest.raises(ValueError, match="Arms needs"):
        kb.Arms(points)


@pytest.mark.parametrize(
    "points", [[["1", "2"]], np.array([[1 + 2j]]), [["a"]], [[1.0], [1.0, 2.0]]]
)
def test_points_are_numbers_and_not_text_that_looks_like_them(points):
    with pytest.raises(ValueError, match="Arms needs"):
        kb.Arms(points)


def test_a_flat_list_of_points_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"got shape \(3,\); pass points\[:, None\]"):
        kb.Arms([1.0, 2.0, 3.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_is_refused_with_its_row_and_column(bad):
    with pytest.raises(ValueError, match=f"needs finite points, got {bad} in row 2, column 1"):
        kb.Arms([[0.0, 1.0], [2.0, 3.0], [4.0, bad]])


@pytest.mark.parametrize(
    ("points", "got"),
    [
        ([[1.0, 2.0], [3.0]], "a row 0 of 2 and a row 1 of 1"),
        ([[1.0, 2.0], [3.0, "high"]], "'high' in row 1, column 1"),
        (np.array([["a", "b"]]), "text"),
        ("1 2", "str"),
    ],
)
def test_points_that_are_no_numbers_are_refused_with_the_row_at_fault(points, got):
    with pytest.raises(ValueError, match=f"array of numbers, got {got}"):
        kb.Arms(points)
