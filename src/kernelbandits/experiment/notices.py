"""Warnings of many policies in few lines: equal texts are merged, numbers become ranges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NUMERAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


def split_notice(notice: str) -> tuple[str, str]:
    """Split a warning "Policy: text" in two; a text without a policy has "" for it."""
    policy, colon, text = notice.partition(": ")
    return (policy, text) if colon and policy.isidentifier() else ("", notice)


def merge_notices(notices: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group (policy, text) by text: text -> the policies that it concerns.

    Texts that differ in their numbers only become one text with ranges.

    >>> merge_notices([("A", "needs k <= 1, got 2"), ("B", "needs k <= 1, got 5")])
    {'needs k <= 1, got 2 to 5': ['A', 'B']}
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for policy, text in notices:
        groups.setdefault(NUMERAL.sub("#", text), []).append((policy, text))
    return {
        merge_texts([text for _, text in group]): list(dict(group)) for group in groups.values()
    }


def merge_texts(texts: Sequence[str]) -> str:
    rows = list(dict.fromkeys(tuple(NUMERAL.findall(text)) for text in texts))
    ranges = iter([numeral_range(column) for column in zip(*rows, strict=True)])
    return NUMERAL.sub(lambda numeral: next(ranges), texts[0])


def numeral_range(numerals: Sequence[str]) -> str:
    ordered = sorted(numerals, key=float)
    least, most = ordered[0], ordered[-1]
    return least if float(least) == float(most) else f"{least} to {most}"
