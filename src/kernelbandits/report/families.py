"""The families of the catalogue as a report shows them: whose a policy is, its colour and its marker."""

from __future__ import annotations

from typing import NamedTuple

from kernelbandits.catalogue import FAMILIES, PolicyEntry, policy_entry
from kernelbandits.experiment import Results
from kernelbandits.policies import UniformRandom
from kernelbandits.report.figures.canvas import MARKERS, PALETTE


class Look(NamedTuple):
    colour: str
    marker: str


def family_of(policy: str) -> str:
    """The title of the family a name of the catalogue belongs to."""
    return next(
        title for title, entries in FAMILIES.items() if policy in {entry.name for entry in entries}
    )


def look_of(family: str) -> Look:
    """Colour and marker of a family, by its place in the catalogue; together they differ for a hundred of them."""
    place = list(FAMILIES).index(family)
    return Look(
        PALETTE[place % len(PALETTE)], MARKERS[(place + place // len(PALETTE)) % len(MARKERS)]
    )


def families(results: Results) -> dict[str, str]:
    """label -> title of its family"""
    return {cell.contender.label: family_of(cell.contender.policy) for cell in results.cells}


def played_families(results: Results) -> dict[str, list[PolicyEntry]]:
    """title -> those of its members that played, in the order of the catalogue"""
    played = {cell.contender.policy for cell in results.cells}
    found = {
        title: [entry for entry in members if entry.name in played]
        for title, members in FAMILIES.items()
    }
    return {title: members for title, members in found.items() if members}


def uniform_random(results: Results) -> str | None:
    """The label under which uniform random played, if it did."""
    mine = [
        c.contender
        for c in results.cells
        if policy_entry(c.contender.policy).constructor is UniformRandom
    ]
    return mine[0].label if mine else None
