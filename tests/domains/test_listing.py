"""The points of a finite set, listed and counted."""

from __future__ import annotations

import itertools
import math

import pytest

import kernelbandits as kb
from constrained_spaces import RULES, SPACES


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
