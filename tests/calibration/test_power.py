"""The power transformation of skewed rewards, and the shape that the model chooses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.calibration import Standard
from kernelbandits.calibration.power import invert_power, log_slope, transform_power
from kernelbandits.calibration.shape import SHAPES

NUMBERS = st.floats(-1e4, 1e4)
SHAPE = st.floats(0.0, 2.0)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(u=NUMBERS, shape=SHAPE)
def test_the_inverse_undoes_the_transformation(u, shape):
    assert invert_power(transform_power(u, shape), shape) == pytest.approx(u, rel=1e-8, abs=1e-10)


@settings(max_examples=100, deadline=None)
@given(u=NUMBERS, step=st.floats(1e-3, 10.0), shape=SHAPE)
def test_the_transformation_is_increasing(u, step, shape):
    assert transform_power(u + step, shape) > transform_power(u, shape)


@pytest.mark.parametrize("shape", [0.0, 0.3, 1.0, 1.7, 2.0])
@pytest.mark.parametrize("u", [-3.0, -0.2, 0.2, 5.0])
def test_the_slope_is_that_of_the_transformation(u, shape):
    step = 1e-5
    rise = transform_power(u + step, shape) - transform_power(u - step, shape)
    assert math.exp(log_slope(u, shape)) == pytest.approx(float(rise) / (2 * step), rel=1e-7)


def test_the_formula_of_yeo_and_johnson():
    assert transform_power(3.0, 0.5) == pytest.approx((4**0.5 - 1) / 0.5)
    assert transform_power(3.0, 0.0) == pytest.approx(math.log(4))
    assert transform_power(-3.0, 0.5) == pytest.approx(-(4**1.5 - 1) / 1.5)
    assert transform_power(-3.0, 2.0) == pytest.approx(-math.log(4))
    np.testing.assert_allclose(transform_power([-2.0, 0.0, 2.0], 1.0), [-2.0, 0.0, 2.0])


def test_a_shape_of_one_leaves_the_standardisation_linear():
    plain, shaped = Standard(3.0, 2.0), Standard(3.0, 2.0, shape=1.0)
    assert plain == shaped
    assert shaped.original_sd(0.7, 0.1) == pytest.approx(0.2)


def test_a_standard_deviation_is_half_the_distance_of_the_two_ends():
    standard = Standard(3.0, 2.0, shape=0.4, middle=0.1, stretch=0.8)
    ends = standard.original(1.5), standard.original(0.5)
    assert standard.original_sd(1.0, 0.5) == pytest.approx((ends[0] - ends[1]) / 2)


@pytest.mark.parametrize("shape", [-0.1, 2.1, math.nan])
def test_a_shape_outside_its_range_is_refused(shape):
    with pytest.raises(ValueError, match=r"a shape in \[0, 2\]"):
        Standard(0.0, 1.0, shape=shape)


GRID = kb.Arms([[x, y] for x in np.linspace(0, 1, 9) for y in np.linspace(0, 1, 9)])


def learn(values, arms, **settings):
    policy = kb.Auto(GRID, goal="find", **settings)
    policy.tell_all([(policy.choice(int(arm)), float(values[arm])) for arm in arms])
    return policy


def smooth(points):
    return np.sin(3 * points[:, 0]) + points[:, 1] ** 2


ARMS = np.random.default_rng(3).permutation(81)[:24]


def test_rewards_that_are_exponentials_of_a_smooth_function_are_drawn_together():
    skewed = learn(np.exp(3 * smooth(GRID.points)), ARMS).units
    assert skewed.shape < 1.0
    crowded = learn(-np.exp(3 * smooth(GRID.points)), ARMS).units
    assert crowded.shape > 1.0
    assert {skewed.shape, crowded.shape} <= set(SHAPES)


def test_repeats_of_the_best_arm_do_not_undo_the_transformation():
    """They say how noisy rewards are, not how these differ from arm to arm."""
    values, noise = np.exp(3 * smooth(GRID.points)), np.random.default_rng(6).normal(0, 0.5, 224)
    best = ARMS[values[ARMS].argmax()]
    policy = kb.Auto(GRID, goal="earn")
    played = [*ARMS, *[best] * 200]
    policy.tell_all(
        [
            (policy.choice(int(arm)), float(values[arm] + error))
            for arm, error in zip(played, noise, strict=True)
        ]
    )
    assert policy.units.shape == learn(values, ARMS).units.shape < 1.0


def test_a_smooth_function_is_left_as_it_is():
    assert learn(smooth(GRID.points), ARMS).units.is_linear


def test_with_fewer_than_six_points_nothing_is_transformed():
    assert learn(np.exp(5 * smooth(GRID.points)), ARMS[:5]).units.is_linear


def test_an_index_with_a_width_transforms_nothing():
    policy = kb.Auto(GRID, width="practical")
    values = np.exp(5 * smooth(GRID.points))
    policy.tell_all([(policy.choice(int(arm)), float(values[arm])) for arm in ARMS])
    assert policy.units.is_linear


def test_choices_do_not_depend_on_the_units_of_the_rewards():
    values = np.exp(3 * smooth(GRID.points))
    plain, scaled = (
        learn(values * factor + shift, ARMS) for factor, shift in ((1, 0), (1e6, -4e5))
    )
    assert plain.units.shape == scaled.units.shape
    assert plain.ask().arm == scaled.ask().arm
    mean, sd = plain.estimates()
    np.testing.assert_allclose(scaled.estimates()[0], mean * 1e6 - 4e5, rtol=1e-6)
    np.testing.assert_allclose(scaled.estimates()[1], sd * 1e6, rtol=1e-5)


def test_estimates_at_measured_arms_without_noise_are_the_results():
    values = np.exp(3 * smooth(GRID.points))
    mean, sd = learn(values, ARMS, noise=0.0).estimates()
    np.testing.assert_allclose(mean[ARMS], values[ARMS], rtol=1e-3)
    assert (sd[ARMS] < 0.01 * np.ptp(values)).all()


def test_repeats_learnt_one_by_one_or_built_again_give_the_same_estimates():
    """The sum of transformed results is kept, not the transformation of their mean."""
    values = np.exp(3 * smooth(GRID.points))
    noise = np.random.default_rng(0).normal(0, 0.3, 4)
    policy = learn(values, ARMS)
    assert not policy.units.is_linear
    for away in noise:
        policy.tell(policy.choice(int(ARMS[0])), float(values[ARMS[0]] + away))
    before = policy.estimates()
    policy.learner._set_checkpoint(policy.learner._knowledge)
    np.testing.assert_allclose(policy.estimates(), before, rtol=1e-7)


def test_the_noise_of_repeats_is_found_in_the_units_of_the_results():
    """The fitted noise is that in the middle of the results: within a factor of two of the truth."""
    values = np.exp(2 * smooth(GRID.points))
    rng, policy = np.random.default_rng(5), kb.Auto(GRID, goal="find")
    pairs = [(int(arm), float(values[arm] + rng.normal(0, 0.4))) for arm in np.tile(ARMS, 4)]
    policy.tell_all([(policy.choice(arm), value) for arm, value in pairs])
    assert 0.2 < policy.calibration.noise_scale < 0.8


def test_an_interrupted_fit_leaves_the_results_as_they_were(monkeypatch):
    values = np.exp(3 * smooth(GRID.points))
    policy = learn(values, ARMS)
    kept = policy.rewards.transformed_totals(lambda x: x)[0].copy()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(policy.learner, "_is_surprising", interrupt)
    with pytest.raises(KeyboardInterrupt):
        policy.tell(policy.choice(5), 100.0)
    monkeypatch.undo()
    np.testing.assert_array_equal(policy.rewards.transformed_totals(lambda x: x)[0], kept)


def test_intervals_of_held_out_results_are_wider_where_results_are_large():
    """The ends belong to the ends in the transformed space: none is below what a result can be."""
    policy = learn(np.exp(3 * smooth(GRID.points)), ARMS)
    left_out = kb.insight.leave_one_out(policy)
    low, high = left_out.interval
    assert not policy.units.is_linear
    assert (low < left_out.predicted).all()
    assert (high - left_out.predicted > left_out.predicted - low).all()
    assert left_out.coverage > 0.7


def test_if_the_fit_of_transformed_results_fails_they_are_not_transformed(monkeypatch):
    from kernelbandits.calibration.fit import ScaleFit

    fit = ScaleFit.calibrate_members

    def fail_near(self, number, start, limit):
        mode, members = fit(self, number, start, limit)
        return (mode, members) if start is None else (replace(mode, ok=False), members)

    monkeypatch.setattr(ScaleFit, "calibrate_members", fail_near)
    policy = learn(np.exp(3 * smooth(GRID.points)), ARMS)
    assert policy.units.is_linear
    assert policy.calibration.ok
