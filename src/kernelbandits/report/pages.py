"""Pages from the templates beside this file, and the values that every page of a run shows.

A page is one file without scripts and without links to fetch: its figures and its style are inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from kernelbandits.canvas import follow_colour_scheme
from kernelbandits.experiment import Results
from kernelbandits.experiment.summary import installed_versions
from kernelbandits.formatting import (
    format_fixed,
    format_interval,
    format_number,
    format_ranks,
    format_share,
    group_thousands,
)
from kernelbandits.runtime import is_installed

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

RULE = ("exploration", "width")
COLUMNS = ("ridge", "noise_scale", "norm_bound", "horizon", "delta", "gain", "ties", "engine")
"""Settings with a column of their own."""
HIDDEN = ("policy", "notices")
"""Keys of a result's settings that are shown elsewhere."""
LONGEST_LIST, LISTED = 12, 3
"""A list with more values than LONGEST_LIST is shown by its first ones."""


def available() -> bool:
    """Tell whether pages can be written: they need jinja2, from the extra `experiments`."""
    return is_installed("jinja2")


def render(template: str, **values: Any) -> str:
    """Return a template filled with values; in HTML all text among them is escaped."""
    return environment().get_template(template).render(**values)


def template_text(name: str) -> str:
    """Return the text of a file beside the templates, such as the style that all pages share."""
    env = environment()
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


@cache
def environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    found = Environment(
        loader=PackageLoader("kernelbandits.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals.update(
        fixed=format_fixed,
        inline=inline_svg,
        interval=format_interval,
        number=format_number,
        grouped=group_thousands,
        ranks=format_ranks,
        share=format_share,
    )
    return found


def inline_svg(svg: str) -> str:
    """Return the drawing as a part of a page, without the XML prologue of a file."""
    from markupsafe import Markup

    return Markup(follow_colour_scheme(svg[svg.index("<svg") :]))


def page_values(results: Results, table: pd.DataFrame) -> dict[str, Any]:
    """Return what every page of a run shows: a line on top, the summary, and the settings."""
    return {
        "lead": describe_run(results),
        "rows": table.to_dict("records"),
        "settings": settings_values(results),
    }


def describe_run(results: Results) -> str:
    cell = results.cells[0]
    versions = ", ".join(f"{name} {text}" for name, text in installed_versions().items())
    kernels = list(dict.fromkeys(str(one.kernel) for one in results.cells))
    played = f"kernel{'s' if len(kernels) > 1 else ''} {', '.join(kernels)}"
    return f"{cell.horizon} rounds, {len(cell.seeds)} seeds, {played}. {versions}."


def settings_values(results: Results) -> dict[str, Any]:
    """Return the policies' settings on the first problem, and a description of every problem."""
    first = results.problems[0].name
    used = {
        cell.contender.label: results.found[cell.key].settings
        for cell in results.cells
        if cell.problem.name == first
    }
    shared = shared_settings(list(used.values()))
    columns = [
        key for key in COLUMNS if key not in shared and any(key in own for own in used.values())
    ]
    policies = [
        {
            "label": label,
            "rule": "; ".join(str(own[key]) for key in RULE if own.get(key) is not None) or "–",
            "columns": [format_number(own.get(key)) for key in columns],
            "others": other_settings(own),
        }
        for label, own in used.items()
    ]
    return {
        "shared": spell_settings(shared),
        "columns": columns,
        "policies": policies,
        "problems": results.problems,
    }


def shared_settings(used: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns with one value only, if more than one policy has them."""
    values = {key: [own[key] for own in used if own.get(key) is not None] for key in COLUMNS}
    return {
        key: found[0]
        for key, found in values.items()
        if len(found) > 1 and all(value == found[0] for value in found)
    }


def other_settings(settings: Mapping[str, Any]) -> str:
    """Spell the settings without a column."""
    columns = (*RULE, *COLUMNS, *HIDDEN)
    return spell_settings({key: value for key, value in settings.items() if key not in columns})


def spell_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} = {spell_value(value)}" for key, value in settings.items() if value is not None
    )


def spell_value(value: Any) -> str:
    """Spell a number or text; a long list by its first values and their number."""
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        return f"[{', '.join(map(format_number, value[:LISTED]))}, … {len(value)} values]"
    return format_number(value)
