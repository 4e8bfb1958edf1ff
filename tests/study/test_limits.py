import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.checks import StudyConflict
from kernelbandits.study.limits import read_limits
from kernelbandits.study.targets import Target

LINE = np.linspace(0, 1, 12)[:, None]
RISING = ((0, 20.0), (3, 62.0), (6, 91.0), (8, 99.0), (10, 99.5))
YIELD, COST = Target("yield"), Target("cost, all in", "minimize")


@pytest.fixture
def limited(tmp_path):
    def create(limits=None, results=RISING, **settings):
        name = tmp_path / f"{limits}.db".replace("=", "")
        study = kb.Study.create(name, LINE, target="yield", limits=limits, **settings)
        for row, value in results:
            study.tell(row=row, value=value)
        return study

    return create


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("0..100", "0..100"),
        (" -1.5 .. 2e1 ", "-1.5..20"),
        ((0, 100), "0..100"),
        ([None, 3], "..3"),
        ("none", None),
        (None, None),
    ],
)
def test_limits_have_one_spelling(given, stored):
    assert read_limits(given, [YIELD]) == stored
    assert read_limits(stored, [YIELD]) == stored


def test_several_targets_have_limits_by_name_even_with_a_comma_in_it():
    stored = "yield=0..100, cost, all in=0.."
    given = {"cost, all in": "0..", "yield": (0, 100)}
    assert read_limits(given, [YIELD, COST]) == stored
    assert read_limits(stored, [YIELD, COST]) == stored


@pytest.mark.parametrize(
    "wrong", ["", "..", "5", "3..1", "0..x", (0, 1, 2), ("a", 1), (0, 0), "purity=0..1", "0...100x"]
)
def test_other_limits_are_refused_in_one_sentence(wrong):
    with pytest.raises(ValueError, match=r"^limits needs .*, got"):
        read_limits(wrong, [YIELD])


def test_each_of_several_targets_needs_its_name():
    with pytest.raises(ValueError, match=r"limits needs NAME=LOW\.\.HIGH for each target"):
        read_limits("0..100", [YIELD, COST])


def test_estimates_intervals_and_losses_stay_inside_the_limits(limited):
    free, study = limited(), limited("0..100")
    wild, tame = free.estimates(), study.estimates()
    assert wild["high"].max() > 100
    for name in ("mean", "low", "high"):
        np.testing.assert_array_equal(tame[name], wild[name].clip(0, 100))
    np.testing.assert_array_equal(tame["sd"], wild["sd"])
    best = study.best()
    assert 0 <= best.low <= best.mean <= best.high <= 100
    assert 0 <= study.status().stop.left < free.status().stop.left
    curve = study.partial_dependence("x1")
    assert max(curve.high) <= 100
    checked = study.check()
    assert all(0 <= one.low <= one.predicted <= one.high <= 100 for one in checked.held_out)
    # What is measured next does not depend on them.
    [one], [other] = free.ask(), study.ask()
    assert one.row == other.row
    assert other.note["mean"] <= 100
    assert study.explain(other.trial).improvement <= 100


def test_limits_of_a_target_that_is_minimised(limited):
    study = limited("0..", results=[(i, (i - 8) ** 2 + 0.0) for i in range(9)], direction="min")
    estimates = study.estimates()
    assert estimates[["mean", "low", "high"]].min().min() >= 0
    assert study.best().low >= 0


def test_each_of_several_targets_is_estimated_inside_its_own_limits(tmp_path):
    targets = {"yield": "maximize", "cost": "minimize"}
    limits = "yield=0..100, cost=0.."
    study = kb.Study.create(tmp_path / "two.db", LINE, targets=targets, limits=limits)
    for row, value in RISING:
        study.tell(row=row, value={"yield": value, "cost": 0.1 * (10 - row)})
    one, two = study.status().targets
    assert one.mean_high <= 100
    assert two.mean_low >= 0
    with pytest.raises(ValueError, match=r"tell needs cost at least 0, its limits, got -1;"):
        study.tell(row=11, value={"yield": 5.0, "cost": -1.0})


def test_a_result_beyond_the_limits_is_refused_and_changes_nothing(limited, tmp_path):
    study = limited("0..100")
    before = len(study.history())
    refused = "between 0 and 100, its limits, got 101"
    with pytest.raises(ValueError, match=f"^tell needs yield {refused}; if that is right, change"):
        study.tell(row=11, value=101.0)
    with pytest.raises(ValueError, match=refused):
        study.correct(1, 101.0)
    file = tmp_path / "results.csv"
    file.write_text("row,yield\n1,30\n2,101\n")
    with pytest.raises(ValueError, match=rf"{refused} \(.*results.csv, line 3\)"):
        study.tell_all(file)
    assert len(study.history()) == before


def test_wider_limits_keep_a_result_and_narrower_ones_are_then_refused(limited):
    study = limited("0..100")
    study.change(limits="0..105")
    study.tell(row=11, value=101.0)
    wrong = (
        r"change needs limits that hold every result, got 0..100 beside the yield 101 of trial 6"
    )
    with pytest.raises(StudyConflict, match=wrong):
        study.change(limits="0..100")
    assert study.settings["limits"] == "0..105"
    study.change(limits="none")
    assert study.settings["limits"] is None


def test_limits_are_proposed_for_percent_and_never_set(tmp_path):
    file = tmp_path / "yields.csv"
    file.write_text("T,yield (%),change (%)\n20,5,-3\n30,,4\n40,99,5\n")
    for number, (target, proposed) in enumerate(
        (("yield (%)", True), ("yield", True), ("change (%)", False))
    ):
        with pytest.warns() as said:
            study = kb.Study.create(tmp_path / f"{number}.db", file, target=target, columns=["T"])
        assert any("is in %" in str(one.message) for one in said) == proposed
        assert study.settings["limits"] is None
    with pytest.warns() as said:
        kb.Study.create(tmp_path / "8.db", file, target="yield (%)", columns=["T"], limits="0..")
    assert not any("is in %" in str(one.message) for one in said)
    with pytest.warns(match=r"'yield \(%\)' is in %"):
        kb.Study.create(tmp_path / "9.db", {"heat": (20.0, 90.0)}, target="yield (%)")
