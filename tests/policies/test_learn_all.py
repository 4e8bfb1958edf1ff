"""Many rewards at once: the state is that of telling them one after the other, to the last bit."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import kernelbandits as kb
from conftest import pairwise, single_members
from kernelbandits.calibration import Refits
from kernelbandits.calibration.fitter import Fitter
from kernelbandits.catalogue import POLICIES
from kernelbandits.policies import base
from kernelbandits.policies.learner import REBUILT_SMALL
from kernelbandits.posterior import (
    ArmPosterior,
    RowPosterior,
)

POINTS = np.random.default_rng(5).random((20, 2))
TRUTH = np.sin(5 * POINTS[:, 0]) + POINTS[:, 1]
BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
NAMES = sorted(POLICIES)


def told(policy, pairs):
    for choice, reward in pairs:
        policy.tell(choice, reward)
    return policy


def learnt(policy, *lots):
    for pairs in lots:
        policy.tell_all(pairs)
    return policy


def pairs_of(policy, count, seed=1, scale=1.0):
    """Arms nobody asked for, in no order, with their rewards."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(POINTS), size=count).tolist()
    return [
        (policy.choice(arm), float(scale * (TRUTH[arm] + 0.3 * rng.standard_normal())))
        for arm in arms
    ]


def rows_of(policy, count, seed=1):
    """Points of a box, some of them again."""
    rng = np.random.default_rng(seed)
    rows = rng.random((max(1, count // 2), 2))
    chosen = rows[rng.integers(len(rows), size=count)]
    return [
        (policy.choice(row), float(np.sin(5 * row[0]) + 0.1 * rng.standard_normal()))
        for row in chosen
    ]


def same(one, other):
    """Estimates, counts, settings and the next choices, bit by bit."""
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.settings == other.settings
    t = one.posterior.events + 1
    for turn in (t, t + 1):
        assert one.ask(turn, kb.Streams(3)) == other.ask(turn, kb.Streams(3))


def state(policy):
    posterior = policy.posterior
    parts = [
        posterior.log_det,
        posterior.counts,
        posterior.events,
        posterior.points,
        policy.played_log_det,
    ]
    if policy.finite:
        parts += [posterior.mean, posterior.sd, posterior.tally.sums]
    return [*parts, *(posterior.at(POINTS) if posterior.events else ())]


def fit(policy):
    rewards = policy.rewards
    return (
        policy.calibration,
        rewards.counts.tolist(),
        rewards.sums.tolist(),
        rewards.squares.tolist(),
        rewards.origin,
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_of_the_catalogue_ends_where_telling_ends(build, name):
    one, other = build(name, POINTS), build(name, POINTS)
    pairs = pairs_of(one, 60)
    told(one, pairs)
    learnt(other, pairs[:7], [], pairs[7:])
    same(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_notes_of_the_asks_are_learnt_from(build, name):
    """The levels of a ladder and the like travel in the note."""
    one, other, pairs = build(name, POINTS), build(name, POINTS), []
    for t in range(1, 31):
        choice = one.ask(t, kb.Streams(1))
        pairs.append((choice, float(TRUTH[choice.arm])))
        told(one, pairs[-1:])
    same(one, learnt(other, pairs))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 9, 10, 11, 57, 400])
@pytest.mark.parametrize("width", ["practical", "theory"])
def test_auto_ends_where_telling_ends(count, width):
    one, other = kb.Auto(POINTS, width=width), kb.Auto(POINTS, width=width)
    pairs = pairs_of(one, count)
    same(told(one, pairs), learnt(other, pairs))
    assert fit(one) == fit(other)
    assert one.posterior.health == other.posterior.health


@pytest.mark.thorough
@pytest.mark.parametrize("parts", [(1,), (4, 5, 6), (39,), (40,), (41, 55)], ids=str)
def test_auto_goes_on_from_wherever_it_was(parts):
    one, other = kb.Auto(POINTS), kb.Auto(POINTS)
    pairs = pairs_of(one, 70)
    lots = [pairs[start:stop] for start, stop in zip((0, *parts), (*parts, 70), strict=True)]
    same(told(one, pairs), learnt(told(other, lots[0]), *lots[1:]))
    assert fit(one) == fit(other)
    more = pairs_of(one, 30, seed=2)
    same(told(one, more), told(other, more))


@pytest.mark.parametrize(
    "refits", [Refits(growth=3.7, first=10), Refits(growth=1.5), Refits(growth=1e6)], ids=str
)
def test_fits_come_at_the_same_numbers_of_rewards(refits):
    one, other = kb.Auto(POINTS, refits=refits), kb.Auto(POINTS, refits=refits)
    pairs = pairs_of(one, 90)
    same(told(one, pairs), learnt(other, pairs))
    assert fit(one) == fit(other)
    assert one.calibration.rewards == other.calibration.rewards


@pytest.mark.parametrize(
    "domain", [BOX, kb.Contextual(kb.Arms(POINTS[:, :1]), 1)], ids=["box", "context"]
)
def test_points_and_contexts_are_learnt_as_one_after_the_other(domain):
    one, other = kb.Auto(domain), kb.Auto(domain)
    if domain is BOX:
        pairs = rows_of(one, 40)
    else:
        pairs = [
            (one.choice(arm, context=[0.1 * arm]), math.sin(arm))
            for arm in (3, 5, 3, 3, 0, 5, 7, 9, 3, 2, 2, 2)
        ]
    told(one, pairs)
    learnt(other, pairs)
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)
    assert fit(one) == fit(other)


@pytest.mark.thorough
def test_failures_before_and_between_count_as_they_did():
    one, other = kb.Auto(POINTS), kb.Auto(POINTS)
    pairs = pairs_of(one, 80)
    for policy, learn in ((one, told), (other, learnt)):
        learn(policy, pairs[:20])
        for arm in (3, 3, 3, 8):
            policy.fail(policy.choice(arm))
        learn(policy, pairs[20:])
        policy.fail(policy.choice(1))
    same(one, other)
    assert fit(one) == fit(other)
    np.testing.assert_array_equal(one.success.left_out, other.success.left_out)


def test_a_reward_beyond_all_scales_is_fitted_at_once():
    """The units of the first rewards are tiny, so the next one calls for a fit out of turn."""
    one, other = kb.Auto(POINTS), kb.Auto(POINTS)
    pairs = [*pairs_of(one, 20, scale=1e-140), (one.choice(3), 1e60), (one.choice(4), 2e60)]
    assert not any(one.learner.refits.is_due(n) for n in (20, 21, 22))
    same(told(one, pairs), learnt(other, pairs))
    assert fit(one) == fit(other)


def test_arms_at_the_same_point_share_their_rewards():
    points = np.vstack([POINTS[:4], POINTS[:2]])
    one, other = kb.Auto(points), kb.Auto(points)
    pairs = [
        (one.choice(arm), float(arm % 4) + 0.1 * number)
        for number, arm in enumerate([0, 4, 5, 1, 2, 3, 4, 0, 5, 1])
    ]
    same(told(one, pairs), learnt(other, pairs))
    assert fit(one) == fit(other)


BAD = {
    "no pair": ((1, 2, 3), "tell_all needs pairs (choice, reward), got (1, 2, 3)"),
    "a list": ([1, 2.0], "tell_all needs pairs (choice, reward), got [1, 2.0]"),
    "no choice": ((3, 1.0), "tell needs a kb.Choice (policy.choice(arm) makes one), got 3"),
    "no arm": ((kb.Choice(POINTS[0], 99), 1.0), "choice needs an arm below 20, got 99"),
    "nan": (
        (kb.Choice(POINTS[0], 0), math.nan),
        "tell needs a finite reward of size at most 1e+150, got nan",
    ),
    "text": ((kb.Choice(POINTS[0], 0), "1"), "tell needs a number as reward, got '1' (str)"),
    "several": (
        (kb.Choice(POINTS[0], 0), [1.0]),
        "tell needs a number as reward, got [1.0] (list)",
    ),
    "a note": (
        (kb.Choice(POINTS[0], 0, "x"), 1.0),
        "tell needs a note of names and numbers, got 'x'",
    ),
}


@pairwise(
    kind=BAD,
    name=["auto", "whitehouse-ucb", "wgp-ucb", "sup-kernel-ucb"],
    place=[0, 14, 40],
)
def test_a_bad_pair_is_refused_in_its_place_and_those_before_it_are_learnt(
    build, name, kind, place
):
    bad, sentence = BAD[kind]
    one, other = ((kb.Auto(POINTS) if name == "auto" else build(name, POINTS)) for _ in range(2))
    pairs = pairs_of(one, 40)
    with pytest.raises(ValueError) as refusal:
        other.tell_all([*pairs[:place], bad, *pairs[place:]])
    assert str(refusal.value).startswith(sentence)
    same(told(one, pairs[:place]), other)


def test_a_point_that_is_not_that_of_its_number_is_refused_as_ever():
    policy = kb.Auto(POINTS)
    wrong = kb.Choice(POINTS[1], 0)
    for learn in (lambda: policy.tell(wrong, 1.0), lambda: policy.tell_all([(wrong, 1.0)])):
        with pytest.raises(ValueError, match="tell needs the point of arm 0 with its number"):
            learn()
    policy.tell_all(
        [
            (kb.Choice(None, 0), 1.0),
            (kb.Choice(tuple(POINTS[2].tolist()), 2), 1.0),
            (kb.Choice(POINTS[3]), 2),
        ]
    )
    assert policy.posterior.counts[[0, 2, 3]].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "pairs", [None, 3, iter([]), {}], ids=["none", "number", "iterator", "mapping"]
)
def test_what_is_no_list_of_pairs_is_refused(pairs):
    for policy in (kb.Auto(POINTS), kb.policies.Greedy(POINTS, kb.RBF(0.3))):
        with pytest.raises(
            ValueError, match=r"tell_all needs a list of pairs \(choice, reward\), got"
        ):
            policy.tell_all(pairs)


def test_a_fit_that_breaks_leaves_out_the_rewards_that_it_would_have_learnt(monkeypatch):
    """The 23rd and the 27th reward call for a fit; of many at once only the last is made.

    After an interrupt the state is one that telling reaches: rewards are not left under an older
    fit than theirs.
    """
    one, other = kb.Auto(POINTS), kb.Auto(POINTS)
    pairs = pairs_of(one, 30)
    for policy in (one, other):
        policy.tell_all(pairs[:21])
        monkeypatch.setattr(policy.learner, "_take_fit", broken)
    failed = (one.choice(3), None)
    for learn in (lambda: told(one, pairs[21:]), lambda: learnt(other, [failed, *pairs[21:]])):
        with pytest.raises(MemoryError, match="no room"):
            learn()
    monkeypatch.undo()
    assert one.rewards.events == one.posterior.events == 22
    assert other.rewards.events == other.posterior.events == 21
    assert not other.failed
    same(other, learnt(kb.Auto(POINTS), pairs[:21]))


@pytest.mark.parametrize("goal", ["find", "earn"])
@pytest.mark.parametrize("domain", [POINTS, BOX], ids=["arms", "box"])
def test_failures_among_the_rewards_cost_no_further_fit(domain, goal, monkeypatch):
    one, other = kb.Auto(domain, goal=goal), kb.Auto(domain, goal=goal)
    pairs = pairs_of(one, 40) if domain is POINTS else rows_of(one, 40)
    mixed = [(choice, None if i % 4 == 1 else reward) for i, (choice, reward) in enumerate(pairs)]
    for choice, reward in mixed:
        if reward is None:
            one.fail(choice)
        else:
            one.tell(choice, reward)
    fits, fit = [], Fitter.fit
    monkeypatch.setattr(Fitter, "fit", lambda *given: (fits.append(1), fit(*given))[1])
    other.tell_all(mixed)
    assert len(fits) == 1
    assert len(other.failed) == 10
    same(one, other)


def broken(*_):
    raise MemoryError("no room")


def test_an_update_that_breaks_leaves_counts_and_posterior_of_one_mind(monkeypatch):
    policy = kb.Auto(POINTS)
    pairs = pairs_of(policy, 22)
    policy.tell_all(pairs[:19])
    half_updated = policy.posterior
    monkeypatch.setattr(half_updated, "update", broken)
    policy.tell_all(pairs[19:])
    with pytest.raises(MemoryError, match="no room"):
        policy.ask()
    assert policy.posterior is not half_updated
    assert policy.posterior.events == policy.rewards.events == 22
    mean, sd = policy.posterior.at(POINTS)
    np.testing.assert_allclose(policy.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.sd, sd, atol=1e-9)


def test_of_rewards_whose_count_is_interrupted_none_counts(monkeypatch):
    policy = kb.Auto(POINTS, refits=Refits(growth=100.0, first=20))
    pairs = pairs_of(policy, 60)
    policy.tell_all(pairs[:30])
    before, learner = policy.ask(), policy.learner
    counted, is_surprising = [], learner._is_surprising

    def interrupted(*given):
        counted.append(given)
        return broken() if len(counted) == 10 else is_surprising(*given)

    monkeypatch.setattr(learner, "_is_surprising", interrupted)
    with pytest.raises(MemoryError, match="no room"):
        policy.tell_all(pairs[30:])
    monkeypatch.undo()
    assert policy.posterior.events == policy.rewards.events == len(learner.results) == 30
    assert policy.ask() == before
    same(learnt(policy, pairs[30:]), learnt(rarely_fitted(), pairs[:30], pairs[30:]))


def rarely_fitted():
    return kb.Auto(POINTS, refits=Refits(growth=100.0, first=20))


@pytest.mark.parametrize("cuts", [(30, 61, 62), (30, 45, 100), (30, 60, 61, 63)])
def test_a_surprising_repeat_is_fitted_in_its_place_however_rewards_are_grouped(cuts):
    """Those before it update the posterior of the old fit, and those after it that of the new."""
    one, other = (kb.Auto(POINTS, refits=Refits(growth=100.0, first=20)) for _ in range(2))
    pairs = pairs_of(one, 120)
    pairs[61] = pairs[61][0], 50.0
    told(one, pairs)
    lots = [pairs[a:b] for a, b in zip((0, *cuts), (*cuts, None), strict=True)]
    same(one, learnt(other, *lots))
    assert one.calibration == other.calibration
    assert 62 in other.learner.made_fits
    assert other.learner.results == one.learner.results


def test_only_the_rewards_after_the_last_fit_are_learnt_one_by_one(monkeypatch):
    """A fit starts the posterior anew, so what was learnt before it would be thrown away."""
    policy, updates, update = kb.Auto(POINTS), [], RowPosterior.update
    monkeypatch.setattr(
        RowPosterior, "update", lambda self, *told: (updates.append(told), update(self, *told))
    )
    policy.tell_all(pairs_of(policy, 1000))
    assert policy.posterior.events == 1000
    last = max(n for n in range(1, 1001) if policy.learner.refits.is_due(n))
    assert len(updates) == 1000 - max(last, 1000 // REBUILT_SMALL * REBUILT_SMALL)


def test_many_repeats_after_the_last_fit_are_learnt_as_in_turn_failures_included():
    """600 rewards without a fit that is due: a surprising repeat, and failures between them."""
    one, other = (kb.Auto(POINTS, refits=Refits(growth=100.0, first=20)) for _ in range(2))
    pairs = pairs_of(one, 600)
    surprise = pairs[200][0]
    mixed = [*pairs[:150], (one.choice(3), None), *pairs[150:201], (surprise, 50.0), *pairs[201:]]
    for choice, reward in mixed:
        if reward is None:
            one.fail(choice)
        else:
            one.tell(choice, reward)
    same(one, learnt(other, mixed[:30], mixed[30:]))
    assert one.calibration == other.calibration
    assert other.learner.results == one.learner.results


def test_rewards_that_are_counted_and_not_learnt_do_not_count(monkeypatch):
    policy = kb.Auto(POINTS, refits=Refits(growth=100.0, first=20))
    pairs = pairs_of(policy, REBUILT_SMALL + 20)
    policy.tell_all(pairs[:30])
    before = policy.ask(31, kb.Streams(1))
    monkeypatch.setattr(policy.learner, "_set_checkpoint", broken)
    with pytest.raises(MemoryError, match="no room"):
        policy.tell_all([*pairs[30:60], (policy.choice(3), None), *pairs[60:]])
    monkeypatch.undo()
    results = policy.learner.results
    assert policy.rewards.events == policy.posterior.events == len(results) == 30
    assert not policy.failed
    assert policy.ask(31, kb.Streams(1)) == before


def test_whole_and_numpy_rewards_are_numbers():
    one, other = kb.Auto(POINTS), kb.Auto(POINTS)
    pairs = [
        (one.choice(arm), value)
        for arm, value in ((1, 3), (2, np.float32(0.1)), (3, np.int64(2)), (1, 0.5))
    ]
    same(told(one, pairs), learnt(other, pairs))


@pytest.mark.parametrize("growth", [1.001, 1.25, 2.0, 3.7, 1e300])
@pytest.mark.parametrize("first", [1, 2, 7])
def test_the_next_fit_is_the_least_number_that_is_due(growth, first):
    refits = Refits(growth, first)
    numbers = [n for n in range(3000) if refits.is_due(n)]
    expected = sorted({n for k in range(9000) if (n := ceiling(first, growth, k)) < 3000})
    assert numbers == expected
    for n in range(0, 2000, 7):
        assert (
            refits.next_after(n)
            == next((due for due in numbers if due > n), refits.next_after(n))
            > n
        )


def ceiling(first, growth, k):
    try:
        return math.ceil(first * growth**k)
    except OverflowError:
        return math.inf


@pytest.mark.parametrize(
    "name", [name for name in NAMES if POLICIES[name].constructor.restricts_arms]
)
def test_imagining_leaves_what_is_known_as_it_was_and_is_the_same_as_a_full_copy(build, name):
    # A real reward may change the dictionary of a sketch, a pending one does not.
    policy = build(name, POINTS, **({"growth": 1e9} if name == "bkb" else {}))
    told(policy, pairs_of(policy, 40))
    if policy.imagines_pending:
        before, full = copy.deepcopy(state(policy)), copy.deepcopy(policy.posterior)
        imagined = policy.posterior.with_pending([3, 3, 8])
        members = single_members(full)
        for member in members:
            for arm in (3, 3, 8):
                member.update(arm, float(member.mean[arm]))
        for i, member in enumerate(members):
            np.testing.assert_allclose(imagined.means[i], member.mean, rtol=1e-10, atol=1e-13)
            variance = np.maximum(imagined.variances[i], 0.0)
            np.testing.assert_allclose(np.sqrt(variance), member.sd, rtol=1e-8, atol=1e-12)
        log_det = np.mean([member.log_det for member in members])
        np.testing.assert_allclose(imagined.log_det, log_det, rtol=1e-10)
        for a, b in zip(before, state(policy), strict=True):
            np.testing.assert_array_equal(a, b)
        told(policy, pairs_of(policy, 5, seed=9))
        assert imagined.events == 43


# Blocks, as a study learns them


WIDE = np.random.default_rng(6).random((210, 2))
"""More arms than have a covariance of their own."""


def wide_pairs(policy, points, count, seed=1):
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(points), size=count).tolist()
    rewards = np.sin(5 * points[arms, 0]) + 0.3 * rng.standard_normal(count)
    return [(policy.choice(arm), float(y)) for arm, y in zip(arms, rewards, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_a_block_is_learnt_as_one_by_one_up_to_rounding(build, name, monkeypatch):
    monkeypatch.setattr(base, "SHORTEST_BLOCK", 50)
    one, other = build(name, POINTS), build(name, POINTS)
    pairs = pairs_of(one, 130)
    one.tell_all(pairs)
    other.tell_in_blocks(pairs)
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert one.ask(131, kb.Streams(3)).arm == other.ask(131, kb.Streams(3)).arm


@pytest.mark.parametrize("points", [POINTS, WIDE], ids=["covariance", "rows"])
@pytest.mark.parametrize("cuts", [(1,), (49, 50, 51), (480, 481), (3, 470, 900)], ids=str)
def test_the_grouping_of_results_changes_no_bit_of_a_block(points, cuts, monkeypatch):
    monkeypatch.setattr(base, "SHORTEST_BLOCK", 50)
    policies = [
        kb.SimpleUCB(points, kb.Matern(0.3), noise_scale=0.3, norm_bound=1.0) for _ in range(3)
    ]
    one, other, plain = policies
    pairs = wide_pairs(one, points, 1020)
    one.tell_in_blocks(pairs)
    for start, stop in zip((0, *cuts), (*cuts, 1020), strict=True):
        other.tell_in_blocks(pairs[start:stop])
    plain.tell_all(pairs)
    same(one, other)
    # After the last block both have learnt the same number of rewards one by one.
    assert one._block_end == other._block_end > 1020
    assert one.posterior.health == other.posterior.health
    for a, b in zip(state(one), state(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert one.posterior.audit() is False
    assert one.posterior.health.conditioning == plain.posterior.health.conditioning


@pytest.mark.parametrize("form", [ArmPosterior, RowPosterior])
def test_a_posterior_built_again_keeps_nothing_of_its_state(form):
    one, other = (form(kb.Matern(0.3), POINTS, 0.1) for _ in range(2))
    for choice, reward in pairs_of(kb.Auto(POINTS), 90):
        one.update(choice.arm, reward)
    tally = copy.deepcopy(one.tally)
    one.rebuild(tally)
    other.rebuild(copy.deepcopy(tally))
    for a, b in ((one.mean, other.mean), (one.variance, other.variance)):
        np.testing.assert_array_equal(a, b)
    assert one.log_det == other.log_det
    one.update(3, 0.5)
    other.update(3, 0.5)
    np.testing.assert_array_equal(one.sd, other.sd)


def test_a_refused_pair_of_a_block_is_refused_in_its_place(monkeypatch):
    monkeypatch.setattr(base, "SHORTEST_BLOCK", 50)
    one, other = (
        kb.SimpleUCB(POINTS, kb.Matern(0.3), noise_scale=0.3, norm_bound=1.0) for _ in range(2)
    )
    pairs = pairs_of(one, 80)
    with pytest.raises(ValueError, match="nan"):
        one.tell_in_blocks([*pairs, (pairs[0][0], math.nan), *pairs])
    other.tell_in_blocks(pairs)
    same(one, other)


@pytest.mark.thorough
def test_a_study_opened_again_has_learnt_the_same_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "SHORTEST_BLOCK", 10)
    settings = {"noise_scale": 0.3, "norm_bound": 1.0}
    place = tmp_path / "blocks.db"
    study = kb.Study.create(
        place, POINTS, target="y", policy="simple-ucb", kernel="matern(0.3)", settings=settings
    )
    for number in range(31):
        (one,) = study.ask()
        study.tell(one.trial, float(TRUTH[one.row] + 0.1 * (number % 3)))
    assert study._session.driver.policy._block_end > 31
    assert all(study.replay(trial).same for trial in range(1, 32))
    again = kb.Study.open(place)
    assert again.estimates().equals(study.estimates())
    assert all(finding.ok for finding in again.doctor())
    again.close()
    study.close()
