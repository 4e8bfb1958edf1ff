"""Figures drawn from values: ranking, sensitivity map, effects of R and ridge, theory."""

from kernelbandits.canvas import available
from kernelbandits.report.figures.maps import READING_MARGINS, effects_figure, map_figure
from kernelbandits.report.figures.ranks import ranking_figure
from kernelbandits.report.figures.theory import calculation_figure, guarantee_figure

__all__ = [
    "READING_MARGINS",
    "available",
    "calculation_figure",
    "effects_figure",
    "guarantee_figure",
    "map_figure",
    "ranking_figure",
]
