"""The start of a server: where it may listen, the link that opens it, and the end of it."""

from __future__ import annotations

import hashlib
import inspect
import ipaddress
import json
import os
import secrets
import socket
import urllib.request
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from kernelbandits import checks
from kernelbandits.apps.web.access import HERE, Access
from kernelbandits.apps.web.library import PATIENCE, find_shelf
from kernelbandits.checks import DataNotice
from kernelbandits.study.operations import WRITE

STATE = "KERNELBANDITS_LAB_STATE"
"""The environment variable that names the folder of secrets; by default one of the user's own."""
CONFIGURATION = "KERNELBANDITS_LAB_CONFIGURATION"
"""How a server with several workers passes on what it was started with."""
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
PORT = 8765
ADDRESS = "address"
"""The file in which a server leaves its address."""
RUNNING_SECONDS = 3.0
"""How long a command waits for the answer of a server that may run."""
LONGEST_ANSWER = 1000
NOT_STARTED = 3
"""The exit code of a server that could not start, as uvicorn has it."""


@dataclass(frozen=True)
class Configuration:
    """The settings with which a server is started."""

    place: str
    host: str = "127.0.0.1"
    port: int = PORT
    names: tuple[str, ...] = ()
    """Further names under which browsers reach the server."""
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    token: str | None = None
    workers: int = 1
    patience: float = PATIENCE
    """Seconds that a request waits for a study that another process holds."""

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def secure(self) -> bool:
        """Whether browsers reach the server by https."""
        return self.tls_cert is not None or self.behind_proxy

    @property
    def hosts(self) -> list[str]:
        """The values of the Host header that are accepted."""
        own = [] if self.host in ("0.0.0.0", "::") else [bracket_host(self.host)]
        names = [*LOOPBACK_NAMES, *own, *self.names]
        plain = list(self.names) if self.behind_proxy else []
        return [*(name if has_port(name) else f"{name}:{self.port}" for name in names), *plain]

    @property
    def address(self) -> str:
        """The address of the server for a browser on this machine, or behind the proxy."""
        scheme = "https" if self.secure else "http"
        if self.names:
            name = self.names[0]
            at_port = has_port(name) or self.behind_proxy
            return f"{scheme}://{name if at_port else f'{name}:{self.port}'}"
        local = "127.0.0.1" if self.host in ("0.0.0.0", "::") else bracket_host(self.host)
        return f"{scheme}://{local}:{self.port}"

    def check(self) -> None:
        """Refuse to listen where strangers could read along or come in."""
        both = (self.tls_cert is None) == (self.tls_key is None)
        checks.needs(both, "lab", "--tls-cert and --tls-key together", "one of them")
        checks.whole("lab", "port", self.port, 0)
        checks.needs(self.port < 65536, "lab", "a port below 65536", self.port)
        if self.is_local:
            return
        checks.needs(
            self.secure,
            "lab",
            "TLS to listen on a network (--tls-cert and --tls-key), or a proxy that has it "
            "(--behind-proxy)",
            f"--host {self.host} alone",
        )
        checks.needs(
            bool(self.names) or self.host not in ("0.0.0.0", "::"),
            "lab",
            "the name that browsers use (--name lab.example.org) to listen on all addresses",
            "none",
        )


def bracket_host(host: str) -> str:
    """Return an IPv6 address as a Host header has it."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def has_port(name: str) -> bool:
    return name.rpartition(":")[2].isdigit() and not name.endswith("]")


def state_folder(place: str) -> Path:
    """Return where the secret of a place is kept: one folder for each place, of this user."""
    root = os.environ.get(STATE)
    if root is None:
        from platformdirs import user_state_dir

        root = str(Path(user_state_dir("kernelbandits")) / "lab")
    # The place of a database may hold a password, so its digest names the folder.
    where = place if "://" in place or place.startswith("env:") else str(Path(place).resolve())
    return Path(root) / hashlib.sha256(where.encode()).hexdigest()[:24]


def open_access(configuration: Configuration) -> Access:
    return Access(state_folder(configuration.place), configuration.token)


def leave_address(configuration: Configuration, access: Access) -> None:
    """Leave the address of a server for `--link`, and for a second command of the same place."""
    (access.folder / ADDRESS).write_text(json.dumps(configuration.address))


def read_address(access: Access) -> str | None:
    """Return the address that the last server of a place has left; None if there was none."""
    left = access.folder / ADDRESS
    return str(json.loads(left.read_text())) if left.exists() else None


def find_running(access: Access) -> str | None:
    """Return the address of a server of this place that runs; None if none answers.

    Another program may listen at the address that a server has left. Only one that knows the secret
    of the place can sign what it is asked, and the question tells nothing of the secret.
    """
    address, asked = read_address(access), secrets.token_urlsafe(16)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/here?asked={asked}", timeout=RUNNING_SECONDS) as answer:
            signed = answer.read(LONGEST_ANSWER).decode()
    except (OSError, ValueError, HTTPException):
        return None
    return address if access.unsign(HERE, signed) == asked else None


def make_app(configuration: Configuration) -> Any:
    from kernelbandits.apps.web.app import build_app

    # Pages and answers show the notices themselves.
    warnings.simplefilter("ignore", DataNotice)
    return build_app(
        find_shelf(configuration.place),
        open_access(configuration),
        configuration.hosts,
        port=configuration.port,
        secure=configuration.secure,
        patience=configuration.patience,
    )


def make_worker_app() -> Any:
    """Make the application of one worker of several, from what the first process left for it."""
    given = json.loads(os.environ[CONFIGURATION])
    return make_app(Configuration(**{**given, "names": tuple(given["names"])}))


def listen(configuration: Configuration) -> tuple[Configuration, socket.socket]:
    """Take the port; return the configuration with its number, and the socket that listens.

    Whoever connects from now on waits until the application answers, and is not refused. Port 0
    stands for any that is free.
    """
    family = socket.AF_INET6 if ":" in configuration.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((configuration.host, configuration.port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ValueError(
            f"lab needs a free port, got {configuration.host}:{configuration.port} "
            f"({error.strerror}); try --port 0 for any"
        ) from None
    return replace(configuration, port=listener.getsockname()[1]), listener


def make_link(configuration: Configuration, role: str = WRITE) -> str:
    """Make a link that opens the server in one browser, once."""
    code = open_access(configuration).make_link(role)
    return f"{configuration.address}/enter?code={code}"


def server_options(configuration: Configuration) -> dict[str, Any]:
    """Return how uvicorn listens."""
    return {
        "host": configuration.host,
        "port": configuration.port,
        "ssl_certfile": configuration.tls_cert,
        "ssl_keyfile": configuration.tls_key,
        # The address of a link has its code: no line for each request.
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": 10,
        "timeout_graceful_shutdown": 5,
        "ws": "none",
    }


def run_server(configuration: Configuration, listener: socket.socket) -> None:
    """Serve on a socket that listens, until the process is ended."""
    import uvicorn

    options = server_options(configuration)
    if configuration.workers == 1:
        server = uvicorn.Server(uvicorn.Config(make_app(configuration), **options))
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
        if not server.started:
            raise SystemExit(NOT_STARTED)
        return
    os.environ[CONFIGURATION] = json.dumps(asdict(configuration))
    config = uvicorn.Config(
        "kernelbandits.apps.web.serve:make_worker_app",
        factory=True,
        workers=configuration.workers,
        **options,
    )
    run_workers(config, listener)


def run_workers(config: Any, listener: socket.socket) -> None:
    """Let several processes accept the connections of one socket, as `uvicorn.run` does."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    listener.set_inheritable(True)
    given: dict[str, Any] = {"sockets": [listener]}
    if "target" in inspect.signature(Multiprocess).parameters:
        # Older releases are told what each process runs.
        given["target"] = uvicorn.Server(config).run
    with suppress(KeyboardInterrupt):
        Multiprocess(config, **given).run()
