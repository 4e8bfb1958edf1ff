"""Turns: how many requests of one study are handled at the same time.

A request is handled by a thread, and a server has a number of them. If all requests of a study that
another process holds waited in threads, none would be left for the other studies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

MOST_REQUESTS = 16
"""Requests of one study and of one kind that have a thread. A `Study` lets one in at a time."""
THREADS = 200
"""Threads of a server; each of four studies that are held can take 48 of them."""


@dataclass
class Lane:
    """The requests of one kind to one study: those that are handled, and those that wait."""

    places: asyncio.Semaphore
    requests: int = 0


class Turns:
    """A queue for each study: some requests run at a time, the others wait without a thread."""

    def __init__(self, most: int = MOST_REQUESTS) -> None:
        self.most = most
        # A semaphore belongs to one event loop; a server has one, and tests have several.
        self._lanes: WeakKeyDictionary[Any, dict[tuple[str, str], Lane]] = WeakKeyDictionary()

    @asynccontextmanager
    async def take(self, name: str, kind: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the body of `with`."""
        lanes = self._lanes.setdefault(asyncio.get_running_loop(), {})
        lane = lanes.setdefault((name, kind), Lane(asyncio.Semaphore(self.most)))
        lane.requests += 1
        try:
            async with lane.places:
                yield
        finally:
            lane.requests -= 1
            if not lane.requests:
                del lanes[name, kind]
