"""What the terminal shows: progress and notices on standard error, tables on standard output."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits import checks
from kernelbandits.checks import NumericsWarning, TheoryWarning
from kernelbandits.formatting import (
    column_decimals,
    format_bounds,
    format_fixed,
    format_number,
    format_ranks,
)
from kernelbandits.runtime import install_command, is_installed

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.analysis.claims import Verdict
    from kernelbandits.analysis.ranking import Ranking, Standing
    from kernelbandits.experiment import Cell, Results

Outcome = TypeVar("Outcome")
COLOURS = {"holds": "green", "fails": "red", "not resolved": "yellow", "not tested": "bright_black"}
CELLS = ".cells"
ROUNDS = "rounds.parquet"
PIPED_WIDTH = 120
RANKS = (
    "rank: by the mean; in brackets the ranks that paired t tests of all pairs leave possible "
    "(Holm, 5 % for each problem). behind: the mean difference to the first. simple: simple "
    "regret, and how many seeds end above 0. µs: microseconds per round. Intervals of regret are "
    "cut at zero. ranking.csv has all intervals."
)


def out() -> Console:
    """Return a console as wide as the terminal or COLUMNS; 120 columns in a pipe."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else PIPED_WIDTH, emoji=False)


def err() -> Console:
    # Text is printed as it is: a header such as a:b:c must not become a picture.
    return Console(stderr=True, emoji=False)


def notice(text: str, quiet: bool) -> None:
    if not quiet:
        err().print(f"[yellow]note[/]: {escape(cut_quotes(text))}", soft_wrap=True)


def cut_quotes(text: str) -> str:
    """Return a sentence in which no argument and no word is longer than an error quotes."""
    given = [word.strip() for word in sys.argv if len(word) > checks.LONGEST_QUOTE]
    for word in (*given, *LONG_WORD.findall(text)):
        text = text.replace(word, checks.cut_quote(word))
    return text


LONG_WORD = re.compile(rf"\S{{{checks.LONGEST_QUOTE + 1},}}+(?! \(\d+ characters\))")
"""A word that is too long to quote, and was not cut before."""


def engine_notice(engine: str, quiet: bool) -> None:
    install = install_command("experiments")
    if engine == "auto" and not is_installed("numba"):
        notice(
            f"numba is not installed, everything runs on the slower numpy engine; {install}", quiet
        )
    if not is_installed("matplotlib"):
        notice(f"matplotlib is not installed, no figures are drawn; {install}", quiet)


def page_notice(quiet: bool, pages: str = "report.html") -> None:
    if not is_installed("jinja2"):
        install = install_command("experiments")
        notice(f"jinja2 is not installed, no {pages} is written; {install}", quiet)


def print_error(text: str, code: int) -> int:
    err().print(f"[red]error[/]: {escape(cut_quotes(text))}", soft_wrap=True)
    return code


def listen(quiet: bool) -> None:
    """Print warnings as notes of one line, or not at all when quiet."""

    warnings.showwarning = lambda message, *details, **more: notice(str(message), quiet)


@contextmanager
def group_notes(quiet: bool) -> Iterator[None]:
    """Keep warnings of policies to the end and show each once, with all policies concerned."""
    held: list[str] = []

    def hold_back(
        message: Warning | str, category: type[Warning], *details: Any, **more: Any
    ) -> None:
        grouped = issubclass(category, (TheoryWarning, NumericsWarning))
        held.append(str(message)) if grouped else notice(str(message), quiet)

    before, warnings.showwarning = warnings.showwarning, hold_back
    try:
        yield
    finally:
        warnings.showwarning = before
        for text in merge_warnings(held):
            notice(text, quiet)


def merge_warnings(texts: Iterable[str]) -> list[str]:
    """Merge equal warnings "Policy: text", whatever their order."""
    from kernelbandits.experiment.notices import merge_notices, split_notice

    return [
        f"{policy_prefix(who)}{what}"
        for what, who in merge_notices(map(split_notice, sorted(texts))).items()
    ]


def policy_prefix(who: Sequence[str]) -> str:
    return (
        f"{len(who)} policies ({', '.join(who)}): "
        if len(who) > 1
        else "".join(f"{name}: " for name in who if name)
    )


def prefetch(*modules: str) -> None:
    """Import in the background, while the workers play, what will be needed after."""
    wanted = [name for name in modules if is_installed(name.partition(".")[0])]
    Thread(target=lambda: [import_module(name) for name in wanted], daemon=True).start()


def announce_continuation(cells: Sequence[Cell], output: Path, quiet: bool) -> None:
    """Say how many games of an interrupted run are stored: a policy, a problem and a seed each."""
    from kernelbandits.experiment.blocks import stored_blocks

    unique = {cell.key: cell for cell in cells}.values()
    blocks = [
        block for cell in unique for block in stored_blocks(cell, output / CELLS, endings=False)
    ]
    if blocks:
        stored = sum(len(block.seeds) for block in blocks)
        games = sum(len(cell.seeds) for cell in unique)
        notice(f"continuing an interrupted run: {stored} of {games} games are stored", quiet)


def run_resumable(output: Path, work: Callable[[Path], Outcome]) -> Outcome:
    """Run work that stores each finished cell in the output folder."""
    folder = output / CELLS
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return work(folder)
    except KeyboardInterrupt:
        raise typer.Exit(
            print_error("interrupted; the same command goes on where it stopped", 130)
        ) from None


def folder_name(cells: Sequence[Cell]) -> str:
    """Return a folder name: the problems, and a fingerprint of all that decides the result.

    The same command therefore finds its own folder again.
    """
    from kernelbandits.catalogue import fingerprint

    problems = "-".join(dict.fromkeys(cell.problem.name for cell in cells))
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", problems).strip("-")
    return f"{plain[:40]}-{fingerprint([cell.key for cell in cells])[:8]}"


def show_summary(table: pd.DataFrame) -> None:
    shown = Table(title="Cumulative regret, 95 % intervals", title_justify="left")
    for name in ("problem", "policy"):
        shown.add_column(name)
    for name in ("regret", "interval", "median", "simple regret", "µs per round"):
        shown.add_column(name, justify="right")
    rows = table.to_dict("records")
    for row, after in zip(rows, [*rows[1:], {}], strict=True):
        shown.add_row(*summary_cells(row), end_section=row["problem"] != after.get("problem"))
    out().print(shown)


def summary_cells(row: Mapping[Any, Any]) -> list[str]:
    texts = (
        row["problem"],
        row["policy"],
        format_fixed(row["regret_mean"], 1),
        format_bounds(row["regret_low"], row["regret_high"]),
        format_fixed(row["regret_q50"], 1),
        format_fixed(row["simple_regret_mean"], 4),
        format_number(row["microseconds_per_round"], 3),
    )
    return [escape(text) for text in texts]


def show_ranking(results: Results, ranking: Ranking, table: pd.DataFrame) -> None:
    """Print a table for each problem by regret, and one over all of them."""
    rows_of = {(row["problem"], row["policy"]): row for row in table.to_dict("records")}
    for problem in results.problems:
        rows = ranking.standings["regret"][problem.name]
        digits = column_decimals([row.mean.value for row in rows])
        headings = ("rank", "policy", "regret", "95 % interval", "behind", "simple", "µs")
        title = f"{problem.title}: cumulative regret, best first"
        shown = numbers_table(headings, ("policy",), title)
        for row in rows:
            found = rows_of[problem.name, row.policy]
            failed = round(found["simple_regret_above_zero"] * found["seeds"])
            last = (
                f"{format_fixed(found['simple_regret_mean'], 4)} ({failed}/{found['seeds']})",
                format_number(found["microseconds_per_round"], 3),
            )
            shown.add_row(*(escape(text) for text in (*standing_cells(row, digits), *last)))
        out().print(shown)
    if len(results.problems) > 1:
        show_overall(ranking, len(results.problems))
    out().print(escape(RANKS), style="dim")


def standing_cells(row: Standing, digits: int) -> list[str]:
    mean, low, high = row.mean
    rank = f"{row.rank:g} ({format_ranks(row.first, row.last)})"
    behind = format_fixed(row.behind.value, digits)
    return [rank, row.policy, format_fixed(mean, digits), format_bounds(low, high, digits), behind]


def show_overall(ranking: Ranking, problems: int) -> None:
    headings = ("", "policy", "share, %", "95 % interval", "mean rank", "95 % interval")
    title = f"Over all {problems} problems: regret as a share of what uniform draws lose"
    shown = numbers_table(headings, ("policy",), title)
    for place, row in enumerate(ranking.overall["regret"], start=1):
        share, rank = [100 * part for part in row.share], row.rank
        cells = (
            format_fixed(share[0], 1),
            format_bounds(share[1], share[2]),
            format_fixed(rank.value, 1),
            format_bounds(rank.low, rank.high),
        )
        shown.add_row(str(place), *(escape(text) for text in (row.policy, *cells)))
    out().print(shown)


def numbers_table(
    headings: Sequence[str],
    left: Container[str] = (),
    title: str | None = None,
    folds: bool = False,
) -> Table:
    """Return a table with numbers at the right; the columns in `left` hold words.

    Numbers stay on one line, unless it folds: of a candidate there may be many columns.
    """
    shown = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=not folds,
    )
    for name in headings:
        words = name in left
        shown.add_column(
            escape(name),
            justify="left" if words else "right",
            no_wrap=not (words or folds),
            overflow="fold",
        )
    return shown


def show_verdicts(verdicts: Sequence[Verdict]) -> None:
    shown = Table(title="The paper's claims", title_justify="left", show_lines=True)
    for name in ("verdict", "the paper says", "by problem"):
        shown.add_column(name)
    for verdict in verdicts:
        colour = COLOURS[verdict.verdict]
        shown.add_row(
            f"[{colour}]{verdict.verdict}[/]",
            escape(verdict.claim.sentence),
            escape("; ".join(f"{name}: {verdict.on(name)}" for name in verdict.problems)),
        )
    out().print(shown)


def show_sentence(text: str) -> None:
    out().print(escape(text))


def show_folder(output: Path) -> None:
    """Say where the results are; without jinja2 there is no page to open."""
    page = output / "report.html"
    told = f": open {escape(str(page))}" if page.exists() else ""
    out().print(f"Written to {escape(str(output))}{told}", soft_wrap=True)


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """Drop the rest of the output if the reader of a pipe stops early, like `head`.

    The exit code is kept.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        broken = isinstance(error, BrokenPipeError)
        if not broken and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
