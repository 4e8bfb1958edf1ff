"""How the estimates of a study depend on its columns or variables: curves, and a map of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.domains import MixedBox
from kernelbandits.domains.variables import Number
from kernelbandits.insight import FittedModel, PartialDependence
from kernelbandits.insight.dependence import average_slices
from kernelbandits.insight.model import model_of_answers
from kernelbandits.insight.slices import VALUES, Slice, select_rows, set_columns, slice_space
from kernelbandits.study.answers import Answers
from kernelbandits.study.candidates import Candidates

MAP_VALUES = 33
"""How many values of a number a map has on each side."""
TOTALS = (1.0, 100.0)
"""The sums that the components of a mixture may have."""
SUM_ERROR = 1e-6
"""By which share of itself such a sum may be rounded in a table."""
MOST_SHARES = 12
"""Among so many columns of numbers a mixture is looked for."""
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
    total: float | None = None
    """Of three numbers that make up a mixture, two of them `across` and `up`: their sum."""


def require_model(answers: Answers, owner: str) -> FittedModel:
    """Return the model that the estimates come from; an error if there is none."""
    model = model_of_answers(answers.driver.policy) if answers.has_results else None
    if model is None:
        got = answers.state.settings.policy if answers.has_results else "no result"
        raise StudyConflict(f"{owner} needs results, and a policy with a model of them, got {got}")
    return model


def check_column(answers: Answers, owner: str, name: str) -> str:
    """Return the name of a column or variable that differs between candidates."""
    place = answers.candidates
    if isinstance(place, Candidates) and place.by_similarity:
        raise StudyConflict(
            f"{owner} needs columns that the model sees, got a study of a Gram matrix or graph, "
            "whose model sees the similarity of the candidates only"
        )
    known = place.varying
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
    found = average_slices(fitted, column, slices, **shown)
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
    """Count the values of a choice; 0 for a number."""
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
    mixture = find_mixture(place if isinstance(place, Candidates) else place.space)
    mixed = mixture is not None and {across, up} <= {*mixture.names}
    if isinstance(place, Candidates) and mixture is not None and mixed:
        sides = [share_values(place, name) for name in (across, up)]
        rows, inside, shared = fill_mixture(place, row, (across, up), sides, mixture)
    else:
        sides = [axis_values(place, name) for name in (across, up)]
        rows, shared = spread_over(place, row, (across, up), sides)
        inside = np.ones(len(rows), dtype=bool)
        if place.space is not None:
            inside = holds_constraints(place.space, rows)
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
        total=mixture.total if mixture is not None and mixed else None,
    )


@dataclass(frozen=True)
class ThreePartMixture:
    """Three columns or variables, none of them negative, that sum to 1 or to 100 %."""

    names: tuple[str, ...]
    total: float


def find_mixture(place: Candidates | MixedBox) -> ThreePartMixture | None:
    """Find three numbers with a given sum, in all rows of a table or by a constraint of a space."""
    if isinstance(place, MixedBox):
        return find_sum(place)
    names = [n for n in place.varying if n not in place.categories and n not in place.log]
    shares = {name: place.numbers(name) for name in names[:MOST_SHARES]}
    shares = {name: numbers for name, numbers in shares.items() if numbers.min() >= 0}
    for three in combinations(shares, 3):
        sums = shares[three[0]] + shares[three[1]] + shares[three[2]]
        for total in TOTALS:
            if np.allclose(sums, total, rtol=SUM_ERROR, atol=0):
                return ThreePartMixture(three, total)
    return None


def find_sum(space: MixedBox) -> ThreePartMixture | None:
    """Find a constraint of a space that gives the sum of three numbers."""
    if not space.constraints:
        return None
    system = space.feasible.system
    names = {column: space.names[number] for number, column in system.coordinates.column.items()}
    for weights, right in zip(system.equalities, system.equal_to, strict=True):
        named = np.flatnonzero(weights).tolist()
        if len(named) != 3 or not np.allclose(weights[named], weights[named[0]]):
            continue
        three = tuple(names[column] for column in named)
        variables = [space.variables[space.names.index(name)] for name in three]
        plain = all(
            isinstance(one, Number) and one.low >= 0 and not getattr(one, "log", False)
            for one in variables
        )
        for total in TOTALS:
            if plain and math.isclose(right / weights[named[0]], total):
                return ThreePartMixture(three, total)
    return None


def share_values(table: Candidates, name: str) -> list[tuple[Any, Array]]:
    """Return evenly spaced values of a component with their coordinates."""
    numbers, (low, high) = table.numbers(name), table.range(name)
    values = np.linspace(numbers.min(), numbers.max(), MAP_VALUES)
    return [(float(value), np.array([(value - low) / (high - low)])) for value in values]


def fill_mixture(
    table: Candidates,
    row: Array,
    names: tuple[str, str],
    sides: Sequence[list[tuple[Any, Array]]],
    mixture: ThreePartMixture,
) -> tuple[Array, Any, tuple[str, ...]]:
    """Return the row with all values of two components, where the third makes up for them.

    Also which of the rows have a third component within the range of the table, and its name.
    """
    rows, _ = spread_over(table, row, names, sides)
    [third] = [name for name in mixture.names if name not in names]
    across, up = ([value for value, _ in side] for side in sides)
    left = mixture.total - np.add.outer(up, across).ravel()
    numbers, (low, high) = table.numbers(third), table.range(third)
    slack = SUM_ERROR * mixture.total
    inside = (left >= numbers.min() - slack) & (left <= numbers.max() + slack)
    block = dict(zip(table.varying, table.blocks, strict=True))[third]
    rows[:, list(block)] = ((left - low) / (high - low))[:, None]
    return rows, inside, (third,)


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
    system, coordinates = space.feasible.system, space.feasible.coordinates
    search, changed = coordinates.to_search(rows), set[int]()
    columns = {space.names[number]: column for number, column in coordinates.column.items()}
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
    return coordinates.to_rows(search), shared


def holds_constraints(space: MixedBox, rows: Array) -> Any:
    """Tell which rows lie within the ranges and satisfy the constraints."""
    low, high = np.array(space.lower), np.array(space.upper)
    slack = 1e-9 * (high - low)
    inside = ((rows >= low - slack) & (rows <= high + slack)).all(1)
    if space.constraints:
        inside &= space.feasible.holds(rows)
    return inside
