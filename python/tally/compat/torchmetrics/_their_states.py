"""The states that TorchMetrics' objects would have, of what Tally's have accumulated.

By name, as TorchMetrics has them: its attributes, checkpoints, and what its own compute
begins with.
"""

import torch

_KINDS = ("Binary", "Multiclass", "Multilabel")


def _histogram(state):
    """[classes, 2, bins] as TorchMetrics' confusion matrices at each threshold."""
    above = state.flip(-1).cumsum(-1).flip(-1)[..., 1:-1]
    negative, positive = above.unbind(1)
    no, yes = state[..., :-1].sum(-1).unsqueeze(-1).unbind(1)
    matrix = torch.stack([no - negative, negative, yes - positive, positive], -1)
    return matrix.unflatten(-1, (2, 2)).transpose(0, 1)


def _curve(metric, state):
    """None where scores are not kept one by one."""
    name = metric._real.__name__
    is_micro = name.startswith("Multiclass") and getattr(metric, "average", None) == "micro"
    if metric.thresholds is not None:
        counts = state["histogram"]
        if counts is None or is_micro:  # TorchMetrics' states of those have no right shape
            return None if is_micro else {}
        matrix = _histogram(counts)
        return {"confmat": matrix.squeeze(1) if name.startswith("Binary") else matrix}
    preds, target = state["preds"], state["target"]
    if preds is None or state["score_runs"] is not None:
        return {} if state["score_runs"] is None else None
    target = target.long()
    if name.startswith("Multilabel") and metric.ignore_index is not None:
        target = target.masked_fill(target == 2, metric.ignore_index)
    if is_micro:
        target = torch.nn.functional.one_hot(target, metric.num_classes).flatten()
        preds = preds.flatten()
    return {"preds": [preds], "target": [target]}


def _elements(state):
    """[..., 5, labels] of counts: true positives, predicted, target, total, NaN."""
    if "counts" in state:
        return state["samples"] if state["counts"] is None else state["counts"]
    if state["samples"] is not None:
        return state["samples"]
    names = ("true_positives", "predicted", "target", "total", "nans")
    counts = torch.stack([torch.as_tensor(state[name]).cpu() for name in names])
    elsewhere = state["device_counts"]
    return (counts if elsewhere is None else counts + elsewhere.cpu()).unsqueeze(-1)


def _counts_of_elements(state):
    """True and false positives, true and false negatives."""
    counts = _elements(state)
    if counts is None:
        return None
    right, predicted, target, total, _ = counts.unbind(-2)
    return right, predicted - right, total - predicted - target + right, target - right


def _counts_of_classes(metric, state):
    rows = state["counts"] if state["counts"] is not None else state["samples"]
    if rows is None:
        return None
    right, predicted, target = rows[..., : 3 * metric.num_classes].unflatten(
        -1, (3, metric.num_classes)
    ).unbind(-2)
    total = target.sum(-1, keepdim=True)
    return right, predicted - right, total - predicted - target + right, target - right


def _counts(metric, state):
    if state["sums"] is not None:
        return None
    if metric.multidim_average == "samplewise" and state["samples"] is None:
        return {}
    is_of_classes = metric._real.__name__.startswith("Multiclass")
    counts = _counts_of_classes(metric, state) if is_of_classes else _counts_of_elements(state)
    if counts is None:
        return {}
    is_micro = is_of_classes and metric.average == "micro" and metric.top_k == 1
    if metric.multidim_average == "samplewise":
        if metric._real.__name__.startswith("Binary"):
            counts = [each.squeeze(-1) for each in counts]
        elif not is_of_classes and len(counts[0]) == 1:  # one sample has no dimension there
            counts = [each.squeeze(0) for each in counts]
        return {name: [each] for name, each in zip(("tp", "fp", "tn", "fn"), counts)}
    if is_micro:
        counts = [each.sum(-1, keepdim=True) for each in counts]
    return dict(zip(("tp", "fp", "tn", "fn"), counts))


def _groups(metric, state):
    counts = _counts_of_elements({**state, "samples": None})
    return {} if counts is None else dict(zip(("tp", "fp", "tn", "fn"), counts))


def _matrix(metric, state):
    """[2, 2] of elements, or of each label."""
    if state["sums"] is not None:
        return None
    counts = _counts_of_elements(state)
    if counts is None:
        return {}
    right, wrong, none, missed = counts
    matrix = torch.stack([none, wrong, missed, right], -1).unflatten(-1, (2, 2))
    is_binary = metric._real.__name__.startswith("Binary")
    return {"confmat": matrix.squeeze(0) if is_binary else matrix}


def _class_matrix(metric, state):
    if "pairs" not in state or state["sums"] is not None:  # of too many classes: counts
        return None
    matrix, classes = state["counts"], metric.num_classes
    if state["pairs"] is not None:
        pairs = torch.bincount(state["pairs"].long(), minlength=classes**2)
        pairs = pairs.unflatten(0, (classes, classes))
        matrix = pairs if matrix is None else matrix + pairs
    return {} if matrix is None else {"confmat": matrix}


def _matches(metric, state):
    if state["samples"] is not None:
        correct = [state["samples"].long()]
        return {"correct": correct, "total": torch.ones(1, dtype=torch.long)}
    return {name: state[of].long().reshape(1) for name, of in
            (("correct", "matches"), ("total", "total"))}


def _samples(*names):
    """Lists of what is kept as it came."""
    def states(metric, state):
        if state[names[0]] is None:
            return {}
        return {name: [state[name]] for name in names}

    return states


def _columns(metric, state):
    """The same, a column for each output."""
    found = _samples("preds", "target")(metric, state)
    return {name: [each.reshape(len(each), -1) for each in rows] for name, rows in found.items()}


def _queries(metric, state):
    if state["indexes"] is None:
        return {}
    if state["counts"] is not None or state["doc_ids"] is not None:
        return None
    target = state["target"]
    is_graded = metric._real.__name__ == "RetrievalNormalizedDCG"
    return {
        "indexes": [state["indexes"]], "preds": [state["preds"]],
        "target": [target if is_graded and bool((target % 1).any()) else target.long()],
    }


def _sums(error, total, whole=True):
    """A sum of errors, and how many there are."""
    def states(metric, state):
        several = state["output_sums"]
        count = state["weight"]
        if not count:
            return {}
        return {
            error: state["sum"] if several is None else several,
            total: count.long() if whole else count,
        }

    return states


def _moments_of(state):
    """Their mean, squares and products, by name; None without data."""
    names = (
        "mean_preds", "mean_target", "squares_preds", "squares_target", "products",
        "squared_error",
    )
    if not int(state["total"]):
        return None
    if state["outputs"] is not None:
        return dict(zip(names, state["outputs"]))
    return {name: torch.as_tensor(state[name]) for name in names}


def _squares(moments, count):
    """Of targets: of their sums and sums of squares."""
    mean = moments["mean_target"]
    return mean * count, moments["squares_target"] + mean * mean * count


def _correlation(metric, state):
    """Of the largest deviation, by which TorchMetrics divides both, the standard one."""
    moments, count = _moments_of(state), state["weight"]
    if moments is None:
        return {}
    found = {
        "mean_x": moments["mean_preds"], "mean_y": moments["mean_target"],
        "var_x": moments["squares_preds"], "var_y": moments["squares_target"],
        "corr_xy": moments["products"],
    }
    for name in ("x", "y"):
        found[f"max_abs_dev_{name}"] = (found[f"var_{name}"] / (count - 1).clamp(min=1)).sqrt()
    found["n_total"] = count
    return {
        name: each.reshape(1) if metric.num_outputs == 1 else each.expand(metric.num_outputs)
        for name, each in found.items()
    }


def _explained(metric, state):
    moments, count = _moments_of(state), state["weight"]
    if moments is None:
        return {}
    total, squares = _squares(moments, count)
    return {
        "sum_squared_error": squares, "sum_error": total,
        "residual": moments["squared_error"], "total": count.long(),
    }


def _explained_variance(metric, state):
    moments, count = _moments_of(state), state["weight"]
    if moments is None:
        return {}
    total, squares = _squares(moments, count)
    return {
        "sum_error": (moments["mean_target"] - moments["mean_preds"]) * count,
        "sum_squared_error": moments["squared_error"],
        "sum_target": total, "sum_squared_target": squares, "num_obs": count,
    }


def _aggregate(**names):
    """Numbers of other names."""
    def states(metric, state):
        return {name: state[of] for name, of in names.items()}

    return states


def _word_errors(metric, state):
    """Edits, and how many words there were to find."""
    edits = sum(state[name] for name in ("substitutions", "deletions", "insertions"))
    total = sum(state[name] for name in ("hits", "substitutions", "deletions"))
    return {name: torch.as_tensor(each).float() for name, each in
            (("errors", edits), ("total", total))}


def _values(metric, state):
    return {"value": [] if state["value"] is None else [state["value"]]}


_RATES = (
    "Accuracy", "F1Score", "FBetaScore", "HammingDistance", "NegativePredictiveValue",
    "Precision", "Recall", "Specificity", "StatScores",
)
_CURVES = (
    "AUROC", "AveragePrecision", "EER", "LogAUC", "PrecisionAtFixedRecall",
    "PrecisionRecallCurve", "RecallAtFixedPrecision", "ROC", "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
)
_MATRICES = (
    "BinaryCohenKappa", "BinaryConfusionMatrix", "BinaryJaccardIndex", "BinaryMatthewsCorrCoef",
    "MultilabelConfusionMatrix", "MultilabelJaccardIndex", "MultilabelMatthewsCorrCoef",
)
_CLASS_MATRICES = (
    "MulticlassCohenKappa", "MulticlassConfusionMatrix", "MulticlassJaccardIndex",
    "MulticlassMatthewsCorrCoef",
)
_RETRIEVAL = (
    "RetrievalAUROC", "RetrievalFallOut", "RetrievalHitRate", "RetrievalMAP", "RetrievalMRR",
    "RetrievalNormalizedDCG", "RetrievalPrecision", "RetrievalPrecisionRecallCurve",
    "RetrievalRPrecision", "RetrievalRecall", "RetrievalRecallAtFixedPrecision",
)

# By class: of the metric and its state.
_STATES = {
    **{kind + name: _counts for kind in _KINDS for name in _RATES},
    **{kind + name: _curve for kind in _KINDS for name in _CURVES},
    **dict.fromkeys(_MATRICES, _matrix),
    "BinaryFairness": _groups,
    "BinaryGroupStatRates": _groups,
    **dict.fromkeys(_CLASS_MATRICES, _class_matrix),
    "MulticlassExactMatch": _matches,
    "MultilabelExactMatch": _matches,
    **dict.fromkeys(_RETRIEVAL, _queries),
    "SpearmanCorrCoef": _samples("preds", "target"),
    "KendallRankCorrCoef": _columns,
    "MeanSquaredError": _sums("sum_squared_error", "total"),
    "MeanAbsoluteError": _sums("sum_abs_error", "total"),
    "LogCoshError": _sums("sum_log_cosh_error", "total"),
    "MeanSquaredLogError": _sums("sum_squared_log_error", "total"),
    "MeanAbsolutePercentageError": _sums("sum_abs_per_error", "total", whole=False),
    "TweedieDevianceScore": _sums("sum_deviance_score", "num_observations"),
    "ConcordanceCorrCoef": _correlation,
    "PearsonCorrCoef": _correlation,
    "R2Score": _explained,
    "RelativeSquaredError": _explained,
    "ExplainedVariance": _explained_variance,
    "WordErrorRate": _word_errors,
    "CharErrorRate": _word_errors,
    "SumMetric": _aggregate(sum_value="sum"),
    "MeanMetric": _aggregate(mean_value="sum", weight="weight"),
    "MaxMetric": _aggregate(max_value="max"),
    "MinMetric": _aggregate(min_value="min"),
    "CatMetric": _values,
}

# Classes of which there can be no such states, and what there is.
_KEPT = dict.fromkeys(
    ("BinaryCalibrationError", "MulticlassCalibrationError"),
    "three sums for each bin, where TorchMetrics keeps the confidence of each sample",
)

CURVES = {kind + name for kind in _KINDS for name in _CURVES}


# Classes whose results are float32 again with states of fewer bits.
_FLOAT32_AGAIN = {
    "BLEUScore", "CHRFScore", "CramersV", "ExplainedVariance", "JensenShannonDivergence",
    "KLDivergence", "PeakSignalNoiseRatio", "PearsonsContingencyCoefficient", "R2Score",
    "SacreBLEUScore", "TschuprowsT",
}


def take_dtype(metric, dtype):
    """Whether a model's dtype is that of TorchMetrics' results: not of counts and rows."""
    name = metric._real.__name__
    if name == "CatMetric":
        return True
    if name in _FLOAT32_AGAIN and dtype.itemsize < torch.float32.itemsize:
        return False
    return any(
        isinstance(default, torch.Tensor) and default.is_floating_point()
        for default in metric._their_defaults.values()
    )


def _as_kept(metric, value):
    """On the metric's device, with its floating-point type where sums are doubles."""
    if isinstance(value, list):
        return [each.to(metric._device) for each in value]
    value = value.detach().to(metric._device)
    return value.to(metric._dtype) if value.is_floating_point() else value


def has_states(name):
    """Whether those of a class are known."""
    return name in _STATES


def why_not_known(metric):
    """A sentence on a metric whose states are not known."""
    name = metric._real.__name__
    if name in _KEPT:
        return (
            f"Tally keeps {_KEPT[name]}; tally_state has them, and corrections(off=[{name!r}]) "
            "takes TorchMetrics' own class"
        )
    return (
        "what Tally has accumulated does not say what TorchMetrics' state would be; "
        "tally_state is it"
    )


def states_of(metric, state=None):
    """By name, without those that are as at the beginning; None where they are not known.

    `state`: the metric's metric_state, if it is at hand.
    """
    states = _STATES.get(metric._real.__name__)
    found = states and states(metric, metric._tally.metric_state if state is None else state)
    if found is None:
        return None
    return {name: _as_kept(metric, each) for name, each in found.items()}
