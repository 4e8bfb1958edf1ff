"""The events of a study in SQLite or PostgreSQL. This layer knows rows, not policies."""

from __future__ import annotations

from kernelbandits.storage.errors import (
    Damaged,
    NoStudy,
    OtherVersion,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StudyExists,
)
from kernelbandits.storage.event import KINDS, Draft, Event
from kernelbandits.storage.health import Finding
from kernelbandits.storage.log import Listed, Log, Reading, Turn, studies
from kernelbandits.storage.salvage import Salvaged, salvage

__all__ = [
    "KINDS",
    "Damaged",
    "Draft",
    "Event",
    "Finding",
    "Listed",
    "Log",
    "NoStudy",
    "OtherVersion",
    "Reading",
    "Salvaged",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StudyExists",
    "Turn",
    "salvage",
    "studies",
]
