"""Every ask records the revision of its policy; what a later revision does with it; what is stored must be whole."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.storage import Damaged, Draft, Log, OtherVersion
from kernelbandits.study.events import ASKED, State
from kernelbandits.study.places import stored_place
from kernelbandits.study.settings import Settings
from kernelbandits.study.words import describe_event

LINE = [[x / 17] for x in range(18)]
NAMED = {"policy": "simple-ucb", "settings": {"noise_scale": 0.1, "norm_bound": 1.0}}
NEXT = kb.Auto.revision + 1


def play(place: Any, rounds: int = 5, candidates: Any = LINE, **settings: Any) -> kb.Study:
    """A new study with so many results."""
    made = kb.Study.create(place, candidates, seed=2, **settings)
    for _ in range(rounds):
        [one] = made.ask()
        made.tell(one.trial, float(np.sin(3 * one.x["x1"])))
    return made


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call it, and a later release is installed, whose auto has the next revision."""
    return lambda: monkeypatch.setattr(kb.Auto, "revision", NEXT)


# ---------------------------------------------------------------- revisions


def test_every_policy_begins_with_revision_1(tmp_path):
    for name, settings in (("auto", {}), ("named", NAMED)):
        made = play(tmp_path / f"{name}.db", **settings)
        asks = [event.body["revision"] for event in made.history() if event.kind == "asked"]
        assert (asks, made.settings["revision"]) == ([1] * 5, 1)
        assert all(made.replay(trial).same for trial in range(1, 6))


def test_asks_of_another_revision_are_shown_as_stored_and_not_recomputed(where, later, monkeypatch):
    made = play(where)
    stored = {event.trial: event for event in made.history() if event.kind == "asked"}
    later()
    monkeypatch.setattr(kb.Auto, "ask", None)
    for trial, event in stored.items():
        again = made.replay(trial)
        assert (again.row, again.recomputed, again.same) == (event.row, None, None)
        assert (again.revision, again.explained.revision, again.explained.stored) == (1, 1, True)
        assert again.sentence == (
            f"Trial {trial} was row {event.row}. Revision 1 of auto chose this row; this release "
            f"has revision {NEXT}, so the choice is shown as it was stored and not recomputed."
        )
        explained = made.explain(trial)
        assert explained.sentence.startswith(event.body["why"])
        assert explained.sentence.endswith("shown as it was stored and not recomputed.")
        assert (explained.greedy, explained.chance) == (event.body["greedy"], None)


def test_asks_of_named_policies_are_recomputed_whatever_the_revision_of_auto(tmp_path, later):
    made = play(tmp_path / "a.db", **NAMED)
    later()
    assert all(made.replay(trial).same for trial in range(1, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        [one] = made.ask()
    assert (one.revision, one.notices, made.settings["revision"]) == (1, (), 1)


def test_the_first_ask_of_a_new_revision_writes_the_settings_and_says_so(where, later):
    made = play(where)
    before, settings = len(made.history()), dict(made.settings)
    later()
    with pytest.warns(kb.DataNotice, match=f"this release has revision {NEXT} of auto") as warned:
        asked = made.ask(2)
    [event] = [one for one in made.history()[before:] if one.kind == "settings"]
    assert [str(one.message) for one in warned] == list(asked[0].notices)
    assert event.body["revised_from"] == 1
    assert made.settings == event.body["settings"] == {**settings, "revision": NEXT}
    asks = [one for one in made.history()[before:] if one.kind == "asked"]
    assert [one.body["revision"] for one in asks] == [one.revision for one in asked] == [NEXT] * 2

    reopened = kb.Study.open(where)
    assert all(reopened.replay(one.trial).same for one in asked)
    assert reopened.replay(1).recomputed is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        assert reopened.ask()[0].notices == ()


def test_undo_leaves_the_settings_of_a_new_revision_alone(tmp_path, later):
    made = play(tmp_path / "a.db")
    lease = made.settings["lease"]
    later()
    made.change(lease=60.0, settings={"nu": 1.5})
    with pytest.warns(kb.DataNotice, match="from now on"):
        made.ask()
    assert (made.settings["lease"], made.settings["revision"]) == (60.0, NEXT)
    assert [made.undo().body["kind"] for _ in range(2)] == ["asked", "settings"]
    assert (made.settings["lease"], made.settings["settings"]) == (lease, {})
    assert made.settings["revision"] == NEXT
    assert kb.Study.open(tmp_path / "a.db").settings == made.settings
    assert all(finding.ok for finding in made.doctor())
    assert made.ask()[0].notices == ()


def test_another_policy_brings_its_own_revision(tmp_path, later):
    made = play(tmp_path / "a.db", **NAMED)
    later()
    made.change(policy="auto")
    assert (made.settings["revision"], made.settings["goal"]) == (NEXT, "find")
    made.change(**NAMED)
    assert (made.settings["revision"], made.settings["goal"]) == (1, None)


def test_or_open_takes_a_study_of_another_revision(tmp_path, later):
    play(tmp_path / "a.db").close()
    later()
    with kb.Study.create(tmp_path / "a.db", LINE, seed=2, or_open=True) as made:
        assert (len(made.history()) > 1, made.settings["revision"]) == (True, 1)
    with pytest.raises(kb.StudyConflict, match="got one with another seed"):
        kb.Study.create(tmp_path / "a.db", LINE, seed=3, or_open=True)


def test_revisions_cannot_be_given(tmp_path):
    with pytest.raises(ValueError, match="needs settings among"):
        kb.Study.create(tmp_path / "a.db", np.eye(3), revision=2)
    made = kb.Study.create(tmp_path / "a.db", np.eye(3))
    with pytest.raises(ValueError, match="needs settings among"):
        made.change(revision=2)


def test_the_command_line_says_what_is_stored_and_what_is_new(tmp_path, later):
    place = tmp_path / "a.db"
    play(place).close()
    later()
    shown = said("replay", place, "--at", "5")
    assert f"Revision 1 of auto chose this row; this release has revision {NEXT}" in shown
    assert "not recomputed" in said("explain", place, "5")
    found = document("replay", place, "--at", "5")
    assert (found["recomputed"], found["same"], found["revision"]) == (None, None, 1)
    assert found["explained"]["stored"]

    shutil.copy(place, tmp_path / "copy.db")
    [one] = document("ask", tmp_path / "copy.db", "--quiet")
    assert one["revision"] == NEXT
    assert f"from now on revision {NEXT} chooses" in one["notices"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        asked = study("ask", place)
    assert f"note: this release has revision {NEXT} of auto" in asked.err
    assert 1 in [event["body"].get("revised_from") for event in document("history", place)]
    [revised] = [one for one in kb.Study.open(place).history() if "revised_from" in one.body]
    sentence = f"revision {NEXT} of auto chooses from now on"
    assert describe_event(revised) == sentence


# ---------------------------------------------------------------- defaults


@pytest.mark.parametrize("candidates", [LINE, {"x1": (0.0, 1.0), "x2": (0.0, 1.0)}])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"goal": "earn"},
        {"goal": "earn", "settings": {"width": "theory"}},
        {"settings": {"nu": 1.5}},
    ],
)
def test_settings_of_auto_that_were_not_given_are_those_of_auto(tmp_path, candidates, given):
    made = kb.Study.create(tmp_path / "a.db", candidates, **given)
    chosen = made._session.driver.policy
    own = kb.Auto(chosen.domain, goal=made.settings["goal"], **given.get("settings", {}))
    assert chosen.settings == own.settings
    for name in ("first", "opening", "safety", "delta", "ties"):
        assert getattr(chosen, name) == getattr(own, name)
    assert chosen.learner.refits == own.learner.refits
    for name in ("prior", "shared", "nu", "members", "transform"):
        assert getattr(chosen.learner.fitter, name) == getattr(own.learner.fitter, name)


# ---------------------------------------------------------------- what is stored


def without(event: Any, *path: str) -> Any:
    """An event whose body lacks an entry."""
    body = json.loads(json.dumps(event.body))
    part = body
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return replace(event, body=body)


@pytest.mark.parametrize("name", [one.name for one in fields(Settings)])
def test_a_study_whose_settings_lack_one_is_damaged(tmp_path, name):
    created, *rest = play(tmp_path / "a.db", 1).history()
    with pytest.raises(Damaged, match=f"got 'created' as event 1: its settings lack {name}$"):
        State.of([without(created, "settings", name), *rest])


def test_a_study_with_an_unknown_setting_was_written_by_a_newer_release(where, tmp_path):
    with kb.Study.create(tmp_path / "a.db", LINE) as made:
        created, columns = made.history()[0], made.candidates.stored_columns
    body = {**created.body, "settings": {**created.body["settings"], "defaults": 5}}
    Log.create(where, Draft(kind="created", body=body), columns).close()
    sentence = (
        "the study was written by a newer release: it has the setting defaults, which this release "
        "does not know; open it with a newer release of kernelbandits"
    )
    with pytest.raises(OtherVersion, match=f"^{re.escape(sentence)}$"):
        kb.Study.open(where).status()
    shown = study("status", where)
    assert (shown.code, shown.err) == (74, f"error: {sentence}\n")


@pytest.mark.parametrize("name", ASKED)
def test_an_ask_that_lacks_what_every_ask_has_is_damage(tmp_path, name):
    created, asked, *rest = play(tmp_path / "a.db", 1).history()
    with pytest.raises(Damaged, match=f"got 'asked' as event 2: it lacks {name}$"):
        State.of([created, without(asked, name), *rest])


def test_a_table_whose_roles_are_not_all_stored_is_damaged(tmp_path):
    with play(tmp_path / "a.db", 1) as made:
        log, created = made._session.log, made.history()[0]
        for name in created.body["candidates"]:
            with pytest.raises(Damaged, match=f"does not describe what may be .* '{name}'"):
                stored_place(log, without(created, "candidates", name))
