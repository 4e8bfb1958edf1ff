"""Constrained spaces of every kind, and the rules of their points in plain arithmetic."""

from __future__ import annotations

import pytest

import kernelbandits as kb

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
