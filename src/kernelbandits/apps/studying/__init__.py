"""The command `study`: from a table of candidates to the next experiment."""

from __future__ import annotations

from kernelbandits.apps.parsing import App
from kernelbandits.apps.studying import asking, keeping, looking, making, releasing, telling
from kernelbandits.apps.studying.arguments import NEGATIVE

HELP = """Ask which candidate to measure next, tell what came of it, and keep all of it.

A study lives in one SQLite file, or in PostgreSQL where many share it. Whatever was acknowledged is kept, whatever
happens to the process. Exit codes: 0 done, 1 refused, 2 a wrong argument, 74 storage.

PLACE is a file such as films.db; postgresql://user@host/db?study=films; or env:NAME, where the environment variable
NAME holds the place, so that no password shows in the list of processes.

Examples:

    kernelbandits study create films.db --candidates films.csv --columns Cs,FA,MA --target stability

    kernelbandits study ask films.db

    kernelbandits study tell films.db 1 0.83

    kernelbandits study status films.db
"""

app = App(help=HELP)

app.command("create", help=making.CREATE)(making.create)
app.command("ask", help=asking.ASK)(asking.ask)
app.command("tell", help=telling.TELL, context_settings=NEGATIVE)(telling.tell)
app.command("status", help=looking.STATUS)(looking.status)
app.command("estimates", help=looking.ESTIMATES)(looking.estimates)
app.command("explain", help=asking.EXPLAIN)(asking.explain)
app.command("plot", help=looking.PLOT)(looking.plot)
app.command("history", help=looking.HISTORY)(looking.history)
app.command("export", help=keeping.EXPORT)(keeping.export)
app.command("correct", help=telling.CORRECT, context_settings=NEGATIVE)(telling.correct)
app.command("withdraw", help=telling.WITHDRAW)(telling.withdraw)
app.command("release", help=releasing.RELEASE)(releasing.release)
app.command("undo", help=releasing.UNDO)(releasing.undo)
app.command("change", help=making.CHANGE)(making.change)
app.command("replay", help=asking.REPLAY)(asking.replay)
app.command("list", help=looking.LIST)(looking.list_)
app.command("doctor", help=keeping.DOCTOR)(keeping.doctor)
app.command("backup", help=keeping.BACKUP)(keeping.backup)
app.command("salvage", help=keeping.SALVAGE)(keeping.salvage)
