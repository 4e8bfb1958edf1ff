"""kb.optimize: the whole loop, failures that are no observations, batches, mappers, and runs that go on."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kernelbandits as kb

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
ARMS = kb.Arms(np.random.default_rng(4).random((40, 2)))
MIXED = kb.MixedBox({"heat": kb.Real(0.0, 1.0), "acid": kb.Category(("a", "b", "c"))})


def hill(x):
    """Its top is 1 at (0.3, 0.7)."""
    return 1.0 - (x[0] - 0.3) ** 2 - (x[1] - 0.7) ** 2


def recipe(x):
    return {"a": 0.0, "b": 1.0, "c": 0.4}[x["acid"]] - (x["heat"] - 0.5) ** 2


# ---------------------------------------------------------------- what it finds


@pytest.mark.parametrize("seed", range(3))
def test_the_top_of_a_hill_is_found_under_noise(seed):
    noise = np.random.default_rng(seed)
    found = kb.optimize(lambda x: hill(x) + 0.03 * noise.normal(), BOX, 40, seed=seed)
    assert hill(found.x) > 0.97
    assert abs(found.mean - hill(found.x)) < 5 * found.sd + 0.01
    assert (found.arm, found.failures, len(found.trials)) == (None, 0, 40)


def test_a_good_arm_is_found():
    values = np.array([hill(x) for x in ARMS.points])
    found = kb.optimize(hill, ARMS, 30)
    assert values[found.arm] >= np.sort(values)[-3]
    np.testing.assert_array_equal(found.x, ARMS.points[found.arm])


def test_points_may_be_given_as_an_array():
    assert kb.optimize(hill, ARMS.points, 12).arm == kb.optimize(hill, ARMS, 12).arm


def test_the_good_category_is_found():
    found = kb.optimize(recipe, MIXED, 25)
    assert found.x["acid"] == "b"
    assert found.x["heat"] == pytest.approx(0.5, abs=0.25)


def test_the_outcome_is_the_measured_point_with_the_best_estimate():
    found = kb.optimize(hill, BOX, 15)
    points = np.array([trial.x for trial in found.trials])
    mean, _ = found.policy.posterior.at(points)
    np.testing.assert_array_equal(found.x, points[mean.argmax()])
    why = found.policy.explain(found.policy.choice(found.x))
    assert (found.mean, found.sd, found.chance) == (why.mean, why.sd, why.chance)
    assert found.mean - 1e-9 <= why.highest_mean <= found.mean + found.sd


def test_without_noise_the_outcome_is_the_best_point_measured_within_the_fitted_noise():
    for seed in range(3):
        found = kb.optimize(hill, BOX, 20, seed=seed)
        best = max(trial.reward for trial in found.trials)
        fitted = found.policy.calibration.noise_scale
        assert fitted < 1e-3
        assert hill(found.x) >= best - fitted


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
    np.testing.assert_array_equal(found.x, policy.recommended().x)
    assert kb.optimize(hill, BOX, 3, policy=kb.Auto(BOX)).policy.goal == "earn"


@pytest.mark.parametrize("word", ["minimize", "min", "minimise", "MIN"])
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


def test_a_run_that_minimises_goes_on_with_its_policy():
    whole = kb.optimize(hill, BOX, 9, seed=7, direction="min")
    policy = kb.Auto(BOX, goal="find", rounds=9, seed=7)
    parts = [kb.optimize(hill, BOX, n, policy=policy, direction="min") for n in (5, 4)]
    assert [*points_of(parts[0]), *points_of(parts[1])] == points_of(whole)


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
    return {"nan": math.nan, "inf": math.inf, "minus-inf": -math.inf, "none": None, "text": "0.7", "list": [1.0],
            "true": True, "too-large": 1e200, "complex": 1j}[kind]  # fmt: skip


KINDS = (
    "nan",
    "inf",
    "minus-inf",
    "none",
    "text",
    "list",
    "true",
    "too-large",
    "complex",
    "raises",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "arms"])
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


def test_the_reason_of_a_failure_is_kept():
    def objective(x):
        return hill(x) if x[0] < 0.6 else broken("raises", x)

    found = kb.optimize(objective, BOX, 12, catch=(OSError, RuntimeError))
    assert {trial.failure for trial in found.trials} == {"", "RuntimeError: the pump stopped"}


@pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "arms"])
def test_places_that_fail_are_not_asked_for_ever(domain):
    """The top of the hill cannot be measured."""

    def objective(x):
        return hill(x) if math.hypot(x[0] - 0.3, x[1] - 0.7) > 0.2 else None

    found = kb.optimize(objective, domain, 40)
    rows = [tuple(trial.x) for trial in found.trials if trial.reward is None]
    assert len(rows) < 25
    assert max(map(rows.count, rows)) <= (1 if domain is ARMS else 3)
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


def test_a_keyboard_interrupt_passes_through_and_leaves_what_was_told():
    policy = kb.Auto(BOX)

    def objective(x):
        if policy.rewards.events == 4:
            raise KeyboardInterrupt
        return hill(x)

    with pytest.raises(KeyboardInterrupt):
        kb.optimize(objective, BOX, 9, policy=policy)
    assert (policy.rewards.events, policy.failed) == (4, [])


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_what_is_no_error_passes_through(error):
    def objective(x):
        raise error

    with pytest.raises(error):
        kb.optimize(objective, BOX, 3)


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
    best = policy.recommended()
    np.testing.assert_array_equal(found.x, best.x)
    assert (best.note["mean"], best.note["sd"]) == pytest.approx((found.mean, found.sd))


def test_a_failure_is_a_round_of_any_policy():
    policy = kb.SimpleUCB(ARMS, kb.RBF(0.3), noise_scale=0.05, norm_bound=2.0)
    found = kb.optimize(lambda x: hill(x) if x[0] < 0.5 else None, ARMS, 8, policy=policy, batch=3)
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
        return None if luck < share else hill(x) + 0.03 * noise

    return hill(kb.optimize(objective, BOX, 40, seed=seed).x)


def test_failures_by_chance_leave_the_recommendation_near_the_top():
    """Thirty in a hundred: on average over eight games no farther below than one standard deviation of the noise."""
    heights = [near_the_top(seed, 0.3) for seed in range(100, 108)]
    assert 1 - np.mean(heights) < 0.03
    assert 1 - min(heights) < 0.06


@pytest.mark.parametrize("seed", range(3))
def test_a_half_of_a_box_that_always_fails_is_left_alone_after_a_few_failures(seed):
    found = kb.optimize(lambda x: hill(x) if x[0] < 0.5 else None, BOX, 40, seed=seed)
    rounds = [trial.t for trial in found.trials if trial.reward is None]
    assert 1 <= len(rounds) <= 15
    assert sum(t > 25 for t in rounds) <= 5
    assert hill(found.x) > 0.96


# ---------------------------------------------------------------- what is shown


def test_the_rounds_are_rows_of_a_table():
    found = kb.optimize(lambda x: recipe(x) if x["heat"] < 0.9 else None, MIXED, 6)
    records = found.records()
    assert [record["t"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert set(records[0]) == {"t", "arm", "heat", "acid", "reward", "failure"}
    on_arms = kb.optimize(hill, ARMS, 3).records()[0]
    assert set(on_arms) == {"t", "arm", "x1", "x2", "reward", "failure"}
    assert on_arms["reward"] == hill((on_arms["x1"], on_arms["x2"]))


def test_the_outcome_reads_well():
    found = kb.optimize(recipe, MIXED, 10)
    text = str(found)
    assert text.startswith(
        f"heat = {found.x['heat']:.4g}, acid = {found.x['acid']}: estimate {found.mean:.4g} with sd "
    )
    assert f"best with probability {found.chance:.2g}" in text
    assert text.endswith("; 10 rounds, 0 failed")
    assert repr(found) == f"<Outcome: {text}>"


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "bad",
    [
        *({"rounds": bad} for bad in (0, -1, 2.5, "9", None)),
        *({"batch": bad} for bad in (0, -1, 2.5, "9", None)),
        *({"seed": bad} for bad in (-1, 1.5, "0", None)),
        *({"objective": bad} for bad in (None, 3, "hill")),
        *({"policy": bad} for bad in (3, "auto", kb.Auto)),
        *({"mapper": bad} for bad in (None, 3)),
        *({"direction": bad} for bad in (None, 1, "down")),
        *({"catch": bad} for bad in (None, "RuntimeError", int, (RuntimeError, 3))),
    ],
    ids=lambda bad: f"{next(iter(bad))}-{str(next(iter(bad.values())))[:12]}",
)
def test_bad_arguments_are_refused_in_one_sentence(bad):
    with pytest.raises(ValueError, match=r"^\w+ needs .*, got "):
        kb.optimize(**({"objective": hill, "domain": BOX, "rounds": 3} | bad))


@pytest.mark.parametrize("domain", [None, "box", 3, [], [[math.nan]]], ids=repr)
def test_bad_domains_are_refused(domain):
    with pytest.raises(ValueError, match="needs"):
        kb.optimize(hill, domain, 3)


def test_a_domain_beside_a_context_needs_ask_and_tell():
    with pytest.raises(ValueError, match="Contextual needs a context of size 1"):
        kb.optimize(hill, kb.Contextual(BOX, 1), 3)
