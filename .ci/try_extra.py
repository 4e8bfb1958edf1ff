"""A small program for each extra of the package, run where the wheel and this extra are installed.

python try_extra.py --list
python try_extra.py optuna
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import metadata, version
from pathlib import Path

import numpy as np
import pandas as pd

import kernelbandits as kb

DEVELOPMENT = {"test", "cluster-test", "browser", "package", "lint", "docs", "bench", "rivals"}
"""Extras for those who work on the package itself."""
HEAVY = (
    "torch",
    "numba",
    "optuna",
    "sklearn",
    "matplotlib",
    "fastapi",
    "psycopg",
    "gest_api",
    "mcp",
)
"""What the package alone does not bring."""


def try_none(folder: Path) -> None:
    found = [name for name in HEAVY if importlib.util.find_spec(name)]
    assert not found, f"the package alone needs no {found}"
    assert version("kernelbandits") == kb.__version__
    outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), [(0, 1)], 12)
    assert abs(outcome.x[0] - 0.3) < 0.1, outcome
    with kb.Study.create(folder / "a.db", np.eye(3), target="y") as study:
        [asked] = study.ask()
        study.tell(asked.trial, 1.0)
        assert study.best().row == asked.row
    for extra in ("optuna", "sklearn", "gest"):
        said = error_of(lambda name=extra: getattr(kb, name))
        assert f'pip install ".[{extra}]"' in said, said


def error_of(call: Callable[[], object]) -> str:
    """What a call says that must fail."""
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("a call that needs what is not there succeeded")


def try_experiments(folder: Path) -> None:
    small = ("--problem", "branin", "--policies", "simple-ucb,gp-ts", "--seeds", "2")
    command = [sys.executable, "-m", "kernelbandits", "run", *small, "--horizon", "20"]
    subprocess.run([*command, "--output", "run"], check=True, capture_output=True, cwd=folder)
    assert (folder / "run" / "regret.png").stat().st_size


def try_cluster(folder: Path) -> None:
    from kernelbandits.experiment import dask_mapper

    game = {"horizon": 10, "seeds": 2}
    here = kb.run_experiment("branin", "simple-ucb", **game)
    with dask_mapper("local", workers=1) as mapper:
        there = kb.run_experiment("branin", "simple-ucb", mapper=mapper, **game)
    regrets = [results["branin", "Simple-UCB"].regret for results in (here, there)]
    assert np.array_equal(*regrets)


def try_postgres(folder: Path) -> None:
    # There is no server here: the driver is found, and says that nobody answers.
    said = error_of(lambda: kb.Study.open("postgresql://nobody@127.0.0.1:1/none?study=a"))
    assert "[postgres]" not in said, said


def try_excel(folder: Path) -> None:
    table = pd.DataFrame({"heat": [20.0, 40.0, 60.0]})
    table.to_excel(folder / "a.xlsx", index=False)
    with kb.Study.create(folder / "a.db", folder / "a.xlsx", target="y") as study:
        study.tell(row=1, value=0.5)
        study.export(folder / "b.xlsx")


def try_parquet(folder: Path) -> None:
    pd.DataFrame({"heat": [20.0, 40.0, 60.0]}).to_parquet(folder / "a.parquet")
    with kb.Study.create(folder / "a.db", folder / "a.parquet", target="y") as study:
        study.tell(row=1, value=0.5)
        study.export(folder / "b.parquet")


def try_lab(folder: Path) -> None:
    from kernelbandits.apps.web.access import Access
    from kernelbandits.apps.web.app import build_app
    from kernelbandits.apps.web.library import find_shelf

    kb.Study.create(folder / "a.db", np.eye(3), target="y").close()
    access = Access(folder / "state")
    guard = build_app(find_shelf(str(folder)), access, ["127.0.0.1:8765"], port=8765)
    library = guard.app.state.lab.library
    assert library.study("a").target == "y"
    library.close()


def try_optuna(folder: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=kb.optuna.KernelBanditSampler(seed=1))
    study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, n_trials=12)
    assert abs(study.best_params["x"] - 2) < 1, study.best_params


def try_sklearn(folder: Path) -> None:
    from sklearn.linear_model import Ridge

    x = np.linspace(0, 1, 30)[:, None]
    space = {"alpha": kb.Real(1e-3, 1e3, log=True)}
    search = kb.sklearn.KernelBanditSearchCV(Ridge(), space, n_iter=4, random_state=1)
    assert search.fit(x, x[:, 0]).best_params_["alpha"] < 1


def try_gest(folder: Path) -> None:
    from gest_api.vocs import VOCS

    vocs = VOCS(variables={"x": [-1.0, 1.0]}, objectives={"f": "MINIMIZE"})
    generator = kb.gest.KernelBanditGenerator(vocs, seed=1)
    [point] = generator.suggest(1)
    generator.ingest([{**point, "f": 0.5}])


def try_mcp(folder: Path) -> None:
    from kernelbandits.apps.assistant import Assistant, build_server
    from kernelbandits.apps.client import LabClient

    # There is no lab here: the tools are described, and a call says that nobody answers.
    assistant = Assistant(LabClient("http://127.0.0.1:1", "token"))
    assert {"list", "status"} <= {tool.name for tool in assistant.list_tools()}
    assert build_server(assistant).name == "kernelbandits"
    said = error_of(lambda: assistant.call("status", {"study": "films"}))
    assert "refused" in said, said


PROGRAMS = {
    name.removeprefix("try_"): one for name, one in globals().items() if name.startswith("try_")
}


def list_extras() -> list[str]:
    """The extras of the installed package that are meant for users; each must have a program."""
    provided = set(metadata("kernelbandits").get_all("Provides-Extra") or ()) - DEVELOPMENT
    unknown = provided ^ (set(PROGRAMS) - {"none"})
    assert not unknown, f"try_extra.py needs a program for each extra, got a difference: {unknown}"
    return sorted(provided)


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*list_extras())
    else:
        with tempfile.TemporaryDirectory() as name:
            PROGRAMS[sys.argv[1]](Path(name))
        print(f"kernelbandits[{sys.argv[1]}]: works")
