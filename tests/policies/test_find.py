"""The goal "find" of Auto: what it plays, when it measures again, what it recommends, what is refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration import Prior
from kernelbandits.calibration.sides import domain_blocks, domain_sides
from kernelbandits.policies.acquisition import log_expected_improvement
from kernelbandits.policies.auto import IGNORED

GRID = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9)), -1).reshape(-1, 2)


def bowl(points):
    return -((points[..., 0] - 0.6) ** 2) - 2 * (points[..., 1] - 0.3) ** 2


def play(policy, values, rounds, noise=0.0, seed=0):
    """Play on arms with these values; returns the arms in their order."""
    rng, arms = np.random.default_rng(seed), []
    for _ in range(rounds):
        choice = policy.ask()
        policy.tell(choice, values[choice.arm] + noise * rng.normal())
        arms.append(choice.arm)
    return arms


class TestWhatIsPlayed:
    def test_it_finds_the_best_row_of_a_table_in_a_quarter_of_its_rows(self):
        values = bowl(GRID)
        policy = kb.Auto(kb.Arms(GRID), goal="find", seed=3)
        play(policy, values, 20)
        assert policy.recommend() == values.argmax()

    def test_the_choice_maximises_the_mean_improvement_of_the_members(self):
        """By the definition: what one reward adds to the best estimate of a member, averaged."""
        values = bowl(GRID)
        policy = kb.Auto(kb.Arms(GRID), goal="find", seed=1, ties="lowest")
        arms = play(policy, values, 8)
        fresh = np.setdiff1d(np.arange(len(GRID)), arms)
        total = np.zeros(len(GRID))
        posterior = policy.posterior
        for i, scales in enumerate(policy.learner.fit.members):
            variance = np.maximum(posterior.variances[i], 0)
            step = variance / np.sqrt(variance + scales.noise_variance)
            best = posterior.means[i, np.unique(arms)].max()
            total += np.exp(log_expected_improvement(posterior.means[i], step, best))
        choice = policy.ask()
        assert "drawn" not in choice.note
        assert choice.arm == fresh[total[fresh].argmax()]
        units, best = policy.units, policy.posterior.mean[np.unique(arms)].max()
        gained = total[choice.arm] / len(policy.posterior.kernels)
        expected = units.original(best + gained) - units.original(best)
        assert choice.note["improvement"] == pytest.approx(expected, rel=1e-9)

    def test_asking_changes_nothing_and_equal_seeds_play_equal_games(self):
        values = bowl(GRID)
        first, second = (kb.Auto(kb.Arms(GRID), goal="find", seed=5) for _ in range(2))
        assert play(first, values, 12, noise=0.05) == play(second, values, 12, noise=0.05)
        assert first.ask() == first.ask()

    def test_results_told_at_once_leave_the_state_of_telling_them_one_by_one(self):
        values = bowl(GRID)
        one, all_ = (kb.Auto(kb.Arms(GRID), goal="find") for _ in range(2))
        pairs = [(one.choice(arm), float(values[arm])) for arm in (3, 40, 22, 70, 11, 3, 56)]
        for choice, reward in pairs:
            one.tell(choice, reward)
        all_.tell_all(pairs)
        assert one.ask() == all_.ask()
        np.testing.assert_array_equal(one.posterior.mean, all_.posterior.mean)

    def test_a_batch_has_different_rows(self):
        values = bowl(GRID)
        policy = kb.Auto(kb.Arms(GRID), goal="find", seed=2)
        arms = play(policy, values, 6)
        batch = [choice.arm for choice in policy.batch(5)]
        assert len({*batch}) == 5
        assert not {*batch} & {*arms}

    def test_a_batch_on_a_box_has_different_points(self):
        policy = kb.Auto(kb.Box((0.0, 0.0), (1.0, 1.0)), goal="find", seed=4)
        for _ in range(8):
            choice = policy.ask()
            policy.tell(choice, float(bowl(choice.x)))
        points = np.array([choice.x for choice in policy.batch(4)])
        apart = np.abs(points[:, None] - points).max(-1) + np.eye(4)
        assert apart.min() > 1e-3

    def test_on_a_box_it_comes_close_to_the_maximum(self):
        policy = kb.Auto(kb.Box((0.0, 0.0), (1.0, 1.0)), goal="find", seed=4)
        for _ in range(25):
            choice = policy.ask()
            policy.tell(choice, float(bowl(choice.x)))
        assert bowl(np.asarray(policy.recommend())) > -1e-4

    def test_categories_with_many_values_are_learnt_as_one_column(self):
        """12 x 5 combinations, the value a sum of both: after 24 the best is found."""
        rng = np.random.default_rng(8)
        left, right = rng.normal(size=12), rng.normal(size=5)
        codes = np.array([(i, j) for i in range(12) for j in range(5)])
        rows = np.hstack([np.eye(12)[codes[:, 0]], np.eye(5)[codes[:, 1]]]) / math.sqrt(2)
        blocks = (tuple(range(12)), tuple(range(12, 17)))
        values = left[codes[:, 0]] + right[codes[:, 1]]
        policy = kb.Auto(kb.Arms(rows, blocks=blocks), goal="find", seed=0)
        play(policy, values, 24)
        assert values[policy.recommend()] >= np.sort(values)[-2]
        assert len(set(policy.calibration.lengthscales)) == 2


class TestMeasuringAgain:
    @pytest.mark.thorough
    def test_without_noise_no_row_is_measured_twice(self):
        values = bowl(GRID)
        policy = kb.Auto(kb.Arms(GRID), goal="find", noise=0.0, seed=1)
        arms = play(policy, values, 30)
        assert len({*arms}) == 30

    @pytest.mark.thorough
    def test_with_much_noise_good_rows_are_measured_again(self):
        arms = kb.Arms(np.linspace(0, 1, 6)[:, None])
        values = np.array([0.0, 0.1, 0.9, 1.0, 0.2, 0.0])
        policy = kb.Auto(arms, goal="find", noise=0.3, seed=1)
        counts = np.bincount(play(policy, values, 30, noise=0.3), minlength=6)
        assert counts[[2, 3]].sum() > counts[[0, 1, 4, 5]].sum()
        assert counts.max() > 3

    def test_equal_repeats_show_that_there_is_no_noise(self):
        policy = kb.Auto(kb.Arms(GRID), goal="find")
        for arm in (0, 10, 20, 30, 40, 20):
            policy.tell(policy.choice(arm), float(bowl(GRID[arm])))
        assert policy.learner.noise_evidence().repeats_are_equal
        assert policy.calibration.noise_scale < 1e-3 * policy.units.spread

    def test_equal_repeats_at_the_greatest_or_least_value_say_nothing(self):
        """A detection limit: the least value comes again and again, whatever the noise."""
        policy = kb.Auto(kb.Arms(GRID), goal="find")
        for arm, value in ((0, 0.0), (10, 1.0), (20, 0.4), (30, 0.7), (0, 0.0), (0, 0.0)):
            policy.tell(policy.choice(arm), value)
        assert not policy.learner.noise_evidence().repeats_are_equal
        free = policy.calibration.noise_scale
        policy.tell(policy.choice(20), 0.4)
        assert policy.learner.noise_evidence().repeats_are_equal
        assert policy.calibration.noise_scale < 0.1 * free

    def test_a_later_unequal_repeat_restores_the_noise(self):
        policy = kb.Auto(kb.Arms(GRID), goal="find")
        for arm, value in ((0, 0.0), (10, 1.0), (20, 0.4), (30, 0.7), (20, 0.4), (30, 0.5)):
            policy.tell(policy.choice(arm), value)
        assert not policy.learner.noise_evidence().repeats_are_equal
        assert policy.calibration.noise_scale > 0.02


class TestGivenNoise:
    def rewards(self, noise):
        rng = np.random.default_rng(3)
        arms = np.repeat(rng.integers(81, size=12), 2)
        return [(int(arm), bowl(GRID[arm]) + noise * rng.normal()) for arm in arms]

    @pytest.mark.thorough
    @pytest.mark.parametrize(("told", "contradicted"), [(0.05, False), (5.0, True), (0.0005, True)])
    def test_a_noise_that_replicates_contradict_is_overruled(self, told, contradicted):
        policy = kb.Auto(kb.Arms(GRID), goal="find", noise=told)
        for arm, reward in self.rewards(0.05):
            policy.tell(policy.choice(arm), reward)
        assert policy.fits.noise_contradicted is contradicted
        assert policy.calibration.noise_scale == pytest.approx(0.05, rel=0.6)

    def test_noise_zero_is_allowed_and_recommends_the_best_measured(self):
        rng = np.random.default_rng(4)
        policy = kb.Auto(kb.Arms(GRID), goal="find", noise=0.0)
        arms, values = rng.choice(81, 15, replace=False), rng.normal(size=81)
        for arm in arms:
            policy.tell(policy.choice(int(arm)), float(values[arm]))
        assert policy.recommend() == arms[values[arms].argmax()]

    @pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "0.1"])
    def test_a_noise_that_is_none_is_refused(self, bad):
        with pytest.raises(ValueError, match="Auto needs noise"):
            kb.Auto(kb.Arms(GRID), noise=bad)


class TestGoals:
    @pytest.mark.parametrize(
        ("given", "goal"),
        [
            ({}, "find"),
            ({"rounds": 30}, "find"),
            ({"width": 2.0}, "earn"),
            ({"exploration": kb.Bernoulli(0.5)}, "earn"),
        ],
    )
    def test_the_goal_is_to_find_unless_told_or_a_width_or_a_law_is_given(self, given, goal):
        policy = kb.Auto(kb.Arms(GRID), **given)
        assert policy.goal == policy.settings["goal"] == goal

    @pytest.mark.parametrize("given", [{"width": 2.0}, {"exploration": kb.Bernoulli(0.5)}])
    def test_width_and_law_belong_to_the_goal_earn(self, given):
        with pytest.raises(ValueError, match=r'no (width|exploration) with the goal "find"'):
            kb.Auto(kb.Arms(GRID), goal="find", **given)

    def test_an_unknown_goal_is_refused(self):
        with pytest.raises(ValueError, match="find"):
            kb.Auto(kb.Arms(GRID), goal="best")

    def test_find_claims_nothing_about_regret(self):
        policy = kb.Auto(kb.Arms(GRID), goal="find")
        assert policy.settings["claim"].startswith("none: the goal is the best answer")


class TestBadDays:
    def test_equal_results_go_on_with_other_rows(self):
        policy = kb.Auto(kb.Arms(GRID), goal="find", seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kb.NumericsWarning)
            arms = play(policy, np.zeros(81), 15)
        assert len({*arms}) == 15

    def test_fewer_rows_than_the_initial_design(self):
        policy = kb.Auto(kb.Arms([[0.0], [1.0]]), goal="find")
        arms = play(policy, np.array([0.0, 1.0]), 4)
        assert {*arms[:2]} == {0, 1}
        assert policy.recommend() == 1

    def test_one_category_value_each_row(self):
        rows = np.eye(10) / math.sqrt(2)
        policy = kb.Auto(kb.Arms(rows, blocks=(tuple(range(10)),)), goal="find", seed=0)
        arms = play(policy, np.arange(10.0), 10)
        assert {*arms} == {*range(10)}


class TestColumns:
    def test_blocks_of_domains(self):
        box = kb.MixedBox({"a": kb.Real(0, 2), "b": kb.Category(("x", "y", "z"))})
        assert domain_blocks(box) == ((0,), (1, 2, 3))
        assert domain_blocks(kb.Box((0.0, 0.0), (1.0, 1.0))) == ((0,), (1,))
        assert domain_blocks(kb.Contextual(box, 2)) == ((0,), (1, 2, 3), (4,), (5,))
        assert domain_blocks(kb.Contextual(2, 1)) == ((0,), (1,), (2,))

    def test_two_values_of_a_category_are_one_side_apart(self):
        box = kb.MixedBox({"a": kb.Real(0, 2), "b": kb.Category(("x", "y", "z"))})
        sides = domain_sides(box)
        rows = np.array([box.encode({"a": 0.0, "b": value}) for value in "xy"])
        assert np.square(np.subtract(*rows) / sides).sum() == pytest.approx(1.0)

    def test_a_prior_of_its_own_is_taken(self):
        prior = Prior(length=-0.5, additive=None)
        assert kb.Auto(kb.Arms(GRID), prior=prior).learner.fitter.prior == prior


@pytest.mark.parametrize("noise", [1e6, 1e300])
def test_a_noise_far_above_the_rewards_warns_of_nothing(noise):
    auto = kb.Auto(np.random.default_rng(0).random((40, 3)), goal="find", noise=noise, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            choice = auto.ask()
            auto.tell(choice, float(-((choice.x - 0.3) ** 2).sum()))
    assert auto.fits.noise_contradicted


@pytest.mark.thorough
def test_with_contexts_the_best_is_that_of_the_context():
    """The reward grows with the context, which nobody chooses: 3 z - (x - z)^2.

    Compared with the best of all contexts, nothing would improve on a low one.
    """
    auto = kb.Auto(kb.Contextual(kb.Box((0.0,), (1.0,)), 1), goal="find", seed=1)
    contexts = np.random.default_rng(0).random((30, 1))
    errors = []
    for context in contexts:
        choice = auto.ask(context=context)
        errors.append(abs(choice.x[0] - context[0]))
        auto.tell(choice, float(3 * context[0] - errors[-1] ** 2))
    assert np.mean(errors[-8:]) < 0.05


def test_an_interrupted_fit_leaves_sides_and_noise_as_they_were(monkeypatch):
    """A reward in a wider context, which also contradicts the noise, is interrupted after its fit."""
    auto = kb.Auto(kb.Contextual(kb.Box((0.0,), (1.0,)), 1), goal="find", noise=1e-3, seed=1)
    while auto.n_rewards + 1 != auto.fits.next_due or auto.n_rewards < 10:
        choice = auto.ask(context=[auto.n_rewards / 100])
        auto.tell(choice, float(choice.x[0]))
    learner, before = auto.learner, auto.ask(context=[0.05])
    fit, made = learner.fit, dict(learner.made_fits)

    def interrupt(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(learner, "_set_checkpoint", interrupt)
    with pytest.raises(KeyboardInterrupt):
        auto.tell(auto.choice([0.5], context=[7.0]), 3.0)
    assert learner.fit == fit
    assert learner.made_fits == made, "a fit to a result that does not count is void"
    assert not auto.fits.noise_contradicted
    assert auto.ask(context=[0.05]) == before


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_a_noise_that_identical_repeats_contradict_does_not_repeat_rows_for_ever(noise):
    """Without noise two or three repeats show it; a noise given far too large costs few more."""
    points = np.random.default_rng(1).random((80, 2))
    values = points[:, 0] - (points[:, 1] - 0.4) ** 2
    arms = play(kb.Auto(points, goal="find", noise=noise, seed=1), values, 30)
    assert max(arms.count(arm) for arm in arms) <= 4


class TestInCaseTheModelMisleads:
    """One choice in five is drawn at random from the places without a result."""

    def test_about_a_fifth_of_the_choices_is_drawn_and_never_a_row_with_a_result(self):
        values, rounds = bowl(GRID), 60
        drawn = total = 0
        for seed in range(6):
            policy, measured = kb.Auto(kb.Arms(GRID), goal="find", seed=seed), set()
            for _ in range(rounds):
                choice = policy.ask()
                if "drawn" in choice.note:
                    drawn += 1
                    assert choice.arm not in measured
                total += "first" not in choice.note
                measured.add(choice.arm)
                policy.tell(choice, values[choice.arm])
        standard_error = math.sqrt(IGNORED * (1 - IGNORED) / total)
        assert abs(drawn / total - IGNORED) < 4 * standard_error

    def test_rows_that_failed_or_are_pending_are_not_drawn(self):
        policy = told_auto(kb.Arms(GRID), 4)
        policy.fail(policy.choice(70))
        pending = [policy.choice(arm) for arm in (60, 61)]
        for t in range(1, 200):
            choice = policy.ask(t, kb.Streams(3), pending=pending, arms=[0, 60, 61, 70, 5])
            if "drawn" in choice.note:
                assert choice.arm in (0, 5)

    def test_nothing_is_drawn_where_all_rows_have_results(self):
        policy = told_auto(kb.Arms(GRID), len(GRID))
        choices = [policy.ask(t, kb.Streams(3)) for t in range(1, 60)]
        assert not any("drawn" in choice.note for choice in choices)

    def test_nothing_is_drawn_in_the_last_tenth_of_the_rounds_nor_with_the_goal_earn(self):
        ending = kb.Auto(kb.Arms(GRID), goal="find", rounds=100)
        earning = kb.Auto(kb.Arms(GRID), goal="earn")
        for policy, rounds in ((ending, range(91, 101)), (earning, range(1, 60))):
            for arm in range(4):
                policy.tell(policy.choice(arm), 0.1 * arm)
            for t in rounds:
                assert "drawn" not in policy.ask(t, kb.Streams(3)).note

    def test_points_of_a_box_are_drawn_under_noise_only(self):
        def count_drawn(noise):
            policy = kb.Auto(kb.Box((0.0,), (1.0,)), goal="find", noise=noise)
            for x in (0.1, 0.3, 0.6, 0.9):
                policy.tell(kb.Choice(x=np.array([x])), x + (noise > 0) * math.sin(99 * x))
            notes = [policy.ask(t, kb.Streams(3)).note for t in range(1, 40)]
            return sum("drawn" in note for note in notes)

        assert count_drawn(0.0) == 0
        assert count_drawn(0.5) > 0

    def test_what_was_drawn_is_said(self):
        policy = told_auto(kb.Arms(GRID), 6)
        choice = next(
            one for t in range(1, 60) if "drawn" in (one := policy.ask(t, kb.Streams(3))).note
        )
        assert "was drawn at random" in kb.insight.explain(policy, choice).sentence()


def told_auto(domain, results):
    """Auto with the results of so many arms."""
    policy = kb.Auto(domain, goal="find", seed=1)
    values = bowl(GRID)
    policy.tell_all([(policy.choice(arm), float(values[arm])) for arm in range(results)])
    return policy
