"""Studies of candidates that are known by their similarity: a Gram matrix, or a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.study.candidates import NAME, Candidates, name_candidates
from kernelbandits.tables.cells import text_of


def find_similarity(given: Any) -> Candidates | None:
    """Return the candidates of `kb.Arms.from_gram` for a study; None for what is no `Arms`."""
    if not isinstance(given, Arms):
        return None
    needed = "kb.Arms.from_gram(matrix), or a table or arms.points for other arms"
    checks.needs(given.features, "Study", needed, given)
    return name_arms(given)


def name_arms(arms: Arms) -> Candidates:
    """Return arms of a Gram matrix as candidates, named by their values or their numbers."""
    return name_candidates(arms.points, [text_of(one) for one in arms.values or range(len(arms))])


def refuse_table_options(options: Mapping[str, Any], targets: Iterable[str]) -> None:
    """Refuse what belongs to the columns of a table."""
    for name, given in options.items():
        needed = f"no {name} with a Gram matrix or a graph, which has no columns"
        checks.needs(given is None, "Study", needed, given)
    for one in targets:
        needed = f"a target that is not called {NAME!r}, as the names of the candidates are"
        checks.needs(one != NAME, "Study", needed, one)
