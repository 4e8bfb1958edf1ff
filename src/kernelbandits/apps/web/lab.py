"""What the routes of a server share: its studies, who may come in, uploads, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.routing import APIRoute

from kernelbandits.apps.web.access import Access
from kernelbandits.apps.web.library import Library
from kernelbandits.apps.web.snapshots import Snapshot, Snapshots
from kernelbandits.apps.web.turns import Turns
from kernelbandits.apps.web.uploads import Uploads
from kernelbandits.study import Study


@dataclass(frozen=True)
class Lab:
    """A server, as its routes see it."""

    library: Library
    access: Access
    uploads: Uploads
    snapshots: Snapshots
    turns: Turns
    cookie: str
    """The name of the cookie; servers on other ports of the same machine have other names."""
    secure: bool
    """Whether browsers reach the server by https."""

    def snapshot(self, name: str) -> Snapshot:
        """Return what is known of a study now."""
        return self.snapshots.of(name, self.library)


def find_lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


def find_study(request: Request, name: str) -> Study:
    """Return the study that the path of a request names, to write and to list."""
    return find_lab(request).library.study(name)


def find_asker(request: Request, name: str) -> Study:
    """Return that study for suggestions: results can be told while one is computed."""
    return find_lab(request).library.asker(name)


def study_address(name: str, path: str = "") -> str:
    """Return the address of a study on this server, or of one of its pages.

    Every letter of a name that has a meaning in an address is written as its code: a server that
    reads the address once finds the name as it is.

    >>> study_address("a%41"), study_address("50 % Cs?", "/candidates")
    ('/studies/a%2541', '/studies/50%20%25%20Cs%3F/candidates')
    """
    return f"/studies/{quote(name, safe='')}{path}"


def base_address(request: Request) -> str:
    """Return how the visitor's browser reaches the server: https://lab.example:8765."""
    scheme = "https" if find_lab(request).secure else "http"
    return f"{scheme}://{request.headers['host']}"


class StudyRoute(APIRoute):
    """A route whose requests take turns, and keep their study open, if they name one.

    A turn ends when the answer is known: whoever reads it slowly keeps nobody waiting. Suggestions,
    other writes, and questions have turns of their own, as they have a `Study` of their own.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def take_turn(request: Request) -> Response:
            name = request.path_params.get("name")
            if name is None:
                return await handle(request)
            lab = find_lab(request)
            kind = "ask" if request.url.path.endswith("/ask") else request.method
            async with lab.turns.take(name, kind):
                with lab.library.use(name):
                    return await handle(request)

        return take_turn
