"""Every door says what is needed and what came."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from conftest import pairwise
from kernelbandits import checks
from kernelbandits.catalogue import POLICIES

POINTS = np.eye(3)
THEORY = {"noise_scale": 1.0, "norm_bound": 1.0}
NO_NUMBER = [
    math.nan,
    math.inf,
    -math.inf,
    None,
    "1",
    "",
    True,
    1j,
    10**400,
    [1.0],
    np.array([1.0, 2.0]),
]


def refuses(act: Callable[[], object], bad: object, *words: str) -> None:
    """A ValueError of the form "... needs ..., got <the offending value>"."""
    with pytest.raises(ValueError, match=r"needs?") as error:
        act()
    text = str(error.value)
    quotes = [checks.quote_given(bad), checks.cut_quote(str(bad))]
    assert any(quote in text for quote in quotes), text
    for word in words:
        assert word in text, text


KERNELLED = [name for name, entry in POLICIES.items() if entry.takes_kernel]
"""Those that do not fit a kernel of their own."""


# ---------------------------------------------------------------- every constructor, every argument

BORDERS = {
    "noise_scale": -1e-300,
    "norm_bound": -1e-300,
    "ridge": 0.0,
    "delta": 1.0,
    "horizon": 0,
    "ties": "first",
}
"""Of each argument that many policies share, the value that only just is none."""
UNUSED = {("gp-ucb", "norm_bound"), ("gp-ucb", "gain")}
"""Used by the schedule "rkhs" only, and checked there."""
ONLY_ON_BOXES = ("features", "grid")


def names_taking(setting: str) -> list[str]:
    return [name for name, entry in POLICIES.items() if setting in entry.settings]


def refuses_setting(build: Any, name: str, setting: str, bad: object) -> None:
    """The constructor refuses one value, and its error names the argument and the value."""
    domain = kb.Box((0.0, 0.0), (1.0, 1.0)) if setting in ONLY_ON_BOXES else POINTS
    kernel = kb.RBF(0.3) if setting in ONLY_ON_BOXES else kb.Linear()
    with pytest.raises(ValueError, match=r"needs?") as error:
        build(name, domain, kernel, **{setting: bad})
    text = str(error.value)
    assert setting in text.lower(), text
    assert checks.quote_given(bad) in text, text


@pytest.mark.parametrize("name", POLICIES)
def test_a_constructor_refuses_a_bad_value_of_each_of_its_settings_by_name(name, build):
    """No number, and what only just is out of range; all other bad values stand below, once."""
    for setting in POLICIES[name].settings:
        if (name, setting) not in UNUSED and setting != "points":
            refuses_setting(build, name, setting, math.nan)
            if setting in BORDERS:
                refuses_setting(build, name, setting, BORDERS[setting])


@pytest.mark.parametrize("name", POLICIES)
def test_a_constructor_refuses_what_are_no_points_and_what_is_no_kernel(name, build):
    for bad in ([], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"Arms needs .*, got"):
            build(name, bad, kb.RBF(0.3))
    with pytest.raises(ValueError, match="needs finite points, got nan in row 1, column 0"):
        build(name, [[0.0], [math.nan]], kb.RBF(0.3))
    if name in KERNELLED:
        refuses(lambda: build(name, POINTS, kb.RBF), kb.RBF, "kernel")
        with pytest.raises(ValueError, match="needs points of 2 dimensions, got 3 and 3"):
            build(name, POINTS, kb.RBF((1.0, 2.0)))
        with pytest.raises(
            ValueError, match=r"no negative eigenvalue on the arms, got -.*points \d and \d"
        ):
            build(name, POINTS, indefinite)


def indefinite(x, z):
    return np.abs(x @ np.arange(1.0, 4.0)[:, None] - (z @ np.arange(1.0, 4.0)[:, None]).T)


@pytest.mark.parametrize("horizon", [1, 2, 10**9, np.int64(7)])
def test_any_count_of_rounds_is_a_horizon(horizon, build):
    for name in names_taking("horizon"):
        assert build(name, POINTS, kb.Linear(), horizon=horizon).horizon == horizon


# ---------------------------------------------------------------- every kind of check, every bad value


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("noise_scale", [*NO_NUMBER, -1.0]),
        ("norm_bound", [*NO_NUMBER, -1.0]),
        ("ridge", [*NO_NUMBER, 0.0, -1.0]),
        ("delta", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "0.1", True, 5e-324]),
        ("horizon", [0, -1, 1.5, 10.0, math.nan, "10", True]),
        ("ties", ["first", "", None, 0]),
        ("gain", ["maximal", "", 3]),
    ],
)
def test_every_bad_value_of_a_shared_setting_is_refused(setting, values, build):
    for bad in values:
        refuses_setting(build, names_taking(setting)[0], setting, bad)


def test_the_borders_of_a_confidence_and_of_a_horizon_are_named(build):
    refuses(lambda: build("igp-ucb", POINTS, delta=1.0), 1.0, "delta in (0, 1)")
    refuses(lambda: build("igp-ucb", POINTS, delta=5e-324), 5e-324, "delta >= 1e-300")
    with pytest.raises(ValueError, match="needs horizon <= 1e100, got"):
        build("igp-ucb", POINTS, horizon=10**400)
    refuses(lambda: build("igp-ucb", POINTS, ties=""), "", "ties in ('random', 'lowest')")


@pytest.mark.parametrize("bad", [-1.0, math.nan, "1"], ids=repr)
def test_the_norm_bound_of_gp_ucb_is_checked_where_it_is_used(bad):
    refuses(
        lambda: kb.GPUCB(POINTS, kb.Linear(), noise_scale=1.0, norm_bound=bad, schedule="rkhs"),
        bad,
        "norm_bound",
    )


def test_the_points_of_rand_ucb_are_those_of_its_law():
    refuses(lambda: kb.policy("rand-ucb", POINTS, kb.Linear(), points=0, **THEORY), 0, "points")


@pytest.mark.parametrize(
    "bad", [[], 5, None, [1.0, 2.0], np.empty((0, 3)), [["a", "b"]], "points"], ids=repr
)
def test_arms_that_are_no_points_are_refused(bad):
    with pytest.raises(ValueError, match=r"Arms needs .*, got"):
        kb.Arms(bad)


@pytest.mark.parametrize("bad", [1.0, "0.2", kb.RBF, np.eye(3)], ids=repr)
def test_what_is_no_kernel_is_refused(bad, build):
    refuses(lambda: build("simple-ucb", POINTS, bad), bad, "kernel")


@pytest.mark.parametrize(
    "act",
    [
        lambda p: kb.Bernoulli(p),
        lambda p: kb.Decay(first=p),
        lambda p: kb.Decay(floor=p),
        lambda p: kb.Certainty(first=p),
        lambda p: kb.Certainty(floor=p),
        lambda p: kb.SimpleMixture(POINTS, kb.Linear(), rho=p, **THEORY),
        lambda p: kb.Categorical((p, 0.5)),
        lambda p: kb.Mixture((p, 0.5), (kb.Gaussian(), kb.Gaussian())),
    ],
)
def test_what_is_no_chance_is_refused(act):
    for bad in (-1e-9, 1.1, math.nan, math.inf, True):
        refuses(lambda bad=bad: act(bad), bad, "[0, 1]")


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "half", None], ids=repr)
def test_the_chance_of_simple_bernoulli_is_a_chance(bad):
    refuses(lambda: kb.SimpleBernoulli(POINTS, kb.Linear(), p=bad, **THEORY), bad)


@pytest.mark.parametrize("weights", [(), (0.0, 0.0), (0.5, 0.4), (0.5, 0.501), (1.0, 0.5), (2.0,)])
def test_weights_that_do_not_sum_to_one_are_refused(weights):
    for act in (
        lambda: kb.Categorical(weights),
        lambda: kb.Mixture(weights, [kb.Gaussian()] * len(weights)),
        lambda: kb.SimpleCategorical(POINTS, kb.Linear(), weights=weights, **THEORY),
    ):
        with pytest.raises(ValueError, match=r"needs .*, got"):
            act()


@pytest.mark.parametrize(
    ("act", "bad"),
    [
        (lambda: kb.PointMass(math.nan), math.nan),
        (lambda: kb.PointMass("1"), "1"),
        (lambda: kb.Gaussian(math.inf), math.inf),
        (lambda: kb.Gaussian(0.0, -1.0), -1.0),
        (lambda: kb.Gaussian(0.0, math.nan), math.nan),
        (lambda: kb.SimpleGaussian(POINTS, kb.Linear(), scale=-2.0, **THEORY), -2.0),
        (lambda: kb.Categorical((0.5, 0.5), support=(1.0,)), (1.0,)),
        (lambda: kb.Categorical((0.5, 0.5), support=(1.0, math.nan)), math.nan),
        (lambda: kb.Mixture((0.5, 0.5), (kb.Gaussian(),)), 1),
        (lambda: kb.Mixture((0.5, 0.5), (kb.Gaussian(), 0.5)), 0.5),
        (lambda: kb.Step(kb.Gaussian(), kb.Gaussian(), -1), -1),
        (lambda: kb.Step(kb.Gaussian(), kb.Gaussian(), 1.5), 1.5),
        (lambda: kb.Decay(power=-1.0), -1.0),
        (lambda: kb.Certainty(first=0.1, floor=0.5), (0.5, 0.1)),
    ],
)
def test_a_law_or_schedule_that_is_none_is_refused(act, bad):
    refuses(act, bad)


@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        ("schedule", "bayes"),
        ("beta_scale", 0.0),
        ("beta_scale", math.nan),
        ("gain", "maximal"),
        ("gain", 3),
    ],
)
def test_the_settings_of_gp_ucb_are_checked(setting, bad):
    settings = {"noise_scale": 1.0, "norm_bound": 1.0, "schedule": "rkhs", setting: bad}
    refuses(lambda: kb.GPUCB(POINTS, kb.Linear(), **settings), bad)


@pairwise(length=[1e-300, 1e-154, 1e300], name=KERNELLED)
def test_extreme_lengths_still_play(name, length, build):
    policy = build(name, POINTS, kb.RBF(length))
    for t in range(1, 6):
        policy.tell(policy.ask(t, kb.Streams(0)), 1.0)
    assert np.isfinite(policy.posterior.mean).all()
    assert policy.posterior.mean.max() <= 1.0


@pairwise(reward=[0.0, 1.0, -3.0], name=POLICIES)
def test_identical_rewards_divide_nothing_by_zero(name, reward, build):
    policy = build(name, POINTS, kb.RBF(0.3))
    for t in range(1, 30):
        policy.tell(policy.ask(t, kb.Streams(0)), reward)
    assert np.isfinite(policy.posterior.mean).all()


LEARNT = {
    "tgp-ucb": 0.0,
    "ata-gp-ucb": 0.0,
    "tv-gp-ucb": math.sqrt(0.99),
    "lb-gp-ucb": 0.5 + 1 / (1 + math.exp(-2 / 3)),
}
"""Of a large reward: nothing where it is truncated, less where it is a round old; the mean of the
kernels k and e^(2/3) k where a shorter lengthscale has come in."""


@pytest.mark.parametrize("name", KERNELLED)
def test_a_large_offset_of_the_rewards_is_learnt_and_not_removed(name, build):
    policy = build(name, POINTS, kb.Linear())
    policy.tell(policy.choice(1), 1e12)
    ridge = policy.posterior.ridge
    assert policy.posterior.mean[1] == pytest.approx(
        LEARNT.get(name, 1.0) * 1e12 / (1 + ridge), rel=1e-12
    )


# ---------------------------------------------------------------- the doors themselves


@pytest.mark.parametrize("bad", NO_NUMBER, ids=repr)
def test_truth_values_text_and_infinities_are_no_numbers(bad):
    assert not checks.is_number(bad)
    doors = (checks.number, checks.positive, checks.nonnegative, checks.inside, checks.chance)
    for door in (*doors, checks.scale):
        with pytest.raises(ValueError, match=re.escape(f"got {checks.quote_given(bad)}")):
            door("It", "value", bad)


@pytest.mark.parametrize("good", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_come_out_as_floats(good):
    for door in (checks.number, checks.positive, checks.nonnegative, checks.inside, checks.chance):
        assert type(door("It", "value", good)) is float


def test_the_doors_differ_at_their_borders():
    assert checks.nonnegative("It", "x", 0) == 0.0
    assert (checks.chance("It", "p", 0), checks.chance("It", "p", 1)) == (0.0, 1.0)
    assert checks.whole("It", "n", 0, least=0) == 0
    for act in (
        lambda: checks.positive("It", "x", 0),
        lambda: checks.inside("It", "p", 0),
        lambda: checks.inside("It", "p", 1),
        lambda: checks.nonnegative("It", "x", -1e-300),
        lambda: checks.chance("It", "p", 1 + 1e-9),
        lambda: checks.whole("It", "n", 0),
        lambda: checks.whole("It", "n", 2.0),
        lambda: checks.whole("It", "n", True),
    ):
        with pytest.raises(ValueError, match=r"It needs .*, got"):
            act()


@pytest.mark.parametrize(
    "bad",
    [math.nan, math.inf, 1e151, -1e300, 10**400, None, "", "1,5", "1.5", 1j, b"1", [1.0], {}],
    ids=repr,
)
def test_a_reward_is_a_finite_number_of_bounded_size(bad):
    with pytest.raises(ValueError, match=r"tell needs .*, got"):
        checks.reward(bad)


@pytest.mark.parametrize(
    "good", [0.0, -0.0, 1, 1e150, -1e150, 5e-324, np.float32(1.5), np.int8(-3)]
)
def test_any_other_number_is_a_reward(good):
    assert checks.reward(good) == float(good)
    assert type(checks.reward(good)) is float
