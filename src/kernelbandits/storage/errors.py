"""Errors of the storage. A command ends with exit code 74, or with 1 for a conflict."""

from __future__ import annotations

from kernelbandits.checks import StudyConflict


class StorageError(OSError):
    """The storage cannot do this now."""


class StorageFull(StorageError):
    """No space is left. What was acknowledged is safe; with new space the study works again."""


class StorageBusy(StorageError):
    """Other processes locked the study for too long, or its server does not answer."""


class StorageReadOnly(StorageError):
    """The study can be read but not written."""


class Damaged(StorageError):
    """What is stored is not what was written."""


class OtherVersion(StorageError):
    """The study was written by a newer release."""


class NoStudy(StorageError):
    """There is no study at this place."""


class StudyExists(StudyConflict):
    """There is a study at this place already."""
