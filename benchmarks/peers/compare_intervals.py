"""Bootstrap replicates of an accuracy and an error: Tally, scikit-learn.

    python3 -m venv venv
    venv/bin/pip install scikit-learn==1.9.1
    tools/bazel build //benchmarks:interval_benchmark
    OMP_NUM_THREADS=1 venv/bin/python benchmarks/peers/compare_intervals.py

Prints CPU seconds for 1000 replicates of ten million rows (a million for AUROC),
scaled from fewer, on one thread, and how many times less Tally takes.
"""

import pathlib
import statistics
import subprocess
import time

import numpy
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.utils import resample

ROWS, REPLICATES = 10_000_000, 1000
SORTED_ROWS = 1_000_000
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bazel-bin/benchmarks/interval_benchmark"


def one_replicate(metric, target, preds):
    start = time.process_time()
    metric(*resample(target, preds))
    return time.process_time() - start


def tally():
    lines = subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in map(str.split, lines.splitlines())}


def main():
    random = numpy.random.default_rng(1)
    labels = random.integers(0, 2, (2, ROWS))
    values = random.random((2, ROWS))
    runs, peers = [], {"accuracy": [], "mse": [], "auroc": []}
    for _ in range(3):
        runs.append(tally())
        peers["accuracy"].append(one_replicate(accuracy_score, *labels))
        peers["mse"].append(one_replicate(mean_squared_error, *values))
        peers["auroc"].append(one_replicate(roc_auc_score, labels[0, :SORTED_ROWS],
                                            values[0, :SORTED_ROWS]))
    ours = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    for name in ("accuracy_poisson", "accuracy_double_or_nothing", "mse_poisson",
                 "auroc_poisson"):
        theirs = statistics.median(peers[name.split("_")[0]]) * REPLICATES
        own = ours[name] * (1 if name.startswith("auroc") else ROWS / 1e6)
        print(f"{name}: tally {own:.2f}, scikit-learn {theirs:.0f}, ratio {theirs / own:.0f}")
    print(f"counting {ours['counting']:.4f}, 1000 replicates {ours['cells']:.4f}")


if __name__ == "__main__":
    main()
