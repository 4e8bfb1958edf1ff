"""Write the pages of the reference that are read off the package: API, commands, REST, settings.

Sphinx runs this when a build begins. The pages stand in docs/generated, which is not committed: they
say what the code says. The tables and figures of the benchmarks are copied there as well, and every
script of examples/ becomes a notebook there, which runs when the site is built.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import kernelbandits

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
RESULTS = DOCS.parent / "benchmarks" / "results"
MODULES = {
    "kernelbandits": "Names at the root",
    "optimization": "The whole loop in one call",
    "study": "Studies that outlive the process",
    "policies": "Policies: which one next",
    "domains": "Domains: what may be chosen",
    "kernels": "Kernels: how similar two points are",
    "exploration": "Exploration laws: how much is explored",
    "insight": "Insight: why this one, and which variables matter",
    "posterior": "Posteriors: the estimate and its uncertainty",
    "calibration": "Calibration: scales fitted to the results",
    "theory": "Theory: constants, bounds, bands",
    "problems": "Problems: rewards with a known optimum",
    "experiment": "Experiments: problems, policies and seeds",
    "analysis": "Analysis of experiments",
    "report": "Reports and figures",
    "verification": "The theory checked by simulation",
    "catalogue": "Policies, problems and laws by name",
    "streams": "Randomness as a table",
    "tables": "Tables of candidates and results",
    "storage": "Where studies are stored",
    "optuna": "Samplers for Optuna",
    "sklearn": "A search and a regressor for scikit-learn",
    "gest": "A generator of the gest-api standard",
    "checks": "Warnings and errors",
}
"""The modules of the reference in reading order, with their titles."""
COLON = "\uf000"
"""A character of no text, in place of a colon while napoleon reads."""
INHERITED = "set_fit_request,set_score_request,set_predict_request"
"""Methods that scikit-learn adds, with texts of its own."""


def public_names(module: Any) -> list[str]:
    """Return the public names of a module that are at home in it or below it."""
    listed = getattr(module, "__all__", None) or list(getattr(module, "HOMES", ())) or dir(module)
    homes = getattr(module, "HOMES", {})
    listed = [name for home in homes.values() for name in home] if homes else listed
    return sorted(
        (name for name in set(listed) if is_at_home(module, name)), key=lambda n: (n.lower(), n)
    )


def is_at_home(module: Any, name: str) -> bool:
    """Tell whether a public class or function was defined in this module, or below it."""
    value = getattr(module, name)
    if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
        return False
    return bool(value.__module__.startswith(module.__name__))


def describe_module(name: str) -> str:
    """Return the page of a module: its own words, a table of its names, and each name."""
    root = name == "kernelbandits"
    full = name if root else f"kernelbandits.{name}"
    module = import_module(full)
    homes = {one: home for home, names in kernelbandits.HOMES.items() for one in names}
    names = sorted(homes, key=str.lower) if root else public_names(module)
    rows = [
        (
            f":py:obj:`{'kb.' if root else ''}{one} <kernelbandits.{homes[one] if root else name}.{one}>`",
            escape_markup(first_paragraph(getattr(module, one))),
        )
        for one in names
    ]
    words = quote_columns(inspect.cleandoc(module.__doc__ or ""))
    page = f"{underline(MODULES[name], '=')}.. module:: {full}\n\n``{full}``\n\n{words}\n\n{list_table(rows)}"
    return page if root else page + "".join(describe_name(full, one) for one in names)


def describe_name(module: str, name: str) -> str:
    if not inspect.isclass(getattr(import_module(module), name)):
        return f"{underline(name, '-')}.. autofunction:: {module}.{name}\n\n"
    options = f"   :members:\n   :exclude-members: {INHERITED}\n\n"
    return f"{underline(name, '-')}.. autoclass:: {module}.{name}\n{options}"


def first_paragraph(value: Any) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def quote_columns(text: str) -> str:
    """Return a docstring with its formulas and columns shown as they are, and its prose escaped.

    The docstrings are plain text: |x| is an absolute value there, and an indented line a formula.
    What follows the line of a section, such as Parameters, is left to napoleon.
    """
    section = re.search(r"\n[A-Z][a-z]+\n-{4,}\n", text)
    head, tail = (text[: section.start()], text[section.start() :]) if section else (text, "")
    head = re.sub(r"((?:^|\n)(?![ >.]).*)\n\n(?=    (?!>>>)\S)", r"\1\n\n::\n\n", head)
    lines, code = [], False
    for line in (head + tail).split("\n"):
        if line.strip() in ("", "::") or not line.startswith("    "):
            code = line.strip() == "::" or (code and not line.strip())
        code = code or line.lstrip().startswith(">>>")
        lines.append(line if code else escape_markup(line))
    return "\n".join(lines)


def escape_markup(line: str) -> str:
    """Return a line of prose whose signs are no markup; what stands in backticks stays."""
    parts = re.split(r"(``.*?``|`.*?`)", line)
    return "".join(
        part if part.startswith("`") else re.sub(r"(\*|\||(?<=\w)_(?!\w))", r"\\\1", part)
        for part in parts
    )


def show_plain_text(
    app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Let a docstring be read as the plain text that it is."""
    lines[:] = quote_columns("\n".join(lines)).split("\n")
    # Of a field, napoleon would take what stands before a colon in the first line for its type.
    if lines and kind in ("attribute", "property"):
        lines[0] = lines[0].replace(":", COLON)


def put_colons_back(
    app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = [line.replace(COLON, ":") for line in lines]


def underline(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n\n"


def list_table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines) + "\n\n"


def describe_commands() -> str:
    """Return the page of all commands, as their help says it."""
    from typer.main import get_command

    from kernelbandits.apps.cli.main import find_app

    page = "# Commands\n\nWhat `--help` of each command says.\n\n"
    apps = [get_command(find_app(words)) for words in (["run"], ["study"])]
    seen: set[str] = set()
    for app in apps:
        for name, command in walk_commands(app, "kernelbandits"):
            if name not in seen:
                seen.add(name)
                page += describe_command(name, command)
    return page


def walk_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each command that does something, with its full name."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for one, inner in command.commands.items():
        yield from walk_commands(inner, f"{name} {one}")


def describe_command(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name != "argument"]
    places = [one.name.upper() if one.required else f"[{one.name.upper()}]" for one in arguments]
    usage = " ".join([name, *places])
    text = re.sub(r"(?m)^    (\S.*)$", r"```sh\n\1\n```", inspect.cleandoc(command.help or ""))
    rows = "".join(
        f"| {', '.join(f'`{word}`' for word in (*one.opts, *one.secondary_opts))} | {write_cell(one.help)} |\n"
        for one in options
        if not one.hidden
    )
    return (
        f"## {name}\n\n```sh\n{usage}\n```\n\n{text}\n\n| option | meaning |\n|---|---|\n{rows}\n"
    )


def write_cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def describe_requests() -> str:
    """Return the page of the REST interface, as its OpenAPI description says it."""
    from fastapi import FastAPI

    from kernelbandits.apps.web import api

    app = FastAPI(title="kernelbandits")
    app.include_router(api.router)
    page = (
        "# REST interface\n\nEvery request carries a token: `Authorization: Bearer TOKEN`. "
        "`kernelbandits lab PLACE` serves these addresses, and `GET /api/openapi.json` describes them "
        "for programs. Python has a client: `kernelbandits.apps.client`.\n\n"
    )
    for path, methods in app.openapi()["paths"].items():
        for method, one in methods.items():
            page += f"## {one['summary']}\n\n`{method.upper()} {path}`\n\n"
            page += f"{one.get('description', '')}\n\n{describe_fields(one)}"
    return page


def describe_fields(operation: dict[str, Any]) -> str:
    """Return a table of what a request may say; "" if it says nothing."""
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    fields = schema.get("schema", {}).get("properties", {})
    if not fields:
        return ""
    rows = (f"| `{name}` | {write_cell(one.get('description'))} |" for name, one in fields.items())
    return "| field | meaning |\n|---|---|\n" + "\n".join(rows) + "\n\n"


def describe_settings() -> str:
    """Return the page of the settings of a study, as they are declared."""
    from kernelbandits.study.settings import POLICY_SETTINGS, SETTINGS

    page = (
        "# Settings of a study\n\n`Study.create` and `Study.change` take them by their names, and so "
        "do `kernelbandits study create` and `change`, the page and the REST interface.\n\n"
        "| setting | meaning | for example |\n|---|---|---|\n"
    )
    for one in (*SETTINGS, *POLICY_SETTINGS):
        example = getattr(one, "example", None)
        shown = "" if example is None else f"`{example!r}`"
        page += f"| `{one.name}` | {write_cell(one.description)} | {shown} |\n"
    return page


def copy_benchmarks(folder: Path) -> None:
    """Copy the tables and figures of the benchmarks, with links as they are on the site."""
    folder.mkdir(parents=True)
    for figure in RESULTS.glob("*.svg"):
        shutil.copy(figure, folder)
    for page in RESULTS.glob("*.md"):
        text = page.read_text(encoding="utf-8").replace("](../../docs/", "](../../")
        (folder / page.name).write_text(text, encoding="utf-8")


def write_examples(folder: Path) -> None:
    """Write a notebook for each script of examples/."""
    folder.mkdir()
    for script in sorted(EXAMPLES.glob("*.py")):
        name = script.stem
        page = folder / f"{name}.ipynb"
        page.write_text(make_notebook(name, script.read_text(encoding="utf-8")), encoding="utf-8")


def make_notebook(name: str, script: str) -> str:
    """Return a notebook with the words of a script, its code, and links to both."""
    import nbformat.v4 as nb

    tree = ast.parse(script)
    code = "\n".join(script.splitlines()[tree.body[0].end_lineno :]).strip()
    title = name.replace("_", " ").capitalize()
    links = (
        f"{{download}}`the script <../../../examples/{name}.py>` · "
        f"{{download}}`the notebook <{name}.ipynb>`"
    )
    words = f"# {title}\n\n{ast.get_docstring(tree)}\n\n{links}"
    cells = [
        nb.new_markdown_cell(words, id="words"),
        nb.new_code_cell(code, id="code"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return str(nb.writes(nb.new_notebook(cells=cells, metadata={"kernelspec": kernel})))


ROOT_PAGES = ("CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")
"""Pages at the root of the sources, which the site has as well. README is its first page."""


def read_root_page(name: str, docs: str) -> str:
    """Return a page at the root of the sources, for a page of the site from which `docs` is docs/."""
    text = (DOCS.parent / f"{name}.md").read_text(encoding="utf-8")
    text = text.replace("](docs/", f"]({docs}")
    text = text.replace("](benchmarks/results/", f"]({docs}generated/benchmarks/")
    text = text.replace("](CITATION.cff)", f"]({docs}../CITATION.cff)")
    for other in ROOT_PAGES:
        text = text.replace(f"]({other}.md", f"]({docs}generated/{other.lower()}.md")
    return text


def copy_root_pages(folder: Path) -> None:
    for name in ROOT_PAGES:
        text = read_root_page(name, "../")
        (folder / f"{name.lower()}.md").write_text(text, encoding="utf-8")


def write_pages(app: Sphinx) -> None:
    """Write all pages of docs/generated again."""
    folder = DOCS / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    copy_benchmarks(folder / "benchmarks")
    copy_root_pages(folder)
    write_examples(folder / "examples")
    (folder / "api").mkdir()
    for name in MODULES:
        (folder / "api" / f"{name}.rst").write_text(describe_module(name), encoding="utf-8")
    pages = {
        "commands": describe_commands,
        "rest": describe_requests,
        "settings": describe_settings,
    }
    for name, describe in pages.items():
        (folder / f"{name}.md").write_text(describe(), encoding="utf-8")


def link_benchmarks(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to the files of benchmarks/results lead to their pages, and begin with the README."""
    if name == "index":
        source[0] = read_root_page("README", "") + source[0]
    up = "../" * name.count("/")
    source[0] = re.sub(
        r"\]\((?:\.\./)+benchmarks/results/", f"]({up}generated/benchmarks/", source[0]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_benchmarks)
    # Before and after napoleon reads the sections.
    app.connect("autodoc-process-docstring", show_plain_text, priority=400)
    app.connect("autodoc-process-docstring", put_colons_back, priority=600)
    return {"parallel_read_safe": True}
