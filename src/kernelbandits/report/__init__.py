"""Results into figures, tables, judged claims and one page to send."""

from kernelbandits.experiment.paper import COMPARED
from kernelbandits.experiment.summary import summary
from kernelbandits.report.documents import draw_curves, write_reproduction, write_run
from kernelbandits.report.reproduction import Reproduction, plan, reproduce

__all__ = [
    "COMPARED",
    "Reproduction",
    "draw_curves",
    "plan",
    "reproduce",
    "summary",
    "write_reproduction",
    "write_run",
]
