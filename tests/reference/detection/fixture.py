"""Fixtures of detections, in the format of ../README.md."""

import json
import pathlib
from typing import Any

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "data" / "detection"


def tensor(values: Any, dtype: str, shape: list[int] | None = None,
           ) -> dict[str, Any]:
    array = np.asarray(values)
    if shape is not None:
        array = array.reshape(shape)
    return {"dtype": dtype, "shape": list(array.shape),
            "data": ["NaN" if value != value else value
                     for value in array.reshape(-1).tolist()]}


def result(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    return tensor(array, "int64" if array.dtype.kind == "i" else "float64")


def write(metric: str, source: str, cases: list[dict[str, Any]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = []
    for case in cases:
        head = {key: value for key, value in case.items() if key != "batches"}
        batches = ",\n".join(json.dumps(batch) for batch in case["batches"])
        lines.append(json.dumps(head)[:-1] + ', "batches": [\n' + batches +
                     "]}")
    text = (json.dumps({"metric": metric, "source": source})[:-1] +
            ', "cases": [\n' + ",\n".join(lines) + "]}\n")
    (FOLDER / f"{metric}.json").write_text(text)
