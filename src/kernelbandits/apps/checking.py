"""The command `check-theory`: the judges are heard, their findings shown and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits.apps import progress, screen
from kernelbandits.apps.options import Form, Format, Quiet

if TYPE_CHECKING:
    from kernelbandits.experiment.workers import Mapper
    from kernelbandits.judges import Finding

HELP = """Check the theory by simulation, and the engine against the theory.

Every judge plays the real policies and compares them with formulas of its own. Statements known to be false, such as
the paper's slips, must fail. Exit code 0 if all verdicts are as they must be, 1 if not.

Judges: engine, potential, optimism, martingale, coverage, regret, lower-bound, and E1, E2, ... for the paper's
slips (`errata` is all of these).

Examples:

    kernelbandits check-theory

    kernelbandits check-theory --quick --no-errata

    kernelbandits check-theory --only engine,potential --seed 7

    kernelbandits check-theory --format json --output results/theory
"""
QUICK = 0.1
"""The share of the usual runs in a first look."""
COLUMNS = {"statement": 11, "predicted": 6, "observed": 8}
"""And how they share what the verdict leaves of the width of a page."""
VERDICT = 17
"""Letters of "fails, as it must"."""


def check_theory(
    only: Annotated[str, typer.Option(help="Judges with commas between them. Default: all.")] = "",
    errata: Annotated[bool, typer.Option("--errata/--no-errata", help="With or without the paper's slips.")] = True,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the usual runs, for a first look.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="All randomness comes from it.")] = 0,
    form: Form = Format.text,
    output: Annotated[Path | None, typer.Option(help="Folder for check-theory.md and check-theory.json.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes the judges share; the findings are the same.")] = 2,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.judges import Effort

    screen.listen(quiet)
    names = chosen(only, errata)
    findings = heard(names, Effort(seed, QUICK if quick else 1.0), workers, quiet)
    if output:
        written(findings, output)
    if form is Format.json and not quiet:
        typer.echo(as_json(findings))
    elif not quiet:
        show(findings, screen.out())
        if output:
            screen.notice(f"written to {output}: check-theory.md, check-theory.json", quiet)
    if not all(finding.right for finding in findings):
        raise typer.Exit(1)


def chosen(only: str, errata: bool) -> list[str]:
    """The judges named, or all; of the paper's slips those named, or none."""
    from kernelbandits.judges.court import named
    from kernelbandits.judges.errata import ERRATA

    wanted = [name.strip() for name in only.split(",") if name.strip()]
    return [name for name in named(wanted or None) if errata or wanted or name not in ERRATA]


def heard(names: Sequence[str], effort: Any, workers: int, quiet: bool) -> list[Finding]:
    from kernelbandits.experiment import process_mapper
    from kernelbandits.judges.court import hear

    with (
        progress.counted("judging", len(names), quiet) as ready,
        process_mapper(min(workers, len(names))) as mapper,
    ):
        return list(hear(names, effort, watched(mapper, ready)))


def watched(mapper: Mapper, ready: Callable[[], None]) -> Mapper:
    """The mapper, of whose results the bar knows."""

    def mapped(work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for result in mapper(work, items):
            ready()
            yield result

    return mapped


def show(findings: Sequence[Finding], console: Console) -> None:
    """A table for each judge, then all that is not as it must be, then one line."""
    for judge, group in groupby(findings, key=lambda finding: finding.judge):
        table = Table(title=judge, title_justify="left", title_style="bold cyan", box=box.SIMPLE_HEAD, expand=True)
        for name, ratio in COLUMNS.items():
            table.add_column(name, ratio=ratio, overflow="fold")
        table.add_column("verdict", width=VERDICT)
        for finding in group:
            texts = finding.statement, finding.predicted, finding.observed
            table.add_row(*map(escape, texts), coloured(finding))
        console.print(table)
    for finding in wrong(findings):
        console.print(f"{coloured(finding)} ({escape(finding.judge)}) {escape(finding.statement)}")
        console.print(f"  predicted {escape(finding.predicted)}; observed {escape(finding.observed)}")
        console.print(f"  tolerance: {escape(finding.detail or 'none')}")
    console.print(last_line(findings))


def said(finding: Finding) -> str:
    """The verdict, and whether it is the expected one."""
    words = {
        ("holds", "holds"): "holds",
        ("fails", "fails"): "fails, as it must",
        ("fails", "holds"): "FAILS",
        ("holds", "fails"): "HOLDS, but must fail",
    }
    return words[finding.verdict, finding.expected]


def coloured(finding: Finding) -> str:
    return f"[{'green' if finding.right else 'bold red'}]{said(finding)}[/]"


def wrong(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.right]


def last_line(findings: Sequence[Finding]) -> str:
    count, off = f"{len(findings)} statement{'s' * (len(findings) != 1)}", wrong(findings)
    if not off:
        return f"{count}, all as they must be"
    judges = ", ".join(dict.fromkeys(finding.judge for finding in off))
    return f"{count}, {len(off)} not as they must be ({judges})"


def as_json(findings: Sequence[Finding]) -> str:
    rows = [{**asdict(finding), "right": finding.right} for finding in findings]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def written(findings: Sequence[Finding], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "check-theory.json").write_text(as_json(findings) + "\n", encoding="utf-8")
    (folder / "check-theory.md").write_text(as_markdown(findings), encoding="utf-8")


def as_markdown(findings: Sequence[Finding]) -> str:
    lines = ["# The theory, checked", "", last_line(findings) + "."]
    for judge, group in groupby(findings, key=lambda finding: finding.judge):
        heads = (*COLUMNS, "verdict", "tolerance")
        lines += ["", f"## {judge}", "", markdown_row(heads), markdown_row(["---"] * len(heads))]
        lines += [markdown_row((f.statement, f.predicted, f.observed, said(f), f.detail)) for f in group]
    return "\n".join(lines) + "\n"


def markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
