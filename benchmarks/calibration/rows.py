"""Judged studies as lines of JSON: one for each table, noise, design, version and seed.

All values are shares of the range of the table, from 0 (its worst row) to 1 (its best).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.json_lines import append_object, read_objects

RULE, RANDOM = "rule", "random"
DESIGNS = (RULE, RANDOM)
"""Who chose the rows: the study itself, or chance."""
TOLERANCES = (0.01, 0.02, 0.05, 0.1)
"""Losses that a user may be willing to bear."""


@dataclass(frozen=True)
class IntervalQuality:
    """Estimates of some rows, N(mean, sd^2) each, against the true values of f there."""

    rows: int
    coverage_95: float
    """The share of values inside the 95 % interval, ..."""
    coverage_50: float
    """... and inside the 50 % interval."""
    above: float
    """The share of values above the 95 % interval."""
    log_density: float
    """The mean of ln N(f; mean, sd^2)."""
    error: float
    """The root mean square of (f - mean) / sd: 1 if the standard deviations are right."""


@dataclass(frozen=True)
class Statements:
    """What a study states after so many results, and what is true."""

    results: int
    unmeasured: IntervalQuality
    top: IntervalQuality
    """The ten unmeasured rows of the highest estimate."""
    reference_density: float
    """Mean log density of unmeasured rows under N(mean, variance) of the results: no model."""
    skill: float
    """1 - sum (f - estimate)^2 / sum (f - mean of the results)^2 over the unmeasured rows."""
    left_out_skill: float | None
    """The same as the study sees it, by leave-one-out; None if unknown."""
    left_out_coverage: float | None
    """The share of results within the 95 % interval of their leave-one-out prediction."""
    cautions: tuple[bool, bool]
    """Whether the likely best, and the answer to "may I stop?", say that the model is poor."""
    stated_loss: float | None
    """Stated: what stopping now loses on average; None if the study does not say."""
    loss: float
    """True: the best value minus that of the recommended row."""
    recommended_covered: bool
    """Whether the 95 % interval of the recommended row holds its true value."""
    untested: tuple[float, bool, bool] | None
    """If an unmeasured row has a higher estimate than the recommended one: the stated probability
    that it is better, whether it is, and whether its 95 % interval holds its true value."""
    noise: float
    """The standard deviation of one result, as fitted."""


@dataclass(frozen=True)
class Look:
    """What a study answers when the user asks whether to stop, and what is true."""

    results: int
    stated: float | None
    """What stopping loses on average; None if the study does not say."""
    loss: float
    """True: what stopping loses."""
    best: float
    """Stated: the probability that the recommended row is the best of all."""
    within: tuple[float, ...]
    """Stated: the probabilities that it loses at most each of the tolerances."""
    yes: tuple[bool, ...]
    """Whether the answer is yes at each of the tolerances."""
    is_luck: bool
    """Whether the study says that the recommended row may be luck."""


@dataclass(frozen=True)
class JudgedStudy:
    """One study of a table: its statements at some numbers of results."""

    table: str
    noise: float
    design: str
    version: str
    seed: int
    statements: tuple[Statements, ...]
    looks: tuple[Look, ...]
    """Each time the user asks whether to stop."""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.table, self.noise, self.design, self.version, self.seed


def read(path: Path) -> list[JudgedStudy]:
    return [judged_study(fields) for fields in read_objects(path)]


def judged_study(fields: dict[str, Any]) -> JudgedStudy:
    stated = tuple(read_statements(one) for one in fields["statements"])
    looks = tuple(map(read_look, fields["looks"]))
    return JudgedStudy(**fields | {"statements": stated, "looks": looks})


def read_look(fields: dict[str, Any]) -> Look:
    return Look(**fields | {name: tuple(fields[name]) for name in ("within", "yes")})


def read_statements(fields: dict[str, Any]) -> Statements:
    qualities = {name: IntervalQuality(**fields[name]) for name in ("unmeasured", "top")}
    untested = None if fields["untested"] is None else tuple(fields["untested"])
    several = {"cautions": tuple(fields["cautions"]), "untested": untested}
    return Statements(**fields | qualities | several)


def append(path: Path, study: JudgedStudy) -> None:
    append_object(path, round_numbers(asdict(study)))


def round_numbers(value: Any) -> Any:
    """Seven digits after the point are more than any of the tables shows."""
    if isinstance(value, dict):
        return {name: round_numbers(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [round_numbers(item) for item in value]
    return round(value, 7) if isinstance(value, float) else value


def latest(studies: Iterable[JudgedStudy]) -> list[JudgedStudy]:
    """Those of the version that was appended last."""
    kept = list(studies)
    return [one for one in kept if one.version == kept[-1].version]
