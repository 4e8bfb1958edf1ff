"""Games that are played once and stored, so that a run goes on where the last one ended.

A game is a named tuple of what decides it; its key adds the revision of `Auto`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.json_lines import append_object, read_objects


def play_missing(
    path: Path, games: Iterable[Any], play: Callable[[Any], dict[str, Any]], minutes: float
) -> None:
    """Play the games that are not in the file and store each; start none after so many minutes."""
    end = time.monotonic() + 60 * minutes
    warnings.simplefilter("ignore")
    with machine.threads.threadpool_limits(1):
        for game in games:
            if time.monotonic() > end:
                break
            if game.key not in read_games(path, game._fields):
                append_object(path, play(game))


def read_games(path: Path, fields: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """The games stored so far, by their keys: the fields of a game, and the revision."""
    return {(*(row[name] for name in fields), row["revision"]): row for row in read_objects(path)}
