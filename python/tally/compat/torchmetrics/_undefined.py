"""Values by TorchMetrics' own compute, of the states that it would have.

Where a value is undefined, conventions decide, and warnings go with them: here they are
TorchMetrics' because its code is what runs. Everywhere else the value is Tally's.
"""

import torch
from torchmetrics.functional.classification.eer import _eer_compute

from tally.compat.torchmetrics import _conventions, _corrections, _their_states
from tally.compat.torchmetrics._names import DROP_INS

# Of one or more thresholds or points of curves conventions choose.
_ALWAYS = (
    "EER", "LogAUC", "PrecisionAtFixedRecall", "RecallAtFixedPrecision",
    "SensitivityAtSpecificity", "SpecificityAtSensitivity",
)
_KINDS = ("Binary", "Multiclass", "Multilabel")
_OF_CURVES = {kind + name for kind in _KINDS for name in _ALWAYS}

# Points of a curve, by itself.
_EQUAL_ERRORS = {kind + "EER" for kind in _KINDS}

# Counts, of which there may be none at all.
_COUNTS = {
    kind + name
    for kind in _KINDS
    for name in (
        "Accuracy", "CohenKappa", "ExactMatch", "F1Score", "FBetaScore", "HammingDistance",
        "JaccardIndex", "MatthewsCorrCoef", "NegativePredictiveValue", "Precision", "Recall",
        "Specificity",
    )
}

# Those of which some means are over the classes or labels that TorchMetrics chooses.
_RATES = {
    kind + name
    for kind in _KINDS
    for name in (
        "Accuracy", "F1Score", "FBetaScore", "HammingDistance", "NegativePredictiveValue",
        "Precision", "Recall", "Specificity",
    )
}

# Others that are undefined of one sample, or of constants.
_OTHERS = {
    "ConcordanceCorrCoef", "ExplainedVariance", "PearsonCorrCoef", "R2Score",
    "RelativeSquaredError", "RetrievalRecallAtFixedPrecision", "SpearmanCorrCoef",
}

# Of texts, which may have no words to find.
_OF_WORDS = {"CharErrorRate", "WordErrorRate"}
_OF_EDITS = {"TranslationEditRate"}

# Curves of which the mean is asked for.
_AVERAGED = ("MulticlassPrecisionRecallCurve", "MulticlassROC")

# Rows that a batch needs to have a value.
LEAST_ROWS = {"R2Score": 2}

# When TorchMetrics' compute is asked: never, if a value is undefined, if some class may
# lack samples, or always.
NEVER, IF_UNDEFINED, IF_CLASSES_LACK, ALWAYS = range(4)


def when(metric):
    """Which of these a metric's options mean."""
    name = metric._real.__name__
    if _conventions.are_tallys():
        return NEVER
    if name in _OF_WORDS or (name == "MultilabelJaccardIndex" and _averages_labels(metric)):
        return ALWAYS
    if name.endswith("StatScores") and (
        metric.multidim_average == "samplewise"  # one sample has no dimension
        or metric.__dict__.get("average") == "weighted"  # by no weight at all: NaN
    ):
        return ALWAYS
    if name in _OF_CURVES or name == "BinaryFairness":  # groups without positives are 0
        return ALWAYS
    if name in _their_states.CURVES:
        return IF_CLASSES_LACK
    if name in _RATES and _goes_by_choice(metric, name):
        return IF_UNDEFINED if _corrections.excludes_ignored(metric) else ALWAYS
    return IF_UNDEFINED if name in _COUNTS | _OTHERS | _OF_EDITS else NEVER


def _goes_by_choice(metric, name):
    """Whether a mean is over classes, labels or samples that TorchMetrics chooses."""
    if metric.multidim_average == "samplewise":
        return True
    if name == "MulticlassHammingDistance" and metric.average in (None, "none"):
        return True  # a class that never occurs is 1, the worst
    if name.startswith("Multiclass"):
        return metric.top_k > 1 and metric.average == "macro"
    return name.startswith("Multilabel") and _averages_labels(metric)


def _averages_labels(metric):
    """Whether a mean is of labels that may have no weight, or no position that counts."""
    has_ignored = metric.average == "macro" and metric.ignore_index is not None
    return has_ignored or metric.average == "weighted"


def may_lack_in_batches(metric):
    """Whether a value of a batch is looked at: of counts only if rows may be ignored."""
    asked = metric._asked
    is_count = metric._real.__name__ in _COUNTS
    return bool(asked) and (
        asked != IF_UNDEFINED or not is_count or metric.ignore_index is not None
    )


def _lacks_some(target, classes, ignored):
    """Whether a class has no sample, or all of them."""
    if target.ndim != 1:
        target = target.reshape(-1)
    if ignored is not None:
        target = target[target != ignored]
    return classes < 2 or torch.bincount(target.long(), minlength=classes).min().item() == 0


def _labels_lack_some(target):
    """The same of any label."""
    return not all(
        bool((target == each).transpose(0, 1).flatten(1).any(1).all()) for each in (0, 1)
    )


def is_undefined(value):
    """Whether a part of a result is NaN or infinite."""
    if isinstance(value, torch.Tensor):
        if not value.ndim:
            number = value.item()
            return number - number != 0
        return value.is_floating_point() and not bool(value.isfinite().all())
    if isinstance(value[0], list):  # by class
        return any(
            not bool(torch.cat([row.reshape(-1) for row in each]).isfinite().all())
            for each in value
        )
    return any(map(is_undefined, value))


def _is_decided(metric, value):
    """Whether conventions decide a value; None where that is up to the classes that occur."""
    name, average = metric._real.__name__, metric.__dict__.get("average")
    if metric._asked == ALWAYS or (name in _AVERAGED and average == "macro"):
        return True
    if is_undefined(value):
        return True
    if metric._asked == IF_UNDEFINED:
        return False
    if name.endswith(("AUROC", "AveragePrecision")) and metric._has_own_thresholds:
        return True
    return None if average in ("macro", "weighted") else False


def _lacks_classes(metric, target):
    if metric._real.__name__.startswith("Multilabel"):
        return _labels_lack_some(target)
    return _lacks_some(target, metric.num_classes, metric.ignore_index)


def _state_lacks_classes(metric, state):
    if state["histogram"] is not None:
        return bool((state["histogram"].sum(-1) == 0).any())
    return state["target"] is not None and _lacks_classes(metric, state["target"])


def _has_nan_inputs(metric, state):
    """Whether values are NaN for that."""
    name = metric._real.__name__
    if state.get("histogram") is not None:
        return bool(state["histogram"][..., -1].any())
    if state.get("preds") is not None:
        return bool(state["preds"].isnan().any())
    if name in _RATES or "nans" in state:
        counts = [state[each] for each in ("counts", "samples") if state.get(each) is not None]
        if "nans" in state:
            return bool(torch.as_tensor(state["nans"]).any())
        if name.startswith("Multiclass"):
            return any(bool(each[..., -2].any()) for each in counts)
        return any(bool(each[..., -1, :].any()) for each in counts)
    return False


def _own(metric):
    """TorchMetrics' object of the same arguments, without data."""
    kept = metric.__dict__.get("_theirs")
    if kept is not None and kept[1:] == (metric._dtype, metric._device):
        kept[0].reset()
        return kept[0]
    args, kwargs = metric._given
    own = metric._real(*args, **kwargs)
    if metric._dtype != own._dtype:
        own.set_dtype(metric._dtype)
    own.validate_args = False  # what it is given Tally has taken
    own = own.to(metric._device)
    metric.__dict__["_theirs"] = (own, metric._dtype, metric._device)
    return own


def _nothing(state):
    """Whether nothing has been counted."""
    return not any(each is not None and bool(each.any()) for each in state.values())


def _of_states(metric, states):
    own = _own(metric)
    for name, state in states.items():
        setattr(own, name, state)
    own._update_count, own._to_sync = metric._update_count, False
    return own.compute() if metric._squeezes else own.compute.__wrapped__()


def _chosen(metric, value, theirs):
    """Of corrected values only those that are undefined."""
    if metric._real.__name__ not in _RATES or not _corrections.excludes_ignored(metric):
        return theirs
    return torch.where(value.isfinite(), value, theirs) if value.shape == theirs.shape else value


def value_of_states(metric, value):
    """The value of what is accumulated: `value`, if nothing is undefined in it."""
    decided = _is_decided(metric, value)
    if decided is False:
        return value
    state = metric._tally.metric_state  # a copy: of exact curves, of all rows
    if decided is None and not _state_lacks_classes(metric, state):
        return value
    if _has_nan_inputs(metric, state):
        return value
    states = _their_states.states_of(metric, state)
    if states is None and metric._asked == IF_UNDEFINED and _nothing(state):
        states = {}
    if states is None:
        return value
    try:
        return _chosen(metric, value, _of_states(metric, states))
    except IndexError:  # a label without a counted position
        return value


def check_batch(metric, args, kwargs):
    """Raises what TorchMetrics does for a batch of too few rows, before it is taken."""
    preds = metric._in_order(args, kwargs)[0]
    if preds.numel() and preds.shape[:1].numel() < metric._least:
        own = _own(metric)
        own.update(*args, **kwargs)
        own.compute()


def _of_curve(metric, args, kwargs):
    """TorchMetrics' value for a curve that is a drop-in class'."""
    curve = metric.__dict__.get("_curve")
    if curve is None or (curve._dtype, curve._device) != (metric._dtype, metric._device):
        given, options = metric._given
        curve = DROP_INS[metric._real.__bases__[0]](*given, **options)
        curve = metric.__dict__["_curve"] = curve.set_dtype(metric._dtype).to(metric._device)
        curve.__dict__["_squeezes"] = False
    try:
        fpr, tpr, _ = curve(*args, **kwargs)
        return _eer_compute(fpr, tpr)
    finally:
        curve.reset()


def value_of_batch(metric, value, args, kwargs):
    """The value of a batch; over ranks, if all give theirs."""
    inputs = args
    if metric._real.__name__ in _OF_WORDS | _OF_EDITS:
        target = metric._in_order(args, kwargs)[1]
        texts = [target] if isinstance(target, str) else target
        if metric._real.__name__ in _OF_WORDS and any(each.strip() for each in texts):
            return value
        own = _own(metric)
        own._to_sync = metric.dist_sync_on_step
        own.update(*args, **kwargs)
        return own.compute()
    if kwargs or not all(isinstance(each, torch.Tensor) for each in args):
        inputs = metric._in_order(args, kwargs)
    preds, target, *groups = inputs
    decided = _is_decided(metric, value)
    if decided is None:  # targets of other ranks are not here
        decided = metric.dist_sync_on_step or _lacks_classes(metric, target)
    # Over ranks all give theirs, or none: NaN here is not known there.
    if not decided or (not metric.dist_sync_on_step and bool(preds.isnan().any())):
        return value
    try:
        if metric._real.__name__ in _EQUAL_ERRORS:
            return _of_curve(metric, args, kwargs)
        own = _own(metric)
        own._to_sync, own._enable_grad = metric.dist_sync_on_step, True
        is_whole = metric._guesses and target is not None
        own.update(preds, target.long() if is_whole else target, *groups)
        theirs = own.compute if metric._squeezes or own._to_sync else own.compute.__wrapped__
        value = _chosen(metric, value, theirs())
        own.reset()  # which has the graph
    except IndexError:
        pass
    return value
