"""What a notebook shows of a value: short HTML by string functions, with all text escaped.

Notebooks call `_repr_html_` whenever a cell ends with a value, so it must be light: no templates,
no figures, no script and no style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from kernelbandits.formatting import format_number

IGNORED = "tex2jax_ignore mathjax_ignore"
"""Notebooks take text between dollars for mathematics, except in parts of these classes."""
LEFT = ' style="text-align: left"'


def html_text(value: Any) -> str:
    """Return a value as escaped text, a number with six digits.

    >>> html_text("<b>"), html_text(0.1234567), html_text(None)
    ('&lt;b&gt;', '0.123457', 'None')
    """
    if value is None or isinstance(value, bool) or not isinstance(value, float):
        return escape(str(value))
    return escape(format_number(value, 6, thousands=False))


def html_card(title: str, *parts: str) -> str:
    """Return a title and below it tables and paragraphs.

    >>> html_card("a < b", html_paragraphs("x & y"))
    '<div class="tex2jax_ignore mathjax_ignore"><strong>a &lt; b</strong><p>x &amp; y</p></div>'
    """
    return f'<div class="{IGNORED}"><strong>{html_text(title)}</strong>{"".join(parts)}</div>'


def html_paragraphs(*sentences: str) -> str:
    """Return a paragraph for each text that is not empty."""
    return "".join(f"<p>{html_text(text)}</p>" for text in sentences if text)


def html_pairs(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return a table of names and values, one pair in a row."""
    rows = (
        f"<tr><th{LEFT}>{html_text(name)}</th><td{LEFT}>{html_text(value)}</td></tr>"
        for name, value in pairs
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with headings."""
    head = "".join(f"<th{LEFT}>{html_text(name)}</th>" for name in headings)
    lines = (
        f"<tr>{''.join(f'<td{LEFT}>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
