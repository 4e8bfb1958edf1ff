"""`kernelbandits theory`: what is proved for a law, as text, as one JSON document, and against T."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box as frames
from rich.markup import escape
from rich.table import Table
from threadpoolctl import threadpool_limits

from kernelbandits import checks
from kernelbandits.apps import progress, screen
from kernelbandits.apps.options import Form, Format, Quiet
from kernelbandits.domains import Arms, Box
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.kernels import Kernel
    from kernelbandits.problems import Problem
    from kernelbandits.report.calculation import Calculation

HELP = """What is proved for an exploration law: C1, C2, C3, the information gain, the regret bounds.

The domain is the unit cube (`--dimension`), a box, or the arms of a problem; kernels, laws and problems are spelled as
for `run` (`kernelbandits list` shows them). The bounds stand next to 2DT, of which any policy is sure: where they are
not below it they are vacuous, and it says so.

Examples:

    kernelbandits theory --law bernoulli:0.5 --horizon 1000

    kernelbandits theory --law gaussian:0,1 --horizon 1000000 --kernel matern:0.3,2.5 --dimension 3 --plot

    kernelbandits theory --law "mixture:0.5/0.5,point-mass(1)/gaussian(0,1)" --problem hartmann6 --norm-bound 2

    kernelbandits theory --law "step:bernoulli(0.5),bernoulli(0.25),500" --box 0,1x-5,10 --kernel rbf:0.5 --format json

    kernelbandits theory --law point-mass:1 --horizon 1000 --gain 20
"""
CONSTANTS = {
    "c1": ("C1", "min_t P(w_t >= 1)"),
    "c2": ("C2", "E max_t |w_t|"),
    "c3": ("C3", "E max_t |w_t|/C1_t + max_t E|w_t|/C1_t"),
    "c3_tight": ("C3'", "E max_t (w_t - E w_t)^+/C1_t, which may stand for C3 (E1)"),
}
FILES = Path("results/theory")


def theory(
    law: Annotated[str, typer.Option(help="A law or schedule: bernoulli:0.5, gaussian:0,1, decay:1, ...")],
    horizon: Annotated[int, typer.Option(min=1, help="Rounds T.")] = 1000,
    kernel: Annotated[str, typer.Option(help="E.g. rbf:0.2, matern:0.3,1.5, linear.")] = "rbf:0.2",
    problem: Annotated[str | None, typer.Option(help="Its arms are the domain, name or name:setting=value.")] = None,
    box: Annotated[str | None, typer.Option(help="A box as domain, low,high of each side: 0,1x-5,10.")] = None,
    dimension: Annotated[int | None, typer.Option(min=1, help="The unit cube as domain. Default: 2.")] = None,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="Finitely many arms: so many of the problem, or spread over the box.")
    ] = None,
    ridge: Annotated[float, typer.Option(help="The ridge lambda.")] = 1.0,
    noise_scale: Annotated[float, typer.Option(help="R: the noise is R-sub-Gaussian.")] = 1.0,
    norm_bound: Annotated[float, typer.Option(help="D: the reward's RKHS norm is at most D.")] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="Confidence with which the policy plays. Default: min(1, 1/(2DT)).")
    ] = None,
    gain: Annotated[float | None, typer.Option(help="The information gain gamma_T, instead of computing it.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Whose arms of the problem.")] = 0,
    plot: Annotated[bool, typer.Option("--plot", help="Draw theory.png and theory.svg against T.")] = False,
    output: Annotated[Path | None, typer.Option(help="Folder for theory.json and the plot.")] = None,
    form: Form = Format.text,
    quiet: Quiet = False,
) -> None:
    from kernelbandits.catalogue import spelled_kernel, spelled_law
    from kernelbandits.report.calculation import Calculation

    screen.listen(quiet)
    if plot:
        screen.engine_notice("numpy", quiet)
    chosen, place = spelled_kernel(kernel), place_of(problem, box, dimension, candidates, seed)
    found = Calculation(
        spelled_law(law),
        horizon,
        chosen,
        place.domain,
        place.words,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        ridge=ridge,
        delta=delta,
        gain=gain,
        premises=place.premises(chosen, noise_scale, norm_bound),
    )
    with threadpool_limits(limits=1):
        with progress.waiting("calculating", quiet):
            calculated(found, plot)
        if not quiet:
            typer.echo(as_json(found)) if form is Format.json else show(found)
        if plot or output:
            write(found, output or FILES, plot, quiet or form is Format.json)


def calculated(found: Calculation, plot: bool) -> None:
    """All that may be refused, before a word is printed."""
    for name in ("bound", "theorems", "sublinear", *(["against_horizon"] if plot else [])):
        getattr(found, name)


@dataclass(frozen=True)
class Place:
    """A domain, and the problem and seed whose arms it has."""

    domain: Arms | Box
    words: str
    problem: Problem | None = None
    seed: int = 0

    def premises(self, kernel: Kernel, noise_scale: float, norm_bound: float) -> tuple[str, ...]:
        """What a run on the problem would say of R and D."""
        from kernelbandits.experiment import Cell, Contender
        from kernelbandits.experiment.premises import on_problem

        if self.problem is None:
            return ()
        cell = Cell(self.problem, Contender("", "random"), kernel, 1, (self.seed,))
        return tuple(on_problem(cell, [{"policy": "random", "noise_scale": noise_scale, "norm_bound": norm_bound}]))


def place_of(problem: str | None, box: str | None, dimension: int | None, candidates: int | None, seed: int) -> Place:
    """The arms of a problem, a box, or the unit cube; of a box all points, or so many candidates."""
    from kernelbandits.catalogue import spelled_problem

    given = [text for text in (problem, box, dimension) if text is not None]
    checks.needs(len(given) <= 1, "theory", "one domain: --problem, --box or --dimension", given)
    if problem is not None:
        chosen = spelled_problem(problem, candidates=candidates)
        arms = chosen.instance(Streams(seed)).domain
        return Place(arms, f"the {len(arms)} arms of {chosen.title}, seed {seed}", chosen, seed)
    whole = spelled_box(box) if box is not None else Box((0.0,) * (dimension or 2), (1.0,) * (dimension or 2))
    if candidates is None:
        return Place(whole, in_words(whole))
    return Place(whole.cover(candidates), f"{candidates} points spread over {in_words(whole)}")


def spelled_box(text: str) -> Box:
    """low,high of each side, with x between the sides: 0,1x-5,10."""
    sides = [side.split(",") for side in text.split("x")]
    try:
        lower, upper = zip(*((float(low), float(high)) for low, high in sides), strict=True)
    except ValueError:
        raise ValueError(f"--box needs low,high of each side, as in 0,1x-5,10, got {text!r}") from None
    return Box(lower, upper)


def in_words(box: Box) -> str:
    if set(box.lower) == {0.0} and set(box.upper) == {1.0}:
        named = {1: "the unit interval", 2: "the unit square"}
        return named.get(box.dimension, f"the unit cube of {box.dimension} dimensions")
    return " x ".join(f"[{low:g}, {high:g}]" for low, high in zip(box.lower, box.upper, strict=True))


def show(found: Calculation) -> None:
    """The law, its constants, the gain, the bounds, and what to make of them."""
    told = f"R = {found.noise_scale:g}, D = {found.norm_bound:g}, ridge {found.ridge:g}"
    out = screen.out()
    out.print(escape(f"{found.law} for T = {found.horizon} rounds; {told}"), highlight=False)
    out.print(escape(f"{found.kernel} on {found.place}"), highlight=False)
    out.print(constants_table(found))
    out.print(bounds_table(found))
    out.print(theorems_table(found))
    for sentence in sentences(found):
        out.print(escape(sentence), highlight=False, soft_wrap=True)


def constants_table(found: Calculation) -> Table:
    shown = numbers(("quantity", "value", "what it is"), left=(0, 2))
    for name, (letter, formula) in CONSTANTS.items():
        shown.add_row(letter, f"{getattr(found.constants, name):.6g}", escape(formula))
    gain, error = found.information_gain, found.constants.error
    shown.add_row("gamma_T", enclosed(gain.lower, gain.upper), escape(f"maximum information gain; {gain.certificate}"))
    shown.caption = f"C2 and C3: {found.constants.method}" + (f", standard error {error:.2g}" if error else "")
    shown.caption_justify = "left"
    return shown


def enclosed(lower: float, upper: float) -> str:
    return f"{lower:.5g}" if f"{lower:.5g}" == f"{upper:.5g}" else f"{lower:.5g} to {upper:.5g}"


def bounds_table(found: Calculation) -> Table:
    shown, bound = numbers(("bound of the expected regret", "value", "% of 2DT"), left=(0,)), found.bound
    for name, label in bound.labels.items():
        shown.add_row(escape(label), *of_trivial(getattr(bound, name), bound.trivial))
    shown.add_row("known: the least that is proved", *of_trivial(bound.value, bound.trivial), style="bold")
    return shown


def theorems_table(found: Calculation) -> Table:
    shown = numbers(("theorem", "C1 >=", "C2 <=", "C3 <=", "repaired", "order of the regret"), left=(0, 5))
    for theorem, bound in found.theorems:
        constants = theorem.constants
        least = (f"{value:.4g}" for value in (constants.c1, constants.c2, constants.c3))
        value = amount(bound.repaired) if theorem.holds else "not proved"
        shown.add_row(escape(theorem.name), *least, value, escape(theorem.statement))
    return shown


def of_trivial(value: float, trivial: float) -> tuple[str, str]:
    return amount(value), f"{100 * value / trivial:,.4g}" if value < 100 * trivial else f"{100 * value / trivial:,.0f}"


def amount(value: float) -> str:
    """Four digits, the thousands apart; an exponent only where nobody could count them."""
    return f"{value:.4g}" if value < 10_000 or value >= 1e12 else f"{value:,.0f}"


def numbers(headings: Sequence[str], left: Container[int]) -> Table:
    """Numbers to the right, words to the left."""
    shown = Table(box=frames.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, name in enumerate(headings):
        words = place in left
        shown.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    return shown


def sentences(found: Calculation) -> Iterator[str]:
    """What to make of the numbers."""
    yield found.bound.sentence
    if found.useful is not None and found.bound.vacuous:
        yield f"At T = {found.useful.constants.horizon:,} it says something. {found.useful.sentence}"
    if found.sublinear is not None:
        yield found.sublinear.sentence
    yield from (f"Premise: {sentence}." for sentence in found.premises)


def as_json(found: Calculation) -> str:
    """One JSON document."""
    from kernelbandits.report.calculation import plain

    return json.dumps(plain(found), indent=2, ensure_ascii=False)


def write(found: Calculation, folder: Path, plot: bool, quiet: bool) -> None:
    """theory.json, and with `plot` theory.png and theory.svg."""
    from kernelbandits.report import figures

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "theory.json").write_text(as_json(found) + "\n", encoding="utf-8")
    if plot and figures.available():
        figures.calculation_figure(found, folder / "theory")
    if not quiet:
        screen.out().print(f"Written to {escape(str(folder))}", soft_wrap=True)
