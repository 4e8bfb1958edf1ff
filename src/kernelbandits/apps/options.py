"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    text = "text"
    json = "json"


Form = Annotated[Format, typer.Option("--format", help="Text to read, or one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
