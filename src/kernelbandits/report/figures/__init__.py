"""Figures as PNG, SVG and text for the page: curves, the ranking, the sensitivity map, the effects of R and ridge."""

from importlib.util import find_spec

from kernelbandits.report.figures.curves import regret_figure
from kernelbandits.report.figures.maps import ByRidge, Effects, effects_figure, map_figure
from kernelbandits.report.figures.ranks import ranking_figure

__all__ = ["ByRidge", "Effects", "available", "effects_figure", "map_figure", "ranking_figure", "regret_figure"]


def available() -> bool:
    """Figures need matplotlib, which the extra `experiments` brings."""
    return find_spec("matplotlib") is not None
