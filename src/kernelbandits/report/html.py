"""One self-contained page: no scripts, no links to fetch, figures inside."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from html import escape

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2733; max-width: 1100px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #dde3ea; padding-bottom: .2rem; }
.lead { color: #52606d; margin-top: 0; }
table { border-collapse: collapse; font-size: .9rem; margin: .8rem 0; } .wide { overflow-x: auto; }
th, td { padding: .3rem .65rem; border-bottom: 1px solid #e4e9ee; text-align: right; vertical-align: top; }
td:not(.text) { white-space: nowrap; } th.group { text-align: center; }
th { background: #f4f7f9; } th:first-child, td:first-child, td.text, th.text { text-align: left; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: #52606d; font-size: .9rem; }
.verdict { border-radius: .6rem; padding: .05rem .55rem; font-weight: 600; white-space: nowrap; }
.holds { background: #d8f0e3; color: #14532d; } .fails { background: #fbdfd9; color: #7f1d1d; }
.not-resolved { background: #fbf1cf; color: #6b4e00; } .not-judged { background: #ececec; color: #444; }
.named { display: flex; min-width: 10.5rem; } td.span { background: #fafbfc; font-weight: 600; }
.family { flex: none; width: .7rem; height: .7rem; border-radius: 50%; margin: .35rem .45rem 0 0; }
details { margin: .8rem 0; } details table { font-size: .85rem; } summary { cursor: pointer; font-weight: 600; }
.note { background: #f4f7f9; border-left: 4px solid #7b93ab; padding: .5rem .9rem; }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


class Markup(str):
    """Text that is markup already; everything else is escaped."""


def page(title: str, lead: str, parts: Iterable[str]) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    top = f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>'
    body = "\n".join([top, *parts])
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>{body}</body></html>\n'


def section(title: str, *parts: str) -> str:
    return f"<h2>{escape(title)}</h2>\n" + "\n".join(parts)


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def figure(svg: str, caption: str) -> str:
    """The drawing itself, without the XML prologue a page must not repeat; nothing where none was drawn."""
    if not svg:
        return ""
    drawing = svg[svg.index("<svg") :]
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def verdict(text: str) -> Markup:
    return Markup(f'<span class="verdict {text.replace(" ", "-")}">{escape(text)}</span>')


def dot(colour: str, text: str) -> Markup:
    """The text behind a dot of that colour."""
    mark = f'<span class="family" style="background: {escape(colour)}"></span>'
    return Markup(f'<span class="named">{mark}{escape(text)}</span>')


def details(title: str, *parts: str, shown: bool = False) -> str:
    """Parts that open at a click on their title."""
    return (
        f"<details{' open' if shown else ''}><summary>{escape(title)}</summary>\n"
        + "\n".join(parts)
        + "</details>"
    )


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    text: Container[int] = (),
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Columns of numbers but for those of text; above the headings, groups of so many columns each.

    A row of one cell spans all columns.
    """
    above = "".join(
        f'<th class="group" colspan="{size}">{escape(name)}</th>' for name, size in groups
    )
    head = "".join(f"<th{kind(i, text)}>{escape(name)}</th>" for i, name in enumerate(headings))
    body = "".join(f"<tr>{line(row, len(headings), text)}</tr>\n" for row in rows)
    top = f"<tr>{above}</tr><tr>{head}</tr>" if groups else f"<tr>{head}</tr>"
    return f'<div class="wide"><table><thead>{top}</thead><tbody>\n{body}</tbody></table></div>'


def line(row: Sequence[str], columns: int, text: Container[int]) -> str:
    if len(row) == 1 < columns:
        return f'<td class="text span" colspan="{columns}">{cell(row[0])}</td>'
    return "".join(f"<td{kind(i, text)}>{cell(item)}</td>" for i, item in enumerate(row))


def kind(column: int, text: Container[int]) -> str:
    return ' class="text"' if column in text else ""


def cell(item: str) -> str:
    return item if isinstance(item, Markup) else escape(item)
