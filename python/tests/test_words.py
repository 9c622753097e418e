"""Messages of the library say what Python calls things."""

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
