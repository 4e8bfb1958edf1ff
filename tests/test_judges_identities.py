"""The judges of randomness, laws and bands, and those parts of the engine that only an identity finds broken."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelbandits as kb
from broken_engines import looped, patched
from kernelbandits import streams
from kernelbandits.exploration import Bernoulli
from kernelbandits.judges import Effort
from kernelbandits.judges.bands import bands
from kernelbandits.judges.court import JUDGES, heard
from kernelbandits.judges.laws import laws
from kernelbandits.judges.randomness import randomness
from kernelbandits.judges.states import state_findings
from kernelbandits.judges.weights import schedule_finding
from kernelbandits.policies import (
    DMMUCB,
    GPTS,
    SimpleBernoulli,
    SimpleMixture,
    WhitehouseUCB,
    confidence,
    martingale_mixtures,
)
from kernelbandits.posterior import LinearPosterior, PoolPosterior
from kernelbandits.posterior.truth import lower_root
from kernelbandits.streams import Drawn, Streams
from kernelbandits.theory import GreedyGain, duality
from kernelbandits.theory import bands as theory_bands
from kernelbandits.widths import Width

QUICK = Effort(seed=0, scale=0.05)


def schedules(effort):
    yield schedule_finding(effort)


OURS = {"randomness": randomness, "laws": laws, "bands": bands}
PARTS = {**JUDGES, "states": state_findings, "weights": schedules}
"""Judges, and parts of the judge of the engine."""


@pytest.mark.parametrize("judge", OURS)
@pytest.mark.parametrize("seed", range(3))
def test_a_judge_has_nothing_to_object_to_the_sound_engine(judge, seed):
    findings = heard(Effort(seed, 0.05), judge)
    assert all(finding.right for finding in findings)
    assert {finding.judge for finding in findings} == {judge}
    assert len({finding.statement for finding in findings}) == len(findings)
    assert all(max(map(len, (f.statement, f.predicted, f.observed))) <= 110 for f in findings)


@pytest.mark.parametrize("judge", OURS)
def test_a_judge_says_the_same_of_the_same_seed(judge):
    assert heard(QUICK, judge) == heard(QUICK, judge)


def objects(judge: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return any(not finding.right for finding in PARTS[judge](QUICK))


def shared_column(first: str, second: str):
    return lambda monkeypatch: monkeypatch.setitem(streams.COLUMN, second, streams.COLUMN[first])


def default(owner: type, name: str, value: object):
    return lambda monkeypatch: monkeypatch.setitem(owner.__init__.__kwdefaults__, name, value)


def without_ridge(sound):
    def rebuild(self, exact, played, cross):
        sound(self, exact, played, cross)
        self._factor = lower_root(cross[played] + 1e-9 * np.eye(len(played)), least=1e-9)

    return rebuild


def repeating(sound):
    """The draws of the first rounds again."""

    def tables(self, first, last, streams):
        return (
            sound(self, first, last, streams)
            if first == 1
            else redrawn(self, sound, first, last, streams)
        )

    def redrawn(self, sound, first, last, streams):
        right, again = sound(self, first, last, streams), sound(self, 1, last - first + 1, streams)
        return type(right)(right.widths, right.ties, again.prior, again.noise)

    return tables


def late_law(sound):
    def runs(self, horizon):
        found = sound(self, horizon)
        return [*found[:-1], (Bernoulli(self.first), *found[-1][1:])]

    return runs


def never_contradicted(sound):
    def concluded(known, sure):
        return sound(known, sure) or (-sure, sure, sure, np.arange(len(sure)))

    return concluded


def doubled_losses(sound):
    def learn(self, arm, reward, note):
        before = self.losses.copy()
        sound(self, arm, reward, note)
        self.losses += self.losses - before

    return learn


HALF_SLACK = patched(
    duality.Dual,
    "_slack",
    lambda sound: lambda self, a, fit: sound(self, a, fit) - self.noise_radius**2 / a / 2,
)
NO_FIT = patched(
    duality.Dual,
    "_slack",
    lambda sound: lambda self, a, fit: sound(self, a, fit) - (self.ridge / a - 1) * fit,
)
BREAKAGES = {
    "weights and ties of the same uniforms": ("randomness", shared_column("weight", "tie")),
    "noise and weights of the same uniforms": ("randomness", shared_column("noise", "weight")),
    "samples of the uniforms of the problem": ("randomness", shared_column("problem", "sample")),
    "uniforms that repeat every 1024 rounds": (
        "randomness",
        patched(
            Streams,
            "_uniform_block",
            lambda sound: lambda self, purpose, block: sound(self, purpose, 0),
        ),
    ),
    "normals that repeat in every block": (
        "randomness",
        patched(
            Streams,
            "_normal_block",
            lambda sound: lambda self, purpose, block, n: sound(self, purpose, 0, n),
        ),
    ),
    "uniforms that are not uniform": (
        "randomness",
        patched(
            Streams,
            "_uniform_block",
            lambda sound: lambda self, p, block: sound(self, p, block) ** 1.2,
        ),
    ),
    "the same normals for all seeds": (
        "randomness",
        patched(
            Streams,
            "_normal_block",
            lambda sound: lambda self, p, block, n: sound(Streams(0), p, block, n),
        ),
    ),
    "a look-up one round off": (
        "randomness",
        patched(
            Streams, "uniform", lambda sound: lambda self, purpose, t: sound(self, purpose, t + 1)
        ),
    ),
    "a generator that is not asked": (
        "randomness",
        patched(Drawn, "uniform", lambda sound: lambda self, purpose, t: 0.5),
    ),
    "a generator turned round": (
        "randomness",
        patched(
            Drawn, "uniform", lambda sound: lambda self, purpose, t: 1 - sound(self, purpose, t)
        ),
    ),
    "normals of a generator doubled": (
        "randomness",
        patched(
            Drawn,
            "normal",
            lambda sound: lambda self, purpose, t, n: 2 * sound(self, purpose, t, n),
        ),
    ),
    "the late law of a decay": ("weights", patched(kb.Decay, "runs", late_law)),
    "constants of a decay that ends too early": (
        "laws",
        patched(
            kb.Decay, "early", lambda sound: lambda self, horizon: max(sound(self, horizon) - 1, 0)
        ),
    ),
    "Certainty at its floor": (
        "laws",
        patched(
            kb.Certainty, "__call__", lambda sound: lambda self, t, posterior: Bernoulli(self.floor)
        ),
    ),
    "Certainty by the variance": (
        "laws",
        patched(
            kb.Certainty,
            "__call__",
            lambda sound: (
                lambda self, t, posterior: Bernoulli(
                    self.floor + (self.first - self.floor) * float(posterior.variance.max())
                )
            ),
        ),
    ),
    "chances of unsorted values": (
        "laws",
        patched(kb.Categorical, "chances", lambda sound: property(lambda self: self.weights[::-1])),
    ),
    "the grid of RandUCB": (
        "laws",
        patched(
            kb.exploration.DiscretisedGaussian,
            "chances",
            lambda sound: property(
                lambda self: (*((1 - self.top) / (self.points - 1),) * (self.points - 1), self.top)
            ),
        ),
    ),
    "a discrete law without its atom at 1": (
        "laws",
        patched(
            kb.exploration.Frozen,
            "optimism",
            lambda sound: property(lambda self: float(self.tail(1.0))),
        ),
    ),
    "a tail with its atom": (
        "laws",
        patched(kb.exploration.Frozen, "tail", lambda sound: lambda self, x: 1.0 - self.below(x)),
    ),
    "p of Simple-Bernoulli": ("engine", default(SimpleBernoulli, "p", 0.25)),
    "rho of Simple-Mixture": ("engine", default(SimpleMixture, "rho", 0.25)),
    "delta of Whitehouse": ("engine", default(WhitehouseUCB, "delta", 0.05)),
    "the ridge of a Matern kernel": (
        "engine",
        patched(
            confidence,
            "matern_ridge",
            lambda sound: lambda kernel, domain, horizon: horizon ** (2 / 7),
        ),
    ),
    "a pool rebuilt without its ridge": (
        "states",
        patched(PoolPosterior, "_rebuild", without_ridge),
    ),
    "a wrong determinant after a linear audit": (
        "states",
        patched(
            LinearPosterior,
            "_log_det",
            lambda sound: lambda self, exact, played: sound(self, exact, played) / 2,
        ),
    ),
    "the table of widths a round late": (
        "engine",
        patched(Width, "table", lambda sound: lambda self, horizon: sound(self, horizon + 1)[1:]),
    ),
    "a greedy gain without 1 - 1/e": (
        "engine",
        patched(GreedyGain, "bound", lambda sound: lambda self, t: self.value(t)),
    ),
    "draws that repeat after an audit": ("states", patched(GPTS, "sample_tables", repeating)),
    "half of the noise in a slack": ("bands", HALF_SLACK),
    "no residuals in a slack": ("bands", NO_FIT),
    "losses of DMM-UCB doubled": ("bands", patched(DMMUCB, "_learn", doubled_losses)),
    "a band a tenth too wide": (
        "bands",
        patched(theory_bands, "noise_radius", lambda sound: lambda *given: 1.1 * sound(*given)),
    ),
    "policies with a radius too wide": (
        "bands",
        patched(
            martingale_mixtures, "noise_radius", lambda sound: lambda *given: 1.1 * sound(*given)
        ),
    ),
    "the covariance of a pair with the wrong sign": (
        "bands",
        patched(theory_bands, "covariance", lambda sound: lambda *given: -sound(*given)),
    ),
    "no contradiction": ("bands", patched(theory_bands, "concluded", never_contradicted)),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_judge_objects_to(breakage, monkeypatch):
    judge, broken = BREAKAGES[breakage]
    broken(monkeypatch)
    assert objects(judge)


def test_a_loop_that_counts_twice_is_an_error_and_no_endless_game(monkeypatch):
    looped("counts[arm] += 1", "counts[arm] += 2")(monkeypatch)
    last = heard(QUICK, "engine")[-1]
    assert "the compiled loop needs to learn" in last.observed
    assert not last.right


def test_the_bands_are_looked_at_where_some_arms_are_known_not_to_be_the_best():
    texts = [finding.detail for finding in bands(QUICK) if "may be best" in finding.detail]
    assert len(texts) == 6
    assert any(not text.endswith("12 of 12 arms may be best") for text in texts)
