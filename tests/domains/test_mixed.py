"""Boxes of reals, whole numbers, ordered and unordered categories: rows and points, covers, bad input."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from constrained_spaces import RULES, SPACES
from kernelbandits.domains import as_arms
from kernelbandits.domains.variables import APART

OVEN = kb.MixedBox(
    {
        "heat": kb.Real(-1, 1),
        "hours": kb.Integer(2, 40),
        "grade": kb.Ordered(("low", "medium", "high")),
        "acid": kb.Category(("HCl", 7, True)),
    }
)
SMALL = kb.MixedBox((kb.Integer(0, 3), kb.Ordered(("abc", "x", "y")), kb.Category((False, True))))

values = st.one_of(st.text(max_size=3), st.integers(-9, 9), st.floats(-9, 9), st.booleans())
lists = st.lists(values, min_size=2, max_size=5, unique_by=lambda value: value)
bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
wholes = st.tuples(st.integers(-1000, 1000), st.integers(1, 1000)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
variables = st.one_of(
    bounds.map(lambda pair: kb.Real(*pair)),
    wholes.map(lambda pair: kb.Integer(*pair)),
    lists.map(kb.Ordered),
    lists.map(kb.Category),
)
boxes = st.lists(variables, min_size=1, max_size=4).map(kb.MixedBox)
units = st.integers(0, 2**32).map(lambda seed: np.random.default_rng(seed))


def admissible(box: kb.MixedBox, row: np.ndarray) -> bool:
    """By the written rule, variable by variable."""
    parts = iter(row.tolist())
    for variable in box.variables:
        if isinstance(variable, kb.Category):
            block = [next(parts) for _ in variable.values]
            if sorted(block) != [0.0] * (len(block) - 1) + [1 / math.sqrt(2)]:
                return False
        elif isinstance(variable, kb.Ordered):
            if next(parts) not in range(len(variable.values)):
                return False
        else:
            part = next(parts)
            whole = isinstance(variable, kb.Real) or part == int(part)
            if not (variable.low <= part <= variable.high and whole):
                return False
    return True


# ---------------------------------------------------------------- rows and points


def test_reals_and_whole_numbers_are_themselves_order_is_a_place_and_a_category_one_coordinate_each():
    row = OVEN.encode({"heat": 0.25, "hours": 7, "grade": "medium", "acid": 7})
    assert row.tolist() == [0.25, 7.0, 1.0, 0.0, 1 / math.sqrt(2), 0.0]
    assert OVEN.dimension == 6
    assert OVEN.sides == 4
    assert OVEN.lower == (-1.0, 2.0, 0.0, 0.0, 0.0, 0.0)
    assert OVEN.upper == (1.0, 40.0, 2.0, APART, APART, APART)
    assert OVEN.discrete == (False, True, True, True, True, True)


def test_two_different_categories_are_at_distance_one():
    rows = kb.MixedBox((kb.Category("wxyz"[i] for i in range(4)),)).cover().points
    for one, other in itertools.combinations(rows, 2):
        assert np.linalg.norm(one - other) == pytest.approx(1, rel=1e-15)


@pytest.mark.thorough
@given(boxes, units)
def test_a_point_encoded_and_decoded_is_the_point(box, rng):
    row = box.from_unit(rng.random((1, box.sides)))[0]
    assert admissible(box, row)
    x = box.decode(row)
    np.testing.assert_array_equal(box.encode(x), row)
    assert box.decode(box.encode(x)) == x
    assert [type(value) for value in x] == [type(value) for value in box.decode(box.encode(x))]


@settings(max_examples=15)
@given(boxes, units)
def test_the_nearest_admissible_row_is_nearer_than_any_other_that_was_tried(box, rng):
    span = np.subtract(box.upper, box.lower)
    rows = box.lower + span * rng.uniform(-0.5, 1.5, (5, box.dimension))
    nearest = box.nearest(rows)
    others = box.from_unit(rng.random((30, box.sides)))
    for row, near in zip(rows, nearest, strict=True):
        assert admissible(box, near)
        distance = np.linalg.norm(row - near)
        assert (np.linalg.norm(others - row, axis=1) >= distance * (1 - 1e-12)).all()
    np.testing.assert_array_equal(box.nearest(nearest), nearest)


def test_values_come_back_as_they_were_declared():
    for acid in ("HCl", 7, True):
        x = {"heat": 0.5, "hours": 3, "grade": "low", "acid": acid}
        back = OVEN.decode(OVEN.encode(x))
        assert back == x
        assert type(back["acid"]) is type(acid)
        assert (type(back["heat"]), type(back["hours"])) == (float, int)


def test_without_names_a_point_is_a_tuple():
    assert SMALL.decode(SMALL.encode((2, "x", True))) == (2, "x", True)
    assert SMALL.decode(SMALL.encode([np.int64(2), np.str_("x"), np.bool_(True)])) == (2, "x", True)


def test_a_row_between_values_is_decoded_to_the_nearest():
    assert OVEN.decode([9.0, 7.4, 1.6, 0.1, 0.2, 0.3]) == {
        "heat": 1.0,
        "hours": 7,
        "grade": "high",
        "acid": True,
    }


def test_a_move_changes_one_separate_value_and_every_small_change_is_there():
    row = SMALL.encode((1, "abc", False))
    moved = [SMALL.decode(move) for move in SMALL.neighbours(row)]
    here = SMALL.decode(row)
    expected = [
        (*here[:place], value, *here[place + 1 :])
        for place, options in enumerate(((0, 1, 2, 3), SMALL.variables[1].values, (False, True)))
        for value in options
        if value != here[place]
    ]
    assert sorted(moved) == sorted(expected)


def test_a_wide_whole_number_tries_its_neighbours_and_a_spread():
    tried = kb.Integer(0, 10**6).neighbours(np.array([1234.0]))[:, 0]
    assert {1233.0, 1235.0, 1232.0, 1236.0, 0.0, 1e6} <= set(tried.tolist())
    assert len(tried) < 70
    assert np.diff(np.sort(tried)).max() < 1e6 / 8
    assert kb.MixedBox((kb.Real(0, 1),)).neighbours(np.array([0.5])).shape == (0, 1)


# ---------------------------------------------------------------- covers


@given(boxes, st.integers(1, 60))
def test_a_cover_has_admissible_points_that_are_all_different(box, size):
    rows = box.cover(size).points
    assert len(rows) == min(size, box.count)
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert all(admissible(box, row) for row in rows)


def test_a_small_finite_box_is_covered_by_all_of_it():
    arms = SMALL.cover()
    assert SMALL.count == 24 == len(arms)
    expected = set(itertools.product((0, 1, 2, 3), SMALL.variables[1].values, (False, True)))
    assert {SMALL.decode(row) for row in arms.points} == expected
    assert arms.origin.startswith("all points of MixedBox")
    assert len(SMALL.cover(23)) == 23


def test_in_a_cover_every_category_has_its_share():
    rows = OVEN.cover(300).points
    assert np.abs((rows[:, 3:] > 0).sum(0) - 100).max() <= 10
    assert np.abs(np.bincount(rows[:, 2].astype(int)) - 100).max() <= 10
    np.testing.assert_array_equal(OVEN.cover(40).points, rows[:40])


def test_who_needs_arms_gets_the_cover_with_a_notice():
    with pytest.warns(
        kb.DataNotice, match=r"a cover of MixedBox.* by 500 points; MixedBox.cover\(size\) declares"
    ):
        assert len(as_arms(OVEN)) == 500


# ---------------------------------------------------------------- random points


@given(boxes, st.integers(1, 20), st.integers(0, 9))
def test_a_sample_has_points_of_the_space_and_equal_seeds_give_equal_ones(box, n, seed):
    points = box.sample(n, seed)
    assert len(points) == n
    assert all(point in box for point in points)
    assert points == box.sample(n, seed)


@pytest.mark.parametrize("name", SPACES)
def test_a_sample_keeps_the_constraints(name):
    points = SPACES[name].sample(100, seed=2)
    assert all(RULES[name](**point) for point in points)
    assert len({json.dumps(point) for point in points}) > 1


def test_in_a_sample_every_choice_has_its_share():
    points = kb.MixedBox({"n": kb.Integer(1, 4), "acid": kb.Category(("a", "b"))}).sample(
        4000, seed=1
    )
    counts = Counter(tuple(point.values()) for point in points)
    share = 4000 / 8
    assert len(counts) == 8
    assert max(abs(count - share) for count in counts.values()) < 4 * share**0.5


def test_a_generator_draws_other_points_at_each_call():
    rng = np.random.default_rng(5)
    assert OVEN.sample(3, rng) != OVEN.sample(3, rng)
    box = kb.Box((0.0, -1.0), (1.0, 1.0))
    first, second = box.sample(50, rng), box.sample(50, rng)
    assert first.shape == (50, 2)
    assert not (first == second).any()
    assert ((first >= box.lower) & (first <= box.upper)).all()
    np.testing.assert_array_equal(box.sample(4, seed=3), box.sample(4, seed=3))


@pytest.mark.parametrize("box", [kb.Box((0.0,), (1.0,)), kb.MixedBox({"n": kb.Integer(1, 4)})])
@pytest.mark.parametrize(
    ("given", "needed"),
    [({"n": 0}, "a whole number n >= 1"), ({"n": 2, "seed": 0.5}, "a whole seed >= 0")],
)
def test_a_sample_of_no_size_or_seed_is_refused(box, given, needed):
    with pytest.raises(ValueError, match=f"sample needs {needed}"):
        box.sample(**given)


# ---------------------------------------------------------------- a value


def test_a_mixed_box_is_a_value():
    same = kb.MixedBox({"a": kb.Real(0, 1), "b": kb.Category(["x", "y"])})
    assert same == kb.MixedBox({"a": kb.Real(0.0, 1.0), "b": kb.Category(("x", "y"))})
    assert hash(same) == hash(kb.MixedBox((kb.Real(0, 1), kb.Category(("x", "y"))), ("a", "b")))
    assert same != kb.MixedBox((kb.Real(0, 1), kb.Category(("x", "y"))))
    assert eval(repr(same), {name: getattr(kb, name) for name in kb.__all__}) == same
    with pytest.raises(AttributeError):
        same.names = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        kb.Real(0, 1).low = 3.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kb.Real(1, 0.5), r"Real needs low <= high, got \(1, 0.5\)"),
        (lambda: kb.Real(2, 1), "Real needs low <= high"),
        (lambda: kb.Real(0, math.inf), "Real needs a finite number high, got inf"),
        (lambda: kb.Real(math.nan, 1), "Real needs a finite number low, got nan"),
        (lambda: kb.Real("0", 1), "Real needs a finite number low, got '0'"),
        (lambda: kb.Real(None, 1), "Real needs a finite number low, got None"),
        (
            lambda: kb.Integer(0.5, 2),
            "Integer needs a whole number low of size at most 2\\^53, got 0.5",
        ),
        (lambda: kb.Integer(0, 2**54), "Integer needs a whole number high"),
        (lambda: kb.Integer(0, 10**400), "Integer needs a whole number high"),
        (lambda: kb.Integer(3, 2), r"Integer needs low <= high, got \(3, 2\)"),
        (lambda: kb.Integer(0, math.inf), "Integer needs a whole number high"),
        (lambda: kb.Integer(False, True), "Integer needs a whole number low"),
        (lambda: kb.Ordered(()), r"Ordered needs at least one value, got \(\)"),
        (lambda: kb.Category(()), r"Category needs at least one value, got \(\)"),
        (
            lambda: kb.MixedBox({"a": kb.Category(("a",))}),
            "MixedBox needs at least one variable with more than one value",
        ),
        (lambda: kb.Category(("a", "b", "a")), "Category needs values that are all different"),
        (lambda: kb.Category((1, True)), "Category needs values that are all different"),
        (lambda: kb.Ordered((1, 1.0)), "Ordered needs values that are all different"),
        (lambda: kb.Category("ab"), "Category needs a sequence of values, got 'ab'"),
        (lambda: kb.Category(3), "Category needs a sequence of values, got 3"),
        (
            lambda: kb.Category(("a", object)),
            "Category needs values that are text, finite numbers, truth values or None, got <class",
        ),
        (lambda: kb.Category(("a", math.nan)), "Category needs values that are text"),
        (lambda: kb.Category((["a"], "b")), "Category needs values that are text"),
        (lambda: kb.MixedBox({}), r"MixedBox needs at least one variable, got \(\)"),
        (lambda: kb.MixedBox([]), r"MixedBox needs at least one variable, got \(\)"),
        (
            lambda: kb.MixedBox(None),
            "MixedBox needs a mapping or a sequence of variables, got None",
        ),
        (
            lambda: kb.MixedBox((1, 2)),
            r"MixedBox needs a range of real numbers .* for 'x1', got 1$",
        ),
        (
            lambda: kb.MixedBox({1: kb.Real(0, 1)}),
            "MixedBox needs a name of its own for each variable",
        ),
        (
            lambda: kb.MixedBox((kb.Real(0, 1),), ("a", "b")),
            "MixedBox needs a name of its own for each variable",
        ),
        (
            lambda: kb.MixedBox((kb.Real(0, 1),) * 2, ("a", "a")),
            "MixedBox needs a name of its own for each variable",
        ),
        (
            lambda: kb.MixedBox((kb.Real(0, 1),), None),
            "MixedBox needs a sequence of names, got None",
        ),
        (lambda: OVEN.cover(0), "cover needs a whole number size >= 1, got 0"),
        (lambda: OVEN.all_rows(), "all_rows needs a box without real variables"),
    ],
)
def test_bad_variables_are_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


GOOD = {"heat": 0.5, "hours": 3, "grade": "low", "acid": "HCl"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heat": 1.5}, r"encode needs a number in \[-1.0, 1.0\] for 'heat', got 1.5"),
        ({"heat": math.nan}, "for 'heat', got nan"),
        ({"heat": "0.5"}, "for 'heat', got '0.5'"),
        ({"heat": None}, "for 'heat', got None"),
        ({"hours": 2.5}, "encode needs a whole number from 2 to 40 for 'hours', got 2.5"),
        ({"hours": 41}, "for 'hours', got 41"),
        ({"hours": True}, "for 'hours', got True"),
        (
            {"grade": "huge"},
            r"encode needs one of low, medium, high for 'grade', got 'huge'",
        ),
        ({"grade": 0}, "for 'grade', got 0"),
        ({"acid": 1}, "for 'acid', got 1"),
        ({"acid": False}, "for 'acid', got False"),
        ({"acid": ["HCl"]}, "for 'acid'"),
        ({"acid": np.zeros(2)}, "for 'acid'"),
        ({"more": 1}, "encode needs a value for each of"),
    ],
)
def test_a_value_outside_is_refused_with_the_name_of_its_variable(change, message):
    with pytest.raises(ValueError, match=message):
        OVEN.encode(GOOD | change)


@pytest.mark.parametrize("x", [None, 3, "heat", {"heat": 0.5}, (0.5, 3, "low", "HCl")])
def test_a_point_of_a_named_box_is_a_mapping_of_all_names(x):
    with pytest.raises(ValueError, match="encode needs a value for each of"):
        OVEN.encode(x)


@pytest.mark.parametrize("x", [None, 3, "abc", (1, "x"), {"a": 1}])
def test_a_point_of_a_box_without_names_is_a_sequence(x):
    with pytest.raises(ValueError, match="encode needs a sequence of 3 values"):
        SMALL.encode(x)


@pytest.mark.parametrize(
    "row", [None, 3.0, [1.0], [math.nan] * 6, ["a"] * 6, [[0.0] * 6], [1.0, [2.0]]]
)
@pytest.mark.parametrize("box", [OVEN, kb.Box((0.0,) * 6, (1.0,) * 6)], ids=["mixed", "box"])
def test_a_bad_row_is_refused(box, row):
    with pytest.raises(ValueError, match="decode needs"):
        box.decode(row)
    with pytest.raises(ValueError, match="nearest needs"):
        box.nearest([row])


# ---------------------------------------------------------------- the continuous box


def test_a_box_encodes_points_that_lie_in_it_and_decodes_to_what_cannot_be_written_to():
    box = kb.Box((0.0, -1.0), (1.0, 1.0))
    assert box.encode([1, -1.0]).tolist() == [1.0, -1.0]
    x = box.decode([0.5, 3.0])
    assert x.tolist() == [0.5, 1.0]
    assert not x.flags.writeable
    assert box.encode(x).tolist() == [0.5, 1.0]
    assert box.discrete == (False, False)
    assert box.nearest([[-1, 0.5], [2, -2]]).tolist() == [[0.0, 0.5], [1.0, -1.0]]


@pytest.mark.parametrize(
    "x",
    [
        [1.5, 0],
        [0.5, -1.1],
        [math.nan, 0],
        [math.inf, 0],
        [0.5],
        [[0.5, 0]],
        None,
        "ab",
        ["a", "b"],
    ],
)
def test_a_box_refuses_what_does_not_lie_in_it(x):
    with pytest.raises(ValueError, match="encode needs"):
        kb.Box((0.0, -1.0), (1.0, 1.0)).encode(x)


# ---------------------------------------------------------------- few floats, no order, ragged bounds


@pytest.mark.parametrize("high", [1 + 1e-15, math.nextafter(1.0, 2.0), 1 + 300 * 2.0**-52])
@pytest.mark.parametrize(
    "more", [(), (kb.Category(("a", "b")),)], ids=["alone", "beside a category"]
)
def test_a_cover_has_no_more_points_than_there_are_floats(high, more):
    floats = round((high - 1) * 2**52) + 1
    cover = kb.MixedBox((kb.Real(1, high), *more)).cover(2000)
    assert 0.9 * floats * (1 + len(more)) <= len(cover) <= floats * (1 + len(more))
    assert len(np.unique(cover.points, axis=0)) == len(cover)
    assert cover.origin.endswith(f"by {len(cover)} points")


@pytest.mark.parametrize("size", [1, 50, 143])
def test_a_cover_of_a_finite_box_has_the_size_asked_for(size, monkeypatch):
    box = kb.MixedBox((kb.Integer(0, 11), kb.Ordered(range(12))))
    full = box.cover(size)
    assert len(np.unique(full.points, axis=0)) == len(full) == size
    monkeypatch.setattr("kernelbandits.domains.mixed.DOUBLINGS", 1)
    assert len(np.unique(box.cover(size).points, axis=0)) == size


@pytest.mark.parametrize("kind", [kb.Category, kb.Ordered])
@pytest.mark.parametrize(
    "values",
    [{"a", "b"}, frozenset(("a", "b")), {"a": 1, "b": 2}, b"ab"],
    ids=lambda v: type(v).__name__,
)
def test_values_without_an_order_of_their_own_are_refused(kind, values):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs a sequence of values, got"):
        kind(values)


@pytest.mark.parametrize(
    "bounds", [([[1], [1, 2]], (1, 2)), ((0, 0), [[1], [1, 2]]), ([[0], [0]], [[1], [1]]), (0, 1)]
)
def test_bounds_that_are_no_flat_sequence_are_refused(bounds):
    with pytest.raises(
        ValueError, match="Box needs a lower and an upper bound for each coordinate, got"
    ):
        kb.Box(*bounds)


def test_a_ragged_context_is_refused():
    with pytest.raises(
        ValueError, match="Contextual needs a context of size 2, all finite numbers, got"
    ):
        kb.Contextual(kb.Box((0,), (1,)), 2).check_context([[1], [1, 2]])
