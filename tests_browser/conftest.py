"""A real server in a process of its own, and a real browser: Debian's chromium."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from kernelbandits.apps.web.access import WRITE, Access

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 60.0
"""Seconds that a server may take to start on a busy machine."""


class Server:
    """`kernelbandits lab` for a folder; it can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.place, self.state, self.port = folder / "studies", folder / "state", 0
        self.place.mkdir()
        self.options = options
        self.process: subprocess.Popen[str] | None = None
        self.name = "films"
        """The name of the study of a test: several tests share a server."""

    def start(self) -> Server:
        command = [sys.executable, "-m", "kernelbandits", "lab", str(self.place), "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *self.options],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"KERNELBANDITS_LAB_STATE": str(self.state)},
        )
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/enter\S+", line)
            if found:
                self.port = int(found[1])
                break
        self.wait()
        return self

    def wait(self) -> None:
        """Until it answers, if only to say that a stranger may not come in."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(self.address, timeout=5)
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def study(self) -> str:
        """The address of the study of a test."""
        return f"{self.address}/studies/{self.name}"

    @property
    def access(self) -> Access:
        """What `kernelbandits lab --link` and `--show-tokens` use, without a process of their own."""
        [folder] = self.state.iterdir()
        return Access(folder)

    def new_link(self, role: str = WRITE) -> str:
        return f"{self.address}/enter?code={self.access.make_link(role)}"

    def kill(self, how: int = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="session")
def chromium():
    assert Path(CHROMIUM).exists(), f"these tests need {CHROMIUM}: apt-get install chromium"
    with sync_playwright() as playwright:
        # Containers have no user namespaces for the sandbox; the pages come from this machine.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("lab")).start()
    yield server
    server.kill(signal.SIGTERM)


@pytest.fixture
def server(shared_server):
    """The server of all tests that do not end it, with a study of its own for each test."""
    shared_server.name = f"films-{len(list(shared_server.place.glob('*.db'))) + 1}"
    return shared_server


@pytest.fixture
def own_server(tmp_path):
    """A server that a test may kill."""
    server = Server(tmp_path).start()
    yield server
    if server.process.poll() is None:
        server.kill(signal.SIGTERM)


@pytest.fixture
def open_page(chromium, request):
    """A function that lets a new browser in and returns its page.

    A page that logs an error, or asks another server for anything, fails its test.
    """
    name = "own_server" if "own_server" in request.fixturenames else "server"
    server = request.getfixturevalue(name)
    contexts, wrong = [], []

    def open_new(role=WRITE, errors=(), **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))

        def note(message):
            expected = any(text in message.text for text in (*errors, "ERR_CONNECTION"))
            if message.type == "error" and not expected:
                wrong.append(f"{page.url}: {message.text}")

        page.on("console", note)
        page.on(
            "request",
            lambda request: (
                request.url.startswith((server.address, "data:"))
                or wrong.append(f"asked for {request.url}")
            ),
        )
        page.goto(server.new_link(role))
        return page

    yield open_new
    for context in contexts:
        context.close()
    assert wrong == []
