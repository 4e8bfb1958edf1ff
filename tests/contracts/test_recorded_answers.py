"""Commands and requests answer as they were recorded; see `recorded_calls.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
AGAIN = "PYTHONPATH=src:tests python tests/contracts/recorded_calls.py records anew"
ACCURACY = 1e-4
"""Of a number: the libraries of another machine add in another order."""


def find_change(before: Any, now: Any, where: str = "") -> str:
    """Where two recorded values first differ; "" if they are the same."""
    if isinstance(before, dict) and isinstance(now, dict) and list(before) == list(now):
        return next(filter(None, (find_change(before[k], now[k], f"{where}.{k}") for k in now)), "")
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return next(filter(None, (find_change(a, b, f"{where}[{i}]") for i, (a, b) in pairs)), "")
    numbers = all(type(one) in (int, float) for one in (before, now))
    same = now == pytest.approx(before, rel=ACCURACY, abs=ACCURACY) if numbers else now == before
    return "" if same else f"{where}: {before!r} is now {now!r}"


def test_commands_and_requests_answer_as_recorded(tmp_path):
    """In a process of its own, so that no other test changes what is said once."""
    out = tmp_path / "answers.json"
    paths = [str(HERE.parents[1] / "src"), str(HERE.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "recorded_calls.py"), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    now = json.loads(out.read_text("utf-8"))
    before = json.loads((HERE / "recorded_answers.json").read_text("utf-8"))
    assert [one["call"] for one in now] == [one["call"] for one in before], AGAIN
    changed = [
        f"{one['call']}{change}"
        for one, known in zip(now, before, strict=True)
        if (change := find_change(known, one))
    ]
    assert changed == [], AGAIN
