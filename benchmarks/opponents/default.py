"""The default of this package: kb.Auto(domain), nothing else given."""

from __future__ import annotations

from typing import Any

import numpy as np

import kernelbandits as kb
from benchmarks.pools import Stage


class Default:
    def __init__(self, stage: Stage, opening: str) -> None:
        self.stage = stage
        self.policy = kb.Auto(stage.domain, opening=opening)
        self.choice: Any = None

    def ask(self, t: int) -> Any:
        self.choice = self.policy.ask(t, self.stage.streams)
        return self.choice.arm if self.stage.finite else self.choice.x

    def tell(self, move: Any, reward: float) -> None:
        self.policy.tell(self.choice, reward)

    def recommend(self) -> Any:
        named = self.policy.recommend()
        named = getattr(named, "arm" if self.stage.finite else "x", named)
        return int(named) if self.stage.finite else np.asarray(named)


def make(stage: Stage, opening: str = "middle") -> Default:
    return Default(stage, opening)
