"""The space of a search: variables, lists and distributions of SciPy, as a mixed box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Category, Integer, MixedBox, Ordered, Real
from kernelbandits.domains.entries import as_variable, is_range
from kernelbandits.domains.variables import Variable

OWNER = "KernelBanditSearchCV"
LOG_UNIFORM = ("loguniform", "reciprocal")
"""The names of the same distribution in SciPy."""


@dataclass(frozen=True)
class ParameterSpace:
    """The parameters of an estimator as a space."""

    box: MixedBox | None
    """Choices from a list are known by their places in it. None if no parameter varies."""
    listed: Mapping[str, Sequence[Any]]
    """Name -> the values of a list."""
    constant: Mapping[str, Any]
    """The only point, if no parameter varies."""

    @property
    def count(self) -> float:
        """The number of candidates; infinite if a parameter takes any real number."""
        return 1 if self.box is None else self.box.count

    def candidates(self) -> list[dict[str, Any]]:
        """Return the parameters of every candidate of a finite space."""
        if self.box is None:
            return [self.parameters(self.constant)]
        return [self.parameters(self.box.decode(row)) for row in self.box.all_rows()]

    def parameters(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point as parameters of the estimator."""
        return {
            name: self.listed[name][value] if name in self.listed else value
            for name, value in x.items()
        }


def read_parameters(given: Any) -> ParameterSpace:
    """Return what a user wrote as a space.

    >>> read_parameters({"C": (0.1, 10.0), "kernel": ["rbf", "linear"]}).box.variables
    (Real(low=0.1, high=10.0), Category(values=(0, 1)))
    """
    if isinstance(given, MixedBox):
        checks.needs(bool(given.names), OWNER, "a space whose variables have names", given)
        return ParameterSpace(given, {}, {})
    needed = "a dictionary of parameters, or a kb.MixedBox"
    checks.needs(isinstance(given, Mapping) and len(given) > 0, OWNER, needed, given)
    variables: dict[str, Variable] = {}
    listed: dict[str, Sequence[Any]] = {}
    for name, one in given.items():
        if isinstance(one, Variable) or is_range(one):
            variables[name] = as_variable(OWNER, name, one)
        elif hasattr(one, "dist") and hasattr(one, "support"):
            variables[name] = read_distribution(name, one)
        else:
            variables[name], listed[name] = read_list(name, one)
    if any(variable.levels > 1 for variable in variables.values()):
        return ParameterSpace(MixedBox(variables), listed, {})
    # A box needs something to vary.
    constant = {name: variable.grid_values(1)[0] for name, variable in variables.items()}
    return ParameterSpace(None, listed, constant)


def read_distribution(name: str, distribution: Any) -> Variable:
    """Return a frozen distribution of SciPy as a variable."""
    low, high = (end.item() for end in np.asarray(distribution.support()))
    kind = distribution.dist.name
    if kind == "uniform":
        return Real(low, high)
    if kind in LOG_UNIFORM:
        return Real(low, high, log=True)
    needed = f"uniform, loguniform or randint, or a variable such as kb.Real(0, 1), for {name!r}"
    checks.needs(kind == "randint", OWNER, needed, kind)
    return Integer(int(low), int(high))


def read_list(name: str, values: Any) -> tuple[Variable, list[Any]]:
    """Return the places of a list as a variable, and the list: numbers have an order."""
    listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))
    checks.needs(
        listed and len(values) > 0, OWNER, f"a list, a pair or a variable for {name!r}", values
    )
    choices = list(values)
    if all(checks.is_number(one) for one in choices):
        choices.sort()
        return Ordered(tuple(range(len(choices)))), choices
    return Category(tuple(range(len(choices)))), choices
