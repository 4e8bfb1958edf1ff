"""The space of a search: variables, lists and distributions of SciPy, as a mixed box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains import Category, Integer, MixedBox, Ordered, Real
from kernelbandits.domains.constraints import as_condition_text
from kernelbandits.domains.entries import as_variable, is_range
from kernelbandits.domains.values import is_same_value
from kernelbandits.domains.variables import Variable

OWNER = "KernelBanditSearchCV"
WHICH = "dict"
"""What the variable is called that says which of several dictionaries is meant."""
LOG_UNIFORM = ("loguniform", "reciprocal")
"""The names of the same distribution in SciPy."""


@dataclass(frozen=True)
class ParameterSpace:
    """The parameters of an estimator as a space."""

    box: MixedBox | None
    """Choices from a list are known by their places in it. None if no parameter varies."""
    listed: Mapping[str, Sequence[Any]]
    """Variable -> the values of a list."""
    constant: Mapping[str, Any]
    """The only point, if no parameter varies."""
    parameter: Mapping[str, str] | None = None
    """Variable -> the parameter that it is; None if they have the same names.

    The variable that says which of several dictionaries is meant is no parameter.
    """

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
        known = {
            name: self.listed[name][value] if name in self.listed else value
            for name, value in x.items()
        }
        if self.parameter is None:
            return known
        return {
            self.parameter[name]: value for name, value in known.items() if name in self.parameter
        }


def read_parameters(given: Any) -> ParameterSpace:
    """Return what a user wrote as a space.

    >>> read_parameters({"C": (0.1, 10.0), "kernel": ["rbf", "linear"]}).box.variables
    (Real(low=0.1, high=10.0), Category(values=(0, 1)))
    """
    if isinstance(given, MixedBox):
        checks.needs(bool(given.names), OWNER, "a space whose variables have names", given)
        return ParameterSpace(given, {}, {})
    several = isinstance(given, (list, tuple)) and len(given) > 0
    needed = "a dictionary of parameters, a list of such dictionaries, or a kb.MixedBox"
    for one in given if several else [given]:
        checks.needs(isinstance(one, Mapping) and len(one) > 0, OWNER, needed, given)
    if several and len(given) > 1:
        return join_dictionaries([read_dictionary(one) for one in given])
    return as_space(*read_dictionary(given[0] if several else given))


def read_dictionary(
    given: Mapping[str, Any],
) -> tuple[dict[str, Variable], dict[str, Sequence[Any]]]:
    """Return the parameters of one dictionary as variables, and the values of its lists."""
    variables: dict[str, Variable] = {}
    listed: dict[str, Sequence[Any]] = {}
    for name, one in given.items():
        if isinstance(one, Variable) or is_range(one):
            variables[name] = as_variable(OWNER, name, one)
        elif hasattr(one, "dist") and hasattr(one, "support"):
            variables[name] = read_distribution(name, one)
        else:
            variables[name], listed[name] = read_list(name, one)
    return variables, listed


def join_dictionaries(
    given: Sequence[tuple[dict[str, Variable], dict[str, Sequence[Any]]]],
) -> ParameterSpace:
    """Return the space of several dictionaries: which one is meant is a choice of its own.

    A parameter that all of them have in the same way is one variable. Others are variables that are
    there only with some of the dictionaries.
    """
    every = {name for variables, _ in given for name in variables}
    which = next(name for name in (WHICH * times for times in count(1)) if name not in every)
    variables: dict[str, Variable] = {which: Category(tuple(range(len(given))))}
    listed: dict[str, Sequence[Any]] = {}
    parameter: dict[str, str] = {}
    for name in dict.fromkeys(name for own, _ in given for name in own):
        users = [number for number, (own, _) in enumerate(given) if name in own]
        while users:
            own, lists = given[users[0]]
            alike = [
                number
                for number in users
                if given[number][0][name] == own[name]
                and is_same_list(given[number][1].get(name), lists.get(name))
            ]
            users = [number for number in users if number not in alike]
            # The same name again stands for other values of the parameter.
            own_name = name if name not in variables else f"{name} ({alike[0]})"
            when = {which: alike} if len(alike) < len(given) else None
            joined = join_conditions(own[name].when, when)
            variables[own_name] = replace(own[name], when=joined)
            parameter[own_name] = name
            if name in lists:
                listed[own_name] = lists[name]
    return ParameterSpace(MixedBox(variables), listed, {}, parameter)


def join_conditions(text: str | None, when: Mapping[str, Any] | None) -> str | None:
    """Return the condition of a variable together with that of its dictionaries."""
    both = [text, as_condition_text(OWNER, when)]
    return " and ".join(one for one in both if one is not None) or None


def is_same_list(one: Sequence[Any] | None, other: Sequence[Any] | None) -> bool:
    """Tell whether two lists have the same values; arrays and estimators are the same by identity.

    >>> is_same_list([1, "auto"], [1, "auto"]), is_same_list([1], [True]), is_same_list(None, None)
    (True, False, True)
    """
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(
        left is right or is_same_value(left, right) for left, right in zip(one, other, strict=True)
    )


def as_space(
    variables: Mapping[str, Variable], listed: Mapping[str, Sequence[Any]]
) -> ParameterSpace:
    """Return the space of one dictionary."""
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
