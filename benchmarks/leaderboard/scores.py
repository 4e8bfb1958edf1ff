"""The standings of the leaderboard: every policy over all problems of one horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

import numpy as np

from benchmarks.leaderboard.play import CATALOGUE
from benchmarks.leaderboard.problems import PROBLEMS
from benchmarks.leaderboard.rows import BoardRow, latest, standard_error
from kernelbandits.catalogue import POLICIES

OWN = "policies of your own"


@dataclass(frozen=True)
class Standing:
    """One policy over the problems of a board that it has played."""

    policy: str
    title: str
    problems: int
    """How many problems of the board it has played."""
    regret: float
    """The mean over problems of its regret, as a share of what uniform random play loses."""
    error: float
    """The standard error of `regret` over the seeds."""
    certified: float
    """The same mean of its certified regret."""
    regret_rank: float
    """The mean of its ranks; 1 is the least regret on a problem."""
    certified_rank: float
    exponent: float | None
    """The mean of its growth exponents."""
    milliseconds: float
    """The median over problems of the mean time of a round."""
    megabytes: float
    """The greatest over problems."""


@dataclass(frozen=True)
class Board:
    """All cells of one horizon."""

    horizon: int
    rows: tuple[BoardRow, ...]
    demanded: frozenset[str]
    """The policies that must have a row on a problem before it counts."""

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], BoardRow]:
        """The rows by problem and policy."""
        return {(row.problem, row.policy): row for row in self.rows}

    @cached_property
    def policies(self) -> Mapping[str, str]:
        """The policies with their titles, in the order of the catalogue, your own at the end."""
        present = {row.policy for row in self.rows}
        ordered = [name for name in CATALOGUE if name in present]
        return {name: title_of(name) for name in (*ordered, *sorted(present - set(ordered)))}

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """The problems of the standings: those on which no demanded policy is missing."""
        return tuple(
            problem
            for problem in PROBLEMS
            if all((problem, policy) in self.cells for policy in self.demanded)
        )

    def played(self, problem: str) -> list[BoardRow]:
        """Return the played cells of a problem."""
        return [row for row in self.rows if row.problem == problem and row.is_played]

    def ranks(self, problem: str, value: Callable[[BoardRow], float]) -> dict[str, int]:
        """Return policy -> 1 + the number of policies with a smaller value on the problem."""
        values = {row.policy: value(row) for row in self.played(problem)}
        return {
            policy: 1 + sum(other < own for other in values.values())
            for policy, own in values.items()
        }

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """The policies by regret; first those that have played all problems."""
        found = [one for name in self.policies if (one := self._stand(name))]
        return tuple(sorted(found, key=lambda one: (-one.problems, one.regret)))

    @property
    def complete(self) -> tuple[Standing, ...]:
        """The standings of the policies that have played all problems."""
        return tuple(one for one in self.standings if one.problems == len(self.problems))

    @cached_property
    def _ranks(self) -> Mapping[str, tuple[dict[str, int], dict[str, int]]]:
        """Problem -> the ranks of regret and of certified regret."""
        return {
            problem: (
                self.ranks(problem, lambda row: row.mean_regret),
                self.ranks(problem, lambda row: row.mean_certified),
            )
            for problem in self.problems
        }

    def _stand(self, policy: str) -> Standing | None:
        rows = [
            row
            for problem in self.problems
            if (row := self.cells.get((problem, policy))) and row.is_played
        ]
        if not rows:
            return None
        shares = np.array([np.array(row.regret) / row.uniform for row in rows]).mean(0)
        exponents = [row.exponent for row in rows if row.exponent is not None]
        ranks = [[of[policy] for of in self._ranks[row.problem]] for row in rows]
        return Standing(
            policy=policy,
            title=self.policies[policy],
            problems=len(rows),
            regret=float(shares.mean()),
            error=standard_error(shares.tolist()),
            certified=fmean(row.mean_certified / row.uniform for row in rows),
            regret_rank=fmean(regret for regret, _ in ranks),
            certified_rank=fmean(certified for _, certified in ranks),
            exponent=fmean(exponents) if exponents else None,
            milliseconds=1e3 * median(row.seconds for row in rows),
            megabytes=max(row.megabytes for row in rows),
        )


def make_boards(rows: Iterable[BoardRow]) -> list[Board]:
    """Return a board for each horizon that has rows.

    All policies of the catalogue that have any row are demanded; policies of your own may have been
    played on some problems only, and so may others with settings of yours.
    """
    kept = latest(rows)
    policies = {row.policy for row in kept}
    demanded = frozenset(policies & set(CATALOGUE)) or frozenset(policies)
    return [
        Board(horizon, tuple(row for row in kept if row.horizon == horizon), demanded)
        for horizon in sorted({row.horizon for row in kept})
    ]


def longest_complete(boards: Sequence[Board]) -> Board | None:
    """Return the board of the longest horizon on which no problem is missing."""
    most = max((len(board.problems) for board in boards), default=0)
    full = [board for board in boards if len(board.problems) == most]
    return full[-1] if most else None


def title_of(policy: str) -> str:
    """Return the title of a policy with the settings it was given; of your own its name.

    >>> title_of("simple-bernoulli:p=0.25"), title_of("mymodule:MyPolicy")
    ('Simple-Bernoulli (p=0.25)', 'MyPolicy')
    """
    name, _, rest = policy.partition(":")
    if name not in POLICIES:
        return rest
    return f"{POLICIES[name].title} ({rest})" if rest else POLICIES[name].title


def family_of(policy: str) -> str:
    """Return the family of a policy of the catalogue, or `OWN`."""
    entry = POLICIES.get(policy.partition(":")[0])
    return entry.about.family if entry else OWN
