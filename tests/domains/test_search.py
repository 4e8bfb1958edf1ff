"""The best point of a box: Sobol points, climbs from many starts, exchanges of separate values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import qmc

import kernelbandits as kb
from kernelbandits.domains.bfgs import PATIENT, Halving, evaluate, projected_bfgs
from kernelbandits.domains.search import SearchedFunction, rows_around, separate_rows
from kernelbandits.domains.sobol import shift_points, sobol

SQUARE = kb.Box((0.0, 0.0), (1.0, 1.0))


def unit(d: int) -> kb.Box:
    return kb.Box((0.0,) * d, (1.0,) * d)


def bowl(top: Any, bend: Any = 1.0) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """-sum bend (x - top)^2 and its gradient."""
    return lambda x: (-(bend * (x - top) ** 2).sum(1), -2 * bend * (x - top))


class Index:
    """mean + reach sd of a Gaussian process with an RBF kernel, by the textbook formula."""

    def __init__(
        self, points: np.ndarray, rewards: np.ndarray, length: Any, ridge: float, reach: float
    ) -> None:
        self.points, self.length, self.reach = (
            points,
            np.broadcast_to(length, points.shape[1:]),
            reach,
        )
        self.inverse = np.linalg.inv(self.cross(points) + ridge * np.eye(len(points)))
        self.weights = self.inverse @ rewards

    def cross(self, rows: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (((rows[:, None] - self.points) / self.length) ** 2).sum(2))

    def values(self, rows: np.ndarray) -> np.ndarray:
        k = self.cross(rows)
        return k @ self.weights + self.reach * np.sqrt(1 - ((k @ self.inverse) * k).sum(1))

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = self.cross(rows)
        slopes = -k[:, :, None] * (rows[:, None] - self.points) / self.length**2
        sd = np.sqrt(1 - ((k @ self.inverse) * k).sum(1))
        rise = self.weights - self.reach / sd[:, None] * (k @ self.inverse)
        return k @ self.weights + self.reach * sd, (slopes * rise[:, :, None]).sum(1)


def drawn_index(seed: int, box: kb.Box | kb.MixedBox, count: int, length: Any) -> Index:
    """Rewards drawn from the prior, half of the points about one of the others."""
    rng = np.random.default_rng(seed)
    points = box.from_unit(rng.random((count, box.sides)))
    points[count // 2 :] = box.nearest(
        points[0] + 0.5 * length * rng.normal(size=(count - count // 2, box.dimension))
    )
    ridge, reach = rng.choice([0.01, 0.1, 1.0]), rng.choice([-1.0, 0.0, 0.5, 2.0, 6.0])
    prior = Index(points, np.zeros(count), length, ridge, reach)
    rewards = np.linalg.cholesky(prior.cross(points) + 0.01 * np.eye(count)) @ rng.normal(
        size=count
    )
    return Index(points, rewards, length, ridge, reach)


def near(index: Index) -> np.ndarray:
    return index.points[np.argsort(-index.cross(index.points) @ index.weights)]


def reference(
    index: Index, rows: np.ndarray, starts: int, bounds: list[tuple[float, float]]
) -> float:
    """The best of scipy's L-BFGS-B over the coordinates with bounds, the first ones, from the best rows."""
    free = len(bounds)
    best = rows[np.argsort(-index.values(rows))[:starts]]

    def fallen(x: np.ndarray, row: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = index(np.append(x, row[free:])[None])
        return -value[0], -slope[0, :free]

    found = [
        minimize(fallen, row[:free], (row,), jac=True, method="L-BFGS-B", bounds=bounds)
        for row in best
    ]
    return max(-result.fun for result in found)


# ---------------------------------------------------------------- Sobol points


@pytest.mark.parametrize("d", [1, 2, 6, 20, 33])
def test_the_points_are_those_of_scipys_sobol_sequence_in_the_middle_of_their_cells(d):
    ours, theirs = sobol(9, d), qmc.Sobol(d, scramble=False).random(512) + 0.5 / 512
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


def test_beyond_the_table_the_points_stay_evenly_spread():
    points = sobol(9, 40)
    assert points.shape == (512, 40)
    assert len(np.unique(points, axis=0)) == 512
    assert np.abs(points.mean(0) - 0.5).max() < 0.01
    assert not points.flags.writeable


@given(st.floats(0, 1, exclude_max=True))
def test_a_shifted_set_stays_in_the_cube_and_as_even(u):
    points = shift_points(sobol(7, 3), u)
    assert ((points >= 0) & (points < 1)).all()
    counts = np.stack([np.histogram(column, 8, (0, 1))[0] for column in points.T])
    assert np.abs(counts - 16).max() <= 2


def test_shifts_of_different_coordinates_are_uncorrelated():
    shifts = np.array(
        [shift_points(np.zeros((1, 4)), u)[0] for u in kb.Streams(1).uniforms("tie", 4000)]
    )
    assert np.abs(np.corrcoef(shifts.T) - np.eye(4)).max() < 4 / math.sqrt(4000)


# ---------------------------------------------------------------- climbs


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_a_climb_ends_at_the_top_of_a_quadratic_or_at_its_best_point_in_the_box(d):
    """With a separable bowl the constrained maximiser is the top, clipped."""
    rng = np.random.default_rng(d)
    top, bend = rng.uniform(-0.5, 1.5, d), rng.uniform(0.1, 30, d)
    rows, values, *_ = projected_bfgs(
        bowl(top, bend), rng.random((5, d)), np.zeros(d), np.ones(d), np.full(d, 0.3)
    )
    best = np.clip(top, 0, 1)
    assert values.min() >= bowl(top, bend)(best[None])[0] - 1e-7
    np.testing.assert_allclose(rows, np.broadcast_to(best, (5, d)), atol=1e-3)


@pytest.mark.thorough
@given(st.integers(0, 10**6))
def test_a_climb_over_an_ill_conditioned_bowl_ends_where_scipys_does(seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    matrix, top = basis * [1.0, 10.0, 100.0, 1000.0] @ basis.T, rng.uniform(-0.3, 1.3, 4)

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -0.5 * (((x - top) @ matrix) * (x - top)).sum(1), -(x - top) @ matrix

    def fallen(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = function(x[None])
        return -value[0], -slope[0]

    rows, values, *_ = projected_bfgs(
        function, rng.random((3, 4)), np.zeros(4), np.ones(4), np.full(4, 0.5)
    )
    truth = minimize(
        fallen, rows[0], jac=True, bounds=[(0, 1)] * 4, options={"ftol": 1e-15, "gtol": 1e-10}
    ).fun
    assert values.max() == pytest.approx(-truth, abs=1e-6)
    assert ((rows >= 0) & (rows <= 1)).all()


def test_a_climb_over_rosenbrocks_valley_reaches_its_end():
    def valley(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = x.T
        slopes = np.stack([2 * (1 - a) + 400 * a * (b - a * a), -200 * (b - a * a)], axis=1)
        return -((1 - a) ** 2) - 100 * (b - a * a) ** 2, slopes

    rows, values, *_ = projected_bfgs(
        valley, np.array([[-1.2, 1.0]]), np.full(2, -2.0), np.full(2, 2.0), np.ones(2)
    )
    assert values[0] > -1e-6
    np.testing.assert_allclose(rows[0], [1, 1], atol=1e-3)


def test_no_start_ends_lower_than_it_began_and_held_coordinates_stay():
    index = drawn_index(3, unit(3), 20, 0.3)
    starts = np.random.default_rng(3).random((30, 3))
    lower, upper = np.zeros((30, 3)), np.ones((30, 3))
    lower[:, 1] = upper[:, 1] = starts[:, 1]
    rows, values, *_ = projected_bfgs(index, starts, lower, upper, np.full(3, 0.3))
    assert (values >= index.values(starts)).all()
    np.testing.assert_array_equal(rows[:, 1], starts[:, 1])
    np.testing.assert_allclose(values, index.values(rows), rtol=1e-9)


# ---------------------------------------------------------------- where to start


def test_starts_are_the_best_first_and_apart_by_half_a_scale():
    rng = np.random.default_rng(0)
    rows, heights, scale = rng.random((400, 2)), rng.random(400), np.array([0.8, 0.4])
    chosen = separate_rows(rows, heights, scale, 10)
    assert chosen[0] == heights.argmax()
    assert (np.diff(heights[chosen]) <= 0).all()
    places = rows[chosen] / scale
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)) > 0.5
    passed = [
        i for i in np.argsort(-heights) if heights[i] > heights[chosen[-1]] and i not in chosen
    ]
    assert all(np.linalg.norm(places - rows[i] / scale, axis=1).min() <= 0.5 for i in passed)


def greedy_rows(rows: np.ndarray, heights: np.ndarray, scale: Any, count: int) -> list[int]:
    """One row after the other, from the highest on, if it is far from those taken."""
    taken: list[int] = []
    for row in np.argsort(-heights, kind="stable")[: 20 * count]:
        apart = [sum(((rows[row] - rows[other]) / scale) ** 2) > 0.25 for other in taken]
        if all(apart) and (np.isfinite(heights[row]) or not taken) and len(taken) < count:
            taken.append(int(row))
    return taken


@pytest.mark.parametrize("seed", range(12))
def test_starts_are_those_of_taking_one_row_after_the_other(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 900)), int(rng.integers(1, 9))
    rows, heights = rng.random((n, d)), rng.random(n)
    if seed % 2 == 0:  # Many are exactly half a scale apart, and as high.
        rows, heights = np.round(8 * rows) / 8, np.round(heights, 1)
    heights[rng.random(n) < 0.2] = -np.inf
    scale, count = np.full(d, rng.choice([0.25, 0.5, 1.0])), int(rng.integers(1, 81))
    chosen = separate_rows(rows, heights, scale, count)
    assert chosen.tolist() == greedy_rows(rows, heights, scale, count)


def test_points_about_a_place_go_all_ways_and_up_to_some_scales_away():
    scale = np.array([0.1, 0.2, 0.3, 0.4])
    away = (rows_around(np.full((1, 4), 0.5), scale, 512, 0.3) - 0.5) / scale
    distance = np.linalg.norm(away, axis=1)
    assert distance.max() <= 2.5
    assert np.abs(np.histogram(distance, 5, (0, 2.5))[0] - len(away) / 5).max() < 10
    assert np.abs((away / distance[:, None]).mean(0)).max() < 0.1
    orthants = np.unique(away > 0, axis=0)
    assert len(orthants) == 16


def test_the_first_of_the_places_has_the_most_points_about_it():
    places = np.array([[float(i)] for i in range(10)])
    counts = np.bincount(
        np.rint(rows_around(places, np.array([0.01]), 512, 0.5)[:, 0]).astype(int), minlength=10
    )
    assert (counts > 0).all()
    assert counts[0] > 4 * counts[9]


# ---------------------------------------------------------------- the maximum is found


@pytest.mark.parametrize("seed", range(12))
def test_the_maximum_of_an_index_is_found_to_1e_6(seed):
    """Against 16 384 Sobol points and scipy from the best 40 of them."""
    d, length = (6, 4, 2)[seed % 3], (0.1, 0.2, 0.3, 0.5)[seed % 4]
    box, index = unit(d), drawn_index(seed, unit(d), 50, length)
    found = kb.domains.maximise(
        index, box, near=near(index), scale=length, u=seed / 12, values=index.values
    )
    rows = np.vstack([qmc.Sobol(d, rng=seed).random(2**14), index.points])
    assert found.value >= reference(index, rows, 40, [(0.0, 1.0)] * d) - 1e-6
    assert found.value == pytest.approx(index.values(found.row[None])[0], rel=1e-9)
    assert box.encode(found.row).tolist() == found.row.tolist()


def test_a_box_in_other_units_has_the_same_maximum():
    """Coordinates of a million and of a millionth."""
    index = drawn_index(5, SQUARE, 30, 0.2)
    low, side = np.array([-1e6, 3e-6]), np.array([4e6, 1e-6])

    def stretched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = index((x - low) / side)
        return values, slopes / side

    box = kb.Box(tuple(low), tuple(low + side))
    found = kb.domains.maximise(stretched, box, near=low + side * near(index), scale=0.2 * side)
    assert found.value == pytest.approx(
        kb.domains.maximise(index, SQUARE, near=near(index), scale=0.2).value, abs=1e-6
    )


def test_a_scale_longer_than_the_box_is_the_side_of_the_box():
    index = drawn_index(5, SQUARE, 30, 0.2)
    long, side = (
        kb.domains.maximise(index, SQUARE, near=near(index), scale=(length, 0.2))
        for length in (1e9, 1.0)
    )
    np.testing.assert_array_equal(long.row, side.row)


def test_without_hints_a_function_of_many_hills_is_climbed_to_the_top():
    """sum sin(7 x) + x has eight local maxima in the cube, one of which is highest."""

    def hills(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (np.sin(7 * x) + x).sum(1), 7 * np.cos(7 * x) + 1

    line = np.linspace(0, 1, 1_000_001)
    found = kb.domains.maximise(hills, unit(3))
    assert found.value == pytest.approx(3 * (np.sin(7 * line) + line).max(), abs=1e-6)
    assert 1 <= found.reached <= found.starts <= 30


def test_the_highest_corner_of_a_cube_is_found():
    slope = np.array([1.0, -2.0, 0.5, -0.1, 3.0, 0.01])
    found = kb.domains.maximise(lambda x: (x @ slope, np.broadcast_to(slope, x.shape)), unit(6))
    np.testing.assert_array_equal(found.row, slope > 0)


def test_where_the_lowest_width_wins_the_search_ends_at_the_points_played():
    """mean - 5 sd with means of nearly 0 is greatest where sd is least, beside the cluster."""
    points = np.random.default_rng(0).normal(0.4, 0.01, (20, 2))
    index = Index(points, np.zeros(20), 0.1, 0.1, -5.0)
    found = kb.domains.maximise(index, SQUARE, near=points, scale=0.1)
    assert np.abs(found.row - 0.4).max() < 0.02


def test_equal_arguments_give_equal_results_and_another_shift_other_candidates():
    index = drawn_index(7, SQUARE, 20, 0.1)
    first, again = (
        kb.domains.maximise(index, SQUARE, near=near(index), scale=0.1, u=0.25) for _ in range(2)
    )
    np.testing.assert_array_equal(first.row, again.row)
    assert (first.value, first.evaluations) == (again.value, again.evaluations)
    flat = [
        kb.domains.maximise(lambda x: (np.zeros(len(x)), np.zeros_like(x)), SQUARE, u=u).row
        for u in (0.25, 0.75)
    ]
    assert (flat[0] != flat[1]).any()


def test_everything_evaluated_is_counted_and_lies_in_the_box():
    seen = []

    def watched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(x.copy())
        return index(x)

    index = drawn_index(2, SQUARE, 20, 0.3)
    found = kb.domains.maximise(
        watched, SQUARE, near=near(index), scale=0.3, candidates=100, starts=3
    )
    rows = np.vstack(seen)
    assert found.evaluations == len(rows)
    assert len(seen[0]) == 128 + 20 + 128
    assert len(seen[1]) == found.starts == 3
    assert ((rows >= 0) & (rows <= 1)).all()


def test_candidates_may_be_looked_at_without_gradients():
    index, shapes = drawn_index(2, SQUARE, 20, 0.3), []

    def heights(rows: np.ndarray) -> np.ndarray:
        shapes.append(rows.shape)
        return index.values(rows)

    with_values = kb.domains.maximise(index, SQUARE, near=near(index), scale=0.3, values=heights)
    assert shapes == [(256 + 20 + 128, 2)]
    assert with_values.value == pytest.approx(
        kb.domains.maximise(index, SQUARE, near=near(index), scale=0.3).value, abs=1e-9
    )


# ---------------------------------------------------------------- functions that misbehave


def test_before_any_data_all_is_flat_and_some_point_is_returned():
    for reach in (-2.0, 0.0, 2.0):
        found = kb.domains.maximise(
            lambda x, r=reach: (np.full(len(x), r), np.zeros_like(x)), unit(6), scale=0.2
        )
        assert found.value == reach
        assert found.reached == found.starts
        unit(6).encode(found.row)


def test_where_a_function_is_no_number_nobody_goes():
    def torn(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = bowl(0.6)(x)
        hole = x[:, 0] > 0.5
        return np.where(hole, math.nan, values), np.where(hole[:, None], math.nan, slopes)

    found = kb.domains.maximise(torn, SQUARE)
    assert found.value == pytest.approx(-0.01, abs=1e-3)
    assert found.row[0] <= 0.5


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_no_number_at_some_points_stops_only_those_who_meet_it(bad):
    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = bowl(0.6)(x)
        slopes[::3, 0] = bad
        return values, slopes

    assert kb.domains.maximise(function, SQUARE).value > -1e-3


def test_a_slope_that_is_not_finite_counts_as_none():
    slopes = np.array([[1.0, math.inf], [math.nan, 0.0], [3.0, 4.0], [5.0, 6.0]])
    values, cleaned = evaluate(
        lambda x: (np.array([1.0, 2.0, 3.0, math.nan]), slopes), np.zeros((4, 2))
    )
    assert values.tolist() == [1.0, 2.0, 3.0, -math.inf]
    assert cleaned.tolist() == [[0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]


@pytest.mark.parametrize("height", [-math.inf, math.nan])
def test_a_function_that_is_nowhere_finite_still_gives_a_point_of_the_box(height):
    found = kb.domains.maximise(lambda x: (np.full(len(x), height), np.zeros_like(x)), SQUARE)
    assert found.value == -math.inf
    SQUARE.encode(found.row)


def test_minus_infinity_beside_the_maximum_is_kept_away_from():
    def walled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.log(0.5 - x[:, 0]) + 10 * x[:, 0]
        slopes = np.stack([-1 / (0.5 - x[:, 0]) + 10, np.zeros(len(x))], axis=1)
        return np.where(x[:, 0] < 0.5, values, -math.inf), slopes

    assert kb.domains.maximise(walled, SQUARE).value == pytest.approx(math.log(0.1) + 4, abs=1e-6)


# ---------------------------------------------------------------- mixed boxes


def test_a_finite_box_is_searched_as_a_whole():
    box = kb.MixedBox(
        (kb.Integer(-3, 4), kb.Category(("a", "b", "c")), kb.Ordered((1, 2, 3, 4, 5)))
    )
    rng = np.random.default_rng(1)
    table = {
        row.tobytes(): height for row, height in zip(box.all_rows(), rng.random(120), strict=True)
    }
    found = kb.domains.maximise(
        lambda x: (np.array([table[row.tobytes()] for row in x]), np.zeros_like(x)), box
    )
    assert found.value == max(table.values())
    assert (found.evaluations, found.reached) == (120, 1)
    flat = [
        kb.domains.maximise(lambda x: (np.zeros(len(x)), np.zeros_like(x)), box, u=u).row
        for u in (0.0, 0.999)
    ]
    np.testing.assert_array_equal(flat, box.all_rows()[[0, -1]])


@pytest.mark.parametrize("seed", range(8))
def test_on_a_mixed_box_the_search_agrees_with_brute_force(seed):
    """All 108 combinations of the separate values, 64 Sobol points of the real ones each, scipy from the best 60."""
    box = kb.MixedBox(
        (
            kb.Real(0, 1),
            kb.Real(-2, 2),
            kb.Integer(0, 8),
            kb.Category(("x", "y", "z")),
            kb.Ordered((1, 2, 5, 9)),
        )
    )
    length = np.array([0.3, 0.8, 2.5, 1.0, 1.0, 1.0, 1.5])
    index = drawn_index(seed, box, 40, length)
    found = kb.domains.maximise(
        index, box, near=near(index), scale=length, u=seed / 8, values=index.values
    )
    levels = (variable.all_coordinates() for variable in box.variables[2:])
    separate = [np.concatenate(parts) for parts in itertools.product(*levels)]
    real = qmc.scale(qmc.Sobol(2, rng=seed).random(64), (0, -2), (1, 2))
    rows = np.vstack([np.hstack([real, np.tile(part, (64, 1))]) for part in separate])
    assert found.value >= reference(index, rows, 60, [(0.0, 1.0), (-2.0, 2.0)]) - 1e-6
    np.testing.assert_array_equal(box.encode(box.decode(found.row)), found.row)


def test_a_better_category_is_found_though_the_reals_must_move_with_it():
    """The value of the category decides where the real maximum is; at the other's maximum both are worse."""
    box = kb.MixedBox({"x": kb.Real(0, 1), "c": kb.Category(("low", "high"))})

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        high = x[:, 2] > 0
        top, slopes = np.where(high, 0.9, 0.1), np.zeros_like(x)
        slopes[:, 0] = -80 * (x[:, 0] - top)
        return -40 * (x[:, 0] - top) ** 2 + 0.01 * high, slopes

    found = kb.domains.maximise(
        function, box, near=[[0.1, 1 / math.sqrt(2), 0.0]], candidates=1, starts=1
    )
    assert box.decode(found.row)["c"] == "high"
    assert found.value == pytest.approx(0.01, abs=1e-6)


def test_a_wide_whole_number_is_found_among_ten_million():
    box = kb.MixedBox((kb.Integer(0, 10**7), kb.Real(0, 1)))
    found = kb.domains.maximise(bowl(np.array([1_234_567.0, 0.3]), np.array([1e-10, 1.0])), box)
    assert box.decode(found.row)[0] == 1_234_567


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"near": [[0.5]]}, r"maximise needs rows of 2 numbers, got \(1, 1\)"),
        ({"near": [[0.5, math.nan]]}, "maximise needs finite points, got nan"),
        ({"near": "ab"}, "maximise needs an"),
        ({"scale": 0.0}, "maximise needs lengthscale > 0, got 0.0"),
        ({"scale": -1}, "maximise needs lengthscale > 0, got -1"),
        ({"scale": math.nan}, "maximise needs lengthscale > 0, got nan"),
        ({"scale": "1"}, "maximise needs lengthscale > 0, got '1'"),
        ({"scale": (0.1,)}, r"maximise needs 2 scales, got \(0.1,\)"),
        ({"scale": (0.1, -1)}, r"maximise needs lengthscale\[1\] > 0, got -1"),
        ({"candidates": 0}, "maximise needs a whole number candidates >= 1, got 0"),
        ({"candidates": 2.5}, "maximise needs a whole number candidates >= 1, got 2.5"),
        ({"starts": 0}, "maximise needs a whole number starts >= 1, got 0"),
        ({"starts": "3"}, "maximise needs a whole number starts >= 1, got '3'"),
        ({"u": 1.5}, r"maximise needs a probability u in \[0, 1\], got 1.5"),
        ({"u": math.nan}, "maximise needs a probability u"),
        ({"u": None}, "maximise needs a probability u"),
        ({"u": 1.0}, "maximise needs u < 1, got 1.0"),
        ({"values": lambda x: x}, r"maximise needs 256 values, got \(256, 2\)"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        kb.domains.maximise(bowl(0.5), SQUARE, **given)


@pytest.mark.parametrize("box", [None, 3, ((0, 1), (0, 1)), "box"])
def test_only_a_box_is_searched(box):
    with pytest.raises(ValueError, match="maximise needs a Box or a MixedBox"):
        kb.domains.maximise(bowl(0.5), box)


@pytest.mark.parametrize(
    "function",
    [lambda x: (np.zeros(3), np.zeros_like(x)), lambda x: (np.zeros(len(x)), np.zeros(len(x)))],
    ids=["values", "gradients"],
)
def test_a_function_of_the_wrong_shape_is_refused(function):
    with pytest.raises(
        ValueError,
        match=r"maximise needs \d+ values and \d+ gradients of 2 coordinates, got shapes",
    ):
        kb.domains.maximise(function, SQUARE)


def test_of_many_starts_the_lower_half_stops_time_and_again_so_that_the_best_cost_little():
    sizes = []

    def watched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(x))
        return index(x)

    index = drawn_index(4, unit(4), 30, 0.3)
    projected_bfgs(
        watched, np.random.default_rng(4).random((64, 4)), np.zeros(4), np.ones(4), np.full(4, 0.3)
    )
    assert sizes[:3] == [64] * 3
    assert sizes[3] <= 33
    assert sizes[6] <= 17


def wavy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A function whose numbers for one row depend on no other row."""
    bend = np.array([3.0, 5.0, 7.0])
    return np.sin(bend * x).sum(1), bend * np.cos(bend * x)


@pytest.mark.parametrize("lower", [0.0, 0.3])
@pytest.mark.parametrize("known", [{}, {"least": 1e-4}, {"steps": 4}, {"steps": 0}])
def test_without_halving_a_start_ends_where_it_ends_alone(lower, known):
    starts = np.random.default_rng(5).uniform(lower, 1, (40, 3))
    bounds = np.full(3, lower), np.ones(3), np.full(3, 0.2)
    known = {"least": 1e-12, "halving": Halving(1000, 1, 1), **known}
    together = projected_bfgs(wavy, starts, *bounds, **known)
    alone = [projected_bfgs(wavy, start[None], *bounds, **known) for start in starts]
    for part in ("rows", "values", "inverse_hessians"):
        each = np.concatenate([getattr(one, part) for one in alone])
        np.testing.assert_array_equal(getattr(together, part), each)
    assert together.evaluations == sum(one.evaluations for one in alone)


def test_a_start_that_never_moved_knows_no_curvature():
    starts = np.array([[0.4, 0.4], [0.9, 0.1]])
    bounds = np.zeros(2), np.ones(2), np.full(2, 0.3)
    ends = projected_bfgs(bowl(np.array([0.4, 0.4])), starts, *bounds)
    assert ends.inverse_hessians is not None
    assert not ends.inverse_hessians[0].any()
    assert ends.inverse_hessians[1].any()


@pytest.mark.parametrize("halving", [Halving(3, 3, 5), PATIENT, Halving(2, 1, 1)])
def test_all_starts_move_until_the_lower_half_stops_and_few_to_the_end(halving):
    sizes = []

    def watched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(x))
        return index(x)

    index = drawn_index(4, unit(4), 30, 0.3)
    starts = np.random.default_rng(4).random((64, 4))
    bounds = np.zeros(4), np.ones(4), np.full(4, 0.3)
    ends = projected_bfgs(watched, starts, *bounds, halving=halving)
    assert min(sizes[: halving.first]) >= 60, "only starts that have arrived stop before"
    for step in range(halving.first, len(sizes), halving.every):
        assert sizes[step] <= max(halving.few, (sizes[step - 1] + 1) // 2)
    assert ends.values.max() == pytest.approx(index(ends.rows)[0].max(), abs=1e-12)


def test_a_sketch_decides_where_to_look_and_the_function_what_is_found():
    """The tops of the sketch are 0.1 beside those of the function, and in another order."""
    tops, sizes = np.array([[0.2, 0.3], [0.7, 0.8]]), []

    def hills(x: np.ndarray, heights: Any, shift: float) -> tuple[np.ndarray, np.ndarray]:
        away = x[:, None] - tops - shift
        each = heights * np.exp(-20 * (away**2).sum(2))
        return each.sum(1), (-40 * away * each[..., None]).sum(1)

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(x))
        return hills(x, np.array([1.0, 1.1]), 0.0)

    def rough(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return hills(x, np.array([1.1, 1.0]), 0.1)

    sketch = SearchedFunction(rough, lambda x: rough(x)[0])
    found = kb.domains.maximise(function, SQUARE, scale=0.2, quick=True, sketch=sketch)
    alone = kb.domains.maximise(function, SQUARE, scale=0.2)
    np.testing.assert_allclose(found.row, tops[1], atol=1e-3)
    assert found.value == pytest.approx(alone.value, abs=1e-6)
    assert max(sizes[: sizes.index(256)]) <= 20, "the sketch is evaluated at the candidates"


def test_starts_that_cannot_become_the_highest_stop():
    """From ten starts to ten hills of different heights, few rows are evaluated in the end."""
    tops, sizes = np.linspace(0.05, 0.95, 10)[:, None], []

    def hills(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(x))
        away = x[:, None] - tops
        each = np.linspace(0.5, 1.0, 10) * np.exp(-2000 * (away**2).sum(2))
        return each.sum(1), (-4000 * away * each[..., None]).sum(1)

    bounds = np.zeros(1), np.ones(1), np.full(1, 0.02)
    ends = projected_bfgs(hills, tops + 0.005, *bounds, rivals=True)
    assert ends.values.max() == pytest.approx(1.0, abs=1e-8)
    assert sizes[4] == 1


# ---------------------------------------------------------------- sides, rows of one's own, what a function tells


@pytest.mark.parametrize("side", [1e-100, 1e-12, 1e12, 1e100])
@pytest.mark.parametrize("other", [1e-100, 1.0, 1e100])
def test_sides_of_every_admissible_size_are_climbed(side, other):
    span = np.array([side, other])

    def stretched(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = bowl(0.3, np.array([1.0, 5.0]))(x / span)
        return values, slopes / span

    found = kb.domains.maximise(stretched, kb.Box((0, 0), tuple(span)))
    assert found.value == pytest.approx(0, abs=1e-9)


IMPOSSIBLE = [
    (-1e308, 1e308),
    (0, 5e-324),
    (0, 9e-101),
    (0, 1.1e100),
    (1, 1 + 1e-15),
    (1.7e9, 1.7e9 + 1e-5),
]


@pytest.mark.parametrize("bounds", IMPOSSIBLE, ids=str)
def test_a_side_that_cannot_be_climbed_along_is_refused_at_once(bounds):
    box = kb.Box((0, bounds[0]), (1, bounds[1]))
    mixed = kb.MixedBox((kb.Integer(0, 3), kb.Real(*bounds)))
    for domain in (box, mixed, kb.Contextual(box, 2)):
        with pytest.raises(
            ValueError,
            match=r"a posterior needs sides of 1e-100 to 1e\+100 with at least 1024 floats",
        ):
            kb.posterior.PointPosterior(kb.RBF(0.2), domain)
    for domain in (box, mixed):
        with pytest.raises(
            ValueError, match=r"maximise needs sides of 1e-100 to 1e\+100 with at least 1024 floats"
        ):
            kb.domains.maximise(bowl(0.5), domain)


def test_a_short_side_far_from_zero_and_large_whole_numbers_are_searched():
    top = np.array([1.7e9 + 0.25])
    assert kb.domains.maximise(bowl(top), kb.Box((1.7e9,), (1.7e9 + 1,))).row[0] == pytest.approx(
        top[0], abs=1e-3
    )
    kb.domains.maximise(bowl(0.0), kb.MixedBox((kb.Integer(2**53 - 1, 2**53), kb.Real(0, 1))))


def test_a_function_may_write_into_the_rows_it_is_given():
    def rude(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        told = bowl(0.3)(x)
        x[:] = 7.0
        return told

    def rude_values(x: np.ndarray) -> np.ndarray:
        return rude(x)[0]

    kind = kb.domains.maximise(bowl(0.3), SQUARE)
    for found in (
        kb.domains.maximise(rude, SQUARE),
        kb.domains.maximise(rude, SQUARE, values=rude_values),
    ):
        np.testing.assert_array_equal(found.row, kind.row)
    small = kb.MixedBox((kb.Integer(0, 3),))
    assert kb.domains.maximise(rude, small).row.tolist() == [0.0]
    assert kb.domains.maximise(rude, small, values=rude_values).row.tolist() == [0.0]


TOLD = {
    "None": None,
    "a number": 1.0,
    "text": "ab",
    "one array": np.zeros(256),
    "three": (0, 0, 0),
    "None twice": (None, None),
    "texts": (["a"] * 256, [["a", "b"]] * 256),
    "ragged": ([0.0] * 256, [[0.0]] * 255 + [[0.0, 0.0]]),
    "complex": (np.zeros(256, dtype=complex), np.zeros((256, 2))),
}


@pytest.mark.parametrize("told", TOLD)
def test_what_is_no_pair_of_values_and_gradients_is_refused(told):
    with pytest.raises(
        ValueError, match="maximise needs 256 values and 256 gradients of 2 coordinates, got"
    ):
        kb.domains.maximise(lambda x: TOLD[told], SQUARE)


@pytest.mark.parametrize(
    "told",
    [None, 1.0, "ab", ["a"] * 256, [[0.0]] * 255 + [[0.0, 0.0]]],
    ids=lambda v: type(v).__name__,
)
def test_what_is_no_list_of_values_is_refused(told):
    with pytest.raises(ValueError, match="maximise needs 256 values, got"):
        kb.domains.maximise(bowl(0.3), SQUARE, values=lambda x: told)


@pytest.mark.parametrize(
    "box", [SQUARE, kb.MixedBox((kb.Integer(0, 3), kb.Integer(0, 3)))], ids=["square", "finite"]
)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": 5}, "maximise needs values that are a function of rows, got 5"),
        ({"candidates": 2**20 + 1}, r"maximise needs candidates <= 2\^20, got 1048577"),
        ({"starts": 10**9}, r"maximise needs starts <= 2\^20, got 1000000000"),
        ({"candidates": "x"}, "maximise needs a whole number candidates >= 1, got 'x'"),
        ({"scale": [[1.0], [1.0, 2.0]]}, "maximise needs lengthscale > 0, got"),
        ({"near": [[1.0], [1.0, 2.0]]}, r"numbers, got a row 0 of 1 and a row 1 of 2"),
        ({"near": np.array(5.0)}, "maximise needs an"),
    ],
)
def test_bad_arguments_are_refused_on_every_box(box, given, message):
    with pytest.raises(ValueError, match=message):
        kb.domains.maximise(bowl(0.5), box, **given)


@pytest.mark.parametrize("function", [None, 5, "bowl"])
def test_only_a_function_is_maximised(function):
    with pytest.raises(ValueError, match="maximise needs a function of rows, got"):
        kb.domains.maximise(function, SQUARE)


def test_of_a_small_finite_box_the_values_are_enough():
    def never(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise AssertionError

    found = kb.domains.maximise(
        never, kb.MixedBox((kb.Integer(0, 9),)), values=lambda rows: -((rows[:, 0] - 4) ** 2)
    )
    assert (found.row.tolist(), found.value) == ([4.0], 0.0)
