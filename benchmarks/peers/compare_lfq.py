#!/usr/bin/env python3
"""Compares LFQ with vector-quantize-pytorch's: see ../README.md.

    python3 compare_lfq.py [BITS TOKENS [BINARY]]

Runs both in turn, three times, each on one thread, with one forward and
backward pass of the loss as a round. Needs vector-quantize-pytorch 1.32.0 and
what it imports beside this folder's requirements.txt.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

BINARY = (Path(__file__).resolve().parents[2]
          / "bazel-bin" / "benchmarks" / "lfq_benchmark")


def status_mb(name: str) -> float:
    """A line of /proc/self/status, in MB."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return float(text.split(f"{name}:")[1].split()[0]) / 1000


def peer(bits: int, tokens: int) -> dict[str, float]:
    """One measured round of theirs, after one that is not."""
    import torch
    from vector_quantize_pytorch import LFQ

    torch.set_num_threads(1)
    module = LFQ(dim=bits)
    x = torch.randn(1, tokens, bits, requires_grad=True)
    module(x[:, :8]).entropy_aux_loss.backward()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status_mb("VmRSS")
    start = time.perf_counter()
    module(x).entropy_aux_loss.backward()
    return {"best_ms": (time.perf_counter() - start) * 1000,
            "peak_mb": status_mb("VmHWM") - before}


def best_of(command: list[str], passes: int) -> dict[str, float]:
    """The best of each column."""
    rows = [json.loads(subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout)
        for _ in range(passes)]
    return {key: min(row[key] for row in rows)
            for key in ("best_ms", "peak_mb")}


def main() -> None:
    if sys.argv[1:2] == ["--peer"]:
        print(json.dumps(peer(int(sys.argv[2]), int(sys.argv[3]))))
        return
    bits, tokens = sys.argv[1:3] or ("16", "2048")
    binary = sys.argv[3] if len(sys.argv) > 3 else str(BINARY)
    ours = best_of([binary, bits, tokens], 3)
    theirs = best_of([sys.executable, __file__, "--peer", bits, tokens], 3)
    print("| bits | tokens | time, ms | peer | ratio | memory, MB | peer |")
    print("|---|---|---|---|---|---|---|")
    print(f"| {bits} | {tokens} | {ours['best_ms']:.1f} "
          f"| {theirs['best_ms']:.0f} "
          f"| {theirs['best_ms'] / ours['best_ms']:.0f} "
          f"| {ours['peak_mb']:.0f} | {theirs['peak_mb']:.0f} |")


if __name__ == "__main__":
    main()
