"""Objects of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from subjects.case import Case, Inputs, torchmetrics_case
from subjects.sizes import BATCH

CLASSES = 10


def objects(size: str) -> Inputs:
    """Detections near annotations, and others, by image."""
    preds, target = [], []
    for _ in range(32 if size == BATCH else 500):
        count = int(torch.randint(1, 8, ()))
        corners = torch.rand(count, 2) * 400
        boxes = torch.cat([corners, corners + 10 + torch.rand(count, 2) * 150], 1)
        labels = torch.randint(CLASSES, (count,))
        others = torch.rand(count, 2) * 400
        found = torch.cat([boxes + torch.rand(count, 4) * 4,
                           torch.cat([others, others + 10 + torch.rand(count, 2) * 150], 1)])
        preds.append({"boxes": found, "scores": torch.rand(2 * count),
                      "labels": torch.cat([labels, torch.randint(CLASSES, (count,))])})
        target.append({"boxes": boxes, "labels": labels})
    return preds, target


def segments(size: str) -> Inputs:
    """Categories and instances of pixels."""
    count, side = (32, 16) if size == BATCH else (16, 256)
    rough = torch.randint(CLASSES, (count, side // 8, side // 8))
    category = rough.repeat_interleave(8, 1).repeat_interleave(8, 2)
    instance = torch.where(category < 5, category % 2, 0)
    target = torch.stack([category, instance], -1)
    return target.roll(1, 1).contiguous(), target


def cases() -> Iterator[Case]:
    for name in ("IntersectionOverUnion", "GeneralizedIntersectionOverUnion",
                 "DistanceIntersectionOverUnion", "CompleteIntersectionOverUnion"):
        yield torchmetrics_case(name, objects)
    yield torchmetrics_case("MeanAveragePrecision", objects)
    kinds = {"things": set(range(5)), "stuffs": set(range(5, CLASSES))}
    for name in ("PanopticQuality", "ModifiedPanopticQuality"):
        yield torchmetrics_case(name, segments, kinds)
    yield from _of_recall()


def _of_recall() -> Iterator[Case]:
    """A part of TorchMetrics' summary."""
    import tally
    from torchmetrics.detection import MeanAveragePrecision

    class Recall:
        def __init__(self) -> None:
            self._metric = MeanAveragePrecision()
            self.reset, self.update = self._metric.reset, self._metric.update

        def compute(self) -> Any:
            return self._metric.compute()["mar_100"]

        def __call__(self, *inputs: Any) -> Any:
            return self._metric(*inputs)["mar_100"]

    yield Case("MeanAverageRecall", "TorchMetrics", tally.MeanAverageRecall, Recall, objects)
