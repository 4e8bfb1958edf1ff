"""Tables that change: rows and columns added, rows forbidden and allowed, points off the table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.storage import Log
from kernelbandits.study import edits
from kernelbandits.study.driver import build_driver
from kernelbandits.study.events import State
from kernelbandits.study.places import PlaceHistory, drop_lost_rows

FIRST = pd.DataFrame(
    {
        "sample": [f"A{i}" for i in range(8)],
        "Cs": np.linspace(0.0, 1.0, 8),
        "solvent": ["DMF", "DMSO"] * 4,
        "T": [100] * 8,
    }
)
MORE = pd.DataFrame({"sample": ["B1", "B2"], "Cs": [0.33, 0.4], "solvent": "GBL", "T": [100, 120]})


def measure(x) -> float:
    return float(np.sin(5 * x["Cs"]) + 0.2 * (x["solvent"] == "DMF"))


def play(lab: kb.Study, rounds: int) -> list[int]:
    rows = []
    for _ in range(rounds):
        [suggestion] = lab.ask()
        lab.tell(suggestion.trial, measure(suggestion.x))
        rows.append(suggestion.row)
    return rows


@pytest.fixture
def lab(where):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        made = kb.Study.create(where, FIRST, target="stability", label="sample", seed=3)
        yield made
    made.close()


def test_a_week_of_changes_is_replayed_exactly(lab, where):
    play(lab, 4)
    lab.add(MORE)
    rows = play(lab, 2)
    lab.add(
        pd.DataFrame({"sample": "C1", "Cs": [0.5], "solvent": "DMF", "T": 100, "salt": [0.2]}),
        columns={"salt": 0},
    )
    lab.tell(x={"Cs": 0.61, "solvent": "DMF", "T": 100, "salt": 0.1}, value=0.4)
    lab.forbid(label=["A1", "B2"], reason="no precursor")
    rows += play(lab, 3)
    lab.allow(label="A1")
    rows += play(lab, 2)
    assert 8 in rows, "the new rows are suggested"
    assert 11 not in rows, "a point off the table is not"
    asked = [event.trial for event in lab.history() if event.kind == "asked"]
    again = kb.Study.open(where)
    assert all(again.replay(trial).same for trial in asked)
    assert again.candidates.chosen == ("Cs", "solvent", "T", "salt")
    assert all(finding.ok for finding in again.doctor())
    pd.testing.assert_frame_equal(again.estimates(), lab.estimates())
    assert again.ask()[0].row == kb.Study.open(where).explain(again.history()[-1].trial).row
    again.close()


def test_numbers_of_rows_and_scales_stay(lab):
    before = lab.candidates.points
    with pytest.warns(DataNotice, match=r"B2 \(7\): far outside 0 to 1"):
        lab.add(MORE.assign(Cs=[0.33, 7.0]))
    after = lab.candidates.points
    # T was constant and has a coordinate now; solvent has one more value.
    assert after[:8, 0].tolist() == before[:, 0].tolist()
    assert after[9, 0] == 7.0
    assert lab.candidates.ranges["T"] == (100.0, 120.0)
    assert lab.candidates.label(9) == {"sample": "B2"}
    play(lab, 3)
    policy = lab._session.driver.policy
    assert policy.learner.fitter.sides(policy.rewards)[0] == 1.0, (
        "lengthscales are shares of the range that was fixed"
    )


def test_a_result_off_the_table_counts_as_that_of_a_row_would(tmp_path):
    """The same results: one of them as a row that may not be measured, or as a point."""
    points = np.linspace(0, 1, 6)[:, None]
    settings = {"seed": 1, "centre": 0.0, "spread": 1.0}
    table = kb.Study.create(tmp_path / "table.db", points, **settings)
    rows = pd.DataFrame({"x1": [*points[:, 0], 0.37], "ok": ["yes"] * 6 + ["no"]})
    both = kb.Study.create(tmp_path / "both.db", rows, allowed="ok", columns=["x1"], **settings)
    for one in (table, both):
        for row in (0, 2, 5):
            one.tell(row=row, value=float(np.sin(3 * points[row, 0])))
    with pytest.warns(DataNotice, match="learnt as a point off the table"):
        told = table.tell(x={"x1": 0.37}, value=0.9)
    both.tell(row=6, value=0.9)
    assert (told.row, told.x) == (6, {"x1": 0.37})
    names = ["mean", "sd"]
    np.testing.assert_array_equal(table.estimates()[names], both.estimates()[names])
    assert table.best().row != 6
    assert table.status().rows == 6
    # The same point again is the same row; one of the table is its row.
    assert table.tell(x={"x1": 0.37}, value=0.8).row == 6
    assert table.tell(x={"x1": 0.2}, value=0.8).row == 1


def test_an_addition_is_undone_only_while_nobody_uses_its_rows(lab):
    lab.add(MORE)
    lab.undo()
    assert len(lab.candidates) == 8
    lab.add(MORE)
    lab.tell(label="B1", value=0.3)
    lab.withdraw(label="B1")
    lab.undo_all(3)  # the withdrawal, the result, and the rows
    assert len(lab.candidates) == 8
    lab.add(MORE)
    [one] = [one for one in lab.ask(10) if one.row == 8]
    lab.release(one.trial)
    count = len(lab.history())
    with pytest.raises(StudyConflict, match="rows that nobody used"):
        lab.undo_all(2)  # the ask of ten rows, and the rows
    assert (len(lab.history()), len(lab.candidates)) == (count, 10)


def test_after_one_of_two_additions_is_undone_the_policy_knows_all_results(lab, where):
    lab.add(MORE[:1])
    lab.add(MORE[1:])
    lab.undo()
    play(lab, 4)
    with kb.Study.open(where) as again:
        pd.testing.assert_frame_equal(lab.estimates(), again.estimates())


def test_a_point_off_the_table_goes_with_its_last_result(lab, where):
    point = {"Cs": 0.21, "solvent": "DMF", "T": 100}
    play(lab, 2)
    lab.add(MORE)
    lab.tell(x=point, value=0.4)
    lab.tell(x=point, value=0.5)
    lab.undo()
    assert len(lab.candidates) == 11, "its first result needs the point"
    lab.undo()
    assert len(lab.candidates) == 10
    lab.tell(x=point, value=0.6)
    assert lab.to_dataframe()["row"].tolist()[-1] == 10
    lab.undo_all(2)  # the result with its point, and the rows
    assert len(lab.candidates) == 8
    lab.add(MORE)
    play(lab, 2)
    with kb.Study.open(where) as again:
        assert all(finding.ok for finding in again.doctor())
        pd.testing.assert_frame_equal(again.estimates(), lab.estimates())


def test_a_point_off_the_table_stays_under_rows_that_were_added_later(lab):
    lab.tell(x={"Cs": 0.21, "solvent": "DMF", "T": 100}, value=0.4)
    [result] = [event for event in lab.history() if event.kind == "told"]
    lab.add(MORE)
    drafts = edits.undo(lab._session.state, [result], "call")
    assert [draft.body["kind"] for draft in drafts] == ["told"]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda lab: lab.add(MORE.assign(sample=["B1", "A3"])), "label of its own"),
        (lambda lab: lab.add(MORE.assign(sample=["B1", "7"])), "no whole numbers"),
        (lambda lab: lab.add(MORE.drop(columns="Cs")), "needs a column 'Cs'"),
        (lambda lab: lab.add(MORE.assign(Cs=["0.3", "much"])), "needs a number"),
        (lambda lab: lab.add(MORE, columns={"salt": 0}), "new column 'salt'"),
        (lambda lab: lab.add(MORE, columns={"Cs": 0}), "new columns"),
        (lambda lab: lab.forbid(label="Z9"), "label needs a name"),
        (lambda lab: lab.forbid(row=range(8)), "stays allowed"),
        (lambda lab: lab.forbid(row=8), "a row below 8"),
        (lambda lab: lab.forbid(), "a row, a label or a line"),
        (lambda lab: lab.allow(label="A1"), "not allowed yet"),
        (lambda lab: lab.tell(x={"Cs": 0.3}, value=0.1), "values of"),
        (lambda lab: lab.tell(x={"Cs": "x", "solvent": "DMF", "T": 1}, value=1), "a number"),
    ],
)
def test_changes_that_cannot_be_made_change_nothing(lab, change, wanted):
    with pytest.raises((ValueError, StudyConflict), match=wanted):
        change(lab)
    assert len(lab.history()) == 1


def test_a_row_too_far_for_the_model_is_refused_at_every_door(lab, tmp_path):
    play(lab, 2)
    before, files = len(lab.history()), tmp_path / "more.csv"
    for Cs in (1e7, -1e7, 1e101, 1.7e308):
        row = {"Cs": Cs, "solvent": "DMF", "T": 100}
        files.write_text(f"sample,Cs,solvent,T\nB1,0.5,DMF,100\nB2,{Cs!r},DMF,100\n")
        with pytest.raises(ValueError, match=r"more.csv needs .* 0 to 1, .* line 3, column 'Cs'"):
            lab.add(files)
        with pytest.raises(ValueError, match=r"the DataFrame needs .* in row 0, column 'Cs'"):
            lab.add(pd.DataFrame({"sample": ["B1"], **{name: [one] for name, one in row.items()}}))
        with pytest.raises(ValueError, match=r"tell needs .* 0 to 1, by which .* column 'Cs'"):
            lab.tell(x=row, value=0.5)
        with pytest.raises(ValueError, match=r"tell needs .* column 'Cs'"):
            lab.tell_all([{**row, "stability": 0.5}], off_table=True)
    assert len(lab.history()) == before


def test_the_farthest_row_that_is_taken_leaves_a_study_with_answers(lab):
    lab.add(pd.DataFrame({"sample": ["B1"], "Cs": [1e6], "solvent": "DMF", "T": 100}))
    for row in range(9):
        lab.tell(row=row, value=float(row % 3))
    assert lab.ask()
    assert lab.status().best is not None
    assert np.isfinite(lab.estimates()["mean"]).all()


def test_an_ask_that_was_planned_on_another_table_is_planned_again(lab, where):
    """Somebody forbids the row between the choice and the lock."""
    other = kb.Study.open(where)
    chosen = lab._session._write_plan
    seen = []

    def forbid_first(asker, plan, quick):
        if not seen:
            seen.append(plan.asks[0].row)
            other.forbid(row=seen[0])
        return chosen(asker, plan, quick)

    lab._session._write_plan = forbid_first
    [suggestion] = lab.ask()
    assert suggestion.row != seen[0]
    assert lab.replay(suggestion.trial).same
    # What another process added is known to this one.
    other.add(MORE)
    assert lab.tell(row=9, value=0.3).label == {"sample": "B2"}
    other.close()


def test_a_study_with_changes_is_backed_up_and_salvaged(tmp_path):
    place = tmp_path / "films.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        lab = kb.Study.create(place, FIRST, target="stability", label="sample")
        lab.add(MORE)
        lab.tell(label="B1", value=0.5)
    lab.backup(tmp_path / "copy.db")
    kb.storage.salvage(place, tmp_path / "saved.db")
    for copy in ("copy.db", "saved.db"):
        there = kb.Study.open(tmp_path / copy)
        assert there.best().label == {"sample": "B1"}
    assert tuple(Log.open(place).columns()) == tuple(FIRST.columns)


def test_a_study_that_lost_an_addition_goes_on_without_its_rows(lab):
    lab.add(MORE)
    lab.tell(label="B1", value=0.5)
    lab.tell(x={"Cs": 0.61, "solvent": "DMF", "T": 100}, value=0.4)
    lab.forbid(label="B2")
    lab.add(MORE.assign(sample=["C1", "C2"], Cs=[0.7, 0.8]))
    lab.tell(label="C2", value=0.3)
    play(lab, 2)
    events, created = lab.history(), lab._session.places.created
    for lost in [event for event in events if event.kind in ("added", "forbidden")]:
        remark = replace(lost, kind="noted", row=None, key=None, body={"lost": lost.seq})
        kept = drop_lost_rows(created, [remark if one is lost else one for one in events])
        state = State.of(kept)
        place = PlaceHistory(created).at(state.changes)
        driver = build_driver(place, state.settings)
        driver.follow(state)
        driver.choose(state.last_trial + 1, list(state.pending.values()), state)
        if lost is not events[-1] and "C1" in place.columns["sample"]:
            assert place.find_label("C2") == 12, "rows that are there keep their numbers"


def test_changes_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    FIRST.to_csv("films.csv", index=False)
    MORE.to_csv("more.csv", index=False)
    said("create", "films.db", "--candidates", "films.csv", "--target", "y", "--label", "sample")
    assert document("add", "films.db", "--candidates", "more.csv")["rows"] == [8, 9]
    text = said("forbid", "films.db", "--label", "A4", "--line", "3", "--reason", "no precursor")
    assert "A4 (Cs 0.571429, solvent DMF, T 100), A1 (Cs " in text
    assert "will not be suggested any more" in text
    assert document("status", "films.db")["allowed"] == 8
    assert "can be suggested again" in said("allow", "films.db", "--row", "1")
    point = ("--at", "Cs=0.55", "--at", "solvent=DMF", "--at", "T=100")
    assert "row 10 (Cs 0.55" in said("tell", "films.db", *point, "0.4")
    shown = said("history", "films.db")
    assert all(
        word in shown for word in ("no precursor", "a point off the table", "2 rows added, from")
    )
    assert "Undone" in said("undo", "films.db", "--n", "3")
    for wrong in (("forbid", "films.db"), ("add", "films.db", "--candidates", "films.csv")):
        done = study(*wrong)
        assert (done.code, done.err.count("\n")) == (2, 1), done
    assert Path("films.db").exists()


@pytest.mark.thorough
def test_a_list_of_studies_has_the_rows_of_now(lab, where):
    from kernelbandits.storage import studies

    def rows():
        return [one.rows for one in studies(where) if one.place == lab.place]

    assert rows() == [len(FIRST)]
    lab.add(MORE)
    assert rows() == [len(FIRST) + len(MORE)]
    lab.undo()
    lab.tell(x={"Cs": 0.123, "solvent": "DMF", "T": 100}, value=0.5)
    assert rows() == [len(FIRST)]


@pytest.mark.parametrize("given", [None, "yes"])
def test_an_export_makes_a_study_with_the_same_rows_allowed(tmp_path, given):
    table = FIRST if given is None else FIRST.assign(allowed=given)
    roles = {} if given is None else {"allowed": "allowed"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        lab = kb.Study.create(tmp_path / "a.db", table, target="stability", label="sample", **roles)
        lab.forbid(label=["A1", "A4"], reason="no precursor")
        lab.export(tmp_path / "a.xlsx")
        again = kb.Study.create(
            tmp_path / "b.db", tmp_path / "a.xlsx", target="stability", label="sample"
        )
    assert again.candidates.chosen == lab.candidates.chosen
    assert again.candidates.allowed_rows.tolist() == [i not in (1, 4) for i in range(8)]
    said = again.candidates.notices
    assert any("2 rows with no will not be suggested" in one for one in said)


def test_a_column_of_other_words_that_is_called_allowed_describes_candidates(tmp_path):
    table = FIRST.assign(allowed=["yes", "maybe"] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        lab = kb.Study.create(tmp_path / "a.db", table, target="stability")
    assert "allowed" in lab.candidates.chosen


def test_the_first_trials_have_no_estimates_in_units_of_the_model(tmp_path):
    lab = kb.Study.create(tmp_path / "a.db", FIRST[["Cs"]], target="y", seed=1)
    for one in lab.ask(2):
        lab.tell(one.trial, 1000.0 + one.trial)
    [third] = lab.ask()
    trials = lab.to_dataframe()
    assert trials["mean"].isna().tolist() == [True, True, False]
    assert trials["sd"].isna().tolist() == [True, True, False]
    assert abs(trials["mean"][2] - 1001.5) < 100
    assert third.trial == 3
    known = kb.Study.create(tmp_path / "b.db", FIRST[["Cs"]], centre=0.0, spread=1.0)
    known.ask()
    assert known.to_dataframe()["mean"].notna().all()
