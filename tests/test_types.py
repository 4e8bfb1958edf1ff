"""A type checker sees what is wrong in a script of a user, and knows what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCRIPT = '''
"""Lines with an ignore are mistakes: mypy complains about an ignore that ignores nothing."""

from typing import Any, assert_type

import numpy as np
import pandas as pd

import kernelbandits as kb
from kernelbandits.experiment import CellResult, Results
from kernelbandits.study import Best, Status, Suggestion, Told

Array = np.ndarray[Any, np.dtype[np.float64]]

# Studies
study = kb.Study.create("films.db", [[0.0], [1.0]], target="y", goal="earn", seed=1, noise=0.1)
kb.Study.create("films.db", [[0.0]], taret="y")  # type: ignore[call-arg]
kb.Study.create("films.db", [[0.0]], seed="one")  # type: ignore[arg-type]
kb.Study.create("films.db", [[0.0]], goal="fnid")  # type: ignore[arg-type]
kb.Study.create("films.db", [[0.0]], direction="up")  # type: ignore[arg-type]
study.change(tolerance=0.1, repeats=None)
study.change(tolerence=0.1)  # type: ignore[call-arg]
study.change(target="z")  # type: ignore[call-arg]
assert_type(study.ask(2), list[Suggestion])
assert_type(study.tell(1, 0.5), Told)
assert_type(study.best(), Best | None)
assert_type(study.status(), Status)
assert_type(study.estimates(), pd.DataFrame)
assert_type(study.to_dataframe(), pd.DataFrame)
study.best().mean  # type: ignore[union-attr]
study.tell(1, "0.5")  # type: ignore[arg-type]

# Experiments
results = kb.run_experiment("branin", "simple-ucb", horizon=5, seeds=2, noise_scale=0.1)
kb.run_experiment("branin", "simple-ucb", horizn=5)  # type: ignore[call-arg]
kb.run_experiment("branin", "simple-ucb", noise_scale="small")  # type: ignore[arg-type]
kb.run_experiment("branin", "simple-ucb", engine="gpu")  # type: ignore[arg-type]
assert_type(results, Results)
assert_type(results.summary(), pd.DataFrame)
assert_type(results["branin", "Simple-UCB"], CellResult)

# Functions: what the objective gets, and what is recommended, depends on the domain
def cost(x: Array) -> float:
    return float(x[0])


def mixed(x: dict[str, Any]) -> float:
    return float(x["heat"])


box = kb.Box((0.0,), (1.0,))
recipe = kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("citric", "acetic"))})
assert_type(kb.optimize(cost, box, 5).x.shape, tuple[Any, ...])
assert_type(kb.optimize(mixed, recipe, 5).x, dict[str, Any])
assert_type(kb.optimize(mixed, recipe, 5).trials[0].x, dict[str, Any])
kb.optimize(mixed, box, 5)  # type: ignore[arg-type]
kb.optimize(cost, recipe, 5)  # type: ignore[arg-type]
kb.optimize(cost, box, 5, ronds=3)  # type: ignore[call-overload]
kb.optimize(print, box, 5)  # type: ignore[arg-type]

# Policies
policy = kb.SimpleUCB(kb.Arms([[0.0], [1.0]]), kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0)
kb.SimpleUCB(kb.Arms([[0.0]]), kb.RBF(0.2), noise_scal=0.1, norm_bound=1.0)  # type: ignore[call-arg]
assert_type(policy.ask(1, kb.Streams(0)), kb.Choice)
kb.SimplUCB  # type: ignore[attr-defined]
'''


@pytest.mark.thorough
def test_a_strict_type_checker_accepts_a_right_script_and_sees_each_mistake(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # The cache of `make lint` is used, so that only the script is new.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", str(script)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": "src"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout + done.stderr
