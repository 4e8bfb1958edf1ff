"""posterior.learn, all at once, and posterior.covariance, of any points: as reward by reward, and by np.linalg."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.posterior import RowPosterior

POINTS = np.random.default_rng(5).random((9, 2))
KERNEL = kb.Matern((0.4, 0.7))
KINDS = {
    "arms": kb.posterior.ArmPosterior,
    "pool": RowPosterior,
    "points": kb.posterior.PointPosterior,
}
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
    return (
        cross @ inverse @ np.array(rewards),
        KERNEL(where, where) - cross @ inverse @ cross.T,
        log_det,
    )


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
@given(
    st.lists(st.tuples(st.integers(0, 8), st.floats(-5, 5)), min_size=1, max_size=30),
    st.integers(0, 30),
)
@example([(0, 0.0), (1, 5e-324)], 1)
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


GOOD = {"points": POINTS[:3], "counts": [1, 2, 3], "sums": [0.5, -1.0, 2.0]}
BAD = [
    ({"counts": [1, 2]}, "learn needs 3 counts, all numbers, got"),
    ({"counts": [[1, 2, 3]]}, "learn needs 3 counts, all numbers, got"),
    ({"counts": None}, "learn needs 3 counts, all numbers, got None"),
    ({"counts": "abc"}, "learn needs 3 counts, all numbers, got 'abc'"),
    ({"counts": [True, True, True]}, "learn needs 3 counts, all numbers, got"),
    ({"counts": [[1], [1, 2], 3]}, "learn needs 3 counts, all numbers, got"),
    ({"counts": [1, 2, 2.5]}, "learn needs whole counts >= [01], got"),
    ({"counts": [1, 2, -1]}, "learn needs whole counts >= [01], got"),
    ({"counts": [1, 2, math.nan]}, "learn needs whole counts >= [01], got"),
    ({"counts": [1, 2, math.inf]}, "learn needs whole counts >= [01], got"),
    ({"counts": [1, 2, 1e300]}, "learn needs whole counts >= [01], got"),
    ({"sums": [0.5, 1.0]}, "learn needs 3 sums, all numbers, got"),
    ({"sums": None}, "learn needs 3 sums, all numbers, got None"),
    ({"sums": ["a", "b", "c"]}, "learn needs 3 sums, all numbers, got"),
    (
        {"sums": [0.5, 1.0, math.nan]},
        r"learn needs finite sums of size at most 1e\+150 for each reward, got",
    ),
    ({"sums": [0.5, 1.0, -math.inf]}, "learn needs finite sums"),
    ({"sums": [1.1e150, 1.0, 0.0]}, "learn needs finite sums"),
]
OF_POINTS = [
    ({"counts": [1, 2, 0]}, "learn needs whole counts >= 1, got"),
    ({"points": POINTS[[0, 1, 0]]}, "learn needs points that are all different, got '1 twice'"),
    (
        {"points": [[0.0, 1.0], [-0.0, 1.0], [1.0, 1.0]]},
        "learn needs points that are all different",
    ),
    ({"points": POINTS[:3, :1]}, "learn needs points of 2 dimensions, got 1"),
    ({"points": [[0.0, math.nan]] * 3}, "learn needs finite points"),
    ({"points": None}, "learn needs an"),
]
OF_ARMS = [
    ({"counts": [0, 0, 0], "sums": [0, 0, 0]}, "learn needs at least one reward, got"),
    ({"counts": [0, 2, 3]}, "learn needs finite sums"),
]
REFUSED = [
    (kind, *case) for kind in KINDS for case in BAD + (OF_POINTS if kind == "points" else OF_ARMS)
]


def state_of(posterior):
    parts = (
        *posterior.at(WHERE),
        posterior.counts,
        posterior.tally.sums,
        [posterior.log_det, posterior.events],
    )
    return np.concatenate(parts).tolist()


@pytest.mark.parametrize(("kind", "change", "message"), REFUSED)
def test_what_cannot_be_learnt_is_refused_in_one_sentence_and_changes_nothing(
    kind, change, message
):
    three = (
        kb.posterior.PointPosterior(KERNEL, 2, 0.1)
        if kind == "points"
        else KINDS[kind](KERNEL, POINTS[:3], 0.1)
    )
    given = GOOD | change
    told = (*([given["points"]] if kind == "points" else []), given["counts"], given["sums"])
    three.update(POINTS[1] if kind == "points" else 1, 0.7)
    before = state_of(three)
    with pytest.raises(ValueError, match=message):
        three.learn(*told)
    assert state_of(three) == before
    assert not three.audit()


def test_a_kernel_that_fails_at_the_points_to_be_learnt_changes_nothing():
    def broken(x, z):
        far = (np.abs(x[:, None]).max(2) > 5) | (np.abs(z[None]).max(2) > 5)
        return np.where(far, math.nan, KERNEL(x, z))

    posterior = kb.posterior.PointPosterior(broken, kb.Box((0, 0), (1, 1)), 0.1)
    posterior.update(POINTS[0], 1.0)
    before = state_of(posterior)
    with pytest.raises(ValueError, match="needs finite values, got"):
        posterior.learn([[9.0, 9.0], [0.5, 0.5]], [1, 1], [0.0, 0.0])
    assert state_of(posterior) == before
