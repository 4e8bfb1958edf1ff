"""What may stand in a cell: numbers in one canonical form, text, yes and no."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelbandits import censored, checks
from kernelbandits.censored import ABOVE, BELOW, NOT_DETECTED, Censored
from kernelbandits.checks import Array

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
YES = frozenset({"yes", "y", "true", "1", "x", "ja", "j", "wahr"})
NO = frozenset({"no", "n", "false", "0", "", "nein", "falsch"})
ERRORS = frozenset({"#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"})
"""What a spreadsheet writes in place of a value that it could not compute."""
ABSENT = ERRORS | {"", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "<NA>"}
"""A missing value among text, where Na is sodium and none may be a choice like any other."""
MISSING = frozenset({word.casefold() for word in ABSENT} | {"none"})
"""A missing value among numbers, in any case of letters."""
UNDETECTED = frozenset(
    {"n.d.", "n.d", "nd", "notdetected", "n.n.", "bdl", "<lod", "<loq", "<dl", "lod", "loq"}
)
"""A result below the detection limit, without the limit; in any case of letters, without blanks."""
SIDES = {"<": BELOW, "≤": BELOW, ">": ABOVE, "≥": ABOVE}
"""How a result begins that is a limit."""
FORMULA = r"[=+\-@\t\r\n\0]"
"""How text begins that a spreadsheet may run."""
GUARDED = re.compile(f"'+{FORMULA}")
"""Text that an export protected from being taken for a formula, by an apostrophe."""
DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\ufe58\ufe63\uff0d"), "-")
BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u2060\u200b\ufeff"), " ")
CURRENCY = r"(?:[$€£¥₹¢]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR)\b)"
DIGITS = r"(?:\d+(?:[.,]\d*)?|[.,]\d+|\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?)"
EXPONENT = r"(?:[eE][+-]?\d+|\s*[x×*·]\s*10\s*\^?\s*[+-]?\d+)?"
NUMBERLIKE = re.compile(
    rf"['’`]?(?P<bound>(?:[<>≤≥~≈±]|<=|>=)\s*)?(?P<open>\(\s*)?(?P<sign>[+-]\s*)?"
    rf"(?P<before>{CURRENCY}\s*)?(?P<minus>-\s*)?(?P<digits>{DIGITS}{EXPONENT})"
    rf"(?P<after>\s*(?:[%‰*†]|{CURRENCY}|-))?(?(open)\s*\))(?P<error>\s*(?:±|\+/-)\s*{DIGITS})?"
)
"""What people write for a number and other programs do not read as one."""
WHOLE = re.compile(r"0*([0-9]+)(?:[.,]0{1,2})?")
LARGEST_EXACT = 1e15
LARGEST_INTEGER = 10**300


def plain(cell: str) -> str:
    """Return the text of a cell, composed (NFC), without blanks around it."""
    return cell.strip() if cell.isascii() else unicodedata.normalize("NFC", cell).strip()


def remove_guard(cell: str) -> str:
    return cell[1:] if GUARDED.match(cell) else cell


def is_number(text: str) -> bool:
    """Tell whether a text is a number with a decimal point, however large."""
    return NUMBER.fullmatch(text) is not None


def parse_number(text: str, decimal: str = ".") -> float:
    """Return the finite number that is written in a text, nan if there is none.

    Everything that reads numbers from text does it here, so 1_000, inf and digits of other scripts,
    which Python takes for numbers, are none anywhere.

    >>> parse_number("1e3"), parse_number("1,5", ","), parse_number("1_000")
    (1000.0, 1.5, nan)
    """
    if decimal == ",":
        text = text.translate({ord(","): ".", ord("."): ","})
    value = float(text) if is_number(text) else math.nan
    return value if math.isfinite(value) else math.nan


def parse_typed(text: str) -> float:
    """Return the finite number that somebody typed, with a decimal point or comma, else nan.

    1,234 may be 1234 or 1.234, and is none.

    >>> parse_typed("0.83"), parse_typed("0,83"), parse_typed("1,234")
    (0.83, 0.83, nan)
    """
    if COMMA_NUMBER.fullmatch(text) and len(rewrite_number(text)[0]) == 1:
        text = text.replace(",", ".")
    return parse_number(text)


def parse_result(text: str, decimal: str | None = None) -> float:
    """Return a result as it is written: a number, <0.5, >99 or n.d.; nan if it is none of these.

    Without the decimal mark of a file, a point or a comma is read, as `parse_typed` does.

    >>> parse_result("0.83"), parse_result("< 0,5"), parse_result("≥99"), parse_result("low")
    (0.83, <0.5, >99, nan)
    """

    def read(number: str) -> float:
        return parse_typed(number) if decimal is None else parse_number(number, decimal)

    if text.casefold().replace(" ", "") in UNDETECTED:
        return NOT_DETECTED
    side = SIDES.get(text[:1])
    if side is None:
        return read(text)
    limit = read(text[1:].removeprefix("=").strip())
    return limit if math.isnan(limit) else Censored(limit, side)


def parse_numbers(cells: Sequence[str], decimal: str = ".") -> Array:
    """Return the number in each cell, nan where there is none."""
    # Of these characters alone, Python reads as a number exactly what NUMBER describes.
    if re.fullmatch(rf"[0-9eE+\-{decimal}]*", "".join(cells)):
        texts = cells if decimal == "." else [cell.replace(",", ".") for cell in cells]
        try:
            values = np.array(list(map(float, texts)), dtype=np.float64)
        except ValueError:
            pass
        else:
            return np.where(np.isfinite(values), values, np.nan)
    known = {cell: parse_number(cell, decimal) for cell in set(cells)}
    return np.array([known[cell] for cell in cells], dtype=np.float64)


def canonical(value: float) -> str:
    """Return the shortest text of a number; whole numbers have no point, and -0.0 is 0."""
    return (
        str(int(value))
        if abs(value) < LARGEST_EXACT and value == int(value)
        else repr(float(value))
    )


def canonical_texts(values: Array) -> list[str]:
    """Return the canonical text of each of many finite numbers."""
    whole = (np.abs(values) < LARGEST_EXACT) & (values == np.trunc(values))
    if whole.all():
        return list(map(str, values.astype(np.int64).tolist()))
    texts = list(map(repr, values.tolist()))
    for i in np.flatnonzero(whole).tolist():
        texts[i] = str(int(values[i]))
    return texts


def text_of(value: Any) -> str:
    """Return any value as the text of a cell; None is a blank."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value)) if abs(int(value)) < LARGEST_INTEGER else "inf"
    if isinstance(value, Censored):
        side, limit = value.side, float(value)
        return censored.UNDETECTED if value == NOT_DETECTED else f"{side}{canonical(limit)}"
    if isinstance(value, Real):
        return canonical(checks.as_float(value)) if checks.is_number(value) else str(float(value))
    refused = (
        bytes,
        bytearray,
        complex,
        np.complexfloating,
        np.ndarray,
        list,
        tuple,
        dict,
        set,
        frozenset,
    )
    if isinstance(value, refused):
        raise ValueError(f"a cell needs a number or text, got {type(value).__name__}")
    return check_storable(plain(str(value)))


def check_storable(text: str) -> str:
    """Return the text if every store and every file can hold it; refuse it otherwise."""
    checks.needs(
        "\0" not in text and not re.search("[\ud800-\udfff]", text),
        "a cell",
        "text without NUL",
        text,
    )
    return text


def looks_numeric(cell: str) -> bool:
    """Tell whether a number may be meant, as by 1_000, 0x10, inf, 1,5, $5, (5), −5 or 12 %."""
    if read_numberlike(cell) is not None:
        return True
    for read in (float, lambda text: int(text, 0)):
        try:
            read(cell)
        except ValueError:
            continue
        return True
    return False


def read_numberlike(cell: str) -> re.Match[str] | None:
    """Return the parts of what looks like a number, in any digits, with any dash and any blank.

    Raised digits are no digits of the number: 10² is not 102.
    """
    if any(unicodedata.decomposition(letter).startswith("<super>") for letter in cell):
        return None
    text = unicodedata.normalize("NFKC", cell.translate(DASHES).translate(BLANKS))
    text = "".join(str(unicodedata.decimal(letter, letter)) for letter in text)
    return NUMBERLIKE.fullmatch(text.translate(DASHES).strip())


def suggest_number(cell: str, decimal: str = ".") -> str:
    """Say how to write a cell that looks like a number; "" if its number is not clear.

    >>> suggest_number("1.234,56"), suggest_number("1,234"), suggest_number("$5")
    ('write 1234.56', 'write 1234 or 1.234', 'write 5 and put $ in the header')
    >>> suggest_number("10²")
    ''
    """
    numbers, unit = rewrite_number(cell, decimal)
    put = f" and put {unit} in the header" if unit else ""
    return f"write {' or '.join(numbers)}{put}" if numbers else ""


def suggest_typed(text: str) -> str:
    """Say how to type what looks like a number; "" if its number is not clear.

    >>> suggest_typed("1,234"), suggest_typed("45 %"), suggest_typed("5 $")
    ('write 1234 or 1.234', 'write 45, or 0.45 if 1 is 100 %', 'write 5 without $')
    """
    numbers, unit = rewrite_number(text)
    if not numbers:
        return ""
    written = f"write {' or '.join(numbers)}"
    if unit == "%" and len(numbers) == 1:
        return f"{written}, or {float(numbers[0]) / 100:.12g} if 1 is 100 %"
    return f"{written} without {unit}" if unit else written


def rewrite_number(cell: str, decimal: str = ".") -> tuple[list[str], str]:
    """Return the numbers that a cell may mean, in the form that is read, and the unit beside them.

    No numbers if it is read as it stands, or if that cannot be known.
    """
    found = read_numberlike(cell)
    if found is None or found["bound"] or found["error"]:
        return [], ""
    beside = [part.strip() for part in (found["before"], found["after"]) if part and part.strip()]
    signs = (found["sign"] or "") + (found["minus"] or "")
    negative = bool(found["open"]) or "-" in signs or "-" in beside
    digits = re.sub(r"\s*[x×*·]\s*10\s*\^?\s*", "e", found["digits"])
    digits = re.sub(r"(?<=\d)[' ’](?=\d{3})", "", digits)
    numbers = [("-" if negative else "") + one for one in read_marks(digits, decimal)]
    if not all(map(is_number, numbers)):
        return [], ""
    written = [number.replace(".", decimal) for number in numbers]
    units = [part for part in beside if part not in ("-", "*", "†")]
    return ([] if cell in written else written), (units[0] if units else "")


def read_marks(digits: str, decimal: str) -> list[str]:
    """Return the numbers that points and commas between digits may mean, written with a point.

    >>> read_marks("1.234,56", "."), read_marks("1.234.567", "."), read_marks("1,234", ".")
    (['1234.56'], ['1234567'], ['1234', '1.234'])
    """
    marks = [letter for letter in digits if letter in ".,"]
    last = marks[-1] if marks else ""
    if len(marks) > 1:
        # The last mark is the decimal one, unless it is the same as those before it.
        whole, _, rest = digits.rpartition(last)
        whole = whole.replace(".", "").replace(",", "")
        return [whole + ("" if last in marks[:-1] else ".") + rest]
    decimals = digits.replace(",", ".")
    if last and last != decimal and re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits):
        return [digits.replace(last, ""), decimals]
    return [decimals]


def whole(cell: str) -> str:
    """Return a whole number without extra zeros: 033 and 33.0 are 33. Other text is kept."""
    found = WHOLE.fullmatch(cell)
    return found[1] if found else cell


def truth(cell: str) -> bool | None:
    """Tell whether a cell says yes (True) or no (False); None if it says neither."""
    number = parse_number(cell)
    word = cell.casefold() if math.isnan(number) else canonical(number)
    return True if word in YES else False if word in NO else None
