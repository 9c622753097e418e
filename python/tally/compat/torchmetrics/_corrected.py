"""The classes that are corrected, each with a tool that has their values."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Correction:
    """Why a class has other values, the tool that has them too, and code that shows it."""

    reason: str
    tool: str
    command: str

    # Another one of the same class.
    also: "Correction | None" = None


def _example(imports, reference, module, make, inputs):
    return (
        f"import torch; {imports}; import tally.compat.torchmetrics.{module} as package; "
        f"metric = package.{make}; metric.update({inputs}); "
        f"print(float(metric.compute()), {reference})"
    )


def _sklearn(module, make, inputs, reference):
    return _example("from sklearn import metrics", "metrics." + reference, module, make, inputs)


def _jiwer(make, function):
    return _example("import jiwer", f"jiwer.{function}(['a b c d'], ['x a b c'])", "text", make,
                    "['x a b c'], ['a b c d']")


def _sacrebleu(make, inputs, score):
    return _example("import sacrebleu.metrics as sacrebleu", f"sacrebleu.{score}.score / 100",
                    "text", make, inputs)


# The expected calibration error of scikit-learn's bins.
_BINS = (
    "[(true, mean, n) for (true, mean), n in zip(zip(*calibration_curve(y, p, n_bins=10)), "
    "[n for n in numpy.histogram(p, 10, (0, 1))[0] if n])]"
)


def _calibration(make, scores, y):
    """`y` are targets of the confidence p."""
    reference = f"sum(n / len(y) * abs(true - mean) for true, mean, n in {_BINS})"
    return _example(
        "import numpy; from sklearn.calibration import calibration_curve; "
        f"y, p = {y}, [1.0, 0.95]",
        reference, "classification", make, scores,
    )


def _orders(make, part=""):
    """The mean of TorchMetrics' values over all orders of rows."""
    rows = "torch.tensor([0.5, 0.5, 0.5, 0.1]), torch.tensor([0, 0, 1, 1])"
    mean = (
        f"sum(float(own.{make}(x[list(o)], y[list(o)], indexes=i){part}) "
        "for o in itertools.permutations(range(4))) / 24"
    )
    line = _example(
        f"import itertools, torchmetrics.retrieval as own; x, y = {rows}; i = y * 0", mean,
        "retrieval", make, "x, y, i",
    )
    return line.replace("metric.compute()", f"metric.compute(){part}")


def _by_image(make, images):
    """The mean of TorchMetrics' values of single images."""
    return _example(
        "import torchmetrics.image as own; torch.manual_seed(0); "
        f"x, y = torch.{images}, torch.{images}",
        f"sum(float(own.{make}(x[i:i + 1], y[i:i + 1])) for i in range(2)) / 2", "image", make,
        "x, y",
    )


def _coco(overlap):
    """The mean average precision of one box, of which that overlap is found."""
    box = "'image_id': 1, 'category_id': 1, 'bbox': [0, 0, 10, {}]"
    line = _example(
        "import sys, io; from pycocotools.coco import COCO; from pycocotools.cocoeval import "
        "COCOeval; out, sys.stdout = sys.stdout, io.StringIO(); coco = COCO(); coco.dataset = "
        "{'images': [{'id': 1}], 'categories': [{'id': 1}], 'annotations': [{'id': 1, "
        f"{box.format(10)}, 'area': 100, 'iscrowd': 0}}]}}; coco.createIndex(); "
        f"found = coco.loadRes([{{{box.format(10 * overlap)}, 'score': 0.5}}]); "
        "run = COCOeval(coco, found, 'bbox'); run.evaluate(); run.accumulate(); "
        "run.summarize(); sys.stdout = out",
        "run.stats[0]", "detection", "MeanAveragePrecision()",
        f"[{{'boxes': torch.tensor([[0, 0, 10, {10.0 * overlap}]]), 'scores': "
        "torch.tensor([0.5]), 'labels': torch.tensor([1])}], "
        "[{'boxes': torch.tensor([[0.0, 0, 10, 10]]), 'labels': torch.tensor([1])}]",
    )
    return line.replace("metric.compute()", "metric.compute()['map']")


_OF_IMAGES = "the value is the mean over images; TorchMetrics' depends on the batch size"

# Two rows of four pixels, the second of which lacks a class.
_MASKS = (
    "[torch.nn.functional.one_hot(torch.tensor(each), 3).movedim(-1, 1) for each in "
    "([[[0, 1, 2, 1]], [[0, 1, 1, 0]]], [[[0, 1, 2, 2]], [[0, 0, 1, 1]]])]"
)

EQUAL_SCORES = Correction(
    "with `top_k` above 1, the first of equal scores are those of the lowest classes; in "
    "TorchMetrics those that `torch.topk` returns, in no defined order",
    "NumPy, by a stable sort",
    _example(
        "import numpy; x, y = torch.tensor([[0.25] * 4, [0.1, 0.3, 0.3, 0.3], [0.7, 0.1, 0.1, 0.1]])"
        ", torch.tensor([1, 2, 1])",
        "(numpy.argsort(-x.numpy(), kind='stable')[:, :2] == y.numpy()[:, None]).any(1).mean()",
        "classification", "MulticlassAccuracy(num_classes=4, top_k=2, average='micro')", "x, y",
    ),
)
IGNORED = Correction(
    "the class `ignore_index` is excluded from averages; TorchMetrics' macro average counts it "
    "as 0",
    "scikit-learn",
    _sklearn(
        "classification", "MulticlassRecall(num_classes=2, ignore_index=0)",
        "torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1])",
        "recall_score([0, 1, 1], [0, 0, 1], labels=[1], average='macro')",
    ),
    also=EQUAL_SCORES,
)
_SCORES = Correction(
    "scores of 0 or less are ranked like others, and ties are averaged over all orders; "
    "TorchMetrics drops hits with such scores, and breaks ties by the order of rows",
    "scikit-learn",
    _sklearn(
        "retrieval", "RetrievalMAP()",
        "torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([0, 1, 1]), torch.tensor([0, 0, 0])",
        "average_precision_score([0, 1, 1], [-1.0, -2.0, -3.0])",
    ),
)
_BINNED = (
    "with a number of thresholds, a score of exactly 1 is above all thresholds; TorchMetrics' "
    "curve begins at its rates instead of at 0"
)
_OF_THREE = "[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]"
_OF_TWO = "[[1.0, 1.0], [1.0, 0.3], [0.3, 1.0], [0.2, 0.2]]"
_SURE = "a confidence of exactly 1 belongs to the last bin; TorchMetrics adds a bin for it"
_ALIGNED = (
    "hits are those of the alignment with the fewest edits; TorchMetrics counts as many as "
    "lengths and distance allow"
)
_SMOOTHED = (
    "among references equally close in length, the shorter one counts, where TorchMetrics uses "
    "the first; with smoothing, an order may have no matches, where TorchMetrics returns 0"
)
_ONE_CLUSTER = "one cluster on both sides is full agreement; TorchMetrics has 0"
_ZEROS = "torch.zeros(4).long(), torch.zeros(4).long()"

CORRECTIONS = {
    **{
        "Multiclass" + name: IGNORED
        for name in ("Accuracy", "F1Score", "FBetaScore", "HammingDistance",
                     "NegativePredictiveValue", "Precision", "Recall", "Specificity")
    },
    "MulticlassStatScores": EQUAL_SCORES,
    **{
        "Retrieval" + name: _SCORES for name in ("MAP", "MRR", "Precision", "Recall")
    },
    **{
        "Retrieval" + name: Correction(
            "ties are averaged over all orders; TorchMetrics uses one order",
            "TorchMetrics, over all orders of rows", _orders(f"Retrieval{name}()"),
        )
        for name in ("FallOut", "HitRate", "RPrecision")
    },
    "RetrievalPrecisionRecallCurve": Correction(
        "ties are averaged over all orders; TorchMetrics uses one order",
        "TorchMetrics, over all orders of rows",
        _orders("RetrievalPrecisionRecallCurve()", "[0][0]"),
    ),
    "RetrievalRecallAtFixedPrecision": Correction(
        "ties are averaged over all orders; TorchMetrics uses one order",
        "TorchMetrics, over all orders of rows",
        _orders("RetrievalPrecisionRecallCurve()", "[1][0]"),
    ),
    "CosineSimilarity": Correction(
        "the similarity of a row of zeros is 0; TorchMetrics returns NaN for all rows",
        "scikit-learn",
        _example("from sklearn.metrics.pairwise import cosine_similarity",
                 "cosine_similarity([[0.0, 0.0]], [[1.0, 2.0]])[0, 0]", "regression",
                 "CosineSimilarity()", "torch.zeros(1, 2), torch.tensor([[1.0, 2.0]])"),
    ),
    **{
        name: Correction(
            "variances are exact; TorchMetrics subtracts float32 sums, and treats small variances "
            "as 0", "scikit-learn",
            _sklearn("regression", f"{name}()",
                     "torch.tensor([1000.001, 1000.002, 1000.004]), "
                     "torch.tensor([1000.001, 1000.003, 1000.005])",
                     f"{function}(torch.tensor([1000.001, 1000.003, 1000.005]).double(), "
                     "torch.tensor([1000.001, 1000.002, 1000.004]).double())"
                     ).replace("metrics.r2", "1 - metrics.r2" if name.startswith("Rel") else
                               "metrics.r2"),
        )
        for name, function in (
            ("ExplainedVariance", "explained_variance_score"), ("R2Score", "r2_score"),
            ("RelativeSquaredError", "r2_score"),
        )
    },
    "BLEUScore": Correction(
        _SMOOTHED, "sacrebleu",
        _sacrebleu("BLEUScore(smooth=True)", "['a b c d'], [['a b c e']]",
                   "BLEU(smooth_method='add-k', smooth_value=1, tokenize='none')"
                   ".corpus_score(['a b c d'], [['a b c e']])"),
    ),
    "SacreBLEUScore": Correction(
        _SMOOTHED, "sacrebleu",
        _sacrebleu("SacreBLEUScore(n_gram=1)", "['a b c'], [['a b c d', 'a b']]",
                   "BLEU(max_ngram_order=1).corpus_score(['a b c'], [['a b c d'], ['a b']])"),
    ),
    "SpectralAngleMapper": Correction(
        "the angle between equal pixels is 0; TorchMetrics returns a rounding error", "NumPy",
        _example("import numpy; torch.manual_seed(0); x = torch.rand(1, 3, 16, 16)",
                 "float(numpy.arccos(1.0))", "image", "SpectralAngleMapper()", "x, x"),
    ),
    "RelativeAverageSpectralError": Correction(
        "window means are correct; TorchMetrics divides them by the window's area a second time, "
        "and averages maps over images first", "TorchMetrics, of one image over that area",
        _example("import torchmetrics.image as own; torch.manual_seed(0); "
                 "x, y = torch.rand(2, 1, 3, 24, 24)",
                 "float(own.RelativeAverageSpectralError()(x, y)) / 64", "image",
                 "RelativeAverageSpectralError()", "x, y"),
    ),
    **{
        name: Correction(
            "0 if only one class occurs; TorchMetrics has 1 or -1", "scikit-learn",
            _sklearn("classification", f"{name}({options})", f"{ones}, {ones}",
                     "matthews_corrcoef([1, 1, 1, 1], [1, 1, 1, 1])"),
        )
        for name, options, ones in (
            ("BinaryMatthewsCorrCoef", "", "torch.ones(4).long()"),
            ("MulticlassMatthewsCorrCoef", "num_classes=2", "torch.ones(4).long()"),
            ("MultilabelMatthewsCorrCoef", "num_labels=2", "torch.ones(2, 2).long()"),
        )
    },
    "BinaryAUROC": Correction(
        _BINNED, "scikit-learn",
        _sklearn("classification", "BinaryAUROC(thresholds=5)",
                 "torch.tensor([1.0, 1.0, 0.3, 0.2]), torch.tensor([1, 0, 1, 0])",
                 "roc_auc_score([1, 0, 1, 0], [1.0, 1.0, 0.3, 0.2])"),
    ),
    "MulticlassAUROC": Correction(
        _BINNED, "scikit-learn",
        _sklearn("classification", "MulticlassAUROC(num_classes=3, thresholds=11)",
                 f"torch.tensor({_OF_THREE}), torch.tensor([0, 1, 1, 2])",
                 f"roc_auc_score([0, 1, 1, 2], {_OF_THREE}, multi_class='ovr')"),
    ),
    "MultilabelAUROC": Correction(
        _BINNED, "scikit-learn",
        _sklearn("classification", "MultilabelAUROC(num_labels=2, thresholds=11)",
                 f"torch.tensor({_OF_TWO}), torch.tensor([[1, 0], [0, 1], [1, 1], [0, 0]])",
                 f"roc_auc_score([[1, 0], [0, 1], [1, 1], [0, 0]], {_OF_TWO})"),
    ),
    "BinaryCalibrationError": Correction(
        _SURE, "scikit-learn",
        _calibration("BinaryCalibrationError(n_bins=10)",
                     "torch.tensor([1.0, 0.95]), torch.tensor([0, 1])", "[0, 1]"),
    ),
    "MulticlassCalibrationError": Correction(
        _SURE, "scikit-learn",
        _calibration("MulticlassCalibrationError(num_classes=2, n_bins=10)",
                     "torch.tensor([[1.0, 0.0], [0.05, 0.95]]), torch.tensor([1, 1])", "[0, 1]"),
    ),
    "MatchErrorRate": Correction(
        _ALIGNED, "jiwer", _jiwer("MatchErrorRate()", "mer"),
    ),
    "WordInfoLost": Correction(_ALIGNED, "jiwer", _jiwer("WordInfoLost()", "wil")),
    "WordInfoPreserved": Correction(_ALIGNED, "jiwer", _jiwer("WordInfoPreserved()", "wip")),
    "CHRFScore": Correction(
        "n-grams of references that have nothing in common with their text count; TorchMetrics "
        "drops them", "sacrebleu",
        _sacrebleu("CHRFScore()", "['the cat', 'zzz'], [['the cat sat'], ['dog hill']]",
                   "CHRF(word_order=2, eps_smoothing=True)"
                   ".corpus_score(['the cat', 'zzz'], [['the cat sat', 'dog hill']])"),
    ),
    "EditDistance": Correction(
        "the smallest number of edits at any length; TorchMetrics searches only near the diagonal",
        "jiwer",
        _example("import jiwer; s = 'bcde' * 25; r = jiwer.process_characters([s + 'a' * 40], "
                 "['a' * 40 + s])", "r.substitutions + r.deletions + r.insertions", "text",
                 "EditDistance()", "['a' * 40 + s], [s + 'a' * 40]"),
    ),
    "TranslationEditRate": Correction(
        "an empty text needs as many edits as its reference has words; TorchMetrics counts none",
        "sacrebleu",
        _sacrebleu("TranslationEditRate()", "[''], [['a b']]",
                   "TER().corpus_score([''], [['a b']])"),
    ),
    "MeanAveragePrecision": Correction(
        "thresholds are float64, and masks in images where nothing is found or annotated count; "
        "TorchMetrics' thresholds are rounded to float32, and it skips such images",
        "pycocotools", _coco(0.8),
    ),
    "MultilabelRankingLoss": Correction(
        "labels with equal scores count as ordered wrongly; TorchMetrics orders them by index",
        "scikit-learn",
        _sklearn("classification", "MultilabelRankingLoss(num_labels=3)",
                 "torch.tensor([[0.5, 0.5, 0.2], [0.3, 0.3, 0.3]]), "
                 "torch.tensor([[1, 0, 0], [0, 1, 0]])",
                 "label_ranking_loss([[1, 0, 0], [0, 1, 0]], [[0.5, 0.5, 0.2], [0.3, 0.3, 0.3]])"),
    ),
    "NormalizedMutualInfoScore": Correction(
        _ONE_CLUSTER, "scikit-learn",
        _sklearn("clustering", "NormalizedMutualInfoScore()", _ZEROS,
                 "normalized_mutual_info_score([0, 0, 0, 0], [0, 0, 0, 0])"),
    ),
    "AdjustedMutualInfoScore": Correction(
        _ONE_CLUSTER, "scikit-learn",
        _sklearn("clustering", "AdjustedMutualInfoScore()", _ZEROS,
                 "adjusted_mutual_info_score([0, 0, 0, 0], [0, 0, 0, 0])"),
    ),
    "VMeasureScore": Correction(
        "0 for independent clusterings; TorchMetrics has 1", "scikit-learn",
        _sklearn("clustering", "VMeasureScore()", "torch.arange(4) % 2, torch.arange(4) // 2",
                 "v_measure_score([0, 0, 1, 1], [0, 1, 0, 1])"),
    ),
    "AdjustedRandScore": Correction(
        "pair counts are exact; TorchMetrics' overflow beyond some ten thousand samples",
        "scikit-learn",
        _sklearn("clustering", "AdjustedRandScore()",
                 "torch.arange(100000) % 9, torch.arange(100000) // 2 % 9",
                 "adjusted_rand_score(torch.arange(100000) % 9, torch.arange(100000) // 2 % 9)"),
    ),
    "GeneralizedDiceScore": Correction(
        "an image's weights depend only on that image; in TorchMetrics, on the whole batch if an "
        "image lacks a class", "MONAI, image by image",
        _example("from monai.metrics import compute_generalized_dice as dice; "
                 f"x, y = {_MASKS}", "float(torch.cat([dice(x[i:i + 1], y[i:i + 1], "
                 "sum_over_classes=True) for i in range(2)]).mean())", "segmentation",
                 "GeneralizedDiceScore(num_classes=3)", "x, y"),
    ),
    "MultiScaleStructuralSimilarityIndexMeasure": Correction(
        "windows lie within the image; TorchMetrics' extend over its border", "pytorch-msssim",
        _example("from pytorch_msssim import ms_ssim; torch.manual_seed(0); "
                 "x = torch.rand(1, 1, 176, 176); y = 0.7 * x + 0.3 * torch.rand_like(x)",
                 "float(ms_ssim(x, y, data_range=1.0))", "image",
                 "MultiScaleStructuralSimilarityIndexMeasure(data_range=1.0)", "x, y"),
    ),
    "PeakSignalNoiseRatioWithBlockedEffect": Correction(
        _OF_IMAGES, "TorchMetrics, image by image",
        _by_image("PeakSignalNoiseRatioWithBlockedEffect(data_range=1.0)", "rand(2, 1, 16, 16)"),
    ),
    "SpectralDistortionIndex": Correction(
        _OF_IMAGES, "TorchMetrics, image by image",
        _by_image("SpectralDistortionIndex()", "rand(2, 3, 16, 16)"),
    ),
    "HausdorffDistance": Correction(
        "distances between pixels are Euclidean for masks of any shape; TorchMetrics' are wrong "
        "if height and width differ", "SciPy",
        _example("from scipy.spatial.distance import directed_hausdorff",
                 "directed_hausdorff([[2, 3]], [[4, 17]])[0]", "segmentation",
                 "HausdorffDistance(num_classes=2, include_background=False, input_format='index')",
                 "torch.zeros(1, 8, 20).long().index_put_("
                 "[torch.tensor([0]), torch.tensor([2]), torch.tensor([3])], torch.tensor(1)), "
                 "torch.zeros(1, 8, 20).long().index_put_("
                 "[torch.tensor([0]), torch.tensor([4]), torch.tensor([17])], torch.tensor(1))"),
    ),
}
