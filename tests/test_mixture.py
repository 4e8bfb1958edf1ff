"""Mixtures of posteriors, and several posteriors evaluated together, against their members."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.kernels import AdditiveMatern, Constant, SamePoint
from kernelbandits.policies.acquisition import LogExpectedImprovement, MemberImprovement
from kernelbandits.posterior import (
    MixturePosterior,
    PointPosterior,
    PoolPosterior,
    StackedPosteriors,
    members_of,
)

ARMS = kb.Arms(np.random.default_rng(0).random((30, 2)))
BOX = kb.Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def pool_mixture():
    members = [
        PoolPosterior(kb.Matern((length, 0.5), 2.5) + Constant(), ARMS, ridge)
        for length, ridge in ((0.2, 0.1), (0.9, 0.01), (0.4, 0.3))
    ]
    mixture = MixturePosterior(members)
    for arm, reward in ((3, 1.0), (7, -0.5), (3, 1.3), (20, 0.2)):
        mixture.update(arm, reward)
    return mixture


def point_members(kernel=kb.Matern, scales=((2.0, 1e-4), (0.5, 1e-2), (1.0, 1e-3))):
    rng = np.random.default_rng(1)
    points, rewards = rng.random((25, 3)), rng.normal(size=25)
    members = []
    for factor, ridge in scales:
        lengths = tuple(rng.uniform(0.2, 1.0, 3))
        member = PointPosterior(factor * kernel(lengths) + Constant(), BOX, ridge)
        member.learn(points, np.ones(25), rewards)
        members.append(member)
    return members


class TestMixture:
    def test_moments_are_those_of_draws_from_the_members(self):
        """200 000 draws: a member, then its normal law. Four standard errors."""
        mixture, rng, n = pool_mixture(), np.random.default_rng(2), 200_000
        which = rng.integers(3, size=n)
        means = np.array([member.mean[11] for member in mixture.members])
        sds = np.array([member.sd[11] for member in mixture.members])
        draws = means[which] + sds[which] * rng.normal(size=n)
        assert abs(draws.mean() - mixture.mean[11]) < 4 * draws.std() / np.sqrt(n)
        assert mixture.sd[11] == pytest.approx(draws.std(), rel=0.02)

    def test_estimates_at_points_are_those_of_the_arms(self):
        mixture = pool_mixture()
        mean, sd = mixture.at(ARMS.points)
        np.testing.assert_allclose(mean, mixture.mean, atol=1e-10)
        np.testing.assert_allclose(sd, mixture.sd, atol=1e-8)

    def test_the_covariance_has_the_variances_on_its_diagonal(self):
        mixture = pool_mixture()
        diagonal = mixture.covariance(ARMS.points[:6]).diagonal()
        np.testing.assert_allclose(diagonal, mixture.variance[:6], atol=1e-8)

    def test_pending_places_lower_the_variance_and_leave_the_mean(self):
        mixture = pool_mixture()
        imagined = mixture.with_pending([5, 5, 9])
        np.testing.assert_allclose(imagined.mean, mixture.mean, atol=1e-9)
        assert imagined.variance[5] < mixture.variance[5]
        assert mixture.events == 4

    def test_gradients_are_those_of_central_differences(self):
        mixture = MixturePosterior(point_members())
        rows = np.random.default_rng(3).random((4, 3))
        _, _, mean_slope, sd_slope = mixture.gradients(rows)
        for j, step in enumerate(1e-6 * np.eye(3)):
            up, down = mixture.at(rows + step), mixture.at(rows - step)
            np.testing.assert_allclose(mean_slope[:, j], (up[0] - down[0]) / 2e-6, atol=1e-4)
            np.testing.assert_allclose(sd_slope[:, j], (up[1] - down[1]) / 2e-6, atol=1e-4)

    def test_any_other_posterior_is_its_own_only_member(self):
        alone = point_members()[0]
        assert members_of(alone) == (alone,)
        assert len(members_of(pool_mixture())) == 3


class TestStacked:
    @pytest.mark.parametrize("kernel", [kb.Matern, kb.RBF])
    def test_everything_equals_the_members_one_by_one(self, kernel):
        members = point_members(kernel)
        stacked = StackedPosteriors.of(members)
        rows = np.random.default_rng(4).random((300, 3))
        each = [np.array(part) for part in zip(*(m.gradients(rows) for m in members), strict=True)]
        for found, expected in zip(stacked.gradients(rows), each, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        for found, expected in zip(stacked.at(rows), each, strict=False):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)

    def test_other_kernels_are_not_stacked(self):
        rough = PointPosterior(kb.Matern((1.0,) * 3, 0.5), BOX, 0.1)
        additive = PointPosterior(AdditiveMatern((1.0,) * 3), BOX, 0.1)
        for posterior in (rough, additive):
            posterior.update([0.5, 0.5, 0.5], 1.0)
            assert StackedPosteriors.of([posterior]) is None
        assert StackedPosteriors.of([PointPosterior(kb.RBF(1.0), BOX, 0.1)]) is None

    def test_improvement_of_stacked_members_is_the_mean_of_their_improvements(self):
        members, bests = point_members(), (0.5, 0.8, 0.2)
        surface = MemberImprovement(bests).surface(MixturePosterior(members))
        rows = np.random.default_rng(5).random((5, 3))
        each = [
            np.exp(LogExpectedImprovement(best).score(*member.at(rows)))
            for best, member in zip(bests, members, strict=True)
        ]
        np.testing.assert_allclose(np.exp(surface.values(rows)), np.mean(each, axis=0), rtol=1e-6)
        values, slopes = surface.slopes(rows)
        for j, step in enumerate(1e-6 * np.eye(3)):
            rise = (surface.values(rows + step) - surface.values(rows - step)) / 2e-6
            np.testing.assert_allclose(slopes[:, j], rise, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(values, surface.values(rows), rtol=1e-9)


class TestParts:
    def test_an_additive_kernel_is_the_mean_over_blocks(self):
        x, z = np.random.default_rng(6).random((2, 4, 3))
        kernel = AdditiveMatern((0.3, 0.5, 0.7), ((0,), (1, 2)))
        parts = kb.Matern(0.3)(x[:, :1], z[:, :1]) + kb.Matern((0.5, 0.7))(x[:, 1:], z[:, 1:])
        np.testing.assert_allclose(kernel(x, z), parts / 2)

    @pytest.mark.parametrize("kernel", [AdditiveMatern((0.3, 0.5)), Constant(), SamePoint()])
    def test_gradients_are_those_of_central_differences(self, kernel):
        x, z = np.random.default_rng(7).random((2, 4, 2))
        for j, step in enumerate(1e-6 * np.eye(2)):
            rise = (kernel(x + step, z) - kernel(x - step, z)) / 2e-6
            np.testing.assert_allclose(kernel.gradient(x, z)[..., j], rise, atol=1e-6)
        np.testing.assert_array_equal(kernel.diagonal(x), kernel(x, x).diagonal())

    def test_blocks_must_contain_every_coordinate_once(self):
        with pytest.raises(ValueError, match="blocks that contain each of 2 coordinates once"):
            AdditiveMatern((0.3, 0.5), ((0,), (0, 1)))
        with pytest.raises(ValueError, match="blocks that contain each of 2 coordinates once"):
            kb.Arms([[0.0, 1.0]], blocks=((0,),))
