"""What is fixed when a study is created, or changed by an event of its own.

Each setting is one field of `Settings`, declared with all that users see of it: options of
commands, messages, forms and the table of the docs are read off `SETTINGS`. A new setting is a
field here, its type in `StudySettings`, and its use. Settings hold what is stored, as JSON has it:
reading them needs no policy. `rules` makes them from what a user gives, and builds the policy.

A study that was written before a release had a setting behaves as if its default had been given. So
the default of a setting that was released never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypedDict, TypeVar

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.storage import OtherVersion
from kernelbandits.study.arguments import (
    API,
    COMMAND,
    PAGE,
    SECONDS,
    TARGET_UNITS,
    Argument,
    Limits,
    Number,
    Positive,
)
from kernelbandits.study.limits import UNLIMITED, parse_limits, read_limits
from kernelbandits.study.targets import (
    MAXIMIZE,
    UNNAMED,
    Range,
    Target,
    is_combined,
    objectives_of,
    read_targets,
)
from kernelbandits.tables.export import COMBINED

if TYPE_CHECKING:
    from kernelbandits.kernels import Kernel
    from kernelbandits.study.sources import Source

Function = TypeVar("Function", bound=Callable[..., Any])
AUTO = "auto"
FIND, EARN, FRONT = "find", "earn", "front"
WEEK = 7 * 86400.0
LONGEST_LEASE = 100 * 365 * 86400.0
FIRST_RELEASE = "0.1.0"
LEARN_FROM: Final = "learn_from"
"""The setting that is read from other studies when it is given."""
REVISION = "revision"
"""The setting that a study writes itself; nobody gives it."""
EVERYWHERE = (COMMAND, API, PAGE)


@dataclass(frozen=True)
class Setting(Argument):
    """An argument that is stored as a setting of a study.

    Parameters
    ----------
    takers
        Who takes it, beside Python: COMMAND, API, PAGE.
    example
        A value as the docs show it.
    refused
        Why a named policy does not take it; "" if it does.
    check
        What refuses a wrong value: a function of owner, name and value.
    since
        The first release that has it. A study of an earlier one counts with the default.
    """

    takers: tuple[str, ...] = (COMMAND,)
    example: Any = None
    refused: str = ""
    check: Callable[[str, str, Any], Any] | None = None
    since: str = FIRST_RELEASE

    @property
    def description(self) -> str:
        """What it means, with its unit, and whether only auto takes it."""
        return super().description + (" Only for the policy auto." if self.refused else "")


def declare(default: Any, type: Any, help: str, **more: Any) -> Any:
    """Return a field of `Settings` with what users see of it; `more` are fields of `Setting`."""
    said = Setting("", type, help, default, **more)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata={"setting": said})
    return field(default=default, metadata={"setting": said})


def check_lease(owner: str, name: str, lease: Any) -> float:
    """Return a lease in seconds, of at most a hundred years."""
    seconds = checks.positive(owner, name, lease)
    needed = "a lease of at most a hundred years, in seconds"
    checks.needs(seconds <= LONGEST_LEASE, owner, needed, lease)
    return seconds


def check_noise(owner: str, name: str, value: Any) -> float:
    """Return a noise that rewards may have."""
    noise = checks.nonnegative(owner, name, value)
    needed = f"a noise of at most {LARGEST_REWARD:g}"
    checks.needs(noise <= LARGEST_REWARD, owner, needed, noise)
    return noise


def check_seed(owner: str, name: str, value: Any) -> int:
    """Return a seed, which is not negative."""
    return checks.whole(owner, name, value, least=0)


def check_repeats(owner: str, name: str, value: Any) -> None:
    """Refuse what is neither true nor false."""
    checks.needs(isinstance(value, bool), owner, f"{name} true, false or None", value)


def check_mapping(owner: str, name: str, value: Any) -> None:
    """Refuse settings of a policy that have no names."""
    checks.needs(isinstance(value, Mapping), owner, f"{name} as a mapping of names", value)


def check_sources(owner: str, name: str, value: Any) -> None:
    """Refuse what is no list of copied results."""
    copied = isinstance(value, (list, tuple)) and all(isinstance(one, Mapping) for one in value)
    checks.needs(copied, owner, f"{name} as results that were copied from studies", value)


class StudySettings(TypedDict, total=False):
    """The keyword arguments that `Study.create` and `Study.change` both take, and their types."""

    policy: str
    kernel: Kernel | str | None
    settings: Mapping[str, Any]
    seed: int
    lease: float
    repeats: bool | None
    centre: float | None
    spread: float | None
    tolerance: float | None
    limits: str | Sequence[float | None] | Mapping[str, Any] | None
    delta: float
    goal: Literal["find", "earn", "front"] | None
    noise: float | None
    rounds: int | None
    targets: Any
    learn_from: Any


@dataclass(frozen=True)
class Settings:
    """The policy and what surrounds it."""

    policy: str = declare(
        AUTO,
        str,
        "auto (default), or a policy with its settings, e.g. simple-bernoulli:p=0.25.",
        example="amm-ucb",
    )
    kernel: Any = declare(  # noqa: RUF009
        None,
        str,
        "Kernel on columns scaled to [0, 1], e.g. rbf:0.2; auto fits its own.",
        example="rbf:0.2",
    )
    settings: Mapping[str, Any] = declare(
        {},
        dict,
        "Settings of the policy itself, by their names.",
        example={"ridge": 0.5},
        check=check_mapping,
        takers=(),
    )
    """Kernel and settings are stored by kind and arguments, as the catalogue writes them."""
    goal: str | None = declare(
        FIND,
        str,
        "find: the best row in the end (default). earn: good results while measuring. front: of "
        "two to four targets, the rows that no other row exceeds in all of them.",
        choices={
            FIND: "find the best one",
            EARN: "earn good results on the way",
            FRONT: "find the front of several targets",
        },
        label="Goal",
        example=EARN,
        refused="its own rule plays, repeats included; only auto has goals",
        takers=EVERYWHERE,
    )
    noise: float | None = declare(
        None,
        Number,
        "Standard deviation of one result, if it is known; 0 if there is none. Results that "
        "contradict it overrule it.",
        unit=TARGET_UNITS,
        label="Noise: ± of one result, if known",
        example=0.02,
        refused="only auto takes the noise in units of the target; a named policy may have a "
        "noise_scale, in units of the spread",
        check=check_noise,
        takers=EVERYWHERE,
    )
    rounds: int | None = declare(
        None,
        Annotated[int, Limits(1, 10**9)],
        "Number of measurements planned, if it is known.",
        label="Planned measurements, if known",
        example=40,
        refused="only auto takes a budget; a named policy may have a horizon",
        check=checks.whole,
        takers=EVERYWHERE,
    )
    delta: float = declare(
        0.1,
        float,
        "Allowed probability that a confidence statement is wrong. Default: 0.1.",
        example=0.05,
        check=checks.inside,
    )
    seed: int = declare(
        0,
        Annotated[int, Limits(0, 2**62)],
        "Seed of all random choices. Default: 0.",
        takers=(COMMAND, API),
        example=7,
        check=check_seed,
    )
    lease: float = declare(
        WEEK,
        Positive,
        "How long a row stays reserved after ask. Default: 7 days.",
        unit=SECONDS,
        takers=(COMMAND, API),
        example=7200.0,
        check=check_lease,
    )
    repeats: bool | None = declare(
        None,
        bool,
        "Whether rows that have a result may be suggested again. Default: auto repeats a row when "
        "that is expected to gain more than another row (with the goal earn only when every row "
        "has a result), other policies whenever their rule chooses it.",
        option="--repeats/--no-repeats",
        example=False,
        check=check_repeats,
    )
    centre: float | None = declare(
        None,
        float,
        "Typical value of the target; give the spread too. Default: that of the first results.",
        example=0.5,
        check=checks.number,
    )
    spread: float | None = declare(
        None,
        float,
        "Typical variation of the target; give the centre too.",
        example=0.2,
        check=checks.positive,
    )
    tolerance: float | None = declare(
        None,
        Number,
        "How much you are willing to lose: `status` then says when to stop.",
        unit=TARGET_UNITS,
        label="Tolerance: how much you are willing to lose",
        example=0.05,
        check=checks.nonnegative,
        takers=EVERYWHERE,
    )
    limits: str | None = declare(
        None,
        str,
        "Numbers that no true value of the target can exceed, such as 0..100 of a yield in percent "
        "or 0.. of a mass; of several targets, yield=0..100, cost=0.. and so on. Estimates and "
        "losses stay inside them, and a result beyond them is refused. `none` takes them away.",
        metavar="LOW..HIGH",
        label="Limits of the result, such as 0..100",
        example="0..100",
        takers=EVERYWHERE,
    )
    """As `read_limits` writes them."""
    targets: Sequence[Mapping[str, Any]] = declare(
        ({"name": UNNAMED},),
        list,
        "What is measured, in place of one target: several, each with its direction, range, weight "
        "and limit. Their desirability is what the policy maximises. A target such as "
        '"<=0.25" or ">=6,<=8" only has limits, which the answer must meet.',
        example={"stability": "minimize", "efficiency": "maximize,range=0..20"},
        takers=(),
    )
    """Mostly one; each as `Target.body` has it."""
    learn_from: Sequence[Mapping[str, Any]] | None = declare(
        None,
        list[str],
        "Other studies to learn from, such as old.db: what their results predict becomes a column "
        "of the model, and counts as much as the results of this study show. Their results are "
        "copied.",
        metavar="STUDY",
        label="Earlier studies to learn from, with commas between their names",
        example=["old.db"],
        refused="its own rule plays; only auto learns from other studies",
        check=check_sources,
        takers=EVERYWHERE,
    )
    """As `sources.Source.body` has each of them."""
    revision: int = 1
    """The revision of the policy that chooses from now on. An ask records its own."""

    def __post_init__(self) -> None:
        read_targets(self.wanted)
        for one in SETTINGS:
            value = getattr(self, one.name)
            if one.check is not None and not (value is None and one.default is None):
                one.check("Study", one.name, value)
        read_limits(self.limits, self.wanted)
        together = (self.centre is None) == (self.spread is None)
        checks.needs(together, "Study", "centre and spread together", (self.centre, self.spread))
        checks.whole("Study", "revision", self.revision)

    def claims_as(self, other: Settings) -> bool:
        """Tell whether the theory says the same of both."""
        return self == replace(
            other,
            lease=self.lease,
            repeats=self.repeats,
            tolerance=self.tolerance,
            limits=self.limits,
            revision=self.revision,
        )

    @property
    def repeats_last(self) -> bool:
        """Whether rows are repeated, but only when no row without a result is left."""
        return self.repeats is None and self.policy == AUTO and self.goal == EARN

    @property
    def repeats_sentence(self) -> str:
        """When a row is measured again, in words."""
        if self.repeats is False:
            return "never: a row that has a result is not suggested again"
        if self.repeats_last:
            return "only when every allowed row has a result or is pending"
        if self.goal == FRONT:
            return (
                "when one more measurement of a row is expected to raise the front more than the "
                "first of any other row"
            )
        if self.goal == FIND:
            return (
                "when one more measurement of a row is expected to gain more than the first of any "
                "other row"
            )
        return "whenever the policy chooses a row again"

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The other studies whose results were copied, to learn from."""
        from kernelbandits.study.sources import Source

        return tuple(Source.of(body) for body in self.learn_from or ())

    @cached_property
    def wanted(self) -> tuple[Target, ...]:
        """The targets."""
        return tuple(Target(**body) for body in self.targets)

    @cached_property
    def objectives(self) -> tuple[Target, ...]:
        """The targets that have a direction: the policy sees their value or their desirability."""
        return objectives_of(self.wanted)

    @cached_property
    def outcomes(self) -> tuple[Target, ...]:
        """The targets that only have limits."""
        return tuple(one for one in self.wanted if one.is_limit)

    @cached_property
    def learnt_alone(self) -> tuple[Target, ...]:
        """The targets that a policy of their own learns: limits, and with the goal front all."""
        return self.wanted if self.goal == FRONT else self.outcomes

    def meets_limits(self, values: Mapping[str, float]) -> bool | None:
        """Tell whether measured values meet the limits on outcomes; None if one is not known.

        One that is broken is enough for a no.
        """
        known = [one for one in self.outcomes if one.name in values]
        if any(one.breaks_limit(values[one.name]) for one in known):
            return False
        return True if len(known) == len(self.outcomes) else None

    @property
    def shows_targets(self) -> bool:
        """Whether answers describe each target, beside the number that the policy sees."""
        return self.combined or self.several

    @cached_property
    def combined(self) -> bool:
        """Whether the policy sees the desirability of the targets, and not the values of one."""
        return is_combined(self.wanted)

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """Target -> its limits, of those that have some."""
        names = [one.name for one in self.wanted]
        return {} if self.limits is None else parse_limits(self.limits, names)

    @property
    def limits_seen(self) -> Range:
        """The limits of what the policy sees; those of a desirability are 0 and 1."""
        return (0.0, 1.0) if self.combined else self.ranges.get(self.target, UNLIMITED)

    @property
    def several(self) -> bool:
        """Whether several targets are measured, so that users name each value."""
        return len(self.wanted) > 1

    @property
    def target(self) -> str:
        """The name of what the policy sees."""
        return COMBINED if self.combined else self.objectives[0].name

    @property
    def direction(self) -> str:
        return MAXIMIZE if self.combined else self.objectives[0].direction

    def single_value(self, values: Mapping[str, float]) -> float | None:
        """Return the value of a single target; None without one, and for several."""
        return None if self.several else values.get(self.wanted[0].name)

    def result(self, values: Mapping[str, float]) -> float | dict[str, float] | None:
        """Return a result as users know it: the value of one target, or those of several by name.

        None if there is no value, because the measurement failed.
        """
        return (dict(values) or None) if self.several else self.single_value(values)

    @property
    def sign(self) -> float:
        """Policies maximise."""
        return 1.0 if self.direction == MAXIMIZE else -1.0

    @property
    def body(self) -> dict[str, Any]:
        """All settings by name, as JSON has them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Settings:
        """Return the settings that `body` wrote, in this release or in an earlier one.

        A missing setting of a later release takes its default. One that every release writes is
        missing by damage.

        Raises
        ------
        ValueError
            If a setting is missing that every release writes.
        OtherVersion
            If a setting is unknown: a newer release has written it.
        """
        names, given = {one.name for one in fields(cls)}, {*body}
        if given - names:
            raise OtherVersion(
                f"the study was written by a newer release: it has the setting "
                f"{' and '.join(sorted(given - names))}, which this release does not know; open it "
                "with a newer release of kernelbandits"
            )
        later = {one.name for one in fields(cls) if release_of(one) != FIRST_RELEASE}
        if names - given - later:
            raise ValueError(f"its settings lack {', '.join(sorted(names - given - later))}")
        return cls(**body)


def release_of(one: Field[Any]) -> str:
    """Return the first release that has a field of the settings."""
    return one.metadata["setting"].since if "setting" in one.metadata else FIRST_RELEASE


SETTINGS: tuple[Setting, ...] = tuple(
    replace(one.metadata["setting"], name=one.name)
    for one in fields(Settings)
    if "setting" in one.metadata
)
"""All settings that users give, in the order in which they are shown."""
OF_AUTO = {one.name: one.refused for one in SETTINGS if one.refused}
"""Settings that only auto takes, and why a named policy does not."""
POLICY_SETTINGS = (
    Argument("noise_scale", float, "R, the noise that the policy assumes, in units of the spread."),
    Argument(
        "norm_bound", float, "D, the bound on the target's RKHS norm, in units of the spread."
    ),
    Argument("horizon", int, "Number of measurements planned, for policies that need it."),
    Argument("ridge", float, "Regularisation of the posterior (lambda), if the policy has it."),
)
"""Settings of policies that have options of their own; in Python they stand in `settings`."""


def settings_of(taker: str) -> tuple[Setting, ...]:
    """Return the settings that a taker has: COMMAND, API or PAGE."""
    return tuple(one for one in SETTINGS if taker in one.takers)


def describe_settings(function: Function) -> Function:
    """Write what each setting means into the docstring of a function, where it has {settings}."""
    lines = []
    for one in SETTINGS:
        lines += [one.name, *(f"    {line}" for line in wrap(one.description, 84))]
    listed = f"\n{12 * ' '}".join(lines)
    function.__doc__ = (function.__doc__ or "").replace("{settings}", listed)
    return function
