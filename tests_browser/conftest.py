"""A real server in a process of its own, and a real browser: Debian's chromium."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 60.0
"""Seconds that a server may take to start on a busy machine."""


class Server:
    """`kernelbandits lab` for a folder; it can be killed and started again."""

    def __init__(self, place: Path, state: Path) -> None:
        self.place, self.state, self.port = place, state, 0
        self.process: subprocess.Popen[str] | None = None
        self.link = ""

    def start(self) -> Server:
        command = [sys.executable, "-m", "kernelbandits", "lab", str(self.place), "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"KERNELBANDITS_LAB_STATE": str(self.state)},
        )
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/enter\S+", line)
            if found:
                self.link, self.port = found[0], int(found[1])
                break
        self.wait()
        return self

    def wait(self) -> None:
        """Until it answers, if only to say that a stranger may not come in."""
        import urllib.error
        import urllib.request

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

    def new_link(self, *options: str) -> str:
        command = [sys.executable, "-m", "kernelbandits", "lab", str(self.place), "--link"]
        environment = os.environ | {"KERNELBANDITS_LAB_STATE": str(self.state)}
        found = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=True, env=environment
        )
        return found.stdout.strip()

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


@pytest.fixture
def server(tmp_path):
    (tmp_path / "studies").mkdir()
    server = Server(tmp_path / "studies", tmp_path / "state").start()
    yield server
    if server.process.poll() is None:
        server.kill(signal.SIGTERM)


@pytest.fixture
def open_page(chromium, server):
    """A function that lets a new browser in and returns its page.

    A page that logs an error, or asks another server for anything, fails its test.
    """
    contexts, wrong = [], []

    def open_new(*link_options, errors=(), **options):
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
        page.goto(server.new_link(*link_options))
        return page

    yield open_new
    for context in contexts:
        context.close()
    assert wrong == []
