"""The command `lab`: where it refuses to listen, links and tokens, a whole server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import requires

import pytest

from conftest import run_command, with_long
from kernelbandits import runtime
from kernelbandits.apps.cli.lab import PACKAGES
from kernelbandits.apps.web.access import Access
from kernelbandits.apps.web.serve import find_running, read_address


@pytest.fixture
def environment(tmp_path):
    return os.environ | {"KERNELBANDITS_LAB_STATE": str(tmp_path / "state")}


def command(*words):
    return [sys.executable, "-m", "kernelbandits", "lab", *words]


def run(environment, *words):
    return subprocess.run(command(*words), capture_output=True, text=True, env=environment)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "lab needs TLS to listen on a network"),
        (("--tls-cert", "nothing.pem"), "--tls-cert needs a file that exists"),
        (("--link",), "--link needs a server that was started before"),
        (("no/such/folder/films.db",), "lab needs a folder that exists"),
    ],
)
def test_what_is_refused(environment, tmp_path, words, said):
    done = run(environment, *([str(tmp_path)] if words[0].startswith("--") else []), *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_a_weak_token_is_refused(environment, tmp_path):
    done = run(environment | {"KERNELBANDITS_TOKEN": "short"}, str(tmp_path))
    assert done.returncode == 2
    assert "short" not in done.stderr


@pytest.mark.thorough
def test_tokens_last_until_they_are_renewed(environment, tmp_path):
    first, second = (run(environment, str(tmp_path), "--show-tokens").stdout for _ in range(2))
    assert first == second
    assert set(re.findall(r"(\w+): ", first)) == {"read", "write"}
    assert run(environment, str(tmp_path), "--renew", "--show-tokens").stdout != first


@pytest.mark.thorough
def test_a_port_that_is_taken_is_said_in_one_sentence(environment, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for workers in ("1", "2"):
            words = ("--port", str(port), "--workers", workers, "--no-browser")
            done = run(environment, str(tmp_path), *words)
            assert done.returncode == 2
            assert done.stdout == ""
            assert re.fullmatch(rf"error: lab needs a free port, got \S+:{port} .*\n", done.stderr)


@pytest.mark.thorough
@pytest.mark.parametrize("workers", with_long(["1", "2"], ["2"]))
def test_a_server_starts_lets_in_by_its_link_and_ends(environment, tmp_path, workers):
    """Its link can be opened as soon as it is printed, and is not in any log.

    SIGTERM ends the server with exit code 143 or 0.
    """
    process = subprocess.Popen(
        command(str(tmp_path), "--port", "0", "--no-browser", "--workers", workers),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    link = next(filter(None, (re.search(r"http\S+", line) for line in process.stdout)))[0]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert "Studies" in opener.open(link).read().decode()
    again = run(environment, str(tmp_path), "--link", "--read-only").stdout.strip()
    assert again.startswith(link.partition("?")[0])
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode in (0, 143, -signal.SIGTERM)
    assert "code=" not in errors


@pytest.mark.thorough
def test_a_second_command_opens_the_server_that_runs(environment, tmp_path):
    words = (str(tmp_path), "--no-browser")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        command(*words, "--port", str(port)), stdout=subprocess.PIPE, text=True, env=environment
    )
    link = next(filter(None, (re.search(r"http\S+", line) for line in process.stdout)))[0]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert "Studies" in opener.open(link).read().decode()
    second = run(environment, *words)
    assert second.returncode == 0
    assert "The lab of this place runs already" in second.stdout
    again = re.search(r"http\S+", second.stdout)[0]
    assert again.startswith(link.partition("?")[0])
    assert again != link
    assert "Studies" in opener.open(again).read().decode()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    # Somebody else listens there now: it cannot sign what it is asked.
    with HTTPServer(("127.0.0.1", port), Stranger) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        access = Access(next((tmp_path / "state").iterdir()))
        assert read_address(access) == f"http://127.0.0.1:{port}"
        assert find_running(access) is None
        stranger.shutdown()
    assert find_running(access) is None
    assert find_running(Access(tmp_path / "other")) is None


class Stranger(BaseHTTPRequestHandler):
    """Answers every question with itself."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.partition("=")[2].encode() + b".signed")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("package", "extra", "words"),
    [
        *((package, "lab", ("lab", ".", "--show-tokens")) for package in PACKAGES),
        ("mcp", "mcp", ("mcp",)),
        ("pydantic", "mcp", ("mcp",)),
    ],
)
def test_what_is_missing_is_named_with_an_extra_that_exists(monkeypatch, package, extra, words):
    known = runtime.find_spec
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name == package else known(name))
    done = run_command(*words)
    assert done.returncode == 2
    assert f'needs {package}, which is not installed: pip install ".[{extra}]"' in done.stderr
    assert any(one.endswith(f"extra == '{extra}'") for one in requires("kernelbandits"))
