"""The command line as a person uses it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from conftest import run_command
from kernelbandits.apps.cli import app, screen
from kernelbandits.apps.cli.main import exit_code
from kernelbandits.catalogue import FAMILIES, NOT_IMPLEMENTED, POLICIES
from kernelbandits.report import pages

RUN = [
    "run",
    "--problem",
    "branin",
    "--policies",
    "simple-ucb,random",
    "--horizon",
    "15",
    "--seeds",
    "2",
    "--workers",
    "1",
]


@pytest.mark.parametrize("name", ["", "paper", "run", "list"])
def test_every_command_has_help_with_examples(name):
    text = CliRunner().invoke(app, [*name.split(), "--help"]).output
    assert "Examples" in text
    assert f"kernelbandits {name or 'paper'}" in text


def test_list_shows_every_kind_of_thing():
    text = run_command("list").stdout
    assert all(
        word in text
        for word in ("simple-bernoulli", "hartmann6", "matern", "bernoulli", "student", "Chowdhury")
    )


def test_list_of_one_kind_shows_only_that_kind():
    text = run_command("list", "kernels").stdout
    assert "matern" in text
    assert "hartmann6" not in text


@pytest.mark.parametrize("columns", [80, 120])
def test_list_policies_shows_every_policy_by_family_in_the_columns_there_are(columns):
    text = run_command("list", "policies", env=os.environ | {"COLUMNS": str(columns)}).stdout
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= columns
    places = [
        next(i for i, line in enumerate(lines) if line.startswith(f"{name}  ")) for name in POLICIES
    ]
    assert places == sorted(places)
    assert all(any(line.startswith(f"{title} ─") for line in lines) for title in FAMILIES)
    unbroken = re.sub(r"\s+", " ", text)
    for entry in POLICIES.values():
        assert all(
            re.sub(r"\s+", " ", said) in unbroken
            for said in (entry.paper, entry.guarantee, entry.ours)
        )
    assert all(name in unbroken and paper in unbroken for name, paper in NOT_IMPLEMENTED.items())


def test_list_of_one_policy_shows_it_in_full():
    text = run_command("list", "simple-bernoulli").stdout
    assert "needs      noise_scale, norm_bound" in text
    assert "options    p*=0.5, ridge=1, delta*=0.5, ties=random" in text
    assert "kernelbandits run" in text
    assert "simple-ucb" not in text
    assert "exploration=..." in run_command("list", "generic-gp").stdout


def test_list_as_json_is_one_document_for_scripts():
    document = json.loads(run_command("list", "policies", "--format", "json").stdout)
    listed = {
        entry["name"]: entry for family in document["families"] for entry in family["policies"]
    }
    assert list(listed) == list(POLICIES)
    assert document["not_implemented"] == dict(NOT_IMPLEMENTED)
    for name, entry in POLICIES.items():
        assert {*listed[name]["needs"], *listed[name]["options"]} == set(entry.settings)
    assert listed["generic-gp"]["only_by_name"] == ["exploration", "delta"]
    assert listed["simple-bernoulli"]["options"]["p"] == 0.5
    everything = json.loads(run_command("list", "--format", "json").stdout)
    assert set(everything) == {"policies", "problems", "kernels", "laws", "noises"}
    assert (
        json.loads(run_command("list", "igp-ucb", "--format", "json").stdout)["title"] == "IGP-UCB"
    )


@pytest.mark.thorough
def test_all_is_every_policy_but_generic_gp_and_those_left_out_by_name(tmp_path):
    slow = ["--without", "greedy, random", "--horizon", "4", "--seeds", "2", "--problem", "branin"]
    done = run_command("run", "--policies", "all", *slow, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    titles = {
        entry.title
        for name, entry in POLICIES.items()
        if name not in ("generic-gp", "greedy", "random")
    }
    assert set(pd.read_csv(tmp_path / "ranking.csv")["policy"]) == titles
    assert set(pd.read_csv(tmp_path / "summary.csv")["policy"]) == titles
    notes = done.stderr.splitlines()
    assert all(line.startswith("note: ") for line in notes)
    said = [line.rpartition("): ")[2] for line in notes]
    assert len(set(said)) == len(said)


@pytest.mark.usefixtures("blank_figures")
def test_of_all_a_policy_that_refuses_is_left_out_with_its_sentence(tmp_path):
    arms = ["--problem", "branin", "--candidates", "2100", "--horizon", "2", "--seeds", "1"]
    others = ",".join(
        name for name in POLICIES if name not in ("generic-gp", "tv-gp-ucb", "random")
    )
    done = run_command(
        "run", "--policies", "all", "--without", others, *arms, "--output", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: left out tv-gp-ucb: TVGPUCB needs")
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(pd.read_csv(tmp_path / "ranking.csv")["policy"]) == ["Uniform random"]
    assert "Left out: TVGPUCB needs" in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "settings.json").read_text())["left_out"]["tv-gp-ucb"].startswith(
        "TVGPUCB needs"
    )
    named = run_command("run", "--policies", "tv-gp-ucb,random", *arms, "--output", str(tmp_path))
    assert named.returncode == 2
    assert named.stderr.startswith("error: TVGPUCB needs")
    alone = run_command(
        "run",
        "--policies",
        "all",
        "--without",
        f"{others},random",
        *arms,
        "--output",
        str(tmp_path),
    )
    assert alone.returncode == 2
    assert alone.stderr.startswith("error: TVGPUCB needs")


@pytest.mark.usefixtures("blank_figures")
def test_policies_that_warn_of_the_same_share_a_note(tmp_path):
    laws = [f"generic-gp:exploration=point-mass({c})" for c in (0.5, 0.25)]
    policies = [part for law in laws for part in ("--policy", law)]
    more = ["--policies", "simple-ucb,igp-ucb,gp-ts", "--kernel", "4*rbf:0.2"]
    done = run_command(*RUN, *more, *policies, "--output", str(tmp_path))
    notes = done.stderr.splitlines()
    shared = [line for line in notes if "k(x, x) <= 1" in line]
    assert len(shared) == 1
    assert shared[0].startswith(
        "note: 4 policies (GPTS, GenericGP, IGPUCB, SimpleUCB): its guarantee needs"
    )
    assert (
        len([line for line in notes if line.startswith("note: GenericGP: the optimism condition")])
        == 1
    )


@pytest.mark.thorough
def test_the_order_in_which_cells_are_played_changes_no_file(tmp_path):
    size = ["--problem", "branin", "--problem", "levy2", "--horizon", "20", "--seeds", "2"]
    for workers in ("1", "2"):
        done = run_command("run", "--policies", "random,greedy,simple-ucb,gp-ts", *size, "--workers", workers,
                       "--output", str(tmp_path / workers))  # fmt: skip
        assert done.returncode == 0, done.stderr
    for name in (
        "rounds.npz",
        "ranking.csv",
        "ranking-overall.csv",
        "settings.json",
        "ranking.svg",
    ):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    assert list(pd.read_csv(tmp_path / "1/summary.csv")["policy"])[:2] == [
        "Uniform random",
        "Greedy",
    ]


@pytest.mark.usefixtures("blank_figures")
def test_run_shows_a_table_for_each_problem_with_ranks(tmp_path):
    done = run_command(
        *RUN, "--problem", "levy2", "--output", str(tmp_path), env=os.environ | {"COLUMNS": "80"}
    )
    assert "Branin (d = 2): cumulative regret, best first" in done.stdout
    assert "Levy (d = 2): cumulative regret, best first" in done.stdout
    assert "Over all 2 problems" in done.stdout
    assert re.search(r"1 \(1(–2)?\) +(Simple-UCB|Uniform random)", done.stdout)


@pytest.mark.thorough
def test_run_writes_its_files_and_prints_the_table(tmp_path):
    done = run_command(*RUN, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Simple-UCB" in done.stdout
    noise, norm = sorted(done.stderr.splitlines(), reverse=True)
    assert (
        noise
        == "note: policies are told R = 1, 100 times that of the noise of branin, and explore too much;"
        " give noise_scale 0.01"
    )
    assert norm.startswith(
        "note: no function of norm <= 1 has the rewards of branin (the least has "
    )
    tables = {
        "report.html",
        "summary.csv",
        "rounds.npz",
        "ranking.csv",
        "ranking-overall.csv",
        "settings.json",
        "played.json",
    }
    drawn = {
        f"{name}.{kind}"
        for name in ("regret", "simple-regret", "ranking")
        for kind in ("png", "svg")
    }
    assert {p.name for p in tmp_path.iterdir()} == tables | drawn
    assert not (tmp_path / ".cells").exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize(
    "command", [RUN, ["paper", "--no-map", "--horizon", "5", "--seeds", "2", "--workers", "1"]]
)
def test_a_page_that_was_not_written_is_not_to_be_opened(tmp_path, monkeypatch, command):
    words = (*command, "--output", str(tmp_path))
    assert f"open {tmp_path / 'report.html'}" in run_command(*words).stdout
    for module in (pages, screen):
        monkeypatch.setattr(module, "is_installed", lambda name: name != "jinja2")
    done = run_command(*words)
    assert "no report.html" in done.stderr
    assert not (tmp_path / "report.html").exists()
    assert done.stdout.splitlines()[-1] == f"Written to {tmp_path}"


@pytest.mark.usefixtures("blank_figures")
def test_run_takes_kernels_noises_laws_and_settings(tmp_path):
    spelled = [
        "--policy",
        "simple-bernoulli:p=0.25",
        "--policy",
        "generic-gp:exploration=mixture(0.5/0.5,point-mass(1)/gaussian(0,1))",
    ]
    more = [
        "--kernel",
        "0.5*rbf:0.2+0.5*matern:0.3,1.5",
        "--noise",
        "student:0.05,3",
        "--candidates",
        "20",
        "--ridge",
        "0.5",
    ]
    done = run_command(
        *RUN, *spelled, *more, "--gain", "greedy", "--ties", "lowest", "--output", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "summary.csv")
    assert len(table) == 4
    assert (table["ridge"] == 0.5).all()


@pytest.mark.usefixtures("blank_figures")
def test_run_takes_any_table(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text("a;b;stability\n0,1;1;3,5\n0,2;2;4,5\n0,3;5;1,0\n0,1;1;3,7\n")
    spelled = f"csv:path={path},target=stability,direction=minimize"
    done = run_command("run", "--problem", spelled, "--policies", "simple-ucb", "--horizon", "5", "--seeds", "1",
                   "--output", str(tmp_path / "out"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "films" in done.stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_run_takes_columns_paths_with_commas_and_functions_of_known_norm(tmp_path):
    path = tmp_path / "a, b.csv"
    path.write_text("id,x,z,y\n1,0,0.1,3\n2,0.5,0.2,4\n3,1,0.9,5\n")
    table = f'csv:path="{path}",columns=x/z,target=y'
    chosen = [
        "--problem",
        table,
        "--problem",
        "rkhs:kernel=rbf(0.2),dimension=2",
        "--problem",
        "levy2",
    ]
    done = run_command(
        "run", *chosen, "--policies", "simple-ucb", "--horizon", "5", "--seeds", "2", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    described = "3 arms by x, z scaled to [0, 1] (x from 0 to 1, z from 0.1 to 0.9); reward from y"
    assert described in (folder / "report.html").read_text()
    note = "note: a, b.csv: each column is scaled to [0, 1] (x from 0 to 1, z from 0.1 to 0.9); "
    assert note in done.stderr


@pytest.mark.usefixtures("blank_figures")
def test_a_name_does_not_lead_out_of_the_results_folder(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n0,1\n1,2\n1,3\n")
    table = "csv:path=t.csv,name=../../up,repeats=replicates"
    size = ["--horizon", "5", "--seeds", "2", "--kernel", "rbf:0.5"]
    done = run_command("run", "--problem", table, "--policies", "simple-ucb", *size, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.startswith("up-")
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "results"}


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_a_warning_is_a_note_of_one_line_and_quiet_hushes_it(tmp_path):
    policy = ["--policy", "generic-gp:exploration=point-mass(0.5)", "--output", str(tmp_path)]
    loud, hushed = run_command(*RUN, *policy), run_command(*RUN, *policy, "--quiet")
    notes = loud.stderr.strip().splitlines()
    assert all(line.startswith("note: ") for line in notes)
    assert sum(line.startswith("note: GenericGP: the optimism condition") for line in notes) == 1
    assert hushed.stderr == ""


@pytest.mark.usefixtures("blank_figures")
def test_two_runs_in_one_folder_do_not_lose_each_others_cells(tmp_path):
    (tmp_path / ".cells").mkdir()
    (tmp_path / ".cells/another.npz").write_bytes(b"kept")
    assert run_command(*RUN, "--output", str(tmp_path), "-q").returncode == 0
    assert [file.name for file in (tmp_path / ".cells").iterdir()] == ["another.npz"]


def test_the_kernel_help_shows_the_product(tmp_path):
    assert (
        "0.5*rbf:0.2+0.5*linear"
        in CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    )


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_a_data_file_of_another_content_leaves_that_panel_out(tmp_path):
    (tmp_path / "perovskite.csv").write_text("CsPbI,FAPbI,MAPbI,Instability index\n0,1,0,1\n")
    environment = os.environ | {"KERNELBANDITS_DATA": str(tmp_path)}
    size = ["--horizon", "5", "--seeds", "2", "--no-map"]
    done = run_command("paper", *size, "--output", str(tmp_path / "out"), env=environment)
    assert done.returncode == 0, done.stderr
    assert "sha256" in done.stderr


@pytest.mark.usefixtures("blank_figures")
def test_quiet_prints_nothing(tmp_path):
    done = run_command(*RUN, "--quiet", "--output", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["run", "--problem", "nosuch", "--policies", "random"], "No problem is called 'nosuch'"),
        (["run", "--problem", "branin", "--policies", "nosuch"], "No policy is called 'nosuch'"),
        (["run", "--problem", "branin", "--policies", ""], "at least one"),
        (
            ["run", "--problem", "branin", "--policies", "random", "--kernel", "rbf:-1"],
            "lengthscale > 0",
        ),
        (
            ["run", "--problem", "branin", "--policies", "random", "--kernel", "rbf:1,2,3"],
            "rbf needs",
        ),
        (
            ["run", "--problem", "branin", "--policies", "random", "--noise", "gaussian"],
            "gaussian needs",
        ),
        (["run", "--problem", "csv:path=nosuch.csv", "--policies", "random"], "nosuch.csv"),
        (
            ["run", "--problem", "branin", "--policies", "simple-ucb", "--noise-scale", "-1"],
            "noise_scale >= 0",
        ),
        (["run", "--problem", "branin", "--policies", "simple-ucb", "--engine", "gpu"], "engine"),
        (["list", "nosuch"], "There is nothing called 'nosuch' to list."),
        (
            ["run", "--problem", "branin", "--policies", "all", "--without", "nosuch"],
            "--without needs names that --policies has",
        ),
        (
            ["run", "--problem", "branin", "--policies", "greedy", "--without", "random"],
            "--without needs names that --policies has",
        ),
        (
            ["run", "--problem", "branin", "--policies", "all", "--noise-scale", "-1"],
            "noise_scale >= 0",
        ),
        (["run", "--problem", "csv", "--policies", "random"], "csv needs path"),
        (
            ["run", "--problem", "csv:path=2021", "--policies", "random"],
            "No such file: 2021",
        ),
        (
            ["run", "--problem", "branin", "--policy", "simple-categorical:weights=0.5"],
            "a sequence of weights",
        ),
        (
            ["run", "--problem", "branin", "--policy", "simple-ucb:domain=3"],
            "simple-ucb has no setting 'domain'",
        ),
        (
            ["run", "--problem", "branin:foo=1", "--policies", "random"],
            "branin has no setting 'foo'",
        ),
        (["run", "--problem", "rkhs:dimension=2", "--policies", "random"], "rkhs needs kernel"),
        (
            ["run", "--problem", "perovskite", "--policies", "random", "--candidates", "9"],
            "perovskite has no setting 'candidates'",
        ),
        (["run", "--problem", "branin", "--policy", "generic-gp"], "generic-gp needs exploration"),
        (
            ["run", "--problem", "branin", "--policies", "random", "--horizon", "1000000000"],
            "rounds a cell",
        ),
        (["run", "--problem", "branin", "--policies", "simple-ucb", "--delta", "0"], "delta in"),
        (["run", "--problem", "branin", "--policies", "simple-ucb", "--gain", "foo"], "gain in"),
    ],
)
def test_a_wrong_argument_gets_one_sentence_and_exit_code_two(tmp_path, arguments, needed):
    done = run_command(*arguments, cwd=tmp_path)
    assert done.returncode in (2, 74)
    assert needed in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["frob"],
            "kernelbandits has no command frob. Its commands are paper, run, merge, list, theory, design, ",
        ),
        (
            ["--frob"],
            "kernelbandits has no option --frob (see kernelbandits --help)",
        ),
        (["run"], "run needs --problem, got none (see kernelbandits run --help)"),
        (
            ["run", "--problem", "branin", "--horizon", "x"],
            "--horizon needs a whole number from 1 on, got 'x' (see kernelbandits run",
        ),
        (
            ["list", "a", "b"],
            "list takes no more arguments, got b (see kernelbandits list --help)",
        ),
        (["rum"], "kernelbandits has no command rum. Did you mean run? Its commands are"),
        (
            ["run", "--problem", "branin", "--polices", "random"],
            "run has no option --polices. Did you mean --policies? (see kernelbandits run --help)",
        ),
        (["run", "--problem"], "--problem needs a value, got none (see kernelbandits run --help)"),
        (["paper", "--no-map=yes"], "--no-map needs no value, got one (see kernelbandits paper"),
        (
            ["check-theory", "--no-erata"],
            "check-theory has no option --no-erata. Did you mean --no-errata? (see kernelbandits",
        ),
        (["check-theory", "--errata=E8"], "--errata needs no value, got one (see kernelbandits"),
        (["run", "--quiet=yes"], "--quiet needs no value, got one (see kernelbandits run --help)"),
        (["list", "--format", "yaml"], "--format needs one of text, json, got 'yaml' (see"),
    ],
)
def test_what_the_parser_refuses_is_one_sentence_too(arguments, sentence):
    done = run_command(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"error: {sentence}")


def test_every_command_refuses_an_option_that_does_not_exist():
    def commands(group, name=()):
        for word, command in getattr(group, "commands", {}).items():
            yield from commands(command, (*name, word))
        yield name

    for name in commands(typer.main.get_command(app)):
        done = run_command(*name, "--does-not-exist=3")
        expected = f"error: {' '.join(name) or 'kernelbandits'} has no option --does-not-exist"
        assert done.returncode == 2, name
        assert done.stderr.startswith(expected), (name, done.stderr)


@pytest.mark.thorough
def test_without_arguments_the_help_is_printed():
    done = run_command("study")
    assert (done.returncode, done.stderr) == (2, "")
    assert "Usage: " in done.stdout
    assert run_command("--help").returncode == 0


def test_the_program_alone_offers_four_commands_to_begin_with():
    program = [sys.executable, "-m", "kernelbandits"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = re.findall(r"^    kernelbandits (\w+)  +\S.*$", done.stdout, flags=re.MULTILINE)
    assert lines == ["study", "lab", "run", "paper"]
    for name in lines:
        assert run_command(name, "--help").returncode == 0


@pytest.mark.parametrize("value", ["0", "-3", "1.5", "abc"])
def test_a_horizon_that_is_no_number_of_rounds_is_refused(value):
    done = run_command("run", "--problem", "branin", "--policies", "random", "--horizon", value)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    done = run_command(*RUN, "--output", str(blocked))
    assert done.returncode == 74
    assert str(blocked) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_without_numba_the_numpy_engine_runs_with_a_notice(tmp_path):
    code = "import sys; sys.modules['numba'] = None; from kernelbandits.apps.cli import main; main(sys.argv[1:])"
    arguments = [sys.executable, "-c", code, *RUN, "--output", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "numba is not installed" in done.stderr
    assert (pd.read_csv(tmp_path / "summary.csv")["engine"] == "numpy").all()


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    policies = "random,simple-ucb,greedy,simple-gaussian"
    size = ["--horizon", "2500", "--seeds", "8", "--engine", "numpy", "--workers", "2"]
    module = [sys.executable, "-m", "kernelbandits", "run", "--problem", "branin"]
    arguments = [*module, "--policies", policies, *size, "--output"]
    first = [*arguments, str(tmp_path / "a")]
    process = subprocess.Popen(first, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "a").glob(".cells/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.splitlines() == ["error: interrupted; the same command goes on where it stopped"]
    kept = 0
    for path in (tmp_path / "a").glob(".cells/*.npz"):
        with np.load(path) as stored:
            kept += len(stored["seconds"])
    assert 1 <= kept < 4 * 8
    again = run_command(*arguments[3:], tmp_path / "a")
    assert again.returncode == 0
    assert (
        f"note: continuing an interrupted run: {kept} of 32 games are stored"
        in again.stderr.splitlines()
    )
    assert run_command(*arguments[3:], tmp_path / "b", "-q").returncode == 0
    assert (tmp_path / "a/rounds.npz").read_bytes() == (tmp_path / "b/rounds.npz").read_bytes()


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_the_quick_paper_without_data_or_network_says_so_in_one_line_and_finishes(tmp_path):
    environment = os.environ | {
        "KERNELBANDITS_DATA": str(tmp_path / "nowhere"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = run_command(
        "paper", "--quick", "--no-map", "--output", str(tmp_path / "out"), env=environment
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "perovskite" in done.stderr
    assert "not tested" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("argument", "code", "printed", "said"),
    [
        ("--version", 0, "kernelbandits 0.", ""),
        ("rum", 2, "", "error: kernelbandits has no command rum. Did you mean run?"),
    ],
)
def test_a_process_of_its_own_ends_with_the_code_and_the_output_of_the_command(
    argument, code, printed, said
):
    done = subprocess.run(
        [sys.executable, "-m", "kernelbandits", argument], capture_output=True, text=True
    )
    assert done.returncode == code
    assert done.stdout.startswith(printed)
    assert done.stderr.startswith(said)
    here = run_command(argument)
    assert (here.returncode, here.stdout, here.stderr) == (code, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "death", [pytest.param(signal.SIGTERM, marks=pytest.mark.thorough), signal.SIGKILL]
)
def test_no_worker_outlives_a_killed_run(tmp_path, death):
    size = ["--horizon", "3000", "--seeds", "40", "--engine", "numpy", "--workers", "2"]
    arguments = [
        "run",
        "--problem",
        "branin",
        "--policies",
        "random,simple-ucb",
        *size,
        "--output",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelbandits", *arguments], start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(session_of(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(death)
    assert process.wait(timeout=60) == (143 if death == signal.SIGTERM else -9)
    while session_of(process.pid) and time.monotonic() < deadline + 30:
        time.sleep(0.05)
    assert session_of(process.pid) == []


def session_of(leader: int) -> list[int]:
    """The processes of a session, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(stat.parent.name))
    return found


def run_program(*words, folder):
    """The program in a process of its own, as somebody types it."""
    call = [sys.executable, "-m", "kernelbandits", *words]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [("--output", ""), ("--output", " "), ("--output=",)])
def test_an_output_without_a_name_is_refused_and_writes_nothing(tmp_path, words):
    given = ["--problem", "branin", "--policies", "random", "--horizon", "3", "--seeds", "1"]
    done = run_program("run", *given, *words, folder=tmp_path)
    assert done.returncode == 2
    assert "--output needs the name of a file or folder, got" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@pytest.mark.parametrize("long", ["a" * 24_000, "a b " * 6_000])
def test_an_error_quotes_only_the_beginning_of_a_long_argument(tmp_path, long):
    done = run_program("study", "tell", "a.db", "1", long, folder=tmp_path)
    assert done.returncode != 0
    assert len(done.stderr) < 1_000
    done = run_program("list", long, folder=tmp_path)
    assert done.returncode != 0
    assert len(done.stderr) < 1_000


@pytest.mark.thorough
def test_what_was_cut_is_not_cut_again(tmp_path):
    given = ("--real", "a" * 24_000, "--target", "y")
    said = run_program("study", "create", "a.db", *given, folder=tmp_path).stderr
    assert said.count("characters)") == 1
    assert "(24002 characters)" in said


@pytest.mark.thorough
def test_raised_digits_are_not_digits_of_a_number(tmp_path):
    done = run_program("study", "tell", "a.db", "1", "10²", folder=tmp_path)
    assert done.returncode != 0
    assert "102" not in done.stderr


def test_an_error_that_an_interrupt_has_caused_is_an_interrupt():
    def stop_late():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("imported by halves") from interrupt

    with pytest.raises(KeyboardInterrupt):
        exit_code(stop_late)
