"""Rounds among some of the arms only, and arms that cost: the same index, over what the round offers."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from conftest import pairwise
from kernelbandits.catalogue import POLICIES, policy_entry
from kernelbandits.policies.acquisition import per_cost
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.initial_design import design_location
from kernelbandits.policies.place import ArmList

POINTS = np.random.default_rng(5).random((20, 2))
TRUTH = np.sin(5 * POINTS[:, 0]) + POINTS[:, 1]
COSTS = np.exp(np.random.default_rng(6).normal(size=20))
NAMES = sorted(
    name for name in POLICIES if policy_entry(name).constructor.restricts_arms and name != "auto"
)
INDEXED = sorted(name for name in NAMES if issubclass(policy_entry(name).constructor, IndexPolicy))
every_name = pytest.mark.parametrize("name", [*NAMES, "auto"])
every_index = pytest.mark.parametrize("name", [*INDEXED, "auto"])


@pytest.fixture
def policy(build):
    def policy(name, rewards=30, points=POINTS, seed=1, **settings):
        made = kb.Auto(points, **settings) if name == "auto" else build(name, points, **settings)
        rng = np.random.default_rng(seed)
        for arm in rng.integers(len(points), size=rewards).tolist():
            made.tell(made.choice(arm), float(TRUTH[arm] + 0.3 * rng.standard_normal()))
        return made

    return policy


def pendings(made):
    return [made.choice(arm) for arm in (3, 3, 8)] if made.imagines_pending else []


@pairwise(name=[*NAMES, "auto"], rewards=[0, 2, 30], waiting=[False, True])
def test_all_arms_allowed_is_the_answer_without_a_word(policy, name, rewards, waiting):
    made = policy(name, rewards)
    pending = pendings(made) if waiting else []
    for t in range(1, 9):
        for arms in (
            range(20),
            list(range(20)),
            np.arange(20)[::-1],
            tuple(np.arange(20, dtype=np.uint8)),
        ):
            assert made.ask(t, kb.Streams(t), pending=pending, arms=arms) == made.ask(
                t, kb.Streams(t), pending=pending
            )


@pairwise(name=[*NAMES, "auto"], rewards=[0, 2, 30])
def test_only_arms_that_are_allowed_are_played_and_they_keep_their_number(policy, name, rewards):
    made, rng = policy(name, rewards), np.random.default_rng(2)
    for t in range(1, 15):
        arms = rng.choice(20, size=int(rng.integers(1, 6)), replace=False)
        choice = made.ask(t, kb.Streams(0), arms=arms)
        assert choice.arm in arms.tolist()
        assert type(choice.arm) is int
        np.testing.assert_array_equal(choice.x, POINTS[choice.arm])
        made.tell(choice, 0.1)


@every_name
def test_one_arm_allowed_is_the_one_played(policy, name):
    made = policy(name)
    assert [made.ask(t, kb.Streams(0), arms=[t]).arm for t in range(1, 20)] == [*range(1, 20)]


@every_index
@pytest.mark.parametrize("ties", ["random", "lowest"])
def test_the_choice_maximises_the_same_index_over_the_arms_allowed(policy, name, ties):
    made = policy(name, ties=ties, **({"width": "practical"} if name == "auto" else {}))
    for t in (1, 3, 5):
        arms = np.random.default_rng(t).choice(20, size=7, replace=False).tolist()
        choice = made.ask(t, kb.Streams(t), arms=arms)
        index = made.index(t, choice.note["weight"])
        assert index[choice.arm] == pytest.approx(index[arms].max(), abs=1e-9)
        assert choice.note["weight"] == made.ask(t, kb.Streams(t)).note["weight"]


def test_thompson_plays_the_maximiser_of_its_one_draw(policy):
    made = policy("gp-ts")
    for t in range(1, 10):
        normals = kb.Streams(t).normal("sample", t, 40)
        sample = made.sample(t, normals[:20], normals[20:])
        arms = np.random.default_rng(t).choice(20, size=6, replace=False)
        assert made.ask(t, kb.Streams(t), arms=arms).arm == arms[sample[arms].argmax()]


def test_the_greatest_sd_of_those_allowed(policy):
    made = policy("mvr")
    arms = made.posterior.sd.argsort()[:5]
    assert made.ask(1, kb.Streams(1), arms=arms).arm == arms[made.posterior.sd[arms].argmax()]


@given(
    arms=st.permutations(range(12)).map(lambda order: order[:5]),
    u=st.floats(0, 1, exclude_max=True),
)
def test_ties_are_settled_among_the_arms_allowed_in_the_order_of_their_numbers(arms, u):
    """Before any reward all arms tie, so the uniform alone decides; the order in which arms are named does not."""

    lowest, drawn = (
        kb.policies.Greedy(POINTS[:12], kb.RBF(0.3), ties=ties) for ties in ("lowest", "random")
    )
    fixed = type("Fixed", (np.random.Generator,), {"random": lambda self: u})(np.random.PCG64(1))
    assert lowest.ask(1, fixed, arms=arms).arm == min(arms)
    assert drawn.ask(1, fixed, arms=arms).arm == sorted(arms)[int(5 * u)]


@pytest.mark.thorough
def test_a_uniform_draw_is_even_among_the_arms_allowed():
    made, arms, rounds = kb.policies.UniformRandom(POINTS, kb.RBF(0.3)), [2, 11, 17], 6000
    counts = np.bincount(
        [made.ask(t, kb.Streams(4), arms=arms).arm for t in range(1, rounds + 1)], minlength=20
    )
    assert counts.sum() == counts[arms].sum() == rounds
    assert np.abs(counts[arms] / rounds - 1 / 3).max() < 4 * math.sqrt(2 / 9 / rounds)


@every_name
def test_a_batch_stays_among_the_arms_allowed(policy, name):
    made = policy(name)
    if made.imagines_pending:
        batch = made.batch(4, 40, kb.Streams(1), arms=[1, 4, 9])
        assert {choice.arm for choice in batch} <= {1, 4, 9}
        assert batch[1] == made.ask(41, kb.Streams(1), arms=[1, 4, 9], pending=list(batch[:1]))
    else:
        assert made.ask(40, kb.Streams(1), arms=[1, 4, 9]).arm in (1, 4, 9)


def test_a_schedule_that_looks_at_the_history_sees_all_arms():
    seen = []

    def schedule(t, posterior):
        seen.append(len(posterior.mean))
        return kb.PointMass(1.0)

    kb.GenericGP(POINTS, kb.RBF(0.3), schedule, noise_scale=0.1, norm_bound=1.0).ask(
        1, kb.Streams(1), arms=[4, 5]
    )
    assert seen == [20]


@pytest.mark.parametrize("first", ["middle", "random"])
def test_the_opening_is_that_among_these_arms_alone(first):
    arms, spans, tried = [0, 3, 7, 8, 12, 19], np.ptp(POINTS, axis=0), []
    for t in range(1, 5):
        made = kb.Auto(POINTS, goal="earn", opening=first)
        choice = made.ask(t, kb.Streams(3), arms=arms, pending=[made.choice(arm) for arm in tried])
        alone = ArmList(POINTS[arms], None)
        place = design_location(alone, POINTS[tried], spans, t, kb.Streams(3), first).arm
        assert choice.arm == arms[place]
        assert choice.note["first"] == 1.0
        tried.append(choice.arm)


WHOLE = "ask needs a list of arms by their whole numbers, at least one, got "
SENSELESS = {
    "none": ([], WHOLE + "[]"),
    "an empty array": (np.array([], dtype=int), WHOLE + "array"),
    "floats": (np.array([0.0, 1.0]), WHOLE + "array"),
    "a part": ([0, 1.5], WHOLE + "[0, 1.5]"),
    "a truth value": ([0, True], WHOLE + "[0, True]"),
    "a mask": (np.ones(20, dtype=bool), WHOLE + "array"),
    "a numpy truth value": ([np.True_], WHOLE + "["),
    "text": ("12", WHOLE + "'12'"),
    "bytes": (b"\x01", WHOLE + "b'"),
    "a set": ({1, 2}, WHOLE + "{1, 2}"),
    "a number": (3, WHOLE + "3"),
    "rows": ([[0, 1]], WHOLE + "[[0, 1]]"),
    "an array of rows": (np.array([[0, 1]]), WHOLE + "array"),
    "nothing": ([0, None], WHOLE + "[0, None]"),
    "negative": ([3, -1], "ask needs arms in 0..19, got -1"),
    "beyond": ([3, 20], "ask needs arms in 0..19, got 20"),
    "far beyond": ([3, 2**70], f"ask needs arms in 0..19, got {2**70}"),
    "unsigned": (
        np.array([2**64 - 1], dtype=np.uint64),
        f"ask needs arms in 0..19, got {2**64 - 1}",
    ),
    "repeated": ([4, 7, 4], "ask needs arms that differ, got '4 twice'"),
}


@pairwise(
    case=SENSELESS,
    name=["whitehouse-ucb", "gp-ts", "mvr", "random", "exploit-plus", "r-gp-ucb", "auto"],
)
def test_arms_that_make_no_sense_are_refused_in_one_sentence(policy, name, case):
    (arms, sentence), generator = SENSELESS[case], np.random.default_rng(1)
    for made in (policy(name, 0), policy(name, 6)):
        for answer in (
            made.recommend,
            partial(made.ask, 7, generator),
            partial(made.ask, 8, generator),
        ):
            with pytest.raises(ValueError) as refusal:
                answer(arms=arms)
            assert str(refusal.value).startswith(sentence)
    assert generator.random() == np.random.default_rng(1).random()


def test_on_a_box_and_beside_a_context_nothing_is_new():
    shared = {"noise_scale": 0.1, "norm_bound": 1.0}
    box = kb.WhitehouseUCB(kb.Box((0.0,), (1.0,)), kb.RBF(0.3), **shared)
    with pytest.raises(ValueError, match="ask needs no arms on"):
        box.ask(1, kb.Streams(1), arms=[0])
    beside = kb.WhitehouseUCB(kb.Contextual(kb.Arms(POINTS), 1), kb.RBF(0.3), **shared)
    with pytest.raises(ValueError, match="ask needs no arms on"):
        beside.ask(1, kb.Streams(1), arms=[0], context=[0.5])


@every_name
def test_the_recommendation_is_the_greatest_estimate_of_those_allowed(policy, name):
    made = policy(name)
    mean = getattr(made, "latest", made.posterior).mean.copy()
    if name == "auto":  # it recommends what was measured
        mean[made.posterior.counts == 0] = -np.inf
    assert made.recommend(arms=[6, 2, 13]) == (2, 6, 13)[int(mean[[2, 6, 13]].argmax())]
    assert made.recommend(arms=range(20)) == made.recommend() == int(mean.argmax())


def test_auto_recommends_and_explains_among_the_arms_allowed(policy):
    made, arms = policy("auto"), [2, 5, 11]
    best = made.recommend_choice(arms=arms)
    assert best.arm == made.recommend(arms=arms)
    assert best.note["mean"] == pytest.approx(made.estimates()[0][arms].max())
    assert sum(
        kb.insight.explain(made, made.choice(arm), arms=arms).chance for arm in arms
    ) == pytest.approx(1.0)


@every_index
def test_costs_that_are_all_equal_change_nothing_but_the_note(policy, name):
    made = policy(name)
    for t in range(1, 12):
        plain, priced = made.ask(t, kb.Streams(t)), made.ask(t, kb.Streams(t), costs=[7] * 20)
        assert priced.arm == plain.arm
        assert priced.note == {**plain.note, "cost": 7.0}


@pytest.mark.parametrize(
    "name", [name for name in INDEXED if name not in ("gp-ucb-plus", "exploit-plus")]
)
def test_the_choice_has_the_greatest_value_for_its_cost(policy, name):
    made = policy(name)
    for t in range(1, 12):
        arms = np.sort(np.random.default_rng(t).choice(20, size=9, replace=False))
        choice = made.ask(t, kb.Streams(t), arms=arms, costs=COSTS)
        index, mean = made.index(t, choice.note["weight"])[arms], made.posterior.mean[arms]
        worth = (index - mean.max()) / COSTS[arms]
        best = worth if worth.max() > 0 else index
        assert best[arms.tolist().index(choice.arm)] == pytest.approx(best.max(), rel=1e-9)
        assert choice.note["cost"] == COSTS[choice.arm]


def test_auto_takes_the_greatest_value_for_its_cost(policy):
    made = policy("auto", goal="earn", transform=False)
    for t in range(1, 12):
        choice = made.ask(t, kb.Streams(t), costs=COSTS)
        worth = (made.index(t, choice.note["weight"]) - made.estimates()[0].max()) / COSTS
        assert choice.arm == int(worth.argmax())
        assert choice.note["cost"] == COSTS[choice.arm]


def test_a_draw_counts_for_its_cost_too(policy):
    made = policy("gp-ts")
    for t in range(1, 10):
        normals = kb.Streams(t).normal("sample", t, 40)
        sample = made.sample(t, normals[:20], normals[20:])
        choice = made.ask(t, kb.Streams(t), costs=COSTS)
        assert choice.arm == int(((sample - made.posterior.mean.max()) / COSTS).argmax())
        assert choice.note["cost"] == COSTS[choice.arm]


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_where_nothing_can_be_gained_the_index_alone_decides(weight):
    made = kb.GenericGP(POINTS, kb.RBF(0.3), kb.PointMass(weight), noise_scale=0.5, norm_bound=2.0)
    for arm in range(20):
        made.tell(made.choice(arm), float(TRUTH[arm]))
    best = int(made.index(1, weight).argmax())
    for cost in (1e6, 1e-15):
        costs = np.where(np.arange(20) == best, cost, 1.0)
        assert {made.ask(1, kb.Streams(seed), costs=costs).arm for seed in range(8)} == {best}


@given(
    index=st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    mean=st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    power=st.integers(-900, 900),
)
def test_the_unit_of_the_costs_does_not_matter(index, mean, power):
    costs, here = np.array([1.0, 2.0, 3.5, 9.0]), (np.array(index), np.array(mean))
    np.testing.assert_array_equal(per_cost(*here, costs), per_cost(*here, np.ldexp(costs, power)))


def test_costs_of_any_size_give_numbers():
    costs = np.array([5e-324, 1.0, 1.7e308])
    with np.errstate(all="raise", under="ignore"):
        worth = per_cost(np.array([1.0, 2.0, 3.0]), np.zeros(3), costs)
    np.testing.assert_array_equal(worth, [1.0, 1e-323, 0.0])


def test_of_arms_that_promise_the_same_the_cheapest_is_played():
    made = kb.WhitehouseUCB(POINTS, kb.RBF(0.01), noise_scale=0.1, norm_bound=1.0)
    dear = np.where(np.arange(20) < 19, 1.1, 1.0)
    assert {made.ask(t, kb.Streams(1), costs=dear).arm for t in range(1, 9)} == {19}


@pytest.mark.parametrize("first", ["middle", "random"])
def test_the_opening_plays_among_the_cheaper_half_of_the_arms_allowed(first):
    arms, seen = [0, 1, 4, 6, 9, 13], set()
    for seed in range(30):
        made = kb.Auto(POINTS, seed=seed, opening=first)
        batch = made.batch(4, arms=arms, costs=COSTS)
        seen |= {choice.arm for choice in batch}
        assert all(
            choice.note["first"] == 1.0 and choice.note["cost"] == COSTS[choice.arm]
            for choice in batch
        )
    assert seen == set(sorted(arms, key=COSTS.__getitem__)[:3])


def test_one_arm_allowed_opens_the_game_whatever_it_costs():
    dearest = int(COSTS.argmax())
    assert kb.Auto(POINTS).ask(arms=[dearest], costs=COSTS).arm == dearest


def test_every_second_round_is_random_whatever_it_costs(policy):
    made = policy("gp-ucb-plus")
    plain, priced = made.ask(2, kb.Streams(1)), made.ask(2, kb.Streams(1), costs=COSTS)
    assert priced.arm == plain.arm
    assert priced.note == {**plain.note, "cost": COSTS[plain.arm]}


EACH = "ask needs one cost for each of 20 arms, all numbers, got "
UNPAID = {
    "too few": (np.ones(19), EACH + "array"),
    "a column": (np.ones((20, 1)), EACH + "array"),
    "text": ([1.0] * 19 + ["2"], EACH + "["),
    "ragged": ([1.0] * 19 + [[2.0]], EACH + "["),
    "truth values": ([True] * 20, EACH + "["),
    "a number": (2.0, EACH + "2.0"),
    "zero": ([1.0] * 19 + [0.0], "ask needs costs > 0, all finite, got 0.0"),
    "negative": ([1.0] * 19 + [-2.0], "ask needs costs > 0, all finite, got -2.0"),
    "nan": ([1.0] * 19 + [math.nan], "ask needs costs > 0, all finite, got nan"),
    "infinite": ([1.0] * 19 + [math.inf], "ask needs costs > 0, all finite, got inf"),
}


@pairwise(case=UNPAID, name=["whitehouse-ucb", "gp-ts", "exploit-plus", "auto"])
def test_costs_that_make_no_sense_are_refused_in_one_sentence(policy, name, case):
    costs, sentence = UNPAID[case]
    for rewards in (0, 6):
        for t in (7, 8):
            with pytest.raises(ValueError) as refusal:
                policy(name, rewards).ask(t, kb.Streams(1), costs=costs)
            assert str(refusal.value).startswith(sentence)


def test_rules_and_domains_without_costs_refuse_them():
    shared, box = {"noise_scale": 0.1, "norm_bound": 1.0}, kb.Box((0.0,), (1.0,))
    refusing = [
        kb.policies.UniformRandom(POINTS, kb.RBF(0.3)),
        kb.policies.MVR(POINTS, kb.RBF(0.3)),
    ]
    refusing += [
        kb.WhitehouseUCB(box, kb.RBF(0.3), **shared),
        kb.Auto(box),
        kb.policies.GPUCBPlus(box, kb.RBF(), norm_bound=1.0),
    ]
    for made in refusing:
        for t in (1, 2):
            with pytest.raises(
                ValueError, match=f"ask needs no costs for {type(made).__name__} on"
            ):
                made.ask(t, kb.Streams(1), costs=COSTS)
    assert [
        rule.weighs_costs for rule in (kb.policies.MVR, kb.policies.UniformRandom, kb.GPTS, kb.Auto)
    ] == [
        False,
        False,
        True,
        True,
    ]
