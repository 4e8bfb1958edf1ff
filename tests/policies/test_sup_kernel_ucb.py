"""KernelUCB and the ladder of SupKernelUCB: three branches, separate data, and a direct solve as the judge."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits import widths
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction

BASIS = np.eye(3)
LINE = np.sort(np.random.default_rng(1).random(8))[:, None]
KERNEL = kb.RBF(0.5)
T, DELTA = 200, 0.1
FINE = {"noise_scale": 0.03, "norm_bound": 0.3, "ridge": 0.01, "horizon": T}
"""Bounds under which all three branches are taken within 200 rounds."""


def f(points: np.ndarray) -> np.ndarray:
    return 0.25 * np.sin(5 * points.sum(1))


def fine(**more) -> kb.policies.SupKernelUCB:
    return kb.policies.SupKernelUCB(LINE, KERNEL, **(FINE | more))


def rounds(policy: kb.Policy, rewards, horizon: int = T, seed: int = 2):
    """Yield (t, choice) before its reward is told."""
    for t in range(1, horizon + 1):
        choice = policy.ask(t, kb.Streams(seed))
        yield t, choice
        policy.tell(choice, float(rewards(t, choice)))


def noisy(t: int, choice: kb.Choice) -> float:
    return f(choice.x[None])[0] + 0.01 * (-1) ** t


# ---------------------------------------------------------------- KernelUCB


def test_the_golden_index_of_kernel_ucb():
    policy = kb.policies.KernelUCB(BASIS, kb.Linear(), horizon=100)
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    assert policy.width_at(4) == pytest.approx(4.171214, abs=5e-7)
    np.testing.assert_allclose(policy.index(4), [2.741585, 2.699494, 4.171214], atol=5e-7)
    assert policy.ask(4, kb.Streams(0)).arm == 2


@pytest.mark.parametrize("ridge", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("eta", [None, 0.0, 1.7])
def test_the_width_of_kernel_ucb_is_eta_over_the_root_of_the_ridge(ridge, eta):
    policy = kb.policies.KernelUCB(LINE, KERNEL, horizon=77, delta=0.3, ridge=ridge, eta=eta)
    stated = math.sqrt(2 * math.log(2 * 77 * 8 / 0.3)) if eta is None else eta
    for t in (1, 50):
        assert policy.width(t, 3.0) == pytest.approx(stated / math.sqrt(ridge), rel=1e-14)
    assert policy.settings["eta"] == stated
    np.testing.assert_allclose(policy.width.table(3)[:, 0], stated / math.sqrt(ridge))


def test_kernel_ucb_is_the_classical_rule_with_a_constant_factor(quiet):
    """mean + c sd: Generic-GP with w = 1, R = 0 and D = eta / sqrt(ridge)."""
    ours = kb.policies.KernelUCB(LINE, KERNEL, horizon=60, eta=0.8, ridge=0.25)
    classic = kb.GenericGP(
        LINE, KERNEL, kb.PointMass(1.0), noise_scale=0.0, norm_bound=1.6, ridge=0.25
    )
    for t, choice in rounds(ours, noisy, 60):
        assert classic.ask(t, kb.Streams(2)).arm == choice.arm
        classic.tell(choice, noisy(t, choice))


def test_kernel_ucb_needs_neither_noise_nor_norm_and_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kb.policies.KernelUCB(LINE, 3.0 * KERNEL, horizon=10)
    for rule, more in ((kb.policies.KernelUCB, {"horizon": 9}), (kb.policies.SupKernelUCB, FINE)):
        for bad in (-1.0, math.nan, "2", True):
            with pytest.raises(ValueError, match=f"{rule.__name__} needs eta >= 0, got"):
                rule(LINE, KERNEL, eta=bad, **more)
        with pytest.raises(ValueError, match="needs a whole number horizon >= 1, got None"):
            rule(LINE, KERNEL, **(more | {"horizon": None}))


# ---------------------------------------------------------------- levels and widths


@pytest.mark.parametrize(
    ("horizon", "levels"), [(1, 1), (2, 1), (3, 2), (7, 2), (8, 3), (1000, 7), (10**9, 21)]
)
def test_there_are_as_many_levels_as_nats_in_the_horizon(horizon, levels):
    policy = fine(horizon=horizon)
    assert policy.top == policy.settings["levels"] == levels
    claims = 8 * horizon * levels
    assert policy.width(1, 5.0) == pytest.approx(
        0.3 + 0.3 * math.sqrt(2 * math.log(2 * claims / 0.1)), rel=1e-14
    )
    assert policy.finest == 1 / math.sqrt(horizon)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 4.0])
def test_a_given_eta_makes_the_width_the_originals(ridge):
    policy = fine(eta=0.9, ridge=ridge)
    assert policy.width(1, 0.0) == pytest.approx(0.9 / math.sqrt(ridge), rel=1e-14)
    assert policy.width.rule == widths.kernel_ucb(1.0, 1.0).rule


def test_no_level_above_the_last_is_ever_needed():
    """All w <= 2^-S implies all w <= 1 / sqrt(T), the branch that plays: 2^-ceil(ln T) <= T^-0.69 <= T^-0.5."""
    for horizon in (*range(1, 3000), 10**6, 10**9, 10**15):
        levels = max(1, math.ceil(math.log(horizon)))
        assert 2.0**-levels <= 1 / math.sqrt(horizon)


@pytest.mark.thorough
def test_a_ladder_with_every_level_just_narrow_enough_ends_below_the_last_level():
    """One arm, w = 1 / sqrt(1 + n) at D = 1: n = 4^s - 1 plays pass level s; 2^-4 > 1 / sqrt(500) >= 2^-5."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.TheoryWarning)
        policy = kb.policies.SupKernelUCB(
            [[1.0]], kb.Linear(), noise_scale=0.0, norm_bound=1.0, horizon=500
        )
    for level in range(1, policy.top + 1):
        for _ in range(4**level + 1):
            policy.tell(kb.Choice([1.0], 0, {"level": float(level)}), 0.5)
    rung = policy.climb_levels()
    assert (policy.top, rung.level, rung.explores) == (7, 5, False)


# ---------------------------------------------------------------- a direct solve as the judge


def solved(points, kernel, data, ridge) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of one level from its list of (arm, reward), by (K + ridge I)^-1."""
    arms, rewards = [arm for arm, _ in data], np.array([reward for _, reward in data])
    cross = kernel(points, points[arms])
    inverse = np.linalg.inv(kernel(points[arms], points[arms]) + ridge * np.eye(len(arms)))
    variance = kernel.diagonal(points) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return cross @ inverse @ rewards, np.sqrt(np.maximum(variance, 0))


def chosen(points, kernel, psi, horizon, width, ridge, u) -> tuple[int, int, list[int]]:
    """One round: the arm, the level its reward enters (0: none), and the arms alive at the end."""
    s, alive = 1, list(range(len(points)))
    while True:
        mean, sd = solved(points, kernel, psi.get(s, []), ridge)
        w = {a: width * sd[a] for a in alive}
        ucb = {a: mean[a] + w[a] for a in alive}
        if all(w[a] <= 1 / math.sqrt(horizon) for a in alive):
            best = [a for a in alive if ucb[a] >= max(ucb.values()) - 1e-11]
            return best[int(u * len(best))], 0, alive
        if any(w[a] > 2.0**-s for a in alive):
            best = [a for a in alive if w[a] >= max(w.values()) - 1e-11]
            return best[int(u * len(best))], s, alive
        alive = [a for a in alive if ucb[a] >= max(ucb.values()) - 2 * 2.0**-s]
        s += 1


ANGLES = np.random.default_rng(3).random(9) * 2 * math.pi
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
CASES = {
    "R and D": (LINE, KERNEL, {}),
    "the original": (LINE, KERNEL, {"eta": 0.08}),
    "ridge 1": (LINE, KERNEL, {"ridge": 1.0, "norm_bound": 0.7}),
    "linear": (CIRCLE, kb.Linear(), {}),
    "matern": (np.random.default_rng(5).random((7, 2)), kb.Matern(0.8), {"noise_scale": 0.04}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_a_direct_solve_of_every_level_climbs_the_same_ladder(case):
    points, kernel, more = CASES[case]
    given = FINE | more
    policy = kb.policies.SupKernelUCB(points, kernel, **given)
    claims = len(points) * T * 6
    spread = (
        math.sqrt(2 * math.log(2 * claims / DELTA))
        * given["noise_scale"]
        / math.sqrt(given["ridge"])
    )
    width = given["eta"] / 0.1 if "eta" in given else spread + given["norm_bound"]
    psi: dict[int, list[tuple[int, float]]] = {}
    levels, fewest = set(), len(points)
    for t, choice in rounds(policy, noisy):
        u = kb.Streams(2).uniform("tie", t)
        arm, level, alive = chosen(points, kernel, psi, T, width, given["ridge"], u)
        rung = policy.climb_levels()
        assert (choice.arm, choice.note["level"], rung.alive.tolist()) == (arm, level, alive), (
            f"round {t}"
        )
        assert choice.note["alive"] == len(alive)
        if level:
            psi.setdefault(level, []).append((arm, float(noisy(t, choice))))
        levels, fewest = levels | {level}, min(fewest, len(alive))
    assert {key: posterior.events for key, posterior in policy.levels.items()} == {
        s: len(psi[s]) for s in psi
    }
    assert {1, 2, 3} <= levels
    assert fewest < len(points)
    assert 0 in levels or case == "ridge 1"


# ---------------------------------------------------------------- whose data is whose


def test_every_level_holds_the_rewards_of_its_own_rounds_and_exploiting_rounds_enter_none():
    policy, data, exploited = fine(), {}, 0
    for t, choice in rounds(policy, noisy):
        level = choice.note["level"]
        before = {s: p.events for s, p in policy.levels.items()}
        assert sum(before.values()) == t - 1 - exploited <= t
        exploited += level == 0
        if level:
            data.setdefault(int(level), []).append((choice.arm, float(noisy(t, choice))))
    assert exploited > 10
    assert policy.posterior.events == T
    assert set(policy.levels) == set(data)
    for level, posterior in policy.levels.items():
        mean, sd = solved(LINE, KERNEL, data[level], 0.01)
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
        np.testing.assert_allclose(posterior.sd, sd, atol=1e-8)


def test_an_arm_explored_at_a_level_was_wider_than_the_level_and_the_widest_alive():
    explored = 0
    for _, choice in rounds(policy := fine(), noisy):
        note, rung = choice.note, policy.climb_levels()
        assert choice.arm in rung.alive
        if note["level"]:
            explored += 1
            assert note["width"] * note["sd"] > 2.0 ** -note["level"]
            assert note["sd"] >= rung.sd.max() - 1e-12
            assert (rung.level, rung.explores) == (note["level"], True)
    assert explored > 20


def test_an_exploiting_round_plays_the_greatest_upper_bound_of_arms_all_narrow():
    exploited = 0
    for _, choice in rounds(policy := fine(), noisy):
        if choice.note["level"] == 0:
            exploited += 1
            rung = policy.climb_levels()
            assert (rung.width <= 1 / math.sqrt(T)).all()
            place = rung.alive.tolist().index(choice.arm)
            assert rung.mean[place] + rung.width[place] >= (rung.mean + rung.width).max() - 1e-12
            assert choice.note["mean"] == rung.mean[place]
    assert exploited > 10


def test_an_exploiting_round_prefers_a_wider_arm_to_one_of_a_slightly_greater_mean(quiet):
    """Means 0.5 and 0.495 with w = 0.2 / sqrt(101) and 0.2 / sqrt(51): upper bounds 0.520 and 0.523."""
    policy = kb.policies.SupKernelUCB(
        np.eye(2), kb.Linear(), noise_scale=0.0, norm_bound=0.2, horizon=100
    )
    for arm, plays, mean in ((0, 100, 0.5), (1, 50, 0.495)):
        for _ in range(plays):
            policy.tell(kb.Choice(np.eye(2)[arm], arm, {"level": 1.0}), mean * (1 + 1 / plays))
    np.testing.assert_allclose(policy.levels[1].mean, [0.5, 0.495], rtol=1e-12)
    choice = policy.ask(151, kb.Streams(0))
    assert (choice.arm, choice.note["level"]) == (1, 0.0)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("ties", ["random", "lowest"])
def test_the_rewards_of_a_level_do_not_change_which_arms_that_level_explores(level, ties):
    def explored(policy, rewards):
        return [
            choice.arm for _, choice in rounds(policy, rewards) if choice.note["level"] == level
        ]

    def disturbed(t, choice):
        return 7 * math.sin(t) if choice.note["level"] == level else noisy(t, choice)

    def elsewhere(t, choice):
        return 7 * math.sin(t) if choice.note["level"] < level else noisy(t, choice)

    plain = explored(fine(ties=ties), noisy)
    assert explored(fine(ties=ties), disturbed) == plain
    assert len(plain) >= 3
    if level == 2:
        assert explored(fine(ties=ties), elsewhere) != plain


def test_on_orthonormal_arms_the_first_level_is_explored_evenly_until_it_is_narrow():
    """w = 2 / sqrt(1 + n) <= 1/2 after 15 plays of each arm; the tie at exactly 1/2 counts as narrow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.TheoryWarning)
        policy = kb.policies.SupKernelUCB(
            BASIS, kb.Linear(), noise_scale=0.0, norm_bound=2.0, horizon=10**4
        )
    levels = [choice.note["level"] for _, choice in rounds(policy, lambda t, choice: 0.0, 60)]
    assert levels == [1.0] * 45 + [2.0] * 15
    assert policy.levels[1].counts.tolist() == [15, 15, 15]


# ---------------------------------------------------------------- telling without a note


def test_a_level_is_worked_out_where_the_note_has_none():
    policy, bare = fine(), fine()
    for t, choice in rounds(policy, noisy):
        bare.tell(bare.choice(choice.arm), float(noisy(t, choice)))
    assert {s: p.events for s, p in bare.levels.items()} == {
        s: p.events for s, p in policy.levels.items()
    }
    for level, posterior in policy.levels.items():
        np.testing.assert_array_equal(bare.levels[level].mean, posterior.mean)


def test_an_arm_that_the_ladder_would_not_explore_now_enters_no_level():
    policy = fine()
    narrow = dead = False
    for _, choice in rounds(policy, noisy, 60):
        rung = policy.climb_levels()
        held = {s: p.events for s, p in policy.levels.items()}
        for arm in range(8):
            wide = (
                rung.explores
                and arm in rung.alive
                and rung.width[rung.alive.tolist().index(arm)] > 2.0**-rung.level
            )
            assert policy._level_of(arm) == (rung.level if wide else 0)
            narrow |= arm in rung.alive and not wide
            dead |= rung.explores and arm not in rung.alive
        assert held == {s: p.events for s, p in policy.levels.items()}
        assert policy._level_of(choice.arm) == choice.note["level"]
    assert narrow
    assert dead


def test_a_level_in_the_note_is_believed():
    policy = fine()
    for level, events in (
        (0.0, {}),
        (3.0, {3: 1}),
        (6, {3: 1, 6: 1}),
        (np.float64(3), {3: 2, 6: 1}),
    ):
        policy.tell(kb.Choice(LINE[2], 2, {"level": level}), 0.5)
        assert {s: p.events for s, p in policy.levels.items()} == events
    assert policy.posterior.counts[2] == 4


@pytest.mark.parametrize("level", [7.0, -1.0, 1.5, math.nan, math.inf, "1", None, True])
def test_an_impossible_level_is_refused_before_anything_changes(level):
    policy = fine()
    for _, _ in rounds(policy, noisy, 20):
        pass
    before = (
        policy.ask(21, kb.Streams(0)),
        policy.posterior.events,
        policy.posterior.mean.copy(),
        dict(policy.levels),
    )
    with pytest.raises(ValueError, match=r"tell needs a note with a level in 0\.\.6, got"):
        policy.tell(kb.Choice(LINE[0], 0, {"level": level}), 1.0)
    assert policy.ask(21, kb.Streams(0)) == before[0]
    assert policy.posterior.events == before[1]
    np.testing.assert_array_equal(policy.posterior.mean, before[2])
    assert policy.levels == before[3]


# ---------------------------------------------------------------- the best arm stays on the ladder


def filtered(noise, seeds: int, factor: float = 1.0) -> float:
    """How often the best arm is missing from the ladder of some round; R and D are stated `factor` times their size.

    The horizon is far away, so that the ladder goes on climbing.
    """
    problem, lost = (
        RKHSFunction(KERNEL, 1, candidates=12, centres=8, norm_bound=1.0, noise=noise),
        0,
    )
    for seed in range(seeds):
        instance = problem.instance(kb.Streams(seed))
        stated = {"noise_scale": factor * noise.scale, "norm_bound": factor * 1.0, "ridge": 0.01}
        policy = kb.policies.SupKernelUCB(instance.domain, KERNEL, horizon=10**6, **stated)
        best = instance.values.argmax()
        lost += any(
            best not in policy.climb_levels().alive
            for _ in kb.experiment.rounds(policy, instance, 80, kb.Streams(seed))
        )
    return lost / seeds


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise", [GaussianNoise(0.1), RademacherNoise(0.1)], ids=["gaussian", "rademacher"]
)
def test_the_best_arm_is_filtered_with_the_promised_chance_at_most_and_a_narrow_width_is_caught(
    noise,
):
    seeds = 40
    limit = DELTA + 4 * math.sqrt(DELTA * (1 - DELTA) / seeds)
    assert filtered(noise, seeds) <= limit
    assert filtered(noise, seeds, factor=0.02) > limit


@pytest.mark.thorough
def test_without_noise_and_with_a_valid_width_the_best_arm_is_never_filtered(quiet):
    assert filtered(GaussianNoise(0.0), 40) == 0


def test_one_arm_and_a_horizon_of_one_or_of_a_billion_work(quiet):
    for horizon in (1, 10**9):
        policy = kb.policies.SupKernelUCB(
            [[0.5]], KERNEL, noise_scale=0.1, norm_bound=1.0, horizon=horizon
        )
        assert [choice.arm for _, choice in rounds(policy, lambda t, choice: 1.0, 30)] == [0] * 30


def test_a_large_pool_is_climbed_without_a_covariance():
    points = np.random.default_rng(0).random((3000, 2))
    policy = kb.policies.SupKernelUCB(points, kb.RBF(1.0), **(FINE | {"horizon": 60}))
    levels = {choice.note["level"] for _, choice in rounds(policy, noisy, 60)}
    forms = (kb.posterior.RowPosterior, kb.posterior.PartialPosterior)
    assert all(isinstance(posterior, forms) for posterior in policy.levels.values())
    assert len(levels) >= 2
