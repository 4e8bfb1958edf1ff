"""Problems in motion: f_t for every round, regret against the best of it."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import (
    CODEC,
    MOTIONS,
    fingerprint,
    identify,
    read_motion,
    read_problem,
)
from kernelbandits.experiment import Contender, play_cell
from kernelbandits.experiment.cells import Cell
from kernelbandits.experiment.engines import find_loop, play, rounds
from kernelbandits.experiment.runner import run_experiment
from kernelbandits.problems import (
    Drifting,
    GaussianNoise,
    Instance,
    Jumps,
    Markov,
    MovingInstance,
    RademacherNoise,
    TableProblem,
    Turning,
)

BRANIN = kb.problem("branin", candidates=15, noise=RademacherNoise(0.25))
ALL = [Markov(0.1), Turning(40), Jumps(7)]
every_motion = pytest.mark.parametrize("motion", ALL, ids=lambda motion: motion.name)


def table(instance: MovingInstance, horizon: int) -> np.ndarray:
    return np.array([instance.at(t) for t in range(1, horizon + 1)])


def line(rows, noise=GaussianNoise(0.0), replicates=None) -> MovingInstance:  # noqa: B008
    arms = kb.Arms(np.arange(float(len(rows[0])))[:, None])
    return MovingInstance(
        "line", arms, rows[0], noise, replicates, path=iter(np.array(rows[1:], dtype=float))
    )


# ---------------------------------------------------------------- moving instances


def test_regret_is_against_the_best_arm_of_each_round():
    instance = line([[1.0, 3.0], [4.0, 2.0], [0.0, 0.0], [-1.0, 5.0]])
    np.testing.assert_array_equal(instance.regrets([0, 0, 1, 0]), [2.0, 0.0, 0.0, 6.0])
    np.testing.assert_array_equal(instance.regrets(np.array([1, 1], dtype=np.int32)), [0.0, 2.0])
    assert instance.regrets([]).shape == (0,)


def test_what_an_instance_says_of_itself_is_said_of_the_first_round():
    instance = line([[1.0, 3.0], [4.0, 2.0]])
    instance.at(2)
    assert (instance.optimum, instance.best, instance.gaps.tolist()) == (3.0, 1, [2.0, 0.0])
    np.testing.assert_array_equal(instance.at(1), instance.values)


def test_a_pull_has_the_noise_of_the_problem_and_the_function_of_the_round():
    instance = line([[1.0, 3.0], [4.0, 2.0]], RademacherNoise(0.25))
    assert [instance.pull(0, 0.2), instance.pull(0, 0.7, 2), instance.pull(1, 0.2, 2)] == [
        0.75,
        4.25,
        1.75,
    ]


def test_replicates_move_with_their_arm():
    instance = line([[1.0, 3.0], [4.0, 2.0]], replicates=((1.0,), (2.0, 4.0)))
    assert [instance.pull(1, 0.2), instance.pull(1, 0.7, 2), instance.pull(0, 0.7, 2)] == [
        2.0,
        3.0,
        4.0,
    ]


def test_a_round_that_is_none_or_has_no_function_is_refused():
    instance = line([[1.0, 3.0], [4.0, 2.0]])
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="MovingInstance needs a whole number round >= 1, got"):
            instance.at(bad)
    with pytest.raises(ValueError, match="MovingInstance needs f_t up to round 4, got '2 rounds'"):
        instance.at(4)
    with pytest.raises(ValueError, match="needs one value for each of 2 arms, got 3"):
        line([[1.0, 2.0], [1.0, 2.0, 3.0]]).at(2)


def test_an_instance_at_rest_answers_for_every_round():
    instance = Instance("rest", kb.Arms([[0.0], [1.0]]), [1.0, 3.0], GaussianNoise(0.0))
    np.testing.assert_array_equal(instance.regrets([0, 1, 0]), [2.0, 0.0, 2.0])
    assert instance.pull(0, 0.5, 17) == instance.pull(0, 0.5) == 1.0


# ---------------------------------------------------------------- the motions


@every_motion
def test_the_first_function_is_that_of_the_problem(motion):
    instance, still = (
        Drifting(BRANIN, motion).instance(kb.Streams(3)),
        BRANIN.instance(kb.Streams(3)),
    )
    np.testing.assert_array_equal(instance.at(1), still.values)
    np.testing.assert_array_equal(instance.domain.points, still.domain.points)
    assert instance.noise == still.noise == Drifting(BRANIN, motion).noise


@every_motion
def test_equal_seeds_give_equal_worlds_in_whatever_order_they_are_asked_for(motion):
    problem = Drifting(BRANIN, motion)
    long = table(problem.instance(kb.Streams(3)), 90)
    streams = kb.Streams(3)
    streams.normal("problem", 70, 15)
    again = problem.instance(streams)
    np.testing.assert_array_equal(again.at(50), long[49])
    np.testing.assert_array_equal(table(again, 20), long[:20])
    assert np.abs(table(problem.instance(kb.Streams(4)), 90) - long).max(1).min() > 0


@pytest.mark.thorough
@every_motion
def test_the_scale_of_the_function_stays(motion):
    """Mean over the arms and variance around c, averaged over seeds, within 4 standard errors of those of f_1."""
    shares = []
    for seed in range(150):
        instance = Drifting(kb.problem("branin", candidates=15), motion).instance(kb.Streams(seed))
        centre, spread = instance.values.mean(), instance.values.std()
        shares.append([(((instance.at(t) - centre) / spread) ** 2).mean() for t in (1, 11, 36)])
    mean, error = np.mean(shares, 0), np.std(shares, 0) / math.sqrt(150)
    assert mean[0] == pytest.approx(1.0)
    assert (np.abs(mean[1:] - 1) < 4 * error[1:]).all()


def test_a_markov_chain_by_hand():
    instance, streams = (
        Drifting(BRANIN, Markov(0.1, kb.RBF(0.3))).instance(kb.Streams(5)),
        kb.Streams(5),
    )
    f, x = instance.values, instance.domain.points
    centre, spread = f.mean(), f.std()
    values, vectors = np.linalg.eigh(kb.RBF(0.3)(x, x))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    for t in range(2, 12):
        fresh = root @ streams.normal("problem", t, 15)
        f = centre + math.sqrt(0.9) * (f - centre) + math.sqrt(0.1) * spread * fresh
        np.testing.assert_allclose(instance.at(t), f, atol=1e-6)


def test_new_functions_have_the_covariance_of_the_kernel():
    kernel, arms = kb.RBF(0.5), kb.Arms(np.linspace(0, 1, 4)[:, None])
    still = TableProblem(
        "t", "T", ("x",), "y", Instance("t", arms, [0.0, 1.0, 2.0, 5.0], GaussianNoise(0.1))
    )
    instance = Drifting(still, Jumps(1, kernel)).instance(kb.Streams(0))
    drawn = (table(instance, 4001)[1:] - 2.0) / np.std([0.0, 1.0, 2.0, 5.0])
    error = 4 * math.sqrt(2 / 4000)
    np.testing.assert_allclose(drawn.T @ drawn / 4000, kernel(arms.points, arms.points), atol=error)


def test_the_memory_of_a_markov_chain_fades_by_the_root_of_its_rate():
    rate, lag = 0.2, 3
    instance = Drifting(kb.problem("branin", candidates=30), Markov(rate, kb.RBF(0.05))).instance(
        kb.Streams(1)
    )
    f = (table(instance, 4000)[10:] - instance.values.mean()) / instance.values.std()
    correlation = (f[lag:] * f[:-lag]).mean() / (f**2).mean()
    assert correlation == pytest.approx((1 - rate) ** (lag / 2), abs=0.02)


def test_without_drift_nothing_moves_and_at_rate_1_nothing_is_left():
    still = Drifting(BRANIN, Markov(0.0)).instance(kb.Streams(0))
    np.testing.assert_array_equal(table(still, 30), np.tile(still.values, (30, 1)))
    gone = Drifting(BRANIN, Markov(1.0)).instance(kb.Streams(0))
    jumping = Drifting(BRANIN, Jumps(1)).instance(kb.Streams(0))
    np.testing.assert_allclose(table(gone, 5), table(jumping, 5), atol=1e-12)


def test_a_turning_function_comes_back_and_its_variation_is_bounded():
    instance = Drifting(BRANIN, Turning(40)).instance(kb.Streams(2))
    f = table(instance, 81)
    np.testing.assert_allclose(f[40:], f[:41], atol=1e-12)
    centre = f[0].mean()
    np.testing.assert_allclose(f[20] - centre, centre - f[0], atol=1e-12)
    np.testing.assert_allclose(
        f[5] - centre, math.sqrt(0.5) * (f[0] + f[10] - 2 * centre), atol=1e-12
    )
    radius = np.hypot(f[0] - centre, f[10] - centre).max()
    variation = sum(np.abs(b - a).max() for a, b in pairwise(f))
    assert 0 < variation <= 80 * 2 * math.pi / 40 * radius


def test_jumps_come_every_period_and_only_then():
    instance = Drifting(BRANIN, Jumps(7)).instance(kb.Streams(2))
    moved = [float(np.abs(b - a).max()) > 0 for a, b in pairwise(table(instance, 30))]
    assert [t for t, jump in enumerate(moved, start=2) if jump] == [8, 15, 22, 29]


def test_a_constant_function_or_a_single_arm_stays_as_it_is():
    for values in ([2.0, 2.0], [2.0]):
        arms = kb.Arms(np.arange(float(len(values)))[:, None])
        still = TableProblem("t", "T", ("x",), "y", Instance("t", arms, values, GaussianNoise(0.1)))
        assert not np.ptp(table(Drifting(still).instance(kb.Streams(0)), 5))


# ---------------------------------------------------------------- in an experiment


def moving_cell(name: str = "gp-ucb", motion=ALL[0], horizon: int = 25) -> Cell:
    return Cell(
        Drifting(BRANIN, motion),
        Contender("X", name, {"noise_scale": 0.3}),
        kb.RBF(0.2),
        horizon,
        (0, 1),
    )


@every_motion
def test_the_regret_of_a_cell_is_that_of_its_arms_round_by_round(motion):
    cell = moving_cell(motion=motion)
    result = play_cell(cell)
    for row, seed in enumerate(cell.seeds):
        f = table(cell.problem.instance(kb.Streams(seed)), 25)
        lost = [f[t].max() - f[t, arm] for t, arm in enumerate(result.arms[row])]
        np.testing.assert_allclose(result.regret[row], np.cumsum(lost), atol=1e-12)


def test_the_simple_regret_of_a_cell_is_that_of_the_recommended_arm_in_the_same_round():
    streams = kb.Streams(0)
    instance = moving_cell().problem.instance(streams)
    policy = kb.GPUCB(instance.domain, kb.RBF(0.2), noise_scale=0.3)
    gaps = [
        np.ptp([instance.at(r.t).max(), instance.at(r.t)[policy.recommend()]])
        for r in rounds(policy, instance, 25, streams)
    ]
    np.testing.assert_allclose(play_cell(moving_cell()).simple[0], gaps, atol=1e-12)


def test_the_rewards_of_a_game_are_those_of_its_rounds():
    instance, streams = Drifting(BRANIN, Jumps(3)).instance(kb.Streams(1)), kb.Streams(1)
    policy = kb.GPUCB(instance.domain, kb.RBF(0.2), noise_scale=0.3)
    for t, choice, reward in rounds(policy, instance, 12, streams):
        assert abs(reward - instance.at(t)[choice.arm]) == pytest.approx(0.25)


def test_a_moving_world_is_played_by_the_python_engine():
    instance = Drifting(BRANIN).instance(kb.Streams(0))
    policy = kb.GPUCB(instance.domain, kb.RBF(0.2), noise_scale=0.3)
    assert find_loop(policy, BRANIN.instance(kb.Streams(0))) is not None
    assert find_loop(policy, instance) is None
    assert play(policy, instance, 5, kb.Streams(0)).engine == "numpy"


def test_a_drifting_experiment_is_resumed_from_its_cells(tmp_path):
    names = [
        "drifting:problem=branin,motion=markov(0.05)",
        "drifting:problem=branin(candidates=9),motion=jumps(5)",
    ]
    policies = ["gp-ucb", "tv-gp-ucb", "r-gp-ucb"]
    first = run_experiment(names, policies, horizon=15, seeds=2, noise_scale=0.3, folder=tmp_path)
    played = []

    def counting(work, cells):
        played.extend(cells)
        return map(work, cells)

    again = run_experiment(
        names, policies, horizon=15, seeds=2, noise_scale=0.3, folder=tmp_path, mapper=counting
    )
    assert not played
    for cell in first.cells:
        np.testing.assert_array_equal(first[cell.name].regret, again[cell.name].regret)
    assert len({cell.key for cell in first.cells}) == 6


# ---------------------------------------------------------------- names and words


def test_a_problem_in_motion_says_so():
    problem = Drifting(BRANIN, Markov(0.05))
    assert problem.name == "branin-markov-0.05"
    assert problem.title == "Branin (d = 2), drifting at rate 0.05"
    assert problem.description.startswith(BRANIN.description)
    assert "regret against the best of each round" in problem.description
    assert problem.dimension == 2
    for motion in ALL:
        assert (
            Drifting(BRANIN, motion).instance(kb.Streams(0)).name == Drifting(BRANIN, motion).name
        )
    assert len({Drifting(BRANIN, motion).name for motion in ALL}) == 3


VALUES = [
    *ALL,
    Markov(0.1, kb.Matern(0.3)),
    Drifting(BRANIN),
    *(Drifting(BRANIN, motion) for motion in ALL),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_motion_survives_the_way_through_a_file(value):
    again = CODEC.decode(json.loads(json.dumps(CODEC.encode(value))))
    assert again == value
    assert fingerprint(CODEC.encode(again)) == fingerprint(CODEC.encode(value))


def test_different_motions_have_different_fingerprints():
    assert len({fingerprint(CODEC.encode(value)) for value in VALUES}) == len(VALUES)
    table_ = TableProblem(
        "t",
        "T",
        ("x",),
        "y",
        Instance("t", kb.Arms([[0.0], [1.0]]), [1.0, 2.0], GaussianNoise(0.1)),
    )
    assert identify(Drifting(table_))["problem"] == identify(table_)


SPELLED = {
    "drifting:problem=branin": Drifting(kb.problem("branin")),
    "drifting:problem=hartmann6,motion=markov(0.02)": Drifting(
        kb.problem("hartmann6"), Markov(0.02)
    ),
    "drifting:problem=branin(candidates=9,scale=false),motion=turning(300)": Drifting(
        kb.problem("branin", candidates=9, scale=False), Turning(300)
    ),
    "drifting:problem=levy3,motion=jumps(period=50,kernel=matern(0.3,1.5))": Drifting(
        kb.problem("levy3"), Jumps(50, kb.Matern(0.3, 1.5))
    ),
    "drifting:problem=rkhs(kernel=rbf(0.3),dimension=2),motion=markov": Drifting(
        kb.problem("rkhs", kernel=kb.RBF(0.3), dimension=2)
    ),
}


@pytest.mark.parametrize("text", SPELLED)
def test_a_spelled_problem_in_motion_is_the_problem(text):
    assert read_problem(text) == SPELLED[text]


def test_what_all_problems_are_given_goes_to_the_problem_that_moves():
    noise = GaussianNoise(0.3)
    given = read_problem("drifting:problem=branin,motion=jumps(9)", candidates=7, noise=noise)
    assert given == Drifting(kb.problem("branin", candidates=7, noise=noise), Jumps(9))
    own = read_problem("drifting:problem=branin(candidates=5)", candidates=7, noise=None)
    assert own == Drifting(kb.problem("branin", candidates=5))


@pytest.mark.parametrize(
    "text",
    [
        "drifting",
        "drifting:motion=markov(0.1)",
        "drifting:problem=brainin",
        "drifting:problem=branin,motion=walk(3)",
        "drifting:problem=branin,motion=markov(2)",
        "drifting:problem=branin,motion=jumps(1.5)",
        "drifting:problem=branin,speed=3",
        "drifting:problem=drifting(problem=branin)",
        "branin:motion=markov(0.1)",
    ],
)
def test_a_misspelled_motion_is_refused(text):
    with pytest.raises(ValueError, match=r"needs|is called|has no setting"):
        read_problem(text)


def test_every_motion_has_a_name():
    assert {read_motion(name) for name in MOTIONS} == {Markov(), Turning(), Jumps()}


@pytest.mark.parametrize(
    ("act", "needed"),
    [
        (lambda: Markov(-0.1), r"Markov needs a probability rate in \[0, 1\], got -0.1"),
        (lambda: Markov(math.nan), "Markov needs a probability rate"),
        (lambda: Turning(0.0), "Turning needs period > 0, got 0.0"),
        (lambda: Jumps(0), "Jumps needs a whole number period >= 1, got 0"),
        (lambda: Jumps(3, "rbf"), "needs"),
        (lambda: Drifting("branin"), "Drifting needs a problem at rest, got 'branin'"),
        (lambda: Drifting(Drifting(BRANIN)), "Drifting needs a problem at rest, got"),
        (lambda: Drifting(BRANIN, 0.1), "Drifting needs a motion, got 0.1"),
    ],
)
def test_what_is_no_motion_is_refused(act, needed):
    with pytest.raises(ValueError, match=needed):
        act()


def test_too_many_arms_do_not_move():
    problem = Drifting(kb.problem("branin", candidates=2001))
    with pytest.raises(ValueError, match="Drifting needs at most 2000 arms, got '2001 arms'"):
        problem.instance(kb.Streams(0))
