"""The root of the package: its names, where the others are, and its example."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import kernelbandits as kb
from kernelbandits import report, theory
from kernelbandits.report import studies

MODULES = {
    "calibration",
    "domains",
    "exploration",
    "insight",
    "kernels",
    "policies",
    "posterior",
    "problems",
    "theory",
}


UNLISTED = {
    "analysis",
    "catalogue",
    "experiment",
    "gest",
    "optuna",
    "report",
    "sklearn",
    "storage",
    "study",
    "verification",
}
"""Modules that are found at the root, and that `dir` does not list."""


def typed_names(package) -> set[str]:
    """What a package imports for type checkers only."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.name
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize(
    ("package", "modules"), [(kb, MODULES), (theory, set()), (report, set()), (studies, set())]
)
def test_the_names_of_a_package_are_the_same_in_its_three_lists(package, modules):
    names = {name for names in package.HOMES.values() for name in names} | modules
    assert set(package.__all__) == names
    assert typed_names(package) == names | (UNLISTED if package is kb else set())
    assert names <= set(dir(package))


@pytest.mark.parametrize("package", [kb, theory, report, studies])
def test_every_name_is_that_of_its_module(package):
    for home, names in package.HOMES.items():
        for name in names:
            assert getattr(package, name) is getattr(
                sys.modules[f"{package.__name__}.{home}"], name
            )


@pytest.mark.thorough
def test_all_modules_are_there_without_being_imported_first():
    code = "import kernelbandits as kb; kb.kernels.Polynomial, kb.posterior.ArmPosterior, kb.widths"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("AMMUCB", "kb.policies.AMMUCB"),
        ("Explanation", "kb.insight.Explanation"),
        ("Polynomial", "kb.kernels.Polynomial"),
        ("Frozen", "kb.exploration.Frozen"),
        ("ArmPosterior", "kb.posterior.ArmPosterior"),
        ("maximise", "kb.domains.maximise"),
        ("rounds", "kb.experiment.rounds"),
        ("StorageError", "kb.storage.StorageError"),
        ("regret_bound", "kb.theory.regret_bound"),
    ],
)
def test_a_name_that_is_not_at_the_root_is_found_in_its_module(name, place):
    message = f"kernelbandits has no '{name}' at its root: use {place}"
    with pytest.raises(AttributeError) as caught:
        getattr(kb, name)
    assert str(caught.value) == message
    assert eval(place) is not None


def test_a_policy_has_the_contract_and_no_insight():
    functions = {"explain", "leave_one_out", "relevance", "partial_dependence", "fitted_model"}
    assert functions <= set(dir(kb.insight))
    assert functions & {*dir(kb.Policy), *dir(kb.Auto)} == set()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="kernelbandits has no 'nothing'"):
        _ = kb.nothing
    with pytest.raises(AttributeError, match=r"kernelbandits\.theory has no 'nothing'"):
        _ = theory.nothing
    with pytest.raises(ImportError, match="nothing"):
        exec("from kernelbandits import nothing")


def test_the_example_of_the_package_runs():
    assert doctest.testmod(kb).attempted > 0
    assert doctest.testmod(kb).failed == 0
