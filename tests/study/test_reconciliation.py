"""A results file that was corrected or measured again is never counted twice in silence."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import kernelbandits as kb
from commands import study as command


@pytest.fixture
def study(tmp_path):
    table = pd.DataFrame({"a": [0.0, 0.25, 0.5, 0.75, 1.0, 1.0], "b": [1, 2, 1, 2, 1, 1]})
    with kb.Study.create(tmp_path / "films.db", table, target="y", columns=["a", "b"]) as made:
        yield made


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.csv"


def values(study: kb.Study) -> dict[int, list[float | None]]:
    """Row -> the results that count."""
    frame = study.to_dataframe()
    told = frame[frame.state.isin(["told", "failed"])]
    return {
        row: [None if value != value else value for value in group.value]
        for row, group in told.groupby("row")
    }


FORMS = {
    "row": ("row,y\n", {1: "1", 2: "2", 3: "3"}),
    "described": ("a,b,y\n", {1: "0.25,2", 2: "0.5,1", 3: "0.75,2"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_was_corrected_is_refused_as_a_whole(study, file, form):
    header, rows = FORMS[form]
    file.write_text(f"{header}{rows[1]},0.5\n{rows[2]},0.7\n")
    study.tell_all(file)
    file.write_text(f"{header}{rows[1]},0.9\n{rows[2]},0.7\n{rows[3]},0.1\n")
    with pytest.raises(kb.AlreadyTold, match="1 line: row 1, trial 1") as caught:
        study.tell_all(file)
    assert "(results.csv, line 2): stored 0.5, now 0.9" in str(caught.value)
    assert "--corrected" in str(caught.value)
    assert "--replicates" in str(caught.value)
    assert values(study) == {1: [0.5], 2: [0.7]}
    told = study.tell_all(file, corrected=True)
    assert [one.accepted for one in told] == [True, False, True]
    assert [(one.corrected, one.was) for one in told] == [(True, 0.5), (False, None), (False, None)]
    assert values(study) == {1: [0.9], 2: [0.7], 3: [0.1]}
    assert [event.kind for event in study.history() if event.trial == 1] == ["told", "corrected"]
    again = study.tell_all(file)
    assert [one.accepted for one in again] == [False] * 3
    assert all("recorded by an earlier call" in one.sentence for one in again)
    assert [one.accepted for one in study.tell_all(file, corrected=True)] == [False] * 3
    assert values(study) == {1: [0.9], 2: [0.7], 3: [0.1]}


def test_the_command_says_what_was_corrected_with_old_and_new_value(tmp_path, study, file):
    file.write_text("row,y,failed\n1,0.5,\n2,,yes\n3,0.25,\n")
    study.tell_all(file)
    file.write_text("row,y,failed\n1,0.9,\n2,0.7,\n3,0.25,\n4,0.1,\n")
    said = command("tell", tmp_path / "films.db", "--csv", file, "--corrected").out
    assert " ".join(said.split()) == (
        "2 results corrected, 1 result recorded, 1 already stored. Trial 1, row 1 (a 0.25, b 2): "
        "corrected from 0.5 to 0.9; Trial 2, row 2 (a 0.5, b 1): corrected from a failure to 0.7."
    )


@pytest.mark.parametrize("form", FORMS)
def test_replicates_count_both_values(study, file, form):
    header, rows = FORMS[form]
    file.write_text(f"{header}{rows[1]},0.5\n{rows[2]},0.7\n")
    study.tell_all(file)
    file.write_text(f"{header}{rows[1]},0.9\n{rows[2]},0.7\n")
    assert [one.accepted for one in study.tell_all(file, replicates=True)] == [True, False]
    assert values(study) == {1: [0.5, 0.9], 2: [0.7]}
    assert [one.accepted for one in study.tell_all(file)] == [False, False]


def test_a_trial_told_in_a_file_is_corrected_or_measured_again(study, file):
    trials = [one.trial for one in study.ask(2)]
    rows = {one.number: one.row for one in study._session.state.pending.values()}
    file.write_text(f"trial,y\n{trials[0]},0.5\n{trials[1]},0.6\n")
    study.tell_all(file)
    file.write_text(f"trial,y\n{trials[0]},0.9\n{trials[1]},0.8\n")
    with pytest.raises(kb.AlreadyTold, match=r"2 lines: row \d, trial 1 .*; row \d, trial 2"):
        study.tell_all(file)
    study.tell_all(file, replicates=True)
    assert values(study) == {rows[1]: [0.5, 0.9], rows[2]: [0.6, 0.8]}
    assert [one.accepted for one in study.tell_all(file)] == [False, False]
    file.write_text(f"trial,y\n{trials[0]},0.55\n")
    study.tell_all(file, corrected=True)
    assert values(study) == {rows[1]: [0.55, 0.9], rows[2]: [0.6, 0.8]}


def test_a_file_may_grow_by_a_further_measurement(study, file):
    file.write_text("row,y\n1,0.5\n1,0.5\n")
    study.tell_all(file)
    file.write_text("row,y\n1,0.5\n1,0.5\n1,0.6\n")
    assert [one.accepted for one in study.tell_all(file)] == [False, False, True]
    assert values(study) == {1: [0.5, 0.5, 0.6]}


def test_a_row_that_was_asked_for_again_settles_its_trial(study, file):
    study.change(repeats=True)
    study.tell(row=1, value=0.5)
    for _ in range(20):
        [one] = study.ask()
        if one.row == 1:
            break
        study.tell(one.trial, -1.0)
    assert one.row == 1
    file.write_text("row,y\n1,0.6\n")
    [told] = study.tell_all(file)
    assert (told.accepted, told.settles) == (True, one.trial)


def test_a_correction_does_not_settle_a_trial_that_is_pending(study, file):
    study.change(repeats=True)
    [one] = study.ask()
    file.write_text(f"row,y\n{one.row},0.5\n")
    study.tell_all(file)
    for _ in range(20):
        [again] = study.ask()
        if again.row == one.row:
            break
        study.tell(again.trial, -1.0)
    file.write_text(f"row,y\n{one.row},0.6\n")
    study.tell_all(file, corrected=True)
    assert (values(study)[one.row], study.status().pending) == ([0.6], 1)


def test_the_same_value_under_another_name_is_stored_already_and_that_is_said(study, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("row,y\n1,0.5\n4,0.1\n")
    study.tell_all(tmp_path / "one.csv")
    with pytest.warns(
        kb.DataNotice, match="not counted again: 2 lines with the value of a stored result .*repl"
    ):
        told = study.tell_all(tmp_path / "two.csv")
    assert [one.accepted for one in told] == [False, False]
    study.tell_all(tmp_path / "two.csv", replicates=True)
    assert values(study) == {1: [0.5, 0.5], 4: [0.1, 0.1]}


@pytest.mark.parametrize("wrap", [pd.DataFrame, list])
def test_tables_in_memory_are_compared_too(study, wrap):
    study.tell_all(wrap([{"row": 1, "y": 0.5}, {"row": 5, "y": 0.2}]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = study.tell_all(wrap([{"row": 1, "y": 0.5}, {"row": 4, "y": 0.2}]))
    assert [one.accepted for one in told] == [False, False]
    with pytest.raises(kb.AlreadyTold, match=r"stored 0\.2, now 0\.3"):
        study.tell_all(wrap([{"row": 4, "y": 0.3}]))
    study.tell_all(wrap([{"row": 4, "y": 0.3}]), corrected=True)
    assert values(study) == {1: [0.5], 5: [0.3]}


def test_a_failure_may_be_corrected(study, file):
    file.write_text("row,y,failed\n1,,yes\n")
    study.tell_all(file)
    file.write_text("row,y,failed\n1,0.4,\n")
    with pytest.raises(kb.AlreadyTold, match=r"stored a failure, now 0\.4"):
        study.tell_all(file)
    study.tell_all(file, corrected=True)
    assert values(study) == {1: [0.4]}
    assert study.status().failed == 0


def test_a_line_that_follows_a_correction_in_the_study_is_no_news(study, file):
    file.write_text("row,y\n1,0.5\n")
    study.tell_all(file)
    study.correct(1, 0.9)
    assert not study.tell_all(file)[0].accepted
    file.write_text("row,y\n1,0.9\n")
    with pytest.warns(
        kb.DataNotice, match="not counted again: 1 line with the value of a stored result"
    ):
        assert not study.tell_all(file)[0].accepted
    assert values(study) == {1: [0.9]}


def test_corrections_that_cannot_be_paired_are_refused(study, file):
    study.tell(row=1, value=0.1)
    study.tell(row=1, value=0.2)
    file.write_text("row,y\n2,0.7\n1,0.9\n")
    with pytest.raises(kb.StudyConflict, match="got 1 for 2: row 1, trials 1, 2"):
        study.tell_all(file, corrected=True)
    assert values(study) == {1: [0.1, 0.2]}


def test_a_key_of_the_user_is_a_result_of_its_own_and_may_be_corrected(study, file):
    file.write_text("row,y,key\n1,0.5,k\n")
    study.tell_all(file)
    file.write_text("row,y,key\n1,0.6,l\n")
    assert study.tell_all(file)[0].accepted
    file.write_text("row,y,key\n1,0.7,k\n")
    with pytest.raises(kb.StudyConflict, match=r"stored 0\.5, now 0\.7"):
        study.tell_all(file)
    study.tell_all(file, corrected=True)
    assert values(study) == {1: [0.7, 0.6]}
    assert not study.tell_all(file)[0].accepted


def test_both_ways_at_once_are_refused(study):
    with pytest.raises(ValueError, match="corrected or replicates, got both"):
        study.tell_all([{"row": 1, "y": 1}], corrected=True, replicates=True)


@pytest.mark.parametrize(
    ("option", "expected"), [("--corrected", [0.9]), ("--replicates", [0.5, 0.9])]
)
def test_the_command_refuses_and_offers_both_ways(study, file, tmp_path, option, expected):
    place = tmp_path / "films.db"
    file.write_text("row,y\n1,0.5\n")
    assert command("tell", place, "--csv", file).code == 0
    file.write_text("row,y\n1,0.9\n2,0.1\n")
    done = command("tell", place, "--csv", file)
    assert done.code == 1
    assert "stored 0.5, now 0.9" in done.err
    assert option in done.err
    assert values(study) == {1: [0.5]}
    assert command("tell", place, "--csv", file, option).code == 0
    assert values(study) == {1: expected, 2: [0.1]}
    assert command("tell", place, "1", "0.3", option).code == 2


@pytest.mark.parametrize("repeats", [{}, {"corrected": True}, {"replicates": True}])
def test_a_line_whose_trial_and_row_disagree_changes_nothing(study, repeats):
    study.tell(row=1, value=0.5)
    with pytest.raises(kb.StudyConflict, match="needs row 1 for trial 1, got row 3"):
        study.tell_all([{"trial": 1, "row": 3, "y": 0.9}], **repeats)
    assert values(study) == {1: [0.5]}


GAPS = {
    "row": ("row,y", "{0},{1}"),
    "trial": ("trial,y", "{0},{1}"),
    "file of columns": ("x1,x2,y", "0.{0},0.{0},{1}"),
}


def write_lines(file, form, values):
    """Write one line for each number of a row or trial -> its value, "" for a gap."""
    header, line = GAPS[form]
    file.write_text("\n".join([header, *(line.format(*one) for one in values)]) + "\n")


@pytest.fixture
def gapped(tmp_path):
    """A study with three pending trials, whose rows are 1, 2 and 3, and a file of results."""
    made = kb.Study.create(tmp_path / "gaps.db", [[i / 10, i / 10] for i in range(4)], target="y")
    yield made, tmp_path / "results.csv"
    made.close()


@pytest.mark.parametrize("form", GAPS)
@pytest.mark.parametrize("key", [None, "k1"])
def test_a_gap_of_a_file_may_be_filled_in_and_told_again(gapped, form, key):
    study, file = gapped
    rows = {1: 1, 2: 2, 3: 3}
    if form == "trial":
        rows = {one.trial: one.row for one in study.ask(3)}
    write_lines(file, form, [(1, 0.5), (2, ""), (3, 0.7)])
    assert [one.accepted for one in study.tell_all(file, key=key)] == [True, True]
    write_lines(file, form, [(1, 0.5), (2, 0.6), (3, 0.7)])
    told = study.tell_all(file, key=key)
    assert [one.accepted for one in told] == [False, True, False]
    assert values(study) == {rows[1]: [0.5], rows[2]: [0.6], rows[3]: [0.7]}
    # The same again, sorted in another way: nothing is new.
    write_lines(file, form, [(3, 0.7), (1, 0.5), (2, 0.6)])
    assert not any(one.accepted for one in study.tell_all(file, key=key))


@pytest.mark.parametrize("form", GAPS)
def test_a_value_that_was_changed_beside_a_filled_gap_is_refused_by_its_own_line(gapped, form):
    study, file = gapped
    rows = {1: 1, 2: 2, 3: 3}
    if form == "trial":
        rows = {one.trial: one.row for one in study.ask(3)}
    write_lines(file, form, [(1, 0.5), (2, ""), (3, 0.7)])
    study.tell_all(file, key="k1")
    write_lines(file, form, [(1, 0.5), (2, 0.6), (3, 0.75)])
    with pytest.raises(kb.StudyConflict, match=r"in 1 line: .*line 4\): stored 0\.7, now 0\.75\."):
        study.tell_all(file, key="k1")
    assert values(study) == {rows[1]: [0.5], rows[3]: [0.7]}
    study.tell_all(file, key="k1", corrected=True)
    assert values(study) == {rows[1]: [0.5], rows[2]: [0.6], rows[3]: [0.75]}
    assert not any(one.accepted for one in study.tell_all(file, key="k1"))


def test_a_new_key_counts_all_lines_again(gapped):
    study, file = gapped
    write_lines(file, "row", [(1, 0.5), (2, 0.6)])
    for key in ("monday", "tuesday"):
        assert all(one.accepted for one in study.tell_all(file, key=key))
    assert values(study) == {1: [0.5, 0.5], 2: [0.6, 0.6]}


def test_the_key_of_one_table_is_refused_for_a_table_without_its_lines(gapped):
    study, file = gapped
    write_lines(file, "row", [(1, 0.5), (2, 0.6)])
    study.tell_all(file, key="k1")
    write_lines(file, "row", [(2, 0.6), (3, 0.7)])
    with pytest.raises(
        kb.StudyConflict,
        match=r"needs a new key for another table, got 'k1', .* row 1, trial 1: 0\.5",
    ):
        study.tell_all(file, key="k1")
    with pytest.raises(kb.StudyConflict, match="for another table"):
        study.tell_all([{"row": 3, "y": 0.7}], key="k1")
    assert values(study) == {1: [0.5], 2: [0.6]}
    # A result that no longer counts need not stand there.
    study.withdraw(1)
    assert [one.accepted for one in study.tell_all(file, key="k1")] == [False, True]


def test_a_key_of_a_call_and_the_keys_of_its_lines_go_together(gapped):
    study, file = gapped
    file.write_text("row,y,key\n1,0.5,a\n1,0.5,b\n")
    assert all(one.accepted for one in study.tell_all(file, key="k1"))
    assert not any(one.accepted for one in study.tell_all(file, key="k1"))
    assert values(study) == {1: [0.5, 0.5]}
