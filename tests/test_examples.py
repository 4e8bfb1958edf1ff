"""The examples and the README run as they are printed."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_says_something(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_adaptive_design_breaks_the_radius_far_more_often_than_1_by_t(capsys):
    example = runpy.run_path(str(ROOT / "examples" / "adaptive_design.py"), run_name="example")
    example["show_failures"]((100, 1000), runs=4000)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["100", "1000"]
    # 0.018 and 0.013, of 4000 runs each; 1/t is 0.01 and 0.001.
    assert abs(float(rows[0][1]) - 0.018) < 4 * (0.018 / 4000) ** 0.5
    assert abs(float(rows[1][1]) - 0.0128) < 4 * (0.0128 / 4000) ** 0.5


@pytest.mark.thorough
def test_an_example_runs_as_a_process_of_its_own(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "which_one_next.py"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_readme_examples_run_in_order():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert len(blocks) >= 3
    exec(compile("\n".join(blocks), "README.md", "exec"), {})
