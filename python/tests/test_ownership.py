"""What a metric keeps is its own: its caller may write to the arrays of a batch afterwards."""

import functools

import pytest
import tally
import torch
from test_values import batches_of, cases, is_ragged
from torch.utils._pytree import tree_map

torch.manual_seed(0)
ROWS = 24
SCORE, OTHER = torch.rand(ROWS), torch.rand(ROWS)
LABEL, IDS = torch.randint(2, (ROWS,)), torch.arange(ROWS)
SOUND = torch.randn(2, 2, 64)
IMAGE = torch.rand(2, 3, 48, 48)
SMALL, FINE = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 64, 64)
FEATURES = torch.randn(30, 4, dtype=torch.float64)
REAL = (torch.arange(30) % 2).long()
BOXES = torch.tensor([[0.0, 0.0, 8.0, 8.0], [4.0, 4.0, 12.0, 12.0]])
FOUND = [{"boxes": BOXES, "scores": torch.tensor([0.9, 0.4]), "labels": torch.tensor([0, 1])}]
TRUTH = [{"boxes": BOXES + 1, "labels": torch.tensor([0, 1])}]
RARE = [TRUTH[0] | {"negative": torch.tensor([], dtype=torch.long)}]
PAIR = IMAGE, IMAGE.flip(0)
SOUNDS = SOUND, SOUND.flip(0)
TOKENS = torch.randint(9, (4, 6)), torch.randint(9, (4, 6))
SEGMENTS = torch.randint(2, (1, 6, 6, 2)), torch.randint(2, (1, 6, 6, 2))
FUSED = FINE, SMALL, FINE.flip(0), SMALL.flip(0)


def of(name, *inputs, **options):
    return functools.partial(getattr(tally, name), **options), inputs


def around(name, **options):
    return of(name, SCORE, LABEL, metric=tally.BinaryAUROC(), **options)


# Those of which tests/reference has no rows that are arrays.
OTHERS = dict([
    *((name, of(name, *SOUNDS)) for name in (
        "ScaleInvariantSignalDistortionRatio", "ScaleInvariantSignalNoiseRatio",
        "SignalNoiseRatio", "SourceAggregatedSignalDistortionRatio",
    )),
    *((name, of(name, *PAIR)) for name in (
        "ErrorRelativeGlobalDimensionlessSynthesis", "RelativeAverageSpectralError",
        "RootMeanSquaredErrorUsingSlidingWindow", "SpatialCorrelationCoefficient",
        "SpectralAngleMapper", "SpectralDistortionIndex", "UniversalImageQualityIndex",
    )),
    *((name, of(name, *PAIR, data_range=1.0)) for name in (
        "PeakSignalNoiseRatio", "StructuralSimilarityIndexMeasure", "VisualInformationFidelity",
    )),
    *((name, of(name, FOUND, TRUTH)) for name in (
        "CompleteIntersectionOverUnion", "DistanceIntersectionOverUnion",
        "GeneralizedIntersectionOverUnion", "IntersectionOverUnion", "MeanAveragePrecision",
        "MeanAverageRecall", "PascalVOCAveragePrecision",
    )),
    *((name, of(name, FOUND, TRUTH, num_classes=2)) for name in (
        "DetectionConfusionMatrix", "DetectionF1Score", "DetectionPrecision", "DetectionRecall",
    )),
    *((name, of(name, FEATURES, REAL)) for name in (
        "FrechetInceptionDistance", "MemorizationInformedFrechetInceptionDistance",
    )),
    *((name, of(name, FEATURES, REAL, IDS.repeat(2)[:30])) for name in (
        "DensityCoverage", "ImprovedPrecisionRecall",
    )),
    *((name, around(name)) for name in ("BinaryTargetTransformer", "MinMaxMetric", "Running")),
    *((name, of(name, *SEGMENTS, things=[0], stuffs=[1])) for name in (
        "PanopticQuality", "ModifiedPanopticQuality",
    )),
    *((name, of(name, *TOKENS)) for name in ("TokenEditDistance", "TokenErrorRate")),
    *((name, of(name, *(torch.rand(2, 3, 4, 16, 16),) * 2, data_range=1.0)) for name in (
        "VideoPeakSignalNoiseRatio", "VideoStructuralSimilarityIndexMeasure",
    )),
    *((name, of(name, *FUSED)) for name in ("QualityWithNoReference", "SpatialDistortionIndex")),
    ("BERTScore", of("BERTScore", torch.randn(3, 5, 4), torch.randn(3, 6, 4))),
    ("BootStrapper", around("BootStrapper", seed=1)),
    ("CLIPScore", of("CLIPScore", torch.randn(6, 4), torch.randn(6, 4))),
    ("ClasswiseWrapper", of(
        "ClasswiseWrapper", torch.rand(ROWS, 3), torch.randint(3, (ROWS,)),
        metric=tally.MulticlassAUROC(num_classes=3, average="none"),
    )),
    ("ComplexScaleInvariantSignalNoiseRatio", of(
        "ComplexScaleInvariantSignalNoiseRatio", torch.randn(2, 9, 8, 2), torch.randn(2, 9, 8, 2)
    )),
    ("InceptionScore", of("InceptionScore", torch.randn(30, 5), IDS.repeat(2)[:30], splits=2)),
    ("KernelInceptionDistance", of(
        "KernelInceptionDistance", FEATURES, REAL, IDS.repeat(2)[:30], subsets=3, subset_size=5
    )),
    ("LVISAveragePrecision", of("LVISAveragePrecision", FOUND, RARE)),
    ("LearnedPerceptualImagePatchSimilarity", of(
        "LearnedPerceptualImagePatchSimilarity", torch.randn(3, 8), torch.randn(3, 8),
        channels=[2], pixels=[4], weights=[0.5, 0.5],
    )),
    ("LipVertexError", of(
        "LipVertexError", torch.randn(4, 6, 3), torch.randn(4, 6, 3), mouth_map=[1, 2]
    )),
    ("MultiScaleStructuralSimilarityIndexMeasure", of(
        "MultiScaleStructuralSimilarityIndexMeasure", *(torch.rand(1, 1, 180, 180),) * 2,
        data_range=1.0,
    )),
    ("MultioutputWrapper", of(
        "MultioutputWrapper", torch.rand(ROWS, 2), torch.rand(ROWS, 2),
        metric=tally.SpearmanCorrCoef(), num_outputs=2,
    )),
    ("MultitaskWrapper", of(
        "MultitaskWrapper", {"a": SCORE}, {"a": LABEL}, tasks={"a": tally.BinaryAUROC()}
    )),
    ("PeakSignalNoiseRatioWithBlockedEffect", of(
        "PeakSignalNoiseRatioWithBlockedEffect", IMAGE[:, :1], IMAGE[:, 1:2], data_range=1.0
    )),
    ("PermutationInvariantTraining", of(
        "PermutationInvariantTraining", *SOUNDS, metric=tally.ScaleInvariantSignalNoiseRatio()
    )),
    ("Perplexity", of("Perplexity", torch.rand(2, 4, 5).softmax(2), torch.randint(5, (2, 4)))),
    ("RunningMean", of("RunningMean", SCORE)),
    ("RunningSum", of("RunningSum", SCORE)),
    ("ShortTimeObjectiveIntelligibility", of(
        "ShortTimeObjectiveIntelligibility", *torch.randn(2, 1, 8000), fs=10000
    )),
    ("SignalDistortionRatio", of("SignalDistortionRatio", *SOUNDS, filter_length=8)),
    ("TotalVariation", of("TotalVariation", IMAGE)),
])


def keyed(metric):
    return lambda: tally.SlicedMetric(metric)


def rows_of(name):
    return lambda: getattr(tally, name)(tally.BinaryAUROC(), grouped=True)


# Of these, rows have keys and ids.
AROUND = {
    "slices": (keyed(tally.BinaryAUROC()), (IDS % 3, SCORE, LABEL)),
    "interval": (rows_of("IntervalMetric"), (SCORE, LABEL)),
    "comparison": (rows_of("ModelComparison"), (SCORE, OTHER, LABEL)),
    "slice comparison": (
        lambda: tally.SliceComparison(tally.BinaryAUROC(), grouped=True),
        (IDS % 3, IDS // 2, SCORE, LABEL),
    ),
}
_TEXTS = {"text", "text_lists", "tokens"}


def first_cases():
    """A maker and the inputs of each metric by its name."""
    found = dict(OTHERS)
    for each in cases():
        name, known, case = each.values
        batches = batches_of(case["batches"])
        if name not in found and not is_ragged(batches):
            options = {k: v for k, v in case["options"].items() if k in known}
            found[name] = functools.partial(getattr(tally, name), **options), batches[0]
    return found | AROUND


CASES = first_cases()


def test_all_metrics_are_here():
    of_texts = {
        name for name, entry in tally._METRICS.items()
        if entry["inputs"] and all(each["kind"] in _TEXTS for each in entry["inputs"])
    }
    assert set(tally._METRICS) <= set(CASES) | of_texts


def overwrite(value):
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool:
            value.logical_not_()
        else:
            value.add_(1)
    return value


def copied(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def kept(metric):
    state = metric.metric_state
    return {name: field for name, field in state.items() if field is not None}


def in_numpy(value):
    return value.numpy().copy() if isinstance(value, torch.Tensor) else value


def overwrite_numpy(value):
    if not isinstance(value, (str, int, float)):
        value[...] = 0


def updated(make, inputs, copy, spoil):
    """Twice with the same rows, whose arrays are written to as soon as an update is over."""
    metric = make()
    for _ in range(2):
        named = {}
        if isinstance(metric, (tally.IntervalMetric, tally.ModelComparison)):
            named["ids"] = IDS
        own, named = tree_map(copy, [list(inputs), named])
        metric.update(*own, **named)
        tree_map(spoil, [own, named])
    return metric


def check(name, copy, spoil):
    make, inputs = CASES[name]
    metric = updated(make, inputs, copy, spoil)
    expected = updated(make, inputs, copy, lambda value: value)
    torch.testing.assert_close(kept(metric), kept(expected), rtol=0, atol=0, equal_nan=True)
    assert repr(metric.compute()) == repr(expected.compute())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_an_array_may_be_written_to_after_an_update(name):
    check(name, copied, overwrite)


@pytest.mark.parametrize("name", ["BinaryAUROC", *AROUND])
def test_memory_of_numpy_may_be_written_to(name):
    check(name, in_numpy, overwrite_numpy)
