"""Compares the stored values with TorchMetrics, where TorchMetrics is right.

    python crosscheck.py    needs torch and torchmetrics besides NumPy

MulticlassLogLoss has no counterpart and is left out.
Prints each case that differs, with the reason where it is known, and fails if
one differs without a reason or agrees in spite of one.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchmetrics
from torchmetrics import classification, regression

DATA = Path(__file__).resolve().parent / "data"
OWN_OPTIONS = ("input", "nan_strategy", "nan_value")
# Options that TorchMetrics has no counterpart of, by metric. It has no weights
# either, but in MeanMetric.
LACKING = {
    "MeanSquaredLogError": {"num_outputs", "squared"},
    "MeanAbsolutePercentageError": {"num_outputs", "epsilon"},
    "SymmetricMeanAbsolutePercentageError": {"num_outputs"},
}
# Metrics that take the number of outputs from their inputs.
FINDS_OUTPUTS = ("R2Score", "ExplainedVariance")
# Where TorchMetrics 1.9.0 is wrong, or chooses otherwise.
REASONS = {
    "sigmoid in float32 makes ties of large logits": [
        "BinaryAUROC/logits_97_to_100"],
    "the binned curve does not begin at (0, 0) or end at (1, 1)": [
        "BinaryAUROC/binned_saturated",
        "BinaryAUROC/binned_list_without_ends",
        "MulticlassAUROC/binned_one_hot"],
    "0 where only one class is present": [
        "BinaryAUROC/only_positives", "BinaryAUROC/only_negatives",
        "BinaryAUROC/only_positives_after_ignore",
        "BinaryAUROC/binned_only_negatives",
        "MulticlassAUROC/absent_macro", "MulticlassAUROC/absent_none",
        "MulticlassAUROC/ignore_inside_macro",
        "MulticlassAUROC/ignore_inside_none",
        "MulticlassAUROC/binned_absent", "MulticlassAUROC/one_class_none",
        "MulticlassAUROC/one_class_macro"],
    "accumulates in float32": [
        "MeanMetric/cancellation", "SumMetric/cancellation",
        "PearsonCorrCoef/offset_1e4", "PearsonCorrCoef/offset_1e4_outputs",
        "PearsonCorrCoef/offset_1e6_float64",
        "PearsonCorrCoef/constant_target", "PearsonCorrCoef/constant_preds",
        "PearsonCorrCoef/constant_equal", "R2Score/offset_1e4",
        "R2Score/offset_1e4_outputs", "ExplainedVariance/offset_1e4",
        "ExplainedVariance/offset_1e4_outputs",
        "ExplainedVariance/constant_target",
        "RelativeSquaredError/offset_1e4",
        "RelativeSquaredError/offset_1e4_outputs",
        "ConcordanceCorrCoef/offset_1e4",
        "ConcordanceCorrCoef/offset_1e4_outputs"],
    "takes small targets for constant ones": ["R2Score/scale_1e_minus_3"],
    "overflows": ["LogCoshError/large", "LogCoshError/uint8"],
    "refuses integers": [
        "ConcordanceCorrCoef/int64", "SpearmanCorrCoef/ties_int64",
        "SpearmanCorrCoef/ties_binary"],
    "refuses several dimensions": ["LogCoshError/multidim"],
    "takes [N, 1] for one sample": ["KendallRankCorrCoef/column"],
    "divides by the pairs that are not tied": [
        "KendallRankCorrCoef/variant_a_ties",
        "KendallRankCorrCoef/constant_a"],
    "refuses a single sample, or has a value of it": [
        "R2Score/single_sample", "ExplainedVariance/single_sample",
        "RelativeSquaredError/single_sample"],
    "0 or 1 instead of undefined, or undefined instead of 0": [
        "SpearmanCorrCoef/constant_target",
        "SpearmanCorrCoef/one_constant_output",
        "SpearmanCorrCoef/single_sample", "ConcordanceCorrCoef/constant_preds",
        "CriticalSuccessIndex/no_events", "CosineSimilarity/zeros",
        "R2Score/variance_weighted_constant",
        "ExplainedVariance/variance_weighted_constant",
        "ContinuousRankedProbabilityScore/one_member"],
    "a replaced value gets the weight 1": [
        "MeanMetric/nan_replace_keeps_weight"],
    "'disable' drops the weights": ["MeanMetric/disable_keeps_weights"],
    "small integers wrap": [
        "MeanSquaredError/int8",
        *(f"{metric}/uint8" for metric in (
            "MeanSquaredError", "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "SymmetricMeanAbsolutePercentageError",
            "WeightedMeanAbsolutePercentageError", "MinkowskiDistance",
            "TweedieDevianceScore"))],
    "an undefined class makes the average undefined": [
        f"{metric}/zero_division_nan_{average}"
        for metric in ("MulticlassF1Score", "MulticlassPrecision",
                       "MulticlassRecall")
        for average in ("macro", "weighted")],
}
KNOWN = {name: why for why, names in REASONS.items() for name in names}


def decode(tensor: dict[str, Any]) -> torch.Tensor:
    """A tensor from its JSON form."""
    data = [float(x) if isinstance(x, str) else x for x in tensor["data"]]
    array = np.array(data, tensor["dtype"]).reshape(tensor["shape"])
    return torch.from_numpy(array)


def make_metric(name: str, options: dict[str, Any]) -> torchmetrics.Metric:
    """The metric of that name with the options that TorchMetrics has."""
    kwargs = {k: v for k, v in options.items() if k not in OWN_OPTIONS}
    if name in FINDS_OUTPUTS:
        kwargs.pop("num_outputs", None)
    if options.get("nan_strategy") == "replace":
        kwargs["nan_strategy"] = options["nan_value"]
    elif "nan_strategy" in options:
        kwargs["nan_strategy"] = options["nan_strategy"]
    if name.startswith(("Multiclass", "Binary")):
        return getattr(classification, name)(**kwargs, validate_args=False)
    home = torchmetrics if hasattr(torchmetrics, name) else regression
    return getattr(home, name)(**kwargs)


def computed(name: str, case: dict[str, Any]) -> torch.Tensor:
    """TorchMetrics' value; batches without rows are left out."""
    metric = make_metric(name, case["options"])
    for batch in case["batches"]:
        inputs = [decode(x) for x in batch["inputs"]]
        if inputs[0].numel() == 0:
            continue
        metric.update(*[x.long() if x.dtype == torch.uint8 and
                        name.startswith("Multiclass") else x for x in inputs])
    value = metric.compute()
    return value[0] if isinstance(value, tuple) else value


def is_lacking(name: str, case: dict[str, Any]) -> bool:
    """Whether TorchMetrics has no such thing."""
    weights = hasattr(torchmetrics, name) and name != "MeanMetric" and \
        len(case["batches"][0]["inputs"]) > 2
    return weights or bool(LACKING.get(name, set()) & set(case["options"]))


def agrees(name: str, case: dict[str, Any]) -> str:
    """An empty text, or how TorchMetrics' outcome differs."""
    expected = decode(case["expected"][""])
    try:
        value = computed(name, case)
    except Exception as error:  # any failure of the peer is a difference
        return f"{type(error).__name__}: {error}"
    # TorchMetrics computes in float32.
    if value.shape == expected.shape and torch.allclose(
            value.double(), expected.double(), rtol=1e-5, atol=1e-6,
            equal_nan=True):
        return ""
    return f"{value.flatten()[:5].tolist()} instead of " \
        f"{expected.flatten()[:5].tolist()}"


def main() -> int:
    """Checks all files; 1 if there is a difference without a reason."""
    warnings.simplefilter("ignore")
    failed = 0
    for path in sorted(DATA.glob("*.json")):
        if not any(hasattr(home, path.stem) for home in
                   (torchmetrics, classification, regression)):
            continue
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            if is_lacking(path.stem, case):
                continue
            name = f"{path.stem}/{case['name']}"
            text = agrees(path.stem, case)
            reason = KNOWN.get(name, "")
            failed |= bool(text) != bool(reason)
            if text or reason:
                print(f"{name}: {text or 'agrees'} [{reason or '?'}]")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
