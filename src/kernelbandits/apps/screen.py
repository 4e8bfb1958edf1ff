"""What the terminal shows: progress and notices on standard error, tables on standard output."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from kernelbandits import checks
from kernelbandits.catalogue import KERNELS, LAWS, NOISES, POLICIES, PROBLEMS, fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.experiment import Cell
    from kernelbandits.report.claims import Verdict

Found = TypeVar("Found")
COLOURS = {"holds": "green", "fails": "red", "not resolved": "yellow", "not judged": "bright_black"}
CELLS = ".cells"
PIPED_WIDTH = 120


def out() -> Console:
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)


def err() -> Console:
    return Console(stderr=True)


def notice(text: str, quiet: bool) -> None:
    if not quiet:
        err().print(f"[yellow]note[/]: {escape(text)}", soft_wrap=True)


def engine_notice(engine: str, quiet: bool) -> None:
    install = 'pip install "kernelbandits[experiments]"'
    if engine == "auto" and find_spec("numba") is None:
        notice(f"numba is not installed, everything runs on the slower numpy engine; {install}", quiet)
    if find_spec("matplotlib") is None:
        notice(f"matplotlib is not installed, no figures are drawn; {install}", quiet)


def failed(text: str, code: int) -> int:
    err().print(f"[red]error[/]: {escape(text)}", soft_wrap=True)
    return code


def listen(quiet: bool) -> None:
    """Warnings as notes of one line; none at all when quiet."""

    warnings.showwarning = lambda message, *details, **more: notice(str(message), quiet)


def prefetch(*modules: str) -> None:
    """Import in the background, while the workers play, what will be needed after."""
    wanted = [name for name in modules if find_spec(name.partition(".")[0])]
    Thread(target=lambda: [import_module(name) for name in wanted], daemon=True).start()


@contextmanager
def progress(task: str, total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, silence elsewhere; call what it yields once for every cell."""
    console = err()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        number = bar.add_task(task, total=total)
        yield lambda: bar.advance(number)


@contextmanager
def waiting(task: str, quiet: bool) -> Iterator[None]:
    console = err()
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(task):
        yield


def resumable(output: Path, work: Callable[[Path], Found]) -> Found:
    """Work that stores its cells in the output folder as it goes."""
    folder = output / CELLS
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return work(folder)
    except KeyboardInterrupt:
        raise typer.Exit(failed("interrupted; the same command goes on where it stopped", 130)) from None


def folder_name(cells: Sequence[Cell]) -> str:
    """The problems, and a fingerprint of all that decides the result: the same command finds its own folder again."""
    problems = "-".join(dict.fromkeys(cell.problem.name for cell in cells))
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", problems).strip("-")
    return f"{plain[:40]}-{fingerprint([cell.key for cell in cells])[:8]}"


def show_summary(table: pd.DataFrame) -> None:
    shown = Table(title="Cumulative regret, 95 % intervals", title_justify="left")
    for name, justify in (
        ("problem", "left"),
        ("policy", "left"),
        ("regret", "right"),
        ("interval", "right"),
    ):
        shown.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ("median", "simple regret", "µs a round"):
        shown.add_column(name, justify="right")
    rows = table.to_dict("records")
    for row, after in zip(rows, [*rows[1:], {}], strict=True):
        shown.add_row(*summary_cells(row), end_section=row["problem"] != after.get("problem"))
    out().print(shown)


def summary_cells(row: Mapping[Any, Any]) -> list[str]:
    known = math.isfinite(row["regret_low"])
    interval = f"[{row['regret_low']:.1f}, {row['regret_high']:.1f}]" if known else "–"
    numbers = (f"{row['regret_mean']:.1f}", interval, f"{row['regret_q50']:.1f}")
    last = (f"{row['simple_regret_mean']:.4f}", f"{row['microseconds_per_round']:.2f}")
    return [escape(text) for text in (row["problem"], row["policy"], *numbers, *last)]


def show_verdicts(verdicts: Sequence[Verdict]) -> None:
    from kernelbandits.report.wording import by_problem

    shown = Table(title="The paper's claims", title_justify="left", show_lines=True)
    for name in ("verdict", "the paper says", "by problem"):
        shown.add_column(name)
    for verdict in verdicts:
        colour = COLOURS[verdict.verdict]
        shown.add_row(f"[{colour}]{verdict.verdict}[/]", escape(verdict.claim.sentence), escape(by_problem(verdict)))
    out().print(shown)


def show_folder(output: Path) -> None:
    out().print(f"Written to {escape(str(output))}: open {escape(str(output / 'report.html'))}", soft_wrap=True)


def show_catalogue(what: str | None) -> None:
    shown: dict[str, Callable[[], None]] = {
        "policies": show_policies,
        "problems": show_problems,
        "kernels": lambda: show_names("Kernels", "--kernel", KERNELS),
        "laws": lambda: show_names("Exploration laws and schedules", "--policy generic-gp:exploration=...", LAWS),
        "noises": lambda: show_names("Noises", "--noise", NOISES),
    }
    if what is not None:
        shown = {checks.one_of("list", "what", what, shown): shown[what]}
    for show in shown.values():
        show()


def show_policies() -> None:
    table = Table(title="Policies", title_justify="left", show_lines=True)
    for name in ("name", "paper", "guarantee", "ours", "settings"):
        table.add_column(name)
    for entry in POLICIES.values():
        cells = (entry.name, entry.paper, entry.guarantee, entry.ours, ", ".join(entry.settings))
        table.add_row(*(escape(text) for text in cells))
    out().print(table)


def show_problems() -> None:
    table = Table(title="Problems", title_justify="left")
    table.add_column("name")
    table.add_column("source")
    for entry in PROBLEMS.values():
        table.add_row(entry.name, escape(entry.source))
    out().print(table)


def show_names(title: str, option: str, names: Mapping[str, Callable[..., Any]]) -> None:
    import inspect

    table = Table(title=f"{title} ({option})", title_justify="left")
    table.add_column("spelling")
    table.add_column("formula")
    for name, constructor in names.items():
        arguments = ",".join(inspect.signature(constructor).parameters)
        formula = (inspect.getdoc(constructor) or "").splitlines()[0]
        table.add_row(escape(f"{name}:{arguments}" if arguments else name), escape(formula))
    out().print(table)
