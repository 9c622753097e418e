"""Calibration errors, Brier scores, hinge losses and log losses of elements."""

from collections.abc import Callable

import numpy as np
import statsmodels.api as sm
from scipy import special
from sklearn import metrics

from .fixture import Case, Fixture, Options
from .sampling import (ROWS, join, probabilities, rows_of, scores, seeded,
                       split, targets)

SOURCE = "scikit-learn 1.9.1, NumPy 2.4.6"
CLASSES = 4
LABELS = 3
# Of float64 scores or rows of them, labels, weights (or None) and options.
Value = Callable[[np.ndarray, np.ndarray, np.ndarray | None, Options],
                 np.ndarray | float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [
        _binary("BinaryCalibrationError", _binary_calibration, [
            {}, {"norm": "l2"}, {"norm": "max"}, {"n_bins": 4}]),
        _binary("BinaryBrierScore", _binary_brier, [{}]),
        _binary("BinaryCalibrationSlope", _calibration_slope, [{}],
                shift=15),
        _binary("BinaryCalibrationIntercept", _calibration_intercept, [{}],
                shift=15),
        _binary("BinarySpiegelhalterZ", _spiegelhalter_z, [{}]),
        _binary("BinaryLogLoss", _binary_log_loss, [
            {}, {"normalize": False}]),
        _binary("BinaryHingeLoss", _binary_hinge, [{}, {"squared": True}],
                decisions=True),
        _multiclass("MulticlassCalibrationError", _multiclass_calibration, [
            {}, {"norm": "l2"}, {"norm": "max"}, {"n_bins": 4}]),
        _multiclass("MulticlassBrierScore", _multiclass_brier, [
            {}, {"scale_by_half": True}]),
        _multiclass("MulticlassHingeLoss", _multiclass_hinge, [
            {}, {"squared": True}, {"mode": "one-vs-all"},
            {"mode": "one-vs-all", "squared": True}], decisions=True),
        _multilabel_log_losses(),
    ]


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return (rng.integers(1, 9, shape) / 4).astype("float32")


def _kept(preds, target, weight, ignored):
    """Flat, in float64 and without what is ignored."""
    keep = target != (-9 if ignored is None else ignored)
    return (preds[keep].astype("float64"), target[keep],
            None if weight is None else weight[keep].astype("float64"))


def _case(name: str, options: Options, arrays: list[np.ndarray],
          value: Value, multiclass: bool) -> Case:
    batches = split(*arrays)
    preds, target, *weight = join(batches)
    preds = rows_of(preds) if multiclass else preds.reshape(-1)
    given = _kept(preds, target.reshape(-1),
                  weight[0].reshape(-1) if weight else None,
                  options.get("ignore_index"))
    return Case(name, options, batches, value(*given, options),
                "as its docstring in generators/probabilistic.py says")


def _name(options: Options) -> str:
    return "_".join(f"{k}_{v}" for k, v in options.items()) or "default"


def _binary(metric: str, value: Value, variants: list[Options],
            decisions: bool = False, shift: int = 40) -> Fixture:
    cases = []

    def add(name, shape=(ROWS,), logits=False, ignored=None, weighted=False,
            dtype="float32", **options):
        rng = seeded(metric, name)
        target = rng.integers(0, 2, shape)
        preds = np.clip(
            rng.integers(1, 60, shape) + shift * target, 1, 99) / 100
        if logits or decisions:
            preds = np.round(6 * preds - 3.005, 3)
        if logits:
            options["input"] = "logits"
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.25, ignored, target)
            options["ignore_index"] = ignored
        arrays = [preds.astype(dtype), target]
        if weighted:
            arrays.append(_weights(rng, shape))
        cases.append(_case(name, options, arrays, value, False))

    for variant in variants:
        add(_name(variant), **variant)
        add(f"weighted_{_name(variant)}", weighted=True, **variant)
    if not decisions:
        add("logits", logits=True, dtype="float64")
    add("ignored", ignored=-1)
    add("multidim", (ROWS, 2), weighted=True, ignored=3)
    return Fixture(metric, SOURCE, cases)


def _multiclass(metric: str, value: Value, variants: list[Options],
                decisions: bool = False) -> Fixture:
    cases = []

    def add(name, shape=(ROWS,), logits=False, ignored=None, weighted=False,
            dtype="float32", **options):
        rng = seeded(metric, name)
        target = targets(rng, shape, list(range(CLASSES)))
        if logits or decisions:
            preds = scores(rng, target, CLASSES, dtype)
        else:
            preds = probabilities(rng, target, CLASSES, dtype)
        if logits:
            options["input"] = "logits"
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.25, ignored, target)
            options["ignore_index"] = ignored
        arrays = [preds, target]
        if weighted:
            arrays.append(_weights(rng, shape))
        cases.append(_case(name, {"num_classes": CLASSES, **options}, arrays,
                           value, True))

    for variant in variants:
        add(_name(variant), **variant)
    add("weighted", weighted=True, **variants[-1])
    if not decisions:
        add("logits", logits=True, dtype="float64")
    add("ignored", ignored=-1)
    add("ignored_inside", ignored=2)
    add("multidim", (ROWS, 2), weighted=True)
    return Fixture(metric, SOURCE, cases)


def _multilabel_log_losses() -> Fixture:
    cases = []
    averages = ("macro", "micro", "weighted", "none")

    def add(name, *shape, logits=False, ignored=None, weighted=False,
            dtype="float32", **options):
        rng = seeded("MultilabelLogLoss", name)
        size = (ROWS, LABELS, *shape)
        target = (rng.random(size) < 0.4).astype("int64")
        preds = np.clip(rng.integers(1, 60, size) + 40 * target, 1, 99) / 100
        if logits:
            preds = np.round(6 * preds - 3.005, 3)
            options["input"] = "logits"
        if ignored is not None:
            target = np.where(rng.random(size) < 0.25, ignored, target)
            options["ignore_index"] = ignored
        arrays = [preds.astype(dtype), target]
        if weighted:
            arrays.append(_weights(rng, (ROWS, *shape)))
        options = {"num_labels": LABELS, **options}
        batches = split(*arrays)
        cases.append(Case(name, options, batches,
                          _multilabel_log_loss(join(batches), options),
                          "sklearn.metrics.log_loss by label"))

    for average in averages:
        add(average, average=average)
        add(f"weights_{average}", weighted=True, average=average)
        add(f"ignored_{average}", ignored=-1, weighted=True, average=average)
        add(f"sum_{average}", weighted=True, ignored=2, average=average,
            normalize=False)
    add("default")
    add("logits", logits=True, dtype="float64")
    add("logits_weights", logits=True, weighted=True, average="none")
    add("multidim", 3, weighted=True, ignored=-1)
    add("multidim_none", 2, 2, average="none")
    return Fixture("MultilabelLogLoss", SOURCE, cases)


def _multilabel_log_loss(arrays: list[np.ndarray],
                         options: Options) -> np.ndarray | float:
    """By label; micro as if all labels were one."""
    preds, target, *rest = arrays
    weights = rest[0][:, None] if rest else np.ones(())
    weights = np.broadcast_to(weights, target.shape)
    columns = [np.moveaxis(x, 1, 0).reshape(LABELS, -1)
               for x in (preds, target, weights)]
    average = options.get("average", "macro")
    if average == "micro":
        columns = [x.reshape(1, -1) for x in columns]
    losses, shares = [], []
    for p, t, w in zip(*columns):
        kept = t != options.get("ignore_index", -9)
        p, t, w = p[kept].astype("float64"), t[kept], w[kept].astype("float64")
        losses.append(metrics.log_loss(
            t, _probability(p, options, True), labels=[0, 1], sample_weight=w,
            normalize=options.get("normalize", True)))
        shares.append(w[t == 1].sum() if average == "weighted" else 1.0)
    if average == "none":
        return np.array(losses)
    return np.average(losses, weights=shares)


def _calibration(confidences, hits, weight, options: Options) -> float:
    """By bins [b, b + 1) / n_bins, the last one with 1."""
    bins = options.get("n_bins", 15)
    place = np.minimum((confidences * bins).astype(int), bins - 1)
    weight = np.ones(len(hits)) if weight is None else weight

    def summed(values):
        return np.bincount(place, weights=values, minlength=bins)
    sums = summed(weight)
    used = sums > 0
    gaps = np.abs(summed(weight * hits) - summed(weight * confidences))[used] \
        / sums[used]
    shares = sums[used] / sums.sum()
    norm = options.get("norm", "l1")
    if norm == "max":
        return gaps.max()
    if norm == "l2":
        return np.sqrt(np.sum(shares * gaps ** 2))
    return np.sum(shares * gaps)


def _probability(preds, options: Options, binary: bool):
    if options.get("input") != "logits":
        return preds
    return special.expit(preds) if binary else special.softmax(preds, axis=1)


def _binary_calibration(preds, target, weight, options):
    """The probability of 1 against the targets."""
    return _calibration(_probability(preds, options, True), target, weight,
                        options)


def _multiclass_calibration(preds, target, weight, options):
    """The largest probability against whether its class is the target."""
    p = _probability(preds, options, False)
    return _calibration(p.max(1), p.argmax(1) == target, weight, options)


def _binary_brier(preds, target, weight, options):
    """sklearn.metrics.brier_score_loss."""
    return metrics.brier_score_loss(
        target, _probability(preds, options, True), sample_weight=weight)


def _recalibration(preds, target, weight, options, **offset):
    """statsmodels' GLM of the target on the logit, or on a constant."""
    logit = preds if options.get("input") == "logits" else special.logit(preds)
    given = np.ones((len(logit), 1)) if offset else sm.add_constant(logit)
    model = sm.GLM(target, given, family=sm.families.Binomial(),
                   freq_weights=weight, offset=logit if offset else None)
    return float(model.fit(tol=1e-14, tol_criterion="params").params[-1])


def _calibration_slope(preds, target, weight, options):
    """The slope of statsmodels' logistic regression."""
    return _recalibration(preds, target, weight, options)


def _calibration_intercept(preds, target, weight, options):
    """Its intercept, with the logit as offset."""
    return _recalibration(preds, target, weight, options, offset=True)


def _spiegelhalter_z(preds, target, weight, options):
    """The difference of the Brier score and its expectation, by its
    deviation."""
    p = _probability(preds, options, True)
    w = np.ones(len(p)) if weight is None else weight
    difference = w @ ((p - target) ** 2 - p * (1 - p))
    return difference / np.sqrt(w ** 2 @ ((1 - 2 * p) ** 2 * p * (1 - p)))


def _multiclass_brier(preds, target, weight, options):
    """The mean of the squared distances, as brier_score_loss where rows sum to
    1 in float64."""
    p = _probability(preds, options, False)
    squares = np.sum((p - np.eye(CLASSES)[target]) ** 2, axis=1)
    value = np.average(squares, weights=weight)
    exact = p / p.sum(1, keepdims=True)
    other = metrics.brier_score_loss(target, exact, sample_weight=weight,
                                     labels=np.arange(CLASSES),
                                     scale_by_half=False)
    assert np.isclose(value, other, rtol=1e-5), (value, other)
    return value / 2 if options.get("scale_by_half") else value


def _binary_log_loss(preds, target, weight, options):
    """sklearn.metrics.log_loss of probabilities clear of 0 and 1."""
    return metrics.log_loss(
        target, _probability(preds, options, True), sample_weight=weight,
        normalize=options.get("normalize", True))


def _binary_hinge(preds, target, weight, options):
    """sklearn.metrics.hinge_loss; squared by the same formula."""
    losses = np.maximum(0, 1 - (2 * target - 1) * preds)
    plain = metrics.hinge_loss(target, preds, sample_weight=weight)
    assert np.isclose(plain, np.average(losses, weights=weight))
    return np.average(losses ** 2, weights=weight) \
        if options.get("squared") else plain


def _multiclass_hinge(preds, target, weight, options):
    """sklearn.metrics.hinge_loss; the others by their formulas."""
    power = 2 if options.get("squared") else 1
    own = np.eye(CLASSES, dtype=bool)[target]
    if options.get("mode") == "one-vs-all":
        losses = np.maximum(0, 1 - np.where(own, preds, -preds)) ** power
        return np.average(losses, weights=weight, axis=0)
    others = np.where(own, -np.inf, preds).max(1)
    losses = np.maximum(0, 1 - (preds[own] - others))
    plain = metrics.hinge_loss(target, preds, sample_weight=weight,
                               labels=np.arange(CLASSES))
    assert np.isclose(plain, np.average(losses, weights=weight))
    return np.average(losses ** power, weights=weight)
