from __future__ import annotations

import json

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits import policies
from kernelbandits.catalogue import (
    KERNELS,
    LAWS,
    MOTIONS,
    NOISES,
    POLICIES,
    PROBLEMS,
    from_plain,
    policy_entry,
    shared_settings,
    spelled_kernel,
    spelled_law,
    spelled_noise,
    spelled_policy,
    to_plain,
)
from kernelbandits.catalogue.plain import fingerprint
from kernelbandits.problems import (
    GaussianNoise,
    ParetoNoise,
    RademacherNoise,
    StudentNoise,
    UniformNoise,
)

# ---------------------------------------------------------------- names


def test_every_policy_of_the_package_has_a_name_in_the_catalogue():
    base = (policies.Policy, policies.IndexPolicy)
    rules = {
        item
        for item in vars(policies).values()
        if isinstance(item, type) and issubclass(item, base[0])
    }
    assert rules - set(base) == {entry.constructor for entry in POLICIES.values()}


@pytest.mark.parametrize("name", POLICIES)
def test_an_entry_says_what_is_proved_and_what_is_ours(name):
    entry = POLICIES[name]
    assert entry.name == name
    assert all((entry.title, entry.paper, entry.guarantee, entry.ours))
    assert len({other.title for other in POLICIES.values()}) == len(POLICIES)


@pytest.mark.parametrize("name", POLICIES)
def test_the_settings_of_an_entry_are_those_its_constructor_takes(name, build):
    entry = POLICIES[name]
    assert set(entry.by_name_only) <= set(entry.settings)
    assert "ties" in entry.settings
    assert isinstance(build(name, np.eye(2), kb.Linear()), entry.constructor)


def test_shared_settings_are_those_a_policy_takes_and_no_others():
    shared = {
        "noise_scale": 1.0,
        "norm_bound": 2.0,
        "horizon": 10,
        "delta": 0.2,
        "ridge": None,
        "colour": "red",
    }
    assert shared_settings(policy_entry("igp-ucb"), shared) == {
        "noise_scale": 1.0,
        "norm_bound": 2.0,
        "horizon": 10,
        "delta": 0.2,
    }
    assert shared_settings(policy_entry("greedy"), shared) == {}


def test_the_papers_delta_is_not_overruled_by_a_shared_one():
    for name in (
        "generic-gp",
        "simple-ucb",
        "simple-bernoulli",
        "simple-gaussian",
        "simple-categorical",
    ):
        assert "delta" not in shared_settings(policy_entry(name), {"delta": 0.1})


def test_a_policy_by_name_is_the_policy_by_constructor():
    by_name = kb.policy(
        "simple-bernoulli", np.eye(3), kb.Linear(), p=0.25, noise_scale=1.0, norm_bound=2.0
    )
    by_class = kb.SimpleBernoulli(np.eye(3), kb.Linear(), p=0.25, noise_scale=1.0, norm_bound=2.0)
    assert type(by_name) is type(by_class)
    assert by_name.settings == by_class.settings
    generic = kb.policy(
        "generic-gp", np.eye(3), kb.Linear(), kb.Gaussian(), noise_scale=1.0, norm_bound=2.0
    )
    named = kb.policy(
        "generic-gp",
        np.eye(3),
        kb.Linear(),
        exploration=kb.Gaussian(),
        noise_scale=1.0,
        norm_bound=2.0,
    )
    assert generic.settings == named.settings


@pytest.mark.parametrize("name", ["ucb", "", "Simple-UCB", "simple_ucb"])
def test_an_unknown_policy_is_refused_with_the_known_ones(name):
    with pytest.raises(
        ValueError, match=f"policy needs one of generic-gp, simple-ucb, .*got '{name}'"
    ):
        kb.policy(name, np.eye(2), kb.Linear())


@pytest.mark.parametrize(
    ("name", "setting"), [("simple-ucb", "p"), ("greedy", "delta"), ("simple-ucb", "exploration")]
)
def test_a_setting_a_policy_does_not_take_is_refused_with_those_it_takes(name, setting):
    with pytest.raises(ValueError, match=f"{name} needs settings among .*got '{setting}'"):
        kb.policy(name, np.eye(2), kb.Linear(), noise_scale=1.0, norm_bound=1.0, **{setting: 0.5})


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in PROBLEMS
        if name not in ("rkhs", "gp", "perovskite", "csv", "lower-bound", "drifting")
    ],
)
def test_a_problem_by_name_has_that_name_and_an_instance(name):
    problem = kb.problem(name, candidates=7)
    instance = problem.instance(kb.Streams(0))
    assert problem.name == name
    assert len(instance.domain) == 7
    assert instance.domain.dimension == problem.dimension
    assert PROBLEMS[name].source


def test_an_unknown_problem_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"problem needs one of .*branin.*, got 'brainin'"):
        kb.problem("brainin")


# ---------------------------------------------------------------- plain values

VALUES = [
    kb.RBF(0.2),
    kb.RBF((0.1, 0.2)),
    kb.Matern(0.3, nu=1.5),
    kb.kernels.RationalQuadratic(0.3, alpha=2.0),
    kb.Linear(),
    kb.kernels.Polynomial(3, offset=0.5),
    0.5 * kb.RBF(0.2) + kb.Linear() * kb.Matern(1.0),
    kb.kernels.Normalised(kb.kernels.Polynomial(2)),
    kb.PointMass(0.5),
    kb.Bernoulli(0.25),
    kb.Categorical((0.25, 0.25, 0.5)),
    kb.Categorical((0.25, 0.75), support=(2.0, -1.0)),
    kb.Gaussian(0.1, 2.0),
    kb.Mixture((0.5, 0.5), (kb.PointMass(1.0), kb.Gaussian())),
    kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 500),
    kb.Decay(0.9, 0.3, 0.1),
    kb.Certainty(0.6, 0.1),
    GaussianNoise(0.01),
    RademacherNoise(1.0),
    UniformNoise(0.5),
    StudentNoise(0.1, 3.0),
    ParetoNoise(0.1, 3.0),
    kb.problem("hartmann6", candidates=9),
    kb.problem("ackley4", noise=RademacherNoise(0.1), scale=False),
    kb.problem("rkhs", kernel=kb.RBF(0.2), dimension=2),
    None,
    True,
    3,
    0.25,
    "text",
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_survives_the_way_through_a_file(value):
    plain = to_plain(value)
    again = from_plain(json.loads(json.dumps(plain)))
    assert again == value or repr(again) == repr(value)
    assert fingerprint(to_plain(again)) == fingerprint(plain)


def test_different_values_have_different_fingerprints():
    prints = [fingerprint(to_plain(value)) for value in VALUES]
    assert len(set(prints)) == len(prints)


def test_a_fingerprint_depends_on_content_and_not_on_order():
    assert fingerprint({"a": 1, "b": [1.5, None]}) == fingerprint({"b": [1.5, None], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert to_plain(np.float64(0.5)) == 0.5
    assert to_plain(np.arange(3)) != to_plain(np.arange(3) + 1)


@pytest.mark.parametrize(
    "plain", [{"kind": "os.system"}, {"kind": "object", "repr": "f"}, {"lengthscale": 1.0}]
)
def test_only_kinds_of_the_catalogue_can_be_rebuilt(plain):
    with pytest.raises(ValueError, match="needs a kind among RBF"):
        from_plain(plain)


def test_a_plain_value_is_checked_like_any_other():
    with pytest.raises(ValueError, match="RBF needs lengthscale > 0, got -1"):
        from_plain({"kind": "RBF", "lengthscale": -1})


# ---------------------------------------------------------------- the words of a command line

SPELLED_KERNELS = {
    "rbf:0.2": kb.RBF(0.2),
    "rbf": kb.RBF(),
    "rbf:0.1/0.2": kb.RBF((0.1, 0.2)),
    "matern:lengthscale=0.3,nu=1.5": kb.Matern(0.3, nu=1.5),
    "matern:0.3": kb.Matern(0.3),
    "linear": kb.Linear(),
    "polynomial:3,offset=0.5": kb.kernels.Polynomial(3, offset=0.5),
    "rational-quadratic:0.3,2": kb.kernels.RationalQuadratic(0.3, alpha=2),
    "0.5*rbf:0.2+0.5*linear": 0.5 * kb.RBF(0.2) + 0.5 * kb.Linear(),
    "rbf:0.2*0.5": 0.5 * kb.RBF(0.2),
    "rbf:1 * matern:2": kb.RBF(1.0) * kb.Matern(2.0),
}


@pytest.mark.parametrize("text", SPELLED_KERNELS)
def test_a_spelled_kernel_is_the_kernel(text):
    assert spelled_kernel(text) == SPELLED_KERNELS[text]


@pytest.mark.parametrize(
    "text",
    ["", "rb", "rbf:-1", "rbf:a", "rbf:1,2,3", "rbf:width=2", "0.5", "2*3", "rbf+0.5", "-1*rbf"],
)
def test_a_misspelled_kernel_is_refused(text):
    with pytest.raises(ValueError, match="needs"):
        spelled_kernel(text)


SPELLED_LAWS = {
    "bernoulli:0.5": kb.Bernoulli(0.5),
    "bernoulli:p=0.5": kb.Bernoulli(0.5),
    "gaussian": kb.Gaussian(),
    "gaussian:0.5,2": kb.Gaussian(0.5, 2),
    "gaussian(0.5,2)": kb.Gaussian(0.5, 2),
    "categorical:0.25/0.75": kb.Categorical((0.25, 0.75)),
    "point-mass:1": kb.PointMass(1),
    "step:bernoulli(0.5),bernoulli(0.25),500": kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 500),
    "decay:first=0.9,floor=0.1": kb.Decay(first=0.9, floor=0.1),
    "certainty:0.6": kb.Certainty(0.6),
}


@pytest.mark.parametrize("text", SPELLED_LAWS)
def test_a_spelled_law_is_the_law(text):
    assert spelled_law(text) == SPELLED_LAWS[text]


@pytest.mark.parametrize(
    "text", ["", "bernouli:0.5", "bernoulli", "bernoulli:2", "bernoulli:nan", "gaussian:1,2,3"]
)
def test_a_misspelled_law_is_refused(text):
    with pytest.raises(ValueError, match="needs"):
        spelled_law(text)


def test_a_spelled_policy_is_its_name_and_settings():
    assert spelled_policy("simple-ucb") == ("simple-ucb", {})
    assert spelled_policy("simple-bernoulli:p=0.25") == ("simple-bernoulli", {"p": 0.25})
    name, settings = spelled_policy("generic-gp:exploration=gaussian(0.5,1),noise-scale=2")
    assert (name, settings) == (
        "generic-gp",
        {"exploration": kb.Gaussian(0.5, 1), "noise_scale": 2},
    )
    for bad in ("ucb", "simple-ucb:3"):
        with pytest.raises(ValueError, match="need"):
            spelled_policy(bad)


def test_a_spelled_noise_is_the_noise():
    assert spelled_noise("gaussian:0.01") == GaussianNoise(0.01)
    assert spelled_noise("student:scale=0.1,df=3") == StudentNoise(0.1, 3)
    assert spelled_noise("pareto:0.1,3") == ParetoNoise(0.1, 3)
    for bad in ("cauchy:1", "gaussian", "gaussian:-1", "gaussian:1_000", "gaussian:inf"):
        with pytest.raises(ValueError, match="needs"):
            spelled_noise(bad)


def test_every_name_of_the_tables_stands_for_something():
    for table in (KERNELS, LAWS, MOTIONS, NOISES):
        assert all(callable(constructor) for constructor in table.values())


def test_the_ridge_of_pi_gp_ucb_is_its_own():
    assert "ridge" not in shared_settings(policy_entry("pi-gp-ucb"), {"ridge": 0.5})
