"""Places that are no file: refused before a file is made, and without their password."""

from __future__ import annotations

import pytest

import kernelbandits as kb
from commands import study as command

SERVERS = [
    "host=lab dbname=studies user=ann password=geheim",
    "dbname=studies password = 'geheim wort'",
    "password=geheim host=lab",
    "PASSWORD=geheim host=lab",
    "Server=lab;Password=geheim;Database=studies",
    "Data Source=lab;User Id=ann;Pwd=geheim",
    "postgrsql://ann:geheim@lab/studies",
    "postgres:/ann:geheim@lab/studies",
    "postgresql//ann:geheim@lab/studies",
    "psql:ann:geheim@lab/studies",
    "ann:geheim@lab/studies",
    "a:geheim@lab/studies",
    "sqlite://ann:geheim@lab/studies",
    "ann:geheim@lab:5432/studies",
    "mysql://ann:geheim@lab/studies",
    "postgresq://ann:ge:h@eim@lab/studies?password=geheim",
]


@pytest.mark.parametrize("place", SERVERS)
def test_a_mistyped_server_makes_no_file_and_shows_no_password(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a study needs a file or a postgresql://") as caught:
        kb.Study.create(place, [[0.0], [1.0]])
    assert "geheim" not in str(caught.value)
    assert "eim@" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", SERVERS[:6])
@pytest.mark.parametrize("name", ["create", "status"])
def test_the_command_refuses_it_too(tmp_path, monkeypatch, place, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.csv").write_text("a,b\n1,2\n3,4\n")
    more = ("--candidates", "films.csv", "--target", "y") if name == "create" else ()
    done = command(name, place, *more)
    assert done.code == 2
    assert "geheim" not in done.out + done.err
    assert [path.name for path in tmp_path.iterdir()] == ["films.csv"]


@pytest.mark.parametrize("name", ["films.db", "a b.db", "lab@home.db", "T=20.db", "user 7.db"])
def test_names_of_files_stay_names_of_files(tmp_path, name):
    kb.Study.create(tmp_path / name, [[0.0], [1.0]]).close()
    assert (tmp_path / name).is_file()
