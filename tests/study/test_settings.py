"""Settings are declared once: whoever offers them reads them off the declaration."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from typer.main import get_command

import kernelbandits as kb
from kernelbandits.apps.cli.arguments import make_option, read_option
from kernelbandits.apps.cli.study import app
from kernelbandits.apps.web.inputs import field_attributes, read_setting
from kernelbandits.apps.web.messages import make_message
from kernelbandits.report.pages import environment
from kernelbandits.study.arguments import API, COMMAND, PAGE, SECONDS, Limits
from kernelbandits.study.operations import CHANGE, CREATE, Operation
from kernelbandits.study.settings import (
    FIRST_RELEASE,
    REVISION,
    SETTINGS,
    Settings,
    StudySettings,
    declare,
    settings_of,
)

DOCS = Path(__file__).parents[2] / "docs" / "studies" / "index.md"


def table_of_settings() -> list[str]:
    """The table of settings as docs/studies has it."""
    lines = ["| option | Python | meaning |", "|---|---|---|"]
    for one in SETTINGS:
        shown = "2h" if one.unit == SECONDS else one.example
        shown = ",".join(shown) if one.is_list and COMMAND in one.takers else shown
        option = f"--{one.name.replace('_', '-')} {shown}"
        if one.option:
            option = one.option.partition("/")[2 if one.example is False else 0]
        option = f"`{option}`" if COMMAND in one.takers else ""
        python = f"{one.name}={one.example!r}".replace("'", '"')
        lines.append(f"| {option} | `{python}` | {one.description} |")
    return lines


def test_the_table_of_the_docs_is_the_declaration():
    wanted = "\n".join(table_of_settings())
    assert wanted in DOCS.read_text("utf-8"), f"docs/studies needs this table:\n\n{wanted}"


def test_every_setting_is_declared_and_has_its_type_in_the_signature():
    stored = [one.name for one in fields(Settings) if one.name != REVISION]
    assert stored == [one.name for one in SETTINGS]
    assert set(stored) == set(StudySettings.__annotations__)


@pytest.mark.parametrize("name", ["create", "change"])
def test_every_setting_is_an_option_with_its_help(name):
    command = get_command(app).commands[name]
    options = {one.name: one for one in command.params}
    for one in settings_of(COMMAND):
        assert one.help.split(".")[0] in options[one.name].help


@pytest.mark.parametrize("operation", [CREATE, CHANGE])
def test_every_setting_of_the_api_is_in_its_messages(operation):
    found = make_message(operation).model_json_schema()["properties"]
    for one in settings_of(API):
        assert found[one.name]["description"] == one.description


@pytest.mark.parametrize("function", [kb.Study.create, kb.Study.change])
def test_the_help_of_python_explains_every_setting(function):
    text = " ".join((function.__doc__ or "").split())
    assert all(f" {one.name} {one.description}" in text for one in SETTINGS)


@dataclass(frozen=True)
class Wider(Settings):
    """Settings with one that does not exist: a stranger's field."""

    patience: int | None = declare(
        None,
        int,
        "How many results without progress end the study.",
        example=5,
        label="Patience",
        takers=(COMMAND, API, PAGE),
        since="0.2.0",
    )


# A study that was written before a release had a setting is read with the default, and one without
# the option given is created with it. Another default would change what such studies do, and no event
# would say so. A new setting is a new line, with a default that does what studies did before.
DEFAULTS = {
    "policy": ("0.1.0", "auto"),
    "kernel": ("0.1.0", None),
    "settings": ("0.1.0", {}),
    "goal": ("0.1.0", "find"),
    "noise": ("0.1.0", None),
    "rounds": ("0.1.0", None),
    "delta": ("0.1.0", 0.1),
    "seed": ("0.1.0", 0),
    "lease": ("0.1.0", 604800.0),
    "repeats": ("0.1.0", None),
    "centre": ("0.1.0", None),
    "spread": ("0.1.0", None),
    "tolerance": ("0.1.0", None),
    "limits": ("0.1.0", None),
    "targets": ("0.1.0", ({"name": "value"},)),
    "learn_from": ("0.1.0", None),
}
FIRST_SETTINGS = 16
"""How many settings the first release has; those after them have a later `since`."""


def test_the_default_of_a_setting_never_changes():
    assert {one.name: (one.since, one.default) for one in SETTINGS} == DEFAULTS
    assert Settings().body == {name: value for name, (_, value) in DEFAULTS.items()} | {REVISION: 1}
    assert sum(one.since == FIRST_RELEASE for one in SETTINGS) == FIRST_SETTINGS


def test_a_study_of_an_earlier_release_counts_with_the_default_of_a_later_setting():
    stored = Settings(delta=0.05).body
    assert Wider.of(stored) == Wider(delta=0.05, patience=None)
    assert Wider.of(stored | {"patience": 3}).patience == 3
    del stored["delta"]
    with pytest.raises(ValueError, match=r"^its settings lack delta$"):
        Wider.of(stored)


def test_a_new_field_is_an_option_a_field_of_a_message_and_of_the_page():
    [field] = [one for one in fields(Wider) if one.name == "patience"]
    said = field.metadata["setting"]
    new = type(said)(**{**vars(said), "name": "patience"})
    # The option of a command.
    assert make_option(new).name == "patience"
    assert read_option(new, "7") == 7
    # A request.
    message = make_message(Operation("change", "change", "", api=(new,)))
    assert message.model_validate({"patience": 7}).patience == 7
    # A field of the page.
    parts = environment().get_template("lab/parts.html")
    field = str(parts.make_module({"attributes": field_attributes}).setting_field(new, "7"))
    assert re.search('<input name="patience" title="[^"]+" inputmode="numeric" value="7">', field)
    assert read_setting(new, "7") == 7


def test_limits_are_part_of_a_type():
    [rounds] = [one for one in SETTINGS if one.name == "rounds"]
    assert rounds.kind is int
    assert rounds.limits == Limits(1, 10**9)
