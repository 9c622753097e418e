"""What stands in TorchMetrics' place."""

import copy
import pickle
import warnings

import pytest
import ranks
import tally
import torch
import torchmetrics as real
from torchmetrics.utilities import dim_zero_cat

import tally.compat.torchmetrics as torchmetrics

torch.manual_seed(0)
PREDS = torch.rand(64)
TARGET = torch.randint(2, (64,))
SCORES = torch.randn(64, 5)
CLASSES = torch.randint(5, (64,))
QUERIES = (PREDS, TARGET, torch.arange(64) // 8)
COUNTS = torch.distributions.Multinomial(6, torch.ones(4)).sample((20,)).long()
MASKS = tuple(
    torch.nn.functional.one_hot(torch.randint(3, (2, 12, 12)), 3).movedim(-1, 1)
    for _ in range(2)
)
POINTS = torch.rand(4, 10, 3)
IMAGES = (torch.rand(3, 3, 32, 32), torch.rand(3, 3, 32, 32))
HYPOTHESES = ["the cat is on the mat", "There is a big tree. It is near the park!"]
REFERENCES = [
    ["there is a cat on the mat", "a cat is on the mat"],
    ["A big tree is growing near the park.", "There is one tree."],
]
TEXTS = (HYPOTHESES, REFERENCES)


def largest(values, dim):
    return values.amax(dim)


def same(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for each in zip(a, b):
            same(*each)
    else:
        assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
        torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-4, atol=1e-5)


CASES = [
    ("classification.BinaryAccuracy", {}, (PREDS, TARGET)),
    ("classification.BinaryAccuracy", {}, (PREDS * 8 - 4, TARGET)),
    ("classification.BinaryROC", {}, (PREDS, TARGET)),
    ("classification.BinaryROC", {"thresholds": 5}, (PREDS, TARGET)),
    ("classification.BinaryPrecisionRecallCurve", {"thresholds": 5}, (PREDS, TARGET)),
    ("classification.MulticlassROC", {"num_classes": 5}, (SCORES, CLASSES)),
    ("classification.MulticlassPrecisionRecallCurve", {"num_classes": 5}, (SCORES, CLASSES)),
    ("classification.MulticlassAUROC", {"num_classes": 5}, (SCORES, CLASSES)),
    ("classification.MulticlassF1Score", {"num_classes": 5, "average": None}, (SCORES, CLASSES)),
    ("classification.MulticlassConfusionMatrix", {"num_classes": 5}, (SCORES, CLASSES)),
    ("classification.MulticlassHingeLoss", {"num_classes": 5}, (SCORES, CLASSES)),
    ("classification.BinaryRecallAtFixedPrecision", {"min_precision": 0.5}, (PREDS, TARGET)),
    *(
        (f"classification.Multiclass{name}", {"num_classes": 5, "thresholds": thresholds, **least},
         (SCORES, CLASSES))
        for name, least in (
            ("RecallAtFixedPrecision", {"min_precision": 0.9}),
            ("PrecisionAtFixedRecall", {"min_recall": 0.9}),
            ("SensitivityAtSpecificity", {"min_specificity": 0.999}),
            ("SpecificityAtSensitivity", {"min_sensitivity": 0.9}),
        )
        for thresholds in (None, [0.0, 0.2, 0.4])
    ),
    ("classification.BinaryGroupStatRates", {"num_groups": 2}, (PREDS, TARGET, TARGET.flip(0))),
    ("classification.BinaryFairness", {"num_groups": 2}, (PREDS, TARGET, TARGET.flip(0))),
    ("regression.MeanSquaredError", {}, (PREDS, PREDS.flip(0))),
    ("regression.R2Score", {"multioutput": "raw_values"}, (SCORES, SCORES.flip(0))),
    ("regression.KendallRankCorrCoef", {"t_test": True}, (PREDS, PREDS.flip(0))),
    ("retrieval.RetrievalMAP", {}, QUERIES),
    ("retrieval.RetrievalMAP", {"aggregation": "median"}, QUERIES),
    ("retrieval.RetrievalMRR", {"aggregation": largest, "top_k": 3}, QUERIES),
    ("retrieval.RetrievalNormalizedDCG", {"empty_target_action": "pos"}, QUERIES),
    ("retrieval.RetrievalFallOut", {"ignore_index": -1}, QUERIES),
    ("retrieval.RetrievalPrecisionRecallCurve", {}, QUERIES),
    ("retrieval.RetrievalPrecisionRecallCurve", {"aggregation": largest, "max_k": 4}, QUERIES),
    ("retrieval.RetrievalRecallAtFixedPrecision", {"min_precision": 0.5}, QUERIES),
    (
        "retrieval.RetrievalRecallAtFixedPrecision",
        {"min_precision": 0.5, "aggregation": "max"}, QUERIES,
    ),
    ("clustering.AdjustedMutualInfoScore", {"average_method": "max"}, (CLASSES, TARGET)),
    ("clustering.NormalizedMutualInfoScore", {}, (CLASSES, TARGET)),
    ("clustering.FowlkesMallowsIndex", {}, (CLASSES, TARGET)),
    ("clustering.VMeasureScore", {"beta": 2.0}, (CLASSES, TARGET)),
    ("clustering.DaviesBouldinScore", {}, (SCORES, CLASSES)),
    ("clustering.CalinskiHarabaszScore", {}, (SCORES, CLASSES)),
    ("clustering.DunnIndex", {"p": 1}, (SCORES, CLASSES)),
    ("nominal.CramersV", {"num_classes": 5}, (CLASSES, CLASSES.flip(0))),
    ("nominal.TheilsU", {"num_classes": 5, "nan_strategy": "drop"}, (SCORES, CLASSES)),
    (
        "nominal.TschuprowsT",
        {"num_classes": 5, "nan_strategy": "drop", "nan_replace_value": None},
        (CLASSES, CLASSES.flip(0)),
    ),
    ("nominal.FleissKappa", {}, (COUNTS,)),
    ("segmentation.DiceScore", {"num_classes": 3, "average": None}, MASKS),
    ("segmentation.GeneralizedDiceScore", {"num_classes": 3, "per_class": True}, MASKS),
    ("segmentation.MeanIoU", {"num_classes": 3, "include_background": False}, MASKS),
    (
        "segmentation.HausdorffDistance",
        {"num_classes": 3, "directed": True, "spacing": [1.5, 2.0]}, MASKS,
    ),
    ("shape.ProcrustesDisparity", {"reduction": "sum"}, (POINTS, POINTS.flip(0))),
    ("text.BLEUScore", {"n_gram": 2}, TEXTS),
    ("text.SacreBLEUScore", {}, TEXTS),
    ("text.SacreBLEUScore", {"smooth": True, "tokenize": "char", "lowercase": True}, TEXTS),
    ("text.CHRFScore", {}, TEXTS),
    ("text.CHRFScore", {"n_word_order": 0, "whitespace": True}, TEXTS),
    ("text.CHRFScore", {"return_sentence_level_score": True}, TEXTS),
    ("text.TranslationEditRate", {}, TEXTS),
    ("text.TranslationEditRate", {"normalize": True}, (HYPOTHESES[0], REFERENCES[0])),
    ("text.ExtendedEditDistance", {}, TEXTS),
    ("text.ExtendedEditDistance", {"alpha": 1.0}, (HYPOTHESES[0], REFERENCES[0])),
    ("text.EditDistance", {"reduction": "sum"}, (HYPOTHESES, REFERENCES[0])),
    ("text.WordErrorRate", {}, (HYPOTHESES, REFERENCES[0])),
    ("text.CharErrorRate", {}, (HYPOTHESES[0], REFERENCES[0][0])),
    ("text.ROUGEScore", {"rouge_keys": "rouge2"}, TEXTS),
    ("text.ROUGEScore", {"rouge_keys": ("rouge1", "rougeL"), "accumulate": "avg"}, TEXTS),
    ("text.ROUGEScore", {"rouge_keys": "rougeL", "tokenizer": str.split}, TEXTS),
    ("text.Perplexity", {"ignore_index": 0}, (SCORES.softmax(1)[None], CLASSES[None])),
    ("audio.SignalNoiseRatio", {"zero_mean": True}, (PREDS, PREDS.flip(0))),
    (
        "audio.SourceAggregatedSignalDistortionRatio", {},
        (SCORES.T[None], SCORES.T.flip(1)[None]),
    ),
    ("image.PeakSignalNoiseRatio", {"data_range": 1.0}, IMAGES),
    ("image.PeakSignalNoiseRatio", {"data_range": 1.0, "dim": (1, 2, 3)}, IMAGES),
    ("image.StructuralSimilarityIndexMeasure", {"data_range": 1.0}, IMAGES),
    ("image.StructuralSimilarityIndexMeasure", {}, IMAGES),
    ("multimodal.LipVertexError", {"mouth_map": [0, 5]}, (torch.rand(9, 8, 3), torch.rand(7, 8, 3))),
    ("image.SpectralAngleMapper", {}, IMAGES),
    ("image.SpectralAngleMapper", {"reduction": "sum"}, IMAGES),
    ("image.UniversalImageQualityIndex", {}, IMAGES),
    ("image.TotalVariation", {}, IMAGES[:1]),
    ("image.ErrorRelativeGlobalDimensionlessSynthesis", {}, IMAGES),
    ("aggregation.MeanMetric", {}, (PREDS,)),
    ("aggregation.SumMetric", {"nan_strategy": 2.0}, (torch.tensor([1.0, torch.nan]),)),
]


@pytest.mark.parametrize(("path", "options", "inputs"), CASES)
def test_as_torchmetrics(path, options, inputs):
    module, name = path.split(".")
    mine = getattr(getattr(torchmetrics, module), name)(**options)
    theirs = getattr(getattr(real, module), name)(**options)
    assert isinstance(mine, type(theirs)) and isinstance(mine, real.Metric)
    same(mine(*inputs), theirs(*inputs))
    mine.update(*inputs)
    theirs.update(*inputs)
    same(mine.compute(), theirs.compute())
    same(pickle.loads(pickle.dumps(mine)).compute(), theirs.compute())
    same(copy.deepcopy(mine).compute(), theirs.compute())
    assert mine.update_count == 2


def test_modules_and_dispatchers():
    from tally.compat.torchmetrics.classification import BinaryAUROC
    from tally.compat.torchmetrics.classification.auroc import BinaryAUROC as deeper

    assert BinaryAUROC is deeper is torchmetrics.classification.BinaryAUROC
    assert issubclass(BinaryAUROC, real.classification.BinaryAUROC)
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=5)
    assert type(accuracy) is torchmetrics.classification.MulticlassAccuracy
    assert torchmetrics.functional.cramers_v is real.functional.cramers_v
    assert issubclass(torchmetrics.MetricCollection, real.MetricCollection)
    assert torchmetrics.text.BLEUScore.__name__ == "BLEUScore"


def test_every_metric_of_both_is_replaced():
    from tally.compat.torchmetrics import _mirror, _table

    names = {cls.__name__ for cls in _mirror.CLASSES}
    for module in (
        real.aggregation, real.classification, real.clustering, real.nominal, real.regression,
        real.audio, real.retrieval, real.segmentation, real.shape, real.text,
    ):
        for name in vars(module):
            if name in tally._METRICS and name not in _table.LEFT_OUT:
                assert name in names, name


LOGITS = torch.tensor([1.2, -3.0])
SURE = torch.tensor([0.9678, 0.25])
TWO = torch.tensor([1, 0])
GUESSING = [
    ("BinaryAUROC", {}, LOGITS, SURE, TWO),
    ("BinaryAccuracy", {}, LOGITS, SURE, TWO),
    ("BinaryHingeLoss", {}, LOGITS, SURE, TWO),
    ("BinaryCalibrationError", {}, LOGITS, SURE, TWO),
    ("MulticlassAUROC", {"num_classes": 2}, LOGITS.repeat(2, 1), torch.full((2, 2), 0.5), TWO),
    (
        "MultilabelF1Score", {"num_labels": 2}, LOGITS.repeat(2, 1), SURE.repeat(2, 1),
        TWO.repeat(2, 1),
    ),
]


@pytest.mark.parametrize(("name", "options", "logits", "sure", "target"), GUESSING)
@pytest.mark.parametrize("call", ["update", "forward"])
def test_batches_read_differently_are_warned_about(name, options, logits, sure, target, call):
    mine = getattr(torchmetrics.classification, name)(**options)
    theirs = getattr(real.classification, name)(**options)

    def read(*batches):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for batch in batches:
                getattr(mine, call)(batch, target)
        return [str(each.message) for each in caught if "how rows are batched" in str(each.message)]

    assert read(logits, logits) == []
    (warning,) = read(sure, logits, sure)
    assert name in warning
    for batch in (logits, logits, sure, logits, sure):
        theirs.update(batch, target)
    same(mine.compute(), theirs.compute())
    assert read(logits, sure) == []  # once
    mine.reset()
    assert read(sure, sure) == []
    assert len(read(logits)) == 1  # per run
    mine.reset()
    assert read(logits) == []


def test_what_is_not_guessed_is_not_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accuracy = torchmetrics.classification.MulticlassAccuracy(2)
        accuracy.update(LOGITS.repeat(2, 1), TWO)  # the largest, whatever they are
        accuracy.update(torch.full((2, 2), 0.5), TWO)
        labels = torchmetrics.classification.BinaryAccuracy()
        labels.update(TWO, TWO)
        labels.update(LOGITS, TWO)
        errors = torchmetrics.regression.MeanSquaredError()
        errors.update(LOGITS, SURE)
        errors.update(SURE, SURE)


def test_errors_are_torchmetrics():
    with pytest.raises(ValueError, match="Expected argument `average` to be one of"):
        torchmetrics.classification.MulticlassAccuracy(5, average="mean")
    metric = torchmetrics.classification.BinaryAccuracy()
    with pytest.raises(RuntimeError, match="Detected the following values in `target`"):
        metric.update(PREDS, TARGET + 5)
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        torchmetrics.regression.MeanSquaredError(foo=1)
    with pytest.raises(ValueError, match="dist_sync_fn"):
        Doubled(dist_sync_fn=print)


def test_queries_without_relevant_documents():
    wanted = torchmetrics.retrieval.RetrievalMAP(empty_target_action="error")
    inputs = PREDS[:4], torch.zeros(4, dtype=torch.long), torch.tensor([0, 0, 1, 1])
    for call in (wanted, lambda *inputs: (wanted.update(*inputs), wanted.compute())):
        with pytest.raises(ValueError, match="a query with no positive target. .*query 0"):
            call(*inputs)
    others = torchmetrics.retrieval.RetrievalFallOut(empty_target_action="error")
    others.update(inputs[0], inputs[1] + 1, inputs[2])
    with pytest.raises(ValueError, match="a query with no negative target."):
        others.compute()
    for options in ({}, {"aggregation": largest}):
        for name in ("RetrievalMAP", "RetrievalPrecisionRecallCurve"):
            skipped = getattr(torchmetrics.retrieval, name)(
                empty_target_action="skip", **options
            )
            theirs = getattr(real.retrieval, name)(empty_target_action="skip", **options)
            same(skipped(*inputs), theirs(*inputs))


def test_functions_of_curves_are_refused():
    with pytest.raises(ValueError, match="takes mean, median, min or max"):
        torchmetrics.retrieval.RetrievalRecallAtFixedPrecision(aggregation=largest)


def test_cluster_accuracy_needs_no_other_package():
    metric = torchmetrics.clustering.ClusterAccuracy(num_classes=3)
    assert metric(torch.tensor([1, 1, 2, 0]), torch.tensor([0, 0, 1, 1])) == 0.75
    with pytest.raises(ValueError, match="positive integer"):
        torchmetrics.clustering.ClusterAccuracy(num_classes=0)
    with pytest.raises(ValueError, match="expected labels from 0 to 2"):
        metric.update(torch.tensor([3]), torch.tensor([0]))


PAIRWISE = ["cosine_similarity", "euclidean_distance", "linear_similarity", "manhattan_distance",
            "minkowski_distance"]


@pytest.mark.parametrize("name", ["pairwise_" + name for name in PAIRWISE])
def test_pairwise_functions(name):
    mine = getattr(torchmetrics.functional, name)
    theirs = getattr(real.functional, name)
    assert getattr(torchmetrics.functional.pairwise, name) is mine is not theirs
    x, y = SCORES, SCORES[:7].flip(1)
    extra = {"exponent": 3} if "minkowski" in name else {}
    for options in ({}, {"reduction": "mean"}, {"zero_diagonal": True, "reduction": "sum"}):
        same(mine(x, y, **options, **extra), theirs(x, y, **options, **extra))
        same(mine(x, **options, **extra), theirs(x, **options, **extra))
    same(mine(x.double().numpy(), y.double().numpy(), **extra), theirs(
        x.double(), y.double(), **extra))
    with pytest.raises(ValueError, match="Expected argument `x` to be a 2D tensor"):
        mine(x[0])
    with pytest.raises(ValueError, match="Expected reduction to be one of"):
        mine(x, reduction=1)
    with pytest.raises(ValueError, match="reduction: expected"):
        getattr(tally.functional, name)(x, reduction=1)
    points = x.double().requires_grad_()
    getattr(tally.functional, name)(points, y.double()).sum().backward()
    assert points.grad.isfinite().all()


def test_wrappers_and_collections():
    metrics = torchmetrics.MetricCollection(
        {"a": torchmetrics.classification.BinaryAccuracy(),
         "p": torchmetrics.classification.BinaryPrecision()}, prefix="val_"
    )
    metrics.update(PREDS, target=TARGET)
    metrics.update(PREDS, TARGET)
    theirs = real.MetricCollection(
        {"a": real.classification.BinaryAccuracy(), "p": real.classification.BinaryPrecision()},
        prefix="val_",
    )
    theirs.update(PREDS, TARGET)
    same(metrics.compute(), theirs.compute())
    running = torchmetrics.wrappers.Running(torchmetrics.SumMetric(), window=2)
    for value in (1.0, 2.0, 4.0):
        running.update(value)
    assert running.compute() == 6
    best = torchmetrics.wrappers.MinMaxMetric(torchmetrics.classification.BinaryAccuracy())
    best.update(PREDS, TARGET)
    assert set(best.compute()) == {"raw", "min", "max"}
    tracker = torchmetrics.wrappers.MetricTracker(torchmetrics.classification.BinaryAccuracy())
    for _ in range(2):
        tracker.increment()
        tracker.update(PREDS, TARGET)
    assert tracker.compute_all().shape == (2,)
    f = torchmetrics.SumMetric() + torchmetrics.SumMetric()
    f.update(1.0)
    assert f.compute() == 2


def averages(library, groups):
    return library.MetricCollection(
        {
            average: library.classification.MulticlassAccuracy(5, average=average)
            for average in ("macro", "micro")
        },
        compute_groups=groups,
    )


@pytest.mark.parametrize("groups", [True, False, [["macro", "micro"]]])
def test_groups(groups):
    mine, theirs = averages(torchmetrics, groups), averages(real, groups)
    for metrics in (theirs, mine, mine.clone()):
        metrics.reset()
        for rows in (slice(0, 40), slice(40, 64)):
            metrics.update(SCORES[rows], CLASSES[rows])
        same(metrics.compute(), theirs.compute())
    if groups is True:
        assert mine.compute_groups == {0: ["macro"], 1: ["micro"]}


@pytest.mark.parametrize("wrapped", [False, True])
def test_groups_of_several_classes(wrapped):
    def value(package):
        names = ("MulticlassAccuracy", "MulticlassRecall")
        classes = [getattr(package.classification, name) for name in names]
        wrap = package.ClasswiseWrapper if wrapped else lambda metric: metric
        metrics = package.MetricCollection(
            {each.__name__: wrap(each(5, average=None)) for each in classes}
            | {"mean": real.MeanMetric(), "sum": real.SumMetric()},
            compute_groups=[["MulticlassAccuracy", "mean"], ["MulticlassRecall", "sum"]]
            if package is torchmetrics
            else True,
        )
        metrics = copy.deepcopy(metrics)
        metrics.update(preds=SCORES, target=CLASSES, value=torch.ones(2))
        return metrics.compute()

    same(value(torchmetrics), value(real))
    with pytest.raises(ValueError, match="does not match a metric in the collection"):
        torchmetrics.MetricCollection([torchmetrics.SumMetric()], compute_groups=[["mean"]])


class Doubled(torchmetrics.SumMetric):
    """A class of one's own on top of a drop-in."""

    def update(self, value, factor):
        super().update(value * factor)

    def compute(self):
        return {"doubled": super().compute()}


def test_subclasses():
    metric = Doubled()
    assert metric(torch.tensor(3.0), 2) == {"doubled": 6}
    metric.update(value=torch.tensor(1.0), factor=2)
    assert metric.compute() == {"doubled": 8}
    assert metric.update_count == 2
    assert pickle.loads(pickle.dumps(metric)).compute() == {"doubled": 8}
    metrics = torchmetrics.MetricCollection([Doubled()])
    metrics.update(value=torch.tensor(1.0), factor=2, other=1)
    assert metrics.compute() == {"doubled": 2}


def counting(package, base="classification.BinaryAccuracy"):
    """A subclass with states of its own."""
    domain, name = base.split(".")

    class Counting(getattr(getattr(package, domain), name)):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.add_state("rows", default=torch.tensor(0), dist_reduce_fx="sum")
            self.add_state("largest", default=torch.tensor(0.0), dist_reduce_fx="max")
            self.add_state("seen", default=[], dist_reduce_fx="cat")

        def update(self, preds, target):
            super().update(preds, target)
            self.rows = self.rows + len(preds)
            self.largest = torch.maximum(self.largest, preds.max())
            self.seen.append(preds)

        def compute(self):
            return super().compute(), self.rows, self.largest, dim_zero_cat(self.seen)

    return Counting


class Below(counting(torchmetrics)):
    """Two levels, of a module's own name for pickle."""

    def compute(self):
        return super().compute()[1:]


@pytest.mark.parametrize(
    "base", ["classification.BinaryAccuracy", "regression.PearsonCorrCoef"]
)
def test_states_of_subclasses(base):
    mine, theirs = (counting(package, base)() for package in (torchmetrics, real))
    inputs = (PREDS, TARGET.float() if "regression" in base else TARGET)
    first, second = ([each[rows] for each in inputs] for rows in (slice(20), slice(20, 64)))
    for metric in (mine, theirs):
        metric.update(*first)
    same(mine.compute(), theirs.compute())
    same(mine(*second), theirs(*second))
    same(mine.compute(), theirs.compute())
    assert mine.update_count == theirs.update_count == 2
    same(copy.deepcopy(mine).compute(), theirs.compute())
    other = type(mine)()
    other.update(*first)
    mine.merge_state(other)
    assert mine.compute()[1] == 84
    mine.reset()
    assert mine.rows == 0 and mine.seen == []
    mine.update(*second)
    assert mine.compute()[1] == 44
    mine.persistent(True)
    other.persistent(True)
    other.load_state_dict(mine.state_dict())
    same(other.compute(), mine.compute())


def test_subclasses_of_subclasses():
    metric = Below()
    metric.update(PREDS[:20], TARGET[:20])
    same(metric(PREDS[20:], TARGET[20:]), (torch.tensor(44), PREDS[20:].max(), PREDS[20:]))
    same(metric.compute(), (torch.tensor(64), PREDS.max(), PREDS))
    assert metric.compute() is metric.compute()
    metric = pickle.loads(pickle.dumps(metric))
    metric.update(PREDS[:20], TARGET[:20])
    assert metric.compute()[0] == 84


def alone_on_ranks(rank, world):
    """A kept value is no call of all ranks; states of subclasses travel."""
    metric = torchmetrics.MeanMetric()
    metric.update(float(rank))
    value = metric.compute()
    if rank == 0:
        assert metric.compute() is value
    rows = slice(0, 20) if rank == 0 else slice(20, 64)
    added = counting(torchmetrics)()
    added.update(PREDS[rows], TARGET[rows])
    found = added.compute()
    assert added.rows == len(PREDS[rows]) and len(added.seen) == 1
    return value, found


def test_values_that_are_kept_and_states_of_subclasses_over_ranks():
    expected = counting(real)()
    expected.update(PREDS, TARGET)
    for value, found in ranks.run(2, alone_on_ranks):
        assert value == 0.5
        same(found, expected.compute())


@pytest.mark.parametrize(
    "name",
    ["Accuracy", "F1Score", "HammingDistance", "JaccardIndex", "NegativePredictiveValue",
     "Precision", "Recall", "Specificity"],
)
def test_averages_leave_the_ignored_class_out(name):
    """Of the values of classes that TorchMetrics has as well."""
    name, inputs = f"Multiclass{name}", (SCORES, CLASSES)

    def value(package, average):
        make = getattr(package.classification, name)
        return make(num_classes=5, average=average, ignore_index=0)(*inputs)

    of_classes = value(real, None)
    torch.testing.assert_close(value(torchmetrics, None)[1:], of_classes[1:])
    torch.testing.assert_close(value(torchmetrics, "macro"), of_classes[1:].mean())
    support = CLASSES.bincount(minlength=5)[1:].float()
    weighted = (of_classes[1:] * support).sum() / support.sum()
    torch.testing.assert_close(value(torchmetrics, "weighted"), weighted)


ONE_CLASS = torch.zeros(64, dtype=torch.long)
SOME = {"num_classes": 5}
UNDEFINED = [
    ("BinaryAUROC", {}, (PREDS, ONE_CLASS)),
    ("BinaryAUROC", {"thresholds": [0.1, 0.5, 0.9]}, (PREDS, TARGET)),
    ("BinaryROC", {"thresholds": 5}, (PREDS, ONE_CLASS)),
    ("BinaryEER", {}, (PREDS, TARGET)),
    ("BinaryLogAUC", {}, (PREDS, TARGET)),
    ("BinarySpecificityAtSensitivity", {"min_sensitivity": 0.5}, (PREDS, TARGET)),
    *(
        (f"Multiclass{name}", {**SOME, **options, "thresholds": thresholds},
         (SCORES, CLASSES.clamp(max=3)))
        for thresholds in (None, 5)
        for name, options in (
            ("AUROC", {}), ("AUROC", {"average": "weighted"}), ("AUROC", {"average": None}),
            ("AveragePrecision", {}), ("ROC", {}), ("ROC", {"average": "macro"}), ("EER", {}),
            ("PrecisionRecallCurve", {}), ("SensitivityAtSpecificity", {"min_specificity": 0.5}),
            ("RecallAtFixedPrecision", {"min_precision": 0.5}),
        )
    ),
    *(
        (f"Multilabel{name}", {"num_labels": 5, "thresholds": thresholds, "ignore_index": -1},
         (SCORES.sigmoid(), torch.where(torch.arange(5) == 2, -1, CLASSES[:, None] > 2).long()))
        for name in ("AUROC", "ROC", "AveragePrecision")
        for thresholds in (5, [0.0, 0.5, 1.0])
    ),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, options, inputs", UNDEFINED)
def test_conventions_are_torchmetrics(name, options, inputs):
    mine, theirs = (getattr(lib.classification, name)(**options) for lib in (torchmetrics, real))
    for rows in (slice(0, 30), slice(30, 64)):
        batch = [each[rows] for each in inputs]
        same(mine(*batch), theirs(*batch))
    same(mine.compute(), theirs.compute())


def test_undefined_values_are_warned_about_and_finite():
    metric = torchmetrics.classification.BinaryAUROC()
    metric.update(PREDS, ONE_CLASS)
    with pytest.warns(UserWarning, match="No positive samples in targets"):
        assert metric.compute() == 0.0


def test_states_are_saved_when_persistent():
    metric = torchmetrics.classification.BinaryAUROC()
    metric.update(PREDS, TARGET)
    assert metric.state_dict() == {}
    metric.persistent(True)
    other = torchmetrics.classification.BinaryAUROC()
    other.persistent(True)
    other.load_state_dict(metric.state_dict())
    assert other.compute() == metric.compute()


def on_ranks(rank, world):
    metric = torchmetrics.classification.MulticlassAUROC(num_classes=5)
    rows = slice(0, 20) if rank == 0 else slice(20, 64)
    metric.update(SCORES[rows], CLASSES[rows])
    metric.sync()
    with pytest.raises(Exception, match="already been synced"):
        metric.sync()
    metric.unsync()
    local = torchmetrics.MeanMetric(distributed_available_fn=lambda: False)
    local.update(float(rank))
    assert local.compute() == rank
    absent = torchmetrics.classification.MulticlassAUROC(num_classes=5)
    absent.update(SCORES[rows], CLASSES[rows].clamp(max=3))
    without = real.classification.MulticlassAUROC(num_classes=5, sync_on_compute=False)
    without.update(SCORES, CLASSES.clamp(max=3))
    same(absent.compute(), without.compute())
    step = torchmetrics.regression.MeanSquaredError(dist_sync_on_step=True)
    return metric.compute(), step(SCORES[rows], SCORES.flip(0)[rows])


def test_over_ranks():
    expected = real.classification.MulticlassAUROC(num_classes=5)
    expected.update(SCORES, CLASSES)
    mse = real.regression.MeanSquaredError()(SCORES, SCORES.flip(0))
    for auroc, error in ranks.run(2, on_ranks):
        torch.testing.assert_close(auroc, expected.compute())
        torch.testing.assert_close(error, mse)


def test_lightning_logs_them(tmp_path):
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 5)
            self.accuracy = torchmetrics.classification.MulticlassAccuracy(num_classes=5)
            self.metrics = torchmetrics.MetricCollection(
                [torchmetrics.classification.MulticlassF1Score(num_classes=5)]
            )

        def training_step(self, batch):
            x, y = batch
            scores = self.layer(x)
            self.accuracy(scores, y)
            self.log("accuracy", self.accuracy, on_step=False, on_epoch=True)
            self.metrics(scores, y)
            self.log_dict(self.metrics, on_step=False, on_epoch=True)
            return torch.nn.functional.cross_entropy(scores, y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.0)

    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(SCORES, CLASSES), batch_size=16
    )
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu", default_root_dir=tmp_path,
    )
    trainer.fit(model, loader)
    scores = model.layer(SCORES)
    expected = real.classification.MulticlassAccuracy(num_classes=5)(scores, CLASSES)
    torch.testing.assert_close(trainer.callback_metrics["accuracy"], expected)
    f1 = real.classification.MulticlassF1Score(num_classes=5)(scores, CLASSES)
    torch.testing.assert_close(trainer.callback_metrics["MulticlassF1Score"], f1)


def of_nothing(package, name, kind, options, call):
    """The value where all is ignored, or nothing came."""
    metric = getattr(package.classification, kind + name)(**options)
    shape = (4, 3) if kind == "Multilabel" else (4,)
    preds = torch.rand(4, 3) if kind != "Binary" else torch.rand(4)
    if call == "forward":
        return metric(preds, torch.full(shape, -1))
    if call == "update":
        metric.update(preds, torch.full(shape, -1))
    return metric.compute()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", ["forward", "update", "compute"])
@pytest.mark.parametrize("kind", ["Binary", "Multiclass", "Multilabel"])
@pytest.mark.parametrize("name", [
    "Accuracy", "F1Score", "HammingDistance", "JaccardIndex", "MatthewsCorrCoef", "Precision",
    "Recall", "Specificity",
])
def test_counts_of_nothing_are_torchmetrics(name, kind, call):
    for zero in (0, 1):
        options = {"ignore_index": -1}
        if name != "MatthewsCorrCoef" and (name != "Accuracy"):
            options["zero_division"] = zero
        if kind != "Binary":
            options["num_classes" if kind == "Multiclass" else "num_labels"] = 3
        if kind != "Binary" and name not in ("MatthewsCorrCoef",):
            options["average"] = "macro"
        torch.testing.assert_close(
            of_nothing(torchmetrics, name, kind, options, call),
            of_nothing(real, name, kind, options, call), equal_nan=True,
        )


def test_explicit_zero_division_holds_where_all_is_ignored():
    metric = torchmetrics.classification.BinaryPrecision(zero_division=1, ignore_index=-1)
    metric.update(torch.rand(4), torch.full((4,), -1))
    assert metric.compute() == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: torchmetrics.classification.MulticlassAUROC(num_classes=2),
        lambda: torchmetrics.classification.MulticlassAveragePrecision(num_classes=2),
        lambda: torchmetrics.classification.MulticlassAUROC(num_classes=2, thresholds=5),
    ],
)
def test_nan_scores_are_no_undefined_value(make):
    scores = torch.tensor([[0.9, 0.1], [float("nan"), 0.6], [0.3, 0.7], [0.2, 0.8]])
    metric = make()
    metric.update(scores, torch.tensor([0, 0, 1, 1]))
    assert metric.compute().isnan()


@pytest.mark.parametrize("name", ["BinaryEER", "BinaryAUROC", "BinarySpecificityAtSensitivity"])
def test_forward_of_curves_takes_what_update_takes(name):
    options = {"min_sensitivity": 0.5} if name == "BinarySpecificityAtSensitivity" else {}
    metric = getattr(torchmetrics.classification, name)(**options)
    scores, target = torch.tensor([0.1, 0.8, 0.6]), torch.tensor([0, 1, 0])
    expected = metric(scores, target)
    metric.reset()
    assert repr(metric(scores, target.float())) == repr(expected)
    metric.reset()
    assert repr(metric(scores.numpy(), target.numpy())) == repr(expected)


def test_a_list_of_thresholds_is_torchmetrics_own(recwarn):
    metric = torchmetrics.classification.BinaryAUROC(thresholds=[0.0, 0.5, 1.0])
    metric.update(torch.tensor([0.2, 1.0]), torch.tensor([0, 1]))
    metric.compute()
    assert not [w for w in recwarn if w.category is torchmetrics.TallyCorrectionWarning]
