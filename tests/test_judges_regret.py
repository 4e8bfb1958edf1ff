"""The judges of regret: silent about the sound engine, and each of them able to object to a broken one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kernelbandits as kb
from broken_engines import times
from kernelbandits import widths
from kernelbandits.experiment import engines
from kernelbandits.exploration import Exploration
from kernelbandits.judges import (
    FAILS,
    HOLDS,
    Effort,
    Finding,
    lower_bound,
    oracle,
    paths,
    players,
    regret,
)
from kernelbandits.judges.lower_bound import (
    above_lower_bound,
    closed_counts,
    closed_form,
    counts,
    gap,
    late,
    proved,
)
from kernelbandits.judges.paths import estimates, maximised, pathwise
from kernelbandits.judges.players import (
    BANDITS,
    NORM_BOUND,
    PLAYERS,
    TRAPS,
    bounds,
    constants,
    drawn,
)
from kernelbandits.judges.regret import Outcome, below_bound, expected_regret, outcome
from kernelbandits.judges.stage import engines as known_engines
from kernelbandits.posterior import Posterior

QUICK = Effort(seed=0, scale=0.05)
pytestmark = pytest.mark.usefixtures("quiet")


def wrong(findings) -> list[str]:
    return [finding.statement for finding in findings if not finding.right]


# the sound engine


@pytest.mark.parametrize(
    ("name", "judge"), [("regret", below_bound), ("lower-bound", above_lower_bound)]
)
def test_a_judge_of_regret_has_nothing_to_object_to_the_sound_engine_and_writes_short_texts(
    name, judge
):
    findings = list(judge(Effort(seed=2, scale=0.05)))
    assert wrong(findings) == []
    assert {finding.judge for finding in findings} == {name}
    assert len({finding.statement for finding in findings}) == len(findings)
    assert all(max(map(len, (f.statement, f.predicted, f.observed))) <= 110 for f in findings)
    assert all(any(engine in f.statement for f in findings) for engine in known_engines())


def test_a_rule_that_never_explores_exceeds_the_bound_and_this_is_expected():
    found = regret.no_exploration()
    assert (found.verdict, found.expected) == (FAILS, FAILS)
    assert found.right


def test_no_bound_is_vacuous_where_it_is_judged():
    for name in PLAYERS:
        for bandit in BANDITS:
            assert bounds(name, bandit)[1] < 2 * NORM_BOUND * bandit.horizon, (name, bandit.name)


def test_the_same_seed_says_the_same():
    assert list(above_lower_bound(QUICK)) == list(above_lower_bound(QUICK))
    assert list(pathwise("numpy", QUICK)) == list(pathwise("numpy", QUICK))


# the formulas of the judges


@pytest.mark.parametrize(
    ("name", "horizon", "c2", "c3"),
    [
        ("w = 1", 1000, 1.0, 2.0),
        ("N(0, 1)", 1, 0.797885, 10.058092),
        ("N(0, 1)", 1000, 3.435410, 26.682348),
        ("i/4, i = 1..4", 2, 0.78125, 5.625),
        ("Ber(1/2), then Ber(1/4)", 10, 0.992584228515625, 4.51055908203125),
        ("1 or N(0, 1)", 10, 1.585432, 4.288376),
    ],
)
def test_the_constants_of_the_judge_are_the_golden_ones(name, horizon, c2, c3):
    found = constants(name, horizon)
    assert found[0] == pytest.approx(c2, abs=6e-7)
    assert found[1] == pytest.approx(c3, abs=3e-6)


def test_the_tightened_constant_is_nothing_for_a_point_mass_and_smaller_for_a_normal():
    assert constants("w = 1", 1000)[2] == 0
    assert constants("N(0, 1)", 1000)[2] == pytest.approx(20.43, abs=5e-3)


def test_the_expected_maximum_of_the_judge_is_exact_between_its_jumps():
    law = oracle.atoms((0.3, 0.7), (0.0, 1.0))
    found = players.expected_maximum([(2, players.excess(law, law.optimism))])
    assert found == pytest.approx(0.3 / 0.7 * (1 - 0.3**2), rel=1e-12)


def test_the_repaired_bound_of_the_judge_is_the_golden_one(monkeypatch):
    monkeypatch.setattr(players, "NOISE_SCALE", 1.0)
    assert bounds("w = 1", SimpleNamespace(horizon=1000, gain=20.0))[0] == pytest.approx(
        9538.22, abs=5e-3
    )


def test_the_lower_bound_of_the_judge_is_the_golden_one():
    assert gap(3, 2000) == pytest.approx(0.0859066638, abs=5e-11)
    assert proved(3, 2000) == pytest.approx(25.77, abs=5e-3)
    assert proved(3, 2000, 0.158655) == pytest.approx(4.09, abs=5e-3)


def test_the_late_rounds_that_explore_are_counted_after_floor_of_alpha_t():
    weights = np.zeros(181)
    weights[[0, 152, 153, 154, 180]] = [2.0, 1.0, 1.0, 0.999, 1.5]
    assert late(weights.tolist()) == 2


def test_the_closed_form_plays_the_golden_run():
    assert tuple(closed_counts([1.0] * 2000, 3, gap(3, 2000))) == lower_bound.GOLDEN


@pytest.mark.parametrize("name", PLAYERS)
def test_the_weights_of_the_judge_are_those_of_the_policy(name):
    law = PLAYERS[name].exploration(500)
    expected = Exploration.of(law).weights(kb.Streams(3).uniforms("weight", 500))
    np.testing.assert_allclose(drawn(name, 500, 3), expected, atol=1e-12)


@pytest.mark.parametrize("bandit", BANDITS, ids=lambda bandit: bandit.name)
def test_the_functions_have_norm_d_and_the_kernels_are_the_formulas(bandit):
    np.testing.assert_allclose(bandit.gram, bandit.kernel(bandit.points, bandit.points), atol=1e-12)
    assert bandit.gram.diagonal().max() <= 1 + 1e-12
    values = bandit.values(5)
    spectrum, axes = np.linalg.eigh(bandit.gram)
    kept = spectrum > 1e-9
    assert ((axes.T @ values)[kept] ** 2 / spectrum[kept]).sum() <= NORM_BOUND**2 + 1e-6


def test_the_estimates_of_all_rounds_are_those_of_the_rounds_one_by_one():
    rng, gram = np.random.default_rng(0), BANDITS[0].gram
    arms, rewards = rng.integers(len(gram), size=25), rng.normal(size=25)
    mean, sd, log_dets = estimates(gram, arms, rewards)
    for t in (0, 1, 7, 24):
        known = oracle.estimate(gram, arms[:t].tolist(), rewards[:t], 1.0)
        np.testing.assert_allclose(mean[t], known.mean, atol=1e-10)
        np.testing.assert_allclose(sd[t], known.sd, atol=1e-8)
        assert log_dets[t] == pytest.approx(known.log_det, abs=1e-10)
    assert len(log_dets) == 26


def test_a_mean_regret_is_judged_with_its_three_standard_errors():
    bandit = TRAPS[0]
    limit = bounds("w = 1", bandit)[1]
    near = [Outcome(limit - 1 + step, 1.0, 1.0) for step in (-0.1, 0.0, 0.1)]
    wide = [Outcome(limit - 1 + step, 1.0, 1.0) for step in (-3.0, 0.0, 3.0)]
    assert expected_regret("w = 1", {bandit: near}).verdict == HOLDS
    assert expected_regret("w = 1", {bandit: wide}).verdict == FAILS


# broken engines


def widened(a: float, b: float, c: float) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(widths, "self_normalised", times(a, b, c))


def weighed(change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Both engines use changed weights."""

    def broken(monkeypatch):
        weights, law = Exploration.weights, Exploration.law
        monkeypatch.setattr(
            Exploration, "weights", lambda self, uniforms: change(weights(self, uniforms))
        )
        monkeypatch.setattr(
            Exploration, "law", lambda self, t, posterior: Changed(law(self, t, posterior), change)
        )

    return broken


class Changed:
    """A law whose weights are changed when drawn."""

    def __init__(self, law, change):
        self.law, self.change, self.optimism = law, change, law.optimism

    def draw(self, u):
        return float(self.change(np.array(self.law.draw(u))))


def squared(monkeypatch):
    monkeypatch.setattr(Posterior, "sd", property(lambda self: np.maximum(self.variance, 0.0)))
    looped("np.sqrt(max(cov[i, i], 0.0))", "max(cov[i, i], 0.0)")(monkeypatch)


def looped(right: str, wrong: str) -> Callable[[pytest.MonkeyPatch], None]:
    """The compiled loop with another text, as plain Python."""

    def broken(monkeypatch):
        text = (Path(kb.__file__).parent / "compiled.py").read_text()
        assert right in text
        lines = text.replace(right, wrong).replace("@compiled\n", "").splitlines()
        space: dict = {}
        kept = "\n".join(line for line in lines if "njit" not in line)
        exec(compile(kept, "broken.py", "exec", dont_inherit=True), space)
        monkeypatch.setattr(engines, "ready", lambda: SimpleNamespace(**space))

    return broken


BREAKAGES = {
    "det for its root": widened(1, 1, 2),
    "half the log-determinant": widened(1, 1, 0.5),
    "D forgotten": widened(0, 1, 1),
    "width halved": widened(0.5, 0.25, 0.25),
    "weights clipped": weighed(lambda w: np.maximum(w, 0.0)),
    "size of the weights": weighed(np.abs),
    "no exploration": weighed(lambda w: 0.0 * w),
    "sd squared": squared,
}


@pytest.mark.parametrize("engine", known_engines())
@pytest.mark.parametrize("breakage", BREAKAGES)
def test_the_arms_of_a_broken_engine_do_not_maximise_the_index(breakage, engine, monkeypatch):
    BREAKAGES[breakage](monkeypatch)
    monkeypatch.setattr(paths, "BANDITS", BANDITS[:1] + TRAPS)
    assert maximised(engine, QUICK).verdict == FAILS


@pytest.mark.parametrize("engine", known_engines())
@pytest.mark.parametrize("breakage", ["D forgotten", "width halved", "no exploration"])
def test_a_round_loses_more_than_twice_the_band_where_the_engine_explores_too_little(
    breakage, engine, monkeypatch
):
    BREAKAGES[breakage](monkeypatch)
    monkeypatch.setattr(paths, "BANDITS", TRAPS)
    rounds, total = pathwise(engine, QUICK)
    assert rounds.verdict == FAILS
    assert total.verdict == (FAILS if breakage == "no exploration" else HOLDS)


@pytest.mark.parametrize("name", PLAYERS)
def test_without_exploration_the_regret_of_every_law_exceeds_its_bound(name, monkeypatch):
    BREAKAGES["no exploration"](monkeypatch)
    found = [outcome(name, TRAPS[0], seed) for seed in range(2)]
    assert expected_regret(name, {TRAPS[0]: found}).verdict == FAILS


def test_without_the_norm_bound_four_laws_stay_in_the_shallow_trap(monkeypatch):
    BREAKAGES["D forgotten"](monkeypatch)
    for name in ("w = 1", "Ber(1/2)", "Ber(1/2), then Ber(1/4)", "i/4, i = 1..4"):
        found = [outcome(name, TRAPS[1], seed) for seed in range(2)]
        assert expected_regret(name, {TRAPS[1]: found}).verdict == FAILS


def test_a_wrong_constant_or_bound_is_seen(monkeypatch):
    sound = kb.theory.regret_bound

    def broken(*given, **more):
        return sound(*given, **more | {"noise_scale": 2 * more["noise_scale"]})

    monkeypatch.setattr(regret, "regret_bound", broken)
    assert regret.same_bounds().verdict == FAILS


def test_a_log_determinant_that_is_not_that_of_the_arms_is_seen():
    runs = {("w = 1", TRAPS[0]): [Outcome(1.0, 2.0, 2.0 + 1e-6)]}
    share, error = regret.realised_gain(runs)
    assert (share.verdict, error.verdict) == (HOLDS, FAILS)
    runs = {("w = 1", TRAPS[0]): [Outcome(1.0, 2.001 * TRAPS[0].gain, 2.001 * TRAPS[0].gain)]}
    assert [found.verdict for found in regret.realised_gain(runs)] == [FAILS, HOLDS]


SEEN: dict[str, Callable[[], list[Finding]]] = {
    "det for its root": lambda: [*lower_bound.deterministic()][:-1],
    "half the log-determinant": lambda: [*lower_bound.deterministic()][:-1],
    "D forgotten": lambda: [*lower_bound.deterministic()][:-1],
    "width halved": lambda: [*lower_bound.deterministic()][:-1],
    "sd squared": lambda: [*lower_bound.deterministic(), lower_bound.growth()],
    "no exploration": lambda: [
        *lower_bound.deterministic(),
        lower_bound.random_law("Ber(1/2)", QUICK),
    ],
}


@pytest.mark.parametrize("breakage", SEEN)
def test_the_judge_of_the_lower_bound_objects_to(breakage, monkeypatch):
    BREAKAGES[breakage](monkeypatch)
    assert all(finding.verdict == FAILS for finding in SEEN[breakage]())


@pytest.mark.parametrize("engine", known_engines())
@pytest.mark.parametrize("breakage", ["det for its root", "D forgotten", "size of the weights"])
def test_the_pulls_of_a_broken_engine_are_not_those_of_the_closed_form(
    breakage, engine, monkeypatch
):
    BREAKAGES[breakage](monkeypatch)
    assert closed_form(engine, QUICK).verdict == FAILS


@pytest.mark.parametrize("engine", known_engines())
def test_a_run_with_fewer_suboptimal_pulls_than_late_rounds_that_explore_is_seen(
    engine, monkeypatch
):
    assert lower_bound.late_rounds(engine, QUICK).verdict == HOLDS
    BREAKAGES["no exploration"](monkeypatch)
    found = lower_bound.late_rounds(engine, QUICK)
    assert (found.verdict, found.observed) == (FAILS, "0 of 8 runs")


def test_a_gap_that_forgets_a_root_is_seen(monkeypatch):
    monkeypatch.setattr(kb.problems.LowerBound, "gap", property(lambda self: 0.05))
    assert lower_bound.stated().verdict == FAILS


def test_the_regret_of_the_instance_grows_like_the_root_of_the_horizon():
    shares = [
        gap(3, t) * (t - counts("w = 1", 3, t, 0)[0]) / math.sqrt(t) for t in (500, 2000, 8000)
    ]
    assert shares == sorted(shares)
    assert shares[1] * math.sqrt(2000) == pytest.approx(80.58045, abs=5e-6)
