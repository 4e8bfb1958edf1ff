"""One study as figures and as a page to send: progress, regret, posterior, exploration weights.

The modules are imported when one of their names is first used: a list of the figures needs none.
"""

from typing import TYPE_CHECKING, Any

from kernelbandits import runtime

if TYPE_CHECKING:
    from kernelbandits.report.studies.drawing import draw_study
    from kernelbandits.report.studies.model_check import draw_check

HOMES = {"drawing": ("draw_study",), "model_check": ("draw_check",)}
"""Modules, and the names that this package takes from each."""

__all__ = ["draw_check", "draw_study"]

# Hidden from mypy, which would accept any name of a module that has a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return runtime.load_name(__name__, name, HOMES)

    def __dir__() -> list[str]:
        return sorted(__all__)
