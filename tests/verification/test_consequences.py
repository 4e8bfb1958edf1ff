"""The consequences of step 4: every verdict is as expected, and what is broken is noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.verification import Effort, consequences
from kernelbandits.verification.run import check_topic

QUICK = Effort(seed=1, scale=0.05)
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.thorough
def test_every_verdict_of_the_topic_is_as_expected():
    statements = check_topic(QUICK, "consequences")
    assert [checked.statement for checked in statements if not checked.as_expected] == []
    assert len({checked.statement for checked in statements}) == len(statements)
    assert all(checked.detail for checked in statements)
    assert all(len(c.statement) <= 160 and len(c.observed) <= 110 for c in statements)
    assert sum(not checked.should_hold for checked in statements) == 7


def test_few_rounds_are_missed_on_orthonormal_arms_and_many_with_half_of_the_width():
    right, broken = consequences.check_missed_rounds(QUICK)
    assert right.holds
    assert not broken.holds


def test_the_supermartingale_is_one_only_with_its_root():
    right, broken = consequences.check_supermartingale(QUICK)
    assert right.holds
    assert not broken.holds


def test_the_step_with_the_gap_is_an_equality_for_ucb():
    """Two arms, f at the ends of the band: UCB loses 2 g, and Delta is 2 g."""
    assert consequences.largest_gap_ratio(kb.PointMass(1.0)) == pytest.approx(1.0, abs=1e-12)
    ratios = [consequences.largest_gap_ratio(law) for law in consequences.GAP_LAWS]
    assert max(ratios) <= 1 + 1e-9


def test_the_played_radius_fails_on_the_design_of_lai_and_wei_like_1_by_ln_t():
    """0.018 at t = 100 and 0.013 at t = 1000; four standard errors of 10 000 runs."""
    runs = 10_000
    failed = consequences.count_adaptive_failures((100, 1000), runs, seed=5)
    for count, share in zip(failed, (0.0180, 0.0128), strict=True):
        assert abs(count / runs - share) < 4 * math.sqrt(share / runs)
    assert failed[1] / runs > 1e-3 * 8


def test_the_adaptive_design_fails_as_often_by_matrices_of_all_points():
    """The same design, each run by itself, with the norm from a solved linear system."""
    times, runs, slope = (10, 25), 400, 0.5
    counts = dict.fromkeys(times, 0)
    noise = kb.Streams(2).generator(43).standard_normal((max(times), runs))
    for run in range(runs):
        points = np.empty((0, 2))
        for t in range(1, max(times) + 1):
            z = points[:, 1].mean() + slope * noise[: t - 1, run].mean() if t > 1 else 0.0
            points = np.vstack([points, [1.0, z]])
            if t in times:
                design = points.T @ points + np.eye(2)
                sums = points.T @ noise[:t, run]
                radius = 2 * math.log(2) + np.linalg.slogdet(design)[1]
                counts[t] += sums @ np.linalg.solve(design, sums) > radius
    assert min(counts.values()) > 0
    assert consequences.count_adaptive_failures(times, runs, seed=2) == list(counts.values())


def test_an_error_in_every_reward_shifts_the_mean_as_much_as_the_widening_allows():
    right, broken = consequences.check_errors_of_the_model(QUICK)
    assert right.holds
    assert not broken.holds
    assert float(right.observed.split()[-1]) > 0.98


@pytest.mark.thorough
def test_a_bound_that_is_too_small_is_noticed(monkeypatch):
    """A ten-thousandth of the bound is exceeded, and the statements say so."""
    real = consequences.played_bound

    def shrunk(*args, **told):
        class Bound:
            found = real(*args, **told)
            value, vacuous = found.value * 1e-4, False

        return Bound()

    monkeypatch.setattr(consequences, "played_bound", shrunk)
    assert not consequences.check_gap_regret(QUICK).holds
    assert not consequences.check_misspecified_regret(QUICK).holds
    assert not consequences.check_orthonormal_regret(QUICK).holds
