"""Spaces as files in TOML or JSON.

A file has the variables by name, each as `entries.as_variable` reads it, and the constraints:

    constraints = ["A + B + C == 1"]

    [variables]
    rate = {type = "real", low = 1e-5, high = 0.1, log = true}
    cups = "integer 1:8"
    solvent = ["DMF", "DMSO", "water"]
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice, is_number, is_whole
from kernelbandits.domains.entries import as_variable, lacks_step
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.steps import remark_steps, with_steps
from kernelbandits.outputs import has_mark

LARGEST_FILE = 2**20
"""A larger file is no description of a space."""


def read_space(path: str | PathLike[str], *, steps: bool = False) -> MixedBox:
    """Read a space from a file in TOML or JSON.

    With `steps` the ranges that are written without a step take values that a hand can weigh, as in
    a study (`steps.with_steps`).

    The variables stand under `variables`, by name (in JSON also as a list, as `space.to_dict()`
    writes them), the constraints under `constraints`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import kernelbandits as kb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "space.toml"
    >>> _ = path.write_text('[variables]\\nrate = "real 1e-5:0.1 log"\\ncups = "integer 1:8"')
    >>> kb.read_space(path).decode([-5.0, 3.0])
    {'rate': 0.00673794699909, 'cups': 3}
    """
    file = Path(path)
    if has_mark(file):
        raise ValueError(f"{file} needs to be a space in TOML or JSON, got a study")
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise ValueError(f"No such file: {file}") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror or error}") from None
    if len(content) > LARGEST_FILE:
        raise ValueError(f"{file} is too large for a space: more than {LARGEST_FILE >> 20} MB")
    try:
        described = parse_file(content, file)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if file.suffix.lower() == ".json" else "TOML"
        hint = "a space file is TOML or JSON with the variables under [variables]"
        raise ValueError(f"{file} is no {kind} file ({error}); {hint}") from None
    try:
        return space_from_file(described, steps=steps)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def parse_file(content: bytes, file: Path) -> Any:
    """Return the content of a file as plain values."""
    text = content.decode("utf-8-sig")
    if file.suffix.lower() != ".json":
        return tomllib.loads(text)

    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(f"the name {repeated!r} stands in it twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=refuse_repeats)


def remark_pairs(described: Any) -> list[str]:
    """Name the lists of two increasing numbers in what a file describes: a range may be meant.

    >>> remark_pairs({"variables": {"heat": [20.0, 90.0], "cups": [1, 2, 4]}})
    ["heat = [20.0, 90.0] are two choices; a range is 'real 20.0:90.0'"]
    """
    variables = described.get("variables") if isinstance(described, Mapping) else None
    given = variables if isinstance(variables, Mapping) else {}
    pairs = {name: entry for name, entry in given.items() if is_increasing_pair(entry)}
    return [
        f"{name} = {entry} are two choices; a range is "
        f"'{'integer' if all(map(is_whole, entry)) else 'real'} {entry[0]}:{entry[1]}'"
        for name, entry in pairs.items()
    ]


def is_increasing_pair(entry: Any) -> bool:
    pair = isinstance(entry, list) and len(entry) == 2 and all(map(is_number, entry))
    return pair and bool(entry[0] < entry[1])


def space_from_file(described: Any, *, steps: bool = False) -> MixedBox:
    """Return the space that a file describes; with `steps` as `read_space` does."""
    owner = "a space file"
    checks.needs(isinstance(described, Mapping), owner, "a table of variables", described)
    for key in described:
        known = key in ("variables", "constraints")
        checks.needs(known, owner, "no entries but variables and constraints", key)
    variables = described.get("variables")
    if isinstance(variables, list):
        space = MixedBox.from_dict(described)
        return give_steps(space, described) if steps else space
    given = isinstance(variables, Mapping) and len(variables) > 0
    checks.needs(given, owner, "variables by name under [variables]", variables)
    if isinstance(variables.get("constraints"), list):
        needed = "constraints above the line [variables], and not below it"
        raise ValueError(f"{owner} needs {needed}, got them among the variables")
    for text in remark_pairs(described):
        warnings.warn(text, DataNotice, stacklevel=3)
    read = {name: as_variable(owner, name, entry) for name, entry in variables.items()}
    constraints = described.get("constraints", [])
    checks.needs(isinstance(constraints, list), owner, "a list of constraints", constraints)
    space = MixedBox(read, constraints=constraints)
    return give_steps(space, described) if steps else space


def give_steps(space: MixedBox, described: Mapping[str, Any]) -> MixedBox:
    """Return the space with steps for ranges that are described without one, and say so."""
    stepped = with_steps(space, open_ranges(described))
    for text in remark_recipe(described, stepped):
        warnings.warn(text, DataNotice, stacklevel=4)
    return stepped


def remark_recipe(described: Any, space: MixedBox) -> list[str]:
    """Say which ranges of a space got steps, because they are described without one."""
    return remark_steps(space, open_ranges(described))


def open_ranges(described: Mapping[str, Any]) -> list[str]:
    """Return the names of the ranges that are described without a step."""
    variables = described["variables"]
    named = variables.items() if isinstance(variables, Mapping) else ()
    listed = variables if isinstance(variables, list) else ()
    pairs = [*named, *((one.get("name"), one) for one in listed)]
    return [name for name, entry in pairs if name is not None and lacks_step(entry)]
