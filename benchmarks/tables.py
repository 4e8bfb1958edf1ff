"""Rows into a table on the screen and in results/, with the circumstances they were measured in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.rows import Row

RESULTS = Path(__file__).with_name("results")
COLUMNS = ("what", "measured", "goal", "reached", "note")


def measure(
    name: str, title: str, sections: Mapping[str, Callable[[], list[Row]]], more: Mapping[str, Any]
) -> None:
    """Measure section by section on one BLAS thread, print the table, write results/name.json and
    results/name.md."""
    console = Console(stderr=True)
    with machine.threads.threadpool_limits(1):
        facts = machine.facts() | dict(more)
        rows: list[Row] = []
        for section, measured in sections.items():
            console.print(f"measuring {section} ...", style="dim")
            rows += measured()
    Console().print(as_table(rows))
    RESULTS.mkdir(exist_ok=True)
    content = {"circumstances": facts, "rows": [row.plain() for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    (RESULTS / f"{name}.md").write_text(markdown(title, rows, facts))


def as_table(rows: Sequence[Row]) -> Table:
    table = Table(*COLUMNS, title="kernelbandits, measured side by side")
    for row in rows:
        table.add_row(*row.cells, style="red" if row.verdict == "NO" else "")
    return table


def markdown(title: str, rows: Sequence[Row], facts: Mapping[str, Any]) -> str:
    """The table and its circumstances as Markdown."""
    cells = [COLUMNS, ("---",) * len(COLUMNS), *(row.cells for row in rows)]
    table = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join(
        [f"# {title}", "", *table, "", *(f"- {name}: {fact}" for name, fact in facts.items()), ""]
    )
