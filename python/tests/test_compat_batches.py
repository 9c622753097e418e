"""Values of single batches of drop-in metrics: forward() and functions."""

import pytest
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics

torch.manual_seed(5)
PREDS, TARGET = torch.rand(40), torch.randint(2, (40,))
SCORES, CLASSES = torch.rand(40, 3).softmax(1), torch.randint(3, (40,))
MANY, EACH = torch.rand(40, 3), torch.randint(2, (40, 3))


@pytest.mark.filterwarnings("ignore::tally.compat.torchmetrics.TallyCorrectionWarning")
@pytest.mark.parametrize("outputs", [(), (2,)])
def test_one_sample_has_no_r2_and_is_not_taken(outputs):
    metric = torchmetrics.R2Score()
    metric.update(torch.rand(4, *outputs), torch.rand(4, *outputs))
    before = metric.compute()
    one = torch.rand(1, *outputs), torch.rand(1, *outputs)
    with pytest.raises(ValueError, match="Needs at least two samples to calculate r2 score"):
        metric(*one)
    assert metric.update_count == metric._tally.update_count == 1
    assert torch.equal(metric.compute(), before)
    metric.update(*one)  # as one of several it counts
    assert metric.update_count == 2 and not torch.equal(metric.compute(), before)


@pytest.mark.filterwarnings("ignore::tally.compat.torchmetrics.TallyCorrectionWarning")
def test_two_samples_have_an_r2():
    batch = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    torch.testing.assert_close(torchmetrics.R2Score()(*batch), real.R2Score()(*batch))


@pytest.mark.filterwarnings("ignore:The variance of predictions or target")
@pytest.mark.parametrize("name", ["ConcordanceCorrCoef", "PearsonCorrCoef"])
def test_a_constant_batch_is_no_matter_of_those_before(name):
    metrics = [getattr(package, name)() for package in (torchmetrics, real)]
    ones, rows, others = torch.ones(5), torch.arange(5.0), torch.tensor([3.0, 1, 4, 1, 5])
    for batch in ((rows, others), (ones, ones), (ones, rows), (rows, ones), (others, rows)):
        mine, theirs = (metric(*batch) for metric in metrics)
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    torch.testing.assert_close(*(metric.compute() for metric in metrics))


@pytest.mark.filterwarnings("ignore:The variance of predictions or target")
def test_what_is_unrelated_agrees_in_nothing():
    batch = torch.tensor([0.0, 1, 0, 1]), torch.tensor([0.0, 0, 1, 1])
    for metric in (torchmetrics.ConcordanceCorrCoef(), real.ConcordanceCorrCoef()):
        assert metric(*batch) == 0 and metric.compute() == 0
        metric.reset()
        metric.update(torch.ones(4), batch[1])
        assert metric.compute().isnan()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("thresholds", [None, 5, [0.1, 0.4, 0.8], [0.5]])
@pytest.mark.parametrize(
    ("name", "options", "batch"),
    [
        ("BinaryEER", {}, (PREDS, TARGET)),
        ("BinaryEER", {"ignore_index": 1}, (PREDS, TARGET)),
        ("BinaryEER", {}, (PREDS * 9 - 4, TARGET)),
        ("MulticlassEER", {"num_classes": 3}, (SCORES, CLASSES)),
        ("MulticlassEER", {"num_classes": 3, "average": "macro"}, (SCORES, CLASSES)),
        ("MulticlassEER", {"num_classes": 3}, (SCORES, CLASSES.clamp(max=1))),
        ("MultilabelEER", {"num_labels": 3, "ignore_index": -1}, (MANY, EACH)),
    ],
)
def test_equal_error_rates_of_batches(name, options, batch, thresholds):
    if thresholds == [0.5] and "average" in options:
        pytest.skip("TorchMetrics raises an IndexError")
    metrics = [
        getattr(package.classification, name)(**options, thresholds=thresholds)
        for package in (torchmetrics, real)
    ]
    for rows in (slice(0, 7), slice(7, 40)):
        mine, theirs = (metric(*(each[rows] for each in batch)) for metric in metrics)
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(*(metric.compute() for metric in metrics))


@pytest.mark.filterwarnings("ignore:No negative samples")
def test_functions_begin_anew():
    functional, theirs = torchmetrics.functional, real.functional
    one_class = torch.ones(40).long()
    for inputs in ((PREDS, TARGET), (PREDS, one_class), (PREDS * 3 - 1, TARGET), (PREDS, TARGET)):
        for name in ("binary_accuracy", "binary_f1_score", "binary_auroc", "binary_jaccard_index"):
            mine = getattr(functional.classification, name)(*inputs)
            torch.testing.assert_close(mine, getattr(theirs.classification, name)(*inputs))
    for rows in (PREDS, PREDS[:1], MANY):
        mine = functional.mean_squared_error(rows, rows.flip(0))
        torch.testing.assert_close(mine, theirs.mean_squared_error(rows, rows.flip(0)))
    with pytest.raises(RuntimeError, match="Predictions and targets are expected"):
        functional.mean_squared_error(PREDS, PREDS[:3])
    torch.testing.assert_close(
        functional.mean_squared_error(PREDS, PREDS.flip(0)),
        theirs.mean_squared_error(PREDS, PREDS.flip(0)),
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_values_that_are_torchmetrics_have_gradients():
    for make in (torchmetrics.R2Score, real.R2Score):
        preds = torch.arange(4.0).requires_grad_()
        make(adjusted=5)(preds, torch.tensor([1.0, 3, 2, 5])).backward()  # more than rows
        assert preds.grad is not None and bool(preds.grad.abs().sum() > 0)
