"""Constraints: their text, what they leave, and searches that respect them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.domains import Forbidden, LinearConstraint, maximise, parse_constraints
from kernelbandits.domains.lattice import elementary_moves, whole_number_kernel

APART = 1 / math.sqrt(2)


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A + B + C == 1", ["A + B + C == 1"]),
        ("A+B=1", ["A + B == 1"]),
        ("2*x + y <= 10", ["2*x + y <= 10"]),
        ("0.2 <= A + B <= 0.5", ["A + B >= 0.2", "A + B <= 0.5"]),
        ("60 >= x", ["x <= 60"]),
        ("x >= y", ["x - y >= 0"]),
        ("x/4 + (y - 1)*2 <= -x", ["1.25*x + 2*y <= 2"]),
        ("x <= 1 and y <= 2", ["x <= 1", "y <= 2"]),
        ("`bath temp` ≤ 60", ["`bath temp` <= 60"]),
        ("not (s == 'DMF' and t > 60)", ["not (s == 'DMF' and t > 60)"]),
        ("s != 'DMF' or t <= 60", ["not (s == 'DMF' and t > 60)"]),
        ("s != 'a'", ["not (s == 'a')"]),
        ("not (s in ('a', 'b') or q == None)", ["not (s in ('a', 'b'))", "not (q == None)"]),
        ("not (1 < t < 2)", ["not (t > 1 and t < 2)"]),
        ("-x <= -0.5", ["-x <= -0.5"]),
    ],
)
def test_a_constraint_is_read_and_written_again(text, expected):
    read = parse_constraints(text)
    assert [str(one) for one in read] == expected
    for one in read:
        assert parse_constraints(str(one)) == (one,)


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "bath temp", "lambda"]),
        st.floats(-1e6, 1e6).filter(lambda factor: abs(factor) > 1e-6),
        min_size=1,
    ),
    st.sampled_from(["<=", ">=", "=="]),
    st.floats(-1e9, 1e9),
)
def test_the_text_of_a_linear_constraint_gives_it_back(coefficients, relation, bound):
    one = LinearConstraint(coefficients, relation, bound)
    assert parse_constraints(str(one)) == (one,)


@pytest.mark.parametrize(
    "text",
    ["", "x", "x <=", "x*y <= 1", "x**2 <= 1", "x < 1", "1 <= 2", "x - x <= 1", "f(x) <= 1", "x.y <= 1", "x[0] <= 1",
     "__import__('os').system('true')", "x <= 1e999", "x <= 'a'", "lambda: 1", "(" * 500, "x is 1", "x/0 <= 1", "x == [1]",
     "not x", "not (x and y)", "x <= 1; y", "x := 1", "s in 'abc'", "x <= 1j", "x % 2 == 0"],
)  # fmt: skip
def test_a_text_that_is_no_constraint_is_refused_in_one_sentence(text):
    with pytest.raises(ValueError, match=r"^a constraint needs .*, got") as caught:
        parse_constraints(text)
    assert "\n" not in str(caught.value)


def test_constraints_may_be_values_and_dictionaries():
    variables = {"s": kb.Category(("a", "b")), "t": kb.Real(20, 90), "n": kb.Integer(1, 5)}
    given_ = [
        LinearConstraint({"t": 1, "n": 2}, "<=", 80),
        Forbidden({"s": "a", "t": "> 60"}),
        {"s": ["a", "b"], "n": 3},
    ]
    box = kb.MixedBox(variables, constraints=given_)
    assert [str(one) for one in box.constraints] == [
        "t + 2*n <= 80",
        "not (s == 'a' and t > 60)",
        "not (s in ('a', 'b') and n == 3)",
    ]
    assert {"s": "b", "t": 61.0, "n": 1} in box
    assert {"s": "a", "t": 61.0, "n": 1} not in box
    assert {"s": "b", "t": 61.0, "n": 3} not in box
    assert kb.MixedBox(variables, constraints=[str(one) for one in box.constraints]) == box


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["A + D == 1"], r"a constraint needs names among \('A', 'B', 'C', 's'\), got 'D'"),
        (["A == 'x'"], r"a constraint needs a number in \[0.0, 1.0\] for 'A', got 'x'"),
        (["not (s == 'zzz')"], "for 's', got 'zzz'"),
        (["s + A <= 1"], "a constraint needs numbers in sums and comparisons"),
        (["not (s > 3)"], "a constraint needs numbers in sums and comparisons"),
        (["not (A != 0.5 and s == 'a')"], "no != between numbers"),
        (3, "MixedBox needs a list of constraints, got 3"),
        ([3], "MixedBox needs constraints such as"),
        ([{}], "Forbidden needs at least one condition"),
        (["A + B + C == 4"], "within the ranges no point satisfies 'A \\+ B \\+ C == 4'$"),
        (
            ["C <= 0.9", "A >= 0.5", "B >= 0.4", "A + B <= 0.8"],
            "no point satisfies 'A >= 0.5' and 'B >= 0.4' and 'A \\+ B <= 0.8'$",
        ),
        (
            ["A <= 0.5", "B <= 0.3", "A >= 0.5"],
            "within the ranges 'A <= 0.5' and 'A >= 0.5' leaves? its real numbers no room",
        ),
        (["A + B + C == 3"], "leaves? its real numbers no room"),
        (["not (s == 'a')", "not (s == 'b')"], "no point satisfies"),
        (["not (s == 'a' and A <= 1)", "s == 'a'"], "not \\(s == 'a' and A <= 1\\)' and 'not"),
    ],
)
def test_constraints_that_cannot_be_are_refused_with_their_names(constraints, message):
    variables = {name: kb.Real(0, 1) for name in "ABC"} | {"s": kb.Category(("a", "b"))}
    with pytest.raises(ValueError, match=message):
        kb.MixedBox(variables, constraints=constraints)


def test_equalities_that_leave_one_point_and_grids_that_miss_a_sum_are_refused():
    with pytest.raises(ValueError, match="determine every variable"):
        kb.MixedBox([kb.Real(0, 1)] * 2, constraints=["x1 + x2 == 1", "x1 == x2"])
    with pytest.raises(ValueError, match=r"no point satisfies 'x1 \+ x2 == 0.55'"):
        kb.MixedBox([kb.Real(0, 1, step=0.1)] * 2, constraints=["x1 + x2 == 0.55"])


# ---------------------------------------------------------------- membership and samples

SPACES = {
    "mixture": kb.MixedBox(
        {name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1", "A <= 0.6"]
    ),
    "percent": kb.MixedBox(
        {name: kb.Real(0, 100, step=2.5) for name in "ABCD"},
        constraints=["A + B + C + D == 100", "A >= 2*B"],
    ),
    "inequalities": kb.MixedBox(
        {name: kb.Real(0, 1) for name in "xyz"}, constraints=["2*x + y <= 1.2", "x + z >= 0.7"]
    ),
    "thin": kb.MixedBox(
        {name: kb.Real(0, 1) for name in "xyz"},
        constraints=["0.499 <= x + y <= 0.501", "x - z >= 0.1"],
    ),
    "forbidden": kb.MixedBox(
        {"s": kb.Category(("DMF", "DMSO", "water")), "t": kb.Real(20, 90), "n": kb.Integer(1, 30)},
        constraints=["not (s == 'DMF' and t > 60)", "not (s == 'water' and t <= 50 and n > 3)"],
    ),
    "parts": kb.MixedBox(
        {"s": kb.Category(("a", "b")), "t": kb.Real(0, 1)},
        constraints=["not (s == 'a' and t > 0.3)", "not (s == 'b' and t < 0.7)"],
    ),
    "grids and reals": kb.MixedBox(
        {"A": kb.Real(0, 1, step=0.1), "B": kb.Real(0, 1), "C": kb.Real(0, 1, step=0.25)},
        constraints=["A + B + C == 1"],
    ),
    "logs": kb.MixedBox(
        {"lr": kb.Real(1e-6, 1, log=True), "wd": kb.Real(1e-6, 1, log=True), "m": kb.Real(0, 1)},
        constraints=["lr + wd <= 0.5", "wd <= lr"],
    ),
    "layers": kb.MixedBox(
        {"h1": kb.Integer(8, 512, log=True), "h2": kb.Integer(8, 512, log=True)},
        constraints=["h2 <= h1"],
    ),
    "two sums": kb.MixedBox(
        {name: kb.Integer(0, 12) for name in "abcd"},
        constraints=["a + b + c == 12", "2*b + 3*d == 12"],
    ),
}
"""Spaces of every kind, each with what is checked of a point by hand."""
RULES = {
    "mixture": lambda A, B, C: abs(A + B + C - 1) <= 1e-9 and A <= 0.6,
    "percent": lambda A, B, C, D: (
        A + B + C + D == 100 and A >= 2 * B and all(v % 2.5 == 0 for v in (A, B, C, D))
    ),
    "inequalities": lambda x, y, z: 2 * x + y <= 1.2 and x + z >= 0.7,
    "thin": lambda x, y, z: 0.499 <= x + y <= 0.501 and x - z >= 0.1,
    "forbidden": lambda s, t, n: (
        not (s == "DMF" and t > 60) and not (s == "water" and t <= 50 and n > 3)
    ),
    "parts": lambda s, t: t <= 0.3 if s == "a" else t >= 0.7,
    "grids and reals": lambda A, B, C: (
        abs(A + B + C - 1) <= 1e-9 and round(A * 10, 9) % 1 == 0 and C * 4 % 1 == 0
    ),
    "logs": lambda lr, wd, m: lr + wd <= 0.5 and wd <= lr,
    "layers": lambda h1, h2: h2 <= h1,
    "two sums": lambda a, b, c, d: a + b + c == 12 and 2 * b + 3 * d == 12,
}
every_space = pytest.mark.parametrize("name", SPACES)


@every_space
def test_every_point_drawn_satisfies_the_constraints_exactly(name):
    space, rng = SPACES[name], np.random.default_rng(0)
    rows = space.from_unit(rng.random((300, space.sides)))
    np.testing.assert_array_equal(
        rows, space.from_unit(np.random.default_rng(0).random((300, space.sides)))
    )
    points = [space.decode(row) for row in rows]
    assert all(RULES[name](**x) for x in points)
    assert all(x in space for x in points)


@every_space
def test_the_cover_and_the_neighbours_satisfy_the_constraints(name):
    space = SPACES[name]
    arms = space.cover(60)
    assert len(arms) == min(60, space.count)
    for row in arms.points[:20]:
        assert RULES[name](**space.decode(row))
        tried = space.neighbours(row)
        assert all(RULES[name](**space.decode(other)) for other in tried[:30])
        assert not (tried == row).all(1).any()


@every_space
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_row_has_a_nearest_point(name, seed):
    space = SPACES[name]
    row = np.random.default_rng(seed).uniform(space.lower, space.upper)
    x = space.decode(row)
    assert RULES[name](**x)
    assert x in space


def test_samples_of_a_mixture_are_uniform():
    """Each of three components of a mixture has mean 1/3 and variance 1/18."""
    space = kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"])
    rows = space.feasible.sample(4000, np.random.default_rng(1), moves=12)
    error = math.sqrt(1 / 18 / 4000)
    # The pool of 512 points that samples start from adds its own error.
    assert np.abs(rows.mean(0) - 1 / 3).max() < 4 * error + 2 * math.sqrt(1 / 18 / 512)
    assert np.abs(rows.var(0) - 1 / 18).max() < 0.01


def test_samples_reach_all_parts_of_a_set():
    space = SPACES["parts"]
    rows = space.from_unit(np.random.default_rng(0).random((400, 2)))
    assert 100 < (rows[:, 0] > 0).sum() < 300


def test_a_given_point_may_miss_a_sum_by_a_billionth_and_no_more():
    space = SPACES["mixture"]
    assert {"A": 0.1, "B": 0.2, "C": 0.7 + 1e-10} in space
    assert space.why_not({"A": 0.1, "B": 0.2, "C": 0.7001}) == (
        "a point with A + B + C == 1, got {'A': 0.1, 'B': 0.2, 'C': 0.7001}"
    )


def test_a_single_value_may_be_forbidden_on_a_grid():
    space = kb.MixedBox(
        {"n": kb.Integer(0, 10), "x": kb.Real(0, 1)},
        constraints=["not (n == 3)", "not (x >= 0.5 and n <= 4)"],
    )
    points = [
        space.decode(row) for row in space.from_unit(np.random.default_rng(0).random((300, 2)))
    ]
    assert {x["n"] for x in points} == set(range(11)) - {3}
    assert not any(x["x"] >= 0.5 and x["n"] <= 4 for x in points)


def test_the_bound_of_a_forbidden_range_belongs_to_it_or_not_as_it_is_written():
    variables = {"s": kb.Category(("a", "b")), "t": kb.Real(0, 90)}
    open_, closed = (
        kb.MixedBox(variables, constraints=[f"not (s == 'a' and t {sign} 60)"])
        for sign in (">", ">=")
    )
    assert {"s": "a", "t": 60.0} in open_
    assert {"s": "a", "t": 60.0} not in closed
    assert {"s": "a", "t": 59.99} in closed


def test_whole_number_moves_keep_the_equalities():
    matrix = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 3.0]])
    moves = elementary_moves(whole_number_kernel(matrix))
    assert [1, 0, -1, 0] in moves
    assert len(whole_number_kernel(matrix)) == 2
    for move in moves:
        np.testing.assert_array_equal(matrix @ np.array(move), 0.0)


@pytest.mark.parametrize(("parts", "components"), [(20, 4), (50, 4), (20, 5)])
def test_the_points_of_a_mixture_are_counted(parts, components):
    names = [f"c{number}" for number in range(components)]
    steps = {name: kb.Real(0, 1, step=1 / parts) for name in names}
    space = kb.MixedBox(steps, constraints=[f"{' + '.join(names)} == 1"])
    assert space.count == math.comb(parts + components - 1, components - 1)


def test_listed_points_are_those_that_satisfy_the_constraints():
    space = SPACES["two sums"]
    every = [dict(zip("abcd", x, strict=True)) for x in itertools.product(range(13), repeat=4)]
    expected = [x for x in every if RULES["two sums"](**x)]
    assert [space.decode(row) for row in space.all_rows()] == expected


@pytest.mark.parametrize("name", ["percent", "two sums"])
def test_a_row_is_rounded_to_the_nearest_of_all_points(name):
    """The distance is the sum of absolute distances in sides."""
    space, rng = SPACES[name], np.random.default_rng(5)
    inside = space.from_unit(rng.random((40, space.sides)))
    # Averages of points satisfy the sums, but are not on the grids.
    target = (inside[:20] + inside[20:]) / 2
    sides = np.subtract(space.upper, space.lower)
    every = np.abs((space.all_rows() - target[:, None]) / sides).sum(2)
    rounded = np.abs((space.feasible.settle(target) - target) / sides).sum(1)
    np.testing.assert_allclose(rounded, every.min(1), atol=1e-9)


# ---------------------------------------------------------------- the search


def bumps(dimension, seed, width=0.25, number=30):
    """A sum of positive and negative bumps, with its gradient."""
    rng = np.random.default_rng(seed)
    centres, weights = rng.random((number, dimension)), rng.normal(size=number)

    def function(rows):
        away = rows[:, None] - centres
        heights = weights * np.exp(-(away**2).sum(2) / (2 * width**2))
        return heights.sum(1), -(heights[:, :, None] * away).sum(1) / width**2

    return function


def lattice(*columns):
    return np.stack(np.meshgrid(*columns, indexing="ij"), -1).reshape(-1, len(columns))


def mixture_grid():
    rows = lattice(np.linspace(0, 0.6, 61), np.linspace(0, 1, 101))
    rows = rows[rows.sum(1) <= 1 + 1e-12]
    return np.column_stack([rows, 1 - rows.sum(1)])


def inequality_grid():
    rows = lattice(*[np.linspace(0, 1, 51)] * 3)
    return rows[(2 * rows[:, 0] + rows[:, 1] <= 1.2) & (rows[:, 0] + rows[:, 2] >= 0.7)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("name", "grid"), [("mixture", mixture_grid), ("inequalities", inequality_grid)]
)
def test_the_search_finds_what_a_dense_grid_finds(name, grid, seed):
    space, function = SPACES[name], bumps(3, seed)
    found = maximise(function, space, scale=0.25)
    assert found.value >= function(grid())[0].max() - 1e-9
    assert RULES[name](**space.decode(found.row))


@pytest.mark.parametrize("seed", range(3))
def test_the_search_on_a_fine_mixture_finds_its_best_point(seed):
    """176 851 points, of which all are evaluated here."""
    space = kb.MixedBox(
        {name: kb.Real(0, 1, step=0.01) for name in "ABCD"}, constraints=["A + B + C + D == 1"]
    )
    assert space.count == math.inf
    numbers = lattice(*[np.arange(101)] * 3)
    numbers = numbers[numbers.sum(1) <= 100]
    every = np.column_stack([numbers, 100 - numbers.sum(1)]) / 100
    function = bumps(4, seed, width=0.4, number=12)
    best = max(function(part)[0].max() for part in np.array_split(every, 20))
    found = maximise(function, space, scale=0.25)
    assert found.value >= best - 1e-9
    x = space.decode(found.row)
    assert round(sum(round(100 * value) for value in x.values())) == 100
    assert all(value == round(value, 2) for value in x.values())


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_choice_beside_a_forbidden_one(seed):
    space = kb.MixedBox(
        {"s": kb.Category(("a", "b")), "x": kb.Real(0, 1), "y": kb.Real(0, 1)},
        constraints=["not (s == 'a' and x > 0.6)", "not (x > 0.5 and y > 0.5)"],
    )
    rows = lattice(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    rows = rows[~((rows[:, 0] > 0.5) & (rows[:, 1] > 0.5))]
    first = rows[rows[:, 0] <= 0.6]
    every = np.vstack(
        [
            np.column_stack([np.tile([APART, 0], (len(first), 1)), first]),
            np.column_stack([np.tile([0, APART], (len(rows), 1)), rows]),
        ]
    )
    function = bumps(4, seed, number=60)
    found = maximise(function, space, scale=0.25)
    assert found.value >= function(every)[0].max() - 1e-9


def test_a_search_on_a_log_scale_stays_below_a_sum():
    """On the line lr + wd = 0.5 the function is largest at lr = wd = 0.25, and it wants more."""

    def function(rows):
        return rows.sum(1), np.ones_like(rows)

    space = kb.MixedBox(
        {"lr": kb.Real(1e-6, 1, log=True), "wd": kb.Real(1e-6, 1, log=True)},
        constraints=["lr + wd <= 0.5"],
    )
    x = space.decode(maximise(function, space).row)
    assert x["lr"] + x["wd"] <= 0.5
    assert x["lr"] == pytest.approx(0.25, rel=1e-3)


def test_a_search_at_a_corner_of_a_mixture_ends_there():
    def function(rows):
        return rows @ np.array([3.0, 1.0, 2.0]), np.tile([3.0, 1.0, 2.0], (len(rows), 1))

    x = SPACES["mixture"].decode(maximise(function, SPACES["mixture"]).row)
    assert x == pytest.approx({"A": 0.6, "B": 0.0, "C": 0.4}, abs=1e-9)
    assert (x["A"], x["B"]) == (0.6, 0.0)


# ---------------------------------------------------------------- policies


@every_space
def test_a_policy_asks_batches_and_recommends_within_the_constraints(name):
    space = SPACES[name]
    auto = kb.Auto(space, goal="find", seed=3, opening="middle")
    for number in range(3):
        choices = auto.batch(3)
        for choice in choices:
            assert RULES[name](**choice.x)
            row = space.encode(choice.x)
            auto.tell(
                choice,
                float(-np.abs(row / np.maximum(np.abs(space.upper), 1) - 0.3).sum())
                + 0.01 * number,
            )
    assert RULES[name](**auto.recommend())


@pytest.mark.parametrize(("name", "more"), [("simple-ucb", {}), ("gp-ts", {"horizon": 5})])
def test_other_policies_play_within_the_constraints_too(name, more):
    space = SPACES["mixture"]
    policy = kb.policy(name, space, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, **more)
    for t in range(1, 6):
        choice = policy.ask(t, kb.Streams(0))
        assert RULES["mixture"](**choice.x)
        policy.tell(choice, choice.x["A"])


def test_a_point_outside_the_constraints_is_refused_and_changes_nothing():
    auto = kb.Auto(SPACES["mixture"], goal="find")
    with pytest.raises(ValueError, match=r"^encode needs a point with A \+ B \+ C == 1"):
        auto.tell(kb.Choice({"A": 0.5, "B": 0.5, "C": 0.5}), 1.0)
    assert auto.n_rewards == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_best_mixture_is_found(seed):
    """The maximum on the face A = 0.6 is at B = 0.1, C = 0.3."""

    def strength(x):
        return 2 * x["A"] - 4 * (x["B"] - 0.1) ** 2 - 4 * (x["C"] - 0.3) ** 2

    found = kb.optimize(strength, SPACES["mixture"], 25, seed=seed)
    assert strength(found.x) > 1.2 - 0.02
    assert RULES["mixture"](**found.x)
