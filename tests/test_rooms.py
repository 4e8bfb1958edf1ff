"""The direction of imports: a room imports rooms below it, or those beside it that are named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelbandits

HOUSE = Path(kernelbandits.__file__).parent
FILES = [path for path in sorted(HOUSE.rglob("*.py")) if path != HOUSE / "__init__.py"]

STOREY = {
    "checks": 0,
    "streams": 0,
    "threads": 0,
    "garbage": 0,
    "kernels": 1,
    "domains": 1,
    "posterior": 1,
    "calibration": 1,
    "compiled": 1,
    "exploration": 1,
    "widths": 1,
    "theory": 1,
    "problems": 2,
    "policies": 2,
    "catalogue": 3,
    "storage": 3,
    "experiment": 4,
    "judges": 4,
    "report": 4,
    "study": 4,
    "apps": 5,
    "__main__": 6,
}
BESIDE = {
    "streams": {"checks"},
    "posterior": {"kernels", "domains"},
    "calibration": {"kernels", "posterior"},
    "theory": {"kernels", "domains", "exploration", "posterior"},
    "widths": {"theory"},
    "compiled": {"domains"},
    "judges": {"experiment"},
    "report": {"experiment", "judges", "study"},
}
OPTIONAL = {
    "numba": {"compiled"},
    "matplotlib": {"report"},
    "pandas": {"experiment", "report", "study", "apps"},
    "typer": {"apps"},
    "rich": {"apps"},
    "sqlalchemy": {"storage"},
    "psycopg": {"storage"},
    "sklearn": set(),
    "pooch": {"problems"},
}
"""Heavy packages, and the only rooms that may hang on them."""


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports(path: Path, typing_only: bool = True) -> Iterator[tuple[str, ast.AST]]:
    """Full names of all modules imported anywhere in the file; `from package import name` gives package.name."""
    tree = ast.parse(path.read_text())
    hidden = (
        set()
        if typing_only
        else {id(node) for block in typing_blocks(tree) for node in ast.walk(block)}
    )
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by a relative path"
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def typing_blocks(tree: ast.AST) -> Iterator[ast.If]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in (
            "TYPE_CHECKING",
            "typing.TYPE_CHECKING",
        ):
            yield node


def rooms_imported(path: Path, typing_only: bool = True) -> set[str]:
    names = (name.split(".") for name, _ in imports(path, typing_only))
    return {parts[1] for parts in names if parts[0] == "kernelbandits" and len(parts) > 1}


def test_every_room_has_a_storey():
    assert {room_of(path) for path in FILES} <= set(STOREY)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_room_imports_only_rooms_below_it_or_those_beside_it_named_here(path):
    room = room_of(path)
    for other in rooms_imported(path) - {room, "__version__"}:
        assert other in STOREY, f"{room} imports {other}, which has no storey"
        assert STOREY[other] < STOREY[room] or other in BESIDE.get(room, set()), (
            f"{room} imports {other}"
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_nobody_waits_for_the_compiler_when_importing(path):
    """`compiled` is imported inside functions only, so that asking and telling never start numba."""
    top = ast.parse(path.read_text()).body
    modules = [node.module or "" for node in top if isinstance(node, ast.ImportFrom)]
    names = [
        f"{node.module}.{alias.name}"
        for node in top
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    names += [alias.name for node in top if isinstance(node, ast.Import) for alias in node.names]
    assert not any(name.startswith("kernelbandits.compiled") for name in (*names, *modules))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_optional_packages_are_imported_only_by_the_rooms_that_hang_on_them(path):
    packages = {name.split(".")[0] for name, _ in imports(path)}
    for package in packages & set(OPTIONAL):
        assert room_of(path) in OPTIONAL[package], f"{room_of(path)} imports {package}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_no_room_imports_scipy_stats_or_draws_from_a_generator_of_its_own(path):
    assert not any(name.startswith("scipy.stats") for name, _ in imports(path))
    if room_of(path) not in ("streams", "report"):
        assert "default_rng(" not in path.read_text()


def test_a_wrong_direction_would_be_seen(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from typing import TYPE_CHECKING\nfrom kernelbandits import widths\nimport kernelbandits.policies.index\n"
        "if TYPE_CHECKING:\n    from kernelbandits.kernels import Kernel\n"
        "def f():\n    from kernelbandits.experiment.engines import play\n"
    )
    assert rooms_imported(wrong) == {"widths", "policies", "kernels", "experiment"}
    assert rooms_imported(wrong, typing_only=False) == {"widths", "policies", "experiment"}
