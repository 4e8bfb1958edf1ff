"""The policy of a study: its settings as users give them, and the policy that they make.

This module knows all policies, and is imported when one is built or settings are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import EarlierResults
from kernelbandits.catalogue import (
    CODEC,
    kernel_of,
    policy,
    policy_entry,
    settings_of,
)
from kernelbandits.catalogue.lookup import parameters_of
from kernelbandits.catalogue.spelling import keywords, split
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.domains import Arms, MixedBox
from kernelbandits.domains.box import check_sides
from kernelbandits.formatting import format_number
from kernelbandits.kernels import RBF, Kernel, Linear, is_kernel
from kernelbandits.policies import Auto, Policy
from kernelbandits.policies.front import MOST_OBJECTIVES
from kernelbandits.policies.working_set import LARGEST_POOL
from kernelbandits.study.limits import read_limits
from kernelbandits.study.places import tasks_of
from kernelbandits.study.settings import (
    AUTO,
    EARN,
    FIND,
    FRONT,
    LEARN_FROM,
    OF_AUTO,
    REVISION,
    WEEK,
    Settings,
)
from kernelbandits.study.targets import (
    CENTRE,
    SPREAD,
    Target,
    check_names,
    describe_limits,
    is_combined,
    list_targets,
    read_targets,
)
from kernelbandits.tables.scaling import differing_scales

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

AIM = ("target", "direction")
"""What the policy sees, by the names of settings."""
EARNING = ("width", "exploration")
"""Settings of auto that only the goal "earn" has."""
GOALS = (FIND, EARN, FRONT)
USUAL_KERNEL = RBF(0.2)
"""On columns scaled to [0, 1]. Stored asks were chosen with it, so it stays what it is."""


def build_policy(
    settings: Settings,
    domain: Arms | MixedBox,
    spread: float = 1.0,
    earlier: Sequence[EarlierResults] = (),
) -> Policy:
    """Build the policy, knowing nothing yet but the results of earlier studies.

    It will see results in units of this spread.
    """
    own = CODEC.decode(settings.settings)
    if settings.policy != AUTO:
        kernel = CODEC.decode(settings.kernel)
        if isinstance(domain, Arms) and domain.features and kernel not in (None, Linear()):
            needed = "no kernel with a Gram matrix or a graph, which is the kernel"
            raise ValueError(f"Study needs {needed}, got {kernel}")
        return policy(settings.policy, domain, kernel or usual_kernel(domain), **own)
    noise = None if settings.noise is None else min(settings.noise / spread, LARGEST_REWARD)
    # With the goal front it learns the desirability, by which the front is ordered; policies of all
    # targets look for the front itself (`Driver._join`).
    goal = FIND if settings.goal == FRONT else settings.goal
    task = {"goal": goal, "noise": noise, "rounds": settings.rounds}
    return build_auto(domain, {**own, **task}, earlier)


def usual_kernel(domain: Arms | MixedBox) -> Kernel:
    """Return the kernel of a named policy where none was given, in the units of the domain."""
    if isinstance(domain, Arms):
        return Linear() if domain.features else USUAL_KERNEL
    check_sides("Study", domain)
    sides = np.subtract(domain.upper, domain.lower)
    return RBF(tuple(0.2 * sides))


def check_policy(settings: Settings) -> None:
    """Check that policy, kernel and the settings of auto fit together."""
    if settings.policy == AUTO:
        checks.needs(
            settings.kernel is None,
            "Study",
            "no kernel for auto, which fits its own",
            settings.kernel,
        )
        checks.needs(
            settings.goal in GOALS, "Study", 'the goal "find", "earn" or "front"', settings.goal
        )
    else:
        policy_entry(settings.policy)
        for name, refused in OF_AUTO.items():
            given = getattr(settings, name)
            if name == LEARN_FROM and given is not None:
                given = ", ".join(one["name"] for one in given)
            needed = f"no {name} with the policy {settings.policy}: {refused}"
            checks.needs(given is None, "Study", needed, given)
    check_front(settings)
    check_outcomes(settings)
    kernel = settings.kernel is None or is_kernel(settings.kernel)
    checks.needs(
        kernel,
        "Study",
        "a kernel such as kb.RBF(0.2) or 'rbf:0.2', on columns scaled to [0, 1]",
        settings.kernel,
    )


def check_front(settings: Settings, rows: int = 0) -> None:
    """Check that there is a front: of two to four targets with a direction, on few enough rows."""
    if settings.goal != FRONT:
        return
    directed, owner = settings.objectives, 'the goal "front"'
    needed = f"2 to {MOST_OBJECTIVES} targets to maximize or minimize"
    names = [one.name for one in directed]
    checks.needs(2 <= len(directed) <= MOST_OBJECTIVES, owner, needed, names)
    aims = [one.name for one in directed if one.aim is not None]
    checks.needs(not aims, owner, needed, f"an aim of {', '.join(aims)}")
    for name in ("tolerance", "noise"):
        needed = f"no {name}, which is a number of a single target"
        checks.needs(getattr(settings, name) is None, owner, needed, getattr(settings, name))
    checks.needs(rows <= LARGEST_POOL, owner, f"at most {format_number(LARGEST_POOL)} rows", rows)


def check_outcomes(settings: Settings, rows: int = 0) -> None:
    """Check that limits on outcomes can be met: by auto, not with "earn", on few enough rows."""
    if not settings.outcomes:
        return
    limits = f"a limit on an outcome ({describe_limits(settings.outcomes)})"
    checks.needs(settings.policy == AUTO, limits, "the policy auto", settings.policy)
    checks.needs(settings.goal != EARN, limits, 'the goal "find" or "front"', settings.goal)
    checks.needs(rows <= LARGEST_POOL, limits, f"at most {format_number(LARGEST_POOL)} rows", rows)


def with_changes(before: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return settings with some of them changed; of the policy's own, those stay that it takes."""
    known = [one.name for one in fields(before) if one.name != REVISION]
    for name in changes:
        checks.needs(name in known, "change", f"settings among {', '.join(known)}", name)
    if changes.get("lease", "") is None:
        changes = {**changes, "lease": WEEK}
    policy = read_texts(changes).get("policy", before.policy)
    given = read_settings(changes, policy)
    if policy != before.policy:
        given = {"kernel": None if policy == AUTO else CODEC.decode(before.kernel)} | given
        given = {**dict.fromkeys(OF_AUTO), **given, REVISION: revision_of(policy)}
    given["settings"] = select_settings(policy, CODEC.decode(before.settings)) | dict(
        given.get("settings") or {}
    )
    if policy == AUTO and given.get("goal", before.goal) is None:
        given["goal"] = default_goal(policy, given["settings"])
    if "targets" in given:
        given["targets"] = change_targets(before, given["targets"])
    return store_settings({**CODEC.decode(before.body), **given})


def make_settings(**settings: Any) -> Settings:
    """Make the settings of a new study; refuse a name that no setting has."""
    known = [one.name for one in fields(Settings) if one.name != REVISION]
    for name in settings:
        checks.needs(name in known, "Study", f"settings among {', '.join(known)}", name)
    stated = {name: value for name, value in settings.items() if value is not None}
    policy = read_texts(stated).get("policy", AUTO)
    given = read_settings(stated, policy)
    given = {"goal": default_goal(policy, given.get("settings") or {})} | given
    given[REVISION] = revision_of(policy)
    if "targets" in given:
        targets = read_targets(given["targets"])
        units = {"centre": CENTRE, "spread": SPREAD} if is_combined(targets) else {}
        given = {**units, **given, "targets": [one.body for one in targets]}
    return store_settings(given)


def compare_created(
    wanted: Mapping[str, Any], stored: Mapping[str, Any], place: Place, scales: Mapping[str, str]
) -> list[str]:
    """Name what differs between two descriptions of a created study; [] if nothing does.

    The revision is that of the release which created it, and no difference. Columns that are not
    among the named `scales` keep the scale that they have in the stored `place`.
    """
    given, known = (Settings.of(one["settings"]) for one in (wanted, stored))
    names = [name for name in given.body if name not in (REVISION, LEARN_FROM)]
    other = [name for name in names if getattr(given, name) != getattr(known, name)]
    # Another study may have had more results since it was copied.
    copied = [[one["name"] for one in settings.learn_from or ()] for settings in (given, known)]
    other += [LEARN_FROM] if copied[0] != copied[1] else []
    if "targets" in other:
        aim = [one for one in AIM if getattr(given, one) != getattr(known, one)]
        other = [*(aim or ["targets"]), *(name for name in other if name != "targets")]
    other += [place.stored_as] if wanted["fingerprint"] != stored["fingerprint"] else []
    other += ["columns"] if tasks_of(wanted) != tasks_of(stored) else []
    described = [created.get("candidates", {}).get("describe") for created in (wanted, stored)]
    other += ["descriptors"] if described[0] != described[1] else []
    return [*other, *(f"scale of column {name!r}" for name in differing_scales(scales, place.log))]


def change_targets(before: Settings, given: Any) -> list[dict[str, Any]]:
    """Return the targets with other ranges, weights or limits; those that are not named stay.

    What the values of a single target mean is settled once and for all.
    """
    needed = "a study of several targets"
    checks.needs(before.shows_targets, "change", needed, "one of a single target")
    known = {one.name: one for one in before.wanted}
    fresh = {one.name: one for one in list_targets(given)}
    check_names("change", before.wanted, fresh)
    targets = [{**known, **fresh}[name] for name in known]
    for one in targets:
        was_limit = known[one.name].is_limit
        needed = f"{one.name} to {'stay a limit' if was_limit else 'keep a direction'}"
        checks.needs(one.is_limit == was_limit, "change", needed, one.sentence)
    needed = "an aim, a range, a weight or a limit of a single target"
    checks.needs(is_combined(targets) == before.combined, "change", needed, targets[0].sentence)
    return [one.body for one in targets]


def default_goal(policy: str, settings: Mapping[str, Any]) -> str | None:
    """Return the default goal: of auto "find", unless it has settings of "earn" alone."""
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
    """Return the revision that a policy has in this release."""
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
    """Split a policy that has its settings in its text into name and settings.

    "simple-bernoulli:p=0.25" is an example. Other policies stay as they are.
    """
    text = given.get("policy")
    if not isinstance(text, str) or not {":", "("} & set(text):
        return dict(given)
    name, items = split(text)
    return {
        **given,
        "policy": name,
        "settings": keywords(items) | dict(given.get("settings") or {}),
    }


def select_settings(policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some settings that a policy has."""
    known = parameters_of(Auto) if policy == AUTO else policy_entry(policy).parameters
    return {name: value for name, value in settings.items() if name in known}


def build_auto(
    domain: Arms | MixedBox, settings: Mapping[str, Any], earlier: Sequence[EarlierResults] = ()
) -> Auto[Any]:
    """Build Auto, and refuse settings that it does not know; the seed is the study's."""
    known = [name for name in parameters_of(Auto) if name not in ("domain", "seed", "earlier")]
    for name in settings:
        checks.needs(name in known, AUTO, f"settings among {', '.join(known)}", name)
    return Auto(domain, **settings, earlier=earlier)


def store_settings(given: Mapping[str, Any]) -> Settings:
    """Check what was given, and return settings as they are stored."""
    targets = [Target(**body) for body in given.get("targets", Settings.targets)]
    given = {**given, "limits": read_limits(given.get("limits"), targets)}
    live = Settings(**given)
    check_policy(live)
    return Settings(**CODEC.encode_settings("Study", live.body))
