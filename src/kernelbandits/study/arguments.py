"""What a user may give to a study: each argument is declared once, as a value.

The options of the commands (`apps/cli/arguments.py`), the messages of the REST interface
(`apps/web/messages.py`), the fields of the lab page and the table of settings in docs/studies
are read off these values. `settings` declares what a study is created with, `operations` what is
done with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from kernelbandits.checks import LARGEST_REWARD

COMMAND, API, PAGE = "command", "api", "page"
"""Who takes an argument, beside Python: the command line, the REST interface, the lab page."""
SECONDS, TARGET_UNITS = "s", "target"


@dataclass(frozen=True)
class Limits:
    """The least and the greatest number, or length of a text or a list; part of a type."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    """Numbers are greater than this."""


Number = Annotated[float, Limits(-LARGEST_REWARD, LARGEST_REWARD)]
Positive = Annotated[float, Limits(above=0, most=1e9)]
Count = Annotated[int, Limits(1, 1000)]
Trial = Annotated[int, Limits(1, 2**53)]
Row = Annotated[int, Limits(0, 2**31)]
Text = Annotated[str, Limits(1, 200)]
Remark = Annotated[str, Limits(0, 200)]
NamedRow = Row | Text
"""A row of the table: its number, counted from 0, or what it is called: A7, line 5."""
Cell = str | int | float | bool | None
"""A cell of a table, as JSON has it."""


@dataclass(frozen=True)
class Argument:
    """One argument of an operation of a study.

    Parameters
    ----------
    name
        Its name in Python and in the REST interface.
    type
        What Python takes: int, float, str, bool, Path, or a list, a mapping or a choice of these,
        with their `Limits`. A request beyond the limits is refused before the study is opened.
    help
        What it means, in the words of the user.
    default
        What counts if it is not given.
    required
        Whether it must be given.
    unit
        SECONDS, TARGET_UNITS, or "" for a plain number. A command reads seconds as 90s, 2h or 7d.
    option
        How the command line spells it, if that is not --name: "--n -n", "--repeats/--no-repeats",
        or without dashes for a positional argument.
    metavar
        What stands for its value in the help of the command.
    choices
        The texts that it may be, and what the lab page calls them.
    label
        What the lab page calls it, if a form of the page has it.

    Examples
    --------
    >>> Argument("lease", float, "How long a row stays reserved.", unit=SECONDS).description
    'How long a row stays reserved. In seconds.'
    >>> Argument("row", list[Row], "Rows of the table.").limits.least
    0
    """

    name: str
    type: Any
    help: str
    default: Any = None
    required: bool = False
    unit: str = ""
    option: str = ""
    metavar: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def description(self) -> str:
        """What it means, with its unit."""
        units = {SECONDS: " In seconds.", TARGET_UNITS: " In units of the target."}
        return f"{self.help}{units.get(self.unit, '')}"

    @property
    def is_list(self) -> bool:
        return get_origin(split_type(self.type)[0]) is list

    @property
    def forms(self) -> tuple[Any, ...]:
        """The types of which it may be one, without their limits: float, list, dict."""
        bare, _ = split_type(self.type)
        parts = get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)
        return tuple(get_origin(split_type(one)[0]) or split_type(one)[0] for one in parts)

    @property
    def kind(self) -> Any:
        """The type without limits; of a list that of its items."""
        bare, _ = split_type(self.type)
        return split_type(get_args(bare)[0])[0] if self.is_list else bare

    @property
    def names_row(self) -> bool:
        """Whether it means rows, each by its number or by what it is called."""
        return bool(self.kind == NamedRow)

    @property
    def is_repeated(self) -> bool:
        """Whether a command takes it several times: it is a list, or has several parts."""
        return not {*self.forms} <= {int, float, str, bool, Path}

    @property
    def limits(self) -> Limits:
        """Those of the value; of a list those of its items."""
        bare, limits = split_type(self.type)
        return split_type(get_args(bare)[0])[1] if self.is_list else limits


def split_type(annotated: Any) -> tuple[Any, Limits]:
    """Return a type without its limits, and the limits."""
    if get_origin(annotated) is Annotated:
        bare, limits = get_args(annotated)
        return bare, limits
    return annotated, Limits()
