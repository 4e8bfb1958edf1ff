"""`study add`, `study forbid` and `study allow`: the table of candidates changes."""

from __future__ import annotations

from kernelbandits.apps.cli.arguments import Given, Place, Quiet, options, read_assignments
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_sentence
from kernelbandits.study import operations
from kernelbandits.study.words import describe_event, describe_permission

ADD = """Add rows to the table of candidates; the numbers of all rows stay.

The file has the columns of the table. Those that describe a candidate, the cost and the label must
be there. A new column that describes candidates is named with the value that the old rows have:
--column additive=none. The scales of the columns stay as they were when the study was created; a
note names rows that are far outside. Either all rows are added or none. `undo` takes the rows away
again as long as nobody used them. JSON: seq, kind, and rows, the first and the last new row.

Examples:

    kernelbandits study add films.db --candidates more.csv

    kernelbandits study add films.db --candidates more.csv --column additive=none
"""
FORBID = """Forbid rows: they are no longer suggested or recommended.

Their results still count for the estimates, and results may still be told. Pending trials of these
rows stay pending. `allow` reverses it. Either all rows are forbidden or none.

Examples:

    kernelbandits study forbid films.db --label A4 --reason "no precursor"

    kernelbandits study forbid films.db --row 3 --row 5

    kernelbandits study forbid films.db --line 7
"""
ALLOW = """Allow rows again that were forbidden, or that a column of the table does not allow.

Examples:

    kernelbandits study allow films.db --label A4
"""


@options(given=operations.ADD.options)
def add(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    fresh = read_assignments("add", "--column", given.get("column", ()))
    with open_study(place, quiet) as study:
        event = study.add(given["candidates"], columns=fresh)
        first, last = event.body["first"], len(study.candidates) - 1
    print_sentence(
        form,
        {"seq": event.seq, "kind": event.kind, "rows": [first, last]},
        f"{describe_event(event)} (event {event.seq}). `undo` takes them away again "
        "while nobody has used them.",
    )


@options(given=operations.PERMIT.options)
def forbid(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet) as study:
        event = study.forbid(**given)
        sentence = describe_permission(event, study.candidates.describe_candidate)
    print_sentence(form, event, f"{sentence} `allow` reverses it (event {event.seq}).")


@options(given=operations.PERMIT.options)
def allow(place: Place, given: Given, form: Form = Format.text, quiet: Quiet = False) -> None:
    with open_study(place, quiet) as study:
        event = study.allow(**given)
        sentence = describe_permission(event, study.candidates.describe_candidate)
    print_sentence(form, event, f"{sentence} (event {event.seq})")
