"""One study as figures and as a page to send: progress, regret, posterior, exploration weights."""

from kernelbandits.report.studies.drawing import KINDS, draw_study

__all__ = ["KINDS", "draw_study"]
