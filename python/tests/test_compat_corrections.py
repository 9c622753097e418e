"""Which values of drop-in classes are not TorchMetrics', and how that is said."""

import inspect
import operator
import os
import pydoc
import subprocess
import sys
import warnings

import pytest
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics

CORRECTIONS = torchmetrics.corrections()
ALL = [(name, each) for name, first in CORRECTIONS.items() for each in (first, first.also)
       if each is not None]


@pytest.fixture
def fresh(monkeypatch):
    """As if nothing had been warned about."""
    from tally.compat.torchmetrics import _corrections

    monkeypatch.setattr(_corrections, "_warned", set())
    yield
    torchmetrics.corrections(warn=True, off=[])


@pytest.mark.parametrize("name, each", ALL)
def test_commands_show_the_other_tools_value(name, each, capsys):
    if ".detection" in each.command:
        pytest.importorskip("torchvision")  # without which TorchMetrics has no such class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(each.command, {})
    mine, other = map(float, capsys.readouterr().out.split())
    assert mine == pytest.approx(other, rel=1e-6, abs=1e-6)


def ignoring(**options):
    metric = torchmetrics.classification.MulticlassRecall(
        num_classes=2, ignore_index=0, **options
    )
    metric.update(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    return metric.compute()


def test_warns_once_for_each_class(fresh):
    with pytest.warns(torchmetrics.TallyCorrectionWarning, match="follows scikit-learn") as found:
        assert ignoring() == 0.5
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ignoring()


# The target is in the second place by the lowest class, and the best in the third row.
EQUAL = torch.tensor([[0.25] * 4, [0.1, 0.3, 0.3, 0.3], [0.4, 0.4, 0.1, 0.1]])


@pytest.mark.parametrize(
    "name, options, target, expected",
    [
        ("Accuracy", {"average": "micro"}, [1, 2, 2], 2 / 3),
        ("StatScores", {"average": "micro"}, [1, 2, 2], [2, 1, 8, 1, 3]),
        ("Precision", {"average": None}, [1, 2, 2], [0, 1, 1, 0]),
    ],
)
def test_equal_scores_of_the_best_are_warned_about(fresh, name, options, target, expected):
    values = []
    for package in (torchmetrics, real):
        cls = getattr(package.classification, "Multiclass" + name)
        metric = cls(num_classes=4, top_k=2, **options)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            metric.update(EQUAL, torch.tensor(target))
            assert not told
            values.append(metric.compute())
        assert [each.category for each in told] == (
            [torchmetrics.TallyCorrectionWarning] if package is torchmetrics else []
        )
        if told:
            assert "follows NumPy, by a stable sort: with `top_k`" in str(told[0].message)
    torch.testing.assert_close(values[0], torch.tensor(expected, dtype=values[0].dtype))
    assert not torch.equal(*values)


@pytest.mark.parametrize("top_k", [1, 4])
def test_equal_scores_that_do_not_matter(fresh, top_k):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric = torchmetrics.classification.MulticlassAccuracy(
            num_classes=4, top_k=top_k, average="micro"
        )
        metric.update(EQUAL, torch.tensor([0, 1, 0]))
        assert metric.compute() == 1


def test_both_corrections_of_a_class_are_told(fresh):
    metric = torchmetrics.classification.MulticlassRecall(num_classes=4, top_k=2, ignore_index=0)
    metric.update(EQUAL, torch.tensor([1, 2, 3]))
    with pytest.warns(torchmetrics.TallyCorrectionWarning) as found:
        metric.compute()
    assert len(found) == 2


@pytest.mark.parametrize("options", [{"average": "micro"}, {"average": None}])
def test_does_not_warn_where_nothing_is_corrected(fresh, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ignoring(**options)


def test_warnings_are_switched_off(fresh):
    assert torchmetrics.corrections(warn=False) == CORRECTIONS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ignoring()


def test_warnings_are_switched_off_from_outside():
    program = (
        "import torch, warnings, tally.compat.torchmetrics as t; warnings.simplefilter('error');"
        "m = t.clustering.NormalizedMutualInfoScore(); x = torch.zeros(4).long();"
        "m.update(x, x); print(m.compute().item())"
    )
    for value, fails in (("0", False), ("1", True)):
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True,
            env={**os.environ, "TALLY_CORRECTION_WARNINGS": value},
        )
        assert ("TallyCorrectionWarning" in run.stderr) == fails, run.stderr


def test_torchmetrics_own_class_is_taken_back(fresh):
    torchmetrics.corrections(off="MulticlassRecall")
    assert ignoring() == 0.25
    metric = torchmetrics.Recall(task="multiclass", num_classes=2)
    assert type(metric) is real.classification.MulticlassRecall
    assert isinstance(metric, torchmetrics.classification.MulticlassRecall)
    torchmetrics.corrections(off=[])
    assert ignoring() == 0.5
    with pytest.raises(ValueError, match="expected names of .*, got 'Recal'"):
        torchmetrics.corrections(off=["Recal"])
    assert ignoring() == 0.5


def test_conventions_are_chosen():
    target = torch.ones(4).long()
    assert torchmetrics.conventions() == "torchmetrics"
    try:
        assert torchmetrics.conventions("tally") == "tally"
        metric = torchmetrics.AUROC(task="binary")
        metric.update(torch.rand(4), target)
        assert metric.compute().isnan()
        assert torchmetrics.functional.spearman_corrcoef(torch.ones(4), torch.rand(4)).isnan()
    finally:
        torchmetrics.conventions("torchmetrics")
    assert torchmetrics.functional.spearman_corrcoef(torch.ones(4), torch.rand(4)) == 0
    with pytest.raises(ValueError, match="expected torchmetrics or tally, got 'mine'"):
        torchmetrics.conventions("mine")


def test_documentation_lists_all():
    import pathlib

    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
    rows = {}
    for name, each in ALL:
        rows.setdefault(f"| {each.reason} | {each.tool} |\n", []).append(f"`{name}`")
    for row, names in rows.items():
        assert f"| {', '.join(names)} {row}" in page.read_text()


def same_value(path, options, inputs, **tolerance):
    values = []
    for package in (torchmetrics, real):
        domain, name = path.split(".")
        metric = getattr(getattr(package, domain), name)(**options)
        metric.update(*inputs)
        values.append(metric.compute())
    torch.testing.assert_close(*values, **tolerance)


TABLE = torch.tensor([[20, 5], [7, 18]])
PAIRS = tuple(index.flatten().repeat_interleave(TABLE.flatten()) for index in torch.tensor(
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
))
MASKS = tuple(torch.arange(72).mul(k).reshape(2, 6, 6) % 2 for k in (3, 5))


@pytest.mark.parametrize(
    "path, options, inputs",
    [
        ("nominal.CramersV", {"num_classes": 2}, PAIRS),
        ("nominal.CramersV", {"num_classes": 2, "bias_correction": False}, PAIRS),
        ("nominal.TschuprowsT", {"num_classes": 2}, PAIRS),
        ("aggregation.CatMetric", {}, (torch.arange(3),)),
        ("text.EditDistance", {"reduction": None}, (["rain", "tea"], ["shine", "eat"])),
        ("clustering.DunnIndex", {"p": 0}, (torch.rand(8, 2), torch.arange(8) % 2)),
        *(
            ("segmentation.MeanIoU",
             {"num_classes": 3, "input_format": "index", "per_class": per_class}, inputs)
            for per_class in (False, True)
            for inputs in (MASKS, (torch.zeros(1, 4, 4).long(), torch.ones(1, 4, 4).long()))
        ),
        ("detection.PanopticQuality", {"things": {0, 1}, "stuffs": {6, 7}},
         (torch.tensor([[[[6, 0], [0, 0]], [[0, 0], [7, 0]]]]),) * 2),
        ("detection.ModifiedPanopticQuality", {"things": {0, 1}, "stuffs": {6, 7}},
         (torch.tensor([[[[6, 0], [0, 0]], [[0, 0], [7, 0]]]]),) * 2),
        *(
            (f"classification.Multilabel{name}", {"num_labels": 3, "thresholds": 5},
             (torch.rand(20, 3), torch.arange(60).reshape(20, 3) % 2))
            for name in ("AUROC", "AveragePrecision")
        ),
        ("classification.MulticlassAccuracy", {"num_classes": None, "average": "micro"},
         (torch.tensor([0, 1, 5]), torch.tensor([0, 1, 2]))),
        ("regression.MeanSquaredError", {"dist_sync_fn": print}, (torch.ones(2), torch.zeros(2))),
    ],
)
def test_conventions(path, options, inputs):
    same_value(path, options, inputs)


def test_signatures():
    for path in (
        "classification.MulticlassAccuracy", "MeanMetric", "Accuracy", "MetricCollection",
        "functional.accuracy", "functional.text.bleu_score",
    ):
        mine, its = (operator.attrgetter(path)(package) for package in (torchmetrics, real))
        assert inspect.signature(mine) == inspect.signature(its)
    for method in ("__init__", "update", "forward", "compute"):
        mine = getattr(torchmetrics.classification.BinaryAUROC, method)
        its = getattr(real.classification.BinaryAUROC, method)
        assert list(inspect.signature(mine).parameters) == list(inspect.signature(its).parameters)
    update = torchmetrics.classification.BinaryAUROC().update
    assert list(inspect.signature(update).parameters) == ["preds", "target"]
    assert "target: torch.Tensor" in pydoc.render_doc(torchmetrics.classification.BinaryAUROC)

    class Own(torchmetrics.MeanMetric):
        def __init__(self, factor=2):
            super().__init__()

    assert list(inspect.signature(Own).parameters) == ["factor"]
    assert torchmetrics.__version__ == real.__version__
