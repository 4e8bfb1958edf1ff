"""The finished searches as results/search.json, .md and .svg, and the goals they reach or miss.

Every figure is of one group: the tables and functions that chose nothing come first, then those of
the choice, the rough tables, and the permuted ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from benchmarks import tables as result_tables
from benchmarks.opponents import OURS
from benchmarks.regret_summary import circumstances, goal_row, lines
from benchmarks.rows import Goal, Row
from benchmarks.search import agreement, figure, functions, tables, times
from benchmarks.search.contestants import (
    CONTESTANTS,
    GPSAMPLER,
    LOGEI_FORMS,
    RANDOM,
)
from benchmarks.search.groups import GROUPS, Group
from benchmarks.search.play import SEEDS
from benchmarks.search.rows import Searched, latest, read
from benchmarks.search.scores import (
    FAMILY_LEVEL,
    FLOOR,
    MEASURED,
    RECOMMENDED,
    UPPER,
    BoxScore,
    Comparison,
    Score,
    Searches,
    adjusted_p_values,
    box_score,
    compare,
    compare_boxes,
    has_rivals_of_random,
    pair_up,
    score_of,
    select,
    worse_than,
)
from benchmarks.search.tables import Array
from benchmarks.search.tasks import BATCHES, BOX_NOISES, BUDGET, MARKS, NOISES, SCORED
from kernelbandits.codec import to_json

ABOUT = f"""\
Each contestant measures rows of a real table, one after the other or in batches of four, or
evaluates points of a box. Simple regret is a share of the range: the value of the best row minus
that of the row measured best, or recommended, in true values. The search score is simple regret
averaged over t = {", ".join(map(str, SCORED))} measurements and over the tables of a group; the
regret after {MARKS[-1]} is shown and is not part of it. There are six groups: tables and functions
on which nothing was chosen, those on which the default of kernelbandits was, rough tables, on which
it was too, tables with permuted values, and functions of 10 to 30 variables that chose nothing and
that chose. Noise is Gaussian with
a standard deviation that is a share of the range. It belongs to the table, the seed and the number
of the measurement, so all contestants share it, and nobody is told it. Candidates are the
different rows of the describing columns; repeated measurements of the table are averaged. Seeds
{SEEDS[0]} to {SEEDS[-1]}. "Recommended" is what the contestant itself names; where it names
nothing, the best result without noise, and the best posterior mean at a measured row with noise.
On boxes the regret after {BUDGET} evaluations is floored at {FLOOR:g} of the range, and means are
geometric. Standard errors are over seeds on these tables; intervals of ratios are 95 % bootstrap
intervals over tables and seeds, paired. Two contestants are compared on the tables and seeds that
both have."""
RESOLVED = f"""\
What these games can tell apart: the ratio of two scores on the tables and seeds that both have, its
standard error over seeds (these tables) and over tables and seeds (other tables), and the upper
{100 * UPPER:.0f} % limit with errors over seeds. A difference of 10 % is resolved on these tables where the
error over seeds is at most 0.05 or so."""
P_VALUES = """\
Mean regret over t minus that of random rows, with its standard error, and the p value of a one-sided
paired t test that it is greater, with Holm's correction over the tables of the setting."""
WORSE = """\
"Worse than random" counts tables on which random rows without replacement find more (one-sided
paired t tests over seeds, Holm's procedure at 5 % over the tables)."""
CANNOT = """\
Optuna's samplers cannot be restricted to the rows of a table, and the number of a row as a category
would hide the columns from them: they play on boxes only. BayBE and scikit-learn play on tables
only."""


def write(path: Path) -> None:
    rows = latest(read(path))
    console, folder = Console(), result_tables.RESULTS
    folder.mkdir(exist_ok=True)
    for group in GROUPS:
        console.print(f"\n{group.title}", style="bold")
        console.print(result_tables.as_table(list_goals(rows, group)))
        print(figure.write(rows, group, folder / group.figure))
    timed = list(time_goals())
    if timed:
        console.print(result_tables.as_table(timed))
    (folder / "search.json").write_text(to_json(content(rows)) + "\n")
    (folder / "search.md").write_text(document(rows))


def kinds_at(noise: float) -> tuple[str, ...]:
    """With noise the best row measured is not known to anybody."""
    return (RECOMMENDED,) if noise > 0 else (MEASURED, RECOMMENDED)


def strongest_logei(searches: Searches, kind: str) -> Comparison | None:
    """Against the form of LogEI that is the hardest to beat."""
    found = [compare(searches, OURS, name, kind) for name in LOGEI_FORMS]
    return max((one for one in found if one), key=lambda one: one.ratio.value, default=None)


# The goals


def list_goals(rows: Sequence[Searched], group: Group) -> list[Row]:
    goals: list[Row] = []
    if group.tables:
        goals += [goal for batch in BATCHES for goal in table_goals(rows, group, batch)]
    if group.functions:
        goals += [goal for noise in BOX_NOISES for goal in box_goals(rows, group, noise)]
    return goals


def table_goals(rows: Sequence[Searched], group: Group, batch: int) -> Iterator[Row]:
    """At most 0.9 times LogEI's score, its regret at the end, and no table worse than random."""
    for noise in BOX_NOISES:
        searches = select(rows, group.tables, noise, batch)
        for kind in kinds_at(noise):
            what = f"noise {noise:g}, {kind}" + (f", batches of {batch}" if batch > 1 else "")
            if not group.predictable:
                yield from worse_goal(searches, what, kind)
                continue
            one = strongest_logei(searches, kind)
            if one is None:
                yield Row(f"score / LogEI's, {what}", None, "x", None, "no search of both yet")
                continue
            note = f"{CONTESTANTS[one.rival].title}, {ratio_text(one)}, {coverage(one)}"
            yield goal_row(f"score / LogEI's, {what}", one.ratio.value, "x", Goal("<=", 0.9), note)
            yield end_goal(one, what)
            yield from worse_goal(searches, what, kind)


def worse_goal(searches: Searches, what: str, kind: str) -> Iterator[Row]:
    """No table on which random rows find more."""
    if pair_up(searches, OURS, RANDOM, kind):
        worse = worse_than(searches, OURS, RANDOM, kind)
        title = f"tables worse than random, {what}"
        yield Row(title, float(len(worse)), "", Goal("<=", 0.0), ", ".join(worse))


def end_goal(one: Comparison, what: str) -> Row:
    """At the last mark not above LogEI's by more than the standard error of the difference."""
    known = one.last_error > 0
    note = f"standard error {one.last_error:.4f}" if known else "too few seeds for a standard error"
    goal = Goal("<=", one.last_error) if known else None
    return Row(f"regret - LogEI's at {MARKS[-1]}, {what}", one.last, "", goal, note)


def box_goals(rows: Sequence[Searched], group: Group, noise: float) -> Iterator[Row]:
    """Geometric means at most those of LogEI and GPSampler, no function above twice the better."""
    searches, kind = select(rows, group.functions, noise), kinds_at(noise)[0]
    against = [compare_boxes(searches, OURS, name, kind) for name in (*LOGEI_FORMS, GPSAMPLER)]
    found = [one for one in against if one]
    for one in found:
        what = f"boxes, noise {noise:g}: regret / {CONTESTANTS[one.rival].title}'s"
        span = f"{one.ratio.low:.2f} to {one.ratio.high:.2f}"
        note = f"{span}, {len(one.by_function)} functions, {seeds_text(one.seeds)}"
        yield goal_row(what, one.ratio.value, "x", Goal("<=", 1.0), note)
    if found:
        worst = {
            name: max(one.by_function[name] for one in found)
            for name in found[0].by_function
            if all(name in one.by_function for one in found)
        }
        name = max(worst, key=lambda task: worst[task])
        what = f"boxes, noise {noise:g}: worst function / the better rival's"
        yield goal_row(what, worst[name], "x", Goal("<=", 2.0), name)


def time_goals() -> Iterator[Row]:
    """Say whether a suggestion takes at most a tenth of the time of BoTorch's LogEI."""
    timed = {(one.contestant, one.task, one.results): one for one in times.read()}
    logei = CONTESTANTS[LOGEI_FORMS[0]]
    for place, results in product(times.PLACES, (100, 500)):
        ours = timed.get((OURS, place.name, results))
        rival = timed.get((logei.name, place.name, results))
        if ours and rival:
            what = f"time / that of {logei.title}, {place.name}, {results} results"
            note = f"{1e3 * ours.mean:.3g} ms against {1e3 * rival.mean:.3g} ms"
            yield goal_row(what, ours.mean / rival.mean, "x", Goal("<=", 0.1), note)


# The page


def document(rows: Sequence[Searched]) -> str:
    parts = [
        ["# Find the best, side by side", ABOUT],
        *(part for group in GROUPS for part in group_parts(rows, group)),
        *([["## The twin of LogEI", *twins]] if (twins := list(agreement.sections())) else []),
        ["## Time of a suggestion", *time_sections(rows)],
        ["## How each was used, and what could not be run", usage(rows), CANNOT],
        [
            "## Circumstances",
            "\n".join(f"- {name}: {fact}" for name, fact in circumstances().items()),
        ],
    ]
    return "\n\n".join(text for part in parts for text in part if text) + "\n"


def group_parts(rows: Sequence[Searched], group: Group) -> Iterator[list[str]]:
    """The part of the page on one group: each heading with its texts.

    A heading without anything below it is left out.
    """
    yield [f"## {group.title}", group.about, text_of_unplayed(rows, group)]
    if figure.list_panels(rows, group):
        places = "tables" if group.tables else "functions"
        yield [f"![Regret of each contestant on the {group.name} {places}]({group.figure})"]
    of_tables, of_functions = f"tables {group.kind}", f"functions {group.kind}"
    goals = list_goals(rows, group)
    sections = {
        f"Goals, {group.title[0].lower()}{group.title[1:]}": [goals_text(goals)] if goals else [],
        f"Search score, {of_tables}": list(table_sections(rows, group)),
        f"What can be resolved, {of_tables}": list(resolution_sections(rows, group)),
        f"By number of measurements, {of_tables}": list(mark_sections(rows, group)),
        f"By table, {of_tables}": list(by_table_sections(rows, group)),
        f"Against random rows by table, {of_tables}": list(p_value_sections(rows, group)),
        f"Boxes, {of_functions}": list(box_sections(rows, group)),
    }
    for heading, texts in sections.items():
        if texts:
            yield [f"### {heading}", *texts]


def goals_text(goals: Sequence[Row]) -> str:
    return lines([result_tables.COLUMNS, *(row.cells for row in goals)])


def all_settings(
    rows: Sequence[Searched], group: Group
) -> Iterator[tuple[str, Searches, float, bool]]:
    """Every noise level and batch, with a title each, and whether it is on tables."""
    for batch in BATCHES:
        for noise in NOISES if group.tables else ():
            title = f"Noise {noise:g}" + (f", batches of {batch}" if batch > 1 else "")
            yield title, select(rows, group.tables, noise, batch), noise, True
    for noise in BOX_NOISES if group.functions else ():
        yield f"Boxes, noise {noise:g}", select(rows, group.functions, noise), noise, False


def settings(
    rows: Sequence[Searched], group: Group, on_tables: bool = True
) -> Iterator[tuple[str, Searches, float]]:
    """The settings that somebody but random has played on tables, or on boxes."""
    for title, searches, noise, of_tables in all_settings(rows, group):
        if of_tables == on_tables and has_rivals_of_random(searches):
            yield title, searches, noise


def text_of_unplayed(rows: Sequence[Searched], group: Group) -> str:
    """The settings without a section, in a sentence."""
    missing = [
        title[0].lower() + title[1:]
        for title, searches, _, _ in all_settings(rows, group)
        if not has_rivals_of_random(searches)
    ]
    return f"Not played yet, except by random: {'; '.join(missing)}." if missing else ""


def played_in(searches: Searches) -> list[str]:
    return [name for name in CONTESTANTS if name in searches]


def table_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    played = list(settings(rows, group))
    for title, searches, noise in played:
        for kind in kinds_at(noise):
            head = (
                "contestant",
                "search score",
                "on",
                "kernelbandits / it",
                "95 %",
                f"difference at {MARKS[-1]}",
                "worse than random",
            )
            body = [score_line(searches, name, kind) for name in played_in(searches)]
            yield f"#### {title}, row {kind}"
            yield lines([head, *body])
    if played:
        yield WORSE


def score_line(searches: Searches, name: str, kind: str) -> tuple[str, ...]:
    score = score_of(searches, name, kind)
    assert score is not None
    one = None if name == OURS else compare(searches, OURS, name, kind)
    against = (
        ("-", "-", "-")
        if one is None
        else (f"{one.ratio.value:.2f}", ratio_text(one), difference_text(one))
    )
    worse = worse_than(searches, name, RANDOM, kind) if name != RANDOM else []
    return (
        CONTESTANTS[name].title,
        with_error(score),
        f"{score.tables} tables, {seeds_text(score.seeds)}",
        *against,
        f"{len(worse)}" + (f": {', '.join(worse)}" if worse else ""),
    )


def resolution_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    played = list(settings(rows, group))
    if played:
        yield RESOLVED
    for title, searches, noise in played:
        kind = kinds_at(noise)[0]
        head = (
            "compared",
            "ratio of scores",
            "± over seeds",
            "± over tables",
            f"upper {100 * UPPER:.0f} %",
            "games of each",
        )
        yield f"#### {title}, row {kind}"
        yield lines([head, *(resolution_line(*one) for one in list_pairs(searches, kind))])


def list_pairs(searches: Searches, kind: str) -> Iterator[tuple[str, Comparison]]:
    """Compare kernelbandits with everybody, and everybody with random rows."""
    names = played_in(searches)
    pairs = [(OURS, name) for name in names if name not in (OURS, RANDOM)]
    pairs += [(name, RANDOM) for name in names if name != RANDOM]
    for name, rival in pairs:
        one = compare(searches, name, rival, kind)
        if one:
            yield name, one


def resolution_line(name: str, one: Comparison) -> tuple[str, ...]:
    figures = (one.ratio.value, one.seed_error, one.table_error, one.upper)
    return (
        f"{CONTESTANTS[name].title} / {CONTESTANTS[one.rival].title}",
        *("-" if math.isnan(figure) else f"{figure:.2f}" for figure in figures),
        str(one.games),
    )


def p_value_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    played = list(settings(rows, group))
    if played:
        yield P_VALUES
    for title, searches, noise in played:
        kind = kinds_at(noise)[0]
        names = [name for name in played_in(searches) if name != RANDOM]
        gaps = {name: pair_up(searches, name, RANDOM, kind) for name in names}
        tests = {name: adjusted_p_values(searches, name, RANDOM, kind) for name in names}
        body = [
            (
                table,
                *(gap_text(gaps[name].get(table), tests[name].get(table)) for name in names),
            )
            for table in group.tables
        ]
        yield f"#### {title}, row {kind}"
        yield lines([("table", *(CONTESTANTS[name].title for name in names)), *body])


def gap_text(both: Array | None, p: float | None) -> str:
    if both is None or p is None:
        return "-"
    gap = both[0] - both[1]
    error = gap.std(ddof=1) / math.sqrt(len(gap))
    tested = f"p {p:.2f}" if p > FAMILY_LEVEL else f"**p {p:.2g}**"
    return f"{gap.mean():+.3f} ± {error:.3f}, {tested}"


def mark_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    for title, searches, noise in settings(rows, group):
        kind = kinds_at(noise)[0]
        body = []
        for name in played_in(searches):
            at = [score_of(searches, name, kind, place) for place in range(len(MARKS))]
            body.append((CONTESTANTS[name].title, *(with_error(one) for one in at if one)))
        yield f"#### {title}, row {kind}"
        yield lines([("contestant", *map(str, MARKS)), *body])


def by_table_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    for title, searches, noise in settings(rows, group):
        kind, names = kinds_at(noise)[0], played_in(searches)
        body = []
        for table in group.tables:
            alone = [
                {name: {table: searches[name][table]} if table in searches[name] else {}}
                for name in names
            ]
            scores = [score_of(one, name, kind) for one, name in zip(alone, names, strict=True)]
            body.append((table, *(with_error(one) if one else "-" for one in scores)))
        yield f"#### {title}, row {kind}"
        yield lines([("table", *(CONTESTANTS[name].title for name in names)), *body])


def box_sections(rows: Sequence[Searched], group: Group) -> Iterator[str]:
    for title, searches, noise in settings(rows, group, on_tables=False):
        for kind in kinds_at(noise):
            names = played_in(searches)
            scores = [box_score(searches, name, kind) for name in names]
            found = [one for one in scores if one]
            body = [("**geometric mean**", *(factor_text(one) for one in found))]
            body += [
                (task, *(number(one.by_function.get(task)) for one in found))
                for task in group.functions
            ]
            played = (f"{len(one.by_function)} of {len(group.functions)}" for one in found)
            body.append(("functions", *played))
            body.append(("seeds", *(span_text(one.seeds) for one in found)))
            yield f"#### {title}, point {kind}"
            yield lines([("function", *(CONTESTANTS[name].title for name in names)), *body])


def factor_text(score: BoxScore) -> str:
    """A geometric mean has a factor of uncertainty."""
    factor = "" if math.isnan(score.factor) else f" x/÷ {score.factor:.2f}"
    return f"{score.overall:.2g}{factor}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def time_sections(rows: Sequence[Searched]) -> Iterator[str]:
    timed_goals = list(time_goals())
    if timed_goals:
        yield goals_text(timed_goals)
    yield "Milliseconds of the processor for ask + tell on one thread, means over the searches."
    places = (("tables", (*tables.NAMES, *tables.PERMUTED)), ("boxes", functions.NAMES))
    body = []
    for name, contestant in CONTESTANTS.items():
        cells = []
        for _, names in places:
            taken = [
                row.seconds[1]
                for row in rows
                if row.contestant == name and row.task in names and row.batch == 1
            ]
            cells.append(f"{1e3 * fmean(taken):.3g}" if taken else "-")
        body.append((contestant.title, *cells))
    yield lines([("contestant", *(title for title, _ in places)), *body])
    timed = times.read()
    if timed:
        yield (
            "Milliseconds of the processor for the next suggestions after so many results of "
            "random places, or of its own suggestions, mean and median (`--times`). The means "
            "include the fits that fell due."
        )
        columns = [(place.name, n) for place in times.PLACES for n in place.results]
        found = {(one.contestant, one.task, one.results): one for one in timed}
        body = [
            (contestant.title, *(time_text(found.get((name, *column))) for column in columns))
            for name, contestant in CONTESTANTS.items()
            if any((name, *column) in found for column in columns)
        ]
        yield lines([("contestant", *(f"{place}, {n}" for place, n in columns)), *body])


def time_text(one: times.Timed | None) -> str:
    return "-" if one is None else f"{1e3 * one.mean:.3g} ({1e3 * one.median:.3g})"


def usage(rows: Sequence[Searched]) -> str:
    versions = {row.contestant: row.version for row in rows}
    return "\n".join(
        f"- {contestant.title} ({contestant.package} {versions[name]}): {contestant.used}"
        if name in versions
        else f"- {contestant.title} is left out: {contestant.missing or 'no search played'}"
        for name, contestant in CONTESTANTS.items()
    )


def ratio_text(one: Comparison) -> str:
    return f"{one.ratio.low:.2f} to {one.ratio.high:.2f}"


def coverage(one: Comparison) -> str:
    return f"{one.tables} tables, {seeds_text(one.seeds)}"


def span_text(counts: tuple[int, int]) -> str:
    low, high = counts
    return f"{low}" if low == high else f"{low} to {high}"


def seeds_text(counts: tuple[int, int]) -> str:
    return f"{span_text(counts)} seed{'s' * (counts[1] > 1)}"


def difference_text(one: Comparison) -> str:
    spread = "" if math.isnan(one.last_error) else f" ± {one.last_error:.4f}"
    return f"{one.last:+.4f}{spread}"


def with_error(score: Score) -> str:
    spread = "" if math.isnan(score.error) else f" ± {score.error:.4f}"
    return f"{score.value:.4f}{spread}"


# The same for programs


def content(rows: Sequence[Searched]) -> dict[str, Any]:
    return {
        "about": ABOUT,
        "groups": {group.name: group for group in GROUPS},
        "circumstances": circumstances(),
        "seeds": [SEEDS[0], SEEDS[-1]],
        "goals": [
            {"group": group.name} | row.plain()
            for group in GROUPS
            for row in list_goals(rows, group)
        ],
        "time goals": [row.plain() for row in time_goals()],
        "tables": [
            {"group": group.name} | table_content(searches, title, kind)
            for group in GROUPS
            for title, searches, noise in settings(rows, group)
            for kind in kinds_at(noise)
        ],
        "boxes": [
            {"group": group.name} | box_content(searches, noise, kind)
            for group in GROUPS
            for _, searches, noise in settings(rows, group, on_tables=False)
            for kind in kinds_at(noise)
        ],
        "twin": agreement.summarise(games) if (games := agreement.read()) else None,
        "times": times.read(),
        "used": {name: {"title": one.title, "used": one.used} for name, one in CONTESTANTS.items()},
    }


def table_content(searches: Searches, title: str, kind: str) -> dict[str, Any]:
    names = played_in(searches)
    comparisons = [compare(searches, OURS, name, kind) for name in names if name != OURS]
    return {
        "setting": title,
        "row": kind,
        "scores": {name: score_of(searches, name, kind) for name in names},
        "at": {
            name: {
                str(mark): score_of(searches, name, kind, place) for place, mark in enumerate(MARKS)
            }
            for name in names
        },
        "by table": {
            name: {
                task: score_of({name: {task: seeds}}, name, kind)
                for task, seeds in searches[name].items()
            }
            for name in names
        },
        "against kernelbandits": [one for one in comparisons if one],
        "against random": [
            {"contestant": name} | vars(one)
            for name in names
            if name != RANDOM and (one := compare(searches, name, RANDOM, kind))
        ],
        "p values against random": {
            name: adjusted_p_values(searches, name, RANDOM, kind)
            for name in names
            if name != RANDOM
        },
        "worse than random": {
            name: worse_than(searches, name, RANDOM, kind) for name in names if name != RANDOM
        },
    }


def box_content(searches: Searches, noise: float, kind: str) -> dict[str, Any]:
    names = played_in(searches)
    comparisons = [compare_boxes(searches, OURS, name, kind) for name in names if name != OURS]
    return {
        "noise": noise,
        "point": kind,
        "scores": {name: one for name in names if (one := box_score(searches, name, kind))},
        "against kernelbandits": [one for one in comparisons if one],
    }
