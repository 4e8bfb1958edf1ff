"""The values that a study returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import (
    format_count,
    format_interval,
    format_share,
    format_time,
    format_times,
)
from kernelbandits.markup import html_card, html_pairs, html_paragraphs, html_table
from kernelbandits.study.targets import describe_limits
from kernelbandits.study.words import (
    STANDS_ALONE,
    describe_candidate,
    describe_chance,
    describe_stored,
    describe_told,
    describe_values,
    name_cells,
    name_sample,
    row_cell,
)

if TYPE_CHECKING:
    from kernelbandits.study.events import State
    from kernelbandits.study.place import Place

LIKELY = 0.9
"""From this probability of meeting all limits on, a candidate counts as feasible."""
MOST_SHOWN = 10
"""Pending trials that a notebook lists."""
X = Mapping[str, Any]
"""A candidate by the names of its columns, or a point by the names of its variables."""
Row = int | None
"""A row of the table of candidates; None in a study over a space, whose points have no rows."""


class Readable:
    """A value that a prompt shows as its sentence, not as a list of its fields."""

    @property
    def sentence(self) -> str:
        """What a user wants to know, in one to three lines."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return html_card(type(self).__name__, html_paragraphs(*self.sentence.splitlines()))


class LazyText:
    """A field of a value: text, or a function that makes the text when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, given: str | Callable[[], str]) -> None:
        vars(instance)[self.name] = given

    @overload
    def __get__(self, instance: None, owner: type) -> LazyText: ...
    @overload
    def __get__(self, instance: object, owner: type) -> str: ...
    def __get__(self, instance: object | None, owner: type) -> LazyText | str:
        if instance is None:
            # Otherwise a dataclass would take the descriptor for the default of the field.
            raise AttributeError(self.name)
        given = vars(instance)[self.name]
        text = given if isinstance(given, str) else given()
        vars(instance)[self.name] = text
        return text


class AlreadyTold(StudyConflict):
    """A second result came for a trial that has one; the stored result is kept.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("told-twice.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> told = study.tell(row=1, value=0.7)
    >>> try:
    ...     study.tell(told.trial, 0.8)
    ... except kb.AlreadyTold as error:
    ...     print(error.trial, error.stored)
    1 0.7
    >>> study.close()
    """

    def __init__(
        self,
        trial: int,
        stored: float | Mapping[str, float] | None,
        where: str = "",
        message: str = "",
    ) -> None:
        self.trial, self.stored = trial, stored
        """The result that is kept: a value, those of several targets, or None for a failure."""
        several = isinstance(stored, Mapping)
        which = "targets without a value" if several else "a trial without a result"
        row = "candidate" if several else "row"
        super().__init__(
            message
            or f"tell needs {which}, got trial {trial}{where}, which "
            f"{describe_stored(stored)}. If that is "
            f"wrong, correct the trial; if the {row} was measured again, tell the {row} instead "
            "of the trial."
        )

    @property
    def value(self) -> float | None:
        """The value of a single target; None for a failure, and with several targets."""
        return None if isinstance(self.stored, Mapping) else self.stored


@dataclass(frozen=True, repr=False)
class Suggestion(Readable):
    """A row to measure.

    `Study.ask` returns them.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("suggested.db", [[20.0], [50.0], [90.0]], target="yield", seed=0)
    >>> first, second = study.ask(2, worker="Ada")
    >>> first.trial, second.trial, first.worker, list(first.x)
    (1, 2, 'Ada', ['x1'])
    >>> first.row != second.row, first.until > 0
    (True, True)
    >>> study.close()
    """

    trial: int
    """The number of the trial, to be given to `tell` with the result."""
    row: Row
    """The number of the row, counted from 0; None for a point of a space."""
    x: X
    """What to set: column -> value."""
    note: Mapping[str, float]
    """What the policy knew of the row, in the target's own units."""
    greedy: int | None
    """The row of the greatest estimate then; None before anything was known."""
    until: float
    """When the lease runs out, in seconds since 1970 by the clock of the database."""
    why: LazyText = LazyText()
    """Why it was suggested, and what makes that doubtful. For the second each result is predicted
    from the others, so the text is made when it is first read."""
    worker: str | None = None
    """Who asked, if `ask` was told."""
    again: int | None = None
    """The trial under which the same row was offered before, to somebody who did not come back."""
    label: Mapping[str, str] = field(default_factory=dict)
    """What the table calls the row: its names or, without names, its line of the file."""
    revision: int = 1
    """The revision of the policy that chose the row."""
    notices: tuple[str, ...] = ()
    """What else is to be said with this call of `ask`: that another revision chooses from now on,
    that the results contradict the noise given, that some rows come more than once."""
    sheet: str | None = None
    """The sheet to fill in on which it stands, if `ask` wrote one."""

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields, to be sent to another process: the text of the reason too."""
        return {**vars(self), "why": self.why}

    @property
    def sentence(self) -> str:
        return f"trial {self.trial}, {describe_candidate(self.row, self.label, self.x)}. {self.why}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the values to set, and why."""
        title = f"Measure next: trial {self.trial}"
        reserved = [("reserved until", format_time(self.until))]
        known = [*{**name_cells(self.row, self.label), **self.x}.items(), *reserved]
        return html_card(title, html_pairs(known), html_paragraphs(self.why, *self.notices))


@dataclass(frozen=True, repr=False)
class Told(Readable):
    """A result that is stored.

    `Study.tell` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("told.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> told = study.tell(row=1, value=0.7, sem=0.05)
    >>> told.trial, told.x, told.value, told.sem
    (1, {'x1': 50.0}, 0.7, 0.05)
    >>> study.close()
    """

    trial: int
    """The number of the trial that has the result."""
    row: Row
    """The number of the row, counted from 0; None for a point of a space."""
    value: float | None
    """None where the measurement failed."""
    accepted: bool
    """Whether the result is stored, by this call or by an earlier one with the same key.

    False for a line of a table that was told before.
    """
    key: str | None
    """By which the same call is known again."""
    seq: int
    """The number of its event."""
    settles: int | None = None
    """The pending trial of the same candidate that the result of a row was taken for."""
    waiting: tuple[int, ...] = ()
    """Trials of the same candidate that stay pending after the result of a row."""
    x: X | None = field(default=None, hash=False)
    """The candidate whose result it is."""
    asked: X | None = field(default=None, hash=False)
    """What was asked for, where other conditions were really set."""
    label: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the table calls it."""
    sem: float | None = None
    """The standard error of the value, where it was given."""
    replicates: tuple[int, ...] = ()
    """The trials of further values of the same candidate that the same call told."""
    values: Mapping[str, float] | None = field(default=None, hash=False)
    """With several targets all values that the trial has now; `value` is their desirability, or
    that of the only one with a direction, and None until all are there."""
    combined: bool = False
    """Whether `value` is a desirability."""
    broken: tuple[str, ...] = ()
    """The limits on outcomes that its values break, in words."""
    needs: tuple[str, ...] = ()
    """Targets whose values have not come."""
    missing: bool = False
    """Whether the trial ended without a value though the measurement did not fail."""
    failed: bool = False
    """Whether the measurement failed. Values that were told before stay in the history."""
    corrected: bool = False
    """Whether the value replaces another one, by a table that was told as corrected."""
    beyond: str = ""
    """"<" or ">" where the value is a limit, and the result is below or above it."""
    was: float | str | None = None
    """The value that was replaced; None for a failure, or if nothing was corrected."""
    notices: tuple[str, ...] = ()
    """What else is to be said with this call of `tell`, such as that a value is far from all
    others."""

    @property
    def sentence(self) -> str:
        """What was stored, and what it means for pending trials of the same candidate."""
        return describe_told(self)


@dataclass(frozen=True)
class Untested:
    """A candidate that was never measured and has a better estimate than the row recommended."""

    row: Row
    x: X
    mean: float
    low: float
    """The 95 % interval of the estimate."""
    high: float
    sentence: str


@dataclass(frozen=True, repr=False)
class Best(Readable):
    """The row recommended: of all candidates that were measured, the one of the best estimate.

    That is what is likely best, not what was luckiest. A row that was never measured is not
    recommended, however promising; if there is a better estimate, `untested` says where.

    `Study.best` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("best.db", [[20.0], [50.0], [90.0]], target="yield", noise=0.05)
    >>> for row, value in [(0, 0.2), (1, 0.9), (1, 0.8), (2, 0.1)]:
    ...     told = study.tell(row=row, value=value)
    >>> best = study.best()
    >>> best.x, best.results, best.low < best.mean < best.high
    ({'x1': 50.0}, 2, True)
    >>> study.close()
    """

    row: Row
    """The number of the row, counted from 0; None for a point of a space."""
    x: X
    """Its values, by column."""
    mean: float
    """The estimate of its target."""
    low: float
    """The 95 % interval of the estimate, not of a new measurement."""
    high: float
    probability: float
    """Of being the best of all rows allowed, under the posterior."""
    results: int
    """How often it was measured."""
    label: Mapping[str, str] = field(default_factory=dict)
    """What the table calls it."""
    untested: Untested | None = None
    """The row of the best estimate of all, where that was never measured."""
    early: str = ""
    """Why it is too early to call the row the best; "" once there are enough results."""
    caution: str = ""
    """Why estimate and probability are to be taken with care, such as a poor model; "" if not."""
    comparison: str = ""
    """Which candidates the probability compares, in words; "" if it compares all."""
    may_be_luck: bool = False
    """Whether it was measured once, and another measured row is better with a probability of at
    least a third."""
    stands_alone: bool = False
    """Whether it leads all others by a single result, which may be luck or a slip."""
    limits: str = ""
    """The limits on outcomes in words; "" without any."""
    feasibility: float | None = None
    """The probability that it meets all of them; None without any."""

    @property
    def is_feasible(self) -> bool:
        """Whether it meets the limits on outcomes with a probability of at least 0.9."""
        return self.feasibility is None or self.feasibility >= LIKELY

    @property
    def limits_sentence(self) -> str:
        """How probably it meets the limits, or that nothing is known to; "" without any."""
        if self.feasibility is None:
            return ""
        share = format_share(self.feasibility)
        if self.is_feasible:
            return f"meets {self.limits} with probability {share}"
        return f"nothing measured is known to meet {self.limits}; this most probably does ({share})"

    @property
    def sentence(self) -> str:
        """The row with its interval and probability; of few results, that it is too early."""
        known = format_interval(self.mean, self.low, self.high, label=", 95 % interval")
        estimate = f"{describe_candidate(self.row, self.label, self.x)}: {known}"
        often = f"measured {format_times(self.results)}"
        if self.limits:
            estimate = f"{estimate}; {self.limits_sentence}"
        if self.early:
            return f"too early to say: {self.early}. Best estimate so far: {estimate}; {often}"
        share = f"the best with probability {format_share(self.probability)}{self.comparison}"
        found = f"{estimate}; {share}; {often}{self.luck}"
        more = [self.untested.sentence] if self.untested else []
        more += [self.caution] if self.caution else []
        return ". ".join([found, " ".join(more)]) if more else found

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the values of the row, its estimate, and remarks."""
        title = "Best estimate so far" if self.early else "Likely best"
        known = [*{**name_cells(self.row, self.label), **self.x}.items()]
        known.append(("estimate, 95 % interval", format_interval(self.mean, self.low, self.high)))
        if not self.early:
            chance = f"{format_share(self.probability)}{self.comparison}"
            known.append(("the best with probability", chance))
        if self.feasibility is not None:
            known.append((f"meets {self.limits}", format_share(self.feasibility)))
        known.append(("measured", f"{format_times(self.results)}{self.luck}"))
        early = f"Too early to say: {self.early}." if self.early else ""
        untested = self.untested.sentence if self.untested else ""
        said = html_paragraphs(early, untested, self.caution)
        return html_card(title, html_pairs(known), said)

    @property
    def name(self) -> str:
        """What a lab calls the candidate: its label, its row, or the point."""
        return name_sample(self.row, self.label, self.x)

    @property
    def headline(self) -> str:
        """The candidate, its estimate and how sure it is, in one line."""
        known = format_interval(self.mean, self.low, self.high)
        return f"{self.name}: {known}, {self.certainty}"

    @property
    def certainty(self) -> str:
        """How sure it is that the candidate is the best one, and what to do about it."""
        sure = "too early to say" if self.early else describe_chance(self.probability)
        again = "; measure it again" if self.again and not self.early else ""
        met = ""
        if self.feasibility is not None:
            share = format_share(self.feasibility)
            met = f", meets {self.limits} with probability {share}"
        return f"{sure}{met}, measured {format_times(self.results)}{again}"

    @property
    def again(self) -> bool:
        """Whether it is to be measured again: its single result may be luck or a slip."""
        return self.stands_alone or self.may_be_luck

    @property
    def luck(self) -> str:
        """What to do about a single result that may be luck or a slip, after "measured once"."""
        if self.stands_alone:
            return f": {STANDS_ALONE}"
        return ": its result may be luck; measure it again to be sure" if self.may_be_luck else ""


@dataclass(frozen=True, repr=False)
class RowComparison(Readable):
    """A row of the table beside the likely best: why it is not the one that is recommended.

    `Study.compare` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("compared.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> trial = study.ask()[0]
    >>> study.compare(trial.row).reason
    'it is pending as trial 1'
    >>> study.close()
    """

    row: int
    """The number of the row, counted from 0."""
    x: X
    """Its values by column."""
    mean: float
    """The estimate."""
    low: float
    """The 95 % interval of the estimate."""
    high: float
    probability: float | None
    """Of being the best of all rows allowed, under the posterior; None for a row that is not."""
    results: int
    """How often it was measured, in whichever of its rows."""
    label: Mapping[str, str]
    """What the table calls it."""
    best: Best | None
    """The likely best; None before any result."""
    reason: str
    """Why it is not suggested now: forbidden, pending; "" if it may be suggested."""
    caution: str = ""
    """Why the estimates are to be taken with care; "" if not."""
    limits: str = ""
    """The limits on outcomes in words; "" without any."""
    feasibility: float | None = None
    """The probability that it meets all of them; None without any."""

    @property
    def sentence(self) -> str:
        """The row with its estimate and chance, the likely best with its own, and the reason."""
        known = format_interval(self.mean, self.low, self.high, label=", 95 % interval")
        often = f"measured {format_times(self.results)}" if self.results else "never measured"
        where = describe_candidate(self.row, self.label, self.x)
        parts = [known, often]
        if self.limits:
            parts.append(f"meets {self.limits} with probability {format_share(self.feasibility)}")
        if self.best is None:
            parts.append("there is no result yet")
        elif self.probability is not None:
            parts.append(f"the best with probability {format_share(self.probability)}")
        said = [f"{where}: {'; '.join(parts)}"]
        if self.best is not None and self.best.row == self.row:
            said.append("It is the likely best")
        elif self.best is not None:
            other = format_interval(self.best.mean, self.best.low, self.best.high)
            name = self.best.name
            share = format_share(self.best.probability)
            said.append(
                f"The likely best, {name}, has {other} and is the best with probability {share}"
            )
        said += [f"It is not suggested now: {self.reason}"] if self.reason else []
        return ". ".join([*said, *([self.caution] if self.caution else [])]).rstrip(".") + "."


@dataclass(frozen=True)
class Stop:
    """Whether to stop measuring, and why.

    It stands in the status of a study.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("stop.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> study.status().stop.kind
    'none'
    >>> study.close()
    """

    kind: str
    """theory: a confidence statement; improvement: the expected one; none: too few results."""
    sentence: str
    """The answer in words."""
    may_stop: bool | None
    """None where no tolerance was given to compare with."""
    left: float | None
    """theory: what the likely best loses at most; improvement: what it loses on average."""
    probability: float | None = None
    """improvement: that the likely best loses no more than the tolerance. None without a tolerance,
    and of a confidence statement, whose probability is that given beforehand."""
    light: str = "go on"
    """The answer as a stop light: "go on", "look" or "enough"."""
    headline: str = ""
    """The light and its reason in few words."""


@dataclass(frozen=True)
class TargetStatus:
    """One of several targets at one time."""

    name: str
    wanted: str
    """What is wanted of it, in words."""
    results: int
    low: float | None
    """The range of its desirability; of limits the least value allowed, or None. None without a
    desirability."""
    high: float | None
    range_given: bool
    """Whether the range was given; else it is that of the values measured so far."""
    best_trial: int | None
    best_value: float | None
    """The best single value."""
    mean: float | None
    """What its own model says of the candidate recommended, with the 95 % interval."""
    mean_low: float | None
    mean_high: float | None
    range_known: bool = True
    """False where no range was given, and too few different values were measured."""
    within: int | None = None
    """Of a target that only has limits: how many of its values meet them."""
    feasibility: float | None = None
    """Of such a target: the probability that the candidate recommended meets them."""

    @property
    def sentence(self) -> str:
        if self.within is not None:
            met = f"{self.within} of {format_count(self.results, 'value')} within"
            return "; ".join([f"{self.wanted}: {met}", *self.of_best])
        span = ""
        if self.low is not None and self.high is not None:
            span = f"range {self.low:g} to {self.high:g}"
            span += " (given)" if self.range_given else " (measured so far)"
        if span and not self.range_known:
            span = "no range known yet"
        parts = [f"{self.wanted}; {format_count(self.results, 'value')}"]
        if self.best_value is not None:
            parts.append(f"best {self.best_value:g} (trial {self.best_trial})")
        return "; ".join([*parts, *([span] if span else []), *self.of_best])

    @property
    def of_best(self) -> list[str]:
        """What its own model says of the likely best, in words; [] before any value."""
        if self.mean is None or self.mean_low is None or self.mean_high is None:
            return []
        known = format_interval(self.mean, self.mean_low, self.mean_high)
        share = "" if self.feasibility is None else format_share(self.feasibility)
        return [
            f"of the likely best {known}" + (f", within with probability {share}" if share else "")
        ]


@dataclass(frozen=True)
class FrontPoint:
    """A measured candidate that no other one exceeds in all targets."""

    row: Row
    x: X
    label: Mapping[str, str]
    values: Mapping[str, float]
    """The mean of its values of each target."""
    desirability: float
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """With the goal front: the 95 % interval of each target, by its model."""

    @property
    def sentence(self) -> str:
        where = describe_candidate(self.row, self.label, self.x)
        values = describe_values(self.values, self.intervals)
        return f"{where}: {values}; desirability {self.desirability:.3g}"


@dataclass(frozen=True)
class Waiting:
    """A trial whose result has not come."""

    trial: int
    row: Row
    x: X
    worker: str | None
    since: float
    """Seconds it has been waiting."""
    overdue: bool
    """Whether its lease has run out: the next asker may be offered its row."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Of several targets: the values that have come."""
    drawn: bool = False
    """Whether the candidate was drawn at random."""


@dataclass(frozen=True, repr=False)
class Status(Readable):
    """Results, the likely best and settings of a study at one time.

    `Study.status` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("status.db", [[20.0], [50.0], [90.0]], target="yield:minimize")
    >>> told = study.tell(row=1, value=0.7)
    >>> suggestions = study.ask()
    >>> status = study.status()
    >>> status.told, status.pending, status.rows, status.direction
    (1, 1, 3, 'minimize')
    >>> print(status.sentence.splitlines()[0])
    status.db: minimize yield (goal: find), 3 candidates; 1 result, 1 pending
    >>> study.close()
    """

    place: str
    """Where the study is, without passwords."""
    target: str
    """What is measured."""
    direction: str
    """"maximize" or "minimize"."""
    told: int
    """How many results there are."""
    pending: int
    """How many trials wait for their result."""
    failed: int
    """How many measurements failed."""
    missing: int
    """Trials that ended without a value and without a failure."""
    withdrawn: int
    """How many trials were taken back."""
    rows: Row
    """Rows of the table; None in a study over a space."""
    allowed: Row
    """Rows that may be suggested; None in a study over a space."""
    measured: int
    """Different candidates with a result."""
    best: Best | None
    """The likely best; None before the first result."""
    stop: Stop
    """Whether to stop measuring, and why."""
    centre: float
    """What the model subtracts from a result."""
    spread: float
    """By what the model divides the difference."""
    units: str
    """How results are scaled for the model, in words."""
    policy: str
    """What chooses the rows, in words."""
    claim: str
    """What theory guarantees, and under which conditions."""
    waiting: tuple[Waiting, ...]
    """The trials whose results have not come."""
    notices: tuple[str, ...]
    """What else is to be said of the study."""
    events: int
    """How many events are stored."""
    different: Row
    """Candidates that differ in a column that counts; points of a finite space; else None."""
    repeats: str = ""
    """When a row that has a result is measured again, in words."""
    goal: str | None = None
    """"find", "earn" or "front"; None for a named policy, which has no goals."""
    noise: float | None = None
    """The sd of one result as it was given, in the target's units."""
    rounds: int | None = None
    """How many results are planned."""
    purpose: str = ""
    """The goal, and what is claimed of it, in words; "" for a named policy."""
    log: tuple[str, ...] = ()
    """The columns that the model sees by their logarithms."""
    scales: str = ""
    """How columns of numbers are scaled for the model, in words."""
    space: Mapping[str, Any] | None = None
    """The variables and constraints, in a study over a space."""
    targets: tuple[TargetStatus, ...] = ()
    """Each of several targets; () for one."""
    front: tuple[FrontPoint, ...] = ()
    """The Pareto front of what was measured, with several targets."""
    regret: str = ""
    """What all results lost at most, in words, if that is proved; else ""."""
    regret_certificate: float | None = None
    """That number, in the target's units."""
    limits: str = ""
    """The limits on outcomes in words; "" without any."""

    @property
    def aim(self) -> str:
        """What is looked for: the direction, the target and the limits."""
        return f"{self.direction} {self.target}" + (f", {self.limits}" if self.limits else "")

    @property
    def sentence(self) -> str:
        """Three lines: how far the study is, the likely best, and whether to stop.

        A fourth says what all results lost at most, if that is proved.
        """
        counts = f"{format_count(self.told, 'result')}, {self.pending} pending"
        failed = f", {self.failed} failed" if self.failed else ""
        goal = f" (goal: {self.goal})" if self.goal else ""
        aim = f"{self.place}: {self.aim}{goal}"
        likely = self.best.sentence if self.best else "no results yet"
        regret = f"\nregret so far: {self.regret}" if self.regret else ""
        return (
            f"{aim}, {self.extent}; {counts}{failed}\n"
            f"likely best: {likely}\n"
            f"may I stop? {self.stop.sentence}{regret}"
        )

    @property
    def extent(self) -> str:
        """How many candidates there are, or what the space is, in words."""
        if self.space is None:
            return format_count(self.different or 0, "candidate")
        count = "" if self.different is None else f" ({format_count(self.different, 'point')})"
        return f"a space of {format_count(len(self.space['variables']), 'variable')}{count}"


@dataclass(frozen=True, repr=False)
class Explained:
    """Why a row was suggested, as it was known then, in the target's own units.

    Of a choice made by another revision of the policy only what was stored is known: it is not
    recomputed (`stored` is true), and the numbers that would have to be are None.

    `Study.explain` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("why.db", [[20.0], [50.0], [90.0]], target="yield", noise=0.05)
    >>> for row, value in [(0, 0.2), (1, 0.9), (2, 0.1)]:
    ...     told = study.tell(row=row, value=value)
    >>> (suggestion,) = study.ask()
    >>> why = study.explain(suggestion.trial)
    >>> why.row == suggestion.row, why.results, why.greedy
    (True, 3, 1)
    >>> study.close()
    """

    trial: int
    """The trial that is explained."""
    row: Row
    """The row suggested; None for a point of a space."""
    x: X
    """Its values, by column."""
    mean: float | None
    """The estimate of its target."""
    sd: float | None
    """The standard deviation of the estimate."""
    weight: float | None
    """w_t as drawn; None where none was."""
    width: float | None
    """What multiplied weight x sd; None without a width."""
    bonus: float | None
    """weight x width x sd, the sd with the pending results imagined; or horizon x gain."""
    index: float | None
    """The estimate with the bonus, by which the row was chosen."""
    chance: float | None
    """Of this row to be the best."""
    greedy: int | None
    """The row of the greatest estimate."""
    greedy_x: X | None
    """Its values, by column."""
    greedy_mean: float | None
    """The greatest estimate."""
    greedy_sd: float | None
    """The standard deviation of that estimate."""
    greedy_chance: float | None
    """Of that row to be the best."""
    results: int
    """How many results were known."""
    pending: int
    """How many results were awaited."""
    sentence: str
    """The explanation in words."""
    revision: int = 1
    """The revision of the policy that chose the row."""
    stored: bool = False
    """Whether this is what was stored with the ask, since this release has another revision."""
    improvement: float | None = None
    """What measuring the row was expected to gain, with the goal "find"; else None."""
    gain: float | None = None
    """What its result was expected to add to the best estimate, with the goal "earn" and no width;
    else None."""
    horizon: float | None = None
    """For how many rounds the gain counted; None without one."""
    caution: str = ""
    """Why the estimates were to be taken with care, such as a poor model; "" if not, and where
    only what was stored is known: the sentence then has it."""

    def __str__(self) -> str:
        return f"trial {self.trial}, {describe_candidate(self.row, {}, self.x)}. {self.sentence}"

    def __repr__(self) -> str:
        return f"<Explained: {self}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the values, and why they were suggested."""
        title = f"Why trial {self.trial} was suggested"
        said = html_paragraphs(self.sentence, "" if self.caution in self.sentence else self.caution)
        return html_card(title, html_pairs([*row_cell(self.row).items(), *self.x.items()]), said)


@dataclass(frozen=True)
class Replayed:
    """A suggestion recomputed from the events before it.

    `Study.replay` returns it.

    >>> import kernelbandits as kb
    >>> study = kb.Study.create("replayed.db", [[20.0], [50.0], [90.0]], target="yield")
    >>> (suggestion,) = study.ask()
    >>> again = study.replay(suggestion.trial)
    >>> again.recomputed == suggestion.row, again.same
    (True, True)
    >>> study.close()
    """

    trial: int
    """The trial that is recomputed."""
    row: Row
    """The row that was suggested; None for a point of a space."""
    recomputed: int | Mapping[str, Any] | None
    """The row, or the point of a space.

    None where another revision of the policy chose: its choices are not recomputed.
    """
    same: bool | None
    """Whether the same row comes out; None where nothing was recomputed."""
    explained: Explained
    """Why it was suggested."""
    sentence: str
    """Whether the same comes out, in words."""
    revision: int = 1
    """The revision of the policy that chose the row."""
    x: X | None = None
    """The point, in a study over a space."""


def plain(value: Any) -> Any:
    """Return a number as JSON has it; inf, -inf and nan as text."""
    number = float(value)
    return number if number - number == 0 else repr(number)


def study_card(where: str, state: State, place: Place) -> str:
    """Return what a notebook shows of a study, as HTML, read off its events."""
    states = [trial.state for trial in state.trials.values()]
    counts = {name: states.count(name) for name in ("told", "failed", "pending")}
    facts = [
        ("target", f"{state.settings.target}, {state.settings.direction}"),
        *((("limits", limits),) if (limits := describe_limits(state.settings.outcomes)) else ()),
        ("candidates", place.describe_size()),
        (place.heading, place.describe()),
        ("results", counts["told"]),
        ("failed", counts["failed"]),
        ("pending", counts["pending"]),
    ]
    pending = list(state.pending.values())[:MOST_SHOWN]
    waiting = [(one.number, place.describe_candidate(one.row)) for one in pending]
    more = counts["pending"] - len(pending)
    return html_card(
        f"Study {where}",
        html_pairs(facts),
        html_table(("pending trial", place.noun), waiting) if waiting else "",
        html_paragraphs(f"... and {more} more pending" if more > 0 else ""),
    )
