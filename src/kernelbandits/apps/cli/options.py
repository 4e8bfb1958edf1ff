"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernelbandits import checks
from kernelbandits.runtime import MOST_WORKERS


class Format(StrEnum):
    text = "text"
    json = "json"


class FigureFormat(StrEnum):
    png = "png"
    svg = "svg"
    pdf = "pdf"


Form = Annotated[Format, typer.Option("--format", help="Text to read, or one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Workers = Annotated[
    int,
    typer.Option(
        min=1, max=MOST_WORKERS, help="How many processes work; the results do not depend on it."
    ),
]
FigureFormats = Annotated[
    FigureFormat | None,
    typer.Option(
        "--figure-format", help="Write the regret figures in this format too, besides PNG and SVG."
    ),
]
FigureSize = Annotated[
    str | None,
    typer.Option(
        "--figure-size", help="Width x height of the regret figures in inches, e.g. 6.3x4."
    ),
]


def read_figure_size(text: str | None) -> tuple[float, float] | None:
    """Read "6.3x4" as a width and a height in inches."""
    if text is None:
        return None
    try:
        width, height = (float(number) for number in text.lower().split("x"))
    except ValueError:
        raise ValueError(
            f"--figure-size needs width x height in inches, as in 6.3x4, got {text!r}"
        ) from None
    return width, height


def folder(output: Path | None) -> Path | None:
    """Return the folder; refuse it if a file has its name or that of a folder above it."""
    if output is not None:
        there = next((path for path in (output, *output.parents) if path.exists()), output)
        checks.needs(there.is_dir() or not there.exists(), "--output", "a folder", str(there))
    return output
