"""What is fixed when a study is created, or changed by an event of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

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
from kernelbandits.domains import Arms
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import RBF, Kernel
from kernelbandits.policies import Auto, Policy

DIRECTIONS = ("maximize", "minimize")
AUTO = "auto"
WEEK = 7 * 86400.0
LONGEST_LEASE = 100 * 365 * 86400.0
USUAL_KERNEL = RBF(0.2)
"""On columns scaled to [0, 1]. Stored asks were chosen with it: never change it."""
FIXED = ("target", "direction")
"""What the results mean is settled once and for all."""
REVISIONS = ("revision", "defaults")
"""Settings that a study writes itself; nobody gives them."""

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
    "revision": 1,
    "defaults": 1,
}
"""The settings of release 0.1, for those that a stored study does not have; never change them."""

AUTO_DEFAULTS: Mapping[int, Mapping[str, Any]] = {
    1: {
        "exploration": PointMass(1.0),
        "width": widths.polynomial_decay(5.0, 1 / 3),
        "delta": 0.1,
        "prior": Prior(
            length=-1.75,
            growth=1.0,
            length_sd=1.0,
            signal=0.0,
            signal_sd=1.5,
            noise=-3.0,
            noise_sd=1.0,
        ),
        "shared": False,
        "nu": 2.5,
        "refits": Refits(growth=1.25, first=1),
        "first": 5,
        "opening": "middle",
        "safety": 2.0,
        "ties": "random",
    }
}
"""Revision of auto -> its settings where none were given.

A study keeps the defaults it was created with. Whoever changes a default of `Auto` raises its
revision and leaves the entries that are here as they are.
"""


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

    By default auto repeats a row only when no allowed row is left without a result, and all other
    policies repeat rows whenever their rule wants to.
    """
    centre: float | None = None
    """Given beforehand; without them centre and spread are those of the first results."""
    spread: float | None = None
    tolerance: float | None = None
    """What the likely best may lose for the study to be over, in the target's units."""
    delta: float = 0.1
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
        else:
            policy_entry(self.policy)
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
        return self.repeats is None and self.policy == AUTO

    @property
    def repeats_sentence(self) -> str:
        """When a row is measured again, in words."""
        if self.repeats is False:
            return "never: a row that has a result is not suggested again"
        if self.repeats_last:
            return "only when every allowed row has a result or is pending"
        return "whenever the policy chooses a row again"

    @property
    def sign(self) -> float:
        """Policies maximise."""
        return 1.0 if self.direction == "maximize" else -1.0

    def build_policy(self, arms: Arms) -> Policy:
        """The policy, knowing nothing yet."""
        if self.policy == AUTO:
            return build_auto(arms, {**AUTO_DEFAULTS.get(self.defaults, {}), **self.settings})
        return policy(self.policy, arms, self.kernel or USUAL_KERNEL, **self.settings)

    @property
    def body(self) -> dict[str, Any]:
        """As JSON has it; refused if it could not be rebuilt."""
        return {one.name: to_stored(one.name, getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Settings:
        """From what is stored: missing settings are those of 0.1, unknown ones are left out."""
        known = {one.name for one in fields(cls)}
        given = {name: from_stored(value) for name, value in body.items() if name in known}
        return cls(**{**FIRST_RELEASE, **given})

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """The same with some settings changed; of the policy's own, those stay that it takes."""
        known = [one.name for one in fields(self) if one.name not in (*FIXED, *REVISIONS)]
        for name in changes:
            checks.needs(name in known, "change", f"settings among {', '.join(known)}", name)
        given = read_texts(changes)
        policy = given.get("policy", self.policy)
        if policy != self.policy:
            given = {"kernel": None if policy == AUTO else self.kernel} | given
            given |= dict.fromkeys(REVISIONS, revision_of(policy))
        given["settings"] = settings_taken(policy, self.settings) | dict(
            given.get("settings") or {}
        )
        return replace(self, **given)


def make_settings(**settings: Any) -> Settings:
    """Settings, with a sentence for names that there are not."""
    known = [one.name for one in fields(Settings) if one.name not in REVISIONS]
    for name in settings:
        checks.needs(name in known, "Study", f"settings among {', '.join(known)}", name)
    given = read_texts({name: value for name, value in settings.items() if value is not None})
    given |= dict.fromkeys(REVISIONS, revision_of(given.get("policy", AUTO)))
    if isinstance(given.get("direction"), str):
        given["direction"] = checks.DIRECTIONS.get(given["direction"], given["direction"])
    return Settings(**given)


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
