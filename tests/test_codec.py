"""One codec: what is written is read again exactly, and only types of its table are read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import CODEC
from kernelbandits.codec import Codec, to_json, write_compact


@dataclass(frozen=True)
class Point:
    x: float
    tags: tuple[str, ...]


POINTS = Codec.of(Point)
FLOATS = (0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3, math.inf, -math.inf, math.nan)


def send(codec, value):
    """Return a value after its way through a text that is JSON in the strict sense."""
    return codec.decode(json.loads(json.dumps(codec.encode(value), allow_nan=False)))


@pytest.mark.parametrize("number", FLOATS)
def test_every_float_comes_back_bit_by_bit(number):
    again = send(POINTS, Point(number, ())).x
    assert np.float64(again).tobytes() == np.float64(number).tobytes()
    assert send(POINTS, np.float64(number)) == again or math.isnan(again)


@pytest.mark.parametrize(
    "value",
    [
        Point(1.0, ("a", "b")),
        {"a": (1, (2.5, None, True))},
        {"type": "Point", "x": 1},
        {1: "one", "two": 2},
        "inf",
        ({}, (), {"a": {}}),
    ],
    ids=repr,
)
def test_what_is_written_is_read_again(value):
    again = send(POINTS, value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, math.inf], [math.nan, -0.0]]),
        np.zeros((0, 3)),
        np.arange(6).reshape(1, 2, 3),
        np.array([True, False]),
    ],
    ids=repr,
)
def test_an_array_keeps_its_shape_its_type_and_its_bits(array):
    again = send(POINTS, array)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "domain",
    [
        kb.Box((0.0, 1.0), (1.0, 3.0)),
        kb.Contextual(kb.Box((0.0,), (1.0,)), 2),
        kb.Contextual(3, 1),
        kb.MixedBox(
            {
                "type": kb.Category(("a", None, True)),
                "A": kb.Real(0, 1, step=0.1),
                "B": kb.Real(1e-5, 1.0, log=True),
                "n": kb.Integer(1, 9, step=2),
                "size": kb.Ordered((1, 2, 4)),
            },
            constraints=["A + B <= 1", "not (n == 3 and size == 2)"],
        ),
    ],
    ids=repr,
)
def test_a_domain_comes_back_equal(domain):
    assert send(CODEC, domain) == domain


def test_arms_come_back_with_their_values():
    space = kb.MixedBox({"type": kb.Category(("a", "b")), "A": kb.Real(0, 1, step=0.5)})
    arms = space.grid()
    again = send(CODEC, arms)
    assert again.values == arms.values
    assert again.blocks == arms.blocks
    np.testing.assert_array_equal(again.points, arms.points)


class Derived(kb.RBF):
    """A kernel of a user: its name says nothing to a stored text."""


@pytest.mark.parametrize("value", [Derived(0.2), object, len, {1, 2}, 1j, b"x"], ids=repr)
def test_a_value_of_an_unknown_type_is_refused_in_one_sentence(value):
    with pytest.raises(ValueError, match=r"^a stored value needs .*, got "):
        CODEC.encode({"deep": [value]})


@pytest.mark.parametrize(
    "plain",
    [
        {"type": "Path"},
        {"type": ["RBF"]},
        {"type": "RBF", "length": 1},
        {"type": "RBF", "lengthscale": "long"},
        {"type": "float", "text": None},
        {"type": "float", "text": "much"},
        {"type": "array", "dtype": "O", "shape": [1], "values": [1]},
        {"type": "array", "dtype": "<f8", "shape": [2], "values": [1]},
        {"type": "mapping", "items": 3},
        {"type": "TestFunction", "name": "nobody"},
    ],
    ids=repr,
)
def test_a_text_that_is_no_value_is_refused(plain):
    with pytest.raises(ValueError, match=r"."):
        CODEC.decode(plain)


def test_a_compact_text_has_numbers_of_numpy_and_refuses_what_json_lacks():
    assert write_compact({"a": np.float64(0.1), "b": np.array([1, 2])}) == '{"a":0.1,"b":[1,2]}'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_compact([math.nan])


def test_json_has_fields_lists_and_null_for_what_is_not_finite():
    value = {"p": Point(math.nan, ("é",)), 1: np.array([1.0, math.inf]), "n": np.int64(3)}
    assert json.loads(to_json(value)) == {"p": {"x": None, "tags": ["é"]}, "1": [1.0, None], "n": 3}
    assert "é" in to_json(value)
    assert "é" not in to_json(value, ascii_only=True)
