"""Every public name has an example that runs, prints what it says, and can be copied alone."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import kernelbandits as kb

SOURCE = Path(__file__).parent.parent / "src"
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text()
)
PUBLIC = (
    *(f"kernelbandits.{name}" for name in kb.SEARCHED),
    "kernelbandits.analysis",
    "kernelbandits.catalogue",
    "kernelbandits.gest",
    "kernelbandits.optuna",
    "kernelbandits.report",
    "kernelbandits.sklearn",
    "kernelbandits.streams",
    "kernelbandits.tables",
    "kernelbandits.verification",
)
"""The modules whose public names a reader looks up, beside those of the root."""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert tried.attempted > 0
    assert tried.failed == 0


def public_docs(name):
    """Return the docstring of each public class, function and module of a module."""
    module = import_module(name)
    own = [
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", "").startswith(name)
    ]
    listed = {key: getattr(module, key) for key in getattr(module, "__all__", own)}
    return {
        key: value.__doc__ or ""
        for key, value in listed.items()
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)
    }


def unknown_names(example):
    """Return the names that an example uses and neither imports, assigns nor defines."""
    tree = ast.parse(
        "\n".join(part.source for part in doctest.DocTestParser().get_examples(example))
    )
    known, used = {*dir(builtins)}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else known).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return used - known


@pytest.mark.parametrize("module", ["kernelbandits", *PUBLIC])
def test_every_public_name_has_an_example_that_can_be_copied_alone(module):
    docs = public_docs(module)
    assert docs
    assert [name for name, doc in docs.items() if ">>>" not in doc] == []
    assert {name: unknown_names(doc) for name, doc in docs.items() if unknown_names(doc)} == {}
