"""kb.optimize: the whole loop, failures that are no observations, batches, mappers, and runs that go on."""

from __future__ import annotations

import json
import math
import multiprocessing
import pickle
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from multiprocessing import connection
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from conftest import with_long
from kernelbandits import processes
from kernelbandits.formatting import HALF_INTERVAL, format_share
from kernelbandits.insight.tolerance import is_within
from kernelbandits.measuring import Attempt, SerialMeasurer
from kernelbandits.policies.optimization import OptimizationTrial, Plan, Run
from kernelbandits.widths import Width
from measured_functions import (
    deadly,
    decimal_response,
    dose_response,
    endless,
    fragile,
    training,
    worded_response,
)

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
ARMS = kb.Arms(np.random.default_rng(4).random((40, 2)))
MIXED = kb.MixedBox({"heat": kb.Real(0.0, 1.0), "acid": kb.Category(("a", "b", "c"))})


def hill(x):
    """Its top is 1 at (0.3, 0.7)."""
    return 1.0 - (x[0] - 0.3) ** 2 - (x[1] - 0.7) ** 2


def recipe(x):
    return {"a": 0.0, "b": 1.0, "c": 0.4}[x["acid"]] - (x["heat"] - 0.5) ** 2


# ---------------------------------------------------------------- what it finds


@pytest.mark.thorough
@pytest.mark.parametrize("seed", with_long(range(3), (1, 2)))
def test_the_top_of_a_hill_is_found_under_noise(seed):
    noise = np.random.default_rng(seed)
    found = kb.optimize(lambda x: hill(x) + 0.03 * noise.normal(), BOX, 40, seed=seed)
    assert hill(found.x) > 0.97
    assert abs(found.mean - hill(found.x)) < 5 * found.sd + 0.01
    assert (found.arm, found.failures, len(found.trials)) == (None, 0, 40)


@pytest.mark.thorough
def test_a_good_arm_is_found():
    values = np.array([hill(x) for x in ARMS.points])
    found = kb.optimize(hill, ARMS, 30)
    assert values[found.arm] >= np.sort(values)[-3]
    np.testing.assert_array_equal(found.x, ARMS.points[found.arm])


@pytest.mark.thorough
def test_points_may_be_given_as_an_array():
    assert kb.optimize(hill, ARMS.points, 12).arm == kb.optimize(hill, ARMS, 12).arm


@pytest.mark.thorough
def test_the_good_category_is_found():
    found = kb.optimize(recipe, MIXED, 25)
    assert found.x["acid"] == "b"
    assert found.x["heat"] == pytest.approx(0.5, abs=0.25)


@pytest.mark.thorough
def test_the_outcome_is_the_measured_point_with_the_best_estimate():
    found = kb.optimize(hill, BOX, 15)
    points = np.array([trial.x for trial in found.trials])
    mean, _ = found.policy.posterior.at(points)
    np.testing.assert_array_equal(found.x, points[mean.argmax()])
    why = kb.insight.explain(found.policy, found.policy.choice(found.x))
    assert (found.mean, found.sd, found.chance) == (why.mean, why.sd, why.chance)
    assert found.mean - 1e-9 <= why.highest_mean <= found.mean + found.sd


@pytest.mark.thorough
def test_without_noise_the_outcome_is_the_best_point_measured_within_the_fitted_noise():
    for seed in range(3):
        found = kb.optimize(hill, BOX, 20, seed=seed)
        best = max(trial.reward for trial in found.trials)
        fitted = found.policy.calibration.noise_scale
        assert fitted < 1e-3
        assert hill(found.x) >= best - fitted


@pytest.mark.thorough
def test_a_recipe_that_is_recommended_was_measured():
    found = kb.optimize(recipe, MIXED, 12)
    assert found.x in [trial.x for trial in found.trials]


def test_the_default_policy_finds_and_knows_the_budget():
    found = kb.optimize(hill, BOX, 5)
    assert (found.policy.goal, found.policy.rounds) == ("find", 5)
    assert found.policy.settings["claim"].startswith("none")


def test_a_policy_that_is_given_keeps_its_own_goal_and_recommendation():
    policy = kb.SimpleUCB(BOX, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    found = kb.optimize(hill, BOX, 6, policy=policy)
    np.testing.assert_array_equal(found.x, policy.recommend_choice().x)
    assert kb.optimize(hill, BOX, 3, policy=kb.Auto(BOX, goal="earn")).policy.goal == "earn"


@pytest.mark.thorough
@pytest.mark.parametrize("word", ["minimize", "MIN"])
def test_minimising_is_maximising_the_negative_with_an_outcome_in_the_units_of_the_function(word):
    def valley(x):
        return 5 - hill(x)

    found = kb.optimize(valley, BOX, 12, seed=2, direction=word)
    mirrored = kb.optimize(lambda x: -valley(x), BOX, 12, seed=2)
    assert points_of(found) == points_of(mirrored)
    np.testing.assert_array_equal(found.x, mirrored.x)
    assert (found.mean, found.sd, found.chance) == (-mirrored.mean, mirrored.sd, mirrored.chance)
    assert [trial.reward for trial in found.trials] == [valley(trial.x) for trial in found.trials]
    assert found.records()[0]["reward"] == found.trials[0].reward
    assert (found.direction, mirrored.direction) == ("minimize", "maximize")
    assert found.mean == pytest.approx(4, abs=0.2)


@pytest.mark.thorough
def test_a_run_that_minimises_goes_on_with_its_policy():
    whole = kb.optimize(hill, BOX, 9, seed=7, direction="min")
    policy = kb.Auto(BOX, goal="find", rounds=9, seed=7)
    parts = [kb.optimize(hill, BOX, n, policy=policy, direction="min") for n in (5, 4)]
    assert [*points_of(parts[0]), *points_of(parts[1])] == points_of(whole)


@pytest.mark.thorough
def test_it_is_ask_and_tell_in_a_loop():
    found = kb.optimize(hill, BOX, 12, seed=5)
    policy = kb.Auto(BOX, goal="find", rounds=12, seed=5)
    for trial in found.trials:
        choice = policy.ask()
        assert choice == trial.choice
        policy.tell(choice, hill(choice.x))


# ---------------------------------------------------------------- failures


def broken(kind, x):
    if kind == "raises":
        raise RuntimeError("the pump stopped")
    return {
        "nan": math.nan,
        "inf": math.inf,
        "minus-inf": -math.inf,
        "too-large": 1e200,
        "masked": np.ma.masked,
        "array": np.array([math.nan]),
        "decimal": Decimal("nan"),
    }[kind]


KINDS = ("nan", "inf", "minus-inf", "too-large", "masked", "array", "decimal", "raises")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("domain", "kind"),
    [((BOX, ARMS)[number % 2], kind) for number, kind in enumerate(KINDS)],
    ids=KINDS,
)
def test_what_is_no_finite_number_is_a_failure_and_the_run_goes_on(domain, kind):
    calls = []

    def objective(x):
        calls.append(x)
        return broken(kind, x) if len(calls) % 3 == 0 else hill(x)

    found = kb.optimize(objective, domain, 15, catch=RuntimeError)
    assert (len(calls), len(found.trials), found.failures, found.policy.rewards.events) == (
        15,
        15,
        5,
        10,
    )
    assert [trial.t for trial in found.trials if trial.reward is None] == [3, 6, 9, 12, 15]
    assert all(trial.failure for trial in found.trials if trial.reward is None)
    assert all(not trial.failure for trial in found.trials if trial.reward is not None)
    assert found.policy.rewards.counts.sum() == 10


class Tensor:
    """A number as torch has it: it is no `numbers.Real`, and several refuse to be one."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def item(self):
        if len(self.numbers) != 1:
            raise RuntimeError(f"a Tensor with {len(self.numbers)} elements cannot be a scalar")
        return self.numbers[0]

    def __float__(self):
        return float(self.item())


NUMBERS = {
    "tensor": Tensor,
    "0-d array": np.array,
    "array of one": lambda y: np.array([[y]], dtype=np.float32),
    "series of one": lambda y: pd.Series([y]),
    "decimal": Decimal,
    "fraction": Fraction,
}
TRUTHS = {
    "numpy truth value": lambda y: np.bool_(y > 0.9),
    "truth value": lambda y: bool(y > 0.9),
}


@pytest.mark.parametrize("kind", NUMBERS | TRUTHS)
def test_an_objective_may_return_a_number_of_any_type(kind):
    given = (NUMBERS | TRUTHS)[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        found = kb.optimize(lambda x: given(hill(x)), BOX, 4)
    expected = [
        float(np.asarray(given(hill(trial.x)), dtype=object).item()) for trial in found.trials
    ]
    assert [trial.reward for trial in found.trials] == expected
    assert {type(trial.reward) for trial in found.trials} == {float}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_number_of_any_type_is_a_reward_wherever_rewards_are_told(kind, tmp_path):
    given = NUMBERS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        for policy in (
            kb.Auto(ARMS),
            kb.SimpleUCB(ARMS, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0),
        ):
            policy.tell(policy.choice(3), given(0.95))
            policy.tell_all([(policy.choice(4), given(0.95))])
            assert policy.n_rewards == 2
        with kb.Study.create(tmp_path / "a.db", [[0.0], [1.0]], target="y") as study:
            told = study.tell(row=0, value=given(0.95))
            assert told.value == float(np.asarray(given(0.95), dtype=object).item())


NO_NUMBERS = {
    "None (NoneType)": None,
    "'0.7' (str)": "0.7",
    "[1.0] (list)": [1.0],
    "array([1., 2.]) (ndarray)": np.array([1.0, 2.0]),
    "(Tensor)": Tensor(1.0, 2.0),
    "1j (complex)": 1j,
    "np.complex128(1j) (complex128)": np.complex128(1j),
    "array(None, dtype=object) (ndarray)": np.array(None),
    "(timedelta64)": np.timedelta64(3, "s"),
    "{'y': 1.0} (dict); values by name need study= with a study of several targets": {"y": 1.0},
}


@pytest.mark.parametrize("given", NO_NUMBERS)
def test_what_is_no_number_is_a_type_error_at_the_first_call(given):
    calls = []

    def objective(x):
        calls.append(x)
        return NO_NUMBERS[given]

    policy = kb.Auto(BOX)
    with pytest.raises(TypeError) as refusal:
        kb.optimize(objective, BOX, 5, policy=policy, catch=Exception)
    needed = "optimize needs an objective that returns a number, or float('nan') for a measurement that failed"
    assert str(refusal.value).startswith(f"{needed}, got ")
    assert str(refusal.value).endswith(given)
    assert (len(calls), policy.n_rewards, len(policy.failed)) == (1, 0, 0)


@pytest.mark.thorough
def test_worker_processes_read_numbers_of_any_type_and_refuse_what_is_none():
    space = {"dose": kb.Real(0, 1), "salt": kb.Category((True, False))}
    found = kb.optimize(decimal_response, space, 4, workers=2)
    assert [trial.reward for trial in found.trials] == [
        dose_response(trial.x) for trial in found.trials
    ]
    with pytest.raises(TypeError, match=r"returns a number, .* got '-0\.\d+' \(str\)$"):
        kb.optimize(worded_response, space, 4, workers=2)


@pytest.mark.parametrize("batch", [1, 4])
def test_three_failures_without_any_result_are_said_at_once(batch, monkeypatch):
    calls, heard = [], []

    def objective(x):
        calls.append(x)
        return math.nan

    def listen(message, *rest, **more):
        heard.append((len(calls), str(message)))

    monkeypatch.setattr(warnings, "showwarning", listen)
    warnings.simplefilter("always")
    with pytest.raises(ValueError, match="8 failures"):
        kb.optimize(objective, BOX, 8, batch=batch)
    [(number, sentence)] = heard
    assert number == 3
    assert sentence == (
        "optimize: the first 3 measurements of this call have failed, "
        "the last of them: no finite number: nan"
    )


def test_failures_after_a_result_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = iter([math.nan, math.nan, 1.0, *[math.nan] * 5])
        found = kb.optimize(lambda x: next(results), BOX, 8)
    assert found.failures == 7


def test_the_reason_of_a_failure_is_kept():
    def objective(x):
        return hill(x) if x[0] < 0.6 else broken("raises", x)

    found = kb.optimize(objective, BOX, 12, catch=(OSError, RuntimeError))
    assert {trial.failure for trial in found.trials} == {"", "RuntimeError: the pump stopped"}


@pytest.mark.thorough
@pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "arms"])
def test_places_that_fail_are_not_asked_for_ever(domain):
    """The top of the hill cannot be measured."""

    def objective(x):
        return hill(x) if math.hypot(x[0] - 0.3, x[1] - 0.7) > 0.2 else math.nan

    found = kb.optimize(objective, domain, 40)
    rows = [tuple(trial.x) for trial in found.trials if trial.reward is None]
    assert len(rows) < 25
    # A failure at the border may have been bad luck: such an arm has a second try.
    assert max(map(rows.count, rows)) <= (2 if domain is ARMS else 3)
    assert found.policy.rewards.events >= 15


def test_failures_only_are_said_in_one_sentence():
    with pytest.raises(ValueError, match=r"^optimize needs one reward at least, got 6 failures, the last of them "
                                         r"RuntimeError: the pump stopped$"):  # fmt: skip
        kb.optimize(lambda x: broken("raises", x), BOX, 6, catch=Exception)


@pytest.mark.parametrize("error", [KeyError, TypeError, NameError, AttributeError, RuntimeError])
@pytest.mark.parametrize("catch", [(), ZeroDivisionError, (OSError, ZeroDivisionError)])
def test_an_error_that_catch_does_not_name_is_raised_and_leaves_what_was_told(error, catch):
    policy = kb.Auto(BOX)

    def objective(x):
        if policy.n_rewards == 3:
            raise error("a mistake in the program")
        return hill(x)

    with pytest.raises(error, match="a mistake in the program"):
        kb.optimize(objective, BOX, 9, policy=policy, catch=catch)
    assert (policy.n_rewards, policy.failed) == (3, [])


def test_a_subclass_of_what_catch_names_is_a_failure():
    calls = []

    def objective(x):
        calls.append(x)
        return {}["missing"] if len(calls) == 2 else hill(x)

    found = kb.optimize(objective, BOX, 4, catch=LookupError)
    assert [trial.failure for trial in found.trials] == ["", "KeyError: 'missing'", "", ""]


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_what_is_no_error_passes_through(error):
    def objective(x):
        raise error

    with pytest.raises(error):
        kb.optimize(objective, BOX, 3)


@pytest.mark.thorough
def test_an_objective_may_do_with_its_point_what_it_likes():
    def careless(x):
        acid = x.pop("acid")
        return {"a": 0.0, "b": 1.0, "c": 0.4}[acid] - (x.pop("heat") - 0.5) ** 2

    careful = kb.optimize(recipe, MIXED, 10)
    assert kb.optimize(careless, MIXED, 10).x == careful.x

    def scaling(x):
        x *= 2
        return hill(x / 2)

    np.testing.assert_array_equal(kb.optimize(scaling, BOX, 6).x, kb.optimize(hill, BOX, 6).x)


@pytest.mark.thorough
def test_numbers_of_any_kind_are_rewards():
    found = kb.optimize(lambda x: np.float32(hill(x)), BOX, 5)
    assert found.failures == 0
    assert kb.optimize(lambda x: round(10 * hill(x)), BOX, 5).failures == 0


# ---------------------------------------------------------------- seeds, batches, mappers


def points_of(found):
    return [tuple(trial.x) for trial in found.trials]


def test_equal_seeds_give_equal_runs_and_others_do_not():
    one, same, other = (kb.optimize(hill, BOX, 8, seed=seed) for seed in (1, 1, 2))
    assert points_of(one) == points_of(same) != points_of(other)


@pytest.mark.thorough
def test_a_run_that_goes_on_is_the_run_that_was_not_interrupted():
    whole = kb.optimize(hill, BOX, 12, seed=7)
    policy = kb.Auto(BOX, goal="find", rounds=12, seed=7)
    first, second = (
        kb.optimize(hill, BOX, 5, policy=policy),
        kb.optimize(hill, BOX, 7, policy=policy),
    )
    assert [*points_of(first), *points_of(second)] == points_of(whole)
    assert [trial.t for trial in second.trials] == list(range(6, 13))


@pytest.mark.parametrize(("rounds", "batch"), [(7, 3), (4, 4), (3, 10), (5, 1)])
def test_a_batch_is_measured_at_once(rounds, batch):
    sizes = []

    def mapper(function, points):
        sizes.append(len(points))
        return [function(x) for x in points]

    found = kb.optimize(hill, BOX, rounds, batch=batch, mapper=mapper)
    assert len(found.trials) == sum(sizes) == rounds
    assert max(sizes) == min(rounds, batch)
    assert [trial.t for trial in found.trials] == list(range(1, rounds + 1))
    assert len(set(points_of(found))) == rounds


@pytest.mark.thorough
def test_a_pool_s_map_gives_what_the_plain_one_does():
    with ThreadPoolExecutor(2) as pool:
        parallel = kb.optimize(hill, BOX, 8, batch=4, mapper=pool.map)
    assert points_of(parallel) == points_of(kb.optimize(hill, BOX, 8, batch=4))


def test_each_trial_is_shown_as_it_happens():
    seen = []
    found = kb.optimize(hill, BOX, 5, each=seen.append)
    assert tuple(seen) == found.trials
    assert [trial.t for trial in seen] == [1, 2, 3, 4, 5]


def test_a_policy_of_one_s_own_is_played():
    policy = kb.Auto(BOX, width="theory", exploration=kb.Bernoulli(0.5), seed=3)
    found = kb.optimize(hill, BOX, 6, policy=policy)
    assert found.policy is policy
    assert policy.rewards.events == 6


@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_any_policy_of_the_domain_is_played(domain):
    def build():
        return kb.SimpleUCB(domain, kb.RBF(0.3), noise_scale=0.05, norm_bound=2.0)

    policy, twin = build(), build()
    found = kb.optimize(hill, domain, 9, policy=policy, seed=4)
    for trial in found.trials:
        choice = twin.ask(trial.t, kb.Streams(4))
        assert choice == trial.choice
        twin.tell(choice, trial.reward)
    assert found.policy is policy
    assert (policy.turn, policy.n_rewards) == (10, 9)
    best = policy.recommend_choice()
    np.testing.assert_array_equal(found.x, best.x)
    assert (best.note["mean"], best.note["sd"]) == pytest.approx((found.mean, found.sd))


def test_a_failure_is_a_round_of_any_policy():
    policy = kb.SimpleUCB(ARMS, kb.RBF(0.3), noise_scale=0.05, norm_bound=2.0)
    found = kb.optimize(
        lambda x: hill(x) if x[0] < 0.5 else math.nan, ARMS, 8, policy=policy, batch=3
    )
    assert [trial.t for trial in found.trials] == list(range(1, 9))
    assert policy.turn == 9
    assert policy.n_rewards + len(policy.failed) == 8


def test_the_rounds_go_on_after_a_rule_has_forgotten_its_rewards():
    policy = kb.policies.RGPUCB(ARMS, kb.RBF(0.3), noise_scale=0.1, horizon=20, period=4)
    found = kb.optimize(hill, ARMS, 10, policy=policy)
    assert [trial.t for trial in found.trials] == list(range(1, 11))


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_a_rule_on_the_cover_of_a_box_is_one_of_the_box():
    policy = kb.policies.PiGPUCB(BOX, kb.RBF(0.3), noise_scale=0.1, norm_bound=2.0, horizon=5)
    assert kb.optimize(hill, BOX, 5, policy=policy).policy.turn == 6


@pytest.mark.parametrize(
    ("own", "domain"),
    [
        (BOX, kb.Box((0.0, 0.0), (1.0, 2.0))),
        (BOX, ARMS),
        (ARMS, BOX),
        (MIXED, BOX),
        (ARMS, kb.Arms(ARMS.points[:-1])),
    ],
    ids=["box", "arms", "box-for-arms", "mixed", "fewer-arms"],
)
def test_a_policy_of_another_domain_is_refused(own, domain):
    policy = kb.Auto(own)
    with pytest.raises(ValueError, match=r"^optimize needs a policy of the same domain, got "):
        kb.optimize(hill, domain, 3, policy=policy)
    assert policy.turn == 1


@pytest.mark.parametrize(
    ("own", "domain"),
    [(BOX, kb.Box((0, 0), (1, 1))), (ARMS, ARMS.points.tolist()), (ARMS, kb.Arms(ARMS.points))],
    ids=["box", "list", "arms"],
)
def test_a_policy_of_an_equal_domain_is_played(own, domain):
    assert kb.optimize(hill, domain, 2, policy=kb.Auto(own)).policy.turn == 3


def test_an_error_that_cannot_say_what_it_is_is_a_failure_as_well():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    calls = []

    def objective(x):
        calls.append(x)
        if len(calls) == 2:
            raise Mute
        return hill(x)

    found = kb.optimize(objective, BOX, 4, catch=Mute)
    assert [trial.failure for trial in found.trials] == ["", "Mute", "", ""]


MAPPERS = {
    "none": lambda function, points: None,
    "too-few": lambda function, points: [function(x) for x in points[:-1]],
    "too-many": lambda function, points: [function(x) for x in [*points, points[0]]],
    "numbers": lambda function, points: [1.0 for _ in points],
    "nothing": lambda function, points: [],
}


@pytest.mark.parametrize("mapper", MAPPERS.values(), ids=MAPPERS)
def test_a_mapper_that_loses_results_is_refused_in_one_sentence(mapper):
    needed = "a mapper that gives one result for each of 2 points, in their order"
    with pytest.raises(ValueError, match=rf"^optimize needs {needed}, got "):
        kb.optimize(hill, BOX, 4, batch=2, mapper=mapper)


def near_the_top(seed, share):
    """What is recommended after 40 rounds of which a share fails by chance."""
    rng = np.random.default_rng(seed)

    def objective(x):
        noise, luck = rng.normal(), rng.random()
        return math.nan if luck < share else hill(x) + 0.03 * noise

    return hill(kb.optimize(objective, BOX, 40, seed=seed).x)


@pytest.mark.thorough
def test_failures_by_chance_leave_the_recommendation_near_the_top():
    """Thirty in a hundred: on average over eight games no farther below than one standard deviation of the noise."""
    heights = [near_the_top(seed, 0.3) for seed in range(100, 108)]
    assert 1 - np.mean(heights) < 0.03
    assert 1 - min(heights) < 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("seed", with_long(range(3), (1, 2)))
def test_a_half_of_a_box_that_always_fails_is_left_alone_after_a_few_failures(seed):
    found = kb.optimize(lambda x: hill(x) if x[0] < 0.5 else math.nan, BOX, 40, seed=seed)
    rounds = [trial.t for trial in found.trials if trial.reward is None]
    assert 1 <= len(rounds) <= 15
    assert sum(t > 25 for t in rounds) <= 5
    assert hill(found.x) > 0.96


# ---------------------------------------------------------------- what is shown


def test_the_rounds_are_rows_of_a_table():
    found = kb.optimize(lambda x: recipe(x) if x["heat"] < 0.9 else math.nan, MIXED, 6)
    records = found.records()
    assert [record["t"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert set(records[0]) == {"t", "arm", "heat", "acid", "reward", "failure"}
    on_arms = kb.optimize(hill, ARMS, 3).records()[0]
    assert set(on_arms) == {"t", "arm", "x1", "x2", "reward", "failure"}
    assert on_arms["reward"] == hill((on_arms["x1"], on_arms["x2"]))


@pytest.mark.thorough
def test_the_outcome_reads_well():
    found = kb.optimize(recipe, MIXED, 10)
    text = str(found)
    assert text.startswith(
        f"heat = {found.x['heat']:.4g}, acid = {found.x['acid']}: estimate {found.mean:.4g} with sd "
    )
    assert f"best with probability {format_share(found.chance)}" in text
    assert text.endswith("; 10 rounds, 0 failed")
    assert repr(found) == f"<Outcome: {text}>"


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "bad",
    [
        *({"rounds": bad} for bad in (0, -1, 2.5, "9", None)),
        *({"batch": bad} for bad in (0, -1, 2.5, "9")),
        *({"seed": bad} for bad in (-1, 1.5, "0")),
        *({"objective": bad} for bad in (None, 3, "hill")),
        *({"policy": bad} for bad in (3, "auto", kb.Auto)),
        *({"mapper": bad} for bad in ("map", 3)),
        *({"workers": bad} for bad in (0, -1, 1.5, "2", None, 10**6)),
        *({"timeout": bad} for bad in (0, -1, "2", math.nan)),
        *({"tolerance": bad} for bad in (0, -1, "2", math.nan)),
        *({"progress": bad} for bad in (1, "yes")),
        *({"patience": bad} for bad in (0, -1, 2.5, "2")),
        *({"each": bad} for bad in (3, [3], [print, None])),
        {"workers": 2, "mapper": map},
        *({"asynchronous": bad} for bad in (0, "yes", None)),
        {"asynchronous": True, "mapper": map},
        {"asynchronous": True, "workers": 2, "batch": 3},
        *({"direction": bad} for bad in (0, 1, "down")),
        *({"catch": bad} for bad in (None, "RuntimeError", int, (RuntimeError, 3))),
    ],
    ids=lambda bad: f"{next(iter(bad))}-{str(next(iter(bad.values())))[:12]}",
)
def test_bad_arguments_are_refused_in_one_sentence(bad):
    with pytest.raises(ValueError, match=r"^\w+ needs .*, got "):
        kb.optimize(**({"objective": hill, "domain": BOX, "rounds": 3} | bad))


@pytest.mark.parametrize("domain", [None, "box", 3, [], [[math.nan]]], ids=repr)
def test_bad_domains_are_refused(domain):
    with pytest.raises(ValueError, match="No such file: box" if domain == "box" else "needs"):
        kb.optimize(hill, domain, 3)


def test_a_domain_beside_a_context_needs_ask_and_tell():
    with pytest.raises(ValueError, match="Contextual needs a context of size 1"):
        kb.optimize(hill, kb.Contextual(BOX, 1), 3)


# ---------------------------------------------------------------- workers, time, ends


SPACE = {"dose": kb.Real(0, 1), "salt": kb.Category((True, False))}


@pytest.mark.thorough
def test_the_result_does_not_depend_on_the_number_of_workers():
    one, three = (kb.optimize(dose_response, SPACE, 6, batch=3, workers=n, seed=2) for n in (1, 3))
    assert one.records() == three.records()
    assert one.x == three.x
    assert (one.mean, one.sd) == (three.mean, three.sd)


@pytest.mark.thorough
def test_an_exception_in_a_worker_is_raised_unless_it_is_caught():
    with pytest.raises(KeyError, match="no such dose"):
        kb.optimize(fragile, SPACE, 12, batch=2, workers=2)
    found = kb.optimize(fragile, SPACE, 6, batch=2, workers=2, catch=KeyError)
    assert found.records() == kb.optimize(fragile, SPACE, 6, batch=2, catch=KeyError).records()
    assert found.failures > 0


@pytest.mark.thorough
def test_a_worker_that_dies_has_failed_to_measure_its_point():
    found = kb.optimize(deadly, SPACE, 4, batch=2, workers=2, seed=1)
    failures = [trial for trial in found.trials if trial.reward is None]
    assert failures
    assert all(trial.x["dose"] > 0.6 for trial in failures)
    assert failures[0].failure == "the worker process ended with exit code 3"
    assert len(found.trials) == 4


def test_an_objective_that_cannot_be_sent_is_refused_in_one_sentence():
    with pytest.raises(
        ValueError, match=r"^optimize with workers needs an objective that can be sent"
    ):
        kb.optimize(lambda x: 1.0, SPACE, 4, workers=2)


@pytest.mark.thorough
def test_a_batch_is_as_large_as_the_number_of_workers_by_default(monkeypatch):
    sizes = []
    batch = kb.Auto.batch
    monkeypatch.setattr(
        kb.Auto,
        "batch",
        lambda self, n, *rest, **more: sizes.append(n) or batch(self, n, *rest, **more),
    )
    kb.optimize(dose_response, SPACE, 5, workers=2)
    assert sizes == [2, 2, 1]


def test_a_timeout_ends_the_run_and_says_so(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    found = kb.optimize(hill, BOX, 50, timeout=16)
    assert found.ended == "timeout"
    assert 5 <= len(found.trials) <= 9
    assert str(found).endswith("0 failed; ended by the timeout")


@pytest.mark.thorough
def test_a_timeout_ends_a_run_with_a_mapper_after_the_batch_that_was_begun(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    found = kb.optimize(hill, BOX, 50, batch=2, mapper=map, timeout=5)
    assert found.ended == "timeout"
    assert len(found.trials) % 2 == 0
    assert 2 <= len(found.trials) <= 10


@pytest.mark.thorough
def test_a_timeout_ends_workers_in_the_middle_of_a_measurement():
    with pytest.raises(
        ValueError, match="optimize needs one reward at least, got 0 failures; ended by the timeout"
    ):
        kb.optimize(endless, SPACE, 4, workers=2, timeout=1.0)


def test_a_callback_ends_the_run():
    found = kb.optimize(hill, BOX, 50, each=lambda trial: trial.t == 4)
    assert (found.ended, len(found.trials)) == ("callback", 4)
    assert kb.optimize(hill, BOX, 3, each=lambda trial: 1).ended == "rounds"


def test_several_callbacks_all_see_every_trial_and_one_ends_the_run():
    first, last = [], []
    each = [first.append, lambda trial: trial.t == 4, last.append]
    found = kb.optimize(hill, BOX, 50, each=each)
    assert found.ended == "callback"
    assert first == last == list(found.trials)
    assert len(first) == 4
    assert kb.optimize(hill, BOX, 3, each=[]).ended == "rounds"


SERIES = (2.0, 5.0, 5.0, 1.0, math.nan, 4.0, 6.0, 3.0, 3.0, 3.0)
"""Results that improve in the trials 1, 2 and 7; the fifth trial fails."""


@pytest.mark.parametrize("sign", [1, -1], ids=["max", "min"])
@pytest.mark.parametrize(
    ("patience", "batch", "measured"), [(3, 1, 5), (4, 1, 6), (5, 1, 10), (5, 4, 10), (2, 4, 4)]
)
def test_patience_ends_the_run_after_so_many_results_without_a_better_one(
    sign, patience, batch, measured
):
    series = iter(SERIES)
    found = kb.optimize(
        lambda x: sign * next(series),
        ARMS,
        10,
        batch=batch,
        patience=patience,
        direction="max" if sign > 0 else "min",
    )
    assert len(found.trials) == measured
    assert found.ended == ("rounds" if measured == 10 else "patience")
    if found.ended == "patience":
        assert str(found).endswith("; ended without improvement")


def test_patience_ends_a_run_in_which_nothing_is_measured():
    with pytest.raises(ValueError, match=r"got 3 failures, .*; ended without improvement"):
        kb.optimize(lambda x: math.nan, ARMS.points, 9, patience=3)


def test_an_interrupt_returns_what_was_done():
    calls = []

    def objective(x):
        calls.append(x)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return hill(x)

    found = kb.optimize(objective, BOX, 50)
    assert (found.ended, len(found.trials)) == ("interrupted", 5)
    assert found.policy.turn == 6
    calls[:] = [0] * 5
    with pytest.raises(KeyboardInterrupt):
        kb.optimize(objective, BOX, 50)


@pytest.mark.thorough
def test_an_interrupt_while_workers_measure_returns_what_was_done(monkeypatch):
    wait, calls = connection.wait, []

    def interrupted(*arguments, **more):
        calls.append(1)
        # Two processes tell that they have started before they tell of results.
        if len(calls) == 10:
            raise KeyboardInterrupt
        return wait(*arguments, **more)

    monkeypatch.setattr(processes, "connection", SimpleNamespace(wait=interrupted))
    found = kb.optimize(dose_response, SPACE, 50, workers=2)
    assert found.ended == "interrupted"
    assert 7 <= len(found.trials) <= 14


@pytest.mark.thorough
def test_a_tolerance_ends_the_run_when_the_answer_is_good_enough():
    found = kb.optimize(hill, BOX, 60, tolerance=0.1, seed=1)
    assert found.ended == "tolerance"
    assert len(found.trials) < 40
    assert 1 - hill(found.x) < 0.1
    assert str(found).endswith("; ended within the tolerance")
    with pytest.raises(ValueError, match=r"optimize needs kb\.Auto for a tolerance"):
        kb.optimize(
            hill,
            ARMS,
            5,
            tolerance=0.1,
            policy=kb.SimpleUCB(ARMS, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0),
        )


@pytest.mark.thorough
def test_an_exhausted_space_says_so():
    space = kb.MixedBox(
        {"n": kb.Integer(1, 3), "s": kb.Category(("a", "b"))},
        constraints=["not (s == 'a' and n > 1)"],
    )
    with pytest.warns(
        kb.DataNotice,
        match="optimize: all 4 points of the space are measured; further rounds repeat them",
    ):
        found = kb.optimize(lambda x: x["n"] + (x["s"] == "b"), space, 12)
    assert found.exhausted
    assert found.x == {"n": 3, "s": "b"}
    assert not kb.optimize(hill, BOX, 3).exhausted


def test_arms_with_values_are_measured_and_returned_in_their_values():
    table = kb.MixedBox({"x": kb.Real(0, 1), "s": kb.Category(("a", "b"))}).grid(5)
    found = kb.optimize(lambda x: x["x"] - (x["s"] == "a"), table, 10)
    assert found.x in table.values
    assert found.x["s"] == "b"
    assert set(found.records()[0]) == {"t", "arm", "x", "s", "reward", "failure"}


# ---------------------------------------------------------------- asynchronous


@dataclass(frozen=True)
class LastFirst(SerialMeasurer):
    """Begins all points that there are, and measures the last one first, as fast workers may."""

    def measure(self, supply, deadline):
        begun = []
        while begun := [*begun, *iter(supply, None)]:
            number, x = begun.pop()
            yield number, self.attempt(x)


def play_asynchronously(objective, plan, policy):
    measurer = LastFirst(Attempt(objective))
    return Run(policy, policy.streams, 1.0, measurer, math.inf, lambda *_: False), plan


def test_a_free_worker_gets_its_next_point_at_once_with_the_others_pending(monkeypatch):
    asked, batch = [], kb.Auto.batch

    def watched(self, n, t, *rest, pending, **more):
        asked.append((n, t, len(pending), self.n_rewards))
        return batch(self, n, t, *rest, pending=pending, **more)

    monkeypatch.setattr(kb.Auto, "batch", watched)
    policy = kb.Auto(BOX, goal="find", rounds=8)
    run, plan = play_asynchronously(hill, Plan(8, 3, asynchronous=True), policy)
    trials = list(run.play(plan))
    # Three at once; then one for each result, while two are measured.
    assert asked == [(3, 1, 0, 0), *((1, t, 2, t - 3) for t in range(4, 9))]
    assert [trial.t for trial in trials] == [3, 4, 5, 6, 7, 8, 2, 1]
    found = run.summarise()
    assert [trial.t for trial in found.trials] == list(range(1, 9))
    assert [trial.reward for trial in found.trials] == [hill(trial.x) for trial in found.trials]
    assert policy.turn == 9
    assert found.asynchronous
    assert str(found).endswith("8 rounds, 0 failed, asynchronous")


def test_an_asynchronous_run_is_ask_and_tell_in_the_order_of_the_results():
    policy, twin = (kb.Auto(BOX, goal="find", rounds=8, seed=3) for _ in range(2))
    run, plan = play_asynchronously(hill, Plan(8, 2, asynchronous=True), policy)
    trials = list(run.play(plan))
    waiting = [*twin.batch(2, 1, twin.streams)]
    for number in range(3, 9):
        choice = waiting.pop()
        twin.tell(choice, hill(choice.x))
        waiting.append(twin.ask(number, twin.streams, pending=waiting))
    for choice in reversed(waiting):
        twin.tell(choice, hill(choice.x))
    assert [trial.choice.x.tolist() for trial in trials] == twin.rewards.points.tolist()


def test_one_worker_alone_is_the_same_in_both_forms():
    found = kb.optimize(hill, BOX, 7, asynchronous=True, seed=2)
    assert found.records() == kb.optimize(hill, BOX, 7, seed=2).records()


@pytest.mark.parametrize("patience", [3, 5])
def test_what_is_being_measured_when_patience_ends_the_run_is_finished(patience):
    series = iter([3.0] + 20 * [1.0])
    policy = kb.Auto(ARMS, goal="find", rounds=20)
    plan = Plan(20, 3, patience=patience, asynchronous=True)
    run, plan = play_asynchronously(lambda x: next(series), plan, policy)
    trials = list(run.play(plan))
    assert run.ended == "patience"
    assert len(trials) == 1 + patience + 2
    assert not run.waiting


@pytest.mark.thorough
def test_workers_that_need_not_wait_survive_deaths_and_end_with_the_run():
    before = set(multiprocessing.active_children())
    given = {"workers": 2, "asynchronous": True}
    found = kb.optimize(deadly, SPACE, 10, **given)
    assert sorted(trial.t for trial in found.trials) == list(range(1, 11))
    died = [trial for trial in found.trials if trial.x["dose"] > 0.6]
    assert found.failures == len(died) > 0
    assert {trial.failure for trial in died} == {"the worker process ended with exit code 3"}
    with pytest.raises(KeyError, match="no such dose") as raised:
        kb.optimize(fragile, SPACE, 50, **given)
    assert "In a worker process" in raised.value.__notes__[0]
    ended = kb.optimize(dose_response, SPACE, 50, each=lambda trial: True, **given)
    assert (ended.ended, len(ended.trials)) == ("callback", 1)
    with pytest.raises(ValueError, match="got 0 failures; ended by the timeout"):
        kb.optimize(endless, SPACE, 4, timeout=1.0, **given)
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.thorough
def test_an_interrupt_of_an_asynchronous_run_returns_what_was_done(monkeypatch):
    wait, calls = connection.wait, []

    def interrupted(*arguments, **more):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return wait(*arguments, **more)

    monkeypatch.setattr(processes, "connection", SimpleNamespace(wait=interrupted))
    found = kb.optimize(dose_response, SPACE, 50, workers=2, asynchronous=True)
    assert found.ended == "interrupted"
    assert 5 <= len(found.trials) <= 22
    assert found.policy.turn == len(found.trials) + 1


# ---------------------------------------------------------------- measurements that stop early


class InTurn(kb.Policy):
    """Plays the arms one after the other; it estimates as Auto does."""

    def __init__(self, domain):
        super().__init__(domain, kb.RBF(0.1), ridge=1e-4)

    def choose(self, now):
        return self.choice((now.t - 1) % len(self.domain))


def test_a_measurement_that_is_worse_than_the_median_is_stopped_and_learnt_by_its_predicted_end():
    found = kb.optimize(training, ARMS, 40, direction="minimize", policy=InTurn(ARMS))
    stopped = [trial for trial in found.trials if trial.stopped is not None]
    assert found.stopped == len(stopped) >= 2
    assert f"{found.stopped} stopped early" in str(found)
    for trial in stopped:
        earlier = [one for one in found.trials if one.t < trial.t]
        at = [one.reports[trial.stopped] for one in earlier if trial.stopped in one.reports]
        assert len(at) >= 5
        assert min(trial.reports.values()) > np.median(at)
        assert max(trial.reports) == trial.stopped
        # All curves are parallel, so the prediction is exact.
        assert trial.reward == pytest.approx(1 - hill(trial.x) + 1 / 9)
        assert trial.reward.sem > 0
        assert trial.counts is None
    finished = [trial for trial in found.trials if trial.stopped is None]
    for trial in finished:
        assert list(trial.reports) == list(range(1, 10))
    assert any((trial.x == found.x).all() for trial in finished)
    assert found.policy.posterior.events == 40
    assert {record["stopped"] for record in found.records()} == {
        trial.stopped for trial in found.trials
    }
    _, lines = drawn(found)
    shown = lines["stopped, end predicted"].get_xdata().tolist()
    assert shown == [trial.t for trial in stopped]


def test_others_of_the_same_batch_do_not_stop_a_measurement():
    given = {"direction": "minimize", "batch": 4}
    found = kb.optimize(training, ARMS, 24, policy=InTurn(ARMS), **given)
    first = min(trial.t for trial in found.trials if trial.stopped is not None)
    assert first > 8  # the first four say nothing, the second four do not know each other
    with ThreadPoolExecutor(2) as threads:
        pooled = kb.optimize(training, ARMS, 24, policy=InTurn(ARMS), mapper=threads.map, **given)
    assert pooled.records() == found.records()
    assert [one.reports for one in pooled.trials] == [one.reports for one in found.trials]


@pytest.mark.thorough
def test_stops_do_not_depend_on_the_number_of_workers():
    given = {"direction": "minimize", "batch": 4}
    found = kb.optimize(training, ARMS, 20, policy=InTurn(ARMS), **given)
    assert found.stopped
    for workers in (2, 3):
        again = kb.optimize(training, ARMS, 20, policy=InTurn(ARMS), workers=workers, **given)
        assert again.records() == found.records()


def test_a_place_whose_measurement_was_stopped_is_not_recommended():
    values = dict(zip(range(6), (0.1, 0.2, 0.3, 0.4, 0.5, 0.9), strict=True))
    arms = kb.Arms([[arm / 5] for arm in range(6)])

    def curve(x, trial):
        value = values[round(5 * x[0])]
        for step in range(1, 4):
            trial.report(-step if value > 0.8 else value, step)
            if trial.should_stop():
                break
        return value

    found = kb.optimize(curve, arms, 6, policy=InTurn(arms))
    assert [trial.choice.arm for trial in found.trials if trial.stopped] == [5]
    # Predicted from its last report it is the worst; told as 9 it would be the best.
    assert found.arm == 4
    run = Run(InTurn(arms), kb.Streams(0), 1.0, SerialMeasurer(Attempt(hill)), 9.0, is_within)
    for trial in found.trials:
        reward = 9.0 if trial.stopped else trial.reward
        run.policy.tell(trial.choice, reward)
        run.trials.append(replace(trial, reward=reward))
    assert run.summarise().arm == 4


@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_a_place_that_was_measured_to_the_end_too_may_be_recommended(domain):
    measurer = SerialMeasurer(Attempt(hill))
    run = Run(kb.Auto(domain), kb.Streams(0), 1.0, measurer, math.inf, is_within)
    once, twice = (
        kb.Choice(ARMS.points[arm], arm if domain is ARMS else None, {}) for arm in (0, 1)
    )
    run.trials = [
        OptimizationTrial(1, twice, 1.0),
        OptimizationTrial(2, twice, 0.9, reports={1: 0.8}, stopped=1),
        OptimizationTrial(3, once, 0.7, reports={1: 0.6}, stopped=1),
    ]
    assert run.unfinished == [once]


def test_a_stop_is_no_improvement():
    run = Run(kb.Auto(ARMS), kb.Streams(0), 1.0, SerialMeasurer(Attempt(hill)), math.inf, is_within)
    choice = kb.Choice(ARMS.points[0], 0, {})
    run.trials = [
        OptimizationTrial(1, choice, 1.0),
        OptimizationTrial(2, choice, 5.0, reports={1: 2.0}, stopped=1),
    ]
    assert run.rewards == [1.0, None]


def test_an_objective_with_an_argument_that_has_a_default_gets_its_point_alone():
    assert kb.optimize(lambda x, power=2: -((x[0] - 0.3) ** power), [(0, 1)], 3).failures == 0


def test_progress_is_shown_on_standard_error_when_it_is_wanted(capsys, caplog):
    with caplog.at_level("INFO", logger="kernelbandits.optimize"):
        kb.optimize(hill, BOX, 3, progress=True)
    shown = capsys.readouterr()
    assert "3/3" in shown.err
    assert "best" in shown.err
    assert shown.out == ""
    assert [record.message[:8] for record in caplog.records[:2]] == ["trial 1:", "trial 2:"]
    kb.optimize(hill, BOX, 3)
    assert capsys.readouterr().err == ""


def test_progress_shows_the_best_result_of_either_direction_and_of_earlier_calls(capsys, tmp_path):
    series = iter((4.0, 2.5, 3.25))
    given = {"direction": "min", "study": tmp_path / "a.db", "progress": True}
    kb.optimize(lambda x: next(series), BOX, 2, **given)
    assert "best 2.5" in capsys.readouterr().err
    kb.optimize(lambda x: next(series), BOX, 3, **given)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "best 2.5" in shown


# ---------------------------------------------------------------- the figure


def drawn(outcome):
    """Return the axis of the figure of an outcome, and its lines by their labels."""
    axis = outcome.plot().axes[0]
    handles, labels = axis.get_legend_handles_labels()
    return axis, dict(zip(labels, handles, strict=True))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_figure_has_results_the_best_so_far_failures_and_the_estimate(direction):
    series = iter((2.0, 5.0, math.nan, 1.0, 6.0))
    found = kb.optimize(lambda x: next(series), ARMS, 5, direction=direction)
    axis, lines = drawn(found)
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "linear")
    name, best = {
        "maximize": ("highest so far", [2, 5, 5, 6, 6]),
        "minimize": ("lowest so far", [2, 2, 1, 1, 1]),
    }[direction]
    assert set(lines) == {"result", name, "failed", "recommended point, 95 % interval"}
    np.testing.assert_array_equal(lines["result"].get_xdata(), [1, 2, 4, 5])
    np.testing.assert_array_equal(lines["result"].get_ydata(), [2, 5, 1, 6])
    np.testing.assert_array_equal(lines[name].get_ydata(), best)
    np.testing.assert_array_equal(lines["failed"].get_xdata(), [3])
    [[[low, high]]] = [
        [bar[:, 1] for bar in bars.get_segments()]
        for bars in lines["recommended point, 95 % interval"].lines[2]
    ]
    reach = HALF_INTERVAL * found.sd
    assert (low, high) == pytest.approx((found.mean - reach, found.mean + reach))


def test_positive_results_over_decades_are_drawn_on_a_logarithmic_axis():
    series = iter((1000.0, 1.0, 20.0, 2.0))
    axis, lines = drawn(kb.optimize(lambda x: next(series), ARMS, 4, direction="min"))
    assert axis.get_yscale() == "log"
    [bars] = lines["recommended point, 95 % interval"].lines[2]
    assert bars.get_segments()[0][:, 1].min() > 0
    series = iter((1000.0, -1.0, 20.0, 2.0))
    assert drawn(kb.optimize(lambda x: next(series), ARMS, 4))[0].get_yscale() == "linear"


def test_the_legend_of_the_figure_stays_within_it():
    series = iter((2.0, math.nan, 1.0))
    figure = kb.optimize(lambda x: next(series), ARMS, 3).plot()
    figure.canvas.draw()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1
    assert legend.y1 <= figure.bbox.y1


# ---------------------------------------------------------------- Auto as data


def played_auto(domain, make, context=lambda t: None):
    auto = make(domain)
    rng = np.random.default_rng(0)
    for t in range(14):
        choice = auto.ask(context=context(t))
        row = auto._place_of(choice)
        point = auto.domain.points[row] if auto.finite else row
        if t % 5 == 3:
            auto.fail(choice)
        else:
            auto.tell(choice, float(-np.abs(point).sum() + 0.1 * rng.normal()))
    return auto


AUTOS = {
    "space": (
        kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"]),
        lambda d: kb.Auto(d, goal="find", seed=3, rounds=20),
    ),
    "logs": (
        {"rate": kb.Real(1e-5, 0.1, log=True), "s": ["a", "b"]},
        lambda d: kb.Auto(d, goal="find", noise=0.1),
    ),
    "arms": (ARMS, lambda d: kb.Auto(d, exploration=kb.Bernoulli(0.5), width=2)),
    "box": (
        BOX,
        lambda d: kb.Auto(
            d, width="theory", nu=math.inf, prior=kb.calibration.Prior(additive=None, nugget=None)
        ),
    ),
    "laws": (
        BOX,
        lambda d: kb.Auto(
            d,
            exploration=kb.Mixture((0.5, 0.5), (kb.PointMass(1.0), kb.Gaussian(1.0))),
            refits=kb.calibration.Refits(1.5, 3),
        ),
    ),
    "context": (kb.Contextual(kb.Box((0.0,), (1.0,)), 1), lambda d: kb.Auto(d, goal="find")),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", AUTOS)
def test_auto_read_back_from_json_or_a_pickle_asks_exactly_the_same(name):
    contexts = (lambda t: [(t % 3) / 3]) if name == "context" else (lambda t: None)
    auto = played_auto(*AUTOS[name], contexts)
    text = json.dumps(auto.to_dict(), allow_nan=False)
    for again in (kb.Auto.from_dict(json.loads(text)), pickle.loads(pickle.dumps(auto))):
        assert again.domain == auto.domain or name == "arms"
        context = contexts(1)
        for t in (15, 16):
            assert again.ask(t, context=context) == auto.ask(t, context=context)
        assert again.to_dict() == auto.to_dict()
        assert again.calibration == auto.calibration


def test_an_auto_that_is_no_data_is_refused():
    with pytest.raises(ValueError, match=r"Auto\.to_dict needs width of numbers, text"):
        kb.Auto(ARMS, width=Width("1", lambda t: (1.0, 0.0, 0.0))).to_dict()
    good = kb.Auto(BOX).to_dict()
    for bad in (
        None,
        {},
        good | {"policy": "gp-ts"},
        good | {"domain": 3},
        good | {"domain": {"box": {"low": 1}}},
        good | {"settings": {"colour": 1}},
        good | {"settings": {"prior": {"type": "os"}}},
        good | {"events": 3},
        good | {"events": [[[0.5], 1.0]]},
        good | {"events": [[[0.5, 0.5], "x"]]},
    ):
        with pytest.raises(ValueError, match="needs"):
            kb.Auto.from_dict(bad)
    with pytest.warns(kb.DataNotice, match="revision"):
        kb.Auto.from_dict(good | {"revision": 0})


def film(x):
    return {"gloss": float(x[0]), "haze": float(x[0]) ** 2}


LIMITED = {"gloss": "maximize", "haze": "<=0.25"}


def test_the_best_point_within_limits_on_another_outcome():
    outcome = kb.optimize(film, [(0, 1)], 12, targets=LIMITED, patience=12)
    assert 0.45 < outcome.x[0] <= 0.5
    assert outcome.limits == "haze at most 0.25"
    assert outcome.feasibility is not None
    assert outcome.feasibility >= 0.9
    share = format_share(outcome.feasibility)
    assert f"meets haze at most 0.25 with probability {share}" in str(outcome)
    for trial in outcome.trials:
        assert trial.values == film(trial.x)
        assert trial.feasible is (trial.values["haze"] <= 0.25)
        assert trial.counts == (trial.reward if trial.feasible else None)
    assert {"gloss", "haze", "feasible"} <= outcome.records()[0].keys()
    again = kb.optimize(film, [(0, 1)], 2, targets=LIMITED, policy=outcome.policy)
    assert again.policy.n_rewards == outcome.policy.outcomes[0].policy.n_rewards == 14


def test_less_is_better_within_limits():
    wanted = {"gloss": "minimize", "haze": ">=0.25"}
    outcome = kb.optimize(film, kb.Box((0.0,), (1.0,)), 10, targets=wanted)
    assert 0.5 <= outcome.x[0] < 0.6
    assert outcome.mean == pytest.approx(outcome.x[0], abs=0.02)


def test_a_run_with_limits_that_is_stored_goes_on_where_it_ended(tmp_path):
    begun = {"targets": LIMITED, "study": tmp_path / "a.db"}
    whole = kb.optimize(film, [(0, 1)], 9, targets=LIMITED, study=tmp_path / "b.db")
    kb.optimize(film, [(0, 1)], 9, each=lambda trial: trial.t == 5, **begun)
    ended = kb.optimize(film, [(0, 1)], 9, **begun)
    assert [trial.values for trial in ended.trials] == [trial.values for trial in whole.trials]
    assert ended.feasibility == whole.feasibility
    assert [trial.feasible for trial in ended.trials] == [
        trial.values["haze"] <= 0.25 for trial in ended.trials
    ]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"targets": {"haze": "<=0.25"}}, "a target with a direction"),
        ({"targets": {"a": "maximize", "b": "minimize"}}, "study= for a desirability"),
        ({"targets": {"a": "maximize", "haze": "<=1"}}, "a number for each of the targets"),
        ({"target": "haze:<=1"}, "for more give targets="),
        ({"targets": LIMITED, "direction": "max"}, "the direction of several targets"),
    ],
)
def test_wrong_targets_are_refused(given, wanted):
    with pytest.raises((ValueError, TypeError), match=wanted):
        kb.optimize(film, kb.Arms([[0.0], [1.0]]), 3, **given)


def test_a_named_policy_heeds_no_limits():
    arms = kb.Arms([[0.0], [1.0]])
    policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    with pytest.raises(ValueError, match=r"needs kb\.Auto for limits"):
        kb.optimize(film, arms, 3, targets=LIMITED, policy=policy)
