"""A study to play with: which mixture of ethanol and water is the most viscous?

Its results are real, so a visitor who has measured nothing yet can see how a study goes: the page
shows the measured value of a suggestion. Nothing marks such a study in storage. It is known by its
columns and its target, and a trial has an answer if the table has one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from kernelbandits.apps.web.creation import suggest_name

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.apps.web.library import Library
    from kernelbandits.study import Study

NAME = "example"
SAMPLE, ETHANOL, HEAT, TARGET = "sample", "ethanol (%)", "temperature (°C)", "viscosity (mPa s)"
SHARES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Ethanol in percent by weight, for each column of the table."""
VISCOSITIES = {
    0: (1.792, 3.311, 5.319, 6.94, 7.14, 6.58, 5.75, 4.762, 3.690, 2.732, 1.773),
    10: (1.308, 2.179, 3.165, 4.05, 4.39, 4.18, 3.77, 3.268, 2.710, 2.101, 1.466),
    20: (1.005, 1.538, 2.183, 2.71, 2.91, 2.87, 2.67, 2.370, 2.008, 1.610, 1.200),
    30: (0.801, 1.160, 1.553, 1.87, 2.02, 2.02, 1.93, 1.767, 1.531, 1.279, 1.003),
    40: (0.656, 0.907, 1.160, 1.368, 1.482, 1.499, 1.447, 1.344, 1.203, 1.035, 0.834),
    50: (0.549, 0.734, 0.907, 1.050, 1.132, 1.155, 1.127, 1.062, 0.968, 0.848, 0.702),
    60: (0.469, 0.609, 0.736, 0.834, 0.893, 0.913, 0.902, 0.856, 0.789, 0.704, 0.592),
    70: (0.406, 0.514, 0.608, 0.683, 0.727, 0.740, 0.729, 0.695, 0.650, 0.589, 0.504),
}
"""Temperature -> the viscosities of all mixtures, as E. C. Bingham and R. F. Jackson of the United
States Bureau of Standards compiled them from measurements: in the public domain."""
ANSWERS = {
    (float(share), float(heat)): value
    for heat, values in VISCOSITIES.items()
    for share, value in zip(SHARES, values, strict=True)
}
"""Ethanol and temperature -> viscosity."""


def example_table() -> pd.DataFrame:
    """Return the candidates of the example, without their results."""
    import pandas as pd

    rows = [(f"E{share:.0f}-{heat:.0f}", share, heat) for share, heat in ANSWERS]
    return pd.DataFrame(rows, columns=[SAMPLE, ETHANOL, HEAT])


def create_example(library: Library, taken: Container[str]) -> tuple[Study, str]:
    """Create a study to play with; return it with its name."""
    name = suggest_name(NAME, library.shelf.fixed_name, taken)
    return library.create(name, example_table(), target=TARGET, label=SAMPLE), name


def find_answer(study: Study, x: Mapping[str, Any]) -> float | None:
    """Return the measured value of a candidate of the example; None in any other study."""
    if study.target != TARGET or study.candidates.chosen != (ETHANOL, HEAT):
        return None
    return ANSWERS.get((float(x[ETHANOL]), float(x[HEAT])))
