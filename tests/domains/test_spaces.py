"""Variables with log scales, steps and single values; spaces as text, files and tables; bounds."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.checks import DataNotice
from kernelbandits.domains import as_domain, parse_variable
from kernelbandits.domains.entries import FORMS, lacks_step, parse_choices
from kernelbandits.domains.steps import with_steps
from kernelbandits.sklearn.spaces import read_parameters

SPACE = kb.MixedBox(
    {
        "rate": kb.Real(1e-5, 0.1, log=True),
        "dose": kb.Real(0, 1, step=0.1),
        "cups": kb.Integer(1, 1024, log=True),
        "pack": kb.Integer(16, 130, step=16),
        "fixed": kb.Real(2.5, 2.5),
        "solvent": kb.Category(("DMF", None, True, 2.5)),
        "only": kb.Category(("one",)),
        "grade": kb.Ordered((1, 2, 5)),
    },
    constraints=["dose + 10*rate <= 1.2", {"solvent": None, "cups": "> 100"}],
)


# ---------------------------------------------------------------- variables


@pytest.mark.parametrize(
    ("low", "high", "step", "expected"),
    [
        (0, 1, 0.1, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (0.05, 0.4, 0.15, [0.05, 0.2, 0.35]),
        (-0.3, 0.3, 0.2, [-0.3, -0.1, 0.1, 0.3]),
        (1e-7, 4e-7, 1e-7, [1e-7, 2e-7, 3e-7, 4e-7]),
        (20, 90, 35, [20.0, 55.0, 90.0]),
    ],
)
def test_values_on_a_grid_are_what_a_person_would_write(low, high, step, expected):
    variable = kb.Real(low, high, step=step)
    assert variable.grid_values(None) == expected
    assert variable.levels == len(expected)
    assert [variable.decode(np.array(variable.encode(value))) for value in expected] == expected


def test_a_step_that_does_not_divide_the_range_ends_below_it():
    variable = kb.Integer(16, 130, step=16)
    assert (variable.last, variable.levels) == (128, 8)
    assert not variable.holds(130)
    assert not variable.holds(17)


@settings(max_examples=50)
@given(st.floats(1e-6, 1.0))
def test_a_value_on_a_log_scale_of_twelve_digits_comes_back_exactly(value):
    variable, brief = kb.Real(1e-6, 1, log=True), float(f"{value:.12g}")
    assert variable.decode(np.array(variable.encode(brief))) == brief
    assert variable.decode(np.array(variable.encode(value))) == pytest.approx(value, rel=1e-11)


def test_a_log_variable_has_its_logarithm_as_coordinate():
    box = kb.MixedBox({"rate": kb.Real(1e-4, 1, log=True), "n": kb.Integer(1, 100, log=True)})
    assert box.encode({"rate": 0.01, "n": 10}).tolist() == [math.log(0.01), math.log(10)]
    assert box.lower == (math.log(1e-4), 0.0)
    rows = box.from_unit(np.random.default_rng(0).random((4000, 2)))
    # A quarter of the draws in each decade, four standard errors.
    counts = np.histogram(rows[:, 0], bins=np.log([1e-4, 1e-3, 1e-2, 1e-1, 1]))[0]
    assert np.abs(counts - 1000).max() < 4 * math.sqrt(4000 * 0.25 * 0.75)
    assert (np.exp(rows[:, 1]).round(9) % 1 == 0).all()


def test_a_single_value_has_no_coordinate_and_comes_back():
    box = kb.MixedBox(
        {
            "a": kb.Real(0.5, 0.5),
            "b": kb.Integer(3, 3),
            "x": kb.Real(0, 1),
            "c": kb.Category(("k",)),
        }
    )
    assert box.dimension == 1
    x = {"a": 0.5, "b": 3, "x": 0.25, "c": "k"}
    assert box.decode(box.encode(x)) == x
    assert type(box.decode([0.25])["b"]) is int
    auto = kb.Auto(box, goal="find")
    for _ in range(8):
        choice = auto.ask()
        auto.tell(choice, -((choice.x["x"] - 0.3) ** 2))
    assert abs(auto.recommend()["x"] - 0.3) < 0.1


@pytest.mark.parametrize("value", ["DMF", None, True, 2.5])
def test_a_choice_may_be_none_a_truth_value_or_a_number(value):
    x = {
        "rate": 0.001,
        "dose": 0.3,
        "cups": 7,
        "pack": 32,
        "fixed": 2.5,
        "solvent": value,
        "only": "one",
        "grade": 5,
    }
    back = SPACE.decode(SPACE.encode(x))
    assert back == x
    assert type(back["solvent"]) is type(value)
    assert SPACE.read_point(SPACE.write_point(x)) == x


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kb.Real(0, 1, log=True), r"Real needs low > 0 with log=True, got \(0.0, 1.0\)"),
        (lambda: kb.Integer(0, 9, log=True), "Integer needs low > 0 with log=True"),
        (lambda: kb.Real(0, 1, step=2), "Real needs a step of at most high - low = 1, got 2"),
        (lambda: kb.Integer(0, 5, step=6), "Integer needs a step of at most high - low = 5, got 6"),
        (lambda: kb.Integer(3, 3, step=2), "Integer needs a step of at most"),
        (lambda: kb.Real(0, 1, step=0), "Real needs step > 0, got 0"),
        (lambda: kb.Real(0, 1, step=math.nan), "Real needs step > 0, got nan"),
        (lambda: kb.Real(0, 1, step="a"), "Real needs step > 0, got 'a'"),
        (lambda: kb.Integer(0, 9, step=1.5), "Integer needs a whole number step >= 1, got 1.5"),
        (lambda: kb.Real(0, 1, log="yes"), "Real needs log True or False, got 'yes'"),
        (lambda: kb.Real(0, 1e300, step=1e-300), r"Real needs at most 2\^53 values"),
        (lambda: kb.Category(("a", math.nan)), "Category needs values that are text"),
        (lambda: kb.MixedBox({"": kb.Real(0, 1)}), "MixedBox needs a name of its own"),
    ],
)
def test_a_variable_that_is_none_is_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [0.35, -0.1, 1.1, "0.3", None, True, math.nan])
def test_a_value_off_the_grid_is_refused(value):
    assert not kb.Real(0, 1, step=0.1).holds(value)


# ---------------------------------------------------------------- points and spaces as text


def test_two_points_are_the_same_if_and_only_if_their_texts_are():
    x = {
        "rate": 0.001,
        "dose": 0.1 + 0.2,
        "cups": 7.0,
        "pack": np.int64(32),
        "fixed": 2.5,
        "solvent": True,
        "only": "one",
        "grade": 5.0,
    }
    text = SPACE.write_point(x)
    assert json.loads(text)["dose"] == 0.3
    assert SPACE.write_point(dict(reversed(x.items()))) == text
    assert SPACE.write_point(SPACE.read_point(text)) == text
    assert SPACE.write_point(x | {"solvent": 2.5}) != text
    with pytest.raises(ValueError, match="read_point needs a point as JSON, got 'x'"):
        SPACE.read_point("x")
    with pytest.raises(ValueError, match="encode needs a number in"):
        SPACE.read_point(text.replace("0.001", "7"))


@pytest.mark.thorough
def test_every_drawn_point_is_in_the_space_and_survives_its_text():
    rows = SPACE.from_unit(np.random.default_rng(0).random((200, SPACE.sides)))
    for row in rows:
        x = SPACE.decode(row)
        assert x in SPACE
        assert SPACE.read_point(SPACE.write_point(x)) == x
        np.testing.assert_allclose(SPACE.encode(x), row, rtol=1e-10, atol=1e-10)


def test_a_space_survives_json_pickle_copy_and_its_repr():
    assert kb.MixedBox.from_dict(json.loads(json.dumps(SPACE.to_dict()))) == SPACE
    assert pickle.loads(pickle.dumps(SPACE)) == SPACE
    assert copy.deepcopy(SPACE) == SPACE
    assert eval(repr(SPACE), {name: getattr(kb, name) for name in kb.__all__}) == SPACE
    unnamed = kb.MixedBox((kb.Real(0, 1), kb.Integer(1, 5)), constraints=["x1 + x2 <= 4"])
    assert kb.MixedBox.from_dict(unnamed.to_dict()) == unnamed
    assert kb.MixedBox(SPACE.variables, SPACE.names) != SPACE


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {},
        {"variables": 3},
        {"variables": "x"},
        {"variables": [3]},
        {"variables": [{"name": "a", "type": "real", "low": 0}]},
        {"variables": [{"name": "a", "type": "real", "low": 0, "high": 1}], "more": 1},
        {"variables": [{"name": "a", "low": 0, "high": 1}, {"low": 0, "high": 1}]},
        {"variables": [{"name": "a", "low": 0, "high": 1}] * 2},
    ],
)
def test_what_describes_no_space_is_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        kb.MixedBox.from_dict(bad)


# ---------------------------------------------------------------- files and the short form

TOML = """
constraints = ["A + B + C == 1", "not (solvent == 'DMF' and A > 0.5)"]
[variables]
A = "real 0:1"
B = {low = 0.0, high = 1.0}
C = {type = "real", low = 0, high = 1, step = 0.1}
rate = "real 1e-5:1e-1 log"
cups = "integer 1:8"
solvent = "choice DMF, DMSO, water"
grade = {type = "ordered", values = ["low", "high"]}
"""


def write_file(tmp_path, text, name="space.toml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_space_is_read_from_toml_and_json(tmp_path):
    space = kb.read_space(write_file(tmp_path, TOML))
    assert space.names == ("A", "B", "C", "rate", "cups", "solvent", "grade")
    assert space.variables[3] == kb.Real(1e-5, 0.1, log=True)
    assert space.variables[6] == kb.Ordered(("low", "high"))
    assert str(space.constraints[0]) == "A + B + C == 1"
    again = kb.read_space(write_file(tmp_path, json.dumps(space.to_dict()), "space.json"))
    assert again == space
    by_name = {"variables": {"a": {"values": [None, True, 1.5]}, "b": "real 0:1"}}
    read = kb.read_space(write_file(tmp_path, json.dumps(by_name), "named.json"))
    assert read.variables[0].values == (None, True, 1.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a space file needs variables by name under"),
        ("variables = 3", "a space file needs variables by name"),
        ("[variables]\n", "a space file needs variables by name"),
        ("hello", "is no TOML file"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is no TOML file"),
        ('[variables]\na = "real 1:0"', "variable 'a': Real needs low <= high"),
        ('[variables]\na = "real 0:1 log"', "variable 'a': Real needs low > 0 with log=True"),
        ('[variables]\na = "real 0:1 step 2"', "variable 'a': Real needs a step of at most"),
        ('[variables]\na = "real nan:1"', "variable 'a' needs low:high, .*got 'nan:1'"),
        ('[variables]\na = "real x:y"', "variable 'a' needs low:high"),
        ('[variables]\na = "0:1"', "variable 'a' needs one of"),
        ('[variables]\na = "choice"', "variable 'a': Category needs at least one value"),
        ("[variables]\na = {low = 0}", "variable 'a' needs a setting 'high'"),
        ("[variables]\na = {low = 0, hi = 1}", "variable 'a' needs settings of"),
        ('[variables]\na = {type = "float", low = 0, high = 1}', "variable 'a' needs a type of"),
        ('[variables]\na = "real 0:1"\na = "real 0:2"', "is no TOML file"),
        ('constraints = "a <= 1"\n[variables]\na = "real 0:1"', "a list of constraints"),
        ('constraints = ["a >= 2"]\n[variables]\na = "real 0:1"', "no point satisfies 'a >= 2'"),
        ('[variables]\na = "real 0:1"\n[more]\n', "no entries but variables and constraints"),
        ("#" * 2**21, "is too large for a space"),
        ('[variables]\na = "real 0:1_0"', "variable 'a' needs low:high"),
        ('[variables]\na = "choice x,,y"', "a choice needs a value between any two commas"),
        ('[variables]\na = "real 0:1"\nconstraints = ["a <= 1"]', "above the line"),
        ('[variables]\n" a" = "real 0:1"', "names of one line without blanks at their ends"),
    ],
)
def test_a_file_that_is_no_space_is_refused_in_one_sentence(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        kb.read_space(write_file(tmp_path, text))
    assert "space.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_repeats_a_name_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^No such file: .*none\.toml"):
        kb.read_space(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="cannot be read"):
        kb.read_space(tmp_path)
    text = '{"variables": {"a": "real 0:1", "a": "real 0:2"}}'
    with pytest.raises(ValueError, match="the name 'a' stands in it twice"):
        kb.read_space(write_file(tmp_path, text, "twice.json"))


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("real", "rate=1e-5:1e-1 log", ("rate", kb.Real(1e-5, 0.1, log=True))),
        ("real", "a = 0:1 step 0.1", ("a", kb.Real(0, 1, step=0.1))),
        ("real", "a=5", ("a", kb.Real(5, 5))),
        ("integer", "cups=1:8", ("cups", kb.Integer(1, 8))),
        ("integer", "n=1:1e3 log step 3", ("n", kb.Integer(1, 1000, log=True, step=3))),
        ("choice", "s=DMF,DMSO, water", ("s", kb.Category(("DMF", "DMSO", "water")))),
        ("choice", "s=1,2,4", ("s", kb.Category((1, 2, 4)))),
        ("ordered", "s=low,high", ("s", kb.Ordered(("low", "high")))),
    ],
)
def test_the_short_form_of_a_variable(kind, text, expected):
    assert parse_variable(kind, text) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [("real", "a"), ("real", "=0:1"), ("real", "a=0:1:2"), ("real", "a=0:1 lg"), ("real", "a=0:1 step"),
     ("real", "a=0:1 log log"), ("integer", "a=1.5:3"), ("integer", "a=1:inf"), ("choice", "a="), ("thing", "a=0:1")],
)  # fmt: skip
def test_a_short_form_that_is_none_is_refused(kind, text):
    with pytest.raises(ValueError, match=r"needs .*, got"):
        parse_variable(kind, text)


def test_choices_are_numbers_only_if_all_are():
    assert parse_choices("1, 2, many") == ["1", "2", "many"]
    assert parse_choices("0.5,1") == [0.5, 1.0]
    assert parse_choices("true,FALSE") == [True, False]
    assert parse_choices("1_0, 2") == ["1_0", "2"]


# ---------------------------------------------------------------- bounds, tables, sizes


def test_bounds_and_dictionaries_are_domains():
    assert as_domain("f", [(0, 1), [2, 3]]) == kb.Box((0, 2), (1, 3))
    assert as_domain("f", (kb.Real(0, 1), kb.Integer(1, 3))) == kb.MixedBox(
        (kb.Real(0, 1), kb.Integer(1, 3))
    )
    mixed = {"x": (0.0, 1.0), "n": kb.Integer(1, 8), "s": ["a", "b"], "t": (True, False)}
    space = as_domain("f", mixed)
    assert space == kb.MixedBox(
        {
            "x": kb.Real(0, 1),
            "n": kb.Integer(1, 8),
            "s": kb.Category(("a", "b")),
            "t": kb.Category((True, False)),
        }
    )
    assert kb.Auto(mixed).domain == space
    assert kb.optimize(lambda x: x["x"], mixed, 3).policy.domain == space
    assert kb.optimize(lambda x: x[0], [(0, 1)], 3).policy.domain == kb.Box((0,), (1,))
    rows = np.zeros((3, 2))
    assert as_domain("f", rows) is rows


ENTRIES = {
    "list of whole numbers": ([64, 16, 32], kb.Ordered((16, 32, 64))),
    "list of two numbers": ([32, 64], kb.Ordered((32, 64))),
    "list of real numbers": ([0.1, 0.01], kb.Ordered((0.01, 0.1))),
    "array": (np.array([32, 64]), kb.Ordered((32, 64))),
    "range of Python": (range(1, 4), kb.Ordered((1, 2, 3))),
    "one number": ([32], kb.Ordered((32,))),
    "mixed list": ([None, 0.1, "auto"], kb.Category((None, 0.1, "auto"))),
    "truth values": ([True, False], kb.Category((True, False))),
    "tuple of texts": (("a", "b"), kb.Category(("a", "b"))),
    "pair of real numbers": ((0.0, 1.0), kb.Real(0, 1)),
    "pair with one real number": ((0, 0.5), kb.Real(0, 0.5)),
    "table": ({"type": "integer", "low": 1, "high": 4}, kb.Integer(1, 4)),
    "table of real ends": ({"low": 0.0, "high": 1.0}, kb.Real(0, 1)),
    "table with a real step": ({"low": 0, "high": 1, "step": 0.1}, kb.Real(0, 1, step=0.1)),
    "table of values": ({"values": [64, 32]}, kb.Ordered((32, 64))),
    "text": ("integer 1:8 log", kb.Integer(1, 8, log=True)),
    "variable": (kb.Integer(1, 8), kb.Integer(1, 8)),
}
"""What a user writes for a variable, and the variable that it is."""


@pytest.mark.parametrize("form", ENTRIES)
def test_a_variable_is_read_alike_wherever_it_is_given(form, tmp_path):
    given, variable = ENTRIES[form]
    entries = {"x": given, "other": kb.Real(0, 1)}
    space = kb.MixedBox({"x": variable, "other": kb.Real(0, 1)})
    assert kb.MixedBox(entries) == space
    assert kb.MixedBox((given, kb.Real(0, 1)), ("x", "other")) == space
    assert kb.Auto(entries).domain == space
    found = kb.optimize(lambda x: x["other"], entries, 2)
    assert found.policy.domain == space
    assert type(found.x["x"]) is type(variable.canonical(found.x["x"]))
    with kb.Study.create(tmp_path / "a.db", entries) as study:
        # A range that is written gets a step in a study, and a value of Python does not.
        written = {name for name, entry in entries.items() if lacks_step(entry)}
        assert study.space == with_steps(space, written)
    if isinstance(given, (list, dict, str)):
        plain = {"variables": {"x": given, "other": "real 0:1"}}
        assert kb.read_space(write_file(tmp_path, json.dumps(plain), "a.json")) == space


def test_a_choice_of_numbers_has_the_values_that_were_written():
    found = kb.optimize(lambda x: -abs(x["size"] - 64), {"size": [32, 64], "rate": [0.1, 1.0]}, 4)
    assert (found.x["size"], type(found.x["size"])) == (64, int)
    assert {trial.x["size"] for trial in found.trials} <= {32, 64}
    assert {trial.x["rate"] for trial in found.trials} <= {0.1, 1.0}


DOORS = {
    "Auto": lambda space, path: kb.Auto(space),
    "optimize": lambda space, path: kb.optimize(lambda x: 0.0, space, 2),
    "MixedBox": lambda space, path: kb.MixedBox(space),
    "Study": lambda space, path: kb.Study.create(path, space),
    "KernelBanditSearchCV": lambda space, path: read_parameters(space),
}
"""Where a space is given."""


@pytest.mark.parametrize("owner", DOORS)
@pytest.mark.parametrize(
    ("given", "forms"),
    [
        ((1, np.int64(4)), "kb.Integer(1, 4) (whole numbers) or (1.0, 4.0) (real numbers)"),
        ((1e-5, 0.1, "log"), "a range kb.Real(1e-05, 0.1, log=True) or a list of choices"),
        ((np.float64(1e-5), 0.1, "log-uniform"), "a range kb.Real(1e-05, 0.1, log=True) or"),
        ((1, 8, True), "a range kb.Real(1, 8, log=True) or a list of choices"),
        ((0, 1, None), "a range kb.Real(0, 1) or a list of choices"),
        (("float", 1e-5, 0.1), FORMS),
        ((0.1, None), FORMS),
        ((0.1,), FORMS),
        ((0.1, 1.0, 10.0), FORMS),
    ],
)
def test_a_tuple_that_is_no_range_is_refused_with_the_spellings(owner, given, forms, tmp_path):
    with pytest.raises(ValueError, match=re.escape(f"{owner} needs {forms}")) as refused:
        DOORS[owner]({"layers": given, "rate": (0.0, 1.0)}, tmp_path / "a.db")
    assert " for 'layers', got (" in str(refused.value)
    assert not (tmp_path / "a.db").exists()


def test_a_table_with_whole_ends_says_its_type(tmp_path):
    text = "[variables]\nlayers = {low = 1, high = 4}"
    needed = "variable 'layers' needs type = 'integer' or type = 'real' for a range with whole ends"
    with pytest.raises(ValueError, match=re.escape(needed)):
        kb.read_space(write_file(tmp_path, text))


@pytest.mark.parametrize("bad", [3, None, {1, 2}, (1, 2, 3), (0.0, math.inf), b"ab", object()])
def test_what_is_no_variable_is_refused_with_the_spellings(bad):
    with pytest.raises(ValueError, match=re.escape(f"MixedBox needs {FORMS} for 'x', got ")):
        kb.MixedBox({"x": bad})


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [(0,)],
        [(0, 1, 2)],
        [("a", "b")],
        {"x": 3},
        {"x": []},
        {"x": (1, 2, 3)},
        {"x": "ab"},
        {},
        {"x": (1.0, 0.0)},
        [(1, 0)],
    ],
)
def test_bounds_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        as_domain("Auto", bad)


def test_a_grid_is_a_table_of_points_with_their_values():
    space = kb.MixedBox(
        {
            "rate": kb.Real(1e-3, 0.1, log=True),
            "acid": kb.Category(("a", None)),
            "n": kb.Integer(1, 3),
        },
        constraints=["not (acid == None and n > 1)"],
    )
    table = space.grid(rate=3)
    assert isinstance(table, kb.Arms)
    assert len(table) == len(table.values) == 12
    assert [one["rate"] for one in table.values[::4]] == [0.001, 0.01, 0.1]
    for row, x in zip(table.points, table.values, strict=True):
        np.testing.assert_array_equal(space.encode(x), row)
    assert table.blocks == ((0,), (1, 2), (3,))
    assert len(space.grid(5, n=2)) == 5 * 3
    mixture = kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"])
    assert len(mixture.grid(11)) == 66
    assert kb.Auto(table, goal="find").ask().arm is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda box: box.grid(), "grid needs a number of values for 'x'"),
        (lambda box: box.grid(x=0), "grid needs a whole number x >= 1, got 0"),
        (lambda box: box.grid(y=3, x=3), r"grid needs names among \('x', 'n'\), got 'y'"),
        (lambda box: box.grid(10**6), "grid needs at most 2000000 points"),
    ],
)
def test_a_bad_grid_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(kb.MixedBox({"x": kb.Real(0, 1), "n": kb.Integer(1, 9)}))


def test_a_finite_space_knows_its_size():
    steps = {name: kb.Real(0, 1, step=0.05) for name in "ABCD"}
    assert kb.MixedBox(steps).count == 21**4
    mixture = kb.MixedBox(steps, constraints=["A + B + C + D == 1"])
    assert mixture.count == math.comb(20 + 3, 3)
    rows = mixture.all_rows()
    assert len(np.unique(rows, axis=0)) == mixture.count
    assert all(mixture.decode(row) in mixture for row in rows[::97])
    assert kb.MixedBox({"x": kb.Real(0, 1)}, constraints=["x <= 0.5"]).count == math.inf


# ---------------------------------------------------------------- log scales are searched in logs


@pytest.mark.thorough
def test_an_optimum_at_a_small_rate_is_found_on_a_log_scale():
    """The score falls by one for each factor of e away from the rate 3e-4."""

    def score(x):
        return -abs(math.log(x["rate"] / 3e-4))

    found = [
        kb.optimize(score, {"rate": kb.Real(1e-6, 1, log=True)}, 25, seed=seed) for seed in range(3)
    ]
    assert max(-score(one.x) for one in found) < 0.2
    linear = kb.optimize(score, {"rate": kb.Real(1e-6, 1)}, 25, seed=0)
    assert score(linear.x) < score(found[0].x)


@pytest.mark.thorough
def test_a_log_scale_is_played_as_the_box_of_logarithms():
    box = kb.Box((math.log(1e-6), 0.0), (0.0, 1.0))
    space = kb.MixedBox({"rate": kb.Real(1e-6, 1, log=True), "share": kb.Real(0, 1)})
    by_hand, by_scale = (kb.Auto(domain, goal="find", seed=4) for domain in (box, space))
    for _ in range(8):
        one, other = by_hand.ask(), by_scale.ask()
        assert one.x == pytest.approx([math.log(other.x["rate"]), other.x["share"]], abs=1e-6)
        reward = -((one.x[0] + 6) ** 2) / 10 - (one.x[1] - 0.4) ** 2
        by_hand.tell(one, reward)
        by_scale.tell(other, reward)


WIDE = (-1e308, 1e308)


@pytest.mark.parametrize(
    ("owner", "make"),
    [
        ("Auto", lambda: kb.Auto(kb.Box((WIDE[0],), (WIDE[1],))).ask(1, np.random.default_rng(0))),
        ("Auto", lambda: kb.optimize(lambda x: 1.0, {"heat": WIDE}, 3)),
        ("Auto", lambda: kb.optimize(lambda x: 1.0, [(-8e307, 8e307)], 3)),
        (
            "Auto",
            lambda: kb.optimize(lambda x: 1.0, {"heat": kb.Real(-5e307, 5e307, step=1e307)}, 3),
        ),
        ("Auto", lambda: kb.Study.create("never.db", {"heat": WIDE})),
        ("Study", lambda: kb.Study.create("never.db", {"heat": WIDE}, policy="random")),
        (
            "MixedBox",
            lambda: kb.MixedBox({"A": kb.Real(*WIDE), "B": kb.Real(0, 1)}, constraints=["A <= B"]),
        ),
    ],
)
def test_a_range_whose_length_no_search_can_square_is_refused_in_one_sentence(
    owner, make, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"^{owner} needs sides of 1e-100 to 1e\+100 .*e\+30"):
        make()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="needs high - low to be a finite number with a step"):
        kb.Real(*WIDE, step=1e307)


def test_two_increasing_numbers_in_a_file_are_a_choice_and_that_is_said(tmp_path):
    with pytest.warns(DataNotice, match=r"heat = \[20.0, 90.0\] are two choices; a range is 'real"):
        space = kb.read_space(write_file(tmp_path, "[variables]\nheat = [20.0, 90.0]\n"))
    assert space.variables == (kb.Ordered((20.0, 90.0)),)
    for values in ("[90.0, 20.0]", "[1.0, 2.0, 3.0]", '["a", "b"]', "{values = [1.0, 2.0]}"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kb.read_space(write_file(tmp_path, f"[variables]\nheat = {values}\n"))
