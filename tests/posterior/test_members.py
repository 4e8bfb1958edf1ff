"""Posteriors with several members, against each member alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.checks import NumericsWarning
from kernelbandits.kernels import (
    AdditiveMatern,
    Constant,
    KernelStack,
    PoolRows,
    SamePoint,
)
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    Surface,
    UpperConfidence,
    log_expected_improvement,
    posterior_mean,
)
from kernelbandits.posterior import PointPosterior, RowPosterior
from kernelbandits.posterior.rows import PriorRows

ARMS = kb.Arms(np.random.default_rng(0).random((30, 2)))
BOX = kb.Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def pool_mixture():
    kernels = [kb.Matern((length, 0.5), 2.5) + Constant() for length in (0.2, 0.9, 0.4)]
    mixture = RowPosterior(kernels, ARMS, [0.1, 0.01, 0.3])
    for arm, reward in ((3, 1.0), (7, -0.5), (3, 1.3), (20, 0.2)):
        mixture.update(arm, reward)
    return mixture


def point_mixture(kernel=kb.Matern, scales=((2.0, 1e-4), (0.5, 1e-2), (1.0, 1e-3))):
    rng = np.random.default_rng(1)
    points, rewards = rng.random((25, 3)), rng.normal(size=25)
    kernels = [
        factor * kernel(tuple(rng.uniform(0.2, 1.0, 3))) + Constant() for factor, _ in scales
    ]
    mixture = PointPosterior(kernels, BOX, [ridge for _, ridge in scales])
    mixture.learn(points, np.ones(25), rewards)
    return mixture


class TestMixture:
    def test_moments_are_those_of_draws_from_the_members(self):
        """200 000 draws: a member, then its normal law. Four standard errors."""
        mixture, rng, n = pool_mixture(), np.random.default_rng(2), 200_000
        which = rng.integers(3, size=n)
        means, sds = mixture.means[:, 11], np.sqrt(mixture.variances[:, 11])
        draws = means[which] + sds[which] * rng.normal(size=n)
        assert abs(draws.mean() - mixture.mean[11]) < 4 * draws.std() / np.sqrt(n)
        assert mixture.sd[11] == pytest.approx(draws.std(), rel=0.02)

    def test_estimates_at_points_are_those_of_the_arms(self):
        mixture = pool_mixture()
        mean, sd = mixture.at(ARMS.points)
        np.testing.assert_allclose(mean, mixture.mean, atol=1e-10)
        np.testing.assert_allclose(sd, mixture.sd, atol=1e-8)

    @pytest.mark.parametrize("make", [pool_mixture, point_mixture])
    def test_the_covariance_has_the_variances_on_its_diagonal(self, make):
        mixture = make()
        rows = mixture.points[:6]
        variance = mixture.covariance(rows).diagonal()
        np.testing.assert_allclose(variance, mixture.at(rows)[1] ** 2, atol=1e-8)
        each = mixture.member_covariances(rows).diagonal(axis1=1, axis2=2)
        np.testing.assert_allclose(each, mixture.members_at(rows)[1] ** 2, atol=1e-8)

    def test_pending_places_lower_the_variance_and_leave_the_mean(self):
        mixture = pool_mixture()
        imagined = mixture.with_pending([5, 5, 9])
        np.testing.assert_allclose(imagined.mean, mixture.mean, atol=1e-9)
        assert imagined.variance[5] < mixture.variance[5]
        assert mixture.events == 4

    def test_pending_points_leave_the_mean_of_each_member(self):
        mixture, rows = point_mixture(), np.random.default_rng(3).random((9, 3))
        imagined = mixture.with_pending([*rows[:2], mixture.points[4]])
        (means, sds), (before, wider) = imagined.members_at(rows), mixture.members_at(rows)
        np.testing.assert_allclose(means, before, atol=1e-8)
        assert (sds <= wider + 1e-9).all()
        assert (sds[:, :2] < 0.8 * wider[:, :2]).all()
        assert mixture.events == 25

    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_member_alone_is_the_member_of_the_mixture(self, weighted):
        mixture, rows = point_mixture(), np.random.default_rng(3).random((4, 3))
        if weighted:
            counts = np.random.default_rng(4).uniform(0.2, 3.0, (3, 25))
            mixture.learn(mixture.points, counts, counts * mixture.sums, events=25)
        means, sds = mixture.members_at(rows)
        for number in range(3):
            mean, sd = mixture.of_member(number).at(rows)
            np.testing.assert_allclose(mean, means[number], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(sd, sds[number], rtol=1e-8)

    def test_kernels_and_ridges_come_in_pairs(self):
        for form, where in ((RowPosterior, ARMS), (PointPosterior, BOX)):
            for kernels, ridges in (([kb.RBF(1.0)], [0.1, 0.2]), ([], [])):
                with pytest.raises(ValueError, match="one ridge for each kernel"):
                    form(kernels, where, ridges)


class TestSearched:
    def test_improvement_from_the_best_has_the_sd_of_what_a_reward_changes(self):
        mixture = point_mixture()
        mixture.update(mixture.points[2], 0.4)
        best = np.array([0.5, 0.8, 0.2])
        surface = Surface(mixture, LogExpectedImprovement(best, from_best=True))
        rows = np.random.default_rng(6).random((4, 3))
        _, sds = surface.form.at(rows)
        for number, found in enumerate(sds):
            member = mixture.of_member(number)
            top = member.points[member.played_means[0].argmax()]
            for row, sd in zip(rows, found, strict=True):
                covariance = member.covariance(np.array([row, top]))
                moved = abs(covariance[0, 0] - covariance[0, 1])
                change = moved / np.sqrt(covariance[0, 0] + member.ridge)
                assert sd == pytest.approx(change, rel=1e-6)
            assert np.abs(surface.form.at(top[None])[1]).min() < 1e-6
        demand_slopes(surface, rows, rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize("kernel", [kb.Matern, AdditiveMatern], ids=["products", "own"])
    def test_improvement_is_the_mean_of_the_improvements_of_the_members(self, kernel):
        mixture, best = point_mixture(kernel), np.array([0.5, 0.8, 0.2])
        surface = Surface(mixture, LogExpectedImprovement(best))
        rows = np.random.default_rng(5).random((5, 3))
        each = np.exp(log_expected_improvement(*mixture.members_at(rows), best[:, None]))
        np.testing.assert_allclose(np.exp(surface.values(rows)), each.mean(0), rtol=1e-6)
        demand_slopes(surface, rows, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("kernel", [kb.Matern, AdditiveMatern], ids=["products", "own"])
    def test_an_index_is_that_of_the_moments_of_the_mixture(self, kernel):
        mixture = point_mixture(kernel)
        surface = Surface(mixture, UpperConfidence(1.0, 2.0))
        rows = np.random.default_rng(7).random((5, 3))
        mean, sd = mixture.at(rows)
        np.testing.assert_allclose(surface.values(rows), mean + 2 * sd, rtol=1e-7)
        demand_slopes(surface, rows, rtol=1e-3, atol=1e-4)

    def test_the_estimate_alone_needs_no_sd(self):
        mixture = point_mixture()
        rows = np.random.default_rng(8).random((5, 3))
        surface = posterior_mean(mixture)
        np.testing.assert_allclose(surface.values(rows), mixture.at(rows)[0], rtol=1e-8)
        demand_slopes(surface, rows, rtol=1e-3, atol=1e-4)
        assert not UpperConfidence(0.0, 2.0).uses_sd


def demand_slopes(surface, rows, rtol, atol):
    """Gradients are those of central differences, and their values those without them."""
    values, slopes = surface.slopes(rows)
    np.testing.assert_allclose(values, surface.values(rows), rtol=1e-9)
    for j, step in enumerate(1e-6 * np.eye(rows.shape[1])):
        rise = (surface.values(rows + step) - surface.values(rows - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, j], rise, rtol=rtol, atol=atol)


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
        stacked = KernelStack(kernels).stacked
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
            assert KernelStack(kernels * 2).stacked is None
        assert KernelStack([one, 3.0 * one + Constant()]).stacked is not None


class TestRows:
    RIDGES = (0.1, 0.01, 0.3)

    def pair(self, points=None):
        """Three members together, and each of them alone."""
        points = few_values() if points is None else points
        arms = kb.Arms(points, blocks=BLOCKS)
        kernels = fitted_kernels(5, BLOCKS)
        single = [RowPosterior(k, arms, r) for k, r in zip(kernels, self.RIDGES, strict=True)]
        return RowPosterior(kernels, arms, self.RIDGES), single

    def tell(self, mixture, single, told):
        for arm, reward in told:
            for posterior in (mixture, *single):
                posterior.update(arm, reward)

    def agree(self, mixture, single, rtol=1e-9):
        means = np.array([member.mean for member in single])
        variances = np.array([member.variance for member in single])
        np.testing.assert_allclose(mixture.means, means, rtol=rtol, atol=1e-10)
        np.testing.assert_allclose(mixture.variances, variances, rtol=rtol, atol=1e-12)
        log_dets = [member.log_det for member in single]
        np.testing.assert_allclose(mixture.log_dets, log_dets, rtol=rtol)
        assert mixture.log_det == pytest.approx(np.mean(log_dets), rel=rtol)
        for member in single:
            np.testing.assert_array_equal(mixture.counts, member.counts)

    def test_everything_equals_the_members_one_by_one(self):
        mixture, single = self.pair()
        rng = np.random.default_rng(10)
        self.agree(mixture, single)
        for n in range(300):
            arm = int(rng.integers(60 if n < 100 else 4))
            self.tell(mixture, single, [(arm, float(rng.normal()))])
            if n in (0, 1, 50, 299):
                self.agree(mixture, single)
        assert not mixture.audit()
        self.agree(mixture, single)
        learnt = self.pair()[0]
        learnt.learn(mixture.counts, mixture.tally.sums)
        np.testing.assert_allclose(learnt.means, mixture.means, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(learnt.variances, mixture.variances, rtol=1e-9, atol=1e-12)

    def test_weights_of_each_member_are_those_of_the_member_alone(self):
        mixture, single = self.pair()
        weights = np.zeros((3, 60))
        weights[:, :9] = np.random.default_rng(3).uniform(0.1, 4.0, (3, 9))
        sums = weights * np.sin(np.arange(60))
        mixture.learn(weights, sums, events=9)
        for member, weight, total in zip(single, weights, sums, strict=True):
            member.learn(weight, total, events=9)
        self.agree_in_moments(mixture, single)
        assert mixture.leave_out_each(mixture.points[:9], mixture.counts[:9]) is None

    def agree_in_moments(self, mixture, single):
        for i, member in enumerate(single):
            np.testing.assert_allclose(mixture.means[i], member.mean, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(mixture.variances[i], member.variance, rtol=1e-9)

    def test_arms_at_one_point_share_their_nugget(self):
        points = few_values()
        points[7] = points[3]
        with pytest.warns(UserWarning, match="repeat another"):
            mixture, single = self.pair(points)
        self.tell(mixture, single, ((3, 1.0), (7, 0.5), (20, -1.0)))
        self.agree(mixture, single)
        assert mixture.mean[3] == pytest.approx(mixture.mean[7], rel=1e-12)

    @pytest.mark.parametrize("pending", [[5], [5, 5, 9, 3]])
    def test_pending_arms_lower_the_variance_and_leave_the_mean(self, pending):
        mixture, single = self.pair()
        self.tell(mixture, single, ((3, 1.0), (7, 0.5), (3, -1.0)))
        before = mixture.variances.copy()
        imagined = mixture.with_pending(pending)
        self.agree(imagined, [member.with_pending(pending) for member in single])
        np.testing.assert_array_equal(mixture.variances, before)
        imagined.update(11, 0.3)
        assert (mixture.events, imagined.events) == (3, 4 + len(pending))

    def test_damage_is_found_and_repaired(self):
        mixture, _ = self.pair()
        assert not mixture.audit()
        mixture.update(3, 1.0)
        expected = mixture.means.copy()
        mixture.means[1, 5] += 1e-3
        with pytest.warns(NumericsWarning, match="repaired from counts after 1 rewards"):
            assert mixture.audit()
        np.testing.assert_allclose(mixture.mean, expected.mean(0), rtol=1e-12)
        assert (mixture.health.audits, mixture.health.repairs) == (2, 1)

    def test_arms_measured_again_add_no_rows(self):
        mixture, _ = self.pair()
        for n in range(500):
            mixture.update(n % 3, 1.0)
        assert mixture.distinct == 3
        assert mixture._rows.shape[1] <= 16

    def test_results_left_out_are_predicted_as_by_factorising_without_them(self):
        """Of eight arms, some measured often: each member predicts from the other seven."""
        mixture, _ = self.pair()
        rng = np.random.default_rng(3)
        for _ in range(200):
            mixture.update(int(rng.integers(8)), float(rng.normal()))
        played = [5, 0, 7, 2, 1, 3, 6, 4]
        counts, sums = mixture.counts, mixture.tally.sums
        predictions, variances = mixture.leave_out_each(mixture.points[played], counts[played])
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
        fewer = played[:-1]
        assert mixture.leave_out_each(mixture.points[fewer], counts[fewer]) is None
        assert mixture.leave_out_each(mixture.points[played], counts[played] + 1) is None

    def test_results_left_out_are_not_predicted_where_digits_are_lost(self):
        arms = kb.Arms(few_values(), blocks=BLOCKS)
        mixture = RowPosterior(fitted_kernels(5, BLOCKS), arms, (1e-8,) * 3)
        mixture.update(0, 1.0)
        mixture.update(1, 2.0)
        assert mixture.leave_out_each(mixture.points[:2], mixture.counts[:2]) is None

    def test_the_state_stays_that_of_counts_and_sums_after_many_rewards(self):
        mixture, _ = self.pair()
        for n in range(1100):
            mixture.update(n % 5, np.sin(n))
        learnt = self.pair()[0]
        learnt.learn(mixture.counts, mixture.tally.sums)
        np.testing.assert_allclose(mixture.means, learnt.means, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(mixture.variances, learnt.variances, rtol=1e-7, atol=1e-12)

    def test_arms_that_do_not_exist_are_refused(self):
        with pytest.raises(ValueError, match="an arm below 60"):
            self.pair()[0].update(60, 1.0)

    def test_the_row_of_an_arm_does_not_depend_on_which_rows_were_computed_before(self):
        arms, kernels = kb.Arms(few_values(), blocks=BLOCKS), fitted_kernels(5, BLOCKS)
        forth, back = (PriorRows(KernelStack(kernels), arms.points) for _ in range(2))
        rows = {arm: forth.of(arm) for arm in range(20)}
        for arm in reversed(range(20)):
            np.testing.assert_array_equal(back.of(arm), rows[arm])


class TestPlayedPoints:
    def test_means_and_inverse_are_those_of_the_definition(self):
        """After learning, a new point, a repeat and another new point."""
        posterior = point_mixture().of_member(0)
        told = (([0.1, 0.2, 0.3], 1.0), (posterior.points[4], -2.0), ([0.9, 0.2, 0.4], 0.5))
        [member] = posterior.members
        for row, reward in told:
            member.inverse_factor  # noqa: B018 (kept, and must follow the next reward)
            posterior.update(row, reward)
            mean, _ = posterior.at(posterior.points)
            np.testing.assert_allclose(posterior.played_means[0], mean, atol=1e-10)
            identity = member.inverse_factor.lower @ member.factor.lower
            np.testing.assert_allclose(identity, np.eye(len(identity)), atol=1e-9)


def test_rows_that_are_kept_are_those_of_the_kernels(monkeypatch):
    """Pending arms in any order, one of them twice, more than are kept; also after a copy."""
    monkeypatch.setattr("kernelbandits.posterior.rows.MOST_KEPT", 3 * 2 * 12)
    arms = kb.Arms(np.random.default_rng(4).random((12, 2)))
    kernels = [kb.Matern((0.3, 0.4)) + 0.1 * SamePoint(), kb.Matern((0.5, 0.2)) + 0.2 * SamePoint()]
    kept = RowPosterior(kernels, arms, [0.1, 0.2])
    for pending in ([3, 5], [5, 3, 7], [7, 7, 1, 2, 0], [11]):
        kept.update(pending[0], 0.5)
        plain = RowPosterior(kernels, arms, [0.1, 0.2])
        plain.learn(kept.counts, kept.tally.sums)
        for mixture in (kept, pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
            found, wanted = mixture.with_pending(pending), plain.with_pending(pending)
            np.testing.assert_allclose(found.variances, wanted.variances, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.means, wanted.means, rtol=1e-9, atol=1e-12)
