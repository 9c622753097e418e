"""Metrics and losses as functions, and similarities and distances between rows.

``multiclass_f1_score(preds, target, num_classes=3)`` and its neighbors are the metrics:
the value for these inputs alone, with a graph where the metric is differentiable, and
without a call of other ranks. Their names are those of the classes in lower case.

``clip_loss(image_features, text_features, logit_scale, local_loss=True)`` and its
neighbors are the modules of ``tally.losses``: inputs by position or name, options by
name.

``pairwise_euclidean_distance(x, y)`` and its neighbors give [N, M] for all rows of
x [N, D] and of y [M, D], or without y for those of x. ``reduction="mean"`` or "sum"
over the rows of y returns [N]; ``zero_diagonal``: the value of x[i] and y[i] is 0, by
default without y. They are differentiable.
"""

import re

from tally import losses
from tally._classes import CLASSES
from tally._inputs import tensor_of
from tally._library import METRICS, functions

# Words that are not split where their case changes.
_WORDS = {"SQuAD": "Squad", "MeanIoU": "MeanIou", "LogAUC": "LogAuc"}


def metric_function_name(metric):
    """"multiclass_f1_score" of "MulticlassF1Score"."""
    for word, plain in _WORDS.items():
        metric = metric.replace(word, plain)
    metric = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", metric)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", metric).lower()


def _metric_function(name, metric):
    metric_class = CLASSES[metric]
    options = set(metric_class.__signature__.parameters)
    inputs = {each["name"] for each in METRICS[metric]["inputs"]}

    def function(*values, **named):
        given = {k: named.pop(k) for k in list(named) if k in options and k not in inputs}
        return metric_class(**{**given, "dist_sync_on_step": False}).forward(*values, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = metric_class.__doc__
    return function


def _function(name, loss):
    options = set(getattr(losses, loss).__signature__.parameters)

    def function(*inputs, **named):
        given = {key: named.pop(key) for key in list(named) if key in options}
        return getattr(losses, loss)(**given)(*inputs, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(losses, loss).__doc__
    return function


# Modules with parameters have no such form.
_NAMES = {
    "approx_ndcg_loss": "ApproxNDCGLoss",
    "balanced_accuracy_loss": "BalancedAccuracyLoss",
    "barlow_twins_loss": "BarlowTwinsLoss",
    "box_overlap_loss": "BoxOverlapLoss",
    "clip_loss": "ClipLoss",
    "coca_loss": "CoCaLoss",
    "cross_entropy_loss": "GlobalCrossEntropyLoss",
    "dcl_loss": "DCLLoss",
    "dclw_loss": "DCLWLoss",
    "dice_loss": "DiceLoss",
    "distill_clip_loss": "DistillClipLoss",
    "f_beta_loss": "FBetaLoss",
    "fast_ap_loss": "FastAPLoss",
    "focal_tversky_loss": "FocalTverskyLoss",
    "focal_loss": "FocalLoss",
    "generalized_dice_loss": "GeneralizedDiceLoss",
    "jaccard_loss": "JaccardLoss",
    "lambda_loss": "LambdaLoss",
    "list_net_loss": "ListNetLoss",
    "lovasz_hinge_loss": "LovaszHingeLoss",
    "lovasz_softmax_loss": "LovaszSoftmaxLoss",
    "matthews_loss": "MatthewsLoss",
    "mmce_loss": "MMCELoss",
    "nt_xent_loss": "NTXentLoss",
    "pairwise_auc_loss": "PairwiseAUCLoss",
    "partial_auc_loss": "PartialAUCLoss",
    "sig_lip_loss": "SigLipLoss",
    "smooth_ap_loss": "SmoothAPLoss",
    "soft_calibration_loss": "SoftCalibrationLoss",
    "soft_rank": "SoftRank",
    "soft_sort": "SoftSort",
    "soft_spearman_loss": "SoftSpearmanLoss",
    "sup_con_loss": "SupConLoss",
    "tversky_loss": "TverskyLoss",
    "vicreg_loss": "VICRegLoss",
}
for _name, _loss in _NAMES.items():
    globals()[_name] = _function(_name, _loss)
for _metric, _entry in METRICS.items():
    if not _entry["is_wrapper"]:
        _name = metric_function_name(_metric)
        globals()[_name] = _metric_function(_name, _metric)



def _pairwise(function, x, y, *options, reduction, zero_diagonal):
    y = None if y is None else tensor_of(y)
    reduction = "none" if reduction is None else str(reduction)
    return function(tensor_of(x), y, *options, reduction, zero_diagonal)


def pairwise_cosine_similarity(x, y=None, reduction=None, zero_diagonal=None):
    """The cosine of the angle between rows; 0 for a row of zeros."""
    return _pairwise(
        functions.pairwise_cosine_similarity, x, y,
        reduction=reduction, zero_diagonal=zero_diagonal,
    )


def pairwise_euclidean_distance(x, y=None, reduction=None, zero_diagonal=None):
    """The Euclidean distance between rows, with a gradient of 0 at distance 0."""
    return _pairwise(
        functions.pairwise_euclidean_distance, x, y,
        reduction=reduction, zero_diagonal=zero_diagonal,
    )


def pairwise_linear_similarity(x, y=None, reduction=None, zero_diagonal=None):
    """The dot product of rows."""
    return _pairwise(
        functions.pairwise_linear_similarity, x, y,
        reduction=reduction, zero_diagonal=zero_diagonal,
    )


def pairwise_manhattan_distance(x, y=None, reduction=None, zero_diagonal=None):
    """The Manhattan distance between rows."""
    return _pairwise(
        functions.pairwise_manhattan_distance, x, y,
        reduction=reduction, zero_diagonal=zero_diagonal,
    )


def pairwise_minkowski_distance(x, y=None, exponent=2, reduction=None, zero_diagonal=None):
    """The Minkowski distance between rows, of an exponent of 1 or more."""
    return _pairwise(
        functions.pairwise_minkowski_distance, x, y, float(exponent),
        reduction=reduction, zero_diagonal=zero_diagonal,
    )


_PAIRWISE = [name for name in globals() if name.startswith("pairwise_")]

__all__ = sorted([*_NAMES, *_PAIRWISE])
