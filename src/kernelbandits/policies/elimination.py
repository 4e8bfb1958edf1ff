"""Rules that play in batches and drop, after each batch, the arms that cannot be the best."""

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
from kernelbandits.kernels import Kernel, as_trusted
from kernelbandits.policies.about import ELIMINATION, About
from kernelbandits.policies.acquisition import StandardDeviation
from kernelbandits.policies.base import Policy, noise_ridge
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.round import Round
from kernelbandits.posterior import PartialPosterior, Posterior
from kernelbandits.widths import Width


class Elimination(Policy[Array]):
    """Play in batches; after each one, drop the arms whose upper bound is below a lower bound.

    X_1 = all arms. After batch i, with mean and sd of the rewards of that batch alone,

    X_{i+1} = { x in X_i : mean(x) + width sd(x) >= max over X_i of (mean - width sd) }.

    Every reward counts as a play of the current batch, also one that was not asked for. The last
    batch has no end.
    """

    lengths: tuple[int, ...]
    """The plays of each batch; they sum to the horizon."""
    width: Width
    survivors: Indices
    """The arms of the batch being played, in order."""
    batch_posterior: Posterior | PartialPosterior
    """The posterior of the rewards of the batch being played.

    In the first batch it is the common posterior itself; later it is kept for the survivors.
    """

    reuse_data: bool = False

    def _set_batches(
        self, lengths: tuple[int, ...], noise_scale: float, norm_bound: float, delta: float
    ) -> None:
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        arms = len(self.domain)
        # The bound must hold for every arm after every batch: delta is shared by that many claims.
        claims = arms * len(lengths)
        ridge = self.posterior.ridge
        self._set_width(widths.fixed_design(noise_scale, norm_bound, ridge, chance, claims))
        self.lengths = lengths
        self._ends = tuple(accumulate(lengths[:-1]))
        self.survivors = np.arange(arms)
        self.batch_posterior = self.posterior
        self.settings |= {"lengths": list(lengths), "gain": "none"}

    def _set_width(self, width: Width) -> None:
        self.width = width
        self._scale = checks.number(type(self).__name__, "width", width(1, 0.0))
        self.settings["width"] = width.rule

    @property
    def number(self) -> int:
        """Which batch is being played, from 1."""
        return 1 + bisect(self._ends, self.posterior.events)

    def choose(self, now: Round) -> Choice:
        arm = self._pick_survivor(now.draw_tie())
        (mean,), (sd,) = self._batch_estimates(np.array([arm]))
        note = {"mean": float(mean), "sd": float(sd), "batch": float(self.number)}
        note |= {"survivors": float(len(self.survivors))} | now.note(arm)
        return Choice(self.domain.points[arm], arm, note)

    def _batch_estimates(self, arms: Indices) -> tuple[Array, Array]:
        """Return mean and sd of some arms, by the rewards of the batch."""
        return self.batch_posterior.estimates(arms)

    def plan(self, t: int, rng: Any) -> list[Choice]:
        """Return the choices of round t and of all later rounds of the batch.

        No reward of the batch enters them, so they can be measured at the same time.
        """
        left = self.batch_end - self.posterior.events
        checks.needs(
            left > 0, "plan", "rounds left in the batch", f"{self.posterior.events} rewards"
        )
        twin, chosen = copy.deepcopy(self), []
        for number in range(t, t + left):
            choice = twin.ask(number, rng)
            # The copy is told zeros, since only the sd counts: its means say nothing.
            known = {name: value for name, value in choice.note.items() if name != "mean"}
            chosen.append(Choice(choice.x, choice.arm, known))
            twin.batch_posterior.update(int(choice.arm or 0), 0.0)
        return chosen

    @property
    def batch_end(self) -> int:
        """The number of rewards after which the batch being played ends."""
        return (*self._ends, sum(self.lengths))[self.number - 1]

    def _pick_survivor(self, u: float) -> int:
        """Return the survivor to play, by the round's uniform."""
        raise NotImplementedError

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        ends = self.posterior.events + 1 in self._ends
        # What evaluates the kernel comes first: if that fails, the reward has changed nothing.
        self.batch_posterior.keep(arm)
        self.posterior.update(arm, reward)
        if self.batch_posterior is not self.posterior:
            self.batch_posterior.update(arm, reward)
        if ends:
            self.survivors = self._eliminate(self.batch_posterior)
            if not self.reuse_data:
                kernel, ridge = as_trusted(self.posterior.kernel), self.posterior.ridge
                self.batch_posterior = PartialPosterior(
                    kernel, self.domain.points, ridge, self.survivors
                )

    def _eliminate(self, posterior: Posterior | PartialPosterior) -> Indices:
        """Return the survivors with mean + width sd >= max (mean - width sd)."""
        mean, sd = posterior.estimates(self.survivors)
        reach = self._scale * sd
        kept: Indices = self.survivors[mean + reach >= (mean - reach).max()]
        return kept


class BPE(Elimination):
    """Play, in each batch, the remaining arm of the greatest sd: batched pure exploration.

    After each batch the arms that cannot be the best are dropped (`Elimination`). Batch i has
    N_i = ceil(sqrt(T N_{i-1})) plays, N_0 = 1, and the width is

    D + (R / sqrt(ridge)) sqrt(2 ln(2 |X| n_batches / delta)).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    ridge
        By default R^2.
    batches
        A fixed number B of batches: N_i = ceil(T^((1 - decay^i) / (1 - decay^B))) for i < B, and
        the rest in the last batch.
    decay
        By default nu / (2 nu + d) for a kernel of smoothness nu, such as Matern, and 1/2 for
        smoother ones and where the smoothness is unknown; it needs `batches`.
    reuse_data
        Keep the rewards of earlier batches. Nothing is proved of that.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.BPE(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, horizon=100)
    >>> policy.lengths
    (10, 32, 57, 1)
    >>> [choice.arm for choice in policy.plan(1, kb.Streams(0))]
    [0, 2, 1, 2, 0, 1, 0, 2, 1, 0]
    """

    about = About(
        name="bpe",
        title="BPE",
        family=ELIMINATION,
        paper="Li & Scarlett, Gaussian process bandit optimization with few batches, 2022",
        guarantee="regret O~(sqrt(T gamma_T)) with probability 1 - delta, in O(log log T) batches; "
        "less is proved for a fixed number",
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
        usual = eigendecay(self.posterior.kernel, self.domain)
        rate = usual if decay is None else checks.inside("BPE", "decay", decay)
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
        sd = self._batch_estimates(self.survivors)[1]
        return int(self.survivors[argmax(sd, self.ties, u)])


class REDS(Elimination):
    """Play any remaining arm with the same probability: random exploration, domain shrinking.

    After each epoch the arms that cannot be the best are dropped (`Elimination`). Each epoch is
    twice as long as the one before, N_{r+1} = 2 N_r, and the width is

    D + R sqrt((2 / ridge) ln(1 / delta')), delta' = delta / (2 |X| n_epochs).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    ridge
        By default R^2; the paper calls it tau.
    first_epoch
        N_1; by default ceil(sqrt(T)).
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.REDS(arms, kb.RBF(0.3), noise_scale=0.01, norm_bound=1.0, horizon=70)
    >>> policy.lengths
    (9, 18, 36, 7)
    >>> for t in range(1, 71):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=1 - choice.x[0])
    >>> policy.survivors
    array([0])
    """

    about = About(
        name="reds",
        title="REDS",
        family=ELIMINATION,
        paper="Salgia, Vakili & Zhao, Random exploration in Bayesian optimization: order-optimal "
        "regret and computational efficiency, 2024",
        guarantee="regret O~(sqrt(T gamma_T)) if level sets are smooth images of a cube and the "
        "first epoch is long enough",
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
        epoch = ceil_root(rounds) if first_epoch is None else first_epoch
        first = checks.whole("REDS", "first_epoch", epoch)
        self._set_batches(cut_lengths(doublings(first), rounds), noise_scale, norm_bound, delta)
        self.settings |= {"first_epoch": first, "exploration": "uniform over the survivors"}

    def _pick_survivor(self, u: float) -> int:
        return int(self.survivors[int(u * len(self.survivors))])


class MVR(Policy[Point]):
    """Play the arm of the greatest sd, whatever the rewards are: maximum variance reduction.

    It explores only; the answer is the arm with the highest estimate after the last round
    (`recommend`).

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.MVR(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), ridge=0.01)
    >>> policy.tell(policy.choice(0), 5.0)
    >>> policy.score_arms(2).round(2)
    array([0.1 , 0.97, 1.  ])
    >>> policy.ask(2, kb.Streams(0)).arm, policy.recommend()
    (2, 0)
    """

    about = About(
        name="mvr",
        title="MVR",
        family=ELIMINATION,
        paper="Vakili, Bouziani, Jalali, Bernacchia & Shiu, Optimal order simple regret for "
        "Gaussian process bandits, 2021",
        guarantee="simple regret O~(sqrt(gamma_T / T)) of the arm of the greatest estimate; none "
        "for the regret of its plays",
        ours="ridge 1, and an arm may be played again, as on any finite set",
    )

    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self, domain: Playable[Point], kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._check_kernel()
        self.settings |= {"exploration": "the greatest sd", "gain": "none"}

    def acquisition(self, now: Round) -> StandardDeviation:
        return StandardDeviation()

    def score_arms(self, t: int) -> Array:
        """Return the sd of every arm."""
        checks.needs(self.finite, "index", "a finite set of arms", self.domain)
        sd: Array = self.posterior.sd
        return sd


def cut_lengths(wanted: Iterable[int], horizon: int) -> tuple[int, ...]:
    """Return the lengths wanted until the horizon is used up, none beyond the rounds left."""
    lengths, left = [], horizon
    for length in wanted:
        lengths.append(min(length, left))
        left -= lengths[-1]
        if not left:
            break
    return tuple(lengths)


def square_roots(horizon: int) -> Iterator[int]:
    """Yield N_i = ceil(sqrt(T N_{i-1})), N_0 = 1."""
    length = 1
    while True:
        length = ceil_root(horizon * length)
        yield length


def powers(horizon: int, batches: int, decay: float) -> Iterator[int]:
    """Yield the lengths N_i of B batches.

    N_i = ceil(T^((1 - decay^i) / (1 - decay^B))), i < B, and all that is left for i = B.

    A power that is whole up to rounding is not raised to the next number.
    """
    for i in range(1, batches):
        yield math.ceil(horizon ** ((1 - decay**i) / (1 - decay**batches)) * (1 - 1e-12))
    yield horizon


def doublings(first: int) -> Iterator[int]:
    """Return the lengths N_r = N_1 2^(r-1), one by one."""
    return (first * 2**r for r in count())


def ceil_root(number: int) -> int:
    """Return ceil(sqrt(number)), exactly."""
    return math.isqrt(number - 1) + 1


def eigendecay(kernel: Kernel, arms: Arms) -> float:
    """Return nu / (2 nu + d) for a kernel of smoothness nu; 1/2 if nu is infinite or unknown."""
    decay = kernel.eigendecay(arms.dimension)
    return 0.5 if decay is None else float((1 - decay.exponent) / 2)
