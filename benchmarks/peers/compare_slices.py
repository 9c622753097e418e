"""Accuracy of a million rows in a thousand slices: Tally, polars, Fairlearn.

    python3 -m venv venv
    venv/bin/pip install polars==2.1.0 fairlearn==0.15.0 scikit-learn==1.9.1
    tools/bazel build --config=release //benchmarks:slices_benchmark
    OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 venv/bin/python \\
        benchmarks/peers/compare_slices.py

Prints milliseconds, the best of several runs, on one thread.
"""

import pathlib
import subprocess
import time

import numpy
import polars
from fairlearn.metrics import MetricFrame
from sklearn.metrics import accuracy_score

ROWS, SLICES, CLASSES = 1_000_000, 1000, 10
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bazel-bin/benchmarks/slices_benchmark"


def best(work, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def main():
    random = numpy.random.default_rng(1)
    preds, target = random.integers(0, CLASSES, (2, ROWS))
    keys = random.integers(0, SLICES, ROWS)
    frame = polars.DataFrame({"preds": preds, "target": target, "key": keys})

    def by_polars():
        correct = polars.col("preds") == polars.col("target")
        frame.group_by("key").agg(correct.mean())

    def by_fairlearn():
        MetricFrame(
            metrics=accuracy_score, y_true=target, y_pred=preds, sensitive_features=keys
        ).by_group

    def tally():
        return float(subprocess.run([PROGRAM], check=True, capture_output=True).stdout)

    ours = tally()
    theirs = best(by_polars, 9)
    ours = min(ours, tally())
    print(f"tally {ours:.1f}, polars {theirs:.1f}, Fairlearn {best(by_fairlearn, 1):.0f}")


if __name__ == "__main__":
    main()
