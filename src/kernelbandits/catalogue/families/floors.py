"""What any policy should beat."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

ENTRIES = (
    PolicyEntry(
        "greedy", "Greedy", rules.Greedy, "floor", "none", "a floor: always the greatest estimate"
    ),
    PolicyEntry(
        "random", "Uniform random", rules.UniformRandom, "floor", "none", "a floor: every arm alike"
    ),
)
