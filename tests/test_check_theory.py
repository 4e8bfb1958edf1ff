"""`kernelbandits check-theory` as a person uses it, on the sound package and on broken copies of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kernelbandits
from kernelbandits.apps import checking
from kernelbandits.apps.cli import app, exit_code
from kernelbandits.experiment import process_mapper
from kernelbandits.judges import FAILS, Effort, Finding
from kernelbandits.judges.court import JUDGES
from kernelbandits.judges.errata import ERRATA

SOURCE = Path(kernelbandits.__file__).parent
RIGHT = Finding("engine", "the index", "1.0", "1.0", "holds", detail="1e-8")
KNOWN_FALSE = Finding("potential", "|factor| 2", "80 > 38", "80", "fails", FAILS)
WRONG = Finding("martingale", "[the] rate", "<= 0.5", "0.9", "fails", detail="3 s.e.")
AGREES_WITH_ALL = Finding("E1", "as printed", "0.1", "0.1", "holds", FAILS)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "kernelbandits", "check-theory", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )


@pytest.fixture
def court(monkeypatch):
    """A court that says what a test wants it to say, whoever is called."""

    def say(*findings: Finding) -> None:
        monkeypatch.setattr(checking, "heard", lambda *given: list(findings))

    return say


def invoked(*arguments: str):
    return CliRunner().invoke(app, ["check-theory", *arguments])


def test_a_reader_who_leaves_early_changes_nothing_of_the_verdict():
    command = [
        sys.executable,
        "-m",
        "kernelbandits",
        "check-theory",
        "--only",
        "potential,E4",
        "--quick",
    ]
    for form in ("text", "json"):
        work = subprocess.Popen(
            [*command, "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        work.stdout.close()
        assert work.stderr.read() == ""
        assert work.wait(timeout=120) == 0


@pytest.mark.parametrize("name", ["check-theory.json", "check-theory.md"])
def test_a_folder_where_a_file_will_be_is_refused_before_anybody_is_heard(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(checking, "heard", lambda *given: pytest.fail("heard"))
    (tmp_path / name).mkdir()
    assert (
        exit_code(lambda: app(["check-theory", "--output", str(tmp_path)], standalone_mode=False))
        == 2
    )
    assert f"--output needs a folder in which {name} is a file, got" in " ".join(
        capsys.readouterr().err.split()
    )


def test_findings_that_cannot_be_written_are_shown_first(court, tmp_path, monkeypatch, capsys):
    court(RIGHT)
    monkeypatch.setattr(checking, "writable", lambda output: None)
    (tmp_path / "check-theory.json").mkdir()
    assert (
        exit_code(lambda: app(["check-theory", "--output", str(tmp_path)], standalone_mode=False))
        == 74
    )
    shown = capsys.readouterr()
    assert "1 statement, all as they must be" in shown.out
    assert len(shown.err.strip().splitlines()) == 1


# what is shown


def test_the_table_has_statement_predicted_observed_and_verdict(court):
    court(RIGHT, KNOWN_FALSE)
    done = invoked()
    assert done.exit_code == 0
    assert all(
        word in done.stdout
        for word in ("statement", "predicted", "observed", "verdict", "engine", "potential")
    )
    assert "fails, as it must" in done.stdout
    assert done.stdout.strip().splitlines()[-1] == "2 statements, all as they must be"


@pytest.mark.parametrize("wrong", [WRONG, AGREES_WITH_ALL])
def test_a_verdict_that_is_not_the_expected_one_ends_with_code_one_and_is_named_at_the_end(
    court, wrong
):
    court(RIGHT, wrong)
    done = invoked()
    assert done.exit_code == 1
    assert (
        done.stdout.strip().splitlines()[-1]
        == f"2 statements, 1 not as they must be ({wrong.judge})"
    )
    assert checking.said(wrong) in done.stdout
    assert wrong.statement in done.stdout


def test_json_is_one_list_of_objects(court):
    court(RIGHT, WRONG)
    done = invoked("--format", "json")
    assert done.exit_code == 1
    rows = json.loads(done.stdout)
    assert [row["right"] for row in rows] == [True, False]
    assert set(rows[0]) == {
        "judge",
        "statement",
        "predicted",
        "observed",
        "verdict",
        "expected",
        "detail",
        "right",
    }


def test_quiet_says_nothing_and_still_judges(court):
    court(RIGHT, WRONG)
    done = invoked("--quiet", "--format", "json")
    assert done.exit_code == 1
    assert done.stdout == ""


def test_the_folder_gets_a_page_and_a_document(court, tmp_path):
    court(RIGHT, KNOWN_FALSE)
    assert invoked("--output", str(tmp_path / "new")).exit_code == 0
    page = (tmp_path / "new" / "check-theory.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert "| \\|factor\\| 2 | 80 > 38 | 80 | fails, as it must |  |" in rows
    assert "2 statements, all as they must be." in page
    assert (
        json.loads((tmp_path / "new" / "check-theory.json").read_text())[0]["statement"]
        == "the index"
    )


def test_help_has_examples_and_names_every_judge_that_is_no_erratum():
    text = invoked("--help").output
    assert "kernelbandits check-theory" in text
    assert all(name in checking.HELP for name in JUDGES if name not in ERRATA)
    assert "check-theory" in CliRunner().invoke(app, ["--help"]).output


def test_the_judges_are_all_those_named_or_all_but_the_errata():
    assert checking.chosen(None, True) == list(JUDGES)
    assert checking.chosen(None, False) == [name for name in JUDGES if name not in ERRATA]
    assert checking.chosen(" potential , engine", True) == ["potential", "engine"]
    assert checking.chosen("errata", True) == list(ERRATA)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--only", ""), "--only needs at least one judge, got ''"),
        (("--only", " , "), "--only needs at least one judge, got ' , '"),
        (
            ("--only", "engine,E1", "--no-errata"),
            "--no-errata needs judges other than the paper's slips in --only, got 'E1'",
        ),
        (
            ("--output", str(Path(__file__))),
            f"--output needs a folder, got {str(Path(__file__))!r}",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anybody_is_heard(
    arguments, sentence, monkeypatch, capsys
):
    monkeypatch.setattr(checking, "heard", lambda *given: pytest.fail("somebody was heard"))
    assert exit_code(lambda: app(["check-theory", *arguments])) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"


def slept(seconds: float) -> float:
    time.sleep(seconds)
    return -seconds


def refused(item: float) -> float:
    raise ArithmeticError(f"no {item}")


def test_what_is_ready_first_is_told_first():
    with process_mapper(2) as mapper:
        *early, last = checking.as_ready(mapper, slept, [2.0, 0.1, 0.0])
    assert (sorted(early), last) == ([(0.0, 0.0), (0.1, -0.1)], (2.0, -2.0))
    assert list(checking.as_ready(map, slept, [0.1, 0.0])) == [(0.1, -0.1), (0.0, 0.0)]


def test_an_error_of_another_process_is_told():
    with pytest.raises(ArithmeticError, match="no 1"), process_mapper(2) as mapper:
        list(checking.as_ready(mapper, refused, [1, 1]))


def test_the_findings_come_in_the_order_of_the_judges_whoever_shares_the_work():
    names, effort = ["E1", "potential", "martingale"], Effort(scale=0.05)
    one, two = (checking.heard(names, effort, workers, True) for workers in (1, 2))
    assert one == two
    assert list(dict.fromkeys(finding.judge for finding in one)) == names


def test_help_says_how_often_a_sound_engine_is_accused():
    assert "about 0.9 %" in checking.HELP


def test_an_unknown_judge_is_a_usage_error_of_one_line():
    done = command("--only", "engine,nobody")
    assert done.returncode == 2
    assert done.stderr.startswith("error: the court needs judges in (")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [("--seed", "-1"), ("--format", "xml"), ("--workers", "0"), ("--nothing",)]
)
def test_wrong_options_end_with_code_two(arguments):
    assert invoked(*arguments).exit_code == 2


@pytest.mark.parametrize("columns", [100, 120])
def test_the_sound_engine_passes_within_the_columns_there_are_and_whoever_shares_the_work(
    columns, tmp_path
):
    workers = {100: "1", 120: "2"}[columns]
    done = command(
        "--quick", "--only", "potential,martingale", "--workers", workers, COLUMNS=str(columns)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert done.stdout.splitlines()[-1].endswith("statements, all as they must be")
    assert done.stderr == ""


# broken copies

COPIES = {
    "sound": ("widths.py", "terms = (norm_bound, 2 * share", "terms = (norm_bound, 2.0 * share"),
    "wrong root of the determinant": (
        "widths.py",
        "math.log(1 / delta), share)",
        "math.log(1 / delta), 2 * share)",
    ),
    "negative weights clipped in the table": (
        "exploration/schedules.py",
        "np.concatenate(drawn) if drawn",
        "np.maximum(np.concatenate(drawn), 0.0) if drawn",
    ),
    "sd squared in the posterior": (
        "posterior/base.py",
        "return np.sqrt(np.maximum(self.variance",
        "return (np.maximum(self.variance",
    ),
    "sd squared in the compiled loop": (
        "compiled.py",
        "np.sqrt(max(cov[i, i], 0.0))",
        "max(cov[i, i], 0.0)",
    ),
}


@pytest.fixture
def copied(tmp_path):
    """A copy of the package with one text replaced; the compiled loops stay cached unless their own file changes."""

    def copy(file: str, right: str, wrong: str) -> Path:
        package = tmp_path / "kernelbandits"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("*.pyc"))
        text = (package / file).read_text()
        assert right in text, f"{file} has changed: give this test another text to break"
        (package / file).write_text(text.replace(right, wrong, 1))
        return tmp_path

    return copy


@pytest.mark.parametrize("breakage", COPIES)
def test_a_broken_copy_of_the_package_is_caught(breakage, copied):
    folder = copied(*COPIES[breakage])
    done = command("--quick", "--only", "engine", "--format", "json", PYTHONPATH=str(folder))
    wrong = [row for row in json.loads(done.stdout) if not row["right"]]
    assert done.returncode == (0 if breakage == "sound" else 1), done.stderr
    assert bool(wrong) == (breakage != "sound")
    assert all("Error" not in row["observed"] for row in wrong)
