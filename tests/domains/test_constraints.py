"""Constraints: their text and their values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.domains import Forbidden, LinearConstraint, parse_constraints

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


NAMED = (
    "Temp",
    "Temp (C)",
    "time (h)",
    "flow-rate",
    "flow",
    "bath heat",
    "5'-end",
    "in",
    "2",
    "Ä %",
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Temp (C) + 2*time (h) <= 100", ["Temp (C)", "time (h)"]),
        ("Temp <= 100", ["Temp"]),
        ("Temp + Temp  (C) <= 100", ["Temp", "Temp (C)"]),
        ("2*(Temp) <= 100", ["Temp"]),
        ("flow-rate + flow <= 3", ["flow-rate", "flow"]),
        ("flow - rate <= 3", ["flow", "rate"]),
        ("bath heat = 60", ["bath heat"]),
        ("`bath heat` <= 60", ["bath heat"]),
        ("not (5'-end > 2 and Ä % == 3)", ["5'-end", "Ä %"]),
        ("2*Temp + `in` + 2 <= 9", ["Temp", "in"]),
        ("solvent != 'bath heat' or Temp (C) <= 60", ["solvent", "Temp (C)"]),
    ],
)
def test_names_with_blanks_and_units_stand_as_they_are(text, names):
    [read] = parse_constraints(text, NAMED)
    assert list(read.names) == names
    assert parse_constraints(str(read)) == (read,)


def test_a_name_that_only_begins_like_a_known_one_is_refused():
    with pytest.raises(ValueError, match="a constraint needs"):
        parse_constraints("bath heater <= 60", NAMED)
    with pytest.raises(ValueError, match="names among"):
        kb.MixedBox({"Temp (C)": kb.Real(0, 9), "b": kb.Real(0, 9)}, constraints=["Temp <= 3"])


def test_constraints_of_a_space_name_its_variables_as_they_are_called():
    parts = {"Temp (C)": kb.Real(20, 90), "time (h)": kb.Real(1, 50)}
    space = kb.MixedBox(parts, constraints=["Temp (C) + 2*time (h) <= 100"])
    assert kb.MixedBox.from_dict(space.to_dict()) == space
    assert space.why_not({"Temp (C)": 80.0, "time (h)": 20.0}) is not None
    assert space.why_not({"Temp (C)": 60.0, "time (h)": 20.0}) is None
