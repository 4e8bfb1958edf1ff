"""Ways to break the engine on purpose, for tests that show that a check would notice.

Each function returns a function of `monkeypatch`; the breakage ends with the test.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits import widths
from kernelbandits.experiment import engines
from kernelbandits.exploration import Exploration, Law
from kernelbandits.posterior import Posterior
from kernelbandits.widths import Width

Breakage = Callable[[pytest.MonkeyPatch], None]

squared_sd = property(lambda self: np.maximum(self.variance, 0.0))
"""The variance in place of the standard deviation."""


def patched(owner: object, name: str, make: Callable) -> Breakage:
    """owner.name replaced by make(what it was)."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, make(getattr(owner, name)))


def default(owner: type, name: str, value: object) -> Breakage:
    """Another default of a keyword argument."""
    return lambda monkeypatch: monkeypatch.setitem(owner.__init__.__kwdefaults__, name, value)


def multiply_terms(a: float, b: float, c: float) -> Callable[..., Width]:
    """widths.self_normalised with its three numbers multiplied."""
    sound = widths.self_normalised

    def broken(*given: float) -> Width:
        terms = sound(*given).terms
        factors = (a, b, c)
        return Width(
            "broken", lambda t: tuple(f * term for f, term in zip(factors, terms(t), strict=True))
        )

    return broken


def widened(a: float, b: float, c: float) -> Breakage:
    """Every policy whose width is self-normalised uses a wrong one."""
    return patched(widths, "self_normalised", lambda sound: multiply_terms(a, b, c))


def looped(right: str, wrong: str) -> Breakage:
    """The compiled loop with one text replaced, as plain Python."""

    def broken(monkeypatch: pytest.MonkeyPatch) -> None:
        text = (Path(kb.__file__).parent / "compiled.py").read_text()
        assert right in text
        text = text.replace(right, wrong).replace("@compiled\n", "")
        lines = [line for line in text.splitlines() if "njit" not in line]
        space: dict = {}
        exec(compile("\n".join(lines), "broken.py", "exec", dont_inherit=True), space)
        monkeypatch.setattr(engines, "load_loops", lambda: SimpleNamespace(**space))

    return broken


def squared_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance for the sd on both engines."""
    monkeypatch.setattr(Posterior, "sd", squared_sd)
    looped("np.sqrt(max(variance[i], 0.0))", "max(variance[i], 0.0)")(monkeypatch)


def changed_weights(change: Callable[[np.ndarray], np.ndarray]) -> Breakage:
    """Both engines use changed weights."""

    class ChangedLaw:
        def __init__(self, law: Law) -> None:
            self.law, self.optimism = law, law.optimism

        def draw(self, u: float) -> float:
            return float(change(np.array(self.law.draw(u))))

    def broken(monkeypatch: pytest.MonkeyPatch) -> None:
        weights, law = Exploration.weights, Exploration.law
        monkeypatch.setattr(Exploration, "weights", lambda *given: change(weights(*given)))
        monkeypatch.setattr(Exploration, "law", lambda *given: ChangedLaw(law(*given)))

    return broken
