"""Results into figures, tables, judged claims and one page to send."""

from kernelbandits.experiment.paper import COMPARED
from kernelbandits.experiment.summary import summary
from kernelbandits.report.documents import draw_curves, write_reproduction, write_run
from kernelbandits.report.guarantees import Guarantee, guarantees
from kernelbandits.report.ranking import Ranking, ranking_of
from kernelbandits.report.reproduction import Reproduction, plan, reproduce

__all__ = [
    "COMPARED",
    "Guarantee",
    "Ranking",
    "Reproduction",
    "draw_curves",
    "guarantees",
    "plan",
    "ranking_of",
    "reproduce",
    "summary",
    "write_reproduction",
    "write_run",
]
