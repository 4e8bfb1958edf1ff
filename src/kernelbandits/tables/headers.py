"""Names of columns: found by what people call them, and the units that belong into them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace

from kernelbandits import checks
from kernelbandits.formatting import format_names
from kernelbandits.tables.cells import ABSENT, parse_number, plain
from kernelbandits.tables.table import Table, came_as_numbers, column_texts, origin

UNIT = re.compile(r"(.*\S)\s*(?:\([^()]*\)|\[[^\[\]]*\]|\s/\s.*)", re.DOTALL)
QUANTITY = re.compile(r"([+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?)(?:\s+|(?=°))([^\W\d_]\S*|°\S*)")
"""A number, and a unit behind a blank; 13C may be a name."""
NAMELESS = "Unnamed: 0"
"""What a first column without a name is called."""
LETTERS = 4
"""Of a name that is looked for within others; shorter ones are found by chance."""
ROW_NUMBERS = frozenset({"id", "index", "row", "nr", "nr.", "no", "no.", "#"})


def bare(name: str) -> str:
    """Return a name without the unit at its end: T (°C), Cs [%], pressure / bar."""
    found = UNIT.fullmatch(name)
    return found[1] if found else name


def unit_of(name: str) -> str:
    """Return the unit at the end of a name, without its brackets; "" if it has none."""
    return name[len(bare(name)) :].strip().strip("()[]/").strip()


def loose(name: str) -> str:
    """Return a name in lower case, with single blanks, for comparison.

    Characters that cannot be seen, such as those that come with text copied from a page, are left
    out.
    """
    text = unicodedata.normalize("NFKC", name)
    visible = text if text.isascii() else "".join(c for c in text if not is_invisible(c))
    return " ".join(visible.casefold().split())


def is_invisible(character: str) -> bool:
    """Tell whether a character only says how others are shown: a joiner, a mark of direction."""
    return unicodedata.category(character) == "Cf"


def loose_bare(name: str) -> str:
    return loose(bare(name))


def numbers_rows(name: str) -> bool:
    return loose(name) in ROW_NUMBERS or is_nameless(name)


def is_nameless(name: str) -> bool:
    """Tell whether the file gives the column no name."""
    return loose(name).startswith("unnamed:")


def resembles(name: str, wanted: str) -> bool:
    """Tell whether one name is a part of the other.

    A name inside the name wanted counts only as whole words, and a short name not at all: a target
    y has nothing to do with a column "Y Offset".
    """
    there, meant = loose(name), loose(plain(str(wanted)))
    return len(meant) >= LETTERS and (
        meant in there or (len(there) >= LETTERS and has_words(meant, there))
    )


def has_words(text: str, words: str) -> bool:
    return bool(words) and bool(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text))


def find(names: Iterable[str], wanted: str) -> str | None:
    """Return the one name that is meant: exactly, without its unit, or in another case."""
    known, name = tuple(names), plain(str(wanted))
    return find_only(
        known, ((str, name), (bare, name), (loose, loose(name)), (loose_bare, loose(name)))
    )


def find_strictly(names: Iterable[str], wanted: str) -> str | None:
    """Return the one name that is meant, as `find` does, but in the same case of letters."""
    name = plain(str(wanted))
    return find_only(tuple(names), ((str, name), (bare, name)))


def find_only(
    names: tuple[str, ...], readings: Iterable[tuple[Callable[[str], str], str]]
) -> str | None:
    """Return the name that fits the first reading that any name fits, if it is the only one."""
    for form, meant in readings:
        found = [name for name in names if form(name) == meant]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def find_column(names: Iterable[str], wanted: str, owner: str, what: str) -> str:
    known = tuple(names)
    found = find(known, wanted)
    if found is None:
        raise ValueError(f"{owner} needs {what} among {format_names(known)}, got {wanted!r}")
    return found


def differs_in_case(name: str, wanted: str) -> bool:
    """Tell whether a column was found only because the case of letters was ignored."""
    return plain(str(wanted)) not in (name, bare(name))


def check_distinct(owner: str, names: list[str]) -> list[str]:
    checks.needs(len(set(names)) == len(names), owner, "distinct columns", names)
    return names


def move_units_to_headers(table: Table) -> Table:
    """Return the table with columns such as `conc` of 10 mM, 20 mM as numbers of `conc (mM)`.

    The unit stays in the name, so a file of results with other units is not taken for the same
    column. A notice says what was done.
    """
    about, titles = origin(table), dict[str, str]()
    for name in table.columns:
        unit = None if name in about.labels else find_unit(table, name)
        title = name if bare(name) != name else f"{name} ({unit})"
        taken = title != name and title in table.columns
        if unit is not None and not taken and unit in title:
            titles[name] = title
            about = replace(
                about,
                notices=(
                    *about.notices,
                    f"column {name!r} has the unit {unit} in every cell and is read as numbers, "
                    f"as column {title!r}",
                ),
            )
    if not titles:
        return table
    positions = {titles.get(name, name): place for name, place in about.positions.items()}
    problems = tuple(
        replace(one, column=titles.get(one.column, one.column)) for one in about.problems
    )
    about = replace(about, positions=positions, problems=problems)
    moved = table.rename(columns=titles)
    for title in titles.values():
        moved[title] = moved[title].str.replace(QUANTITY, r"\1", regex=True)
    moved.attrs["origin"] = about
    return moved


def find_unit(table: Table, name: str) -> str | None:
    """Return the unit that every cell has behind its number; None if there is none."""
    if came_as_numbers(table, name):
        return None
    filled = [cell for cell in column_texts(table, name) if cell not in ABSENT]
    # Most columns of text are told apart by their first cell.
    if not filled or not QUANTITY.fullmatch(filled[0]):
        return None
    units = set()
    for cell in set(filled):
        parts = QUANTITY.fullmatch(cell)
        if parts is None or math.isnan(parse_number(parts[1], origin(table).decimal)):
            return None
        units.add(parts[2])
    return units.pop() if len(units) == 1 else None
