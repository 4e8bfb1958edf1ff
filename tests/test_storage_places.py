"""Addresses: what is meant is found, and no part of a password is shown."""

from __future__ import annotations

import pytest

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
    assert place.url.password == "s3c@ret/x"
    assert str(place) == "postgresql://bob:***@db.lab/x?study=films"
    assert "s3c" not in repr(place)
