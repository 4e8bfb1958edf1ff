"""kb.insight.explain: its numbers against dense algebra and brute force, and the sentence they make."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration import Prior
from kernelbandits.formatting import format_point
from kernelbandits.insight.explanation import same_point
from kernelbandits.policies.comparison import COMPARED, best_shares
from kernelbandits.posterior.draws import DRAWS, draw_from_posterior, draw_functions

POINTS = np.random.default_rng(6).random((12, 2))
ARMS = kb.Arms(POINTS)
BOX = kb.Box((0.0, 0.0), (2.0, 1.0))
SHARED = {"noise_scale": 0.1, "norm_bound": 1.0}
ONE = {"members": 1, "prior": Prior(additive=None, nugget=None), "transform": False}
"""One smooth kernel at its most probable scales, and linear units: what `dense` computes."""


def value(x, c=0.0):
    return 50 + 8 * math.sin(3 * float(np.sum(x)) + c)


def told(policy, rounds=12, **given):
    """Rewards with noise, as they were told."""
    noise, rows, rewards = np.random.default_rng(1).normal(size=rounds), [], []
    for t in range(rounds):
        choice = (
            policy.ask(**given)
            if isinstance(policy, kb.Auto)
            else policy.ask(t + 1, kb.Streams(0), **given)
        )
        rewards.append(value(choice.x) + 0.5 * noise[t])
        policy.tell(choice, rewards[-1])
        rows.append(choice.x)
    return np.array(rows), np.array(rewards)


def dense(policy, spans, rows, rewards, where):
    """Mean and covariance in the rewards' own units, from the calibration and the raw rewards."""
    fit = policy.calibration
    lengths = np.array(fit.lengthscales) * spans

    def k(x, z):
        a = math.sqrt(5) * np.sqrt((((x[:, None] - z[None]) / lengths) ** 2).sum(2))
        smooth = fit.signal_variance * (1 + a + a**2 / 3) * np.exp(-a)
        return fit.standard.spread**2 * (smooth + 1.0)

    middle = fit.standard.centre
    inverse = np.linalg.inv(k(rows, rows) + fit.noise_scale**2 * np.eye(len(rows)))
    cross = k(where, rows)
    return middle + cross @ inverse @ (rewards - middle), k(
        where, where
    ) - cross @ inverse @ cross.T


def brute(mean, covariance, margin=0.0, draws=40_000):
    """P(f(x_i) >= max f - margin) by drawing."""
    root = np.linalg.cholesky(covariance + 1e-9 * covariance.max() * np.eye(len(mean)))
    f = mean + np.random.default_rng(9).standard_normal((draws, len(mean))) @ root.T
    return (f >= f.max(1, keepdims=True) - margin).mean(0)


def within_four_errors(one, other, draws):
    """Of two shares, of DRAWS and of so many draws."""
    error = np.sqrt(np.clip(other * (1 - other), 1e-4, None) * (1 / DRAWS + 1 / draws))
    return bool((np.abs(one - other) <= 4 * error).all())


# ---------------------------------------------------------------- numbers


def test_on_arms_every_number_agrees_with_dense_algebra_and_brute_force():
    policy = kb.Auto(ARMS, **ONE)
    rows, rewards = told(policy)
    mean, covariance = dense(policy, np.ptp(POINTS, axis=0), rows, rewards, POINTS)
    sd, share = np.sqrt(np.diag(covariance)), brute(mean, covariance)
    best = int(mean.argmax())
    for arm in range(12):
        why = kb.insight.explain(policy, policy.choice(arm))
        assert (why.mean, why.sd) == pytest.approx((mean[arm], sd[arm]), rel=1e-6)
        assert (why.highest_mean, why.highest_sd) == pytest.approx((mean[best], sd[best]), rel=1e-6)
        np.testing.assert_array_equal(why.highest, POINTS[best])
        assert why.compared == 12
        assert within_four_errors(
            np.array([why.chance, why.highest_chance]), share[[arm, best]], 40_000
        )


def test_on_arms_the_chances_sum_to_one():
    policy = kb.Auto(ARMS)
    told(policy)
    why = [kb.insight.explain(policy, policy.choice(arm)) for arm in range(12)]
    assert sum(each.chance for each in why) == pytest.approx(1.0, abs=1e-12)
    assert len({each.highest_chance for each in why}) == 1
    mean = policy.posterior.mean
    assert best_chances(mean, policy.posterior.covariance(POINTS), 0.0).sum() == pytest.approx(
        1.0, abs=1e-12
    )


def test_on_arms_only_the_very_best_is_the_best():
    """Twelve arms of which nothing is known: each has chance 1/12, however large the noise."""
    policy = kb.SimpleUCB(ARMS, kb.RBF(0.001), ridge=9.0, **SHARED)
    shares = np.array([kb.insight.explain(policy, policy.choice(arm)).chance for arm in range(12)])
    assert (np.abs(shares - 1 / 12) <= 4 * math.sqrt(11 / 144 / DRAWS)).all()


def test_the_weight_and_width_are_those_of_the_choice_and_make_its_index():
    policy = kb.Auto(ARMS, exploration=kb.Gaussian())
    told(policy)
    choice = policy.ask()
    why = kb.insight.explain(policy, choice)
    assert (why.weight, why.width) == (choice.note["weight"], choice.note["width"])
    assert why.bonus == pytest.approx(why.weight * why.width * why.sd)
    mean, sd = (
        policy.units.original(policy.posterior.mean),
        policy.units.spread * policy.posterior.sd,
    )
    assert why.mean + why.bonus == pytest.approx(
        (mean + why.weight * why.width * sd).max(), rel=1e-9
    )


def test_on_a_box_the_numbers_agree_with_dense_algebra():
    policy = kb.Auto(BOX, **ONE)
    rows, rewards = told(policy)
    choice = policy.ask()
    why = kb.insight.explain(policy, choice)
    mean, covariance = dense(policy, [2.0, 1.0], rows, rewards, np.array([choice.x, why.highest]))
    assert [why.mean, why.highest_mean] == pytest.approx(mean, rel=1e-6)
    assert [why.sd, why.highest_sd] == pytest.approx(
        np.sqrt(np.diag(covariance)), rel=1e-4, abs=1e-6
    )
    anywhere = np.random.default_rng(2).uniform(BOX.lower, BOX.upper, (1000, 2))
    assert why.highest_mean >= dense(policy, [2.0, 1.0], rows, rewards, anywhere)[0].max() - 0.05
    assert 0 < why.compared <= COMPARED


def test_on_a_box_neighbours_do_not_take_each_other_s_chance():
    """At the end of a long game the greedy point is probably as good as any, though its neighbours are as well."""
    policy = kb.Auto(kb.Box((0.0,), (1.0,)))
    for x in np.repeat(np.linspace(0, 1, 12), 4).tolist():
        policy.tell(policy.choice([x]), -((x - 0.4) ** 2) + 0.003 * math.sin(1e4 * x + policy.turn))
    assert kb.insight.explain(policy, policy.recommend_choice()).highest_chance > 0.5


def test_greed_is_the_argmax_of_the_estimate():
    policy = kb.Auto(ARMS)
    told(policy)
    why = kb.insight.explain(policy, policy.choice(0))
    np.testing.assert_array_equal(why.highest, POINTS[policy.recommend()])
    here = kb.insight.explain(policy, policy.recommend_choice())
    assert (here.chance, here.mean) == (here.highest_chance, here.highest_mean)
    assert here.sentence().endswith("It has the highest estimate.")


@pytest.mark.thorough
def test_explaining_changes_nothing_and_is_always_the_same():
    policy = kb.Auto(BOX)
    told(policy)
    choice = policy.ask()
    first, again = kb.insight.explain(policy, choice), kb.insight.explain(policy, choice)
    assert (first.chance, first.highest_chance, str(first)) == (
        again.chance,
        again.highest_chance,
        str(again),
    )
    assert policy.ask() == choice


@pytest.mark.thorough
def test_what_is_known_later_is_taken_into_account():
    policy = kb.Auto(ARMS)
    told(policy)
    choice = policy.ask()
    before = kb.insight.explain(policy, choice)
    for _ in range(20):
        policy.tell(choice, 0.0)
    assert kb.insight.explain(policy, choice).mean < before.mean
    assert kb.insight.explain(policy, choice).chance < 0.01


def test_among_many_arms_those_that_may_be_best_are_compared():
    points = np.random.default_rng(3).random((1000, 2))
    policy = kb.Auto(kb.Arms(points), **ONE)
    rows, rewards = told(policy, 10)
    worst = int(policy.posterior.mean.argmin())
    why = kb.insight.explain(policy, policy.choice(worst))
    assert (
        why.compared == kb.insight.explain(policy, policy.recommend_choice()).compared == COMPARED
    )
    mean, covariance = dense(policy, np.ptp(points, axis=0), rows, rewards, points[[worst]])
    assert (why.mean, why.sd) == pytest.approx((mean[0], math.sqrt(covariance[0, 0])), rel=1e-6)
    np.testing.assert_array_equal(why.highest, points[policy.posterior.mean.argmax()])


def test_among_many_arms_the_greedy_one_is_compared_even_if_hope_is_elsewhere():
    """Its estimate is the best and certain; 999 others of which nothing is known hope for more."""
    policy = kb.SimpleUCB(kb.Arms(np.arange(1000.0)[:, None]), kb.RBF(0.01), ridge=1e-4, **SHARED)
    policy.tell(policy.choice(500), 0.1)
    why = kb.insight.explain(policy, policy.choice(999))
    assert (why.compared, why.highest_mean) == (COMPARED, pytest.approx(0.1, rel=1e-3))
    assert np.array_equal(why.highest, [500.0])
    assert 0 <= why.highest_chance < 0.01


def best_chances(mean, covariance, margin):
    """P(f(x_i) >= max f - margin), f ~ N(mean, covariance), by simulation."""
    return best_shares(draw_functions(mean, covariance), margin)


def test_draws_of_a_mixture_come_from_its_members_and_not_from_their_average():
    """Two members that are certain of different arms: each arm is best in half of the draws."""
    arms = kb.Arms([[0.0], [10.0]])
    mixture = kb.posterior.RowPosterior([kb.RBF(0.1), kb.RBF(0.1)], arms, [1e-6, 1e-6])
    mixture.learn(np.ones((2, 2)), np.array([[1.0, 0.0], [0.0, 1.0]]), events=2)
    draws = draw_from_posterior(mixture, arms.points)
    assert len(draws) == DRAWS
    np.testing.assert_allclose(best_shares(draws), [0.5, 0.5])
    assert np.abs(draws.sum(1) - 1).max() < 0.02


def test_the_numbers_drawn_for_a_row_do_not_depend_on_those_after_it():
    """A last row that cannot be the best changes no chance."""
    rng = np.random.default_rng(1)
    factor, mean = rng.normal(size=(6, 6)), rng.normal(size=6)
    mean[5] = -1e6
    covariance = factor @ factor.T
    np.testing.assert_allclose(
        best_chances(mean, covariance, 0.0)[:5], best_chances(mean[:5], covariance[:5, :5], 0.0)
    )


def test_on_a_box_the_margin_is_a_tenth_of_the_noise_scale_given_and_not_of_the_ridge(monkeypatch):
    seen = []

    def keep(draws, margin):
        seen.append(margin)
        return best_shares(draws, margin)

    monkeypatch.setattr("kernelbandits.policies.comparison.best_shares", keep)
    given = kb.SimpleUCB(BOX, kb.Matern(0.4), noise_scale=0.3, norm_bound=1.0, ridge=4.0)
    none = kb.policies.Greedy(BOX, kb.Matern(0.4), ridge=4.0)
    careful = kb.Auto(BOX, width="theory")
    for policy in (given, none, careful):
        told(policy, 6)
        kb.insight.explain(policy, policy.choice([1.0, 0.5]))
    fit = careful.calibration
    expected = [0.03, 0.2, 0.1 * math.sqrt(fit.noise_variance)]
    assert seen == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda domain: kb.Auto(domain, width="practical"),
        lambda domain: kb.SimpleUCB(domain, kb.Matern(0.4), **SHARED),
    ],
    ids=["auto", "ucb"],
)
def test_the_index_of_a_choice_with_others_pending_has_the_sd_it_was_made_by(make):
    policy = make(ARMS)
    told(policy)
    rest = {} if isinstance(policy, kb.Auto) else {"t": 13, "rng": kb.Streams(0)}
    choice = policy.ask(**rest, pending=[policy.choice(arm) for arm in (policy.recommend(), 4, 5)])
    why = kb.insight.explain(policy, choice)
    assert (why.pending, why.pending_sd) == (3, choice.note["sd"])
    assert why.mean + why.bonus == pytest.approx(
        choice.note["mean"] + choice.note["weight"] * choice.note["width"] * choice.note["sd"],
        rel=1e-9,
    )
    assert f"x sd {why.pending_sd:.2g} with 3 pending." in why.sentence()
    assert kb.insight.explain(policy, policy.ask(**rest)).pending_sd is None


@pytest.mark.parametrize("n", [1, 2, 7])
def test_chances_by_simulation_agree_with_brute_force(n):
    rng = np.random.default_rng(n)
    factor, mean = rng.normal(size=(n, n)), rng.normal(size=n)
    covariance = factor @ factor.T + 0.1 * np.eye(n)
    for margin in (0.0, 0.4):
        share = best_chances(mean, covariance, margin)
        assert within_four_errors(share, brute(mean, covariance, margin), 40_000)
    assert best_chances(mean, covariance, 0.0).sum() == pytest.approx(1.0, abs=1e-12)


def test_two_arms_have_the_chance_of_the_normal_law():
    """P(f_1 >= f_2) = Phi((m_1 - m_2) / sd(f_1 - f_2))."""
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    exact = 0.5 * (1 + math.erf(0.7 / math.sqrt(2 * (1.0 + 2.0 - 1.2))))
    share = best_chances(np.array([0.7, 0.0]), covariance, 0.0)[0]
    assert abs(share - exact) <= 4 * math.sqrt(exact * (1 - exact) / DRAWS)


def test_what_is_certain_has_chance_one():
    assert best_chances(np.array([1.0, 0.0]), np.zeros((2, 2)), 0.0).tolist() == [1.0, 0.0]


# ---------------------------------------------------------------- every policy that searches


@pytest.mark.parametrize(
    "make",
    [
        lambda domain: kb.SimpleUCB(domain, kb.Matern(0.4), **SHARED),
        lambda domain: kb.SimpleGaussian(domain, kb.Matern(0.4), **SHARED),
        lambda domain: kb.IGPUCB(domain, kb.Matern(0.4), horizon=50, **SHARED),
        lambda domain: kb.GPTS(domain, kb.Matern(0.4), horizon=50, **SHARED),
        lambda domain: kb.policies.Greedy(domain, kb.Matern(0.4)),
        lambda domain: kb.policies.UniformRandom(domain, kb.Matern(0.4)),
    ],
    ids=["ucb", "gaussian", "igp-ucb", "thompson", "greedy", "random"],
)
@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_policies_that_search_explain_in_the_units_of_their_rewards(make, domain):
    policy = make(domain)
    told(policy, 8)
    choice = policy.ask(9, kb.Streams(0))
    why = kb.insight.explain(policy, choice)
    mean, sd = policy.posterior.at(choice.x[None])
    assert (why.mean, why.sd) == pytest.approx((mean[0], sd[0]), rel=1e-7, abs=1e-9)
    assert why.weight == choice.note.get("weight")
    assert 0 <= why.chance <= 1
    assert why.sentence().startswith(
        f"{format_point(choice.x)}: estimate {why.mean:.4g} with sd {why.sd:.2g}"
    )


# ---------------------------------------------------------------- contexts


@pytest.mark.thorough
@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_beside_a_context_greed_is_that_of_the_context(domain):
    policy = kb.Auto(kb.Contextual(domain, 1))
    for t in range(40):
        context = [math.pi * (t % 2)]
        choice = policy.ask(context=context)
        policy.tell(choice, value(choice.x, context[0]))
    for context in ([0.0], [math.pi]):
        choice = policy.ask(context=context)
        why = kb.insight.explain(policy, choice)
        best = policy.recommend_choice(context=context)
        there = kb.insight.explain(policy, best)
        assert there.mean - 1e-9 <= why.highest_mean <= there.mean + there.sd
        mean, sd = policy.posterior.at([[*choice.x, *context]])
        assert why.mean == pytest.approx(policy.units.original(mean[0]), rel=1e-9)
        assert why.sd == pytest.approx(policy.units.original_sd(mean, sd)[0], rel=1e-6)


def test_arms_of_a_round_are_compared_with_each_other_if_given():
    policy, rng = kb.Auto(kb.Contextual(2, 1)), np.random.default_rng(1)
    for _ in range(12):
        choice = policy.ask(context=[0.0], arms=rng.random((6, 2)))
        policy.tell(choice, value(choice.x))
    rows = rng.random((6, 2))
    choice = policy.ask(context=[0.3], arms=rows)
    why = kb.insight.explain(policy, choice, arms=rows)
    mean = policy.posterior.at(np.hstack([rows, np.full((6, 1), 0.3)]))[0]
    np.testing.assert_array_equal(why.highest, rows[mean.argmax()])
    assert why.compared == 6
    total = sum(
        kb.insight.explain(policy, policy.choice(row, context=[0.3]), arms=rows).chance
        for row in rows
    )
    assert total == pytest.approx(1.0, abs=1e-12)


def test_without_them_a_choice_is_compared_with_what_was_played_as_it_would_be_in_its_context():
    policy, rng = kb.Auto(kb.Contextual(2, 1)), np.random.default_rng(1)
    for t in range(8):
        choice = policy.ask(context=[float(t)], arms=rng.random((6, 2)))
        policy.tell(choice, value(choice.x))
    choice = policy.ask(context=[0.3], arms=rng.random((6, 2)))
    rows = np.vstack([choice.x[None], policy.rewards.points[:, :2]])
    mean = policy.posterior.at(np.hstack([rows, np.full((9, 1), 0.3)]))[0]
    why = kb.insight.explain(policy, choice)
    np.testing.assert_array_equal(why.highest, rows[mean.argmax()])
    assert why.compared == 9


# ---------------------------------------------------------------- words


def test_a_first_choice_says_that_nothing_is_known():
    policy = kb.Auto(BOX)
    choice = policy.ask()
    why = kb.insight.explain(policy, choice)
    assert why.first
    assert (
        str(why)
        == f"{format_point(choice.x)} is one of the initial design: too little is known for anything better."
    )
    assert (why.weight, why.width, why.bonus) == (None, None, None)


def test_a_sentence_has_all_the_numbers():
    policy = kb.Auto(ARMS)
    told(policy)
    rest = [policy.ask(t) for t in range(13, 60)]
    choice = next((choice for choice in rest if choice.arm != policy.recommend()), policy.choice(0))
    why = kb.insight.explain(policy, choice)
    text = why.sentence()
    assert text == str(why)
    best = f"best of the {why.compared} compared with probability {why.chance:.2g}"
    assert text.startswith(
        f"{format_point(choice.x)}: estimate {why.mean:.4g} with sd {why.sd:.2g}, {best}"
    )
    assert (
        f"The highest estimate is that of {format_point(why.highest)} "
        f"(estimate {why.highest_mean:.4g} ± {why.highest_sd:.2g}, " in text
    )
    assert ("= estimate + weight" in text) == (why.weight is not None)
    assert text.count("\n") == 0
    assert text.endswith(".")


def test_points_are_shown_in_few_digits():
    assert format_point(np.array([1 / 3, 2.0])) == "(0.3333, 2)"
    assert (
        format_point({"heat": 1 / 3, "acid": "b", "turns": 4})
        == "heat = 0.3333, acid = b, turns = 4"
    )
    assert format_point((True, 0.25)) == "(True, 0.25)"


def test_points_are_the_same_if_all_their_values_are():
    assert same_point({"a": 1.0}, {"a": 1.0})
    assert not same_point({"a": 1.0}, {"a": 2.0})
    assert same_point(np.array([1.0, 2.0]), (1.0, 2.0))
    assert not same_point((True, "a"), (True, "b"))


def test_a_mixed_point_is_explained_in_its_own_words():
    policy = kb.Auto(kb.MixedBox({"heat": kb.Real(0.0, 1.0), "acid": kb.Category(("a", "b"))}))
    for _ in range(10):
        choice = policy.ask()
        policy.tell(choice, choice.x["heat"] + (choice.x["acid"] == "b"))
    why = kb.insight.explain(policy, policy.choice({"heat": 0.1, "acid": "a"}))
    assert why.sentence().startswith("heat = 0.1, acid = a: estimate ")
    assert why.highest["acid"] == "b"
    assert "The highest estimate is that of heat = " in why.sentence()
