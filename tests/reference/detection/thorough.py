"""Compares `tally evaluate --coco` with pycocotools on random data sets: the
arrays of precision, recall and scores have to be equal to the bit.

    python thorough.py TALLY [--sets=1000] [--first=1000]

TALLY is the program, bazel-bin/cli/tally. Every fourth set is of masks, and
every fifth without regard to classes.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scenes import (Scene, add_masks, annotations_file, evaluate, scene, summary,
                    without_pixels)

ARRAYS = ("precision", "recall", "scores")


def differences(program: str, folder: pathlib.Path, one: Scene,
                has_masks: bool, is_agnostic: bool) -> list[str]:
    (folder / "truth.json").write_text(json.dumps(annotations_file(one)))
    (folder / "found.json").write_text(
        json.dumps([without_pixels(each) for each in one["results"]]))
    iou_type = "segm" if has_masks else "bbox"
    metric = (f"MeanAveragePrecision(iou_type={iou_type}, "
              f"class_agnostic={str(is_agnostic).lower()}, "
              "extended_summary=true)")
    run = subprocess.run(
        [program, "evaluate", "--coco", folder / "truth.json",
         folder / "found.json", "--metrics", metric, "--format", "json"],
        check=True, capture_output=True, text=True)
    ours = json.loads(run.stdout)["metrics"]
    theirs = evaluate(one, iou_type, **({"useCats": 0} if is_agnostic else {}))
    wrong = [name for name in ARRAYS
             if not np.array_equal(ours[name], theirs.eval[name])]
    return wrong + [name for name, value in summary(theirs).items()
                    if abs(ours[name] - value) > 1e-12]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1000)
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(arguments.first, arguments.first + arguments.sets):
            one = scene(seed, images=6 + seed % 10, classes=1 + seed % 4,
                        exact=seed % 3 == 0)
            if not one["results"] or not one["annotations"]:
                continue
            has_masks = seed % 4 == 0
            wrong = differences(arguments.program, pathlib.Path(name),
                                add_masks(one) if has_masks else one,
                                has_masks, is_agnostic=seed % 5 == 0)
            if wrong:
                failures += 1
                print(f"set {seed} differs in {', '.join(wrong)}")
    print(f"{arguments.sets} sets, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
