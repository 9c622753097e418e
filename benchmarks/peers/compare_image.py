#!/usr/bin/env python3
"""Compares image metrics with their peers: see ../README.md.

    python compare_image.py [--passes 3] [--threads 1] [--filter SSIM] [--target avx2]

in an environment with requirements_image.txt. Each pass runs Tally's benchmark, then
the peers, with as many threads. Times are the processor's; memory is the most that
the first call takes besides the images, its gradient included.
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

BINARY = (Path(__file__).resolve().parents[2]
          / "bazel-bin" / "benchmarks" / "image_benchmark")
SHAPE = (16, 3, 512, 512)

PEERS = {
    "SSIM": ("pytorch-msssim", "piq", "TorchMetrics"),
    "MS-SSIM": ("pytorch-msssim", "piq", "TorchMetrics"),
    "PSNR": ("piq", "TorchMetrics"),
    "UQI": ("TorchMetrics",),
    "VIF": ("piq", "TorchMetrics"),
}


def function_of(metric: str, library: str) -> Callable:
    """A function of two batches."""
    if library == "pytorch-msssim":
        import pytorch_msssim
        function = {"SSIM": pytorch_msssim.ssim, "MS-SSIM": pytorch_msssim.ms_ssim}
        return lambda p, t: function[metric](p, t, data_range=1.0)
    if library == "piq":
        import piq
        return {
            "SSIM": lambda p, t: piq.ssim(p, t, data_range=1.0, downsample=False),
            "MS-SSIM": lambda p, t: piq.multi_scale_ssim(p, t, data_range=1.0),
            "PSNR": lambda p, t: piq.psnr(p, t, data_range=1.0),
            "VIF": lambda p, t: piq.vif_p(p, t, data_range=1.0),
        }[metric]
    import torchmetrics.functional.image as tm
    return {
        "SSIM": lambda p, t: tm.structural_similarity_index_measure(
            p, t, data_range=1.0),
        "MS-SSIM": lambda p, t: tm.multiscale_structural_similarity_index_measure(
            p, t, data_range=1.0),
        "PSNR": lambda p, t: tm.peak_signal_noise_ratio(p, t, data_range=1.0),
        "UQI": tm.universal_image_quality_index,
        "VIF": lambda p, t: tm.visual_information_fidelity(p * 255, t * 255),
    }[metric]


def noise(seed: int):
    """The numbers of image_benchmark.cc."""
    import numpy as np
    count = int(np.prod(SHAPE))
    # After k steps the state is a_k seed + c_k; in jumps of powers of two.
    states = np.array([seed], dtype="uint64")
    a, c = 6364136223846793005, 1442695040888963407
    with np.errstate(over="ignore"):
        while len(states) <= count:
            states = np.concatenate([states, states * np.uint64(a) + np.uint64(c)])
            c = (a * c + c) % 2 ** 64
            a = a * a % 2 ** 64
    return ((states[1:count + 1] >> np.uint64(40)) / 2.0 ** 24).astype(
        "float32").reshape(SHAPE)


def memory(kind: str) -> float:
    """Of this process, in MB: "VmRSS" now, "VmHWM" at most since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind + ":"):
            return float(line.split()[1]) / 1024
    return 0.0


def run_peer(metric: str, library: str, gradient: bool, threads: int) -> None:
    """Prints the median CPU time of three calls, the peak of the first, the value."""
    import torch
    warnings.filterwarnings("ignore")
    torch.set_num_threads(threads)
    function = function_of(metric, library)
    target = torch.from_numpy(noise(1))
    preds = (0.75 * target + 0.25 * torch.from_numpy(noise(2))).requires_grad_(gradient)
    times = []
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    for _ in range(3):
        start = time.process_time()
        value = function(preds, target)
        if gradient:
            value.backward()
            preds.grad = None
        times.append((time.process_time() - start) * 1000)
        if len(times) == 1:
            peak = memory("VmHWM") - before
    print(json.dumps({"ms": statistics.median(times), "peak": peak,
                      "value": float(value.detach())}))


def peer(*arguments: str) -> dict[str, float]:
    """run_peer() in a process of its own."""
    output = subprocess.run([sys.executable, __file__, "--run", *arguments],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def own(name: str, threads: int, target: str) -> dict[str, float]:
    """Tally's."""
    output = subprocess.run(
        [BINARY, *([f"--target={target}"] if target else []),
         "--benchmark_format=json", f"--benchmark_filter=^{name}/real_time$"],
        check=True, capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)}).stdout
    result = json.loads(output)["benchmarks"][0]
    return {"ms": result["cpu_time"], "peak": result["peak_mb"],
            "value": result["value"]}


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--filter", default="", help="part of the names")
    parser.add_argument("--target", default="", help="vector instructions of Tally")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        metric, library, gradient = options.run
        run_peer(metric, library, gradient == "True", options.threads)
        return
    if not BINARY.exists():
        sys.exit("build it first: tools/bazel build --config=release "
                 "//benchmarks:image_benchmark")
    print("| benchmark | peer | Tally, ms | peer, ms | peer / Tally | Tally, MB "
          "| peer, MB | Tally's value | peer's |")
    print("|---|---|---|---|---|---|---|---|---|")
    for metric, libraries in PEERS.items():
        for gradient in (False, True):
            name = metric + ("_gradient" if gradient else "")
            if options.filter not in name:
                continue
            mine, theirs = [], {library: [] for library in libraries}
            for _ in range(options.passes):
                mine.append(own(name, options.threads, options.target))
                for library in libraries:
                    theirs[library].append(peer(
                        metric, library, str(gradient),
                        "--threads", str(options.threads)))
            ms = statistics.median(x["ms"] for x in mine)
            for library, results in theirs.items():
                other = statistics.median(x["ms"] for x in results)
                print(f"| `{name}` | {library} | {ms:.1f} | {other:.0f} "
                      f"| {other / ms:.1f} | {mine[0]['peak']:.0f} "
                      f"| {results[0]['peak']:.0f} | {mine[0]['value']:.6f} "
                      f"| {results[0]['value']:.6f} |", flush=True)


if __name__ == "__main__":
    main()
