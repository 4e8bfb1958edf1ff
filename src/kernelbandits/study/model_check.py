"""Whether the model of a study can be trusted: held-out predictions, columns that matter, noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr

from kernelbandits.censored import ABOVE, BELOW, average_results, side_of, with_side
from kernelbandits.checks import Array
from kernelbandits.formatting import format_count, format_near, format_number
from kernelbandits.insight import FittedModel, LeaveOneOut, PartialDependence, fitted_model
from kernelbandits.insight.left_out import (
    FEWEST_POINTS,
    USEFUL,
    LeftOut,
    find_outliers,
    predict_left_out,
)
from kernelbandits.insight.model import model_of_answers
from kernelbandits.insight.variance_shares import share_variance
from kernelbandits.study.answers import Answers
from kernelbandits.study.cautions import GOOD, judge_skill
from kernelbandits.study.dependence import MOST_LEVELS, compute_dependence, count_levels
from kernelbandits.study.events import Trial
from kernelbandits.study.plausibility import is_unusual, latest_values, other_values
from kernelbandits.study.target_models import answer_target
from kernelbandits.study.values import Readable, Row
from kernelbandits.study.words import STANDS_ALONE

if TYPE_CHECKING:
    import pandas as pd

FEW = 15
"""With fewer candidates measured, chance alone can make predictions look useful: of shuffled
results, which nothing can predict, every other table of 8 had a skill above 0.3, and none of 15 in
two columns."""
TOO_NARROW = 0.01
"""Intervals are called too narrow if correct ones would hold so few results with less probability
than this."""
NO_INFLUENCE = 0.02
"""A column that takes part in less of the variance, under every fit, has no visible influence."""
MOST_CURVES = 9
"""The most columns whose partial dependence is computed: with many results it takes time."""
MOST_NAMED = 3
"""Outliers and columns that a sentence names."""


@dataclass(frozen=True)
class HeldOut:
    """A measured candidate as the results of all others predict it, in the target's units."""

    row: Row
    trials: tuple[int, ...]
    """The trials that measured it."""
    measured: float
    """The mean of its results, or the limit of this mean; nan between limits of both sides."""
    predicted: float
    sd: float
    """Of the prediction of that mean, noise included."""
    low: float
    """The 95 % interval of the prediction."""
    high: float
    residual: float
    """(measured - predicted) / sd"""
    outlier: bool
    """Whether it is so far from its prediction that it should be looked at."""
    beyond: str = ""
    """< or > if `measured` is only a limit; the residual is 0 where the prediction is beyond it."""
    label: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the table calls the row."""

    @property
    def result(self) -> float:
        """What was measured, as a limit where it is one."""
        return with_side(self.measured, self.beyond)


@dataclass(frozen=True)
class Outlier:
    """A result that is far from what all other results predict."""

    trial: int
    row: Row
    value: float
    predicted: float
    residual: float
    """How far the mean result of the candidate is from its prediction, in sd."""
    sentence: str


@dataclass(frozen=True)
class ColumnRelevance:
    """How much a column matters for the estimates."""

    column: str
    share: float
    """The share of the variance of the estimates over the table that the column takes part in,
    alone or together with others."""
    low: float
    """The least and the greatest share among the fits that are averaged."""
    high: float
    alone: float
    """The share that the column explains by itself."""
    lengthscale: float | None
    """The change of the column after which results are alike no longer: as a share of its range,
    or of the range of its logarithms; for a category, compared with a distance of 1 between two
    values."""
    log: bool = False
    """Whether the model sees the column by its logarithms."""


@dataclass(frozen=True)
class OutcomeCheck:
    """Whether the model of a target that only has limits can be trusted; see `Check`."""

    target: str
    verdict: str
    sentences: tuple[str, ...]
    """How well it predicts results that it is not shown, and which of them look wrong."""
    skill: float | None
    coverage: float | None
    noise: float | None
    held_out: tuple[HeldOut, ...]
    outliers: tuple[Outlier, ...]


@dataclass(frozen=True, repr=False)
class Check(Readable):
    """Whether the model can be trusted, in sentences and numbers.

    `sentences` say how well the model predicts results that it is not shown, whether its intervals
    are right, which results look wrong, which columns matter, what is known of the noise, and what
    to do.

    `Study.check` returns it.

    >>> import numpy as np
    >>> import pandas as pd
    >>> import kernelbandits as kb
    >>> films = pd.DataFrame({"heat": np.linspace(20, 90, 12)})
    >>> study = kb.Study.create("trusted.db", films, target="yield", noise=0.05)
    >>> for row, heat in enumerate(films["heat"]):
    ...     told = study.tell(row=row, value=np.sin(heat / 15))
    >>> check = study.check()
    >>> check.verdict, check.skill > 0.5, len(check.held_out)
    ('good', True, 12)
    >>> study.close()
    """

    verdict: str
    """good, useful or poor predictions; "unknown" if there is nothing to judge them by."""
    sentences: tuple[str, ...]
    skill: float | None
    """The share of the variance of held-out results that the model explains, compared with the mean
    of the other results; 0 or less if it is no better than that mean. None if unknown."""
    coverage: float | None
    """The share of held-out results within their 95 % interval."""
    noise: float | None
    """The standard deviation of one result, as fitted or assumed; None if it is unknown."""
    replicated: int
    """How many candidates have more than one result."""
    held_out: tuple[HeldOut, ...]
    """The measured candidates, in the order of their first result."""
    outliers: tuple[Outlier, ...]
    """The farthest first."""
    columns: tuple[ColumnRelevance, ...]
    """The columns that differ between candidates, the most relevant first."""
    target: str
    dependence: tuple[PartialDependence, ...] = ()
    """The estimate at each value of the most relevant columns, at most nine, averaged over the
    others, with the 95 % interval of that average. Columns of more than 24 texts are left out."""
    by_similarity: bool = False
    """Whether the model sees the similarity of the candidates only: then no column matters."""
    outcomes: tuple[OutcomeCheck, ...] = ()
    """The same of the model of each target that only has limits."""

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    @property
    def noun(self) -> str:
        """What describes a candidate: a column of a table, or a variable of a space."""
        space = bool(self.held_out) and self.held_out[0].row is None
        return "variable" if space else "column"

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each measured candidate: measured, predicted from others, residual."""
        import pandas as pd

        fields = list(HeldOut.__dataclass_fields__)
        return pd.DataFrame([vars(one) for one in self.held_out], columns=fields)


def check_model(answers: Answers) -> Check:
    """Check the model behind the answers of a study."""
    model = fitted_model(answers.driver.policy)
    left_out = None if model is None else predict_left_out(model)
    far = [] if model is None else find_outliers(model)
    held_out = () if left_out is None else list_held_out(answers, left_out, far)
    skill = None if left_out is None or math.isnan(left_out.skill) else left_out.skill
    coverage = None if left_out is None or skill is None else left_out.coverage
    noise = None
    if model is not None and is_noise_known(answers, skill):
        noise = float(answers.scale.length(model.noise_scale))
    replicated = 0 if model is None else int((model.observations.counts > 1).sum())
    columns = () if model is None or skill is None else rank_columns(answers, model)
    outliers = () if model is None else list_outliers(answers, model, far)
    isolated = list_far_results(answers, {one.trial for one in outliers})
    verdict = judge_skill(skill)
    limited = answers.state.settings.outcomes
    outcomes = tuple(check_outcome(answer_target(answers, one)) for one in limited)
    sentences = [
        describe_skill(answers, model, held_out, skill, bool(outliers or isolated)),
        describe_coverage(held_out, coverage),
        *(one.sentence for one in outliers[:MOST_NAMED]),
        count_more(len(outliers)),
        *isolated[:MOST_NAMED],
        describe_lone_lead(answers),
        describe_columns(verdict, columns, answers.candidates.column_noun),
        describe_noise(answers, noise, replicated),
        *(f"{one.target}: {text}" for one in outcomes for text in one.sentences),
    ]
    return Check(
        verdict=verdict,
        sentences=tuple(text for text in sentences if text),
        skill=skill,
        coverage=coverage,
        noise=noise,
        replicated=replicated,
        held_out=held_out,
        outliers=outliers,
        columns=columns,
        target=answers.state.settings.target,
        dependence=list_curves(answers, columns),
        by_similarity=answers.candidates.by_similarity,
        outcomes=outcomes,
    )


def check_outcome(answers: Answers) -> OutcomeCheck:
    """Check the model of a target that only has limits, by the answers about it alone."""
    check = check_model(answers)
    named = (one.sentence for one in check.outliers[:MOST_NAMED])
    return OutcomeCheck(
        target=check.target,
        verdict=check.verdict,
        # The first says how well it predicts; columns and noise are those of the objective.
        sentences=(check.sentences[0], *named),
        skill=check.skill,
        coverage=check.coverage,
        noise=check.noise,
        held_out=check.held_out,
        outliers=check.outliers,
    )


def is_noise_known(answers: Answers, skill: float | None) -> bool:
    """Tell whether the noise is given, or fitted to results that differ, and not only assumed."""
    return skill is not None or answers.driver.policy.fits is None


# ---------------------------------------------------------------------- held-out results


def list_held_out(
    answers: Answers, left_out: LeaveOneOut, outliers: Sequence[LeftOut]
) -> tuple[HeldOut, ...]:
    """List the predictions by candidate, in the target's units."""
    measured = answers.scale.outward(left_out.measured)
    predicted, sd = answers.scale.outward(left_out.predicted), answers.scale.length(left_out.sd)
    residuals, predicted = (measured - predicted) / sd, answers.scale.estimate(left_out.predicted)
    low, high = np.sort([answers.scale.estimate(end) for end in left_out.interval], axis=0)
    trials, far = trials_by_point(answers), {one.place for one in outliers}
    found = []
    for place, point in enumerate(left_out.points):
        own = trials[(point + 0.0).tobytes()]
        value, residual, number = float(measured[place]), float(residuals[place]), own[0].row
        told = [one.value for one in own if one.value is not None]
        average = average_results(told)
        side = side_of(average)
        if any(map(side_of, told)):
            # The model has a number of its own in place of a limit, which nobody measured.
            value, away = float(average), (average - float(predicted[place])) / float(sd[place])
            residual = {BELOW: min(away, 0.0), ABOVE: max(away, 0.0)}.get(side or "", 0.0)
        found.append(
            HeldOut(
                row=answers.candidates.number(number),
                trials=tuple(trial.number for trial in own),
                measured=value,
                predicted=float(predicted[place]),
                sd=float(sd[place]),
                low=float(low[place]),
                high=float(high[place]),
                residual=residual,
                outlier=place in far,
                beyond=side or "",
                label=answers.candidates.names_of(number),
            )
        )
    order = {trial.number: place for place, trial in enumerate(answers.state.results)}
    return tuple(sorted(found, key=lambda one: order[one.trials[0]]))


def trials_by_point(answers: Answers) -> dict[bytes, list[Trial]]:
    """Return the trials with a value that the policy has learnt, by their point."""
    driver, found = answers.driver, dict[bytes, list[Trial]]()
    for trial in answers.state.results:
        if trial.value is not None and driver.knows(trial.row):
            point: Array = driver.coordinates(trial.row) + 0.0
            found.setdefault(point.tobytes(), []).append(trial)
    return found


def list_outliers(
    answers: Answers, model: FittedModel, outliers: Sequence[LeftOut]
) -> tuple[Outlier, ...]:
    """List the results to look at: of each candidate far out, that farthest from the prediction."""
    trials, found = trials_by_point(answers), []
    for one in outliers:
        predicted = float(answers.scale.outward(one.predicted))
        sd = float(answers.scale.length(one.sd))
        measured = float(answers.scale.outward(model.observations.means[one.place]))
        own = trials[(model.observations.points[one.place] + 0.0).tobytes()]
        values = [(trial.number, trial.row, float(trial.value or 0.0)) for trial in own]
        number, row, value = max(values, key=lambda item: abs(item[2] - predicted))
        residual = (measured - predicted) / sd
        away = f"{abs(residual):.1f}" if abs(residual) < 10 else f"{abs(residual):.0f}"
        estimate = float(answers.scale.estimate(one.predicted))
        sentence = (
            f"Trial {number} ({answers.candidates.name(row)}, {value:.6g}) is {away} sd from what "
            f"the other results predict ({format_near(estimate, sd)}): check it, and "
            "correct it if it is wrong (study correct)."
        )
        shown = answers.candidates.number(row)
        found.append(Outlier(number, shown, value, estimate, residual, sentence))
    return tuple(found)


def list_far_results(answers: Answers, named: Collection[int]) -> list[str]:
    """Name results far from all others, those of the same candidate included.

    Among repeated measurements a wrong result raises the fitted noise, and the mean of its
    candidate is then no longer far from what the others predict.
    """
    every, first_rows = latest_values(answers.state), answers.candidates.first_rows
    counts = Counter(int(first_rows[one.row]) for one in every)
    found = []
    for i, one in enumerate(every):
        others = other_values(every, i)
        repeated = counts[int(first_rows[one.row])] > 1 and one.trial not in named
        if repeated and is_unusual(one.value, others):
            found.append(
                f"Trial {one.trial} ({answers.candidates.name(one.row)}, {one.value:.6g}) is far "
                f"from all other results ({min(others):.6g} to {max(others):.6g}), those of the "
                f"same {answers.candidates.noun} included: check it, and correct it if it is "
                "wrong (study correct)."
            )
    return found


def describe_lone_lead(answers: Answers) -> str:
    """Say that the recommended row leads by a single result; "" if it does not."""
    arm = answers.recommended_arm
    if arm is None or not answers.stands_alone(arm):
        return ""
    name = answers.name(arm)
    return f"{name[0].upper()}{name[1:]} has the best estimate, but {STANDS_ALONE}."


def count_more(outliers: int) -> str:
    more = outliers - MOST_NAMED
    return f"{format_count(more, 'more result')} of this kind." if more > 0 else ""


# ---------------------------------------------------------------------- columns


def rank_columns(answers: Answers, model: FittedModel) -> tuple[ColumnRelevance, ...]:
    """Return the columns that differ between candidates, the most relevant first."""
    # A table without any column that varies has one block, of no column.
    blocks = dict(zip(answers.candidates.varying, answers.candidates.blocks, strict=False))
    sides = answers.candidates.side_lengths()
    found = share_variance(model, answers.driver.all_points(), list(blocks.values()))
    columns = []
    for (name, block), one in zip(blocks.items(), found, strict=True):
        lengths = model.block_lengthscales(block)
        typical = None if lengths is None else float(np.exp(np.log(lengths).mean()))
        if typical is not None and len(block) == 1:
            typical /= float(sides[block[0]])
        log = name in answers.candidates.log
        shares = (one.share, one.low, one.high, one.alone)
        columns.append(ColumnRelevance(name, *shares, typical, log))
    return tuple(sorted(columns, key=lambda one: -one.share))


def list_curves(
    answers: Answers, columns: Sequence[ColumnRelevance]
) -> tuple[PartialDependence, ...]:
    """List the partial dependence on each of the most relevant columns."""
    model = model_of_answers(answers.driver.policy) if columns else None
    if model is None:
        return ()
    few = [one.column for one in columns if count_levels(answers, one.column) <= MOST_LEVELS]
    return tuple(compute_dependence(answers, name, model) for name in few[:MOST_CURVES])


# ---------------------------------------------------------------------- sentences


def describe_skill(
    answers: Answers,
    model: FittedModel | None,
    held_out: Sequence[HeldOut],
    skill: float | None,
    has_outliers: bool,
) -> str:
    """Say how well held-out results are predicted, and what to do if badly."""
    if not answers.has_results:
        return "There is no result yet, so there is no model to check."
    if model is None:
        policy = answers.state.settings.policy
        return f"The policy {policy} has no model of all results that could be checked."
    if not held_out:
        return (
            f"Too early to say: predictions are checked from {FEWEST_POINTS} different candidates "
            f"with a result on (so far: {len(model.observations)})."
        )
    if skill is None:
        return (
            "All results are equal, so there is nothing to predict: measure "
            f"{answers.candidates.noun}s that differ more, or check the scale of the target."
        )
    explained = f"it explains {100 * skill:.0f} % of their variance"
    if skill >= GOOD:
        return f"The model predicts held-out results well ({explained})."
    few = ""
    if len(held_out) < FEW:
        few = f" With {len(held_out)} candidates measured, this may be chance."
    if skill >= USEFUL:
        return (
            f"The model predicts held-out results roughly ({explained}): its estimates are a "
            f"guide, not more.{few}"
        )
    what = f"hardly better than the mean of the others ({explained})"
    if skill <= 0:
        what = "no better than the mean of the others"
    place = answers.candidates
    advice = (
        f"Measure more {place.noun}s, check whether the {place.column_noun}s "
        f"describe what matters, and check the scale of the target.{few}"
    )
    if has_outliers:
        advice = "A result that is far from all others may be the reason; look at it first."
    return f"The model predicts held-out results {what}: do not rely on its estimates yet. {advice}"


def describe_coverage(held_out: Sequence[HeldOut], coverage: float | None) -> str:
    """Say whether the 95 % intervals hold as many results as they should."""
    if coverage is None:
        return ""
    n = len(held_out)
    inside = round(coverage * n)
    hold = f"95 % intervals hold {inside} of {n} held-out results"
    if float(bdtr(inside, n, 0.95)) < TOO_NARROW:
        return (
            f"Its {hold}: they are too narrow, so probabilities and expected losses are too "
            "optimistic."
        )
    return f"Its {hold}."


def describe_columns(verdict: str, columns: Sequence[ColumnRelevance], noun: str = "column") -> str:
    """Say which columns matter, if the model predicts well enough to know."""
    if not columns:
        return ""
    if verdict == "poor":
        return f"Which {noun}s matter cannot be said while the model predicts so badly."
    idle = [one.column for one in columns if one.high < NO_INFLUENCE]
    matter = [one for one in columns if one.column not in idle][:MOST_NAMED]
    named = ", ".join(f"{one.column} ({100 * one.share:.0f} %)" for one in matter)
    text = f"The estimates depend most on {named}." if len(columns) > 1 and named else ""
    if idle:
        more = len(idle) - MOST_NAMED
        others = f" and {format_count(more, f'more {noun}')}" if more > 0 else ""
        text += f" No influence is visible of {', '.join(idle[:MOST_NAMED])}{others}."
    return text.strip()


def describe_noise(answers: Answers, noise: float | None, replicated: int) -> str:
    """Say what the noise is taken for, and on which grounds."""
    given, own = answers.state.settings.noise, answers.driver.policy.fits
    if noise is None and (not answers.has_results or own is None):
        return ""
    if given is not None and own is not None and not own.noise_contradicted:
        said = f"Noise: you gave an sd of {given:g} for one result"
        if not replicated:
            # Without repeats a noise given too small looks like deviations of single candidates.
            again = f"so measure one {answers.candidates.noun} again to check that"
            return f"{said}; no candidate was measured twice, {again}."
        return f"{said}, and no result contradicts it."
    if noise is None:
        advice = f"; measure one {answers.candidates.noun} twice to know it"
        return f"Noise: not known yet{'' if replicated else advice}."
    word = "fitted" if answers.driver.policy.takes_kernel is False else "assumed"
    size = f"Noise: {word} sd {format_number(noise, 2, thousands=False)} of one result"
    if not replicated:
        again = f"so measure one {answers.candidates.noun} again to know it"
        return f"{size}; no candidate was measured twice, {again}."
    return f"{size}; {format_count(replicated, 'candidate')} measured more than once."
