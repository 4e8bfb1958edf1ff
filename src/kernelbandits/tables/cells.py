"""What may stand in a cell: numbers in one canonical form, text, yes and no."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.tables.files import NUMBER, plain

YES = frozenset({"yes", "y", "true", "1", "x", "ja", "j", "wahr"})
NO = frozenset({"no", "n", "false", "0", "", "nein", "falsch"})
ABSENT = frozenset({"", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "NAN", "null", "NULL"})
"""A missing value among text, where Na is sodium and none may be a choice like any other."""
NUMBERLIKE = re.compile(
    r"[<>≤≥~±]?\s*[+-]?"
    r"(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([.,'’ \u00a0\u202f]\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s*%?"
)
WHOLE = re.compile(r"0*([0-9]+)(?:[.,]0{1,2})?")
LARGEST_EXACT = 1e15
LARGEST_INTEGER = 10**300


def canonical(value: float) -> str:
    """Return the shortest text of a number; whole numbers have no point, and -0.0 is 0."""
    return (
        str(int(value))
        if abs(value) < LARGEST_EXACT and value == int(value)
        else repr(float(value))
    )


def text_of(value: Any) -> str:
    """Any value as the text of a cell; None is a blank."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value)) if abs(int(value)) < LARGEST_INTEGER else "inf"
    if isinstance(value, Real):
        return canonical(checks.as_float(value)) if checks.is_number(value) else str(float(value))
    refused = (
        bytes,
        bytearray,
        complex,
        np.complexfloating,
        np.ndarray,
        list,
        tuple,
        dict,
        set,
        frozenset,
    )
    if isinstance(value, refused):
        raise ValueError(f"a cell needs a number or text, got {type(value).__name__}")
    return storable(plain(str(value)))


def storable(text: str) -> str:
    """Text that every store and every file can hold."""
    checks.needs(
        "\0" not in text and not re.search("[\ud800-\udfff]", text),
        "a cell",
        "text without NUL",
        text,
    )
    return text


def looks_numeric(cell: str) -> bool:
    """Whether somebody may have meant a number: 1_000, 0x10, inf, 1,5 or 12 %, in any digits."""
    return (
        bool(NUMBERLIKE.fullmatch(cell)) or _is(float, cell) or _is(lambda text: int(text, 0), cell)
    )


def whole(cell: str) -> str:
    """Return a whole number without extra zeros: 033 and 33.0 are 33. Other text is kept."""
    found = WHOLE.fullmatch(cell)
    return found[1] if found else cell


def _is(reading: Any, cell: str) -> bool:
    try:
        reading(cell)
    except ValueError:
        return False
    return True


def truth(cell: str) -> bool | None:
    """Yes or no; None if the cell says neither."""
    word = canonical(float(cell)) if NUMBER.fullmatch(cell) else cell.casefold()
    return True if word in YES else False if word in NO else None
