"""`study create` and `study change`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.arguments import (
    Given,
    Place,
    Quiet,
    options,
    read_assignments,
    read_names,
)
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.apps.cli.output import (
    open_study,
    print_answer,
    print_line,
    print_sentence,
    retypable_place,
)
from kernelbandits.apps.cli.render import cell, command, title
from kernelbandits.formatting import format_count, format_duration
from kernelbandits.study import operations
from kernelbandits.study.arguments import Argument
from kernelbandits.study.settings import POLICY_SETTINGS
from kernelbandits.study.targets import Target, describe_aim
from kernelbandits.study.words import describe_event

if TYPE_CHECKING:
    from rich.console import Console

    from kernelbandits.domains import Arms, MixedBox
    from kernelbandits.study import Study

CREATE = """Create a study from a table of candidates, or over a space of ranges and choices.

The table is a CSV file with a header, a workbook (.xlsx), a Parquet file or a numpy file (.npy). In
a CSV file columns may be separated by commas, semicolons or tabs; decimal commas, units in the
header and columns of text are understood. Of a workbook with several sheets, --worksheet names one.
The table is copied into the study, so the file is not needed afterwards. --target names the column
of results; a name that is no column means that the results come later. All other columns describe a
candidate, unless --columns names the ones to use. Notes about the file are printed on standard
error.

Columns of numbers are scaled to [0, 1] for the model. A column of ratios, such as concentrations
0.001, 0.01, 0.1, 1 and 10, is scaled by its logarithms: each one that --log names, and by default
those whose values are positive, span at least a factor of 1000 and are much more evenly spread by
their logarithms. A note then says so, and --linear keeps the values of a column.

Any two values of a column of text, such as ligands, are equally far apart for the model, unless
--describe gives a file with descriptors of them: a column of the values, called as the column of
the table or the first one, and columns of numbers or text. Values are then the more alike, the more
alike their descriptors are. A value that the file lacks is compared by its name, as without
descriptors. They are copied into the study too.

A space takes the place of the table: ranges of real and whole numbers, choices, and constraints,
from a TOML or JSON file (--space) or from options. Any point of it may then be suggested. A range
is low:high, followed by `log` for a logarithmic scale or by `step 0.1` for a grid. Constraints are
linear (in)equalities over the numbers, or forbidden combinations.

Candidates that are known by their similarity only, such as molecules or the nodes of a network,
come as an (n, n) matrix in a numpy or CSV file: --gram has the similarity of all pairs, the kernel
of the model, and --graph the weights of the edges of a graph. --labels names them.

Several targets are combined to one number, their desirability, which the policy maximises. Each
has a direction (maximize, minimize, or aim=VALUE), and may have a range in which its desirability
goes from 0 to 1 (range=LOW..HIGH; without one, that of the values measured so far), a weight, and a
hard limit beyond which a candidate is worth nothing. A target without a direction may have limits
that the answer must meet, <=VALUE, >=VALUE or both: a model of its own learns it, and the search
looks for the best candidate that meets them.

Examples:

    kernelbandits study create tune.db --space space.toml --target accuracy

    kernelbandits study create brew.db --real temperature=20:90 --real "rate=1e-5:1e-1 log" \
--integer cups=1:8 --choice solvent=DMF,DMSO,water --target yield

    kernelbandits study create mix.db --real A=0:1 --real B=0:1 --real C=0:1 \
--constraint "A + B + C == 1" --target strength

    kernelbandits study create drugs.db --gram similarity.npy --labels names.txt --target activity

    kernelbandits study create films.db --candidates films.csv --columns Cs,FA,MA --target stability

    kernelbandits study create films.db --candidates films.xlsx --worksheet Films --target stability

    kernelbandits study create films.db --candidates films.csv --target stability \
--direction min --cost hours

    kernelbandits study create films.db --candidates films.csv --target stability --label sample

    kernelbandits study create films.db --candidates films.csv --target stability:minimize \
--target efficiency:maximize,range=0..20,limit=5

    kernelbandits study create films.db --candidates films.csv --target efficiency \
--target "haze:<=0.25" --target "pH:>=6,<=8"

    kernelbandits study create films.db --candidates films.csv --target stability \
--log hours --linear T

    kernelbandits study create coupling.db --candidates reactions.csv --target yield \
--describe ligand=ligands.csv

    kernelbandits study create films.db --candidates films.csv --target stability --noise 0.02 \
--rounds 40

    kernelbandits study create films.db --candidates films.csv --target stability --tolerance 0.05

    kernelbandits study create films.db --candidates films.csv --target stability \
--policy auto:width=theory

    kernelbandits study create films.db --candidates films.csv --target stability --policy amm-ucb \
--noise-scale 0.1 --norm-bound 2

    kernelbandits study create films.db --candidates films.csv --target stability \
--results first.csv --learn-from old.db

    kernelbandits study create "postgresql://ann@lab/studies?study=films" \
--candidates films.csv --target stability --or-open
"""
SOURCES = (
    Argument(
        "candidates",
        Path,
        "CSV file, workbook (.xlsx), Parquet or numpy file (.npy) with one row for each candidate.",
    ),
    Argument(
        "space", Path, "TOML or JSON file with variables and constraints, in place of a table."
    ),
    Argument(
        "real",
        list[str],
        "Range of real numbers, such as temperature=20:90 or 'rate=1e-5:0.1 log'.",
        metavar="NAME=LOW:HIGH",
    ),
    Argument(
        "integer", list[str], "Range of whole numbers, such as cups=1:8.", metavar="NAME=LOW:HIGH"
    ),
    Argument(
        "choice",
        list[str],
        "Values without an order, such as solvent=DMF,DMSO,water.",
        metavar="NAME=A,B,...",
    ),
    Argument(
        "ordered", list[str], "Values in their order, such as size=S,M,L.", metavar="NAME=A,B,..."
    ),
    Argument(
        "constraint",
        list[str],
        "What every point must satisfy, such as 'A + B + C == 1' or "
        "\"not (solvent == 'DMF' and temperature > 60)\".",
        metavar="TEXT",
    ),
    Argument(
        "gram",
        Path,
        "Numpy or CSV file with the similarity of all pairs of candidates, an (n, n) matrix, in "
        "place of a table.",
    ),
    Argument(
        "graph",
        Path,
        "Numpy or CSV file with the weights of the edges between n candidates, an (n, n) matrix.",
    ),
    Argument(
        "labels",
        Path,
        "Text file with the names of the candidates of --gram or --graph, one in each line.",
    ),
)
"""What is measured: a table, a space or a similarity. Only the command reads it from options."""
VARIABLES = ("real", "integer", "choice", "ordered")
GOALS = {
    "find": "find the best row",
    "earn": "earn good results while measuring",
    "front": "find the rows that no other one exceeds in all targets",
}
CHANGE = """Change the policy or other settings of a study, or ranges of a space.

All results are kept, and the new policy uses them. The change is recorded in the history, and
`undo` reverses it. The target, the direction and the table cannot be changed. Results beyond a
range that was made narrower are still learnt; points there are no longer suggested or recommended.

Examples:

    kernelbandits study change films.db --policy amm-ucb --kernel matern:0.3,2.5 \
--noise-scale 0.1 --norm-bound 2

    kernelbandits study change films.db --lease 12h --tolerance 0.05

    kernelbandits study change films.db --goal find --noise 0.02

    kernelbandits study change brew.db --range heat=20:120
"""


@options(source=SOURCES, given=operations.CREATE.options, own=POLICY_SETTINGS)
def create(
    place: Place,
    source: Given,
    *,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns that describe a candidate. Default: all except the target."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:HOW]",
            help="Name of the measured quantity (required). If it is a column of the table, that "
            "column does not describe candidates; if not, the results come later. Repeat the "
            "option for several targets: stability:minimize, "
            "efficiency:maximize,range=0..20,weight=2,limit=5, pH:aim=7.",
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(help="maximize (max), the default, or minimize (min) the target."),
    ] = None,
    given: Given,
    own: Given,
    results: Annotated[
        Path | None,
        typer.Option(
            help="File with results that are known already, as `tell --file` reads it. All of them "
            "are stored with the study, or nothing is created."
        ),
    ] = None,
    or_open: Annotated[
        bool,
        typer.Option(
            "--or-open", help="If this study exists already, with the same settings, open it."
        ),
    ] = False,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.study import Study

    screen.listen(quiet)
    measured = read_target(target, direction)
    where = read_place(source)
    given["columns"] = read_names("--columns", columns)
    if given.get("describe"):
        given["describe"] = read_assignments("create", "--describe", given["describe"])
    if given.get("cells"):
        given["cells"] = read_assignments("create", "--cell", given["cells"])
    if own:
        given["settings"] = own
    given["results"] = results
    with Study.create(place, where, **measured, **given, or_open=or_open) as study:
        found = describe_study(study)
        begun = or_open and len(study.history()) > 1
    typed = retypable_place(place)
    print_answer(form, found, lambda console: print_study(console, found, typed, begun))


@options(given=operations.CHANGE.options, own=POLICY_SETTINGS)
def change(
    place: Place,
    given: Given,
    own: Given,
    *,
    default_repeats: Annotated[
        bool,
        typer.Option(
            "--default-repeats", help="Use the policy's own rule for measuring rows again."
        ),
    ] = False,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:HOW",
            help="Another range, weight or limit of one of several targets, as in create.",
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=LOW:HIGH",
            help="Other ends of a range of a space, in a call of its own. Repeat the option for "
            "several.",
        ),
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    if default_repeats:
        forms = "one of --repeats, --no-repeats and --default-repeats"
        checks.needs("repeats" not in given, "change", forms, "two of them")
        given["repeats"] = None
    if own:
        given["settings"] = own
    if target:
        given["targets"] = target
    if ranges:
        given["ranges"] = read_ranges(ranges)
    checks.needs(bool(given), "change", "at least one setting, such as --policy or --lease", "none")
    with open_study(place, quiet) as study:
        before = len(study.history())
        event = study.change(**given)
        changed = event.seq > before
    sentence = f"{describe_event(event)} (event {event.seq}). `undo` reverses the change."
    print_sentence(form, event, sentence if changed else "Nothing was changed.")


def read_place(source: Given) -> Path | MixedBox | Arms:
    """Read the table, the space or the similarity, of which exactly one must be given."""
    named = [(kind, text) for kind in VARIABLES for text in source.get(kind, ())]
    files = [name for name in ("candidates", "space", "gram", "graph") if name in source]
    if len(files) + bool(named) != 1:
        forms = (
            "--candidates FILE, --space FILE, variables (--real, --integer, --choice), "
            "--gram FILE or --graph FILE"
        )
        got = "more than one of them" if files else "none of them"
        raise ValueError(f"create needs one of {forms}, got {got}")
    constraints, labels = source.get("constraint"), source.get("labels")
    if not named:
        needed = "--constraint only beside variables; a space file has its own"
        checks.needs(not constraints, "create", needed, constraints)
    similar = files in (["gram"], ["graph"])
    needed = "--labels only with --gram or --graph (--label names a column of a table)"
    checks.needs(labels is None or similar, "create", needed, str(labels))
    if "candidates" in source:
        table: Path = source["candidates"]
        is_table = table.suffix.lower() not in (".toml", ".json")
        checks.needs(is_table, "create", "--space for a space file", str(table))
        return table
    # Imported here, because a table needs no domains.
    from kernelbandits.domains import parse_variable, read_space
    from kernelbandits.domains.space_files import space_from_file

    if similar:
        return read_similarity(source.get("gram"), source.get("graph"), labels)
    if "space" in source:
        return read_space(source["space"], steps=True)
    written: dict[str, str] = {}
    for kind, text in named:
        name, _ = parse_variable(kind, text)
        checks.needs(name not in written, "create", "a name of its own for each variable", name)
        written[name] = f"{kind} {text.partition('=')[2]}"
    described = {"variables": written, "constraints": list(constraints or ())}
    return space_from_file(described, steps=True)


def read_ranges(texts: list[str]) -> dict[str, list[float]]:
    """Read the ends of ranges, NAME=LOW:HIGH."""
    from kernelbandits.tables.cells import parse_typed

    ranges = {}
    for name, text in read_assignments("change", "--range", texts).items():
        ends = [parse_typed(end.strip()) for end in text.split(":")]
        good = len(ends) == 2 and not any(map(math.isnan, ends))
        checks.needs(good, "change", f"--range {name}=LOW:HIGH", f"{name}={text}")
        ranges[name] = ends
    return ranges


def read_similarity(gram: Path | None, graph: Path | None, labels: Path | None) -> Arms:
    """Read candidates by the similarity of all pairs, or by the edges between them."""
    from kernelbandits.domains import Arms
    from kernelbandits.kernels import graph_matern
    from kernelbandits.tables.matrices import read_labels, read_matrix

    file = graph if gram is None else gram
    assert file is not None
    matrix, names = read_matrix(file)
    if labels is not None:
        names = read_labels(labels, len(matrix))
    return Arms.from_gram(graph_matern(matrix) if gram is None else matrix, values=names)


def read_target(given: list[str] | None, direction: str | None) -> dict[str, Any]:
    """Return what is measured as `Study.create` takes it: one target, or several."""
    if not given:
        raise ValueError(
            "create needs --target NAME, the column of results, got none; if the table has no "
            "results yet, any other name will do"
        )
    if len(given) == 1:
        return {"target": given[0], "direction": direction}
    return {"targets": given, "direction": direction}


def describe_study(study: Study) -> dict[str, Any]:
    """Return what was created, as the JSON document has it."""
    shown = ("policy", "goal", "noise", "rounds", "lease", "seed")
    settings = {name: study.settings[name] for name in shown}
    aim = {"place": study.place, "target": study.target, "direction": study.direction}
    known = {"results": sum(study._session.state.counts.values())}
    learnt = {"sources": [one.sentence for one in study._session.state.settings.sources]}
    return aim | study.candidates.summarise() | settings | known | learnt | list_targets(study)


def list_targets(study: Study) -> dict[str, Any]:
    """Return the targets of a study that has several, else nothing."""
    return {"targets": list(study.settings["targets"])} if study.shows_targets else {}


def print_study(console: Console, created: Mapping[str, Any], place: str, begun: bool) -> None:
    """Print what was created, or opened if it had begun before, and what comes next."""
    done = "Opened" if begun else "Created"
    noun = "point" if "space" in created else "row"
    if "space" in created:
        print_space(console, created, done)
    else:
        columns = ", ".join(map(cell, created["columns"]))
        size = format_count(created["rows"], "candidate")
        how = "known by their similarity" if created["similarity"] else f"described by {columns}"
        print_line(console, f"{done} {title(created['place'])}: {size}, {how}.")
        if created["log"]:
            print_line(console, f"The model uses log10 of {', '.join(map(cell, created['log']))}.")
        for name, descriptors in created["described"].items():
            size = format_count(len(descriptors), "descriptor")
            print_line(console, f"The model compares the values of {cell(name)} by {size}.")
    aim = f"{created['direction']} {cell(created['target'])}"
    if "targets" in created:
        aim += cell(describe_aim([Target(**one) for one in created["targets"]]))
    goal = f" Goal: {GOALS[created['goal']].replace('row', noun)}." if created["goal"] else ""
    print_line(console, f"Aim: {aim}. Policy: {created['policy']}.{goal}")
    for sentence in created["sources"]:
        print_line(console, f"It {cell(sentence)}.")
    if created["results"]:
        print_line(console, f"{format_count(created['results'], 'result')} known.")
    lease = format_duration(created["lease"])
    print_line(console, f"A {noun} that was asked for is reserved for {lease}.")
    which = "next" if begun else "first"
    print_line(console, f"To get the {which} {noun} to measure:  {command('ask', place)}")


def print_space(console: Console, created: Mapping[str, Any], done: str) -> None:
    """Print the variables and constraints, one line for each."""
    from kernelbandits.domains import MixedBox
    from kernelbandits.study.points import describe_constraint, describe_variable

    space = MixedBox.from_dict(created["space"])
    size = format_count(space.sides, "variable")
    count = f", {format_count(int(space.count), 'point')}" if math.isfinite(space.count) else ""
    print_line(console, f"{done} {title(created['place'])}: a space of {size}{count}.")
    for name, variable in zip(space.names, space.variables, strict=True):
        print_line(console, f"  {cell(name)}: {cell(describe_variable(variable))}")
    for one in created["space"]["constraints"]:
        print_line(console, f"  with {cell(describe_constraint(one))}")
