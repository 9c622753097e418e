"""Writes ../data/detection/PanopticQuality.json and that of the modified one.

    python panoptic.py

The rules are those of panopticapi's evaluation.py, which reads files, written
down again; all crowds of a category count, where it takes the last one. Stuffs
of the modified quality are by definition.
"""

from typing import Any

import numpy as np
from fixture import result, tensor, write

THINGS, STUFFS = [4, 1], [9, 7]
CATEGORIES = sorted(THINGS) + sorted(STUFFS)
VOID = 255


def drawn(seed: int, images: int = 5, size: int = 11) -> dict[str, np.ndarray]:
    """Overlapping rectangles, which preds have moved, and void and crowds."""
    draw = np.random.default_rng([2026, seed])
    preds = np.zeros((images, size, size, 2), dtype=np.int64)
    target, crowd = preds.copy(), np.zeros((images, size, size), dtype=np.int64)
    for n in range(images):
        preds[n, ..., 0] = target[n, ..., 0] = 9
        # Instances of stuffs do not count.
        target[n, ..., 1] = draw.integers(0, 3, (size, size))
        for instance in range(1, 6):
            category = int(draw.choice(THINGS + [7, VOID]))
            corner, sides = draw.integers(0, size - 2, 2), draw.integers(2, 8, 2)
            moved = np.maximum(corner + draw.integers(-1, 2, 2), 0)
            place = (n, slice(corner[0], corner[0] + sides[0]),
                     slice(corner[1], corner[1] + sides[1]))
            target[place] = category, instance
            crowd[place] = int(category in THINGS and draw.random() < 0.3)
            found = int(draw.choice(THINGS)) if category == VOID else category
            preds[n, moved[0]:moved[0] + sides[0],
                  moved[1]:moved[1] + sides[1]] = found, 10 - instance
        if n == 0:  # small predictions in two crowds of a category
            target[n, :4, :6], crowd[n, :4, :6] = (1, 30), 1
            target[n, 4:8, :6] = 1, 31
            crowd[n, 4:8, :6] = 1
            preds[n, 2:6, 1:5] = 1, 40
    return {"preds": preds, "target": target, "crowd": crowd}


def segments(pixels: np.ndarray) -> np.ndarray:
    """A number for each pixel's segment: 0 is void."""
    category, instance = pixels[..., 0], pixels[..., 1].copy()
    instance[np.isin(category, STUFFS)] = 0
    return np.where(np.isin(category, CATEGORIES), category * 100 + instance, 0)


def add_image(preds: np.ndarray, target: np.ndarray, crowd: np.ndarray,
              stats: dict[int, dict[str, float]]) -> None:
    found, objects = segments(preds), segments(target)
    in_crowd = (crowd != 0) & (objects != 0)
    void = objects == 0
    objects = np.where(in_crowd, 0, objects)
    matched = set()
    for pred in np.unique(found[found != 0]):
        category = int(pred) // 100
        own = found == pred
        hit = False
        for other in np.unique(objects[own & (objects // 100 == category)]):
            both = int(np.sum(own & (objects == other)))
            union = (int(own.sum()) + int(np.sum(objects == other)) - both -
                     int(np.sum(own & void)))
            stats[category]["all"] += both / union
            if both / union > 0.5:
                stats[category]["tp"] += 1
                stats[category]["iou"] += both / union
                matched.add(int(other))
                hit = True
        ignored = np.sum(own & (void | (in_crowd &
                                        (target[..., 0] == category))))
        if not hit and not ignored / own.sum() > 0.5:
            stats[category]["fp"] += 1
    for other in np.unique(objects[objects != 0]):
        stats[int(other) // 100]["segments"] += 1
        stats[int(other) // 100]["fn"] += int(other) not in matched


def qualities(stats: dict[int, dict[str, float]],
              modified: bool) -> np.ndarray:
    """PQ, SQ and RQ of each category."""
    rows = []
    for category in CATEGORIES:
        own = stats[category]
        iou, tp, wrong = own["iou"], own["tp"], own["fp"] + own["fn"]
        if modified and category in STUFFS:
            iou, tp, wrong = own["all"], own["segments"], 0
        if tp + wrong == 0:
            rows.append([np.nan] * 3)
            continue
        rows.append([iou / (tp + wrong / 2), iou / tp if tp else 0,
                     tp / (tp + wrong / 2)])
    return np.array(rows).T


def case(name: str, seed: int, options: dict[str, Any], modified: bool,
         with_crowds: bool = True) -> dict[str, Any]:
    data = drawn(seed)
    if options.get("allow_unknown_preds_category"):
        data["preds"][:, :3, :3] = VOID, 0
    if not with_crowds:
        data["crowd"][:] = 0
    stats = {category: dict.fromkeys(("iou", "all", "tp", "fp", "fn",
                                      "segments"), 0.0)
             for category in CATEGORIES}
    for image in zip(data["preds"], data["target"], data["crowd"]):
        add_image(*image, stats)
    values = qualities(stats, modified)
    each = options.get("return_per_class", False)
    parts = dict(zip(("pq", "sq", "rq"),
                     values if each else np.nanmean(values, 1)))
    if not options.get("return_sq_and_rq"):
        parts = {"pq": parts["pq"]}
    if each:
        parts["classes"] = np.array(CATEGORIES)
    inputs = list(data.values())[:3 if with_crowds else 2]
    return {"name": name,
            "options": {"things": THINGS, "stuffs": STUFFS, **options},
            "expected": {key: result(value) for key, value in parts.items()},
            "rtol": 1e-12, "atol": 1e-15,
            "batches": [{"inputs": [tensor(each[part], "int64")
                                    for each in inputs]}
                        for part in (slice(0, 2), slice(2, 5))]}


def main() -> None:
    for modified, metric in ((False, "PanopticQuality"),
                             (True, "ModifiedPanopticQuality")):
        write(metric, "panopticapi's rules in NumPy 2.2.6", [
            case("crowds", 1, {"return_sq_and_rq": True}, modified),
            case("classes", 2, {"return_sq_and_rq": True,
                                "return_per_class": True}, modified),
            case("without_crowds", 3, {"allow_unknown_preds_category": True},
                 modified, with_crowds=False),
        ])


if __name__ == "__main__":
    main()
