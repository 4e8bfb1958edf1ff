"""May one stop here: a confidence statement where the theory has one, else the improvement expected."""

from __future__ import annotations

import warnings
from typing import Any

from kernelbandits.checks import TheoryWarning
from kernelbandits.study.answers import Answers
from kernelbandits.study.settings import AUTO
from kernelbandits.study.units import FIRST
from kernelbandits.study.values import Stop
from kernelbandits.theory import Band, confidence_band
from kernelbandits.theory.bands import format_rounded_up

NAMED = 10
"""So many rows are named."""


def stop(answers: Answers) -> Stop:
    target, first = answers.state.settings.target, answers.state.first_values
    arm = answers.recommended
    if arm is None:
        missing = "no allowed row has a value" if answers.known else "nothing is known"
        return Stop("none", f"No: {missing} yet.", False, None)
    if answers.state.settings.centre is None and (len(first) < FIRST or len(set(first)) == 1):
        told = f"{len(first)} results" if len(first) < FIRST else "equal results"
        return Stop("none", f"No: {told} are too few to know the scale of {target}.", False, None)
    band = proved(answers)
    return expected(answers, arm) if band is None else bounded(answers, arm, band)


def proved(answers: Answers) -> Band | None:
    """Where R, D, centre and spread were fixed beforehand and every result counts as it came."""
    settings = answers.player.policy.settings
    given: Any = [settings.get(name) for name in ("noise_scale", "norm_bound")]
    every = len(answers.allowed) == len(answers.player.rows)
    if answers.state.settings.policy == AUTO or doubts(answers) or None in given or not every:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TheoryWarning)
            return confidence_band(
                answers.player.policy.posterior, given[0], given[1], answers.state.settings.delta
            )
    except ValueError:
        return None


def bounded(answers: Answers, arm: int, band: Band) -> Stop:
    """What the row recommended loses at most."""
    if band.contradiction:
        return Stop("theory", f"No: {band.sentence()[0].lower()}{band.sentence()[1:]}", False, None)
    loss = float(answers.scale.length(band.simple_regret(arm)))
    target = answers.state.settings.target
    most = f"row {answers.row(arm)} loses at most {format_rounded_up(loss)} of {target}"
    text = (
        f"with chance at least {1 - band.delta:.6g} the best is {among(answers, band)}, and {most}."
    )
    return judged(answers, "theory", text, loss)


def among(answers: Answers, band: Band) -> str:
    rows, n = [answers.row(arm) for arm in band.candidates], len(answers.player.rows)
    if len(rows) == 1:
        return f"row {rows[0]}"
    named = f" ({', '.join(map(str, rows))})" if len(rows) <= NAMED else ""
    return f"any of the {n} rows" if len(rows) == n else f"among {len(rows)} of {n} rows{named}"


def expected(answers: Answers, arm: int) -> Stop:
    """What the row recommended loses on average."""
    left, row = answers.improvement(arm), answers.row(arm)
    loss = f"{left:.3g} of {answers.state.settings.target} on average{answers.comparison}"
    return judged(
        answers,
        "improvement",
        f"stopping with row {row} loses {loss}, by the model (no guarantee).",
        left,
    )


def judged(answers: Answers, kind: str, text: str, left: float) -> Stop:
    """Yes or no by the tolerance; without one it is for the reader to say."""
    tolerance = answers.state.settings.tolerance
    if tolerance is None:
        return Stop(
            kind,
            f"{text[0].upper()}{text[1:]} A tolerance would make this a yes or no.",
            None,
            left,
        )
    verdict = "Yes, within" if left <= tolerance else "Not yet, beyond"
    return Stop(kind, f"{verdict} the tolerance {tolerance:g}: {text}", left <= tolerance, left)


def doubts(answers: Answers) -> list[str]:
    """Why the theory does not speak here: what it takes as given was chosen by the results."""
    state = answers.state
    reasons = {
        "centre and spread are fitted to the results": state.settings.centre is None,
        "results failed": any(trial.value is None for trial in state.results),
        "results were corrected": any(event.kind == "corrected" for event in state.standing),
        "results were withdrawn or taken back": state.taken_back,
        "settings were changed when results were known": state.meddled,
        "the log was salvaged": state.patchy,
    }
    return [reason for reason, holds in reasons.items() if holds]


def exceptions(answers: Answers) -> list[str]:
    """Why the regret of the policy is not what its theorem says: others had a say in what was played."""
    trials = answers.state.trials.values()
    reasons = {
        "costs count": answers.candidates.cost is not None,
        "some rows are not allowed": len(answers.allowed) < len(answers.player.rows),
        "rows are not repeated": answers.state.settings.repeats is False,
        "rows were told that nobody asked for": any(trial.asked is None for trial in trials),
        "rows were asked for while others were pending": any(trial.crowded for trial in trials),
        "rows were offered again": any(trial.again for trial in trials),
    }
    return [reason for reason, holds in reasons.items() if holds]
