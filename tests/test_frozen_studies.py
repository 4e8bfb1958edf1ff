"""Studies that release 0.1.0 wrote open with the same events, results, settings and rows.

`frozen/make_studies.py` says what happened in them. Each was played on SQLite and on PostgreSQL,
and each is restored where it was made.
"""

from __future__ import annotations

import json
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelbandits as kb
import old_tables
from kernelbandits.apps.cli import app
from kernelbandits.catalogue.lookup import parameters_of
from kernelbandits.study.events import State
from kernelbandits.study.rules import AUTO_DEFAULTS
from kernelbandits.study.settings import FIRST_RELEASE, OF_AUTO, Settings

FOLDER = Path(__file__).parent / "frozen" / "studies-0.1"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sql"))


def restore(name: str, where: str) -> kb.Study:
    """A study at a new place, as release 0.1 stored it; opening it brings its tables up."""
    rows = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    old_tables.restore(where, rows)
    return kb.Study.open(where)


def restore_without_pending(name: str, where: str) -> kb.Study:
    """The same with its pending trials released: their leases end a day after it was made, and the
    next ask would suggest their rows again."""
    study = restore(name, where)
    study.release_all()
    return study


@pytest.fixture
def place(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a study of this name is to be restored."""
    if name.endswith("-sqlite"):
        return str(tmp_path / "restored.db")
    return f"{request.getfixturevalue('postgres')}&study=restored_{uuid.uuid4().hex}"


def described(name: str) -> dict[str, Any]:
    """What 0.1.0 made of the study."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_there_are_studies_of_both_back_ends():
    assert len(NAMES) == 22
    made_in = [name.rsplit("-", 1)[1] for name in NAMES]
    assert made_in.count("sqlite") == made_in.count("postgresql") == 11


@pytest.mark.parametrize("name", NAMES)
def test_a_study_of_0_1_opens_with_its_events_its_state_and_its_rows(name, place):
    known = described(name)
    study = restore(name, place)
    events = study.history()
    assert [event.kind for event in events] == known["events"]
    assert events[-1].check == known["last_check"]
    assert all(finding.ok for finding in study.doctor())

    assert (study.candidates.log, study.status().log) == ((), ())
    state = study._session.state
    assert [[one.number, one.row, one.state, one.value] for one in state.results] == known[
        "results"
    ]
    assert {str(one.trial): one.row for one in study.status().waiting} == known["pending"]
    assert study.settings.items() >= known["settings"].items()
    assert (study.status().centre, study.status().spread) == (known["centre"], known["spread"])

    asked = {str(event.trial): event.row for event in events if event.kind == "asked"}
    assert asked == known["asked"]
    for trial, row in known["asked"].items():
        again = study.replay(int(trial))
        assert again.row == row
        before = next(i for i, event in enumerate(events) if event.trial == int(trial))
        if State.of(events[:before]).settings.policy == "auto":
            # This release has another revision of auto: its choices are shown as stored.
            assert (again.recomputed, again.same, again.revision) == (None, None, 1)
        else:
            assert (again.recomputed, again.same) == (row, True), again.sentence


@pytest.mark.parametrize("name", ["auto-sqlite", "auto-cost-postgresql"])
def test_asks_of_an_older_auto_are_shown_as_stored_and_not_recomputed(name, place, monkeypatch):
    study = restore(name, place)
    stored = {event.trial: event for event in study.history() if event.kind == "asked"}
    monkeypatch.setattr(kb.Auto, "ask", None)
    for trial, event in stored.items():
        again = study.replay(trial)
        assert (again.row, again.recomputed, again.same) == (event.row, None, None)
        assert (again.revision, again.explained.revision, again.explained.stored) == (1, 1, True)
        assert again.sentence == (
            f"Trial {trial} was row {event.row}. Revision 1 of auto chose this row; this release "
            "has revision 4, so the choice is shown as it was stored and not recomputed."
        )
        explained = study.explain(trial)
        assert explained.sentence.startswith(event.body["why"])
        assert explained.sentence.endswith("shown as it was stored and not recomputed.")
        assert (explained.greedy, explained.chance) == (event.body["greedy"], None)
        assert explained.weight == event.body["note"].get("weight")


@pytest.mark.parametrize("name", ["gp-ts-sqlite", "bpe-sqlite"])
def test_asks_of_named_policies_are_recomputed_whatever_the_revision_of_auto(name, place):
    study = restore(name, place)
    for trial in described(name)["asked"]:
        assert study.replay(int(trial)).same
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        [one] = study.ask()
    assert (one.revision, one.notices) == (1, ())
    assert study.history()[-1].body["revision"] == 1


@pytest.mark.parametrize("name", ["auto-sqlite", "auto-postgresql"])
def test_the_first_ask_of_a_newer_revision_writes_the_settings_and_says_so(name, place):
    study = restore_without_pending(name, place)
    before = len(study.history())
    with pytest.warns(kb.DataNotice, match="this release has revision 4 of auto") as warned:
        asked = study.ask(2)
    fitted, settings, *asks = study.history()[before:]
    assert fitted.kind == "fitted"
    assert [str(one.message) for one in warned] == list(asked[0].notices)
    assert (settings.kind, settings.body["revised_from"]) == ("settings", 1)
    added = {"goal": "earn", "noise": None, "rounds": None, "revision": 4, "defaults": 1}
    assert settings.body["settings"] == described(name)["settings"] | added
    assert [(one.kind, one.body["revision"]) for one in asks] == [("asked", 4)] * 2
    assert [one.revision for one in asked] == [4, 4]
    assert study.settings == settings.body["settings"]

    reopened = kb.Study.open(place)
    for one in asked:
        assert reopened.replay(one.trial).same
    assert reopened.replay(1).recomputed is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        assert reopened.ask()[0].notices == ()


def test_a_study_of_0_1_keeps_the_defaults_of_0_1_of_auto(tmp_path, monkeypatch):
    """Whatever the defaults of `Auto` become: its next row is that of 0.1 settings."""
    rows = [one.row for one in restore("auto-repeats-sqlite", str(tmp_path / "a.db")).ask(3)]

    class Changed(kb.Auto):
        revision = 5

        def __init__(self, domain, *, first=1, nu=1.5, **settings):
            super().__init__(domain, first=first, nu=nu, **settings)

    monkeypatch.setattr("kernelbandits.study.rules.Auto", Changed)
    monkeypatch.setattr("kernelbandits.study.rules.parameters_of", lambda _: parameters_of(kb.Auto))
    study = restore("auto-repeats-sqlite", str(tmp_path / "b.db"))
    assert [one.row for one in study.ask(3)] == rows
    assert (study.settings["revision"], study.settings["defaults"]) == (5, 1)
    fresh = kb.Study.create(tmp_path / "c.db", study.candidates.points)
    assert (fresh.settings["revision"], fresh.settings["defaults"]) == (5, 5)
    assert study._session.driver.policy.calibrator.nu == 2.5
    assert fresh._session.driver.policy.calibrator.nu == 1.5


@pytest.mark.parametrize(
    ("goal", "rule", "own"),
    [("find", "find", {}), ("earn", "earn", {}), ("earn", "theory", {"width": "theory"})],
)
def test_the_defaults_of_the_present_revision_of_auto_are_written_down(goal, rule, own):
    """Who changes a default raises the revision, adds an entry and leaves the others alone."""
    given, arms = AUTO_DEFAULTS[kb.Auto.revision][rule], np.array([[0.0], [1.0]])
    assert set(given) == {*parameters_of(kb.Auto)} - {"domain", "seed", *OF_AUTO}
    frozen, today = kb.Auto(arms, goal=goal, **given), kb.Auto(arms, goal=goal, **own)
    for name in ("first", "opening", "safety", "delta", "ties"):
        assert getattr(frozen, name) == getattr(today, name)
    for name in ("prior", "refits", "shared", "nu", "members", "transform"):
        assert getattr(frozen.calibrator, name) == getattr(today.calibrator, name)
    assert frozen.settings == today.settings
    assert [frozen.width.terms(t) for t in (1, 7)] == [today.width.terms(t) for t in (1, 7)]


def test_the_defaults_of_0_1_are_its_model():
    auto = kb.Auto(np.array([[0.0], [1.0]]), goal="earn", **AUTO_DEFAULTS[1]["earn"])
    assert (auto.first, auto.opening, auto.calibrator.members) == (5, "middle", 1)
    assert auto.calibrator.prior.variances == ("signal", "noise")
    assert auto.width.terms(8)[0] == pytest.approx(2.5)


def test_a_study_of_0_1_earns_until_it_is_told_to_find(tmp_path):
    study = restore("auto-sqlite", str(tmp_path / "a.db"))
    assert (study.settings["goal"], study.settings["defaults"]) == ("earn", 1)
    assert study.status().purpose.startswith("earn")
    with pytest.warns(kb.DataNotice, match="now those of revision 4"):
        study.change(goal="find")
    assert (study.settings["goal"], study.settings["defaults"]) == ("find", kb.Auto.revision)
    policy = study._session.updated_driver().policy
    assert (policy.goal, policy.calibrator.members) == ("find", 8)
    study.undo()
    assert (study.settings["goal"], study.settings["defaults"]) == ("earn", 1)


def test_a_study_of_0_1_with_a_named_policy_has_no_goal(tmp_path):
    study = restore("gp-ts-sqlite", str(tmp_path / "a.db"))
    assert (study.settings["goal"], study.status().goal, study.status().purpose) == (None, None, "")
    study.change(policy="auto")
    assert (study.settings["goal"], study.settings["defaults"]) == ("find", kb.Auto.revision)


def test_settings_that_are_not_stored_are_those_of_0_1():
    settings = Settings.of({"target": "stability", "seed": 7, "of a later release": 1})
    assert settings.body == dict(FIRST_RELEASE) | {"target": "stability", "seed": 7}


def test_undo_leaves_the_settings_of_a_new_revision_alone(tmp_path):
    study = restore("auto-change-sqlite", str(tmp_path / "a.db"))
    study.change(lease=60.0)
    study.change(policy="auto", settings={"nu": 1.5})
    study.change(policy="simple-ucb", settings={"noise_scale": 0.1, "norm_bound": 1.0})
    study.undo()
    study.undo()
    policy = study.settings["policy"]
    study.undo()
    assert (study.settings["lease"], study.settings["policy"]) == (604800.0, policy)

    other = restore_without_pending("auto-sqlite", str(tmp_path / "b.db"))
    other.change(lease=60.0, settings={"nu": 1.5})
    other.ask()
    assert (other.settings["lease"], other.settings["revision"]) == (60.0, 4)
    undone = [other.undo() for _ in range(2)]
    assert [one.body["kind"] for one in undone] == ["asked", "settings"]
    assert other.settings["lease"] == 86400.0
    assert (other.settings["settings"], other.settings["revision"]) == ({}, 4)
    assert kb.Study.open(tmp_path / "b.db").settings == other.settings
    assert all(finding.ok for finding in other.doctor())
    assert other.ask()[0].notices == ()


def test_or_open_takes_a_study_of_0_1_that_was_created_just_so(tmp_path):
    table = pd.DataFrame({"x": np.round(np.arange(18) / 17, 6), "ok": ["yes"] * 18})
    table.loc[8, "ok"] = "no"
    place = str(tmp_path / "a.db")
    restore("auto-repeats-sqlite", place).close()
    given = {"target": "stability", "columns": ["x"], "or_open": True}
    assert len(kb.Study.create(place, table, seed=2, **given).history()) > 1
    with pytest.raises(kb.StudyConflict, match="got one with another seed"):
        kb.Study.create(place, table, seed=3, **given)


def test_revisions_cannot_be_given(tmp_path):
    with pytest.raises(ValueError, match="needs settings among"):
        kb.Study.create(tmp_path / "a.db", np.eye(3), revision=2)
    study = kb.Study.create(tmp_path / "a.db", np.eye(3))
    with pytest.raises(ValueError, match="needs settings among"):
        study.change(revision=2)


def test_the_command_line_says_what_is_stored_and_what_is_new(tmp_path):
    place = str(tmp_path / "a.db")
    restore_without_pending("auto-sqlite", place).close()
    run = CliRunner().invoke
    shown = run(app, ["study", "replay", place, "--at", "5"])
    assert shown.exit_code == 0
    assert "Revision 1 of auto chose this row; this release has revision 4" in shown.stdout
    assert "not recomputed" in run(app, ["study", "explain", place, "5"]).stdout
    found = json.loads(run(app, ["study", "replay", place, "--at", "5", "--format", "json"]).stdout)
    assert (found["row"], found["recomputed"], found["same"], found["revision"]) == (
        19,
        None,
        None,
        1,
    )
    assert found["explained"]["stored"]

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        asked = run(app, ["study", "ask", place])
    assert "note: this release has revision 4 of auto" in asked.stderr
    events = json.loads(run(app, ["study", "history", place, "--format", "json"]).stdout)
    assert 1 in [event["body"].get("revised_from") for event in events]


def test_the_json_of_ask_has_the_notice(tmp_path):
    place = str(tmp_path / "a.db")
    restore_without_pending("auto-sqlite", place).close()
    asked = CliRunner().invoke(app, ["study", "ask", place, "--format", "json", "--quiet"])
    [one] = json.loads(asked.stdout)
    assert one["revision"] == 4
    assert "from now on revision 4 chooses" in one["notices"][0]
