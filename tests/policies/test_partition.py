"""Cells of arms, pi-GP-UCB and the adaptive tree, against slow judges that know nothing of cubes or updates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kernelbandits as kb
from kernelbandits.domains import tied_arms
from kernelbandits.policies import tree
from kernelbandits.policies.cubes import unit_cube
from kernelbandits.problems import GaussianNoise, RKHSFunction

CLOUD = np.random.default_rng(12).random((40, 2))
R, D, T = 0.3, 1.5, 120


def reward_of(x: np.ndarray, t: int) -> float:
    return float(np.sin(4 * x.sum()) + 0.3 * (-1) ** t)


def direct(kernel, points, data, ridge):
    """mean and sd at the points and L, by solving the linear equations of the data [(x, y), ...] once."""
    if not data:
        return np.zeros(len(points)), np.sqrt(kernel.diagonal(points)), 0.0
    x, y = np.array([x for x, _ in data]), np.array([y for _, y in data])
    cross, matrix = kernel(points, x), kernel(x, x) + ridge * np.eye(len(x))
    variance = kernel.diagonal(points) - (cross * np.linalg.solve(matrix, cross.T).T).sum(1)
    log_det = np.linalg.slogdet(matrix / ridge)[1]
    return cross @ np.linalg.solve(matrix, y), np.sqrt(np.maximum(variance, 0)), log_det


# ---------------------------------------------------------------- cubes

grids = arrays(
    float,
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.integers(0, 8).map(lambda i: i / 8),
)
clouds = arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 2)), elements=st.floats(0, 1))


@given(grids)
def test_the_halves_of_a_cube_share_out_its_arms(points):
    unit, root, _ = unit_cube(points)
    halves = root.halves(unit)
    assert sorted(np.concatenate([half.arms for half in halves])) == list(range(len(points)))
    assert 1 <= len(halves) <= 2 ** points.shape[1]
    for half in halves:
        assert half.side == 0.5
        assert (np.diff(half.arms) > 0).all()
        inside = unit[half.arms]
        assert (inside >= half.lower).all()
        assert ((inside < half.lower + 0.5) | (half.lower == 0.5)).all()


def test_an_arm_on_the_border_belongs_to_the_upper_half():
    unit, root, _ = unit_cube(np.array([[0.0], [0.25], [0.5], [1.0], [0.49]]))
    low, high = root.halves(unit)
    assert (low.arms.tolist(), high.arms.tolist()) == ([0, 1, 4], [2, 3])
    assert [half.arms.tolist() for half in high.halves(unit)] == [[2], [3]]
    assert [half.lower.tolist() for half in high.halves(unit)] == [[0.5], [0.75]]


@given(clouds)
def test_arms_at_different_points_always_part_and_those_at_one_point_never(points):
    unit, root, _ = unit_cube(points)
    different = len({tuple(row) for row in (points + 0.0).tolist()})
    assert root.divides(unit) == (different > 1)
    pending, cells = [root], []
    while pending:
        cube = pending.pop()
        (pending.extend(cube.parts(unit)) if cube.divides(unit) else cells.append(cube))
    assert len(cells) == different


def test_close_neighbours_part_however_close_they_are():
    for pair in ([0.0, 5e-324], [1 - 2.0**-53, 1.0], [0.3, np.nextafter(0.3, 1)]):
        unit, root, _ = unit_cube(np.array(pair)[:, None])
        assert [part.arms.tolist() for part in root.parts(unit)] == [[0], [1]]


def test_arms_outside_the_unit_cube_are_scaled_to_it_and_others_left_alone():
    points = np.array([[-3.0, 7.0, 2.0], [1.0, 7.0, 4.0], [0.0, 7.0, 2.5]])
    unit, _, said = unit_cube(points)
    np.testing.assert_allclose(unit, [[0, 0, 0], [1, 0, 1], [0.75, 0, 0.25]], atol=1e-15)
    assert "scaled" in said
    unit, root, said = unit_cube(CLOUD)
    assert unit is CLOUD
    assert "scaled" not in said
    assert (root.side, root.lower.tolist(), len(root.arms)) == (1.0, [0.0, 0.0], 40)


def test_the_largest_numbers_overflow_nothing():
    unit, _, _ = unit_cube(np.array([[-1.7e308], [1.7e308], [0.0]]))
    np.testing.assert_allclose(unit[:, 0], [0, 1, 0.5])


# ---------------------------------------------------------------- pi-GP-UCB


def partitioned(points=CLOUD, kernel=None, **more) -> kb.policies.PiGPUCB:
    settings = {"noise_scale": R, "norm_bound": D, "horizon": T} | more
    return kb.policies.PiGPUCB(points, kb.Matern(0.3) if kernel is None else kernel, **settings)


def play(policy: kb.Policy, rounds: int = T, seed: int = 1):
    """Yield every choice before it is told."""
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(seed))
        yield t, choice
        policy.tell(choice, reward_of(choice.x, t))


class Judge:
    """pi-GP-UCB written down naively: cells are [(bounds, data)], every index a direct solve."""

    def __init__(self, points, kernel, ridge, full, inherit=False, delta=0.1, nu=2.5):
        self.points, self.kernel, self.ridge, self.full, self.inherit = (
            points,
            kernel,
            ridge,
            full,
            inherit,
        )
        d = points.shape[1]
        self.claims = 4 * (T + 1) ** (d / (2 * nu)) / delta
        self.cells = [([(0.0, 1.0, True)] * d, [])]
        self.retired, self.splits = 0, 0

    def inside(self, bounds, x):
        return all(
            low <= value and (value < high or last)
            for value, (low, high, last) in zip(x, bounds, strict=True)
        )

    def arms(self, bounds):
        return [i for i, x in enumerate(self.points) if self.inside(bounds, x)]

    def index(self):
        index = np.empty(len(self.points))
        for bounds, data in self.cells:
            arms = self.arms(bounds)
            mean, sd, log_det = direct(self.kernel, self.points[arms], data, self.ridge)
            index[arms] = (
                mean + (D + R * math.sqrt(2 * (log_det / 2 + 1 + math.log(self.claims)))) * sd
            )
        return index

    def tell(self, x, y):
        number = next(i for i, (bounds, _) in enumerate(self.cells) if self.inside(bounds, x))
        bounds, data = self.cells[number]
        data.append((x, y))
        several = len({tuple(self.points[i]) for i in self.arms(bounds)}) > 1
        if several and self.full(len(data), bounds[0][1] - bounds[0][0]):
            del self.cells[number]
            self.retired += len(data)
            self.splits += 1
            self.cells += [cell for cell in self.children(bounds, data) if self.arms(cell[0])]

    def children(self, bounds, data):
        halves = [((a, (a + b) / 2, False), ((a + b) / 2, b, last)) for a, b, last in bounds]
        for child in itertools.product(*halves):
            yield list(child), [(x, y) for x, y in data if self.inherit and self.inside(child, x)]


def thesis(n, side, nu=2.5):
    return n > side ** (-2 * nu)


def aistats(n, side, nu=2.5, d=2):
    return n + 1 > side ** (-(d + 2 * nu) / (d + 1))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("settings", "full", "cells_at_least"),
    [
        ({}, thesis, 7),
        ({"ridge": 1 + 2 / T}, thesis, 7),
        ({"split": "aistats"}, aistats, 12),
        ({"split": "never"}, lambda n, side: False, 1),
        ({"inherit_data": True}, thesis, 7),
        ({"split": "aistats", "inherit_data": True}, aistats, 12),
        ({"nu": 0.5}, lambda n, side: thesis(n, side, 0.5), 20),
    ],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_pi_gp_ucb_is_what_its_definition_says(settings, full, cells_at_least):
    """Index, cells and data of every round against the naive judge; no reward is lost, no arm without a cell."""
    policy = partitioned(**settings)
    nu, inherit = settings.get("nu", 2.5), settings.get("inherit_data", False)
    judge = Judge(CLOUD, kb.Matern(0.3), settings.get("ridge", 1.0), full, inherit, nu=nu)
    for t, choice in play(policy):
        np.testing.assert_allclose(policy.index(t), judge.index(), rtol=1e-9)
        assert choice.arm in tied_arms(policy.index(t))
        judge.tell(choice.x, reward_of(choice.x, t))
    assert sorted(cell.cube.arms.tolist() for cell in policy.cells) == sorted(
        judge.arms(cell[0]) for cell in judge.cells
    )
    assert len(policy.cells) <= 1 + 3 * judge.splits
    assert len(policy.cells) >= cells_at_least
    if not inherit:
        told = sum(cell.posterior.events for cell in policy.cells if cell.posterior)
        assert told + judge.retired == T == policy.posterior.events


@pytest.mark.parametrize("split", ["thesis", "aistats"])
def test_every_arm_is_in_one_cell_and_the_cell_knows_its_rewards_since_it_was_made(split):
    policy = partitioned(split=split)
    met = []
    for t, choice in play(policy):
        assert sorted(np.concatenate([cell.cube.arms for cell in policy.cells])) == list(range(40))
        met.append((policy.cell_of(choice.arm), (choice.x, reward_of(choice.x, t))))
    for cell in policy.cells:
        data = [told for other, told in met if other is cell]
        mean, sd, log_det = direct(kb.Matern(0.3), CLOUD[cell.cube.arms], data, 1.0)
        assert (cell.posterior.events if cell.posterior else 0) == len(data)
        np.testing.assert_allclose(policy._mean[cell.cube.arms], mean, atol=1e-10)
        np.testing.assert_allclose(policy._sd[cell.cube.arms], sd, atol=1e-10)
        np.testing.assert_allclose(policy._width[cell.cube.arms], policy.width(log_det), atol=1e-9)


def test_without_splitting_it_is_igp_ucb_with_delta_over_f():
    claims = 4 * (T + 1) ** (2 / 5)
    ours = partitioned(split="never", ridge=1 + 2 / T)
    igp = kb.IGPUCB(
        CLOUD, kb.Matern(0.3), noise_scale=R, norm_bound=D, horizon=T, delta=0.1 / claims
    )
    for t, choice in play(ours):
        np.testing.assert_allclose(ours.index(t), igp.index(t), atol=1e-11)
        assert igp.ask(t, kb.Streams(1)).arm == choice.arm
        igp.tell(igp.choice(choice.arm), reward_of(choice.x, t))


def test_the_golden_index_of_an_undivided_cell():
    """Instance G at ridge 1.02: L = ln(1 + 2/1.02) + ln(1 + 1/1.02), F = 4 * 101^(3/5)."""
    policy = kb.policies.PiGPUCB(
        np.eye(3),
        kb.Linear(),
        noise_scale=0.5,
        norm_bound=2.0,
        horizon=100,
        split="never",
        ridge=1.02,
    )
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    gain = (math.log(3.02 / 1.02) + math.log(2.02 / 1.02)) / 2
    width = 2 + 0.5 * math.sqrt(2 * (gain + 1 + math.log(40) + 0.6 * math.log(101)))
    n, s = np.array([2, 1, 0]), np.array([1, -0.5, 0])
    np.testing.assert_allclose(
        policy.index(4), s / (1.02 + n) + width * np.sqrt(1.02 / (1.02 + n)), atol=1e-12
    )
    assert policy.index(4)[2] == pytest.approx(4.042343, abs=5e-7)


def test_the_first_cell_is_split_after_two_rewards_or_after_one():
    for settings, rewards in (({}, 2), ({"split": "aistats"}, 1)):
        policy = partitioned(**settings)
        for t, _ in play(policy, 3):
            assert len(policy.cells) == (1 if t <= rewards else 4)


def test_children_start_empty_and_are_as_wide_as_the_prior():
    policy = partitioned()
    list(play(policy, 2))
    assert all(cell.posterior is None for cell in policy.cells)
    width = D + R * math.sqrt(2 * (1 + math.log(4 * (T + 1) ** (2 / 5) / 0.1)))
    np.testing.assert_allclose(policy.index(3), width, rtol=1e-14)
    assert policy.posterior.events == 2


def test_a_cell_of_one_point_is_never_split(quiet):
    for points in ([[0.3]], [[0.3], [0.3], [0.3]]):
        policy = partitioned(points, kb.Matern(0.3))
        list(play(policy, 50))
        assert len(policy.cells) == 1
        assert policy.cells[0].posterior.events == 50


def test_repeated_points_stay_together(quiet):
    policy = partitioned(np.repeat(CLOUD[:6], 3, axis=0), nu=0.5)
    list(play(policy))
    for cell in policy.cells:
        assert len(cell.cube.arms) % 3 == 0
    assert len(policy.cells) == 6


def test_a_reward_nobody_asked_for_goes_to_the_cell_of_its_arm():
    policy = partitioned()
    list(play(policy, 10))
    cell = policy.cell_of(17)
    before = [(c, c.posterior.events if c.posterior else 0) for c in policy.cells]
    policy.tell(policy.choice(17), 3.0)
    for other, events in before:
        assert (other.posterior.events if other.posterior else 0) == events + (other is cell)


def test_the_note_is_what_the_cell_knows():
    policy = partitioned()
    for _t, choice in play(policy, 60):
        note = choice.note
        assert note["index"] == pytest.approx(note["mean"] + note["width"] * note["sd"], rel=1e-14)
        assert note["side"] == policy.cell_of(choice.arm).cube.side


def test_cells_follow_the_box_of_the_arms():
    """Eight times as large and elsewhere, with a kernel eight times as wide: the same rounds are played."""
    square = np.vstack([CLOUD, [[0, 0], [1, 1]]])
    here, there = partitioned(square, kb.RBF(0.25)), partitioned(8 * square - 32, kb.RBF(2.0))
    assert "scaled" in there.settings["cells"]
    assert "scaled" not in here.settings["cells"]
    for t in range(1, T + 1):
        choice = here.ask(t, kb.Streams(1))
        assert there.ask(t, kb.Streams(1)).arm == choice.arm
        for policy in (here, there):
            policy.tell(policy.choice(choice.arm), reward_of(choice.x, t))
    assert len(here.cells) == len(there.cells) > 4


def misses(factors: tuple[float, ...], runs: int, rounds: int, delta: float) -> list[float]:
    """How often, with as much noise as allowed, f leaves the band of some cell, its width multiplied by a factor."""
    problem = RKHSFunction(
        kb.Matern(0.3), 1, candidates=8, norm_bound=0.05, noise=GaussianNoise(1.0)
    )
    theory = {"noise_scale": 1.0, "norm_bound": 0.05, "horizon": rounds, "delta": delta}
    farthest = np.zeros(runs)
    for seed in range(runs):
        instance, streams = problem.instance(kb.Streams(seed)), kb.Streams(seed)
        policy = kb.policies.PiGPUCB(instance.domain, kb.Matern(0.3), **theory)
        for t in range(1, rounds + 1):
            choice = policy.ask(t, streams)
            policy.tell(choice, instance.pull(choice.arm, streams.uniform("noise", t)))
            error = np.abs(instance.values - policy._mean) / (policy._width * policy._sd)
            farthest[seed] = max(farthest[seed], error.max())
    return [float((farthest > factor).mean()) for factor in factors]


@pytest.mark.thorough
def test_f_stays_in_the_bands_of_all_cells_and_would_leave_narrower_ones():
    delta, runs = 0.5, 200
    four_errors = 4 * math.sqrt(delta * (1 - delta) / runs)
    whole, third = misses((1.0, 1 / 3), runs, 40, delta)
    assert whole <= delta + four_errors < third


@pytest.mark.parametrize(
    ("kernel", "nu"), [(kb.Matern(0.3, nu=1.5), 1.5), (kb.Matern(0.3), 2.5), (kb.RBF(0.3), 2.5)]
)
def test_the_smoothness_is_the_kernels_where_it_has_one(kernel, nu):
    assert partitioned(kernel=kernel).settings["nu"] == nu
    assert partitioned(kernel=kernel, nu=0.7).settings["nu"] == 0.7


def test_the_settings_say_how_it_splits_and_what_is_inherited():
    settings = partitioned(split="aistats", inherit_data=True).settings
    assert (settings["split"], settings["inherit_data"], settings["gain"]) == (
        "aistats",
        True,
        "realised",
    )
    assert partitioned().settings["cells"] == "cubes of the unit cube"


@pytest.mark.parametrize(
    ("setting", "bad"),
    [("nu", 0.0), ("nu", -1.0), ("nu", "2"), ("split", "often"), ("inherit_data", 1)],
)
def test_a_setting_of_pi_gp_ucb_that_is_none_is_refused(setting, bad):
    with pytest.raises(ValueError, match=f"PiGPUCB needs {setting}.*, got {bad!r}"):
        partitioned(**{setting: bad})


def test_a_ridge_below_one_has_no_guarantee():
    with pytest.warns(kb.TheoryWarning, match=r"needs a ridge of at least 1, got 0\.5"):
        partitioned(ridge=0.5)


def test_many_dimensions_and_a_long_horizon_overflow_nothing():
    points = np.random.default_rng(0).random((30, 200))
    policy = partitioned(points, kb.Matern(3.0, nu=0.5), horizon=10**9)
    assert math.isfinite(policy.width(0.0))
    assert len(list(play(policy, 20))) == 20


# ---------------------------------------------------------------- the adaptive tree


def adaptive(points=CLOUD, kernel=None, **more) -> kb.policies.AdaptiveTree:
    settings = {"noise_scale": 0.05, "norm_bound": D} | more
    return kb.policies.AdaptiveTree(
        points, kb.Matern(0.3) if kernel is None else kernel, **settings
    )


class NaiveTree:
    """Leaves as (arms, bounds, V, centre, parent's centre and V), everything from the Gram matrix and direct solves."""

    def __init__(self, points, kernel, noise, norm, ridge, delta=0.1):
        self.points, self.kernel, self.noise, self.norm = points, kernel, noise, norm
        self.ridge, self.delta, self.data = ridge, delta, []
        gram = kernel(points, points)
        self.distance = np.sqrt(
            np.maximum(np.add.outer(gram.diagonal(), gram.diagonal()) - 2 * gram, 0)
        )
        self.leaves = [
            self.leaf(range(len(points)), [(0.0, 1.0)] * points.shape[1], None, math.inf)
        ]
        self.settle()

    def leaf(self, arms, bounds, parent, parent_spread):
        arms = list(arms)
        costs = [round(sum(self.distance[i, j] for j in arms), 11) for i in arms]
        centre = min(arms, key=lambda i: (costs[arms.index(i)], tuple(self.points[i])))
        return (
            arms,
            bounds,
            self.norm * max(self.distance[centre, j] for j in arms),
            centre,
            parent,
            parent_spread,
        )

    def values(self):
        """I of every leaf, and width sd at its centre."""
        mean, sd, log_det = direct(self.kernel, self.points, self.data, self.ridge)
        width = self.norm + self.noise / math.sqrt(self.ridge) * math.sqrt(
            2 * math.log(1 / self.delta) + log_det
        )
        upper = mean + width * sd
        capped = [
            upper[c] if parent is None else min(upper[c], upper[parent] + above)
            for _, _, _, c, parent, above in self.leaves
        ]
        return [
            value + leaf[2] for value, leaf in zip(capped, self.leaves, strict=True)
        ], width * sd

    def settle(self):
        while True:
            values, band = self.values()
            best = [k for k, value in enumerate(values) if value >= max(values) - 1e-12]
            ripe = [
                k
                for k in best
                if len(self.leaves[k][0]) > 1 and band[self.leaves[k][3]] <= self.leaves[k][2]
            ]
            if not ripe:
                return
            opened = [self.leaves[k] for k in ripe]
            self.leaves = [leaf for k, leaf in enumerate(self.leaves) if k not in ripe]
            for arms, bounds, spread, centre, _, _ in opened:
                self.leaves += [
                    self.leaf(part, box, centre, spread) for part, box in self.parts(arms, bounds)
                ]

    def parts(self, arms, bounds):
        middle = [(a + b) / 2 for a, b in bounds]
        groups: dict[tuple, list[int]] = {}
        for i in arms:
            groups.setdefault(
                tuple(bool(x >= m) for x, m in zip(self.points[i], middle, strict=True)), []
            ).append(i)
        boxes = {
            key: [
                (m, b) if up else (a, m) for up, m, (a, b) in zip(key, middle, bounds, strict=True)
            ]
            for key in groups
        }
        if len(groups) == 1:
            return self.parts(arms, next(iter(boxes.values())))
        return [(members, boxes[key]) for key, members in groups.items()]


@pytest.mark.parametrize(
    ("kernel", "noise", "ridge"),
    [
        (kb.Matern(0.3), 0.05, 1.0),
        (kb.RBF(0.5), 0.02, 0.3),
        (kb.Matern(0.1, nu=0.5), 0.3, 1.0),
        (kb.RBF(0.3), 1.0, 1.0),
    ],
)
def test_the_adaptive_tree_is_what_its_definition_says(kernel, noise, ridge):
    policy = adaptive(kernel=kernel, noise_scale=noise, ridge=ridge)
    naive = NaiveTree(CLOUD, kernel, noise, D, ridge)
    for t, choice in play(policy, 60):
        expected = np.full(40, -math.inf)
        for leaf, value in zip(naive.leaves, naive.values()[0], strict=True):
            expected[leaf[3]] = value
        np.testing.assert_allclose(policy.index(t), expected, rtol=1e-9)
        assert {c: cube.arms.tolist() for c, cube in policy.leaves.items()} == {
            leaf[3]: sorted(leaf[0]) for leaf in naive.leaves
        }
        assert choice.arm in tied_arms(expected)
        naive.data.append((choice.x, reward_of(choice.x, t)))
        naive.settle()


def test_the_leaves_share_out_the_arms_and_no_two_have_one_centre():
    policy, counts = adaptive(noise_scale=0.02), []
    for _t, _ in play(policy, 100):
        arms = np.concatenate([cube.arms for cube in policy.leaves.values()])
        assert sorted(arms) == list(range(40))
        assert all(centre in cube.arms for centre, cube in policy.leaves.items())
        assert np.isfinite(policy.index(1)).nonzero()[0].tolist() == sorted(policy.leaves)
        counts.append(len(policy.leaves))
    assert (np.diff(counts) >= 0).all()
    assert counts[0] < counts[-1]


def test_asking_never_finds_a_leaf_that_should_have_been_divided():
    policy = adaptive(noise_scale=0.02)
    for t, choice in play(policy, 100):
        band = policy.width(t, policy.posterior.log_det) * policy.posterior.sd[choice.arm]
        cube = policy.leaves[choice.arm]
        spread = D * policy._distances(cube.arms, np.array([choice.arm])).max()
        assert len(cube.arms) == 1 or band > spread


def test_with_a_leaf_for_every_arm_it_is_whitehouse_ucb():
    """Arms that know nothing of each other and little noise: all cells are divided before the first round."""
    kernel, settings = kb.RBF(0.001), {"noise_scale": 0.1, "norm_bound": 1.0}
    policy, base = (
        rule(CLOUD, kernel, **settings) for rule in (kb.policies.AdaptiveTree, kb.WhitehouseUCB)
    )
    assert len(policy.leaves) == 40
    for t in range(1, 200):
        np.testing.assert_allclose(policy.index(t), base.index(t), atol=1e-12)
        choice = policy.ask(t, kb.Streams(1))
        assert base.ask(t, kb.Streams(1)).arm == choice.arm
        for rule in (policy, base):
            rule.tell(rule.choice(choice.arm), abs(reward_of(choice.x, t)))


def test_a_noisy_root_is_played_at_its_centre_until_it_is_known():
    policy = adaptive(noise_scale=5.0)
    (centre,) = policy.leaves
    assert {choice.arm for _, choice in play(policy, 20)} == {centre}


def lowest_margin(factor: float) -> float:
    """The least of I - max f over cells and rounds in which the band holds, V multiplied by the factor.

    f = D (k(., x) - k(., z)) / d_k(x, z) has norm D and strays most between x and z, here random arms.
    """
    kernel, rng, least = kb.Matern(0.3), np.random.default_rng(5), math.inf
    for _ in range(25):
        pair, signs = CLOUD[rng.choice(40, 2, replace=False)], np.array([D, -D])
        f = kernel(CLOUD, pair) @ signs * D / math.sqrt(signs @ kernel(pair, pair) @ signs)
        policy = adaptive(noise_scale=0.01, ridge=0.01)
        for t in range(1, 40):
            choice = policy.ask(t, kb.Streams(0))
            policy.tell(choice, float(f[choice.arm] + 0.01 * rng.normal()))
            p, index = policy.posterior, policy.index(t)
            if (np.abs(f - p.mean) <= policy.width(t, p.log_det) * p.sd).all():
                for centre, cube in policy.leaves.items():
                    value = index[centre] + (factor - 1) * policy._spread[centre]
                    least = min(least, value - f[cube.arms].max())
    return least


@pytest.mark.thorough
def test_the_value_of_a_cell_bounds_f_on_it_whenever_the_band_holds_and_with_half_its_spread_would_not():
    assert lowest_margin(1.0) >= -1e-9
    assert lowest_margin(0.5) < -0.05


def test_the_spread_bounds_how_far_a_function_of_norm_d_strays_from_the_centre():
    """f = D (k(., x) - k(., c)) / d_k(x, c) has norm D and differs by D d_k(x, c): no smaller V would do."""
    policy = adaptive(noise_scale=5.0)
    ((centre, cube),) = policy.leaves.items()
    kernel, strays = kb.Matern(0.3), []
    for arm in cube.arms[cube.arms != centre]:
        pair = CLOUD[[arm, centre]]
        norm = math.sqrt(np.array([1, -1]) @ kernel(pair, pair) @ np.array([1, -1]))
        values = kernel(pair, pair) @ np.array([D, -D]) / norm
        strays.append(values[0] - values[1])
    assert policy._spread[centre] == pytest.approx(max(strays), rel=1e-12)


def test_the_centre_is_the_medoid_and_in_a_large_cell_the_arm_nearest_to_the_mean(monkeypatch):
    gram = kb.Matern(0.3)(CLOUD, CLOUD)
    (medoid,) = adaptive(noise_scale=5.0).leaves
    assert medoid == np.sqrt(2 - 2 * gram).sum(1).argmin()
    monkeypatch.setattr(tree, "LARGEST_MEDOID", 39)
    policy = adaptive(noise_scale=5.0)
    (nearest,) = policy.leaves
    assert nearest == np.linalg.norm(CLOUD - CLOUD.mean(0), axis=1).argmin()
    assert policy._spread[nearest] == pytest.approx(
        D * np.sqrt(2 - 2 * gram[nearest]).max(), rel=1e-12
    )


@pytest.mark.parametrize("d", [2, 5, 33])
def test_identical_points_are_one_arm_with_nothing_to_divide(d, quiet):
    """The rounding of k(x, x) + k(x, x) - 2 k(x, x) is not taken for a distance."""
    points = np.repeat(np.random.default_rng(d).random((2, d)) / math.sqrt(d), (4, 9), axis=0)
    policy = adaptive(points, kb.Linear(), noise_scale=0.001, norm_bound=1.0, ridge=0.01)
    list(play(policy, 200))
    assert sorted(cube.arms.tolist() for cube in policy.leaves.values()) == [
        [0, 1, 2, 3],
        list(range(4, 13)),
    ]
    assert set(policy._spread[sorted(policy.leaves)]) == {0.0}


def test_the_settings_of_the_tree_say_which_width_and_which_cells():
    settings = adaptive(8 * CLOUD).settings
    assert (
        settings["width"]
        == kb.WhitehouseUCB(CLOUD, kb.RBF(0.3), noise_scale=R, norm_bound=D).settings["width"]
    )
    assert "scaled" in settings["cells"]
    assert settings["gain"] == "realised"
