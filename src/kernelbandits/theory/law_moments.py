"""Second moments of an exploration schedule: what the mean-square bounds need of it.

Write e = (w - E w)^+ and, for a threshold b >= 1, q_t = P(w_t >= b). A round of a Generic-GP policy
loses at most c + w^+ + e / q_t bonuses in expectation given the past (docs/theory). The mean
over the rounds of the expected square of this number is

    c^2 + 2 c (E w^+ + E e / q) + E (w^+)^2 + 2 E w^+ e / q + E e^2 / q^2,

and takes the place of the expected maximum in the bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration import Bernoulli, Exploration, Law, chance_range
from kernelbandits.exploration.tails import area
from kernelbandits.theory.law_constants import Constants, constants, laws_of
from kernelbandits.theory.rounds import Laws, LawTable, Single, tabulate_laws

ROUNDING = 1e-12
"""By how much the probabilities of a law may differ from 1 in sum."""


@dataclass(frozen=True, eq=False)
class LawMoments:
    """The constants of a schedule over T rounds, and the moments of each of its laws.

    >>> import kernelbandits as kb
    >>> moments = kb.theory.LawMoments.of(kb.Bernoulli(0.25), 1000)
    >>> moments.least_chance, moments.is_certain, moments.counts
    (0.25, False, array([1000.]))
    """

    constants: Constants
    """C1, C2, C3 and C3' over the T rounds."""
    laws: Laws
    """The distinct laws, with the number of rounds of each."""
    realised: bool = False
    """Whether these are laws that a schedule chose from the past, as they were chosen."""
    certified: float = math.inf
    """How many bonuses a round costs at most by the schedule's own proof (`bonuses_per_round`)."""
    least_of_histories: float = math.inf
    """The smallest probability of a value over all histories, for a schedule that looks at them."""
    _known: dict[float, tuple[float, float, float]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(cls, exploration: Any, horizon: int) -> LawMoments:
        """Return the moments of a law or schedule, or of laws that were chosen, one a round.

        For a schedule that depends on the history, and whose least favourable law is known, they
        are those of that law.

        Examples
        --------
        >>> moments = LawMoments.of(Bernoulli(0.25), 1000)
        >>> moments.mean_square(1.0, 1.0)  # 3 + 1/p
        7.0
        """
        if isinstance(exploration, LawMoments):
            known = exploration.constants.horizon
            checks.needs(known == horizon, "regret_bound", f"moments at T = {horizon}", known)
            return exploration
        if is_sequence_of_laws(exploration):
            return cls.of_chosen_laws(exploration, horizon)
        chosen = Exploration.of(exploration)
        found, limits = constants(chosen, horizon), chance_range(chosen.source)
        if limits is None:
            return cls(found, laws_of(chosen, horizon))
        own = getattr(chosen.source, "bonuses_per_round", math.inf)
        least = min(limits[0], 1 - limits[1])
        laws = tabulate_laws({Bernoulli(limits[0]): horizon})
        return cls(found, laws, certified=own, least_of_histories=least)

    @classmethod
    def of_chosen_laws(cls, laws: Iterable[Law], horizon: int) -> LawMoments:
        """Return the moments of the laws that a schedule chose in the rounds 1..T."""
        counts = Counter(laws)
        checks.needs(
            counts.total() == horizon, "regret_bound", f"{horizon} chosen laws", counts.total()
        )
        found = tabulate_laws(counts)
        least = min(float(law.optimism.min()) for law in found)
        needed = "P(w >= 1) > 0 in every round"
        checks.needs(least > 0, "a regret bound", needed, least)
        # The maxima of laws that depend on the past are not those of independent weights.
        return cls(Constants(least, math.inf, math.inf, math.inf, horizon), found, realised=True)

    def drop_certificate(self) -> LawMoments:
        """Return these moments without the schedule's own proof, where it does not hold."""
        return replace(self, certified=math.inf)

    @cached_property
    def counts(self) -> Array:
        """How many rounds each law has."""
        return np.concatenate([rounds_of(law) for law in self.laws])

    @cached_property
    def optimism(self) -> Array:
        """C1 of each law."""
        return np.concatenate([law.optimism for law in self.laws])

    @cached_property
    def moments(self) -> Array:
        """E w^+, E (w^+)^2, E e, E e^2 and E w^+ e, a row for each law."""
        return np.vstack([moments_of(law) for law in self.laws])

    @property
    def is_certain(self) -> bool:
        """Whether every weight is known before it is drawn, as that of UCB is."""
        return bool((self.moments[:, 2] == 0).all())

    @cached_property
    def smallest_chances(self) -> Array:
        """The smallest probability of a value of each law; 0 for a law that is not discrete."""
        found = np.concatenate([least_chances(law) for law in self.laws])
        return np.asarray(np.minimum(found, self.least_of_histories))

    @property
    def least_chance(self) -> float:
        """q: the smallest probability of a value of a weight; 0 for a continuous law."""
        return float(self.smallest_chances.min())

    def chances_above(self, threshold: float) -> Array:
        """Return P(w >= b) of each law; b <= 1 counts as 1."""
        if threshold <= 1:
            return self.optimism
        return np.concatenate([chance_above(law, threshold) for law in self.laws])

    def mean_square(self, share: float, threshold: float) -> float:
        """Return the mean over rounds of E (c + w^+ + e / q)^2; infinite where P(w >= b) = 0."""
        first, second, _ = self._averages(max(1.0, threshold))
        own = self.certified**2 if threshold <= 1 else math.inf
        return min(share**2 + 2 * share * first + second, own)

    def largest_square(self, share: float, threshold: float) -> float:
        """Return max_t E (c + w^+ + e / q_t)^2 / (smallest probability of a value of w_t)."""
        above = self.chances_above(max(1.0, threshold))
        if not (above > 0).all():
            return math.inf
        size, square, excess, excess_square, product = self.moments.T
        with np.errstate(all="ignore"):
            first = size + excess / above
            second = square + 2 * product / above + excess_square / above**2
            found = float(((share**2 + 2 * share * first + second) / self.smallest_chances).max())
        return found if math.isfinite(found) else math.inf

    def expected_maximum(self, share: float, threshold: float) -> float:
        """Return an upper bound of E max_t (c + |w_t| + e_t / q_t).

        c + C2 + C3' max_t C1_t / q_t
        """
        ratio, tight = self._averages(max(1.0, threshold))[2], self.constants.c3_tight
        # A point mass below b has C3' = 0, but no round of it is optimistic.
        excess = tight * ratio if tight or ratio == math.inf else 0.0
        return share + self.constants.c2 + (math.inf if math.isnan(excess) else excess)

    def _averages(self, threshold: float) -> tuple[float, float, float]:
        """Return the means of E (w^+ + e / q) and of E (w^+ + e / q)^2, and max C1 / q.

        They are kept, because a search over bounds asks for the same threshold again and again.
        """
        if threshold not in self._known:
            chances = self.chances_above(threshold)
            self._known[threshold] = (
                self._averages_at(chances) if (chances > 0).all() else (math.inf,) * 3
            )
        return self._known[threshold]

    def _averages_at(self, chances: Array) -> tuple[float, float, float]:
        size, square, excess, excess_square, product = self.moments.T
        share = self.counts / self.counts.sum()
        with np.errstate(all="ignore"):
            first = share @ (size + excess / chances)
            second = share @ (square + 2 * product / chances + excess_square / chances**2)
            ratio = (self.optimism / chances).max()
        numbers = (float(first), float(second), float(ratio))
        return numbers if all(map(math.isfinite, numbers)) else (numbers[0], math.inf, numbers[2])


def is_sequence_of_laws(exploration: Any) -> bool:
    """Tell whether laws of single rounds are given, such as those that a schedule chose."""
    return isinstance(exploration, (list, tuple)) and all(
        isinstance(law, Law) for law in exploration
    )


def rounds_of(law: LawTable | Single) -> Array:
    return np.asarray(law.counts if isinstance(law, LawTable) else [law.count], dtype=float)


def least_chances(law: LawTable | Single) -> Array:
    """Return the smallest positive probability of a value of each law; 0 for a continuous one."""
    if isinstance(law, Single):
        return np.zeros(1)
    # A table may leave the value 0 out; it has the rest of the probability.
    rest = 1 - law.chances.sum(1, keepdims=True)
    every = np.hstack([law.chances, np.where(rest > ROUNDING, rest, 0.0)])
    return np.asarray(np.where(every > 0, every, np.inf).min(1))


def chance_above(law: LawTable | Single, threshold: float) -> Array:
    """Return P(w >= b) of each law."""
    if isinstance(law, LawTable):
        reached = law.values >= threshold
        return np.asarray(
            np.minimum(np.einsum("ij,ij->i", law.chances, reached.astype(float)), 1.0)
        )
    return np.array([float(law.law.tail(math.nextafter(threshold, -math.inf)))])


def moments_of(law: LawTable | Single) -> Array:
    """Return E w^+, E (w^+)^2, E e, E e^2 and E w^+ e of each law, e = (w - E w)^+."""
    if isinstance(law, Single):
        return np.array([moments_by_tails(law)])
    mean = law.expectation[:, None]
    above, excess = np.maximum(law.values, 0.0), np.maximum(law.values - mean, 0.0)
    # A table may leave the value 0 out; it has the rest of the probability.
    rest = np.maximum(1 - law.chances.sum(1), 0.0)
    at_zero = np.maximum(-mean[:, 0], 0.0)
    columns = (above, above**2, excess, excess**2, above * excess)
    found = np.column_stack([np.einsum("ij,ij->i", law.chances, column) for column in columns])
    found[:, 2] += rest * at_zero
    found[:, 3] += rest * at_zero**2
    return found


def moments_by_tails(single: Single) -> list[float]:
    """Return the moments of a law that is not discrete, from its tail; inf where one diverges.

    E Z = int P(Z > u) du

    If E w >= 0, w^+ e = e^2 + E w e; else it is (w^+)^2 - E w w^+.
    """
    mean = float(single.law.expectation)
    size, square = partial_moments(single, 0.0)
    excess, excess_square = partial_moments(single, mean)
    product = excess_square + mean * excess if mean >= 0 else square - mean * size
    return [size, square, excess, excess_square, product]


def partial_moments(single: Single, start: float) -> tuple[float, float]:
    """Return E (w - a)^+ and E ((w - a)^+)^2, with a = `start`."""
    tail, least = single.law.tail, single.least_tail
    atoms = [value - start for value in single.law.atoms if value > start]
    first = area(lambda u: tail(start + u), atoms, least)
    second = area(lambda s: tail(start + np.sqrt(s)), [a * a for a in atoms], least)
    return tuple(  # type: ignore[return-value]
        found.value + found.error if found.usable else math.inf for found in (first, second)
    )
