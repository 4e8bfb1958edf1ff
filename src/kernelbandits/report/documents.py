"""The files of a run: figures, tables, claims.md, and the page that holds them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment import Results
from kernelbandits.experiment.paper import COMPARED, PRESET
from kernelbandits.experiment.summary import save_rounds, save_settings, summary
from kernelbandits.report import figures, html
from kernelbandits.report.reproduction import Reproduction
from kernelbandits.report.sections import curve_sections, settings_section, summary_section
from kernelbandits.report.sensitivity import map_sections
from kernelbandits.report.verdicts import claims_section, claims_text, details_section, norms_section, times_section
from kernelbandits.report.wording import played_line, versions

if TYPE_CHECKING:
    import pandas as pd

PAPER_TITLE = "Exploration distributions for kernel bandits: the paper's experiments, reproduced"


MAP_FILES = ("sensitivity.csv", "sensitivity.png", "sensitivity.svg", "effects.png", "effects.svg")


def write_run(results: Results, folder: Path, title: str = "Kernel bandits compared") -> pd.DataFrame:
    """regret and simple-regret (png, svg), summary.csv, rounds.npz, settings.json, report.html; the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = draw_curves(results, results.labels, folder)
    table = write_tables(results, folder)
    write_page(folder, title, results, [*curve_sections(drawings), summary_section(table), settings_section(results)])
    return table


def write_reproduction(found: Reproduction, folder: Path) -> pd.DataFrame:
    """The files of `write_run`, claims.md, and with a map sensitivity (png, svg, csv) and effects (png, svg)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MAP_FILES:
        (folder / name).unlink(missing_ok=True)
    drawings = found.drawings or draw_curves(found.results, COMPARED, folder)
    table = write_tables(found.results, folder, preset=vars(PRESET), left_out=found.plan.missing)
    (folder / "claims.md").write_text(claims_text(found), encoding="utf-8")
    parts = [
        *([html.note(found.plan.missing)] if found.plan.missing else []),
        claims_section(found),
        *curve_sections(drawings),
        summary_section(table),
        norms_section(found),
        *(map_sections(found, folder) if found.map else []),
        times_section(found),
        details_section(found.verdicts),
        settings_section(found.results),
    ]
    write_page(folder, PAPER_TITLE, found.results, parts)
    return table


def draw_curves(results: Results, labels: Sequence[str], folder: Path) -> dict[str, str]:
    """The drawings by kind of curve; none without matplotlib."""
    names = {"regret": "regret", "simple": "simple-regret"} if figures.available() else {}
    return {kind: figures.regret_figure(results, labels, folder / name, kind) for kind, name in names.items()}


def write_tables(results: Results, folder: Path, **more: Any) -> pd.DataFrame:
    table = summary(results)
    table.to_csv(folder / "summary.csv", index=False)
    save_rounds(results, folder / "rounds.npz")
    save_settings(results, folder / "settings.json", versions=versions(), **more)
    return table


def write_page(folder: Path, title: str, results: Results, parts: Iterable[str]) -> None:
    (folder / "report.html").write_text(html.page(title, played_line(results), parts), encoding="utf-8")
