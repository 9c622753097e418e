"""Drawings, and what notebooks show of them."""

import xml.etree.ElementTree

import pytest
import tally
import torch
from tally import plots

torch.manual_seed(0)
PREDS = torch.rand(200)
TARGET = (torch.rand(200) < PREDS).long()
SCORES = torch.rand(100, 3).softmax(1)
CLASSES = torch.randint(3, (100,))


def words_of(plot):
    """All text of a drawing, which must be XML."""
    root = xml.etree.ElementTree.fromstring(plot.svg)
    assert root.tag.endswith("svg")
    return " ".join("".join(root.itertext()).split())


def test_what_notebooks_and_files_get(tmp_path):
    metric = tally.BinaryROC()
    metric.update(PREDS, TARGET)
    plot = metric.plot(title="my curve", width=300)
    assert isinstance(plot, plots.Plot)
    assert plot._repr_svg_() == plot._repr_html_() == str(plot) == plot.svg
    assert "my curve" in words_of(plot)
    assert 'width="300"' in plot.svg
    plot.save(tmp_path / "roc.svg")
    text = (tmp_path / "roc.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml") and text.endswith(plot.svg)


def test_areas_of_curves():
    roc, curve = tally.BinaryROC(), tally.BinaryPrecisionRecallCurve()
    for metric in (roc, curve):
        metric.update(PREDS, TARGET)
    auroc = tally.BinaryAUROC()(PREDS, TARGET).item()
    precision = tally.BinaryAveragePrecision()(PREDS, TARGET).item()
    assert f"{auroc:.3f}" in words_of(roc.plot())
    assert f"{precision:.3f}" in words_of(curve.plot())
    both = {"a": roc.compute(), "b": (torch.tensor([0.0, 1]), torch.tensor([0.0, 1]))}
    words = words_of(plots.roc_plot(both))
    assert f"a: area {auroc:.3f}" in words and "b: area 0.5" in words
    assert words_of(plots.precision_recall_plot(curve.compute(), prevalence=0.5))


def test_a_curve_for_each_class():
    roc = tally.MulticlassROC(num_classes=3)
    roc.update(SCORES, CLASSES)
    areas = tally.MulticlassAUROC(num_classes=3, average="none")(SCORES, CLASSES)
    words = words_of(roc.plot(labels=["cat", "dog", "owl"]))
    for name, area in zip(["cat", "dog", "owl"], areas.tolist()):
        assert name in words and f"{area:.3f}" in words
    assert words_of(roc.plot()) != words
    with pytest.raises(ValueError, match="a label for each curve"):
        roc.plot(labels=["cat"])


def test_matrices_vectors_and_numbers():
    matrix = tally.MulticlassConfusionMatrix(num_classes=3)
    matrix.update(SCORES, CLASSES)
    words = words_of(matrix.plot(labels=["cat", "dog", "owl"]))
    assert "owl" in words
    recall = tally.MulticlassRecall(num_classes=3, average="none")
    recall.update(SCORES, CLASSES)
    assert "dog" in words_of(recall.plot(labels=["cat", "dog", "owl"]))
    accuracy = tally.BinaryAccuracy()
    accuracy.update(PREDS, TARGET)
    assert "BinaryAccuracy" in words_of(accuracy.plot())
    metrics = tally.MetricCollection([tally.BinaryAccuracy(), tally.BinaryF1Score()])
    values = [metrics(PREDS[i : i + 50], TARGET[i : i + 50]) for i in range(0, 200, 50)]
    words = words_of(metrics.plot())
    assert "BinaryF1Score" in words
    assert "BinaryF1Score" in words_of(metrics.plot(values))
    assert "BinaryAccuracy" in words_of(accuracy.plot([0.5, torch.tensor(0.6)]))


def test_plots_without_a_metric():
    assert words_of(plots.calibration_plot(PREDS, TARGET, bins=5))
    assert "a b" in words_of(plots.bar_plot({"a b": 1, "c": 0.5}))
    steps = torch.tensor([10, 20]), torch.tensor([0.5, 0.75])
    assert "loss" in words_of(plots.steps_plot({"loss": steps}))
    assert words_of(plots.confusion_matrix_plot([[3, 1], [0, 2]]))
    assert "&lt;i&gt;" in plots.bar_plot([1.0], labels=["<i>"]).svg


@pytest.mark.parametrize(
    ("draw", "error", "match"),
    [
        (lambda: plots.roc_plot({"a": torch.ones(3)}), TypeError, "fpr and tpr"),
        (lambda: plots.roc_plot({"a": {"fpr": PREDS}}), ValueError, "fpr and tpr"),
        (lambda: plots.roc_plot({}), ValueError, "curve"),
        (lambda: plots.roc_plot({str(i): (PREDS, PREDS) for i in range(9)}), ValueError, "8"),
        (lambda: plots.calibration_plot(PREDS * 2, TARGET), ValueError, "1"),
        (lambda: plots.confusion_matrix_plot(torch.ones(2, 3)), ValueError, "2, 3"),
        (lambda: plots.bar_plot([1.0], labels=["a", "b"]), ValueError, "label"),
        (lambda: tally.BinaryAccuracy().plot([]), ValueError, "one step at least"),
        (lambda: tally.MulticlassROC(3).plot({"a": torch.ones(3)}), ValueError, "MulticlassROC"),
        (lambda: tally.BinaryAccuracy().plot(torch.ones(2, 3)), ValueError, "square matrix"),
        (lambda: tally.MulticlassROC(3).plot([{"a": torch.ones(3)}]), ValueError, "single"),
    ],
)
def test_what_cannot_be_drawn(draw, error, match):
    with pytest.raises(error, match=match):
        draw()


def test_drop_in_classes_draw_as_torchmetrics():
    pytest.importorskip("matplotlib").use("Agg")
    import tally.compat.torchmetrics as torchmetrics

    for metric in (
        torchmetrics.classification.BinaryAccuracy(), torchmetrics.classification.BinaryROC(),
        torchmetrics.classification.BinaryConfusionMatrix(),
    ):
        metric.update(PREDS, TARGET)
        figure, axes = metric.plot()
        assert figure is not None and axes is not None
