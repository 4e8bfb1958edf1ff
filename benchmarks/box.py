"""Games on a box beside a compiled multi-start (box.c), at equal effort, and the maxima of both.

In every round the rival gets the same index, the same candidates and the same number of starts, and
its own factor of the covariance for nothing. Its starts are chosen as ours are; every third step it
drops the lower half of them. The counts of evaluations with gradient are those of both.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

import kernelbandits as kb
from benchmarks.native import FLAGS, Integer, Pointer, Real
from kernelbandits.catalogue.problems import named_function
from kernelbandits.domains import search
from kernelbandits.domains.bfgs import STEPS

Array = np.ndarray[Any, np.dtype[np.float64]]

SOURCE = Path(__file__).with_name("box.c")
FAST = ("-Ofast",)
"""The compiler may reorder sums: the rival need not have our bits."""
FUNCTION, NOISE, RIDGE = "hartmann6", 0.05, 0.01
EIGHT = 8
SAME = 1e-6
"""Maxima that differ by less, in units of the standard deviation of the prior, are the same."""


class Index(ctypes.Structure):
    """The struct of box.c."""

    _fields_ = [
        *((name, Pointer) for name in ("points", "inverse", "alpha")),
        *((name, Integer) for name in ("m", "d")),
        ("beta", Real),
        *((name, Pointer) for name in ("lower", "upper", "work")),
    ]


def load() -> Any:
    """Compile box.c and load it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "box.so"
        subprocess.run(["cc", *FLAGS, *FAST, "-o", library, SOURCE, "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.maximise.restype = Real
    loaded.maximise.argtypes = [
        *[Pointer] * 2,
        Integer,
        *[Pointer] * 2,
        *[Integer] * 2,
        *[Pointer] * 2,
    ]
    loaded.start_bytes.restype = Integer
    return loaded


class Found(NamedTuple):
    """What the rival found."""

    row: Array
    seconds: float
    """From the candidates on."""
    evaluations: int
    """With gradient."""


@dataclass(frozen=True)
class Rival:
    """The multi-start of box.c on the unit cube, with a Matern kernel of one lengthscale."""

    library: Any
    lengthscale: float
    dimension: int

    def search(self, points: Array, rewards: Array, beta: float, u: float) -> Found:
        """The best row of mean + beta sd."""
        d, scale = self.dimension, np.full(self.dimension, self.lengthscale)
        matrix = kb.Matern(self.lengthscale)(points, points) + RIDGE * np.eye(len(points))
        factor = cholesky(matrix, lower=True)
        inverse = np.ascontiguousarray(solve_triangular(factor, np.eye(len(points)), lower=True))
        alpha = cho_solve((factor, True), rewards)
        box = kb.Box((0.0,) * d, (1.0,) * d)
        near = points[np.argsort(-(rewards - RIDGE * alpha), kind="stable")]
        counts = search.CANDIDATES * d, search.ABOUT * d
        rows = search.candidate_rows(box, near, scale, *counts, u, near[: search.INCUMBENTS])
        rows = np.vstack([rows, np.repeat(rows[:1], -len(rows) % EIGHT, axis=0)])
        known, rows = points / self.lengthscale, np.ascontiguousarray(rows / self.lengthscale)
        lower, upper = np.zeros(d), np.full(d, 1 / self.lengthscale)
        work, heights, best = np.empty((4 + EIGHT) * len(points)), np.empty(len(rows)), np.empty(d)
        starts = np.empty(search.STARTS * d * self.library.start_bytes(), dtype=np.uint8)
        count = np.zeros(1, dtype=np.int64)
        held = [part.ctypes.data for part in (known, inverse, alpha)]
        sides = [part.ctypes.data for part in (lower, upper, work)]
        index = Index(*held, len(points), d, beta, *sides)
        given = ctypes.addressof(index), rows.ctypes.data, len(rows), heights.ctypes.data
        begun = time.process_time()
        self.library.maximise(
            *(*given, starts.ctypes.data, search.STARTS * d, STEPS),
            best.ctypes.data,
            count.ctypes.data,
        )
        seconds = time.process_time() - begun
        row = np.clip(best * self.lengthscale, 0.0, 1.0)
        return Found(row, seconds, int(count[0]))


def play_beside(rounds: int, lengthscale: float = 0.3, seed: int = 0) -> dict[str, float]:
    """Seconds of all asks of SimpleUCB and of the rival's searches, and which maxima were higher."""
    function = named_function(FUNCTION)
    assert function is not None
    d = function.dimension
    box, rng = kb.Box((0.0,) * d, (1.0,) * d), np.random.default_rng(seed)
    policy = kb.SimpleUCB(box, kb.Matern(lengthscale), noise_scale=0.1, norm_bound=1.0, ridge=RIDGE)
    rival, streams = Rival(load(), lengthscale, d), kb.Streams(seed)
    points, rewards = np.empty((rounds, d)), np.empty(rounds)
    ours = theirs = 0.0
    gaps, evaluations = [], []
    for t in range(1, rounds + 1):
        begun = time.process_time()
        choice = policy.ask(t, streams)
        ours += time.process_time() - begun
        if t > 1:
            beta, u = policy.width_at(t), streams.uniform("tie", t)
            found = rival.search(points[: t - 1], rewards[: t - 1], beta, u)
            theirs += found.seconds
            values = policy.index(t, points=np.vstack([choice.x, found.row]))
            gaps.append(float(values[1] - values[0]))
            own = choice.note["evaluations"] - candidate_count(t - 1, d)
            evaluations.append((own, found.evaluations))
        reward = -float(function(function.natural(np.atleast_2d(choice.x)))[0])
        points[t - 1], rewards[t - 1] = choice.x, reward + NOISE * rng.normal()
        begun = time.process_time()
        policy.tell(choice, rewards[t - 1])
        ours += time.process_time() - begun
    higher = -np.array(gaps)
    return {
        "ours": ours,
        "theirs": theirs,
        "higher": int((higher > SAME).sum()),
        "lower": int((higher < -SAME).sum()),
        "mean_gap": float(-higher.mean()),
        "evaluations": float(np.mean([own for own, _ in evaluations])),
        "rival_evaluations": float(np.mean([others for _, others in evaluations])),
        "rounds": rounds,
    }


def candidate_count(played: int, d: int) -> int:
    """How many candidates a search has after so many points were played."""
    near = min(played, search.INCUMBENTS)
    return sum(2 ** search.next_power(per * d) for per in (search.CANDIDATES, search.ABOUT)) + near
