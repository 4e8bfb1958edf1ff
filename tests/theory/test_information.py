from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import definitions
import kernelbandits as kb
from kernelbandits.theory import gain_exponent, growth, information_gain, rate_text
from kernelbandits.theory.gains import GAINS, GreedyGain, analytic_gain, gain_term

KERNELS = [
    kb.RBF(0.3),
    kb.Matern(0.3, nu=0.5),
    kb.Matern(0.3),
    kb.Linear(),
    kb.kernels.Polynomial(2),
    kb.RBF(5.0) + kb.Linear(),
]


def gain_of(kernel, points, pulls, ridge) -> float:
    """(1/2) log det(I + K / ridge) of the points played."""
    rows = points[list(pulls)]
    return np.linalg.slogdet(np.eye(len(rows)) + kernel(rows, rows) / ridge)[1] / 2


def maximal_gain(kernel, points, t, ridge) -> float:
    """gamma_t by trying every multiset of t points."""
    designs = itertools.combinations_with_replacement(range(len(points)), t)
    return max(gain_of(kernel, points, design, ridge) for design in designs)


@settings(max_examples=15)
@given(
    st.integers(0, 1000),
    st.sampled_from([kb.RBF(0.5), kb.Linear(), kb.Matern(0.3)]),
    st.floats(0.1, 3.0),
)
def test_realised_is_at_most_maximal_is_at_most_the_greedy_bound(seed, kernel, ridge):
    rng = np.random.default_rng(seed)
    points = rng.random((6, 2))
    greedy, exact = (
        GreedyGain(kernel, kb.Arms(points), ridge),
        maximal_gain(kernel, points, 4, ridge),
    )
    realised = gain_of(kernel, points, rng.integers(6, size=4), ridge)
    assert realised <= exact + 1e-12
    assert greedy.value(4) <= exact + 1e-12
    assert exact <= greedy.bound(4) + 1e-12
    assert greedy.bound(4) <= greedy.value(4) / (1 - 1 / math.e)
    bounds = definitions.greedy_gains(kernel(points, points), ridge, 4)
    assert [greedy.bound(t) for t in range(5)] == pytest.approx(bounds, rel=1e-9)


def test_the_greedy_bound_is_close_to_the_certificate_of_the_relaxation():
    """G / (1 - 1/e) alone would be 1.58 times the lower bound for every t."""
    points = np.random.default_rng(0).random((50, 2))
    greedy = GreedyGain(kb.RBF(0.2), kb.Arms(points), 1.0)
    for t, factor in ((1, 1.0), (10, 1.0), (100, 1.07), (1000, 1.004)):
        found = information_gain(kb.RBF(0.2), points, t)
        assert found.lower - 1e-9 <= greedy.bound(t) <= factor * found.upper + 1e-9
    assert greedy.bound(10) < 0.65 / (1 - 1 / math.e) * greedy.value(10)
    np.testing.assert_array_equal(
        greedy.bound(np.array([10, 1])), [greedy.bound(10), greedy.bound(1)]
    )


def test_the_width_of_gp_ucb_uses_the_certificate_where_it_is_the_smallest_bound():
    """At ridge 0.01 and t = 10 it is 5 ln 101; G / (1 - 1/e) would give a width of 1026."""
    points = np.random.default_rng(0).random((50, 2))
    told = {"noise_scale": 0.1, "norm_bound": 1.0, "schedule": "rkhs", "gain": "greedy"}
    width = kb.GPUCB(points, kb.RBF(0.2), **told).width_at(10)
    assert width == pytest.approx(math.sqrt(2 + 300 * 5 * math.log(101) * math.log(100) ** 3))
    assert round(width) == 822


def test_on_basis_arms_the_greedy_value_is_exact_with_pulls_spread_evenly():
    for ridge, t in ((1.02, 3), (0.25, 4), (1.0, 11)):
        counts = [t // 3 + (i < t % 3) for i in range(3)]
        expected = sum(math.log1p(n / ridge) for n in counts) / 2
        assert GreedyGain(kb.Linear(), kb.Arms(np.eye(3)), ridge).value(t) == pytest.approx(
            expected, rel=1e-13
        )


def test_the_golden_gains():
    basis = kb.Arms(np.eye(3))
    assert GreedyGain(kb.Linear(), basis, 1.02).value(3) == pytest.approx(1.0249423, abs=5e-8)
    assert GreedyGain(kb.Linear(), basis, 0.25).value(4) == pytest.approx(2.708050, abs=5e-7)
    assert maximal_gain(kb.Linear(), np.eye(3), 4, 0.25) == pytest.approx(2.708050, abs=5e-7)


def test_identical_arms_share_one_gain():
    with pytest.warns(kb.DataNotice):
        arms = kb.Arms(np.full((4, 2), 0.3))
    greedy = GreedyGain(kb.RBF(0.2), arms, 0.7)
    for t in (1, 5, 40):
        assert greedy.value(t) == pytest.approx(math.log1p(t / 0.7) / 2, rel=1e-12)


def test_the_greedy_gain_grows_and_is_concave_in_the_number_of_rounds():
    greedy = GreedyGain(kb.RBF(0.2), kb.Arms(np.random.default_rng(0).random((20, 2))), 1.0)
    steps = np.diff(greedy.value(np.arange(60)))
    assert (steps > 0).all()
    assert (np.diff(steps) <= 1e-12).all()
    assert greedy.value(0) == 0.0


def test_a_round_and_an_array_of_rounds_are_answered_alike():
    greedy = GreedyGain(kb.RBF(0.2), kb.Arms(np.random.default_rng(0).random((5, 2))), 1.0)
    rounds = np.array([3, 0, 9, 1])
    np.testing.assert_array_equal(greedy.value(rounds), [greedy.value(int(t)) for t in rounds])
    np.testing.assert_array_equal(greedy.bound(rounds), [greedy.bound(int(t)) for t in rounds])


def test_what_any_policy_plays_never_exceeds_the_greedy_bound():
    points = np.random.default_rng(1).random((15, 2))
    greedy = GreedyGain(kb.RBF(0.3), kb.Arms(points), 1.0)
    for policy in (
        kb.SimpleUCB(points, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0),
        kb.policies.UniformRandom(points, kb.RBF(0.3)),
    ):
        for t in range(1, 60):
            policy.tell(policy.ask(t, kb.Streams(2)), 0.0)
            assert policy.posterior.log_det / 2 <= greedy.bound(t)


@given(st.integers(1, 200), st.integers(1, 4), st.floats(0.1, 5.0))
def test_the_analytic_gain_of_the_linear_kernel_bounds_every_play_in_the_unit_ball(t, d, ridge):
    rng = np.random.default_rng(t)
    points = rng.normal(size=(8, d))
    points /= np.linalg.norm(points, axis=1).max()
    bound = analytic_gain(kb.Linear(), points, ridge, t)
    assert bound == pytest.approx(d / 2 * math.log(1 + t / (d * ridge)))
    assert GreedyGain(kb.Linear(), kb.Arms(points), ridge).value(t) <= bound + 1e-10


@pytest.mark.parametrize(
    "kernel", [kb.RBF(0.3), kb.Matern(0.3), kb.kernels.Polynomial(1, offset=0.0), 1.0 * kb.Linear()]
)
def test_the_analytic_gain_is_refused_for_all_but_the_linear_kernel(kernel):
    with pytest.raises(ValueError, match=r"the analytic gain needs the Linear kernel .*, got"):
        analytic_gain(kernel, np.eye(2), 1.0, 5)
    with pytest.raises(ValueError, match="the analytic gain needs the Linear kernel"):
        kb.IGPUCB(np.eye(2), kernel, noise_scale=1.0, norm_bound=1.0, horizon=10, gain="analytic")


def test_the_analytic_gain_needs_points_in_the_unit_ball():
    with pytest.raises(ValueError, match=r"points in the unit ball, got 2.0"):
        analytic_gain(kb.Linear(), 2 * np.eye(2), 1.0, 5)


def test_a_gain_is_one_of_three_names_or_a_function():
    arms = kb.Arms(np.eye(3))
    assert gain_term("realised", kb.Linear(), arms, 1.0)(7) == (0.0, 0.5)
    greedy, share = gain_term("greedy", kb.Linear(), arms, 1.0)(7)
    assert (greedy, share) == (GreedyGain(kb.Linear(), arms, 1.0).bound(7), 0.0)
    analytic, share = gain_term("analytic", kb.Linear(), arms, 1.0)(7)
    assert (analytic, share) == (pytest.approx(1.5 * math.log(1 + 7 / 3)), 0.0)
    given_gain, share = gain_term(lambda t: 2.0 * t, kb.Linear(), arms, 1.0)(7)
    assert (given_gain, share) == (14.0, 0.0)
    assert GAINS == ("realised", "greedy", "analytic")
    with pytest.raises(ValueError, match=r"needs gain in .* got 'maximal'"):
        gain_term("maximal", kb.Linear(), arms, 1.0)


@pytest.mark.parametrize("gain", [*GAINS, math.sqrt])
@pytest.mark.parametrize("rule", [kb.IGPUCB, kb.GPTS])
def test_the_gain_used_is_written_in_the_settings(rule, gain):
    policy = rule(np.eye(3), kb.Linear(), noise_scale=1.0, norm_bound=1.0, horizon=10, gain=gain)
    assert policy.settings["gain"] == ("given by sqrt" if callable(gain) else gain)
    assert math.isfinite(policy.width(5, 1.0))


def test_igp_ucb_is_narrower_under_the_realised_gain_than_under_the_greedy_one():
    points = np.random.default_rng(3).random((10, 2))
    settings = {"noise_scale": 1.0, "norm_bound": 1.0, "horizon": 30, "ties": "lowest"}
    realised = kb.IGPUCB(points, kb.RBF(0.3), **settings)
    greedy = kb.IGPUCB(points, kb.RBF(0.3), gain="greedy", **settings)
    for t in range(1, 30):
        assert realised.width(t, realised.posterior.log_det) <= greedy.width(t, 0.0) + 1e-12
        realised.tell(realised.ask(t, kb.Streams(0)), 0.0)


def test_the_information_gain_is_enclosed_for_a_horizon():
    gain = information_gain(kb.Linear(), np.eye(3), 3, ridge=1.02)
    assert gain.lower == pytest.approx(1.0249423, abs=1e-7)
    assert gain.lower <= gain.upper <= 1.001 * gain.lower
    assert (gain.horizon, gain.ridge, gain.domain) == (3, 1.02, "3 arms")


@pytest.mark.thorough
@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KERNELS),
    st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    st.integers(1, 4),
)
def test_the_enclosure_holds_the_maximum_over_all_multisets(seed, kernel, ridge, t):
    points = np.random.default_rng(seed).random((6, 2))
    gain, exact = information_gain(kernel, points, t, ridge), maximal_gain(kernel, points, t, ridge)
    assert gain.lower <= exact * (1 + 1e-12) + 1e-13
    assert exact <= gain.upper * (1 + 1e-12) + 1e-13
    assert exact * (1 - 1 / math.e) <= gain.lower + 1e-12
    assert gain.upper <= GreedyGain(kernel, kb.Arms(points), ridge).bound(t) * (1 + 1e-9)


@pytest.mark.parametrize(
    "kernel", [kb.RBF(0.2), kb.Matern(0.2), kb.Matern(0.2, nu=0.5), kb.Linear()]
)
@pytest.mark.parametrize("t", [1000, 10**6, 10**9])
def test_the_enclosure_is_a_fraction_of_a_percent_wide(kernel, t):
    gain = information_gain(kernel, np.random.default_rng(0).random((50, 2)), t)
    assert gain.upper <= 1.0025 * gain.lower


@pytest.mark.thorough
def test_no_play_has_more_gain_than_the_upper_bound():
    points, rng = np.random.default_rng(4).random((12, 2)), np.random.default_rng(5)
    for kernel, ridge in itertools.product(KERNELS, (0.1, 1.0)):
        upper = [gain.upper for gain in growth(kernel, points, (1, 5, 40), ridge)]
        for t, bound in zip((1, 5, 40), upper, strict=True):
            plays = [rng.integers(12, size=t) for _ in range(20)] + [
                np.arange(t) % 12,
                np.zeros(t, dtype=int),
            ]
            assert max(gain_of(kernel, points, play, ridge) for play in plays) <= bound + 1e-12


@pytest.mark.thorough
def test_what_policies_realise_is_at_most_the_upper_bound():
    points = np.random.default_rng(1).random((15, 2))
    upper = [gain.upper for gain in growth(kb.RBF(0.3), points, range(1, 60))]
    for policy in (
        kb.SimpleUCB(points, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0),
        kb.policies.UniformRandom(points, kb.RBF(0.3)),
    ):
        for t in range(1, 60):
            policy.tell(policy.ask(t, kb.Streams(2)), 0.0)
            assert policy.posterior.log_det / 2 <= upper[t - 1]


def test_order_and_repeats_of_the_arms_change_nothing():
    points = np.random.default_rng(2).random((30, 2))
    shuffled = np.random.default_rng(3).permutation(np.vstack([points, points[:7], points[:3]]))
    with pytest.warns(kb.DataNotice):
        again = kb.Arms(shuffled)
    for t in (5, 500):
        first, second = (
            information_gain(kb.RBF(0.2), points, t),
            information_gain(kb.RBF(0.2), again, t),
        )
        assert (first.lower, first.upper) == (second.lower, second.upper)


@pytest.mark.thorough
def test_the_bounds_grow_with_the_horizon_and_fall_with_the_ridge():
    points, rounds = (
        np.random.default_rng(6).random((20, 2)),
        [1, 2, 4, 10, 40, 200, 1000, 10**4, 10**6, 10**9],
    )
    for kernel in (kb.RBF(0.2), kb.Matern(0.3, nu=1.5), kb.Linear()):
        gains = growth(kernel, points, rounds)
        assert (np.diff([gain.upper for gain in gains]) > 0).all()
        assert (np.diff([gain.lower for gain in gains]) > 0).all()
        heavier = [information_gain(kernel, points, 100, ridge) for ridge in (0.01, 0.1, 1.0, 10.0)]
        assert (np.diff([gain.upper for gain in heavier]) < 0).all()
        assert (np.diff([gain.lower for gain in heavier]) < 0).all()


@pytest.mark.thorough
def test_a_kernel_and_a_ridge_scaled_alike_have_the_same_gain():
    points, box = np.random.default_rng(7).random((20, 2)), kb.Box((0.0,), (1.0,))
    for domain, factor in itertools.product((points, box), (4.0, 0.25, 3.0)):
        plain = information_gain(kb.Matern(0.3), domain, 50, 0.7)
        scaled = information_gain(factor * kb.Matern(0.3), domain, 50, factor * 0.7)
        tolerance = 1e-2 if factor == 3.0 else 1e-9
        assert scaled.upper == pytest.approx(plain.upper, rel=tolerance)
        assert scaled.lower == pytest.approx(plain.lower, rel=tolerance)


def test_a_single_arm_and_arms_without_variance_are_exact():
    one = information_gain(kb.RBF(0.2), [[0.3, 0.4]], 10**9, 0.5)
    assert (
        one.lower
        == pytest.approx(math.log1p(2e9) / 2, rel=1e-9)
        == pytest.approx(one.upper, rel=1e-9)
    )
    origin = information_gain(kb.Linear(), [[0.0, 0.0]], 100)
    assert (origin.lower, origin.upper) == (0.0, 0.0)
    beside = information_gain(kb.Linear(), [[0.0, 0.0], [0.6, 0.8]], 100)
    assert beside.lower == pytest.approx(math.log(101) / 2) == pytest.approx(beside.upper)


def test_no_rounds_have_no_gain():
    for domain in (np.eye(2), kb.Box((0.0,), (1.0,))):
        gain = information_gain(kb.RBF(0.3), domain, 0)
        assert (gain.lower, gain.upper) == (0.0, 0.0)


def test_enormous_horizons_and_tiny_ridges_leave_bounds_that_hold():
    points = np.random.default_rng(8).random((10, 2))
    for t, ridge in ((10**100, 1.0), (10**15, 1e-6), (5, 1e-300), (10**9, 1e-6), (5, 1e300)):
        gain = information_gain(kb.RBF(1.0), points, t, ridge)
        single = math.log1p(t / ridge) / 2
        assert single * (1 - 1e-9) <= gain.lower <= gain.upper <= 10 * single * (1 + 1e-9)


def test_the_lower_bound_of_an_enormous_horizon_is_that_of_a_smaller_one():
    points = np.eye(3)
    gain = information_gain(kb.Linear(), points, 10**20, 1e-3)
    exact = 1.5 * math.log1p(1e23 / 3)
    assert 0.6 * exact <= gain.lower <= exact <= gain.upper <= exact * (1 + 1e-9)
    shorter, longer = growth(kb.Linear(), points, (10**5, 10**20), 1e-3)
    assert shorter.upper <= longer.lower == pytest.approx(gain.lower, rel=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "domain", "t", "certificate"),
    [
        (
            kb.RBF(0.2),
            np.random.default_rng(0).random((30, 2)),
            500,
            "D-optimal relaxation, duality gap",
        ),
        (kb.RBF(0.2), np.random.default_rng(0).random((30, 2)), 2, "(T/2) ln(1 + sup k/ridge)"),
        (
            kb.RBF(0.2),
            np.random.default_rng(0).random((30, 2)),
            10**16,
            "(n/2) ln(1 + T sup k/(n ridge)), n arms",
        ),
        (
            kb.Linear(),
            np.random.default_rng(0).random((30, 2)),
            10**16,
            "(d/2) ln(1 + T max|x|^2/(d ridge))",
        ),
        (
            kb.RBF(0.2),
            kb.Box((0.0,), (1.0,)),
            500,
            "D-optimal relaxation on the whole box by a grid of",
        ),
        (kb.RBF(1.0), kb.Box((0.0,) * 10, (1.0,) * 10), 10**16, "Taylor series of the kernel"),
        (kb.RBF(0.1), kb.Box((0.0,) * 20, (1.0,) * 20), 50, "(T/2) ln(1 + sup k/ridge)"),
        (
            kb.Linear() + kb.kernels.Polynomial(2),
            kb.Box((0.0,), (1.0,)),
            10**16,
            "ranks and traces of the parts of the kernel",
        ),
    ],
)
def test_each_bound_says_what_certifies_it(kernel, domain, t, certificate):
    assert information_gain(kernel, domain, t).certificate.startswith(certificate)


def test_the_printed_gap_reaches_from_a_design_to_the_bound():
    gain = information_gain(kb.RBF(0.2), np.random.default_rng(0).random((30, 2)), 500)
    gap = float(gain.certificate.removeprefix("D-optimal relaxation, duality gap "))
    assert gain.upper - gap <= gain.lower * 1.001
    assert gap <= 1.1e-3 * gain.upper


def test_a_bound_for_a_cover_cannot_be_taken_for_one_for_the_box():
    box = kb.Box((0.0, 0.0), (1.0, 1.0))
    unknown = information_gain(lambda x, z: kb.RBF(0.3)(x, z), box, 50)
    covered = information_gain(kb.RBF(0.3), box.cover(300), 50)
    whole = information_gain(kb.RBF(0.3), box, 50)
    for gain, size in ((unknown, 500), (covered, 300)):
        assert gain.certificate.endswith(f", on a cover of {box} by {size} points only")
        assert gain.domain == f"a cover of {box} by {size} points"
        assert gain.lower <= whole.upper
    assert "whole box" in whole.certificate
    assert whole.domain == f"the whole {box}"
    assert unknown.upper < whole.lower


def best_found(kernel, box, t, ridge, seeds) -> float:
    """The greatest gain of t points of a box, climbing from random ones."""

    def loss(flat):
        points = flat.reshape(t, -1)
        return -np.linalg.slogdet(np.eye(t) + kernel(points, points) / ridge)[1] / 2

    bounds = list(zip(box.lower, box.upper, strict=True)) * t
    starts = (np.random.default_rng(seed).uniform(*np.array(bounds).T) for seed in seeds)
    return max(-minimize(loss, start, bounds=bounds, method="L-BFGS-B").fun for start in starts)


@pytest.mark.parametrize(
    "kernel", [kb.RBF(0.3), kb.Matern(0.3), kb.Linear(), kb.kernels.Polynomial(2)]
)
@pytest.mark.parametrize(
    ("box", "t"), [(kb.Box((0.0,), (1.0,)), 12), (kb.Box((-1.0, 0.0), (1.0, 0.5)), 8)]
)
def test_no_points_found_by_climbing_exceed_the_bound_of_the_box(kernel, box, t):
    gain = information_gain(kernel, box, t, 0.5)
    found = best_found(kernel, box, t, 0.5, range(3))
    assert found <= gain.upper
    assert gain.lower <= gain.upper
    assert found <= 1.02 * gain.lower + 1e-9


@pytest.mark.thorough
def test_random_points_of_a_box_never_exceed_its_bound():
    rng = np.random.default_rng(11)
    for kernel, d in (
        (kb.RBF(0.2), 1),
        (kb.RBF(0.2), 2),
        (kb.Matern(0.4, nu=1.5), 1),
        (kb.RBF(2.0), 6),
    ):
        upper = information_gain(kernel, kb.Box((0.0,) * d, (1.0,) * d), 60).upper
        plays = (rng.beta(0.4, 0.4, size=(60, d)) for _ in range(50))
        assert max(gain_of(kernel, points, range(60), 1.0) for points in plays) <= upper


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "d", "t", "ratio"),
    [
        (kb.RBF(0.2), 1, 1000, 1.005),
        (kb.RBF(0.2), 2, 1000, 1.005),
        (kb.Matern(0.2), 1, 1000, 1.005),
        (kb.Matern(0.2), 2, 100, 1.02),
        (kb.RBF(0.2), 1, 10**9, 1.005),
        (kb.RBF(0.5), 3, 100, 1.05),
        (kb.Linear(), 5, 1000, 1.002),
    ],
)
def test_the_bounds_of_a_box_are_close_in_few_dimensions(kernel, d, t, ratio):
    gain = information_gain(kernel, kb.Box((0.0,) * d, (1.0,) * d), t)
    assert gain.lower <= gain.upper <= ratio * gain.lower


def test_the_linear_kernel_on_a_box_has_its_closed_form_where_all_corners_are_equally_far():
    gain = information_gain(kb.Linear(), kb.Box((-1.0, -1.0), (1.0, 1.0)), 1000, 0.5)
    assert gain.upper == pytest.approx(math.log1p(1000 * 2 / (2 * 0.5)), rel=1e-9)
    assert gain.lower == pytest.approx(gain.upper, rel=1e-9)


def test_the_domain_of_a_box_counts_and_not_only_its_sides():
    near, far = (
        information_gain(kb.Linear(), kb.Box((a,), (a + 1.0,)), 10).upper for a in (0.0, 5.0)
    )
    assert near == pytest.approx(math.log(11) / 2)
    assert far == pytest.approx(math.log1p(360) / 2)


def test_growth_gives_every_horizon_in_the_order_asked_for():
    points, rounds = np.random.default_rng(9).random((40, 2)), (1000, 3, 0, 10**5, 3)
    gains = growth(kb.RBF(0.2), points, rounds)
    assert tuple(gain.horizon for gain in gains) == rounds
    for gain in gains:
        alone = information_gain(kb.RBF(0.2), points, gain.horizon)
        assert gain.upper == pytest.approx(alone.upper, rel=2e-3)
        assert gain.lower == pytest.approx(alone.lower, rel=1e-2)
    assert growth(kb.RBF(0.2), points, ()) == ()


@pytest.mark.thorough
def test_the_growth_of_smooth_and_rough_kernels_follows_their_rates():
    """Over a decade of T the gain of a Matern kernel grows by about 10^e, and that of the RBF kernel by much less."""
    box = kb.Box((0.0,), (1.0,))
    for kernel, rounds in (
        (kb.Matern(0.2), (10**5, 10**7)),
        (kb.Matern(0.2, nu=1.5), (10**3, 10**5)),
    ):
        first, last = growth(kernel, box, rounds)
        slope = math.log(last.lower / first.lower) / math.log(100)
        assert slope == pytest.approx(gain_exponent(kernel, 1), abs=0.1)
    first, last = growth(kb.RBF(0.2), box, (10**6, 10**8))
    assert last.upper / first.lower < (8 / 6) ** 2 * 1.05


@pytest.mark.parametrize(
    ("kernel", "dimension", "exponent", "text"),
    [
        (kb.Linear(), 3, 0.0, "O(log T)"),
        (kb.kernels.Polynomial(4), 3, 0.0, "O(log T)"),
        (kb.RBF(0.2), 2, 0.0, "O(log^3 T)"),
        (kb.kernels.RationalQuadratic(0.2), 1, 0.0, "O(log^2 T)"),
        (kb.Matern(0.2), 2, 2 / 7, "O(T^(2/7) log^(5/7) T)"),
        (kb.Matern(0.2, nu=0.5), 3, 3 / 4, "O(T^(3/4) log^(1/4) T)"),
        (3.0 * kb.Matern(0.2, nu=1.5), 1, 1 / 4, "O(T^(1/4) log^(3/4) T)"),
        (kb.RBF(0.2) + kb.Matern(0.2, nu=0.5), 1, 1 / 2, "O(T^(1/2) log^(1/2) T)"),
        (kb.Linear() + kb.RBF(0.2), 1, 0.0, "O(log^2 T)"),
        (kb.Linear() * kb.Matern(0.2), 2, 2 / 7, "O(T^(2/7) log^(5/7) T)"),
        (kb.RBF(1.0) * kb.Matern(0.2), 2, 2 / 7, "O(T^(2/7) log^(19/7) T)"),
        (kb.Matern(0.2, nu=0.5) * kb.Matern(0.2), 2, 2 / 3, "O(T^(2/3) log^(1/3) T)"),
        (kb.kernels.Normalised(kb.kernels.Polynomial(2)), 2, 0.0, "O(log T)"),
    ],
)
def test_the_known_rates(kernel, dimension, exponent, text):
    assert gain_exponent(kernel, dimension) == exponent
    assert rate_text(kernel, dimension) == text


def test_a_kernel_of_unknown_rate_is_refused():
    for kernel in (lambda x, z: x @ z.T, kb.RBF(0.2) + kb.kernels.Adapted(lambda x, z: x @ z.T)):
        with pytest.raises(
            ValueError,
            match=r"the rate of the information gain needs a kernel of known rate .*, got",
        ):
            gain_exponent(kernel, 2)
    for bad in (0, -1, 2.0, "2", None, True, math.nan):
        with pytest.raises(ValueError, match=r"needs a whole number dimension >= 1, got"):
            rate_text(kb.RBF(0.2), bad)


@pytest.mark.parametrize("bad", [-1, 2.5, "10", None, math.nan, math.inf, True])
def test_a_horizon_is_a_whole_number(bad):
    with pytest.raises(
        ValueError, match=r"information_gain needs a whole number horizon >= 0, got"
    ):
        information_gain(kb.RBF(0.2), np.eye(2), bad)
    with pytest.raises(
        ValueError, match=r"information_gain needs a whole number horizon >= 0, got"
    ):
        growth(kb.RBF(0.2), np.eye(2), (3, bad))


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "1", None])
def test_a_ridge_is_a_positive_number(bad):
    with pytest.raises(ValueError, match=r"information_gain needs ridge > 0, got"):
        information_gain(kb.RBF(0.2), np.eye(2), 5, bad)


@pytest.mark.parametrize(
    ("kernel", "domain", "message"),
    [
        (None, np.eye(2), "needs a kernel"),
        ("RBF", np.eye(2), "needs a kernel"),
        (kb.RBF(0.2), None, "needs an .* array"),
        (kb.RBF(0.2), "box", "needs an .* array"),
        (kb.RBF(0.2), np.zeros((0, 2)), "needs an .* array"),
        (kb.RBF(0.2), np.array([[math.nan, 1.0]]), "needs finite points"),
        (kb.RBF((0.1, 0.2)), np.eye(3), "needs points of 2 dimensions, got 3"),
        (kb.RBF((0.1, 0.2)), kb.Box((0.0,), (1.0,)), "needs points of 2 dimensions, got 1"),
        (kb.kernels.Polynomial(9), np.full((1, 1), 1e60), "needs finite"),
        (kb.kernels.Polynomial(9), kb.Box((0.0,), (1e60,)), "needs finite"),
        (lambda x, z: -np.ones((len(x), len(z))), np.eye(2), "needs no negative eigenvalue"),
        (lambda x, z: x @ z.T, 3, "needs an .* array"),
    ],
)
def test_what_is_no_kernel_or_no_domain_is_refused_in_a_sentence(kernel, domain, message):
    with pytest.raises(ValueError, match=message):
        information_gain(kernel, domain, 5)


def test_horizons_come_in_a_sequence():
    with pytest.raises(ValueError, match=r"information_gain needs a sequence of horizons, got 5"):
        growth(kb.RBF(0.2), np.eye(2), 5)


def test_an_enclosure_the_wrong_way_round_is_refused():
    with pytest.raises(
        ValueError, match=r"InformationGain needs 0 <= lower <= upper, got \(2.0, 1.0\)"
    ):
        kb.theory.InformationGain(2.0, 1.0, "because", 10, 1.0)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("kernel", [kb.RBF(0.2), kb.kernels.RationalQuadratic(0.2)])
def test_a_box_of_any_size_is_answered(kernel):
    gain = kb.theory.information_gain(kernel, kb.Box([-1e200], [1e200]), 100)
    assert gain.lower <= gain.upper <= 50 * math.log(2) + 1e-6


def test_an_upper_bound_below_the_lower_one_is_an_error_and_is_not_covered_up(monkeypatch):
    monkeypatch.setattr("kernelbandits.theory.information.bound_by_traces", lambda *given: 0.01)
    with pytest.raises(ValueError, match=r"information_gain needs lower <= upper \(.*\), got \("):
        kb.theory.information_gain(kb.RBF(0.2), [[0.0], [1.0]], 10)


@pytest.mark.parametrize("domain", [np.eye(2), kb.Box((0.0, 0.0), (1.0, 1.0))], ids=["arms", "box"])
@pytest.mark.parametrize(("factor", "ridge"), [(1e307, 1.0), (1.0, 1e-307), (1e300, 1.0)])
def test_sizes_beyond_all_measure_are_refused_in_one_sentence(domain, factor, ridge):
    with pytest.raises(
        ValueError, match=r"information_gain needs T sup k and T sup k / ridge <= 1e\+302, got"
    ):
        information_gain(factor * kb.RBF(0.2), domain, 1000, ridge)


@pytest.mark.parametrize("kernel", [None, "rbf", 3, kb.RBF])
def test_what_is_no_kernel_is_refused_by_the_name_of_the_function(kernel):
    with pytest.raises(
        ValueError, match=r"information_gain needs a kernel or a callable k\(x, z\), got"
    ):
        information_gain(kernel, [[1.0]], 5)
