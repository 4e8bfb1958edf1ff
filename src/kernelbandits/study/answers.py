"""What the results so far say: which row is likely best, and what is left to gain."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits.checks import Array, Indices
from kernelbandits.formatting import format_count, format_interval, format_share
from kernelbandits.insight import LeaveOneOut, fitted_model
from kernelbandits.insight.unmeasured import limit_leads, mix_with_hat
from kernelbandits.policies import Policy
from kernelbandits.policies.comparison import (
    COMPARED,
    MARGIN,
    best_shares,
    select_contenders,
)
from kernelbandits.policies.lone_results import (
    deviation_of_repeats,
    is_contradicted,
    stands_alone,
)
from kernelbandits.policies.outcomes import (
    LIKELY,
    LimitedOutcome,
    exclude_infeasible,
    find_feasible,
    find_hopeful,
    log_feasibility,
)
from kernelbandits.policies.place import place_of
from kernelbandits.posterior.draws import draw_from_posterior
from kernelbandits.runtime import single_threaded
from kernelbandits.study.cautions import describe_poor_model
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import State
from kernelbandits.study.limits import UNLIMITED
from kernelbandits.study.plausibility import is_unusual, latest_values
from kernelbandits.study.posterior_view import PosteriorView, answer_view, space_view
from kernelbandits.study.premises import proved_band
from kernelbandits.study.targets import describe_limits
from kernelbandits.study.units import FIRST
from kernelbandits.study.values import Best, Untested
from kernelbandits.study.words import describe_point
from kernelbandits.theory import Band
from kernelbandits.theory.bands import format_rounded_up

if TYPE_CHECKING:
    from kernelbandits.study.place import Place
    from kernelbandits.study.points import Points

TIE = 1e-12
NEGLIGIBLE_NOISE = 2e-3
"""A noise sd below this, in spreads of the results, counts as none."""
LUCK = 1 / 3
"""The probability that another measured row is better from which a lead may be luck."""


class Answers:
    """Answers from the posterior after the results of a state, in the units of the target."""

    def __init__(self, driver: Driver, state: State, view: PosteriorView | None = None) -> None:
        self.driver, self.state = driver, state
        self.candidates: Place = driver.candidates
        self.scale = state.scale
        self.counts = dict(state.counts)
        """Row -> how many values it has, as long as the state may grow."""
        self.view = answer_view(driver) if view is None else view
        self._draws: dict[int, tuple[Indices, Array]] = {}

    @cached_property
    def band(self) -> Band | None:
        """The confidence band, if R, D, centre and spread were fixed before the first result."""
        return proved_band(self)

    @property
    def regret_certificate(self) -> float | None:
        """What all results together lost at most, in the target's units; None if nothing is proved.

        The loss of a result is how much better the best row is.
        """
        if self.band is None or self.band.contradiction or not self.has_results:
            return None
        return float(self.scale.length(self.band.regret_certificate))

    def describe_regret(self, until: str) -> str:
        """Say what the results lost at most until then; "" if nothing is proved."""
        lost = self.regret_certificate
        if lost is None or self.band is None:
            return ""
        results = format_count(sum(self.counts.values()), "result")
        return (
            f"With probability at least {1 - self.band.delta:.6g} the {results} {until} lost at "
            f"most {format_rounded_up(lost)} ({self.state.settings.target}) in all, compared with "
            "the best row every time. That holds whoever chose the rows, if noise_scale and "
            "norm_bound are true."
        )

    @cached_property
    def allowed_arms(self) -> Indices:
        """The arms that may be the answer."""
        return np.flatnonzero(self.candidates.allowed_rows[self.driver.rows])

    @property
    def estimated_arms(self) -> Indices:
        """Those of them that are estimated: all, or of a very large table its working set."""
        return self.allowed_arms[self.view.has_estimate[self.allowed_arms]]

    @property
    def allowed_count(self) -> float:
        """How many different candidates are allowed."""
        first_rows = self.driver.first_rows[self.driver.rows][self.allowed_arms]
        return len(set(first_rows.tolist()))

    @property
    def unmeasured_count(self) -> int:
        """The number of different allowed candidates that have no value."""
        first_rows, allowed = self.driver.first_rows, self.driver.rows[self.allowed_arms]
        return len(set(first_rows[allowed[~self.measured_rows[allowed]]].tolist()))

    @property
    def all_measured(self) -> bool:
        """Whether every allowed candidate has a value."""
        return bool(self.measured_rows[self.driver.rows[self.allowed_arms]].all())

    @property
    def has_results(self) -> bool:
        """Whether there is any value."""
        return any(self.counts.values())

    @property
    def outcomes(self) -> tuple[LimitedOutcome, ...]:
        """What must lie within limits, as the policies that learn it know it; () for nothing."""
        return self.driver.policy.outcomes

    @property
    def limits(self) -> str:
        """The limits on outcomes in words; "" without any."""
        return describe_limits(self.state.settings.outcomes)

    @cached_property
    def _log_feasibility(self) -> Array:
        """The logarithm of the probability that an arm meets all limits."""
        finite = self.driver.policy.finite
        places = np.arange(len(self.driver.rows)) if finite else self.candidates.points
        return log_feasibility(self.outcomes, places)

    @property
    def feasibilities(self) -> Array:
        """The probability of each arm that it meets all limits on outcomes."""
        return np.exp(self._log_feasibility)

    def feasibility(self, arm: int) -> float | None:
        """Return the probability that an arm meets all limits on outcomes; None without any."""
        return float(np.exp(self._log_feasibility[arm])) if self.outcomes else None

    def feasibility_of(self, target: str, arm: int) -> float:
        """Return the probability that an arm meets the limits of one target alone."""
        names = [one.name for one in self.state.settings.outcomes]
        outcome = self.outcomes[names.index(target)]
        finite = self.driver.policy.finite
        place = np.array([arm]) if finite else self.candidates.points[[arm]]
        return float(np.exp(outcome.log_chances(place)[0]))

    def is_feasible(self, arm: int) -> bool:
        """Tell whether an arm counts as feasible: it probably meets all limits there are."""
        chance = self.feasibility(arm)
        return chance is None or chance >= LIKELY

    def select_feasible(self, arms: Indices) -> Indices:
        """Return those of some arms that count as feasible; the most probable one if none does."""
        if not self.outcomes:
            return arms
        logs = self._log_feasibility[arms]
        feasible = find_feasible(logs)
        return arms[feasible if len(feasible) else [int(logs.argmax())]]

    @cached_property
    def greedy(self) -> int:
        """The arm of the greatest estimate among all that are allowed, measured or not.

        Where outcomes are limited, it is that among those that count as feasible.
        """
        return self._greatest(self.select_feasible(self.estimated_arms))

    @cached_property
    def recommended_arm(self) -> int | None:
        """The arm of the greatest estimate among those allowed whose candidate has a value.

        Rows that were never measured are not recommended, however promising: nobody has seen them
        work. Neither is a candidate that leads by a single result which its other results
        contradict, unless there is no other. Where outcomes are limited, it is one of those that
        count as feasible, or the one that most probably is. None while no allowed candidate has a
        value.
        """
        measured = self.allowed_arms[self.measured_rows[self.driver.rows[self.allowed_arms]]]
        if not len(measured):
            return None
        measured = self.select_feasible(measured)
        rest, likely = measured, self._greatest(measured)
        while is_contradicted(*self._results_at(likely)):
            first_rows = self.driver.first_rows[self.driver.rows]
            rest = rest[first_rows[rest] != first_rows[likely]]
            if not len(rest):
                return self._greatest(measured)
            likely = self._greatest(rest)
        return likely

    def _results_at(self, arm: int) -> tuple[list[float], Array, float]:
        """Return the results of a candidate, the mean result of each other one, and the standard
        deviation of repeats there.

        All are upside down where less is better.
        """
        first_rows, sign = self.driver.first_rows, self.scale.sign
        values: dict[int, list[float]] = {}
        for one in latest_values(self.state):
            values.setdefault(int(first_rows[one.row]), []).append(sign * one.value)
        own = values.pop(int(first_rows[self.row(arm)]), [])
        others = [np.array(some) for some in values.values()]
        counts = np.array([len(some) for some in others])
        means = np.array([some.mean() for some in others])
        # About the mean of each, so that large numbers lose no digits.
        squares = np.array([((some - some.mean()) ** 2).sum() for some in others])
        return own, means, deviation_of_repeats(counts, np.zeros(len(others)), squares)

    @cached_property
    def measured_rows(self) -> npt.NDArray[np.bool_]:
        """Which rows describe a candidate that has a value."""
        first_rows = self.driver.first_rows
        measured = np.zeros(len(first_rows), dtype=np.bool_)
        measured[first_rows[list(self.counts)]] = True
        return measured[first_rows]

    def _greatest(self, arms: Indices) -> int:
        """Return the arm of the greatest estimate among some arms.

        Of equal ones it is the first whose row was measured, or else whose candidate was, in
        another row.
        """
        mean = self.view.mean[arms]
        size = abs(float(mean.max())) + float(np.ptp(mean))
        equal = arms[mean >= mean.max() - TIE * size]
        itself = [arm for arm in equal if self.counts.get(self.row(arm))]
        copies = [arm for arm in equal if self.measured_rows[self.row(arm)]]
        return int((itself or copies or list(equal))[0])

    def row(self, arm: int) -> int:
        return int(self.driver.rows[arm])

    def name(self, arm: int) -> str:
        """Return the candidate of an arm as a sentence names it: row 3, or temperature = 30."""
        return self.candidates.name(self.row(arm))

    def mean(self, arm: int) -> float:
        return float(self.scale.estimate(self.view.mean[arm]))

    def sd(self, arm: int) -> float:
        return float(self.scale.length(self.view.sd[arm]))

    def interval(self, arm: int) -> tuple[float, float]:
        """Return the 95 % interval of f at an arm, in the target's units."""
        low, high = sorted(self.scale.estimate(end[arm]) for end in (self.view.low, self.view.high))
        return float(low), float(high)

    @single_threaded
    def draw_functions_near(self, here: int) -> tuple[Indices, Array]:
        """Return different candidates that may be best, `here` among them, and draws of f there."""
        if here not in self._draws:
            others = self._different(here)
            place = int(np.flatnonzero(others == here)[0])
            if self.outcomes:
                others = others[find_hopeful(self._log_feasibility[others], place)]
            place = int(np.flatnonzero(others == here)[0])
            kept = others[select_contenders(self.view.mean[others], self.view.sd[others], place)]
            measured, mean = self._are_measured(kept), self.view.mean
            known = mean[self.measured_rows[self.driver.rows]]
            points: Array = self.driver.policy.domain.points[kept]
            feasible = exclude_infeasible(self.view.draw(kept), self.outcomes, points)
            limited = limit_leads(feasible, measured, mean[kept], known)
            mixed = mix_with_hat(limited, measured, self.left_out, self.unmeasured_count)
            # What leads as from a hat has to be feasible too.
            self._draws[here] = kept, exclude_infeasible(mixed, self.outcomes, points)
        return self._draws[here]

    def _different(self, here: int) -> Indices:
        """Return an arm for each candidate that is allowed and estimated; `here` for its own."""
        first_rows = self.driver.first_rows[self.driver.rows]
        arms = self.estimated_arms
        rest = arms[first_rows[arms] != first_rows[here]]
        _, first = np.unique(first_rows[rest], return_index=True)
        return np.sort(np.append(rest[first], here))

    @property
    def comparison(self) -> str:
        """How many candidates were compared, in words, if not all of them."""
        n = len(np.unique(self.driver.first_rows[self.driver.rows][self.allowed_arms]))
        among = ""
        if len(self.estimated_arms) < len(self.allowed_arms):
            among = f" in a working set of {len(self.estimated_arms)} rows"
        return f" (of the {COMPARED} most promising{among})" if n > COMPARED else ""

    def best(self) -> Best | None:
        """Return the row to recommend: of those measured, that of the best estimate."""
        arm = self.recommended_arm
        if arm is None:
            return None
        row, (low, high), chance = self.row(arm), self.interval(arm), self.chances(arm, arm)[0]
        return Best(
            row=self.candidates.number(row),
            x=self.candidates.x(row),
            mean=self.mean(arm),
            low=low,
            high=high,
            probability=chance,
            results=self.count_results(arm),
            label=self.candidates.names(row),
            untested=self.find_untested(),
            early=self.describe_early(),
            caution=self.caution,
            comparison=self.comparison,
            may_be_luck=self.may_be_luck(arm),
            stands_alone=self.stands_alone(arm),
            limits=self.limits,
            feasibility=self.feasibility(arm),
        )

    def count_results(self, arm: int) -> int:
        """Count how often the candidate of an arm was measured, in whichever of its rows."""
        first_rows, row = self.driver.first_rows, self.row(arm)
        return sum(n for one, n in self.counts.items() if first_rows[one] == first_rows[row])

    @property
    def left_out(self) -> LeaveOneOut | None:
        """Each result as the others predict it; None with fewer than five measured candidates."""
        return self.driver.leave_one_out(self.view.policy)

    @cached_property
    def caution(self) -> str:
        """That the model is no better than the mean of the results, in words; else ""."""
        return "" if self.describe_early() else describe_poor_model(self.left_out)

    @property
    def predicts(self) -> bool:
        """Whether the model predicts held-out results, as `check_model` judges it."""
        return self.left_out is not None and self.left_out.predicts

    def may_be_luck(self, arm: int) -> bool:
        """Tell whether this arm, measured once, may be ahead of the other measured ones by luck.

        It may if another measured candidate is better with a probability of at least a third.
        """
        if self.describe_early() or self.count_results(arm) != 1 or not self.noise_at(arm):
            return False
        return self.probability_of_luck(arm) >= LUCK

    def probability_of_luck(self, arm: int) -> float:
        """Return the probability that the arm is ahead of the measured ones by its noise alone:

        P(f of another measured candidate > f of this arm).

        The functions are those by which the best is judged, at the candidates that may be best.
        """
        kept, draws = self.draw_functions_near(arm)
        draws = draws[draws[:, np.flatnonzero(kept == arm)[0]] > -np.inf]
        rivals = draws[:, self._are_measured(kept) & (kept != arm)]
        if not rivals.size:
            return 0.0
        return float((rivals.max(1) > draws[:, np.flatnonzero(kept == arm)[0]]).mean())

    def _are_measured(self, kept: Indices) -> npt.NDArray[np.bool_]:
        """Tell which of the candidates where functions are drawn have a value."""
        return self.measured_rows[self.driver.rows[kept]]

    def stands_alone(self, arm: int) -> bool:
        """Tell whether it leads by one result that nothing confirms and that may be a slip."""
        own, others, noise = self._results_at(arm)
        sign = self.scale.sign
        unusual = len(own) == 1 and is_unusual(sign * own[0], (sign * others).tolist())
        return unusual or stands_alone(own, others, noise)

    def noise_at(self, arm: int) -> float:
        """Return the standard deviation of one result of an arm, in the target's units.

        It was given or fitted. It is 0 where it is negligible against the spread of the results,
        and where the policy has no model of the noise.
        """
        model = fitted_model(self.driver.policy)
        if model is None or model.standardised_noise < NEGLIGIBLE_NOISE:
            return 0.0
        return float(self.scale.length(model.noise_at(float(self.view.mean[arm]))))

    def describe_early(self) -> str:
        """Say why no row can be called the best yet; "" from five different results on.

        The posterior has a probability after one result too, but it comes from the prior alone.
        """
        count = sum(self.counts.values())
        if count >= FIRST:
            values = (trial.value for trial in self.state.results if trial.value is not None)
            return "" if are_different(values) else "all results are equal"
        reason = f"before {FIRST} results the probability of being the best is not meaningful"
        return f"{format_count(count, 'result')} so far; {reason}"

    def find_untested(self) -> Untested | None:
        """Return the row of the best estimate of all, if it was never measured; else None."""
        arm, row = self.greedy, self.row(self.greedy)
        best = self.recommended_arm
        if best is None or self.measured_rows[row]:
            return None
        if self.outcomes and not (
            self.is_feasible(arm) and self.view.mean[arm] > self.view.mean[best]
        ):
            return None
        low, high = self.interval(arm)
        name = self.name(arm)
        name = f"{name[:1].upper()}{name[1:]}"
        sentence = f"{name} has a {self.better_word} estimate but was never measured."
        if self.outcomes:
            met = f"probably meets the limits ({format_share(self.feasibility(arm))})"
            sentence = (
                f"{name} has a {self.better_word} estimate and {met}, but was never measured."
            )
        return Untested(row, self.candidates.x(row), self.mean(arm), low, high, sentence)

    @property
    def better_word(self) -> str:
        return "higher" if self.scale.sign > 0 else "lower"

    def chances(self, here: int, other: int) -> tuple[float, float]:
        """Return for each of two arms the probability that its candidate is the best."""
        kept, draws = self.draw_functions_near(here)
        first_rows = self.driver.first_rows[self.driver.rows]
        # Where nothing is feasible, nothing is the best.
        best = np.where(draws.max(1) > -np.inf, first_rows[kept[draws.argmax(1)]], -1)
        return float((best == first_rows[here]).mean()), float((best == first_rows[other]).mean())

    def draw_losses(self, arm: int) -> Array:
        """Return max f - f(arm) in each of the functions drawn, in the target's units.

        Where outcomes are limited, these are the functions in which the arm is feasible.
        """
        kept, draws = self.draw_functions_near(arm)
        own = draws[:, np.flatnonzero(kept == arm)[0]]
        draws, own = draws[own > -np.inf], own[own > -np.inf]
        if self.scale.limits == UNLIMITED:
            return np.asarray(self.scale.length(draws.max(1) - own))
        # The best of truncated functions is the truncated best.
        best = self.scale.estimate(draws.max(1))
        return np.asarray(np.abs(best - self.scale.estimate(own)))

    def improvement(self, arm: int) -> float:
        """Return what stopping now with this arm loses on average, E[max f - f(arm)]."""
        return float(self.draw_losses(arm).mean())

    def probability_within(self, arm: int, tolerance: float) -> float:
        """Return the probability that stopping now with this arm loses no more than the tolerance:

        P(max f - f(arm) <= tolerance).

        Where the model predicts little, many of the functions are as if rows were drawn from a hat
        (`mix_with_hat`).
        """
        return float((self.draw_losses(arm) <= tolerance).mean())


def are_different(values: Iterable[float]) -> bool:
    """Tell whether not all values are the same; of many, the first two mostly say it."""
    rest = iter(values)
    first = next(rest)
    return any(value != first for value in rest)


class SpaceAnswers(Answers):
    """The same over a space: the points met so far are the arms.

    The probability of being the best, and what is left to gain, compare them with points spread
    over the whole space and with the point of the best estimate.
    """

    candidates: Points
    """The points met so far."""

    @property
    def allowed_count(self) -> float:
        """How many points the space has: infinitely many where a variable is a real number."""
        return self.candidates.count

    @property
    def unmeasured_count(self) -> int:
        """The number of points without a value among those that are compared."""
        return len(self.comparison_points) - int(self.measured_rows.sum())

    @property
    def all_measured(self) -> bool:
        """Whether every point of the space has a value, not only those met so far."""
        measured = np.flatnonzero(self.measured_rows).tolist()
        return len(self.candidates.on_grid(measured)) >= self.allowed_count

    @cached_property
    def comparison_points(self) -> Array:
        """Coordinates: the points met, the point of the best estimate of all, and a cover."""
        points = self.candidates.points
        region = place_of(self.driver.policy.domain, None, None)
        found = self.driver.policy.domain.encode(self.highest)
        others = np.vstack([found[None], region.survey])
        known = (others[:, None] == points[None]).all(2).any(1)
        return np.vstack([points, others[~known]])

    @cached_property
    def highest(self) -> Any:
        """The point of the best estimate in the space, measured or not.

        Where outcomes are limited, it is the best of points spread over the space that count as
        feasible.
        """
        policy = self.driver.policy
        if not self.outcomes:
            return Policy.recommend(policy)
        survey = place_of(policy.domain, None, None).survey
        rows = policy.select_feasible(np.vstack([self.candidates.points, survey]))
        return policy.domain.decode(rows[int(policy.posterior.at(rows)[0].argmax())])

    @property
    def comparison(self) -> str:
        return " (of points spread over the space)"

    @single_threaded
    def draw_functions_near(self, here: int) -> tuple[Indices, Array]:
        if here not in self._draws:
            (posterior, units), rows = self.driver.policy.answer_model(), self.comparison_points
            hopeful = find_hopeful(log_feasibility(self.outcomes, rows), here)
            mean, sd = posterior.at(rows[hopeful])
            position = int(np.searchsorted(hopeful, here))
            kept = hopeful[select_contenders(mean, sd, position)]
            draws = units.original(draw_from_posterior(posterior, rows[kept]))
            draws = exclude_infeasible(draws, self.outcomes, rows[kept])
            measured = self._are_measured(kept)
            mixed = mix_with_hat(draws, measured, self.left_out, self.unmeasured_count)
            self._draws[here] = kept, exclude_infeasible(mixed, self.outcomes, rows[kept])
        return self._draws[here]

    def _are_measured(self, kept: Indices) -> npt.NDArray[np.bool_]:
        """Tell which of the points have a value: those met come first, and others have none."""
        met = np.minimum(kept, len(self.driver.rows) - 1)
        return (kept < len(self.driver.rows)) & self.measured_rows[self.driver.rows[met]]

    def chances(self, here: int, other: int) -> tuple[float, float]:
        """Return for each of two points the probability that it is the best.

        A point is the best if no other is better by more than a tenth of the noise.
        """
        # Neighbours of a point of a space are about as good, so an exact tie is no question here.
        kept, draws = self.draw_functions_near(here)
        model = fitted_model(self.driver.policy)
        margin = 0.0 if model is None else MARGIN * model.noise_scale
        shares = dict(zip(kept.tolist(), best_shares(draws, margin).tolist(), strict=True))
        return shares[here], shares.get(other, 0.0)

    def find_untested(self) -> Untested | None:
        """Return the point of the best estimate of all, if it was never measured; else None."""
        policy, known = self.driver.policy, self.candidates.find(self.highest)
        if known is not None and self.counts.get(known):
            return None
        row = policy.domain.encode(self.highest)[None]
        if self.outcomes and not len(find_feasible(log_feasibility(self.outcomes, row))):
            return None
        view = space_view(*policy.answer_model(), row)
        best = self.recommended_arm
        if best is None or view.mean[0] <= self.view.mean[best]:
            return None
        low, high = sorted(float(self.scale.estimate(end[0])) for end in (view.low, view.high))
        mean = float(self.scale.estimate(view.mean[0]))
        named = f"({describe_point(self.highest)}; {format_interval(mean, low, high)})"
        sentence = f"A point that was never measured has a {self.better_word} estimate {named}."
        return Untested(None, self.highest, mean, low, high, sentence)


def answers_of(driver: Driver, state: State, view: PosteriorView | None = None) -> Answers:
    """Return the answers of a study over a table or a space."""
    made = Answers if driver.policy.finite else SpaceAnswers
    return made(driver, state, view)
