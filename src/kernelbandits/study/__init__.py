"""Durable ask and tell: events in storage, the policy rebuilt by replay."""

from kernelbandits.study.model_check import Check
from kernelbandits.study.reconciliation import ResultsDiffer
from kernelbandits.study.study import Study
from kernelbandits.study.values import (
    AlreadyTold,
    Best,
    Explained,
    Replayed,
    Status,
    Stop,
    Suggestion,
    Told,
)

__all__ = [
    "AlreadyTold",
    "Best",
    "Check",
    "Explained",
    "Replayed",
    "ResultsDiffer",
    "Status",
    "Stop",
    "Study",
    "Suggestion",
    "Told",
]
