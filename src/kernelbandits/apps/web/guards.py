"""What holds for every request whatever its route: Host, Origin, size and time, headers.

It is one ASGI layer around the application and looks at no path, so that no route can be outside.
Who may do what is decided by dependencies of the routers (`visitors`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from starlette.datastructures import MutableHeaders

SAFE = ("GET", "HEAD", "OPTIONS")
LARGEST_BODY = 32 * 2**20
"""Bytes of a request: the largest table that can be uploaded."""
BODY_SECONDS = 60.0
"""How long the body of a request may take to arrive."""
LONGEST_PATH = 4096
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No inline script and no inline style, and nothing from elsewhere."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With no-referrer a browser would send the Origin of our own forms as null.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not accepted – kernelbandits</title>
<link rel="stylesheet" href="/static/style.css">
<link rel="stylesheet" href="/static/lab.css"></head>
<body><main id="main"><h1>Not accepted</h1>
<p class="problem" role="alert">{sentence}</p><p><a href="/">Back</a></p></main></body>
</html>
"""
"""What a browser shows of a refusal; no template, since it comes before the application."""


class Refusal(Exception):
    """A request that ends before it reaches a route."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Guard:
    """An ASGI application behind the checks that every request has to pass.

    Parameters
    ----------
    app
        The application.
    hosts
        The values of the Host header that are accepted, such as "127.0.0.1:8000".
    scheme
        "http" or "https": how browsers reach the server.
    """

    def __init__(self, app: Any, hosts: Iterable[str], scheme: str = "http") -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.origins = frozenset(f"{scheme}://{host}" for host in self.hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no WebSockets here.
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def send_guarded(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = add_headers(message)
            await send(message)

        try:
            self.check(scope)
            limited = LimitedBody(scope, receive)
            await self.app(scope, limited.receive, send_guarded)
        except Refusal as refused:
            if not started:
                await send_refusal(send_guarded, refused, read_headers(scope))

    def check(self, scope: Any) -> None:
        """Refuse another Host, and a request that another site makes a browser send."""
        headers = read_headers(scope)
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            raise Refusal(400, f"this server does not answer under the name {host[:80]!r}")
        if len(scope["path"]) > LONGEST_PATH:
            raise Refusal(414, f"an address needs at most {LONGEST_PATH} letters, got more")
        if scope["method"] in SAFE:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if (origin is not None and origin.lower() not in self.origins) or site != "same-origin":
            raise Refusal(403, "this request comes from another site")


class LimitedBody:
    """The body of a request, as long as it is neither too large nor too slow."""

    def __init__(self, scope: Any, receive: Any) -> None:
        self._receive, self._size, self._end = receive, 0, False
        self._deadline = time.monotonic() + BODY_SECONDS
        length = read_headers(scope).get("content-length", "0")
        if not length.isdigit() or int(length[:20]) > LARGEST_BODY:
            raise too_large()

    async def receive(self) -> Any:
        if self._end:
            return await self._receive()
        left = self._deadline - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.0))
        except TimeoutError:
            raise Refusal(408, "the request took too long to arrive") from None
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the request ended before all of it had arrived")
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise too_large()
        self._end = not message.get("more_body", False)
        return message


def too_large() -> Refusal:
    most = f"at most {LARGEST_BODY >> 20} MB"
    return Refusal(413, f"a request needs {most}, with the file that it brings, got more")


def read_headers(scope: Any) -> dict[str, str]:
    """Return the headers by name; one that comes twice is both together, which fits nothing."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def add_headers(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start of an answer with our headers; those that the route has set stay."""
    headers = MutableHeaders(raw=[*message.get("headers", [])])
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    return {**message, "headers": headers.raw}


async def send_refusal(send: Any, refused: Refusal, asked: Mapping[str, str]) -> None:
    """Say why, as JSON for programs and as a page for people."""
    kind, body = "application/json", json.dumps({"error": refused.sentence})
    if "text/html" in asked.get("accept", ""):
        sentence = f"{refused.sentence[:1].upper()}{refused.sentence[1:]}."
        kind, body = "text/html; charset=utf-8", PAGE.format(sentence=escape(sentence))
    content = body.encode()
    headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
