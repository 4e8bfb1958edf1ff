"""Rewards that are pending, and batches: GP-BUCB's variance with the pending points, the mean of what was told."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
POINTS = np.random.default_rng(3).random((40, 2))
DOMAINS = {"arms": POINTS, "box": BOX, "context": kb.Contextual(kb.Arms(POINTS[:, :1]), 1)}
every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def ucb(domain, law=None, kernel=None, **settings):
    shared = {"noise_scale": 0.2, "norm_bound": 1.0, "ridge": 0.5} | settings
    return kb.GenericGP(domain, kernel or kb.Matern(0.3), law or kb.PointMass(1.0), **shared)


def thompson(domain, **settings):
    return kb.GPTS(domain, kb.RBF(0.3), noise_scale=0.2, norm_bound=1.0, horizon=60, **settings)


def where(policy):
    return {"context": [0.5]} if isinstance(policy.domain, kb.Contextual) else {}


def played(policy, rounds=8, seed=1):
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(seed), **where(policy))
        policy.tell(choice, math.sin(5 * float(choice.x[0])))
    return policy


def joint(choice):
    return np.concatenate([choice.x, () if choice.context is None else choice.context])


def dense(policy, pending, rows):
    """Mean of the told rewards, variance with the pending points too, and the two log-determinants, by np.linalg."""
    posterior = policy.posterior
    finite = policy.finite
    told = np.repeat(posterior.points, posterior.counts, axis=0)
    sums = posterior.tally.sums
    y = np.repeat(
        np.divide(sums, posterior.counts, out=np.zeros(len(sums)), where=posterior.counts > 0),
        posterior.counts,
    )
    every = np.vstack([told, *(joint(choice)[None] for choice in pending)])
    k, ridge = posterior.kernel, posterior.ridge
    mean = k(rows, told) @ np.linalg.solve(k(told, told) + ridge * np.eye(len(told)), y)
    explained = k(rows, every) @ np.linalg.solve(
        k(every, every) + ridge * np.eye(len(every)), k(every, rows)
    )
    both = [np.linalg.slogdet(np.eye(len(x)) + k(x, x) / ridge)[1] for x in (told, every)]
    assert finite == isinstance(policy.domain, kb.Arms)
    return mean, np.sqrt(np.diag(k(rows, rows) - explained)), both


@every_domain
def test_the_note_of_a_pending_ask_agrees_with_dense_algebra(domain):
    policy = played(ucb(domain))
    pending = [policy.ask(t, kb.Streams(2), **where(policy)) for t in (9, 10, 9)]
    choice = policy.ask(12, kb.Streams(2), pending=pending, **where(policy))
    mean, sd, (before, after) = dense(policy, pending, joint(choice)[None])
    assert choice.note["pending"] == 3.0
    assert choice.note["inflation"] == pytest.approx(math.exp((after - before) / 2), abs=1e-8)
    assert choice.note["mean"] == pytest.approx(mean[0], abs=1e-8)
    assert choice.note["sd"] == pytest.approx(sd[0], abs=1e-7)
    assert choice.note["width"] == pytest.approx(
        policy.width_at(12) * choice.note["inflation"], abs=1e-9
    )


@pytest.mark.thorough
@every_domain
def test_the_pending_choice_maximises_the_index_of_stale_mean_and_new_sd(domain):
    policy = played(ucb(domain))
    pending = policy.batch(3, 9, kb.Streams(2), **where(policy))
    choice = policy.ask(12, kb.Streams(2), pending=pending, **where(policy))
    rows = np.random.default_rng(1).random((3000, 2)) if domain is BOX else POINTS.copy()
    if isinstance(policy.domain, kb.Contextual):
        rows[:, 1] = 0.5
    mean, sd, _ = dense(policy, pending, rows)
    best = (mean + choice.note["width"] * sd).max()
    assert choice.note["mean"] + choice.note["width"] * choice.note["sd"] >= best - 1e-7


@every_domain
def test_asking_with_pending_choices_changes_nothing(domain):
    policy = played(ucb(domain))
    plain, state = policy.ask(9, kb.Streams(2), **where(policy)), policy.posterior.log_det
    policy.batch(4, 9, kb.Streams(2), **where(policy))
    assert policy.ask(9, kb.Streams(2), **where(policy)) == plain
    assert (policy.posterior.log_det, policy.posterior.events) == (state, 8)
    assert "pending" not in plain.note


@every_domain
@pytest.mark.parametrize("make", [ucb, thompson], ids=["ucb", "thompson"])
def test_a_batch_of_one_is_an_ask_and_a_batch_is_asks_with_those_before_pending(domain, make):
    policy = played(make(domain))
    assert policy.batch(1, 9, kb.Streams(4), **where(policy)) == (
        policy.ask(9, kb.Streams(4), **where(policy)),
    )
    batch = policy.batch(3, 9, kb.Streams(4), **where(policy))
    for i, choice in enumerate(batch):
        asked = policy.ask(9 + i, kb.Streams(4), pending=batch[:i], **where(policy))
        assert choice == asked
    later = policy.batch(2, 10, kb.Streams(4), pending=batch[:1], **where(policy))
    assert later == batch[1:]


@pytest.mark.parametrize(
    "law", [kb.PointMass(1.0), kb.Gaussian(0.0, 1.0), kb.Bernoulli(0.5)], ids=str
)
@pytest.mark.parametrize("name", ["arms", "box"])
def test_the_choices_of_a_first_batch_are_all_different(law, name):
    """Nothing is told: the index is the width alone, and a point pending is no longer the widest."""
    batch = ucb(DOMAINS[name], law).batch(10, 1, kb.Streams(5))
    positive = [choice.x.tobytes() for choice in batch if choice.note["weight"] > 0]
    assert len(set(positive)) == len(positive) > 2


def test_a_deterministic_rule_without_pending_points_would_repeat_itself():
    policy = played(ucb(BOX, ties="lowest"))
    alone = [policy.ask(t, kb.Streams(1)).x for t in (9, 10)]
    np.testing.assert_array_equal(*alone)
    batch = policy.batch(2, 9, kb.Streams(1))
    assert abs(batch[0].x - batch[1].x).max() > 1e-3


@pytest.mark.thorough
def test_random_weights_and_paths_differ_within_a_batch():
    for policy in (
        played(ucb(BOX, kb.Gaussian(0.0, 1.0))),
        played(thompson(BOX)),
        played(thompson(POINTS)),
    ):
        batch = policy.batch(6, 9, kb.Streams(3))
        assert len({choice.x.tobytes() for choice in batch}) >= 4
    weights = [
        choice.note["weight"]
        for choice in played(ucb(BOX, kb.Gaussian(0.0, 1.0))).batch(6, 9, kb.Streams(3))
    ]
    assert weights == [
        kb.Gaussian(0.0, 1.0).draw(kb.Streams(3).uniform("weight", t)) for t in range(9, 15)
    ]


@given(
    st.lists(st.integers(0, 39), min_size=1, max_size=6), st.lists(st.integers(0, 39), max_size=6)
)
def test_inflation_pays_for_the_variance_that_pending_points_take(pending, told):
    """sd <= exp(I) sd_pending at every arm (Desautels et al.), equal at a point pending once and no other told."""
    policy = ucb(POINTS)
    for arm in told:
        policy.tell(policy.choice(arm), 0.3)
    ahead = policy._view_pending([policy.choice(arm) for arm in pending])
    assert (policy.posterior.sd <= ahead.inflation * ahead.posterior.sd * (1 + 1e-9)).all()
    np.testing.assert_allclose(ahead.posterior.mean, policy.posterior.mean, atol=1e-12)


def test_inflation_is_needed_in_full_at_a_point_pending_alone():
    policy = ucb(POINTS, kernel=kb.RBF(0.01))
    ahead = policy._view_pending([policy.choice(7)])
    assert policy.posterior.sd[7] == pytest.approx(
        ahead.inflation * ahead.posterior.sd[7], rel=1e-9
    )


def test_when_the_rewards_come_in_the_policy_is_as_if_they_had_never_been_pending():
    late, prompt = played(ucb(BOX)), played(ucb(BOX))
    for choice in late.batch(4, 9, kb.Streams(6)):
        late.tell(choice, 0.2)
        prompt.tell(kb.Choice(choice.x), 0.2)
    assert late.ask(13, kb.Streams(6)) == prompt.ask(13, kb.Streams(6))


def test_a_batch_among_ten_thousand_arms():
    pool = np.random.default_rng(4).random((10_000, 3))
    policy = ucb(pool, kb.Bernoulli(0.5))
    for t in range(1, 6):
        choice = policy.ask(t, kb.Streams(1))
        policy.tell(choice, float(choice.x[0]))
    batch = policy.batch(5, 6, kb.Streams(1))
    explored = [choice.arm for choice in batch if choice.note["weight"]]
    assert len(set(explored)) == len(explored)
    last, pending = batch[-1], batch[:-1]
    mean, sd, (before, after) = dense(policy, pending, pool[last.arm][None])
    assert last.note["sd"] == pytest.approx(sd[0], abs=1e-8)
    assert last.note["mean"] == pytest.approx(mean[0], abs=1e-8)
    assert last.note["inflation"] == pytest.approx(math.exp((after - before) / 2), abs=1e-8)


def test_thompson_sampling_scales_its_draw_by_the_inflation():
    """Arms: mean of what was told + v exp(I) times the deviation of the posterior with the pending arms."""
    policy = played(thompson(POINTS))
    pending = [policy.choice(3), policy.choice(3), policy.choice(20)]
    choice, ahead = policy.ask(9, kb.Streams(2), pending=pending), policy._view_pending(pending)
    z, e = np.split(kb.Streams(2).normal("sample", 9, 80), 2)
    scale = policy.width(9, policy.posterior.log_det) * ahead.inflation
    sample = policy.posterior.mean + scale * ahead.posterior.deviation(policy.root @ z, e)
    assert choice.arm == int(sample.argmax())
    assert choice.note["sample"] == pytest.approx(sample.max(), abs=1e-12)
    assert choice.note["width"] == pytest.approx(scale, abs=1e-12)


@pytest.mark.thorough
def test_paths_with_pending_points_have_the_covariance_of_the_posterior_with_them():
    """2000 draws at three points, within five standard errors taken from the draws."""
    policy, n = thompson(BOX, features=64), 2000
    for x, y in (([0.1, 0.2], 1.0), ([0.8, 0.7], -1.0)):
        policy.tell(kb.Choice(x), y)
    pending = [policy.choice([0.5, 0.5]), policy.choice([0.5, 0.5]), policy.choice([0.1, 0.2])]
    rows = np.array([[0.5, 0.5], [0.55, 0.6], [0.1, 0.3]])
    mean, sd, (before, after) = dense(policy, pending, rows)
    scale = policy.width(1, policy.posterior.log_det) * math.exp((after - before) / 2)
    streams = kb.Streams(3)
    draws = np.array(
        [policy.path(t, streams, pending=pending).values(rows) for t in range(1, n + 1)]
    )
    squares = (draws - mean) ** 2
    np.testing.assert_array_less(abs(draws.mean(0) - mean), 5 * scale * sd / math.sqrt(n))
    np.testing.assert_array_less(
        abs(squares.mean(0) - (scale * sd) ** 2), 5 * squares.std(0) / math.sqrt(n)
    )


@pytest.mark.parametrize(
    "make",
    [kb.policies.UniformRandom, kb.policies.MVR, kb.policies.Greedy],
    ids=lambda make: make.__name__,
)
@every_domain
def test_the_floors_take_pending_choices_too(make, domain):
    policy = played(make(domain, kb.RBF(0.3)))
    batch = policy.batch(4, 9, kb.Streams(1), **where(policy))
    assert len(batch) == 4
    if make is kb.policies.MVR:
        assert len({choice.x.tobytes() for choice in batch}) == 4
        assert batch[-1].note["pending"] == 3.0


@pytest.mark.parametrize(
    "make", [kb.policies.GPUCBPlus, kb.policies.ExploitPlus], ids=lambda make: make.__name__
)
def test_every_second_round_of_a_batch_is_random(make):
    settings = {"norm_bound": 1.0} if make is kb.policies.GPUCBPlus else {}
    batch = make(BOX, kb.RBF(0.3), **settings).batch(4, 1, kb.Streams(1))
    assert ["random" in choice.note for choice in batch] == [False, True, False, True]
    assert [choice.note.get("pending", 0.0) for choice in batch] == [0.0, 1.0, 2.0, 3.0]


def test_history_dependent_schedules_see_the_pending_points():
    seen = []

    def law(t, posterior):
        seen.append((posterior.events, posterior.sd.max()))
        return kb.Bernoulli(0.5)

    for domain in (POINTS, BOX):
        seen.clear()
        ucb(domain, law).batch(3, 1, kb.Streams(1))
        assert [events for events, _ in seen] == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [kb.policies.TVGPUCB, kb.policies.WGPUCB, kb.policies.RGPUCB],
    ids=lambda make: make.__name__,
)
def test_rules_that_forget_are_asked_as_a_copy_that_was_told_its_estimates(make):
    settings = (
        {"norm_bound": 1.0}
        if make is kb.policies.WGPUCB
        else {"horizon": 30}
        if make is kb.policies.RGPUCB
        else {}
    )
    policy = make(POINTS, kb.RBF(0.3), noise_scale=0.2, **settings)
    policy.tell(policy.choice(4), 0.7)
    twin = copy.deepcopy(policy)
    twin.tell(twin.choice(0), float(twin.posterior.mean[0]))
    chosen = policy.ask(2, kb.Streams(1), pending=[policy.choice(0)], arms=range(5, 20))
    assert chosen == twin.ask(2, kb.Streams(1), arms=range(5, 20))
    assert policy.posterior.events == 1


@pytest.mark.parametrize(
    "pending",
    [None, 3, "choices", [1, 2], {"a": 1}, [np.zeros(2)], kb.Choice([0.1, 0.2])],
    ids=repr,
)
@every_domain
def test_what_is_no_list_of_choices_is_refused(pending, domain):
    for policy in (
        ucb(domain),
        thompson(domain),
        kb.policies.UniformRandom(domain, kb.RBF()),
        kb.policies.MVR(domain, kb.RBF()),
    ):
        for call, size in ((policy.ask, ()), (policy.batch, (2,))):
            with pytest.raises(ValueError, match="ask needs a list of the choices pending, got"):
                call(*size, 1, kb.Streams(1), pending=pending, **where(policy))


def test_a_pending_choice_must_be_one_of_the_domain():
    with pytest.raises(ValueError, match="tell needs a choice among the arms"):
        ucb(POINTS).ask(1, kb.Streams(1), pending=[kb.Choice([5.0, 5.0])])
    with pytest.raises(ValueError, match="needs a point in Box"):
        ucb(BOX).ask(1, kb.Streams(1), pending=[kb.Choice([5.0, 5.0])])


def test_more_pending_points_than_a_width_can_pay_for_are_refused():
    policy = ucb(POINTS, kernel=kb.RBF(0.01), ridge=1e-16)
    with pytest.raises(
        ValueError, match="ask needs pending points of information at most 700, got 7"
    ):
        policy.ask(1, kb.Streams(1), pending=[policy.choice(arm) for arm in range(40)])


@pytest.mark.parametrize("n", [0, -1, 1.5, None, "2", True], ids=repr)
def test_a_batch_has_a_whole_number_of_rounds(n):
    with pytest.raises(ValueError, match="batch needs a whole number n >= 1, got"):
        ucb(BOX).batch(n, 1, kb.Streams(1))
    for t in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match="needs a round t >= 1, got"):
            ucb(BOX).batch(1, t, kb.Streams(1))


@pytest.mark.parametrize("name", POLICIES)
def test_a_whole_batch_may_be_asked_for_before_the_first_reward(name, build, cloud):
    chosen = build(name, cloud).batch(3, 1, kb.Streams(0))
    assert all(choice.arm in range(len(cloud)) for choice in chosen)
