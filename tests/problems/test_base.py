from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelbandits.checks import DataNotice
from kernelbandits.domains import Arms
from kernelbandits.problems import GaussianNoise, Instance, RademacherNoise, scale_to_unit
from kernelbandits.problems.base import problem_generator
from kernelbandits.streams import Streams

LINE = Arms([[0.0], [0.5], [1.0]])


def line(values=(1.0, 3.0, 3.0), noise=GaussianNoise(0.0), replicates=None) -> Instance:  # noqa: B008
    return Instance("line", LINE, values, noise, replicates)


def test_the_optimum_is_the_greatest_value_and_the_lowest_of_tied_arms_is_best():
    assert line().optimum == 3.0
    assert line().best == 1
    np.testing.assert_array_equal(line().gaps, [2.0, 0.0, 0.0])


def test_a_pull_is_the_value_plus_the_quantile_of_the_noise():
    instance = line(noise=RademacherNoise(0.25))
    assert [instance.pull(0, 0.2), instance.pull(0, 0.7), instance.pull(2, 0.7)] == [
        0.75,
        1.25,
        3.25,
    ]
    assert type(instance.pull(0, 0.2)) is float


def test_one_arm_is_an_instance():
    instance = Instance("one", Arms([[0.0]]), [-2.0], GaussianNoise(0.1))
    assert (instance.optimum, instance.best, instance.gaps.tolist()) == (-2.0, 0, [0.0])


def test_repeated_arms_are_accepted_with_a_notice():
    with pytest.warns(DataNotice):
        arms = Arms([[0.0], [0.0]])
    assert Instance("twins", arms, [1.0, 1.0], GaussianNoise(0.1)).best == 0


def test_with_replicates_a_pull_is_one_of_them_and_nothing_else():
    instance = line((1.0, 2.0, 6.0), GaussianNoise(9.0), ((1.0,), (1.5, 2.5), (4.0, 6.0, 8.0)))
    assert [instance.pull(2, u) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 1 - 2.0**-53)] == [
        4,
        4,
        6,
        6,
        8,
        8,
    ]
    assert instance.pull(0, 0.99) == 1.0


@given(st.integers(1, 10_000))
def test_the_last_uniform_draws_the_last_replicate(count):
    replicates = tuple(float(i) for i in range(count))
    instance = Instance("x", Arms([[0.0]]), [(count - 1) / 2], GaussianNoise(0.0), (replicates,))
    assert instance.pull(0, 1 - 2.0**-53) == count - 1


@pytest.mark.parametrize(
    "replicates",
    [
        ((1.0,), (2.0,)),
        ((1.0,), (2.0,), ()),
        ((1.0,), (2.0,), (5.0, 6.0)),
        ((1.0,), (2.0,), (math.nan,)),
    ],
)
def test_replicates_that_do_not_belong_to_the_values_are_refused(replicates):
    with pytest.raises(ValueError, match=r"Instance.* needs .*, got"):
        line((1.0, 2.0, 6.0), replicates=replicates)


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.0], [[1.0, 2.0, 3.0]], [], 3.0, [1, math.nan, 2], [1, 2, math.inf], [1, 2, 1e200]],
)
def test_values_that_do_not_fit_the_arms_are_refused(values):
    with pytest.raises(ValueError, match=r"Instance needs .*, got"):
        line(values)


def test_points_without_arms_are_refused():
    with pytest.raises(ValueError, match="Instance needs Arms as domain"):
        Instance("line", np.zeros((3, 1)), np.zeros(3), GaussianNoise(0.0))


@pytest.mark.parametrize("arm", [-1, 3])
def test_an_arm_that_does_not_exist_cannot_be_pulled(arm):
    with pytest.raises(ValueError, match=r"pull needs an arm in 0\.\.2, got"):
        line().pull(arm, 0.5)


def test_an_uniform_out_of_range_draws_no_replicate():
    with pytest.raises(ValueError, match="pull needs a uniform"):
        line((1.0, 2.0, 6.0), replicates=((1.0,), (2.0,), (6.0,))).pull(0, 1.0)


def test_an_instance_keeps_its_own_values():
    values = np.array([1.0, 2.0, 3.0])
    instance = line(values)
    values[0] = 9.0
    assert instance.optimum == 3.0
    with pytest.raises(ValueError, match="read-only"):
        instance.values[0] = 9.0


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=20))
def test_scaled_values_fill_the_unit_interval_and_keep_their_order(values):
    unit = scale_to_unit(values)
    if min(values) == max(values):
        assert not unit.any()
    else:
        assert (unit.min(), unit.max()) == (0.0, 1.0)
        assert (np.diff(unit[np.argsort(values)]) >= 0).all()


def test_scaling_refuses_what_is_no_value():
    with pytest.raises(
        ValueError, match=r"scale_to_unit needs finite values up to 1e\+150, got nan at arm 1"
    ):
        scale_to_unit([0.0, math.nan])


def test_the_numbers_of_a_problem_depend_on_the_seed_only_and_are_not_those_of_a_round():
    streams = Streams(4)
    first = problem_generator(streams).random(1000)
    streams.uniform("problem", 3)
    np.testing.assert_array_equal(first, problem_generator(Streams(4)).random(1000))
    assert not np.isin(first, streams.uniforms("problem", 5000)).any()
    assert not np.isin(first, problem_generator(Streams(5)).random(1000)).any()


@pytest.mark.thorough
def test_importing_the_problems_loads_nothing_slow():
    code = "import sys, kernelbandits.problems; print({'pandas', 'scipy.stats', 'pooch'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
        == "set()"
    )
