"""`kernelbandits theory`: what is proved for a law, as text, as JSON, and as a plot against T."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kernelbandits import checks
from kernelbandits.apps.cli import progress, screen
from kernelbandits.apps.cli.options import Form, Format, Quiet, folder
from kernelbandits.codec import to_json
from kernelbandits.domains import Arms, Box
from kernelbandits.formatting import format_number, format_rounded, group_thousands
from kernelbandits.problems import LowerBound
from kernelbandits.runtime import one_blas_thread
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.analysis.calculation import Calculation
    from kernelbandits.problems import Problem

HELP = """Print what is proved for an exploration law: its constants and its regret bounds.

The domain is the unit cube (`--dimension`), a box, or the arms of a problem. Kernels, laws and
problems are spelled as for `run` (`kernelbandits list` shows them). No regret exceeds 2DT, so a
bound above 2DT is vacuous, and the output says so.

Examples:

    kernelbandits theory --law bernoulli:0.5 --horizon 1000

    kernelbandits theory --law gaussian:0,1 --horizon 1000000 \
--kernel matern:0.3,2.5 --dimension 3 --plot

    kernelbandits theory --law "mixture:0.5/0.5,point-mass(1)/gaussian(0,1)" \
--problem hartmann6 --norm-bound 2

    kernelbandits theory --law "step:bernoulli(0.5),bernoulli(0.25),500" \
--box 0,1x-5,10 --kernel rbf:0.5 --format json

    kernelbandits theory --law point-mass:1 --horizon 1000 --gain 20
"""
CONSTANTS = {
    "c1": ("C1", "min_t P(w_t >= 1)"),
    "c2": ("C2", "E max_t |w_t|"),
    "c3": ("C3", "E max_t |w_t|/C1_t + max_t E|w_t|/C1_t"),
    "c3_tight": ("C3'", "E max_t (w_t - E w_t)^+/C1_t, which may stand for C3 (E1)"),
}
PLAYED = {"as_played": "as played", "mean_square": "as played, by second moments"}
FILES = Path("results/theory")


def theory(
    law: Annotated[
        str, typer.Option(help="A law or schedule: bernoulli:0.5, gaussian:0,1, decay:1, ...")
    ],
    horizon: Annotated[int, typer.Option(min=1, help="Number of rounds T.")] = 1000,
    kernel: Annotated[
        str, typer.Option(help="The kernel: rbf:0.2, matern:0.3,1.5 or linear.")
    ] = "rbf:0.2",
    problem: Annotated[
        str | None, typer.Option(help="Use the arms of this problem as the domain.")
    ] = None,
    box: Annotated[
        str | None, typer.Option(help="Use a box as the domain: low,high of each side, 0,1x-5,10.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="Use the unit cube of this dimension. Default: 2.")
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(min=1, help="Number of arms: drawn from the problem, or spread over the box."),
    ] = None,
    ridge: Annotated[float, typer.Option(help="Regularisation of the posterior (lambda).")] = 1.0,
    noise_scale: Annotated[float, typer.Option(help="R: the noise is R-sub-Gaussian.")] = 1.0,
    norm_bound: Annotated[
        float, typer.Option(help="D: the reward's RKHS norm is at most D.")
    ] = 1.0,
    delta: Annotated[
        float | None,
        typer.Option(
            help="delta of the policy. Default: 1/2 or min(1, 1/(2DT)), by the smaller bound."
        ),
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(help="Use this information gain gamma_T instead of computing it."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the arms of the problem.")] = 0,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the bounds against T: theory.png and theory.svg.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for theory.json and the plot.")
    ] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.analysis.calculation import Calculation, calculation_document
    from kernelbandits.catalogue import read_kernel, read_law

    screen.listen(quiet)
    files = folder(output or (FILES if plot else None))
    if plot:
        screen.engine_notice("numpy", quiet)
    with one_blas_thread, progress.show_task("calculating", quiet):
        place = choose_domain(problem, box, dimension, candidates, seed)
        calculation = Calculation(
            read_law(law),
            horizon,
            read_kernel(kernel),
            place.domain,
            place.words,
            noise_scale=noise_scale,
            norm_bound=norm_bound,
            ridge=ridge,
            delta=delta,
            gain=gain,
            problem=place.problem,
            seed=seed,
            spelled=tidy_law(law),
        )
        compute_answers(calculation, plot)
        if files:
            write_files(calculation, files, plot)
    if not quiet and form is Format.json:
        typer.echo(to_json(calculation_document(calculation)))
    elif not quiet:
        show(calculation, files)


def compute_answers(calculation: Calculation, plot: bool) -> None:
    """Compute everything that takes time or may fail, before anything is printed."""
    names = (
        "least",
        "high_probability",
        "theorems",
        "premises",
        "lower_bound",
        "useful",
        "useful_noise",
    )
    for name in (*names, "sublinear", *(["against_horizon"] if plot else [])):
        getattr(calculation, name)


@dataclass(frozen=True)
class BoundDomain:
    """The domain of a calculation, in words too, and the problem it comes from, if any."""

    domain: Arms | Box
    words: str
    problem: Problem | None = None


def tidy_law(law: str) -> str:
    """Return a law with a colon and no blanks: gaussian( 0, 1) -> gaussian:0,1."""
    from kernelbandits.catalogue.spelling import split

    name, given = split(law)
    return f"{name}:{','.join(given)}" if given else name


def policy_option(calculation: Calculation) -> str:
    """Return the policy of a bound as `run` takes it; R, D and ridge only where they are not 1."""
    name, _, given = (calculation.spelled or "").partition(":")
    told = {name: getattr(calculation, name) for name in ("noise_scale", "norm_bound", "ridge")}
    others = "".join(f",{name}={value:.7g}" for name, value in told.items() if value != 1)
    law = f"{name}({given})" if given else name
    return f'--policy "generic-gp:exploration={law},delta={calculation.least.delta:.7g}{others}"'


def choose_domain(
    problem: str | None, box: str | None, dimension: int | None, candidates: int | None, seed: int
) -> BoundDomain:
    """Return the arms of a problem, a box or the unit cube, or candidates spread over these."""
    from kernelbandits.catalogue import read_problem

    given = [text for text in (problem, box, dimension) if text is not None]
    checks.needs(len(given) <= 1, "theory", "one domain: --problem, --box or --dimension", given)
    if problem is not None:
        chosen = read_problem(problem, candidates=candidates)
        arms = chosen.instance(Streams(seed)).domain
        return BoundDomain(arms, f"the {len(arms)} arms of {chosen.title}, seed {seed}", chosen)
    whole = (
        read_box(box)
        if box is not None
        else Box((0.0,) * (dimension or 2), (1.0,) * (dimension or 2))
    )
    if candidates is None:
        return BoundDomain(whole, describe_box(whole))
    return BoundDomain(
        whole.cover(candidates), f"{candidates} points spread over {describe_box(whole)}"
    )


def read_box(text: str) -> Box:
    """Read a box from low,high of each side, with x between the sides: 0,1x-5,10."""
    sides = [side.split(",") for side in text.split("x")]
    try:
        lower, upper = zip(*((float(low), float(high)) for low, high in sides), strict=True)
    except ValueError:
        raise ValueError(
            f"--box needs low,high of each side, as in 0,1x-5,10, got {text!r}"
        ) from None
    return Box(lower, upper)


def describe_box(box: Box) -> str:
    if set(box.lower) == {0.0} and set(box.upper) == {1.0}:
        named = {1: "the unit interval", 2: "the unit square"}
        return named.get(box.dimension, f"the unit cube of {box.dimension} dimensions")
    return " x ".join(
        f"[{low:g}, {high:g}]" for low, high in zip(box.lower, box.upper, strict=True)
    )


def show(calculation: Calculation, files: Path | None) -> None:
    """Print the law, its constants, the information gain, the bounds and what they mean."""
    horizon, delta = calculation.horizon, calculation.least.delta
    noise_scale, norm_bound = calculation.noise_scale, calculation.norm_bound
    given = f"R = {noise_scale:g}, D = {norm_bound:g}, ridge {calculation.ridge:g}"
    out, rounds = screen.out(), group_thousands(str(horizon))
    for line in (
        f"{calculation.law} for T = {rounds} rounds; {given}, delta {delta:.4g}",
        f"{calculation.kernel} on {calculation.place}",
        "",
    ):
        out.print(escape(line), highlight=False, soft_wrap=True)
    for line in (f"law     {calculation.spelled}", f"play    {policy_option(calculation)}"):
        out.print(escape(line), highlight=False, soft_wrap=True)
    for table in (
        constants_table(calculation),
        bounds_table(calculation),
        theorems_table(calculation),
    ):
        out.print(table)
    for sentence in sentences(calculation):
        out.print(escape(sentence), highlight=False, soft_wrap=True)
    if files:
        out.print(f"Written to {escape(str(files))}", soft_wrap=True)


def constants_table(calculation: Calculation) -> Table:
    shown = screen.numbers_table(("quantity", "value", "what it is"), ("quantity", "what it is"))
    for name, (letter, formula) in CONSTANTS.items():
        shown.add_row(letter, f"{getattr(calculation.constants, name):.6g}", escape(formula))
    gain, error = calculation.information_gain, calculation.constants.error
    shown.add_row(
        "gamma_T",
        format_enclosure(gain.lower, gain.upper),
        escape(f"maximum information gain; {gain.certificate}"),
    )
    shown.caption = f"C2 and C3: {calculation.constants.method}" + (
        f", standard error {error:.2g}" if error else ""
    )
    shown.caption_justify = "left"
    return shown


def format_enclosure(lower: float, upper: float) -> str:
    return f"{lower:.5g}" if f"{lower:.5g}" == f"{upper:.5g}" else f"{lower:.5g} to {upper:.5g}"


def bounds_table(calculation: Calculation) -> Table:
    bound = calculation.bound

    def share(value: float) -> tuple[str, str]:
        return compare_with_trivial(value, bound.trivial)

    what = "bound of the expected regret"
    shown = screen.numbers_table((what, "value", f"% of {bound.trivial_name}"), (what,))
    for name, label in calculation.labels.items():
        if name != "trivial":
            value = getattr(bound, name)
            shown.add_row(escape(f"{label}{format_delta(name, bound.delta)}"), *share(value))
    for name, label in PLAYED.items():
        value = getattr(calculation.bound_as_played, name)
        shown.add_row(f"{label}, delta = {calculation.bound_as_played.delta:.4g}", *share(value))
    shown.add_row(escape(calculation.labels["trivial"]), *share(bound.trivial))
    known = "known: the least that is proved" + (
        " if gamma_T <= the gain given" if calculation.gain is not None else ""
    )
    shown.add_row(known, *share(calculation.least.value), style="bold")
    likely = calculation.high_probability
    shown.add_row(f"with probability {1 - likely.delta:g}", *share(likely.value))
    if isinstance(calculation.problem, LowerBound):
        lower = calculation.lower_bound
        cells = (
            ("does not hold", "") if lower is None else compare_with_trivial(lower, bound.trivial)
        )
        shown.add_row("lower bound (Theorem 2)", *cells)
    return shown


def format_delta(name: str, delta: float) -> str:
    """Write the delta at which a bound holds; the printed one is for the paper's 1/2."""
    return "" if name == "printed" else f", delta = {delta:.4g}"


def theorems_table(calculation: Calculation) -> Table:
    headings = ("theorem", "C1 >=", "C2 <=", "C3 <=", "repaired", "order of the regret")
    shown = screen.numbers_table(headings, (headings[0], headings[-1]))
    for theorem, bound in calculation.theorems:
        constants = theorem.constants
        least = (f"{value:.4g}" for value in (constants.c1, constants.c2, constants.c3))
        value = format_number(bound.repaired) if theorem.holds else "not proved"
        shown.add_row(escape(theorem.name), *least, value, escape(theorem.statement))
    return shown


def compare_with_trivial(value: float, trivial: float) -> tuple[str, str]:
    return format_number(value), format_number(100 * value / trivial)


def sentences(calculation: Calculation) -> Iterator[str]:
    """Say what the numbers mean, beginning with premises that do not hold."""
    yield from (f"Does not apply here: {sentence}." for sentence in calculation.broken)
    yield calculation.least.sentence
    if calculation.least.vacuous:
        yield from describe_useful_horizon(calculation)
        yield describe_useful_noise(calculation)
    if calculation.sublinear is not None:
        yield calculation.sublinear.sentence
    if calculation.beyond is not None:
        yield f"For more than T rounds nothing is proved: {calculation.beyond}."
    yield from (
        f"Premise: {sentence}."
        for sentence in calculation.premises
        if sentence not in calculation.broken
    )


def describe_useful_horizon(calculation: Calculation) -> Iterator[str]:
    """Say at which other T a vacuous bound is informative; it is searched on a grid."""
    if calculation.useful is not None:
        near = (
            f"Near T = {group_thousands(str(calculation.useful.horizon))} the bound is informative."
        )
        yield f"{near} {calculation.useful.sentence}"
    elif calculation.why_not_searched:
        yield f"A T with an informative bound was not searched: {calculation.why_not_searched}."
    elif calculation.beyond is None:
        yield f"No T up to 10^{calculation.searched_decades} with an informative bound was found."


def describe_useful_noise(calculation: Calculation) -> str:
    """Say at which R / D a vacuous bound would be informative at the same T."""
    at = f"At T = {group_thousands(str(calculation.horizon))}"
    known = "" if calculation.gain is None else " and with the gain given"
    least = calculation.useful_noise
    if not least:
        return f"{at}{known} no R is small enough: more rounds are needed."
    ratio = format_rounded(least / calculation.norm_bound, 3, ROUND_FLOOR)
    here = calculation.noise_scale / calculation.norm_bound
    return f"{at}{known} the bound is informative if R/D <= {ratio}; here R/D = {here:.3g}."


def write_files(calculation: Calculation, files: Path, plot: bool) -> None:
    """Write theory.json, and with `plot` theory.png and theory.svg."""
    from kernelbandits.analysis.calculation import calculation_document
    from kernelbandits.report import figures

    files.mkdir(parents=True, exist_ok=True)
    (files / "theory.json").write_text(
        to_json(calculation_document(calculation)) + "\n", encoding="utf-8"
    )
    if plot and figures.available():
        figures.calculation_figure(calculation, files / "theory")
