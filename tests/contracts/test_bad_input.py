"""Every door says what is needed and what came."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

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


def names_taking(setting: str) -> list[str]:
    return [name for name, entry in POLICIES.items() if setting in entry.settings]


@pairwise(bad=[*NO_NUMBER, -1.0, -1e-300], name=names_taking("noise_scale"))
def test_a_noise_scale_below_zero_or_no_number_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), noise_scale=bad), bad, "noise_scale")


@pairwise(
    bad=[*NO_NUMBER, -1.0], name=[name for name in names_taking("norm_bound") if name != "gp-ucb"]
)
def test_a_norm_bound_below_zero_or_no_number_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), norm_bound=bad), bad, "norm_bound")


@pytest.mark.parametrize("bad", [-1.0, math.nan, "1"], ids=repr)
def test_the_norm_bound_of_gp_ucb_is_checked_where_it_is_used(bad):
    refuses(
        lambda: kb.GPUCB(POINTS, kb.Linear(), noise_scale=1.0, norm_bound=bad, schedule="rkhs"),
        bad,
        "norm_bound",
    )


@pairwise(bad=[*NO_NUMBER, 0.0, -1.0], name=names_taking("ridge"))
def test_a_ridge_that_is_not_above_zero_is_refused(name, bad, build):
    if bad is None and name in ("bpe", "reds"):
        return  # then it is R^2
    refuses(lambda: build(name, POINTS, kb.Linear(), ridge=bad), bad, "ridge")


@pairwise(bad=[0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "0.1", True], name=names_taking("delta"))
def test_a_confidence_outside_zero_and_one_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), delta=bad), bad, "delta in (0, 1)")


@pairwise(bad=[0, -1, 1.5, 10.0, math.nan, "10", True], name=names_taking("horizon"))
def test_a_horizon_that_is_no_count_of_rounds_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), horizon=bad), bad, "horizon")


@pairwise(horizon=[1, 2, 10**9, np.int64(7)], name=names_taking("horizon"))
def test_any_count_of_rounds_is_a_horizon(name, horizon, build):
    assert build(name, POINTS, kb.Linear(), horizon=horizon).horizon == horizon


@pairwise(bad=["first", "", None, 0], name=POLICIES)
def test_an_unknown_rule_for_ties_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), ties=bad), bad, "ties in ('random', 'lowest')")


@pairwise(bad=[[], 5, None, [1.0, 2.0], np.empty((0, 3)), [["a", "b"]], "points"], name=POLICIES)
def test_arms_that_are_no_points_are_refused(name, bad, build):
    with pytest.raises(ValueError, match=r"Arms needs .*, got"):
        build(name, bad, kb.RBF(0.3))


@pytest.mark.parametrize("name", POLICIES)
def test_a_point_that_is_not_finite_is_refused_with_its_place(name, build):
    with pytest.raises(ValueError, match="needs finite points, got nan in row 1, column 0"):
        build(name, [[0.0], [math.nan]], kb.RBF(0.3))


@pairwise(bad=[1.0, "0.2", kb.RBF, np.eye(3)], name=KERNELLED)
def test_what_is_no_kernel_is_refused(name, bad, build):
    refuses(lambda: build(name, POINTS, bad), bad, "kernel")


@pytest.mark.parametrize("name", KERNELLED)
def test_a_kernel_of_another_dimension_is_refused_at_construction(name, build):
    with pytest.raises(ValueError, match="needs points of 2 dimensions, got 3 and 3"):
        build(name, POINTS, kb.RBF((1.0, 2.0)))


@pytest.mark.parametrize("name", KERNELLED)
def test_an_indefinite_kernel_is_refused_at_construction(name, build):
    def indefinite(x, z):
        return np.abs(x @ np.arange(1.0, 4.0)[:, None] - (z @ np.arange(1.0, 4.0)[:, None]).T)

    with pytest.raises(
        ValueError, match=r"no negative eigenvalue on the arms, got -.*points \d and \d"
    ):
        build(name, POINTS, indefinite)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, True], ids=repr)
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
def test_what_is_no_chance_is_refused(act, bad):
    refuses(lambda: act(bad), bad, "[0, 1]")


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


@pytest.mark.parametrize("rule", [kb.IGPUCB, kb.GPTS])
@pytest.mark.parametrize("bad", ["maximal", "", 3], ids=repr)
def test_an_unknown_information_gain_is_refused(rule, bad):
    refuses(lambda: rule(POINTS, kb.Linear(), horizon=10, gain=bad, **THEORY), bad, "gain")


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


LEARNT = {"tgp-ucb": 0.0, "tv-gp-ucb": math.sqrt(0.99)}
"""Of a large reward: nothing where it is truncated, less where it is a round old."""


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
@pytest.mark.parametrize(
    "door", [checks.number, checks.positive, checks.nonnegative, checks.inside, checks.chance]
)
def test_truth_values_text_and_infinities_are_no_numbers(door, bad):
    assert not checks.is_number(bad)
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


@pytest.mark.parametrize("name", names_taking("delta"))
def test_a_confidence_whose_inverse_is_no_number_is_refused(name, build):
    refuses(lambda: build(name, POINTS, kb.Linear(), delta=5e-324), 5e-324, "delta >= 1e-300")


@pytest.mark.parametrize("name", names_taking("horizon"))
def test_a_horizon_beyond_all_numbers_is_refused(name, build):
    with pytest.raises(ValueError, match="needs horizon <= 1e100, got"):
        build(name, POINTS, kb.Linear(), horizon=10**400)
