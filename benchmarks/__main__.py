"""`python -m benchmarks speed [--quick] [--skip ROW ...]`, `python -m benchmarks rivals` and `... argmax`.

`python -m benchmarks regret [--seeds N] [--pools ...] [--contestants ...] [--minutes M]` goes on where it stopped.
"""

from __future__ import annotations

import argparse

from benchmarks import argmax, regret, rivals, speed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help=speed.__doc__)
    command.add_argument("--quick", action="store_true", help="refit for 200 rounds, no map")
    command.add_argument("--skip", nargs="+", default=[], choices=list(speed.SECTIONS), help="rows to leave out")
    commands.add_parser("rivals", help=rivals.__doc__)
    commands.add_parser("argmax", help=argmax.__doc__)
    regret.arguments(commands.add_parser("regret", help=regret.__doc__))
    arguments = parser.parse_args()
    if arguments.command == "regret":
        regret.run(arguments)
    elif arguments.command == "rivals":
        rivals.run()
    elif arguments.command == "argmax":
        argmax.run()
    else:
        speed.run(quick=arguments.quick, skip=arguments.skip)


if __name__ == "__main__":
    main()
