"""The application: its routers, and how errors are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException as RoutingError

from kernelbandits import __version__
from kernelbandits.apps.web import api, entry, forms, pages
from kernelbandits.apps.web.access import Access
from kernelbandits.apps.web.errors import describe_error
from kernelbandits.apps.web.guards import Guard, Refusal
from kernelbandits.apps.web.lab import Lab, find_lab, study_address
from kernelbandits.apps.web.library import PATIENCE, TOO_MANY_FILES, Library, Shelf
from kernelbandits.apps.web.snapshots import Snapshots
from kernelbandits.apps.web.turns import THREADS, Turns
from kernelbandits.apps.web.uploads import Uploads
from kernelbandits.checks import StorageError, StudyConflict
from kernelbandits.report.pages import render
from kernelbandits.runtime import NO_DESCRIPTOR, has_free_descriptor
from kernelbandits.storage import StorageBusy, StorageFull, StorageReadOnly

HANDLED = (
    HTTPException,
    RoutingError,
    RequestValidationError,
    Refusal,
    StudyConflict,
    StorageError,
    ValueError,
    MemoryError,
    Exception,
)
TITLES = {
    401: "Not open here",
    403: "Not allowed",
    404: "Not found",
    405: "Not a page",
    409: "A conflict",
    413: "Too large",
    415: "Wrong content type",
    422: "Not understood",
    500: "Something went wrong",
    503: "Busy",
    507: "The disk is full",
}
DESCRIPTION = (
    "Ask which candidate to measure next, and tell the results. Every request needs a token as "
    "`Authorization: Bearer TOKEN`, bodies are JSON, and a request with the header "
    "`Idempotency-Key` counts once, however often it is sent."
)


def build_app(
    shelf: Shelf,
    access: Access,
    hosts: Iterable[str],
    *,
    port: int = 0,
    secure: bool = False,
    patience: float = PATIENCE,
) -> Guard:
    """Return the application that serves the studies of a shelf.

    Parameters
    ----------
    shelf
        Where the studies are: a file, a folder or a database.
    access
        The secret that tokens, cookies and links come from.
    hosts
        The names under which browsers reach the server, with their port.
    port
        A part of the name of the cookie: servers on other ports have cookies of their own.
    secure
        Whether browsers reach the server by https.
    patience
        Seconds that a request waits for a study that another process holds.
    """
    lab = Lab(
        library=Library(shelf, patience),
        access=access,
        uploads=Uploads(access.folder / "uploads"),
        snapshots=Snapshots(),
        turns=Turns(),
        cookie=f"{'__Host-' if secure else ''}kernelbandits-{port}",
        secure=secure,
    )

    @asynccontextmanager
    async def close_at_end(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        yield
        lab.library.close()

    app = FastAPI(
        title="kernelbandits lab",
        version=__version__,
        description=DESCRIPTION,
        lifespan=close_at_end,
        # The description of the API is a route of its own, which needs a token.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.lab = lab
    for module in (entry, pages, forms, api):
        app.include_router(module.router)
    for kind in HANDLED:
        app.add_exception_handler(kind, answer_error)
    app.add_exception_handler(OSError, answer_system_error)
    return Guard(app, hosts, "https" if secure else "http")


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer an error by one sentence, as JSON for programs and as a page for people."""
    status, said = describe_error(error)
    library, name = find_lab(request).library, request.path_params.get("name")
    storage = isinstance(error, StorageError)
    # A study is closed in a thread of its own: that waits for those who use it.
    if storage and name and not isinstance(error, (StorageBusy, StorageFull, StorageReadOnly)):
        # The file may be another one now: it is opened again when it is next asked for.
        await run_in_threadpool(library.forget, name)
    if status == 503 and not has_free_descriptor():
        await run_in_threadpool(library.close_idle)
    headers: dict[str, Any] = dict(getattr(error, "headers", None) or {})
    if status == 503:
        headers["retry-after"] = "5"
    wants_page = "text/html" in request.headers.get("accept", "")
    if request.url.path.startswith("/api/") or not wants_page:
        return JSONResponse(said, status, headers)
    page = render(
        "lab/error.html",
        title=TITLES.get(status, "Something went wrong"),
        sentence=pages.write_sentence(said["error"]),
        known=status != 401,
        back=find_way_back(request, status),
    )
    return HTMLResponse(page, status, headers)


async def answer_system_error(request: Request, error: Exception) -> Response:
    """Answer if no further file can be opened; other errors of the system are mistakes."""
    if getattr(error, "errno", None) not in NO_DESCRIPTOR:
        raise error
    return await answer_error(request, StorageBusy(TOO_MANY_FILES))


def find_way_back(request: Request, status: int) -> str:
    """Return the address of the study that a request was about, or of the first page."""
    name = request.path_params.get("name", "")
    return study_address(name) if name and status != 404 else "/"
