"""Whether a file is on a network file system, where the locks of SQLite are not reliable."""

from __future__ import annotations

import os
import re
import warnings
from contextlib import suppress
from pathlib import Path

from kernelbandits.checks import DataNotice

NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph"}
NETWORK |= {"fuse.sshfs", "fuse.glusterfs"}
MOUNTS = Path("/proc/mounts")


def network_mount(path: Path) -> str | None:
    """Return the network file system of a path, by the table of mounts; None if it is local."""
    real, depth, holder, table = Path(os.path.realpath(path)), 0, "", ""
    # What is not known here is only a warning less; opening the study says what is wrong.
    with suppress(OSError):
        table = MOUNTS.read_text(errors="replace")
    for _, escaped, kind, *_ in map(str.split, table.splitlines()):
        point = Path(re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), escaped))
        # The deepest mount point holds the file; of equal ones the last hides the others.
        if real.is_relative_to(point) and len(point.parts) >= depth:
            depth, holder = len(point.parts), kind
    return holder if holder in NETWORK else None


def warn_of_network(path: Path) -> None:
    """Warn if a file is on a network file system."""
    kind = network_mount(path)
    if kind is not None:
        advice = "locks there are not safe with several writers; use PostgreSQL for that"
        warnings.warn(f"{path} is on a network file system ({kind}): {advice}", DataNotice, 4)
