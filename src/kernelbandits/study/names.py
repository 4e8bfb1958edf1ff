"""Names and remarks that people and programs give."""

from __future__ import annotations

from typing import Any

from kernelbandits import checks


def check_reason(reason: Any) -> str:
    return check_name("reason", reason) or "" if reason else ""


def check_name(what: str, name: Any) -> str | None:
    """A short text of one line, or none."""
    if name is None:
        return None
    right = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()
    checks.needs(right, "Study", f"a {what} of 1 to 200 printable characters", name)
    return str(name)
