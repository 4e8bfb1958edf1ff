"""Durable ask and tell: events in storage, the policy rebuilt by replay."""

from typing import TYPE_CHECKING, Any

from kernelbandits.study.reconciliation import ResultsDiffer
from kernelbandits.study.sheets import SheetNotWritten
from kernelbandits.study.study import Study
from kernelbandits.study.targets import Target
from kernelbandits.study.values import (
    AlreadyTold,
    Best,
    Explained,
    Replayed,
    RowComparison,
    Status,
    Stop,
    Suggestion,
    Told,
)

if TYPE_CHECKING:
    from kernelbandits.study.model_check import Check

__all__ = [
    "AlreadyTold",
    "Best",
    "Check",
    "Explained",
    "Replayed",
    "ResultsDiffer",
    "RowComparison",
    "SheetNotWritten",
    "Status",
    "Stop",
    "Study",
    "Suggestion",
    "Target",
    "Told",
]


def __getattr__(name: str) -> Any:
    """Import `Check` when it is first used, because its module imports all policies."""
    if name != "Check":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kernelbandits.study.model_check import Check

    return Check
