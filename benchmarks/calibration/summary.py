"""The judged studies as results/calibration.json, .md and .svg, and the goals reached or missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import tables as result_tables
from benchmarks.calibration import figure, scores
from benchmarks.calibration.play import LOOKS, MARKS, TOP
from benchmarks.calibration.rows import (
    RANDOM,
    RULE,
    TOLERANCES,
    IntervalQuality,
    JudgedStudy,
    Look,
    Statements,
    latest,
    read,
)
from benchmarks.regret_summary import circumstances, lines
from benchmarks.rows import Goal, Row
from benchmarks.search import tables
from kernelbandits.codec import to_json

LEAST, GREATEST = 0.90, 0.98
"""The coverage that 95 % intervals should have."""
LOW = 0.85
"""Tables with less coverage are named with its cause."""
LEAST_RIGHT = 0.90
"""The share of first yeses that should be right."""
TITLES = {RULE: "rows chosen by the study", RANDOM: "rows drawn at random"}
GROUPS: Mapping[str, Callable[[Statements], IntervalQuality]] = {
    "all unmeasured rows": lambda one: one.unmeasured,
    f"the {TOP} unmeasured rows of the highest estimate": lambda one: one.top,
}

ABOUT = f"""\
A study of each real table is created with nothing given but the table, and goes on for {MARKS[-1]}
results. After {" and ".join(map(str, MARKS))} results its statements are compared with the true
values of all rows. Values are scaled so that the worst row has 0 and the best row 1. Results have
Gaussian noise with a standard deviation that is a share of this range; the study is not told it.
Repeated measurements of a table are averaged, so the average is the true value f. A permuted table
has the values of a real one in another order in each seed, so that no model can be of use. Every
table counts the same in a mean. The studies of one table are alike, therefore the 95 % intervals of
coverage and of losses are bootstrap intervals over tables. The looks of one campaign are alike,
therefore those of probabilities are two standard errors clustered by campaign."""
TUNED = """\
The model was chosen on 14 of these tables, by the predictive density and the coverage of unmeasured
rows among others (docs/decisions/0012), so their coverage flatters it. The coverage of the tables
that chose nothing is given apart."""
COVERAGE = """\
The share of true values f inside the 95 % and the 50 % interval of their estimate. "Above" is the
share of values above the 95 % interval (2.5 % if all is right). "Error" is the median over tables
of the root mean square of (f - estimate) / sd (1 if all is right; more if the standard deviations
are too small). The log density is the mean of ln N(f; estimate, sd^2), and "no model" that of a
normal law with mean and standard deviation of the results."""
RELIABILITY = f"""\
Statements at all looks are sorted by the probability that is stated; "right" is the share of them
that were true. A study states the first probability itself (`best`, `status`), the others where it
has a tolerance. A bin agrees if stated and true share differ by at most {scores.SLACK:g}, or by two
standard errors clustered by campaign if these are larger. Bins with looks from fewer than
{scores.FEWEST_CAMPAIGNS} campaigns are not judged."""
NARROW = f"""\
Tables with a coverage below {100 * LOW:.0f} %, and why. A study can see that its intervals are too
narrow only in the results that it predicts from each other (leave-one-out)."""
LOSSES = """\
"Stated" is the mean of what stopping loses on average, as `status` says it; "true" is the mean of
what stopping would have lost."""
STOPPING = f"""\
A user with a tolerance asks after {LOOKS[0]}, {LOOKS[1]}, ..., {LOOKS[-1]} results whether to stop,
and stops at the first yes."""
CAUTIONS = """\
"Poor" counts studies whose results are predicted from each other (leave-one-out) no better than by
their mean; there every answer has to say so. "Truly poor" counts those whose estimates of
unmeasured rows are no better than the mean of the results, which no study can know."""


def write(path: Path) -> None:
    studies = latest(read(path))
    if not studies:
        print("No study has been judged yet.")
        return
    goals = list_goals(studies)
    Console().print(result_tables.as_table(goals))
    folder = result_tables.RESULTS
    folder.mkdir(exist_ok=True)
    (folder / "calibration.json").write_text(to_json(content(studies, goals)) + "\n")
    (folder / "calibration.md").write_text(document(studies, goals))
    print(figure.write(studies, folder / "calibration.svg"))


def noises_of(studies: Sequence[JudgedStudy]) -> list[float]:
    return sorted({one.noise for one in studies})


def settings(
    studies: Sequence[JudgedStudy], design: str = RULE
) -> Iterator[tuple[float, int, list[JudgedStudy]]]:
    """The noise levels and numbers of results that were judged."""
    for noise in noises_of(studies):
        some = scores.select(studies, noise, design)
        for results in MARKS:
            if scores.statements_by_table(some, results):
                yield noise, results, some


# The goals


def list_goals(studies: Sequence[JudgedStudy]) -> list[Row]:
    return [
        *coverage_goals(studies),
        *probability_goals(studies),
        *stop_goals(studies),
        *caution_goals(studies),
    ]


def coverage_goals(studies: Sequence[JudgedStudy]) -> Iterator[Row]:
    """90 to 98 % of the values of unmeasured rows lie in their 95 % intervals."""
    held_out = [one for one in studies if one.table in tables.HELD_OUT]
    yield from group_coverage(held_out, "tables that chose nothing")
    yield from group_coverage(studies, "all tables")


def group_coverage(studies: Sequence[JudgedStudy], group: str) -> Iterator[Row]:
    for noise, results, some in settings(studies):
        found = scores.summarise_coverage(some, results, GROUPS["all unmeasured rows"])
        assert found is not None
        covered, (worst, least) = found.coverage_95, found.least
        note = f"{interval_text(covered)}; least: {worst}, {percent(least)}"
        what = f"coverage of 95 % intervals, noise {noise:g}, {results} results, {group}"
        # There are two bounds: the one shown is that which is missed, or else nearer.
        near = Goal(">=", 100 * LEAST)
        if covered.value > (LEAST + GREATEST) / 2:
            near = Goal("<=", 100 * GREATEST)
        yield Row(what, 100 * covered.value, "%", near, note)


def probability_goals(studies: Sequence[JudgedStudy]) -> Iterator[Row]:
    """In no bin of stated probabilities is the share of right statements another one."""
    some = scores.select(studies, None, RULE)
    for what, state in scores.PROBABILITIES.items():
        every = scores.bin_probabilities(scores.list_stated(some, state))
        bins = [one for one in every if one.true.clusters >= scores.FEWEST_CAMPAIGNS]
        title = f"bins of probability that are off: {what}"
        if not bins:
            yield Row(title, None, "", None, "no bin has looks from enough campaigns")
            continue
        wrong = [one for one in bins if not one.agrees]
        named = "; ".join(
            f"{percent(one.stated)} stated, {percent(one.true.value)} right" for one in wrong
        )
        note = f"of {len(bins)}" + (f": {named}" if named else "")
        yield Row(title, float(len(wrong)), "", Goal("<=", 0.0), note)


def stop_goals(studies: Sequence[JudgedStudy]) -> Iterator[Row]:
    """Who stops as soon as the study says so loses no more than the tolerance, mostly and on
    average."""
    some = scores.select(studies, None, RULE)
    held_out = [one for one in some if one.table in tables.HELD_OUT]
    for group, few in (("tables that chose nothing", held_out), ("all tables", some)):
        for tolerance in TOLERANCES:
            found = scores.follow_stop_rule(few, tolerance)
            what = f"first yeses that were right, tolerance {tolerance:g}, {group}"
            if found is None:
                yield Row(what, None, "", None, "no study says yes")
                continue
            note = f"{interval_text(found.within)}; {found.within.studies} of {found.studies}"
            yield Row(what, 100 * found.within.value, "%", Goal(">=", 100 * LEAST_RIGHT), note)
    for tolerance in TOLERANCES:
        found = scores.follow_stop_rule(some, tolerance)
        what = f"mean loss after stopping with tolerance {tolerance:g}"
        if found is None:
            yield Row(what, None, "", None, "no study says yes")
            continue
        note = f"{number_interval(found.loss)}; {found.loss.studies} of {found.studies} studies"
        yield Row(what, found.loss.value, "", Goal("<=", tolerance), note)


def caution_goals(studies: Sequence[JudgedStudy]) -> Iterator[Row]:
    """Every answer of a study with a poor model says so."""
    counts = [scores.count_cautions(some, results) for _, results, some in settings(studies)]
    poor, said = sum(one.poor for one in counts), sum(one.said for one in counts)
    what = "poor models (leave-one-out) of which an answer does not say so"
    if not poor:
        yield Row(what, None, "", None, "no poor model")
        return
    yield Row(what, float(poor - said), "", Goal("<=", 0.0), f"{poor} poor models")


# The page


def document(studies: Sequence[JudgedStudy], goals: Sequence[Row]) -> str:
    rule = scores.select(studies, None, RULE)
    parts = [
        [
            "# Can the answers of a study be trusted?",
            ABOUT,
            TUNED,
            f"Judged: {counts_text(studies)}.",
            "![Reliability of probabilities and losses, and coverage by table](calibration.svg)",
        ],
        ["## Goals", lines([result_tables.COLUMNS, *(row.cells for row in goals)])],
        ["## Intervals", COVERAGE, *coverage_sections(studies)],
        ["## Tables whose intervals are too narrow", NARROW, lines(narrow_cells(studies))],
        ["## By table", *by_table_sections(studies)],
        ["## Probabilities", RELIABILITY, *probability_sections(studies)],
        ["## Expected losses", LOSSES, *loss_sections(studies)],
        ["## The stop rule", STOPPING, lines(stop_cells(rule))],
        ["## Poor models", CAUTIONS, lines(caution_cells(studies))],
        [
            "## Circumstances",
            "\n".join(f"- {name}: {fact}" for name, fact in facts(studies).items()),
        ],
    ]
    return "\n\n".join(text for part in parts for text in part if text) + "\n"


def facts(studies: Sequence[JudgedStudy]) -> dict[str, Any]:
    return circumstances() | {"kernelbandits": studies[-1].version}


def counts_text(studies: Sequence[JudgedStudy]) -> str:
    found = []
    for design, title in TITLES.items():
        some = scores.select(studies, None, design)
        if some:
            noises = ", ".join(f"{noise:g}" for noise in noises_of(some))
            named, seeds = {one.table for one in some}, {one.seed for one in some}
            found.append(
                f"{len(some)} studies with {title} ({len(named)} tables, noise {noises}, "
                f"{len(seeds)} seeds)"
            )
    return "; ".join(found)


def coverage_sections(studies: Sequence[JudgedStudy]) -> Iterator[str]:
    head = ("noise", "results", "95 % intervals", "in 90 to 98 %", "least table", "greatest table")
    more = ("50 % intervals", "above", "error", "log density")
    for design, title in TITLES.items():
        for group, rows in GROUPS.items():
            body = [
                coverage_line(some, noise, results, rows)
                for noise, results, some in settings(studies, design)
            ]
            if body:
                yield f"### {group[0].upper()}{group[1:]}, {title}"
                yield lines([(*head, *more, "no model"), *body])


def coverage_line(
    studies: Sequence[JudgedStudy],
    noise: float,
    results: int,
    rows: Callable[[Statements], IntervalQuality],
) -> tuple[str, ...]:
    found = scores.summarise_coverage(studies, results, rows)
    assert found is not None
    no_model = scores.table_means(studies, results, lambda one: one.reference_density)
    # The density without a model is that of all unmeasured rows.
    reference = (
        f"{np.mean([*no_model.values()]):.2f}" if rows is GROUPS[next(iter(GROUPS))] else "-"
    )
    return (
        f"{noise:g}",
        f"{results}",
        share_text(found.coverage_95, 1),
        "yes" if LEAST <= found.coverage_95.value <= GREATEST else "NO",
        f"{found.least[0]}, {percent(found.least[1])}",
        f"{found.greatest[0]}, {percent(found.greatest[1])}",
        share_text(found.coverage_50),
        percent(found.above, 1),
        f"{found.error:.2f}",
        f"{found.log_density.value:.2f}",
        reference,
    )


def narrow_cells(studies: Sequence[JudgedStudy]) -> list[tuple[str, ...]]:
    head = ("table", "noise", "results", "95 % intervals", "of results left out", "above", "cause")
    measures: tuple[scores.Measure, ...] = (
        lambda one: one.unmeasured.coverage_95,
        lambda one: none_as_nan(one.left_out_coverage),
        lambda one: one.unmeasured.above,
        lambda one: one.skill,
        lambda one: none_as_nan(one.left_out_skill),
    )
    body = []
    for noise, results, some in settings(studies):
        found = [scores.table_means(some, results, measure) for measure in measures]
        for table in found[0]:
            covered, left_out, above, skill, seen_skill = (one[table] for one in found)
            if covered < LOW:
                cause = name_cause(covered, left_out, skill, seen_skill)
                cells = (percent(covered), percent(left_out), percent(above), cause)
                body.append((table, f"{noise:g}", f"{results}", *cells))
    return [head, *body]


def name_cause(covered: float, left_out: float, skill: float, seen_skill: float) -> str:
    """Say why the intervals of unmeasured rows are too narrow, as far as the numbers tell."""
    if left_out < LEAST:
        return f"the model: {percent(left_out)} of the results left out are inside theirs as well"
    if skill < seen_skill - 0.2:
        return (
            "the rows that were measured: they are predicted from each other with the skill "
            f"{seen_skill:.2f}, all other rows with {skill:.2f}"
        )
    return f"not known: the results left out are covered to {percent(left_out)}"


def by_table_sections(studies: Sequence[JudgedStudy]) -> Iterator[str]:
    measures: Mapping[str, tuple[scores.Measure, Callable[[float], str]]] = {
        "95 % intervals": (lambda one: one.unmeasured.coverage_95, percent),
        f"top {TOP}": (lambda one: one.top.coverage_95, percent),
        "error": (lambda one: one.unmeasured.error, two_digits),
        "skill": (lambda one: one.skill, two_digits),
        "leave-one-out skill": (lambda one: none_as_nan(one.left_out_skill), two_digits),
        "loss, stated": (lambda one: none_as_nan(one.stated_loss), three_digits),
        "loss, true": (lambda one: one.loss, three_digits),
    }
    for noise, results, some in settings(studies):
        found = {
            name: scores.table_means(some, results, measure)
            for name, (measure, _) in measures.items()
        }
        body = [
            (table, *(write_it(found[name][table]) for name, (_, write_it) in measures.items()))
            for table in (*tables.NAMES, *tables.PERMUTED)
            if table in found["skill"]
        ]
        yield f"### Noise {noise:g}, {results} results"
        yield lines([("table", *measures), *body])


def probability_sections(studies: Sequence[JudgedStudy]) -> Iterator[str]:
    for what, state in scores.PROBABILITIES.items():
        yield f"### {what[0].upper()}{what[1:]}"
        for design, title in TITLES.items():
            stated = scores.list_stated(scores.select(studies, None, design), state)
            bins = scores.bin_probabilities(stated)
            head = ("stated", "mean stated", "right", "agrees", "looks", "campaigns")
            body = [bin_line(one, f"{percent(one.low)} to {percent(one.high)}") for one in bins]
            if body:
                yield f"{title[0].upper()}{title[1:]}:"
                yield lines([head, *body])
        body = list(pooled_lines(studies, state))
        if body:
            yield f"{TITLES[RULE][0].upper()}{TITLES[RULE][1:]}, all probabilities together:"
            yield lines([("noise", "results", *head[1:], "Brier score"), *body])
    yield "### The unmeasured row of a higher estimate is better"
    stated = scores.list_untested(scores.select(studies, None, RULE))
    bins = scores.bin_probabilities(stated)
    body = [bin_line(one, f"{percent(one.low)} to {percent(one.high)}") for one in bins]
    yield lines([head, *body]) if body else "No study names one."
    yield "### Intervals of the rows that an answer names"
    yield lines(named_row_cells(studies))


def pooled_lines(
    studies: Sequence[JudgedStudy], state: Callable[[Look], tuple[float, bool]]
) -> Iterator[tuple[str, ...]]:
    """All statements of one kind together, by noise and number of results."""
    for noise, results, some in settings(studies):
        stated = scores.list_stated(some, state, results)
        pooled = scores.pool_probabilities(stated)
        if pooled:
            brier = f"{scores.brier_score(stated):.3f}"
            yield (*bin_line(pooled, f"{noise:g}", f"{results}"), brier)


def bin_line(one: scores.Bin, *names: str) -> tuple[str, ...]:
    return (
        *names,
        percent(one.stated),
        share_text(one.true),
        agreement(one),
        f"{one.true.studies}",
        f"{one.true.clusters}",
    )


def agreement(one: scores.Bin) -> str:
    if one.true.clusters < scores.FEWEST_CAMPAIGNS:
        return "-"
    return "yes" if one.agrees else "NO"


def named_row_cells(studies: Sequence[JudgedStudy]) -> list[tuple[str, ...]]:
    """How often the 95 % intervals of the recommended and of the untested row are right."""
    named = ("of the recommended row", "of the unmeasured row named beside it")
    body = []
    for design, title in TITLES.items():
        for noise, results, some in settings(studies, design):
            stated = scores.statements_by_table(some, results)
            recommended = {
                table: [float(one.recommended_covered) for one in many]
                for table, many in stated.items()
            }
            untested = {
                table: [float(one.untested[2]) for one in many if one.untested]
                for table, many in stated.items()
            }
            cells = [covered_text(recommended), covered_text(untested)]
            body.append((title, f"{noise:g}", f"{results}", *cells))
    return [("rows", "noise", "results", *named), *body]


def covered_text(by_table: Mapping[str, Sequence[float]]) -> str:
    made = {table: many for table, many in by_table.items() if many}
    if not made:
        return "-"
    found = scores.bootstrap_share(made)
    return f"{share_text(found)}, {found.studies} statements"


def loss_sections(studies: Sequence[JudgedStudy]) -> Iterator[str]:
    bins = scores.bin_losses(scores.list_losses(scores.select(studies, None, RULE)))
    head = ("mean stated", "true", "true / stated", "agrees", "statements", "tables")
    names = [
        f"{one.low:g} to {one.high:g}" if np.isfinite(one.high) else f"above {one.low:g}"
        for one in bins
    ]
    yield lines(
        [("stated", *head), *(loss_line(one, name) for one, name in zip(bins, names, strict=True))]
    )
    body = []
    for noise, results, some in settings(studies):
        pooled = scores.pool_losses(scores.list_losses(some, results))
        if pooled:
            body.append(loss_line(pooled, f"{noise:g}", f"{results}"))
    yield lines([("noise", "results", *head), *body])


def loss_line(one: scores.Bin, *names: str) -> tuple[str, ...]:
    return (
        *names,
        f"{one.stated:.4f}",
        number_interval(one.true, value=True),
        f"{one.true.value / one.stated:.2f}" if one.stated > 0 else "-",
        "yes" if one.agrees else "NO",
        f"{one.true.studies}",
        f"{one.true.clusters}",
    )


def stop_cells(studies: Sequence[JudgedStudy]) -> list[tuple[str, ...]]:
    head = (
        "tolerance",
        "noise",
        "stopped",
        "mean results",
        "loss, stated",
        "loss, true",
        "losses within the tolerance",
    )
    body = []
    for tolerance in TOLERANCES:
        for noise in noises_of(studies):
            found = scores.follow_stop_rule(scores.select(studies, noise, RULE), tolerance)
            if found:
                body.append(
                    (
                        f"{tolerance:g}",
                        f"{noise:g}",
                        f"{found.loss.studies} of {found.studies}",
                        f"{found.results:.0f}",
                        f"{found.stated:.4f}",
                        number_interval(found.loss, value=True),
                        share_text(found.within),
                    )
                )
    return [head, *body]


def caution_cells(studies: Sequence[JudgedStudy]) -> list[tuple[str, ...]]:
    head = (
        "noise",
        "results",
        "studies",
        "poor",
        "every answer says so",
        "said of others",
        "truly poor",
        "every answer says so",
    )
    body = []
    for noise, results, some in settings(studies):
        one = scores.count_cautions(some, results)
        counts = (one.studies, one.poor, one.said, one.wrongly_said)
        body.append(
            (f"{noise:g}", f"{results}", *map(str, (*counts, one.truly_poor, one.truly_poor_said)))
        )
    return [head, *body]


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def two_digits(number: float) -> str:
    return f"{number:.2f}"


def three_digits(number: float) -> str:
    return f"{number:.3f}"


def none_as_nan(number: float | None) -> float:
    return float("nan") if number is None else number


def share_text(one: scores.Estimate, digits: int = 0) -> str:
    return f"{percent(one.value, digits)} ({interval_text(one)})"


def interval_text(one: scores.Estimate) -> str:
    return f"{100 * one.low:.0f} to {100 * one.high:.0f} %"


def number_interval(one: scores.Estimate, value: bool = False) -> str:
    span = f"{one.low:.4f} to {one.high:.4f}"
    return f"{one.value:.4f} ({span})" if value else span


# The same for programs


def content(studies: Sequence[JudgedStudy], goals: Sequence[Row]) -> dict[str, Any]:
    rule = scores.select(studies, None, RULE)
    return {
        "about": ABOUT,
        "circumstances": facts(studies),
        "judged": counts_text(studies),
        "goals": [row.plain() for row in goals],
        "coverage": [
            {
                "design": design,
                "rows": group,
                "noise": noise,
                "results": results,
                "coverage": scores.summarise_coverage(some, results, rows),
                "by table": scores.table_means(
                    some, results, lambda one, rows=rows: rows(one).coverage_95
                ),
            }
            for design in TITLES
            for group, rows in GROUPS.items()
            for noise, results, some in settings(studies, design)
        ],
        "probabilities": {
            design: {
                what: scores.bin_probabilities(
                    scores.list_stated(scores.select(studies, None, design), state)
                )
                for what, state in scores.PROBABILITIES.items()
            }
            for design in TITLES
        },
        "losses": scores.bin_losses(scores.list_losses(rule)),
        "stop rule": [
            found for tolerance in TOLERANCES if (found := scores.follow_stop_rule(rule, tolerance))
        ],
        "cautions": [
            {"noise": noise, "results": results, **vars(scores.count_cautions(some, results))}
            for noise, results, some in settings(studies)
        ],
    }
