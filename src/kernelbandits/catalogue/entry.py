"""What the catalogue says of one policy."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kernelbandits.policies import Policy


@dataclass(frozen=True)
class PolicyEntry:
    """A policy and what is known of it."""

    name: str
    title: str
    constructor: type[Policy]
    paper: str
    guarantee: str
    """What is proved, and for whom."""
    ours: str
    """Which constants or options are not the original's."""
    own: tuple[str, ...] = ()
    """Settings it takes only when they are given to it by name, never from those shared by all."""

    @cached_property
    def parameters(self) -> Mapping[str, bool]:
        """What it takes besides domain and kernel, the settings of its family included -> whether it must be given."""
        found = initial(self.constructor, ("exploration",))
        for cls in inspect.getmro(self.constructor)[1:]:
            if "settings" not in found:
                break
            found.pop("settings")
            found |= {
                name: must
                for name, must in initial(cls, ("settings",)).items()
                if name not in found
            }
        return found

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self.parameters)


def initial(cls: type, more: tuple[str, ...]) -> dict[str, bool]:
    """The keyword settings of a class's own constructor, `**settings` for those it hands on, and the others named."""
    parameters = inspect.signature(vars(cls).get("__init__", cls.__init__)).parameters.values()  # type: ignore[misc]
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default is p.empty for p in parameters if p.kind in kinds or p.name in more}
