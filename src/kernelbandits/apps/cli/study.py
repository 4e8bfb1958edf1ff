"""The command `study`: from a table of candidates to the next experiment."""

from __future__ import annotations

from kernelbandits.apps.cli import ask, check_model, create, inspect, maintain, table, tell, undo
from kernelbandits.apps.cli.arguments import NEGATIVE
from kernelbandits.apps.cli.parsing import App

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

app = App(help=HELP)

app.command("create", help=create.CREATE)(create.create)
app.command("ask", help=ask.ASK)(ask.ask)
app.command("sheet", help=ask.SHEET)(ask.sheet)
app.command("tell", help=tell.TELL, context_settings=NEGATIVE)(tell.tell)
app.command("status", help=inspect.STATUS)(inspect.status)
app.command("estimates", help=inspect.ESTIMATES)(inspect.estimates)
app.command("check", help=check_model.CHECK)(check_model.check)
app.command("explain", help=ask.EXPLAIN)(ask.explain)
app.command("plot", help=inspect.PLOT)(inspect.plot)
app.command("history", help=inspect.HISTORY)(inspect.history)
app.command("export", help=maintain.EXPORT)(maintain.export)
app.command("correct", help=tell.CORRECT, context_settings=NEGATIVE)(tell.correct)
app.command("withdraw", help=tell.WITHDRAW)(tell.withdraw)
app.command("release", help=undo.RELEASE)(undo.release)
app.command("undo", help=undo.UNDO)(undo.undo)
app.command("add", help=table.ADD)(table.add)
app.command("forbid", help=table.FORBID)(table.forbid)
app.command("allow", help=table.ALLOW)(table.allow)
app.command("change", help=create.CHANGE)(create.change)
app.command("replay", help=ask.REPLAY)(ask.replay)
app.command("list", help=inspect.LIST)(inspect.list_)
app.command("doctor", help=maintain.DOCTOR)(maintain.doctor)
app.command("backup", help=maintain.BACKUP)(maintain.backup)
app.command("salvage", help=maintain.SALVAGE)(maintain.salvage)
