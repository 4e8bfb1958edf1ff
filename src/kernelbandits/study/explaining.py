"""Why a row was suggested, by the estimates of that time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kernelbandits.calibration import Standard
from kernelbandits.formatting import format_count, format_estimate, format_share, format_times
from kernelbandits.insight.explanation import describe_working_set
from kernelbandits.study.answers import Answers, answers_of
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import State, Trial
from kernelbandits.study.limits import UNLIMITED
from kernelbandits.study.posterior_view import noise_view, policy_view
from kernelbandits.study.units import Scale
from kernelbandits.study.values import Explained
from kernelbandits.study.words import describe_point

if TYPE_CHECKING:
    from kernelbandits.study.place import Place

LEAST_SPREAD = 0.1
"""Results that vary by less may need an exponent themselves."""
NEGLIGIBLE = 1e-6
"""An expected improvement below this, in spreads of the results, is called none."""


class Index(NamedTuple):
    """The index of a row and its parts, in the units of the target."""

    weight: float | None
    width: float | None
    bonus: float | None
    value: float | None


def index_of(note: Mapping[str, float], scale: Scale, units: Standard) -> Index:
    """Compute the index from the policy's note, with the centre and spread of that time.

    `units` are those of the policy's posterior.
    """
    weight, width = note.get("weight"), note.get("width")
    if "gain" in note:
        learnt = note["horizon"] * note["gain"]
        index = float(scale.outward(note["mean"] + learnt))
        return Index(None, None, float(scale.length(learnt)), index)
    if weight is None or width is None or "mean" not in note:
        value = note.get("index")
        return Index(weight, width, None, None if value is None else float(scale.outward(value)))
    reach = index_reach(note, units)
    bonus, value = float(scale.length(reach)), float(scale.outward(note["mean"] + reach))
    return Index(weight, width, bonus, value)


def index_reach(note: Mapping[str, float], units: Standard) -> float:
    """Return by how much the index exceeds the estimate, in the units of the note.

    It is weight * width * sd. Where results are transformed, that is added to the transformed
    estimate, and the sum is transformed back.
    """
    mean, sd, width = note["mean"], note["sd"], note["weight"] * note["width"]
    if units.is_linear or not sd > 0:
        return width * sd
    from scipy.optimize import brentq

    z, most = units.standardise(mean), 1.0
    while units.original_sd(z, most) < sd:
        most *= 2
    inner = brentq(lambda one: float(units.original_sd(z, one)) - sd, 0.0, most, xtol=1e-14)
    return float(units.original(z + width * inner)) - mean


def gain_of(note: Mapping[str, float], scale: Scale) -> float | None:
    """Return what the result was expected to add to the best estimate; None for other rules."""
    found = note.get("gain")
    return None if found is None else float(scale.gain(found))


def improvement_of(note: Mapping[str, float], scale: Scale) -> float | None:
    """Return the improvement that the policy expected of the row; None for rules with an index."""
    found = note.get("improvement")
    return None if found is None else float(scale.gain(found))


class Reasons:
    """Explains a choice by the estimates that the policy used for it."""

    def __init__(self, driver: Driver, state: State) -> None:
        self.driver, self.state = driver, state
        view = policy_view(driver, state.pending.values())
        self.answers = answers_of(driver, state, view)
        self.scale = state.scale

    @property
    def greedy(self) -> int | None:
        """The row with the best estimate; None before the first result, and in a space."""
        if not self.answers.has_results:
            return None
        return self.answers.candidates.number(self.answers.row(self.answers.greedy))

    @property
    def noun(self) -> str:
        """What a candidate is called: row or point."""
        return self.answers.candidates.noun

    def sentence(self, row: int, note: Mapping[str, float]) -> str:
        """Say why the policy chose this row, whether it repeats one, and which row looks best."""
        repeated = self._repeats(row)
        why = self._choice_sentence(row, note) + self._working_set(note) + self._limits(note)
        return f"{repeated}; {why[0].lower()}{why[1:]}" if repeated else why

    def _limits(self, note: Mapping[str, float]) -> str:
        """Say how probably the candidate meets the limits on outcomes, if there are any."""
        if "feasible" not in note or note.get("first"):
            return ""
        chance = format_share(note["feasible"])
        looks = ""
        if not self.answers.is_feasible(self._noise_answers.recommended_arm or 0):
            looks = f" Nothing measured is known to do so, and a feasible {self.noun} comes first."
        return f" It meets {self.answers.limits} with probability {chance}.{looks}"

    @staticmethod
    def _working_set(note: Mapping[str, float]) -> str:
        """Say so if the choice was not among all rows of a very large table."""
        size = note.get("working_set")
        return f" {describe_working_set(int(size), 'rows')}" if size else ""

    def _repeats(self, row: int) -> str:
        """Say so if the candidate of this row has results already."""
        alike, results = self._results_of(row)
        if not results:
            return ""
        others = [one for one in alike if one != row]
        candidates = self.answers.candidates
        which = f" as {', '.join(map(candidates.name, others))}" if row not in alike else ""
        times = format_times(results)
        if self.noun == "point":
            return f"This point was measured {times} before"
        name = candidates.name(row)
        return f"{name[:1].upper()}{name[1:]} was measured {times} before{which}"

    def _results_of(self, row: int) -> tuple[list[int], int]:
        """Return the rows of the same candidate with results, and how many results they have."""
        first_rows, counts = self.driver.first_rows, self.answers.counts
        alike = [one for one in counts if first_rows[one] == first_rows[row]]
        return alike, sum(counts[one] for one in alike)

    def _choice_sentence(self, row: int, note: Mapping[str, float]) -> str:
        if note.get("first"):
            return (
                f"Part of the initial design: there are too few results to prefer any {self.noun}."
            )
        if not self.answers.has_results:
            return "There is no result yet: the policy chose by its settings alone."
        if "mean" not in note:
            return "Chosen at random."
        mean, sd = self.scale.estimate(note["mean"]), self.scale.length(note["sd"])
        waiting = ""
        if note.get("pending"):
            waiting = f" ({format_count(int(note['pending']), 'result')} pending)"
        estimate = f"Estimate {format_estimate(mean, sd)} ± {sd:.2g}{waiting}"
        if "alone" in note:
            return (
                f"It leads all others by a single result, which may be a slip or luck: it is "
                f"measured again before the search goes on. {estimate}."
            )
        if "drawn" in note:
            return (
                f"Drawn at random from the {self.noun}s without a result, as one choice in five "
                f"is: a model can be sure of itself and look in the wrong place. {estimate}."
            )
        if "growth" in note:
            return f"{estimate}: {self._growth(row, note)}"
        if "improvement" in note:
            return f"{estimate}: {self._improvement(row, note)}"
        if "feasible" in note and "instead" not in note:
            # Nothing is known to be feasible: the estimate did not decide.
            return f"{estimate}."
        index = self._gain(note) if "gain" in note else self._bonus(note)
        chosen = f"{index}{self._worth(note)}{self._instead(note)}"
        return f"{estimate}{chosen}. {self._rival(row)}"

    def _index(self, note: Mapping[str, float]) -> Index:
        return index_of(note, self.scale, self.driver.policy.units)

    def _bonus(self, note: Mapping[str, float]) -> str:
        index = self._index(note)
        if index.bonus is None:
            return "" if index.value is None else f", index {index.value:.4g}"
        sign = "-" if self.scale.sign < 0 else "+"
        parts = f"estimate {sign} weight {index.weight:.3g} x width {index.width:.3g} x sd"
        if not self.driver.policy.units.is_linear:
            parts += ", all of the transformed results"
        return f"; index {index.value:.4g} = {parts}"

    def _gain(self, note: Mapping[str, float]) -> str:
        """Say what the result of the row is expected to teach for the rounds that follow."""
        rounds = int(note["horizon"])
        if not rounds:
            return "; this is the last round, so the estimate alone counts"
        index, sign = self._index(note), "-" if self.scale.sign < 0 else "+"
        gain = f"gain {self.scale.gain(note['gain']):.2g}"
        parts = f"estimate {sign} {format_count(rounds, 'round')} x {gain}"
        return (
            f"; index {index.value:.4g} = {parts}, by which its result is expected to improve the "
            "best estimate for later rounds"
        )

    def _growth(self, row: int, note: Mapping[str, float]) -> str:
        """Say by how much measuring the row is expected to raise the hypervolume of the front."""
        again = " it again" if self._results_of(row)[1] else " it"
        share = format_share(note["growth"])
        price = f", at cost {note['cost']:.3g}" if "cost" in note else ""
        return (
            f"measuring{again} is expected to raise the front (its hypervolume) by {share}{price}."
        )

    def _improvement(self, row: int, note: Mapping[str, float]) -> str:
        """Say what measuring the row is expected to gain; of a measured row, what to measure again.

        A first measurement may find a better row. Another one may show that the row is better than
        the best so far, or that the best so far is not the best.
        """
        if note["improvement"] < NEGLIGIBLE:
            return f"no {self.noun} is expected to improve noticeably on {self._best_so_far()}."
        gain = write_gain(self._room(note["improvement"]), self.scale.length(1.0))
        price = f", at cost {note['cost']:.3g}" if "cost" in note else ""
        drawn = ""
        if "draw_chance" in note:
            drawn = (
                f" It was drawn with probability {format_share(note['draw_chance'])}: the more a "
                f"{self.noun} is expected to improve, the more often it is drawn."
            )
        if self._results_of(row)[1]:
            more = "" if price or drawn else f", more than measuring any other {self.noun}"
            return (
                f"measuring it again is expected to improve the {self.noun} recommended in the end "
                f"by {gain}{more}{price}.{drawn}"
            )
        best = self._best_so_far()
        return f"measuring it is expected to improve on {best} by {gain}{price}.{drawn}"

    def _room(self, improvement: float) -> float:
        """Return an improvement in the target's units, at most as far as the limits leave room."""
        gain, best = float(self.scale.gain(improvement)), self._noise_answers.recommended_arm
        if best is None or self.scale.limits == UNLIMITED:
            return gain
        limit = self.scale.limits[self.scale.sign > 0]
        return min(gain, abs(limit - self._noise_answers.mean(best)))

    def _best_so_far(self) -> str:
        """Name the measured row of the best estimate."""
        answers = self._noise_answers
        best = answers.recommended_arm
        if best is None:
            return "the best so far"
        return f"the best so far ({answers.name(best)})"

    @cached_property
    def _noise_answers(self) -> Answers:
        """Answers by the results alone, at the fitted noise: a failure changes none of them."""
        view = noise_view(self.driver, self.state.pending.values())
        return answers_of(self.driver, self.state, view)

    def _worth(self, note: Mapping[str, float]) -> str:
        """Say what the row gains for its cost: with costs the index alone does not decide."""
        value = self._index(note).value
        if "cost" not in note or value is None:
            return ""
        gain = abs(value - self.answers.mean(self.answers.greedy))
        return (
            f"; the index is {gain:.3g} better than the best estimate, at cost {note['cost']:.3g}: "
            "no other row gains more for its cost"
        )

    def _instead(self, note: Mapping[str, float]) -> str:
        if not note.get("instead"):
            return ""
        return (
            f"; the {self.noun} that the policy preferred is not available, and this is the most "
            f"promising of the available {self.noun}s"
        )

    def _rival(self, row: int) -> str:
        arm = self.answers.greedy
        rival, first_rows = self.answers.row(arm), self.driver.first_rows
        if first_rows[rival] == first_rows[row]:
            return f"It has the {self._best_word} estimate."
        estimate = f"estimate {self.answers.mean(arm):.4g} ± {self.answers.sd(arm):.2g}"
        candidate = describe_point(self.answers.candidates.x(rival))
        if self.noun == "point":
            known = f"Of the points known, {candidate} has the {self._best_word} estimate"
            return f"{known} ({estimate})."
        name = self.answers.candidates.name(rival)
        name = f"{name[:1].upper()}{name[1:]}"
        return f"{name} has the {self._best_word} estimate ({candidate}; {estimate})."

    @property
    def _best_word(self) -> str:
        return "highest" if self.scale.sign > 0 else "lowest"

    def explain(self, trial: Trial, pending: int) -> Explained:
        """Return the full explanation; its probabilities use the noise given to the policy."""
        answers, note, row = self.answers, trial.note, trial.row
        arm, best = self.driver.arm(row), answers.greedy
        for one in (answers, self._noise_answers):
            one.view.include(arm)
            one.view.include(best)
        rival, index = answers.row(best), self._index(note)
        chance, rival_chance = self._noise_answers.chances(arm, best)
        comparison = self._compare_with(row, chance, rival, rival_chance)
        return Explained(
            trial=trial.number,
            row=answers.candidates.number(row),
            x=answers.candidates.x(row),
            mean=answers.mean(arm),
            sd=answers.sd(arm),
            weight=index.weight,
            width=index.width,
            bonus=index.bonus,
            index=index.value,
            chance=chance,
            greedy=answers.candidates.number(rival),
            greedy_x=answers.candidates.x(rival),
            greedy_mean=answers.mean(best),
            greedy_sd=answers.sd(best),
            greedy_chance=rival_chance,
            results=sum(self.answers.counts.values()),
            pending=pending,
            sentence=" ".join(
                filter(
                    None,
                    (
                        self.sentence(row, note),
                        comparison,
                        answers.describe_regret("before it"),
                        answers.caution,
                    ),
                )
            ),
            revision=trial.revision,
            improvement=improvement_of(note, self.scale),
            gain=gain_of(note, self.scale),
            horizon=note.get("horizon"),
            caution=answers.caution,
        )

    def _compare_with(self, row: int, chance: float, rival: int, rival_chance: float) -> str:
        if not self.answers.has_results:
            return "There was no result yet."
        if self.driver.first_rows[row] == self.driver.first_rows[rival]:
            return f"Its probability of being the best was {format_share(chance)}."
        return (
            f"Its probability of being the best was {format_share(chance)}, "
            f"that of {self.answers.candidates.name(rival)} was {format_share(rival_chance)}."
        )


def reasons_of(driver: Driver, state: State) -> Reasons:
    """Return why rows are chosen, by the results of a state that the policy has learnt."""
    if driver.reasons is None or driver.reasons.state is not state:
        driver.reasons = Reasons(driver, state)
    kept: Reasons = driver.reasons
    return kept


def stored_explanation(trial: Trial, before: State, candidates: Place, sentence: str) -> Explained:
    """Return what was stored when the trial was asked for; nothing is recomputed."""
    assert trial.asked is not None
    note, body, scale = trial.note, trial.asked.body, trial.scale(before.settings)
    greedy = body["greedy"]
    # The policy of another revision is not there; its results were not transformed.
    index = index_of(note, scale, Standard())
    return Explained(
        trial=trial.number,
        row=candidates.number(trial.row),
        x=candidates.x(trial.row),
        mean=float(scale.estimate(note["mean"])) if "mean" in note else None,
        sd=float(scale.length(note["sd"])) if "sd" in note else None,
        weight=index.weight,
        width=index.width,
        bonus=index.bonus,
        index=index.value,
        chance=None,
        greedy=greedy,
        greedy_x=None if greedy is None else candidates.x(greedy),
        greedy_mean=None,
        greedy_sd=None,
        greedy_chance=None,
        results=sum(before.counts.values()),
        pending=len(before.pending),
        sentence=f"{body['why']} {sentence}",
        revision=trial.revision,
        stored=True,
        improvement=improvement_of(note, scale),
        gain=gain_of(note, scale),
        horizon=note.get("horizon"),
    )


def write_gain(gain: float, spread: float) -> str:
    """Write an improvement with two digits; not with an exponent beside results without one.

    >>> write_gain(0.0384, 1.0), write_gain(3.2e-05, 0.25), write_gain(3.2e-07, 1e-06)
    ('0.038', 'less than 0.001', '3.2e-07')
    """
    text = f"{gain:.2g}"
    return "less than 0.001" if "e-" in text and spread >= LEAST_SPREAD else text
