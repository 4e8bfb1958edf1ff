"""The search for a front: its score against slow formulas, what is played, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

import kernelbandits as kb
from kernelbandits.policies import LimitedOutcome
from kernelbandits.policies.acquisition import NO_CHANCE, SummedSurface
from kernelbandits.policies.front import (
    FrontImprovement,
    FrontSurface,
    ObjectiveMoments,
    improve_front,
    score_growth,
)
from kernelbandits.policies.hypervolume import choose_reference, find_front, hypervolume
from kernelbandits.policies.round import AskOptions

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
TABLE = np.random.default_rng(5).random((120, 2))


def bowls(x):
    """Return two objectives whose front is the segment between their maxima."""
    return [-float(((x - c) ** 2).sum()) for c in ([0.2, 0.3], [0.7, 0.6])]


def three_bowls(x):
    return [-float(((x - c) ** 2).sum()) for c in ([0.2, 0.3], [0.7, 0.6], [0.3, 0.9])]


def build(domain=BOX, k=2, seed=1, **settings):
    policies = [kb.Auto(domain, seed=seed, **settings) for _ in range(k)]
    return policies[0].trading_off(*policies[1:]), policies


def play(policy, policies, function, rounds, noise=0.0):
    rng = np.random.default_rng(0)
    values = []
    for _ in range(rounds):
        choice = policy.ask()
        values.append(function(np.asarray(choice.x)))
        for one, value in zip(policies, values[-1], strict=True):
            one.tell(choice, value + noise * rng.normal())
    return np.array(values)


def draw_case(k, members=3, n=5, seed=0):
    """Return values of a front, and means and sds of members at n points."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(6, k))
    moments = [(rng.normal(size=(members, n)), rng.uniform(0.1, 1, (members, n))) for _ in range(k)]
    return values, moments


def improve(values, members=3, noise=0.0):
    noises = [np.full(members, noise)] * values.shape[1]
    return FrontImprovement(values, noises, values.min(0) - 0.5)


def score_by_draws(values, reference, moments, draws):
    """Return the growth of the hypervolume, averaged over normal draws (n, k) and all members."""
    volume = hypervolume(values, reference)
    total = []
    members, n = moments[0][0].shape
    for point in range(n):
        growth = []
        for number, draw in enumerate(draws):
            place = [
                means[(number // members**i) % members, point]
                + sds[(number // members**i) % members, point] * z
                for i, ((means, sds), z) in enumerate(zip(moments, draw, strict=True))
            ]
            growth.append(hypervolume(np.vstack([values, place]), reference) - volume)
        total.append((np.mean(growth), np.std(growth) / np.sqrt(len(draws))))
    return np.array(total).T


# ---------------------------------------------------------------- the score


def test_for_two_objectives_the_score_is_the_integral_of_the_growth():
    values, moments = draw_case(2, members=2, n=3)
    score = improve(values, 2)
    z = np.linspace(-8, 8, 1601)
    weights = stats.norm.pdf(z) * 0.01
    for point in range(3):
        expected = 0.0
        for first in range(2):
            for second in range(2):
                a = moments[0][0][first, point] + moments[0][1][first, point] * z
                b = moments[1][0][second, point] + moments[1][1][second, point] * z
                front = values[find_front(values)]
                front = front[np.argsort(front[:, 0])]
                # The growth of a pair (a, b): strips between the places of the front.
                growth = np.zeros((len(a), len(b)))
                ends = np.concatenate([[score.reference[0]], front[:, 0], [np.inf]])
                levels = np.concatenate([front[:, 1], [score.reference[1]]])
                for low, high, level in zip(ends[:-1], ends[1:], levels, strict=True):
                    width = np.clip(np.minimum(a, high) - low, 0, None)
                    growth += width[:, None] * np.clip(b - level, 0, None)[None]
                expected += weights @ growth @ weights / 4
        found = np.exp(score.log_growth([(m[:, [point]], s[:, [point]]) for m, s in moments])[0])
        assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_score_is_the_growth_of_the_hypervolume_over_quasi_random_draws(k):
    values, moments = draw_case(k, n=2)
    score = improve(values)
    # In another order: the number of a draw says which members it belongs to.
    points = np.random.default_rng(1).permutation(qmc.Halton(k, seed=1).random(729))
    draws = stats.norm.ppf(points)
    found = np.exp(score.log_growth(moments))
    mean, error = score_by_draws(values, score.reference, moments, draws)
    assert (abs(found - mean) < 4 * error).all()


def test_far_below_the_front_the_score_keeps_its_digits():
    score = improve(np.array([[0.0, 0.0]]), 1)
    far = [(np.array([[-60.0, -70.0]]), np.array([[1.0, 1.0]]))] * 2
    logs = score.log_growth(far)
    assert np.isfinite(logs).all()
    assert logs[0] > logs[1] > NO_CHANCE


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_its_derivatives_are_those_of_differences(k, noise):
    values, moments = draw_case(k)
    score = improve(values, noise=noise)
    value, slopes = score.derivatives_by_moments(moments)
    np.testing.assert_allclose(value, score.log_growth(moments), rtol=1e-9)
    for i in range(k):
        for kind in range(2):
            for member in range(3):
                ends = []
                for sign in (1, -1):
                    moved = [(m.copy(), s.copy()) for m, s in moments]
                    moved[i][kind][member] += sign * 1e-6
                    ends.append(score.log_growth(moved))
                expected = (ends[0] - ends[1]) / 2e-6
                np.testing.assert_allclose(slopes[i][kind][member], expected, rtol=1e-4, atol=1e-7)


def test_the_order_of_objectives_and_places_does_not_matter():
    values, moments = draw_case(3)
    logs = improve(values).log_growth(moments)
    turned = improve(values[::-1][:, [2, 0, 1]]).log_growth([moments[i] for i in (2, 0, 1)])
    np.testing.assert_allclose(turned, logs)


def test_another_unit_multiplies_the_growth():
    values, moments = draw_case(2)
    score = improve(values)
    scaled = FrontImprovement(values * [10, 1], score.noises, score.reference * [10, 1])
    wide = [(10 * moments[0][0], 10 * moments[0][1]), moments[1]]
    np.testing.assert_allclose(
        scaled.log_growth(wide), score.log_growth(moments) + np.log(10), rtol=1e-9
    )


def test_the_surface_of_a_box_has_the_gradient_of_its_values():
    policy, policies = build(k=3)
    play(policy, policies, three_bowls, 9)
    now = policy._round(10, kb.Streams(0), AskOptions((), None, None, None))
    surface = policy._surface(improve_front(policy, now), now)
    assert isinstance(surface, FrontSurface)
    rows = np.random.default_rng(3).random((20, 2))
    values, slopes = surface.slopes(rows)
    np.testing.assert_allclose(values, surface.values(rows), rtol=1e-6)
    for j in range(2):
        step = np.zeros(2)
        step[j] = 1e-6
        expected = (surface.values(rows + step) - surface.values(rows - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, j], expected, rtol=1e-3, atol=1e-3)


def test_a_repeat_is_scored_against_the_front_without_it():
    rng = np.random.default_rng(4)
    known = [
        ObjectiveMoments(rng.normal(size=(2, 5)), rng.uniform(0.2, 1, (2, 5)), np.array([0.1, 0.2]))
        for _ in range(2)
    ]
    seen = np.array([0, 1, 2])
    scores, _ = score_growth(known, seen, seen)
    values = np.round(np.column_stack([one.means.mean(0) for one in known]), 9)
    reference, front = choose_reference(values[seen]), find_front(values[seen])
    arm = int(seen[front[0]])
    steps = [one.variances / np.sqrt(one.variances + one.noises[:, None]) for one in known]
    moments = [(one.means[:, [arm]], s[:, [arm]]) for one, s in zip(known, steps, strict=True)]
    others = values[seen[seen != arm]]
    draws = np.random.default_rng(2).standard_normal((2048, 2))
    mean, error = score_by_draws(others, reference, moments, draws)
    lost = hypervolume(values[seen], reference) - hypervolume(others, reference)
    assert abs(np.exp(scores[arm]) - (mean[0] - lost)) < 4 * error[0]


def test_without_noise_a_repeat_has_no_chance():
    known = [ObjectiveMoments(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1)) for _ in range(2)]
    scores, _ = score_growth(known, np.array([1]), np.array([1]))
    assert scores[1] == NO_CHANCE < scores[0] == scores[2]


# ---------------------------------------------------------------- what is played


@pytest.mark.thorough
@pytest.mark.parametrize("domain", [BOX, kb.Arms(TABLE)])
def test_the_front_is_found_where_chance_does_not_find_it(domain):
    finite = isinstance(domain, kb.Arms)
    along = np.linspace(0, 1, 200)[:, None]
    best = TABLE if finite else np.array([0.2, 0.3]) + along * np.array([0.5, 0.3])
    best = np.array([bowls(x) for x in best])
    reference = best[find_front(best)].min(0) * 1.1
    greatest = (
        hypervolume(best[find_front(best)][::2], reference)
        if not finite
        else hypervolume(best, reference)
    )
    lost = {"front": [], "random": []}
    for seed in range(2):
        policy, policies = build(domain, seed=seed)
        values = play(policy, policies, bowls, 20)
        rng = np.random.default_rng(seed)
        places = TABLE[rng.permutation(120)[:20]] if finite else rng.random((20, 2))
        for name, found in (("front", values), ("random", np.array([bowls(x) for x in places]))):
            lost[name].append(1 - hypervolume(found, reference) / greatest)
    assert np.mean(lost["front"]) < 0.1
    assert np.mean(lost["front"]) < 0.4 * np.mean(lost["random"])


def test_a_space_that_can_be_listed_is_searched_too():
    space = kb.MixedBox({"a": kb.Integer(0, 10), "b": kb.Category(["x", "y"])})
    policy, policies = build(space)
    for _ in range(9):
        choice = policy.ask()
        for one, sign in zip(policies, (1, -1), strict=True):
            one.tell(choice, sign * choice.x["a"] + (choice.x["b"] == "x"))
    front = policy.front()
    assert {choice.x["b"] for choice in front.choices} == {"x"}
    assert "growth" in policy.ask().note


def test_a_batch_spreads_because_pending_places_count_for_the_front():
    policy, policies = build()
    play(policy, policies, bowls, 8)
    points = np.array([choice.x for choice in policy.batch(4)])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(4, 1)]
    assert gaps.min() > 1e-3


def test_a_pending_place_counts_with_its_estimates():
    policy, policies = build()
    play(policy, policies, bowls, 8)
    middle = policy.choice([0.45, 0.45])
    fronts = [
        improve_front(policy, policy._round(9, kb.Streams(0), AskOptions(one, None, None, None)))
        for one in ((), (middle,))
    ]
    assert not np.array_equal(fronts[0].cells.lower, fronts[1].cells.lower)


def test_asking_changes_nothing_and_equal_seeds_play_equal_games():
    games = []
    for _ in range(2):
        policy, policies = build()
        play(policy, policies, bowls, 8)
        before = [one.posterior.events for one in policies]
        first, again = policy.ask(), policy.ask()
        assert first == again
        assert before == [one.posterior.events for one in policies]
        games.append(np.asarray(first.x).tolist())
    assert games[0] == games[1]


def test_an_objective_that_is_the_same_everywhere_leaves_the_other_one():
    policy, policies = build(kb.Arms(np.linspace(0, 1, 21)[:, None]))
    for _ in range(8):
        choice = policy.ask()
        policies[0].tell(choice, float(choice.x[0]))
        policies[1].tell(choice, 3.0)
    front = policy.front()
    assert len(front.choices) == 1
    assert front.means[0] == pytest.approx([max(policies[0].rewards.points[:, 0]), 3.0], abs=0.02)


def test_failures_and_places_without_all_objectives_are_not_on_the_front():
    policy, policies = build(kb.Arms(np.linspace(0, 1, 5)[:, None]), noise=0)
    for arm in range(4):
        policies[0].tell(policy.choice(arm), float(arm))
        if arm != 3:
            policies[1].tell(policy.choice(arm), float(-arm))
    for one in policies:
        one.fail(policy.choice(4))
    assert [choice.arm for choice in policy.front().choices] == [2, 1, 0]


def test_limits_keep_the_front_where_they_are_met():
    arms = kb.Arms(np.linspace(0, 1, 11)[:, None])
    policy, policies = build(arms, noise=0)
    haze = kb.Auto(arms, noise=0)
    limited = policy.limited_by(LimitedOutcome(haze, high=0.55))
    for arm in range(11):
        for one, value in zip([*policies, haze], (arm, -arm, arm / 10), strict=True):
            one.tell(one.choice(arm), float(value))
    assert [choice.arm for choice in limited.front().choices] == [5, 4, 3, 2, 1, 0]
    assert len(policy.front().choices) == 11
    box, outcome = build(k=2)[0], kb.Auto(BOX)
    both = box.limited_by(LimitedOutcome(outcome, high=0.5))
    for _ in range(8):
        choice = both.ask()
        for one, value in zip(
            [box, *box.objectives, outcome], [*bowls(choice.x), choice.x[0]], strict=True
        ):
            one.tell(choice, value)
    now = both._round(9, kb.Streams(0), AskOptions((), None, None, None))
    assert isinstance(both._surface(both.acquisition(now), now), SummedSurface)
    assert both.ask().note["feasible"] > 0.2


def test_under_noise_the_front_is_that_of_the_estimates():
    policy, policies = build()
    values = play(policy, policies, bowls, 15, noise=0.02)
    front = policy.front()
    assert front.means.shape == front.sds.shape == (len(front.choices), 2)
    assert (front.sds > 0).all()
    assert 0 < front.share < 1
    assert find_front(front.means).tolist() == list(range(len(front.choices)))
    assert len(values) == 15


# ---------------------------------------------------------------- what is refused


def test_what_has_no_front_is_refused():
    auto, other = kb.Auto(BOX), kb.Auto(BOX)
    with pytest.raises(ValueError, match="1 to 3 other"):
        auto.trading_off()
    with pytest.raises(ValueError, match="1 to 3 other"):
        auto.trading_off(*[kb.Auto(BOX) for _ in range(4)])
    with pytest.raises(ValueError, match="for each objective"):
        auto.trading_off(kb.policies.Greedy(kb.Arms(TABLE), kb.RBF(0.2)))
    with pytest.raises(ValueError, match="another policy for each objective"):
        auto.trading_off(auto)
    with pytest.raises(ValueError, match='the goal "find"'):
        kb.Auto(BOX, goal="earn").trading_off(other)
    with pytest.raises(ValueError, match="outcomes on"):
        auto.trading_off(kb.Auto(kb.Box((0.0,), (1.0,))))
    policy = auto.trading_off(other)
    with pytest.raises(ValueError, match="one objective"):
        policy.recommend()
    with pytest.raises(ValueError, match="other objectives"):
        policy.to_dict()
    with pytest.raises(ValueError, match="trading_off"):
        auto.front()
    assert policy.front().choices == ()
    assert policy.front().share == 0.0


def test_a_reference_keeps_the_search_where_all_objectives_are_worth_something():
    """Above the reference lies the middle third of a front from (0, 1) to (1, 0)."""
    arms = kb.Arms(np.linspace(0, 1, 61)[:, None])
    shares = []
    for reference in (None, (0.6, 0.6)):
        policies = kb.Auto(arms, seed=1), kb.Auto(arms)
        policy = policies[0].trading_off(policies[1], reference=reference)
        for _ in range(18):
            choice = policy.ask()
            policies[0].tell(choice, 1 - choice.x[0] ** 2)
            policies[1].tell(choice, 1 - (1 - choice.x[0]) ** 2)
        chosen = policies[0].rewards.points[3:, 0]
        shares.append(((chosen > 0.35) & (chosen < 0.65)).mean())
    assert shares[1] > max(0.6, shares[0] + 0.2)
    assert policy.front().reference.tolist() == [0.6, 0.6]
    for wrong in ([0.5], [0.5, float("nan")], [0.5, "a"]):
        with pytest.raises(ValueError, match=r"a reference of 2|finite|number"):
            policies[0].trading_off(policies[1], reference=wrong)
