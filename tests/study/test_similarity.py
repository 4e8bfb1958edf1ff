"""Studies of candidates that are known by a Gram matrix or a graph."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from conftest import run_command
from kernelbandits.tables.matrices import read_labels, read_matrix
from lab_pages import Page

SIZE = 12
NAMES = [f"node {k}" for k in range(SIZE)]


def ring_kernel(scale=1.0):
    """The kernel exp(-distance) of a ring: positive definite, with the diagonal `scale`."""
    places = np.arange(SIZE)
    gap = abs(places[:, None] - places)
    return scale * np.exp(-np.minimum(gap, SIZE - gap) / 3.0)


def measure(row):
    return float(np.cos(2 * np.pi * (row - 4) / SIZE))


def play(study, rounds):
    for _ in range(rounds):
        [one] = study.ask()
        study.tell(one.trial, measure(one.row))


@pytest.fixture
def ring():
    return kb.Arms.from_gram(ring_kernel(), values=NAMES)


@pytest.fixture
def study(tmp_path, ring):
    with kb.Study.create(tmp_path / "ring.db", ring, target="y", seed=1) as study:
        yield study


def test_a_study_chooses_what_auto_chooses_and_is_the_same_after_opening(where, ring):
    auto = kb.Auto(ring, goal="find", seed=0)
    with kb.Study.create(where, ring, target="y", seed=0) as study:
        for t in range(1, 6):
            [one] = study.ask()
            choice = auto.ask(t)
            assert one.row == choice.arm
            assert one.x == {"candidate": NAMES[one.row]}
            auto.tell(choice, measure(choice.arm))
            study.tell(one.trial, measure(one.row))
        before = study.estimates()
    with kb.Study.open(where) as study:
        np.testing.assert_array_equal(study.candidates.points, ring.points)
        np.testing.assert_array_equal(study.estimates()["mean"], before["mean"])
        assert all(study.replay(trial).same for trial in range(1, 6))
        assert all(finding.ok for finding in study.doctor())


def test_a_named_policy_plays_the_matrix_as_its_kernel(tmp_path, ring):
    settings = {"noise_scale": 0.1, "norm_bound": 2.0}
    policy = kb.policy("amm-ucb", ring, kb.Linear(), **settings)
    own = {"centre": 0.0, "spread": 1.0}
    with kb.Study.create(
        tmp_path / "a.db", ring, policy="amm-ucb", settings=settings, **own
    ) as study:
        for t in range(1, 5):
            [one] = study.ask()
            choice = policy.ask(t, kb.Streams(0))
            assert one.row == choice.arm
            study.tell(one.trial, measure(one.row))
            policy.tell(choice, measure(choice.arm))
    with pytest.raises(ValueError, match="needs no kernel with a Gram matrix or a graph"):
        kb.Study.create(
            tmp_path / "b.db", ring, policy="amm-ucb", kernel="rbf:0.2", settings=settings
        )
    assert not (tmp_path / "b.db").exists()


def test_candidates_are_told_and_found_by_their_names(study, tmp_path):
    assert study.tell(label="node 7", value=0.5).row == 7
    assert study.tell(x={"candidate": "node 2"}, value=0.1).row == 2
    (tmp_path / "more.csv").write_text("candidate,y\nnode 3,0.7\n")
    study.tell_all(tmp_path / "more.csv")
    assert study.to_dataframe()["row"].tolist() == [7, 2, 3]
    assert study.forbid(label="node 5").body["rows"] == [5]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.add([["node 99"]]), "add needs a study of a table .* create another study"),
        (lambda s: s.tell(x={"candidate": "x"}, value=1.0), "tell needs a study of a table"),
        (lambda s: s.partial_dependence("candidate"), "sees the similarity of the candidates only"),
        (lambda s: s.estimate_map("candidate", "y"), "sees the similarity of the candidates only"),
    ],
    ids=["add", "tell", "dependence", "map"],
)
def test_what_needs_columns_says_so(study, call, sentence):
    play(study, 2)
    with pytest.raises(kb.StudyConflict, match=sentence):
        call(study)
    assert study.relevance() == ()


def test_equal_matrices_are_the_same_study_and_others_are_not(tmp_path, ring):
    place = tmp_path / "a.db"
    kb.Study.create(place, ring, target="y").close()
    kb.Study.create(place, ring, target="y", or_open=True).close()
    other = kb.Arms.from_gram(ring_kernel() ** 2, values=NAMES)
    with pytest.raises(kb.StudyConflict, match="another candidates"):
        kb.Study.create(place, other, target="y", or_open=True)


@pytest.mark.parametrize(
    ("arms", "options", "sentence"),
    [
        (lambda: kb.Arms([[0.0], [1.0]]), {}, "needs kb.Arms.from_gram"),
        (lambda: kb.Arms.from_gram(np.eye(2), values=["a", "a"]), {}, "a name of its own"),
        (lambda: kb.Arms.from_gram(np.eye(2), values=["a", " "]), {}, "a name for each"),
        (lambda: kb.Arms.from_gram(np.eye(2)), {"cost": "hours"}, "no cost with a Gram matrix"),
        (lambda: kb.Arms.from_gram(np.eye(2)), {"target": "candidate"}, "not called 'candidate'"),
    ],
)
def test_a_study_refuses_what_it_cannot_keep(tmp_path, arms, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        kb.Study.create(tmp_path / "a.db", arms(), **options)
    assert not (tmp_path / "a.db").exists()


def test_a_matrix_with_another_diagonal_is_divided_by_its_mean_with_a_notice():
    with pytest.warns(kb.DataNotice, match="with itself is 3 on average, not 1; .* divided by it"):
        scaled = kb.Arms.from_gram(ring_kernel(3.0))
    np.testing.assert_allclose(scaled.points @ scaled.points.T, ring_kernel(), atol=1e-12)


def test_optimize_goes_on_with_a_study_of_a_matrix(tmp_path, ring):
    def objective(name):
        return measure(NAMES.index(name))

    first = kb.optimize(objective, ring, 4, study=tmp_path / "o.db", seed=1)
    again = kb.optimize(objective, ring, 6, study=tmp_path / "o.db", seed=1)
    assert [one.x for one in again.trials[:4]] == [one.x for one in first.trials]


# ---------------------------------------------------------------------- command line


def save_files(folder):
    np.save(folder / "K.npy", ring_kernel(3.0))
    np.save(folder / "W.npy", (ring_kernel() > 0.6) - np.eye(SIZE))
    np.save(folder / "skew.npy", ring_kernel() + np.eye(SIZE, k=1))
    np.save(folder / "indefinite.npy", ring_kernel() - 0.9 * np.eye(SIZE))
    np.save(folder / "nan.npy", np.where(np.eye(SIZE, k=1), np.nan, ring_kernel()))
    np.save(folder / "wide.npy", ring_kernel()[:3])
    (folder / "names.txt").write_text("name\n" + "\n".join(NAMES) + "\n")
    (folder / "short.txt").write_text("a\nb\n")


def test_a_matrix_in_a_file_becomes_a_study(tmp_path):
    save_files(tmp_path)
    made = run_command(
        "study", "create", "k.db", "--gram", "K.npy", "--labels", "names.txt", "--target", "y",
        cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "12 candidates, known by their similarity" in made.stdout
    assert "divided by it" in made.stderr
    run_command("study", "create", "g.db", "--graph", "W.npy", "--target", "y", cwd=tmp_path)
    with kb.Study.open(tmp_path / "g.db") as study:
        weights = (ring_kernel() > 0.6) - np.eye(SIZE)
        expected = kb.Arms.from_gram(kb.kernels.graph_matern(weights)).points
        np.testing.assert_allclose(study.candidates.points, expected, atol=1e-12)
    asked = json.loads(run_command("study", "ask", "k.db", "--format", "json", cwd=tmp_path).stdout)
    assert "node" in json.dumps(asked)
    told = run_command("study", "tell", "k.db", "1", "0.5", cwd=tmp_path)
    assert "Trial 1, node" in told.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--gram", "skew.npy"), "needs a symmetric matrix"),
        (("--gram", "indefinite.npy"), "without negative eigenvalues"),
        (("--gram", "nan.npy"), "needs finite points, got nan in row 0, column 1"),
        (("--gram", "wide.npy"), "needs an (n, n) matrix, got (3, 12)"),
        (("--gram", "K.npy", "--labels", "short.txt"), "a name in each of 12 lines"),
        (("--gram", "K.npy", "--graph", "W.npy"), "got more than one of them"),
        (("--candidates", "names.txt", "--labels", "names.txt"), "--labels only with --gram"),
        (("--gram", "K.npy", "--cost", "hours"), "no cost with a Gram matrix"),
    ],
)
def test_a_bad_matrix_is_refused_with_a_sentence_and_leaves_no_file(tmp_path, options, sentence):
    save_files(tmp_path)
    done = run_command("study", "create", "x.db", *options, "--target", "y", cwd=tmp_path)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert not (tmp_path / "x.db").exists()


def test_a_matrix_in_a_table_brings_its_names(tmp_path):
    lines = ["name," + ",".join(NAMES)]
    lines += [
        f"{name}," + ",".join(map(str, row)) for name, row in zip(NAMES, ring_kernel(), strict=True)
    ]
    (tmp_path / "K.csv").write_text("\n".join(lines))
    matrix, names = read_matrix(tmp_path / "K.csv")
    np.testing.assert_array_equal(matrix, ring_kernel())
    assert names == tuple(NAMES)
    lines[1], lines[2] = lines[2], lines[1]
    (tmp_path / "K.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="the same name for row 0 as for its column, 'node 0'"):
        read_matrix(tmp_path / "K.csv")


def test_names_may_have_a_heading(tmp_path):
    (tmp_path / "a.txt").write_text("sample\na\nb\n")
    assert read_labels(tmp_path / "a.txt", 2) == ("a", "b")
    assert read_labels(tmp_path / "a.txt", 3) == ("sample", "a", "b")


# ---------------------------------------------------------------------- figures and pages


@pytest.mark.thorough
def test_figures_and_the_lab_page_name_the_candidates(tmp_path, ring, monkeypatch):
    monkeypatch.setattr("kernelbandits.apps.web.snapshots.PATIENCE", 60.0)
    (tmp_path / "studies").mkdir()
    with kb.Study.create(tmp_path / "studies" / "ring.db", ring, target="y", seed=1) as study:
        play(study, 5)
        best = study.best().x["candidate"]
        study.export(tmp_path / "ring.csv")
        study.export(tmp_path / "ring.xlsx")
    written = run_command("study", "plot", "studies/ring.db", "ring.html", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    shown = (tmp_path / "ring.html").read_text()
    assert "12 candidates known by their similarity" in shown
    assert best in shown
    assert best in (tmp_path / "ring.csv").read_text()
    about = pd.read_excel(tmp_path / "ring.xlsx", sheet_name="about", index_col=0)["value"]
    assert "similarity, which is not in this workbook" in about["candidates"]
    page = Page(tmp_path / "studies", tmp_path / "state")
    browser = page.browser()
    assert best in browser.get("/studies/ring")
    assert best in browser.get("/studies/ring/candidates")
    for part in ("figures", "settings", "history"):
        assert "ring" in browser.get(f"/studies/ring/{part}")
    page.close()


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_a_sheet_of_a_batch_is_filled_in_and_told_back(tmp_path, ring, form):
    """Also where a spreadsheet wrote the name 007 as the number 7."""
    names = tuple(f"{k:03d}" for k in range(SIZE))
    ring = kb.Arms.from_gram(ring_kernel(), values=names)
    sheet = tmp_path / f"batch.{form}"
    with kb.Study.create(tmp_path / "ring.db", ring, target="y", seed=1) as study:
        asked = study.ask(3)
        study.write_sheet(sheet)
    read = pd.read_excel if form == "xlsx" else pd.read_csv
    lines = read(sheet)
    lines["candidate"] = lines["candidate"].astype(int)
    lines["y"] = [0.1, 0.2, 0.3]
    if form == "xlsx":
        lines.to_excel(sheet, index=False, sheet_name="sheet")
    else:
        lines.to_csv(sheet, index=False)
    told = run_command("study", "tell", "ring.db", "--sheet", sheet.name, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "3 results recorded" in told.stdout
    with kb.Study.open(tmp_path / "ring.db") as study:
        frame = study.to_dataframe()
        assert frame["value"].tolist() == [0.1, 0.2, 0.3]
        assert frame["row"].tolist() == [one.row for one in asked]
        assert [one.accepted for one in study.tell_sheet(sheet)] == [False] * 3
    lines["candidate"] += 1
    lines.to_excel(tmp_path / "wrong.xlsx", index=False, sheet_name="sheet")
    wrong = run_command("study", "tell", "ring.db", "--sheet", "wrong.xlsx", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "as trial 1 has it" in wrong.stderr
