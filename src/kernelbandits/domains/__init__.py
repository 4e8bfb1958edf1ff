"""Domains: what may be chosen, and the search for the best of it.

`Arms` is a finite list of points, `Box` a continuous box, `MixedBox` a box of real, whole, ordered
and unordered variables, and `Contextual` adds a context to any of them. `argmax` finds the best of
finitely many arms and `maximise` searches a box.

>>> import kernelbandits as kb
>>> space = kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("HCl", "AcOH"))})
>>> kb.Arms([[0.0], [0.5], [1.0]]).dimension, kb.Box((0.0,), (1.0,)).dimension, space.dimension
(1, 1, 3)
"""

from __future__ import annotations

from kernelbandits.domains.arms import Arms
from kernelbandits.domains.bounds import as_domain
from kernelbandits.domains.box import COVER, Box, golden_ratio
from kernelbandits.domains.constraints import (
    AtMost,
    Forbidden,
    LinearConstraint,
    parse_constraints,
)
from kernelbandits.domains.contextual import Contextual
from kernelbandits.domains.discretise import as_arms
from kernelbandits.domains.entries import parse_variable
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.parts import Part
from kernelbandits.domains.search import Maximum, maximise
from kernelbandits.domains.space_files import read_space
from kernelbandits.domains.ties import TIE_TOLERANCE, TIES, argmax, tied_arms
from kernelbandits.domains.variables import Category, Integer, Ordered, Real

__all__ = [
    "COVER",
    "TIES",
    "TIE_TOLERANCE",
    "Arms",
    "AtMost",
    "Box",
    "Category",
    "Contextual",
    "Forbidden",
    "Integer",
    "LinearConstraint",
    "Maximum",
    "MixedBox",
    "Ordered",
    "Part",
    "Real",
    "argmax",
    "as_arms",
    "as_domain",
    "golden_ratio",
    "maximise",
    "parse_constraints",
    "parse_variable",
    "read_space",
    "tied_arms",
]
