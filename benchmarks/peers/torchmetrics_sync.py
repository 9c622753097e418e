"""Times compute() of TorchMetrics over local Gloo ranks.

    python torchmetrics_sync.py RANKS ROUNDS

Prints a line of JSON for each scenario; those of ../scenarios.h.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import time
import warnings
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torchmetrics
from torch.multiprocessing.spawn import spawn
from torchmetrics import classification

CLASSES = 10


def collection() -> torchmetrics.MetricCollection:
    """Seven metrics: one keeps a histogram, the last one all 320 rows."""
    options: dict[str, Any] = {
        "num_classes": CLASSES,
        "compute_with_cache": False,
    }
    metrics = torchmetrics.MetricCollection({
        "accuracy": classification.MulticlassAccuracy(**options),
        "precision": classification.MulticlassPrecision(**options),
        "recall": classification.MulticlassRecall(**options),
        "f1": classification.MulticlassF1Score(**options),
        "confusion": classification.MulticlassConfusionMatrix(**options),
        "binned_auroc": classification.MulticlassAUROC(
            thresholds=100, **options
        ),
        "calibration_error": classification.MulticlassCalibrationError(
            **options
        ),
    })
    for _ in range(10):
        metrics.update(
            torch.randn(32, CLASSES).softmax(1),
            torch.randint(CLASSES, (32,)),
        )
    return metrics


def rows(batches: int, rows_each: int) -> torchmetrics.Metric:
    """Float32 rows that came in so many batches."""
    metric = torchmetrics.CatMetric(compute_with_cache=False)
    for _ in range(batches):
        metric.update(torch.randn(rows_each))
    return metric


def measure(scenario: str, metric: Any, rank: int, rounds: int) -> None:
    """Prints the times of compute() on rank 0."""
    times = []
    for _ in range(-max(rounds // 10, 2), rounds):
        dist.barrier()
        start = time.perf_counter()
        metric.compute()
        times.append((time.perf_counter() - start) * 1e6)
    if rank == 0:
        p10, p50 = np.quantile(times[-rounds:], [0.1, 0.5])
        print(json.dumps({"scenario": scenario, "p10_us": p10, "p50_us": p50}))


def run(rank: int, ranks: int, rounds: int, store: str) -> None:
    """One rank."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    measure("collection", collection(), rank, rounds)
    measure("rows", rows(1, 1_000_000), rank, rounds)
    measure("batches", rows(100, 32), rank, rounds)
    dist.destroy_process_group()


def main() -> None:
    ranks, rounds = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder) / "store")
        start: Any = spawn  # it has no types
        start(run, args=(ranks, rounds, store), nprocs=ranks)


if __name__ == "__main__":
    main()
