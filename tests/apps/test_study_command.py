"""`kernelbandits study` as a person and as a script use it."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from commands import COMMANDS, document, said, study
from kernelbandits.apps.cli import (
    app,
    ask,
    create,
    inspect,
    maintain,
    render,
    table,
    tell,
    undo,
)
from kernelbandits.apps.cli.arguments import read_duration, read_names
from kernelbandits.apps.cli.output import retypable_place
from kernelbandits.codec import to_json_value
from kernelbandits.study.candidates import read_candidates
from kernelbandits.study.values import Waiting
from kernelbandits.tables.workbooks import Sheet, write_workbook

FILMS = """Cs;FA;MA;T (°C);solvent;hours;safe;stability
0,00;0,00;1,00;100;DMF;1;yes;
0,00;0,50;0,50;100;DMSO;1;yes;
0,00;1,00;0,00;120;DMF;2;yes;
0,25;0,25;0,50;100;DMF;1;yes;
0,25;0,50;0,25;120;DMSO;2;no;
0,25;0,75;0,00;100;DMF;1;yes;
0,50;0,00;0,50;120;DMSO;2;yes;
0,50;0,25;0,25;100;DMF;1;yes;
"""
COLUMNS = "Cs,FA,MA,T (°C),solvent"


@pytest.fixture(autouse=True)
def as_wide_as_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal of whoever runs the tests says."""
    monkeypatch.delenv("COLUMNS", raising=False)


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelbandits", "study", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies to copy: just created; with results; and one of 48 rows with nineteen asks."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "films.csv").write_text(FILMS)
    (folder / "many.csv").write_text(
        with_labels(FILMS + "\n".join(f"0,1;0,2;0,{row};90;DMF;1;yes;" for row in range(10, 50)))
    )
    given = ("--columns", COLUMNS, "--target", "stability", "--allowed", "safe")
    said(
        "create",
        folder / "new.db",
        "--candidates",
        folder / "films.csv",
        *given,
    )
    shutil.copy(folder / "new.db", folder / "told.db")
    for row in (0, 1, 2, 3, 5):
        said("tell", folder / "told.db", "--row", row, f"0.{row}1")
    said("tell", folder / "told.db", "--row", "6", "--failed")
    said("ask", folder / "told.db", "--worker", "anna")
    said(
        "create",
        folder / "many.db",
        "--candidates",
        folder / "many.csv",
        "--label",
        "sample",
        *given,
    )
    said("ask", folder / "many.db", "--n", "19")
    return folder


def with_labels(table: str) -> str:
    """The table with a last column sample: A0, A1, ..."""
    first, *rows = table.splitlines()
    return "\n".join([f"{first};sample", *(f"{row};A{i}" for i, row in enumerate(rows))])


@pytest.fixture
def films(shelf: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(shelf / "films.csv", tmp_path))


@pytest.fixture
def place(shelf: Path, films: Path) -> Path:
    """A study that was just created."""
    return Path(shutil.copy(shelf / "new.db", films.with_name("films.db")))


@pytest.fixture
def told(shelf: Path, films: Path) -> Path:
    """One with six results, one of them failed, and one pending trial."""
    return Path(shutil.copy(shelf / "told.db", films.with_name("films.db")))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_and_both_formats(name):
    text = " ".join(
        CliRunner().invoke(app, ["study", name, "--help"], env={"COLUMNS": "300"}).output.split()
    )
    assert f"Examples: kernelbandits study {name} " in text
    assert "--format <text|json> Text to read, or one JSON document." in text
    assert "--quiet -q <bool> Print no notes on standard error." in text


def test_the_overview_shows_all_commands_and_the_exit_codes():
    text = CliRunner().invoke(app, ["study", "--help"], env={"COLUMNS": "200"}).output
    assert all(re.search(rf"│ {name} +[A-Z]", text) for name in COMMANDS)
    assert "Exit codes: 0 done, 1 refused, 2 wrong argument, 74 storage problem." in " ".join(
        text.split()
    )
    assert "study" in CliRunner().invoke(app, ["--help"]).output


def examples() -> list[str]:
    modules = (create, ask, tell, table, undo, inspect, maintain)
    texts = [
        text
        for module in modules
        for name, text in vars(module).items()
        if name.isupper() and isinstance(text, str)
    ]
    return [
        line.strip()
        for text in texts
        for line in text.splitlines()
        if line.startswith("    kernelbandits study ")
    ]


@pytest.mark.parametrize(
    "example", [line for line in examples() if "postgresql" not in line and " plot " not in line]
)
def test_every_example_of_the_help_works(example, shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shelf / "many.csv", "films.csv")
    words = shlex.split(example.partition("|")[0])[2:]
    if words[0] != "create":
        shutil.copy(shelf / "many.db", "films.db")
    Path("space.toml").write_text('[variables]\nrate = "real 1e-5:0.1 log"\n')
    np.save("similarity.npy", np.eye(3))
    Path("names.txt").write_text("aspirin\ncaffeine\nsalol\n")
    Path("reactions.csv").write_text("ligand,T\nXPhos,60\nSPhos,60\nXPhos,80\nSPhos,80\n")
    Path("ligands.csv").write_text("ligand,cone angle\nXPhos,256\nSPhos,240\nPPh3,145\n")
    if "--learn-from" in words:
        Path("first.csv").write_text("row,stability\n1,0.5\n")
        shutil.copy(shelf / "told.db", "old.db")
    if words[0] in ("tell", "change") and "brew.db" in words:
        name = "temperature" if words[0] == "tell" else "heat"
        space = ("--real", f"{name}=20:90", "--choice", "solvent=DMF,water")
        said("create", "brew.db", *space, "--target", "yield")
        if "17" in words:
            said("ask", "brew.db", "--n", "17")
    if "solar.db" in words:
        several = ("--target", "stability:minimize", "--target", "efficiency", "--label", "sample")
        said("create", "solar.db", "--candidates", "films.csv", *several)
        if words[0] == "correct":
            said("tell", "solar.db", "--row", "1", "--value", "stability=0.5")
    elif words[0] in ("correct", "withdraw"):
        said("tell", "films.db", *(["--label", "A7"] if "--label" in words else ["17"]), "0.5")
    if words[0] == "add":
        extra = ",additive\n0.1,0.1,0.1,90,DMF,1,yes,,C1,KI\n"
        Path("more.csv").write_text(FILMS.partition("\n")[0].replace(";", ",") + ",sample" + extra)
    if words[0] == "forbid" and "A4" in words:
        said("allow", "films.db", "--label", "A4")
    if words[0] == "explain" and "--label" in words:
        said("ask", "films.db", "--n", "28")
    if words[0] == "undo":
        for _ in range(3):
            said("ask", "films.db")
    if words[0] == "tell":
        Path("results.csv").write_text("row,stability\n1,0.5\n")
    sheets = [Sheet("Films", ["Cs", "stability"], [[0.1, None]]), Sheet("Notes", ["a"], [[1]])]
    write_workbook("films.xlsx", sheets, force=True)
    write_workbook("results.xlsx", [Sheet("May", ["row", "stability"], [[1, 0.5]])], force=True)
    if words[0] == "tell" and "--sheet" in words:
        said("sheet", "films.db", "plate.xlsx")
    done = study(*words)
    assert done.code == 0, done.err


@pytest.mark.thorough
def test_a_whole_session_on_either_back_end(where, films):
    created = document(
        "create", where, "--candidates", films, "--columns", COLUMNS, "--target", "stability"
    )
    assert (created["rows"], created["columns"], created["direction"]) == (
        8,
        COLUMNS.split(","),
        "maximize",
    )
    first, second = document("ask", where, "--n", 2, "--worker", "anna")
    assert set(first) >= {"trial", "row", "x", "why"}
    assert (first["trial"], second["trial"], first["worker"]) == (1, 2, "anna")
    assert list(first["x"]) == COLUMNS.split(",")
    assert first["row"] != second["row"]
    assert [one["trial"] for one in document("ask", where, "--n", 2, "--worker", "anna")] == [1, 2]
    assert document("tell", where, 1, "-0.5") | {"seq": 0} == {
        "trial": 1, "row": first["row"], "value": -0.5, "accepted": True, "key": None, "seq": 0,
        "settles": None, "waiting": [], "x": first["x"], "label": {"line": str(first["row"] + 2)}, "sem": None, "replicates": [],
        "missing": False, "failed": False, "asked": None, "beyond": "", "combined": False,
        "broken": [],
        "values": None, "needs": [], "corrected": False, "was": None,
        "notices": [],
    }  # fmt: skip
    assert document("tell", where, 2, "--failed")["value"] is None
    assert document("tell", where, "--row", 7, "0.83", "--key", "k")["trial"] == 3
    assert document("tell", where, "--row", 7, "0.83", "--key", "k") == document(
        "tell", where, "--row", 7, "0.83", "--key", "k"
    )
    other = study("tell", where, "--row", 7, "0.83", "--sem", "0.1", "--key", "k")
    assert (other.code, other.out) == (1, "")
    assert "tell needs a new key for a new call, got 'k', the key of event" in other.err
    found = document("status", where)
    assert (found["told"], found["pending"], found["failed"]) == (2, 0, 1)
    assert set(found["best"]) >= {"row", "mean", "low", "high", "probability"}
    assert found["best"]["low"] < found["best"]["mean"] < found["best"]["high"]
    assert document("correct", where, 1, "-0.25", "--reason", "typo")["value"] == -0.25
    assert document("undo", where)["body"]["kind"] == "corrected"
    assert document("withdraw", where, 1)["kind"] == "withdrawn"
    document("ask", where)
    assert document("release", where, 4)["kind"] == "released"
    assert document("change", where, "--lease", "2h")["body"]["settings"]["lease"] == 7200
    kinds = [event["kind"] for event in document("history", where) if not event["body"].get("auto")]
    assert kinds == [
        "created", "asked", "asked", "told", "failed", "told", "corrected", "undone", "withdrawn", "fitted", "asked", "released",
        "settings",
    ]  # fmt: skip
    assert document("replay", where, "--at", 4)["same"] is True
    assert document("explain", where, 4)["trial"] == 4
    assert all(finding["ok"] for finding in document("doctor", where))


def test_the_same_session_in_processes_of_their_own(films):
    def step(*arguments: object) -> Any:
        done = process(*arguments, "--format", "json", cwd=films.parent)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    step(
        "create",
        "films.db",
        "--candidates",
        "films.csv",
        "--columns",
        "Cs,FA,MA",
        "--target",
        "stability",
        "-q",
    )
    (asked,) = step("ask", "films.db")
    assert step("tell", "films.db", asked["trial"], "-1e-3")["accepted"] is True
    assert step("status", "films.db")["told"] == 1


def test_a_result_that_is_a_limit_is_typed_and_shown(place):
    assert "<0.5" in said("tell", place, "--row", "3", "<0,5")
    assert ">9" in said("tell", place, "--row", "4", "--value", ">9")
    assert "<0.4" in said("correct", place, "1", "<0.4")
    assert "<0.4" in said("history", place)
    limits = [one["body"].get("beyond") for one in document("history", place)]
    assert [one for one in limits if one] == [{"stability": side} for side in "<><"]


def test_ask_shows_the_row_why_and_what_to_type_next(place):
    text = said("ask", place, "--worker", "anna", "--lease", "2h")
    assert re.search(r"trial +line +Cs +FA +MA +T \(°C\) +solvent", text)
    assert re.search(r"\n +1 +\d ", text)
    assert "Why: Part of the initial design" in text
    assert "Reserved for anna until 20" in text
    assert f"kernelbandits study tell {place} 1 VALUE   (or --failed)" in text


def test_the_line_that_ask_prints_may_be_typed(place):
    text = said("ask", place)
    words = shlex.split(re.search(r"kernelbandits study (tell .*) VALUE", text)[1])
    assert "0.5 recorded" in said(*words, "0.5")


def test_reasons_of_a_batch_are_said_once_each(told):
    text = said("ask", told, "--n", 3)
    said_of = [line for line in text.splitlines() if line.startswith("Why trial ")]
    assert 1 <= len(said_of) <= 3
    assert re.search(r"estimate|Estimate", text)


def test_status_reads_like_a_short_report(told):
    text = " ".join(said("status", told).split())
    assert "maximize stability, 8 candidates" in text
    assert "results 5 results and 1 failure on 5 of 8 candidates, 1 pending, 1 not allowed" in text
    assert re.search(
        r"likely best line \d+ \(Cs .*\): [-0-9.]+, 95 % interval \[.*\]; the best with probability",
        text,
    )
    assert "may I stop? If you stop with line" in text
    assert "how much you are willing to lose: kernelbandits study change " in text
    assert re.search(
        r"pending trial 7, line \d+ \(.*\): asked for by anna (just now|\d+ seconds? ago)", text
    )
    assert f"kernelbandits study tell {told} 7 VALUE" in text


def test_status_shows_the_model_only_with_details(told):
    short = said("status", told)
    for word in ("engthscale", "guarantee    ", "policy", "noise sd", "width"):
        assert word not in short
    text = " ".join(said("status", told, "--details").split())
    assert re.search(r"scale the policy works with \(stability - [0-9.]+\) / ", text)
    assert "policy auto" in text
    assert "goal find the best row. Nothing is claimed about the results on the way." in text
    assert "No guarantee: the goal is the best answer in the end" in text
    assert "Lengthscales" in text


def test_status_of_a_new_study_says_that_nothing_is_known(place):
    text = said("status", place)
    assert "no results yet" in text
    assert document("status", place)["best"] is None


def test_those_who_wait_are_shown_the_longest_first_and_not_all_of_them():
    found = [Waiting(n, 0, {"x": 1.0}, None, 100.0 * n, n > 19) for n in range(1, 21)]
    table = read_candidates([[1.0], [2.0]])
    (lines,) = (text.splitlines() for text in render.list_pending(found, table).values())
    assert (
        lines[0]
        == "trial 20, row 0 (x 1): asked for 33 minutes ago; its lease has ended, so its row can be suggested again"
    )
    assert lines[1] == "trial 19, row 0 (x 1): asked for 32 minutes ago"
    assert lines[-1] == "… 8 more"


def test_history_shows_one_line_for_each_event_and_only_the_last_with_a_limit(told):
    rows = [line.split() for line in said("history", told).splitlines()]
    assert [rows[2][0], *rows[2][3:5]] == ["1", "study", "created:"]
    assert any(row[3:] == ["trial", "1", "(line", "2):", "result", "0.01"] for row in rows)
    assert any(row[3:5] + row[7:] == ["trial", "7", "suggested", "anna"] for row in rows)
    last = said("history", told, "--limit", 2)
    assert "earlier events not shown; a larger --limit shows more" in last
    assert [event["seq"] for event in document("history", told, "--limit", 2)] == [13, 14]


def test_history_says_what_was_undone_why_it_was_corrected_and_by_which_key(told):
    said("tell", told, "7", "0.4", "--key", "run-a")
    said("correct", told, "7", "0.5", "--reason", "digits swapped")
    said("undo", told)
    text = " ".join(said("history", told).split())
    assert "key run-a" in text
    assert "digits swapped" in text
    assert "event 16 (corrected, trial 7, 0.5) undone" in text
    assert not re.search("[0-9a-f]{32}", text)


def test_undo_says_what_it_undid(told):
    assert re.match(r"Undone: the ask of trial 7\. Line \d+ can be suggested", said("undo", told))
    (asked,) = document("ask", told)
    said("tell", told, asked["trial"], "0.25")
    named = f"trial {asked['trial']} (line {asked['row'] + 2})"
    assert f"Undone: {named}: result 0.25. The trial has no result" in said("undo", told)
    said("correct", told, 1, "21.5")
    assert said("undo", told) == (
        "Undone: trial 1 (line 2): corrected to 21.5. Its result is 0.01 again.\n"
    )
    said("correct", told, 1, "--failed")
    assert "trial 1 (line 2): corrected to a failure. Its result is 0.01 again." in said(
        "undo", told
    )
    said("withdraw", told, 1)
    assert said("undo", told) == (
        "Undone: trial 1 (line 2): result withdrawn. Its result is 0.01 again.\n"
    )
    said("change", told, "--tolerance", "0.1")
    assert said("undo", told).startswith("Undone: settings changed: tolerance 0.1.")


def test_undo_of_a_step_that_is_not_the_last_is_refused(told):
    seen = document("correct", told, 1, "21.5")["seq"]
    assert "corrected to 21.5" in said("undo", told, "--event", seen)
    again = study("undo", told, "--event", seen)
    assert again.code == 1
    assert f"undo needs the last step, got event {seen}; the last step is now event" in again.err


def test_estimates_are_best_first_by_the_direction(told, films):
    found = document("estimates", told)
    assert len(found) == 8
    means = [row["mean"] for row in found]
    assert means == sorted(means, reverse=True)
    assert len(document("estimates", told, "--top", 3)) == 3
    assert "3 of 8 candidates, the best estimate first." in said("estimates", told, "--top", 3)
    other = told.with_name("least.db")
    said("create", other, "--candidates", films, "--target", "stability", "--direction", "minimize")
    for row, value in enumerate(("2.5", "1.5", "-0.5", "0.5")):
        said("tell", other, "--row", row, value)
    means = [row["mean"] for row in document("estimates", other)]
    assert means == sorted(means)
    assert means[0] < means[-1]


def test_export_writes_the_trials_and_keeps_a_file_that_is_there(told):
    out = told.with_name("out.csv")
    assert document("export", told, out) == {"path": str(out), "trials": 7}
    rows = list(csv.DictReader(out.open(encoding="utf-8-sig")))
    assert [row["state"] for row in rows] == ["told"] * 5 + ["failed", "pending"]
    out.write_text("mine")
    done = study("export", told, out)
    assert (done.code, out.read_text()) == (1, "mine")
    assert (
        done.err
        == f"error: an export needs a new file, got {out}, which exists; --force (force=True) replaces it\n"
    )
    said("export", told, out, "--force")
    assert said("export", told, "-").encode() == out.read_bytes()
    assert [row["trial"] for row in document("export", told, "-")] == [1, 2, 3, 4, 5, 6, 7]
    assert document("export", told, "-")[0]["told_at"].startswith("20")


def test_results_of_a_file_are_told_all_at_once_and_may_be_told_again(place):
    file = place.with_name("results.csv")
    file.write_text("row,stability\n1,0.5\n2,-0.25\n")
    assert said("tell", place, "--csv", file) == "2 results recorded.\n"
    again = document("tell", place, "--csv", file)
    assert [(one["trial"], one["value"], one["accepted"]) for one in again] == [
        (1, 0.5, False),
        (2, -0.25, False),
    ]
    assert said("tell", place, "--csv", file) == "0 results recorded, 2 already stored.\n"
    file.write_text("row,stability\n3,0.5\n4,oops\n")
    assert study("tell", place, "--csv", file).code == 2
    assert document("status", place)["told"] == 2


def test_a_second_result_is_refused_with_the_stored_one(told):
    said("tell", told, 7, "0.25")
    done = study("tell", told, 7, "0.75", "--format", "json")
    assert (done.code, json.loads(done.out)) == (1, {"trial": 7, "value": 0.25, "accepted": False})
    assert "got trial 7, which already has the result 0.25" in done.err
    assert study("tell", told, 7, "0.75").out == ""


@pytest.mark.thorough
def test_of_two_who_tell_at_once_one_wins_and_both_learn_the_stored_value(place):
    said("ask", place)
    arguments = [sys.executable, "-m", "kernelbandits", "study", "tell", str(place), "1"]
    racers = [
        subprocess.Popen([*arguments, value, "--format", "json"], stdout=-1, stderr=-1)
        for value in ("1.5", "2.5")
    ]
    outputs = [racer.communicate(timeout=120) for racer in racers]
    outputs = [json.loads(out) for out, _ in outputs]
    assert sorted(racer.returncode for racer in racers) == [0, 1]
    assert sorted(found["accepted"] for found in outputs) == [False, True]
    assert len({found["value"] for found in outputs}) == 1


def test_changing_one_setting_of_a_policy_keeps_its_others(place):
    said(
        "change",
        place,
        "--policy",
        "simple-bernoulli:p=0.25",
        "--noise-scale",
        "0.1",
        "--norm-bound",
        "2",
    )
    settings = document("change", place, "--norm-bound", "3", "--kernel", "rbf:0.4")["body"][
        "settings"
    ]
    assert settings["settings"] == {"p": 0.25, "noise_scale": 0.1, "norm_bound": 3.0}
    settings = document(
        "change", place, "--policy", "amm-ucb", "--noise-scale", "1", "--norm-bound", "1"
    )["body"]["settings"]
    assert settings["settings"] == {"noise_scale": 1.0, "norm_bound": 1.0}
    assert (
        document("change", place, "--no-repeats", "--seed", "7")["body"]["settings"]["repeats"]
        is False
    )


def test_all_options_of_create_reach_the_study(films):
    place = films.with_name("all.db")
    options = shlex.split(
        "--columns Cs,T,solvent --log T --linear Cs --target stability --direction minimize --cost hours --allowed safe --lease 90s --seed 5 "
        "--policy 'generic-gp:exploration=gaussian(0.5,1)' --kernel matern:0.3,1.5 --noise-scale 0.1 --norm-bound 2 "
        "--ridge 0.5 --delta 0.05 --no-repeats --centre -0.5 --spread 2 --tolerance 0.1"
    )
    said("create", place, "--candidates", films, *options)
    with kb.Study.open(place) as opened:
        settings, table = opened.settings, opened.candidates
    assert (table.chosen, table.log) == (("Cs", "T (°C)", "solvent"), ("T (°C)",))
    assert (table.cost, table.allowed) == ("hours", "safe")
    numbers = {
        "lease": 90.0,
        "seed": 5,
        "delta": 0.05,
        "centre": -0.5,
        "spread": 2.0,
        "tolerance": 0.1,
        "repeats": False,
    }
    assert {name: settings[name] for name in numbers} == numbers
    own = settings["settings"]
    assert (settings["policy"], own["noise_scale"], own["norm_bound"], own["ridge"]) == (
        "generic-gp",
        0.1,
        2.0,
        0.5,
    )
    assert [one["direction"] for one in settings["targets"]] == ["minimize"]


def test_repeats_are_the_default_of_the_policy_wanted_or_forbidden(films):
    for options, repeats in (([], None), (["--repeats"], True), (["--no-repeats"], False)):
        place = films.with_name(f"{repeats}.db")
        said("create", place, "--candidates", films, "--target", "value", *options)
        with kb.Study.open(place) as opened:
            assert opened.settings["repeats"] is repeats
    for option, repeats in (
        ("--repeats", True),
        ("--no-repeats", False),
        ("--default-repeats", None),
    ):
        assert document("change", place, option)["body"]["settings"]["repeats"] is repeats
    assert document("status", place)["repeats"].startswith("when one more measurement of a row")
    said("change", place, "--goal", "earn")
    assert "only when every allowed row has a result or is pending" in said(
        "status", place, "--details"
    )
    assert document("status", place)["repeats"].startswith("only when every allowed row")
    done = study("change", place, "--repeats", "--default-repeats")
    assert done.code == 2
    assert "one of --repeats, --no-repeats and --default-repeats" in done.err


def test_auto_takes_settings_too(films):
    place = films.with_name("auto.db")
    said(
        "create",
        place,
        "--candidates",
        films,
        "--target",
        "value",
        "--policy",
        "auto:width=theory,first=3",
    )
    with kb.Study.open(place) as opened:
        assert opened.settings["settings"] == {"width": "theory", "first": 3}


def test_or_open_takes_the_study_that_is_there(place, films):
    given = (
        "create",
        place,
        "--candidates",
        films,
        "--columns",
        COLUMNS,
        "--target",
        "stability",
        "--allowed",
        "safe",
    )
    assert study(*given).code == 1
    assert study(*given, "--or-open").out.startswith("Created")
    assert study("ask", place).code == 0
    assert study(*given, "--or-open").out.startswith("Opened")
    assert study(*given, "--or-open", "--seed", "3").code == 1


def test_what_was_noticed_in_the_file_is_said_on_standard_error_and_not_with_quiet(films):
    films.write_text("a,b,value\n1,5,\n2,5,\n2,5,\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        loud = study("create", films.with_name("a.db"), "--candidates", films, "--target", "value")
        quiet = study(
            "create", films.with_name("b.db"), "--candidates", films, "--target", "value", "--quiet"
        )
    assert all(line.startswith("note: ") for line in loud.err.splitlines())
    assert "b" in loud.err
    assert (loud.code, quiet.code, quiet.err) == (0, 0, "")
    found = study(
        "create",
        films.with_name("c.db"),
        "--candidates",
        films,
        "--target",
        "value",
        "-q",
        "--format",
        "json",
    )
    assert (found.err, len(found.document["notices"]) > 0) == ("", True)


def test_a_place_may_stand_in_the_environment(place, monkeypatch):
    monkeypatch.setenv("FILMS", str(place))
    assert "kernelbandits study tell env:FILMS 1 VALUE" in said("ask", "env:FILMS")


def test_replay_that_differs_ends_with_exit_code_one(told, monkeypatch):
    honest = kb.Study.replay
    monkeypatch.setattr(kb.Study, "replay", lambda self, trial: changed(honest(self, trial)))
    done = study("replay", told, "--at", 7, "--format", "json")
    assert (done.code, json.loads(done.out)["same"]) == (1, False)


def changed(found: Any) -> Any:
    from dataclasses import replace

    return replace(found, same=False)


def test_explain_shows_the_row_beside_the_greedy_one(told):
    said("change", told, "--goal", "earn")
    said("tell", told, 7, "0.2")
    trial = document("ask", told, "--n", 2)[-1]["trial"]
    text, found = said("explain", told, trial), document("explain", told, trial)
    assert re.search(rf"suggested +{found['row'] + 2} ", text)
    assert ("best estimate " in text) == (found["greedy"] != found["row"])
    assert re.search(r"gain +\d", text)
    assert re.search(r"horizon +31", text)
    assert found["horizon"] == 31
    assert set(found) >= {
        "mean",
        "sd",
        "gain",
        "weight",
        "width",
        "greedy",
        "greedy_x",
        "chance",
        "sentence",
    }


def test_a_backup_is_a_study_of_its_own(told):
    copy = told.with_name("copy.db")
    assert document("backup", told, copy)["target"] == str(copy)
    assert (
        document("status", copy) | {"place": ""} | aged
        == document("status", told) | {"place": ""} | aged
    )
    assert study("backup", told, copy).code in (1, 74)


aged = {"waiting": None}


def test_salvage_of_an_intact_study_saves_all_of_it(told):
    new = told.with_name("new.db")
    found = document("salvage", told, new)
    assert found["lost"] == []
    assert document("status", new)["told"] == 5


def test_a_lost_table_is_read_again_from_the_file_of_the_candidates(told, films):
    with closing(sqlite3.connect(told)) as connection, connection:
        connection.execute("DELETE FROM candidates WHERE id = 1")
    new = told.with_name("new.db")
    refused = study("salvage", told, new)
    assert refused.code == 74
    assert "salvage --candidates takes the file that the study was created from" in refused.err
    assert document("salvage", told, new, "--candidates", films)["lost"] == []
    assert document("status", new)["told"] == 5
    films.write_text(films.read_text().replace("0", "1"))
    assert study("salvage", told, told.with_name("other.db"), "--candidates", films).code == 74


@pytest.mark.thorough
def test_plot_writes_the_figure(told):
    figure = told.with_name("films.svg")
    assert document("plot", told, figure)["path"] == str(figure)
    assert figure.read_text().lstrip().startswith("<")


def test_wide_tables_of_candidates_show_the_first_columns(films):
    names = [f"c{number}" for number in range(30)]
    films.write_text(
        "\n".join(
            [",".join(names), *(",".join([str(n * k % 7) for k in range(30)]) for n in range(1, 5))]
        )
    )
    place = films.with_name("wide.db")
    said("create", place, "--candidates", films, "--target", "value")
    assert re.search(r"c7 +… 2\d more", said("ask", place))
    assert len(document("ask", place)[0]["x"]) >= 28


def test_text_of_the_table_cannot_steer_the_terminal(films):
    films.write_text('a,b\n1,"\x1b[31mred\nline"\n2,\u202eevil\n3,[bold]x[/]\n')
    place = films.with_name("evil.db")
    said("create", place, "--candidates", films, "--target", "value", "--columns", "a,b")
    for text in (
        said("ask", place, "--n", 3),
        said("status", place),
        said("estimates", place),
        said("export", place, "-"),
    ):
        assert "[bold]x[/]" in text
        assert ("\x1b" in text, "\u202e" in text) == (text.startswith("trial,"),) * 2


@pytest.mark.thorough
def test_a_command_does_not_load_what_it_does_not_need(place):
    heavy = "[name for name in ('matplotlib', 'numba', 'scipy.stats', 'pandas', 'psycopg') if name in sys.modules]"
    code = f"""
import sys
from kernelbandits.apps.cli import app
for words in (["ask", {str(place)!r}], ["tell", {str(place)!r}, "1", "0.5"], ["status", {str(place)!r}]):
    app(["study", *words], standalone_mode=False)
print(*{heavy}, "end")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "end", done.stderr


@pytest.mark.thorough
def test_a_narrow_encoding_gets_escapes_in_place_of_an_error(place):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = process("status", place, env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    (found,) = json.loads(process("ask", place, "--format", "json", env=environment).stdout)
    assert "T (°C)" in found["x"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604800), ("3600", 3600), ("1.5h", 5400)],
)
def test_durations_are_read_with_and_without_a_unit(text, seconds):
    assert read_duration("--lease", text) == seconds


def test_a_place_is_printed_as_it_was_typed_unless_it_holds_a_password():
    assert retypable_place("postgresql://ann:secret@lab/db") == "PLACE"
    assert retypable_place("postgresql://lab/db?user=ann&password=secret") == "PLACE"
    assert retypable_place("postgresql://ann@lab/db") == "postgresql://ann@lab/db"
    assert retypable_place("env:FILMS") == "env:FILMS"


def test_numbers_that_json_has_not_are_null():
    assert to_json_value(
        {"a": [float("nan"), np.float64("inf"), np.int64(3), True], "b": (1.5, None)}
    ) == {
        "a": [None, None, 3, True],
        "b": [1.5, None],
    }


@pytest.mark.parametrize(
    "words", [("status",), ("history",), ("estimates",), ("explain", "7"), ("export", "-")]
)
def test_commands_that_only_look_open_the_study_for_reading(told, words, monkeypatch):
    opened, honest = [], kb.Study.open
    monkeypatch.setattr(
        kb.Study, "open", lambda where, **given: opened.append(given) or honest(where, **given)
    )
    said(words[0], told, *words[1:])
    assert opened == [{"writable": False}]


def test_names_of_columns_may_hold_commas_in_quotation_marks():
    assert read_names("--columns", 'Cs, "T, °C",MA') == ["Cs", "T, °C", "MA"]


NAMED = "film,Cs,FA,hours,y\nA1,0,1,2,\nA2,0.5,0.5,3.5,\nA3,0.25,0.5,3,\nA4,0.25,0.5,4,\n"


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A study of three different candidates in four rows, with labels and costs."""
    place = tmp_path / "named.db"
    (tmp_path / "named.csv").write_text(NAMED)
    said(
        "create",
        place,
        "--candidates",
        tmp_path / "named.csv",
        "--target",
        "y",
        "--cost",
        "hours",
        "-q",
    )
    return place


def test_what_the_table_calls_a_row_stands_right_after_it_and_its_cost_at_the_end(named):
    asked = document("ask", named, "--n", 2)
    lines = said("ask", named).splitlines()
    assert re.fullmatch(r"trial +film +Cs +FA +hours *", lines[0])
    cells = {row: line.split(",") for row, line in enumerate(NAMED.splitlines()[1:])}
    trial, film, *_, hours = lines[2].split()
    [own] = [one for one in cells.values() if one[0] == film]
    assert (trial, hours) == ("3", own[3])
    assert all(one["label"] == {"film": cells[one["row"]][0]} for one in asked)
    said("tell", named, 1, "0.5")
    label = f"{cells[asked[0]['row']][0]} (Cs "
    text = " ".join(said("status", named).split())
    assert f"Best estimate so far: {label}" in text
    assert f"trial 2, {cells[asked[1]['row']][0]} (Cs " in text
    assert re.match(r" *film +Cs +FA +results", said("estimates", named))
    assert list(document("estimates", named)[0])[:3] == ["row", "film", "Cs"]
    assert (
        document("estimates", named)[0]["film"] == cells[document("estimates", named)[0]["row"]][0]
    )


def test_status_counts_failures_and_different_candidates(named):
    for row in (0, 0, 2, 3):
        said("tell", named, "--row", row, "0.5", "--key", f"k{row}{os.urandom(4).hex()}")
    said("tell", named, "--row", 1, "--failed")
    text = " ".join(said("status", named).split())
    assert "maximize y, 3 different candidates (4 rows)" in text
    assert (
        "results 4 results and 1 failure on 2 of 3 different candidates (4 rows), 0 pending" in text
    )


def test_asking_for_more_rows_than_are_free_is_said(named):
    assert study("ask", named, "--n", 3, "--worker", "a").err == ""
    said("release", named, "--all")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = study("ask", named, "--n", 5)
    note = "note: 5 rows were asked for, but only 3 different candidates could be suggested; some come more than once\n"
    assert (done.code, done.err) == (0, note)
    assert study("ask", named, "--n", 5, "-q").err == ""


def test_several_trials_are_released_at_once(shelf, tmp_path):
    place = Path(shutil.copy(shelf / "many.db", tmp_path))
    assert document("release", place, 1)["trial"] == 1
    assert [event["trial"] for event in document("release", place, 2, 4)] == [2, 4]
    assert [event["trial"] for event in document("release", place, "3-5", "7-7")] == [3, 5, 7]
    assert [event["kind"] for event in document("release", place, "8-8", "9")] == ["released"] * 2
    (asked,) = document("ask", place, "--worker", "anna")
    (mine,) = document("release", place, "--all", "--worker", "anna")
    assert mine["trial"] == asked["trial"]
    assert (
        said("release", place, "--all", "--worker", "anna")
        == "No trial of anna is pending, so none was released.\n"
    )
    left = [one["trial"] for one in document("status", place)["waiting"]]
    assert left == [6, *range(10, 20)]
    assert said("release", place, "10-19") == "10 trials are released: 10-19.\n"
    assert [event["trial"] for event in document("release", place, "--all")] == [6]
    assert document("release", place, "--all") == []


def test_several_events_are_undone_at_once_the_last_first(told):
    said("tell", told, 7, "0.4")
    said("correct", told, 7, "0.5")
    found = document("undo", told, "--n", 2)
    assert [event["body"]["kind"] for event in found] == ["corrected", "told"]
    assert [event["body"]["kind"] for event in document("undo", told, "--n", 1)] == ["asked"]
    done = study("undo", told, "--n", 99, "--format", "json")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: undo needs at most 6 steps, because no more can be undone, got 99\n"
    assert len(document("undo", told, "--n", 6)) == 6
    assert study("undo", told, "--n", 1).err.startswith(
        "error: undo needs an event that can be undone"
    )


def test_a_result_is_corrected_to_a_failure_and_back(told):
    event = document("correct", told, 1, "--failed", "--reason", "wrong film")
    assert (event["kind"], event["value"]) == ("corrected", None)
    assert document("status", told)["failed"] == 2
    assert said("correct", told, 1, "--failed") == "Nothing was changed.\n"
    said("correct", told, 1, "0.25")
    assert document("status", told)["failed"] == 1
    assert said("correct", told, 1, "--failed").startswith("Trial 1 now counts as failed (event ")


@pytest.mark.thorough
def test_plot_marks_a_trial_and_says_that_it_replaced_a_file(told):
    figure = told.with_name("films.svg")
    assert document("plot", told, figure, "--what", "posterior", "--trial", 7)["replaced"] is False
    marked = figure.read_text()
    assert study("plot", told, figure, "--what", "posterior").code == 1
    again = said("plot", told, figure, "--what", "posterior", "--force")
    assert again == f"Written to {figure} (replaced)\n"
    assert figure.read_text() != marked


@pytest.mark.parametrize(
    ("name", "text"),
    [("plot", "dependence, posterior, weights"),
     ("create", "(index - best estimate) / cost"),
     ("undo", "corrections, withdrawals and changes of settings or of the table can be undone, and an ask while its trial is pending"),
     ("ask", "A file, postgresql://user@host/db?study=name, or env:NAME.")],
)  # fmt: skip
def test_the_help_says_what_there_is(name, text):
    shown = CliRunner().invoke(app, ["study", name, "--help"], env={"COLUMNS": "400"}).output
    assert text in " ".join(shown.split())
    assert "no password is visible" not in shown
    assert "no password is visible" in " ".join(
        CliRunner().invoke(app, ["study", "--help"]).output.split()
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_studies_of_a_database_are_listed_and_a_file_has_one(kind, films, request, monkeypatch):
    # A short path: a long one is broken over lines of the terminal.
    monkeypatch.chdir(films.parent)
    where = "films.db"
    if kind == "postgresql":
        database = request.getfixturevalue("database")
        where = f"{database}&study=films"
        said(
            "create",
            f"{database}&study=more",
            "--candidates",
            films,
            "--target",
            "value",
            "--columns",
            "Cs",
            "-q",
        )
    said("create", where, "--candidates", films, "--target", "value", "--columns", "Cs,FA", "-q")
    said("ask", where)
    name = "films" if kind == "postgresql" else where
    (one,) = (found for found in document("list", where) if found["name"] == name)
    assert (one["rows"], one["events"]) == (8, 2)
    assert one["since"] == document("history", where)[0]["at"]
    assert re.search(rf"{re.escape(name)} +8 +2 +20\d\d-", said("list", where))
    assert len(document("list", where)) == (2 if kind == "postgresql" else 1)


def test_a_study_in_a_database_is_called_by_its_name_and_a_missing_one_names_the_others(
    database, films
):
    place = f"{database}&study=tune"
    assert said(
        "create", place, "--candidates", films, "--target", "value", "--columns", "Cs,FA", "-q"
    ).startswith("Created tune: 8 candidates")
    assert said("status", place).startswith("tune: maximize value, 8 candidates")
    done = study("status", database)
    assert done.code == 74
    assert re.search(r"there is no study .*; there are: tune", done.err)
    assert [one["name"] for one in document("list", database)] == ["tune"]


def test_a_command_to_type_has_no_masked_password_in_it(postgres, films, monkeypatch):
    place = f"{postgres}&study=secret&password=geheim"
    text = said(
        "create", place, "--candidates", films, "--target", "value", "--columns", "Cs,FA", "-q"
    ) + said("ask", place)
    assert "kernelbandits study ask PLACE\n" in text
    assert "kernelbandits study tell PLACE 1 VALUE" in text
    assert "***" not in text + said("status", place)
    monkeypatch.setenv("TUNE", place)
    assert "kernelbandits study ask env:TUNE " in said("status", "env:TUNE")


@pytest.mark.parametrize(
    ("place", "text"),
    [("postgresql://ann@/db?host=%2Ftmp%2Fpg&study=tune", "tune"), ("films.db", "films.db"), ("a?study=b", "a?study=b"),
     ("postgresql://ann@h/db?study=tune&host=x", "tune")],
)  # fmt: skip
def test_a_study_is_called_by_its_name_or_its_file(place, text):
    assert render.title(place) == text


def test_the_doctor_reports_how_writers_write(place):
    (journal,) = (one["sentence"] for one in document("doctor", place) if one["what"] == "journal")
    assert journal == "journal mode delete, synchronous 3"


TWINS = """Cs,FA
0.1,0.9
0.5,0.5
0.1,0.9
0.9,0.1
"""


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """A study in which rows 0 and 2 are the same candidate, and trial 1 of it is pending."""
    (tmp_path / "twins.csv").write_text(TWINS)
    place = tmp_path / "twins.db"
    said("create", place, "--candidates", tmp_path / "twins.csv", "--target", "stability")
    while not {one["row"] for one in document("status", place)["waiting"]} & {0, 2}:
        said("ask", place)
    return place


def pending_twin(place: Path) -> tuple[int, int]:
    """The pending trial of the twins, and the row of the other one."""
    [one] = [one for one in document("status", place)["waiting"] if one["row"] in (0, 2)]
    return one["trial"], 2 - one["row"]


def test_telling_a_row_says_which_pending_trial_of_its_candidate_it_settled(twins):
    trial, other = pending_twin(twins)
    text = said("tell", twins, "--row", other, "0.5", "--key", "k")
    twin = "Cs 0.1, FA 0.9"
    assert text == (
        f"Trial {trial}, line {4 - other} ({twin}): 0.5 recorded. "
        f"Trial {trial} was pending for this candidate; this is its result.\n"
    )
    # The same call again says the same.
    assert said("tell", twins, "--row", other, "0.5", "--key", "k") == text
    assert document("tell", twins, "--row", other, "0.5", "--key", "k")["settles"] == trial


def test_telling_a_row_says_that_a_worker_has_a_pending_trial_of_its_candidate(twins):
    trial, other = pending_twin(twins)
    said("release", twins, trial)
    [again] = document("ask", twins, "--worker", "anna")
    while again["row"] not in (0, 2):
        *_, again = document("ask", twins, "--worker", "anna", "--n", again["trial"])
    told = document("tell", twins, "--row", other, "0.5")
    assert (told["settles"], told["waiting"]) == (None, [again["trial"]])
    assert told["trial"] > again["trial"]
    text = said("tell", twins, "--row", other, "0.6")
    assert f"Trial {again['trial']} of the same candidate is still pending" in text


def test_a_file_of_rows_names_the_pending_trials_that_it_settled(twins, tmp_path):
    trial, other = pending_twin(twins)
    (tmp_path / "results.csv").write_text(f"row,stability\n{other},0.5\n")
    text = said("tell", twins, "--csv", tmp_path / "results.csv")
    assert text == f"1 result recorded. Pending trials that got the result of a row: {trial}.\n"


def test_a_suggestion_that_repeats_a_row_says_so_wherever_it_is_explained(twins):
    for row, value in enumerate((0.4, 0.5, 0.6, 0.3)):
        said("tell", twins, "--row", row, value)
    asked = document("ask", twins, "--worker", "anna")[0]
    before = 2 if asked["row"] in (0, 2) else 1
    words = f"Line {asked['row'] + 2} was measured {'twice' if before > 1 else 'once'} before"
    assert asked["why"].startswith(words)
    assert f"Why: {words}" in said("ask", twins, "--worker", "anna")
    assert document("explain", twins, asked["trial"])["sentence"].startswith(words)
    assert said("explain", twins, asked["trial"]).startswith(words)
    assert words in said("replay", twins, "--at", asked["trial"])


def test_status_says_that_it_is_too_early_before_there_are_five_results(twins):
    said("tell", twins, "--row", 1, "0.5")
    text = " ".join(said("status", twins).split())
    assert (
        "likely best too early to say: 1 result so far; 5 are needed to say which may be best. "
        "Best estimate so far: line 3 (Cs 0.5, FA 0.5)"
    ) in text
    assert "the best with probability" not in text
    found = document("status", twins)["best"]
    assert found["row"] == 1
    assert 0 <= found["probability"] <= 1
    assert found["early"].startswith("1 result so far")
    for row, value in ((0, 0.4), (2, 0.6), (3, 0.3), (1, 0.55)):
        said("tell", twins, "--row", row, value)
    assert "the best with probability" in " ".join(said("status", twins).split())
    assert document("status", twins)["best"]["early"] == ""
