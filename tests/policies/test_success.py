"""Where measurements succeed: the model by the slow formula, its calibration, what is played by it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import kernelbandits as kb
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    LogWorthOfTrying,
    SummedSurface,
    Surface,
    WeighedSurface,
    posterior_mean,
)
from kernelbandits.policies.success import (
    CHOSEN_AT,
    MOST_WEIGHED,
    NOISE,
    Attempts,
    Features,
    learn_success,
)

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
TABLE = np.random.default_rng(5).random((120, 3))


def reward(x):
    return float(np.sin(4 * x[0]) + x[1])


def play(policy, rounds, fails):
    """Play some rounds; return for each whether it failed."""
    failed = []
    for t in range(1, rounds + 1):
        choice = policy.ask()
        failed.append(bool(fails(choice.x, t)))
        if failed[-1]:
            policy.fail(choice)
        else:
            policy.tell(choice, reward(choice.x))
    return failed


def tell_rows(domain, rows, fails, **settings):
    policy = kb.Auto(domain, **settings)
    for row in rows:
        choice = policy.choice(row)
        x = choice.x
        policy.fail(choice) if fails(x) else policy.tell(choice, reward(x))
    return policy


def model_of(points, succeeded, finite=True):
    domain = (
        kb.Arms(points) if finite else kb.Box((0.0,) * points.shape[1], (1.0,) * points.shape[1])
    )
    blocks = tuple((j,) for j in range(points.shape[1]))
    features = Features(np.ones(points.shape[1]), blocks, finite)
    return learn_success(Attempts.of(list(points), list(succeeded)), features, domain)


# ---------------------------------------------------------------- the model


def sample_posterior(prior, sides, draws):
    """Return functions from the prior, and what each weighs by the probit likelihood of attempts."""
    root = np.linalg.cholesky(prior + 1e-9 * np.eye(len(prior)))
    functions = draws @ root.T
    logs = stats.norm.logcdf(sides * functions[:, : len(sides)] / math.sqrt(NOISE)).sum(1)
    return functions, np.exp(logs)


@pytest.mark.thorough
def test_probabilities_and_evidence_are_those_of_the_model_by_simulation():
    """Of one prior with 6 attempts: functions drawn from it, weighed by what was seen."""
    rng = np.random.default_rng(2)
    points, succeeded = rng.random((9, 2)), np.array([1, 1, 0, 1, 0, 0], dtype=bool)
    attempts = Attempts.of(list(points[:6]), succeeded.tolist())
    model = learn_success(attempts, Features(np.ones(2), ((0,), (1,)), True), kb.Arms(points))
    draws = rng.normal(size=(400_000, 9))
    stack = model.known.stack
    expected, evidence = np.zeros(9), []
    for share, prior in zip(model.shares, stack(points, points), strict=True):
        functions, weights = sample_posterior(prior, attempts.sides, draws)
        chances = stats.norm.cdf(functions / math.sqrt(NOISE))
        expected += share * (weights @ chances) / weights.sum()
        evidence.append(math.log(weights.mean()))
    # Expectation propagation is no exact law; it is known to be close for the probit.
    np.testing.assert_allclose(model.chances(np.arange(9)), expected, atol=0.03)
    np.testing.assert_allclose(model.learnt.log_evidence(attempts), evidence, atol=0.05)


@pytest.mark.thorough
def test_left_out_predictions_are_those_of_a_model_without_the_trial():
    rng = np.random.default_rng(4)
    points = rng.random((12, 2))
    succeeded = points[:, 0] < 0.6
    model = model_of(points, succeeded)
    for one in (0, 5, 9):
        rest = np.delete(np.arange(12), one)
        attempts = model.attempts.select(rest)
        prior = model.known.stack(points, points)
        expected = 0.0
        for share, matrix in zip(model.shares, prior, strict=True):
            draws = rng.normal(size=(200_000, 12))
            order = [*rest, one]
            functions, weights = sample_posterior(
                matrix[np.ix_(order, order)], attempts.sides, draws
            )
            chances = stats.norm.cdf(functions[:, -1] / math.sqrt(NOISE))
            expected += share * (weights @ chances) / weights.sum()
        assert model.left_out[one] == pytest.approx(expected, abs=0.05)


def test_the_log_scores_are_means_of_ln_p_and_of_the_share_of_the_others():
    model = model_of(TABLE[:20], TABLE[:20, 0] < 0.7)
    worked = model.attempts.succeeded
    expected = np.where(worked, model.left_out, 1 - model.left_out)
    assert model.log_score == pytest.approx(np.log(expected).mean())
    shares = [(np.delete(worked, i).sum() + 1) / 21 for i in range(20)]
    chances = [share if ok else 1 - share for share, ok in zip(shares, worked, strict=True)]
    assert model.log_score_of_share == pytest.approx(np.log(chances).mean())


def test_probabilities_are_calibrated_where_a_column_decides_and_where_luck_does():
    """Over seeds the mean of P and the share of successes agree within four standard errors.

    And the model predicts better than the share where failures hang on a column, and nearly as
    well where they hang on nothing.
    """
    gaps, gains = {"column": [], "luck": []}, {"column": [], "luck": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        points = rng.random((80, 3))
        for law, works in (
            ("column", points[:, seed % 3] < 0.7),
            ("luck", rng.random(80) < 0.8),
        ):
            model = model_of(points[:30], works[:30]) if not works[:30].all() else None
            if model is None:
                continue
            model = learn_success(model.attempts, model.features, kb.Arms(points))
            chances, rest = model.chances(np.arange(30, 80)), works[30:]
            share = (works[:30].sum() + 1) / 32
            score = np.log(np.where(rest, chances, 1 - chances)).mean()
            gains[law].append(score - np.log(np.where(rest, share, 1 - share)).mean())
            gaps[law].append((rest - chances).mean())
    for law, found in gaps.items():
        assert abs(np.mean(found)) < 4 * np.std(found, ddof=1) / math.sqrt(len(found)) + 0.02, law
    assert np.mean(gains["column"]) > 0.25
    assert np.mean(gains["luck"]) > -0.03


def test_a_value_of_a_category_that_never_works_is_known_after_some_failures():
    space = kb.MixedBox({"x": kb.Real(0, 1), "solvent": kb.Category(("A", "B", "C"))})
    auto = kb.Auto(space)
    for number in range(15):
        x = {"x": (number * 0.37) % 1, "solvent": "ABC"[number % 3]}
        auto.fail(auto.choice(x)) if x["solvent"] == "B" else auto.tell(auto.choice(x), x["x"])
    chances = {s: auto.success_chance(auto.choice({"x": 0.43, "solvent": s})) for s in "ABC"}
    assert chances["B"] < 0.2 < 0.8 < min(chances["A"], chances["C"])


def test_a_place_that_always_fails_is_unlikely_and_bad_luck_is_soon_forgiven():
    arms = kb.Arms(TABLE)
    auto = tell_rows(arms, range(30), lambda x: False)
    for _ in range(5):
        auto.fail(auto.choice(40))
    often = auto.success_chance(auto.choice(40))
    assert often < 0.4
    lucky = tell_rows(arms, range(30), lambda x: False)
    lucky.fail(lucky.choice(3))
    assert lucky.success_chance(lucky.choice(3)) > 0.7
    assert lucky.success_chance(lucky.choice(60)) > 0.9


def test_the_evidence_is_that_of_some_results_and_of_failures_between_them():
    attempts = Attempts.of(
        list(np.random.default_rng(1).random((400, 2))), [i % 5 > 0 for i in range(400)]
    )
    weighed = attempts.select_weighed()
    assert len(weighed.slots) == MOST_WEIGHED
    assert (~weighed.succeeded).sum() >= MOST_WEIGHED // 2
    assert CHOSEN_AT.is_due(attempts.last_weighed)


# ---------------------------------------------------------------- acquisitions


@pytest.mark.parametrize("least", [0.2, 0.9])
def test_the_derivatives_of_the_worth_of_trying_are_those_of_differences(least):
    rng = np.random.default_rng(2)
    means, sds = rng.normal(size=(2, 30)), rng.uniform(0.2, 2, (2, 30))
    score = LogWorthOfTrying(0.0, math.inf, NOISE, np.array([0.7, 0.3]), least, 5.0)
    value, by_mean, by_sd = score.derivatives(means, sds)
    chances = stats.norm.cdf(means / np.sqrt(sds**2 + NOISE))
    log = np.log(np.array([0.7, 0.3]) @ chances)
    np.testing.assert_allclose(value, log + 4 * np.minimum(log - math.log(least), 0))
    for member in range(2):
        step = np.zeros(means.shape)
        step[member] = 1e-6
        slope = (score.score(means + step, sds) - score.score(means - step, sds)) / 2e-6
        np.testing.assert_allclose(by_mean[member], slope, rtol=1e-4, atol=1e-7)
        slope = (score.score(means, sds + step) - score.score(means, sds - step)) / 2e-6
        np.testing.assert_allclose(by_sd[member], slope, rtol=1e-4, atol=1e-7)


def test_surfaces_with_success_have_the_gradients_of_differences():
    auto = tell_rows(BOX, np.random.default_rng(1).random((14, 2)), lambda x: x[0] > 0.6)
    success, rows = auto.success, np.random.default_rng(3).random((20, 2))
    gain = Surface(auto.posterior, LogExpectedImprovement(np.zeros(4)))
    chance, mean = success.surface(), posterior_mean(auto.posterior)
    logs = success.log_chances(rows)
    weighed = WeighedSurface(mean, chance, -2.0)
    np.testing.assert_allclose(
        weighed.values(rows), -2.0 + np.exp(logs) * (mean.values(rows) + 2.0), rtol=1e-5
    )
    for surface in (SummedSurface([gain, chance]), weighed):
        values, slopes = surface.slopes(rows)
        np.testing.assert_allclose(values, surface.values(rows), rtol=1e-5)
        for j in range(2):
            step = np.zeros(2)
            step[j] = 1e-6
            expected = (surface.values(rows + step) - surface.values(rows - step)) / 2e-6
            np.testing.assert_allclose(slopes[:, j], expected, rtol=1e-3, atol=2e-3)


# ---------------------------------------------------------------- what is played


@pytest.mark.parametrize("goal", ["find", "earn"])
@pytest.mark.parametrize("domain", [kb.Arms(TABLE), BOX], ids=["arms", "box"])
def test_a_region_that_fails_is_left_alone(domain, goal):
    failed = play(kb.Auto(domain, goal=goal, seed=2), 30, lambda x, t: x[0] > 0.5)
    assert sum(failed[-10:]) <= 5
    assert 1 <= sum(failed) <= 15


def test_without_failures_there_is_no_model_and_the_chance_is_1():
    auto = tell_rows(BOX, np.random.default_rng(1).random((6, 2)), lambda x: False)
    assert auto.success is None
    assert auto.success_chance(auto.choice((0.2, 0.3))) == 1.0
    assert "success" not in auto.ask().note


@pytest.mark.parametrize("goal", ["find", "earn"])
@pytest.mark.parametrize("domain", [kb.Arms(TABLE), BOX], ids=["arms", "box"])
def test_the_note_of_a_choice_states_the_probability_of_success(domain, goal):
    auto = kb.Auto(domain, goal=goal, seed=1)
    play(auto, 12, lambda x, t: x[0] > 0.4)
    choice = auto.ask()
    assert choice.note["success"] == pytest.approx(auto.success_chance(choice), abs=1e-6)
    assert choice == auto.ask()
    if goal == "earn":
        assert choice.note["gain"] >= -1e-6


@pytest.mark.parametrize("domain", [kb.Arms(TABLE[:, :2]), BOX], ids=["arms", "box"])
def test_failures_are_learnt_from_the_columns_of_the_domain_alone(domain):
    """What an earlier study predicts is a column of the rewards, and says nothing of success."""
    earlier = kb.calibration.EarlierResults(TABLE[:12, :2], TABLE[:12, 0])
    auto, alone = kb.Auto(domain, earlier=[earlier], seed=1), kb.Auto(domain, seed=1)
    play(auto, 7, lambda x, t: x[0] > 0.4)
    assert auto.failed
    for result in auto.learner.results:
        choice = alone.choice(result.place)
        alone.fail(choice) if result.value is None else alone.tell(choice, result.value)
    choice = auto.ask()
    assert auto.success_chance(choice) == alone.success_chance(choice)


@pytest.mark.parametrize("domain", [kb.Arms(TABLE[:, :2]), BOX], ids=["arms", "box"])
def test_where_all_that_an_earlier_study_calls_good_fails_the_search_goes_elsewhere(domain):
    earlier = kb.calibration.EarlierResults(TABLE[:12, :2], TABLE[:12, 0])
    auto = kb.Auto(domain, goal="find", earlier=[earlier], seed=1)
    failed = play(auto, 12, lambda x, t: x[0] > 0.6)
    assert all(failed[:3])
    assert sum(failed) < 8


def test_failures_told_at_once_and_one_by_one_give_the_same_model():
    one, other = kb.Auto(kb.Arms(TABLE), seed=3), kb.Auto(kb.Arms(TABLE), seed=3)
    pairs = [
        (one.choice(arm), None if TABLE[arm, 0] > 0.6 else reward(TABLE[arm])) for arm in range(25)
    ]
    for number, (choice, value) in enumerate(pairs):
        one.fail(choice) if value is None else one.tell(choice, value)
        if number % 3 == 0:
            one.ask()  # models between the results leave no trace
    other.tell_all(pairs)
    np.testing.assert_array_equal(one.success.left_out, other.success.left_out)
    assert one.ask() == other.ask()
    again = kb.Auto.from_dict(other.to_dict())
    assert again.ask() == other.ask()


def test_an_interrupted_model_is_made_again(monkeypatch):
    auto = tell_rows(kb.Arms(TABLE), range(12), lambda x: x[0] > 0.6, seed=1)
    expected = tell_rows(kb.Arms(TABLE), range(12), lambda x: x[0] > 0.6, seed=1).ask()

    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelbandits.policies.learner.learn_success", broken)
    with pytest.raises(KeyboardInterrupt):
        auto.ask()
    monkeypatch.undo()
    assert auto.ask() == expected


def test_a_recommended_point_of_a_box_is_where_measurements_succeed():
    auto = tell_rows(BOX, np.random.default_rng(1).random((25, 2)), lambda x: x[0] > 0.35)
    assert auto.recommend()[0] < 0.5
    unaware = tell_rows(
        BOX, [x for x in np.random.default_rng(1).random((25, 2)) if x[0] <= 0.35], lambda x: False
    )
    assert unaware.recommend()[0] > auto.recommend()[0]


def test_arms_known_by_their_similarity_have_a_model_too():
    groups = np.repeat(np.eye(2), 6, axis=0)
    auto = kb.Auto(kb.Arms.from_gram(0.8 * groups @ groups.T + 0.2 * np.eye(12)))
    for arm in (0, 1, 2, 6, 7, 8):
        auto.fail(auto.choice(arm)) if arm > 5 else auto.tell(auto.choice(arm), float(arm))
    assert auto.success_chance(auto.choice(4)) > auto.success_chance(auto.choice(10)) + 0.2
