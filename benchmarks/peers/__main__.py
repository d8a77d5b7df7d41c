"""Command line of the comparison: `python -m benchmarks.peers speed | error --help`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers import data, error, report, setup, speed
from benchmarks.peers.adapters.base import TASKS
from benchmarks.peers.client import start_all

EVERYONE = (*setup.OURS, *setup.PEERS)


def names(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    """A parser of a comma-separated choice among known names."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = sorted(set(chosen) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(unknown)}; choose among {', '.join(known)}"
            )
        return chosen

    return parse


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("kind", choices=["speed", "error"])
    parser.add_argument("--rows", type=int, default=32_561, help="rows of the generated table")
    parser.add_argument("--census", action="store_true", help="the real table instead")
    parser.add_argument("--peers", type=names(EVERYONE), default=list(EVERYONE))
    parser.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    parser.add_argument("--epsilon", type=float, default=1.0, help="total, for each answer")
    parser.add_argument("--rounds", type=int, default=5, help="recorded rounds of speed")
    parser.add_argument("--runs", type=int, default=200, help="runs of error")
    parser.add_argument("--seconds", type=float, default=120.0, help="of one answer's runs")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one answer")
    parser.add_argument("--load-timeout", type=float, default=600.0, help="seconds to load")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    return parser.parse_args()


def main() -> None:
    """Make the data, start the libraries, measure, print, write."""
    chosen = options()
    table = data.census() if chosen.census else data.generate(chosen.rows)
    with tempfile.TemporaryDirectory() as folder:
        data.save(table, Path(folder))
        peers = start_all(chosen.peers, Path(folder), chosen.timeout, chosen.load_timeout)
        try:
            if chosen.kind == "speed":
                rows = len(table["age"])
                results = speed.run(peers, rows, chosen.rounds, chosen.epsilon, chosen.tasks)
            else:
                asked = (chosen.runs, chosen.epsilon, chosen.tasks, chosen.seconds)
                results = error.run(peers, table, *asked)
            report.write(chosen.out, {**results, **report.about(peers)})
        finally:
            for peer in peers:
                peer.close()


if __name__ == "__main__":
    main()
