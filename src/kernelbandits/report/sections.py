"""The parts of the page that any comparison has: curves, summary, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment import Results
from kernelbandits.report import html
from kernelbandits.report.wording import PAIRED, SIMPLE_REGRET, interval, number

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = ("exploration", "width", "ridge", "noise_scale", "norm_bound", "delta", "gain", "ties", "engine")


def curve_sections(drawings: Mapping[str, str]) -> list[str]:
    """Regret and simple regret; nothing where nothing was drawn."""
    captions = {
        "regret": ("Regret", f"Cumulative regret against the best candidate. {PAIRED}"),
        "simple": ("Simple regret", SIMPLE_REGRET),
    }
    return [html.section(captions[kind][0], html.figure(svg, captions[kind][1])) for kind, svg in drawings.items()]


def summary_section(table: pd.DataFrame) -> str:
    headings = ("problem", "policy", "regret, 95 % interval", "5 %", "median", "95 %", "simple regret", "µs a round")
    rows = [summary_row(row) for row in table.to_dict("records")]
    note = f"{SIMPLE_REGRET} 5 %, median and 95 % are quantiles of the regret over seeds."
    return html.section("Summary", html.table(headings, rows, text=(0, 1)), html.paragraph(note))


def summary_row(row: Mapping[Any, Any]) -> list[str]:
    regret = interval(row["regret_mean"], row["regret_low"], row["regret_high"])
    quantiles = [number(row[f"regret_q{q}"]) for q in ("05", "50", "95")]
    last = [number(row["simple_regret_mean"]), f"{row['microseconds_per_round']:.2f}"]
    return [str(row["problem"]), str(row["policy"]), regret, *quantiles, *last]


def settings_section(results: Results) -> str:
    first = results.problems[0].name
    mine = [cell for cell in results.cells if cell.problem.name == first]
    used = [(cell.contender.label, results.found[cell.key].settings) for cell in mine]
    rows = [[label, *(number(settings.get(key)) for key in SETTINGS)] for label, settings in used]
    problems = [[p.title, p.name, p.description, str(p.noise)] for p in results.problems]
    return html.section(
        "Settings",
        html.table(("policy", *SETTINGS), rows, text=range(len(SETTINGS) + 1)),
        html.table(("problem", "name", "arms and rewards", "noise of the rewards"), problems, text=(1, 2, 3)),
    )
