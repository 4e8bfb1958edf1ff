"""Calibration: the likelihood against the dense Gaussian density, its gradient, the fit, the units, and bad days."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from threadpoolctl import threadpool_info, threadpool_limits

import kernelbandits as kb
from kernelbandits.calibration import (
    Calibration,
    Prior,
    Refits,
    Standard,
    calibrate,
    calibrate_members,
)
from kernelbandits.calibration import evidence as likelihood
from kernelbandits.calibration import fit as fits
from kernelbandits.calibration.evidence import Evidence
from kernelbandits.calibration.fit import WIDENING, check_arguments, random_signs
from kernelbandits.calibration.fitter import Fit
from kernelbandits.calibration.standard import Summary
from kernelbandits.policies.stored import CODEC

NUS = (1.5, 2.5, math.inf)
PRIOR = Prior(
    length=-1.2,
    growth=0.5,
    length_sd=0.7,
    signal=0.0,
    signal_sd=1.5,
    additive=None,
    nugget=None,
    noise=-4.0,
    noise_sd=1.0,
)
"""One of many; nothing here depends on which is the default."""
WIDE = replace(PRIOR, length_sd=5.0, signal_sd=5.0, noise_sd=5.0)
"""A prior that hardly speaks."""


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def kernel_of(lengthscales, nu):
    return kb.RBF(tuple(lengthscales)) if math.isinf(nu) else kb.Matern(tuple(lengthscales), nu)


def collapse(which, rewards):
    """Counts, sums and sums of squares of the rewards at points 0, 1, 2, ..."""
    return np.bincount(which), np.bincount(which, rewards), np.bincount(which, rewards**2)


def means_of(which, rewards):
    """The mean reward of each point."""
    return np.bincount(which, rewards) / np.bincount(which)


def some_data(m=9, d=2, repeats=8, seed=3, noise=0.3):
    """Points, the point of each reward, the rewards: every point once, some again."""
    rng = np.random.default_rng(seed)
    points = rng.random((m, d))
    which = np.concatenate([np.arange(m), rng.integers(0, m, repeats)])
    return points, which, (np.sin(5 * points.sum(1))[which] + noise * rng.normal(size=len(which)))


def fit_of(points, which, rewards, **settings):
    return calibrate(points, *collapse(which, rewards), **{"prior": PRIOR, **settings})


def dense_log_density(points, which, rewards, lengthscales, signal, noise, nu):
    """ln N(z; 0, signal k + 1 1' + noise I) of the standardised rewards one by one."""
    means = means_of(which, rewards)
    z = (rewards - means.mean()) / means.std()
    x = points[which]
    covariance = signal * kernel_of(lengthscales, nu)(x, x) + 1.0 + noise * np.eye(len(z))
    return -0.5 * (
        z @ np.linalg.solve(covariance, z) + np.linalg.slogdet(2 * np.pi * covariance)[1]
    )


def evidence_of(points, which, rewards, shared=False, nu=2.5, **parts):
    return Evidence.of(points, Summary.of("test", *collapse(which, rewards)), shared, nu, **parts)


BLOCKS = ((0,), (1, 2), (3,))
"""A number, a category of two values and another number."""


def dense_log_density_of_all_parts(points, which, rewards, parameters):
    """ln N(z; 0, ...) of a model with all parts, from the kernels themselves, one by one."""
    lengths, (signal, additive, nugget, noise) = np.exp(parameters[:3]), np.exp(parameters[3:])
    each = lengths[[0, 1, 1, 2]]
    means = means_of(which, rewards)
    z, x = (rewards - means.mean()) / means.std(), points[which]
    one_by_one = sum(
        kb.Matern(tuple(each[list(block)]), 2.5)(x[:, list(block)], x[:, list(block)])
        for block in BLOCKS
    )
    covariance = signal * kb.Matern(tuple(each), 2.5)(x, x) + additive / 3 * one_by_one + 1.0
    covariance += nugget * (which[:, None] == which) + noise * np.eye(len(z))
    return -0.5 * (
        z @ np.linalg.solve(covariance, z) + np.linalg.slogdet(2 * np.pi * covariance)[1]
    )


class TestAllParts:
    PARAMETERS = np.log([0.3, 0.7, 0.5, 1.4, 0.6, 0.05, 0.2])

    def test_the_likelihood_is_the_density_of_the_rewards_one_by_one(self):
        data = some_data(d=4)
        parts = evidence_of(*data, blocks=BLOCKS, has_additive=True, has_nugget=True)
        dense = dense_log_density_of_all_parts(*data, self.PARAMETERS)
        assert parts.value(self.PARAMETERS) == pytest.approx(dense, rel=1e-11)

    @pytest.mark.parametrize("shared", [False, True])
    def test_the_gradient_is_that_of_central_differences(self, shared):
        evidence = evidence_of(
            *some_data(d=4), shared=shared, blocks=BLOCKS, has_additive=True, has_nugget=True
        )
        parameters = self.PARAMETERS[2:] if shared else self.PARAMETERS
        slopes = [
            (evidence.value(parameters + h) - evidence.value(parameters - h)) / 2e-5
            for h in 1e-5 * np.eye(len(parameters))
        ]
        np.testing.assert_allclose(evidence.value_and_gradient(parameters)[1], slopes, rtol=1e-5)

    def test_the_whole_kernel_is_the_covariance_of_the_likelihood(self):
        data = some_data(d=4, repeats=0)
        fit = calibrate(data[0], *collapse(*data[1:]), prior=Prior(), blocks=BLOCKS)
        z = fit.standard.standardise(data[2])
        covariance = fit.whole_kernel(np.ones(4))(data[0], data[0])
        covariance += fit.noise_variance * np.eye(len(z))
        dense = -0.5 * (
            z @ np.linalg.solve(covariance, z) + np.linalg.slogdet(2 * np.pi * covariance)[1]
        )
        assert fit.evidence == pytest.approx(dense, rel=1e-9)

    def test_coordinates_of_one_block_share_a_lengthscale(self):
        data = some_data(d=4)
        fit = calibrate(data[0], *collapse(*data[1:]), prior=Prior(), blocks=BLOCKS)
        assert fit.lengthscales[1] == fit.lengthscales[2]
        assert len(set(fit.lengthscales)) == 3

    def test_repeats_tell_noise_from_nugget(self):
        """Rewards that differ between points but repeat nearly exactly have a nugget, not noise."""
        rng = np.random.default_rng(5)
        points, which = rng.random((12, 2)), np.repeat(np.arange(12), 3)
        rewards = rng.normal(size=12)[which] + 0.01 * rng.normal(size=36)
        fit = calibrate(points, *collapse(which, rewards), prior=Prior(length=1.0, length_sd=0.1))
        assert fit.noise_scale == pytest.approx(0.01, rel=0.5)
        assert fit.nugget_variance > 100 * fit.noise_variance

    def test_an_additive_function_is_learnt_from_fewer_points(self):
        """From 50 points of a sum of functions of one column each, in eight columns."""
        rng = np.random.default_rng(6)
        points = rng.random((250, 8))
        values = np.sin(5 * points).sum(1)
        here, there = points[:50], points[50:]

        def error(prior):
            fit = calibrate(here, np.ones(50), values[:50], values[:50] ** 2, prior=prior)
            kernel, z = fit.whole_kernel(np.ones(8)), fit.standard.standardise(values[:50])
            weights = np.linalg.solve(kernel(here, here) + fit.noise_variance * np.eye(50), z)
            return np.square(
                fit.standard.original(kernel(there, here) @ weights) - values[50:]
            ).mean()

        assert error(Prior()) < 0.8 * error(Prior(additive=None))


class TestFewEvaluations:
    """Thresholds are lowered, since fits to so many points take seconds."""

    def data(self):
        rng = np.random.default_rng(8)
        points = rng.random((150, 2))
        rewards = np.sin(5 * points).sum(1) + 0.1 * rng.standard_normal(150)
        return points, np.ones(150), rewards, rewards**2

    def test_a_sample_is_fitted_and_the_fit_says_so(self, monkeypatch):
        whole, members = calibrate_members(*self.data())
        monkeypatch.setattr(fits, "MOST_FITTED", 100)
        mode, drawn = calibrate_members(*self.data())
        assert (mode.rewards, mode.points, mode.sample) == (150, 150, 100)
        assert "150 rewards at 150 points, the scales to 100 of these points." in mode.sentence()
        assert (whole.sample, {one.sample for one in (*members, *drawn)}) == (0, {0, 100})
        # A third of the rewards left out moves the scales by less than their uncertainty.
        assert np.abs(np.log(np.divide(mode.lengthscales, whole.lengthscales))).max() < 0.3
        fit = Fit(mode, drawn, (1.0, 1.0), False)
        assert CODEC.decode(json.loads(json.dumps(CODEC.encode(fit)))) == fit

    def test_few_evaluations_of_all_points_find_the_density_of_many(self, monkeypatch):
        exact = calibrate_members(*self.data(), evaluations=200)[0]
        monkeypatch.setattr(fits, "EXPECTED", 100)
        monkeypatch.setattr(fits, "DIFFERENCES", 40)
        mode, members = calibrate_members(*self.data())
        assert mode.evaluations <= fits.FEW_EVALUATIONS
        assert mode.evidence == pytest.approx(exact.evidence, abs=0.5)
        assert len({one.lengthscales for one in members}) == 8

    def test_the_evidence_of_members_of_many_points_is_that_of_the_normal_law(self, monkeypatch):
        """It is not computed exactly there, but about right for draws about the mode."""
        monkeypatch.setattr(fits, "EXPECTED", 100)
        _, members = calibrate_members(*self.data(), prior=PRIOR)
        fit = check_arguments(*self.data(), PRIOR, False, 2.5)
        search = fit.search()
        errors = [one.evidence - search.evidence.value(fit.parameters(one)) for one in members]
        # The draws themselves are some four units below the mode.
        assert np.median(np.abs(errors)) < 1


class TestMembers:
    def data(self, m=12):
        points, which, rewards = some_data(m=m, repeats=0)
        return points, *collapse(which, rewards)

    def test_members_depend_on_the_rewards_only(self):
        assert calibrate_members(*self.data()) == calibrate_members(*self.data())

    def test_members_spread_about_the_mode_as_the_curvature_says(self):
        """The mean of (v - v_mode)' H (v - v_mode) / 1.5 over many members is the dimension."""
        data = self.data(m=30)
        mode, members = calibrate_members(*data, members=256, prior=PRIOR)
        fit = check_arguments(*data, PRIOR, False, 2.5)
        search = fit.search()
        centre = search.standardise(fit.parameters(mode))
        away = np.array([search.standardise(fit.parameters(one)) - centre for one in members])
        sizes = np.einsum("ni,ij,nj->n", away, search.curvature(centre), away) / WIDENING
        # The variance of a chi-square of 4 degrees is 8; evenly spread points do better than draws.
        assert sizes.mean() == pytest.approx(4, abs=4 * math.sqrt(8 / 256))

    def test_fewer_rewards_mean_members_that_differ_more(self):
        def spread_of(m):
            _, members = calibrate_members(*self.data(m))
            return np.std([np.log(member.lengthscales[0]) for member in members])

        assert spread_of(60) < 0.7 * spread_of(6)

    def test_one_member_is_the_mode(self):
        mode, members = calibrate_members(*self.data(), members=1)
        assert members == (mode,)

    def test_equal_rewards_have_members_of_the_prior(self):
        mode, members = calibrate_members([[0.0], [1.0]], [1, 1], [3.0, 3.0], [9.0, 9.0])
        assert not mode.ok
        assert len({member.lengthscales for member in members}) == 8


class TestLikelihood:
    @pytest.mark.parametrize("nu", NUS)
    @pytest.mark.parametrize("repeats", [0, 8])
    def test_collapsed_repeats_give_the_density_of_the_rewards_one_by_one(self, nu, repeats):
        data = some_data(repeats=repeats)
        parameters = np.log([0.3, 0.7, 1.4, 0.2])
        dense = dense_log_density(*data, (0.3, 0.7), 1.4, 0.2, nu)
        assert evidence_of(*data, nu=nu).value(parameters) == pytest.approx(dense, rel=1e-11)

    @pytest.mark.parametrize("nu", NUS)
    @pytest.mark.parametrize("shared", [False, True])
    def test_the_gradient_is_that_of_central_differences(self, nu, shared):
        evidence = evidence_of(*some_data(d=3), shared=shared, nu=nu)
        rng = np.random.default_rng(1)
        for _ in range(5):
            parameters = np.array(
                [*rng.normal(-0.8, 0.5, 1 if shared else 3), rng.normal(0, 1), rng.normal(-2, 1)]
            )
            value, gradient = evidence.value_and_gradient(parameters)
            steps = 1e-5 * np.eye(len(parameters))
            slopes = [
                (evidence.value(parameters + h) - evidence.value(parameters - h)) / 2e-5
                for h in steps
            ]
            assert value == pytest.approx(evidence.value(parameters), rel=1e-13)
            assert np.abs(gradient - slopes).max() <= 1e-6 * max(1.0, np.abs(slopes).max())

    def test_the_gradient_that_is_searched_with_includes_the_prior(self):
        points, which, rewards = some_data(d=2)
        search = check_arguments(points, *collapse(which, rewards), PRIOR, False, 2.5).search()
        v = np.array([0.3, -0.7, 1.1, -0.4])
        slopes = [(search.value(v + h) - search.value(v - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
        np.testing.assert_allclose(search.value_and_gradient(v)[1], slopes, rtol=1e-6, atol=1e-7)
        scales = np.exp(search.mode + search.sds * v)
        prior = 0.5 * np.sum(((np.log(scales) - search.mode) / search.sds) ** 2)
        dense = dense_log_density(points, which, rewards, scales[:2], scales[2], scales[3], 2.5)
        assert search.value(v) == pytest.approx(prior - dense, rel=1e-11)

    def test_a_shared_lengthscale_is_equal_lengthscales(self):
        data = some_data(d=3)
        alone, each = evidence_of(*data, shared=True), evidence_of(*data)
        assert alone.value(np.log([0.4, 1.3, 0.1])) == pytest.approx(
            each.value(np.log([0.4] * 3 + [1.3, 0.1])), 1e-12
        )

    def test_the_mean_is_the_posterior_mean_of_the_constant(self):
        """E[mu | z] = 1' C^-1 z / (1 + 1' C^-1 1), C without the constant, on the rewards one by one."""
        points, which, rewards = some_data()
        fit = fit_of(points, which, rewards)
        x, z = points[which], fit.standard.standardise(rewards)
        covariance = fit.posterior_kernel(x, x) + fit.noise_variance * np.eye(len(z))
        ones = np.linalg.solve(covariance, np.ones(len(z)))
        assert fit.mean == pytest.approx(ones @ z / (1 + ones.sum()), rel=1e-9)

    def test_a_matrix_singular_by_rounding_is_raised_by_what_rounding_explains(self):
        evidence = Evidence.of(
            np.zeros((30, 1)), Summary(np.full(30, 1.0), np.linspace(-1, 1, 30), 0.0), False, 2.5
        )
        assert math.isfinite(evidence.value(np.array([0.0, 0.0, -30.0])))
        factor = evidence.factor(np.array([0.0, 0.0, -100.0]))
        assert np.square(factor.lower[0, 0]) - 2.0 <= 8 * 30 * np.finfo(float).eps * 2.0 * (
            1 + 1e-9
        )

    def test_a_matrix_that_is_not_positive_has_no_likelihood(self, monkeypatch):
        monkeypatch.setitem(likelihood.PROFILES, 2.5, lambda squares: (2.0 + squares, squares))
        evidence = evidence_of(*some_data())
        value, gradient = evidence.value_and_gradient(np.log([0.3, 0.7, 1.4, 0.2]))
        assert value == evidence.value(np.log([0.3, 0.7, 1.4, 0.2])) == -math.inf
        assert not gradient.any()


class TestManyPoints:
    """More pairs of points than are computed at a time, and a fit to some of the points first."""

    @staticmethod
    def table(m=200, seed=3):
        rng = np.random.default_rng(seed)
        points = rng.random((m, 3))
        rewards = np.sin(5 * points[:, 0]) + points[:, 1] ** 2 + 0.1 * rng.normal(size=m)
        return points, np.ones(m), rewards, rewards**2

    def test_the_gradient_is_that_of_differences(self):
        points, *totals = self.table()
        evidence = Evidence.of(
            points,
            Summary.of("test", *totals),
            False,
            2.5,
            ((0,), (1, 2)),
            has_additive=True,
            has_nugget=True,
        )
        parameters = np.log([0.4, 0.8, 0.9, 0.3, 0.05, 0.02])
        value, gradient = evidence.value_and_gradient(parameters)
        slopes = [
            (evidence.value(parameters + h) - evidence.value(parameters - h)) / 2e-5
            for h in 1e-5 * np.eye(6)
        ]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5)
        assert value == evidence.value(parameters)

    def test_a_start_from_some_of_the_points_ends_where_a_search_from_everywhere_does(self):
        problem = check_arguments(*self.table(), Prior(), False, 2.5)
        found = problem.run(None, 60)
        everywhere = problem.search()
        everywhere.run(problem.starts(None), 200)
        density = problem.search().value(everywhere.standardise(problem.parameters(found)))
        assert found.message == "converged"
        assert density <= everywhere.least + 0.02

    def test_the_information_is_that_of_its_definition(self):
        """With unit vectors as probes exactly; with random signs to a few per cent."""
        points, *totals = self.table(60)
        evidence = Evidence.of(points, Summary.of("test", *totals), False, 2.5)
        lengths, signal, noise = (0.4, 0.8, 0.6), 0.9, 0.05
        expected = dense_information(points, lengths, signal, noise, 2.5)
        parameters = np.log([*lengths, signal, noise])
        exact = evidence.information(parameters, math.sqrt(60) * np.eye(60))
        np.testing.assert_allclose(exact, expected, rtol=1e-6, atol=1e-6)
        estimated = evidence.information(parameters, random_signs(60))
        np.testing.assert_allclose(estimated.diagonal(), expected.diagonal(), rtol=0.3)

    def test_the_information_of_all_parts_is_the_curvature_that_rewards_have_on_average(self):
        """Rewards drawn from the model: the mean curvature of 30 draws, in four standard errors."""
        rng = np.random.default_rng(6)
        points, blocks = rng.random((50, 3)), ((0,), (1, 2))
        parameters = np.log([0.5, 0.7, 0.9, 0.5, 0.1, 0.05])
        parts = {"blocks": blocks, "has_additive": True, "has_nugget": True}
        counts = np.where(np.arange(50) < 10, 2.0, 1.0)

        def evidence_with(means, scatter):
            made = Evidence.of(points, Summary(counts, means, 0.0), False, 2.5, **parts)
            return replace(made, means=means, scatter=scatter)

        base = evidence_with(rng.normal(size=50), 0.0)
        lower = np.tril(base.factor(parameters).lower)
        curvatures = []
        for _ in range(30):
            scatter = 0.05 * float(rng.chisquare(10))
            evidence = evidence_with(lower @ rng.normal(size=50), scatter)
            steps = 1e-4 * np.eye(6)
            gradients = [
                evidence.value_and_gradient(parameters - h)[1]
                - evidence.value_and_gradient(parameters + h)[1]
                for h in steps
            ]
            curvatures.append(np.array(gradients) / 2e-4)
        found = base.information(parameters, math.sqrt(50) * np.eye(50))
        error = np.std(curvatures, axis=0, ddof=1) / math.sqrt(30)
        assert (np.abs(np.mean(curvatures, axis=0) - found) <= 4 * error + 1e-6).all()

    def test_members_of_many_points_are_drawn_with_the_expected_curvature(self, monkeypatch):
        data = self.table()
        monkeypatch.setattr(fits, "EXPECTED", 150)
        _, members = calibrate_members(*data)
        problem = check_arguments(*data, Prior(), False, 2.5)
        search = problem.search()
        drawn = np.array([search.standardise(problem.parameters(one)) for one in members])
        spread = np.linalg.inv(search.expected_curvature(drawn.mean(0))).diagonal()
        ratios = drawn.var(0, ddof=1) / (WIDENING * spread)
        assert (ratios > 0.2).all()
        assert (ratios < 4).all()

    def test_members_keep_the_sum_of_nugget_and_noise_where_no_point_has_two_rewards(
        self, monkeypatch
    ):
        """Their log density is below that of the mode by about 1.5 chi^2 / 2.

        The 0.9999 quantile of that is 21. Steps of ln noise alone gave 35.
        """
        monkeypatch.setattr(fits, "EXPECTED", 150)
        rng = np.random.default_rng(3)
        points = rng.random((200, 2))
        rewards = np.sin(4 * points).sum(1) + 0.3 * rng.standard_normal(200)
        data = points, np.ones(200), rewards, rewards**2
        mode, members = calibrate_members(*data)
        fit = check_arguments(*data, Prior(), False, 2.5)
        search = fit.search()
        heights = [search.value(search.standardise(fit.parameters(one))) for one in members]
        lowest = search.value(search.standardise(fit.parameters(mode)))
        quantile = chi2.ppf(0.9999, len(search.sds))
        assert max(heights) - lowest < WIDENING * quantile / 2
        totals = [one.nugget_variance + one.noise_variance for one in members]
        assert max(totals) < 2 * (mode.nugget_variance + mode.noise_variance)
        assert np.ptp(np.log([one.noise_variance / one.nugget_variance for one in members])) > 2

    def test_steps_of_total_and_ratio_are_steps_of_nugget_and_noise(self):
        logs, sds = np.log([0.1, 0.02]), np.array([1.5, 2.0])
        noises = fits.NoiseCoordinates(np.array([0.3, 0.1, -0.2]), logs, sds)
        moved = noises.move(np.array([0.5, 0.2, 0.4]))
        nugget, noise = np.exp(logs + (moved - noises.centre)[1:] * sds)
        assert moved[0] == pytest.approx(0.8)
        assert nugget + noise == pytest.approx(0.12 * np.exp(0.2 * 2.0))
        assert noise / nugget == pytest.approx(0.2 * np.exp(0.4 * 2.0))
        steps = 1e-6 * np.eye(3)
        slopes = [(noises.move(step) - noises.move(-step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(noises.jacobian, np.array(slopes).T, atol=1e-8)

    def test_which_points_come_first_does_not_depend_on_their_order(self):
        points, *totals = self.table()
        order = np.random.default_rng(5).permutation(len(points))
        parts = [
            check_arguments(*data, Prior(), False, 2.5).choose_subset()
            for data in ((points, *totals), (points[order], *(one[order] for one in totals)))
        ]
        np.testing.assert_array_equal(parts[0].points, parts[1].points)
        np.testing.assert_array_equal(parts[0].summary.means, parts[1].summary.means)


def dense_information(points, lengthscales, signal, noise, nu):
    """Fisher information of (ln l, ln signal, ln noise): 1/2 tr(C^-1 dC C^-1 dC), the derivatives by differences."""
    centre = np.log([*lengthscales, signal, noise])

    def solved(parameters):
        *lengths, s, v = np.exp(parameters)
        return s * kernel_of(lengths, nu)(points, points) + 1.0 + v * np.eye(len(points))

    slopes = [(solved(centre + h) - solved(centre - h)) / 2e-4 for h in 1e-4 * np.eye(len(centre))]
    ratios = [np.linalg.solve(solved(centre), slope) for slope in slopes]
    return np.array([[0.5 * np.sum(a * b.T) for a in ratios] for b in ratios])


class TestFit:
    @pytest.mark.parametrize("nu", NUS)
    def test_lengthscales_and_noise_of_a_sample_are_recovered_within_four_standard_errors(self, nu):
        rng = np.random.default_rng(8)
        points, truth, noise = rng.random((220, 2)), (0.15, 0.4), 0.02
        covariance = kernel_of(truth, nu)(points, points) + noise * np.eye(220)
        rewards = 5.0 + 2.0 * np.linalg.cholesky(covariance) @ rng.normal(size=220)
        fit = fit_of(points, np.arange(220), rewards, prior=WIDE, nu=nu, evaluations=60)
        errors = np.sqrt(np.diag(np.linalg.inv(dense_information(points, truth, 1.0, noise, nu))))
        found = [
            *fit.lengthscales,
            (fit.signal_standard.spread / 2) ** 2,
            (fit.noise_scale / 2) ** 2,
        ]
        assert fit.ok
        assert errors[[0, 1, 3]].max() < 0.25, "the test could not fail"
        assert (np.abs(np.log(found) - np.log([*truth, 1.0, noise])) <= 4 * errors).all()

    def test_noise_of_pure_replicates_is_their_pooled_variance(self):
        """With many repeats of few far points the profile is flat but for the scatter: noise = S / (N - m)."""
        rng = np.random.default_rng(4)
        which = np.repeat([0, 1, 2], 2000)
        rewards = np.array([-3.0, 1.0, 4.0])[which] + 0.7 * rng.normal(size=len(which))
        points = np.array([[0.0], [0.5], [1.0]])
        fit = fit_of(points, which, rewards, prior=replace(WIDE, noise_sd=50.0), evaluations=60)
        pooled = sum(rewards[which == i].var() * 2000 for i in range(3)) / (len(which) - 3)
        assert fit.noise_scale == pytest.approx(math.sqrt(pooled), rel=1e-3)

    def test_one_point_played_again_and_again_gives_its_noise(self):
        rewards = np.random.default_rng(5).normal(2.0, 0.3, 500)
        fit = calibrate(
            [[0.4, 0.4]],
            [500],
            [rewards.sum()],
            [(rewards**2).sum()],
            prior=replace(WIDE, noise_sd=50.0),
        )
        assert fit.ok
        assert fit.noise_scale == pytest.approx(rewards.std(ddof=1), rel=1e-3)
        assert fit.lengthscales == pytest.approx(np.exp(WIDE.mode(2, 2)[:2]))

    @pytest.mark.parametrize(
        ("scale", "shift"),
        [(1.0, 12.5), (-1.0, 0.0), (3.7e5, -1e5), (2.0**-400, 0.0), (1e-9, 1e-8)],
    )
    def test_scaling_and_shifting_rewards_changes_the_standard_only(self, scale, shift):
        points, which, rewards = some_data(m=12, repeats=6)
        one, other = fit_of(points, which, rewards), fit_of(points, which, scale * rewards + shift)
        for field in ("lengthscales", "signal_variance", "noise_variance", "evidence"):
            assert getattr(other, field) == pytest.approx(getattr(one, field), rel=1e-8)
        assert other.mean == pytest.approx(math.copysign(1, scale) * one.mean, rel=1e-6, abs=1e-8)
        assert other.standard.centre == pytest.approx(scale * one.standard.centre + shift, rel=1e-9)
        assert other.standard.spread == pytest.approx(abs(scale) * one.standard.spread, rel=1e-9)

    @pytest.mark.parametrize("seed", range(4))
    def test_the_order_of_the_points_does_not_matter(self, seed):
        points, which, rewards = some_data(m=15, repeats=9, seed=seed)
        columns, order = collapse(which, rewards), np.random.default_rng(seed).permutation(15)
        one, other = (
            calibrate(points, *columns),
            calibrate(points[order], *(column[order] for column in columns)),
        )
        scales = ("signal_variance", "noise_variance", "mean", "evidence")
        assert other.lengthscales == pytest.approx(one.lengthscales, rel=1e-6)
        assert [getattr(other, name) for name in scales] == pytest.approx(
            [getattr(one, name) for name in scales], 1e-6
        )

    def test_the_same_point_in_two_rows_is_the_same_point_in_one(self):
        """Each point twice, so that the constants which standardise are the same."""
        points, _, rewards = some_data(m=8, repeats=0)
        which, rewards = np.tile(np.arange(8), 2), np.tile(rewards, 2)
        one, other = fit_of(points, which, rewards), fit_of(points[which], np.arange(16), rewards)
        assert other.lengthscales == pytest.approx(one.lengthscales, rel=1e-6)
        assert other.noise_variance == pytest.approx(one.noise_variance, rel=1e-6)
        assert other.evidence == pytest.approx(one.evidence, rel=1e-9)

    def test_no_slope_is_left_where_the_search_converged(self):
        points, which, rewards = some_data(m=20, d=2, repeats=5)
        problem = check_arguments(points, *collapse(which, rewards), PRIOR, False, 2.5)
        fit, search = fit_of(points, which, rewards), problem.search()
        _, slope = search.value_and_gradient((problem.parameters(fit) - search.mode) / search.sds)
        assert fit.message == "converged"
        assert np.abs(slope).max() < 0.1

    @pytest.mark.thorough
    def test_more_evaluations_find_no_worse_a_maximum_and_a_grid_none_better(self):
        points, which, rewards = some_data(m=7, d=1, repeats=0, seed=11)
        problem = check_arguments(points, *collapse(which, rewards), PRIOR, False, 2.5)
        search = problem.search()

        def density(fit):
            return -search.value((problem.parameters(fit) - search.mode) / search.sds)

        short, long = (fit_of(points, which, rewards, evaluations=n) for n in (20, 80))
        steps = np.linspace(-3, 3, 25)
        grid = max(-search.value(np.array([a, b, c])) for a in steps for b in steps for c in steps)
        assert density(long) >= density(short) - 1e-9
        assert density(long) >= grid - 1e-3

    def test_lengths_stay_within_five_standard_deviations_and_noise_above_1e_4_of_the_spread(self):
        """Many equal repeats ask for noise zero, equal points for no length at all."""
        points, _, means = some_data(m=30, repeats=0)
        fit = calibrate(
            points,
            [1000] * 30,
            1000 * means,
            1000 * means**2,
            prior=replace(PRIOR, length_sd=0.01, noise=-2.0),
        )
        assert math.sqrt(fit.noise_variance) == pytest.approx(1e-4, rel=1e-9)
        assert np.abs(np.log(fit.lengthscales) - PRIOR.mode(2, 2)[0]).max() <= 0.05 + 1e-12

    def test_a_prior_that_hardly_speaks_still_keeps_the_search_among_numbers(self):
        points, _, means = some_data(m=10, repeats=0)
        fit = calibrate(
            points, [100] * 10, 100 * means, 100 * means**2, prior=replace(WIDE, noise_sd=1e6)
        )
        assert fit.ok
        assert math.log(fit.noise_variance) == pytest.approx(WIDE.noise - 15.0, abs=1e-9)

    def test_the_best_parameters_met_are_remembered(self):
        points, which, rewards = some_data()
        search = check_arguments(points, *collapse(which, rewards), PRIOR, False, 2.5).search()
        near, far = np.zeros(4), np.full(4, 4.0)
        assert search.value(near) < search.value(far)
        assert (search.best == search.mode).all()
        assert search.least == search.value(near)
        assert search.evaluations == 3

    def test_other_starts_are_searched_while_half_of_the_evaluations_are_left(self):
        data = some_data(m=60, d=6, repeats=0)
        few, many = fit_of(*data), fit_of(*data, evaluations=100)
        assert few.message == many.message == "converged"
        assert 10 <= few.evaluations < 20
        assert many.evaluations > 2 * few.evaluations

    def test_a_refit_spends_about_twenty_evaluations_at_sixty_points_in_six_dimensions(self):
        points, which, rewards = some_data(m=60, d=6, repeats=0)
        first = fit_of(points[:48], which[:48], rewards[:48])
        assert fit_of(points, which, rewards, start=first).evaluations <= 25
        assert fit_of(points, which, rewards).evaluations <= 25

    def test_the_last_fit_is_a_start_and_never_worsens_the_fit_it_came_from(self):
        data = some_data(m=20, d=3)
        first = fit_of(*data, evaluations=60)
        again = fit_of(*data, start=first)
        assert again.evaluations < first.evaluations
        assert again.lengthscales == pytest.approx(first.lengthscales, rel=0.05)
        assert fit_of(*data, start=first) == again

    def test_shared_gives_one_length_in_every_dimension(self):
        data = some_data(m=20, d=3)
        fit = fit_of(*data, shared=True, start=fit_of(*data))
        assert len(fit.lengthscales) == 3
        assert len(set(fit.lengthscales)) == 1


class TestPrior:
    def test_lengths_grow_with_the_dimension(self):
        prior = Prior(length=-1.0, growth=0.8)
        assert prior.mode(9, 9)[:9] == pytest.approx([-1.0 + 0.4 * math.log(9)] * 9)
        assert prior.mode(1, 1)[0] == -1.0

    @pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, True, 21.0])
    def test_means_are_logarithms_of_sensible_size(self, bad):
        for name in ("length", "growth", "signal", "noise"):
            with pytest.raises(ValueError, match=f"Prior needs {name} in .*, got"):
                Prior(**{name: bad})

    @pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, 0.0, -1.0])
    def test_standard_deviations_are_positive(self, bad):
        with pytest.raises(ValueError, match="Prior needs noise_sd > 0, got"):
            Prior(noise_sd=bad)


class TestStandard:
    def test_it_is_the_mean_and_sd_of_the_mean_rewards_of_distinct_points(self):
        _, which, rewards = some_data()
        means = means_of(which, rewards)
        standard = Standard.of(*collapse(which, rewards))
        assert (standard.centre, standard.spread) == pytest.approx(
            (means.mean(), means.std()), rel=1e-12
        )
        assert means.mean() != pytest.approx(rewards.mean(), rel=1e-3)
        np.testing.assert_allclose(
            standard.original(standard.standardise(rewards)), rewards, rtol=1e-12
        )

    def test_a_point_played_again_and_again_counts_once(self):
        once = Standard.of([1, 1, 1], [1.0, 2.0, 6.0], [1.0, 4.0, 36.0])
        often = Standard.of([1, 1, 1000], [1.0, 2.0, 6000.0], [1.0, 4.0, 36000.0 + 90.0])
        assert (often.centre, often.spread) == pytest.approx((once.centre, once.spread), rel=1e-12)

    def test_at_one_point_it_is_the_mean_and_sd_of_the_rewards(self):
        rewards = np.random.default_rng(2).normal(4.0, 0.5, 30)
        standard = Standard.of([30], [rewards.sum()], [np.square(rewards).sum()])
        assert (standard.centre, standard.spread) == pytest.approx(
            (rewards.mean(), rewards.std()), rel=1e-9
        )

    @pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e150, 1e-300])
    def test_equal_rewards_have_spread_one(self, value):
        assert Standard.of(
            [3, 1], [3 * value, value], [3 * value * value, value * value]
        ) == Standard(value, 1.0)

    def test_equal_rewards_of_the_least_size_have_spread_one(self):
        standard = Standard.of([3, 1], [1.5e-323, 5e-324], [0.0, 0.0])
        assert (standard.spread, abs(standard.centre) <= 5e-324) == (1.0, True)

    def test_tiny_rewards_whose_squares_vanish_keep_their_spread(self):
        rewards = 1e-300 * np.array([1.0, 2.0, 4.0])
        standard = Standard.of([1, 1, 1], rewards, rewards**2)
        assert standard.spread == pytest.approx(1e-300 * np.std([1, 2, 4]), rel=1e-12)

    @pytest.mark.parametrize(
        ("centre", "spread"), [(math.nan, 1), (0, 0), (0, -1), (0, math.inf), ("a", 1), (None, 1)]
    )
    def test_bad_constants_are_refused(self, centre, spread):
        with pytest.raises(ValueError, match="Standard needs"):
            Standard(centre, spread)


class TestRefits:
    @pytest.mark.thorough
    def test_they_are_geometric(self):
        due = [n for n in range(100_001) if Refits().is_due(n)]
        assert due == sorted({math.ceil(2 * 1.25**k) for k in range(49)})
        assert due[:10] == [2, 3, 4, 5, 7, 8, 10, 12, 15, 19]
        assert 45 <= len(due) <= 50

    @given(st.floats(1.001, 10.0), st.integers(1, 50), st.integers(0, 60))
    def test_every_power_is_due_whatever_the_growth(self, growth, first, k):
        n = math.ceil(first * growth**k)
        assert Refits(growth, first).is_due(n)
        assert not Refits(growth, first).is_due(first - 1)

    @pytest.mark.parametrize("bad", [1.0, 0.5, math.nan, math.inf, "2", None, True])
    def test_growth_is_above_one(self, bad):
        with pytest.raises(ValueError, match=r"Refits needs growth >= 1.001, got"):
            Refits(growth=bad)

    @pytest.mark.parametrize("bad", [0, -1, 1.5, "2", None])
    def test_first_is_a_whole_number(self, bad):
        with pytest.raises(ValueError, match="Refits needs a whole number first >= 1, got"):
            Refits(first=bad)

    @pytest.mark.parametrize("bad", [-1, 2.0, "2", None, math.nan])
    def test_events_are_whole(self, bad):
        with pytest.raises(ValueError, match="due needs a whole number events >= 0, got"):
            Refits().is_due(bad)


GIVEN = Calibration((0.3, 0.6), 4.0, 0.25, 0.5, Standard(10.0, 2.0), rewards=3, points=2)


class TestUnits:
    def test_the_posterior_is_the_same_in_standardised_and_in_signal_units(self):
        points, which, rewards = some_data(m=10)
        fit = fit_of(points, which, rewards)
        own, unit = (
            kb.posterior.ArmPosterior(fit.posterior_kernel, points, fit.ridge),
            kb.posterior.ArmPosterior(fit.kernel, points, fit.signal_ridge),
        )
        for arm, reward in zip(which.tolist(), rewards.tolist(), strict=True):
            own.update(arm, fit.standard.standardise(reward) - fit.mean)
            unit.update(arm, fit.signal_standard.standardise(reward))
        np.testing.assert_allclose(
            fit.signal_standard.original(unit.mean),
            fit.standard.original(own.mean + fit.mean),
            rtol=1e-9,
        )
        np.testing.assert_allclose(
            fit.signal_standard.spread * unit.sd, fit.standard.spread * own.sd, rtol=1e-7
        )

    def test_noise_and_ridges_are_one_number_in_different_units(self):
        assert GIVEN.noise_scale == 1.0
        assert GIVEN.signal_noise_scale == 0.25
        assert GIVEN.ridge == 0.25
        assert GIVEN.signal_ridge == GIVEN.signal_noise_scale**2 == 0.0625
        assert GIVEN.signal_standard == Standard(11.0, 4.0)
        assert GIVEN.posterior_kernel == kb.Matern((0.3, 0.6)) * 4.0
        assert replace(GIVEN, nu=math.inf).kernel == kb.RBF((0.3, 0.6))
        assert replace(GIVEN, nu=1.5).kernel == kb.Matern((0.3, 0.6), nu=1.5)

    def test_the_norm_is_that_of_the_estimate_from_the_rewards_one_by_one(self):
        points, which, rewards = some_data(m=10)
        counts, sums, _ = collapse(which, rewards)
        fit = fit_of(points, which, rewards)
        fit = replace(
            fit, signal_variance=fit.signal_variance / 50, noise_variance=fit.noise_variance / 50
        )
        x, u = points[which], fit.signal_standard.standardise(rewards)
        k = fit.kernel(x, x)
        alpha = np.linalg.solve(k + fit.signal_ridge * np.eye(len(x)), u)
        norm = math.sqrt(alpha @ k @ alpha)
        assert norm > np.abs(u).max()
        assert fit.norm_bound(points, counts, sums) == pytest.approx(2 * norm, rel=1e-9)
        assert fit.norm_bound(points, counts, sums, safety=3.0) == pytest.approx(3 * norm, rel=1e-9)

    def test_the_norm_is_no_less_than_a_mean_reward_beyond_its_error_nor_than_one(self):
        noisy = replace(GIVEN, noise_variance=4.0)
        assert noisy.norm_bound(
            [[0.5, 0.5]], [4], [4 * (11.0 + 4.0 * 9)], safety=1.0
        ) == pytest.approx(8.0)
        assert GIVEN.norm_bound([[0.5, 0.5]], [4], [44.0], safety=1.0) == 1.0

    def test_a_sentence_says_it_in_the_units_of_the_rewards(self):
        fitted = replace(GIVEN, ok=True, evidence=-3.0, message="converged")
        scales = "Lengthscales 0.3, 0.6 (of the unit cube), signal sd 4 about 11, noise sd 1; "
        assert fitted.sentence() == scales + "fitted to 3 rewards at 2 points."
        failed = replace(fitted, ok=False, message="a reason")
        assert (
            failed.sentence()
            == fitted.sentence()[:-1] + ", but the refit after these failed: a reason."
        )
        assert (
            GIVEN.sentence()
            == scales + "not fitted to the 3 rewards given: not fitted: the prior's mode."
        )


class TestBadDays:
    @pytest.mark.parametrize("start", [None, GIVEN])
    @pytest.mark.parametrize(
        "rewards", [[0.7], [2.0, 2.0, 2.0], [0.0] * 5, [1e150] * 2, [5e-324] * 3]
    )
    def test_rewards_that_are_all_equal_keep_the_last_fit_or_the_mode(self, start, rewards):
        n = len(rewards)
        points = np.random.default_rng(0).random((n, 2))
        fit = calibrate(points, np.ones(n, int), rewards, np.square(rewards), start=start)
        assert not fit.ok
        assert fit.message.startswith("the rewards are all equal, so the")
        assert fit.lengthscales == (
            GIVEN.lengthscales if start else pytest.approx(np.exp(Prior().mode(2, 2)[:2]))
        )

    def test_a_fit_without_any_likelihood_keeps_the_last_one(self, monkeypatch):
        monkeypatch.setitem(likelihood.PROFILES, 2.5, lambda squares: (2.0 + squares, squares))
        data = some_data()
        assert fit_of(*data, start=GIVEN) == replace(
            GIVEN,
            evaluations=4,
            message="the scales cannot be fitted to these rewards, so the scales of the last fit are kept",
        )
        assert not fit_of(*data).ok

    def test_values_that_are_not_numbers_do_not_get_out(self, monkeypatch):
        real = likelihood.matern52
        monkeypatch.setitem(
            likelihood.PROFILES,
            2.5,
            lambda squares: real(squares * np.where(squares.max() > 30, np.nan, 1.0)),
        )
        points, which, rewards = some_data(m=20)
        fit = fit_of(points, which, rewards)
        search = check_arguments(points, *collapse(which, rewards), PRIOR, False, 2.5).search()
        assert (
            search.value(np.full(4, -2.0))
            == search.value_and_gradient(np.full(4, -2.0))[0]
            == math.inf
        )
        assert fit.ok
        assert math.isfinite(fit.evidence)
        assert all(math.isfinite(length) for length in fit.lengthscales)

    def test_a_region_without_likelihood_is_avoided(self, monkeypatch):
        real = likelihood.matern52
        monkeypatch.setitem(
            likelihood.PROFILES,
            2.5,
            lambda squares: real(squares) if squares.max() > 8 else (squares + 2, squares),
        )
        points, which, rewards = some_data(m=20)
        fit = fit_of(points, which, rewards)
        assert fit.ok
        assert math.isfinite(fit.evidence)
        gaps = (points[:, None] - points) ** 2
        assert (gaps / np.square(fit.lengthscales)).sum(-1).max() > 8

    @pytest.mark.thorough
    @settings(max_examples=150)
    @given(
        st.integers(1, 50),
        st.lists(st.tuples(st.integers(0, 3), st.floats(-1e150, 1e150)), min_size=1, max_size=12),
        st.sampled_from([1e-300, 1e-150, 1.0, 1e-3]),
        st.sampled_from([0.0, 1e-12, 1e-3, 1.0]),
        st.sampled_from(NUS),
        st.booleans(),
    )
    def test_nothing_crashes_and_no_nan_comes_out(self, d, told, scale, spread, nu, shared):
        """Near or equal points, huge, tiny and equal rewards, any dimension."""
        which = np.unique([place for place, _ in told], return_inverse=True)[1]
        rewards = scale * np.array([reward for _, reward in told])
        points = 0.5 + spread * np.linspace(-0.5, 0.5, (which.max() + 1) * d).reshape(-1, d)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = fit_of(points, which, rewards, nu=nu, shared=shared)
            bound = fit.norm_bound(points, *collapse(which, rewards)[:2])
        numbers = [
            *fit.lengthscales,
            fit.signal_variance,
            fit.noise_variance,
            fit.mean,
            fit.noise_scale,
            bound,
        ]
        assert np.isfinite(numbers).all()
        assert fit.ok != (fit.evidence == -math.inf)
        assert fit.standard.spread > 0
        assert fit.sentence().endswith(".")

    @pytest.mark.thorough
    @settings(max_examples=60)
    @given(
        st.lists(st.floats(-3, 3), min_size=2, max_size=8),
        st.integers(1, 10**6),
        st.floats(0, 1e-6),
    )
    def test_many_repeats_of_near_points_do_not_crash(self, rewards, count, gap):
        means, n = np.array(rewards), len(rewards)
        points = gap * np.arange(n, dtype=float)[:, None]
        fit = calibrate(points, [count] * n, count * means, count * (means**2 + 1e-8))
        assert all(
            math.isfinite(value) for value in (*fit.lengthscales, fit.noise_variance, fit.mean)
        )


POINTS, COUNTS, SUMS, SQUARES = [[0.1], [0.9]], [1, 2], [1.0, 3.0], [1.0, 5.0]
FINE = {"points": POINTS, "counts": COUNTS, "sums": SUMS, "squares": SQUARES}


class TestDoors:
    @pytest.mark.parametrize(
        ("name", "bad"),
        [
            *[
                (name, bad)
                for name in FINE
                for bad in (None, "ab", [], [math.nan, 1.0], [[[1.0]]], 3.0, {"a": 1})
            ],
            ("points", [[0.1], [math.inf]]),
            ("points", [[0.1], [1e7]]),
            ("points", [[0.1], [0.2], [0.3]]),
            *[
                ("counts", bad)
                for bad in ([0, 2], [1, -1], [1, 1.5], [1, math.inf], [1], [True, True], [[1, 2]])
            ],
            *[
                ("sums", bad)
                for bad in ([1.0], [1.0, math.inf], [1.0, 1e200], ["1", "2"], [1.0, 9.0])
            ],
            *[
                ("squares", bad)
                for bad in ([1.0], [1.0, math.inf], [1.0, -5.0], [0.5, 5.0], [1.0, 4.0])
            ],
            *[("prior", bad) for bad in (0, "x", {}, Prior)],
            *[("shared", bad) for bad in (1, None, "yes")],
            *[("nu", bad) for bad in (0.5, 2, math.nan, "2.5", None, (2.5,))],
            *[("start", bad) for bad in (1, "x", GIVEN, Prior())],
            *[("evaluations", bad) for bad in (0, -1, 2.5, "9", None, math.nan)],
        ],
    )
    def test_bad_arguments_are_refused_in_one_sentence(self, name, bad):
        with pytest.raises(ValueError, match=r"^calibrate needs .*, got ") as refusal:
            calibrate(**{**FINE, name: bad})
        assert "\n" not in str(refusal.value)

    def test_the_same_arguments_are_fine_otherwise(self):
        assert calibrate(**FINE).ok

    @pytest.mark.parametrize(
        "bad",
        [
            {"points": [[0.5]]},
            {"points": [[0.5, math.nan]]},
            {"points": None},
            {"counts": [0]},
            {"counts": [1, 1]},
            {"sums": [math.nan]},
            {"sums": [1e200]},
            {"sums": ["a"]},
            *({"safety": bad} for bad in (0, -1, math.nan, math.inf, "2", None)),
        ],
    )
    def test_a_norm_of_bad_rewards_is_refused(self, bad):
        with pytest.raises(ValueError, match=r"^norm_bound needs .*, got "):
            GIVEN.norm_bound(**{"points": [[0.5, 0.5]], "counts": [1], "sums": [2.0], **bad})

    @pytest.mark.parametrize(
        "bad",
        [
            *({"lengthscales": bad} for bad in ((), (0.0,), (math.nan,), 0.3, "ab", None)),
            *({"signal_variance": bad} for bad in (0.0, -1.0, math.nan, "1")),
            *({"noise_variance": bad} for bad in (0.0, math.inf, None)),
            *({"mean": bad} for bad in (math.nan, "1", None)),
            {"standard": (0.0, 1.0)},
            {"nu": 0.5},
        ],
    )
    def test_a_calibration_of_bad_numbers_is_refused(self, bad):
        with pytest.raises(ValueError, match=r"^Calibration needs .*, got "):
            replace(GIVEN, **bad)


def test_a_fit_runs_on_one_thread_and_leaves_the_others_as_they_were():
    seen = []

    class Watched(Prior):
        def mode(self, *given):
            seen.append(blas_threads())
            return super().mode(*given)

    points, which, rewards = some_data()
    with threadpool_limits(2, user_api="blas"):
        usual = blas_threads()
        calibrate(points, *collapse(which, rewards), prior=Watched())
        assert blas_threads() == usual
    assert seen
    assert all(threads == {1} for threads in seen)
