"""The limits of targets: numbers that no true value of them exceeds, such as 0..100 of a yield."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kernelbandits import checks
from kernelbandits.study.targets import Range, Target, check_names
from kernelbandits.tables.cells import canonical, parse_number

UNLIMITED: Range = (-math.inf, math.inf)
NO_LIMITS = "none"
"""The text that takes limits away."""
OWNER = "limits"
NEEDED = "LOW..HIGH, such as 0..100, or 0.. where one end is open"


def read_limits(given: Any, targets: Sequence[Target]) -> str | None:
    """Return limits as a study stores them; None for none.

    They are given as a text, as two numbers, or as either of them by target.

    >>> yields, costs = Target("yield"), Target("cost")
    >>> read_limits("0 .. 100", [yields]), read_limits((0, None), [yields])
    ('0..100', '0..')
    >>> read_limits({"yield": (0, 100), "cost": "0.."}, [yields, costs])
    'yield=0..100, cost=0..'
    """
    if given is None or given == NO_LIMITS:
        return None
    names = [one.name for one in targets]
    if isinstance(given, str):
        found = parse_limits(given, names)
    else:
        parts = given if isinstance(given, Mapping) else {names[0]: given}
        single = isinstance(given, Mapping) or len(names) == 1
        checks.needs(single, OWNER, f"limits by target ({', '.join(names)})", given)
        found = {str(name): read_range(part) for name, part in parts.items()}
    check_names(OWNER, targets, found)
    texts = {name: write_range(found[name]) for name in names if name in found}
    if len(names) == 1:
        return texts.get(names[0])
    return ", ".join(f"{name}={text}" for name, text in texts.items()) or None


def parse_limits(text: str, names: Sequence[str]) -> dict[str, Range]:
    """Return target -> its limits, as a text has them.

    >>> parse_limits("yield=0..100, cost=0..", ["yield", "cost"])["cost"]
    (0.0, inf)
    """
    if "=" not in text:
        needed = f"NAME=LOW..HIGH for each target ({', '.join(names)})"
        checks.needs(len(names) == 1, OWNER, needed, text)
        return {names[0]: read_range(text)}
    # A name may hold a comma, so that only one before NAME= divides.
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts = re.split(rf",(?=\s*(?:{known})\s*=)", text)
    found: dict[str, Range] = {}
    for part in parts:
        name, _, numbers = part.rpartition("=")
        checks.needs(name.strip() not in found, OWNER, "each target once", text)
        found[name.strip()] = read_range(numbers)
    return found


def read_range(given: Any) -> Range:
    """Return both ends of limits; an open one is infinite."""
    if isinstance(given, str):
        low, dots, high = (part.strip() for part in given.partition(".."))
        ends: list[Any] = [parse_number(end) if end else None for end in (low, high)]
        readable = bool(dots) and not any(end is not None and math.isnan(end) for end in ends)
        checks.needs(readable, OWNER, NEEDED, given)
    else:
        pair = isinstance(given, Sequence) and len(given) == 2
        checks.needs(pair, OWNER, f"{NEEDED}, or two numbers", given)
        ends = [*given]
    least, most = (
        usual if end is None else checks.number(OWNER, name, end)
        for end, usual, name in zip(ends, UNLIMITED, ("the lower", "the upper"), strict=True)
    )
    checks.needs(least < most, OWNER, "a lower limit below the upper one", given)
    checks.needs((least, most) != UNLIMITED, OWNER, NEEDED, given)
    return least, most


def write_range(ends: Range) -> str:
    """Return limits as they are typed.

    >>> write_range((0.0, 100.0)), write_range((-math.inf, 7.5))
    ('0..100', '..7.5')
    """
    low, high = (canonical(end) if math.isfinite(end) else "" for end in ends)
    return f"{low}..{high}"


def describe_range(ends: Range) -> str:
    """Return limits in words.

    >>> describe_range((0.0, 100.0)), describe_range((0.0, math.inf))
    ('between 0 and 100', 'at least 0')
    """
    low, high = (canonical(end) if math.isfinite(end) else "" for end in ends)
    if math.isinf(ends[1]):
        return f"at least {low}"
    return f"at most {high}" if math.isinf(ends[0]) else f"between {low} and {high}"


def find_outside(limits: Mapping[str, Range], values: Mapping[str, float]) -> str | None:
    """Return the first target whose value is beyond its limits; None if none is."""
    for name, value in values.items():
        least, most = limits.get(name, UNLIMITED)
        if not least <= value <= most:
            return name
    return None


def check_inside(
    owner: str, limits: Mapping[str, Range], values: Mapping[str, float], where: str = ""
) -> None:
    """Refuse a value beyond the limits of its target, and say how to keep it."""
    name = find_outside(limits, values)
    if name is None:
        return
    (least, most), value = limits[name], values[name]
    wider = write_range((min(least, value), max(most, value)))
    raise ValueError(
        f"{owner} needs {name} {describe_range((least, most))}, its limits, got "
        f"{canonical(value)}{where}; if that is right, change the limits of {name} first, for "
        f"instance to {wider} (study change --limits, or Settings on the page)"
    )
