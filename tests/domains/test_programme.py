"""Constraints that leave nothing, and the sentence that names them."""

from __future__ import annotations

import pytest

import kernelbandits as kb


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
