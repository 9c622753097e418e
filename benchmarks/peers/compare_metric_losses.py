#!/usr/bin/env python3
"""Compares losses from metrics with their peers: see ../README.md."""

from __future__ import annotations

import argparse

import environment
from compare_losses import Best, measure

CASES = ("dice", "generalized_dice", "tversky", "lovasz_softmax",
         "soft_rank_1e5")
# Pairs of so many samples are beyond the peer.
ALONE = ("auc_1e6",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="has torch and monai already")
    parser.add_argument(
        "--binary",
        default=str(environment.PROGRAMS / "metric_losses_benchmark"))
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", default=list(CASES),
                        help="these, and auc_1e5 (pip install --no-deps "
                             "libauc==2.0.1) and auc_1e6")
    options = parser.parse_args()
    python = options.python or environment.interpreter()

    own: Best = {}
    peer: Best = {}
    for _ in range(options.passes):
        arguments = [str(options.rounds), *options.cases]
        measure([options.binary, *arguments], own)
        program = str(environment.HERE / "metric_losses_peers.py")
        others = [case for case in options.cases if case not in ALONE]
        if others:
            measure([python, program, str(options.rounds), *others], peer)
    print("| loss | CPU time, ms | peer | ratio | memory, MB | peer |")
    print("|---|---|---|---|---|---|")
    for case in options.cases:
        if case in ALONE:
            print(f"| {case} | {own[case, 'cpu_ms']:.2f} | | "
                  f"| {own[case, 'peak_mb']:.0f} | |", flush=True)
            continue
        print(f"| {case} | {own[case, 'cpu_ms']:.2f} "
              f"| {peer[case, 'cpu_ms']:.2f} "
              f"| {own[case, 'cpu_ms'] / peer[case, 'cpu_ms']:.4f} "
              f"| {own[case, 'peak_mb']:.0f} "
              f"| {peer[case, 'peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
