"""Descriptors: values of a category that are alike, from the file to the study."""

from __future__ import annotations

import math
import re
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study_with_warnings
from kernelbandits.calibration.sides import domain_sides
from kernelbandits.checks import StudyConflict
from kernelbandits.study.candidates import read_candidates, stored_candidates
from kernelbandits.tables.descriptors import Descriptors
from lab_pages import open_page

page = pytest.fixture(open_page)

LIGANDS = pd.DataFrame(
    {
        "ligand": ["XPhos", "SPhos", "PPh3", "dppf", "BINAP"],
        "cone (deg)": [256.0, 240.0, 145.0, 150.0, 160.0],
        "family": ["biaryl", "biaryl", "aryl", "bis", "bis"],
    }
)
REACTIONS = pd.DataFrame(
    {
        "ligand": ["XPhos", "none", "SPhos", "PPh3", "dppf", "other"],
        "T": [60.0, 60.0, 80.0, 80.0, 100.0, 100.0],
    }
)


@pytest.fixture
def files(tmp_path):
    LIGANDS.to_csv(tmp_path / "ligands.csv", index=False)
    REACTIONS.to_csv(tmp_path / "reactions.csv", index=False)
    return tmp_path


def quietly(call: Any, *given: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*given, **more)


def create(where: Any, table: pd.DataFrame = REACTIONS, **more: Any) -> kb.Study:
    given = {"target": "yield", "describe": {"ligand": LIGANDS}} | more
    return quietly(kb.Study.create, where, table, **given)


def distances(points: Any) -> Any:
    return np.sqrt(np.square(points[:, None] - points).sum(-1))


# What the model sees


def likeness_by_definition(frame: pd.DataFrame, one: str, other: str) -> float:
    """exp(-d^2), each descriptor in units of its mean square difference over pairs of values."""

    def square(cells: Any, i: int, k: int) -> float:
        text = isinstance(cells[i], str)
        return float(cells[i] != cells[k]) if text else (cells[i] - cells[k]) ** 2

    values, total = list(frame["ligand"]), 0.0
    columns = [list(frame[name]) for name in frame.columns if name != "ligand"]
    for cells in columns:
        pairs = [square(cells, i, k) for i, k in combinations(range(len(values)), 2)]
        here = square(cells, values.index(one), values.index(other))
        total += here / np.mean(pairs) / len(columns)
    return math.exp(-total)


def test_values_are_as_far_apart_as_their_descriptors_say():
    found = read_candidates(REACTIONS, describe={"ligand": LIGANDS})
    apart = distances(found.coordinates("ligand"))
    ligands = list(REACTIONS["ligand"])
    for i, k in combinations(range(len(ligands)), 2):
        one, other = ligands[i], ligands[k]
        known = {one, other} <= set(LIGANDS["ligand"])
        likeness = likeness_by_definition(LIGANDS, one, other) if known else 0.0
        assert apart[i, k] == pytest.approx(math.sqrt(1 - likeness), abs=1e-7), (one, other)


def test_a_value_that_the_file_does_not_know_is_compared_by_name_alone():
    described = read_candidates(REACTIONS, describe={"ligand": LIGANDS})
    plain = read_candidates(REACTIONS, columns=["ligand", "T"])
    apart, named = (distances(one.coordinates("ligand")) for one in (described, plain))
    unknown = REACTIONS["ligand"].isin(["none", "other"]).to_numpy()
    np.testing.assert_allclose(apart[unknown], named[unknown], atol=1e-15)
    # All the rest is as without descriptors: one column, of one lengthscale, as long as before.
    assert described.blocks == plain.blocks
    np.testing.assert_allclose(domain_sides(described.domain()), domain_sides(plain.domain()))


def test_values_that_are_all_alike_are_not_spread_over_the_whole_unit():
    table = REACTIONS[REACTIONS["ligand"].isin(["XPhos", "SPhos"])]
    found = read_candidates(table, describe={"ligand": LIGANDS})
    likeness = likeness_by_definition(LIGANDS, "XPhos", "SPhos")
    apart = distances(found.coordinates("ligand"))[0, 1]
    assert apart == pytest.approx(math.sqrt(1 - likeness), abs=1e-7)
    # A lengthscale is a share of the distance 1 of two names, not of the largest one here.
    np.testing.assert_allclose(domain_sides(found.domain()), 1.0)


def test_without_descriptors_the_points_are_those_of_names():
    points = read_candidates(REACTIONS, columns=["ligand"]).coordinates("ligand")
    np.testing.assert_array_equal(points, math.sqrt(0.5) * np.eye(6))


def test_equal_descriptors_are_one_point_and_that_is_said():
    twins = LIGANDS.assign(**{"cone (deg)": 256.0, "family": ["a", "a", "b", "c", "c"]})
    found = read_candidates(REACTIONS, describe={"ligand": twins})
    points = found.coordinates("ligand")
    np.testing.assert_array_equal(points[0], points[2])
    assert found.distinct == 6
    assert any("'XPhos' and 'SPhos' of 'ligand' have equal" in one for one in found.notices)


def test_many_values_of_one_descriptor_have_points():
    values = [f"v{i}" for i in range(200)]
    numbers = {"v": values, "size": np.linspace(0, 1, 200)}
    descriptors = Descriptors(tuple(values), {"size": tuple(numbers["size"].tolist())})
    points = descriptors.embed(values)
    expected = np.sqrt(1 - descriptors.likeness(values))
    np.testing.assert_allclose(distances(points), expected, atol=1e-4)


def test_the_unit_of_a_descriptor_does_not_matter():
    other = LIGANDS.assign(**{"cone (deg)": 3e200 - 7e198 * LIGANDS["cone (deg)"]})
    one, two = (
        read_candidates(REACTIONS, describe={"ligand": frame}).coordinates("ligand")
        for frame in (LIGANDS, other)
    )
    np.testing.assert_allclose(distances(one), distances(two), atol=1e-7)


def test_the_model_predicts_values_by_their_descriptors(tmp_path):
    names = [f"L{i:02}" for i in range(30)]
    size = np.random.default_rng(0).permutation(30) / 29
    table, sizes = pd.DataFrame({"ligand": names}), pd.DataFrame({"name": names, "size": size})
    truth = np.sin(5 * size)

    def correlate(**more: Any) -> float:
        path = tmp_path / f"{len(more)}.db"
        with quietly(kb.Study.create, path, table, columns=["ligand"], target="y", **more) as study:
            for row in range(20):
                study.tell(row=row, value=float(truth[row]))
            means = quietly(study.estimates).set_index("row").loc[range(20, 30), "mean"]
        return float(np.ptp(means)) and float(np.corrcoef(means, truth[20:])[0, 1])

    assert correlate(describe={"ligand": sizes}) > 0.95
    # By name alone all unmeasured ligands look the same, up to rounding.
    assert abs(correlate()) < 0.6


# What is read, and what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"describe": {"metal": LIGANDS}}, "needs a column for descriptors among ligand, T, got"),
        ({"describe": {"T": LIGANDS}}, "needs a column of text for descriptors, got 'T'"),
        ({"describe": LIGANDS}, "needs describe as a mapping from columns to tables"),
        ({"describe": {"ligand": 3}}, "describe needs a file or a DataFrame for 'ligand', got int"),
        ({"describe": {"ligand": "nofile.csv"}}, "No such file: nofile.csv"),
        (
            {"frame": LIGANDS.assign(ligand=["a", "b", "c", "d", "e"])},
            "needs descriptors of at least two values of column 'ligand', got none of XPhos, none, "
            "SPhos, PPh3, dppf, other in its column 'ligand'",
        ),
        (
            {"frame": LIGANDS.assign(ligand=["XPhos", "b", "c", "d", "e"])},
            "got 'XPhos' only in its column",
        ),
        (
            {"frame": LIGANDS.assign(ligand=["XPhos", "XPhos", "PPh3", "dppf", "BINAP"])},
            "the same descriptors wherever a value comes, got 256.0 in row 0 and 240.0 in row 1, "
            "column 'cone (deg)'",
        ),
        (
            {"frame": pd.DataFrame({"ligand": ["XPhos", "SPhos", "XPhos"], "size": [1, 1, 2]})},
            "wherever a value comes, got 1.0 in row 0 and 2.0 in row 2, column 'size'",
        ),
        (
            {"frame": LIGANDS[["ligand"]].assign(size=1.0)},
            "needs a descriptor that differs between values, got none: descriptor 'size' of "
            "'ligand' has the same value in every row",
        ),
        ({"frame": LIGANDS[["ligand"]]}, "got no column beside the values"),
        (
            {"frame": LIGANDS.assign(size=[1.0, 2.0, math.inf, 4.0, 5.0])},
            "in row 2, column 'size', got 'inf'; correct it, or leave the row or the column out",
        ),
        ({"frame": LIGANDS.assign(size=[1.0, 2.0, math.nan, 4.0, 5.0])}, "in row 2, column 'size'"),
        ({"frame": LIGANDS.assign(size=["a", "b", "", "a", "b"])}, "in row 2, column 'size'"),
        (
            {"frame": LIGANDS.assign(ligand=["XPhos", "", "PPh3", "dppf", "BINAP"])},
            "in row 1, column 'ligand', got a missing one",
        ),
        ({"frame": LIGANDS.iloc[:0]}, "needs at least one row, got 0"),
    ],
)
def test_wrong_descriptors_are_refused_in_one_sentence_and_nothing_is_stored(
    tmp_path, change, message
):
    describe = change.get("describe", {"ligand": change.get("frame")})
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        create(tmp_path / "a.db", describe=describe)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.db").exists()


def test_a_space_and_a_similarity_have_no_descriptors(tmp_path):
    with pytest.raises(ValueError, match="describe needs a table of candidates, got a space"):
        create(tmp_path / "a.db", {"ligand": ["XPhos", "PPh3"]})
    with pytest.raises(ValueError, match="needs no describe with a Gram matrix"):
        create(tmp_path / "a.db", kb.Arms.from_gram(np.eye(3)))


def test_columns_that_say_nothing_are_left_out_and_named():
    frame = LIGANDS.assign(smiles=list("abcde"), same=1, id=range(5))
    frame = pd.concat([frame, frame.iloc[:1]])
    found = read_candidates(REACTIONS, describe={"ligand": frame})
    assert list(found.descriptors["ligand"].columns) == ["cone (deg)", "family"]
    for name, why in (
        ("smiles", "is text that is never the same twice"),
        ("same", "has the same value in every row"),
        ("id", "only numbers the rows"),
    ):
        assert f"descriptor {name!r} of 'ligand' {why} and is left out" in found.notices
    assert (
        "values of 'ligand' are compared by 2 descriptors: cone (deg), family; by name only: "
        "none, other" in found.notices
    )
    assert not any("equally far apart" in one for one in found.notices)


def test_the_values_stand_in_the_column_of_that_name_or_in_the_first():
    expected = read_candidates(REACTIONS, describe={"ligand": LIGANDS}).points
    renamed = LIGANDS.rename(columns={"ligand": "name"})
    last = LIGANDS[["cone (deg)", "family", "ligand"]]
    for frame in (renamed, last, LIGANDS.set_index("ligand")):
        found = read_candidates(REACTIONS, describe={"LIGAND": frame})
        np.testing.assert_array_equal(found.points, expected)


# What is stored


def test_a_study_keeps_its_descriptors(files):
    path = files / "a.db"
    with create(path, files / "reactions.csv", describe={"ligand": files / "ligands.csv"}) as made:
        points = made.candidates.points
        [first] = made.ask()
    (files / "ligands.csv").unlink()
    with kb.Study.open(path) as opened:
        np.testing.assert_array_equal(opened.candidates.points, points)
        assert "values of ligand are compared by 2 descriptors" in opened.status().scales
        assert opened.ask(worker="ann")[0].x.keys() == {"ligand", "T"}
    with create(files / "b.db") as again:
        assert again.ask()[0].row == first.row


def test_what_a_log_keeps_gives_the_same_candidates_back():
    found = read_candidates(REACTIONS, describe={"ligand": LIGANDS})
    again = stored_candidates(found.stored_columns, found.body)
    assert again.body == found.body
    np.testing.assert_array_equal(again.points, found.points)


def test_a_study_is_opened_only_with_the_same_descriptors(tmp_path):
    create(tmp_path / "a.db").close()
    create(tmp_path / "a.db", or_open=True).close()
    other = LIGANDS.assign(family="one")
    for describe in ({"ligand": other}, None):
        with pytest.raises(StudyConflict, match=r"got one with another .*descriptors"):
            create(tmp_path / "a.db", describe=describe, or_open=True)


def test_rows_that_are_added_are_compared_by_the_descriptors_that_are_stored(tmp_path):
    with create(tmp_path / "a.db") as study:
        before = study.candidates.coordinates("ligand")
        more = pd.DataFrame({"ligand": ["BINAP", "new"], "T": [60.0, 70.0]})
        with pytest.warns(kb.DataNotice, match="values of 'ligand' without descriptors: new"):
            study.add(more)
        after = study.candidates.coordinates("ligand")
        np.testing.assert_allclose(distances(after)[:6, :6], distances(before), atol=1e-12)
        likeness = likeness_by_definition(LIGANDS, "BINAP", "dppf")
        assert distances(after)[6, 4] == pytest.approx(math.sqrt(1 - likeness), abs=1e-7)
        np.testing.assert_allclose(distances(after)[7, :7], 1.0)


# On the command line, in a workbook, in a request


def test_the_command_takes_a_file_for_a_column(files):
    given = ("--candidates", files / "reactions.csv", "--target", "yield")
    made = document("create", files / "a.db", *given, "--describe", f"ligand={files}/ligands.csv")
    assert made["described"] == {"ligand": ["cone (deg)", "family"]}
    with create(files / "b.db") as study, kb.Study.open(files / "a.db") as opened:
        np.testing.assert_array_equal(opened.candidates.points, study.candidates.points)
    text = said("create", files / "c.db", *given, "--describe", f"ligand={files}/ligands.csv")
    assert "The model compares the values of ligand by 2 descriptors." in text
    for wrong, message in (
        (["ligand"], "--describe NAME=VALUE"),
        (["ligand=a.csv", "--describe", "ligand=b.csv"], "--describe once for each name"),
        (["ligand=a.csv"], "No such file: a.csv"),
    ):
        done = study_with_warnings("create", files / "d.db", *given, "--describe", *wrong)
        assert done.code == 2
        assert message in done.err
        assert not (files / "d.db").exists()


def test_questions_speak_of_the_column_and_not_of_its_descriptors(files):
    with create(files / "a.db") as study:
        for row in range(5):
            study.tell(row=row, value=0.1 * row)
        check = quietly(study.check)
        assert {one.column for one in check.columns} <= {"ligand", "T"}
        frame = quietly(study.estimates)
        assert not {"cone (deg)", "family"} & {*frame.columns}


def test_an_exported_workbook_creates_the_study_again(files):
    with create(files / "a.db") as study:
        points = study.candidates.points
        quietly(study.export, files / "out.xlsx")
    book = files / "out.xlsx"
    given = ("--candidates", book, "--target", "yield", "--describe", f"ligand={book}")
    said("create", files / "b.db", *given)
    with kb.Study.open(files / "b.db") as again:
        np.testing.assert_array_equal(again.candidates.points, points)


def test_a_request_has_descriptors_as_text_or_rows(page, files):
    program, rows = page.program(), REACTIONS.to_dict("records")
    body = {"target": "yield", "rows": rows}
    csv = LIGANDS.to_csv(index=False)
    for name, table in (("a", csv), ("b", LIGANDS.to_dict("records"))):
        sent = body | {"name": name, "describe": {"ligand": table}}
        answer = program.post("/api/studies", json=sent)
        assert answer.status_code == 201, answer.text
        assert any("2 descriptors" in one for one in answer.json()["notices"])
    stored = program.get("/api/studies/b/candidates").json()["describe"]["ligand"]
    assert stored["values"] == list(LIGANDS["ligand"])
    assert stored["columns"]["cone (deg)"] == list(LIGANDS["cone (deg)"])
    # A text is never the name of a file of the server.
    sent = body | {"name": "c", "describe": {"ligand": str(files / "ligands.csv")}}
    answer = program.post("/api/studies", json=sent)
    assert answer.status_code == 422
    assert "biaryl" not in answer.text
