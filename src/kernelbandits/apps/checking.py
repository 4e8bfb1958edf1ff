"""The command `check-theory`: the judges are heard, their findings shown and written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits import checks
from kernelbandits.apps import progress, screen
from kernelbandits.apps.options import Form, Format, Quiet, folder

if TYPE_CHECKING:
    from kernelbandits.experiment.workers import Mapper
    from kernelbandits.judges import Finding

HELP = """Check the theory by simulation, and the engine against the theory.

Every judge plays the real policies and compares them with formulas of its own. Statements known to be false, such as
the paper's slips, must fail. Exit code 0 if all verdicts are as they must be, 1 if not.

The default seed is fixed and so are its verdicts. Another seed accuses a sound engine with a chance of about 0.9 %
(union bound, bands left as often as seen; about 6 % if every band were left as often as its delta allows).

Judges: randomness, laws, engine, calculator, potential, optimism, martingale, bands, coverage, regret, lower-bound, and
E1, E2, ... for the paper's slips (`errata` is all of these).

Examples:

    kernelbandits check-theory

    kernelbandits check-theory --quick --no-errata

    kernelbandits check-theory --only engine,potential --seed 7

    kernelbandits check-theory --format json --output results/theory
"""
FILES = ("check-theory.md", "check-theory.json")
QUICK = 0.1
"""The share of the usual runs in a first look."""
COLUMNS = {"statement": 11, "predicted": 6, "observed": 8}
"""And how they share what the verdict leaves of the width of a page."""
VERDICT = 17
"""Letters of "fails, as it must"."""


def check_theory(
    only: Annotated[
        str | None, typer.Option(help="Judges with commas between them. Default: all.")
    ] = None,
    errata: Annotated[
        bool, typer.Option("--errata/--no-errata", help="With or without the paper's slips.")
    ] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the usual runs, for a first look.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="All randomness comes from it.")] = 0,
    form: Form = Format.text,
    output: Annotated[
        Path | None, typer.Option(help="Folder for check-theory.md and check-theory.json.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes the judges share; the findings are the same.")
    ] = 2,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.judges import Effort

    screen.listen(quiet)
    names = chosen(only, errata)
    writable(folder(output))
    findings = heard(names, Effort(seed, QUICK if quick else 1.0), workers, quiet)
    with even_unread():
        if form is Format.json and not quiet:
            typer.echo(as_json(findings))
        elif not quiet:
            show(findings, screen.out())
    if output:
        written(findings, output)
        screen.notice(f"written to {output}: {' and '.join(FILES)}", quiet or form is Format.json)
    if not all(finding.right for finding in findings):
        raise typer.Exit(1)


def writable(output: Path | None) -> None:
    """Refuse, before anybody is heard, a folder in which a folder stands where a file will be."""
    for path in (output / name for name in FILES) if output else ():
        checks.needs(
            not path.is_dir(), "--output", f"a folder in which {path.name} is a file", str(path)
        )


@contextmanager
def even_unread() -> Iterator[None]:
    """A reader who leaves early, such as `head`, changes nothing of the verdict: the rest is written to nobody."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as left:
        if not isinstance(left, BrokenPipeError) and not isinstance(
            left.__context__, BrokenPipeError
        ):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def chosen(only: str | None, errata: bool) -> list[str]:
    """The judges named, or all, with the paper's slips or without."""
    from kernelbandits.judges.court import named
    from kernelbandits.judges.errata import ERRATA

    if only is None:
        return [name for name in named() if errata or name not in ERRATA]
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    checks.needs(bool(wanted), "--only", "at least one judge", only)
    names = named(wanted)
    slips = [name for name in names if name in ERRATA]
    checks.needs(
        errata or not slips,
        "--no-errata",
        "judges other than the paper's slips in --only",
        ", ".join(slips),
    )
    return names


def heard(names: Sequence[str], effort: Any, workers: int, quiet: bool) -> list[Finding]:
    from kernelbandits.experiment import process_mapper
    from kernelbandits.judges import court

    found: dict[str, list[Finding]] = {}
    with (
        progress.counted("judging", len(names), quiet) as ready,
        process_mapper(min(workers, len(names))) as mapper,
    ):
        for name, findings in as_ready(
            mapper, partial(court.heard, effort), court.slowest_first(names)
        ):
            found[name] = findings
            ready()
    return [finding for name in names for finding in found[name]]


def as_ready(
    mapper: Mapper, work: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Each item with its result, begun in the order given and told as soon as it is there."""
    if mapper is map:
        yield from zip(items, map(work, items), strict=True)
        return
    told: SimpleQueue[tuple[Any, Any, BaseException | None]] = SimpleQueue()
    for item in items:
        Thread(target=wait_for, args=(item, mapper(work, [item]), told), daemon=True).start()
    for _ in items:
        item, result, error = told.get()
        if error:
            raise error
        yield item, result


def wait_for(
    item: Any, results: Iterable[Any], told: SimpleQueue[tuple[Any, Any, BaseException | None]]
) -> None:
    try:
        (result,) = results
        told.put((item, result, None))
    except BaseException as error:
        told.put((item, None, error))


def show(findings: Sequence[Finding], console: Console) -> None:
    """A table for each judge, then all that is not as it must be, then one line."""
    for judge, group in groupby(findings, key=lambda finding: finding.judge):
        table = Table(
            title=judge,
            title_justify="left",
            title_style="bold cyan",
            box=box.SIMPLE_HEAD,
            expand=True,
        )
        for name, ratio in COLUMNS.items():
            table.add_column(name, ratio=ratio, overflow="fold")
        table.add_column("verdict", width=VERDICT)
        for finding in group:
            texts = finding.statement, finding.predicted, finding.observed
            table.add_row(*map(escape, texts), coloured(finding))
        console.print(table)
    for finding in wrong(findings):
        console.print(f"{coloured(finding)} ({escape(finding.judge)}) {escape(finding.statement)}")
        console.print(
            f"  predicted {escape(finding.predicted)}; observed {escape(finding.observed)}"
        )
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
    for name, text in zip(FILES, (as_markdown(findings), as_json(findings) + "\n"), strict=True):
        (folder / name).write_text(text, encoding="utf-8")


def as_markdown(findings: Sequence[Finding]) -> str:
    lines = ["# The theory, checked", "", last_line(findings) + "."]
    for judge, group in groupby(findings, key=lambda finding: finding.judge):
        heads = (*COLUMNS, "verdict", "tolerance")
        lines += ["", f"## {judge}", "", markdown_row(heads), markdown_row(["---"] * len(heads))]
        lines += [
            markdown_row((f.statement, f.predicted, f.observed, said(f), f.detail)) for f in group
        ]
    return "\n".join(lines) + "\n"


def markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
