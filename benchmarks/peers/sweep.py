#!/usr/bin/env python3
"""Compares every metric and loss with its counterpart: see ../README.md.

    python3 sweep.py [--write] [--gains] [--filter PART] [--subjects NAME...] [--passes 9]

Builds the wheel and installs it beside requirements_sweep.txt, unless --python
names an interpreter that has both. Prints a line for each pair of calls, then what
is behind; --write makes docs/peers.md of all subjects. --gains prints what a second
thread gains instead.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import environment

SUBJECTS = ("classification", "regression", "grouping", "pictures", "signals",
            "language", "detection", "training")
ROOT = environment.HERE.parents[1]
RANK_PASSES = 3


def interpreter() -> str:
    """A Python with the peers and with this tree's wheel."""
    python = environment.interpreter("requirements_sweep.txt", "sweep")
    folder = Path(python).parents[1] / "wheel"
    for old in folder.glob("*.whl"):
        old.unlink()
    subprocess.run([str(ROOT / "tools/wheel"), str(folder)], check=True,
                   stdout=subprocess.DEVNULL)
    wheel = next(folder.glob("*.whl"))
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps",
                    "--force-reinstall", str(wheel)], check=True)
    return python


def run_subject(subject: str, part: str, passes: int, gains: bool) -> None:
    """Prints a line of JSON for each row, and for each pair of values that differ.

    Or for each call what a second thread gains.
    """
    import torch
    from subjects import measure
    from subjects.case import quiet

    torch.set_num_threads(1)

    def put(kind: str, **fields: Any) -> None:
        print(json.dumps({"kind": kind, "subject": subject, **fields}), flush=True)

    for case in importlib.import_module(f"subjects.{subject}").cases():
        if part not in case.label:
            continue
        for size in case.sizes:
            torch.manual_seed(1)
            try:
                with quiet():
                    inputs = case.inputs(size)
                    measured = (measure.gains_of if gains else measure.rows_of)(
                        case, size, inputs, passes)
                    found = "" if gains else measure.values_differ(case, inputs)
            except Exception as error:  # of either side: the others go on
                put("error", name=case.name, label=case.label, size=size,
                    error=f"{type(error).__name__}: {error}"[:300])
                continue
            if gains:
                for gain in measured:
                    put("gain", label=case.label, size=size, **dataclasses.asdict(gain))
                continue
            put("value", name=case.name, label=case.label, size=size, found=found)
            for row in measured:
                put("row", name=case.name, label=case.label, size=size, call=row.call,
                    library=case.library, own=row.own, peer=row.peer, floor=row.floor,
                    floor_name=row.floor_name, passes=row.passes, defers=row.defers)


def lines_of(python: str, subject: str,
             options: argparse.Namespace) -> list[dict[str, Any]]:
    """What run_subject() prints, in a process of its own."""
    numbers = {name: str(1 + options.gains) for name in (
        "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    # Freed memory stays with the process: otherwise it depends on the calls before,
    # those of the other side, which call waits for fresh pages.
    numbers |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    output = subprocess.run(
        [python, __file__, "--run", subject, "--filter", options.filter,
         "--passes", str(options.passes), *["--gains"] * options.gains],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **numbers}).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def over_ranks(python: str) -> list[dict[str, Any]]:
    """Losses of two ranks, in turns: the best of each."""
    program = str(environment.HERE / "losses_peers.py")
    best: dict[str, dict[str, float]] = {}
    for names, size in ((("clip", "siglip", "ntxent"), 512), (("lfq",), 12)):
        cases = [f"{who}{name}" for name in names for who in ("", "tally:")]
        for _ in range(RANK_PASSES):
            output = subprocess.run(
                [python, program, "2", "2048", str(size), "2", *cases], check=True,
                stdout=subprocess.PIPE, text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
            for line in filter(lambda text: text.startswith("{"), output.splitlines()):
                row = json.loads(line)
                found = best.setdefault(row["case"], row)
                for column in ("cpu_ms", "peak_mb"):
                    found[column] = min(found[column], row[column])
    return [{"kind": "ranks", "name": name,
             "own_ms": best[f"tally:{name}"]["cpu_ms"], "peer_ms": best[name]["cpu_ms"],
             "own_mb": best[f"tally:{name}"]["peak_mb"], "peer_mb": best[name]["peak_mb"]}
            for name in ("clip", "siglip", "ntxent", "lfq")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help="has requirements_sweep.txt and the wheel already")
    parser.add_argument("--filter", default="", help="part of the names")
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--passes", type=int, default=9)
    parser.add_argument("--gains", action="store_true", help="of a second thread, alone")
    parser.add_argument("--write", action="store_true", help="docs/peers.md, without gains")
    parser.add_argument("--machine", default="", help="a sentence about it, for the page")
    parser.add_argument("--results", help="a file for the lines, or one to make the page of")
    parser.add_argument("--run", choices=SUBJECTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.gains and options.write:
        parser.error("--write: the page has no gains")
    if options.run:
        run_subject(options.run, options.filter, options.passes, options.gains)
        return
    from subjects import page

    kept = Path(options.results) if options.results else None
    if kept and kept.exists():
        lines = [json.loads(line) for line in kept.read_text().splitlines()]
    else:
        python = options.python or interpreter()
        lines = []
        for subject in options.subjects:
            lines += lines_of(python, subject, options)
            print(f"{subject}: {len(lines)} lines so far", file=sys.stderr)
        if options.write:
            lines += over_ranks(python)
        facts = subprocess.run(
            [python, "-c", "import json, tally; from tally import losses; print(json.dumps("
             "[*tally._METRICS, *losses.LOSSES]))"], check=True, stdout=subprocess.PIPE,
            text=True).stdout
        lines.append({"kind": "names", "names": json.loads(facts.splitlines()[-1])})
        if kept:
            kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole = options.subjects == list(SUBJECTS) and not options.filter and not options.gains
    text, problems = page.page(lines, whole, options.machine)
    if options.write:
        (ROOT / "docs/peers.md").write_text(text, encoding="utf-8")
    else:
        print(text)
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
