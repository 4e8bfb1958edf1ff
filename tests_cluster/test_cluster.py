"""Experiments on a Dask cluster: the bits of one process, whatever is killed on the way."""

from __future__ import annotations

import os
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from deadly import Deadly

import kernelbandits as kb
from conftest import scheduler, worker
from kernelbandits.apps.cli import app, exit_code
from kernelbandits.experiment import cluster, dask_mapper, plan_experiment, run_cells
from kernelbandits.experiment.blocks import SeedBlock, play_block
from kernelbandits.experiment.cluster import SchedulerLost
from kernelbandits.processes import WorkersLost

GAME = {"horizon": 25, "seeds": 4, "noise_scale": 0.5, "norm_bound": 1.0}
PLAN = partial(plan_experiment, "branin", ["simple-bernoulli", "gp-ts", "auto"], **GAME)


def same_bits(first, second) -> bool:
    return all(
        first[key].arrays()[name].tobytes() == second[key].arrays()[name].tobytes()
        for key in first
        for name in ("regret", "simple", "arms", "log_det")
    )


class Interrupting:
    """A mapper that does something after a few results."""

    def __init__(self, mapper, after, do):
        self.mapper, self.after, self.do = mapper, after, do

    def as_completed(self, work, items):
        for number, pair in enumerate(self.mapper.as_completed(work, items), start=1):
            yield pair
            if number == self.after:
                self.do()


def kill_a_worker(client) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_a_cluster_whose_worker_is_killed_gives_the_bits_of_one_process(client, tmp_path):
    plan = PLAN()
    alone = run_cells(plan)
    with dask_mapper(client) as mapper:
        killing = Interrupting(mapper, 3, partial(kill_a_worker, client))
        together = run_cells(plan, mapper=killing, folder=tmp_path)
    assert same_bits(alone, together)
    assert same_bits(alone, run_cells(plan, folder=tmp_path))


def test_a_cell_whose_workers_are_always_killed_is_named_and_a_second_run_completes_it(
    client, tmp_path
):
    deadly = kb.Contender("Deadly", Deadly, {"folder": str(tmp_path), "deaths": 4})
    plan = plan_experiment("branin", ["random", deadly, "greedy"], horizon=5, seeds=1)
    cells = tmp_path / "cells"
    with dask_mapper(client) as mapper:
        message = "1 of 3 could not be played.* killed 4 times: Deadly on branin. Perhaps memory"
        with pytest.raises(WorkersLost, match=message):
            run_cells(plan, mapper=mapper, folder=cells)
        assert {path.stem for path in cells.iterdir()} == {plan[0].key, plan[2].key}
        finished = run_cells(plan, mapper=mapper, folder=cells)
    assert same_bits(finished, run_cells(plan))


def test_a_block_that_is_played_twice_has_one_result(client):
    (cell,) = plan_experiment("branin", "gp-ts", horizon=10, seeds=3)
    blocks = [SeedBlock(cell, 0, 2), SeedBlock(cell, 0, 2), SeedBlock(cell, 2, 3)]
    with dask_mapper(client) as mapper:
        first, again, other = mapper(partial(play_block, False), blocks)
    assert first.arrays()["regret"].tobytes() == again.arrays()["regret"].tobytes()
    assert other.regret.shape == (1, 10)


def test_a_worker_with_another_version_of_the_package_is_refused(client, monkeypatch):
    plan = plan_experiment("branin", "random", horizon=5, seeds=1)
    monkeypatch.setattr(cluster, "code_fingerprint", lambda: "another version")
    needed = "every machine of a cluster needs the same version of kernelbandits"
    with dask_mapper(client) as mapper, pytest.raises(ValueError, match=needed):
        run_cells(plan, mapper=mapper)


def test_anything_can_be_mapped_in_order_and_errors_reach_the_caller(client):
    with dask_mapper(client) as mapper:
        assert list(mapper(abs, [-3, 2, -1])) == [3, 2, 1]
        with pytest.raises(ZeroDivisionError):
            list(mapper(partial(divmod, 1), [1, 0]))


def test_what_has_finished_is_kept_if_the_scheduler_goes_away(tmp_path):
    plan, alone = PLAN(), run_cells(PLAN())
    with (
        scheduler(tmp_path) as (process, address),
        worker(address),
        dask_mapper(address) as mapper,
    ):
        killing = Interrupting(mapper, 2, process.kill)
        with pytest.raises(SchedulerLost, match="has gone away; what had finished is kept"):
            run_cells(plan, mapper=killing, folder=tmp_path / "cells")
    assert len(list((tmp_path / "cells").glob("*.npz"))) >= 2
    assert same_bits(alone, run_cells(plan, folder=tmp_path / "cells"))


def test_a_scheduler_without_workers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "WORKER_PATIENCE", 0.2)
    message = r"has no workers; start some with `dask worker tcp://127.0.0.1:\d+ --nthreads 1`"
    with (
        scheduler(tmp_path) as (_, address),
        pytest.raises(SchedulerLost, match=message),
        dask_mapper(address),
    ):
        pass


RUN = ["run", "--problem", "branin", "--policies", "simple-ucb,random", "--horizon", "30"]


def run(*words: object) -> int:
    return exit_code(lambda: app([*RUN, *map(str, words)], standalone_mode=False))


@pytest.mark.parametrize(
    ("address", "code", "sentence"),
    [
        (
            "tcp://127.0.0.1:1",
            74,
            "no Dask scheduler answers at tcp://127.0.0.1:1 within 1 seconds",
        ),
        ("nonsense", 2, "--dask needs the address of a scheduler, as in tcp://scheduler:8786"),
        ("foo://x:1", 2, "--dask needs the address of a scheduler, as in tcp://scheduler:8786"),
    ],
)
def test_a_scheduler_that_is_not_there_is_said_in_a_sentence(
    tmp_path, monkeypatch, capsys, address, code, sentence
):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    assert run("--seeds", 2, "--output", tmp_path, "--dask", address) == code
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_the_command_writes_the_same_rounds_on_a_cluster_and_streams_them(tmp_path):
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    assert run("--seeds", 3, "--workers", 1, "--output", alone) == 0
    assert run("--seeds", 3, "--dask", "local", "--parquet", "--output", spread) == 0
    assert (alone / "rounds.npz").read_bytes() == (spread / "rounds.npz").read_bytes()
    rounds = pd.read_parquet(spread / "rounds.parquet")
    with np.load(spread / "rounds.npz") as stored:
        expected = stored["branin/Simple-UCB/regret"]
    found = rounds[rounds.policy == "Simple-UCB"].sort_values(["seed", "round"])
    np.testing.assert_array_equal(found.regret.to_numpy().reshape(3, 30), expected)


def test_the_paper_is_played_on_a_cluster_with_the_same_rounds(tmp_path):
    words = ["paper", "--quick", "--no-map", "--horizon", "20", "--quiet", "--output"]
    folders = {"alone": ["--workers", "1"], "spread": ["--dask", "local"]}
    for name, more in folders.items():
        given = [*words, str(tmp_path / name), *more]
        assert exit_code(lambda given=given: app(given, standalone_mode=False)) == 0
    alone, spread = (np.load(tmp_path / name / "rounds.npz") for name in folders)
    assert sorted(alone) == sorted(spread)
    for name in alone:
        assert alone[name].tobytes() == spread[name].tobytes()
