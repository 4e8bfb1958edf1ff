"""One suite for every policy of the catalogue: a new member is tested without being asked."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from conftest import has_index, pairwise, show_value
from kernelbandits import posterior as posterior_room
from kernelbandits.catalogue import POLICIES
from kernelbandits.domains import tied_arms
from kernelbandits.policies import IndexPolicy
from kernelbandits.policies.learner import Learner
from kernelbandits.policies.linear import LinearRule
from kernelbandits.posterior import PartialPosterior
from kernelbandits.streams import GeneratorRandomness

every_policy = pytest.mark.parametrize("name", POLICIES)
INDEXED = [
    name
    for name, entry in POLICIES.items()
    if issubclass(entry.constructor, IndexPolicy) and entry.takes_kernel
]
"""Those of the form mean + w_t width_t sd."""
RANKED = [name for name, entry in POLICIES.items() if has_index(entry.constructor)]
"""Those that play the greatest index, whatever its form."""
LINEAR = {name for name, entry in POLICIES.items() if issubclass(entry.constructor, LinearRule)}
"""Those that take rewards as linear in x: their k(x, x) is |x|^2."""
every_index_policy = pytest.mark.parametrize("name", INDEXED)
every_ranked_policy = pytest.mark.parametrize("name", RANKED)
DETERMINISTIC: set[str] = {
    "adaptive-tree",
    "oful",
    "rarely-switching-oful",
    "lin-ucb",
    "sup-lin-ucb",
    "lin-rel",
    "sup-lin-rel",
}
"""Those that meet no ties on the cloud, so that the seed changes nothing."""
NOISE_FREE = {"gp-ucb-plus", "exploit-plus"}
"""Those whose guarantee is for rewards without noise, whatever k(x, x)."""
OWN_FORM: set[str] = {
    "oful",
    "rarely-switching-oful",
    "lin-ts",
    "lin-ucb",
    "sup-lin-ucb",
    "lin-rel",
    "sup-lin-rel",
    "gp-ts",
    "evill",
    "pims",
    "gp-eims",
    "bkb",
    "tv-gp-ucb",
    "streaming-ucb",
    "wgp-ucb",
    "ata-gp-ucb",
    "va-gp-ucb",
    "va-mvr",
    "va-pe",
}
"""Those whose posterior has a form of its own, which a pool cannot replace."""


def reward_of(choice: kb.Choice, t: int) -> float:
    return float(np.sin(4 * choice.x.sum()) + 0.3 * (-1) ** t)


def played(policy: kb.Policy, horizon: int = 25, seed: int = 1) -> list[tuple[kb.Choice, float]]:
    events, streams = [], kb.Streams(seed)
    for t in range(1, horizon + 1):
        choice = policy.ask(t, streams)
        events.append((choice, reward_of(choice, t)))
        policy.tell(*events[-1])
    return events


def state(policy: kb.Policy) -> dict[str, Any]:
    """All that a policy holds, down to arrays and numbers; not what it said, nor kept scores."""
    return {
        name: deep(value)
        for name, value in vars(policy).items()
        if name not in ("_said", "_scored", "settings")
    }


def deep(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return [deep(item) for item in value]
    if isinstance(value, dict):
        return {key: deep(item) for key, item in value.items()}
    if isinstance(value, PartialPosterior):
        # Its posterior is made when it is first needed, which is no change.
        return deep(value._inner) | {
            "arms": value.arms.copy(),
            "counts of all": value.counts.copy(),
        }
    if isinstance(value, Learner):
        # All else follows from the results and the fits.
        known = {"results": deep(value.results), "fits": sorted(value.made_fits)}
        return known | {"posterior": deep(value.posterior)}
    if type(value).__module__.startswith("kernelbandits.po"):
        # What is computed when it is first needed is no state.
        kept = ("_moments", "_exact", "_prior_rows")
        return {name: deep(item) for name, item in vars(value).items() if name not in kept}
    return value if isinstance(value, (bool, int, float, str, type(None))) else None


def same_state(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            same_state(left[key], right[key]) for key in left
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_state, left, right))
    return np.array_equal(left, right)


# ---------------------------------------------------------------- asking and telling


@every_policy
def test_asking_changes_nothing(name, build, cloud):
    policy, streams = build(name, cloud), kb.Streams(1)
    for t in range(1, 20):
        before = state(policy)
        choice = policy.ask(t, streams)
        assert choice == policy.ask(t, streams) == policy.ask(t, kb.Streams(1))
        policy.ask(t + 7, streams)
        assert policy.ask(t, streams) == choice
        assert same_state(state(policy), before)
        policy.tell(choice, reward_of(choice, t))


@pytest.mark.thorough
@every_policy
def test_replaying_the_rewards_rebuilds_the_policy(name, build, cloud):
    policy, again = build(name, cloud), build(name, cloud)
    for choice, reward in played(policy):
        again.tell(choice, reward)
    assert same_state(state(policy), state(again))
    assert policy.ask(26, kb.Streams(1)) == again.ask(26, kb.Streams(1))


@every_policy
def test_a_copy_goes_on_as_the_original_and_neither_touches_the_other(name, build, cloud):
    policy, streams = build(name, cloud), kb.Streams(1)
    events = played(policy, 10)
    twin = copy.deepcopy(policy)
    assert same_state(state(policy), state(twin))
    for t in range(11, 26):
        before, choice = state(twin), policy.ask(t, streams)
        assert twin.ask(t, streams) == choice
        policy.tell(choice, reward_of(choice, t))
        assert same_state(state(twin), before)
        twin.tell(choice, reward_of(choice, t))
        assert same_state(state(policy), state(twin))
    assert len(events) == 10


@every_policy
def test_the_number_of_the_arm_and_the_reward_are_all_that_telling_needs(name, build, cloud):
    policy, bare, pointed = (build(name, cloud) for _ in range(3))
    for choice, reward in played(policy):
        bare.tell(bare.choice(np.int64(choice.arm)), np.float64(reward))
        pointed.tell(kb.Choice(choice.x.tolist()), reward)
    assert same_state(state(policy), state(bare))
    assert same_state(state(policy), state(pointed))


@every_policy
def test_equal_seeds_give_equal_choices_and_different_seeds_different_ones(name, build, cloud):
    first, again, other = (played(build(name, cloud), seed=seed) for seed in (1, 1, 2))
    assert [choice for choice, _ in first] == [choice for choice, _ in again]
    same = [choice.arm for choice, _ in first] == [choice.arm for choice, _ in other]
    assert same == (name in DETERMINISTIC)


@every_policy
def test_a_choice_is_one_of_the_arms(name, build, cloud):
    policy = build(name, cloud)
    for choice, _ in played(policy):
        assert type(choice.arm) is int
        np.testing.assert_array_equal(choice.x, cloud[choice.arm])
        assert all(type(value) is float and math.isfinite(value) for value in choice.note.values())


@every_policy
def test_a_policy_learns_what_it_was_told(name, build, cloud):
    policy = build(name, cloud)
    events = played(policy)
    arms = [choice.arm for choice, _ in events]
    np.testing.assert_array_equal(policy.posterior.counts, np.bincount(arms, minlength=12))
    mean, sd = policy.posterior.at(cloud)
    np.testing.assert_allclose(policy.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.sd, sd, atol=1e-7)
    assert policy.recommend() == policy.posterior.mean.argmax()


@every_policy
def test_a_generator_may_be_used_and_is_drawn_from_in_the_order_weight_tie_sample(
    name, build, cloud
):
    class Written(GeneratorRandomness):
        def uniform(self, purpose, t):
            asked.append(purpose)
            return super().uniform(purpose, t)

        def normal(self, purpose, t, n):
            asked.append(purpose)
            sizes.append(n)
            return super().normal(purpose, t, n)

    policy, asked, sizes = build(name, cloud), [], []
    choice = policy.ask(1, Written(np.random.default_rng(5)))
    assert asked == [purpose for purpose in ("weight", "tie", "sample") if purpose in asked]
    assert asked
    rng = np.random.default_rng(5)
    assert policy.ask(1, rng) == choice
    spent = np.random.default_rng(5)
    for purpose in asked:
        spent.random() if purpose != "sample" else spent.standard_normal(sizes[0])
    assert rng.random() == spent.random()


@every_index_policy
def test_the_weight_is_the_first_number_of_the_generator_and_the_tie_the_second(name, build, cloud):
    policy = build(name, cloud)
    choice = policy.ask(1, np.random.default_rng(6))
    u, tie = np.random.default_rng(6).random(2)
    weight = policy.exploration.law(1, policy.posterior).draw(u)
    assert choice.note["weight"] == weight
    best = tied_arms(policy.index(1, weight))
    assert choice.arm == best[int(tie * len(best))]


# ---------------------------------------------------------------- the index


@every_index_policy
def test_the_index_is_the_mean_plus_the_weighted_width_times_the_sd(name, build, cloud):
    """sd and not its square; a negative weight lowers the index; weight 0 leaves the mean alone."""
    policy = build(name, cloud)
    played(policy, 10)
    p, width = policy.posterior, policy.width_at(11)
    for weight in (1.0, 0.3, 0.0, -1.0):
        np.testing.assert_allclose(
            policy.index(11, weight), p.mean + weight * width * np.sqrt(p.variance), rtol=1e-13
        )
    np.testing.assert_array_equal(policy.index(11), policy.index(11, 1.0))


@every_index_policy
def test_the_note_says_why(name, build, cloud):
    policy, streams = build(name, cloud), kb.Streams(4)
    played(policy, 10)
    choice = policy.ask(11, streams)
    note, p = choice.note, policy.posterior
    assert set(note) == {"index", "weight", "width", "mean", "sd"}
    assert (note["mean"], note["sd"]) == (p.mean[choice.arm], p.sd[choice.arm])
    assert note["width"] == policy.width_at(11)
    total = note["mean"] + note["weight"] * note["width"] * note["sd"]
    assert total == pytest.approx(policy.index(11, note["weight"])[choice.arm], rel=1e-14)
    assert note["index"] == pytest.approx(total, rel=1e-14)


@every_ranked_policy
def test_permuting_the_arms_permutes_the_index(name, build, cloud):
    order = np.random.default_rng(0).permutation(12)
    policy, permuted = build(name, cloud), build(name, cloud[order])
    place = np.argsort(order)
    for choice, reward in played(policy):
        permuted.tell(permuted.choice(int(place[choice.arm])), reward)
    for given in ((1.0,), (-0.5,)) if name in INDEXED else ((),):
        np.testing.assert_allclose(
            permuted.index(26, *given), policy.index(26, *given)[order], atol=1e-12
        )


@every_ranked_policy
def test_the_choice_has_the_greatest_index(name, build, cloud):
    policy, streams = build(name, cloud), kb.Streams(3)
    for t in range(1, 26):
        choice = policy.ask(t, streams)
        index = policy.index(t, *([choice.note["weight"]] if name in INDEXED else []))
        assert choice.arm in tied_arms(index)
        policy.tell(choice, reward_of(choice, t))


def test_permuting_the_arms_permutes_the_law_of_a_posterior_draw(build, cloud):
    order = np.random.default_rng(0).permutation(12)
    policy, permuted = build("gp-ts", cloud), build("gp-ts", cloud[order])
    place = np.argsort(order)
    for choice, reward in played(policy):
        permuted.tell(permuted.choice(int(place[choice.arm])), reward)

    def mean_and_cov(rule):
        zero, unit = np.zeros(12), np.eye(12)
        mean = rule.sample(26, zero, zero)
        columns = [rule.sample(26, row, zero) - mean for row in unit]
        columns += [rule.sample(26, zero, row) - mean for row in unit]
        return mean, np.array(columns).T @ np.array(columns)

    mean, cov = mean_and_cov(policy)
    scale = policy.width(26, policy.posterior.log_det)
    np.testing.assert_allclose(cov, scale**2 * policy.posterior.cov, atol=1e-10)
    np.testing.assert_allclose(mean_and_cov(permuted)[0], mean[order], atol=1e-12)
    np.testing.assert_allclose(mean_and_cov(permuted)[1], cov[np.ix_(order, order)], atol=1e-10)


@every_index_policy
def test_the_rule_for_ties_does_not_change_the_weights(name, build, cloud):
    random, lowest = build(name, cloud, ties="random"), build(name, cloud, ties="lowest")
    for t in range(1, 30):
        first, second = random.ask(t, kb.Streams(5)), lowest.ask(t, kb.Streams(5))
        assert first.note["weight"] == second.note["weight"]


@every_index_policy
def test_at_the_first_round_all_arms_tie(name, build, cloud):
    if len(set(build(name, cloud).posterior.prior)) > 1:
        return
    assert build(name, cloud, ties="lowest").ask(1, kb.Streams(0)).arm == 0
    arms = [build(name, cloud).ask(1, kb.Streams(seed)).arm for seed in range(60)]
    assert len(set(arms)) > 8


# ---------------------------------------------------------------- what is refused

BAD_REWARDS = [
    math.nan,
    math.inf,
    -math.inf,
    None,
    "",
    "1,5",
    "1.5",
    True,
    False,
    1j,
    1e300,
    -1e200,
    10**400,
    [1.0],
    np.nan,
]


@every_policy
def test_a_refused_reward_changes_nothing(name, build, cloud):
    policy = build(name, cloud)
    played(policy, 5)
    before, choice = state(policy), policy.ask(6, kb.Streams(1))
    for bad in BAD_REWARDS if name in ("simple-ucb", "auto") else BAD_REWARDS[:1]:
        with pytest.raises(ValueError, match="tell needs"):
            policy.tell(choice, bad)
        assert same_state(state(policy), before)
        assert policy.ask(6, kb.Streams(1)) == choice
    policy.tell(choice, 1.0)
    assert policy.posterior.events == 6


@pairwise(reward=[1e150, -1e150, 5e-324, -0.0, 1, np.float32(0.5), np.int64(3)], name=POLICIES)
def test_an_extreme_reward_is_learnt_and_the_posterior_stays_finite(name, reward, build, cloud):
    policy = build(name, cloud)
    policy.tell(policy.choice(3), reward)
    assert np.isfinite(policy.posterior.mean).all()
    assert policy.ask(2, kb.Streams(0)).arm in range(12)


BAD_CHOICES = [
    kb.Choice([0.0, 0.0], 12),
    kb.Choice([0.0, 0.0], -1),
    kb.Choice([0.0, 0.0], 1.0),
    kb.Choice([0.0, 0.0], True),
    kb.Choice([0.0, 0.0], "3"),
    kb.Choice([0.123, 0.456]),
    kb.Choice([0.123]),
    kb.Choice([0.1, 0.2, 0.3]),
    kb.Choice(0.5),
    kb.Choice(None),
    kb.Choice([math.nan, 0.0]),
    kb.Choice("arm"),
]


@every_policy
def test_what_is_no_arm_round_randomness_or_note_is_refused_and_changes_nothing(name, build, cloud):
    """One bad value each; all others stand below, once."""
    policy = build(name, cloud)
    before = state(policy)
    with pytest.raises(ValueError, match="needs"):
        policy.tell(kb.Choice([0.0, 0.0], 12), 1.0)
    with pytest.raises(ValueError, match="tell needs a note of names and numbers, got"):
        policy.tell(kb.Choice(cloud[0], 0, [("level", 1)]), 1.0)
    with pytest.raises(ValueError, match="choice needs"):
        policy.choice(12)
    with pytest.raises(ValueError, match="needs a round t >= 1, got 0"):
        policy.ask(0, kb.Streams(0))
    with pytest.raises(ValueError, match=r"needs a kb.Streams or a numpy Generator"):
        policy.ask(1, np.random.RandomState(0))
    if name in RANKED:
        with pytest.raises(ValueError, match="a round t >= 1"):
            policy.index(0)
    assert same_state(state(policy), before)


@pytest.mark.parametrize("choice", BAD_CHOICES, ids=show_value)
def test_a_choice_that_is_no_arm_is_refused_and_changes_nothing(choice, build, cloud):
    policy = build("simple-ucb", cloud)
    before = state(policy)
    with pytest.raises(ValueError, match="needs"):
        policy.tell(choice, 1.0)
    assert same_state(state(policy), before)


@pytest.mark.parametrize("arm", [12, -1, 1.5, "0", None, True], ids=repr)
def test_an_arm_that_does_not_exist_has_no_choice(arm, build, cloud):
    with pytest.raises(ValueError, match="choice needs"):
        build("simple-ucb", cloud).choice(arm)


@pytest.mark.parametrize("rng", [None, 0, np.random], ids=["None", "0", "numpy.random"])
def test_randomness_from_anywhere_else_is_refused(rng, build, cloud):
    with pytest.raises(ValueError, match=r"needs a kb.Streams or a numpy Generator"):
        build("simple-ucb", cloud).ask(1, rng)


@pytest.mark.parametrize("note", [None, 5, "level", [("level", 1)]], ids=repr)
def test_a_note_that_is_none_is_refused(note, build, cloud):
    with pytest.raises(ValueError, match="tell needs a note of names and numbers, got"):
        build("simple-ucb", cloud).tell(kb.Choice(cloud[0], 0, note), 1.0)


# ---------------------------------------------------------------- small and odd domains


@every_policy
def test_one_arm_is_enough(name, build):
    policy = build(name, [[0.5, 0.5]])
    assert {choice.arm for choice, _ in played(policy, 5)} == {0}


@pairwise(ties=["random", "lowest"], name=POLICIES)
def test_repeated_arms_are_played_and_learn_alike(name, ties, build, cloud, quiet):
    policy = build(name, np.vstack([cloud, cloud]), ties=ties)
    played(policy, 25)
    np.testing.assert_allclose(policy.posterior.mean[:12], policy.posterior.mean[12:], atol=1e-12)
    np.testing.assert_allclose(policy.posterior.sd[:12], policy.posterior.sd[12:], atol=1e-9)


@every_policy
def test_two_identical_arms_work(name, build, quiet):
    arms = {choice.arm for choice, _ in played(build(name, [[0.5], [0.5]]), 20)}
    assert arms <= {0, 1}


@every_policy
def test_a_horizon_of_one_works(name, build, cloud):
    policy = build(name, cloud, horizon=1)
    choice = policy.ask(1, kb.Streams(0))
    policy.tell(choice, 1.0)
    assert np.isfinite(policy.posterior.mean).all()


@every_policy
def test_asked_beyond_its_horizon_it_says_so_once_and_goes_on(name, build, cloud):
    policy = build(name, cloud, horizon=3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        played(policy, 8)
    expected = ["asked beyond its horizon 3"] if policy.horizon else []
    assert [text for w in said for text in expected if text in str(w.message)] == expected
    assert len(said) == len(expected)
    assert policy.posterior.events == (8 % policy.period if name == "r-gp-ucb" else 8)


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in OWN_FORM])
def test_the_same_rounds_are_played_on_a_pool_without_the_covariance(
    name, build, cloud, monkeypatch
):
    on_arms = [choice.arm for choice, _ in played(build(name, cloud), 40)]
    monkeypatch.setattr(posterior_room, "LARGEST_COVARIANCE", 5)
    policy = build(name, cloud)
    assert isinstance(policy.posterior, kb.posterior.RowPosterior)
    assert [choice.arm for choice, _ in played(policy, 40)] == on_arms


# ---------------------------------------------------------------- what is said


@every_policy
def test_what_was_chosen_for_the_user_is_written_in_the_settings(name, build, cloud):
    policy = build(name, cloud)
    assert {"ridge", "ties", "horizon", "exploration", "gain"} <= set(policy.settings)
    assert policy.settings["ridge"] == policy.posterior.ridge
    assert policy.settings["ties"] == policy.ties == "random"


RKHS = [
    name
    for name, entry in POLICIES.items()
    if {"noise_scale", "norm_bound"} <= set(entry.settings)
    and entry.constructor is not kb.GPUCB
    and name not in NOISE_FREE
]
"""Those whose guarantee is for |f| <= D; GP-UCB's finite schedule is for f ~ GP(0, k)."""


@pytest.mark.parametrize("name", [name for name in RKHS if name != "streaming-ucb"])
@pytest.mark.parametrize(("setting", "symbol"), [("noise_scale", "R"), ("norm_bound", "D")])
def test_a_bound_of_zero_is_allowed_with_a_warning(name, setting, symbol, build, cloud):
    with pytest.warns(kb.TheoryWarning, match=f"{setting} {symbol} = 0 says that"):
        policy = build(name, cloud, **{setting: 0.0})
    played(policy, 5)


@pytest.mark.parametrize("name", [name for name in RKHS if name not in LINEAR])
def test_a_kernel_above_one_is_allowed_with_a_warning_that_names_the_remedy(name, build, cloud):
    with pytest.warns(kb.TheoryWarning, match=r"needs k\(x, x\) <= 1, got 3; .*Normalised"):
        build(name, cloud, 3.0 * kb.RBF(0.3))


def test_gp_ucb_for_a_bounded_norm_heeds_its_conditions_too(build, cloud):
    with pytest.warns(kb.TheoryWarning, match="norm_bound D = 0"):
        kb.GPUCB(cloud, kb.RBF(0.3), noise_scale=0.5, norm_bound=0.0, schedule="rkhs")
    with pytest.warns(kb.TheoryWarning, match=r"needs k\(x, x\) <= 1, got 3"):
        kb.GPUCB(cloud, 3.0 * kb.RBF(0.3), noise_scale=0.5, norm_bound=1.0, schedule="rkhs")
    for schedule in ("finite", "rkhs"):
        with pytest.raises(ValueError, match=r"GPUCB needs noise_scale > 0, got 0.0"):
            kb.GPUCB(cloud, kb.RBF(0.3), noise_scale=0.0, norm_bound=1.0, schedule=schedule)
    with pytest.raises(ValueError, match="GPUCB needs norm_bound for the rkhs schedule, got None"):
        kb.GPUCB(cloud, kb.RBF(0.3), noise_scale=0.5, schedule="rkhs")


@every_policy
def test_under_the_theorys_conditions_nothing_is_said(name, build, cloud):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory = {"noise_scale": 0.0} if name in NOISE_FREE else {}
        played(build(name, cloud / 2 if name in LINEAR else cloud, **theory), 50)


def test_a_policy_takes_its_arms_as_an_array_or_as_arms(cloud):
    by_array = kb.SimpleUCB(cloud, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0)
    by_arms = kb.SimpleUCB(kb.Arms(cloud), kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0)
    assert played(by_array) == played(by_arms)


def test_choices_are_compared_by_value():
    x = np.array([1.0, 2.0])
    assert kb.Choice(x, 1, {"weight": 1.0}) == kb.Choice(x.copy(), 1, {"weight": 1.0})
    assert kb.Choice(x, 1) != kb.Choice(x, 2)
    assert kb.Choice(x, 1) != kb.Choice(x + 1, 1)
    assert kb.Choice(x, 1, {"weight": 1.0}) != kb.Choice(x, 1)
    assert kb.Choice(x, 1) != "choice"


def test_the_tuned_ridge_of_whitehouse_balances_the_eigendecay_of_a_matern_kernel(cloud):
    policy = kb.WhitehouseUCB(
        cloud, kb.Matern(0.3, nu=1.5), noise_scale=1, norm_bound=1, ridge="matern", horizon=1000
    )
    assert policy.posterior.ridge == pytest.approx(1000 ** (2 / (3 + 4)))
    for kernel, ridge, horizon in (
        (kb.RBF(0.3), "matern", 1000),
        (kb.Matern(0.3), "matern", None),
        (kb.Matern(0.3), "tuned", 1000),
        (kb.Matern(0.3), "1.0", 1000),
    ):
        with pytest.raises(ValueError, match="needs"):
            kb.WhitehouseUCB(
                cloud, kernel, noise_scale=1, norm_bound=1, ridge=ridge, horizon=horizon
            )


@pytest.mark.parametrize("t", [1.5, "1", True, None, 0, -3])
def test_a_round_that_is_no_round_is_refused(build, cloud, t):
    policy = build("simple-ucb", cloud)
    for use in (lambda: policy.ask(t, kb.Streams(0)), lambda: policy.index(t)):
        with pytest.raises(ValueError, match="a round t >= 1"):
            use()


@pytest.mark.parametrize("choice", [3, None, "3", (0, 1)])
def test_what_is_no_choice_is_refused_and_changes_nothing(build, cloud, choice):
    policy = build("simple-ucb", cloud)
    with pytest.raises(ValueError, match=r"needs a kb\.Choice"):
        policy.tell(choice, 0.2)
    assert policy.posterior.events == 0


def test_a_policy_without_what_it_must_be_given_names_it(cloud):
    with pytest.raises(
        ValueError, match="simple-ucb needs noise_scale and norm_bound, got no settings"
    ):
        kb.policy("simple-ucb", cloud, kb.RBF(0.3))


def squares(x, z):
    """An RBF whose squares cancel: close points leave rounding behind."""
    gaps = (x**2).sum(1)[:, None] + (z**2).sum(1) - 2 * x @ z.T
    return np.exp(-gaps / (2 * 0.1**2))


@every_policy
def test_a_kernel_that_proved_itself_once_is_not_refused_later(name, build):
    base = np.random.default_rng(0).random((30, 6))
    policy = build(
        name, np.vstack([base, base + 1e-9]), None if name in LINEAR else squares, horizon=200
    )
    played(policy, 60)


class Moody:
    """A kernel that fails when told to."""

    broken = False

    def __call__(self, x, z):
        if self.broken:
            raise RuntimeError("the kernel is out of order")
        return np.exp(-((x[:, None] - z[None]) ** 2).sum(-1) / 0.18)


@every_policy
def test_a_kernel_that_fails_while_a_reward_is_told_leaves_all_or_nothing(name, build, cloud):
    """Where a rule begins a batch, a block, a level or a cell, it asks the kernel before it learns anything."""
    kernel = Moody()
    policy = build(name, cloud, kernel, horizon=60)
    for t in range(1, 45):
        choice, before = policy.ask(t, kb.Streams(1)), state(policy)
        kernel.broken = True
        try:
            policy.tell(choice, reward_of(choice, t))
        except RuntimeError:
            assert policy.posterior.events == before["posterior"]["tally"]["events"]
            kernel.broken = False
            policy.tell(choice, reward_of(choice, t))
        kernel.broken = False
    twin = build(name, cloud, Moody(), horizon=60)
    assert len(played(twin, 44)) == 44
    assert policy.ask(45, kb.Streams(1)) == twin.ask(45, kb.Streams(1))
