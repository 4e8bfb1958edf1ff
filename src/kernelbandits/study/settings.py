"""What is fixed when a study is created, or changed by an event of its own.

Settings hold what is stored, as JSON has it: reading them needs no policy. `rules` makes them from
what a user gives, and builds the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.study.targets import MAXIMIZE, UNNAMED, Target, is_combined, read_targets
from kernelbandits.tables.export import COMBINED

if TYPE_CHECKING:
    from kernelbandits.kernels import Kernel

AUTO = "auto"
FIND, EARN = "find", "earn"
GOALS = (FIND, EARN)
OF_AUTO = ("goal", "noise", "rounds")
"""Settings of a study that only auto takes."""
WEEK = 7 * 86400.0
LONGEST_LEASE = 100 * 365 * 86400.0
REVISION = "revision"
"""The setting that a study writes itself; nobody gives it."""


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
    delta: float
    goal: Literal["find", "earn"] | None
    noise: float | None
    rounds: int | None
    targets: Any


@dataclass(frozen=True)
class Settings:
    """The policy and what surrounds it."""

    policy: str = AUTO
    kernel: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The policy's own; kernel and settings by kind and arguments, as the catalogue writes them."""
    seed: int = 0
    lease: float = WEEK
    """Seconds for which an asker may keep a row."""
    repeats: bool | None = None
    """Whether a row that has a result may be suggested again; None is the default of the policy.

    By default auto repeats a row, with the goal "find", when one more measurement of it is expected
    to gain more than that of another row, and with the goal "earn" only when no allowed row is left
    without a result. All other policies repeat rows whenever their rule wants to.
    """
    centre: float | None = None
    """Given beforehand; without them centre and spread are those of the first results."""
    spread: float | None = None
    tolerance: float | None = None
    """What the likely best may lose for the study to be over, in the target's units."""
    delta: float = 0.1
    goal: str | None = FIND
    """Of auto: "find" the best row in the end, or "earn" while measuring; None for other policies.
    """
    noise: float | None = None
    """The sd of one result in the target's units, where it is known; only auto takes it."""
    rounds: int | None = None
    """How many results there will be, where that is known; only auto takes it."""
    targets: Sequence[Mapping[str, Any]] = ({"name": UNNAMED},)
    """What is measured, mostly one target; each as `Target.body` has it."""
    revision: int = 1
    """The revision of the policy that chooses from now on. An ask records its own."""

    def __post_init__(self) -> None:
        read_targets(self.wanted)
        checks.whole("Study", "seed", self.seed, least=0)
        check_lease(self.lease)
        said = self.repeats is None or isinstance(self.repeats, bool)
        checks.needs(said, "Study", "repeats true, false or None", self.repeats)
        together = (self.centre is None) == (self.spread is None)
        checks.needs(together, "Study", "centre and spread together", (self.centre, self.spread))
        if self.centre is not None:
            checks.number("Study", "centre", self.centre)
            checks.positive("Study", "spread", self.spread)
        if self.tolerance is not None:
            checks.nonnegative("Study", "tolerance", self.tolerance)
        checks.inside("Study", "delta", self.delta)
        if self.noise is not None:
            noise = checks.nonnegative("Study", "noise", self.noise)
            known = f"a noise of at most {LARGEST_REWARD:g}"
            checks.needs(noise <= LARGEST_REWARD, "Study", known, noise)
        if self.rounds is not None:
            checks.whole("Study", "rounds", self.rounds)
        checks.whole("Study", "revision", self.revision)
        mapping = isinstance(self.settings, Mapping)
        checks.needs(mapping, "Study", "settings as a mapping of names", self.settings)

    def claims_as(self, other: Settings) -> bool:
        """Tell whether the theory says the same of both."""
        return self == replace(
            other,
            lease=self.lease,
            repeats=self.repeats,
            tolerance=self.tolerance,
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
        if self.goal == FIND:
            return (
                "when one more measurement of a row is expected to gain more than the first of any "
                "other row"
            )
        return "whenever the policy chooses a row again"

    @cached_property
    def wanted(self) -> tuple[Target, ...]:
        """The targets."""
        return tuple(Target(**body) for body in self.targets)

    @cached_property
    def combined(self) -> bool:
        """Whether the policy sees the desirability of the targets, and not the values of one."""
        return is_combined(self.wanted)

    @property
    def target(self) -> str:
        """The name of what the policy sees."""
        return COMBINED if self.combined else self.wanted[0].name

    @property
    def direction(self) -> str:
        return MAXIMIZE if self.combined else self.wanted[0].direction

    def single_value(self, values: Mapping[str, float]) -> float | None:
        """Return the value of a single target; None without one, and for several."""
        return None if self.combined else values.get(self.target)

    def result(self, values: Mapping[str, float]) -> float | dict[str, float] | None:
        """Return a result as users know it: the value of one target, or those of several by name.

        None if there is no value, because the measurement failed.
        """
        return (dict(values) or None) if self.combined else self.single_value(values)

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
        """Return the settings that `body` wrote; a missing or an unknown one is damage."""
        names, given = {one.name for one in fields(cls)}, {*body}
        if names - given:
            raise ValueError(f"its settings lack {', '.join(sorted(names - given))}")
        if given - names:
            raise ValueError(f"its settings have {', '.join(sorted(given - names))}, unknown here")
        return cls(**body)


def check_lease(lease: Any) -> float:
    seconds = checks.positive("Study", "lease", lease)
    checks.needs(
        seconds <= LONGEST_LEASE, "Study", "a lease of at most a hundred years, in seconds", lease
    )
    return seconds
