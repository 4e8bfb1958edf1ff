"""The harness of `python -m benchmarks durability` in its short form, and proof that its checker can fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.durability import (
    aims,
    cells,
    crowds,
    damage,
    kills,
    labs,
    looks,
    races,
    records,
    tasks,
)
from benchmarks.durability.bare import Bare
from benchmarks.durability.films import simplex
from benchmarks.durability.judge import Verdict, compared, waits
from benchmarks.durability.nursery import FAILED, ROOT, Nursery, until
from kernelbandits.domains import Arms
from kernelbandits.storage import log
from kernelbandits.storage.database import Transaction
from kernelbandits.study import Study

TABLE = simplex(20)
HERE = f"benchmarks.tests.{Path(__file__).stem}"
"""Where workers find the broken ones below."""
IMPORTED = (
    "benchmarks.durability.tasks",
    "scipy.optimize",
    "threadpoolctl",
    "psycopg",
    "kernelbandits.study.driver",
    "kernelbandits.study.explaining",
    "kernelbandits.study.points",
    "kernelbandits.study.summary",
    "kernelbandits.study.checkup",
)
"""Also what a study imports when first asked: else each worker spends most of its time on that."""


def silent(steps: int) -> None:
    """No progress to show."""


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery"), (*IMPORTED, HERE)) as one:
        yield one


# The nursery


def test_a_nursery_knows_how_its_workers_ended(nursery):
    assert nursery.wait(nursery.start("os:getpid")) == 0
    assert nursery.wait(nursery.start("sys:exit")) == FAILED
    failed = nursery.start("os:rmdir", path="/nowhere/at/all")
    assert nursery.wait(failed) == FAILED
    assert "No such file" in nursery.said(failed)
    waiting = nursery.start("signal:pause")
    assert nursery.ended(waiting) is None
    assert nursery.kill(waiting) == -9


def test_workers_end_with_their_nursery(tmp_path):
    with Nursery(tmp_path, ()) as nursery:
        pid = nursery.start("signal:pause")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


WAITING = """
import sys
from pathlib import Path
from benchmarks.durability.nursery import Nursery
nursery = Nursery(Path(sys.argv[1]), ())
pid = nursery.start("signal:pause")
print(pid, flush=True)
nursery.wait(pid)
"""


def test_workers_end_with_who_is_killed_while_waiting_for_them(tmp_path):
    asker = subprocess.Popen(
        [sys.executable, "-c", WAITING, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    pid = int(asker.stdout.readline())
    asker.kill()
    asker.wait()
    until(lambda: not Path(f"/proc/{pid}").exists())


# Kills


def torment(nursery, place, folder, seed=3, task=None) -> kills.Torment:
    given = {} if task is None else {"task": task}
    return kills.Torment(nursery, place, folder, np.random.default_rng(seed), **given)


def test_six_kills_lose_nothing(nursery, where, tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "LEASE", 1.0)
    outcome = torment(nursery, where, tmp_path).outcome(TABLE, 6, silent)
    assert outcome.verdict == Verdict()
    assert outcome.kills >= 6
    assert outcome.acknowledged > 6


@pytest.mark.parametrize("aim", aims.AIMS)
def test_a_worker_killed_at_a_chosen_place_leaves_all_or_nothing(nursery, where, tmp_path, aim):
    Study.create(where, np.array(TABLE.cells), seed=7).close()
    place = {"where": aim, "count": 3, "pause": 0.0, "path": str(tmp_path / "kills"), "worker": "w"}
    pid = nursery.start(
        "benchmarks.durability.tasks:play",
        place=where,
        folder=str(tmp_path),
        name="w",
        life=1,
        aim=place,
    )
    assert nursery.wait(pid) == -9
    acks, intents = (records.read(tmp_path / f"{name}-w") for name in ("acks", "intents"))
    with Study.open(where) as study:
        events = study.history()
        assert compared(events, acks, intents) == Verdict()
        results = sum(event.kind == "told" for event in events)
        assert results - len(acks) == int(aim == "tell: committed")
        waiting = study.status().waiting
        again = study.ask(worker="w")[0]
        assert [again.trial] == [one.trial for one in waiting] or not waiting
        tasks.repeat(study, tmp_path, "w")
        assert study.status().told - results <= 1
        assert all(finding.ok for finding in study.doctor())


def play_and_boast(**given: Any) -> None:
    """Broken: a tell is acknowledged before it is committed."""

    def tell(study: Any, here: Path, name: str, trial: int, value: float, key: str) -> None:
        records.append(here / f"intents-{name}", trial=trial, value=value, key=key)
        records.append(here / f"acks-{name}", trial=trial, value=value, key=key, at=0.0)
        study.tell(trial, value, key=key, worker=name)

    tasks.tell = tell
    tasks.play(**given)


def test_the_checker_sees_a_tell_acknowledged_before_its_commit(nursery, where, tmp_path):
    Study.create(where, np.array(TABLE.cells), seed=7).close()
    place = {
        "where": "tell: written",
        "count": 3,
        "pause": 0.0,
        "path": str(tmp_path / "kills"),
        "worker": "w",
    }
    broken = f"{HERE}:play_and_boast"
    assert (
        nursery.wait(
            nursery.start(broken, place=where, folder=str(tmp_path), name="w", life=1, aim=place)
        )
        == -9
    )
    acks, intents = (records.read(tmp_path / f"{name}-w") for name in ("acks", "intents"))
    with Study.open(where) as study:
        assert compared(study.history(), acks, intents) == Verdict(lost=1)


def happened(
    seq: int, kind: str, trial: int, value: float | None = None, key: str | None = None
) -> Any:
    return SimpleNamespace(seq=seq, kind=kind, trial=trial, value=value, key=key)


def test_the_checker_counts_each_kind_of_fault():
    intents = [{"trial": 1, "value": 0.5}, {"trial": 2, "value": 0.25}]
    good = [
        happened(1, "asked", 1),
        happened(2, "told", 1, 0.5, "a"),
        happened(3, "told", 2, 0.25, "b"),
    ]
    assert compared(good, intents, intents) == Verdict()
    assert compared(good[:2], intents, intents) == Verdict(lost=1)
    assert compared([*good[:2], happened(3, "told", 2, 0.3)], intents[:1], intents) == Verdict(
        wrong=1
    )
    assert compared([*good, happened(4, "told", 2, 0.25)], intents, intents) == Verdict(
        duplicated=1
    )
    assert compared([*good, happened(4, "asked", 1)], intents, intents) == Verdict(duplicated=1)
    assert compared([*good, happened(4, "corrected", 1, 0.6, "a")], intents, intents) == Verdict(
        duplicated=1
    )


def test_the_wait_after_a_kill_ends_with_a_tell_of_somebody_else():
    acks = [
        {"at": 1.2, "worker": "killed"},
        {"at": 1.5, "worker": "other"},
        {"at": 0.9, "worker": "other"},
    ]
    assert waits([{"at": 1.0, "worker": "killed"}], acks) == [0.5]


def test_the_checker_sees_trials_that_stay_pending(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "LEASE", 0.0)
    monkeypatch.setattr(kills, "LAST_ASKS", 10)
    with Study.create(tmp_path / "a.db", np.array(TABLE.cells), lease=1000.0) as study:
        study.ask(3)
        assert kills.left_over(study, tmp_path) == 3


def test_the_checker_sees_a_study_that_answers_otherwise_when_opened_anew(tmp_path, monkeypatch):
    with Study.create(tmp_path / "a.db", np.array(TABLE.cells)) as study:
        for _ in range(6):
            (suggestion,) = study.ask()
            study.tell(suggestion.trial, tasks.measured(suggestion.row, suggestion.trial))
        study.estimates()
        assert kills.differences(study, tmp_path) == 0
        driver = study._session.driver
        driver.__dict__["_domain"] = Arms(driver._domain.points[::-1].copy())
        study.correct(1, 0.3)
        (tmp_path / "copy.db").unlink()
        assert kills.differences(study, tmp_path) > 0


# Races


def test_of_two_who_tell_one_trial_exactly_one_wins(nursery, where, tmp_path):
    outcome = races.raced(nursery, where, TABLE, tmp_path, 30, seed=5)
    assert outcome.faults == ()
    assert sum(outcome.won) == 27
    assert min(outcome.won) > 0


def race_without_comparing(**given: Any) -> None:
    """Broken: whoever tells does not look whether there is a result."""
    tasks.Study = Bare  # type: ignore[misc]
    tasks.race(**given)


def test_the_checker_sees_two_winners(nursery, tmp_path):
    place, broken = str(tmp_path / "a.db"), f"{HERE}:race_without_comparing"
    outcome = races.raced(nursery, place, TABLE, tmp_path, 10, seed=5, task=broken)
    assert any("2 winners" in fault for fault in outcome.faults)
    assert any("stored twice" in fault for fault in outcome.faults)


def test_a_race_is_judged_by_what_is_stored():
    def side(value: float, won: bool, stored: float) -> dict[str, Any]:
        return {"trial": 1, "value": value, "same": False, "won": won, "stored": stored}

    assert races.faults_of(side(0.1, True, 0.1), side(0.2, False, 0.1), {1: 0.1}) == []
    assert races.faults_of(side(0.1, True, 0.1), side(0.2, True, 0.2), {1: 0.1})
    assert races.faults_of(side(0.1, False, 0.3), side(0.2, False, 0.3), {1: 0.3})
    assert races.faults_of(side(0.1, True, 0.1), side(0.2, False, 0.2), {1: 0.1})
    assert races.faults_of(side(0.1, True, 0.1), side(0.2, False, 0.1), {})


# Crowds


@pytest.mark.parametrize(
    ("where", "player"),
    [("sqlite", "study"), ("postgresql", "study"), ("sqlite", "bare")],
    indirect=["where"],
)
def test_sixteen_workers_lose_nothing(nursery, where, tmp_path, player):
    outcome = crowds.run(nursery, where, TABLE, tmp_path / "crowd", player, 16, 2)
    assert outcome.verdict == Verdict()
    assert outcome.trials == 32


def forgetful(**given: Any) -> None:
    """Broken: one transaction in five is not committed, and nobody is told."""
    commit, count = Transaction._commit, iter(range(10**6))

    def sometimes(self: Transaction) -> Exception | None:
        if next(count) % 5 < 4:
            return commit(self)
        self._roll_back()
        return None

    Transaction._commit = sometimes  # type: ignore[method-assign]
    with suppress(Exception):
        tasks.play(**given)
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_checker_sees_a_commit_that_was_left_out(nursery, where, tmp_path):
    Study.create(where, np.array(TABLE.cells), seed=7).close()
    place = {
        "where": aims.BETWEEN,
        "count": 8,
        "pause": 0.0,
        "path": str(tmp_path / "kills"),
        "worker": "w",
    }
    broken = f"{HERE}:forgetful"
    assert (
        nursery.wait(
            nursery.start(broken, place=where, folder=str(tmp_path), name="w", life=1, aim=place)
        )
        == -9
    )
    acks, intents = (records.read(tmp_path / f"{name}-w") for name in ("acks", "intents"))
    with Study.open(where) as study:
        verdict = compared(study.history(), acks, intents)
    assert verdict.lost + len(records.read(tmp_path / "errors")) > 0


# A folder behind a server


def test_listings_and_new_studies_beside_writers_lose_nothing(nursery, tmp_path):
    outcome = labs.run(nursery, TABLE, tmp_path / "lab", 17)
    assert outcome.verdict == Verdict()
    assert outcome.tells == 18
    assert outcome.commands == 6
    assert outcome.listings > 0


# Damage


@pytest.fixture(scope="module")
def site(nursery, tmp_path_factory) -> damage.Site:
    return damage.Site.build(nursery, tmp_path_factory.mktemp("damage") / "site", TABLE, 20)


def test_damaged_files_are_seen_or_unharmed(site):
    planned = damage.damages(site.original, site.before, 2, 2, 1, seed=2)
    found = [site.tried(*one) for one in planned]
    assert [look for look in found if look.fault] == []
    assert {look.kind for look in found if look.what == "detected"} >= {
        "byte flipped",
        "cut off",
        "empty",
        "a PNG",
    }


def look_without_checksums(**given: Any) -> None:
    """Broken: what is read is taken as it comes."""
    log.verify_chain = lambda rows, start, end: None
    looks.look(**given)


def test_the_checker_sees_a_changed_event_that_nobody_verified(site, tmp_path):
    changed = tmp_path / "changed.db"
    changed.write_bytes(site.original.read_bytes().replace(b"key 12", b"key 21"))
    assert site.look(changed)["error"] == "Damaged"
    assert site.judged("key changed", site.look(changed)) == "detected"
    blind = site.look(changed, f"{HERE}:look_without_checksums")
    assert site.judged("key changed", blind).startswith("silently different")


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_changed_cells_are_seen(where):
    damage.studied(where, TABLE, 20)
    found = cells.run(where, 12, 4, silent)
    unseen = {what for counts in found.values() for what in counts} - {"detected"}
    assert all(what.startswith("harmless") for what in unseen)
    assert found[cells.CHANGED]["detected"] > 6
