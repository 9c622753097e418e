"""Values by TorchMetrics' own compute, of the states that it would have.

Where a value is undefined, conventions decide, and warnings go with them: here they are
TorchMetrics' because its code is what runs. Everywhere else the value is Tally's.
"""

import torch

# Of one or more thresholds or points of curves, conventions choose.
_ALWAYS = (
    "EER", "LogAUC", "PrecisionAtFixedRecall", "RecallAtFixedPrecision",
    "SensitivityAtSpecificity", "SpecificityAtSensitivity",
)
_IF_UNDEFINED = ("AUROC", "AveragePrecision", "PrecisionRecallCurve", "ROC")
_KINDS = ("Binary", "Multiclass", "Multilabel")

# Counts, of which there may be none at all.
COUNTS = {
    kind + name
    for kind in _KINDS
    for name in (
        "Accuracy", "CohenKappa", "ExactMatch", "F1Score", "FBetaScore", "HammingDistance",
        "JaccardIndex", "MatthewsCorrCoef", "NegativePredictiveValue", "Precision", "Recall",
        "Specificity",
    )
}

# Curves of which the mean is asked for.
_AVERAGED = ("MulticlassPrecisionRecallCurve", "MulticlassROC")

ALWAYS = {kind + name for kind in _KINDS for name in _ALWAYS}
CLASSES = ALWAYS | {
    kind + name for kind in _KINDS for name in _IF_UNDEFINED
}


def _of_histogram(state):
    """[classes, 2, bins] as TorchMetrics' confusion matrices at each threshold."""
    above = state.flip(-1).cumsum(-1).flip(-1)[..., 1:-1]
    negative, positive = above.unbind(1)
    no, yes = state[..., :-1].sum(-1).unsqueeze(-1).unbind(1)
    matrix = torch.stack([no - negative, negative, yes - positive, positive], -1)
    return matrix.unflatten(-1, (2, 2)).transpose(0, 1)


def states_of_curves(metric):
    """TorchMetrics' states; None where scores are not kept one by one."""
    state, name = metric._tally.metric_state, metric._real.__name__
    is_micro = name.startswith("Multiclass") and getattr(metric, "average", None) == "micro"
    if metric.thresholds is not None:
        counts = state["histogram"]
        if counts is None or is_micro:  # TorchMetrics' states of those have no right shape
            return None if is_micro else {}
        matrix = _of_histogram(counts)
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


def has_nan(value):
    """Whether a part of a result is NaN."""
    if isinstance(value, torch.Tensor):
        if not value.ndim:
            number = value.item()
            return number != number
        return value.is_floating_point() and bool(value.isnan().any())
    if isinstance(value[0], list):  # by class
        return any(
            bool(torch.cat([row.reshape(-1) for row in each]).isnan().any()) for each in value
        )
    return any(map(has_nan, value))


def _is_undefined(metric, value):
    """Whether conventions decide a value; None where that is up to the classes that occur."""
    name, average = metric._real.__name__, metric.__dict__.get("average")
    if name in ALWAYS or (name in _AVERAGED and average == "macro") or has_nan(value):
        return True
    if name.endswith(("AUROC", "AveragePrecision")) and metric._has_own_thresholds:
        return True
    return None if average in ("macro", "weighted") else False


def _lacks_classes(metric, target):
    if metric._real.__name__.startswith("Multilabel"):
        return _labels_lack_some(target)
    return _lacks_some(target, metric.num_classes, metric.ignore_index)


def _state_lacks_classes(metric):
    state = metric._tally.metric_state
    if state["histogram"] is not None:
        return bool((state["histogram"].sum(-1) == 0).any())
    return state["target"] is not None and _lacks_classes(metric, state["target"])


def _has_nan_scores(state):
    """Whether values are NaN for that."""
    if state["histogram"] is not None:
        return bool(state["histogram"][..., -1].any())
    return state["preds"] is not None and bool(state["preds"].isnan().any())


def _own(metric):
    """TorchMetrics' object of the same arguments."""
    args, kwargs = metric._given
    own = metric._real(*args, **kwargs)
    if metric._dtype != own._dtype:
        own.set_dtype(metric._dtype)
    return own.to(metric._device)


def value_of_counts(metric, value):
    """The value of counts, which is NaN: TorchMetrics' of none, if there are none."""
    states = metric._tally.metric_state.values()
    if any(state is not None and bool(state.any()) for state in states):
        return value
    if metric.__dict__.get("multidim_average") == "samplewise" and metric._update_count:
        return value
    return _computed(metric, _own(metric))


def _computed(metric, own):
    own._update_count, own._to_sync = metric._update_count, False
    return own.compute() if metric._squeezes else own.compute.__wrapped__()


def value_of_states(metric, value):
    """The value of what is accumulated: `value`, if nothing is undefined in it."""
    decided = _is_undefined(metric, value)
    if decided is None:
        decided = _state_lacks_classes(metric)
    if not decided or _has_nan_scores(metric._tally.metric_state):
        return value
    states = states_of_curves(metric)
    if states is None:
        return value
    own = _own(metric)
    for name, state in states.items():
        setattr(own, name, state)
    try:
        return _computed(metric, own)
    except IndexError:  # a label without a counted position
        return value


def value_of_batch(metric, value, args, kwargs):
    """The value of a batch, of curves, or NaN of counts; over ranks, if all give theirs."""
    inputs = args
    if kwargs or len(args) != 2 or not all(isinstance(each, torch.Tensor) for each in args):
        inputs = metric._in_order(args, kwargs)
    preds, target = inputs
    if metric._has_states:
        decided = _is_undefined(metric, value)
        if decided is None:  # targets of other ranks are not here
            decided = metric.dist_sync_on_step or _lacks_classes(metric, target)
    else:
        decided = metric.dist_sync_on_step or bool((target == metric.ignore_index).all())
    # Over ranks all give theirs, or none: NaN here is not known there.
    has_nan_scores = metric._has_states and not metric.dist_sync_on_step
    if not decided or (has_nan_scores and bool(preds.isnan().any())):
        return value
    own = _own(metric)
    own.validate_args = False  # Tally has taken them
    own._to_sync = metric.dist_sync_on_step
    try:
        own.update(preds, target.long())
        return own.compute()
    except IndexError:
        return value
