"""Coverage of the confidence bands: sound bands pass, bands that are too narrow do not."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from broken_engines import patched, squared_sd, widened
from kernelbandits import widths
from kernelbandits.catalogue import POLICIES
from kernelbandits.policies.elimination import Elimination
from kernelbandits.posterior import Posterior
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction
from kernelbandits.streams import Streams
from kernelbandits.theory import bands as theory_bands
from kernelbandits.verification import Effort, coverage
from kernelbandits.verification.bands import BANDS, NO_BAND, StatedBand
from kernelbandits.verification.coverage import check_band, check_coverage
from kernelbandits.verification.scenarios import (
    ADVERSARIAL,
    CIRCLE,
    DRIFT_RATE,
    DRIFTING,
    HALF_CIRCLE,
    JUMPING,
    NORM_ONLY,
    ORTHONORMAL_ARMS,
    OWN_ARMS,
    PRIOR,
    RESTART_PERIOD,
)
from kernelbandits.widths import Width

QUICK = Effort(seed=0, scale=0.1)
MORE = Effort(seed=0, scale=0.2)
pytestmark = pytest.mark.usefixtures("quiet")


# Sound bands


@pytest.mark.thorough
def test_every_verdict_about_sound_bands_is_as_expected(monkeypatch):
    monkeypatch.setattr(coverage, "FEWEST_RUNS", 15)
    monkeypatch.setattr(coverage, "FEWEST_SLOW_RUNS", 10)
    statements = list(check_coverage(Effort(seed=3, scale=0.02)))
    assert [checked.statement for checked in statements if not checked.as_expected] == []
    assert len({checked.statement for checked in statements}) == len(statements) == len(BANDS)


def test_every_policy_of_the_catalogue_has_a_band_or_a_reason_why_not():
    checked = {band.policy for band in BANDS.values()}
    assert checked | set(NO_BAND) == set(POLICIES)
    assert not checked & set(NO_BAND)


def test_equal_seeds_give_equal_results_and_another_seed_other_runs():
    band = BANDS["Simple-UCB"]
    first, again, other = (check_band("Simple-UCB", band, Effort(s, 0.1)) for s in (0, 0, 1))
    assert first == again
    assert first.observed != other.observed


def test_a_result_says_how_many_failures_are_allowed_and_how_many_there_were():
    checked = check_band("Whitehouse", BANDS["Whitehouse"], QUICK)
    assert checked.predicted == "fails in at most 0.1 of the runs (up to 11 of 40 by chance)"
    pattern = r"0\.\d{3} \(\d+ of 40, adversarial arms\), 0\.\d{3} \(\d+ of 40, own arms\)"
    assert re.match(pattern, checked.observed)


def test_a_band_that_never_fails_is_said_to_be_wide():
    assert "it is wide" in check_band("GP-UCB rkhs", BANDS["GP-UCB rkhs"], QUICK).detail
    assert "it is wide" not in check_band("Simple-UCB", BANDS["Simple-UCB"], QUICK).detail


# The scenarios satisfy the assumptions exactly


@pytest.mark.parametrize("seed", range(4))
def test_the_true_function_has_norm_d_exactly(seed):
    streams = Streams(seed)
    for scenario in (ADVERSARIAL, NORM_ONLY):
        norm = np.linalg.norm(scenario.instance(streams).values)
        assert norm == pytest.approx(scenario.norm_bound, rel=1e-12)
    theta = np.linalg.lstsq(HALF_CIRCLE.points, CIRCLE.instance(streams).values, rcond=None)[0]
    assert np.linalg.norm(theta) == pytest.approx(CIRCLE.norm_bound, rel=1e-12)
    noise = OWN_ARMS.noise(seed)
    problem = RKHSFunction(OWN_ARMS.kernel, 1, 12, 6, OWN_ARMS.norm_bound, noise)
    assert problem.function(streams).norm == pytest.approx(OWN_ARMS.norm_bound, rel=1e-12)
    np.testing.assert_array_equal(
        OWN_ARMS.instance(streams).values, problem.instance(streams).values
    )


def test_the_noise_is_gaussian_and_of_two_values_in_turn():
    gaussian, two_values = GaussianNoise(1.0), RademacherNoise(1.0)
    assert [ADVERSARIAL.noise(seed) for seed in range(3)] == [two_values, gaussian, two_values]
    assert PRIOR.noise(0) == GaussianNoise(PRIOR.noise_scale)
    np.testing.assert_array_equal(ORTHONORMAL_ARMS.points, np.eye(10))


def test_the_moving_functions_move_as_their_models_say():
    drifting = [DRIFTING.instance(Streams(seed)) for seed in range(300)]
    values = np.array([[one.at(1), one.at(2), one.at(31)] for one in drifting])
    first, second, late = values.transpose(1, 0, 2).reshape(3, -1)
    tolerance = 4 * math.sqrt(2 / len(first))
    assert late.var() == pytest.approx(1, abs=tolerance)
    assert np.mean(first * second) == pytest.approx(math.sqrt(1 - DRIFT_RATE), abs=tolerance)
    jumping = JUMPING.instance(Streams(0))
    changes = [t for t in range(2, 61) if (jumping.at(t) != jumping.at(t - 1)).any()]
    assert changes == [RESTART_PERIOD + 1, 2 * RESTART_PERIOD + 1, 3 * RESTART_PERIOD + 1]


def test_before_the_first_reward_a_band_has_nothing_to_spare_but_the_norm():
    policy = BANDS["Whitehouse"].build(NORM_ONLY.instance(Streams(0)), NORM_ONLY)
    assert policy.index(1).max() == pytest.approx(1.0, abs=0.03)


def test_a_batch_is_checked_as_often_as_its_union_bound_counts():
    band, streams = BANDS["BPE"], Streams(0)
    policy = band.build(ADVERSARIAL.instance(streams), ADVERSARIAL)
    checked = []
    for t in range(1, 61):
        checked += [t] if band.checked_in(policy, t, ADVERSARIAL) else []
        policy.tell(policy.ask(t, streams), 0.0)
    assert checked == [8, 30, 60]


# Bands that are too narrow


def narrowed(band: StatedBand, factor: float) -> StatedBand:
    """The band with its half-width multiplied; an upper limit alone moves towards the mean."""

    def limits(policy, t, scenario):
        lower, upper = band.limits(policy, t, scenario)
        middle = (lower + upper) / 2 if np.isfinite(lower).all() else policy.posterior.mean
        return middle + factor * (lower - middle), middle + factor * (upper - middle)

    return replace(band, limits=limits)


WIDE_BANDS = {
    "Adaptive tree": 0.4,
    "Rarely switching OFUL": 0.45,
    "Streaming": 0.35,
    "SupKernelUCB": 0.4,
    "WGP-UCB": 0.25,
    "pi-GP-UCB": 0.25,
}
"""Bands of which half is still wide enough in these runs -> the share that is noticed."""
NEVER_NOTICED = {"GP-UCB rkhs", "BPE, elimination", "REDS, elimination"}
"""Of GP-UCB's rkhs schedule not even a hundredth is too narrow; the others have no width."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(set(BANDS) - NEVER_NOTICED))
def test_half_of_a_band_is_too_narrow(name):
    band = narrowed(BANDS[name], WIDE_BANDS.get(name, 0.5))
    scenario = OWN_ARMS if name == "Adaptive tree" else band.scenarios[0]
    assert not check_band(name, replace(band, scenarios=(scenario,)), MORE).holds


@pytest.mark.parametrize("name", ["Simple-UCB", "Whitehouse", "AMM-UCB", "IGP-UCB", "OFUL"])
def test_nine_tenths_of_a_band_are_too_narrow_where_there_is_nearly_no_noise(name):
    band = narrowed(BANDS[name], 0.9)
    assert not check_band(name, replace(band, scenarios=(NORM_ONLY,)), QUICK).holds


def test_a_band_that_is_wrong_for_one_arm_is_noticed():
    def limits(policy, t, scenario):
        lower, upper = BANDS["Whitehouse"].limits(policy, t, scenario)
        upper[0] = policy.posterior.mean[0]
        return lower, upper

    band = replace(BANDS["Whitehouse"], limits=limits, scenarios=(ADVERSARIAL,))
    assert not check_band("Whitehouse", band, QUICK).holds


def test_noise_bounds_that_exclude_the_noise_are_noticed(monkeypatch):
    band = BANDS["Streaming"]
    policy = band.build(CIRCLE.instance(Streams(0)), CIRCLE)
    monkeypatch.setattr(type(policy), "_lower", lambda self, spread: 0.99)
    assert not check_band("Streaming", replace(band, scenarios=band.scenarios[1:]), QUICK).holds


@pytest.mark.parametrize("name", ["BPE, elimination", "REDS, elimination"])
def test_an_elimination_of_the_best_arm_is_noticed(name, monkeypatch):
    monkeypatch.setattr(
        Elimination,
        "_eliminate",
        lambda self, posterior: self.survivors[[posterior.mean[self.survivors].argmax()]],
    )
    assert not check_band(name, BANDS[name], QUICK).holds


@pytest.mark.parametrize(
    "change",
    [
        lambda band: {"regrets": band.regrets / 20},
        lambda band: {"candidates": band.candidates[1:2]},
    ],
    ids=["regrets", "candidates"],
)
def test_a_wrong_conclusion_from_a_sound_band_is_noticed(change, monkeypatch):
    sound = theory_bands.confidence_band

    def broken(*given):
        band = sound(*given)
        return replace(band, **change(band))

    monkeypatch.setattr("kernelbandits.verification.bands.confidence_band", broken)
    assert not check_band("amm", BANDS["confidence_band, amm"], QUICK).holds


# Broken widths


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Simple-UCB", "Whitehouse"])
@pytest.mark.parametrize(
    "break_width",
    [
        widened(0, 1, 1),
        widened(0.5, 0.25, 0.25),
        patched(Posterior, "sd", lambda sound: squared_sd),
    ],
    ids=["D forgotten", "width halved", "sd squared"],
)
def test_f_leaves_the_band_of_a_policy_with(break_width, name, monkeypatch):
    break_width(monkeypatch)
    assert not check_band(name, BANDS[name], QUICK).holds


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "broken", "names"),
    [
        (
            "chowdhury_gopalan",
            lambda r, d, delta, gain, chance=1: Width("", lambda t: (0.0, 0.0, r**2)),
            ("IGP-UCB", "GP-TS"),
        ),
        ("mixture", lambda r, d, ridge, delta: Width("", lambda t: (0.0, 0.0, r**2)), ("AMM-UCB",)),
        (
            "srinivas_finite",
            lambda n, delta, scale: Width("", lambda t: (2.0, 0.0, 0.0)),
            ("GP-UCB finite", "TV-GP-UCB"),
        ),
        (
            "fixed_design",
            lambda r, d, ridge, delta, m: Width("", lambda t: (d + r * 5, 0.0, 0.0)),
            ("BPE", "REDS", "MVR"),
        ),
        (
            "truncated_rewards",
            lambda level, d, delta, gain: Width("", lambda t: (d + 2.0, 0.0, 0.0)),
            ("TGP-UCB",),
        ),
    ],
)
def test_a_width_without_its_delta_is_noticed(rule, broken, names, monkeypatch):
    monkeypatch.setattr(widths, rule, broken)
    for name in names:
        assert not check_band(name, BANDS[name], MORE).holds
