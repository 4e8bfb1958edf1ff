"""A call repeated with its key counts once, whatever the call."""

from __future__ import annotations

import pytest

import kernelbandits as kb

CALLS = {
    "ask": lambda study: [one.trial for one in study.ask(2, key="again")],
    "tell": lambda study: study.tell(1, 0.5, key="again").seq,
    "correct": lambda study: study.correct(3, 0.6, key="again").seq,
    "withdraw": lambda study: study.withdraw(3, key="again").seq,
    "release": lambda study: study.release(2, key="again").seq,
    "undo": lambda study: study.undo(key="again").seq,
    "change": lambda study: study.change(tolerance=0.1, key="again").seq,
}


@pytest.fixture
def study(tmp_path):
    """Trials 1 and 2 are pending, and trial 3 has a result."""
    with kb.Study.create(tmp_path / "films.db", [[0.0], [0.5], [1.0], [1.5], [2.0]]) as study:
        study.ask(3)
        study.tell(3, 0.4)
        yield study


@pytest.mark.parametrize("call", CALLS)
def test_a_repeated_call_returns_the_same_and_writes_nothing(study, call):
    first = CALLS[call](study)
    events = len(study.history())
    assert CALLS[call](study) == first
    with kb.Study.open(study.place) as other:
        assert CALLS[call](other) == first
    assert len(study.history()) == events


def test_calls_of_different_kinds_may_have_the_same_key(study):
    for call in ("ask", "tell", "correct", "change", "undo"):
        CALLS[call](study)
    kinds = [event.kind for event in study.history() if "again" in (event.key or "")]
    assert kinds == ["fitted", "asked", "asked", "told", "corrected", "settings", "undone"]


def test_history_after_a_number(study):
    assert [event.seq for event in study.history(after=3)] == list(
        range(4, len(study.history()) + 1)
    )
    assert study.history(after=1000) == []
