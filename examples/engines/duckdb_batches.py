"""DuckDB: it has no aggregates in Python, but gives batches of Arrow, in one process."""

import duckdb
import evaluation


def evaluate(folder):
    metrics = evaluation.make_metrics()
    query = f"select {', '.join(evaluation.COLUMNS)} from '{folder}/*.parquet'"
    for batch in duckdb.sql(query).to_arrow_reader(1 << 17):
        evaluation.update(metrics, batch)
    return metrics
