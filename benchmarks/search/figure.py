"""Simple regret against the number of measurements, a panel for each noise; boxes on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.search.contestants import CONTESTANTS
from benchmarks.search.groups import Group
from benchmarks.search.rows import Searched
from benchmarks.search.scores import (
    MEASURED,
    RECOMMENDED,
    Searches,
    box_score,
    has_rivals_of_random,
    score_of,
    select,
)
from benchmarks.search.tasks import BOX_NOISES, MARKS, NOISES
from kernelbandits import canvas

SIZE = (13.0, 9.6)
MARGINS = canvas.Margins(left=0.75, below=1.2, above=0.45, right=0.2)


def write(rows: Sequence[Searched], group: Group, path: Path) -> str:
    """Draw one group; what was done, in a sentence."""
    panels = list_panels(rows, group)
    if not panels:
        return f"{path.name} is not drawn: nobody but random has played all tables of a setting"
    if not canvas.available():
        return f"{path.name} is left as it is: matplotlib is not installed"
    draw(panels, group, path)
    return f"{path.name} is drawn"


def list_panels(rows: Sequence[Searched], group: Group) -> list[tuple[str, Searches, str, bool]]:
    """Title, searches, what counts, and whether they are on tables.

    Means over other tables say something else, so a panel shows the tables of the rival who has
    played most, and those who have played all of them. Panels with nobody but random are left out.
    """
    panels = []
    for on_tables, names, noises in (
        (True, group.tables, NOISES),
        (False, group.functions, BOX_NOISES),
    ):
        for noise in noises:
            searches = compare_fairly(select(rows, names, noise))
            if has_rivals_of_random(searches):
                kind = MEASURED if noise == 0 else RECOMMENDED
                title = describe_panel(group, len(searches["random"]), noise, kind, on_tables)
                panels.append((title, searches, kind, on_tables))
    return panels


def describe_panel(group: Group, tasks: int, noise: float, kind: str, on_tables: bool) -> str:
    places, what = ("tables", "row") if on_tables else ("boxes", "point")
    return f"{tasks} {group.name} {places}, noise {noise:g}, {what} {kind}"


def compare_fairly(searches: Searches) -> Searches:
    """The searches on the tables of the rival who has played most, of all who have played these."""
    rivals = [tasks for name, tasks in searches.items() if name not in ("auto", "random")]
    shared = max(rivals or [searches.get("auto", {})], key=len)
    return {
        name: {task: tasks[task] for task in shared}
        for name, tasks in searches.items()
        if shared and shared.keys() <= tasks.keys()
    }


def draw(panels: Sequence[tuple[str, Searches, str, bool]], group: Group, path: Path) -> None:
    # Four panels stand two by two; a legend has as many columns as the width allows.
    columns = 2 if len(panels) == 4 else min(3, len(panels))
    legend_columns = {1: 2, 2: 3, 3: 5}[columns]
    lines = -(-len(panels) // columns)
    names = [name for name in CONTESTANTS if any(name in one[1] for one in panels)]
    size = (SIZE[0] * columns / 3, SIZE[1] * lines / 2)
    margins = replace(MARGINS, head=0.3 + 0.2 * -(-len(names) // legend_columns))
    with canvas.draw_panels(lines, columns, size, margins) as (figure, axes):
        flat = list(axes.ravel())
        for axis, (title, searches, kind, on_tables) in zip(flat, panels, strict=False):
            axis.set_title(title, fontsize=10)
            if on_tables:
                draw_curves(axis, searches, kind, names)
            else:
                draw_boxes(axis, searches, kind, names, group.functions)
        for axis in flat[len(panels) :]:
            axis.set_visible(False)
        handles = {
            label: handle
            for axis in reversed(flat)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        titles = [CONTESTANTS[name].title for name in names]
        figure.legend(
            [handles[title] for title in titles],
            titles,
            loc="upper center",
            ncols=legend_columns,
            frameon=False,
            fontsize=10,
        )
        figure.savefig(path, metadata=canvas.METADATA["svg"])


def look_of(names: Sequence[str], name: str) -> dict[str, Any]:
    return {
        "color": canvas.style_of(names, name)["color"],
        "marker": canvas.marker_of(names, name),
        "label": CONTESTANTS[name].title,
        "markersize": 5,
    }


def draw_curves(axis: Any, searches: Searches, kind: str, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        scores = [score_of(searches, name, kind, mark) for mark in range(len(MARKS))]
        found = [one for one in scores if one]
        if found:
            shift = 0.25 * (place - len(names) / 2)
            axis.errorbar(
                [mark + shift for mark in MARKS],
                [one.value for one in found],
                yerr=[one.error if one.error == one.error else 0.0 for one in found],
                linewidth=1.4,
                elinewidth=0.9,
                **look_of(names, name),
            )
    axis.set_xticks(MARKS)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("measurements")
    axis.set_ylabel("simple regret, share of the range")


def draw_boxes(
    axis: Any, searches: Searches, kind: str, names: Sequence[str], functions: Sequence[str]
) -> None:
    """A dot for each function and contestant, and the geometric mean in the last column."""
    labels = (*functions, "geometric mean")
    for place, name in enumerate(names):
        score = box_score(searches, name, kind)
        if score:
            values = {**score.by_function, labels[-1]: score.overall}
            shift = 0.7 * ((place + 0.5) / len(names) - 0.5)
            spots = [(i + shift, values[one]) for i, one in enumerate(labels) if one in values]
            axis.plot(*zip(*spots, strict=True), linestyle="none", **look_of(names, name))
    axis.set_yscale("log")
    axis.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
    axis.set_ylabel("regret after 60, share of the range")
