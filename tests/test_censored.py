import copy
import json
import pickle

import pytest

import kernelbandits as kb
from kernelbandits.censored import join_sides, split_sides
from kernelbandits.formatting import format_cell, format_number
from kernelbandits.tables.cells import parse_result, text_of

LOW = kb.Censored(0.5, "<")


def test_a_limit_is_a_number_that_is_equal_only_to_the_same_limit():
    assert LOW + 1 == 1.5
    assert kb.Censored(0.5, "<") == LOW
    assert LOW != 0.5
    assert LOW != 0.5
    assert kb.Censored(0.5, ">") != LOW
    assert len({LOW, kb.Censored(0.5, "<"), 0.5}) == 2
    assert LOW.turned() == kb.Censored(-0.5, ">")
    assert json.dumps({"y": LOW}) == '{"y": 0.5}'


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_is_the_same_limit(again):
    assert again(LOW) == LOW


def test_a_limit_is_written_with_its_side_everywhere():
    precise = kb.Censored(1234.5678, ">")
    assert (str(LOW), f"{precise:.3f}") == ("<0.5", ">1234.568")
    assert (format_number(precise), format_cell(precise)) == (">1235", ">1234.57")
    assert (str(parse_result("nd")), format_number(parse_result("nd"))) == ("n.d.", "n.d.")
    assert text_of(precise) == ">1234.5678"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.83", 0.83),
        ("0,83", 0.83),
        ("<0.5", LOW),
        ("< 0,5", LOW),
        ("≤0.5", LOW),
        ("<=0.5", LOW),
        (">99", kb.Censored(99, ">")),
        (">= 99", kb.Censored(99, ">")),
        ("<-3e2", kb.Censored(-300, "<")),
    ],
)
def test_limits_are_read_as_people_write_them(text, found):
    assert parse_result(text) == found
    assert parse_result(text_of(found)) == found


@pytest.mark.parametrize("text", ["n.d.", "N.D.", "nd", "not detected", "<LOD", "BDL"])
def test_what_was_not_detected_is_below_a_limit_to_be_found(text):
    assert parse_result(text) == kb.Censored(float("-inf"), "<")


@pytest.mark.parametrize("text", ["", "<", "<<1", "low", "<1_000", "0.5<", "~3"])
def test_other_text_is_no_result(text):
    assert parse_result(text) != parse_result(text)


def test_sides_are_kept_apart_from_numbers_and_joined_again():
    values = {"a": LOW, "b": 2.0}
    assert join_sides(*split_sides(values)) == values
