"""Figures and pages: what was played and what follows from it, in files to read and to send."""

from kernelbandits.report.paper import sum_up_readings, write_paper
from kernelbandits.report.run import draw_curves, write_run

__all__ = ["draw_curves", "sum_up_readings", "write_paper", "write_run"]
