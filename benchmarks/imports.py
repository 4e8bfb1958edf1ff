"""Import time of kernelbandits, as a multiple of numpy + scipy.linalg + scipy.special."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

from benchmarks import tables
from benchmarks.rows import Goal, Row

PROCESSES = 15
BASE = "import numpy, scipy.linalg, scipy.special"
STATEMENTS: dict[str, tuple[str, Goal | None]] = {
    "import kernelbandits": ("import kernelbandits", Goal("<=", 1.5)),
    "import and first ask of SimpleUCB": (
        "import kernelbandits as kb; "
        "arms = [[0.0], [0.5], [1.0]]; "
        "policy = kb.SimpleUCB(arms, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0); "
        "policy.ask(1, kb.Streams(0))",
        Goal("<=", 1.5),
    ),
    "import and all names of policies, kernels, laws and problems": (
        "import kernelbandits as kb; kb.Auto, kb.policy, kb.problem",
        Goal("<=", 1.5),
    ),
    "import and kb.run_experiment": ("import kernelbandits as kb; kb.run_experiment", None),
    "import and kb.Study": ("import kernelbandits as kb; kb.Study", None),
}
"""The package imports its parts when they are first used, so the rows below the first count too."""


def run() -> None:
    """Measure every statement beside the base, print the table and write results/imports.*."""
    tables.measure("imports", "Import time", {"imports": import_rows}, {"processes": PROCESSES})


def import_rows() -> list[Row]:
    """Seconds of fresh interpreters, one statement after the other (A B C A B C ...)."""
    code = {"base": BASE, **{name: statement for name, (statement, _) in STATEMENTS.items()}}
    seconds: dict[str, list[float]] = {name: [] for name in code}
    for repeat in range(PROCESSES + 1):
        for name, statement in code.items():
            taken = seconds_of(statement)
            # The first turn compiles the bytecode and warms the disk.
            if repeat:
                seconds[name].append(taken)
    return [row_of(name, seconds[name], seconds["base"]) for name in STATEMENTS]


def seconds_of(statement: str) -> float:
    """Return how long a statement takes in a fresh interpreter that keeps its bytecode."""
    code = (
        f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    )
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)


def row_of(name: str, ours: list[float], base: list[float]) -> Row:
    """The median of the ratios, pair by pair, so that a busy machine slows both."""
    ratio = median(mine / other for mine, other in zip(ours, base, strict=True))
    note = f"{1e3 * median(ours):.0f} ms, base {1e3 * median(base):.0f} ms"
    details = {"seconds": median(ours), "base_seconds": median(base)}
    return Row(name, ratio, "x", STATEMENTS[name][1], note, details)
