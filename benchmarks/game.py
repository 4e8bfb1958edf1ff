"""The game that all contestants play.

50 arms, one policy, T rounds, all random numbers drawn beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import kernelbandits as kb
from kernelbandits import compiled
from kernelbandits.problems import Instance, RKHSFunction

Array = npt.NDArray[np.float64]
Arms = npt.NDArray[np.int32]

ARMS, HORIZON, SEED = 50, 1000, 0
LENGTHSCALE, RIDGE = 0.3, 1.0
POLICIES: dict[str, Callable[..., Any]] = {
    "Simple-UCB": kb.SimpleUCB,
    "Simple-Bernoulli": kb.SimpleBernoulli,
}


@dataclass(frozen=True)
class Outcome:
    """The arms played in rounds 1..T, the arm recommended after each, and the seconds it took."""

    seconds: float
    arms: Arms
    recommended: Arms
    state: tuple[npt.NDArray[Any], ...] = ()
    """The posterior at the end, where the loop works on arrays."""


@dataclass(frozen=True, eq=False)
class Game:
    """One policy on one instance, and the numbers of all its rounds."""

    title: str
    instance: Instance
    horizon: int
    noise: Array
    tables: tuple[Array, Array, Array]
    """widths (T, 3), weights, ties"""

    def policy(self) -> Any:
        return new_policy(self.title, self.instance)

    def record(self) -> tuple[Arms, Arms]:
        return np.empty(self.horizon, dtype=np.int32), np.empty(self.horizon, dtype=np.int32)


def new_policy(title: str, instance: Instance) -> Any:
    """A policy that has seen nothing."""
    return POLICIES[title](
        instance.domain, kb.RBF(LENGTHSCALE), noise_scale=0.1, norm_bound=1.0, ridge=RIDGE
    )


def new_game(title: str, horizon: int = HORIZON) -> Game:
    streams = kb.Streams(SEED)
    instance = RKHSFunction(kb.RBF(LENGTHSCALE), dimension=2, candidates=ARMS).instance(streams)
    drawn = new_policy(title, instance).tables(horizon, streams)
    noise = instance.noise.draw(streams.uniforms("noise", horizon))
    return Game(title, instance, horizon, noise, (drawn.widths, drawn.weights, drawn.ties))


def play_compiled(game: Game) -> Outcome:
    """The rounds by kernelbandits.compiled.play_index, called as `kernelbandits.experiment` calls
    it."""
    state, record = game.policy().posterior.lend(), game.record()
    world = game.instance.values, game.noise
    start = time.perf_counter()
    compiled.play_index(state, world, game.tables, record, RIDGE, False, 1, game.horizon)
    return Outcome(time.perf_counter() - start, *record, state)


def play_whole(game: Game) -> Outcome:
    """The same rounds by `kb.play`, which draws the tables and audits the posterior as well."""
    policy, streams = game.policy(), kb.Streams(SEED)
    start = time.perf_counter()
    played = kb.play(policy, game.instance, game.horizon, streams, engine="numba")
    seconds = time.perf_counter() - start
    return Outcome(seconds, played.arms.astype(np.int32), played.recommended.astype(np.int32))


def ask_and_tell(game: Game) -> Outcome:
    """The same rounds by Python's `ask` and `tell`; only these two calls are timed."""
    policy, streams, clock = game.policy(), kb.Streams(SEED), time.perf_counter
    values, noise, (arms, recommended) = (
        game.instance.values.tolist(),
        game.noise.tolist(),
        game.record(),
    )
    seconds = 0.0
    for t in range(1, game.horizon + 1):
        start = clock()
        choice = policy.ask(t, streams)
        middle = clock()
        reward = values[choice.arm] + noise[t - 1]
        resumed = clock()
        policy.tell(choice, reward)
        seconds += clock() - resumed + middle - start
        arms[t - 1], recommended[t - 1] = choice.arm, policy.recommend()
    return Outcome(seconds, arms, recommended)


def demand_same(reference: Outcome, other: Outcome, name: str) -> None:
    """Refuse to compare the speeds of loops that play different arms or learn different things."""
    for ours, theirs in ((reference.arms, other.arms), (reference.recommended, other.recommended)):
        differs = np.flatnonzero(ours != theirs)
        if len(differs):
            first = int(differs[0]) + 1
            raise AssertionError(
                f"{name} needs the arms of the compiled loop, got others from round {first}"
            )
    for ours, theirs in zip(reference.state, other.state, strict=False):
        if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-9):
            raise AssertionError(
                f"{name} needs the state of the compiled loop, got {theirs} for {ours}"
            )
