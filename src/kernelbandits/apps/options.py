"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernelbandits import checks


class Format(StrEnum):
    text = "text"
    json = "json"


Form = Annotated[Format, typer.Option("--format", help="Text to read, or one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def folder(output: Path | None) -> Path | None:
    """The same, refused if a file stands there or above it; to be asked before anything is computed."""
    if output is not None:
        there = next((path for path in (output, *output.parents) if path.exists()), output)
        checks.needs(there.is_dir() or not there.exists(), "--output", "a folder", str(there))
    return output
