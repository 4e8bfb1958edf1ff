"""The command `check-theory`: check the statements of the theory, show and write the results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits import checks
from kernelbandits.apps.cli import progress, screen
from kernelbandits.apps.cli.options import Form, Format, Quiet, Workers, folder
from kernelbandits.codec import to_json

if TYPE_CHECKING:
    from kernelbandits.verification import CheckedStatement, Effort

HELP = """Check the statements of the theory by simulation.

Each statement is an inequality or an equation from the theory. The command computes what the
statement predicts, lets the policies of this package play, and compares. Some statements are known
to be wrong, for example misprints of the paper; for them the expected verdict is "fails". The exit
code is 0 if every verdict is as expected, and 1 if not.

Topics: constants, potential, optimism, martingale, coverage, regret, as-played, high-probability,
certificate, consequences, lower-bound, and E1 to E10 and E12 for the errors of the paper (`errata`
stands for all of them: `--only errata`).

Symbols: f is the unknown function, x* its maximiser, R the noise scale, D the bound of the norm of
f, T the number of rounds, w the exploration weight, mean and sd the posterior mean and standard
deviation, L = log det(I + K/ridge) of the arms played, gamma_T the information gain, and C1, C2, C3
the constants of the law of w, C1 = P(w >= 1).

With the default seed the results are always the same. With another seed a correct program may fail
a statement by chance; the probability is below 1 %.

Examples:

    kernelbandits check-theory

    kernelbandits check-theory --quick --no-errata

    kernelbandits check-theory --only coverage,potential --seed 7

    kernelbandits check-theory --format json --output results/theory
"""
FILES = ("check-theory.md", "check-theory.json")
QUICK = 0.1
"""Share of the usual number of runs with --quick."""
COLUMNS = {"statement": 11, "predicted": 6, "observed": 8}
"""Columns of the table, and in which proportion they share the width of the screen."""
VERDICTS = {
    ("holds", "holds"): "holds",
    ("fails", "fails"): "fails, as expected",
    ("fails", "holds"): "FAILS",
    ("holds", "fails"): "HOLDS, should fail",
}
"""(verdict, expected verdict) -> what is shown."""


def check_theory(
    only: Annotated[
        str | None, typer.Option(help="Topics, separated by commas. Default: all topics.")
    ] = None,
    errata: Annotated[
        bool,
        typer.Option("--errata/--no-errata", help="Check the errors of the paper too, or not."),
    ] = True,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the usual runs.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random numbers of the simulations.")
    ] = 0,
    form: Form = Format.text,
    output: Annotated[
        Path | None, typer.Option(help="Folder for check-theory.md and check-theory.json.")
    ] = None,
    workers: Workers = 2,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.verification import Effort

    screen.listen(quiet)
    topics = choose_topics(only, errata)
    check_files_are_writable(folder(output))
    statements = run_topics(topics, Effort(seed, QUICK if quick else 1.0), workers, quiet)
    with screen.ignore_closed_pipe():
        if form is Format.json and not quiet:
            typer.echo(statements_json(statements))
        elif not quiet:
            show_statements(statements, screen.out())
    if output:
        write_files(statements, output)
        screen.notice(f"written to {output}: {' and '.join(FILES)}", quiet or form is Format.json)
    if unexpected_statements(statements):
        raise typer.Exit(1)


def choose_topics(only: str | None, errata: bool) -> list[str]:
    """Return the topics in --only, or all, with or without the errors of the paper."""
    from kernelbandits.verification.errata import ERRATA
    from kernelbandits.verification.run import select_topics

    if only is None:
        return [topic for topic in select_topics() if errata or topic not in ERRATA]
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    checks.needs(bool(wanted), "--only", "at least one topic", only)
    topics = select_topics(wanted)
    excluded = ", ".join(topic for topic in topics if topic in ERRATA)
    needed = "topics other than the errors of the paper in --only"
    checks.needs(errata or not excluded, "--no-errata", needed, excluded)
    return topics


def check_files_are_writable(output: Path | None) -> None:
    """Refuse an output folder in which a folder has the name of a file, before the simulation."""
    for path in (output / name for name in FILES) if output else ():
        needed = f"a folder in which {path.name} is a file"
        checks.needs(not path.is_dir(), "--output", needed, str(path))


# Running


def run_topics(
    topics: Sequence[str], effort: Effort, workers: int, quiet: bool
) -> list[CheckedStatement]:
    """Check the topics in several processes; the statements come in the order of the topics."""
    from kernelbandits.experiment import process_mapper
    from kernelbandits.experiment.workers import map_as_completed
    from kernelbandits.verification.run import check_topic, slowest_first

    found: dict[str, list[CheckedStatement]] = {}
    with (
        progress.count_cells("checking", len(topics), quiet) as count_one,
        process_mapper(min(workers, len(topics))) as mapper,
    ):
        work = partial(check_topic, effort)
        for topic, statements in map_as_completed(mapper, work, slowest_first(topics)):
            found[topic] = statements
            count_one()
    return [checked for topic in topics for checked in found[topic]]


# Showing and writing


def show_statements(statements: Sequence[CheckedStatement], console: Console) -> None:
    """Print a table for each topic, the unexpected verdicts with all details, and a summary."""
    for topic, group in groupby(statements, key=lambda checked: checked.topic):
        table = Table(
            title=topic,
            title_justify="left",
            title_style="bold cyan",
            box=box.SIMPLE_HEAD,
            expand=True,
        )
        for name, ratio in COLUMNS.items():
            table.add_column(name, ratio=ratio, overflow="fold")
        table.add_column("verdict", width=max(map(len, VERDICTS.values())))
        for checked in group:
            texts = checked.statement, checked.predicted, checked.observed
            table.add_row(*map(escape, texts), coloured_verdict(checked))
        console.print(table)
    for checked in unexpected_statements(statements):
        console.print(f"{coloured_verdict(checked)} ({checked.topic}) {escape(checked.statement)}")
        console.print(f"  predicted: {escape(checked.predicted)}")
        console.print(f"  observed:  {escape(checked.observed)}")
        console.print(f"  details:   {escape(checked.detail or 'none')}")
    console.print(summary_line(statements))


def verdict_text(checked: CheckedStatement) -> str:
    return VERDICTS[checked.verdict, checked.expected_verdict]


def coloured_verdict(checked: CheckedStatement) -> str:
    return f"[{'green' if checked.as_expected else 'bold red'}]{verdict_text(checked)}[/]"


def unexpected_statements(statements: Sequence[CheckedStatement]) -> list[CheckedStatement]:
    return [checked for checked in statements if not checked.as_expected]


def summary_line(statements: Sequence[CheckedStatement]) -> str:
    """Return a sentence such as `131 statements: every verdict is as expected`."""
    wrong = unexpected_statements(statements)
    count = f"{len(statements)} statement{'s' * (len(statements) != 1)}"
    if not wrong:
        return f"{count}: every verdict is as expected"
    topics = ", ".join(dict.fromkeys(checked.topic for checked in wrong))
    verdicts = "verdict is" if len(wrong) == 1 else "verdicts are"
    return f"{count}: {len(wrong)} {verdicts} not as expected ({topics})"


def statements_json(statements: Sequence[CheckedStatement]) -> str:
    names = ("topic", "statement", "predicted", "observed", "verdict", "as_expected", "detail")
    rows = [
        {name: getattr(checked, name) for name in names} | {"expected": checked.expected_verdict}
        for checked in statements
    ]
    return to_json(rows)


def write_files(statements: Sequence[CheckedStatement], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts = to_markdown(statements), statements_json(statements) + "\n"
    for name, text in zip(FILES, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")


def to_markdown(statements: Sequence[CheckedStatement]) -> str:
    lines = ["# The theory, checked by simulation", "", summary_line(statements) + "."]
    for topic, group in groupby(statements, key=lambda checked: checked.topic):
        heads = (*COLUMNS, "verdict", "details")
        lines += ["", f"## {topic}", "", markdown_row(heads), markdown_row(["---"] * len(heads))]
        for checked in group:
            texts = checked.statement, checked.predicted, checked.observed
            lines.append(markdown_row((*texts, verdict_text(checked), checked.detail)))
    return "\n".join(lines) + "\n"


def markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
