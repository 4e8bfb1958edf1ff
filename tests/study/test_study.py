"""Studies: asking, telling, leases, keys, corrections, answers; on SQLite and PostgreSQL alike."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.formatting import format_times
from kernelbandits.storage import KINDS, Damaged
from kernelbandits.study.answers import Answers
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import CHANGES, State

SHORT = 0.2
"""Seconds of a lease that is to run out."""


@pytest.fixture
def films() -> pd.DataFrame:
    grid = np.array([(a, b) for a in range(5) for b in range(4)], float)
    return pd.DataFrame(
        {"Cs": grid[:, 0] / 4, "FA": grid[:, 1] / 3, "solvent": ["DMF", "DMSO"] * 10}
    )


def truth(films: pd.DataFrame, row: int) -> float:
    return float(
        0.5
        + 0.3 * films.Cs[row]
        - (films.FA[row] - 0.6) ** 2
        + 0.05 * (films.solvent[row] == "DMF")
    )


def play(study: kb.Study, films: pd.DataFrame, rounds: int, sign: float = 1.0) -> None:
    for _ in range(rounds):
        [one] = study.ask()
        study.tell(one.trial, sign * truth(films, one.row))


def test_ask_registers_a_pending_trial_and_tell_settles_it(where, films):
    study = kb.Study.create(where, films, target="stability")
    [one] = study.ask()
    assert (one.trial, study.status().pending, study.status().told) == (1, 1, 0)
    assert one.x == {
        "Cs": films.Cs[one.row],
        "FA": films.FA[one.row],
        "solvent": films.solvent[one.row],
    }
    told = study.tell(one.trial, 0.83)
    assert (told.trial, told.row, told.value, told.accepted) == (1, one.row, 0.83, True)
    assert (study.status().pending, study.status().told) == (0, 1)


def test_a_batch_has_distinct_rows_while_there_are_any(where, films):
    study = kb.Study.create(where, films)
    rows = [one.row for one in study.ask(20)]
    assert sorted(rows) == list(range(20))
    assert len(study.ask(3)) == 3


@pytest.mark.parametrize("policy", ["auto", "ucb1", "bpe", "r-gp-ucb", "dmm-ucb", "gp-ts"])
def test_two_askers_get_different_rows(tmp_path, films, policy):
    given: dict[str, Any] = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 50}
    names = kb.catalogue.policy_entry(policy).settings if policy != "auto" else ()
    settings = {name: given[name] for name in names if name in given}
    study = kb.Study.create(tmp_path / "a.db", films, policy=policy, settings=settings)
    play(study, films, 6)
    rows = [study.ask()[0].row for _ in range(5)]
    assert len(set(rows)) == 5


def test_the_second_tell_of_a_trial_is_refused_with_the_stored_value(where, films):
    study = kb.Study.create(where, films)
    other = kb.Study.open(where)
    [one] = study.ask()
    study.tell(one.trial, 0.25)
    with pytest.raises(
        kb.AlreadyTold, match=r"trial 1, which already has the result 0.25"
    ) as refused:
        other.tell(one.trial, 0.5)
    assert (refused.value.trial, refused.value.value) == (1, 0.25)
    assert other.status().told == 1


def test_the_same_key_again_is_a_success_counted_once(where, films):
    study = kb.Study.create(where, films)
    [one] = study.ask()
    first = study.tell(one.trial, 0.25, key="run-7")
    second = kb.Study.open(where).tell(one.trial, 0.25, key="run-7")
    assert first == second
    assert second.accepted
    assert study.status().told == 1
    unasked = [study.tell(row=4, value=0.1, key="row-4") for _ in range(3)]
    assert len(set(unasked)) == 1
    assert study.status().told == 2


def test_the_same_key_for_another_result_is_refused(where, films):
    study = kb.Study.create(where, films)
    study.tell(row=4, value=0.1, key="k")
    for wrong in ({"row": 4, "value": 0.2}, {"row": 5, "value": 0.1}, {"row": 4, "failed": True}):
        with pytest.raises(kb.StudyConflict, match="needs a new key for a new call"):
            study.tell(**wrong, key="k")
    assert study.status().told == 1


def test_a_row_that_nobody_asked_for_may_be_told_and_told_again(where, films):
    study = kb.Study.create(where, films)
    trials = [study.tell(row=7, value=value).trial for value in (0.1, 0.2, 0.3)]
    assert trials == [1, 2, 3]
    assert study.estimates().results[7] == 3
    assert study.estimates().average[7] == pytest.approx(0.2)
    assert study.ask()[0].trial == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"trial": 1, "value": float("nan")},
        {"trial": 1, "value": float("inf")},
        {"trial": 1, "value": "0.5"},
        {"trial": 1, "value": True},
        {"trial": 1, "value": 1 + 2j},
        {"trial": 1, "value": None},
        {"trial": 1, "value": 1e151},
        {"trial": 1, "value": 0.5, "failed": True},
        {"trial": 1, "row": 2, "value": 0.5},
        {"value": 0.5},
        {"trial": True, "value": 0.5},
        {"trial": 1.0, "value": 0.5},
        {"trial": 0, "value": 0.5},
        {"row": -1, "value": 0.5},
        {"row": 20, "value": 0.5},
        {"row": "30", "value": 0.5},
        {"trial": 1, "value": 0.5, "key": ""},
        {"trial": 1, "value": 0.5, "key": "a\nb"},
        {"trial": 1, "value": 0.5, "worker": 3},
    ],
    ids=str,
)
def test_a_bad_result_is_refused_in_one_sentence_and_changes_nothing(tmp_path, films, wrong):
    study = kb.Study.create(tmp_path / "a.db", films)
    study.ask()
    with pytest.raises(ValueError, match=r"^\S.* needs .*, got ") as error:
        study.tell(**wrong)
    assert "\n" not in str(error.value)
    assert (study.status().told, study.status().pending, len(study.history())) == (0, 1, 2)


def test_a_trial_that_there_is_not_is_refused(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    with pytest.raises(kb.StudyConflict, match="a trial that was asked for"):
        study.tell(3, 0.5)
    for call in (study.withdraw, study.release, study.replay):
        with pytest.raises(kb.StudyConflict, match="trial 3"):
            call(3)
    with pytest.raises(kb.StudyConflict, match="trial 3"):
        study.correct(3, 1.0)
    with pytest.raises(kb.StudyConflict, match="nothing is left to undo"):
        study.undo()
    assert len(study.history()) == 1


@pytest.mark.thorough
def test_a_lease_that_ran_out_is_written_and_its_row_is_offered_again_under_a_new_trial(
    where, films
):
    study = kb.Study.create(where, films, lease=SHORT)
    [one] = study.ask(worker="gone")
    time.sleep(2 * SHORT)
    [again] = study.ask(worker="here", lease=60.0)
    assert (again.trial, again.row, again.again) == (2, one.row, 1)
    assert [event.kind for event in study.history()] == ["created", "asked", "released", "asked"]
    late = study.tell(one.trial, 0.3)
    assert late.accepted
    study.tell(again.trial, 0.4)
    assert study.status().told == 2
    with pytest.raises(kb.AlreadyTold):
        study.tell(one.trial, 0.5)


@pytest.mark.thorough
def test_a_row_is_offered_three_times_to_askers_who_do_not_come_back_and_then_left_to_the_policy(
    tmp_path, films
):
    study = kb.Study.create(tmp_path / "a.db", films, lease=SHORT)
    offered = []
    for _ in range(4):
        offered.append(study.ask()[0])
        time.sleep(1.5 * SHORT)
    assert [one.again for one in offered] == [None, 1, 2, None]


def test_a_worker_that_comes_back_gets_its_pending_rows_back(where, films):
    study = kb.Study.create(where, films)
    mine = study.ask(2, worker="w1")
    study.ask(worker="w2")
    again = kb.Study.open(where).ask(3, worker="w1")
    assert [one.trial for one in again] == [mine[0].trial, mine[1].trial, 4]
    assert again[:2] == mine


@pytest.mark.thorough
def test_a_late_result_counts_once_under_its_own_trial(where, films):
    study = kb.Study.create(where, films, lease=SHORT)
    [one] = study.ask()
    time.sleep(2 * SHORT)
    assert study.status().waiting[0].overdue
    assert study.tell(one.trial, 0.3).trial == 1
    assert study.status().pending == 0


def test_a_released_row_is_free_again(where, films):
    study = kb.Study.create(where, films)
    rows = study.ask(20)
    study.release(rows[3].trial)
    assert study.ask()[0].row == rows[3].row
    with pytest.raises(kb.StudyConflict, match="pending"):
        study.release(rows[3].trial)


def test_a_corrected_study_is_the_study_in_which_the_value_was_right_at_once(
    where, films, tmp_path
):
    wrong, right = (
        kb.Study.create(where, films, seed=3),
        kb.Study.create(tmp_path / "right.db", films, seed=3),
    )
    for number in range(9):
        row = (7 * number) % 20
        wrong.tell(row=row, value=830.0 if number == 2 else truth(films, row))
        right.tell(row=row, value=truth(films, row))
    wrong.correct(3, truth(films, 14), reason="decimal point")
    assert wrong.estimates().equals(right.estimates())
    assert wrong.ask(2) != []
    kinds = [event.kind for event in wrong.history()]
    assert kinds.count("told") == 9
    assert kinds.count("corrected") == 1


def test_a_withdrawn_result_leaves_the_study_as_if_it_had_never_come(where, films, tmp_path):
    study, without = kb.Study.create(where, films), kb.Study.create(tmp_path / "without.db", films)
    for number in range(8):
        study.tell(row=number, value=truth(films, number))
        if number != 5:
            without.tell(row=number, value=truth(films, number))
    study.withdraw(6)
    assert study.estimates().equals(without.estimates())
    assert study.status().withdrawn == 1
    with pytest.raises(kb.StudyConflict, match="withdrawn"):
        study.tell(6, 0.1)


def test_undo_takes_back_one_thing_after_the_other(where, films):
    study = kb.Study.create(where, films)
    for row in range(6):
        study.tell(row=row, value=truth(films, row))
    before = study.estimates()
    [one] = study.ask()
    study.tell(one.trial, 99.0)
    study.correct(one.trial, 98.0)
    study.withdraw(one.trial)
    study.change(tolerance=0.1)
    kinds = [study.undo().body["kind"] for _ in range(4)]
    assert kinds == ["settings", "withdrawn", "corrected", "told"]
    assert study.status().pending == 1
    assert study.estimates().equals(before)
    assert study.undo().body["kind"] == "asked"
    assert study.status().pending == 0
    assert study.ask()[0].trial == one.trial + 1
    assert kb.Study.open(where).estimates().equals(before)


def test_a_told_trial_that_was_undone_may_be_told_again(where, films):
    study = kb.Study.create(where, films)
    [one] = study.ask()
    study.tell(one.trial, 0.1, key="k")
    study.undo()
    assert study.tell(one.trial, 0.2, key="k").value == 0.2


def test_failures_are_counted_and_no_values(where, films):
    study = kb.Study.create(where, films)
    [one] = study.ask()
    told = study.tell(one.trial, failed=True)
    assert (told.value, study.status().failed, study.status().told, study.best()) == (
        None,
        1,
        0,
        None,
    )
    with pytest.raises(kb.AlreadyTold, match="is already stored as failed"):
        study.tell(one.trial, 0.5)
    study.correct(one.trial, 0.4)
    assert (study.status().failed, study.status().told) == (0, 1)


@pytest.mark.parametrize("policy", ["auto", "adaptive-tree", "oful", "lin-ts", "greedy"])
def test_failures_before_any_value_do_not_stop_a_study(tmp_path, films, policy):
    given = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 50}
    names = kb.catalogue.policy_entry(policy).settings if policy != "auto" else ()
    kernel = kb.Linear() if policy in ("oful", "lin-ts") else None
    settings = {name: given[name] for name in names if name in given}
    study = kb.Study.create(
        tmp_path / "a.db", films, policy=policy, settings=settings, kernel=kernel
    )
    rows = []
    for _ in range(12):
        [one] = study.ask()
        rows.append(one.row)
        study.tell(one.trial, failed=True)
    assert len(set(rows)) >= 8


@pytest.mark.parametrize("policy", ["auto", "simple-ucb", "ucb1"])
def test_a_row_that_always_fails_does_not_stop_a_study(tmp_path, films, policy):
    settings = {} if policy == "auto" else {"noise_scale": 0.05, "norm_bound": 2.0}
    settings = {"noise_scale": 0.05} if policy == "ucb1" else settings
    study = kb.Study.create(tmp_path / "a.db", films, policy=policy, settings=settings)
    bad = int(np.argmax([truth(films, row) for row in range(20)]))
    rows = []
    for _ in range(40):
        [one] = study.ask()
        rows.append(one.row)
        told: dict[str, Any] = (
            {"failed": True} if one.row == bad else {"value": truth(films, one.row)}
        )
        study.tell(one.trial, **told)
    assert rows.count(bad) < 15


@pytest.mark.thorough
def test_the_likely_best_is_the_best_estimate_with_its_interval(where, films):
    study = kb.Study.create(where, films, target="stability")
    play(study, films, 25)
    best = study.best()
    values = [truth(films, row) for row in range(20)]
    assert best is not None
    assert best.row == int(np.argmax(values))
    assert best.low < values[best.row] < best.high
    assert best.probability > 0.5
    table = study.estimates()
    assert table["mean"].idxmax() == best.row
    assert (table.low <= table["mean"]).all()


@pytest.mark.thorough
def test_a_study_that_minimises_is_the_mirror_image(tmp_path, films):
    up, down = (
        kb.Study.create(tmp_path / f"{name}.db", films, direction=name, seed=2)
        for name in ("maximize", "minimize")
    )
    play(up, films, 12)
    play(down, films, 12, sign=-1.0)
    assert [e.row for e in up.history()] == [e.row for e in down.history()]
    one, other = up.best(), down.best()
    assert one is not None
    assert other is not None
    assert (other.row, -other.mean, -other.high, -other.low) == pytest.approx(
        (one.row, one.mean, one.low, one.high)
    )
    asked, mirrored = up.ask()[0].note, down.ask()[0].note
    assert mirrored["mean"] == pytest.approx(-asked["mean"])
    assert mirrored["sd"] == pytest.approx(asked["sd"])


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12])
def test_an_offset_of_all_results_changes_no_choice(tmp_path, films, offset):
    rows = []
    for name, shift in (("a", 0.0), ("b", offset)):
        study = kb.Study.create(
            tmp_path / f"{name}.db",
            films,
            policy="simple-ucb",
            settings={"noise_scale": 0.1, "norm_bound": 1.0},
        )
        for number in range(8):
            study.tell(row=2 * number, value=shift + round(truth(films, 2 * number) * 1024))
        rows.append([one.row for one in study.ask(5)])
    assert rows[0] == rows[1]


def test_centre_and_spread_are_stored_when_they_are_set_and_declared(where, films):
    study = kb.Study.create(where, films)
    for row, value in enumerate((3.0, 5.0, 4.0, 2.0, 6.0, 900.0)):
        study.tell(row=row, value=value)
    stored = [event.body for event in study.history() if event.kind == "settings"]
    assert (stored[-1]["centre"], stored[-1]["spread"]) == (4.0, pytest.approx(np.sqrt(2.0)))
    status = kb.Study.open(where).status()
    assert (status.centre, status.spread) == (4.0, stored[-1]["spread"])
    assert "first 5 results" in status.units


def test_constants_given_beforehand_stay(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, centre=10.0, spread=2.0)
    study.tell(row=0, value=3.0)
    assert not [event for event in study.history() if event.kind == "settings"]
    assert (study.status().centre, study.status().spread) == (10.0, 2.0)


def test_equal_results_have_the_spread_of_their_size(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    for row in range(8):
        study.tell(row=row, value=7.0)
    assert (study.status().centre, study.status().spread) == (7.0, 7.0)
    assert study.status().stop.kind == "none"
    assert np.isfinite(study.estimates()["mean"]).all()


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_the_first_result_that_differs_from_equal_ones_sets_the_spread(where, films, value):
    study = kb.Study.create(where, films)
    for row in range(6):
        study.tell(row=row, value=value)
    study.tell(row=6, value=value + 1000.0)
    after = [value] * 6 + [value + 1000.0]
    for reader in (study, kb.Study.open(where)):
        status = reader.status()
        assert status.centre == pytest.approx(np.mean(after))
        assert status.spread == pytest.approx(np.std(after))
        assert "mean and sd of the first 7 results" in status.units
    events = len(study.history())
    study.tell(row=7, value=value + 3000.0)
    assert len(study.history()) == events + 1, "later results leave the scale as it is"
    study.withdraw(7)
    assert (study.status().centre, study.status().spread) == pytest.approx(
        (np.mean([*after[:6], value + 3000.0]), np.std([*after[:6], value + 3000.0]))
    )


@pytest.mark.parametrize("value", [1e149, -1e149, 5e-324, -0.0, 1e-200])
def test_extreme_results_leave_a_finite_posterior(tmp_path, films, value):
    study = kb.Study.create(tmp_path / "a.db", films)
    for row in range(7):
        study.tell(row=row, value=value if row == 3 else truth(films, row))
    assert np.isfinite(study.estimates()[["mean", "sd"]].to_numpy()).all()
    assert len(study.ask(2)) == 2


def test_results_on_another_scale_than_the_first_ones_are_learnt_as_far_as_a_policy_can_bear(
    tmp_path, films
):
    for policy, settings in (("auto", {}), ("simple-ucb", {"noise_scale": 0.1, "norm_bound": 1.0})):
        study = kb.Study.create(tmp_path / f"{policy}.db", films, policy=policy, settings=settings)
        for row in range(5):
            study.tell(row=row, value=row * 1e-90)
        study.tell(row=6, value=1e149)
        assert np.isfinite(study.estimates()[["mean", "sd"]].to_numpy()).all()
        assert len(study.ask()) == 1


def test_the_probability_of_being_best_is_that_of_the_posterior(tmp_path, films, monkeypatch):
    # Without predictions no function is drawn as from a hat.
    monkeypatch.setattr(Answers, "left_out", None)
    study = kb.Study.create(tmp_path / "a.db", films, columns=["Cs", "FA"])
    rng = np.random.default_rng(5)
    for number in range(12):
        row = (7 * number) % 20
        study.tell(row=row, value=truth(films, row) + 0.1 * rng.normal())
    best, driver = study.best(), study._session.updated_driver()
    assert best is not None
    points, draws = driver.policy.domain.points, []
    posterior, units = driver.policy.answer_model()
    means, covariances = posterior.members_at(points)[0], posterior.member_covariances(points)
    for law in zip(means, covariances, strict=True):
        draws.append(rng.multivariate_normal(*law, 2500, method="svd"))
    draws = units.original(np.vstack(draws))
    share = (draws.argmax(1) == best.row).mean()
    assert 0.1 < share < 0.9
    error = np.sqrt(share * (1 - share) * (1 / 20_000 + 1 / 2000))
    assert best.probability == pytest.approx(share, abs=4 * error)
    # Leads of unmeasured rows over all that is known count a fifth, as far as the range.
    rows = np.array([(7 * number) % 20 for number in range(12)])
    mean, others = units.original(posterior.mean), np.setdiff1d(np.arange(20), rows)
    most = np.ptp(mean[rows])
    known = np.maximum(draws[:, rows].max(1, keepdims=True), mean[others])
    lead = most * np.tanh(0.2 * (draws[:, others] - known) / most)
    draws[:, others] = np.where(lead > 0, known + lead, draws[:, others])
    left = study.status().stop.left
    losses = draws.max(1) - draws[:, best.row]
    scale = study.status().spread
    assert left == pytest.approx(
        scale * losses.mean(), abs=4 * scale * losses.std() / np.sqrt(2000)
    )


def test_rows_that_are_not_allowed_are_never_suggested_nor_best(tmp_path, films):
    films["ok"] = films.Cs < 0.6
    for name, policy, settings in (("a", "auto", {}), ("b", "ucb1", {"noise_scale": 0.1})):
        study = kb.Study.create(
            tmp_path / f"{name}.db", films, allowed="ok", policy=policy, settings=settings
        )
        study.tell(row=19, value=5.0)
        play(study, films, 15)
        rows = {event.row for event in study.history() if event.kind == "asked"}
        assert all(films.ok[row] for row in rows)
        best = study.best()
        assert best is not None
        assert films.ok[best.row]


@pytest.mark.thorough
def test_without_repeats_every_row_is_suggested_once(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, repeats=False)
    play(study, films, 20)
    rows = [event.row for event in study.history() if event.kind == "asked"]
    assert sorted(rows) == list(range(20))
    with pytest.raises(kb.StudyConflict, match=r"got none \(repeats"):
        study.ask()


@pytest.mark.parametrize(
    "policy",
    ["ucb1", "bpe", "reds", "sup-kernel-ucb", "lin-ts", "cmm-ucb", "adaptive-tree", "gaussian-ts"],
)
def test_without_repeats_every_rule_suggests_each_row_once(tmp_path, films, policy):
    given = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 50}
    settings = {
        name: given[name] for name in kb.catalogue.policy_entry(policy).settings if name in given
    }
    kernel = kb.Linear() if policy == "lin-ts" else None
    study = kb.Study.create(
        tmp_path / "a.db", films, policy=policy, settings=settings, kernel=kernel, repeats=False
    )
    asked = study.ask(3)
    for _ in range(17):
        study.tell(asked[-1].trial, truth(films, asked[-1].row))
        asked += study.ask()
    assert sorted(one.row for one in asked) == list(range(20))
    assert study.replay(asked[-1].trial).same


@pytest.mark.thorough
def test_dear_rows_are_suggested_less_often(tmp_path, films):
    films["price"] = np.where(films.solvent == "DMF", 50.0, 1.0)
    spent = []
    for cost in (None, "price"):
        study = kb.Study.create(
            tmp_path / f"{cost}.db",
            films,
            cost=cost,
            columns=["Cs", "FA", "solvent"],
            target="stability",
            goal="earn",
            repeats=True,
        )
        play(study, films, 15)
        spent.append(sum(films.price[e.row] for e in study.history() if e.kind == "asked"))
    assert spent[1] < 0.5 * spent[0]


def test_cost_needs_a_policy_that_weighs_costs(tmp_path, films):
    films["price"] = 1.0 + films.Cs
    with pytest.raises(ValueError, match="needs a policy that weighs costs"):
        kb.Study.create(
            tmp_path / "a.db", films, cost="price", policy="ucb1", settings={"noise_scale": 0.1}
        )
    assert not (tmp_path / "a.db").exists()


def test_the_theory_says_when_to_stop_if_its_constants_were_given(tmp_path, films):
    study = kb.Study.create(
        tmp_path / "a.db", films, columns=["Cs", "FA"], policy="whitehouse-ucb", kernel=kb.RBF(1.0), centre=0.5,
        spread=0.2, tolerance=0.5, settings={"noise_scale": 0.01, "norm_bound": 18.0},
    )  # fmt: skip
    # The least norm of a function of Cs and FA with these values is 17.97.
    for number in range(60):
        study.tell(row=number % 20, value=truth(films, number % 20))
    stop = study.status().stop
    assert stop.kind == "theory"
    assert stop.may_stop
    assert "with probability at least 0.9 the best row is" in stop.sentence
    false = kb.Study.create(
        tmp_path / "c.db", films, columns=["Cs", "FA"], policy="whitehouse-ucb", kernel=kb.RBF(1.0), centre=0.5,
        spread=0.2, tolerance=0.5, settings={"noise_scale": 0.01, "norm_bound": 3.0},
    )  # fmt: skip
    for number in range(60):
        false.tell(row=number % 20, value=truth(films, number % 20))
    assert "the rewards contradict noise_scale 0.01 or norm_bound 3" in false.status().stop.sentence
    fitted = kb.Study.create(
        tmp_path / "b.db",
        films,
        policy="whitehouse-ucb",
        settings={"noise_scale": 0.01, "norm_bound": 3.0},
    )
    for row in range(5):
        fitted.tell(row=row, value=truth(films, row))
    assert fitted.status().stop.kind == "improvement"
    assert fitted.status().claim.startswith("No guarantee for this study")


@pytest.mark.thorough
def test_the_improvement_left_falls_and_decides_by_the_tolerance(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, tolerance=0.02)
    assert study.status().stop.may_stop is False
    lefts = []
    for _ in range(4):
        play(study, films, 8)
        lefts.append(study.status().stop.left)
    assert lefts[-1] < lefts[0]
    stop = study.status().stop
    assert stop.may_stop == (stop.probability >= 0.9)


def test_a_study_is_created_once_and_opened_again_only_if_it_is_the_same(where, films):
    kb.Study.create(where, films, seed=4)
    with pytest.raises(kb.StudyConflict):
        kb.Study.create(where, films, seed=4)
    same = kb.Study.create(where, films, seed=4, or_open=True)
    same.tell(row=0, value=1.0)
    for other in ({"seed": 5}, {"seed": 4, "policy": "random"}, {"seed": 4, "columns": ["Cs"]}):
        with pytest.raises(kb.StudyConflict, match="got one with another"):
            kb.Study.create(where, films, or_open=True, **other)
    assert kb.Study.open(where).status().told == 1


@pytest.mark.thorough
def test_settings_may_be_changed_and_the_past_stays_explained_by_the_old_ones(where, films):
    study = kb.Study.create(where, films)
    play(study, films, 6)
    study.change(
        policy="simple-bernoulli", settings={"noise_scale": 0.1, "norm_bound": 1.0, "p": 0.25}
    )
    play(study, films, 3)
    again = kb.Study.open(where)
    assert again.settings["policy"] == "simple-bernoulli"
    assert all(again.replay(trial).same for trial in range(1, 10))
    for wrong in (
        {"target": "x"},
        {"policy": "nobody"},
        {"nonsense": 1},
        {"lease": -1.0},
        {"seed": -1},
    ):
        with pytest.raises(ValueError, match=r"needs|No policy is called 'nobody'"):
            study.change(**wrong)
    assert again.settings == kb.Study.open(where).settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"policy": "nobody"},
        {"policy": "simple-ucb"},
        {"policy": "auto", "kernel": kb.RBF(0.2)},
        {"policy": "auto", "settings": {"nonsense": 1}},
        {"settings": {"exploration": lambda t: kb.PointMass(1.0)}},
        {"kernel": 0.2, "policy": "random"},
        {"direction": "upwards"},
        {"lease": 0.0},
        {"lease": float("inf")},
        {"delta": 1.0},
        {"seed": 1.5},
        {"centre": 1.0},
        {"centre": 0.0, "spread": 0.0},
        {"tolerance": -1.0},
        {"repeats": 1},
        {"target": " "},
        {"nonsense": 3},
        {"columns": ["Xx"]},
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, films, wrong):
    with pytest.raises(ValueError, match=r" needs .*got|No policy is called 'nobody'"):
        kb.Study.create(tmp_path / "a.db", films, **wrong)
    assert not (tmp_path / "a.db").exists()


def test_a_law_without_optimism_is_recorded_and_shown(tmp_path, films):
    settings = {"noise_scale": 0.1, "norm_bound": 1.0, "p": 0.0}
    with pytest.warns(UserWarning, match="optimism condition"):
        kb.Study.create(tmp_path / "a.db", films, policy="simple-bernoulli", settings=settings)
    assert any(
        "optimism condition" in notice
        for notice in kb.Study.open(tmp_path / "a.db").status().notices
    )


def test_a_value_far_from_all_others_is_pointed_out(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    play(study, films, 10)
    with pytest.warns(kb.DataNotice, match="830 is far from what the other results"):
        study.tell(row=0, value=830.0)


def test_of_the_first_results_only_a_monster_is_pointed_out(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        for row, value in enumerate((1.0, 1.1, 1.2, 1.3, 5.0)):
            study.tell(row=row, value=value)
    with pytest.warns(kb.DataNotice, match="far from the other results"):
        study.tell(row=5, value=1e9)


def test_more_rows_than_are_left_are_refused_with_their_number(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films.head(4), repeats=False)
    with pytest.raises(
        kb.StudyConflict,
        match=r"ask needs 9 rows that have no result and are not pending, got 4 \(repeats are off",
    ):
        study.ask(9)
    assert len(study.ask(4)) == 4
    with pytest.raises(kb.StudyConflict, match=r"got none \(repeats"):
        study.ask()


@pytest.mark.thorough
def test_a_failure_changes_no_estimate(tmp_path, films):
    """Auto keeps away from what failed; what is reported is what the values say."""
    study = kb.Study.create(tmp_path / "a.db", films)
    play(study, films, 12)
    before, status = study.estimates(), study.status()
    row = int(before[before.results == 0]["mean"].idxmax())
    study.tell(row=row, failed=True)
    after = study.estimates()
    for name in ("mean", "sd", "low", "high"):
        np.testing.assert_allclose(after[name], before[name], rtol=1e-9)
    assert study.best().row == status.best.row
    assert study.best().probability == pytest.approx(status.best.probability, abs=1e-9)
    assert study.status().stop.left == pytest.approx(status.stop.left, rel=1e-6)
    assert (
        study._session.updated_driver().policy.estimates()[0][row]
        < after["mean"][row] - after["sd"][row]
    )
    assert f"{len(films)} candidates, 12 results" in repr(study)


def test_a_table_of_results_is_told_all_or_nothing_and_twice_counts_once(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, target="stability")
    [one] = study.ask()
    file = tmp_path / "results.csv"
    file.write_text(f"trial,row,stability\n{one.trial},,0.5\n,3,0.25\n,3,0.25\n")
    assert [told.accepted for told in study.tell_all(file)] == [True, True, True]
    assert [told.accepted for told in study.tell_all(file)] == [False, False, False]
    with file.open("a") as more:
        more.write(",4,0.75\n")
    assert [told.accepted for told in study.tell_all(file)] == [False, False, False, True]
    assert study.status().told == 4
    file.write_text("row,stability\n5,0.1\n6,zero\n")
    with pytest.raises(ValueError, match="line 3"):
        study.tell_all(file)
    file.write_text(f"trial,stability\n{one.trial},0.9\n")
    with pytest.raises(kb.AlreadyTold, match=r"trial 1 \(results.csv, line 2\)"):
        study.tell_all(file)
    assert study.status().told == 4


def test_a_line_whose_trial_and_row_contradict_each_other_is_refused(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, target="stability")
    [one] = study.ask()
    other = (one.row + 1) % 20
    file = tmp_path / "results.csv"
    for line in (
        f"trial,row,stability\n{one.trial},{other},0.5\n",
        lines_of(films, one.trial, other),
    ):
        file.write_text(line)
        with pytest.raises(
            kb.StudyConflict,
            match=rf"row {one.row} for trial 1, got row {other} \(results.csv, line 2\)",
        ):
            study.tell_all(file)
    assert study.status().told == 0
    file.write_text(lines_of(films, one.trial, one.row))
    assert study.tell_all(file)[0].accepted


def lines_of(films: pd.DataFrame, trial: int, row: int) -> str:
    return f"trial,Cs,FA,solvent,stability\n{trial},{films.Cs[row]},{films.FA[row]},{films.solvent[row]},0.5\n"


def test_dataframes_come_in_and_go_out(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, target="stability")
    told = study.tell_all(pd.DataFrame({"row": [0, 1, 2], "stability": [0.1, 0.2, 0.3]}))
    assert all(one.accepted for one in told)
    study.ask(2)
    frame = study.to_dataframe()
    assert list(frame.columns[:5]) == ["trial", "row", "Cs", "FA", "solvent"]
    assert frame.state.tolist() == ["told"] * 3 + ["pending"] * 2
    assert frame.value.tolist()[:3] == [0.1, 0.2, 0.3]
    study.export(tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 5


def test_what_the_table_calls_a_row_goes_with_it(tmp_path, films):
    films.insert(0, "sample", [f"P{number:02d}" for number in range(20)])
    study = kb.Study.create(tmp_path / "a.db", films, columns=["Cs", "FA"], target="stability")
    [one] = study.ask()
    assert one.label == {"sample": films["sample"][one.row]}
    study.tell(one.trial, 0.4)
    best = study.best()
    assert best is not None
    assert best.label == one.label
    frame = study.to_dataframe()
    assert list(frame.columns[:5]) == ["trial", "row", "sample", "Cs", "FA"]
    assert frame["sample"].tolist() == [films["sample"][one.row]]
    study.export(tmp_path / "out.csv")
    assert [told.accepted for told in study.tell_all(tmp_path / "out.csv")] == [False]


def test_explain_says_mean_sd_weight_width_and_the_greedy_alternative(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, settings={"width": "practical"})
    play(study, films, 8)
    [one] = study.ask()
    why = study.explain(one.trial)
    assert (why.row, why.mean, why.sd) == pytest.approx((one.row, one.note["mean"], one.note["sd"]))
    assert why.index == pytest.approx(why.mean + why.weight * why.width * why.sd)
    assert why.bonus == pytest.approx(why.weight * why.width * why.sd)
    assert why.greedy == one.greedy
    study.tell(one.trial, 9.0)
    assert study.explain(one.trial) == why


@pytest.mark.parametrize("rows", [1, 2])
def test_one_candidate_and_two_equal_ones_work(tmp_path, rows):
    study = kb.Study.create(tmp_path / "a.db", np.full((rows, 2), 0.5))
    for _ in range(4):
        [one] = study.ask()
        study.tell(one.trial, 1.0)
    best = study.best()
    assert best is not None
    assert best.row == 0


@pytest.mark.thorough
def test_many_pending_asks_are_all_different_trials(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    asked = [one for _ in range(10) for one in study.ask(10)]
    assert [one.trial for one in asked] == list(range(1, 101))
    assert set(np.bincount([one.row for one in asked], minlength=20)) != {0}
    for one in reversed(asked):
        study.tell(one.trial, truth(films, one.row))
    assert study.status().told == 100


def test_events_that_do_not_fit_together_are_damage(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    study.tell(row=1, value=0.5)
    study.correct(1, 0.6)
    events = study.history()
    with pytest.raises(Damaged, match="events that fit together"):
        State.of([events[0], events[-2]])


def test_ask_is_refused_in_a_sentence(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    for wrong in (
        {"n": 0},
        {"n": 1.5},
        {"n": "2"},
        {"worker": ""},
        {"lease": -1.0},
        {"lease": float("nan")},
    ):
        with pytest.raises(ValueError, match=" needs "):
            study.ask(**wrong)
    assert len(study.history()) == 1


def test_a_study_opened_for_reading_writes_nothing(tmp_path, films):
    kb.Study.create(tmp_path / "a.db", films).ask()
    study = kb.Study.open(tmp_path / "a.db", writable=False)
    assert study.status().pending == 1
    with pytest.raises(kb.storage.StorageError):
        study.ask()


def test_the_doctor_finds_a_sound_study_sound(where, films):
    study = kb.Study.create(where, films)
    play(study, films, 7)
    study.correct(2, 0.4)
    study.undo()
    found = {finding.what: finding for finding in study.doctor()}
    assert {"state", "replay", "posterior"} <= set(found)
    assert all(
        finding.ok for finding in found.values() if finding.what in ("state", "replay", "posterior")
    )


def test_the_doctor_sees_a_state_and_a_posterior_that_went_wrong(tmp_path, films):
    study = kb.Study.create(
        tmp_path / "a.db",
        films,
        policy="simple-ucb",
        settings={"noise_scale": 0.1, "norm_bound": 1.0},
    )
    play(study, films, 12)
    study._session.updated_driver().policy.posterior.cov[3, 3] += 1e-3
    wrong = {finding.what for finding in study.doctor() if not finding.ok}
    assert "posterior" in wrong
    study._session.updated_driver().policy.posterior.mean[2] += 1e-9
    study._session.state.results[4].value += 1.0
    wrong = {finding.what for finding in study.doctor() if not finding.ok}
    assert {"state", "replay"} <= wrong


def test_the_theory_is_silent_when_what_it_takes_as_given_was_changed(tmp_path, films):
    given = {"noise_scale": 0.01, "norm_bound": 3.0}
    study = kb.Study.create(
        tmp_path / "a.db",
        films,
        policy="simple-ucb",
        settings=given,
        centre=0.5,
        spread=0.2,
        columns=["Cs", "FA"],
    )
    for row in range(6):
        study.tell(row=row, value=truth(films, row))
    assert study.status().stop.kind == "theory"
    study.change(tolerance=0.1, lease=60.0)
    assert study.status().stop.kind == "theory"
    for meddle in (
        lambda: study.tell(row=7, failed=True),
        lambda: study.withdraw(2),
        lambda: study.correct(3, 0.1),
        lambda: study.change(settings=given | {"norm_bound": 1.0}),
        lambda: study.change(delta=0.2),
    ):
        meddle()
        assert study.status().stop.kind == "improvement"
        assert "No guarantee for this study" in study.status().claim
        study.undo()
        assert study.status().stop.kind == "theory"
    study.undo()
    study.undo()
    assert "taken back" in study.status().claim
    assert kb.Study.open(tmp_path / "a.db").status().stop.kind == "improvement"


def test_constants_chosen_by_results_that_were_undone_are_not_given_beforehand(tmp_path, films):
    given = {"noise_scale": 0.01, "norm_bound": 3.0}
    study = kb.Study.create(
        tmp_path / "a.db", films, policy="simple-ucb", settings=given, centre=0.5, spread=0.2
    )
    study.tell(row=0, value=0.3)
    study.undo()
    study.change(settings={"norm_bound": 0.1})
    study.tell(row=1, value=0.3)
    assert "settings were changed after the first result" in study.status().claim


@pytest.mark.thorough
def test_the_interval_is_at_the_noise_that_was_stated_and_not_at_the_ridge(tmp_path):
    """f from the prior, results with R = 3 at ridge 1: 95 % of the intervals cover f, within four standard errors."""
    points = np.linspace(0, 1, 12)[:, None]
    rng = np.random.default_rng(0)
    covariance = kb.RBF(0.2)(points, points) + 1e-9 * np.eye(12)
    covered, runs = 0, 40
    for run in range(runs):
        f = rng.multivariate_normal(np.zeros(12), covariance)
        settings = {"noise_scale": 3.0, "norm_bound": 2.0}
        study = kb.Study.create(
            tmp_path / f"{run}.db",
            points,
            policy="whitehouse-ucb",
            settings=settings,
            centre=0.0,
            spread=1.0,
        )
        study.tell_all(
            [{"row": i % 12, "value": float(f[i % 12] + 3 * rng.normal())} for i in range(36)]
        )
        table = study.estimates()
        covered += int(((table.low < f) & (f < table.high)).to_numpy()[[0, 6]].sum())
    assert covered / (2 * runs) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)


def test_what_was_noted_with_an_ask_stays_in_the_units_of_then(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    play(study, films, 6)
    seen = {one.trial: one.note for one in study.ask(2)}
    study.correct(1, 1000.0)
    frame = study.to_dataframe().set_index("trial")
    for trial, note in seen.items():
        assert (frame["mean"][trial], frame["sd"][trial]) == (note["mean"], note["sd"])
        why = study.explain(trial)
        assert why.mean == pytest.approx(note["mean"])


def test_a_study_of_which_any_one_event_was_lost_goes_on(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, lease=SHORT)
    play(study, films, 3)
    study.ask(2, worker="gone")
    time.sleep(1.5 * SHORT)
    [again] = study.ask(lease=60.0)
    study.tell(again.trial, 0.3)
    study.correct(again.trial, 0.4)
    study.undo()
    study.withdraw(2)
    study.tell(row=5, failed=True)
    study.undo()
    study.tell(row=5, value=0.7)
    study.release(study.ask()[0].trial)
    study.change(tolerance=0.5)
    events = study.history()
    assert {event.kind for event in events} == set(KINDS) - {"noted", "missing", *CHANGES}
    for lost in events[1:]:
        remark = replace(
            lost,
            kind="noted",
            trial=None,
            row=None,
            value=None,
            key=None,
            worker=None,
            body={"lost": lost.seq},
        )
        state = State.of([remark if event is lost else event for event in events])
        driver = Driver(study.candidates, state.settings)
        driver.follow(state)
        assert len(state.results) == len({trial.number for trial in state.results})
        assert sum(state.counts.values()) == sum(trial.value is not None for trial in state.results)
        driver.choose(state.last_trial + 1, list(state.pending.values()), state)


def test_few_results_are_too_few_to_stop_whatever_the_tolerance(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, tolerance=5.0)
    for number in range(4):
        study.tell(row=3, value=612.0 + number)
        status = study.status()
        assert (status.stop.may_stop, status.stop.kind) == (False, "none")
    best = kb.Study.open(tmp_path / "a.db").best()
    assert best is not None
    assert best.row == 3
    study.tell(row=3, value=610.0)
    assert study.status().stop.kind == "improvement"


def test_of_equal_estimates_the_measured_row_is_called_best(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    study.tell(row=13, value=612.0)
    best = study.best()
    assert best is not None
    assert (best.row, best.results) == (13, 1)
    assert best.low < 500


def test_a_result_told_by_its_row_settles_the_pending_trial_that_no_worker_holds(where, films):
    study = kb.Study.create(where, films, target="stability")
    mine, theirs = study.ask()[0], study.ask(worker="w")[0]
    assert study.tell(row=mine.row, value=0.4).trial == mine.trial
    unasked = study.tell(row=theirs.row, value=0.5)
    assert unasked.trial == theirs.trial + 1
    assert study.tell(row=mine.row, value=0.6).trial == unasked.trial + 1
    assert study.tell(theirs.trial, 0.7).accepted
    [late] = study.ask()
    told = study.tell_all([{**late.x, "stability": 0.3}, {**late.x, "stability": 0.2}])
    assert [one.trial for one in told] == [late.trial, late.trial + 1]
    assert study.status().pending == 0


def test_rows_of_the_same_candidate_count_as_one(tmp_path):
    table = pd.DataFrame({"a": [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]})
    study = kb.Study.create(tmp_path / "a.db", table)
    assert len({one.x["a"] for one in study.ask(3)}) == 3
    once = kb.Study.create(tmp_path / "b.db", table, repeats=False)
    for row in (1, 3):
        once.tell(row=row, value=float(row))
    assert once.ask()[0].x["a"] == 1.0
    with pytest.raises(kb.StudyConflict, match=r"got none \(repeats"):
        once.ask()
    status = once.status()
    assert (status.measured, status.different, status.rows) == (2, 3, 6)
    best = once.best()
    assert best is not None
    assert (best.row, best.results) == (3, 1)


def test_a_policy_may_be_spelled_with_its_settings_and_keeps_those_it_shares(tmp_path, films):
    study = kb.Study.create(
        tmp_path / "a.db", films, policy="simple-bernoulli:p=0.25,noise_scale=0.1,norm_bound=2"
    )
    assert study.settings["settings"] == {"p": 0.25, "noise_scale": 0.1, "norm_bound": 2}
    study.change(settings={"p": 0.5})
    assert study.settings["settings"] == {"p": 0.5, "noise_scale": 0.1, "norm_bound": 2}
    study.change(policy="whitehouse-ucb")
    assert study.settings["settings"] == {"noise_scale": 0.1, "norm_bound": 2}
    study.change(policy="auto:width=theory")
    assert study.settings["settings"] == {"width": "theory"}
    assert study.settings["kernel"] is None


def test_the_regret_of_the_theorem_is_not_claimed_when_others_had_a_say(tmp_path, films):
    films["price"] = 1.0 + films.Cs
    given = {
        "policy": "simple-ucb",
        "centre": 0.5,
        "spread": 0.2,
        "settings": {"noise_scale": 0.1, "norm_bound": 2.0},
    }
    for name, more in (("plain", {}), ("cost", {"cost": "price"}), ("once", {"repeats": False})):
        study = kb.Study.create(
            tmp_path / f"{name}.db", films, columns=["Cs", "FA"], **given, **more
        )
        play(study, films, 3)
        assert study.status().claim.startswith("No guarantee for this study") == (name != "plain")
    study = kb.Study.open(tmp_path / "plain.db")
    study.ask(2)
    assert "while others were pending" in study.status().claim
    other = kb.Study.create(tmp_path / "other.db", films, columns=["Cs", "FA"], **given)
    other.tell(row=3, value=0.4)
    assert "nobody asked for" in other.status().claim


def test_a_trial_may_be_corrected_to_a_failure(where, films):
    study = kb.Study.create(where, films)
    study.tell(row=3, value=0.4)
    study.correct(1, failed=True)
    assert (study.status().told, study.status().failed, study.best()) == (0, 1, None)
    study.undo()
    assert study.status().told == 1


def test_why_speaks_of_costs_where_they_decide(tmp_path, films):
    films["price"] = np.where(films.Cs > 0.4, 9.0, 1.0)
    study = kb.Study.create(
        tmp_path / "a.db", films, cost="price", columns=["Cs", "FA"], goal="earn"
    )
    play(study, films, 8)
    [one] = study.ask()
    assert f"at cost {one.note['cost']:.3g}: no other row gains more for its cost" in one.why


def test_twins_share_the_chance_of_their_candidate(tmp_path):
    chances = []
    for name, copies in (("one", 1), ("two", 2)):
        study = kb.Study.create(
            tmp_path / f"{name}.db", np.repeat(np.linspace(0, 1, 6), copies)[:, None]
        )
        for number in range(12):
            study.tell(
                row=copies * (number % 6), value=-((number % 6 - 3) ** 2) + 0.1 * np.cos(number)
            )
        best = study.best()
        assert best is not None
        chances.append((best.row // copies, best.probability))
    assert chances[0][0] == chances[1][0]
    assert chances[1][1] == pytest.approx(chances[0][1], abs=0.06)


@pytest.mark.thorough
def test_a_row_offered_again_keeps_the_numbers_it_was_first_offered_with(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, lease=SHORT)
    for row in range(2):
        study.tell(row=row, value=1000.0 + row)
    [one] = study.ask()
    for row in range(2, 6):
        study.tell(row=row, value=5000.0 * row)
    time.sleep(1.5 * SHORT)
    [again] = study.ask(lease=60.0)
    assert again.again == one.trial
    assert again.note == one.note


def test_a_changed_lease_counts_from_the_next_ask_of_anybody(where, films):
    study, other = kb.Study.create(where, films), kb.Study.open(where)
    study.change(lease=60.0)
    [one] = other.ask()
    assert one.until - other.history()[-1].at == 60.0


@pytest.mark.thorough
def test_a_child_process_goes_on_while_threads_of_its_parent_are_at_work(where, films):
    study = kb.Study.create(where, films)
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            [one] = study.ask()
            study.tell(one.trial, 0.5)

    thread = threading.Thread(target=busy)
    thread.start()
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            study.tell(row=3, value=0.25)
            os._exit(0)
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    done.set()
    thread.join()
    assert codes == [0] * 6
    assert (study.to_dataframe().value == 0.25).sum() == 6
    assert all(finding.ok for finding in study.doctor() if finding.what in ("state", "replay"))


@pytest.mark.thorough
def test_threads_that_share_a_study_get_whole_answers(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films)
    wrong: list[str] = []

    def work(number: int) -> None:
        for _ in range(6):
            [one] = study.ask()
            study.tell(one.trial, truth(films, one.row))
            wrong.extend(
                f.sentence for f in study.doctor() if f.what in ("state", "replay") and not f.ok
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert study.status().told == 24


def test_undo_with_given_constants_rebuilds_the_posterior(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, centre=0.0, spread=1.0)
    for row in range(5):
        study.tell(row=row, value=truth(films, row))
    study.estimates()
    study.undo()
    assert study.estimates().equals(kb.Study.open(tmp_path / "a.db").estimates())


def test_a_fold_that_is_interrupted_is_made_anew(tmp_path, films, monkeypatch):
    study, other = kb.Study.create(tmp_path / "a.db", films), kb.Study.open(tmp_path / "a.db")
    for row in range(4):
        study.tell(row=row, value=truth(films, row))
    told, calls = State._apply_told, []

    def interrupted(state: State, event: Any) -> None:
        calls.append(event)
        if len(calls) == 3:
            raise KeyboardInterrupt
        told(state, event)

    monkeypatch.setattr(State, "_apply_told", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.status()
    monkeypatch.undo()
    assert other.estimates().equals(study.estimates())
    assert other.status().told == 4


def rows_asked(study: kb.Study) -> list[int]:
    return [event.row or 0 for event in study.history() if event.kind == "asked"]


@pytest.mark.thorough
def test_auto_measures_no_row_again_while_one_has_no_result(where, films):
    """Then it goes on with repeats; rows of the same candidate are one, and forbidden rows none."""
    twice = pd.concat([films, films.head(3)], ignore_index=True)
    twice["ok"] = ["no" if row == 7 else "yes" for row in range(23)]
    given = {"columns": ["Cs", "FA", "solvent"], "allowed": "ok", "goal": "earn"}
    study = kb.Study.create(where, twice, **given)
    assert study.settings["repeats"] is None
    for size in (1, 1, 1, 1, 5, 1, 3, 1, 1, 3, 1):
        for one in study.ask(size):
            study.tell(one.trial, truth(twice, one.row))
    rows = rows_asked(study)
    assert sorted(row % 20 for row in rows) == [row for row in range(20) if row != 7]
    assert study.status().repeats == "only when every allowed row has a result or is pending"
    more = [one.row % 20 for one in study.ask(4)]
    assert len(set(more)) == 4
    assert 7 not in more


def test_a_batch_beyond_the_rows_without_a_result_goes_on_with_repeats(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films.head(6))
    play(study, films, 4)
    rows = [one.row for one in study.ask(5)]
    assert set(rows[:2]) == {*range(6)} - {*rows_asked(study)[:4]}
    assert len(set(rows)) == 5


@pytest.mark.thorough
def test_a_row_that_failed_is_not_asked_for_while_untried_rows_are_left(tmp_path, films):
    study = kb.Study.create(tmp_path / "a.db", films, goal="earn")
    rows = []
    for step in range(20):
        [one] = study.ask()
        rows.append(one.row)
        failed = step in (6, 9)
        told = {"failed": True} if failed else {"value": truth(films, one.row)}
        study.tell(one.trial, **told)
    assert sorted(rows) == [*range(20)]
    assert study.ask()[0].row in range(20)


@pytest.mark.thorough
def test_repeats_may_be_wanted_or_forbidden(tmp_path, films):
    wanted = kb.Study.create(tmp_path / "a.db", films, repeats=True, goal="earn")
    play(wanted, films, 20)
    assert len(set(rows_asked(wanted))) < 20
    assert wanted.status().repeats == "whenever the policy chooses a row again"
    wanted.change(repeats=None)
    assert wanted.settings["repeats"] is None
    measured = {*rows_asked(wanted)}
    assert wanted.ask()[0].row not in measured
    forbidden = kb.Study.create(tmp_path / "b.db", films.head(3), repeats=False)
    play(forbidden, films, 3)
    assert forbidden.status().repeats == "never: a row that has a result is not suggested again"
    with pytest.raises(kb.StudyConflict, match=r"got none \(repeats"):
        forbidden.ask()
    with pytest.raises(ValueError, match="needs repeats true, false or None"):
        kb.Study.create(tmp_path / "c.db", films, repeats="yes")


def test_a_named_policy_repeats_rows_unless_it_is_forbidden(tmp_path, films):
    given: dict[str, Any] = {
        "policy": "simple-ucb",
        "kernel": kb.RBF(0.5),
        "settings": {"noise_scale": 0.1, "norm_bound": 1.0},
    }
    rows = []
    for name, repeats in (("a", None), ("b", True)):
        study = kb.Study.create(tmp_path / f"{name}.db", films, repeats=repeats, **given)
        play(study, films, 19)
        rows.append(rows_asked(study))
        assert study.status().repeats == "whenever the policy chooses a row again"
        assert "rows are not repeated" not in study.status().claim
    assert rows[0] == rows[1]
    assert len(set(rows[0])) < 19


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_row_recommended_was_measured_and_a_better_estimate_is_named(where, direction):
    """Values that rise along a line: the best estimate lies beyond the last row measured."""
    sign = 1.0 if direction == "maximize" else -1.0
    study = kb.Study.create(
        where,
        np.linspace(0, 1, 11)[:, None],
        direction=direction,
        policy="simple-ucb",
        kernel=kb.RBF(1.0),
        settings={"noise_scale": 0.01, "norm_bound": 2.0},
        tolerance=0.05,
    )
    assert study.best() is None
    for row in range(6):
        study.tell(row=row, value=sign * row / 10)
    best, table = study.best(), study.estimates()
    assert best is not None
    assert best.untested is not None
    assert (best.row, best.results) == (5, 1)
    top = int((sign * table["mean"]).idxmax())
    assert top > 5
    untested = best.untested
    assert (untested.row, untested.mean) == (top, pytest.approx(table["mean"][top]))
    assert (untested.low, untested.high) == pytest.approx((table.low[top], table.high[top]))
    above = "higher" if sign > 0 else "lower"
    assert untested.sentence == f"Row {top} has a {above} estimate but was never measured."
    status = study.status()
    assert status.best == best
    assert "row 5 is within the tolerance of 0.05 of the best row" in status.stop.sentence
    assert status.stop.left is not None
    # In a few of the functions drawn, unmeasured rows are as drawn from a hat.
    assert status.stop.left >= 0.9 * sign * (untested.mean - best.mean)
    assert best.probability < 0.5
    study.tell(row=top, value=sign * top / 10)
    found = study.best()
    assert found is not None
    assert (found.row, found.untested) == (top, None)


def test_the_row_recommended_is_allowed_and_a_copy_of_a_measured_row_counts_as_measured(tmp_path):
    table = pd.DataFrame({"x": [0.0, 0.5, 1.0, 0.5], "ok": ["yes", "no", "yes", "yes"]})
    study = kb.Study.create(tmp_path / "a.db", table, columns=["x"], allowed="ok")
    study.tell(row=1, value=2.0)
    best = study.best()
    assert best is not None
    assert (best.row, best.results, best.untested) == (3, 1, None)
    other = kb.Study.create(tmp_path / "b.db", table.head(3), columns=["x"], allowed="ok")
    other.tell(row=1, value=2.0)
    assert other.best() is None
    assert other.status().stop.sentence == "No: no allowed row has a result yet."


def test_the_probability_of_the_row_recommended_is_its_own(tmp_path):
    """By draws of the posterior at the noise: how often is that row the best?"""
    study = kb.Study.create(
        tmp_path / "a.db",
        np.linspace(0, 1, 11)[:, None],
        policy="simple-ucb",
        kernel=kb.RBF(0.5),
        settings={"noise_scale": 0.1, "norm_bound": 2.0},
        centre=0.0,
        spread=1.0,
    )
    for row in (0, 2, 4, 5):
        study.tell(row=row, value=row / 10)
    best = study.best()
    assert best is not None
    assert best.untested is not None
    points, rows = study.candidates.points, [0, 2, 4, 5]
    kernel = kb.RBF(0.5)
    gram = kernel(points[rows], points[rows]) + 0.01 * np.eye(4)
    cross = kernel(points, points[rows])
    mean = cross @ np.linalg.solve(gram, np.array(rows) / 10)
    covariance = kernel(points, points) - cross @ np.linalg.solve(gram, cross.T)
    draws = np.random.default_rng(1).multivariate_normal(mean, covariance, 20_000, method="eigh")
    share = float((draws.argmax(1) == best.row).mean())
    tolerance = 5 * np.sqrt(max(share, 0.01) / 2000)
    assert best.probability == pytest.approx(share, abs=tolerance)


@pytest.mark.parametrize(
    ("given", "stored"),
    [("min", "minimize"), ("minimise", "minimize"), ("max", "maximize"), ("maximise", "maximize")],
)
def test_a_direction_may_be_written_short_or_in_british_english(tmp_path, films, given, stored):
    with kb.Study.create(tmp_path / "a.db", films, direction=given) as study:
        assert study.direction == stored
        [target] = study.history()[0].body["settings"]["targets"]
        assert target.get("direction", "maximize") == stored
    with kb.Study.create(tmp_path / "a.db", films, direction=stored, or_open=True) as again:
        assert again.direction == stored


TWINS = [[0.1, 0.9], [0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]
"""Rows 0 and 2 are the same candidate."""


def ask_a_twin(study: kb.Study, worker: str | None = None) -> kb.study.Suggestion:
    """Ask until one of rows 0 and 2 is suggested; the others get a result."""
    while True:
        [one] = study.ask(worker=worker)
        if one.row in (0, 2):
            return one
        study.tell(one.trial, 0.5)


def test_the_result_of_a_row_names_the_pending_trial_of_the_same_candidate(tmp_path):
    study = kb.Study.create(tmp_path / "s.db", TWINS)
    asked = ask_a_twin(study)
    told = study.tell(row=2 - asked.row, value=0.7)
    assert (told.trial, told.settles, told.waiting) == (asked.trial, asked.trial, ())
    assert "was pending for this candidate; this is its result" in str(told)
    again = study.tell(row=2 - asked.row, value=0.7)
    assert (again.settles, again.waiting) == (None, ())
    assert str(again) == f"Trial {again.trial}, row {again.row} (x1 0.1, x2 0.9): 0.7 recorded."


def test_the_result_of_a_row_names_a_trial_that_a_worker_still_has(tmp_path):
    study = kb.Study.create(tmp_path / "s.db", TWINS)
    asked = ask_a_twin(study, worker="anna")
    told = study.tell(row=2 - asked.row, value=0.7)
    assert (told.trial, told.settles, told.waiting) == (asked.trial + 1, None, (asked.trial,))
    assert f"Trial {asked.trial} of the same candidate is still pending" in str(told)
    # Of a result that names its trial there is nothing to say.
    assert study.tell(asked.trial, 0.6).waiting == ()


def test_a_suggestion_says_how_often_its_candidate_was_measured_before(tmp_path):
    study = kb.Study.create(tmp_path / "s.db", TWINS, repeats=True, policy="random")
    counts: dict[bool, int] = {}
    for _ in range(12):
        [one] = study.ask()
        twin = one.row if one.row in (1, 3) else 0
        before = counts.get(twin, 0)
        if before:
            times = format_times(before)
            assert one.why.startswith(f"Row {one.row} was measured {times} before"), one.why
        else:
            assert "was measured" not in one.why
        assert study.explain(one.trial).sentence.startswith(one.why)
        study.tell(one.trial, 0.1 * one.row)
        counts[twin] = before + 1


@pytest.mark.thorough
def test_few_results_are_too_early_for_a_probability(tmp_path, films):
    study = kb.Study.create(tmp_path / "s.db", films, target="stability")
    for results in range(1, 6):
        play(study, films, 1)
        best = study.best()
        assert bool(best.early) == (results < 5)
        assert ("5 are needed to say which may be best" in str(best)) == (results < 5)
        assert ("the best with probability" in str(study.status())) == (results == 5)
        assert 0 <= best.probability <= 1


def test_a_prompt_shows_what_a_user_needs_in_at_most_three_lines(tmp_path, films):
    study = kb.Study.create(tmp_path / "s.db", films, target="stability")
    play(study, films, 6)
    [one] = study.ask()
    best, status, why = study.best(), study.status(), study.explain(one.trial)
    assert f"trial {one.trial}, row {one.row} (Cs " in repr(one)
    assert one.why in repr(one)
    assert f"row {best.row} (Cs " in repr(best)
    assert "the best with probability" in repr(best)
    assert "6 results, 1 pending" in repr(status)
    assert status.stop.sentence in repr(status)
    assert why.sentence in repr(why)
    for value in (one, best, status, why):
        assert repr(value) == f"<{type(value).__name__}: {value}>"
        assert len(repr(value).splitlines()) <= 3
        assert len(repr(value)) < 1000
