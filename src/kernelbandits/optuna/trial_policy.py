"""Policies that have learnt the outcomes of a study, whichever process ran its trials."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from optuna.trial import FrozenTrial

from kernelbandits.optuna.attributes import Attributes, slot_of
from kernelbandits.optuna.study_reader import Outcomes, Told, completion
from kernelbandits.policies import Auto, Choice
from kernelbandits.policies.outcomes import LimitedOutcome
from kernelbandits.policies.stored import CODEC

DIGEST_BYTES = 12
OBJECTIVE = "objective"
"""The name of the outcome that is maximised."""


class TrialResult(NamedTuple):
    """A trial that ended, as a policy sees it."""

    number: int
    """The number of the trial."""
    place: Any
    """The number of an arm, or a point of the box."""
    value: float | None
    """What came of it; None if there is no result."""


class TrialPolicy:
    """`Auto`, told one outcome of the trials in the order in which it became known.

    The results of the study decide what it has learnt, not the calls: what it was told before is
    used only if it is the beginning of the results that there are now. Otherwise it starts again.
    Learning many results at once and one by one is the same to the last bit, so a study that is
    continued in another process continues exactly.

    Parameters
    ----------
    name
        By which its fits are kept: of the parameters and of the outcome.
    make
        Makes the policy without results.
    """

    def __init__(self, name: str, make: Callable[[], Auto[Any]]) -> None:
        self._make = make
        self._slot = slot_of("fit", int.from_bytes(blake2b(name.encode(), digest_size=4).digest()))
        self._restart()

    def _restart(self) -> None:
        self.policy = self._make()
        self.known: list[TrialResult] = []
        """The results that the policy was told, in order."""
        self._digest = digest_model(self.policy)
        self._digests: list[str] = []
        """For each number of rewards a digest of all that a fit to so many depends on."""
        self._stored: set[int] = set()
        """The numbers of rewards of the fits that are kept with the study."""

    def learn(self, results: Sequence[TrialResult], attributes: Attributes) -> None:
        """Learn what is new among all results; fits are taken from the study, and kept there."""
        if list(results[: len(self.known)]) != self.known:
            self._restart()
        fresh = results[len(self.known) :]
        if not fresh:
            return
        before = len(self._digests)
        for result in fresh:
            if result.value is not None:
                self._digest.update(json.dumps([result.place, result.value]).encode())
                self._digests.append(self._digest.hexdigest())
        due = self.policy.fits.last_due(before, len(self._digests))
        if due:
            body = attributes.read(self._slot, self._fit_name(due))
            if body is not None:
                self.policy.fits.adopt({due: body})
                self._stored.add(due)
        self.policy.tell_all([(self.policy.choice(one.place), one.value) for one in fresh])
        self.known = list(results)
        self._keep_fit(attributes)

    def _fit_name(self, number: int) -> str:
        return f"{number}:{self._digests[number - 1]}"

    def _keep_fit(self, attributes: Attributes) -> None:
        """Keep the last fit with the study, so that other processes need not make it again."""
        made = self.policy.fits.made
        number = max(made, default=0)
        if number and number not in self._stored:
            attributes.write(self._slot, self._fit_name(number), CODEC.encode(made[number]))
            self._stored.add(number)


class StudyPolicy:
    """The policies of one space: one for each objective, one for each constraint.

    Parameters
    ----------
    name
        By which the fits are kept: it differs between spaces.
    make
        Makes the policy of an outcome without results, by the name of the outcome.
    """

    def __init__(self, name: str, make: Callable[[str], Auto[Any]]) -> None:
        self._name, self._make = name, make
        # Made now, so that what the policy would refuse is refused here.
        self.objectives = [self._make_part(OBJECTIVE)]
        self.constraints: dict[str, TrialPolicy] = {}
        self._places: dict[tuple[float, int], Any] = {}
        """Trials by their completion, and their places: computed once."""

    def _make_part(self, outcome: str) -> TrialPolicy:
        return TrialPolicy(f"{self._name}:{outcome}", lambda: self._make(outcome))

    def learn(
        self,
        outcomes: Outcomes,
        place_of: Callable[[dict[str, Any]], Any],
        attributes: Attributes,
    ) -> int:
        """Learn what is new, and return how many trials have a place in this space.

        `place_of` gives the place of parameters, or None.
        """
        located = [self._locate(told, place_of) for told in outcomes.objectives]
        del self.objectives[len(located) :]
        for number in range(len(self.objectives) + 1, len(located) + 1):
            self.objectives.append(self._make_part(f"{OBJECTIVE} {number}"))
        for objective, results in zip(self.objectives, located, strict=True):
            objective.learn(results, attributes)
        # A constraint that no trial has any more was of another study.
        self.constraints = {
            name: self.constraints.get(name) or self._make_part(f"constraint {name}")
            for name in outcomes.constraints
        }
        for name, told in outcomes.constraints.items():
            self.constraints[name].learn(self._locate(told, place_of), attributes)
        return len(located[0])

    def _locate(self, told: Told, place_of: Callable[[dict[str, Any]], Any]) -> list[TrialResult]:
        """Return trials as results; those without a place are left out."""
        found = []
        for trial, value in told:
            key = completion(trial)
            if key not in self._places:
                self._places[key] = place_of(trial.params)
            place = self._places[key]
            if place is not None:
                found.append(TrialResult(trial.number, place, value))
        return found

    def ask(self, trial: FrozenTrial, pending: Sequence[Any]) -> Choice:
        """Choose for a trial, while the results of other places are still to come."""
        policy, *others = (one.policy for one in self.objectives)
        if others:
            policy = policy.trading_off(*others)
        # In a conditional space some parameters may have no trial with a constraint.
        known = [one.policy for one in self.constraints.values() if one.policy.n_rewards]
        limits = [LimitedOutcome(one, high=0.0) for one in known]
        if limits:
            policy = policy.limited_by(*limits)
        return policy.ask(trial.number + 1, pending=[policy.choice(one) for one in pending])


def digest_model(policy: Auto[Any]) -> blake2b:
    """Return a digest of what a fit depends on beside the rewards: version, noise and domain."""
    settings = json.dumps([policy.revision, policy.noise]).encode()
    if policy.finite:
        # Thousands of arms are known by their bytes: as text they would take seconds.
        domain = policy.domain.points.tobytes()
    else:
        domain = json.dumps(CODEC.encode(policy.domain)).encode()
    return blake2b(settings + domain, digest_size=DIGEST_BYTES)
