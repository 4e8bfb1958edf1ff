"""Runs that were stopped: their final values, predicted from those that were completed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelbandits.calibration import Measurement
from kernelbandits.calibration.unfinished import Curve, RunResults, predict_final


def decay(final, steps, noise=None):
    """A curve that falls by 1 / step towards its end at step 9."""
    shift = 0.0 if noise is None else noise.normal()
    return {step: final + (1 + 0.1 * shift) * (1 / step - 1 / 9) for step in range(1, steps + 1)}


def test_gains_that_are_alike_give_the_final_value_exactly():
    completed = [Curve(decay(final, 9), final) for final in (0.2, 0.4, 0.9)]
    found = predict_final(Curve(decay(1.5, 3)), completed)
    assert math.isclose(found, 1.5, rel_tol=1e-12)
    assert found.sem < 1e-2


def test_runs_that_were_at_the_same_value_say_more():
    """Good runs stay where they are, bad ones still gain one."""
    completed = [Curve({1: v}, v - (v > 2)) for v in (0.0, 0.1, 0.2, 3.0, 3.1, 3.2)]
    good, bad = (predict_final(Curve({1: v}), completed) for v in (0.1, 3.1))
    assert good == pytest.approx(0.1, abs=0.2)
    assert bad == pytest.approx(2.1, abs=0.2)


def test_runs_that_diverged_do_not_carry_the_others_away():
    usual = [Curve({1: v}, v - 0.1) for v in (0.5, 0.6, 0.7, 0.9)]
    outlier = Curve({1: 1e6}, 0.5)
    without, beside = (predict_final(Curve({1: 0.8}), runs) for runs in (usual, [*usual, outlier]))
    assert beside == pytest.approx(without, abs=0.05)
    # What completed runs gave lies between 0.4 and 0.9.
    assert predict_final(Curve({1: 1e6}), usual) == pytest.approx(1.4)


def test_a_prediction_is_the_weighted_mean_of_gains_by_definition():
    there = np.array([0.0, 0.2, 0.4, 0.5, 0.7, 0.9])
    finals, value = there - [0.1, 0.2, 0.15, 0.3, 0.25, 0.2], 0.3
    runs = [Curve({1: v}, y) for v, y in zip(there.tolist(), finals.tolist(), strict=True)]
    found = predict_final(Curve({1: value}), runs)
    h = there.std()
    w = [math.exp(-((value - v) ** 2) / (2 * h**2)) + 0.05 for v in there]
    gains = finals - there
    mean = sum(a * b for a, b in zip(w, gains, strict=True)) / sum(w)
    n = sum(w) ** 2 / sum(a**2 for a in w)
    spread = sum(a * (b - mean) ** 2 for a, b in zip(w, gains, strict=True)) / sum(w)
    assert found == pytest.approx(value + mean)
    assert found.sem == pytest.approx(math.sqrt(spread / (1 - 1 / n) * (1 + 1 / n)))


def test_the_standard_error_is_that_of_predictions():
    """Of 2000 predictions from 8 runs, 95 % lie within the quantile of Student's t."""
    rng = np.random.default_rng(3)
    scores = []
    for _ in range(2000):
        completed = [Curve(decay(y, 9, rng), y) for y in rng.normal(size=8)]
        final = rng.normal()
        found = predict_final(Curve(decay(final, 2, rng)), completed)
        scores.append((found - final) / found.sem)
    inside = np.mean(np.abs(scores) < 2.365)
    assert abs(inside - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_only_what_was_reported_before_the_end_of_a_run_counts():
    results = RunResults()
    assert results.add(0, Curve({1: 1.4})) == []
    assert results.add(1, Curve({})) == []
    assert results.add(2, Curve({1: 1.0}, 0.5)) == [(2, 0.5)]
    later = results.add(3, Curve({1: 0.9}, 0.6))
    assert [key for key, _ in later] == [3, 0]
    assert later[1][1] == pytest.approx(1.4 - 0.4)
    before = predict_final(Curve({1: 1.3}), results.completed)
    [(_, found)] = results.add(4, Curve({1: 1.3}))
    results.add(5, Curve({1: 0.9}, -5.0))
    assert found == before
    assert type(found) is float
    assert [key for key, _ in results.waiting] == [1]


def test_steps_that_a_run_did_not_report_lie_between_those_it_did():
    curve = Curve({2: 1.0, 6: 0.0, 4: math.nan})
    assert [curve.at(step) for step in (1, 2, 3, 4, 6, 10)] == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]
    assert Curve({}).at(1) is None
    assert Curve({1: math.nan}).at(1) is None


def test_what_says_nothing_of_the_end_gives_no_prediction():
    silent = [Curve({}, 0.5), Curve({1: math.nan}, 0.4), Curve({1: 0.7}, 0.3)]
    assert predict_final(Curve({1: 1.0}), silent) is None
    full = [Curve({1: 0.7}, 0.3), Curve({1: 0.9}, 0.4)]
    assert predict_final(Curve({1: 0.7, 2: math.nan}), full) is None
    assert predict_final(Curve({}), full) is None


def test_equal_values_have_a_standard_error_above_zero():
    found = predict_final(Curve({1: 1.0}), [Curve({1: 1.0}, 1.0)] * 3)
    assert isinstance(found, Measurement)
    assert (float(found), found.sem) == (1.0, 1e-12)


def test_a_curve_has_numbers():
    with pytest.raises(ValueError, match="a curve needs numbers as reports, got 'low'"):
        Curve({1: "low"})
    with pytest.raises(ValueError, match="finite reward"):
        Curve({1: 0.5}, math.nan)
