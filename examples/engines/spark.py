"""Spark: a partition becomes a row of states, which the driver merges."""

import evaluation
import pyarrow as pa
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.sql import SparkSession


def states(batches):
    metrics = evaluation.make_metrics()
    for batch in batches:
        evaluation.update(metrics, batch)
    yield pa.RecordBatch.from_pydict({k: [m.to_bytes()] for k, m in metrics.items()})


def table(folder):
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    return spark.getOrCreate().read.parquet(folder).select(evaluation.COLUMNS)


def evaluate(folder):
    schema = ", ".join(f"{name} binary" for name in evaluation.make_metrics())
    rows = table(folder).mapInArrow(states, schema).collect()
    return evaluation.merged(row.asDict() for row in rows)


def own_auroc(folder):
    rows = table(folder).selectExpr("double(score) score", "double(label) label")
    return BinaryClassificationEvaluator(rawPredictionCol="score", numBins=0).evaluate(rows)
