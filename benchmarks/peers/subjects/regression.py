"""Regression and aggregation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH


def pairs(size: str) -> Inputs:
    count = 32 if size == BATCH else 1_000_000
    target = torch.randn(count)
    return target + 0.5 * torch.randn(count), target


def positive(size: str) -> Inputs:
    return tuple(x.abs() + 0.1 for x in pairs(size))


def few(size: str) -> Inputs:
    """Of what compares each with each."""
    preds, target = pairs(size)
    return preds[:3000], target[:3000]


def rows(size: str) -> Inputs:
    shape = (32, 10) if size == BATCH else (10_000, 100)
    target = torch.randn(shape)
    return target + 0.5 * torch.randn(shape), target


def distributions(size: str) -> Inputs:
    return tuple(x.softmax(1) for x in rows(size))


def ensembles(size: str) -> Inputs:
    preds, target = (x[:1000].contiguous() for x in rows(size))
    return preds, target[:, 0].contiguous()


def _of_torchmetrics() -> Iterator[Case]:
    trained: dict[str, Any] = {"gradients": (0,)}
    for name, options, inputs, fields in (
        ("ConcordanceCorrCoef", {}, pairs, trained),
        ("ContinuousRankedProbabilityScore", {}, ensembles, {}),
        ("CosineSimilarity", {"reduction": "mean"}, rows, trained),
        ("CriticalSuccessIndex", {"threshold": 0.5}, pairs, {}),
        ("ExplainedVariance", {}, pairs, trained),
        ("JensenShannonDivergence", {}, distributions, trained),
        ("KLDivergence", {}, distributions, trained),
        ("KendallRankCorrCoef", {}, few, {}),
        ("LogCoshError", {}, pairs, trained),
        ("MeanAbsoluteError", {}, pairs, trained),
        ("MeanAbsolutePercentageError", {}, positive, trained),
        ("MeanSquaredError", {}, pairs, trained),
        ("MeanSquaredLogError", {}, positive, trained),
        ("MinkowskiDistance", {"p": 3}, pairs, trained),
        ("NormalizedRootMeanSquaredError", {}, positive, trained),
        ("PearsonCorrCoef", {}, pairs, trained),
        ("R2Score", {}, pairs, trained),
        ("RelativeSquaredError", {}, pairs, trained),
        ("SpearmanCorrCoef", {}, pairs, {}),
        ("SymmetricMeanAbsolutePercentageError", {}, positive, trained),
        ("TweedieDevianceScore", {"power": 1.5}, positive, trained),
        ("WeightedMeanAbsolutePercentageError", {}, positive, trained),
    ):
        yield torchmetrics_case(name, inputs, options, **fields)


def _of_scikit_learn() -> Iterator[Case]:
    from sklearn import metrics

    def case(name: str, function: Callable[..., Any],
             options: dict[str, Any] | None = None) -> Case:
        return function_case(
            name, "scikit-learn",
            lambda preds, target: function(target, preds), positive, options)

    yield case("MedianAbsoluteError", metrics.median_absolute_error)
    yield case("MaxError", metrics.max_error)
    yield case("MeanPinballLoss", lambda t, p: metrics.mean_pinball_loss(t, p, alpha=0.3),
               {"alpha": 0.3})
    yield case("D2TweedieScore", lambda t, p: metrics.d2_tweedie_score(t, p, power=1.5),
               {"power": 1.5})
    yield case("D2PinballScore", lambda t, p: metrics.d2_pinball_score(t, p, alpha=0.3),
               {"alpha": 0.3})
    yield case("D2AbsoluteErrorScore", metrics.d2_absolute_error_score)


def values(size: str) -> Inputs:
    return (pairs(size)[0],)


def _aggregated() -> Iterator[Case]:
    for name in ("CatMetric", "MaxMetric", "MeanMetric", "MinMetric", "RunningMean",
                 "RunningSum", "SumMetric"):
        yield torchmetrics_case(name, values)


def _wrapped() -> Iterator[Case]:
    """TorchMetrics' wrappers around its own metrics."""
    import tally
    from torchmetrics import classification, regression, wrappers
    from torchmetrics.wrappers.transformations import BinaryTargetTransformer

    from subjects.classification import binary, multiclass

    def case(name: str, own: Callable[[], Any], peer: Callable[[], Any],
             inputs: Callable[[str], Inputs], **fields: Any) -> Case:
        return Case(name, "TorchMetrics", own, peer, inputs, **fields)

    yield case(
        "BinaryTargetTransformer",
        lambda: tally.BinaryTargetTransformer(tally.BinaryAccuracy(), threshold=0.5),
        lambda: BinaryTargetTransformer(
            classification.BinaryAccuracy(validate_args=False), threshold=0.5),
        lambda size: (lambda p, t: (p, t.float() * 0.8))(*binary(size)))
    yield case(
        "MinMaxMetric",
        lambda: tally.MinMaxMetric(tally.BinaryAccuracy()),
        lambda: wrappers.MinMaxMetric(classification.BinaryAccuracy(validate_args=False)),
        binary)
    yield case(
        "Running", lambda: tally.Running(tally.MeanSquaredError(), window=3),
        lambda: wrappers.Running(regression.MeanSquaredError(), window=3), pairs)
    yield case(
        "ClasswiseWrapper",
        lambda: tally.ClasswiseWrapper(tally.MulticlassAccuracy(num_classes=100, average="none")),
        lambda: wrappers.ClasswiseWrapper(classification.MulticlassAccuracy(
            num_classes=100, average=None, validate_args=False)),
        multiclass, sizes=("large",))
    yield case(
        "ClasswiseWrapper",
        lambda: tally.ClasswiseWrapper(tally.MulticlassAccuracy(num_classes=10, average="none")),
        lambda: wrappers.ClasswiseWrapper(classification.MulticlassAccuracy(
            num_classes=10, average=None, validate_args=False)),
        multiclass, sizes=(BATCH,))
    for size, outputs in ((BATCH, 10), ("large", 100)):
        yield case(
            "MultioutputWrapper",
            lambda outputs=outputs: tally.MultioutputWrapper(
                tally.MeanSquaredError(), num_outputs=outputs),
            lambda outputs=outputs: wrappers.MultioutputWrapper(
                regression.MeanSquaredError(), num_outputs=outputs),
            rows, sizes=(size,))
    yield case(
        "BootStrapper",
        lambda: tally.BootStrapper(tally.MeanSquaredError(), num_bootstraps=10),
        lambda: wrappers.BootStrapper(regression.MeanSquaredError(), num_bootstraps=10),
        pairs)

    def tasks(size: str) -> Inputs:
        preds, target = pairs(size)
        scores, labels = binary(size)
        return {"a": preds, "b": scores}, {"a": target, "b": labels}

    yield case(
        "MultitaskWrapper",
        lambda: tally.MultitaskWrapper(
            {"a": tally.MeanSquaredError(), "b": tally.BinaryAccuracy()}),
        lambda: wrappers.MultitaskWrapper({
            "a": regression.MeanSquaredError(),
            "b": classification.BinaryAccuracy(validate_args=False)}), tasks)


def cases() -> Iterator[Case]:
    yield from _of_torchmetrics()
    yield from _of_scikit_learn()
    yield from _aggregated()
    yield from _wrapped()
