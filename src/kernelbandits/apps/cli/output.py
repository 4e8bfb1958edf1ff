"""How a command comes to its study, and how it answers: text to read, or one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.options import Format
from kernelbandits.formatting import mask_password, to_json

if TYPE_CHECKING:
    from kernelbandits.study import Study


@contextmanager
def opened(place: str, quiet: bool, writable: bool = True) -> Iterator[Study]:
    from kernelbandits.study import Study

    screen.listen(quiet)
    with Study.open(place, writable=writable) as study:
        yield study


def answer(form: Format, value: Any, show: Callable[[Console], None]) -> None:
    """One document on standard output, or what a person reads."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with screen.closed_pipe_ignored():
        if form is Format.json:
            typer.echo(as_json(value))
        else:
            show(screen.out())


def said(form: Format, value: Any, sentence: str) -> None:
    """An answer of one sentence."""
    answer(form, value, lambda console: line(console, sentence))


def line(console: Console, text: str) -> None:
    """Text as it is, however long."""
    console.print(escape(text), soft_wrap=True, highlight=False)


def notes(texts: Iterable[str], quiet: bool) -> None:
    for text in texts:
        screen.notice(text, quiet)


def as_json(value: Any) -> str:
    """In the letters that standard output has."""
    return to_json(value, ascii_only="utf" not in (sys.stdout.encoding or "").lower())


def typed(place: str) -> str:
    """The place as one may type it again: as it was typed, or just PLACE if there is a password in it."""
    return "PLACE" if mask_password(place) != place else place
