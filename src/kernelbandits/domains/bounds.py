"""Bounds in place of a domain: a list of pairs, or a dictionary of variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelbandits import checks
from kernelbandits.domains.box import Box
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.variables import Category, Real, Variable


def as_domain(owner: str, domain: Any) -> Any:
    """Return a list of pairs as a box and a dictionary as a mixed box; all else as it is.

    In a dictionary a pair of numbers is a real variable, and a list of texts, truth values or None
    is a choice without an order. A list may contain variables, too.

    >>> as_domain("Auto", [(0, 1), (20, 90)])
    Box(lower=(0.0, 20.0), upper=(1.0, 90.0))
    >>> as_domain("Auto", {"heat": (20, 90), "acid": ["citric", "acetic"]}).variables
    (Real(low=20.0, high=90.0), Category(values=('citric', 'acetic')))
    """
    if isinstance(domain, Mapping):
        return MixedBox({name: as_variable(owner, name, one) for name, one in domain.items()})
    if not isinstance(domain, (list, tuple)):
        return domain
    if domain and all(isinstance(one, Variable) for one in domain):
        return MixedBox(tuple(domain))
    pairs = bool(domain) and all(is_pair(one) for one in domain)
    needed = (
        "bounds [(low, high), ...], a dictionary of variables, a kb.Box, a kb.MixedBox, "
        "kb.Arms(table) or an (n, d) array"
    )
    checks.needs(pairs, owner, needed, domain)
    return Box(tuple(low for low, _ in domain), tuple(high for _, high in domain))


def as_variable(owner: str, name: Any, given: Any) -> Variable:
    """Return one entry of a dictionary of bounds as a variable."""
    if isinstance(given, Variable):
        return given
    if is_pair(given):
        return Real(*given)
    listed = isinstance(given, (list, tuple)) and len(given) > 0
    named = listed and any(one is None or isinstance(one, (str, bool)) for one in given)
    needed = (
        f"a pair (low, high), a list of texts or a variable such as kb.Integer(1, 8) for {name!r}"
    )
    checks.needs(named, owner, needed, given)
    return Category(tuple(given))


def is_pair(given: Any) -> bool:
    """Tell whether a value is a pair of numbers."""
    pair = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    return pair and all(checks.is_number(one) for one in given)
