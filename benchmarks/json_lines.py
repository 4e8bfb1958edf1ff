"""Files of JSON objects, one a line, to which several processes may append."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, BinaryIO


def read_objects(path: Path) -> list[dict[str, Any]]:
    """All objects; a last line cut short by a crash is passed over."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines if line.endswith("}")]


def append_object(path: Path, fields: dict[str, Any]) -> None:
    """One write under a lock. A torn line before it is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and last_byte(file) != b"\n"
        file.write(("\n" * torn + line_of(fields)).encode())
        file.flush()
        os.fsync(file.fileno())


def line_of(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":")) + "\n"


def last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)
