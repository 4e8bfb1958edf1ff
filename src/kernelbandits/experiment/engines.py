"""One policy on one instance: round by round in Python, or all rounds in a compiled loop.

Both engines use the same random numbers and choose the same arms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Numbers
from kernelbandits.kernels import Linear
from kernelbandits.policies import GPTS, Choice, IndexPolicy, Policy
from kernelbandits.policies.base import valid_loop
from kernelbandits.posterior import ArmPosterior
from kernelbandits.problems import Instance, MovingInstance
from kernelbandits.runtime import is_installed, require
from kernelbandits.streams import Streams

ENGINES = ("auto", "numba", "numpy")
SAMPLE_ROUNDS = 4096
"""How many rounds of Thompson sampling the compiled loop plays at once: it holds 2 n normal numbers
for each of them."""


class RoundRecord(NamedTuple):
    """One round as it was played."""

    t: int
    choice: Choice
    reward: float


@dataclass(frozen=True)
class RunRecord:
    """All rounds of one policy on one instance."""

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
    """Yield (t, choice, reward) for each round; the caller stores, plots or stops."""
    check_game(policy, instance, horizon, streams)
    for t in range(1, horizon + 1):
        choice = policy.ask(t, streams)
        reward = instance.pull(int(choice.arm or 0), streams.uniform("noise", t), t)
        policy.tell(choice, reward)
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
    if loop:
        load_loops()
    start = time.perf_counter()
    if loop:
        loop(policy, instance, horizon, streams, (arms, recommended))
    else:
        for t, choice, _ in rounds(policy, instance, horizon, streams):
            arms[t - 1], recommended[t - 1] = int(choice.arm or 0), policy.recommend()
    return RunRecord(arms, recommended, time.perf_counter() - start, "numba" if loop else "numpy")


def check_game(policy: Policy, instance: Instance, horizon: int, streams: Streams) -> None:
    """Check that the policy plays on the arms of the instance, with a table of random numbers."""
    checks.whole("play", "horizon", horizon)
    checks.needs(isinstance(streams, Streams), "play", "a kb.Streams", streams)
    same = policy.finite and np.array_equal(policy.domain.points, instance.domain.points)
    checks.needs(
        same, "play", f"a policy on the arms of the instance, {instance.domain}", policy.domain
    )


def resolve_engine(engine: str) -> str:
    """numba where it is installed, else numpy; asking for numba without it is an error."""
    if engine == "numba":
        require("numba", extra="experiments", owner='engine "numba"')
    if engine == "auto":
        return "numba" if is_installed("numba") else "numpy"
    return engine


Loop = Callable[[Any, Instance, int, Streams, tuple[Numbers, Numbers]], None]


def find_loop(policy: Policy, instance: Instance) -> Loop | None:
    """The compiled loop that plays the policy on the instance, or None where Python has to.

    A policy declares its loop (`Policy.compiled_loop`). The loop works on an n x n covariance and
    a table of weights and of noise, so large pools, other posteriors, schedules that look at the
    history, replicates, noise that differs among arms and moving instances are played in Python.
    """
    if not policy.posterior.lends or instance.replicates is not None:
        return None
    if instance.noise_shares is not None:
        return None
    loop = valid_loop(type(policy), vars(policy))
    if isinstance(instance, MovingInstance) or loop is None:
        return None
    if loop == "samples":
        return play_samples
    rule: Any = policy
    return None if rule.exploration.uses_history else play_index


@cache
def load_loops() -> Any:
    """Import the compiled loops, and compile them by playing one round of each.

    It is done before the clock starts, so that measured times do not include it.
    """
    from kernelbandits import compiled

    posterior, table, one = ArmPosterior(Linear(), [[1.0]]), np.ones((1, 3)), np.zeros(1)
    record = np.empty(1, dtype=np.int32), np.empty(1, dtype=np.int32)
    compiled.play_index(posterior.lend(), (one, one), (table, one, one), record, 1.0, True, 1, 1)
    rows = np.zeros((1, 1))
    compiled.play_samples(
        posterior.lend(), (one, one), (table, one, rows, rows), record, 1.0, True, 1, 1
    )
    return compiled


def reward_tables(instance: Instance, horizon: int, streams: Streams) -> tuple[Array, Array]:
    """The mean rewards of the arms, and the noise of rounds 1..horizon."""
    values = np.array(instance.values)
    noise = np.array(instance.noise.draw(streams.uniforms("noise", horizon)))
    # The loop checks no rewards: the largest possible one must be one that `tell` would take.
    checks.reward(float(np.abs(values).max() + np.abs(noise).max()))
    return values, noise


def play_index(
    policy: IndexPolicy,
    instance: Instance,
    horizon: int,
    streams: Streams,
    record: tuple[Numbers, Numbers],
) -> None:
    """Play an index policy: mean + w_t width_t sd, with all widths and weights in tables."""
    tables = policy.tables(horizon, streams)
    numbers = (tables.widths, tables.weights, tables.ties)
    rewards = reward_tables(instance, horizon, streams)
    warn_beyond(policy, horizon)
    t = 1
    while t <= horizon:
        # The loop stops where the posterior is to be checked against counts and sums.
        last = min(horizon, t + policy.posterior.next_audit - policy.posterior.events - 1)
        t = advance(load_loops().play_index, policy, rewards, numbers, record, t, last)


def play_samples(
    policy: GPTS,
    instance: Instance,
    horizon: int,
    streams: Streams,
    record: tuple[Numbers, Numbers],
) -> None:
    """Play Thompson sampling, with the normal numbers of a few thousand rounds in tables."""
    rewards = reward_tables(instance, horizon, streams)
    warn_beyond(policy, horizon)
    t = 1
    while t <= horizon:
        due = t + policy.posterior.next_audit - policy.posterior.events - 1
        last = min(horizon, due, t + SAMPLE_ROUNDS - 1)
        tables = policy.sample_tables(t, last, streams)
        numbers = (tables.widths, tables.ties, tables.prior, tables.noise)
        t = advance(load_loops().play_samples, policy, rewards, numbers, record, t, last)


def advance(
    loop: Any, policy: Any, rewards: Any, tables: Any, record: Any, first: int, last: int
) -> int:
    """Play rounds first..last, and return the round to go on with.

    The loop stops earlier at a variance that rounding has made negative. The posterior is then
    computed again from counts and sums, and the round is played with it.
    """
    posterior = policy.posterior
    before = posterior.events
    state = posterior.lend()
    reached, sound = loop(
        state, rewards, tables, record, posterior.ridge, policy.ties == "lowest", first, last
    )
    posterior.take_back(state, suspicious=not sound)
    played, learnt = reached - first + 1, posterior.events - before
    checks.needs(
        learnt == played,
        "the compiled loop",
        f"to learn {played} rewards in {played} rounds",
        learnt,
    )
    if reached < first and not posterior.audit():
        raise ValueError(f"the best arm needs finite indices, got none in round {first}")
    return int(reached) + 1


def warn_beyond(policy: Policy, horizon: int) -> None:
    """Give the warning of rounds beyond the horizon of the policy, which the loop cannot give."""
    policy._check_round(max(horizon, 1))
