"""Metrics as functions: the value of their classes."""

import pytest
import torch

import tally
from tally import functional
from tally._library import METRICS

PREDS = torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1]])
TARGET = torch.tensor([0, 1, 1, 1])


@pytest.mark.parametrize(
    ("function", "metric", "inputs", "options"),
    [
        ("multiclass_f1_score", "MulticlassF1Score", (PREDS, TARGET), {"num_classes": 3}),
        ("mean_squared_error", "MeanSquaredError", (PREDS[:, 0], PREDS[:, 1]), {"squared": False}),
        ("binary_auroc", "BinaryAUROC", (PREDS[:, 0], TARGET.eq(0).long()), {}),
        ("word_error_rate", "WordErrorRate", (["a b c"], ["a c c"]), {}),
        ("mean_iou", "MeanIoU", (TARGET[None], TARGET[None]),
         {"num_classes": 3, "input_format": "index"}),
    ],
)
def test_functions_are_the_classes(function, metric, inputs, options):
    expected = getattr(tally, metric)(**options)
    expected.update(*inputs)
    assert torch.equal(getattr(functional, function)(*inputs, **options), expected.compute())


def test_every_metric_has_a_function():
    names = [
        functional.metric_function_name(name)
        for name, entry in METRICS.items() if not entry["is_wrapper"]
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert callable(getattr(functional, name)), name
    assert "multiclass_f1_score" in names
    assert "squad" in names
    assert "d2_absolute_error_score" in names


def test_functions_take_names_and_have_gradients():
    preds = PREDS[:, 0].clone().requires_grad_()
    value = functional.mean_squared_error(target=PREDS[:, 1], preds=preds)
    value.backward()
    assert preds.grad.abs().sum() > 0
    with pytest.raises(TypeError, match="num_class"):
        functional.multiclass_f1_score(PREDS, TARGET, num_clases=3)


def test_numbers():
    metric = tally.MulticlassAccuracy(num_classes=3, average="micro")
    metric.update(PREDS, TARGET)
    assert metric.number() == 0.75
    metrics = tally.MetricCollection({"a": tally.MulticlassAccuracy(num_classes=3),
                                      "b": tally.MulticlassF1Score(num_classes=3, average="none")})
    metrics.update(PREDS, TARGET)
    assert metrics.number("a") == metrics.compute()["a"].item()
    with pytest.raises(ValueError, match="got a tensor of sizes"):
        metrics.number("b")
    with pytest.raises(KeyError, match="one of a, b"):
        metrics.number("c")
    with pytest.raises(RuntimeError, match=r"expected collection.reset\(...\)"):
        metrics["a"].reset()
    assert metrics["a"].clone().update(PREDS, TARGET) is None


def test_metric_losses_take_names():
    loss = tally.losses.MetricLoss(tally.MeanMetric())
    value = torch.tensor([1.0, 2.0], requires_grad=True)
    loss(value=value).backward()
    assert value.grad.tolist() == [0.5, 0.5]
    assert loss(value, weight=torch.tensor([1.0, 3.0])).item() == 1.75
    with pytest.raises(TypeError, match="'target' is none of value, weight"):
        loss(value, target=value)
    with pytest.raises(TypeError, match="given twice"):
        loss(value, value=value)


def test_rows_have_no_forward():
    for metric in (
        tally.BinaryAccuracy().interval(), tally.ModelComparison(tally.BinaryAccuracy()),
        tally.SlicedMetric(tally.BinaryAccuracy()),
    ):
        with pytest.raises(TypeError, match="has no forward"):
            metric(PREDS[:, 0], TARGET.eq(0).long())
