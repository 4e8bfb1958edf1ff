"""The goal "earn" of Auto: mean + horizon * gain by its definition, its notes, and the index beside it."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

import kernelbandits as kb
from kernelbandits.domains import maximise
from kernelbandits.kernels import AdditiveMatern, Constant
from kernelbandits.policies.acquisition import Lookahead, Surface, knowledge_gain, reward_step
from kernelbandits.policies.round import AskOptions
from kernelbandits.posterior import PointPosterior

GRID = np.stack(np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7)), -1).reshape(-1, 2)
ARMS = kb.Arms(GRID)
BOX = kb.Box((0.0, -1.0), (2.0, 1.0))
NO_OPTIONS = AskOptions((), None, None, None)
NOISE = np.random.default_rng(4).normal(size=200)


def height(x):
    return math.sin(3 * float(x[0])) - float(x[1] - 0.4) ** 2


def play(policy, rounds, noise=0.1, scale=1.0, shift=0.0):
    for t in range(policy.turn, policy.turn + rounds):
        choice = policy.ask()
        policy.tell(choice, shift + scale * (height(choice.x) + noise * NOISE[t]))
    return policy


def gain_by_hand(mean, others, variance, noise, margin=1.0):
    """s phi(gap / s) - gap Phi(-gap / s), number by number."""
    step, gap = margin * variance / math.sqrt(variance + noise), abs(mean - max(others))
    density = math.exp(-0.5 * (gap / step) ** 2) / math.sqrt(2 * math.pi)
    return step * density - gap * 0.5 * math.erfc(gap / step / math.sqrt(2))


def gain_by_quadrature(mean, rival, step):
    """E[max(the highest of the others, the estimate after a reward)] - the highest of all now."""
    expected = norm.expect(lambda moved: max(rival, moved), loc=mean, scale=step, epsabs=1e-12)
    return expected - max(rival, mean)


def scores_by_hand(policy, horizon, pending=()):
    """mean + horizon * gain of every arm, and the gains, member by member and arm by arm."""
    seen = sorted({*np.flatnonzero(policy.learner.arm_counts()).tolist(), *pending})
    imagined = policy.posterior.with_pending(list(pending)) if pending else policy.posterior
    means, gains = [], []
    parts = zip(policy.posterior.means, imagined.variances, policy.learner.fit.members, strict=True)
    for mean, variance, fit in parts:
        means.append(mean)
        gains.append(
            [
                gain_by_hand(
                    mean[arm],
                    [mean[other] for other in seen if other != arm],
                    variance[arm],
                    fit.noise_variance,
                    1.0 if arm in seen else 1.5,
                )
                for arm in range(len(mean))
            ]
        )
    average = np.mean(gains, axis=0)
    return np.mean(means, axis=0) + horizon * average, average


class TestGain:
    @pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
    def test_it_is_what_a_reward_adds_to_the_highest_estimate(self, gap):
        """Whether the estimate is the highest or not, by quadrature."""
        step = 0.5 / math.sqrt(0.5 + 0.2)
        assert reward_step(np.array([0.5]), 0.2) == pytest.approx([step], rel=1e-12)
        found = knowledge_gain(np.array([gap]), np.array([step]))[0]
        for mean, rival in ((1.0, 1.0 + gap), (1.0 + gap, 1.0)):
            assert found == pytest.approx([gain_by_quadrature(mean, rival, step)], abs=1e-9)
            assert gain_by_hand(mean, [rival], 0.5, 0.2) == pytest.approx(found[0], abs=1e-12)

    def test_its_derivatives_are_those_of_central_differences(self):
        gap, step = np.array([0.1, 0.4, 2.0]), np.array([0.3, 0.5, 0.4])
        _, by_gap, by_step = knowledge_gain(gap, step)
        rise = knowledge_gain(gap + 1e-6, step)[0] - knowledge_gain(gap - 1e-6, step)[0]
        np.testing.assert_allclose(by_gap, rise / 2e-6, atol=1e-8)
        rise = knowledge_gain(gap, step + 1e-6)[0] - knowledge_gain(gap, step - 1e-6)[0]
        np.testing.assert_allclose(by_step, rise / 2e-6, atol=1e-8)

    def test_where_nothing_can_be_learnt_it_is_zero_and_finite(self):
        gap, step = np.array([0.0, 1.0, 1e200, 1.0]), np.array([0.0, 0.0, 1e-3, 1e-90])
        with np.errstate(all="raise", under="ignore"):
            for part in knowledge_gain(gap, step):
                assert np.isfinite(part).all()
        assert (knowledge_gain(gap, step)[0] == 0).all()
        assert reward_step(np.zeros(2), 0.0).tolist() == [0.0, 0.0]


class TestSurface:
    def mixture(self, kernel):
        rng = np.random.default_rng(1)
        points, rewards = rng.uniform((0, -1), (2, 1), (12, 2)), rng.normal(size=12)
        kernels = [kernel(lengths) + Constant() for lengths in ((0.4, 0.9), (1.5, 0.5))]
        posterior = PointPosterior(kernels, BOX, [0.01, 0.1])
        posterior.learn(points, np.ones(12), rewards)
        return posterior

    @pytest.mark.parametrize("kernel", [kb.Matern, AdditiveMatern], ids=["stacked", "one-by-one"])
    def test_values_are_the_definition_and_slopes_those_of_central_differences(self, kernel):
        mixture, rows = self.mixture(kernel), np.random.default_rng(2).random((6, 2))
        bests, noises = np.array([0.3, 0.8]), np.array([0.05, 0.2])
        surface = Surface(mixture, Lookahead(bests, noises, 12.0, highest=0.8))
        expected = np.zeros(6)
        for mean, sd, best, noise in zip(*mixture.members_at(rows), bests, noises, strict=True):
            gains = [
                gain_by_hand(m, [best], s**2, noise)
                for m, s in zip(mean.tolist(), sd.tolist(), strict=True)
            ]
            expected += (mean + 12.0 * np.array(gains)) / 2
        np.testing.assert_allclose(surface.values(rows), expected, rtol=1e-6)
        values, slopes = surface.slopes(rows)
        np.testing.assert_allclose(values, surface.values(rows), rtol=1e-9)
        for j, step in enumerate(1e-6 * np.eye(2)):
            rise = (surface.values(rows + step) - surface.values(rows - step)) / 2e-6
            np.testing.assert_allclose(slopes[:, j], rise, rtol=1e-4, atol=1e-4)

    def test_an_ascent_stops_after_the_steps_it_is_given(self):
        """On a ridge it would not stop by itself."""

        def ridge(rows):
            away = rows[:, 0] - rows[:, 1]
            slope = np.column_stack([-np.sign(away) + 0.1, np.sign(away) + 0.1])
            return -np.abs(away) + 0.1 * rows.sum(1), slope

        box = kb.Box((0.0, 0.0), (1.0, 1.0))
        short, usual = (maximise(ridge, box, **given) for given in ({"steps": 3}, {}))
        assert short.evaluations < usual.evaluations
        assert short.value <= usual.value
        with pytest.raises(ValueError, match="maximise needs a whole number steps"):
            maximise(ridge, box, steps=0)


class TestArms:
    @pytest.mark.parametrize("pending", [(), (3, 17, 17)], ids=["none", "three"])
    def test_the_choice_maximises_the_definition(self, pending):
        policy = play(kb.Auto(ARMS, goal="earn", ties="lowest", seed=2), 9)
        t = 10 + len(pending)
        scores, gains = scores_by_hand(policy, 40 - t, pending)
        choice = policy.ask(pending=[policy.choice(arm) for arm in pending])
        assert choice.arm == scores.argmax()
        assert choice.note["horizon"] == 40 - t
        best = policy.posterior.mean[policy.learner.measured_arms()].max()
        units = policy.units
        gained = units.original(best + gains[choice.arm]) - units.original(best)
        assert choice.note["gain"] == pytest.approx(float(gained), rel=1e-6)
        mean = units.original(policy.posterior.mean[choice.arm])
        assert choice.note["mean"] == pytest.approx(float(mean), rel=1e-9)

    def test_with_one_arm_measured_it_is_its_own_rival(self):
        policy = kb.Auto(ARMS, goal="earn", first=1)
        policy.tell(policy.choice(24), 1.0)
        choice = policy.ask()
        assert choice.arm != 24
        assert choice.note["gain"] > 0

    def test_a_pending_arm_teaches_less(self):
        """All but two arms are pending many times: one of the two is chosen."""
        policy = play(kb.Auto(ARMS, goal="earn", seed=2), 6)
        fresh = policy.ask().arm
        others = [policy.choice(arm) for arm in range(49) if arm not in (fresh, 0)]
        batch = policy.batch(4)
        assert len({choice.arm for choice in batch}) == 4
        assert policy.ask(7, pending=others * 5).arm in (fresh, 0)

    def test_among_some_arms_the_best_of_them_is_chosen(self):
        policy = play(kb.Auto(ARMS, goal="earn", ties="lowest", seed=2), 9)
        scores, _ = scores_by_hand(policy, 30)
        allowed = [int(scores.argmin()), 5, 40, 41]
        assert policy.ask(arms=allowed).arm == allowed[scores[allowed].argmax()]

    def test_with_costs_the_index_over_the_highest_estimate_is_divided_by_the_cost(self):
        """A dear arm that is hardly better than a cheap one is not played round by round."""
        policy = play(kb.Auto(ARMS, goal="earn", ties="lowest", seed=2), 9)
        costs = np.where(np.arange(49) % 2, 4.0, 1.0)
        posterior = policy.posterior
        index = posterior.mean + 3 * 10 ** (-1 / 3) * posterior.sd
        choice = policy.ask(costs=costs)
        assert choice.arm == ((index - posterior.mean.max()) / costs).argmax()
        assert choice.note["cost"] == costs[choice.arm]
        assert choice.note["width"] == pytest.approx(3 * 10 ** (-1 / 3))
        assert "gain" not in choice.note

    def test_asking_changes_nothing(self):
        policy = play(kb.Auto(ARMS, goal="earn", seed=2), 9)
        before = policy.posterior.mean.copy()
        first = policy.ask()
        policy.ask(pending=[first])
        assert policy.ask().note == first.note
        np.testing.assert_array_equal(policy.posterior.mean, before)

    @pytest.mark.parametrize("given", [{}, {"width": "practical"}, {"rounds": 12}])
    def test_pickles_and_json_ask_the_same(self, given):
        policy = play(kb.Auto(ARMS, goal="earn", seed=2, **given), 9)
        stored = json.loads(json.dumps(policy.to_dict()))
        for again in (pickle.loads(pickle.dumps(policy)), kb.Auto.from_dict(stored)):
            assert again.looks_ahead == policy.looks_ahead
            assert again.ask() == policy.ask()

    @pytest.mark.thorough
    @pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
    def test_notes_follow_the_units_of_the_rewards(self, domain):
        plain = play(kb.Auto(domain, goal="earn", seed=3), 12)
        large = play(kb.Auto(domain, goal="earn", seed=3), 12, scale=100.0, shift=-7000.0)
        one, other = plain.ask(), large.ask()
        np.testing.assert_allclose(one.x, other.x, atol=1e-4)
        assert other.note["horizon"] == one.note["horizon"] == 27
        assert other.note["gain"] == pytest.approx(100 * one.note["gain"], rel=1e-3)
        assert other.note["mean"] == pytest.approx(100 * one.note["mean"] - 7000, rel=1e-4)


class TestHorizon:
    def test_without_a_budget_as_many_rounds_follow_as_were_played_at_least_forty_in_all(self):
        policy = play(kb.Auto(ARMS, goal="earn"), 4)
        asked = [policy.ask(t).note["horizon"] for t in (5, 20, 21, 31, 200)]
        assert asked == [35, 20, 21, 31, 200]

    @pytest.mark.parametrize(
        ("rounds", "expected"),
        [(25, [10, 5, 1, 0]), (100, [30, 21, 1, 0]), (1000, [995, 980, 1, 0])],
    )
    def test_it_is_the_number_of_rounds_left_and_in_short_games_less(self, rounds, expected):
        policy = play(kb.Auto(ARMS, goal="earn", rounds=rounds), 4)
        asked = [policy.ask(t).note["horizon"] for t in (5, 20, rounds - 1, rounds)]
        assert asked == expected

    @pytest.mark.parametrize("rounds", [8, 40])
    def test_after_the_last_round_the_end_is_unknown_again(self, rounds):
        policy = play(kb.Auto(ARMS, goal="earn", rounds=rounds), 4)
        asked = [policy.ask(t).note["horizon"] for t in (rounds, rounds + 1, 60, 400)]
        assert asked == [0, max(40 - rounds - 1, rounds + 1), 60, 400]

    @pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
    def test_the_last_round_plays_the_highest_estimate(self, domain):
        policy = play(kb.Auto(domain, goal="earn", rounds=11), 10)
        choice = policy.ask()
        assert (choice.note["horizon"], choice.note["gain"]) == (0, 0)
        if policy.finite:
            assert choice.arm == policy.posterior.mean.argmax()
        else:
            # A point within 0.05 lengthscales of one played is replaced by it.
            highest = policy.recommend_choice().note["mean"]
            assert highest - choice.note["mean"] < 0.05
        assert "horizon 0 x gain 0" in kb.insight.explain(policy, choice).sentence()


class TestOffTheArms:
    @pytest.mark.thorough
    def test_on_a_box_no_random_point_is_much_better(self):
        policy = play(kb.Auto(BOX, goal="earn", seed=1), 12)
        choice = policy.ask()
        now = policy._round(13, policy.streams, NO_OPTIONS)
        surface = Surface(policy.posterior, policy.acquisition(now))
        rows = np.random.default_rng(3).uniform(BOX.lower, BOX.upper, (3000, 2))
        assert surface.values(choice.x[None])[0] >= surface.values(rows).max() - 0.05
        mean, horizon = policy.posterior.at(choice.x[None])[0][0], choice.note["horizon"]
        score = surface.values(choice.x[None])[0]
        best, units = policy._highest_estimate(), policy.units
        gained = units.original(best + (score - mean) / horizon) - units.original(best)
        assert choice.note["gain"] == pytest.approx(float(gained), rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("inner", [ARMS, BOX], ids=["arms", "box"])
    def test_beside_a_context_the_best_is_that_of_the_context(self, inner):
        policy = kb.Auto(kb.Contextual(inner, 1), goal="earn", seed=1)
        for t in range(10):
            choice = policy.ask(context=[t % 2])
            policy.tell(choice, height(choice.x) * (1 if t % 2 else -1))
        for context in (0.0, 1.0):
            options = NO_OPTIONS._replace(context=[context])
            acquisition = policy.acquisition(policy._round(11, policy.streams, options))
            here = policy.rewards.points.copy()
            here[:, -1] = context
            bests = policy.posterior.members_at(here)[0].max(1)
            assert acquisition.best == pytest.approx(bests, rel=1e-9)
            choice = policy.ask(context=[context])
            assert choice.note["horizon"] == 29
            assert choice.note["gain"] >= 0

    def test_pending_points_count_as_their_estimates_and_spread_a_batch(self):
        policy = play(kb.Auto(BOX, goal="earn", seed=1), 8)
        batch = policy.batch(4)
        points = np.array([choice.x for choice in batch])
        lengths = policy.learner.fit.lengthscales
        for i in range(4):
            for k in range(i):
                assert np.linalg.norm((points[i] - points[k]) / lengths) > 0.01
        assert [choice.note["horizon"] for choice in batch] == [31, 30, 29, 28]


class TestIndex:
    @pytest.mark.parametrize(
        "given", [{"width": "practical"}, {"width": 1.5}, {"exploration": kb.Bernoulli(0.5)}]
    )
    def test_a_width_or_a_law_brings_back_the_index(self, given):
        policy = play(kb.Auto(ARMS, goal="earn", **given), 6)
        assert not policy.looks_ahead
        assert not policy.learner.fitter.transform
        choice = policy.ask()
        assert {"weight", "width"} <= set(choice.note)
        assert not {"gain", "horizon"} & set(choice.note)
        assert kb.insight.explain(policy, choice).gain is None

    def test_without_them_it_looks_ahead_and_says_so(self):
        policy = kb.Auto(ARMS, goal="earn")
        assert policy.looks_ahead
        assert policy.learner.fitter.transform
        assert policy.settings["exploration"] == "online knowledge gradient, averaged over fits"
        assert "without a confidence width" in policy.settings["claim"]
        assert not kb.Auto(ARMS, goal="find").looks_ahead
        assert not kb.Auto(ARMS, goal="earn", transform=False).learner.fitter.transform


class TestExplanation:
    @pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
    def test_it_says_estimate_plus_horizon_times_gain(self, domain):
        policy = play(kb.Auto(domain, goal="earn", seed=1), 9)
        choice = policy.ask()
        why = kb.insight.explain(policy, choice)
        assert (why.gain, why.horizon) == (choice.note["gain"], 30)
        assert why.bonus == 30 * why.gain
        assert (why.weight, why.width) == (None, None)
        index = f"index {why.mean + why.bonus:.4g} = estimate + horizon 30 x gain {why.gain:.2g}"
        assert index in why.sentence()

    def test_it_says_how_many_were_pending(self):
        policy = play(kb.Auto(ARMS, goal="earn", seed=1), 9)
        choice = policy.ask(pending=[policy.choice(0)])
        why = kb.insight.explain(policy, choice)
        assert f"horizon 29 x gain {why.gain:.2g} with 1 pending" in why.sentence()


def earn_study(place, maximise=True, **given):
    sign = 1 if maximise else -1
    study = kb.Study.create(
        place, GRID, goal="earn", direction="max" if maximise else "min", **given
    )
    for t in range(8):
        [one] = study.ask()
        study.tell(one.trial, 20 + 5 * sign * height(GRID[one.row]) + 0.1 * NOISE[t])
    return study


class TestStudies:
    @pytest.mark.parametrize("maximise", [True, False])
    def test_a_suggestion_is_explained_in_the_units_of_the_target(self, tmp_path, maximise):
        study = earn_study(tmp_path / "a.db", maximise)
        [one] = study.ask()
        why = study.explain(one.trial)
        sign = 1 if maximise else -1
        assert why.horizon == one.note["horizon"] == 31
        assert 0 < why.gain < 5
        assert why.gain == pytest.approx(one.note["gain"])
        assert why.bonus == pytest.approx(31 * why.gain)
        assert why.index == pytest.approx(one.note["mean"] + sign * why.bonus)
        parts = f"estimate {'+' if maximise else '-'} 31 rounds x gain {why.gain:.2g}"
        assert f"index {why.index:.4g} = {parts}" in why.sentence
        assert why.sentence.startswith(one.why)
        assert study.replay(one.trial).same

    def test_the_last_round_is_said_to_be_the_last(self, tmp_path):
        study = earn_study(tmp_path / "a.db", rounds=9)
        [one] = study.ask()
        assert "this is the last round, so the estimate alone counts" in one.why
        assert one.note["horizon"] == 0
