"""The posterior over the candidates, drawn as their columns allow."""

from __future__ import annotations

from collections.abc import Iterator

from kernelbandits.report.studies.columns import by_column
from kernelbandits.report.studies.lines import SEVERAL, groups, line
from kernelbandits.report.studies.maps import principal_map, says_much, slice_map, two_columns
from kernelbandits.report.studies.ranked import ranking
from kernelbandits.report.studies.sheets import Drawing
from kernelbandits.report.studies.view import View


def posterior(view: View) -> Iterator[Drawing]:
    """Those that fit the columns; the ranking in any case."""
    kinds = [view.candidates.kinds[name] for name in view.columns]
    numbers = [name for name, kind in zip(view.columns, kinds, strict=True) if kind == "number"]
    if view.beliefs.known:
        if len(numbers) == 1 and len(groups(view)) <= SEVERAL:
            yield line(view, numbers[0])
        elif len(view.columns) == 2:
            yield two_columns(view, *view.columns)
        elif len(view.columns) > 2:
            yield by_column(view)
        if len(numbers) == 2 < len(view.columns):
            yield slice_map(view, numbers[0], numbers[1])
        elif len(numbers) > 2 and says_much(view):
            yield principal_map(view)
    yield ranking(view)
