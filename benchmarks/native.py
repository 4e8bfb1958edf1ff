"""The loops of loop.c, compiled at run time into a temporary folder and called by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.game import RIDGE, Game, Outcome

SOURCE = Path(__file__).with_name("loop.c")
NO_ERRNO = "-fno-math-errno"
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")
Pointer, Integer, Real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class State(ctypes.Structure):
    """The struct of loop.c: where the posterior's arrays lie."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        (name, Pointer) for name in ("mean", "cov", "counts", "sums", "lost", "ceiling", "totals")
    ]


def load(*more_flags: str) -> Any:
    """Compile loop.c and load it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "loop.so"
        subprocess.run(["cc", *FLAGS, *more_flags, "-o", library, SOURCE, "-lm"], check=True)
        return ctypes.CDLL(str(library))


def build(
    *more_flags: str, clock: Callable[[], float] = time.perf_counter
) -> Callable[[Game], Outcome]:
    """A function that plays a game with the loop of loop.c on a covariance."""
    function = load(*more_flags).play_index
    function.restype = Integer
    function.argtypes = [Pointer, Integer, *[Pointer] * 7, Real, ctypes.c_int, Integer]
    return lambda game: play(function, game, clock)


def play(function: Any, game: Game, clock: Callable[[], float]) -> Outcome:
    state, record = game.policy().posterior.lend(), game.record()
    held = State(*(array.ctypes.data for array in state))
    arrays = (game.instance.values, game.noise, *game.tables, *record)
    addresses = [array.ctypes.data for array in arrays]
    start = clock()
    function(ctypes.addressof(held), len(state[0]), *addresses, RIDGE, 0, game.horizon)
    return Outcome(clock() - start, *record, state)


@dataclass(frozen=True)
class PoolOutcome:
    """What the loop over distinct arms played, and the processor time it took."""

    seconds: float
    arms: np.ndarray[Any, np.dtype[np.int32]]
    recommended: np.ndarray[Any, np.dtype[np.int32]]
    distinct: int


def build_distinct(*more_flags: str) -> Callable[..., PoolOutcome]:
    """A function that plays SimpleUCB and the like on a pool with a Matern(l, 5/2) kernel."""
    function = load(NO_ERRNO, *more_flags).play_distinct
    function.restype = Integer
    function.argtypes = [
        *(Pointer, Integer, Integer, *[Pointer] * 7),
        *(Real, ctypes.c_int, Integer, Integer, *[Pointer] * 5),
    ]

    def play_pool(
        points: Any, lengthscale: float, values: Any, noise: Any, tables: Any, room: int
    ) -> PoolOutcome:
        n, d = points.shape
        scaled = np.ascontiguousarray(points.T / lengthscale)
        record = np.empty((2, len(noise)), dtype=np.int32)
        rows, core = np.empty((room, n)), np.zeros((2, room, room))
        work, slots = np.empty(4 * n + 4 * room), np.empty(n, dtype=np.int64)
        inputs = [part.ctypes.data for part in (values, noise, *tables, *record)]
        buffers = [part.ctypes.data for part in (rows, *core, work, slots)]
        start = time.process_time()
        distinct = function(
            *(scaled.ctypes.data, n, d, *inputs, RIDGE, 0, len(noise), room), *buffers
        )
        seconds = time.process_time() - start
        return PoolOutcome(seconds, record[0], record[1], int(distinct))

    return play_pool
