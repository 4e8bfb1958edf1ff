"""One transaction, and the events written in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelbandits.storage import Draft, Event, Turn


@dataclass
class Writer:
    """Writes events; the session applies them only when the transaction has ended."""

    turn: Turn
    written: list[Event] = field(default_factory=list)

    @property
    def now(self) -> float:
        """The time of the database."""
        return self.turn.now

    def append(self, draft: Draft) -> Event:
        [event] = self.turn.append([draft])
        self.written.append(event)
        return event
