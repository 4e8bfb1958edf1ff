"""Figures and pages: what was played and what follows from it, in files to read and to send.

The modules are imported when one of their names is first used, so that a command that describes
figures does not wait for what draws them.
"""

from typing import TYPE_CHECKING, Any

from kernelbandits import runtime

if TYPE_CHECKING:
    from kernelbandits.report.paper import sum_up_readings, write_paper
    from kernelbandits.report.run import draw_curves, write_run

HOMES = {"paper": ("sum_up_readings", "write_paper"), "run": ("draw_curves", "write_run")}
"""Modules, and the names that this package takes from each."""

__all__ = ["draw_curves", "sum_up_readings", "write_paper", "write_run"]

# Hidden from mypy, which would accept any name of a module that has a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return runtime.load_name(__name__, name, HOMES)

    def __dir__() -> list[str]:
        return sorted(__all__)
