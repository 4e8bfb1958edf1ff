"""Rows named by their labels and by lines of the spreadsheet, from Python and the command line."""

from __future__ import annotations

import json

import pytest

import kernelbandits as kb
from kernelbandits.checks import StudyConflict
from test_study_command import document, said, study

FILMS = """sample,Cs,solvent
A1,0.1,DMF
A2,0.2,DMSO

A3,0.3,DMF
B1,0.4,DMSO
"""


@pytest.fixture
def films(tmp_path):
    (tmp_path / "films.csv").write_text(FILMS)
    return tmp_path / "films.csv"


@pytest.fixture
def labelled(films, tmp_path):
    return kb.Study.create(tmp_path / "films.db", films, target="stability", label="sample")


def test_a_label_names_a_row_in_tell_correct_withdraw_and_explain(labelled):
    told = labelled.tell(label="A3", value=0.3)
    assert (told.row, told.label, told.x) == (2, {"sample": "A3"}, {"Cs": 0.3, "solvent": "DMF"})
    assert str(told) == "Trial 1, row 2 (sample A3, Cs 0.3, solvent DMF): 0.3 recorded."
    assert labelled.correct(label="A3", value=0.4).value == 0.4
    assert labelled.withdraw(label="A3").kind == "withdrawn"
    [suggestion] = labelled.ask()
    name = suggestion.label["sample"]
    assert labelled.explain(label=name) == labelled.explain(suggestion.trial)
    # The result of a row settles its pending trial.
    assert labelled.tell(label=name, value=0.5).settles == suggestion.trial


def test_lines_are_those_of_the_file_blank_ones_included(labelled, tmp_path):
    assert labelled.tell(line=2, value=0.1).row == 0
    assert labelled.tell(line=5, value=0.3).label["sample"] == "A3"
    with pytest.raises(StudyConflict, match="line with a candidate, from 2 to 6"):
        labelled.tell(line=4, value=0.1)
    again = kb.Study.open(tmp_path / "films.db")
    assert again.candidates.lines == (2, 3, 5, 6)
    array = kb.Study.create(tmp_path / "array.db", [[0.0], [1.0]])
    with pytest.raises(StudyConflict, match="knows the lines of its file"):
        array.tell(line=2, value=0.1)


def test_labels_that_cannot_be_used_leave_no_study(films, tmp_path):
    for table, wanted in (
        (FILMS.replace("A3", "A1"), "a label of its own for each row, got 'A1' again in line 5"),
        (FILMS.replace("A3", "17"), "no whole numbers, which could be numbers of trials, got '17'"),
        (FILMS.replace("A3", ""), "needs a label in line 5"),
    ):
        films.write_text(table)
        with pytest.raises(ValueError, match=wanted):
            kb.Study.create(tmp_path / "new.db", films, target="stability", label="sample")
        assert not (tmp_path / "new.db").exists()


def test_a_label_that_names_no_trial_or_several_is_refused(labelled):
    with pytest.raises(StudyConflict, match=r"got 'a3 '. Did you mean"):
        labelled.tell(label="a3 ", value=0.1)
    with pytest.raises(StudyConflict, match="which has none"):
        labelled.correct(label="A1", value=0.1)
    for value in (0.1, 0.2):
        labelled.tell(label="A1", value=value)
    with pytest.raises(StudyConflict, match="which has trials 1, 2; give the number"):
        labelled.correct(label="A1", value=0.3)
    with pytest.raises(ValueError, match="one of row, label and line"):
        labelled.tell(row=1, label="A1", value=0.1)
    assert len(labelled.history()) == 1 + 2 + 2  # created, told twice, each with its scale


def test_labels_on_the_command_line(films, tmp_path):
    place = tmp_path / "lab.db"
    words = ("create", place, "--candidates", films, "--target", "stability", "--label", "sample")
    assert document(*words)["label"] == "sample"
    text = said("tell", place, "--label", "A2", "-0.5")
    assert text == "Trial 1, row 1 (sample A2, Cs 0.2, solvent DMSO): -0.5 recorded.\n"
    assert document("tell", place, "--line", "6", "0.5")["label"] == {"sample": "B1"}
    assert "Trial 1 (A2) now has the result 0.4" in said("correct", place, "--label", "A2", "0.4")
    before = json.dumps(document("history", place))
    for wrong in (
        ("tell", place, "--label", "A2", "--row", "1", "0.5"),
        ("tell", place, "--label", "A2"),
        ("tell", place, "--label", "nobody", "0.5"),
        ("correct", place, "--label", "A2"),
        ("explain", place, "--label", "A2"),
        ("tell", place, "--line", "1", "0.5"),
    ):
        done = study(*wrong)
        assert (done.code in (1, 2), done.err.count("\n")) == (True, 1), done
    assert json.dumps(document("history", place)) == before
    assert "sample B1" in said("status", place)
