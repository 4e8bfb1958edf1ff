"""Results with standard errors, replicates, notes, and values that are missing."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.calibration import Measurement
from kernelbandits.checks import DataNotice, StudyConflict

POINTS = np.linspace(0, 1, 15)[:, None]


def play_with_errors(domain, rounds: int = 12) -> kb.Auto:
    """Results with a small error, a large one, and none, in turn."""
    rng, auto = np.random.default_rng(0), kb.Auto(domain, goal="find", seed=1)
    for i in range(rounds):
        choice, sem = auto.ask(), (0.01, 0.3)[i % 2]
        reward = np.sin(6 * float(np.asarray(choice.x)[0])) + sem * rng.standard_normal()
        auto.tell(choice, Measurement(reward, sem) if i % 3 else float(reward))
    return auto


@pytest.mark.parametrize("domain", [kb.Arms(POINTS), kb.Box((0.0,), (1.0,))], ids=["arms", "box"])
def test_the_posterior_is_that_of_every_result_with_its_own_variance(domain):
    auto = play_with_errors(domain)
    units, where = auto.units, np.linspace(0, 1, 7)[:, None]
    results, posterior = auto.learner.results, auto.posterior
    places = [result.place for result in results]
    points = np.array([POINTS[p] if auto.finite else p for p in places]).reshape(-1, 1)
    rewards = np.array([result.value for result in results])
    means, sds = posterior.members_at(where)
    for i, scales in enumerate(auto.learner.fit.members):
        kernel, ridge = posterior.kernels[i], float(posterior.ridges[i])
        variances = [
            ridge
            if sem is None
            else ((units.standardise(y + sem) - units.standardise(y - sem)) / 2) ** 2
            for y, sem in ((result.value, result.sem) for result in results)
        ]
        noise = np.diag(np.maximum(variances, 1e-8 * scales.total_variance))
        matrix, cross = kernel(points, points) + noise, kernel(where, points)
        mean = cross @ np.linalg.solve(matrix, units.standardise(rewards))
        explained = np.einsum("ij,ji->i", cross, np.linalg.solve(matrix, cross.T))
        np.testing.assert_allclose(means[i], mean, atol=1e-8)
        np.testing.assert_allclose(sds[i], np.sqrt(kernel.diagonal(where) - explained), atol=1e-6)


@pytest.mark.parametrize("domain", [kb.Arms(POINTS), kb.Box((0.0,), (1.0,))], ids=["arms", "box"])
@pytest.mark.parametrize("pending", [0, 1, 2])
def test_failures_beside_standard_errors_leave_the_posterior_sound(domain, pending):
    auto = play_with_errors(domain)
    place = auto.choice(3 if auto.finite else [POINTS[3, 0]])
    for _ in range(9):
        auto.fail(place)
    waiting = [auto.choice(arm if auto.finite else [POINTS[arm, 0]]) for arm in (3, 8)[:pending]]
    posterior, where = auto.posterior, np.linspace(0, 1, 7)[:, None]
    if waiting:
        places = [one.arm if auto.finite else one.x for one in waiting]
        posterior = posterior.with_pending(places)
    before = posterior.members_at(where)
    again = copy.deepcopy(posterior)
    assert not again.audit()
    for one, other in zip(before, again.members_at(where), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    assert np.isfinite(auto.ask(pending=waiting).note["mean"])


@pytest.mark.parametrize("domain", [kb.Arms(POINTS), kb.Box((0.0,), (1.0,))], ids=["arms", "box"])
def test_results_with_errors_are_learnt_at_once_as_one_by_one_and_written_as_data(domain):
    auto = play_with_errors(domain)
    again = kb.Auto.from_dict(json.loads(json.dumps(auto.to_dict())))
    other = pickle.loads(pickle.dumps(auto))
    where = np.linspace(0, 1, 7)[:, None]
    for one in (again, other, copy.deepcopy(auto)):
        np.testing.assert_array_equal(one.posterior.at(where), auto.posterior.at(where))
        np.testing.assert_array_equal(one.ask().x, auto.ask().x)


def test_equal_errors_are_one_noise():
    """Results whose errors are all sqrt(ridge) have the posterior of plain results."""
    rng = np.random.default_rng(1)
    plain = kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, 0.04)
    weighted = kb.posterior.RowPosterior(kb.RBF(0.3), POINTS, 0.01)
    counts, sums = np.zeros((2, len(POINTS)))
    for arm, reward in zip(rng.integers(0, 15, 20).tolist(), rng.random(20).tolist(), strict=True):
        plain.update(arm, reward)
        counts[arm] += 0.01 / 0.04
        sums[arm] += 0.01 / 0.04 * reward
    weighted.learn(counts, sums, events=20)
    np.testing.assert_allclose(weighted.mean, plain.mean, atol=1e-10)
    np.testing.assert_allclose(weighted.sd, plain.sd, atol=1e-10)
    assert weighted.events == 20


def test_the_fitted_noise_is_that_of_the_plain_results():
    """Errors of 0.3 explain the scatter of their results; the plain ones scatter by 0.02."""
    rng, auto = np.random.default_rng(2), kb.Auto(kb.Arms(POINTS), goal="find", seed=1)
    pairs = []
    for arm in range(15):
        f = float(np.sin(6 * POINTS[arm, 0]))
        for _ in range(2):
            pairs.append((auto.choice(arm), f + 0.02 * rng.standard_normal()))
    noisy = [
        (auto.choice(arm), Measurement(float(np.sin(6 * POINTS[arm, 0])) + dirt, sem=0.3))
        for arm, dirt in zip(range(15), 0.3 * rng.standard_normal(15), strict=True)
    ]
    auto.tell_all(pairs)
    precise = auto.calibration.noise_scale
    # Noise of 15 pairs: chi with 15 degrees of freedom, a relative error of 1 / sqrt(30).
    assert precise == pytest.approx(0.02, rel=4 / np.sqrt(30))
    other = kb.Auto(kb.Arms(POINTS), goal="find", seed=1)
    other.tell_all([*pairs[:14], *noisy[7:]])
    assert other.calibration.noise_scale < 0.1
    blind = kb.Auto(kb.Arms(POINTS), goal="find", seed=1)
    blind.tell_all([*pairs[:14], *((choice, float(reward)) for choice, reward in noisy[7:])])
    truth = np.sin(6 * POINTS[7:, 0])
    farthest = []
    for one in (other, blind):
        mean, sd = (part[7:] for part in one.estimates())
        farthest.append(float(np.abs((mean - truth) / sd).max()))
    # Who does not know the errors is too sure of the noisy results.
    assert farthest[0] < 3 < farthest[1]


@pytest.mark.thorough
def test_a_study_weighs_results_by_their_errors_and_is_replayed(where):
    lab = kb.Study.create(where, POINTS, target="y", seed=1)
    for i in range(8):
        [one] = lab.ask()
        lab.tell(one.trial, float(np.sin(6 * one.x["x1"])), sem=(None, 0.01, 0.2)[i % 3])
    again = kb.Study.open(where)
    asked = [event.trial for event in again.history() if event.kind == "asked"]
    assert all(again.replay(trial).same for trial in asked)
    assert all(finding.ok for finding in again.doctor())
    assert again.to_dataframe()["sem"].tolist()[1:3] == [0.01, 0.2]
    before = again.estimates()["sd"]
    again.correct(3, sem=0.01, value=again.to_dataframe()["value"][2])
    assert again.estimates()["sd"][again.to_dataframe()["row"][2]] < before.max()
    # A correction of the value alone keeps the error.
    again.correct(2, 0.5)
    assert again.to_dataframe()["sem"][1] == 0.01
    again.close()


def test_a_named_policy_takes_such_results_as_plain_ones_and_says_so(tmp_path):
    for name, sem in (("a", 0.1), ("b", None)):
        lab = kb.Study.create(
            tmp_path / f"{name}.db",
            POINTS,
            policy="simple-ucb:noise_scale=0.1,norm_bound=1",
            seed=1,
        )
        if sem:
            with pytest.warns(DataNotice, match="Only auto weighs results"):
                lab.tell(row=3, value=0.4, sem=sem)
        else:
            lab.tell(row=3, value=0.4)
    first, second = (kb.Study.open(tmp_path / f"{name}.db").estimates() for name in "ab")
    assert first["mean"].tolist() == second["mean"].tolist()


def test_replicates_are_stored_together_or_not_at_all(tmp_path):
    lab = kb.Study.create(tmp_path / "a.db", POINTS)
    [one] = lab.ask()
    said = {"key": "monday", "note": "three chips", "by": "AB"}
    told = lab.tell(one.trial, [0.4, 0.5, 0.6], **said)
    assert (told.trial, told.value, told.replicates) == (1, 0.4, (2, 3))
    assert lab.tell(one.trial, [0.4, 0.5, 0.6], **said).replicates == (2, 3)
    frame = lab.to_dataframe()
    assert frame["row"].tolist() == [one.row] * 3
    assert frame["note"].tolist() == ["three chips"] * 3
    count = len(lab.history())
    for values in ([0.1, float("nan")], [], [0.1, "x"]):
        with pytest.raises(ValueError, match="tell needs"):
            lab.tell(row=2, value=values)
    with pytest.raises(ValueError, match="sem with one value"):
        lab.tell(row=2, value=[0.1, 0.2], sem=0.1)
    assert len(lab.history()) == count


def test_an_error_that_comes_later_is_said_and_taken_with_corrected(tmp_path):
    lab = kb.Study.create(tmp_path / "a.db", POINTS, target="y", seed=1)
    lab.tell_all([{"row": 1, "y": 0.5}, {"row": 2, "y": 0.7}])
    later = [{"row": 1, "y": 0.5, "y sem": 0.02}, {"row": 2, "y": 0.7}]
    with pytest.warns(DataNotice, match="1 line with a stored value and another standard error"):
        lab.tell_all(later)
    assert lab.history()[-1].kind == "settings"
    told = lab.tell_all(later, corrected=True)
    assert [(one.accepted, one.corrected) for one in told] == [(True, True), (False, False)]
    assert lab._session.state.trials[1].sem == 0.02
    events = len(lab.history())
    assert not any(one.accepted for one in lab.tell_all(later, corrected=True))
    assert len(lab.history()) == events


def test_a_missing_value_is_no_failure(tmp_path):
    lab = kb.Study.create(tmp_path / "a.db", POINTS, seed=1)
    [lost, broken] = lab.ask(2)
    before = lab.estimates()["mean"].tolist()
    told = lab.tell(lost.trial, missing=True, note="sample lost")
    assert (told.missing, told.value, told.row) == (True, None, lost.row)
    lab.tell(broken.trial, failed=True)
    status = lab.status()
    assert (status.missing, status.failed, status.pending) == (1, 1, 0)
    assert lab.estimates()["mean"].tolist() == before
    assert sorted(lab.to_dataframe()["state"]) == ["failed", "missing"]
    for wrong in ({"trial": lost.trial}, {"row": 14}, {"trial": 99}):
        with pytest.raises(StudyConflict, match="a trial that is pending"):
            lab.tell(**wrong, missing=True)
    # The value turns up: the trial takes it.
    lab.tell(lost.trial, 0.7)
    assert lab.status().missing == 0
    lab.undo_all(2)
    assert lab.status().missing == 1
    again = kb.Study.open(tmp_path / "a.db")
    assert again.replay(lost.trial).same


def test_errors_replicates_and_missing_values_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "films.csv").write_text("Cs\n0\n0.5\n1\n")
    said("create", "f.db", "--candidates", "films.csv", "--target", "y")
    words = ("--sem", "0.02", "--note", "second batch", "--by", "AB")
    assert "0.83 ± 0.02 recorded" in said("tell", "f.db", "--row", "1", "0.83", *words)
    told = document("tell", "f.db", "--row", "2", "--value", "-0.1", "--value", "0.2")
    assert (told["value"], told["replicates"]) == (-0.1, [3])
    [asked] = document("ask", "f.db")
    assert document("tell", "f.db", asked["trial"], "--missing")["missing"] is True
    shown = said("history", "f.db")
    assert "± 0.02 (second batch), by AB" in shown
    before = document("history", "f.db")
    for wrong in (
        ("--row", "1", "0.5", "--sem", "0"),
        ("--row", "1", "0.5", "--sem", "-0.1"),
        ("--row", "1", "--failed", "--sem", "0.1"),
        ("--row", "1", "--failed", "--missing"),
        ("--row", "1", "--missing"),
        ("--row", "1", "0.5", "--value", "0.6"),
    ):
        done = study("tell", "f.db", *wrong)
        assert (done.code in (1, 2), done.err.count("\n")) == (True, 1), done
    (tmp_path / "results.csv").write_text("row,y,sem,by\n0,0.4,0.1,CD\n1,0.6,,\n")
    said("tell", "f.db", "--csv", "results.csv", "--replicates")
    records = document("export", "f.db", "-")
    assert [one["sem"] for one in records][-2:] == [0.1, None]
    (tmp_path / "results.csv").write_text("row,y,sem\n2,0.4,0\n")
    done = study("tell", "f.db", "--csv", "results.csv")
    assert "a standard error > 0 in line 2" in done.err
    assert len(document("history", "f.db")) == len(before) + 3  # two results and their scale
