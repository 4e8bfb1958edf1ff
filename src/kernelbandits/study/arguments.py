"""What a user may give to a study: each argument is declared once, as a value.

The options of the commands (`apps/cli/arguments.py`), the messages of the REST interface
(`apps/web/messages.py`), the fields of the lab page and the table of settings in docs/studies.md
are read off these values. `settings` declares what a study is created with, `operations` what is
done with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelbandits.checks import LARGEST_REWARD

COMMAND, API, PAGE = "command", "api", "page"
"""Who takes an argument, beside Python: the command line, the REST interface, the lab page."""
SECONDS = "s"
TARGET_UNITS = "target"
NUMBER: dict[str, Any] = {"least": -LARGEST_REWARD, "most": LARGEST_REWARD}
TRIAL: dict[str, Any] = {"least": 1, "most": 2**53}
ROW: dict[str, Any] = {"least": 0, "most": 2**31}
TEXT: dict[str, Any] = {"longest": 200}
REMARK: dict[str, Any] = {"shortest": 0, "longest": 200}
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
        What Python takes: int, float, str, bool, Path, or a list, a mapping or a choice of these.
    help
        What it means, in the words of the user.
    default
        What counts if it is not given.
    least, above, most
        Limits of each number in it. A request beyond them is refused before the study is opened.
    shortest, longest
        Limits of the length of each text in it; none without `longest`.
    items
        The least and the greatest length of a list.
    choices
        The texts that it may be, and what the lab page calls them.
    unit
        SECONDS, TARGET_UNITS, or "" for a plain number. A command reads seconds as 90s, 2h or 7d.
    option
        How the command line spells it, if that is not --name: "--value", "--repeats/--no-repeats",
        or without dashes for a positional argument.
    metavar
        What stands for its value in the help of the command.
    takers
        Who takes it, beside Python.
    required
        Those of the takers to whom it must be given.

    Examples
    --------
    >>> Argument("lease", float, "How long a row stays reserved.", unit=SECONDS).description
    'How long a row stays reserved. In seconds.'
    """

    name: str
    type: Any
    help: str
    default: Any = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    shortest: int = 1
    longest: int | None = None
    items: tuple[int, int | None] | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    option: str = ""
    metavar: str = ""
    takers: tuple[str, ...] = (COMMAND, API)
    required: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What it means, with its unit."""
        units = {SECONDS: " In seconds.", TARGET_UNITS: " In units of the target."}
        return f"{self.help}{units.get(self.unit, '')}"


def taken_by(taker: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return those of some arguments that a taker has: COMMAND, API or PAGE."""
    return tuple(one for one in arguments if taker in one.takers)
