"""Cases, fixtures and their JSON form."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Batch = tuple[np.ndarray, ...]
Options = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One metric with options, its batches, and the value over all of them."""

    name: str
    options: Options
    batches: list[Batch]
    # The value, or its parts by name.
    expected: np.ndarray | float | dict[str, Any]
    source: str
    rtol: float = 1e-6
    atol: float = 1e-8
    # "family/name" of batches that several cases have, of any metrics.
    inputs: str | None = None
    # False where the inputs of a batch cannot be cut along a common dimension
    # 0 (a 0-dim value, a weight that broadcasts).
    row_split: bool = True


@dataclass(frozen=True)
class Fixture:
    """All cases of one metric."""

    metric: str
    source: str
    cases: list[Case] = field(default_factory=list)


def encode_tensor(array: np.ndarray) -> dict[str, Any]:
    """An array as {"dtype", "shape", "data"}, in row-major order."""
    flat = array.reshape(-1)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "data": [_encode_number(x) for x in flat],
    }


def _encode_number(value: Any) -> Any:
    """A number that reads back as the same value of the same dtype."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number = float(str(value))  # the fewest digits that tell the value apart
    assert value.dtype.type(number) == value, value
    return number


def encode_batches(batches: list[Batch]) -> list[dict[str, Any]]:
    """Batches as they stand in a file."""
    return [{"inputs": [encode_tensor(x) for x in batch]} for batch in batches]


def encode_case(case: Case) -> dict[str, Any]:
    """A case as it stands in the file."""
    expected = case.expected if isinstance(case.expected, dict) \
        else {"": case.expected}
    encoded = {
        "name": case.name,
        "options": case.options,
        "batches": case.inputs or encode_batches(case.batches),
        "expected": {part: encode_tensor(np.asarray(value))
                     for part, value in expected.items()},
        "rtol": case.rtol,
        "atol": case.atol,
        "source": case.source,
    }
    if not case.row_split:
        encoded["row_split"] = False
    return encoded


def encode_fixture(fixture: Fixture) -> dict[str, Any]:
    """A fixture as it stands in the file; the names of its cases differ."""
    names = [case.name for case in fixture.cases]
    assert len(set(names)) == len(names), (fixture.metric, names)
    return {
        "metric": fixture.metric,
        "source": fixture.source,
        "cases": [encode_case(case) for case in fixture.cases],
    }


def shared_inputs(fixtures: list[Fixture]) -> dict[str, Any]:
    """What cases share: for each family of inputs its file."""
    families: dict[str, dict[str, Any]] = {}
    for case in (case for fixture in fixtures for case in fixture.cases):
        if case.inputs is None:
            continue
        family, name = case.inputs.split("/")
        batches = encode_batches(case.batches)
        known = families.setdefault(family, {}).setdefault(name, batches)
        assert known == batches, case.inputs
    return {family: {"family": family, "cases": [
        {"name": name, "batches": batches}
        for name, batches in cases.items()]}
        for family, cases in families.items()}


def to_text(fixture: Fixture) -> str:
    """The file's text: a line for each tensor and for each short value."""
    return layout(encode_fixture(fixture)) + "\n"


def layout(value: Any, depth: int = 0) -> str:
    """JSON that breaks lines around everything but tensors and options."""
    pad = "  " * (depth + 1)
    end = "\n" + "  " * depth
    if _is_nested(value, dict):
        rows = [f"{json.dumps(k)}: {layout(v, depth + 1)}"
                for k, v in value.items()]
        return "{\n" + ",\n".join(pad + row for row in rows) + end + "}"
    if _is_nested(value, list):
        rows = [pad + layout(v, depth + 1) for v in value]
        return "[\n" + ",\n".join(rows) + end + "]"
    return json.dumps(value, allow_nan=False)


def _is_nested(value: Any, kind: type[dict] | type[list]) -> bool:
    """Whether value is a dict or list that holds cases, batches or tensors."""
    if not value or not isinstance(value, kind):
        return False
    if isinstance(value, dict):
        return any(key in value for key in ("cases", "batches", "inputs", ""))
    return isinstance(value[0], dict)
