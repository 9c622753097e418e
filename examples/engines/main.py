"""Evaluates the files with an engine, and with this process alone, which has to be the same.

Usage: main.py FOLDER ENGINE
"""

import importlib
import sys
import time

import evaluation
import pyarrow.parquet as pq


def in_one_process(folder):
    """Batch by batch."""
    metrics = evaluation.make_metrics()
    for file in evaluation.files(folder):
        for batch in pq.ParquetFile(file).iter_batches(1 << 16, columns=evaluation.COLUMNS):
            evaluation.update(metrics, batch)
    return metrics


def timed(what, call, *args):
    begin = time.perf_counter()
    result = call(*args)
    print(f"{what}: {time.perf_counter() - begin:.2f} s", flush=True)
    return result


def main():
    folder, name = sys.argv[1:]
    expected = evaluation.values(timed("one process", in_one_process, folder))
    engine = importlib.import_module(name)
    for call in ("first call", "second call"):
        metrics = timed(f"{name}, {call}", engine.evaluate, folder)
        if evaluation.values(metrics) != expected:
            sys.exit(f"{name}: expected the values of one process:\n{expected}\ngot:\n"
                     f"{evaluation.values(metrics)}")
    if hasattr(engine, "own_auroc"):
        timed(f"{name}, its own AUROC alone", engine.own_auroc, folder)
    print(f"{name}: equal to one process, to the last bit", flush=True)


if __name__ == "__main__":
    main()
