"""Texts of forms as values; an error says what is needed, in the words of the page."""

from __future__ import annotations

import re
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.tables.cells import is_number, parse_number, suggest_number


def read_number(what: str, text: str) -> float:
    """Read a number with a decimal point; refuse 0,83 and say what to write.

    >>> read_number("the result", "0.83")
    0.83
    """
    number = parse_number(text)
    if not abs(number) <= LARGEST_REWARD:
        point = text.replace(",", ".")
        hint = f"; write {point}" if is_number(point) else suggest_number(text)
        raise ValueError(f"{what} needs a number with a decimal point, got {text!r}{hint}")
    return number


def read_optional_number(what: str, text: str) -> float | None:
    return read_number(what, text) if text else None


def read_whole(what: str, text: str, least: int = 1, most: int = 10**9) -> int:
    fits = re.fullmatch(r"[0-9]{1,10}", text) is not None and least <= int(text) <= most
    checks.needs(fits, what, f"a whole number from {least} to {most}", text)
    return int(text)


def drop_missing(**given: Any) -> dict[str, Any]:
    """Return the settings that were given."""
    return {name: value for name, value in given.items() if value not in (None, "")}
