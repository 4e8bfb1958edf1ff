"""Files that are written: no output replaces a study, and others only if that is asked for.

And no file of a study is opened by Python, because closing it would free the locks of SQLite.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kernelbandits as kb
from commands import COMMANDS
from commands import study as command
from kernelbandits.apps.web import api, pages
from kernelbandits.outputs import COMPANIONS, is_study, read_apart, replace_file
from kernelbandits.report.studies import draw_check, draw_study
from lab_pages import Page


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


# ---------------------------------------------------------------------- opened by SQLite alone

watched: set[str] = set()
opened: list[str] = []


@cache
def install_hook() -> None:
    """Hear of all files that are opened, as long as the process lives."""
    sys.addaudithook(hear)


def hear(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and watched and isinstance(given[0], (str, bytes)):
        path = os.path.realpath(os.fsdecode(given[0]))
        if path in watched:
            opened.append(path)


@contextmanager
def watch(path: Path) -> Iterator[None]:
    """See that Python opens neither the file of a study nor those that SQLite keeps beside it."""
    install_hook()
    watched.update(f"{path.resolve()}{end}" for end in ("", *COMPANIONS))
    try:
        yield
    finally:
        watched.clear()
    seen, opened[:] = list(opened), []
    assert seen == []


def test_the_watch_sees_who_opens_a_study(films):
    with pytest.raises(AssertionError, match="films"), watch(films):
        films.read_bytes()
    with pytest.raises(AssertionError, match="films"), watch(films):
        os.close(os.open(films, os.O_RDONLY))
    with watch(films):
        assert read_apart(films, 6) == b"SQLite"
        assert read_apart(films) == read_apart(films.with_name("films.db"))


def calls(films: Path) -> list[tuple[object, ...]]:
    """Each command on a study, and the study itself wherever a command takes a file."""
    out = films.parent
    table = out / "films.csv"
    table.write_text("x\n0.1\n0.2\n")
    others: list[tuple[object, ...]] = [
        ("create", films, "--candidates", table, "--target", "y"),
        ("create", out / "new.db", "--candidates", films, "--target", "y"),
        ("create", out / "new.db", "--gram", films, "--target", "y"),
        ("create", out / "new.db", "--space", films, "--target", "y"),
        ("sheet", films, out / "sheet.html"),
        ("sheet", films, films, "--force"),
        ("tell", films, "1", "0.5"),
        ("tell", films, "--file", films),
        ("explain", films, "1"),
        ("plot", films, out / "progress.svg", "--what", "progress"),
        ("plot", films, films, "--force"),
        ("check", films, "--plot", films, "--force"),
        ("export", films, out / "trials.csv"),
        ("export", films, films, "--force"),
        ("correct", films, "1", "0.6"),
        ("withdraw", films, "1"),
        ("release", films, "2"),
        ("add", films, table),
        ("add", films, films),
        ("forbid", films, "0"),
        ("allow", films, "0"),
        ("change", films, "--tolerance", "0.1"),
        ("replay", films, "--at", "2"),
        ("backup", films, out / "copy.db"),
        ("backup", films, films, "--force"),
        ("salvage", films, out / "saved.db"),
        ("salvage", films, films, "--force"),
    ]
    named = {words[0] for words in others}
    return [*others, *((name, films) for name in COMMANDS if name not in named)]


def test_no_command_opens_the_file_of_a_study(films):
    with kb.Study.open(films) as held, watch(films):
        held.ask()
        for words in calls(films):
            assert command(*words).code in (0, 1, 2, 74), words
        held.tell(row=0, value=1.0)


@pytest.mark.thorough
def test_no_command_opens_a_damaged_study(films):
    with watch(films):
        for start, end in ((0, 100), (100, 4096), (4096, 8192)):
            content = read_apart(films)
            damaged = films.with_name("damaged.db")
            damaged.write_bytes(content[:start] + bytes(end - start) + content[end:])
            os.replace(damaged, films)
            for name in ("status", "doctor", "ask", "list"):
                assert command(name, films).code == 74
            command("export", films, films, "--force")
            command("salvage", films, films.with_name(f"saved {start}.db"))


def test_no_page_and_no_answer_of_the_lab_opens_the_file_of_a_study(films, tmp_path):
    page = Page(films.parent, tmp_path / "state")
    browser, program = page.browser().client, page.program()
    known = {
        "name": "films",
        "trial": "1",
        "what": "trials.csv",
        "file": "lab.css",
        "number": "0",
        "row": "0",
    }
    posts = [
        ("ask", {"n": 2}),
        ("tell", {"row": 0, "value": 0.5}),
        ("tell-all", {"results": [{"row": 2, "value": 0.5}]}),
        ("correct", {"trial": 1, "value": 0.6}),
        ("undo", {"n": 1}),
        ("change", {"tolerance": 0.1}),
    ]
    with kb.Study.open(films) as held, watch(films):
        held.ask()
        for router, client in ((pages.router, browser), (api.reading, program)):
            for route in router.routes:
                if "GET" in route.methods:
                    answer = client.get(f"{route.path.format_map(known)}?what=progress")
                    assert answer.status_code < 500, (route.path, answer.text)
        for what, body in posts:
            answer = program.post(f"/api/studies/films/{what}", json=body)
            assert answer.status_code == 200, answer.text
        rows = [{"x": 0.0}, {"x": 1.0}]
        for name, status in (("new", 201), ("films", 409)):
            body = {"name": name, "target": "y", "rows": rows}
            assert program.post("/api/studies", json=body).status_code == status
        assert [one["name"] for one in program.get("/api/studies").json()] == ["films", "new"]
    page.close()
