"""The events of a study in SQLite or PostgreSQL. This layer knows rows, not policies."""

from __future__ import annotations

from kernelbandits.checks import StorageError, StorageFull, StorageReadOnly
from kernelbandits.storage.backup import Salvaged, check_health, salvage, write_backup
from kernelbandits.storage.database import (
    Damaged,
    Finding,
    NoStudy,
    OtherVersion,
    StorageBusy,
    StudyExists,
)
from kernelbandits.storage.event import KINDS, Draft, Event
from kernelbandits.storage.log import Listed, Log, Reading, Turn, studies

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
    "check_health",
    "salvage",
    "studies",
    "write_backup",
]
