"""Blocks of seeds: any division of a cell gives the same bits, stored, streamed and resumed."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.experiment import SeedBlock, plan_experiment, play_cell, run_cells
from kernelbandits.experiment import cluster as cluster_module
from kernelbandits.experiment.blocks import (
    LEAST_TASKS,
    block_path,
    divide_blocks,
    missing_blocks,
    play_block,
    stored_blocks,
)
from kernelbandits.experiment.preload import lock_machine

GAME = {"horizon": 8, "noise_scale": 0.5, "norm_bound": 1.0, "engine": "numpy"}


def one_cell(seeds: int = 7, policy: str = "gp-ts"):
    (cell,) = plan_experiment("branin", policy, seeds=seeds, **GAME)
    return cell


def same_bits(first, second) -> bool:
    names = ("regret", "simple", "arms", "log_det")
    equal = [first.arrays()[n].tobytes() == second.arrays()[n].tobytes() for n in names]
    return all(equal) and first.settings == second.settings


def in_order(work, blocks):
    """A mapper of the user: like map, but not map itself."""
    return [work(block) for block in blocks]


class Shuffled:
    """A mapper whose results come in another order than the items."""

    def as_completed(self, work, items):
        for place in np.random.default_rng(0).permutation(len(items)):
            yield items[place], work(items[place])


@pytest.mark.parametrize("mapper", [map, in_order, Shuffled()], ids=["map", "user", "shuffled"])
@pytest.mark.parametrize("seconds", [None, 3.0, 1e-9, 1e9])
def test_any_mapper_and_any_division_give_the_bits_of_one_process(tmp_path, mapper, seconds):
    cell = one_cell()
    known = None if seconds is None else {cell.key: seconds}
    found = run_cells([cell], mapper=mapper, folder=tmp_path, seconds=known)
    assert same_bits(found[cell.key], play_cell(cell))
    assert same_bits(run_cells([cell], folder=tmp_path)[cell.key], found[cell.key])


def test_a_cell_is_divided_by_its_time_and_one_of_unknown_time_into_many_tasks():
    cell = one_cell(seeds=100)
    whole = [SeedBlock(cell, 0, 100)]

    def sizes(seconds: float | None) -> set[int]:
        known = None if seconds is None else {cell.key: seconds}
        return {len(block.seeds) for block in divide_blocks(whole, known)[:-1]}

    assert sizes(1000.0) == {1}
    assert sizes(10.0) == {10}
    assert sizes(0.1) == set()
    assert len(divide_blocks(whole, None)) >= 25
    many = [SeedBlock(cell, place, place + 1) for place in range(100)]
    assert len(divide_blocks(many * LEAST_TASKS, None)) == 100 * LEAST_TASKS


def test_an_interrupted_run_goes_on_with_another_division(tmp_path):
    cell, played = one_cell(), []

    class Interrupted:
        def as_completed(self, work, blocks):
            for block in blocks[1:4]:
                yield block, work(block)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells([cell], mapper=Interrupted(), folder=tmp_path)
    assert [block.seeds for block in stored_blocks(cell, tmp_path, False)] == [(1,), (2,), (3,)]

    def counting(work, blocks):
        played.extend(seed for block in blocks for seed in block.seeds)
        return map(work, blocks)

    whole = run_cells([cell], mapper=counting, folder=tmp_path, seconds={cell.key: 2.0})
    assert played == [0, 4, 5, 6]
    assert same_bits(whole[cell.key], play_cell(cell))


def test_blocks_that_overlap_or_leave_the_cell_are_not_read_twice(tmp_path):
    cell = one_cell(seeds=4)
    for start, stop in ((0, 2), (1, 3), (2, 4)):
        block = SeedBlock(cell, start, stop)
        play_block(False, block).save(block_path(block, tmp_path, False), block.key)
    (tmp_path / f"{cell.key}-3-9.npz").write_bytes(b"not ours")
    found = stored_blocks(cell, tmp_path, False)
    assert [(block.start, block.stop) for block in found] == [(0, 2), (2, 4)]
    assert missing_blocks(cell, found) == []
    assert same_bits(run_cells([cell], folder=tmp_path)[cell.key], play_cell(cell))


def test_a_damaged_block_is_named_and_only_its_seeds_are_played_again(tmp_path):
    cell, played = one_cell(seeds=4), []
    run_cells([cell], mapper=in_order, folder=tmp_path)
    (tmp_path / f"{cell.key}-2-3.npz").write_bytes(b"cut")

    def counting(work, blocks):
        played.extend(block.seeds for block in blocks)
        return map(work, blocks)

    with pytest.warns(kb.DataNotice, match=r"GP-TS on branin \(1 seed from 2 on\) is played again"):
        found = run_cells([cell], mapper=counting, folder=tmp_path)
    assert played == [(2,)]
    assert same_bits(found[cell.key], play_cell(cell))


def test_warnings_of_all_blocks_are_given_once(tmp_path):
    cell = one_cell(policy="simple-ucb")
    (base,) = plan_experiment("branin", kb.Contender("UCB", Warning2), seeds=3, horizon=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_cells([base, cell], mapper=in_order)
    texts = [str(one.message) for one in caught]
    assert texts.count("two seeds agree") == 1


class Warning2(kb.SimpleUCB):
    """Warns the same in every seed."""

    def __init__(self, domain, kernel, **settings):
        warnings.warn("two seeds agree", kb.TheoryWarning, stacklevel=2)
        super().__init__(domain, kernel, noise_scale=1.0, norm_bound=1.0)


# ---------------------------------------------------------------- rounds as Parquet


@pytest.mark.thorough
def test_rounds_can_be_read_during_the_run_and_after_it(tmp_path):
    folder, seen = tmp_path / "rounds.parquet", []
    plan = partial(kb.run_experiment, "branin", ["random", "greedy"], horizon=6, seeds=3)
    results = plan(
        mapper=Shuffled(), parquet=folder, watch=lambda: seen.append(len(pd.read_parquet(folder)))
    )
    assert seen[0] < seen[-1] == 2 * 3 * 6
    columns = ["problem", "policy", "seed", "round"]
    found = pd.read_parquet(folder).sort_values(columns, ignore_index=True)
    expected = results.to_dataframe().sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_rounds_of_stored_cells_and_of_every_label_are_there_and_old_ones_are_not(tmp_path):
    folder = tmp_path / "rounds.parquet"
    twins = [kb.Contender("first", "random"), kb.Contender("second", "random")]
    for _ in range(2):
        kb.run_experiment(
            "branin", twins, horizon=4, seeds=2, folder=tmp_path / "cells", parquet=folder
        )
        found = pd.read_parquet(folder)
        assert found.groupby("policy").size().to_dict() == {"first": 8, "second": 8}
    kb.run_experiment("branin", "greedy", horizon=3, seeds=1, parquet=folder)
    assert len(pd.read_parquet(folder)) == 3


def test_a_folder_of_other_files_and_a_file_are_refused_for_rounds(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    game = {"horizon": 3, "seeds": 1}
    with pytest.raises(ValueError, match=r"a folder of its own, without other files, got \['notes"):
        kb.run_experiment("branin", "random", parquet=tmp_path, **game)
    with pytest.raises(ValueError, match=r"parquet needs a folder, got .*notes\.txt"):
        kb.run_experiment("branin", "random", parquet=tmp_path / "notes.txt", **game)


# ---------------------------------------------------------------- what a cluster needs


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("kernelbandits.runtime.is_installed", lambda package: False)
    message = r'a Dask cluster needs distributed, which is not installed: pip install "\.\[cl'
    with pytest.raises(ImportError, match=message), cluster_module.dask_mapper("local"):
        pass


def test_one_process_of_a_machine_at_a_time_compiles(tmp_path):
    """Another process, here another open file, has to wait for the lock."""
    import fcntl

    with lock_machine(tmp_path / "cache"):
        (lock,) = (tmp_path / "cache").iterdir()
        with lock.open("a") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
