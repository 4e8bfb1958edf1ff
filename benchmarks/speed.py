"""Speed of kernelbandits against C, scikit-learn and BoTorch, and of its processes, measured in one
run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.util import find_spec
from statistics import median

import numpy as np

from benchmarks import machine, native, refit, tables
from benchmarks.game import (
    HORIZON,
    POLICIES,
    Game,
    Outcome,
    ask_and_tell,
    demand_same,
    new_game,
    play_compiled,
    play_whole,
)
from benchmarks.processes import Run, python, watch_process
from benchmarks.rows import Goal, Row
from kernelbandits.problems.perovskite import DataUnavailable, perovskite_file

QUICK_HORIZON = 200
REPEATS, LOOP_REPEATS = 41, 201
PROCESSES = 7

Player = Callable[[Game], Outcome]


def interleave_runs(players: dict[str, Player], game: Game, repeats: int) -> dict[str, float]:
    """Microseconds a round of each player, the median over repeats in turn (A B A B ...) after one
    more."""
    times: dict[str, list[float]] = {name: [] for name in players}
    reference = play_compiled(game)
    for repeat in range(repeats + 1):
        for name, player in players.items():
            outcome = player(game)
            demand_same(reference, outcome, name)
            if repeat:
                times[name].append(outcome.seconds)
    return {name: 1e6 * median(taken) / game.horizon for name, taken in times.items()}


def loop_rows(quick: bool) -> list[Row]:
    """The compiled loop against loop.c, built as usual and with a sqrt that, like numba's, sets no
    errno."""
    if machine.compiler() == "not installed":
        return [
            Row("compiled loop / C", None, "x", Goal("<=", 1.5), "not measured: no C compiler `cc`")
        ]
    players = {
        "numba": play_compiled,
        "": native.build(),
        native.NO_ERRNO: native.build(native.NO_ERRNO),
    }
    measured = {
        title: interleave_runs(players, new_game(title), LOOP_REPEATS) for title in POLICIES
    }
    ratios = [
        loop_row(title, flag, us)
        for title, us in measured.items()
        for flag in ("", native.NO_ERRNO)
    ]
    return [*ratios, *(whole_row(title) for title in POLICIES)]


def loop_row(title: str, flag: str, us: dict[str, float]) -> Row:
    what = " ".join(f"compiled loop / C {flag}".split())
    note = f"{us['numba']:.3f} us a round, C {us[flag]:.3f}"
    details = {"compiled_us": us["numba"], "c_us": us[flag]}
    return Row(f"{what}, {title}", us["numba"] / us[flag], "x", Goal("<=", 1.5), note, details)


def whole_row(title: str) -> Row:
    us = interleave_runs({"kb.play": play_whole}, new_game(title), REPEATS)
    return Row(
        f"kb.play a round, {title}",
        us["kb.play"],
        "us",
        None,
        "compiled loop, drawing its tables, one audit",
    )


def ask_rows(quick: bool) -> list[Row]:
    """One Python `ask` and one `tell`."""
    return [ask_row(title) for title in POLICIES]


def ask_row(title: str) -> Row:
    us = interleave_runs({"ask and tell": ask_and_tell}, new_game(title), REPEATS)
    return Row(
        f"ask + tell, {title}", us["ask and tell"], "us", Goal("<=", 15), "50 arms, kb.Streams"
    )


def scikit_learn_rows(quick: bool) -> list[Row]:
    install = 'pip install ".[bench]"'
    return [refit_row("scikit-learn", "sklearn", refit.scikit_learn, quick, install)]


def botorch_rows(quick: bool) -> list[Row]:
    install = "pip install torch==2.13.0, then pip install botorch"
    return [refit_row("BoTorch", "botorch", refit.botorch, quick, install)]


def refit_row(
    name: str, module: str, predict: Callable[[], refit.Predict], quick: bool, install: str
) -> Row:
    """A refit in every round, once, and the compiled loop before and after.

    The goal is one of T = 1000.
    """
    what = f"{name} refit / compiled loop"
    if find_spec(module) is None:
        return Row(what, None, "x", Goal(">=", 10_000), f"not installed: {install}")
    game = new_game("Simple-UCB", QUICK_HORIZON if quick else HORIZON)
    predictor = predict()
    ours = [play_compiled(game) for _ in range(REPEATS)]
    theirs = refit.play(game, predictor, name)
    seconds = median(
        outcome.seconds for outcome in [*ours, *(play_compiled(game) for _ in range(REPEATS))]
    )
    same = float(np.mean(ours[0].arms == theirs.arms))
    times = f"{theirs.seconds:.1f} s against {1e3 * seconds:.2f} ms"
    note = f"T = {game.horizon}, once: {times}; {same:.1%} the same arms"
    goal = None if quick else Goal(">=", 10_000)
    details = {"theirs_seconds": theirs.seconds, "ours_seconds": seconds, "same_arms": same}
    return Row(what, theirs.seconds / seconds, "x", goal, note, details)


FIRST_ASK = """
import json, time
start = time.perf_counter()
import kernelbandits as kb
kb.SimpleBernoulli, kb.RBF, kb.Streams  # imports their modules
imported = time.perf_counter()
points = [[i / 50, i * i / 2500] for i in range(50)]
policy = kb.SimpleBernoulli(points, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
streams, built = kb.Streams(0), time.perf_counter()
policy.ask(1, streams)
asked = time.perf_counter()
print(json.dumps({"import": imported - start, "built": built - imported, "ask": asked - built}))
"""


def import_rows(quick: bool) -> list[Row]:
    """The import and the first `ask` of fresh processes, one more started before to warm the
    disk."""
    runs = [json.loads(python("-c", FIRST_ASK)) for _ in range(PROCESSES + 1)][1:]
    seconds = {name: median(run[name] for run in runs) for name in runs[0]}
    note = f"fresh process, median of {PROCESSES}"
    built = f"{note}; the policy of 50 arms took {1e3 * seconds['built']:.1f} ms to build"
    return [
        Row("import kernelbandits", seconds["import"], "s", Goal("<", 0.5), note, seconds),
        Row("first ask", 1e3 * seconds["ask"], "ms", Goal("<", 50), built, seconds),
    ]


PAPER = (sys.executable, "-m", "kernelbandits", "paper")
PAPER_GOALS: dict[str, tuple[float, float]] = {"--no-map": (15, 5), "": (45, 30)}
"""Seconds cold and warm, without the map and with it."""
WARM_RUNS = {"--no-map": 3, "": 1}


def paper_rows(quick: bool) -> list[Row]:
    """`kernelbandits paper`, first with an empty cache of compiled code, then with the one it
    left."""
    if watch_process([*PAPER, "--help"], os.environ).code:
        return [Row("kernelbandits paper", None, "s", None, "not measured: the command is missing")]
    options = ["--no-map"] if quick else list(PAPER_GOALS)
    return [row for option in options for row in paper_pair(option)]


def paper_pair(option: str) -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        cold, *warm = [paper(option, cache) for _ in range(1 + WARM_RUNS[option])]
    name = f"kernelbandits paper {option}".strip()
    cold_goal, warm_goal = PAPER_GOALS[option]
    return [
        time_run(f"{name}, cold", [cold], cold_goal),
        time_run(f"{name}, warm", warm, warm_goal),
        memory(f"{name}, memory", [cold, *warm]),
    ]


def paper(option: str, cache: str) -> Run:
    with tempfile.TemporaryDirectory() as output:
        arguments = [*option.split(), "--output", output, "--quiet"]
        return watch_process([*PAPER, *arguments], os.environ | {"NUMBA_CACHE_DIR": cache})


def time_run(what: str, runs: Sequence[Run], bound: float) -> Row:
    codes = [run.code for run in runs if run.code]
    if codes:
        return Row(what, None, "s", Goal("<=", bound), f"failed with code {codes[0]}")
    often = "once" if len(runs) == 1 else f"median of {len(runs)}"
    note = f"whole process, {often}, {problems_played()}"
    return Row(what, median(run.seconds for run in runs), "s", Goal("<=", bound), note)


def problems_played() -> str:
    """The command leaves a problem out where its data are not to be had, and is the faster for
    it."""
    try:
        perovskite_file()
    except DataUnavailable:
        return "4 of 5 problems: no perovskite data"
    return "all 5 problems"


def memory(what: str, runs: Sequence[Run]) -> Row:
    """The greatest of runs that succeeded."""
    peak = max((run.megabytes for run in runs if run.code == 0), default=0.0)
    return Row(
        what,
        peak or None,
        "MB",
        Goal("<", 500),
        "peak of all its processes, shared pages once (Pss)",
    )


SECTIONS: dict[str, Callable[[bool], list[Row]]] = {
    "loop": loop_rows,
    "ask": ask_rows,
    "sklearn": scikit_learn_rows,
    "botorch": botorch_rows,
    "import": import_rows,
    "paper": paper_rows,
}


def run(quick: bool = False, skip: Collection[str] = ()) -> None:
    """Measure every section, print the table and write results/speed.json and results/speed.md."""
    wanted = {name: section for name, section in SECTIONS.items() if name not in skip}
    sections = {name: partial(section, quick) for name, section in wanted.items()}
    tables.measure(
        "speed", "Speed", sections, {"quick": quick, "skipped": ", ".join(skip) or "nothing"}
    )
