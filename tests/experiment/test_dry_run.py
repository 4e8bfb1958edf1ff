"""A first look before a comparison: who refuses, what each cell takes, and a bar that knows it."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from kernelbandits.apps.cli import progress, screen
from kernelbandits.checks import DataNotice, TheoryWarning
from kernelbandits.experiment import (
    Results,
    dry_run,
    plan_experiment,
    play_experiment,
    run_experiment,
)
from kernelbandits.experiment.blocks import SeedBlock
from kernelbandits.experiment.dry_run import (
    COMPILED_ROUND,
    FIRST_ROUNDS,
    DryRun,
    expected_seconds,
    try_policies,
)

PLANNED = partial(plan_experiment, ["branin", "levy2"], horizon=50, seeds=3)


def test_the_willing_are_kept_in_order_and_each_cell_has_its_seconds():
    trial = try_policies(["random", "simple-ucb"], PLANNED)
    assert trial.willing == ["random", "simple-ucb"]
    assert set(trial.seconds) == {cell.key for cell in PLANNED(["random", "simple-ucb"])}
    assert all(seconds > 0 for seconds in trial.seconds.values())
    assert trial.refused == {}


def test_an_optional_policy_may_refuse_and_says_why():
    trial = try_policies(["random", "generic-gp"], PLANNED, optional=["random", "generic-gp"])
    assert trial.willing == ["random"]
    assert trial.refused["generic-gp"].startswith("generic-gp needs exploration")


def test_a_policy_asked_for_by_name_must_play():
    with pytest.raises(ValueError, match="generic-gp needs exploration"):
        try_policies(["random", "generic-gp"], PLANNED, optional=["random"])


def test_where_all_refuse_the_first_one_is_heard():
    with pytest.raises(ValueError, match="generic-gp needs exploration"):
        try_policies(["generic-gp"], PLANNED, optional=["generic-gp"])


def test_a_compiled_cell_is_expected_to_be_faster_than_one_played_in_python(monkeypatch):
    """By a clock on which everything that is measured takes a millisecond."""
    clock = SimpleNamespace(perf_counter=partial(next, count(step=0.001)))
    monkeypatch.setattr(dry_run, "time", clock)
    fast, slow = (expected_seconds(PLANNED([name])[0]) for name in ("simple-ucb", "random"))
    assert fast == pytest.approx(3 * (0.001 + 50 * COMPILED_ROUND))
    assert slow == pytest.approx(3 * (0.001 + 50 * 0.001 / FIRST_ROUNDS))


def test_a_look_says_nothing_and_leaves_the_warnings_to_the_game():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try_policies(["generic-gp:exploration=point-mass(0.5)"], PLANNED)


def test_slow_cells_come_first_and_the_results_do_not_know():
    cells = PLANNED(["random", "simple-ucb"])
    trial = DryRun(seconds={cell.key: float(place) for place, cell in enumerate(cells)})
    turned = trial.slow_first(cells)
    assert turned == list(reversed(cells))
    found = Results(cells, play_experiment(turned).found)
    straight = run_experiment(["branin", "levy2"], ["random", "simple-ucb"], horizon=50, seeds=3)
    assert found.labels == straight.labels
    for cell in cells:
        np.testing.assert_array_equal(found[cell.name].arms, straight[cell.name].arms)


def test_the_bar_counts_cells_and_moves_by_what_their_blocks_take():
    cells = PLANNED(["random", "simple-ucb"])
    seconds = {cell.key: float(2**place) for place, cell in enumerate(cells)}
    blocks = [SeedBlock(cells[1], 0, 3), SeedBlock(cells[2], 0, 1), SeedBlock(cells[2], 1, 3)]
    with progress.weigh_cells("playing", seconds, quiet=True) as shown:
        task = shown.bar.tasks[0]
        shown.ready()
        results = shown.watch(map).as_completed(lambda block: block.key, blocks)
        assert [next(results), next(results)] == [(block, block.key) for block in blocks[:2]]
        assert task.completed == pytest.approx(2 + 4 / 3)
        assert list(results) == [(blocks[2], blocks[2].key)]
        assert (task.completed, task.total) == pytest.approx((6, 6))
        assert (task.fields["ready"], task.fields["cells"]) == (1, 4)


def heard(capsys, *given: tuple[str, type[Warning]]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with screen.group_notes(quiet=False):
            for text, category in given:
                warnings.warn(text, category, stacklevel=1)
    return capsys.readouterr().err.splitlines()


def test_notes_of_several_policies_are_grouped_and_none_is_hidden(capsys):
    lines = heard(
        capsys,
        ("B: needs k <= 1, got 4", TheoryWarning),
        ("the table has gaps", DataNotice),
        ("A: needs k <= 1, got 2", TheoryWarning),
        ("A: something else", TheoryWarning),
        ("plain", TheoryWarning),
    )
    assert lines == [
        "note: the table has gaps",
        "note: 2 policies (A, B): needs k <= 1, got 2 to 4",
        "note: A: something else",
        "note: plain",
    ]


def breaking_off() -> None:
    with warnings.catch_warnings(), screen.group_notes(quiet=False):
        warnings.simplefilter("always")
        warnings.warn("A: something", TheoryWarning, stacklevel=1)
        raise KeyError


def test_notes_are_heard_even_when_the_game_breaks_off(capsys):
    with pytest.raises(KeyError):
        breaking_off()
    assert capsys.readouterr().err == "note: A: something\n"
