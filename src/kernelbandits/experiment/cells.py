"""A cell is one policy on one problem for all seeds; a result is stored in one file."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.catalogue import (
    PolicyEntry,
    fingerprint,
    identify,
    kernel_of,
    settings_of,
    shared_settings,
)
from kernelbandits.catalogue.lookup import check_settings
from kernelbandits.catalogue.user_policy import (
    Constructor,
    UserPolicy,
    find_policy,
)
from kernelbandits.checks import Array, Numbers
from kernelbandits.experiment.engines import ENGINES, play, resolve_engine
from kernelbandits.kernels import as_kernel
from kernelbandits.policies import Policy
from kernelbandits.problems import Instance, Problem
from kernelbandits.runtime import one_blas_thread
from kernelbandits.streams import Streams

LARGEST_CELL = 200_000_000
"""The most rounds times seeds: at 20 bytes each and with the tables beside them, about 8 GB."""
ARRAYS = ("regret", "simple", "arms", "seconds", "log_det")
"""The arrays of a result, in the order in which they enter its checksum."""
CURVES = ("regret", "simple", "arms")
"""Those with a column for each round; the others have one number for each seed."""
KERNEL_SETTINGS = ("kernel", "lengthscale")
"""Settings of a contender that replace the kernel of the experiment, or its lengthscale."""
OWN_KERNEL = "its own, fitted to the rewards"
"""What a result says of the kernel of a policy that does not get that of the experiment."""


@dataclass(frozen=True)
class Contender:
    """A policy as it enters an experiment: how it is called there, what it is, and its settings.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> kb.Contender("half", "simple-bernoulli", {"p": 0.5}).label
    'half'
    >>> class Cautious(kb.SimpleUCB):
    ...     pass
    >>> kb.Contender("cautious", Cautious, {"ridge": 2.0}).entry.title
    'Cautious'

    With a kernel of its own, and with that of the experiment at another lengthscale:

    >>> results = kb.run_experiment(
    ...     "branin",
    ...     [
    ...         kb.Contender("rough", "simple-ucb", {"kernel": kb.Matern(0.3, nu=1.5)}),
    ...         kb.Contender("short", "simple-ucb", {"lengthscale": 0.1, "noise_scale": 0.01}),
    ...     ],
    ...     horizon=5,
    ...     seeds=2,
    ... )
    >>> results["branin", "short"].settings["kernel"]
    {'type': 'RBF', 'lengthscale': 0.1}
    """

    label: str
    """The name in tables and figures."""
    policy: str | Constructor
    """A name of the catalogue, a class derived from kb.Policy, or a factory.

    A factory takes (domain, kernel, **settings) and returns a policy.
    """
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its own, which go before those that an experiment gives to all policies.

    `kernel` and `lengthscale` are among them for every policy that takes a kernel.
    """
    swept: Mapping[str, Any] = field(default_factory=dict)
    """Those of its settings that a sweep has given it."""
    entrant: str = ""
    """What it was called before the sweep; its label if there was none."""

    def __post_init__(self) -> None:
        checks.needs(isinstance(self.label, str), "Contender", "a label", self.label)
        checks.needs(
            isinstance(self.settings, Mapping), "Contender", "a dict of settings", self.settings
        )

    @property
    def entry(self) -> PolicyEntry | UserPolicy:
        """What is known of the policy: title, paper, guarantee, settings."""
        return find_policy(self.policy)

    @property
    def is_own(self) -> bool:
        """Whether it is a policy of the user, not one of the catalogue."""
        return isinstance(self.entry, UserPolicy)

    @property
    def own_kernel(self) -> dict[str, Any]:
        """Those of its settings that say which kernel it plays with, where the policy takes one."""
        return {name: self.settings[name] for name in self.settings if self.is_of_kernel(name)}

    def is_of_kernel(self, setting: str) -> bool:
        """Tell whether a setting is one of the kernel, and not one that the policy itself has."""
        of_kernel = setting in KERNEL_SETTINGS and self.entry.takes_kernel
        return of_kernel and setting not in self.entry.parameters

    def kernel_among(self, kernel: Any) -> Any:
        """Return the kernel that it plays with where the others play with this one."""
        own = self.own_kernel
        chosen = kernel_of(own.get("kernel", kernel))
        length = own.get("lengthscale")
        return chosen if length is None else as_kernel(chosen).with_lengthscale(length)

    @property
    def rule_settings(self) -> dict[str, Any]:
        """The settings of the policy itself."""
        return {name: value for name, value in self.settings.items() if not self.is_of_kernel(name)}

    def check(self) -> None:
        """Refuse settings that the policy does not have, and miss none that it needs."""
        check_settings(self.entry.name, self.entry.parameters, self.rule_settings)

    def build(self, instance: Instance, kernel: Any) -> Policy:
        """Build the policy on the arms of an instance."""
        self.check()
        rule = self.entry.build(instance.domain, kernel, self.rule_settings)
        if not isinstance(rule, Policy):
            raise ValueError(f"{self.entry.name} needs to return a kb.Policy, got {rule!r}")
        return rule


def contender(
    policy: str | Constructor,
    given: Mapping[str, Any],
    shared: Mapping[str, Any],
    label: str | None = None,
) -> Contender:
    """Return a contender with its own settings, and those of the shared ones that it takes.

    Parameters
    ----------
    policy
        A name of the catalogue, a class derived from `kb.Policy`, or a factory.
    given
        The settings of this policy alone. They go before those of `shared`.
    shared
        The settings of the experiment for all policies.
    label
        The name in tables and figures; by default the title of the policy with its own settings.

    Examples
    --------
    >>> from kernelbandits.experiment import contender
    >>> shared = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 100}
    >>> entrant = contender("simple-bernoulli", {"p": 0.25}, shared)
    >>> entrant.label, entrant.settings
    ('Simple-Bernoulli (p=0.25)', {'noise_scale': 0.1, 'norm_bound': 1.0, 'p': 0.25})
    """
    entry = find_policy(policy)
    own = ", ".join(f"{key}={value}" for key, value in given.items())
    title = label or (f"{entry.title} ({own})" if given else entry.title)
    # A class or factory of the user may take text: only names of the catalogue have laws as text.
    own_settings = settings_of(given) if isinstance(policy, str) else dict(given)
    settings = shared_settings(entry, shared) | own_settings
    entered = Contender(title, policy, settings)
    entered.check()
    return entered


@dataclass(frozen=True)
class Cell:
    """One policy on one problem, for all seeds: the unit of work of an experiment.

    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import Cell
    >>> entrant = kb.Contender("UCB", "simple-ucb", {"noise_scale": 0.1, "norm_bound": 1.0})
    >>> cell = Cell(kb.problem("branin"), entrant, kb.RBF(0.2), horizon=20, seeds=(0, 1))
    >>> cell.name, len(cell.key)
    (('branin', 'UCB'), 32)
    """

    problem: Problem
    contender: Contender
    """The policy, with its label and its settings."""
    kernel: Any
    """The kernel that the policy gets, if it takes one."""
    horizon: int
    """How many rounds are played for each seed."""
    seeds: tuple[int, ...]
    engine: str = "auto"
    """What plays the rounds, as for `run_experiment`: "auto", "numba" or "numpy"."""

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
        """(problem, policy), by which `results[...]` finds the cell."""
        return self.problem.name, self.contender.label

    def plain(self) -> dict[str, Any]:
        """Return all that decides the result, as a plain dictionary."""
        parts = {
            "problem": self.problem,
            "kernel": self.kernel,
            "horizon": self.horizon,
            "seeds": self.seeds,
        }
        entrant = self.contender
        rule = {
            "policy": entrant.policy if entrant.is_own else entrant.entry.name,
            "settings": entrant.rule_settings,
        }
        decided = parts | rule | {"engine": resolve_engine(self.engine), "code": code_fingerprint()}
        plain: dict[str, Any] = identify(decided)
        return plain

    @cached_property
    def key(self) -> str:
        """The fingerprint of all that decides the result; the label does not."""
        return fingerprint(self.plain())[:32]


@dataclass(frozen=True)
class CellResult:
    """Curves of one cell, a row for each seed, a column for each round kept.

    >>> import kernelbandits as kb
    >>> results = kb.run_experiment("branin", ["greedy"], horizon=5, seeds=3, engine="numpy")
    >>> cell = results["branin", "Greedy"]
    >>> cell.regret.shape, cell.arms.shape, cell.seconds.shape
    ((3, 5), (3, 5), (3,))
    >>> bool((cell.select_last_round().regret[:, 0] == cell.regret[:, -1]).all())
    True
    """

    regret: Array
    """sum_{s <= t} f_s* - f_s(x_s)"""
    simple: Array
    """f_t* - f_t(x), x the arm of the greatest estimate after round t"""
    arms: Numbers
    """The arm played in each round."""
    seconds: Array
    """What the rounds of each seed took."""
    log_det: Array
    """log det(I + K / ridge) at the end: twice the realised information gain."""
    settings: Mapping[str, Any]
    """The settings of the policy, the engine, and the warnings that were given."""

    def select_last_round(self) -> CellResult:
        """Return the last round only."""
        last = slice(-1, None)
        return CellResult(
            self.regret[:, last],
            self.simple[:, last],
            self.arms[:, last],
            self.seconds,
            self.log_det,
            self.settings,
        )

    def save(self, path: Path, key: str) -> None:
        """Write the result of the block of this key to a file.

        It is written under another name and then renamed, so that an interruption leaves the old
        file or the new one, never half of it.
        """
        settings, arrays = json.dumps(self.settings), self.arrays()
        checksum = cell_checksum(key, settings, arrays)
        texts = {"key": key, "settings": settings, "checksum": checksum}
        content: dict[str, Any] = {name: np.array(text) for name, text in texts.items()} | arrays
        part = path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, **content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def arrays(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def load(
        cls, path: Path, expected_key: str, needed: Mapping[str, tuple[int, ...]]
    ) -> CellResult:
        """Read the stored result of the block of this key, with arrays of the shapes needed.

        A file that does not hold what was stored for this very block raises `UntrustedCell`: it
        may have been cut, altered, or renamed from the file of another one.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = {name: file[name] for name in file.files}
            arrays = {name: stored[name] for name in ARRAYS}
            key, text, checksum = (str(stored[name]) for name in ("key", "settings", "checksum"))
            settings = json.loads(text)
        # A damaged archive raises nearly any exception: of zipfile, zlib, struct, numpy or json.
        except Exception as error:
            raise UntrustedCell("is damaged or not a stored cell") from error
        if key != expected_key:
            raise UntrustedCell("holds the result of another cell")
        if checksum != cell_checksum(key, text, arrays):
            raise UntrustedCell("was altered after it was written: its checksum differs")
        found = {name: array.shape for name, array in arrays.items()}
        if found != needed:
            raise UntrustedCell(f"needs arrays of the shapes {needed}, got {found}")
        return cls(settings=settings, **arrays)


class UntrustedCell(ValueError):
    """A stored file is not the result of the cell that it is named after."""


def cell_checksum(key: str, settings: str, arrays: Mapping[str, Array | Numbers]) -> str:
    """Return sha256 of the key, the settings, and name, type, shape and bytes of each array."""
    digest = hashlib.sha256(f"{key}\n{settings}\n".encode())
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def play_cell(cell: Cell) -> CellResult:
    """Play all seeds of the cell, on one BLAS thread; warnings go to the settings of the result.

    >>> from kernelbandits.experiment import plan_experiment, play_cell
    >>> (cell,) = plan_experiment("branin", ["greedy"], horizon=5, seeds=2, engine="numpy")
    >>> play_cell(cell).regret.shape
    (2, 5)
    """
    return play_seeds(cell, cell.seeds)


def play_seeds(cell: Cell, seeds: Sequence[int]) -> CellResult:
    """Play some seeds of the cell in the same way."""
    with one_blas_thread, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = [play_seed(cell, seed) for seed in seeds]
    stacked = {
        name: np.array([run[name] for run in runs]) for name in runs[0] if name != "settings"
    }
    return CellResult(
        settings=runs[0]["settings"] | {"notices": distinct_warnings(caught)}, **stacked
    )


def distinct_warnings(caught: list[warnings.WarningMessage]) -> list[list[str]]:
    """Return what was warned of, each text once, with the name of its category."""
    return [
        list(pair) for pair in dict.fromkeys((w.category.__name__, str(w.message)) for w in caught)
    ]


@cache
def code_fingerprint() -> str:
    """Return a fingerprint of the package's source.

    It enters the key of every cell, so that results of another version are not taken for those of
    this one.
    """
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def play_seed(cell: Cell, seed: int) -> dict[str, Any]:
    """Play the cell for one seed, and return its curves."""
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
            "policy": cell.contender.entry.name,
            **kernel_settings(cell),
            **identify(rule.settings),
            "engine": played.engine,
        },
    }


def kernel_settings(cell: Cell) -> dict[str, Any]:
    """Return what a result says of the kernel, where it is not that of the experiment."""
    if not cell.contender.entry.takes_kernel:
        return {"kernel": OWN_KERNEL}
    return {"kernel": identify(cell.kernel)} if cell.contender.own_kernel else {}
