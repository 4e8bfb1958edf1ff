"""The benchmark of earlier studies: its pairs, its earlier results and its comparison."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import related
from benchmarks.related import LEARNT, NEW, Pair, Studies


@pytest.fixture
def studies():
    frame = pd.DataFrame({"T": np.linspace(0, 1, 90)})
    values = related.unit(np.sin(3 * frame["T"].to_numpy()))
    return Studies(frame, values, frame, values)


def test_the_earlier_study_has_forty_results_in_another_unit_and_in_their_order(studies):
    source = related.earlier_source(Pair("P3HT"), studies, np.random.default_rng(0))
    cells = np.array(dict(source.columns)["T"])
    assert len(source.values) == len({*cells.tolist()}) == 40
    assert np.corrcoef(np.sin(3 * cells), source.values)[0, 1] > 0.9
    assert min(source.values) > 200


def test_a_permuted_study_says_nothing(studies):
    source = related.earlier_source(Pair("P3HT", permuted=True), studies, np.random.default_rng(0))
    cells = np.array(dict(source.columns)["T"])
    assert abs(np.corrcoef(np.sin(3 * cells), source.values)[0, 1]) < 0.5


def test_no_pair_is_in_two_groups_or_twice():
    names = [pair.name for pairs in related.GROUPS.values() for pair in pairs]
    assert len({*names}) == len(names) == 28


def test_the_ratio_is_that_of_the_mean_scores_and_its_error_that_of_a_bootstrap():
    rng = np.random.default_rng(0)
    rows = [
        {"pair": pair, "contestant": contestant, "seed": seed, "regret": [float(score)] * 4}
        for pair, scale in (("a", 1.0), ("b", 2.0))
        for contestant, mean in ((LEARNT, 0.6), (NEW, 1.0))
        for seed, score in enumerate(scale * (mean + 0.3 * rng.random(40)))
    ]
    found = related.compare(rows)
    table = {(r["pair"], r["contestant"], r["seed"]): r["regret"][0] for r in rows}
    drawn = []
    for _ in range(2000):
        sums = dict.fromkeys((LEARNT, NEW), 0.0)
        for pair in "ab":
            for seed in rng.integers(40, size=40).tolist():
                for contestant in sums:
                    sums[contestant] += table[pair, contestant, seed]
        drawn.append(sums[LEARNT] / sums[NEW])
    assert abs(found.ratio - np.mean(drawn)) < 0.005
    assert abs(found.error / np.std(drawn) - 1) < 0.15
