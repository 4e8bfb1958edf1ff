"""Times of the lab page and its API, and what happens when many clients write at once."""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

import numpy as np
import pandas as pd

import kernelbandits as kb
from benchmarks import machine
from kernelbandits.apps.client import LabClient, LabError

RESULTS = Path(__file__).parent / "results" / "lab.md"
PARTS = ("pages", "requests", "load")
ROBOTS, COMMANDS, RATE = 20, 8, 50
"""Clients of the API, workers of the command line, and requests in a second."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=30.0, help="how long many clients write")
    parser.add_argument(
        "--pauses",
        type=float,
        nargs="+",
        default=[5.0, 0.0],
        help="seconds that a worker of the command line measures before it tells a result",
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured; all by default"
    )
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")


def run(given: argparse.Namespace) -> None:
    lines = ["# The lab page in numbers"]
    if "pages" in given.parts:
        lines += ["", *measure_pages()]
    if "requests" in given.parts:
        lines += ["", *measure_requests()]
    if "load" in given.parts:
        lines += ["", *measure_load(given.seconds, given.pauses)]
    found = machine.facts()
    wanted = ("date", "processor", "cores", "load average", "python", "kernelbandits")
    lines += ["", "; ".join(f"{name}: {found[name]}" for name in wanted) + "."]
    text = "\n".join(lines) + "\n"
    print(text)
    if not given.dry:
        RESULTS.write_text(text, encoding="utf-8")


@contextmanager
def serving(place: Path, *options: str) -> Any:
    """A server in a process of its own: address, token, a browser that was let in, its number."""
    state = {"KERNELBANDITS_LAB_STATE": str(place.parent / "state")}
    command = [sys.executable, "-m", "kernelbandits", "lab", str(place)]
    environment = os.environ | state
    process = subprocess.Popen(
        [*command, "--no-browser", "--port", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    link = next(filter(None, (re.search(r"http\S+", line) for line in process.stdout)))[0]
    shown = subprocess.run(
        [*command, "--show-tokens"], capture_output=True, text=True, check=True, env=environment
    )
    token = re.search(r"write: (\S+)", shown.stdout)
    assert token is not None
    browser = build_opener(HTTPCookieProcessor())
    for _ in range(100):
        try:
            browser.open(link).read()
            break
        except OSError:
            time.sleep(0.1)
    try:
        yield link.partition("/enter")[0], token[1], browser, process.pid
    finally:
        process.terminate()
        process.wait()


def create_study(path: Path, rows: int, results: int) -> None:
    rng = np.random.default_rng(rows)
    table = pd.DataFrame(rng.random((rows, 3)).round(4), columns=["Cs", "FA", "T"])
    with kb.Study.create(path, table, target="stability") as study:
        values = np.sin(3 * table["Cs"]) + table["FA"] + 0.03 * rng.standard_normal(rows)
        lines = [{"row": row, "value": float(values[row])} for row in range(results)]
        if lines:
            study.tell_all(lines)


def milliseconds(work: Callable[[], Any], times: int) -> list[float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return found


def measure_pages() -> list[str]:
    """First page, table of candidates and ask, for tables of several sizes."""
    lines = [
        "Milliseconds from the request to the whole answer, over the loopback; the first page after",
        "a new result, so that all answers are computed again. Medians of 10, largest in brackets.",
        "",
        "| candidates | results | first page | its kB | candidates | ask |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for rows, results in ((94, 20), (1000, 200), (10_000, 200)):
        with TemporaryDirectory() as folder:
            place = Path(folder) / "studies"
            place.mkdir()
            create_study(place / "films.db", rows, results)
            with serving(place) as (address, token, browser, _):
                study = LabClient(address, token).study("films")
                page, table, ask = play_rounds(study, browser, f"{address}/studies/films")
                size = sum(
                    len(browser.open(f"{address}{path}").read())
                    for path in (
                        "/studies/films",
                        "/static/style.css",
                        "/static/lab.css",
                        "/static/lab.js",
                    )
                )
                # The first ask imports the policies and builds the model.
                cells = [show(page[1:]), f"{size / 1000:.0f}", show(table[1:]), show(ask[1:])]
                lines.append(f"| {rows} | {results} | {' | '.join(cells)} |")
    return lines


def play_rounds(study: Any, browser: Any, address: str) -> tuple[list[float], ...]:
    """Ask, tell, and load two pages, 11 times; the times of the pages and of the asks."""
    page: list[float] = []
    table: list[float] = []
    ask: list[float] = []
    for turn in range(11):
        start = time.perf_counter()
        [found] = study.ask()
        ask.append(1000 * (time.perf_counter() - start))
        study.tell(found["trial"], 1.0 + turn / 100)
        page += milliseconds(lambda: browser.open(address).read(), 1)
        table += milliseconds(lambda: browser.open(f"{address}/candidates").read(), 1)
    return page, table, ask


def show(times: list[float]) -> str:
    return f"{statistics.median(times):.0f} ({max(times):.0f})"


def processor_seconds(process: int) -> float:
    """What a process has used of processors so far, as Linux counts it."""
    text = Path(f"/proc/{process}/stat").read_text()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure_requests(times: int = 40) -> list[str]:
    """Processor time of the server for one request of each kind; it hardly depends on the load."""
    lines = [
        "Processor time of the server for one request, ms, at 1000 candidates and 50 results, one",
        f"client alone ({times} requests of each kind). A page that is loaded again shows what was",
        "computed after the last event.",
        "",
        "| request | ms |",
        "|---|--:|",
    ]
    with TemporaryDirectory() as folder:
        place = Path(folder) / "studies"
        place.mkdir()
        create_study(place / "films.db", 1000, 50)
        with serving(place) as (address, token, browser, process):
            client = LabClient(address, token)
            for what, work in request_kinds(client, browser, f"{address}/studies/films").items():
                work()
                start = processor_seconds(process)
                for _ in range(times):
                    work()
                spent = 1000 * (processor_seconds(process) - start) / times
                lines.append(f"| {what} | {spent:.1f} |")
    return lines


def request_kinds(client: LabClient, browser: Any, address: str) -> dict[str, Callable[[], Any]]:
    """What a request is -> a function that sends it."""
    study, waiting = client.study("films"), list[int]()

    def ask() -> None:
        waiting.append(study.ask()[0]["trial"])

    def tell() -> None:
        study.tell(waiting.pop(), 1.0 + len(waiting) / 100)

    def ask_and_tell() -> None:
        ask()
        tell()

    def load(path: str) -> Callable[[], Any]:
        return lambda: browser.open(f"{address}{path}").read()

    return {
        "ask, nothing told between": ask,
        "tell": tell,
        "ask and tell in turn, both together": ask_and_tell,
        # First the status, so that pages find it computed.
        "API: status again": study.status,
        "news": load("/news?after=1"),
        "main page again": load(""),
        "candidates again": load("/candidates"),
        "history": load("/history"),
        "API: estimates again": study.estimates,
        "API: trials again": study.trials,
        "API: events": study.events,
    }


def measure_load(seconds: float, pauses: list[float]) -> list[str]:
    """Robots and command-line workers tell results of one SQLite study at the same time."""
    columns = [play_load(seconds, pause) for pause in pauses]
    headings = [f"they measure for {pause:g} s" if pause else "they never wait" for pause in pauses]
    return [
        f"{ROBOTS} clients of the API, which together try to send {RATE} requests a second, and",
        f"{COMMANDS} workers of the command line wrote into one SQLite study of 1000 candidates for",
        f"{seconds:.0f} s. Workers that never wait take all the processor time that they can get.",
        "",
        f"| workers: | {' | '.join(headings)} |",
        f"|---|{'--:|' * len(columns)}",
        *(f"| {what} | {' | '.join(one[what] for one in columns)} |" for what in columns[0]),
    ]


def play_load(seconds: float, pause: float) -> dict[str, str]:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "studies"
        place.mkdir()
        create_study(place / "films.db", 1000, 50)
        with serving(place) as (address, token, _, process):
            before, others = processor_seconds(process), os.times()
            found = write_together(place / "films.db", address, token, seconds, pause)
            told, errors, times = found
            spent, after = processor_seconds(process) - before, os.times()
        with kb.Study.open(place / "films.db", writable=False) as study:
            stored = study.to_dataframe()
            keys = [event.key for event in study.history() if event.kind == "told" and event.key]
    robots = [one for one in told if one.startswith("robot")]
    commands = len(told) - len(robots)
    command = after.children_user + after.children_system
    command -= others.children_user + others.children_system
    lost, twice = set(told) - set(keys), len(keys) - len(set(keys))
    return {
        "requests of the API in a second": f"{2 * len(robots) / seconds:.0f}",
        "median and largest time of a request, ms": show(times),
        "processor time of the server for a request, ms": f"{500 * spent / len(robots):.1f}",
        "processor time of a command, ms": f"{1000 * command / max(commands, 1):.0f}",
        "results of the API, of the command line": f"{len(robots)}, {commands}",
        "errors": str(len(errors)),
        "results lost, counted twice": f"{len(lost)}, {twice}",
        "results stored": str(int((stored["state"] == "told").sum())),
    }


def write_together(
    path: Path, address: str, token: str, seconds: float, pause: float
) -> tuple[list[str], list[str], list[float]]:
    """The keys of all results that were acknowledged, the errors, and the times of requests."""
    told: list[str] = []
    errors: list[str] = []
    times: list[float] = []
    end = time.monotonic() + seconds

    def robot(number: int) -> None:
        study, turn = LabClient(address, token).study("films"), 0
        while time.monotonic() < end:
            key, start = f"robot-{number}-{turn}", time.perf_counter()
            try:
                [found] = study.ask()
                study.tell(found["trial"], number + turn / 1000, key=key)
                told.append(key)
            except (LabError, OSError) as error:
                errors.append(str(error))
            spent = time.perf_counter() - start
            times.append(500 * spent)
            turn += 1
            # Two requests for each result: each robot keeps its part of the rate.
            time.sleep(max(0.0, 2 * ROBOTS / RATE - spent))

    def command(number: int) -> None:
        turn = 0
        while time.monotonic() < end:
            key = f"command-{number}-{turn}"
            words = [
                "study",
                "tell",
                str(path),
                "--row",
                str(turn % 1000),
                str(number),
                "--key",
                key,
            ]
            done = subprocess.run(
                [sys.executable, "-m", "kernelbandits", *words], capture_output=True, text=True
            )
            told.append(key) if done.returncode == 0 else errors.append(done.stderr)
            turn += 1
            time.sleep(min(pause, max(0.0, end - time.monotonic())))

    work = [threading.Thread(target=robot, args=(number,)) for number in range(ROBOTS)]
    work += [threading.Thread(target=command, args=(number,)) for number in range(COMMANDS)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    return told, errors, times
