"""Addresses: what is meant is found, and no part of a password is shown."""

from __future__ import annotations

import re

import pytest

from commands import study as command
from kernelbandits.storage import Log, StorageError
from kernelbandits.storage.places import find


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bob:s3c@ret@127.0.0.1:1/x?study=a",
        "postgresql:/bob:s3cret@127.0.0.1/x",
        "postgres:bob:s3cret@127.0.0.1/x",
        "postgresql+psycopg2://bob:s3cret@127.0.0.1/x",
        "mysql://bob:s3cret@127.0.0.1/x",
        "postgresql://a:s3c@ret/x@host",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_without_its_password(address):
    with pytest.raises(ValueError, match="a study needs") as refused:
        find(address)
    assert "s3c" not in str(refused.value)
    assert "ret" not in str(refused.value).replace("are written", "")


def test_a_password_with_signs_written_as_they_must_be_is_understood_and_not_shown():
    place = find("postgresql://bob:s3c%40ret%2Fx@db.lab/x?study=films")
    assert place.password == "s3c@ret/x"
    assert str(place) == "postgresql://bob:***@db.lab/x?study=films"
    assert "s3c" not in repr(place)


OPENINGS = [
    "postgresql://bob:hunter2@127.0.0.1:1/x",
    "postgresql://bob@127.0.0.1:1/x",
    "postgresql://hunter2:hunter2@127.0.0.1:1/hunter2",
    "postgresql://bob%3Ahunter2@127.0.0.1:1/x",
    "postgresql://bob:hunter%32@127.0.0.1:1/x",
    "postgresql://bob:hunter2@hunter2:1/x",
    "postgres://:hunter2@127.0.0.1:1/x",
    "postgresql://bob:hunter2@127.0.0.1:abc/x",
    "postgresql://bob:hunter2@[::1:1/x",
    "postgresql://bob:hunter2/x@127.0.0.1/y",
    "postgrsql://bob:hunter2@127.0.0.1/x",
    "bob:hunter2@127.0.0.1/x",
    "env:postgresql://bob:hunter2@127.0.0.1/x",
]
ENDINGS = [
    "?connect_timeout=hunter2",
    "?hunter2=1",
    "?hunter2",
    "?h%75nter2=1",
    "?connect_timeout=hunter%32",
    "?password=hunter2&connect_timeout=hunter2",
    "?port=hunter2",
    "?sslmode=hunter2",
    "?sslpassword=hunter2&sslmode=no",
    "?PASSWORD=hunter2",
    "?study=Hunter2&connect_timeout=hunter2",
    "#hunter2",
]


ADDRESSES = [opening + ending for opening in OPENINGS for ending in ENDINGS]
ADDRESSES += [
    opening + ending
    for opening in OPENINGS
    for ending in ("?study=hunter2", "?study=a_hunter2_b&port=1")
    if ":hunter" in opening or "%3Ahunter" in opening
]
"""With a password in its place the study that is named like it is not shown either."""


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_part_of_an_address_that_may_be_a_password_is_shown(address, monkeypatch):
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 0.0)
    with pytest.raises((ValueError, StorageError)) as refused:
        Log.open(address)
    said = [str(refused.value)]
    said += [command("status", address).err, command("status", "films.db", address).err]
    said += [command("list", address).err, command("backup", address, "new.db").err]
    for text in said:
        assert text.count("\n") <= 1
        assert not re.search("unter2|unter%32|%75nter", text), text


def test_the_place_of_a_server_is_shown_and_its_other_options_are_not():
    place = find("postgresql://ann@/db?host=/run/pg&port=5433&sslmode=require&study=films")
    assert str(place) == "postgresql://ann@/db?host=/run/pg&port=5433&study=films"
    assert place.parameters["sslmode"] == "require"


@pytest.mark.parametrize("name", ["", "a b", "postgresql://ann:s3cret@lab/db", "A=s3cret"])
def test_what_is_no_name_of_a_variable_is_not_shown(name):
    with pytest.raises(ValueError, match="env: needs the name of an environment variable") as said:
        find(f"env:{name}")
    assert "s3cret" not in str(said.value)


def test_a_variable_that_names_another_one_is_refused_without_its_value(monkeypatch):
    monkeypatch.setenv("FILMS", "env:postgresql://ann:s3cret@lab/db?x=s3cret")
    with pytest.raises(ValueError, match="env:FILMS needs a file or a postgresql://") as said:
        find("env:FILMS")
    assert "s3cret" not in str(said.value)
