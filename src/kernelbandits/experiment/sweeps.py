"""Sweeps: every contender with each of several values of a setting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from kernelbandits import checks
from kernelbandits.catalogue import settings_of
from kernelbandits.catalogue.lookup import check_setting
from kernelbandits.experiment.cells import KERNEL_SETTINGS, Cell, Contender

Sweep = Mapping[str, Iterable[Any]]
"""Setting -> the values that each policy that has it plays with."""
OWNER = "a sweep"
LENGTHS = ("horizon", "rounds")
"""Settings that say how long the game is: a rule that is told another length plays another game."""


def read_values(sweep: Sweep | None) -> dict[str, tuple[Any, ...]]:
    """Return setting -> its values, each a setting of some policy, with at least one value."""
    if sweep is None:
        return {}
    needed = "a dict of settings and their values, such as {'lengthscale': [0.1, 0.2]}"
    checks.needs(isinstance(sweep, Mapping), OWNER, needed, sweep)
    found = {}
    for name, values in sweep.items():
        checks.needs(name not in LENGTHS, OWNER, "settings other than the number of rounds", name)
        listed = isinstance(values, Iterable) and not isinstance(values, (str, Mapping))
        checks.needs(listed, OWNER, f"a list of values of {name}", values)
        # A value that is a list becomes a tuple: figures find results by their values.
        found[name] = tuple(tuple(one) if isinstance(one, list) else one for one in values)
        checks.needs(len(found[name]) > 0, OWNER, f"at least one value of {name}", values)
        repeated = [one for place, one in enumerate(found[name]) if one in found[name][:place]]
        checks.needs(not repeated, OWNER, f"each value of {name} once", repeated)
    return found


def sweep_contender(
    entered: Contender, values: Mapping[str, Sequence[Any]], own: Collection[str] = ()
) -> Iterator[Contender]:
    """Yield a contender once for every combination of the values of the settings that it has.

    Its own settings, those that it was given for itself, stay as they are.
    """
    taken = [name for name in values if name not in own and takes(entered, name)]
    if not taken:
        yield entered
        return
    for chosen in product(*(values[name] for name in taken)):
        swept = dict(zip(taken, chosen, strict=True))
        found = replace(
            entered,
            label=f"{entered.label}, {describe_values(swept)}",
            settings={**entered.settings, **settings_of(swept)},
            swept=swept,
            entrant=entered.label,
        )
        found.check()
        yield found


def takes(entered: Contender, setting: str) -> bool:
    """Tell whether a contender has a setting, or plays with a kernel that has it."""
    return setting in entered.entry.parameters or entered.is_of_kernel(setting)


def describe_values(swept: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={describe_value(value)}" for name, value in swept.items())


def describe_value(value: Any) -> str:
    return f"{value:g}" if checks.is_number(value) else str(value)


def check_swept(cells: Sequence[Cell], sweep: Sweep | None) -> None:
    """Refuse a setting that no contender plays with several values of: nothing would be swept."""
    entered = {cell.contender.label: cell.contender for cell in cells}.values()
    known = {*KERNEL_SETTINGS, *(name for one in entered for name in one.entry.parameters)}
    for name in sweep or ():
        check_setting(OWNER, name, sorted(known - set(LENGTHS)))
        swept = any(name in one.swept for one in entered)
        played = ", ".join(one.label for one in entered)
        checks.needs(swept, OWNER, f"a policy that has {name} and none of its own", played)
