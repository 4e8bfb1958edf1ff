"""`python -m benchmarks speed [--quick] [--skip ROW ...]` and `python -m benchmarks rivals`."""

from __future__ import annotations

import argparse

from benchmarks import rivals, speed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help=speed.__doc__)
    command.add_argument("--quick", action="store_true", help="refit for 200 rounds, no map")
    command.add_argument("--skip", nargs="+", default=[], choices=list(speed.SECTIONS), help="rows to leave out")
    commands.add_parser("rivals", help=rivals.__doc__)
    arguments = parser.parse_args()
    if arguments.command == "rivals":
        rivals.run()
    else:
        speed.run(quick=arguments.quick, skip=arguments.skip)


if __name__ == "__main__":
    main()
