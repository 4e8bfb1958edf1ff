"""Errors of the storage. A command ends with exit code 74, or with 1 for a conflict."""

from __future__ import annotations

from kernelbandits.checks import StorageError, StorageFull, StorageReadOnly, StudyConflict

__all__ = [
    "Damaged",
    "NoStudy",
    "OtherVersion",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StudyExists",
]


class StorageBusy(StorageError):
    """Other processes locked the study for too long, or its server does not answer."""


class Damaged(StorageError):
    """What is stored is not what was written."""


class OtherVersion(StorageError):
    """The study was written by a newer or an older release."""


class NoStudy(StorageError):
    """There is no study at this place."""


class StudyExists(StudyConflict):
    """There is a study at this place already."""
