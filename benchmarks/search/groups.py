"""The groups of tables and functions, whose figures are never mixed.

The tables and functions of the groups `development`, `rough` and `many-variables` chose the default
of the package. Those of `held-out` and `many-variables-held-out` chose nothing, so only they say
what to expect of a new table or function. On those of `permuted` nobody can find more than random
rows do.
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
    predictable: bool = True
    """Whether the rows say anything about their values. If not, random rows are the reference."""

    @property
    def title(self) -> str:
        parts = [part for part in ("tables", "functions") if getattr(self, part)]
        return f"{' and '.join(parts).capitalize()} {self.kind}"


HELD_OUT = Group(
    "held-out",
    "that chose nothing",
    """\
These tables and functions are held out: nothing in kernelbandits was chosen on them, but for one
choice among six rules to which the tables were added at last (docs/decisions/0029). Some are relatives of tables of the choice: `reizman_2`, `reizman_3` and
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
ROUGH = Group(
    "rough",
    "of the choice that are rough",
    """\
On these tables neighbouring rows predict little, and random rows find more than most models. The
default of kernelbandits was chosen on them too, so its figures here flatter it.""",
    tables.ROUGH,
    (),
    "search-rough.svg",
)
PERMUTED = Group(
    "permuted",
    "with permuted values",
    """\
The rows of a real table with its values in another order in each seed: rows say nothing about
values. Without noise every contestant that repeats no row then finds on average what random rows
find, and any other ratio is chance. What differs is who repeats rows, and, with noise, who
recommends well.""",
    tables.PERMUTED,
    (),
    "search-permuted.svg",
    predictable=False,
)
MANY_HELD_OUT = Group(
    "many-variables-held-out",
    "of 12 to 30 variables that chose nothing",
    """\
Nothing in kernelbandits was chosen on these functions of many variables. Two of them change with
two or four of their variables only.""",
    (),
    functions.MANY_HELD_OUT,
    "search-many-variables-held-out.svg",
)
MANY_DEVELOPMENT = Group(
    "many-variables",
    "of 10 to 30 variables, of the choice",
    """\
The default of kernelbandits for many variables was chosen on these functions (docs/decisions/0031),
so its figures here flatter it.""",
    (),
    functions.MANY_DEVELOPMENT,
    "search-many-variables.svg",
)
GROUPS = (HELD_OUT, DEVELOPMENT, ROUGH, PERMUTED, MANY_HELD_OUT, MANY_DEVELOPMENT)
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
