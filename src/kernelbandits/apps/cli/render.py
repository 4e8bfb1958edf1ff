"""Studies as text in a terminal: suggestions, status, history, explanations, estimates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from kernelbandits.apps.cli.output import facts, print_line
from kernelbandits.apps.cli.screen import numbers_table
from kernelbandits.censored import with_side
from kernelbandits.formatting import (
    format_count,
    format_near,
    format_number,
    format_share,
    format_time,
)
from kernelbandits.study.words import (
    describe_candidate,
    describe_event,
    describe_values,
    describe_waiting,
    name_cells,
)
from kernelbandits.tables.export import AVERAGE_BEYOND, FEASIBLE
from kernelbandits.tables.results import MADE

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Event, Listed
    from kernelbandits.study.place import Place
    from kernelbandits.study.values import Explained, Status, Suggestion, Waiting

DIGITS = 6
MOST_COLUMNS = 8
"""Of a candidate in a table; JSON has all of them."""
MOST_WAITING = 12
MADE_KEY = re.compile(rf"(^|/)({MADE})?[0-9a-f]{{32}}(/[0-9a-z]+)*$")
"""A key, or the end of one, that the study made itself; only keys of users are shown."""
ROWS = "Rows are counted from 0, starting below the header."


def number(value: float | None) -> str:
    """Write a number so that it can be typed again."""
    return format_number(value, DIGITS, thousands=False)


def cell(value: Any) -> str:
    """Return text of a table on one line, without control characters.

    A terminal would obey these, and the table may come from somebody else.
    """
    if isinstance(value, float):
        return number(value)
    text = str(value)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def command(*words: object) -> str:
    """Return a command line that can be copied into a shell."""
    return " ".join(["kernelbandits study", *(shlex.quote(str(word)) for word in words)])


def title(place: str) -> str:
    """Return the name of a study in its database, or its file."""
    server = re.fullmatch(r"postgresql://.*[?&]study=(\w+)(&.*)?", place)
    return server[1] if server else place


table = partial(numbers_table, folds=True)


def show_columns(x: Mapping[str, Any]) -> dict[str, str]:
    """Return the first columns of a candidate as a table shows them."""
    shown = {cell(name): cell(value) for name, value in list(x.items())[:MOST_COLUMNS]}
    more = len(x) - MOST_COLUMNS
    return shown | ({f"… {more} more": "…"} if more > 0 else {})


def print_suggestions(
    console: Console,
    suggestions: Sequence[Suggestion],
    candidates: Place,
    place: str,
    targets: Sequence[str] = (),
) -> None:
    """Print the rows or points to measure, the reasons, and the command to type next."""
    described = [describe_row(one, candidates) for one in suggestions]
    shown = table(["trial", *described[0]])
    for one, texts in zip(suggestions, described, strict=True):
        shown.add_row(str(one.trial), *map(escape, texts.values()))
    console.print(shown)
    for why, trials in group_by_reason(suggestions).items():
        which = f" trial {', '.join(map(str, trials))}" if len(suggestions) > 1 else ""
        print_line(console, f"Why{which}: {why}")
    held = f" for {cell(suggestions[0].worker)}" if suggestions[0].worker else ""
    until = format_time(min(one.until for one in suggestions))
    counted = f" {ROWS}" if "row" in described[0] else ""
    print_line(console, f"Reserved{held} until {until}.{counted}")
    if suggestions[0].sheet is not None:
        print_line(console, f"Sheet: {suggestions[0].sheet}")
        if not suggestions[0].sheet.lower().endswith(".html"):
            told = command("tell", place, "--sheet", suggestions[0].sheet)
            print_line(console, f"When it is filled in, or a part of it:  {told}")
            return
    print_line(
        console,
        f"When you have the result:  {command('tell', place, suggestions[0].trial)} "
        f"{name_values(targets)}   (or --failed)",
    )


def describe_row(suggestion: Suggestion, candidates: Place) -> dict[str, str]:
    """Return what a row is called, its columns and its cost."""
    price = {}
    if candidates.costs is not None and suggestion.row is not None:
        price = {cell(candidates.cost): number(candidates.costs[suggestion.row])}
    names = name_cells(suggestion.row, suggestion.label)
    return show_columns(names) | show_columns(candidates.fill_absent(suggestion.x)) | price


def group_by_reason(suggestions: Sequence[Suggestion]) -> dict[str, list[int]]:
    """Return the trials that have the same reason, by reason."""
    trials: dict[str, list[int]] = {}
    for one in suggestions:
        trials.setdefault(cell(one.why), []).append(one.trial)
    return trials


def print_status(
    console: Console, status: Status, candidates: Place, place: str, details: bool = False
) -> None:
    """Print results, the likely best and what to do next; with details the model too."""
    print_line(console, f"{title(status.place)}: {cell(status.aim)}, {count_candidates(status)}")
    if status.best is not None:
        print_line(console, f"{cell(status.best.headline)}.")
    print_line(console, cell(status.stop.headline))
    about = {"goal": status.purpose} if status.purpose else {}
    about |= {
        "results": count_results(status, candidates),
        "likely best": status.best.sentence if status.best else "no results yet",
        "may I stop?": stop_sentence(status, place),
    }
    about |= {"regret so far": status.regret} if status.regret else {}
    about |= {cell(one.name): one.sentence for one in status.targets}
    if status.sources:
        about |= {"learns from": "\n".join(one.sentence for one in status.sources)}
    if details:
        about |= {
            "policy": status.policy,
            "repeats": status.repeats,
            candidates.heading: status.scales,
            "scale": status.units,
            "guarantee": status.claim,
        }
    lines = list_front(status) | list_pending(status.waiting, candidates)
    lines |= {"next": next_commands(status, place)}
    console.print(facts({name: cell(text) for name, text in about.items()} | lines))


def list_front(status: Status) -> dict[str, str]:
    """List the measured candidates on the Pareto front, the most desirable first."""
    if len(status.targets) < 2:
        return {}
    lines = []
    for one in status.front[:MOST_WAITING]:
        where = describe_candidate(one.row, one.label, one.x)
        values = describe_values(one.values, one.intervals)
        text = f"{where}: {values}; desirability {number(one.desirability)}"
        lines.append(cell(text))
    more = len(status.front) - MOST_WAITING
    text = "\n".join([*lines, *([f"… {more} more"] if more > 0 else [])])
    return {"front": text} if lines else {}


def stop_sentence(status: Status, place: str) -> str:
    """Return the answer of the study, with the option in place of the Python argument."""
    from kernelbandits.study.stopping import TOLERANCE_HINT

    sentence = status.stop.sentence
    if not sentence.endswith(TOLERANCE_HINT):
        return sentence
    hint = TOLERANCE_HINT.replace("tolerance=", f"{command('change', place)} --tolerance ")
    return sentence.removesuffix(TOLERANCE_HINT) + hint


def count_candidates(status: Status) -> str:
    """Say how many candidates there are, and in how many rows; or what the space is."""
    if status.rows is None or status.different is None or status.different == status.rows:
        return status.extent
    candidates = format_count(status.different, "different candidate")
    return f"{candidates} ({format_count(status.rows, 'row')})"


def count_results(status: Status, candidates: Place) -> str:
    failures = f" and {format_count(status.failed, 'failure')}" if status.failed else ""
    results = f"{format_count(status.told, 'result')}{failures}"
    done = f"{results} on {status.measured} of {count_candidates(status)}"
    if not candidates.lists_all:
        done = f"{results} at {format_count(status.measured, candidates.noun)}"
    others = {
        "pending": status.pending,
        "missing": status.missing,
        "withdrawn": status.withdrawn,
        "not allowed": (status.rows or 0) - (status.allowed or 0),
    }
    return ", ".join(
        [done, *(f"{count} {name}" for name, count in others.items() if count or name == "pending")]
    )


def list_pending(pending: Sequence[Waiting], candidates: Place) -> dict[str, str]:
    """List the trials that wait for a result, the longest waiting first."""
    longest = sorted(pending, key=lambda one: -one.since)
    lines = []
    for one in longest[:MOST_WAITING]:
        lines.append(cell(describe_waiting(one, candidates.names_of(one.row))))
    more = len(pending) - MOST_WAITING
    if more > 0:
        lines.append(f"… {more} more")
    return {"pending": "\n".join(lines)} if pending else {}


def name_values(targets: Sequence[str]) -> str:
    """Say what to type for a result: VALUE, or --value NAME=VALUE for each of several targets."""
    return " ".join(f"--value {shlex.quote(name)}=VALUE" for name in targets) or "VALUE"


def next_commands(status: Status, place: str) -> str:
    """Return the commands to type next."""
    told = []
    for one in status.waiting[:1]:
        left = [target.name for target in status.targets if target.name not in one.values]
        named = name_values(left if len(status.targets) > 1 else ())
        told.append(f"{command('tell', place, one.trial)} {named}")
    return "\n".join([*told, command("ask", place)])


def print_studies(console: Console, studies: Sequence[Listed]) -> None:
    """Print one line for each study."""
    shown = table(["study", "rows", "events", "since"], left=("study", "since"))
    for one in studies:
        # A study over a space has no rows.
        numbers = ["–" if not count else str(count) for count in (one.rows, one.events)]
        shown.add_row(
            escape(one.name), *numbers, "damaged" if one.since is None else format_time(one.since)
        )
    console.print(shown)


def print_history(
    console: Console, events: Sequence[Event], earlier: int, candidates: Place
) -> None:
    """Print one line for each event."""
    shown = table(["event", "when", "what", "worker"], left=("when", "what", "worker"))
    for one in events:
        given = MADE_KEY.sub("", one.key or "")
        what = cell(f"{describe_event(one, candidates.name)}{f'; key {given}' if given else ''}")
        texts = (str(one.seq), format_time(one.at), what, cell(one.worker or ""))
        shown.add_row(*map(escape, texts))
    console.print(shown)
    if earlier:
        print_line(
            console,
            f"{format_count(earlier, 'earlier event')} not shown; a larger --limit shows more",
        )


def print_explanation(console: Console, explained: Explained, candidates: Place) -> None:
    def show(row: int | None, x: Mapping[str, Any]) -> dict[str, str]:
        shown = show_columns(name_cells(row, candidates.names_of(row)))
        return shown | show_columns(candidates.fill_absent(x))

    print_line(console, cell(explained.sentence))
    here = show(explained.row, explained.x)
    shown = table(["", *here, "estimate", "sd", "probability of being best"], left=("",))
    last = number(explained.mean), number(explained.sd), format_share(explained.chance)
    shown.add_row("suggested", *map(escape, here.values()), *last)
    other = (explained.greedy, explained.greedy_x) != (explained.row, explained.x)
    if explained.results and other and explained.greedy_x is not None:
        rival = show(explained.greedy, explained.greedy_x)
        last = (
            number(explained.greedy_mean),
            number(explained.greedy_sd),
            format_share(explained.greedy_chance),
        )
        shown.add_row("best estimate", *map(escape, rival.values()), *last)
    console.print(shown)
    drawn = {
        "weight": explained.weight,
        "width": explained.width,
        "bonus": explained.bonus,
        "index": explained.index,
        "expected improvement": explained.improvement,
        "gain": explained.gain,
        "horizon": explained.horizon,
    }
    console.print(
        facts({name: number(value) for name, value in drawn.items() if value is not None})
    )
    known = f"{format_count(explained.results, 'result')}, {explained.pending} pending"
    print_line(console, f"Known at that time: {known}.")


def print_estimates(console: Console, frame: pd.DataFrame, total: int, candidates: Place) -> None:
    """Print candidates with their estimates, the best estimate first."""
    names = list(frame.columns)
    row = ["row"] if "row" in names and "allowed" in names else []
    last = names.index("allowed" if row else "results")
    rows = frame["row"].tolist() if row else [None] * len(frame)
    called = [name_cells(one, candidates.names_of(one)) for one in rows]
    first_columns = list(called[0]) if called else row
    columns = [name for name in names[len(row) : last] if name not in first_columns][:MOST_COLUMNS]
    targets = [name.removesuffix(" mean") for name in names[last:] if name.endswith(" mean")]
    headings = [
        *first_columns,
        *columns,
        "results",
        "average",
        "estimate",
        "sd",
        "95 % interval",
        *targets,
        *((FEASIBLE,) if FEASIBLE in names else ()),
    ]
    shown = table([cell(name) for name in headings])
    for who, one in zip(called, frame.to_dict("records"), strict=True):
        mean, low, high = (format_near(one[name], one["sd"]) for name in ("mean", "low", "high"))
        average = with_side(one["average"], one.get(AVERAGE_BEYOND))
        numbers = number(average), mean, format_near(one["sd"], one["sd"])
        between = f"[{low}, {high}]"
        first = (*map(cell, who.values()), *(cell(one[name]) for name in columns))
        first += (str(one["results"]),)
        own = [
            f"{format_near(one[f'{name} mean'], one[f'{name} sd'])} ± "
            f"{format_near(one[f'{name} sd'], one[f'{name} sd'])}"
            for name in targets
        ]
        own += [format_share(one[FEASIBLE])] if FEASIBLE in names else []
        shown.add_row(*map(escape, (*first, *numbers, between, *own)))
    console.print(shown)
    print_line(
        console,
        f"{len(frame)} of {format_count(total, 'candidate' if row else 'point')}, the best "
        f"estimate first.{f' {ROWS}' if 'row' in first_columns else ''}",
    )
