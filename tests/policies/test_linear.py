"""Linear bandits: the d x d form is the kernel form, and its rules play what their papers say."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.domains import tied_arms
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.widths import Width

THEORY = {"noise_scale": 0.5, "norm_bound": 2.0}


def ball(seed: int, n: int, d: int) -> np.ndarray:
    """Points of the unit ball."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def history(seed: int, n: int, rewards: int) -> tuple[np.ndarray, np.ndarray]:
    """Pulls with many repeats, and rewards."""
    rng = np.random.default_rng(seed)
    return (n * rng.random(rewards) ** 2).astype(int), rng.normal(1.0, 2.0, rewards)


def told(learner, pulls, rewards):
    """A posterior or a policy after these rewards."""
    for arm, reward in zip(pulls, rewards, strict=True):
        if isinstance(learner, kb.Policy):
            learner.tell(learner.choice(int(arm)), float(reward))
        else:
            learner.update(int(arm), float(reward))
    return learner


def primal(points, ridge, pulls, rewards):
    """The slow, obvious formula: Vbar and thetahat = Vbar^-1 X'y."""
    x = points[pulls]
    precision = ridge * np.eye(points.shape[1]) + x.T @ x
    return precision, np.linalg.solve(precision, x.T @ rewards)


# ---------------------------------------------------------------- the posterior


@pytest.mark.thorough
@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(0, 40),
    st.floats(0.05, 20.0),
)
def test_the_three_forms_and_the_primal_formula_agree(seed, n, d, rewards, ridge):
    points, (pulls, y) = ball(seed, n, d), history(seed, n, rewards)
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), points, ridge), pulls, y)
    for form in (kb.posterior.ArmPosterior, kb.posterior.RowPosterior):
        other = told(form(kb.Linear(), points, ridge), pulls, y)
        np.testing.assert_allclose(posterior.mean, other.mean, atol=1e-9)
        np.testing.assert_allclose(posterior.variance, other.variance, atol=1e-9)
        assert posterior.log_det == pytest.approx(other.log_det, abs=1e-9)
    precision, theta = primal(points, ridge, pulls, y)
    np.testing.assert_allclose(posterior.theta, theta, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, points @ theta, atol=1e-9)
    cov = ridge * np.linalg.inv(precision)
    np.testing.assert_allclose(
        posterior.variance, np.einsum("ni,ij,nj->n", points, cov, points), atol=1e-9
    )
    np.testing.assert_allclose(posterior.root @ posterior.root.T, cov, atol=1e-9)
    assert posterior.log_det == pytest.approx(np.linalg.slogdet(precision / ridge)[1], abs=1e-9)


def test_before_any_reward_it_is_the_prior():
    points = ball(0, 6, 3)
    posterior = kb.posterior.LinearPosterior(kb.Linear(), points)
    np.testing.assert_array_equal(posterior.theta, np.zeros(3))
    np.testing.assert_array_equal(posterior.mean, np.zeros(6))
    np.testing.assert_allclose(posterior.sd, np.linalg.norm(points, axis=1), rtol=1e-15)
    np.testing.assert_array_equal(posterior.root, np.eye(3))
    assert (posterior.log_det, posterior.events) == (0.0, 0)


@pytest.mark.parametrize("ridge", [1.0, 0.2, 5.0])
def test_the_basis_arms_have_a_closed_form(ridge):
    """mean_i = S_i / (ridge + n_i), sd_i^2 = ridge / (ridge + n_i), L = sum ln(1 + n_i / ridge)."""
    posterior = told(
        kb.posterior.LinearPosterior(kb.Linear(), np.eye(3), ridge), [0, 1, 0], [0.75, -0.5, 0.25]
    )
    counts, sums = np.array([2, 1, 0]), np.array([1.0, -0.5, 0.0])
    np.testing.assert_allclose(posterior.mean, sums / (ridge + counts), atol=1e-15)
    np.testing.assert_allclose(posterior.theta, sums / (ridge + counts), atol=1e-15)
    np.testing.assert_allclose(posterior.variance, ridge / (ridge + counts), rtol=1e-14)
    assert posterior.log_det == pytest.approx(np.log1p(counts / ridge).sum(), abs=1e-14)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 80), st.floats(0.01, 10.0))
def test_the_determinant_is_below_its_bound(seed, d, rewards, ridge):
    """det Vbar <= (ridge + t / d)^d for |x| <= 1, with equality for the basis arms played evenly."""
    pulls, y = history(seed, 10, rewards)
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), ball(seed, 10, d), ridge), pulls, y)
    assert posterior.log_det <= d * math.log(1 + rewards / (d * ridge)) + 1e-12
    even = told(
        kb.posterior.LinearPosterior(kb.Linear(), np.eye(d), ridge),
        np.tile(np.arange(d), 4),
        np.zeros(4 * d),
    )
    assert even.log_det == pytest.approx(d * math.log(1 + 4 / ridge), rel=1e-12)


def test_at_any_points_it_says_what_the_parameter_says():
    points, (pulls, y) = ball(1, 9, 3), history(1, 9, 50)
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), points, 0.3), pulls, y)
    elsewhere = np.random.default_rng(2).normal(size=(7, 3))
    mean, sd = posterior.at(elsewhere)
    np.testing.assert_allclose(mean, elsewhere @ posterior.theta, atol=1e-10)
    np.testing.assert_allclose(sd, np.linalg.norm(elsewhere @ posterior.root, axis=1), atol=1e-10)


def test_two_hundred_thousand_points_cost_no_more_than_their_coordinates():
    points = ball(3, 200_000, 3)
    posterior = told(
        kb.posterior.LinearPosterior(kb.Linear(), points), [3, 3, 70_000], [1.0, 2.0, 3.0]
    )
    held = sum(item.nbytes for item in vars(posterior).values() if isinstance(item, np.ndarray))
    assert held <= 10 * 8 * 200_000
    few = told(
        kb.posterior.LinearPosterior(kb.Linear(), points[[3, 70_000, 5]]),
        [0, 0, 1],
        [1.0, 2.0, 3.0],
    )
    np.testing.assert_allclose(posterior.mean[[3, 70_000, 5]], few.mean, atol=1e-14)
    np.testing.assert_allclose(posterior.sd[[3, 70_000, 5]], few.sd, atol=1e-14)
    assert not posterior.audit()


def test_an_arm_at_the_origin_is_known_from_the_start():
    posterior = told(
        kb.posterior.LinearPosterior(kb.Linear(), [[0.0, 0.0], [1.0, 0.0]]),
        [0, 1, 0],
        [5.0, 1.0, 5.0],
    )
    assert (posterior.mean[0], posterior.sd[0]) == (0.0, 0.0)
    assert posterior.mean[1] == pytest.approx(0.5)
    nothing = told(kb.posterior.LinearPosterior(kb.Linear(), [[0.0], [0.0]]), [0, 1], [1.0, 2.0])
    assert not nothing.audit()
    np.testing.assert_array_equal(nothing.mean, np.zeros(2))


@pytest.mark.thorough
def test_a_hundred_thousand_pulls_of_one_direction_agree_with_rational_arithmetic():
    """Arms a and 2a of one direction: theta a = sum c y / (ridge + sum c^2) at c = 1, 2."""
    posterior, counts, sums = (
        kb.posterior.LinearPosterior(kb.Linear(), [[1.0], [2.0], [0.5]], 0.01),
        [0, 0],
        [Fraction(0)] * 2,
    )
    rng = np.random.default_rng(4)
    for _ in range(100_000):
        arm, reward = int(rng.random() < 0.3), float(rng.normal())
        posterior.update(arm, reward)
        counts[arm] += 1
        sums[arm] += Fraction(reward)
    precision = Fraction(0.01) + counts[0] + 4 * counts[1]
    assert posterior.mean[0] == pytest.approx(float((sums[0] + 2 * sums[1]) / precision), rel=1e-10)
    np.testing.assert_allclose(
        posterior.variance, np.array([1, 4, 0.25]) * float(Fraction(0.01) / precision), rtol=1e-7
    )
    assert posterior.log_det == pytest.approx(
        math.log(float(precision / Fraction(0.01))), rel=1e-10
    )


# ---------------------------------------------------------------- audits


@pytest.mark.parametrize(("n", "expected"), [(5, [1000, 2000, 3000]), (60, [1200, 2400])])
def test_audits_happen_at_fixed_event_numbers(n, expected):
    """After 1000 rewards or 20 for each arm played, whichever is more; arms never played do not count."""
    posterior, events = kb.posterior.LinearPosterior(kb.Linear(), ball(5, 100, 3)), []
    audit = posterior.audit
    posterior.audit = lambda: (events.append(posterior.events), audit())[1]
    pulls, y = history(5, n, 3400)
    pulls[:n] = np.arange(n)
    told(posterior, pulls, y)
    assert events == expected


@pytest.mark.parametrize("ridge", [1e-8, 1e-4, 1e-2, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_an_audit_of_a_sound_state_repairs_nothing(ridge, scale, quiet):
    """Whatever the ridge and the length of the points, near-singular directions and concentrated play included."""
    points = scale * np.vstack(
        [ball(6, 10, 4), [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0 + 1e-7, 0.0, 0.0]]]
    )
    pulls, y = history(6, 12, 4000)
    pulls[::2] = 11
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), points, ridge), pulls, y)
    posterior.audit()
    assert posterior.health.audits == 5
    assert posterior.health.repairs == posterior.health.clamps == 0
    assert (posterior.variance >= 0).all()


def flip_root(posterior):
    posterior.root[0, 1] += 1e-3


def flip_variance(posterior):
    posterior.variance[4] += 1e-3


def flip_mean(posterior):
    posterior.mean[2] += 1e-3


def lose_a_number(posterior):
    posterior.mean[5] = math.nan


@pytest.mark.parametrize(
    "flip", [flip_root, flip_variance, flip_mean, lose_a_number], ids=lambda flip: flip.__name__
)
@pytest.mark.parametrize("before", [500, 999])
def test_an_audit_finds_a_flipped_bit_repairs_it_and_says_so(flip, before):
    points, (pulls, y) = ball(7, 12, 3), history(7, 12, 1300)
    posterior = told(kb.posterior.LinearPosterior(kb.RBF(0.3), points), pulls[:before], y[:before])
    flip(posterior)
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 1000 rewards"):
        told(posterior, pulls[before:1000], y[before:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(posterior, pulls[1000:], y[1000:])
    assert posterior.health.repairs == 1
    precision, theta = primal(points, 1.0, pulls, y)
    np.testing.assert_allclose(posterior.mean, points @ theta, atol=1e-9)
    np.testing.assert_allclose(
        posterior.root @ posterior.root.T, np.linalg.inv(precision), atol=1e-9
    )
    assert posterior.log_det == pytest.approx(np.linalg.slogdet(precision)[1], abs=1e-8)


def test_an_audit_compares_the_root_and_not_only_what_follows_from_it():
    pulls, y = history(8, 12, 100)
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), ball(8, 12, 3)), pulls, y)
    posterior.root[2, 2] *= 1 + 1e-6
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 100 rewards"):
        assert posterior.audit()


def test_a_lost_root_is_rebuilt_when_the_next_reward_comes(quiet):
    pulls, y = history(9, 6, 100)
    points = ball(9, 6, 2)
    posterior = told(kb.posterior.LinearPosterior(kb.Linear(), points), pulls[:50], y[:50])
    posterior.root[0, 0] = math.nan
    told(posterior, pulls[50:], y[50:])
    np.testing.assert_allclose(posterior.mean, points @ primal(points, 1.0, pulls, y)[1], atol=1e-9)
    assert posterior.health.repairs == 1


# ---------------------------------------------------------------- the kernel that is not used


def test_the_kernel_is_checked_but_not_used():
    points, (pulls, y) = ball(10, 8, 2), history(10, 8, 30)
    plain, other = (
        told(kb.posterior.LinearPosterior(kernel, points), pulls, y)
        for kernel in (kb.Linear(), kb.RBF(0.3))
    )
    assert other.kernel == kb.Linear()
    np.testing.assert_array_equal(plain.mean, other.mean)
    np.testing.assert_array_equal(plain.at(points)[1], other.at(points)[1])
    with pytest.raises(ValueError, match="needs a kernel"):
        kb.posterior.LinearPosterior(3.0, points)
    with pytest.raises(ValueError, match="needs points of 3 dimensions"):
        kb.posterior.LinearPosterior(kb.RBF((1.0, 1.0, 1.0)), points)
    with pytest.raises(ValueError, match="no negative eigenvalue"):
        kb.posterior.LinearPosterior(lambda x, z: -x @ z.T, points)


def test_points_too_long_to_square_are_refused():
    with pytest.raises(ValueError, match=r"a linear posterior needs finite \|x\|\^2, got .*inf"):
        kb.posterior.LinearPosterior(kb.RBF(0.3), [[1e200], [1.0]])


@pytest.mark.parametrize("name", ["oful", "rarely-switching-oful", "lin-ts"])
def test_a_linear_rule_says_once_that_the_kernel_is_not_used(name, build):
    points = ball(11, 6, 2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policy = build(name, points, kb.RBF(0.3))
        for t in range(1, 6):
            policy.tell(policy.ask(t, kb.Streams(0)), 1.0)
    texts = [str(w.message) for w in said]
    assert [text.split(": ")[1] for text in texts] == [
        "takes rewards as linear in x; the kernel is not used"
    ]
    assert policy.settings["kernel"] == "Linear()"


@pytest.mark.parametrize("name", ["oful", "rarely-switching-oful", "lin-ts"])
def test_points_beyond_the_unit_ball_are_allowed_with_a_warning_that_names_the_remedy(name, build):
    with pytest.warns(kb.TheoryWarning, match=r"needs \|x\|\^2 <= 1, got 3; scale the points"):
        build(name, math.sqrt(3) * np.eye(2))


# ---------------------------------------------------------------- OFUL


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.integers(0, 40),
    st.floats(0.1, 10.0),
    st.floats(0.01, 0.9),
)
def test_oful_is_whitehouse_on_the_linear_kernel(seed, d, rewards, ridge, delta):
    points, (pulls, y) = ball(seed, 9, d), history(seed, 9, rewards)
    given = {**THEORY, "ridge": ridge, "delta": delta}
    oful, whitehouse = (
        told(rule(points, kb.Linear(), **given), pulls, y)
        for rule in (kb.policies.OFUL, kb.WhitehouseUCB)
    )
    assert isinstance(oful.posterior, kb.posterior.LinearPosterior)
    for weight in (1.0, -0.3):
        np.testing.assert_allclose(oful.index(7, weight), whitehouse.index(7, weight), atol=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 40), st.floats(0.1, 10.0))
def test_the_index_of_oful_is_that_of_its_paper(seed, d, rewards, ridge):
    """x.thetahat + (R sqrt(2 ln(det(Vbar)^(1/2) det(ridge I)^(-1/2) / delta)) + sqrt(ridge) S) |x|_{Vbar^-1}."""
    points, (pulls, y) = ball(seed, 9, d), history(seed, 9, rewards)
    oful = told(
        kb.policies.OFUL(
            points, kb.Linear(), noise_scale=0.8, norm_bound=1.3, delta=0.2, ridge=ridge
        ),
        pulls,
        y,
    )
    precision, theta = primal(points, ridge, pulls, y)
    root = math.sqrt(np.linalg.det(precision) / ridge**d)
    width = 0.8 * math.sqrt(2 * math.log(root / 0.2)) + math.sqrt(ridge) * 1.3
    norms = np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.inv(precision), points))
    np.testing.assert_allclose(oful.index(3), points @ theta + width * norms, atol=1e-9)


def test_the_index_of_oful_is_the_supremum_over_its_ellipsoid():
    points, (pulls, y) = ball(12, 6, 2), history(12, 6, 15)
    oful = told(
        kb.policies.OFUL(
            points, kb.Linear(), noise_scale=0.8, norm_bound=1.3, delta=0.2, ridge=0.6
        ),
        pulls,
        y,
    )
    precision, centre = primal(points, 0.6, pulls, y)
    radius = (
        0.8 * math.sqrt(2 * math.log(math.sqrt(np.linalg.det(precision / 0.6)) / 0.2))
        + math.sqrt(0.6) * 1.3
    )
    angles = np.linspace(0, 2 * np.pi, 200_001)
    boundary = np.linalg.solve(
        np.linalg.cholesky(precision).T, np.array([np.cos(angles), np.sin(angles)])
    )
    np.testing.assert_allclose(
        oful.index(16), (points @ (centre[:, None] + radius * boundary)).max(1), rtol=1e-8
    )


def test_the_golden_index_of_instance_g():
    oful = told(kb.policies.OFUL(np.eye(3), kb.Linear(), **THEORY), [0, 1, 0], [0.75, -0.5, 0.25])
    assert oful.width_at(4) == pytest.approx(3.264608, abs=5e-7)
    np.testing.assert_allclose(oful.index(4), [2.218155, 2.058426, 3.264608], atol=5e-7)
    assert oful.ask(4, kb.Streams(0)).arm == 2


def test_oful_plays_what_whitehouse_plays_and_not_by_the_compiled_loop():
    points = ball(13, 20, 3)
    instance = Instance("linear", kb.Arms(points), points @ [0.5, -0.3, 0.2], GaussianNoise(0.5))
    runs = [
        kb.play(rule(points, kb.Linear(), **THEORY), instance, 300, kb.Streams(1))
        for rule in (kb.policies.OFUL, kb.WhitehouseUCB)
    ]
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    np.testing.assert_array_equal(runs[0].recommended, runs[1].recommended)
    assert runs[0].engine == "numpy"


def test_scaling_the_points_with_ridge_and_norm_changes_nothing(quiet):
    """x -> c x, ridge -> c^2 ridge, S -> S / c; and rewards, R and S scaled together scale the index."""
    points, (pulls, y) = ball(14, 7, 2), history(14, 7, 20)
    plain = told(
        kb.policies.OFUL(points, kb.Linear(), noise_scale=0.7, norm_bound=1.5, ridge=0.8), pulls, y
    )
    longer = told(
        kb.policies.OFUL(3 * points, kb.Linear(), noise_scale=0.7, norm_bound=0.5, ridge=7.2),
        pulls,
        y,
    )
    louder = told(
        kb.policies.OFUL(points, kb.Linear(), noise_scale=1.4, norm_bound=3.0, ridge=0.8),
        pulls,
        2 * y,
    )
    np.testing.assert_allclose(longer.index(5), plain.index(5), rtol=1e-11)
    np.testing.assert_allclose(louder.index(5), 2 * plain.index(5), rtol=1e-11)


def escapes(shrink: float, delta: float, runs: int) -> float:
    """How often f leaves mean +- shrink * width * sd in one of 60 rounds that OFUL plays."""
    points, theta, left = ball(15, 12, 2), np.array([0.6, -0.8]), 0
    for seed in range(runs):
        policy = kb.policies.OFUL(
            points, kb.Linear(), noise_scale=1.0, norm_bound=1.0, delta=delta, ridge=0.1
        )
        rng, out = np.random.default_rng(seed), False
        for t in range(1, 61):
            choice = policy.ask(t, rng)
            policy.tell(choice, float(choice.x @ theta + rng.normal()))
            error = np.abs(points @ theta - policy.posterior.mean)
            out = out or bool((error > shrink * policy.width_at(t + 1) * policy.posterior.sd).any())
        left += out
    return left / runs


@pytest.mark.thorough
def test_the_function_leaves_ofuls_band_with_chance_delta_at_most():
    """Within four standard errors; a band of half the width is caught."""
    delta, runs = 0.2, 250
    error = 4 * math.sqrt(delta * (1 - delta) / runs)
    assert escapes(1.0, delta, runs) <= delta + error
    assert escapes(0.5, delta, runs) > delta + error


def test_a_pool_of_a_hundred_thousand_points_is_played():
    points, policies = ball(16, 100_000, 5), []
    for rule in (kb.policies.OFUL, kb.policies.RarelySwitchingOFUL):
        policies.append(rule(kb.Arms(points), kb.Linear(), **THEORY))
    policies.append(kb.policies.LinTS(kb.Arms(points), kb.Linear(), noise_scale=0.5))
    start = time.process_time()
    for policy in policies:
        for t in range(1, 11):
            choice = policy.ask(t, kb.Streams(0))
            policy.tell(choice, float(choice.x.sum()))
    assert time.process_time() - start < 5


# ---------------------------------------------------------------- rarely switching OFUL


def rarely(points, switch=1.0, **more):
    return kb.policies.RarelySwitchingOFUL(points, kb.Linear(), switch=switch, **(THEORY | more))


def linear_rounds(policy, horizon, seed=0):
    """(index, choice, log_det) of each round, rewards linear in x with noise."""
    rng, streams, rows = np.random.default_rng(seed), kb.Streams(seed), []
    theta = np.linspace(1.0, -0.5, policy.domain.dimension)
    for t in range(1, horizon + 1):
        choice = policy.ask(t, streams)
        rows.append((policy.index(t).copy(), choice, policy.posterior.log_det))
        policy.tell(choice, float(choice.x @ theta + 0.5 * rng.normal()))
    return rows


@pytest.mark.parametrize("switch", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("ridge", [1.0, 0.3])
def test_rarely_switching_oful_switches_when_the_determinant_has_grown_and_only_then(switch, ridge):
    """By brute force: determinants from scratch, the index recomputed when det Vbar_t > (1 + C) det Vbar_tau."""
    points, pulls, y, before, index = ball(17, 15, 3), [], [], -math.inf, None
    policy, rng = rarely(points, switch, ridge=ridge), np.random.default_rng(1)
    for t in range(1, 151):
        precision, theta = primal(points, ridge, np.array(pulls, dtype=int), np.array(y))
        log_det = np.linalg.slogdet(precision)[1]
        if log_det > before + math.log(1 + switch):
            before = log_det
            width = (
                0.5 * math.sqrt(log_det - 3 * math.log(ridge) + 2 * math.log(10))
                + math.sqrt(ridge) * 2
            )
            norms = np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.inv(precision), points))
            index = points @ theta + width * norms
        np.testing.assert_allclose(policy.index(t), index, atol=1e-9)
        choice = policy.ask(t, kb.Streams(2))
        assert choice.arm == index.argmax()
        pulls.append(choice.arm)
        y.append(float(choice.x.sum() + rng.normal()))
        policy.tell(choice, y[-1])


@pytest.mark.parametrize("switch", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_number_of_switches_is_bounded_by_the_determinant(switch, d):
    rows = linear_rounds(rarely(ball(18, 20, d), switch), 400)
    taus = [choice.note["tau"] for _, choice, _ in rows]
    switches = len(set(taus)) - 1
    assert 0 < switches <= rows[-1][2] / math.log1p(switch)
    assert switches <= d * math.log(1 + 400 / d) / math.log1p(switch)
    assert taus == sorted(taus)
    for (index, choice, _), (later, following, _) in itertools.pairwise(rows):
        if choice.note["tau"] == following.note["tau"]:
            assert choice.arm == following.arm
            np.testing.assert_array_equal(index, later)


def test_with_a_small_constant_it_plays_oful_and_with_a_large_one_it_never_switches():
    points = ball(19, 15, 3)
    often, oful, never = (
        rarely(points, 1e-14),
        kb.policies.OFUL(points, kb.Linear(), **THEORY),
        rarely(points, 1e9),
    )
    arms = [
        [choice.arm for _, choice, _ in linear_rounds(policy, 200)]
        for policy in (often, oful, never)
    ]
    assert arms[0] == arms[1]
    assert len(set(arms[1])) > 1
    assert len(set(arms[2])) == 1


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_the_constant_of_a_switch_is_above_zero(bad):
    with pytest.raises(ValueError, match="RarelySwitchingOFUL needs switch > 0, got"):
        rarely(np.eye(2), bad)


def test_a_tie_is_settled_alike_until_the_next_switch():
    """Six basis arms tie at first; each seed stays with one of them until C = 9 is reached, and seeds differ."""
    first = set()
    for seed in range(20):
        policy = rarely(np.eye(6), 9.0)
        arms = [
            (choice.note["tau"], choice.arm) for _, choice, _ in linear_rounds(policy, 60, seed)
        ]
        assert len(set(arms)) == len({tau for tau, _ in arms})
        assert sum(tau == 1.0 for tau, _ in arms) == 10
        first.add(arms[0][1])
    assert len(first) > 3
    assert {
        rarely(np.eye(6), 9.0, ties="lowest").ask(1, kb.Streams(seed)).arm for seed in range(9)
    } == {0}


def test_the_held_index_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        rarely(np.eye(2)).index(1)[0] = 3.0


def test_rarely_switching_oful_pays_little_for_its_rest():
    """Regret within sqrt(1 + C) of OFUL's on average, with room for noise, while switching in a tenth of the rounds."""
    points = ball(20, 30, 2)
    values = points @ [1.0, -0.5]
    regrets = dict.fromkeys((kb.policies.OFUL, kb.policies.RarelySwitchingOFUL), 0.0)
    for rule in regrets:
        for seed in range(10):
            rows = linear_rounds(
                rule(points, kb.Linear(), noise_scale=0.5, norm_bound=1.2), 300, seed
            )
            regrets[rule] += sum(values.max() - values[choice.arm] for _, choice, _ in rows)
            if rule is kb.policies.RarelySwitchingOFUL:
                assert len({choice.note["tau"] for _, choice, _ in rows}) < 30
    assert regrets[kb.policies.RarelySwitchingOFUL] < 1.5 * math.sqrt(2) * regrets[kb.policies.OFUL]


# ---------------------------------------------------------------- LinTS


def lin_ts(points, **more):
    return kb.policies.LinTS(points, kb.Linear(), **({"noise_scale": 0.5} | more))


def test_the_scale_of_the_draw_is_that_of_the_paper():
    """R sqrt(9 d ln(t / delta)), and R sqrt((24 / eps) d ln(1 / delta)) with eps = 1 / ln T."""
    anytime = lin_ts(ball(21, 5, 3), delta=0.1)
    assert anytime.width_at(1) == pytest.approx(0.5 * math.sqrt(27 * 2.302585093), rel=1e-9)
    assert anytime.width_at(40) == pytest.approx(0.5 * math.sqrt(27 * 5.991464547), rel=1e-9)
    fixed = lin_ts(ball(21, 5, 3), delta=0.1, schedule="icml", horizon=100)
    assert (
        fixed.width_at(1)
        == fixed.width_at(99)
        == pytest.approx(0.5 * math.sqrt(24 * 4.605170186 * 3 * 2.302585093))
    )
    assert (anytime.posterior.ridge, fixed.settings["schedule"]) == (1.0, "icml")
    assert fixed.ask(1, kb.Streams(0)).note["width"] == fixed.width_at(1)


@pytest.mark.parametrize("horizon", [None, 1, 2])
def test_the_icml_schedule_needs_a_horizon_of_three(horizon):
    with pytest.raises(
        ValueError, match=f"LinTS needs a horizon >= 3 for the icml schedule, got {horizon}"
    ):
        lin_ts(np.eye(2), schedule="icml", horizon=horizon)
    assert lin_ts(np.eye(2), horizon=horizon).horizon == horizon
    assert lin_ts(np.eye(2), schedule="icml", horizon=3).width_at(1) > 0


def test_an_unknown_schedule_is_refused():
    with pytest.raises(ValueError, match="LinTS needs schedule in"):
        lin_ts(np.eye(2), schedule="bayes")


def test_the_draw_has_exactly_the_mean_and_covariance_of_the_paper():
    """theta ~ N(thetahat, v_t^2 B^-1): the covariance from the draws of the unit vectors."""
    points, (pulls, y) = ball(22, 8, 3), history(22, 8, 30)
    policy = told(lin_ts(points), pulls, y)
    precision, theta = primal(points, 1.0, pulls, y)
    np.testing.assert_allclose(policy.parameter(31, np.zeros(3)), theta, atol=1e-12)
    columns = np.array([policy.parameter(31, z) - theta for z in np.eye(3)]).T
    np.testing.assert_allclose(
        columns @ columns.T, policy.width_at(31) ** 2 * np.linalg.inv(precision), atol=1e-11
    )
    z = np.random.default_rng(0).normal(size=3)
    np.testing.assert_allclose(policy.sample(31, z), points @ policy.parameter(31, z), atol=1e-12)


@pytest.mark.thorough
def test_on_orthonormal_arms_the_draws_are_independent_normals_of_known_mean_and_variance():
    """N(S_i / (1 + n_i), v^2 / (1 + n_i)), within four standard errors of 1e5 draws."""
    policy, n = told(lin_ts(np.eye(3)), [0, 1, 0], [0.75, -0.5, 0.25]), 100_000
    draws = np.array([policy.sample(4, z) for z in kb.Streams(3).normals("sample", 1, n, 3)])
    counts, sums = np.array([2, 1, 0]), np.array([1.0, -0.5, 0.0])
    mean, variance = sums / (1 + counts), 0.25 * 27 * math.log(4 / 0.1) / (1 + counts)
    assert (np.abs(draws.mean(0) - mean) < 4 * np.sqrt(variance / n)).all()
    error = np.sqrt((np.outer(variance, variance) + np.diag(variance**2)) / n)
    assert (np.abs(np.cov(draws.T, bias=True) - np.diag(variance)) < 4 * error).all()


@pytest.mark.thorough
def test_the_law_of_the_arms_is_that_of_gp_ts_on_the_linear_kernel_with_the_same_scale():
    """GP-TS at ridge 1 + 2/T -> 1 with v overridden; each arm's share within four standard errors of 20 000 draws."""
    points, (pulls, y), n = ball(23, 6, 2), history(23, 6, 12), 20_000
    policy = told(lin_ts(points, noise_scale=0.1), pulls, y)
    kernelised = told(
        kb.GPTS(points, kb.Linear(), noise_scale=0.1, norm_bound=1.0, horizon=10**12), pulls, y
    )
    scale = policy.width_at(13)
    kernelised.width = Width("v", lambda t: (scale, 0.0, 0.0))
    draws, twice = (kb.Streams(4).normals("sample", 1, n, size) for size in (2, 12))
    shares = [
        np.bincount([rule(z).argmax() for z in table], minlength=6) / n
        for rule, table in (
            (lambda z: policy.sample(13, z), draws),
            (lambda z: kernelised.sample(13, z[:6], z[6:]), twice),
        )
    ]
    chance = sum(shares) / 2
    assert (np.abs(shares[0] - shares[1]) <= 4 * np.sqrt(2 * chance * (1 - chance) / n)).all()
    assert (chance > 0.02).sum() >= 3


def test_lin_ts_plays_the_greatest_value_of_its_draw_from_d_normals():
    policy, streams = told(lin_ts(ball(24, 9, 4)), *history(24, 9, 20)), kb.Streams(5)
    for t in range(21, 40):
        choice = policy.ask(t, streams)
        values = policy.domain.points @ policy.parameter(t, streams.normal("sample", t, 4))
        assert choice.arm in tied_arms(values)
        assert choice.note["sample"] == pytest.approx(values.max(), abs=1e-12)


def test_without_noise_lin_ts_is_greedy(quiet):
    policy = told(lin_ts(ball(25, 9, 2), noise_scale=0.0), *history(25, 9, 20))
    assert {policy.ask(t, kb.Streams(6)).arm for t in range(1, 20)} == {policy.recommend()}


def test_at_any_point_it_is_as_exact_as_its_own_form():
    """Rows of very different length and a small ridge, where the m x m form of the arms loses its digits."""
    points = np.array([[1e3, 0.0], [0.0, 1e-3], [1e-3, 1e-3]])
    posterior = kb.posterior.LinearPosterior(kb.Linear(), points, 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arm, reward in ((0, 2.0), (1, 1e-3), (2, 3e-3), (1, 1.5e-3)):
            posterior.update(arm, reward)
        posterior.audit()
    vbar = 1e-6 * np.eye(2) + sum(np.outer(points[a], points[a]) for a in (0, 1, 2, 1))
    theta = np.linalg.solve(
        vbar, 2.0 * points[0] + 1e-3 * points[1] + 3e-3 * points[2] + 1.5e-3 * points[1]
    )
    where = np.array([[0.2, 0.3], [1.0, -1.0]])
    mean, sd = posterior.at(where)
    np.testing.assert_allclose(mean, where @ theta, rtol=1e-10)
    expected = np.sqrt(np.einsum("ij,jk,ik->i", where, 1e-6 * np.linalg.inv(vbar), where))
    np.testing.assert_allclose(sd, expected, rtol=1e-8)
    assert posterior.log_det == pytest.approx(np.linalg.slogdet(vbar / 1e-6)[1], rel=1e-12)
