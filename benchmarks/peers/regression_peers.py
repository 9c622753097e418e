"""What regression_benchmark.cc has peers for; see peer_metrics.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torchmetrics
from scipy import stats
from torchmetrics import regression

BATCH = 32
LARGE = 10_000_000
RANKED = 1_000_000

Work = Callable[[], Any]
Peers = dict[str, Work]
Cases = dict[str, Callable[[], Peers]]


def batch_cases() -> Cases:
    """One batch of 32."""
    cases: Cases = {}
    preds, target = torch.rand(BATCH) + 0.5, torch.rand(BATCH) + 0.5
    rows, others = torch.rand(BATCH, 10), torch.rand(BATCH, 10)

    def add(name: str, inputs: tuple[torch.Tensor, ...], **options) -> None:
        def make() -> torchmetrics.Metric:
            return getattr(regression, name)(**options)

        def update() -> Peers:
            metric = make()
            return {"TorchMetrics": lambda: metric.update(*inputs)}

        def forward() -> Peers:
            metric = make()
            return {"TorchMetrics": lambda: metric(*inputs)}

        cases[name + "/update"] = update
        cases[name + "/forward"] = forward

    pair = (preds, target)
    for name in (
        "MeanAbsoluteError", "MeanSquaredLogError",
        "MeanAbsolutePercentageError", "SymmetricMeanAbsolutePercentageError",
        "WeightedMeanAbsolutePercentageError", "LogCoshError", "R2Score",
        "ExplainedVariance", "RelativeSquaredError",
        "NormalizedRootMeanSquaredError", "ConcordanceCorrCoef",
        "PearsonCorrCoef", "SpearmanCorrCoef", "KendallRankCorrCoef",
    ):
        add(name, pair)
    add("MinkowskiDistance", pair, p=3)
    add("TweedieDevianceScore", pair, power=1)
    add("CriticalSuccessIndex", pair, threshold=1)
    for name in ("CosineSimilarity", "KLDivergence",
                 "JensenShannonDivergence"):
        add(name, (rows, others))
    add("ContinuousRankedProbabilityScore", (rows, target))
    return cases


def _evaluation(name: str, *inputs: torch.Tensor) -> Work:
    def work() -> torch.Tensor:
        metric = getattr(regression, name)()
        metric.update(*inputs)
        return metric.compute()

    return work


def large_cases() -> Cases:
    """Many samples at once."""
    def floats(count: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.randn(count)
        return x, x + torch.randn(count)

    def averages(name: str, integers: bool = False) -> Callable[[], Peers]:
        def peers() -> Peers:
            inputs = floats(LARGE)
            if integers:
                inputs = tuple(torch.randint(1000, (2, LARGE)))
            return {"TorchMetrics": _evaluation(name, *inputs)}

        return peers

    def pearson() -> Peers:
        x, y = floats(LARGE)
        return {
            "TorchMetrics": _evaluation("PearsonCorrCoef", x, y),
            "SciPy": lambda: stats.pearsonr(x.numpy(), y.numpy()),
        }

    def ranks(name: str, function: Callable[..., Any], count: int,
              ties: bool = False) -> Callable[[], Peers]:
        def peers() -> Peers:
            x, y = floats(count)
            if ties:
                x, y = (10 * x).round(), (10 * y).round()
            result: Peers = {"SciPy": lambda: function(x.numpy(), y.numpy())}
            if name == "SpearmanCorrCoef" or count < 10_000:
                result["TorchMetrics"] = _evaluation(name, x, y)
            return result

        return peers

    return {
        "MeanSquaredError/1e7": averages("MeanSquaredError"),
        "MeanAbsoluteError/1e7": averages("MeanAbsoluteError"),
        "R2Score/1e7": averages("R2Score"),
        "PearsonCorrCoef/1e7": pearson,
        "MeanSquaredError/1e7_int64": averages("MeanSquaredError", True),
        "SpearmanCorrCoef/1e6":
            ranks("SpearmanCorrCoef", stats.spearmanr, RANKED),
        "SpearmanCorrCoef/1e6_ties":
            ranks("SpearmanCorrCoef", stats.spearmanr, RANKED, ties=True),
        "KendallRankCorrCoef/1e6":
            ranks("KendallRankCorrCoef", stats.kendalltau, RANKED),
        "KendallRankCorrCoef/1e6_ties":
            ranks("KendallRankCorrCoef", stats.kendalltau, RANKED, ties=True),
        "KendallRankCorrCoef/2000":
            ranks("KendallRankCorrCoef", stats.kendalltau, 2000),
    }


def cases() -> Cases:
    """All of them, by the names of Tally's benchmarks."""
    return {**batch_cases(), **large_cases()}
