"""Regret and its lower bound: all verdicts are as expected, and a broken engine changes them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import definitions
import kernelbandits as kb
from broken_engines import changed_weights, squared_everywhere, widened
from kernelbandits.verification import Effort, lower_bound, regret
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.regret import BANDITS, NORM_BOUND, TRAPS, LongRun
from reference_bandits import ENGINES

QUICK = Effort(seed=0, scale=0.05)
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.thorough
@pytest.mark.parametrize("check", [regret.check_regret, lower_bound.check_lower_bound])
def test_every_verdict_is_as_expected(check):
    statements = list(check(Effort(seed=2, scale=0.05)))
    assert [checked.statement for checked in statements if not checked.as_expected] == []
    assert len({checked.statement for checked in statements}) == len(statements)


def test_greedy_exceeds_the_bound_as_expected():
    checked = regret.check_greedy()
    assert not checked.holds
    assert checked.as_expected


def test_no_bound_is_trivial_where_it_is_checked():
    for name in SCHEDULES:
        for bandit in BANDITS:
            trivial = 2 * NORM_BOUND * bandit.horizon
            assert regret.tight_bound(name, bandit) < trivial, (name, bandit.name)


def test_the_mean_regret_is_compared_with_its_three_standard_errors():
    bandit = TRAPS[0]
    bound = regret.tight_bound("w = 1", bandit)
    for spread, holds in ((0.1, True), (3.0, False)):
        runs = [LongRun(bound - 1 + step, 1.0) for step in (-spread, 0.0, spread)]
        assert regret.check_expected_regret("w = 1", {bandit: runs}).holds == holds


def test_a_log_determinant_above_the_information_gain_is_noticed():
    for factor, holds in ((2.0, True), (2.001, False)):
        run = LongRun(1.0, factor * TRAPS[0].gain)
        assert regret.check_realised_gain([(TRAPS[0], [run])]).holds == holds


@pytest.mark.parametrize("bandit", BANDITS, ids=lambda bandit: bandit.name)
def test_the_functions_have_norm_d_and_the_kernel_is_at_most_one(bandit):
    assert bandit.gram.diagonal().max() <= 1 + 1e-12
    spectrum, axes = np.linalg.eigh(bandit.gram)
    kept = spectrum > 1e-9
    square = ((axes.T @ bandit.values(5))[kept] ** 2 / spectrum[kept]).sum()
    assert square <= NORM_BOUND**2 + 1e-6


def test_the_estimates_of_all_rounds_are_those_of_the_rounds_one_by_one():
    rng, gram = np.random.default_rng(0), BANDITS[0].gram
    arms, rewards = rng.integers(len(gram), size=25), rng.normal(size=25)
    mean, sd, log_dets = regret.estimate_all_rounds(gram, arms, rewards)
    for t in (0, 1, 7, 24):
        known = definitions.posterior(gram, arms[:t].tolist(), rewards[:t], 1.0)
        np.testing.assert_allclose(mean[t], known.mean, atol=1e-10)
        np.testing.assert_allclose(sd[t], known.sd, atol=1e-8)
        assert log_dets[t] == pytest.approx(known.log_det, abs=1e-10)
    assert len(log_dets) == 26


# The lower bound


def test_the_lower_bound_is_the_golden_one():
    assert lower_bound.gap(3, 2000) == pytest.approx(0.0859066638, abs=5e-11)
    assert lower_bound.proved_regret(3, 2000) == pytest.approx(25.77, abs=5e-3)
    assert lower_bound.proved_regret(3, 2000, 0.158655) == pytest.approx(4.09, abs=5e-3)


def test_late_rounds_that_explore_are_counted_after_floor_of_alpha_t():
    weights = np.zeros(181)
    weights[[0, 152, 153, 154, 180]] = [2.0, 1.0, 1.0, 0.999, 1.5]
    assert lower_bound.count_late_exploration(weights.tolist()) == 2


def test_the_regret_of_the_instance_grows_like_the_root_of_the_horizon():
    ratios = [lower_bound.regret_of_run("w = 1", 3, t) / math.sqrt(t) for t in (500, 2000, 8000)]
    assert ratios == sorted(ratios)
    assert ratios[1] * math.sqrt(2000) == pytest.approx(80.58045, abs=5e-6)


def test_a_wrong_gap_is_noticed(monkeypatch):
    monkeypatch.setattr(kb.problems.LowerBound, "gap", property(lambda self: 0.05))
    assert not lower_bound.check_formulas().holds


# Broken engines

no_exploration = changed_weights(lambda w: 0.0 * w)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("break_engine", "sum_holds"),
    [(widened(0, 1, 1), True), (widened(0.5, 0.25, 0.25), True), (no_exploration, False)],
    ids=["D forgotten", "width halved", "no exploration"],
)
def test_a_round_loses_more_than_twice_its_bonus_with(break_engine, sum_holds, engine, monkeypatch):
    break_engine(monkeypatch)
    monkeypatch.setattr(regret, "BANDITS", TRAPS)
    rounds, total = regret.check_each_run(QUICK, engine)
    assert not rounds.holds
    assert total.holds == sum_holds


@pytest.mark.parametrize("name", SCHEDULES)
def test_without_exploration_the_regret_of_every_law_exceeds_its_bound(name, monkeypatch):
    no_exploration(monkeypatch)
    runs = [regret.play_long(name, TRAPS[0], seed) for seed in range(2)]
    assert not regret.check_expected_regret(name, {TRAPS[0]: runs}).holds


@pytest.mark.parametrize("name", ["w = 1", "Ber(1/2)", "Ber(1/2), then Ber(1/4)", "i/4, i = 1..4"])
def test_without_the_norm_bound_a_law_stays_in_the_shallow_trap(name, monkeypatch):
    widened(0, 1, 1)(monkeypatch)
    runs = [regret.play_long(name, TRAPS[1], seed) for seed in range(2)]
    assert not regret.check_expected_regret(name, {TRAPS[1]: runs}).holds


@pytest.mark.thorough
def test_the_lower_bound_fails_for_the_variance_in_place_of_the_sd(monkeypatch):
    squared_everywhere(monkeypatch)
    assert not lower_bound.check_certain_weight().holds
    assert not lower_bound.check_growth().holds


def test_the_lower_bound_fails_without_exploration(monkeypatch):
    no_exploration(monkeypatch)
    assert not lower_bound.check_certain_weight().holds
    assert not lower_bound.check_random_weight("Ber(1/2)", QUICK).holds
    checked = lower_bound.check_every_run(QUICK)
    assert not checked.holds
    assert checked.observed == "0 of 8 runs"
