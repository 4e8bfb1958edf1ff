"""Each rival beside its definition in dense linear algebra, compared round by round.

Nothing of the package is used in the definitions but the random numbers of the rounds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import definitions
import kernelbandits as kb
from definitions import best_arm
from kernelbandits.experiment.engines import rounds
from kernelbandits.policies.doubling import Doubling
from kernelbandits.policies.information_directed import best_pair
from reference_bandits import NOISE_SCALE as R
from reference_bandits import NORM_BOUND as D
from reference_bandits import ReferenceBandit, reference_bandit

pytestmark = pytest.mark.usefixtures("quiet")
T, DELTA = 60, 0.2
SCALES = {"noise_scale": R, "norm_bound": D}
CIRCLE = np.array([[math.cos(a), math.sin(a)] for a in np.linspace(0.1, 3.0, 9)])

Rule = Callable[[int, list[int], np.ndarray], int]
"""(t, arms, rewards so far) -> the arm of round t."""


def check_rounds(policy: kb.Policy, bandit: ReferenceBandit, rule: Rule, horizon: int = T) -> None:
    """The policy plays what the rule says after its own history, in every round."""
    arms: list[int] = []
    rewards: list[float] = []
    for now in rounds(policy, bandit.instance, horizon, bandit.streams):
        assert now.choice.arm == rule(now.t, arms, np.array(rewards)), now.t
        arms.append(now.choice.arm)
        rewards.append(now.reward)
    assert len(set(arms)) > 1


def self_normalised(ridge: float, log_det: float, delta: float = DELTA) -> float:
    return D + R / math.sqrt(ridge) * math.sqrt(2 * math.log(1 / delta) + log_det)


# ---------------------------------------------------------------- linear rules


def ridge_width(x, played, rewards, alpha):
    """Estimate and alpha |x|_{A^-1} of LinUCB, A = I + sum x x'."""
    inverse = np.linalg.inv(np.eye(x.shape[1]) + played.T @ played)
    theta = inverse @ played.T @ rewards
    return x @ theta, alpha * np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))


def spectral_width(x, played, rewards, noise):
    """Estimate and width of LinRel: a = u L^-1 U Z over eigenvalues of at least 1."""
    z = played.T
    values, vectors = np.linalg.eigh(z @ z.T)
    estimates, found = [], []
    for point in x:
        coordinates = vectors.T @ point
        known = values >= 1
        u = np.where(known, coordinates, 0.0)
        a = sum(
            (u[j] / values[j] * (vectors[:, j] @ z) for j in np.flatnonzero(known)), 0 * rewards
        )
        estimates.append(a @ rewards)
        found.append(noise * np.linalg.norm(a) + D * np.linalg.norm(coordinates[~known]))
    return np.array(estimates), np.array(found)


def climb(x, levels, measure, horizon):
    """SupLinRel and SupLinUCB: the arm, and the level that its reward enters (0: none)."""
    alive, s = np.arange(len(x)), 1
    while True:
        data = levels.get(s, [])
        played = np.array([x[arm] for arm, _ in data]).reshape(-1, x.shape[1])
        mean, width = measure(x[alive], played, np.array([y for _, y in data]))
        if (width <= 1 / math.sqrt(horizon)).all():
            return int(alive[best_arm(mean + width, None)]), 0
        if (width <= 2.0**-s).all():
            alive = alive[mean + width >= (mean + width).max() - 2.0 ** (1 - s)]
            s += 1
            continue
        return int(alive[best_arm(np.where(width > 2.0**-s, width, -np.inf), None)]), s


@pytest.mark.parametrize("name", ["lin-ucb", "lin-rel"])
def test_a_linear_rule_plays_its_greatest_upper_bound(name):
    bandit = reference_bandit(0, "linear")
    x = bandit.points
    noise = R * math.sqrt(2 * math.log(2 * T * len(x) / DELTA))

    def rule(t, arms, rewards):
        played = x[arms].reshape(-1, 2)
        if name == "lin-ucb":
            mean, width = ridge_width(x, played, rewards, D + noise)
        else:
            mean, width = spectral_width(x, played, rewards, noise)
        return best_arm(mean + width, None)

    policy = kb.policy(
        name, bandit.instance.domain, kb.Linear(), **SCALES, horizon=T, delta=DELTA, ties="lowest"
    )
    check_rounds(policy, bandit, rule)


@pytest.mark.parametrize("name", ["sup-lin-ucb", "sup-lin-rel"])
def test_a_linear_rule_with_levels_goes_through_them_by_its_definition(name):
    """With a small noise the levels are passed, and some rounds exploit."""
    horizon, noise_scale = 150, 0.02
    settings = {"noise_scale": noise_scale, "norm_bound": D, "horizon": horizon, "delta": DELTA}
    policy = kb.policy(name, CIRCLE, kb.Linear(), **settings, ties="lowest")
    claims = len(CIRCLE) * horizon * math.ceil(math.log(horizon))
    noise = noise_scale * math.sqrt(2 * math.log(2 * claims / DELTA))
    levels, entered = {}, []

    def measure(x, played, rewards):
        if name == "sup-lin-ucb":
            return ridge_width(x, played, rewards, D + noise)
        return spectral_width(x, played, rewards, noise)

    for t in range(1, horizon + 1):
        arm, level = climb(CIRCLE, levels, measure, horizon)
        choice = policy.ask(t, kb.Streams(0))
        assert (choice.arm, choice.note["level"]) == (arm, level), t
        reward = float(CIRCLE[arm] @ [0.3, 1.1] + noise_scale * (-1) ** t)
        policy.tell(choice, reward)
        levels.setdefault(level, []).append((arm, reward))
        entered.append(level)
    assert len(set(entered)) > 2


def test_for_rewards_in_the_unit_interval_the_width_of_sup_lin_ucb_is_that_of_its_paper():
    """(1 + sqrt(ln(2 T K / delta) / 2)) |x|_{A^-1} with delta divided among the levels."""
    policy = kb.policies.SupLinUCB(
        CIRCLE, kb.Linear(), noise_scale=0.5, norm_bound=1.0, horizon=1000, delta=0.1
    )
    levels = math.ceil(math.log(1000))
    alpha = math.sqrt(math.log(2 * 1000 * len(CIRCLE) * levels / 0.1) / 2)
    assert policy.ask(1, kb.Streams(0)).note["width"] == pytest.approx(1 + alpha)


def test_the_bias_of_lin_rel_is_at_most_what_it_does_not_know():
    """Without noise |x . theta - estimate| <= D |v| for every |theta| <= D."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        points = rng.normal(size=(8, 3))
        policy = kb.policies.LinRel(points, kb.Linear(), noise_scale=0.0, norm_bound=D, horizon=T)
        theta = rng.normal(size=3)
        values = points @ theta * D / np.linalg.norm(theta)
        for arm in rng.integers(8, size=5):
            policy.tell(policy.choice(int(arm)), float(values[arm]))
        assert (np.abs(values - policy.known.mean) <= D * policy.known.unknown + 1e-9).all()


# ---------------------------------------------------------------- wrong kernels


def test_ec_gp_ucb_adds_the_error_of_all_rewards_to_the_width():
    bandit, ridge, error = reference_bandit(0), 0.6, 0.3
    policy = kb.policies.ECGPUCB(
        bandit.instance.domain, bandit.kernel, **SCALES, error=error, ridge=ridge, delta=DELTA,
        ties="lowest",
    )  # fmt: skip

    def rule(t, arms, rewards):
        known = definitions.posterior(bandit.gram, arms, rewards, ridge)
        width = self_normalised(ridge, known.log_det) + error * math.sqrt(len(arms) / ridge)
        return best_arm(known.mean + width * known.sd, None)

    check_rounds(policy, bandit, rule)


def test_errors_of_the_rewards_move_the_mean_by_no_more_than_ec_gp_ucb_allows():
    """The worst signs of the errors at an arm: sum |weights| <= sqrt(t / ridge) sd."""
    bandit, rng = reference_bandit(1), np.random.default_rng(0)
    for ridge in (0.05, 1.0):
        for t in (1, 5, 40):
            arms = rng.integers(20, size=t).tolist()
            played = bandit.gram[np.ix_(arms, arms)] + ridge * np.eye(t)
            weights = np.linalg.solve(played, bandit.gram[arms])
            worst = np.abs(weights).sum(0)
            known = definitions.posterior(bandit.gram, arms, np.zeros(t), ridge)
            assert (worst <= math.sqrt(t / ridge) * known.sd + 1e-12).all()


def test_a_gp_ucb_shrinks_its_lengthscale_and_raises_its_norm():
    bandit, ridge, power, growth = reference_bandit(0), 0.6, 0.4, 0.2
    policy = kb.policies.AGPUCB(
        bandit.instance.domain, kb.RBF(0.25), **SCALES, shrinkage=power, norm_growth=growth,
        ridge=ridge, delta=DELTA, ties="lowest",
    )  # fmt: skip
    seen = set()

    def rule(t, arms, rewards):
        steps = 0
        while 1.1 ** (steps + 1) <= t**power * (1 + 1e-9):
            steps += 1
        g = 1.1**steps
        seen.add(steps)
        gram = definitions.rbf(0.25 / g)(bandit.points, bandit.points)
        known = definitions.posterior(gram, arms, rewards, ridge)
        chance = 6 * DELTA / (math.pi * (steps + 1)) ** 2
        noise = R / math.sqrt(ridge) * math.sqrt(2 * math.log(1 / chance) + known.log_det)
        width = t**growth * g ** (2 / 2) * D + noise
        return best_arm(known.mean + width * known.sd, None)

    check_rounds(policy, bandit, rule)
    assert len(seen) > 10
    # The shares of delta add up to delta.
    assert sum(6 / (math.pi * j) ** 2 for j in range(1, 10**5)) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("factor", [1.1, 2.0])
def test_the_norm_at_a_shorter_lengthscale_grows_by_no_more_than_a_gp_ucb_allows(factor):
    """|f|^2 at l / g is at most g^d |f|^2, for functions in both spaces on the same points."""
    rng = np.random.default_rng(0)
    for formula in (definitions.rbf, definitions.matern):
        for d in (1, 2):
            points = rng.random((6, d))
            long, short = formula(0.4)(points, points), formula(0.4 / factor)(points, points)
            for values in rng.normal(size=(20, 6)):
                # The least norm of a function with these values, at either lengthscale.
                longer = values @ np.linalg.solve(long, values)
                assert values @ np.linalg.solve(short, values) <= factor**d * longer * (1 + 1e-9)


def test_a_gp_ucb_needs_a_lengthscale_on_a_box():
    box = kb.Box((0.0,), (1.0,))
    with pytest.raises(
        ValueError,
        match=r"^a-gp-ucb needs a kernel .* on a space of 1 coordinate, such",
    ):
        kb.policies.AGPUCB(box, kb.Linear(), **SCALES)
    policy = kb.policies.AGPUCB(box, kb.Matern((0.3,)), **SCALES, shrinkage=1.0)
    for t in range(1, 5):
        policy.tell(policy.ask(t, kb.Streams(0)), 0.1 * t)
    assert policy.posterior.kernel.lengthscale[0] == pytest.approx(
        0.3 / 1.1 ** math.floor(math.log(5) / math.log(1.1))
    )
    assert policy.posterior.events == 4


@pytest.mark.parametrize(("seed", "kernel"), [(0, "RBF(0.25)"), (1, "Matern(0.3)")])
@pytest.mark.parametrize("noise_scale", [R, 0.01])
def test_lb_gp_ucb_balances_drops_and_adds_lengthscales(seed, kernel, noise_scale):
    """With a small noise lengthscales are dropped."""
    bandit, ridge, power, first, horizon = reference_bandit(seed, kernel), 0.6, 0.9, 2, 120
    scale, formula = (1.5, definitions.rbf) if kernel[0] == "R" else (1.5, definitions.matern)
    given = kb.RBF(scale) if kernel[0] == "R" else kb.Matern(scale)
    policy = kb.policy(
        "lb-gp-ucb", bandit.instance.domain, given, noise_scale=noise_scale, norm_bound=0.2,
        shrinkage=power, candidates=first, ridge=ridge, delta=DELTA, ties="lowest",
    )  # fmt: skip
    active, added, log, dropped = [0], 1, [], []

    def gain(n):
        if kernel[0] == "R":
            return math.log(n) ** 3
        return n ** (2 / 7) * math.log(n) ** (5 / 7)

    def suspected(i, n):
        """With lengthscale theta, norm B and gamma = gain / theta^d: sqrt(n) (B sqrt(gamma) + R gamma)."""
        gamma, norm = gain(n) / math.exp(-i / 2) ** 2, math.exp(i / 2) * 0.2
        return math.sqrt(n) * (norm * math.sqrt(gamma) + noise_scale * gamma)

    def confidence(i, arms, rewards):
        gram = formula(scale * math.exp(-i / 2))(bandit.points, bandit.points)
        known = definitions.posterior(gram, arms, rewards, ridge)
        noise = noise_scale / math.sqrt(ridge)
        width = 0.2 * math.exp(i / 2) + noise * math.sqrt(2 * math.log(2 / DELTA) + known.log_det)
        return known.mean, width * known.sd

    def after(t, arms, rewards):
        """What round t - 1 taught."""
        nonlocal active, added
        mine = {j: [s for s, (k, _) in enumerate(log) if k == j] for j in active}
        if all(mine.values()):
            xi = 2 * noise_scale**2 * math.log(added * math.pi**2 * (t - 1) ** 2 / (3 * DELTA))
            low = {j: rewards[s].mean() - math.sqrt(xi / len(s)) for j, s in mine.items()}
            high = {
                j: rewards[s].mean() + math.sqrt(xi / len(s))
                + 2 * np.mean([log[k][1] for k in s]) for j, s in mine.items()
            }  # fmt: skip
            dropped.extend(j for j in active if high[j] < max(low.values()))
            active = [j for j in active if high[j] >= max(low.values())]
        g = max(math.exp(first / 2), (t - 1) ** power)
        if math.exp(-added / 2) >= 1 / g * (1 - 1e-12):
            active, added = [*active, added], added + 1

    def rule(t, arms, rewards):
        if log:
            after(t, arms, rewards)
        i = min(active, key=lambda j: (suspected(j, 1 + sum(k == j for k, _ in log)), j))
        mean, reach = confidence(i, arms, rewards)
        arm = best_arm(mean + reach, None)
        log.append((i, reach[arm]))
        return arm

    check_rounds(policy, bandit, rule, horizon)
    assert added > 7
    assert bool(dropped) == (noise_scale == 0.01)


def test_lb_gp_ucb_counts_a_late_reward_for_the_lengthscale_that_chose_it():
    arms, settings = np.linspace(0, 1, 6)[:, None], SCALES
    policy = kb.policies.LBGPUCB(arms, kb.RBF(0.5), **settings)
    for t in range(1, 30):
        policy.tell(policy.ask(t, kb.Streams(0)), 0.1)
    chosen = policy.batch(4, 30, kb.Streams(0))
    steps = {choice.note["candidate"] for choice in chosen}
    assert len(steps) == 1
    before = {one.steps: one.plays for one in policy.candidates}
    for choice in chosen:
        policy.tell(choice, 0.1)
    after = {one.steps: one.plays for one in policy.candidates}
    assert {i for i in after if after[i] != before.get(i, 0)} == steps
    assert sum(after.values()) == sum(before.values()) + 4


# ---------------------------------------------------------------- heavy tails


@pytest.mark.parametrize(("seed", "excess"), [(0, 1.0), (1, 0.5)])
def test_ata_gp_ucb_truncates_in_the_features_of_its_dictionary(seed, excess):
    """By the formulas of its paper and code, with a dictionary drawn in every round."""
    bandit, ridge, accuracy, v = reference_bandit(seed), 0.6, 1.5, 2.0
    gram, horizon, cut = bandit.gram, 80, []
    policy = kb.policies.ATAGPUCB(
        bandit.instance.domain, bandit.kernel, **SCALES, horizon=horizon, excess=excess,
        moment_bound=v, accuracy=accuracy, seed=7, ridge=ridge, ties="lowest",
    )  # fmt: skip
    q = math.log(horizon) / accuracy**2
    mean, variance, width = np.zeros(20), gram.diagonal() / ridge, D
    arms, rewards, sizes = [], [], []
    tails = np.tan(math.pi * (bandit.streams.uniforms("noise", horizon) - 0.5))
    for t in range(1, horizon + 1):
        index = mean + width * np.sqrt(ridge * variance)
        choice = policy.ask(t, bandit.streams)
        assert choice.arm == best_arm(index, None), t
        arms.append(choice.arm)
        rewards.append(float(bandit.instance.values[choice.arm] + 0.3 * tails[t - 1]))
        policy.tell(choice, rewards[-1])
        played = np.unique(arms)
        draws = kb.Streams(7).generator(t).random(len(played))
        chosen = played[draws < np.minimum(q * variance[played], 1)]
        m = len(chosen)
        values, vectors = np.linalg.eigh(gram[np.ix_(chosen, chosen)])
        phi = (vectors / np.sqrt(values)) @ vectors.T @ gram[chosen]
        values, vectors = np.linalg.eigh(ridge * np.eye(m) + phi[:, arms] @ phi[:, arms].T)
        root = (vectors / np.sqrt(values)) @ vectors.T
        log, order = math.log((m + 1) * horizon), 1 + excess
        growth = t ** ((1 - excess) / (2 * order))
        b = growth * (v / log) ** (1 / order)
        parts = root @ phi[:, arms] * np.array(rewards)
        cut.append((np.abs(parts) > b).any())
        mean = phi.T @ root @ np.where(np.abs(parts) <= b, parts, 0.0).sum(1)
        left = gram.diagonal() - (phi**2).sum(0)
        variance = left / ridge + ((root @ phi) ** 2).sum(0)
        beta = D * math.sqrt(ridge) + math.sqrt(m) * v ** (1 / order) * growth * log ** (
            excess / order
        )
        width = beta / math.sqrt(ridge)
        sizes.append(m)
    assert any(cut)
    assert max(sizes) > len(played) / 2 > min(sizes)


# ---------------------------------------------------------------- late rewards


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bpe_delay_drops_arms_by_the_rewards_that_have_come(seed):
    """Played round by round with late rewards, beside a plain account of the batches."""
    bandit, horizon, noise = reference_bandit(seed), 150, 0.1
    mean_delay, xi, b = 6.0, 3.0, 0.5
    policy = kb.policies.BPEDelay(
        bandit.instance.domain, bandit.kernel, noise_scale=noise, norm_bound=D, horizon=horizon,
        delta=DELTA, mean_delay=mean_delay, delay_scale=xi, delay_tail=b, ridge=0.05, ties="lowest",
    )  # fmt: skip
    lengths, q = [], 1
    while sum(lengths) < horizon:
        q = math.ceil(math.sqrt(horizon * q))
        doubt = math.log(3 * (sum(lengths) + q) / (2 * DELTA))
        u = mean_delay + min(math.sqrt(2 * xi**2 * doubt), 2 * b * doubt)
        lengths.append(q + u)
    whole = [int(length) for length in lengths]
    whole[-1] = horizon - sum(whole[:-1])
    assert list(policy.lengths) == whole
    width = D + noise / math.sqrt(0.05) * math.sqrt(2 * math.log(2 * 20 * len(whole) / DELTA))
    delays = np.floor(-8 * np.log(bandit.streams.uniforms("weight", horizon))).astype(int)
    normals = bandit.streams.uniforms("noise", horizon)
    alive, start, ends, late = np.arange(20), 0, list(np.cumsum(whole)), 0
    arms, rewards, waiting = [], [], []
    for t in range(horizon):
        if t in ends:
            come = [s for s in range(start, t) if s + delays[s] < t]
            late += t - start - len(come)
            known = definitions.posterior(
                bandit.gram, [arms[s] for s in come], np.array([rewards[s] for s in come]), 0.05
            )
            low, high = known.mean - width * known.sd, known.mean + width * known.sd
            alive, start = alive[high[alive] >= low[alive].max()], t
        sd = definitions.posterior(bandit.gram, arms[start:], np.zeros(t - start), 0.05).sd
        arm = int(alive[best_arm(sd[alive], None)])
        choice = policy.ask(t + 1, bandit.streams, pending=[one for _, one, _ in waiting])
        assert choice.arm == arm, t
        arms.append(arm)
        rewards.append(float(bandit.instance.values[arm] + noise * ndtri(normals[t])))
        waiting.append((t + delays[t], choice, rewards[-1]))
        for due in [one for one in waiting if one[0] <= t]:
            policy.tell(due[1], due[2])
        waiting = [one for one in waiting if one[0] > t]
    assert late > 10
    assert len(alive) < 20


def test_bpe_delay_without_delays_is_bpe():
    bandit = reference_bandit(0)
    given = {"noise_scale": 0.2, "norm_bound": D, "horizon": 90}
    bpe, delayed = (
        kb.policy(name, bandit.instance.domain, bandit.kernel, **given)
        for name in ("bpe", "bpe-delay")
    )
    for now in rounds(bpe, bandit.instance, 90, bandit.streams):
        choice = delayed.ask(now.t, bandit.streams)
        assert choice.arm == now.choice.arm
        delayed.tell(choice, now.reward)


# ---------------------------------------------------------------- noise that differs


def known_variances(bandit, t):
    """The standard errors of t rewards; every third one is not told."""
    sems = 0.02 + 0.2 * bandit.streams.uniforms("weight", t)
    return [None if s % 3 == 2 else float(sem) for s, sem in enumerate(sems)]


def heteroscedastic_posterior(gram, arms, rewards, variances):
    """mean = k' (K + Sigma)^-1 y, and L = log det(I + Sigma^-1/2 K Sigma^-1/2)."""
    played, cross = gram[np.ix_(arms, arms)], gram[arms]
    weights = np.linalg.solve(played + np.diag(variances), cross)
    variance = np.diag(gram) - np.einsum("ij,ij->j", cross, weights)
    scaled = played / np.sqrt(np.outer(variances, variances))
    log_det = np.linalg.slogdet(np.eye(len(arms)) + scaled)[1]
    return weights.T @ rewards, np.sqrt(np.maximum(variance, 0)), log_det


@pytest.mark.parametrize("name", ["va-gp-ucb", "va-mvr", "va-pe"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rule_for_known_variances_follows_its_definition(name, seed):
    bandit, horizon = reference_bandit(seed), 100
    settings = {"va-mvr": {}, "va-gp-ucb": {"norm_bound": D, "delta": DELTA}}.get(
        name, {"norm_bound": D, "delta": DELTA, "horizon": horizon, "first_batch": 3}
    )
    policy = kb.policy(
        name, bandit.instance.domain, bandit.kernel, noise_scale=R, ties="lowest", **settings
    )
    sems, arms, rewards = known_variances(bandit, horizon), [], []
    variances = [R**2 if sem is None else sem**2 for sem in sems]
    start, length, alive = 0, 3, np.arange(20)
    normals = bandit.streams.uniforms("noise", horizon)
    for t in range(horizon):
        if name == "va-pe" and t == start + length:
            mean, sd, _ = heteroscedastic_posterior(
                bandit.gram, arms[start:], np.array(rewards[start:]), variances[start:t]
            )
            claims = 20 * (1 + math.log2(horizon))
            reach = (D + math.sqrt(2 * math.log(2 * claims / DELTA))) * sd[alive]
            kept = mean[alive] + reach >= (mean[alive] - reach).max()
            start, length, alive = t, 2 * length, alive[kept]
        mean, sd, log_det = heteroscedastic_posterior(
            bandit.gram, arms[start:], np.array(rewards[start:]), variances[start:t]
        )
        index = sd
        if name == "va-gp-ucb":
            index = mean + (D + math.sqrt(2 * math.log(1 / DELTA) + log_det)) * sd
        arm = int(alive[best_arm(index[alive], None)])
        choice = policy.ask(t + 1, bandit.streams)
        assert choice.arm == arm, t
        reward = float(bandit.instance.values[arm] + math.sqrt(variances[t]) * ndtri(normals[t]))
        sem = sems[t]
        policy.tell(choice, reward if sem is None else kb.calibration.Measurement(reward, sem))
        arms.append(arm)
        rewards.append(reward)
    assert len(set(arms)) > 3
    assert len(alive) < 20 or name != "va-pe"


def test_va_gp_ucb_with_equal_variances_is_whitehouses_rule_at_the_ridge_of_the_noise():
    bandit = reference_bandit(0)
    left, right = (
        rule(bandit.instance.domain, bandit.kernel, **SCALES, delta=DELTA, **more)
        for rule, more in ((kb.policies.VAGPUCB, {}), (kb.WhitehouseUCB, {"ridge": R**2}))
    )
    for now in rounds(left, bandit.instance, 40, bandit.streams):
        right.tell(now.choice, now.reward)
        np.testing.assert_allclose(left.index(now.t + 1), right.index(now.t + 1), atol=1e-9)


# ---------------------------------------------------------------- random arms, draws, information


def test_kernel_epsilon_greedy_plays_a_random_arm_or_the_highest_estimate():
    bandit, ridge = reference_bandit(0), 0.6
    policy = kb.policies.KernelEpsilonGreedy(
        bandit.instance.domain, bandit.kernel, first=1.5, power=0.4, ridge=ridge, ties="lowest"
    )
    uniform, kinds = bandit.streams.uniform, []

    def rule(t, arms, rewards):
        kinds.append(uniform("weight", t) < min(1, 1.5 * t**-0.4))
        if kinds[-1]:
            return int(uniform("tie", t) * 20)
        return best_arm(definitions.posterior(bandit.gram, arms, rewards, ridge).mean, None)

    check_rounds(policy, bandit, rule)
    assert 10 < sum(kinds) < 50


def test_the_probability_of_a_random_arm_belongs_to_the_round():
    policy = kb.policies.KernelEpsilonGreedy(np.eye(3), kb.Linear(), first=3.0, power=2.0)
    for t in (1, 2, 3, 5):
        for seed in range(40):
            streams = kb.Streams(seed)
            explores = streams.uniform("weight", t) < 3 * t**-2.0
            assert ("random" in policy.ask(t, streams).note) == explores


def prior_root(policy):
    """The root is known but for the signs of its columns, which rounding decides: the same matrix."""
    gram = kb.kernels.gram(policy.posterior.kernel, policy.posterior.points)
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.where(values > len(gram) * 2.3e-16 * values[-1], values, 0))


@pytest.mark.parametrize("perturbation", [None, 0.8])
def test_evill_minimises_its_perturbed_loss(perturbation):
    """In coordinates f = S theta with K = S S', the loss is a least-squares problem."""
    bandit, ridge = reference_bandit(0), 0.6
    policy = kb.policies.EVILL(
        bandit.instance.domain, bandit.kernel, **SCALES, ridge=ridge, delta=DELTA, ties="lowest",
        perturbation=perturbation,
    )  # fmt: skip
    root = prior_root(policy)

    def rule(t, arms, rewards):
        normals = bandit.streams.normal("sample", t, 40)
        size = perturbation
        if size is None:
            log_det = definitions.log_det(bandit.gram, arms, ridge)
            size = math.sqrt(ridge) * self_normalised(ridge, log_det)
        counts = np.bincount(np.array(arms, dtype=int), minlength=20)
        sums = np.bincount(np.array(arms, dtype=int), rewards, 20)
        played = np.flatnonzero(counts)
        n = np.sqrt(counts[played])
        # sum_s (y_s - a z_s - f)^2 over the rewards of an arm, their z_s adding up to sqrt(n) z.
        targets = sums[played] / n - size * normals[20:][played]
        centre = size / math.sqrt(ridge) * normals[:20]
        design = np.vstack([n[:, None] * root[played], math.sqrt(ridge) * np.eye(20)])
        wanted = np.concatenate([targets, math.sqrt(ridge) * centre])
        theta = np.linalg.lstsq(design, wanted)[0]
        return best_arm(root @ theta, None)

    check_rounds(policy, bandit, rule)


def test_pims_plays_the_most_probable_to_exceed_the_maximum_of_a_draw():
    bandit = reference_bandit(0)
    policy = kb.policies.PIMS(bandit.instance.domain, bandit.kernel, noise_scale=R, ties="lowest")
    root = prior_root(policy)

    def rule(t, arms, rewards):
        normals = bandit.streams.normal("sample", t, 40)
        known = definitions.posterior(bandit.gram, arms, rewards, R**2)
        draw = known.mean + definitions.sample_deviation(
            bandit.gram, arms, R**2, root @ normals[:20], normals[20:]
        )
        return best_arm(ndtr((known.mean - draw.max()) / known.sd), None)

    check_rounds(policy, bandit, rule)


@pytest.mark.parametrize("seed", [0, 1])
def test_gp_eims_plays_the_greatest_expected_improvement_on_the_maximum_of_a_draw(seed):
    bandit = reference_bandit(seed)
    policy = kb.policy(
        "gp-eims", bandit.instance.domain, bandit.kernel, noise_scale=R, ties="lowest"
    )
    root = prior_root(policy)

    def rule(t, arms, rewards):
        normals = bandit.streams.normal("sample", t, 40)
        known = definitions.posterior(bandit.gram, arms, rewards, R**2)
        draw = known.mean + definitions.sample_deviation(
            bandit.gram, arms, R**2, root @ normals[:20], normals[20:]
        )
        z = (known.mean - draw.max()) / known.sd
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        return best_arm(known.sd * (density + z * ndtr(z)), None)

    check_rounds(policy, bandit, rule)


@pytest.mark.parametrize("seed", [0, 1])
def test_feature_perturbation_plays_the_best_of_the_perturbed_features(seed):
    """Features x + c |x| / |theta| z with one z for all arms; here z has the weight along theta."""
    bandit, ridge = reference_bandit(seed, "linear"), 0.6
    x, streams = bandit.points, bandit.streams
    policy = kb.policy(
        "feature-perturbation", bandit.instance.domain, kb.Linear(), **SCALES, horizon=T,
        ridge=ridge, delta=DELTA, ties="lowest",
    )  # fmt: skip

    def rule(t, arms, rewards):
        gram = ridge * np.eye(2) + x[arms].T @ x[arms]
        theta = np.linalg.solve(gram, x[arms].T @ rewards)
        log_det = np.linalg.slogdet(gram / ridge)[1]
        noise = R * math.sqrt(2 * math.log(4 * T / DELTA) + log_det)
        sizes = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(gram), x))
        length = np.linalg.norm(theta)
        along = theta / length if length else np.zeros(2)
        weight = ndtri(streams.uniform("weight", t))
        # What stands across theta changes no value.
        z = weight * along + 1.7 * np.array([-along[1], along[0]])
        c = math.sqrt(ridge) * D + noise
        if not length:
            return best_arm(weight * sizes, None)
        perturbed = x + c * sizes[:, None] / length * z
        return best_arm(perturbed @ theta, None)

    check_rounds(policy, bandit, rule)


@pytest.mark.parametrize("rule", [kb.policies.EVILL, kb.policies.PIMS, kb.policies.GPEIMS])
def test_a_joint_draw_over_too_many_arms_is_refused(rule):
    settings = SCALES if rule is kb.policies.EVILL else {"noise_scale": R}
    wanted = f"{rule.__name__} needs joint draws over at most 2000 arms, got '2001 arms'"
    with pytest.raises(ValueError, match=wanted):
        rule(np.arange(2001.0)[:, None], kb.RBF(0.3), **settings)


def test_maillard_sampling_draws_by_its_probabilities():
    bandit = reference_bandit(0, arms=6)
    policy = kb.policies.MaillardSampling(
        bandit.instance.domain, bandit.kernel, noise_scale=R, ties="lowest"
    )

    def rule(t, arms, rewards):
        if t <= 6:
            return t - 1
        counts = np.bincount(arms, minlength=6)
        means = np.bincount(arms, rewards) / counts
        weights = np.exp(-counts * (means.max() - means) ** 2 / (2 * R**2))
        steps = np.cumsum(weights / weights.sum())
        return int((steps <= bandit.streams.uniform("weight", t)).sum())

    check_rounds(policy, bandit, rule, horizon=200)


def test_maillard_sampling_without_noise_plays_the_best_arm():
    policy = kb.policies.MaillardSampling(np.eye(3), kb.Linear(), noise_scale=0.0)
    for arm, reward in enumerate((0.1, 0.7, 0.3)):
        policy.tell(policy.choice(arm), reward)
    np.testing.assert_array_equal(policy.chances(), [0, 1, 0])


def every_pair(losses, gains):
    """The least ratio over all laws on two arms, on a fine grid of probabilities."""
    p = np.linspace(0, 1, 4001)
    loss = losses[:, None, None] * (1 - p) + losses[None, :, None] * p
    gain = gains[:, None, None] * (1 - p) + gains[None, :, None] * p
    return float((loss**2 / gain).min())


def test_the_pair_of_arms_has_the_least_ratio_of_all_laws():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(40):
        losses, gains = rng.exponential(size=5) + 0.01, rng.exponential(size=5)
        pair = best_pair(losses, gains)
        assert pair.ratio == pytest.approx(every_pair(losses, gains), rel=1e-6)
        inside += 0 < pair.chance < 1
        # No law on all arms does better.
        laws = rng.dirichlet(np.full(5, 0.3), size=500)
        assert pair.ratio <= ((laws @ losses) ** 2 / (laws @ gains)).min() * (1 + 1e-12)
    assert inside > 5


@pytest.mark.parametrize("deterministic", [False, True])
def test_information_directed_sampling_plays_the_least_ratio(deterministic):
    bandit, ridge = reference_bandit(0, arms=8), 0.6
    policy = kb.policies.InformationDirectedSampling(
        bandit.instance.domain, bandit.kernel, **SCALES, ridge=ridge, delta=DELTA, ties="lowest",
        deterministic=deterministic,
    )  # fmt: skip
    arms, rewards = [], []
    for now in rounds(policy, bandit.instance, 25, bandit.streams):
        known = definitions.posterior(bandit.gram, arms, np.array(rewards), ridge)
        spread = self_normalised(ridge, known.log_det) * known.sd
        losses = (known.mean + spread).max() - (known.mean - spread)
        gains = np.log1p(known.sd**2 / ridge) / 2
        if deterministic:
            assert now.choice.arm == best_arm(-(losses**2) / gains, None)
        else:
            assert now.choice.note["ratio"] == pytest.approx(every_pair(losses, gains), rel=1e-6)
        # It is never above the ratio of UCB.
        optimist = int((known.mean + spread).argmax())
        assert now.choice.note["ratio"] <= losses[optimist] ** 2 / gains[optimist] * (1 + 1e-9)
        arms.append(now.choice.arm)
        rewards.append(now.reward)


def test_the_second_arm_of_a_pair_is_played_with_its_probability():
    policy = kb.policies.InformationDirectedSampling(np.eye(2), kb.Linear(), **SCALES)
    for arm, reward in 6 * [(0, 1.2)] + [(1, 0.2)]:
        policy.tell(policy.choice(arm), reward)
    chance = policy.ask(8, kb.Streams(0)).note["chance"]
    assert 0 < chance < 1
    played = [policy.ask(8, kb.Streams(seed)).arm for seed in range(800)]
    error = math.sqrt(chance * (1 - chance) / 800)
    assert abs(np.mean(played) - chance) < 4 * error


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("batch", [1, 7])
def test_gp_bucb_knows_rewards_by_the_batch_and_choices_at_once(batch):
    bandit = reference_bandit(0)
    policy = kb.policies.GPBUCB(
        bandit.instance.domain, bandit.kernel, noise_scale=R, batch=batch, delta=DELTA,
        ties="lowest",
    )  # fmt: skip

    def rule(t, arms, rewards):
        known = (t - 1) // batch * batch
        stale = definitions.posterior(bandit.gram, arms[:known], rewards[:known], R**2)
        now = definitions.posterior(bandit.gram, arms, rewards, R**2)
        beta = 2 * math.log(20 * (known + 1) ** 2 * math.pi**2 / (6 * DELTA))
        inflation = math.exp((now.log_det - stale.log_det) / 2)
        assert (stale.sd <= inflation * now.sd + 1e-12).all()
        return best_arm(stale.mean + inflation * math.sqrt(beta) * now.sd, None)

    check_rounds(policy, bandit, rule)


# ---------------------------------------------------------------- BKB


def sketch(gram, dictionary, arms, rewards, ridge):
    """Mean, variance, log-determinant and residual in the span of the dictionary, by definition."""
    inside = gram[np.ix_(dictionary, dictionary)]
    nystrom = gram[:, dictionary] @ np.linalg.pinv(inside, hermitian=True) @ gram[dictionary]
    played = nystrom[np.ix_(arms, arms)]
    weights = np.linalg.solve(played + ridge * np.eye(len(arms)), nystrom[arms])
    variance = np.diag(gram) - np.einsum("ij,ij->j", nystrom[arms], weights)
    left_out = float((np.diag(gram) - np.diag(nystrom))[arms].sum())
    log_det = float(np.linalg.slogdet(np.eye(len(arms)) + played / ridge)[1])
    return weights.T @ rewards, variance, log_det, left_out


def draw_dictionary(gram, dictionary, arms, ridge, budget, seed):
    """Arms by budget count sd^2 / ridge, the sd in the span of the last dictionary."""
    _, variance, _, _ = sketch(gram, dictionary, arms, np.zeros(len(arms)), ridge)
    played, counts = np.unique(arms, return_counts=True)
    draws = kb.Streams(seed).generator(len(arms)).random(len(played))
    chosen = played[draws < budget * counts * variance[played] / ridge]
    return chosen.tolist() if len(chosen) else [arms[-1]]


@pytest.mark.parametrize("budget", [0.3, 2.0])
def test_bkb_plays_the_highest_upper_bound_in_the_span_of_its_dictionary(budget):
    bandit, ridge, seed = reference_bandit(0, "Matern(0.3)"), 0.6, 4
    policy = kb.policies.BKB(
        bandit.instance.domain, bandit.kernel, **SCALES, ridge=ridge, delta=DELTA, ties="lowest",
        budget=budget, seed=seed,
    )  # fmt: skip
    dictionary, arms, rewards = [], [], []
    for t in range(1, 41):
        mean, variance, log_det, left_out = sketch(
            bandit.gram, dictionary, arms, np.array(rewards), ridge
        )
        share = max(left_out, 0.0) / ridge
        width = D * (1 + math.sqrt(share)) + R / math.sqrt(ridge) * math.sqrt(
            2 * math.log(1 / DELTA) + log_det + share
        )
        index = mean + width * np.sqrt(variance)
        # The root of a residual that is only rounding is up to 1e-7.
        np.testing.assert_allclose(policy.index(t), index, atol=1e-6)
        choice = policy.ask(t, bandit.streams)
        assert choice.arm == best_arm(index, None)
        arms.append(choice.arm)
        rewards.append(float(bandit.instance.values[choice.arm] + 0.3 * (-1) ** t))
        policy.tell(choice, rewards[-1])
        dictionary = draw_dictionary(bandit.gram, dictionary, arms, ridge, budget, seed)
        assert policy.posterior.dictionary.tolist() == dictionary
    if budget < 1:
        assert len(dictionary) < len(set(arms))


def learn_sketch(bandit, arms, rewards, **settings):
    posterior = kb.posterior.SketchedPosterior(bandit.kernel, bandit.points, 0.3, **settings)
    for arm, reward in zip(arms, rewards, strict=True):
        posterior.update(arm, float(reward))
    return posterior


def test_with_all_arms_in_its_dictionary_a_sketch_is_the_exact_posterior():
    bandit, rng = reference_bandit(0), np.random.default_rng(0)
    arms, rewards = rng.integers(20, size=60).tolist(), rng.normal(size=60)
    posterior = learn_sketch(bandit, arms, rewards, budget=1e12)
    exact = definitions.posterior(bandit.gram, arms, rewards, 0.3)
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=1e-8)
    np.testing.assert_allclose(posterior.sd, exact.sd, atol=1e-6)
    assert posterior.log_det == pytest.approx(exact.log_det, abs=1e-8)
    assert posterior.residual < 1e-9
    own = kb.posterior.ArmPosterior(bandit.kernel, bandit.points, 0.3)
    own.learn(posterior.counts, posterior.tally.sums)
    for points in (bandit.points, rng.random((5, 2))):
        for found, right in zip(posterior.at(points), own.at(points), strict=True):
            np.testing.assert_allclose(found, right, atol=1e-6)
        np.testing.assert_allclose(posterior.covariance(points), own.covariance(points), atol=1e-8)


def test_rewards_between_two_dictionaries_are_learnt_in_the_span_there_is():
    bandit, rng = reference_bandit(0), np.random.default_rng(0)
    arms, rewards = rng.integers(20, size=60).tolist(), rng.normal(size=60)
    posterior = learn_sketch(bandit, arms, rewards, budget=0.5, growth=5.0)
    mean, variance, log_det, left_out = sketch(
        bandit.gram, posterior.dictionary.tolist(), arms, rewards, 0.3
    )
    assert left_out > 0.01
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-7)
    np.testing.assert_allclose(posterior.variance, variance, atol=1e-7)
    assert posterior.log_det == pytest.approx(log_det, abs=1e-7)
    assert posterior.residual == pytest.approx(left_out, abs=1e-7)


def test_the_band_of_a_sketch_holds_for_the_worst_noise_of_a_given_size():
    """The proof, step by step: bias, noise and log-determinant, for random dictionaries."""
    rng, ridge = np.random.default_rng(0), 0.5
    for seed in range(30):
        bandit = reference_bandit(seed)
        gram, t = bandit.gram, 25
        arms = rng.integers(20, size=t).tolist()
        dictionary = rng.choice(20, size=rng.integers(1, 6), replace=False).tolist()
        noise = rng.normal(size=t)
        mean, variance, log_det, left_out = sketch(
            gram, dictionary, arms, bandit.instance.values[arms] + noise, ridge
        )
        size = math.sqrt(definitions.self_normalised_square(gram, arms, noise, ridge))
        bias = D * (1 + math.sqrt(left_out / ridge))
        reach = (bias + size / math.sqrt(ridge)) * np.sqrt(variance)
        assert (np.abs(bandit.instance.values - mean) <= reach + 1e-9).all()
        assert definitions.log_det(gram, arms, ridge) <= log_det + left_out / ridge + 1e-9


def test_a_sketch_of_a_large_pool_needs_a_small_dictionary_and_stays_close():
    points = np.random.default_rng(0).random((1500, 2))
    kernel = kb.RBF(0.3)
    sketched = kb.posterior.SketchedPosterior(kernel, points, 0.1, budget=5.0, growth=2.0)
    exact = kb.posterior.RowPosterior(kernel, points, 0.1)
    for arm in range(0, 1500, 12):
        reward = float(np.sin(4 * points[arm].sum()))
        sketched.update(arm, reward)
        exact.update(arm, reward)
    assert len(sketched.dictionary) < 100
    assert np.abs(sketched.mean - exact.mean).max() < 0.02
    np.testing.assert_allclose(sketched.sd, exact.sd, rtol=0.02)


@pytest.mark.parametrize(
    ("setting", "bad"), [("budget", 0.0), ("growth", 0.5), ("seed", -1), ("seed", 1.5)]
)
def test_a_sketch_that_is_none_is_refused(setting, bad):
    with pytest.raises(ValueError, match=f"a sketch needs .*{setting}.*, got {bad!r}"):
        kb.policies.BKB(CIRCLE, kb.RBF(0.3), **SCALES, **{setting: bad})


# ---------------------------------------------------------------- the doubling trick

NEED_HORIZON = ["igp-ucb", "gp-ts", "bpe", "sup-kernel-ucb", "ucb-revisited", "sup-lin-rel"]


@pytest.mark.parametrize("name", NEED_HORIZON)
def test_doubling_plays_a_new_policy_in_every_epoch(name):
    """By definition: epochs of 32, 64 and 128 rounds, each with its own policy and its own delta."""
    bandit = reference_bandit(0, "linear" if "lin" in name else "RBF(0.25)")
    settings = {
        key: value for key, value in SCALES.items() if key in kb.catalogue.POLICIES[name].settings
    }
    doubled = kb.policy(name, bandit.instance.domain, bandit.kernel, **settings, horizon="doubling")
    takes_delta = "delta" in kb.catalogue.POLICIES[name].settings
    played = [*rounds(doubled, bandit.instance, 110, bandit.streams)]
    starts = [0, 32, 96, 224]
    for epoch, (start, end) in enumerate(pairwise(starts), start=1):
        share = {"delta": 6 * 0.1 / (math.pi * epoch) ** 2} if takes_delta else {}
        own = kb.policy(
            name, bandit.instance.domain, bandit.kernel, **settings, **share, horizon=end - start
        )
        for now in played[start:end]:
            shifted = kb.streams.ShiftedRounds(bandit.streams, start)
            choice = own.ask(now.t - start, shifted)
            assert choice == now.choice
            own.tell(choice, now.reward)
    assert doubled.n_rewards == 110
    assert doubled.epoch == 3


def test_doubling_asks_purely_counts_failures_and_recommends_by_all_rewards(cloud):
    policy = Doubling(kb.IGPUCB, cloud, kb.RBF(0.3), **SCALES, first=4)
    streams = kb.Streams(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(1, 30):
            choice = policy.ask(t, streams)
            assert policy.ask(t, streams) == choice
            if t % 5 == 0:
                policy.fail(choice)
            else:
                policy.tell(choice, float(choice.x.sum()))
    assert (policy.epoch, policy.start) == (4, 28)
    assert policy.turn == 30
    assert policy.inner.turn == 2
    assert policy.recommend() == int(policy.posterior.mean.argmax())
    assert policy.ask(30, streams, pending=[choice], arms=[2, 3]).arm in (2, 3)
    assert policy.settings["horizon"] == "doubling"


def test_doubling_is_refused_where_there_is_no_horizon(cloud):
    with pytest.raises(ValueError, match="simple-ucb has no setting 'horizon'"):
        kb.policy("simple-ucb", cloud, kb.RBF(0.3), **SCALES, horizon="doubling")
    with pytest.raises(
        ValueError, match="Doubling needs a rule that takes a horizon, got 'SimpleUCB'"
    ):
        Doubling(kb.SimpleUCB, cloud, kb.RBF(0.3), **SCALES)


def test_an_experiment_takes_a_doubled_policy_by_name():
    results = kb.run_experiment(
        "branin", ["igp-ucb:horizon=doubling", "igp-ucb"], horizon=40, seeds=1
    )
    assert results.labels == ("IGP-UCB (horizon=doubling)", "IGP-UCB")


# ---------------------------------------------------------------- schedules of the paper's family

MEMBERS = {
    "simple-bernoulli": ("p", lambda t: 1 / t, lambda t: kb.Bernoulli(1 / t)),
    "simple-gaussian": ("scale", lambda t: 2 / t, lambda t: kb.Gaussian(0.0, 2 / t)),
    "simple-categorical": (
        "weights",
        lambda t: (1 / t, 1 - 1 / t),
        lambda t: kb.Categorical((1 / t, 1 - 1 / t)),
    ),
    "simple-mixture": (
        "rho",
        lambda t: 1 / t,
        lambda t: kb.Mixture((1 / t, 1 - 1 / t), (kb.PointMass(1.0), kb.Gaussian())),
    ),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_of_the_family_takes_a_schedule_of_its_setting_or_of_laws(name, cloud):
    setting, numbers, laws = MEMBERS[name]
    streams = kb.Streams(2)
    generic = kb.GenericGP(cloud, kb.RBF(0.3), laws, **SCALES)
    seen: list[object] = []

    def by_history(t, posterior):
        seen.append(posterior)
        return numbers(t)

    members = [
        kb.policy(name, cloud, kb.RBF(0.3), **SCALES, **{setting: given})
        for given in (numbers, laws, by_history)
    ]
    for t in range(1, 20):
        wanted = generic.ask(t, streams)
        for policy in members:
            assert policy.ask(t, streams) == wanted
        for policy in (generic, *members):
            policy.tell(wanted, float(wanted.x.sum()))
    assert members[2].posterior in seen
    assert members[2].exploration.uses_history


def test_a_schedule_of_a_setting_is_played_by_the_compiled_loop(cloud):
    bandit = reference_bandit(0)
    runs = []
    for engine in ("numpy", "auto"):
        policy = kb.SimpleGaussian(
            bandit.instance.domain, bandit.kernel, scale=lambda t: 3 / t, **SCALES
        )
        runs.append(kb.play(policy, bandit.instance, 40, bandit.streams, engine).arms.tolist())
    assert runs[0] == runs[1]


def test_a_schedule_that_returns_no_setting_is_refused_in_its_round(cloud):
    policy = kb.SimpleMixture(cloud, kb.RBF(0.3), rho=lambda t: 2.0, **SCALES)
    with pytest.raises(ValueError, match=r"SimpleMixture needs .*rho.*, got 2\.0"):
        policy.ask(1, kb.Streams(0))
