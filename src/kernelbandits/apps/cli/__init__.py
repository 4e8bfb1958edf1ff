"""The command line: the program `kernelbandits`, one module for the commands of each kind."""

from typing import TYPE_CHECKING, Any

from kernelbandits.apps.cli.main import exit_code, main

if TYPE_CHECKING:
    from kernelbandits.apps.cli.commands import app

__all__ = ["app", "exit_code", "main"]


def __getattr__(name: str) -> Any:
    """Import `app`, all commands, when it is first used: it needs all policies."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kernelbandits.apps.cli.commands import app

    return app
