"""Whether to stop: a confidence statement if theory has one, else the expected improvement."""

from __future__ import annotations

import math
from dataclasses import replace

from kernelbandits.formatting import format_number, format_share
from kernelbandits.insight.tolerance import ENOUGH
from kernelbandits.study.answers import Answers
from kernelbandits.study.settings import FRONT
from kernelbandits.study.units import FIRST
from kernelbandits.study.values import LIKELY, Stop
from kernelbandits.study.words import STANDS_ALONE, name_sample
from kernelbandits.theory import Band
from kernelbandits.theory.bands import format_rounded_up

NAMED = 10
"""Rows are listed by number if there are at most this many."""

TOLERANCE_HINT = "To get a yes or no, say how much you are willing to lose: tolerance=0.02"
"""Ends the answer while the study has no tolerance. The command line writes its own."""


GO_ON, LOOK, STOP = "go on", "look", "enough"
"""The colours of the stop light: measure on, somebody has to look first, nothing is worth it."""


def stop(answers: Answers) -> Stop:
    """Return whether to stop, with the reason in one or two sentences, and as a stop light."""
    found = answer_stop(answers)
    light, why = choose_light(answers, found)
    return replace(found, light=light, headline=f"{light.capitalize()}: {why}.")


def choose_light(answers: Answers, found: Stop) -> tuple[str, str]:
    """Return the colour of the stop light and its reason.

    It is "enough" where the answer is yes. It is "look" where somebody has to decide or to check
    something before more is measured: the best row leads by a single result that may be a slip, the
    model predicts poorly or the results contradict it, or without a tolerance, what is left to gain
    is probably below the noise of one result. Else it is "go on".
    """
    arm = answers.recommended_arm
    if arm is None:
        return GO_ON, "there is no result yet"
    candidates, row = answers.candidates, answers.row(arm)
    name = name_sample(candidates.number(row), candidates.names(row), candidates.x(row))
    if found.may_stop:
        return STOP, f"stop with {name}"
    if early := answers.describe_early():
        return GO_ON, early
    if answers.state.settings.goal == FRONT:
        return GO_ON, "the front may grow: its hypervolume over time shows how fast"
    if not answers.is_feasible(arm):
        return GO_ON, f"nothing measured is known to meet {answers.limits}"
    if answers.stands_alone(arm):
        return LOOK, f"{name} leads by a single result, measure it again"
    if answers.caution:
        return LOOK, "the model does not predict the results yet"
    if found.kind == "theory" and found.left is None:
        return LOOK, "the results contradict the settings"
    target, tolerance = answers.state.settings.target, answers.state.settings.tolerance
    if found.probability is not None:
        sure = format_share(floor_percent(found.probability))
        return (
            GO_ON,
            f"{name} is good enough with probability {sure}, {format_share(ENOUGH)} needed",
        )
    if found.kind == "improvement" and tolerance is None:
        noise = answers.noise_at(arm)
        if noise and answers.probability_within(arm, noise) >= ENOUGH:
            return LOOK, "what is left to gain is below the noise of one result"
    if found.left is None:
        return GO_ON, f"the spread of {target} is not known yet"
    how = "at most" if found.kind == "theory" else "on average"
    return GO_ON, f"{format_number(found.left, 2)} ({target}) are left to gain {how}"


def answer_stop(answers: Answers) -> Stop:
    """Return whether to stop, with the reason in one or two sentences.

    With fewer than five results, or only equal ones, the scale of the target is unknown, and no
    number can be compared with a tolerance: the answer is no, unless nothing is left to find.
    """
    target, first = answers.state.settings.target, answers.state.first_values
    arm = answers.recommended_arm
    if arm is None:
        missing = "no allowed row has a result" if answers.has_results else "there is no result"
        return Stop("none", f"No: {missing} yet.", False, None)
    if not answers.is_feasible(arm) and not answers.all_measured:
        chance = format_share(answers.feasibility(arm))
        text = (
            f"No: no measured {answers.candidates.noun} is known to meet {answers.limits}. "
            f"The most probable one is {answers.name(arm)}, with probability {chance}; "
            f"{format_share(LIKELY)} are needed."
        )
        return Stop("none", text, False, None)
    values = {trial.value for trial in answers.state.results if trial.value is not None}
    if reason := describe_exhaustion(answers, values):
        return Stop("none", f"Yes: {reason}.", True, 0.0)
    if answers.state.settings.goal == FRONT:
        text = "No: a front is never known to be complete. Its hypervolume over time says how much "
        return Stop("none", f"{text}the last measurements have added.", False, None)
    # The units of a desirability are known, but not what the model of a few results is worth.
    settings = answers.state.settings
    known = settings.centre is not None and not settings.combined
    if not known and (len(first) < FIRST or len(values) == 1):
        reason = "all results are equal"
        if len(first) < FIRST:
            reason = f"at least {FIRST} results are needed (so far: {len(first)})"
        sentence = f"No: the spread of {target} is not known yet: {reason}."
        return Stop("none", sentence, False, None)
    band = answers.band
    return stop_by_improvement(answers, arm) if band is None else stop_by_band(answers, arm, band)


def describe_exhaustion(answers: Answers, values: set[float]) -> str:
    """Say why no further measurement can find a better row; "" if one can."""
    if answers.allowed_count == 1:
        return "there is no other allowed candidate"
    noise = answers.state.settings.noise
    if not answers.all_measured or noise:
        return ""
    if noise == 0:
        return "every allowed candidate was measured, and you said that results have no noise"
    # Results with noise would not all be the same number.
    return "every allowed candidate was measured, with the same result" if len(values) == 1 else ""


def stop_by_band(answers: Answers, arm: int, band: Band) -> Stop:
    """Say by how much the recommended row can be worse than the best one."""
    if band.contradiction:
        return Stop("theory", f"No: {band.sentence()[0].lower()}{band.sentence()[1:]}", False, None)
    loss = float(answers.scale.gain(band.simple_regret(arm)))
    target = answers.state.settings.target
    most = f"{answers.name(arm)} is at most {format_rounded_up(loss)} ({target}) worse than it"
    text = (
        f"with probability at least {1 - band.delta:.6g} the best row is "
        f"{describe_candidates(answers, band)}, and {most}."
    )
    return compare_with_tolerance(answers, "theory", text, loss)


def describe_candidates(answers: Answers, band: Band) -> str:
    rows, n = [answers.name(arm) for arm in band.candidates], len(answers.driver.rows)
    if len(rows) == 1:
        return rows[0]
    named = f" ({', '.join(rows)})" if len(rows) <= NAMED else ""
    return f"any of the {n} rows" if len(rows) == n else f"among {len(rows)} of {n} rows{named}"


def stop_by_improvement(answers: Answers, arm: int) -> Stop:
    """Say how probable a loss within the tolerance is, and what is lost on average.

    The answer is yes if that is probable enough (`ENOUGH`), unless the row leads by a single result
    or the model predicts poorly.
    """
    left, settings = answers.improvement(arm), answers.state.settings
    name, noun = answers.name(arm), answers.candidates.noun
    model = "This is an estimate of the model, not a guarantee."
    model += f" {answers.caution}" if answers.caution else ""
    loss = f"{left:.3g} ({settings.target}) on average against the best {noun}{answers.comparison}"
    if settings.tolerance is None:
        text = f"If you stop with {name}, you lose {loss}. {model} {TOLERANCE_HINT}"
        return Stop("improvement", text, None, left)
    chance = answers.probability_within(arm, settings.tolerance)
    verdict, more = judge_probability(answers, arm, chance, settings.tolerance)
    text = (
        f"{verdict}: with probability {format_share(floor_percent(chance))} {name} is within "
        f"the tolerance of {settings.tolerance:g} of the best {noun}; if you stop with it, you "
        f"lose {loss}.{more} {model}"
    )
    return Stop("improvement", text, verdict == "Yes", left, chance)


def floor_percent(share: float) -> float:
    """Round down to whole percent: 89.7 % is less than the 90 % that a yes needs."""
    return math.floor(100 * share) / 100


def judge_probability(
    answers: Answers, arm: int, chance: float, tolerance: float
) -> tuple[str, str]:
    """Return "Yes" or "Not yet", and what a yes still needs.

    That the lead of the row may be luck is in the probability already, and so are rows that the
    model may misjudge (`LeaveOneOut.trust`).
    """
    if chance < ENOUGH:
        return "Not yet", f" A yes needs {format_share(ENOUGH)}."
    if answers.stands_alone(arm):
        return "Not yet", f" {STANDS_ALONE.capitalize()}."
    if not answers.all_measured and not answers.predicts:
        return "Not yet", (
            " A yes needs a model that predicts held-out results, and this one does so poorly."
        )
    if answers.improvement(arm) > tolerance:
        return "Yes", " That is nothing in most cases, and much in a few."
    return "Yes", ""


def compare_with_tolerance(answers: Answers, kind: str, text: str, left: float) -> Stop:
    """Answer yes or no by the tolerance; without one say how to get such an answer."""
    tolerance = answers.state.settings.tolerance
    if tolerance is None:
        return Stop(kind, f"{text[0].upper()}{text[1:]} {TOLERANCE_HINT}", None, left)
    verdict = "Yes, within" if left <= tolerance else "Not yet, above"
    return Stop(kind, f"{verdict} the tolerance of {tolerance:g}: {text}", left <= tolerance, left)
