"""Why some values differ, some calls gain little from a second thread, and some classes
have no counterpart here."""

# By label; docs/from_torchmetrics.md has more about each.
DIFFERENT: dict[str, str] = {
    "AdjustedRandScore": "TorchMetrics' products of pairs overflow",
    "BinaryEER": "interpolated here; TorchMetrics takes the nearest point",
    "MulticlassEER": "interpolated here; TorchMetrics takes the nearest point",
    "MultilabelEER": "interpolated here; TorchMetrics takes the nearest point",
    "BinaryLogAUC": "the integral of the curve itself; TorchMetrics interpolates over log FPR",
    "MulticlassLogAUC":
        "the integral of the curve itself; TorchMetrics interpolates over log FPR",
    "MultilabelLogAUC":
        "the integral of the curve itself; TorchMetrics interpolates over log FPR",
    "BinarySpecificityAtSensitivity": "ties are broken by the better other rate",
    "MulticlassSpecificityAtSensitivity": "ties are broken by the better other rate",
    "MultilabelSpecificityAtSensitivity": "ties are broken by the better other rate",
    "BinarySensitivityAtSpecificity": "ties are broken by the better other rate",
    "MulticlassSensitivityAtSpecificity": "ties are broken by the better other rate",
    "MultilabelSensitivityAtSpecificity": "ties are broken by the better other rate",
    "BinaryPrecisionAtFixedRecall": "ties are broken by the better other rate",
    "MulticlassPrecisionAtFixedRecall": "ties are broken by the better other rate",
    "MultilabelPrecisionAtFixedRecall": "ties are broken by the better other rate",
    "BinaryRecallAtFixedPrecision": "ties are broken by the better other rate",
    "MulticlassRecallAtFixedPrecision": "ties are broken by the better other rate",
    "MultilabelRecallAtFixedPrecision": "ties are broken by the better other rate",
    "MeanIoU (index)": "images without a class do not count for it",
    "MeanIoU (one-hot)": "images without a class do not count for it",
    "MulticlassPrecisionRecallCurve (100 thresholds)":
        "thresholds are a matrix with a row for each class",
    "MulticlassROC (100 thresholds)": "thresholds are a matrix with a row for each class",
    "MultilabelPrecisionRecallCurve (100 thresholds)":
        "thresholds are a matrix with a row for each label",
    "MultilabelROC (100 thresholds)": "thresholds are a matrix with a row for each label",
    "AverageSymmetricSurfaceDistance":
        "images without a class do not count for it; MONAI returns NaN for them",
    "NormalizedSurfaceDistance":
        "images without a class do not count for it; MONAI returns NaN for them",
    "BootStrapper": "resamples are drawn at random",
    "D2PinballScore": "the best constant is a quantile; scikit-learn 1.6 interpolates it",
    "GeneralizedDiceScore (index)": "images without a class do not count for it",
    "GeneralizedDiceScore (one-hot)": "images without a class do not count for it",
    "KernelInceptionDistance": "subsets are drawn at random",
    "QualityWithNoReference": "TorchMetrics' windows at the border differ, and give NaN",
    "RelativeAverageSpectralError": "as published; TorchMetrics' value has other units",
    "SpatialDistortionIndex": "TorchMetrics' windows at the border differ, and give NaN",
    "SpectralDistortionIndex": "windows as published; TorchMetrics' are Gaussian",
    "MulticlassCalibrationError": "confidence 1 belongs to the last bin",
    "BinaryCalibrationError": "confidence 1 belongs to the last bin",
    "FocalTverskyLoss": "the power of each class, as in the paper, not of their mean",
    "SQuAD": "TorchMetrics' values are percentages, rounded differently",
}

# Calls that gain less from a second thread than four fifths of what reading gains.
_REASONS = {
    "one thread goes through the rows, for all of the work or part of it": (
        "BinaryFairness", "BinaryGroupStatRates", "BinarySpiegelhalterZ",
        "CriticalSuccessIndex", "D2TweedieScore", "FleissKappa", "InceptionScore",
        "JensenShannonDivergence", "KLDivergence", "MulticlassBrierScore",
        "MulticlassHingeLoss", "MulticlassLogLoss", "MultilabelCoverageError",
        "MultilabelExactMatch", "MultilabelLogLoss", "MultilabelRankingAveragePrecision",
        "MultilabelRankingLoss"),
    "one thread looks through the labels before pairs are counted": (
        "ClusterAccuracy", "CramersV", "PearsonsContingencyCoefficient", "TheilsU",
        "TschuprowsT"),
    "one thread sorts, or selects among all values": (
        "D2AbsoluteErrorScore", "D2PinballScore", "LovaszHingeLoss",
        "MedianAbsoluteError", "SpearmanCorrCoef"),
    "one thread goes along a curve": tuple(
        f"{kind}{name}" for kind in ("Binary", "Multiclass", "Multilabel") for name in (
            "AUROC", "AveragePrecision", "EER", "LogAUC", "PrecisionAtFixedRecall",
            "PrecisionRecallCurve", "ROC", "RecallAtFixedPrecision",
            "SensitivityAtSpecificity", "SpecificityAtSensitivity")),
    "one thread puts the points into their clusters": (
        "CalinskiHarabaszScore", "DaviesBouldinScore", "DunnIndex"),
    "one step needs the last one's sums over all rows": (
        "BinaryCalibrationIntercept", "BinaryCalibrationSlope"),
    "one copy, or one output, is updated after the other": (
        "BootStrapper", "MultioutputWrapper"),
    "little is done to each number, and more is written than when reading": (
        "CatMetric", "PeakSignalNoiseRatio", "TotalVariation"),
    "little more than a millisecond, of which the second thread's start is a part": (
        *(f"{kind}{name} (100 thresholds)" for kind in ("Multiclass", "Multilabel")
          for name in ("AUROC", "PrecisionRecallCurve", "ROC")),
        "CramersVMatrix", "MulticlassExactMatch", "PearsonsContingencyCoefficientMatrix",
        "RetrievalRecallAtFixedPrecision", "TheilsUMatrix", "TschuprowsTMatrix"),
}
SEQUENTIAL = {label: why for why, labels in _REASONS.items() for label in labels}

_NETWORK = "TorchMetrics' class runs its own network; Tally's takes features"
_ALONE = "no Python library computes the same from tensors or files"
_COMPILED = "torchsort is compiled when installed; compare_metric_losses.py has it"
_BOUNDS = "bounds of the value without thresholds, which no library computes"
_BOXES = "supervision draws pictures, with OpenCV; reference values are in tests/reference"
_FORECASTS = "libraries of forecasts have it, which the sweep does not install"
_RANKS = "libraries of knowledge graphs have it, which the sweep does not install"
_ALLRANK = "allRank needs packages of cloud storage; reference values are in tests/reference"

# Without a row.
ALONE: dict[str, str] = {
    "BERTScore": _NETWORK,
    "CLIPScore": _NETWORK,
    "LearnedPerceptualImagePatchSimilarity": _NETWORK,
    "BoundaryF1": _ALONE,
    "LVISAveragePrecision": "the package lvis reads files; compare_detection.py has COCO's",
    "PascalVOCAveragePrecision": _ALONE,
    "RetrievalERR": _ALONE,
    "AUCMLoss": "LibAUC's has its own parameters, which it updates",
    "ApproxNDCGLoss": _ALLRANK,
    "LambdaLoss": _ALLRANK,
    "ListNetLoss": _ALLRANK,
    "BalancedAccuracyLoss": _ALONE,
    "CoCaLoss": "its contrastive part is ClipLoss, its caption part torch's cross-entropy",
    "DistillClipLoss": "its contrastive part is ClipLoss",
    "FBetaLoss": _ALONE,
    "FastAPLoss": "pytorch-metric-learning's takes pairs of embeddings",
    "MMCELoss": _ALONE,
    "PartialAUCLoss": "LibAUC's keeps a history of samples",
    "SmoothAPLoss": "pytorch-metric-learning's takes pairs of embeddings",
    "SoftCalibrationLoss": _ALONE,
    "SoftRank": _COMPILED,
    "SoftSort": _COMPILED,
    "SoftSpearmanLoss": _COMPILED,
    "BinaryAUROCBounds": _BOUNDS,
    "BinaryAveragePrecisionBounds": _BOUNDS,
    "MulticlassAUROCBounds": _BOUNDS,
    "MulticlassAveragePrecisionBounds": _BOUNDS,
    "MultilabelAUROCBounds": _BOUNDS,
    "MultilabelAveragePrecisionBounds": _BOUNDS,
    "BinaryOptimalThreshold": _ALONE,
    "MulticlassOptimalThreshold": _ALONE,
    "MultilabelOptimalThreshold": _ALONE,
    "DetectionConfusionMatrix": _BOXES,
    "DetectionF1Score": _BOXES,
    "DetectionPrecision": _BOXES,
    "DetectionRecall": _BOXES,
    "MeanAbsoluteScaledError": _FORECASTS,
    "OverallWeightedAverage": _FORECASTS,
    "MeanRank": _RANKS,
    "MeanReciprocalRank": _RANKS,
    "RankHitRate": _RANKS,
    "RetrievalMeanRank": _RANKS,
    "Throughput": "it divides two sums",
    "VectorQuantize": "each call changes its codebook; nearest_benchmark.cc has the search",
}
