"""Steps for ranges that are written without one: values that a hand can weigh."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from kernelbandits.domains.constraints import Comparison, LinearConstraint
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.variables import Number, Real, Variable, count_digits

PARTS = 100
"""Into about so many steps a range is divided."""
FINEST = 20
"""A step is made at most so many times finer to reach the end of a range, or a sum."""
DIGITS = 2
"""Significant digits of values on a log scale; more, if an end of the range has more."""
MOST_DIGITS = 3


def with_steps(space: MixedBox, names: Collection[str]) -> MixedBox:
    """Return a space in which these ranges take values that a hand can weigh.

    A range gets the step 1, 2 or 5 times a power of ten that is nearest to a hundredth of it, or
    the next finer one that also reaches its end. On a log scale its values have two significant
    digits. Ranges in an equality get one step, by which the sum can be met. If there is none, they
    stay as they are, and so does a range on a log scale that a constraint names.

    >>> space = MixedBox({"heat": Real(20, 90), "rate": Real(1e-5, 0.1, log=True)})
    >>> with_steps(space, ["heat", "rate"]).variables
    (Real(low=20.0, high=90.0, step=0.5), Real(low=1e-05, high=0.1, log=True, digits=2))
    """
    if not names:
        return space
    known = dict(zip(space.names, space.variables, strict=True))
    constrained = {name for one in space.constraints for name in one.names}
    open_ = {
        name: variable
        for name, variable in known.items()
        if name in names and is_open(variable) and not (variable.log and name in constrained)
    }
    found = {name: with_own_step(variable) for name, variable in open_.items()}
    for group, equalities in linked_equalities(space):
        step = shared_step(known | found, [name for name in group if name in open_], equalities)
        for name in group & open_.keys():
            found[name] = open_[name] if step is None else replace(open_[name], step=step)
    if found == open_:
        return space
    try:
        return MixedBox(known | found, constraints=space.constraints)
    except ValueError:
        # The steps leave no point between the constraints, as in 0.331 <= A <= 0.334.
        free = {name: one for name, one in found.items() if name not in constrained}
        return MixedBox(known | free, constraints=space.constraints)


def remark_steps(space: MixedBox, names: Collection[str]) -> list[str]:
    """Say which of these ranges, written without a step, take steps or digits.

    >>> remark_steps(MixedBox({"heat": Real(20, 90, step=0.5)}), ["heat"])
    ["written without a step: heat, taken in steps of 0.5 ('step none' takes any number)"]
    """
    grids: dict[str, list[str]] = {}
    for name, one in zip(space.names, space.variables, strict=False):
        if name in names and isinstance(one, Real) and not one.single and one.discrete:
            grids.setdefault(describe_grid(one), []).append(name)
    taken = [f"{', '.join(alike)}, taken in {grid}" for grid, alike in grids.items()]
    said = f"written without a step: {'; '.join(taken)} ('step none' takes any number)"
    return [said] if taken else []


def describe_grid(variable: Real) -> str:
    digits = f"numbers of {variable.digits} significant digits"
    return f"steps of {variable.step:g}" if variable.step is not None else digits


def is_open(variable: Variable) -> bool:
    """Tell whether a variable takes any number of a range."""
    return isinstance(variable, Real) and not variable.single and not variable.discrete


def with_own_step(variable: Real) -> Real:
    """Return a range with the step, or the digits, that suit it."""
    if variable.log:
        digits = max(DIGITS, count_digits(variable.low), count_digits(variable.high))
        return replace(variable, digits=digits) if digits <= MOST_DIGITS else variable
    side = exact(variable.high) - exact(variable.low)
    first = nearest_round(float(side) / PARTS)
    fitting = (step for step in finer(first) if side % step == 0)
    return replace(variable, step=float(next(fitting, first)))


def shared_step(
    known: dict[str, Variable], names: Sequence[str], equalities: Sequence[Comparison]
) -> float | None:
    """Return one step for these ranges, by which the equalities can be met; None if there is none.

    Each of them must be a sum with equal factors, up to their signs: a grid would miss another one.
    """
    steps = [step for name in names if (step := getattr(known[name], "step", None))]
    for one in equalities:
        if len({abs(factor) for _, factor in one.coefficients}) > 1:
            return None
    if not steps:
        return None
    for step in finer(exact(min(steps))):
        if all(meets(known, names, one, step) for one in equalities):
            return float(step)
    return None


def meets(
    known: dict[str, Variable], names: Sequence[str], equality: Comparison, step: Fraction
) -> bool:
    """Tell whether sums of values on grids with this step can have the number of an equality."""
    total = exact(equality.bound)
    for name, factor in equality.coefficients:
        variable, weight = known[name], exact(factor)
        if not isinstance(variable, Number):
            return False
        total -= weight * exact(variable.low)
        size = exact(variable.step or 0.0)
        if name not in names and not variable.single and (not size or size % step):
            return False
    unit = step * abs(exact(equality.coefficients[0][1]))
    return total % unit == 0


def linked_equalities(space: MixedBox) -> Iterator[tuple[set[str], list[Comparison]]]:
    """Yield the names that equalities link, with these equalities."""
    left = [one for one in space.constraints if is_equality(one)]
    while left:
        group, linked = {*left[0].names}, [left.pop(0)]
        while near := [one for one in left if group & {*one.names}]:
            linked += near
            group |= {name for one in near for name in one.names}
            left = [one for one in left if one not in near]
        yield group, linked


def is_equality(constraint: object) -> bool:
    return isinstance(constraint, LinearConstraint) and constraint.relation == "=="


def nearest_round(number: float) -> Fraction:
    """Return the number 1, 2 or 5 times a power of ten that is nearest by ratio.

    >>> float(nearest_round(0.7)), float(nearest_round(0.0033))
    (0.5, 0.005)
    """
    power = math.floor(math.log10(number))
    near = [Fraction(10) ** power * size for size in (1, 2, 5, 10)]
    return min(near, key=lambda one: abs(math.log(float(one) / number)))


def finer(step: Fraction) -> Iterator[Fraction]:
    """Yield a step, and the finer ones 1, 2 or 5 times a power of ten."""
    yield step
    least = step / FINEST
    here = step
    while True:
        power = Fraction(10) ** math.floor(math.log10(float(here)) + 1e-9)
        size = here / power
        here = power * (2 if size > 2 else 1) if size > 1 else power / 2
        if here < least:
            return
        yield here


def exact(number: float) -> Fraction:
    """Return a number as it is written in decimals."""
    return Fraction(Decimal(repr(float(number))))
