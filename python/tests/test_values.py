"""The values of tests/reference through Python's classes."""

import json
import math
import pathlib

import pytest
import tally
import torch

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference" / "data"


def tensor_of(data):
    dtype = getattr(torch, data["dtype"])
    values = [math.nan if v is None else float(v) if isinstance(v, str) else v
              for v in data["data"]]
    return torch.tensor(values, dtype=torch.float64 if dtype.is_floating_point else dtype).to(
        dtype).reshape(data["shape"])


def input_of(data):
    return tensor_of(data) if isinstance(data, dict) and "dtype" in data else data


def batches_of(batches):
    if isinstance(batches, str):
        family, _, name = batches.partition("/")
        cases = json.loads((DATA / "inputs" / f"{family}.json").read_text())["cases"]
        batches = next(case["batches"] for case in cases if case["name"] == name)
    return [[input_of(each) for each in batch["inputs"]] for batch in batches]


def cases():
    for name, entry in tally._METRICS.items():
        known = {option["name"] for option in entry["options"]}
        for file in (f"{name}.json", f"{name}.weighted.json"):
            if (DATA / file).exists():
                for case in json.loads((DATA / file).read_text())["cases"]:
                    yield pytest.param(name, known, case, id=f"{file[:-5]}-{case['name']}")


def is_ragged(batches):
    return any(
        isinstance(each, list) and each and isinstance(each[0], dict)
        for batch in batches for each in batch
    )


@pytest.mark.parametrize(("name", "known", "case"), cases())
def test_reference(name, known, case):
    options = {k: v for k, v in case["options"].items() if k in known}
    told = {k: v for k, v in case["options"].items() if k in ("nan_policy", "validate_args")}
    # What cases mean by their names, and by what is expected.
    if case["name"].endswith("nan_ignored"):
        told["nan_policy"] = "ignore"
    if name.startswith("D2") and case["expected"][""]["shape"]:
        told["multioutput"] = "raw_values"
    metric = getattr(tally, name)(**options, **told)
    batches = batches_of(case["batches"])
    if is_ragged(batches):
        pytest.skip("rows of a type of their own")
    for batch in batches:
        metric.update(*batch)
    value = metric.compute()
    parts = value if isinstance(value, dict) else {"": value}
    for part, expected in case["expected"].items():
        torch.testing.assert_close(
            parts[part or ("value" if len(parts) > 1 else "")].double(),
            tensor_of(expected).double(),
            rtol=case.get("rtol", 1e-6), atol=case.get("atol", 1e-8), equal_nan=True,
        )
