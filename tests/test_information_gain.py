from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.theory.gains import GAINS, GreedyGain, analytic_gain, gain_term


def gain_of(kernel, points, pulls, ridge) -> float:
    """(1/2) log det(I + K / ridge) of the points played."""
    rows = points[list(pulls)]
    return np.linalg.slogdet(np.eye(len(rows)) + kernel(rows, rows) / ridge)[1] / 2


def maximal_gain(kernel, points, t, ridge) -> float:
    """gamma_t by trying every multiset of t points."""
    designs = itertools.combinations_with_replacement(range(len(points)), t)
    return max(gain_of(kernel, points, design, ridge) for design in designs)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([kb.RBF(0.5), kb.Linear(), kb.Matern(0.3)]), st.floats(0.1, 3.0))
def test_realised_is_at_most_maximal_is_at_most_the_greedy_bound(seed, kernel, ridge):
    rng = np.random.default_rng(seed)
    points = rng.random((6, 2))
    greedy, exact = GreedyGain(kernel, kb.Arms(points), ridge), maximal_gain(kernel, points, 4, ridge)
    realised = gain_of(kernel, points, rng.integers(6, size=4), ridge)
    assert realised <= exact + 1e-12
    assert greedy.value(4) <= exact + 1e-12
    assert exact <= greedy.bound(4) + 1e-12
    assert greedy.bound(4) == pytest.approx(greedy.value(4) / (1 - 1 / math.e))


def test_on_basis_arms_the_greedy_value_is_exact_with_pulls_spread_evenly():
    for ridge, t in ((1.02, 3), (0.25, 4), (1.0, 11)):
        counts = [t // 3 + (i < t % 3) for i in range(3)]
        expected = sum(math.log1p(n / ridge) for n in counts) / 2
        assert GreedyGain(kb.Linear(), kb.Arms(np.eye(3)), ridge).value(t) == pytest.approx(expected, rel=1e-13)


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
        kb.UniformRandom(points, kb.RBF(0.3)),
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


@pytest.mark.parametrize("kernel", [kb.RBF(0.3), kb.Matern(0.3), kb.Polynomial(1, offset=0.0), 1.0 * kb.Linear()])
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
    gain = kb.theory.information_gain(kb.Linear(), np.eye(3), 3, ridge=1.02)
    assert gain.lower == pytest.approx(1.0249423, abs=1e-7)
    assert gain.upper == pytest.approx(gain.lower / (1 - math.exp(-1)))
