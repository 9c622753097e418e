#!/usr/bin/env python3
"""Compares compute() over local ranks with TorchMetrics: see ../README.md."""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import subprocess

import environment

SCENARIOS = ("collection", "rows", "batches")

# By scenario and name, one value for each pass.
Times = dict[tuple[str, str], list[float]]


def measure(command: list[str], prefix: str, times: Times) -> None:
    """Runs a benchmark that prints JSON and takes over what it measured."""
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        for name, value in row.items():
            if name.endswith("_us"):
                key = prefix + name.removesuffix("_us")
                times[row["scenario"], key].append(value)


def ratio(times: Times, scenario: str, above: str, below: str) -> str:
    """Of the medians over the passes."""
    return format(
        statistics.median(times[scenario, above])
        / statistics.median(times[scenario, below]),
        ".3g",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="has torch and torchmetrics already")
    parser.add_argument("--binary", default=str(environment.PROGRAMS / "sync_benchmark"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20, help="of the peer")
    parser.add_argument("--own-rounds", type=int, default=400)
    options = parser.parse_args()
    python = options.python or environment.interpreter()

    print("| scenario | ranks | TorchMetrics / Tally, p10 | median "
          "| Tally / bare gather, p10 | median |")
    print("|---|---|---|---|---|---|")
    for ranks in options.ranks:
        times: Times = collections.defaultdict(list)
        peer = [python, str(environment.HERE / "torchmetrics_sync.py"), str(ranks)]
        own = [options.binary, str(ranks), str(options.own_rounds), "--json"]
        for _ in range(options.passes):
            measure(own, "own_", times)
            measure([*peer, str(options.rounds)], "peer_", times)
        for scenario in SCENARIOS:
            ratios = (
                ratio(times, scenario, f"{above}_{q}", f"own_{below}{q}")
                for above, below in (("peer", ""), ("own", "gather_"))
                for q in ("p10", "p50")
            )
            print(f"| {scenario} | {ranks} | " + " | ".join(ratios) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
