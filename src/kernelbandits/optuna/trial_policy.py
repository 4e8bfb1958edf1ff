"""A policy that has learnt the finished trials of a study, whichever process ran them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from kernelbandits.checks import LARGEST_REWARD, DataNotice
from kernelbandits.optuna.attributes import has_constraints, read_attribute, write_attribute
from kernelbandits.policies import Auto, Choice
from kernelbandits.policies.stored import CODEC

DIGEST_BYTES = 12


class FinishedTrial(NamedTuple):
    """A finished trial as a policy sees it."""

    number: int
    """The number of the trial."""
    place: Any
    """The number of an arm, or a point of the box."""
    reward: float | None
    """What is maximised; None if there is no result."""


class TrialPolicy:
    """`Auto`, told the results of a study in the order in which they were completed.

    The results of the study decide what it has learnt, not the calls: what it was told before is
    used only if it is the beginning of the results that there are now. Otherwise it starts again.
    Learning many results at once and one by one is the same to the last bit, so a study that is
    continued in another process continues exactly.

    Parameters
    ----------
    make
        Makes the policy without results.
    """

    def __init__(self, make: Callable[[], Auto[Any]]) -> None:
        self._make = make
        self.places: dict[tuple[float, int], Any] = {}
        """Finished trials, by their completion, and their places: computed once."""
        self._restart()

    def _restart(self) -> None:
        self.policy = self._make()
        self.known: list[FinishedTrial] = []
        """The results that the policy was told, in order."""
        self._digest = digest_model(self.policy)
        self._digests: list[str] = []
        """For each number of rewards a digest of all that a fit to so many depends on."""
        self._stored: set[int] = set()
        """The numbers of rewards of the fits that are stored with trials."""

    def learn(self, results: Sequence[FinishedTrial], trials: Sequence[FrozenTrial]) -> None:
        """Learn what is new among all results; fits that are stored with trials are taken over."""
        if list(results[: len(self.known)]) != self.known:
            self._restart()
        fresh = results[len(self.known) :]
        if not fresh:
            return
        before = len(self._digests)
        for result in fresh:
            if result.reward is not None:
                self._digest.update(json.dumps([result.place, result.reward]).encode())
                self._digests.append(self._digest.hexdigest())
        due = self.policy.fits.last_due(before, len(self._digests))
        if due:
            self._take_fit(due, trials)
        pairs = [(self.choice(result.place), result.reward) for result in fresh]
        self.policy.tell_all(pairs)
        self.known = list(results)

    def _take_fit(self, number: int, trials: Sequence[FrozenTrial]) -> None:
        """Take the fit to so many rewards from the trial it is stored with, if there is one."""
        name = self._fit_name(number)
        for trial in reversed(trials):
            body = read_attribute(trial, name)
            if body is not None:
                self.policy.fits.adopt({number: body})
                self._stored.add(number)
                return

    def _fit_name(self, number: int) -> str:
        return f"fit:{number}:{self._digests[number - 1]}"

    def store_fit(self, study: Study, trial: FrozenTrial) -> None:
        """Store the last fit with a trial, so that other processes need not make it again."""
        made = self.policy.fits.made
        number = max(made, default=0)
        if number and number not in self._stored:
            write_attribute(study, trial, self._fit_name(number), CODEC.encode(made[number]))
            self._stored.add(number)

    def choice(self, place: Any) -> Choice:
        """Return the choice of an arm or a point."""
        return self.policy.choice(place)

    def ask(self, trial: FrozenTrial, pending: Sequence[Any]) -> Choice:
        """Choose for a trial, while the results of other places are still to come."""
        return self.policy.ask(trial.number + 1, pending=[self.choice(one) for one in pending])


def digest_model(policy: Auto[Any]) -> blake2b:
    """Return a digest of what a fit depends on beside the rewards: version, noise and domain."""
    settings = json.dumps([policy.revision, policy.noise]).encode()
    if policy.finite:
        # Thousands of arms are known by their bytes: as text they would take seconds.
        domain = policy.domain.points.tobytes()
    else:
        domain = json.dumps(CODEC.encode(policy.domain)).encode()
    return blake2b(settings + domain, digest_size=DIGEST_BYTES)


class StudyReader:
    """The trials of a study as results and pending points, with notices about what is unusual.

    A notice is given once for each kind.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._noticed: set[str] = set()

    def notice(self, kind: str, text: str) -> None:
        """Say something that the user would want to know, once."""
        if kind not in self._noticed:
            self._noticed.add(kind)
            warnings.warn(f"{self.owner}: {text}", DataNotice, stacklevel=2)

    def list_finished(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Return the finished trials in the order in which they were completed.

        Pruned trials are left out: what they reported is not learnt, and to be stopped is no
        failure.
        """
        done = [trial for trial in trials if trial.state.is_finished()]
        kept = [trial for trial in done if trial.state != TrialState.PRUNED]
        if len(kept) < len(done):
            text = (
                "pruned trials are neither results nor failures: what they reported is not learnt"
            )
            self.notice("pruned", text)
        return sorted(kept, key=completion)

    def list_awaited(self, trials: Sequence[FrozenTrial], own: FrozenTrial) -> list[FrozenTrial]:
        """Return the other trials that count as pending: those that run, and those pruned.

        The result of a pruned trial never comes. But a policy that knew nothing of it would suggest
        its parameters again, and they would be pruned again.
        """
        states = (TrialState.RUNNING, TrialState.PRUNED)
        return [one for one in trials if one.state in states and one.number != own.number]

    def results(
        self,
        finished: Sequence[FrozenTrial],
        direction: StudyDirection,
        place_of: Callable[[dict[str, Any]], Any],
        places: dict[tuple[float, int], Any],
    ) -> list[FinishedTrial]:
        """Return finished trials as results; those without a place are left out.

        `place_of` gives the place of parameters, or None; `places` are those of earlier calls.
        """
        sign = 1.0 if direction == StudyDirection.MAXIMIZE else -1.0
        found = []
        for trial in finished:
            key = completion(trial)
            if key not in places:
                places[key] = place_of(trial.params)
            place = places[key]
            if place is not None:
                found.append(FinishedTrial(trial.number, place, self._reward(trial, sign)))
        return found

    def _reward(self, trial: FrozenTrial, sign: float) -> float | None:
        """Return what is maximised, or None for a trial without a result that can be used."""
        if trial.state != TrialState.COMPLETE or trial.value is None:
            return None
        if not abs(trial.value) <= LARGEST_REWARD or math.isnan(trial.value):
            text = f"trial {trial.number} has the value {trial.value}; it counts as failed"
            self.notice("infinite", text)
            return None
        return sign * float(trial.value)


def completion(trial: FrozenTrial) -> tuple[float, int]:
    """Return when a trial was completed, and its number."""
    when = trial.datetime_complete
    return (when.timestamp() if when is not None else 0.0), trial.number


def check_study(owner: str, study: Study) -> None:
    """Refuse a study with several objectives."""
    if len(study.directions) != 1:
        raise ValueError(
            f"{owner} needs a study with one objective, got {len(study.directions)}; "
            "optuna.samplers.TPESampler and GPSampler take several"
        )


def check_trials(owner: str, trials: Sequence[FrozenTrial]) -> None:
    """Refuse trials with values of constraints, of which there is no model."""
    for trial in trials:
        if trial.system_attrs and has_constraints(trial):
            raise ValueError(
                f"{owner} needs trials without constraints, got them in trial {trial.number}; "
                "optuna.samplers.TPESampler and GPSampler take constraints"
            )
