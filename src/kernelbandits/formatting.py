"""How values are written for people: numbers, intervals, shares, times, addresses.

Every page, table and sentence of the package uses these functions, so that a number looks the same
wherever it is shown. What cannot be known, such as the interval of a single run, is written "–".
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Context
from typing import Any
from urllib.parse import unquote

import numpy as np

from kernelbandits.censored import Censored

UNKNOWN = "–"
HALF_INTERVAL = 1.959963984540054
"""Half of the 95 % interval of a normal law, in standard deviations."""
TIME_UNITS = {"day": 86400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
MOST_DECIMALS = 15
"""Decimals that a float of size 1 has."""
GAP = "\u00a0"
"""Stands between groups of three digits: a space at which no line is broken."""
FEWEST_GROUPED = 5
"""Digits before the point from which on they are grouped."""
NUMERAL = re.compile(r"(?P<sign>-?)(?P<whole>[0-9]+)(?P<rest>(?:\.[0-9]+)?)")
LARGEST_GROUPED = 1e12
"""From here on an exponent is easier to read than groups of three digits."""

ALIKE = 0.65
"""How alike two names must be, from 0 to 1, for one to be proposed for the other.

At difflib's own 0.6 the option --range would be taken for --ridge: no proposal is better.
"""


def format_number(value: Any, digits: int = 4, *, thousands: bool = True) -> str:
    """Write a number with `digits` significant digits; text stays as it is.

    A number with more digits before the point is rounded to a whole number, whose thousands stand
    apart (`group_thousands`). With `thousands=False` they do not, and a large number has an
    exponent, as in values to be typed again.

    >>> format_number(0.123456), format_number(1234.5678), format_number(1234567.8)
    ('0.1235', '1235', '1\xa0234\xa0568')
    >>> format_number(1234567.8, digits=6, thousands=False), format_number(None)
    ('1.23457e+06', '–')
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return str(value)
    number = float(value)
    if isinstance(value, Censored) and not math.isfinite(number):
        return str(value)
    if isinstance(value, Censored):
        return f"{value.side}{format_number(number, digits, thousands=thousands)}"
    if not math.isfinite(number):
        return UNKNOWN if math.isnan(number) else f"{'-' if number < 0 else ''}∞"
    if not thousands:
        return f"{number:.{digits}g}"
    whole = 10**digits <= abs(float(f"{number:.{digits}g}")) < LARGEST_GROUPED
    return group_thousands(f"{number:.0f}" if whole else f"{number:.{digits}g}")


def group_thousands(text: str) -> str:
    """Write a number of five digits or more before the point in groups of three: 76 000.

    Between them are spaces at which no line is broken. Other text stays.

    >>> group_thousands("76000.5"), group_thousands("7600"), group_thousands("1e+15")
    ('76\xa0000.5', '7600', '1e+15')
    """
    found = NUMERAL.fullmatch(text)
    if found is None or len(found["whole"]) < FEWEST_GROUPED:
        return text
    return f"{found['sign']}{int(found['whole']):,}{found['rest']}".replace(",", GAP)


def format_rounded(value: float, digits: int, rounding: str) -> str:
    """Write a number with so many digits, rounded as `decimal` names it, such as ROUND_FLOOR.

    A limit stays true only if it is rounded to its safe side.

    >>> from decimal import ROUND_CEILING, ROUND_FLOOR
    >>> format_rounded(0.38791, 3, ROUND_FLOOR), format_rounded(0.38791, 2, ROUND_CEILING)
    ('0.387', '0.39')
    """
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal_from_float(value)):g}"


def format_estimate(value: float, sd: float) -> str:
    """Write an estimate with four digits, and more where its standard deviation needs them.

    >>> format_estimate(0.83124, 0.05), format_estimate(1013250.61, 0.22)
    ('0.8312', '1\xa0013\xa0250.6')
    """
    digits = 4
    if value and sd > 0 and math.isfinite(value) and math.isfinite(sd):
        digits = min(15, max(digits, math.ceil(math.log10(abs(value) / sd)) + 1))
    return group_thousands(f"{value:.{digits}g}")


def format_near(value: float, uncertainty: float, digits: int = 6) -> str:
    """Write a number that is known to within `uncertainty`, with two digits of the uncertainty.

    >>> format_near(0.8312, 0.05), format_near(12345.6, 100)
    ('0.831', '12346')
    """
    if not (math.isfinite(value) and math.isfinite(uncertainty)) or uncertainty <= 0:
        return format_number(value, digits, thousands=False)
    decimals = max(0, 1 - math.floor(math.log10(uncertainty)))
    if abs(value) >= 10**MOST_DECIMALS or decimals > MOST_DECIMALS:
        return format_number(value, digits, thousands=False)
    return format_fixed(value, decimals)


def format_fixed(value: float, decimals: int) -> str:
    """Write a number with that many decimals, never as "-0.0".

    >>> format_fixed(2.0, 1), format_fixed(-0.001, 2), format_fixed(float("inf"), 1)
    ('2.0', '0.00', '–')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}" if math.isfinite(value) else UNKNOWN


def format_bounds(low: float, high: float, decimals: int = 1) -> str:
    """Write the two ends of an interval, or "–" where it has none.

    >>> format_bounds(0.25, 1.5), format_bounds(0.0, float("inf"))
    ('[0.2, 1.5]', '–')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    return f"[{format_fixed(low, decimals)}, {format_fixed(high, decimals)}]"


def format_interval(
    value: float, low: float, high: float, decimals: int | None = None, label: str = ""
) -> str:
    """Write an estimate with its interval, by default with two digits of the half width.

    `decimals` fixes the number of decimals, for columns of a table. `label` stands between the
    estimate and its interval.

    >>> format_interval(331.25, 300.0, 340.1), format_interval(0.5312, 0.49, 0.57, decimals=2)
    ('331 [300, 340]', '0.53 [0.49, 0.57]')
    >>> format_interval(0.5, 0.45, 0.55, label=", 95 % interval"), format_interval(3, 0, math.inf)
    ('0.500, 95 % interval [0.450, 0.550]', '3 –')
    """
    if not math.isfinite(value):
        return UNKNOWN
    half = (high - low) / 2
    if decimals is not None:
        return f"{format_fixed(value, decimals)}{label} {format_bounds(low, high, decimals)}"
    if not math.isfinite(half):
        return f"{format_number(value)}{label} {UNKNOWN}"
    mean, *ends = (group_thousands(format_near(one, half)) for one in (value, low, high))
    return f"{mean}{label} [{ends[0]}, {ends[1]}]"


def column_decimals(values: Sequence[float]) -> int:
    """Return the number of decimals that shows three digits of the largest value, at least one.

    >>> column_decimals([289.0, 3.0]), column_decimals([0.58])
    (1, 3)
    """
    largest = max(values)
    return max(1, 2 - math.floor(math.log10(largest))) if largest > 0 else 1


def format_share(share: float | None) -> str:
    """Write a share or a probability in percent; a probability is never rounded to certainty.

    >>> format_share(0.61), format_share(0.005), format_share(0.995), format_share(None)
    ('61 %', '< 1 %', '> 99 %', '–')
    """
    if share is None:
        return "–"
    if share <= 0.005:
        return "< 1 %"
    return "> 99 %" if share >= 0.995 else f"{100 * share:.0f} %"


def format_point(x: Any) -> str:
    """Write a point in few digits, with the names of its variables if it has any.

    >>> format_point({"heat": 1 / 3, "acid": "b"}), format_point((1 / 3, 2.0))
    ('heat = 0.3333, acid = b', '(0.3333, 2)')
    """
    if isinstance(x, dict):
        return ", ".join(f"{name} = {format_cell(value, 4)}" for name, value in x.items())
    return "(" + ", ".join(format_cell(value, 4) for value in x) + ")"


def name_coordinates(x: Any) -> list[tuple[str, Any]]:
    """Return the coordinates of a point with their names; without names they are x1, x2, ...

    >>> name_coordinates((1 / 3, 2.0))
    [('x1', '0.3333'), ('x2', '2')]
    """
    if isinstance(x, dict):
        return list(x.items())
    return [(f"x{j}", format_cell(value, 4)) for j, value in enumerate(x, 1)]


def format_cell(value: Any, digits: int = 6) -> str:
    """Write the value of a candidate in a column: a number in six digits, text as it is.

    A point that is told back is recognised by these digits.

    >>> format_cell(1 / 3), format_cell(12), format_cell("DMF"), format_cell(1 / 3, 4)
    ('0.333333', '12', 'DMF', '0.3333')
    """
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)


def format_ranks(first: int, last: int) -> str:
    """Write a range of ranks: "3", or "2–5"."""
    return f"{first}–{last}" if first < last else f"{first}"


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Write a number of things.

    >>> format_count(1, "result"), format_count(3, "policy", "policies")
    ('1 result', '3 policies')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def format_names(names: Iterable[Any]) -> str:
    """Write names as a sentence lists them.

    >>> format_names(("Cs", "solvent"))
    'Cs, solvent'
    """
    return ", ".join(map(str, names))


def join_reasons(reasons: Sequence[str]) -> str:
    """Write two reasons with "and" between them, and more as a numbered list.

    >>> join_reasons(["the noise is fitted", "rows are left out"])
    'the noise is fitted and rows are left out'
    >>> join_reasons(["it is hot", "it is wet", "it is late"])
    '(1) it is hot; (2) it is wet; (3) it is late'
    """
    if len(reasons) < 3:
        return " and ".join(reasons)
    return "; ".join(f"({i}) {reason}" for i, reason in enumerate(reasons, 1))


def format_times(count: int) -> str:
    """Write how often: never, once, twice, 3 times."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def format_duration(seconds: float) -> str:
    """Write a duration in the largest unit of which it has at least two, or exactly one.

    >>> format_duration(90), format_duration(7200), format_duration(86400)
    ('90 seconds', '2 hours', '1 day')
    """
    whole = max(round(seconds), 0)
    for unit, size in TIME_UNITS.items():
        if whole >= 2 * size or whole == size:
            return format_count(round(whole / size), unit)
    return format_count(whole, "second")


def format_age(seconds: float) -> str:
    """Write how long ago something was."""
    return "just now" if seconds < 1 else f"{format_duration(seconds)} ago"


def format_time(at: float, utc: bool = False) -> str:
    """Write seconds since 1970 as date and time: here in the time zone of this machine.

    What is read elsewhere, a page or a report, has its times in UTC, and says so.

    >>> format_time(0.0, utc=True), format_time(math.nan)
    ('1970-01-01 00:00:00 UTC', '–')
    """
    if math.isnan(at):
        return UNKNOWN
    try:
        moment = datetime.fromtimestamp(at, UTC) if utc else datetime.fromtimestamp(at)
    except (OverflowError, ValueError, OSError):
        return f"{at:g} s"
    return f"{moment:%Y-%m-%d %H:%M:%S}{' UTC' if utc else ''}"


def mask_password(text: str) -> str:
    """Replace the passwords of all database addresses in a text by ***, wherever they stand.

    An address may be malformed: an @ inside a password does not end it. Of its options only those
    are shown that say where a study is, because any other may hold a password by mistake.

    >>> mask_password("cannot open postgresql://ann:secret@lab/db?connect_timeout=secret")
    'cannot open postgresql://ann:***@lab/db?***'
    """
    secrets: list[str] = []

    def hide(match: re.Match[str]) -> str:
        whole = match["secret"].strip("'\"")
        # The last colon begins the password, and an unescaped / or @ may follow a part of it.
        last = whole.rpartition(":")[2]
        secrets.extend((whole, whole.partition("@")[0], re.split("[/@]", last)[0]))
        return f"{match['before']}***{'@' if match['after'] else ''}"

    for form in PASSWORDS:
        text = form.sub(hide, text)
    text = OPTIONS.sub(r"\1?***", text)
    for secret in sorted({form for one in secrets for form in (one, unquote(one))}, key=len):
        # Shorter ones would hide half of the text.
        text = text.replace(secret, "***") if len(secret) > 2 else text
    return text


PASSWORDS = (
    re.compile(
        r"(?i)(?P<before>(?:://|\b)[^\s:/@]*(?::|%3a))(?!//)(?P<secret>\S*)(?P<after>@|%40)"
    ),
    re.compile(
        r"(?i)(?P<before>(?:pass\w*|\bpwd)\s*=\s*)"
        r"(?P<secret>'[^']*'?|\"[^\"]*\"?|[^\s&'\"]*)(?P<after>)"
    ),
)
"""user:password@ in an address, and password=... in an option."""
PLACE_OPTIONS = r"(?:(?:(?:study|host|hostaddr)=[\w./%-]*|port=\d+)&?)+(?![^\s;,:'\"`)\]])"
OPTIONS = re.compile(rf"(?i)((?:://|\bpostgres\w*:|\*\*\*@)[^\s?#]*)(?:#|\?(?!{PLACE_OPTIONS}))\S+")
"""The options of an address, unless they only say where a study is."""


def did_you_mean(name: Any, known: Iterable[str], quote: str = "'") -> str:
    """Return " Did you mean 'simple-ucb'?" for the known name most like this one, else "".

    Case, hyphens and underscores do not count, so that SimpleUCB and simple_ucb find simple-ucb.

    Examples
    --------
    >>> did_you_mean("simple-ucd", ["simple-ucb", "gp-ts"])
    " Did you mean 'simple-ucb'?"
    >>> did_you_mean("frobnicate", ["simple-ucb", "gp-ts"])
    ''
    """
    letters = {simplify(text): text for text in known}
    close = difflib.get_close_matches(simplify(str(name)), letters, n=1, cutoff=ALIKE)
    return f" Did you mean {quote}{letters[close[0]]}{quote}?" if close else ""


def simplify(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
