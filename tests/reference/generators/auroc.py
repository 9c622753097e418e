"""BinaryAUROC and MulticlassAUROC."""

import numpy as np
from scipy import special, stats
from sklearn import metrics

from .fixture import Case, Fixture, Options
from .sampling import (ROWS, join, normal, probabilities, rows_of, seeded,
                       split, targets)

EXACT = "sklearn.metrics.roc_auc_score"
BINNED = "sklearn.metrics.roc_auc_score of each score's number of " \
         "thresholds at or below it"
UNDEFINED = "by definition: NaN without both classes"
NUM_CLASSES = 4
Thresholds = int | list[float] | None


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    source = "scikit-learn 1.9.1"
    return [Fixture("BinaryAUROC", source, _binary_cases()),
            Fixture("MulticlassAUROC", source, _multiclass_cases())]


def area(scores: np.ndarray, positive: np.ndarray,
         thresholds: Thresholds = None, max_fpr: float | None = None) -> float:
    """AUROC, exact or of the binned scores; NaN without both classes."""
    scores = scores.astype("float64")
    if len(np.unique(positive)) < 2:
        return np.nan
    if thresholds is not None:
        scores = binned(scores, thresholds)
    value = metrics.roc_auc_score(positive, scores, max_fpr=max_fpr)
    if max_fpr is None:
        assert np.isclose(value, _rank_area(scores, positive), rtol=1e-12)
    return value


def binned(scores: np.ndarray, thresholds: int | list[float]) -> np.ndarray:
    """How many thresholds each score reaches (score >= threshold)."""
    edges = np.linspace(0, 1, thresholds) if isinstance(thresholds, int) \
        else np.array(thresholds)
    gap = np.abs(scores[:, None] - edges)
    exact = (gap == 0) & (edges * 64 % 1 == 0)
    assert (exact | (gap > 1e-6)).all(), "a score too close to a threshold"
    return np.searchsorted(edges, scores, side="right")


def _rank_area(scores: np.ndarray, positive: np.ndarray) -> float:
    """AUROC from rank sums (Mann and Whitney), as a second opinion."""
    ranks = stats.rankdata(scores)
    count = int(positive.sum())
    sum_of_ranks = ranks[positive.astype(bool)].sum()
    pairs = count * (len(positive) - count)
    return (sum_of_ranks - count * (count + 1) / 2) / pairs


def _binary_case(name: str, preds: np.ndarray, target: np.ndarray,
                 **options) -> Case:
    """Scores and targets of the same shape [N, ...]."""
    batches = split(preds, target)
    scores, labels = (x.reshape(-1) for x in join(batches))
    if "ignore_index" in options:
        keep = labels != options["ignore_index"]
        scores, labels = scores[keep], labels[keep]
    thresholds = options.get("thresholds")
    if thresholds is not None and options.get("input") == "logits":
        scores = special.expit(scores.astype("float64"))
    expected = area(scores, labels, thresholds, options.get("max_fpr"))
    return Case(name, options, batches, expected,
                _source(expected, thresholds, options))


def _source(expected: np.ndarray | float, thresholds: Thresholds,
            options: Options) -> str:
    """Where the expected value comes from."""
    if np.isnan(expected).all():
        return UNDEFINED
    text = EXACT if thresholds is None else BINNED
    if "max_fpr" in options:
        text += " with max_fpr (McClish's correction)"
    return text


def _binary_data(name: str, shape: tuple[int, ...] = (ROWS,),
                 dtype: str = "float32",
                 digits: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that favour the target, and the target.

    With three digits they end in 3 or 8 and lie apart from all thresholds in
    use; with one digit there are many ties.
    """
    rng = seeded("BinaryAUROC", name)
    target = targets(rng, shape, [0, 1])
    logit = rng.standard_normal(shape) + 1.2 * target - 0.6
    preds = special.expit(logit)
    if digits == 1:
        return np.round(preds, 1).astype(dtype), target
    return (np.floor(preds * 200) / 200 + 0.003).astype(dtype), target


def _logits(name: str, dtype: str = "float32",
            offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Logits with three decimals, and the target."""
    rng = seeded("BinaryAUROC", name)
    target = targets(rng, (ROWS,), [0, 1])
    preds = normal(rng, (ROWS,), "float64") + target + offset
    return np.round(preds, 3).astype(dtype), target


def _ignoring(data: tuple[np.ndarray, np.ndarray],
              ignore_index: int) -> tuple[np.ndarray, np.ndarray]:
    """Each fifth target is ignored."""
    preds, target = data
    target.reshape(-1)[1::5] = ignore_index
    return preds, target


def _binary_cases() -> list[Case]:
    return _binary_exact() + _binary_binned() + _binary_undefined()


def _binary_exact() -> list[Case]:
    data, case = _binary_data, _binary_case
    preds, target = data("float64_close_scores", dtype="float64")
    close = 0.5 + (preds - 0.5) * 1e-9
    saturating = _logits("logits_97_to_100", offset=98.0)
    boolean = data("bool_targets")
    separate = data("separated")
    best = (separate[0] / 2 + separate[1] / 2).astype("float32")
    return [
        case("probabilities", *data("probabilities"), input="probabilities"),
        case("float64", *data("float64", dtype="float64")),
        case("float64_close_scores", close, target),
        case("logits", *_logits("logits"), input="logits"),
        case("logits_97_to_100", *saturating, input="logits"),
        case("ties", *data("ties", digits=1)),
        case("ties_float64", *data("ties64", dtype="float64", digits=1)),
        case("all_tied", np.full(ROWS, 0.5, "float32"), data("tied")[1]),
        case("separated", best, separate[1]),
        case("inverted", 1 - best, separate[1]),
        case("bool_targets", boolean[0], boolean[1].astype(bool)),
        case("ignore_index", *_ignoring(data("ignore"), -1),
             ignore_index=-1),
        case("ignore_index_ties", *_ignoring(data("igt", digits=1), -100),
             ignore_index=-100),
        case("multidim", *data("multidim", (ROWS, 3))),
        case("max_fpr", *data("max_fpr"), max_fpr=0.3),
        case("max_fpr_ties", *data("max_fpr_ties", digits=1), max_fpr=0.5),
        case("max_fpr_small", *data("max_fpr_small"), max_fpr=0.03),
        case("max_fpr_1", *data("max_fpr_1"), max_fpr=1.0),
    ]


def _binary_binned() -> list[Case]:
    data, case = _binary_data, _binary_case
    quarters = data("binned_on_thresholds")
    on_edges = np.floor(quarters[0] * 4).astype("float32") / 4
    ones = data("binned_saturated")
    saturated = np.where(ones[0] > 0.5, 1.0, ones[0]).astype("float32")
    grid = [0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0]
    return [
        case("binned_11", *data("binned_11"), thresholds=11),
        case("binned_100", *data("binned_100"), thresholds=100),
        case("binned_list", *data("binned_list"), thresholds=grid),
        case("binned_float64", *data("binned64", dtype="float64"),
             thresholds=21),
        case("binned_logits", *_logits("binned_logits"), thresholds=11,
             input="logits"),
        case("binned_ignore_index", *_ignoring(data("binned_ignore"), -1),
             thresholds=11, ignore_index=-1),
        case("binned_multidim", *data("binned_multidim", (ROWS, 2)),
             thresholds=6),
        case("binned_max_fpr", *data("binned_max_fpr"), thresholds=21,
             max_fpr=0.4),
        case("binned_on_thresholds", on_edges, quarters[1], thresholds=5),
        case("binned_saturated", saturated, ones[1], thresholds=11),
        case("binned_list_without_ends", *data("binned_inner"),
             thresholds=[0.2, 0.5, 0.7]),
    ]


def _binary_undefined() -> list[Case]:
    preds, target = _binary_data("one_class")
    ignored = np.where(target == 0, -1, target)
    return [
        _binary_case("only_positives", preds, np.ones_like(target)),
        _binary_case("only_negatives", preds, np.zeros_like(target)),
        _binary_case("only_positives_after_ignore", preds, ignored,
                     ignore_index=-1),
        _binary_case("binned_only_negatives", preds, np.zeros_like(target),
                     thresholds=11),
    ]


def class_areas(preds: np.ndarray, labels: np.ndarray,
                thresholds: Thresholds) -> np.ndarray:
    """One class against the rest, for each class; preds is [N, C]."""
    return np.array([area(preds[:, c], labels == c, thresholds)
                     for c in range(preds.shape[1])])


def average_areas(areas: np.ndarray, labels: np.ndarray,
                  average: str) -> np.ndarray | float:
    """Averages over the classes whose area is defined; NaN without any."""
    if average == "none":
        return areas
    defined = ~np.isnan(areas)
    if not defined.any():
        return np.nan
    counts = np.bincount(labels, minlength=len(areas))
    weights = counts if average == "weighted" else np.ones(len(areas))
    return np.average(areas[defined], weights=weights[defined])


def _multiclass_case(name: str, preds: np.ndarray, target: np.ndarray,
                     **options) -> Case:
    """Probabilities [N, C, ...] and targets [N, ...]."""
    batches = split(preds, target)
    joined = join(batches)
    rows, labels = rows_of(joined[0]), joined[1].reshape(-1)
    if "ignore_index" in options:
        keep = labels != options["ignore_index"]
        rows, labels = rows[keep], labels[keep]
    thresholds = options.get("thresholds")
    areas = class_areas(rows, labels, thresholds)
    options = {"num_classes": preds.shape[1], **options}
    expected = average_areas(areas, labels, options["average"])
    source = _source(expected, thresholds, options)
    if source != UNDEFINED:
        source += ", one class against the rest"
    if np.isnan(areas).any() and source != UNDEFINED:
        source += "; classes without both sides are NaN and leave averages"
    return Case(name, options, batches, expected, source)


def _multiclass_data(name: str, shape: tuple[int, ...] = (ROWS,),
                     classes: list[int] | None = None,
                     dtype: str = "float32",
                     steps: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities in multiples of 1/steps, and targets."""
    rng = seeded("MulticlassAUROC", name)
    classes = list(range(NUM_CLASSES)) if classes is None else classes
    target = targets(rng, shape, classes)
    return probabilities(rng, target, NUM_CLASSES, dtype, steps), target


def _multiclass_cases() -> list[Case]:
    data, case = _multiclass_data, _multiclass_case
    cases = []
    for average in ("macro", "weighted", "none"):
        options: Options = {"average": average}
        cases += [
            case(average, *data(average), **options),
            case(f"ties_{average}", *data(f"t_{average}", steps=12),
                 **options),
            case(f"absent_{average}", *data(f"a_{average}", classes=[0, 1, 3]),
                 **options),
            case(f"ignore_inside_{average}", *data(f"i_{average}"),
                 ignore_index=2, **options),
            case(f"binned_{average}", *data(f"b_{average}", steps=997),
                 thresholds=11, **options),
        ]
    return cases + _multiclass_special()


def _multiclass_special() -> list[Case]:
    data, case = _multiclass_data, _multiclass_case
    outside = _ignoring(data("ignore_outside"), -100)
    one_hot, target = data("binned_one_hot", steps=997)
    one_hot = np.eye(NUM_CLASSES, dtype="float32")[one_hot.argmax(1)]
    single = data("one_class_none", classes=[2])
    grid = [0.0, 0.125, 0.25, 0.5, 0.75, 1.0]
    return [
        case("float64", *data("float64", dtype="float64"), average="macro"),
        case("ignore_outside", *outside, average="macro", ignore_index=-100),
        case("multidim", *data("multidim", (ROWS, 3)), average="none"),
        case("binned_list", *data("binned_list", steps=997),
             average="macro", thresholds=grid),
        case("binned_absent", *data("binned_absent", classes=[0, 1, 3],
                                    steps=997), average="none",
             thresholds=21),
        case("binned_multidim", *data("binned_multidim", (ROWS, 2),
                                      steps=997), average="macro",
             thresholds=11),
        case("binned_one_hot", one_hot, target, average="none",
             thresholds=11),
        case("one_class_none", *single, average="none"),
        case("one_class_macro", *single, average="macro"),
    ]
