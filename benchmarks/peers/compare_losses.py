#!/usr/bin/env python3
"""Compares losses over local ranks with their peers: see ../README.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from typing import Any

import environment

# Each of ours and its peer's.
CASES = {
    "clip": "clip",
    "clip_kept": "clip",
    "siglip": "siglip",
    "ntxent": "ntxent",
    "ntxent_kept": "ntxent",
}

# By case and column, the best of all passes.
Best = dict[tuple[str, str], float]


def measure(command: list[str], best: Best) -> None:
    """Runs a benchmark that prints JSON and takes over what is better."""
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ).stdout
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        row: dict[str, Any] = json.loads(line)
        for column in ("best_ms", "cpu_ms", "peak_mb"):
            key = (row["case"], column)
            best[key] = min(best.get(key, row[column]), row[column])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="has torch already")
    parser.add_argument(
        "--binary", default=str(environment.PROGRAMS / "losses_benchmark"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--rows", type=int, default=4096, help="of each rank")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    options = parser.parse_args()
    python = options.python or environment.interpreter()

    print("| loss | ranks | time, ms | peer | ratio | of CPU time "
          "| memory, MB | peer |")
    print("|---|---|---|---|---|---|---|---|")
    peers = sorted({CASES[case] for case in options.cases})
    for ranks in options.ranks:
        numbers = [str(x) for x in
                   (ranks, options.rows, options.size, options.rounds)]
        own: Best = {}
        peer: Best = {}
        for _ in range(options.passes):
            measure([options.binary, *numbers, *options.cases], own)
            program = str(environment.HERE / "losses_peers.py")
            measure([python, program, *numbers, *peers], peer)
        for case in options.cases:
            here = {column: (own[case, column], peer[CASES[case], column])
                    for column in ("best_ms", "cpu_ms", "peak_mb")}
            print(f"| {case} | {ranks} | {here['best_ms'][0]:.0f} "
                  f"| {here['best_ms'][1]:.0f} "
                  f"| {here['best_ms'][1] / here['best_ms'][0]:.2f} "
                  f"| {here['cpu_ms'][1] / here['cpu_ms'][0]:.2f} "
                  f"| {here['peak_mb'][0]:.0f} | {here['peak_mb'][1]:.0f} |",
                  flush=True)


if __name__ == "__main__":
    main()
