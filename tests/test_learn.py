"""posterior.learn, all at once, and posterior.covariance, of any points: as reward by reward, and by np.linalg."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.posterior import PoolPosterior

POINTS = np.random.default_rng(5).random((9, 2))
KERNEL = kb.Matern((0.4, 0.7))
KINDS = {"arms": kb.ArmPosterior, "pool": PoolPosterior, "points": kb.PointPosterior}
every_kind = pytest.mark.parametrize("kind", KINDS)


def fresh(kind, ridge=0.1):
    return KINDS[kind](KERNEL, 2 if kind == "points" else POINTS, ridge)


def one_by_one(kind, arms, rewards, ridge=0.1):
    posterior = fresh(kind, ridge)
    for arm, reward in zip(arms, rewards, strict=True):
        posterior.update(POINTS[arm] if kind == "points" else int(arm), reward)
    return posterior


def learnt(kind, arms, rewards, ridge=0.1, into=None):
    posterior = into or fresh(kind, ridge)
    counts, sums = np.bincount(arms, minlength=9), np.bincount(arms, rewards, minlength=9)
    if kind == "points":
        played = counts.nonzero()[0]
        posterior.learn(POINTS[played], counts[played], sums[played])
    else:
        posterior.learn(counts, sums)
    return posterior


def dense(arms, rewards, where, ridge=0.1):
    """Mean, covariance and log_det from the rewards one by one."""
    x = POINTS[arms]
    inverse = np.linalg.inv(KERNEL(x, x) + ridge * np.eye(len(x)))
    cross = KERNEL(where, x)
    log_det = np.linalg.slogdet(np.eye(len(x)) + KERNEL(x, x) / ridge)[1]
    return cross @ inverse @ np.array(rewards), KERNEL(where, where) - cross @ inverse @ cross.T, log_det


def some(seed=1, n=25):
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 6, n)
    return arms, np.sin(5 * POINTS[arms, 0]) + 0.3 * rng.normal(size=n)


WHERE = np.vstack([POINTS, np.random.default_rng(8).random((5, 2))])


@every_kind
@pytest.mark.parametrize("ridge", [1e-4, 0.1, 10.0])
def test_everything_at_once_is_reward_by_reward(kind, ridge):
    arms, rewards = some()
    slow, quick = one_by_one(kind, arms, rewards, ridge), learnt(kind, arms, rewards, ridge)
    for one, other in zip(slow.at(WHERE), quick.at(WHERE), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-8)
    assert quick.log_det == pytest.approx(slow.log_det, rel=1e-9)
    assert quick.events == slow.events == 25
    assert sorted(quick.counts[quick.counts > 0]) == sorted(slow.counts[slow.counts > 0])


@every_kind
def test_it_is_the_posterior_by_dense_algebra(kind):
    arms, rewards = some()
    mean, covariance, log_det = dense(arms, rewards, WHERE)
    posterior = learnt(kind, arms, rewards)
    np.testing.assert_allclose(posterior.at(WHERE)[0], mean, atol=1e-10)
    np.testing.assert_allclose(posterior.at(WHERE)[1], np.sqrt(np.diag(covariance)), atol=1e-9)
    np.testing.assert_allclose(posterior.covariance(WHERE), covariance, atol=1e-10)
    assert posterior.log_det == pytest.approx(log_det, rel=1e-10)
    if kind != "points":
        np.testing.assert_allclose(posterior.mean, mean[:9], atol=1e-10)
        np.testing.assert_allclose(posterior.sd, np.sqrt(np.diag(covariance))[:9], atol=1e-9)


@every_kind
@given(st.lists(st.tuples(st.integers(0, 8), st.floats(-5, 5)), min_size=1, max_size=30), st.integers(0, 30))
def test_learning_some_at_once_and_the_rest_one_by_one_is_all_the_same(kind, told, cut):
    arms, rewards = np.array([arm for arm, _ in told]), np.array([reward for _, reward in told])
    cut = min(max(cut, 1), len(told))
    posterior = learnt(kind, arms[:cut], rewards[:cut])
    for arm, reward in zip(arms[cut:].tolist(), rewards[cut:].tolist(), strict=True):
        posterior.update(POINTS[arm] if kind == "points" else arm, reward)
    mean, covariance, log_det = dense(arms, rewards, WHERE)
    np.testing.assert_allclose(posterior.at(WHERE)[0], mean, atol=1e-8)
    np.testing.assert_allclose(posterior.at(WHERE)[1], np.sqrt(np.diag(covariance)), atol=1e-7)
    assert posterior.log_det == pytest.approx(log_det, rel=1e-8)
    assert not posterior.audit()


@every_kind
def test_what_was_learnt_before_is_replaced(kind):
    first, second = some(1), some(2, 12)
    posterior = learnt(kind, *second, into=one_by_one(kind, *first))
    np.testing.assert_allclose(posterior.at(WHERE)[0], dense(*second, WHERE)[0], atol=1e-9)
    np.testing.assert_allclose(posterior.covariance(WHERE), dense(*second, WHERE)[1], atol=1e-9)
    assert posterior.log_det == pytest.approx(dense(*second, WHERE)[2], rel=1e-9)
    assert posterior.events == 12


@every_kind
def test_an_audit_after_it_finds_nothing(kind):
    posterior = learnt(kind, *some())
    assert not posterior.audit()
    assert posterior.health.repairs == 0


@every_kind
def test_covariance_has_the_variances_of_at_on_its_diagonal(kind):
    posterior = learnt(kind, *some())
    covariance = posterior.covariance(WHERE)
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), posterior.at(WHERE)[1], atol=1e-9)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


@every_kind
def test_before_any_reward_covariance_is_the_kernel(kind):
    np.testing.assert_array_equal(fresh(kind).covariance(WHERE), KERNEL(WHERE, WHERE))


@every_kind
@pytest.mark.parametrize("bad", [None, [], [[1.0]], [[math.nan, 1.0]], "ab", [0.5, 0.5]], ids=repr)
def test_covariance_of_what_is_no_points_is_refused(kind, bad):
    with pytest.raises(ValueError, match="needs"):
        learnt(kind, *some()).covariance(bad)
