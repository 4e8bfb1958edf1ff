"""A finite set for those who need one."""

from __future__ import annotations

import warnings
from typing import Any

from kernelbandits.checks import DataNotice
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import Box
from kernelbandits.domains.mixed import MixedBox


def as_arms(domain: Any) -> Arms:
    """Arms as they are, a box by its declared cover, an (n, d) array as arms."""
    if isinstance(domain, (Box, MixedBox)):
        arms = domain.cover()
        text = f"the policy plays on {arms.origin}; {type(domain).__name__}.cover(size) declares another one"
        warnings.warn(text, DataNotice, stacklevel=4)
        return arms
    return domain if isinstance(domain, Arms) else Arms(domain)
