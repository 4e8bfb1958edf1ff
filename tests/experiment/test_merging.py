"""Results of several runs as one: read again bit by bit, joined, and refused in one sentence."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.apps.cli import app
from kernelbandits.experiment import load_results, merge_results, run_experiment
from kernelbandits.experiment.cells import ARRAYS
from kernelbandits.report import write_run

GAME = {"horizon": 9, "noise_scale": 0.01, "engine": "numpy"}


def play(problems, policies, seeds=3, **more):
    return run_experiment(problems, policies, seeds=seeds, **{**GAME, **more})


def same(one, other):
    for cell in one.cells:
        for name in ARRAYS:
            if name != "seconds":
                first, second = (getattr(results[cell.name], name) for results in (one, other))
                np.testing.assert_array_equal(first, second)


def test_what_a_run_wrote_is_read_again_bit_by_bit(tmp_path):
    policies = [
        "simple-ucb:kernel=matern(0.3),noise_scale=0.1",
        kb.Contender("half", "generic-gp", {"exploration": kb.Bernoulli(0.5)}),
        "auto",
    ]
    problems = [
        "branin",
        "delayed:problem=drifting(problem=gp(kernel=rbf(0.2),dimension=2),motion=jumps(4)),delay=1",
    ]
    results = play(problems, policies)
    write_run(results, tmp_path)
    again = load_results(tmp_path)
    assert again.labels == results.labels
    assert again.problems == results.problems
    same(results, again)
    for cell, other in zip(results.cells, again.cells, strict=True):
        assert cell.key == other.key
        np.testing.assert_array_equal(results[cell.name].seconds, again[cell.name].seconds)
        assert again[cell.name].settings == json.loads(json.dumps(results[cell.name].settings))


def test_seeds_policies_and_problems_are_joined_to_the_results_of_one_run():
    both = ["branin", "ackley4"]
    whole = play(both, ["simple-ucb", "random"], seeds=5)
    parts = [
        play(both, "simple-ucb", seeds=[3, 4]),
        play("branin", "random", seeds=5),
        play(both, "simple-ucb", seeds=[0, 1, 2]),
        play("ackley4", "random", seeds=[4, 3, 2, 1, 0]),
    ]
    merged = merge_results(parts)
    assert {cell.seeds for cell in merged.cells} == {(0, 1, 2, 3, 4)}
    same(whole, merged)
    assert merged.summary()["seeds"].tolist() == [5] * 4


def test_the_same_seed_twice_counts_once():
    one, two = play("branin", "random", seeds=3), play("branin", "random", seeds=[2, 3])
    same(play("branin", "random", seeds=4), merge_results([one, two]))


def test_what_contradicts_itself_is_refused_in_one_sentence():
    one = play("branin", "simple-ucb")
    cases = [
        (
            [play("branin", "simple-ucb", kernel="rbf:0.5")],
            "two that differ in their kernel: RBF",
        ),
        (
            [play("branin", "simple-ucb", noise_scale=1)],
            "two that differ in their settings: {'noise_scale': 0.01",
        ),
        ([play("branin", "random", horizon=5)], "merging needs results of as many rounds, got"),
        ([play("branin", "random", seeds=2)], "merging needs the same seeds of every policy"),
        (
            [play("ackley4", "random")],
            "merging needs every policy on every problem, got \"no ('branin', 'Uniform random')\"",
        ),
    ]
    for more, message in cases:
        with pytest.raises(ValueError, match=re.escape(message)):
            merge_results([one, *more])
    other = play("branin", "simple-ucb")
    other.found[other.cells[0].key].arms[1, 4] += 1
    with pytest.raises(ValueError, match="merging needs one result of seed 1 of Simple-UCB on bra"):
        merge_results([one, other])
    with pytest.raises(ValueError, match="merging needs at least one result"):
        merge_results([])


def test_a_folder_that_cannot_be_read_again_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"merging needs a folder with rounds\.npz"):
        load_results(tmp_path)

    class Own(kb.SimpleUCB):
        pass

    write_run(play("branin", "random"), tmp_path)
    assert (tmp_path / "played.json").exists()
    write_run(play("branin", Own), tmp_path)
    assert not (tmp_path / "played.json").exists()
    with pytest.raises(
        ValueError, match=r"needs a folder with played\.json, as a run of catalogue"
    ):
        load_results(tmp_path)
    write_run(play("branin", "random"), tmp_path)
    (tmp_path / "played.json").write_text('{"cells": [{}]}')
    with pytest.raises(ValueError, match="merging needs whole files of a run, got"):
        load_results(tmp_path)


def test_two_commands_and_a_merge_are_one_command(tmp_path):
    game = ["run", "--problem", "branin", "--policies", "simple-ucb,random", "--horizon", "6"]
    game += ["--workers", "1", "--engine", "numpy", "--quiet"]

    def command(*words):
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == 0, done.output or done.exception

    for name, seeds in (("one", ["--seeds", "2"]), ("two", ["--seeds", "3", "--first-seed", "2"])):
        command(*game, *seeds, "--output", str(tmp_path / name))
    command(*game, "--seeds", "5", "--output", str(tmp_path / "whole"))
    folders = [str(tmp_path / name) for name in ("one", "two")]
    before = (tmp_path / "one" / "ranking.csv").read_text()
    refused = CliRunner().invoke(app, ["merge", *folders, "--output", str(tmp_path / "one")])
    assert (
        "a folder for --output that is none of the runs" in f"{refused.output}{refused.exception}"
    )
    assert (tmp_path / "one" / "ranking.csv").read_text() == before
    command("merge", *folders, "--output", str(tmp_path / "both"), "--quiet")
    same(load_results(tmp_path / "whole"), load_results(tmp_path / "both"))
    texts = [(tmp_path / name / "ranking.csv").read_text() for name in ("whole", "both")]
    assert texts[0] == texts[1]
