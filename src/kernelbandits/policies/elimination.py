"""Batches of plays among the survivors; after each batch those that cannot be the best leave."""

from __future__ import annotations

import copy
import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, count
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms, argmax
from kernelbandits.kernels import Kernel, Matern
from kernelbandits.policies.about import ELIMINATION, About
from kernelbandits.policies.acquisition import StandardDeviation
from kernelbandits.policies.base import Policy, noise_ridge
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.round import Round
from kernelbandits.posterior import Posterior
from kernelbandits.widths import Width


class Elimination(Policy):
    """X_1 = all arms; after batch i, with mean and sd of that batch's rewards alone,

    X_{i+1} = { x in X_i : mean(x) + width sd(x) >= max over X_i of (mean - width sd) }.

    Every reward counts as a play of its batch, whoever asked for it; the last batch has no end.
    """

    lengths: tuple[int, ...]
    """The plays of each batch; they sum to the horizon."""
    width: Width
    survivors: Indices
    """The arms of the batch being played, in order."""
    batch_posterior: Posterior
    """What the batch being played has taught; in the first one that is all there is."""

    reuse_data: bool = False

    def _set_batches(
        self, lengths: tuple[int, ...], noise_scale: float, norm_bound: float, delta: float
    ) -> None:
        chance, arms = self._check_bounds(noise_scale, norm_bound, delta), len(self.domain)
        claims = arms * len(lengths)
        self.width = widths.fixed_design(
            noise_scale, norm_bound, self.posterior.ridge, chance, claims
        )
        self._scale = checks.number(type(self).__name__, "width", self.width(1, 0.0))
        self.lengths, self._ends = lengths, tuple(accumulate(lengths[:-1]))
        self.survivors, self.batch_posterior = np.arange(arms), self.posterior
        self.settings |= {"width": self.width.rule, "lengths": list(lengths), "gain": "none"}

    @property
    def number(self) -> int:
        """Which batch is being played, from 1."""
        return 1 + bisect(self._ends, self.posterior.events)

    def choose(self, now: Round) -> Choice:
        arm = self._pick_survivor(now.draw_tie())
        return self._choice_of_arm(arm, self.batch_posterior.sd, now, {})

    def plan(self, t: int, rng: Any) -> list[Choice]:
        """The choices of round t and all later ones of the batch: no reward of the batch enters them."""
        left = self.batch_end - self.posterior.events
        checks.needs(
            left > 0, "plan", "rounds left in the batch", f"{self.posterior.events} rewards"
        )
        twin, chosen = copy.deepcopy(self), []
        for number in range(t, t + left):
            choice = twin.ask(number, rng)
            known = {name: value for name, value in choice.note.items() if name != "mean"}
            chosen.append(Choice(choice.x, choice.arm, known))
            twin.batch_posterior.update(int(choice.arm or 0), 0.0)
        return chosen

    @property
    def batch_end(self) -> int:
        """The number of rewards after which the batch being played ends."""
        return (*self._ends, sum(self.lengths))[self.number - 1]

    def _pick_survivor(self, u: float) -> int:
        """The survivor to play, by the round's uniform."""
        raise NotImplementedError

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        ends = self.posterior.events + 1 in self._ends
        following = (
            self._fresh_posterior() if ends and not self.reuse_data else self.batch_posterior
        )
        self.posterior.update(arm, reward)
        if self.batch_posterior is not self.posterior:
            self.batch_posterior.update(arm, reward)
        if ends:
            self.survivors, self.batch_posterior = self._eliminate(), following

    def _eliminate(self) -> Indices:
        """The survivors with mean + width sd >= max (mean - width sd)."""
        mean, reach = (
            self.batch_posterior.mean[self.survivors],
            self._scale * self.batch_posterior.sd[self.survivors],
        )
        kept: Indices = self.survivors[mean + reach >= (mean - reach).max()]
        return kept

    def _note_arm(self, arm: int, sd: Array) -> dict[str, float]:
        """The estimate of the batch, its number and how many arms survive."""
        known = {"mean": float(self.batch_posterior.mean[arm]), "sd": float(sd[arm])}
        counts = {"batch": float(self.number), "survivors": float(len(self.survivors))}
        return known | counts


class BPE(Elimination):
    """Li & Scarlett (2022), batched pure exploration: play the greatest sd of the batch among the survivors,

    N_i = ceil(sqrt(T N_{i-1})), N_0 = 1, and width D + (R / sqrt(ridge)) sqrt(2 ln(2 |X| n_batches / delta)).

    With a number of `batches` B, N_i = ceil(T^((1 - decay^i) / (1 - decay^B))) for i < B and the rest to the last;
    decay is 1/2, or nu / (2 nu + d) for a Matern kernel. `reuse_data` never restarts the posterior, without a proof.
    The ridge is R^2 unless given.
    """

    about = About(
        name="bpe",
        title="BPE",
        family=ELIMINATION,
        paper="Li & Scarlett, Gaussian process bandit optimization with few batches, 2022",
        guarantee="regret O~(sqrt(T gamma_T)) with chance 1 - delta, in O(log log T) batches; less is "
        "proved for a fixed number",
        ours="the two-sided 2 in the logarithm; ridge no less than 1e-8; with a fixed number of "
        "batches each is cut at the rounds left; reuse_data has no proof",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        ridge: float | None = None,
        batches: int | None = None,
        decay: float | None = None,
        reuse_data: bool = False,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("BPE", "horizon", horizon)
        super().__init__(
            domain, kernel, ridge=noise_ridge("BPE", noise_scale, ridge), ties=ties, horizon=horizon
        )
        checks.needs(isinstance(reuse_data, bool), "BPE", "reuse_data True or False", reuse_data)
        self.reuse_data = reuse_data
        rate = (
            eigendecay(self.posterior.kernel, self.domain)
            if decay is None
            else checks.inside("BPE", "decay", decay)
        )
        wanted = square_roots(rounds)
        if batches is not None:
            wanted = powers(rounds, checks.whole("BPE", "batches", batches), rate)
        self._set_batches(cut_lengths(wanted, rounds), noise_scale, norm_bound, delta)
        self.settings |= {
            "batches": batches,
            "decay": rate if batches else None,
            "reuse_data": reuse_data,
        }
        self.settings["exploration"] = "the greatest sd among the survivors"

    def _pick_survivor(self, u: float) -> int:
        return int(self.survivors[argmax(self.batch_posterior.sd[self.survivors], self.ties, u)])


class REDS(Elimination):
    """Salgia, Vakili & Zhao (2024), random exploration with domain shrinking: every survivor with the same chance,

    N_{r+1} = 2 N_r, and width D + R sqrt((2 / ridge) ln(1 / delta')), delta' = delta / (2 |X| n_epochs).
    The ridge (their tau) is R^2 unless given.
    """

    about = About(
        name="reds",
        title="REDS",
        family=ELIMINATION,
        paper="Salgia, Vakili & Zhao, Random exploration in Bayesian optimization: order-optimal "
        "regret and computational efficiency, 2024",
        guarantee="regret O~(sqrt(T gamma_T)) if level sets are smooth images of a cube and the first "
        "epoch is long enough",
        ours="first_epoch = ceil(sqrt(T)), ridge R^2, and delta' = delta / (2 |X| n_epochs) over a"
        " finite set of arms",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        ridge: float | None = None,
        first_epoch: int | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("REDS", "horizon", horizon)
        super().__init__(
            domain,
            kernel,
            ridge=noise_ridge("REDS", noise_scale, ridge),
            ties=ties,
            horizon=horizon,
        )
        first = (
            ceil_root(rounds)
            if first_epoch is None
            else checks.whole("REDS", "first_epoch", first_epoch)
        )
        self._set_batches(cut_lengths(doublings(first), rounds), noise_scale, norm_bound, delta)
        self.settings |= {"first_epoch": first, "exploration": "uniform over the survivors"}

    def _pick_survivor(self, u: float) -> int:
        return int(self.survivors[int(u * len(self.survivors))])


class MVR(Policy):
    """Vakili et al. (2021), maximum variance reduction: always the arm of the greatest sd, whatever the rewards."""

    about = About(
        name="mvr",
        title="MVR",
        family=ELIMINATION,
        paper="Vakili, Bouziani, Jalali, Bernacchia & Shiu, Optimal order simple regret for "
        "Gaussian process bandits, 2021",
        guarantee="simple regret O~(sqrt(gamma_T / T)) of the arm of the greatest estimate; none for "
        "the regret of its plays",
        ours="ridge 1, and an arm may be played again, as on any finite set",
    )

    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self, domain: Any, kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._check_kernel()
        self.settings |= {"exploration": "the greatest sd", "gain": "none"}

    def acquisition(self, now: Round) -> StandardDeviation:
        return StandardDeviation()

    def score_arms(self, t: int) -> Array:
        """The sd of every arm."""
        checks.needs(self.finite, "index", "a finite set of arms", self.domain)
        sd: Array = self.posterior.sd
        return sd


def cut_lengths(wanted: Iterable[int], horizon: int) -> tuple[int, ...]:
    """The lengths wanted until the horizon is used up, none beyond the rounds left."""
    lengths, left = [], horizon
    for length in wanted:
        lengths.append(min(length, left))
        left -= lengths[-1]
        if not left:
            break
    return tuple(lengths)


def square_roots(horizon: int) -> Iterator[int]:
    """N_i = ceil(sqrt(T N_{i-1})), N_0 = 1."""
    length = 1
    while True:
        length = ceil_root(horizon * length)
        yield length


def powers(horizon: int, batches: int, decay: float) -> Iterator[int]:
    """N_i = ceil(T^((1 - decay^i) / (1 - decay^B))), i < B, and all that is left for i = B.

    A power that is whole up to rounding is not raised to the next number.
    """
    for i in range(1, batches):
        yield math.ceil(horizon ** ((1 - decay**i) / (1 - decay**batches)) * (1 - 1e-12))
    yield horizon


def doublings(first: int) -> Iterator[int]:
    """N_r = N_1 2^(r-1)."""
    return (first * 2**r for r in count())


def ceil_root(number: int) -> int:
    """ceil(sqrt(number)), exactly."""
    return math.isqrt(number - 1) + 1


def eigendecay(kernel: Kernel, arms: Arms) -> float:
    """nu / (2 nu + d) for a Matern kernel, 1/2 for all others."""
    return kernel.nu / (2 * kernel.nu + arms.dimension) if isinstance(kernel, Matern) else 0.5
