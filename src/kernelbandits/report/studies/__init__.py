"""One study as figures and as a page to send: progress, regret, posterior, exploration weights."""

from kernelbandits.report.studies.drawing import KINDS, draw_study
from kernelbandits.report.studies.model_check import draw_check

__all__ = ["KINDS", "draw_check", "draw_study"]
