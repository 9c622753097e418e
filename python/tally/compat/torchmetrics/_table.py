"""In what TorchMetrics' classes differ from Tally's of the same name.

Classes that are in none of these tables have the same options and inputs; those of
other results are in _results.py.
"""

import torch
import torchmetrics

import tally
from tally._metric import DerivedMetric
from tally.compat.torchmetrics import _conventions, _detection, _features, _images
from tally.compat.torchmetrics._results import RETRIEVAL

# Not in TorchMetrics' place: wrappers are left to it, around metrics of either kind, and
# what takes dictionaries of answers.
LEFT_OUT = {
    "BootStrapper",
    "ClasswiseWrapper",
    "MinMaxMetric",
    "MultioutputWrapper",
    "MultitaskWrapper",
    "Running",
    "SQuAD",
    "BinaryTargetTransformer",
    "LambdaInputTransformer",
}

# Options and inputs of another name. A class of which TorchMetrics has options or inputs
# that are not Tally's is left to TorchMetrics.
RENAMED = {"multiclass_mode": "mode", "metric_func": "metric"}
INPUTS = {"targets": "target"}
INPUTS_OF = _features.INPUTS

# Options that change nothing where Tally's class does not have them: how logits become
# probabilities, how far two classes are from each other, after how many steps equations
# that Tally solves count as solved, and where a CPU's work ends up.
NEEDLESS = {"normalization", "weights", "use_cg_iter", "keep_same_device"}


# Options that Tally's class does not have, and OPTIONS or ONLY_WITH looks after.
LOOKED_AFTER = {
    "CHRFScore": {"return_sentence_level_score"},
    "ExtendedEditDistance": {"return_sentence_level_score"},
    "ROUGEScore": {"normalizer", "tokenizer"},
    "SacreBLEUScore": {"smooth"},
    "TranslationEditRate": {"return_sentence_level_score"},
    **_detection.LOOKED_AFTER,
    **_features.LOOKED_AFTER,
    **_images.LOOKED_AFTER,
}


def nan_strategy(options):
    """NaN that TorchMetrics warns of or replaces is refused, and then looked at."""
    strategy = options.get("nan_strategy")
    is_refused = strategy == "warn" or isinstance(strategy, (int, float))
    return {**options, "nan_strategy": "error"} if is_refused else options


def nan_strategy_of_rows(options):
    """Tally leaves out rows with NaN, TorchMetrics the NaN in them."""
    is_ignored = options.get("nan_strategy") == "ignore"
    return {**options, "nan_strategy": "error"} if is_ignored else nan_strategy(options)


def alternative(options):
    """Nothing is tested without one."""
    return {k: v for k, v in options.items() if k != "alternative" or v is not None}


def missing_values(options):
    """With nan_strategy="drop" nothing replaces them."""
    return {k: v for k, v in options.items() if k != "nan_replace_value" or v is not None}


def with_yates(options):
    """Two by two, TorchMetrics' bias correction is Yates', too."""
    options = missing_values(options)
    return {**options, "yates": options["bias_correction"]}


def values_of_queries(options):
    """A function of the user's aggregates them here."""
    return {**options, "aggregation": "none"} if callable(options["aggregation"]) else options


def no_function(options):
    """What a function makes of curves is no matter of single queries."""
    if callable(options.get("aggregation")):
        raise ValueError(
            "aggregation: RetrievalRecallAtFixedPrecision takes mean, median, min or max "
            "here, and no function"
        )
    return options


def order_weights(options):
    """Without any, orders weigh the same."""
    return {k: v for k, v in options.items() if k != "weights" or v is not None}


def add_one(options):
    """TorchMetrics smooths by one or not at all."""
    method = "add-k" if options["smooth"] else "none"
    return order_weights({**options, "smooth_method": method})


def listed_keys(options):
    """One key may stand alone."""
    keys = options["rouge_keys"]
    return {**options, "rouge_keys": [keys] if isinstance(keys, str) else list(keys)}


def mean_over_orders(options):
    """As the original program."""
    return {**options, "eps_smoothing": True}


# Functions that score a pair of signals, by name.
SCORES = {
    "signal_noise_ratio": "SignalNoiseRatio",
    "signal_distortion_ratio": "SignalDistortionRatio",
    "scale_invariant_signal_noise_ratio": "ScaleInvariantSignalNoiseRatio",
    "scale_invariant_signal_distortion_ratio": "ScaleInvariantSignalDistortionRatio",
    "complex_scale_invariant_signal_noise_ratio": "ComplexScaleInvariantSignalNoiseRatio",
    "source_aggregated_signal_distortion_ratio": "SourceAggregatedSignalDistortionRatio",
}


def scored(options):
    """TorchMetrics' functions as Tally's metrics."""
    return {**options, "metric": SCORES[options["metric"].__name__]}


def scores_by_name(metric_func, mode, eval_func, **kwargs):
    """Whether Tally has that function, with its defaults."""
    module = getattr(metric_func, "__module__", None) or ""
    name = SCORES.get(getattr(metric_func, "__name__", None))
    return (
        module.startswith("torchmetrics.functional.audio")
        and name is not None
        and (mode == "permutation-wise" or not name.startswith("SourceAggregated"))
        and not set(kwargs) - {"dist_sync_on_step", "process_group", "dist_sync_fn"}
    )


def one_score(return_sentence_level_score, **others):
    """Whether results are the value of the corpus alone."""
    return not return_sentence_level_score


def known_tokens(tokenize, **others):
    """Whether Tally has that tokenizer."""
    return tokenize in ("13a", "intl", "zh", "char", "none")


def own_tokens(normalizer, tokenizer, **others):
    """Whether tokens are rouge-score's."""
    return normalizer is None and tokenizer is None


def is_norm(p, **others):
    """Whether the power is that of a norm."""
    return p >= 1


def by_classes(per_class, num_classes, **others):
    """Whether means are those of classes: TorchMetrics' other one is over images and classes."""
    return per_class and num_classes is not None


def none_ignored(ignore_index, **others):
    """Whether every position counts: TorchMetrics takes those that do not as right."""
    return ignore_index is None or _conventions.are_tallys()


def no_micro_of_thresholds(thresholds, average=None, **others):
    """Whether a curve is of each class, or exact."""
    return average != "micro" or thresholds is None


def zeros_of_queries(empty_target_action, top_k, **others):
    """Whether a query that lacks a kind of documents is 0, and no order of equals is chosen."""
    is_zero = empty_target_action == "neg" and top_k is None
    return is_zero or _conventions.are_tallys()


# Classes that are Tally's for some arguments only, by the arguments' names; for others
# they are TorchMetrics'.
ONLY_WITH = {
    "CHRFScore": one_score,
    "DunnIndex": is_norm,
    "ExtendedEditDistance": one_score,
    "MeanIoU": by_classes,
    "MulticlassExactMatch": none_ignored,
    "MulticlassEER": no_micro_of_thresholds,
    "MulticlassPrecisionRecallCurve": no_micro_of_thresholds,
    "MulticlassROC": no_micro_of_thresholds,
    "MultilabelCoverageError": none_ignored,
    "MultilabelExactMatch": none_ignored,
    "PermutationInvariantTraining": scores_by_name,
    "ROUGEScore": own_tokens,
    "RetrievalAUROC": zeros_of_queries,
    "SacreBLEUScore": known_tokens,
    "TranslationEditRate": one_score,
    **_detection.ONLY_WITH,
    **_images.ONLY_WITH,
}

# Metrics that may be told what to do about NaN among their inputs.
AGGREGATORS = (
    "SumMetric", "MeanMetric", "MinMetric", "MaxMetric", "CatMetric", "RunningMean", "RunningSum",
)

# Those with weights.
WEIGHTED = ("MeanMetric", "RunningMean")


def nan_strategy_of(metric):
    """What one is told, or that inside of it."""
    return getattr(metric, "base_metric", metric).nan_strategy


OPTIONS = {
    "KendallRankCorrCoef": alternative,
    "RetrievalRecallAtFixedPrecision": no_function,
    **dict.fromkeys(
        ("PearsonsContingencyCoefficient", "TheilsU"), missing_values
    ),
    **dict.fromkeys(("CramersV", "TschuprowsT"), with_yates),
    **dict.fromkeys(RETRIEVAL, values_of_queries),
    "PermutationInvariantTraining": scored,
    "BLEUScore": order_weights,
    "CHRFScore": mean_over_orders,
    "ROUGEScore": listed_keys,
    "SacreBLEUScore": add_one,
    **_detection.OPTIONS,
    **_images.OPTIONS,
    **dict.fromkeys(AGGREGATORS, nan_strategy),
    "CatMetric": nan_strategy_of_rows,
}


def cluster_accuracy(metric, num_classes, **kwargs):
    """Tally needs no torch_linear_assignment."""
    torchmetrics.Metric.__init__(metric, **kwargs)
    if not isinstance(num_classes, int) or num_classes <= 0:
        raise ValueError("Argument `num_classes` should be a positive integer")
    metric.num_classes = num_classes


# In the place of TorchMetrics' constructors.
CONSTRUCTED = {"ClusterAccuracy": cluster_accuracy, **_detection.CONSTRUCTED}

# The most classes that a matrix of Tally's may have.
_MOST_CLASSES = 46340


def of_matrix(metric, options, of_ranks):
    """Tally's counts by class do, but the state of TorchMetrics' class is the matrix."""
    value = metric._tally_class(**options, **of_ranks)
    if metric.num_classes > _MOST_CLASSES:
        return value
    names = ("num_classes", "ignore_index")
    source = tally.MulticlassConfusionMatrix(**{name: options[name] for name in names})
    return DerivedMetric(value, source)


# In the place of Tally's class of that name: by the metric, options and those of ranks.
MADE = {
    **dict.fromkeys(
        ("MulticlassCohenKappa", "MulticlassJaccardIndex", "MulticlassMatthewsCorrCoef"),
        of_matrix,
    ),
    **_detection.MADE,
}

# Methods that are not TorchMetrics', which reads the attributes of its states.
METHODS = _detection.METHODS

# Metrics that count outputs by the shape of the first batch.
OUTPUTS_BY_SHAPE = {"R2Score", "ExplainedVariance"}

# Metrics of texts that may be empty lists.
LISTS_FOR_NOTHING = {"BLEUScore", "SacreBLEUScore"}

# Metrics of which one text has a list of references.
LISTS_OF_ONE = {"CHRFScore", "ExtendedEditDistance", "ROUGEScore", "TranslationEditRate"}

# Metrics that take every element as a sample where there is one output.
FLATTENING = {"NormalizedRootMeanSquaredError"}

# Metrics of sequences, of which the longer one is cut.
SHORTENED = {"LipVertexError"}


def _normalized(scores, dim=None):
    """Scores as TorchMetrics takes them: logits if one is no probability."""
    if not scores.is_floating_point() or bool(((scores >= 0) & (scores <= 1)).all()):
        return scores
    return scores.sigmoid() if dim is None else scores.softmax(dim)


def as_probabilities(name, inputs):
    """Inputs of a batch that Tally has refused, with logits put into [0, 1]."""
    scores, *others = inputs
    if not isinstance(scores, torch.Tensor):
        return inputs
    dim = 1 if name.startswith("Multiclass") else None
    if dim is not None and scores.ndim < 2:
        return inputs
    return [_normalized(scores, dim), *others]


def hinge(metric, inputs):
    """TorchMetrics takes no decision values but probabilities."""
    return as_probabilities(metric._real.__name__, inputs)


def sentences_apart(metric, inputs):
    """As TorchMetrics splits texts for ROUGE-Lsum, with one sentence a line."""
    from torchmetrics.functional.text.rouge import _split_sentence

    def apart(texts):
        return "\n".join(_split_sentence(texts)) if isinstance(texts, str) else [*map(apart, texts)]

    return [*map(apart, inputs)] if "rougeLsum" in metric.rouge_keys else inputs


def without_target(metric, inputs):
    """Demographic parity looks at no target."""
    scores, target, groups = inputs
    return [scores, torch.zeros_like(groups) if target is None else target, groups]


def unweighted(metric, inputs):
    """Where NaN is not looked for, TorchMetrics takes no weights either."""
    value, *weights = inputs
    if nan_strategy_of(metric) != "disable" or weights in ([], [None]):
        return inputs
    torch.broadcast_to(*weights, value.shape)
    return [value]


# Before each update; in the others' place only what is refused is looked at.
PREPARED = {
    **dict.fromkeys(WEIGHTED, unweighted),
    "BinaryHingeLoss": hinge,
    "MulticlassHingeLoss": hinge,
    "BinaryFairness": without_target,
    "ROUGEScore": sentences_apart,
    **_detection.PREPARED,
    **_features.PREPARED,
}


def direct(metric):
    """How many inputs of an update go to Tally as they are."""
    name = metric._real.__name__
    if name in WEIGHTED:
        return (1,) if nan_strategy_of(metric) == "disable" else (1, 2)
    return () if name in PREPARED else (1, 2)
