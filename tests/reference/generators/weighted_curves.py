"""The metrics on curves of samples with weights."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import integrate, special
from sklearn import metrics
from sklearn.preprocessing import label_binarize

from .auroc import binned
from .curves import CRITERIA, chosen, labeled, logits_of, padded
from .fixture import Case, Fixture, Options
from .sampling import (ROWS, join, probabilities, rows_of, seeded, split,
                       targets)

Parts = dict[str, np.ndarray | float]
CLASSES = 3
GRID = [0.2, 0.5, 0.7]


class Samples(NamedTuple):
    """Those of one curve."""

    scores: np.ndarray
    positive: np.ndarray
    weights: np.ndarray

    def kept(self) -> "Samples":
        """Without those whose weight is 0 or NaN."""
        keep = self.weights > 0
        return Samples(*(x[keep] for x in self))

    def total(self, label: int) -> float:
        """The weights of one class."""
        return float(self.weights[self.positive == label].sum())


# From the samples of one curve to the parts of the result.
CurveOf = Callable[[Samples, Options], Parts]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    made = []
    for name, curve_of, averages, extra in _METRICS:
        for task, cases in (("Binary", _binary), ("Multiclass", _multiclass),
                            ("Multilabel", _multilabel)):
            made.append(Fixture(
                f"{task}{name}.weighted", _SOURCES.get(name, _OWN),
                cases(task + name, curve_of, averages, extra)))
    for task, cases in (("Binary", _binary), ("Multiclass", _multiclass),
                        ("Multilabel", _multilabel)):
        name = f"{task}OptimalThreshold"
        made.append(Fixture(
            f"{name}.weighted", _OWN,
            [replace(case, name=f"{extra['criterion']}_{case.name}")
             for extra in CRITERIA for case in cases(name, _chosen, "", extra)]))
    return made


def _roc_points(samples: Samples) -> tuple[np.ndarray, ...]:
    """FPR, TPR and thresholds."""
    return metrics.roc_curve(samples.positive, samples.scores,
                             drop_intermediate=False,
                             sample_weight=samples.weights)


def _bins(samples: Samples, options: Options) -> Samples:
    """With the numbers of thresholds that are reached as scores, if there are
    any thresholds."""
    if options.get("thresholds") is None:
        return samples
    return samples._replace(
        scores=binned(samples.scores, options["thresholds"]))


def _steps(samples: Samples,
           options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds, descending, and the weights of the positives and negatives
    that reach each."""
    given = options.get("thresholds")
    if given is None:
        edges = np.unique(samples.scores)
    else:
        edges = np.linspace(0, 1, given) if isinstance(given, int) \
            else np.array(given)
    edges = edges[::-1].astype("float64")
    reached = samples.scores.astype("float64")[:, None] >= edges
    weights = reached * samples.weights[:, None]
    return (edges, weights[samples.positive == 1].sum(0),
            weights[samples.positive == 0].sum(0))


def _roc(samples: Samples, options: Options) -> Parts:
    """All thresholds, and +infinity."""
    edges, tp, fp = _steps(samples, options)
    curve = (np.insert(fp, 0, 0) / samples.total(0),
             np.insert(tp, 0, 0) / samples.total(1),
             np.insert(edges, 0, np.inf))
    if "thresholds" not in options:
        for mine, theirs in zip(curve, _roc_points(samples), strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12)
    return dict(zip(("fpr", "tpr", "thresholds"), curve, strict=True))


def _precision_recall(samples: Samples, options: Options) -> Parts:
    """By ascending threshold, and (1, 0)."""
    edges, tp, fp = (x[::-1] for x in _steps(samples, options))
    precision = np.where(tp + fp == 0, np.nan,
                         tp / np.maximum(tp + fp, 1e-300))
    precision = np.append(precision, 1.0)
    recall = np.append(tp / samples.total(1), 0.0)
    if "thresholds" not in options:
        theirs = metrics.precision_recall_curve(
            samples.positive, samples.scores, sample_weight=samples.weights)
        for mine, own in zip((precision, recall, edges), theirs, strict=True):
            assert np.allclose(mine, own, rtol=1e-12)
    return {"precision": precision, "recall": recall, "thresholds": edges}


def _area(samples: Samples, options: Options) -> Parts:
    samples = _bins(samples, options)
    return {"": metrics.roc_auc_score(
        samples.positive, samples.scores, sample_weight=samples.weights,
        max_fpr=options.get("max_fpr"))}


def _average_precision(samples: Samples, options: Options) -> Parts:
    samples = _bins(samples, options)
    return {"": metrics.average_precision_score(
        samples.positive, samples.scores, sample_weight=samples.weights)}


def _equal_error_rate(samples: Samples, options: Options) -> Parts:
    """FPR = 1 - TPR where FPR + TPR, which grows along the curve, is 1."""
    fpr, tpr, _ = _roc_points(_bins(samples, options))
    return {"": np.interp(1, fpr + tpr, fpr)}


def _log_area(samples: Samples, options: Options) -> Parts:
    """The integral of TPR / FPR, segment by segment."""
    low, high = options["fpr_range"]
    fpr, tpr, _ = _roc_points(_bins(samples, options))
    total = 0.0
    ends = list(zip(fpr, tpr, strict=True))
    for (x0, y0), (x1, y1) in zip(ends, ends[1:], strict=False):
        a, b = max(x0, low), min(x1, high)
        if a < b:
            total += integrate.quad(
                lambda x, x0=x0, y0=y0, slope=(y1 - y0) / (x1 - x0):
                (y0 + slope * (x - x0)) / x, a, b, epsabs=0, epsrel=1e-12)[0]
    return {"": total / np.log(high / low)}


def _best(wanted: str, held: str, option: str) -> CurveOf:
    """The best of one rate among the points where another is high enough;
    equal ones by the other, then by the threshold."""
    def part(samples: Samples, options: Options) -> Parts:
        edges, tp, fp = (
            np.insert(x, 0, first) for x, first in
            zip(_steps(samples, options), (np.inf, 0, 0), strict=True))
        ones, zeros = samples.total(1), samples.total(0)
        precision = np.where(tp + fp > 0, tp / np.maximum(tp + fp, 1e-300),
                             np.nan)
        rates = {"precision": precision, "recall": tp / ones,
                 "sensitivity": tp / ones, "specificity": (zeros - fp) / zeros}
        fulfilled = rates[held].copy()
        if held == "precision":
            fulfilled[0] = 1
        found = [(rate, other, edge) for rate, other, edge in
                 zip(rates[wanted], fulfilled, edges, strict=True)
                 if other >= options[option] and not np.isnan(rate)]
        # Not a matter of rounding.
        assert not (np.abs(fulfilled - options[option]) < 1e-9).any()
        best = max(found, default=(np.nan, np.nan, np.nan))
        return {wanted: best[0], "threshold": best[2]}
    return part


def _chosen(samples: Samples, options: Options) -> Parts:
    """The threshold that a criterion is best at, and the rates there."""
    return chosen(_steps(samples, options), samples.total(1), samples.total(0),
                  options)


def _combined(curves: list[Samples], curve_of: CurveOf,
              options: Options) -> Parts:
    """The curves of all classes or labels as the average says."""
    average = options.get("average", "none")
    if average == "micro":
        return curve_of(Samples(*map(np.concatenate,
                                     zip(*curves, strict=True))), options)
    parts = [curve_of(samples, options) for samples in curves]
    if "" not in parts[0]:
        return padded(parts)
    values = np.array([part[""] for part in parts])
    if average == "none":
        return {"": values}
    weights = [samples.total(1) if average == "weighted" else 1
               for samples in curves]
    return {"": np.average(values, weights=weights)}


def _weights(rng: np.random.Generator, shape: tuple[int, ...],
             name: str) -> np.ndarray:
    """0 to 3, or quarters, whose sums are exact; NaN where the case says so."""
    whole = rng.integers(0, 4, shape)
    if "ties" in name:
        return whole
    weights = rng.integers(1, 17, shape) / 4
    weights[whole == 0] = 0
    if "nan" in name:
        weights[whole == 1] = np.nan
    return weights.astype("float64" if "64" in name else "float32")


def _case(name: str, inputs: str, arrays: tuple[np.ndarray, ...],
          curves: list[Samples], curve_of: CurveOf, options: Options) -> Case:
    """A case whose curves have these samples, those of weight 0 too."""
    curves = [samples.kept() for samples in curves]
    several = {"num_classes", "num_labels"} & set(options)
    expected = _combined(curves, curve_of, options) if several \
        else curve_of(curves[0], options)
    return Case(name, options, split(*arrays), expected, "sample_weight",
                rtol=1e-9, inputs=inputs)


def _of_curve(scores: np.ndarray, target: np.ndarray, weights: np.ndarray,
              options: Options) -> Samples:
    """One curve's samples without those that are ignored."""
    keep = target != options.get("ignore_index")
    if options.get("input") == "logits" and "num_classes" not in options:
        scores = special.expit(scores.astype("float64"))
    return Samples(scores[keep], target[keep],
                   weights[keep].astype("float64"))


def _binary(metric: str, curve_of: CurveOf, _: str,
            extra: Options) -> list[Case]:
    """Binary cases."""
    def case(name: str, of: str | None = None, **options) -> Case:
        digits = 1 if "ties" in name else 3
        shape = (ROWS, 2) if "multidim" in name else (ROWS,)
        inputs = f"weighted_binary_curves/{of or name}"
        preds, target = labeled(inputs, shape, digits)
        if "64" in name:
            preds = preds.astype("float64")
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if "ignore_index" in options:
            target.reshape(-1)[1::5] = options["ignore_index"]
        weights = _weights(seeded(inputs, "weights"), shape, name)
        options = {**options, **extra}
        samples = _of_curve(preds.reshape(-1), target.reshape(-1),
                            weights.reshape(-1), options)
        return _case(name, inputs, (preds, target, weights), [samples],
                     curve_of, options)

    cases = [case("ties"), case("float64"), case("ignore_index",
                                                 ignore_index=-1),
             case("nan_ignored"), case("multidim"),
             case("logits", input="logits"), case("binned", thresholds=11),
             case("binned_list_logits", thresholds=GRID, input="logits",
                  of="logits")]
    if metric == "BinaryAUROC":
        cases += [case("max_fpr", max_fpr=0.3, of="binned"),
                  case("binned_max_fpr", max_fpr=0.4, thresholds=21,
                       of="binned")]
    return cases


def _kinds(averages: str) -> list[Options]:
    names = {"m": "macro", "w": "weighted", "n": "none", "u": "micro"}
    return [{"average": names[letter]} for letter in averages] or [{}]


def _of_kinds(case: Callable[..., Case], kinds: list[Options]) -> list[Case]:
    """One case for each kind, and others of some of them."""
    cases = [case(kind.get("average", "exact"), of="probabilities", **kind)
             for kind in kinds]
    return cases + [
        case("ties", **kinds[0]),
        case("binned", thresholds=11, of="probabilities", **kinds[0]),
        case("nan_ignored", **kinds[-1]),
        case("logits_multidim", input="logits", **kinds[0]),
        case("ignore_index", ignore_index=-1, **kinds[0])]


def _multiclass(metric: str, curve_of: CurveOf, averages: str,
                extra: Options) -> list[Case]:
    """Multiclass cases."""
    def case(name: str, of: str | None = None, **options) -> Case:
        inputs = f"weighted_multiclass_curves/{of or name}"
        rng = seeded(inputs)
        shape = (ROWS, 2) if "multidim" in name else (ROWS,)
        target = targets(rng, shape, list(range(CLASSES)))
        preds = probabilities(rng, target, CLASSES, "float32",
                              12 if "ties" in name else 997)
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if "ignore_index" in options:
            target.reshape(-1)[1::5] = options["ignore_index"]
        weights = _weights(rng, shape, name)
        options = {"num_classes": CLASSES, **options, **extra}
        scores, labels = rows_of(preds), target.reshape(-1)
        if options.get("input") == "logits":
            scores = special.softmax(scores.astype("float64"), axis=1)
        keep = labels != options.get("ignore_index")
        own = weights.reshape(-1)[keep]
        curves = [_of_curve(scores[keep, c], (labels[keep] == c).astype(int),
                            own, options) for c in range(CLASSES)]
        made = _case(name, inputs, (preds, target, weights), curves, curve_of,
                     options)
        _agree(made, metric, scores[keep], labels[keep], own)
        return made

    return _of_kinds(case, _kinds(averages))


def _multilabel(metric: str, curve_of: CurveOf, averages: str,
                extra: Options) -> list[Case]:
    """Multilabel cases."""
    def case(name: str, of: str | None = None, **options) -> Case:
        positions = (2,) if "multidim" in name else ()
        inputs = f"weighted_multilabel_curves/{of or name}"
        preds, target = labeled(inputs, (ROWS, CLASSES, *positions),
                                 1 if "ties" in name else 3)
        if options.get("input") == "logits":
            preds = logits_of(preds)
        if "ignore_index" in options:
            target.reshape(-1)[1::5] = options["ignore_index"]
        weights = _weights(seeded(inputs, "weights"), (ROWS, *positions), name)
        options = {"num_labels": CLASSES, **options, **extra}
        scores, labels = rows_of(preds), rows_of(target)
        own = weights.reshape(-1)
        curves = [_of_curve(scores[:, i], labels[:, i], own, options)
                  for i in range(CLASSES)]
        made = _case(name, inputs, (preds, target, weights), curves, curve_of,
                     options)
        _agree(made, metric, scores, labels, own)
        return made

    return _of_kinds(case, _kinds(averages))


def _agree(case: Case, metric: str, scores: np.ndarray, labels: np.ndarray,
           weights: np.ndarray) -> None:
    """Compares with scikit-learn's own averages, where it has them."""
    functions = {"AUROC": metrics.roc_auc_score,
                 "AveragePrecision": metrics.average_precision_score}
    function = functions.get(metric.removeprefix("Multiclass")
                             .removeprefix("Multilabel"))
    if function is None or "thresholds" in case.options or \
            "ignore_index" in case.options and labels.ndim == 2:
        return
    if labels.ndim == 1:
        labels = label_binarize(labels, classes=list(range(CLASSES)))
    average = case.options["average"]
    keep = weights > 0
    theirs = function(labels[keep], scores[keep],
                      average=None if average == "none" else average,
                      sample_weight=weights[keep])
    assert np.allclose(case.expected[""], theirs, rtol=1e-12)


_METRICS = [
    ("AUROC", _area, "mwun", {}),
    ("ROC", _roc, "un", {}),
    ("PrecisionRecallCurve", _precision_recall, "un", {}),
    ("AveragePrecision", _average_precision, "mwun", {}),
    ("EER", _equal_error_rate, "wun", {}),
    ("LogAUC", _log_area, "wun", {"fpr_range": [0.05, 0.6]}),
    ("RecallAtFixedPrecision", _best("recall", "precision", "min_precision"),
     "", {"min_precision": 0.71}),
    ("PrecisionAtFixedRecall", _best("precision", "recall", "min_recall"),
     "", {"min_recall": 0.61}),
    ("SensitivityAtSpecificity",
     _best("sensitivity", "specificity", "min_specificity"), "",
     {"min_specificity": 0.76}),
    ("SpecificityAtSensitivity",
     _best("specificity", "sensitivity", "min_sensitivity"), "",
     {"min_sensitivity": 0.61}),
]
_OWN = "own formula on all thresholds"
_SOURCES = {
    "AUROC": "scikit-learn 1.9.1, roc_auc_score",
    "ROC": "scikit-learn 1.9.1, roc_curve",
    "PrecisionRecallCurve": "scikit-learn 1.9.1, precision_recall_curve",
    "AveragePrecision": "scikit-learn 1.9.1, average_precision_score",
    "EER": "own formula on scikit-learn's roc_curve",
    "LogAUC": "SciPy's quad on scikit-learn's roc_curve",
}
