"""What can go wrong with a store, each a sentence; whoever runs a command sees exit code 74, or 1 for a refusal."""

from __future__ import annotations

from kernelbandits.checks import StudyConflict


class StorageError(OSError):
    """The store cannot do this now."""


class StorageFull(StorageError):
    """No space is left; what was acknowledged is safe, and the study works again when there is some."""


class StorageBusy(StorageError):
    """Others hold the store, or its server does not answer, for longer than is reasonable."""


class StorageReadOnly(StorageError):
    """The store may be read but not written."""


class Damaged(StorageError):
    """What is stored is not what was written."""


class OtherVersion(StorageError):
    """Written by a newer release."""


class NoStudy(StorageError):
    """There is none at this place."""


class StudyExists(StudyConflict):
    """There is one at this place already."""
