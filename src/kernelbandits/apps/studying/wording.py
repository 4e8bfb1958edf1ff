"""Numbers, lengths of time and foreign text as a reader wants them."""

from __future__ import annotations

import math
import re
import shlex
from datetime import datetime
from typing import Any

UNITS = {"day": 86400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
DIGITS = 6
FINEST = 15
"""Decimals that a float of size 1 has."""


def many(count: int, noun: str, plural: str | None = None) -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def length(seconds: float) -> str:
    """In the largest unit of which there are two, or just one: 90 seconds, 2 hours, 1 day."""
    whole = max(round(seconds), 0)
    for unit, size in UNITS.items():
        if whole >= 2 * size or whole == size:
            return many(round(whole / size), unit)
    return many(whole, "second")


def ago(seconds: float) -> str:
    return "just now" if seconds < 1 else f"{length(seconds)} ago"


def moment(at: float) -> str:
    """A time by the reader's own clock; one that no calendar has stays a number."""
    try:
        return datetime.fromtimestamp(at).isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return f"{at:g} s"


def number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{DIGITS}g}"


def near(value: float, size: float) -> str:
    """As many decimals as a number known to within the size deserves: two digits of it."""
    if not (math.isfinite(value) and math.isfinite(size)) or size <= 0:
        return number(value)
    decimals = 1 - math.floor(math.log10(size))
    large = abs(value) >= 10**FINEST or not 0 <= decimals <= FINEST
    return number(value) if large else f"{value + 0.0:.{decimals}f}"


def interval(mean: float, low: float, high: float) -> str:
    size = (high - low) / 2
    return f"{near(mean, size)}, 95 % interval [{near(low, size)}, {near(high, size)}]"


def percent(chance: float | None) -> str:
    """Never 0 or 100 %: nothing is certain."""
    if chance is None:
        return "–"
    if chance < 0.005:
        return "< 1 %"
    return "> 99 %" if chance > 0.995 else f"{100 * chance:.0f} %"


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


def masked(text: str) -> str:
    """The same without the passwords of addresses in it, even where an @ of the password was taken for its end."""
    hidden = re.sub(r"(://[^\s:/@]*:)\S*(@|%40)", r"\1***@", text)
    return re.sub(r"(?i)([?&]password=)[^\s&'\"]*", r"\1***", hidden)
