"""Checks of names and remarks that come from users: workers, keys, reasons."""

from __future__ import annotations

from typing import Any

from kernelbandits import checks


def check_reason(reason: Any) -> str:
    return check_name("reason", reason) or "" if reason else ""


def check_name(what: str, name: Any) -> str | None:
    """Return a name of one line, at most `LONGEST_NAME` printable characters, or None."""
    if name is None:
        return None
    right = isinstance(name, str) and 0 < len(name) <= checks.LONGEST_NAME and name.isprintable()
    checks.needs(
        right, "Study", f"a {what} of 1 to {checks.LONGEST_NAME} printable characters", name
    )
    return str(name)
