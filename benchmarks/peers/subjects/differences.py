"""Why some values differ, and why some classes have no counterpart here."""

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
    "BinarySpecificityAtSensitivity": "ties go to the better other rate",
    "MulticlassSpecificityAtSensitivity": "ties go to the better other rate",
    "MultilabelSpecificityAtSensitivity": "ties go to the better other rate",
    "BinarySensitivityAtSpecificity": "ties go to the better other rate",
    "MulticlassSensitivityAtSpecificity": "ties go to the better other rate",
    "MultilabelSensitivityAtSpecificity": "ties go to the better other rate",
    "BinaryPrecisionAtFixedRecall": "ties go to the better other rate",
    "MulticlassPrecisionAtFixedRecall": "ties go to the better other rate",
    "MultilabelPrecisionAtFixedRecall": "ties go to the better other rate",
    "BinaryRecallAtFixedPrecision": "ties go to the better other rate",
    "MulticlassRecallAtFixedPrecision": "ties go to the better other rate",
    "MultilabelRecallAtFixedPrecision": "ties go to the better other rate",
    "MeanIoU (index)": "images without a class do not count for it",
    "MeanIoU (one-hot)": "images without a class do not count for it",
    "MulticlassPrecisionRecallCurve (100 thresholds)": "thresholds are a row for each class",
    "MulticlassROC (100 thresholds)": "thresholds are a row for each class",
    "MultilabelPrecisionRecallCurve (100 thresholds)": "thresholds are a row for each label",
    "MultilabelROC (100 thresholds)": "thresholds are a row for each label",
    "AverageSymmetricSurfaceDistance":
        "images without a class do not count for it; MONAI has NaN of them",
    "NormalizedSurfaceDistance":
        "images without a class do not count for it; MONAI has NaN of them",
    "BootStrapper": "resamples are drawn at random",
    "D2PinballScore": "the best constant is a quantile; scikit-learn 1.6 interpolates it",
    "GeneralizedDiceScore (index)": "images without a class do not count for it",
    "GeneralizedDiceScore (one-hot)": "images without a class do not count for it",
    "KernelInceptionDistance": "subsets are drawn at random",
    "QualityWithNoReference": "TorchMetrics' border of windows differs, and it has NaN of them",
    "RelativeAverageSpectralError": "as published; TorchMetrics' has other units",
    "SpatialDistortionIndex": "TorchMetrics' border of windows differs, and it has NaN of them",
    "SpectralDistortionIndex": "windows as published; TorchMetrics' are Gaussian",
    "MulticlassCalibrationError": "confidence 1 belongs to the last bin",
    "BinaryCalibrationError": "confidence 1 belongs to the last bin",
    "FocalTverskyLoss": "the power of each class, as in the paper, not of their mean",
    "SQuAD": "TorchMetrics' are percent, of other rounding",
}

_NETWORK = "TorchMetrics' class runs a network of its own, Tally's takes features"
_ALONE = "no library of Python's has it for tensors or files as it is"
_COMPILED = "torchsort is compiled when installed; compare_metric_losses.py has it"
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
    "AUCMLoss": "LibAUC's has parameters of its own that it updates",
    "ApproxNDCGLoss": _ALLRANK,
    "LambdaLoss": _ALLRANK,
    "ListNetLoss": _ALLRANK,
    "BalancedAccuracyLoss": _ALONE,
    "CoCaLoss": "its contrastive part is ClipLoss, the other torch's cross-entropy",
    "DistillClipLoss": "its contrastive part is ClipLoss",
    "FBetaLoss": _ALONE,
    "FastAPLoss": "pytorch-metric-learning's is of pairs of embeddings",
    "MMCELoss": _ALONE,
    "PartialAUCLoss": "LibAUC's keeps a history of samples",
    "SmoothAPLoss": "pytorch-metric-learning's is of pairs of embeddings",
    "SoftCalibrationLoss": _ALONE,
    "SoftRank": _COMPILED,
    "SoftSort": _COMPILED,
    "SoftSpearmanLoss": _COMPILED,
    "VectorQuantize": "each call changes its codebook; nearest_benchmark.cc has the search",
}
