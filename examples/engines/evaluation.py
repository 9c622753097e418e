"""What all the engines evaluate: 20 Parquet files, and the metrics of their columns."""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tally
import torch

FILES = 20
COLUMNS = ["row", "score", "label", "country"]


def make_data(folder, rows):
    """Scores that are the probabilities of their labels, in files of equally many rows."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    countries = pa.array([f"country {i}" for i in range(40)])
    for file in range(FILES):
        count = rows // FILES
        score = (1 / (1 + np.exp(1 - 1.5 * random.standard_normal(count)))).astype(np.float32)
        codes = pa.array(random.integers(0, 40, count, dtype=np.int32))
        table = pa.table({
            "row": np.arange(file * count, (file + 1) * count),
            "score": score,
            "label": (random.random(count) < score).astype(np.int64),
            "country": pa.DictionaryArray.from_arrays(codes, countries).cast(pa.string()),
        })
        pq.write_table(table, folder / f"part-{file:02}.parquet", row_group_size=1 << 16)


def files(folder):
    """In the order of their rows."""
    return sorted(map(str, pathlib.Path(folder).glob("*.parquet")))


def make_metrics():
    """By name, so that one value of an engine is the state of all."""
    return {
        "scores": tally.MetricCollection(
            {"accuracy": tally.BinaryAccuracy(), "auroc": tally.BinaryAUROC()}
        ),
        "slices": tally.SlicedMetric(tally.BinaryAccuracy()),
        "interval": tally.IntervalMetric(tally.BinaryAUROC()),
    }


def update(metrics, table):
    """`table` is one of Arrow, or a batch of its rows."""
    score, label = table["score"], table["label"]
    metrics["scores"].update(score, label)
    metrics["slices"].update(table["country"], score, label)
    metrics["interval"].update(score, label, ids=table["row"])
    return metrics


def evaluate_file(file):
    """The metrics of one file."""
    return update(make_metrics(), pq.read_table(file, columns=COLUMNS))


def merged(parts):
    """One dict of metrics of several, given in the order of ranks, or of their bytes."""
    parts = list(parts)
    return {name: tally.merge(part[name] for part in parts) for name in parts[0]}


def values(metrics):
    """All numbers, to the last bit."""
    torch.set_printoptions(precision=17)
    return "\n".join(f"{name}: {metrics[name].compute()!r}" for name in sorted(metrics))
