"""Contextual kernel bandits: what is given beside the choice, arms that change from round to round, joint kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.domains import Contextual
from kernelbandits.policies.place import place_of

BOX = kb.Box((0.0, 0.0), (1.0, 2.0))
MIXED = kb.MixedBox({"heat": kb.Real(0.0, 1.0), "acid": kb.Category(("a", "b"))})
ARMS = kb.Arms(np.random.default_rng(3).random((15, 2)))
JOINT = kb.kernels.On(kb.RBF(0.4), (0, 1)) * kb.kernels.On(kb.Matern(0.7), (2,))
KINDS = {
    "ucb": lambda domain, kernel=JOINT: kb.SimpleUCB(
        domain, kernel, noise_scale=0.1, norm_bound=1.0
    ),
    "gaussian": lambda domain, kernel=JOINT: kb.SimpleGaussian(
        domain, kernel, noise_scale=0.1, norm_bound=1.0
    ),
    "igp-ucb": lambda domain, kernel=JOINT: kb.IGPUCB(
        domain, kernel, noise_scale=0.1, norm_bound=1.0, horizon=90
    ),
    "thompson": lambda domain, kernel=JOINT: kb.GPTS(
        domain, kernel, noise_scale=0.1, norm_bound=1.0, horizon=90
    ),
    "greedy": lambda domain, kernel=JOINT: kb.policies.Greedy(domain, kernel),
    "mvr": lambda domain, kernel=JOINT: kb.policies.MVR(domain, kernel),
    "random": lambda domain, kernel=JOINT: kb.policies.UniformRandom(domain, kernel),
    "gp-ucb-plus": lambda domain, kernel=JOINT: kb.policies.GPUCBPlus(
        domain, kernel, norm_bound=1.0
    ),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def context_at(t):
    return [math.sin(t)]


def played(policy, rounds=8, **given):
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(1), context=context_at(t), **given)
        policy.tell(choice, float(np.sum(choice.x)) * choice.context[0])
    return policy


def dense(policy, rows):
    """Mean and sd by np.linalg from the joint points."""
    x, k = policy.posterior.points, policy.posterior.kernel
    noise = np.diag(policy.posterior.ridge / policy.posterior.counts)
    y = policy.posterior.sums / policy.posterior.counts
    inverse = np.linalg.inv(k(x, x) + noise)
    cross = k(rows, x)
    return cross @ inverse @ y, np.sqrt(np.diag(k(rows, rows) - cross @ inverse @ cross.T))


def beside(rows, context):
    return np.hstack([rows, np.tile(context, (len(rows), 1))])


# ---------------------------------------------------------------- playing


@every_kind
@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_a_context_is_learnt_with_the_choice_and_stands_in_it(make, domain):
    policy = make(Contextual(domain, 1))
    for t in range(1, 5):
        choice = policy.ask(t, kb.Streams(2), context=context_at(t))
        np.testing.assert_array_equal(choice.context, context_at(t))
        assert (choice.arm is None) == (domain is BOX)
        if domain is ARMS:
            np.testing.assert_array_equal(choice.x, ARMS.points[choice.arm])
        policy.tell(choice, 0.1 * t)
        np.testing.assert_array_equal(policy.posterior.points[-1], [*choice.x, *context_at(t)])
    assert policy.posterior.events == 4


@pytest.mark.parametrize("weight", [-0.5, 0.0, 1.0])
def test_the_choice_among_arms_is_the_maximiser_by_dense_algebra(weight):
    domain = Contextual(ARMS, 1)
    policy = played(kb.GenericGP(domain, JOINT, kb.Mixture((0.5, 0.5), (kb.PointMass(weight), kb.PointMass(1.0))),
                                 noise_scale=0.1, norm_bound=1.0), 20)  # fmt: skip
    for t in range(21, 31):
        choice = policy.ask(t, kb.Streams(3), context=[0.2 * t - 5])
        mean, sd = dense(policy, beside(ARMS.points, [0.2 * t - 5]))
        index = mean + choice.note["weight"] * choice.note["width"] * sd
        assert choice.arm == int(index.argmax())
        assert choice.note["index"] == pytest.approx(index.max(), abs=1e-8)
        assert (choice.note["mean"], choice.note["sd"]) == pytest.approx(
            (mean[choice.arm], sd[choice.arm]), abs=1e-8
        )


@pytest.mark.thorough
def test_the_choice_in_a_box_is_the_maximiser_over_the_box_at_the_context_given():
    policy = played(KINDS["ucb"](Contextual(BOX, 1)), 15)
    for context in ([-1.0], [0.3], [5.0]):
        choice = policy.ask(16, kb.Streams(1), context=context)
        rows = np.random.default_rng(1).uniform(BOX.lower, BOX.upper, (1500, 2))
        mean, sd = dense(policy, beside(rows, context))
        here = dense(policy, beside(choice.x[None], context))
        assert choice.note["index"] >= (mean + choice.note["width"] * sd).max() - 1e-7
        assert choice.note["index"] == pytest.approx(
            here[0][0] + choice.note["width"] * here[1][0], abs=1e-7
        )


def test_a_search_starts_from_the_points_played_as_they_would_be_in_the_context_given():
    policy = played(KINDS["ucb"](Contextual(BOX, 1)), 12)
    starts = policy._played_points(place_of(policy.domain, [0.4], None))
    mean = dense(policy, starts)[0]
    np.testing.assert_array_equal(starts[:, 2], np.full(12, 0.4))
    assert (np.diff(mean) <= 1e-9).all()
    assert {row[:2].tobytes() for row in starts} == {
        row[:2].tobytes() for row in policy.posterior.points
    }


def test_the_recommendation_depends_on_the_context():
    """f = (x_1 + x_2) c rises with x where c > 0 and falls where c < 0."""
    policy = KINDS["ucb"](
        Contextual(BOX, 1), kb.kernels.On(kb.Linear(), (0, 1)) * kb.kernels.On(kb.Linear(), (2,))
    )
    played(policy, 20)
    np.testing.assert_allclose(policy.recommend(context=[1.0]), BOX.upper)
    np.testing.assert_allclose(policy.recommend(context=[-1.0]), BOX.lower)
    arms = played(
        KINDS["ucb"](
            Contextual(ARMS, 1),
            kb.kernels.On(kb.Linear(), (0, 1)) * kb.kernels.On(kb.Linear(), (2,)),
        ),
        20,
    )
    assert arms.recommend(context=[1.0]) == int(dense(arms, beside(ARMS.points, [1.0]))[0].argmax())


def test_a_mixed_box_beside_a_context():
    policy = kb.SimpleUCB(Contextual(MIXED, 2), kb.RBF(0.5), noise_scale=0.1, norm_bound=1.0)
    for t in range(1, 5):
        choice = policy.ask(t, kb.Streams(1), context=[0.1 * t, 1.0])
        assert choice.x["acid"] in ("a", "b")
        policy.tell(choice, choice.x["heat"])
    np.testing.assert_allclose(
        policy.posterior.points[:, -2:], [[0.1 * t, 1.0] for t in range(1, 5)]
    )


@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
@pytest.mark.parametrize("name", ["ucb", "gaussian", "igp-ucb", "greedy", "mvr"])
def test_a_context_that_never_changes_is_no_context(domain, name):
    """k((x, c), (z, c)) = k(x, z) k(c, c) = k(x, z): the same choices as without it."""
    plain, beside = KINDS[name](domain, kb.RBF(0.4)), KINDS[name](Contextual(domain, 1))
    for t in range(1, 12):
        one, other = plain.ask(t, kb.Streams(5)), beside.ask(t, kb.Streams(5), context=[0.3])
        np.testing.assert_allclose(one.x, other.x, atol=1e-5)
        reward = math.sin(4 * one.x[0])
        plain.tell(one, reward)
        beside.tell(kb.Choice(one.x, one.arm, {}, [0.3]), reward)
    assert beside.posterior.log_det == pytest.approx(plain.posterior.log_det, abs=1e-8)


def test_a_context_of_no_coordinates_need_not_be_given():
    plain, beside = KINDS["ucb"](ARMS, kb.RBF(0.4)), KINDS["ucb"](Contextual(ARMS, 0), kb.RBF(0.4))
    assert beside.ask(1, kb.Streams(1)).arm == plain.ask(1, kb.Streams(1)).arm
    beside.tell(beside.ask(1, kb.Streams(1)), 1.0)
    assert beside.posterior.points.shape == (1, 2)


# ---------------------------------------------------------------- arms of the round


@every_kind
def test_the_arms_of_a_round_are_played_among(make):
    policy, rng = make(Contextual(2, 1)), np.random.default_rng(1)
    for t in range(1, 7):
        rows = rng.random((3 + t, 2))
        choice = policy.ask(t, kb.Streams(1), arms=rows, context=[0.5])
        np.testing.assert_array_equal(choice.x, rows[choice.arm])
        policy.tell(choice, 0.3)
        np.testing.assert_array_equal(policy.posterior.points[-1], [*choice.x, 0.5])


def test_the_best_of_the_arms_of_a_round_by_dense_algebra():
    policy, rng = KINDS["ucb"](Contextual(2, 0), kb.RBF(0.4)), np.random.default_rng(2)
    for t in range(1, 20):
        rows = rng.random((9, 2))
        choice = policy.ask(t, kb.Streams(1), arms=rows.tolist())
        if t > 1:
            mean, sd = dense(policy, rows)
            assert choice.arm == int((mean + choice.note["width"] * sd).argmax())
            assert policy.recommend(arms=rows) == int(mean.argmax())
        policy.tell(choice, math.sin(7 * choice.x[0]))


def test_a_batch_among_the_arms_of_a_round_has_no_repeat_while_nothing_is_known():
    policy = KINDS["ucb"](Contextual(2, 1))
    batch = policy.batch(4, 1, kb.Streams(1), arms=ARMS.points, context=[0.0])
    assert len({choice.arm for choice in batch}) == 4
    assert batch[3].note["pending"] == 3.0


def test_pending_choices_of_other_contexts_count_in_their_own():
    """A point pending in a context far away takes no variance here."""
    policy, x = KINDS["ucb"](Contextual(BOX, 1)), [0.5, 1.0]
    here, far = ([policy.choice(x, context=[c])] for c in (0.0, 1e6))
    sd = [policy._view_pending(pending).posterior.at([[*x, 0.0]])[1][0] for pending in (here, far)]
    assert sd[0] == pytest.approx(math.sqrt(0.5), abs=1e-9)
    assert sd[1] == pytest.approx(1.0, abs=1e-9)


def test_certainty_looks_at_the_arms_of_the_round_in_its_context():
    seen = []

    def law(t, posterior):
        seen.append(posterior.sd)
        return kb.Certainty()(t, posterior)

    policy = kb.GenericGP(Contextual(ARMS, 1), JOINT, law, noise_scale=0.1, norm_bound=1.0)
    played(policy, 4)
    policy.ask(5, kb.Streams(1), context=[0.25])
    np.testing.assert_allclose(seen[-1], dense(policy, beside(ARMS.points, [0.25]))[1], atol=1e-9)


# ---------------------------------------------------------------- learning


def regret_of(policy, rounds, context_seen):
    """f(x, c) = exp(-(x - c)^2 / 0.08): the best arm is the one nearest to the context."""
    arms, lost = np.linspace(0, 1, 11), []
    for t in range(1, rounds + 1):
        c = kb.Streams(99).uniform("problem", t)
        choice = policy.ask(t, kb.Streams(4), context=[c if context_seen else 0.5])
        values = np.exp(-((arms - c) ** 2) / 0.08)
        noise = 0.05 * kb.Streams(98).normal("noise", t, 1)[0]
        policy.tell(choice, float(values[choice.arm] + noise))
        lost.append(values.max() - values[choice.arm])
    return np.array(lost)


@pytest.mark.thorough
def test_the_best_arm_for_each_context_is_learnt():
    """The last 30 rounds lose less than a fifth of the first 30, and less than a blind rule by four standard errors."""
    domain = Contextual(kb.Arms(np.linspace(0, 1, 11)[:, None]), 1)
    kernel = kb.kernels.On(kb.RBF(0.2), (0,)) * kb.kernels.On(kb.RBF(0.2), (1,))

    def ucb():
        return kb.SimpleBernoulli(domain, kernel, noise_scale=0.05, norm_bound=1.0, ridge=0.01)

    seeing, blind = regret_of(ucb(), 150, True), regret_of(ucb(), 150, False)
    assert seeing[-30:].mean() < seeing[:30].mean() / 5
    error = math.hypot(seeing[-30:].std(), blind[-30:].std()) / math.sqrt(30)
    assert seeing[-30:].mean() < blind[-30:].mean() - 4 * error


# ---------------------------------------------------------------- choices nobody asked for


def test_choices_nobody_asked_for():
    by_number = KINDS["ucb"](Contextual(ARMS, 1)).choice(3, context=[0.5])
    assert (by_number.arm, by_number.context.tolist()) == (3, [0.5])
    in_box = KINDS["ucb"](Contextual(BOX, 1)).choice([0.5, 1.0], context=[0.5])
    assert (in_box.arm, in_box.x.tolist()) == (None, [0.5, 1.0])
    anywhere = KINDS["ucb"](Contextual(2, 1)).choice([9.0, 1.0], context=[0.5])
    assert (anywhere.arm, anywhere.x.tolist()) == (None, [9.0, 1.0])
    for policy, choice in zip(
        (KINDS["ucb"](Contextual(d, 1)) for d in (ARMS, BOX, 2)),
        (by_number, in_box, anywhere),
        strict=True,
    ):
        policy.tell(choice, 1.0)
        assert policy.posterior.events == 1


def test_one_number_is_a_context_of_size_one():
    domain = Contextual(BOX, 1)
    assert domain.check_context(0.5).tolist() == domain.check_context([0.5]).tolist() == [0.5]
    with pytest.raises(ValueError, match="context of size 2"):
        Contextual(BOX, 2).check_context(0.5)


# ---------------------------------------------------------------- what is refused

NO_CONTEXT = (
    None,
    [],
    [1.0, 2.0],
    [math.nan],
    [math.inf],
    ["a"],
    "a",
    math.nan,
    [[1.0]],
    [None],
    [True],
    {"c": 1.0},
)


@pytest.mark.parametrize("context", NO_CONTEXT, ids=repr)
@pytest.mark.parametrize("domain", [ARMS, BOX, 2], ids=["arms", "box", "rows"])
def test_a_context_of_the_wrong_kind_is_refused_and_changes_nothing(context, domain):
    policy = KINDS["ucb"](Contextual(domain, 1))
    given = {"arms": ARMS.points} if domain == 2 else {}
    x = [0.5, 1.0] if domain is not ARMS else ARMS.points[0]
    match = "Contextual needs a context of size 1, all finite numbers, got"
    for ask in (policy.ask, lambda t, rng, **known: policy.batch(1, t, rng, **known)):
        with pytest.raises(ValueError, match=match):
            ask(1, kb.Streams(1), context=context, **given)
    with pytest.raises(ValueError, match=match):
        policy.recommend(context=context, **given)
    with pytest.raises(ValueError, match=match):
        policy.choice(0 if domain is ARMS else x, context=context)
    with pytest.raises(ValueError, match=match):
        policy.tell(kb.Choice(x, None, {}, context), 1.0)
    assert policy.posterior.events == 0


NO_ARMS = (
    None,
    [],
    [0.1, 0.2],
    [[0.1]],
    [[0.1, math.nan]],
    "arms",
    [[0.1, 0.2, 0.3]],
    3,
    [["a", "b"]],
)


@pytest.mark.parametrize("arms", NO_ARMS, ids=repr)
def test_arms_of_the_wrong_kind_are_refused(arms):
    with pytest.raises(ValueError, match=r"ask needs .*got"):
        KINDS["ucb"](Contextual(2, 1)).ask(1, kb.Streams(1), arms=arms, context=[0.0])


@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_arms_come_only_where_none_are_fixed(domain):
    with pytest.raises(ValueError, match="ask needs no arms on Contextual"):
        KINDS["ucb"](Contextual(domain, 1)).ask(1, kb.Streams(1), arms=[[0.1, 0.2]], context=[0.0])


@pytest.mark.parametrize("x", [[0.123, 0.456], [0.1], None, "arm", [math.nan, 0.0]], ids=repr)
def test_only_the_arms_may_be_told(x):
    policy = KINDS["ucb"](Contextual(ARMS, 1))
    with pytest.raises(ValueError, match="tell needs"):
        policy.tell(kb.Choice(x, None, {}, [0.5]), 1.0)
    assert policy.posterior.events == 0


@pytest.mark.parametrize(
    "domain", [None, "box", 0, -1, 1.5, True, [[0.0]], Contextual(2, 1)], ids=repr
)
def test_a_domain_of_the_wrong_kind_is_refused(domain):
    with pytest.raises(ValueError, match="Contextual needs"):
        Contextual(domain, 1)


@pytest.mark.parametrize("size", [-1, 1.5, None, "2", True], ids=repr)
def test_a_context_has_a_whole_number_of_coordinates(size):
    with pytest.raises(ValueError, match="Contextual needs a whole number size >= 0, got"):
        Contextual(BOX, size)


@pytest.mark.parametrize(
    "make",
    [kb.policies.UCB1, kb.policies.OFUL, kb.policies.KernelUCB, kb.policies.BPE],
    ids=lambda make: make.__name__,
)
def test_rules_that_enumerate_arms_refuse_a_context(make):
    shared = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 20}
    wanted = {"UCB1": 1, "OFUL": 2, "KernelUCB": -1, "BPE": 3}[make.__name__]
    settings = {"horizon": 20} if wanted < 0 else dict(list(shared.items())[:wanted])
    with pytest.raises(
        ValueError, match=f"{make.__name__} needs a finite set of arms or a box, got Contextual"
    ):
        make(Contextual(ARMS, 1), kb.RBF(), **settings)


def test_a_gain_of_all_points_is_unknown_beside_a_context():
    with pytest.raises(
        ValueError, match=r'IGPUCB needs gain "realised" or a function of t beside a context, got'
    ):
        kb.IGPUCB(
            Contextual(BOX, 1), JOINT, noise_scale=0.1, norm_bound=1.0, horizon=9, gain="greedy"
        )


def test_a_context_is_a_copy_that_cannot_be_written_to():
    given = np.array([0.5])
    choice = KINDS["ucb"](Contextual(ARMS, 1)).ask(1, kb.Streams(1), context=given)
    given[0] = 9.0
    assert choice.context[0] == 0.5
    assert not choice.context.flags.writeable


def test_choices_in_different_contexts_are_different():
    x = np.ones(2)
    assert kb.Choice(x, 1, {}, [0.5]) == kb.Choice(x, 1, {}, np.array([0.5]))
    assert kb.Choice(x, 1, {}, [0.5]) != kb.Choice(x, 1, {}, [0.6])
    assert kb.Choice(x, 1, {}, [0.5]) != kb.Choice(x, 1)


def test_a_contextual_domain_says_its_dimensions():
    assert (Contextual(BOX, 3).coordinates, Contextual(BOX, 3).dimension) == (2, 5)
    assert (Contextual(4, 1).coordinates, Contextual(4, 1).dimension) == (4, 5)
    assert Contextual(BOX, 1) == Contextual(kb.Box((0.0, 0.0), (1.0, 2.0)), 1)
