"""The figures of a study: each is declared once, with what it shows and what draws it.

What draws a figure is named by its module and imported when the figure is drawn, so that a command
line can describe all figures without waiting for any. Options, docs and the lab page are read off
`STUDY_FIGURES`, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kernelbandits.report.studies.sheets import Drawing
    from kernelbandits.report.studies.view import View

Function = TypeVar("Function", bound=Callable[..., Any])
ALL = "all"
"""The name of all figures that a study has data for."""


@dataclass(frozen=True)
class StudyFigure:
    """A figure of a study; it may have several drawings."""

    name: str
    """What a user types: `plot --what NAME`."""
    help: str
    """What it shows."""
    source: str
    """What draws it, "module.function" of this package: a function from a `View` to drawings."""
    has_data: Callable[[View], bool] = lambda view: True
    """Tells whether the study has data for it. If not, "all" leaves it out."""
    on_lab_page: bool = True
    """Whether the lab page shows it among the figures."""

    def draw(self, view: View) -> list[Drawing]:
        """Return the drawings of the figure."""
        module, function = self.source.split(".")
        drawings: Iterable[Drawing] = getattr(
            import_module(f"kernelbandits.report.studies.{module}"), function
        )(view)
        return list(drawings)


STUDY_FIGURES = (
    StudyFigure(
        "next",
        "what to measure next, the likely best, and whether to stop, in words",
        "next_steps.next_steps",
        on_lab_page=False,
    ),
    StudyFigure(
        "progress",
        "results by trial, the best average so far, failed and pending trials",
        "curves.progress",
    ),
    StudyFigure(
        "targets",
        "of several targets: the values of each by trial, and their trade-off with the Pareto "
        "front",
        "targets.targets",
        has_data=lambda view: len(view.targets) > 1,
    ),
    StudyFigure(
        "hypervolume",
        "of several targets: the hypervolume of the front by trial",
        "targets.front_over_time",
        has_data=lambda view: view.objectives > 1 and view.status.told > 0,
    ),
    StudyFigure(
        "regret",
        "if the truth is known: cumulative and simple regret of the candidates",
        "curves.regret",
        has_data=lambda view: view.truth is not None,
        on_lab_page=False,
    ),
    StudyFigure(
        "check",
        "predicted against measured, and which columns matter",
        "model_check.predictions",
        has_data=lambda view: view.status.told > 0,
    ),
    StudyFigure(
        "dependence",
        "the partial dependence on each column, with bands",
        "dependence.dependence",
        has_data=lambda view: bool(view.check.dependence),
    ),
    StudyFigure(
        "posterior",
        "a line or a map of the estimates, and the 20 best candidates",
        "posterior.posterior",
    ),
    StudyFigure(
        "weights",
        "the exploration weights, and the bonus weight × width × sd",
        "curves.weights",
        has_data=lambda view: view.trials.has_weights,
        on_lab_page=False,
    ),
)
CHOICES = (*(one.name for one in STUDY_FIGURES), ALL)
"""What may be asked for."""


def describe_figures(function: Function) -> Function:
    """Write the names of the figures into the docstring of a function, where it has {figures}."""
    names = ", ".join(f'"{one.name}"' for one in STUDY_FIGURES)
    function.__doc__ = (function.__doc__ or "").replace("{figures}", names)
    return function
