"""What the theory needs of a study: whether its band and its regret bound apply, and the band."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from kernelbandits.checks import TheoryWarning
from kernelbandits.policies import Policy
from kernelbandits.posterior import RowPosterior
from kernelbandits.study.batches import BATCH
from kernelbandits.study.settings import AUTO
from kernelbandits.theory import Band, confidence_band
from kernelbandits.theory.bands import check_posterior, narrow_ridge

if TYPE_CHECKING:
    from kernelbandits.study.answers import Answers


def proved_band(answers: Answers) -> Band | None:
    """Return the confidence band, if R, D, centre and spread were fixed before the first result.

    Its ridge follows from R and D, so that it was fixed too; that of the policy often gives a much
    wider band. None if the theory does not apply: with auto, or where results failed or were
    changed.
    """
    policy = answers.driver.policy
    if not policy.finite:
        return None
    noise: Any = policy.settings.get("noise_scale")
    norm: Any = policy.settings.get("norm_bound")
    every = len(answers.allowed_arms) == len(answers.driver.rows)
    if (
        answers.state.settings.policy == AUTO
        or broken_premises(answers)
        or None in (noise, norm)
        or not every
    ):
        return None
    try:
        posterior = rewards_posterior(policy, noise, norm)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TheoryWarning)
            return confidence_band(posterior, noise, norm, answers.state.settings.delta)
    except ValueError:
        return None


def rewards_posterior(policy: Policy, noise_scale: float, norm_bound: float) -> RowPosterior:
    """Return the posterior of the policy's rewards at the ridge of bands.

    A policy that forgets or truncates rewards is refused.
    """
    learnt = policy.posterior
    check_posterior(learnt)
    ridge = narrow_ridge(noise_scale, norm_bound, len(learnt.points))
    posterior = RowPosterior(learnt.kernel, policy.domain, ridge)
    if learnt.events:
        posterior.learn(learnt.counts, learnt.tally.sums)
    return posterior


def broken_premises(answers: Answers) -> list[str]:
    """Return why no theorem applies to the estimates: its premises depend on the results."""
    state = answers.state
    reasons = {
        "centre and spread are fitted to the results": state.settings.centre is None,
        "measurements failed": any(trial.value is None for trial in state.results),
        "results were corrected": any(event.kind == "corrected" for event in state.standing),
        "results were withdrawn or taken back": state.taken_back,
        "settings were changed after the first result": state.settings_changed,
        "the log was salvaged": state.salvaged,
    }
    return [reason for reason, holds in reasons.items() if holds]


def broken_regret_premises(answers: Answers) -> list[str]:
    """Return why the policy's regret bound does not apply: its rule did not choose every row."""
    trials = answers.state.trials.values()
    reasons = {
        "rows are chosen by their cost too": answers.candidates.cost is not None,
        "some rows are not allowed": len(answers.allowed_arms) < len(answers.driver.rows),
        "rows are not repeated": answers.state.settings.repeats is False,
        "results came for rows that nobody asked for": any(trial.asked is None for trial in trials),
        "rows were asked for while others were pending": any(trial.is_crowded for trial in trials),
        "rows were suggested a second time": any(trial.again for trial in trials),
        "rows of a batch had to share a value or to be far apart": any(
            trial.asked and BATCH in trial.asked.body for trial in trials
        ),
    }
    return [reason for reason, holds in reasons.items() if holds]
