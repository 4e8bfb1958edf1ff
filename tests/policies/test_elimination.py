"""Batches that eliminate: lengths, widths, nesting, survival of the best arm, and a direct solve as the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import chdtri

import kernelbandits as kb
from kernelbandits import widths
from kernelbandits.policies.elimination import (
    ceil_root,
    cut_lengths,
    doublings,
    powers,
    square_roots,
)
from kernelbandits.problems import GaussianNoise, Instance, RademacherNoise, RKHSFunction

R, D, DELTA, T = 0.5, 2.0, 0.1, 100
BASIS = np.eye(3)
THEORY = {"noise_scale": R, "norm_bound": D, "horizon": T}
LINE = np.sort(np.random.default_rng(0).random(15))[:, None]
KERNEL = kb.RBF(0.3)
NARROW = {"noise_scale": 0.05, "norm_bound": 0.6, "ridge": 0.0025}
"""Bounds under which arms leave from the first batch on."""
EXACT = {"rtol": 0, "atol": 5e-7}

both = pytest.mark.parametrize("rule", [kb.policies.BPE, kb.policies.REDS])


def f(points: np.ndarray) -> np.ndarray:
    return 0.5 * np.sin(5 * points.sum(1))


def line(rule: type[kb.Policy], horizon: int = T, **more) -> kb.Policy:
    return rule(LINE, KERNEL, horizon=horizon, **(NARROW | more))


def arms_of(policy: kb.Policy, rewards=None, horizon: int = T, seed: int = 3) -> list[int]:
    """Play rounds 1..horizon; rewards(t, arm), by default f with a noise of its own in each round."""
    noise, values, arms = (
        np.random.default_rng(7).normal(size=horizon + 1),
        f(policy.domain.points),
        [],
    )
    for t in range(1, horizon + 1):
        choice = policy.ask(t, kb.Streams(seed))
        policy.tell(
            choice, rewards(t, choice.arm) if rewards else values[choice.arm] + 0.05 * noise[t]
        )
        arms.append(choice.arm)
    return arms


# ---------------------------------------------------------------- lengths


@pytest.mark.parametrize(
    ("horizon", "lengths"),
    [
        (1, (1,)),
        (2, (2,)),
        (3, (2, 1)),
        (10, (4, 6)),
        (100, (10, 32, 57, 1)),
        (1000, (32, 179, 424, 365)),
    ],
)
def test_the_golden_lengths_of_bpe(horizon, lengths):
    assert kb.policies.BPE(BASIS, kb.Linear(), **(THEORY | {"horizon": horizon})).lengths == lengths


def test_there_are_few_batches_and_they_sum_to_the_horizon():
    """n_batches <= ceil(log2 log2 T) + 1, and each N_i is the least number with N_i^2 >= T N_{i-1}."""
    for horizon in (*range(2, 2000), 10**6, 10**9):
        lengths = cut_lengths(square_roots(horizon), horizon)
        assert sum(lengths) == horizon
        assert min(lengths) >= 1
        assert len(lengths) <= math.ceil(math.log2(math.log2(horizon))) + 1
        for before, after in zip((1, *lengths), lengths[:-1], strict=False):
            assert (after - 1) ** 2 < horizon * before <= after**2


def test_a_root_is_rounded_up_exactly():
    for root in (1, 2, 3, 10**4, 10**8, 94906267, 10**15):
        square = root**2
        assert [
            ceil_root(square - 1) if square > 1 else 1,
            ceil_root(square),
            ceil_root(square + 1),
        ] == [
            root,
            root,
            root + 1,
        ]


@pytest.mark.parametrize(
    ("horizon", "first", "lengths"),
    [
        (1000, 16, (16, 32, 64, 128, 256, 504)),
        (1000, None, (32, 64, 128, 256, 512, 8)),
        (100, None, (10, 20, 40, 30)),
        (100, 100, (100,)),
        (100, 10**6, (100,)),
        (7, 1, (1, 2, 4)),
        (1, None, (1,)),
    ],
)
def test_the_epochs_of_reds_double_and_the_last_is_cut(horizon, first, lengths):
    policy = kb.policies.REDS(
        BASIS, kb.Linear(), first_epoch=first, **(THEORY | {"horizon": horizon})
    )
    assert policy.lengths == lengths


@pytest.mark.parametrize(
    ("horizon", "batches", "lengths"),
    [
        (1000, 1, (1000,)),
        (1000, 2, (100, 900)),
        (1000, 3, (52, 373, 575)),
        (1000, 4, (40, 252, 631, 77)),
        (1000, 5, (36, 211, 513, 240)),
        (2, 2, (2,)),
        (1, 3, (1,)),
    ],
)
def test_a_fixed_number_of_batches_grows_by_powers_of_the_horizon(horizon, batches, lengths):
    """1000^(2/3) = 100; 1000^(4/7) = 51.8, 1000^(6/7) = 372.8; 8/15, 12/15, 14/15; 16/31, 24/31, 28/31, 30/31."""
    assert (
        kb.policies.BPE(
            BASIS, kb.Linear(), batches=batches, **(THEORY | {"horizon": horizon})
        ).lengths
        == lengths
    )


def test_a_power_that_is_whole_is_not_rounded_up():
    """T = m^3 in two batches: T^(2/3) = m^2, T = m^5 at decay 1/4: T^(4/5) = m^4, whatever the rounding."""
    assert all(next(powers(m**5, 2, 0.25)) == m**4 for m in range(1, 100))
    assert all(next(powers(m**3, 2, 0.5)) == m**2 for m in range(1, 1000))
    assert all(next(powers(m**3 + 1, 2, 0.5)) == m**2 + 1 for m in range(1, 1000))


def test_the_decay_of_a_fixed_number_of_batches_is_the_kernels():
    """nu / (2 nu + d) for a Matern kernel, 1/2 for others; it may be given."""
    cube = np.random.default_rng(0).random((6, 2))

    def decay(kernel, **more):
        return kb.policies.BPE(cube, kernel, batches=3, **more, **THEORY).settings["decay"]

    assert decay(kb.RBF(0.3)) == decay(kb.kernels.Normalised(kb.Linear())) == 0.5
    assert decay(kb.Matern(0.3, nu=2.5)) == pytest.approx(2.5 / 7)
    assert decay(kb.Matern(0.3, nu=0.5)) == pytest.approx(0.5 / 3)
    assert decay(kb.Matern(0.3), decay=0.25) == 0.25
    matern = kb.policies.BPE(cube, kb.Matern(0.3, nu=1.5), batches=2, **THEORY)
    assert matern.lengths[0] == math.ceil(T ** (1 / (1 + 1.5 / 5)))


def test_doubling_goes_on_for_ever_and_a_cut_never_leaves_an_empty_batch():
    assert cut_lengths(doublings(3), 21) == (3, 6, 12)
    assert cut_lengths([5, 5, 5], 10) == (5, 5)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True])
def test_what_is_no_count_of_batches_or_plays_is_refused(bad):
    with pytest.raises(ValueError, match="BPE needs a whole number batches >= 1, got"):
        kb.policies.BPE(BASIS, kb.Linear(), batches=bad, **THEORY)
    with pytest.raises(ValueError, match="REDS needs a whole number first_epoch >= 1, got"):
        kb.policies.REDS(BASIS, kb.Linear(), first_epoch=bad, **THEORY)


def test_other_bad_settings_are_refused_with_a_sentence(quiet):
    for bad in (0.0, 1.0, -0.5, math.nan, "1/2"):
        with pytest.raises(ValueError, match=r"BPE needs decay in \(0, 1\), got"):
            kb.policies.BPE(BASIS, kb.Linear(), decay=bad, **THEORY)
    for bad in (None, 1, "yes"):
        with pytest.raises(ValueError, match="BPE needs reuse_data True or False, got"):
            kb.policies.BPE(BASIS, kb.Linear(), reuse_data=bad, **THEORY)
    for rule in (kb.policies.BPE, kb.policies.REDS):
        with pytest.raises(ValueError, match="needs a whole number horizon >= 1, got None"):
            rule(BASIS, kb.Linear(), **(THEORY | {"horizon": None}))
        with pytest.raises(ValueError, match="needs a finite number width, got inf"):
            rule(BASIS, kb.Linear(), **(THEORY | {"noise_scale": 1e150, "ridge": 5e-324}))


# ---------------------------------------------------------------- widths


def test_the_golden_width_and_bounds_of_bpe():
    """Instance G at ridge R^2, 3 arms, 4 batches."""
    policy = kb.policies.BPE(BASIS, kb.Linear(), ridge=R**2, **THEORY)
    assert policy.width(4, 0.0) == pytest.approx(5.310782, abs=5e-7)
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    upper = policy.batch_posterior.mean + policy.width(4, 0.0) * policy.batch_posterior.sd
    np.testing.assert_allclose(upper, [2.214705, 1.975054, 5.310782], **EXACT)


@both
@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
def test_the_width_is_its_row_of_the_table(rule, ridge):
    """D + (R / sqrt(ridge)) sqrt(2 ln(2 N n_batches / delta)), and D + R sqrt((2 / ridge) ln(1 / delta'))."""
    policy = rule(BASIS, kb.Linear(), ridge=ridge, delta=0.02, **THEORY)
    share = 0.02 / (2 * 3 * len(policy.lengths))
    assert policy.width(1, 7.0) == pytest.approx(
        D + R * math.sqrt(2 / ridge * math.log(1 / share)), rel=1e-14
    )
    assert policy.settings["width"] == policy.width.rule


def test_the_width_gives_every_claim_its_share_of_the_chance():
    """2 exp(-z^2 / 2) = delta / claims, z the width of the noise in units of R sd / sqrt(ridge); without noise D."""
    for claims in (1, 12, 10**6):
        z = (widths.fixed_design(R, D, 0.3, DELTA, claims)(1, 0.0) - D) * math.sqrt(0.3) / R
        assert 2 * math.exp(-(z**2) / 2) == pytest.approx(DELTA / claims, rel=1e-10)
        assert widths.fixed_design(0.0, D, 0.3, DELTA, claims)(1, 0.0) == D
    table = widths.fixed_design(R, D, 0.3, DELTA, 12).table(5)
    np.testing.assert_allclose(
        table[:, 0] + np.sqrt(table[:, 1]), widths.fixed_design(R, D, 0.3, DELTA, 12)(3, 9.0)
    )


# ---------------------------------------------------------------- a direct solve as the judge


def solved(points, kernel, arms, rewards, ridge) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd by (K + ridge I)^-1, afresh."""
    cross = kernel(points, points[arms])
    inverse = np.linalg.inv(kernel(points[arms], points[arms]) + ridge * np.eye(len(arms)))
    variance = kernel.diagonal(points) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return cross @ inverse @ rewards, np.sqrt(np.maximum(variance, 0))


def by_hand(
    rule,
    lengths,
    points,
    kernel,
    noise,
    *,
    noise_scale,
    norm_bound,
    ridge,
    delta=0.1,
    reuse=False,
    seed=3,
):
    """The arms and the survivors of each batch, nothing kept but the lists of arms and rewards."""
    width = norm_bound + noise_scale * math.sqrt(
        2 / ridge * math.log(2 * len(points) * len(lengths) / delta)
    )
    alive, arms, rewards, survivors, t = list(range(len(points))), [], [], [], 0
    for length in lengths:
        survivors.append(list(alive))
        start = 0 if reuse else t
        for _ in range(length):
            t += 1
            sd = solved(points, kernel, arms[start:], rewards[start:], ridge)[1][alive]
            best = (
                [a for a, s in zip(alive, sd, strict=True) if s >= sd.max() - 5e-11]
                if rule is kb.policies.BPE
                else alive
            )
            arms.append(best[int(kb.Streams(seed).uniform("tie", t) * len(best))])
            rewards.append(f(points[arms[-1:]])[0] + 0.05 * noise[t])
        mean, sd = solved(points, kernel, arms[start:], rewards[start:], ridge)
        lower = max(mean[a] - width * sd[a] for a in alive)
        alive = [a for a in alive if mean[a] + width * sd[a] >= lower]
    return arms, survivors


CASES = {
    "BPE": (kb.policies.BPE, (10, 32, 57, 1), {}),
    "BPE in two batches": (kb.policies.BPE, (22, 78), {"batches": 2}),
    "BPE with all data": (kb.policies.BPE, (10, 32, 57, 1), {"reuse_data": True}),
    "REDS": (kb.policies.REDS, (10, 20, 40, 30), {}),
    "REDS from 3": (kb.policies.REDS, (3, 6, 12, 24, 48, 7), {"first_epoch": 3}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "points", [LINE, np.random.default_rng(4).random((12, 2))], ids=["line", "square"]
)
def test_a_direct_solve_of_every_batch_plays_the_same_arms(case, points):
    rule, lengths, more = CASES[case]
    policy = rule(points, KERNEL, horizon=T, **more, **NARROW)
    noise = np.random.default_rng(7).normal(size=T + 1)
    arms, survivors = by_hand(
        rule, lengths, points, KERNEL, noise, reuse="reuse_data" in more, **NARROW
    )
    assert policy.lengths == lengths
    assert len(survivors[-1]) < len(survivors[0]), "no arm leaves: the case tests nothing"
    seen = []
    values = f(points)
    for t in range(1, T + 1):
        choice = policy.ask(t, kb.Streams(3))
        assert choice.arm == arms[t - 1], f"round {t}"
        if policy.number > len(seen):
            seen.append(policy.survivors.tolist())
        policy.tell(choice, values[choice.arm] + 0.05 * noise[t])
    assert seen == survivors


@both
def test_the_batch_is_the_posterior_of_its_own_rewards_alone(rule):
    policy, events = line(rule), []
    for t in range(1, T + 1):
        choice = policy.ask(t, kb.Streams(1))
        events.append((choice.arm, math.sin(t)))
        policy.tell(choice, math.sin(t))
        since = sum(length for i, length in enumerate(policy.lengths) if i < policy.number - 1)
        own = events[since:]
        assert policy.batch_posterior.events == len(own)
        if own:
            mean, sd = solved(
                LINE,
                KERNEL,
                [a for a, _ in own],
                np.array([y for _, y in own]),
                policy.posterior.ridge,
            )
            np.testing.assert_allclose(policy.batch_posterior.mean, mean, atol=1e-9)
            np.testing.assert_allclose(policy.batch_posterior.sd, sd, atol=1e-7)
    assert policy.posterior.events == T


def test_the_note_says_the_estimate_the_batch_and_the_survivors():
    for rule in (kb.policies.BPE, kb.policies.REDS):
        policy = line(rule)
        arms_of(policy, horizon=50)
        choice = policy.ask(51, kb.Streams(3))
        arm = choice.arm
        mean, sd = policy.batch_posterior.mean[arm], policy.batch_posterior.sd[arm]
        estimate = {"mean": mean, "sd": sd, "batch": 3.0, "survivors": len(policy.survivors)}
        assert choice.note == pytest.approx(estimate, rel=1e-9)
        assert policy.number == 3
        assert 0 < len(policy.survivors) < len(LINE)


# ---------------------------------------------------------------- what the rewards may change


def test_within_a_batch_the_arms_do_not_depend_on_the_rewards():
    """Batch 1 under other rewards; batch 2 under other rewards after an equal batch 1, hence equal survivors."""
    rng = np.random.default_rng(0)
    values, first, second = f(LINE), 0.05 * rng.normal(size=101), 10 * rng.normal(size=101)

    def quiet_until(switch):
        return lambda t, arm: values[arm] + (first if t <= switch else second)[t]

    same = arms_of(line(kb.policies.BPE), quiet_until(100))
    assert arms_of(line(kb.policies.BPE), quiet_until(0))[:10] == same[:10]
    policy = line(kb.policies.BPE)
    assert arms_of(policy, quiet_until(10))[:42] == same[:42]
    assert arms_of(line(kb.policies.BPE), quiet_until(0))[10:42] != same[10:42]


@pytest.mark.parametrize("d", [3, 4, 7])
def test_on_orthonormal_arms_the_first_batch_plays_all_arms_alike(d):
    policy = kb.policies.BPE(np.eye(d), kb.Linear(), noise_scale=R, norm_bound=D, horizon=1000)
    counts = np.bincount(arms_of(policy, horizon=policy.lengths[0]), minlength=d)
    assert set(counts) <= {32 // d, -(-32 // d)}


@both
def test_survivors_are_nested_and_never_none(rule):
    policy, before = line(rule), set(range(15))
    for t in range(1, T + 1):
        choice = policy.ask(t, kb.Streams(2))
        assert choice.arm in before
        policy.tell(choice, f(choice.x[None])[0] + 0.05 * (-1) ** t)
        assert 0 < len(policy.survivors) <= len(before)
        assert set(policy.survivors) <= before
        before = set(policy.survivors)
    assert len(before) < 15


def test_an_arm_that_left_has_no_say_in_later_batches():
    """The greatest lower bound is taken over the survivors: arm 2 leaves, then earns a fortune, and nobody minds."""
    policy = kb.policies.BPE(
        BASIS, kb.Linear(), noise_scale=0.1, norm_bound=1.0, horizon=T, ridge=0.01
    )
    for reward, plays in (((1.0, 1.0, -1.0), (4, 4, 2)), ((0.9, 0.9, 9.0), (10, 10, 12))):
        for arm in range(3):
            for _ in range(plays[arm]):
                policy.tell(policy.choice(arm), reward[arm])
        assert policy.survivors.tolist() == [0, 1]
    assert policy.number == 3


@both
def test_a_reward_nobody_asked_for_counts_as_a_play_of_its_batch(rule):
    policy = line(rule)
    for arm in (0, 0, 0, 0, 0, 14, 14, 14, 14):
        policy.tell(policy.choice(arm), -1.0 if arm else 0.5)
    assert (policy.number, policy.batch_posterior.events) == (1, 9)
    policy.tell(policy.choice(14), -1.0)
    assert (policy.number, policy.batch_posterior.events) == (2, 0)
    assert 14 not in policy.survivors
    policy.tell(policy.choice(14), 5.0)
    assert (
        policy.batch_posterior.events,
        policy.batch_posterior.counts[14],
        policy.posterior.counts[14],
    ) == (1, 1, 6)


@both
def test_beyond_the_horizon_the_last_batch_goes_on(rule, quiet):
    policy = line(rule)
    arms_of(policy)
    last, number = policy.survivors.copy(), policy.number
    assert policy.batch_posterior.events == policy.lengths[-1]
    for t in range(101, 400):
        choice = policy.ask(t, kb.Streams(3))
        policy.tell(choice, 3.0 * choice.arm)
        assert choice.arm in last
    np.testing.assert_array_equal(policy.survivors, last)
    assert policy.number == number == len(policy.lengths)
    assert policy.batch_posterior.events == policy.lengths[-1] + 299


# ---------------------------------------------------------------- the best arm survives


def losses(rule, noise, seeds: int, factor: float = 1.0) -> float:
    """How often the best arm of an RKHS function of norm 1 leaves; R and D are stated `factor` times too large."""
    problem, lost = (
        RKHSFunction(KERNEL, 1, candidates=20, centres=8, norm_bound=1.0, noise=noise),
        0,
    )
    stated = {"noise_scale": factor * 0.2, "norm_bound": factor * 1.0, "ridge": 0.04, "horizon": 60}
    for seed in range(seeds):
        instance = problem.instance(kb.Streams(seed))
        policy = rule(instance.domain, KERNEL, **stated)
        kb.play(policy, instance, 60, kb.Streams(seed))
        lost += int(instance.values.argmax()) not in policy.survivors
    return lost / seeds


@pytest.mark.thorough
@both
@pytest.mark.parametrize(
    "noise", [GaussianNoise(0.2), RademacherNoise(0.2)], ids=["gaussian", "rademacher"]
)
def test_the_best_arm_survives_with_the_promised_chance_and_a_narrow_width_is_caught(rule, noise):
    seeds = 100
    limit = DELTA + 4 * math.sqrt(DELTA * (1 - DELTA) / seeds)
    assert losses(rule, noise, seeds) <= limit
    assert losses(rule, noise, seeds, factor=0.05) > limit


@both
def test_without_noise_the_width_d_always_keeps_the_best_arm(rule, quiet):
    """|f - mean| <= D sd for every f of norm D, whatever the ridge."""
    problem, left = (
        RKHSFunction(KERNEL, 1, candidates=20, norm_bound=1.0, noise=GaussianNoise(0.0)),
        0,
    )
    for seed in range(40):
        instance = problem.instance(kb.Streams(seed))
        policy = rule(
            instance.domain,
            KERNEL,
            noise_scale=0.0,
            norm_bound=1.0,
            horizon=60,
            ridge=10.0 ** -(seed % 4),
        )
        kb.play(policy, instance, 60, kb.Streams(seed))
        assert int(instance.values.argmax()) in policy.survivors
        left += len(policy.survivors) < 20
    assert left > 20


@both
def test_with_no_width_only_the_greatest_estimate_survives_the_first_batch(rule, quiet):
    policy = rule(LINE, KERNEL, noise_scale=0.0, norm_bound=0.0, horizon=T)
    arms_of(policy, horizon=9)
    choice = policy.ask(10, kb.Streams(3))
    policy.tell(choice, 0.3)
    assert policy.survivors.tolist() == [policy.posterior.mean.argmax()]
    assert set(arms_of(policy, horizon=50)) == set(policy.survivors)


@both
def test_with_a_huge_noise_nobody_leaves(rule):
    policy = line(rule, noise_scale=1e6)
    arms_of(policy)
    assert policy.survivors.tolist() == list(range(15))


def test_while_all_survive_reds_plays_uniformly_at_random_arm_by_arm():
    uniform = kb.policies.UniformRandom(LINE, KERNEL)
    assert arms_of(line(kb.policies.REDS, noise_scale=1e6)) == arms_of(uniform)


@pytest.mark.thorough
def test_reds_draws_every_survivor_with_the_same_chance_and_no_other_arm():
    """Pearson's statistic of 20 000 draws; the threshold is passed with probability 6.3e-5, that of four standard errors."""
    policy = line(kb.policies.REDS)
    arms_of(policy, horizon=30)
    k = len(policy.survivors)
    assert 2 <= k < 15
    streams = [kb.Streams(seed) for seed in range(200)]
    draws = [policy.ask(t, seeded).arm for seeded in streams for t in range(1, 101)]
    assert set(draws) == set(policy.survivors.tolist())
    counts = np.bincount(draws, minlength=15)[policy.survivors]
    threshold = chdtri(k - 1, 6.3e-5)
    assert pearson(counts) < threshold
    crooked = [
        int(k * seeded.uniform("tie", t) ** 1.1) for seeded in streams for t in range(1, 101)
    ]
    assert pearson(np.bincount(crooked, minlength=k)) > threshold


def pearson(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2).sum() / expected)


# ---------------------------------------------------------------- units


@both
@pytest.mark.parametrize("factor", [4.0, 0.3, 1e-3])
def test_rewards_noise_and_norm_in_another_unit_change_no_arm(rule, factor):
    here, there = line(rule), line(rule, noise_scale=0.05 * factor, norm_bound=0.6 * factor)
    values, noise = f(LINE), np.random.default_rng(1).normal(size=T + 1)
    arms = arms_of(here, lambda t, arm: values[arm] + 0.05 * noise[t])
    assert arms_of(there, lambda t, arm: factor * (values[arm] + 0.05 * noise[t])) == arms
    np.testing.assert_array_equal(there.survivors, here.survivors)
    assert len(here.survivors) < 15


@both
def test_a_kernel_in_another_unit_with_ridge_and_norm_changes_no_arm(rule, quiet):
    here = line(rule)
    there = rule(LINE, 4.0 * KERNEL, horizon=T, noise_scale=0.05, norm_bound=0.3, ridge=0.01)
    assert arms_of(there) == arms_of(here)
    np.testing.assert_array_equal(there.survivors, here.survivors)


# ---------------------------------------------------------------- maximum variance reduction


@pytest.mark.parametrize("ties", ["random", "lowest"])
def test_mvr_is_bpe_with_one_batch(ties):
    mvr = kb.policies.MVR(LINE, KERNEL, ridge=0.0025, ties=ties)
    bpe = line(kb.policies.BPE, batches=1, ties=ties)
    assert arms_of(mvr) == arms_of(bpe)
    assert mvr.recommend() == bpe.recommend() == mvr.posterior.mean.argmax()
    np.testing.assert_array_equal(mvr.index(101), mvr.posterior.sd)


def test_mvr_is_blind_to_rewards_until_it_recommends():
    here, there = kb.policies.MVR(LINE, KERNEL), kb.policies.MVR(LINE, KERNEL)
    assert arms_of(here) == arms_of(there, lambda t, arm: -float(arm))
    assert there.recommend() == 0
    assert here.recommend() != 0


def test_mvr_finds_the_best_arm_of_a_smooth_function():
    problem = RKHSFunction(KERNEL, 1, candidates=30, norm_bound=1.0, noise=GaussianNoise(0.1))
    found = []
    for seed in range(20):
        instance = problem.instance(kb.Streams(seed))
        policy = kb.policies.MVR(instance.domain, KERNEL, ridge=0.01)
        kb.play(policy, instance, 300, kb.Streams(seed))
        found.append(instance.gaps[policy.recommend()])
    assert max(found) < 0.1


def test_a_large_pool_is_played_without_a_covariance():
    points = np.random.default_rng(0).random((5000, 3))
    instance = Instance("pool", kb.Arms(points), f(points), GaussianNoise(0.01))
    for rule in (kb.policies.BPE, kb.policies.REDS):
        policy = rule(points, kb.RBF(0.5), noise_scale=0.01, norm_bound=1.0, horizon=60, ridge=0.01)
        kb.play(policy, instance, 60, kb.Streams(0))
        assert isinstance(policy.batch_posterior, kb.posterior.PartialPosterior)
        assert 0 < len(policy.survivors) < 5000
        np.testing.assert_array_equal(policy.batch_posterior.arms, policy.survivors)


# ---------------------------------------------------------------- planning a batch


@pytest.mark.parametrize("rule", [kb.policies.BPE, kb.policies.REDS])
def test_a_batch_can_be_planned_before_any_of_it_is_measured(rule):
    points = np.random.default_rng(4).random((15, 2))
    policy = rule(points, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, horizon=60)
    streams, t, planned, played = kb.Streams(3), 1, [], []
    while t <= 60:
        batch = policy.plan(t, streams)
        assert len(batch) == policy.batch_end - policy.posterior.events
        for choice in batch:
            asked = policy.ask(t, streams)
            planned.append(choice.arm)
            played.append(asked.arm)
            assert "mean" not in choice.note
            assert choice.note["sd"] == pytest.approx(asked.note["sd"], abs=1e-12)
            policy.tell(choice, math.sin(7 * choice.x[0]) + 0.1 * (-1) ** t)
            t += 1
    assert planned == played
    with pytest.raises(ValueError, match="plan needs rounds left in the batch, got '60 rewards'"):
        policy.plan(61, streams)


def test_planning_changes_nothing():
    policy = kb.policies.BPE(np.eye(4), kb.Linear(), noise_scale=0.1, norm_bound=1.0, horizon=30)
    policy.tell(policy.choice(2), 0.5)
    before = policy.posterior.mean.copy(), policy.posterior.cov.copy(), policy.posterior.events
    policy.plan(2, kb.Streams(0))
    np.testing.assert_array_equal(policy.posterior.mean, before[0])
    np.testing.assert_array_equal(policy.posterior.cov, before[1])
    assert policy.posterior.events == before[2] == 1


@pytest.mark.parametrize("rule", [kb.policies.BPE, kb.policies.REDS])
def test_without_a_ridge_it_is_the_variance_of_the_noise(rule):
    def ridge(scale, **given):
        return rule(
            np.eye(2), kb.Linear(), noise_scale=scale, norm_bound=1.0, horizon=9, **given
        ).posterior.ridge

    assert ridge(0.3) == pytest.approx(0.09)
    assert ridge(0.0) == 1e-8
    assert ridge(0.3, ridge=2.0) == 2.0


def test_reused_data_are_kept_even_when_one_arm_is_left():
    given = {"noise_scale": 1e-3, "norm_bound": 1e-3, "horizon": 40, "reuse_data": True}
    policy = kb.policies.BPE(np.eye(3), kb.Linear(), **given)
    for t in range(1, 30):
        choice = policy.ask(t, kb.Streams(0))
        policy.tell(choice, float(choice.arm == 1))
    assert policy.survivors.tolist() == [1]
    assert policy.batch_posterior is policy.posterior
    assert policy.batch_posterior.events == 29
