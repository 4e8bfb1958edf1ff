"""The command `mcp`: the studies of a running lab as tools of an assistant."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelbandits.runtime import require

HELP = """Offer the studies of a running lab to an assistant, by the Model Context Protocol.

The assistant starts this command itself, and talks to it by standard input and output. Its tools
are `list`, `status`, `explain` and `check`; with --write also `ask`, `tell` and `undo`. The token
comes from the environment variable KERNELBANDITS_TOKEN: `kernelbandits lab --show-tokens` prints
one that writes and one that only reads. A token that only reads can change nothing.

A step that is sent twice with the same key counts once, and every change is answered with what
takes it back.

Examples:

    KERNELBANDITS_TOKEN=... kernelbandits mcp http://127.0.0.1:8765

    KERNELBANDITS_TOKEN=... kernelbandits mcp http://127.0.0.1:8765 --write
"""


def mcp(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Where the lab is.")
    ] = "http://127.0.0.1:8765",
    write: Annotated[bool, typer.Option("--write", help="Also offer ask, tell and undo.")] = False,
) -> None:
    for package in ("mcp", "pydantic"):
        require(package, extra="mcp", owner="the server for assistants")
    from kernelbandits.apps.assistant import Assistant, serve
    from kernelbandits.apps.client import LabClient

    serve(Assistant(LabClient(address), write))
