"""`kernelbandits check-theory` as a user runs it, on the sound package and on broken copies."""

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
from conftest import with_long
from kernelbandits.apps.cli import app, check_theory, exit_code
from kernelbandits.experiment import process_mapper
from kernelbandits.experiment.workers import map_as_completed
from kernelbandits.verification import TOPICS, CheckedStatement, Effort
from kernelbandits.verification.errata import ERRATA

SOURCE = Path(kernelbandits.__file__).parent
RIGHT = CheckedStatement("the constants", "1.0", "1.0", True, detail="1e-8", topic="constants")
KNOWN_FALSE = CheckedStatement("|factor| 2", "80 > 38", "80", False, False, topic="potential")
WRONG = CheckedStatement("[the] rate", "<= 0.5", "0.9", False, detail="3 s.e.", topic="martingale")
SHOULD_FAIL = CheckedStatement("as printed", "0.1", "0.1", True, False, topic="E1")


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "kernelbandits", "check-theory", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )


@pytest.fixture
def results(monkeypatch):
    """results(*statements): the command gets these statements, whatever it is asked for."""

    def give(*statements: CheckedStatement) -> None:
        monkeypatch.setattr(check_theory, "run_topics", lambda *given: list(statements))

    return give


def invoked(*arguments: str):
    return CliRunner().invoke(app, ["check-theory", *arguments])


@pytest.mark.thorough
def test_a_reader_of_the_pipe_who_stops_early_does_not_change_the_exit_code():
    only = ("check-theory", "--only", "E7", "--workers", "1")
    command = [sys.executable, "-m", "kernelbandits", *only]
    for form in ("text", "json"):
        work = subprocess.Popen(
            [*command, "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        work.stdout.close()
        assert work.stderr.read() == ""
        assert work.wait(timeout=120) == 0


@pytest.mark.parametrize("name", ["check-theory.json", "check-theory.md"])
def test_a_folder_with_the_name_of_a_file_is_refused_before_the_simulation(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(check_theory, "run_topics", lambda *given: pytest.fail("simulated"))
    (tmp_path / name).mkdir()
    assert (
        exit_code(lambda: app(["check-theory", "--output", str(tmp_path)], standalone_mode=False))
        == 2
    )
    assert f"--output needs a folder in which {name} is a file, got" in " ".join(
        capsys.readouterr().err.split()
    )


def test_results_that_cannot_be_written_are_shown_first(results, tmp_path, monkeypatch, capsys):
    results(RIGHT)
    monkeypatch.setattr(check_theory, "check_files_are_writable", lambda output: None)
    (tmp_path / "check-theory.json").mkdir()
    assert (
        exit_code(lambda: app(["check-theory", "--output", str(tmp_path)], standalone_mode=False))
        == 74
    )
    shown = capsys.readouterr()
    assert "1 statement: every verdict is as expected" in shown.out
    assert len(shown.err.strip().splitlines()) == 1


# What is shown


def test_the_table_has_statement_predicted_observed_and_verdict(results):
    results(RIGHT, KNOWN_FALSE)
    done = invoked()
    assert done.exit_code == 0
    assert all(
        word in done.stdout
        for word in ("statement", "predicted", "observed", "verdict", "constants", "potential")
    )
    assert "fails, as expected" in done.stdout
    assert done.stdout.strip().splitlines()[-1] == "2 statements: every verdict is as expected"


@pytest.mark.parametrize("wrong", [WRONG, SHOULD_FAIL])
def test_a_verdict_that_is_not_the_expected_one_ends_with_code_one_and_is_named_at_the_end(
    results, wrong
):
    results(RIGHT, wrong)
    done = invoked()
    assert done.exit_code == 1
    assert (
        done.stdout.strip().splitlines()[-1]
        == f"2 statements: 1 verdict is not as expected ({wrong.topic})"
    )
    assert check_theory.verdict_text(wrong) in done.stdout
    assert wrong.statement in done.stdout


def test_json_is_one_list_of_objects(results):
    results(RIGHT, WRONG)
    done = invoked("--format", "json")
    assert done.exit_code == 1
    rows = json.loads(done.stdout)
    assert [row["as_expected"] for row in rows] == [True, False]
    assert set(rows[0]) == {
        "topic",
        "statement",
        "predicted",
        "observed",
        "verdict",
        "expected",
        "detail",
        "as_expected",
    }


def test_quiet_prints_nothing_and_keeps_the_exit_code(results):
    results(RIGHT, WRONG)
    done = invoked("--quiet", "--format", "json")
    assert done.exit_code == 1
    assert done.stdout == ""


def test_the_folder_gets_a_page_and_a_document(results, tmp_path):
    results(RIGHT, KNOWN_FALSE)
    assert invoked("--output", str(tmp_path / "new")).exit_code == 0
    page = (tmp_path / "new" / "check-theory.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert "| \\|factor\\| 2 | 80 > 38 | 80 | fails, as expected |  |" in rows
    assert "2 statements: every verdict is as expected." in page
    assert (
        json.loads((tmp_path / "new" / "check-theory.json").read_text())[0]["statement"]
        == "the constants"
    )


def test_help_has_examples_and_names_every_topic():
    text = invoked("--help").output
    assert "kernelbandits check-theory" in text
    assert all(name in check_theory.HELP for name in TOPICS if name not in ERRATA)
    assert "check-theory" in CliRunner().invoke(app, ["--help"]).output


def test_the_topics_are_those_named_or_all_or_all_but_the_errata():
    assert check_theory.choose_topics(None, True) == list(TOPICS)
    assert check_theory.choose_topics(None, False) == [
        name for name in TOPICS if name not in ERRATA
    ]
    assert check_theory.choose_topics(" potential , regret", True) == ["potential", "regret"]
    assert check_theory.choose_topics("errata", True) == list(ERRATA)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--only", ""), "--only needs at least one topic, got ''"),
        (("--only", " , "), "--only needs at least one topic, got ' , '"),
        (
            ("--only", "regret,E1", "--no-errata"),
            "--no-errata needs topics other than the errors of the paper in --only, got 'E1'",
        ),
        (
            ("--output", str(Path(__file__))),
            f"--output needs a folder, got {str(Path(__file__))!r}",
        ),
    ],
)
def test_contradictory_options_are_refused_before_the_simulation(
    arguments, sentence, monkeypatch, capsys
):
    monkeypatch.setattr(check_theory, "run_topics", lambda *given: pytest.fail("simulated"))
    assert exit_code(lambda: app(["check-theory", *arguments])) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"


def sleep_and_negate(seconds: float) -> float:
    time.sleep(seconds)
    return -seconds


def raise_error(item: float) -> float:
    raise ArithmeticError(f"no {item}")


@pytest.mark.thorough
def test_the_result_that_is_ready_first_comes_first():
    with process_mapper(2) as mapper:
        *early, last = map_as_completed(mapper, sleep_and_negate, [2.0, 0.1, 0.0])
    assert (sorted(early), last) == ([(0.0, 0.0), (0.1, -0.1)], (2.0, -2.0))
    assert list(map_as_completed(map, sleep_and_negate, [0.1, 0.0])) == [
        (0.1, -0.1),
        (0.0, 0.0),
    ]


@pytest.mark.thorough
def test_an_error_in_another_process_is_raised():
    with pytest.raises(ArithmeticError, match="no 1"), process_mapper(2) as mapper:
        list(map_as_completed(mapper, raise_error, [1, 1]))


@pytest.mark.thorough
def test_the_results_come_in_the_order_of_the_topics_for_any_number_of_workers():
    topics, effort = ["E1", "potential", "martingale"], Effort(scale=0.05)
    one, two = (check_theory.run_topics(topics, effort, workers, True) for workers in (1, 2))
    assert one == two
    assert list(dict.fromkeys(checked.topic for checked in one)) == topics


def test_help_says_how_often_a_correct_program_fails_by_chance():
    assert "below 1 %" in check_theory.HELP


def test_an_unknown_topic_is_a_usage_error_of_one_line(capsys):
    assert exit_code(lambda: app(["check-theory", "--only", "potential,nobody"])) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: check-theory needs topics in (")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [("--seed", "-1"), ("--format", "xml"), ("--workers", "0"), ("--nothing",)]
)
def test_wrong_options_end_with_code_two(arguments):
    assert invoked(*arguments).exit_code == 2


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [100, 120])
def test_the_table_fits_the_screen_for_any_number_of_workers(columns, tmp_path):
    workers = {100: "1", 120: "2"}[columns]
    done = command(
        "--quick", "--only", "potential,martingale", "--workers", workers, COLUMNS=str(columns)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert done.stdout.splitlines()[-1].endswith("statements: every verdict is as expected")
    assert done.stderr == ""


# Broken copies of the package

COPIES = {
    "sound": ("widths.py", "terms = (norm_bound, 2 * share", "terms = (norm_bound, 2.0 * share"),
    "wrong root of the determinant": (
        "widths.py",
        "math.log(1 / delta), share)",
        "math.log(1 / delta), 2 * share)",
    ),
    "sd squared in the posterior": (
        "posterior/base.py",
        "return np.sqrt(np.maximum(self.variance",
        "return (np.maximum(self.variance",
    ),
    "sd squared in the compiled loop": (
        "compiled.py",
        "np.sqrt(max(variance[i], 0.0))",
        "max(variance[i], 0.0)",
    ),
}


@pytest.fixture
def copied(tmp_path):
    """A copy of the package with one text replaced.

    Bytecode and compiled loops stay cached, unless their own file changes.
    """

    def copy(file: str, right: str, wrong: str) -> Path:
        package = tmp_path / "kernelbandits"
        shutil.copytree(SOURCE, package)
        text = (package / file).read_text()
        assert right in text, f"{file} has changed: give this test another text to break"
        (package / file).write_text(text.replace(right, wrong, 1))
        return tmp_path

    return copy


@pytest.mark.thorough
@pytest.mark.parametrize(
    "breakage",
    with_long(COPIES, [name for name in COPIES if name != "wrong root of the determinant"]),
)
def test_the_command_notices_a_broken_copy_of_the_package(breakage, copied):
    folder = copied(*COPIES[breakage])
    options = ("--quick", "--only", "potential,lower-bound,E9", "--workers", "1")
    environment = {"PYTHONPATH": str(folder)}
    if COPIES[breakage][0] == "compiled.py":
        # These few games take less time as plain Python than the compiler does for a new loop.
        environment |= {"NUMBA_DISABLE_JIT": "1"}
    done = command(*options, "--format", "json", **environment)
    wrong = [row for row in json.loads(done.stdout) if not row["as_expected"]]
    assert done.returncode == (0 if breakage == "sound" else 1), done.stderr
    assert bool(wrong) == (breakage != "sound")
    assert all("Error" not in row["observed"] for row in wrong)
