"""A finite list of arms in place of a box, for policies that enumerate arms."""

from __future__ import annotations

import warnings
from typing import Any

from kernelbandits.checks import DataNotice
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import Box
from kernelbandits.domains.mixed import MixedBox


def as_arms(domain: Any) -> Arms:
    """Return arms unchanged, an (n, d) array as arms, and a box as its cover of 500 points.

    A notice says that the policy plays on a cover: what it finds is the best of these points.

    >>> import kernelbandits as kb
    >>> len(kb.domains.as_arms([[0.0], [0.5], [1.0]]))
    3
    >>> kb.domains.as_arms(kb.Box((0.0,), (1.0,))).points.shape
    (500, 1)
    """
    if isinstance(domain, (Box, MixedBox)):
        arms = domain.cover()
        name = type(domain).__name__
        text = f"the policy plays on {arms.origin}; {name}.cover(size) declares another one"
        warnings.warn(text, DataNotice, stacklevel=4)
        return arms
    return domain if isinstance(domain, Arms) else Arms(domain)
