"""Files that are written: no output replaces a study, and others only if that is asked for."""

from __future__ import annotations

import os
import shutil

import pytest

import kernelbandits as kb
from kernelbandits.outputs import is_study, replace_file
from kernelbandits.report.studies import draw_check, draw_study
from test_study_command import study as command


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("outputs") / "films.db"
    with kb.Study.create(path, [[0.0], [0.5], [1.0]], target="y") as study:
        study.tell(row=1, value=2.0)
    return path


@pytest.fixture
def films(stored, tmp_path):
    path = tmp_path / "films.db"
    shutil.copy(stored, path)
    return path


def outputs(study: kb.Study):
    """What writes a file, by the suffix it needs."""
    return {
        "export": ("", lambda path, **force: study.export(path, **force)),
        "plot": (".svg", lambda path, **force: draw_study(study, path, "progress", **force)),
        "check": (".svg", lambda path, **force: draw_check(study, path, **force)),
        "backup": ("", lambda path, **force: study.backup(path, **force)),
    }


def commands(place):
    return {
        "export": lambda path: ("export", place, path),
        "plot": lambda path: ("plot", place, path, "--what", "progress"),
        "check": lambda path: ("check", place, "--plot", path),
        "backup": lambda path: ("backup", place, path),
        "salvage": lambda path: ("salvage", place, path),
    }


def disguises(films, suffix: str):
    """The study under other names: a copy, a symbolic link, a hard link, its journal."""
    copy, link, hard = (films.with_name(f"{name}{suffix}") for name in ("copy", "link", "hard"))
    shutil.copy(films, copy)
    link.symlink_to(films)
    os.link(films, hard)
    return [*([] if suffix else [films]), copy, link, hard]


@pytest.mark.parametrize("what", ["export", "plot", "check", "backup"])
def test_no_output_replaces_a_study_forced_or_not(films, what):
    before = films.read_bytes()
    with kb.Study.open(films) as study:
        suffix, write = outputs(study)[what]
        for path in disguises(films, suffix):
            for force in ({}, {"force": True}):
                with pytest.raises(kb.StudyConflict, match="no output replaces a study"):
                    write(path, **force)
            assert path.read_bytes() == before


def test_a_figure_of_an_experiment_does_not_replace_a_study(films, tmp_path):
    figure = tmp_path / "regret.png"
    figure.symlink_to(films)
    played = kb.run_experiment("branin", ["random"], horizon=2, seeds=1)
    before = films.read_bytes()
    with pytest.raises(kb.StudyConflict, match="no output replaces a study"):
        played.plot(figure)
    assert films.read_bytes() == before


@pytest.mark.parametrize("what", ["export", "plot", "check", "backup", "salvage"])
def test_no_command_replaces_a_study_forced_or_not(films, what):
    before = films.read_bytes()
    suffix = ".svg" if what in ("plot", "check") else ""
    for path in disguises(films, suffix):
        for force in ((), ("--force",)):
            done = command(*commands(films)[what](path), *force)
            assert done.code == 1
            assert "no output replaces a study" in done.err
        assert path.read_bytes() == before


@pytest.mark.parametrize("what", ["export", "plot", "check", "backup"])
def test_another_file_is_replaced_only_by_force(films, what):
    with kb.Study.open(films) as study:
        suffix, write = outputs(study)[what]
        path = films.with_name(f"mine{suffix}")
        path.write_text("mine")
        with pytest.raises(kb.StudyConflict, match="--force"):
            write(path)
        assert path.read_text() == "mine"
        write(path, force=True)
        assert path.read_bytes() != b"mine"
        write(films.with_name(f"new{suffix}"))


@pytest.mark.parametrize("what", ["export", "plot", "check", "backup", "salvage"])
def test_a_command_replaces_another_file_only_by_force(films, what):
    path = films.with_name("mine.svg" if what in ("plot", "check") else "mine")
    path.write_text("mine")
    done = command(*commands(films)[what](path))
    assert (done.code, path.read_text()) == (1, "mine")
    assert "--force" in done.err
    assert command(*commands(films)[what](path), "--force").code == 0
    assert path.read_bytes() != b"mine"


def test_a_study_is_recognised_by_its_content(films, tmp_path):
    assert is_study(films)
    for end in ("-wal", "-journal", "-shm"):
        assert is_study(films.with_name(f"films.db{end}"))
        assert not is_study(tmp_path / f"other.db{end}")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\0" * 100 + films.read_bytes()[100:])
    assert is_study(damaged)
    for content in (b"", b"a,b\n1,2\n", b"SQLite format 3\0" + b"\0" * 100):
        (tmp_path / "other").write_bytes(content)
        assert not is_study(tmp_path / "other")
    assert not is_study(tmp_path / "absent")
    assert not is_study(tmp_path)


def test_a_study_that_appears_while_a_file_is_written_stays(films, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"

    def write_through(draft, content, mode):
        draft.write_bytes(content)
        shutil.copy(films, out)

    monkeypatch.setattr("kernelbandits.outputs.write_through", write_through)
    with pytest.raises(kb.StudyConflict, match="no output replaces a study"):
        replace_file(out, b"text", force=True)
    assert out.read_bytes() == films.read_bytes()


@pytest.mark.parametrize("name", ["n" * 300, "loop", "a\0b"])
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(films, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    study = kb.Study.open(films)
    before = sorted(path.name for path in tmp_path.iterdir())
    calls = [lambda path=name: kb.Study.create(path, [[0.0], [1.0]])]
    calls += [
        lambda write=write, path=name: write(path, force=True)
        for suffix, write in outputs(study).values()
        if not suffix
    ]
    for call in calls:
        with pytest.raises(ValueError, match="needs the name of a file, got"):
            call()
    assert sorted(path.name for path in tmp_path.iterdir()) == before
