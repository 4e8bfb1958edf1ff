"""Spaces as text: files in TOML or JSON, and the short form of a variable.

A file has the variables by name, each as a table or in the short form, and the constraints:

    constraints = ["A + B + C == 1"]

    [variables]
    rate = {type = "real", low = 1e-5, high = 0.1, log = true}
    cups = "integer 1:8"
    solvent = "choice DMF, DMSO, water"

The short form is that of the command line, with the type in front: `low:high`, then `log` or
`step 0.1`; or values separated by commas.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.variables import KINDS, Number, Variable, variable_from_dict

LARGEST_FILE = 2**20
"""A larger file is no description of a space."""
TRUTHS = {"true": True, "false": False}


def read_space(path: str | PathLike[str]) -> MixedBox:
    """Read a space from a file in TOML or JSON.

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
        return space_from_file(described)
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


def space_from_file(described: Any) -> MixedBox:
    """Return the space that a file describes."""
    owner = "a space file"
    checks.needs(isinstance(described, Mapping), owner, "a table of variables", described)
    for key in described:
        known = key in ("variables", "constraints")
        checks.needs(known, owner, "no entries but variables and constraints", key)
    variables = described.get("variables")
    if isinstance(variables, list):
        return MixedBox.from_dict(described)
    given = isinstance(variables, Mapping) and len(variables) > 0
    checks.needs(given, owner, "variables by name under [variables]", variables)
    if isinstance(described["variables"].get("constraints"), list):
        needed = "constraints above the line [variables], and not below it"
        raise ValueError(f"{owner} needs {needed}, got them among the variables")
    read = {name: variable_of_entry(name, entry) for name, entry in described["variables"].items()}
    constraints = described.get("constraints", [])
    checks.needs(isinstance(constraints, list), owner, "a list of constraints", constraints)
    return MixedBox(read, constraints=constraints)


def variable_of_entry(name: str, entry: Any) -> Variable:
    """Return the variable of one entry of a file: a table, or the short form with its type."""
    if not isinstance(entry, str):
        return variable_from_dict(name, entry)
    kind, _, rest = entry.strip().partition(" ")
    needed = f"one of {list(KINDS)} and the values, as in 'real 0:1'"
    checks.needs(kind in KINDS, f"variable {name!r}", needed, entry)
    return parse_values(name, kind, rest)


def parse_variable(kind: str, text: str) -> tuple[str, Variable]:
    """Return name and variable of a text `name=values`, as the command line takes it.

    >>> parse_variable("real", "rate=1e-5:1e-1 log")
    ('rate', Real(low=1e-05, high=0.1, log=True))
    >>> parse_variable("integer", "cups=1:8")
    ('cups', Integer(low=1, high=8))
    >>> parse_variable("choice", "solvent=DMF, DMSO, water")
    ('solvent', Category(values=('DMF', 'DMSO', 'water')))
    """
    checks.one_of("parse_variable", "kind", kind, KINDS)
    name, equals, values = text.partition("=")
    example = "rate=0:1" if issubclass(KINDS[kind], Number) else "solvent=DMF,water"
    checks.needs(bool(equals and name.strip()), kind, f"a text such as {example}", text)
    return name.strip(), parse_values(name.strip(), kind, values)


def parse_values(name: str, kind: str, text: str) -> Variable:
    """Return a variable of a type from the text of its values."""
    if not issubclass(KINDS[kind], Number):
        return variable_from_dict(name, {"type": kind, "values": parse_choices(text)})
    owner, words = f"variable {name!r}", text.split()
    needed = "low:high, then 'log' or 'step 0.1', as in 1e-5:0.1 log"
    if kind == "integer":
        needed = "whole numbers low:high, then 'log' or 'step 2', as in 0:96 step 8"
    settings: dict[str, Any] = {"type": kind}
    read = parse_whole if kind == "integer" else parse_number
    try:
        low, _, high = words[0].partition(":")
        settings |= {"low": read(low), "high": read(high or low)}
        rest = words[1:]
        while rest:
            word = rest.pop(0)
            if word == "log" and "log" not in settings:
                settings["log"] = True
            elif word == "step" and "step" not in settings:
                settings["step"] = read(rest.pop(0))
            else:
                raise ValueError
    except (IndexError, ValueError, OverflowError):
        raise ValueError(f"{owner} needs {needed}, got {text.strip()!r}") from None
    return variable_from_dict(name, settings)


def parse_number(text: str) -> float:
    """Return a number; 1_000 and digits of other scripts, which Python reads too, are none here."""
    return float(check_plain(text))


def parse_integer(text: str) -> int:
    """Return a number that is written without point and exponent."""
    return int(check_plain(text))


def check_plain(text: str) -> str:
    if "_" in text or not text.isascii():
        raise ValueError
    return text


def parse_whole(text: str) -> int:
    """Return a whole number, also written as 1e3."""
    number = parse_number(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


def parse_choices(text: str) -> list[Any]:
    """Return the values of a choice: numbers or truth values if all are, otherwise texts.

    >>> parse_choices("1, 2, 4"), parse_choices("true,false"), parse_choices("1, 2, many")
    ([1, 2, 4], [True, False], ['1', '2', 'many'])
    """
    items = [item.strip() for item in text.split(",")]
    if len(items) > 1 and not items[-1]:
        items.pop()
    if items == [""]:
        return []
    checks.needs(all(items), "a choice", "a value between any two commas", text)
    readers: tuple[Callable[[str], Any], ...] = (
        parse_integer,
        parse_number,
        lambda item: TRUTHS[item.lower()],
    )
    for read in readers:
        try:
            return [read(item) for item in items]
        except (ValueError, KeyError):
            continue
    return items
