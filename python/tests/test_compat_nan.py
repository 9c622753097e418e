"""NaN among the inputs of aggregation, and texts that are none: as TorchMetrics has them."""

import warnings

import pytest
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics

NAN = float("nan")
BATCHES = {
    "one": [([1.0, NAN],), ([2.0, 3.0],)],
    "all": [([NAN, NAN],)],
    "later": [([1.0, 2.0],), ([NAN],), ([NAN],)],
    "matrix": [([[1.0, NAN], [2.0, 3.0]],)],
    "number": [(NAN,), (2.0,)],
    "none": [([1.0, 2.0],)],
}
WEIGHTED = {
    "value": [([1.0, NAN], [1.0, 2.0])],
    "weight": [([1.0, 2.0], [NAN, 1.0])],
    "one_weight": [([1.0, NAN], 2.0)],
    "no_weight": [([1.0, 2.0], NAN)],
    "no_nan": [([1.0, 2.0], [3.0, 1.0])],
    "of_columns": [([[1.0, 2.0], [3.0, 4.0]], [1.0, 3.0])],
    "other_shape": [([1.0, 2.0], [1.0, 2.0, 3.0])],
}
CLASSES = ("SumMetric", "MeanMetric", "MinMetric", "MaxMetric", "CatMetric", "RunningMean")


def outcome(package, name, strategy, batches, call):
    """What comes of it: values or an error, and warnings."""
    options = {"window": 2} if name == "RunningMean" else {}
    values = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            metric = getattr(package.aggregation, name)(nan_strategy=strategy, **options)
            for batch in batches:
                values.append(getattr(metric, call)(*map(torch.tensor, batch)))
            values.append(metric.compute())
        except RuntimeError as error:
            values.append(str(error))
    # TorchMetrics writes into expanded weights, of which each LibTorch warns in words of its
    # own, and takes two steps in forward() of some.
    texts = [str(each.message) for each in caught if "on expanded tensors" not in str(each.message)]
    return repr(values), set(texts), len(texts)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("strategy", ["warn", "ignore", "error", "disable", 1.5])
def test_as_torchmetrics(name, strategy):
    for batches in BATCHES.values():
        mine, its = (
            outcome(package, name, strategy, batches, "update") for package in (torchmetrics, real)
        )
        assert mine == its
        mine, its = (
            outcome(package, name, strategy, batches, "forward") for package in (torchmetrics, real)
        )
        assert mine[:2] == its[:2]


@pytest.mark.parametrize("name", ["MeanMetric", "RunningMean"])
@pytest.mark.parametrize("strategy", ["warn", "ignore", "error", "disable", 1.5])
@pytest.mark.parametrize("batches", WEIGHTED.values(), ids=WEIGHTED)
def test_weights(name, strategy, batches):
    if strategy == 1.5 and batches is WEIGHTED["one_weight"]:
        pytest.skip("TorchMetrics writes the weight of NaN into that of all")
    for call in ("update", "forward"):
        mine, its = (
            outcome(package, name, strategy, batches, call)
            for package in (torchmetrics, real)
        )
        assert mine[:2] == its[:2]


def test_weights_by_name_without_a_look_for_nan():
    for package in (torchmetrics, real):
        metric = package.MeanMetric(nan_strategy="disable")
        assert metric(torch.tensor([1.0, 2.0]), weight=torch.tensor([3.0, 1.0])) == 1.5
        metric.update(value=3.0, weight=10.0)
        assert metric.compute() == 2


def test_update_warns_each_time():
    metric = torchmetrics.MeanMetric()
    for _ in range(2):
        with pytest.warns(UserWarning, match="Encountered `nan` values in tensor. Will be removed."):
            metric.update(torch.tensor([1.0, NAN, 4.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric.compute() == 2.5


def test_a_warning_that_is_an_error_changes_nothing():
    metric = torchmetrics.SumMetric()
    metric.update(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            metric.update(torch.tensor([1.0, NAN]))
    assert metric.compute() == 2


@pytest.mark.parametrize("name", ["BLEUScore", "SacreBLEUScore", "TranslationEditRate"])
@pytest.mark.parametrize("call", ["update", "forward"])
def test_no_texts(name, call):
    torchmetrics.corrections(warn=False)
    for texts in (([], []), ([[]], [[[]]]), (["a b"], [[[]]]), ([[]], [["a"]])):
        if name == "TranslationEditRate" and texts[0]:
            continue
        mine, its = (getattr(package.text, name)() for package in (torchmetrics, real))
        if call == "forward":
            assert mine(*texts) == its(*texts) == 0
        else:
            mine.update(*texts)
            its.update(*texts)
        assert mine.compute() == its.compute() == 0
    torchmetrics.corrections(warn=True)
