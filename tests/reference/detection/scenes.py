"""Random images with objects and detections, as COCO's annotations and results.

They have what evaluations differ in: equal scores and overlaps, crowds, images
without objects or detections, areas on the bounds of ranges, boxes without area.
"""

import contextlib
import io
from typing import Any

import numpy as np
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

Scene = dict[str, Any]

# Widths and heights of boxes; among them those of areas 1024 and 9216.
SIZES = [0.0, 3.5, 16.0, 31.75, 32.0, 64.0, 95.0, 96.0, 144.0, 200.25]


def boxes_near(draw: np.random.Generator, box: list[float],
               exact: bool) -> list[float]:
    """A box that overlaps another one more or less."""
    scale = draw.choice([0.0, 0.02, 0.1, 0.3])
    moved = np.array(box) + draw.normal(size=4) * scale * max(box[2:] + [4.0])
    moved = np.round(moved * 4) / 4 if exact else np.round(moved, 3)
    return [moved[0], moved[1], max(moved[2], 0.0), max(moved[3], 0.0)]


def scene(seed: int, images: int = 12, classes: int = 3, exact: bool = False,
          distinct_scores: bool = False) -> Scene:
    """`exact`: coordinates are quarters, which any format of boxes can hold."""
    draw = np.random.default_rng([2026, seed])
    ids = sorted(int(i) for i in
                 draw.choice(10 * images, images, replace=False) - images)
    annotations, results = [], []
    for image in ids:
        own = []
        for _ in range(draw.integers(0, 7)):
            corner = draw.uniform(0, 300, 2)
            corner = np.round(corner * 4) / 4 if exact else np.round(corner, 3)
            box = [*corner, *draw.choice(SIZES, 2)]
            if own and draw.random() < 0.1:  # overlaps equally
                box = own[-1]["bbox"]
            area = box[2] * box[3]
            if draw.random() < 0.5:
                area = float(draw.choice([area / 2, 1024.0, 9216.0]))
            own.append({"id": len(annotations) + len(own) + 1,
                        "image_id": image,
                        "category_id": int(draw.integers(classes)),
                        "bbox": [float(x) for x in box], "area": float(area),
                        "iscrowd": int(draw.random() < 0.1)})
        annotations += own
        for _ in range(draw.integers(0, 14)):
            label = int(draw.integers(classes))
            if own and draw.random() < 0.8:
                source = own[draw.integers(len(own))]
                box = boxes_near(draw, source["bbox"], exact)
                if draw.random() < 0.9:
                    label = source["category_id"]
            else:
                box = [*(np.round(draw.uniform(0, 300, 2) * 4) / 4),
                       *draw.choice(SIZES, 2)]
            score = round(float(draw.random()), 1)
            if distinct_scores:
                score = round((len(results) * 7919 % 9973) / 9973, 5)
            results.append({"image_id": image, "category_id": label,
                            "bbox": [float(x) for x in box], "score": score})
    return {"ids": ids, "annotations": annotations, "results": results}


def add_masks(one: Scene, size: int = 24) -> Scene:
    """Masks of size x size pixels, and their areas, instead of boxes."""
    draw = np.random.default_rng([77, len(one["results"])])
    shapes: dict[int, list[np.ndarray]] = {i: [] for i in one["ids"]}
    rows, columns = np.mgrid[:size, :size]
    for kind in ("annotations", "results"):
        for each in one[kind]:
            known = shapes[each["image_id"]]
            if known and draw.random() < (0.7 if kind == "results" else 0.1):
                pixels = np.roll(known[draw.integers(len(known))],
                                 draw.integers(-2, 3, 2), (0, 1))
            else:
                center = draw.uniform(0, size, 2)
                radius = draw.uniform(0, size / 2, 2) + 0.1
                pixels = (((rows - center[0]) / radius[0]) ** 2 +
                          ((columns - center[1]) / radius[1]) ** 2) < 1
            if kind == "annotations":
                known.append(pixels)
            runs = mask.encode(np.asfortranarray(pixels, dtype=np.uint8))
            each["pixels"] = pixels
            each["segmentation"] = {"size": [size, size],
                                    "counts": runs["counts"].decode()}
            del each["bbox"]
            if kind == "annotations":
                each["area"] = float(pixels.sum())
    return one


def add_keypoints(one: Scene, count: int = 3) -> Scene:
    """Keypoints in the boxes; those of detections near annotated ones."""
    draw = np.random.default_rng([78, len(one["results"])])
    known: dict[int, list[np.ndarray]] = {i: [] for i in one["ids"]}
    for each in one["annotations"]:
        corner, size = np.array(each["bbox"]).reshape(2, 2)
        points = np.round(corner + draw.random((count, 2)) * size, 2)
        seen = draw.integers(0, 3, (count, 1)) * (draw.random() < 0.9)
        each["keypoints"] = np.hstack([points, seen]).reshape(-1).tolist()
        each["num_keypoints"] = int((seen > 0).sum())
        known[each["image_id"]].append(points)
    for each in one["results"]:
        own = known[each["image_id"]]
        near = own[draw.integers(len(own))] if own \
            else draw.uniform(0, 300, (count, 2))
        points = np.round(near + draw.normal(size=(count, 2)) *
                          draw.choice([0.0, 1.0, 5.0]), 2)
        each["keypoints"] = np.hstack([points, np.ones((count, 1))]
                                      ).reshape(-1).tolist()
        del each["bbox"]
    return one


def occurring(one: Scene) -> list[int]:
    return sorted({each["category_id"]
                   for each in one["annotations"] + one["results"]})


def without_pixels(each: Scene) -> Scene:
    return {key: value for key, value in each.items() if key != "pixels"}


def annotations_file(one: Scene) -> dict[str, Any]:
    return {"images": [{"id": i, "width": 640, "height": 480}
                       for i in one["ids"]],
            "annotations": [without_pixels(each)
                            for each in one["annotations"]],
            "categories": [{"id": k, "name": str(k)} for k in occurring(one)]}


def evaluate(one: Scene, iou_type: str = "bbox", **params: Any) -> COCOeval:
    """pycocotools' evaluation; `params` are attributes of its parameters."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = annotations_file(one)
        truth.createIndex()
        found = truth.loadRes([without_pixels(each)
                               for each in one["results"]]) \
            if one["results"] else COCO()
        evaluation = COCOeval(truth, found, iou_type)
        for name, value in params.items():
            setattr(evaluation.params, name, value)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def mean(values: np.ndarray) -> float:
    values = values[values > -1]
    return float(np.mean(values)) if values.size else -1.0


def summary(evaluation: COCOeval) -> dict[str, float]:
    """The lines of COCO's summary, at the last number of detections."""
    params = evaluation.params
    precision = evaluation.eval["precision"]
    recall = evaluation.eval["recall"]
    result = {"map": mean(precision[:, :, :, 0, -1])}
    for percent in (50, 75):
        at = np.where(percent / 100 == params.iouThrs)[0]
        result[f"map_{percent}"] = mean(precision[at][:, :, :, 0, -1])
    for area, label in enumerate(params.areaRngLbl):
        if area:
            result["map_" + label] = mean(precision[:, :, :, area, -1])
    for depth, most in enumerate(params.maxDets):
        result[f"mar_{most}"] = mean(recall[:, :, 0, depth])
    if params.iouType == "keypoints":
        for percent in (50, 75):
            at = np.where(percent / 100 == params.iouThrs)[0]
            result[f"mar_at_{percent}"] = mean(recall[at][:, :, 0, -1])
    for area, label in enumerate(params.areaRngLbl):
        if area:
            result["mar_" + label] = mean(recall[:, :, area, -1])
    return result
