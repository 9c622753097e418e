"""Messages of the library say what Python calls things."""

import re

import pytest
import torch

import tally
import tally.compat.torchmetrics as torchmetrics
from tally import _words

LOGITS, LABELS = torch.tensor([2.0, 0.1]), torch.tensor([0, 1])
KINDS = r'\(input is "logits" for logits, "scores" for scores of any kind\)'


@pytest.mark.parametrize(
    "call",
    [
        lambda: tally.BinaryAUROC().update(LOGITS, LABELS),
        lambda: tally.BinaryAUROC()(LOGITS, LABELS),
        lambda: tally.MetricCollection([tally.BinaryAUROC()]).update(LOGITS, LABELS),
        lambda: tally.functional.binary_auroc(LOGITS, LABELS),
        lambda: tally.SlicedMetric(tally.BinaryAUROC()).update(["a", "b"], LOGITS, LABELS),
        lambda: tally.BinaryAUROC().interval().update(LOGITS, LABELS),
        lambda: tally.NamedSets(["a"], tally.BinaryAUROC()).update("a", LOGITS, LABELS),
    ],
    ids=["update", "forward", "collection", "function", "slices", "interval", "sets"],
)
def test_values_of_options(call):
    with pytest.raises(ValueError, match=KINDS):
        call()


def test_types():
    with pytest.raises(TypeError, match="expected preds to be a tensor, got a list of texts;"):
        tally.MeanSquaredError().update(["a", "b"], ["b", "c"])
    with pytest.raises(TypeError, match="expected preds to be a list of texts, got a tensor$"):
        tally.BLEUScore().update([[1.0]], [["a"]])
    with pytest.raises(TypeError, match="expected target to be lists of texts, got a tensor$"):
        torchmetrics.text.BLEUScore().update([], [[[]]])


METRIC = tally.MeanMetric()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tally.BinaryAUROC(thresholds=True),
            r"BinaryAUROC: option 'thresholds': expected None, an integer, or a list such as "
            r"\[0.1, 0.9\], got True$",
        ),
        (
            lambda: tally.MulticlassAccuracy(num_classes=None),
            "MulticlassAccuracy: option 'num_classes': expected an integer, got None$",
        ),
        (
            lambda: tally.MulticlassAccuracy(num_classes=3, average="none of them"),
            "expected one of micro, macro, weighted, none, got 'none of them'$",
        ),
        (
            lambda: tally.SacreBLEUScore(smooth_method=torch.ones(2)),
            r"SacreBLEUScore: option 'smooth_method': expected one of .*, got \[1.0, 1.0\]$",
        ),
        (
            lambda: tally.BinaryAccuracy(threshold=2),
            r'expected threshold in \[0, 1\], got 2 \(input is "scores" for scores of any kind\)$',
        ),
        (lambda: tally.RetrievalAUROC(condensed=True), "with condensed=True$"),
        (
            lambda: tally.Metric("BinaryAUROC(thresholds=x)"),  # in the words of texts
            "expected none, an integer, or a list such as .*, got 'x'$",
        ),
        (lambda: tally.Metric(3), "Metric: expected the text of a metric, got 3$"),
        (lambda: tally.BootStrapper(None), "option 'metric': expected a metric, got None$"),
        (
            lambda: tally.MultitaskWrapper({"age": 3}),
            "MultitaskWrapper: option 'tasks': expected metrics by name: .*, got 3$",
        ),
        (
            lambda: tally.MeanMetric(nan_policy=None),
            "MeanMetric: option 'nan_policy': expected a text, got None$",
        ),
        (
            lambda: tally.MetricCollection(METRIC, sync_on_compute="no"),
            "MetricCollection: option 'sync_on_compute': expected True or False, got 'no'$",
        ),
        (
            lambda: tally.MeanMetric(timeout=True),
            "MeanMetric: option 'timeout': expected None or a number of seconds, got True$",
        ),
        (
            lambda: tally.MetricCollection({1: METRIC}),
            "expected a text as the name of a metric, got 1$",
        ),
        (
            lambda: tally.MetricCollection(METRIC, prefix=3),
            "MetricCollection: option 'prefix': expected a text, got 3$",
        ),
        (
            lambda: tally.MetricCollection(3),
            "MetricCollection: option 'metrics': expected a dict or a list of metrics, got 3$",
        ),
        (lambda: tally.MetricCollection({"a": 3}), "'a': expected a tally.Metric, got 3$"),
        (
            lambda: tally.SlicedMetric({1: METRIC}),
            "SlicedMetric: option 'metrics': name: expected a text, got 1$",
        ),
        (
            lambda: tally.SlicedMetric(3),
            "option 'metrics': expected a tally.Metric, a MetricCollection or a dict of metrics, "
            "got 3$",
        ),
        (
            lambda: tally.SlicedMetric({"a": 3}),
            "SlicedMetric: 'a': expected a tally.Metric, got 3$",
        ),
        (
            lambda: tally.SlicedMetric(METRIC, keys=3),
            "SlicedMetric: option 'keys': expected a list of keys, got 3$",
        ),
        (
            lambda: tally.SlicedMetric(METRIC, max_slices="x"),
            "SlicedMetric: option 'max_slices': expected an integer, got 'x'$",
        ),
        (
            lambda: tally.IntervalMetric(METRIC, seed="x"),
            "IntervalMetric: option 'seed': expected an integer, got 'x'$",
        ),
        (
            lambda: tally.IntervalMetric(METRIC, level="x"),
            "IntervalMetric: option 'level': expected a number, got 'x'$",
        ),
        (
            lambda: tally.IntervalMetric(3),
            "IntervalMetric: option 'metric': expected a tally.Metric, got 3$",
        ),
        (
            lambda: tally.ModelComparison(METRIC, method=None),
            "ModelComparison: option 'method': expected a text, got None$",
        ),
        (
            lambda: tally.SliceComparison(METRIC, grouped="yes"),
            "SliceComparison: option 'grouped': expected True or False, got 'yes'$",
        ),
        (
            lambda: tally.SliceComparison(3),
            "SliceComparison: option 'metric': expected a tally.Metric, got 3$",
        ),
        (
            lambda: tally.MetricTracker(METRIC, maximize="x"),
            "MetricTracker: option 'maximize': expected True or False, got 'x'$",
        ),
        (
            lambda: tally.MetricTracker([METRIC], maximize=True),
            "option 'maximize': expected a dict by member of a collection, got True$",
        ),
        (
            lambda: tally.NamedSets(3, METRIC),
            "NamedSets: option 'sets': expected a list of names, got 3$",
        ),
        (
            lambda: tally.NamedSets(["a"], METRIC, weights=["x"]),
            "NamedSets: option 'weights': expected a number, got 'x'$",
        ),
        (
            lambda: tally.MetricLogger(run=None),
            "MetricLogger: option 'run': expected a text, got None$",
        ),
        (
            lambda: tally.Progress(style=3),
            "Progress: option 'style': expected None or a text, got 3$",
        ),
        (lambda: tally.progress(3), "progress: option 'function': expected a function, got 3$"),
        (
            lambda: tally.progress(print, pause="x"),
            "progress: option 'pause': expected a number, got 'x'$",
        ),
        (
            lambda: tally.losses.MetricLoss(3),
            "MetricLoss: option 'metric': expected a tally.Metric, got 3$",
        ),
        (lambda: tally.merge(3), "merge: expected a list of states, got int$"),
        (
            lambda: tally.wilson_interval(3, 9, level="x"),
            "wilson_interval: argument 'level': expected a number, got 'x'$",
        ),
        (
            lambda: tally.mcnemar(1.5, 2),
            "mcnemar: argument 'first_only': expected an integer, got 1.5$",
        ),
        (
            lambda: tally.welch_test((1, 1, "x"), (1, 1, 9)),
            "welch_test: n: expected a number, got 'x'$",
        ),
        (
            lambda: tally.gather_all_tensors(3),
            "gather_all_tensors: argument 'tensor': expected a tensor, got 3$",
        ),
        (
            lambda: tally.gather_all_tensors(torch.ones(1), timeout="x"),
            "gather_all_tensors: argument 'timeout': expected None or a number, got 'x'$",
        ),
        (
            lambda: tally.average_gradients(["x"]),
            "average_gradients: argument 'parameters': expected a tensor, got 'x'$",
        ),
        (
            lambda: tally.broadcast_parameters(3),
            "broadcast_parameters: argument 'tensors': expected a list of tensors, got 3$",
        ),
        (lambda: tally.IntervalMetric(), r"missing 1 required positional argument: 'metric'$"),
        (
            lambda: tally.losses.FocalLoss(mode="multiclass", alpha=0.5),
            'FocalLoss: expected class_weights instead of alpha with "multiclass"$',
        ),
        (
            lambda: tally.losses.LFQ(dim=2, num_codebooks=5, keep_num_codebooks_dim=False),
            "'keep_num_codebooks_dim': expected True with 5 codebooks, got False$",
        ),
        (lambda: tally.losses.ClipLoss(timeout="x"), "expected None or a number, got 'x'$"),
        (
            lambda: torchmetrics.classification.BinaryAccuracy(threshold=2.0),
            r"Expected argument `threshold` to be a float in the \[0,1\] range, but got 2.0",
        ),
    ],
)
def test_constructors(make, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        make()


# Options, some of them wrong, for any class.
VALUES = (None, True, -1, 2, 1.5, "x", [], [2.0, -1.0], ["a"])
FOREIGN = re.compile(r"::|\bk[A-Z][a-z]|Options\(\)|\.cc\b|__torch__|=(true|false|none)\b|'none'|'true'")


@pytest.mark.parametrize("domain", sorted({each["domain"] for each in tally._METRICS.values()}))
def test_constructors_of_all_classes(domain):
    for name, entry in tally._METRICS.items():
        if entry["domain"] != domain:
            continue
        needed = {
            option["name"]: METRIC if option["expected"].startswith("a metric") else 2
            for option in entry["options"] if option["is_required"]
        }
        for option in entry["options"]:
            for value in VALUES:
                try:
                    getattr(tally, name)(**{**needed, option["name"]: value})
                except (ValueError, TypeError, RuntimeError) as error:
                    assert not FOREIGN.search(str(error)), str(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "use MetricOptions().sync_on_compute(false), or a CommunicatorGuard with "
            "single_process_communicator()",
            "use sync_on_compute=False",
        ),
        ("for whole numbers pass target.to(at::kLong)", "for whole numbers pass target.long()"),
        ("load with CheckpointRanks::kFilePerRank", 'load with "file_per_rank"'),
        ("kReplicated and kAllRanks fit", '"replicated" and "all_ranks" fit'),
        ("SyncError kMismatch: kTimeoutless", 'SyncError kMismatch: "timeoutless"'),
        ("unknown 'kMeans' in /kDir/a.kSuffix", "unknown 'kMeans' in /kDir/a.kSuffix"),
        ("a keyword, k of 3, kNN, [N, K]", "a keyword, k of 3, kNN, [N, K]"),
    ],
)
def test_words(text, words):
    assert _words.in_python(text) == words
