"""Why this choice: its estimate, the highest estimate, and the probability that each is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Box, Contextual, MixedBox
from kernelbandits.markup import html_card, html_pairs, html_paragraphs
from kernelbandits.policies.acquisition import posterior_mean
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.place import MIDDLE, ArmList, Place, Region, place_of
from kernelbandits.posterior.mixture import predictors_of
from kernelbandits.posterior.sufficient import lower_root
from kernelbandits.streams import Streams

if TYPE_CHECKING:
    from kernelbandits.policies.base import Policy

COMPARED = 200
"""The probability of being the best is that among this many rows: the row of the highest estimate,
those of the greatest mean + 2 sd, and the choice in place of the last one if it is not there."""
DRAWS = 2000
"""How many functions are drawn; a probability near 1/2 then has a standard error of 0.011."""
OPTIMISM = 2.0
"""How many sd are added to the mean when rows that may be the best are selected."""
MARGIN = 0.1
"""On a box a point is best if none is better by more than this share of the noise scale: its
neighbours are as good."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a choice was made, in the units of the rewards."""

    x: Any
    mean: float
    sd: float
    weight: float | None
    """w_t as drawn; None where none was."""
    width: float | None
    """What multiplied w_t sd when the choice was made."""
    gain: float | None
    """What its reward was expected to add to the highest estimate; None for rules that do not look
    ahead."""
    horizon: float | None
    """For how many rounds the gain counted; None without one."""
    highest: Any
    """The point of the greatest estimate."""
    highest_mean: float
    highest_sd: float
    chance: float
    """That this choice is the best of those compared, under the posterior.

    On a box it is best to within a tenth of R, where R is the noise scale that a policy
    was given or has fitted, or sqrt(ridge) where it has none.
    """
    highest_chance: float
    compared: int
    """How many points were compared: those that may yet be the best."""
    first: bool = False
    """Whether it was made before anything was known."""
    pending: int = 0
    """How many rewards were pending when it was made."""
    pending_sd: float | None = None
    """The sd with these imagined, by which it was chosen; None where none were."""
    working: int | None = None
    """How many arms the working set has, if not all arms of a very large pool are looked at."""

    @property
    def bonus(self) -> float | None:
        """What was added to the estimate: w_t width_t sd (sd of the choice), or horizon x gain."""
        if self.gain is not None and self.horizon is not None:
            return self.horizon * self.gain
        sd = self.sd if self.pending_sd is None else self.pending_sd
        return None if self.weight is None or self.width is None else self.weight * self.width * sd

    def sentence(self) -> str:
        """The same in words."""
        if self.first:
            reason = "is one of the initial design: too little is known for anything better"
            return f"{show_point(self.x)} {reason}.{self._show_working_set()}"
        chosen = f"{show_point(self.x)}: {self._show_estimate()}{self._show_index()}."
        return f"{chosen} {self._show_highest()}{self._show_working_set()}"

    __str__ = sentence

    def _repr_html_(self) -> str:
        """What a notebook shows: the point, and why it was chosen."""
        return html_card(
            "Why it was chosen", html_pairs(name_values(self.x)), html_paragraphs(self.sentence())
        )

    def _show_estimate(self) -> str:
        best = f"best of the {self.compared} compared with probability {self.chance:.2g}"
        return f"estimate {self.mean:.4g} with sd {self.sd:.2g}, {best}"

    def _show_index(self) -> str:
        if self.bonus is None:
            return ""
        index = f"{self.mean + self.bonus:.4g}"
        if self.gain is not None:
            pending = f" with {self.pending} pending" if self.pending else ""
            parts = f"horizon {self.horizon:.3g} x gain {self.gain:.2g}{pending}"
            return f", index {index} = estimate + {parts}"
        sd = (
            "sd"
            if self.pending_sd is None
            else f"sd {self.pending_sd:.2g} with {self.pending} pending"
        )
        return (
            f", index {index} = estimate + weight {self.weight:.3g} x width {self.width:.3g} x {sd}"
        )

    def _show_working_set(self) -> str:
        return "" if self.working is None else f" {describe_working_set(self.working, 'arms')}"

    def _show_highest(self) -> str:
        """The point with the highest estimate."""
        if same_point(self.x, self.highest):
            return "It has the highest estimate."
        estimate = f"estimate {self.highest_mean:.4g}, sd {self.highest_sd:.2g}"
        details = f"{estimate}, best with probability {self.highest_chance:.2g}"
        return f"The highest estimate is that of {show_point(self.highest)} ({details})."


def explain_choice(policy: Policy, choice: Choice, arms: Any) -> Explanation:
    """Compare a choice with the highest estimate, by what the policy knows now."""
    checks.needs(isinstance(choice, Choice), "explain", "a kb.Choice", choice)
    where = policy._place_of(choice)
    here_row = policy.domain.points[where] if policy.finite else where
    place = place_of_choice(policy, choice, arms)
    rows = compared_rows(policy, here_row, place)
    mean, sd = policy.posterior.at(rows)
    here, best = int((rows == here_row).all(1).argmax()), int(mean.argmax())
    kept = select_contenders(mean, sd, here)
    margin = MARGIN * policy._noise_scale() if isinstance(place, Region) else 0.0
    shares = best_shares(draw_from_posterior(policy.posterior, rows[kept]), margin)
    chance_of = dict(zip(kept.tolist(), shares.tolist(), strict=True))
    means, sds = policy.units.original(mean), policy.units.original_sd(mean, sd)
    note = choice.note
    return Explanation(
        x=choice.x,
        mean=float(means[here]),
        sd=float(sds[here]),
        weight=note.get("weight"),
        width=note.get("width"),
        gain=note.get("gain"),
        horizon=note.get("horizon"),
        highest=decode_row(policy, rows[best]),
        highest_mean=float(means[best]),
        highest_sd=float(sds[best]),
        chance=chance_of[here],
        highest_chance=chance_of[best],
        compared=len(kept),
        first=bool(note.get("first")),
        pending=int(note.get("pending", 0)),
        pending_sd=note.get("sd") if note.get("pending") else None,
        working=int(note["working"]) if "working" in note else None,
    )


def describe_working_set(size: int, noun: str) -> str:
    """Say that a choice is not among all arms of a very large pool."""
    return f"The choice is among a working set of {size} {noun}, chosen again at each fit."


def place_of_choice(policy: Policy, choice: Choice, arms: Any) -> Place:
    """Where a choice was made; of arms that came with the round, those played."""
    domain = policy.domain
    changing = isinstance(domain, Contextual) and checks.is_whole(domain.domain)
    if not changing or arms is not None:
        return policy._list_compared(place_of(domain, choice.context, arms))
    points = policy.posterior.points[:, : domain.coordinates]
    return ArmList(points, domain.check_context(choice.context))


def compared_rows(policy: Policy, here: Array, place: Place) -> Array:
    """The choice and what may be better, sorted.

    Among arms these are all arms, or those of a working set; on a box the point of the highest
    estimate, a cover and the points played.
    """
    others = place.survey
    if isinstance(place, Region):
        surface = posterior_mean(policy.posterior)
        location = policy._search(surface, place, "lowest", MIDDLE)
        others = np.vstack([location.row[None], others, policy._played_points(place)])
    return np.unique(np.vstack([here[None], others]), axis=0)


def decode_row(policy: Policy, row: Array) -> Any:
    """The point of a row that kernels see."""
    if policy.finite:
        return row
    if not isinstance(policy.domain, Contextual):
        return policy.domain.decode(row)
    inner, chosen = policy.domain.domain, row[: policy.domain.coordinates]
    return inner.decode(chosen) if isinstance(inner, (Box, MixedBox)) else chosen


def same_point(x: Any, z: Any) -> bool:
    """Whether two points, arrays or dicts, are equal."""
    if isinstance(x, dict):
        return bool(x == z)
    return np.array_equal(np.asarray(x), np.asarray(z))


def show_point(x: Any) -> str:
    """A point in few digits."""
    if isinstance(x, dict):
        return ", ".join(f"{name} = {show_value(value)}" for name, value in x.items())
    return "(" + ", ".join(show_value(value) for value in x) + ")"


def name_values(x: Any) -> list[tuple[str, Any]]:
    """The coordinates of a point with their names; without names they are x1, x2, ..."""
    if isinstance(x, dict):
        return list(x.items())
    return [(f"x{j}", show_value(value)) for j, value in enumerate(x, 1)]


def show_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def best_shares(draws: Array, margin: float = 0.0) -> Array:
    """P(f(x_i) >= max f - margin): the share of drawn functions in which each point is best."""
    shares: Array = (draws >= draws.max(1, keepdims=True) - margin).mean(0)
    return shares


def draw_from_posterior(posterior: Any, points: Array) -> Array:
    """(about DRAWS, n): f at some points, in the units of the posterior.

    Of a mixture the same number is drawn from each member. A normal law with the mean and the
    covariance of the mixture would be different: its members agree about some points and disagree
    about others, and one of them may have a tail that the average does not show.
    """
    members = predictors_of(posterior)
    number = -(-DRAWS // len(members))
    return np.vstack(
        [
            draw_functions(member.at(points)[0], member.covariance(points), number, place)
            for place, member in enumerate(members)
        ]
    )


def draw_functions(mean: Array, covariance: Array, number: int = DRAWS, stream: int = 0) -> Array:
    """(number, n): f ~ N(mean, covariance), with numbers that are always the same.

    Those of a row do not depend on the rows after it. Another stream gives other numbers.
    """
    n = len(mean)
    # Rounding may make the covariance slightly indefinite; a small diagonal makes it definite.
    jitter = 1e-10 * max(float(covariance.diagonal().max()), 1e-300)
    root = lower_root(covariance + np.eye(n) * jitter, least=0.0)
    normals = Streams(0).generator(0, 0, stream).standard_normal((n, number))
    draws: Array = mean + (root @ normals).T
    return draws


def select_contenders(mean: Array, sd: Array, here: int) -> Indices:
    """The row of the highest estimate and those of the greatest mean + 2 sd, in order.

    The last of them is row `here`, if it is not among them anyway.
    """
    hope = mean + OPTIMISM * sd
    hope[mean.argmax()] = np.inf
    ranked = np.argsort(-hope, kind="stable")[:COMPARED]
    last = ranked[-1] if here in ranked else here
    return np.append(np.sort(ranked[:-1]), last) if len(hope) > COMPARED else np.arange(len(hope))
