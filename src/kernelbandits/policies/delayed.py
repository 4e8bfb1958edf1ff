"""Batched pure exploration where rewards come late: each batch waits for most of its rewards."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Indices
from kernelbandits.domains import argmax
from kernelbandits.policies.about import ELIMINATION, About
from kernelbandits.policies.base import noise_ridge
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.elimination import Elimination, cut_lengths, square_roots
from kernelbandits.policies.round import PendingView, Round
from kernelbandits.posterior import Posterior


@dataclass(frozen=True)
class Play:
    """A play of a batch, whose reward may still be pending."""

    arm: int
    batch: int
    known: int
    """By how many rewards the arms had been dropped from which it was chosen."""


class BPEDelay(Elimination):
    """Batched pure exploration with late rewards: a batch drops arms by the rewards it has by then.

    Within a batch the remaining arm of the greatest sd is played, which needs no reward. Batch i
    has q_i + u rounds, q_i = ceil(sqrt(T q_{i-1})), q_0 = 1: with t the last round of the q_i,

    u = E + min(sqrt(2 xi^2 l), 2 b l),   l = ln(3 t / (2 delta)),

    is how long most of the q_i rewards take. When it ends, arms are dropped by the rewards of the
    batch that have come (`Elimination`); those that come later change nothing any more. What has
    not come is what `ask(..., pending=)` names. Without delays it is `BPE`.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    mean_delay
        E, for how many rounds a reward is pending on average.
    delay_scale, delay_tail
        xi and b: delays are (xi, b)-sub-exponential.
    ridge
        By default R^2.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 100}
    >>> policy = kb.policies.BPEDelay(arms, kb.RBF(0.3), mean_delay=5.0, **settings)
    >>> policy.lengths, kb.policies.BPE(arms, kb.RBF(0.3), **settings).lengths
    ((15, 37, 48), (10, 32, 57, 1))
    """

    about = About(
        name="bpe-delay",
        title="BPE-Delay",
        family=ELIMINATION,
        paper="Vakili, Ahmed, Bernacchia & Pike-Burke, Delayed feedback in kernel bandits, 2023",
        guarantee="regret O~(sqrt(T gamma_T) + E[delay]) with probability 1 - delta, if the delays "
        "are sub-exponential and independent of the rewards (paper)",
        ours="the lengths are those of the authors' code, cut at T rounds; the width of BPE, with "
        "the two-sided 2 in the logarithm; no delay unless given; ridge no less than 1e-8",
    )
    imagines_pending = True
    batch_posterior: Posterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        mean_delay: float = 0.0,
        delay_scale: float = 0.0,
        delay_tail: float = 0.0,
        delta: float = 0.1,
        ridge: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("BPEDelay", "horizon", horizon)
        given = {"mean_delay": mean_delay, "delay_scale": delay_scale, "delay_tail": delay_tail}
        for name, value in given.items():
            checks.nonnegative("BPEDelay", name, value)
        own = noise_ridge("BPEDelay", noise_scale, ridge)
        super().__init__(domain, kernel, ridge=own, ties=ties, horizon=horizon)
        chance = checks.inside("BPEDelay", "delta", delta)
        wanted = waiting_lengths(rounds, chance, mean_delay, delay_scale, delay_tail)
        self._set_batches(cut_lengths(wanted, rounds), noise_scale, norm_bound, delta)
        self.settings |= given | {"exploration": "the greatest sd among the survivors"}
        self._number = 1
        self._log: list[tuple[int, int, float]] = []
        """Of the rewards of the batch: how many were known before, the arm and the reward."""

    @property
    def number(self) -> int:
        """The last batch of which something has come, from 1."""
        return self._number

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        """Return the pending plays. Their rewards are not imagined: most belong to old batches."""
        plays = [
            self._play_of(self._arm_of(choice), choice.note, place)
            for place, choice in enumerate(pending)
        ]
        return PendingView(self.posterior, 1.0, {"pending": float(len(plays))}, plays)

    def _play_of(self, arm: int, note: Mapping[str, float], before: int = 0) -> Play:
        """Return the play of a choice, by its note; without one it belongs to the present round."""
        batch = note.get("batch", self._batch_of_round(self.turn + before))
        return Play(arm, int(batch), int(note.get("known", self.posterior.events)))

    def _batch_of_round(self, t: int) -> int:
        return 1 + bisect(self._ends, t - 1)

    def choose(self, now: Round) -> Choice:
        plays: list[Play] = now.pending_places
        number = max(self._number, self._batch_of_round(self.turn + len(plays)))
        survivors, posterior, known = self.survivors, self.batch_posterior, self.posterior.events
        if number > self._number:
            # A batch that has begun, with plays that are pending, keeps the arms it began with.
            known = min((one.known for one in plays if one.batch > self._number), default=known)
            survivors, posterior = self._drop_arms(known), self._fresh_posterior()
        waiting = [one.arm for one in plays if one.batch == number]
        imagined = posterior.with_pending(waiting) if waiting else posterior
        place = argmax(imagined.sd[survivors], self.ties, now.draw_tie())
        arm = int(survivors[place])
        note = {"mean": float(posterior.mean[arm]), "sd": float(imagined.sd[arm])}
        note |= {"batch": float(number), "known": float(known)}
        note |= {"survivors": float(len(survivors))} | now.note(arm)
        return Choice(self.domain.points[arm], arm, note)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        play, events = self._play_of(arm, note), self.posterior.events
        # What evaluates the kernel comes first: if that fails, the reward has changed nothing.
        begun = self._begin_batch(play)
        self.posterior.update(arm, reward)
        self._take_batch(begun)
        if play.batch == self._number:
            if self.batch_posterior is not self.posterior:
                self.batch_posterior.update(arm, reward)
            self._log.append((events, arm, reward))

    def fail(self, choice: Choice) -> None:
        """Count a choice that gave no reward; its batch has begun."""
        begun = self._begin_batch(self._play_of(self._check_choice("fail", choice), choice.note))
        super().fail(choice)
        self._take_batch(begun)

    def _begin_batch(self, play: Play) -> tuple[int, Indices, Any] | None:
        """Return number, arms and posterior of the batch of a play, if it is a later one."""
        if play.batch <= self._number:
            return None
        return play.batch, self._drop_arms(play.known), self._fresh_posterior()

    def _take_batch(self, begun: tuple[int, Indices, Any] | None) -> None:
        if begun is not None:
            self._number, self.survivors, self.batch_posterior = begun
            self._log = []

    def _drop_arms(self, known: int) -> Indices:
        """Return the arms that the batch leaves, by those of its rewards among the first known."""
        log = [(arm, reward) for before, arm, reward in self._log if before < known]
        if not log:
            return self.survivors
        posterior = self.batch_posterior
        if len(log) < len(self._log):
            arms, rewards = zip(*log, strict=True)
            posterior, n = self._fresh_posterior(), len(self.domain)
            posterior.learn(np.bincount(arms, minlength=n), np.bincount(arms, rewards, n))
        return self._eliminate(posterior)


def waiting_lengths(
    horizon: int, delta: float, mean_delay: float, delay_scale: float, delay_tail: float
) -> Iterator[int]:
    """Yield the lengths q_i + u of the batches, without end."""
    past = 0.0
    for length in square_roots(horizon):
        doubt = math.log(1.5 * (past + length) / delta)
        wait = min(math.sqrt(2 * doubt) * delay_scale, 2 * delay_tail * doubt)
        past += length + mean_delay + wait
        yield math.floor(length + mean_delay + wait)
