"""Random walks through a study: those who have it open know what one who opens it anew knows, to the last bit."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.checks import StudyConflict
from kernelbandits.policies import working_set
from kernelbandits.study import asks, checkup
from kernelbandits.study.calls import make_call
from kernelbandits.study.driver import Driver

WEIGHTS = {
    "ask": 6,
    "tell": 8,
    "tell_row": 4,
    "tell_many": 2,
    "tell_error": 1,
    "fail": 2,
    "miss": 1,
    "correct": 2,
    "withdraw": 2,
    "undo": 3,
    "release": 1,
    "add": 1,
    "forbid": 1,
    "allow": 1,
    "change": 1,
}


def make_table(draws: random.Random, n: int) -> pd.DataFrame:
    """Numbers and words; some rows are equal."""
    heat = [draws.choice([20.0, 40.0, 20.0 + 60.0 * draws.random()]) for _ in range(n)]
    return pd.DataFrame({"heat": heat, "acid": [draws.choice(["a", "b", "c"]) for _ in range(n)]})


def take_step(study: kb.Study, draws: random.Random) -> None:
    """One random call by somebody who may not have seen the last events."""
    state = study._session.state
    pending, results = [*state.pending], [trial.number for trial in state.results]
    row, value = draws.randrange(len(study.candidates)), round(draws.gauss(3, 2), 3)
    values = [round(draws.gauss(3, 2), 3) for _ in range(draws.choice([2, 12]))]
    changes: list[Any] = [{"seed": 3}, {"goal": "earn"}, {"goal": "find"}, {"noise": 0.2}]
    calls: dict[str, Any] = {
        "ask": lambda: study.ask(draws.choice([1, 3]), worker=draws.choice([None, "ann"])),
        "tell": lambda: pending and study.tell(draws.choice(pending), value),
        "tell_row": lambda: study.tell(row=row, value=value),
        "tell_many": lambda: study.tell(row=row, value=values),
        "tell_error": lambda: study.tell(row=row, value=value, sem=0.5),
        "fail": lambda: study.tell(row=row, failed=True),
        "miss": lambda: pending and study.tell(draws.choice(pending), missing=True),
        "correct": lambda: results and study.correct(draws.choice(results), value),
        "withdraw": lambda: results and study.withdraw(draws.choice(results)),
        "undo": lambda: study.undo_all(draws.choice([1, 1, 2])),
        "release": study.release_all,
        "add": lambda: study.add(make_table(draws, 2)),
        "forbid": lambda: study.forbid(row),
        "allow": lambda: study.allow(row),
        "change": lambda: study.change(**draws.choice(changes)),
    }
    [name] = draws.choices([*WEIGHTS], [*WEIGHTS.values()])
    calls[name]()


def describe(study: kb.Study, now: float) -> dict[str, Any]:
    """State, estimates, the likely best and the next two rows, in full precision."""
    session = study._session
    table = study.estimates()
    state, driver = session.state, session.updated_driver()
    plan = asks.plan_ask(
        state, driver, asks.Asker(2, None, None, make_call("ask", None), None), now
    )
    return {
        "state": repr(checkup.summarise_state(state)),
        "undoable": [event.seq for event in state.undoable()],
        "estimates": (repr(table.to_dict("list")), table.attrs),
        "best": repr(study.best()),
        "next": repr(plan.asks),
    }


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
@pytest.mark.parametrize(
    ("seed", "rows", "pool"),
    [
        (0, 6, None),
        pytest.param(1, 25, None, marks=pytest.mark.thorough),
        pytest.param(2, 120, 60, marks=pytest.mark.thorough),
    ],
)
def test_two_who_share_a_study_know_what_its_events_say(tmp_path, monkeypatch, seed, rows, pool):
    if pool is not None:
        monkeypatch.setattr(working_set, "LARGEST_POOL", pool)
        monkeypatch.setattr(working_set, "LARGEST_SET", pool // 2)
        monkeypatch.setattr(working_set, "SAMPLE", pool)
    draws, where = random.Random(seed), tmp_path / "a.db"
    first = kb.Study.create(where, make_table(draws, rows), target="yield", seed=seed)
    both = [first, kb.Study.open(where)]
    for step in range(48):
        # What does not fit the state of now is refused, and changes nothing either.
        with suppress(StudyConflict, ValueError):
            take_step(draws.choice(both), draws)
        if step % 6 == 5:
            with kb.Study.open(where) as fresh:
                now = fresh._session.refresh()
                expected = describe(fresh, now)
            for one in both:
                assert describe(one, now) == expected, step
    assert all(finding.ok for finding in first.doctor())
    asked = [trial.number for trial in first._session.state.trials.values() if trial.asked]
    assert all(first.replay(trial).same for trial in np.array(asked)[::4].tolist())


def test_fits_that_were_read_before_an_interrupt_do_not_outlive_a_correction(tmp_path, monkeypatch):
    """The fit is void then, and the policy that was to learn by it has learnt nothing."""
    where = tmp_path / "a.db"
    points = np.linspace(0, 1, 12)[:, None]
    # With units of its own a correction would change these, and the policy be built again.
    writer = kb.Study.create(where, points, seed=1, centre=1.0, spread=1.0)
    for row in range(8):
        writer.tell(row=row, value=float(row % 3))
    writer.ask()
    assert writer._session.state.fits
    reader = kb.Study.open(where)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Driver, "_learn", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reader.best()
    writer.correct(1, 9.0)
    with kb.Study.open(where) as fresh:
        now = fresh._session.refresh()
        assert describe(reader, now) == describe(fresh, now)
