"""Why this choice: its estimate, the highest estimate, and the probability that each is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Box, Contextual, MixedBox
from kernelbandits.formatting import format_point, name_coordinates
from kernelbandits.markup import html_card, html_pairs, html_paragraphs
from kernelbandits.policies import Choice, Policy
from kernelbandits.policies.comparison import compare_choice


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a choice was made, in the units of the rewards.

    `explain` returns it.

    >>> import kernelbandits as kb
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> policy = kb.SimpleUCB(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), **settings)
    >>> policy.tell(policy.choice(1), 0.9)
    >>> why = kb.insight.explain(policy, policy.ask(2, kb.Streams(0)))
    >>> why.highest, round(why.highest_mean, 2), why.weight, round(why.bonus, 2)
    (array([0.5]), 0.45, 1.0, 0.81)
    """

    x: Any
    """The point that was chosen."""
    mean: float
    """Its estimate at the time of the choice."""
    sd: float
    """The standard deviation of this estimate."""
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
    """The estimate there."""
    highest_sd: float
    """The standard deviation of that estimate."""
    chance: float
    """That this choice is the best of those compared, under the posterior.

    On a box it is best to within a tenth of R, where R is the noise scale that a policy
    was given or has fitted, or sqrt(ridge) where it has none.
    """
    highest_chance: float
    """The same for the point of the greatest estimate."""
    compared: int
    """How many points were compared: those that may yet be the best."""
    first: bool = False
    """Whether it was made before anything was known."""
    drawn: bool = False
    """Whether it was drawn at random, in case the model misleads."""
    alone: bool = False
    """Whether it was played again because it led all others by a single reward."""
    draw_chance: float | None = None
    """With which probability it was drawn; None for rules that do not draw arms."""
    success: float | None = None
    """The probability that its measurement succeeds; None where none had failed."""
    pending: int = 0
    """How many rewards were pending when it was made."""
    pending_sd: float | None = None
    """The sd with these imagined, by which it was chosen; None where none were."""
    earlier: bool = False
    """Whether an earlier study predicted it to be good, and nothing else was known."""
    working_set: int | None = None
    """How many arms the working set has, if not all arms of a very large pool are looked at."""

    @property
    def bonus(self) -> float | None:
        """What was added to the estimate: w_t width_t sd (sd of the choice), or horizon x gain."""
        if self.gain is not None and self.horizon is not None:
            return self.horizon * self.gain
        sd = self.sd if self.pending_sd is None else self.pending_sd
        return None if self.weight is None or self.width is None else self.weight * self.width * sd

    def sentence(self) -> str:
        """Say the same in words."""
        if self.earlier:
            reason = "is one of the first choices: an earlier study predicts it to be good"
            return f"{format_point(self.x)} {reason}.{self._show_working_set()}"
        if self.first:
            reason = "is one of the initial design: too little is known for anything better"
            return f"{format_point(self.x)} {reason}.{self._show_working_set()}"
        return f"{self._show_reason()}{self._show_success()}"

    def _show_reason(self) -> str:
        """Say why it was chosen after the initial design."""
        if self.drawn:
            reason = "was drawn at random, as one choice in five is, in case the model misleads"
            return f"{format_point(self.x)} {reason}: {self._show_estimate()}."
        if self.alone:
            reason = "is played again, since it led all others by a single reward"
            return f"{format_point(self.x)} {reason}: {self._show_estimate()}."
        chosen = f"{format_point(self.x)}: {self._show_estimate()}{self._show_index()}."
        return f"{chosen} {self._show_highest()}{self._show_working_set()}"

    __str__ = sentence

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the point, and why it was chosen."""
        point, reason = html_pairs(name_coordinates(self.x)), html_paragraphs(self.sentence())
        return html_card("Why it was chosen", point, reason)

    def _show_estimate(self) -> str:
        best = f"best of the {self.compared} compared with probability {self.chance:.2g}"
        return f"estimate {self.mean:.4g} with sd {self.sd:.2g}, {best}"

    def _show_index(self) -> str:
        if self.draw_chance is not None:
            return f", drawn with probability {self.draw_chance:.2g}"
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

    def _show_success(self) -> str:
        if self.success is None:
            return ""
        return f" Its measurement succeeds with probability {self.success:.2g}."

    def _show_working_set(self) -> str:
        return (
            "" if self.working_set is None else f" {describe_working_set(self.working_set, 'arms')}"
        )

    def _show_highest(self) -> str:
        """Describe the point with the highest estimate."""
        if same_point(self.x, self.highest):
            return "It has the highest estimate."
        estimate = f"estimate {self.highest_mean:.4g} ± {self.highest_sd:.2g}"
        details = f"{estimate}, best with probability {self.highest_chance:.2g}"
        return f"The highest estimate is that of {format_point(self.highest)} ({details})."


def explain(policy: Policy, choice: Choice, arms: Any = None) -> Explanation:
    """Say why a choice: its estimate, the highest, and the probability of either to be best.

    All is by what the policy knows now. On a pool with a working set the choice is compared with
    the arms of the set. Where arms come with every round, `arms` are those it was chosen among;
    without them it is compared with the points played, as they would be in its context.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Arms([[0.0], [0.5], [1.0]]))
    >>> for arm, reward in ((0, 0.1), (1, 0.9), (2, 0.2)):
    ...     auto.tell(auto.choice(arm), reward)
    >>> kb.insight.explain(auto, auto.choice(1)).sentence().split(". ")[-1]
    'It has the highest estimate.'
    """
    checks.needs(isinstance(choice, Choice), "explain", "a kb.Choice", choice)
    compared, note = compare_choice(policy, choice, arms), choice.note
    (mean, sd), best = compared.estimate(compared.here), compared.highest
    highest_mean, highest_sd = compared.estimate(best)
    return Explanation(
        x=choice.x,
        mean=mean,
        sd=sd,
        weight=note.get("weight"),
        width=note.get("width"),
        gain=note.get("gain"),
        horizon=note.get("horizon"),
        highest=decode_row(policy, compared.rows[best]),
        highest_mean=highest_mean,
        highest_sd=highest_sd,
        chance=compared.chance(compared.here),
        highest_chance=compared.chance(best),
        compared=len(compared.contenders),
        first=bool(note.get("first")),
        earlier="earlier" in note,
        drawn="drawn" in note,
        alone="alone" in note,
        draw_chance=note.get("draw_chance"),
        success=note.get("success"),
        pending=int(note.get("pending", 0)),
        pending_sd=note.get("sd") if note.get("pending") else None,
        working_set=int(note["working_set"]) if "working_set" in note else None,
    )


def describe_working_set(size: int, noun: str) -> str:
    """Say that a choice is not among all arms of a very large pool."""
    return f"The choice is among a working set of {size} {noun}, chosen again at each fit."


def decode_row(policy: Policy, row: Array) -> Any:
    """Return the point of a row that kernels see."""
    if policy.finite:
        return row
    if not isinstance(policy.domain, Contextual):
        return policy.domain.decode(row)
    inner, chosen = policy.domain.domain, row[: policy.domain.coordinates]
    return inner.decode(chosen) if isinstance(inner, (Box, MixedBox)) else chosen


def same_point(x: Any, z: Any) -> bool:
    """Tell whether two points, arrays or dicts, are equal."""
    if isinstance(x, dict):
        return bool(x == z)
    return np.array_equal(np.asarray(x), np.asarray(z))
