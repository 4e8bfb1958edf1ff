"""What a judge says: a statement of the theory, what it predicts, what was seen, and whether that is as it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

HOLDS, FAILS = "holds", "fails"


@dataclass(frozen=True)
class Finding:
    """One statement, checked once."""

    judge: str
    """The judge's short name, as in `check-theory --only`."""
    statement: str
    """The formula or sentence, and for what it was checked."""
    predicted: str
    observed: str
    verdict: str
    """holds | fails: of the statement."""
    expected: str = HOLDS
    """What the verdict must be; `fails` for a statement known to be false."""
    detail: str = ""
    """The tolerance and where it comes from."""

    @property
    def right(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict == self.expected


def verdict(holds: bool) -> str:
    return HOLDS if holds else FAILS


@dataclass(frozen=True)
class Effort:
    """How much a judge may simulate: `scale` 1 as documented, less for a first look; all randomness comes from the seed."""

    seed: int = 0
    scale: float = 1.0

    def runs(self, usual: int, least: int = 20) -> int:
        """The usual number of runs, scaled."""
        return max(least, round(usual * self.scale))


Judge = Callable[[Effort], Iterator[Finding]]
