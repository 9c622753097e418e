"""Writes ../data/detection/IntersectionOverUnion.json and those of the other
overlaps.

    python overlaps.py

Overlaps are torchvision's matrices, which add 1e-7 to the divisors of DIoU and
CIoU; matched pairs are SciPy's assignment of them, within each label.
"""

from typing import Any

import numpy as np
import torch
from fixture import result, tensor, write
from scipy.optimize import linear_sum_assignment
from torchvision import ops

METRICS = {"iou": ("IntersectionOverUnion", ops.box_iou),
           "giou": ("GeneralizedIntersectionOverUnion",
                    ops.generalized_box_iou),
           "diou": ("DistanceIntersectionOverUnion", ops.distance_box_iou),
           "ciou": ("CompleteIntersectionOverUnion", ops.complete_box_iou)}
CLASSES = 3

# Boxes as edges, and their labels.
Image = tuple[np.ndarray, np.ndarray]


def drawn(seed: int, paired: bool) -> list[tuple[Image, Image]]:
    """Coordinates are quarters, which any format of boxes can hold."""
    draw = np.random.default_rng([2026, seed])
    images = []
    for _ in range(9):
        corners = np.round(draw.uniform(0, 60, (draw.integers(0, 6), 2)) * 4) / 4
        sides = np.round(draw.uniform(10, 50, corners.shape) * 4) / 4
        target = np.concatenate([corners, corners + sides], 1)
        labels = draw.integers(0, CLASSES, len(target))
        count = len(target) if paired else int(draw.integers(0, 6))
        preds = np.zeros((count, 4))
        preds_labels = draw.integers(0, CLASSES, count)
        for i in range(count):
            if len(target) and draw.random() < 0.8:
                j = i if paired else draw.integers(len(target))
                moved = target[j] + np.round(draw.normal(size=4) * 16) / 4
                if draw.random() < 0.8:
                    preds_labels[i] = labels[j]
            else:
                moved = np.round(draw.uniform(0, 60, 4) * 4) / 4
            preds[i, :2] = np.minimum(moved[:2], moved[2:])
            preds[i, 2:] = np.maximum(moved[:2], moved[2:]) + 1
        images.append(((preds, preds_labels), (target, labels)))
    return images


def chosen(matrix: np.ndarray, labels: np.ndarray, others: np.ndarray,
           options: dict[str, Any]) -> list[tuple[int, int]]:
    """The pairs of an image that are compared."""
    rows, columns = matrix.shape
    respects = options.get("respect_labels", True)
    same = (labels[:, None] == others) | (not respects)
    if options.get("pairs") == "all":
        pairs = [(i, j) for i in range(rows) for j in range(columns)]
    elif options.get("pairs") == "paired":
        pairs = [(i, i) for i in range(rows)]
    else:
        pairs = []
        for label in range(CLASSES) if respects else [None]:
            mine = np.flatnonzero((labels == label) | (label is None))
            theirs = np.flatnonzero((others == label) | (label is None))
            taken = linear_sum_assignment(matrix[np.ix_(mine, theirs)],
                                          maximize=True)
            pairs += [(mine[i], theirs[j]) for i, j in zip(*taken)]
    least = options.get("iou_threshold", -2)
    return [(i, j) for i, j in pairs if same[i, j] and matrix[i, j] >= least]


def formatted(boxes: np.ndarray, box_format: str) -> np.ndarray:
    size = boxes[:, 2:] - boxes[:, :2]
    if box_format == "xywh":
        return np.concatenate([boxes[:, :2], size], 1)
    if box_format == "cxcywh":
        return np.concatenate([boxes[:, :2] + size / 2, size], 1)
    return boxes


def row(image: Image, box_format: str) -> dict[str, Any]:
    boxes, labels = image
    return {"boxes": tensor(formatted(boxes, box_format), "float64",
                            [len(boxes), 4]),
            "labels": tensor(labels, "int64", [len(boxes)])}


def mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def case(name: str, kind: str, seed: int,
         options: dict[str, Any]) -> dict[str, Any]:
    images = drawn(seed, options.get("pairs") == "paired")
    values: dict[int, list[float]] = {
        int(label): [] for _, (_, labels) in images for label in labels}
    for (preds, labels), (target, others) in images:
        matrix = METRICS[kind][1](torch.tensor(preds),
                                  torch.tensor(target)).numpy()
        for i, j in chosen(matrix, labels, others, options):
            values[int(others[j])].append(float(matrix[i, j]))
    everything = [value for own in values.values() for value in own]
    expected: dict[str, Any] = {kind: mean(everything)}
    if options.get("class_metrics"):
        classes = sorted(values)
        expected[f"{kind}_per_class"] = np.array(
            [mean(values[label]) for label in classes])
        expected["classes"] = np.array(classes)
    box_format = options.get("box_format", "xyxy")
    batches = [{"inputs": [[row(image, box_format) for image in side]
                           for side in zip(*part)]}
               for part in (images[4:], images[:4])]
    return {"name": name, "options": options,
            "expected": {key: result(value)
                         for key, value in expected.items()},
            "rtol": 1e-6 if kind == "ciou" else 1e-9, "atol": 1e-12,
            "batches": batches}


def main() -> None:
    for kind, (metric, _) in METRICS.items():
        write(metric, "torchvision 0.26.0, SciPy 1.15.3", [
            case("matched", kind, 1, {"class_metrics": True}),
            case("all_pairs", kind, 2, {"class_metrics": True, "pairs": "all",
                                        "iou_threshold": 0.1}),
            case("paired", kind, 3, {"respect_labels": False,
                                     "pairs": "paired",
                                     "box_format": "xywh"}),
            case("any_label", kind, 4, {"respect_labels": False,
                                        "box_format": "cxcywh"}),
        ])


if __name__ == "__main__":
    main()
