"""States as values: bytes that make their object again, and merge."""

import os
import re
import subprocess
import sys
import warnings

import pytest
import torch

import tally
from tally._library import METRICS

N = 40
PREDS = torch.arange(N, dtype=torch.float64).mul(7).remainder(N) / N
OTHER = torch.arange(N, dtype=torch.float64).mul(11).remainder(N) / N
TARGET = torch.arange(N).mul(3).remainder(7).lt(3).long()
SITES = ["north" if i % 3 else "south" for i in range(N)]
IDS = list(range(N))


def _metric():
    return tally.BinaryAUROC()


def _update(metric, rows):
    metric.update(PREDS[rows], TARGET[rows])


def _update_slices(metric, rows):
    metric.update(SITES[rows], PREDS[rows], TARGET[rows])


def _update_compared(metric, rows):
    metric.update(SITES[rows], IDS[rows], PREDS[rows], TARGET[rows])


def _update_ids(metric, rows):
    metric.update(PREDS[rows], TARGET[rows], ids=IDS[rows])


def _update_models(metric, rows):
    metric.update(PREDS[rows], OTHER[rows], TARGET[rows], ids=IDS[rows])


CASES = {
    "metric": (lambda: tally.BinaryAUROC(nan_policy="ignore"), _update),
    "wrapper": (lambda: tally.MinMaxMetric(tally.BinaryAccuracy(threshold=0.3)), _update),
    "arithmetic": (lambda: 2 * tally.BinaryRecall() / (tally.BinaryPrecision() + 1), _update),
    "collection": (
        lambda: tally.MetricCollection(
            {"a: b": tally.BinaryAccuracy(), "f": {"x": tally.BinaryF1Score()}}, prefix="v_"
        ),
        _update,
    ),
    "slices": (lambda: tally.SlicedMetric(_metric(), largest=1), _update_slices),
    "slices of several": (
        lambda: tally.SlicedMetric(
            {"a": tally.BinaryAccuracy(), "b": _metric()}, keys=["north", "south", None, 3]
        ),
        _update_slices,
    ),
    "compared slices": (lambda: tally.SliceComparison(_metric(), min_rows=2), _update_compared),
    "interval": (lambda: tally.IntervalMetric(_metric(), level=0.9), _update_ids),
    "bootstrap": (
        lambda: tally.IntervalMetric(
            tally.BinaryAccuracy(), method="poisson", ends="normal", replicates=20, seed=3,
            grouped=True,
        ),
        _update_ids,
    ),
    "comparison": (lambda: tally.ModelComparison(_metric(), method="jackknife"), _update_models),
}


def _text(value):
    """All its digits."""
    return re.sub(r"tensor\(([^)]*)\)", r"\1", repr(value))


@pytest.fixture(autouse=True)
def _all_digits():
    torch.set_printoptions(precision=17)
    yield
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize("case", CASES)
def test_bytes_make_their_object(case):
    make, update = CASES[case]
    metric = make()
    update(metric, slice(0, 25))
    state = metric.to_bytes()
    assert isinstance(state, bytes)
    copy = tally.from_bytes(state)
    assert type(copy) is type(metric)
    assert repr(copy) == repr(metric)
    assert _text(copy.compute()) == _text(metric.compute())
    assert copy.to_bytes() == metric.to_bytes()
    for each in (copy, metric):
        update(each, slice(25, N))
    assert _text(copy.compute()) == _text(metric.compute())
    copy.merge_state(make())
    assert _text(copy.clone().compute()) == _text(metric.compute())


@pytest.mark.parametrize("case", CASES)
def test_any_split_over_processes_is_one_process(case):
    make, update = CASES[case]
    whole = make()
    parts = []
    for first, last in ((0, 7), (7, 7), (7, 30), (30, N)):
        part = make()
        if first < last:
            update(part, slice(first, last))
            update(whole, slice(first, last))
        parts.append(part.to_bytes())
    assert _text(tally.merge(parts).compute()) == _text(whole.compute())
    objects = [tally.from_bytes(part) for part in parts]
    assert _text(tally.merge(objects).compute()) == _text(whole.compute())
    assert [each.to_bytes() for each in objects] == parts


def test_bytes_may_lie_in_any_memory():
    metric = _metric()
    _update(metric, slice(0, N))
    state = metric.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for memory in (
            state, bytearray(state), memoryview(state), memoryview(bytearray(state)),
            torch.frombuffer(bytearray(state), dtype=torch.uint8),
        ):
            assert tally.from_bytes(memory).to_bytes() == state
            into = _metric()
            into.deserialize(memory)
            assert into.to_bytes() == state


def test_bytes_that_are_wrong_change_nothing():
    metric = _metric()
    _update(metric, slice(0, N))
    state = metric.to_bytes()
    with pytest.raises(ValueError, match="expected a Tally checkpoint, got 0 bytes"):
        tally.from_bytes(b"")
    with pytest.raises(ValueError, match="truncated"):
        tally.from_bytes(state[:-1])
    damaged = bytearray(state)
    damaged[-3] ^= 1
    with pytest.raises(ValueError, match="checksum does not match"):
        tally.from_bytes(damaged)
    newer = bytearray(state)
    newer[8] = 9
    with pytest.raises(ValueError, match="version 9, expected 1 to 4: .* newer version of Tally"):
        tally.from_bytes(newer)
    with pytest.raises(ValueError, match="does not say what made it"):
        tally.from_bytes(metric.serialize())
    with pytest.raises(TypeError, match="expected the bytes of a state, got a str"):
        tally.from_bytes("text")
    other = tally.BinaryAccuracy()
    with pytest.raises(ValueError, match="BinaryAccuracy"):
        tally.from_bytes(state, into=other)
    assert other.update_count == 0
    with pytest.raises(TypeError, match="into: expected an object of tally, got a dict"):
        tally.from_bytes(state, into={})


def test_functions_stay_behind():
    rouge = tally.ROUGEScore(tokenizer=str.split)
    rouge.update(["a b"], [["a c"]])
    into = tally.ROUGEScore(tokenizer=str.split)
    assert tally.from_bytes(rouge.to_bytes(), into=into) is into
    assert into.update_count == 1
    plain = tally.from_bytes(rouge.to_bytes())
    assert _text(plain.compute()) == _text(rouge.compute())


def test_merge_says_which_state_is_another():
    first, second = _metric(), tally.BinaryAccuracy()
    with pytest.raises(TypeError, match="state 1: merge_state expected a BinaryAUROC"):
        tally.merge([first.to_bytes(), second])
    for other in (tally.BinaryAUROC(nan_policy="ignore"), tally.BinaryAUROC(max_fpr=0.5)):
        with pytest.raises(ValueError, match="state 1: expected a state of BinaryAUROC"):
            tally.merge([first, other])
    with pytest.raises(TypeError, match="expected a list of states, got bytes"):
        tally.merge(first.to_bytes())
    with pytest.raises(ValueError, match="state 0: expected a Tally checkpoint"):
        tally.merge([b"x"])
    with pytest.raises(ValueError, match="expected states to merge, got none"):
        tally.merge([])


def test_rows_by_number_are_refused_by_name():
    parts = []
    for rows in (slice(0, 20), slice(20, N)):
        part = tally.IntervalMetric(tally.MeanSquaredError())
        part.update(PREDS[rows], OTHER[rows])
        parts.append(part)
    with pytest.raises(ValueError, match="IntervalMetric: .*ids"):
        tally.merge(parts)


def test_files_say_which_part_they_are(tmp_path):
    metric = _metric()
    _update(metric, slice(0, N))
    metric.save(tmp_path / "0", part=(0, 2))
    copy = _metric()
    copy.load(tmp_path / "0")
    assert _text(copy.compute()) == _text(metric.compute())
    with pytest.raises(ValueError, match="expected part i of n with 0 <= i < n, got part 2 of 2"):
        metric.save(tmp_path / "1", part=(2, 2))
    assert not os.path.exists(tmp_path / "1")


def test_a_process_that_knows_nothing_reads_them(tmp_path):
    path = tmp_path / "state"
    metric = CASES["collection"][0]()
    _update(metric, slice(0, N))
    path.write_bytes(metric.to_bytes())
    script = (
        "import sys, tally, pathlib\n"
        "metric = tally.from_bytes(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print({name: float(value) for name, value in metric.compute().items()})\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True,
        timeout=300,
    ).stdout
    assert printed.strip() == str({name: float(v) for name, v in metric.compute().items()})


@pytest.mark.parametrize(
    "name",
    [
        name for name, entry in METRICS.items()
        if not any(option["is_required"] for option in entry["options"])
    ],
)
def test_every_metric_has_bytes(name):
    metric = getattr(tally, name)(nan_policy="ignore")
    copy = tally.from_bytes(metric.to_bytes())
    assert type(copy) is type(metric)
    assert repr(copy) == repr(metric)
    assert copy.to_bytes() == metric.to_bytes()
