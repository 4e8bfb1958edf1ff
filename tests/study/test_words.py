"""The sentences about what happened to a study, each kind of event once."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import said
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.storage import Event
from kernelbandits.storage.event import KINDS
from kernelbandits.study.settings import Settings
from kernelbandits.study.words import (
    describe_correction,
    describe_event,
    describe_permission,
    describe_release,
    describe_results,
    describe_step,
    describe_undos,
    describe_waiting,
    name_rows,
)

SETTINGS = Settings(targets=({"name": "yield"},), revision=2).body
TOLD = {"values": {"yield": 0.83}, "sems": {"yield": 0.02}, "note": "wet", "by": "AB"}
SENTENCES = {
    "created": (
        {"body": {"settings": SETTINGS, "candidates": {"log": ["conc"]}}},
        "study created: maximize yield, policy auto, log10 of conc",
    ),
    "asked": ({"trial": 4, "row": 3, "body": {"note": {"mean": 1.0}}}, "trial 4 (row 3) suggested"),
    "told": (
        {"trial": 4, "row": 3, "value": 0.83, "body": TOLD},
        "trial 4 (row 3): result 0.83 ± 0.02 (wet), by AB",
    ),
    "failed": ({"trial": 4, "body": {"x": {"heat": 20.5}}}, "trial 4 (heat = 20.5): failed"),
    "corrected": (
        {
            "trial": 4,
            "row": 3,
            "value": 1234567.0,
            "body": {"reason": "misread", "was": {"yield": 0.8}},
        },
        "trial 4 (row 3): corrected to 1234567 (misread)",
    ),
    "withdrawn": ({"trial": 4, "row": 3}, "trial 4 (row 3): result withdrawn"),
    "released": (
        {"trial": 4, "row": 3, "body": {"overdue": True}},
        "trial 4 (row 3) released, because its lease had ended",
    ),
    "fitted": ({"body": {"results": 1}}, "model fitted to 1 result"),
    "settings": (
        {"body": {"settings": SETTINGS, "changed": ["policy", "noise", "lease", "targets"]}},
        "settings changed: policy auto, noise not given, lease 7 days, targets yield (maximize)",
    ),
    "undone": (
        {"trial": 4, "body": {"of": 7, "kind": "told", "value": 0.5}},
        "event 7 (told, trial 4, 0.5) undone",
    ),
    "noted": ({"body": {"lost": 3}}, "an event that was lost"),
    "added": (
        {"body": {"columns": {"heat": [1.0, 2.0]}, "first": 8, "new": ["acid"]}},
        "2 rows added, from row 8 on, with the new columns acid",
    ),
    "forbidden": ({"body": {"rows": [3], "reason": "none left"}}, "row 3 forbidden (none left)"),
    "allowed": ({"body": {"rows": [3, 5]}}, "row 3, row 5 allowed"),
    "ranges": (
        {"body": {"ranges": {"heat": [20.0, 120.0]}, "before": {"heat": [20.0, 90.0]}}},
        "ranges changed: heat 20 to 120 (before: 20 to 90)",
    ),
    "missing": ({"trial": 4, "row": 3}, "trial 4 (row 3): no value"),
}


def event(kind: str, **fields: object) -> Event:
    return Event(kind=kind, seq=9, at=0.0, check="", **fields)


def test_every_kind_of_event_has_a_sentence():
    assert set(SENTENCES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_said_in_a_sentence(kind):
    fields, sentence = SENTENCES[kind]
    assert describe_event(event(kind, **fields)) == sentence


def test_several_targets_are_named_with_their_values():
    body = {"values": {"yield": 0.5, "purity": 99.0}, "sems": {"purity": 0.5}, "missing": ["cost"]}
    told = event("told", trial=2, row=1, body=body)
    assert (
        describe_event(told) == "trial 2 (row 1): result yield 0.5, purity 99 ± 0.5, cost missing"
    )


def test_a_step_and_rows_name_a_few_and_count_the_others():
    asked = [event("asked", trial=number, row=number) for number in range(6)]
    assert describe_step(asked).endswith("trial 3 (row 3) suggested; 2 more")
    assert name_rows(list(range(10)), "A{}".format) == "A0, A1, A2, A3, A4, A5, A6, A7 and 2 more"


def test_what_was_undone_is_said_with_what_holds_now(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        study.tell(row=2, value=0.5)
        study.correct(1, 0.75, reason="misread")
        study.forbid([4])
        study.ask(n=3)
        undone = study.undo_all(4)
        history = study.history()
    sentences = describe_undos([history[one.body["of"] - 1] for one in undone])
    assert sentences == [
        "Undone: 3 suggestions (trials 2-4). Their candidates can be suggested again.",
        "Undone: row 4 forbidden. What was forbidden can be suggested again.",
        "Undone: trial 1 (row 2): corrected to 0.75 (misread). Its result is 0.5 again.",
        "Undone: trial 1 (row 2): result 0.5. The trial has no result now.",
    ]


def test_corrections_and_releases_are_said_alike_everywhere():
    assert describe_correction(3, None) == "Trial 3 now counts as failed"
    assert describe_correction(3, {"a": 1, "b": 2.5}) == "Trial 3 now has the result a 1, b 2.5"
    assert describe_release([]) == "No trial is pending, so none was released."
    nobody = "No trial of carl is pending, so none was released."
    assert describe_release([], "carl") == nobody
    assert describe_release([3]).startswith("Trial 3 is released")
    assert describe_release([7, 3, 4, 5]) == "4 trials are released: 3-5, 7."


def test_an_ask_and_a_point_off_the_table_are_undone_in_words_of_their_own(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        with pytest.warns(DataNotice, match="a point off the table"):
            study.tell(x={"x1": 0.4}, value=0.5)
        [one] = study.ask()
        undone = study.undo_all(2)
        history = study.history()
    assert describe_undos([history[event.body["of"] - 1] for event in undone]) == [
        f"Undone: the ask of trial 2. Row {one.row} can be suggested again.",
        "Undone: trial 1 (row 9): result 0.5. The trial has no result now.",
        "Undone: the point off the table (row 9), which had no result.",
    ]
    assert describe_event(history[-1]) == (
        "units of the model as before any result: centre 0, spread 1"
    )
    with kb.Study.create(tmp_path / "brew.db", {"heat": (20.0, 90.0)}) as study:
        study.ask()
        study.undo()
        [sentence] = describe_undos([study.history()[1]])
    assert re.fullmatch(
        r"Undone: the ask of trial 1\. The point heat = [\d.]+ can be suggested again\.", sentence
    )


def test_the_history_says_which_settings_changed_and_to_what(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        event = study.change(tolerance=0.1, rounds=20, noise=None)
        assert event.body["changed"] == ["rounds", "tolerance"]
        assert describe_event(event) == "settings changed: rounds 20, tolerance 0.1"


def test_settings_that_are_so_already_write_no_event(tmp_path):
    place = tmp_path / "films.db"
    with kb.Study.create(place, np.linspace(0, 1, 9)[:, None]) as study:
        changed = study.change(tolerance=0.1)
        study.tell(row=1, value=0.5)
        count = len(study.history())
        with pytest.warns(DataNotice, match="nothing was changed: tolerance as before"):
            assert study.change(tolerance=0.1) == changed
        assert len(study.history()) == count
    assert said("change", place, "--tolerance", "0.1") == "Nothing was changed.\n"
    assert "settings changed: tolerance 0.2 (event" in said("change", place, "--tolerance", "0.2")


def test_an_event_has_one_name_in_all_refusals(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        study.tell(row=1, value=0.5, key="k")
        with pytest.raises(StudyConflict, match=r"the key of event 2 \(told, trial 1, 0\.5\)"):
            study.tell(row=1, value=0.6, key="k")
        with pytest.raises(StudyConflict, match=r"is now event 2 \(told, trial 1, 0\.5\)"):
            study.undo(event=1)


def test_only_keys_of_users_are_shown(tmp_path):
    place, file = tmp_path / "films.db", tmp_path / "results.csv"
    file.write_text("row,value\n1,0.5\n2,0.6\n")
    with kb.Study.create(place, np.linspace(0, 1, 9)[:, None]) as study:
        study.tell_all(file)
        assert (study.history()[1].key or "").startswith("csv:")
        study.tell_all(file, key="monday", replicates=True)
        study.tell(row=4, value=0.5, key="mine")
    shown = said("history", place)
    assert "csv:" not in shown
    assert (shown.count("; key monday"), shown.count("; key mine")) == (2, 1)


def test_what_a_file_told_is_counted_alike_and_a_second_time_settles_nothing(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        [one] = study.ask()
        file = tmp_path / "results.csv"
        file.write_text(f"row,value\n{one.row},0.5\n")
        first = describe_results(study.tell_all(file))
        again = describe_results(study.tell_all(file))
    assert first == "1 result recorded. Pending trials that got the result of a row: 1."
    assert again == "0 results recorded, 1 already stored."


def test_a_correction_to_a_failure_is_said(tmp_path):
    targets = {"a": "minimize", "b": "maximize"}
    with kb.Study.create(
        tmp_path / "two.db", np.linspace(0, 1, 9)[:, None], targets=targets
    ) as two:
        two.tell(row=1, value={"a": 0.5, "b": 1.0})
        [told] = two.tell_all([{"row": 1, "failed": "yes"}], corrected=True)
    assert ": corrected, now a failure." in told.sentence


def test_rows_are_forbidden_and_allowed_in_the_same_words(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 19)[:, None]) as study:
        name = study.candidates.describe_candidate
        event = study.forbid([1])
        assert describe_permission(event, name) == (
            "Row 1 (x1 0.0555556) will not be suggested any more."
        )
        sentence = describe_permission(study.forbid(list(range(2, 12))), name)
        assert sentence.endswith("and 2 more rows will not be suggested any more.")
        assert describe_permission(study.allow([1]), name).endswith("can be suggested again.")


def test_a_release_of_no_trial_is_refused(tmp_path):
    with kb.Study.create(tmp_path / "films.db", np.linspace(0, 1, 9)[:, None]) as study:
        study.ask()
        for nothing in (range(1, 1), []):
            with pytest.raises(ValueError, match="release needs at least one trial"):
                study.release_all(nothing)
        assert study.release_all(range(1, 2))[0].trial == 1


def test_a_candidate_stands_below_its_headings_with_a_row_or_without(tmp_path):
    table = pd.DataFrame({"film": ["A", "B"], "Cs": [0.25, 0.5]})
    with kb.Study.create(tmp_path / "films.db", table, label="film") as study:
        place = study.candidates
        assert place.shown_columns == ("row", "film", "Cs")
        assert (place.row_cell(1), place.shown_cells(1)) == ({"row": 1}, [1, "B", 0.5])
        assert (place.names_of(1), place.names_of(None)) == ({"film": "B"}, {})
    with kb.Study.create(tmp_path / "brew.db", {"heat": (20.0, 90.0)}) as study:
        study.tell(x={"heat": 30}, value=0.5)
        place = study.candidates
        assert place.shown_columns == ("heat",)
        assert (place.row_cell(0), place.shown_cells(0)) == ({}, [30.0])


def test_a_correction_to_what_is_stored_writes_no_event(tmp_path):
    place = tmp_path / "films.db"
    with kb.Study.create(place, np.linspace(0, 1, 9)[:, None]) as study:
        study.tell(row=1, value=0.5, sem=0.1)
        study.tell(row=2, failed=True)
        with pytest.warns(DataNotice, match="nothing was changed: trial 1 already has the result"):
            assert study.correct(1, 0.5, sem=0.1).kind == "told"
        with pytest.warns(DataNotice, match="trial 2 is already stored as failed"):
            assert study.correct(2, failed=True).kind == "failed"
        assert len(study.history()) == 4
    assert said("correct", place, "1", "0.5") == "Nothing was changed.\n"
    assert "now has the result 0.6" in said("correct", place, "1", "0.6")
    assert "now has the result 0.6" in said("correct", place, "1", "0.6", "--sem", "0.2")


def test_a_suggestion_drawn_at_random_is_said_to_be(tmp_path):
    place = tmp_path / "films.db"
    space = kb.MixedBox({"heat": kb.Real(0.0, 1.0)})
    with kb.Study.create(place, space, seed=1, noise=0.2) as study:
        for _ in range(12):
            [one] = study.ask()
            study.tell(one.trial, 1 - (one.x["heat"] - 0.4) ** 2)
        study.ask(5)
        asked = [event for event in study.history() if event.kind == "asked"]
        drawn = {event.trial for event in asked if "drawn" in event.body["note"]}
        assert drawn
        for event in asked:
            ending = ", at random" if event.trial in drawn else ""
            assert describe_event(event).endswith(f"suggested{ending}")
        waiting = study.status().waiting
        assert [one.trial for one in waiting if one.drawn] == [
            one.trial for one in waiting if one.trial in drawn
        ]
        for one in waiting:
            assert (", at random" in describe_waiting(one, {})) == one.drawn
