"""A call repeated with its key counts once, whatever the call; another call with the key is refused."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.study.values import Told

FILMS = pd.DataFrame({"name": list("ABCDEFGH"), "Cs": [i / 10 for i in range(8)]})


def more(cs):
    return pd.DataFrame({"name": [f"film {cs}"], "Cs": [cs]})


CALLS = {
    "ask": lambda study, key: study.ask(2, key=key),
    "tell": lambda study, key: study.tell(3, 0.5, key=key),
    "tell replicates": lambda study, key: study.tell(3, [0.5, 0.6], key=key),
    "tell failed": lambda study, key: study.tell(3, failed=True, key=key),
    "tell missing": lambda study, key: study.tell(3, missing=True, key=key),
    "tell a point": lambda study, key: study.tell(x={"Cs": 0.55}, value=0.5, key=key),
    "correct": lambda study, key: study.correct(1, 0.6, key=key),
    "withdraw": lambda study, key: study.withdraw(1, key=key),
    "withdraw by label": lambda study, key: study.withdraw(label="H", key=key),
    "release": lambda study, key: study.release(4, key=key),
    "undo": lambda study, key: study.undo(key=key),
    "forbid": lambda study, key: study.forbid([0, 1], key=key),
    "allow": lambda study, key: study.allow(6, key=key),
    "add": lambda study, key: study.add(more(0.9), key=key),
    "change": lambda study, key: study.change(tolerance=0.1, key=key),
}
OTHERS = {
    "ask": [
        lambda study, key: study.ask(3, key=key),
        lambda study, key: study.ask(2, worker="ann", key=key),
        lambda study, key: study.ask(2, lease=60.0, key=key),
        lambda study, key: study.ask(2, same="Cs", key=key),
    ],
    "tell": [
        lambda study, key: study.tell(4, 0.5, key=key),
        lambda study, key: study.tell(3, 0.6, key=key),
        lambda study, key: study.tell(3, [0.5, 0.6], key=key),
        lambda study, key: study.tell(3, 0.5, sem=0.1, key=key),
        lambda study, key: study.tell(3, 0.5, note="second batch", key=key),
        lambda study, key: study.tell(3, 0.5, by="AB", key=key),
        lambda study, key: study.tell(3, failed=True, key=key),
        lambda study, key: study.tell(3, missing=True, key=key),
        lambda study, key: study.tell_all([{"row": 5, "value": 0.5}], key=key),
    ],
    "tell replicates": [
        lambda study, key: study.tell(3, 0.5, key=key),
        lambda study, key: study.tell_all([{"row": 5, "value": 0.5}], key=key),
    ],
    "tell missing": [lambda study, key: study.tell(4, missing=True, key=key)],
    "tell a point": [lambda study, key: study.tell(x={"Cs": 0.56}, value=0.5, key=key)],
    "correct": [
        lambda study, key: study.correct(1, 0.7, key=key),
        lambda study, key: study.correct(2, 0.6, key=key),
        lambda study, key: study.correct(1, failed=True, key=key),
        lambda study, key: study.correct(1, 0.6, sem=0.1, key=key),
        lambda study, key: study.correct(1, 0.6, reason="slip", key=key),
    ],
    "withdraw": [lambda study, key: study.withdraw(2, key=key)],
    "release": [
        lambda study, key: study.release(3, key=key),
        lambda study, key: study.release_all(key=key),
    ],
    "undo": [lambda study, key: study.undo_all(2, key=key)],
    "forbid": [
        lambda study, key: study.forbid([0, 2], key=key),
        lambda study, key: study.forbid([0, 1], reason="no stock", key=key),
    ],
    "allow": [
        lambda study, key: study.allow(5, key=key),
        lambda study, key: study.forbid(6, key=key),
    ],
    "add": [
        lambda study, key: study.add(more(0.8), key=key),
        lambda study, key: study.add(more(0.9).assign(salt=1), columns={"salt": 0}, key=key),
    ],
    "change": [lambda study, key: study.change(tolerance=0.2, key=key)],
}
OWN = ["run", "run/1", "run/0", "run/fitted", "ask:run", "ask:run/1", "correct:run", "undo:run/0"]
OWN += ["release:run/0", "release:run", "run%2F1", "%", "/", ":", "run/point"]


@pytest.fixture
def study(where):
    """Trials 1 and 2 have results, trials 3 and 4 are pending, and rows 5 and 6 are forbidden."""
    with kb.Study.create(where, FILMS, columns=["Cs"], label="name", seed=1) as study:
        study.forbid([5, 6])
        study.tell(label="H", value=0.4)
        study.tell(row=4, value=0.3)
        study.ask(2)
        yield study


def content(answer):
    """The answer of a call, without notices, which are given once; suggestions by their trials."""
    if isinstance(answer, list):
        return [one.trial for one in answer]
    return replace(answer, notices=()) if isinstance(answer, Told) else answer


@pytest.mark.filterwarnings("ignore::kernelbandits.checks.DataNotice")
@pytest.mark.parametrize("call", CALLS)
def test_a_repeated_call_returns_the_same_and_writes_nothing(study, where, call):
    first = content(CALLS[call](study, "again"))
    events = study.history()
    assert content(CALLS[call](study, "again")) == first
    with kb.Study.open(where) as other:
        assert content(CALLS[call](other, "again")) == first
    assert study.history() == events


@pytest.mark.filterwarnings("ignore::kernelbandits.checks.DataNotice")
@pytest.mark.parametrize("call", OTHERS)
def test_another_call_with_the_same_key_is_refused_and_writes_nothing(study, call):
    CALLS[call](study, "again")
    events = study.history()
    for other in OTHERS[call]:
        with pytest.raises(kb.StudyConflict, match="needs a new key for a new call, got 'again'"):
            other(study, "again")
        assert study.history() == events


@pytest.mark.filterwarnings("ignore::kernelbandits.checks.DataNotice")
def test_different_calls_and_different_keys_never_meet(study):
    """Whatever signs a key has: parts of the keys of events are told apart."""
    asked = [study.ask(key=own)[0].trial for own in OWN]
    for own in OWN:
        study.tell(row=5, value=[0.5, 0.5], key=own)
    told = [study.tell(row=5, value=[0.5, 0.5], key=own) for own in OWN]
    assert [one.key for one in told] == OWN
    results = [trial for one in told for trial in (one.trial, *one.replicates)]
    assert len({*asked, *results}) == len(asked) + len(results)
    corrected = [study.correct(told[0].trial, i, key=own).seq for i, own in enumerate(OWN)]
    released = [study.release(trial, key=own) for trial, own in zip(asked, OWN, strict=True)]
    assert [event.trial for event in released] == asked
    assert len({*corrected}) == len(OWN)
    undone = [study.undo(key=own).body["of"] for own in OWN]
    assert undone == corrected[::-1]
    assert [one.trial for own in OWN for one in study.ask(key=own)] == asked
    keys = [event.key for event in study.history() if event.kind == "told"]
    assert {*OWN} <= {*keys}


def test_a_key_whose_call_was_undone_may_be_used_for_another(study):
    study.correct(1, 0.6, key="k")
    study.undo()
    assert study.correct(1, 0.7, key="k").value == 0.7


def test_a_file_with_the_same_cells_is_the_same_call(study, tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("more.csv", "a/again.csv"):
        more(0.9).to_csv(tmp_path / name, index=False)
    first = study.add(tmp_path / "more.csv", key="k")
    assert study.add(tmp_path / "a/again.csv", key="k") == first


def test_calls_of_different_operations_may_have_the_same_key(study):
    for call in ("ask", "tell", "correct", "change", "undo"):
        CALLS[call](study, "again")
    kinds = [event.kind for event in study.history() if "again" in (event.key or "")]
    assert kinds == ["asked", "asked", "told", "corrected", "settings", "undone"]


def test_history_after_a_number(study):
    assert [event.seq for event in study.history(after=3)] == list(
        range(4, len(study.history()) + 1)
    )
    assert study.history(after=1000) == []


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (
            lambda study: study.ask(2, same="salt", key="k"),
            lambda study: study.ask(2, same=["salt"], key="k"),
        ),
        (
            lambda study: study.release_all([3, 4], key="k"),
            lambda study: study.release_all([4, 3], key="k"),
        ),
        (
            lambda study: study.correct(label="H", value=0.6, key="k"),
            lambda study: study.correct(1, 0.6, key="k"),
        ),
        (
            lambda study: study.withdraw(1, key="k"),
            lambda study: study.withdraw(label="H", key="k"),
        ),
        (
            lambda study: study.withdraw(label="H", key="k"),
            lambda study: study.withdraw(1, key="k"),
        ),
    ],
)
def test_a_call_may_be_repeated_in_other_words(study, first, again):
    study.add(more(0.9).assign(salt=1), columns={"salt": 0})
    answer = content(first(study))
    events = study.history()
    assert content(again(study)) == answer
    assert study.history() == events
