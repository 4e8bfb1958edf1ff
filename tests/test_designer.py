"""The designer of exploration laws, judged by closed forms, by random laws it did not look at, and by the constants."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import spearmanr

import kernelbandits as kb
from kernelbandits.experiment import process_mapper
from kernelbandits.experiment.designs import Interval, compare, correlation, cut, ranks
from kernelbandits.theory.designer import FAMILIES, OBJECTIVES, RatedLaw, best_law, factor, rate

UCB = {"repaired": 4.0, "tight": 2.0, "printed": 5.0}
FOLD = math.sqrt(2 / math.pi)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def gaussian_factor(scale: float, horizon: int, objective: str) -> float:
    """The factor of N(0, scale^2) by one plain integral over [0, 12] standard deviations."""
    u, c1, mean = 6 * (NODES + 1), ndtr(-1 / scale), scale * FOLD
    greatest = scale * 6 * float(WEIGHTS @ (1 - (2 * ndtr(u) - 1) ** horizon))
    above = scale * 6 * float(WEIGHTS @ (1 - ndtr(u) ** horizon))
    c3 = (greatest + mean) / c1
    return {
        "repaired": 1 + greatest + c3,
        "tight": 1 + greatest + above / c1,
        "printed": greatest + 2 * c3,
    }[objective]


def bernoulli_factor(p: float, horizon: int, objective: str) -> float:
    some = 1 - (1 - p) ** horizon
    c3 = some / p + 1
    return {"repaired": 1 + some + c3, "tight": 1 + some / p, "printed": some + 2 * c3}[objective]


def test_the_golden_gaussian_of_the_printed_bound():
    found = best_law("gaussian", 1000, objective="printed")
    assert found.value == pytest.approx(1.256, abs=5e-4)
    assert found.factor == pytest.approx(54.25, abs=5e-3)
    assert factor(kb.Gaussian(0, 1), 1000, "printed") == pytest.approx(56.80, abs=5e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("horizon", [3, 50, 1000])
def test_the_gaussian_scale_is_that_of_an_independent_search(objective, horizon):
    found = best_law("gaussian", horizon, objective=objective)
    search = minimize(
        lambda x: gaussian_factor(math.exp(x[0]), horizon, objective),
        [0.1],
        method="Nelder-Mead",
        tol=1e-9,
    )
    assert found.value == pytest.approx(math.exp(search.x[0]), abs=2e-5)
    assert found.factor == pytest.approx(search.fun, rel=1e-9)
    slope = [gaussian_factor(found.value + step, horizon, objective) for step in (-1e-3, 0, 1e-3)]
    assert slope[1] < min(slope[0], slope[2])


@pytest.mark.parametrize("horizon", [3, 10**4, 10**6, 10**12])
def test_the_best_gaussian_scale_hardly_knows_the_horizon(horizon):
    for objective in OBJECTIVES:
        assert 1.1 < best_law("gaussian", horizon, objective=objective).value < 1.3


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "family", ["bernoulli", "categorical", "mixture", "step", "shifted-gaussian"]
)
@pytest.mark.parametrize("budget", [None, 1.0])
def test_without_a_budget_that_binds_the_answer_is_ucb_and_says_so(family, objective, budget):
    found = best_law(family, 200, objective=objective, budget=budget)
    assert found.factor == pytest.approx(UCB[objective], abs=1e-12)
    assert found.mean_abs == pytest.approx(1.0, abs=1e-12)
    assert (found.constants.c1, found.constants.c2) == pytest.approx((1.0, 1.0), abs=1e-12)
    assert found.is_ucb
    assert "this is UCB" in found.sentence
    assert "UCB" not in [row.name for row in found.rivals]


@settings(max_examples=60)
@given(
    st.integers(3, 2000),
    st.lists(st.tuples(st.floats(-2, 3), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.sampled_from(sorted(OBJECTIVES)),
)
def test_no_law_has_a_smaller_factor_than_ucb_or_than_the_bernoulli_law_of_its_budget(
    horizon, atoms, objective
):
    total = sum(weight for _, weight in atoms)
    law = kb.Categorical(
        [weight / total for _, weight in atoms], support=[value for value, _ in atoms]
    )
    found = factor(law, horizon, objective)
    assert found >= UCB[objective] - 1e-9
    if law.mean_abs < 1 and math.isfinite(found):
        assert found >= bernoulli_factor(law.mean_abs, horizon, objective) - 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("horizon", [3, 4, 1000])
def test_schedules_of_bernoulli_laws_gain_nothing(objective, horizon):
    rng = np.random.default_rng(5)
    for first, second in rng.random((40, 2)):
        last = int(rng.integers(1, horizon))
        budget = (last * first + (horizon - last) * second) / horizon
        played = factor(
            kb.Step(kb.Bernoulli(first), kb.Bernoulli(second), last), horizon, objective
        )
        assert played >= bernoulli_factor(budget, horizon, objective) - 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("budget", [0.05, 0.4, 0.99])
@pytest.mark.parametrize("horizon", [3, 1000])
def test_the_bernoulli_law_spends_its_budget(budget, objective, horizon):
    found = best_law("bernoulli", horizon, objective=objective, budget=budget)
    assert found.law == kb.Bernoulli(budget)
    assert found.factor == pytest.approx(bernoulli_factor(budget, horizon, objective), rel=1e-12)


def test_the_gaussian_spends_its_budget_until_its_best_scale():
    for budget, scale in (
        (0.4, 0.4 / FOLD),
        (0.8, 0.8 / FOLD),
        (3.0, best_law("gaussian", 1000).value),
    ):
        assert best_law("gaussian", 1000, budget=budget).value == pytest.approx(scale, abs=1e-6)


SEARCHED = [
    ("bernoulli", {}),
    ("gaussian", {}),
    ("shifted-gaussian", {}),
    ("categorical", {}),
    ("categorical", {"values": 7}),
    ("mixture", {}),
    ("mixture", {"scale": 0.3}),
    ("step", {}),
    ("step", {"last": 3}),
]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("family", "options"), SEARCHED)
def test_a_budget_is_kept_and_the_parts_fit_together(family, options, objective):
    found = best_law(family, 30, objective=objective, budget=0.45, **options)
    assert found.mean_abs <= 0.45 + 1e-12
    again = rate("", found.law, 30, objective)
    assert (again.factor, again.mean_abs) == (found.factor, found.mean_abs)
    assert OBJECTIVES[objective](found.constants) == found.factor
    assert (found.family, found.horizon, found.objective, found.budget) == (
        family,
        30,
        objective,
        0.45,
    )
    assert found.factor <= min(height for _, height in found.curve)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_question_has_the_same_answer(family):
    assert best_law(family, 30, budget=0.45) == best_law(family, 30, budget=0.45)


def drawn_law(family: str, rng: np.random.Generator, budget: float, centre, options):
    """A law of the family near the designed one or anywhere, perhaps beyond the budget."""
    near = rng.random() < 0.5

    def around(value: float, spread: float, low: float, high: float) -> float:
        return (
            float(np.clip(value + spread * rng.normal(), low, high))
            if near
            else float(rng.uniform(low, high))
        )

    match family:
        case "bernoulli":
            return kb.Bernoulli(around(centre.p, 0.02, 0, budget))
        case "gaussian":
            return kb.Gaussian(0.0, around(centre.scale, 0.02, 0.01, budget / FOLD))
        case "shifted-gaussian":
            return kb.Gaussian(
                around(centre.mean, 0.02, -1, 1), around(centre.scale, 0.02, 0.01, 2)
            )
        case "categorical":
            drawn = rng.dirichlet(np.full(len(centre.weights), 0.5))
            share = rng.random() ** 3 if near else 1.0
            return kb.Categorical((1 - share) * np.array(centre.weights) + share * drawn)
        case "mixture":
            scale = options.get("scale") or around(centre.laws[1].scale, 0.02, 0, 1)
            rho = around(centre.weights[0], 0.02, 0, 1)
            return kb.Mixture((rho, 1 - rho), (kb.PointMass(1.0), kb.Gaussian(0.0, scale)))
        case _:
            pair = [
                kb.Bernoulli(around(law.p, 0.02, 0, 1)) for law in (centre.first, centre.second)
            ]
            return kb.Step(*pair, centre.last)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("family", "options"), SEARCHED)
def test_no_other_law_of_the_family_within_the_budget_is_better(family, options, objective):
    rng = np.random.default_rng(17)
    for horizon, budget in ((4, 0.5), (1000, 0.9)):
        found = best_law(family, horizon, objective=objective, budget=budget, **options)
        for _ in range(25):
            other = rate("", drawn_law(family, rng, budget, found.law, options), horizon, objective)
            if other.mean_abs <= budget:
                assert other.factor >= found.factor * (1 - 1e-9), other


def test_the_categorical_weights_are_those_of_a_search_over_the_whole_simplex():
    rng = np.random.default_rng(3)
    values, budget, horizon = np.arange(1, 5) / 4, 0.6, 12
    for objective in OBJECTIVES:
        found = best_law("categorical", horizon, objective=objective, budget=budget)
        limits = (
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "ineq", "fun": lambda p: budget - values @ p},
        )
        best = math.inf
        for start in rng.dirichlet(np.ones(4), size=8):
            search = minimize(
                lambda p, objective=objective: factor(
                    kb.Categorical(np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum()),
                    horizon,
                    objective,
                ),
                start,
                bounds=[(1e-9, 1)] * 4,
                constraints=limits,
                method="SLSQP",
            )
            best = min(best, search.fun) if values @ search.x <= budget + 1e-9 else best
        assert found.factor <= best * (1 + 1e-9)
        assert found.factor == pytest.approx(best, rel=1e-3)
        assert found.law.weights == pytest.approx((8 / 15, 0, 0, 7 / 15), abs=1e-9)


def test_the_best_mixture_of_free_scale_is_bernoulli():
    found = best_law("mixture", 1000, budget=0.4)
    assert found.law.laws[1].scale == 0
    assert found.law.weights == pytest.approx((0.4, 0.6))
    assert "this is Ber(0.4), the best of all laws with this budget" in found.sentence
    assert [row.name for row in found.rivals] == [row.name for row in found.alternatives[:-1]]


def test_the_wide_normal_of_a_mixture_is_left_alone_where_the_budget_allows_one():
    found = best_law("mixture", 1000, budget=1.5, scale=3.0)
    assert found.is_ucb
    assert found.curve[0][0] == pytest.approx((3 * FOLD - 1.5) / (3 * FOLD - 1))


def test_the_sentence_names_the_factor_of_ucb_and_of_the_best_law_with_the_budget():
    free = best_law("gaussian", 1000).sentence
    assert "1 + C2 + C3 is least, 30.23, at scale = 1.198; UCB has 4, and no law has less." in free
    bound = best_law("gaussian", 1000, budget=0.4).sentence
    assert "with E|w| <= 0.4" in bound
    assert (
        "Ber(0.4) has 5.5, the best of all laws with this budget; UCB, beyond the budget, has 4."
        in bound
    )


def test_explain_has_a_line_for_the_law_for_ucb_and_for_each_choice_of_the_paper():
    found = best_law("gaussian", 1000, budget=0.6)
    lines = found.explain().splitlines()
    assert lines[0] == found.sentence
    assert len(lines) == 2 + 1 + 5
    assert lines[2].split() == ["38.2643", "0.6000", "best", "gaussian"]
    factors = {row.name: row.factor for row in found.alternatives}
    assert list(factors.values()) == pytest.approx(
        [4, 7, 31.117758532322195, 8.5, 1 + 1 + 1 / 0.6 + 1]
    )
    explored = [row.mean_abs for row in found.alternatives]
    assert explored == pytest.approx([1, 0.375, FOLD, 0.625, 0.6])


def test_the_law_that_minimises_the_factor_minimises_the_bound_whatever_the_rest_is():
    better, worse = best_law("gaussian", 1000, objective="tight").law, kb.Gaussian(0.0, 1.0)
    for gain, noise, norm_bound in itertools.product((0.5, 40.0), (0.0, 2.0), (0.1, 9.0)):
        told = {"noise_scale": noise, "norm_bound": norm_bound}
        bounds = [kb.theory.regret_bound(law, 1000, gain, **told).tight for law in (better, worse)]
        assert bounds[0] < bounds[1]


def test_no_warning_is_given_while_a_law_is_sought():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for family in FAMILIES:
            best_law(family, 1000, budget=0.4)


BAD = [
    (("cauchy", 10), {}, "best_law needs family in"),
    ((None, 10), {}, "best_law needs family in"),
    (("gaussian", 0), {}, "best_law needs a whole number horizon >= 3, got 0"),
    (("gaussian", 2), {}, "horizon >= 3"),
    (("gaussian", 10.5), {}, "horizon >= 3"),
    (("gaussian", True), {}, "horizon >= 3"),
    (("gaussian", "10"), {}, "horizon >= 3"),
    (("gaussian", 10), {"objective": "loose"}, "best_law needs objective in"),
    (("gaussian", 10), {"budget": 0}, "best_law needs budget > 0, got 0"),
    (("gaussian", 10), {"budget": -1.0}, "best_law needs budget > 0"),
    (("gaussian", 10), {"budget": math.nan}, "best_law needs budget > 0, got nan"),
    (("gaussian", 10), {"budget": math.inf}, "best_law needs budget > 0, got inf"),
    (("gaussian", 10), {"budget": "much"}, "best_law needs budget > 0"),
    (("gaussian", 10), {"budget": 1e-3}, "best_law needs a budget that leaves the family C1"),
    (
        ("shifted-gaussian", 10),
        {"budget": 1e-3},
        "best_law needs a budget that leaves the family C1",
    ),
    (
        ("gaussian", 10),
        {"scale": 1.0},
        r"the family gaussian needs options among \(\), got 'scale'",
    ),
    (("categorical", 10), {"budget": 0.25}, "categorical needs a budget > 1/4"),
    (("categorical", 10), {"values": 1}, "categorical needs a whole number values >= 2"),
    (("categorical", 10), {"values": 2.5}, "categorical needs a whole number values >= 2"),
    (("mixture", 10), {"scale": -1.0}, "mixture needs scale >= 0"),
    (("mixture", 10), {"scale": math.nan}, "mixture needs scale >= 0"),
    (
        ("mixture", 10),
        {"scale": 1.0, "budget": 0.5},
        "mixture needs a budget >= 0.7979 at scale 1, got 0.5",
    ),
    (("step", 10), {"last": 10}, "step needs last < 10"),
    (("step", 10), {"last": 0}, "step needs a whole number last >= 1"),
]


@pytest.mark.parametrize(("given", "more", "sentence"), BAD)
def test_a_wrong_argument_is_refused_in_one_sentence(given, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        best_law(*given, **more)


@pytest.mark.parametrize("law", [kb.Bernoulli(0.0), kb.PointMass(0.5), kb.Gaussian(0.0, 0.01)])
def test_a_law_without_optimism_has_an_infinite_factor(law):
    assert factor(law, 10) == math.inf


def test_equal_values_share_the_middle_of_their_ranks():
    assert ranks(np.array([3.0, 1.0, 3.0 + 1e-12, 7.0])).tolist() == [2.5, 1.0, 2.5, 4.0]


def test_the_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = rng.integers(0, 5, size=(2, 9)).astype(float)
        assert correlation(ranks(a), ranks(b)) == pytest.approx(spearmanr(a, b).statistic)
    assert correlation(np.full(3, 2.0), np.array([1.0, 2.0, 3.0])) == 0.0


@pytest.fixture(scope="module")
def played():
    laws = laws_to_play()
    return laws, compare(laws, ["branin", "hartmann3"], horizon=30, seeds=5, noise_scale=0.1)


def laws_to_play() -> list[RatedLaw]:
    found = best_law("gaussian", 30)
    return [found.rated, *found.rivals]


def test_what_is_compared_is_what_generic_gp_plays(played):
    laws, found = played
    for item, law in itertools.product(found, laws):
        law_row = next(row for row in item.laws if row.rated == law)
        regrets = []
        for seed in range(5):
            streams = kb.Streams(seed)
            instance = kb.problem(item.problem).instance(streams)
            rule = kb.GenericGP(
                instance.domain, kb.RBF(0.2), law.law, noise_scale=0.1, norm_bound=1.0
            )
            regrets.append(instance.regrets(kb.play(rule, instance, 30, streams).arms).sum())
        assert law_row.regret.mean == pytest.approx(np.mean(regrets))
        half = 2.7764451051977987 * np.std(regrets, ddof=1) / math.sqrt(5)
        assert law_row.regret.high - law_row.regret.mean == pytest.approx(half)
        assert law_row.regret.mean - law_row.regret.low == pytest.approx(half)


def test_ranks_differences_and_correlations_follow_from_the_table(played):
    laws, found = played
    for item in found:
        means, factors = [row.regret.mean for row in item.laws], [law.factor for law in laws]
        assert [row.rank_by_factor for row in item.laws] == ranks(np.array(factors)).tolist()
        assert [row.rank_by_regret for row in item.laws] == ranks(np.array(means)).tolist()
        assert item.correlation == pytest.approx(spearmanr(factors, means).statistic)
        assert item.with_mean_abs == pytest.approx(
            spearmanr([law.mean_abs for law in laws], means).statistic
        )
        assert item.laws[0].behind == (0.0, 0.0, 0.0)
        for row in item.laws:
            assert row.behind.mean == pytest.approx(row.regret.mean - means[0])
            assert row.behind.low <= row.behind.mean <= row.behind.high
        assert -1 <= item.by_seed.low <= item.by_seed.mean <= item.by_seed.high <= 1
        assert f"factor {item.correlation:+.2f}" in item.sentence
        assert item.laws[int(np.argmin(means))].rated.name in item.sentence


def test_the_interval_of_a_correlation_stays_among_correlations():
    (found,) = compare(laws_to_play(), "branin", horizon=10, seeds=2)
    assert -1 <= found.by_seed.low <= found.by_seed.mean <= found.by_seed.high <= 1
    assert cut(Interval(0.6, -3.0, 4.2)) == (0.6, -1.0, 1.0)
    assert cut(Interval(0.1, 0.0, 0.2)) == (0.1, 0.0, 0.2)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.6, "tends to agree"),
        (-0.6, "tends to disagree"),
        (0.3, "says little"),
        (0.0, "says little"),
    ],
)
def test_the_sentence_names_the_number_of_laws_and_claims_no_more_than_a_tendency(
    played, value, said
):
    _, (item, _) = played
    assert f": over 5 laws the bound {said} (" in replace(item, correlation=value).sentence


def test_the_simulation_is_the_same_whoever_plays_it(played):
    laws, found = played
    with process_mapper(2) as mapper:
        again = compare(
            laws, ["branin", "hartmann3"], horizon=30, seeds=5, noise_scale=0.1, mapper=mapper
        )
    assert again == found


def test_the_confidence_of_the_policies_is_the_one_given():
    with_half, with_less = (
        compare(laws_to_play(), "branin", horizon=30, seeds=2, delta=delta) for delta in (0.5, 0.01)
    )
    assert with_half != with_less


def test_one_seed_has_no_interval():
    (found,) = compare(laws_to_play(), "branin", horizon=10, seeds=1)
    assert found.laws[0].regret.high == math.inf
    assert "rank correlation" in found.sentence


@pytest.mark.parametrize(
    ("laws", "more", "sentence"),
    [
        ([], {}, "compare needs at least two laws, got 0"),
        ([kb.Bernoulli(0.5)] * 2, {}, "compare needs rated laws"),
        (None, {"seeds": 0}, "an experiment needs a whole number seeds >= 1, got 0"),
        (None, {"horizon": 0}, "an experiment needs a whole number horizon >= 1, got 0"),
        (None, {"noise_scale": -1.0}, "noise_scale"),
        (None, {"delta": 2.0}, "delta"),
    ],
)
def test_a_wrong_comparison_is_refused(laws, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(
            laws_to_play() if laws is None else laws, "branin", **{"horizon": 10, "seeds": 1} | more
        )


def test_a_family_of_too_many_values_is_refused_at_once():
    with pytest.raises(ValueError, match="categorical needs values <= 10000, got 1000000"):
        best_law("categorical", 100, values=10**6)
