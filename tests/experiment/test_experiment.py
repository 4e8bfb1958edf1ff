"""Cells, runners and their promises: same seed, same result, any number of workers, interrupted or not."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES
from kernelbandits.experiment import (
    Cell,
    CellResult,
    Contender,
    contender,
    play,
    play_cell,
    process_mapper,
    rounds,
)
from kernelbandits.experiment import cells as cell_module
from kernelbandits.experiment.blocks import SeedBlock, block_path
from kernelbandits.experiment.cells import UntrustedCell
from kernelbandits.experiment.runner import plan_experiment, run_cells, run_experiment
from kernelbandits.problems import GaussianNoise, Instance, StudentNoise, TableProblem

SMALL = {"horizon": 30, "seeds": 3, "noise_scale": 0.5, "norm_bound": 1.0}
TWO = ["simple-bernoulli", "gp-ts"]


def same(first: CellResult, second: CellResult) -> bool:
    return all(
        np.array_equal(first.arrays()[name], second.arrays()[name])
        for name in ("regret", "simple", "arms", "log_det")
    )


def small_cell(**changes: object) -> Cell:
    given = {"noise_scale": 1.0, "norm_bound": 1.0} | dict(changes)
    return Cell(
        kb.problem("branin"), Contender("UCB", "simple-ucb", given), kb.RBF(0.2), 20, (0, 1)
    )


def whole_block(cell: Cell) -> SeedBlock:
    return SeedBlock(cell, 0, len(cell.seeds))


def test_two_workers_give_bitwise_the_result_of_one():
    alone = run_experiment(["branin", "ackley4"], TWO, **SMALL)
    with process_mapper(2) as mapper:
        together = run_experiment(["branin", "ackley4"], TWO, mapper=mapper, **SMALL)
    assert all(same(alone[cell.name], together[cell.name]) for cell in alone.cells)


def test_an_interrupted_experiment_goes_on_from_its_cells_and_ends_the_same(tmp_path):
    def interrupt() -> None:
        if len(list(tmp_path.glob("*.npz"))) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(["branin", "ackley4"], TWO, folder=tmp_path, watch=interrupt, **SMALL)
    played: list[SeedBlock] = []

    def counting(work, blocks):
        played.extend(blocks)
        return map(work, blocks)

    resumed = run_experiment(["branin", "ackley4"], TWO, folder=tmp_path, mapper=counting, **SMALL)
    fresh = run_experiment(["branin", "ackley4"], TWO, **SMALL)
    assert len({block.cell.key for block in played}) == 2
    assert all(same(resumed[cell.name], fresh[cell.name]) for cell in fresh.cells)


def two_cells() -> tuple[Cell, Cell]:
    return small_cell(), small_cell(noise_scale=2.0)


def swap(first: Path, second: Path) -> None:
    content = first.read_bytes()
    second.replace(first)
    second.write_bytes(content)


def rewrite(file: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """Change the arrays of a stored cell as someone with numpy would: the archive stays sound."""
    with np.load(file) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(file, **arrays)


def halve(arrays: dict[str, np.ndarray]) -> None:
    """Keep the first seed of two."""
    for name in ("regret", "simple", "arms", "seconds", "log_det"):
        arrays[name] = arrays[name][:1]


def seal_again(arrays: dict[str, np.ndarray]) -> None:
    """Keep half of the seeds, with a checksum that fits them."""
    halve(arrays)
    names = ("regret", "simple", "arms", "seconds", "log_det")
    arrays["checksum"] = np.array(
        cell_module.cell_checksum(
            str(arrays["key"]), str(arrays["settings"]), {name: arrays[name] for name in names}
        )
    )


WRONG_FILES = {
    "swapped": (swap, "holds the result of another cell"),
    "halved": (lambda file, _: rewrite(file, halve), "was altered"),
    "of another shape": (lambda file, _: rewrite(file, seal_again), "needs arrays of the shapes"),
    "altered regret": (
        lambda file, _: rewrite(file, lambda arrays: arrays.update(regret=arrays["regret"] / 2)),
        "was altered",
    ),
    "altered settings": (
        lambda file, _: rewrite(file, lambda arrays: arrays.update(settings=np.array("{}"))),
        "was altered",
    ),
    "without a key": (lambda file, _: rewrite(file, lambda arrays: arrays.pop("key")), "damaged"),
    "cut": (lambda file, _: file.write_bytes(file.read_bytes()[:500]), "damaged"),
    "empty": (lambda file, _: file.write_bytes(b""), "damaged"),
    "no archive": (lambda file, _: file.write_bytes(b"not a zip at all"), "damaged"),
}


@pytest.mark.parametrize("wrong", WRONG_FILES)
@pytest.mark.parametrize("endings", [False, True])
def test_a_stored_cell_that_is_not_the_cell_is_named_and_played_again(tmp_path, wrong, endings):
    cells, (change, reason) = two_cells(), WRONG_FILES[wrong]
    whole = run_cells(cells, folder=tmp_path, endings=endings)
    files = [block_path(whole_block(cell), tmp_path, endings) for cell in cells]
    change(*files)
    with pytest.warns(kb.DataNotice, match=f"UCB on branin is played again: .*{reason}"):
        again = run_cells(cells, folder=tmp_path, endings=endings)
    assert all(same(again[cell.key], whole[cell.key]) for cell in cells)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored = run_cells(cells, folder=tmp_path, mapper=no_work, endings=endings)
    assert all(same(stored[cell.key], whole[cell.key]) for cell in cells)


def no_work(work, cells):
    assert not cells, "all cells are stored"
    return []


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_the_command_says_which_stored_cell_it_plays_again(tmp_path):
    from conftest import run_command

    game = ["--problem", "branin", "--policies", "simple-ucb,random", "--horizon", "5"]
    words = ["run", *game, "--seeds", "2", "--workers", "1", "--engine", "numpy"]
    assert run_command(*words, "--output", tmp_path / "first").returncode == 0
    settings = {"noise_scale": 1.0, "norm_bound": 1.0, "gain": "realised", "ties": "random"}
    plan = plan_experiment(
        "branin", ["simple-ucb", "random"], horizon=5, seeds=2, engine="numpy", **settings
    )
    run_cells(plan, folder=tmp_path / "again" / ".cells")
    swap(*(tmp_path / "again" / ".cells" / f"{cell.key}.npz" for cell in plan))
    done = run_command(*words, "--output", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert "Simple-UCB on branin is played again" in done.stderr
    tables = [(tmp_path / folder / "ranking.csv").read_text() for folder in ("first", "again")]
    assert tables[0] == tables[1]


def test_the_key_depends_on_all_that_decides_the_result_and_not_on_the_label():
    base = small_cell()
    other_label = Cell(
        base.problem,
        Contender("another", "simple-ucb", base.contender.settings),
        base.kernel,
        20,
        (0, 1),
    )
    changed = [
        small_cell(noise_scale=2.0),
        small_cell(ridge=0.5),
        Cell(kb.problem("branin", candidates=49), base.contender, base.kernel, 20, (0, 1)),
        Cell(base.problem, base.contender, kb.RBF(0.3), 20, (0, 1)),
        Cell(base.problem, base.contender, kb.Matern(0.2), 20, (0, 1)),
        Cell(base.problem, base.contender, base.kernel, 21, (0, 1)),
        Cell(base.problem, base.contender, base.kernel, 20, (0, 2)),
        Cell(base.problem, base.contender, base.kernel, 20, (0, 1), "numpy"),
    ]
    assert other_label.key == base.key == small_cell().key
    assert len({base.key, *(cell.key for cell in changed)}) == 1 + len(changed)


def test_a_curve_does_not_depend_on_its_company_or_on_later_rounds():
    alone = play_cell(small_cell())
    longer = Cell(kb.problem("branin"), small_cell().contender, kb.RBF(0.2), 35, (1, 0))
    result = play_cell(longer)
    np.testing.assert_array_equal(result.arms[::-1, :20], alone.arms)
    np.testing.assert_array_equal(result.regret[::-1, :20], alone.regret)


def test_regret_adds_up_the_gaps_of_the_arms_played():
    cell = small_cell()
    result = play_cell(cell)
    for row, seed in enumerate(cell.seeds):
        gaps = cell.problem.instance(kb.Streams(seed)).gaps
        np.testing.assert_allclose(result.regret[row], np.cumsum(gaps[result.arms[row]]))


def test_simple_regret_is_the_gap_of_the_greatest_estimate():
    problem, streams = kb.problem("branin"), kb.Streams(0)
    instance = problem.instance(streams)
    policy = kb.SimpleUCB(instance.domain, kb.RBF(0.2), noise_scale=1.0, norm_bound=1.0)
    recommended = [
        int(policy.posterior.mean.argmax()) for _ in rounds(policy, instance, 20, streams)
    ]
    np.testing.assert_allclose(play_cell(small_cell()).simple[0], instance.gaps[recommended])


def test_all_policies_of_a_seed_meet_the_same_noise():
    problem, streams = kb.problem("branin"), kb.Streams(3)
    instance = problem.instance(streams)
    noises = []
    for name in ("random", "simple-ucb"):
        settings = {} if name == "random" else {"noise_scale": 1.0, "norm_bound": 1.0}
        policy = kb.policy(name, instance.domain, kb.RBF(0.2), **settings)
        noises.append(
            [
                r.reward - instance.values[r.choice.arm]
                for r in rounds(policy, instance, 15, streams)
            ]
        )
    np.testing.assert_allclose(noises[0], noises[1], atol=1e-12)


def test_settings_shared_by_all_reach_only_the_policies_that_take_them():
    shared = {"noise_scale": 2.0, "norm_bound": 1.0, "delta": 0.01, "horizon": 50, "gain": "greedy"}
    family = contender("simple-ucb", {}, shared)
    rival = contender("igp-ucb", {}, shared)
    assert dict(family.settings) == {"noise_scale": 2.0, "norm_bound": 1.0}
    assert dict(rival.settings) == shared


@pytest.mark.parametrize(
    ("entrant", "told"),
    [
        ("auto", {"goal": "earn", "rounds": 70}),
        ("auto:goal=find", {"goal": "find", "rounds": 70}),
        ("auto:rounds=9", {"goal": "earn", "rounds": 9}),
    ],
)
def test_an_experiment_tells_auto_to_earn_and_for_how_many_rounds(entrant, told):
    """Without the horizon it would look ahead to another end, and its regret would be larger."""
    [cell] = plan_experiment("branin", entrant, horizon=70, seeds=1)
    policy = cell.contender.build(cell.problem.instance(kb.Streams(0)), None)
    assert {"goal": policy.goal, "rounds": policy.rounds} == told


def test_a_contender_says_its_own_settings_in_its_label():
    results = run_experiment("branin", ["simple-bernoulli:p=0.25", "simple-bernoulli"], **SMALL)
    assert results.labels == ("Simple-Bernoulli (p=0.25)", "Simple-Bernoulli")


@pytest.mark.thorough
def test_every_policy_of_the_catalogue_can_be_run_by_name_and_names_its_information_gain():
    names = [name for name in POLICIES if name != "generic-gp"]
    results = run_experiment("branin", [*names, "generic-gp:exploration=gaussian(0,1)"], **SMALL)
    assert len(results.labels) == len(POLICIES)
    assert all(np.isfinite(results[cell.name].regret).all() for cell in results.cells)
    assert all("gain" in results[cell.name].settings for cell in results.cells)
    assert results["branin", "IGP-UCB"].settings["gain"] == "realised"


def test_a_schedule_that_looks_at_the_history_plays_on_the_numpy_engine():
    certain = Contender(
        "Certain",
        "generic-gp",
        {"exploration": kb.Certainty(), "noise_scale": 1.0, "norm_bound": 1.0},
    )
    results = run_experiment("branin", certain, horizon=20, seeds=1)
    assert results["branin", "Certain"].settings["engine"] == "numpy"


def test_a_function_of_the_round_is_a_schedule_here_and_refused_with_a_sentence_by_other_processes():
    given = {"exploration": lambda t: kb.Bernoulli(1 / t), "noise_scale": 1.0, "norm_bound": 1.0}
    mine = [Contender("mine", "generic-gp", given), Contender("yours", "generic-gp", given)]
    assert run_experiment("branin", mine, horizon=10, seeds=1)["branin", "mine"].regret.shape == (
        1,
        10,
    )
    with process_mapper(2) as mapper, pytest.raises(ValueError, match="module level"):
        run_experiment("branin", mine, horizon=10, seeds=1, mapper=mapper)


def test_replicates_are_drawn_as_they_were_measured():
    domain = kb.Arms([[0.0], [1.0]])
    replicates = ((0.0, 0.2), (1.0,))
    from kernelbandits.problems import EmpiricalNoise

    instance = Instance("two", domain, [0.1, 1.0], EmpiricalNoise((-0.1, 0.1)), replicates)
    problem = TableProblem("two", "Two", ("x",), "y", instance)
    warnings.simplefilter("ignore", kb.DataNotice)
    policy = kb.policies.UniformRandom(domain, kb.RBF(0.5))
    rewards = {r.reward for r in rounds(policy, problem.instance(kb.Streams(0)), 60, kb.Streams(0))}
    assert rewards == {0.0, 0.2, 1.0}
    result = run_experiment(problem, "simple-ucb", horizon=10, seeds=2)
    assert result["two", "Simple-UCB"].settings["engine"] == "numpy"


def test_heavy_tailed_noise_runs_on_both_engines_with_the_same_arms():
    problem = kb.problem("branin", noise=StudentNoise(0.05, 2.5))
    results = [
        run_experiment(problem, "simple-gaussian", horizon=40, seeds=2, engine=engine)[
            "branin", "Simple-Gaussian"
        ]
        for engine in ("numba", "numpy")
    ]
    np.testing.assert_array_equal(results[0].arms, results[1].arms)


def test_one_round_and_one_seed_are_enough():
    results = run_experiment("branin", list(POLICIES)[1:], horizon=1, seeds=1)
    table = results.summary()
    assert len(table) == len(POLICIES) - 1
    assert table["regret_low"].eq(0.0).all()
    assert table["regret_high"].eq(np.inf).all()


def test_the_summary_has_means_intervals_and_quantiles_of_the_final_regret():
    results = run_experiment("branin", TWO, **SMALL)
    row = results.summary().set_index("policy").loc["GP-TS"]
    regret = results["branin", "GP-TS"].regret[:, -1]
    half = 4.302652729911275 * regret.std(ddof=1) / np.sqrt(3)
    assert row["regret_mean"] == pytest.approx(regret.mean())
    assert row["regret_high"] - row["regret_mean"] == pytest.approx(half)
    assert row["regret_q50"] == pytest.approx(np.median(regret))
    assert row["simple_regret_mean"] == pytest.approx(
        results["branin", "GP-TS"].simple[:, -1].mean()
    )
    assert row["microseconds_per_round"] > 0


@pytest.mark.parametrize(
    ("problems", "policies", "settings", "needed"),
    [
        ("nosuch", "simple-ucb", {}, "No problem is called 'nosuch'"),
        ("branin", "nosuch", {}, "No policy is called 'nosuch'"),
        ("branin", "simple-ucb:q=3", {}, "simple-ucb has no setting 'q'"),
        ("branin", [], {}, "at least one"),
        (["branin", "branin"], "simple-ucb", {}, "distinct problems"),
        ("branin", ["simple-ucb", "simple-ucb"], {}, "distinct policies"),
        ("branin", "simple-ucb", {"horizon": 0}, "horizon >= 1"),
        ("branin", "simple-ucb", {"horizon": 1.5}, "horizon >= 1"),
        ("branin", "simple-ucb", {"seeds": 0}, "seeds >= 1"),
        ("branin", "simple-ucb", {"seeds": [-1]}, "seed >= 0"),
        ("branin", "simple-ucb", {"engine": "gpu"}, "engine in"),
        ("branin", "simple-ucb", {"noise_scale": -1.0}, "noise_scale >= 0"),
        ("branin", "igp-ucb", {"gain": "guessed"}, "gain in"),
    ],
)
def test_a_wrong_experiment_gets_one_sentence(problems, policies, settings, needed):
    with pytest.raises(ValueError, match=needed):
        run_experiment(problems, policies, **({"horizon": 5, "seeds": 1} | settings))


def test_playing_beyond_a_policys_horizon_warns_on_both_engines():
    instance = kb.problem("branin").instance(kb.Streams(0))
    for engine in ("numba", "numpy"):
        policy = kb.IGPUCB(instance.domain, kb.RBF(0.2), noise_scale=1.0, norm_bound=1.0, horizon=5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            play(policy, instance, 12, kb.Streams(0), engine)
        assert sum("beyond its horizon" in str(w.message) for w in caught) == 1


def test_a_contender_takes_the_shared_settings_it_was_not_given():
    mine = kb.Contender("mine", "generic-gp", {"exploration": kb.Gaussian(), "norm_bound": 3.0})
    settings = run_experiment("branin", mine, **SMALL)["branin", "mine"].settings
    assert (settings["noise_scale"], settings["norm_bound"]) == (0.5, 3.0)


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"noisescale": 0.1}, "has no setting 'noisescale'. Did you mean 'noise_scale'"),
        ({"delta": 0}, "delta in"),
        ({"gain": "foo"}, "gain in"),
        ({"ties": "none"}, "ties in"),
        ({"ridge": 0.0}, "ridge > 0"),
        ({"noise_scale": 1e200}, "noise_scale <= "),
        ({"seeds": [1, 1]}, "distinct seeds"),
        ({"horizon": 10**9}, "rounds a cell"),
    ],
)
def test_a_shared_setting_is_checked_even_if_no_policy_takes_it(settings, needed):
    with pytest.raises(ValueError, match=needed):
        run_experiment("branin", "simple-ucb", **({"horizon": 5, "seeds": 1} | settings))


def test_seeds_may_be_a_numpy_number():
    assert run_experiment("branin", "random", horizon=3, seeds=np.int64(2))[
        "branin", "Uniform random"
    ].arms.shape == (
        2,
        3,
    )


def test_an_unknown_result_is_named():
    with pytest.raises(KeyError, match="need one of"):
        run_experiment("branin", "random", horizon=3, seeds=1)["branin", "nobody"]


def test_a_problem_may_be_spelled_with_its_settings():
    results = run_experiment("ackley2:candidates=7", "simple-ucb", horizon=5, seeds=1)
    assert results.problems[0].instance(kb.Streams(0)).domain.points.shape == (7, 2)


class Foreign(kb.kernels.Kernel):
    """A kernel whose repr says nothing of it."""

    def __init__(self, lengthscale: float) -> None:
        self.inner = kb.RBF(lengthscale)

    def __call__(self, x, z):
        return self.inner(x, z)

    def __repr__(self) -> str:
        return "Foreign()"


def test_values_that_cannot_be_told_apart_are_never_taken_for_each_other(tmp_path):
    results = [
        run_experiment(
            "branin",
            "simple-ucb",
            kernel=kb.kernels.Adapted(Foreign(length)),
            folder=tmp_path,
            **SMALL,
        )
        for length in (0.05, 1.0)
    ]
    assert not np.array_equal(
        results[0]["branin", "Simple-UCB"].arms, results[1]["branin", "Simple-UCB"].arms
    )


def test_test_functions_of_one_name_are_told_apart(tmp_path):
    from kernelbandits.problems import SampledFunction, TestFunction

    def rising(x):
        return x[:, 0]

    def falling(x):
        return 1 - x[:, 0]

    functions = [
        TestFunction("mine", "Mine", f, (0.0,), (1.0,), ((where,),), 0.0)
        for f, where in ((rising, 0.0), (falling, 1.0))
    ]
    results = [
        run_experiment(SampledFunction(f), "simple-ucb", folder=tmp_path, **SMALL)
        for f in functions
    ]
    assert not np.array_equal(
        results[0]["mine", "Simple-UCB"].arms, results[1]["mine", "Simple-UCB"].arms
    )


def test_a_finished_run_forgets_its_own_cells_only(tmp_path):
    from kernelbandits.experiment import forget_cells

    first = run_experiment("branin", "simple-ucb", folder=tmp_path, **SMALL)
    other = run_experiment("branin", "random", folder=tmp_path, **SMALL)
    forget_cells(first.found, tmp_path)
    assert [file.stem for file in tmp_path.iterdir()] == list(other.found)
    forget_cells(other.found, tmp_path)
    assert not tmp_path.exists()


class Scalar:
    """A law that knows one number at a time."""

    def cdf(self, x: float) -> float:
        return 1 - math.exp(-x) if x > 0 else 0.0

    def ppf(self, u: float) -> float:
        return -math.log1p(-u)


def test_a_law_of_one_number_at_a_time_plays_the_same_on_both_engines():
    mine = kb.Contender("mine", "generic-gp", {"exploration": Scalar()})
    arms = [
        run_experiment("branin", mine, engine=engine, **SMALL)["branin", "mine"].arms
        for engine in ("numba", "numpy")
    ]
    np.testing.assert_array_equal(*arms)


def pessimistic_once(t: int) -> kb.Bernoulli:
    return kb.Bernoulli(0.0 if t == 17 else 0.5)


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_one_round_without_optimism_is_noticed_on_every_engine(engine):
    mine = kb.Contender("mine", "generic-gp", {"exploration": pessimistic_once})
    with pytest.warns(kb.TheoryWarning, match="optimism"):
        run_experiment("branin", mine, engine=engine, **SMALL)


def test_what_policies_warn_of_in_other_processes_is_said_once_here():
    mine = [
        kb.Contender(label, "generic-gp", {"exploration": kb.PointMass(0.5)})
        for label in ("a", "b")
    ]
    with process_mapper(2) as mapper, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_experiment("branin", mine, mapper=mapper, **SMALL)
    assert sum("optimism" in str(w.message) for w in caught) == 1


def test_a_table_whose_units_the_kernel_does_not_fit_is_noticed(tmp_path):
    path = tmp_path / "plant.csv"
    path.write_text("T,p,y\n20,1000,1\n25,1010,2\n30,1020,3\n")
    raw, small = f'csv:path="{path}",unit_columns=false', {"horizon": 3, "seeds": 1}
    with pytest.warns(kb.DataNotice, match="no two arms of plant are alike"):
        run_experiment(raw, "simple-ucb", **small)
    with pytest.warns(kb.DataNotice, match="all arms of plant are alike"):
        run_experiment(raw, "simple-ucb", kernel=kb.RBF(1e5), **small)
    with pytest.warns(kb.DataNotice) as caught:
        run_experiment(f'csv:path="{path}"', "simple-ucb", kernel=kb.RBF(0.5), **small)
    assert [str(warning.message) for warning in caught if warning.category is kb.DataNotice] == [
        "plant.csv: each column is scaled to [0, 1] (T from 20 to 30, p from 1000 to 1020); "
        "unit_columns=false keeps the units of the file"
    ]


def test_the_clock_does_not_count_the_compiler():
    fast = run_experiment("branin", "simple-ucb", horizon=1, seeds=1).summary()[
        "microseconds_per_round"
    ]
    assert (fast < 50_000).all()


def test_schedules_made_in_turn_are_never_taken_for_each_other(tmp_path):
    keys = set()
    for p in (0.05, 1.0, 0.3):
        mine = kb.Contender("mine", "generic-gp", {"exploration": lambda t, p=p: kb.Bernoulli(p)})
        keys.add(run_experiment("branin", mine, folder=tmp_path, **SMALL).cells[0].key)
        del mine
        gc.collect()
    assert len(keys) == 3


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_a_policy_on_other_arms_than_the_instance_is_refused(engine):
    instance = kb.problem("branin").instance(kb.Streams(0))
    policy = kb.SimpleUCB(np.arange(70.0)[:, None], kb.RBF(0.2), noise_scale=1.0, norm_bound=1.0)
    with pytest.raises(ValueError, match="a policy on the arms of the instance"):
        play(policy, instance, 10, kb.Streams(0), engine)


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_rewards_too_large_to_learn_from_are_refused_on_both_engines(engine):
    with pytest.raises(ValueError, match=r"size at most 1e\+150"):
        run_experiment(
            kb.problem("branin", noise=GaussianNoise(1e200)), "simple-ucb", engine=engine, **SMALL
        )


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@pytest.mark.parametrize("gain", [lambda t: math.nan, lambda t: -50.0])
def test_a_gain_that_is_no_gain_is_refused_on_both_engines(engine, gain):
    with pytest.raises(ValueError, match="gamma_t >= 0"):
        run_experiment("branin", "igp-ucb", engine=engine, gain=gain, **SMALL)


def test_any_damage_to_a_cell_is_detected_or_harmless(tmp_path):
    cell, rng = small_cell(), np.random.default_rng(0)
    whole = run_cells([cell], folder=tmp_path)[cell.key]
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    damaged = [content[:size] for size in np.linspace(0, len(content) - 1, 40).astype(int)]
    for place, flip in zip(
        rng.integers(len(content), size=300), rng.integers(1, 256, size=300), strict=True
    ):
        flipped = bytearray(content)
        flipped[place] ^= flip
        damaged.append(bytes(flipped))
    detected = 0
    for text in damaged:
        file.write_bytes(text)
        try:
            found = CellResult.load(file, cell.key, whole_block(cell).shapes(endings=False))
        except UntrustedCell:
            detected += 1
        else:
            assert same(found, whole)
    assert detected > len(damaged) / 2


def test_thompson_sampling_keeps_the_declared_tie_rule_on_twins():
    points = np.random.default_rng(0).random((10, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.DataNotice)
        policy = kb.GPTS(
            np.vstack([points, points]),
            kb.RBF(0.2),
            noise_scale=1.0,
            norm_bound=1.0,
            horizon=200,
            ties="lowest",
        )
    for t in range(1, 151):
        choice = policy.ask(t, kb.Streams(0))
        assert choice.arm < 10
        policy.tell(choice, 0.1 * choice.arm)


def test_a_table_with_a_point_at_the_origin_runs_under_the_linear_kernel(tmp_path):
    path = tmp_path / "rays.csv"
    path.write_text("a,b,y\n0,0,1\n0.5,0.1,2\n0.2,0.9,3\n")
    results = run_experiment(
        f"csv:path={path}", "simple-ucb", kernel=kb.Linear(), horizon=5, seeds=1
    )
    assert np.isfinite(results["rays", "Simple-UCB"].regret).all()


def test_cells_that_are_there_already_are_counted_by_the_watcher(tmp_path):
    plan = plan_experiment("branin", ["greedy", "random"], horizon=5, seeds=2)
    for _ in range(2):
        ticks: list[int] = []
        run_cells(plan, folder=tmp_path, watch=partial(ticks.append, 1))
        assert len(ticks) == 2


def test_whoever_plays_a_cell_stores_it_at_once(tmp_path):
    plan = plan_experiment("branin", ["greedy", "random", "simple-ucb"], horizon=5, seeds=2)

    def interrupted(work, cells):
        """A mapper that has played two cells when it dies before handing over the first."""
        for cell in cells[:2]:
            work(cell)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(plan, folder=tmp_path, mapper=interrupted)
    assert len(list(tmp_path.glob("*.npz"))) == 2


def test_another_version_of_the_code_has_other_keys(monkeypatch):
    (here,) = plan_experiment("branin", ["greedy"], horizon=5, seeds=2)
    key = here.key
    monkeypatch.setattr(cell_module, "code_fingerprint", lambda: "another version")
    (there,) = plan_experiment("branin", ["greedy"], horizon=5, seeds=2)
    assert there.key != key


@pytest.mark.thorough
def test_replicates_keep_their_key_from_one_process_to_the_next(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n0.1,1\n0.1,2\n0.5,3\n0.9,1\n")
    spelled = f"csv:path={tmp_path / 't.csv'},target=y,repeats=replicates"
    code = (
        "from kernelbandits.experiment import plan_experiment\n"
        f"print(plan_experiment({spelled!r}, ['greedy'], horizon=5, seeds=2)[0].key)"
    )
    other = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    (here,) = plan_experiment(spelled, ["greedy"], horizon=5, seeds=2)
    assert other.stdout.strip() == here.key
