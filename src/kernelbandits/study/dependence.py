"""How the estimates of a study depend on its columns or variables: curves, and a map of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.domains import MixedBox
from kernelbandits.domains.variables import Number
from kernelbandits.policies import FittedModel, PartialDependence
from kernelbandits.policies.partial_dependence import VALUES, Slice, set_columns, slice_space
from kernelbandits.policies.relevance import select_rows
from kernelbandits.study.answers import Answers
from kernelbandits.tables.candidates import Candidates

MAP_VALUES = 33
"""How many values of a number a map has on each side."""
MOST_LEVELS = 24
"""A choice with more values than this is neither on a map nor among the curves of a check."""


@dataclass(frozen=True, eq=False)
class EstimateMap:
    """The estimate over two columns or variables, all others as at the likely best.

    In a mixture the other components give what these two take, in the proportions of the likely
    best. Points that break a constraint have nan.
    """

    across: str
    up: str
    across_values: tuple[Any, ...]
    up_values: tuple[Any, ...]
    mean: Array
    """(up, across): the estimates, in the units of the target."""
    sd: Array
    """Their standard deviations."""
    fixed: Mapping[str, Any]
    """The values of all other columns."""
    shared: tuple[str, ...] = ()
    """The other columns that do not keep these values, because a sum is given."""


def require_model(answers: Answers, owner: str) -> FittedModel:
    """Return the model that the estimates come from; an error if there is none."""
    model = answers.driver.policy.answer_fit() if answers.has_results else None
    if model is None:
        got = answers.state.settings.policy if answers.has_results else "no result"
        raise StudyConflict(f"{owner} needs results, and a policy with a model of them, got {got}")
    return model


def check_column(answers: Answers, owner: str, name: str) -> str:
    """Return the name of a column or variable that differs between candidates."""
    known = answers.candidates.varying
    checks.needs(name in known, owner, f"a column among {known}", name)
    return name


def compute_dependence(
    answers: Answers, name: str, model: FittedModel | None = None
) -> PartialDependence:
    """Return the estimate at each value of a column, averaged over the others."""
    owner = "partial_dependence"
    column, place = check_column(answers, owner, name), answers.candidates
    fitted = require_model(answers, owner) if model is None else model
    if isinstance(place, Candidates):
        slices = slice_table(place, answers.driver.all_points(), column)
        is_number = column not in place.categories
    else:
        slices = slice_space(place.space, place.space.names.index(column))
        is_number = isinstance(place.columns[column], Number)
    shown: Any = {"is_number": is_number, "log": column in place.log}
    found = fitted.partial_dependence(column, slices, **shown)
    return found.convert(answers.scale.outward)


def slice_table(table: Candidates, points: Array, name: str) -> list[Slice]:
    """Return rows of a table, with several values of one of its columns."""
    block = list(dict(zip(table.varying, table.blocks, strict=True))[name])
    others = points[select_rows(len(points))]
    pairs = column_values(table, name, VALUES)
    return [Slice(value, set_columns(others, block, at)) for value, at in pairs]


def column_values(table: Candidates, name: str, most: int) -> list[tuple[Any, Array]]:
    """Return values of a column with their coordinates, numbers in increasing order.

    If a column has more numbers than `most`, they are evenly spaced between its ends.
    """
    coordinates = table.coordinates(name).reshape(len(table), -1)
    if name in table.categories:
        cells = list(table.columns[name])
        return [(text, coordinates[cells.index(text)]) for text in table.levels(name)]
    numbers, first = np.unique(table.numbers(name), return_index=True)
    if len(numbers) <= most:
        return [
            (float(number), coordinates[row]) for number, row in zip(numbers, first, strict=True)
        ]
    ends = float(coordinates.min()), float(coordinates.max())
    return [(table.number_at(name, u), np.array([u])) for u in np.linspace(*ends, most).tolist()]


def count_levels(answers: Answers, name: str) -> int:
    """How many values a choice has; 0 for a number."""
    place = answers.candidates
    if name not in place.categories:
        return 0
    return len(place.levels(name)) if isinstance(place, Candidates) else place.columns[name].levels


# ---------------------------------------------------------------------- maps


def compute_map(answers: Answers, across: str, up: str) -> EstimateMap:
    """Return the estimate over two columns, all others as at the likely best."""
    owner = "estimate_map"
    for name in (across, up):
        check_column(answers, owner, name)
    checks.needs(across != up, owner, "two different columns", across)
    model, place = require_model(answers, owner), answers.candidates
    arm = answers.recommended_arm
    best = answers.row(answers.greedy if arm is None else arm)
    row, x = answers.driver.coordinates(best), place.x(best)
    sides = [axis_values(place, name) for name in (across, up)]
    rows, shared = spread_over(place, row, (across, up), sides)
    if place.space is not None:
        inside = holds_constraints(place.space, rows)
    else:
        inside = np.ones(len(rows), dtype=bool)
    mean, sd = np.full((2, len(rows)), np.nan)
    if inside.any():
        estimate, spread = model.estimate(rows[inside])
        mean[inside], sd[inside] = answers.scale.outward(estimate), answers.scale.length(spread)
    shape = len(sides[1]), len(sides[0])
    return EstimateMap(
        across=across,
        up=up,
        across_values=tuple(value for value, _ in sides[0]),
        up_values=tuple(value for value, _ in sides[1]),
        mean=mean.reshape(shape),
        sd=sd.reshape(shape),
        fixed={name: x[name] for name in place.varying if name not in (across, up, *shared)},
        shared=shared,
    )


def axis_values(place: Any, name: str) -> list[tuple[Any, Array]]:
    """Return values of a column or variable with their coordinates."""
    if isinstance(place, Candidates):
        return column_values(place, name, MAP_VALUES)
    variable = place.columns[name]
    return [(value, np.array(variable.encode(value))) for value in variable.grid_values(MAP_VALUES)]


def spread_over(
    place: Any, row: Array, names: tuple[str, str], sides: Sequence[list[tuple[Any, Array]]]
) -> tuple[Array, tuple[str, ...]]:
    """Return the row with all values of two columns, and which others were changed for them."""
    blocks = dict(zip(place.varying, place.blocks, strict=True))
    (_, across), (_, up) = (zip(*side, strict=True) for side in sides)
    rows = np.tile(row, (len(up) * len(across), 1))
    rows[:, list(blocks[names[0]])] = np.tile(np.array(across), (len(up), 1))
    rows[:, list(blocks[names[1]])] = np.repeat(np.array(up), len(across), axis=0)
    if place.space is None or not place.space.constraints:
        return rows, ()
    return share_sums(place.space, rows, names)


def share_sums(
    space: MixedBox, rows: Array, names: tuple[str, str]
) -> tuple[Array, tuple[str, ...]]:
    """Let the other numbers of each given sum make up for these two, in their proportions."""
    feasible = space.feasible
    search, system, changed = feasible.to_search(rows), feasible.system, set[int]()
    columns = {space.names[number]: column for number, column in feasible.column.items()}
    chosen = {columns[name] for name in names if name in columns}
    for weights, total in zip(system.equalities, system.equal_to, strict=True):
        named = set(np.flatnonzero(weights).tolist())
        others = sorted(named - chosen)
        if not others or not named & chosen:
            continue
        terms = weights[others] * search[:, others]
        left = total - search @ np.where(np.isin(np.arange(len(weights)), others), 0.0, weights)
        sums = terms.sum(1, keepdims=True)
        # Of components that the likely best does not contain, each takes as much.
        equal = np.full_like(terms, 1 / len(others))
        shares = np.divide(terms, sums, out=equal, where=np.abs(sums) > 1e-12)
        search[:, others] = shares * left[:, None] / weights[others]
        changed |= set(others)
    shared = tuple(name for name, column in columns.items() if column in changed)
    return feasible.to_rows(search), shared


def holds_constraints(space: MixedBox, rows: Array) -> Any:
    """Tell which rows lie within the ranges and satisfy the constraints."""
    low, high = np.array(space.lower), np.array(space.upper)
    slack = 1e-9 * (high - low)
    inside = ((rows >= low - slack) & (rows <= high + slack)).all(1)
    if space.constraints:
        inside &= space.feasible.holds(space.feasible.to_search(rows))
    return inside
