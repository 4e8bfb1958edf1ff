"""The goal "find" of Auto: what it plays, when it measures again, what it recommends, what is refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration import Prior, Refits
from kernelbandits.calibration.sides import domain_blocks, domain_sides
from kernelbandits.policies.acquisition import log_expected_improvement
from kernelbandits.policies.auto import IGNORED, draw_by_worth

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

    def test_arms_are_drawn_by_the_20th_power_of_the_mean_improvement_of_the_members(self):
        """By the definition: what one reward adds to the best estimate of a member, averaged."""
        values = bowl(GRID)
        policy = kb.Auto(kb.Arms(GRID), goal="find", seed=1, noise=0.0)
        arms = play(policy, values, 8)
        fresh = np.setdiff1d(np.arange(len(GRID)), arms)
        total = np.zeros(len(GRID))
        posterior = policy.posterior
        for i, scales in enumerate(policy.learner.fit.members):
            variance = np.maximum(posterior.variances[i], 0)
            step = variance / np.sqrt(variance + scales.noise_variance)
            best = posterior.means[i, np.unique(arms)].max()
            total += np.exp(log_expected_improvement(posterior.means[i], step, best))
        # Without noise nothing is gained by playing an arm again.
        chances = np.zeros(len(GRID))
        chances[fresh] = (total[fresh] / total[fresh].max()) ** 20
        chances /= chances.sum()
        choices = [policy.ask(t, kb.Streams(5)) for t in range(1, 2001)]
        counts = np.bincount([choice.arm for choice in choices], minlength=len(GRID))
        errors = np.sqrt(2000 * chances * (1 - chances)) + 1
        assert (np.abs(counts - 2000 * chances) < 4 * errors).all()
        choice = choices[0]
        assert choice.note["draw_chance"] == pytest.approx(chances[choice.arm], rel=1e-6)
        assert f"drawn with probability {choice.note['draw_chance']:.2g}" in (
            kb.insight.explain(policy, choice).sentence()
        )
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
    """Arms are drawn, and one point in five of a noisy box is any point."""

    def test_nothing_is_left_to_chance_in_the_last_tenth_of_the_rounds_nor_with_the_goal_earn(
        self,
    ):
        ending = kb.Auto(kb.Arms(GRID), goal="find", rounds=100)
        earning = kb.Auto(kb.Arms(GRID), goal="earn")
        for policy, rounds in ((ending, range(91, 101)), (earning, range(1, 60))):
            for arm in range(4):
                policy.tell(policy.choice(arm), 0.1 * arm)
            choices = [policy.ask(t, kb.Streams(3)) for t in rounds]
            assert not any("draw_chance" in choice.note for choice in choices)
            assert len({choice.arm for choice in choices}) == 1 or policy is earning

    def test_arms_that_are_told_apart_by_nothing_have_the_same_chance(self):
        """As from a hat, and none twice."""
        found = [draw_by_worth(np.full(50, -3.0), u) for u in (np.arange(50) + 0.5) / 50]
        assert found == [(arm, pytest.approx(1 / 50)) for arm in range(50)]
        # The values are permuted, so no model can be of use.
        values = np.random.default_rng(8).permutation(bowl(GRID))
        assert len(set(play(kb.Auto(kb.Arms(GRID), goal="find", seed=1), values, 40))) >= 38

    def test_the_first_three_arms_come_from_a_hat(self):
        """Each of 81 arms is the first, second and third about equally often, none twice."""
        counts, games = np.zeros((3, len(GRID))), 400
        for seed in range(games):
            policy = kb.Auto(kb.Arms(GRID), goal="find", seed=seed)
            arms = play(policy, bowl(GRID), 3)
            assert len(set(arms)) == 3
            counts[[0, 1, 2], arms] += 1
        # Chi-square with 80 degrees of freedom has mean 80 and standard deviation sqrt(160).
        expected = games / len(GRID)
        squares = ((counts - expected) ** 2 / expected).sum(1)
        assert (np.abs(squares - 80) < 4 * math.sqrt(160)).all()
        assert policy.ask().note.get("first") is None

    def test_about_a_fifth_of_the_points_of_a_box_is_drawn(self):
        policy = kb.Auto(kb.Box((0.0,), (1.0,)), goal="find", noise=0.5)
        for x in (0.1, 0.3, 0.6, 0.9):
            policy.tell(kb.Choice(x=np.array([x])), x + math.sin(99 * x))
        notes = [policy.ask(t, kb.Streams(3)).note for t in range(1, 301)]
        drawn, error = sum("drawn" in note for note in notes), math.sqrt(300 * 0.2 * 0.8)
        assert abs(drawn - 300 * IGNORED) < 4 * error

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
        policy = kb.Auto(kb.Box((0.0,), (1.0,)), goal="find", noise=0.5)
        for x in (0.1, 0.3, 0.6, 0.9):
            policy.tell(kb.Choice(x=np.array([x])), x + math.sin(99 * x))
        choices = (policy.ask(t, kb.Streams(3)) for t in range(1, 60))
        choice = next(choice for choice in choices if "drawn" in choice.note)
        assert "was drawn at random" in kb.insight.explain(policy, choice).sentence()


class TestTies:
    """The greatest reward came more than once: a scale that ends there gives it again."""

    @pytest.mark.parametrize("seed", range(6))
    def test_two_rows_at_100_percent_do_not_keep_the_others_from_being_measured(self, seed):
        values = np.array([100.0, 100.0, 20.0, 40.0, 60.0, 80.0, 30.0, 10.0])
        policy = kb.Auto(np.linspace(0, 1, 8)[:, None], goal="find", seed=seed)
        assert sorted(play(policy, values, 8)) == list(range(8))

    def test_once_a_repeat_differs_the_noise_is_there_and_ties_are_measured_again(self):
        policy = kb.Auto(np.eye(8), goal="find", seed=1)
        rewards = [(0, 3.0), (1, 3.0), *((arm, 0.1 * arm) for arm in range(2, 8)), (2, 0.6), (3, 0)]
        policy.tell_all([(policy.choice(arm), y) for arm, y in rewards])
        assert not policy.learner.noise_evidence().settled_best.any()
        arms = [policy.ask(t, kb.Streams(t)).arm for t in range(1, 60)]
        assert {0, 1} <= set(arms)

    def test_a_noise_that_was_given_is_there_in_spite_of_ties(self):
        policy = kb.Auto(np.eye(8), goal="find", seed=1, noise=0.5)
        rewards = [(0, 3.0), (1, 3.0), *((arm, 0.1 * arm) for arm in range(2, 8))]
        policy.tell_all([(policy.choice(arm), y) for arm, y in rewards])
        arms = [policy.ask(t, kb.Streams(t)).arm for t in range(1, 60)]
        assert {0, 1} <= set(arms)


class TestSpacesThatCanBeListed:
    """Their points are drawn by the rule of arms."""

    def test_the_chances_are_those_of_the_same_points_as_arms(self):
        space = kb.MixedBox({"turns": kb.Integer(0, 8), "cups": kb.Integer(0, 8)})
        grid = np.array([(a, b) for a in range(9) for b in range(9)], dtype=float)
        prior = Prior(additive=None, nugget=None)
        settings = {"goal": "find", "seed": 1, "prior": prior, "members": 1, "transform": False}
        points = kb.Auto(space, first=2, **settings)
        arms = kb.Auto(kb.Arms(grid / 8), first=2, **settings)
        for number in (4, 40, 76, 12, 68, 33):
            reward = float(bowl(grid[number] / 8))
            points.tell(
                kb.Choice(x=dict(zip(("turns", "cups"), grid[number], strict=True))), reward
            )
            arms.tell(arms.choice(number), reward)
        for t in range(1, 20):
            one, other = (policy.ask(t, kb.Streams(t)) for policy in (points, arms))
            assert [one.x["turns"], one.x["cups"]] == grid[other.arm].tolist()
            for name in ("draw_chance", "improvement"):
                assert one.note[name] == pytest.approx(other.note[name], rel=1e-6)

    def test_a_part_is_drawn_from_and_the_best_point_outside_counts(self):
        space = kb.MixedBox({"turns": kb.Integer(0, 8), "acid": kb.Category(("a", "b"))})
        policy = kb.Auto(space, goal="find", seed=1)
        for turns, acid in ((0, "a"), (4, "a"), (8, "a"), (2, "b"), (6, "b")):
            policy.tell(kb.Choice(x={"turns": turns, "acid": acid}), turns + 5.0 * (acid == "a"))
        part = kb.domains.Part(space, {"acid": "b"})
        choices = [policy.ask(t, kb.Streams(t), arms=part) for t in range(1, 20)]
        assert {choice.x["acid"] for choice in choices} == {"b"}
        free = next(
            one for t in range(1, 200) if (one := policy.ask(t, kb.Streams(t))).x == choices[0].x
        )
        assert choices[0].note["improvement"] == pytest.approx(free.note["improvement"])

    def test_a_larger_space_is_searched_and_its_best_point_is_not_measured_for_ever(self):
        space = kb.MixedBox({"a": kb.Integer(0, 60), "b": kb.Integer(0, 60)})
        policy, seen = kb.Auto(space, goal="find", seed=1), []
        for _ in range(25):
            choice = policy.ask()
            seen.append((choice.x["a"], choice.x["b"]))
            policy.tell(choice, float(bowl(np.array(seen[-1]) / 60)))
        assert "draw_chance" not in choice.note
        assert max(seen.count(one) for one in seen) <= 3


class TestManyVariables:
    @pytest.mark.parametrize("d", [1, 2, 10, 20, 30])
    def test_points_are_as_many_lengthscales_apart_whatever_the_number_of_variables(self, d):
        """Two points drawn from the cube differ by 1/6 in the mean square of each coordinate."""
        policy = kb.Auto(kb.Box((0.0,) * d, (1.0,) * d), goal="find")
        lengths = np.array(policy.calibration.lengthscales)
        assert (1 / (6 * lengths**2)).sum() == pytest.approx(math.exp(2) / 6)

    def test_it_finds_the_two_of_twenty_variables_that_matter_and_their_best_values(self):
        matters = [4, 17]
        policy = kb.Auto(kb.Box((0.0,) * 20, (1.0,) * 20), goal="find", seed=2)
        for _ in range(40):
            choice = policy.ask()
            policy.tell(choice, float(bowl(choice.x[matters])))
        assert sorted(np.argsort(policy.calibration.lengthscales)[:2].tolist()) == matters
        # Of 40 points at random the best has a regret of about 0.01: the area of the ellipse
        # (x - 0.6)^2 + 2 (y - 0.3)^2 < r is pi r / sqrt(2), and 1 / 40 for r = 0.011.
        assert bowl(policy.recommend()[matters]) > -0.002

    def test_from_ten_variables_on_a_box_the_scales_are_fitted_more_often(self):
        def refits(domain, **given):
            return kb.Auto(domain, **given).learner.refits

        def box(d):
            return kb.Box((0.0,) * d, (1.0,) * d)

        often, usual = Refits(growth=1.03, first=1), Refits(growth=1.2, first=1)
        assert refits(box(9)) == refits(box(12), goal="earn") == usual
        assert refits(kb.Arms(np.eye(12))) == usual
        assert refits(box(10)) == refits(box(30)) == often
        # A category is one column, whatever the number of its values.
        acids = kb.Category(tuple("abcdefghijkl"))
        assert refits(kb.MixedBox({"acid": acids, "heat": kb.Real(0, 1)})) == usual
        assert refits(box(10), refits=usual) == usual
