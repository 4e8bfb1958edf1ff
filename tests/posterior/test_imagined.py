"""Plays imagined on a pool, all at once: the state is that of telling each arm its own mean, one after the other."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.posterior import RowPosterior

POINTS = np.random.default_rng(3).random((30, 2))


MATERN = kb.Matern(0.3, 2.5)


def played(kernel=MATERN, ridge=0.05, rewards=40, arms=12, points=POINTS):
    """A pool on which the first arms were played, in no order."""
    rng = np.random.default_rng(1)
    posterior = RowPosterior(kernel, points, ridge)
    for arm in rng.integers(arms, size=rewards).tolist():
        posterior.update(arm, float(rng.normal()))
    return posterior


def one_by_one(posterior, arms):
    other = posterior.with_pending([])
    for arm in arms:
        other.update(arm, float(other.mean[arm]))
    return other


def same(one, other, tolerance=1e-10):
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.variance, other.variance, rtol=0, atol=tolerance)
    assert one.log_det == pytest.approx(other.log_det, rel=1e-10, abs=tolerance)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one.events == other.events
    here = POINTS[:, : one.points.shape[1]] + 0.01
    np.testing.assert_allclose(one.at(here), other.at(here), rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(
        one.covariance(here), other.covariance(here), rtol=0, atol=10 * tolerance
    )


@pytest.mark.thorough
@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 29), min_size=1, max_size=40),
    st.sampled_from([1e-3, 0.05, 1.0, 30.0]),
    st.integers(0, 60),
)
def test_imagined_at_once_is_imagined_one_by_one(arms, ridge, rewards):
    posterior = played(ridge=ridge, rewards=rewards)
    same(
        posterior.with_pending(arms),
        one_by_one(posterior, arms),
        tolerance=1e-12 / min(ridge, 0.01),
    )


def test_what_is_told_later_is_learnt_as_if_the_plays_had_been_real():
    posterior, arms = played(), [3, 20, 20, 25, 3, 29]
    one, other = posterior.with_pending(arms), one_by_one(posterior, arms)
    for arm in (20, 7, 28, 3, 28):
        for each in (one, other):
            each.update(arm, 0.4)
    same(one, other)
    same(one.with_pending([5, 28, 11]), one_by_one(other, [5, 28, 11]))
    assert not one.audit()
    assert (one.health.repairs, one.health.audits) == (0, 1)


def test_to_imagine_changes_nothing_that_is_known():
    posterior = played()
    parts = ("mean", "variance", "_rows", "_factor", "_core", "counts")
    before = {name: getattr(posterior, name).copy() for name in parts}
    slots, log_det = dict(posterior._slot), posterior.log_det
    posterior.with_pending([1, 22, 23, 22])
    for name, kept in before.items():
        np.testing.assert_array_equal(getattr(posterior, name), kept)
    assert (posterior._slot, posterior.log_det, posterior.events) == (slots, log_det, 40)


def test_an_arm_of_which_all_is_known_stays_so():
    points = np.vstack([np.zeros((1, 2)), POINTS])
    posterior = played(kb.Linear(), points=points, rewards=20)
    other = posterior.with_pending([0, 0, 5, 0])
    assert other.sd[0] == 0.0
    same(other, one_by_one(posterior, [0, 0, 5, 0]))


@pytest.mark.parametrize("kernel", [kb.RBF(5.0), kb.Linear()], ids=["smooth", "linear"])
def test_arms_that_say_the_same_have_variances_below_the_ceiling(kernel):
    """K has next to no eigenvalues: what is left of a variance is rounding, and never negative beyond it."""
    posterior = played(kernel, ridge=1e-6, rewards=50)
    other = posterior.with_pending([*range(30), *range(30)])
    exact = one_by_one(posterior, [*range(30), *range(30)])
    assert other.variance.min() > -1e-9
    assert other.sd.max() <= posterior.sd.max() + 1e-7
    assert (other.variance <= other.ridge / np.maximum(other.counts, 1) + 1e-9).all()
    np.testing.assert_allclose(other.sd, exact.sd, rtol=0, atol=1e-5)


@pytest.mark.parametrize("ridge", [1e-13, 1e-14, 1e-16])
def test_where_the_ridge_is_lost_in_rounding_it_goes_one_by_one(ridge):
    rng = np.random.default_rng(0)
    posterior = RowPosterior(kb.RBF(5.0), rng.random((50, 2)), ridge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arm in rng.integers(3, size=500).tolist():
            posterior.update(arm, 1.0)
        for arms in ([37], [1, 37, 40, 37]):
            other = posterior.with_pending(arms)
            assert np.isfinite(other.mean).all()
            assert np.isfinite(other.sd).all()
            assert math.isfinite(other.log_det)
            assert other.variance.min() > -1e-6


def test_the_information_of_pending_plays_is_that_of_their_gram_matrix():
    posterior = RowPosterior(kb.Matern(0.4), POINTS, 0.1)
    arms = [4, 9, 9, 17]
    matrix = np.eye(4) + kb.Matern(0.4)(POINTS[arms], POINTS[arms]) / 0.1
    assert posterior.with_pending(arms).log_det == pytest.approx(
        math.log(np.linalg.det(matrix)), rel=1e-12
    )
