#!/usr/bin/env python3
"""Compares metrics with their peers, one process each: see ../README.md."""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import statistics
import subprocess

import environment

PROGRAMS = (
    "metric_benchmark",
    "classification_benchmark",
    "curve_benchmark",
    "regression_benchmark",
)
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

# By library and name, one value for each pass.
Times = dict[tuple[str, str], list[float]]


def output_of(command: list[str], threads: int) -> str:
    """What a program prints when it has so many threads."""
    return subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    ).stdout


def measure_own(names: list[str], threads: int, times: Times) -> None:
    """Runs those of Tally's benchmarks that have a peer."""
    wanted = "|".join(f"^{re.escape(name)}(/real_time)?$" for name in names)
    for program in PROGRAMS:
        command = [
            str(environment.PROGRAMS / program),
            "--benchmark_format=json",
            "--benchmark_filter=" + wanted,
        ]
        output = output_of(command, threads)
        if not output.strip():
            continue
        for row in json.loads(output)["benchmarks"]:
            name = row["name"].removesuffix("/real_time")
            microseconds = row["real_time"] * MICROSECONDS[row["time_unit"]]
            times["Tally", name].append(microseconds)


def measure_peers(command: list[str], threads: int, times: Times) -> None:
    """Runs peer_metrics.py."""
    for line in output_of(command, threads).splitlines():
        row = json.loads(line)
        times[row["library"], row["name"]].append(row["us"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="has requirements.txt already")
    parser.add_argument("--filter", default="", help="part of the names")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    python = options.python or environment.interpreter()
    peers = [python, str(environment.HERE / "peer_metrics.py"), options.filter]

    print("| benchmark | threads | peer | peer / Tally |")
    print("|---|---|---|---|")
    for threads in options.threads:
        names = output_of([*peers, "--list"], threads).split()
        # One batch of 32 is nothing to share.
        if threads > 1:
            names = [name for name in names if not name.endswith("ward")
                     and not name.endswith("update")]
        times: Times = collections.defaultdict(list)
        for _ in range(options.passes):
            measure_own(names, threads, times)
            measure_peers([*peers, *names], threads, times)
        for library, name in times:
            if library == "Tally" or not times["Tally", name]:
                continue
            ratio = statistics.median(times[library, name])
            ratio /= statistics.median(times["Tally", name])
            print(f"| {name} | {threads} | {library} | {ratio:.3g} |",
                  flush=True)


if __name__ == "__main__":
    main()
