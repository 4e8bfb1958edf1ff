"""What the routes of a server share: its studies, who may come in, uploads, and what is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from kernelbandits.apps.web.access import Access
from kernelbandits.apps.web.library import Library
from kernelbandits.apps.web.snapshots import Snapshot, Snapshots
from kernelbandits.apps.web.uploads import Uploads
from kernelbandits.study import Study


@dataclass(frozen=True)
class Lab:
    """A server, as its routes see it."""

    library: Library
    access: Access
    uploads: Uploads
    snapshots: Snapshots
    cookie: str
    """The name of the cookie; servers on other ports of the same machine have other names."""
    secure: bool
    """Whether browsers reach the server by https."""

    def snapshot(self, name: str) -> Snapshot:
        """What is known of a study now."""
        return self.snapshots.of(name, self.library)


def find_lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


def find_study(request: Request, name: str) -> Study:
    """The study that the path of a request names, to write and to list."""
    return find_lab(request).library.study(name)


def find_asker(request: Request, name: str) -> Study:
    """The same study, for suggestions: results can be told while one is computed."""
    return find_lab(request).library.asker(name)


def base_address(request: Request) -> str:
    """How the visitor's browser reaches the server: https://lab.example:8765."""
    scheme = "https" if find_lab(request).secure else "http"
    return f"{scheme}://{request.headers['host']}"
