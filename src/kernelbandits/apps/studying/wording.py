"""Values and text of a study as the terminal shows them."""

from __future__ import annotations

import re
import shlex
from typing import Any

from kernelbandits.formatting import format_number

DIGITS = 6


def number(value: float | None) -> str:
    """Write a number so that it can be typed again."""
    return format_number(value, DIGITS, thousands=False)


def cell(value: Any) -> str:
    """Text of somebody else's file on one line, without what a terminal would obey."""
    if isinstance(value, float):
        return number(value)
    return "".join(letter if letter.isprintable() else " " for letter in str(value))


def point(x: Any) -> str:
    """Cs 0.05, FA 0.8"""
    return ", ".join(f"{cell(name)} {cell(value)}" for name, value in x.items())


def command(*words: object) -> str:
    """A line to type."""
    return " ".join(["kernelbandits study", *(shlex.quote(str(word)) for word in words)])


def title(place: str) -> str:
    """What a study is called: its name in the database, or its file."""
    server = re.fullmatch(r"postgresql://.*[?&]study=(\w+)(&.*)?", place)
    return server[1] if server else place
