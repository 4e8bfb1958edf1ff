"""The judge of confidence bands: silent about sound ones, objecting to narrow ones and, where it can, to wide ones."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from broken_engines import times
from kernelbandits import widths
from kernelbandits.catalogue import POLICIES
from kernelbandits.judges import FAILS, HOLDS, Effort, oracle
from kernelbandits.judges.claims import CLAIMS, NO_BAND, Claim
from kernelbandits.judges.coverage import (
    closed_games,
    closed_widths,
    coverage,
    covered,
    error_of,
    left,
    seeds,
)
from kernelbandits.judges.orthonormal import FORMS, loses, orthonormal
from kernelbandits.judges.worlds import (
    BASIS,
    CHASED,
    CIRCLE,
    DRIFTING,
    JUMPING,
    OWN,
    PERIOD,
    PLANE,
    PRIOR,
    RATE,
    SPIKE,
)
from kernelbandits.policies import BPE
from kernelbandits.policies.elimination import Elimination
from kernelbandits.posterior import Posterior
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction
from kernelbandits.streams import Streams
from kernelbandits.theory import bands
from kernelbandits.widths import Width

QUICK = Effort(seed=0, scale=0.1)
LOOK = Effort(seed=0, scale=0.2)
pytestmark = pytest.mark.usefixtures("quiet")


# sound bands


def test_the_judge_has_nothing_to_object_to_sound_bands_and_writes_short_texts():
    findings = list(coverage(Effort(seed=3, scale=0.07)))
    assert [finding.statement for finding in findings if not finding.right] == []
    assert {finding.judge for finding in findings} == {"coverage"}
    assert len({finding.statement for finding in findings}) == len(findings) == len(CLAIMS) + 3
    assert all(max(map(len, (f.statement, f.predicted, f.observed))) <= 110 for f in findings)


def test_every_policy_of_the_catalogue_is_judged_or_said_to_claim_no_band():
    judged = {claim.policy for claim in CLAIMS.values()}
    assert judged | set(NO_BAND) == set(POLICIES)
    assert not judged & set(NO_BAND)


def test_the_same_seed_says_the_same_and_another_plays_other_games():
    claim = CLAIMS["Simple-UCB"]
    first, again, other = (covered("Simple-UCB", claim, Effort(seed, 0.1)) for seed in (0, 0, 1))
    assert first == again
    assert not set(seeds(Effort(0), 300)) & set(seeds(Effort(1), 300))
    assert first.observed != other.observed


def test_a_finding_says_how_many_runs_chance_allows_and_how_many_were_lost():
    finding = covered("Whitehouse", CLAIMS["Whitehouse"], QUICK)
    assert finding.predicted == "left in <= 0.1 of the runs (chance allows 11 of 40)"
    assert re.match(
        r"0\.\d{3} \(\d+ of 40, errors chased\), 0\.\d{3} \(\d+ of 40, own play\)", finding.observed
    )


def test_a_band_that_is_never_left_is_said_to_be_loose():
    assert "loose" in covered("GP-UCB rkhs", CLAIMS["GP-UCB rkhs"], QUICK).detail
    assert "loose" not in covered("Simple-UCB", CLAIMS["Simple-UCB"], QUICK).detail


# worlds at the premises


@pytest.mark.parametrize("seed", range(4))
def test_the_truth_has_norm_d_exactly(seed):
    streams = Streams(seed)
    for world in (CHASED, SPIKE):
        assert np.linalg.norm(world.draw(world, streams).values) == pytest.approx(
            world.norm_bound, rel=1e-12
        )
    theta = np.linalg.lstsq(CIRCLE.points, PLANE.draw(PLANE, streams).values, rcond=None)[0]
    assert np.linalg.norm(theta) == pytest.approx(PLANE.norm_bound, rel=1e-12)
    problem = RKHSFunction(OWN.kernel, 1, 12, 6, OWN.norm_bound, OWN.noise(seed))
    assert problem.function(streams).norm == pytest.approx(OWN.norm_bound, rel=1e-12)
    np.testing.assert_array_equal(OWN.draw(OWN, streams).values, problem.instance(streams).values)


def test_the_noise_is_gaussian_and_of_two_values_in_turn():
    assert [CHASED.noise(seed) for seed in range(3)] == [
        RademacherNoise(1.0),
        GaussianNoise(1.0),
        RademacherNoise(1.0),
    ]
    assert PRIOR.noise(0) == GaussianNoise(PRIOR.noise_scale)


def test_the_moving_worlds_move_as_their_models_say():
    drift = np.array(
        [
            [w.at(1), w.at(2), w.at(31)]
            for w in (DRIFTING.draw(DRIFTING, Streams(s)) for s in range(300))
        ]
    )
    first, second, late = drift.transpose(1, 0, 2).reshape(3, -1)
    error = 4 / math.sqrt(len(first))
    assert late.var() == pytest.approx(1, abs=error * math.sqrt(2))
    assert np.mean(first * second) == pytest.approx(math.sqrt(1 - RATE), abs=error * math.sqrt(2))
    jump = JUMPING.draw(JUMPING, Streams(0))
    changes = [t for t in range(2, 61) if (jump.at(t) != jump.at(t - 1)).any()]
    assert changes == [PERIOD + 1, 2 * PERIOD + 1, 3 * PERIOD + 1]


def test_before_the_first_reward_the_norm_is_all_that_a_band_has_to_spare():
    policy = CLAIMS["Whitehouse"].build(SPIKE.draw(SPIKE, Streams(0)), SPIKE)
    assert policy.index(1).max() == pytest.approx(1.0, abs=0.03)


# narrow bands


def shrunk(claim: Claim, factor: float) -> Claim:
    """The band with its half-width multiplied; an upper bound alone is drawn towards the mean."""

    def bounds(policy, t, world):
        lower, upper = claim.bounds(policy, t, world)
        middle = (lower + upper) / 2 if np.isfinite(lower).all() else policy.posterior.mean
        return middle + factor * (lower - middle), middle + factor * (upper - middle)

    return replace(claim, bounds=bounds)


LOOSE = {
    "Adaptive tree": 0.4,
    "Rarely switching OFUL": 0.45,
    "Streaming": 0.35,
    "SupKernelUCB": 0.4,
    "WGP-UCB": 0.25,
    "pi-GP-UCB": 0.25,
}
"""Bands of which half is not seen to be too narrow, and what is; of GP-UCB's rkhs schedule not even a hundredth."""
OTHER = {"GP-UCB rkhs", "BPE, the best arm", "REDS, the best arm"}


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - OTHER))
def test_half_of_the_band_is_found_too_narrow(name):
    claim = shrunk(CLAIMS[name], LOOSE.get(name, 0.5))
    world = OWN if name == "Adaptive tree" else claim.worlds[0]
    assert covered(name, replace(claim, worlds=(world,)), LOOK).verdict == FAILS


@pytest.mark.parametrize("name", ["Simple-UCB", "Whitehouse", "AMM-UCB", "IGP-UCB", "OFUL"])
def test_nine_tenths_of_the_band_are_too_narrow_where_the_norm_is_all(name):
    claim = shrunk(CLAIMS[name], 0.9)
    assert covered(name, replace(claim, worlds=(SPIKE,)), QUICK).verdict == FAILS


def test_a_band_that_forgets_one_arm_is_found():
    def bounds(policy, t, world):
        lower, upper = CLAIMS["Whitehouse"].bounds(policy, t, world)
        upper[0] = policy.posterior.mean[0]
        return lower, upper

    assert (
        covered("Whitehouse", replace(CLAIMS["Whitehouse"], bounds=bounds), QUICK).verdict == FAILS
    )


def test_noise_bounds_that_exclude_the_noise_are_found(monkeypatch):
    claim = CLAIMS["Streaming"]
    monkeypatch.setattr(
        type(claim.build(PLANE.draw(PLANE, Streams(0)), PLANE)), "_lower", lambda self, spread: 0.99
    )
    assert covered("Streaming", replace(claim, worlds=claim.worlds[1:]), QUICK).verdict == FAILS


def test_an_elimination_that_drops_the_best_arm_is_found(monkeypatch):
    monkeypatch.setattr(
        Elimination,
        "_plausible",
        lambda self: self.survivors[[self.batch.mean[self.survivors].argmax()]],
    )
    for name in ("BPE, the best arm", "REDS, the best arm"):
        assert covered(name, CLAIMS[name], QUICK).verdict == FAILS


@pytest.mark.parametrize(
    "change",
    [
        lambda band: {"regrets": band.regrets / 20},
        lambda band: {"candidates": band.candidates[1:2]},
    ],
    ids=["regrets", "candidates"],
)
def test_what_a_sound_band_wrongly_concludes_is_found(change, monkeypatch):
    sound = bands.confidence_band

    def broken(*given):
        band = sound(*given)
        return replace(band, **change(band))

    monkeypatch.setattr("kernelbandits.judges.claims.confidence_band", broken)
    assert covered("amm", CLAIMS["confidence_band, amm"], QUICK).verdict == FAILS


def test_a_batch_is_judged_as_often_as_its_union_bound_counts():
    claim, streams = CLAIMS["BPE"], Streams(0)
    policy = claim.build(CHASED.draw(CHASED, streams), CHASED)
    assert isinstance(policy, BPE)
    rounds = []
    for t in range(1, 61):
        rounds += [t] if claim.judged(policy, t, CHASED) else []
        policy.tell(policy.ask(t, streams), 0.0)
    assert rounds == [8, 30, 60]


# broken engines


def told(name: str = "Simple-UCB") -> oracle.Width:
    return oracle.self_normalised(CHASED.noise_scale, CHASED.norm_bound, 1.0, 0.5)


BREAKAGES = {
    "det for its root": (widths, "self_normalised", times(1, 1, 2)),
    "half the log-determinant": (widths, "self_normalised", times(1, 1, 0.5)),
    "D forgotten": (widths, "self_normalised", times(0, 1, 1)),
    "width halved": (widths, "self_normalised", times(0.5, 0.25, 0.25)),
    "width doubled": (widths, "self_normalised", times(2, 4, 4)),
    "sd squared": (Posterior, "sd", property(lambda self: np.maximum(self.variance, 0.0))),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_the_closed_forms_show_widths_that_are_wrong_in_either_direction(breakage, monkeypatch):
    monkeypatch.setattr(*BREAKAGES[breakage])
    assert closed_widths(QUICK).verdict == FAILS
    assert error_of(CLAIMS["Simple-UCB"], FORMS["Simple-UCB"], 0) > 0.01


@pytest.mark.parametrize(
    "breakage", ["det for its root", "half the log-determinant", "width doubled", "sd squared"]
)
def test_a_wrong_width_loses_other_games_than_the_closed_form(breakage, monkeypatch):
    monkeypatch.setattr(*BREAKAGES[breakage])
    assert closed_games("Simple-UCB", told(), LOOK).verdict == FAILS


@pytest.mark.parametrize("breakage", ["D forgotten", "width halved", "sd squared"])
@pytest.mark.parametrize("name", ["Simple-UCB", "Whitehouse"])
def test_f_leaves_a_band_that_is_too_narrow(breakage, name, monkeypatch):
    monkeypatch.setattr(*BREAKAGES[breakage])
    assert covered(name, CLAIMS[name], QUICK).verdict == FAILS


@pytest.mark.parametrize(
    ("rule", "broken", "names"),
    [
        (
            "improved",
            lambda r, d, delta, gain, chance=1: Width("", lambda t: (0.0, 0.0, r**2)),
            ("IGP-UCB", "GP-TS"),
        ),
        ("mixture", lambda r, d, ridge, delta: Width("", lambda t: (0.0, 0.0, r**2)), ("AMM-UCB",)),
        (
            "srinivas_finite",
            lambda n, delta, scale: Width("", lambda t: (2.0, 0.0, 0.0)),
            ("GP-UCB finite", "TV-GP-UCB"),
        ),
        (
            "fixed_design",
            lambda r, d, ridge, delta, m: Width("", lambda t: (d + r * 5, 0.0, 0.0)),
            ("BPE", "REDS", "MVR"),
        ),
        (
            "truncated",
            lambda level, d, delta, gain: Width("", lambda t: (d + 2.0, 0.0, 0.0)),
            ("TGP-UCB",),
        ),
    ],
)
def test_every_rule_that_forgets_its_confidence_is_found(rule, broken, names, monkeypatch):
    monkeypatch.setattr(widths, rule, broken)
    assert [covered(name, CLAIMS[name], LOOK).verdict for name in names] == [FAILS] * len(names)
    assert closed_widths(QUICK).verdict == FAILS


# closed forms


def test_the_closed_form_agrees_with_the_golden_instance():
    width = oracle.self_normalised(0.5, 2.0, 1.0, 0.5)
    half = orthonormal(1.0, width, np.array([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(
        np.add(half, (1 / 3, -0.25, 0.0)), [2.002658, 1.794497, 2.891355], atol=5e-7
    )


def test_the_games_of_the_closed_form_are_those_of_the_policy():
    lost = [loses(CHASED, told(), seed) for seed in range(25)]
    assert lost == [left(CLAIMS["Simple-UCB"], CHASED, seed) for seed in range(25)]
    assert 0 < sum(lost) < 25
    assert closed_games("Simple-UCB", told(), QUICK).verdict == HOLDS


def test_the_forms_are_of_claims_and_need_the_arms_that_the_worlds_have():
    assert set(FORMS) <= set(CLAIMS)
    np.testing.assert_array_equal(BASIS.points, np.eye(10))
