"""Results that are known before a run of `optimize`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.checks import DataNotice
from kernelbandits.study.known_results import read_known

ROWS = pd.DataFrame({"T": [10.0, 20.0, 30.0, 40.0], "p": [1.0, 2.0, 1.0, 2.0]})


def parabola(x):
    return -float((x[0] - 0.3) ** 2)


@pytest.mark.parametrize(
    "known",
    [
        [((0.3,), 0.0), ((0.9,), -0.36)],
        [(np.array([0.3]), 0.0), (0.9, -0.36)],
        [{"x1": 0.3, "value": 0.0}, {"x1": 0.9, "value": -0.36}],
        pd.DataFrame({"x1": [0.3, 0.9], "value": [0.0, -0.36]}),
    ],
)
def test_known_results_teach_the_policy_and_are_no_rounds(known):
    outcome = kb.optimize(parabola, [(0, 1)], 4, results=known)
    assert len(outcome.trials) == 4
    assert outcome.policy.n_rewards == 6
    assert abs(outcome.x[0] - 0.3) < 0.05


def test_they_have_the_sign_of_the_direction_and_failures_stay_failures():
    known = [{"x1": 0.2, "value": 5.0}, {"x1": 0.8, "failed": "yes"}]
    outcome = kb.optimize(
        lambda x: 5 + (x[0] - 0.3) ** 2, [(0, 1)], 3, direction="min", results=known
    )
    rewards, failed = outcome.policy.rewards, outcome.policy.failed
    assert rewards.values_in(0) == [-5.0]
    assert len(failed) == 1


def test_rows_of_a_table_are_named_by_number_or_by_values():
    policy = kb.Auto(ROWS.to_numpy())
    found = read_known(policy, ROWS, [(3, 80), ({"T": 10, "p": 1}, 10)], "value")
    assert [(choice.arm, value) for choice, value in found] == [(3, 80.0), (0, 10.0)]


@pytest.mark.parametrize(
    "known", [[((3.0,), 0.0)], [((0.3, 0.2), 0.0)], [((0.3,), "a")], "nofile.csv", [1, 2], 7]
)
def test_a_wrong_result_is_refused_before_anything_is_measured(known, tmp_path):
    measured = []
    for more in ({}, {"study": tmp_path / "run.db"}):
        with pytest.raises((ValueError, OSError)):
            kb.optimize(measured.append, [(0, 1)], 3, results=known, **more)
    assert measured == []
    assert not (tmp_path / "run.db").exists()


def test_a_study_takes_them_when_it_is_created_and_only_then(tmp_path):
    given = {"study": tmp_path / "run.db", "results": [((0.3,), 0.0)]}
    begun = kb.optimize(parabola, [(0, 1)], 3, **given)
    with pytest.warns(DataNotice, match="exists; it goes on with the results that it began with"):
        ended = kb.optimize(parabola, [(0, 1)], 4, **given)
    assert (len(begun.trials), len(ended.trials)) == (3, 4)
    with kb.Study.open(tmp_path / "run.db") as study:
        assert study.status().told == 5
        with pytest.raises(ValueError, match="results when the study is created"):
            kb.optimize(parabola, [(0, 1)], 5, study=study, results=[((0.3,), 0.0)])
