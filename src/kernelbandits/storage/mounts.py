"""Whether a file is on a network file system, where the locks of SQLite are not reliable."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

from kernelbandits.checks import DataNotice

NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "afs",
    "9p",
    "ceph",
    "fuse.sshfs",
    "fuse.glusterfs",
)


def network_mount(path: Path, mounts: str | None = None) -> str | None:
    """Return the network file system of a path, by a table like /proc/mounts; None if local."""
    holders = [
        entry
        for entry in read_entries(read_mounts() if mounts is None else mounts)
        if holds(entry[0], path)
    ]
    kind = max(holders, key=lambda entry: len(entry[0].parts), default=(path, ""))[1]
    return kind if kind in NETWORK else None


def warn_of_network(path: Path, mounts: str | None = None) -> None:
    kind = network_mount(path, mounts)
    if kind is not None:
        told = "locks there are not safe with several writers; use PostgreSQL for that"
        warnings.warn(
            f"{path} is on a network file system ({kind}): {told}", DataNotice, stacklevel=4
        )


def read_entries(mounts: str) -> list[tuple[Path, str]]:
    """Return mount points and kinds; a later entry hides an earlier one of the same mount point."""
    parts = [line.split() for line in mounts.splitlines()]
    return list({Path(unescape(part[1])): part[2] for part in parts if len(part) > 2}.items())


def unescape(text: str) -> str:
    """Replace escapes such as \\040, which stands for a blank."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def holds(point: Path, path: Path) -> bool:
    # Path.resolve raises RuntimeError for links that point to each other; opening the file reports
    # them better.
    return Path(os.path.realpath(path)).is_relative_to(point)


def read_mounts() -> str:
    # What is not known here is only a warning less; opening the study says what is wrong.
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""
