"""The command `study`: from a table of candidates to the next experiment."""

from __future__ import annotations

from kernelbandits.apps.cli import ask, check_model, create, inspect, maintain, table, tell, undo
from kernelbandits.apps.cli.arguments import NEGATIVE
from kernelbandits.apps.cli.parsing import App
from kernelbandits.study.operations import OPERATIONS

HELP = """Plan real experiments: ask which candidate to measure next, and tell the results.

A study is stored in one SQLite file, or in a PostgreSQL database that several people share. A
result that was recorded is not lost, even if the computer is switched off right after it. Exit
codes: 0 done, 1 refused, 2 wrong argument, 74 storage problem.

PLACE says where the study is stored. It is a file such as films.db, an address such as
postgresql://user@host/db?study=films, or env:NAME, which reads the place from the environment
variable NAME so that no password is visible to other users of the computer.

Examples:

    kernelbandits study create films.db --candidates films.csv --columns Cs,FA,MA --target stability

    kernelbandits study ask films.db

    kernelbandits study tell films.db 1 0.83

    kernelbandits study status films.db
"""

MODULES = (create, ask, tell, inspect, check_model, undo, table, maintain)
"""Where the commands are: for each a function with its name, and its help as a constant."""
READING = ("sheet", "plot", "export", "replay", "list_", "doctor", "backup", "salvage")
"""Commands that are no operations of the REST interface, and have options of their own."""

app = App(help=HELP)


def add_command(name: str, settings: dict[str, bool] | None = None) -> None:
    """Add a command by the name of its function."""
    help_name = name.rstrip("_").upper()
    module = next(vars(one) for one in MODULES if help_name in vars(one))
    app.command(name.rstrip("_"), help=module[help_name], context_settings=settings)(module[name])


for operation in OPERATIONS:
    for command in operation.command_names:
        takes_value = any(one.name == "value" for one in operation.arguments)
        add_command(command, NEGATIVE if takes_value else None)
for command in READING:
    add_command(command)
