"""AMM-, DMM- and CMM-UCB: the confidence set of Flynn & Reeb by its closed form, on a grid and exactly."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import kernelbandits as kb
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction
from kernelbandits.theory.duality import GRID

POINTS = np.random.default_rng(0).random((8, 2))
THREE = (kb.policies.AMMUCB, kb.policies.DMMUCB, kb.policies.CMMUCB)
pytestmark = pytest.mark.usefixtures("quiet")


def after(policy, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    return policy


def history(seed, rounds, points=POINTS, kernel=None, noise=0.3, norm=1.0):
    """Arms at random, and their rewards of a function of the given norm."""
    rng, kernel = np.random.default_rng(seed), kernel or kb.RBF(0.3)
    k = kernel(points, points)
    coefficients = rng.normal(size=len(points))
    coefficients *= norm / math.sqrt(coefficients @ k @ coefficients)
    pulls = rng.integers(len(points), size=rounds)
    return pulls, (k @ coefficients)[pulls] + noise * rng.normal(size=rounds)


def direct(policy, pulls, rewards, a):
    """h_a and its mirror image from the t x t matrices, as the paper writes them."""
    k = policy.posterior.kernel(policy.domain.points, policy.domain.points)
    y, big, one = np.asarray(rewards), k[np.ix_(pulls, pulls)], np.eye(len(pulls))
    r, d, ridge, delta = (
        policy.settings[name] for name in ("noise_scale", "norm_bound", "ridge", "delta")
    )
    radius = (
        y @ np.linalg.solve(one + big / ridge, y) + r**2 * np.linalg.slogdet(one + big / ridge)[1]
    )
    radius += 2 * r**2 * math.log(1 / delta)
    inverse = np.linalg.inv(big + a * one)
    mean = k[:, pulls] @ inverse @ y
    variance = np.maximum(k.diagonal() - ((k[:, pulls] @ inverse) * k[:, pulls]).sum(1), 0)
    reach = np.sqrt(max((radius + a * d**2 - a * y @ inverse @ y) / a, 0) * variance)
    return mean - reach, mean + reach


def powers(least, most):
    return st.floats(least, most).map(lambda exponent: 10**exponent)


def cases(noise, norm):
    """(seed, rounds, kernel, R, D, ridge)"""
    kernels = st.sampled_from([kb.RBF(0.1), kb.RBF(0.5), kb.Matern(0.3, nu=0.5), kb.Linear()])
    return st.tuples(
        st.integers(0, 10_000), st.integers(1, 40), kernels, noise, norm, powers(-2, 1)
    )


def played_by(case, *rules):
    seed, rounds, kernel, noise, norm, ridge = case
    pulls, rewards = history(seed, rounds, kernel=kernel, noise=noise, norm=0.9 * norm)
    bounds = {"noise_scale": noise, "norm_bound": norm, "ridge": ridge}
    return pulls, rewards, [after(rule(POINTS, kernel, **bounds), pulls, rewards) for rule in rules]


@pytest.mark.thorough
@settings(max_examples=40)
@given(cases(powers(-2, 0.5), powers(-0.5, 1)))
def test_cmm_is_below_dmm_below_amm_below_whitehouse(case):
    pulls, _, rules = played_by(
        case, kb.policies.CMMUCB, kb.policies.DMMUCB, kb.policies.AMMUCB, kb.WhitehouseUCB
    )
    cmm, dmm, amm, whitehouse = (policy.index(len(pulls) + 1) for policy in rules)
    room = 1e-8 * max(1.0, case[4])
    assert (cmm <= dmm + room).all()
    assert (dmm <= amm + 1e-12 * np.abs(amm).max()).all()
    assert (amm < whitehouse).all()
    assert (cmm <= case[4] * np.sqrt(rules[0].posterior.prior) * (1 + 1e-15)).all()


@pytest.mark.thorough
@settings(max_examples=25)
@given(cases(powers(-0.7, 0.5), powers(-0.5, 0.5)))
def test_the_three_indices_are_the_direct_formula_at_one_at_some_and_at_the_best_alpha(case):
    pulls, rewards, (amm, dmm, cmm) = played_by(case, *THREE)
    t, size = len(pulls) + 1, max(1.0, case[4])
    at_one = direct(amm, pulls, rewards, case[5])
    np.testing.assert_allclose(amm.index(t), at_one[1], atol=1e-8 * size)
    np.testing.assert_allclose(amm.band(t)[0], at_one[0], atol=1e-8 * size)
    some = [direct(dmm, pulls, rewards, a) for a in dmm.alphas]
    np.testing.assert_allclose(
        dmm.index(t), np.min([high for _, high in some], 0), atol=1e-7 * size
    )
    np.testing.assert_allclose(
        dmm.band(t)[0], np.max([low for low, _ in some], 0), atol=1e-7 * size
    )
    dense = [direct(cmm, pulls, rewards, a) for a in np.geomspace(1e-3, 1e8, 120)]
    limit = case[4] * np.sqrt(cmm.posterior.prior)
    low, high = (
        np.max([-limit, *(low for low, _ in dense)], 0),
        np.min([limit, *(high for _, high in dense)], 0),
    )
    lower, upper = cmm.band(t)
    assert (upper <= high + 1e-6 * size).all()
    assert (lower >= low - 1e-6 * size).all()
    spacing, below = 5e-3 * size, 1e-3 * case[4] ** 3 / (9 * case[3] ** 2)
    np.testing.assert_allclose(upper, high, atol=spacing + below)
    np.testing.assert_allclose(lower, low, atol=spacing + below)


@pytest.mark.parametrize("seed", range(6))
def test_cmm_is_the_greatest_value_in_the_confidence_set(seed):
    """max f(x) over |y - f| <= R_t, ||f|| <= D, by sequential quadratic programming in f = L g, ||f|| = |g|."""
    kernel, r, d, ridge = kb.Matern(0.4, nu=0.5), 0.4, 1.2, (0.3, 1.0)[seed % 2]
    pulls, rewards = history(seed, 2 + 2 * seed, kernel=kernel, noise=r, norm=1.0)
    policy = after(
        kb.policies.CMMUCB(POINTS, kernel, noise_scale=r, norm_bound=d, ridge=ridge), pulls, rewards
    )
    k = kernel(POINTS, POINTS)
    root, scaled = np.linalg.cholesky(k), np.eye(len(pulls)) + k[np.ix_(pulls, pulls)] / ridge
    radius = rewards @ np.linalg.solve(scaled, rewards)
    radius += r**2 * (np.linalg.slogdet(scaled)[1] + 2 * math.log(10))
    rows = root[pulls]
    balls = [
        {
            "type": "ineq",
            "fun": lambda g: radius - ((rewards - rows @ g) ** 2).sum(),
            "jac": lambda g: 2 * rows.T @ (rewards - rows @ g),
        },
        {"type": "ineq", "fun": lambda g: d**2 - g @ g, "jac": lambda g: -2 * g},
    ]
    for sign, bound in zip((-1, 1), policy.band(len(pulls) + 1), strict=True):
        for arm in range(len(POINTS)):
            found = minimize(
                lambda g, arm=arm, sign=sign: -sign * root[arm] @ g,
                np.zeros(8),
                jac=lambda g, arm=arm, sign=sign: -sign * root[arm],
                constraints=balls,
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert bound[arm] == pytest.approx(-sign * found.fun, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_on_the_linear_kernel_cmm_is_the_least_bound_of_two_by_two_ridge_regressions(seed):
    """Sound at any alpha: mean x' W X' y, variance a x' W x, a q_a = |y|^2 - y' X W X' y, W = (X'X + a)^-1."""
    noise, norm = 10.0 ** np.random.default_rng(seed).uniform(-2, 0.5, 2)
    pulls, rewards = history(seed, 5 + 10 * seed, kernel=kb.Linear(), noise=noise, norm=norm)
    policy = after(
        kb.policies.CMMUCB(POINTS, kb.Linear(), noise_scale=noise, norm_bound=norm), pulls, rewards
    )
    x, alphas = POINTS[pulls], np.array([1.0, *np.geomspace(1e-8, 1e8, 20_000)])
    inverse = np.linalg.inv(x.T @ x + alphas[:, None, None] * np.eye(2))
    sums = x.T @ rewards
    losses = rewards @ rewards - np.einsum("i,kij,j->k", sums, inverse, sums)
    radius = losses[0] + noise**2 * (np.linalg.slogdet(np.eye(2) + x.T @ x)[1] + 2 * math.log(10))
    variances = np.einsum("pi,kij,pj->kp", POINTS, inverse[1:], POINTS)
    spans = radius - losses[1:] + alphas[1:] * norm**2
    bounds = POINTS @ (inverse[1:] @ sums)[:, :, None]
    bounds = bounds[:, :, 0] + np.sqrt(spans[:, None] * variances)
    limit = norm * np.linalg.norm(POINTS, axis=1)
    np.testing.assert_allclose(
        policy.index(1), np.minimum(np.min(bounds, 0), limit), atol=1e-7 * norm
    )


def test_a_denser_grid_of_alphas_brings_dmm_to_cmm():
    pulls, rewards = history(3, 30)
    bounds = {"noise_scale": 0.3, "norm_bound": 1.5}
    exact = after(kb.policies.CMMUCB(POINTS, kb.RBF(0.3), **bounds), pulls, rewards).index(31)
    gaps = []
    for points in (1, 5, 21, 161):
        alphas = np.geomspace(1e-4, 1e4, points)
        policy = after(
            kb.policies.DMMUCB(POINTS, kb.RBF(0.3), alphas=alphas, **bounds), pulls, rewards
        )
        gaps.append(float((policy.index(31) - exact).max()))
    assert gaps == sorted(gaps, reverse=True)
    assert -1e-7 < gaps[-1] < 1e-3 < gaps[0]


def test_dmm_with_the_ridge_alone_is_amm():
    pulls, rewards = history(4, 25)
    bounds = {"noise_scale": 0.3, "norm_bound": 1.5, "ridge": 0.4}
    amm = after(kb.policies.AMMUCB(POINTS, kb.RBF(0.3), **bounds), pulls, rewards)
    dmm = after(kb.policies.DMMUCB(POINTS, kb.RBF(0.3), alphas=(), **bounds), pulls, rewards)
    np.testing.assert_allclose(dmm.index(26), amm.index(26), rtol=1e-12)
    np.testing.assert_allclose(dmm.band(26), amm.band(26), rtol=1e-12)


def test_the_set_is_a_residual_ball_of_the_ridge_whatever_alpha():
    """The radius stays that of the ridge: with a radius of each alpha its own, DMM would fall below CMM."""
    pulls, rewards = history(5, 20, noise=0.6)
    dmm = after(
        kb.policies.DMMUCB(POINTS, kb.RBF(0.3), noise_scale=0.6, norm_bound=1.0), pulls, rewards
    )
    own = dmm.losses[list(dmm.alphas).index(1.0)]
    y, k = np.asarray(rewards), kb.RBF(0.3)(POINTS, POINTS)[np.ix_(pulls, pulls)]
    assert own == pytest.approx(y @ np.linalg.solve(np.eye(20) + k, y), rel=1e-12)
    for a, loss in zip(dmm.alphas, dmm.losses, strict=True):
        assert loss == pytest.approx(y @ np.linalg.solve(np.eye(20) + k / a, y), rel=1e-10)


# ---------------------------------------------------------------- closed forms


COUNTS, SUMS, SQUARES = np.array([2, 1, 0]), np.array([1.0, -0.5, 0.0]), 0.75**2 + 0.5**2 + 0.25**2
R, D, DELTA = 0.5, 2.0, 0.1


def basis(rule, **more):
    """Instance G of orthonormal arms: n = (2, 1, 0), S = (1, -0.5, 0)."""
    policy = rule(np.eye(3), kb.Linear(), noise_scale=R, norm_bound=D, **more)
    return after(policy, (0, 1, 0), (0.75, -0.5, 0.25))


def basis_bound(a, ridge):
    """mean S / (a + n), variance a / (a + n), a q_a = |y|^2 - sum S^2 / (a + n), one row for each a; the least."""
    a = np.reshape(a, (-1, 1))
    noise = R**2 * (2 * math.log(1 / DELTA) + np.log1p(COUNTS / ridge).sum())
    loss, own = (
        SQUARES - (SUMS**2 / (alpha + COUNTS)).sum(-1, keepdims=True) for alpha in (a, ridge)
    )
    return (
        SUMS / (a + COUNTS) + np.sqrt(((own - loss + noise) / a + D**2) * a / (a + COUNTS))
    ).min(0)


@pytest.mark.parametrize("ridge", [0.2, 1.0, 5.0])
def test_on_orthonormal_arms_the_bounds_have_a_closed_form(ridge):
    amm, dmm, cmm = (basis(rule, ridge=ridge) for rule in THREE)
    square = R**2 / ridge * (2 * math.log(10) + np.log1p(COUNTS / ridge).sum()) + D**2
    assert amm.width_at(4) == pytest.approx(math.sqrt(square), rel=1e-14)
    np.testing.assert_allclose(amm.index(4), basis_bound(ridge, ridge), rtol=1e-13)
    np.testing.assert_allclose(dmm.index(4), basis_bound(dmm.alphas, ridge), rtol=1e-12)
    dense = basis_bound(np.geomspace(1e-8, 1e8, 200_001), ridge)
    np.testing.assert_allclose(cmm.index(4), np.minimum(dense, D), atol=1e-7)
    assert cmm.index(4)[2] == pytest.approx(D, rel=1e-9)


def test_amm_is_narrower_than_whitehouse_by_the_triangle_inequality():
    amm, whitehouse = basis(kb.policies.AMMUCB), basis(kb.WhitehouseUCB)
    noise = math.sqrt(R**2 * (2 * math.log(10) + math.log(6)))
    assert whitehouse.width_at(4) == pytest.approx(noise + D, rel=1e-14)
    assert amm.width_at(4) == pytest.approx(math.hypot(noise, D), rel=1e-14)
    assert whitehouse.width_at(4) == pytest.approx(3.264608, abs=5e-7)


def test_before_the_first_reward_all_know_the_norm_only():
    amm, dmm, cmm = (rule(POINTS, kb.RBF(0.3), noise_scale=0.5, norm_bound=2.0) for rule in THREE)
    np.testing.assert_allclose(cmm.index(1), 2.0, rtol=1e-15)
    noise = 0.5 * 2 * math.log(10) / 2
    np.testing.assert_allclose(amm.index(1), math.sqrt(noise + 4), rtol=1e-12)
    np.testing.assert_allclose(dmm.index(1), math.sqrt(noise / 64 + 4), rtol=1e-12)


# ---------------------------------------------------------------- metamorphic


@pytest.mark.parametrize("rule", THREE)
@pytest.mark.parametrize("factor", [0.01, 7.0, 1e60])
def test_scaling_rewards_noise_and_norm_scales_the_index(rule, factor):
    """At a fixed ridge, so that the mixture scale R^2 / ridge grows with the square."""
    pulls, rewards = history(1, 25)
    plain = after(rule(POINTS, kb.RBF(0.3), noise_scale=0.3, norm_bound=1.5), pulls, rewards)
    scaled = rule(POINTS, kb.RBF(0.3), noise_scale=0.3 * factor, norm_bound=1.5 * factor)
    after(scaled, pulls, factor * rewards)
    np.testing.assert_allclose(
        np.array(scaled.band(26)) / factor, plain.band(26), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("rule", THREE)
@pytest.mark.parametrize("scale", [0.02, 50.0])
def test_a_kernel_scaled_together_with_ridge_and_norm_is_not_seen(rule, scale):
    pulls, rewards = history(2, 25)
    plain = after(
        rule(POINTS, kb.RBF(0.3), noise_scale=0.3, norm_bound=1.5, ridge=0.8), pulls, rewards
    )
    scaled = rule(
        POINTS,
        scale * kb.RBF(0.3),
        noise_scale=0.3,
        norm_bound=1.5 / math.sqrt(scale),
        ridge=0.8 * scale,
    )
    after(scaled, pulls, rewards)
    np.testing.assert_allclose(scaled.band(26), plain.band(26), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rule", THREE)
def test_negating_the_rewards_mirrors_the_band(rule):
    pulls, rewards = history(6, 25)
    plain, mirrored = (
        after(rule(POINTS, kb.RBF(0.3), noise_scale=0.3, norm_bound=1.5), pulls, sign * rewards)
        for sign in (1, -1)
    )
    lower, upper = plain.band(26)
    np.testing.assert_allclose(mirrored.band(26), (-upper, -lower), atol=1e-12)
    np.testing.assert_array_equal(plain.index(26), upper)
    assert (lower < upper).all()


@pytest.mark.parametrize("rule", [kb.policies.DMMUCB, kb.policies.CMMUCB])
def test_the_order_of_the_rewards_does_not_matter(rule):
    pulls, rewards = history(7, 30)
    order = np.random.default_rng(0).permutation(30)
    make = lambda: rule(POINTS, kb.RBF(0.3), noise_scale=0.3, norm_bound=1.5)  # noqa: E731
    np.testing.assert_allclose(
        after(make(), pulls[order], rewards[order]).index(31),
        after(make(), pulls, rewards).index(31),
        atol=1e-8,
    )


# ---------------------------------------------------------------- asking


@pytest.mark.parametrize("first", [1, 16])
@pytest.mark.parametrize("noise", [0.05, 0.5, 3.0])
def test_cmm_asks_for_the_arm_of_the_greatest_exact_index(noise, first, monkeypatch):
    """Arms that cannot be the greatest are left at a coarse bound; those that can are refined batch by batch."""
    monkeypatch.setattr("kernelbandits.theory.duality.FIRST", first)
    points = np.random.default_rng(1).random((40, 2))
    policy = kb.policies.CMMUCB(
        points, kb.RBF(0.2), noise_scale=noise, norm_bound=1.0, ties="lowest"
    )
    rng = np.random.default_rng(2)
    for t in range(1, 80):
        choice, index = policy.ask(t, kb.Streams(0)), policy.index(t)
        assert choice.note["index"] == pytest.approx(float(index.max()), abs=1e-12)
        assert index[choice.arm] == pytest.approx(float(index.max()), abs=1e-12)
        policy.tell(choice, float(np.sin(4 * choice.x.sum()) / 2 + noise * rng.normal()))


def test_the_grid_of_cmm_is_fine_enough_for_its_cubic_steps(monkeypatch):
    """Four times the ridges and twice the steps change nothing beyond 1e-7 of D."""
    policies = []
    for seed in range(8):
        noise, norm = 10.0 ** np.random.default_rng(seed).uniform(-3, 1, 2)
        pulls, rewards = history(seed, 10 + 20 * seed, noise=noise, norm=norm)
        policies.append(
            after(
                kb.policies.CMMUCB(POINTS, kb.RBF(0.3), noise_scale=noise, norm_bound=norm),
                pulls,
                rewards,
            )
        )
    plain = [policy.index(1) / policy.norm_bound for policy in policies]
    monkeypatch.setattr(
        "kernelbandits.theory.duality.GRID", np.geomspace(GRID[0], GRID[-1], 4 * len(GRID))
    )
    monkeypatch.setattr("kernelbandits.theory.duality.STEPS", 6)
    fine = [policy.index(1) / policy.norm_bound for policy in policies]
    np.testing.assert_allclose(plain, fine, atol=1e-7)


@pytest.mark.parametrize("rule", [kb.policies.DMMUCB, kb.policies.CMMUCB])
def test_an_empty_confidence_set_is_said_once_and_the_policy_goes_on(rule):
    policy = rule(POINTS, kb.RBF(0.3), noise_scale=0.01, norm_bound=0.5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for t in range(1, 12):
            policy.tell(policy.ask(t, kb.Streams(0)), 5.0 * (-1) ** t)
        assert np.isfinite(policy.index(12)).all()
    assert ["its confidence set is empty" in str(w.message) for w in said] == [True]


@pytest.mark.parametrize("rule", [kb.policies.DMMUCB, kb.policies.CMMUCB])
def test_a_set_that_is_not_empty_is_not_called_so(rule):
    pulls, rewards = history(8, 60)
    policy = rule(POINTS, kb.RBF(0.3), noise_scale=0.3, norm_bound=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arm, reward in zip(pulls, rewards, strict=True):
            policy.tell(policy.choice(int(arm)), float(reward))
            policy.ask(1, kb.Streams(0))


@pytest.mark.parametrize("rule", THREE)
@pytest.mark.parametrize(
    ("noise", "norm"), [(0.0, 1.0), (0.5, 0.0), (0.0, 0.0), (1e-9, 1e3), (1e3, 1e-9)]
)
def test_degenerate_bounds_leave_the_index_finite(rule, noise, norm):
    policy = after(rule(POINTS, kb.RBF(0.3), noise_scale=noise, norm_bound=norm), *history(9, 30))
    assert np.isfinite(policy.band(31)).all()


@pytest.mark.parametrize("reward", [1e150, -1e150, 5e-324])
@pytest.mark.parametrize("ridge", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("rule", THREE)
def test_extreme_rewards_leave_the_index_finite(rule, ridge, reward):
    policy = rule(POINTS, kb.RBF(0.3), noise_scale=0.5, norm_bound=1.0, ridge=ridge)
    after(policy, (0, 3, 0), (reward, 1.0, -reward))
    assert np.isfinite(policy.band(4)).all()
    assert policy.ask(4, kb.Streams(0)).arm in range(8)


def test_an_arm_of_no_variance_is_known():
    policy = after(
        kb.policies.CMMUCB([[0.0, 0.0], [1.0, 0.0]], kb.Linear(), noise_scale=0.5, norm_bound=1.0),
        (0, 1),
        (1, 1),
    )
    lower, upper = policy.band(3)
    assert lower[0] == upper[0] == 0.0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, "1", True, None], ids=repr)
def test_alphas_that_are_not_above_zero_are_refused(bad):
    with pytest.raises(ValueError, match=r"DMMUCB needs alphas > 0, got"):
        kb.policies.DMMUCB(POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, alphas=(1.0, bad))


@pytest.mark.parametrize("bad", ["1/2", kb.RBF(0.3), True], ids=repr)
def test_alphas_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ValueError, match=r"DMMUCB needs alphas > 0, as in 0.25/1/4, got"):
        kb.policies.DMMUCB(POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, alphas=bad)


def test_one_alpha_may_be_given_as_a_number():
    policy = kb.policies.DMMUCB(POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, alphas=3)
    np.testing.assert_array_equal(policy.alphas, [1.0, 3.0])


def test_the_ridge_is_always_among_the_alphas():
    policy = kb.policies.DMMUCB(
        POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, ridge=0.3, alphas=(2.0, 1.0)
    )
    assert policy.settings["alphas"] == (0.3, 1.0, 2.0)
    default = kb.policies.DMMUCB(POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0, ridge=0.3)
    np.testing.assert_allclose(default.alphas, 0.3 * 8.0 ** np.arange(-2, 3))


@pytest.mark.parametrize("rule", THREE)
def test_a_pool_too_large_for_its_covariance_is_played(rule):
    points = np.random.default_rng(3).random((2100, 2))
    large = rule(points, kb.RBF(0.3), noise_scale=0.2, norm_bound=1.0)
    for t in range(1, 6):
        choice = large.ask(t, kb.Streams(0))
        large.tell(choice, float(choice.x.sum()) / 2)
    small = rule(points[:50], kb.RBF(0.3), noise_scale=0.2, norm_bound=1.0)
    pulls, rewards = history(1, 30, points[:50])
    fresh = after(rule(points, kb.RBF(0.3), noise_scale=0.2, norm_bound=1.0), pulls, rewards)
    np.testing.assert_allclose(
        fresh.index(31)[:50], after(small, pulls, rewards).index(31), atol=1e-8
    )


# ---------------------------------------------------------------- coverage


RUNS = 40


def failures(noise, stated, chance, runs=RUNS, rounds=25):
    """How often f leaves the bands of AMM, DMM and CMM in some round at some arm, while CMM-UCB plays."""
    problem = RKHSFunction(kb.Matern(0.4), 1, candidates=5, norm_bound=1.0, noise=noise)
    left = np.zeros(3)
    for seed in range(runs):
        streams, outside = kb.Streams(seed), np.zeros(3, dtype=bool)
        instance = problem.instance(streams)
        bounds = {"noise_scale": stated, "norm_bound": 1.0, "delta": chance, "ridge": 0.3}
        rules = [rule(instance.domain, kb.Matern(0.4), **bounds) for rule in THREE]
        for t in range(1, rounds + 1):
            choice = rules[2].ask(t, streams)
            reward = instance.pull(choice.arm, streams.uniform("noise", t))
            for policy in rules:
                policy.tell(policy.choice(choice.arm), reward)
            bands = [policy.band(t + 1) for policy in rules]
            outside |= [
                ((f := instance.values) < low - 1e-9).any() or (f > high + 1e-9).any()
                for low, high in bands
            ]
        left += outside
    return left / runs


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise", [GaussianNoise(0.8), RademacherNoise(0.8)], ids=["gaussian", "rademacher"]
)
def test_f_stays_in_all_three_bands_in_all_rounds_with_the_chance_stated(noise):
    chance = 0.3
    rates = failures(noise, 0.8, chance)
    assert (rates <= chance + 4 * math.sqrt(chance * (1 - chance) / RUNS)).all()
    assert rates[0] <= rates[1] <= rates[2]


@pytest.mark.thorough
def test_bands_for_too_little_noise_are_caught():
    """The same test with R understated fails: it is able to."""
    assert failures(GaussianNoise(0.8), 0.25, 0.3, runs=25)[2] > 0.3 + 4 * math.sqrt(0.21 / 25)


@pytest.mark.parametrize("seed", range(5))
def test_more_arms_than_dimensions_leave_no_rounding_below_the_bound(seed):
    """On the linear kernel the posterior at any ridge is a 2 x 2 problem, whose least bound is found arm by arm."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 2))
    points /= 1.1 * np.linalg.norm(points, axis=1)[:, None]
    noise, norm, delta, ridge = 0.5, 2.0, 0.1, 0.7
    policy = kb.policies.CMMUCB(
        points, kb.Linear(), noise_scale=noise, norm_bound=norm, delta=delta, ridge=ridge
    )
    played, rewards = rng.integers(12, size=25), rng.normal(size=25)
    for arm, reward in zip(played, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    gram, moments = points[played].T @ points[played], points[played].T @ rewards

    def loss(a):
        """a y' (K + a I)^-1 y"""
        return rewards @ rewards - moments @ np.linalg.solve(gram + a * np.eye(2), moments)

    log_det = np.linalg.slogdet(np.eye(2) + gram / ridge)[1]
    radius = loss(ridge) + noise**2 * (log_det + 2 * math.log(1 / delta))

    def bound(a):
        inverse = np.linalg.inv(gram + a * np.eye(2))
        spread = a * np.einsum("ij,jk,ik->i", points, inverse, points)
        return points @ inverse @ moments + np.sqrt(((radius - loss(a)) / a + norm**2) * spread)

    grid = np.linspace(-25, 25, 400)
    table = np.array([bound(math.exp(u)) for u in grid])
    for arm, index in enumerate(policy.index(26)):
        at = int(np.clip(table[:, arm].argmin(), 1, 398))
        ends = (grid[at - 1], grid[at + 1])
        found = minimize_scalar(
            lambda u, arm=arm: bound(math.exp(u))[arm], bounds=ends, options={"xatol": 1e-10}
        )
        least = min(found.fun, table[:, arm].min(), norm * np.linalg.norm(points[arm]))
        assert -1e-12 * norm <= index - least <= 1e-7 * norm
