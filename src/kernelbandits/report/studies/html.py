"""The page of a study as text: no scripts, no links to fetch, figures inside.

The pages of experiments are templates, which need jinja2. A study does without it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from html import escape
from pathlib import Path

STYLE = Path(__file__).parents[1] / "templates" / "style.css"


def page(title: str, lead: str, parts: Iterable[str]) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style>"
    )
    top = f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>'
    body = "\n".join([top, *parts])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def section(title: str, *parts: str) -> str:
    return f"<h2>{escape(title)}</h2>\n" + "\n".join(parts)


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def figure(svg: str, caption: str) -> str:
    """The drawing itself, without the XML prologue of a file; nothing if there is no drawing."""
    if not svg:
        return ""
    drawing = svg[svg.index("<svg") :]
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def details(title: str, *parts: str, shown: bool = False) -> str:
    """Parts that open at a click on their title."""
    opened = " open" if shown else ""
    inside = "\n".join(parts)
    return f"<details{opened}><summary>{escape(title)}</summary>\n{inside}</details>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: Container[int] = ()) -> str:
    """A table whose columns are numbers, except the columns of `text`."""
    kinds = [' class="text"' if i in text else "" for i in range(len(headings))]
    head = cells("th", headings, kinds)
    body = "".join(f"<tr>{cells('td', row, kinds)}</tr>\n" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}</tbody></table></div>"
    )


def cells(tag: str, row: Sequence[str], kinds: Sequence[str]) -> str:
    return "".join(
        f"<{tag}{kind}>{escape(item)}</{tag}>" for kind, item in zip(kinds, row, strict=True)
    )
