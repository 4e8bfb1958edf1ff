from __future__ import annotations

import json
import re

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits import policies
from kernelbandits.catalogue import (
    CODEC,
    KERNELS,
    LAWS,
    MOTIONS,
    NOISES,
    POLICIES,
    fingerprint,
    identify,
    policy_entry,
    read_kernel,
    read_law,
    read_motion,
    read_noise,
    read_policy,
    read_problem,
    shared_settings,
)
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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("simple-ucd", "simple-ucb"),
        ("Simple-UCB", "simple-ucb"),
        ("simple_ucb", "simple-ucb"),
        ("SimpleUCB", "simple-ucb"),
        ("simple-bernouli", "simple-bernoulli"),
    ],
)
def test_a_mistyped_policy_is_answered_with_the_one_that_was_meant(name, meant):
    sentence = (
        f"No policy is called '{name}'. Did you mean '{meant}'? "
        "`kernelbandits list policies` shows all."
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kb.policy(name, np.eye(2), kb.Linear())


@pytest.mark.parametrize("name", ["", "frobnicate"])
def test_a_name_like_no_other_gets_no_proposal(name):
    with pytest.raises(ValueError, match=f"No policy is called '{name}'. `kernelbandits list"):
        kb.policy(name, np.eye(2), kb.Linear())


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: kb.problem("brannin"), "No problem is called 'brannin'. Did you mean 'branin'?"),
        (lambda: kb.problem("levi4"), "No problem is called 'levi4'. Did you mean 'levy4'?"),
        (lambda: read_kernel("mattern:0.3"), "No kernel is called 'mattern'. Did you mean 'matern'?"),
        (lambda: read_law("bernouli:1"), "No exploration law is called 'bernouli'. Did you mean"),
        (lambda: read_noise("gausian:1"), "No noise is called 'gausian'. Did you mean 'gaussian'?"),
        (lambda: read_motion("jump:3"), "No motion is called 'jump'. Did you mean 'jumps'? There are"),
        (lambda: kb.problem("branin", candidate=3), "has no setting 'candidate'. Did you mean 'candidates'?"),
        (lambda: read_kernel("rbf:lengtscale=2"), "rbf has no setting 'lengtscale'. Did you mean 'lengthscale'?"),
    ],
)  # fmt: skip
def test_every_kind_of_name_is_answered_alike(build, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        build()


def test_a_missing_setting_is_named_for_the_policy_that_was_asked_for_with_an_example():
    with pytest.raises(ValueError) as caught:
        kb.policy("simple-ucb", np.eye(2), kb.Linear())
    assert str(caught.value) == (
        "simple-ucb needs noise_scale and norm_bound, got no settings; "
        "for example noise_scale=0.1, norm_bound=1"
    )
    with pytest.raises(ValueError, match=r"for example exploration=kb\.Gaussian\(\)"):
        kb.policy("generic-gp", np.eye(2), kb.Linear(), noise_scale=1.0, norm_bound=1.0)


@pytest.mark.parametrize(
    ("name", "setting"), [("simple-ucb", "p"), ("greedy", "delta"), ("simple-ucb", "exploration")]
)
def test_a_setting_a_policy_does_not_take_is_refused_with_those_it_takes(name, setting):
    with pytest.raises(ValueError, match=f"{name} has no setting '{setting}'.* It takes "):
        kb.policy(name, np.eye(2), kb.Linear(), noise_scale=1.0, norm_bound=1.0, **{setting: 0.5})


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("levy4:candidates=80", {"candidates": 80}),
        ("branin:noise=student(0.05,3),scale=false", {"noise": StudentNoise(0.05, 3), "scale": False}),
        ("rkhs:kernel=rbf(0.2),dimension=2", {"kernel": kb.RBF(0.2), "dimension": 2}),
    ],
)  # fmt: skip
def test_a_problem_by_text_is_the_problem_by_keywords(text, settings):
    assert kb.problem(text) == kb.problem(text.partition(":")[0], **settings)
    assert kb.problem(text) == read_problem(text)


def test_text_and_keywords_are_combined_and_a_setting_in_both_is_refused():
    both = kb.problem("levy4:candidates=80", noise="gaussian:0.5")
    assert both == kb.problem("levy4", candidates=80, noise=GaussianNoise(0.5))
    sentence = "levy4 needs candidates once, got 80 in the text and 50 as a keyword"
    with pytest.raises(ValueError, match=sentence):
        kb.problem("levy4:candidates=80", candidates=50)
    with pytest.raises(ValueError, match="each name once, got candidates twice"):
        kb.problem("levy4:candidates=80,candidates=50")


def test_a_problem_in_motion_may_name_the_problem_that_moves():
    assert kb.problem("drifting", problem="branin:candidates=9") == kb.problem(
        "drifting", problem=kb.problem("branin", candidates=9)
    )


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
    plain = CODEC.encode(value)
    again = CODEC.decode(json.loads(json.dumps(plain)))
    assert again == value or repr(again) == repr(value)
    assert fingerprint(CODEC.encode(again)) == fingerprint(plain)


def test_different_values_have_different_fingerprints():
    prints = [fingerprint(CODEC.encode(value)) for value in VALUES]
    assert len(set(prints)) == len(prints)


def test_a_fingerprint_depends_on_content_and_not_on_order():
    assert fingerprint({"a": 1, "b": [1.5, None]}) == fingerprint({"b": [1.5, None], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert CODEC.encode(np.float64(0.5)) == 0.5
    assert identify(np.arange(3)) != identify(np.arange(3) + 1)


@pytest.mark.parametrize(
    "plain", [{"type": "os.system"}, {"type": "object", "repr": "f"}, {"type": None}]
)
def test_only_types_of_the_catalogue_can_be_rebuilt(plain):
    with pytest.raises(ValueError, match=r"needs a type among .*RBF"):
        CODEC.decode(plain)


def test_a_plain_value_is_checked_like_any_other():
    with pytest.raises(ValueError, match="RBF needs lengthscale > 0, got -1"):
        CODEC.decode({"type": "RBF", "lengthscale": -1})


# ---------------------------------------------------------------- values as text

REFUSED = "need|is called|has no setting"
"""What every refusal says."""

SPELLED_KERNELS = {
    "rbf:0.2": kb.RBF(0.2),
    "rbf": kb.RBF(),
    "rbf:0.1/0.2": kb.RBF((0.1, 0.2)),
    "matern:lengthscale=0.3,nu=1.5": kb.Matern(0.3, nu=1.5),
    "matern:0.3": kb.Matern(0.3),
    "linear": kb.Linear(),
    "polynomial:3,offset=0.5": kb.kernels.Polynomial(3, offset=0.5),
    "rational-quadratic:0.3,2": kb.kernels.RationalQuadratic(0.3, alpha=2),
    "periodic:lengthscale=0.5,period=24": kb.kernels.Periodic(0.5, 24.0),
    "periodic:0.5,1/24": kb.kernels.Periodic(0.5, (1.0, 24.0)),
    "0.5*rbf:0.2+0.5*linear": 0.5 * kb.RBF(0.2) + 0.5 * kb.Linear(),
    "rbf:0.2*0.5": 0.5 * kb.RBF(0.2),
    "rbf:1 * matern:2": kb.RBF(1.0) * kb.Matern(2.0),
}


@pytest.mark.parametrize("text", SPELLED_KERNELS)
def test_a_spelled_kernel_is_the_kernel(text):
    assert read_kernel(text) == SPELLED_KERNELS[text]


@pytest.mark.parametrize(
    "text",
    ["", "rb", "rbf:-1", "rbf:a", "rbf:1,2,3", "rbf:width=2", "0.5", "2*3", "rbf+0.5", "-1*rbf"],
)
def test_a_misspelled_kernel_is_refused(text):
    with pytest.raises(ValueError, match=REFUSED):
        read_kernel(text)


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
    assert read_law(text) == SPELLED_LAWS[text]


@pytest.mark.parametrize(
    "text", ["", "bernouli:0.5", "bernoulli", "bernoulli:2", "bernoulli:nan", "gaussian:1,2,3"]
)
def test_a_misspelled_law_is_refused(text):
    with pytest.raises(ValueError, match=REFUSED):
        read_law(text)


def test_a_spelled_policy_is_its_name_and_settings():
    assert read_policy("simple-ucb") == ("simple-ucb", {})
    assert read_policy("simple-bernoulli:p=0.25") == ("simple-bernoulli", {"p": 0.25})
    name, settings = read_policy("generic-gp:exploration=gaussian(0.5,1),noise-scale=2")
    assert (name, settings) == (
        "generic-gp",
        {"exploration": kb.Gaussian(0.5, 1), "noise_scale": 2},
    )
    for bad in ("ucb", "simple-ucb:3"):
        with pytest.raises(ValueError, match=REFUSED):
            read_policy(bad)


def test_a_spelled_noise_is_the_noise():
    assert read_noise("gaussian:0.01") == GaussianNoise(0.01)
    assert read_noise("student:scale=0.1,df=3") == StudentNoise(0.1, 3)
    assert read_noise("pareto:0.1,3") == ParetoNoise(0.1, 3)
    for bad in ("cauchy:1", "gaussian", "gaussian:-1", "gaussian:1_000", "gaussian:inf"):
        with pytest.raises(ValueError, match=REFUSED):
            read_noise(bad)


def test_every_name_of_the_tables_stands_for_something():
    for table in (KERNELS, LAWS, MOTIONS, NOISES):
        assert all(callable(constructor) for constructor in table.values())


def test_the_ridge_of_pi_gp_ucb_is_its_own():
    assert "ridge" not in shared_settings(policy_entry("pi-gp-ucb"), {"ridge": 0.5})


ARMS = np.linspace(0, 1, 5)[:, None]
KNOWN = {"noise_scale": 0.1, "norm_bound": 1.0}


def test_a_policy_takes_its_kernel_and_its_law_as_text():
    by_text = kb.policy("generic-gp", ARMS, "matern:0.3,nu=1.5", "bernoulli:0.5", **KNOWN)
    by_value = kb.policy("generic-gp", ARMS, kb.Matern(0.3, nu=1.5), kb.Bernoulli(0.5), **KNOWN)
    assert by_text.posterior.kernel == by_value.posterior.kernel
    assert by_text.settings == by_value.settings
    mixture = kb.policy("simple-mixture", ARMS, kernel="rbf:0.2", law="gaussian:0,2", **KNOWN)
    assert "Gaussian(mean=0, scale=2)" in mixture.settings["exploration"]


def test_an_experiment_takes_its_kernel_and_the_laws_of_contenders_as_text():
    half = kb.Contender("half", "generic-gp", {"exploration": "bernoulli:0.5"})
    same = kb.Contender("half", "generic-gp", {"exploration": kb.Bernoulli(0.5)})
    by_text, by_value = (
        kb.run_experiment("branin", [one], kernel=kernel, horizon=5, seeds=1, **KNOWN)
        for one, kernel in ((half, "matern:0.3"), (same, kb.Matern(0.3)))
    )
    assert [cell.key for cell in by_text.cells] == [cell.key for cell in by_value.cells]


def test_a_study_takes_its_kernel_and_its_law_as_text(tmp_path):
    given = {"policy": "generic-gp", "kernel": "matern:0.3"}
    settings = {"exploration": "bernoulli:0.5", **KNOWN}
    study = kb.Study.create(tmp_path / "s.db", ARMS, **given, settings=settings)
    assert study.settings["kernel"] == CODEC.encode(kb.Matern(0.3))
    assert study.settings["settings"]["exploration"] == CODEC.encode(kb.Bernoulli(0.5))
    study.change(kernel="rbf:0.4", settings={"exploration": "gaussian"})
    assert study.settings["kernel"] == CODEC.encode(kb.RBF(0.4))
    assert study.settings["settings"]["exploration"] == CODEC.encode(kb.Gaussian())


@pytest.mark.parametrize(
    "build",
    [
        lambda path: kb.policy("simple-ucb", ARMS, "mattern:0.3", **KNOWN),
        lambda path: kb.run_experiment("branin", "random", kernel="mattern:0.3"),
        lambda path: kb.Study.create(path, ARMS, policy="random", kernel="mattern:0.3"),
    ],
)
def test_a_mistyped_kernel_is_named_with_the_one_that_was_meant(build, tmp_path):
    with pytest.raises(ValueError, match=r"No kernel is called 'mattern'\. Did you mean 'matern'"):
        build(tmp_path / "s.db")


def test_the_class_of_a_policy_says_where_text_is_taken():
    with pytest.raises(ValueError, match=r"kb\.RBF\(0\.2\).*also take text such as 'rbf:0\.2'"):
        kb.SimpleUCB(ARMS, "rbf:0.2", **KNOWN)
    with pytest.raises(ValueError, match=r"kb\.Bernoulli.*also take text such as 'bernoulli:0\.5'"):
        kb.GenericGP(ARMS, kb.RBF(0.2), "bernoulli:0.5", **KNOWN)
