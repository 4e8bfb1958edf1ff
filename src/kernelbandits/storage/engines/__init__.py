"""The two back ends: how to connect, how to lock, what time it is, what an error means."""

from __future__ import annotations

from kernelbandits.storage.engines.base import Engine
from kernelbandits.storage.engines.postgres import PostgresEngine
from kernelbandits.storage.engines.sqlite import SqliteEngine
from kernelbandits.storage.places import FilePlace, Place

__all__ = ["Engine", "PostgresEngine", "SqliteEngine", "engine_for"]


def engine_for(place: Place, mode: str) -> Engine:
    """mode: "read", "write", or "create"."""
    return (
        SqliteEngine(place.path, mode)
        if isinstance(place, FilePlace)
        else PostgresEngine(place, mode)
    )
