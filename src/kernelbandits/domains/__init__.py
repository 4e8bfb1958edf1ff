"""What may be chosen, and the best of it: arms, boxes and mixed boxes, and the search for a best point."""

from __future__ import annotations

from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import COVER, Box, golden_ratio
from kernelbandits.domains.contextual import Contextual
from kernelbandits.domains.covers import as_arms
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.search import Found, maximise
from kernelbandits.domains.ties import TIE_TOLERANCE, TIES, argmax, tied
from kernelbandits.domains.variables import Category, Integer, Ordered, Real

__all__ = [
    "COVER",
    "TIES",
    "TIE_TOLERANCE",
    "Arms",
    "Box",
    "Category",
    "Contextual",
    "Found",
    "Integer",
    "MixedBox",
    "Ordered",
    "Real",
    "argmax",
    "as_arms",
    "golden_ratio",
    "maximise",
    "tied",
]
