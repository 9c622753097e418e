"""Compares MeanAveragePrecision with pycocotools, faster-coco-eval and hotcoco.

    compare_detection.py PATH/TO/detection_benchmark [--images N] [--shape S]

Draws images of 80 classes, 7.3 objects and 100 detections each, and times the
program and its peers in turn, each in one process and on one thread, from what
they have read to the value: CPU milliseconds. Values have to agree to 1e-12.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

CLASSES, OBJECTS, DETECTIONS = 80, 7.3, 100
HEIGHT, WIDTH = 480, 640


def ellipse(box: np.ndarray) -> dict[str, Any]:
    from pycocotools import mask
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = (box[:2] + box[2:] / 2)[None] + np.stack(
        [np.cos(angles), np.sin(angles)], 1) * box[2:][None] / 2
    runs = mask.frPyObjects([points.reshape(-1).tolist()], HEIGHT, WIDTH)[0]
    return {"size": runs["size"], "counts": runs["counts"].decode()}


def boxes(draw: np.random.Generator, count: int) -> np.ndarray:
    size = np.exp(draw.uniform(np.log(8), np.log(250), (count, 2)))
    corner = draw.random((count, 2)) * np.maximum([WIDTH, HEIGHT] - size, 1)
    return np.round(np.hstack([corner, size]), 2)


def write(folder: Path, images: int, shape: str) -> None:
    draw = np.random.default_rng(23)
    weights = 0.95 ** np.arange(CLASSES)
    weights /= weights.sum()
    annotations, results = [], []
    for image in range(1, images + 1):
        count = draw.poisson(OBJECTS)
        own = boxes(draw, count)
        labels = draw.choice(CLASSES, count, p=weights)
        for box, label in zip(own, labels):
            row = {"id": len(annotations) + 1, "image_id": image,
                   "category_id": int(label), "bbox": box.tolist(),
                   "area": float(box[2] * box[3]),
                   "iscrowd": int(draw.random() < 0.01)}
            if shape == "segm":
                row["segmentation"] = ellipse(box)
            annotations.append(row)
        found = boxes(draw, DETECTIONS)
        found_labels = draw.choice(CLASSES, DETECTIONS, p=weights)
        near = np.where(draw.random(DETECTIONS) < 0.4)[0] if count else []
        for d in near:
            source = draw.integers(count)
            moved = own[source] + draw.normal(size=4) * own[source, 2:].min() / 8
            found[d] = np.round([*moved[:2], *np.maximum(moved[2:], 1)], 2)
            found_labels[d] = labels[source]
        for box, label, score in zip(found, found_labels,
                                     draw.random(DETECTIONS)):
            row = {"image_id": image, "category_id": int(label),
                   "score": round(float(score), 4)}
            if shape == "segm":
                row["segmentation"] = ellipse(box)
            else:
                row["bbox"] = box.tolist()
            results.append(row)
    (folder / "truth.json").write_text(json.dumps({
        "images": [{"id": i, "height": HEIGHT, "width": WIDTH}
                   for i in range(1, images + 1)],
        "categories": [{"id": k, "name": str(k)} for k in range(CLASSES)],
        "annotations": annotations}))
    (folder / "found.json").write_text(json.dumps(results))


def run_peer(name: str, folder: Path, shape: str) -> tuple[float, float]:
    truth, found = str(folder / "truth.json"), str(folder / "found.json")
    with contextlib.redirect_stdout(io.StringIO()):
        if name == "pycocotools":
            from pycocotools.coco import COCO
            from pycocotools.cocoeval import COCOeval as Evaluation
        elif name == "faster-coco-eval":
            from faster_coco_eval import COCO
            from faster_coco_eval import COCOeval_faster as Evaluation
        else:
            from hotcoco import COCO
            from hotcoco import COCOeval as Evaluation
        known = COCO(truth)
        evaluation = Evaluation(known, known.loadRes(found), shape)
        start = time.process_time()
        evaluation.evaluate()
        evaluation.accumulate()
        elapsed = 1000 * (time.process_time() - start)
        evaluation.summarize()
    return elapsed, float(evaluation.stats[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--shape", default="bbox", choices=["bbox", "segm"])
    parser.add_argument("--peers", nargs="*", default=[
        "pycocotools", "faster-coco-eval", "hotcoco"])
    parser.add_argument("--peer", help="runs one in this process")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.peer:
        print(*run_peer(arguments.peer, arguments.folder, arguments.shape))
        return
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, arguments.images, arguments.shape)

        def output(command: list[str]) -> list[float]:
            text = subprocess.run(command, check=True, capture_output=True,
                                  text=True, env=one_thread).stdout
            return [float(number) for number in text.split()]

        ours = output([arguments.program, str(folder / "truth.json"),
                       str(folder / "found.json"), arguments.shape])
        total = ours[0] + ours[1]
        print(f"Tally: {total:.1f} ms ({ours[0]:.1f} update, {ours[1]:.1f} "
              f"compute), map {ours[2]:.12f}")
        for peer in arguments.peers:
            elapsed, value = output(
                [sys.executable, __file__, arguments.program, "--peer", peer,
                 "--folder", name, "--shape", arguments.shape])
            print(f"{peer}: {elapsed:.1f} ms, {elapsed / total:.1f} times, "
                  f"map {value:.12f}")
            assert abs(value - ours[2]) < 1e-12, peer


if __name__ == "__main__":
    main()
