"""kb.Auto: pure asks, replays, units, fits that fail, widths with and without a claim, contexts, mixed boxes."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from conftest import pairwise
from kernelbandits.calibration import Prior, Refits, Rewards, calibrate
from kernelbandits.calibration import evidence as likelihood
from kernelbandits.calibration.fitter import EVALUATIONS, Fitter
from kernelbandits.posterior.base import LARGEST_ERROR

POINTS = np.random.default_rng(6).random((30, 2))
ARMS = kb.Arms(POINTS)
BOX = kb.Box((0.0, -1.0), (2.0, 1.0))
MIXED = kb.MixedBox(
    {"heat": kb.Real(0.0, 1.0), "turns": kb.Integer(1, 6), "acid": kb.Category(("a", "b", "c"))}
)
DOMAINS = {
    "arms": ARMS,
    "box": BOX,
    "mixed": MIXED,
    "context": kb.Contextual(ARMS, 1),
    "box-context": kb.Contextual(BOX, 1),
    "rows": kb.Contextual(2, 1),
}
every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def beside(policy, t=1):
    """What an ask of this domain needs beside the round."""
    if not isinstance(policy.domain, kb.Contextual):
        return {}
    given = {"context": [math.sin(t)]}
    return (
        given
        if policy.domain.domain != 2
        else given | {"arms": np.random.default_rng(t).random((6, 2))}
    )


def value(choice):
    """A smooth function of whatever was chosen, with a rough part in place of noise."""
    x = np.array([sum(map(ord, str(v))) % 7 / 7 if isinstance(v, str) else v for v in choice.x.values()]) \
        if isinstance(choice.x, dict) else choice.x  # fmt: skip
    total = float(np.sum(x)) + (0.0 if choice.context is None else float(np.sum(choice.context)))
    return math.sin(2.0 * total) + 0.02 * math.sin(1e4 * total)


def played(policy, rounds=10, f=value):
    for t in range(policy.turn, policy.turn + rounds):
        choice = policy.ask(**beside(policy, t))
        policy.tell(choice, f(choice))
    return policy


def finite(note):
    return all(math.isfinite(number) for number in note.values())


def matern(x, z, lengths, nu):
    """The Matern kernel by its formula, distance by distance."""
    r = np.sqrt((((x[:, None] - z[None]) / lengths) ** 2).sum(2))
    if math.isinf(nu):
        return np.exp(-(r**2) / 2)
    a = math.sqrt(2 * nu) * r
    return (1 + a + (a**2 / 3 if nu == 2.5 else 0.0)) * np.exp(-a)


ONE = {"members": 1, "prior": Prior(additive=None, nugget=None), "transform": False}
"""One smooth kernel at its most probable scales, and linear units: what `Dense` computes."""


class Dense:
    """y = m + f(x) + noise in the rewards' own units, with the fitted scales, by np.linalg on rewards one by one.

    The mean m is uncertain, with the spread of the rewards as its sd, or known to be the fitted one.
    """

    def __init__(self, fit, spans, rows, rewards, mean_known=False):
        self.rows, self.rewards = np.array(rows), np.array(rewards)
        self.lengths, self.nu = np.array(fit.lengthscales) * spans, fit.nu
        self.level = 0.0 if mean_known else fit.standard.spread**2
        self.middle = fit.standard.centre + (fit.standard.spread * fit.mean if mean_known else 0.0)
        self.signal = fit.signal_variance * fit.standard.spread**2
        self.noise = fit.noise_variance * fit.standard.spread**2
        self.inverse = np.linalg.inv(
            self.k(self.rows, self.rows) + self.noise * np.eye(len(self.rows))
        )

    def k(self, x, z):
        return self.signal * matern(x, z, self.lengths, self.nu) + self.level

    def at(self, where):
        """Mean and covariance."""
        cross = self.k(where, self.rows)
        mean = self.middle + cross @ self.inverse @ (self.rewards - self.middle)
        return mean, self.k(where, where) - cross @ self.inverse @ cross.T

    @property
    def log_det(self):
        return np.linalg.slogdet(
            np.eye(len(self.rows)) + self.k(self.rows, self.rows) / self.noise
        )[1]


# ---------------------------------------------------------------- asking and telling


@every_domain
def test_ask_and_tell_work_from_the_first_point_without_round_or_randomness(domain):
    policy = kb.Auto(domain)
    for t in range(1, 9):
        choice = policy.ask(**beside(policy, t))
        assert finite(choice.note)
        policy.tell(choice, value(choice))
        assert (policy.rewards.events, policy.turn) == (t, t + 1)


def test_points_of_a_finite_space_with_equal_results_are_measured_once_while_others_are_left():
    space = kb.MixedBox({"acid": kb.Category(tuple("abcdefgh"))})
    policy = kb.Auto(space, goal="find")
    played(policy, 8, lambda choice: float(ord(choice.x["acid"]) % 5))
    assert len(policy.rewards) == 8


@pytest.mark.thorough
def test_a_corner_of_a_box_that_repeats_its_result_is_left():
    """Its value may be a limit of detection, so its repeats lower no noise estimate."""
    policy = kb.Auto(kb.Box((0.0, 0.0), (1.0, 1.0)), goal="find")
    played(policy, 25, lambda choice: -sum(x + np.sin(3 * np.pi * x) ** 2 for x in choice.x))
    assert policy.recommend() == pytest.approx([0.0, 0.0], abs=1e-3)
    assert len(policy.rewards) >= 24


def test_a_repeat_in_a_finite_space_is_scored_by_what_it_adds_to_the_best_estimate():
    """E[max(m + s z, the others)] - max m for z ~ N(0, 1), s = v / sqrt(v + noise), by a sum."""
    space = kb.MixedBox({"turns": kb.Integer(1, 3)})
    policy = kb.Auto(space, goal="find", members=1, transform=False, noise=0.3)
    for turns, reward in ((1, 0.0), (2, 1.0), (3, 1.1), (2, 1.3), (1, 0.4)):
        policy.tell(kb.Choice(x={"turns": turns}), reward)
    means, sds = policy.posterior.at([[1.0], [2.0], [3.0]])
    z = np.linspace(-8, 8, 20001)
    density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    steps = sds**2 / np.sqrt(sds**2 + policy.calibration.noise_variance)
    rivals = [np.delete(means, i).max() for i in range(3)]
    gains = [
        density @ np.maximum(mean + step * z, rival) - means.max()
        for mean, step, rival in zip(means, steps, rivals, strict=True)
    ]
    choice = policy.ask()
    assert choice.x == {"turns": 1 + int(np.argmax(gains))}
    assert choice.note["improvement"] == pytest.approx(max(gains) * policy.units.spread, rel=1e-4)


@every_domain
def test_ask_is_pure(domain):
    policy = kb.Auto(domain, exploration=kb.Gaussian())
    for t in range(1, 6):
        given = beside(policy, t)
        first = policy.ask(**given)
        stated = dict(policy.settings)
        kb.insight.explain(policy, first)
        policy.batch(2, **given)
        policy.recommend(**given)
        assert policy.ask(**given) == first == policy.ask(t, kb.Streams(0), **given)
        assert policy.settings == stated
        policy.tell(first, value(first))


@every_domain
def test_equal_seeds_give_equal_runs(domain):
    one, other = (played(kb.Auto(domain, exploration=kb.Gaussian(), seed=3), 9) for _ in range(2))
    assert one.ask(**beside(one)) == other.ask(**beside(other))
    np.testing.assert_array_equal(one.rewards.points, other.rewards.points)


def test_another_seed_is_another_run():
    runs = {played(kb.Auto(BOX, seed=seed), 4).rewards.points.tobytes() for seed in range(4)}
    assert len(runs) == 4


@every_domain
def test_a_policy_told_the_same_in_the_same_order_asks_the_same(domain):
    """Also where rewards come in another order than that of the asks, and some asks fail."""
    first, told = kb.Auto(domain, seed=2), []
    for _ in range(4):
        batch = first.batch(3, **beside(first, first.turn))
        for choice in (batch[1], batch[0], batch[2]):
            if len(told) % 5 == 4:
                first.fail(choice)
                told.append((choice, None))
            else:
                first.tell(choice, value(choice))
                told.append((choice, value(choice)))
    again = kb.Auto(domain, seed=2)
    for choice, reward in told:
        if reward is None:
            again.fail(choice)
        else:
            again.tell(kb.Choice(choice.x, choice.arm, {}, choice.context), reward)
    assert again.turn == first.turn == 13
    assert again.ask(**beside(again)) == first.ask(**beside(first))
    assert again.calibration == first.calibration


def test_a_generator_is_accepted_and_drawn_from():
    policy = played(kb.Auto(ARMS, exploration=kb.Gaussian()), 6)
    weights = {policy.ask(7, np.random.default_rng(seed)).note["weight"] for seed in range(5)}
    assert len(weights) == 5


def test_the_weight_is_drawn_from_the_law():
    policy = played(kb.Auto(ARMS, exploration=kb.Bernoulli(0.5)), 6)
    weights = [policy.ask(t).note["weight"] for t in range(1, 401)]
    assert set(weights) == {0.0, 1.0}
    assert abs(np.mean(weights) - 0.5) <= 4 * 0.5 / 20


def test_the_first_choices_are_all_different():
    policy = kb.Auto(ARMS, first=5)
    arms = [choice.arm for choice in policy.batch(5)]
    assert len(set(arms)) == 5
    assert all(choice.note["first"] == 1.0 for choice in policy.batch(5))


def test_rewards_nobody_asked_for_may_be_told_first():
    policy = kb.Auto(ARMS)
    for arm in range(10):
        policy.tell(policy.choice(arm), math.sin(3 * POINTS[arm].sum()))
    assert "first" not in policy.ask().note
    assert policy.turn == 11


# ---------------------------------------------------------------- against a naive implementation


def naive_fit(rows, rewards, spans):
    """From all rewards, collapsed by hand."""
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort([np.flatnonzero(which == i)[0] for i in range(len(distinct))])
    summary = [
        np.array([f(rewards[which == i]) for i in order])
        for f in (len, np.sum, lambda y: np.sum(y**2))
    ]
    return calibrate(distinct[order] / spans, *summary, prior=ONE["prior"], evaluations=EVALUATIONS)


@pytest.mark.thorough
@pytest.mark.parametrize("law", [kb.PointMass(1.0), kb.Gaussian()], ids=str)
def test_on_arms_it_agrees_with_fitting_and_solving_from_scratch_round_by_round(law):
    policy, spans, fit = kb.Auto(ARMS, exploration=law, **ONE), np.ptp(POINTS, axis=0), None
    rows, rewards, noise = [], [], np.random.default_rng(3).normal(size=40)
    for t in range(1, 41):
        choice = policy.ask()
        if not choice.note.get("first"):
            dense = Dense(fit, spans, rows, rewards)
            mean, covariance = dense.at(POINTS)
            sd = np.sqrt(np.diag(covariance))
            index = mean + choice.note["weight"] * choice.note["width"] * sd
            assert choice.arm == int(index.argmax())
            told = choice.note["mean"], choice.note["sd"], choice.note["noise_scale"]
            assert told == pytest.approx(
                (mean[choice.arm], sd[choice.arm], math.sqrt(dense.noise)), rel=1e-5, abs=1e-7
            )
            assert policy.recommend() == int(mean.argmax())
        reward = math.sin(4 * choice.x[0]) * choice.x[1] + 0.05 * noise[t - 1]
        policy.tell(choice, reward)
        rows.append(choice.x)
        rewards.append(reward)
        if policy.learner.refits.is_due(t):
            fit = naive_fit(np.array(rows), np.array(rewards), spans)


@pytest.mark.thorough
def test_on_a_box_the_choice_is_the_maximiser_of_the_same_index():
    """As far as a search can tell: no random point is better by two hundredths of the signal's standard deviation."""
    policy = played(kb.Auto(BOX, width="practical", **ONE), 15)
    dense = Dense(policy.calibration, [2.0, 2.0], *told_of(policy))
    choice = policy.ask()
    rows = np.random.default_rng(1).uniform(BOX.lower, BOX.upper, (3000, 2))
    reach = choice.note["weight"] * choice.note["width"]

    def index(where):
        mean, covariance = dense.at(where)
        return mean + reach * np.sqrt(np.diag(covariance))

    mean, covariance = dense.at(choice.x[None])
    assert (choice.note["mean"], choice.note["sd"]) == pytest.approx(
        (mean[0], math.sqrt(covariance[0, 0])), rel=1e-6
    )
    assert index(choice.x[None])[0] >= index(rows).max() - 0.02 * math.sqrt(dense.signal)


def told_of(policy):
    """Points and rewards one by one; at a point played again the mean of its rewards stands for each of them."""
    counts = policy.rewards.counts.astype(int)
    means = policy.rewards.sums / counts + policy.rewards.origin
    return policy.rewards.points.repeat(counts, 0), means.repeat(counts)


def test_scales_are_fitted_at_the_times_said_and_by_tell_only():
    policy, fits = kb.Auto(ARMS, refits=Refits(growth=2.0, first=2)), []
    for n in range(1, 20):
        policy.ask()
        choice = policy.choice(n)
        policy.tell(choice, value(choice))
        if not fits or fits[-1][1] != policy.calibration:
            fits.append((n, policy.calibration))
    assert [n for n, _ in fits[1:]] == [2, 4, 8, 16]


def test_a_repeat_that_says_something_new_of_the_noise_calls_for_a_fit():
    """The first repeat does, and one that is far from the earlier rewards of its arm."""
    policy = kb.Auto(ARMS, refits=Refits(growth=100.0, first=6))
    for arm in range(6):
        policy.tell(policy.choice(arm), float(POINTS[arm].sum()))
    fits = [policy.calibration]

    def tell(arm, away):
        policy.tell(policy.choice(arm), float(POINTS[arm].sum()) + away)
        fits.append(policy.calibration)

    tell(0, 0.02)
    assert fits[-1] != fits[-2]
    tell(0, 0.01)
    assert fits[-1] is fits[-2]
    tell(7, 0.0)
    assert fits[-1] is fits[-2]
    tell(1, 1.0)
    assert fits[-1] != fits[-2]
    assert fits[-1].noise_scale > 3 * fits[-2].noise_scale


def test_rewards_are_kept_by_distinct_point():
    rewards, rows = Rewards(), [[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0]]
    for row, reward in zip(rows, (1e6, 1e6 + 1, 1e6 + 3), strict=True):
        rewards.add(np.array(row), reward)
    assert (rewards.events, len(rewards), rewards.origin) == (3, 2, 1e6)
    assert [rewards.counts.tolist(), rewards.sums.tolist(), rewards.squares.tolist()] == [
        [2, 1],
        [3, 1],
        [9, 1],
    ]
    assert rewards.points.tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.thorough
def test_a_category_that_always_fails_is_left_alone():
    """Solvent B never works: without the rule it is asked for 13 of 40 times."""
    space = kb.MixedBox({"x": kb.Real(0, 1), "solvent": kb.Category(("A", "B", "C"))})
    auto, failures = kb.Auto(space, goal="find", seed=1), 0
    for _ in range(24):
        choice = auto.ask()
        if choice.x["solvent"] == "B":
            auto.fail(choice)
            failures += 1
        else:
            auto.tell(choice, -((choice.x["x"] - 0.3) ** 2))
    assert failures <= 6


# ---------------------------------------------------------------- units


def on_grid(x):
    """A reward of eleven binary digits: scaled by a power of two and shifted by one, it stays exact."""
    return round(1024 * (math.sin(4 * x[0]) * x[1] + 0.03 * math.sin(1e4 * x[0]))) / 1024


@pytest.mark.thorough
@pairwise(
    shift=[0.0, -1.0, 2.0**10, -(2.0**20)],
    scale=[2.0**-20, 1.0, 2.0**20],
    width=["practical", "theory"],
)
def test_rewards_in_other_units_change_nothing_but_units(scale, shift, width):
    plain, other = kb.Auto(ARMS, width=width), kb.Auto(ARMS, width=width)
    rounding = 1e-5 + 1e-10 * abs(shift) / scale
    for _ in range(25):
        one, two = plain.ask(), other.ask()
        assert one.arm == two.arm
        if plain.calibration.ok:
            assert two.note["mean"] == pytest.approx(
                scale * one.note["mean"] + shift, abs=scale * rounding
            )
            for name in ("sd", "noise_scale"):
                assert two.note[name] == pytest.approx(scale * one.note[name], rel=10 * rounding)
            assert two.note.get("width", 0.0) == pytest.approx(
                one.note.get("width", 0.0), rel=10 * rounding
            )
        plain.tell(one, on_grid(one.x))
        other.tell(two, scale * on_grid(two.x) + shift)


@pytest.mark.parametrize(("lower", "side"), [(0.0, 1e-6), (1e9, 1.0), (-1e4, 1e8), (1e-90, 1e-80)])
def test_a_box_in_other_units_is_the_same_box(lower, side):
    """The same greatest index, wherever there are several, up to what rounding of the corner leaves."""
    plain, moved = (
        kb.Auto(kb.Box((0.0, 0.0), (1.0, 1.0))),
        kb.Auto(kb.Box((0.0, lower), (1.0, lower + side))),
    )
    for _ in range(6):
        one, two = plain.ask(), moved.ask()
        assert {
            name: two.note[name] for name in ("width", "index", "noise_scale") if name in two.note
        } == pytest.approx(
            {
                name: one.note[name]
                for name in ("width", "index", "noise_scale")
                if name in one.note
            },
            rel=1e-3,
        )
        reward = math.sin(3 * one.x[0]) + one.x[1]
        plain.tell(one, reward)
        moved.tell(
            moved.choice([one.x[0], min(max(lower + side * one.x[1], lower), lower + side)]), reward
        )


def test_a_context_far_from_zero_is_a_context():
    policy = kb.Auto(kb.Contextual(BOX, 1))
    for t in range(8):
        choice = policy.ask(context=[1e9 + t % 3])
        assert finite(choice.note)
        policy.tell(choice, float(choice.x[0]))
    assert policy.calibration.ok


# ---------------------------------------------------------------- what may go wrong


EDGES = {
    "constant": lambda t, x: 3.0,
    "zero": lambda t, x: 0.0,
    "tiny": lambda t, x: 1e-300 * math.sin(5 * t),
    "huge": lambda t, x: 1e149 * math.sin(5 * t),
    "constant-huge": lambda t, x: 1e150,
    "one-jump": lambda t, x: 1e100 if t == 9 else math.sin(t),
    "from-tiny-to-one": lambda t, x: math.sin(t) * (1.0 if t > 9 else 1e-300),
    "nearly-constant": lambda t, x: 1.0 + 1e-16 * t,
    "noise": lambda t, x: math.sin(1e5 * t),
}
PLACES = {
    "arms": ARMS,
    "single-arm": kb.Arms([[0.3, 0.4]]),
    "line": kb.Arms(np.linspace(0, 1, 9)[:, None] * [1.0, 0.0]),
    "box": kb.Box((0.0,), (1.0,)),
}


@pairwise(kind=EDGES, place=PLACES, width=["practical", "theory"])
def test_rewards_of_any_kind_leave_finite_numbers(place, kind, width):
    policy, edge = kb.Auto(PLACES[place], width=width), EDGES[kind]
    for t in range(1, 15):
        choice = policy.ask()
        assert finite(choice.note)
        policy.tell(choice, edge(t, choice.x))
    why = kb.insight.explain(policy, policy.ask())
    assert finite(
        {"mean": why.mean, "sd": why.sd, "chance": why.chance, "greedy": why.highest_mean}
    )
    assert policy.posterior.events == policy.rewards.events == 14


@pytest.mark.thorough
@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-1e150, 1e150)), min_size=1, max_size=14),
    st.sampled_from([1e-300, 1e-150, 1e-6, 1.0]),
)
def test_no_sequence_of_rewards_breaks_it(told, scale):
    policy = kb.Auto(kb.Arms(POINTS[:5]), width="theory")
    for arm, reward in told:
        policy.tell(policy.choice(arm), scale * reward)
        assert finite(policy.ask().note)
    assert policy.posterior.events == len(told)


def test_a_reward_beyond_all_scales_is_fitted_to_at_once():
    """In units of the rewards so far it would be no number."""
    policy = kb.Auto(ARMS, refits=Refits(growth=4.0, first=2))
    for arm in range(4):
        policy.tell(policy.choice(arm), 1e-300 * arm)
    policy.tell(policy.choice(4), 1.0)
    assert policy.posterior.events == policy.rewards.events == 5
    assert policy.calibration.rewards == 5


def test_one_observation_is_enough_to_go_on():
    policy = kb.Auto(BOX, first=1)
    policy.tell(policy.ask(), 7.0)
    choice = policy.ask()
    assert "first" not in choice.note
    assert finite(choice.note)
    assert "not fitted" in policy.settings["calibration"]


def test_arms_that_are_all_one_point_are_one_point():
    with pytest.warns(kb.DataNotice, match="repeat"):
        arms = kb.Arms([[0.2, 0.3]] * 5)
    policy, rewards = kb.Auto(arms), np.random.default_rng(2).normal(4.0, 0.5, 40)
    for reward in rewards.tolist():
        policy.tell(policy.ask(), reward)
    assert len(policy.rewards) == 1
    np.testing.assert_allclose(policy.posterior.mean, policy.posterior.mean[0])
    assert policy.units.original(policy.posterior.mean[0]) == pytest.approx(rewards.mean(), abs=0.2)
    assert 0.25 * rewards.std() < policy.calibration.noise_scale < 1.25 * rewards.std()


def test_some_arms_that_repeat_others_learn_together():
    with pytest.warns(kb.DataNotice, match="repeat"):
        arms = kb.Arms(np.vstack([POINTS[:6], POINTS[:3]]))
    policy = kb.Auto(arms)
    for t in range(30):
        policy.tell(policy.choice(t % 9), float(POINTS[t % 9 % 6].sum()) + 0.01 * math.sin(50 * t))
    np.testing.assert_allclose(policy.posterior.mean[6:], policy.posterior.mean[:3], atol=1e-9)
    assert len(policy.rewards) == 6


def test_thirty_dimensions():
    policy = kb.Auto(kb.Box((0.0,) * 30, (1.0,) * 30))
    played(policy, 12, lambda choice: -float(((choice.x - 0.3) ** 2).sum()))
    assert finite(policy.ask().note)
    assert policy.ask().x.shape == (30,)


@pytest.mark.thorough
def test_ten_thousand_arms():
    points = np.random.default_rng(1).random((10_000, 3))
    policy = kb.Auto(kb.Arms(points))
    played(policy, 20, lambda choice: -float(((choice.x - 0.3) ** 2).sum()))
    values = -((points - 0.3) ** 2).sum(1)
    assert values[policy.recommend()] > np.quantile(values, 0.97)


@pytest.mark.thorough
def test_two_thousand_rewards_on_ninety_four_arms_take_few_fits_and_little_room(monkeypatch):
    fits, fit = [], Fitter.fit
    monkeypatch.setattr(Fitter, "fit", lambda *given: (fits.append(1), fit(*given))[1])
    points, rng = np.random.default_rng(1).random((94, 3)), np.random.default_rng(2)
    policy = kb.Auto(kb.Arms(points))
    for i in range(2000):
        policy.tell(policy.choice(i % 94), float(points[i % 94].sum() + 0.05 * rng.normal()))
    assert len(fits) < 60
    assert (policy.rewards.events, len(policy.rewards)) == (2000, 94)
    assert policy.calibration.noise_scale == pytest.approx(0.05, rel=0.1)


def test_a_fit_that_fails_takes_the_prior_and_is_reported_once(monkeypatch):
    policy = played(kb.Auto(ARMS), 8)
    assert policy.calibration.ok
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        patch.setitem(
            likelihood.PROFILES, policy.learner.fitter.nu, lambda squares: (2.0 + squares, squares)
        )
        played(policy, 22)
    told = [
        str(warning.message) for warning in said if issubclass(warning.category, kb.NumericsWarning)
    ]
    assert told == [
        "Auto: the scales cannot be fitted to these rewards, so the usual scales are taken"
    ]
    assert not policy.calibration.ok
    assert "the scales cannot be fitted" in policy.settings["calibration"]
    assert policy.posterior.events == 30
    played(policy, 12)
    assert policy.calibration.ok


def test_rewards_that_become_constant_again_are_no_failure():
    policy = kb.Auto(ARMS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        played(policy, 12, lambda choice: 2.0)
        played(policy, 12)
    assert policy.calibration.ok


def test_a_failure_where_no_reward_came_is_no_observation_and_is_not_asked_for_at_once():
    policy = kb.Auto(ARMS)
    for arm in range(9):
        policy.tell(policy.choice(arm), float(POINTS[arm].sum()))
    fit = policy.calibration
    best = max(
        (policy.choice(arm) for arm in range(9, 30)),
        key=lambda choice: policy.index(10)[choice.arm],
    )
    policy.fail(best)
    assert (policy.rewards.events, policy.turn, policy.calibration) == (9, 11, fit)
    assert policy.ask().arm != best.arm
    assert policy.success_chance(best) < policy.success_chance(policy.choice(0))


@pytest.mark.thorough
@pytest.mark.parametrize("domain", [ARMS, kb.Box((0.0, 0.0), (1.0, 1.0))], ids=["arms", "box"])
def test_failing_places_are_not_asked_for_ever(domain):
    """The best half fails always: in the end most choices give a reward.

    With the rewards near a point counted as rewards at it, a point of the box was asked for 15
    times in a row though it failed every time.
    """
    policy, failed = kb.Auto(domain), []
    for _ in range(50):
        choice = policy.ask()
        failed.append(choice.x[0] > 0.5)
        if failed[-1]:
            policy.fail(choice)
        else:
            policy.tell(choice, float(choice.x[0]))
    assert sum(failed[-15:]) <= 8
    assert policy.recommend_choice().x[0] <= 0.55


def test_failures_change_no_estimate():
    """Wherever they happen, and however often."""
    policy = kb.Auto(ARMS)
    for arm in [*range(8), 3, 3]:
        policy.tell(policy.choice(arm), float(POINTS[arm].sum()))
    before = policy.estimates()
    for arm in (3, 3, 3, 3, 12, 12, 12):
        policy.fail(policy.choice(arm))
    np.testing.assert_array_equal(policy.estimates(), before)
    assert policy.posterior.events == policy.rewards.events
    assert policy.turn == 1 + policy.rewards.events + 7


@every_domain
def test_the_posterior_has_always_learnt_the_rewards_and_no_failures(domain):
    """In any order of rewards and failures, repeats among them: as if all had been learnt anew."""
    policy, rng = kb.Auto(domain), np.random.default_rng(3)
    for t in range(1, 31):
        choice = policy.ask(**beside(policy, t % 4))
        for _ in range(int(rng.integers(1, 3))):
            if rng.random() < 0.5:
                policy.fail(choice)
            else:
                policy.tell(choice, value(choice))
        assert policy.posterior.events == policy.rewards.events
    rows = policy.domain.points if policy.finite else policy.rewards.points
    learnt, log_det = policy.posterior.at(rows), policy.posterior.log_det
    policy.learner._set_checkpoint(policy.learner._knowledge)
    np.testing.assert_allclose(policy.posterior.at(rows), learnt, atol=1e-6)
    assert policy.posterior.log_det == pytest.approx(log_det, rel=1e-6)
    assert policy.failed


def test_failures_before_the_first_reward_move_on():
    policy, seen = kb.Auto(ARMS), []
    for _ in range(8):
        choice = policy.ask()
        seen.append(choice.arm)
        policy.fail(choice)
    assert len(set(seen)) >= 6
    policy.tell(policy.ask(), 1.0)
    assert finite(policy.ask().note)


# ---------------------------------------------------------------- widths


def until_fitted(policy, rounds):
    """At least so many rewards, and the last of them fitted to."""
    played(policy, rounds)
    while not policy.learner.refits.is_due(policy.rewards.events):
        played(policy, 1)
    return policy


@pytest.mark.parametrize("nu", [1.5, 2.5, math.inf])
def test_the_theory_width_is_the_paper_s_with_fitted_constants(nu):
    """D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L), in signal units; R is the safety factor times sqrt(ridge)."""
    policy = until_fitted(kb.Auto(BOX, width="theory", delta=0.05, safety=3.0, nu=nu), 12)
    fit = policy.calibration
    dense = Dense(fit, [2.0, 2.0], *told_of(policy), mean_known=True)
    u = (dense.rewards - dense.middle) / math.sqrt(dense.signal)
    k = dense.k(dense.rows, dense.rows) / dense.signal
    ridge = dense.noise / dense.signal
    alpha = np.linalg.solve(k + ridge * np.eye(len(u)), u)
    counts = policy.rewards.counts.astype(int).repeat(policy.rewards.counts.astype(int))
    bound = 3.0 * max(
        math.sqrt(alpha @ k @ alpha), (np.abs(u) - 2 * np.sqrt(ridge / counts)).max(), 1.0
    )
    width = bound + 3.0 * math.sqrt(2 * math.log(1 / 0.05) + dense.log_det)
    assert policy.settings["norm_bound"] == pytest.approx(bound, rel=1e-6)
    assert policy.settings["noise_scale"] == pytest.approx(3.0 * math.sqrt(dense.noise), rel=1e-9)
    assert (policy.settings["delta"], policy.settings["safety"]) == (0.05, 3.0)
    assert policy.posterior.ridge == pytest.approx(fit.noise_variance, rel=1e-9)
    assert policy.ask().note["width"] == pytest.approx(width, rel=1e-6)


def test_the_settings_state_what_is_claimed():
    theory, practical = (played(kb.Auto(ARMS, width=width), 9) for width in ("theory", "practical"))
    assert practical.settings["claim"] == "none: the confidence width was chosen by benchmark"
    assert "nothing is claimed" in practical.settings["width"]
    told = theory.settings
    numbers = f"R = {told['noise_scale']:.3g} (units of the rewards) and D = {told['norm_bound']:.3g} (signal sd)"
    assert (
        told["claim"]
        == f"conditional: it would hold had kernel, centre, {numbers} been fixed beforehand"
    )
    assert told["width"] == "D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L)"
    assert told["calibration"] == theory.calibration.sentence()
    assert told["ridge"] == theory.posterior.ridge


def test_the_settings_state_it_before_the_first_reward():
    assert kb.Auto(ARMS).settings["claim"].startswith("none")
    theory = kb.Auto(ARMS, width="theory", delta=0.2, safety=1.5)
    assert theory.settings["claim"].startswith(
        "conditional: it would hold had kernel, centre, R = "
    )
    assert (theory.settings["delta"], theory.settings["safety"]) == (0.2, 1.5)
    for policy in (theory, kb.Auto(BOX)):
        assert policy.settings["ridge"] == policy.posterior.ridge
        assert policy.settings["calibration"] == policy.calibration.sentence()


@pytest.mark.parametrize(
    "width", [0, 2.5, kb.widths.bogunovic_practical()], ids=["zero", "number", "width"]
)
def test_a_width_of_one_s_own_is_taken_and_nothing_is_claimed_of_it(width):
    policy = played(kb.Auto(ARMS, width=width), 5)
    expected = width(9, 0.0) if isinstance(width, kb.widths.Width) else width
    assert policy.ask(9).note["width"] == expected
    assert policy.ask(9, pending=[policy.choice(2)]).note["width"] == expected
    assert policy.settings["claim"].startswith("none")


def test_the_practical_width_does_not_grow():
    policy = played(kb.Auto(ARMS, width="practical"), 5)
    widths = [policy.ask(t).note["width"] for t in range(6, 60)]
    assert (np.diff(widths) <= 0).all()
    assert min(widths) > 0


# ---------------------------------------------------------------- pending


@every_domain
def test_a_batch_has_distinct_points(domain):
    policy = played(kb.Auto(domain, width=5.0), 5)
    batch = policy.batch(4, **beside(policy))
    rows = {
        policy._place_of(choice) if policy.finite else policy._place_of(choice).tobytes()
        for choice in batch
    }
    assert len(rows) == 4
    assert [choice.note.get("pending", 0.0) for choice in batch] == [0.0, 1.0, 2.0, 3.0]


@every_domain
def test_a_batch_before_the_first_reward_has_distinct_points(domain):
    policy = kb.Auto(domain)
    batch = policy.batch(3, **beside(policy))
    rows = {
        policy._place_of(choice) if policy.finite else policy._place_of(choice).tobytes()
        for choice in batch
    }
    assert len(rows) == 3


def test_asks_with_those_before_pending_are_a_batch():
    policy, chosen = played(kb.Auto(BOX, exploration=kb.Gaussian()), 5), []
    for _ in range(3):
        chosen.append(policy.ask(pending=chosen))
    assert tuple(chosen) == policy.batch(3) == policy.batch(3, 6, kb.Streams(0))


def test_pending_takes_the_variance_down_and_leaves_the_estimate():
    policy = played(kb.Auto(ARMS, **ONE), 9)
    pending = [policy.choice(arm) for arm in (4, 5, 4)]
    dense = Dense(policy.calibration, np.ptp(POINTS, axis=0),
                  [*policy.rewards.points.repeat(policy.rewards.counts.astype(int), 0), *POINTS[[4, 5, 4]]],
                  np.zeros(policy.rewards.events + 3))  # fmt: skip
    choice = policy.ask(pending=pending)
    assert choice.note["sd"] == pytest.approx(
        math.sqrt(dense.at(choice.x[None])[1][0, 0]), rel=1e-6
    )
    mean = policy.units.original(policy.posterior.mean[choice.arm])
    assert choice.note["mean"] == pytest.approx(mean, rel=1e-9)


def test_a_theory_width_is_inflated_by_what_is_pending_and_a_practical_one_is_not():
    for width in ("theory", "practical"):
        policy = played(kb.Auto(ARMS, width=width), 9)
        pending = [policy.choice(arm) for arm in (4, 5)]
        alone, ahead = policy.ask(10).note, policy.ask(10, pending=pending).note
        rows = policy.rewards.points.repeat(policy.rewards.counts.astype(int), 0)
        spans = np.ptp(POINTS, axis=0)
        now, then = (
            Dense(policy.calibration, spans, told, np.zeros(len(told)), mean_known=True).log_det
            for told in (rows, np.vstack([rows, POINTS[[4, 5]]]))
        )
        inflation = math.exp((then - now) / 2) if width == "theory" else 1.0
        assert ahead["width"] == pytest.approx(inflation * alone["width"], rel=1e-6)
        assert ahead.get("inflation", 1.0) == pytest.approx(inflation, rel=1e-6)
        assert (inflation > 1.01) == (width == "theory")


@pytest.mark.thorough
def test_a_hundred_rewards_may_be_pending_where_nothing_is_claimed():
    policy = played(
        kb.Auto(BOX, prior=Prior(noise=-18.0, noise_sd=0.1)), 3, lambda choice: float(choice.x[0])
    )
    pending = [
        policy.choice(row)
        for row in np.random.default_rng(1).uniform(BOX.lower, BOX.upper, (150, 2))
    ]
    assert finite(policy.ask(pending=pending).note)


# ---------------------------------------------------------------- mixed boxes and contexts


def test_points_of_a_mixed_box_are_admissible_dictionaries():
    policy = kb.Auto(MIXED)
    for _ in range(12):
        choice = policy.ask()
        assert list(choice.x) == ["heat", "turns", "acid"]
        assert 0.0 <= choice.x["heat"] <= 1.0
        assert choice.x["turns"] in range(1, 7)
        assert choice.x["acid"] in ("a", "b", "c")
        policy.tell(choice, value(choice))


def test_a_sequence_of_variables_makes_tuples():
    policy = kb.Auto(kb.MixedBox((kb.Real(0.0, 1.0), kb.Category((True, False)))))
    for _ in range(5):
        choice = policy.ask()
        assert isinstance(choice.x, tuple)
        assert choice.x[1] in (True, False)
        policy.tell(choice, choice.x[0] + choice.x[1])


@pytest.mark.thorough
def test_the_good_category_is_found():
    """b is better than c by eight standard deviations of the noise, than a by twelve: five games of six find it."""
    good, found = {"a": 0.0, "b": 0.6, "c": 0.2}, []
    for seed in range(6):
        policy, noise = kb.Auto(MIXED, seed=seed), np.random.default_rng(seed).normal(size=30)
        for t in range(30):
            x = (choice := policy.ask()).x
            policy.tell(
                choice,
                good[x["acid"]] - (x["heat"] - 0.3) ** 2 + 0.02 * x["turns"] + 0.05 * noise[t],
            )
        found.append(policy.recommend())
    assert sum(best["acid"] == "b" for best in found) >= 5
    assert np.median([abs(best["heat"] - 0.3) for best in found]) < 0.25


def loss(policy, rounds=100, arms=None):
    """f(x, c) = exp(-(x - c)^2 / 0.1): the best is the nearest to the context."""
    every, lost = np.linspace(0, 1, 11), []
    for t in range(1, rounds + 1):
        c = kb.Streams(99).uniform("problem", t)
        rows = {} if arms is None else {"arms": arms(t)}
        choice = policy.ask(context=[c], **rows)
        values = np.exp(-((rows.get("arms", every[:, None])[:, 0] - c) ** 2) / 0.1)
        reward = math.exp(-((choice.x[0] - c) ** 2) / 0.1)
        policy.tell(choice, reward + 0.05 * kb.Streams(98).normal("noise", t, 1)[0])
        lost.append(values.max() - reward)
    return np.array(lost)


CHANGING = {
    "arms": (kb.Arms(np.linspace(0, 1, 11)[:, None]), None),
    "box": (kb.Box((0.0,), (1.0,)), None),
    "rows": (1, lambda t: np.random.default_rng(t).random((8, 1))),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("domain", "arms"), CHANGING.values(), ids=CHANGING)
def test_the_best_choice_for_each_context_is_learnt(domain, arms):
    lost = loss(kb.Auto(kb.Contextual(domain, 1)), arms=arms)
    assert lost[-30:].mean() < max(lost[:10].mean() / 3, 0.05)
    assert lost[-30:].mean() < 0.06


@pytest.mark.thorough
def test_the_recommended_choice_depends_on_the_context():
    policy = kb.Auto(kb.Contextual(kb.Box((0.0,), (1.0,)), 1))
    loss(policy, 60)
    low, high = (policy.recommend_choice(context=[c]) for c in (0.2, 0.8))
    assert low.x[0] < 0.45 < 0.55 < high.x[0]
    assert low.context.tolist() == [0.2]
    rows = kb.Auto(kb.Contextual(1, 1))
    loss(rows, 60, CHANGING["rows"][1])
    assert rows.recommend_choice(context=[0.9], arms=[[0.1], [0.85]]).x.tolist() == [0.85]


@pytest.mark.parametrize("context", [None, [], [1.0, 2.0], [math.nan], "a", math.inf], ids=repr)
@pytest.mark.parametrize("name", ["context", "box-context", "rows"])
def test_a_context_of_the_wrong_size_is_refused_and_changes_nothing(name, context):
    policy = played(kb.Auto(DOMAINS[name]), 4)
    rows = {"arms": POINTS} if name == "rows" else {}
    before = policy.ask(context=[0.5], **rows)
    for call in (policy.ask, lambda **given: policy.batch(2, **given), policy.recommend_choice):
        with pytest.raises(
            ValueError, match=r"^Contextual needs a context of size 1, all finite numbers, got"
        ):
            call(context=context, **rows)
    for learn in (
        lambda choice: policy.tell(choice, 1.0),
        policy.fail,
        partial(kb.insight.explain, policy),
    ):
        with pytest.raises(
            ValueError, match=r"^Contextual needs a context of size 1, all finite numbers, got"
        ):
            learn(kb.Choice(before.x, None, {}, context))
    assert policy.ask(context=[0.5], **rows) == before
    assert (policy.rewards.events, policy.failed) == (4, [])


def test_a_context_where_there_is_none_is_refused():
    with pytest.raises(ValueError, match="ask needs no context"):
        kb.Auto(ARMS).ask(context=[0.5])
    with pytest.raises(ValueError, match="ask needs no context"):
        played(kb.Auto(ARMS), 4).ask(context=[0.5])


# ---------------------------------------------------------------- points played again, and sides


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["box", "mixed", "context", "box-context", "rows"])
def test_the_index_of_a_note_is_that_of_the_point_played(name):
    policy, noise = (
        kb.Auto(DOMAINS[name], exploration=kb.Gaussian()),
        np.random.default_rng(1).normal(size=40),
    )
    for t in range(1, 31):
        choice = policy.ask(**beside(policy, t % 2))
        note = choice.note
        if "first" not in note:
            index = note["mean"] + note["weight"] * note["width"] * note["sd"]
            assert note["index"] == pytest.approx(index, rel=1e-9, abs=1e-12)
        policy.tell(choice, value(choice) + 0.3 * noise[t])


@pytest.mark.thorough
def test_a_point_all_but_played_before_is_that_point():
    """Not one of the choices of a long game is within 0.05 lengthscales of a point played without being it."""
    policy, noise, repeats = (
        kb.Auto(kb.Box((0.0,), (1.0,)), goal="earn"),
        np.random.default_rng(1).normal(size=40),
        0,
    )
    for t in range(40):
        choice = policy.ask()
        if "first" not in choice.note:
            away = np.abs(policy.rewards.points[:, 0] - choice.x[0])
            away /= policy.learner.fit.lengthscales[0]
            assert away.min() == 0 or away.min() >= 0.05
            assert ("repeats" not in choice.note) or away.min() == 0
            repeats += "repeats" in choice.note
        policy.tell(choice, -((choice.x[0] - 0.4) ** 2) + 0.05 * noise[t])
    assert repeats >= 2


@pytest.mark.thorough
def test_without_noise_no_point_is_replaced_by_one_played_before():
    """The best point close to one played has more to earn: it was "best with probability 0"."""
    policy = kb.Auto(kb.Box((0.0, 0.0), (1.0, 1.0)), goal="earn", seed=1)
    for _ in range(20):
        choice = policy.ask()
        assert "repeats" not in choice.note or policy.calibration.noise_variance > 1e-6
        policy.tell(choice, -np.sum((choice.x - 0.3) ** 2))
    choice = policy.ask()
    assert "repeats" not in choice.note
    assert choice.note["mean"] > max(result.value for result in policy.learner.results) - 1e-4
    assert kb.insight.explain(policy, choice).chance > 0.1


def test_sides_are_those_of_the_domain_a_category_s_one_and_a_context_s_as_far_as_seen():
    assert kb.Auto(MIXED).learner.fitter.sides(Rewards()) == pytest.approx(
        [1.0, 5.0, 1.0, 1.0, 1.0]
    )
    policy = kb.Auto(kb.Contextual(BOX, 2))
    assert policy.learner.fitter.sides(policy.rewards).tolist() == [2.0, 2.0, 1.0, 1.0]
    for context in ([3.0, 7.0], [13.0, 7.0], [5.0, 7.0]):
        policy.tell(policy.ask(context=context), context[0])
    assert policy.learner.fitter.sides(policy.rewards).tolist() == [2.0, 2.0, 10.0, 1.0]
    scales = np.array(policy.calibration.lengthscales) * [2.0, 2.0, 10.0, 1.0]
    np.testing.assert_allclose(policy.learner.fit.lengthscales, scales)


def test_a_failure_between_fits_leaves_the_kernel_of_the_last_fit():
    """Though the contexts seen since then reach farther."""
    policy = kb.Auto(kb.Contextual(ARMS, 1), refits=Refits(growth=100.0, first=3))
    for t in range(3):
        policy.tell(policy.choice(t, context=[float(t)]), POINTS[t].sum())
    kernel = policy.posterior.kernel
    for arm in (8, 8, 8):
        policy.fail(policy.choice(arm, context=[50.0]))
    policy.tell(policy.choice(8, context=[50.0]), 1.0)
    policy.tell(policy.choice(7, context=[50.0]), 1.0)
    assert policy.posterior.kernel == kernel
    assert policy.posterior.events == 5


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("size", [1e101, -1e308, 1e308])
def test_a_context_beyond_reason_is_refused_and_changes_nothing(size):
    policy = played(kb.Auto(kb.Contextual(BOX, 1)), 6)
    before = policy.ask(context=[0.5])
    calls = (
        lambda: policy.ask(context=[size]),
        lambda: policy.tell(kb.Choice(before.x, None, {}, [size]), 1.0),
        lambda: policy.fail(kb.Choice(before.x, None, {}, [size])),
        lambda: kb.Auto(kb.Contextual(2, 0)).ask(arms=[[0.0, size], [0.0, 1.0]]),
    )
    for call in calls:
        with pytest.raises(
            ValueError, match=r"^Auto needs coordinates of size at most 1e\+100, got "
        ):
            call()
    assert policy.ask(context=[0.5]) == before
    assert (policy.rewards.events, policy.failed) == (6, [])
    played(policy, 8)
    assert policy.rewards.events == 14


def test_arms_beyond_reason_are_refused():
    arms = kb.Arms([[-1e308], [1e308]])
    for domain in (arms, kb.Contextual(arms, 1)):
        with pytest.raises(
            ValueError, match=r"^Auto needs coordinates of size at most 1e\+100, got 1e\+308$"
        ):
            kb.Auto(domain)


@pytest.mark.parametrize("rounds", [6, 7])
@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_tell_that_stops_half_way_changes_nothing(monkeypatch, domain, rounds, error):
    """Whether scales were to be fitted with it, as after 7, or not."""
    policy = played(kb.Auto(domain, refits=Refits(growth=2.0, first=4)), rounds)
    before, stated = policy.ask(), dict(policy.settings)

    def stop(*given, **named):
        raise error("stopped")

    with monkeypatch.context() as patch:
        for after_counting in ("_take_fit", "_is_surprising"):
            patch.setattr(policy.learner, after_counting, stop)
        with pytest.raises(error):
            policy.tell(policy.ask(), 3.0)
    assert (policy.rewards.events, policy.posterior.events, policy.settings) == (
        rounds,
        rounds,
        stated,
    )
    assert policy.ask().note == pytest.approx(before.note, rel=1e-6)
    played(policy, 3)
    assert policy.posterior.events == policy.rewards.events == rounds + 3


def test_refits_far_apart_are_never_due_again():
    assert [n for n in range(1, 300) if Refits(growth=1.7e308, first=2).is_due(n)] == [2]
    assert [n for n in range(1, 300) if Refits(growth=100.0, first=2).is_due(n)] == [2, 200]


def test_an_arm_whose_point_is_another_s_is_refused_and_changes_nothing():
    policy = played(kb.Auto(ARMS), 3)
    for call in (
        lambda bad: policy.tell(bad, 1.0),
        policy.fail,
        partial(kb.insight.explain, policy),
    ):
        with pytest.raises(
            ValueError, match=r"^tell needs the point of arm 3 with its number, got "
        ):
            call(kb.Choice(POINTS[4], 3))
    assert (policy.rewards.events, policy.failed) == (3, [])
    for good in (kb.Choice(None, 3), kb.Choice(POINTS[3].tolist(), 3), kb.Choice(POINTS[3])):
        policy.tell(good, 1.0)
    assert policy.rewards.events == 6


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ((0.0,), (0.0,)),
        ((1.0, 0.0), (2.0, -1.0)),
        ((0.0,), (math.inf,)),
        ((-math.inf,), (0.0,)),
        ((math.nan,), (1.0,)),
        ((), ()),
        ((0.0,), (1.0, 2.0)),
        (("a",), ("b",)),
        (None, None),
        (0.0, 1.0),
    ],
)
def test_boxes_without_an_inside_are_refused(lower, upper):
    with pytest.raises(ValueError, match=r"^Box needs .*, got "):
        kb.Auto(kb.Box(lower, upper))


@pytest.mark.parametrize(
    "bad",
    [
        *({"width": bad} for bad in ("wide", -2.0, math.nan, math.inf, True)),
        *({"delta": bad} for bad in (0.0, 1.0, -1, math.nan, "0.1", None)),
        *({"safety": bad} for bad in (0.0, -1.0, math.inf, "2", None)),
        *({"first": bad} for bad in (0, 1.5, "2")),
        *({"prior": bad} for bad in (3, "flat", {})),
        *({"refits": bad} for bad in (3, "often", 1.25)),
        *({"shared": bad} for bad in (1, None, "yes")),
        *({"nu": bad} for bad in (0.5, 2, None, "2.5", math.nan)),
        *({"seed": bad} for bad in (-1, 1.5, "0", None)),
        *({"ties": bad} for bad in ("first", None)),
    ],
    ids=repr,
)
def test_bad_settings_are_refused_in_one_sentence(bad):
    with pytest.raises(ValueError, match=r"^\w+ needs .*, got ") as refusal:
        kb.Auto(ARMS, **bad)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("domain", [None, "box", 3, [], [[math.nan]], {}], ids=repr)
def test_bad_domains_are_refused(domain):
    with pytest.raises(ValueError, match="needs"):
        kb.Auto(domain)


@pytest.mark.parametrize("pending", [None, 3, "abc", [1], {}, [None]], ids=repr)
def test_bad_pending_is_refused(pending):
    for policy in (kb.Auto(ARMS), played(kb.Auto(ARMS), 4)):
        for call in (policy.ask, lambda policy=policy, **given: policy.batch(2, **given)):
            with pytest.raises(ValueError, match="ask needs a list of the choices pending, got"):
                call(pending=pending)


@pytest.mark.parametrize("t", [0, -1, 1.5, "1", True], ids=repr)
def test_bad_rounds_are_refused(t):
    for policy in (kb.Auto(ARMS), played(kb.Auto(ARMS), 4)):
        with pytest.raises(ValueError, match="ask needs a round t >= 1, got"):
            policy.ask(t)


@pytest.mark.parametrize("reward", [math.nan, math.inf, None, "1", True, 1e200, 1j], ids=repr)
@pytest.mark.parametrize("domain", [ARMS, BOX], ids=["arms", "box"])
def test_bad_rewards_are_refused_and_change_nothing(domain, reward):
    policy = played(kb.Auto(domain), 6)
    before = policy.ask()
    with pytest.raises(ValueError, match="tell needs"):
        policy.tell(before, reward)
    assert policy.ask() == before
    assert policy.rewards.events == policy.posterior.events == 6


@pytest.mark.parametrize("choice", [None, 3, "x", (0.5, 0.5)], ids=repr)
def test_only_choices_are_told_failed_and_explained(choice):
    policy = kb.Auto(BOX)
    for call in (
        lambda bad: policy.tell(bad, 1.0),
        policy.fail,
        partial(kb.insight.explain, policy),
    ):
        with pytest.raises(ValueError, match=r"^(tell|fail|explain) needs a kb.Choice"):
            call(choice)
    assert (policy.rewards.events, policy.failed) == (0, [])


def test_a_point_outside_is_refused_and_changes_nothing():
    policy = played(kb.Auto(BOX), 3)
    for call in (
        lambda bad: policy.tell(bad, 1.0),
        policy.fail,
        partial(kb.insight.explain, policy),
    ):
        with pytest.raises(ValueError, match="encode needs a point in Box"):
            call(kb.Choice([9.0, 9.0]))
    assert (policy.rewards.events, policy.failed) == (3, [])


def test_bounds_in_a_list_are_a_box_and_not_arms():
    assert kb.Auto([(300, 400), (0, 10)]).domain == kb.Box((300, 0), (400, 10))
    with pytest.raises(ValueError, match=r"^Auto needs bounds \[\(low, high\)"):
        kb.Auto([(300, 400, 500), (0, 10, 20)])


def test_estimates_and_index_are_in_the_units_of_the_rewards():
    policy = played(kb.Auto(ARMS, width="practical"), 12)
    mean, sd = policy.estimates()
    best = policy.recommend_choice()
    assert mean.argmax() == best.arm
    assert (best.note["mean"], best.note["sd"]) == pytest.approx(
        (mean[best.arm], sd[best.arm]), rel=1e-9
    )
    np.testing.assert_allclose(
        policy.index(13, 2.0), mean + 2.0 * policy.width_at(13) * sd, rtol=1e-9
    )
    with pytest.raises(ValueError, match="estimates needs arms"):
        kb.Auto(kb.Box((0.0,), (1.0,))).estimates()


def test_a_fresh_policy_says_that_there_are_no_rewards_yet():
    policy = kb.Auto(ARMS)
    assert "no rewards yet" in policy.settings["calibration"]
    assert repr(policy) == f"Auto({ARMS!r}, 0 rewards)"


def test_the_claim_of_theory_names_the_failures():
    policy = played(kb.Auto(ARMS, width="theory"), 9)
    policy.fail(policy.choice(0))
    assert policy.settings["claim"].endswith("and 1 choices not failed")


# ---------------------------------------------------------------- several threads


class Meddler:
    """A reward that, while it is told, calls the policy in another thread."""

    def __init__(self, call):
        self.call, self.error = call, None

    def __float__(self):
        with ThreadPoolExecutor(1) as pool:
            self.error = pool.submit(self.call).exception()
        return 0.5


CALLS = {
    "ask": lambda policy: policy.ask(),
    "batch": lambda policy: policy.batch(2),
    "tell": lambda policy: policy.tell(policy.choice(POINTS[3]), 9.0),
    "tell_all": lambda policy: policy.tell_all([(policy.choice(POINTS[3]), 9.0)]),
    "fail": lambda policy: policy.fail(policy.choice(POINTS[3])),
    "recommend": lambda policy: policy.recommend(),
    "to_dict": lambda policy: policy.to_dict(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_second_thread_gets_one_clear_error_and_the_policy_is_unharmed(name):
    box = kb.Box((0.0, 0.0), (1.0, 1.0))
    policy, alone = (played(kb.Auto(box, seed=2), 6) for _ in range(2))
    meddler = Meddler(lambda: CALLS[name](policy))
    choice = policy.ask()
    policy.tell(choice, meddler)
    assert type(meddler.error) is RuntimeError
    assert str(meddler.error).startswith(f"Auto.{name} needs a policy that no other thread uses")
    assert "Nothing has changed. Put a lock around ask and tell" in str(meddler.error)
    alone.tell(alone.ask(), 0.5)
    np.testing.assert_array_equal(policy.ask().x, alone.ask().x)
    assert policy.to_dict() == alone.to_dict()


def test_threads_may_use_a_policy_one_after_the_other_and_copies_at_the_same_time():
    policy = played(kb.Auto(ARMS), 6)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(policy.ask).result() == policy.ask()
    others = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    for other in others:
        meddler = Meddler(other.ask)
        policy.tell(policy.choice(1), meddler)
        assert meddler.error is None


def test_an_error_lets_the_next_thread_in():
    policy = played(kb.Auto(ARMS), 6)
    with pytest.raises(ValueError, match="needs"):
        policy.tell(policy.choice(1), "much")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(policy.ask).exception() is None


def test_nobody_is_warned_of_a_small_ridge_that_a_fit_has_chosen():
    policy = kb.Auto(kb.Arms([[0.0], [0.5], [1.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        for number in range(300):
            policy.tell(policy.choice(number % 3), float(number % 3))
        policy.estimates()
    assert policy.posterior.conditioning > LARGEST_ERROR
