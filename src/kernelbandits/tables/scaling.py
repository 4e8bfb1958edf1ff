"""How a column of numbers becomes a coordinate in [0, 1]: by its values, or by their logarithms.

    (x - min) / (max - min)    or    (log x - log min) / (log max - log min)

Concentrations 0.001, 0.01, 0.1, 1 and 10 by their values are 0, 0.0009, 0.01, 0.1 and 1: to the
model the first three are almost the same. By their logarithms they are 0, 1/4, 1/2, 3/4 and 1.
Which columns are scaled by their logarithms is decided once, when a study is created, and stored.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.tables.headers import find_column
from kernelbandits.tables.roles import Notices, Roles
from kernelbandits.tables.table import (
    LARGEST,
    NUMBERS,
    Table,
    cell_place,
    column_kind,
    origin,
    read_numbers,
)

LOG, LINEAR = "log", "linear"
ADVISED, DECIDED = 2.0, 3.0
"""Powers of ten between the least and the greatest value from which on logarithms are advised, and
from which on they are the default, if the values are much more even so."""
ROUNDING = 1e-9
"""0.0007 to 0.7 are three powers of ten, whatever the last digit of the logarithms."""
CROWDED = 0.1
"""Logarithms are advised if more than half of the values lie in this share of the range."""
MUCH_MORE_EVEN = 0.5
"""Logarithms are the default if they are less than this times as uneven as the values."""


def scale_to_unit(values: Array, low: float | None = None, high: float | None = None) -> Array:
    """Return the numbers scaled so that `low` becomes 0 and `high` becomes 1:

        (x - low) / (high - low)

    By default these two are the least and the greatest of the numbers. All are divided by a power
    of two first, so that nothing overflows.
    """
    low = values.min() if low is None else low
    high = values.max() if high is None else high
    _, exponent = np.frexp(max(abs(low), abs(high)))
    least, greatest = np.ldexp(low, -exponent), np.ldexp(high, -exponent)
    return (np.ldexp(values, -exponent) - least) / (greatest - least)  # type: ignore[no-any-return]


def logarithms(values: Array) -> Array:
    """Return the logarithms of positive numbers, to base 10.

    They are taken one by one. The vectorised logarithm may round equal numbers at different places
    of an array differently, and rows with equal numbers must stay the same candidate.
    """
    different, places = np.unique(values, return_inverse=True)
    taken: Array = np.array([math.log10(value) for value in different.tolist()])
    return taken[places.reshape(-1)]


def measure_unevenness(values: Array) -> float:
    """Return how far numbers are from lying at equal distances:

        max_k |u_k - k / (n - 1)| over the n different values, u_0 = 0 to u_(n-1) = 1 in order

    It is 0 for values at equal distances and almost 1 if all but one lie together. How often a
    value comes in the table does not count: that is a matter of the design, not of the scale.
    """
    places = scale_to_unit(np.unique(values))
    return float(np.abs(places - np.linspace(0.0, 1.0, len(places))).max())


def count_decades(values: Array) -> float:
    """Count the powers of ten between the least and the greatest of positive numbers."""
    return math.log10(values.max()) - math.log10(values.min()) + ROUNDING


def prefers_logarithms(values: Array) -> bool:
    """Tell whether a column is plainly one of ratios, so that its logarithms are the default.

    The numbers are positive, span at least three powers of ten, and their logarithms are less than
    half as uneven as the numbers themselves.
    """
    if values.min() <= 0 or count_decades(values) < DECIDED:
        return False
    # Only compared with each other, so their last digits do not matter.
    by_value, by_logarithm = measure_unevenness(values), measure_unevenness(np.log10(values))
    return by_logarithm < MUCH_MORE_EVEN * by_value


def choose_scale(values: Array) -> str:
    """Return the scale of a column for which the user named none."""
    return LOG if prefers_logarithms(values) else LINEAR


def is_crowded(values: Array) -> bool:
    """Tell whether half of the numbers crowd at the low end of a range of two decades or more."""
    if values.min() <= 0 or count_decades(values) < ADVISED:
        return False
    return bool(np.median(scale_to_unit(values)) < CROWDED)


def has_zero_among_decades(values: Array) -> bool:
    """Tell whether a column would be one of ratios but for the value 0, such as "none added"."""
    above = values[values > 0]
    if values.min() != 0 or len(np.unique(above)) < 2:
        return False
    return prefers_logarithms(above) or is_crowded(above)


def name_scales(
    columns: Iterable[str],
    owner: str,
    log: str | Iterable[str] | None,
    linear: str | Iterable[str] | None,
    notices: Notices,
) -> dict[str, str]:
    """Return "log" or "linear" for each column whose scale the user named."""
    known, scales = tuple(columns), dict[str, str]()
    for scale, given in ((LOG, log), (LINEAR, linear)):
        for wanted in list_names(owner, scale, given):
            name = find_column(known, wanted, owner, f"a column for {scale}")
            notices.note_case(name, wanted)
            if scales.setdefault(name, scale) != scale:
                raise ValueError(
                    f"{owner} needs each column in log or in linear, got {name!r} in both"
                )
    return scales


def list_names(owner: str, scale: str, given: str | Iterable[str] | None) -> list[str]:
    """Return one name, several or none as a list."""
    if given is None or isinstance(given, str):
        return [] if given is None else [given]
    names = list(given) if isinstance(given, Iterable) else [given]
    known = all(isinstance(name, str) for name in names)
    checks.needs(known, owner, f"{scale} as the name of a column or a list of names", given)
    return names


def check_scales(table: Table, roles: Roles, scales: Mapping[str, str]) -> None:
    """Refuse a scale that a column cannot have."""
    for name, scale in scales.items():
        source = origin(table).source
        needed = f"{source} needs a column of numbers that describes a candidate for {scale}"
        if name not in roles.chosen:
            raise ValueError(f"{needed}, got {name!r}, which does not describe a candidate")
        if column_kind(table, name) != NUMBERS:
            raise ValueError(f"{needed}, got {name!r}, which is read as text")
        if scale == LOG:
            check_logarithms(table, name)


def check_logarithms(table: Table, name: str) -> None:
    """Refuse a column whose values have no logarithms, or all the same one."""
    values = read_numbers(table, name, LARGEST)
    if values.min() <= 0:
        i = int((values <= 0).argmax())
        more = "" if values[i] else ", or write a small amount in place of 0"
        raise ValueError(
            f"{origin(table).source} needs values > 0 to take their logarithms, got {values[i]:g} "
            f"{cell_place(table, i, name)}; leave the column out of log{more}"
        )
    if np.ptp(logarithms(values)) == 0:
        raise ValueError(
            f"{origin(table).source} needs different values to take their logarithms, got "
            f"{values[0]:g} in every row of column {name!r}; leave the column out of log"
        )


def remark_scale(name: str, scale: str, values: Array) -> Iterator[str]:
    """Say that the logarithms of a column are used by default, or that they may be better."""
    span = f"column {name!r} goes from {values.min():g} to {values.max():g}"
    if scale == LOG:
        yield (
            f"{span}, and its logarithms are more evenly spread than its values, so the model uses "
            f"log10({name}); to use the values themselves, create a new study with "
            f"linear=[{name!r}] (--linear {shlex.quote(name)})"
        )
    elif is_crowded(values):
        yield (
            f"{span}, and more than half of its values lie in the lowest {100 * CROWDED:.0f} % of "
            "this range, where rows look almost alike to the model; if ratios matter more than "
            f"differences, create a new study with log=[{name!r}] (--log {shlex.quote(name)})"
        )
    elif has_zero_among_decades(values):
        least = float(values[values > 0].min())
        yield (
            f"{span}, and its values other than 0 (from {least:g}) differ by factors, but 0 has no "
            "logarithm; if ratios matter more than differences, write a small amount in place of "
            f"0, such as {least / 10:g}, and create a new study with log=[{name!r}] (--log "
            f"{shlex.quote(name)})"
        )


def remark_collisions(name: str, scale: str, different: Array) -> Iterator[str]:
    """Say that the model sees different values as one, because others are so far away."""
    places = scale_to_unit(logarithms(different) if scale == LOG else different)
    seen = 1 + int(np.count_nonzero(np.diff(places)))
    if seen < len(different):
        yield (
            f"column {name!r} goes from {different[0]:g} to {different[-1]:g}, and scaled to "
            f"[0, 1] only {seen} of its {len(different)} different values differ for the model; "
            "their rows stay different candidates"
        )


def describe_scales(log: Iterable[str]) -> str:
    """Say how columns of numbers are scaled for the model."""
    named = ", ".join(log)
    first = f", after taking log10 of {named}" if named else ""
    return f"each column of numbers is scaled to [0, 1]{first}"


def differing_scales(wanted: Mapping[str, str], log: Iterable[str]) -> list[str]:
    """Return the columns that were named with another scale than they have."""
    stored = set(log)
    return [name for name, scale in wanted.items() if (scale == LOG) != (name in stored)]
