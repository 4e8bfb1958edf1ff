"""What the workers of the harness do, each a function of plain arguments."""

from __future__ import annotations

import io
import json
import mmap
import os
import struct
import time
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.durability import records
from benchmarks.durability.aims import BETWEEN, Aim
from benchmarks.durability.bare import Bare
from benchmarks.durability.films import read_candidates
from kernelbandits.apps.client import LabClient
from kernelbandits.storage import NoStudy, StudyExists
from kernelbandits.study import AlreadyTold, Study

AT_ONCE = 5
"""Candidates that a robot asks for."""
LISTS_EACH, MOST_CREATED = 5, 30
"""A study is created after so many lists, at most so many."""
PLAYERS: Mapping[str, Any] = {"study": Study, "bare": Bare}


def measured(row: int, trial: int) -> float:
    """A smooth function of the row, and noise that tells trials apart."""
    return round(float(np.sin(row / 9.0)) + 1e-3 * (trial * 7919 % 1009), 9)


def measured_point(x: Mapping[str, Any], trial: int) -> float:
    """The same of a point of a space: its numbers matter, and its choices by their text."""
    numbers = [value if isinstance(value, float) else len(str(value)) for value in x.values()]
    return round(float(np.sin(sum(numbers) / 9.0)) + 1e-3 * (trial * 7919 % 1009), 9)


def result_of(suggestion: Any) -> float:
    """What a worker measures."""
    if suggestion.row is None:
        return measured_point(suggestion.x, suggestion.trial)
    return measured(suggestion.row, suggestion.trial)


def create(
    place: str,
    table: Any,
    settings: Mapping[str, Any],
    aim: Mapping[str, Any],
    out: str,
) -> None:
    """Create a study, and record who did."""
    Aim.take(aim).calling("create")
    try:
        Study.create(place, read_candidates(table), **settings).close()
        records.append(out, pid=os.getpid(), created=True)
    except StudyExists as refused:
        records.append(out, pid=os.getpid(), created=False, sentence=str(refused))


def play(place: str, folder: str, name: str, life: int, aim: Mapping[str, Any]) -> None:
    """Ask and tell until killed. What is about to be told goes to `intents`, what was acknowledged
    to `acks`."""
    here, hook = Path(folder), Aim.take(aim)
    try:
        study = Study.open(place)
        hook.calling("tell")
        if life % 2:
            repeat(study, here, name)
        while True:
            hook.calling("ask")
            (suggestion,) = study.ask(worker=name)
            hook.reached(BETWEEN)
            hook.calling("tell")
            value = result_of(suggestion) + 1e-6 * life
            tell(study, here, name, suggestion.trial, value, f"{name}-{life}-{suggestion.trial}")
    except Exception as error:
        records.append(here / "errors", worker=name, error=f"{type(error).__name__}: {error}")
        raise


def repeat(study: Any, here: Path, name: str) -> None:
    """A worker that does not know whether its last tell arrived sends it again, with the same
    key."""
    acknowledged = {ack["key"] for ack in records.read(here / f"acks-{name}")}
    last = records.read(here / f"intents-{name}")[-1:]
    for intent in last:
        if intent["key"] not in acknowledged:
            tell(study, here, name, intent["trial"], intent["value"], intent["key"])


def tell(study: Any, here: Path, name: str, trial: int, value: float, key: str) -> None:
    records.append(here / f"intents-{name}", trial=trial, value=value, key=key)
    study.tell(trial, value, key=key, worker=name)
    records.append(here / f"acks-{name}", trial=trial, value=value, key=key, at=time.monotonic())


def race(place: str, barrier: str, side: int, races: int, seed: int, out: str) -> None:
    """Tell the same trials as another process, with another value at the same moment.

    Each tenth with one key.
    """
    study, gate = Study.open(place), Gate(barrier, side, 2)
    generator, shared = np.random.default_rng([seed, side]), np.random.default_rng(seed)
    found = []
    for number in range(races):
        if side == number % 2:
            gate.say(study.ask()[0].trial)
        trial = gate.hear(number % 2)
        same, common = number % 10 == 9, float(shared.random())
        value = common if same else float(generator.random())
        gate.meet()
        time.sleep(0.0) if generator.random() < 0.5 else spin(generator.random() * 4e-4)
        found.append(
            (trial, value, same, *outcome(study, trial, value, f"same-{trial}" if same else None))
        )
        gate.meet()
    for trial, value, same, won, stored in found:
        records.append(out, trial=trial, value=value, same=same, won=won, stored=stored)


def outcome(study: Any, trial: int, value: float, key: str | None) -> tuple[bool, float | None]:
    try:
        return True, study.tell(trial, value, key=key).value
    except AlreadyTold as late:
        return False, late.value


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def crowd(
    place: str, player: str, barrier: str, side: int, sides: int, trials: int, out: str
) -> None:
    """One of many workers that ask and tell; what it has done, and when, is recorded at the end."""
    study, gate = PLAYERS[player].open(place), Gate(barrier, side, sides)
    gate.meet()
    start, done, spent = time.monotonic(), [], []
    for _ in range(trials):
        before = time.process_time()
        (suggestion,) = study.ask(worker=f"worker {side}")
        value = result_of(suggestion)
        study.tell(suggestion.trial, value, worker=f"worker {side}")
        done.append((suggestion.trial, value))
        spent.append(time.process_time() - before)
    end = time.monotonic()
    records.append(out, side=side, start=start, end=end, done=done, spent=spent)


def send_results(
    address: str, token: str, study: str, folder: str, name: str, tells: int, end: float
) -> None:
    """A robot: ask a server for some candidates and tell it their results, again and again."""
    remote, left = LabClient(address, token).study(study), tells
    while left > 0 and time.monotonic() < end:
        for suggestion in remote.ask(n=min(AT_ONCE, left), worker=name):
            trial, left = suggestion["trial"], left - 1
            value = measured(suggestion["row"], trial)
            tell(remote, Path(folder), name, trial, value, f"{name}-{trial}")


def call_tell(place: str, folder: str, name: str, rows: int, tells: int, end: float) -> None:
    """Tell results of rows by commands, each of which opens the study anew."""
    here = Path(folder)
    for number in range(tells):
        if time.monotonic() > end:
            break
        key, row = f"{name}-{number}", number % rows
        value = measured(row, number)
        words = ("tell", place, "--row", row, f"{value!r}", "--key", key, "--format", "json", "-q")
        trial = call(*words)["trial"]
        records.append(here / f"intents-{name}", trial=trial, value=value, key=key)
        records.append(here / f"acks-{name}", trial=trial, value=value, key=key)


def list_and_create(address: str, token: str, out: str, stop: str) -> None:
    """List the studies of a server, and now and then create another, until a file is there."""
    client, lists, created = LabClient(address, token), 0, 0
    while not os.path.exists(stop):
        lists += bool(client.studies())
        if lists % LISTS_EACH == 0 and created < MOST_CREATED:
            created += 1
            client.create(f"new{created}", target="y", rows=[{"x": 0.0}, {"x": 1.0}])
    records.append(out, lists=lists, created=created)


def call_list(shelf: str, out: str, stop: str) -> None:
    """List the studies of a folder by commands, until a file is there."""
    lists = 0
    while not os.path.exists(stop):
        for place in sorted(Path(shelf).glob("*.db")):
            lists += bool(call("list", place, "--format", "json"))
    records.append(out, lists=lists)


def call(*words: object) -> Any:
    """The JSON that a command on a study prints; the command runs in this process."""
    from kernelbandits.apps.cli import app

    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        app(["study", *map(str, words)])
    return json.loads(out.getvalue())


class Gate:
    """A meeting point of processes in shared memory: each writes its own places only."""

    def __init__(self, path: str, side: int, sides: int) -> None:
        self.side, self.sides, self.met = side, sides, 0
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 16 * sides)

    @staticmethod
    def build(path: Path, sides: int) -> str:
        path.write_bytes(bytes(16 * sides))
        return str(path)

    def meet(self) -> None:
        """Wait until all have come."""
        self.met += 1
        self.put(2 * self.side, self.met)
        while any(self.get(2 * other) < self.met for other in range(self.sides)):
            os.sched_yield()

    def say(self, number: int) -> None:
        self.put(2 * self.side + 1, number)

    def hear(self, side: int) -> int:
        """What that side said, after all have come."""
        self.meet()
        return self.get(2 * side + 1)

    def put(self, place: int, number: int) -> None:
        struct.pack_into("q", self.memory, 8 * place, number)

    def get(self, place: int) -> int:
        return int(struct.unpack_from("q", self.memory, 8 * place)[0])


def turns(place: str, barrier: str, side: int, sides: int, trials: int, out: str) -> None:
    """Ask and tell in strict turns with the others."""
    study, gate = Study.open(place), Gate(barrier, side, sides)
    for number in range(trials):
        if number % sides == side:
            (suggestion,) = study.ask()
            records.append(out, trial=suggestion.trial, row=suggestion.row)
            study.tell(suggestion.trial, result_of(suggestion))
        gate.meet()


def hold(place: str, aim: Mapping[str, Any]) -> None:
    """Take the write lock and die with it."""
    hook, study = Aim.take(aim), Study.open(place)
    hook.calling("ask")
    study.ask(worker=aim["worker"])


def seen(place: str, out: str) -> None:
    """What an opener sees of a study whose creator was killed: none at all, or a whole one."""
    try:
        with Study.open(place) as study:
            records.append(out, there=True, ok=all(finding.ok for finding in study.doctor()))
    except NoStudy as none:
        records.append(out, there=False, ok=True, sentence=str(none))
