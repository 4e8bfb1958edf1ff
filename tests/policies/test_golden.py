"""Golden numbers and the equations that tie the policies to each other."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.theory.gains import GreedyGain

R, D, DELTA, T = 0.5, 2.0, 0.1, 100
BASIS = np.eye(3)
THEORY = {"noise_scale": R, "norm_bound": D}


def told(policy: kb.Policy) -> kb.Policy:
    """Instance G: n = (2, 1, 0), S = (1, -0.5, 0), before round 4."""
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    return policy


def simple_ucb(**more) -> kb.SimpleUCB:
    return told(kb.SimpleUCB(BASIS, kb.Linear(), **(THEORY | more)))


SIMPLE = [2.002658, 1.794497, 2.891355]


def index_of(policy, weight=1.0):
    return policy.width(4, policy.posterior.log_det), policy.index(4, weight)


@pytest.mark.parametrize(
    ("policy", "weight", "width", "index"),
    [
        (simple_ucb(), 1.0, 2.891355, SIMPLE),
        (simple_ucb(), 0.5, 1.445677, [1.167996, 0.772248, 1.445677]),
        (simple_ucb(), -1.0, -2.891355, [-1.335991, -2.294497, -2.891355]),
        (
            told(kb.WhitehouseUCB(BASIS, kb.Linear(), **THEORY)),
            1.0,
            3.264608,
            [2.218155, 2.058426, 3.264608],
        ),
        (
            told(kb.IGPUCB(BASIS, kb.Linear(), horizon=T, **THEORY)),
            1.0,
            3.446886,
            [2.334322, 2.201828, 3.446886],
        ),
        (
            told(
                kb.GPUCB(
                    BASIS,
                    kb.Linear(),
                    schedule="rkhs",
                    gain=lambda t: {4: 2.7080502}[int(t)],
                    **THEORY,
                )
            ),
            1.0,
            201.963678,
            [67.765670, 89.920903, 201.963678],
        ),
        (
            told(
                kb.GPUCB(
                    BASIS,
                    kb.Linear(),
                    schedule="rkhs",
                    gain=GreedyGain(kb.Linear(), kb.Arms(BASIS), R**2).value,
                    **THEORY,
                )
            ),
            1.0,
            201.963678,
            [67.765670, 89.920903, 201.963678],
        ),
    ],
    ids=[
        "simple-ucb",
        "generic w=1/2",
        "generic w=-1",
        "whitehouse",
        "igp-ucb",
        "srinivas",
        "srinivas exact gain",
    ],
)
def test_the_golden_indices_of_instance_g(policy, weight, width, index):
    got_width, got_index = index_of(policy, weight)
    digits = 5e-7 if width < 100 else 5e-6
    assert weight * got_width == pytest.approx(width, abs=digits)
    np.testing.assert_allclose(got_index, index, atol=digits)


def test_the_golden_scale_of_gp_ts():
    realised = told(kb.GPTS(BASIS, kb.Linear(), horizon=T, **THEORY))
    assert realised.width(4, realised.posterior.log_det) == pytest.approx(3.562067, abs=5e-7)
    exact = GreedyGain(kb.Linear(), kb.Arms(BASIS), 1.02).value
    given_gain = told(kb.GPTS(BASIS, kb.Linear(), horizon=T, gain=exact, **THEORY))
    assert given_gain.width(4, 0.0) == pytest.approx(3.584404, abs=5e-7)


@pytest.mark.parametrize("weight", [1.0, 0.5, -1.0, 0.0])
def test_asking_plays_the_greatest_golden_index(weight, quiet):
    policy = told(kb.GenericGP(BASIS, kb.Linear(), kb.PointMass(weight), **THEORY))
    choice = policy.ask(4, kb.Streams(0))
    assert (
        choice.arm
        == simple_ucb().index(4, weight).argmax()
        == {1.0: 2, 0.5: 2, -1.0: 0, 0.0: 0}[weight]
    )
    assert choice.note["weight"] == weight


# ---------------------------------------------------------------- one rule in several dresses

POINTS = np.random.default_rng(0).random((10, 2))
RULES = {"noise_scale": 0.7, "norm_bound": 1.5, "ties": "lowest"}


def same_play(left: kb.Policy, right: kb.Policy, index: bool = True) -> None:
    """Thirty rounds: equal arms, and equal indices to 1e-10."""
    rng = np.random.default_rng(1)
    for t in range(1, 31):
        if index:
            np.testing.assert_allclose(left.index(t), right.index(t), atol=1e-10)
        first, second = left.ask(t, kb.Streams(3)), right.ask(t, kb.Streams(3))
        assert first.arm == second.arm
        reward = float(np.sin(5 * first.x.sum()) + rng.normal())
        left.tell(first, reward)
        right.tell(second, reward)


def generic(law, **more) -> kb.GenericGP:
    return kb.GenericGP(POINTS, kb.RBF(0.3), law, **(RULES | more))


UCB = {
    "whitehouse at ridge 1 and delta 1/2": lambda: kb.WhitehouseUCB(
        POINTS, kb.RBF(0.3), delta=0.5, **RULES
    ),
    "point mass at 1": lambda: generic(kb.PointMass(1.0)),
    "bernoulli(1)": lambda: generic(kb.Bernoulli(1.0)),
    "gaussian(1, 0)": lambda: generic(kb.Gaussian(1.0, 0.0)),
    "mixture with rho 1": lambda: kb.SimpleMixture(POINTS, kb.RBF(0.3), rho=1.0, **RULES),
    "categorical with all weight at 1": lambda: generic(kb.Categorical((0.0, 0.0, 1.0))),
    "simple-bernoulli(1)": lambda: kb.SimpleBernoulli(POINTS, kb.RBF(0.3), p=1.0, **RULES),
    "schedule": lambda: generic(lambda t: kb.Bernoulli(1.0)),
}


@pytest.mark.parametrize("other", UCB.values(), ids=UCB)
def test_simple_ucb_in_other_words(other):
    same_play(kb.SimpleUCB(POINTS, kb.RBF(0.3), **RULES), other())


def test_bernoulli_0_is_greedy(quiet):
    greedy = kb.policies.Greedy(POINTS, kb.RBF(0.3), ties="lowest")
    same_play(generic(kb.Bernoulli(0.0)), greedy, index=False)
    np.testing.assert_array_equal(greedy.index(5, 0.0), greedy.posterior.mean)


def test_a_mixture_with_rho_0_is_its_law(quiet):
    mixture = kb.SimpleMixture(POINTS, kb.RBF(0.3), rho=0.0, law=kb.Gaussian(0.0, 2.0), **RULES)
    same_play(mixture, kb.SimpleGaussian(POINTS, kb.RBF(0.3), scale=2.0, **RULES))


def test_without_noise_the_rule_is_the_classical_one_with_a_constant_factor(quiet):
    """R = 0, D = c: index mean + w c sd; and GP-UCB with a constant beta is that at ridge R^2."""
    policy = generic(kb.PointMass(1.0), noise_scale=0.0, norm_bound=1.7)
    for t in range(1, 10):
        np.testing.assert_allclose(
            policy.index(t, 0.4), policy.posterior.mean + 0.4 * 1.7 * policy.posterior.sd
        )
        policy.tell(policy.ask(t, kb.Streams(0)), float(t))
    beta = 2 * math.log(10 * math.pi**2 / (6 * 0.1))
    srinivas = kb.GPUCB(POINTS, kb.RBF(0.3), noise_scale=0.7)
    constant = generic(kb.PointMass(1.0), noise_scale=0.0, norm_bound=math.sqrt(beta), ridge=0.49)
    for policy in (srinivas, constant):
        policy.tell(policy.choice(4), 2.0)
    np.testing.assert_allclose(srinivas.index(1), constant.index(1), atol=1e-12)


def test_igp_ucb_for_a_long_horizon_is_whitehouse_with_one_more_nat(quiet):
    """ridge 1 + 2/T -> 1 and 1 + ln(1/delta) = ln(e/delta)."""
    igp = kb.IGPUCB(POINTS, kb.RBF(0.3), horizon=10**12, delta=0.1, **RULES)
    same_play(igp, kb.WhitehouseUCB(POINTS, kb.RBF(0.3), delta=0.1 / math.e, **RULES))


def test_on_the_linear_kernel_the_index_is_the_supremum_over_the_confidence_ellipsoid():
    """OFUL: sup { <x, theta> : |(V + rho I)^(1/2) (theta - theta_hat)| <= U }, by brute force in two dimensions."""
    rng = np.random.default_rng(4)
    points = rng.normal(size=(5, 2))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    rho, r, d, delta = 0.6, 0.8, 1.3, 0.2
    policy = kb.WhitehouseUCB(
        points, kb.Linear(), noise_scale=r, norm_bound=d, ridge=rho, delta=delta
    )
    pulls, rewards = rng.integers(5, size=12), rng.normal(size=12)
    for arm, reward in zip(pulls, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    x = points[pulls]
    v = x.T @ x + rho * np.eye(2)
    centre = np.linalg.solve(v, x.T @ rewards)
    radius = (
        r * math.sqrt(2 * math.log(1 / delta * math.sqrt(np.linalg.det(v / rho))))
        + math.sqrt(rho) * d
    )
    angles = np.linspace(0, 2 * np.pi, 200_001)
    boundary = np.linalg.solve(np.linalg.cholesky(v).T, np.array([np.cos(angles), np.sin(angles)]))
    supremum = (points @ (centre[:, None] + radius * boundary)).max(1)
    np.testing.assert_allclose(policy.index(13), supremum, rtol=1e-8)


# ---------------------------------------------------------------- metamorphic


def index_policies(points, kernel, factor=1.0):
    bounds = {"noise_scale": 0.7 * factor, "norm_bound": 1.5 * factor}
    return [
        kb.SimpleUCB(points, kernel, **bounds),
        kb.GenericGP(points, kernel, kb.Gaussian(), ridge=0.3, delta=0.2, **bounds),
        kb.WhitehouseUCB(points, kernel, ridge=2.5, **bounds),
        kb.IGPUCB(points, kernel, horizon=40, **bounds),
        kb.IGPUCB(points, kernel, horizon=40, gain="greedy", **bounds),
    ]


def after(policy, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    return policy


HISTORY = st.tuples(st.integers(0, 1000), st.integers(0, 15))


@settings(max_examples=20)
@given(HISTORY, st.floats(0.01, 100), st.sampled_from([1.0, 0.5, 0.0, -1.0]))
def test_scaling_rewards_noise_and_norm_scales_the_index(history, factor, weight):
    rng = np.random.default_rng(history[0])
    pulls, rewards = rng.integers(10, size=history[1]), rng.normal(size=history[1])
    plain, scaled = index_policies(POINTS, kb.RBF(0.3)), index_policies(POINTS, kb.RBF(0.3), factor)
    for left, right in zip(plain, scaled, strict=True):
        t = len(pulls) + 1
        expected = factor * after(left, pulls, rewards).index(t, weight)
        np.testing.assert_allclose(
            after(right, pulls, factor * rewards).index(t, weight), expected, rtol=1e-10, atol=1e-12
        )


def test_gp_ts_draws_scale_with_rewards_noise_and_norm():
    rng = np.random.default_rng(5)
    pulls, rewards, z, e = (
        rng.integers(10, size=8),
        rng.normal(size=8),
        rng.normal(size=10),
        rng.normal(size=10),
    )
    plain = kb.GPTS(POINTS, kb.RBF(0.3), noise_scale=0.7, norm_bound=1.5, horizon=20)
    scaled = kb.GPTS(POINTS, kb.RBF(0.3), noise_scale=2.1, norm_bound=4.5, horizon=20)
    expected = 3 * after(plain, pulls, rewards).sample(9, z, e)
    np.testing.assert_allclose(
        after(scaled, pulls, 3 * rewards).sample(9, z, e), expected, rtol=1e-11
    )


@settings(max_examples=20)
@given(HISTORY, st.floats(0.01, 100))
def test_whitehouse_does_not_see_a_kernel_scaled_together_with_ridge_and_norm(history, scale):
    """k -> s k, ridge -> s ridge, D -> D / sqrt(s): mean and width * sd stay."""
    rng = np.random.default_rng(history[0])
    pulls, rewards = rng.integers(10, size=history[1]), rng.normal(size=history[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.TheoryWarning)
        plain = kb.WhitehouseUCB(POINTS, kb.RBF(0.3), noise_scale=0.7, norm_bound=1.5, ridge=0.8)
        scaled = kb.WhitehouseUCB(
            POINTS,
            scale * kb.RBF(0.3),
            noise_scale=0.7,
            norm_bound=1.5 / math.sqrt(scale),
            ridge=0.8 * scale,
        )
    after(plain, pulls, rewards)
    after(scaled, pulls, rewards)
    np.testing.assert_allclose(scaled.posterior.mean, plain.posterior.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.index(9), plain.index(9), rtol=1e-10, atol=1e-12)


def test_simple_ucb_with_its_fixed_ridge_does_see_the_scale_of_the_kernel(quiet):
    plain = after(
        kb.SimpleUCB(POINTS, kb.RBF(0.3), noise_scale=0.7, norm_bound=2.0), [0, 1], [1.0, 2.0]
    )
    scaled = after(
        kb.SimpleUCB(POINTS, 4.0 * kb.RBF(0.3), noise_scale=0.7, norm_bound=1.0), [0, 1], [1.0, 2.0]
    )
    assert np.abs(scaled.index(3) - plain.index(3)).max() > 0.05


def test_duplicating_an_arm_leaves_the_widths_but_not_those_that_count_arms(quiet):
    doubled = np.vstack([POINTS, POINTS[:1]])
    for left, right in zip(
        index_policies(POINTS, kb.RBF(0.3)), index_policies(doubled, kb.RBF(0.3)), strict=True
    ):
        after(left, [0, 3], [1.0, 2.0])
        after(right, [0, 3], [1.0, 2.0])
        np.testing.assert_allclose(right.index(3)[:10], left.index(3), atol=1e-12)
        assert right.index(3)[10] == pytest.approx(right.index(3)[0], abs=1e-12)
    left, right = (kb.GPUCB(points, kb.RBF(0.3), noise_scale=0.5) for points in (POINTS, doubled))
    assert right.width(1, 0.0) > left.width(1, 0.0)


# ---------------------------------------------------------------- Theorem 2


def theorem_two(d: int, horizon: int) -> tuple[Instance, float]:
    """X = {e_1..e_d}, f = Delta e_1, no noise, R = D = 1; Delta = (sqrt(d/2) + 1) / (2 sqrt(1 + (T/6)/(d-1)))."""
    gap = (math.sqrt(d / 2) + 1) / (2 * math.sqrt(1 + horizon / 6 / (d - 1)))
    return Instance("theorem-2", kb.Arms(np.eye(d)), gap * np.eye(d)[0], GaussianNoise(0.0)), gap


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_the_lower_bound_instance_is_played_exactly_as_in_closed_form(engine):
    instance, gap = theorem_two(3, 2000)
    assert gap == pytest.approx(0.0859066638, abs=5e-11)
    policy = kb.SimpleUCB(
        instance.domain, kb.Linear(), noise_scale=1.0, norm_bound=1.0, ties="lowest"
    )
    played = kb.play(policy, instance, 2000, kb.Streams(0), engine=engine)
    assert played.engine == engine
    assert np.bincount(played.arms).tolist() == [1062, 469, 469]
    assert instance.gaps[played.arms].sum() == pytest.approx(80.58045, abs=5e-6)
    np.testing.assert_array_equal(played.arms, closed_form_arms(3, 2000, gap))


def closed_form_arms(d: int, horizon: int, gap: float) -> list[int]:
    """index_i = Delta n_1 1{i=1} / (1 + n_1) + (sqrt(2 ln 2 + sum ln(1 + n_j)) + 1) / sqrt(1 + n_i), lowest of ties."""
    n, arms = np.zeros(d), []
    for _ in range(horizon):
        index = (math.sqrt(2 * math.log(2) + np.log1p(n).sum()) + 1) / np.sqrt(1 + n)
        index[0] += gap * n[0] / (1 + n[0])
        arms.append(int(np.flatnonzero(index >= index.max() - 1e-12 * max(1, abs(index.max())))[0]))
        n[arms[-1]] += 1
    return arms
