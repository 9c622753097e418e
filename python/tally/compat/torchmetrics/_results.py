"""In what results of TorchMetrics' classes differ from those of Tally's of the same name.

Classes that are not in the table below have the same results.
"""

import torch

from tally._words import reworded
from tally.compat.torchmetrics import _conventions, _detection

RETRIEVAL = (
    "RetrievalAUROC", "RetrievalFallOut", "RetrievalHitRate", "RetrievalMAP", "RetrievalMRR",
    "RetrievalNormalizedDCG", "RetrievalPrecision", "RetrievalPrecisionRecallCurve",
    "RetrievalRPrecision", "RetrievalRecall",
)


def _parts(value):
    return tuple(value.values())


def _rows(matrix, lengths):
    return [row[:length] for row, length in zip(matrix, lengths)]


def roc(metric, value):
    """Without the point of an infinite threshold; lists by class where exact."""
    fpr, tpr, thresholds = _parts(value)
    if metric.thresholds is not None:
        return fpr[..., 1:], tpr[..., 1:], _shared(thresholds)[..., 1:]
    thresholds = torch.where(thresholds == torch.inf, 1.0, thresholds)
    if fpr.ndim == 1:
        return fpr, tpr, thresholds
    lengths = _lengths(thresholds)
    return _rows(fpr, lengths), _rows(tpr, lengths), _rows(thresholds, lengths)


def _lengths(thresholds):
    """Behind the end of a row there is NaN."""
    return (~thresholds.isnan()).sum(1).tolist()


def _shared(thresholds):
    """Given ones are the same for all labels."""
    return thresholds[0] if thresholds.ndim > 1 else thresholds


def precision_recall_curve(metric, value):
    precision, recall, thresholds = _parts(value)
    if metric.thresholds is not None or precision.ndim == 1:
        return precision, recall, _shared(thresholds)
    lengths = _lengths(thresholds)
    ends = [length + 1 for length in lengths]
    return _rows(precision, ends), _rows(recall, ends), _rows(thresholds, lengths)


def at_fixed(metric, value):
    """Where the best is 0, any threshold will do, and TorchMetrics has none."""
    best, threshold = _parts(value)
    return best, threshold.masked_fill(best == 0, torch.nan)


def at_rate(metric, value):
    """TorchMetrics' curves have no infinite threshold: exact ones begin at 1."""
    best, threshold = _parts(value)
    highest = 1.0 if metric.thresholds is None else 1e6
    return best, threshold.masked_fill(threshold == torch.inf, highest)


def group_stat_rates(metric, value):
    return {f"group_{i}": rates for i, rates in enumerate(value)}


def fairness(metric, value):
    """Groups are part of TorchMetrics' names."""
    named = {}
    for short, name in (("DP", "demographic_parity"), ("EO", "equal_opportunity")):
        if name in value:
            low, high = value[name + "_groups"].tolist()
            named[f"{short}_{low}_{high}"] = value[name]
    return named


def of_queries(metric, value):
    """Aggregated, and 0 if all queries were skipped, as TorchMetrics documents it."""
    value = parts(metric, value)
    if isinstance(value, tuple):
        *curves, depths = value
        return *(_aggregated(metric, curve) for curve in curves), depths
    return _aggregated(metric, value)


def _aggregated(metric, values):
    if callable(metric.aggregation):
        counting = values[~values.isnan().reshape(len(values), -1).any(1)]
        values = (
            metric.aggregation(counting, dim=0)
            if len(counting)
            else values.new_full(values.shape[1:], torch.nan)
        )
    if metric.empty_target_action == "skip" and metric._update_count:
        values = values.masked_fill(values.isnan(), 0.0)
    return values


def as_torchmetrics(name, error):
    """The same error with TorchMetrics' words in front, where it has some."""
    if "(empty_target_action=error)" not in str(error):
        return reworded(error)
    lacking = "negative" if name == "RetrievalFallOut" else "positive"
    return ValueError(
        f"`compute` method was provided with a query with no {lacking} target. {error}"
    )


def parts(metric, value):
    return _parts(value) if isinstance(value, dict) else value


def named(metric, value):
    return dict(value)


def of_own_dtype(metric, value):
    """Numbers of any kind are kept as floating-point ones."""
    return value.to(metric._dtype)


def values(metric, value):
    """The same, and a list where there is none."""
    return of_own_dtype(metric, value) if value.numel() else []


def zero_agreement(metric, value):
    """TorchMetrics has 0 where all is of one category, and where no event is."""
    return value if _conventions.are_tallys() else value.nan_to_num(0.0)


def concordance(metric, value):
    """0 of a constant or of what is unrelated: TorchMetrics' code tells them apart."""
    return value if _conventions.are_tallys() else value.masked_fill(value == 0, torch.nan)


def distances(metric, value):
    """One by one as int32."""
    return value.int() if metric.reduction in (None, "none") else value


def zero_union(metric, value):
    """TorchMetrics has -1 for a class that never occurs."""
    return value if _conventions.are_tallys() else value.nan_to_num(-1.0)


RESULTS = {
    "CatMetric": values,
    "ConcordanceCorrCoef": concordance,
    "CriticalSuccessIndex": zero_agreement,
    "FleissKappa": zero_agreement,
    "EditDistance": distances,
    "MeanIoU": zero_union,
    "BinaryFairness": fairness,
    "BinaryGroupStatRates": group_stat_rates,
    "ROUGEScore": named,
    **_detection.RESULTS,
    **dict.fromkeys(RETRIEVAL, of_queries),
}
for _kind in ("Binary", "Multiclass", "Multilabel"):
    RESULTS[_kind + "ROC"] = roc
    RESULTS[_kind + "PrecisionRecallCurve"] = precision_recall_curve
    for _name in ("RecallAtFixedPrecision", "PrecisionAtFixedRecall"):
        RESULTS[_kind + _name] = at_fixed
    for _name in ("SensitivityAtSpecificity", "SpecificityAtSensitivity"):
        RESULTS[_kind + _name] = at_rate
