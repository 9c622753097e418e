"""What Tally reads from a ROC curve, read from TorchMetrics' curves.

TorchMetrics has other definitions of EER and LogAUC (see
docs/from_torchmetrics.md), so that only its curves can be compared.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torchmetrics import classification

Options = dict[str, Any]


class Curve(NamedTuple):
    """FPR and TPR, ascending, from (0, 0) to (1, 1)."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray  # NaN at an end that no threshold reaches
    zeros: int
    ones: int

    def is_defined(self) -> bool:
        """Whether there are both classes."""
        return self.zeros > 0 and self.ones > 0


def equal_error_rate(fpr: np.ndarray, tpr: np.ndarray, _: Options) -> float:
    """Where the curve, with straight lines, crosses FPR = 1 - TPR."""
    return float(np.interp(1, fpr + tpr, fpr))


def log_area(fpr: np.ndarray, tpr: np.ndarray, options: Options) -> float:
    """The mean height over log FPR of the curve with lines straight in FPR."""
    low, high = options.get("fpr_range", [0.001, 0.1])
    total = 0.0
    for i in range(len(fpr) - 1):
        begin, end = max(fpr[i], low), min(fpr[i + 1], high)
        if begin < end:
            slope = (tpr[i + 1] - tpr[i]) / (fpr[i + 1] - fpr[i])
            start = tpr[i] - slope * fpr[i]
            total += start * np.log(end / begin) + slope * (end - begin)
    return total / np.log(high / low)


READINGS: dict[str, Callable[[np.ndarray, np.ndarray, Options], float]] = {
    "EER": equal_error_rate,
    "LogAUC": log_area,
}


def reading_of(name: str) -> str:
    """The one of READINGS that a metric is; an empty text if none."""
    return next((end for end in READINGS if name.endswith(end)), "")


def value(name: str, options: Options,
          batches: list[list[torch.Tensor]]) -> list[torch.Tensor]:
    """A metric's value."""
    read = READINGS[reading_of(name)]
    found = curves(name.removesuffix(reading_of(name)), options, batches)
    values = np.array([
        read(curve.fpr, curve.tpr, options) if curve.is_defined() else np.nan
        for curve in found])
    average = options.get("average", "none")
    if len(values) == 1 or average == "micro":
        return [torch.tensor(values[0])]
    if average == "none":
        return [torch.from_numpy(values)]
    weights = np.array([curve.ones if average == "weighted" else 1.0
                        for curve in found])
    defined = ~np.isnan(values)
    if not defined.any():
        return [torch.tensor(np.nan)]
    return [torch.tensor(np.average(values[defined],
                                    weights=weights[defined]))]


def best_thresholds(name: str, options: Options,
                    batches: list[list[torch.Tensor]]) -> torch.Tensor:
    """Those of SpecificityAtSensitivity: of the highest specificity, then the
    highest sensitivity, then the highest."""
    best = []
    for curve in curves(name.removesuffix("SpecificityAtSensitivity"),
                        options, batches):
        # TorchMetrics' rates are those of float32.
        points = [(1 - x, y, t) for x, y, t in zip(
            curve.fpr, curve.tpr, curve.thresholds)
            if y >= options["min_sensitivity"] - 1e-6 and not np.isnan(t)]
        best.append(max(points)[2] if curve.is_defined() else np.nan)
    return torch.tensor(best[0] if name.startswith("Binary") else best)


def curves(task: str, options: Options,
           batches: list[list[torch.Tensor]]) -> list[Curve]:
    """The curves of all classes or labels; with micro the one of all."""
    preds, target = (torch.cat(column) for column in zip(*batches))
    ignored = options.get("ignore_index")
    kept: Options = {"thresholds": options.get("thresholds")}
    positive = target
    if task == "Multiclass":
        positive = torch.nn.functional.one_hot(
            target.clamp(min=0), options["num_classes"]).movedim(-1, 1)
    if options.get("average") == "micro":
        task, preds, target = "Binary", preds.flatten(), positive.flatten()
        positive = target
    metric = getattr(classification, task + "ROC")(
        **kept, ignore_index=ignored, validate_args=False,
        **{k: v for k, v in options.items() if k.startswith("num_")
           and task != "Binary"})
    metric.update(preds, target.long())
    lines = metric.compute()
    if task != "Binary" and isinstance(lines[2], torch.Tensor):
        lines = (*lines[:2], [lines[2]] * len(lines[0]))
    if task == "Binary":
        positive = positive.reshape(-1, 1)
        lines = [[line] for line in lines]
    counts = []
    for c in range(positive.shape[1]):
        column = positive.select(1, c)
        if ignored is not None:
            column = column[(target if task == "Multiclass" else
                             column).reshape(column.shape) != ignored]
        ones = int((column == 1).sum())
        counts.append((column.numel() - ones, ones))
    # Binned curves lack an end.
    return [Curve(np.r_[0.0, fpr.double().numpy(), 1.0],
                  np.r_[0.0, tpr.double().numpy(), 1.0],
                  np.r_[np.inf, thresholds.double().numpy(), np.nan], *count)
            for fpr, tpr, thresholds, count in zip(*lines, counts)]
