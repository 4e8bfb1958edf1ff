"""The snippets of the pages of docs/ run in order and print what the page shows below them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"
PAGES = (
    "boxes.md", "spaces.md", "lab.md", "experiments.md", "coming_from.md", "scale.md",
    "explanation/one_number_a_round.md",
)  # fmt: skip
FOLDERS = {"studies": 15, "theory": 12, "algorithms": 1}
"""Folders of pages, and the least number of their sections with snippets."""
WRITTEN = {"Your own problem, your own policy": {"results/coating/report.html": "often UCB"}}
"""Sections, the files that their snippets write, and words of these files."""
LONG = {
    "The maximum information gain",
    "The constants of an exploration law",
    "Coverage and regret, checked by simulation",
    "Results in Python",
    "Your own problem, your own policy",
    "Auto: nothing has to be given",
    "Constraints",
    "Figures and a page to send",
    "Can the model be trusted?",
    "The whole loop in one call",
    "From scikit-learn",
    "From Optuna",
}
"""Sections whose snippets take a second or more."""
SNIPPET = re.compile(
    r"```python\n(.*?)```\n\n?((?:```(?:text)?\n.*?```\n)|(?:    [^\n]*\n)+)?", re.DOTALL
)


def shown(block: str) -> list[str]:
    """The lines of the block below a snippet, fenced or indented by four."""
    lines = block.splitlines()
    inside = lines[1:-1] if block.startswith("```") else [line[4:] for line in lines]
    return [line.rstrip() for line in inside]


ANSWERS = sorted((DOCS / "howto").glob("*.md"))
"""Pages of one question each."""
SLOW_ANSWERS = {"grid_search", "latex_table", "sweep", "add_candidates", "own_policy"}
EMPTY_WORDS = re.compile(
    r"\b(simply|obviously|easily|basically|of course|in order to|utili[sz]e|leverage|seamless\w*|powerful)\b",
    re.IGNORECASE,
)
"""Words without which a sentence says the same."""


def sections(page: Path) -> list[tuple[str, str]]:
    """Title and text of each section that has a snippet; a page without others is one section."""
    text = page.read_text(encoding="utf-8")
    first, *parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    if "```python" in first:
        return [(first.splitlines()[0].removeprefix("# "), text.removeprefix("# "))]
    return [
        (title, text)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
        if "```python" in text
    ]


def mark_long(title: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.thorough] if title in LONG else []


EVERY = [
    pytest.param(title, text, id=title, marks=mark_long(title))
    for page in [DOCS / page for page in PAGES]
    + [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]
    for title, text in sections(page)
]


EVERY += [
    pytest.param(
        page.stem,
        page.read_text(encoding="utf-8"),
        id=f"howto-{page.stem}",
        marks=[pytest.mark.thorough] if page.stem in SLOW_ANSWERS else [],
    )
    for page in ANSWERS
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("title", "text"), EVERY)
def test_the_snippets_of_a_section_print_what_the_page_shows(title, text, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    if not text.startswith("# "):  # A page of one question is typed as it stands, imports included.
        exec("import numpy as np\nimport kernelbandits as kb", names)
    for code, below in SNIPPET.findall(text):
        seen = io.StringIO()
        with contextlib.redirect_stdout(seen):
            exec(compile(code, title, "exec"), names)
        if shown(below):
            assert [line.rstrip() for line in seen.getvalue().splitlines()] == shown(below)
    for file, words in WRITTEN.get(title, {}).items():
        assert words in (tmp_path / file).read_text()


def test_there_is_a_page_for_each_of_many_questions():
    assert len(ANSWERS) > 40


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), *ANSWERS, *DOCS.glob("*/*.md")], ids=str)
def test_pages_do_without_words_that_say_nothing(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert EMPTY_WORDS.findall(text) == []


@pytest.mark.parametrize(("folder", "least"), FOLDERS.items())
def test_pages_of_a_folder_have_a_snippet_for_every_quantity(folder, least):
    assert sum(len(sections(page)) for page in (DOCS / folder).glob("*.md")) >= least


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_snippet(page):
    assert sections(DOCS / page)


@pytest.mark.parametrize(
    ("beginning", "section", "what"),
    [
        ("SimpleUCB, 100 arms,", "arms", "SimpleUCB, 100 arms"),
        ("SimpleUCB, 1000 arms,", "arms", "SimpleUCB, 1000 arms"),
        ("SimpleUCB, 10 000 arms,", "arms", "SimpleUCB, 10000 arms"),
        ("SimpleUCB, 100 000 arms,", "arms", "SimpleUCB, 100000 arms"),
        ("SimpleUCB, 1 000 000 arms,", "arms", "SimpleUCB, 10^6 arms"),
        ("GP-TS, 1 000 000 arms,", "policies", "gp-ts, 1000000 arms"),
        ("`Auto`, 100 000 arms,", "policies", "auto, 100000 arms"),
        ("`Auto`, 1 000 000 arms,", "policies", "auto, 1000000 arms"),
    ],
)
def test_the_page_on_scale_shows_the_times_of_the_last_benchmark(beginning, section, what):
    text = (DOCS / "scale.md").read_text(encoding="utf-8")
    shown_time = re.search(
        rf"^\| {re.escape(beginning)}.*?\| ([\d.]+) (µs|ms|s)\b", text, re.MULTILINE
    )
    assert shown_time is not None
    stored = json.loads((RESULTS / "scale.json").read_text(encoding="utf-8"))[section]["rows"]
    (row,) = (row for row in stored if row["what"] == what)
    microseconds = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
    measured = row["value"] * microseconds[row["unit"]]
    assert float(shown_time[1]) * microseconds[shown_time[2]] == pytest.approx(measured, rel=0.03)


def test_every_command_to_install_is_one_that_works():
    """kernelbandits is on no index, so an extra is installed from its sources: ".[lab]"."""
    root = DOCS.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    files = [root / "README.md", *DOCS.rglob("*.md"), *(root / "src").rglob("*.py")]
    commands = [
        one for file in files for one in re.findall(r'pip install "[^"]*"', file.read_text())
    ]
    assert len(commands) > 10
    for command in commands:
        named = re.fullmatch(r'pip install "\.\[([\w,-]+|\{extra\})\]"', command)
        assert named, command
        assert set(named[1].split(",")) <= {*extras, "{extra}"}, command
