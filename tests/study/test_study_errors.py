"""What `kernelbandits study` says when something is wrong: one sentence, an exit code, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

import kernelbandits as kb
from commands import Done, document, said, study
from conftest import pairwise
from kernelbandits import storage
from kernelbandits.apps.cli.main import TRACEBACK

FILMS = "Cs,FA,kind,hours,stability\n0,1,a,1,\n0.5,0.5,b,2,\n1,0,a,1,\n0.25,0.75,b,2,\n"
TABLE = "Cs, FA, kind, hours, stability"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    (folder / "films.csv").write_text(FILMS)
    said(
        "create", folder / "films.db", "--candidates", folder / "films.csv", "--target", "stability"
    )
    said("ask", folder / "films.db")
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """films.csv and films.db with one pending trial, in the working directory."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def one_sentence(done: Done, code: int) -> str:
    """What was said on standard error, which is all that was said."""
    (line,) = done.err.splitlines()
    assert (done.code, done.out) == (code, ""), done
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def program(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A process in which something happens before the command runs."""
    lines = f"import sys\n{code}\nfrom kernelbandits.apps.cli import main\nmain(['study', *sys.argv[1:]])"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", lines, *arguments], **pipes | options)


MEANT = {
    "1,500": "1500 or 1.500",
    "١٢": "12",
    "1 000": "1000",
    "−5": "-5",
    "5%": "5, or 0.05 if 1 is 100 %",
}
"""What people write for a number, and how it is to be written."""


@pytest.mark.parametrize(
    "value",
    [
        "1,500",
        "nan",
        "inf",
        "-inf",
        "-nan",
        "0x10",
        "1_000",
        "1e999",
        "-1e151",
        "",
        " ",
        "١٢",
        "True",
        "1 000",
        "−5",
        "5%",
    ],
)
def test_a_value_that_is_no_plain_number_is_refused_and_the_trial_stays_pending(folder, value):
    text = one_sentence(study("tell", "films.db", "1", value), 2)
    hint = f" (write {MEANT[value]})" if value in MEANT else ""
    assert text == f"tell needs a number of size at most 1e+150 as VALUE, got {value!r}{hint}"
    assert (
        study("correct", "films.db", "1", value).err
        == f"error: {text.replace('tell', 'correct', 1)}\n"
    )
    found = document("status", "films.db")
    assert (found["told"], found["pending"], found["events"]) == (0, 1, 2)


@pytest.mark.parametrize("value", ["-0.5", "-1e-3", "+3", ".5", "-.5e2", "5.", "-0", "1e-320"])
def test_every_plain_number_is_taken(folder, value):
    assert document("tell", "films.db", "1", value)["value"] == float(value)


@pytest.mark.parametrize("trial", ["0", "-1", "1.5", "abc", "9" * 19, "", "١"])
def test_a_trial_is_a_whole_number(folder, trial):
    digits = " with at most 18 digits" if len(trial) > 18 else ""
    needed = f"TRIAL needs a whole number from 1 on{digits}, got {trial!r}"
    for words in (("tell", "films.db", trial, "1"), ("correct", "films.db", trial, "1")):
        assert one_sentence(study(*words), 2) == needed
    if trial != "-1":
        assert one_sentence(study("explain", "films.db", trial), 2) == needed


@pytest.mark.parametrize(
    ("words", "got"),
    [((), "nothing"), (("1",), "1"), (("1", "2", "--failed"), "1 2 --failed"), (("--row", "1"), "--row 1"),
     (("1", "2", "--row", "3"), "1 2 --row 3"), (("--failed",), "--failed"),
     (("1", "2", "--csv", "films.csv"), "'--file and more'")],
)  # fmt: skip
def test_tell_wants_one_of_its_forms(folder, words, got):
    forms = (
        "TRIAL VALUE, TRIAL VALUE --at NAME=VALUE, TRIAL --failed, TRIAL --missing, --row ROW VALUE, --row ROW --failed, "
        "--label NAME VALUE, --line LINE VALUE, --at NAME=VALUE ... VALUE, --file FILE or --sheet FILE; with "
        "several targets --value NAME=VALUE in place of VALUE"
    )
    assert (
        one_sentence(study("tell", "films.db", *words), 2)
        == f"tell needs one of {forms}, got {got}"
    )


@pytest.mark.parametrize(
    ("word", "said"),
    [("--faild", "--faild. Did you mean --failed?"), ("-x", "-x"),
     ("--valu=3", "--valu. Did you mean --value?")],
)  # fmt: skip
def test_an_option_that_there_is_not_is_no_value(folder, word, said):
    text = one_sentence(study("tell", "films.db", "1", word), 2)
    assert text == f"study tell has no option {said} (see kernelbandits study tell --help)"


@pytest.mark.parametrize(
    "text", ["soon", "0", "0h", "-5", "1y", "", "1e3", "1" * 40, "2h30m", "nan"]
)
def test_a_lease_is_a_duration(folder, text):
    needed = f"--lease needs a duration such as 90s, 15m, 2h, 7d or plain seconds, got {text!r}"
    assert one_sentence(study("ask", "films.db", "--lease", text), 2) == needed
    assert one_sentence(study("change", "films.db", "--lease", text), 2) == needed


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("ask", "films.db", "--n", "0"), 2, "--n needs a whole number from 1 on, got '0'"),
        (("ask", "films.db", "--lease", "99999999d"), 2, "at most a hundred years"),
        (("ask", "films.db", "--worker", ""), 2, "a worker of 1 to 200 printable characters, got ''"),
        (("tell", "films.db", "1", "2", "--key", "a\nb"), 2, "a key of 1 to 200 printable characters, got 'a\\nb'"),
        (("tell", "films.db", "99", "2"), 1, "tell needs a trial that was asked for, got trial 99"),
        (("tell", "films.db", "--row", "4", "2"), 2, "tell needs a row below 4, got 4"),
        (("tell", "films.db", "--row", "-1", "2"), 2, "--row needs a whole number from 0 on, got '-1'"),
        (("tell", "films.db", "--csv", "none.csv"), 2, "No such file: none.csv"),
        (("correct", "films.db", "1", "2"), 1, "correct needs a trial with a result, got trial 1, which is pending"),
        (("withdraw", "films.db", "7"), 1, "withdraw needs a trial with a result, got trial 7, which does not exist"),
        (("release", "films.db", "7"), 1, "release needs trials that are pending, got trial 7"),
        (("explain", "films.db", "7"), 1, "got trial 7, which does not exist"),
        (("replay", "films.db", "--at", "7"), 1, "got trial 7, which does not exist"),
        (("change", "films.db"), 2, "change needs at least one setting, such as --policy or --lease, got 'none'"),
        (("change", "films.db", "--policy", "nope"), 2, "No policy is called 'nope'"),
        (("change", "films.db", "--delta", "2"), 2, "Study needs delta in (0, 1), got 2.0"),
        (("plot", "films.db", "a.gif"), 2, "needs .png, .svg, .pdf or .html, got 'a.gif'"),
        (("plot", "films.db", "a.png", "--what", "nope"), 2, "got 'nope'"),
        (("plot", "films.db", "a.png", "--truth", "none.csv"), 2, "got 'none.csv'"),
        (("export", "films.db", "films.csv"), 1, "got films.csv, which exists; --force (force=True) replaces it"),
        (("export", "films.db", "."), 2, "an export needs a path of a file, got '.'"),
        (("export", "films.db", "none/a.csv"), 2, "an export needs a folder that exists, got 'none/a.csv'"),
        (("backup", "films.db", "films.csv"), 1, "films.csv, which exists"),
        (("salvage", "films.db", "films.csv"), 1, "films.csv, which exists"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_sentence_and_changes_nothing(folder, words, code, text):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert text in one_sentence(study(*words), code)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--columns", ""), "--columns needs names of columns with commas between them, got ''"),
        (("--columns", "Cs,,FA"), "--columns needs names of columns with commas between them, got 'Cs,,FA'"),
        (("--columns", "Cs,MA"), f"needs columns among {TABLE}, got 'MA'"),
        (("--direction", "up"), "Study needs direction maximize or minimize, got 'up'"),
        (("--policy", "nope"), "No policy is called 'nope'"),
        (("--policy", ""), "No policy is called ''"),
        (("--policy", "auto:foo=1"), "auto needs settings"),
        (("--policy", "simple-ucb"), "simple-ucb needs noise_scale and norm_bound, got"),
        (("--policy", "simple-bernoulli:0.5"), "settings need the form name=value, got '0.5'"),
        (("--policy", "simple-ucb:p=1", "--noise-scale", "1", "--norm-bound", "1"), "has no setting 'p'"),
        (("--policy", "simple-ucb", "--noise-scale", "-1", "--norm-bound", "1"), "got -1"),
        (("--kernel", "rbf:-1"), "RBF needs lengthscale > 0, got -1"),
        (("--kernel", "nope"), "No kernel is called 'nope'"),
        (("--kernel", "rbf:0.2"), "no kernel for auto"),
        (("--centre", "1"), "Study needs centre and spread together, got (1.0, None)"),
        (("--centre", "nan", "--spread", "1"), "Study needs a finite number centre, got nan"),
        (("--centre", "0", "--spread", "0"), "Study needs spread > 0, got 0.0"),
        (("--delta", "0"), "Study needs delta in (0, 1), got 0.0"),
        (("--seed", "-1"), "--seed needs a whole number from 0 on, got '-1'"),
        (("--target", "stability"), "Study needs each target once, got 'stability'"),
        (("--cost", "kind"), "column 'kind', got 'a'"),
        (("--allowed", "none"), f"needs a column for allowed among {TABLE}, got 'none'"),
        (("--tolerance", "-1"), "Study needs tolerance >= 0, got -1.0"),
        (("--lease", "never"), "--lease needs a duration"),
    ],
)  # fmt: skip
def test_a_study_that_cannot_be_created_leaves_no_file(folder, options, text):
    done = study("create", "new.db", "--candidates", "films.csv", "--target", "stability", *options)
    assert text in one_sentence(done, 2)
    assert not list(folder.glob("new*"))


@pytest.mark.parametrize(
    "words",
    [(), ("none",), ("ask",), ("ask", "films.db", "--n", "x"), ("ask", "films.db", "--format", "xml"),
     ("tell", "films.db", "1", "2", "3"), ("explain", "films.db", "-1"),
     ("history", "films.db", "--limit", "0"), ("estimates", "films.db", "--top", "0"), ("replay", "films.db"),
     ("create", "new.db"), ("change", "films.db", "--direction", "minimize"), ("ask", "films.db", "--loud")],
)  # fmt: skip
def test_what_the_parser_refuses_has_exit_code_two_and_nothing_on_standard_output(folder, words):
    done = study(*words)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert (done.out == "") == bool(words)


@pytest.mark.parametrize(
    ("words", "text"),
    [(("ask",), "study ask needs PLACE, got none (see kernelbandits study ask --help)"),
     (("frobnicate",), "study has no command frobnicate. Its commands are create, "),
     (("ask", "films.db", "--format", "yaml"), "--format needs one of text, json, got 'yaml' (see kernelbandits study"),
     (("ask", "films.db", "--n", "x"), "--n needs a whole number from 1 on, got 'x'"),
     (("ask", "films.db", "--n"), "--n needs a value, got none (see kernelbandits study ask --help)"),
     (("ask", "films.db", "--loud"), "study ask has no option --loud (see kernelbandits study ask"),
     (("tell", "films.db", "1", "3", "--failde"), "study tell has no option --failde. Did you mean --failed?"),
     (("correct", "films.db", "--failde", "1"), "study correct has no option --failde. Did you mean --failed?"),
     (("--loud",), "study has no option --loud (see kernelbandits study --help)"),
     (("ask", "films.db", "--quiet=yes"), "--quiet needs no value, got one"),
     (("change", "films.db", "--delta", "much"), "--delta needs a number, got 'much'"),
     (("status", "films.db", "20", "21"), "study status takes no more arguments, got 20 21"),
     (("create", "new.db", "films.db", "--target", "y"), "got films.db; if that is the table of candidates, write --candidates"),
     (("history", "films.db", "--limit", "0"), "--limit needs a whole number from 1 on, got '0'"),
     (("replay", "films.db"), "study replay needs --at, got none"),
     (("status", "films.db", "postgresql://a:geheim@h/d"), "got postgresql://a:***@h/d")],
)  # fmt: skip
def test_what_the_parser_refuses_is_one_sentence_with_what_is_needed_and_what_came(
    folder, words, text
):
    assert text in one_sentence(study(*words), 2)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [(("release", "films.db"), 2, "release needs trials or --all, got 'neither'"),
     (("release", "films.db", "1", "--all"), 2, "release needs trials or --all, got 'both'"),
     (("release", "films.db", "1", "--worker", "a"), 2, "release needs --worker only with --all, got 'a'"),
     (("release", "films.db", "1", "7"), 1, "release needs trials that are pending, got trial 7. Nothing was released"),
     (("release", "films.db", "5-9"), 1, "release needs trials that are pending, got trial 5. Nothing was released"),
     (("release", "films.db", "9-5"), 2, "the end of 9-5 needs a whole number from 9 on, got '5'"),
     (("release", "films.db", "1-"), 2, "the end of 1- needs a whole number from 1 on, got ''"),
     (("release", "films.db", "a-5"), 2, "TRIAL needs a whole number from 1 on, got 'a'"),
     (("undo", "films.db", "--n", "0"), 2, "--n needs a whole number from 1 on, got '0'"),
     (("correct", "films.db", "1"), 2, "with several targets, got '1'"),
     (("correct", "films.db", "1", "2", "--failed"), 2, "with several targets, got '1 2'"),
     (("tell", "films.db", "1", "-812,500"), 2, "got '-812,500' (write -812500 or -812.500)"),
     (("status", "films.csv"), 74, "films.csv is not a study and not an SQLite file at all"),
     (("list", "films.csv"), 74, "films.csv is not a study and not an SQLite file at all"),
     (("list", "none.db"), 74, "there is no study none.db")],
)  # fmt: skip
def test_what_is_refused_of_newer_forms_is_said_in_one_sentence_and_changes_nothing(
    folder, words, code, text
):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said_of = one_sentence(study(*words), code)
    assert text in said_of
    assert "salvage" not in said_of
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("text", ["1,5,2", "a,b", "1.000,5", "1,234", "1,5e", ",", "1.234.567,8"])
def test_a_number_is_written_anew_where_it_is_plain_which_one_is_meant(folder, text):
    meant = {"1.000,5": "1000.5", "1,234": "1234 or 1.234", "1.234.567,8": "1234567.8"}.get(text)
    hint = f" (write {meant})" if meant else ""
    assert one_sentence(study("tell", "films.db", "1", text), 2).endswith(f", got {text!r}{hint}")


def test_a_study_whose_first_page_is_overwritten_is_pointed_to_its_backup(folder):
    content = Path("films.db").read_bytes()
    Path("films.db").write_bytes(b"\0\1" * 50 + content[100:])
    for command in (("status", "films.db"), ("salvage", "films.db", "new.db")):
        assert "put its last backup back" in one_sentence(study(*command), 74)
    assert not Path("new.db").exists()


def test_a_study_is_created_once(folder):
    before = Path("films.db").read_bytes()
    text = one_sentence(
        study("create", "films.db", "--candidates", "films.csv", "--target", "stability"), 1
    )
    assert "there is a study at films.db already" in text
    assert Path("films.db").read_bytes() == before


READING = (
    ("status",),
    ("history",),
    ("estimates",),
    ("explain", "1"),
    ("export", "-"),
    ("doctor",),
    ("backup", "b.db"),
)
WRITING = (
    ("ask",),
    ("tell", "1", "2"),
    ("undo",),
    ("correct", "1", "2"),
    ("change", "--seed", "1"),
    ("salvage", "s.db"),
)


@pairwise(words=READING + WRITING, name=["none.db", "empty.db", "picture.db", "directory"])
def test_a_place_without_a_study_is_named_with_exit_code_74(folder, name, words):
    Path("empty.db").touch()
    Path("picture.db").write_bytes(b"\x89PNG\r\n\x1a\n" * 1000)
    Path("directory").mkdir()
    done = study(words[0], name, *words[1:])
    assert done.code == 74
    assert name in done.err or words[0] == "doctor"
    assert "Traceback" not in done.err
    assert not any(Path(left).exists() for left in ("none.db", "b.db", "s.db"))


def damage(path: str, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    ["update events set body = '{broken' where seq = 2", "update events set body = '{}' where seq = 1",
     "update events set value = 3 where seq = 2", "delete from events where seq = 2", "update head set seq = 7",
     "update candidates set cells = '[]' where id = 1", "drop table candidates", "delete from head"],
)  # fmt: skip
def test_a_damaged_study_is_never_read_and_the_way_out_is_named(folder, statement):
    damage("films.db", statement)
    for words in (("status", "films.db"), ("ask", "films.db"), ("tell", "films.db", "1", "2")):
        text = one_sentence(study(*words), 74)
        assert "films.db is damaged" in text
        assert "kernelbandits study salvage films.db" in text
    done = study("doctor", "films.db", "--format", "json")
    assert done.code == 74
    assert not all(finding["ok"] for finding in json.loads(done.out))
    assert done.err.endswith("found a problem\n")


def test_a_damaged_study_is_listed_by_its_name_and_the_others_in_full(database, folder):
    for name in ("broken_one", "sound_one"):
        said(
            "create",
            f"{database}&study={name}",
            "--candidates",
            "films.csv",
            "--target",
            "stability",
            "-q",
        )
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM broken_one.head")
    found = {one["name"]: one["rows"] for one in document("list", database)}
    assert (found["broken_one"], found["sound_one"]) == (None, 4)
    assert re.search(r"broken_one +– +– +damaged", said("list", database))


def test_what_is_intact_is_salvaged(folder):
    said("tell", "films.db", "1", "0.5")
    damage("films.db", "update events set value = 3 where seq = 3")
    found = document("salvage", "films.db", "saved.db")
    assert found["sentence"] in said("salvage", "films.db", "again.db")
    assert document("status", "saved.db")["pending"] == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(kb.StudyConflict("no"), 1), (storage.StudyExists("no"), 1), (ValueError("no"), 2), (storage.StorageError("no"), 74),
     (storage.StorageFull("no"), 74), (storage.StorageReadOnly("no"), 74), (storage.Damaged("no"), 74),
     (storage.NoStudy("no"), 74), (storage.StorageBusy("no"), 74), (FileNotFoundError("no"), 74)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_kind_of_failure_has_its_exit_code(folder, monkeypatch, error, code):
    monkeypatch.setattr(kb.Study, "status", lambda self: fail(error))
    assert one_sentence(study("status", "films.db"), code) == "no"


def fail(error: BaseException) -> None:
    raise error


def test_a_clock_that_python_cannot_read_is_said(folder, monkeypatch):
    """`time.time()` fails from the year 2262 on, in Python's own modules, too."""
    error = OverflowError("timestamp too large to convert to C _PyTime_t")
    monkeypatch.setattr(kb.Study, "status", lambda self: fail(error))
    said_of = one_sentence(study("status", "films.db"), 74)
    assert "the clock of this computer needs to show a year before 2262" in said_of


def test_memory_that_runs_out_and_mistakes_of_the_program_are_sentences_too(folder, monkeypatch):
    monkeypatch.setattr(kb.Study, "status", lambda self: fail(MemoryError()))
    assert "this needs more memory than there is" in one_sentence(study("status", "films.db"), 74)
    monkeypatch.setattr(
        kb.Study, "status", lambda self: fail(KeyError("postgresql://a:secret@h/d"))
    )
    text = one_sentence(study("status", "films.db"), 70)
    assert text.startswith("a mistake in kernelbandits itself, please report it")
    assert text.endswith("KeyError: 'postgresql://a:***@h/d'")
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(KeyError):
        study("status", "films.db")


@pytest.mark.parametrize(
    "place",
    ["postgresql://ann:geheim@127.0.0.1:1/db", "postgres://ann:ge@heim/geheim@127.0.0.1:1/db", "mysql://ann:geheim@h/d",
     "postgresql://127.0.0.1:1/db?user=ann&password=geheim", "postgresql://ann:geheim@127.0.0.1:bad/db",
     "postgresql://ann:geheim@127.0.0.1:1/db?study=Bad%20Name", "env:SECRET_PLACE"],
)  # fmt: skip
def test_a_password_is_never_shown(folder, monkeypatch, place):
    monkeypatch.setenv("SECRET_PLACE", "postgresql://ann:geheim@127.0.0.1:1/db")
    # What is said after thirty seconds of attempts is said after a twentieth of a second, too.
    monkeypatch.setattr("kernelbandits.storage.database.PATIENCE", 0.05)
    for words in (
        ("status", place),
        ("ask", place),
        ("create", place, "--candidates", "films.csv", "--target", "value"),
        ("backup", place, "b.db"),
    ):
        done = study(*words)
        assert done.code in (2, 74)
        assert len(done.err.splitlines()) == 1
        assert "geheim" not in done.out + done.err


def test_a_place_of_the_environment_must_be_there(folder, monkeypatch):
    monkeypatch.delenv("NO_SUCH_PLACE", raising=False)
    assert "NO_SUCH_PLACE" in one_sentence(study("ask", "env:NO_SUCH_PLACE"), 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("module", "words", "code"),
    [("psycopg", ("status", "postgresql://ann:geheim@h/d"), 2),
     ("matplotlib", ("plot", "films.db", "a.png"), 2)],
)  # fmt: skip
def test_a_missing_package_is_named_with_what_to_install(folder, module, words, code):
    process = program(f"sys.modules[{module!r}] = None", *words)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, len(err.splitlines())) == (code, "", 1)
    assert module in err
    assert "pip install" in err


@pytest.mark.thorough
@pytest.mark.parametrize(("death", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_ends_with_its_code_and_without_a_traceback(folder, death, code):
    stall = (
        "import time\nfrom kernelbandits.study import Study\n"
        "def stall(*given, **more):\n    print('ready', flush=True)\n    time.sleep(100)\n"
        "Study.tell = stall"
    )
    process = program(stall, "tell", "films.db", "1", "0.5")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(death)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", "")
    assert document("status", "films.db")["pending"] == 1


@pytest.mark.thorough
def test_a_reader_who_leaves_early_changes_nothing(folder):
    read, write = os.pipe()
    os.close(read)
    for words in (
        ("tell", "films.db", "1", "0.5"),
        ("history", "films.db"),
        ("export", "films.db", "-"),
    ):
        process = program("", *words, stdout=write)
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    os.close(write)
    assert document("status", "films.db")["told"] == 1


def test_numbers_that_are_typed_may_have_a_decimal_comma(folder):
    done = study(
        "create",
        "mix.db",
        *("--real", "A=0,5:2,5", "--noise=0,02", "--tolerance", "0,05", "--lease", "1,5h"),
        *("--target", "y:maximize,range=0,5..20,limit=0,25,weight=1,5"),
    )
    assert done.code == 0, done.err
    with kb.Study.open("mix.db") as made:
        [target] = made.targets
        assert (target.low, target.high, target.limit, target.weight) == (0.5, 20, 0.25, 1.5)
        assert [made.settings[name] for name in ("noise", "tolerance", "lease")] == [
            0.02,
            0.05,
            5400,
        ]
        assert made.space.variables[0].low == 0.5
    told = study("tell", "mix.db", "--at", "A=0,75", "0,83", "--sem", "0,1", "--format", "json")
    assert (told.document["x"], told.document["values"]) == ({"A": 0.75}, {"y": 0.83})
    assert study("correct", "mix.db", "1", "0,84").code == 0
    for words in (
        ("tell", "mix.db", "--at", "A=1", "1,234"),
        ("change", "mix.db", "--noise", "1,234"),
    ):
        assert "'1,234'" in one_sentence(study(*words), 2)
