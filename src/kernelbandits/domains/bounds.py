"""Bounds in place of a domain: a list of pairs, or a dictionary of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelbandits import checks
from kernelbandits.domains.box import Box
from kernelbandits.domains.entries import as_variable, is_pair
from kernelbandits.domains.mixed import MixedBox
from kernelbandits.domains.variables import Variable


def as_domain(owner: str, domain: Any) -> Any:
    """Return a list of pairs as a box and a dictionary as a mixed box; all else as it is.

    `entries.as_variable` reads each variable of a dictionary. A list may contain variables, too.

    >>> from kernelbandits.domains import as_domain
    >>> as_domain("Auto", [(0, 1), (20, 90)])
    Box(lower=(0.0, 20.0), upper=(1.0, 90.0))
    >>> as_domain("Auto", {"heat": (20.0, 90.0), "acid": ["citric", "acetic"]}).variables
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
