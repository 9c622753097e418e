#!/usr/bin/env python3
"""Compares audio metrics with their peers, on one thread: see ../README.md.

    python compare_audio.py [--passes 5] [--filter SDR]

in an environment with requirements_audio.txt, and torch for fast_bss_eval's
functions of tensors. Each pass runs Tally's benchmark, then the peers. Times are
the processor's, which other work disturbs less.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

# Threads are counted at import.
import fast_bss_eval.numpy.metrics as fast  # noqa: E402
import fast_bss_eval.numpy.scale_invariant as fast_si  # noqa: E402
import mir_eval.separation  # noqa: E402
import numpy as np  # noqa: E402
import pystoi  # noqa: E402

BINARY = (Path(__file__).resolve().parents[2]
          / "bazel-bin" / "benchmarks" / "audio_benchmark")
SAMPLES, RATE = 64000, 16000
MULTIPLIER, STEP = 6364136223846793005, 1442695040888963407
# Of mir_eval, which takes long.
FEW = 10


def noise(rows: int, seed: int) -> np.ndarray:
    """The numbers of audio_benchmark.cc."""
    count = rows * SAMPLES
    # After k steps the state is a_k seed + c_k; in jumps of powers of two.
    states = np.array([seed], dtype="uint64")
    a, c = MULTIPLIER, STEP
    with np.errstate(over="ignore"):
        while len(states) <= count:
            jumped = states * np.uint64(a) + np.uint64(c)
            states = np.concatenate([states, jumped])
            c = (a * c + c) % 2 ** 64
            a = a * a % 2 ** 64
    values = (states[1:count + 1] >> np.uint64(33)) / 2.0 ** 30 - 1
    return values.reshape(rows, SAMPLES)


def each(function: Callable[..., Any], rows: int, *args: Any) -> list[Any]:
    """Of the first rows, one by one."""
    return [function(t, p, *args) for p, t in zip(PREDS[:rows], TARGET[:rows],
                                                  strict=True)]


TARGET = noise(100, 1)
PREDS = TARGET + 0.1 * noise(100, 2)

# By Tally's benchmark: peers, each with how many times its work that is.
PEERS: dict[str, dict[str, tuple[Callable[[], Any], float]]] = {
    "SDR/100": {
        "fast_bss_eval": (lambda: fast.sdr_loss(PREDS, TARGET), 1),
        "fast_bss_eval, 10 steps":
            (lambda: fast.sdr_loss(PREDS, TARGET, use_cg_iter=10), 1),
        "mir_eval": (lambda: each(
            lambda t, p: mir_eval.separation.bss_eval_sources(
                t[None], p[None], False), FEW), 100 / FEW),
    },
    "SI-SDR/100": {
        "fast_bss_eval": (lambda: fast_si.si_sdr_loss(PREDS, TARGET), 1),
    },
    "STOI/10": {"pystoi": (lambda: each(pystoi.stoi, 10, RATE), 1)},
    "ESTOI/10": {"pystoi": (lambda: each(pystoi.stoi, 10, RATE, True), 1)},
}

try:
    import fast_bss_eval.torch.metrics as fast_torch
    import torch
except ImportError:
    print("without torch: only fast_bss_eval's functions of NumPy arrays",
          file=sys.stderr)
else:
    torch.set_num_threads(1)
    TENSORS = (torch.from_numpy(PREDS), torch.from_numpy(TARGET))
    PEERS["SDR/100"] |= {
        "fast_bss_eval, torch":
            (lambda: fast_torch.sdr_loss(*TENSORS), 1),
        "fast_bss_eval, torch, 10 steps":
            (lambda: fast_torch.sdr_loss(*TENSORS, use_cg_iter=10), 1),
    }


def own_ms(name: str) -> float:
    """Tally's."""
    output = subprocess.run(
        [BINARY, "--benchmark_format=json",
         f"--benchmark_filter=^{name}/real_time$"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(output)["benchmarks"][0]["cpu_time"]


def ms_of(work: Callable[[], Any]) -> float:
    """Of one call."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--filter", default="", help="part of the names")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not BINARY.exists():
        sys.exit("build it first: tools/bazel build --config=release "
                 "//benchmarks:audio_benchmark")
    print("| benchmark | peer | Tally, ms | peer, ms | peer / Tally |")
    print("|---|---|---|---|---|")
    for name, peers in PEERS.items():
        if options.filter not in name:
            continue
        own, times = [], {library: [] for library in peers}
        for _ in range(options.passes):
            own.append(own_ms(name))
            for library, (work, factor) in peers.items():
                times[library].append(ms_of(work) * factor)
        for library, values in times.items():
            mine, theirs = statistics.median(own), statistics.median(values)
            print(f"| `{name}` | {library} | {mine:.1f} | {theirs:.0f} "
                  f"| {theirs / mine:.1f} |", flush=True)


if __name__ == "__main__":
    main()
