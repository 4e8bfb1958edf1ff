from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import kernelbandits as kb
from kernelbandits.exploration import Exploration, as_law
from kernelbandits.problems import GaussianNoise, Instance
from law_games import ARMS, catch_theory_warnings, generic_gp, play_rounds

U = np.random.default_rng(0).random(1000)


def test_tails_keep_their_digits_where_one_minus_the_distribution_function_has_none():
    assert kb.Gaussian().tail(30.0) == pytest.approx(4.906713927148187e-198, rel=1e-12)
    assert kb.Gaussian().tail_abs(30.0) == pytest.approx(2 * 4.906713927148187e-198, rel=1e-12)
    assert kb.exploration.RootExponential(1.0, 2.0).tail(20.0) == pytest.approx(
        math.exp(-399 / 2), rel=1e-12
    )
    assert kb.exploration.Frozen(stats.t(3)).tail_abs(1e20) == pytest.approx(
        2 * stats.t.sf(1e20, 3), rel=1e-12
    )
    rare = kb.Mixture((1 - 1e-30, 1e-30), (kb.PointMass(0.0), kb.Gaussian(9.0, 1.0)))
    assert rare.tail(9.0) == pytest.approx(0.5e-30, rel=1e-12)
    assert kb.exploration.DiscretisedGaussian(top=1e-20).tail(0.99) == pytest.approx(
        1e-20, rel=1e-12
    )
    assert kb.Categorical((1.0, 1e-20), support=(-1.0, 2.0)).tail_abs(1.0) == pytest.approx(
        1e-20, rel=1e-12
    )


# ---------------------------------------------------------------- the paper's table


def test_the_constants_of_the_papers_laws():
    assert (kb.PointMass(1.0).optimism, kb.PointMass(1.0).mean_abs) == (1.0, 1.0)
    assert (kb.Bernoulli(0.25).optimism, kb.Bernoulli(0.25).mean_abs) == (0.25, 0.25)
    assert kb.Gaussian().optimism == pytest.approx(0.158655, abs=5e-7)
    assert kb.Gaussian().mean_abs == pytest.approx(0.797885, abs=5e-7)
    categorical = kb.Categorical((0.1, 0.2, 0.3, 0.4))
    assert categorical.support == (0.25, 0.5, 0.75, 1.0)
    assert categorical.optimism == pytest.approx(0.4)
    assert categorical.mean_abs == pytest.approx(0.025 + 0.1 + 0.225 + 0.4)
    mixture = kb.Mixture((0.3, 0.7), (kb.PointMass(1.0), kb.Gaussian(0.0, 0.5)))
    assert mixture.optimism == pytest.approx(0.3 + 0.7 * stats.norm.sf(2.0))
    assert mixture.mean_abs == pytest.approx(0.3 + 0.7 * 0.5 * math.sqrt(2 / math.pi))
    general = kb.Gaussian(0.7, 0.5)
    assert general.optimism == pytest.approx(stats.norm.cdf((0.7 - 1) / 0.5))
    assert general.mean_abs == pytest.approx(stats.foldnorm(0.7 / 0.5, scale=0.5).mean())


@pytest.mark.thorough
@given(st.floats(-3, 3), st.floats(0.01, 5.0))
def test_the_mean_absolute_gaussian_weight_is_the_folded_normal_mean(mean, scale):
    expected = quad(
        lambda x: abs(x) * stats.norm.pdf(x, mean, scale),
        mean - 9 * scale,
        mean + 9 * scale,
        points=[0.0],
    )
    assert kb.Gaussian(mean, scale).mean_abs == pytest.approx(expected[0], rel=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
def test_a_frozen_discrete_law_keeps_its_atom_at_one(p):
    """scipy.stats.bernoulli(p).sf(1) is 0; P(w >= 1) is p."""
    law = as_law(stats.bernoulli(p))
    assert stats.bernoulli(p).sf(1) == 0
    assert law.optimism == pytest.approx(p)
    assert law.mean_abs == pytest.approx(p, abs=1e-9)
    assert law.cdf_abs(0.5) == pytest.approx(1 - p)


def test_a_frozen_law_agrees_with_our_own_of_the_same_name():
    theirs, ours = as_law(stats.norm(0.3, 0.8)), kb.Gaussian(0.3, 0.8)
    np.testing.assert_allclose(theirs.draw(U[:100]), ours.draw(U[:100]), rtol=1e-12)
    assert theirs.optimism == pytest.approx(ours.optimism, rel=1e-12)
    assert theirs.mean_abs == pytest.approx(ours.mean_abs, rel=1e-9)
    assert theirs.cdf_abs(0.4) == pytest.approx(ours.cdf_abs(0.4), rel=1e-12)


def test_a_law_with_an_atom_of_its_own_may_name_it():
    class Lazy:
        """0 with probability 1/2, else uniform on [1, 2]."""

        def cdf(self, x):
            return 0.5 * (x >= 0) + 0.5 * min(max(x - 1, 0.0), 1.0)

        def ppf(self, u):
            return np.where(np.asarray(u) <= 0.5, 0.0, 2 * np.asarray(u))[()]

    law = kb.exploration.Frozen(Lazy(), given_atoms=(0.0,))
    assert law.optimism == pytest.approx(0.5)
    assert law.mean_abs == pytest.approx(0.75)
    assert law.atoms == (0.0,)


# ---------------------------------------------------------------- mixtures and categories


def test_a_mixture_draws_the_law_and_then_the_weight_and_averages_nothing():
    mixture = kb.Mixture((0.25, 0.75), (kb.PointMass(2.0), kb.PointMass(-1.0)))
    assert set(mixture.draw(U)) == {2.0, -1.0}
    assert [mixture.draw(u) for u in (0.0, 0.249, 0.25, 0.999)] == [2.0, 2.0, -1.0, -1.0]


@given(st.floats(0, 1, exclude_max=True))
def test_the_limits_of_a_mixture_are_its_parts(u):
    parts = (kb.PointMass(1.0), kb.Gaussian())
    assert kb.Mixture((1.0, 0.0), parts).draw(u) == 1.0
    assert kb.Mixture((0.0, 1.0), parts).draw(u) == kb.Gaussian().draw(u)


WEIGHTS = st.lists(st.floats(0.001, 1.0), min_size=2, max_size=5).map(
    lambda w: tuple(np.array(w) / math.fsum(w))
)


@given(WEIGHTS)
@example((0.19332034114262714, 0.5905773455693988, 0.21610231328797413))
def test_a_mixture_is_finite_on_both_sides_of_every_border(weights):
    law = kb.Mixture(weights, [kb.Gaussian(float(i), 0.1) for i in range(len(weights))])
    for border in np.cumsum(law.weights):
        for u in (border, np.nextafter(border, 0), np.nextafter(border, 1)):
            if u < 1:
                assert math.isfinite(law.draw(float(u)))


@given(WEIGHTS)
@example((0.1,) * 10)
def test_a_value_of_chance_zero_is_never_drawn(weights):
    zeros = (0.0, *weights, 0.0)
    law = kb.Categorical(zeros, support=range(len(zeros)))
    mixture = kb.Mixture(zeros, [kb.PointMass(i) for i in range(len(zeros))])
    for u in (0.0, *np.cumsum(weights)[:-1], 1 - 2.0**-53):
        assert law.draw(float(u)) in law.atoms
        assert mixture.draw(float(u)) in mixture.atoms
    assert 0.0 not in law.atoms


def test_a_categorical_law_may_have_any_support_in_any_order():
    law = kb.Categorical((0.5, 0.3, 0.2), support=(2.0, -1.0, 1.0))
    assert law.support == (-1.0, 1.0, 2.0)
    assert law.chances == (0.3, 0.2, 0.5)
    assert law.optimism == pytest.approx(0.7)
    assert law.mean_abs == pytest.approx(1.5)


def test_weights_off_by_rounding_are_renormalised_and_others_refused():
    for law in (
        kb.Categorical((0.5, 0.5 + 1e-12)),
        kb.Mixture((0.5, 0.5 - 1e-12), (kb.Gaussian(), kb.Gaussian())),
    ):
        assert abs(math.fsum(law.weights) - 1) < 2e-16
    for off in (1e-3, -1e-3, 0.5):
        with pytest.raises(ValueError, match=f"needs weights that sum to 1, got {1 + off}"):
            kb.Categorical((0.5, 0.5 + off))


# ---------------------------------------------------------------- schedules


def test_a_step_changes_the_law_after_its_last_round():
    step = kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), last=500)
    assert [step(t).p for t in (1, 500, 501, 1000)] == [0.5, 0.5, 0.25, 0.25]


def test_a_decay_falls_like_a_power_down_to_its_floor():
    decay = kb.Decay(first=0.8, power=0.5, floor=0.1)
    assert [decay(t).p for t in (1, 4, 16, 10_000)] == pytest.approx([0.8, 0.4, 0.2, 0.1])


@pytest.mark.parametrize(
    "decay",
    [kb.Decay(), kb.Decay(0.8, 0.5, 0.1), kb.Decay(0.5, 0.0, 0.1), kb.Decay(0.02, 1.0, 0.3)],
)
@pytest.mark.parametrize("horizon", [1, 5, 63, 64, 65, 500])
def test_the_runs_of_a_decay_are_its_rounds(decay, horizon):
    rounds = [law for law, start, stop in decay.runs(horizon) for _ in range(start, stop)]
    assert rounds == [decay(t) for t in range(1, horizon + 1)]
    early = decay.early_rounds(horizon)
    np.testing.assert_allclose(
        decay.chances(horizon), [decay(t).p for t in range(1, early + 1)], rtol=1e-15
    )
    assert len(decay.runs(10**30)) <= 401


def test_certainty_explores_as_long_as_anything_is_unknown():
    posterior = kb.posterior.ArmPosterior(4.0 * kb.RBF(0.3), ARMS)
    certainty = kb.Certainty(first=0.5, floor=0.1)
    assert certainty(1, posterior).p == pytest.approx(0.5)
    posterior.update(0, 1.0)
    p = certainty(2, posterior).p
    assert p == pytest.approx(0.1 + 0.4 * posterior.sd.max() / 2.0)
    for _ in range(30):
        for arm in range(6):
            posterior.update(arm, 0.0)
    assert 0.1 < certainty(3, posterior).p < 0.3


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        (kb.Gaussian(), 0),
        (stats.norm(0, 1), 0),
        (kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 10), 1),
        (lambda t: kb.Bernoulli(1 / t), 1),
        (lambda t, law=kb.Gaussian(): law, 1),  # noqa: B008
        (kb.Certainty(), 2),
        (lambda t, posterior: kb.PointMass(float(posterior.log_det)), 2),
    ],
)
def test_a_law_and_both_kinds_of_schedule_are_told_apart(source, arguments):
    exploration = Exploration.of(source)
    assert exploration.arguments == arguments
    assert exploration.uses_history == (arguments == 2)
    assert isinstance(
        exploration.law(3, kb.posterior.ArmPosterior(kb.RBF(0.3), ARMS)), kb.exploration.Law
    )


def test_the_law_of_a_schedule_is_that_of_its_round():
    policy = generic_gp(lambda t: kb.PointMass(float(t)))
    assert [policy.ask(t, kb.Streams(0)).note["weight"] for t in (1, 2, 7)] == [1.0, 2.0, 7.0]


def test_a_schedule_may_look_at_the_posterior():
    policy = generic_gp(lambda t, posterior: kb.PointMass(1.0 + posterior.events))
    assert policy.ask(1, kb.Streams(0)).note["weight"] == 1.0
    policy.tell(policy.choice(0), 1.0)
    assert policy.ask(2, kb.Streams(0)).note["weight"] == 2.0


@pytest.mark.parametrize(
    "source", [kb.Gaussian(0.3, 2.0), kb.Step(kb.Bernoulli(0.5), kb.Gaussian(), 7), kb.Decay()]
)
def test_all_weights_at_once_are_those_drawn_one_by_one(source):
    exploration, uniforms = Exploration.of(source), kb.Streams(3).uniforms("weight", 30)
    single = [exploration.law(t, None).draw(float(u)) for t, u in enumerate(uniforms, 1)]
    np.testing.assert_array_equal(exploration.weights(uniforms), single)


@pytest.mark.parametrize(
    "bad", [0.5, None, "gaussian", kb.Bernoulli, kb.Gaussian, stats.rv_continuous, object()]
)
def test_what_is_no_law_is_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        generic_gp(bad)


@pytest.mark.parametrize(
    "bad", [lambda: kb.Gaussian(), lambda t, posterior, width, more: kb.Gaussian()]
)
def test_a_schedule_takes_one_to_three_arguments(bad):
    needed = (
        r"a schedule needs the arguments \(t\), \(t, posterior\) or \(t, posterior, width\), got"
    )
    with pytest.raises(ValueError, match=needed):
        generic_gp(bad)


def test_a_schedule_of_three_arguments_is_given_the_width_of_the_policy():
    seen = []

    def schedule(t, posterior, width):
        seen.append(width)
        return kb.Gaussian()

    policy = generic_gp(schedule)
    for t in range(1, 4):
        policy.tell(policy.ask(t, kb.Streams(0)), 0.5)
    assert seen[0] == pytest.approx(1 + np.sqrt(2 * np.log(2)), rel=1e-12)
    assert seen == sorted(seen)
    assert len(seen) == 3


def test_a_schedule_that_gives_no_law_is_refused_when_asked():
    with pytest.raises(ValueError, match=r"needs cdf and ppf, .*got 0.5"):
        generic_gp(lambda t: 0.5).ask(1, kb.Streams(0))


class Broken:
    """A law from outside that is none."""

    def __init__(self, ppf):
        self.ppf = ppf

    def cdf(self, x):
        return 0.5


@pytest.mark.parametrize(
    "ppf",
    [
        lambda u: math.nan,
        lambda u: math.inf,
        lambda u: np.zeros(3),
        lambda u: None,
        lambda u: "1",
        lambda u: True,
        lambda u, rng=np.random.default_rng(0): rng.random(),  # noqa: B008
    ],
    ids=["nan", "inf", "vector", "none", "text", "truth", "irreproducible"],
)
def test_a_law_from_outside_that_gives_no_finite_weight_is_refused_by_name(ppf):
    with pytest.raises(ValueError, match="Broken needs"):
        generic_gp(Broken(ppf))


def test_a_law_from_outside_that_fails_later_is_refused_at_that_draw():
    policy = generic_gp(Broken(lambda u: np.where(np.isin(u, (0.25, 0.5, 0.75)), 1.0, np.nan)[()]))
    with pytest.raises(ValueError, match="Broken needs finite weights"):
        policy.ask(1, kb.Streams(0))


# ---------------------------------------------------------------- optimism, said once


PESSIMISTS = {
    "constant 0.9": kb.PointMass(0.9),
    "bernoulli 0": kb.Bernoulli(0.0),
    "uniform on [0, 1/2]": stats.uniform(0, 0.5),
    "categorical below one": kb.Categorical((0.5, 0.5), support=(0.1, 0.9)),
    "schedule": lambda t: kb.Bernoulli(0.0),
    "schedule of changing laws": lambda t: kb.PointMass(0.5 / t),
    "schedule that ends in one": lambda t: kb.Bernoulli(0.5 if t < 3 else 0.0),
    "history": lambda t, posterior: kb.PointMass(0.5 / t),
}


@pytest.mark.parametrize("exploration", PESSIMISTS.values(), ids=PESSIMISTS)
def test_weights_that_never_reach_one_run_with_exactly_one_warning(exploration):
    said = catch_theory_warnings(lambda: play_rounds(generic_gp(exploration)))
    assert len(said) == 1
    assert "P(w >= 1) > 0 fails" in said[0]
    assert "no regret guarantee" in said[0]


@pytest.mark.parametrize("exploration", PESSIMISTS.values(), ids=PESSIMISTS)
def test_the_compiled_loop_warns_as_asking_does(exploration):
    instance = Instance("six", ARMS, np.arange(6.0), GaussianNoise(0.1))
    said = catch_theory_warnings(
        lambda: kb.play(generic_gp(exploration), instance, 5, kb.Streams(0))
    )
    assert len(said) == 1
    assert "P(w >= 1) > 0 fails" in said[0]


def test_greedy_never_warns():
    assert catch_theory_warnings(lambda: play_rounds(kb.policies.Greedy(ARMS, kb.RBF(0.3)))) == []


# ---------------------------------------------------------------- what importing costs


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_waits_for_no_compiler_table_plot_or_statistics_package():
    loaded = modules_after("import kernelbandits")
    assert (
        loaded & {"numba", "pandas", "matplotlib", "sklearn", "scipy.stats", "typer", "rich"}
        == set()
    )


def test_asking_and_telling_never_imports_scipy_stats_or_numba():
    loaded = modules_after(
        "import kernelbandits as kb\n"
        "law = kb.Mixture((.5, .5), (kb.Gaussian(), kb.Bernoulli(.5)))\n"
        "p = kb.GenericGP([[0.], [1.]], kb.RBF(.3), law, noise_scale=1, norm_bound=1)\n"
        "p.tell(p.ask(1, kb.Streams(0)), 1.0)\n"
        "law.optimism, law.mean_abs, law.cdf_abs(.5)"
    )
    assert loaded & {"numba", "pandas", "matplotlib", "scipy.stats"} == set()


def test_a_law_without_a_mean_says_so():
    from scipy import stats

    assert kb.exploration.Frozen(stats.cauchy()).mean_abs == math.inf


def test_discrete_laws_off_the_origin_keep_their_atom_at_one():
    from scipy import stats

    for law in (stats.binom(4, 0.3, loc=-2), stats.poisson(2, loc=-1), stats.geom(0.5, loc=-2)):
        values = np.arange(-3, 60)
        masses = law.pmf(values)
        frozen = kb.exploration.Frozen(law)
        assert frozen.optimism == pytest.approx(masses[values >= 1].sum())
        assert frozen.cdf_abs(0) == pytest.approx(masses[values == 0].sum())
        assert frozen.cdf_abs(2) == pytest.approx(masses[abs(values) <= 2].sum())
        assert frozen.mean_abs == pytest.approx((abs(values) * masses).sum())


def test_narrow_and_far_laws_keep_their_digits():
    from scipy import stats

    assert kb.exploration.Frozen(stats.norm(0, 1e-4)).mean_abs == pytest.approx(
        1e-4 * math.sqrt(2 / math.pi)
    )
    assert kb.exploration.Frozen(stats.norm(-9, 1)).optimism == pytest.approx(stats.norm.sf(10))
    assert kb.exploration.Frozen(
        stats.rv_discrete(values=((0.5, 1.0, 1.7), (0.2, 0.3, 0.5)))
    ).atoms == (
        0.5,
        1.0,
        1.7,
    )
