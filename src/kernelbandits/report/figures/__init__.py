"""Figures as PNG, SVG and text for the page: curves, ranking, sensitivity map, effects of R and ridge, theory."""

from kernelbandits.report.figures.curves import regret_figure
from kernelbandits.report.figures.maps import ByRidge, Effects, effects_figure, map_figure
from kernelbandits.report.figures.ranks import ranking_figure
from kernelbandits.report.figures.theory import calculation_figure, guarantee_figure
from kernelbandits.runtime import is_installed

__all__ = [
    "ByRidge",
    "Effects",
    "available",
    "calculation_figure",
    "effects_figure",
    "guarantee_figure",
    "map_figure",
    "ranking_figure",
    "regret_figure",
]


def available() -> bool:
    """Figures need matplotlib, which the extra `experiments` brings."""
    return is_installed("matplotlib")
