"""The place of a study: a file, or a schema of a PostgreSQL database."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from kernelbandits import checks
from kernelbandits.outputs import check_path

SERVERS = ("postgresql", "postgres", "postgresql+psycopg")
USUAL = "kernelbandits"
CONNECTION = re.compile(
    r"(?i)(?:^|[\s;])(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode"
    r"|server|data source|database|username|user id|uid|pwd)\s*="
)
"""A connection string of libpq, such as "host=lab dbname=studies", or of ODBC, with semicolons."""
LOGIN = re.compile(r"(?!\w:[/\\])[^\s:@]+:[^@]+@[^@/\s]+(/|:\d|$)")
"""user:password@host, whatever stands before it, but not a path with the letter of a drive."""
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class FilePlace:
    """An SQLite file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, repr=False)
class ServerPlace:
    """A schema of a PostgreSQL database; text and repr do not show the password."""

    host: str | None
    port: int | None
    user: str | None
    password: str | None
    database: str | None
    options: Mapping[str, str]
    """Further options of the address, as libpq knows them."""
    study: str

    def __str__(self) -> str:
        user, colon, _ = (self.user or "").partition(":")
        secret = ":***" if colon or self.password else ""
        who = f"{self.hide(user)}{secret}@" if user or secret else ""
        host = f"[{self.host}]" if ":" in (self.host or "") else self.hide(self.host or "")
        port = "" if self.port is None else f":{self.port}"
        shown = self.shown_options | {"study": self.study}
        options = "&".join(f"{name}={self.hide(value)}" for name, value in shown.items())
        return f"postgresql://{who}{host}{port}/{self.hide(self.database or '')}?{options}"

    def __repr__(self) -> str:
        return f"ServerPlace({str(self)!r})"

    def hide(self, text: str) -> str:
        """Return a part of the address as it is shown: hidden if a password stands in it."""
        # A colon that was written %3A is part of the name for libpq, but hardly for its writer.
        passwords = (self.password, (self.user or "").partition(":")[2])
        return "***" if any(part and part in text for part in passwords) else quote(text)

    @property
    def shown_options(self) -> dict[str, str]:
        """The options that say where the server is; any other may hold a password by mistake."""
        names = (
            "host",
            "hostaddr",
            *(["port"] if self.options.get("port", "").isdecimal() else []),
        )
        return {name: value for name, value in self.options.items() if name in names}

    @property
    def secrets(self) -> list[str]:
        """What no message may repeat: the password, and the options that are not shown."""
        hidden = [self.options[name] for name in self.options if name not in self.shown_options]
        return [text for text in (self.password, *hidden) if text]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the driver is given."""
        named = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
        }
        return {name: value for name, value in named.items() if value is not None} | {
            **self.options
        }


Place = FilePlace | ServerPlace


def find(where: str | os.PathLike[str]) -> Place:
    """Return the place given by a path, an address, or env:NAME, a variable that holds a place."""
    checks.needs(
        isinstance(where, (str, os.PathLike)), "a study", "a file or a postgresql:// address", where
    )
    text = os.fspath(where)
    if text.startswith("env:"):
        return find(from_environment(text.removeprefix("env:")))
    scheme, mark, rest = text.partition("://")
    if mark and scheme in SERVERS:
        return server_place(f"postgresql://{rest}")
    path = rest.removeprefix("/") if mark else text
    checks.needs(
        (not mark or scheme == "sqlite") and not names_server(path),
        "a study",
        "a file or a postgresql://user@host/database address",
        name_scheme(text),
    )
    is_name = path not in ("", ":memory:") and "\0" not in path
    checks.needs(is_name, "a study", "the name of a file", path)
    check_path("a study", path)
    return FilePlace(Path(path))


def name_scheme(text: str) -> str:
    """Return how an address that is not understood begins; the rest may hold a password."""
    start = re.match(r"[A-Za-z][\w+.-]*:/{0,2}|[A-Za-z]+(?: \w+)?\s*=", text)
    return f"{start[0] if start else ''}***"


def names_server(text: str) -> bool:
    """Tell whether a text that is no address of ours is meant as one: mistyped, or libpq's form."""
    meant = re.match(r"postgres\w*(\+\w+)?:", text) or CONNECTION.search(text) or LOGIN.match(text)
    return bool(meant) and not os.path.exists(text)


def from_environment(name: str) -> str:
    named = re.fullmatch(r"\w+", name)
    checks.needs(bool(named), "env:", "the name of an environment variable", name_scheme(name))
    value = os.environ.get(name, "")
    checks.needs(bool(value), f"env:{name}", f"a place in the environment variable {name}", value)
    other = not value.startswith("env:")
    checks.needs(other, f"env:{name}", "a file or a postgresql:// address", "env:***")
    return value


def server_place(text: str) -> ServerPlace:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(
            f"a study needs postgresql://user@host:port/database, got {name_scheme(text)!r}"
        ) from None
    who, at, _ = parts.netloc.rpartition("@")
    checks.needs(
        "@" not in who and "@" not in parts.path and not parts.fragment,
        "a study",
        "a password in which @ is written %40, / is written %2F and # is written %23",
        name_scheme(text),
    )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    study = options.pop("study", USUAL)
    if not NAME.fullmatch(study) or study.startswith("pg_"):
        raise ValueError(
            "a study needs a name of small letters, digits and _ (at most 63, not pg_...) after "
            "study=, got another text"
        )
    return ServerPlace(
        host=decode(parts.hostname),
        port=port,
        user=decode(parts.username if at else None),
        # A password among the options is moved to its own field, which is never printed.
        password=options.pop("password", decode(parts.password)),
        database=decode(parts.path.removeprefix("/")),
        options=options,
        study=study,
    )


def decode(text: str | None) -> str | None:
    """Return a part of an address without its escapes; None if it is empty."""
    return unquote(text) if text else None
