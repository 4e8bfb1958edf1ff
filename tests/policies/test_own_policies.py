"""Policies of the user in experiments: classes, factories, and what they are given."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits import report
from kernelbandits.catalogue.user_policy import UserPolicy, find_policy
from kernelbandits.experiment import Contender, contender, process_mapper
from kernelbandits.experiment.cells import OWN_KERNEL
from kernelbandits.experiment.runner import plan_experiment

SMALL = {"horizon": 12, "seeds": 2}
SHARED = {"noise_scale": 0.5, "norm_bound": 2.0, "gain": "realised", "horizon": 12, "ridge": 3.0}


class Second(kb.Policy):
    """Always plays the arm number `arm`."""

    def __init__(self, domain, kernel, *, arm=1, ridge=1.0):
        super().__init__(domain, kernel, ridge=ridge, ties="lowest")
        self.arm = arm

    def ask(self, t, rng):
        return self.choice(self.arm)


class Cautious(kb.SimpleUCB):
    """A subclass that changes the choice of its parent, not its constructor."""

    def ask(self, t, rng):
        return self.choice(0)


class Handing(Second):
    """Hands all settings but one on to its parent."""

    def __init__(self, domain, kernel, *, patience, **settings):
        super().__init__(domain, kernel, **settings)
        self.patience = patience


class Kernelless(kb.Policy):
    """Brings its own kernel."""

    def __init__(self, domain, *, lengthscale=0.1):
        super().__init__(domain, kb.RBF(lengthscale), ridge=1.0, ties="lowest")

    def ask(self, t, rng):
        return self.choice(2)


class Declared(Second):
    """Has a parameter for a kernel, and says that it does not use it."""

    takes_kernel = False

    def __init__(self, domain, kernel=None, *, arm=3):
        super().__init__(domain, kb.RBF(0.1) if kernel is None else kernel, arm=arm)


def build_third(domain, kernel, norm_bound, noise_scale=7.0):
    return Second(domain, kernel, arm=3)


def test_classes_factories_names_and_contenders_play_together():
    mine = [
        Second,
        kb.Contender("fourth", Second, {"arm": 4}),
        "simple-ucb",
        "simple-bernoulli:p=0.25",
        build_third,
        kb.IGPUCB,
    ]
    results = kb.run_experiment("branin", mine, **SMALL)
    assert results.labels == (
        "Second",
        "fourth",
        "Simple-UCB",
        "Simple-Bernoulli (p=0.25)",
        "build_third",
        "IGP-UCB",
    )
    for label, arm in (("Second", 1), ("fourth", 4), ("build_third", 3)):
        assert (results["branin", label].arms == arm).all()


def test_one_class_or_one_factory_needs_no_list():
    assert kb.run_experiment("branin", Second, **SMALL).labels == ("Second",)
    assert kb.run_experiment("branin", build_third, **SMALL).labels == ("build_third",)


def test_a_subclass_plays_its_own_rule_and_not_that_of_its_parent():
    mine = kb.run_experiment("branin", [Cautious, "simple-ucb"], engine="numpy", **SMALL)
    assert (mine["branin", "Cautious"].arms == 0).all()
    assert not (mine["branin", "Simple-UCB"].arms == 0).all()
    assert mine["branin", "Cautious"].settings["policy"].endswith("test_own_policies.Cautious")


def test_a_class_of_the_catalogue_is_the_policy_of_that_name():
    by_class, by_name = (
        plan_experiment("branin", what, **SMALL)[0] for what in (kb.SimpleUCB, "simple-ucb")
    )
    assert by_class.key == by_name.key
    assert find_policy(kb.SimpleUCB) is find_policy("simple-ucb")
    assert isinstance(find_policy(Cautious), UserPolicy)


@pytest.mark.parametrize(
    ("policy", "given", "taken"),
    [
        (Second, {}, {"ridge": 3.0}),
        (Second, {"ridge": 4.0}, {"ridge": 4.0}),
        (Cautious, {}, {"noise_scale": 0.5, "norm_bound": 2.0, "ridge": 3.0}),
        (Handing, {"patience": 3}, {"patience": 3, "ridge": 3.0}),
        (Kernelless, {}, {}),
        (build_third, {}, {"norm_bound": 2.0, "noise_scale": 0.5}),
        (partial(build_third, noise_scale=9.0), {}, {"norm_bound": 2.0}),
        (lambda arms, k, **settings: Second(arms, k), {}, {}),
    ],
)
def test_shared_settings_reach_only_a_signature_that_names_them(policy, given, taken):
    settings = dict(contender(policy, given, SHARED).settings)
    settings.pop("delta", None)
    assert settings == taken


@pytest.mark.parametrize(
    ("policy", "kernel"),
    [(Second, True), (build_third, True), (Kernelless, False), (Declared, False)],
)
def test_a_policy_without_a_kernel_is_built_without_one_and_the_settings_say_so(policy, kernel):
    (cell,) = plan_experiment("branin", policy, **SMALL)
    results = kb.run_experiment("branin", policy, **SMALL)
    settings = results.found[results.cells[0].key].settings
    assert settings.get("kernel") == (None if kernel else OWN_KERNEL)
    rule = cell.contender.build(cell.problem.instance(kb.Streams(0)), kb.RBF(0.7))
    assert (rule.posterior.kernel == kb.RBF(0.7)) == kernel


def test_a_factory_may_call_its_arguments_as_it_likes():
    results = kb.run_experiment(
        "branin", kb.Contender("x", lambda where, how: Second(where, how)), **SMALL
    )
    assert (results["branin", "x"].arms == 1).all()


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (int, "classes derived from kb.Policy, factories"),
        (3, "an experiment needs policies by name, classes derived from kb.Policy"),
        (Second([[0.0], [1.0], [2.0]], kb.RBF()), "needs the class Second or a factory, got a policy"),
        (lambda domain, kernel: "no policy", "needs to return a kb.Policy, got 'no policy'"),
        (kb.Contender("x", Second, {"arms": 3}), "has no setting 'arms'. Did you mean 'arm'?"),
        (kb.Contender("x", Handing), "Handing needs patience, got"),
        (kb.Contender("x", "simple-ucd"), "No policy is called 'simple-ucd'. Did you mean"),
    ],
)  # fmt: skip
def test_what_is_no_policy_is_refused_in_one_sentence(policy, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kb.run_experiment("branin", policy, **SMALL)


def test_two_classes_of_one_name_and_body_are_told_apart(tmp_path):
    def make(number):
        class Mine(Second):
            def ask(self, t, rng):
                return self.choice(number)

        return Mine

    keys = set()
    for number in (5, 6):
        results = kb.run_experiment("branin", make(number), folder=tmp_path, **SMALL)
        assert (results["branin", "Mine"].arms == number).all()
        keys.add(results.cells[0].key)
    assert len(keys) == 2


def test_a_class_that_has_the_name_of_a_kernel_of_ours_is_not_taken_for_it():
    class RBF(kb.RBF):
        """Another kernel under the same name."""

    ours, mine = (
        plan_experiment("branin", "simple-ucb", kernel=kernel, **SMALL)[0].key
        for kernel in (kb.RBF(0.2), RBF(0.2))
    )
    assert ours != mine


@pytest.mark.thorough
def test_the_results_of_an_own_policy_are_resumed_by_the_same_process_only(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys, kernelbandits as kb\n"
        "class Mine(kb.policies.UniformRandom): pass\n"
        "played = []\n"
        "def mapper(work, cells):\n"
        "    played.extend(cells)\n"
        "    return map(work, cells)\n"
        "for _ in range(2):\n"
        "    kb.run_experiment('branin', Mine, horizon=5, seeds=1, folder='cells', mapper=mapper)\n"
        "print(len(played))\n"
    )
    played = [
        subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert played == ["1", "1"]


@pytest.mark.thorough
def test_an_own_policy_plays_in_other_processes_and_a_local_one_is_refused_in_a_sentence():
    def local(domain, kernel):
        return Second(domain, kernel)

    with process_mapper(2) as mapper:
        spread = kb.run_experiment("branin", [Second, "random"], mapper=mapper, **SMALL)
        assert (spread["branin", "Second"].arms == 1).all()
        with pytest.raises(ValueError, match="defined at module level, got"):
            kb.run_experiment("branin", [local, "random"], mapper=mapper, **SMALL)


@pytest.mark.thorough
def test_the_report_shows_an_own_policy_with_what_its_class_says_of_it(tmp_path):
    class Told(Cautious):
        title = "Told by its class"
        paper = "A paper of mine, 2026"

    results = kb.run_experiment("branin", [Told, Cautious, "simple-ucb"], engine="numpy", **SMALL)
    report.write_run(results, tmp_path, theory=True)
    page = (tmp_path / "report.html").read_text()
    assert results.labels == ("Told by its class", "Cautious", "Simple-UCB")
    for text in ("policies of your own", "A paper of mine, 2026", "none is known here"):
        assert text in page
    assert find_policy(Cautious).guarantee != find_policy("simple-ucb").guarantee


def test_a_contender_is_checked_when_it_is_made():
    with pytest.raises(ValueError, match="Contender needs a label, got 3"):
        Contender(3, "simple-ucb")
    with pytest.raises(ValueError, match=r"Contender needs a dict of settings, got 0\.5"):
        Contender("mine", "simple-ucb", 0.5)
    assert np.isfinite(Contender("x", Second).build(
        kb.problem("branin").instance(kb.Streams(0)), kb.RBF(0.2)
    ).posterior.ridge)  # fmt: skip
