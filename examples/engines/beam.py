"""Beam: a CombineFn whose accumulator is the metrics themselves, which pickle."""

import pathlib
import pickle
import tempfile

import apache_beam as beam
import evaluation


class Evaluate(beam.CombineFn):
    def create_accumulator(self):
        return evaluation.make_metrics()

    def add_input(self, metrics, table):
        return evaluation.update(metrics, table)

    def merge_accumulators(self, parts):
        return evaluation.merged(parts)

    def extract_output(self, metrics):
        return pickle.dumps(metrics)


def evaluate(folder):
    with tempfile.TemporaryDirectory() as out:
        path = pathlib.Path(out, "metrics")
        with beam.Pipeline() as pipeline:
            tables = pipeline | beam.io.ReadFromParquetBatched(f"{folder}/*.parquet",
                                                               columns=evaluation.COLUMNS)
            tables | beam.CombineGlobally(Evaluate()) | beam.Map(path.write_bytes)
        return pickle.loads(path.read_bytes())
