"""Samplers for Optuna where pruners stop trials: KernelBanditSampler against TPESampler.

Every trial reports a value after each of 27 steps, and the pruner may stop it. Six tasks chose how
the final value of a pruned trial is predicted; the others judge. Real tasks train a model with
scikit-learn step by step. In the others the final value is a known function and the way there a
curve that depends on the point, so that curves cross. After 60 trials the best completed trial is
judged. The protocol is that of docs/decisions/0043.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.json_lines import append_object, read_objects
from benchmarks.samplers import RESULTS, make_study, sampler_version
from benchmarks.search.functions import FUNCTIONS
from kernelbandits.formatting import HALF_INTERVAL

ROWS, TABLE = RESULTS / "pruning.jsonl", RESULTS / "pruning.md"
TRIALS, STEPS, SEEDS = 60, 27, 4
OURS, TPE = SAMPLERS = ("KernelBanditSampler", "TPESampler")
PRUNERS = ("none", "median", "hyperband")
LEAST = 1e-3
"""What is added to a loss before its logarithm is taken."""

Curve = Callable[[Any], Iterator[float]]


# ---------------------------------------------------------------------- curves of known functions


@dataclass(frozen=True)
class Formula:
    """A function in shares of its range, and how a run comes to it."""

    function: str
    shape: str
    noise: float = 0.0

    def __call__(self, trial: Any) -> Iterator[float]:
        function = FUNCTIONS[self.function]
        sides = enumerate(zip(function.lower, function.upper, strict=True))
        x = np.array([trial.suggest_float(f"x{j}", low, high) for j, (low, high) in sides])
        unit = (x - function.lower) / (np.array(function.upper) - function.lower)
        low, high = range_of(self.function)
        final = (float(function.formula(x[None])[0]) - low) / (high - low)
        rng = np.random.default_rng([trial.number, 5])
        for step in range(1, STEPS + 1):
            done = step / STEPS
            noise = self.noise * rng.normal() * (1 - done)
            yield final + SHAPES[self.shape](done, unit, final) + noise


def fast(done: float, unit: Any, final: float) -> float:
    """An exponential decay whose speed depends on the first variable."""
    speed = 2 + 8 * unit[0]
    return float((1.2 - final) * (math.exp(-speed * done) - math.exp(-speed)))


def slow(done: float, unit: Any, final: float) -> float:
    """A power law whose start depends on the last variable: curves cross."""
    return float((0.2 + 0.8 * unit[-1]) * ((done * STEPS) ** -0.7 - STEPS**-0.7))


def late(done: float, unit: Any, final: float) -> float:
    """A plateau that all runs leave at some time of their own."""
    when = 0.1 + 0.6 * unit[0]
    return (1.0 - final) / (1 + math.exp(25 * (done - when))) * (1 - done)


def overfitted(done: float, unit: Any, final: float) -> float:
    """A minimum on the way, after which the value rises again."""
    return float(0.8 * (1 - done) ** 4 - 0.3 * unit[-1] * math.sin(math.pi * done))


def misled(done: float, unit: Any, final: float) -> float:
    """At first the better a run will be, the worse it is."""
    return (1 - done) ** 3 * (1 - 1.5 * final)


SHAPES = {shape.__name__: shape for shape in (fast, slow, late, overfitted, misled)}


@cache
def range_of(name: str) -> tuple[float, float]:
    """Return the minimum of a function and its median among random points."""
    function = FUNCTIONS[name]
    points = np.random.default_rng(1).uniform(
        function.lower, function.upper, (4096, len(function.lower))
    )
    return function.minimum, float(np.median(function.formula(points)))


# ---------------------------------------------------------------------- models that are trained


@cache
def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the rows to train on and those to judge by, all columns standardised."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))[:600]
    x, half = StandardScaler().fit_transform(x[order]), len(order) // 2
    y = y[order] if name != "diabetes" else (y[order] - 150.0) / 77.0
    return x[:half], y[:half], x[half:], y[half:]


def log_loss(model: Any, x: Any, y: Any) -> float:
    chances = model.predict_proba(x)
    own = chances[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.clip(own, 1e-6, 1)).mean())


def error_rate(model: Any, x: Any, y: Any) -> float:
    return float(1 - model.score(x, y))


def squared_error(model: Any, x: Any, y: Any) -> float:
    return float(min(((model.predict(x) - y) ** 2).mean(), 1e6))


def train(model: Any, data: str, loss: Callable[[Any, Any, Any], float]) -> Iterator[float]:
    """Train a model epoch by epoch."""
    x, y, x_test, y_test = load(data)
    classes = {} if data == "diabetes" else {"classes": np.unique(y)}
    for _ in range(STEPS):
        model.partial_fit(x, y, **classes)
        yield loss(model, x_test, y_test)


def grow(model: Any, data: str, loss: Callable[[Any, Any, Any], float]) -> Iterator[float]:
    """Grow an ensemble, three trees a step."""
    x, y, x_test, y_test = load(data)
    model.set_params(warm_start=True)
    for step in range(1, STEPS + 1):
        model.set_params(n_estimators=3 * step).fit(x, y)
        yield loss(model, x_test, y_test)


def sgd(data: str, loss: str, judge: Callable[[Any, Any, Any], float]) -> Curve:
    def curve(trial: Any) -> Iterator[float]:
        from sklearn.linear_model import SGDClassifier, SGDRegressor

        made = SGDRegressor if data == "diabetes" else SGDClassifier
        model = made(
            loss=loss,
            penalty="elasticnet",
            alpha=trial.suggest_float("alpha", 1e-7, 1.0, log=True),
            l1_ratio=trial.suggest_float("l1_ratio", 0.0, 1.0),
            learning_rate="invscaling",
            eta0=trial.suggest_float("eta0", 1e-5, 1.0, log=True),
            power_t=trial.suggest_float("power_t", 0.0, 1.0),
            random_state=0,
        )
        return train(model, data, judge)

    return curve


def network(data: str, judge: Callable[[Any, Any, Any], float]) -> Curve:
    def curve(trial: Any) -> Iterator[float]:
        from sklearn.neural_network import MLPClassifier, MLPRegressor

        made = MLPRegressor if data == "diabetes" else MLPClassifier
        model = made(
            hidden_layer_sizes=(trial.suggest_int("units", 4, 64, log=True),),
            activation=trial.suggest_categorical("activation", ["relu", "tanh"]),
            learning_rate_init=trial.suggest_float("rate", 1e-5, 0.3, log=True),
            alpha=trial.suggest_float("alpha", 1e-6, 10.0, log=True),
            batch_size=trial.suggest_int("batch", 8, 128, log=True),
            random_state=0,
        )
        return train(model, data, judge)

    return curve


def boosting(data: str, judge: Callable[[Any, Any, Any], float]) -> Curve:
    def curve(trial: Any) -> Iterator[float]:
        from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

        made = GradientBoostingRegressor if data == "diabetes" else GradientBoostingClassifier
        model = made(
            learning_rate=trial.suggest_float("rate", 1e-3, 1.0, log=True),
            max_depth=trial.suggest_int("depth", 1, 5),
            subsample=trial.suggest_float("subsample", 0.3, 1.0),
            min_samples_leaf=trial.suggest_int("leaf", 1, 30, log=True),
            random_state=0,
        )
        return grow(model, data, judge)

    return curve


def kinds(trial: Any) -> Iterator[float]:
    """Which model, and its parameters: a conditional space."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPClassifier

    if trial.suggest_categorical("model", ["linear", "network"]) == "linear":
        model: Any = SGDClassifier(
            loss="log_loss",
            alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
            random_state=0,
        )
    else:
        model = MLPClassifier(
            hidden_layer_sizes=(trial.suggest_int("units", 4, 64, log=True),),
            learning_rate_init=trial.suggest_float("rate", 1e-5, 0.3, log=True),
            random_state=0,
        )
    return train(model, "digits", log_loss)


CHOOSING: dict[str, Curve] = {
    "branin, fast": Formula("branin", "fast"),
    "hartmann3, slow": Formula("hartmann3", "slow", 0.02),
    "ackley3, late": Formula("ackley3", "late"),
    "rosenbrock3, misled": Formula("rosenbrock3", "misled", 0.02),
    "camel, overfitted": Formula("six-hump-camel", "overfitted", 0.02),
    "michalewicz2, fast": Formula("michalewicz2", "fast"),
    "styblinski-tang4, late": Formula("styblinski-tang4", "late", 0.02),
    "griewank3, slow": Formula("griewank3", "slow"),
    "sgd, digits": sgd("digits", "log_loss", log_loss),
    "network, cancer": network("breast_cancer", log_loss),
}
"""The tasks on which the prediction was chosen."""
JUDGING: dict[str, Curve] = {
    "log-beale, slow": Formula("log-beale", "slow"),
    "hartmann6, fast": Formula("hartmann6", "fast", 0.05),
    "shekel7, overfitted": Formula("shekel7", "overfitted"),
    "levy4, late": Formula("levy4", "late", 0.02),
    "mccormick, misled": Formula("mccormick", "misled"),
    "trid6, slow": Formula("trid6", "slow", 0.02),
    "sgd, cancer, errors": sgd("breast_cancer", "log_loss", error_rate),
    "sgd, diabetes": sgd("diabetes", "squared_error", squared_error),
    "network, digits": network("digits", log_loss),
    "network, diabetes": network("diabetes", squared_error),
    "network, wine": network("wine", log_loss),
    "boosting, diabetes": boosting("diabetes", squared_error),
    "boosting, cancer": boosting("breast_cancer", log_loss),
    "two models, digits": kinds,
}
"""The tasks that judge."""
TASKS = {**CHOOSING, **JUDGING}


# ---------------------------------------------------------------------- studies


@dataclass(frozen=True)
class Row:
    """One study of one sampler with one pruner."""

    task: str
    pruner: str
    sampler: str
    version: str
    seed: int
    value: float
    """The final value of the best completed trial."""
    completed: int
    """How many trials were not pruned."""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.pruner, self.sampler, self.version, self.seed


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seeds", type=int, default=SEEDS)
    command.add_argument("--tasks", nargs="+", default=[*JUDGING], choices=tuple(TASKS))
    command.add_argument("--pruners", nargs="+", default=PRUNERS, choices=PRUNERS)
    command.add_argument("--samplers", nargs="+", default=SAMPLERS, choices=SAMPLERS)
    command.add_argument(
        "--minutes", type=float, help="start no study later than this; 0 writes the table only"
    )


def run(given: argparse.Namespace) -> None:
    """Play what is missing, seed by seed, then write the table."""
    end = math.inf if given.minutes is None else time.monotonic() + 60 * given.minutes
    done = {Row(**fields).key for fields in read_objects(ROWS)}
    versions = {name: sampler_version(name) for name in given.samplers}
    plan = [
        (task, pruner, name, versions[name], seed)
        for seed in range(given.seeds)
        for task in given.tasks
        for pruner in given.pruners
        for name in given.samplers
    ]
    for key in plan:
        if time.monotonic() > end:
            break
        if key not in done:
            append_object(ROWS, asdict(play_study(*key)))
    TABLE.write_text(summarise([Row(**fields) for fields in read_objects(ROWS)]))


def play_study(task: str, pruner: str, name: str, version: str, seed: int) -> Row:
    import optuna

    made = {
        "none": optuna.pruners.NopPruner,
        "median": optuna.pruners.MedianPruner,
        "hyperband": partial(optuna.pruners.HyperbandPruner, max_resource=STEPS),
    }[pruner]
    # Hyperband finds the bracket of a trial by the name of the study, which is random if not given.
    study = optuna.create_study(
        study_name=f"{task} {seed}", sampler=make_study(name, seed).sampler, pruner=made()
    )
    for _ in range(TRIALS):
        play_trial(study, study.ask(), TASKS[task])
    completed = [one.value for one in study.trials if one.state == optuna.trial.TrialState.COMPLETE]
    return Row(task, pruner, name, version, seed, min(completed), len(completed))


def play_trial(study: Any, trial: Any, curve: Curve) -> None:
    """Run a trial until its end, or until the pruner stops it."""
    import optuna

    value = math.nan
    for step, value in enumerate(curve(trial), start=1):
        trial.report(value, step)
        if step < STEPS and trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            return
    study.tell(trial, value)


# ---------------------------------------------------------------------- the table


def summarise(rows: Sequence[Row]) -> str:
    """Return the table: mean losses over seeds, and the ratio of their geometric means."""
    # Of each study the row that was appended last.
    latest = {(row.task, row.pruner, row.sampler, row.seed): row.value for row in rows}
    lines = [
        "# Samplers where pruners stop trials",
        "",
        f"Mean loss of the best completed trial after {TRIALS} trials, over the seeds that both have "
        "played: its value above the least that any study found. Functions are in shares of the "
        "distance from their minimum to their median, models in their own loss. Trials report after "
        f"each of {STEPS} steps.",
        "",
        "| pruner | task | seeds | ours | TPE |",
        "|---|---|--:|--:|--:|",
    ]
    logs: dict[str, list[float]] = defaultdict(list)
    for pruner in PRUNERS:
        for task in JUDGING:
            losses = losses_of(latest, task, pruner)
            if losses is None:
                continue
            ours, theirs = (float(np.mean(one)) for one in losses)
            lines.append(f"| {pruner} | {task} | {len(losses[0])} | {ours:.4f} | {theirs:.4f} |")
            logs[pruner].append(math.log((ours + LEAST) / (theirs + LEAST)))
    lines += ["", "| pruner | tasks | ours / TPE | 95 % | better on |", "|---|--:|--:|---|--:|"]
    for pruner, ratios in logs.items():
        mean, count = float(np.mean(ratios)), len(ratios)
        half = HALF_INTERVAL * float(np.std(ratios, ddof=1)) / math.sqrt(count) if count > 1 else 0
        low, middle, high = (f"{math.exp(mean + one * half):.2f}" for one in (-1, 0, 1))
        better = sum(one < 0 for one in ratios)
        lines.append(f"| {pruner} | {count} | {middle} | {low} to {high} | {better} |")
    facts = machine.facts()
    lines += ["", f"Written {facts['date']}, {facts['processor']}, python {facts['python']}.", ""]
    return "\n".join(lines)


def losses_of(
    latest: dict[tuple[str, str, str, int], float], task: str, pruner: str
) -> tuple[list[float], list[float]] | None:
    """Return the losses of both samplers by seed; None before both have played one."""
    seeds = sorted(
        seed
        for name, how, sampler, seed in latest
        if (name, how, sampler) == (task, pruner, OURS) and (task, pruner, TPE, seed) in latest
    )
    if not seeds:
        return None
    least = min(value for (name, *_), value in latest.items() if name == task)
    ours, theirs = (
        [latest[task, pruner, sampler, seed] - least for seed in seeds] for sampler in SAMPLERS
    )
    return ours, theirs
