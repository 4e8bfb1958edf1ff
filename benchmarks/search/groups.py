"""The two groups of tables and functions, whose figures are never mixed.

The tables and functions of one group chose the default of the package. Those of the other chose
nothing, so only they say what to expect of a new table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.search import functions, tables


@dataclass(frozen=True)
class Group:
    """Tables and functions that are summed up together."""

    name: str
    """As in `--tables`, in search.json and in the titles of a figure."""
    kind: str
    """What its tables and functions are, for headings: "tables that chose nothing"."""
    about: str
    tables: tuple[str, ...]
    functions: tuple[str, ...]
    figure: str
    """The name of its file."""

    @property
    def title(self) -> str:
        return f"Tables and functions {self.kind}"


HELD_OUT = Group(
    "held-out",
    "that chose nothing",
    """\
Nothing in kernelbandits was chosen on these tables and functions: they are held out, and their
figures do not flatter it. Some are relatives of tables of the choice: `reizman_2`, `reizman_3` and
`reizman_4` couple other reactants than `suzuki_i`, `dreher_doyle` other aryl halides than
`buchwald_a`, `photo_wf3` has another polymer than `photo_pce10`, `colors_n9` other dyes than
`colors_bob`. Rows that a table shares with one of the choice are left out.""",
    tables.HELD_OUT,
    functions.HELD_OUT,
    "search.svg",
)
DEVELOPMENT = Group(
    "development",
    "of the choice",
    """\
The default of kernelbandits was chosen on these tables and functions (docs/decisions), so its
figures here flatter it.""",
    tables.DEVELOPMENT,
    functions.DEVELOPMENT,
    "search-development.svg",
)
GROUPS = (HELD_OUT, DEVELOPMENT)
"""The honest figures come first."""


def list_names(words: Iterable[str]) -> tuple[str, ...]:
    """The tables and functions of some words, each a name or the name of a group.

    Examples
    --------
    >>> list_names(["snar", "held-out"])[:3]
    ('snar', 'colors_n9', 'photo_wf3')
    """
    members = {group.name: (*group.tables, *group.functions) for group in GROUPS}
    return tuple(dict.fromkeys(name for word in words for name in members.get(word, (word,))))
