"""Metrics over counts: binary, multilabel, and the multiclass ones that
stat_scores.py does not hold."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import metrics

from .fixture import Case, Fixture, Options
from .sampling import ROWS, join, rows_of, scores, seeded, split, targets

SOURCE = "scikit-learn 1.9.1"
LABELS = 4
CLASSES = 5
# Of 0 and 1, with weights and the value of a division by zero.
Score = Callable[[np.ndarray, np.ndarray, np.ndarray | None, float],
                 np.ndarray | float]


def _stats(target, preds, weight, _zero):
    """tp, fp, tn, fn and the number of targets."""
    tn, fp, fn, tp = metrics.confusion_matrix(
        target, preds, labels=[0, 1], sample_weight=weight).ravel()
    return np.array([tp, fp, tn, fn, tp + fn], dtype="float64")


def _divisible(function, **kwargs) -> Score:
    return lambda t, p, w, zero: function(
        t, p, sample_weight=w, zero_division=zero, **kwargs)


def _plain(function, **kwargs) -> Score:
    return lambda t, p, w, _zero: function(t, p, sample_weight=w, **kwargs)


def _jaccard(target, preds, weight, zero):
    """scikit-learn's, which takes no NaN where neither has a 1."""
    if not (np.any(target) or np.any(preds)):
        return zero
    return metrics.jaccard_score(target, preds, sample_weight=weight)


RATES: dict[str, Score] = {
    "Precision": _divisible(metrics.precision_score),
    "Recall": _divisible(metrics.recall_score),
    "F1Score": _divisible(metrics.f1_score),
    "FBetaScore": _divisible(metrics.fbeta_score, beta=2.0),
    "Specificity": _divisible(metrics.recall_score, pos_label=0),
    "NegativePredictiveValue": _divisible(metrics.precision_score,
                                          pos_label=0),
    "JaccardIndex": _jaccard,
}
SHARES: dict[str, Score] = {
    "Accuracy": _plain(metrics.accuracy_score),
    "HammingDistance": _plain(metrics.hamming_loss),
    "StatScores": _stats,
}
CORRELATIONS: dict[str, Score] = {
    "MatthewsCorrCoef": _plain(metrics.matthews_corrcoef),
    "CohenKappa": lambda t, p, w, _zero: metrics.cohen_kappa_score(
        t, p, sample_weight=w),
}


@dataclass(frozen=True)
class Setup:
    """Inputs of a case, joined."""

    name: str
    options: Options
    # Where the inputs stand, which are drawn by this name.
    inputs: str
    preds: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return _binary_fixtures() + _multilabel_fixtures() + \
        _multiclass_fixtures()


def _zero(options: Options) -> float:
    zero = options.get("zero_division", 0)
    return np.nan if zero == "nan" else zero


def _dtype(name: str, setup: Setup) -> str:
    """Of the metric's result: counts stay integers unless they are divided."""
    options = setup.options
    if name == "ConfusionMatrix":
        whole = options.get("normalize", "none") == "none"
    else:
        several = {"num_classes", "num_labels"} & set(options)
        average = options.get("average", "macro" if several else "none")
        whole = name == "StatScores" and average in ("none", "micro")
    return "int64" if whole and setup.weight is None else "float64"


def _case(name: str, setup: Setup, value: Callable[..., np.ndarray],
          source: str) -> Case:
    """The setup with `value(options, target, labels, weight)`, of the metric of
    that name."""
    arrays = [setup.preds, setup.target]
    if setup.weight is not None:
        arrays.append(setup.weight)
    batches = split(*arrays)
    preds, target, *weight = join(batches)
    labels = _predicted(preds, setup.options)
    expected = value(setup.options, target, labels,
                     weight[0].astype("float64") if weight else None)
    typed = np.asarray(expected).astype(_dtype(name, setup))
    assert np.array_equal(typed, expected, equal_nan=True)
    return Case(setup.name, setup.options, batches, typed, source,
                inputs=setup.inputs)


def _predicted(preds: np.ndarray, options: Options) -> np.ndarray:
    """Scores above the threshold are 1."""
    if preds.dtype.kind != "f":
        return preds.astype("int64")
    threshold = options.get("threshold", 0.5)
    if options.get("input") == "logits":
        return (1 / (1 + np.exp(-preds.astype("float64"))) >
                threshold).astype("int64")
    return (preds > preds.dtype.type(threshold)).astype("int64")


def _probabilities(rng: np.random.Generator,
                   target: np.ndarray) -> np.ndarray:
    """In steps of 0.01, clear of the thresholds used, higher for 1."""
    noise = rng.integers(1, 80, target.shape)
    steps = np.clip(noise + 20 * (target == 1), 1, 99)
    return (np.where(np.isin(steps, (30, 50)), steps + 1, steps) /
            100).astype("float32")


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return (rng.integers(0, 9, shape) / 4).astype("float32")


# Binary.

def _binary_fixtures() -> list[Fixture]:
    made = []
    for name, score in {**SHARES, **RATES, **CORRELATIONS}.items():
        made.append(_binary_fixture(name, score, name in RATES))
    made.append(_binary_fixture("BalancedAccuracy", _balanced, False,
                                ({}, {"adjusted": True})))
    modes = ({"normalize": m} for m in ("none", "true", "pred", "all"))
    made.append(_binary_fixture("ConfusionMatrix", _matrix, False,
                                tuple(modes)))
    return made


def _balanced(target, preds, weight, _zero, adjusted=False):
    return metrics.balanced_accuracy_score(
        target, preds, sample_weight=weight, adjusted=adjusted)


def _matrix(target, preds, weight, _zero, normalize="none"):
    return metrics.confusion_matrix(
        target, preds, labels=[0, 1], sample_weight=weight,
        normalize=None if normalize == "none" else normalize)


def _binary_fixture(name: str, score: Score, divides: bool,
                    variants: tuple[Options, ...] = ({},)) -> Fixture:
    metric = f"Binary{name}"
    extra: Options = {"beta": 2.0} if name == "FBetaScore" else {}

    def value(options, target, labels, weight):
        kwargs = {k: v for k, v in options.items()
                  if k in ("adjusted", "normalize")}

        def of(t, p, w):
            keep = t != options.get("ignore_index", 2)
            return score(t[keep], p[keep], None if w is None else w[keep],
                         _zero(options), **kwargs)
        if options.get("multidim_average") == "samplewise":
            return [of(t.reshape(-1), p.reshape(-1), None)
                    for t, p in zip(target, labels, strict=True)]
        return of(target.reshape(-1), labels.reshape(-1),
                  None if weight is None else weight.reshape(-1))

    cases = []
    for variant in variants:
        suffix = "".join(f"_{v}" for v in variant.values())
        for setup in _binary_setups(divides, {**extra, **variant}, suffix,
                                    first=variant == variants[0]):
            cases.append(_case(name, setup, value, "sklearn.metrics"))
    return Fixture(metric, SOURCE, cases)


def _binary_setups(divides: bool, options: Options, suffix: str,
                   first: bool) -> list[Setup]:
    def setup(name, shape=(ROWS,), kind="probabilities", ignored=None,
              weighted=False, of=None, **more):
        inputs = f"binary_counts/{of or name}"
        rng = seeded(inputs)
        target = rng.integers(0, 2, shape)
        preds = _probabilities(rng, target)
        if kind == "logits":
            preds = np.round(10 * preds - 5.005, 2).astype("float32")
        if kind == "labels":
            preds = (preds > 0.4).astype("int64")
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.25, ignored, target)
            more["ignore_index"] = ignored
        weight = _weights(rng, shape) if weighted else None
        if kind == "logits":
            more["input"] = "logits"
        return Setup(name + suffix, {**options, **more}, inputs, preds, target,
                     weight)

    if not first:
        return [setup("probabilities"), setup("weights", weighted=True)]
    setups = [
        setup("probabilities"),
        setup("threshold", threshold=0.3, of="probabilities"),
        setup("logits", kind="logits", threshold=0.3),
        setup("labels", kind="labels"),
        setup("ignored", ignored=-1),
        setup("weights", weighted=True),
        setup("multidim", (ROWS, 2), weighted=True),
        setup("samplewise", (ROWS, 4), multidim_average="samplewise"),
    ]
    if not divides:
        return setups
    for zero in (0, 1, "nan"):
        for side in (0, 1):
            name = f"all_{side}_{zero}"
            flat = np.full(ROWS, side)
            setups.append(Setup(name, {**options, "zero_division": zero},
                                f"binary_counts/all_{side}", flat, flat))
    return setups


# Multilabel.

AVERAGES = ("micro", "macro", "weighted", "none", "samples")


def _multilabel_fixtures() -> list[Fixture]:
    made = [_multilabel_fixture(name, score, name in RATES)
            for name, score in {**SHARES, **RATES}.items()]
    made.append(_joined_fixture(
        "MatthewsCorrCoef",
        lambda t, p, w: metrics.matthews_corrcoef(
            t.reshape(-1), p.reshape(-1),
            sample_weight=None if w is None else w.repeat(LABELS))))
    for mode in ("none",):
        made.append(_joined_fixture(
            "ConfusionMatrix",
            lambda t, p, w: metrics.multilabel_confusion_matrix(
                t, p, sample_weight=w)))
    return made


def _joined_fixture(name: str, function) -> Fixture:
    """A fixture of a metric without averages."""
    def value(_options, target, labels, weight):
        return function(target, labels, weight)
    setups = [_label_setup("probabilities"),
              _label_setup("labels", kind="labels"),
              _label_setup("weights", weighted=True)]
    return Fixture(f"Multilabel{name}", SOURCE,
                   [_case(name, s, value, "sklearn.metrics") for s in setups])


def _label_setup(name: str, positions: tuple[int, ...] = (),
                 kind: str = "probabilities", ignored: int | None = None,
                 weighted: bool = False, empty_label: bool = False,
                 of: str | None = None, **options) -> Setup:
    inputs = f"multilabel_counts/{of or name}"
    rng = seeded(inputs)
    shape = (ROWS, LABELS, *positions)
    target = rng.integers(0, 2, shape)
    preds = _probabilities(rng, target)
    if empty_label:
        target[:, 1] = 0
        preds[:, 1] = np.float32(0.25)
        preds[:, 2] = np.float32(0.125)
    if kind == "logits":
        preds = np.round(10 * preds - 5.005, 2).astype("float32")
        options["input"] = "logits"
    if kind == "labels":
        preds = (preds > 0.4).astype("int64")
    if ignored is not None:
        target = np.where(rng.random(shape) < 0.25, ignored, target)
        options["ignore_index"] = ignored
    weight = _weights(rng, (ROWS, *positions)) if weighted else None
    options = {"num_labels": LABELS, **options}
    return Setup(name, options, inputs, preds, target, weight)


def _multilabel_fixture(name: str, score: Score, divides: bool) -> Fixture:
    metric = f"Multilabel{name}"
    extra: Options = {"beta": 2.0} if name == "FBetaScore" else {}

    def value(options, target, labels, weight):
        if options.get("multidim_average") == "samplewise":
            return [_label_average(score, options, t[None], p[None], None)
                    for t, p in zip(target, labels, strict=True)]
        return _label_average(score, options, target, labels, weight)

    setups = [_label_setup(a, average=a, of="probabilities", **extra)
              for a in AVERAGES]
    setups += [
        _label_setup("threshold", threshold=0.3, of="probabilities", **extra),
        _label_setup("logits", kind="logits", **extra),
        _label_setup("labels", kind="labels", average="none", **extra),
        _label_setup("weights_micro", weighted=True, average="micro",
                     of="weights", **extra),
        _label_setup("weights_weighted", weighted=True, average="weighted",
                     of="weights", **extra),
        _label_setup("ignored", ignored=-1, average="none", **extra),
        _label_setup("ignored_samples", ignored=-1, average="samples",
                     of="ignored", **extra),
        _label_setup("weights_samples", weighted=True, average="samples",
                     of="weights", **extra),
        _label_setup("weights_samples_multidim", (2,), ignored=-1,
                     weighted=True, average="samples", **extra),
        _label_setup("multidim", (2,), average="macro", **extra),
        _label_setup("samplewise", (3,), average="macro",
                     multidim_average="samplewise", **extra),
    ]
    if divides:
        setups += [_label_setup(f"empty_{a}_{zero}", empty_label=True,
                                average=a, zero_division=zero,
                                of="empty_label", **extra)
                   for a in ("macro", "samples") for zero in (0, 1, "nan")]
    return Fixture(metric, SOURCE,
                   [_case(name, s, value,
                          "sklearn.metrics, by label or sample")
                    for s in setups])


def _label_average(score: Score, options: Options, target: np.ndarray,
                   labels: np.ndarray, weight: np.ndarray | None):
    """The average over labels, of [N, L, ...]."""
    flat = [rows_of(x) for x in (target, labels)]
    if weight is not None:
        weight = weight.reshape(-1)

    def of(t, p, w):
        keep = t != options.get("ignore_index", 2)
        if not keep.any():
            return np.nan
        return score(t[keep], p[keep], None if w is None else w[keep],
                     _zero(options))
    average = options.get("average", "macro")
    if average == "micro":
        return of(*(x.reshape(-1) for x in flat),
                  None if weight is None else weight.repeat(LABELS))
    if average == "samples":
        values = np.array([of(t, p, None) for t, p in zip(*flat, strict=True)])
        if weight is None:
            return np.nanmean(values, axis=0)
        counted = ~np.isnan(values).reshape(len(values), -1).any(1)
        return np.average(values[counted], axis=0, weights=weight[counted])
    values = np.array([of(flat[0][:, l], flat[1][:, l], weight)
                       for l in range(LABELS)])
    if average == "none":
        return values
    if average == "macro":
        return np.nanmean(values, axis=0)
    positive = (flat[0] == 1) * (1 if weight is None else weight[:, None])
    return np.average(values, axis=0, weights=positive.sum(0))


# Multiclass.

def _multiclass_fixtures() -> list[Fixture]:
    by_class = {
        "Specificity": RATES["Specificity"],
        "NegativePredictiveValue": RATES["NegativePredictiveValue"],
        "JaccardIndex": RATES["JaccardIndex"],
        "FBetaScore": RATES["FBetaScore"],
        "StatScores": _stats,
    }
    made = [_class_fixture(name, score) for name, score in by_class.items()]
    made.append(_whole_fixture(
        "HammingDistance", lambda t, p, w: metrics.hamming_loss(
            t, p, sample_weight=w), average="micro"))
    made.append(_whole_fixture(
        "MatthewsCorrCoef", lambda t, p, w: metrics.matthews_corrcoef(
            t, p, sample_weight=w)))
    for adjusted in (False, True):
        fixture = _whole_fixture(
            "BalancedAccuracy",
            lambda t, p, w, a=adjusted: metrics.balanced_accuracy_score(
                t, p, sample_weight=w, adjusted=a), adjusted=adjusted)
        made.append(fixture)
    for weights in ("none", "linear", "quadratic"):
        made.append(_whole_fixture(
            "CohenKappa",
            lambda t, p, w, k=weights: metrics.cohen_kappa_score(
                t, p, sample_weight=w, weights=None if k == "none" else k,
                labels=np.arange(CLASSES)),
            weights=weights))
    return _merged(made)


def _merged(made: list[Fixture]) -> list[Fixture]:
    """One fixture for each metric."""
    merged: dict[str, list[Case]] = {}
    for fixture in made:
        merged.setdefault(fixture.metric, []).extend(fixture.cases)
    return [Fixture(metric, SOURCE, cases) for metric, cases in merged.items()]


def _class_setups(suffix: str, options: Options) -> list[Setup]:
    def setup(name, shape=(ROWS,), classes=range(CLASSES), kind="scores",
              ignored=None, weighted=False, **more):
        inputs = f"multiclass_counts/{name}"
        rng = seeded(inputs)
        target = targets(rng, shape, list(classes))
        if kind == "labels":
            preds = np.where(rng.random(shape) < 0.5, target,
                             rng.integers(0, CLASSES, shape))
        else:
            preds = scores(rng, target, CLASSES)
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.25, ignored, target)
            more["ignore_index"] = ignored
        weight = _weights(rng, shape) if weighted else None
        return Setup(name + suffix, {"num_classes": CLASSES, **options, **more},
                     inputs, preds, target, weight)
    return [
        setup("scores"),
        setup("labels", kind="labels"),
        setup("absent", classes=(0, 1), kind="labels"),
        setup("ignored", kind="labels", ignored=-1),
        setup("ignored_inside", kind="labels", ignored=2),
        setup("weights", (ROWS, 2), kind="labels", weighted=True),
    ]


def _argmax(preds: np.ndarray) -> np.ndarray:
    return preds.argmax(1) if preds.dtype.kind == "f" else preds


def _class_case(name: str, setup: Setup, function) -> Case:
    def value(options, target, _labels, weight):
        labels = _argmax(join(split(setup.preds))[0]).reshape(-1)
        target = target.reshape(-1)
        keep = target != options.get("ignore_index", CLASSES)
        return function(target[keep], labels[keep],
                        None if weight is None else weight.reshape(-1)[keep])
    return _case(name, setup, value, "sklearn.metrics")


def _whole_fixture(name: str, function, **options) -> Fixture:
    metric = f"Multiclass{name}"
    suffix = "".join(f"_{v}" for v in options.values())
    return Fixture(metric, SOURCE,
                   [_class_case(name, s, function)
                    for s in _class_setups(suffix, options)])


def _class_fixture(name: str, score: Score) -> Fixture:
    """A metric that scores each class against the others."""
    metric = f"Multiclass{name}"
    cases = []
    for average in ("micro", "macro", "weighted", "none"):
        options: Options = {"average": average}
        if name == "FBetaScore":
            options["beta"] = 2.0

        def value(target, labels, weight, average=average, ignored=None):
            by_class = [(target == c, labels == c) for c in range(CLASSES)]
            if average == "micro":
                pairs = [np.concatenate(x) for x in zip(
                    *(pair for c, pair in enumerate(by_class)
                      if c != ignored or name != "JaccardIndex"), strict=True)]
                w = None if weight is None else np.tile(weight, CLASSES)
                return score(*pairs, w, 0)
            values = np.array([score(t, p, weight, 0) for t, p in by_class])
            if average == "none":
                return values
            support = np.array([
                t.sum() if weight is None else (t * weight).sum()
                for t, _ in by_class])
            occurring = np.array([(t | p).any() and c != ignored
                                  for c, (t, p) in enumerate(by_class)])
            if name == "StatScores":
                occurring |= True
            return np.average(values[occurring], axis=0,
                              weights=support[occurring]
                              if average == "weighted" else None)
        cases += [
            _class_case(name, s, functools.partial(
                value, ignored=s.options.get("ignore_index")))
            for s in _class_setups(f"_{average}", options)]
    return Fixture(metric, SOURCE, cases)
