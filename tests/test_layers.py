"""The import graph: a package imports only packages of lower layers, or neighbours named here."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import kernelbandits

ROOT = Path(kernelbandits.__file__).parent

LAYER = {
    "censored": 0,
    "checks": 0,
    "codec": 0,
    "formatting": 0,
    "markup": 0,
    "measuring": 0,
    "processes": 0,
    "runtime": 0,
    "canvas": 0,
    "outputs": 0,
    "row_index": 0,
    "streams": 0,
    "kernels": 1,
    "domains": 1,
    "posterior": 1,
    "calibration": 1,
    "compiled": 1,
    "exploration": 1,
    "tables": 1,
    "widths": 1,
    "theory": 1,
    "problems": 2,
    "policies": 2,
    "catalogue": 3,
    "insight": 3,
    "storage": 3,
    "experiment": 4,
    "verification": 4,
    "analysis": 4,
    "study": 4,
    "optimization": 5,
    "report": 5,
    "apps": 6,
    "gest": 6,
    "optuna": 6,
    "sklearn": 6,
    "__main__": 7,
}
NEIGHBOURS = {
    "outputs": {"checks"},
    "row_index": {"checks"},
    "streams": {"checks"},
    "censored": {"checks"},
    "formatting": {"censored"},
    "canvas": {"checks", "outputs", "runtime"},
    "markup": {"formatting"},
    "measuring": {"checks", "processes"},
    "processes": {"checks", "runtime"},
    "domains": {"tables"},
    "posterior": {"kernels", "domains"},
    "calibration": {"kernels", "domains", "posterior"},
    "theory": {"kernels", "domains", "exploration", "posterior"},
    "widths": {"theory"},
    "compiled": {"domains"},
    "verification": {"experiment"},
    "analysis": {"experiment"},
}
"""Packages of the same layer that a package may import; docs/architecture.md names them too."""
HEAVY = {
    "numba": {"compiled"},
    "matplotlib": {"canvas", "experiment", "report"},
    "jinja2": {"report"},
    "pandas": {"analysis", "experiment", "optimization", "report", "study", "tables", "apps"},
    "typer": {"apps"},
    "fastapi": {"apps"},
    "starlette": {"apps"},
    "pydantic": {"apps"},
    "uvicorn": {"apps"},
    "rich": {"apps", "optimization"},
    "psycopg": {"storage"},
    "optuna": {"optuna"},
    "sklearn": {"sklearn", "experiment"},
    "gest_api": {"gest"},
    "pooch": {"problems"},
}
"""Heavy packages, and the only packages of ours that may import them."""
GENERATORS = {"streams", "analysis"}
"""Packages that may make a random generator of their own."""


@dataclass(frozen=True)
class Module:
    """A file of the package, parsed."""

    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.path.relative_to(ROOT).parts[0].removesuffix(".py")

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cache  # noqa: B019
    def imports(self) -> set[str]:
        """Full names of all that is imported anywhere; `from a import b` gives a.b."""
        return set(imported_names(ast.walk(self.tree)))

    def imports_that_run(self) -> set[str]:
        """The same without imports that only a type checker reads."""
        for_types = [
            inner
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        ]
        return set(imported_names(node for node in ast.walk(self.tree) if node not in for_types))

    def imports_at_once(self) -> set[str]:
        """The same for imports that run when the module is imported."""
        return set(imported_names(self.tree.body))

    def packages(self) -> set[str]:
        """Packages and modules of kernelbandits that are imported."""
        parts = (name.split(".") for name in self.imports())
        found = {part[1] for part in parts if part[0] == "kernelbandits" and len(part) > 1}
        return found - {self.package, "__version__"}


def imported_names(nodes: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def read_module(path: Path) -> Module:
    return Module(path, ast.parse(path.read_text(encoding="utf-8")))


@cache
def modules() -> list[Module]:
    """Read when the first test needs them, not whenever tests are collected."""
    inner = [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT]
    outer = [path for path in sorted(ROOT.glob("*.py")) if path.name != "__init__.py"]
    return [read_module(path) for path in inner + outer]


def test_every_package_has_a_layer():
    assert {module.package for module in modules()} - set(LAYER) == set()


def test_imports_name_the_whole_path():
    relative = {m.name for m in modules() if any(name.startswith(".") for name in m.imports())}
    assert relative == set()


def test_a_package_imports_only_lower_layers_and_its_neighbours():
    def allowed(package: str, other: str) -> bool:
        below = LAYER.get(other, len(LAYER)) < LAYER[package]
        return below or other in NEIGHBOURS.get(package, set())

    offenders = {
        f"{module.name} imports {other}"
        for module in modules()
        for other in module.packages()
        if not allowed(module.package, other)
    }
    assert offenders == set()


def test_no_modules_import_each_other_not_even_inside_functions():
    modules_by_name = {
        "kernelbandits." + m.name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): m
        for m in modules()
    }
    left = {
        name: find_modules(m.imports_that_run(), set(modules_by_name)) - {name}
        for name, m in modules_by_name.items()
    }
    while done := {name for name, needed in left.items() if not needed & set(left)}:
        left = {name: needed for name, needed in left.items() if name not in done}
    assert not left, f"each of these imports another one of them: {sorted(left)}"


def find_modules(names: set[str], known: set[str]) -> set[str]:
    """The modules that some full names belong to."""
    return {name if name in known else name.rpartition(".")[0] for name in names} & known


def test_neighbours_are_of_the_same_layer():
    pairs = {(package, other) for package, others in NEIGHBOURS.items() for other in others}
    assert {(a, b) for a, b in pairs if LAYER.get(a) != LAYER.get(b)} == set()


def test_the_compiled_loop_is_imported_inside_functions_only():
    """Suggesting and learning must never wait for numba."""
    offenders = {
        module.name
        for module in modules()
        if any(name.startswith("kernelbandits.compiled") for name in module.imports_at_once())
    }
    assert offenders == set()


def test_heavy_packages_are_imported_only_where_they_are_needed():
    offenders = {
        f"{module.name} imports {name}"
        for module in modules()
        for name in {name.split(".")[0] for name in module.imports()} & set(HEAVY)
        if module.package not in HEAVY[name]
    }
    assert offenders == set()


def test_no_module_imports_scipy_stats():
    """It takes longer to import than all the rest of scipy."""
    offenders = {
        m.name for m in modules() if any(name.startswith("scipy.stats") for name in m.imports())
    }
    assert offenders == set()


def test_no_module_makes_a_random_generator_of_its_own():
    offenders = {
        module.name
        for module in modules()
        if module.package not in GENERATORS and "default_rng(" in module.path.read_text("utf-8")
    }
    assert offenders == set()


def loaded_by(statement: str) -> set[str]:
    """Modules that a fresh interpreter holds after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_none_of_its_parts():
    ours = {name for name in loaded_by("import kernelbandits") if name.startswith("kernelbandits")}
    assert ours == {"kernelbandits", "kernelbandits.runtime"}


def test_a_policy_waits_for_no_package_that_it_does_not_need():
    heavy = {*HEAVY, "scipy.optimize", "scipy.stats", "scipy.integrate"}
    parts = {
        f"kernelbandits.{name}"
        for name in ("insight", "experiment", "verification", "report", "study", "apps")
    }
    theory = {f"kernelbandits.theory.{name}" for name in ("bounds", "designer", "information")}
    loaded = loaded_by("import kernelbandits as kb; kb.Auto, kb.policy, kb.SimpleUCB")
    assert loaded & (heavy | parts | theory) == set()


def test_a_wrong_direction_would_be_seen(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "from kernelbandits import widths\n"
        "import kernelbandits.policies.index\n"
        "if TYPE_CHECKING:\n"
        "    from kernelbandits.kernels import Kernel\n"
        "def play():\n"
        "    from kernelbandits.compiled import loop\n"
    )
    names = {"kernelbandits.widths", "kernelbandits.policies.index"}
    late = {"kernelbandits.kernels.Kernel", "kernelbandits.compiled.loop"}
    module = read_module(path)
    assert module.imports() == names | late | {"typing.TYPE_CHECKING"}
    assert module.imports_at_once() == names | {"typing.TYPE_CHECKING"}


def test_no_class_name_stands_twice():
    modules: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}
