"""Fixtures in two files: all laws of metrics take their time."""

from typing import Any

from corpus import write


def write_both(metric: str, source: str, cases: list[dict[str, Any]],
               thorough: set[str]) -> None:
    """METRIC.json of a few cases, METRIC.values.json of the others."""
    chosen = [one for one in cases if one["name"] in thorough]
    assert len(chosen) == len(thorough), metric
    write(metric, source, chosen)
    write(metric + ".values", source,
          [one for one in cases if one["name"] not in thorough])
