"""A box, the cover that stands for it, and every policy on it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES
from kernelbandits.domains import COVER, as_arms, golden_ratio

every_policy = pytest.mark.parametrize("name", POLICIES)
every_dimension = pytest.mark.parametrize("d", [1, 2, 3, 6])


def unit(d: int) -> kb.Box:
    return kb.Box((0.0,) * d, (1.0,) * d)


# ---------------------------------------------------------------- the cover


@pytest.mark.parametrize("d", [1, 2, 3, 6, 20, 100])
def test_the_generalised_golden_ratio_solves_its_equation(d):
    ratio = golden_ratio(d)
    assert ratio ** (d + 1) == pytest.approx(ratio + 1, rel=1e-13)
    assert 1 < ratio < 2


def test_the_first_ratios_are_the_golden_and_the_plastic_number():
    assert golden_ratio(1) == pytest.approx((1 + math.sqrt(5)) / 2, rel=1e-15)
    assert golden_ratio(2) == pytest.approx(1.324717957244746, rel=1e-15)


@every_dimension
def test_the_cover_is_the_additive_recurrence_of_the_ratio(d):
    points, ratio = unit(d).cover(50).points, golden_ratio(d)
    for i in (0, 1, 2, 49):
        expected = [math.modf(0.5 + i * ratio ** -(j + 1))[0] for j in range(d)]
        np.testing.assert_allclose(points[i], expected, atol=1e-12)


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=4),
    st.integers(1, 60),
)
def test_a_cover_lies_in_its_box_and_is_the_unit_cubes_stretched(sides, size):
    lower, upper = tuple(low for low, _ in sides), tuple(low + length for low, length in sides)
    arms = kb.Box(lower, upper).cover(size)
    assert arms.points.shape == (size, len(sides))
    assert (arms.points >= lower).all()
    assert (arms.points <= upper).all()
    stretched = (
        np.array(lower) + (np.array(upper) - np.array(lower)) * unit(len(sides)).cover(size).points
    )
    np.testing.assert_allclose(arms.points, stretched, atol=4e-16 * np.abs([lower, upper]).max())


@every_dimension
def test_a_cover_is_deterministic_and_the_first_points_of_every_larger_one(d):
    small, large = unit(d).cover(30).points, unit(d).cover(1000).points
    np.testing.assert_array_equal(small, unit(d).cover(30).points)
    np.testing.assert_array_equal(small, large[:30])


@pytest.mark.parametrize("size", [2, 10, 89, 500, 1000])
def test_on_a_line_the_gaps_have_at_most_three_lengths_of_nearly_one_size(size):
    """The three-gap theorem, round the circle; for the golden ratio the longest is at most g^2 times the shortest."""
    points = np.sort(unit(1).cover(size).points[:, 0])
    gaps = np.diff(np.append(points, points[0] + 1))
    assert len(np.unique(gaps.round(9))) <= 3
    assert gaps.max() / gaps.min() <= golden_ratio(1) ** 2 + 1e-6


@every_dimension
def test_a_cover_is_spread_more_evenly_than_chance(d):
    cover = unit(d).cover().points
    random = [
        qmc.discrepancy(np.random.default_rng(seed).random(cover.shape)) for seed in range(20)
    ]
    assert qmc.discrepancy(cover) < min(random) / 2


@pytest.mark.parametrize("d", [2, 3])
def test_no_two_points_of_a_cover_are_close(d):
    """The packing radius falls like n^(-1/d); random points come closer by far."""
    for size in (50, 500):
        points = unit(d).cover(size).points
        distances = np.linalg.norm(points[:, None] - points, axis=2) + 9 * np.eye(size)
        assert distances.min() > 0.4 * size ** (-1 / d)


def test_every_part_of_the_box_has_its_share():
    """Sixteen parts, 25 points each, all within the standard error 4.8 of a random one."""
    points = unit(2).cover(400).points
    counts = np.histogram2d(*points.T, bins=4, range=[[0, 1], [0, 1]])[0]
    assert np.abs(counts - 25).max() <= 4


def test_a_cover_says_what_it_stands_for():
    box = kb.Box((0.0, -1.0), (1.0, 1.0))
    assert box.cover(7).origin == "a cover of Box(lower=(0.0, -1.0), upper=(1.0, 1.0)) by 7 points"
    assert len(box.cover()) == COVER
    assert kb.Arms(box.cover(7).points).origin == ""
    assert not box.cover(7).points.flags.writeable


# ---------------------------------------------------------------- the box


def test_a_box_is_a_value():
    assert kb.Box([0, 1], [2, 3]) == kb.Box((0.0, 1.0), (2.0, 3.0))
    assert kb.Box((0.0,), (1.0,)) != kb.Box((0.0,), (2.0,))
    assert kb.Box([0, 1], [2, 3]).dimension == 2
    assert len({kb.Box((0,), (1,)), kb.Box((0.0,), (1.0,))}) == 1
    with pytest.raises(AttributeError):
        kb.Box((0.0,), (1.0,)).lower = (2.0,)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ((), ()),
        ((0.0,), (1.0, 2.0)),
        ((0.0,), (0.0,)),
        ((1.0,), (0.0,)),
        ((0.0, 0.0), (1.0, -1.0)),
        ((math.nan,), (1.0,)),
        ((0.0,), (math.inf,)),
        (("0",), (1.0,)),
        ((True,), (2.0,)),
    ],
)
def test_bounds_that_enclose_nothing_are_refused(lower, upper):
    with pytest.raises(ValueError, match=r"Box needs .*, got"):
        kb.Box(lower, upper)


@pytest.mark.parametrize("size", [0, -1, 2.5, "10", True, None])
def test_a_cover_has_a_whole_number_of_points(size):
    with pytest.raises(ValueError, match=f"cover needs a whole number size >= 1, got {size!r}"):
        unit(2).cover(size)


def test_arms_and_arrays_are_not_covered():
    arms = kb.Arms([[0.0], [1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_arms(arms) is arms
        assert as_arms([[0.0], [1.0]]).origin == ""


# ---------------------------------------------------------------- policies on a box

BOX = kb.Box((0.0, 0.1), (0.6, 0.7))


def three_rounds(policy: kb.Policy) -> None:
    for t in range(1, 4):
        choice = policy.ask(t, kb.Streams(1))
        assert ((choice.x >= BOX.lower) & (choice.x <= BOX.upper)).all()
        policy.tell(choice, 0.1 * t)


@pytest.mark.parametrize(
    "name", [name for name, entry in POLICIES.items() if not entry.constructor.plays_boxes]
)
def test_a_policy_that_enumerates_arms_plays_on_a_declared_cover_of_the_box_and_says_so_once(
    name, build
):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policy = build(name, BOX)
    notices = [str(w.message) for w in said if w.category is kb.DataNotice]
    assert notices == [
        f"the policy plays on {BOX.cover().origin}; Box.cover(size) declares another one"
    ]
    assert policy.settings["cover"] == BOX.cover().origin
    np.testing.assert_array_equal(policy.domain.points, BOX.cover().points)
    three_rounds(policy)


@every_policy
def test_a_cover_of_ones_own_is_played_without_a_notice_and_still_declared(name, build):
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        policy = build(name, BOX.cover(20))
        three_rounds(policy)
    assert policy.settings["cover"] == BOX.cover(20).origin
    assert len(policy.domain) == 20


@every_policy
def test_a_finite_set_has_no_cover(name, build, cloud):
    assert "cover" not in build(name, cloud).settings


def test_the_widest_box_has_a_cover():
    points = kb.Box((-1.7e308,), (1.7e308,)).cover(5).points
    assert np.isfinite(points).all()


@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 1), (0.0, (1.0,)), ("a", "b"), ([[0.0]], [[1.0]])]
)
def test_bounds_that_are_no_sequences_are_refused(lower, upper):
    with pytest.raises(ValueError, match="Box needs"):
        kb.Box(lower, upper)
