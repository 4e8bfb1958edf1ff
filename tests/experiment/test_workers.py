"""Worker processes: killed ones are replaced, and what cannot be done is refused with a sentence."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from conftest import run_command
from kernelbandits.catalogue import read_kernel
from kernelbandits.experiment import Cell, plan_experiment, process_mapper
from kernelbandits.experiment.workers import MOST_DEATHS, SpreadMapper
from kernelbandits.processes import WorkersLost

RUN = ["run", "--problem", "branin", "--policies", "simple-ucb,random", "--seeds", "2"]


def die_at_first(folder: Path, deadly: int, deaths: int, number: int) -> int:
    """The square of a number; the process is killed the first times it is given the deadly one."""
    if number == deadly:
        for death in range(deaths):
            try:
                (folder / f"{number}-{death}").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
    return number**2


@pytest.mark.thorough
def test_the_items_of_a_killed_worker_are_done_by_another(tmp_path):
    work = partial(die_at_first, tmp_path, 3, MOST_DEATHS - 1)
    with (
        pytest.warns(UserWarning, match="a worker process was killed") as caught,
        process_mapper(2) as mapper,
    ):
        assert list(mapper(work, list(range(8)))) == [number**2 for number in range(8)]
    assert len(caught) == MOST_DEATHS - 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "lines",
    [
        """
from kernelbandits.experiment import process_mapper
with process_mapper(2) as mapper:
    print(list(mapper(abs, [-1, -2])))
""",
        """
from kernelbandits.apps.cli import main
main(['check-theory', '--quick', '--only', 'E7,E12'])
""",
    ],
    ids=["mapper", "command"],
)
def test_a_script_that_starts_workers_on_import_is_told_so_in_a_sentence(tmp_path, lines):
    script = tmp_path / "unguarded.py"
    script.write_text(lines)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert "it starts them under `if __name__ == '__main__':`" in done.stderr
    assert "a mistake in kernelbandits itself" not in done.stderr
    assert "memory is short" not in done.stderr
    assert done.returncode in (1, 2)


def test_the_process_from_which_workers_are_forked_may_be_killed(monkeypatch):
    start, killed = multiprocessing.context.ForkServerProcess.start, []

    def start_once_killed(process):
        if len(killed) < MOST_DEATHS - 1:
            killed.append(process)
            # What the standard library raises if its fork server dies before it has answered.
            raise EOFError
        start(process)

    monkeypatch.setattr(multiprocessing.context.ForkServerProcess, "start", start_once_killed)
    with process_mapper(2) as mapper:
        assert list(mapper(abs, [-1, -2])) == [1, 2]
    assert len(killed) == MOST_DEATHS - 1


@pytest.mark.thorough
def test_cells_whose_workers_are_always_killed_are_named_after_all_others_are_done(tmp_path):
    plan = plan_experiment("branin", ["simple-ucb", "greedy", "random"], horizon=5, seeds=2)
    warnings.simplefilter("ignore")
    message = r"2 of 3 could not be played.* killed 4 times: Simple-UCB on branin, Uniform"
    with process_mapper(2) as mapper, pytest.raises(WorkersLost, match=message):
        list(mapper(partial(die_unless_greedy, tmp_path), plan))
    assert (tmp_path / "Greedy").exists()


def die_unless_greedy(folder: Path, cell: Cell) -> None:
    if cell.contender.policy != "greedy":
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / "Greedy").touch()


def rest(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.mark.thorough
def test_results_come_in_the_order_of_the_items_or_when_they_are_ready():
    times = [0.5, 0.0, 0.01]
    with process_mapper(2) as mapper:
        assert list(mapper(rest, times)) == times
        *early, last = mapper.as_completed(rest, times)
    assert (sorted(early), last) == ([(0.0, 0.0), (0.01, 0.01)], (0.5, 0.5))


def test_no_result_comes_in_the_place_of_another_when_a_run_is_interrupted():
    def interrupted(work, items):
        yield 1, "second"
        raise KeyboardInterrupt

    results = SpreadMapper(interrupted)(abs, [1, 2])
    with pytest.raises(KeyboardInterrupt):
        next(results)


def unsendable(number: int) -> object:
    return lambda: number


@pytest.mark.thorough
def test_a_mistake_in_a_worker_reaches_the_caller_with_its_traceback():
    with process_mapper(2) as mapper:
        with pytest.raises(ZeroDivisionError) as caught:
            list(mapper(partial(divmod, 1), [1, 0]))
        assert "In a worker process" in caught.value.__notes__[0]
        with pytest.raises(ValueError, match="results that can be sent"):
            list(mapper(unsendable, [1]))
        assert list(mapper(abs, [-1, -2, -3])) == [1, 2, 3]


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_a_run_whose_worker_is_killed_says_so_and_ends_with_the_same_results(tmp_path):
    words = [*RUN, "--horizon", "300", "--engine", "numpy"]
    assert run_command(*words, "--workers", 1, "--output", tmp_path / "alone").returncode == 0
    killer = threading.Thread(target=kill_a_child)
    killer.start()
    done = run_command(*words, "--workers", 2, "--output", tmp_path / "killed")
    killer.join()
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: a worker process was killed; another begins")
    rounds = [(tmp_path / name / "rounds.npz").read_bytes() for name in ("alone", "killed")]
    assert rounds[0] == rounds[1]


def kill_a_child() -> None:
    """Kill the first worker process of this process as soon as there is one."""
    deadline = time.monotonic() + 60
    while not (children := multiprocessing.active_children()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(children[0].pid, signal.SIGKILL)


def test_a_number_of_workers_that_no_machine_has_is_refused(tmp_path):
    for words in ([*RUN, "--horizon", "5"], ["paper", "--quick"], ["check-theory", "--quick"]):
        done = run_command(*words, "--workers", 99999999999, "--output", tmp_path / "out")
        assert done.returncode == 2
        needed = "error: --workers needs a whole number from 1 to 1024, got '99999999999'"
        assert done.stderr.startswith(needed)
    with (
        pytest.raises(ValueError, match="an experiment needs workers <= 1024, got 99999999999"),
        process_mapper(99999999999),
    ):
        pass
    assert not (tmp_path / "out").exists()


def test_links_that_point_to_each_other_are_refused_with_a_sentence(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "t.csv").write_text("x,y\n1,\n2,\n")
    table = ["--candidates", tmp_path / "t.csv", "--target", "y"]
    for words, code in (
        ([*RUN, "--horizon", "5", "--workers", 1, "--output", tmp_path / "a"], 74),
        (["study", "create", tmp_path / "a", *table], 2),
        (
            [
                "study",
                "create",
                tmp_path / "s.db",
                "--candidates",
                tmp_path / "a",
                "--target",
                "value",
            ],
            2,
        ),
        (["study", "ask", tmp_path / "a"], 2),
    ):
        done = run_command(*words)
        assert done.returncode == code
        assert done.stderr.startswith("error: ")
        assert "mistake" not in done.stderr


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--kernel", "+".join(["rbf:0.2"] * 5000), "at most 100 terms and factors, got 5000"),
        ("--kernel", "*".join(["rbf:0.2"] * 5000), "at most 100 terms and factors, got 5000"),
        ("--kernel", "on(" * 3000, "at most 100 brackets in each other, got 3000"),
        (
            "--policy",
            f"generic-gp:exploration={'mixture(' * 3000}",
            "at most 100 brackets in each other, got 3000",
        ),
    ],
    ids=["sum", "product", "brackets", "law"],
)
def test_a_kernel_or_law_of_thousands_of_terms_is_refused(tmp_path, option, text, sentence):
    done = run_command(*RUN, "--horizon", "5", option, text, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr) < 200


def test_a_kernel_of_a_hundred_terms_and_factors_can_be_read():
    kernel = read_kernel("+".join(["0.02*rbf:0.2"] * 50))
    assert kernel(np.array([[0.5]]), np.array([[0.5]])) == pytest.approx(1.0)
