"""A test file mirrors a module of the package, or is listed here with the behaviour that it tests."""

from __future__ import annotations

from pathlib import Path

import kernelbandits

TESTS = Path(__file__).parent
SOURCE = Path(kernelbandits.__file__).parent

BEHAVIOURS = {
    "apps/test_lab_command.py": "the command `lab`: addresses, tokens, a whole server",
    "apps/test_lab_security.py": "who may do what on the lab page, over all routes",
    "apps/test_lab_serving.py": "a server that listens: TLS, a proxy, PostgreSQL",
    "apps/test_operations.py": "commands, requests, client and `Study` take the same arguments",
    "apps/test_study_command.py": "`kernelbandits study` as a person and as a script use it",
    "calibration/test_noise_evidence.py": "calibration/noise.py (tests/problems has a test_noise)",
    "domains/test_spaces.py": "variables and spaces as text, files and tables",
    "experiment/test_engine_by_definition.py": "whole games beside the definitions of their rules",
    "experiment/test_experiment_results.py": "experiment/results.py (tests/tables has a test_results)",
    "experiment/test_scikit_learn_rival.py": "policies of other packages as contenders",
    "exploration/test_laws_by_definition.py": "laws and their weights beside their definitions",
    "kernels/test_kernel_gradients.py": "gradients of all kernels, composed ones too",
    "kernels/test_kernel_values.py": "values of all kernels, composed ones too",
    "policies/test_changing.py": "rules for rewards that drift: their posterior and their index",
    "policies/test_contexts.py": "rounds with a context, over several rules",
    "policies/test_earn.py": "the goal earn of Auto",
    "policies/test_find.py": "the goal find of Auto",
    "policies/test_golden.py": "golden numbers, and equations that tie policies to each other",
    "policies/test_learn_all.py": "many rewards at once, over all policies",
    "policies/test_metamorphic.py": "what stays the same in other units, over all policies",
    "policies/test_one_ask.py": "one signature of `ask`, over all policies",
    "policies/test_own_policies.py": "policies of the user in experiments",
    "policies/test_pending.py": "choices without a result yet, over several rules",
    "policies/test_restricted.py": "rounds among some arms, and arms that cost",
    "policies/test_rivals.py": "rivals beside their definitions in dense algebra",
    "policies/test_standard_errors.py": "results with standard errors, from `tell` to the study",
    "posterior/test_interrupts.py": "a reward whose update is interrupted, over several posteriors",
    "posterior/test_imagined.py": "plays that are imagined on a pool",
    "posterior/test_learn.py": "learning and covariances, over all posteriors",
    "posterior/test_local_posterior.py": "views of a posterior at some points",
    "posterior/test_posterior_by_definition.py": "posteriors and samples beside their definitions",
    "posterior/test_weighted.py": "weighted rewards, over two posteriors",
    "report/test_study_figures.py": "a study as figures and as a page",
    "report/test_theory_report.py": "theory in a report, and the figures of the docs",
    "storage/test_storage_damage.py": "damage is seen, and what is intact is saved",
    "storage/test_storage_faults.py": "kills, full disks and errors of drivers lose nothing",
    "storage/test_storage_places.py": "storage/places.py (tests/study has a test_places)",
    "storage/test_storage_versions.py": "files of other versions are refused",
    "study/test_front_goal.py": "the goal front, from the targets to the figure",
    "study/test_limited_targets.py": "limits on outcomes in studies, from the text to the answers",
    "study/test_optimize_study.py": "study/optimization.py (tests/ has a test_optimization)",
    "study/test_space_studies.py": "studies over spaces, with the promises of those of tables",
    "study/test_study_errors.py": "what a study says when something is wrong",
    "study/test_censored_results.py": "results that are limits, from `tell` to answers and exports",
    "study/test_study_goals.py": "studies that find or earn",
    "study/test_study_keys.py": "calls that are repeated with their key",
    "study/test_study_labels.py": "rows named by labels and lines",
    "study/test_study_replay.py": "a study that is opened again asks what it would have asked",
    "study/test_study_revisions.py": "revisions of policies, and what is stored",
    "study/test_study_transactions.py": "one command is one transaction",
    "study/test_study_walks.py": "random walks through a study",
    "tables/test_hostile_tables.py": "tables as people have them",
    "tables/test_input_at_scale.py": "large files at every door",
    "tables/test_log_columns.py": "columns that are scaled by their logarithms, from table to figure",
    "tables/test_target_files.py": "files of several targets",
    "test_docstring_examples.py": "examples in docstrings",
    "test_documents.py": "snippets of docs/",
    "test_examples.py": "examples/ and the README",
    "test_layers.py": "the import graph",
    "test_notebook.py": "what a notebook shows",
    "test_randomness.py": "the random numbers of a run",
    "test_root.py": "the names of packages",
    "test_tree.py": "the names of test files",
    "test_types.py": "what a type checker sees",
    "theory/test_bands_by_definition.py": "confidence bands beside their formulas",
    "theory/test_lower_bound.py": "the instance of Theorem 2, from the problem to its verification",
}
"""Files that test a behaviour of several modules."""
FAMILIES = {"contracts", "third_party"}
"""Folders of suites over the catalogue, and of suites of other packages."""


def list_test_files() -> list[str]:
    files = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(path.as_posix() for path in files if path.parts[0] not in FAMILIES)


def mirrors_module(file: str) -> bool:
    """Whether a file has the name of a module of its package, or of the package as a whole."""
    folder, _, name = file.rpartition("/")
    module, package = name.removeprefix("test_").removesuffix(".py"), SOURCE / folder
    inside = package.rglob if folder else package.glob
    return (
        any(True for _ in inside(f"{module}.py"))
        or (package / module).is_dir()
        or (module == folder)
    )


def test_a_test_file_mirrors_a_module_or_is_listed_with_its_behaviour():
    unknown = [f for f in list_test_files() if not mirrors_module(f) and f not in BEHAVIOURS]
    assert not unknown, "rename them after the module that they test, or list their behaviour"


def test_the_list_of_behaviours_has_no_file_that_is_gone_or_mirrors_a_module():
    assert set(BEHAVIOURS) <= set(list_test_files())
    assert [file for file in BEHAVIOURS if mirrors_module(file)] == []


def test_no_two_test_files_have_the_same_name():
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert len(names) == len(set(names)), "pytest imports them by their names"
