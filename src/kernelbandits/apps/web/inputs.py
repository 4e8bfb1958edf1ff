"""Texts of forms as values; an error says what is needed, in the words of the page."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.censored import Censored
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.study.arguments import Argument
from kernelbandits.study.operations import Operation
from kernelbandits.study.settings import Setting
from kernelbandits.tables.cells import parse_result, parse_typed, suggest_typed

if TYPE_CHECKING:
    from kernelbandits.apps.web.visitors import SubmittedForm

LARGEST = 10**9
"""A larger whole number in a form is a mistake."""


def read_number(what: str, text: str) -> float:
    """Read a number with a decimal point or comma; refuse any other text and say what to write.

    >>> read_number("the result", "0,83")
    0.83
    """
    number = parse_typed(text)
    if not abs(number) <= LARGEST_REWARD:
        meant = suggest_typed(text)
        hint = f"; {meant}" if meant else ""
        raise ValueError(f"{what} needs a number, got {text!r}{hint}")
    return number


def read_result(what: str, text: str) -> float:
    """Read a result: a number, or <0.5, >99 or n.d., of which only a limit is known.

    >>> read_result("the result", "<0,5"), read_result("the result", "0.83")
    (<0.5, 0.83)
    """
    limit = parse_result(text)
    return limit if isinstance(limit, Censored) else read_number(what, text)


def read_optional_number(what: str, text: str) -> float | None:
    return read_number(what, text) if text else None


def read_whole(what: str, text: str, least: int = 1, most: int = LARGEST) -> int:
    fits = re.fullmatch(r"[0-9]{1,10}", text) is not None and least <= int(text) <= most
    checks.needs(fits, what, f"a whole number from {least} to {most}", text)
    return int(text)


def read_number_or_name(text: str) -> int | str:
    """Read what an address names: by its number, or by what it is called."""
    return int(text) if re.fullmatch("[0-9]{1,16}", text) else text


def read_arguments(operation: Operation, form: SubmittedForm) -> dict[str, Any]:
    """Return what a form says of an operation, as the method takes it.

    These are the arguments with a label; the values of targets and points have fields of their own.
    """
    given: dict[str, Any] = {}
    for one in operation.fields:
        text = form.text(one.name)
        if one.kind is bool:
            given |= {one.name: True} if form.has(one.name) else {}
        elif one.label and (text or one.required):
            given[one.name] = read_argument(one, text)
    return given


def read_argument(argument: Argument, text: str) -> Any:
    """Read a field of a form; the items of a list have commas between them, or blanks if they are
    numbers.

    >>> from kernelbandits.study.operations import PERMIT
    >>> read_argument(PERMIT.api[0], "A4, A17")
    ['A4', 'A17']
    """
    what = describe_field(argument)
    least, most = argument.limits.least, argument.limits.most
    if argument.kind is int:
        ends = int(least or 0), int(min(most or LARGEST, LARGEST))
        texts = text.replace(",", " ").split() if argument.is_list else [text]
        numbers = [read_whole(what, one, *ends) for one in texts]
        return numbers if argument.is_list else numbers[0]
    if argument.is_list and (argument.names_row or isinstance(argument, Setting)):
        return [
            name for one in next(csv.reader([text], skipinitialspace=True)) if (name := one.strip())
        ]
    if float in argument.forms:
        return read_number(what, text)
    short = most is None or len(text) <= most
    checks.needs(short, what, f"at most {most} characters", text)
    return [text] if argument.is_list else text


def describe_field(argument: Argument) -> str:
    return f"the field {re.split('[:,]', argument.label)[0]!r}"


def field_attributes(argument: Argument) -> dict[str, Any]:
    """Return the attributes of the field of an argument: its name, limits and what it means.

    >>> from kernelbandits.study.operations import REASON
    >>> field_attributes(REASON)
    {'name': 'reason', 'title': 'A remark for the history.', 'maxlength': 200, 'inputmode': None}
    """
    is_text = argument.kind is str and not argument.is_list
    return {
        "name": argument.name,
        "title": argument.description.replace("`", ""),
        "maxlength": argument.limits.most if is_text else None,
        "inputmode": "decimal"
        if float in argument.forms
        else "numeric"
        if argument.kind is int
        else None,
    }


def read_setting(setting: Setting, text: str) -> Any:
    """Read a field of a form as the value of a setting; None if it is empty.

    >>> from kernelbandits.study.settings import SETTINGS
    >>> [tolerance] = [one for one in SETTINGS if one.name == "tolerance"]
    >>> read_setting(tolerance, "0.05")
    0.05
    """
    if not text:
        return None
    if setting.choices:
        return checks.one_of(describe_field(setting), setting.name, text, setting.choices)
    return read_argument(setting, text)


def drop_missing(**given: Any) -> dict[str, Any]:
    """Return the settings that were given."""
    return {name: value for name, value in given.items() if value not in (None, "")}
