"""What an objective with a trial may report, and when it is to stop."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.checks import NoNumber
from kernelbandits.measuring import Attempt, Watched, takes_trial


def attempt(objective: Callable, bars=None, sign=1.0, catch=()):
    return Attempt(objective, catch, sign, watched=True)(Watched(0.5, bars or {}))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_it_stops_where_all_values_so_far_are_below_the_bar(sign):
    trial = kb.RunningTrial({1: 2.0, 2: 3.0}, sign)
    stops = []
    for step, reward in [(1, 2.5), (2, 2.0), (3, -9.0)]:
        trial.report(sign * reward, step)
        stops.append(trial.should_stop())
    # At step 2 the best so far, 2.5, is below 3; nothing is known of step 3.
    assert stops == [False, True, False]


def test_before_a_report_and_without_others_nothing_stops():
    trial = kb.RunningTrial()
    assert not trial.should_stop()
    trial.report(-1e9, 1)
    assert not trial.should_stop()


def test_who_goes_on_after_the_advice_to_stop_has_not_stopped():
    def stubborn(x, trial):
        trial.report(0.0, 1)
        assert trial.should_stop()
        trial.report(0.5, 2)
        return 0.7

    found = attempt(stubborn, {1: 1.0})
    assert (found.measured, found.stopped, found.reports) == (0.7, False, ((1, 0.0), (2, 0.5)))


@pytest.mark.parametrize("returned", [None, 0.3, "nothing", math.nan])
def test_what_a_stopped_measurement_returns_does_not_matter(returned):
    def obedient(x, trial):
        trial.report(0.0, 1)
        return returned if trial.should_stop() else 1.0

    found = attempt(obedient, {1: 1.0})
    assert (found.measured, found.failure, found.stopped) == (None, "", True)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200])
def test_a_value_that_is_not_finite_is_a_reason_to_stop_and_then_a_failure(value):
    def diverging(x, trial):
        trial.report(0.5, 1)
        trial.report(value, 2)
        return 0.5 if trial.should_stop() else 1.0

    found = attempt(diverging)
    assert found.failure == f"stopped at step 2, where it reported {value}"
    assert not found.stopped


def test_a_value_that_is_not_finite_on_the_way_is_left_out():
    def recovering(x, trial):
        trial.report(math.nan, 1)
        trial.report(np.float32(0.5), 2)
        return 0.5

    assert attempt(recovering).reports == ((2, 0.5),)


@pytest.mark.parametrize("bad", [None, "0.5", [0.5, 0.6]])
def test_a_report_that_is_no_number_is_refused(bad):
    with pytest.raises(NoNumber, match=r"report needs a number, or .* got "):
        kb.RunningTrial().report(bad, 1)


@pytest.mark.parametrize("step", [2, 1, math.nan, "3", None])
def test_steps_are_numbers_that_increase(step):
    trial = kb.RunningTrial()
    trial.report(0.5, 2)
    with pytest.raises(ValueError, match=r"report needs a .*step"):
        trial.report(0.5, step)


def test_a_caught_exception_after_the_advice_to_stop_is_a_failure():
    def broken(x, trial):
        trial.report(0.0, 1)
        trial.should_stop()
        raise RuntimeError("no power")

    found = attempt(broken, {1: 1.0}, catch=(RuntimeError,))
    assert (found.failure, found.stopped) == ("RuntimeError: no power", False)


class Model:
    def loss(self, x, trial):
        return 0.0

    def __call__(self, x):
        return 0.0


def test_only_a_second_argument_without_a_default_is_the_trial():
    assert takes_trial(Model().loss)
    assert takes_trial(functools.partial(lambda scale, x, trial: 0, 2.0))
    for plain in (Model(), print, math.hypot, lambda x, *rest: 0, lambda x, *, power=2: 0):
        assert not takes_trial(plain)
    assert not takes_trial(functools.partial(lambda x, trial: 0, trial=None))
