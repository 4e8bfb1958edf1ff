"""The sentences about what happened to a study, each kind of event once."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.storage import Event
from kernelbandits.storage.event import KINDS
from kernelbandits.study.settings import Settings
from kernelbandits.study.words import (
    describe_correction,
    describe_event,
    describe_release,
    describe_step,
    describe_undos,
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
    "settings": ({"body": {"settings": SETTINGS}}, "settings changed; policy auto"),
    "undone": ({"body": {"of": 7, "kind": "told"}}, "event 7 (told) undone"),
    "noted": ({"body": {"lost": 3}}, "an event that was lost"),
    "added": (
        {"body": {"columns": {"heat": [1.0, 2.0]}, "first": 8, "new": ["acid"]}},
        "2 rows added, from row 8 on, with the new columns acid",
    ),
    "forbidden": ({"body": {"rows": [3], "reason": "none left"}}, "row 3 forbidden (none left)"),
    "allowed": ({"body": {"rows": [3, 5]}}, "rows 3, 5 allowed"),
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
    assert name_rows(list(range(10))) == "rows 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"


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
    said = "No trial of carl is pending, so none was released."
    assert describe_release([], "carl") == said
    assert describe_release([3]).startswith("Trial 3 is released")
    assert describe_release([7, 3, 4, 5]) == "4 trials are released: 3-5, 7."
