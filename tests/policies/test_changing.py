"""Rules for worlds that change: the drifting posterior, TV-GP-UCB and R-GP-UCB."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.posterior import DriftingPosterior
from kernelbandits.problems import GaussianNoise, Jumps, Markov, MovingInstance

POINTS = np.random.default_rng(3).random((8, 2))
KERNEL = kb.RBF(0.4)


def told(posterior, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        posterior.update(int(arm), float(reward))
    return posterior


def history(seed: int, n: int, arms: int = 8):
    rng = np.random.default_rng(seed)
    return rng.integers(arms, size=n), rng.normal(size=n)


def direct(where, points, pulls, rewards, ridge, rate):
    """Bogunovic et al.: Ktilde = K o D, D_ij = (1 - rate)^(|i - j| / 2), weights (1 - rate)^((t + 1 - i) / 2)."""
    t, x = len(pulls), points[pulls]
    i = np.arange(1, t + 1)
    matrix = KERNEL(x, x) * (1 - rate) ** (np.abs(i[:, None] - i) / 2)
    cross = KERNEL(where, x) * (1 - rate) ** ((t + 1 - i) / 2)
    solved = np.linalg.solve(matrix + ridge * np.eye(t), np.column_stack([rewards, cross.T]))
    cov = KERNEL(where, where) - cross @ solved[:, 1:]
    return cross @ solved[:, 0], cov, np.linalg.slogdet(np.eye(t) + matrix / ridge)[1]


# ---------------------------------------------------------------- the posterior


@settings(max_examples=40)
@given(st.integers(0, 1000), st.integers(1, 60), st.floats(0.0, 1.0), st.floats(0.05, 3.0))
def test_the_kalman_steps_are_the_space_time_formula(seed, n, rate, ridge):
    pulls, rewards = history(seed, n)
    posterior = told(DriftingPosterior(KERNEL, POINTS, ridge, rate), pulls, rewards)
    mean, cov, log_det = direct(POINTS, POINTS, pulls, rewards, ridge, rate)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov, atol=1e-9)
    np.testing.assert_array_equal(posterior.variance, posterior.cov.diagonal())
    assert posterior.log_det == pytest.approx(log_det, abs=1e-9)
    np.testing.assert_array_equal(posterior.counts, np.bincount(pulls, minlength=8))


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("size", [1, 5, 230])
def test_at_is_the_space_time_formula_at_any_points(rate, size):
    where = np.random.default_rng(9).random((size, 2))
    pulls, rewards = history(4, 40)
    mean, sd = told(DriftingPosterior(KERNEL, POINTS, 0.3, rate), pulls, rewards).at(where)
    expected, cov, _ = direct(where, POINTS, pulls, rewards, 0.3, rate)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    np.testing.assert_allclose(sd**2, cov.diagonal(), atol=1e-9)


def test_at_before_any_reward_is_the_prior():
    mean, sd = DriftingPosterior(KERNEL, POINTS, 0.3, 0.1).at([[0.0, 0.5], [2.0, 2.0]])
    assert (mean.tolist(), sd.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="at needs points of 2 dimensions, got 3"):
        DriftingPosterior(KERNEL, POINTS, 0.3, 0.1).at([[0.0, 0.5, 1.0]])


def test_at_rate_0_nothing_differs_from_a_world_at_rest():
    pulls, rewards = history(5, 2300)
    still, drifting = (
        kb.posterior.ArmPosterior(KERNEL, POINTS, 0.2),
        DriftingPosterior(KERNEL, POINTS, 0.2, 0.0),
    )
    for posterior in (still, drifting):
        told(posterior, pulls, rewards)
    np.testing.assert_array_equal(drifting.mean, still.mean)
    np.testing.assert_array_equal(drifting.cov, still.cov)
    assert (drifting.log_det, drifting.health) == (still.log_det, still.health)
    np.testing.assert_array_equal(drifting.at(POINTS + 0.1), still.at(POINTS + 0.1))
    g, e = np.ones(8), np.arange(8.0)
    np.testing.assert_array_equal(drifting.deviation(g, e), still.deviation(g, e))


def test_at_rate_1_every_round_is_the_prior():
    posterior = told(DriftingPosterior(KERNEL, POINTS, 0.2, 1.0), *history(6, 30))
    np.testing.assert_array_equal(posterior.mean, np.zeros(8))
    np.testing.assert_array_equal(posterior.cov, KERNEL(POINTS, POINTS))
    assert posterior.log_det == pytest.approx(30 * math.log1p(1 / 0.2))


def test_on_orthonormal_arms_each_is_a_scalar_kalman_filter():
    """v <- (1 - rate) v ridge / (v + ridge) + rate where the arm is played, v <- (1 - rate) v + rate elsewhere."""
    ridge, rate, mean, variance = 0.5, 0.2, np.zeros(3), np.ones(3)
    posterior = DriftingPosterior(kb.Linear(), np.eye(3), ridge, rate)
    for arm, reward in zip(*history(7, 25, 3), strict=True):
        posterior.update(int(arm), float(reward))
        mean[arm] += variance[arm] / (variance[arm] + ridge) * (reward - mean[arm])
        variance[arm] *= ridge / (variance[arm] + ridge)
        mean, variance = math.sqrt(1 - rate) * mean, (1 - rate) * variance + rate
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-13)
        np.testing.assert_allclose(posterior.variance, variance, atol=1e-13)


def test_what_is_not_played_is_forgotten_and_no_audit_takes_that_for_damage():
    posterior = DriftingPosterior(kb.Linear(), np.eye(2), 0.1, 0.05)
    told(posterior, [0] * 30, [1.0] * 30)
    known = float(posterior.sd[0])
    grown = []
    for _ in range(100):
        posterior.update(1, 0.0)
        grown.append(float(posterior.sd[0]))
    assert (np.diff([known, *grown]) > 0).all()
    assert grown[-1] > 0.99
    posterior.update(0, 1.0)
    assert (posterior.health.audits, posterior.health.repairs) == (0, 0)


def test_audits_replay_the_rewards_at_doubling_distances_and_find_nothing():
    posterior = told(DriftingPosterior(KERNEL, POINTS, 0.3, 0.02), *history(8, 4500))
    assert (posterior.health.audits, posterior.health.repairs) == (3, 0)
    assert posterior.next_audit == 8000
    assert not posterior.audit()


def test_no_variance_becomes_so_small_that_its_digits_are_lost():
    posterior = told(DriftingPosterior(kb.Linear(), np.eye(2), 1e-6, 0.1), [0] * 6000, [1.0] * 6000)
    assert posterior.variance[0] >= 0.1
    assert posterior.health.conditioning == pytest.approx(np.finfo(float).eps / 0.1)
    with pytest.warns(kb.NumericsWarning, match="ridge 1e-06 is small"):
        still = told(DriftingPosterior(kb.Linear(), np.eye(2), 1e-6, 0.0), [0] * 6000, [1.0] * 6000)
    assert still.health.conditioning == pytest.approx(6000 * np.finfo(float).eps / 1e-6)


@pytest.mark.parametrize("part", ["mean", "cov", "log_det"])
@pytest.mark.parametrize("value", [0.3, math.nan])
def test_a_damaged_state_is_repaired_by_replay(part, value):
    pulls, rewards = history(9, 50)
    posterior, sound = (
        told(DriftingPosterior(KERNEL, POINTS, 0.3, 0.02), pulls, rewards) for _ in range(2)
    )
    if part == "log_det":
        posterior.log_det = value
    else:
        getattr(posterior, part)[3] = value
    with pytest.warns(kb.NumericsWarning, match="repaired by replay after 50 rewards"):
        assert posterior.audit()
    for twin in (posterior, sound):
        twin.update(2, 1.0)
    np.testing.assert_allclose(posterior.mean, sound.mean, atol=1e-12)
    np.testing.assert_allclose(posterior.cov, sound.cov, atol=1e-12)
    np.testing.assert_array_equal(posterior.variance, posterior.cov.diagonal())
    assert posterior.log_det == pytest.approx(sound.log_det)
    assert (posterior.health.audits, posterior.health.repairs) == (1, 1)


def test_an_impossible_variance_calls_for_the_audit_at_once():
    posterior = told(DriftingPosterior(KERNEL, POINTS, 0.3, 0.02), *history(9, 50))
    posterior.cov[4, 4] = 1.5
    with pytest.warns(kb.NumericsWarning, match="after 51 rewards"):
        posterior.update(4, 1.0)
    assert posterior.health.repairs == 1


def test_counts_do_not_make_a_joint_draw_of_a_world_that_drifts():
    with pytest.raises(ValueError, match=r"a draw from counts needs rate 0, got 0\.1"):
        DriftingPosterior(KERNEL, POINTS, 0.3, 0.1).deviation(np.zeros(8), np.zeros(8))


# ---------------------------------------------------------------- the rules


def same_play(left: kb.Policy, right: kb.Policy, horizon: int = 60) -> None:
    rng = np.random.default_rng(1)
    for t in range(1, horizon + 1):
        first, second = left.ask(t, kb.Streams(3)), right.ask(t, kb.Streams(3))
        assert first == second
        assert left.recommend() == right.recommend()
        reward = float(np.sin(5 * first.x.sum()) + 0.3 * rng.normal())
        left.tell(first, reward)
        right.tell(second, reward)


def gp_ucb(**more) -> kb.GPUCB:
    return kb.GPUCB(POINTS, KERNEL, noise_scale=0.3, **more)


def tv(**more) -> kb.policies.TVGPUCB:
    return kb.policies.TVGPUCB(POINTS, KERNEL, **({"noise_scale": 0.3} | more))


def restarted(**more) -> kb.policies.RGPUCB:
    return kb.policies.RGPUCB(POINTS, KERNEL, **({"noise_scale": 0.3, "horizon": 1000} | more))


def test_tv_gp_ucb_without_drift_is_gp_ucb():
    same_play(tv(rate=0.0, delta=0.2), gp_ucb(delta=0.2))


def test_r_gp_ucb_without_restarts_is_gp_ucb():
    same_play(restarted(period=61), gp_ucb())
    same_play(restarted(horizon=60, rate=0.0), gp_ucb())
    same_play(restarted(horizon=60, rate=1e-9), gp_ucb())


def test_under_total_drift_all_arms_tie_in_every_round():
    policy = tv(rate=1.0)
    played = set()
    for t in range(1, 60):
        assert np.ptp(policy.index(t)) == 0
        choice = policy.ask(t, kb.Streams(0))
        played.add(choice.arm)
        policy.tell(choice, 100.0 * choice.arm)
    assert len(played) == 8


@pytest.mark.parametrize("rule", [tv, restarted])
def test_the_widths_are_those_of_the_paper(rule):
    for t in (1, 7, 1000):
        beta = 2 * math.log(8 * math.pi**2 * t**2 / (6 * 0.2))
        assert rule(delta=0.2).width_at(t) == pytest.approx(math.sqrt(beta), rel=1e-13)
        assert rule(schedule="practical").width_at(t) == pytest.approx(
            math.sqrt(0.8 * math.log(4 * t)), rel=1e-13
        )


@pytest.mark.parametrize("rule", [tv, restarted])
def test_the_ridge_is_the_variance_of_the_noise(rule):
    assert rule().posterior.ridge == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("horizon", "rate", "period"),
    [
        (1000, 0.01, 38),
        (1000, 0.0001, 120),
        (20, 0.01, 20),
        (1000, 1.0, 12),
        (1, 0.01, 1),
        (50, 0.0, 50),
    ],
)
def test_the_period_of_the_restarts(horizon, rate, period):
    policy = restarted(horizon=horizon, rate=rate)
    assert policy.period == policy.settings["period"] == period


def test_a_restart_forgets_everything_and_beta_goes_on():
    policy, streams = restarted(period=5), kb.Streams(2)
    told_so_far = []
    for t in range(1, 18):
        block = told_so_far[(t - 1) // 5 * 5 :]
        fresh = gp_ucb()
        for arm, reward in block:
            fresh.tell(fresh.choice(arm), reward)
        np.testing.assert_array_equal(policy.index(t), fresh.index(t))
        assert policy.posterior.events == len(block) == (t - 1) % 5
        choice = policy.ask(t, streams)
        told_so_far.append((choice.arm, float(t % 3)))
        policy.tell(choice, told_so_far[-1][1])


def test_after_a_restart_the_last_block_answers_until_the_new_one_can():
    policy = restarted(period=3)
    for arm, reward in ((1, 0.0), (4, 3.0), (6, 1.0)):
        policy.tell(policy.choice(arm), reward)
    assert policy.posterior.events == 0
    assert policy.recommend() == 4
    policy.tell(policy.choice(7), 2.0)
    assert policy.recommend() == policy.posterior.mean.argmax() == 7


def test_restarts_work_on_a_large_pool(quiet):
    points = np.random.default_rng(0).random((20_000, 2))
    policy = kb.policies.RGPUCB(points, KERNEL, noise_scale=0.3, horizon=10, period=2)
    for t in range(1, 6):
        policy.tell(policy.ask(t, kb.Streams(0)), 1.0)
    assert isinstance(policy.posterior, kb.posterior.RowPosterior)
    assert policy.posterior.events == 1


def test_drift_over_too_many_arms_is_refused_with_its_memory():
    with pytest.raises(
        ValueError,
        match=r"TVGPUCB needs at most 2000 arms, got '2001 arms, a covariance of 0\.0 GB'",
    ):
        kb.policies.TVGPUCB(np.arange(2001.0)[:, None], KERNEL, noise_scale=1.0)


@pytest.mark.parametrize("rule", [tv, restarted])
@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        ("rate", -0.1),
        ("rate", 1.1),
        ("rate", math.nan),
        ("rate", "1"),
        ("schedule", "rkhs"),
        ("noise_scale", 0.0),
    ],
)
def test_the_settings_are_checked(rule, setting, bad):
    with pytest.raises(ValueError, match=rf"UCB needs .*{setting}.*, got {bad!r}"):
        rule(**{setting: bad})


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "5"])
def test_a_period_is_a_whole_number_of_rewards(bad):
    with pytest.raises(ValueError, match="RGPUCB needs a whole number period >= 1, got"):
        restarted(period=bad)


# ---------------------------------------------------------------- what is promised, by simulation


def drawn_world(seed: int, rate: float, points: np.ndarray) -> MovingInstance:
    """The model itself: f_1 ~ GP(0, k) and f_{t+1} = sqrt(1 - rate) f_t + sqrt(rate) g_{t+1}."""
    streams, n = kb.Streams(seed), len(points)
    root = kb.posterior.ArmPosterior(KERNEL, points).root()
    first = root @ streams.normal("problem", 1, n)
    path = Markov(rate, KERNEL).path(first, 0.0, lambda t: root @ streams.normal("problem", t, n))
    return MovingInstance("drawn", kb.Arms(points), first, GaussianNoise(0.3), path=path)


def breaks_out(
    policy: kb.policies.TVGPUCB,
    world: MovingInstance,
    horizon: int,
    streams: kb.Streams,
    factor: float,
) -> bool:
    """Whether f_t leaves mean +- factor sqrt(beta_t) sd at any arm in any round."""
    for t in range(1, horizon + 1):
        band = factor * policy.width_at(t) * policy.posterior.sd
        if (np.abs(world.at(t) - policy.posterior.mean) > band).any():
            return True
        choice = policy.ask(t, streams)
        policy.tell(choice, world.pull(choice.arm, streams.uniform("noise", t), t))
    return False


def failures(rate: float, factor: float = 1.0, runs: int = 150, delta: float = 0.5) -> float:
    count = 0
    for seed in range(runs):
        policy = tv(rate=rate, delta=delta)
        count += breaks_out(policy, drawn_world(seed, 0.1, POINTS), 40, kb.Streams(seed), factor)
    return count / runs


@pytest.mark.thorough
def test_the_moving_function_stays_inside_the_band_with_chance_1_minus_delta():
    """At most delta + 4 standard errors; a band of half the width, or one that knows no drift, is caught."""
    allowed = 0.5 + 4 * math.sqrt(0.25 / 150)
    assert failures(0.1) <= allowed
    assert failures(0.1, factor=0.5) > allowed
    assert failures(0.0) > allowed


def paired_regret(rules, worlds, horizon: int) -> np.ndarray:
    """Total regret, a row for each world and a column for each rule."""
    rows = []
    for seed, world in enumerate(worlds):
        played = [kb.play(rule(), world, horizon, kb.Streams(seed)) for rule in rules]
        rows.append([world.regrets(run.arms).sum() for run in played])
    return np.array(rows)


def surely_less(first: np.ndarray, second: np.ndarray) -> bool:
    difference = second - first
    return bool(difference.mean() > 4 * difference.std(ddof=1) / math.sqrt(len(difference)))


@pytest.mark.thorough
def test_in_a_drifting_world_tv_gp_ucb_loses_less_than_gp_ucb_and_than_restarts():
    worlds = [drawn_world(seed, 0.02, POINTS) for seed in range(20)]
    forgetting = {"rate": 0.02, "schedule": "practical"}
    rules = [
        lambda: tv(**forgetting),
        gp_ucb,
        lambda: gp_ucb(beta_scale=0.2),
        lambda: restarted(**forgetting),
    ]
    regret = paired_regret(rules, worlds, 800)
    for other in (1, 2, 3):
        assert surely_less(regret[:, 0], regret[:, other])


@pytest.mark.thorough
def test_in_a_jumping_world_restarts_at_the_jumps_lose_less_than_gp_ucb():
    def world(seed: int) -> MovingInstance:
        streams, root = kb.Streams(seed), kb.posterior.ArmPosterior(KERNEL, POINTS).root()
        path = Jumps(60, KERNEL).path(
            root @ streams.normal("problem", 1, 8), 0.0, lambda t: root @ draw(streams, t)
        )
        return MovingInstance(
            "jumps", kb.Arms(POINTS), root @ draw(streams, 1), GaussianNoise(0.3), path=path
        )

    def draw(streams, t):
        return streams.normal("problem", t, 8)

    worlds = [world(seed) for seed in range(20)]
    regret = paired_regret([lambda: restarted(period=60), gp_ucb], worlds, 240)
    assert surely_less(regret[:, 0], regret[:, 1])


def test_the_gain_of_a_rule_that_starts_again_is_the_sum_over_its_blocks(cloud):
    policy = kb.policies.RGPUCB(cloud, kb.RBF(0.3), noise_scale=0.5, horizon=20, period=3)
    gained, fresh = 0.0, kb.posterior.ArmPosterior(kb.RBF(0.3), cloud, 0.25)
    for t in range(1, 9):
        choice = policy.ask(t, kb.Streams(0))
        policy.tell(choice, 0.1 * t)
        fresh.update(choice.arm, 0.1 * t)
        if t % 3 == 0:
            gained, fresh = (
                gained + fresh.log_det,
                kb.posterior.ArmPosterior(kb.RBF(0.3), cloud, 0.25),
            )
    assert policy.played_log_det == pytest.approx(gained + fresh.log_det, rel=1e-12)
    assert policy.posterior.log_det < policy.played_log_det
