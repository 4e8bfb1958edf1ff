"""Claims are judged by paired intervals at Holm's levels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from kernelbandits.analysis.claims import (
    REGRET_FAMILY,
    TIME_FAMILY,
    ClaimFamily,
    PaperClaim,
    PolicyComparison,
    check_family,
    check_regrets,
    combine_verdicts,
    holm_levels,
    time_samples,
    verdict_of,
)
from kernelbandits.experiment import paper

A_BELOW_B = PolicyComparison("p", "a", "b", "lower")


def judged(comparison: PolicyComparison, first, second, reference: float = 100.0) -> str:
    data = np.asarray(first, float), np.asarray(second, float), reference
    family = ClaimFamily((PaperClaim("k", "", "", (comparison,)),))
    return check_family(family, lambda c: data)[0].verdict


def test_holm_gives_the_smallest_p_the_strictest_level_and_stops_at_the_first_one_kept():
    assert holm_levels([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4]
    )


def test_holm_of_one_hypothesis_is_the_plain_level():
    assert holm_levels([0.7]) == [0.05]


def test_hypotheses_of_the_family_that_are_not_tested_count_in_holms_levels():
    tested = [0.01, 0.0005, 0.03]
    with_others = holm_levels([*tested, 1.0, 1.0, 1.0])
    assert holm_levels(tested, size=6) == pytest.approx(with_others[:3])


@pytest.mark.parametrize(
    ("low", "high", "wanted", "verdict"),
    [
        (-3, -1, (-math.inf, 0), "holds"),
        (1, 3, (-math.inf, 0), "fails"),
        (0, 0, (-math.inf, 0), "fails"),
        (-1, 1, (-math.inf, 0), "not resolved"),
        (-9, 9, (-10, 10), "holds"),
        (-9, 11, (-10, 10), "not resolved"),
        (11, 12, (-10, 10), "fails"),
        (-12, -10, (-10, 10), "fails"),
        (-math.inf, math.inf, (-math.inf, 0), "not resolved"),
    ],
)
def test_a_verdict_follows_from_where_the_whole_interval_lies(low, high, wanted, verdict):
    assert verdict_of(low, high, wanted) == verdict


def test_paired_differences_resolve_what_unpaired_ones_would_not():
    rng = np.random.default_rng(0)
    seed_effect = 100 * rng.normal(size=25)
    first, second = seed_effect + rng.normal(size=25), seed_effect + 2 + rng.normal(size=25)
    assert judged(A_BELOW_B, first, second) == "holds"
    assert judged(A_BELOW_B, second, first) == "fails"
    assert judged(A_BELOW_B, first, rng.permutation(second)) == "not resolved"


def test_equal_regrets_do_not_outperform_each_other():
    assert judged(A_BELOW_B, np.ones(5), np.ones(5)) == "fails"


def test_one_seed_resolves_nothing():
    assert judged(A_BELOW_B, [1.0], [2.0]) == "not resolved"


def test_similarly_needs_every_interval_within_a_tenth_of_simple_ucb():
    rng = np.random.default_rng(1)
    similar = PolicyComparison("p", "a", "b", "similar")
    noise = rng.normal(size=25)
    assert judged(similar, noise + 5, np.zeros(25), 100.0) == "holds"
    assert judged(similar, noise + 50, np.zeros(25), 100.0) == "fails"
    assert judged(similar, noise + 10, np.zeros(25), 100.0) == "not resolved"
    assert judged(similar, noise + 5, np.zeros(25), 10.0) == "fails"


@pytest.mark.thorough
def test_the_chance_of_any_false_verdict_among_all_claims_stays_at_five_percent():
    rng, runs, m = np.random.default_rng(2), 600, 12
    comparisons = tuple(PolicyComparison(f"p{i}", "a", "b", "lower") for i in range(m))
    family = ClaimFamily(tuple(PaperClaim(c.problem, "", "", (c,)) for c in comparisons))
    wrong = 0
    for _ in range(runs):
        data = {c: (rng.normal(size=10), rng.normal(size=10), 1.0) for c in comparisons}
        wrong += any(v.verdict != "not resolved" for v in check_family(family, data.__getitem__))
    assert wrong / runs < 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
    assert wrong > 0


def test_a_claim_holds_only_if_all_its_comparisons_do_and_fails_if_one_does():
    assert combine_verdicts(["holds", "holds"]) == "holds"
    assert combine_verdicts(["holds", "not resolved"]) == "not resolved"
    assert combine_verdicts(["holds", "not resolved", "fails"]) == "fails"
    assert combine_verdicts([]) == combine_verdicts(["not tested"] * 2) == "not tested"


def test_a_comparison_that_was_not_tested_is_no_support_and_no_objection():
    assert combine_verdicts(["holds", "not tested"]) == "not resolved"
    assert combine_verdicts(["fails", "not tested"]) == "fails"
    pair = A_BELOW_B, PolicyComparison("q", "a", "b", "lower")
    data = {A_BELOW_B: (np.arange(5.0), 10 + np.arange(5.0), 1.0)}
    (found,) = check_family(ClaimFamily((PaperClaim("k", "", "", pair),)), data.get)
    assert (found.verdict, found.problems) == ("not resolved", ("p", "q"))
    assert (found.on("p"), found.on("q")) == ("holds", "not tested")


def random_endings(seed: int) -> dict[tuple[str, str], np.ndarray]:
    """Final regrets of all policies on all problems, of which a part differs clearly."""
    rng = np.random.default_rng(seed)
    return {
        (p, label): 100 + rng.normal(scale=30) + 10 * rng.normal(size=25)
        for p in (*paper.SYNTHETIC, paper.PEROVSKITE)
        for label in (*paper.COMPARED, *paper.CONTROLS, *paper.ELIMINATION)
    }


@pytest.mark.parametrize("seed", range(5))
def test_verdicts_and_intervals_on_the_functions_are_the_same_without_perovskite(seed):
    endings = random_endings(seed)
    less = {name: regret for name, regret in endings.items() if name[0] != paper.PEROVSKITE}
    pairs = list(zip(check_regrets(endings), check_regrets(less), strict=True))
    assert "not tested" not in {whole.verdict for whole, _ in pairs}
    for whole, without in pairs:
        on_functions = [d for d in whole.differences if d.comparison.problem != paper.PEROVSKITE]
        assert list(without.differences) == on_functions
        for problem in whole.problems:
            kept = "not tested" if problem == paper.PEROVSKITE else whole.on(problem)
            assert without.on(problem) == kept
        if paper.PEROVSKITE not in whole.problems:
            assert without == whole
    assert [without.verdict for _, without in pairs].count("not tested") == 2


def test_an_untested_claim_on_regret_still_counts_in_the_correction():
    """The strictest level is 5 % over all 120 comparisons on regret, tested or not."""
    endings = random_endings(0)
    less = {name: regret for name, regret in endings.items() if name[0] != paper.PEROVSKITE}
    size = len(REGRET_FAMILY.comparisons)
    assert size == sum(len(claim.comparisons) for claim in REGRET_FAMILY.claims) == 120
    quantile = float(stdtrit(24, 1 - 0.05 / size / 2))
    shares = []
    for d in (d for v in check_regrets(less) for d in v.differences):
        c = d.comparison
        second = less[c.problem, c.second] / (2 if c.kind == "half" else 1)
        gaps = less[c.problem, c.first] - second
        shares.append((d.high - d.mean) / (quantile * gaps.std(ddof=1) / 5))
    assert max(shares) == pytest.approx(1)


def test_times_are_judged_as_ratios_and_a_saving_within_ten_percent_is_none():
    rng = np.random.default_rng(3)
    jitter = np.exp(0.001 * rng.normal(size=25))
    labels = (*paper.COMPARED, "GP-UCB (Whitehouse)")
    times = dict.fromkeys(labels, 1e-6 * np.ones(25)) | {
        "Simple-UCB": 0.94e-6 * jitter,
        "GP-TS": 3e-6 * jitter,
    }
    verdicts = check_family(TIME_FAMILY, time_samples(times))
    assert {v.claim.key: v.verdict for v in verdicts} == {
        "efficient-time": "holds",
        "no-balls": "fails",
        "one-normal": "holds",
    }


def test_every_sentence_of_the_papers_results_is_among_the_claims():
    keys = [claim.key for claim in REGRET_FAMILY.claims]
    assert keys == [
        "best",
        "efficient-regret",
        "reducing",
        "gaussian",
        "categorical",
        "similar",
        "perovskite",
        "elimination",
    ]
    best, elimination = REGRET_FAMILY.claims[0], REGRET_FAMILY.claims[-1]
    assert len(best.comparisons) == 4 * 5
    assert {c.second for c in best.comparisons} == set(paper.COMPARED) - {"Simple-Bernoulli"}
    assert len(elimination.comparisons) == 5 * 3 * 4
    assert [claim.key for claim in TIME_FAMILY.claims] == [
        "efficient-time",
        "no-balls",
        "one-normal",
    ]


def verdicts_with(levels: dict[str, float], problems=(*paper.SYNTHETIC, paper.PEROVSKITE)):
    """Judge final regrets near 100, or near those of the policies named."""
    rng = np.random.default_rng(4)
    labels = (*paper.COMPARED, *paper.CONTROLS, *paper.ELIMINATION)
    found = check_regrets(
        {
            (p, label): levels.get(label, 100.0) + rng.normal(size=25)
            for p in problems
            for label in labels
        }
    )
    return {v.claim.key: v for v in found}


@pytest.mark.parametrize("problems", [(*paper.SYNTHETIC, paper.PEROVSKITE), paper.SYNTHETIC])
@pytest.mark.parametrize(
    ("regrets", "verdict"),
    [
        ((200, 200, 200), "holds"),
        # Two of three rules that are better are more than half of the comparisons.
        ((50, 50, 200), "fails"),
        ((50, 200, 200), "holds"),
        ((100, 100, 100), "not resolved"),
    ],
)
def test_elimination_rules_are_often_poor_if_they_lose_most_comparisons(problems, regrets, verdict):
    levels = dict(zip(paper.ELIMINATION, regrets, strict=True))
    found = verdicts_with(levels, problems)["elimination"]
    assert found.verdict == verdict
    assert {found.on(problem) for problem in problems} == {verdict}


def test_often_means_more_than_half_of_all_comparisons_also_of_those_not_tested():
    assert combine_verdicts(["holds"] * 3 + ["fails"] * 2, often=True) == "holds"
    assert combine_verdicts(["holds"] * 2 + ["fails"] * 2, often=True) == "fails"
    assert combine_verdicts(["holds"] * 2 + ["not tested"] * 2, often=True) == "not resolved"
    assert combine_verdicts(["fails"] * 2 + ["not tested"] * 2, often=True) == "fails"
    assert combine_verdicts(["holds", "fails", "not resolved"], often=True) == "not resolved"
    assert combine_verdicts(["not tested"] * 2, often=True) == "not tested"


@pytest.mark.parametrize(
    ("regret", "verdict"), [(40.0, "holds"), (60.0, "fails"), (50.0, "not resolved")]
)
def test_extremely_efficient_in_regret_is_half_the_regret_of_the_rivals(regret, verdict):
    found = verdicts_with({"Simple-Bernoulli": regret})
    assert found["best"].verdict == "holds"
    assert found["efficient-regret"].verdict == verdict


def test_no_comparison_is_in_two_families():
    assert not set(REGRET_FAMILY.comparisons) & set(TIME_FAMILY.comparisons)
