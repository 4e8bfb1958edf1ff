"""A type checker sees what is wrong in a script of a user, and knows what comes back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCRIPT = '''
"""Lines with an ignore are mistakes: mypy complains about an ignore that ignores nothing."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pandas as pd

import kernelbandits as kb
from kernelbandits.experiment import CellResult, Results
from kernelbandits.study import Best, Status, Suggestion, Told

Array = npt.NDArray[np.float64]

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
study.tell(1, object())  # type: ignore[arg-type]

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
assert_type(policy.ask(1, kb.Streams(0)), kb.Choice[Array])
assert_type(policy.ask(1, kb.Streams(0)).x, Array)
assert_type(kb.Auto(kb.Box([0, 0], [1, 1])).ask().x, Array)
assert_type(kb.Auto([(0, 1)]).batch(2)[0].x, Array)
assert_type(kb.Auto(kb.Arms([[0.0], [1.0]])).recommend_choice().x, Array)
assert_type(kb.Auto(recipe).ask().x, dict[str, Any])
assert_type(kb.SimpleUCB(recipe, kb.RBF(1), noise_scale=0.1, norm_bound=1.0).choice({}).x, dict[str, Any])
kb.SimplUCB  # type: ignore[attr-defined]
'''

OWN = '''
"""A policy of one's own, and the packages beside which kernelbandits works."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import optuna
from gest_api.vocs import VOCS
from scipy.special import ndtri
from sklearn.svm import SVC

import kernelbandits as kb
from kernelbandits.gest import KernelBanditGenerator
from kernelbandits.optuna import KernelBanditSampler, PoolSampler
from kernelbandits.policies import UpperConfidence
from kernelbandits.policies.round import Round
from kernelbandits.sklearn import KernelBanditSearchCV, KernelRidgePosterior

Array = npt.NDArray[np.float64]


class BayesUCB(kb.Policy):
    """Play the largest quantile of the posterior, at level 1 - 1/(t + 1) in round t."""

    plays_boxes = restricts_arms = imagines_pending = weighs_costs = True

    def __init__(self, domain: Any, kernel: Any, *, ridge: float = 0.01, ties: str = "random") -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)

    def acquisition(self, now: Round) -> UpperConfidence:
        return UpperConfidence(weight=1.0, width=float(ndtri(1 - 1 / (now.t + 1))))


class LeastPlayed(kb.Policy[Array]):
    """Play the arm with the fewest rewards."""

    def __init__(self, domain: kb.Arms, kernel: Any) -> None:
        super().__init__(domain, kernel, ridge=0.01)

    def score_arms(self, t: int) -> Array:
        return -np.asarray(self.posterior.counts, dtype=np.float64)


class Cautious(kb.SimpleUCB):
    """A rule with another name."""


arms = kb.Arms([[0.0], [1.0]])
rule = BayesUCB(arms, kb.Matern(0.3))
choice: kb.Choice = rule.ask(1, kb.Streams(0), pending=[kb.Choice(x=[1.0], arm=1)])
rule.tell(choice, 0.5)
assert_type(LeastPlayed(arms, kb.RBF(0.2)).ask(1, kb.Streams(0)).x, Array)
assert_type(Cautious(arms, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0).ask(1, kb.Streams(0)).x, Array)
two = kb.Contender("two", Cautious, {"ridge": 2.0})
kb.run_experiment("branin", [BayesUCB, "random", two], horizon=3, seeds=2).plot("regret.pdf")
kb.optimize(lambda x: float(x[0]), [(0, 1)], 5, policy=rule)

sampler = kb.optuna.KernelBanditSampler(seed=1)
assert_type(sampler, KernelBanditSampler)
optuna.create_study(sampler=sampler).optimize(lambda trial: trial.suggest_float("x", -5, 5), 2)
assert_type(kb.optuna.PoolSampler(candidates={"x": [0.0, 1.0]}), PoolSampler)
space = {"C": kb.Real(1e-2, 1e3, log=True), "gamma": kb.Real(1e-4, 1, log=True)}
search = kb.sklearn.KernelBanditSearchCV(SVC(), space, n_iter=10, random_state=1)
assert_type(search, KernelBanditSearchCV)
assert_type(kb.sklearn.KernelRidgePosterior(), KernelRidgePosterior)


def suggest(vocs: VOCS) -> list[dict[str, Any]]:
    generator = kb.gest.KernelBanditGenerator(vocs, seed=1)
    assert_type(generator, KernelBanditGenerator)
    return generator.suggest(2)


kb.optuna.KernelBanditSampler(sed=1)  # type: ignore[call-arg]
kb.gest.Generators  # type: ignore[attr-defined]
'''

STRANGER = """
[mypy]
strict = True

# An installed package is not judged, and some packages have no types.
[mypy-kernelbandits.*]
ignore_errors = True
[mypy-gest_api.*,sklearn.*]
ignore_missing_imports = True
"""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with what a user might write: scripts, and the README in one."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    for name, text in (("script", SCRIPT), ("own", OWN), ("readme", "\n".join(blocks))):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.thorough
def test_a_strict_type_checker_accepts_right_scripts_and_sees_each_mistake(scripts):
    (scripts / "mypy.ini").write_text(STRANGER)
    # A cache that stays, so that only the scripts are new.
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "scripts")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *cache, "."],
        cwd=scripts,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "Success: no issues found in 3 source files\n", done.stdout + done.stderr


def test_pyright_accepts_right_scripts_and_sees_each_mistake(scripts):
    # An ignore that ignores nothing is a mistake that was not seen.
    settings = {
        "extraPaths": [str(ROOT / "src")],
        "pythonVersion": "3.11",
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    (scripts / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=scripts,
        env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    mistakes = [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert not mistakes, "\n".join(mistakes)
    assert report["summary"]["filesAnalyzed"] == 3
