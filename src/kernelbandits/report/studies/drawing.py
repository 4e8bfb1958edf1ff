"""A study into one file: PNG, SVG, or a page to send."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import StudyConflict
from kernelbandits.report.studies.pages import question, study_page
from kernelbandits.report.studies.posterior import posterior
from kernelbandits.report.studies.rounds import progress, regret, weights
from kernelbandits.report.studies.sheets import Drawing, sheet
from kernelbandits.report.studies.view import View, view_of
from kernelbandits.runtime import require
from kernelbandits.study.exporting import replace_file

if TYPE_CHECKING:
    from kernelbandits.study import Study

SUFFIXES = (".png", ".svg", ".html")
ONE: dict[str, Callable[[View], Iterable[Drawing]]] = {
    "progress": lambda view: [progress(view)],
    "regret": lambda view: [regret(view)],
    "posterior": posterior,
    "weights": lambda view: [weights(view)],
}
KINDS = (*ONE, "all")


def draw_study(
    study: Study,
    path: str | os.PathLike[str],
    what: str = "all",
    truth: Any = None,
    trial: int | None = None,
) -> Path:
    """Draw `what` of a study ("progress", "regret", "posterior", "weights" or all that apply) into one file.

    The suffix says how: .png, .svg, or .html for a page with tables beside the figures. `truth` are the true values for
    the regret: row -> value, one number for each row, a DataFrame, or the name of a column of the table or of a CSV
    file. `trial` is marked and explained. The file is there as a whole or not at all.
    """
    target = checked_path(path)
    checks.one_of("draw_study", "what", what, KINDS)
    checks.needs(
        what != "regret" or truth is not None,
        "draw_study",
        'the true values (truth=...) for "regret"',
        truth,
    )
    require("matplotlib", extra="experiments", owner="draw_study")
    view = view_of(study, truth, trial)
    drawings = chosen(view, what)
    kind = target.suffix.lower().removeprefix(".")
    data = (
        study_page(view, drawings).encode()
        if kind == "html"
        else sheet(question(view), drawings, kind)
    )
    replace_file(target, data)
    return target


def checked_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    checks.needs(target.suffix.lower() in SUFFIXES, "draw_study", ".png, .svg or .html", str(path))
    checks.needs(target.parent.is_dir(), "draw_study", "a folder that exists", str(target.parent))
    return target


def chosen(view: View, what: str) -> list[Drawing]:
    return (
        list(ONE[what](view))
        if what != "all"
        else [one for kind in ONE for one in applicable(view, kind)]
    )


def applicable(view: View, kind: str) -> list[Drawing]:
    """Nothing where the study has nothing of the kind."""
    if kind == "regret" and view.truth is None:
        return []
    try:
        return list(ONE[kind](view))
    except StudyConflict:
        return []
