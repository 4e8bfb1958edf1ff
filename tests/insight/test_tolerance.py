"""Whether a run may end: the same corrections as in a study, and the reasons that forbid it."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.insight.tolerance import is_within

LINE = np.linspace(0, 1, 21)[:, None]


def told(values, points=LINE, **settings):
    policy = kb.Auto(points, goal="find", seed=1, **settings)
    policy.tell_all([(policy.choice(int(arm)), float(y)) for arm, y in values])
    return policy


def test_it_is_true_near_the_top_of_a_hill_that_the_model_predicts():
    policy = told([(arm, -((arm / 20 - 0.4) ** 2)) for arm in range(0, 21, 2)], noise=0.0)
    assert is_within(policy, 0.05)
    assert not is_within(policy, 1e-12)


def test_a_single_reward_that_leads_all_others_ends_nothing():
    values = [(arm, 0.01 * np.cos(arm)) for arm in range(0, 21, 2)]
    lonely = told([*values, (5, 3.0)])
    assert lonely.recommend() == 5
    assert not is_within(lonely, 10.0)


def test_rewards_that_nothing_predicts_end_a_run_only_when_all_arms_were_measured():
    rng = np.random.default_rng(3)
    y = rng.uniform(size=21)
    some = told([(arm, y[arm]) for arm in range(15)], noise=0.0)
    assert not kb.insight.leave_one_out(some).predicts
    assert not is_within(some, 10.0)
    assert is_within(told([(arm, y[arm]) for arm in range(21)], noise=0.0), 0.01)


def test_four_points_are_too_few():
    assert not is_within(told([(arm, arm / 20) for arm in range(4)], noise=0.0), 10.0)


@pytest.mark.thorough
def test_runs_on_shuffled_values_are_seldom_ended_while_a_better_arm_is_left():
    points, ended, wrong = np.random.default_rng(0).random((60, 2)), 0, 0
    for seed in range(12):
        f = np.random.default_rng(seed).permutation(np.linspace(0, 1, 60))
        rows = {row.tobytes(): number for number, row in enumerate(points)}
        found = kb.optimize(
            lambda x, f=f, rows=rows: f[rows[np.asarray(x).tobytes()]],
            kb.Arms(points),
            40,
            tolerance=0.05,
            seed=seed,
        )
        ended += found.ended == "tolerance"
        wrong += found.ended == "tolerance" and 1 - found.y > 0.05
    assert wrong <= 1, f"of {ended} that ended"
