import warnings

import numpy as np
import pytest

import kernelbandits as kb

GRID = np.linspace(0, 1, 30)[:, None]
YIELDS = np.round(30 + 60 * np.sin(3 * GRID[:, 0]), 2)
ROWS = np.random.default_rng(3).permutation(30)[:14].tolist()


def tell_rows(study, rows):
    """Tell right results of rows that nobody asked for; none of them is remarked."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        for row in rows:
            study.tell(row=row, value=float(YIELDS[row]))


def notices(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is kb.DataNotice]


@pytest.mark.parametrize("factor", [10.0, 0.1])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_slip_of_a_row_that_nobody_asked_for_is_named(tmp_path, factor, direction):
    study = kb.Study.create(tmp_path / "a.db", GRID, direction=direction)
    tell_rows(study, ROWS[:13])
    row, right = ROWS[13], float(YIELDS[ROWS[13]])
    told = float(f"{factor * right:.6g}")
    [notice] = notices(lambda: study.tell(row=row, value=told))
    assert f"trial 14 (row {row}): {told:g} is far from" in notice
    assert f"did you mean {right:g}? It counts as it is" in notice
    assert study.history()[-1].value == told


def test_a_slip_within_the_range_of_the_others_is_named_in_a_first_file(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    results = [{"row": row, "value": float(YIELDS[row])} for row in ROWS]
    assert notices(lambda: study.tell_all(results)) == []
    # With smaller yields, a slip downwards lies among the others.
    study = kb.Study.create(tmp_path / "b.db", GRID, target="value")
    results = [{"row": row, "value": float(YIELDS[row] - 29)} for row in ROWS]
    right = results[5]["value"]
    results[5]["value"] = slip = float(f"{right / 10:.6g}")
    said = notices(lambda: study.tell_all(results))
    assert len(said) == 1
    assert f"{slip:g} is far from what the other results predicted" in said[0]


def test_what_the_model_expects_changes_nothing_that_is_asked_or_answered(tmp_path):
    told, imported = (kb.Study.create(tmp_path / name, GRID, seed=4) for name in ("a.db", "b.db"))
    tell_rows(told, ROWS)
    # Another one opens the study for each result, as the command line does.
    for row in ROWS:
        with kb.Study.open(tmp_path / "b.db") as one:
            one.tell(row=row, value=float(YIELDS[row]))
    for _ in range(3):
        [one], [other] = told.ask(), imported.ask()
        assert (one.row, one.note) == (other.row, other.note)
        told.tell(one.trial, float(YIELDS[one.row]))
        imported.tell(other.trial, float(YIELDS[one.row]))
    assert told.check().sentences == imported.check().sentences
    assert all(one.ok for one in told.doctor())


def test_a_number_beyond_the_limits_was_not_meant(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, limits="0..100")
    tell_rows(study, ROWS)
    # 7 may be 70; 12 in place of 89 can hardly be 120.
    row = next(row for row in range(30) if row not in ROWS and YIELDS[row] > 85)
    assert not any("120" in one for one in notices(lambda: study.tell(row=row, value=12.0)))


def test_named_policies_and_several_targets_ask_no_model(tmp_path):
    named = kb.Study.create(tmp_path / "a.db", GRID, policy="ucb1:noise_scale=0.1")
    tell_rows(named, ROWS)
    two = kb.Study.create(
        tmp_path / "b.db", GRID, targets={"yield": "maximize", "cost": "minimize"}
    )
    for row in ROWS:
        two.tell(row=row, value={"yield": float(YIELDS[row]), "cost": 3.0 + row})
    for study in (named, two):
        assert study._session._driver is None
