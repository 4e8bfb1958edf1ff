"""The values of choices: which are admissible, and when two are the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kernelbandits import checks


def check_values(owner: str, values: Any) -> tuple[Any, ...]:
    """Return the values as a tuple: at least one, all different, of admissible types."""
    ordered = isinstance(values, Iterable) and not isinstance(
        values, (str, bytes, set, frozenset, Mapping)
    )
    checks.needs(ordered, owner, "a sequence of values", values)
    items = tuple(as_plain(value) for value in values)
    for item in items:
        plain = item is None or isinstance(item, (str, bool)) or checks.is_number(item)
        needed = "values that are text, finite numbers, truth values or None"
        checks.needs(plain, owner, needed, item)
    checks.needs(len(items) >= 1, owner, "at least one value", items)
    checks.needs(len(set(items)) == len(items), owner, "values that are all different", items)
    return items


def as_plain(value: Any) -> Any:
    """Return a scalar of numpy as a value of Python."""
    return value.item() if isinstance(value, np.generic) else value


def is_same_value(known: Any, value: Any) -> bool:
    """Tell whether two values are equal, and both are truth values or neither is.

    In Python True == 1, but True is not one of the values (0, 1).
    """
    if known is None or value is None:
        return known is value
    alike = isinstance(value, (str, bool, int, float)) and isinstance(known, bool) == isinstance(
        value, bool
    )
    return alike and bool(known == value)


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number; 3.0 is one."""
    return checks.is_number(value) and float(value).is_integer()
