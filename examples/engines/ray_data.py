"""Ray Data: an aggregation whose accumulator is the bytes of the metrics."""

import evaluation
import ray
from ray.data.aggregate import AggregateFnV2


class Evaluate(AggregateFnV2):
    def __init__(self):
        super().__init__("metrics", lambda: bytes_of(evaluation.make_metrics()), on=None,
                         ignore_nulls=False)

    def aggregate_block(self, block):
        return bytes_of(evaluation.update(evaluation.make_metrics(), block))

    def combine(self, current, new):
        return bytes_of(evaluation.merged([current, new]))


def bytes_of(metrics):
    return {name: metric.to_bytes() for name, metric in metrics.items()}


def evaluate(folder):
    rows = ray.data.read_parquet(folder, columns=evaluation.COLUMNS)
    return evaluation.merged([rows.aggregate(Evaluate())["metrics"]])
