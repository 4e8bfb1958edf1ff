"""What a notebook shows of studies, suggestions, answers and outcomes: escaped, and light."""

from __future__ import annotations

import subprocess
import sys
import warnings
from html.parser import HTMLParser

import pytest

import kernelbandits as kb

SCRIPT = "</td><script>alert('1')</script> & $x_1$"
SPACE = kb.MixedBox({SCRIPT: kb.Real(0, 1), "acid": kb.Category(("<b>wet</b>", None))})
ALLOWED = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}


class Fragment(HTMLParser):
    """Tags, attributes and text of a piece of HTML whose tags must match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text, self.open = "", []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Everything that has a form of its own in a notebook, with names that could be markup."""
    folder = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = kb.Study.create(folder / "<i>brew.db", SPACE, target=f"yield {SCRIPT}")
        for _ in range(6):
            [suggestion] = space.ask()
            space.tell(suggestion.trial, suggestion.x[SCRIPT])
        table = {"columns": ["<b>wet</b>", SCRIPT], "data": [[float(i), i % 3] for i in range(8)]}
        import pandas as pd

        films = pd.DataFrame(**table).assign(sample=[f"<img src=x> {i}" for i in range(8)])
        rows = kb.Study.create(folder / "films.db", films, target="stability")
        asked = rows.ask()[0]
        rows.tell(asked.trial, 1.0)
        outcome = kb.optimize(lambda x: x[SCRIPT], SPACE, 6)
    return {
        "study over a space": space,
        "study of a table": rows,
        "suggestion": space.ask()[0],
        "row": rows.ask()[0],
        "best": space.best(),
        "early best": rows.best(),
        "explained": space.explain(3),
        "status": space.status(),
        "check": space.check(),
        "told": rows.tell(row=3, value=2.0),
        "curve": space.partial_dependence(SCRIPT),
        "outcome": outcome,
        "explanation": kb.insight.explain(outcome.policy, outcome.trials[-1].choice),
    }


NAMES = (
    "study over a space",
    "study of a table",
    "suggestion",
    "row",
    "best",
    "early best",
    "explained",
    "status",
    "check",
    "told",
    "curve",
    "outcome",
    "explanation",
)


@pytest.mark.parametrize("name", NAMES)
def test_all_text_stays_text(shown, name):
    found = Fragment(shown[name]._repr_html_())
    assert found.tags <= ALLOWED
    assert found.attributes <= {"class", "style"}
    assert "tex2jax_ignore" in shown[name]._repr_html_()
    if name not in ("told", "check"):
        assert SCRIPT in found.text


def test_the_values_to_set_are_shown(shown):
    suggestion = shown["suggestion"]
    text = Fragment(suggestion._repr_html_()).text
    assert f"Measure next: trial {suggestion.trial}" in text
    assert f"{suggestion.x[SCRIPT]:.6g}" in text
    assert suggestion.why in text
    row = Fragment(shown["row"]._repr_html_()).text
    assert "Measure next" in row
    assert f"<img src=x> {shown['row'].row}" in row
    assert "Too early to say: 1 result so far" in Fragment(shown["early best"]._repr_html_()).text
    assert "pending trial" in Fragment(shown["study over a space"]._repr_html_()).text


@pytest.mark.thorough
def test_a_study_is_shown_without_a_fit_and_without_heavy_packages(tmp_path):
    """Neither figures nor templates nor policies are needed."""
    kb.Study.create(tmp_path / "films.db", [[float(i)] for i in range(5)]).ask()
    code = f"""
import sys
from kernelbandits.study import Study
study = Study.open({str(tmp_path / "films.db")!r})
assert "pending trial" in study._repr_html_()
heavy = {{"matplotlib", "jinja2", "pandas", "kernelbandits.policies", "scipy"}}
sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
