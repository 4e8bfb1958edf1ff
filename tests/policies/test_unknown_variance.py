"""Streaming kernel UCB: bounds on an unknown noise, and the ridge that follows them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.policies.unknown_variance import deviation_at, slope_at
from kernelbandits.problems import GaussianNoise, RKHSFunction

POINTS = np.random.default_rng(0).random((8, 2))


def after(policy, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    return policy


def history(seed, rounds, noise=0.3, arms=3):
    """Few arms, so that the upper bound moves within some hundred rewards."""
    rng = np.random.default_rng(seed)
    pulls = rng.integers(arms, size=rounds)
    return pulls, np.sin(4 * POINTS.sum(1))[pulls] / 2 + noise * rng.normal(size=rounds)


def slow(kernel, pulls, rewards, most, norm, least, delta):
    """Section by section from t x t matrices, refitted for every t: (s_-, s_+, ridge, L_-) after each reward."""
    k, rows = kernel(POINTS, POINTS), []
    for t in range(1, len(pulls) + 1):
        y, big = rewards[:t], k[np.ix_(pulls[:t], pulls[:t])]
        ridge = most**2 / norm**2
        residual = y - big @ np.linalg.solve(big + ridge * np.eye(t), y)
        spread = math.sqrt((residual**2).mean())
        if t >= 3:
            c = math.log(math.e / delta) * (
                1 + math.log(math.pi**2 * math.log(t) / 6) / math.log(1 / delta)
            )
            e = 1 - 1 / (1 + k[pulls[:t], pulls[:t]].max() / ridge)
            least = max(
                least, (spread - norm * math.sqrt(ridge * e / t)) / (1 + math.sqrt(2 * c / t))
            )
        log_det = np.linalg.slogdet(np.eye(t) + big * norm**2 / least**2)[1]
        if t >= 3:
            d = 2 * math.log(1 / delta) + log_det
            a = max(1 - math.sqrt(c / t) - math.sqrt((c + 2 * d) / t), 0)
            b = norm * math.sqrt(ridge * d) / (2 * t)
            if a > 0:
                most = min(most, (math.sqrt(b) + math.sqrt(b + spread * a)) ** 2 / a**2)
        rows.append((least, most, most**2 / norm**2, log_det))
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [kb.RBF(0.6), kb.Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize(("noise", "delta"), [(0.3, 0.1), (0.5, 0.4)])
def test_the_bounds_are_those_of_the_slow_formulas(kernel, noise, delta, quiet):
    pulls, rewards = history(1, 300, noise)
    policy = kb.policies.StreamingUCB(
        POINTS, kernel, noise_scale=2.0, norm_bound=0.3, least_noise=0.05, delta=delta
    )
    expected = slow(kernel, pulls, rewards, 2.0, 0.3, 0.05, delta / 4)
    for arm, reward, (least, most, ridge, log_det) in zip(pulls, rewards, expected, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
        assert policy.noise_bounds == pytest.approx((least, most), rel=1e-9)
        assert policy.posterior.ridge == pytest.approx(ridge, rel=1e-9)
        assert policy.least_log_det == pytest.approx(log_det, abs=1e-8)
    assert least > 0.05
    assert most < 2.0
    width = math.sqrt(ridge) * 0.3 + most * math.sqrt(2 * math.log(4 / delta) + log_det)
    sd = policy.posterior.sd / math.sqrt(ridge)
    np.testing.assert_allclose(policy.index(301), policy.posterior.mean + width * sd, rtol=1e-9)


def test_the_posterior_is_that_of_all_rewards_at_the_ridge_of_now(quiet):
    pulls, rewards = history(2, 300)
    policy = after(
        kb.policies.StreamingUCB(POINTS, kb.RBF(0.6), noise_scale=2.0, norm_bound=0.3, delta=0.4),
        pulls,
        rewards,
    )
    assert policy.noise_bounds[1] < 2.0
    fixed = kb.posterior.ArmPosterior(kb.RBF(0.6), POINTS, (policy.noise_bounds[1] / 0.3) ** 2)
    for arm, reward in zip(pulls, rewards, strict=True):
        fixed.update(int(arm), float(reward))
    np.testing.assert_allclose(policy.posterior.mean, fixed.mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.variance, fixed.variance, atol=1e-10)


def test_with_a_known_variance_it_is_whitehouse_at_the_ridge_of_the_noise():
    """least_noise = noise_scale = R: ridge R^2 / D^2, and the whole delta, for nothing is estimated."""
    r, d, rng = 0.4, 1.5, np.random.default_rng(1)
    left = kb.policies.StreamingUCB(
        POINTS, kb.RBF(0.3), noise_scale=r, norm_bound=d, least_noise=r, ties="lowest"
    )
    right = kb.WhitehouseUCB(
        POINTS, kb.RBF(0.3), noise_scale=r, norm_bound=d, ridge=r**2 / d**2, ties="lowest"
    )
    for t in range(1, 80):
        np.testing.assert_allclose(left.index(t), right.index(t), atol=1e-10)
        assert left.width_at(t) == pytest.approx(right.width_at(t), abs=1e-10)
        choice = left.ask(t, kb.Streams(0))
        assert choice.arm == right.ask(t, kb.Streams(0)).arm
        reward = float(np.sin(5 * choice.x.sum()) + r * rng.normal())
        left.tell(choice, reward)
        right.tell(choice, reward)
        assert left.noise_bounds == (r, r)


def test_a_known_variance_is_not_doubted_by_quieter_or_louder_rewards():
    for noise in (0.001, 50.0):
        policy = kb.policies.StreamingUCB(
            POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, least_noise=1.0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after(policy, *history(9, 300, noise))
        assert policy.noise_bounds == (1.0, 1.0)


def test_a_is_positive_only_after_many_rewards():
    """Golden values at delta 0.1 and d = 9.6."""
    assert slope_at(50, deviation_at(50, 0.1), 9.6) == pytest.approx(-0.06, abs=0.005)
    assert slope_at(200, deviation_at(200, 0.1), 9.6) == pytest.approx(0.46, abs=0.005)


def test_nothing_is_known_of_the_noise_before_the_third_reward():
    assert deviation_at(1, 0.1) == deviation_at(2, 0.1) == math.inf
    assert deviation_at(3, 0.1) == pytest.approx(
        math.log(10 * math.e) * (1 + math.log(math.pi**2 * math.log(3) / 6) / math.log(10))
    )
    policy = kb.policies.StreamingUCB(POINTS, kb.RBF(0.3), noise_scale=10.0, norm_bound=0.1)
    after(policy, (0, 0), (5.0, -5.0))
    assert policy.noise_bounds == (0.1, 10.0)
    after(policy, (0,), (5.0,))
    assert policy.noise_bounds[0] > 0.1


def test_the_lower_bound_never_falls_and_the_upper_never_rises(quiet):
    policy = kb.policies.StreamingUCB(
        POINTS, kb.RBF(0.6), noise_scale=2.0, norm_bound=0.3, delta=0.4
    )
    lower, upper = policy.noise_bounds
    for arm, reward in zip(*history(3, 300), strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
        least, most = policy.noise_bounds
        assert lower <= least <= most <= upper
        lower, upper = least, most
    assert lower > 0.02
    assert upper < 2.0


def test_residuals_are_those_of_the_rewards_the_mean_was_fitted_to():
    """Rewards around a million: sums of squares would lose what Welford keeps."""
    pulls, rewards = history(4, 50)
    rewards = rewards + 1e6
    policy = kb.policies.StreamingUCB(
        POINTS, kb.RBF(0.3), noise_scale=1e5, norm_bound=1e7, least_noise=1e5
    )
    after(policy, pulls, rewards)
    k = kb.RBF(0.3)(POINTS, POINTS)[np.ix_(pulls, pulls)]
    residual = policy.posterior.ridge * np.linalg.solve(
        k + policy.posterior.ridge * np.eye(50), rewards
    )
    assert policy.residual_spread == pytest.approx(math.sqrt((residual**2).mean()), rel=1e-6)


def test_leverage_is_exact_for_a_constant_prior_and_never_too_small_for_another(quiet):
    pulls, rewards = history(5, 12, arms=8)
    for kernel, exact in ((kb.RBF(0.3), True), (kb.Linear(), False)):
        policy = kb.policies.StreamingUCB(
            POINTS, kernel, noise_scale=0.5, norm_bound=1.0, least_noise=0.5
        )
        largest, twin = 0.0, kb.posterior.ArmPosterior(kernel, POINTS, policy.posterior.ridge)
        for arm, reward in zip(pulls, rewards, strict=True):
            largest = max(largest, float(twin.variance[arm]) / twin.ridge)
            twin.update(int(arm), float(reward))
            policy.tell(policy.choice(int(arm)), float(reward))
        assert policy.leverage >= 1 - 1 / (1 + largest) - 1e-12
        assert (policy.leverage == pytest.approx(1 - 1 / (1 + largest))) == exact


def test_scaling_rewards_noise_and_norm_scales_the_index(quiet):
    """The ridge R^2 / D^2 stays."""
    pulls, rewards = history(6, 300)
    plain, scaled = (
        after(
            kb.policies.StreamingUCB(
                POINTS, kb.RBF(0.6), noise_scale=2.0 * c, norm_bound=0.3 * c, delta=0.4
            ),
            pulls,
            c * rewards,
        )
        for c in (1.0, 30.0)
    )
    assert plain.noise_bounds[1] < 2.0
    np.testing.assert_allclose(scaled.index(301), 30 * plain.index(301), rtol=1e-9)
    assert scaled.noise_bounds == pytest.approx(tuple(30 * s for s in plain.noise_bounds), rel=1e-9)


def test_a_kernel_scaled_together_with_the_norm_is_not_seen(quiet):
    """k -> s k, D -> D / sqrt(s): the ridge R^2 / D^2 follows by itself."""
    pulls, rewards = history(7, 300)
    plain = kb.policies.StreamingUCB(
        POINTS, kb.RBF(0.6), noise_scale=2.0, norm_bound=0.3, delta=0.4
    )
    scaled = kb.policies.StreamingUCB(
        POINTS, 9.0 * kb.RBF(0.6), noise_scale=2.0, norm_bound=0.3 / 3, delta=0.4
    )
    np.testing.assert_allclose(
        after(scaled, pulls, rewards).index(301), after(plain, pulls, rewards).index(301), rtol=1e-9
    )


@pytest.mark.parametrize("setting", ["noise_scale", "norm_bound"])
def test_a_bound_of_zero_leaves_no_ridge_and_is_refused(setting):
    given = {"noise_scale": 1.0, "norm_bound": 1.0} | {setting: 0.0}
    with pytest.raises(ValueError, match=f"StreamingUCB needs {setting} > 0, got 0.0"):
        kb.policies.StreamingUCB(POINTS, kb.RBF(0.3), **given)


@pytest.mark.parametrize("bad", [0.0, -1.0, 1.1, math.nan, "1", True, 1e-300], ids=repr)
def test_a_least_noise_that_is_no_lower_bound_is_refused(bad):
    with pytest.raises(ValueError, match=r"StreamingUCB needs .*least_noise.*, got"):
        kb.policies.StreamingUCB(
            POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, least_noise=bad
        )


def test_the_default_least_noise_is_a_hundredth_and_is_written_down():
    policy = kb.policies.StreamingUCB(POINTS, kb.RBF(0.3), noise_scale=2.0, norm_bound=1.0)
    assert policy.noise_bounds == (0.02, 2.0)
    assert policy.settings["least_noise"] == 0.02


@pytest.mark.parametrize(
    ("given", "noise", "said"),
    [
        ({"noise_scale": 0.1, "norm_bound": 0.5}, 5.0, "vary more than noise_scale"),
        (
            {"noise_scale": 50.0, "norm_bound": 0.1, "least_noise": 30.0, "delta": 0.5},
            0.1,
            "vary less than least_noise",
        ),
    ],
    ids=["more", "less"],
)
def test_rewards_that_contradict_the_bounds_are_said_once_and_the_bounds_do_not_cross(
    given, noise, said
):
    policy = kb.policies.StreamingUCB(POINTS[:3], kb.RBF(0.6), **given)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        after(policy, *history(8, 200, noise))
    assert [said in str(w.message) for w in heard] == [True]
    assert policy.noise_bounds[0] == policy.noise_bounds[1]
    assert np.isfinite(policy.index(201)).all()


@pytest.mark.thorough
def test_the_noise_is_between_its_bounds_with_the_chance_stated():
    """In all of 300 rounds at once, 40 runs; the spread of the residuals itself would be no bound."""
    sigma, delta, runs = 0.5, 0.4, 40
    problem = RKHSFunction(kb.RBF(0.6), 1, candidates=3, norm_bound=0.3, noise=GaussianNoise(sigma))
    outside = np.zeros(3)
    ends = []
    for seed in range(runs):
        instance = problem.instance(kb.Streams(seed))
        policy = kb.policies.StreamingUCB(
            instance.domain, kb.RBF(0.6), noise_scale=2.0, norm_bound=0.3, delta=delta
        )
        missed = np.zeros(3, dtype=bool)
        for row in kb.experiment.rounds(policy, instance, 300, kb.Streams(seed)):
            least, most = policy.noise_bounds
            spread = policy.residual_spread
            missed |= (
                not least <= sigma <= most,
                row.t > 50 and spread > sigma,
                row.t > 50 and spread < sigma,
            )
        outside += missed
        ends.append(policy.noise_bounds)
    chance = 3 * delta / 4
    limit = chance + 4 * math.sqrt(chance * (1 - chance) / runs)
    assert outside[0] / runs <= limit
    assert (outside[1:] / runs > limit).all()
    assert np.min(ends, 0)[0] > 0.3
    assert np.max(ends, 0)[1] < 1.9


def test_only_arms_that_were_played_enter_the_leverage():
    points = np.array([[0.5], [1.0]])
    policy = kb.policies.StreamingUCB(points, kb.Linear(), noise_scale=0.5, norm_bound=1.0)
    policy.tell(policy.choice(0), 0.3)
    assert policy.leverage == pytest.approx(0.25 / (0.25 + policy.posterior.ridge))
    policy.tell(policy.choice(1), 0.3)
    assert policy.leverage == pytest.approx(1 / (1 + policy.posterior.ridge))
