"""The command `lab`: studies in a browser, and the REST interface for instruments."""

from __future__ import annotations

import os
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelbandits import checks
from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.output import print_line
from kernelbandits.runtime import MOST_WORKERS, require

if TYPE_CHECKING:
    from kernelbandits.apps.web.access import Access
    from kernelbandits.apps.web.serve import Configuration

LAB = """Open studies in a browser, and to programs on this machine.

PLACE is a folder of studies, one study such as films.db, which may still have to be created, or the
address of a PostgreSQL database; by default it is the folder you are in. The command prints a link
that works once: it lets one browser in. For programs the page "Share" of a study shows a token, and
--show-tokens prints it. Tokens and open pages last over restarts; --renew ends them all.

If a server of this place runs already, the command opens that one; with --port it starts another.

The server listens on this machine only. To open it to a network, give --host, a certificate
(--tls-cert and --tls-key, or --behind-proxy if a proxy has it) and the --name that browsers use.
A token of your own is read from the environment variable KERNELBANDITS_TOKEN.

Examples:

    kernelbandits lab

    kernelbandits lab films.db

    kernelbandits lab studies --port 9000 --no-browser

    kernelbandits lab films.db --link

    kernelbandits lab studies --host 0.0.0.0 --name lab.example.org --tls-cert lab.crt \
--tls-key lab.key

    kernelbandits lab "postgresql://ann@lab/studies"
"""
PACKAGES = ("fastapi", "starlette", "pydantic", "uvicorn", "jinja2", "multipart", "matplotlib")
"""What the extra lab brings, by the names under which it is imported."""
TOKEN = "KERNELBANDITS_TOKEN"


def lab(
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help="Folder, study, or address of a database.")
    ] = ".",
    port: Annotated[
        int | None, typer.Option(help="Port; 0 for any that is free. Default: 8765.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name by which browsers reach the server. May be repeated."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate, as a PEM file.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, as a PEM file.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of the server has TLS.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=MOST_WORKERS, help="Number of server processes.")
    ] = 1,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    link: Annotated[
        bool, typer.Option("--link", help="Print a new link for a running server, and end.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="The link only lets its browser read.")
    ] = False,
    show_tokens: Annotated[
        bool, typer.Option("--show-tokens", help="Print the tokens for programs, and end.")
    ] = False,
    renew: Annotated[
        bool, typer.Option("--renew", help="First end all tokens and open pages so far.")
    ] = False,
) -> None:
    for package in PACKAGES:
        require(package, extra="lab", owner="the lab page")
    from kernelbandits.apps.web import serve
    from kernelbandits.study.operations import READ, WRITE

    asked = serve.Configuration(
        place=place,
        host=host,
        port=serve.PORT if port is None else port,
        names=tuple(name or ()),
        tls_cert=check_file("--tls-cert", tls_cert),
        tls_key=check_file("--tls-key", tls_key),
        behind_proxy=behind_proxy,
        token=os.environ.get(TOKEN) or None,
        workers=workers,
    )
    asked.check()
    access, role = serve.open_access(asked), READ if read_only else WRITE
    if renew:
        access.renew()
    if show_tokens:
        print_tokens(access)
    elif link:
        print_new_link(access, role, place)
    elif port is None and (running := serve.find_running(access)) is not None:
        open_running(running, access, role, browser)
    else:
        start_server(asked, access, role, browser)


def print_tokens(access: Access) -> None:
    from kernelbandits.apps.web.access import ROLES

    for role in ROLES:
        print_line(screen.out(), f"{role}: {access.token(role)}")


def print_new_link(access: Access, role: str, place: str) -> None:
    """Print a link for the server of a place, which runs already."""
    from kernelbandits.apps.web import serve

    address = serve.read_address(access)
    checks.needs(address is not None, "--link", "a server that was started before", place)
    print_line(screen.out(), f"{address}/enter?code={access.make_link(role)}")


def open_running(address: str, access: Access, role: str, browser: bool) -> None:
    """Print and open a link of the server that serves this place already."""
    shown = f"{address}/enter?code={access.make_link(role)}"
    said = "The lab of this place runs already. This link opens it; it works once"
    print_line(screen.out(), f"{said}:\n\n    {shown}\n")
    if browser:
        webbrowser.open(shown)


def start_server(asked: Configuration, access: Access, role: str, browser: bool) -> None:
    """Listen, print the link that opens the server, and serve until the end."""
    from kernelbandits.apps.web import serve
    from kernelbandits.apps.web.library import find_shelf

    # A place that cannot be served is refused before anything is printed.
    find_shelf(asked.place)
    chosen, listener = serve.listen(asked)
    serve.leave_address(chosen, access)
    shown, console = serve.make_link(chosen, role), screen.out()
    print_line(console, f"Open this link in your browser; it works once:\n\n    {shown}\n")
    print_line(console, "Ctrl-C ends the server; nothing is lost by that.")
    if browser:
        threading.Thread(target=webbrowser.open, args=[shown], daemon=True).start()
    serve.run_server(chosen, listener)


def check_file(option: str, path: Path | None) -> str | None:
    if path is None:
        return None
    checks.needs(path.is_file(), option, "a file that exists", str(path))
    return str(path)
