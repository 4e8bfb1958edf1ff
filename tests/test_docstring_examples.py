"""The examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text()
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert tried.attempted > 0
    assert tried.failed == 0
