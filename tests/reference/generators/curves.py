"""The metrics on curves: binary, each class against the rest, each label."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import integrate, special
from sklearn import metrics

from .auroc import Thresholds, area, binned
from .fixture import Case, Fixture, Options
from .sampling import (ROWS, join, probabilities, rows_of, seeded, split,
                       targets)

Parts = dict[str, np.ndarray | float]
# From the scores and targets of one curve to the parts of the result.
CurveOf = Callable[[np.ndarray, np.ndarray, Options], Parts]
Pairs = list[tuple[np.ndarray, np.ndarray]]
CLASSES = 3
GRID = [0.2, 0.5, 0.7]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    made = [Fixture("MultilabelAUROC", "scikit-learn 1.9.1",
                    _multilabel(_single(_area), "mwnu"))]
    for name, curve_of, averages, extra in _METRICS:
        for task, cases in (("Binary", _binary), ("Multiclass", _multiclass),
                            ("Multilabel", _multilabel)):
            made.append(Fixture(task + name, _SOURCES[name],
                                cases(curve_of, averages, **extra)))
    for task, cases in (("Binary", _binary), ("Multiclass", _multiclass),
                        ("Multilabel", _multilabel)):
        made.append(Fixture(
            f"{task}OptimalThreshold",
            "scikit-learn 1.9.1, f1_score, balanced_accuracy_score, roc_curve",
            [replace(case, name=f"{extra['criterion']}_{case.name}")
             for extra in CRITERIA for case in cases(_chosen, "", **extra)]))
    return made


def _steps(scores: np.ndarray, positive: np.ndarray,
           options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds, descending, and the positives and negatives that reach
    each."""
    given = options.get("thresholds")
    if given is None:
        edges = np.unique(scores)
    elif isinstance(given, int):
        edges = np.linspace(0, 1, given)
    else:
        edges = np.array(given)
    edges = edges[::-1].astype("float64")
    reached = scores.astype("float64")[:, None] >= edges
    tp = reached[positive == 1].sum(0)
    return edges, tp, reached.sum(0) - tp


def _rate(count: np.ndarray, total: int) -> np.ndarray:
    """NaN without a total."""
    return count / total if total else np.full(len(count), np.nan)


def _roc(scores: np.ndarray, positive: np.ndarray, options: Options) -> Parts:
    """All thresholds, and +infinity."""
    edges, tp, fp = _steps(scores, positive, options)
    ones = int(positive.sum())
    fpr = _rate(np.insert(fp, 0, 0), len(positive) - ones)
    tpr = _rate(np.insert(tp, 0, 0), ones)
    thresholds = np.insert(edges, 0, np.inf)
    if "thresholds" not in options and 0 < ones < len(positive):
        curve = metrics.roc_curve(positive, scores, drop_intermediate=False)
        for mine, theirs in zip((fpr, tpr, thresholds), curve, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12)
    return {"fpr": fpr, "tpr": tpr, "thresholds": thresholds}


def _precision_recall(scores: np.ndarray, positive: np.ndarray,
                      options: Options) -> Parts:
    """By ascending threshold, and (1, 0)."""
    edges, tp, fp = (x[::-1] for x in _steps(scores, positive, options))
    ones = int(positive.sum())
    predicted = tp + fp
    precision = np.where(predicted == 0, options.get("zero_division", np.nan),
                         tp / np.maximum(predicted, 1))
    recall = _rate(tp, ones)
    if "thresholds" not in options and ones:
        theirs = metrics.precision_recall_curve(positive, scores)
        assert np.allclose(precision, theirs[0][:-1], rtol=1e-12)
        assert np.allclose(recall, theirs[1][:-1], rtol=1e-12)
    return {"precision": np.append(precision, 1.0),
            "recall": np.append(recall, 0.0), "thresholds": edges}


def _single(value: CurveOf) -> CurveOf:
    """A value of the scores, or of their buckets where there are thresholds;
    NaN as `value` says."""
    def part(scores: np.ndarray, positive: np.ndarray,
             options: Options) -> Parts:
        if options.get("thresholds") is not None:
            scores = binned(scores, options["thresholds"])
        return {"": value(scores, positive, options)}
    return part


def _area(scores: np.ndarray, positive: np.ndarray, _: Options) -> float:
    return area(scores, positive)


def _average_precision(scores: np.ndarray, positive: np.ndarray,
                       _: Options) -> float:
    if not positive.any():
        return np.nan
    return metrics.average_precision_score(positive, scores)


def _in_bins(scores: np.ndarray, positive: np.ndarray, first: int,
             one_by_one: bool) -> np.ndarray:
    """Scores in the same bins, those of one class before those of the other;
    positives of a bin all equal, or all different."""
    places = np.where(positive == first, 0.75, 0.25)
    if one_by_one:
        places[positive == 1] += np.linspace(0, 0.1, int(positive.sum()))
    return scores + places


def _bounds(value: CurveOf, *, one_by_one: bool) -> CurveOf:
    """The value, and those of the worst and the best scores in the same
    bins."""
    def part(scores: np.ndarray, positive: np.ndarray,
             options: Options) -> Parts:
        if options.get("thresholds") is None:
            exact = value(scores, positive, options)
            return {"value": exact, "lower": exact, "upper": exact}
        scores = binned(scores, options["thresholds"]).astype("float64")
        worst = _in_bins(scores, positive, 0, one_by_one)
        best = _in_bins(scores, positive, 1, one_by_one=False)
        return {"value": value(scores, positive, options),
                "lower": value(worst, positive, options),
                "upper": value(best, positive, options)}
    return part


def _points(scores: np.ndarray,
            positive: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The points of the ROC curve, if both classes occur."""
    if len(np.unique(positive)) < 2:
        return None
    return metrics.roc_curve(positive, scores, drop_intermediate=False)[:2]


def _equal_error_rate(scores: np.ndarray, positive: np.ndarray,
                      _: Options) -> float:
    """FPR = 1 - TPR where FPR + TPR, which grows along the curve, is 1."""
    points = _points(scores, positive)
    if points is None:
        return np.nan
    return np.interp(1, points[0] + points[1], points[0])


def _log_area(scores: np.ndarray, positive: np.ndarray,
              options: Options) -> float:
    """The integral of TPR / FPR, segment by segment."""
    points = _points(scores, positive)
    if points is None:
        return np.nan
    low, high = options.get("fpr_range", [0.001, 0.1])
    total = 0.0
    ends = list(zip(*points, strict=True))
    for (x0, y0), (x1, y1) in zip(ends, ends[1:], strict=False):
        a, b = max(x0, low), min(x1, high)
        if a < b:
            total += integrate.quad(
                lambda x, x0=x0, y0=y0, slope=(y1 - y0) / (x1 - x0):
                (y0 + slope * (x - x0)) / x, a, b, epsabs=0, epsrel=1e-12)[0]
    return total / np.log(high / low)


def _best(wanted: str, held: str, option: str) -> CurveOf:
    """The best of one rate among the points where another is high enough;
    equal ones by the other, then by the threshold."""
    def rates(tp: float, fp: float, ones: int, zeros: int) -> dict[str, float]:
        return {"precision": tp / (tp + fp) if tp + fp else np.nan,
                "recall": tp / ones, "sensitivity": tp / ones,
                "specificity": (zeros - fp) / zeros if zeros else np.nan}

    def part(scores: np.ndarray, positive: np.ndarray,
             options: Options) -> Parts:
        ones, zeros = int(positive.sum()), int((positive == 0).sum())
        undefined = {wanted: np.nan, "threshold": np.nan}
        if ones == 0 or ("specificity" in (wanted, held) and zeros == 0):
            return undefined
        found = []
        edges, tp, fp = _steps(scores, positive, options)
        for threshold, t, f in zip(np.insert(edges, 0, np.inf),
                                   np.insert(tp, 0, 0), np.insert(fp, 0, 0),
                                   strict=True):
            at = rates(t, f, ones, zeros)
            if held == "precision" and t + f == 0 and threshold == np.inf:
                at["precision"] = 1.0
            if at[held] >= options[option] and not np.isnan(at[wanted]):
                found.append((at[wanted], at[held], threshold))
        if not found:
            return undefined
        best = max(found)
        return {wanted: best[0], "threshold": best[2]}
    return part


def chosen(steps: tuple[np.ndarray, ...], ones: float, zeros: float,
           options: Options) -> Parts:
    """The best threshold of those in `steps`, descending, or +infinity; of
    equally good ones the highest."""
    edges, tp, fp = (np.insert(x.astype("float64"), 0, first) for x, first in
                     zip(steps, (np.inf, 0, 0), strict=True))
    criterion = options["criterion"]
    needed = {"f1": ones, "cost": ones + zeros}.get(criterion, ones * zeros)
    if needed == 0:
        return dict.fromkeys(("threshold", "criterion", "precision", "recall",
                              "specificity"), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, fpr = tp / ones, fp / zeros
        value = {
            "f1": 2 * tp / (tp + fp + ones), "youden": tpr - fpr,
            "corner": np.hypot(1 - tpr, fpr),
            "cost": (options.get("false_positive_cost", 1) * fp
                     + options.get("false_negative_cost", 1) * (ones - tp))
                    / (ones + zeros)}[criterion]
        sign = 1 if criterion in ("f1", "youden") else -1
        best = np.argmax(np.round(sign * value, 12))  # the first of equal ones
        return {"threshold": edges[best], "criterion": value[best],
                "precision": (tp / (tp + fp))[best], "recall": tpr[best],
                "specificity": 1 - fpr[best]}


def _chosen(scores: np.ndarray, positive: np.ndarray,
            options: Options) -> Parts:
    """The threshold that a criterion is best at, and the rates there."""
    ones, zeros = int(positive.sum()), int((positive == 0).sum())
    made = chosen(_steps(scores, positive, options), ones, zeros, options)
    if ones and zeros:
        mine = scores.astype("float64") >= made["threshold"]
        assert np.isclose(made["recall"],
                          metrics.recall_score(positive, mine))
        assert np.isclose(made["specificity"],
                          metrics.recall_score(positive, mine, pos_label=0))
        theirs = {"f1": metrics.f1_score(positive, mine),
                  "youden": metrics.balanced_accuracy_score(
                      positive, mine, adjusted=True)}
        assert np.isclose(made["criterion"],
                          theirs.get(options["criterion"], made["criterion"]))
        if "thresholds" not in options:
            fpr, tpr, _ = metrics.roc_curve(positive, scores,
                                            drop_intermediate=False)
            best = {"youden": (tpr - fpr).max(),
                    "corner": np.hypot(1 - tpr, fpr).min()}
            assert np.isclose(
                made["criterion"],
                best.get(options["criterion"], made["criterion"]))
    return made


CRITERIA: list[Options] = [
    {"criterion": "f1"}, {"criterion": "youden"}, {"criterion": "corner"},
    {"criterion": "cost", "false_positive_cost": 1.5,
     "false_negative_cost": 2.5}]


def _averaged(parts: list[Parts], pairs: Pairs, average: str) -> Parts:
    """The mean over the curves whose value is defined."""
    values = np.array([part[""] for part in parts])
    if average == "none":
        return {"": values}
    weights = np.array([positive.sum() for _, positive in pairs], "float64")
    if average == "macro":
        weights[:] = 1
    defined = ~np.isnan(values)
    if not defined.any():
        return {"": np.nan}
    return {"": np.average(values[defined], weights=weights[defined])}


def padded(parts: list[Parts]) -> Parts:
    """One row for each curve, NaN behind its end."""
    result: Parts = {}
    for name in parts[0]:
        rows = [np.atleast_1d(part[name]) for part in parts]
        matrix = np.full((len(rows), max(map(len, rows))), np.nan)
        for row, values in zip(matrix, rows, strict=True):
            row[:len(values)] = values
        scalar = np.ndim(parts[0][name]) == 0
        result[name] = matrix[:, 0] if scalar else matrix
    return result


def _mean_roc(parts: list[Parts]) -> Parts:
    """At each FPR of a curve the mean TPR before and after; its area is the
    mean of the areas."""
    lines = [(np.append(p["fpr"], 1.0), np.append(p["tpr"], 1.0))
             for p in parts if not np.isnan(p["fpr"] + p["tpr"]).any()]
    points: list[tuple[float, float]] = []
    for x in np.unique(np.concatenate([line[0] for line in lines])):
        ends = [[y[fpr == x].min(), y[fpr == x].max()] if (fpr == x).any()
                else [np.interp(x, fpr, y)] * 2 for fpr, y in lines]
        for y in np.mean(ends, axis=0):
            if not points or abs(points[-1][0] - x) + abs(points[-1][1] - y):
                points.append((x, y))
    fpr, tpr = np.array(points).T
    areas = [np.trapezoid(y, x) for x, y in lines]
    assert np.isclose(np.trapezoid(tpr, fpr), np.mean(areas), rtol=1e-12)
    return {"fpr": fpr, "tpr": tpr, "thresholds": np.full(len(fpr), np.nan)}


def _mean_precision_recall(parts: list[Parts], pairs: Pairs) -> Parts:
    """At each recall of a curve the mean precision of the highest thresholds
    that reach it; the steps' area is the mean average precision."""
    curves = [(np.insert(p["precision"], 0, positive.mean()),
               np.insert(p["recall"], 0, 1.0))
              for p, (_, positive) in zip(parts, pairs, strict=True)
              if positive.any()]
    recalls = np.unique(np.concatenate([recall for _, recall in curves]))
    recalls = recalls[recalls > 0][::-1]
    precision = np.mean([[p[np.flatnonzero(recall >= r)[-1]] for r in recalls]
                         for p, recall in curves], axis=0)
    return {"precision": np.append(precision, 1.0),
            "recall": np.append(recalls, 0.0),
            "thresholds": np.full(len(recalls), np.nan)}


def _combined(pairs: Pairs, curve_of: CurveOf, options: Options) -> Parts:
    """The curves of all classes or labels as the average says."""
    average = options.get("average", "none")
    if average == "micro":
        return curve_of(np.concatenate([s for s, _ in pairs]),
                        np.concatenate([p for _, p in pairs]), options)
    parts = [curve_of(*pair, options) for pair in pairs]
    if "" in parts[0]:
        return _averaged(parts, pairs, average)
    if "lower" in parts[0]:
        return {name: _averaged([{"": part[name]} for part in parts], pairs,
                                average)[""] for name in parts[0]}
    if average == "macro" and "fpr" in parts[0]:
        return _mean_roc(parts)
    if average == "macro":
        return _mean_precision_recall(parts, pairs)
    return padded(parts)


def labeled(inputs: str, shape: tuple[int, ...],
             digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that favour their targets of 0 and 1: apart from all
    thresholds in use, or, with one digit, with many ties."""
    rng = seeded(inputs)
    target = targets(rng, shape, [0, 1])
    preds = special.expit(rng.standard_normal(shape) + 1.2 * target - 0.6)
    preds = np.round(preds, 1) if digits == 1 else \
        np.floor(preds * 200) / 200 + 0.003
    return preds.astype("float32"), target


def logits_of(preds: np.ndarray) -> np.ndarray:
    """Of probabilities, with three decimals."""
    return np.round(special.logit(preds.astype("float64")), 3) \
        .astype("float32")


def _case(name: str, inputs: str, arrays: tuple[np.ndarray, np.ndarray],
          pairs_of: Callable[..., Pairs], curve_of: CurveOf,
          options: Options) -> Case:
    """A case whose options fit the data."""
    batches = split(*arrays)
    scores, target = join(batches)
    expected = _combined(pairs_of(scores, target, options), curve_of, options)
    if len(pairs_of(scores, target, options)) == 1 and \
            not set(options) & {"num_classes", "num_labels"}:
        expected = curve_of(*pairs_of(scores, target, options)[0], options)
    return Case(name, options, batches, expected,
                _source_of(options), rtol=1e-9, inputs=inputs)


def _source_of(options: Options) -> str:
    """How scores become a curve's."""
    text = "exact" if options.get("thresholds") is None else "binned"
    if options.get("average", "none") != "none":
        text += ", average " + options["average"]
    return text


def _kept(scores: np.ndarray, target: np.ndarray, options: Options) -> Pairs:
    """One curve's samples without those that are ignored."""
    keep = target != options.get("ignore_index")
    scores, target = scores[keep], target[keep]
    if options.get("input") == "logits" and \
            not {"num_classes"} & set(options):
        scores = special.expit(scores.astype("float64"))
    return [(scores, target)]


def _one_curve(scores: np.ndarray, target: np.ndarray,
               options: Options) -> Pairs:
    return _kept(scores.reshape(-1), target.reshape(-1), options)


def _label_curves(scores: np.ndarray, target: np.ndarray,
                  options: Options) -> Pairs:
    scores, target = rows_of(scores), rows_of(target)
    return [_kept(scores[:, i], target[:, i], options)[0]
            for i in range(scores.shape[1])]


def _class_curves(scores: np.ndarray, target: np.ndarray,
                  options: Options) -> Pairs:
    scores, target = rows_of(scores), target.reshape(-1)
    if options.get("input") == "logits":
        scores = special.softmax(scores.astype("float64"), axis=1)
    keep = target != options.get("ignore_index")
    return [(scores[keep, c], (target[keep] == c).astype("int64"))
            for c in range(scores.shape[1])]


def _binary(curve_of: CurveOf, _: str, **extra) -> list[Case]:
    """Binary cases."""
    def case(name: str, shape: tuple[int, ...] = (ROWS,), digits: int = 3,
             only: int | None = None, of: str | None = None,
             **options) -> Case:
        inputs = f"binary_curves/{of or name}"
        preds, target = labeled(inputs, shape, digits)
        if only is not None:
            target[:] = only
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if "ignore_index" in options:
            target.reshape(-1)[1::5] = options["ignore_index"]
        return _case(name, inputs, (preds, target), _one_curve, curve_of,
                     {**options, **extra})

    return [case("exact", of="probabilities"), case("ties", digits=1),
            case("logits", input="logits"),
            case("ignore_index", ignore_index=-1),
            case("multidim", (ROWS, 2)), case("only_positives", only=1),
            case("only_negatives", only=0),
            case("binned", thresholds=11, of="probabilities"),
            case("binned_list", thresholds=GRID, of="probabilities"),
            case("binned_logits", thresholds=6, input="logits", of="logits"),
            case("binned_only_negatives", only=0, thresholds=3,
                 of="only_negatives")]


def _averages(letters: str) -> list[str]:
    names = {"m": "macro", "w": "weighted", "n": "none", "u": "micro"}
    return [names[letter] for letter in letters]


def _multiclass(curve_of: CurveOf, averages: str, **extra) -> list[Case]:
    """Multiclass cases."""
    def case(name: str, shape: tuple[int, ...] = (ROWS,), steps: int = 997,
             classes: tuple[int, ...] = (0, 1, 2), of: str | None = None,
             **options) -> Case:
        inputs = f"multiclass_curves/{of or name}"
        rng = seeded(inputs)
        target = targets(rng, shape, list(classes))
        preds = probabilities(rng, target, CLASSES, "float32", steps)
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if options.get("ignore_index") == -1:
            target.reshape(-1)[1::5] = -1
        return _case(name, inputs, (preds, target), _class_curves, curve_of,
                     {"num_classes": CLASSES, **options, **extra})

    kinds = [{"average": a} for a in _averages(averages)] or [{}]
    cases = []
    for kind in kinds:
        name = kind.get("average", "none")
        cases += [case(name, of="probabilities", **kind),
                  case(f"binned_{name}", thresholds=11, of="probabilities",
                       **kind)]
    return cases + [
        case("ties", steps=12, **kinds[0]),
        case("absent", classes=(0, 2), **kinds[0]),
        case("absent_none", classes=(0, 2), of="absent", **kinds[-1]),
        case("binned_absent", classes=(0, 2), thresholds=5, of="absent",
             **kinds[-1]),
        case("logits", input="logits", **kinds[-1]),
        case("ignore_outside", ignore_index=-1, **kinds[-1]),
        case("ignore_inside", ignore_index=1, of="probabilities",
             **kinds[-1]),
        case("multidim", (ROWS, 2), **kinds[-1])]


def _multilabel(curve_of: CurveOf, averages: str, **extra) -> list[Case]:
    """Multilabel cases."""
    def case(name: str, shape: tuple[int, ...] = (), digits: int = 3,
             without: bool = False, of: str | None = None,
             **options) -> Case:
        inputs = f"multilabel_curves/{of or name}"
        preds, target = labeled(inputs, (ROWS, CLASSES, *shape), digits)
        if without:
            target[:, 1] = 0
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if "ignore_index" in options:
            target.reshape(-1)[1::5] = options["ignore_index"]
        return _case(name, inputs, (preds, target), _label_curves, curve_of,
                     {"num_labels": CLASSES, **options, **extra})

    kinds = [{"average": a} for a in _averages(averages)] or [{}]
    cases = []
    for kind in kinds:
        name = kind.get("average", "none")
        cases += [case(name, of="probabilities", **kind),
                  case(f"binned_{name}", thresholds=11, of="probabilities",
                       **kind)]
    return cases + [
        case("ties", digits=1, **kinds[0]),
        case("without_positives", without=True, **kinds[0]),
        case("without_positives_none", without=True, of="without_positives",
             **kinds[-1]),
        case("logits", input="logits", **kinds[-1]),
        case("binned_list", thresholds=GRID, of="probabilities", **kinds[0]),
        case("ignore_index", ignore_index=-1, **kinds[0]),
        case("multidim", (2,), **kinds[-1])]


_METRICS = [
    ("ROC", _roc, "mun", {}),
    ("PrecisionRecallCurve", _precision_recall, "mun", {}),
    ("AveragePrecision", _single(_average_precision), "mwun", {}),
    ("EER", _single(_equal_error_rate), "mwun", {}),
    ("LogAUC", _single(_log_area), "mwun", {"fpr_range": [0.05, 0.6]}),
    ("AUROCBounds", _bounds(_area, one_by_one=False), "mwun", {}),
    ("AveragePrecisionBounds", _bounds(_average_precision, one_by_one=True),
     "mwun", {}),
    ("RecallAtFixedPrecision", _best("recall", "precision", "min_precision"),
     "", {"min_precision": 0.7}),
    ("PrecisionAtFixedRecall", _best("precision", "recall", "min_recall"),
     "", {"min_recall": 0.6}),
    ("SensitivityAtSpecificity",
     _best("sensitivity", "specificity", "min_specificity"), "",
     {"min_specificity": 0.75}),
    ("SpecificityAtSensitivity",
     _best("specificity", "sensitivity", "min_sensitivity"), "",
     {"min_sensitivity": 0.6}),
]
_SOURCES = {
    "ROC": "scikit-learn 1.9.1, roc_curve",
    "PrecisionRecallCurve": "scikit-learn 1.9.1, precision_recall_curve",
    "AveragePrecision": "scikit-learn 1.9.1, average_precision_score",
    "EER": "own formula on scikit-learn's roc_curve",
    "LogAUC": "SciPy's quad on scikit-learn's roc_curve",
    "AUROCBounds": "scikit-learn 1.9.1, roc_auc_score of extreme scores",
    "AveragePrecisionBounds":
        "scikit-learn 1.9.1, average_precision_score of extreme scores",
    "RecallAtFixedPrecision": "own formula on all thresholds",
    "PrecisionAtFixedRecall": "own formula on all thresholds",
    "SensitivityAtSpecificity": "own formula on all thresholds",
    "SpecificityAtSensitivity": "own formula on all thresholds",
}
