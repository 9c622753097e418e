#!/usr/bin/env python3
"""Compares metrics of features with their peers, on one thread: see ../README.md.

    python compare_features.py [--passes 5] [--filter FID]

in an environment with ../../tests/reference/peers/requirements_features.txt. Each
pass runs Tally's benchmark, then the peers. Times are the processor's, which other
work disturbs less. Of distances, it also prints how far the peers' values are from
Tally's, as a part of the sum of both traces.
"""

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

# Threads are counted at import.
import numpy as np  # noqa: E402
import torch  # noqa: E402
from cleanfid import fid as clean_fid  # noqa: E402
from prdc import compute_prdc  # noqa: E402
from torch_fidelity.metric_fid import (  # noqa: E402
    fid_features_to_statistics, fid_statistics_to_metric)
from torch_fidelity.metric_isc import isc_features_to_metric  # noqa: E402
from torch_fidelity.metric_kid import kid_features_to_metric  # noqa: E402
from torch_fidelity.metric_prc import prc_features_to_metric  # noqa: E402

BINARY = (Path(__file__).resolve().parents[2]
          / "bazel-bin" / "benchmarks" / "features_benchmark")
MULTIPLIER, STEP = 6364136223846793005, 1442695040888963407
torch.set_num_threads(1)


def noise(rows: int, dims: int, seed: int) -> torch.Tensor:
    """The numbers of features_benchmark.cc."""
    count = rows * dims
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
    return torch.from_numpy(values.reshape(rows, dims).astype("float32"))


def pair(rows: int, dims: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Real and generated features."""
    return noise(rows, dims, 1), noise(rows, dims, 2) * 1.1 + 0.05


def quiet_prdc(real: torch.Tensor, generated: torch.Tensor) -> None:
    """prdc prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        compute_prdc(real.numpy(), generated.numpy(), nearest_k=5)


def uncentered(batches: tuple[torch.Tensor, ...]) -> None:
    """TorchMetrics' update of its statistics."""
    total = torch.zeros(batches[0].shape[1], dtype=torch.float64)
    products = torch.zeros(2 * total.shape, dtype=torch.float64)
    for batch in batches:
        wide = batch.double()
        total += wide.sum(0)
        products += wide.t().mm(wide)


UPDATES = noise(4096, 1024, 1).split(64)
WIDE, NARROW, LOGITS = pair(3000, 1024), pair(3000, 512), pair(5000, 1000)[1]
FEW = pair(2000, 512)
STATS = [fid_features_to_statistics(x.double()) for x in WIDE]
KID = {"kid_subsets": 20, "kid_subset_size": 1000, "kid_kernel": "poly",
       "kid_kernel_poly_degree": 3, "kid_kernel_poly_gamma": None,
       "kid_kernel_poly_coef0": 1, "rng_seed": 2020, "verbose": False}
PRC = {"prc_neighborhood": 3, "prc_batch_size": 10000, "save_cpu_ram": False,
       "verbose": False}

# By Tally's benchmark: peers.
PEERS: dict[str, dict[str, Callable[[], Any]]] = {
    "FID/3000x1024": {
        "torch-fidelity": lambda: fid_statistics_to_metric(*STATS, False),
        "clean-fid": lambda: clean_fid.frechet_distance(
            *(s[key] for s in STATS for key in ("mu", "sigma"))),
    },
    "FID_update/4096x1024": {
        "TorchMetrics' sums": lambda: uncentered(
            UPDATES),
    },
    "KID/20x1000x512": {
        "torch-fidelity": lambda: kid_features_to_metric(*FEW, **KID),
    },
    "IS/5000x1000": {
        "torch-fidelity": lambda: isc_features_to_metric(5 * LOGITS),
    },
    "PR/3000x512": {
        "torch-fidelity": lambda: prc_features_to_metric(
            NARROW[1], NARROW[0], **PRC),
    },
    "DC/3000x512": {"prdc": lambda: quiet_prdc(*NARROW)},
}


def own(name: str) -> dict[str, float]:
    """Tally's time and value."""
    output = subprocess.run(
        [BINARY, "--benchmark_format=json",
         f"--benchmark_filter=^{name}/real_time$"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(output)["benchmarks"][0]


def ms_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Of one call, and its value."""
    start = time.process_time()
    value = work()
    return (time.process_time() - start) * 1000, value


def difference(value: Any, of_own: float) -> float:
    """Of a peer's Frechet distance and Tally's."""
    if isinstance(value, dict):
        value = next(iter(value.values()))
    return abs(float(value) - of_own) / sum(np.trace(s["sigma"]) for s in STATS)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--filter", default="", help="part of the names")
    options = parser.parse_args()
    names = [name for name in PEERS if options.filter in name]
    times_of: dict[str, list[float]] = {name: [] for name in names}
    peers: dict[tuple[str, str], list[float]] = {}
    values: dict[tuple[str, str], float] = {}
    for _ in range(options.passes):
        for name in names:
            mine = own(name)
            times_of[name].append(mine["cpu_time"])
            for peer, work in PEERS[name].items():
                elapsed, value = ms_of(work)
                peers.setdefault((name, peer), []).append(elapsed)
                if name.startswith("FID/"):
                    values[name, peer] = difference(value, mine["value"])
    print("| benchmark | peer | Tally, ms | peer, ms | peer / Tally |\n"
          "|---|---|---|---|---|")
    for (name, peer), times in peers.items():
        a, b = statistics.median(times_of[name]), statistics.median(times)
        print(f"| `{name}` | {peer} | {a:.3g} | {b:.3g} | {b / a:.1f} |")
    for (name, peer), relative in values.items():
        print(f"{name}, {peer}: values differ by {relative:.1g}")


if __name__ == "__main__":
    main()
