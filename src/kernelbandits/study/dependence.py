"""How the estimates of a study depend on its columns or variables: curves, and a map of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, StudyConflict
from kernelbandits.formatting import format_names
from kernelbandits.insight import FittedModel, PartialDependence
from kernelbandits.insight.dependence import average_slices
from kernelbandits.insight.model import model_of_answers
from kernelbandits.study.answers import Answers

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
    total: float | None = None
    """Of three numbers that make up a mixture, two of them `across` and `up`: their sum."""
    sums: tuple[float, float] | None = None
    """The least and the greatest of these sums in a table, where they differ by rounding."""


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
    if place.by_similarity:
        raise StudyConflict(
            f"{owner} needs columns that the model sees, got a study of a Gram matrix or graph, "
            "whose model sees the similarity of the candidates only"
        )
    known = place.varying
    checks.needs(name in known, owner, f"a column among {format_names(known)}", name)
    return name


def compute_dependence(
    answers: Answers, name: str, model: FittedModel | None = None
) -> PartialDependence:
    """Return the estimate at each value of a column, averaged over the others."""
    owner = "partial_dependence"
    column, place = check_column(answers, owner, name), answers.candidates
    fitted = require_model(answers, owner) if model is None else model
    slices = place.slices(column, answers.driver.all_points())
    shown: Any = {"is_number": column not in place.categories, "log": column in place.log}
    found = average_slices(fitted, column, slices, **shown)
    return found.convert(answers.scale.estimate)


def count_levels(answers: Answers, name: str) -> int:
    """Count the values of a choice; 0 for a number."""
    place = answers.candidates
    return len(place.levels(name)) if name in place.categories else 0


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
    found = place.map_grid(row, (across, up), MAP_VALUES)
    rows, inside = found.rows, found.inside
    mean, sd = np.full((2, len(rows)), np.nan)
    if inside.any():
        estimate, spread = model.estimate(rows[inside])
        mean[inside], sd[inside] = answers.scale.estimate(estimate), answers.scale.length(spread)
    across_side, up_side = found.sides
    shape = len(up_side), len(across_side)
    return EstimateMap(
        across=across,
        up=up,
        across_values=tuple(value for value, _ in across_side),
        up_values=tuple(value for value, _ in up_side),
        mean=mean.reshape(shape),
        sd=sd.reshape(shape),
        fixed={
            name: x[name]
            for name in place.varying
            if name in x and name not in (across, up, *found.shared)
        },
        shared=found.shared,
        total=found.total,
        sums=found.sums,
    )
