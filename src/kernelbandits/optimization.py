"""The whole loop in one call: ask, measure, tell, until the rounds are over."""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeVar, overload

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, DataNotice, Direction
from kernelbandits.domains import Arms, Box, Contextual, MixedBox, as_arms, as_domain, read_space
from kernelbandits.formatting import format_count
from kernelbandits.insight.tolerance import is_within
from kernelbandits.measuring import (
    Attempt,
    MapperMeasurer,
    Measurer,
    ProcessMeasurer,
    RunningTrial,
    SerialMeasurer,
    takes_trial,
)
from kernelbandits.policies import Auto, LimitedOutcome, OptimizationTrial, Outcome, Policy
from kernelbandits.policies.optimization import ENDS, Plan, Run
from kernelbandits.processes import Mapper, ProcessPool, check_workers
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study import Study
    from kernelbandits.study.optimization import StudyRun
    from kernelbandits.study.targets import Target

Point = TypeVar("Point")
Returned = SupportsFloat | Mapping[str, SupportsFloat]
"""What an objective returns."""
NamedPoint = dict[str, Any]
DictObjective = Callable[[NamedPoint], Returned] | Callable[[NamedPoint, RunningTrial], Returned]
ArrayObjective = Callable[[Array], Returned] | Callable[[Array, RunningTrial], Returned]
Callback = Callable[[OptimizationTrial[Point]], object]
"""What is called with every trial; it ends the run by returning True."""
Callbacks = Callback[Point] | Sequence[Callback[Point]] | None
Catch = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions that mean a failed measurement."""

FAILURES = 3
"""So many measurements that fail before any has a result are probably a mistake in the program."""

log = logging.getLogger("kernelbandits.optimize")


@overload
def optimize(
    objective: Callable[[dict[str, Any]], Returned]
    | Callable[[dict[str, Any], RunningTrial], Returned],
    domain: MixedBox | Mapping[str, Any] | pd.DataFrame | str | PathLike[str],
    rounds: int,
    *,
    direction: Direction | None = None,
    seed: int | None = None,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    asynchronous: bool = False,
    timeout: float | None = None,
    tolerance: float | None = None,
    patience: int | None = None,
    mapper: Mapper | None = None,
    each: Callbacks[dict[str, Any]] = None,
    catch: Catch = (),
    progress: bool | None = None,
    study: str | PathLike[str] | Study | None = None,
    target: str | None = None,
    results: Any = None,
    targets: Any = None,
) -> Outcome[dict[str, Any]]: ...


@overload
def optimize(
    objective: ArrayObjective,
    domain: Box | Arms | npt.ArrayLike,
    rounds: int,
    *,
    direction: Direction | None = None,
    seed: int | None = None,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    asynchronous: bool = False,
    timeout: float | None = None,
    tolerance: float | None = None,
    patience: int | None = None,
    mapper: Mapper | None = None,
    each: Callbacks[Array] = None,
    catch: Catch = (),
    progress: bool | None = None,
    study: str | PathLike[str] | Study | None = None,
    target: str | None = None,
    results: Any = None,
    targets: Any = None,
) -> Outcome[Array]: ...


def optimize(
    objective: Callable[..., Any],
    domain: Any,
    rounds: int,
    *,
    direction: str | None = None,
    seed: int | None = None,
    policy: Policy | None = None,
    batch: int | None = None,
    workers: int = 1,
    asynchronous: bool = False,
    timeout: float | None = None,
    tolerance: float | None = None,
    patience: int | None = None,
    mapper: Mapper | None = None,
    each: Callbacks[Any] = None,
    catch: Catch = (),
    progress: bool | None = None,
    study: str | PathLike[str] | Study | None = None,
    target: str | None = None,
    results: Any = None,
    targets: Any = None,
) -> Outcome[Any]:
    """Maximise or minimise a function that is measured with noise; return the likely best point.

    Each round asks the policy for a point, measures it and tells the policy the result. Equal seeds
    and batch sizes give equal runs, whatever the number of workers. Ctrl-C ends the run, and what
    was done is returned. The logger "kernelbandits.optimize" reports every trial. With `study` each
    suggestion and each result is stored at once, and the same call goes on after an interruption.

    Parameters
    ----------
    objective
        A function of a point x (an array, or a dict on a `kb.MixedBox`; of a DataFrame a dict with
        the values of a row) that returns a number: a float, a scalar or an array of one element of
        numpy, torch or JAX, a decimal number, a truth value. Of several targets it returns a
        dictionary with a number for each; their desirability is the reward, if more than one has a
        direction. NaN, or
        another number that is not finite, is a failure: it is counted, it is no observation, and
        the run goes on. What is no number (None, text, a list) is a TypeError. An exception ends
        the run, unless `catch` names it. With a second argument, f(x, trial), it also gets a
        `kb.RunningTrial`: `trial.report(value, step)` says how far it is, and `trial.should_stop()`
        whether others were better at this step. What stops is learnt by its predicted end, and
        never recommended.
    domain
        Where to search: a `kb.Box`, a `kb.MixedBox`, or a list of candidates (`kb.Arms`, an (n, d)
        array or a DataFrame). A list of pairs [(low, high), ...] is a box, a dictionary of
        variables a mixed box, a path the space of a file.
    rounds
        How many measurements are made; with a study, those of earlier calls included.
    direction
        "maximize" ("max"), which is the default, or "minimize" ("min").
    seed
        Of the randomness of the policy. By default 0, or that of the study where there is one.
    policy
        Any `kb.Policy` of this domain; without one it is `kb.Auto(domain, goal="find",
        rounds=rounds)`, which looks for the best point in the end and claims nothing about the
        rewards on the way. The policy goes on from where it is. A policy with randomness of its own
        (`policy.streams`, as `kb.Auto` has) uses that in place of `seed`.
    batch
        How many points are measured at a time; by default as many as there are workers.
    workers
        How many processes measure. The objective is then sent to them, so it must be a function at
        the top level of a module or script. A process that dies has failed to measure its point.
    asynchronous
        Let each worker begin the next point as soon as it is free, with the points of the others
        pending. Without it all workers wait for the slowest of each batch. The run then depends on
        which worker is faster, so it cannot be repeated exactly, nor continued as if it had never
        been interrupted. With `study` each choice can still be recomputed (`study.replay`).
    timeout
        Seconds after which no further point is measured. Processes are ended in the middle of a
        measurement; one worker finishes the one that it has begun, a mapper its batch.
    tolerance
        End the run when the recommended point is within this much of the best with probability
        0.95 under the model of `kb.Auto`. It is asked after each batch, and is no guarantee. With
        `asynchronous` it is asked after each result, and what is being measured is finished.
    patience
        End the run when so many measurements in succession were no better than the best one before
        them; a failure is no improvement. It is asked when `tolerance` is. With a study the
        measurements of earlier calls count too.
    mapper
        In place of workers: how the points of a batch are measured, for instance the map of a pool.
    each
        A function that is called with every `OptimizationTrial`, or a list of such functions. One
        that returns True ends the run, when all of them have been called.
    catch
        An exception class, or a tuple of them, that means a failed measurement when the objective
        raises it. Any other exception is raised, so that a mistake in the program is not taken for
        a failed measurement.
    progress
        Whether a progress bar is shown on standard error; by default if that is a terminal.
    study
        Where the run is stored: a file such as "tune.db", "postgresql://user@host/db?study=tune",
        or an open `kb.Study`. It is created, or continued if it has the same space or table and the
        same direction. A batch that was interrupted is finished first, so the run ends as if it had
        never been interrupted, if seed and batch size are the same. The study can be looked at
        with all commands of `kernelbandits study`, and goes on with `Study.ask` too.
    target
        The name of what is measured, in a study ("value" unless given), or in a DataFrame, whose
        column of that name then describes no candidate. It may have the direction, too:
        "cost:minimize".
    results
        What is known before the run: pairs (x, y) in a list, a DataFrame or list of mappings with
        the values of x and the column "value" (or `target`), or a file of these. They teach the
        policy, and the likely best may be one of them; they are no rounds. A study takes them when
        it is created; a run that goes on has them already.
    targets
        What is measured, in place of one target: several by their names, as in `Study.create`, such
        as {"yield": "maximize", "haze": "<=0.25"}. That looks for the best yield where the haze is
        at most 0.25; a limit may be ">=6" or ">=6,<=8" too. `outcome.feasibility` is the
        probability that the recommended point meets all limits. Several targets with a direction
        need a study.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> outcome = kb.optimize(lambda x: -((x[0] - 0.3) ** 2), [(0, 1)], 15)
    >>> bool(abs(outcome.x[0] - 0.3) < 0.05)
    True

    The least value, in the units of the function, with failed measurements:

    >>> def cost(x):
    ...     if x["flow"] > 0.9:
    ...         raise RuntimeError("the pump stopped")
    ...     return 5 + (x["flow"] - 0.3) ** 2
    >>> space = {"flow": kb.Real(0, 1), "valve": kb.Category(("open", "closed"))}
    >>> outcome = kb.optimize(cost, space, 15, direction="minimize", catch=RuntimeError)
    >>> bool(abs(outcome.mean - 5) < 0.05)
    True

    Stored, interrupted after six trials, and continued:

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = folder.name + "/tune.db"
    >>> given = {"direction": "minimize", "catch": RuntimeError, "study": place}
    >>> begun = kb.optimize(cost, space, 9, each=lambda trial: trial.t == 6, **given)
    >>> ended = kb.optimize(cost, space, 9, **given)
    >>> len(begun.trials), len(ended.trials)
    (6, 9)
    >>> folder.cleanup()

    With results that are known before:

    >>> known = [({"flow": 0.2, "valve": "open"}, 5.01), ({"flow": 0.6, "valve": "open"}, 5.09)]
    >>> given = {"direction": "minimize", "catch": RuntimeError}
    >>> outcome = kb.optimize(cost, space, 5, results=known, **given)
    >>> len(outcome.trials)
    5

    With a limit on a second outcome:

    >>> def film(x):
    ...     return {"gloss": x[0], "haze": x[0] ** 2}
    >>> limited = {"gloss": "maximize", "haze": "<=0.25"}
    >>> outcome = kb.optimize(film, [(0, 1)], 12, targets=limited)
    >>> bool(0.45 < outcome.x[0] <= 0.5), outcome.feasibility >= 0.9
    (True, True)

    With a policy of your choice:

    >>> arms = kb.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]])
    >>> policy = kb.SimpleUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> kb.optimize(lambda x: 1 - (x[0] - 0.7) ** 2, arms, 20, policy=policy).arm
    3
    """
    checks.needs(callable(objective), "optimize", "an objective to call", objective)
    name, towards, several = read_aim(target, direction, targets)
    sign = 1.0 if towards == "maximize" else -1.0
    attempt = Attempt(objective, check_exceptions(catch), sign, takes_trial(objective))
    n_rounds = checks.whole("optimize", "rounds", rounds)
    measurer = choose_measurer(attempt, workers, mapper)
    size = checks.whole("optimize", "batch", workers if batch is None else batch)
    check_asynchronous(asynchronous, workers, batch, mapper)
    seconds = math.inf if timeout is None else checks.positive("optimize", "timeout", timeout)
    deadline = time.monotonic() + seconds
    callbacks = read_callbacks(each)
    shown = progress is None or isinstance(progress, bool)
    checks.needs(shown, "optimize", "progress True, False or None", progress)
    if tolerance is not None:
        checks.positive("optimize", "tolerance", tolerance)
        known = policy is None or policy.fits is not None
        checks.needs(known, "optimize", "kb.Auto for a tolerance", policy)
    if patience is not None:
        checks.whole("optimize", "patience", patience)
    plan = Plan(n_rounds, size, tolerance, patience, asynchronous)
    if several:
        attempt.refuse_trial([one.name for one in several])
    begun: AbstractContextManager[Run | StudyRun]
    if study is None:
        names = [one.name for one in several] or name
        limits = read_limited(several)
        player = heed_limits(choose_policy(policy, domain, n_rounds, seed, names), limits)
        streams = getattr(player, "streams", Streams(0 if seed is None else seed))
        if results is not None:
            one_target = "a study for results of several targets"
            checks.needs(not limits, "optimize", one_target, [*limits])
            teach_results(player, domain, results, "value" if name is None else name, sign)
        objective_name = (name or "") if limits else ""
        begun = nullcontext(
            Run(player, streams, sign, measurer, deadline, is_within, objective_name, limits)
        )
    else:
        needed = "no policy beside a study, which has a policy of its own"
        checks.needs(policy is None, "optimize", needed, policy)
        from kernelbandits.study.optimization import open_run

        place = read_domain(domain)
        aim = towards, name, seed
        begun = open_run(study, place, n_rounds, *aim, measurer, deadline, several, results)
    with measurer, begun as run, show_progress(n_rounds, run.rewards, sign, progress) as advance:
        try:
            for trial in report_failures(run.play(plan)):
                log.info("trial %d: %s", trial.t, trial.record())
                advance(trial)
                # All are called, also after one that ends the run: a logger sees every trial.
                ends = [callback(trial) is True for callback in callbacks]
                if any(ends):
                    run.ended = "callback"
                    break
        except KeyboardInterrupt:
            run.ended = "interrupted"
        outcome = run.summarise()
    count, form = format_count(len(outcome.trials), "trial"), ", asynchronous" * asynchronous
    log.info("%s%s%s", count, form, ENDS[outcome.ended])
    return outcome


def read_callbacks(each: Any) -> tuple[Callback[Any], ...]:
    """Return the functions to call with every trial."""
    if each is None:
        return ()
    given = tuple(each) if isinstance(each, (tuple, list)) else (each,)
    known = all(callable(one) for one in given)
    checks.needs(known, "optimize", "a function each, or a list of functions", each)
    return given


def read_aim(
    target: str | None, direction: str | None, targets: Any = None
) -> tuple[str | None, str, tuple[Target, ...]]:
    """Return the name of what is measured, if it has one, its direction, and several targets."""
    if target is None and targets is None:
        given = checks.direction("optimize", "maximize" if direction is None else direction)
        return None, given, ()
    # Imported here, because most runs have no target, and a study imports much.
    from kernelbandits.study.targets import is_combined, objectives_of, read_measured

    measured = read_measured("optimize", target, direction, targets)
    if targets is None:
        needed = "NAME or NAME:minimize as target; for more give targets= or a kb.Study as study="
        plain = not measured[0].is_limit and not is_combined(measured)
        checks.needs(plain, "optimize", needed, target)
        return measured[0].name, measured[0].direction, ()
    if is_combined(measured):
        return None, "maximize", measured
    [objective] = objectives_of(measured)
    return objective.name, objective.direction, measured if len(measured) > 1 else ()


def read_limited(targets: Sequence[Target]) -> dict[str, Target]:
    """Return the limits of a run in memory by target; only one of the targets has a direction."""
    limits = {one.name: one for one in targets if one.is_limit}
    needed = "study= for a desirability, of which a study learns the ranges"
    checks.needs(len(targets) - len(limits) <= 1, "optimize", needed, [one.name for one in targets])
    return limits


def heed_limits(policy: Policy, limits: Mapping[str, Target]) -> Policy:
    """Return a policy that heeds limits on outcomes, each learnt by a policy of its own.

    One that heeds these limits already goes on from what it knows.
    """
    wanted = [(one.low, one.high) for one in limits.values()]
    known = [(one.low, one.high) for one in policy.outcomes]
    if wanted == known:
        return policy
    needed = "targets= with the limits of the policy, in their order"
    checks.needs(not known, "optimize", needed, known)
    needed = "kb.Auto for limits on outcomes"
    if not isinstance(policy, Auto):
        raise ValueError(f"optimize needs {needed}, got {policy}")
    others = [LimitedOutcome(Auto(policy.domain, goal="find"), *ends) for ends in wanted]
    return policy.limited_by(*others)


def report_failures(
    trials: Iterator[OptimizationTrial[Any]],
) -> Iterator[OptimizationTrial[Any]]:
    """Yield the trials; warn if the first of them all fail, while the objective can be mended."""
    rewarded = False
    for number, trial in enumerate(trials, start=1):
        rewarded = rewarded or trial.reward is not None
        if number == FAILURES and not rewarded:
            first = f"the first {FAILURES} measurements of this call have failed"
            text = f"optimize: {first}, the last of them: {trial.failure}"
            warnings.warn(text, DataNotice, stacklevel=3)
        yield trial


def choose_policy(
    policy: Policy | None,
    domain: Any,
    rounds: int,
    seed: int | None,
    target: str | Sequence[str] | None,
) -> Policy:
    """Return the policy of a run in memory: that of the user, or `kb.Auto`."""
    if policy is None:
        place = read_domain(domain)
        if is_dataframe(place):
            place = table_arms(place, target)
        else:
            needed = "a study or a DataFrame for a target"
            checks.needs(not isinstance(target, str), "optimize", needed, target)
        return Auto(place, goal="find", rounds=rounds, seed=0 if seed is None else seed)
    checks.needs(isinstance(policy, Policy), "optimize", "a kb.Policy as policy", policy)
    fits = same_domain(policy.domain, domain)
    checks.needs(fits, "optimize", "a policy of the same domain", policy.domain)
    return policy


def teach_results(policy: Policy, domain: Any, results: Any, target: str, sign: float) -> None:
    """Tell a policy results that are known, read as those of a study; all of them or none."""
    from kernelbandits.study.known_results import read_known

    pairs = read_known(policy, read_domain(domain), results, target)
    policy.tell_in_blocks(
        [(choice, None if value is None else sign * value) for choice, value in pairs]
    )


def read_domain(domain: Any) -> Any:
    """Return a domain, or a DataFrame as it is; bounds and space files become domains."""
    if isinstance(domain, (str, PathLike)):
        return read_space(domain)
    place = as_domain("optimize", domain)
    known = isinstance(place, (Arms, Box, MixedBox, Contextual)) or is_dataframe(place)
    return place if known else as_arms(place)


def is_dataframe(given: Any) -> bool:
    """Tell whether this is a DataFrame; pandas is not imported to find out."""
    return hasattr(given, "columns") and hasattr(given, "itertuples")


def table_arms(frame: Any, target: str | Sequence[str] | None) -> Arms:
    """Return the rows of a DataFrame as arms, scaled as in a study, with their values as dicts."""
    from kernelbandits.study.candidates import read_candidates

    table = read_candidates(frame, target="value" if target is None else target)
    for notice in table.notices:
        warnings.warn(notice, DataNotice, stacklevel=4)
    values = [{**table.label(row), **table.x(row)} for row in range(len(table))]
    return Arms(table.points, blocks=table.blocks, values=values)


def choose_measurer(attempt: Attempt, workers: Any, mapper: Mapper | None) -> Measurer:
    """Return the object that measures the points of a batch."""
    count = check_workers("optimize", workers)
    if mapper is not None:
        checks.needs(callable(mapper), "optimize", "a mapper to call", mapper)
        checks.needs(count == 1, "optimize", "workers or a mapper, not both", workers)
        return MapperMeasurer(attempt, mapper)
    if count == 1:
        return SerialMeasurer(attempt)
    pool = ProcessPool(count, "optimize with workers needs an objective")
    return ProcessMeasurer(attempt, pool)


def check_asynchronous(asynchronous: Any, workers: int, batch: Any, mapper: Any) -> None:
    """Refuse what only makes sense where points are measured batch by batch."""
    flag = isinstance(asynchronous, bool)
    checks.needs(flag, "optimize", "asynchronous True or False", asynchronous)
    if asynchronous:
        needed = "workers for asynchronous, and no mapper: a mapper waits for a whole batch"
        checks.needs(mapper is None, "optimize", needed, mapper)
        needed = "no batch beside asynchronous: each worker gets a point when it is free"
        checks.needs(batch in (None, workers), "optimize", needed, batch)


def check_exceptions(catch: Any) -> tuple[type[BaseException], ...]:
    """Return an exception class, or several, as a tuple."""
    classes = tuple(catch) if isinstance(catch, (tuple, list)) else (catch,)
    known = all(isinstance(one, type) and issubclass(one, BaseException) for one in classes)
    checks.needs(known, "optimize", "an exception class or a tuple of them as catch", catch)
    return classes


def same_domain(one: Any, other: Any) -> bool:
    """Tell whether the points are the same, in the same order where there is one.

    A rule that plays on a finite cover of a box has the cover as its domain: it is one of that box.
    """
    if isinstance(other, dict) or (isinstance(other, (list, tuple)) and not isinstance(one, Arms)):
        other = as_domain("optimize", other)
    given = other if isinstance(other, (Box, MixedBox, Contextual)) else as_arms(other)
    if isinstance(one, Arms) and one.origin and isinstance(given, (Box, MixedBox)):
        given = given.cover()
    if isinstance(one, Arms) and isinstance(given, Arms):
        return np.array_equal(one.points, given.points)
    return bool(one == given)


@contextmanager
def show_progress(
    rounds: int, earlier: Sequence[float | None], sign: float, wanted: bool | None
) -> Iterator[Callable[[OptimizationTrial[Any]], None]]:
    """Show a bar on standard error, with the best so far; call what it yields with every trial."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda trial: None
        return
    # Imported here: most runs have no terminal, and it takes a tenth of a second.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    best_so_far = TextColumn("{task.fields[best]}")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), best_so_far)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        best = max((sign * reward for reward in earlier if reward is not None), default=-math.inf)

        def describe_best() -> str:
            return f"best {sign * best:.4g}" if math.isfinite(best) else ""

        task = bar.add_task("optimize", total=rounds, completed=len(earlier), best=describe_best())

        def advance(trial: OptimizationTrial[Any]) -> None:
            nonlocal best
            if trial.counts is not None:
                best = max(best, sign * trial.counts)
            bar.update(task, advance=1, best=describe_best())

        yield advance
