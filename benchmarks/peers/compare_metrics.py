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
import sys

import environment

PROGRAMS = (
    "metric_benchmark",
    "classification_benchmark",
    "curve_benchmark",
    "regression_benchmark",
    "segmentation_benchmark",
    "clustering_benchmark",
    "retrieval_benchmark",
)
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

# What Google Benchmark adds to names.
SUFFIX = "(/iterations:[0-9]+)?(/real_time)?"

# By library and name, one value for each pass.
Times = dict[tuple[str, str], list[float]]


def variables_of(target: str | None) -> dict[str, str]:
    """What makes both sides run as on a processor with no newer vectors."""
    if not target:
        return {}
    variables = {"TALLY_HWY_TARGET": target}
    if not target.startswith("AVX3"):
        avx2 = target == "AVX2"
        variables["ATEN_CPU_CAPABILITY"] = "avx2" if avx2 else "default"
        variables["MKL_ENABLE_INSTRUCTIONS"] = "AVX2" if avx2 else "SSE4_2"
    return variables


def output_of(command: list[str], threads: int) -> str:
    """What a program prints when it has so many threads."""
    result = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads),
             "NUMBA_NUM_THREADS": str(threads)},
    )
    if result.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{result.stderr}")
    return result.stdout


def measure_own(names: list[str], threads: int, times: Times) -> None:
    """Runs those of Tally's benchmarks that have a peer."""
    wanted = "|".join(f"^{re.escape(name)}{SUFFIX}$" for name in names)
    # Programs that were not built are left out.
    for program in filter(os.path.exists, map(environment.PROGRAMS.joinpath,
                                              PROGRAMS)):
        command = [
            str(program),
            "--benchmark_format=json",
            "--benchmark_filter=" + wanted,
        ]
        output = output_of(command, threads)
        if not output.strip():
            continue
        for row in json.loads(output)["benchmarks"]:
            name = re.sub(SUFFIX + "$", "", row["name"])
            clock = "cpu_time" if threads == 1 else "real_time"
            microseconds = row[clock] * MICROSECONDS[row["time_unit"]]
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
    parser.add_argument("--target", help="Highway's, such as AVX2 or SSE4")
    options = parser.parse_args()
    os.environ.update(variables_of(options.target))
    python = options.python or environment.interpreter()
    peers = [python, str(environment.HERE / "peer_metrics.py"), options.filter]

    all_names = output_of([*peers, "--list"], 1).split()
    if not all_names:
        sys.exit(f"no benchmark has {options.filter!r} in its name; "
                 "those that peers do are named in peer_metrics.py")
    print("| benchmark | threads | Tally, ms | peer | peer, ms | peer / Tally |")
    print("|---|---|---|---|---|---|")
    rows = 0
    for threads in options.threads:
        names = all_names
        # One batch of 32 is nothing to share.
        if threads > 1:
            names = [name for name in names if not name.endswith("ward")
                     and not name.endswith("update")]
            if not names:
                continue
        times: Times = collections.defaultdict(list)
        for _ in range(options.passes):
            measure_own(names, threads, times)
            measure_peers([*peers, *names], threads, times)
        for (library, name), of_peer in times.items():
            own = times.get(("Tally", name))
            if library == "Tally" or not own:
                continue
            mine, theirs = statistics.median(own), statistics.median(of_peer)
            print(f"| {name} | {threads} | {mine / 1e3:.3g} | {library} "
                  f"| {theirs / 1e3:.3g} | {theirs / mine:.3g} |", flush=True)
            rows += 1
    if rows == 0:
        sys.exit("nothing was compared: with these numbers of threads, the "
                 f"programs in {environment.PROGRAMS} have none of "
                 + ", ".join(all_names))


if __name__ == "__main__":
    main()
