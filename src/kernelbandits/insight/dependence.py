"""How the estimate changes with one variable: the average over all others, with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array
from kernelbandits.formatting import HALF_INTERVAL, format_cell, format_interval
from kernelbandits.insight.model import FittedModel, model_of_answers, require_model
from kernelbandits.insight.slices import Slice, list_variables
from kernelbandits.markup import html_card, html_table
from kernelbandits.policies import Policy
from kernelbandits.posterior.members import mix_covariances
from kernelbandits.runtime import single_threaded

BAND = "the 95 % interval of that average, not of one candidate and not of a new measurement"
"""What the band of a partial dependence is, for captions and help texts."""


@dataclass(frozen=True)
class PartialDependence:
    """The estimate at each value of one variable, averaged over the other variables.

    `low` and `high` are the 95 % interval of that average: how well the average is known, not how
    much single candidates differ, and not the spread of new measurements. All numbers are in the
    units of the results, also where the model transforms them.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("a", "b"))}))
    >>> for heat in np.linspace(20, 90, 8):
    ...     for acid in "ab":
    ...         auto.tell(kb.Choice({"heat": heat, "acid": acid}), heat / 10 + (acid == "b"))
    >>> acid = kb.insight.partial_dependence(auto, "acid")
    >>> acid.values, round(acid.mean[1] - acid.mean[0], 1)
    (('a', 'b'), 1.0)
    >>> kb.insight.partial_dependence(auto, "heat").records()[0].keys()
    dict_keys(['heat', 'mean', 'low', 'high'])
    """

    name: str
    """The variable, or the column of a table."""
    values: tuple[Any, ...]
    """Its values, as a user writes them: numbers in increasing order, or all choices."""
    mean: tuple[float, ...]
    """The average estimate at each value."""
    low: tuple[float, ...]
    """The lower end of the 95 % interval of that average."""
    high: tuple[float, ...]
    """The upper end."""
    is_number: bool = True
    """Whether the values are numbers; otherwise they are choices."""
    log: bool = False
    """Whether the model sees the variable by its logarithm."""

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.values, self.mean, self.low, self.high)}
        checks.needs(len(lengths) == 1, "PartialDependence", "as many numbers as values", lengths)
        checks.needs(lengths != {0}, "PartialDependence", "at least one value", self.values)
        ends = zip(self.low, self.mean, self.high, strict=True)
        ordered = all(low <= mean <= high for low, mean, high in ends)
        checks.needs(ordered, "PartialDependence", "low <= mean <= high", self.name)

    def records(self) -> list[dict[str, Any]]:
        """Return the curve as rows of a table, such as for `pandas.DataFrame(curve.records())`."""
        rows = zip(self.values, self.mean, self.low, self.high, strict=True)
        names = (self.name, "mean", "low", "high")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the curve as a table."""
        cells = zip(self.values, self.mean, self.low, self.high, strict=True)
        rows = [(value, format_interval(mean, low, high)) for value, mean, low, high in cells]
        table = html_table((self.name, "average estimate, 95 % interval"), rows)
        return html_card(f"Partial dependence on {self.name}", table)

    def convert(self, outward: Callable[[Array], Array]) -> PartialDependence:
        """Return the same curve in other units; a function that decreases exchanges the ends."""
        mean, first, second = (outward(np.array(part)) for part in (self.mean, self.low, self.high))
        low, high = np.sort([first, second], axis=0)
        return replace(
            self,
            mean=tuple(mean.tolist()),
            low=tuple(np.minimum(low, mean).tolist()),
            high=tuple(np.maximum(high, mean).tolist()),
        )

    def describe(self, place: int) -> str:
        """Return the average at a value in words: 0.62 [0.55, 0.69] at 45."""
        known = format_interval(self.mean[place], self.low[place], self.high[place])
        return f"{known} at {format_cell(self.values[place], 4)}"

    @property
    def least(self) -> int:
        """The position of the lowest average."""
        return int(np.argmin(self.mean))

    @property
    def greatest(self) -> int:
        """The position of the highest average."""
        return int(np.argmax(self.mean))


def partial_dependence(policy: Policy, variable: str) -> PartialDependence:
    """Return the estimate at each value of a variable, averaged over the other variables.

    Its band is the 95 % interval of that average. Variables without names are called x1, x2, ...
    Constraints of a space are respected (`slices.slice_space`).

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.MixedBox({"heat": kb.Real(20, 90), "pH": kb.Real(3, 9)}), seed=0)
    >>> for heat in np.linspace(20, 90, 8):
    ...     auto.tell(auto.choice({"heat": heat, "pH": 5.0}), -((heat - 50) ** 2) / 100)
    >>> curve = kb.insight.partial_dependence(auto, "heat")
    >>> bool(40 < curve.values[np.argmax(curve.mean)] < 60)
    True
    """
    model = require_model("partial_dependence", policy, model_of_answers(policy))
    variables = {each.name: each for each in list_variables(policy.domain)}
    needed = f"a variable among {tuple(variables)}"
    checks.needs(variable in variables, "partial_dependence", needed, variable)
    chosen = variables[variable]
    return average_slices(
        model, variable, chosen.slices(), is_number=chosen.is_number, log=chosen.log
    )


@single_threaded
def average_slices(
    model: FittedModel,
    name: str,
    slices: Sequence[Slice],
    *,
    is_number: bool = True,
    log: bool = False,
) -> PartialDependence:
    """Average the posterior over the points of each slice, in the units of the rewards.

    Parameters
    ----------
    model
        The model whose posterior it is.
    name
        The variable.
    slices
        Its values, each with points that have this value.
    is_number, log
        What sort of variable it is.
    """
    posterior, averages = model.posterior, []
    for each in slices:
        means = posterior.member_means(each.rows)
        covariance = mix_covariances(means, posterior.member_covariances(each.rows))
        averages.append(average_with_interval(means.mean(0), covariance, model.units))
    mean, low, high = zip(*averages, strict=True)
    values = tuple(each.value for each in slices)
    return PartialDependence(name, values, mean, low, high, is_number, log)


def average_with_interval(
    mean: Array, covariance: Array, units: Standard
) -> tuple[float, float, float]:
    """Return the average a of g(f) over some points, and the ends of its 95 % interval.

    g turns standardised rewards into rewards. With the posterior mean m and covariance S of f at
    the points, a = average of g(m). To first order the variance of the average is w' S w, with
    w = g'(m) / n. The ends are the averages of g(m -+ 1.96 S w / sqrt(w' S w)): of all functions f
    that move the average so far, this is the most probable. Without a power transformation it is
    exactly a -+ 1.96 sd; at a single point it is the interval of the estimate, g(m -+ 1.96 sd).
    """
    # The slope over one sd, and not at the point alone, as the sd of an estimate is computed.
    step = np.sqrt(np.maximum(covariance.diagonal(), 1e-18))
    weights = units.original_sd(mean, step) / step / len(mean)
    pulled = covariance @ weights
    variance = float(weights @ pulled)
    shift = HALF_INTERVAL * pulled / np.sqrt(variance) if variance > 0 else np.zeros(len(mean))
    average, low, high = (
        float(np.mean(units.original(mean + sign * shift))) for sign in (0.0, -1.0, 1.0)
    )
    return average, min(low, average), max(high, average)
