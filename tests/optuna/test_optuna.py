"""The samplers for Optuna: equal seeds, resumed studies, running and unusual trials, pools."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState, create_trial

import kernelbandits as kb
from kernelbandits.optuna import KernelBanditSampler, PoolSampler
from kernelbandits.optuna.attributes import read_attribute, write_attribute

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestSomeCasesOfOptuna(SingleOnlySamplerTestCase):
    """The others run in `make test-versions`, on the oldest and the newest Optuna."""

    @pytest.fixture
    def sampler(self):
        return lambda: KernelBanditSampler(seed=0)

    test_single = BasicSamplerTestCase.test_sample_single_distribution
    test_nan = BasicSamplerTestCase.test_nan_objective_value
    test_partial = BasicSamplerTestCase.test_partial_fixed_sampling
    test_conditional = BasicSamplerTestCase.test_conditional_parameter_objective
    test_categories = RelativeSamplerTestCase.test_sample_relative_categorical


def mixed(trial):
    """Numbers, choices, a conditional parameter; trials 3 and 6 fail, trial 5 is pruned."""
    x = trial.suggest_float("x", -5, 5)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    loss = (x - 1) ** 2 + (kind != "b") + abs(math.log(trial.suggest_int("n", 1, 64, log=True) / 8))
    if kind == "a":
        loss += trial.suggest_float("extra", 0, 1, step=0.25)
    if trial.number in (3, 6):
        raise RuntimeError("the pump stopped")
    if trial.number == 5:
        raise optuna.TrialPruned
    return math.inf if trial.number == 8 else loss


def run_mixed(place, parts):
    """Run trials in parts, each with a study loaded again and a new sampler."""
    for count in parts:
        study = optuna.create_study(
            storage=f"sqlite:///{place}",
            study_name="mixed",
            load_if_exists=True,
            sampler=KernelBanditSampler(seed=3),
        )
        study.optimize(mixed, n_trials=count, catch=(RuntimeError,))
    return study


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_a_resumed_study_continues_as_if_it_had_not_been_interrupted(tmp_path):
    whole = run_mixed(tmp_path / "whole.db", [16])
    parts = run_mixed(tmp_path / "parts.db", [8, 1, 7])
    assert [trial.params for trial in parts.trials] == [trial.params for trial in whole.trials]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_fits_are_stored_in_small_parts_and_taken_by_another_process(tmp_path, monkeypatch):
    study = run_mixed(tmp_path / "study.db", [14])
    ours = [
        json.dumps(value)
        for trial in study.trials
        for key, value in trial.system_attrs.items()
        if key.startswith("kernelbandits:")
    ]
    assert ours
    assert max(map(len, ours)) < 2048
    expected = study.ask().suggest_float("x", -5, 5)
    again = optuna.load_study(
        storage=f"sqlite:///{tmp_path}/study.db",
        study_name="mixed",
        sampler=KernelBanditSampler(seed=3),
    )
    waiting = next(one for one in again.trials if one.state == TrialState.RUNNING)
    space = again.sampler.infer_relative_search_space(again, waiting)
    monkeypatch.setattr(
        "kernelbandits.calibration.fitter.Fitter.fit",
        lambda self, rewards: pytest.fail("a stored fit was made again"),
    )
    assert again.sampler.sample_relative(again, waiting, space)["x"] == expected


def test_a_value_that_is_too_large_is_not_stored():
    study = optuna.create_study(sampler=KernelBanditSampler(seed=0))
    study.ask()
    (trial,) = study.get_trials(deepcopy=False)
    assert write_attribute(study, trial, "quoted", ['"'] * 2000)
    assert read_attribute(study.trials[0], "quoted") == ['"'] * 2000
    assert not write_attribute(study, trial, "long", "x" * 20_000)
    assert read_attribute(study.trials[0], "long") is None


def two_sides(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2


def best_after(sampler, objective, n_trials, direction="minimize"):
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return study


@pytest.mark.thorough
def test_it_finds_a_minimum_and_a_maximum_by_the_same_trials():
    down = best_after(KernelBanditSampler(seed=1), two_sides, 20)
    up = best_after(KernelBanditSampler(seed=1), lambda trial: -two_sides(trial), 20, "maximize")
    assert [trial.params for trial in up.trials] == [trial.params for trial in down.trials]
    assert down.best_value < 1e-3
    random = best_after(optuna.samplers.RandomSampler(seed=1), two_sides, 20)
    assert down.best_value < random.best_value / 5


@pytest.mark.thorough
def test_running_trials_of_other_processes_are_pending(tmp_path):
    """Another process sees the suggestion before the objective has taken its parameters."""
    url = f"sqlite:///{tmp_path}/study.db"
    sampler = KernelBanditSampler(seed=1)
    study = optuna.create_study(storage=url, study_name="s", sampler=sampler)
    study.optimize(two_sides, n_trials=8)
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    chosen = []
    for _ in range(3):
        worker = optuna.load_study(storage=url, study_name="s", sampler=KernelBanditSampler(seed=1))
        worker.ask()
        trial = worker.trials[-1]
        chosen.append(tuple(worker.sampler.sample_relative(worker, trial, space).values()))
    apart = [math.dist(a, b) for a in chosen for b in chosen if a is not b]
    assert min(apart) > 1e-3


def test_independent_values_belong_to_seed_trial_and_name():
    study, sampler = optuna.create_study(), KernelBanditSampler(seed=4)
    side = FloatDistribution(1e-4, 1.0, log=True)
    trials = [create_trial(params={}, distributions={}, value=0.0) for _ in range(2)]
    trials[0].number, trials[1].number = 0, 1
    drawn = {
        (trial.number, name): sampler.sample_independent(study, trial, name, side)
        for trial in trials
        for name in ("a", "b")
    }
    assert len(set(drawn.values())) == 4
    again = pickle.loads(pickle.dumps(copy.deepcopy(sampler)))
    assert again.sample_independent(study, trials[1], "b", side) == drawn[1, "b"]


@pytest.mark.thorough
def test_unusual_trials_are_said_once(tmp_path):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", kb.DataNotice)
        run_mixed(tmp_path / "study.db", [11])
    texts = [str(one.message) for one in seen if issubclass(one.category, kb.DataNotice)]
    assert sum("pruned trials are neither results nor failures" in text for text in texts) == 1
    assert sum("has the value inf" in text for text in texts) == 1


def slow_hill(trial):
    """After the first three, all but every fourth trial are pruned."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.report(x, step=1)
    if trial.number % 4 and trial.number > 2:
        raise optuna.TrialPruned
    return (x - 0.3) ** 2 + (y - 0.8) ** 2


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_a_pruned_trial_is_neither_a_result_nor_a_failure_and_its_point_is_not_asked_again():
    sampler = KernelBanditSampler(seed=2)
    study = best_after(sampler, slow_hill, 31)
    [known] = sampler._policies.values()
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert (known.policy.n_rewards, known.policy.failed) == (len(complete), [])
    points = np.array([list(trial.params.values()) for trial in study.trials])
    pruned = [trial.number for trial in study.get_trials(states=(TrialState.PRUNED,))]
    gaps = [
        np.abs(points[number + 1 :] - points[number]).max(-1).min()
        for number in pruned
        if number + 1 < len(points)
    ]
    assert min(gaps) > 1e-4


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_pruned_candidates_of_a_pool_are_neither_results_nor_failures():
    places = np.arange(30)
    sampler = PoolSampler(kernel=np.exp(-((places[:, None] - places) ** 2) / 18), seed=1)

    def objective(trial):
        row = sampler.suggest(trial)
        if row % 2:
            raise optuna.TrialPruned
        return (row - 12) ** 2

    study = best_after(sampler, objective, 20)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert sampler._policy.policy.failed == []
    assert sampler._policy.policy.n_rewards in (len(complete), len(complete) - 1)
    pruned = [trial.params["candidate"] for trial in study.get_trials(states=(TrialState.PRUNED,))]
    # Some may be suggested again, but the sampler does not stay there.
    assert len(pruned) - 3 <= len(set(pruned)) > 5
    assert study.best_params["candidate"] == 12


@pytest.mark.thorough
def test_a_changed_range_is_searched_by_the_trials_within_it():
    study = best_after(KernelBanditSampler(seed=1), two_sides, 8)

    def narrower(trial):
        x, y = trial.suggest_float("x", 0.2, 0.4), trial.suggest_float("y", 0, 1)
        return (x - 0.3) ** 2 + (y - 0.8) ** 2

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", kb.DataNotice)
        study.optimize(narrower, n_trials=6)
    texts = " ".join(str(one.message) for one in seen)
    assert "the range of 'x' has changed" in texts
    assert "trials outside the range of x, y are not used" in texts
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert space["x"] == FloatDistribution(0.2, 0.4)


def test_constraints_are_refused():
    with pytest.raises(ValueError, match="constraints"):
        KernelBanditSampler(constraints_func=lambda trial: (0.0,))
    study = optuna.create_study(sampler=KernelBanditSampler(seed=0))
    study.add_trial(
        create_trial(
            params={"x": 0.5},
            distributions={"x": FloatDistribution(0, 1)},
            value=1.0,
            system_attrs={"constraints": [1.0]},
        )
    )
    with pytest.raises(ValueError, match="without constraints, got them in trial 0"):
        study.ask().suggest_float("x", 0, 1)


def ring(size):
    """The weights of the edges of a ring."""
    return np.roll(np.eye(size), 1, axis=0) + np.roll(np.eye(size), -1, axis=0)


@pytest.mark.thorough
@pytest.mark.parametrize("given", ["graph", "kernel"])
def test_a_pool_is_searched_by_its_similarity(given):
    """60 nodes and 14 trials: drawing nodes at random finds one of three with probability 0.53."""
    graph = ring(60)
    pool = graph if given == "graph" else kb.kernels.graph_matern(graph)

    def search(seed):
        sampler = PoolSampler(**{given: pool}, seed=seed)

        def height(trial):
            return math.cos((sampler.suggest(trial) - 17) / 60 * 2 * math.pi)

        return best_after(sampler, height, 14, "maximize").best_params["candidate"]

    assert all(abs(search(seed) - 17) <= 1 for seed in range(3))


@pytest.mark.thorough
def test_a_table_is_searched_row_by_row_and_measures_again_under_noise():
    table = pd.DataFrame(
        {"acid": ["a", "b", "c"] * 4, "heat": np.repeat([20.0, 40.0, 60.0, 80.0], 3)}
    )
    sampler = PoolSampler(candidates=table, seed=1)
    noise = np.random.default_rng(1)

    def score(trial):
        row = sampler.suggest(trial)
        return (row["acid"] == "b") - abs(row["heat"] - 60) / 50 + 0.3 * noise.normal()

    study = best_after(sampler, score, 25, "maximize")
    assert sampler.rows[study.best_params["candidate"]]["acid"] == "b"
    assert len({trial.params["candidate"] for trial in study.trials}) < 25
    with pytest.raises(ValueError, match="needs the parameter 'candidate' from 0 to 11"):
        study.ask().suggest_float("other", 0, 1)


def test_a_pool_needs_one_description():
    with pytest.raises(ValueError, match="one of kernel, graph and candidates"):
        PoolSampler(kernel=np.eye(3), graph=np.eye(3))
    with pytest.raises(ValueError, match="symmetric"):
        PoolSampler(kernel=[[1.0, 0.5], [0.2, 1.0]])


@pytest.mark.parametrize(
    "suggest",
    [
        lambda trial: trial.suggest_float("x", -1e308, 1e308) / 1e308,
        lambda trial: trial.suggest_float("x", 1.0, 1.0 + 1e-15),
        lambda trial: trial.suggest_int("x", -(2**60), 2**60) / 2**60,
    ],
    ids=["long", "short", "whole"],
)
def test_a_range_that_no_model_can_have_is_drawn_at_random_with_a_notice(suggest):
    study = optuna.create_study(sampler=KernelBanditSampler(seed=1))
    with pytest.warns(kb.DataNotice, match="'x' is too long or too short for a model"):
        study.optimize(lambda trial: suggest(trial) + trial.suggest_float("y", 0, 1), n_trials=4)
    assert len({trial.params["x"] for trial in study.trials}) > 2
    assert all(-1 <= suggest(trial) <= 1 + 1e-9 for trial in study.trials)
