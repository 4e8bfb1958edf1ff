"""Batches whose rows share a value or are far apart: chosen, stored, replayed, refused in time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import study as command
from kernelbandits.checks import StudyConflict
from kernelbandits.study.batches import Batch, farthest_distance
from kernelbandits.study.candidates import read_candidates

ROWS = [
    {"T": float(T), "Cs": Cs, "solvent": solvent, "oven": f"oven {int(T) // 50}"}
    for T in (20, 40, 60, 80)
    for Cs in np.linspace(0, 1, 5)
    for solvent in ("DMF", "DMSO")
]
ROWS.append({"T": 100.0, "Cs": 0.5, "solvent": "DMF", "oven": "oven 2"})
TABLE = pd.DataFrame(ROWS)
COLUMNS = ["T", "Cs", "solvent"]


def measure(x):
    return -((x["T"] - 55) ** 2) / 1000 - (x["Cs"] - 0.4) ** 2 + 0.3 * (x["solvent"] == "DMF")


@pytest.fixture(params=["auto", "simple-ucb", "random"])
def study(request, tmp_path):
    settings = {}
    if request.param == "simple-ucb":
        settings = {"kernel": "rbf:0.3", "settings": {"noise_scale": 0.1, "norm_bound": 2.0}}
    return kb.Study.create(
        tmp_path / "films.db", TABLE, target="y", columns=COLUMNS, policy=request.param, **settings
    )


def test_a_batch_shares_a_value_and_is_recomputed(study):
    for _ in range(2):
        batch = study.ask(8, same="T")
        assert len({one.row for one in batch}) == 8
        assert len({one.x["T"] for one in batch}) == 1
        assert batch[0].why.endswith("All 8 of the batch share its T.")
        assert batch[1].why.endswith(f"The batch shares T = {batch[0].x['T']:g}.")
        for one in batch:
            study.tell(one.trial, measure(one.x))
    [first, *rest] = study.ask(3, same=["oven", "solvent"])
    oven = TABLE["oven"][first.row]
    assert all(
        (TABLE["oven"][one.row], one.x["solvent"]) == (oven, first.x["solvent"]) for one in rest
    )
    reopened = kb.Study.open(study.place)
    assert all(reopened.replay(trial).same for trial in (2, 9, 10, 18, 19))
    assert "The batch shares" in reopened.explain(19).sentence


def test_the_value_of_a_batch_is_that_of_the_row_that_would_be_asked_for_alone(tmp_path):
    """Where all values have enough rows, the first row is the policy's choice as without `same`."""
    first = {}
    for same in (None, "T"):
        study = kb.Study.create(tmp_path / f"{same}.db", TABLE[:-1], columns=COLUMNS, seed=4)
        for row in range(0, 40, 3):
            study.tell(row=row, value=measure(study.candidates.x(row)))
        first[same] = study.ask(4, same=same)[0].row
    assert first["T"] == first[None]


def test_a_batch_that_no_value_can_fill_is_refused_and_nothing_is_written(study):
    before = len(study.history())
    for given, complaint in (
        ((11, "T"), r"needs 11 free rows that share T, got at most 10, with T = 20\. No row was"),
        ((2, "x"), r"ask needs same among T, Cs, solvent, oven, got 'x'"),
        ((2, ["T", "T"]), "ask needs each column once in same"),
    ):
        with pytest.raises((StudyConflict, ValueError), match=complaint):
            study.ask(given[0], same=given[1])
    assert len(study.history()) == before
    # At T = 100 there is one row only, so a batch of two is never there.
    for _ in range(4):
        assert all(one.x["T"] < 100 for one in study.ask(2, same="T"))


def test_a_worker_gets_its_rows_again_and_further_ones_with_the_same_value(study):
    held = study.ask(3, worker="ann", same="T")
    more = study.ask(5, worker="ann", same="T")
    assert [one.trial for one in more[:3]] == [one.trial for one in held]
    assert len({one.x["T"] for one in more}) == 1
    mixed = {one.x["T"] for one in study.ask(12, worker="bob")}
    assert len(mixed) > 1
    with pytest.raises(StudyConflict, match="needs pending rows of this worker that share T, got"):
        study.ask(13, worker="bob", same="T")


def test_a_row_whose_lease_ended_comes_again_only_where_its_value_is_shared(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", TABLE[:-1], columns=COLUMNS, lease=1e-6)
    lost = study.ask(4)
    batch = study.ask(3, same="T", lease=3600.0)
    shared = {one.x["T"] for one in batch}
    assert len(shared) == 1
    again = {one.again for one in batch if one.again}
    assert again <= {one.trial for one in lost if one.x["T"] in shared}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("space", "same"),
    [
        ({"heat": (20.0, 90.0), "acid": ["a", "b", None], "time": (1.0, 5.0)}, "heat"),
        ({"heat": (20.0, 90.0), "acid": ["a", "b", None], "time": (1.0, 5.0)}, ["acid"]),
        ({"rate": kb.Real(1e-5, 0.1, log=True), "cups": kb.Integer(1, 50)}, "rate"),
        (kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"]), "A"),
    ],
)
def test_points_of_a_space_share_a_value_to_the_last_digit(tmp_path, space, same):
    study = kb.Study.create(tmp_path / "a.db", space, target="y")
    names = [same] if isinstance(same, str) else same
    for _ in range(3):
        batch = study.ask(4, same=same)
        assert len({tuple(one.x[name] for name in names) for one in batch}) == 1
        for one in batch:
            # The best value is at the upper end of its range.
            study.tell(one.trial, sum(v for v in one.x.values() if isinstance(v, float)))
    reopened = kb.Study.open(tmp_path / "a.db")
    assert all(reopened.replay(trial).same for trial in (2, 9, 12))


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(len(points), 1)]


@pytest.mark.thorough
def test_the_rows_of_a_spread_batch_are_half_as_far_apart_as_rows_can_be(tmp_path):
    grid = np.array([[a, b] for a in np.linspace(0, 1, 12) for b in np.linspace(0, 1, 12)])
    study = kb.Study.create(tmp_path / "a.db", grid, seed=1)
    for row in range(0, 144, 9):
        study.tell(row=row, value=float(np.exp(-6 * ((grid[row] - [0.3, 0.7]) ** 2).sum())))
    plain, spread = study.ask(6), study.ask(6, spread=True)
    # Six rows of the unit square can be 0.6 apart, and the search finds at least half of it.
    apart = distances(grid[[one.row for one in spread]]).min()
    assert apart >= 0.3 / 2
    assert apart > 2 * distances(grid[[one.row for one in plain]]).min()
    assert spread[0].row not in [one.row for one in plain]
    assert spread[1].why.endswith("It is far from the other rows of the batch.")
    assert all(study.replay(one.trial).same for one in spread)
    both = study.ask(4, same="x1", spread=True)
    assert len({one.x["x1"] for one in both}) == 1
    assert distances(np.array([[one.x["x2"]] for one in both])).min() >= 1 / 11 - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_a_spread_batch_always_finds_a_next_row(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((30, 2))[[*range(30), *range(10)]]  # ten candidates stand there twice
    table = read_candidates(points)
    batch, chosen, free = Batch(8, spread=True), [], np.arange(40)
    for _ in range(8):
        now = batch.after([], chosen, table)
        arms = now.find_arms(free, free, table, chosen)
        row = int(rng.choice(arms))
        chosen.append(row)
        free = free[table.first_rows[free] != table.first_rows[row]]
    least = farthest_distance(table.points[[chosen[0], *range(40)]], 8) / 2
    assert distances(table.points[chosen]).min() >= least - 1e-12


def test_the_command_takes_columns_to_share(tmp_path):
    TABLE.to_csv(tmp_path / "films.csv", index=False)
    place = tmp_path / "films.db"
    command("create", place, "--candidates", tmp_path / "films.csv", "--target", "y")
    done = command("ask", place, "--n", 4, "--same", "t", "--same", "solvent", "--format", "json")
    assert len({(one["x"]["T"], one["x"]["solvent"]) for one in done.document}) == 1
    done = command("ask", place, "--n", 2, "--spread", "--format", "json")
    assert len(done.document) == 2
    refused = command("ask", place, "--n", 20, "--same", "T")
    assert (refused.code, "needs 20 free rows that share T, got at most" in refused.err) == (
        1,
        True,
    )
