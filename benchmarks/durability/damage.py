"""Stored bytes are changed: each change is seen, or changes nothing.

Never is another state taken for the true one.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.durability import records
from benchmarks.durability.films import Table
from benchmarks.durability.nursery import Nursery
from benchmarks.durability.tasks import measured
from kernelbandits.study import Study

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(200)) * 40
TASKS = "benchmarks.durability.looks"
Damage = Callable[[Path], object]


@dataclass(frozen=True)
class Looked:
    """What came of one damage."""

    kind: str
    what: str
    """detected, harmless, or what is wrong"""
    stage: str
    """When it was seen: open, history, ask or later."""
    saved: int
    """Events that salvage recovered; -1 where there was nothing to salvage."""
    intact: int
    """Events on pages that the damage did not touch."""
    error: str = ""

    @property
    def fault(self) -> bool:
        return self.what not in ("detected", "harmless")


def studied(place: str, table: Table, trials: int) -> None:
    """A study with some of everything.

    Results, failures, corrections, one result withdrawn, some pending.
    """
    with Study.create(place, np.array(table.cells), **table.settings) as study:
        for number in range(trials):
            (suggestion,) = study.ask(worker=f"worker {number % 3}")
            if number % 10 == 3:
                study.tell(suggestion.trial, failed=True)
            elif number % 20 != 7:
                study.tell(
                    suggestion.trial,
                    measured(suggestion.row, suggestion.trial),
                    key=f"key {number}",
                )
        study.correct(1, 0.25, reason="misread")
        study.withdraw(2, reason="the sample was wet")


def damages(
    original: Path, before: Path, flips: int, cuts: int, torn: int, seed: int
) -> Iterator[tuple[str, Damage, set[int]]]:
    """Each kind of damage, how it is done, and the pages that it touches."""
    generator, content = np.random.default_rng(seed), original.read_bytes()
    page = page_size(content)
    pages = set(range(1, len(content) // page + 1))
    for offset in generator.integers(0, len(content), flips).tolist():
        mask = int(generator.integers(1, 256))
        yield "byte flipped", flipped(offset, mask), {offset // page + 1}
    for length in generator.integers(0, len(content), cuts).tolist():
        yield "cut off", replaced(content[:length]), pages - set(range(1, length // page + 1))
    changed = [
        number
        for number in pages
        if slab(content, page, number) != slab(before.read_bytes(), page, number)
    ]
    for _ in range(torn):
        kept = {number for number in changed if generator.random() < 0.5}
        yield "commit torn, journal deleted", patched(before, content, page, kept), set(changed)
    yield "empty", replaced(b""), pages
    yield "a PNG", replaced(PNG), pages


def page_size(content: bytes) -> int:
    size = int.from_bytes(content[16:18], "big")
    return 65536 if size == 1 else size


def slab(content: bytes, page: int, number: int) -> bytes:
    return content[(number - 1) * page : number * page]


def replaced(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def flipped(offset: int, mask: int) -> Damage:
    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[offset] ^= mask
        path.write_bytes(content)

    return change


def patched(before: Path, after: bytes, page: int, kept: set[int]) -> Damage:
    """Some pages of a commit reached the file, the others did not, and the journal that would undo
    them is gone."""

    def change(path: Path) -> None:
        content = bytearray(before.read_bytes().ljust(len(after), b"\0"))
        for number in kept:
            content[(number - 1) * page : number * page] = slab(after, page, number)
        path.write_bytes(content)

    return change


def homes(content: bytes, events: list[Any]) -> dict[int, set[int]]:
    """The pages on which the checksum of an event, as text, is found."""
    page, found = page_size(content), {}
    for event in events:
        places, start = set(), content.find(event.check.encode())
        while start >= 0:
            places |= {start // page + 1, (start + len(event.check) - 1) // page + 1}
            start = content.find(event.check.encode(), start + 1)
        found[event.seq] = places
    return found


@dataclass
class Site:
    """Where files are damaged and looked at."""

    nursery: Nursery
    folder: Path
    original: Path
    before: Path
    """The same file one commit earlier."""
    states: dict[str, Any]
    """The states that a look may find: of the file, and of the file one commit earlier."""

    @classmethod
    def build(cls, nursery: Nursery, folder: Path, table: Table, trials: int) -> Site:
        folder.mkdir(parents=True)
        original, before = folder / "original.db", folder / "before.db"
        studied(str(original), table, trials)
        shutil.copy(original, before)
        with Study.open(original) as study:
            study.tell(row=3, value=0.5)
        site = cls(nursery, folder, original, before, {})
        site.states = {
            name: site.look(path) for name, path in (("now", original), ("before", before))
        }
        return site

    def look(self, path: Path, task: str = f"{TASKS}:look") -> dict[str, Any]:
        """In a process of its own, at a copy: what is read, and what is asked next."""
        copy, out = self.folder / "copy.db", self.folder / "look"
        shutil.copy(path, copy)
        out.unlink(missing_ok=True)
        pid = self.nursery.start(task, place=str(copy), out=str(out))
        if self.nursery.wait(pid):
            return {"error": "crash", "sentence": self.nursery.said(pid), "stage": "?"}
        return records.read(out)[0]

    def command(self, path: Path) -> str:
        """What is wrong with how the command line takes it; empty where nothing is."""
        pid = self.nursery.start(f"{TASKS}:command", arguments=["study", "status", str(path)])
        code, said = self.nursery.wait(pid), self.nursery.said(pid)
        if code not in (0, 74) or "Traceback" in said:
            return f"exit code {code}: {said}"
        return ""

    def salvaged(self, path: Path) -> list[int]:
        """The numbers of the events that salvage recovers, each as it was."""
        target, out = self.folder / "salvaged.db", self.folder / "salvaged"
        for file in (target, out):
            file.unlink(missing_ok=True)
        given = {
            "place": str(path),
            "target": str(target),
            "original": str(self.original),
            "out": str(out),
        }
        pid = self.nursery.start(f"{TASKS}:rescue", **given)
        if self.nursery.wait(pid):
            raise RuntimeError(self.nursery.said(pid))
        return list(records.read(out)[0]["saved"])

    def tried(self, kind: str, damage: Damage, touched: set[int]) -> Looked:
        path = self.folder / "damaged.db"
        shutil.copy(self.original, path)
        damage(path)
        seen, said = self.look(path), self.command(path)
        what = self.judged(kind, seen)
        if said:
            what = f"the command line says: {said}"
        if what != "detected":
            return Looked(kind, what, seen.get("stage", ""), -1, 0)
        saved, intact = self.salvaged(path), self.intact(touched)
        return Looked(
            kind, what, seen["stage"], len(set(saved) & intact), len(intact), seen["error"]
        )

    def judged(self, kind: str, seen: dict[str, Any]) -> str:
        if seen.get("stored"):
            return "detected"
        if "error" in seen:
            return f"{seen['error']} at {seen['stage']}: {seen['sentence']}"
        allowed = self.states.values() if "torn" in kind else [self.states["now"]]
        return (
            "harmless" if any(seen == state for state in allowed) else f"silently different: {seen}"
        )

    def intact(self, touched: set[int]) -> set[int]:
        with Study.open(self.original, writable=False) as study:
            pages = homes(self.original.read_bytes(), study.history())
        return {seq for seq, home in pages.items() if home and not home & touched}


def counts(looks: list[Looked]) -> Counter[tuple[str, str]]:
    return Counter((one.kind, one.what) for one in looks)
