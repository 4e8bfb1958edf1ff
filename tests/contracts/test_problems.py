"""One suite for every problem of the catalogue: a new one is tested without being asked."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import PROBLEMS, identify, read_problem
from kernelbandits.catalogue.problems import named_function
from kernelbandits.problems import DataUnavailable

ROWS = "a,b,y\n0,1,2\n1,0,3\n1,0,4\n2,3,1\n0,3,2\n"
SETTINGS = {
    "rkhs": "kernel=rbf(0.2),dimension=2,candidates=9",
    "gp": "kernel=rbf(0.2),dimension=2,candidates=9",
    "csv": "path=rows.csv,columns=a/b,target=y",
    "lower-bound": "d=3,horizon=2000",
    "misspecified": "problem=branin(candidates=9),error=0.1",
    "heteroscedastic": "problem=branin(candidates=9),ratio=10",
    "drifting": "problem=branin(candidates=9),motion=turning(50)",
    "delayed": "problem=branin(candidates=9),delay=3",
    "true-optimum": "problem=branin(candidates=9)",
    "box": "problem=branin",
    "contextual": "problem=branin(candidates=9),size=1",
}
"""What a problem must be told; a new problem either needs nothing or takes `candidates`."""
SAME_FOR_ALL_SEEDS = {"csv", "perovskite", "lower-bound", "box"}
"""Those with nothing random but the noise."""

every_problem = pytest.mark.parametrize("name", PROBLEMS)


def spell(name: str) -> str:
    """A small problem as the command line spells it."""
    if name in SETTINGS:
        return f"{name}:{SETTINGS[name]}"
    return f"{name}:candidates=9" if named_function(name) else name


@pytest.fixture
def problem(name, tmp_path, monkeypatch):
    Path(tmp_path, "rows.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    try:
        return read_problem(spell(name))
    except DataUnavailable as missing:
        pytest.skip(str(missing))


def numbers(instance) -> list[int]:
    """What may be pulled: every arm, or nine points of a box."""
    if isinstance(instance.domain, kb.Box):
        points = instance.domain.cover(9).points
        return [instance.number(kb.Choice(point)) for point in points]
    return list(range(len(instance.values)))


def points_of(instance):
    domain = instance.domain
    if isinstance(domain, kb.Box):
        return domain.cover(9).points
    return (domain.domain if isinstance(domain, kb.Contextual) else domain).points


def contents(instance, last: int = 4) -> list[float]:
    """All that an instance holds in its first rounds, as numbers."""
    arms = numbers(instance)
    pulls = [instance.pull(arm, 0.3, t) for t in range(1, last + 1) for arm in arms]
    regrets = [instance.regrets([arm] * last) for arm in arms]
    return np.concatenate([points_of(instance).ravel(), pulls, np.ravel(regrets)]).tolist()


@every_problem
def test_a_problem_says_what_it_is_and_where_it_comes_from(name, problem):
    texts = (problem.name, problem.title, problem.description, PROBLEMS[name].source)
    assert all(text.strip() == text != "" for text in texts)
    assert " " in problem.description
    assert np.isfinite(problem.noise.draw(0.5))


@every_problem
def test_an_instance_has_arms_of_the_stated_dimension_and_a_best_one(problem):
    instance = problem.instance(kb.Streams(0))
    assert instance.name == problem.name
    assert instance.domain.dimension == problem.dimension
    assert np.isfinite(instance.values).all()
    best = instance.values.max()
    assert instance.optimum == (best if instance.reference is None else instance.reference)
    assert instance.optimum >= best == instance.values[instance.best]
    np.testing.assert_allclose(instance.gaps, instance.optimum - instance.values)
    for arm in numbers(instance):
        regrets = instance.regrets([arm] * 4)
        assert (regrets >= 0).all()
        assert regrets[0] == pytest.approx(instance.gaps[arm], abs=1e-12)
        assert all(np.isfinite(instance.pull(arm, u)) for u in (0.0, 0.5, 1 - 2.0**-53))


@every_problem
def test_equal_seeds_give_equal_instances_and_other_seeds_others(name, problem):
    again, used = kb.Streams(3), kb.Streams(3)
    used.uniform("noise", 7)
    first = contents(problem.instance(again))
    assert first == contents(problem.instance(used)) == contents(problem.instance(again))
    assert (contents(problem.instance(kb.Streams(4))) == first) == (name in SAME_FOR_ALL_SEEDS)


@every_problem
def test_a_problem_is_known_by_what_it_is_made_of_in_files_and_other_processes(name, problem):
    plain = identify(problem)
    assert plain == json.loads(json.dumps(plain))
    assert identify(pickle.loads(pickle.dumps(problem))) == plain
    assert identify(read_problem(spell(name))) == plain


@every_problem
def test_a_problem_is_played_and_no_round_gains_on_the_best_arm(problem):
    instance = problem.instance(kb.Streams(1))
    policy = kb.policies.UniformRandom(instance.domain, kb.RBF(0.3))
    game = kb.play(policy, instance, 6, kb.Streams(1))
    assert len(game.arms) == 6
    assert (instance.regrets(game.arms) >= 0).all()
