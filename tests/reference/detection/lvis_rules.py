"""Writes ../data/detection/LVISAveragePrecision.json: lvis' values.

    python lvis_rules.py
"""

import contextlib
import io
import json
import logging
import pathlib
import tempfile
from typing import Any

import numpy as np
from fixture import result, tensor, write
from lvis import LVIS, LVISEval, LVISResults
from scenes import Scene, mean, scene

# lvis uses this name, which NumPy no longer has.
np.float = float  # type: ignore[attr-defined]

Row = dict[str, Any]
LABELS = range(4)


def judged(seed: int) -> Scene:
    """With the classes that each image is judged by."""
    one = scene(seed, images=9, classes=len(LABELS))
    draw = np.random.default_rng([79, seed])
    one["negative"] = {i: [k for k in LABELS if draw.random() < 0.3]
                       for i in one["ids"]}
    one["inexhaustive"] = {i: [k for k in LABELS if draw.random() < 0.3]
                           for i in one["ids"]}
    for each in one["annotations"]:
        each["ignore"] = int(draw.random() < 0.1)
    return one


def evaluate(one: Scene, max_detections: int) -> LVISEval:
    truth = {
        "images": [{"id": i, "width": 640, "height": 480,
                    "neg_category_ids": one["negative"][i],
                    "not_exhaustive_category_ids": one["inexhaustive"][i]}
                   for i in one["ids"]],
        "annotations": one["annotations"],
        "categories": [{"id": k, "name": str(k), "frequency": "rcff"[k]}
                       for k in LABELS]}
    for each in truth["annotations"]:
        each["segmentation"] = []
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, \
            contextlib.redirect_stdout(io.StringIO()):
        path = pathlib.Path(folder) / "truth.json"
        path.write_text(json.dumps(truth))
        known = LVIS(str(path))
        found = LVISResults(known, [dict(each) for each in one["results"]],
                            max_dets=max_detections)
        evaluation = LVISEval(known, found, "bbox")
        evaluation.params.max_dets = max_detections
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def rows_of(one: Scene, image: int, kind: str) -> Row:
    own = [each for each in one[kind] if each["image_id"] == image]
    row = {"boxes": tensor([each["bbox"] for each in own], "float64",
                           [len(own), 4]),
           "labels": tensor([each["category_id"] for each in own], "int64",
                            [len(own)])}
    if kind == "results":
        row["scores"] = tensor([each["score"] for each in own], "float64",
                               [len(own)])
        return row
    row["area"] = tensor([each["area"] for each in own], "float64",
                         [len(own)])
    row["ignore"] = tensor([each["ignore"] for each in own], "int64",
                           [len(own)])
    for key, name in (("negative", "negative_labels"),
                      ("inexhaustive", "inexhaustive_labels")):
        row[name] = tensor(one[key][image], "int64", [len(one[key][image])])
    return row


def case(name: str, seed: int, max_detections: int) -> Row:
    one = judged(seed)
    precision = evaluate(one, max_detections).eval["precision"]
    recall = evaluate(one, max_detections).eval["recall"]
    expected: Row = {"map": mean(precision[:, :, :, 0]),
                     "map_50": mean(precision[0, :, :, 0]),
                     "map_75": mean(precision[5, :, :, 0])}
    sizes = ("small", "medium", "large")
    for area, size in enumerate(sizes, 1):
        expected["map_" + size] = mean(precision[:, :, :, area])
    for group, labels in (("rare", [0]), ("common", [1]),
                          ("frequent", [2, 3])):
        expected["map_" + group] = mean(precision[:, :, labels, 0])
    expected[f"mar_{max_detections}"] = mean(recall[:, :, 0])
    for area, size in enumerate(sizes, 1):
        expected["mar_" + size] = mean(recall[:, :, area])
    batches = [{"inputs": [[rows_of(one, image, kind) for image in images]
                           for kind in ("results", "annotations")] +
                [tensor(images, "int64")]}
               for images in (one["ids"][4:], one["ids"][:4])]
    return {"name": name,
            "options": {"box_format": "xywh", "max_detections": max_detections,
                        "rare_labels": [0], "common_labels": [1],
                        "frequent_labels": [2, 3]},
            "expected": {key: result(value)
                         for key, value in expected.items()},
            "rtol": 1e-12, "atol": 0, "batches": batches}


if __name__ == "__main__":
    write("LVISAveragePrecision", "lvis 0.5.3",
          [case("few", 31, 5), case("all", 32, 300)])
