"""A cell is one policy on one problem for all seeds: played together, stored in a file, found by fingerprint."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kernelbandits import checks
from kernelbandits.catalogue import fingerprint, policy, policy_entry, shared_settings, to_plain
from kernelbandits.catalogue.lookup import check_settings
from kernelbandits.checks import Array, Numbers
from kernelbandits.experiment.engines import ENGINES, chosen_engine, play
from kernelbandits.policies import Policy
from kernelbandits.problems import Instance, Problem
from kernelbandits.streams import Streams

LARGEST_CELL = 200_000_000
"""Rounds times seeds: a record of 20 bytes each and the tables beside it, some 8 GB."""


@dataclass(frozen=True)
class Contender:
    """A policy as it enters an experiment: its label, its name in the catalogue, its settings."""

    label: str
    policy: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def build(self, instance: Instance, kernel: Any) -> Policy:
        return policy(self.policy, instance.domain, kernel, **self.settings)


def contender(
    name: str, given: Mapping[str, Any], shared: Mapping[str, Any], label: str | None = None
) -> Contender:
    """A contender with its own settings, and those shared by all that it takes."""
    entry = policy_entry(name)
    own = ", ".join(f"{key}={value}" for key, value in given.items())
    title = label or (f"{entry.title} ({own})" if given else entry.title)
    settings = shared_settings(entry, shared) | dict(given)
    check_settings(name, entry.parameters, settings)
    return Contender(title, name, settings)


@dataclass(frozen=True)
class Cell:
    problem: Problem
    contender: Contender
    kernel: Any
    horizon: int
    seeds: tuple[int, ...]
    engine: str = "auto"

    def __post_init__(self) -> None:
        checks.whole("an experiment", "horizon", self.horizon)
        checks.one_of("an experiment", "engine", self.engine, ENGINES)
        checks.needs(len(self.seeds) > 0, "an experiment", "at least one seed", self.seeds)
        checks.needs(
            len(set(self.seeds)) == len(self.seeds), "an experiment", "distinct seeds", self.seeds
        )
        rounds = self.horizon * len(self.seeds)
        checks.needs(
            rounds <= LARGEST_CELL,
            "an experiment",
            f"at most {LARGEST_CELL:.0e} rounds a cell",
            rounds,
        )

    @property
    def name(self) -> tuple[str, str]:
        return self.problem.name, self.contender.label

    def plain(self) -> dict[str, Any]:
        """All that decides the result, as a plain dictionary."""
        parts = {
            "problem": self.problem,
            "kernel": self.kernel,
            "horizon": self.horizon,
            "seeds": self.seeds,
        }
        rule = {"policy": self.contender.policy, "settings": self.contender.settings}
        engine = {"engine": chosen_engine(self.engine), "code": code_fingerprint()}
        plain: dict[str, Any] = to_plain(parts | rule | engine)
        return plain

    @cached_property
    def key(self) -> str:
        """The fingerprint of all that decides the result; the label does not."""
        return fingerprint(self.plain())[:32]


@dataclass(frozen=True)
class CellResult:
    """Curves of one cell, a row for each seed, a column for each round kept."""

    regret: Array
    """sum_{s <= t} f_s* - f_s(x_s)"""
    simple: Array
    """f_t* - f_t(x), x the arm of the greatest estimate after round t"""
    arms: Numbers
    seconds: Array
    """What the rounds of each seed took."""
    log_det: Array
    """log det(I + K / ridge) at the end: twice the realised information gain."""
    settings: Mapping[str, Any]

    def ending(self) -> CellResult:
        """The last round only."""
        last = slice(-1, None)
        return CellResult(
            self.regret[:, last],
            self.simple[:, last],
            self.arms[:, last],
            self.seconds,
            self.log_det,
            self.settings,
        )

    def save(self, path: Path) -> None:
        """The old file or the new one, never half of it."""
        part = path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, settings=np.array(json.dumps(self.settings)), **self.arrays())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def arrays(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("regret", "simple", "arms", "seconds", "log_det")
        }

    @classmethod
    def load(cls, path: Path) -> CellResult | None:
        """A stored result; None where there is none or its file is damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            return cls(settings=json.loads(str(arrays.pop("settings"))), **arrays)
        except Exception:
            return None


def play_cell(cell: Cell) -> CellResult:
    """All seeds of the cell, on one BLAS thread."""
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = [play_seed(cell, seed) for seed in cell.seeds]
    stacked = {
        name: np.array([run[name] for run in runs]) for name in runs[0] if name != "settings"
    }
    return CellResult(settings=runs[0]["settings"] | {"notices": distinct(caught)}, **stacked)


def distinct(caught: list[warnings.WarningMessage]) -> list[list[str]]:
    """What was warned of, each text once, with the name of its category."""
    return [
        list(pair) for pair in dict.fromkeys((w.category.__name__, str(w.message)) for w in caught)
    ]


def play_stored(folder: Path | str | None, endings: bool, cell: Cell) -> CellResult:
    """Play the cell and store it at once, by whoever plays it; `endings` keeps the last round only."""
    result = play_cell(cell).ending() if endings else play_cell(cell)
    if folder:
        result.save(stored_at(cell.key, folder, endings))
    return result


def stored_at(key: str, folder: Path | str, endings: bool) -> Path:
    return Path(folder) / f"{key}{'-ending' if endings else ''}.npz"


@cache
def code_fingerprint() -> str:
    """Of the package's source: cells of another version are never taken for ours."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def play_seed(cell: Cell, seed: int) -> dict[str, Any]:
    streams = Streams(seed)
    instance = cell.problem.instance(streams)
    rule = cell.contender.build(instance, cell.kernel)
    played = play(rule, instance, cell.horizon, streams, cell.engine)
    return {
        "regret": np.cumsum(instance.regrets(played.arms)),
        "simple": instance.regrets(played.recommended),
        "arms": played.arms,
        "seconds": played.seconds,
        "log_det": rule.played_log_det,
        "settings": {
            "policy": cell.contender.policy,
            **to_plain(rule.settings),
            "engine": played.engine,
        },
    }
