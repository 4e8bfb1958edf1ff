"""How a variable of a space is written: as a range, a list of choices, a table or a short text.

`as_variable` reads every form, wherever variables are given: `kb.MixedBox`, `kb.optimize`,
`kb.Auto`, `kb.Study`, a space file. The short text is that of the command line with the type in
front, "real 1e-5:0.1 log" or "choice DMF, DMSO, water": `low:high`, then `log`, `step 0.1`,
`step none` or `digits 3`; or values separated by commas. Behind them may stand when the variable is
there: `when kernel == 'rbf'`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.domains.variables import KINDS, Category, Number, Ordered, Real, Variable
from kernelbandits.tables.cells import parse_typed

ANY = "none"
"""Written as the step of a range whose values may be any numbers, in a study too."""
TRUTHS = {"true": True, "false": False}
FORMS = (
    "a range of real numbers (20.0, 90.0), a list of choices [16, 32, 64], a text such as "
    "'integer 1:8' or a variable such as kb.Integer(1, 8)"
)
"""How a variable may be written, as an error says it."""


def as_variable(owner: str, name: Any, given: Any) -> Variable:
    """Return a variable from what a user has written for it.

    A tuple with numbers is a range, and needs two of them. If both are whole, the error asks which
    range is meant. A list is a list of choices: numbers keep their order, all else has none.

    >>> as_variable("Auto", "heat", (20.0, 90.0))
    Real(low=20.0, high=90.0)
    >>> as_variable("Auto", "size", [64, 16, 32])
    Ordered(values=(16, 32, 64))
    >>> as_variable("Auto", "acid", ["citric", "acetic"])
    Category(values=('citric', 'acetic'))
    >>> as_variable("Auto", "layers", "integer 1:4")
    Integer(low=1, high=4)
    >>> as_variable("Auto", "layers", (1, 4))
    Traceback (most recent call last):
    ...
    ValueError: Auto needs kb.Integer(1, 4) (whole numbers) or (1.0, 4.0) (real numbers) for \
'layers', got (1, 4)
    """
    if isinstance(given, Variable):
        return given
    if isinstance(given, Mapping):
        return variable_from_dict(name, given)
    if isinstance(given, str):
        return parse_entry(name, given)
    if is_range(given):
        return as_range(owner, name, given)
    listed = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, bytes)
    if isinstance(given, tuple):
        listed = any(value is None or isinstance(value, (str, bool)) for value in given)
    checks.needs(listed, owner, f"{FORMS} for {name!r}", given)
    return as_choices(name, list(given))


def is_range(given: Any) -> bool:
    """Tell whether a value is meant as a range: a tuple with numbers.

    Other packages write (1e-5, 0.1, "log") or ("float", 0, 1); as choices, the objective would get
    their words.
    """
    return isinstance(given, tuple) and any(checks.is_number(value) for value in given)


def is_pair(given: Any) -> bool:
    """Tell whether a value is a pair of numbers."""
    pair = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    return pair and all(checks.is_number(end) for end in given)


def as_range(owner: str, name: Any, given: tuple[Any, ...]) -> Variable:
    """Return the range of a pair; whole ends do not say whether 2.5 is between them."""
    checks.needs(is_pair(given), owner, f"{range_forms(given)} for {name!r}", given)
    low, high = given
    if checks.is_whole(low) and checks.is_whole(high):
        ends = float(low), float(high)
        forms = f"kb.Integer({low}, {high}) (whole numbers) or {ends} (real numbers)"
        raise ValueError(f"{owner} needs {forms} for {name!r}, got ({low}, {high})")
    return build_variable(name, Real, low=low, high=high)


def range_forms(given: tuple[Any, ...]) -> str:
    """Say how a range with these ends is written, if words stand behind two ends."""
    if not is_pair(given[:2]) or all(checks.is_number(value) for value in given):
        return FORMS
    scale = ", log=True" if given[0] > 0 else ""
    return f"a range kb.Real({given[0]}, {given[1]}{scale}) or a list of choices"


def as_choices(name: Any, values: Any) -> Variable:
    """Return the variable of a list of choices: numbers have an order, all else has none."""
    numbers = isinstance(values, list) and all(checks.is_number(value) for value in values)
    if numbers and values:
        return build_variable(name, Ordered, values=sorted(values))
    return build_variable(name, Category, values=values)


def build_variable(name: Any, kind: type[Variable], **settings: Any) -> Variable:
    """Return a variable; an error names it."""
    try:
        return kind(**settings)
    except ValueError as error:
        raise ValueError(f"variable {name!r}: {error}") from None


def variable_from_dict(name: str, described: Any) -> Variable:
    """Return the variable of a plain dictionary, as `Variable.to_dict` writes it.

    >>> variable_from_dict("rate", {"type": "real", "low": 1e-5, "high": 0.1, "log": True})
    Real(low=1e-05, high=0.1, log=True)
    """
    owner = f"variable {name!r}"
    given = isinstance(described, Mapping) and all(isinstance(key, str) for key in described)
    checks.needs(given, owner, "a table such as {type = 'real', low = 0, high = 1}", described)
    if "type" not in described and {"values"} <= set(described) <= {"values", "when"}:
        return replace(as_choices(name, described["values"]), when=described.get("when"))
    settings = dict(described)
    kind = settings.pop("type") if "type" in settings else kind_of_range(owner, settings)
    checks.needs(isinstance(kind, str) and kind in KINDS, owner, f"a type of {list(KINDS)}", kind)
    known = ("low", "high", "log", "step") if issubclass(KINDS[kind], Number) else ("values",)
    known = (*known, "digits", "when") if kind == "real" else (*known, "when")
    for key in settings:
        checks.needs(key in known, owner, f"settings of {list(known)}", key)
    for key in ("low", "high") if "low" in known else ("values",):
        checks.needs(key in settings, owner, f"a setting {key!r}", described)
    if settings.get("step") == ANY:
        del settings["step"]
    return build_variable(name, KINDS[kind], **settings)


def kind_of_range(owner: str, settings: Mapping[str, Any]) -> str:
    """Return the type of a table without one; whole numbers do not say which they are."""
    numbers = [settings.get("low"), settings.get("high"), settings.get("step", 1)]
    numbers = [1 if number == ANY else number for number in numbers]
    whole = all(checks.is_whole(number) for number in numbers)
    needed = "type = 'integer' or type = 'real' for a range with whole ends"
    checks.needs(not whole, owner, needed, dict(settings))
    return "choice" if "values" in settings else "real"


def parse_entry(name: Any, entry: str) -> Variable:
    """Return the variable of a short text with its type in front."""
    kind, _, rest = entry.strip().partition(" ")
    needed = f"one of {list(KINDS)} and the values, as in 'real 0:1'"
    checks.needs(kind in KINDS, f"variable {name!r}", needed, entry)
    return parse_values(name, kind, rest)


def parse_variable(kind: str, text: str) -> tuple[str, Variable]:
    """Return name and variable of a text `name=values`, as the command line takes it.

    >>> from kernelbandits.domains import parse_variable
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
    text, when = split_when(text)
    settings: dict[str, Any] = {"type": kind} | ({} if when is None else {"when": when})
    if not issubclass(KINDS[kind], Number):
        return variable_from_dict(name, settings | {"values": parse_choices(text)})
    owner, words = f"variable {name!r}", text.split()
    needed = (
        "low:high, then 'log', 'step 0.1', 'step none' or, with log, 'digits 3', as in 1e-5:0.1 log"
    )
    if kind == "integer":
        needed = "whole numbers low:high, then 'log' or 'step 2', as in 0:96 step 8"
    read = parse_whole if kind == "integer" else parse_finite
    try:
        low, _, high = words[0].partition(":")
        settings |= {"low": read(low), "high": read(high or low)}
        rest = words[1:]
        while rest:
            word = rest.pop(0)
            if word == "log" and "log" not in settings:
                settings["log"] = True
            elif word == "step" and "step" not in settings:
                step = rest.pop(0)
                settings["step"] = ANY if step == ANY and kind == "real" else read(step)
            elif word == "digits" and kind == "real" and "digits" not in settings:
                settings["digits"] = parse_whole(rest.pop(0))
            else:
                raise ValueError
    except (IndexError, ValueError, OverflowError):
        raise ValueError(f"{owner} needs {needed}, got {text.strip()!r}") from None
    return variable_from_dict(name, settings)


def split_when(text: str) -> tuple[str, str | None]:
    """Return the values in a short text, and the condition behind the word `when`.

    A text that compares nothing is no condition, but part of the values.

    >>> split_when("1e-4:1 log when kernel == 'rbf'")
    ('1e-4:1 log', "kernel == 'rbf'")
    >>> split_when("now, only when wet")
    ('now, only when wet', None)
    """
    found = re.search(r"\swhen\s+(?P<condition>.*(?:[=<>≤≥]|\sin\s).*)$", text)
    return (text, None) if found is None else (text[: found.start()], found["condition"])


def lacks_step(entry: Any) -> bool:
    """Tell whether a range is written, as a text or a table, without a step or digits.

    A study then gives it a step (`steps.with_steps`).

    >>> lacks_step("20:90"), lacks_step("real 20:90 step none"), lacks_step({"low": 0.0, "high": 1})
    (True, False, True)
    """
    if isinstance(entry, str):
        return not {"step", "digits"} & {*split_when(entry)[0].split()}
    return isinstance(entry, Mapping) and not {"step", "digits"} & {*entry}


def parse_finite(text: str) -> float:
    """Return the number that is written in a text."""
    number = parse_typed(text.strip())
    if math.isnan(number):
        raise ValueError
    return number


def parse_integer(text: str) -> int:
    """Return a number that is written without point and exponent."""
    parse_finite(text)
    return int(text)


def parse_whole(text: str) -> int:
    """Return a whole number, also written as 1e3."""
    number = parse_finite(text)
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
        parse_finite,
        lambda item: TRUTHS[item.lower()],
    )
    for read in readers:
        try:
            return [read(item) for item in items]
        except (ValueError, KeyError):
            continue
    return items
