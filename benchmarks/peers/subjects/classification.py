"""Classification: TorchMetrics', and scikit-learn's functions where it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH

CLASSES, MANY = 10, 100
COUNTS = (
    "Accuracy", "ConfusionMatrix", "F1Score", "FBetaScore", "HammingDistance", "JaccardIndex",
    "MatthewsCorrCoef", "NegativePredictiveValue", "Precision", "Recall", "Specificity",
    "StatScores",
)
CURVES = (
    "AUROC", "AveragePrecision", "EER", "LogAUC", "PrecisionRecallCurve", "ROC",
    "PrecisionAtFixedRecall", "RecallAtFixedPrecision", "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
)
LEAST = {
    "PrecisionAtFixedRecall": {"min_recall": 0.5},
    "RecallAtFixedPrecision": {"min_precision": 0.5},
    "SensitivityAtSpecificity": {"min_specificity": 0.5},
    "SpecificityAtSensitivity": {"min_sensitivity": 0.5},
    "FBetaScore": {"beta": 2.0},
}


def binary(size: str) -> Inputs:
    count = 32 if size == BATCH else 1_000_000
    target = torch.randint(2, (count,))
    return (torch.randn(count) + target - 0.5).sigmoid(), target


def grouped(size: str) -> Inputs:
    preds, target = binary(size)
    return preds, target, torch.randint(2, target.shape)


def classes_of(size: str) -> int:
    return CLASSES if size == BATCH else MANY


def multiclass(size: str) -> Inputs:
    count, classes = 32 if size == BATCH else 10_000, classes_of(size)
    target = torch.randperm(count) % classes
    logits = torch.randn(count, classes) + 2 * torch.nn.functional.one_hot(target, classes)
    return logits.softmax(1), target


def positions(size: str) -> Inputs:
    """Several in each sample."""
    preds, target = multiclass(size)
    return preds.T.reshape(1, classes_of(size), -1), target[None]


def multilabel(size: str) -> Inputs:
    count, labels = 32 if size == BATCH else 10_000, classes_of(size)
    target = torch.randint(2, (count, labels))
    return (torch.randn(count, labels) + target - 0.5).sigmoid(), target


KINDS: dict[str, tuple[Callable[[str], Inputs], str]] = {
    "Binary": (binary, ""),
    "Multiclass": (multiclass, "num_classes"),
    "Multilabel": (multilabel, "num_labels"),
}


def sized(
    name: str, inputs: Callable[[str], Inputs], count: str,
    options: dict[str, Any] | None = None, **fields: Any,
) -> Iterator[Case]:
    """A case for each size, where the number of classes is an option."""
    for size in (BATCH, "large"):
        told = {**(options or {}), **({count: classes_of(size)} if count else {})}
        yield torchmetrics_case(name, inputs, told, fast=True, sizes=(size,), **fields)


def _of_torchmetrics() -> Iterator[Case]:
    for kind, (inputs, count) in KINDS.items():
        for name in COUNTS + CURVES:
            yield from sized(kind + name, inputs, count, LEAST.get(name))
    for kind in ("Binary", "Multiclass"):
        inputs, count = KINDS[kind]
        yield from sized(kind + "CalibrationError", inputs, count)
        yield from sized(kind + "CohenKappa", inputs, count)
        yield from sized(kind + "HingeLoss", inputs, count, gradients=(0,))
    for kind in ("Binary", "Multiclass", "Multilabel"):
        inputs, count = KINDS[kind]
        for name in ("AUROC", "ROC", "PrecisionRecallCurve"):
            yield from sized(kind + name, inputs, count, {"thresholds": 100},
                             note="100 thresholds")
    yield from sized("MulticlassExactMatch", positions, "num_classes")
    yield from sized("MultilabelExactMatch", multilabel, "num_labels")
    for name in ("CoverageError", "RankingAveragePrecision", "RankingLoss"):
        yield from sized("Multilabel" + name, multilabel, "num_labels")
    for name in ("BinaryFairness", "BinaryGroupStatRates"):
        yield from sized(name, grouped, "", {"num_groups": 2})


def _of_scikit_learn() -> Iterator[Case]:
    from sklearn import metrics

    def rounded(preds: np.ndarray, target: np.ndarray) -> float:
        return metrics.balanced_accuracy_score(target, preds >= 0.5)

    yield function_case("BinaryBalancedAccuracy", "scikit-learn", rounded, binary)
    yield function_case(
        "BinaryBrierScore", "scikit-learn",
        lambda preds, target: metrics.brier_score_loss(target, preds), binary)
    yield function_case(
        "BinaryLogLoss", "scikit-learn",
        lambda preds, target: metrics.log_loss(target, preds), binary)
    for size in (BATCH, "large"):
        options = {"num_classes": classes_of(size)}
        every = np.arange(classes_of(size))
        yield function_case(
            "MulticlassBalancedAccuracy", "scikit-learn",
            lambda preds, target: metrics.balanced_accuracy_score(target, preds.argmax(1)),
            multiclass, options, sizes=(size,))
        yield function_case(
            "MulticlassLogLoss", "scikit-learn",
            lambda preds, target, every=every: metrics.log_loss(target, preds, labels=every),
            multiclass, options, sizes=(size,))
        yield function_case(
            "MulticlassBrierScore", "NumPy",
            lambda preds, target, every=every: np.square(
                preds - (target[:, None] == every)).sum(1).mean(),
            multiclass, options, sizes=(size,))
        yield function_case(
            "MultilabelLogLoss", "scikit-learn",
            lambda preds, target: np.mean([
                metrics.log_loss(t, p, labels=[0, 1])
                for p, t in zip(preds.T, target.T)]),
            multilabel, {"num_labels": classes_of(size)}, sizes=(size,))


def _recalibrated() -> Iterator[Case]:
    import statsmodels.api as sm

    def logit(preds: np.ndarray) -> np.ndarray:
        preds = preds.astype("float64")
        return np.log(preds / (1 - preds))

    def slope(preds: np.ndarray, target: np.ndarray) -> float:
        return sm.GLM(target, sm.add_constant(logit(preds)),
                      family=sm.families.Binomial()).fit().params[1]

    def intercept(preds: np.ndarray, target: np.ndarray) -> float:
        return sm.GLM(target, np.ones(len(target)), offset=logit(preds),
                      family=sm.families.Binomial()).fit().params[0]

    yield function_case("BinaryCalibrationSlope", "statsmodels", slope, binary)
    yield function_case("BinaryCalibrationIntercept", "statsmodels", intercept, binary)

    def spiegelhalter(preds: np.ndarray, target: np.ndarray) -> float:
        preds = preds.astype("float64")
        above = ((target - preds) * (1 - 2 * preds)).sum()
        return above / np.sqrt((np.square(1 - 2 * preds) * preds * (1 - preds)).sum())

    yield function_case("BinarySpiegelhalterZ", "NumPy", spiegelhalter, binary)


def cases() -> Iterator[Case]:
    yield from _of_torchmetrics()
    yield from _of_scikit_learn()
    yield from _recalibrated()
