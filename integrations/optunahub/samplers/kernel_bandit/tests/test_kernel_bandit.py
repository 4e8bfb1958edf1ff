"""The package, loaded from a local folder as the hub loads it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import optuna
import optunahub
import pytest

PACKAGE = Path(__file__).parents[1]
REGISTRY = PACKAGE.parents[1]


@pytest.fixture
def load_locally(monkeypatch):
    def load(package):
        return optunahub.load_local_module(package, registry_root=str(REGISTRY))

    monkeypatch.setattr(optunahub, "load_module", load)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return load


def test_the_example_runs(load_locally, capsys):
    runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    assert "candidate" in capsys.readouterr().out


def test_the_snippets_of_the_readme_run(load_locally):
    snippets = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {})


def test_the_front_matter_has_what_the_hub_asks_for():
    head = (PACKAGE / "README.md").read_text().split("---")[1]
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    assert {"author", "title", "description", "tags", "optuna_versions", "license"} == set(fields)
    assert "sampler" in fields["tags"]
    assert fields["license"] == "MIT License"
