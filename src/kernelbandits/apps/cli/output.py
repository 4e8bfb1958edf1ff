"""How a command opens its study and prints its answer: text, or one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.options import Format
from kernelbandits.codec import to_json
from kernelbandits.formatting import mask_password

if TYPE_CHECKING:
    from kernelbandits.study import Study


MANY_ROWS = 200_000
"""So many rows take several seconds."""


@contextmanager
def open_study(place: str, quiet: bool, writable: bool = True) -> Iterator[Study]:
    from kernelbandits.study import Study

    screen.listen(quiet)
    with Study.open(place, writable=writable) as study:
        yield study


def announce_estimates(study: Study, quiet: bool) -> None:
    """Say what takes so long: the model looks at every row of a large table."""
    if len(study.candidates) >= MANY_ROWS:
        rows = f"{len(study.candidates)} rows"
        screen.notice(f"computing the model of {rows}, which takes some seconds", quiet)


def print_answer(form: Format, value: Any, show: Callable[[Console], None]) -> None:
    """Print one JSON document on standard output, or text to read."""
    # A table may hold letters that the terminal's encoding lacks, such as °: escape them instead of
    # failing after the work is done.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with screen.ignore_closed_pipe():
        if form is Format.json:
            typer.echo(as_json(value))
        else:
            show(screen.out())


def print_sentence(form: Format, value: Any, sentence: str) -> None:
    """Print an answer that is one sentence, or its JSON document."""
    print_answer(form, value, lambda console: print_line(console, sentence))


def print_line(console: Console, text: str) -> None:
    """Print text as it is: long lines are not broken, so commands in them can be copied."""
    console.print(escape(text), soft_wrap=True, highlight=False)


def print_notes(texts: Iterable[str], quiet: bool) -> None:
    for text in texts:
        screen.notice(text, quiet)


def as_json(value: Any) -> str:
    """Return JSON, with escapes if standard output has no Unicode."""
    return to_json(value, ascii_only="utf" not in (sys.stdout.encoding or "").lower())


def retypable_place(place: str) -> str:
    """Return the place as it was typed, or PLACE if it holds a password."""
    return "PLACE" if mask_password(place) != place else place


def facts(about: Mapping[str, str]) -> Padding:
    """Return a grid: names at the left, and beside them a column of text that is wrapped."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in about.items():
        grid.add_row(escape(name), escape(text))
    return Padding(grid, (0, 0, 0, 2), expand=False)
