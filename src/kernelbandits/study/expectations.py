"""What the other results predict of results that nobody had asked for, to notice slips in them.

The result of a suggested row is compared with the estimate that is stored with its ask
(`plausibility.expect_result`). Of a row that nobody asked for there is none, so the model is asked
when its result has been stored.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelbandits.checks import Array
from kernelbandits.study.events import State, Trial
from kernelbandits.study.plausibility import ENOUGH, Expected
from kernelbandits.study.settings import AUTO
from kernelbandits.study.values import Told

if TYPE_CHECKING:
    from kernelbandits.study.answers import Answers
    from kernelbandits.study.session import StudySession

MOST_RESULTS = 200
"""With more results a tell would wait for the model too long."""
MOST_CANDIDATES = 100_000
"""The model of more candidates takes seconds."""


def expect_told(session: StudySession, told: Sequence[Told]) -> dict[int, Expected]:
    """Return what was to be expected of results just told, by trial; to be used under the lock.

    Where enough results were known before, they predict the new ones. Otherwise each is predicted
    from all others, old and new, as `check` does.
    """
    state, place = session.state, session.candidates
    fresh = [state.trials[one.trial] for one in told if one.accepted and not one.corrected]
    fresh = [one for one in fresh if one.asked is None and one.value is not None]
    few = len(state.results) <= MOST_RESULTS and len(place) <= MOST_CANDIDATES
    modelled = state.settings.policy == AUTO and not state.settings.combined
    if not fresh or not few or not modelled or sum(state.counts.values()) <= ENOUGH:
        return {}
    known = state_without(state, fresh)
    if known is not None and sum(known.counts.values()) >= ENOUGH:
        return predict_new(session, known, fresh)
    return predict_left_out(session, fresh)


def state_without(state: State, fresh: Sequence[Trial]) -> State | None:
    """Return the state before its last results; None if these are not the last."""
    first = len(state.results) - len(fresh)
    if {id(one) for one in state.results[first:]} != {id(one) for one in fresh}:
        return None
    known = copy.copy(state)
    known.results, known.counts = state.results[:first], dict[int, int]()
    for one in known.results:
        if one.value is not None:
            known.counts[one.row] = known.counts.get(one.row, 0) + 1
    return known


def predict_new(session: StudySession, known: State, fresh: Sequence[Trial]) -> dict[int, Expected]:
    """Predict new results from those that were known before them, as an ask would."""
    from kernelbandits.study.answers import answers_of
    from kernelbandits.study.posterior_view import policy_view

    driver = session.driver
    if driver.learnt > len(known.results):
        return {}
    driver.follow(known)
    answers, found = answers_of(driver, known, policy_view(driver)), dict[int, Expected]()
    for one in fresh:
        if driver.knows(one.row):
            arm = driver.arm(one.row)
            answers.view.include(arm)
            sd = math.hypot(answers.sd(arm), answers.noise_at(arm))
            found[one.number] = Expected(answers.mean(arm), sd)
    return found


def predict_left_out(session: StudySession, fresh: Sequence[Trial]) -> dict[int, Expected]:
    """Predict each of some results from all others."""
    from kernelbandits.study.answers import answers_of
    from kernelbandits.study.posterior_view import policy_view

    driver = session.updated_driver()
    answers = answers_of(driver, session.state, policy_view(driver))
    left_out, places = answers.left_out, dict[bytes, int]()
    if left_out is None:
        return {}
    for place, point in enumerate(left_out.points):
        places[(point + 0.0).tobytes()] = place
    means = answers.scale.estimate(left_out.predicted)
    sds = answers.scale.length(left_out.sd)
    found: dict[int, Expected] = {}
    for one in fresh:
        here = places.get(key_of(answers, one))
        if here is not None:
            found[one.number] = Expected(float(means[here]), float(sds[here]))
    return found


def key_of(answers: Answers, trial: Trial) -> bytes:
    """Return the bytes by which the point of a trial is known again."""
    point: Array = answers.driver.coordinates(trial.row) + 0.0
    return point.tobytes()
