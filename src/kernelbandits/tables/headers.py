"""Columns found by what people call them: the header as it stands, or without its unit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from kernelbandits import checks
from kernelbandits.tables.cells import plain

UNIT = re.compile(r"(.*\S)\s*(?:\([^()]*\)|\[[^\[\]]*\]|\s/\s.*)", re.DOTALL)
NAMELESS = "Unnamed: 0"
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
        raise ValueError(f"{owner} needs {what} among {known}, got {wanted!r}")
    return found


def differs_in_case(name: str, wanted: str) -> bool:
    """Tell whether a column was found only because the case of letters was ignored."""
    return plain(str(wanted)) not in (name, bare(name))


def check_distinct(owner: str, names: list[str]) -> list[str]:
    checks.needs(len(set(names)) == len(names), owner, "distinct columns", names)
    return names
