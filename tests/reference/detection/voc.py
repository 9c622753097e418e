"""Writes ../data/detection/PascalVOCAveragePrecision.json.

    python voc.py

The rules are those of voc_eval.py of py-faster-rcnn, which reads files,
written down again; equal scores keep the order of images.
"""

from typing import Any

import numpy as np
from fixture import result, tensor, write
from scenes import Scene, occurring, scene

Row = dict[str, Any]


def corners(each: Row) -> np.ndarray:
    x, y, w, h = each["bbox"]
    return np.array([x, y, x + w, y + h])


def overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    low = np.maximum(others[:, :2], box[:2])
    high = np.minimum(others[:, 2:], box[2:])
    sides = np.maximum(high - low + 1.0, 0.0)
    both = sides[:, 0] * sides[:, 1]
    size = box[2:] - box[:2] + 1.0
    sizes = others[:, 2:] - others[:, :2] + 1.0
    return both / (size[0] * size[1] + sizes[:, 0] * sizes[:, 1] - both)


def average_precision(recall: np.ndarray, precision: np.ndarray,
                      eleven_points: bool) -> float:
    if eleven_points:
        value = 0.0
        for point in np.arange(0.0, 1.1, 0.1):
            reached = recall >= point
            value += np.max(precision[reached]) / 11.0 if reached.any() else 0
        return float(value)
    recall = np.concatenate([[0.0], recall, [1.0]])
    precision = np.concatenate([[0.0], precision, [0.0]])
    for i in range(precision.size - 1, 0, -1):
        precision[i - 1] = np.maximum(precision[i - 1], precision[i])
    steps = np.where(recall[1:] != recall[:-1])[0]
    return float(np.sum((recall[steps + 1] - recall[steps]) *
                        precision[steps + 1]))


def class_value(one: Scene, label: int, threshold: float,
                eleven_points: bool) -> float:
    own = {image: [each for each in one["annotations"]
                   if (each["image_id"], each["category_id"]) == (image, label)]
           for image in one["ids"]}
    counted = sum(not each["ignore"] for rows in own.values() for each in rows)
    if counted == 0:
        return float("nan")
    found = [each for image in one["ids"] for each in one["results"]
             if (each["image_id"], each["category_id"]) == (image, label)]
    found.sort(key=lambda each: -each["score"])
    taken = set()
    hits, misses = np.zeros(len(found)), np.zeros(len(found))
    for d, each in enumerate(found):
        rows = own[each["image_id"]]
        best, place = -np.inf, -1
        if rows:
            all_overlaps = overlaps(corners(each),
                                    np.stack([corners(row) for row in rows]))
            place = int(np.argmax(all_overlaps))
            best = all_overlaps[place]
        if not best > threshold:
            misses[d] = 1
        elif not rows[place]["ignore"]:
            hits[d] = (each["image_id"], place) not in taken
            misses[d] = 1 - hits[d]
            taken.add((each["image_id"], place))
    hits, misses = np.cumsum(hits), np.cumsum(misses)
    return average_precision(
        hits / counted,
        hits / np.maximum(hits + misses, np.finfo(np.float64).eps),
        eleven_points)


def rows_of(one: Scene, image: int, kind: str) -> Row:
    own = [each for each in one[kind] if each["image_id"] == image]
    row = {"boxes": tensor([corners(each) for each in own], "float64",
                           [len(own), 4]),
           "labels": tensor([each["category_id"] for each in own], "int64",
                            [len(own)])}
    key = "score" if kind == "results" else "ignore"
    row["scores" if key == "score" else key] = tensor(
        [each[key] for each in own], "float64" if key == "score" else "int64",
        [len(own)])
    return row


def case(name: str, seed: int, thresholds: list[float],
         interpolation: str) -> Row:
    one = scene(seed, images=9, classes=2, exact=True)
    for i, each in enumerate(one["annotations"]):
        each["ignore"] = int(i % 5 == 0)
    labels = occurring(one)
    values = np.array([[class_value(one, label, threshold,
                                    interpolation == "eleven_points")
                        for threshold in thresholds] for label in labels])
    expected: Row = {"map": np.nanmean(np.nanmean(values, 1))}
    if len(thresholds) > 1:
        for threshold, column in zip(thresholds, values.T):
            expected[f"map_{threshold * 100:g}"] = np.nanmean(column)
    expected["map_per_class"] = np.nanmean(values, 1)
    expected["classes"] = labels
    batches = [{"inputs": [[rows_of(one, image, kind) for image in images]
                           for kind in ("results", "annotations")] +
                [tensor(images, "int64")]}
               for images in (one["ids"][4:], one["ids"][:4])]
    return {"name": name,
            "options": {"iou_thresholds": thresholds,
                        "interpolation": interpolation, "class_metrics": True},
            "expected": {key: result(value)
                         for key, value in expected.items()},
            "rtol": 1e-12, "atol": 0, "batches": batches}


if __name__ == "__main__":
    write("PascalVOCAveragePrecision", "voc_eval.py of py-faster-rcnn", [
        case("all_points", 21, [0.5], "all_points"),
        case("eleven_points", 22, [0.3, 0.5, 0.75], "eleven_points"),
    ])
