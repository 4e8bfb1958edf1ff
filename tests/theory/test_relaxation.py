"""The D-optimal relaxation on arms, what carries it over to a box, and the bounds from ranks and traces."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import kernelbandits as kb
from kernelbandits.kernels import Block
from kernelbandits.theory import relaxation
from kernelbandits.theory.boxes import (
    bends,
    bound_peak,
    count_cells,
    grid,
    is_certifiable,
)
from kernelbandits.theory.caps import bound_by_traces, extent_of, largest_value
from kernelbandits.theory.information import format_gap, whole_rounds
from kernelbandits.theory.relaxation import (
    Design,
    Places,
    greedy_counts,
    optimal_design,
    spread_masses,
    sweep,
)

UNIT = {d: kb.Box((0.0,) * d, (1.0,) * d) for d in (1, 2, 3, 4, 6)}
KERNELS = [
    kb.RBF(0.3),
    kb.Matern(0.3, nu=0.5),
    kb.Matern(0.3, nu=1.5),
    kb.Matern(0.3),
    kb.kernels.RationalQuadratic(0.3, alpha=0.7),
    kb.Linear(),
    kb.kernels.Polynomial(3, offset=0.5),
    2.5 * kb.RBF(0.4),
    kb.RBF(0.4) + kb.Linear(),
    kb.Matern(0.5) * kb.kernels.Polynomial(2),
    kb.kernels.Periodic(0.6, 0.7),
    kb.kernels.On(kb.RBF(0.3), 0) + kb.kernels.Constant(),
]


def dense_gain(kernel, points, masses, ridge) -> float:
    """F(m) = (1/2) log det(I + M^1/2 K M^1/2 / ridge) by numpy."""
    root = np.sqrt(masses)
    return (
        np.linalg.slogdet(
            np.eye(len(root)) + root[:, None] * kernel(points, points) * root / ridge
        )[1]
        / 2
    )


def exact_gain(kernel, points, t, ridge) -> float:
    """gamma_t by trying every multiset of t points."""
    designs = itertools.combinations_with_replacement(range(len(points)), t)
    counts = (np.bincount(design, minlength=len(points)) for design in designs)
    return max(dense_gain(kernel, points, count, ridge) for count in counts)


def of(kernel, points, masses, ridge=1.0, rounds=None) -> Design:
    masses = np.asarray(masses, dtype=float)
    return Design(
        Places(kernel, np.asarray(points)),
        masses,
        float(masses.sum() if rounds is None else rounds),
        ridge,
    )


def bound(design) -> float:
    return design.bound(float(design.variances.max()), float(design.places.prior.max()))


def cloud(seed, n, d=2):
    return np.random.default_rng(seed).random((n, d))


# The bound


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from([0.01, 0.3, 1.0, 20.0]))
def test_the_bound_holds_for_any_masses_whatever(seed, kernel, ridge):
    rng = np.random.default_rng(seed)
    points, masses = rng.random((6, 2)), rng.random(6) ** 3 * rng.integers(0, 2, 6) * 4
    assert (
        exact_gain(kernel, points, 4, ridge)
        <= bound(of(kernel, points, masses, ridge, rounds=4)) + 1e-13
    )


@pytest.mark.thorough
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from([0.01, 0.3, 1.0, 20.0]))
def test_the_optimal_design_bounds_the_best_of_all_multisets(seed, kernel, ridge):
    points = cloud(seed, 6)
    best, design = (
        exact_gain(kernel, points, 4, ridge),
        optimal_design(Places(kernel, points), 4, ridge),
    )
    assert best <= bound(design)
    assert design.masses.sum() == pytest.approx(4, rel=1e-12)
    assert (design.masses >= 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_another_optimiser_finds_no_better_design_than_the_gap_allows(kernel, ridge):
    points, rounds = cloud(3, 8), 25.0

    def loss(logits):
        shares = np.exp(logits - logits.max())
        return -dense_gain(kernel, points, rounds * shares / shares.sum(), ridge)

    found = -min(
        minimize(loss, start, method="BFGS").fun
        for start in np.random.default_rng(0).normal(size=(4, 8))
    )
    design = optimal_design(Places(kernel, points), rounds, ridge)
    assert design.gain - 1e-9 <= found + 1e-3 * found
    assert found <= bound(design) + 1e-12
    assert design.gap <= 1e-3 * design.gain
    assert bound(design) - design.gain == pytest.approx(design.gap, rel=1e-6, abs=1e-10)


def test_on_basis_arms_the_optimal_design_is_even_and_the_bound_is_exact_where_rounds_divide():
    design = optimal_design(Places(kb.Linear(), np.eye(4)), 20, 0.7)
    np.testing.assert_allclose(design.masses, 5.0, rtol=1e-2)
    assert bound(design) == pytest.approx(4 * math.log1p(5 / 0.7) / 2, rel=1.1e-3)
    assert bound(design) >= 4 * math.log1p(5 / 0.7) / 2


@pytest.mark.parametrize("name", ["SWEEPS", "WORK", "STEPS", "STARTS"])
def test_a_search_that_is_cut_short_still_bounds(monkeypatch, name):
    monkeypatch.setattr(relaxation, name, 1 if name in ("STARTS", "STEPS") else 0)
    points = cloud(5, 6)
    for kernel in KERNELS:
        assert exact_gain(kernel, points, 4, 0.5) <= bound(
            optimal_design(Places(kernel, points), 4, 0.5)
        )


@pytest.mark.parametrize("kernel", [kb.RBF(0.2), kb.Matern(0.2, nu=0.5)])
def test_places_too_many_to_hold_their_matrix_have_the_same_bound(monkeypatch, kernel):
    points = cloud(6, 90)
    held = optimal_design(Places(kernel, points), 500, 1.0)
    monkeypatch.setattr(relaxation, "DENSE", 10)
    monkeypatch.setattr(relaxation, "ROWS", 7)
    apart = optimal_design(Places(kernel, points), 500, 1.0)
    assert bound(apart) == pytest.approx(bound(held), rel=1e-3)
    np.testing.assert_allclose(apart.variances, apart.relative_variance(points), atol=1e-12)


def test_where_every_place_matters_all_of_them_carry_mass_and_the_gap_is_closed():
    kernel, points = kb.Matern(0.1, nu=0.5), cloud(8, 320)
    design = optimal_design(Places(kernel, points), 5000, 1.0)
    assert len(design.support) > 300
    assert design.gap <= 1e-3 * design.gain


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("rounds", [1, 30, 10**5, 10**9])
def test_the_bound_is_above_the_gain_for_any_ridge_and_horizon_of_a_singular_kernel(ridge, rounds):
    points = np.vstack([cloud(1, 20), cloud(1, 3) + 1e-9, np.full((1, 2), 0.5)])
    for kernel in (kb.RBF(5.0), kb.Linear(), kb.kernels.Polynomial(2)):
        design = optimal_design(Places(kernel, points), rounds, ridge)
        assert math.isfinite(bound(design))
        assert bound(design) >= design.gain
        assert bound(design) >= math.log1p(rounds * kernel.diagonal(points).max() / ridge) / 2 * (
            1 - 1e-12
        )


def decimal_bound(points, lengthscale, design) -> Decimal:
    """F(m) + (T max v - sum m v) / 2 for the RBF kernel in 60 digits."""
    rows = [[Decimal(float(value)) for value in row] for row in points]
    squares = [[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in rows] for x in rows]
    k = [[(-square / (2 * Decimal(lengthscale) ** 2)).exp() for square in row] for row in squares]
    masses, ridge = [Decimal(float(mass)) for mass in design.masses], Decimal(design.ridge)
    n = len(k)
    b = [
        [masses[i].sqrt() * k[i][j] * masses[j].sqrt() / ridge + (i == j) for j in range(n)]
        for i in range(n)
    ]
    factor = [[Decimal(0)] * n for _ in range(n)]
    for i, j in zip(*np.tril_indices(n), strict=True):
        left = b[i][j] - sum((factor[i][m] * factor[j][m] for m in range(j)), Decimal(0))
        factor[i][j] = left.sqrt() if i == j else left / factor[j][j]
    variances = []
    for place in range(n):
        solved: list[Decimal] = []
        for i in range(n):
            right = masses[i].sqrt() * k[i][place] - sum(
                (factor[i][m] * solved[m] for m in range(i)), Decimal(0)
            )
            solved.append(right / factor[i][i])
        variances.append((1 - sum(value * value for value in solved) / ridge) / ridge)
    gain = sum(factor[i][i].ln() for i in range(n))
    spent = sum(mass * variance for mass, variance in zip(masses, variances, strict=True))
    return gain + (Decimal(design.rounds) * max(variances) - spent) / 2


@pytest.mark.parametrize("rounds", [10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e3])
def test_the_rounding_of_a_singular_kernel_is_allowed_for(rounds, ridge):
    points = cloud(1, 10)
    design = optimal_design(Places(kb.RBF(3.0), points), rounds, ridge)
    with localcontext() as context:
        context.prec = 60
        true = decimal_bound(points, 3.0, design)
        assert Decimal(bound(design)) >= true
        assert (
            Decimal(bound(design)) - 2 * Decimal(design.rounding_allowance(1.0))
            <= true + abs(true) / 10**12
        )


# Its parts


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_variances_are_twice_the_gradient_of_the_gain(kernel):
    points, masses = cloud(2, 7), np.array([3.0, 0.5, 0.0, 2.0, 1.0, 0.0, 4.0])
    design = of(kernel, points, masses, 0.8)
    assert design.gain == pytest.approx(dense_gain(kernel, points, masses, 0.8), rel=1e-12)
    for i, variance in enumerate(design.variances):
        step = 1e-5 * (np.arange(7) == i)
        slope = (dense_gain(kernel, points, masses + step, 0.8) - design.gain) / 1e-5
        assert variance / 2 == pytest.approx(slope, rel=1e-3)
    assert design.leverages.sum() == pytest.approx(masses @ design.variances, rel=1e-10)
    assert design.gap == pytest.approx(
        (masses.sum() * design.variances.max() - design.leverages.sum()) / 2, rel=1e-9
    )


def test_the_covariance_and_its_conditioning_are_those_of_the_masses():
    kernel, points, masses = kb.RBF(0.4), cloud(4, 6), np.array([1.0, 2.0, 0.0, 0.5, 3.0, 0.0])
    before, everywhere = of(kernel, points, masses, 0.6), np.arange(6)
    cov = before.covariance(everywhere)
    noise = np.diag(0.6 / np.array([1.0, 2.0, 0.5, 3.0]))
    seen = points[[0, 1, 3, 4]]
    dense = kernel(points, points) - kernel(points, seen) @ np.linalg.solve(
        kernel(seen, seen) + noise, kernel(seen, points)
    )
    np.testing.assert_allclose(cov, dense / 0.6, atol=1e-12)
    relaxation.condition(cov, 2, 1.5)
    relaxation.condition(cov, 4, -3.0)
    after = of(kernel, points, masses + np.array([0, 0, 1.5, 0, -3.0, 0]), 0.6)
    np.testing.assert_allclose(cov, after.covariance(everywhere), atol=1e-10)


def test_an_exchange_moves_the_mass_that_is_best_for_its_pair():
    kernel, points, masses = kb.RBF(0.6), cloud(4, 4), np.array([9.0, 6.0, 8.0, 7.0])
    design = of(kernel, points, masses, 0.6)
    best, worst = int(design.variances.argmax()), int(design.variances.argmin())
    moved = masses.copy()
    relaxation.exchange(design.covariance(np.arange(4)), moved, 30.0, 0.0, 1)
    direction = 1.0 * (np.arange(4) == best) - 1.0 * (np.arange(4) == worst)
    steps = np.linspace(0, masses[worst], 20001)
    along = [
        dense_gain(kernel, points, np.maximum(masses + step * direction, 0.0), 0.6)
        for step in steps[::10]
    ]
    assert 0 < moved[best] - masses[best] < masses[worst]
    assert moved[best] - masses[best] == pytest.approx(
        steps[::10][int(np.argmax(along))], abs=1.1e-3 * masses[worst]
    )
    np.testing.assert_allclose((moved - masses)[[best, worst]].sum(), 0.0, atol=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from([1.0, 50.0, 1e5]))
def test_sweeps_and_spreading_never_lower_the_gain_and_keep_the_total(seed, kernel, rounds):
    rng = np.random.default_rng(seed)
    masses = rng.random(12)
    design = of(kernel, rng.random((12, 2)), masses * (rounds / masses.sum()))
    moved, _ = sweep(design, 1e9)
    for later in (moved, spread_masses(design)):
        assert later.gain >= design.gain * (1 - 1e-9)
        assert later.masses.sum() == pytest.approx(rounds, rel=1e-9)
        assert (later.masses >= 0).all()


def test_greedy_counts_are_those_of_the_greedy_gain_and_can_be_continued():
    kernel, points = kb.Matern(0.3), cloud(7, 15)
    nothing = of(kernel, points, np.zeros(15), 0.5)
    counts = greedy_counts(nothing, 40)
    greedy = kb.theory.GreedyGain(kernel, kb.Arms(points), 0.5)
    assert dense_gain(kernel, points, counts, 0.5) == pytest.approx(greedy.value(40), rel=1e-10)
    continued = greedy_counts(of(kernel, points, greedy_counts(nothing, 17), 0.5), 23)
    np.testing.assert_array_equal(continued, counts)


@pytest.mark.parametrize("rounds", [1, 7, 301, 10**4, 10**9])
def test_a_design_in_whole_rounds_has_that_many_of_them(monkeypatch, rounds):
    design = optimal_design(Places(kb.RBF(0.2), cloud(9, 30)), rounds, 1.0)
    for memory in (2e7, 0.0):
        monkeypatch.setattr("kernelbandits.theory.information.MEMORY", memory)
        counts = whole_rounds(design)
        assert counts.sum() == rounds
        np.testing.assert_array_equal(counts, np.round(counts))
        assert (counts >= np.floor(design.masses * (1 - 1e-9))).all()


def test_a_scaled_design_keeps_its_shares():
    design = of(kb.RBF(0.3), cloud(0, 4), [1.0, 0.0, 2.0, 3.0])
    doubled = design.rescale(12.0, 0.3)
    np.testing.assert_allclose(doubled.masses, [2.0, 0.0, 4.0, 6.0])
    assert doubled.gain == pytest.approx(
        dense_gain(kb.RBF(0.3), cloud(0, 4), doubled.masses, 0.3), rel=1e-12
    )


@given(st.floats(1e-12, 1e9))
def test_a_gap_is_never_printed_too_small(value):
    assert value <= float(format_gap(value)) * (1 + 1e-15)
    assert float(format_gap(value)) <= 1.1 * value


# From a grid to a box


def feature_error(kernel, x, t, width, dimension) -> float:
    """|phi(x + t a) - (1 - t) phi(x) - t phi(x + a)| from kernel values."""
    shift = width * (np.arange(len(x)) == dimension)
    points, weights = np.array([x + t * shift, x, x + shift]), np.array([1.0, t - 1.0, -t])
    return math.sqrt(max(float(weights @ kernel(points, points) @ weights), 0.0))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from([0.005, 0.05, 0.4, 1.0]))
def test_the_bend_bounds_the_error_of_linear_interpolation(seed, kernel, width):
    rng = np.random.default_rng(seed)
    dimension = int(rng.integers(2))
    found = kernel.cell_change(extent_of(UNIT[2]), dimension, width)
    x = rng.random(2) * np.where(np.arange(2) == dimension, 1 - width, 1.0)
    for t in (0.5, *rng.random(5)):
        assert feature_error(kernel, x, t, width, dimension) <= found.bend + 1e-7
    ends = np.array([x, x + width * (np.arange(2) == dimension)])
    values = kernel(ends, ends)
    assert math.sqrt(max(values[0, 0] + values[1, 1] - 2 * values[0, 1], 0.0)) <= found.step + 1e-7


def test_the_bend_of_a_smooth_kernel_is_of_second_order():
    """For the RBF kernel it is (a / l)^2 sqrt(3) / 8, the norm of the second derivative of phi."""
    for width in (0.02, 0.01):
        expected = (width / 0.2) ** 2 * math.sqrt(3) / 8
        assert (
            expected <= kb.RBF(0.2).cell_change(extent_of(UNIT[1]), 0, width).bend <= 1.2 * expected
        )
    assert kb.Linear().cell_change(extent_of(UNIT[2]), 0, 0.3).bend == 0.0


def test_the_bend_of_a_product_counts_what_both_factors_move():
    """x x x interpolated linearly is off by t (1 - t) a^2, though neither factor bends."""
    assert (kb.Linear() * kb.Linear()).cell_change(
        extent_of(UNIT[1]), 0, 0.4
    ).bend == pytest.approx(0.04, rel=1e-12)
    assert feature_error(kb.Linear() * kb.Linear(), np.array([0.2]), 0.5, 0.4, 0) == pytest.approx(
        0.04, rel=1e-9
    )


def test_each_dimension_has_its_own_lengthscale():
    kernel = kb.RBF((0.1, 2.0))
    assert kernel.cell_change(extent_of(UNIT[2]), 0, 0.05) == kb.RBF(0.1).cell_change(
        extent_of(UNIT[2]), 0, 0.05
    )
    assert kernel.cell_change(extent_of(UNIT[2]), 1, 0.05) == kb.RBF(2.0).cell_change(
        extent_of(UNIT[2]), 1, 0.05
    )
    cells = count_cells(kernel, UNIT[2], 0.0, 2000)
    assert cells[0] > 10 * cells[1]
    assert (cells + 1).prod() <= 2000


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KERNELS),
    st.sampled_from([1, 3, 8]),
    st.sampled_from([0.05, 1.0]),
)
def test_no_point_of_the_box_has_more_variance_than_the_peak(seed, kernel, cells, ridge):
    rng = np.random.default_rng(seed)
    design = of(kernel, rng.random((10, 2)), rng.random(10) * 20, ridge)
    peak = bound_peak(design, UNIT[2], np.full(2, float(cells)))
    assert design.relative_variance(rng.random((3000, 2))).max() <= peak * (1 + 1e-9)


def test_the_peak_of_a_smooth_kernel_is_close_to_the_greatest_variance():
    design = of(kb.RBF(0.3), cloud(2, 10), np.full(10, 5.0))
    true = design.relative_variance(grid(UNIT[2], np.array([300.0, 300.0]))).max()
    assert true <= bound_peak(design, UNIT[2], np.array([40.0, 40.0])) <= 1.01 * true


def test_a_grid_has_the_corners_of_the_box_and_its_cells():
    box = kb.Box((-1.0, 2.0), (1.0, 5.0))
    points = grid(box, np.array([2.0, 3.0]))
    assert points.shape == (12, 2)
    assert {(-1.0, 2.0), (1.0, 5.0), (-1.0, 5.0), (0.0, 3.0)} <= {
        tuple(row) for row in points.tolist()
    }


def test_kernels_of_which_nothing_is_known_between_points_are_not_certified():
    box = UNIT[2]
    assert all(is_certifiable(kernel, box) for kernel in KERNELS)
    unknown = kb.Matern(0.3) + kb.kernels.Adapted(lambda x, z: x @ z.T)
    for kernel in (
        unknown,
        unknown * kb.Linear(),
        2.0 * unknown,
        kb.kernels.Normalised(kb.kernels.Polynomial(2)),
    ):
        assert not is_certifiable(kernel, box)
    assert bends(kb.RBF(0.3), box, np.ones(2)).shape == (2,)


# Ranks and traces


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KERNELS),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.integers(1, 60),
)
def test_no_points_of_a_domain_have_more_gain_than_its_ranks_and_traces_allow(
    seed, kernel, ridge, t
):
    points = np.random.default_rng(seed).random((t, 2))
    gain = dense_gain(kernel, points, np.ones(t), ridge)
    for domain in (UNIT[2], kb.Arms(points)):
        largest = largest_value(kernel, domain)
        assert largest >= kernel.diagonal(points).max() * (1 - 1e-12)
        assert gain <= bound_by_traces(kernel.rank_blocks(extent_of(domain)), largest, t, ridge)
        assert gain <= bound_by_traces([Block(math.inf, largest)], largest, t, ridge)


def test_the_caps_in_closed_form():
    assert bound_by_traces([Block(math.inf, 2.0)], 2.0, 50, 0.5) == pytest.approx(
        25 * math.log(5), rel=1e-9
    )
    linear = bound_by_traces(
        kb.Linear().rank_blocks(extent_of(kb.Box((-1.0, -2.0), (1.0, 1.0)))), 5.0, 100, 0.5
    )
    assert linear == pytest.approx(math.log1p(100 * 5 / (2 * 0.5)), rel=1e-9)
    assert bound_by_traces([Block(7, 1.0)], 1.0, 3, 1.0) == pytest.approx(
        1.5 * math.log(2), rel=1e-9
    )


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_shares_of_the_series_are_reached_by_some_point_and_sum_to_the_kernel(d):
    """k_q(x, x) = exp(-s) s^q / q!, s = |x / l|^2, largest on the box where s is nearest to q."""
    blocks = kb.RBF(0.4).rank_blocks(extent_of(UNIT[d]))
    edge = d * (0.5 / 0.4) ** 2
    s = np.linspace(0, edge, 20001)
    for q, block in enumerate(blocks[:12]):
        values = np.exp(-s) * s**q / math.factorial(q)
        assert block.share == pytest.approx(values.max(), rel=1e-6)
        assert block.rank == math.comb(d + q - 1, q)
    assert blocks[-1].rank == math.inf
    assert blocks[-1].share < 1e-12
    assert sum(block.share for block in blocks) >= 1


def test_the_polynomial_kernel_is_the_sum_of_its_degrees():
    kernel, box = kb.kernels.Polynomial(3, offset=0.5), UNIT[2]
    blocks = kernel.rank_blocks(extent_of(box))
    assert [block.rank for block in blocks] == [1, 2, 3, 4]
    assert (
        sum(block.share for block in blocks)
        == pytest.approx(2.5**3)
        == pytest.approx(largest_value(kernel, box))
    )


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_level_is_the_best_way_to_share_the_trace(seed):
    rng = np.random.default_rng(seed)
    blocks = [
        Block(float(rank), float(share))
        for rank, share in zip(rng.integers(1, 20, 4), rng.random(4), strict=True)
    ]
    largest, rounds, ridge = 0.6 * sum(block.share for block in blocks), 100.0, 0.3
    best = bound_by_traces(blocks, largest, rounds, ridge)
    ranks, most = np.array([b.rank for b in blocks]), rounds * np.array([b.share for b in blocks])
    for _ in range(200):
        traces = most * rng.random(4)
        traces *= min(1.0, rounds * largest / traces.sum())
        assert (ranks * np.log1p(traces / ranks / ridge)).sum() / 2 <= best


def test_a_series_of_too_many_degrees_is_one_block():
    assert kb.RBF(1e-3).rank_blocks(extent_of(UNIT[2])) == [Block(math.inf, 1.0)]
