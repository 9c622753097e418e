"""What mean average precision costs in Python: Tally, its drop-in class, and TorchMetrics.

Usage: python benchmarks/python_detection.py [IMAGES]

Random images of 7 annotated and 100 detected boxes of 80 classes, in batches of 16: CPU
seconds of update() and compute(), one thread, the median of 5 rounds in turn. Needs the
package with torchmetrics==1.9.0 torchvision==0.29.2 pycocotools==2.0.11
faster-coco-eval==1.8.0.
"""

import statistics
import sys
import time

import torch
from torchmetrics import detection

import tally
from tally.compat.torchmetrics import detection as drop_in

METRICS = {
    "Tally": tally.MeanAveragePrecision,
    "drop-in": drop_in.MeanAveragePrecision,
    "TorchMetrics": detection.MeanAveragePrecision,
    "TorchMetrics, faster-coco-eval": lambda: detection.MeanAveragePrecision(
        backend="faster_coco_eval"
    ),
}


def random_images(count):
    generator = torch.Generator().manual_seed(0)

    def uniform(*shape):
        return torch.rand(*shape, generator=generator)

    preds, target = [], []
    for _ in range(count):
        corners = uniform(7, 2) * 400
        boxes = torch.cat([corners, corners + 20 + uniform(7, 2) * 100], 1)
        labels = (uniform(7) * 80).long()
        places = (uniform(100) * 7).long()
        found = boxes[places] + (uniform(100, 4) - 0.5) * 8
        preds.append({"boxes": found, "labels": labels[places], "scores": uniform(100)})
        target.append({"boxes": boxes, "labels": labels})
    return preds, target


def seconds(metric, preds, target):
    begin = time.process_time()
    for i in range(0, len(preds), 16):
        metric.update(preds[i : i + 16], target[i : i + 16])
    metric.compute()
    return time.process_time() - begin


def main():
    torch.set_num_threads(1)
    images = random_images(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    rounds = [{name: seconds(make(), *images) for name, make in METRICS.items()} for _ in range(5)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in METRICS}
    for name, median in medians.items():
        print(f"{name}: {median:.3f} s, {median / medians['Tally']:.1f} times Tally's")


if __name__ == "__main__":
    main()
