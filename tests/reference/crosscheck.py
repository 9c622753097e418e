"""Compares the stored values with TorchMetrics, where TorchMetrics is right.

    python crosscheck.py    needs torch and torchmetrics besides NumPy

Metrics and options that TorchMetrics does not have are left out. Prints each
case that differs, with the reason where it is known, and fails if one differs
without a reason, or if a reason explains nothing.
"""

import fnmatch
import functools
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import curve_readings
import numpy as np
import torch
import torchmetrics
from torchmetrics import (classification, clustering, nominal, regression,
                          retrieval)

DATA = Path(__file__).resolve().parent / "data"
OWN_OPTIONS = ("input", "nan_strategy", "nan_value")
OWN_RETRIEVAL_OPTIONS = {"ties", "unjudged", "condensed", "keep_top_k",
                         "denominator", "gain"}
# Options that TorchMetrics has no counterpart of, by metric. It has no weights
# either, but in MeanMetric.
LACKING = {
    "MeanSquaredLogError": {"num_outputs", "squared"},
    "MeanAbsolutePercentageError": {"num_outputs", "eps"},
    "SymmetricMeanAbsolutePercentageError": {"num_outputs"},
    "DaviesBouldinScore": {"q", "centroids"},
    "CramersV": {"yates"},
    "TschuprowsT": {"yates"},
}
# Metrics that take the number of outputs from their inputs.
FINDS_OUTPUTS = ("R2Score", "ExplainedVariance")
# Metrics whose results have other parts.
OTHER_RESULTS = ("BinaryFairness", "BinaryGroupStatRates")
# Where TorchMetrics 1.9.0 is wrong, or chooses otherwise;
# docs/from_torchmetrics.md says how.
REASONS = {
    "sigmoid in float32 makes ties of large logits": [
        "BinaryAUROC/logits_97_to_100"],
    "the binned curve does not begin at (0, 0) or end at (1, 1)": [
        "BinaryAUROC/binned_saturated",
        "BinaryAUROC/binned_list_without_ends",
        "MulticlassAUROC/binned_one_hot", "MultilabelAUROC/binned_list"],
    "what has no value counts as 0 in the mean": [
        "MulticlassAUROC/absent_macro", "MulticlassAUROC/ignore_inside_macro",
        "MultilabelAUROC/without_positives",
        "MultilabelAveragePrecision/without_positives"],
    "accumulates in float32": [
        "MeanMetric/cancellation", "SumMetric/cancellation",
        "PearsonCorrCoef/offset_1e4", "PearsonCorrCoef/offset_1e4_outputs",
        "PearsonCorrCoef/offset_1e6_float64",
        "PearsonCorrCoef/constant_target", "PearsonCorrCoef/constant_preds",
        "R2Score/offset_1e4",
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
        *(f"{metric}/zero_division_nan_{average}"
          for metric in ("MulticlassF1Score", "MulticlassPrecision",
                         "MulticlassRecall")
          for average in ("macro", "weighted")),
        "Multilabel*/empty_macro_nan"],
    "binned ROC curves do not begin at (0, 0)": ["*ROC/binned*"],
    "curves are averaged at the thresholds of all, or joined": [
        "MulticlassROC/macro", "MulticlassROC/ties", "MulticlassROC/absent",
        "MulticlassPrecisionRecallCurve/macro",
        "MulticlassPrecisionRecallCurve/ties",
        "MulticlassPrecisionRecallCurve/absent",
        "MulticlassPrecisionRecallCurve/binned_macro"],
    "no threshold at all": ["MulticlassRecallAtFixedPrecision/ties"],
    "drops zero_division": [
        "BinarySpecificity/all_1_*", "BinaryNegativePredictiveValue/all_1_*"],
    "fails": ["MulticlassAveragePrecision/micro",
              "MulticlassAveragePrecision/binned_micro",
              "MulticlassPrecisionRecallCurve/binned_micro"],
    "one list of thresholds for all curves": [
        "*PrecisionRecallCurve/binned_*"],
    "decision values outside [0, 1] go through a sigmoid or softmax": [
        "*HingeLoss/*"],
    "an ignored class that is predicted counts in the mean": [
        "MulticlassAccuracy/ignore_inside_macro",
        "MulticlassSpecificity/ignored_inside_macro",
        "MulticlassF1Score/ignore_inside_macro",
        "MulticlassFBetaScore/ignored_inside_macro",
        "MulticlassNegativePredictiveValue/ignored_inside_macro",
        "MulticlassPrecision/ignore_inside_macro",
        "MulticlassRecall/ignore_inside_macro"],
    "what is ignored counts as right": [
        "*ExactMatch/ignored*", "*ExactMatch/samplewise"],
    "what is ignored counts as a label": [
        "MultilabelCoverageError/ignore_index",
        "MultilabelRankingLoss/ignore_index"],
    "ties count for nothing": ["MultilabelRankingLoss/ties"],
    "cannot join batches of samples": ["Multilabel*/samplewise"],
    "takes labels of one dimension": [
        *(f"{metric}/multidim" for metric in (
            "AdjustedMutualInfoScore", "AdjustedRandScore", "CompletenessScore",
            "FowlkesMallowsIndex", "HomogeneityScore", "MutualInfoScore",
            "NormalizedMutualInfoScore", "RandScore", "VMeasureScore"))],
    "0 of one cluster in both": [
        "AdjustedMutualInfoScore/one_in_both",
        "NormalizedMutualInfoScore/one_in_both"],
    "divides rounding errors": [
        "AdjustedMutualInfoScore/lone_against_others*",
        "VMeasureScore/independent", "VMeasureScore/four"],
    "needs torch_linear_assignment": ["ClusterAccuracy/*"],
    "refuses points of integers": [
        "CalinskiHarabaszScore/int64", "DaviesBouldinScore/int64",
        "DunnIndex/int64_*"],
    "refuses one cluster, or one for each point": [
        "CalinskiHarabaszScore/one_cluster", "CalinskiHarabaszScore/all_alone",
        "DaviesBouldinScore/one_cluster", "DaviesBouldinScore/all_alone",
        "DunnIndex/one_cluster"],
    "distances by products of matrices": [
        "DaviesBouldinScore/offset_1e6", "DaviesBouldinScore/many_clusters"],
    "Yates's correction of 2 x 2 tables besides": [
        "CramersV/two_by_two", "TschuprowsT/two_by_two"],
    "takes categories from 0 to num_classes - 1": [
        *(f"{metric}/{case}" for metric in (
            "CramersV", "TschuprowsT", "PearsonsContingencyCoefficient",
            "TheilsU") for case in ("any_numbers*", "nan_replace_7"))],
    "adds 1e-5 to what divides": [
        "FleissKappa/plain", "FleissKappa/int32", "FleissKappa/perfect"],
    "the largest number of raters for all rows": ["FleissKappa/uneven"],
    "0 of a single category": ["FleissKappa/one_category"],
    "takes as many categories as raters": ["FleissKappa/probs"],
    "documents of one score are in the order in which they came": [
        *(f"Retrieval*/{case}" for case in (
            "ties", "ties_signed_zeros", "ignore_grade", "empty_skip",
            "median", "min", "max", "top_1", "top_3", "top_20", "max_k_3",
            "max_k_20", "max_fpr", "precision_0", "precision_1"))],
    "scores are rounded to float32": ["Retrieval*/float64"],
    "0 without both kinds of documents": ["RetrievalAUROC/empty_pos"],
    "divides by the relevant documents within the best k": [
        "RetrievalMAP/top_4_graded"],
}
# Where a value without samples, NaN here, may be 0 or 1.
WITHOUT_SAMPLES = {
    "0 or 1 where only one class is present": [
        "Binary*/only_*", "Binary*/binned_only_negatives",
        "Multiclass*/absent*", "Multiclass*/binned_absent",
        "Multiclass*/ignore_inside*", "MulticlassAUROC/one_class_*",
        "Multilabel*/without_positives*"],
}
# Where another threshold does as well.
THRESHOLD_REASONS = {
    "the first of several best thresholds": ["*SpecificityAtSensitivity/*"],
}


def by_pattern(reasons: dict[str, list[str]]) -> dict[str, str]:
    """The reason of each pattern."""
    return {name: why for why, names in reasons.items() for name in names}


ANYTHING = by_pattern(REASONS)
UNDEFINED = by_pattern(WITHOUT_SAMPLES)
THRESHOLDS = by_pattern(THRESHOLD_REASONS)


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
    if kwargs.get("zero_division") == "nan":
        kwargs["zero_division"] = float("nan")
    if name in ("MultilabelROC", "MultilabelPrecisionRecallCurve") and \
            kwargs.get("average") == "none":
        del kwargs["average"]
    if kwargs.get("average") == "samples":
        raise LackingError
    if not is_classification(name):
        if is_retrieval(name):
            return getattr(retrieval, name)(**kwargs)
        home = torchmetrics if hasattr(torchmetrics, name) else regression
        return getattr(home, name)(**kwargs)
    try:
        return getattr(classification, name)(**kwargs, validate_args=False)
    except ValueError as error:
        if "Unexpected keyword arguments" in str(error):
            raise LackingError from error
        raise


class LackingError(Exception):
    """TorchMetrics does not have what a case is about."""


def is_of_groups(name: str) -> bool:
    """Whether the metric is one of clusters or of categories."""
    return hasattr(clustering, name) or hasattr(nominal, name)


def make_metric_of_groups(name: str, options: dict[str, Any],
                          batches: list[list[torch.Tensor]]
                          ) -> torchmetrics.Metric:
    """The same of clusters or categories, of which it wants the number."""
    kwargs = dict(options)
    if options.get("method", "centroid") != "centroid" or \
            options.get("nan_strategy") == "category":
        raise LackingError
    kwargs.pop("method", None)
    if hasattr(clustering, name):
        if name == "ClusterAccuracy":
            kwargs["num_classes"] = 1 + max(
                int(x.max()) for inputs in batches for x in inputs)
        return getattr(clustering, name)(**kwargs)
    if name != "FleissKappa":
        kwargs["num_classes"] = 1 + max(
            x.shape[1] - 1 if x.ndim == 2 else int(x.nan_to_num().max())
            for inputs in batches for x in inputs)
    return getattr(nominal, name)(**kwargs)


def is_classification(name: str) -> bool:
    """Whether the metric is one of classes or labels."""
    return name.startswith(("Multiclass", "Binary", "Multilabel"))


def cases_of(path: Path) -> list[dict[str, Any]]:
    """A metric's cases, with the batches that they share with others."""
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    for case in cases:
        if isinstance(case["batches"], str):
            family, name = case["batches"].split("/")
            case["batches"] = shared_batches(family)[name]
    return cases


@functools.cache
def shared_batches(family: str) -> dict[str, Any]:
    """The batches of data/inputs/<family>.json by name."""
    text = (DATA / "inputs" / f"{family}.json").read_text(encoding="utf-8")
    return {case["name"]: case["batches"] for case in json.loads(text)["cases"]}


def batches_of(name: str, case: dict[str, Any]) -> list[list[torch.Tensor]]:
    """What TorchMetrics is given; batches without rows are left out."""
    batches = [[decode(x) for x in batch["inputs"]]
               for batch in case["batches"]]
    if case["options"].get("input") == "logits":
        # A batch of logits in [0, 1] would be taken for probabilities.
        batches = [[torch.cat(column) for column in zip(*batches)]]
    if is_retrieval(name):
        return documents_of(name, [inputs for inputs in batches
                                   if inputs[0].numel() > 0])
    return [[x.long() if x.dtype == torch.uint8 and
             is_classification(name) else x for x in inputs]
            for inputs in batches if inputs[0].numel() > 0]


def computed(name: str, case: dict[str, Any]) -> list[torch.Tensor]:
    """TorchMetrics' value or its parts."""
    batches = batches_of(name, case)
    if curve_readings.reading_of(name):
        return curve_readings.value(name, case["options"], batches)
    metric = make_metric_of_groups(name, case["options"], batches) \
        if is_of_groups(name) else make_metric(name, case["options"])
    for inputs in batches:
        metric.update(*inputs)
    value = metric.compute()
    if isinstance(value, (tuple, list)):
        return [padded(x) for x in value]
    return [value]


def padded(part: Any) -> torch.Tensor:
    """Curves of several lengths as rows, with NaN behind the shorter ones."""
    if isinstance(part, torch.Tensor):
        return part
    return torch.nn.utils.rnn.pad_sequence(
        list(part), batch_first=True, padding_value=float("nan"))


def is_retrieval(name: str) -> bool:
    """Whether the metric is one of ranked documents."""
    return name.startswith("Retrieval")


def documents_of(name: str, batches: list[list[torch.Tensor]]) \
        -> list[list[torch.Tensor]]:
    """The same documents as TorchMetrics takes them: with positive scores and
    grades of 0 and 1, except for NDCG."""
    least = min(inputs[0].min() for inputs in batches)
    graded = name == "RetrievalNormalizedDCG"
    return [[preds - least + 1, target if graded else target.clamp(max=1).ceil(
             ).long(), indexes] for preds, target, indexes in batches]


def is_lacking(name: str, case: dict[str, Any]) -> bool:
    """Whether TorchMetrics has no such thing."""
    options = case["options"]
    inputs = case["batches"][0]["inputs"]
    if is_retrieval(name):
        return len(inputs) > 3 or options.get("aggregation") == "none" or \
            bool(OWN_RETRIEVAL_OPTIONS & set(options)) or any(
                "-Infinity" in batch["inputs"][0]["data"]
                for batch in case["batches"])
    if name != "MeanMetric" and len(inputs) > 2:
        return True
    return bool(LACKING.get(name, set()) & set(options))


def difference(name: str, case: dict[str, Any], undefined: bool = False,
               threshold: bool = False) -> str:
    """How TorchMetrics' outcome differs, or an empty text. With `undefined`,
    values that are undefined here do not count; with `threshold`, the best
    thresholds of TorchMetrics' curves are taken."""
    try:
        values = computed(name, case)
    except LackingError:
        return ""
    except Exception as error:  # any failure of the peer is a difference
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    for (part, tensor), value in zip(case["expected"].items(), values):
        expected = decode(tensor).double()
        value = value.double()
        if part == "thresholds" and name.endswith("ROC"):
            expected.masked_fill_(expected.isposinf(), 1)
        if part == "threshold" and threshold:
            value = curve_readings.best_thresholds(
                name, case["options"], batches_of(name, case)).double()
        if undefined and value.shape == expected.shape:
            free = expected.isnan() & (
                (value == 0) | (value == 1) | (part == "threshold"))
            value = value.where(~free, expected)
        # TorchMetrics computes in float32.
        if value.shape != expected.shape or not torch.allclose(
                value, expected, rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"{part} {list(value.shape)} " \
                f"{value.flatten()[:5].tolist()} instead of " \
                f"{list(expected.shape)} {expected.flatten()[:5].tolist()}"
    return ""


def matching(name: str, patterns: dict[str, str]) -> str:
    """The pattern that a case fits; an empty text if there is none."""
    return next((pattern for pattern in patterns
                 if fnmatch.fnmatchcase(name, pattern)), "")


def explained(name: str, case: dict[str, Any]) -> tuple[str, list[str]]:
    """How TorchMetrics differs beyond what is known, and the patterns that are
    needed for the rest."""
    text = difference(name, case)
    if not text:
        return "", []
    full_name = f"{name}/{case['name']}"
    undefined = matching(full_name, UNDEFINED)
    threshold = matching(full_name, THRESHOLDS)
    for used in ([undefined], [threshold], [undefined, threshold]):
        if all(used) and not difference(name, case, undefined in used,
                                        threshold in used):
            return "", used
    anything = matching(full_name, ANYTHING)
    return ("", [anything]) if anything else (text, [])


def main() -> int:
    """Checks all files; 1 if there is a difference without a reason."""
    warnings.simplefilter("ignore")
    reasons = {**ANYTHING, **UNDEFINED, **THRESHOLDS}
    failed = False
    unused = set(reasons)
    for path in sorted(DATA.glob("*.json")):
        if path.stem in OTHER_RESULTS or not any(
                hasattr(home, path.stem) for home in
                (torchmetrics, classification, clustering, nominal,
                 regression, retrieval)):
            continue
        for case in cases_of(path):
            if is_lacking(path.stem, case):
                continue
            name = f"{path.stem}/{case['name']}"
            text, patterns = explained(path.stem, case)
            unused.difference_update(patterns)
            failed |= bool(text)
            if text:
                print(f"{name}: {text}")
            for pattern in patterns:
                print(f"{name}: {reasons[pattern]}")
    for pattern in sorted(unused):
        print(f"{pattern}: agrees [{reasons[pattern]}]")
    return int(failed or bool(unused))


if __name__ == "__main__":
    sys.exit(main())
