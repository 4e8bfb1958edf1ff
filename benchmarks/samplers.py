"""KernelBanditSampler against Optuna's GPSampler and TPESampler, each with its defaults.

Six functions that chose nothing in kernelbandits, and three tasks of tuning with scikit-learn, each
without noise and with noise. After 60 trials the best trial of the study is judged by its value
without noise.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.json_lines import append_object, read_objects
from benchmarks.search.functions import FUNCTIONS

RESULTS = Path(__file__).parent / "results"
ROWS, TABLE, TIMES = (RESULTS / f"samplers{end}" for end in (".jsonl", ".md", "_times.json"))
TRIALS, SEEDS = 60, 20
SAMPLERS = ("KernelBanditSampler", "GPSampler", "TPESampler")
BOXES = ("log-beale", "rastrigin2", "alpine3", "shekel7", "log-zakharov5", "trid6")
TUNING = ("svc-digits", "boosting-cancer", "models-diabetes")
NOISE = {**dict.fromkeys(BOXES, 0.05), **dict.fromkeys(TUNING, 0.01)}
"""The standard deviation of the noise: of functions in shares of their range."""
LEAST = {**dict.fromkeys(BOXES, 1e-6), **dict.fromkeys(TUNING, 1e-4)}
"""A smaller regret counts as this one in a geometric mean."""
TIMED = (100, 1000)
"""After how many finished trials a suggestion is timed."""

Objective = Callable[[Any], float]


@dataclass(frozen=True)
class Row:
    """One study of one sampler."""

    task: str
    noisy: bool
    sampler: str
    version: str
    seed: int
    value: float
    """The value of the best trial without noise; of a function its regret in shares of the range."""
    seconds: float
    """The median time of a suggestion, in seconds of the processor."""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.noisy, self.sampler, self.version, self.seed


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--tasks", nargs="+", default=[*BOXES, *TUNING], choices=tuple(NOISE))
    command.add_argument("--samplers", nargs="+", default=SAMPLERS, choices=SAMPLERS)
    command.add_argument(
        "--minutes", type=float, help="start no study later than this; 0 writes the table only"
    )
    command.add_argument("--times", action="store_true", help="time suggestions; no study")


def run(given: argparse.Namespace) -> None:
    """Play what is missing, seed by seed, then write the table."""
    if given.times:
        measure_times(given.samplers)
    else:
        end = math.inf if given.minutes is None else time.monotonic() + 60 * given.minutes
        play(given.tasks, given.samplers, given.seeds, end)
    write_table()


def play(tasks: Iterable[str], samplers: Iterable[str], seeds: int, end: float) -> None:
    done = {Row(**fields).key for fields in read_objects(ROWS)}
    versions = {name: sampler_version(name) for name in samplers}
    for seed in range(seeds):
        for task in tasks:
            for noisy in (False, True):
                for name, version in versions.items():
                    if (task, noisy, name, version, seed) in done:
                        continue
                    if time.monotonic() > end:
                        return
                    append_object(ROWS, asdict(play_study(task, noisy, name, version, seed)))


def play_study(task: str, noisy: bool, name: str, version: str, seed: int) -> Row:
    """The noise of a task, seed and trial is the same for every sampler."""
    study, objective = make_study(name, seed), find_objective(task)
    noise = NOISE[task] * np.random.default_rng([seed, 7]).normal(size=TRIALS) * noisy
    exact, seconds = [], []
    for number in range(TRIALS):
        trial = TimedTrial(study)
        exact.append(objective(trial))
        seconds.append(trial.seconds)
        study.tell(trial.trial, exact[-1] + float(noise[number]))
    best = exact[study.best_trial.number]
    return Row(task, noisy, name, version, seed, best, median(seconds))


def make_study(name: str, seed: int) -> Any:
    import optuna

    from kernelbandits.optuna import KernelBanditSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    made = KernelBanditSampler if name == SAMPLERS[0] else getattr(optuna.samplers, name)
    return optuna.create_study(sampler=made(seed=seed))


class TimedTrial:
    """A trial that adds up the processor time of `ask` and of its suggestions."""

    def __init__(self, study: Any) -> None:
        start = time.process_time()
        self.trial = study.ask()
        self.seconds = time.process_time() - start

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.trial, name)

        def timed(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            value = method(*given, **named)
            self.seconds += time.process_time() - start
            return value

        return timed


def find_objective(task: str) -> Objective:
    return regret_of(task) if task in BOXES else TUNED[task]


@cache
def regret_of(task: str) -> Objective:
    """(f(x) - min f) / (worst - min f), worst the greatest f among 2^16 Sobol points."""
    from scipy.stats import qmc

    function = FUNCTIONS[task]
    lower, upper = function.lower, function.upper
    points = qmc.scale(qmc.Sobol(len(lower), scramble=False).random_base2(16), lower, upper)
    worst = float(function.formula(points).max())

    def objective(trial: Any) -> float:
        sides = enumerate(zip(lower, upper, strict=True))
        x = [trial.suggest_float(f"x{j}", low, high) for j, (low, high) in sides]
        value = float(function.formula(np.array([x]))[0])
        return (value - function.minimum) / (worst - function.minimum)

    return objective


@cache
def load_data(name: str) -> tuple[Any, Any]:
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(x))[:400]
    return x[chosen], y[chosen]


def cross_validate(model: Any, data: str, scoring: str) -> float:
    from sklearn.model_selection import cross_val_score

    x, y = load_data(data)
    return -float(cross_val_score(model, x, y, cv=3, scoring=scoring).mean())


def tune_svc(trial: Any) -> float:
    """A support vector classifier of digits: two numbers on log scales."""
    from sklearn.svm import SVC

    cost = trial.suggest_float("C", 1e-3, 1e3, log=True)
    gamma = trial.suggest_float("gamma", 1e-6, 1.0, log=True)
    return 1 + cross_validate(SVC(C=cost, gamma=gamma), "digits", "accuracy")


def tune_boosting(trial: Any) -> float:
    """Boosted trees: whole numbers, a log scale, a share."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        learning_rate=trial.suggest_float("learning_rate", 1e-3, 1.0, log=True),
        n_estimators=trial.suggest_int("n_estimators", 5, 60),
        max_depth=trial.suggest_int("max_depth", 1, 5),
        subsample=trial.suggest_float("subsample", 0.3, 1.0),
        random_state=0,
    )
    return cross_validate(model, "breast_cancer", "neg_log_loss")


def tune_models(trial: Any) -> float:
    """Which model, and its parameters: a conditional space."""
    from sklearn.linear_model import ElasticNet
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    kind = trial.suggest_categorical("model", ["svr", "knn", "net"])
    model: Any
    if kind == "svr":
        cost = trial.suggest_float("C", 0.1, 1e4, log=True)
        gamma = trial.suggest_float("gamma", 1e-4, 1.0, log=True)
        model = SVR(C=cost, gamma=gamma)
    elif kind == "knn":
        weights = trial.suggest_categorical("weights", ["uniform", "distance"])
        model = KNeighborsRegressor(trial.suggest_int("neighbours", 1, 60), weights=weights)
    else:
        alpha = trial.suggest_float("alpha", 1e-4, 10.0, log=True)
        model = ElasticNet(alpha, l1_ratio=trial.suggest_float("l1_ratio", 0.0, 1.0))
    return 1 + cross_validate(make_pipeline(StandardScaler(), model), "diabetes", "r2")


TUNED: dict[str, Objective] = {
    "svc-digits": tune_svc,
    "boosting-cancer": tune_boosting,
    "models-diabetes": tune_models,
}


def measure_times(samplers: Iterable[str]) -> None:
    """Time a suggestion in four dimensions after 100 and 1000 random trials: the second and third.

    The first includes learning all trials at once; a sampler in use has learnt all but the last.
    """
    import optuna

    sides = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(4)}
    measured: dict[str, dict[str, float]] = {}
    for trials in TIMED:
        rng = np.random.default_rng(trials)
        points = rng.random((trials, 4))
        values = np.sin(5 * points).sum(1) + 0.05 * rng.normal(size=trials)
        for name in samplers:
            study = make_study(name, 0)
            for x, value in zip(points.tolist(), values.tolist(), strict=True):
                params = dict(zip(sides, x, strict=True))
                frozen = optuna.create_trial(params=params, distributions=sides, value=value)
                study.add_trial(frozen)
            seconds = []
            for _ in range(4):
                trial = TimedTrial(study)
                x = [trial.suggest_float(name, 0.0, 1.0) for name in sides]
                seconds.append(trial.seconds)
                study.tell(trial.trial, float(np.sin(5 * np.array(x)).sum()))
            measured.setdefault(name, {})[str(trials)] = median(seconds[1:])
            print(name, trials, [round(one, 4) for one in seconds], flush=True)
    import json

    TIMES.write_text(json.dumps({"seconds": measured, **machine.facts()}, indent=1) + "\n")


def sampler_version(name: str) -> str:
    import optuna

    from benchmarks.opponents import source_hash

    return source_hash() if name == SAMPLERS[0] else str(optuna.__version__)


def latest_rows() -> list[Row]:
    """Of each sampler, task and seed the row that was appended last."""
    rows = [Row(**fields) for fields in read_objects(ROWS)]
    return list({(row.task, row.noisy, row.sampler, row.seed): row for row in rows}.values())


def write_table() -> None:
    """Write median regrets, their ratios, and the goals that are met and missed."""
    from benchmarks.samplers_table import write

    write(latest_rows(), TABLE, TIMES)
