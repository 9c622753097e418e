"""Metrics by slices of the rows."""

import copy
import pickle

import numpy as np
import pytest
import ranks
import tally
import torch

torch.manual_seed(0)
PREDS = torch.rand(60)
TARGET = torch.randint(2, (60,))
NAMES = [["north", "south", None][int(i)] for i in torch.randint(3, (60,))]
NUMBERS = torch.randint(-1, 2, (60,))


def accuracy_where(rows):
    rows = torch.tensor(rows)
    return tally.BinaryAccuracy()(PREDS[rows], TARGET[rows])


def test_each_slice_is_that_of_its_rows():
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update(NAMES[:25], PREDS[:25], TARGET[:25])
    metric.update(NAMES[25:], preds=PREDS[25:], target=TARGET[25:])
    slices = metric.compute()
    assert [each.key for each in slices] == [(None,), ("north",), ("south",)]
    assert [each.name for each in slices] == ["(missing)", "north", "south"]
    assert sum(each.rows for each in slices) == 60
    for each in slices:
        rows = [i for i, name in enumerate(NAMES) if name == each.key[0]]
        assert each.rows == len(rows) and not each.is_other
        assert each.results == accuracy_where(rows)
    assert len(metric) == 3
    metric.reset()
    assert len(metric) == 0 and metric.compute() == []


@pytest.mark.parametrize(
    "convert", [lambda x: x, lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x.int()],
    ids=["tensor", "array", "list", "int32"],
)
def test_forms_of_keys(convert):
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update(convert(NUMBERS), PREDS, TARGET)
    for each in metric.compute():
        assert isinstance(each.key[0], int)
        assert each.results == accuracy_where((NUMBERS == each.key[0]).nonzero()[:, 0].tolist())


def test_arrays_of_texts_and_flags():
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update(np.array(["a", "b"]), PREDS[:2], TARGET[:2])
    metric.update(np.array(["a", None], dtype=object), PREDS[:2], TARGET[:2])
    assert [(each.key, each.rows) for each in metric.compute()] == [
        ((None,), 1), (("a",), 2), (("b",), 1)
    ]
    flags = tally.SlicedMetric(tally.BinaryAccuracy())
    flags.update(np.array([True, False]), PREDS[:2], TARGET[:2])
    assert [each.key for each in flags.compute()] == [(0,), (1,)]


def test_columns_and_several_metrics():
    metric = tally.SlicedMetric(
        tally.MetricCollection({"accuracy": tally.BinaryAccuracy(), "roc": tally.BinaryROC()})
    )
    metric.update({"hospital": NAMES, "number": NUMBERS}, PREDS, TARGET)
    slices = metric.compute()
    assert len(slices) == 9
    each = next(each for each in slices if each.key == ("north", -1))
    assert each.name == "north, -1"
    assert {"accuracy", "roc.fpr", "roc.tpr"} <= set(each.results)
    rows = [i for i, name in enumerate(NAMES) if name == "north" and NUMBERS[i] == -1]
    assert each.results["accuracy"] == accuracy_where(rows)


def test_options():
    metric = tally.SlicedMetric(tally.BinaryAccuracy(), largest=1)
    metric.update(NAMES, PREDS, TARGET)
    first, other = metric.compute()
    assert other.is_other and other.name == "(other)" and first.rows + other.rows == 60
    known = tally.SlicedMetric(tally.BinaryAccuracy(), keys=["a", None, 3])
    known.update(["a"], PREDS[:1], TARGET[:1])
    assert [(each.key, each.rows) for each in known.compute()] == [
        ((None,), 0), ((3,), 0), (("a",), 1)
    ]
    with pytest.raises(ValueError, match="b"):
        known.update(["b"], PREDS[:1], TARGET[:1])
    few = tally.SlicedMetric(tally.BinaryAccuracy(), max_slices=2)
    with pytest.raises(ValueError, match="2"):
        few.update(["a", "b", "c"], PREDS[:3], TARGET[:3])
    assert len(few) == 0


@pytest.mark.parametrize(
    ("keys", "error", "match"),
    [
        ([0.5] * 60, TypeError, "bins"),
        (torch.rand(60), TypeError, "float|Float|integers"),
        (["a"] * 59, ValueError, "60|59"),
        ("a", TypeError, "a key for each row"),
        ((NAMES, NUMBERS), ValueError, "column"),
        ((), ValueError, "a column of keys"),
        ((NAMES, NAMES[:3]), ValueError, "rows"),
    ],
)
def test_bad_keys_change_nothing(keys, error, match):
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update(NAMES, PREDS, TARGET)
    with pytest.raises(error, match=match):
        metric.update(keys, PREDS, TARGET)
    assert sum(each.rows for each in metric.compute()) == 60


def test_what_cannot_be_sliced():
    with pytest.raises(TypeError, match="tally.Metric"):
        tally.SlicedMetric(3)
    with pytest.raises(TypeError, match="'a'"):
        tally.SlicedMetric({"a": 3})
    with pytest.raises(ValueError, match="Running"):
        tally.SlicedMetric(tally.Running(tally.MeanMetric(), window=2))
    with pytest.raises(ValueError, match="keys: expected 2"):
        tally.SlicedMetric(tally.BinaryAccuracy(), keys=[("a", 1), "b"])
    with pytest.raises(ValueError, match="preds|input"):
        tally.SlicedMetric(tally.BinaryAccuracy()).update(["a"], PREDS[:1])


def test_images_by_slices():
    good = {"boxes": [[0, 0, 9, 9]], "labels": [1], "scores": [0.5]}
    moved = {**good, "boxes": [[20, 20, 29, 29]]}
    metric = tally.SlicedMetric(tally.MeanAveragePrecision())
    metric.update(["day", "night"], [good, moved], [good, good])
    day, night = metric.compute()
    assert day.results["map"].item() == pytest.approx(1) and night.results["map"] == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_of_their_own(copied):
    metrics = {"accuracy": tally.BinaryAccuracy(), "auroc": tally.BinaryAUROC()}
    metric = tally.SlicedMetric(metrics, largest=3)
    metric.update((NAMES, NUMBERS), PREDS, TARGET)
    expected = metric.compute()
    other = copied(metric)
    metric.reset()
    assert other.compute() == expected and len(metric) == 0 and len(other) == 9
    other.update((NAMES, NUMBERS), PREDS, TARGET)
    assert sum(each.rows for each in other.compute()) == 120
    with pytest.raises(ValueError, match="column"):
        other.update(NAMES, PREDS, TARGET)
    known = copied(tally.SlicedMetric(tally.BinaryAccuracy(), keys=["a", None]))
    assert [each.key for each in known.compute()] == [(None,), ("a",)]


def test_a_plot_has_a_bar_for_each_slice():
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    with pytest.raises(ValueError, match="a slice at least"):
        metric.plot()
    metric.update(NAMES, PREDS, TARGET)
    svg = metric.plot()._repr_svg_()
    assert "BinaryAccuracy of 3 classes" in svg and ">north<" in svg
    both = tally.SlicedMetric({"a": tally.BinaryAccuracy(), "b": tally.BinaryF1Score()})
    both.update(NAMES, PREDS, TARGET)
    with pytest.raises(ValueError, match="one of a, b, got None"):
        both.plot()
    assert "b of 3 classes" in both.plot(both.compute(), result="b").svg


def of_rank(rank, world):
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    rows = range(rank, 60, world - 1) if rank < world - 1 else range(0)
    if len(rows):
        places = torch.tensor(rows)
        metric.update([NAMES[i] for i in rows], PREDS[places], TARGET[places])
    return [tuple(each) for each in metric.compute()]


def test_over_ranks():
    expected = tally.SlicedMetric(tally.BinaryAccuracy())
    expected.update(NAMES, PREDS, TARGET)
    for slices in ranks.run(3, of_rank):
        assert slices == [tuple(each) for each in expected.compute()]


def test_a_plot_tells_integers_from_texts():
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update([1, "1", "2"], PREDS[:3], TARGET[:3])
    svg = metric.plot().svg
    assert ">1<" in svg and ">2<" in svg and ("'1'" in svg or "&#39;1&#39;" in svg)
