import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.checks import StudyConflict

LINE = np.linspace(0, 1, 25)[:, None]
TRUTH = 2 * np.sin(6 * LINE[:, 0])
LIMIT = -0.5
TOLD = np.random.default_rng(1).permutation(25)[:16].tolist()


@pytest.fixture
def line(tmp_path):
    def create(name="a.db", **settings):
        return kb.Study.create(tmp_path / name, LINE, target="signal", **settings)

    return create


def tell_rows(study, below, sign=1.0):
    """Tell rows, those below the limit as `below` makes them of it."""
    for row in TOLD:
        value = float(TRUTH[row])
        study.tell(row=row, value=sign * value if value >= LIMIT else below)


def test_a_limit_is_stored_shown_and_read_again(line, tmp_path):
    study = line()
    told = study.tell(row=3, value="<0.5")
    assert (told.value, told.beyond) == (0.5, "<")
    assert "<0.5" in told.sentence
    study.tell(row=4, value=kb.Censored(99, ">"), note="saturated")
    study.tell(row=5, value=7.0)
    event = study.history()[1]
    assert (event.value, event.body["beyond"]) == (0.5, {"signal": "<"})
    frame = kb.Study.open(tmp_path / "a.db", writable=False).to_dataframe()
    assert frame["value"].tolist() == [0.5, 99.0, 7.0]
    assert frame["beyond"].tolist() == ["<", ">", None]
    for name in ("a.csv", "a.xlsx", "a.parquet"):
        study.export(tmp_path / name)
        other = line(f"{name}.db")
        assert [one.beyond for one in other.tell_all(tmp_path / name)] == ["<", ">", ""]
        assert other.history()[1].body["values"] == event.body["values"]
        # The same file again says nothing new.
        assert not any(one.accepted for one in other.tell_all(tmp_path / name))


def test_an_average_with_a_limit_is_a_limit(line):
    study = line()
    assert "average beyond" not in study.estimates()
    study.tell(row=3, value=1.0)
    study.tell(row=4, value=["<0.5", "<0.7"])
    study.tell(row=5, value=[1.5, "<0.5"])
    study.tell(row=6, value=[">9", "<0.5"])
    frame = study.estimates().set_index("row")
    assert frame["average"][[3, 4, 5]].tolist() == [1.0, 0.6, 1.0]
    assert frame["average beyond"][[3, 4, 5, 6]].tolist() == [None, "<", "<", None]
    # Between limits of both sides it may be anything.
    assert np.isnan(frame["average"][6])


def test_corrections_and_keys_know_a_limit_from_its_number(line):
    study = line()
    study.tell(row=3, value="<0.5", key="k")
    assert not study.tell(row=3, value="<0.5", key="k").seq > 2
    with pytest.raises(StudyConflict):
        study.tell(row=3, value=0.5, key="k")
    assert study.correct(1, 0.5).body["was"] == {"signal": "<0.5"}
    assert study.correct(1, "<0.4").body["beyond"] == {"signal": "<"}
    study.undo()
    study.undo()
    assert study.to_dataframe()["beyond"].tolist() == ["<"]
    with pytest.raises(ValueError, match="sem only for a target that has a value"):
        study.tell(row=4, value="<0.5", sem=0.1)
    with pytest.raises(
        ValueError, match="tell needs signal as a number, or as the text of a limit"
    ):
        study.tell(row=4, value="low")


def test_what_was_not_detected_needs_a_limit(line, tmp_path):
    study = line()
    with pytest.raises(ValueError, match=r"^tell needs the detection limit of signal in place of"):
        study.tell(row=3, value="n.d.")
    assert len(study.history()) == 1
    study.change(limits="0..")
    told = study.tell(row=3, value="n.d.")
    assert (told.value, told.beyond) == (0.0, "<")
    file = tmp_path / "results.csv"
    file.write_text("row,signal\n4,<0.5\n5,n.d.\n6,1.5\n7,> 9\n")
    assert [one.value for one in study.tell_all(file)] == [0.5, 0.0, 1.5, 9.0]
    assert study.correct(1, "n.d.").kind == "told"
    with pytest.raises(ValueError, match="at least 0, its limits, got -1"):
        study.tell(row=9, value="<-1")


def test_a_sheet_is_filled_in_with_limits(line, tmp_path):
    study = line()
    study.ask(3)
    study.write_sheet(tmp_path / "sheet.csv")
    text = (tmp_path / "sheet.csv").read_text("utf-8").splitlines()
    cells = [one.split(",") for one in text]
    column = cells[0].index("signal")
    for one, value in zip(cells[1:], ("<0.5", ">9", "1.5"), strict=True):
        one[column] = value
    (tmp_path / "sheet.csv").write_text("\n".join(map(",".join, cells)) + "\n", "utf-8")
    assert [one.beyond for one in study.tell_sheet(tmp_path / "sheet.csv")] == ["<", ">", ""]
    assert not any(one.accepted for one in study.tell_sheet(tmp_path / "sheet.csv"))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_model_knows_that_a_limit_is_no_value(line, sign):
    direction = "maximize" if sign > 0 else "minimize"
    side = "<" if sign > 0 else ">"
    low = TRUTH < LIMIT
    studies = [line("limit.db", direction=direction), line("tail.db", direction=direction)]
    tell_rows(studies[0], sign * LIMIT, sign)
    tell_rows(studies[1], kb.Censored(sign * LIMIT, side), sign)
    taken, known = (one.estimates() for one in studies)
    error = [np.abs(sign * one["mean"] - TRUTH)[low].mean() for one in (taken, known)]
    assert error[1] < error[0]
    truth = sign * TRUTH[low]
    covered = ((known["low"][low] <= truth) & (truth <= known["high"][low])).mean()
    assert covered > 0.9
    assert ((taken["low"][low] <= truth) & (truth <= taken["high"][low])).mean() < 0.5
    # Where nothing was censored, both say the same.
    best = [one.best().row for one in studies]
    assert best[0] == best[1]


def test_a_study_with_limits_is_the_same_however_it_is_told(line, tmp_path):
    studies = [line("one.db", seed=3), line("all.db", seed=3)]
    limit = kb.Censored(LIMIT, "<")
    tell_rows(studies[0], limit)
    rows = [{"row": row, "signal": max(TRUTH[row], LIMIT)} for row in TOLD]
    for one in rows:
        one["beyond"] = "<" if TRUTH[one["row"]] < LIMIT else ""
    studies[1].tell_all(rows)
    asked = [one.ask(2) for one in studies]
    assert [one.row for one in asked[0]] == [one.row for one in asked[1]]
    assert [one.note for one in asked[0]] == [one.note for one in asked[1]]
    with kb.Study.open(tmp_path / "one.db") as again:
        assert all(one.ok for one in again.doctor())
        replayed = again.replay(asked[0][0].trial)
        assert replayed.same


def test_a_named_policy_takes_the_limit_for_the_result(line):
    study = line(policy="simple-ucb:noise_scale=0.1,norm_bound=2")
    tell_rows(study, kb.Censored(LIMIT, "<"))
    plain = line("b.db", policy="simple-ucb:noise_scale=0.1,norm_bound=2")
    tell_rows(plain, LIMIT)
    assert study.ask()[0].row == plain.ask()[0].row


def test_auto_is_written_and_read_with_its_limits():
    auto = kb.Auto(LINE, seed=1)
    for row in TOLD:
        y = float(TRUTH[row])
        auto.tell(auto.choice(row), y if y > LIMIT else kb.Censored(LIMIT, "<"))
    again = kb.Auto.from_dict(auto.to_dict())
    assert again.ask() == auto.ask()


def test_each_of_several_targets_knows_its_limits(tmp_path):
    targets = {"signal": "maximize", "haze": "minimize"}
    study = kb.Study.create(tmp_path / "two.db", LINE, targets=targets)
    for row in TOLD:
        low = TRUTH[row] < LIMIT
        study.tell(
            row=row, value={"signal": "<-0.5" if low else float(TRUTH[row]), "haze": row / 10}
        )
    event = study.history()[1 + next(i for i, row in enumerate(TOLD) if TRUTH[row] < LIMIT)]
    assert event.body["beyond"] == {"signal": "<"}
    frame = study.to_dataframe()
    assert (frame["signal beyond"] == "<").sum() == (TRUTH[TOLD] < LIMIT).sum()
    study.export(tmp_path / "two.csv")
    other = kb.Study.create(tmp_path / "copy.db", LINE, targets=targets)
    other.tell_all(tmp_path / "two.csv")
    assert [one.body.get("beyond") for one in other.history()[1:17]] == [
        one.body.get("beyond") for one in study.history()[1:17]
    ]


def test_a_check_shows_limits_and_no_number_that_nobody_measured(line):
    study = line()
    tell_rows(study, kb.Censored(LIMIT, "<"))
    study.tell(row=TOLD[0], value=[">9", "<0.5"])
    found = {one.row: one for one in study.check().held_out}
    limited = [one for one in found.values() if one.beyond]
    assert {(one.measured, one.beyond) for one in limited} == {(LIMIT, "<")}
    assert f"{limited[0].result}" == "<-0.5"
    # A prediction beyond the limit agrees with it.
    for one in limited:
        agrees = one.predicted < LIMIT
        assert one.residual == pytest.approx(min(LIMIT - one.predicted, 0.0) / one.sd, abs=0)
        assert agrees == (one.residual == 0)
    # Between limits of both sides it may be anything.
    assert np.isnan(found[TOLD[0]].measured)
