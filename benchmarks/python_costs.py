"""What a batch of 32 costs in Python: Tally, its drop-in classes, and TorchMetrics.

Usage: python benchmarks/python_costs.py [--json]

The three in turns, in one process with one thread; the best of many rounds of each. Needs
the package with TorchMetrics: pip install tally_metrics-*.whl torchmetrics==1.9.0
"""

import json
import sys
import time

import torch
import torchmetrics

import tally
import tally.compat.torchmetrics as drop_in

BATCH = 32
ROUNDS = 60
CALLS = 100


def cases():
    torch.manual_seed(0)
    x, y = torch.rand(BATCH), torch.rand(BATCH)
    binary = torch.randint(2, (BATCH,))
    scores, classes = torch.rand(BATCH, 10), torch.randint(10, (BATCH,))
    yield "MeanSquaredError", "regression", {}, (x, y)
    yield "PearsonCorrCoef", "regression", {}, (x, y)
    yield "MulticlassAccuracy", "classification", {"num_classes": 10}, (scores, classes)
    yield "MulticlassConfusionMatrix", "classification", {"num_classes": 10}, (scores, classes)
    yield "BinaryAccuracy", "classification", {}, (x, binary)
    yield "BinaryAUROC", "classification", {"thresholds": 100}, (x, binary)
    yield "BinaryAUROC", "classification", {}, (x, binary)
    yield "MeanMetric", "aggregation", {}, (x,)


def seconds(call, inputs):
    begin = time.perf_counter()
    for _ in range(CALLS):
        call(*inputs)
    return (time.perf_counter() - begin) / CALLS


def measure(metrics, method, inputs):
    """Microseconds of each, best of the rounds."""
    best = [float("inf")] * len(metrics)
    for _ in range(ROUNDS):
        for i, metric in enumerate(metrics):
            # What they keep must not grow beyond one round.
            metric.reset()
            best[i] = min(best[i], seconds(getattr(metric, method), inputs))
    return [1e6 * each for each in best]


def main():
    torch.set_num_threads(1)
    rows = []
    for name, domain, options, inputs in cases():
        metrics = [
            getattr(tally, name)(**options),
            getattr(getattr(drop_in, domain), name)(**options),
            getattr(getattr(torchmetrics, domain), name)(**options),
        ]
        for method in ("update", "forward"):
            own, compat, theirs = measure(metrics, method, inputs)
            label = name + "".join(f"({k}={v})" for k, v in options.items())
            rows.append((label, method, own, compat, theirs, theirs / own, theirs / compat))
    if "--json" in sys.argv[1:]:
        print(json.dumps(rows))
        return
    print("| metric | call | Tally us | drop-in us | TorchMetrics us | ratio | ratio of drop-in |")
    print("|---|---|---|---|---|---|---|")
    for label, method, *numbers in rows:
        print(f"| {label} | {method} | " + " | ".join(f"{n:.1f}" for n in numbers) + " |")


if __name__ == "__main__":
    main()
