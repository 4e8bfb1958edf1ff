"""Studies that learn from other studies, and studies that begin with results."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.report.studies.methods import describe_methods
from kernelbandits.storage import NoStudy, StorageError
from kernelbandits.study.sources import MOST_RESULTS, choose_results

pytestmark = pytest.mark.filterwarnings("ignore::kernelbandits.checks.DataNotice")


def table(rows, seed, **more):
    rng = np.random.default_rng(seed)
    heat, acid = rng.uniform(20, 90, rows).round(1), rng.choice(["a", "b", "c"], rows)
    return pd.DataFrame({"T (C)": heat, "acid": acid, **more})


def response(frame):
    heat = frame["T (C)"] if "T (C)" in frame else frame["temp"]
    return -(((heat - 60) / 30) ** 2) + 0.5 * (frame["acid"] == "b")


def make_old(folder, rows=15, name="old.db", target="yield", frame=None, values=None, **more):
    frame = table(rows, 0) if frame is None else frame
    values = response(frame) if values is None else values
    pairs = list(enumerate(np.asarray(values, dtype=float).tolist()))
    place = Path(folder) / name
    kb.Study.create(place, frame, target=target, results=pairs, **more).close()
    return place


@pytest.fixture
def old(tmp_path):
    return make_old(tmp_path)


def create(folder, learn_from, name="new.db", frame=None, target="purity", **more):
    frame = table(25, 1) if frame is None else frame
    return kb.Study.create(Path(folder) / name, frame, target=target, learn_from=learn_from, **more)


def said_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call().close()
    return [str(one.message) for one in caught if issubclass(one.category, DataNotice)]


def test_the_first_row_is_the_best_by_the_old_study(tmp_path, old):
    frame = table(25, 1)
    with create(tmp_path, old) as new:
        [first] = new.ask()
        good = response(frame).sort_values().index[-3:]
        assert first.row in good
        assert "earlier studies" in new.explain(first.trial).sentence
        assert (new.status().told, new.best()) == (0, None)
        assert new.to_dataframe()["state"].tolist() == ["pending"]


def test_what_is_learnt_is_said_when_the_study_is_created_and_in_its_status(tmp_path, old):
    notices = said_of(lambda: create(tmp_path, old))
    assert "learns from old.db: 15 results for yield (maximize), by T (C), acid" in notices
    with kb.Study.open(tmp_path / "new.db") as new:
        [source] = new.status().sources
        assert (source.name, source.results, source.columns) == ("old.db", 15, ("T (C)", "acid"))
        assert source.correlation is None
        for row, value in enumerate(response(table(25, 1))[:8]):
            new.tell(row=row, value=float(np.exp(3 * value)))
        [source] = new.status().sources
        assert source.correlation > 0.7
        assert source.agreement > 0.8
        line = new.status().sentence.splitlines()[-1]
        assert line.startswith("learns from: old.db: 15 results for yield, by T (C), acid; the est")
        assert "Learnt from old.db" in new.check().sentence
        assert "earlier study" in describe_methods(new, new.status())


def test_the_study_replays_when_the_old_one_is_gone(tmp_path, old):
    with create(tmp_path, old, seed=3) as new:
        for _ in range(6):
            [one] = new.ask()
            new.tell(one.trial, float(response(table(25, 1))[one.row]))
        status = new.status()
    old.unlink()
    with kb.Study.open(tmp_path / "new.db") as again:
        assert again.status() == status
        assert all(again.replay(trial).same for trial in range(1, 7))
        [one] = again.ask()
    with kb.Study.open(tmp_path / "new.db") as third:
        assert third.replay(one.trial).same


def test_results_of_the_old_study_do_not_leave_with_those_of_this_one(tmp_path, old):
    with create(tmp_path, old) as new:
        new.tell(row=3, value=1.0)
        new.export(tmp_path / "out.csv")
        assert len(pd.read_csv(tmp_path / "out.csv")) == 1
        assert "old.db" in json.dumps(new.settings["learn_from"])


def test_the_unit_and_a_shift_of_the_old_target_do_not_matter(tmp_path, old):
    other = make_old(tmp_path, name="kelvin.db", values=273 + 40 * response(table(15, 0)))
    asked = []
    for number, place in enumerate((old, other)):
        with create(tmp_path, place, name=f"new{number}.db") as new:
            for _ in range(5):
                [one] = new.ask()
                new.tell(one.trial, float(response(table(25, 1))[one.row]))
            asked.append(new.to_dataframe()["row"].tolist())
    assert asked[0] == asked[1]


def test_less_is_better_in_the_old_study_is_understood(tmp_path):
    old = make_old(tmp_path, values=-response(table(15, 0)), target="loss:minimize")
    with create(tmp_path, old) as new:
        assert new.ask()[0].row in response(table(25, 1)).sort_values().index[-3:]


def test_a_space_learns_from_a_table_and_a_table_from_a_space(tmp_path, old):
    space = {"t": kb.Real(20, 90), "acid": kb.Category(("b", "c", "d")), "pH": kb.Real(1, 5)}
    with create(tmp_path, old, frame=space) as new:
        assert new.status().sources[0].columns == ("t", "acid")
    space = {"T": kb.Real(20, 90, step=0.1), "acid": kb.Category(("a", "b", "c"))}
    with create(tmp_path, old, name="space.db", frame=space) as new:
        assert new.status().sources[0].columns == ("T", "acid")
        first = new.ask()[0]
        assert (first.x["acid"], abs(first.x["T"] - 60) < 15) == ("b", True)
        for _ in range(4):
            [one] = new.ask(1)
            new.tell(one.trial, one.x["T"])
    with create(tmp_path, tmp_path / "space.db", name="back.db") as back:
        assert back.status().sources[0].columns == ("T (C)", "acid")


def test_variables_that_are_there_under_a_condition_are_learnt(tmp_path):
    space = {
        "kernel": kb.Category(("rbf", "linear")),
        "C": kb.Real(0.1, 10, log=True),
        "gamma": kb.Real(1e-4, 1, log=True, when={"kernel": "rbf"}),
    }
    known = [({"kernel": "linear", "C": 10.0 ** (i / 4 - 1)}, -i) for i in range(8)]
    rbf = [{"kernel": "rbf", "C": 1.0, "gamma": 10.0 ** (i / 2 - 4)} for i in range(8)]
    known += [(x, 5.0 - abs(np.log10(x["gamma"]) + 2)) for x in rbf]
    old = tmp_path / "old.db"
    kb.Study.create(old, space, target="accuracy", results=known).close()
    with create(tmp_path, old, frame=space) as new:
        first = new.ask()[0].x
        assert first["kernel"] == "rbf"
        assert 1e-3 < first["gamma"] < 1e-1
        assert new.status().sources[0].columns == ("kernel", "C", "gamma")
    frame = pd.DataFrame({"C": [0.1, 1.0, 10.0], "gamma": [1e-4, 1e-2, 1.0]})
    notices = said_of(lambda: create(tmp_path, old, frame=frame, name="table.db"))
    assert "8 results of old.db cannot be placed and are not used" in notices


def test_another_unit_another_kind_and_other_columns_are_said(tmp_path, old):
    frame = table(25, 1).rename(columns={"T (C)": "T (K)"})
    frame["acid"] = list("abc") * 8 + ["a"]
    notices = said_of(lambda: create(tmp_path, old, frame=frame, name="kelvin.db"))
    assert "'T (K)' has another unit than 'T (C)' of old.db, and is not matched" in notices
    frame = table(25, 1).assign(acid=np.arange(25.0))
    notices = said_of(lambda: create(tmp_path, old, frame=frame, name="kind.db"))
    assert any(one.startswith("'acid' holds") for one in notices)
    frame = table(25, 1).drop(columns="acid")
    notices = said_of(lambda: create(tmp_path, old, frame=frame, name="less.db"))
    assert "only old.db has acid" in notices


def test_values_that_no_logarithm_has_are_left_out_and_that_is_said(tmp_path):
    frame = table(15, 0).rename(columns={"T (C)": "temp"})
    frame.loc[:3, "temp"] = 0.0
    old = make_old(tmp_path, frame=frame)
    space = {"temp": kb.Real(1, 100, log=True), "acid": kb.Category(("a", "b", "c"))}
    notices = said_of(lambda: create(tmp_path, old, frame=space))
    assert "4 results of old.db cannot be placed and are not used" in notices


@pytest.mark.parametrize("rows", [500, 501, 2000])
def test_of_many_results_the_best_and_others_at_even_steps_are_copied(rows):
    values = np.random.default_rng(0).normal(size=rows)
    chosen = choose_results(values)
    assert len({*chosen.tolist()}) == len(chosen) == MOST_RESULTS
    assert {*np.argsort(-values)[: MOST_RESULTS // 2].tolist()} <= {*chosen.tolist()}
    assert (np.diff(chosen) > 0).all()


def test_change_stops_learning_and_begins_it_and_undo_takes_it_back(tmp_path, old):
    with create(tmp_path, None) as new:
        new.tell(row=0, value=1.0)
        event = new.change(learn_from=str(old))
        assert event.body["changed"] == ["learn_from"]
        assert len(new.status().sources) == 1
        new.change(learn_from=None)
        assert new.status().sources == ()
        new.undo()
        assert len(new.status().sources) == 1
        events = len(new.history())
        with pytest.raises(StudyConflict, match="got the study itself"):
            new.change(learn_from=tmp_path / "new.db")
        assert len(new.history()) == events


def test_several_sources_are_columns_of_their_own(tmp_path, old):
    other = make_old(tmp_path, name="older.db", values=np.sin(np.arange(15.0)))
    with create(tmp_path, [old, other]) as new:
        assert [one.name for one in new.status().sources] == ["old.db", "older.db"]
        assert len(new._session.driver.policy.predictions) == 2
    with pytest.raises(ValueError, match="once"):
        create(tmp_path, [old, old], name="twice.db")


def test_a_table_that_grows_keeps_what_it_has_learnt(tmp_path, old):
    with create(tmp_path, old) as new:
        new.add(pd.DataFrame({"T (C)": [60.0], "acid": ["d"]}))
        new.tell(row=25, value=2.0)
        assert len(new.status().sources) == 1
        [one] = new.ask()
        assert new.replay(one.trial).same


def test_a_study_of_several_targets_is_a_source_and_learns(tmp_path):
    pairs = [(i, {"a": float(i), "b": float(-i)}) for i in range(15)]
    targets = {"a": "maximize,range=0..20", "b": "minimize,range=-20..0"}
    place = tmp_path / "two.db"
    kb.Study.create(place, table(15, 0), targets=targets, results=pairs).close()
    with create(tmp_path, place) as new:
        assert new.status().sources[0].target == "desirability"
    with create(tmp_path, make_old(tmp_path), name="n2.db", target=None, targets=targets) as new:
        assert len(new.status().sources) == 1
        assert new.ask()[0].row is not None


@pytest.mark.parametrize(
    ("learn_from", "error", "needed"),
    [
        ("missing.db", NoStudy, "missing.db"),
        ("table.csv", StorageError, "table.csv"),
        ("new.db", StudyConflict, "another study to learn from, got the study itself"),
        ("empty.db", StudyConflict, "at least 3 results, not all equal.*with 0 results"),
        ("equal.db", StudyConflict, "15 results, all equal"),
        ("other.db", StudyConflict, "column in common.*which has depth; here the columns are T"),
        ("opposite.db", StudyConflict, "same direction.*to be minimized, and here.*maximized"),
        (7, ValueError, "the place of a study"),
        ([""], ValueError, "the place of a study"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_and_nothing_is_created(
    tmp_path, monkeypatch, learn_from, error, needed
):
    monkeypatch.chdir(tmp_path)
    table(15, 0).to_csv("table.csv")
    kb.Study.create("empty.db", table(15, 0), target="yield").close()
    make_old(".", name="equal.db", values=np.ones(15))
    make_old(".", name="other.db", frame=pd.DataFrame({"depth": np.arange(5.0)}), values=range(5))
    make_old(".", name="opposite.db", target="purity:minimize")
    with pytest.raises(error, match=needed):
        create(".", learn_from)
    assert not Path("new.db").exists()


def test_a_named_policy_and_a_similarity_refuse_to_learn(tmp_path, old):
    with pytest.raises(ValueError, match="only auto learns from other studies"):
        create(tmp_path, old, policy="gp-ucb:noise_scale=0.1,norm_bound=1")
    with pytest.raises(ValueError, match="known by their similarity"):
        create(tmp_path, old, frame=kb.Arms.from_gram(np.eye(4)))
    assert not (tmp_path / "new.db").exists()


def test_or_open_opens_a_study_that_learns_from_the_same(tmp_path, old):
    create(tmp_path, old, or_open=True).close()
    with kb.Study.open(old) as other:
        other.tell(row=0, value=9.0)
    create(tmp_path, old, or_open=True).close()
    with pytest.raises(StudyConflict, match="another learn_from"):
        create(tmp_path, None, or_open=True)


# ---------------------------------------------------------------------- results known before


FORMS = {
    "pairs of rows": [(0, 0.5), (3, 0.7)],
    "pairs of values": [({"T (C)": 20.0, "acid": "a"}, 0.5), ((50.0, "b"), 0.7)],
    "mappings": [{"row": 0, "yield": 0.5}, {"T (C)": 50.0, "acid": "b", "yield": 0.7}],
    "DataFrame": pd.DataFrame({"T (C)": [20.0, 50.0], "acid": ["a", "b"], "yield": [0.5, 0.7]}),
}
ROWS = pd.DataFrame({"T (C)": [20.0, 30.0, 40.0, 50.0], "acid": list("abab")})


@pytest.mark.parametrize("form", FORMS)
def test_results_that_are_known_are_stored_with_the_study(tmp_path, form):
    with kb.Study.create(tmp_path / "a.db", ROWS, target="yield", results=FORMS[form]) as made:
        assert made.to_dataframe()[["row", "value"]].to_numpy().tolist() == [[0, 0.5], [3, 0.7]]
        [one] = made.ask()
        assert made.replay(one.trial).same
    with kb.Study.create(tmp_path / "b.db", ROWS, target="yield") as told:
        told.tell_all([{"row": 0, "yield": 0.5}, {"row": 3, "yield": 0.7}])
        again = kb.Study.open(tmp_path / "a.db")
        events = [one.kind for one in told.history()]
        assert events == [one.kind for one in again.history()][: len(events)]
        assert told.best() == again.best()


def test_results_in_the_table_of_candidates_are_told_with_it(tmp_path):
    frame = ROWS.assign(**{"yield": [0.5, None, None, 0.7]})
    frame.to_csv(tmp_path / "films.csv", index=False)
    for number, given in enumerate((frame, tmp_path / "films.csv")):
        place = tmp_path / f"{number}.db"
        with kb.Study.create(place, given, target="yield", results=given) as made:
            assert made.status().told == 2
    with kb.Study.open(tmp_path / "1.db") as made:
        assert [one.accepted for one in made.tell_all(tmp_path / "films.csv")] == [False, False]


def test_results_at_points_of_a_space_are_stored_with_it(tmp_path):
    space = {"heat": (20.0, 90.0), "acid": ["a", "b"]}
    known = [({"heat": 30.0, "acid": "a"}, 0.4), ((50.0, "b"), 0.6)]
    with kb.Study.create(tmp_path / "a.db", space, target="yield", results=known) as made:
        assert made.to_dataframe()["heat"].tolist() == [30.0, 50.0]
        [one] = made.ask()
        made.tell(one.trial, 0.5)
    with kb.Study.open(tmp_path / "a.db") as again:
        assert again.status().told == 3
        assert again.replay(one.trial).same


@pytest.mark.parametrize(
    ("results", "needed"),
    [
        ([(0, 0.5), (9, 0.7)], "a row below 4"),
        ([(0, 0.5), (0, "x")], "needs a number"),
        ([((1.0,), 0.5)], "points of 2 values"),
        ([{"T (C)": 21.0, "acid": "a", "yield": 1}], "candidate"),
        ("nofile.csv", "nofile.csv"),
        (7, "a list of mappings"),
    ],
)
def test_one_wrong_result_creates_nothing(tmp_path, results, needed):
    with pytest.raises((ValueError, OSError, StudyConflict), match=needed):
        kb.Study.create(tmp_path / "a.db", ROWS, target="yield", results=results)
    assert not (tmp_path / "a.db").exists()


def test_results_beyond_the_limits_create_nothing(tmp_path):
    with pytest.raises((ValueError, StudyConflict), match=r"limits|at most"):
        kb.Study.create(tmp_path / "a.db", ROWS, target="yield", limits="0..1", results=[(0, 3.0)])
    assert not (tmp_path / "a.db").exists()


# ---------------------------------------------------------------------- on the command line


def test_the_command_creates_with_results_and_learns(tmp_path, old, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(25, 1).to_csv("films.csv", index=False)
    Path("known.csv").write_text("row,purity\n2,0.4\n5,0.6\n")
    given = ("--candidates", "films.csv", "--target", "purity")
    text = said("create", "new.db", *given, "--results", "known.csv", "--learn-from", "old.db")
    assert "It learns from old.db: 15 results for yield (maximize), by T (C), acid." in text
    assert "2 results known." in text
    assert "learns from" in said("status", "new.db")
    assert document("status", "new.db")["sources"][0]["name"] == "old.db"
    said("change", "new.db", "--learn-from", "old.db")
    refused = study("create", "b.db", *given, "--learn-from", "b.db")
    assert refused.code == 1
    assert "got the study itself" in refused.err
    assert not Path("b.db").exists()


def test_a_study_with_a_limited_outcome_learns_about_what_it_maximises_only(tmp_path, old):
    targets = {"purity": "maximize", "haze": "<=0.5"}
    with create(tmp_path, old, target=None, targets=targets) as new:
        assert new.ask()[0].row in response(table(25, 1)).sort_values().index[-3:]
        new.tell(1, {"purity": 1.0, "haze": 0.3})
        driver = new._session.updated_driver()
        assert len(driver.policy.predictions) == 1
        assert driver.parts["haze"].policy.predictions == ()
        assert len(new.status().sources) == 1
