"""Side files: what a worker knows, one line each, written with one O_APPEND write, so that kill -9
tears none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def append(path: str | Path, **record: Any) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, (json.dumps(record) + "\n").encode())
    finally:
        os.close(file)


def read(path: str | Path) -> list[dict[str, Any]]:
    path = Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
