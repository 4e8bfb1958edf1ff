"""One policy on one instance: round by round in Python, or all rounds in a compiled loop.

Both engines use the same random numbers and choose the same arms. Their estimates may differ in the
last digits (docs/experiments.md, "Two engines").
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Numbers
from kernelbandits.domains import Box
from kernelbandits.kernels import Linear
from kernelbandits.policies import GPTS, Choice, IndexPolicy, Policy
from kernelbandits.policies.base import valid_loop
from kernelbandits.posterior import (
    NO_ARM,
    NO_BOUNDS,
    ArmPosterior,
    LentPool,
    RowPosterior,
    ShortList,
)
from kernelbandits.problems import Instance, MovingInstance
from kernelbandits.runtime import available_memory, is_installed, require, require_memory
from kernelbandits.streams import Streams

ENGINES = ("auto", "numba", "numpy")
TABLE_ROUNDS = 16384
"""The random numbers of so many rounds are drawn at a time, so that their tables stay small."""
LEAST_POOL = 30_000
"""From so many arms on a short list is tried. Below, the rows stay in the caches of the processor,
and making a list takes longer than what it saves (benchmarks/results/scale.md)."""
FIRST_LIST = 256
"""After so many rounds the first short list is tried: before, most rounds play a new arm, and a
list serves for few of them."""
PAYING_ROUNDS, LONGEST_WAIT = 8, 512
"""A list that served for fewer rounds did not pay; at most so many rounds pass until the next."""
FIRST_ROWS = 64
"""A run on a pool does not begin unless there is memory for so many distinct arms."""
LOOK_AHEAD = 64
"""A list is made for the greatest weight of so many rounds."""
MOST_ROUNDS = 1 << 62
SAMPLE_NUMBERS = 1 << 18
"""About so many normal numbers of Thompson sampling are drawn at a time."""


class RoundRecord(NamedTuple):
    """One round as it was played.

    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import rounds
    >>> streams = kb.Streams(0)
    >>> instance = kb.problem("branin", candidates=20).instance(streams)
    >>> policy = kb.policies.Greedy(instance.domain, kb.RBF(0.2))
    >>> record = next(rounds(policy, instance, 10, streams))
    >>> record.t, record.choice.arm, round(record.reward, 3)
    (1, 5, 0.762)
    """

    t: int
    """The number of the round, counted from 1."""
    choice: Choice
    """What the policy played."""
    reward: float
    """What it got for it, with noise."""


@dataclass(frozen=True)
class RunRecord:
    """All rounds of one policy on one instance.

    >>> import kernelbandits as kb
    >>> streams = kb.Streams(0)
    >>> instance = kb.problem("branin", candidates=20).instance(streams)
    >>> policy = kb.policies.Greedy(instance.domain, kb.RBF(0.2))
    >>> record = kb.play(policy, instance, 4, streams, engine="numpy")
    >>> record.arms.tolist(), record.recommended.tolist(), record.engine
    ([5, 5, 5, 5], [5, 5, 5, 5], 'numpy')
    """

    arms: Numbers
    """The arm played in each round."""
    recommended: Numbers
    """The arm recommended after each round."""
    seconds: float
    """How long the rounds took, without the time to compile."""
    engine: str
    """The engine that played them, "numba" or "numpy"."""


def rounds(
    policy: Policy, instance: Instance, horizon: int, streams: Streams
) -> Iterator[RoundRecord]:
    """Yield (t, choice, reward) for each round; the caller stores, plots or stops.

    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import rounds
    >>> streams = kb.Streams(0)
    >>> instance = kb.problem("branin", candidates=20).instance(streams)
    >>> policy = kb.policies.UniformRandom(instance.domain, kb.RBF(0.2))
    >>> for t, choice, reward in rounds(policy, instance, 100, streams):
    ...     if reward > 0.95:
    ...         break
    >>> t, choice.arm, round(reward, 3)
    (9, 12, 1.007)
    """
    check_game(policy, instance, horizon, streams)
    waiting: deque[tuple[Choice, float]] = deque()
    for t in range(1, horizon + 1):
        context, late = instance.context(t), [choice for choice, _ in waiting]
        if context is None and not late:
            choice = policy.ask(t, streams)
        else:
            choice = policy.ask(t, streams, context=context, pending=late)
        reward = instance.pull(instance.number(choice), streams.uniform("noise", t), t)
        waiting.append((choice, reward))
        if len(waiting) > instance.delay:
            policy.tell(*waiting.popleft())
        yield RoundRecord(t, choice, reward)


def play(
    policy: Policy, instance: Instance, horizon: int, streams: Streams, engine: str = "auto"
) -> RunRecord:
    """Play a policy on an instance of a problem for `horizon` rounds.

    Parameters
    ----------
    policy
        A policy on the arms of the instance. It learns the rewards as if `tell` had been called.
    instance
        `kb.problem(name).instance(streams)`.
    horizon
        How many rounds are played.
    streams
        The random numbers of noise, weights and ties.
    engine
        "numpy" plays round by round in Python; "numba" plays all rounds in a compiled loop where
        the policy has one; "auto" is numba where it is installed. Both choose the same arms.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> streams = kb.Streams(0)
    >>> instance = kb.problem("branin", candidates=20).instance(streams)
    >>> policy = kb.SimpleUCB(instance.domain, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0)
    >>> record = kb.play(policy, instance, 50, streams)
    >>> len(record.arms), policy.n_rewards
    (50, 50)
    >>> regret = instance.regrets(record.arms).sum()
    """
    checks.one_of("play", "engine", engine, ENGINES)
    check_game(policy, instance, horizon, streams)
    arms, recommended = np.empty(horizon, dtype=np.int32), np.empty(horizon, dtype=np.int32)
    loop = find_loop(policy, instance) if resolve_engine(engine) == "numba" else None
    state_memory(policy, horizon)
    if loop:
        load_loops()
    start = time.perf_counter()
    if loop:
        loop(policy, instance, horizon, streams, (arms, recommended))
    else:
        for t, choice, _ in rounds(policy, instance, horizon, streams):
            arms[t - 1], recommended[t - 1] = (
                instance.number(choice),
                instance.recommended(policy, t),
            )
    return RunRecord(arms, recommended, time.perf_counter() - start, "numba" if loop else "numpy")


def check_game(policy: Policy, instance: Instance, horizon: int, streams: Streams) -> None:
    """Check that the policy plays on the arms of the instance, with a table of random numbers."""
    checks.whole("play", "horizon", horizon)
    checks.needs(isinstance(streams, Streams), "play", "a kb.Streams", streams)
    same = policy.domain is instance.domain
    if not same and policy.finite and isinstance(instance.domain, Box):
        # A rule that does not play boxes plays on a finite cover of it.
        same = True
    elif not same and policy.finite:
        same = np.array_equal(policy.domain.points, instance.domain.points)
    checks.needs(
        same, "play", f"a policy on the arms of the instance, {instance.domain}", policy.domain
    )


def state_memory(policy: Policy, horizon: int) -> None:
    """Refuse a run on a pool that cannot begin, and say if its later rounds may not fit.

    The rows of a pool take 8 bytes for each arm and each distinct arm played. How many arms will be
    played is not known beforehand, so memory for some of them is demanded, and a run that fits only
    if it repeats arms is played with a notice.
    """
    posterior = policy.posterior
    if not posterior.memory(1):
        return
    n, held = len(posterior.mean), posterior.memory(posterior.distinct)
    most = min(n, posterior.distinct + horizon)
    least = posterior.memory(min(most, posterior.distinct + FIRST_ROWS)) - held
    purpose = f"play on {n} arms, with the rows of the first {FIRST_ROWS} that are played,"
    require_memory(purpose, least, "fewer arms or rounds need less")
    free, needed = available_memory(), posterior.memory(most) - held
    if free is not None and needed > free:
        warnings.warn(
            f"play: {horizon} rounds on {n} arms need up to {needed / 1e9:.1f} GB if every round "
            f"plays another arm; {free / 1e9:.1f} GB are free",
            DataNotice,
            stacklevel=3,
        )


def resolve_engine(engine: str) -> str:
    """Resolve "auto" to numba where it is installed, else to numpy; refuse numba without it."""
    if engine == "numba":
        require("numba", extra="experiments", owner='engine "numba"')
    if engine == "auto":
        return "numba" if is_installed("numba") else "numpy"
    return engine


Loop = Callable[[Any, Instance, int, Streams, tuple[Numbers, Numbers]], None]


def find_loop(policy: Policy, instance: Instance) -> Loop | None:
    """Return the compiled loop that plays the policy on the instance; None where Python has to.

    A policy declares its loop (`Policy.compiled_loop`). The loops work on an n x n covariance, or
    on the rows of a pool, and a table of weights and of noise. So other posteriors, Thompson
    sampling on large pools, schedules that look at the history, replicates, noise that differs
    among arms and moving instances are played in Python.
    """
    if policy.posterior.loop_form is None or instance.replicates is not None:
        return None
    if instance.noise_shares is not None or instance.delay:
        return None
    loop = valid_loop(type(policy), vars(policy))
    if isinstance(instance, MovingInstance) or not instance.finite or loop is None:
        return None
    pool = policy.posterior.loop_form == "rows"
    if loop == "samples":
        return None if pool else play_samples
    rule: Any = policy
    if rule.exploration.uses_history:
        return None
    return play_pool if pool else play_index


@cache
def load_loops() -> Any:
    """Import the compiled loops, and compile them by playing one round of each.

    It is done before the clock starts, so that measured times do not include it.
    """
    from kernelbandits import compiled

    table, one, row = np.ones((1, 3)), np.zeros(1), np.zeros((1, 1))
    record = np.empty(1, dtype=np.int32), np.empty(1, dtype=np.int32)
    arms, pool = ArmPosterior(Linear(), [[1.0]]), RowPosterior(Linear(), [[1.0]])
    # numba compiles a loop for the layouts it is given: read-only means, as those of an instance.
    one.flags.writeable = False
    rest = record, 1.0, True, 1, 1
    compiled.play_index(arms.lend(), (one, np.zeros(1)), (table, np.zeros(1), np.zeros(1)), *rest)
    compiled.play_samples(arms.lend(), (one, np.zeros(1)), (table, np.zeros(1), row, row), *rest)
    tables = table, np.zeros(1), np.zeros(1)
    lent, work = pool.lend(), pool_memory(1, compiled.ARMS_AT_ONCE)
    fresh = lent.add_arm(0)
    compiled.play_pool(lent.arrays, work, (one, np.zeros(1)), tables, *rest, NO_BOUNDS, fresh)
    return compiled


def chunks(horizon: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of successive pieces of the rounds 1..horizon.

    They end before multiples of `size`, as the blocks of random numbers do.
    """
    first = 1
    while first <= horizon:
        last = min(horizon, (first // size + 1) * size - 1)
        yield first, last
        first = last + 1


@dataclass(frozen=True)
class Chunk:
    """Successive rounds of a run with their random numbers and the place of their results."""

    first: int
    last: int
    values: Array
    """The mean rewards of the arms."""
    noise: Array
    tables: tuple[Array, ...]
    """The tables of the loop: widths, weights, ties and others."""
    record: tuple[Numbers, Numbers]
    """The arms played and recommended."""

    def cut(self, first: int, last: int) -> tuple[Any, Any, Any]:
        """Return (values, noise), tables and record of some of the rounds, for a loop."""
        here = slice(first - self.first, last + 1 - self.first)
        tables = tuple(table[here] for table in self.tables)
        return (self.values, self.noise[here]), tables, tuple(part[here] for part in self.record)


def draw_chunk(
    tables: tuple[Array, ...], instance: Instance, streams: Streams, record: Any, *ends: int
) -> Chunk:
    """Return the rounds between two ends with the rewards of the instance."""
    first, last = ends
    noise = np.array(instance.noise.draw(streams.uniforms("noise", last, first)))
    # The loop checks no rewards: the largest possible one must be one that `tell` would take.
    checks.reward(float(np.abs(instance.values).max() + np.abs(noise).max()))
    here = tuple(part[first - 1 : last] for part in record)
    return Chunk(first, last, instance.values, noise, tables, here)


def play_index(
    policy: IndexPolicy,
    instance: Instance,
    horizon: int,
    streams: Streams,
    record: tuple[Numbers, Numbers],
) -> None:
    """Play an index policy: mean + w_t width_t sd, with widths and weights in tables."""
    warn_beyond(policy, horizon)
    for ends in chunks(horizon, TABLE_ROUNDS):
        drawn = policy.tables(ends[1], streams, ends[0])
        tables = drawn.widths, drawn.weights, drawn.ties
        play_chunk("play_index", policy, draw_chunk(tables, instance, streams, record, *ends))


def play_samples(
    policy: GPTS,
    instance: Instance,
    horizon: int,
    streams: Streams,
    record: tuple[Numbers, Numbers],
) -> None:
    """Play Thompson sampling, with the normal numbers of some rounds in tables."""
    warn_beyond(policy, horizon)
    fitting = max(64, min(TABLE_ROUNDS, SAMPLE_NUMBERS // len(policy.domain)))
    # A power of two, as the blocks of the streams: others would be drawn twice.
    for ends in chunks(horizon, 1 << (fitting.bit_length() - 1)):
        drawn = policy.sample_tables(*ends, streams)
        tables = drawn.widths, drawn.ties, drawn.prior, drawn.noise
        play_chunk("play_samples", policy, draw_chunk(tables, instance, streams, record, *ends))


def play_chunk(name: str, policy: Any, chunk: Chunk) -> None:
    """Play the rounds of a chunk by a loop that works on a covariance."""
    t = chunk.first
    while t <= chunk.last:
        last = min(chunk.last, next_stop(policy, t))
        problem, tables, record = chunk.cut(t, last)
        t = 1 + advance(getattr(load_loops(), name), policy, problem, tables, record, t, last)


def play_pool(
    policy: IndexPolicy,
    instance: Instance,
    horizon: int,
    streams: Streams,
    record: tuple[Numbers, Numbers],
) -> None:
    """Play an index policy on a pool, on all arms or on a short list of them (`PoolRun`)."""
    warn_beyond(policy, horizon)
    run = PoolRun(policy)
    for ends in chunks(horizon, TABLE_ROUNDS):
        drawn = policy.tables(ends[1], streams, ends[0])
        tables = drawn.widths, drawn.weights, drawn.ties
        run.play(draw_chunk(tables, instance, streams, record, *ends))


def pool_memory(n: int, arms_at_once: int) -> tuple[Array, Array, Array, Array]:
    """Return memory for the loop on n arms: index, column, largest index and mean of each block."""
    n_blocks = -(-n // arms_at_once)
    return np.empty(n), np.zeros(n), np.empty(n_blocks), np.empty(n_blocks)


class PoolRun:
    """An index policy on a pool, played by the compiled loop.

    The loop stops at the first play of an arm: Python evaluates the kernel, which may be any
    function, finds memory for the row, and calls the loop again, which computes the row as it plays
    the arm.

    From `LEAST_POOL` arms and `FIRST_LIST` rounds on, a short list is tried. While lists serve for
    few rounds only, the next one is tried after twice as many rounds.
    """

    def __init__(self, policy: IndexPolicy) -> None:
        self.policy: Any = policy
        self.pool: RowPosterior = policy.posterior
        self._loops = load_loops()
        self._work = pool_memory(len(self.pool.mean), self._loops.ARMS_AT_ONCE)
        self._wait = 1
        self._left = FIRST_LIST if len(self.pool.mean) >= LEAST_POOL else MOST_ROUNDS
        """Rounds to play on all arms before a list is tried."""

    def play(self, chunk: Chunk) -> None:
        """Play the rounds of a chunk."""
        t = chunk.first
        while t <= chunk.last:
            stop = next_stop(self.policy, t)
            if self._left <= 0 and stop > t:
                t = self._play_list(chunk, t, min(chunk.last, stop - 1))
            else:
                t = self._play_all(chunk, t, min(chunk.last, t + max(self._left, 1) - 1))

    def _play_all(self, chunk: Chunk, first: int, last: int) -> int:
        """Play on all arms up to an audit; return the next round."""
        lent, t, sound = self.pool.lend(), first, True
        before, fresh, stop = self.pool.events, NO_ARM, 0
        try:
            while stop >= 0:
                # The more arms have a row, the later is the audit.
                end = min(last, next_stop(self.policy, first))
                game = (self._work, *chunk.cut(t, end))
                t, sound, stop = self._advance(lent, game, t, end, NO_BOUNDS, fresh)
                if stop >= 0:
                    fresh = lent.add_arm(stop)
        finally:
            self.pool.take_back(lent, suspicious=not sound)
        demand_learnt(t - first, self.pool.events - before)
        if t == first and not self.pool.audit():
            raise ValueError(f"the best arm needs finite indices, got none in round {first}")
        self._left -= t - first
        return t

    def _play_list(self, chunk: Chunk, first: int, last: int) -> int:
        """Play on a short list while no other arm can be better; return the next round."""
        weights = chunk.tables[1][first - chunk.first :][:LOOK_AHEAD]
        width = self.policy.width_at(first)
        chosen = ShortList(self.pool, width * max(float(weights.max()), 0.0))
        t, sound, stop = first, True, self._loops.NO_STOP
        try:
            t, sound, stop = self._advance_list(chosen, chunk, first, last)
        finally:
            # Also after an error, for example of the kernel, the pool knows all rewards.
            chosen.absorb()
        self.pool.audit_if_due(suspicious=not sound)
        if stop == self._loops.UNKNOWN_BEST:
            chunk.record[1][t - 1 - chunk.first] = self.pool.mean.argmax()
        self._wait = 1 if t - first >= PAYING_ROUNDS else min(2 * self._wait, LONGEST_WAIT)
        self._left = self._wait
        return t

    def _advance_list(
        self, chosen: ShortList, chunk: Chunk, first: int, last: int
    ) -> tuple[int, bool, int]:
        """Play on a short list up to a stop; return the next round, soundness and the reason."""
        work = pool_memory(len(chosen.arms), self._loops.ARMS_AT_ONCE)
        values = chunk.values[chosen.arms]
        # Read-only, as those of an instance: numba would compile the loop again.
        values.flags.writeable = False
        lent, t, sound, fresh, stop = chosen.part.lend(), first, True, NO_ARM, 0
        try:
            while stop >= 0:
                (_, noise), tables, record = chunk.cut(t, last)
                game = work, (values, noise), tables, record
                bounds = chosen.bounds(lent.arms)
                t, sound, stop = self._advance(lent, game, t, last, bounds, fresh)
                if stop >= 0:
                    chosen.reserve_row()
                    fresh = lent.add_arm(stop)
        finally:
            chosen.part.take_back(lent, suspicious=False)
        for arms in chunk.cut(first, t - 1)[2]:
            arms[:] = chosen.arms[arms]
        return t, sound, stop

    def _advance(
        self, lent: LentPool, game: Any, first: int, last: int, bounds: Any, fresh: Any
    ) -> tuple[int, bool, int]:
        """Call the loop; return the next round, soundness, and an arm without a row or a reason."""
        rule = self.pool.ridge, self.policy.ties == "lowest"
        reached, sound, stop = self._loops.play_pool(
            lent.arrays, *game, *rule, first, last, bounds, fresh
        )
        return int(reached) + 1, bool(sound), int(stop)


def next_stop(policy: Any, t: int) -> int:
    """Return the round after which the posterior is to be checked against counts and sums."""
    return int(t + policy.posterior.next_audit - policy.posterior.events - 1)


def advance(
    loop: Any, policy: Any, problem: Any, tables: Any, record: Any, first: int, last: int
) -> int:
    """Play rounds first..last on a covariance; return the last round played.

    The loop stops earlier at a variance that rounding has made negative. The posterior is then
    computed again from counts and sums, and the next round is played with it.
    """
    posterior = policy.posterior
    before = posterior.events
    state = posterior.lend()
    rest = posterior.ridge, policy.ties == "lowest", first, last
    reached, sound = loop(state, problem, tables, record, *rest)
    posterior.take_back(state, suspicious=not sound)
    demand_learnt(reached - first + 1, posterior.events - before)
    if reached < first and not posterior.audit():
        raise ValueError(f"the best arm needs finite indices, got none in round {first}")
    return int(reached)


def demand_learnt(played: int, learnt: int) -> None:
    """Check that a loop has learnt a reward in each round it played."""
    checks.needs(
        learnt == played,
        "the compiled loop",
        f"to learn {played} rewards in {played} rounds",
        learnt,
    )


def warn_beyond(policy: Policy, horizon: int) -> None:
    """Give the warning of rounds beyond the horizon of the policy, which the loop cannot give."""
    policy._check_round(max(horizon, 1))
