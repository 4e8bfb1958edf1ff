"""One suite for every kernel of the catalogue: a new one is tested without being asked."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from conftest import pairwise, run_command
from kernelbandits.analysis.calculation import Calculation
from kernelbandits.catalogue import CODEC, KERNELS, POLICIES, read_kernel
from kernelbandits.catalogue.values import KERNEL_CLASSES
from kernelbandits.kernels import Eigendecay, Kernel
from kernelbandits.policies.paths import count_normals, draw_waves
from kernelbandits.theory import information_gain, rate_text, sublinear
from kernelbandits.theory.caps import bound_by_traces, extent_of

K = kb.kernels
COMPOSED: dict[type[Kernel], Kernel] = {
    K.Sum: kb.RBF(0.3) + kb.Linear(),
    K.Product: kb.RBF(0.3) * kb.Matern(0.5, nu=1.5),
    K.Scaled: 2.5 * kb.Matern(0.3),
    K.Stretched: K.Stretched(kb.RBF(0.3), 1.5),
    K.Normalised: K.Normalised(K.Polynomial(2)),
    K.On: K.On(kb.RBF(0.3), 0),
    K.AdditiveMatern: K.AdditiveMatern((0.3, 0.5)),
}
"""Kernels that are made of others, or that need to know the number of coordinates."""


@dataclass(frozen=True)
class Silent(Kernel):
    """A kernel that says nothing of itself but its values."""

    def __call__(self, x, z):
        return 1 / (1 + np.square(x[:, None] - z).sum(-1))


@dataclass(frozen=True)
class Cosine(Kernel):
    """A kernel that knows its frequencies, but not its lengthscales."""

    def __call__(self, x, z):
        return np.cos(2 * np.pi * (x[:, None] - z)).prod(-1)

    def frequencies(self, normals):
        return 2 * np.pi * np.sign(normals[1:])


def example_of(cls: type[Kernel]) -> Kernel:
    """A kernel of a class: composed above, or with its defaults and a lengthscale of 0.3."""
    if cls in COMPOSED:
        return COMPOSED[cls]
    kernel = cls()
    return replace(kernel, lengthscale=0.3) if hasattr(kernel, "lengthscale") else kernel


OWN = {cls.__name__: example_of(cls) for cls in KERNEL_CLASSES}
EVERY = OWN | {"Silent": Silent(), "Cosine": Cosine()}
SPELLED = {cls.spelling: example_of(cls) for cls in KERNEL_CLASSES if cls.spelling}
every_kernel = pytest.mark.parametrize("kernel", EVERY.values(), ids=EVERY)
every_own_kernel = pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
every_spelled_kernel = pytest.mark.parametrize("kernel", SPELLED.values(), ids=SPELLED)

BOX = kb.Box((-0.5, 0.0), (1.0, 1.0))
POINTS = np.random.default_rng(0).uniform(BOX.lower, BOX.upper, (12, 2))
OTHERS = np.random.default_rng(1).uniform(BOX.lower, BOX.upper, (9, 2))
ARMS = kb.Arms(POINTS)


def is_refusal(sentence: str) -> bool:
    """Whether an error says in one line who needs what, and what came."""
    return " needs " in sentence and ", got " in sentence and "\n" not in sentence


def spell(value: Any) -> str:
    """A kernel, or an argument of one, as the command line spells it."""
    if isinstance(value, Kernel):
        given = [getattr(value, one.name) for one in fields(value)]
        return f"{value.spelling}({','.join(map(spell, given))})"
    return "/".join(map(spell, value)) if isinstance(value, tuple) else repr(value)


def test_the_suite_covers_the_catalogue():
    assert set(SPELLED) == set(KERNELS)
    assert {"rbf", "matern", "linear", "polynomial", "periodic", "rational-quadratic", "on"} <= {
        *SPELLED
    }


# ---------------------------------------------------------------- values


@every_kernel
def test_a_kernel_is_symmetric_and_positive_semidefinite(kernel):
    matrix = kernel(POINTS, POINTS)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * np.abs(matrix).max()
    np.testing.assert_array_equal(kernel(POINTS, OTHERS), kernel(OTHERS, POINTS).T)


@every_kernel
def test_the_diagonal_is_that_of_the_matrix(kernel):
    found = kernel.diagonal(POINTS)
    np.testing.assert_allclose(found, np.diagonal(kernel(POINTS, POINTS)), rtol=1e-12)
    np.testing.assert_allclose(found, Kernel.diagonal(kernel, POINTS), rtol=1e-12)


@every_kernel
def test_gradients_are_those_of_finite_differences(kernel):
    found = kernel.gradient(POINTS, OTHERS)
    np.testing.assert_allclose(found, Kernel.gradient(kernel, POINTS, OTHERS), atol=1e-7)
    np.testing.assert_allclose(
        kernel.diagonal_gradient(POINTS), Kernel.diagonal_gradient(kernel, POINTS), atol=1e-7
    )
    value, gradient = kernel.value_and_gradient(POINTS, OTHERS)
    np.testing.assert_allclose(value, kernel(POINTS, OTHERS), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gradient, found, rtol=1e-12, atol=1e-14)


@every_own_kernel
def test_a_kernel_is_a_value_that_json_keeps(kernel):
    assert CODEC.decode(json.loads(json.dumps(CODEC.encode(kernel)))) == kernel
    assert hash(kernel) == hash(replace(kernel))


@every_spelled_kernel
def test_a_kernel_can_be_spelled(kernel):
    assert read_kernel(spell(kernel)) == kernel
    named = ",".join(f"{one.name}={spell(getattr(kernel, one.name))}" for one in fields(kernel))
    assert read_kernel(f"{kernel.spelling}:{named}" if named else kernel.spelling) == kernel


# ---------------------------------------------------------------- what others ask


@every_kernel
@pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "arms"])
def test_the_range_of_the_diagonal_holds(kernel, domain):
    inside = np.random.default_rng(2).uniform(BOX.lower, BOX.upper, (500, 2))
    values = kernel.diagonal(inside if domain is BOX else POINTS)
    least, largest = kernel.diagonal_range(extent_of(domain))
    assert least <= values.min() * (1 + 1e-12)
    assert values.max() <= largest * (1 + 1e-12)


def test_the_range_is_unknown_on_a_box_only_where_nothing_is_said():
    extent = extent_of(BOX)
    unknown = {name for name, one in EVERY.items() if math.isinf(one.diagonal_range(extent)[1])}
    assert "Silent" in unknown
    assert not unknown & {"RBF", "Matern", "Periodic", "Linear", "Polynomial", "On", "Sum"}


@every_kernel
@pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "arms"])
def test_no_points_gain_more_than_the_ranks_allow(kernel, domain):
    extent = extent_of(domain)
    blocks, largest = kernel.rank_blocks(extent), kernel.diagonal_range(extent)[1]
    if not math.isfinite(largest):
        assert [block.rank for block in blocks] == [math.inf]
        return
    for ridge in (0.1, 3.0):
        gain = np.linalg.slogdet(np.eye(len(POINTS)) + kernel(POINTS, POINTS) / ridge)[1] / 2
        assert gain <= bound_by_traces(blocks, largest, len(POINTS), ridge)


@every_kernel
@pytest.mark.parametrize("width", [0.02, 0.4, 1.0])
def test_the_feature_changes_along_a_cell_by_no_more_than_is_said(kernel, width):
    extent = extent_of(BOX)
    for coordinate in (0, 1):
        change = kernel.cell_change(extent, coordinate, width)
        along = width * np.eye(2)[coordinate]
        share = (extent.upper - extent.lower - along) / (extent.upper - extent.lower)
        for start in extent.lower + share * (POINTS - extent.lower):
            for t in (0.3, 0.5, 1.0):
                rows = np.array([start + t * along, start, start + along])
                matrix = kernel(rows, rows)
                step = matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]
                weights = np.array([1.0, t - 1, -t])
                bend = weights @ matrix @ weights
                assert math.sqrt(max(step, 0.0)) <= change.step + 1e-7
                assert math.sqrt(max(bend, 0.0)) <= change.bend + 1e-7


@every_kernel
def test_the_mean_cosine_of_the_frequencies_is_the_kernel(kernel):
    terms, m = kernel.spectral_terms(range(2)), 20_000
    if not terms:
        return
    normals = np.random.default_rng(3).standard_normal(count_normals(terms, m))
    frequencies = draw_waves(terms, 2, m, normals).frequencies
    variances = np.repeat([term.variance for term in terms], m) / m
    found = np.cos((POINTS - OTHERS[0]) @ frequencies.T) @ variances
    error = 5 * math.sqrt(sum(term.variance**2 for term in terms) / m)
    np.testing.assert_allclose(found, kernel(POINTS, OTHERS[:1])[:, 0], atol=error)


@every_kernel
def test_lengthscales_are_lengths_and_shrink(kernel):
    lengths = kernel.lengthscales(2)
    np.testing.assert_allclose(kernel.shrink(1.0)(POINTS, OTHERS), kernel(POINTS, OTHERS))
    if lengths is None:
        return
    assert lengths.shape == (2,)
    assert (lengths > 0).all()
    np.testing.assert_allclose(kernel.shrink(2.0).lengthscales(2), lengths / 2)


@every_kernel
def test_the_rate_follows_from_the_decay_or_is_refused(kernel):
    decay = kernel.eigendecay(2)
    if decay is None:
        for ask in (rate_text, lambda *given: sublinear(*given, kb.PointMass(1))):
            with pytest.raises(ValueError) as error:
                ask(kernel, 2)
            assert is_refusal(str(error.value))
        return
    assert 0 <= decay.exponent < 1
    assert Eigendecay.finite_rank() <= decay
    assert decay.smoothness(2) > 0
    assert rate_text(kernel, 2).startswith("O(")


def test_the_decay_of_a_smoothness_has_it():
    for nu in (0.5, 1.5, 2.5):
        for d in (1, 2, 5):
            assert kb.Matern(0.3, nu).eigendecay(d).smoothness(d) == nu
            assert (kb.RBF(0.3) + 2.0 * kb.Matern(0.3, nu)).eigendecay(d).smoothness(d) == nu
            assert (kb.RBF(0.3) * kb.Matern(0.3, nu)).eigendecay(d).smoothness(d) == nu
    assert math.isinf(kb.RBF(0.3).eigendecay(2).smoothness(2))


# ---------------------------------------------------------------- where a kernel is taken


TAKING = [name for name, entry in POLICIES.items() if entry.takes_kernel]


def play(policy: kb.Policy) -> None:
    for t in (1, 2):
        choice = policy.ask(t, kb.Streams(0))
        policy.tell(choice, float(np.sin(5 * np.sum(choice.x))))


def refusal_of(build: Any, name: str, domain: Any, kernel: Kernel) -> str | None:
    """Play a policy; or return why its constructor refuses the kernel on this domain."""
    try:
        policy = build(name, domain, kernel)
    except ValueError as error:
        return str(error)
    play(policy)
    return None


@every_kernel
def test_every_policy_plays_arms_or_refuses_the_kernel_in_a_sentence(kernel, build):
    refusals = {name: refusal_of(build, name, POINTS, kernel) for name in TAKING}
    unclear = {name: text for name, text in refusals.items() if text and not is_refusal(text)}
    assert not unclear


@pairwise(name=TAKING, shown=[*EVERY])
def test_every_policy_plays_a_box_or_refuses_it_in_a_sentence(name, shown, build):
    refusal = refusal_of(build, name, BOX, EVERY[shown])
    assert refusal is None or is_refusal(refusal)


def test_thompson_sampling_and_shrinking_play_a_periodic_kernel_on_a_box(build):
    for name in ("gp-ts", "pims", "evill", "a-gp-ucb", "simple-ucb"):
        play(build(name, BOX, K.Periodic(0.5, 0.4)))


SLOW_ON_BOXES = ("Periodic", "Product")


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        *((name, ARMS) for name in EVERY),
        *(
            pytest.param(name, BOX, marks=pytest.mark.thorough)
            if name in SLOW_ON_BOXES
            else (name, BOX)
            for name in EVERY
        ),
    ],
)
def test_the_theory_has_a_bound_or_says_what_it_needs(name, domain):
    kernel = EVERY[name]
    gain = information_gain(kernel, domain, 20, ridge=0.5)
    assert 0 < gain.lower <= gain.upper < math.inf
    asked = Calculation(kb.Bernoulli(0.5), 20, kernel, domain, "here")
    if domain is BOX and math.isinf(kernel.diagonal_range(extent_of(domain))[1]):
        with pytest.raises(
            ValueError, match=r"a regret bound needs a kernel that bounds k\(x, x\)"
        ):
            _ = asked.bound
        return
    assert 0 < asked.bound.value < math.inf
    assert 0 < asked.bound_as_played.value < math.inf


@pytest.mark.thorough
@every_spelled_kernel
def test_the_theory_command_takes_the_kernel(kernel):
    place = ("--horizon", 10, "--dimension", 1)
    done = run_command("theory", "--law", "bernoulli:0.5", "--kernel", spell(kernel), *place)
    if done.returncode == 0:
        assert "repaired" in done.stdout
    else:
        assert done.stderr.startswith("error: ")
        assert is_refusal(done.stderr.strip())


@pytest.mark.thorough
def test_the_theory_command_says_how_fast_the_bound_of_a_periodic_kernel_grows():
    asked = ("--law", "bernoulli:0.5", "--kernel", "periodic:lengthscale=0.5,period=0.4")
    done = run_command("theory", *asked, "--horizon", 20, "--dimension", 1)
    assert done.returncode == 0, done.stderr
    assert "Sublinear: Periodic(lengthscale=0.5, period=0.4) in dimension 1" in done.stdout


@every_spelled_kernel
@pytest.mark.usefixtures("blank_figures")
def test_a_run_and_a_study_take_the_kernel(kernel, tmp_path):
    size = ("--candidates", 5, "--horizon", 3, "--seeds", 1, "--output", tmp_path / "run")
    rules = ("--policies", "simple-ucb", "--kernel", spell(kernel))
    done = run_command("run", "--problem", "branin", *rules, *size)
    assert done.returncode == 0, done.stderr
    (tmp_path / "rows.csv").write_text("a,b\n0,1\n1,0\n2,3\n")
    place = (tmp_path / "rows.db", "--candidates", tmp_path / "rows.csv", "--target", "yield")
    told = ("--noise-scale", 0.1, "--norm-bound", 1.0)
    rule = ("--policy", "simple-ucb", "--kernel", spell(kernel))
    done = run_command("study", "create", *place, *rule, *told)
    assert done.returncode == 0, done.stderr
    (trial,) = kb.Study.open(tmp_path / "rows.db").ask()
    assert trial.row in range(3)
