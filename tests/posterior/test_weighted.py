"""WGP-UCB: exponentially weighted rewards, and the posterior that is refitted from real weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.posterior import RefitPosterior
from kernelbandits.posterior.refit import LEAST_WEIGHT
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction

POINTS = np.random.default_rng(0).random((8, 2))
R, D, DELTA = 0.4, 1.5, 0.1
BOUNDS = {"noise_scale": R, "norm_bound": D}
KERNELS = {"rbf": kb.RBF(0.3), "matern": kb.Matern(0.4, nu=0.5), "linear": kb.Linear()}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def after(learner, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        if isinstance(learner, kb.Policy):
            learner.tell(learner.choice(int(arm)), float(reward))
        else:
            learner.update(int(arm), float(reward))
    return learner


def history(seed, rounds):
    rng = np.random.default_rng(seed)
    return rng.integers(len(POINTS), size=rounds), rng.normal(size=rounds)


def direct(kernel, pulls, rewards, eta, ridge, backwards=True):
    """Mean, sd and Lbar from the t x t matrices, weights eta^(t-s) or, at ridge eta^-t, eta^-s."""
    t, s = len(pulls), np.arange(1, len(pulls) + 1)
    weights, lam = (
        (eta ** (t - s), ridge) if backwards else (eta ** (0.0 - s), ridge * eta ** (0.0 - t))
    )
    root, k = np.sqrt(weights), kernel(POINTS, POINTS)
    inner = root[:, None] * k[np.ix_(pulls, pulls)] * root + lam * np.eye(t)
    cross = root * k[:, pulls]
    mean = cross @ np.linalg.solve(inner, root * rewards)
    variance = k.diagonal() - (cross * np.linalg.solve(inner, cross.T).T).sum(1)
    doubled = np.sqrt(eta ** (2.0 * (t - s)))
    twice = np.eye(t) + doubled[:, None] * k[np.ix_(pulls, pulls)] * doubled / ridge
    return mean, np.sqrt(variance), np.linalg.slogdet(twice)[1]


@every_kernel
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize(("eta", "ridge"), [(0.9, 1.0), (0.6, 0.2), (0.99, 5.0), (1.0, 0.5)])
def test_the_index_is_the_weighted_formula_in_either_normalisation(
    kernel, eta, ridge, backwards, quiet
):
    pulls, rewards = history(1, 30)
    policy = after(
        kb.policies.WGPUCB(POINTS, kernel, ridge=ridge, forgetting=eta, **BOUNDS), pulls, rewards
    )
    mean, sd, twice = direct(kernel, pulls, rewards, eta, ridge, backwards)
    np.testing.assert_allclose(policy.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.sd, sd, atol=1e-8)
    assert policy.double_log_det == pytest.approx(twice, abs=1e-10)
    width = D + R / math.sqrt(ridge) * math.sqrt(2 * math.log(10) + twice)
    np.testing.assert_allclose(policy.index(31), mean + width * sd, atol=1e-7)


def test_the_newest_reward_weighs_one_and_the_one_before_it_eta():
    policy = after(
        kb.policies.WGPUCB(np.eye(3), kb.Linear(), forgetting=0.5, ridge=2.0, **BOUNDS),
        (0, 1, 0),
        (4.0, 3.0, 1.0),
    )
    np.testing.assert_allclose(policy.posterior.weights, [1.25, 0.5, 0])
    np.testing.assert_allclose(policy.double_weights, [1 + 0.5**4, 0.5**2, 0])
    np.testing.assert_allclose(
        policy.posterior.mean, [(1 + 0.25 * 4) / (2 + 1.25), 0.5 * 3 / (2 + 0.5), 0]
    )
    assert policy.double_log_det == pytest.approx(math.log1p(1.0625 / 2) + math.log1p(0.25 / 2))


def test_without_forgetting_it_is_whitehouse():
    rng = np.random.default_rng(1)
    left = kb.policies.WGPUCB(
        POINTS, kb.RBF(0.3), ridge=0.7, forgetting=1.0, ties="lowest", **BOUNDS
    )
    right = kb.WhitehouseUCB(POINTS, kb.RBF(0.3), ridge=0.7, ties="lowest", **BOUNDS)
    for t in range(1, 60):
        np.testing.assert_allclose(left.index(t), right.index(t), atol=1e-9)
        choice = left.ask(t, kb.Streams(0))
        assert choice.arm == right.ask(t, kb.Streams(0)).arm
        reward = float(np.sin(5 * choice.x.sum()) + R * rng.normal())
        left.tell(choice, reward)
        right.tell(choice, reward)


def test_on_the_linear_kernel_it_is_discounted_linear_ucb(quiet):
    """V = sum eta^(t-s) x x' + ridge I, W = sum eta^(2(t-s)) x x' + ridge I: the width has det(W), the norm V^-1."""
    eta, ridge = 0.8, 0.6
    pulls, rewards = history(2, 25)
    policy = after(
        kb.policies.WGPUCB(POINTS, kb.Linear(), ridge=ridge, forgetting=eta, **BOUNDS),
        pulls,
        rewards,
    )
    x, weights = POINTS[pulls], eta ** np.arange(24, -1, -1.0)
    v, w = ((x.T * power) @ x + ridge * np.eye(2) for power in (weights, weights**2))
    theta = np.linalg.solve(v, x.T @ (weights * rewards))
    radius = (
        R * math.sqrt(2 * math.log(10) + np.linalg.slogdet(w / ridge)[1]) + math.sqrt(ridge) * D
    )
    norms = np.sqrt((POINTS * np.linalg.solve(v, POINTS.T).T).sum(1))
    np.testing.assert_allclose(policy.index(26), POINTS @ theta + radius * norms, atol=1e-10)


def test_the_width_is_that_of_the_double_weights_which_is_narrower():
    policy = after(
        kb.policies.WGPUCB(POINTS, kb.RBF(0.3), forgetting=0.9, **BOUNDS), *history(3, 40)
    )
    assert policy.double_log_det < policy.posterior.log_det
    assert policy.width_at(41) == policy.width(41, policy.double_log_det)
    assert policy.ask(41, kb.Streams(0)).note["width"] == policy.width_at(41)


def test_a_forgotten_arm_returns_to_its_prior():
    policy = after(
        kb.policies.WGPUCB(np.eye(2), kb.Linear(), forgetting=0.5, **BOUNDS),
        [0] + [1] * 60,
        [5.0] + [1.0] * 60,
    )
    assert policy.posterior.mean[0] == 0.0
    assert policy.posterior.sd[0] == 1.0
    assert policy.posterior.counts.tolist() == [1, 60]
    assert policy.posterior.support.tolist() == [1]
    policy.tell(policy.choice(0), 2.0)
    assert policy.posterior.mean[0] == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [0.0, -0.5, 1.5, math.nan, "0.9", True, None], ids=repr)
def test_a_forgetting_outside_zero_and_one_is_refused(bad):
    with pytest.raises(ValueError, match=r"needs forgetting in \(0, 1\], got"):
        kb.policies.WGPUCB(POINTS, kb.RBF(0.3), forgetting=bad, **BOUNDS)


def test_it_follows_a_function_that_turns_over_where_whitehouse_lags():
    pulls = [0, 1] * 115
    rewards = [1.0, 0.0] * 100 + [0.0, 1.0] * 15
    follows = after(
        kb.policies.WGPUCB(np.eye(2), kb.Linear(), forgetting=0.9, **BOUNDS), pulls, rewards
    )
    lags = after(kb.WhitehouseUCB(np.eye(2), kb.Linear(), **BOUNDS), pulls, rewards)
    assert (follows.recommend(), lags.recommend()) == (1, 0)


# ---------------------------------------------------------------- coverage


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise", [GaussianNoise(0.8), RademacherNoise(0.8)], ids=["gaussian", "rademacher"]
)
def test_at_a_fixed_round_a_still_function_is_in_the_band_with_the_chance_stated(noise):
    chance, runs, t = 0.3, 150, 30
    problem = RKHSFunction(kb.Matern(0.4), 1, candidates=5, norm_bound=0.5, noise=noise)
    outside = tight = 0
    for seed in range(runs):
        streams = kb.Streams(seed)
        instance = problem.instance(streams)
        bounds = {"noise_scale": 0.8, "norm_bound": 0.5, "ridge": 0.3, "delta": chance}
        policy = kb.policies.WGPUCB(instance.domain, kb.Matern(0.4), forgetting=0.95, **bounds)
        for round_ in kb.experiment.rounds(policy, instance, t, streams):
            del round_
        miss = np.abs(instance.values - policy.posterior.mean) / policy.posterior.sd
        outside += (miss > policy.width_at(t + 1)).any()
        tight += (miss > policy.width_at(t + 1) / 4).any()
    assert outside / runs <= chance + 4 * math.sqrt(chance * (1 - chance) / runs)
    assert tight / runs > chance + 4 * math.sqrt(chance * (1 - chance) / runs)


# ---------------------------------------------------------------- the refitted posterior


@every_kernel
@pytest.mark.parametrize("ridge", [0.05, 1.0, 20.0])
def test_refitting_from_counts_is_the_posterior(kernel, ridge, quiet):
    pulls, rewards = history(4, 60)
    refit = after(RefitPosterior(kernel, POINTS, ridge), pulls, rewards)
    exact = after(kb.posterior.ArmPosterior(kernel, POINTS, ridge), pulls, rewards)
    np.testing.assert_allclose(refit.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(refit.variance, exact.variance, atol=1e-10)
    assert refit.log_det == pytest.approx(exact.log_det, abs=1e-9)
    np.testing.assert_array_equal(refit.counts, exact.counts)
    np.testing.assert_allclose(refit.weights, exact.counts)


def test_the_ridge_may_move_at_any_time():
    pulls, rewards = history(5, 30)
    moved = after(RefitPosterior(kb.RBF(0.3), POINTS, 2.0), pulls, rewards)
    moved.refit(0.3)
    fixed = after(RefitPosterior(kb.RBF(0.3), POINTS, 0.3), pulls, rewards)
    assert moved.ridge == 0.3
    for name in ("mean", "variance", "log_det"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(fixed, name))
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="needs ridge > 0"):
            moved.refit(bad)
    assert moved.ridge == 0.3
    fresh = RefitPosterior(kb.RBF(0.3), POINTS)
    fresh.refit(0.1)
    np.testing.assert_array_equal(fresh.mean, 0.0)
    assert (fresh.ridge, fresh.log_det) == (0.1, 0.0)


def test_the_log_determinant_of_other_weights_and_another_ridge():
    refit = after(RefitPosterior(kb.RBF(0.3), POINTS, 2.0), *history(6, 12))
    weights, k = (
        np.random.default_rng(0).random(8) * (refit.counts > 0),
        kb.RBF(0.3)(POINTS, POINTS),
    )
    root = np.sqrt(weights)
    expected = np.linalg.slogdet(np.eye(8) + root[:, None] * k * root / 0.4)[1]
    assert refit.log_det_of(weights, 0.4) == pytest.approx(expected, abs=1e-12)
    assert refit.log_det_of(refit.weights, refit.ridge) == pytest.approx(refit.log_det, abs=1e-12)


@pytest.mark.parametrize("eta", [0.3, 0.9, 1.0])
def test_the_estimate_anywhere_uses_the_weights_too(eta):
    refit = after(RefitPosterior(kb.RBF(0.3), POINTS, 0.5, eta), *history(7, 80))
    mean, sd = refit.at(POINTS)
    np.testing.assert_allclose(mean, refit.mean, atol=1e-12)
    np.testing.assert_allclose(sd, refit.sd, atol=1e-9)
    assert (refit.weights[refit.support] >= LEAST_WEIGHT).all()
    assert set(refit.weights.nonzero()[0]) == set(refit.support)


def test_an_audit_heals_a_damaged_estimate_and_leaves_a_sound_one():
    refit = after(RefitPosterior(kb.RBF(0.3), POINTS, 0.5, 0.9), *history(8, 40))
    sound = refit.mean.copy(), refit.variance.copy(), refit.log_det
    assert not refit.audit()
    refit.mean[2] += 0.1
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 40 rewards"):
        assert refit.audit()
    for got, expected in zip((refit.mean, refit.variance, refit.log_det), sound, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert (refit.health.audits, refit.health.repairs) == (2, 1)


def test_a_reward_of_no_arm_or_no_number_changes_nothing():
    refit = after(RefitPosterior(kb.RBF(0.3), POINTS, 0.5, 0.9), *history(9, 10))
    before = refit.mean.copy(), refit.weights.copy(), refit.events
    for arm, reward in ((8, 1.0), (-1, 1.0), (1.0, 1.0), (0, math.nan), (0, "1")):
        with pytest.raises(ValueError, match="needs"):
            refit.update(arm, reward)
    np.testing.assert_array_equal(refit.mean, before[0])
    np.testing.assert_array_equal(refit.weights, before[1])
    assert refit.events == before[2]


@pytest.mark.parametrize("rule", [kb.policies.WGPUCB, kb.policies.StreamingUCB])
def test_a_pool_too_large_for_its_covariance_is_played(rule, quiet):
    points = np.random.default_rng(3).random((2100, 2))
    pulls, rewards = history(10, 25)
    large, small = (
        after(rule(cut, kb.RBF(0.3), **BOUNDS), pulls, rewards) for cut in (points, points[:8])
    )
    np.testing.assert_allclose(large.index(26)[:8], small.index(26), atol=1e-9)
    assert large.ask(26, kb.Streams(0)).arm in range(2100)


def test_the_double_weights_are_those_of_the_arms_that_still_weigh(cloud):
    """Forgetting 1/2: an arm not played for 40 rewards is gone, and the others keep their own weights."""
    policy = kb.policies.WGPUCB(
        cloud, kb.RBF(0.3), noise_scale=0.5, norm_bound=1.0, forgetting=0.5, ridge=0.7
    )
    arms = [0, 1, 2, *([3, 4, 5] * 15)]
    for t, arm in enumerate(arms):
        policy.tell(policy.choice(arm), 0.1 * t)
    assert len(policy.posterior.support) < 6
    ages = np.arange(len(arms))[::-1]
    matrix = kb.RBF(0.3)(cloud[arms], cloud[arms]) * np.outer(0.5**ages, 0.5**ages)
    expected = np.linalg.slogdet(np.eye(len(arms)) + matrix / 0.7)[1]
    assert policy.double_log_det == pytest.approx(expected, abs=1e-9)


def test_a_refitted_posterior_says_when_its_variances_are_poor():
    posterior = RefitPosterior(kb.RBF(0.3), np.eye(2), 1e-9)
    for _ in range(4):
        posterior.update(0, 1.0)
    with pytest.warns(kb.NumericsWarning, match="good to"):
        posterior.update(0, 1.0)
