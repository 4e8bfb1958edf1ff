"""The loop of loop.c, compiled at run time into a temporary folder and called by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.game import RIDGE, Game, Outcome

SOURCE = Path(__file__).with_name("loop.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")
Pointer, Integer, Real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class State(ctypes.Structure):
    """The struct of loop.c: where the posterior's arrays lie."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        (name, Pointer) for name in ("mean", "cov", "counts", "sums", "lost", "ceiling", "totals")
    ]


def build(*more_flags: str) -> Callable[[Game], Outcome]:
    """Compile loop.c; a function that plays a game with it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "loop.so"
        subprocess.run(["cc", *FLAGS, *more_flags, "-o", library, SOURCE, "-lm"], check=True)
        function = ctypes.CDLL(str(library)).play_index
    function.restype = Integer
    function.argtypes = [Pointer, Integer, *[Pointer] * 7, Real, ctypes.c_int, Integer]
    return lambda game: play(function, game)


def play(function: Any, game: Game) -> Outcome:
    state, record = game.policy().posterior.lend(), game.record()
    held = State(*(array.ctypes.data for array in state))
    arrays = (game.instance.values, game.noise, *game.tables, *record)
    addresses = [array.ctypes.data for array in arrays]
    start = time.perf_counter()
    function(ctypes.addressof(held), len(state[0]), *addresses, RIDGE, 0, game.horizon)
    return Outcome(time.perf_counter() - start, *record, state)
