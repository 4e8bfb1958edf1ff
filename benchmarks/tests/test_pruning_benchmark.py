"""The table of samplers with pruned trials, and the curves of its tasks."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from benchmarks import pruning


@pytest.mark.parametrize(
    "task", [name for name, curve in pruning.TASKS.items() if isinstance(curve, pruning.Formula)]
)
def test_a_curve_ends_at_the_value_of_its_function(task):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for _ in range(3):
        trial = study.ask()
        *rest, last = pruning.TASKS[task](trial)
        function = pruning.FUNCTIONS[pruning.TASKS[task].function]
        low, high = pruning.range_of(pruning.TASKS[task].function)
        x = np.array([list(trial.params.values())])
        assert last == pytest.approx((float(function.formula(x)[0]) - low) / (high - low), abs=1e-3)
        assert len(rest) == pruning.STEPS - 1


def test_only_seeds_that_both_have_played_are_compared():
    rows = [
        pruning.Row("mccormick, misled", "median", sampler, "1", seed, value, 30)
        for sampler, seed, value in [
            (pruning.OURS, 0, 0.1),
            (pruning.TPE, 0, 0.0),
            (pruning.TPE, 1, 9.0),
        ]
    ]
    text = pruning.summarise(rows)
    assert "| median | mccormick, misled | 1 | 0.1000 | 0.0000 |" in text
    assert "| median | 1 | 101.00 | 101.00 to 101.00 | 0 |" in text
    assert "hyperband" not in text
