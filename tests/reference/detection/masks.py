"""Writes ../data/detection/masks.json: pycocotools' runs of polygons, and
overlaps of masks.

    python masks.py
"""

import json
import math
from typing import Any

import numpy as np
from fixture import FOLDER
from pycocotools import mask


def polygon(draw: np.random.Generator, height: int, width: int) -> list[float]:
    """Around a center, also beyond the image, with vertices that repeat."""
    center = draw.uniform(-0.1, 1.1, 2) * [width, height]
    radius = draw.uniform(0.5, 0.6 * max(height, width))
    count = int(draw.integers(3, 12))
    angles = np.sort(draw.uniform(0, 2 * math.pi, count))
    if draw.random() < 0.3:
        draw.shuffle(angles)
    points = center + radius * draw.uniform(0.3, 1, (count, 1)) * np.stack(
        [np.cos(angles), np.sin(angles)], 1)
    decimals = int(draw.integers(0, 4))
    points = np.round(points, decimals)
    if draw.random() < 0.3:
        points = np.repeat(points, 2, 0)
    return [float(x) for x in points.reshape(-1)]


def polygons() -> list[dict[str, Any]]:
    draw = np.random.default_rng(31)
    cases = []
    for _ in range(60):
        height, width = (int(n) for n in draw.integers(1, 50, 2))
        parts = [polygon(draw, height, width)
                 for _ in range(draw.integers(1, 4))]
        runs = mask.merge(mask.frPyObjects(parts, height, width))
        cases.append({"height": height, "width": width, "polygons": parts,
                      "runs": runs["counts"].decode(),
                      "area": int(mask.area(runs))})
    return cases


def overlaps() -> list[dict[str, Any]]:
    draw = np.random.default_rng(32)
    cases = []
    for _ in range(12):
        height, width = (int(n) for n in draw.integers(2, 24, 2))
        masks = [np.asfortranarray(
            draw.random((height, width)) < draw.choice([0.0, 0.1, 0.5, 1.0]),
            dtype=np.uint8) for _ in range(4)]
        runs = [mask.encode(each) for each in masks]
        for crowd in (0, 1):
            cases.append({
                "height": height, "width": width, "is_crowd": crowd,
                "runs": [each["counts"].decode() for each in runs],
                "overlaps": mask.iou(runs, runs, [crowd] * 4).tolist()})
    return cases


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"polygons": polygons(), "overlaps": overlaps()})
    (FOLDER / "masks.json").write_text(
        text.replace('{"height"', '\n{"height"') + "\n")
