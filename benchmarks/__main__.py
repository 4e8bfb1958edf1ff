"""`python -m benchmarks speed [--quick] [--skip ROW ...]`."""

from __future__ import annotations

import argparse

from benchmarks import speed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser("speed", help=speed.__doc__)
    command.add_argument("--quick", action="store_true", help="refit for 200 rounds, no map")
    command.add_argument("--skip", nargs="+", default=[], choices=list(speed.SECTIONS), help="rows to leave out")
    arguments = parser.parse_args()
    speed.run(quick=arguments.quick, skip=arguments.skip)


if __name__ == "__main__":
    main()
