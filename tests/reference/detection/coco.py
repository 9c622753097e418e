"""Writes ../data/detection/MeanAveragePrecision*.json: pycocotools' values.

    python coco.py
"""

from typing import Any

import numpy as np
from fixture import result, tensor, write
from scenes import (Scene, add_keypoints, add_masks, evaluate, occurring, scene,
                    summary)


def in_format(box: list[float], box_format: str) -> list[float]:
    x, y, w, h = box
    return {"xyxy": [x, y, x + w, y + h], "xywh": box,
            "cxcywh": [x + w / 2, y + h / 2, w, h]}[box_format]


def rows(one: Scene, box_format: str, image: int, kind: str,
         with_area: bool) -> dict[str, Any]:
    own = [each for each in one[kind] if each["image_id"] == image]
    row = {"labels": tensor([each["category_id"] for each in own], "int64",
                            [len(own)])}
    if all("bbox" in each for each in own):
        row["boxes"] = tensor([in_format(each["bbox"], box_format)
                               for each in own], "float64", [len(own), 4])
    if own and "pixels" in own[0]:
        row["masks"] = tensor([each["pixels"].astype(int) for each in own],
                              "uint8")
    if own and "keypoints" in own[0]:
        row["keypoints"] = tensor([np.reshape(each["keypoints"], (-1, 3))
                                   for each in own], "float64")
    if kind == "results":
        row["scores"] = tensor([each["score"] for each in own], "float64",
                               [len(own)])
        return row
    row["iscrowd"] = tensor([each["iscrowd"] for each in own], "int64",
                            [len(own)])
    if with_area:
        row["area"] = tensor([each["area"] for each in own], "float64",
                             [len(own)])
    return row


def batches(one: Scene, box_format: str, with_ids: bool,
            with_area: bool) -> list[dict[str, Any]]:
    """Images in an order of their own, dealt to batches of 5."""
    order = [one["ids"][i] for i in
             np.random.default_rng(5).permutation(len(one["ids"]))]
    result = []
    for begin in range(0, len(order), 5):
        images = order[begin:begin + 5]
        inputs: list[Any] = [[rows(one, box_format, image, kind, with_area)
                              for image in images]
                             for kind in ("results", "annotations")]
        if with_ids:
            inputs.append(tensor(images, "int64"))
        result.append({"inputs": inputs})
    return result


def case(name: str, one: Scene, options: dict[str, Any], with_ids: bool = True,
         with_area: bool = True, extended: bool = False, **params: Any,
         ) -> dict[str, Any]:
    box_format = options.get("box_format", "xyxy")
    if not with_area:
        for each in one["annotations"]:
            each["area"] = each["bbox"][2] * each["bbox"][3]
    evaluation = evaluate(one, **params)
    expected: dict[str, Any] = summary(evaluation)
    if options.get("class_metrics"):
        per_class = [mean_of_class(evaluation, k)
                     for k in range(len(occurring(one)))]
        depth = evaluation.params.maxDets[-1]
        expected["map_per_class"] = [own[0] for own in per_class]
        expected[f"mar_{depth}_per_class"] = [own[1] for own in per_class]
        expected["classes"] = occurring(one)
    if extended:
        for key in ("precision", "recall", "scores"):
            expected[key] = evaluation.eval[key]
    return {"name": name, "options": options,
            "expected": {key: result(value)
                         for key, value in expected.items()},
            "rtol": 1e-12, "atol": 0,
            "batches": batches(one, box_format, with_ids, with_area)}


def mean_of_class(evaluation: Any, k: int) -> tuple[float, float]:
    def mean(values: np.ndarray) -> float:
        values = values[values > -1]
        return float(np.mean(values)) if values.size else -1.0
    return (mean(evaluation.eval["precision"][:, :, k, 0, -1]),
            mean(evaluation.eval["recall"][:, k, 0, -1]))


FEW = {"iou_thresholds": [0.5, 0.7], "rec_thresholds": [0.0, 0.3, 0.5, 1.0]}
FEW_PARAMS = {"iouThrs": np.array(FEW["iou_thresholds"]),
              "recThrs": np.array(FEW["rec_thresholds"])}


def thorough() -> list[dict[str, Any]]:
    """Cases that all laws of metrics are checked with, which takes time."""
    return [
        case("with_ids", scene(6, images=9, classes=2),
             {"box_format": "xywh", "extended_summary": True,
              "class_metrics": True, "max_detection_thresholds": [1, 3], **FEW},
             extended=True, maxDets=[1, 3], **FEW_PARAMS),
        case("without_ids",
             scene(4, images=8, exact=True, distinct_scores=True), FEW,
             with_ids=False, **FEW_PARAMS),
    ]


def values() -> list[dict[str, Any]]:
    without = scene(5, classes=2)
    without["annotations"] = []
    return [
        case("coco", scene(1), {"box_format": "xywh", "class_metrics": True}),
        case("corners", scene(2, exact=True), {}),
        case("centers", scene(3, exact=True), {"box_format": "cxcywh"},
             with_area=False),
        case("thresholds_0_and_1", scene(7, images=9, exact=True),
             {"iou_thresholds": [0.0, 1.0]}, iouThrs=np.array([0.0, 1.0])),
        case("no_objects", without, {"box_format": "xywh"}),
        case("class_agnostic", scene(8),
             {"box_format": "xywh", "class_agnostic": True}, useCats=0),
        case("masks", add_masks(scene(11, images=4, classes=2)),
             {"iou_type": "segm", "area_bounds": [40.0, 120.0]},
             iou_type="segm",
             areaRng=[[0, 1e10], [0, 40], [40, 120], [120, 1e10]]),
        case("keypoints", add_keypoints(scene(12)),
             {"iou_type": "keypoints", "box_format": "xywh",
              "oks_sigmas": [0.03, 0.1, 0.05]},
             iou_type="keypoints",
             kpt_oks_sigmas=np.array([0.03, 0.1, 0.05])),
        case("area_bounds", scene(9),
             {"box_format": "xywh", "area_bounds": [512.0, 4560.0]},
             areaRng=[[0, 1e10], [0, 512], [512, 4560], [4560, 1e10]]),
    ]


if __name__ == "__main__":
    source = "pycocotools 2.0.11"
    write("MeanAveragePrecision", source, thorough())
    write("MeanAveragePrecision.values", source, values())
