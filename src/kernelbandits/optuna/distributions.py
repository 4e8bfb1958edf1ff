"""Distributions of Optuna as variables, and parameters as points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from kernelbandits.domains import Category, Integer, MixedBox, Real
from kernelbandits.domains.box import check_sides
from kernelbandits.domains.variables import Variable
from kernelbandits.streams import Streams

Space = dict[str, BaseDistribution]
"""Name -> distribution, as Optuna calls a search space."""


def as_variable(distribution: BaseDistribution) -> Variable:
    """Return a distribution with several values as a variable.

    A categorical value is known by its place among the choices: choices may be anything.
    """
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return Real(low, high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, IntDistribution):
        low, high = distribution.low, distribution.high
        return Integer(low, high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, CategoricalDistribution):
        return Category(tuple(range(len(distribution.choices))))
    raise ValueError(
        f"kernelbandits.optuna needs a float, int or categorical distribution, got {distribution!r}"
    )


def is_modelled(distribution: BaseDistribution) -> bool:
    """Tell whether a range can be modelled: not too long or too short for floating-point numbers.

    >>> is_modelled(FloatDistribution(0, 1)), is_modelled(FloatDistribution(-1e308, 1e308))
    (True, False)
    """
    try:
        check_sides("kernelbandits.optuna", MixedBox((as_variable(distribution),)))
    except ValueError:
        return False
    return True


def draw_value(seed: int, number: int, name: str, distribution: BaseDistribution) -> Any:
    """Draw the value of a parameter; it depends on seed, trial number and name only."""
    if distribution.single():
        return single_value(distribution)
    key = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
    unit = Streams(seed).generator(number, key).random(1)
    if isinstance(distribution, IntDistribution) and not is_modelled(distribution):
        # In whole numbers: floating-point ones do not have all of them.
        count = (distribution.high - distribution.low) // distribution.step + 1
        place = int(unit[0] * 2**53) * count >> 53
        return distribution.low + place * distribution.step
    variable = as_variable(distribution)
    value = variable.decode(variable.from_unit(unit)[0])
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[value]
    return value


def single_value(distribution: BaseDistribution) -> Any:
    """Return the only value of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    return getattr(distribution, "low")  # noqa: B009 (the base class has no bounds)


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that always occur together, and their space."""

    distributions: Space

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.distributions))

    @cached_property
    def box(self) -> MixedBox:
        """The space; a point is a tuple in the order of the names."""
        return MixedBox(tuple(as_variable(self.distributions[name]) for name in self.names))

    @cached_property
    def key(self) -> str:
        """A text that is the same for equal groups only."""
        return repr([(name, self.distributions[name]) for name in self.names])

    def point(self, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return parameters as a point; None if they lack a name or are outside the space."""
        found = []
        for name in self.names:
            if name not in values:
                return None
            value, distribution = values[name], self.distributions[name]
            if isinstance(distribution, CategoricalDistribution):
                try:
                    value = int(distribution.to_internal_repr(value))
                except ValueError:
                    return None
            found.append(value)
        return tuple(found) if tuple(found) in self.box else None

    def parameters(self, point: Iterable[Any]) -> dict[str, Any]:
        """Return a point as parameters with the values that Optuna knows."""
        values = {}
        for name, value in zip(self.names, point, strict=True):
            distribution = self.distributions[name]
            categorical = isinstance(distribution, CategoricalDistribution)
            values[name] = distribution.choices[value] if categorical else value
        return values


def find_space(completed: list[FrozenTrial]) -> tuple[Space, list[str]]:
    """Return the parameters of the trials so far with their latest distributions, and the others.

    A parameter with a single value needs no choice. The others are those whose distribution was
    another one in the trial before: it may change from trial to trial, and a model of the last
    range would be of no use.
    """
    latest: Space = {}
    changing: set[str] = set()
    settled: set[str] = set()
    for trial in reversed(completed):
        for name, distribution in trial.distributions.items():
            if name not in latest:
                latest[name] = distribution
            elif name not in settled:
                settled.add(name)
                if distribution != latest[name]:
                    changing.add(name)
    space = {
        name: latest[name]
        for name in sorted(latest)
        if name not in changing and not latest[name].single()
    }
    return space, sorted(changing)


def group_parameters(space: Space, completed: list[FrozenTrial]) -> list[ParameterGroup]:
    """Divide a space into groups of parameters that always occurred together.

    In a conditional space some parameters occur in some trials only. Each group is modelled by the
    trials that have it.
    """
    patterns = sorted({tuple(sorted(trial.distributions)) for trial in completed})
    members = [set(pattern) for pattern in patterns]
    groups: dict[tuple[bool, ...], Space] = {}
    for name in sorted(space):
        signature = tuple(name in pattern for pattern in members)
        groups.setdefault(signature, {})[name] = space[name]
    return [ParameterGroup(group) for group in groups.values()]


def group_seed(seed: int, group: ParameterGroup) -> int:
    """Return a seed of its own for a group: groups must not draw the same numbers."""
    text = f"{seed}:{group.names!r}"
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest())
