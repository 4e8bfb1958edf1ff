"""The place of a study: a file, or a schema of a PostgreSQL database."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from kernelbandits import checks
from kernelbandits.formatting import mask_password

SERVERS = ("postgresql", "postgres", "postgresql+psycopg")
USUAL = "kernelbandits"
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class FilePlace:
    """An SQLite file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class ServerPlace:
    """A schema of a PostgreSQL database; text and repr do not show the password."""

    url: sa.URL = field(repr=False)
    study: str

    def __str__(self) -> str:
        open_ones = self.url.difference_update_query(["sslpassword"])
        shown = open_ones.set(drivername="postgresql").update_query_dict({"study": self.study})
        return shown.render_as_string(hide_password=True)


Place = FilePlace | ServerPlace


def find(where: str | os.PathLike[str]) -> Place:
    """The place given by a path, an address, or env:NAME, a place in an environment variable."""
    checks.needs(
        isinstance(where, (str, os.PathLike)), "a study", "a file or a postgresql:// address", where
    )
    text = os.fspath(where)
    if text.startswith("env:"):
        return find(from_environment(text.removeprefix("env:")))
    scheme, mark, rest = text.partition("://")
    if mark and scheme in SERVERS:
        return server_place(f"postgresql+psycopg://{rest}")
    if mark and scheme == "sqlite":
        return file_place(rest.removeprefix("/"))
    server_meant = mark or re.match(r"postgres\w*(\+\w+)?:", text)
    checks.needs(
        not server_meant,
        "a study",
        "a file or a postgresql:// address",
        mask_password(text, is_address=True),
    )
    return file_place(text)


def from_environment(name: str) -> str:
    value = os.environ.get(name, "")
    checks.needs(bool(value), f"env:{name}", f"a place in the environment variable {name}", value)
    checks.needs(
        not value.startswith("env:"), f"env:{name}", "a file or a postgresql:// address", value
    )
    return value


def file_place(text: str) -> FilePlace:
    checks.needs(
        text not in ("", ":memory:") and "\0" not in text, "a study", "the name of a file", text
    )
    return FilePlace(Path(text))


def server_place(text: str) -> ServerPlace:
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        shown = mask_password(text, is_address=True)
        raise ValueError(
            f"a study needs postgresql://user@host:port/database, got {shown!r}"
        ) from None
    plain = "@" not in f"{url.host or ''}{url.database or ''}"
    checks.needs(
        plain,
        "a study",
        "a password in which @ is written %40 and / is written %2F",
        mask_password(text, is_address=True),
    )
    study = url.query.get("study", USUAL)
    fits = isinstance(study, str) and NAME.fullmatch(study) and not study.startswith("pg_")
    checks.needs(bool(fits), "a study", "a name of small letters, digits and _ (at most 63)", study)
    return ServerPlace(
        with_password(url).difference_update_query(["study", "password"]), str(study)
    )


def with_password(url: sa.URL) -> sa.URL:
    """Move a password among the options to its own field, which is never printed."""
    given = url.query.get("password")
    return url if given is None else url.set(password=str(given))
