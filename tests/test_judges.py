"""The judges: silent about the sound engine, and each of them able to object to a broken one."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from scipy import stats

import kernelbandits as kb
from broken_engines import looped, patched, times
from kernelbandits import widths
from kernelbandits.exploration import Exploration
from kernelbandits.judges import FAILS, HOLDS, Effort, Finding, oracle
from kernelbandits.judges.court import JUDGES, hear, heard, named, slowest_first
from kernelbandits.judges.engine import engine
from kernelbandits.judges.finding import (
    FALSE_ALARM,
    allowed,
    counted,
    identity,
    share,
    standard_error,
)
from kernelbandits.judges.martingale import martingale
from kernelbandits.judges.optimism import optimism
from kernelbandits.judges.potential import potential
from kernelbandits.judges.stage import KERNELS, LAWS, cases, defaults, paced, stage
from kernelbandits.judges.weights import critical_distance, distance
from kernelbandits.policies import GPTS, IndexPolicy
from kernelbandits.posterior import (
    ArmPosterior,
    Factorisation,
    LinearPosterior,
    PoolPosterior,
    Posterior,
)
from kernelbandits.widths import Width

QUICK = Effort(seed=0, scale=0.05)
OURS = {"engine": engine, "potential": potential, "optimism": optimism, "martingale": martingale}


def objections(judge: str, effort: Effort = QUICK) -> list[Finding]:
    return [finding for finding in heard(effort, judge) if not finding.right]


def objects(judge: str) -> bool:
    """Whether there is a wrong finding; the rest is not waited for."""
    return any(not finding.right for finding in OURS[judge](QUICK))


# the sound engine


@pytest.mark.parametrize("judge", OURS)
def test_a_judge_has_nothing_to_object_to_the_sound_engine(judge):
    assert not objections(judge, Effort(seed=1, scale=0.05))


@pytest.mark.parametrize("judge", OURS)
def test_a_judge_says_the_same_of_the_same_seed_and_writes_short_texts(judge):
    findings = heard(QUICK, judge)
    assert all(finding.right for finding in findings)
    assert findings == heard(QUICK, judge)
    assert {finding.judge for finding in findings} == {judge}
    assert len({finding.statement for finding in findings}) == len(findings)
    assert all(max(map(len, (f.statement, f.predicted, f.observed))) <= 110 for f in findings)
    assert all(finding.detail for finding in findings)


def test_both_engines_are_heard():
    played = [
        finding.observed for finding in engine(QUICK) if "plays the maximiser" in finding.statement
    ]
    assert len(played) == len(cases(100)) + len(defaults(100)) + len(paced(stage(0), 100)) + 1
    assert all("numpy 100" in text and "numba 100" in text for text in played)


def test_the_factor_two_fails_where_it_must_and_this_is_right():
    (finding,) = (finding for finding in potential(QUICK) if finding.expected == FAILS)
    assert finding.verdict == FAILS
    assert finding.right
    assert "ridge 0.1" in finding.statement


def test_the_width_is_looked_at_where_the_log_determinant_is_large():
    texts = [
        f.statement for f in islice(engine(Effort()), 17) if "its width where L" in f.statement
    ]
    assert len(texts) == 5
    assert all(18 <= float(text.rpartition("= ")[2]) <= 35 for text in texts)


def test_the_chase_fails_about_as_often_as_in_the_specification():
    rates = [
        float(f.observed.split()[0])
        for f in martingale(Effort())
        if "Gaussian noise, 400 runs" in f.statement
    ]
    assert rates[0] == pytest.approx(0.275, abs=4 * standard_error(0.275, 400) * math.sqrt(2))
    assert rates[1] == pytest.approx(0.05, abs=4 * standard_error(0.05, 400))


# the oracle


def test_the_oracle_agrees_with_the_golden_instance():
    gram, arms, rewards = np.eye(3), [0, 0, 1], np.array([0.4, 0.6, -0.5])
    known = oracle.estimate(gram, arms, rewards, 1.0)
    width = oracle.self_normalised(0.5, 2.0, 1.0, 0.5)(known.log_det)
    moment = oracle.Moment(known, 0.5, width)
    assert width == pytest.approx(2.891355, abs=1e-6)
    assert moment.index(1.0) == pytest.approx([2.002658, 1.794497, 2.891355], abs=1e-6)
    assert moment.index() == pytest.approx([1.167996, 0.772248, 1.445677], abs=1e-6)
    assert oracle.self_normalised(0.5, 2.0, 1.0, 0.1)(known.log_det) == pytest.approx(
        3.264608, abs=1e-6
    )
    later = oracle.estimate(gram, arms, rewards, 1.02)
    assert oracle.improved(0.5, 2.0, 0.1)(later.log_det) == pytest.approx(3.446886, abs=1e-6)
    assert oracle.improved(0.5, 2.0, 0.05)(later.log_det) == pytest.approx(3.562067, abs=1e-6)


def test_the_oracle_says_the_same_of_rounds_and_of_counts():
    where = stage(3)
    arms = [3, 1, 3, 3, 7, 1, 0, 19]
    rewards = where.rewards(arms)
    one, other = (
        form(where.gram, arms, rewards, 0.3) for form in (oracle.estimate, oracle.collapsed)
    )
    assert one.mean == pytest.approx(other.mean, abs=1e-12)
    assert one.cov == pytest.approx(other.cov, abs=1e-12)
    assert one.log_det == pytest.approx(other.log_det, abs=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_the_laws_of_the_oracle_are_laws(name):
    law = LAWS[name][1]
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = np.array([law.quantile(value) for value in u])
    assert np.all(np.diff(np.sort(drawn)) >= 0)
    assert drawn.mean() == pytest.approx(law.mean, abs=1e-3)
    assert drawn.var() == pytest.approx(law.variance, abs=5e-3)
    assert np.mean(drawn >= 1) == pytest.approx(law.optimism, abs=1e-3)
    assert np.mean(drawn < 0) == pytest.approx(law.negative, abs=1e-3)
    assert distance(law, drawn) <= 1e-3


def test_the_normal_quantile_is_that_of_scipy():
    for u in (1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
        assert oracle.normal(0.3, 2.0).quantile(u) == pytest.approx(
            stats.norm(0.3, 2.0).ppf(u), rel=1e-12
        )


def test_the_distance_is_that_of_kolmogorov_and_its_limit_is_rarely_passed():
    sample = np.random.default_rng(5).standard_normal(300)
    assert distance(oracle.normal(), sample) == pytest.approx(
        stats.kstest(sample, "norm").statistic, abs=1e-12
    )
    assert 2 * math.exp(-2 * 300 * critical_distance(300) ** 2) == pytest.approx(1e-4)
    assert stats.kstwo(300).sf(critical_distance(300)) <= 1e-4


def test_the_draw_of_the_oracle_has_the_posterior_covariance():
    where, arms = stage(4), [2, 2, 5, 9, 2]
    n, root = 20, np.linalg.cholesky(where.gram + 1e-12 * np.eye(20))
    zero = np.zeros(n)
    columns = [oracle.deviation(where.gram, arms, 0.5, root[:, i], zero) for i in range(n)]
    columns += [oracle.deviation(where.gram, arms, 0.5, zero, unit) for unit in np.eye(n)]
    known = oracle.estimate(where.gram, arms, np.zeros(5), 0.5)
    assert np.array(columns).T @ np.array(columns) == pytest.approx(known.cov, abs=1e-9)


def test_kernel_and_primal_form_of_the_self_normalised_square_agree():
    points = np.random.default_rng(1).standard_normal((6, 3))
    arms, noise = [0, 3, 3, 5, 1], np.array([0.3, -1.0, 0.4, 2.0, 0.1])
    x = points[arms]
    sums = x.T @ noise
    primal = sums @ np.linalg.solve(x.T @ x + 0.4 * np.eye(3), sums)
    assert oracle.self_normalised_square(points @ points.T, arms, noise, 0.4) == pytest.approx(
        primal, rel=1e-12
    )


# broken engines


def late(width):
    """The log-determinant of t instead of t - 1: one more pull of a fresh arm."""
    return lambda self, t, log_det: width(self, t, log_det + math.log(2))


def forgetful(update):
    """Every other reward is lost."""
    return lambda self, arm, reward: (
        update(self, arm, reward) if self.events % 2 else update(self, arm, 0.0)
    )


def halved_log_det(update):
    def broken(self, arm, reward):
        before = self.log_det
        update(self, arm, reward)
        self.log_det = before + (self.log_det - before) / 2

    return broken


def clipped(draw):
    return lambda self, u: np.maximum(draw(self, u), 0.0)


def scaled(column):
    return lambda self, arm: 1.01 * column(self, arm)


VARIANCE = property(lambda self: np.maximum(self.variance, 0.0))
HALF_LOG_DET = property(lambda self: float(np.log(self.factor.diagonal()).sum()))
BREAKAGES = {
    "det instead of its root": patched(widths, "self_normalised", lambda sound: times(1, 1, 2)),
    "no determinant": patched(widths, "self_normalised", lambda sound: times(1, 1, 0)),
    "R forgotten beside ln(1/delta)": patched(
        widths, "self_normalised", lambda sound: times(1, 1 / 0.49, 1)
    ),
    "D forgotten": patched(widths, "self_normalised", lambda sound: times(0, 1, 1)),
    "delta 1 instead of 1/2": patched(widths, "self_normalised", lambda sound: times(1, 0, 1)),
    "ridge forgotten": patched(
        widths, "self_normalised", lambda sound: lambda r, d, ridge, delta: sound(r, d, 1.0, delta)
    ),
    "1 forgotten in IGP-UCB": patched(
        widths,
        "improved",
        lambda sound: lambda r, d, delta, gain, chance=1: sound(r, d, delta * math.e, gain, chance),
    ),
    "D outside the root in AMM": patched(widths, "mixture", lambda sound: widths.self_normalised),
    "log-determinant of round t": patched(Width, "__call__", late),
    "sd squared": patched(Posterior, "sd", lambda sound: VARIANCE),
    "log-determinant halved": patched(Posterior, "update", halved_log_det),
    "rewards lost": patched(Posterior, "update", forgetful),
    "audit with a wrong determinant": patched(Factorisation, "log_det", lambda sound: HALF_LOG_DET),
    "covariance not updated": patched(ArmPosterior, "_downdate", lambda sound: lambda *given: None),
    "pool with a wrong column": patched(PoolPosterior, "_column", scaled),
    "linear form with a wrong column": patched(LinearPosterior, "_column", scaled),
    "lengthscale off by the root of two": patched(
        kb.RBF, "profile", lambda sound: lambda self, r2: np.exp(-r2)
    ),
    "weights clipped in Gaussian.draw": patched(kb.Gaussian, "draw", clipped),
    "weights clipped in Categorical.draw": patched(kb.Categorical, "draw", clipped),
    "weights clipped in Mixture.draw": patched(kb.Mixture, "draw", clipped),
    "weights clipped in Frozen.draw": patched(kb.exploration.Frozen, "draw", clipped),
    "weights clipped in the table": patched(Exploration, "weights", clipped),
    "weights clipped in index": patched(
        IndexPolicy,
        "index",
        lambda sound: lambda self, t, weight=1.0: sound(self, t, max(weight, 0.0)),
    ),
    "size of the weight": patched(
        kb.Gaussian, "draw", lambda sound: lambda self, u: abs(sound(self, u))
    ),
    "schedule a round late": patched(
        kb.Step, "__call__", lambda sound: lambda self, t: sound(self, t - 1)
    ),
    "GP-TS with variance v": patched(
        GPTS,
        "sample",
        lambda sound: lambda self, t, z, e: (sound(self, t, z, e) + 3 * self.posterior.mean) / 4,
    ),
    "loop: weights clipped": looped("weights[t] * width)", "max(weights[t], 0.0) * width)"),
    "loop: variance for sd": looped("np.sqrt(max(cov[i, i], 0.0))", "max(cov[i, i], 0.0)"),
    "loop: det instead of its root": looped(
        "widths[t, 2] * log_det[0]", "widths[t, 2] * 2 * log_det[0]"
    ),
    "loop: log-determinant halved": looped(
        "np.log1p(variance / ridge)", "np.log1p(variance / ridge) / 2"
    ),
    "loop: ridge 1": looped("evidence = variance + ridge", "evidence = variance + 1.0"),
    "loop: noise of the round before": looped("world[1][t]", "world[1][max(t - 1, 0)]"),
    "loop: ties to the last": looped("wanted = 0 if lowest", "wanted = count - 1 if lowest"),
    "loop: GP-TS with variance v": looped(
        "mean[i] + scale * sample[i]", "mean[i] + np.sqrt(scale) * sample[i]"
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_the_judge_of_the_engine_objects_to(breakage, monkeypatch):
    BREAKAGES[breakage](monkeypatch)
    assert objects("engine")


SEEN_BY = {
    "potential": ("sd squared", "log-determinant halved", "covariance not updated"),
    "optimism": ("D forgotten", "sd squared"),
    "martingale": (
        "det instead of its root",
        "no determinant",
        "delta 1 instead of 1/2",
        "ridge forgotten",
        "log-determinant halved",
        "rewards lost",
    ),
}


@pytest.mark.parametrize(
    ("judge", "breakage"), [(judge, b) for judge, seen in SEEN_BY.items() for b in seen]
)
def test_the_judges_of_the_lemmas_object_as_well(judge, breakage, monkeypatch):
    BREAKAGES[breakage](monkeypatch)
    assert objects(judge)


def test_the_lemma_itself_fails_for_a_width_without_its_norm_bound(monkeypatch):
    BREAKAGES["D forgotten"](monkeypatch)
    wrong = [finding.statement for finding in optimism(QUICK) if not finding.right]
    assert any("C1/2" in statement for statement in wrong)
    assert any("with w = 1" in statement for statement in wrong)


def test_the_lemma_itself_fails_for_the_variance_in_place_of_the_sd(monkeypatch):
    BREAKAGES["sd squared"](monkeypatch)
    wrong = [finding.statement for finding in optimism(QUICK) if not finding.right]
    assert any("C1/2" in statement for statement in wrong)


def test_a_wrong_optimism_of_a_law_is_seen(monkeypatch):
    monkeypatch.setattr(kb.Bernoulli, "optimism", property(lambda self: 0.0))
    assert objects("optimism")


# the court


def test_an_engine_that_breaks_down_is_a_finding_not_a_traceback(monkeypatch):
    def broken(self, arm, reward):
        raise ZeroDivisionError("no evidence")

    monkeypatch.setattr(Posterior, "update", broken)
    (finding,) = objections("potential")
    assert "ZeroDivisionError: no evidence" in finding.observed
    assert finding.verdict == FAILS
    assert "test_judges.py, line" in finding.detail


def test_the_court_hears_the_judges_named_in_their_order():
    findings = list(hear(["martingale", "potential"], QUICK))
    assert list(dict.fromkeys(finding.judge for finding in findings)) == ["martingale", "potential"]
    assert named(["E1", "errata"])[0] == "E1"
    assert len(named(["E1", "errata"])) == len(named(["errata"]))
    assert named() == list(JUDGES)


def test_one_name_may_stand_alone():
    assert list(hear("potential", QUICK)) == list(hear(["potential"], QUICK))
    assert named("errata") == named(["errata"])


def test_the_slowest_judges_begin_and_none_is_lost():
    assert slowest_first(["E1", "engine", "coverage", "potential"]) == [
        "coverage",
        "engine",
        "E1",
        "potential",
    ]
    assert sorted(slowest_first(JUDGES)) == sorted(JUDGES)


@pytest.mark.parametrize("runs", [1, 15, 40, 300])
@pytest.mark.parametrize("delta", [0.05, 0.1, 0.5])
def test_chance_explains_the_least_number_that_is_exceeded_rarely_enough(delta, runs):
    most = allowed(delta, runs)
    assert stats.binom.sf(most, runs, delta) <= FALSE_ALARM < stats.binom.sf(most - 1, runs, delta)


def test_chance_explains_nothing_where_the_chance_is_none_and_everything_where_it_is_one():
    assert allowed(0.0, 40) == 0
    assert allowed(1.0, 40) == 40
    assert allowed(0.1, 100_000) == pytest.approx(10_000 + 3 * math.sqrt(9_000), abs=3)
    assert share(3, 15) == "0.200 (3 of 15)"


@pytest.mark.parametrize("name", ["nobody", "", "Engine", None, 3])
def test_an_unknown_judge_is_refused_in_one_sentence(name):
    with pytest.raises(ValueError, match=r"the court needs judges in \(.*'engine'.*\), got"):
        list(hear([name], QUICK))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": -1}, "Effort needs a whole number seed >= 0, got -1"),
        ({"seed": 0.5}, "Effort needs a whole number seed >= 0, got 0.5"),
        ({"scale": 0}, "Effort needs scale > 0, got 0"),
        ({"scale": float("nan")}, "Effort needs scale > 0, got nan"),
        ({"scale": "much"}, "Effort needs scale > 0, got 'much'"),
    ],
)
def test_an_effort_needs_a_seed_and_a_scale(given, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        Effort(**given)


def test_a_verdict_is_one_of_two_words():
    with pytest.raises(ValueError, match="Finding needs verdict in"):
        Finding("engine", "s", "p", "o", "perhaps")
    assert Finding("engine", "s", "p", "o", FAILS, expected=FAILS).right
    assert not Finding("engine", "s", "p", "o", HOLDS, expected=FAILS).right


def test_a_difference_that_is_no_number_is_not_rounding():
    assert identity("engine", "s", [0.0, math.nan], 1e-8).verdict == FAILS
    assert identity("engine", "s", [0.0, 1e-9], 1e-8).verdict == HOLDS
    assert identity("engine", "s", 2e-8, 1e-8).verdict == FAILS
    assert counted("engine", "s", {"numpy": 3}, {"numpy": 2}, "").verdict == FAILS


def test_the_effort_scales_the_runs_but_not_below_the_least():
    assert Effort(scale=0.5).runs(400) == 200
    assert Effort(scale=0.001).runs(400, least=60) == 60


def test_the_kernels_of_the_stage_are_those_of_their_formulas():
    x = np.random.default_rng(2).random((7, 2))
    for kernel, alike in KERNELS.values():
        assert kernel(x, x) == pytest.approx(alike(x, x), abs=1e-14)
