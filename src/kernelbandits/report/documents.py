"""The files of a run: figures, tables, claims.md, and the page that holds them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment import Results
from kernelbandits.experiment.paper import COMPARED, FAMILY, PRESET
from kernelbandits.experiment.summary import save_rounds, save_settings, summary
from kernelbandits.report import figures, html
from kernelbandits.report.families import families, look_of, uniform_random
from kernelbandits.report.ranking import Ranking, overall_frame, ranking_frame, ranking_of
from kernelbandits.report.reproduction import Reproduction
from kernelbandits.report.sections import (
    curve_sections,
    notes_section,
    policies_section,
    ranking_section,
    settings_section,
    summary_section,
)
from kernelbandits.report.sensitivity import map_sections
from kernelbandits.report.theory import constants_section, theory_section
from kernelbandits.report.verdicts import (
    claims_section,
    claims_text,
    details_section,
    norms_section,
    times_section,
)
from kernelbandits.report.wording import played_line, versions

if TYPE_CHECKING:
    import pandas as pd

PAPER_TITLE = "Exploration distributions for kernel bandits: the paper's experiments, reproduced"
MANY, BEST = 10, 8
"""Of more policies than this, so many are drawn in colour."""
MAP_FILES = ("sensitivity.csv", "sensitivity.png", "sensitivity.svg", "effects.png", "effects.svg")
THEORY_FILES = ("theory.csv", "theory.png", "theory.svg")


def write_run(
    results: Results,
    folder: Path,
    title: str = "Kernel bandits compared",
    ranking: Ranking | None = None,
    left_out: Mapping[str, str] | None = None,
    theory: bool = False,
) -> pd.DataFrame:
    """ranking, regret and simple-regret (png, svg), the tables, rounds.npz, settings.json, report.html; the summary.

    `left_out` are policies that refused to play, and what they said; `theory` sets the bounds beside the regrets and
    adds theory (png, svg, csv).
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_theory(folder)
    ranked, refused = ranking or ranking_of(results), left_out or {}
    coloured = in_colour(results, ranked)
    others = [label for label in results.labels if label not in coloured]
    table = write_tables(results, folder, left_out=refused)
    write_ranking(ranked, folder)
    parts = [
        ranking_section(results, ranked, draw_ranking(results, ranked, folder)),
        *curve_sections(draw_curves(results, coloured, folder, others), len(others)),
        *([theory_section(results, coloured, folder)] if theory else []),
        summary_section(table),
        policies_section(results),
        *notes_section(results, refused),
        settings_section(results),
    ]
    write_page(folder, title, results, parts)
    return table


def remove_theory(folder: Path) -> None:
    """What an earlier run left here; theory.csv tells its drawing from that of the command `theory`."""
    if (folder / "theory.csv").exists():
        for name in THEORY_FILES:
            (folder / name).unlink(missing_ok=True)


def write_ranking(ranking: Ranking, folder: Path) -> None:
    ranking_frame(ranking).to_csv(folder / "ranking.csv", index=False)
    overall_frame(ranking).to_csv(folder / "ranking-overall.csv", index=False)


def in_colour(results: Results, ranking: Ranking) -> Sequence[str]:
    """All policies; of many only those of least regret over the problems, and uniform random."""
    if len(results.labels) <= MANY:
        return results.labels
    best = ranking.best[:BEST]
    return [label for label in ranking.best if label in best or label == uniform_random(results)]


def draw_ranking(results: Results, ranking: Ranking, folder: Path) -> str:
    """The drawing; nothing without matplotlib."""
    if not figures.available():
        return ""
    titles = {p.name: p.title for p in results.problems}
    panels = {titles[name]: rows for name, rows in ranking.standings["regret"].items()}
    looks = {label: (family, look_of(family)) for label, family in families(results).items()}
    return figures.ranking_figure(panels, looks, folder / "ranking", uniform_random(results))


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
        constants_section(found.results, FAMILY),
        *(map_sections(found, folder) if found.map else []),
        times_section(found),
        details_section(found.verdicts),
        settings_section(found.results),
    ]
    write_page(folder, PAPER_TITLE, found.results, parts)
    return table


def draw_curves(
    results: Results, labels: Sequence[str], folder: Path, others: Sequence[str] = ()
) -> dict[str, str]:
    """The drawings by kind of curve, the others in grey; none without matplotlib."""
    names = {"regret": "regret", "simple": "simple-regret"} if figures.available() else {}
    return {
        kind: figures.regret_figure(results, labels, folder / name, kind, others)
        for kind, name in names.items()
    }


def write_tables(results: Results, folder: Path, **more: Any) -> pd.DataFrame:
    table = summary(results)
    table.to_csv(folder / "summary.csv", index=False)
    save_rounds(results, folder / "rounds.npz")
    save_settings(results, folder / "settings.json", versions=versions(), **more)
    return table


def write_page(folder: Path, title: str, results: Results, parts: Iterable[str]) -> None:
    (folder / "report.html").write_text(
        html.page(title, played_line(results), parts), encoding="utf-8"
    )
