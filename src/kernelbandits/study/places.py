"""Where a study measures: a table of candidates, or the points of a space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelbandits.storage import Event, Log
from kernelbandits.tables.candidates import Candidates, stored_candidates

if TYPE_CHECKING:
    from kernelbandits.study.points import Points

    Place = Candidates | Points


def stored_place(log: Log, created: Event) -> Place:
    """The place of a stored study, by its first event."""
    if "space" not in created.body:
        return stored_candidates(log.columns(), created.body["candidates"])
    # Imported here, because tables need no domains.
    from kernelbandits.domains import MixedBox
    from kernelbandits.study.points import Points

    return Points(MixedBox.from_dict(created.body["space"]))
