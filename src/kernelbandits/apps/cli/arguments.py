"""Arguments and options of the study commands, and how their text is read."""

from __future__ import annotations

import csv
import inspect
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.censored import NOT_DETECTED
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.study.arguments import SECONDS, Argument
from kernelbandits.tables.cells import is_number, parse_result, parse_typed, suggest_typed

PLACE = "A file, postgresql://user@host/db?study=name, or env:NAME."
Place = Annotated[str, typer.Argument(metavar="PLACE", help=PLACE)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes on standard error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Given = dict[str, Any]
"""What was typed of a group of declared arguments, by their names."""

DURATIONS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9]{1,12}(?:[.,][0-9]*)?) ?([smhd]?)")
NEGATIVE = {"ignore_unknown_options": True}
"""Lets -0.5 pass as an argument; what is no number is then refused by `refuse_options`."""


def read_duration(option: str, text: str | None) -> float | None:
    """Read a duration such as 90s, 15m, 2h, 7d or 3600 as seconds."""
    if text is None:
        return None
    found = DURATION.fullmatch(text.strip())
    wanted = "a duration such as 90s, 15m, 2h, 7d or plain seconds"
    length = math.nan if found is None else parse_typed(found[1])
    if found is None or not length > 0:
        raise ValueError(f"{option} needs {wanted}, got {text!r}")
    return length * DURATIONS[found[2]]


def read_value(owner: str, text: str) -> float:
    """Read a measured value, with a decimal point or comma; <0.5, >99 and n.d. are limits.

    Forms that only Python takes for numbers, such as 1_000, are refused.
    """
    wanted = f"a number of size at most {LARGEST_REWARD:g} as VALUE"
    number = parse_result(text)
    if number != NOT_DETECTED and not abs(number) <= LARGEST_REWARD:
        meant = suggest_typed(text)
        hint = f" ({meant})" if meant else ""
        raise ValueError(f"{owner} needs {wanted}, got {text!r}{hint}")
    return number


def read_assignments(owner: str, option: str, texts: Iterable[str]) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        checks.needs(bool(equals and name), owner, f"{option} NAME=VALUE", text)
        checks.needs(name not in found, owner, f"{option} once for each name", name)
        found[name] = value
    return found


def read_whole_number(name: str, text: str, least: int) -> int:
    """Read the number of a trial or a row."""
    whole = re.fullmatch(r"[0-9]{1,18}", text) is not None and int(text) >= least
    digits = " with at most 18 digits" if re.fullmatch(r"[0-9]{19,}", text) else ""
    checks.needs(whole, name, f"a whole number from {least} on{digits}", text)
    return int(text)


def read_row(option: str, text: str) -> int | str:
    """Read a row: its number, counted from 0, or what it is called.

    >>> read_row("--row", "17"), read_row("--row", "A7")
    (17, 'A7')
    """
    return read_whole_number(option, text.strip(), 0) if is_number(text) else text


def read_names(option: str, text: str | None) -> list[str] | None:
    """Read names of columns separated by commas; quote a name that holds a comma."""
    if text is None:
        return None
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    checks.needs(
        bool(found) and all(found), option, "names of columns with commas between them", text
    )
    return found


def drop_missing(given: dict[str, Any]) -> dict[str, Any]:
    """Return only the settings that were given."""
    return {name: value for name, value in given.items() if value is not None}


def options(**groups: Sequence[Argument]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each declared argument of some groups.

    The function of the command has one parameter for each group, where its options shall stand in
    the help, and receives a mapping of those that were typed:

        @options(given=SETTINGS)
        def change(place: Place, given: Given, quiet: Quiet = False) -> None: ...
    """

    def expand(function: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for one in inspect.signature(function, eval_str=True).parameters.values():
            group = groups.get(one.name)
            options = [one] if group is None else [make_option(argument) for argument in group]
            parameters += [option.replace(kind=option.KEYWORD_ONLY) for option in options]

        def command(**typed: Any) -> None:
            for name, group in groups.items():
                texts = [(one, typed.pop(one.name)) for one in group]
                given = {one.name: read_option(one, text) for one, text in texts}
                typed[name] = drop_missing(given)
            function(**typed)

        # The parser reads the options off these two.
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return expand


def make_option(argument: Argument) -> inspect.Parameter:
    """Return an argument as the parser takes it: an option, or a positional argument."""
    kind: Any = argument.kind if argument.kind in (float, bool, Path) else str
    metavar = argument.metavar or {int: "INTEGER"}.get(argument.kind)
    text = argument.description
    default: Any = None
    if argument.unit == SECONDS:
        kind, metavar, text = str, "DURATION", f"{argument.help} Write 90s, 2h or 7d."
    if argument.is_repeated:
        kind = list[str]
        text += " May be repeated." if list in argument.forms else " Once for each name."
    if argument.required:
        default = inspect.Parameter.empty
    elif kind is bool and argument.default is False:
        default = False
    else:
        kind |= None
    spelled = spell_option(argument)
    shown: Any = typer.Argument(metavar=spelled, help=text)
    if spelled.startswith("-"):
        shown = typer.Option(*spelled.split(), metavar=metavar, help=text)
    return inspect.Parameter(
        argument.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, shown],
    )


def spell_option(argument: Argument) -> str:
    """Return an argument as the command line spells it: --noise-scale, "--n -n", TRIAL."""
    return argument.option or f"--{argument.name.replace('_', '-')}"


def read_option(argument: Argument, typed: Any) -> Any:
    """Read what was typed of an argument: whole numbers and durations come as texts."""
    name = spell_option(argument).partition(" ")[0]
    least = int(argument.limits.least or 0)
    if typed is None:
        return None
    if argument.unit == SECONDS:
        return read_duration(name, typed)
    if argument.names_row:
        rows = [read_row(name, text) for text in (typed if argument.is_list else [typed])]
        return (rows or None) if argument.is_list else rows[0]
    if argument.is_list and argument.kind is int:
        return [read_whole_number(name, text, least) for text in typed] or None
    if argument.is_list:
        return typed or None
    return read_whole_number(name, typed, least) if argument.kind is int else typed
