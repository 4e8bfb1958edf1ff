"""The targets of a study: how desirable their values are, and one number for the policy.

Of one target of which nothing but its direction is given, the number is its value. Otherwise it is

    D = (prod_i max(d_i, 0.01)^w_i)^(1 / sum w_i),   0 if a hard limit is broken,

with the desirability d_i in [0, 1] and the weight w_i of each target (Derringer and Suich, 1980). A
target that only has to lie within limits is no part of it: a policy of its own learns it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.formatting import did_you_mean
from kernelbandits.tables.cells import canonical, parse_typed
from kernelbandits.tables.export import COMBINED
from kernelbandits.tables.headers import loose

MAXIMIZE, MINIMIZE, AIM, WITHIN = "maximize", "minimize", "aim", "within"
LEAST = 0.01
"""The least desirability in the product. With 0, one hopeless target would hide all differences in
the others from the model."""
CENTRE, SPREAD = 0.5, 0.25
"""The units in which a policy sees the desirability, which lies between 0 and 1."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Target:
    """A measured quantity, and how desirable its values are.

    The desirability d of a value y rises from 0 at `low` to 1 at `high` ("maximize"), falls from 1
    at `low` to 0 at `high` ("minimize"), or is 1 at the value `aim` and falls to 0 at both ends.
    Outside the range it stays 0 or 1. A target "within" its range has no desirability: a candidate
    whose value is outside is not feasible, and one inside is no better for it.

    Parameters
    ----------
    name
        What is measured.
    direction
        "maximize", "minimize", "aim" for a value to be met, or "within" for limits.
    low, high
        The range. None: the least and the greatest value measured so far. Of a target "within" the
        least and the greatest value allowed, one of which may be None.
    aim
        The value to be met.
    weight
        How much the target counts beside the others.
    limit
        A hard limit: the least value that may be used ("maximize"), the greatest ("minimize"), or
        the largest distance from the aim. Beyond it the candidate has desirability 0.

    Examples
    --------
    >>> from kernelbandits.study import Target
    >>> efficiency = Target("efficiency", low=0.0, high=20.0, limit=5.0)
    >>> efficiency.desirability(15.0), efficiency.breaks_limit(4.0)
    (0.75, True)
    >>> Target("pH", "aim", low=5.0, high=9.0, aim=7.0).desirability(8.0)
    0.5
    >>> haze = Target("haze", "within", high=0.25)
    >>> haze.sentence, haze.breaks_limit(0.3)
    ('at most 0.25', True)
    """

    name: str
    direction: str = MAXIMIZE
    low: float | None = None
    high: float | None = None
    aim: float | None = None
    weight: float = 1.0
    limit: float | None = None

    def __post_init__(self) -> None:
        check_target_name(self.name)
        owner = f"target {self.name!r}"
        checks.one_of(owner, "direction", self.direction, (MAXIMIZE, MINIMIZE, AIM, WITHIN))
        for part in ("low", "high", "aim", "limit"):
            if getattr(self, part) is not None:
                object.__setattr__(self, part, checks.number(owner, part, getattr(self, part)))
        object.__setattr__(self, "weight", checks.positive(owner, "weight", self.weight))
        if self.is_limit:
            ends = (self.low, self.high)
            checks.needs(ends != (None, None), owner, "a limit, such as <=0.25 or >=6", None)
            alone = self.weight == 1 and self.limit is None
            checks.needs(alone, owner, "no weight and no limit= beside <= and >=", self.body)
        else:
            together = (self.low is None) == (self.high is None)
            checks.needs(together, owner, "both ends of its range", (self.low, self.high))
        if self.low is not None and self.high is not None:
            checks.needs(self.low < self.high, owner, "a range low < high", (self.low, self.high))
        met = (self.aim is not None) == (self.direction == AIM)
        checks.needs(met, owner, "an aim if and only if its direction is aim", self.aim)
        if self.aim is not None:
            low, high = self.low, self.high
            inside = low is None or high is None or low < self.aim < high
            checks.needs(inside, owner, "an aim inside its range", self.aim)
            far = self.limit is None or self.limit > 0
            checks.needs(far, owner, "a limit > 0, the largest distance from the aim", self.limit)

    @property
    def body(self) -> dict[str, Any]:
        """As the log keeps it: what differs from the default."""
        default = {one.name: one.default for one in fields(self)}
        return {name: part for name, part in asdict(self).items() if part != default[name]}

    @property
    def is_limit(self) -> bool:
        """Whether its values only have to lie within limits: it has no direction."""
        return self.direction == WITHIN

    @property
    def range(self) -> Range | None:
        """The range that was given."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def worthless(self) -> float | None:
        """The end of the range that was given at which a value is worth nothing.

        >>> from kernelbandits.study import Target
        >>> Target("cost", "minimize", low=2.0, high=9.0).worthless
        9.0
        """
        return self.low if self.direction == MAXIMIZE else self.high

    def quality(self, y: Any) -> Any:
        """Return a number that grows with the desirability, whatever the range and the limit."""
        if self.aim is not None:
            return -np.abs(np.asarray(y, dtype=np.float64) - self.aim)
        if self.is_limit:
            given, (low, high) = np.asarray(y, dtype=np.float64), self.ends
            return -np.maximum(np.maximum(low - given, given - high), 0.0)
        return y if self.direction == MAXIMIZE else -np.asarray(y, dtype=np.float64)

    def measured_range(self, values: Sequence[float]) -> Range:
        """Return the range of a target that was given none: that of the values measured so far."""
        if not values:
            return 0.0, 1.0
        low, high = min(values), max(values)
        if self.aim is not None:
            far = max(abs(low - self.aim), abs(high - self.aim)) or 1.0
            return self.aim - far, self.aim + far
        return (low, high) if low < high else (low - 0.5, low + 0.5)

    def desirability(self, y: float, measured: Range | None = None) -> float:
        """Return the desirability d of a value, in the range given or known from the results."""
        low, high = self.range or measured or (0.0, 1.0)
        if self.aim is not None:
            side = low if y < self.aim else high
            share = 1 - (y - self.aim) / (side - self.aim)
        else:
            share = (y - low) / (high - low)
            share = share if self.direction == MAXIMIZE else 1 - share
        return min(max(share, 0.0), 1.0)

    def breaks_limit(self, y: float) -> bool:
        """Tell whether a value is beyond the hard limit, or outside a target's own limits."""
        if self.is_limit:
            return not self.ends[0] <= float(y) <= self.ends[1]
        if self.limit is None:
            return False
        if self.aim is not None:
            return abs(y - self.aim) > self.limit
        return y < self.limit if self.direction == MAXIMIZE else y > self.limit

    @property
    def ends(self) -> Range:
        """Both limits of a target within; one that is open is infinite."""
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )

    @property
    def sentence(self) -> str:
        """What is wanted of it, in words."""
        if self.is_limit:
            low = [] if self.low is None else [f"at least {canonical(self.low)}"]
            high = [] if self.high is None else [f"at most {canonical(self.high)}"]
            return " and ".join(low + high)
        wanted = self.direction if self.aim is None else f"aim at {self.aim:g}"
        parts = [wanted]
        parts += [f"range {self.low:g} to {self.high:g}"] if self.low is not None else []
        parts += [f"weight {self.weight:g}"] if self.weight != 1 else []
        parts += [f"limit {self.limit:g}"] if self.limit is not None else []
        return ", ".join(parts)


def is_combined(targets: Sequence[Target]) -> bool:
    """Tell whether the policy sees a desirability, and not the values of a single target.

    It does with several that have a direction, and with one of which more than that is given.
    """
    directed = objectives_of(targets)
    return len(directed) > 1 or not {*directed[0].body} <= {"name", "direction"}


def objectives_of(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets that have a direction: what the policy looks for the best of."""
    return tuple(one for one in targets if not one.is_limit)


def describe_limits(targets: Sequence[Target]) -> str:
    """Say what has to be met; "" if no target has limits alone.

    >>> describe_limits([Target("yield"), Target("haze", "within", high=0.25)])
    'haze at most 0.25'
    """
    return ", ".join(f"{one.name} {one.sentence}" for one in targets if one.is_limit)


def describe_aim(targets: Sequence[Target]) -> str:
    """Say of which targets the number is that the policy sees, and what has to be met.

    It follows the name of that number.

    >>> describe_aim([Target("yield"), Target("haze", "within", high=0.25)])
    ', haze at most 0.25'
    """
    names = ", ".join(one.name for one in objectives_of(targets))
    limits = describe_limits(targets)
    return (f" of {names}" if is_combined(targets) else "") + (f", {limits}" if limits else "")


def check_target_name(name: Any) -> None:
    """Check that a target can be called so: in one line, without blanks around it.

    A colon is no part of a name: what follows it is the direction. A study of "cost:lower" would
    look for the largest cost.
    """
    named = isinstance(name, str) and name.strip() != ""
    checks.needs(named, "a target", "a name", name)
    plain = name.isprintable() and name == name.strip()
    checks.needs(plain, "a target", "a name of one line without blanks around it", name)
    checks.short_name("a target", name)
    checks.needs(":" not in name, "a target", "a name without a colon", name)


def parse_target(text: str) -> Target:
    """Read a target as a command has it: NAME, NAME:minimize, NAME:aim=7,range=5..9,weight=2.

    A target that only has limits is NAME:<=0.25 or NAME:>=6,<=8.

    >>> parse_target("efficiency:maximize,range=0..20,limit=5").limit
    5.0
    >>> parse_target("pH:>=6,<=8").sentence
    'at least 6 and at most 8'
    """
    name, words = split_target(text)
    limits = [COMPARISON.match(word) is not None for word in words]
    if any(limits):
        once = all(limits) and len({word[0] for word in words}) == len(words)
        needed = "a direction, or limits alone: one <=, one >= or both"
        checks.needs(once, f"target {name!r}", needed, ",".join(words))
    given: dict[str, Any] = {}
    for word in words:
        given |= parse_part(text, word)
    return Target(name, **given)


def split_target(text: str) -> tuple[str, list[str]]:
    """Split the text of a target into its name and what is said of it after the colon.

    >>> split_target("pH:aim=7,weight=2"), split_target("cost")
    (('pH', ['aim=7', 'weight=2']), ('cost', []))

    What follows a colon must be a direction, one of `PARTS` or a limit.
    """
    for typed, meant in SIGNS_TYPED.items():
        text = text.replace(typed, meant)
    name, colon, rest = text.rpartition(":")
    if not colon and (compared := COMPARED_NAME.fullmatch(text.strip())):
        begun, more = compared.groups()
        raise ValueError(
            f"a target needs a colon after its name, got {checks.quote_given(text)}; write "
            f"{begun}:{more}"
        )
    if mistaken := EQUALS_FOR_COLON.search(name if colon else text):
        begun, more = text[: mistaken.start()].strip(), text[mistaken.end() :].strip()
        raise ValueError(
            f"a target needs a colon after its name, got {checks.quote_given(text)}; write "
            f"{begun}:{more}"
        )
    if not colon:
        return text.strip(), []
    words = [word.strip() for word in PARTING_COMMA.split(rest)]
    first = words[0].partition("=")[0].strip()
    if first.lower() in checks.DIRECTIONS or first in PARTS or first[:1] in ("<", ">"):
        return name.strip(), words
    hint = did_you_mean(first, (MAXIMIZE, MINIMIZE))
    raise ValueError(
        f"a target needs maximize or minimize after the colon, got {checks.quote_given(first)} in "
        f"{checks.quote_given(text)}{hint and '.'}{hint}"
    )


EQUALS_FOR_COLON = re.compile(r"=(?=\s*(?:(?:aim|range)\s*=|(?:maximize|minimize)\b))")
"""In a name: the sign that was typed for the colon before what is wanted of a target."""
PARTING_COMMA = re.compile(r",(?![0-9])")
"""The comma between two parts, which begin with letters; one before a digit is a decimal comma."""
PARTS = ("aim", "range", "weight", "limit")
COMPARISON = re.compile(r"([<>])=")
"""The beginning of a limit of a target within."""
COMPARED_NAME = re.compile(r"([^<>]*[^<>\s])\s*([<>]=.*)")
"""A name with a limit right after it, without a colon."""
SIGNS_TYPED = {"≤": "<=", "≥": ">="}


def parse_part(text: str, word: str) -> dict[str, Any]:
    """Parse one part of the text of a target: a direction, or aim, range, weight or limit."""
    if word.lower() in checks.DIRECTIONS:
        return {"direction": checks.DIRECTIONS[word.lower()]}
    if word[:1] in ("<", ">"):
        limit = parse_typed(word[2:].strip())
        needed = "a limit as <=NUMBER or >=NUMBER"
        checks.needs(word[1:2] == "=" and not math.isnan(limit), "a target", needed, text)
        return {"direction": WITHIN, ("high" if word[0] == "<" else "low"): limit}
    part, _, value = (piece.strip() for piece in word.partition("="))
    low, _, high = value.partition("..")
    if part == "range" and not math.isnan(parse_typed(low) + parse_typed(high)):
        return {"low": parse_typed(low), "high": parse_typed(high)}
    if part in ("aim", "weight", "limit") and not math.isnan(parse_typed(value)):
        return {part: parse_typed(value)} | ({"direction": AIM} if part == "aim" else {})
    raise ValueError(
        f"a target needs maximize, minimize, aim=NUMBER, range=LOW..HIGH, weight=NUMBER, "
        f"limit=NUMBER, <=NUMBER or >=NUMBER, got {word!r} in {text!r}"
    )


def read_measured(
    owner: str, target: Any, direction: Any, targets: Any = None
) -> tuple[Target, ...]:
    """Return the targets that are given as a target and its direction, or as several.

    The direction may stand in the text of the target, as on the command line.

    >>> read_measured("Study", "cost:minimize", None)[0].direction
    'minimize'
    """
    if targets is not None:
        checks.needs(target is None, owner, "target or targets, not both", target)
        needed = "the direction of several targets with each of them, as in stability:minimize"
        checks.needs(direction is None, owner, needed, direction)
        return read_targets(targets)
    given = None if direction is None else checks.direction(owner, direction)
    if not isinstance(target, str) or not split_target(target)[1]:
        return (Target(UNNAMED if target is None else target, given or MAXIMIZE),)
    wanted = parse_target(target)
    agreed = given is None or given == wanted.direction
    checks.needs(agreed, owner, f"one direction, and {target!r} has its own", given)
    return (wanted,)


UNNAMED = "value"
"""The name of a single target unless it is given."""


def read_targets(given: Any) -> tuple[Target, ...]:
    """Read the targets of a study, one of which must have a direction (`list_targets`)."""
    items = list_targets(given)
    wrong = "; ".join(f"{one.name}, {one.sentence}" for one in items)
    needed = "a target with a direction, such as yield:maximize, beside limits"
    checks.needs(bool(objectives_of(items)), "Study", needed, wrong)
    names = [one.name for one in items]
    free = COMBINED not in names or not is_combined(items)
    checks.needs(free, "Study", f"targets not called {COMBINED}", names)
    return items


def list_targets(given: Any) -> tuple[Target, ...]:
    """Read targets from a mapping of names to texts or `Target`s, or from a list of these."""
    if isinstance(given, Mapping):
        items = [
            one if isinstance(one, Target) else parse_target(f"{name}:{one}")
            for name, one in given.items()
        ]
        right = [one.name for one in items] == list(given)
        checks.needs(right, "Study", "targets by their names", given)
    else:
        listed = isinstance(given, Iterable) and not isinstance(given, str)
        checks.needs(listed, "Study", "targets as a mapping or a list", given)
        items = [one if isinstance(one, Target) else parse_target(str(one)) for one in given]
    names = [one.name for one in items]
    checks.needs(bool(names), "Study", "at least one target", given)
    # A column of results is found in any case of its letters, and would be read for both.
    alike = Counter(map(loose, names))
    for name in names:
        checks.needs(alike[loose(name)] == 1, "Study", "each target once", name)
    return tuple(items)


def check_names(owner: str, targets: Sequence[Target], names: Iterable[str]) -> None:
    """Refuse names that are no targets."""
    known = [one.name for one in targets]
    for name in names:
        if name not in known:
            raise ValueError(
                f"{owner} needs targets among {', '.join(known)}, got {name!r}."
                f"{did_you_mean(name, known)}".rstrip(".")
            )


def find_ranges(
    targets: Sequence[Target], results: Iterable[Mapping[str, float]]
) -> dict[str, Range]:
    """Return target -> its range: the one given, or that of all values measured so far."""
    every = list(results)
    return {
        one.name: one.range
        or one.measured_range([values[one.name] for values in every if one.name in values])
        for one in targets
    }


def combine(
    targets: Sequence[Target], values: Mapping[str, float], ranges: Mapping[str, Range]
) -> float:
    """Return the desirability D of the values of all targets."""
    total = 0.0
    for one in targets:
        if one.breaks_limit(values[one.name]):
            return 0.0
        share = one.desirability(values[one.name], ranges[one.name])
        total += one.weight * math.log(max(share, LEAST))
    return math.exp(total / sum(one.weight for one in targets))


def combine_errors(
    targets: Sequence[Target],
    values: Mapping[str, float],
    sems: Mapping[str, float],
    ranges: Mapping[str, Range],
) -> float | None:
    """Return the standard error of D; None if a target has none, and where D does not vary.

    Each value is moved by its error up and down, and the squares of the changes of D add up.
    """
    if any(one.name not in sems for one in targets):
        return None
    square = 0.0
    for one in targets:
        ends = [
            combine(targets, {**values, one.name: values[one.name] + step}, ranges)
            for step in (-sems[one.name], sems[one.name])
        ]
        square += ((ends[1] - ends[0]) / 2) ** 2
    return math.sqrt(square) if square > 0 else None
