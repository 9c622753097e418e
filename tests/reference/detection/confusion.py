"""Writes ../data/detection/DetectionConfusionMatrix.json and its rates.

    python confusion.py

Matrices are supervision's, image by image, of boxes in double precision; rates are
scikit-learn's of the pairs that a matrix counts. supervision has no crowds.
"""

from typing import Any

import numpy as np
from fixture import result, tensor, write
from scenes import Scene, add_masks, scene
from sklearn.metrics import precision_recall_fscore_support
from supervision import Detections
from supervision.metrics import MetricTarget
from supervision.metrics.detection import ConfusionMatrix

Row = dict[str, Any]
Options = dict[str, Any]


def corners(each: Row) -> list[float]:
    x, y, w, h = each["bbox"]
    return [x, y, x + w, y + h]


def of_image(one: Scene, image: int, kind: str) -> list[Row]:
    return [each for each in one[kind] if each["image_id"] == image]


def boxes_matrix(one: Scene, classes: int, score: float,
                 overlap: float) -> np.ndarray:
    whole = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    for image in one["ids"]:
        found = [[*corners(each), each["category_id"], each["score"]]
                 for each in of_image(one, image, "results")]
        objects = [[*corners(each), each["category_id"]]
                   for each in of_image(one, image, "annotations")]
        whole += ConfusionMatrix.evaluate_detection_batch(
            np.array(found, np.float64).reshape(-1, 6),
            np.array(objects, np.float64).reshape(-1, 5),
            classes, score, overlap)
    return whole


def masked(rows: list[Row], has_scores: bool) -> Detections:
    return Detections(
        xyxy=np.zeros((len(rows), 4)),
        mask=np.array([each["pixels"] for each in rows]) if rows else None,
        class_id=np.array([each["category_id"] for each in rows], np.int64),
        confidence=np.array([each["score"] for each in rows], np.float64)
        if has_scores else None)


def masks_matrix(one: Scene, classes: int, score: float,
                 overlap: float) -> np.ndarray:
    return ConfusionMatrix.from_detections(
        [masked(of_image(one, image, "results"), True) for image in one["ids"]],
        [masked(of_image(one, image, "annotations"), False)
         for image in one["ids"]],
        [str(k) for k in range(classes)], score, overlap,
        MetricTarget.MASKS).matrix.astype(np.int64)


def row_of(one: Scene, image: int, kind: str) -> Row:
    own = of_image(one, image, kind)
    count = len(own)
    labels = [each["category_id"] for each in own]
    row = {"labels": tensor(labels, "int64", [count])}
    if "bbox" in (own[0] if own else {"bbox": 0}):
        row["boxes"] = tensor([corners(each) for each in own], "float64",
                              [count, 4])
    else:
        row["masks"] = tensor([each["pixels"].astype(int) for each in own],
                              "uint8")
    if kind == "results":
        row["scores"] = tensor([each["score"] for each in own], "float64",
                               [count])
    return row


def case(name: str, one: Scene, options: Options, value: Any) -> Row:
    batches = [{"inputs": [[row_of(one, image, kind) for image in images]
                           for kind in ("results", "annotations")]}
               for images in (one["ids"][4:], one["ids"][:4])]
    return {"name": name, "options": options,
            "expected": {"": result(value)}, "rtol": 1e-12, "atol": 0,
            "batches": batches}


def normalized(matrix: np.ndarray, by: str) -> np.ndarray:
    divisor = {"true": matrix.sum(1, keepdims=True),
               "pred": matrix.sum(0, keepdims=True),
               "all": matrix.sum()}[by]
    return matrix / np.where(divisor == 0, 1, divisor)


def rates(matrix: np.ndarray, average: str,
          zero_division: float) -> dict[str, Any]:
    """Those of the classes, in which the last one, the background, is none."""
    size = len(matrix)
    target, predicted = (places.repeat(matrix.reshape(-1))
                         for places in np.indices(matrix.shape).reshape(2, -1))
    classes = np.arange(size - 1)
    if average in ("macro", "weighted"):
        occurs = matrix.sum(0) + matrix.sum(1) > 0
        classes = classes[occurs[:-1]]
    values = precision_recall_fscore_support(
        target, predicted, labels=classes, zero_division=zero_division,
        average=None if average == "none" else average)
    return dict(zip(("Precision", "Recall", "F1Score"), values))


def confused(one: Scene, classes: int) -> Scene:
    """Every third detection with another class."""
    for each in one["results"][::3]:
        each["category_id"] = (each["category_id"] + 1) % classes
    return one


SCENES = {
    # Classes 4 and 5 occur in none.
    "boxes": (confused(scene(31, images=8, classes=4, exact=True), 4),
              6, 0.3, 0.5),
    "loose": (confused(scene(32, images=8, classes=2), 2), 2, 0.55, 0.2),
}

if __name__ == "__main__":
    matrices, of_rates = [], {"Precision": [], "Recall": [], "F1Score": []}
    for name, (one, classes, score, overlap) in SCENES.items():
        matrix = boxes_matrix(one, classes, score, overlap)
        options = {"num_classes": classes, "score_threshold": score,
                   "iou_threshold": overlap}
        matrices.append(case(name, one, options, matrix))
        by = "true" if name == "boxes" else "pred"
        matrices.append(case(f"{name}_{by}", one, {**options, "normalize": by},
                             normalized(matrix, by)))
        for average in ("micro", "macro", "weighted", "none"):
            zero = 1.0 if average == "none" and name == "boxes" else 0.0
            for rate, value in rates(matrix, average, zero).items():
                of_rates[rate].append(case(
                    f"{name}_{average}", one,
                    {**options, "average": average, "zero_division": zero},
                    value))
    pixels = add_masks(confused(scene(33, images=6, classes=3), 3), size=12)
    matrices.append(case(
        "masks", pixels,
        {"num_classes": 3, "iou_type": "segm", "iou_threshold": 0.4},
        masks_matrix(pixels, 3, 0.3, 0.4)))
    write("DetectionConfusionMatrix", "supervision 0.31.2", matrices)
    for rate, cases in of_rates.items():
        write(f"Detection{rate}",
              "scikit-learn 1.9.1 on the pairs of supervision 0.31.2", cases)
