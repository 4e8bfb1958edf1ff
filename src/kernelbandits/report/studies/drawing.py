"""Write the figures of a study to one file: PNG, SVG, PDF, or an HTML page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.outputs import check_output, replace_file
from kernelbandits.report.studies.figures import ALL, CHOICES, STUDY_FIGURES, describe_figures
from kernelbandits.report.studies.next_steps import TITLE as NEXT
from kernelbandits.report.studies.page import question, study_page
from kernelbandits.report.studies.sheets import Drawing, sheet
from kernelbandits.report.studies.view import View, read_view
from kernelbandits.runtime import require

if TYPE_CHECKING:
    from kernelbandits.study import Study

SUFFIXES = (".png", ".svg", ".pdf", ".html")


@describe_figures
def draw_study(
    study: Study,
    path: str | os.PathLike[str],
    what: str = ALL,
    truth: Any = None,
    trial: int | None = None,
    *,
    force: bool = False,
) -> Path:
    """Draw the figures of a study into one file and return its path.

    The file is written as a whole: if writing fails, an older file stays as it was.

    Parameters
    ----------
    study
        An open study.
    path
        The file to write. Its suffix selects the form: .png, .svg, .pdf, or .html for a page that
        has tables beside the figures.
    what
        "all" for every figure that the study has data for, or one of {figures}.
    truth
        The true values, which the regret is computed from: a mapping from row to value, one
        number for each row, a DataFrame, a column of the study's table, or a CSV file. Of a study
        over a space no regret is drawn.
    trial
        Number of a trial to mark in the figures and to explain on the page.
    force
        Whether an existing file may be replaced. A study is never replaced.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import kernelbandits as kb
    >>> folder = Path(mkdtemp())
    >>> study = kb.Study.create(folder / "films.db", [[20.0], [40.0], [60.0]])
    >>> _ = study.tell(row=1, value=0.7)
    >>> draw_study(study, folder / "films.svg", what="progress").name
    'films.svg'
    """
    target = check_path(path)
    check_output("plot", target, force)
    checks.one_of("plot", "what", what, CHOICES)
    checks.needs(
        what != "regret" or truth is not None,
        "plot",
        'the true values (truth) for "regret"',
        truth,
    )
    kind = target.suffix.lower().removeprefix(".")
    require("matplotlib", extra="experiments", owner="a figure")
    if kind == "html":
        require("jinja2", extra="experiments", owner="a page")
    view = read_view(study, truth, trial)
    replace_file(target, render_file(view, select_drawings(view, what), kind), "plot", force)
    return target


def render_page(view: View) -> bytes:
    """Render the page of a study with every figure that it has data for, as HTML."""
    return render_file(view, select_drawings(view, ALL), "html")


def render_file(view: View, drawings: list[Drawing], kind: str) -> bytes:
    if kind == "html":
        # The page says in its first table what is next.
        return study_page(view, [one for one in drawings if one.title != NEXT]).encode()
    return sheet(question(view), drawings, kind)


def check_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    checks.needs(target.suffix.lower() in SUFFIXES, "plot", ".png, .svg, .pdf or .html", str(path))
    checks.needs(target.parent.is_dir(), "plot", "a folder that exists", str(target.parent))
    return target


def select_drawings(view: View, what: str) -> list[Drawing]:
    """Return the drawings of one figure, or of all that the study has data for."""
    return [
        drawing
        for one in STUDY_FIGURES
        if one.name == what or (what == ALL and one.has_data(view))
        for drawing in one.draw(view)
    ]
