"""TorchMetrics' own documented examples, with the classes and functions of the drop-in."""

import doctest
import inspect
import io
import re
import warnings

import pytest
import torch

from tally.compat.torchmetrics import _mirror

# Those that load weights.
LEFT_OUT = {
    "ClusterAccuracy", "FrechetInceptionDistance", "InceptionScore", "KernelInceptionDistance",
    "MemorizationInformedFrechetInceptionDistance",
}

# Documented values that are others here, and why. What is not corrected is missing yet.
DIFFERENT = {
    "FleissKappa": "raters of unequal number, which docs/from_torchmetrics.md has",
    "KendallRankCorrCoef": "of two samples there is a p-value; TorchMetrics has NaN",
    "MeanAveragePrecision": "corrected: an overlap of 0.6 reaches the threshold 0.6",
    "SpectralDistortionIndex": "corrected: distortions of images do not cancel each other",
}


def failures(text, name):
    """The examples of a docstring that fail, by number."""
    test = doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, 0)
    test.examples = [each for each in test.examples if "plot(" not in each.source]
    failed = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            failed.append((example.source.strip(), example.want, got))

        def report_unexpected_exception(self, out, test, example, exc_info):
            failed.append((example.source.strip(), example.want, repr(exc_info[1])))

    torch.manual_seed(42)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        Runner(optionflags=flags, verbose=False).run(test, out=io.StringIO().write)
    return failed


def numbers(text):
    """A printed result with its numbers as values: 1. is 1.0000."""
    found = re.findall(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)", text)
    return re.sub(r"-?\d[\d.e+-]*|\s+", "", text), list(map(float, found))


def prints_the_same(want, got):
    (words, values), (other_words, others) = numbers(want), numbers(got)
    return words == other_words and values == pytest.approx(others, rel=1e-4, abs=1e-4, nan_ok=True)


def documented():
    for real in [*_mirror.CLASSES, *_mirror.FUNCTIONS]:
        text = inspect.getdoc(real) or ""
        if ">>>" in text and real.__name__ not in LEFT_OUT and "_deprecated" not in real.__module__:
            yield pytest.param(real.__name__, text, id=real.__name__)


@pytest.mark.parametrize("name, text", documented())
def test_examples(name, text):
    mine = re.sub(r"(from|import) torchmetrics\b(?! as)", r"\1 tally.compat.torchmetrics", text)
    theirs = {source for source, _, _ in failures(text, name)}
    differ = [
        each for each in failures(mine, name)
        if each[0] not in theirs and not prints_the_same(*each[1:])
    ]
    if name in DIFFERENT:
        assert differ, f"{name} is as documented: DIFFERENT need not list it"
        return
    assert not differ
