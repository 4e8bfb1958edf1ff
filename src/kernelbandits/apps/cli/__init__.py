"""The command line: the program `kernelbandits`, one module for the commands of each kind."""

from kernelbandits.apps.cli.main import app, exit_code, main

__all__ = ["app", "exit_code", "main"]
