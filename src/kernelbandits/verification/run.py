"""The list of all topics, and the function that checks them."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernelbandits import checks
from kernelbandits.processes import Mapper
from kernelbandits.runtime import one_blas_thread
from kernelbandits.verification.as_played import check_as_played, check_high_probability
from kernelbandits.verification.certificate import check_certificate
from kernelbandits.verification.consequences import check_consequences
from kernelbandits.verification.constants import check_constants
from kernelbandits.verification.coverage import check_coverage
from kernelbandits.verification.errata import ERRATA
from kernelbandits.verification.lower_bound import check_lower_bound
from kernelbandits.verification.martingale import check_martingale
from kernelbandits.verification.optimism import check_optimism
from kernelbandits.verification.potential import check_potential
from kernelbandits.verification.regret import check_regret
from kernelbandits.verification.statements import CheckedStatement, Effort, Topic

TOPICS: Mapping[str, Topic] = {
    "constants": check_constants,
    "potential": check_potential,
    "optimism": check_optimism,
    "martingale": check_martingale,
    "coverage": check_coverage,
    "regret": check_regret,
    "as-played": check_as_played,
    "high-probability": check_high_probability,
    "certificate": check_certificate,
    "consequences": check_consequences,
    "lower-bound": check_lower_bound,
    **ERRATA,
}
"""All topics in the order in which they are shown. A new topic is one file and one line here."""
SLOWEST = (
    "coverage",
    "regret",
    "as-played",
    "consequences",
    "optimism",
    "E10",
    "high-probability",
    "lower-bound",
)
USUAL_EFFORT = Effort()


def check_topics(
    topics: Iterable[str] | str | None = None,
    effort: Effort = USUAL_EFFORT,
    mapper: Mapper = map,
) -> Iterator[CheckedStatement]:
    """Check the statements of some topics, or of all.

    Parameters
    ----------
    topics
        One name or several names of `TOPICS`; "errata" stands for E1 to E10 and E12. Default: all.
    effort
        The seed, and how much to simulate.
    mapper
        `map`, or a function like it that shares the topics among several processes.

    Examples
    --------
    >>> from kernelbandits.verification import check_topics
    >>> [checked.verdict for checked in check_topics("E7")]
    ['fails', 'holds']
    """
    for statements in mapper(partial(check_topic, effort), select_topics(topics)):
        yield from statements


def select_topics(topics: Iterable[str] | str | None = None) -> list[str]:
    """Turn what a user wrote into names of topics: each once, "errata" written out."""
    wanted = TOPICS if topics is None else [topics] if isinstance(topics, str) else topics
    names = [name for topic in wanted for name in (ERRATA if topic == "errata" else [topic])]
    for name in names:
        checks.one_of("check-theory", "topics", name, [*TOPICS, "errata"])
    return list(dict.fromkeys(names))


def slowest_first(topics: Iterable[str]) -> list[str]:
    """Sort topics so that several processes finish at about the same time."""
    return sorted(topics, key=lambda name: SLOWEST.index(name) if name in SLOWEST else len(SLOWEST))


def check_topic(effort: Effort, topic: str) -> list[CheckedStatement]:
    """Check all statements of one topic; an error of the program counts as a failed statement."""
    found: list[CheckedStatement] = []
    with one_blas_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.extend(TOPICS[topic](effort))
        except Exception as error:
            found.append(describe_error(error))
    return [replace(checked, topic=topic) for checked in found]


def describe_error(error: Exception) -> CheckedStatement:
    """Report an exception as a statement that fails, with the place where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return CheckedStatement(
        "The statements of this topic can be computed.",
        "no error",
        f"{type(error).__name__}: {error}",
        holds=False,
        detail=f"raised in {Path(last.filename).name}, line {last.lineno}",
    )
