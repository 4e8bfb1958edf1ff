"""All judges by name, heard one after another or by several processes."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from kernelbandits import checks
from kernelbandits.experiment.workers import Mapper
from kernelbandits.judges.bands import bands
from kernelbandits.judges.calculator import calculator
from kernelbandits.judges.coverage import coverage
from kernelbandits.judges.engine import engine
from kernelbandits.judges.errata import ERRATA
from kernelbandits.judges.finding import FAILS, Effort, Finding, Judge
from kernelbandits.judges.laws import laws
from kernelbandits.judges.martingale import martingale
from kernelbandits.judges.optimism import optimism
from kernelbandits.judges.potential import potential
from kernelbandits.judges.randomness import randomness
from kernelbandits.judges.regret import above_lower_bound, below_bound

JUDGES: Mapping[str, Judge] = {
    "randomness": randomness,
    "laws": laws,
    "engine": engine,
    "calculator": calculator,
    "potential": potential,
    "optimism": optimism,
    "martingale": martingale,
    "bands": bands,
    "coverage": coverage,
    "regret": below_bound,
    "lower-bound": above_lower_bound,
    **ERRATA,
}
SLOWEST = ("coverage", "regret", "optimism", "lower-bound", "E10", "engine", "martingale")
"""They are started first, so that the last process at work is not one of them alone."""
USUAL = Effort()


def hear(
    names: Iterable[str] | str | None = None, effort: Effort = USUAL, mapper: Mapper = map
) -> Iterator[Finding]:
    """What the named judges find, in their order; all of them without names. One name may stand alone."""
    for findings in mapper(partial(heard, effort), named(names)):
        yield from findings


def named(names: Iterable[str] | str | None = None) -> list[str]:
    """Known names, each once; "errata" stands for all of the paper's slips."""
    wanted = JUDGES if names is None else [names] if isinstance(names, str) else names
    given = [part for name in wanted for part in (ERRATA if name == "errata" else [name])]
    for name in given:
        checks.one_of("the court", "judges", name, [*JUDGES, "errata"])
    return list(dict.fromkeys(given))


def slowest_first(names: Iterable[str]) -> list[str]:
    """The same names in the order in which several processes should begin with them."""
    return sorted(names, key=lambda name: SLOWEST.index(name) if name in SLOWEST else len(SLOWEST))


def heard(effort: Effort, name: str) -> list[Finding]:
    """All that a judge finds; an engine that breaks down under its questions is a finding too."""
    found: list[Finding] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.extend(JUDGES[name](effort))
        except Exception as error:
            found.append(breakdown(name, error))
    return found


def breakdown(name: str, error: Exception) -> Finding:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    seen = f"{type(error).__name__}: {error}"
    return Finding(
        name,
        "the engine answers all questions",
        "no error",
        seen,
        FAILS,
        detail=f"raised in {where}",
    )
