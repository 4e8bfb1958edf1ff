"""The files of a comparison: ranking and regret figures, tables, and the page with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits.analysis.guarantees import (
    Guarantee,
    ProvedBounds,
    failing_premises,
    guarantee_frame,
    guarantees,
)
from kernelbandits.analysis.ranking import Ranking, overall_frame, ranking_frame, ranking_of
from kernelbandits.canvas import save
from kernelbandits.experiment import Results
from kernelbandits.experiment.curves import regret_figure
from kernelbandits.experiment.layout import FigureShape
from kernelbandits.experiment.merging import save_played
from kernelbandits.experiment.notices import merge_notices, split_notice
from kernelbandits.experiment.premises import premises
from kernelbandits.experiment.summary import save_rounds, save_settings
from kernelbandits.experiment.sweep_figure import sweep_figure, swept_settings
from kernelbandits.formatting import column_decimals
from kernelbandits.report import figures, pages
from kernelbandits.report.families import families, look_of, played_families, uniform_random

if TYPE_CHECKING:
    import pandas as pd

MANY, BEST = 10, 8
"""Of more policies than MANY, the BEST are drawn in colour."""
LONG = 12
"""From so many policies on, the tables of several problems are folded."""
THEORY_FILES = ("theory.csv", "theory.png", "theory.svg")


def write_run(
    results: Results,
    folder: Path,
    title: str = "Kernel bandits compared",
    ranking: Ranking | None = None,
    left_out: Mapping[str, str] | None = None,
    theory: bool = False,
    figure_format: str | None = None,
    figure_size: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """Write all files of a comparison into a folder and return the summary.

    The files are ranking, regret and simple-regret (png, svg), for each setting that was swept
    sweep-... (png, svg), ranking.csv, ranking-overall.csv,
    summary.csv, rounds.npz, settings.json, report.html, and played.json, by which results of
    several runs are merged.

    Parameters
    ----------
    results
        What `kb.run_experiment` returns.
    title
        The heading of the report.
    ranking
        What `analysis.ranking_of` returns for the results, if it was computed already.
    left_out
        Policies that refused to play, and the reason that each gave.
    theory
        Add the proved bounds beside the regrets, and theory (png, svg, csv).
    figure_format
        Another format of the regret figures, e.g. "pdf".
    figure_size
        Width and height of the regret figures in inches.

    Examples
    --------
    >>> from pathlib import Path
    >>> import kernelbandits as kb
    >>> from kernelbandits.report import write_run
    >>> results = kb.run_experiment("branin", ["random"], horizon=5, seeds=2, engine="numpy")
    >>> table = write_run(results, Path("compared"))
    >>> table[["problem", "policy"]].values.tolist()
    [['branin', 'Uniform random']]
    >>> sorted(path.name for path in Path("compared").glob("*.csv"))
    ['ranking-overall.csv', 'ranking.csv', 'summary.csv']
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_theory(folder)
    # Without jinja2 none is written, and that of an earlier run would show other results.
    (folder / "report.html").unlink(missing_ok=True)
    ranked, refused = ranking or ranking_of(results), left_out or {}
    coloured = labels_in_colour(results, ranked)
    others = [label for label in results.labels if label not in coloured]
    table = write_tables(results, folder, left_out=refused)
    save_played(results, folder)
    ranking_frame(ranked).to_csv(folder / "ranking.csv", index=False)
    overall_frame(ranked).to_csv(folder / "ranking-overall.csv", index=False)
    drawings = {
        "ranking": draw_ranking(results, ranked, folder),
        "curves": draw_curves(results, coloured, folder, others, figure_format, figure_size),
        "sweeps": draw_sweeps(results, folder, figure_format, figure_size),
    }
    bounds = write_theory(results, coloured, folder) if theory else None
    if pages.available():
        page = pages.render(
            "run.html",
            title=title,
            drawings=drawings,
            others=len(others),
            theory=bounds,
            families=family_values(results),
            notes=note_values(results, refused),
            **ranking_values(results, ranked),
            **pages.page_values(results, table),
        )
        (folder / "report.html").write_text(page, encoding="utf-8")
    return table


def remove_theory(folder: Path) -> None:
    """Remove the theory files of an earlier run.

    The command `theory` writes theory.png and theory.svg too, but no theory.csv: its files stay.
    """
    if (folder / "theory.csv").exists():
        for name in THEORY_FILES:
            (folder / name).unlink(missing_ok=True)


def write_tables(results: Results, folder: Path, **settings: Any) -> pd.DataFrame:
    """Write summary.csv, rounds.npz and settings.json; return the summary."""
    table = results.summary()
    table.to_csv(folder / "summary.csv", index=False)
    save_rounds(results, folder / "rounds.npz")
    save_settings(results, folder / "settings.json", **settings)
    return table


def labels_in_colour(results: Results, ranking: Ranking) -> Sequence[str]:
    """Return all policies; of many only those with the least regret overall, and uniform random."""
    if len(results.labels) <= MANY:
        return results.labels
    best = ranking.best[:BEST]
    return [label for label in ranking.best if label in best or label == uniform_random(results)]


def draw_curves(
    results: Results,
    labels: Sequence[str],
    folder: Path,
    others: Sequence[str] = (),
    figure_format: str | None = None,
    figure_size: tuple[float, float] | None = None,
) -> dict[str, str]:
    """Write regret and simple-regret; return the SVG by kind, nothing without matplotlib.

    `labels` are the policies drawn in colour, `others` those drawn in grey. Format and size are
    those of `write_run`.

    >>> from pathlib import Path
    >>> import kernelbandits as kb
    >>> from kernelbandits.report import draw_curves
    >>> results = kb.run_experiment("branin", ["random"], horizon=5, seeds=2, engine="numpy")
    >>> drawings = draw_curves(results, results.labels, Path("."))
    >>> sorted(drawings), Path("regret.png").exists()
    (['regret', 'simple'], True)
    """
    if not figures.available():
        return {}
    drawn = {}
    shape = FigureShape(figure_size)
    for kind, name in (("regret", "regret"), ("simple", "simple-regret")):
        with regret_figure(results, labels, kind, others, shape) as figure:
            drawn[kind] = save(figure, folder / name, all_formats(figure_format))
    return drawn


def draw_sweeps(
    results: Results,
    folder: Path,
    figure_format: str | None = None,
    figure_size: tuple[float, float] | None = None,
) -> dict[str, str]:
    """Write the final regret over each setting that was swept; return the SVG by setting."""
    if not figures.available():
        return {}
    drawn = {}
    for setting in swept_settings(results):
        shape = FigureShape(figure_size)
        with sweep_figure(results, results.labels, setting, "regret", shape) as figure:
            drawn[setting] = save(figure, folder / f"sweep-{setting}", all_formats(figure_format))
    return drawn


def all_formats(figure_format: str | None) -> tuple[str, ...]:
    """Return the formats of the regret figures: png, svg, and the one that was asked for."""
    return tuple(dict.fromkeys(("png", "svg", *([figure_format] if figure_format else []))))


def draw_ranking(results: Results, ranking: Ranking, folder: Path) -> str:
    """Write ranking; return its SVG, nothing without matplotlib."""
    if not figures.available():
        return ""
    titles = {p.name: p.title for p in results.problems}
    panels = {titles[name]: rows for name, rows in ranking.standings["regret"].items()}
    looks = {label: (family, look_of(family)) for label, family in families(results).items()}
    return figures.ranking_figure(panels, looks, folder / "ranking", uniform_random(results))


def ranking_values(results: Results, ranking: Ranking) -> dict[str, Any]:
    """Return the tables of the ranking; a row is (by cumulative regret, by simple regret)."""
    simple = {row.policy: row for row in ranking.overall["simple"]}
    overall = [(row, simple[row.policy]) for row in ranking.overall["regret"]]
    several = len(results.problems) > 1
    return {
        "overall": overall if several else [],
        "standings": [
            standing_values(ranking, problem.name)
            | {"title": problem.title, "open": len(results.labels) < LONG or not several}
            for problem in results.problems
        ],
        "colours": {label: look_of(family).colour for label, family in families(results).items()},
    }


def standing_values(ranking: Ranking, problem: str) -> dict[str, Any]:
    regret, simple = (ranking.standings[kind][problem] for kind in ("regret", "simple"))
    by_policy = {row.policy: row for row in simple}
    return {
        "rows": [(row, by_policy[row.policy]) for row in regret],
        "decimals": [
            column_decimals([row.mean.value for row in rows]) for rows in (regret, simple)
        ],
    }


def write_theory(results: Results, labels: Sequence[str], folder: Path) -> dict[str, Any]:
    """Write theory (png, svg, csv); return the values of the page."""
    found = guarantees(results)
    failing = {name: failing_premises(results, name) for name in found}
    titles = {problem.name: problem.title for problem in results.problems}
    guarantee_frame(found, failing).to_csv(folder / "theory.csv", index=False)
    svg = ""
    if figures.available():
        panels = {titles[name]: rows for name, rows in found.items()}
        svg = figures.guarantee_figure(panels, labels, folder / "theory")
    problems = [
        theory_values(rows, failing[name]) | {"title": titles[name]} for name, rows in found.items()
    ]
    return {"svg": svg, "problems": problems}


def theory_values(
    rows: Sequence[Guarantee], failing: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    bounded = [
        row for row in rows if isinstance(row.proved, ProvedBounds) or row.certificate is not None
    ]
    return {
        "failing": list(dict.fromkeys(text for row in bounded for text in failing[row.policy])),
        "has_least": any(row.least is not None for row in rows),
        "rows": [(row, row.answer(bool(failing[row.policy]))) for row in rows],
    }


def family_values(results: Results) -> list[dict[str, Any]]:
    """Return what the catalogue says of the policies that played, family by family."""
    return [
        {"title": family, "colour": look_of(family).colour, "entries": entries}
        for family, entries in played_families(results).items()
    ]


def note_values(results: Results, left_out: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (text, policies): premises that fail, warnings of the policies, and those left out."""
    warned = merge_notices(
        (cell.contender.label, split_notice(text)[1])
        for cell in results.cells
        for _, text in results.found[cell.key].settings.get("notices", [])
    )
    return [
        *((sentence, "all") for sentence in premises(results)),
        *((text, ", ".join(labels)) for text, labels in warned.items()),
        *((f"left out: {sentence}", name) for name, sentence in left_out.items()),
    ]
