"""The families of the catalogue as a report shows them: members, colour and marker."""

from __future__ import annotations

from typing import NamedTuple

from kernelbandits.canvas import MARKERS, PALETTE
from kernelbandits.catalogue import FAMILIES, PolicyEntry, UserPolicy
from kernelbandits.experiment import Results
from kernelbandits.policies import UniformRandom


class FamilyStyle(NamedTuple):
    colour: str
    marker: str


OWN = "policies of your own"
"""The family of those that are not in the catalogue."""


def family_of(policy: str) -> str:
    """Return the title of the family that the name of a policy belongs to."""
    families = (title for title, members in FAMILIES.items() if policy in {m.name for m in members})
    return next(families, OWN)


def look_of(family: str) -> FamilyStyle:
    """Return colour and marker of a family by its place in the catalogue; 100 are distinct."""
    place = [*FAMILIES, OWN].index(family)
    return FamilyStyle(
        PALETTE[place % len(PALETTE)], MARKERS[(place + place // len(PALETTE)) % len(MARKERS)]
    )


def families(results: Results) -> dict[str, str]:
    """Return label -> title of its family."""
    return {cell.contender.label: family_of(cell.contender.entry.name) for cell in results.cells}


def played_families(results: Results) -> dict[str, list[PolicyEntry | UserPolicy]]:
    """Return title -> its members that played, in the catalogue's order, the user's own last."""
    played = {cell.contender.entry.name: cell.contender.entry for cell in results.cells}
    found: dict[str, list[PolicyEntry | UserPolicy]] = {
        title: [entry for entry in members if entry.name in played]
        for title, members in FAMILIES.items()
    }
    found[OWN] = [entry for entry in played.values() if isinstance(entry, UserPolicy)]
    return {title: members for title, members in found.items() if members}


def uniform_random(results: Results) -> str | None:
    """Return the label under which uniform random played, if it did."""
    labels = (
        cell.contender.label
        for cell in results.cells
        if cell.contender.entry.constructor is UniformRandom
    )
    return next(labels, None)
