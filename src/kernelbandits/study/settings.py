"""What is fixed when a study is created, or changed by an event of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypedDict

from kernelbandits import checks, widths
from kernelbandits.calibration import Prior, Refits
from kernelbandits.catalogue import (
    from_plain,
    kernel_of,
    policy,
    policy_entry,
    settings_of,
    to_plain,
)
from kernelbandits.catalogue.lookup import parameters_of
from kernelbandits.catalogue.spelling import keywords, split
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.domains import Arms
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import RBF, Kernel
from kernelbandits.policies import Auto, Policy

DIRECTIONS = ("maximize", "minimize")
AUTO = "auto"
FIND, EARN = "find", "earn"
GOALS = (FIND, EARN)
EARNING = ("width", "exploration")
"""Settings of auto that only the goal "earn" has."""
THEORY = "theory"
"""The width of auto that has a model of its own."""
OF_AUTO = ("goal", "noise", "rounds")
"""Settings of a study that only auto takes."""
WEEK = 7 * 86400.0
LONGEST_LEASE = 100 * 365 * 86400.0
USUAL_KERNEL = RBF(0.2)
"""On columns scaled to [0, 1]. Stored asks were chosen with it: never change it."""
FIXED = ("target", "direction")
"""What the results mean is settled once and for all."""
REVISIONS = ("revision", "defaults")
"""Settings that a study writes itself; nobody gives them."""

REFUSED = {
    "goal": "its own rule plays, repeats included; only auto has goals",
    "noise": "only auto takes the noise in units of the target; a named policy may have a "
    "noise_scale, in units of the spread",
    "rounds": "only auto takes a budget; a named policy may have a horizon",
}
"""Setting of auto -> why a named policy does not take it."""

FIRST_RELEASE: Mapping[str, Any] = {
    "target": "value",
    "direction": "maximize",
    "policy": AUTO,
    "kernel": None,
    "settings": {},
    "seed": 0,
    "lease": WEEK,
    "repeats": True,
    "centre": None,
    "spread": None,
    "tolerance": None,
    "delta": 0.1,
    "goal": EARN,
    "noise": None,
    "rounds": None,
    "revision": 1,
    "defaults": 1,
}
"""The settings of release 0.1, for those that a stored study does not have; never change them.

The goal is that of auto; a study with a named policy has none.
"""

RULE_1: Mapping[str, Any] = {
    "exploration": PointMass(1.0),
    "width": widths.polynomial_decay(5.0, 1 / 3),
    "delta": 0.1,
    "prior": Prior(
        length=-1.75,
        growth=1.0,
        length_sd=1.0,
        signal=0.0,
        signal_sd=1.5,
        additive=None,
        nugget=None,
        noise=-3.0,
        noise_sd=1.0,
    ),
    "members": 1,
    "transform": False,
    "shared": False,
    "nu": 2.5,
    "refits": Refits(growth=1.25, first=1),
    "first": 5,
    "opening": "middle",
    "safety": 2.0,
    "ties": "random",
}
"""Auto of release 0.1. Later revisions have the same model with these settings."""

RULE_2: Mapping[str, Any] = {
    "delta": 0.1,
    "prior": Prior(
        length=-1.0,
        growth=1.0,
        length_sd=0.8,
        signal=-0.35,
        signal_sd=1.5,
        additive=-0.7,
        additive_sd=1.5,
        nugget=-3.0,
        nugget_sd=1.5,
        noise=-4.0,
        noise_sd=1.5,
    ),
    "members": 8,
    "shared": False,
    "nu": 2.5,
    "refits": Refits(growth=1.2, first=1),
    "opening": "random",
    "safety": 2.0,
    "ties": "random",
}
"""What all rules of the second revision share."""

FIND_2 = {**RULE_2, "exploration": None, "width": None, "first": 2, "transform": True}
EARN_2 = {
    **RULE_2,
    "exploration": None,
    "width": None,
    "first": 3,
    "transform": None,
}
THEORY_2 = {
    **EARN_2,
    "exploration": PointMass(1.0),
    "width": THEORY,
    "transform": False,
    "prior": replace(RULE_2["prior"], additive=None, nugget=None),
    "members": 1,
}

AUTO_DEFAULTS: Mapping[int, Mapping[str, Mapping[str, Any]]] = {
    1: {EARN: RULE_1, THEORY: {**RULE_1, "width": THEORY}},
    2: {FIND: FIND_2, EARN: EARN_2, THEORY: THEORY_2},
}
"""Revision of auto -> goal, or the width "theory" -> its settings where none were given.

A study keeps the defaults it was created with. Whoever changes a default of `Auto` raises its
revision and leaves the entries that are here as they are. The numbers stand here as numbers and not
as the names that `Auto` has for them, since those may change.
"""


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


@dataclass(frozen=True)
class Settings:
    """The policy and what surrounds it."""

    target: str = "value"
    direction: str = "maximize"
    policy: str = AUTO
    kernel: Kernel | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The policy's own."""
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
    revision: int = 1
    """The revision of the policy that chooses from now on. An ask records its own."""
    defaults: int = 1
    """The revision of auto whose defaults stand for settings that were not given."""

    def __post_init__(self) -> None:
        named = isinstance(self.target, str) and self.target.strip() != ""
        checks.needs(named, "Study", "the name of the target", self.target)
        checks.one_of("Study", "direction", self.direction, DIRECTIONS)
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
        for name in REVISIONS:
            checks.whole("Study", name, getattr(self, name))
        self._check_policy()

    def _check_policy(self) -> None:
        checks.needs(
            isinstance(self.settings, Mapping),
            "Study",
            "settings as a mapping of names",
            self.settings,
        )
        if self.policy == AUTO:
            checks.needs(
                self.kernel is None, "Study", "no kernel for auto, which fits its own", self.kernel
            )
            checks.needs(self.goal in GOALS, "Study", 'the goal "find" or "earn"', self.goal)
        else:
            policy_entry(self.policy)
            for name in OF_AUTO:
                given = getattr(self, name)
                needed = f"no {name} with the policy {self.policy}: {REFUSED[name]}"
                checks.needs(given is None, "Study", needed, given)
        kernel = self.kernel is None or isinstance(self.kernel, Kernel)
        checks.needs(
            kernel,
            "Study",
            "a kernel such as kb.RBF(0.2) or 'rbf:0.2', on columns scaled to [0, 1]",
            self.kernel,
        )

    def claims_as(self, other: Settings) -> bool:
        """Whether the theory says the same of both."""
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

    @property
    def sign(self) -> float:
        """Policies maximise."""
        return 1.0 if self.direction == "maximize" else -1.0

    def build_policy(self, arms: Arms, spread: float = 1.0) -> Policy:
        """The policy, knowing nothing yet; it will see results in units of this spread."""
        if self.policy != AUTO:
            return policy(self.policy, arms, self.kernel or USUAL_KERNEL, **self.settings)
        noise = None if self.noise is None else min(self.noise / spread, LARGEST_REWARD)
        task = {"goal": self.goal, "noise": noise, "rounds": self.rounds}
        return build_auto(arms, {**self.auto_defaults, **self.settings, **task})

    @property
    def auto_defaults(self) -> Mapping[str, Any]:
        """The settings of auto that were not given: those of the revision `defaults`."""
        theory = self.settings.get("width") == THEORY
        return AUTO_DEFAULTS.get(self.defaults, {}).get(THEORY if theory else str(self.goal), {})

    @property
    def body(self) -> dict[str, Any]:
        """As JSON has it; refused if it could not be rebuilt."""
        return {one.name: to_stored(one.name, getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Settings:
        """From what is stored: missing settings are those of 0.1, unknown ones are left out."""
        known = {one.name for one in fields(cls)}
        given = {name: from_stored(value) for name, value in body.items() if name in known}
        first = dict(FIRST_RELEASE)
        if given.get("policy", AUTO) != AUTO:
            first["goal"] = None
        return cls(**{**first, **given})

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """The same with some settings changed; of the policy's own, those stay that it takes."""
        known = [one.name for one in fields(self) if one.name not in (*FIXED, *REVISIONS)]
        for name in changes:
            checks.needs(name in known, "change", f"settings among {', '.join(known)}", name)
        policy = read_texts(changes).get("policy", self.policy)
        given = read_settings(changes, policy)
        if policy != self.policy:
            given = {"kernel": None if policy == AUTO else self.kernel} | given
            given = dict.fromkeys(OF_AUTO) | given
            given |= dict.fromkeys(REVISIONS, revision_of(policy))
        given["settings"] = settings_taken(policy, self.settings) | dict(
            given.get("settings") or {}
        )
        if policy == AUTO and given.get("goal", self.goal) is None:
            given["goal"] = default_goal(policy, given["settings"])
        if given.get("goal") and given["goal"] not in AUTO_DEFAULTS.get(self.defaults, GOALS):
            # The revision of the defaults did not have this goal yet.
            given |= dict.fromkeys(REVISIONS, revision_of(policy))
        return replace(self, **given)


def make_settings(**settings: Any) -> Settings:
    """Settings, with a sentence for names that there are not."""
    known = [one.name for one in fields(Settings) if one.name not in REVISIONS]
    for name in settings:
        checks.needs(name in known, "Study", f"settings among {', '.join(known)}", name)
    stated = {name: value for name, value in settings.items() if value is not None}
    policy = read_texts(stated).get("policy", AUTO)
    given = read_settings(stated, policy)
    given = {"goal": default_goal(policy, given.get("settings") or {})} | given
    given |= dict.fromkeys(REVISIONS, revision_of(policy))
    if isinstance(given.get("direction"), str):
        given["direction"] = checks.DIRECTIONS.get(given["direction"], given["direction"])
    return Settings(**given)


def default_goal(policy: str, settings: Mapping[str, Any]) -> str | None:
    """The goal where none was given: of auto "find", unless it has settings of "earn" alone."""
    if policy != AUTO:
        return None
    return EARN if isinstance(settings, Mapping) and set(EARNING) & set(settings) else FIND


def read_settings(given: Mapping[str, Any], policy: Any) -> dict[str, Any]:
    """Read texts, and take the settings of a study out of the own ones of auto.

    "auto:goal=earn" means goal="earn", and a noise among them is in the units of the target too.
    """
    read = read_texts(given)
    own = read.get("settings")
    if policy != AUTO or not isinstance(own, Mapping):
        return read
    found = {name: own[name] for name in OF_AUTO if name in own}
    rest = {name: value for name, value in own.items() if name not in found}
    return {**found, **read, "settings": rest}


def revision_of(policy: str) -> int:
    """The revision that a policy has in this release."""
    return Auto.revision if policy == AUTO else policy_entry(policy).constructor.revision


def read_texts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read what is given as text: policy with settings, kernel and exploration law."""
    read = split_policy(given)
    if "kernel" in read:
        read["kernel"] = kernel_of(read["kernel"])
    if isinstance(read.get("settings"), Mapping):
        read["settings"] = settings_of(read["settings"])
    return read


def split_policy(given: Mapping[str, Any]) -> dict[str, Any]:
    """A policy with its settings in one text, "simple-bernoulli:p=0.25", as name and settings."""
    text = given.get("policy")
    if not isinstance(text, str) or not {":", "("} & set(text):
        return dict(given)
    name, items = split(text)
    return {
        **given,
        "policy": name,
        "settings": keywords(items) | dict(given.get("settings") or {}),
    }


def settings_taken(policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that a policy has."""
    known = parameters_of(Auto) if policy == AUTO else policy_entry(policy).parameters
    return {name: value for name, value in settings.items() if name in known}


def build_auto(arms: Arms, settings: Mapping[str, Any]) -> Auto:
    """Auto, with the settings that it knows; the seed is the study's."""
    known = [name for name in parameters_of(Auto) if name not in ("domain", "seed")]
    for name in settings:
        checks.needs(name in known, AUTO, f"settings among {', '.join(known)}", name)
    return Auto(arms, **settings)


def to_stored(name: str, value: Any) -> Any:
    """As JSON has it, if the same value comes back."""
    plain = to_plain(value)
    try:
        from_stored(plain)
    except ValueError:
        raise ValueError(f"Study needs {name} that can be stored, got {value!r}") from None
    return plain


def from_stored(plain: Any) -> Any:
    if isinstance(plain, Mapping) and "kind" not in plain:
        return {name: from_stored(value) for name, value in plain.items()}
    return from_plain(plain)


def check_lease(lease: Any) -> float:
    seconds = checks.positive("Study", "lease", lease)
    checks.needs(
        seconds <= LONGEST_LEASE, "Study", "a lease of at most a hundred years, in seconds", lease
    )
    return seconds
