"""How closely estimates follow the predictions of earlier studies."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import kernelbandits as kb
from kernelbandits.insight.following import rank

POINTS = np.random.default_rng(2).random((60, 2))


def policy_after(values, results=12):
    old = kb.calibration.EarlierResults(POINTS, np.sin(4 * POINTS[:, 0]) + POINTS[:, 1])
    policy = kb.Auto(kb.Arms(POINTS), earlier=[old], seed=1)
    for arm in range(results):
        policy.tell(policy.choice(arm), float(values[arm]))
    return policy


def test_a_related_study_is_followed_and_an_unrelated_one_is_not():
    related = np.exp(np.sin(4 * POINTS[:, 0]) + POINTS[:, 1])
    unrelated = np.cos(9 * POINTS[:, 1]) * np.sin(7 * POINTS[:, 0])
    [like], [unlike] = (kb.insight.follow_earlier(policy_after(v)) for v in (related, unrelated))
    assert like.correlation > 0.9
    assert abs(unlike.correlation) < 0.6
    assert like.low <= like.correlation <= like.high


def test_the_agreement_is_the_rank_correlation_of_results_and_predictions():
    values = np.random.default_rng(0).normal(size=60)
    policy = policy_after(values)
    [found] = kb.insight.follow_earlier(policy)
    expected = spearmanr(values[:12], policy.predictions[0](POINTS[:12])).statistic
    assert abs(found.agreement - expected) < 1e-12
    assert found.points == 12


def test_of_few_results_the_agreement_is_not_stated():
    [found] = kb.insight.follow_earlier(policy_after(POINTS[:, 0], results=4))
    assert found.agreement is None


def test_nothing_is_said_before_the_first_reward_or_without_an_earlier_study():
    assert kb.insight.follow_earlier(policy_after(POINTS, results=0)) == ()
    plain = kb.Auto(kb.Arms(POINTS))
    plain.tell(plain.choice(0), 1.0)
    assert kb.insight.follow_earlier(plain) == ()


def test_equal_values_share_their_mean_rank():
    assert rank(np.array([2.0, 1.0, 2.0, 5.0])).tolist() == [1.5, 0.0, 1.5, 3.0]
