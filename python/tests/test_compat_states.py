"""States of drop-in metrics by TorchMetrics' names: attributes, checkpoints, merges."""

import copy
import io

import pytest
import ranks
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics
from tally.compat.torchmetrics import _table

torch.manual_seed(3)
SCORES, LABELS = torch.randn(40, 4).softmax(1), torch.randint(4, (40,))
PREDS, TARGET = torch.rand(40), torch.randint(2, (40,))
MANY, EACH = torch.rand(40, 3), torch.randint(2, (40, 3))
VALUES, OTHERS = torch.randn(40), torch.randn(40)
QUERIES = (PREDS, TARGET, torch.arange(40) // 5)

# Classes, options and inputs; lists of states are in order where there is one.
CASES = [
    ("classification.BinaryAccuracy", {}, (PREDS, TARGET)),
    ("classification.BinaryF1Score", {"ignore_index": -1}, (PREDS, TARGET)),
    ("classification.BinaryStatScores", {"multidim_average": "samplewise"}, (MANY, EACH)),
    ("classification.MulticlassAccuracy", {"num_classes": 4}, (SCORES, LABELS)),
    ("classification.MulticlassPrecision", {"num_classes": 4, "average": "micro"},
     (SCORES, LABELS)),
    ("classification.MulticlassRecall", {"num_classes": 4, "top_k": 2}, (SCORES, LABELS)),
    ("classification.MultilabelRecall", {"num_labels": 3}, (MANY, EACH)),
    ("classification.BinaryConfusionMatrix", {}, (PREDS, TARGET)),
    ("classification.BinaryCohenKappa", {}, (PREDS, TARGET)),
    ("classification.MulticlassConfusionMatrix", {"num_classes": 4}, (SCORES, LABELS)),
    ("classification.MulticlassCohenKappa", {"num_classes": 4, "weights": "linear"},
     (SCORES, LABELS)),
    ("classification.MulticlassJaccardIndex", {"num_classes": 4, "ignore_index": 2},
     (SCORES, LABELS)),
    ("classification.MulticlassMatthewsCorrCoef", {"num_classes": 50, "ignore_index": -1},
     (LABELS + 9, LABELS.flip(0))),
    ("classification.MultilabelConfusionMatrix", {"num_labels": 3}, (MANY, EACH)),
    ("classification.MultilabelExactMatch", {"num_labels": 3}, (MANY, EACH)),
    ("classification.BinaryAUROC", {}, (PREDS, TARGET)),
    ("classification.BinaryROC", {"thresholds": 5}, (PREDS, TARGET)),
    ("classification.MulticlassAveragePrecision", {"num_classes": 4, "thresholds": 5},
     (SCORES, LABELS)),
    ("classification.MultilabelAUROC", {"num_labels": 3}, (MANY, EACH)),
    ("classification.BinaryGroupStatRates", {"num_groups": 2}, (PREDS, TARGET, TARGET.flip(0))),
    ("regression.MeanSquaredError", {}, (VALUES, OTHERS)),
    ("regression.MeanSquaredError", {"num_outputs": 3}, (MANY, MANY.flip(0))),
    ("regression.MeanAbsoluteError", {}, (VALUES, OTHERS)),
    ("regression.R2Score", {}, (VALUES, OTHERS)),
    ("regression.RelativeSquaredError", {}, (VALUES, OTHERS)),
    ("regression.ExplainedVariance", {}, (VALUES, OTHERS)),
    ("regression.PearsonCorrCoef", {}, (VALUES, OTHERS)),
    ("regression.PearsonCorrCoef", {"num_outputs": 3}, (MANY, MANY.flip(0))),
    ("regression.ConcordanceCorrCoef", {}, (VALUES, OTHERS)),
    ("regression.SpearmanCorrCoef", {}, (VALUES, OTHERS)),
    ("regression.KendallRankCorrCoef", {}, (VALUES, OTHERS)),
    ("regression.TweedieDevianceScore", {}, (VALUES, OTHERS)),
    ("retrieval.RetrievalMAP", {}, QUERIES),
    ("retrieval.RetrievalNormalizedDCG", {}, QUERIES),
    ("aggregation.SumMetric", {}, (VALUES,)),
    ("aggregation.MeanMetric", {}, (VALUES, PREDS)),
    ("aggregation.MaxMetric", {}, (VALUES,)),
    ("aggregation.MinMetric", {}, (VALUES,)),
    ("aggregation.CatMetric", {}, (VALUES,)),
]
CASES = [pytest.param(*case, id=f"{case[0].split('.')[1]}{i}") for i, case in enumerate(CASES)]


def make(package, path, options):
    module, name = path.split(".")
    return getattr(getattr(package, module), name)(**options)


def halves(inputs):
    return [each[:20] for each in inputs], [each[20:] for each in inputs]


def close(mine, theirs):
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys()
        mine, theirs = list(mine.values()), list(theirs.values())
    if isinstance(theirs, (list, tuple)) and isinstance(mine, (list, tuple)):
        if theirs and isinstance(theirs[0], torch.Tensor) and len(theirs) != len(mine):
            mine, theirs = [torch.cat(list(mine))], [torch.cat(list(theirs))]
        for each in zip(mine, theirs, strict=True):
            close(*each)
        return
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-4, check_dtype=False)


def both(path, options, inputs):
    metrics = [make(package, path, options) for package in (torchmetrics, real)]
    for metric in metrics:
        for batch in halves(inputs):
            metric.update(*batch)
    return metrics


def same_states(mine, theirs):
    for name in theirs._defaults:
        state = getattr(theirs, name)
        got = getattr(mine, name)
        if name.startswith("max_abs_dev"):  # the standard deviation, which scales as well
            assert got.shape == state.shape and bool((got > 0).all())
            continue
        assert isinstance(got, list) == isinstance(state, list), name
        if not isinstance(state, list):
            assert got.dtype == state.dtype, name
            got, state = got.reshape(-1), state.reshape(-1)
        close(got, state)


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_attributes(path, options, inputs):
    mine, theirs = both(path, options, inputs)
    same_states(mine, theirs)
    assert mine.metric_state.keys() == theirs.metric_state.keys()
    mine.reset()
    theirs.reset()
    for name in theirs._defaults:
        close(getattr(mine, name), getattr(theirs, name))


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_checkpoints_of_torchmetrics(path, options, inputs):
    _, theirs = both(path, options, inputs)
    theirs.persistent(True)
    loaded = make(torchmetrics, path, options)
    loaded.load_state_dict(theirs.state_dict())
    loaded.update(*inputs)
    theirs.update(*inputs)
    close(loaded.compute(), theirs.compute())
    assert isinstance(loaded, getattr(getattr(torchmetrics, path.split(".")[0]), path.split(".")[1]))
    loaded.reset()
    loaded.update(*inputs)
    theirs.reset()
    theirs.update(*inputs)
    close(loaded.compute(), theirs.compute())


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_checkpoints_for_torchmetrics(path, options, inputs):
    mine, theirs = both(path, options, inputs)
    mine.persistent(True)
    theirs.persistent(True)
    checkpoint = mine.state_dict()
    assert checkpoint.keys() == theirs.state_dict().keys()
    loaded = make(real, path, options)
    loaded.load_state_dict(checkpoint)
    loaded._update_count = 2
    same_states(loaded, theirs)


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_own_checkpoints(path, options, inputs):
    mine, _ = both(path, options, inputs)
    model = torch.nn.ModuleDict({"metric": mine})
    mine.persistent(True)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = torch.nn.ModuleDict({"metric": make(torchmetrics, path, options)})
    loaded.load_state_dict(torch.load(file, weights_only=True))
    assert type(loaded["metric"]) is type(mine)
    assert torch.equal(loaded["metric"].tally_state, mine.tally_state)
    assert loaded["metric"]._update_count == 2


def test_a_changed_checkpoint_is_what_it_says():
    metric = torchmetrics.SumMetric()
    metric.persistent(True)
    metric.update(2.0)
    checkpoint = metric.state_dict()
    checkpoint["sum_value"] += 3
    metric.load_state_dict(checkpoint)
    assert metric.compute() == 5


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_merges_with_torchmetrics(path, options, inputs):
    _, theirs = both(path, options, inputs)
    first, second = halves(inputs)
    mine, other = make(torchmetrics, path, options), make(real, path, options)
    mine.update(*first)
    other.update(*second)
    merged = copy.deepcopy(mine)
    merged.merge_state(other)
    assert merged.update_count == 2
    value = theirs.compute()
    if isinstance(value, torch.Tensor) and value.ndim and len(value) == 40:
        # TorchMetrics puts the rows of the other one first.
        assert torch.equal(merged.compute().sort(0).values, value.sort(0).values)
        return
    close(merged.compute(), value)
    if not other.full_state_update and theirs.full_state_update is not None:
        other.merge_state(mine)
        close(other.compute(), theirs.compute())


def test_states_that_are_set():
    metric = torchmetrics.classification.BinaryAccuracy()
    metric.update(PREDS, TARGET)
    metric.tp = metric.tp + 100
    expected = real.classification.BinaryAccuracy()
    expected.update(PREDS, TARGET)
    expected.tp += 100
    assert metric.compute() == expected.compute()

    class Own(torchmetrics.classification.BinaryAccuracy):
        pass

    with pytest.raises(TypeError, match="set tp: Own is a subclass of a drop-in class"):
        Own().tp = torch.zeros(1)


def test_states_that_are_not_known():
    metric = torchmetrics.image.PeakSignalNoiseRatio(data_range=1.0)
    metric.update(MANY, MANY.flip(0))
    with pytest.raises(AttributeError, match="sum_squared_error: what Tally has accumulated"):
        metric.sum_squared_error
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        metric.foo
    metric.persistent(True)
    assert list(metric.state_dict()) == ["tally_state"]


CALIBRATION = [
    ("BinaryCalibrationError", {}, (PREDS, TARGET)),
    ("MulticlassCalibrationError", {"num_classes": 4}, (SCORES, LABELS)),
]


@pytest.mark.parametrize(("name", "options", "inputs"), CALIBRATION)
def test_bins_instead_of_samples(name, options, inputs):
    advice = (
        "Tally keeps three sums for each bin, where TorchMetrics keeps the confidence of each "
        rf"sample; tally_state has them, and corrections\(off=\['{name}'\]\) takes "
        "TorchMetrics' own class"
    )
    metric, other = both(f"classification.{name}", options, inputs)
    with pytest.raises(AttributeError, match=rf"{name}\.confidences: {advice}"):
        metric.confidences
    with pytest.raises(TypeError, match=f"merge_state of {name}: {advice}"):
        metric.merge_state(other)
    with pytest.raises(TypeError, match=f"set accuracies of {name}: {advice}"):
        metric.accuracies = []
    metric.persistent(True)
    checkpoint = metric.state_dict()
    assert list(checkpoint) == ["tally_state"]
    own = make(torchmetrics, f"classification.{name}", options)
    own.load_state_dict(checkpoint)
    assert own.compute() == metric.compute()

    # What has nothing yet takes TorchMetrics' states, and goes on as its object.
    other.persistent(True)
    loaded = make(torchmetrics, f"classification.{name}", options)
    loaded.load_state_dict(other.state_dict())
    assert loaded.compute() == other.compute()
    merged = make(torchmetrics, f"classification.{name}", options)
    merged.merge_state(other)
    assert merged.compute() == other.compute()


def test_a_matrix_of_too_many_classes(monkeypatch):
    monkeypatch.setattr(_table, "_MOST_CLASSES", 3)  # that many would take 17 GB
    metric = torchmetrics.classification.MulticlassCohenKappa(num_classes=4)
    assert metric(LABELS, LABELS) == 1
    with pytest.raises(AttributeError, match="confmat: what Tally has accumulated"):
        metric.confmat


def test_a_subclass_reads_the_matrix():
    class Diagonal(torchmetrics.classification.MulticlassCohenKappa):
        def compute(self):
            return self.confmat.diagonal()

    metric = Diagonal(num_classes=4)
    for batch in halves((SCORES, LABELS)):
        assert metric(*batch).sum() == (batch[0].argmax(1) == batch[1]).sum()
    assert metric.compute().sum() == (SCORES.argmax(1) == LABELS).sum()


def test_a_compute_of_a_subclass_finds_states():
    class Share(torchmetrics.classification.BinaryAccuracy):
        def compute(self):
            tp, fp, tn, fn = self._final_state()
            return tp / (tp + fp + tn + fn)

    mine = Share()
    for batch in halves((PREDS, TARGET)):
        mine.update(*batch)
    right = ((PREDS > 0.5) & (TARGET == 1)).sum()
    assert mine.compute() == right / 40


# Classes and inputs; in TorchMetrics some results have the dtype of the model, some not.
DTYPES = [
    ("classification.BinaryAccuracy", {}, (PREDS, TARGET)),
    ("classification.MulticlassF1Score", {"num_classes": 4}, (SCORES, LABELS)),
    ("classification.MulticlassCohenKappa", {"num_classes": 4}, (SCORES, LABELS)),
    ("classification.BinaryAUROC", {}, (PREDS, TARGET)),
    ("retrieval.RetrievalMAP", {}, QUERIES),
    ("regression.SpearmanCorrCoef", {}, (VALUES, OTHERS)),
    ("regression.R2Score", {}, (VALUES, OTHERS)),
    ("regression.MeanSquaredError", {}, (VALUES, OTHERS)),
    ("aggregation.MeanMetric", {}, (VALUES,)),
    ("aggregation.CatMetric", {}, (VALUES,)),
]


@pytest.mark.parametrize(("path", "options", "inputs"), DTYPES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_of_another_dtype(path, options, inputs, dtype):
    values = []
    for package in (torchmetrics, real):
        model = torch.nn.ModuleDict({"metric": make(package, path, options)}).to(dtype)
        model["metric"].update(*inputs)
        values.append(model["metric"].compute())
        model.half()  # which metrics leave
        assert model["metric"].compute().dtype == values[-1].dtype
    assert values[0].dtype == values[1].dtype
    rough = 1e-4 if dtype == torch.float64 else 0.02  # TorchMetrics rounds states
    torch.testing.assert_close(*values, rtol=rough, atol=rough)


def test_results_of_a_dtype_that_is_set():
    metric = torchmetrics.classification.BinaryAccuracy().set_dtype(torch.float64)
    metric.update(PREDS, TARGET)
    assert metric.to(torch.bfloat16).compute().dtype == torch.float64


def of_ranks(rank, world):
    metric = torchmetrics.classification.MulticlassAccuracy(num_classes=4)
    rows = slice(None, 10) if rank == 0 else slice(10, None)
    metric.update(SCORES[rows], LABELS[rows])
    metric.sync()
    synced = metric.tp
    metric.unsync()
    return synced, metric.tp


def test_attributes_over_ranks():
    whole = real.classification.MulticlassAccuracy(num_classes=4)
    whole.update(SCORES, LABELS)
    (all_of_first, first), (all_of_second, second) = ranks.run(2, of_ranks)
    assert torch.equal(all_of_first, whole.tp) and torch.equal(all_of_second, whole.tp)
    assert torch.equal(first + second, whole.tp)
