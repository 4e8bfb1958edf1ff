"""Benchmarks of kernelbandits: `python -m benchmarks NAME`.

`python -m benchmarks speed [--quick] [--skip ROW ...]`, `... rivals`, `... argmax`, `... imports`,
`... spaces`.

`python -m benchmarks scale [--quick] [--skip PART ...] [--rivals PYTHON]` measures time and memory
against arms and rounds; PYTHON is one that has BoTorch.

`python -m benchmarks working-sets [--arms N] [--seeds N] [--pools ...] [--goals ...] [--sets ...]
[--minutes M]` compares `Auto` on a working set with `Auto` on all arms; it continues where it
stopped.

`python -m benchmarks planted [--seeds N] [--arms ...] [--tasks ...] [--players ...] [--minutes M]`
lets policies look for one planted optimum in pools of 10^4 to 10^6 arms; it continues too.

`python -m benchmarks race [--seeds N]` chooses the default of `kb.Auto`.

`python -m benchmarks censored [--seeds N] [--minutes M]` plays with results that are limits; it
continues where it stopped.

`python -m benchmarks durability [--quick] [--skip ...] [--backends ...]` kills workers, lets them
race and damages files.

`python -m benchmarks parallel [--seconds S]` compares one process with several.

`python -m benchmarks lab [--parts ...] [--seconds S] [--pauses P ...] [--dry]` measures the lab page
and its API.

`python -m benchmarks regret [--seeds N] [--rounds 1000] [--pools ...] [--contestants ...]
[--minutes M]` continues where it stopped.

`python -m benchmarks search [--seeds N] [--tables ...] [--noise ...] [--contestants ...]
[--minutes M] [--workers N]` too; `... fetch-tables` gets its real tables. `--tables held-out` plays
the tables and functions on which no default was chosen, `--check-twin` compares the twin of LogEI
with BoTorch.

`python -m benchmarks samplers [--seeds N] [--tasks ...] [--samplers ...] [--minutes M] [--times]`
compares the sampler for Optuna with Optuna's own; it continues where it stopped.

`python -m benchmarks pruning [--seeds N] [--tasks ...] [--pruners ...] [--samplers ...]
[--minutes M]` compares it with TPE where trials are pruned; it continues too.

`python -m benchmarks calibration [--seeds N] [--tables ...] [--noise ...] [--random]
[--workers N]` compares what studies of these tables state with what is true.

`python -m benchmarks leaderboard [--policies ...] [--problems ...] [--horizons ...] [--minutes M]
[--workers N]` ranks all policies of the catalogue by regret and certified regret; it continues where
it stopped. `--policy mymodule:MyPolicy` adds a row for your own.

`python -m benchmarks related [--groups ...] [--seeds N] [--minutes M] [--workers N]` plays with the
results of an earlier study of a related, an unrelated or a permuted table, and without; it continues
where it stopped.

`python -m benchmarks constrained [--label NAME] [--against NAME] [--seeds N] [--tasks ...]
[--random N]` compares two versions on constrained spaces, and checks points of random ones.

`python -m benchmarks front [--players ...] [--problems ...] [--seeds N] [--minutes M]` looks for the
front of two and three objectives, against Optuna and BoTorch; it continues where it stopped.

`python -m benchmarks limited [--players ...] [--problems ...] [--seeds N] [--minutes M]` looks for the
best place that meets limits on outcomes, against Optuna and BoTorch; it continues too.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import (
    argmax,
    calibration,
    censored,
    constrained,
    durability,
    front,
    imports,
    lab,
    leaderboard,
    limited,
    parallel,
    planted,
    pruning,
    race,
    regret,
    related,
    rivals,
    samplers,
    scale,
    search,
    spaces,
    speed,
    working_sets,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help=speed.__doc__)
    command.add_argument("--quick", action="store_true", help="refit for 200 rounds, no map")
    command.add_argument(
        "--skip", nargs="+", default=[], choices=list(speed.SECTIONS), help="rows to leave out"
    )
    command = commands.add_parser("scale", help=scale.__doc__)
    command.add_argument("--quick", action="store_true", help="smaller sizes, for a loaded machine")
    command.add_argument(
        "--skip", nargs="+", default=[], choices=list(scale.SECTIONS), help="parts to leave out"
    )
    command.add_argument(
        "--rivals", default=sys.executable, help="a Python that has BoTorch; this one otherwise"
    )
    commands.add_parser("rivals", help=rivals.__doc__)
    commands.add_parser("argmax", help=argmax.__doc__)
    commands.add_parser("imports", help=imports.__doc__)
    commands.add_parser("spaces", help=spaces.__doc__)
    censored.add_arguments(commands.add_parser("censored", help=censored.__doc__))
    command = commands.add_parser("race", help=race.__doc__)
    command.add_argument("--seeds", type=int, default=race.SEEDS)
    regret.arguments(commands.add_parser("regret", help=regret.__doc__))
    search.arguments(commands.add_parser("search", help=search.__doc__))
    samplers.arguments(commands.add_parser("samplers", help=samplers.__doc__))
    pruning.arguments(commands.add_parser("pruning", help=pruning.__doc__))
    calibration.arguments(commands.add_parser("calibration", help=calibration.__doc__))
    leaderboard.arguments(commands.add_parser("leaderboard", help=leaderboard.__doc__))
    commands.add_parser("fetch-tables", help="get the real tables of search and regret")
    parallel.arguments(commands.add_parser("parallel", help=parallel.__doc__))
    lab.arguments(commands.add_parser("lab", help=lab.__doc__))
    working_sets.arguments(commands.add_parser("working-sets", help=working_sets.__doc__))
    planted.arguments(commands.add_parser("planted", help=planted.__doc__))
    related.arguments(commands.add_parser("related", help=related.__doc__))
    constrained.arguments(commands.add_parser("constrained", help=constrained.__doc__))
    front.arguments(commands.add_parser("front", help=front.__doc__))
    limited.arguments(commands.add_parser("limited", help=limited.__doc__))
    durability.arguments(commands.add_parser("durability", help=durability.__doc__))
    arguments = parser.parse_args()
    if arguments.command == "durability":
        durability.run(arguments)
    elif arguments.command == "related":
        related.run(arguments)
    elif arguments.command == "constrained":
        constrained.run(arguments)
    elif arguments.command == "scale":
        scale.run(quick=arguments.quick, skip=arguments.skip, rivals=arguments.rivals)
    elif arguments.command == "front":
        front.run(arguments)
    elif arguments.command == "limited":
        limited.run(arguments)
    elif arguments.command == "working-sets":
        working_sets.run(arguments)
    elif arguments.command == "planted":
        planted.run(arguments)
    elif arguments.command == "lab":
        lab.run(arguments)
    elif arguments.command == "parallel":
        parallel.run(arguments)
    elif arguments.command == "regret":
        regret.run(arguments)
    elif arguments.command == "search":
        search.run(arguments)
    elif arguments.command == "samplers":
        samplers.run(arguments)
    elif arguments.command == "pruning":
        pruning.run(arguments)
    elif arguments.command == "calibration":
        calibration.run(arguments)
    elif arguments.command == "leaderboard":
        leaderboard.run(arguments)
    elif arguments.command == "fetch-tables":
        search.fetch_tables()
    elif arguments.command == "rivals":
        rivals.run()
    elif arguments.command == "censored":
        censored.run(arguments.seeds, arguments.minutes)
    elif arguments.command == "race":
        race.run(arguments.seeds)
    elif arguments.command == "argmax":
        argmax.run()
    elif arguments.command == "imports":
        imports.run()
    elif arguments.command == "spaces":
        spaces.run()
    else:
        speed.run(quick=arguments.quick, skip=arguments.skip)


if __name__ == "__main__":
    main()
