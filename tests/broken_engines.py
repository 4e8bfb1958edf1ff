"""Ways to break the engine that the tests of all judges share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernelbandits as kb
from kernelbandits import widths
from kernelbandits.experiment import engines
from kernelbandits.widths import Width


def times(a: float, b: float, c: float) -> Callable[..., Width]:
    """self_normalised with its three numbers multiplied."""
    sound = widths.self_normalised

    def broken(*given: float) -> Width:
        terms = sound(*given).terms
        return Width(
            "broken", lambda t: tuple(f * term for f, term in zip((a, b, c), terms(t), strict=True))
        )

    return broken


def loop(monkeypatch: pytest.MonkeyPatch, right: str, wrong: str) -> None:
    """The compiled loop with another text, as plain Python."""
    text = (Path(kb.__file__).parent / "compiled.py").read_text()
    assert right in text
    text = text.replace(right, wrong).replace("@compiled\n", "")
    lines = [line for line in text.splitlines() if "njit" not in line]
    space: dict = {}
    exec(compile("\n".join(lines), "broken.py", "exec", dont_inherit=True), space)
    monkeypatch.setattr(engines, "ready", lambda: SimpleNamespace(**space))


def patched(owner: object, name: str, make: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """owner.name replaced by make(of what it was)."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, make(getattr(owner, name)))


def looped(right: str, wrong: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: loop(monkeypatch, right, wrong)
