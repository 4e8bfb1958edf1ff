"""Rows named by their labels and by lines of the spreadsheet, from Python and the command line."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.checks import StudyConflict

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
    assert str(told) == "Trial 1, A3 (Cs 0.3, solvent DMF): 0.3 recorded."
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
    assert text == "Trial 1, A2 (Cs 0.2, solvent DMSO): -0.5 recorded.\n"
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
    assert " B1 (" in said("status", place)


TWINS = """sample,Cs,FA
P07,0.1,0.5
P08,0.2,0.6
P09,0.2,0.6
P10,0.3,0.9
"""
"""P08 and P09 are two samples made under equal conditions."""


@pytest.fixture(params=[{"target": "y"}, {"targets": {"y": "maximize", "z": "minimize"}}])
def twins(request, tmp_path):
    """A study in which one of the two samples is pending, and the name of the other one."""
    (tmp_path / "films.csv").write_text(TWINS)
    made = kb.Study.create(
        tmp_path / "twins.db", tmp_path / "films.csv", label="sample", seed=0, **request.param
    )
    asked = [one for one in made.ask(3) if one.x["Cs"] == 0.2]
    assert len(asked) == 1
    other = {"P08": "P09", "P09": "P08"}[asked[0].label["sample"]]
    yield made, asked[0], other
    made.close()


def value_for(study: kb.Study, number: float):
    return {"y": number, "z": -number} if len(study.targets) == 2 else number


def stored_samples(study: kb.Study) -> dict[str, list[float]]:
    """Sample -> the values of y that are stored for it."""
    found: dict[str, list[float]] = {}
    for event in study.history():
        if event.kind == "told":
            name = study.candidates.label(event.row)["sample"]
            found.setdefault(name, []).append(event.body["values"]["y"])
    return found


def tell_twin(study, place, door, name, number):
    """Tell the result of a sample by its name, its row, its line or a file."""
    row = study.candidates.find_label(name)
    value = value_for(study, number)
    if door in ("label", "row", "line"):
        which = {"label": name, "row": row, "line": row + 2}[door]
        return study.tell(value=value, **{door: which})
    columns = value if isinstance(value, dict) else {"y": value}
    line = {"label file": {"sample": name}, "row file": {"row": row}}[door] | columns
    (place / "told.csv").write_text(f"{','.join(line)}\n{','.join(map(str, line.values()))}\n")
    return study.tell_all(place / "told.csv")[0]


@pytest.mark.parametrize("door", ["label", "row", "line", "label file", "row file"])
def test_the_result_of_a_named_sample_is_never_stored_as_that_of_its_twin(twins, tmp_path, door):
    study, asked, other = twins
    told = tell_twin(study, tmp_path, door, other, 0.81)
    assert (told.label["sample"], told.settles, told.waiting) == (other, None, (asked.trial,))
    assert stored_samples(study) == {other: [0.81]}
    assert asked.trial in [one.trial for one in study.status().waiting]
    mine = tell_twin(study, tmp_path, door, asked.label["sample"], 0.83)
    assert (mine.trial, mine.settles) == (asked.trial, asked.trial)
    assert stored_samples(study) == {other: [0.81], asked.label["sample"]: [0.83]}


@pytest.mark.parametrize("door", ["label file", "row file"])
def test_a_file_compares_a_named_sample_with_its_own_results_only(twins, tmp_path, door):
    study, asked, other = twins
    study.tell(asked.trial, value_for(study, 0.83))
    # The twin has the same value: it is a result of its own, and no repetition of the other.
    told = tell_twin(study, tmp_path, door, other, 0.83)
    assert (told.accepted, told.label["sample"]) == (True, other)
    assert stored_samples(study) == {other: [0.83], asked.label["sample"]: [0.83]}
    study.undo()
    # Another value is no contradiction to the result of the twin.
    assert tell_twin(study, tmp_path, door, other, 0.5).label["sample"] == other


def test_a_result_by_conditions_settles_whichever_sample_is_pending(twins, tmp_path):
    study, asked, _ = twins
    assert study.tell(x=asked.x, value=value_for(study, 0.8)).settles == asked.trial
    study.undo()
    columns = value_for(study, 0.8)
    columns = columns if isinstance(columns, dict) else {"y": columns}
    assert study.tell_all([{**asked.x, **columns}])[0].settles == asked.trial


def test_a_trial_and_the_name_of_its_twin_are_a_contradiction(twins, tmp_path):
    study, asked, other = twins
    columns = value_for(study, 0.8)
    columns = columns if isinstance(columns, dict) else {"y": columns}
    before = len(study.history())
    with pytest.raises(StudyConflict, match=f"for trial {asked.trial}, got P0"):
        study.tell_all([{"trial": asked.trial, "sample": other, **columns}])
    assert len(study.history()) == before


def test_a_missing_sample_ends_no_trial_of_its_twin(twins):
    study, asked, other = twins
    if not study.settings.get("targets"):
        with pytest.raises(StudyConflict, match="missing needs a trial that is pending"):
            study.tell(label=other, missing=True)
        assert study.tell(label=asked.label["sample"], missing=True).trial == asked.trial


def test_a_key_of_one_sample_is_not_that_of_its_twin(twins):
    study, asked, other = twins
    study.tell(label=asked.label["sample"], value=value_for(study, 0.8), key="k")
    with pytest.raises(StudyConflict, match="a new key for a new call"):
        study.tell(label=other, value=value_for(study, 0.8), key="k")


def test_twins_on_the_command_line(twins, tmp_path):
    made, asked, other = twins
    if made.settings.get("targets"):
        return
    text = said("tell", tmp_path / "twins.db", "--label", other, "0.81")
    row = made.candidates.find_label(other)
    assert text == (
        f"Trial 4, row {row} (sample {other}, Cs 0.2, FA 0.6): 0.81 recorded. Trial {asked.trial} "
        "of the same candidate is still pending: tell its own result, or release it.\n"
    )
    [event] = [one for one in document("history", tmp_path / "twins.db") if one["kind"] == "told"]
    assert (event["trial"], event["row"]) == (4, row)


# ------------------------------------------------------------------ rows by what they are called


NAMED, NAMELESS = "film,Cs\nA1,0.1\nA2,0.2\nB3,0.3\n", "Cs,FA\n0.1,1\n0.2,2\n0.3,5\n"


@pytest.fixture
def tables(tmp_path):
    """A study whose rows have names, one whose rows have lines only, and one that has neither."""
    (tmp_path / "named.csv").write_text(NAMED)
    (tmp_path / "nameless.csv").write_text(NAMELESS)
    sources = [tmp_path / "named.csv", tmp_path / "nameless.csv", [[0.1], [0.2], [0.3]]]
    studies = [
        kb.Study.create(tmp_path / f"{i}.db", source, target="y")
        for i, source in enumerate(sources)
    ]
    yield studies
    for one in studies:
        one.close()


def test_a_row_is_called_by_its_name_else_by_its_line_else_by_its_number(tables):
    named, lines, rows = (one.candidates for one in tables)
    assert (named.name(1), lines.name(1), rows.name(1)) == ("A2", "line 3", "row 1")
    assert named.describe_candidate(1) == "A2 (Cs 0.2)"
    for place in (named, lines, rows):
        for row in range(3):
            assert place.row_called(place.name(row)) == row


def test_wherever_a_row_is_taken_its_name_is_taken(tables):
    named, lines, rows = tables
    assert named.tell(row="A2", value=0.5).row == 1
    assert named.tell(row=" line 4", value=0.5).row == 2
    assert named.tell(row="row 0", value=0.5).row == 0
    assert named.forbid(["A2", "Line 2"]).body["rows"] == [1, 0]
    assert named.allow("A2").body["rows"] == [1]
    told = named.tell_all([{"row": "B3", "value": 0.6}, {"row": 1, "value": 0.7}], replicates=True)
    assert [one.row for one in told] == [2, 1]
    # A number alone is the one that is printed: the line of a file, or the row of an array.
    assert (lines.tell(row="3", value=0.5).row, rows.tell(row="1", value=0.5).row) == (1, 1)


@pytest.mark.parametrize(
    ("which", "text", "said"),
    [
        (0, "b3", r"tell needs a name in the column 'film', got 'b3'\. Did you mean 'B3'\?"),
        (0, "", "needs a name in the column 'film', got ''"),
        (0, "3", "Write 'line 3' for a line of the file, 'row 3' for a row from 0"),
        (0, "line 9", "from 2 to 4 of the file"),
        (0, "row 9", "tell needs a row below 3, got 9"),
        (1, "A2", "tell needs a number such as 'line 2', because no column names the rows"),
        (2, "A2", "tell needs a number such as 'row 0', because no column names the rows"),
    ],
)
def test_a_row_that_is_not_there_is_refused_in_a_sentence(tables, which, text, said):
    with pytest.raises((ValueError, StudyConflict), match=said):
        tables[which].tell(row=text, value=0.5)
    with pytest.raises((ValueError, StudyConflict)):
        tables[which].tell_all([{"row": 1, "value": 1}, {"row": text or "?", "value": 1}])
    assert len(tables[which].history()) == 1


def test_a_name_that_two_rows_have_is_refused(tables):
    named = tables[0]
    named.add(pd.DataFrame({"film": ["A1"], "Cs": [0.7]}))
    with pytest.raises(StudyConflict, match="got 'A1', which names row 0 and row 3"):
        named.tell(row="A1", value=0.5)
    with pytest.raises(StudyConflict, match="which names row 0 and row 3"):
        named.tell(label="A1", value=0.5)
    assert named.tell(row="row 3", value=0.5).row == 3


def test_the_command_line_takes_and_shows_names(tables, tmp_path):
    named, lines = tmp_path / "0.db", tmp_path / "1.db"
    assert said("tell", named, "--row", "A2", "0.5") == "Trial 1, A2 (Cs 0.2): 0.5 recorded.\n"
    assert said("tell", named, "--row", "2", "0.5") == "Trial 2, B3 (Cs 0.3): 0.5 recorded.\n"
    assert said("forbid", named, "--row", "A2", "--row", "line 2").startswith("A2 (Cs 0.2), A1 (")
    assert "A2, A1 forbidden" in said("history", named)
    assert "(A2): result 0.5" in said("history", named)
    text = said("tell", lines, "--row", "line 3", "0.5")
    assert text == "Trial 1, line 3 (Cs 0.2, FA 2): 0.5 recorded.\n"
    assert said("estimates", lines).split()[:2] == ["line", "Cs"]
    assert "counted from 0" not in said("ask", lines)


def test_a_row_beside_the_likely_best_says_why_not_this_one(tmp_path):
    films = pd.DataFrame({"film": [f"A{i}" for i in range(40)], "Cs": [i / 39 for i in range(40)]})
    with kb.Study.create(
        tmp_path / "films.db", films, target="y", label="film", seed=1, repeats=False
    ) as study:
        assert "there is no result yet" in study.compare("A3").sentence
        assert study.compare("A3").best is None
        for row in (0, 5, 12, 20, 28, 36):
            study.tell(row=row, value=math.sin(row / 9))
        study.forbid("A7", reason="no precursor")
        trial = study.ask()[0]
        best, frame = study.best(), study.estimates().set_index("row")
        other = study.compare("A3")
        assert (other.row, other.mean, other.results) == (3, frame["mean"][3], 0)
        assert other.best == best
        assert f"The likely best, A{best.row}, has" in other.sentence
        assert other.reason == ""
        assert study.compare(best.row).probability == best.probability
        assert "It is the likely best" in study.compare(best.row).sentence
        assert study.compare("A7").reason == "it is forbidden (no precursor)"
        assert study.compare("A7").probability is None
        assert study.compare(trial.row).reason == f"it is pending as trial {trial.trial}"
        assert study.compare(20).reason == "it was measured, and rows are not measured again"
        text = said("compare", tmp_path / "films.db", "A7")
        assert text == f"{study.compare('A7').sentence}\n"
        assert document("compare", tmp_path / "films.db", "3")["label"] == {"film": "A3"}
        with pytest.raises(StudyConflict, match=r"got .A99.\. Did you mean"):
            study.compare("A99")
