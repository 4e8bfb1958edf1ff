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
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import TrialState, create_trial

import kernelbandits as kb
from kernelbandits.calibration.unfinished import Curve, predict_final
from kernelbandits.optuna import KernelBanditSampler, PoolSampler
from kernelbandits.optuna.attributes import Attributes
from kernelbandits.optuna.study_reader import StudyReader

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestSomeCasesOfOptuna(MultiObjectiveSamplerTestCase):
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
    """Numbers, choices, a conditional parameter; trials 3 and 6 fail, 5 (which reported nothing), 9 and 12 are pruned."""
    x = trial.suggest_float("x", -5, 5)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    loss = (x - 1) ** 2 + (kind != "b") + abs(math.log(trial.suggest_int("n", 1, 64, log=True) / 8))
    if kind == "a":
        loss += trial.suggest_float("extra", 0, 1, step=0.25)
    if trial.number in (3, 6):
        raise RuntimeError("the pump stopped")
    if trial.number in (5, 9, 12):
        if trial.number != 5:
            trial.report(loss + 1, 1)
        raise optuna.TrialPruned
    if trial.number != 7:
        trial.report(loss + 1 + 0.1 * x, 1)
    return math.inf if trial.number == 8 else loss


def open_journal(place):
    """A storage in a file of lines, beside the databases."""
    return JournalStorage(JournalFileBackend(str(place)))


def open_database(place):
    return f"sqlite:///{place}"


def run_mixed(place, parts, open_storage=open_database):
    """Run trials in parts, each with a study loaded again and a new sampler."""
    for count in parts:
        study = optuna.create_study(
            storage=open_storage(place),
            study_name="mixed",
            load_if_exists=True,
            sampler=KernelBanditSampler(seed=3),
        )
        study.optimize(mixed, n_trials=count, catch=(RuntimeError,))
    return study


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
@pytest.mark.parametrize("open_storage", [open_database, open_journal])
def test_a_resumed_study_continues_as_if_it_had_not_been_interrupted(tmp_path, open_storage):
    whole = run_mixed(tmp_path / "whole", [16], open_storage)
    parts = run_mixed(tmp_path / "parts", [8, 1, 3, 4], open_storage)
    assert [trial.params for trial in parts.trials] == [trial.params for trial in whole.trials]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_fits_are_stored_in_small_parts_and_taken_by_another_process(tmp_path, monkeypatch):
    study = run_mixed(tmp_path / "study.db", [14])
    kept = study._storage.get_study_system_attrs(study._study_id)
    ours = [json.dumps(one) for key, one in kept.items() if key.startswith("kernelbandits:")]
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


def test_a_value_that_is_too_large_is_not_stored_and_one_of_another_name_is_not_read():
    study = optuna.create_study(sampler=KernelBanditSampler(seed=0))
    attributes = Attributes(study)
    assert attributes.write("fit:3", "quoted", ['"'] * 2000)
    assert Attributes(study).read("fit:3", "quoted") == ['"'] * 2000
    assert not attributes.write("fit:4", "long", "x" * 20_000)
    assert attributes.read("fit:4", "long") is None
    # A shorter value replaces the first parts only; what is left of the other one is not read.
    assert Attributes(study).write("fit:3", "short", [1])
    assert Attributes(study).read("fit:3", "short") == [1]
    assert Attributes(study).read("fit:3", "quoted") is None


def test_parts_of_two_writers_are_not_joined():
    study = optuna.create_study()
    first, second = Attributes(study), Attributes(study)
    assert first.write("fit:0", "a", ["x"] * 1000)
    kept = dict(study._storage.get_study_system_attrs(study._study_id))
    assert second.write("fit:0", "a", ["y"] * 1000)
    study._storage.set_study_system_attr(
        study._study_id, "kernelbandits:fit:0:0", kept["kernelbandits:fit:0:0"]
    )
    assert Attributes(study).read("fit:0", "a") is None


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_the_table_of_trials_has_the_columns_of_other_samplers():
    tables = [
        best_after(sampler, two_sides, 8).trials_dataframe()
        for sampler in (KernelBanditSampler(seed=1), optuna.samplers.RandomSampler(seed=1))
    ]
    assert list(tables[0].columns) == list(tables[1].columns)


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
    assert (
        sum("a pruned trial that reported nothing teaches nothing" in text for text in texts) == 1
    )
    assert sum("has the value inf" in text for text in texts) == 1


def slow_hill(trial):
    """After the first three, all but every fourth trial are pruned."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.report(x, step=1)
    if trial.number % 4 and trial.number > 2:
        raise optuna.TrialPruned
    return (x - 0.3) ** 2 + (y - 0.8) ** 2


@pytest.mark.thorough
def test_a_pruned_trial_is_learnt_by_its_last_report_and_other_points_are_asked():
    sampler = KernelBanditSampler(seed=2)
    study = best_after(sampler, slow_hill, 31)
    [known] = sampler._policies.values()
    policy = known.objectives[0].policy
    # The first trial is known before the last one is asked for.
    assert (policy.n_rewards, policy.failed) == (30, [])
    values = {one.number: -one.value for one in known.objectives[0].known}
    completed = []
    for trial in study.trials[:30]:
        curve = Curve(trial.intermediate_values)
        if trial.state == TrialState.COMPLETE:
            completed.append(Curve(trial.intermediate_values, trial.value))
            assert values[trial.number] == trial.value
        else:
            assert values[trial.number] == pytest.approx(float(predict_final(curve, completed)))
    points = {tuple(trial.params.values()) for trial in study.trials}
    assert len(points) >= 24


def pruned_trial(reports, **given):
    """A trial that was pruned at x = 0.5, unless another one is given."""
    given = {"state": TrialState.PRUNED, "params": {"x": 0.5}} | given
    sides = {name: FloatDistribution(0, 1) for name in given["params"]}
    return create_trial(distributions=sides, intermediate_values=reports, **given)


def completed_trial(x, value, reports=None, **given):
    return pruned_trial(
        reports or {}, params={"x": x}, value=value, state=TrialState.COMPLETE, **given
    )


def read_all(trials, direction="minimize"):
    """The outcomes of trials, and the numbers of those pending."""
    study = optuna.create_study(direction=direction)
    study.add_trials(trials)
    reader = StudyReader("reader")
    outcomes = reader.read(study.trials, study.directions)
    own = study.ask()
    pending = reader.list_awaited(study.trials, study.trials[own.number], outcomes)
    return outcomes, [one.number for one in pending]


def test_a_trial_pruned_before_any_was_completed_is_pending_until_two_were():
    first = [pruned_trial({1: 2.0}), completed_trial(0.1, 0.5, {1: 1.0})]
    outcomes, pending = read_all(first)
    assert ([one.number for one, _ in outcomes.objectives[0]], pending) == ([1], [0])
    outcomes, pending = read_all([*first, completed_trial(0.2, 0.7, {1: 1.1})])
    told = [(trial.number, round(value, 6)) for trial, value in outcomes.objectives[0]]
    assert (told, pending) == ([(1, -0.5), (2, -0.7), (0, -1.55)], [])


def test_a_prediction_is_the_same_in_both_directions():
    trials = [completed_trial(0.1, 0.5, {1: 1.0}), completed_trial(0.2, 0.7, {1: 1.1})]
    down = read_all([*trials, pruned_trial({1: 3.0})])[0].objectives[0][-1][1]
    up = read_all([*trials, pruned_trial({1: 3.0})], "maximize")[0].objectives[0][-1][1]
    assert up == -down


def test_a_trial_pruned_at_nan_has_failed():
    trials = [completed_trial(0.1, 0.5, {1: 1.0}), completed_trial(0.2, 0.7, {1: 1.1})]
    with pytest.warns(
        kb.DataNotice, match="trial 2 was pruned at the value nan; it counts as fail"
    ):
        outcomes, pending = read_all([*trials, pruned_trial({1: 3.0, 2: math.nan})])
    assert outcomes.objectives[0][-1][1] is None
    assert pending == []


def test_a_pruned_trial_that_reported_nothing_stays_pending():
    trials = [completed_trial(0.1, 0.5, {1: 1.0}), completed_trial(0.2, 0.7, {1: 1.1})]
    with pytest.warns(kb.DataNotice, match="reported nothing teaches nothing"):
        outcomes, pending = read_all([*trials, pruned_trial({})])
    assert (len(outcomes.objectives[0]), pending) == (2, [2])


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
def test_silent_pruned_candidates_of_a_pool_are_neither_results_nor_failures():
    places = np.arange(30)
    sampler = PoolSampler(kernel=np.exp(-((places[:, None] - places) ** 2) / 18), seed=1)

    def objective(trial):
        row = sampler.suggest(trial)
        if row % 2:
            raise optuna.TrialPruned
        return (row - 12) ** 2

    study = best_after(sampler, objective, 20)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert sampler._policy.objectives[0].policy.failed == []
    assert sampler._policy.objectives[0].policy.n_rewards in (len(complete), len(complete) - 1)
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


def limited(trial):
    """A hill whose top is not allowed: x + y is at most 0.6."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_user_attr("excess", x + y - 0.6)
    return (x - 0.8) ** 2 + (y - 0.3) ** 2


def read_excess(trial):
    return (trial.user_attrs["excess"],)


@pytest.mark.thorough
def test_a_constraint_is_met_by_the_best_trial_and_by_most_of_the_last():
    sampler = KernelBanditSampler(seed=1, constraints_func=read_excess)
    study = best_after(sampler, limited, 25)
    # The nearest allowed point is (0.55, 0.05), at the squared distance 0.125.
    feasible = [one.value for one in study.trials if one.user_attrs["excess"] <= 0]
    assert min(feasible) < 0.13
    assert sum(one.user_attrs["excess"] <= 0.01 for one in study.trials[15:]) >= 7
    assert study.trials[0].system_attrs["constraints"] == (study.trials[0].user_attrs["excess"],)
    free = best_after(KernelBanditSampler(seed=1), limited, 25)
    assert sum(one.user_attrs["excess"] <= 0.01 for one in free.trials[15:]) <= 2


def test_constraints_that_others_have_set_are_learnt_by_name():
    attributes = [{"constraints": [1.0, -1.0]}, {"constraints:heat": -2.0}, {}]
    trials = [
        completed_trial(0.1 * n, float(n), system_attrs=one) for n, one in enumerate(attributes)
    ]
    trials.append(pruned_trial({}, system_attrs={"constraints": [0.5, 0.25]}))
    with pytest.warns(kb.DataNotice, match="reported nothing"):
        outcomes, _ = read_all(trials)
    told = {
        name: [(trial.number, value) for trial, value in told]
        for name, told in outcomes.constraints.items()
    }
    assert told == {"0": [(0, 1.0), (3, 0.5)], "1": [(0, -1.0), (3, 0.25)], "heat": [(1, -2.0)]}
    study = optuna.create_study(sampler=KernelBanditSampler(seed=0))
    study.add_trials(trials[:3])
    study.ask().suggest_float("x", 0, 1)
    [known] = study.sampler._policies.values()
    assert set(known.constraints) == {"0", "1", "heat"}


@pytest.mark.thorough
def test_a_constraint_of_one_branch_leaves_the_other_branches_alone():
    def objective(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            x = trial.suggest_float("x", 0, 1)
            # As Trial.set_constraint of newer versions does.
            trial.storage.set_trial_system_attr(trial._trial_id, "constraints:x", x - 0.5)
            return 1.0 - x
        return (trial.suggest_float("y", 0, 1) - 0.3) ** 2 + 0.2

    study = best_after(KernelBanditSampler(seed=2), objective, 24)
    assert [one.params["y"] for one in study.trials if "y" in one.params][-1] == pytest.approx(
        0.3, abs=0.05
    )


def test_an_infinite_constraint_fails_its_trial():
    with pytest.warns(kb.DataNotice, match="trial 0 has an infinite constraint; it counts as fail"):
        outcomes, _ = read_all(
            [completed_trial(0.1, 0.5, system_attrs={"constraints": [math.inf]})]
        )
    assert [value for _, value in outcomes.objectives[0]] == [None]
    assert outcomes.constraints == {}


@pytest.mark.parametrize("given", [(math.nan,), 0.5, "ab", ["0"]])
def test_constraints_are_a_list_of_numbers(given):
    sampler = KernelBanditSampler(seed=0, constraints_func=lambda trial: given)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(
        ValueError, match=r"constraints_func needs a list of numbers .* for trial 0"
    ):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(ValueError, match="needs a function as constraints_func, got 3"):
        KernelBanditSampler(constraints_func=3)


@pytest.mark.thorough
def test_a_pool_is_searched_within_constraints():
    places = np.arange(60)
    sampler = PoolSampler(
        kernel=np.exp(-((places[:, None] - places) ** 2) / 50),
        seed=1,
        constraints_func=lambda trial: (trial.params["candidate"] - 30,),
    )
    study = best_after(sampler, lambda trial: -sampler.suggest(trial), 20)
    feasible = [one.params["candidate"] for one in study.trials if one.params["candidate"] <= 30]
    assert max(feasible) >= 29


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


# ---------------------------------------------------------------- several objectives


def trade(trial):
    x = trial.suggest_float("x", 0, 4)
    y = trial.suggest_float("y", 0, 1)
    return -(x**2) - y, (x - 2) ** 2 + y


def play_trade(trials=14, **settings):
    sampler = KernelBanditSampler(seed=1, **settings)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(trade, n_trials=trials)
    return study, sampler


def test_the_front_of_two_objectives_is_found():
    study, sampler = play_trade(16)
    (known,) = sampler._policies.values()
    assert len(known.objectives) == 2
    best = study.best_trials
    assert len(best) >= 7
    assert min(one.params["x"] for one in best) < 0.4
    assert max(one.params["x"] for one in best) > 1.6
    assert np.mean([one.params["y"] for one in best]) < 0.1


def test_a_study_of_several_objectives_continues_exactly():
    whole = [one.params for one in play_trade(9)[0].trials]
    study, _ = play_trade(6)
    study.sampler = KernelBanditSampler(seed=1)
    study.optimize(trade, n_trials=3)
    assert [one.params for one in study.trials] == whole


def test_constraints_hold_on_the_front_too():
    study, sampler = play_trade(12, constraints_func=lambda trial: [1 - trial.params["x"]])
    (known,) = sampler._policies.values()
    assert list(known.constraints) == ["0"]
    assert np.mean([one.params["x"] >= 1 for one in study.trials[-5:]]) >= 0.6


def test_an_infinite_value_of_one_objective_fails_the_trial_in_all():
    study = optuna.create_study(directions=["minimize", "maximize"])
    distributions = {"x": FloatDistribution(0, 1)}
    for values in ([1.0, 2.0], [math.inf, 2.0]):
        study.add_trial(create_trial(params={"x": 0.5}, distributions=distributions, values=values))
    with pytest.warns(kb.DataNotice, match="trial 1 has the values .* counts as failed"):
        outcomes = StudyReader("reader").read(study.trials, study.directions)
    told = [[value for _, value in one] for one in outcomes.objectives]
    assert told == [[-1.0, None], [2.0, None]]


def test_a_pool_is_searched_for_the_front():
    sampler = PoolSampler(candidates=pd.DataFrame({"x": np.linspace(0, 1, 30)}), seed=1)
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=sampler)

    def measure(trial):
        x = sampler.suggest(trial)["x"]
        return -((x - 0.2) ** 2), -((x - 0.6) ** 2)

    study.optimize(measure, n_trials=14)
    assert len(study.best_trials) >= 8


def test_too_many_objectives_and_one_noise_for_several_are_refused():
    study = optuna.create_study(directions=["minimize"] * 5, sampler=KernelBanditSampler(seed=0))
    with pytest.raises(ValueError, match="at most 4 objectives, got 5"):
        study.ask({"x": FloatDistribution(0, 1)})
    sampler = KernelBanditSampler(seed=0, noise=0.1)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    with pytest.raises(ValueError, match="noise=0 or None for a study of several objectives"):
        study.ask({"x": FloatDistribution(0, 1)})
