"""Servers of the lab page that listen, for tests of who talks to them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Thread

import uvicorn

from kernelbandits.apps.web import serve


@contextmanager
def listening(place, **options):
    """A server in a thread: how it was started, and its access."""
    asked = serve.Configuration(place=str(place), port=0, **options)
    asked.check()
    chosen, listener = serve.listen(asked)
    settings = uvicorn.Config(serve.make_app(chosen), **serve.server_options(chosen))
    server = uvicorn.Server(settings)
    thread = Thread(target=server.run, args=[[listener]], daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < end
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield chosen, serve.open_access(chosen)
    finally:
        server.should_exit = True
        thread.join(30)
