"""Whether what a study has in memory is what its events say."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits.formatting import format_count
from kernelbandits.policies.stored import CODEC
from kernelbandits.storage import Finding
from kernelbandits.study import fits
from kernelbandits.study.driver import Driver, build_driver
from kernelbandits.study.events import State

UNCERTAIN = 1e-6
"""Relative errors of variances beyond this are worth a word."""


def check_memory(driver: Driver, state: State) -> list[Finding]:
    """Compute state, policy and posterior again from the events, and compare."""
    found = [check_state(state), check_policy(driver, state), check_posterior(driver)]
    found += check_fit(driver, state)
    for name, own in driver.part_states(state).items():
        part = driver.parts[name]
        parts = [check_policy(part, own), check_posterior(part), *check_fit(part, own)]
        found += [replace(one, sentence=f"{name}: {one.sentence}") for one in parts]
    return found


def check_fit(driver: Driver, state: State) -> list[Finding]:
    """Make the last stored fit that counts again, and compare.

    A stored fit is what the policy chooses by. Another release or machine may make another one from
    the same results; that is no damage.
    """
    revision = driver.policy.revision
    known = fits.find_valid(state, revision, driver.candidates)
    if not known:
        return []
    number = max(known)
    fresh = build_driver(driver.candidates, state.settings)
    fresh.follow_without_fits(state, number)
    own = fresh.policy.fits
    made = None if own is None else own.made.get(number)
    if made is None:
        return [Finding(False, "fit", f"no fit is due after {format_count(number, 'result')}")]
    difference = fits.compare_fits(CODEC.decode(known[number]), made)
    same = f"the fit to {format_count(number, 'result')} was made again"
    verdict = difference or "all numbers are the same"
    return [Finding(True, "fit", f"{same}: {verdict}")]


def check_state(state: State) -> Finding:
    fresh = State.of(state.events)
    same = summarise_state(fresh) == summarise_state(state)
    there = "are" if same else "are not"
    return Finding(
        same,
        "state",
        f"{format_count(len(fresh.results), 'result')} and {len(fresh.pending)} pending {there} "
        "as the events say",
    )


def summarise_state(state: State) -> list[Any]:
    """Return all that a fold says, to compare it with that of another fold."""
    trials = [(one.number, one.row, one.state, one.value) for one in state.trials.values()]
    order = [one.number for one in state.results]
    waiting = [sorted(state.pending), sorted(state.abandoned)]
    return [
        trials,
        order,
        waiting,
        state.counts,
        state.failures,
        state.keys,
        state.settings,
        state.scaled,
    ]


def check_policy(driver: Driver, state: State) -> Finding:
    fresh = build_driver(driver.candidates, state.settings)
    fresh.follow(state)
    parts = zip(fresh.compared_estimates(), driver.compared_estimates(), strict=True)
    same = all(np.array_equal(*pair) for pair in parts)
    return Finding(
        same,
        "replay",
        "a policy rebuilt from the events has "
        f"{'the same' if same else 'different'} estimates, to the last digit",
    )


def check_posterior(driver: Driver) -> Finding:
    posterior = copy.deepcopy(driver.policy.posterior)
    repaired, health = posterior.audit(), posterior.health
    sure = not repaired and health.conditioning <= UNCERTAIN
    agreement = "differ by more than rounding" if repaired else "agree"
    found = f"the stored factorisation and one computed anew {agreement}"
    return Finding(
        sure, "posterior", f"{found}; relative error of variances about {health.conditioning:.1g}"
    )
