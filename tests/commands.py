"""`kernelbandits study` in this process: the command as it ends, what it says, and its JSON."""

from __future__ import annotations

import io
import json
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from kernelbandits.apps.cli import app, exit_code

COMMANDS = [
    "create", "ask", "sheet", "tell", "status", "estimates", "check", "explain", "plot", "history", "export", "correct", "withdraw",
    "release", "undo", "add", "forbid", "allow", "change", "replay", "list", "doctor", "backup", "salvage",
]  # fmt: skip


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


def study(*arguments: object) -> Done:
    """The command in this process, ended as it would end there."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = exit_code(lambda: app(["study", *map(str, arguments)], standalone_mode=True))
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def said(*arguments: object) -> str:
    done = study(*arguments)
    assert done.code == 0, done.err
    return done.out


def document(*arguments: object) -> Any:
    return study(*arguments, "--format", "json").document


def study_with_warnings(*arguments: object) -> Done:
    """The same, with every notice said, however often it was said before."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        return study(*arguments)
