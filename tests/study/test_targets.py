"""Several targets: desirability, partial results, models of each target, the Pareto front."""

from __future__ import annotations

import math
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from conftest import run_command
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.study import AlreadyTold, Target
from kernelbandits.study.targets import combine, combine_errors, parse_target
from kernelbandits.study.words import describe_event

TABLE = pd.DataFrame(
    {"sample": [f"A{i}" for i in range(12)], "Cs": np.linspace(0.0, 1.0, 12), "T": [20, 60, 90] * 4}
)
TARGETS = {"stability": "minimize", "efficiency": "maximize,weight=2"}


def measure(x) -> dict[str, float]:
    return {"stability": (x["Cs"] - 0.2) ** 2 + x["T"] / 900, "efficiency": 10 * x["Cs"]}


@pytest.fixture
def lab(where):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        made = kb.Study.create(where, TABLE, targets=TARGETS, label="sample", seed=1)
        yield made
    made.close()


def play(lab: kb.Study, rounds: int) -> None:
    """Each target is told by itself, the second one by the label."""
    for _ in range(rounds):
        [one] = lab.ask()
        values = measure(one.x)
        lab.tell(one.trial, {"stability": values["stability"]})
        lab.tell(label=one.label["sample"], value={"efficiency": values["efficiency"]})


def test_desirability_functions():
    rising = Target("y", low=2.0, high=4.0, limit=1.0)
    assert [rising.desirability(y) for y in (1.5, 2.0, 3.0, 4.0, 9.0)] == [0, 0, 0.5, 1, 1]
    assert [rising.breaks_limit(y) for y in (0.9, 1.0)] == [True, False]
    falling = Target("y", "minimize", low=2.0, high=4.0, limit=5.0)
    assert [falling.desirability(y) for y in (1.0, 2.5, 4.0)] == [1, 0.75, 0]
    assert [falling.breaks_limit(y) for y in (5.0, 5.1)] == [False, True]
    met = Target("y", "aim", low=5.0, high=9.0, aim=6.0, limit=2.0)
    assert [met.desirability(y) for y in (5.0, 5.5, 6.0, 7.5, 9.0)] == [0, 0.5, 1, 0.5, 0]
    assert [met.breaks_limit(y) for y in (3.9, 8.0)] == [True, False]
    both = (Target("a", low=0.0, high=1.0, weight=3.0), Target("b", low=0.0, high=1.0))
    ranges = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    assert combine(both, {"a": 0.5, "b": 0.2}, ranges) == pytest.approx((0.5**3 * 0.2) ** 0.25)
    assert combine(both, {"a": 0.0, "b": 1.0}, ranges) == pytest.approx(0.01**0.75)
    # By propagation: dD/da = 3 D / (4 a), dD/db = D / (4 b).
    error = combine_errors(both, {"a": 0.5, "b": 0.2}, {"a": 1e-4, "b": 2e-4}, ranges)
    level = (0.5**3 * 0.2) ** 0.25
    assert error == pytest.approx(math.hypot(0.75e-4 / 0.5, 0.5e-4 / 0.2) * level, rel=1e-4)
    assert combine_errors(both, {"a": 0.5, "b": 0.2}, {"a": 1e-4}, ranges) is None


def test_targets_are_read_from_text():
    assert parse_target("stability") == Target("stability")
    assert parse_target("stability:min") == Target("stability", "minimize")
    text = "T (°C):maximize,range=-5..1e2,weight=2,limit=3"
    assert parse_target(text) == Target("T (°C)", low=-5.0, high=100.0, weight=2.0, limit=3.0)
    assert parse_target("pH:aim=7") == Target("pH", "aim", aim=7.0)
    for wrong in (
        "y:minimize,range=3..1",
        "y:minimize,colour=red",
        "y:max,weight=0",
        "y:range=1",
        "a:b:max",
    ):
        with pytest.raises(ValueError, match="needs"):
            parse_target(wrong)


def test_a_trial_counts_when_all_targets_are_there(lab, where):
    [one] = lab.ask()
    told = lab.tell(one.trial, {"stability": 0.4}, sem={"stability": 0.02}, note="first half")
    assert (told.value, told.values, told.needs) == (None, {"stability": 0.4}, ("efficiency",))
    assert lab.status().told == 0
    assert [(w.trial, w.values) for w in lab.status().waiting] == [(1, {"stability": 0.4})]
    again = kb.Study.open(where)
    told = again.tell(label=one.label["sample"], value={"efficiency": 6.0})
    assert (told.trial, told.needs, told.waiting) == (1, (), ())
    assert told.values == {"stability": 0.4, "efficiency": 6.0}
    assert again.status().told == 1
    # A target that has its value is refused; the same key counts once.
    with pytest.raises(AlreadyTold, match=r"which already has stability 0\.4"):
        again.tell(1, {"stability": 0.5})
    first = again.tell(row=11, value={"stability": 1.0}, key="k")
    assert again.tell(row=11, value={"stability": 1.0}, key="k").trial == first.trial
    again.close()


def test_a_failure_after_a_value_is_said_and_the_value_stays_in_the_history(lab):
    [one] = lab.ask()
    lab.tell(one.trial, {"stability": 0.4})
    told = lab.tell(one.trial, failed=True)
    assert (told.failed, told.needs, told.values) == (True, (), {"stability": 0.4})
    assert ": recorded as failed (stability 0.4 stays in the history)." in told.sentence
    assert lab.status().failed == 1


def test_a_failed_trial_is_corrected_with_all_targets_or_not_at_all(lab, tmp_path):
    [one] = lab.ask()
    lab.tell(one.trial, {"stability": 0.4})
    lab.tell(one.trial, failed=True)
    count = len(lab.history())
    with pytest.raises(StudyConflict, match="correct needs all targets of a failed trial"):
        lab.correct(one.trial, {"stability": 0.5})
    line = {"trial": one.trial, "stability": 0.5}
    with pytest.raises(StudyConflict, match="corrected needs all targets of a failed trial"):
        lab.tell_all([line], corrected=True)
    assert len(lab.history()) == count
    [told] = lab.tell_all([line | {"efficiency": 6.0}], corrected=True)
    assert (told.failed, told.values) == (False, {"stability": 0.5, "efficiency": 6.0})
    assert lab.status().failed == 0


@pytest.fixture
def brew(tmp_path, monkeypatch):
    """A study of one target that is to meet a value: its policy sees a desirability."""
    monkeypatch.chdir(tmp_path)
    with kb.Study.create("b.db", TABLE, target="pH:aim=7", label="sample", seed=1) as made:
        yield made


def test_a_single_target_with_an_aim_is_told_and_described_as_one(brew):
    assert (brew.combined, brew.several) == (True, False)
    [one] = brew.ask()
    assert f"tell b.db {one.trial} VALUE" in " ".join(said("status", "b.db").split())
    told = brew.tell(one.trial, 6.6)
    assert (told.values, told.value is None) == ({"pH": 6.6}, False)
    event = brew.history()[-1]
    assert describe_event(event) == f"trial 1 (row {one.row}): result 6.6"
    with pytest.raises(AlreadyTold, match=r"a trial without a result, .* has the result 6.6") as no:
        brew.tell(one.trial, 6.8)
    assert no.value.value == 6.6
    brew.correct(one.trial, 6.8)
    assert "Its result is 6.6 again." in said("undo", "b.db")


def test_a_file_with_a_new_standard_error_alone_corrects_no_single_target(brew):
    brew.tell(row=2, value=6.6)
    with pytest.warns(DataNotice, match="another standard error: the stored error stays"):
        assert not brew.tell_all([{"row": 2, "pH": 6.6, "sem": 0.1}])[0].accepted
    brew.ask(sheet="plate.csv")
    brew.tell(2, 7.1, sem=0.1)
    brew.write_sheet("again.csv", [2])
    assert list(pd.read_csv("again.csv").columns)[-3:] == ["pH", "sem", "failed"]


def test_a_correction_keeps_all_values_that_it_names(brew, lab):
    brew.tell(row=2, value=6.6)
    assert brew.correct(1, 6.7).body["was"] == {"pH": 6.6}
    lab.tell(row=1, value={"stability": 0.4, "efficiency": 6.0})
    event = lab.correct(1, {"stability": 0.4, "efficiency": 7.0})
    assert event.body["was"] == {"stability": 0.4, "efficiency": 6.0}


def test_a_half_told_trial_keeps_its_lease(tmp_path):
    lab = kb.Study.create(tmp_path / "a.db", [[0.0], [0.5], [1.0]], targets=TARGETS, lease=0.05)
    [one] = lab.ask()
    lab.tell(one.trial, {"stability": 0.4})
    time.sleep(0.1)
    [other] = lab.ask()
    assert (other.row != one.row, other.again) == (True, None)
    assert not lab.status().waiting[0].overdue


def test_a_study_of_several_targets_is_replayed_exactly(lab, where):
    play(lab, 7)
    lab.correct(2, {"stability": 0.9}, reason="mistyped")
    lab.change(targets={"stability": "minimize,limit=0.95"})
    play(lab, 2)
    lab.tell(row=0, value={"stability": 0.2}, missing="efficiency")
    again = kb.Study.open(where)
    asked = [event.trial for event in again.history() if event.kind == "asked"]
    assert all(again.replay(trial).same for trial in asked)
    assert all(finding.ok for finding in again.doctor())
    pd.testing.assert_frame_equal(again.to_dataframe(), lab.to_dataframe())
    pd.testing.assert_frame_equal(again.front(), lab.front())
    assert again.status().missing == 1
    again.close()


def test_the_policy_sees_the_desirability_of_the_ranges_measured_so_far(lab):
    for row in range(5):
        lab.tell(row=row, value=measure(lab.candidates.x(row)))
    frame = lab.to_dataframe()
    low, high = frame["stability"].min(), frame["stability"].max()
    first = 1 - (frame["stability"] - low) / (high - low)
    second = frame["efficiency"] / frame["efficiency"].max()
    wanted = (np.maximum(first, 0.01) * np.maximum(second, 0.01) ** 2) ** (1 / 3)
    np.testing.assert_allclose(frame["value"], wanted)
    before = frame["value"].tolist()
    lab.tell(row=11, value={"stability": 9.0, "efficiency": 30.0})
    assert lab.to_dataframe()["value"].tolist()[1:5] != before[1:5]
    lab.undo()
    assert lab.to_dataframe()["value"].tolist() == before


def test_each_target_has_the_model_of_a_study_of_its_own(lab, tmp_path):
    alone = kb.Study.create(tmp_path / "alone.db", TABLE, target="stability", direction="min")
    for row in (0, 2, 5, 7, 10):
        values = measure(lab.candidates.x(row))
        lab.tell(row=row, value=values)
        alone.tell(row=row, value=values["stability"])
    # One more value of this target alone counts for its model, too.
    lab.tell(row=4, value={"stability": 0.4})
    alone.tell(row=4, value=0.4)
    found, own = lab.estimates(), alone.estimates()
    for part in ("mean", "sd", "low", "high"):
        np.testing.assert_array_equal(found[f"stability {part}"], own[part])
    status = lab.status()
    assert [one.results for one in status.targets] == [6, 5]
    row = next(i for i, one in enumerate(found["row"]) if one == status.best.row)
    assert status.targets[0].mean == pytest.approx(own["mean"][row])
    qualities = {row: measure(lab.candidates.x(row)) for row in (0, 2, 5, 7, 10)}
    beaten = {
        row
        for row, mine in qualities.items()
        for other in qualities.values()
        if other["stability"] <= mine["stability"]
        and other["efficiency"] >= mine["efficiency"]
        and other != mine
    }
    assert {one.row for one in status.front} == qualities.keys() - beaten


def test_a_file_may_be_filled_in_and_told_again(lab, tmp_path):
    file = tmp_path / "plate.csv"
    file.write_text("sample,stability,efficiency,stability sem\nA1,0.3,,0.1\nA2,,,\nA3,0.2,4,\n")
    told = lab.tell_all(file)
    assert [one.needs for one in told] == [("efficiency",), ()]
    assert not any(one.accepted for one in lab.tell_all(file))
    file.write_text("sample,stability,efficiency\nA1,0.3,5\nA2,0.4,6\nA3,0.2,4\n")
    assert [one.accepted for one in lab.tell_all(file)] == [True, True, False]
    assert lab.status().told == 3
    file.write_text("sample,stability,efficiency\nA1,0.9,5\n")
    count = len(lab.history())
    with pytest.raises(AlreadyTold, match="--corrected"):
        lab.tell_all(file)
    assert len(lab.history()) == count
    lab.tell_all(file, corrected=True)
    assert lab.to_dataframe()["stability"][0] == 0.9
    lab.tell_all([{"sample": "A1", "stability": 0.8, "efficiency": 4}], replicates=True)
    assert lab.status().told == 4
    assert lab.to_dataframe()["stability sem"][0] == 0.1


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda lab: lab.tell(row=1, value={"stabilty": 1}), "Did you mean 'stability'"),
        (lambda lab: lab.tell(row=1, value=0.5), "a value for each target by its name"),
        (lambda lab: lab.tell(row=1, value={}), "at least one target"),
        (lambda lab: lab.tell(row=1, value={"stability": math.nan}), "finite"),
        (lambda lab: lab.tell(row=1, value={"stability": 1}, sem={"stability": 0}), "> 0"),
        (lambda lab: lab.tell(row=1, value={"stability": 1}, sem={"efficiency": 1}), "has a value"),
        (lambda lab: lab.tell(row=1, value={"stability": 1}, missing="stability"), "not both"),
        (lambda lab: lab.correct(1, {"stability": 1}), "a trial with a result"),
        (lambda lab: lab.change(targets={"colour": "minimize"}), "targets among"),
        (lambda lab: lab.tell_all([{"sample": "A1", "colour": 1}]), "columns of targets"),
    ],
)
def test_wrong_values_change_nothing(lab, call, wanted):
    with pytest.raises((ValueError, StudyConflict), match=wanted):
        call(lab)
    assert len(lab.history()) == 1


def test_a_value_far_from_the_others_of_its_target_is_named(lab):
    for row, value in enumerate((0.8, 0.81, 0.83, 0.84)):
        lab.tell(row=row, value={"stability": value, "efficiency": 10.0 + row})
    with pytest.warns(DataNotice, match=r"stability 83 is far .* did you mean 0\.83"):
        lab.tell(row=5, value={"stability": 83.0})


def test_a_space_and_a_single_target_with_an_aim(tmp_path):
    space = {"heat": (20.0, 90.0), "acid": ["citric", "acetic"]}
    targets = [Target("pH", "aim", low=3.0, high=9.0, aim=6.0)]
    brew = kb.Study.create(tmp_path / "brew.db", space, targets=targets, seed=1)
    for _ in range(4):
        [one] = brew.ask()
        brew.tell(one.trial, {"pH": 3 + one.x["heat"] / 15})
    assert "pH mean" in brew.estimates()
    assert brew.status().front[0].values.keys() == {"pH"}
    with pytest.raises(StudyConflict, match="several targets"):
        kb.Study.create(tmp_path / "one.db", [[0.0], [1.0]]).front()
    with pytest.raises(ValueError, match="target or targets"):
        kb.Study.create(tmp_path / "two.db", [[0.0], [1.0]], target="y", targets=targets)
    assert not (tmp_path / "two.db").exists()


@pytest.mark.thorough
def test_several_targets_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    TABLE.to_csv("films.csv", index=False)
    words = ("--target", "stability:minimize", "--target", "efficiency:maximize,range=0..20")
    made = document("create", "f.db", "--candidates", "films.csv", "--label", "sample", *words)
    assert [one["name"] for one in made["targets"]] == ["stability", "efficiency"]
    assert "--value stability=VALUE --value efficiency=VALUE" in said("ask", "f.db")
    both = ("--value", "stability=0.83", "--value", "efficiency=12.1", "--sem", "stability=0.02")
    text = said("tell", "f.db", "--label", "A7", *both, "--note", "second batch", "--by", "AB")
    assert "stability 0.83, efficiency 12.1 recorded; desirability" in text
    half = said("tell", "f.db", "--label", "A2", "--value", "stability=0.7")
    assert "efficiency still to come" in half
    done = document("tell", "f.db", "--label", "A2", "--value", "efficiency=missing")
    assert (done["missing"], done["values"]) == (True, {"stability": 0.7})
    assert "stability 0.5" in said("correct", "f.db", "--label", "A7", "--value", "stability=0.5")
    shown = said("status", "f.db")
    for word in ("minimize; 2 values", "range 0 to 20 (given)", "front", "desirability"):
        assert word in shown
    assert "stability" in said("estimates", "f.db")
    assert "stability 0.83 ± 0.02" in said("history", "f.db")
    records = document("export", "f.db", "-")
    assert [one["stability"] for one in records if one["front"]] == [0.5]
    assert "settings changed: targets" in said(
        "change", "f.db", "--target", "stability:minimize,weight=3"
    )
    before = document("history", "f.db")
    for wrong in (
        ("tell", "f.db", "--label", "A3", "--value", "foo=1"),
        ("tell", "f.db", "--label", "A3", "0.5"),
        ("tell", "f.db", "--label", "A7", "--value", "stability=1", "--sem", "stability=-1"),
        ("create", "g.db", "--candidates", "films.csv", "--target", "a:min", "--target", "a"),
        ("change", "f.db", "--target", "foo:minimize"),
    ):
        refused = study(*wrong)
        assert (refused.code in (1, 2), refused.err.count("\n")) == (True, 1), refused
    assert document("history", "f.db") == before
    one = document("create", "h.db", "--candidates", "films.csv", "--target", "y:minimize")
    assert (one["target"], one["direction"]) == ("y", "minimize")


SPELLED = {
    "cost": ("cost", "maximize", Target("cost")),
    "cost:minimize": ("cost", "minimize", Target("cost", "minimize")),
    " cost : min ": ("cost", "minimize", Target("cost", "minimize")),
    "cost:Minimize": ("cost", "minimize", Target("cost", "minimize")),
    "cost:max": ("cost", "maximize", Target("cost")),
    "pH:aim=7": ("desirability", "maximize", Target("pH", "aim", aim=7.0)),
}
"""The text of a target, what the policy sees, and the target."""


@pytest.mark.parametrize("text", SPELLED)
def test_a_target_is_spelled_in_python_as_on_the_command_line(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with kb.Study.create("python.db", {"x": (0.0, 1.0)}, target=text) as made:
        settings = made.settings
        assert (made.target, made.direction, *made.targets) == SPELLED[text]
    document("create", "command.db", "--real", "x=0:1", "--target", text)
    with kb.Study.open("command.db") as made:
        assert made.settings == settings


def test_the_direction_of_a_target_is_said_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"x": (0.0, 1.0)}
    for given in ("max", "maximize"):
        with pytest.raises(
            ValueError, match="needs one direction, and 'cost:minimize' has its own, got 'max"
        ):
            kb.Study.create("a.db", space, target="cost:minimize", direction=given)
        words = ("--real", "x=0:1", "--target", "cost:minimize", "--direction", given)
        assert "'cost:minimize' has its own" in study("create", "a.db", *words).err
    for direction in ("minimize", "maximize"):
        with pytest.raises(ValueError, match="the direction of several targets with each of them"):
            kb.Study.create("a.db", space, targets=TARGETS, direction=direction)
    assert not (tmp_path / "a.db").exists()
    with kb.Study.create("a.db", space, target="cost:minimize", direction="min") as made:
        assert (made.target, made.direction) == ("cost", "minimize")


@pytest.mark.parametrize("text", ["cost:minimze", "cost:Maximum,weight=2", "cost:foo", "cost:"])
def test_what_follows_a_colon_is_a_direction_and_no_part_of_a_name(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, needed = {"x": (0.0, 1.0)}, "needs maximize or minimize after the colon, got"
    for given in ({"target": text}, {"targets": [text, "gloss"]}):
        with pytest.raises(ValueError, match=needed) as refused:
            kb.Study.create("a.db", space, **given)
        assert ("Did you mean 'm" in str(refused.value)) == ("m" in text)
    with pytest.raises(ValueError, match=needed):
        kb.optimize(lambda x: x["x"], space, rounds=1, target=text, study="a.db")
    assert needed in study("create", "a.db", "--real", "x=0:1", "--target", text).err
    with pytest.raises(ValueError, match="needs a name without a colon"):
        kb.Study.create("a.db", space, targets={text: "minimize"})
    assert not (tmp_path / "a.db").exists()


def test_names_of_targets_variables_and_columns_are_short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    longest, longer = "n" * 200, "n" * 201
    kb.Study.create("a.db", pd.DataFrame({longest: [1, 2]}), target="m" * 200).close()
    needed = "needs a name of at most 200 characters, got 'nnn"
    for table, target in (
        (pd.DataFrame({longer: [1, 2]}), "y"),
        ({longer: (0.0, 1.0)}, "y"),
        ({"x": (0.0, 1.0)}, longer),
    ):
        with pytest.raises(ValueError, match=needed):
            kb.Study.create("b.db", table, target=target)
    with pytest.raises(ValueError, match=needed):
        Target(longer)
    for name in ("a\nb", " a", "a ", "a\u2028"):
        with pytest.raises(ValueError, match="a name of one line without blanks around it"):
            Target(name)
    said = study("create", "b.db", "--real", "x=0:1", "--target", "n" * 24_000)
    assert needed in said.err
    assert len(said.err) < 400
    assert not (tmp_path / "b.db").exists()


def test_no_target_is_called_by_the_text_of_another(tmp_path):
    for name in ("cost:min", "cost:foo"):
        with pytest.raises(ValueError, match=f"a name without a colon, got '{name}'"):
            Target(name)
    table = TABLE.assign(**{"cost:minimize": 1.0})
    needed = "a column 'cost' or none like it, got 'cost:minimize'"
    with pytest.raises(ValueError, match=needed):
        kb.Study.create(tmp_path / "a.db", table, target="cost:minimize")
    with pytest.raises(ValueError, match=needed):
        kb.optimize(lambda x: 1.0, table, 2, target="cost:minimize")


def test_optimize_reads_the_direction_from_the_target(tmp_path):
    def bowl(x):
        return (x["x"] - 0.3) ** 2

    space, place = {"x": (0.0, 1.0)}, tmp_path / "a.db"
    found = kb.optimize(bowl, space, 4, study=place, target="cost:minimize")
    assert found.direction == "minimize"
    with kb.Study.open(place) as stored:
        assert (stored.target, stored.direction) == ("cost", "minimize")
    again = kb.optimize(bowl, space, 4, study=place, target="cost", direction="minimize")
    assert again.records() == found.records()
    with pytest.raises(ValueError, match="optimize needs one direction, and 'cost:minimize' has"):
        kb.optimize(bowl, space, 4, study=place, target="cost:minimize", direction="maximize")
    with pytest.raises(ValueError, match="optimize needs NAME or NAME:minimize as target"):
        kb.optimize(bowl, space, 4, study=tmp_path / "b.db", target="pH:aim=7")
    in_memory = kb.optimize(lambda x: -x["Cs"], TABLE, 3, target="cost:min")
    assert in_memory.direction == "minimize"


def test_one_result_says_neither_a_range_nor_a_loss(lab):
    play(lab, 1)
    status = lab.status()
    assert all("no range known yet" in one.sentence for one in status.targets)
    assert "at least 5 results are needed (so far: 1)" in status.stop.sentence
    assert (status.stop.may_stop, status.stop.left) == (False, None)
    play(lab, 1)
    assert all(one.range_known for one in lab.status().targets)


def test_corrections_and_next_commands_name_the_targets_they_concern(tmp_path):
    place = tmp_path / "lab.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        made = kb.Study.create(place, TABLE, targets=TARGETS, label="sample", seed=1)
        [one] = made.ask()
        made.tell(one.trial, {"stability": 0.5})
        shown = run_command("study", "status", str(place)).stdout
        assert f" {one.trial} --value efficiency=VALUE" in " ".join(shown.split())
        made.tell(one.trial, {"efficiency": 1.5})
        name = one.label["sample"]
        [told] = made.tell_all(
            [{"sample": name, "stability": 0.7, "efficiency": 1.5}], corrected=True
        )
    assert told.corrected
    assert ": corrected, now stability 0.7, efficiency 1.5; desirability" in told.sentence
    assert ": corrected to" in run_command("study", "undo", str(place)).stdout
    told = run_command("study", "undo", str(place)).stdout
    assert "efficiency 1.5" in told
    assert "only those of its values that were told before" in told


@pytest.mark.parametrize("key", [None, "k1"])
def test_gaps_of_a_file_of_several_targets_are_filled_in_under_its_key(lab, tmp_path, key):
    file = tmp_path / "results.csv"
    file.write_text("sample,stability,efficiency\nA1,0.1,\nA2,,\nA3,0.3,3\n")
    assert [one.accepted for one in lab.tell_all(file, key=key)] == [True, True]
    file.write_text("sample,stability,efficiency\nA1,0.1,1\nA2,0.2,2\nA3,0.3,3\n")
    told = lab.tell_all(file, key=key)
    assert [(one.label["sample"], one.accepted) for one in told] == [
        ("A1", True),
        ("A2", True),
        ("A3", False),
    ]
    assert [one.values for one in told][:2] == [
        {"stability": 0.1, "efficiency": 1.0},
        {"stability": 0.2, "efficiency": 2.0},
    ]
    assert lab.status().told == 3
    file.write_text("sample,stability,efficiency\nA1,0.1,1.5\nA2,0.2,2\nA3,0.3,3\n")
    with pytest.raises(
        AlreadyTold,
        match=r"1 \(results.csv, line 2\): stored .* efficiency 1, now .* efficiency 1\.5",
    ):
        lab.tell_all(file, key=key)


def test_a_line_with_a_key_of_its_own_is_filled_in_later(lab, tmp_path):
    file = tmp_path / "results.csv"
    file.write_text("sample,stability,efficiency,key\nA1,0.1,,a\n")
    assert lab.tell_all(file)[0].needs == ("efficiency",)
    file.write_text("sample,stability,efficiency,key\nA1,0.1,1,a\n")
    [told] = lab.tell_all(file)
    assert (told.trial, told.accepted, told.needs) == (1, True, ())
    assert not lab.tell_all(file)[0].accepted
    file.write_text("sample,stability,efficiency,key\nA1,0.1,2,a\n")
    with pytest.raises(AlreadyTold, match=r"\(results.csv, line 2\): stored .* efficiency 1, now"):
        lab.tell_all(file)


def test_the_status_of_a_single_target_lists_no_front(tmp_path):
    with kb.Study.create(tmp_path / "acid.db", TABLE, targets=["pH:aim=7,range=4..10"]) as study:
        study.tell(row=1, value=6.5)
    assert "front" not in said("status", tmp_path / "acid.db")


@pytest.mark.parametrize("more", ["aim=7,range=4..10", "minimize", "range=4..10", "maximize"])
def test_an_equals_sign_for_the_colon_after_the_name_is_refused(tmp_path, more):
    with pytest.raises(ValueError, match=re.escape(f"; write pH:{more}")):
        parse_target(f"pH={more}")
    with pytest.raises(ValueError, match="a colon after its name"):
        kb.Study.create(tmp_path / "acid.db", TABLE, target=f"pH={more}")
    assert parse_target("T=300:minimize").name == "T=300"


def test_the_interval_of_a_desirability_stays_between_0_and_1(lab):
    for row in range(6):
        lab.tell(row=row, value=measure(lab.candidates.x(row)))
    estimates = lab.estimates()
    assert estimates["low"].min() >= 0.0
    assert estimates["high"].max() <= 1.0
    assert (estimates["high"] == 1.0).any()
