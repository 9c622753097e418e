"""Times what Tally's benchmarks have peers for.

    python peer_metrics.py FILTER --list
    python peer_metrics.py FILTER NAME...

The first prints the names that contain FILTER, which are those of Tally's
benchmarks; the second a line of JSON for each library that does the same.
TorchMetrics does not validate its inputs here; Tally does.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import clustering_peers
import numpy as np
import regression_peers
import segmentation_peers
import retrieval_peers
import torch
import torcheval.metrics
import torchmetrics
from sklearn import metrics as sklearn_metrics
from torchmetrics import classification

BATCH = 32
CLASSES = 10
HISTORY = 5000
FAST: dict[str, Any] = {"validate_args": False}

Work = Callable[[], Any]
# By library.
Peers = dict[str, Work]
# By name of the benchmark; made when it is its turn.
Cases = dict[str, Callable[[], Peers]]


def six_metrics() -> torchmetrics.MetricCollection:
    """Those of metric_benchmark.cc."""
    options: dict[str, Any] = {"num_classes": CLASSES, **FAST}
    return torchmetrics.MetricCollection({
        "accuracy": classification.MulticlassAccuracy(**options),
        "micro_accuracy": classification.MulticlassAccuracy(
            average="micro", **options
        ),
        "precision": classification.MulticlassPrecision(**options),
        "recall": classification.MulticlassRecall(**options),
        "f1": classification.MulticlassF1Score(**options),
        "confusion": classification.MulticlassConfusionMatrix(**options),
    })


def add_batch(
    cases: Cases,
    name: str,
    make: Callable[[], Any],
    inputs: tuple[Any, ...],
    torcheval_make: Callable[[], Any] | None = None,
) -> None:
    """One batch of 32, as in metric_benchmark.cc."""

    def update() -> Peers:
        metric = make()
        peers: Peers = {"TorchMetrics": lambda: metric.update(*inputs)}
        if torcheval_make:
            other = torcheval_make()
            peers["torcheval"] = lambda: other.update(*inputs)
        return peers

    def forward() -> Peers:
        metric = make()
        return {"TorchMetrics": lambda: metric(*inputs)}

    def forward_late() -> Peers:
        metric = make()
        for _ in range(HISTORY):
            metric.update(*inputs)
        return {"TorchMetrics": lambda: metric(*inputs)}

    cases[name + "/update"] = update
    cases[name + "/forward"] = forward
    cases[name + "/forward_late"] = forward_late


def batch_cases() -> Cases:
    cases: Cases = {}
    rows = torch.randn(BATCH, CLASSES).softmax(1)
    labels = torch.randint(CLASSES, (BATCH,))
    scores = torch.rand(BATCH)
    binary = torch.randint(2, (BATCH,))
    a, b = torch.randn(BATCH), torch.randn(BATCH)
    add_batch(
        cases,
        "BinaryAccuracy",
        lambda: classification.BinaryAccuracy(**FAST),
        (scores, binary),
        torcheval.metrics.BinaryAccuracy,
    )
    add_batch(
        cases,
        "MulticlassAccuracy",
        lambda: classification.MulticlassAccuracy(CLASSES, **FAST),
        (rows, labels),
        lambda: torcheval.metrics.MulticlassAccuracy(
            average="macro", num_classes=CLASSES
        ),
    )
    add_batch(
        cases,
        "MeanSquaredError",
        torchmetrics.MeanSquaredError,
        (a, b),
        torcheval.metrics.MeanSquaredError,
    )
    add_batch(
        cases,
        "MeanMetric",
        torchmetrics.MeanMetric,
        (a, scores),
    )
    add_batch(
        cases,
        "BinaryAUROC",
        lambda: classification.BinaryAUROC(**FAST),
        (scores, binary),
    )
    add_batch(
        cases,
        "BinaryAUROC(thresholds=100)",
        lambda: classification.BinaryAUROC(thresholds=100, **FAST),
        (scores, binary),
    )
    add_batch(cases, "MetricCollection(6)", six_metrics, (rows, labels))
    return cases


def evaluation(make: Callable[[], Any], *inputs: torch.Tensor) -> Work:
    def work() -> Any:
        metric = make()
        metric.update(*inputs)
        return metric.compute()

    return work


def rows_cases() -> Cases:
    """20 000 x 1000, of classification_benchmark.cc."""
    many = 1000

    def case(make: Callable[[], Any]) -> Callable[[], Peers]:
        def peers() -> Peers:
            rows = torch.randn(20_000, many)
            labels = torch.randint(many, (20_000,))
            metric = make()
            return {"TorchMetrics": lambda: metric.update(rows, labels)}

        return peers

    options: dict[str, Any] = {"num_classes": many, **FAST}
    return {
        "large/top1": case(
            lambda: classification.MulticlassAccuracy(**options)
        ),
        "large/top5": case(
            lambda: classification.MulticlassAccuracy(top_k=5, **options)
        ),
        "large/confusion": case(
            lambda: classification.MulticlassConfusionMatrix(**options)
        ),
        "large/calibration": case(
            lambda: classification.MulticlassCalibrationError(**options)
        ),
    }


def few(preds: torch.Tensor) -> torch.Tensor:
    return (preds * 1000).round() / 1000


def equal(preds: torch.Tensor) -> torch.Tensor:
    return torch.full_like(preds, 0.5)


def in_order(preds: torch.Tensor) -> torch.Tensor:
    return preds.sort().values


def curve_cases() -> Cases:
    """Those of curve_benchmark.cc."""

    def binary(
        make: Callable[[], Any],
        score: Callable[..., Any] | None = None,
        change: Callable[[torch.Tensor], torch.Tensor] = torch.clone,
    ) -> Callable[[], Peers]:
        def peers() -> Peers:
            target = torch.randint(2, (5_000_000,))
            noise = torch.randn(len(target))
            preds = change((noise + target - 0.5).sigmoid())
            result: Peers = {"TorchMetrics": evaluation(make, preds, target)}
            if score:
                result["scikit-learn"] = lambda: score(
                    target.numpy(), preds.numpy()
                )
            return result

        return peers

    def weighted() -> Peers:
        target = torch.randint(2, (5_000_000,))
        preds = (torch.randn(len(target)) + target - 0.5).sigmoid()
        weight = torch.rand(len(target), dtype=torch.float64)
        return {
            "scikit-learn": lambda: sklearn_metrics.roc_auc_score(
                target.numpy(), preds.numpy(), sample_weight=weight.numpy()
            )
        }

    def multiclass(make: Callable[[], Any]) -> Callable[[], Peers]:
        def peers() -> Peers:
            preds = torch.randn(10_000, 100).softmax(1)
            target = torch.randint(100, (10_000,))
            return {"TorchMetrics": evaluation(make, preds, target)}

        return peers

    return {
        "BinaryAUROC/scores": binary(
            lambda: classification.BinaryAUROC(**FAST),
            sklearn_metrics.roc_auc_score,
        ),
        "BinaryAUROC/few_scores": binary(
            lambda: classification.BinaryAUROC(**FAST),
            sklearn_metrics.roc_auc_score,
            few,
        ),
        "BinaryAUROC/equal_scores": binary(
            lambda: classification.BinaryAUROC(**FAST), change=equal
        ),
        "BinaryAUROC/sorted_scores": binary(
            lambda: classification.BinaryAUROC(**FAST), change=in_order
        ),
        "BinaryAUROC/sorted_few_scores": binary(
            lambda: classification.BinaryAUROC(**FAST),
            change=lambda preds: few(in_order(preds)),
        ),
        "BinaryAUROC/falling_scores": binary(
            lambda: classification.BinaryAUROC(**FAST),
            change=lambda preds: in_order(preds).flip(0),
        ),
        "BinaryAUROC/weighted_scores": weighted,
        "BinaryAveragePrecision/scores": binary(
            lambda: classification.BinaryAveragePrecision(**FAST),
            sklearn_metrics.average_precision_score,
        ),
        "BinaryAveragePrecision/equal_scores": binary(
            lambda: classification.BinaryAveragePrecision(**FAST),
            change=equal,
        ),
        "BinaryAveragePrecision/sorted_scores": binary(
            lambda: classification.BinaryAveragePrecision(**FAST),
            change=in_order,
        ),
        "BinaryAUROC/200_thresholds": binary(
            lambda: classification.BinaryAUROC(thresholds=200, **FAST)
        ),
        "MulticlassAUROC/scores": multiclass(
            lambda: classification.MulticlassAUROC(100, **FAST)
        ),
        "MulticlassAUROC/200_thresholds": multiclass(
            lambda: classification.MulticlassAUROC(
                100, thresholds=200, **FAST
            )
        ),
    }


def microseconds(work: Work) -> float:
    """The median of one to many calls, after one that does not count.

    CPU time on one thread, which other programs disturb least.
    """
    clock = (time.process_time if torch.get_num_threads() == 1
             else time.perf_counter)
    times: list[float] = []
    start = clock()
    work()
    first = clock() - start
    calls = 1 if first > 1 else int(min(max(0.3 / first, 3), 2000))
    for _ in range(calls):
        start = clock()
        work()
        times.append(clock() - start)
    return float(np.median(times)) * 1e6


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    cases = {
        **batch_cases(),
        **rows_cases(),
        **curve_cases(),
        **regression_peers.cases(),
        **segmentation_peers.cases(),
        **clustering_peers.cases(),
        **retrieval_peers.cases(),
    }
    part, names = sys.argv[1], sys.argv[2:]
    if names == ["--list"]:
        print("\n".join(name for name in cases if part in name))
        return
    for name in names:
        for library, work in cases[name]().items():
            row = {"library": library, "name": name, "us": microseconds(work)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
