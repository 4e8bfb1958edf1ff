"""Mixtures of posteriors, and several posteriors evaluated together, against their members."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.checks import NumericsWarning
from kernelbandits.kernels import AdditiveMatern, Constant, PoolRows, SamePoint, StackedKernels
from kernelbandits.policies.acquisition import LogExpectedImprovement, MemberImprovement
from kernelbandits.posterior import (
    MixturePosterior,
    PointPosterior,
    PoolMixture,
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

    def test_improvement_over_a_value_has_the_sd_of_the_difference(self):
        members = point_members()
        members[0].update(members[0].points[2], 0.4)
        surface = MemberImprovement((0.5, 0.8, 0.2), over_value=True).surface(
            MixturePosterior(members)
        )
        rows = np.random.default_rng(6).random((4, 3))
        _, sds = surface.moments(rows)
        for member, found in zip(members, sds, strict=True):
            best = member.points[member.played_means.argmax()]
            for row, sd in zip(rows, found, strict=True):
                covariance = member.covariance(np.array([row, best]))
                variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
                assert sd == pytest.approx(np.sqrt(variance), rel=1e-6)
            assert np.abs(surface.moments(best[None])[1]).min() < 1e-6
        value, slope = surface.slopes(rows)
        np.testing.assert_allclose(value, surface.values(rows), rtol=1e-9)
        for j, step in enumerate(1e-6 * np.eye(3)):
            rise = surface.values(rows + step) - surface.values(rows - step)
            np.testing.assert_allclose(slope[:, j], rise / 2e-6, rtol=1e-4, atol=1e-6)

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


def fitted_kernels(columns, blocks=(), nu=2.5, members=3):
    """Kernels of the form that a fit has, with lengthscales equal within a block."""
    rng = np.random.default_rng(8)
    coordinates = blocks or tuple((j,) for j in range(columns))
    kernels = []
    for _ in range(members):
        lengths = np.empty(columns)
        for block in coordinates:
            lengths[list(block)] = rng.uniform(0.3, 1.5)
        each = tuple(lengths)
        smooth = 0.7 * kb.Matern(each, nu) + Constant()
        kernels.append(smooth + 0.4 * AdditiveMatern(each, blocks, nu) + 0.05 * SamePoint())
    return kernels


def few_values(n=60):
    """Rows of a table: few values in the first column, a category of three, distinct numbers."""
    rng = np.random.default_rng(9)
    category = np.eye(3)[rng.integers(3, size=n)] / np.sqrt(2)
    return np.column_stack([rng.integers(5, size=n) / 4, category, rng.random(n)])


BLOCKS = ((0,), (1, 2, 3), (4,))


class TestStackedKernels:
    @pytest.mark.parametrize("nu", [1.5, 2.5])
    def test_values_are_those_of_each_kernel_without_its_nugget(self, nu):
        points = few_values()
        kernels = fitted_kernels(5, BLOCKS, nu)
        stacked = StackedKernels.of(kernels)
        smooth = [kernel.left for kernel in kernels]
        expected = np.array([kernel(points[:7], points) for kernel in smooth])
        np.testing.assert_allclose(stacked(points[:7], points), expected, rtol=1e-12)
        rows = PoolRows(stacked, points).of(np.arange(7))
        np.testing.assert_allclose(rows, expected, rtol=1e-12)

    def test_kernels_of_other_forms_are_not_stacked(self):
        one, two = kb.Matern((1.0, 2.0)), kb.Matern((1.0, 2.0), 1.5)
        for kernels in (
            [one, two],
            [one, kb.RBF((1.0, 1.0))],
            [kb.Matern(1.0)],
            [one + one],
            [one * one],
            [kb.Matern((1.0, 2.0), 0.5)],
            [one + AdditiveMatern((1.0, 3.0))],
            [one + AdditiveMatern((1.0, 2.0), ((0, 1),))],
        ):
            assert StackedKernels.of(kernels) is None
        assert StackedKernels.of([one, 3.0 * one + Constant()]) is not None


class TestPoolMixture:
    RIDGES = (0.1, 0.01, 0.3)

    def pair(self, points=None):
        points = few_values() if points is None else points
        arms = kb.Arms(points, blocks=BLOCKS)
        kernels = fitted_kernels(5, BLOCKS)
        single = [PoolPosterior(k, arms, r) for k, r in zip(kernels, self.RIDGES, strict=True)]
        return PoolMixture(kernels, self.RIDGES, arms), MixturePosterior(single)

    def agree(self, one, other, rtol=1e-9):
        np.testing.assert_allclose(one.means, other.means, rtol=rtol, atol=1e-10)
        np.testing.assert_allclose(one.variances, other.variances, rtol=rtol, atol=1e-12)
        np.testing.assert_allclose(one.mean, other.mean, rtol=rtol, atol=1e-10)
        np.testing.assert_allclose(one.sd, other.sd, rtol=rtol)
        assert one.log_det == pytest.approx(other.log_det, rel=rtol)
        assert (one.events, one.ridge, one.kernel) == (other.events, other.ridge, other.kernel)
        np.testing.assert_array_equal(one.counts, other.counts)

    def test_everything_equals_the_members_one_by_one(self):
        mixture, single = self.pair()
        rng = np.random.default_rng(10)
        self.agree(mixture, single)
        for n in range(300):
            arm, reward = int(rng.integers(60 if n < 100 else 4)), float(rng.normal())
            mixture.update(arm, reward)
            single.update(arm, reward)
            if n in (0, 1, 50, 299):
                self.agree(mixture, single)
        assert not mixture.audit()
        self.agree(mixture, single)
        learnt = self.pair()[0]
        learnt.learn(mixture.counts, mixture.tally.sums)
        self.agree(learnt, mixture)

    def test_arms_at_one_point_share_their_nugget(self):
        points = few_values()
        points[7] = points[3]
        with pytest.warns(UserWarning, match="repeat another"):
            mixture, single = self.pair(points)
        for arm, reward in ((3, 1.0), (7, 0.5), (20, -1.0)):
            mixture.update(arm, reward)
            single.update(arm, reward)
        self.agree(mixture, single)
        assert mixture.mean[3] == pytest.approx(mixture.mean[7], rel=1e-12)

    @pytest.mark.parametrize("pending", [[5], [5, 5, 9, 3]])
    def test_pending_arms_lower_the_variance_and_leave_the_mean(self, pending):
        mixture, single = self.pair()
        for arm, reward in ((3, 1.0), (7, 0.5), (3, -1.0)):
            mixture.update(arm, reward)
            single.update(arm, reward)
        before = mixture.variances.copy()
        imagined = mixture.with_pending(pending)
        self.agree(imagined, single.with_pending(pending))
        np.testing.assert_array_equal(mixture.variances, before)
        imagined.update(11, 0.3)
        assert (mixture.events, imagined.events) == (3, 4 + len(pending))

    def test_members_are_made_from_counts_and_sums(self):
        mixture, single = self.pair()
        for arm, reward in ((3, 1.0), (7, 0.5), (3, -1.0)):
            mixture.update(arm, reward)
            single.update(arm, reward)
        for one, other in zip(mixture.members, single.members, strict=True):
            np.testing.assert_allclose(one.mean, other.mean, atol=1e-12)
            assert (one.kernel, one.ridge) == (other.kernel, other.ridge)
        mean, sd = mixture.at(mixture.points[:4])
        np.testing.assert_allclose(mean, mixture.mean[:4], atol=1e-10)
        np.testing.assert_allclose(sd, mixture.sd[:4], atol=1e-9)

    def test_posteriors_over_the_arms_played_predict_what_the_members_do(self):
        mixture, _ = self.pair()
        assert len(mixture.predictors[0].points) == 1
        for arm, reward in ((3, 1.0), (7, 0.5), (3, -1.0)):
            mixture.update(arm, reward)
        for small, whole in zip(mixture.predictors, mixture.members, strict=True):
            assert len(small.points) == 2
            for one, other in zip(small.at(mixture.points), whole.at(mixture.points), strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(
                small.covariance(mixture.points[:9]), whole.covariance(mixture.points[:9])
            )

    def test_damage_is_found_and_repaired(self):
        mixture, _ = self.pair()
        assert not mixture.audit()
        mixture.update(3, 1.0)
        expected = mixture.means.copy()
        mixture.means[1, 5] += 1e-3
        assert mixture.mean[5] != pytest.approx(expected[:, 5].mean(), rel=1e-9)
        with pytest.warns(NumericsWarning, match="repaired from counts after 1 rewards"):
            assert mixture.audit()
        np.testing.assert_allclose(mixture.mean, expected.mean(0), rtol=1e-12)
        assert (mixture.health.audits, mixture.health.repairs) == (2, 1)

    def test_large_rows_are_shared_and_never_copied(self, monkeypatch):
        """In pieces of 16 rows: the same numbers, and pending copies that leave the first alone."""
        plain, _ = self.pair()
        monkeypatch.setattr("kernelbandits.posterior.pool_mixture.LARGE", 0)
        pieces, _ = self.pair()
        arms = [n % len(plain.arms) for n in range(0, 300, 7)]
        for arm in arms:
            for mixture in (plain, pieces):
                mixture.update(arm, np.cos(arm))
        before = pieces.variances.copy()
        for found, expected in (
            (pieces, plain),
            (pieces.with_pending(arms[:3]), plain.with_pending(arms[:3])),
        ):
            np.testing.assert_allclose(found.means, expected.means, atol=1e-10)
            np.testing.assert_allclose(found.variances, expected.variances, atol=1e-10)
        np.testing.assert_array_equal(pieces.variances, before)

    def test_rows_of_arms_measured_again_are_merged(self):
        mixture, _ = self.pair()
        for n in range(500):
            mixture.update(n % 3, 1.0)
        assert mixture._rows.shape[1] <= 2 * 64

    def test_results_left_out_are_predicted_as_by_factorising_without_them(self):
        """Of eight arms, some measured often: each member predicts from the other seven."""
        mixture, _ = self.pair()
        rng = np.random.default_rng(3)
        for _ in range(200):
            mixture.update(int(rng.integers(8)), float(rng.normal()))
        played = [5, 0, 7, 2, 1, 3, 6, 4]
        predictions, variances = mixture.leave_out_each(played)
        counts, sums = mixture.counts, mixture.tally.sums
        for i, (kernel, ridge) in enumerate(zip(mixture.kernels, self.RIDGES, strict=True)):
            for j, arm in enumerate(played):
                rest = [one for one in played if one != arm]
                points = mixture.points[[arm, *rest]]
                k = kernel(points, points)
                inverse = np.linalg.inv(k[1:, 1:] + np.diag(ridge / counts[rest]))
                mean = k[0, 1:] @ inverse @ (sums[rest] / counts[rest])
                left = k[0, 0] - k[0, 1:] @ inverse @ k[1:, 0]
                assert predictions[i, j] == pytest.approx(mean, rel=1e-6, abs=1e-8)
                assert variances[i, j] == pytest.approx(left + ridge / counts[arm], rel=1e-6)
        assert mixture.leave_out_each(played[:-1]) is None

    def test_results_left_out_are_not_predicted_where_digits_are_lost(self):
        arms = kb.Arms(few_values(), blocks=BLOCKS)
        mixture = PoolMixture(fitted_kernels(5, BLOCKS), (1e-8,) * 3, arms)
        mixture.update(0, 1.0)
        mixture.update(1, 2.0)
        assert mixture.leave_out_each([0, 1]) is None

    def test_the_state_is_computed_again_after_many_rewards(self):
        mixture, _ = self.pair()
        for n in range(1100):
            mixture.update(n % 5, np.sin(n))
        learnt = self.pair()[0]
        learnt.learn(mixture.counts, mixture.tally.sums)
        self.agree(mixture, learnt, rtol=1e-8)

    def test_arms_that_do_not_exist_are_refused(self):
        mixture, _ = self.pair()
        with pytest.raises(ValueError, match="an arm below 60"):
            mixture.update(60, 1.0)
        with pytest.raises(ValueError, match="kernels of one form"):
            PoolMixture([kb.Matern(1.0)], [0.1], ARMS)


class TestPlayedPoints:
    def test_means_and_inverse_are_those_of_the_definition(self):
        """After learning, a new point, a repeat and another new point."""
        posterior = point_members()[0]
        told = (([0.1, 0.2, 0.3], 1.0), (posterior.points[4], -2.0), ([0.9, 0.2, 0.4], 0.5))
        for row, reward in told:
            posterior.inverse_factor  # noqa: B018 (kept, and must follow the next reward)
            posterior.update(row, reward)
            mean, _ = posterior.at(posterior.points)
            np.testing.assert_allclose(posterior.played_means, mean, atol=1e-10)
            identity = posterior.inverse_factor.lower @ posterior.lower_factor
            np.testing.assert_allclose(identity, np.eye(len(identity)), atol=1e-9)


def test_rows_that_are_kept_are_those_of_the_kernels(monkeypatch):
    """Pending arms in any order, one of them twice, more than are kept; also after a copy."""
    monkeypatch.setattr("kernelbandits.posterior.pool_mixture.LARGEST_RECENT", 3 * 8 * 2 * 12)
    arms = kb.Arms(np.random.default_rng(4).random((12, 2)))
    kernels = [kb.Matern((0.3, 0.4)) + 0.1 * SamePoint(), kb.Matern((0.5, 0.2)) + 0.2 * SamePoint()]
    kept = kb.posterior.PoolMixture(kernels, [0.1, 0.2], arms)
    for pending in ([3, 5], [5, 3, 7], [7, 7, 1, 2, 0], [11]):
        kept.update(pending[0], 0.5)
        plain = kb.posterior.PoolMixture(kernels, [0.1, 0.2], arms)
        plain.learn(kept.counts, kept.tally.sums)
        for mixture in (kept, pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
            found, wanted = mixture.with_pending(pending), plain.with_pending(pending)
            np.testing.assert_allclose(found.variances, wanted.variances, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.means, wanted.means, rtol=1e-9, atol=1e-12)
