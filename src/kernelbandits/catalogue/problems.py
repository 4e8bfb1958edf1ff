"""Problems by name, by text or from a Python function.

A family of test functions has its dimension in its name, as in ackley4 or levy10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernelbandits import problems
from kernelbandits.catalogue.lookup import (
    EXAMPLES,
    PYTHON_EXAMPLES,
    check_settings,
    find_entry,
    parameters_of,
)
from kernelbandits.catalogue.spelling import keywords, read_noise, split
from kernelbandits.problems import FunctionProblem, Problem, SampledFunction, TestFunction

SFU = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"

FUNCTIONS: Mapping[str, Callable[[], TestFunction]] = {
    "holder-table": problems.holder_table,
    "cross-in-tray": problems.cross_in_tray,
    "branin": problems.branin,
    "six-hump-camel": problems.six_hump_camel,
}

FAMILIES: Mapping[str, Callable[[int], TestFunction]] = {
    "ackley": problems.ackley,
    "hartmann": problems.hartmann,
    "levy": problems.levy,
    "rosenbrock": problems.rosenbrock,
}


@dataclass(frozen=True)
class ProblemEntry:
    """A problem, how to build it and where it comes from.

    >>> from kernelbandits.catalogue import PROBLEMS
    >>> entry = PROBLEMS["branin"]
    >>> entry.name, entry.constructor(candidates=10).title
    ('branin', 'Branin (d = 2)')
    """

    name: str
    """How the problem is called on a command line and by `kb.problem`."""
    constructor: Callable[..., Problem]
    """Takes the settings, and returns the problem."""
    source: str
    """Where its formula or its data come from."""


def named_function(name: str) -> TestFunction | None:
    """Return a test function by its name, which ends with the dimension of a family; or None."""
    if not isinstance(name, str):
        return None
    if name in FUNCTIONS:
        return FUNCTIONS[name]()
    family = re.fullmatch(r"([a-z]+)([0-9]{1,4})", name)
    return FAMILIES[family[1]](int(family[2])) if family and family[1] in FAMILIES else None


def problem_entry(name: str) -> ProblemEntry:
    """Return the entry of a problem by its name; a family of test functions has any dimension."""
    return function_entry(name) if named_function(name) else find_entry("problem", name, PROBLEMS)


def function_entry(name: str) -> ProblemEntry:
    """Return the entry of a test function, which is played on random candidates of its box."""
    function = named_function(name)
    assert function is not None
    return ProblemEntry(name, partial(SampledFunction, function), SFU)


NAMED = (*FUNCTIONS, "ackley4", "hartmann3", "hartmann6", "levy4", "rosenbrock4")

PROBLEMS: Mapping[str, ProblemEntry] = {
    **{name: function_entry(name) for name in NAMED},
    "rkhs": ProblemEntry(
        "rkhs", problems.RKHSFunction, "a function of known norm: rkhs:kernel=rbf(0.2),dimension=2"
    ),
    "gp": ProblemEntry(
        "gp", problems.GPFunction, "a draw from the prior: gp:kernel=rbf(0.2),dimension=2"
    ),
    "perovskite": ProblemEntry(
        "perovskite", problems.perovskite, "Sun et al., Matter 4(4), 2021: 94 measured films"
    ),
    "csv": ProblemEntry(
        "csv", problems.read_table, "any table: csv:path=films.csv,columns=Cs/FA,target=stability"
    ),
    "lower-bound": ProblemEntry(
        "lower-bound",
        problems.LowerBound,
        "Theorem 2 of the paper, where its rule must lose: lower-bound:d=3,horizon=2000",
    ),
    "bump": ProblemEntry(
        "bump",
        problems.Bump,
        "one better arm on a grid, where every policy must lose: bump:per_side=4,horizon=1000",
    ),
    "misspecified": ProblemEntry(
        "misspecified",
        problems.Misspecified,
        "any with values that no kernel fits: misspecified:problem=hartmann6,error=0.1",
    ),
    "heteroscedastic": ProblemEntry(
        "heteroscedastic",
        problems.Heteroscedastic,
        "any with more noise at some arms: heteroscedastic:problem=hartmann6,ratio=10,where=high",
    ),
    "drifting": ProblemEntry(
        "drifting",
        problems.Drifting,
        "any in motion: drifting:problem=gp,motion=markov(0.01), or turning(1000), jumps(100)",
    ),
    "delayed": ProblemEntry(
        "delayed",
        problems.Delayed,
        "any whose rewards are known later: delayed:problem=hartmann6,delay=5",
    ),
    "true-optimum": ProblemEntry(
        "true-optimum",
        problems.TrueOptimum,
        "a test function with the regret against its maximum: true-optimum:problem=hartmann6",
    ),
    "box": ProblemEntry(
        "box", problems.WholeBox, "a test function on all of its box: box:problem=hartmann6"
    ),
    "contextual": ProblemEntry(
        "contextual",
        problems.WithContext,
        "a test function with coordinates that are given: contextual:problem=hartmann6,size=2",
    ),
}


def problem(what: str | Callable[[Any], float], domain: Any = None, /, **settings: Any) -> Problem:
    """Return a problem: by its name, by text as the command line takes it, or from a function.

    A problem is what policies are compared on in `run_experiment`. It knows the mean reward of
    every arm, and so what each choice loses.

    Parameters
    ----------
    what
        The name of a problem (`kernelbandits list problems` shows all), a name with settings such
        as "levy4:candidates=80" or "csv:path=films.csv,target=stability", or a Python function that
        takes a point and returns a number.
    domain
        For a function, where it is defined: `kb.Arms` or an (n, d) array (the function gets a row),
        a `kb.Box` (it gets an array) or a `kb.MixedBox` (it gets a dict).
    settings
        Settings of the problem. They may be combined with those in the text; one that is given in
        both places is refused. A problem from a function takes `name`, `candidates` (how many
        points of a box are drawn for each seed), `noise`, `direction` and `scale`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> kb.problem("hartmann6", candidates=80).title
    'Hartmann (d = 6)'
    >>> kb.problem("hartmann6:candidates=80") == kb.problem("hartmann6", candidates=80)
    True
    >>> def yield_of(x):
    ...     return 1 - (x[0] - 40) ** 2 / 1000 - (x[1] - 7) ** 2 / 50
    >>> kb.problem(yield_of, kb.Box((20, 1), (80, 14)), candidates=30).title
    'yield_of (d = 2)'
    """
    if not isinstance(what, str):
        return FunctionProblem(what, domain, **function_settings(settings))
    if domain is not None:
        raise ValueError(
            f"kb.problem({what!r}, ...) needs no domain, got {domain!r}; "
            "a domain belongs to a function: kb.problem(f, domain)"
        )
    name, items = split(what)
    own = keywords(items)
    for setting in settings:
        if setting in own:
            raise ValueError(
                f"{name} needs {setting} once, got {own[setting]!r} in the text and "
                f"{settings[setting]!r} as a keyword"
            )
    return build_problem(name, settings | own, PYTHON_EXAMPLES)


def read_problem(text: str, **shared: Any) -> Problem:
    """Read a problem with its settings: levy4:candidates=80.

    The shared settings are those that a command gives to all of its problems, or None; the
    problem's own go before them.

    >>> from kernelbandits.catalogue import read_problem
    >>> read_problem("levy4:candidates=80", candidates=20).candidates
    80
    >>> read_problem("levy4", candidates=20).candidates
    20
    """
    name, items = split(text)
    given = {setting: value for setting, value in shared.items() if value is not None}
    own = keywords(items)
    if "problem" in own:
        # A problem in motion has no candidates or noise of its own: the problem that it moves has.
        own["problem"] = read_problem(own["problem"], **given)
        given = {}
    return build_problem(name, given | own)


def build_problem(
    name: str, settings: dict[str, Any], examples: Mapping[str, str] = EXAMPLES
) -> Problem:
    entry = problem_entry(name)
    check_settings(name, parameters_of(entry.constructor), settings, examples)
    if isinstance(settings.get("noise"), str):
        settings["noise"] = read_noise(settings["noise"])
    if isinstance(settings.get("problem"), str):
        settings["problem"] = read_problem(settings["problem"])
    return entry.constructor(**settings)


def function_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a problem from a function, checked."""
    known = parameters_of(FunctionProblem)
    options = {name: False for name in known if name not in ("function", "domain")}
    check_settings("kb.problem(f, domain)", options, settings, PYTHON_EXAMPLES)
    noise = settings.get("noise")
    return settings | ({"noise": read_noise(noise)} if isinstance(noise, str) else {})
