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

_ROWS = "rows are checked and summed one after another, so that an error names the first"
_SORTED = "one thread sorts or selects among all values"
_POINTS = "a curve's points are read and written in order; only sorting has two threads"
_MEMORY = "little is done to each number: the second core waits for memory"
_SUMS = "sums of a signal have one order; what is parallel is too short"
_CLUSTERS = "points are added to their clusters one after another"
_PAIRS = "few pairs of columns"

# Calls that gain less from a second thread than four fifths of what reading gains, by label.
SEQUENTIAL: dict[str, str] = {
    **dict.fromkeys((
        "BinaryFairness", "BinaryGroupStatRates", "BinarySpiegelhalterZ",
        "CriticalSuccessIndex", "D2TweedieScore", "FleissKappa", "JensenShannonDivergence",
        "KLDivergence", "MulticlassBrierScore", "MulticlassExactMatch",
        "MulticlassHingeLoss", "MulticlassLogLoss", "MultilabelCoverageError",
        "MultilabelExactMatch", "MultilabelLogLoss", "MultilabelRankingAveragePrecision",
        "MultilabelRankingLoss", "ClusterAccuracy", "CramersV",
        "PearsonsContingencyCoefficient", "TheilsU", "TschuprowsT"), _ROWS),
    **dict.fromkeys((
        "D2AbsoluteErrorScore", "D2PinballScore", "LovaszHingeLoss",
        "MedianAbsoluteError", "SpearmanCorrCoef"), _SORTED),
    **dict.fromkeys((
        *(f"{kind}{name}" for kind in ("Binary", "Multiclass", "Multilabel") for name in (
            "AUROC", "AveragePrecision", "EER", "LogAUC", "PrecisionAtFixedRecall",
            "PrecisionRecallCurve", "ROC", "RecallAtFixedPrecision",
            "SensitivityAtSpecificity", "SpecificityAtSensitivity")),
        "MultilabelAUROC (100 thresholds)", "MultilabelROC (100 thresholds)",
        "MultilabelPrecisionRecallCurve (100 thresholds)",
        "RetrievalRecallAtFixedPrecision"), _POINTS),
    **dict.fromkeys((
        "CatMetric", "MeanSquaredError", "PeakSignalNoiseRatio", "R2Score",
        "RelativeSquaredError", "TotalVariation", "MaxMetric", "MinMetric",
        "ErrorRelativeGlobalDimensionlessSynthesis"), _MEMORY),
    **dict.fromkeys((
        "ComplexScaleInvariantSignalNoiseRatio", "ScaleInvariantSignalDistortionRatio",
        "ScaleInvariantSignalNoiseRatio", "SignalDistortionRatio", "SignalNoiseRatio",
        "SourceAggregatedSignalDistortionRatio"), _SUMS),
    **dict.fromkeys((
        "CalinskiHarabaszScore", "DaviesBouldinScore", "DunnIndex"), _CLUSTERS),
    **dict.fromkeys((
        "CramersVMatrix", "PearsonsContingencyCoefficientMatrix", "TheilsUMatrix",
        "TschuprowsTMatrix"), _PAIRS),
    "BinaryCalibrationIntercept": "each step needs the last one's sums over all rows",
    "BinaryCalibrationSlope": "each step needs the last one's sums over all rows",
    "BootStrapper": "one generator draws for all copies, which are updated in turn",
    "InceptionScore": "the means of classes are sums over rows in their order",
    "MultioutputWrapper": "outputs are updated in turn",
}

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
