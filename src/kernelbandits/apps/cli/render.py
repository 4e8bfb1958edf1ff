"""Studies as text in a terminal: suggestions, status, history, explanations, estimates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits.apps.cli.output import facts, print_line
from kernelbandits.formatting import (
    format_age,
    format_count,
    format_near,
    format_number,
    format_share,
    format_time,
)

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Event, Listed
    from kernelbandits.study.values import Explained, Status, Suggestion, Waiting
    from kernelbandits.tables.candidates import Candidates

DIGITS = 6
MOST_COLUMNS = 8
"""Of a candidate in a table; JSON has all of them."""
MOST_WAITING = 12
GIVEN = re.compile(r"[0-9a-f]{32}(/[0-9a-z]+)*")
"""A key that the study made itself; only keys of users are shown."""
Label = Callable[[int | None], Mapping[str, str]]
"""What the table calls a row."""
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


def point(x: Any) -> str:
    """Cs 0.05, FA 0.8"""
    return ", ".join(f"{cell(name)} {cell(value)}" for name, value in x.items())


def command(*words: object) -> str:
    """Return a command line that can be copied into a shell."""
    return " ".join(["kernelbandits study", *(shlex.quote(str(word)) for word in words)])


def title(place: str) -> str:
    """Return the name of a study in its database, or its file."""
    server = re.fullmatch(r"postgresql://.*[?&]study=(\w+)(&.*)?", place)
    return server[1] if server else place


def table(headings: Sequence[str], left: Sequence[str] = ()) -> Table:
    """Return a table with numbers at the right; the columns in `left` hold words."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in headings:
        shown.add_column(escape(name), justify="left" if name in left else "right", overflow="fold")
    return shown


def shown_columns(x: Mapping[str, Any]) -> dict[str, str]:
    """The first columns of a candidate as a table shows them."""
    shown = {cell(name): cell(value) for name, value in list(x.items())[:MOST_COLUMNS]}
    more = len(x) - MOST_COLUMNS
    return shown | ({f"… {more} more": "…"} if more > 0 else {})


def print_suggestions(
    console: Console,
    found: Sequence[Suggestion],
    candidates: Candidates | None,
    place: str,
    targets: Sequence[str] = (),
) -> None:
    """Print the rows or points to measure, the reasons, and the command to type next.

    Without candidates the study is over a space.
    """
    described = [{**show_row(one.row), **describe_row(one, candidates)} for one in found]
    shown = table(["trial", *described[0]])
    for one, texts in zip(found, described, strict=True):
        shown.add_row(str(one.trial), *map(escape, texts.values()))
    console.print(shown)
    for why, trials in group_by_reason(found).items():
        which = f" trial {', '.join(map(str, trials))}" if len(found) > 1 else ""
        print_line(console, f"Why{which}: {why}")
    held = f" for {cell(found[0].worker)}" if found[0].worker else ""
    until = format_time(min(one.until for one in found))
    counted = f" {ROWS}" if candidates is not None else ""
    print_line(console, f"Reserved{held} until {until}.{counted}")
    if found[0].sheet is not None:
        print_line(console, f"Sheet: {found[0].sheet}")
        if not found[0].sheet.lower().endswith(".html"):
            told = command("tell", place, "--sheet", found[0].sheet)
            print_line(console, f"When it is filled in, or a part of it:  {told}")
            return
    print_line(
        console,
        f"When you have the result:  {command('tell', place, found[0].trial)} "
        f"{name_values(targets)}   (or --failed)",
    )


def show_row(row: int | None) -> dict[str, str]:
    """The number of a row for a table on the screen; a point of a space has none."""
    return {} if row is None else {"row": str(row)}


def describe_row(one: Suggestion, candidates: Candidates | None) -> dict[str, str]:
    """Return the label, the columns and the cost of a row."""
    price = (
        {}
        if candidates is None or candidates.costs is None or one.row is None
        else {cell(candidates.cost): number(candidates.costs[one.row])}
    )
    return shown_columns(one.label) | shown_columns(one.x) | price


def group_by_reason(found: Sequence[Suggestion]) -> dict[str, list[int]]:
    """Reason -> the trials that have it."""
    trials: dict[str, list[int]] = {}
    for one in found:
        trials.setdefault(cell(one.why), []).append(one.trial)
    return trials


def print_status(
    console: Console, found: Status, label: Label, place: str, details: bool = False
) -> None:
    """Print results, the likely best and what to do next; with details the model too."""
    aim = f"{found.direction} {cell(found.target)}"
    print_line(console, f"{title(found.place)}: {aim}, {count_candidates(found)}")
    about = {"goal": found.purpose} if found.purpose else {}
    about |= {
        "results": count_results(found),
        "likely best": found.best.sentence if found.best else "no results yet",
        "may I stop?": stop_sentence(found, place),
    }
    about |= {cell(one.name): one.sentence for one in found.targets}
    if details:
        about |= {
            "policy": found.policy,
            "repeats": found.repeats,
            "columns" if found.space is None else "space": found.scales,
            "scale": found.units,
            "guarantee": found.claim,
        }
    lines = list_front(found) | list_pending(found.waiting, label)
    lines |= {"next": next_commands(found, place)}
    console.print(facts({name: cell(text) for name, text in about.items()} | lines))


def list_front(found: Status) -> dict[str, str]:
    """The measured candidates on the Pareto front, the most desirable first."""
    lines = []
    for one in found.front[:MOST_WAITING]:
        values = ", ".join(f"{cell(name)} {number(value)}" for name, value in one.values.items())
        x = point({**one.label, **one.x})
        where = x if one.row is None else f"row {one.row} ({x})"
        lines.append(f"{where}: {values}; desirability {number(one.desirability)}")
    more = len(found.front) - MOST_WAITING
    text = "\n".join([*lines, *([f"… {more} more"] if more > 0 else [])])
    return {"front": text} if lines else {}


def stop_sentence(found: Status, place: str) -> str:
    """Return the answer of the study, with the option in place of the Python argument."""
    from kernelbandits.study.stopping import TOLERANCE_HINT

    sentence = found.stop.sentence
    if not sentence.endswith(TOLERANCE_HINT):
        return sentence
    hint = TOLERANCE_HINT.replace("tolerance=", f"{command('change', place)} --tolerance ")
    return sentence.removesuffix(TOLERANCE_HINT) + hint


def count_candidates(found: Status) -> str:
    """How many candidates there are, in how many rows if they come twice; or what the space is."""
    if found.rows is None or found.different is None or found.different == found.rows:
        return found.extent
    candidates = format_count(found.different, "different candidate")
    return f"{candidates} ({format_count(found.rows, 'row')})"


def count_results(found: Status) -> str:
    failures = f" and {format_count(found.failed, 'failure')}" if found.failed else ""
    results = f"{format_count(found.told, 'result')}{failures}"
    done = f"{results} on {found.measured} of {count_candidates(found)}"
    if found.space is not None:
        done = f"{results} at {format_count(found.measured, 'point')}"
    others = {
        "pending": found.pending,
        "missing": found.missing,
        "withdrawn": found.withdrawn,
        "not allowed": (found.rows or 0) - (found.allowed or 0),
    }
    return ", ".join(
        [done, *(f"{count} {name}" for name, count in others.items() if count or name == "pending")]
    )


def list_pending(found: Sequence[Waiting], label: Label) -> dict[str, str]:
    """List the trials that wait for a result, the longest waiting first."""
    longest = sorted(found, key=lambda one: -one.since)
    lines = [describe_pending(one, label(one.row)) for one in longest[:MOST_WAITING]]
    more = len(found) - MOST_WAITING
    if more > 0:
        lines.append(f"… {more} more")
    return {"pending": "\n".join(lines)} if found else {}


def describe_pending(one: Waiting, label: Mapping[str, str]) -> str:
    who = f" by {cell(one.worker)}" if one.worker else ""
    noun = "point" if one.row is None else "row"
    late = f"; its lease has ended, so its {noun} can be suggested again" if one.overdue else ""
    x = point({**label, **one.x})
    where = f"trial {one.trial}, " + (x if one.row is None else f"row {one.row} ({x})")
    came = ", ".join(f"{cell(name)} {number(value)}" for name, value in one.values.items())
    has = f"; has {came}" if came else ""
    return f"{where}: asked for{who} {format_age(one.since)}{late}{has}"


def name_values(targets: Sequence[str]) -> str:
    """What to type for a result: VALUE, or --value NAME=VALUE for each of several targets."""
    return " ".join(f"--value {shlex.quote(name)}=VALUE" for name in targets) or "VALUE"


def next_commands(found: Status, place: str) -> str:
    """Return the commands to type next."""
    told = []
    for one in found.waiting[:1]:
        left = [target.name for target in found.targets if target.name not in one.values]
        told.append(f"{command('tell', place, one.trial)} {name_values(left)}")
    return "\n".join([*told, command("ask", place)])


def print_studies(console: Console, found: Sequence[Listed]) -> None:
    """One line for each study."""
    shown = table(["study", "rows", "events", "since"], left=("study", "since"))
    for one in found:
        # A study over a space has no rows.
        numbers = ["–" if not count else str(count) for count in (one.rows, one.events)]
        shown.add_row(
            escape(one.name), *numbers, "damaged" if one.since is None else format_time(one.since)
        )
    console.print(shown)


def print_history(console: Console, events: Sequence[Event], earlier: int) -> None:
    """One line for each event."""
    words = ("when", "what", "worker", "more")
    shown = table(["event", *words[:2], "trial", "row", "value", *words[2:]], left=words)
    for one in events:
        numbers = [("" if item is None else str(item)) for item in (one.trial, one.row)]
        value = "" if one.value is None else number(one.value)
        texts = (
            str(one.seq),
            format_time(one.at),
            one.kind,
            *numbers,
            value,
            cell(one.worker or ""),
            describe_event(one),
        )
        shown.add_row(*map(escape, texts))
    console.print(shown)
    if earlier:
        print_line(
            console,
            f"{format_count(earlier, 'earlier event')} not shown; a larger --limit shows more",
        )


def describe_event(event: Event) -> str:
    """Describe an event in a few words."""
    said = MORE.get(event.kind, event_reason)(event.body)
    x = point(event.body["x"]) if "x" in event.body else ""
    said = "; ".join(text for text in (said, *describe_details(event.body)) if text)
    key = f"key {event.key}" if event.key and not GIVEN.fullmatch(event.key) else ""
    return cell("; ".join(text for text in (x, said, key) if text))


def describe_details(body: Mapping[str, Any]) -> list[str]:
    """The standard error, the note and who measured, of a result."""
    error = [f"± {number(body['sem'])}"] if "sem" in body else []
    sems = body.get("sems", {})
    for name, value in body.get("values", {}).items():
        width = f" ± {number(sems[name])}" if name in sems else ""
        error.append(f"{name} {number(value)}{width}")
    error += [f"{name} missing" for name in body.get("missing", ())]
    by = [f"by {body['by']}"] if "by" in body else []
    # The note of an ask is what the policy noted, in numbers.
    note = body.get("note")
    return [*error, *([note] if isinstance(note, str) else []), *by]


def describe_created(body: Mapping[str, Any]) -> str:
    # A space has no table of candidates.
    settings, log = body["settings"], body.get("candidates", {}).get("log")
    scales = f", log10 of {', '.join(log)}" if log else ""
    aim = f"{settings['direction']} {settings['target']}"
    return f"{aim}, policy {settings['policy']}{scales}"


def describe_settings(body: Mapping[str, Any]) -> str:
    """Describe a scale computed from the results, or a change of settings."""
    if body.get("auto"):
        centre, spread = number(body["centre"]), number(body["spread"])
        return f"centre {centre}, spread {spread}, from the results"
    settings = body["settings"]
    if "revised_from" in body:
        return f"revision {settings['revision']} of {settings['policy']} chooses from now on"
    return f"changed; policy {settings['policy']}"


def describe_undone(body: Mapping[str, Any]) -> str:
    return f"undoes event {body['of']} ({body['kind']})"


def describe_released(body: Mapping[str, Any]) -> str:
    return "its lease ended" if body.get("overdue") else "by the user"


def describe_fitted(body: Mapping[str, Any]) -> str:
    return f"scales fitted to {format_count(body['results'], 'result')}"


def describe_added(body: Mapping[str, Any]) -> str:
    size = format_count(len(next(iter(body["columns"].values()))), "row")
    if body.get("off_table"):
        return "a point off the table"
    fresh = f", new columns {', '.join(body['new'])}" if body["new"] else ""
    return f"{size} from row {body['first']} on{fresh}"


def describe_permission(body: Mapping[str, Any]) -> str:
    rows = f"rows {', '.join(map(str, body['rows']))}"
    return "; ".join(text for text in (rows, event_reason(body)) if text)


def event_reason(body: Mapping[str, Any]) -> str:
    return str(body.get("reason") or "")


MORE = {
    "created": describe_created,
    "settings": describe_settings,
    "undone": describe_undone,
    "released": describe_released,
    "fitted": describe_fitted,
    "added": describe_added,
    "forbidden": describe_permission,
    "allowed": describe_permission,
}
"""Kind of event -> what its body says."""


def print_explanation(console: Console, found: Explained) -> None:
    print_line(console, cell(found.sentence))
    here = {**show_row(found.row), **shown_columns(found.x)}
    shown = table(["", *here, "estimate", "sd", "probability of being best"], left=("",))
    last = number(found.mean), number(found.sd), format_share(found.chance)
    shown.add_row("suggested", *map(escape, here.values()), *last)
    other = (found.greedy, found.greedy_x) != (found.row, found.x)
    if found.results and other and found.greedy_x is not None:
        rival = {**show_row(found.greedy), **shown_columns(found.greedy_x)}
        last = number(found.greedy_mean), number(found.greedy_sd), format_share(found.greedy_chance)
        shown.add_row("best estimate", *map(escape, rival.values()), *last)
    console.print(shown)
    drawn = {
        "weight": found.weight,
        "width": found.width,
        "bonus": found.bonus,
        "index": found.index,
        "expected improvement": found.improvement,
        "gain": found.gain,
        "horizon": found.horizon,
    }
    console.print(
        facts({name: number(value) for name, value in drawn.items() if value is not None})
    )
    known = f"{format_count(found.results, 'result')}, {found.pending} pending"
    print_line(console, f"Known at that time: {known}.")


def print_estimates(console: Console, frame: pd.DataFrame, total: int) -> None:
    """Candidates, the best estimate first."""
    names = list(frame.columns)
    row = ["row"] if "row" in names and "allowed" in names else []
    last = names.index("allowed" if row else "results")
    columns = names[len(row) : last][:MOST_COLUMNS]
    targets = [name.removesuffix(" mean") for name in names[last:] if name.endswith(" mean")]
    headings = [*row, *columns, "results", "average", "estimate", "sd", "95 % interval", *targets]
    shown = table([cell(name) for name in headings])
    for one in frame.to_dict("records"):
        mean, low, high = (format_near(one[name], one["sd"]) for name in ("mean", "low", "high"))
        numbers = number(one["average"]), mean, format_near(one["sd"], one["sd"])
        between = f"[{low}, {high}]"
        first = (*(str(one[name]) for name in row), *(cell(one[name]) for name in columns))
        first += (str(one["results"]),)
        own = [
            f"{format_near(one[f'{name} mean'], one[f'{name} sd'])} ± "
            f"{format_near(one[f'{name} sd'], one[f'{name} sd'])}"
            for name in targets
        ]
        shown.add_row(*map(escape, (*first, *numbers, between, *own)))
    console.print(shown)
    print_line(
        console,
        f"{len(frame)} of {format_count(total, 'candidate' if row else 'point')}, the best "
        f"estimate first.{f' {ROWS}' if row else ''}",
    )
