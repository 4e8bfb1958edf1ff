"""Parts of a mixed box."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.domains import Part


def test_a_part_of_a_space_keeps_what_its_constraints_demand_of_the_rest():
    whole = kb.MixedBox(
        {"A": kb.Real(0, 1), "B": kb.Real(0, 1), "acid": kb.Category(("x", "y", "z"))},
        constraints=[
            "A + B <= 1.2",
            "not (acid == 'x' and A > 0.5)",
            "not (acid == 'y' and B > 0.5)",
        ],
    )
    high, low = Part(whole, {"A": 0.9}), Part(whole, {"A": 0.1})
    rng = np.random.default_rng(0)
    for part in (high, low):
        for _ in range(50):
            rest = {"B": float(rng.random()), "acid": str(rng.choice(["x", "y", "z"]))}
            x = {**part.values, **rest}
            assert (x in part) == (x in part.box) == (x in whole)
            assert {**x, "A": 0.5} not in part
            np.testing.assert_array_equal(
                part.expand(part.box.without_constraints.encode(x)[None])[0],
                whole.without_constraints.encode(x),
            )
    with pytest.raises(ValueError, match=r"Part needs a number in \[0\.0, 1\.0\] for 'A', got 2"):
        Part(whole, {"A": 2})


def test_a_part_takes_every_kind_of_variable_at_one_of_its_values():
    whole = kb.MixedBox(
        {
            "rate": kb.Real(1e-5, 0.1, log=True),
            "A": kb.Real(0, 1, step=0.1),
            "cups": kb.Integer(2, 8, step=2),
            "size": kb.Ordered(("s", "m", "l")),
            "acid": kb.Category((None, "x")),
            "heat": kb.Real(20, 90),
        }
    )
    values = {"rate": 0.01, "A": 0.1 + 0.2, "cups": 4, "size": "m", "acid": None}
    part = Part(whole, values)
    x = part.box.decode([35.0])
    assert x == {**values, "A": 0.3, "heat": 35.0}
    assert x in part
    assert {**x, "A": 0.1 + 0.2} in part
    np.testing.assert_array_equal(part.expand([[35.0]])[0], whole.encode(x))
