"""Equal rows of a matrix, found by hashes and compared with the obvious dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from kernelbandits import row_index
from kernelbandits.row_index import RowIndex, first_equal_rows

SHAPES = [(1, 1), (2, 3), (300, 1), (400, 2), (500, 6)]


def small_numbers(shape) -> np.ndarray:
    """Rows of few different numbers, zeros of both signs among them."""
    rows = np.random.default_rng(sum(shape)).integers(-2, 3, shape) / 4
    rows[0] = -0.0
    rows[-1] = 0.0
    return rows


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_equal_row_is_that_of_a_dictionary(shape):
    rows = small_numbers(shape)
    index = RowIndex(rows)
    np.testing.assert_array_equal(index.first, first_equal_rows(rows))
    assert index.distinct == len(np.unique(rows + 0.0, axis=0))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_is_found_where_it_first_stands_and_no_other_row_is(shape):
    rows = small_numbers(shape)
    index = RowIndex(rows)
    np.testing.assert_array_equal(index.find(rows), index.first)
    assert (index.find(rows + 10.0) == -1).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_whose_hashes_collide_are_told_apart(shape, monkeypatch):
    """Every row gets one of two hashes."""
    monkeypatch.setattr(
        row_index, "hash_rows", lambda rows: (np.round(4 * rows[:, 0]) % 2).astype(np.uint64)
    )
    rows = small_numbers(shape)
    index = RowIndex(rows)
    np.testing.assert_array_equal(index.first, first_equal_rows(rows))
    np.testing.assert_array_equal(index.find(rows), first_equal_rows(rows))


def test_numbers_that_differ_in_their_last_bit_are_different():
    rows = np.array([[0.1], [np.nextafter(0.1, 1.0)]])
    assert RowIndex(rows).distinct == 2
