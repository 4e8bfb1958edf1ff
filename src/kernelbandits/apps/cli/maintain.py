"""`study export`, `doctor`, `backup` and `salvage`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.arguments import Force, Place, Quiet
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import open_study, print_answer, print_sentence
from kernelbandits.formatting import format_count

if TYPE_CHECKING:
    from kernelbandits.storage import Finding
    from kernelbandits.study import Study

EXPORT = """Write all trials to a CSV file, a workbook or a Parquet file.

Each line is one trial: its candidate, state, result, times and estimate. The name of the file
decides: .csv, .parquet, or .xlsx for a workbook with sheets of the trials, the candidates and their
estimates. `-` writes CSV to standard output. An existing file is only replaced with --force, and a
study never. `tell --file` reads each of them, also into another study of the same candidates.

Examples:

    kernelbandits study export films.db results.csv

    kernelbandits study export films.db films.xlsx --force

    kernelbandits study export films.db - | head

    kernelbandits study export films.db - --format json
"""
DOCTOR = """Check a study for damage: its file, the checksums of its events, its table and its disk.

The exit code is 0 if everything is in order, and 74 if something is wrong.

Examples:

    kernelbandits study doctor films.db
"""
BACKUP = """Copy a study into a new SQLite file. Others can keep working during the copy.

An existing file is only replaced with --force, and a study never.

Examples:

    kernelbandits study backup films.db films-2026-05-04.db

    kernelbandits study backup "postgresql://ann@lab/studies?study=films" films.db
"""
SALVAGE = """Save what can be read of a damaged study into a new SQLite file.

Each event is verified, and the answer says how many are lost. An existing file is only replaced
with --force, and a study never.

Examples:

    kernelbandits study salvage films.db films-saved.db

    kernelbandits study salvage films.db films-saved.db --candidates films.csv
"""


def export(
    place: Place,
    path: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="OUT.csv, OUT.xlsx or OUT.parquet, or - for standard output."
        ),
    ],
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        document = write_trials(study, path, form, force)
    if path == "-" and form is Format.text:
        print_answer(form, document, lambda console: print(document, end=""))
    else:
        print_sentence(form, document, f"Written to {path}")


def write_trials(study: Study, path: str, form: Format, force: bool) -> Any:
    """Write the trials to a file and return where and how many; for "-" return its content."""
    if path != "-":
        study.export(path, force=force)
        return {"path": path, "trials": len(study.to_dataframe())}
    if form is Format.json:
        from kernelbandits.study.dataframes import list_records

        return list_records(study.to_dataframe())
    with TemporaryDirectory() as folder:
        study.export(Path(folder) / "trials.csv")
        return (Path(folder) / "trials.csv").read_text("utf-8")


def doctor(place: Place, form: Form = Format.text, quiet: Quiet = False) -> None:
    screen.listen(quiet)
    found = check_study(place)
    print_answer(form, found, lambda console: print_findings(console, found))
    wrong = [one for one in found if not one.ok]
    if wrong:
        raise typer.Exit(
            screen.print_error(
                f"{len(wrong)} of {format_count(len(found), 'check')} found a problem", 74
            )
        )


def check_study(place: str) -> Sequence[Finding]:
    """Check the study or, if it cannot be opened, its file alone."""
    from kernelbandits.storage import Damaged, Finding
    from kernelbandits.study import Study

    try:
        with Study.open(place, writable=False) as study:
            return study.doctor()
    except Damaged as error:
        return [Finding(False, "opening", str(error)), *check_file(place)]


def check_file(place: str) -> Sequence[Finding]:
    """Check the file alone, if it can be opened at all."""
    from kernelbandits.storage import Damaged, Log, check_health

    with suppress(Damaged), closing(Log.open(place, writable=False)) as log:
        return check_health(log)
    return []


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    for one in findings:
        mark = "[green]ok   [/]" if one.ok else "[red]wrong[/]"
        console.print(
            f"{mark} {escape(one.what)}: {escape(one.sentence)}", soft_wrap=True, highlight=False
        )


def backup(
    place: Place,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new file.")],
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    with open_study(place, quiet, writable=False) as study:
        study.backup(target, force=force)
        shown = study.place
    print_sentence(
        form,
        {"place": shown, "target": str(target)},
        f"Copied {shown} to {target}, and checked the copy.",
    )


def salvage(
    place: Place,
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A new file.")],
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table that the study was created from, if its own copy is lost.",
        ),
    ] = None,
    force: Force = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits import storage
    from kernelbandits.study.candidates import read_columns_again

    screen.listen(quiet)
    read_again = None if candidates is None else partial(read_columns_again, candidates)
    found = storage.salvage(place, new, read_again, force=force)
    print_sentence(form, found, found.sentence)
